package table

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

const (
	maxEntries = 2000 // of a ZIP
	// maxDirectory limits what archive/zip reads before the first entry, because its memory is a multiple of it.
	maxDirectory = 4 << 20
	maxUnpacked  = 4 << 30
	maxRatio     = 200
	// Small files may be compressed better.
	freeUnpacked = 16 << 20
)

// File is one table of a directory, also one in a ZIP.
type File struct {
	Name    string // without a directory
	Size    int64  // in the directory or ZIP
	Problem string // why it cannot be read, if it is not a table
	Sheet   string // that is read; the first visible one of a workbook unless it is set
	// Microseconds keeps those of dates in a workbook. Most programs write dates that are a few microseconds off.
	Microseconds bool
	sheets       []string
	content      func() (io.ReadCloser, error) // unpacked
	charset      charset
	sample       []byte // lines that are not UTF-8
	space        *Space
	book         *sharedBook // or nil
	// directory is the limit of the directory of a ZIP file, or 0 for maxDirectory.
	directory int
	delimiter rune     // of a CSV file, or 0 if it must be detected
	feed      []string // the columns of a feed in XML
}

// Sheets returns the visible sheets of a workbook, or nil for a text.
func (f *File) Sheets() []string { return f.sheets }

// Files lists the tables in dir, sorted by name, and those in its ZIP files, with temporary files in space.
// Directories, hidden files and files that are neither text nor workbook have a Problem. An error means that a
// compressed file is damaged or too large, or that ctx has ended.
func Files(ctx context.Context, dir fs.FS, space *Space) (files []*File, err error) {
	packed, err := list(dir, space)
	for i := 0; i < len(packed) && err == nil; i++ {
		var all []*File
		all, err = packed[i].expand(ctx, false)
		files, err = append(files, all...), cmp.Or(err, context.Cause(ctx))
	}
	return files, err
}

// list returns the files of dir as they are, except hidden ones.
func list(dir fs.FS, space *Space) ([]*File, error) {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return nil, fmt.Errorf("read directory: %w", err)
	}
	var files []*File
	for _, e := range entries {
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		files = append(files, &File{Name: e.Name(), Size: info.Size(), space: space, content: func() (io.ReadCloser, error) {
			return dir.Open(e.Name())
		}})
	}
	return files, nil
}

// expand returns the tables of a file by its content, or the file itself with a Problem.
func (f *File) expand(ctx context.Context, inZIP bool) ([]*File, error) {
	start, err := f.start()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	lower := strings.ToLower(f.Name)
	if strings.HasSuffix(lower, ".gz") || bytes.HasPrefix(start, []byte("\x1F\x8B")) {
		f.gunzip()
		if start, err = f.start(); err != nil {
			return nil, fmt.Errorf("%s is not a gzip file: %w", f.Name, err)
		}
		lower = strings.TrimSuffix(lower, ".gz")
	}
	switch {
	case bytes.HasPrefix(start, []byte("PK\x03\x04")), bytes.HasPrefix(start, []byte("PK\x05\x06")):
		return f.openZIP(ctx, inZIP)
	case bytes.HasPrefix(start, []byte("\xD0\xCF\x11\xE0")):
		f.Problem = "is an old or encrypted Excel file: save it without a password as .xlsx or CSV"
	case path.Ext(lower) == ".xml":
		return []*File{f}, f.openFeed(ctx)
	case !slices.Contains([]string{".csv", ".tsv", ".tab", ".txt"}, path.Ext(lower)):
		f.Problem = "is not a CSV or XLSX file"
	}
	if f.Problem != "" {
		return []*File{f}, nil
	}
	content, err := f.content()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	defer content.Close()
	// An error is reported when the rows are read, with the line.
	if f.charset, f.sample, err = detectCharset(contextReader{ctx, content}); err != nil {
		f.charset = utf8Text
	}
	if f.sample != nil {
		f.charset, _ = guess(f.sample)
	}
	return []*File{f}, nil
}

// openFeed reads the names of the columns of a feed in XML.
func (f *File) openFeed(ctx context.Context) error {
	content, err := f.content()
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	defer content.Close()
	if f.feed, err = feedNames(contextReader{ctx, content}); err != nil {
		f.Problem = fmt.Sprintf("is not a feed in XML: %v", err)
	}
	return nil
}

// start returns the first bytes.
func (f *File) start() ([]byte, error) {
	content, err := f.content()
	if err != nil {
		return nil, err
	}
	defer content.Close()
	start := make([]byte, 8)
	n, err := io.ReadFull(content, start)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return start[:n], err
}

func (f *File) gunzip() {
	packed := f.content
	f.content = func() (io.ReadCloser, error) {
		content, err := packed()
		if err != nil {
			return nil, err
		}
		unpacked, err := gzip.NewReader(bufio.NewReaderSize(content, 64<<10))
		if err != nil {
			return nil, errors.Join(err, content.Close())
		}
		return &readCloser{&unpackLimit{r: unpacked, left: unpackedLimit(f.Size)}, content}, nil
	}
}

