package export

import (
	"slices"
	"time"
	"unicode/utf8"

	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/tenancy/money"
)

// kind is the type of a cell.
type kind uint8

const (
	empty   kind = iota
	text         // from a sender
	day          // YYYY-MM-DD
	id           // an integer
	count        // an integer
	amount       // cents
	percent      // hundredths
	moment       // Unix microseconds
	long         // digits of a percentage that a float does not hold
	kinds
)

// cell is one value of a row.
type cell struct {
	kind   kind
	number int64
	string string // of text, day and long
}

func textOf(s string) cell        { return cell{kind: text, string: s} }
func dayOf(s string) cell         { return cell{kind: day, string: s} }
func idOf(n int64) cell           { return cell{kind: id, number: n} }
func amountOf(c money.Cents) cell { return cell{kind: amount, number: int64(c)} }
func momentOf(t time.Time) cell   { return cell{kind: moment, number: t.UnixMicro()} }

func countOf[N int32 | int64](n N) cell { return cell{kind: count, number: int64(n)} }

// maxExact is the first number of hundredths whose float may have other fraction digits.
const maxExact = 1_000_000_000_000_000

func percentOf(f reports.Figure) cell {
	if n, fits := f.Int64(); fits && n > -maxExact && n < maxExact {
		return cell{kind: percent, number: n}
	}
	return cell{kind: long, string: string(f.Append(nil))}
}

// figureOf returns an empty cell for nil.
func figureOf(f *reports.Figure, u reports.Unit) cell {
	return optional(f, func(f reports.Figure) cell {
		if u == reports.Percent {
			return percentOf(f)
		}
		n, _ := f.Int64() // money and counts have 64 bits
		return cell{kind: kindOf[u], number: n}
	})
}

// nameOf returns an empty cell unless withNames is set.
func nameOf(s *string, withNames bool) cell {
	if !withNames {
		return cell{}
	}
	return optional(s, textOf)
}

var kindOf = map[reports.Unit]kind{reports.Money: amount, reports.Percent: percent, reports.Number: count}

// optional returns an empty cell for nil.
func optional[T any](v *T, of func(T) cell) cell {
	if v == nil {
		return cell{}
	}
	return of(*v)
}

// column is a column of a sheet.
type column[T any] struct {
	name  string
	width float64 // in characters
	of    func(T) cell
}

// metricColumns returns the columns of a report, with a prefix before each name.
func metricColumns[T any](columns []reports.Column, prefix string, sums func(T) reports.Sums) []column[T] {
	var all []column[T]
	for _, c := range columns {
		name, width := prefix+c.Name, 16
		if kindOf[c.Metric.Unit] == count {
			width = 10
		}
		all = append(all, column[T]{name, float64(max(width, len(name)+2)), func(row T) cell {
			return figureOf(c.Of(sums(row)), c.Metric.Unit)
		}})
	}
	return all
}

// Rows calls write with each row of a report, in order, and stops at its first error.
type Rows[T any] func(write func(T) error) error

// Sheet is a named table: a CSV file, or a sheet of a workbook.
type Sheet struct {
	name    string
	columns []string
	widths  []float64
	// hasNames is set if the first column has names of figures, each of which is a row.
	hasNames bool
	// rows calls write with the cells of each row. The next row overwrites them.
	rows func(write func([]cell) error) error
}

// Name returns the name of the sheet. In an archive, it is that of the file without .csv.
func (s Sheet) Name() string { return s.name }

// Titled returns the sheet with another name.
func (s Sheet) Titled(name string) Sheet {
	s.name = name
	return s
}

// Named returns the sheet with other names: its own, those of columns, and those of figures that are rows. Columns and
// rows whose new name an earlier one has are left out, because a figure may have several names.
func (s Sheet) Named(name func(string) string) Sheet {
	named := Sheet{name: name(s.name), hasNames: s.hasNames}
	var kept []int
	for i, column := range s.columns {
		if text := name(column); !slices.Contains(named.columns, text) {
			kept = append(kept, i)
			named.columns = append(named.columns, text)
			named.widths = append(named.widths, max(s.widths[i], float64(utf8.RuneCountInString(text)+2)))
		}
	}
	named.rows = func(write func([]cell) error) error {
		cells, seen := make([]cell, len(kept)), map[string]bool{}
		return s.rows(func(row []cell) error {
			for i, from := range kept {
				cells[i] = row[from]
			}
			if s.hasNames {
				cells[0].string = name(cells[0].string)
				if seen[cells[0].string] {
					return nil
				}
				seen[cells[0].string] = true
			}
			return write(cells)
		})
	}
	return named
}

// Without returns the sheet without the columns of these names.
func (s Sheet) Without(names ...string) Sheet {
	left := Sheet{name: s.name, hasNames: s.hasNames}
	var kept []int
	for i, column := range s.columns {
		if !slices.Contains(names, column) {
			kept = append(kept, i)
			left.columns, left.widths = append(left.columns, column), append(left.widths, s.widths[i])
		}
	}
	left.rows = func(write func([]cell) error) error {
		cells := make([]cell, len(kept))
		return s.rows(func(row []cell) error {
			for i, from := range kept {
				cells[i] = row[from]
			}
			return write(cells)
		})
	}
	return left
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

// listRows returns the elements of a list as rows.
func listRows[T any](list []T) Rows[T] {
	return func(write func(T) error) error {
		for _, row := range list {
			if err := write(row); err != nil {
				return err
			}
		}
		return nil
	}
}
