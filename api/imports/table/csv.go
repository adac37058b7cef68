package table

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// delimiters are the possible delimiters. Of two that fit equally well, the first is chosen.
const delimiters = ",;\t|"

// csvReader reads one CSV text row by row.
type csvReader struct {
	limit *io.LimitedReader // of the next row
	csv   *csv.Reader
	read  *recorder
	above int // lines above the first row: Excel's line with the delimiter
	sep   rune
}

// newCSV returns a reader of rows with a delimiter; 0 means that it is detected.
func newCSV(text io.Reader, delimiter rune) *csvReader {
	t := &csvReader{limit: &io.LimitedReader{R: text, N: maxRowBytes}}
	start := bufio.NewReaderSize(t.limit, 64<<10)
	peeked, _ := start.Peek(64 << 10) // a read error is repeated by the first row
	if strings.HasPrefix(string(peeked), "\uFEFF") {
		_, _ = start.Discard(3) // does not fail after Peek
		peeked = peeked[3:]
	}
	head := string(peeked)
	onlyReturns := !strings.Contains(head, "\n") && strings.Contains(head, "\r") // rows end with carriage returns alone
	if onlyReturns {
		head = strings.ReplaceAll(head, "\r", "\n")
	}
	if t.sep = delimiter; t.sep == 0 {
		t.sep = detectDelimiter(head)
	}
	if line, _, found := strings.Cut(head, "\n"); found && delimiter == 0 {
		if sep, found := strings.CutPrefix(strings.TrimSuffix(line, "\r"), "sep="); found && len(sep) == 1 {
			t.sep, t.above = rune(sep[0]), 1
			_, _ = start.Discard(len(line) + 1)
		}
	}
	t.read = &recorder{r: &carriageReturns{r: start, delimiter: byte(t.sep), onlyReturns: onlyReturns}}
	t.csv = csv.NewReader(t.read)
	t.csv.Comma, t.csv.FieldsPerRecord = t.sep, -1
	return t
}

func (t *csvReader) next() (Row, error) {
	t.limit.N = maxRowBytes
	cells, err := t.csv.Read()
	text := t.read.upTo(t.csv.InputOffset())
	switch problem, malformed := errors.AsType[*csv.ParseError](err); {
	case t.limit.N <= 0:
		return Row{}, errRowTooLong
	case malformed:
		return Row{
			Line: problem.StartLine + t.above, Cells: t.split(string(text)), Problem: describe(problem, t.above),
		}, nil
	case err != nil:
		return Row{}, err
	case len(cells) > maxColumns:
		return Row{}, errTooManyColumns
	}
	for i, cell := range cells {
		cells[i] = marks.Replace(cell)
	}
	line, _ := t.csv.FieldPos(0)
	return Row{Line: line + t.above, Cells: cells}, nil
}

// split returns the cells of a row with malformed quotes, so that it can be corrected: the text between delimiters,
// without quotes around it.
func (t *csvReader) split(text string) []string {
	text = strings.Trim(marks.Replace(text), "\r\n")
	cells := strings.SplitN(text, string(t.sep), maxColumns-1) // the file of refused rows has another column
	for i, cell := range cells {
		if inner, quoted := strings.CutPrefix(cell, `"`); quoted && strings.HasSuffix(inner, `"`) {
			cells[i] = strings.ReplaceAll(inner[:len(inner)-1], `""`, `"`)
		}
	}
	return cells
}

// recorder keeps what was read since the last row.
type recorder struct {
	r     io.Reader
	text  []byte
	taken int   // of text
	start int64 // the offset of the rest of text
}

func (r *recorder) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if r.taken > 0 { // otherwise the start of a long row would be copied with each read
		r.text = r.text[:copy(r.text, r.text[r.taken:])]
		r.taken = 0
	}
	r.text = append(r.text, p[:n]...)
	return n, err
}

// upTo returns the text up to an offset, until the next Read.
func (r *recorder) upTo(offset int64) []byte {
	text := r.text[r.taken:][:offset-r.start]
	r.taken += len(text)
	r.start = offset
	return text
}

// describe returns the problem with the quotes of a row. A quote that is not closed makes the following lines part of
// the row.
func describe(e *csv.ParseError, above int) string {
	problem := `has a quote in a field that does not start with one`
	if errors.Is(e.Err, csv.ErrQuote) {
		problem = `has text after a closing quote, or a quote that is not closed`
	}
	if e.Line > e.StartLine {
		problem += fmt.Sprintf("; the row extends to line %d", e.Line+above)
	}
	return problem
}