// openZIP returns the file if it is a workbook, else the tables in the ZIP. A ZIP in a ZIP has a Problem.
func (f *File) openZIP(ctx context.Context, inZIP bool) ([]*File, error) {
	archive, closer, err := f.zip()
	if err != nil {
		return nil, fmt.Errorf("%s is not a ZIP or XLSX file: %w", f.Name, err)
	}
	defer closer.Close()
	if len(archive.File) > maxEntries {
		return nil, fmt.Errorf("%s has more than %d files", f.Name, maxEntries)
	}
	names := map[string]bool{}
	for _, e := range archive.File {
		names[e.Name] = true
	}
	switch {
	case names["xl/workbook.xml"]:
		book, err := openBook(archive)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		f.book, f.sheets = &sharedBook{book: book}, book.visible()
		return []*File{f}, nil
	case names["xl/workbook.bin"], names["content.xml"]:
		f.Problem = "is a workbook in another format: save it as .xlsx or CSV"
	case inZIP:
		f.Problem = "is a ZIP in a ZIP"
	}
	if f.Problem != "" {
		return []*File{f}, nil
	}
	var files []*File
	total := new(unpackedLimit(f.Size)) // of all entries
	for i, e := range archive.File {
		base := strings.ToValidUTF8(path.Base(strings.NewReplacer(`\`, "/", "\x00", "").Replace(e.Name)), "\uFFFD")
		if e.FileInfo().IsDir() || strings.HasPrefix(base, ".") || strings.HasPrefix(e.Name, "__MACOSX/") {
			continue
		}
		if e.Flags&1 != 0 {
			return nil, fmt.Errorf("%s is encrypted: upload it without a password", f.Name)
		}
		if slices.ContainsFunc(files, func(other *File) bool { return other.Name == base }) {
			return nil, fmt.Errorf("%s has two files with the name %s", f.Name, base)
		}
		entry := &File{Name: base, Size: int64(e.CompressedSize64), space: f.space, content: f.entry(i)}
		if *total -= int64(e.UncompressedSize64); *total < 0 || e.UncompressedSize64 > maxUnpacked {
			return nil, fmt.Errorf("%s: %w", f.Name, errUnpacked)
		}
		inner, err := entry.expand(ctx, true)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		files = append(files, inner...)
	}
	return files, nil
}

// entry returns a function that opens an entry of the ZIP. archive/zip reads no more than the size in the directory.
func (f *File) entry(i int) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) {
		archive, closer, err := f.zip()
		if err != nil {
			return nil, err
		}
		content, err := archive.File[i].Open()
		if err != nil {
			return nil, errors.Join(err, closer.Close())
		}
		return &readCloser{content, closer}, nil
	}
}

// zip opens the file as a ZIP. A file without random access is copied.
func (f *File) zip() (*zip.Reader, io.Closer, error) {
	content, err := f.content()
	if err != nil {
		return nil, nil, err
	}
	at, random := content.(io.ReaderAt)
	size, closer := f.Size, io.Closer(content)
	if !random {
		file, err := f.space.File()
		if err != nil {
			return nil, nil, errors.Join(err, content.Close())
		}
		size, err = io.Copy(file, content)
		if err = errors.Join(err, content.Close()); err != nil {
			return nil, nil, errors.Join(err, file.Close())
		}
		at, closer = file, file
	}
	limited := &directoryLimit{at, cmp.Or(f.directory, maxDirectory)}
	archive, err := zip.NewReader(limited, size)
	if err != nil {
		return nil, nil, errors.Join(err, closer.Close())
	}
	limited.left = -1
	return archive, closer, nil
}

// Hold keeps a workbook open until release is called, so that what its sheets share is unpacked once for all of them.
func (f *File) Hold(ctx context.Context) (release func() error, err error) {
	if f.book == nil {
		return func() error { return nil }, nil
	}
	return f.book.Close, f.book.open(ctx, f)
}

// Open returns the rows.
func (f *File) Open(ctx context.Context) (*Rows, error) {
	if f.book != nil {
		if err := f.book.open(ctx, f); err != nil {
			return nil, err
		}
		rows, err := f.book.openSheet(cmp.Or(f.Sheet, f.sheets[0]), f.precision(), unpackedLimit(f.Size))
		if err != nil {
			return nil, errors.Join(err, f.book.Close())
		}
		return rows, nil
	}
	content, err := f.content()
	if err != nil {
		return nil, err
	}
	if f.feed != nil {
		items := newFeed(content)
		items.names, items.first = f.feed, true
		return &Rows{next: items.next, closers: []io.Closer{content}}, nil
	}
	text := newCSV(decode(bufio.NewReaderSize(content, 64<<10), f.charset), f.delimiter)
	return &Rows{Delimiter: text.sep, next: text.next, closers: []io.Closer{content}}, nil
}

func (f *File) precision() time.Duration {
	if f.Microseconds {
		return time.Microsecond
	}
	return time.Millisecond
}

var errUnpacked = errors.New("unpacks to more than 4 GiB or 200 times its size")

// unpackedLimit returns how many bytes a compressed file may unpack to.
func unpackedLimit(size int64) int64 { return min(maxUnpacked, max(freeUnpacked, size*maxRatio)) }

// unpackLimit returns errUnpacked after that many bytes.
type unpackLimit struct {
	r    io.Reader
	left int64
}

func (l *unpackLimit) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, errUnpacked
	}
	return n, err
}

// directoryLimit limits the bytes that are read of a ZIP until left is negative.
type directoryLimit struct {
	io.ReaderAt
	left int
}

func (l *directoryLimit) ReadAt(p []byte, at int64) (int, error) {
	if l.left >= 0 {
		if l.left -= len(p); l.left < 0 {
			return 0, errors.New("its directory is larger than 4 MiB")
		}
	}
	return l.ReaderAt.ReadAt(p, at)
}

// contextReader cannot be read any more when its context has ended.
type contextReader struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (r contextReader) Read(p []byte) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

type readCloser struct {
	io.Reader
	closer io.Closer
}

func (c *readCloser) Close() error { return c.closer.Close() }
