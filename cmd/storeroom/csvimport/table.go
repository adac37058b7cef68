package csvimport

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/csvcell"
)

// maxRowBytes limits the size of a row. The longest description has 256 KiB; a longer row
// has a quote that is not closed.
const maxRowBytes = 2 << 20

var errRowTooLong = errors.New("a row is longer than 2 MiB: is a closing quote missing?")

// columns are the names that the header of a file may contain.
type columns struct {
	names    []string
	required int    // the number of names, from the first, that the header must contain
	key      string // the column that identifies a row in refusals, if any
}

// table reads one CSV file row by row.
type table struct {
	name   string
	line   int // the end of the last row
	size   int64
	read   *countingReader // before decompression
	file   fs.File
	row    *io.LimitedReader // of the next row
	csv    *csv.Reader
	header []string
	key    string // the column
}

// openTable opens a plain or compressed file and reads its header.
func openTable(dir fs.FS, name string, c columns) (*table, error) {
	file, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	t := &table{name: name, file: file, read: &countingReader{r: file}}
	if err := t.start(c); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return t, nil
}

func (t *table) start(c columns) error {
	info, err := t.file.Stat()
	if err != nil {
		return err
	}
	t.size = info.Size()
	var text io.Reader = t.read
	if strings.HasSuffix(t.name, ".gz") {
		if text, err = gzip.NewReader(text); err != nil {
			return fmt.Errorf("%s is not a gzip file: %w", t.name, err)
		}
	}
	t.row = &io.LimitedReader{R: text, N: maxRowBytes}
	start := bufio.NewReader(t.row)
	if mark, _ := start.Peek(3); string(mark) == "\uFEFF" {
		_, _ = start.Discard(3) // does not fail after Peek
	}
	t.csv = csv.NewReader(&carriageReturns{r: start})
	t.csv.FieldsPerRecord = -1 // next checks it, with a better message
	return t.readHeader(c)
}

func (t *table) close() { t.file.Close() }

// readHeader accepts the columns in any order. An unknown column is an error, because its
// name may be misspelt.
func (t *table) readHeader(c columns) error {
	header, err := t.readFields()
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s is empty: expected column names in the first row", t.name)
	}
	if err != nil {
		return t.readError(err)
	}
	for i, name := range header {
		name = strings.TrimSpace(name)
		switch {
		case !utf8.ValidString(name):
			return fmt.Errorf("%s line 1: the file is not UTF-8 text", t.name)
		case !slices.Contains(c.names, name):
			return fmt.Errorf("%s line 1: unknown column %q: expected one of %s", t.name, name, strings.Join(c.names, ", "))
		case slices.Contains(header[:i], name):
			return fmt.Errorf("%s line 1: duplicate column %s", t.name, name)
		}
		header[i] = name
	}
	for _, name := range c.names[:c.required] {
		if !slices.Contains(header, name) {
			return fmt.Errorf("%s line 1: column %s is missing", t.name, name)
		}
	}
	t.header, t.key, t.line = header, c.key, 1
	return nil
}

func (t *table) readFields() ([]string, error) {
	t.row.N = maxRowBytes
	fields, err := t.csv.Read()
	if t.row.N <= 0 {
		return nil, errRowTooLong
	}
	return fields, err
}

// next returns the next row, io.EOF, or an error if the rest of the file cannot be read.
func (t *table) next() (row, error) {
	fields, err := t.readFields()
	w := row{invalid: tenancy.InvalidError{}}
	if problem, ok := errors.AsType[*csv.ParseError](err); ok {
		t.line, w.line = problem.Line, problem.StartLine
		w.invalid.Add("", "%s", describe(problem))
		return w, nil
	}
	if err != nil {
		return row{}, t.readError(err)
	}
	w.line, _ = t.csv.FieldPos(0)
	t.line, _ = t.csv.FieldPos(len(fields) - 1)
	t.line += strings.Count(fields[len(fields)-1], "\n")
	if len(fields) != len(t.header) {
		w.invalid.Add("", "the number of fields is %d, but the header has %d", len(fields), len(t.header))
		return w, nil
	}
	w.cells = map[string]string{}
	for i, name := range t.header {
		if fields[i] != "" {
			w.cells[name] = strings.ReplaceAll(fields[i], "\xFF", "\r")
		}
	}
	w.key = strings.ToValidUTF8(csvcell.Unguard(w.cells[t.key]), "\uFFFD")
	return w, nil
}

// readError adds the file and the line to an error. It returns io.EOF unchanged.
func (t *table) readError(err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	if problem, ok := errors.AsType[*csv.ParseError](err); ok {
		return fmt.Errorf("%s line %d: %s", t.name, problem.StartLine, describe(problem))
	}
	return fmt.Errorf("%s after line %d: %w", t.name, t.line, err)
}

// describe returns the problem with the quotes of a row. A quote that is not closed makes
// the following lines part of the row.
func describe(e *csv.ParseError) string {
	problem := `has a quote in a field that does not start with one`
	if errors.Is(e.Err, csv.ErrQuote) {
		problem = `has text after a closing quote, or a quote that is not closed`
	}
	if e.Line > e.StartLine {
		problem += fmt.Sprintf("; the row extends to line %d", e.Line)
	}
	return problem
}

// countingReader counts the bytes read.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// carriageMark replaces a carriage return in quotes, because encoding/csv removes those
// before line feeds and descriptions are stored byte for byte. Valid UTF-8 does not contain
// this byte. In an invalid file it becomes another invalid byte, and the row is refused.
const carriageMark = 0xFF

// carriageReturns replaces carriage returns in quotes by carriageMark. As in encoding/csv, a
// quoted field starts with its quote.
type carriageReturns struct {
	r      io.Reader
	quoted bool // in a quoted field
	bare   bool // in a field without quotes, or after the closing quote
}

func (c *carriageReturns) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	for i, b := range p[:n] {
		switch {
		case b == carriageMark:
			p[i] = 0xFE
			c.bare = !c.quoted
		case c.quoted && b == '\r':
			p[i] = carriageMark
		case c.quoted:
			c.quoted = b != '"' // a doubled quote closes the field and opens it again
		case b == ',' || b == '\n':
			c.bare = false
		case b == '"' && !c.bare:
			c.quoted = true
		default:
			c.bare = true
		}
	}
	return n, err
}
