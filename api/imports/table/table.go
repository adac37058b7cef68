// Package table reads the rows of files that people export from spreadsheets and shops: CSV in any usual form, XLSX,
// and both in gzip or ZIP.
//
// Files lists the tables of a directory. File.Open yields the rows of one, with bounded memory: a row has at most
// 2 MiB, and the bytes of a compressed file are counted while they are unpacked. Nothing is guessed silently: numbers
// and dates are read by a Form, which is computed from all values of a column, and a Form that fits two readings is
// reported as such.
package table

import (
	"errors"
	"io"
)

const (
	// maxRowBytes limits the size of a row. The longest description has 256 KiB; a longer row has a quote that is not
	// closed.
	maxRowBytes = 2 << 20
	maxColumns  = 1000
)

// MaxCell is the maximum number of UTF-16 units in a cell of a workbook.
const MaxCell = 32_767

var (
	errRowTooLong     = errors.New("a row is longer than 2 MiB: is a closing quote missing?")
	errTooManyColumns = errors.New("a row has more than 1,000 columns")
)

// Row is one row of a table.
type Row struct {
	Line    int // of a text: the first line of the row, from 1; of a sheet: the row
	Cells   []string
	Numeric []bool // of a sheet: the cells that are numbers or dates there. Numbers have a decimal point, dates are ISO
	Problem string // why the row could not be split into cells
}

// IsEmpty reports whether all cells are empty.
func (r Row) IsEmpty() bool {
	for _, cell := range r.Cells {
		if cell != "" {
			return false
		}
	}
	return r.Problem == ""
}

// Rows yields the rows of an open table.
type Rows struct {
	// Delimiter is the delimiter of a text, 0 of a sheet.
	Delimiter rune
	next      func() (Row, error)
	closers   []io.Closer
}

// Next returns the next row, io.EOF, or an error if the rest of the table cannot be read.
func (r *Rows) Next() (Row, error) { return r.next() }

// Close closes the file.
func (r *Rows) Close() error {
	var err error
	for i := len(r.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, r.closers[i].Close())
	}
	return err
}