// detectDelimiter returns the delimiter that most of the first 50 rows contain equally often; if several do, the most
// frequent one.
func detectDelimiter(text string) rune {
	counts := map[rune][]int{} // by row
	quoted, before := false, '\n'
	row := map[rune]int{}
	rows := 0
	for _, char := range text {
		switch {
		case char == '"' && (quoted || before == '"' || before == '\n' || strings.ContainsRune(delimiters, before)):
			quoted = !quoted
		case quoted:
		case char == '\n':
			for _, d := range delimiters {
				counts[d] = append(counts[d], row[d])
			}
			clear(row)
			rows++
		case strings.ContainsRune(delimiters, char):
			row[char]++
		}
		if before = char; rows == 50 {
			break
		}
	}
	if rows == 0 {
		for _, d := range delimiters {
			counts[d] = []int{row[d]}
		}
	}
	best, bestEqual, bestCount := ',', 0, 0
	for _, d := range delimiters {
		count, equal := mostFrequent(counts[d])
		if count > 0 && (equal > bestEqual || equal == bestEqual && count > bestCount) {
			best, bestEqual, bestCount = d, equal, count
		}
	}
	return best
}

// mostFrequent returns the most frequent number above zero, the largest of several, and how often it occurs.
func mostFrequent(numbers []int) (number, occurrences int) {
	slices.Sort(numbers)
	for i := 0; i < len(numbers); {
		end := i
		for end < len(numbers) && numbers[end] == numbers[i] {
			end++
		}
		if numbers[i] > 0 && end-i >= occurrences {
			number, occurrences = numbers[i], end-i
		}
		i = end
	}
	return number, occurrences
}

// carriageMark replaces carriage returns in quotes: encoding/csv removes them before line feeds, but descriptions are
// stored byte for byte. quoteMark replaces quotes inside of fields that do not start with one, such as 5" nail, which
// other systems and spreadsheets write and read as they are, but encoding/csv refuses. Valid UTF-8 does not contain these
// bytes. In an invalid text they become another invalid byte, and the row is refused.
const (
	carriageMark = 0xFF
	quoteMark    = 0xFD
)

var marks = strings.NewReplacer("\xFF", "\r", "\xFD", `"`)

// maxDelimiters bounds the memory of a row. It is larger than maxColumns because quotes may be malformed.
const maxDelimiters = 64 << 10

// carriageReturns replaces carriage returns in quotes by carriageMark, or all by line feeds if rows end with them, and
// quotes inside of other fields by quoteMark. As in encoding/csv, a quoted field starts with its quote. A quote after
// blanks is left to it, which refuses the row: the blanks may be no part of the field.
type carriageReturns struct {
	r           io.Reader
	delimiter   byte
	onlyReturns bool // rows end with carriage returns alone
	quoted      bool // in a quoted field
	bare        bool // in a field without quotes, or after the closing quote
	text        bool // in a field without quotes, after more than blanks
	closed      bool // after the closing quote
	delimiters  int  // of the row
}

func (c *carriageReturns) Read(p []byte) (int, error) {
	if c.delimiters > maxDelimiters {
		return 0, errTooManyColumns
	}
	n, err := c.r.Read(p)
	for i, b := range p[:n] {
		if c.onlyReturns && b == '\r' {
			b, p[i] = '\n', '\n'
		}
		switch {
		case b == carriageMark, b == quoteMark:
			p[i] = 0xFE
			c.bare = !c.quoted
		case c.quoted && b == '\r':
			p[i] = carriageMark
		case c.quoted:
			c.quoted = b != '"' // a doubled quote closes the field and opens it again
			c.closed = !c.quoted
		case b == '\n':
			c.bare, c.text, c.closed, c.delimiters = false, false, false, 0
		case b == c.delimiter:
			c.bare, c.text, c.closed = false, false, false
			if c.delimiters++; c.delimiters > maxDelimiters {
				return i, errTooManyColumns
			}
		case b == '"' && !c.bare:
			c.quoted = true
		case b == '"' && c.text:
			p[i] = quoteMark
		default:
			c.bare, c.text = true, c.text || b != ' ' && !c.closed
		}
	}
	return n, err
}
