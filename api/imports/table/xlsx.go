package table

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxPartBytes limits what is read of a workbook's list of sheets and styles.
const maxPartBytes = 16 << 20

// maxSheets limits the list of sheets, of which an import reads the first ones.
const maxSheets = 1000

// maxRowXML limits the XML of a row. Its text has at most maxRowBytes.
const maxRowXML = 8 << 20

// maxElementXML limits the XML of an element without its content: attributes take up to thirty times as much memory.
const maxElementXML = 2 << 20

var errElementTooLong = errors.New("an element of the XML is longer than 2 MiB")

// elementLimit returns errElementTooLong if too many bytes follow each other without a <, which attributes cannot
// contain.
type elementLimit struct {
	r    io.Reader
	read int // bytes since the last <
}

// Read implements io.Reader.
func (l *elementLimit) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if last := bytes.LastIndexByte(p[:n], '<'); last >= 0 {
		l.read = n - last
	} else {
		l.read += n
	}
	if l.read > maxElementXML {
		return 0, errElementTooLong
	}
	return n, err
}

func newDecoder(r io.Reader) *xml.Decoder { return xml.NewDecoder(&elementLimit{r: r}) }

// book is the list of sheets of a workbook, and what its cells need.
type book struct {
	sheets   []sheet
	date1904 bool
	styles   []style
}

type sheet struct {
	name, part string
	hidden     bool
}

// style is how a cell shows its number.
type style struct {
	date    bool // or a time
	percent bool // a hundred times the number and a percent sign
	digits  int  // with leading zeros, or 0
}

func (b *book) visible() []string {
	var names []string
	for _, s := range b.sheets {
		if !s.hidden {
			names = append(names, s.name)
		}
	}
	return names
}

func openBook(archive *zip.Reader) (*book, error) {
	b := &book{}
	targets := map[string]string{}
	err := eachElement(archive, "xl/_rels/workbook.xml.rels", func(e xml.StartElement) {
		if e.Name.Local == "Relationship" {
			targets[attribute(e, "Id")] = attribute(e, "Target")
		}
	})
	if err != nil {
		return nil, err
	}
	err = eachElement(archive, "xl/workbook.xml", func(e xml.StartElement) {
		switch e.Name.Local {
		case "workbookPr":
			b.date1904 = isTrue(attribute(e, "date1904"))
		case "sheet":
			if len(b.sheets) > maxSheets {
				return
			}
			part := targets[attribute(e, "id")]
			if !strings.HasPrefix(part, "/") {
				part = path.Join("xl", part)
			}
			state := attribute(e, "state")
			b.sheets = append(b.sheets, sheet{attribute(e, "name"), strings.TrimPrefix(part, "/"),
				state == "hidden" || state == "veryHidden"})
		}
	})
	if err != nil {
		return nil, err
	}
	if len(b.sheets) > maxSheets {
		return nil, fmt.Errorf("the workbook has more than %d sheets", maxSheets)
	}
	if len(b.visible()) == 0 {
		return nil, errors.New("the workbook has no visible sheet")
	}
	return b, b.readStyles(archive)
}

// readStyles reads how styles show numbers. The part is optional.
func (b *book) readStyles(archive *zip.Reader) error {
	formats, inCells := map[string]string{}, false
	err := eachElement(archive, "xl/styles.xml", func(e xml.StartElement) {
		switch e.Name.Local {
		case "numFmt":
			formats[attribute(e, "numFmtId")] = attribute(e, "formatCode")
		case "cellXfs":
			inCells = true
		case "cellStyles", "dxfs":
			inCells = false
		case "xf":
			if inCells {
				id := attribute(e, "numFmtId")
				b.styles = append(b.styles, style{
					isDateFormat(id, formats[id]), isPercentFormat(id, formats[id]), digitsOfFormat(formats[id]),
				})
			}
		}
	})
	if errors.Is(err, errNoPart) {
		return nil
	}
	return err
}

var notShown = regexp.MustCompile(`"[^"]*"|\\.|\[[^\]]*\]|_.|\*.`)

