package export

import (
	"archive/zip"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/xuri/excelize/v2"
)

// MaxRows is how many rows a sheet holds beside its header.
const MaxRows = excelize.TotalRows - 1

// ErrTooManyRows says that a report has more than MaxRows rows.
var ErrTooManyRows = fmt.Errorf("xlsx holds at most %d rows", MaxRows)

// File is a workbook that is whole. It must be closed.
type File struct {
	*os.File
	Size int64
	dir  string
}

// Close removes the file.
func (f *File) Close() error { return errors.Join(f.File.Close(), os.RemoveAll(f.dir)) }

// XLSX writes sheets as a workbook. It returns ErrTooManyRows where one of them
// does not fit. Whatever happens, nothing stays on disk once the file is closed.
func XLSX(sheets ...Sheet) (_ *File, err error) {
	f := &File{}
	if f.dir, err = os.MkdirTemp("", "storeroom-xlsx-"); err != nil {
		return nil, fmt.Errorf("write a workbook: %w", err)
	}
	if f.File, err = os.Create(f.dir + "/report.xlsx"); err == nil {
		if err = writeWorkbook(f.File, f.dir, sheets); err == nil {
			f.Size, err = rewind(f.File)
		}
	}
	if err != nil {
		_ = f.Close() // also of a file that could not be created
		return nil, fmt.Errorf("write a workbook: %w", err)
	}
	return f, nil
}

// rewind goes from the end of a file back to its start and tells its size.
func rewind(file *os.File) (size int64, err error) {
	if size, err = file.Seek(0, io.SeekCurrent); err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	return size, err
}

// writeWorkbook lets excelize keep what is not written yet in dir.
func writeWorkbook(to io.Writer, dir string, sheets []Sheet) error {
	book := excelize.NewFile(excelize.Options{TmpDir: dir})
	defer book.Close()
	// excelize would pack the whole file in memory first.
	book.SetZipWriter(func(io.Writer) excelize.ZipWriter { return packInto(to) })
	if err := book.SetDocProps(&excelize.DocProperties{Creator: "Storeroom", Created: time.Now().UTC().Format(time.RFC3339)}); err != nil {
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
			err = writeSheet(book, s, styles)
		}
		if err != nil {
			return err
		}
	}
	return book.Write(io.Discard)
}

// packInto favours speed: a sheet is repetitive enough to become small anyway.
func packInto(to io.Writer) *zip.Writer {
	z := zip.NewWriter(to)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestSpeed) })
	return z
}

// styles holds the format of each kind of cell, and that of headers in the place
// of absent, which needs none.
type styles [kinds]int

const header = absent

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

func writeSheet(book *excelize.File, s Sheet, styles styles) error {
	to, err := book.NewStreamWriter(s.name)
	if err != nil {
		return err
	}
	// The cells of all rows are the same ones: excelize writes them at once.
	cells, row := make([]excelize.Cell, len(s.columns)), make([]any, len(s.columns))
	for i, name := range s.columns {
		if err := to.SetColWidth(i+1, i+1, s.widths[i]); err != nil {
			return err
		}
		cells[i] = excelize.Cell{StyleID: styles[header], Value: name}
		row[i] = &cells[i]
	}
	if err := to.SetPanes(&excelize.Panes{Freeze: true, YSplit: 1, TopLeftCell: "A2", ActivePane: "bottomLeft"}); err != nil {
		return err
	}
	if err := to.SetRow("A1", row); err != nil {
		return err
	}
	n := 1
	err = s.rows(func(values []cell) error {
		if n++; n > excelize.TotalRows {
			return ErrTooManyRows
		}
		for i, v := range values {
			cells[i] = excelize.Cell{StyleID: styles[v.kind], Value: v.typed()}
			if row[i] = &cells[i]; v.kind == absent {
				row[i] = nil
			}
		}
		return to.SetRow("A"+strconv.Itoa(n), row)
	})
	if err != nil {
		return err
	}
	return to.Flush()
}

// A day of a spreadsheet is a number that counts from the end of 1899.
const day1970 = 25569

// typed is a cell as excelize takes it. Cents become the nearest double, whose
// shortest decimal has two fraction digits below 10,000,000,000,000.
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
