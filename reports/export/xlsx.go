package export

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/xuri/excelize/v2"

	"github.com/storeroom/storeroom/tenancy/limits"
	"github.com/storeroom/storeroom/tenancy/spool"
)

// MaxRows is the maximum number of rows of a sheet, without its header.
const MaxRows = excelize.TotalRows - 1

// ErrTooManyRows means that a report has more than MaxRows rows.
var ErrTooManyRows = fmt.Errorf("xlsx holds at most %d rows", MaxRows)

// workbookMemory is what a workbook needs while it is written.
const workbookMemory = 16 << 20

// Workbook runs a report and writes its sheets as a workbook, within the limits of the request in ctx. The caller
// closes the file. Workbook returns ErrTooManyRows if a sheet has too many rows, or limits.ErrBusy.
func Workbook(ctx context.Context, report func(context.Context) ([]Sheet, error)) (*spool.Spool, error) {
	release, err := limits.FromContext(ctx).Take(ctx, limits.Memory, workbookMemory)
	if err != nil {
		return nil, err
	}
	defer release()
	sheets, err := report(ctx)
	if err != nil {
		return nil, err
	}
	file := spool.New(limits.FromContext(ctx))
	if err := WriteWorkbook(ctx, file, sheets...); err != nil {
		_ = file.Close() // the first error is returned
		return nil, err
	}
	file.End(nil)
	return file, nil
}

// WriteWorkbook writes sheets as a workbook. It returns ErrTooManyRows if one of them has too many rows.
func WriteWorkbook(ctx context.Context, to io.Writer, sheets ...Sheet) error {
	if err := writeSheets(ctx, to, sheets); err != nil {
		return fmt.Errorf("write a workbook: %w", err)
	}
	return nil
}

// writeSheets lets excelize write everything but the rows, which it would buffer in 16 to 48 MiB.
func writeSheets(ctx context.Context, to io.Writer, sheets []Sheet) error {
	book := excelize.NewFile()
	defer book.Close()
	properties := excelize.DocProperties{Creator: "Storeroom", Created: time.Now().UTC().Format(time.RFC3339)}
	if err := book.SetDocProps(&properties); err != nil {
		return err
	}
	styles, err := newStyles(book)
	if err != nil {
		return err
	}
	parts := map[string]*rowWriter{}
	for i, s := range sheets {
		if i == 0 {
			err = book.SetSheetName("Sheet1", s.name)
		} else {
			_, err = book.NewSheet(s.name)
		}
		if err == nil {
			err = setLayout(book, s)
		}
		if err != nil {
			return err
		}
		parts[fmt.Sprintf("xl/worksheets/sheet%d.xml", i+1)] = newRowWriter(ctx, s, styles)
	}
	// By default excelize compresses the complete file in memory.
	book.SetZipWriter(func(io.Writer) excelize.ZipWriter { return &zipWriter{newZipWriter(to), parts} })
	if err := book.Write(io.Discard); err != nil {
		return err
	}
	for path, part := range parts { // excelize returns only the error of the last part
		if part.err != nil {
			return part.err
		}
		if !part.isWritten {
			return fmt.Errorf("%s is missing", path)
		}
	}
	return nil
}

// zipWriter adds rows to the sheets.
type zipWriter struct {
	*zip.Writer
	parts map[string]*rowWriter
}

func (z *zipWriter) Create(path string) (io.Writer, error) {
	to, err := z.Writer.Create(path)
	if part := z.parts[path]; part != nil && err == nil {
		part.to = to
		return part, nil
	}
	return to, err
}

// newZipWriter prefers speed: sheets are repetitive, so they become small anyway.
func newZipWriter(to io.Writer) *zip.Writer {
	z := zip.NewWriter(to)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestSpeed)
	})
	return z
}

// styles are the styles by kind of cell. Empty cells need none; their place has the
// style of headers.
type styles [kinds]int

const header = empty

func newStyles(book *excelize.File) (styles, error) {
	var s styles
	for k, style := range map[kind]excelize.Style{
		header:  {Font: &excelize.Font{Bold: true}, NumFmt: 49},
		text:    {NumFmt: 49}, // @
		day:     {CustomNumFmt: new("yyyy-mm-dd")},
		id:      {NumFmt: 1}, // 0
		count:   {NumFmt: 3}, // #,##0
		amount:  {NumFmt: 4}, // #,##0.00
		percent: {NumFmt: 2}, // 0.00
		moment:  {CustomNumFmt: new("yyyy-mm-dd hh:mm:ss")},
		long:    {NumFmt: 49},
	} {
		var err error
		if s[k], err = book.NewStyle(&style); err != nil {
			return s, err
		}
	}
	return s, nil
}

// So many rows, or texts of so many bytes, are kept in memory, so that no CPU is held while PostgreSQL computes the
// next rows.
const (
	batchRows  = 200
	batchBytes = 1 << 20
)

// maxCell is the maximum number of UTF-16 units in a cell of a spreadsheet.
const maxCell = 32_767

// cut returns the start of a text that fits into a cell.
func cut(text string) string {
	if len(text) <= maxCell {
		return text
	}
	units := 0
	for i, r := range text {
		if units += utf16.RuneLen(r); units > maxCell {
			return text[:i]
		}
	}
	return text
}

// rowWriter writes a sheet with its rows.
type rowWriter struct {
	ctx       context.Context
	sheet     Sheet
	styles    [kinds]string // the attributes of cells
	columns   []string      // the names that a spreadsheet shows
	to        io.Writer
	number    int // of the last row
	xml       bytes.Buffer
	isWritten bool
	err       error
}