func isDateFormat(id, code string) bool {
	n, _ := strconv.Atoi(id)
	builtIn := n >= 14 && n <= 22 || n >= 27 && n <= 36 || n >= 45 && n <= 47 || n >= 50 && n <= 58
	if code == "" {
		return builtIn
	}
	return strings.ContainsAny(strings.ToLower(notShown.ReplaceAllString(code, "")), "ymdhs") && code != "General"
}

func isPercentFormat(id, code string) bool {
	if code == "" {
		return id == "9" || id == "10"
	}
	return strings.Contains(notShown.ReplaceAllString(code, ""), "%")
}

// digitsOfFormat returns 5 for 00000, the format of codes with leading zeros.
func digitsOfFormat(code string) int {
	if code, _, _ = strings.Cut(code, ";"); strings.Trim(code, "0") == "" && len(code) <= 30 {
		return len(code)
	}
	return 0
}

var errNoPart = errors.New("is missing")

// eachElement calls f with each element of a small part.
func eachElement(archive *zip.Reader, name string, f func(xml.StartElement)) error {
	part, err := openPart(archive, name)
	if err != nil {
		return err
	}
	defer part.Close()
	tokens := newDecoder(io.LimitReader(part, maxPartBytes))
	for {
		token, err := tokens.RawToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if e, ok := token.(xml.StartElement); ok {
			f(e)
		}
	}
}

