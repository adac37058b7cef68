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
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf16"

	"github.com/xuri/excelize/v2"

	"github.com/storeroom/storeroom/tenancy/admission"
)

// MaxRows is the maximum number of rows of a sheet, without its header.
const MaxRows = excelize.TotalRows - 1

// ErrTooManyRows means that a report has more than MaxRows rows.
var ErrTooManyRows = fmt.Errorf("xlsx holds at most %d rows", MaxRows)

// File is a complete workbook. The caller closes it.
type File struct {
	*os.File
	Size int64
	dir  string
	disk diskWriter
	free func() // ends the use of disk; may be nil
}

// Close closes and removes the file.
func (f *File) Close() error {
	if f.free != nil {
		f.free()
	}
	f.disk.release()
	return errors.Join(f.File.Close(), os.RemoveAll(f.dir))
}

// A workbook needs this much memory and disk while it is written.
const (
	workbookMemory = 16 << 20
	workbookDisk   = 128 << 20
)

// Workbook takes memory and disk from the budgets of the request in ctx, runs a report and writes its
// sheets. The file counts as disk until it is closed.
func Workbook(ctx context.Context, report func(context.Context) ([]Sheet, error)) (*File, error) {
	ticket := admission.FromContext(ctx)
	freeMemory, err := ticket.Large(ctx, workbookMemory)
	if err != nil {
		return nil, err
	}
	defer freeMemory()
	freeDisk, err := ticket.Disk(ctx, workbookDisk)
	if err != nil {
		return nil, err
	}
	freeDisk = sync.OnceFunc(freeDisk)
	defer freeDisk()
	sheets, err := report(ctx)
	if err != nil {
		return nil, err
	}
	f, err := XLSX(ctx, sheets...)
	if err != nil {
		return nil, err
	}
	freeDisk()
	f.disk.release()
	if f.free, err = ticket.TryDisk(f.Size); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// XLSX writes sheets as a workbook, with a CPU in turns. It returns ErrTooManyRows if one of them has
// too many rows. An error leaves nothing on disk.
func XLSX(ctx context.Context, sheets ...Sheet) (_ *File, err error) {
	f := &File{}
	if f.dir, err = os.MkdirTemp("", "storeroom-xlsx-"); err != nil {
		return nil, fmt.Errorf("write a workbook: %w", err)
	}
	if f.File, err = os.Create(f.dir + "/report.xlsx"); err == nil {
		ticket := admission.FromContext(ctx)
		f.disk = diskWriter{to: f.File, ticket: ticket, left: workbookDisk}
		if err = writeWorkbook(turns{ctx, ticket.Turn(), &f.disk}, sheets); err == nil {
			f.Size, err = rewind(f.File)
		}
	}
	if err != nil {
		_ = f.Close() // fails if the file does not exist; the first error is returned
		return nil, fmt.Errorf("write a workbook: %w", err)
	}
	return f, nil
}

// diskWriter takes more disk from the budget of a request when a file becomes larger than expected.
type diskWriter struct {
	to     io.Writer
	ticket *admission.Ticket // nil has no limits
	left   int64             // of what was taken
	taken  []func()          // release it
}

const diskStep = 16 << 20

// Write implements io.Writer. It returns admission.ErrBusy.
func (d *diskWriter) Write(b []byte) (int, error) {
	for d.left -= int64(len(b)); d.left < 0 && d.ticket != nil; d.left += diskStep {
		release, err := d.ticket.TryDisk(diskStep)
		if err != nil {
			return 0, err
		}
		d.taken = append(d.taken, release)
	}
	return d.to.Write(b)
}

func (d *diskWriter) release() {
	for _, release := range d.taken {
		release()
	}
	d.taken = nil
}

// rewind goes from the end of a file back to its start and returns its size.
func rewind(file *os.File) (size int64, err error) {
	if size, err = file.Seek(0, io.SeekCurrent); err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	return size, err
}

// turns is a writer that uses a CPU in turns.
type turns struct {
	ctx  context.Context
	turn *admission.Turn
	to   io.Writer
}

func (t turns) next() error { return t.turn.Next(t.ctx) }

// Write waits for the next turn.
func (t turns) Write(b []byte) (int, error) {
	if err := t.next(); err != nil {
		return 0, err
	}
	return t.to.Write(b)
}

// writeWorkbook writes a workbook. excelize writes everything but the rows, which it would buffer in 16 to 48 MiB.
func writeWorkbook(to turns, sheets []Sheet) error {
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
		parts[fmt.Sprintf("xl/worksheets/sheet%d.xml", i+1)] = newRowWriter(to, s, styles)
	}
	// By default excelize compresses the complete file in memory.
	book.SetZipWriter(func(io.Writer) excelize.ZipWriter { return &zipWriter{newZipWriter(to), parts} })
	defer to.turn.End()
	if err := to.next(); err != nil {
		return err
	}
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
	turns     turns
	sheet     Sheet
	styles    [kinds]string // the attributes of cells
	columns   []string      // the names that a spreadsheet shows
	to        io.Writer
	number    int // of the last row
	xml       bytes.Buffer
	isWritten bool
	err       error
}

func newRowWriter(turns turns, s Sheet, styles styles) *rowWriter {
	w := &rowWriter{turns: turns, sheet: s}
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
		defer w.turns.turn.End()
		for _, values := range batch {
			if err := w.turns.next(); err != nil {
				return err
			}
			w.addRow(values, func(k kind) string { return w.styles[k] })
		}
		clear(batch)
		batch, texts = batch[:0], 0
		_, err := w.xml.WriteTo(w.to)
		return err
	}
	w.turns.turn.End() // the rows may have to wait for a connection
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
