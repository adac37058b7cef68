package export

import (
	"archive/zip"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

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
	free func() // ends the use of disk; may be nil
}

// Close closes and removes the file.
func (f *File) Close() error {
	if f.free != nil {
		f.free()
	}
	return errors.Join(f.File.Close(), os.RemoveAll(f.dir))
}

// A workbook needs this much memory and disk while it is written.
const (
	workbookMemory = 48 << 20
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
		if err = writeWorkbook(turns{ctx, admission.FromContext(ctx).Turn(), f.File}, f.dir, sheets); err == nil {
			f.Size, err = rewind(f.File)
		}
	}
	if err != nil {
		_ = f.Close() // fails if the file does not exist; the first error is returned
		return nil, fmt.Errorf("write a workbook: %w", err)
	}
	return f, nil
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

// writeWorkbook writes a workbook; excelize keeps its temporary files in dir.
func writeWorkbook(to turns, dir string, sheets []Sheet) error {
	book := excelize.NewFile(excelize.Options{TmpDir: dir})
	defer book.Close()
	// By default excelize compresses the complete file in memory.
	book.SetZipWriter(func(io.Writer) excelize.ZipWriter { return newZipWriter(to) })
	properties := excelize.DocProperties{Creator: "Storeroom", Created: time.Now().UTC().Format(time.RFC3339)}
	if err := book.SetDocProps(&properties); err != nil {
		return err
	}
	styles, err := newStyles(book)
	if err != nil {
		return err
	}
	for i, s := range sheets {
		if i == 0 {
			err = book.SetSheetName("Sheet1", s.name)
		} else {
			_, err = book.NewSheet(s.name)
		}
		if err == nil {
			err = writeSheet(to, book, s, styles)
		}
		if err != nil {
			return err
		}
	}
	defer to.turn.End()
	if err := to.next(); err != nil {
		return err
	}
	return book.Write(io.Discard)
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
	} {
		var err error
		if s[k], err = book.NewStyle(&style); err != nil {
			return s, err
		}
	}
	return s, nil
}

// batchRows is how many rows are kept in memory, so that no CPU is in use while PostgreSQL computes the next ones.
const batchRows = 200

func writeSheet(turns turns, book *excelize.File, s Sheet, styles styles) error {
	to, err := book.NewStreamWriter(s.name)
	if err != nil {
		return err
	}
	if err := writeHeader(to, s, styles); err != nil {
		return err
	}
	// All rows share these cells, because SetRow does not keep them.
	cells, row := make([]excelize.Cell, len(s.columns)), make([]any, len(s.columns))
	n := 1
	write := func(values []cell) error {
		if n++; n > excelize.TotalRows {
			return ErrTooManyRows
		}
		for i, v := range values {
			cells[i] = excelize.Cell{StyleID: styles[v.kind], Value: v.typed()}
			if row[i] = &cells[i]; v.kind == empty {
				row[i] = nil
			}
		}
		return to.SetRow("A"+strconv.Itoa(n), row)
	}
	var batch [][]cell
	writeBatch := func() error {
		defer turns.turn.End()
		for _, values := range batch {
			if err := turns.next(); err != nil {
				return err
			}
			if err := write(values); err != nil {
				return err
			}
		}
		batch = batch[:0]
		return nil
	}
	err = s.rows(func(values []cell) error {
		if batch = append(batch, slices.Clone(values)); len(batch) < batchRows {
			return nil
		}
		return writeBatch()
	})
	if err == nil {
		err = writeBatch()
	}
	if err != nil {
		return err
	}
	return to.Flush()
}

// writeHeader sets the widths of the columns and writes their names, which stay visible.
func writeHeader(to *excelize.StreamWriter, s Sheet, styles styles) error {
	row := make([]any, len(s.columns))
	for i, name := range s.columns {
		if err := to.SetColWidth(i+1, i+1, s.widths[i]); err != nil {
			return err
		}
		row[i] = excelize.Cell{StyleID: styles[header], Value: name}
	}
	panes := excelize.Panes{Freeze: true, YSplit: 1, TopLeftCell: "A2", ActivePane: "bottomLeft"}
	if err := to.SetPanes(&panes); err != nil {
		return err
	}
	return to.SetRow("A1", row)
}

// day1970 is 1970-01-01 as a spreadsheet counts days, from the end of 1899.
const day1970 = 25569

// typed returns the value for excelize. Below 10,000,000,000,000 the float of an amount
// has the same two fraction digits.
func (c cell) typed() any {
	switch c.kind {
	case text:
		return c.string
	case day:
		if at, err := time.Parse(time.DateOnly, c.string); err == nil {
			return day1970 + at.Unix()/(24*60*60)
		}
		return c.string
	case amount, percent:
		return float64(c.number) / 100
	case moment:
		return day1970 + float64(c.number)/(24*60*60*1e6)
	}
	return c.number
}
