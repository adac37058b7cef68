package export

import "strings"

// OwnFile is one of our own files: the export of a list, a file of an archive, or both. L is a row of the list, A one
// of the archive. Both become a row R of the file, which an import reads.
type OwnFile[L, A, R any] struct {
	Name      string // without .csv
	columns   []ownColumn[R]
	ofList    func(*L) R
	ofArchive func(*A) R
}

// ownColumn is a column of one of our own files.
type ownColumn[R any] struct {
	name  string
	width float64 // in a workbook
	use   use
	field[R]
}

// use is a set of properties of a column.
type use uint8

const (
	listed   use = 1 << iota // not in archives
	archived                 // only in archives
	unread                   // ignored by imports
	given                    // not in exports
	named                    // in every file that is read
	required                 // named, and never empty
)

// List returns the export of a list. The name of its sheet is that of the file, such as Order items.
func (f *OwnFile[L, A, R]) List(rows Rows[L]) Sheet {
	title := strings.ReplaceAll(strings.ToUpper(f.Name[:1])+f.Name[1:], "_", " ")
	return newSheet(title, f.written(archived), ownRows(rows, f.ofList))
}

// Archive returns the file of an archive.
func (f *OwnFile[L, A, R]) Archive(rows Rows[A]) Sheet {
	return newSheet(f.Name, f.written(listed), ownRows(rows, f.ofArchive))
}

// written returns the columns of exports, without those of another use.
func (f *OwnFile[L, A, R]) written(without use) (columns []column[*R]) {
	for _, c := range f.columns {
		if c.use&(without|given) == 0 {
			columns = append(columns, column[*R]{c.name, c.width, c.write})
		}
	}
	return columns
}

// ownRows returns rows of a file, each in the same place.
func ownRows[W, R any](rows Rows[W], of func(*W) R) Rows[*R] {
	return func(write func(*R) error) error {
		from, row := new(W), new(R)
		return rows(func(w W) error {
			*from = w
			*row = of(from)
			return write(row)
		})
	}
}

// Kind is how an import treats a column.
type Kind int

// The kinds of columns.
const (
	Ignored Kind = iota
	Text         // also numbers without a fraction and lists
	Amount
	Time
)

// Column describes a column to an import.
type Column struct {
	Name     string
	Kind     Kind
	Required bool // a file without it is not read
}

// Columns returns the columns that the file may have in an archive, or else by itself.
func (f *OwnFile[L, A, R]) Columns(inArchive bool) (columns []Column) {
	without := archived
	if inArchive {
		without = listed
	}
	for _, c := range f.columns {
		switch {
		case c.use&without != 0:
		case c.use&unread != 0:
			columns = append(columns, Column{Name: c.name})
		default:
			columns = append(columns, Column{c.name, c.kind, inArchive || c.use&(named|required) != 0})
		}
	}
	return columns
}

// Cells is a row of one of our own files.
type Cells interface {
	// Cell returns a text as it was exported, or an amount in cents, or false if the file does not have the column.
	Cell(column string) (text string, exists bool)
	// Refuse adds a validation error.
	Refuse(column, problem string, args ...any)
}

// Read returns a row. The values of cells that are refused are missing.
func (f *OwnFile[L, A, R]) Read(cells Cells) R {
	row := new(R)
	for _, c := range f.columns {
		text, exists := cells.Cell(c.name)
		switch {
		case !exists || c.use&unread != 0:
		case text != "":
			if problem := c.read(row, text); problem != "" {
				cells.Refuse(c.name, "%s", problem)
			}
		case c.use&required != 0:
			cells.Refuse(c.name, "is required")
		}
	}
	return *row
}