func openPart(archive *zip.Reader, name string) (io.ReadCloser, error) {
	for _, e := range archive.File {
		if strings.EqualFold(e.Name, name) {
			return e.Open()
		}
	}
	return nil, fmt.Errorf("%s %w", name, errNoPart)
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func isTrue(s string) bool { return s == "1" || s == "true" }

// sheetReader reads the rows of a sheet.
type sheetReader struct {
	*book
	limit   *io.LimitedReader // of the next row
	tokens  *xml.Decoder
	strings *sharedStrings
	line    int
	precise time.Duration // to which times are rounded; 0 is a millisecond
}

// sharedBook is an XLSX file. The list of its sheets is read once, when the file is listed. The copies of a File, one for
// each sheet, share the open archive and its texts.
type sharedBook struct {
	*book
	users   int // that have the archive open
	archive *zip.Reader
	strings *sharedStrings
	closer  io.Closer
}

// open opens the archive of f unless it is open. Each call needs a Close.
func (w *sharedBook) open(ctx context.Context, f *File) error {
	if w.users == 0 {
		archive, closer, err := f.zip()
		if err != nil {
			return err
		}
		shared, err := readSharedStrings(ctx, archive, f.space, unpackedLimit(f.Size))
		if err != nil {
			return errors.Join(err, closer.Close())
		}
		w.archive, w.closer, w.strings = archive, closer, shared
	}
	w.users++
	return nil
}

// Close implements io.Closer.
func (w *sharedBook) Close() error {
	if w.users--; w.users > 0 {
		return nil
	}
	return errors.Join(w.strings.Close(), w.closer.Close())
}

// openSheet returns the rows of a sheet, which unpacks to at most limit bytes, with times of a precision. The workbook
// must be open.
func (w *sharedBook) openSheet(name string, precise time.Duration, limit int64) (*Rows, error) {
	i := slices.IndexFunc(w.sheets, func(s sheet) bool { return s.name == name })
	if i < 0 {
		return nil, fmt.Errorf("the workbook has no sheet %q", name)
	}
	part, err := openPart(w.archive, w.sheets[i].part)
	if err != nil {
		return nil, err
	}
	limited := &io.LimitedReader{R: &unpackLimit{part, limit}, N: maxRowXML}
	s := &sheetReader{book: w.book, limit: limited, tokens: newDecoder(limited), strings: w.strings, precise: precise}
	return &Rows{next: s.next, closers: []io.Closer{w, part}}, nil
}

// next returns the next row that has a value.
func (s *sheetReader) next() (Row, error) {
	s.limit.N = maxRowXML
	for {
		token, err := s.tokens.RawToken()
		if err != nil {
			return Row{}, s.readError(err)
		}
		e, ok := token.(xml.StartElement)
		if !ok || e.Name.Local != "row" {
			continue
		}
		s.line++
		if line, err := strconv.Atoi(attribute(e, "r")); err == nil && line > s.line {
			s.line = line
		}
		row, err := s.readRow()
		if err != nil {
			return Row{}, s.readError(err)
		}
		if !row.IsEmpty() {
			return row, nil
		}
		s.limit.N = maxRowXML
	}
}

func (s *sheetReader) readError(err error) error {
	if s.limit.N <= 0 || errors.Is(err, errElementTooLong) {
		return errRowTooLong
	}
	return err
}

func (s *sheetReader) readRow() (Row, error) {
	row := Row{Line: s.line}
	size, column := 0, -1
	for {
		token, err := s.tokens.RawToken()
		if err != nil {
			return row, unexpected(err)
		}
		switch e := token.(type) {
		case xml.EndElement:
			if e.Name.Local == "row" {
				return row, nil
			}
		case xml.StartElement:
			if e.Name.Local != "c" {
				continue
			}
			column++
			if at := columnOf(attribute(e, "r")); at >= 0 {
				column = at
			}
			text, numeric, err := s.readCell(e)
			if err != nil {
				return row, err
			}
			if text == "" {
				continue
			}
			if column >= maxColumns {
				return row, errTooManyColumns
			}
			if size += len(text); size > maxRowBytes {
				return row, errRowTooLong
			}
			for len(row.Cells) <= column {
				row.Cells, row.Numeric = append(row.Cells, ""), append(row.Numeric, false)
			}
			row.Cells[column], row.Numeric[column] = text, numeric
		}
	}
}

// columnOf returns 27 for AB3, or -1 if the cell has no address.
func columnOf(address string) int {
	n := 0
	for _, char := range address {
		if char < 'A' || char > 'Z' || n > 1<<16 {
			break
		}
		n = n*26 + int(char-'A') + 1
	}
	return n - 1
}

func (s *sheetReader) readCell(e xml.StartElement) (text string, numeric bool, err error) {
	kind := attribute(e, "t")
	value, inline, err := readText(s.tokens, "c")
	if err != nil {
		return "", false, err
	}
	switch kind {
	case "inlineStr":
		return inline, false, nil
	case "s":
		i, err := strconv.Atoi(value)
		if err != nil {
			return "", false, fmt.Errorf("row %d has an invalid text", s.line)
		}
		text, err := s.strings.text(i)
		return text, false, err
	case "b":
		return map[bool]string{true: "TRUE", false: "FALSE"}[value == "1"], false, nil
	case "", "n":
		if value == "" {
			return "", false, nil
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return value, false, nil
		}
		switch text, style := plainNumber(number), s.style(attribute(e, "s")); {
		case style.date:
			return s.date(number), true, nil
		case style.percent:
			return plainNumber(number*100) + "%", true, nil
		case strings.Trim(text, "0123456789") == "":
			return strings.Repeat("0", max(0, style.digits-len(text))) + text, true, nil
		default:
			return text, true, nil
		}
	}
	return unescape(value), kind == "d", nil
}

func (b *book) style(index string) style {
	if i, _ := strconv.Atoi(index); i >= 0 && i < len(b.styles) {
		return b.styles[i]
	}
	return style{}
}

// plainNumber returns a number with the 15 digits that Excel shows: 19.989999999999998 is 19.99.
func plainNumber(number float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(number, 'g', 15, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// date returns the date, the time, or both, of a number of days.
func (s *sheetReader) date(days float64) string {
	epoch := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	if s.date1904 {
		epoch = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if !(days >= 0 && days <= 3_000_000) { // also NaN
		return plainNumber(days)
	}
	precise := cmp.Or(s.precise, time.Millisecond)
	at := epoch.AddDate(0, 0, int(days)).
		Add(time.Duration((days-float64(int64(days)))*float64(24*time.Hour/precise)+0.5) * precise)
	switch {
	case days < 1:
		return at.Format(time.TimeOnly)
	case at.Equal(at.Truncate(24 * time.Hour)):
		return at.Format(time.DateOnly)
	}
	return at.Format(time.DateTime + ".999999")
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
