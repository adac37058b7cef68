package csvimport

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxRow bounds what one row may take. The longest description takes 256 KiB; a
// row beyond the bound is a quote that was left open.
const maxRow = 2 << 20

var errRowTooLong = errors.New("a row is longer than 2 MiB: is a quote left open?")

// columns are the names that a file's header may hold. The first needed of them
// must be there. A refusal names the row by its key, if it has one.
type columns struct {
	names  []string
	needed int
	key    string
}

// table reads one CSV file row by row.
type table struct {
	name   string
	line   int // where the last row ended
	size   int64
	read   *meter // bytes taken from disk
	file   fs.File
	bound  *bounded
	csv    *csv.Reader
	header []string
	key    string // the column
}

// row is one row of a table. cells holds what is not empty, by column. fault says
// why the row could not be taken apart.
type row struct {
	line  int
	key   string
	cells map[string]string
	fault string
}

// openTable opens a plain or compressed file and reads its header.
func openTable(dir fs.FS, name string, c columns) (*table, error) {
	file, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	t := &table{name: name, file: file, read: &meter{r: file}}
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
	t.bound = &bounded{r: text}
	start := bufio.NewReader(t.bound)
	t.bound.left = maxRow
	if mark, _ := start.Peek(3); string(mark) == "\uFEFF" {
		_, _ = start.Discard(3) // it was peeked at
	}
	t.csv = csv.NewReader(&carriages{r: start})
	t.csv.FieldsPerRecord = -1 // next counts, to say more than the reader would
	return t.readHeader(c)
}

func (t *table) close() { t.file.Close() }

// readHeader accepts the columns in any order. A column that nobody knows is an
// error rather than ignored: it may be a misspelt one.
func (t *table) readHeader(c columns) error {
	t.bound.left = maxRow
	header, err := t.csv.Read()
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s is empty: the first row must name the columns", t.name)
	}
	if err != nil {
		return t.broken(err)
	}
	for i, name := range header {
		name = strings.TrimSpace(name)
		switch {
		case !utf8.ValidString(name):
			return fmt.Errorf("%s line 1: the file is not UTF-8 text", t.name)
		case !slices.Contains(c.names, name):
			return fmt.Errorf("%s line 1: unknown column %q; known are %s", t.name, name, strings.Join(c.names, ", "))
		case slices.Contains(header[:i], name):
			return fmt.Errorf("%s line 1: column %s stands twice", t.name, name)
		}
		header[i] = name
	}
	for _, name := range c.names[:c.needed] {
		if !slices.Contains(header, name) {
			return fmt.Errorf("%s line 1: column %s is missing", t.name, name)
		}
	}
	t.header, t.key = header, c.key
	t.line = 1
	return nil
}

// next returns the next row, io.EOF, or what keeps the file from being read on.
func (t *table) next() (row, error) {
	t.bound.left = maxRow
	cells, err := t.csv.Read()
	if fault, ok := errors.AsType[*csv.ParseError](err); ok {
		t.line = fault.Line
		return row{line: fault.StartLine, fault: explain(fault)}, nil
	}
	if err != nil {
		return row{}, t.broken(err)
	}
	r := row{cells: map[string]string{}}
	r.line, _ = t.csv.FieldPos(0)
	t.line, _ = t.csv.FieldPos(len(cells) - 1)
	t.line += strings.Count(cells[len(cells)-1], "\n")
	if len(cells) != len(t.header) {
		r.fault = fmt.Sprintf("has %d fields where the header names %d columns", len(cells), len(t.header))
		return r, nil
	}
	for i, name := range t.header {
		if cells[i] != "" {
			r.cells[name] = strings.ReplaceAll(cells[i], carriageMark, "\r")
		}
	}
	r.key = strings.ToValidUTF8(unguard(r.cells[t.key]), "\uFFFD")
	return r, nil
}

// broken says where a file ended to be readable; io.EOF stays as it is.
func (t *table) broken(err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	if fault, ok := errors.AsType[*csv.ParseError](err); ok {
		return fmt.Errorf("%s line %d: %s", t.name, fault.StartLine, explain(fault))
	}
	return fmt.Errorf("%s after line %d: %w", t.name, t.line, err)
}

// explain says what is wrong with a row's quotes. A quote that is left open takes
// the lines after it into its field.
func explain(e *csv.ParseError) string {
	reason := `a quote stands in a field that does not begin with one`
	if errors.Is(e.Err, csv.ErrQuote) {
		reason = `a quoted field does not end where its quote does, or never`
	}
	if e.Line > e.StartLine {
		reason += fmt.Sprintf("; the row takes the lines to %d", e.Line)
	}
	return reason
}

var guarded = regexp.MustCompile(`^'+[=+\-@\t\r]`)

// unguard takes back the apostrophe with which an export keeps a spreadsheet from
// reading a text as a formula.
func unguard(cell string) string {
	if guarded.MatchString(cell) {
		return cell[1:]
	}
	return cell
}

// meter counts what is read.
type meter struct {
	r io.Reader
	n int64
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.n += int64(n)
	return n, err
}

// bounded gives out at most left bytes until left is set anew.
type bounded struct {
	r    io.Reader
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errRowTooLong
	}
	n, err := b.r.Read(p)
	b.left -= n
	return n, err
}

// carriageMark stands for a carriage return within quotes on its way through
// encoding/csv, which would drop it before a line feed: a description is stored
// byte for byte. UTF-8 never holds this byte; where a file does, it becomes
// another that UTF-8 never holds, and the row is refused.
const carriageMark = "\xff"

// carriages replaces carriage returns within quotes. A quote counts at the start
// of a field only, as for encoding/csv, so that a stray one does no harm.
type carriages struct {
	r      io.Reader
	in     [4 << 10]byte
	out    []byte // read, not yet handed out
	quoted bool   // within a quoted field
	inside bool   // within a field that began without a quote, or after its end
	err    error
}

func (c *carriages) Read(p []byte) (int, error) {
	for len(c.out) == 0 {
		if c.err != nil {
			return 0, c.err
		}
		var n int
		n, c.err = c.r.Read(c.in[:])
		c.out = c.translate(c.in[:n])
	}
	n := copy(p, c.out)
	c.out = c.out[n:]
	return n, nil
}

func (c *carriages) translate(in []byte) []byte {
	out := make([]byte, 0, len(in)+8)
	for _, b := range in {
		if b == carriageMark[0] {
			b = 0xFE
		}
		switch {
		case c.quoted && b == '\r':
			out = append(out, carriageMark...)
			continue
		case c.quoted:
			// A doubled quote ends the field and begins it again.
			c.quoted = b != '"'
		case b == ',' || b == '\n':
			c.inside = false
		case b == '"' && !c.inside:
			c.quoted = true
		default:
			c.inside = true
		}
		out = append(out, b)
	}
	return out
}
