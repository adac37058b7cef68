package export

import (
	"time"

	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/tenancy/money"
)

// kind is what a cell holds, which decides how each format writes it.
type kind uint8

const (
	absent  kind = iota
	text         // as a sender named something
	day          // YYYY-MM-DD
	id           // an integer that is not a number of anything
	count        // an integer
	amount       // cents
	percent      // hundredths
	moment       // Unix microseconds
	kinds
)

// cell is one value of a row.
type cell struct {
	kind   kind
	number int64
	string string // of text and day
}

func textOf(s string) cell            { return cell{kind: text, string: s} }
func dayOf(s string) cell             { return cell{kind: day, string: s} }
func idOf(n int64) cell               { return cell{kind: id, number: n} }
func countOf(n int64) cell            { return cell{kind: count, number: n} }
func amountOf(c money.Cents) cell     { return cell{kind: amount, number: int64(c)} }
func percentOf(f reports.Figure) cell { return cell{kind: percent, number: int64(f)} }
func momentOf(t time.Time) cell       { return cell{kind: moment, number: t.UnixMicro()} }

func maybe[T any](v *T, of func(T) cell) cell {
	if v == nil {
		return cell{}
	}
	return of(*v)
}

// column is what stands under a name in every row.
type column[T any] struct {
	name  string
	width float64 // in characters
	of    func(T) cell
}

// Rows calls write with every row of a report, in order, and stops at its first
// error.
type Rows[T any] func(write func(T) error) error

// Sheet is a named table with its rows: one CSV file, or a part of a workbook.
type Sheet struct {
	name    string
	columns []string
	widths  []float64
	// rows calls write with cells that are overwritten by the next row.
	rows func(write func([]cell) error) error
}

func newSheet[T any](name string, columns []column[T], rows Rows[T]) Sheet {
	s := Sheet{name: name}
	for _, c := range columns {
		s.columns, s.widths = append(s.columns, c.name), append(s.widths, c.width)
	}
	s.rows = func(write func([]cell) error) error {
		cells := make([]cell, len(columns))
		return rows(func(row T) error {
			for i, c := range columns {
				cells[i] = c.of(row)
			}
			return write(cells)
		})
	}
	return s
}

// each makes rows of a list.
func each[T any](list []T) Rows[T] {
	return func(write func(T) error) error {
		for _, row := range list {
			if err := write(row); err != nil {
				return err
			}
		}
		return nil
	}
}
