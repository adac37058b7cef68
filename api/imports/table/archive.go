package table

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// maxArchiveDirectory is maxDirectory of an archive, which has an entry for each picture.
const maxArchiveDirectory = 8 << 20

// Archive is a ZIP file that is read by the names of its entries.
type Archive struct {
	Name    string
	file    *File
	zip     *zip.Reader
	closer  io.Closer
	entries map[string]int
}

// FindArchive returns the first ZIP file of dir that has an entry, or nil. The caller must close it. others has the
// names of all other files.
func FindArchive(dir fs.FS, space *Space, entry string) (found *Archive, others []string, err error) {
	files, err := list(dir, space)
	for _, f := range files {
		f.directory = maxArchiveDirectory
		if found == nil && err == nil {
			if found, err = f.archive(entry); found != nil {
				continue
			}
		}
		others = append(others, f.Name)
	}
	return found, others, err
}

// archive returns the file as an archive, or nil if it is not a readable ZIP file with the entry. It reports no error
// for a damaged ZIP file, because Files does.
func (f *File) archive(entry string) (*Archive, error) {
	start, err := f.start()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	if !bytes.HasPrefix(start, []byte("PK\x03\x04")) {
		return nil, nil
	}
	reader, closer, err := f.zip()
	if err != nil {
		return nil, nil
	}
	a := &Archive{Name: f.Name, file: f, zip: reader, closer: closer, entries: map[string]int{}}
	twice := ""
	for i, e := range reader.File {
		if _, exists := a.entries[e.Name]; exists {
			twice = e.Name
		}
		a.entries[e.Name] = i
	}
	if _, exists := a.entries[entry]; !exists {
		return nil, closer.Close()
	}
	if twice != "" {
		return nil, errors.Join(fmt.Errorf("%s has two files with the name %q", f.Name, twice), closer.Close())
	}
	return a, nil
}

// Close closes the file. Files of File remain readable.
func (a *Archive) Close() error { return a.closer.Close() }

// Names returns the names of all entries.
func (a *Archive) Names() []string {
	var names []string
	for _, e := range a.zip.File {
		names = append(names, e.Name)
	}
	return names
}

// Check returns an error if an entry is encrypted, or if the compressed entries unpack to more than other ZIP files
// may. Two entries can refer to the same bytes, which would be read twice, so all entries together must not be larger
// than the file.
func (a *Archive) Check() error {
	left, stored := unpackedLimit(a.file.Size), uint64(a.file.Size)
	for _, e := range a.zip.File {
		if e.CompressedSize64 > stored {
			return errors.New("its entries have more bytes than the file")
		}
		stored -= e.CompressedSize64
		switch {
		case e.Flags&1 != 0:
			return fmt.Errorf("%s is encrypted", e.Name)
		case e.Method == zip.Store && e.CompressedSize64 == e.UncompressedSize64:
		case e.UncompressedSize64 > maxUnpacked:
			return errUnpacked
		default:
			if left -= int64(e.UncompressedSize64); left < 0 {
				return errUnpacked
			}
		}
	}
	return nil
}

// Open opens an entry. It reads no more than the size in the directory.
func (a *Archive) Open(name string) (io.ReadCloser, error) {
	i, exists := a.entries[name]
	if !exists {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return a.zip.File[i].Open()
}

// File returns an entry as a table in UTF-8 with commas.
func (a *Archive) File(name string) (*File, error) {
	i, exists := a.entries[name]
	if !exists {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	size := int64(a.zip.File[i].CompressedSize64)
	return &File{
		Name: name, Size: size, space: a.file.space, content: a.file.entry(i), charset: utf8Text, delimiter: ',',
	}, nil
}