func newRowWriter(ctx context.Context, s Sheet, styles styles) *rowWriter {
	w := &rowWriter{ctx: ctx, sheet: s}
	for kind, style := range styles {
		w.styles[kind] = fmt.Sprintf(` s="%d"`, style)
	}
	for i := range s.columns {
		name, _ := excelize.ColumnNumberToName(i + 1) // fails above 16,384
		w.columns = append(w.columns, name)
	}
	return w
}

const endOfRows = "</sheetData>"

// Write adds the header and the rows to content, which is the sheet as excelize writes it.
func (w *rowWriter) Write(content []byte) (int, error) {
	before, after, isFound := bytes.Cut(content, []byte(endOfRows))
	if !isFound || w.isWritten {
		w.err = fmt.Errorf("%q must occur once in a sheet", endOfRows)
		return 0, w.err
	}
	w.isWritten = true
	w.xml.Write(before)
	w.addHeader()
	if w.err = w.writeRows(); w.err == nil {
		_, w.err = w.to.Write(append([]byte(endOfRows), after...))
	}
	return len(content), w.err
}

func (w *rowWriter) writeRows() error {
	var batch [][]cell
	texts := 0 // bytes
	writeBatch := func() error {
		release, err := limits.FromContext(w.ctx).Take(w.ctx, limits.CPU, 1)
		if err != nil {
			return err
		}
		defer release()
		for _, values := range batch {
			w.addRow(values, func(k kind) string { return w.styles[k] })
		}
		clear(batch)
		batch, texts = batch[:0], 0
		_, err = w.xml.WriteTo(w.to)
		return err
	}
	err := w.sheet.rows(func(values []cell) error {
		if w.number+len(batch) >= excelize.TotalRows {
			return ErrTooManyRows
		}
		for _, v := range values {
			texts += len(v.string)
		}
		if batch = append(batch, slices.Clone(values)); len(batch) < batchRows && texts < batchBytes {
			return nil
		}
		return writeBatch()
	})
	if err != nil {
		return err
	}
	return writeBatch()
}

func (w *rowWriter) addHeader() {
	names := make([]cell, len(w.sheet.columns))
	for i, name := range w.sheet.columns {
		names[i] = textOf(name)
	}
	w.addRow(names, func(kind) string { return w.styles[header] })
}

func (w *rowWriter) addRow(values []cell, style func(kind) string) {
	w.number++
	number := strconv.Itoa(w.number)
	w.xml.WriteString(`<row r="` + number + `">`)
	for i, v := range values {
		if v.kind == empty {
			continue
		}
		w.xml.WriteString(`<c r="` + w.columns[i] + number + `"` + style(v.kind))
		if v.kind == text || v.kind == long {
			w.xml.WriteString(` t="inlineStr"><is><t xml:space="preserve">`)
			_ = xml.EscapeText(&w.xml, []byte(escapeCodes(cut(v.string)))) // no error in memory
			w.xml.WriteString(`</t></is></c>`)
			continue
		}
		w.xml.WriteString(`><v>` + v.formatted() + `</v></c>`)
	}
	w.xml.WriteString(`</row>`)
}

// code matches the start of a text that a spreadsheet reads as a character.
var code = regexp.MustCompile(`^_x[0-9A-Fa-f]{4}_`)

// escapeCodes escapes what a spreadsheet would read as a code, and writes characters that XML cannot contain as codes.
func escapeCodes(text string) string {
	var escaped strings.Builder
	for i, char := range text {
		switch {
		case char == '_' && code.MatchString(text[i:]):
			escaped.WriteString("_x005F_")
		case char < ' ' && !strings.ContainsRune("\t\n\r", char) || char == '\uFFFE' || char == '\uFFFF':
			fmt.Fprintf(&escaped, "_x%04X_", char)
		default:
			escaped.WriteRune(char)
		}
	}
	return escaped.String()
}

// setLayout sets the widths of the columns, and keeps their names visible. It removes the dimension of the sheet, which
// some readers use instead of the rows.
func setLayout(book *excelize.File, s Sheet) error {
	for i, width := range s.widths {
		column, err := excelize.ColumnNumberToName(i + 1)
		if err == nil {
			err = book.SetColWidth(s.name, column, column, width)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(
		book.SetPanes(s.name, &excelize.Panes{Freeze: true, YSplit: 1, TopLeftCell: "A2", ActivePane: "bottomLeft"}),
		book.SetSheetDimension(s.name, ""))
}

// day1970 is 1970-01-01 as a spreadsheet counts days, from the end of 1899.
const day1970 = 25569

// formatted returns the number that a spreadsheet reads. Below 10,000,000,000,000 the float of an amount has the same
// two fraction digits.
func (c cell) formatted() string {
	switch c.kind {
	case day:
		at, _ := time.Parse(time.DateOnly, c.string) // every day is valid
		return strconv.FormatInt(day1970+at.Unix()/(24*60*60), 10)
	case amount, percent:
		return strconv.FormatFloat(float64(c.number)/100, 'f', -1, 64)
	case moment:
		const day = 24 * 60 * 60 * 1e6
		part := strconv.FormatFloat(float64(c.number%day)/day, 'f', 15, 64) // exact to the microsecond, unlike a sum of floats
		return strconv.FormatInt(day1970+c.number/day, 10) + strings.TrimSuffix(strings.TrimRight(part[1:], "0"), ".")
	}
	return strconv.FormatInt(c.number, 10)
}
