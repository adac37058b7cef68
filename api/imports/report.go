package imports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
)

// Refusal is a validation error of a row that is not imported. Key is the SKU, number or id in the row. Key and Field
// are empty if the row could not be read.
type Refusal struct {
	File   string
	Line   int
	Key    string
	Field  string
	Reason string
}

// Count is the number of rows of a file by outcome. The items of an order have the outcome of the order.
// A row that also cancels or refunds its order counts once for each.
type Count struct {
	File      string `json:"file"`
	Created   int    `json:"created"`
	Updated   int    `json:"updated"`
	Unchanged int    `json:"unchanged"`
	Refused   int    `json:"refused"`
	Ignored   int    `json:"ignored"`
}

// Report is the result of a plan that is only computed, or of one that was applied.
type Report struct {
	Plan       int64 // 0 if nothing was stored
	Files      []Count
	PassedOver []string       // files that are not imported
	Exceeding  int            // orders that are refunded above what was paid
	Notes      []NoteCount    // the most frequent first
	Kept       []tenancy.Kept // rows that were not applied, or not undone, because something else has changed them
}

// Refused returns the number of refused rows of all files.
func (r Report) Refused() (n int) {
	for _, c := range r.Files {
		n += c.Refused
	}
	return n
}

// reporter makes a report. refused is called for each error of each refused row, unless it is nil.
type reporter struct {
	report    Report
	refused   func(Refusal)
	exceeding map[string]bool
	notes     noteCounts
}

func newReporter(files []File, refused func(Refusal)) *reporter {
	r := &reporter{refused: refused, exceeding: map[string]bool{}, notes: noteCounts{}}
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b File) int { return cmp.Compare(sequenceOf(a), sequenceOf(b)) })
	for _, f := range files {
		if f.Problem != "" {
			name := f.Name
			if f.Sheet != "" {
				name += fmt.Sprintf(" (sheet %q)", f.Sheet)
			}
			r.report.PassedOver = append(r.report.PassedOver, name)
		} else {
			r.report.Files = append(r.report.Files, Count{File: f.Name})
		}
	}
	return r
}

// sequenceOf returns the position of one of our own files. Others follow.
func sequenceOf(f File) int {
	if i := slices.IndexFunc(ownFiles, func(own *format) bool { return own.name == f.Format }); i >= 0 {
		return i
	}
	return len(ownFiles)
}

// addPart adds a stored part.
func (r *reporter) addPart(part changeplan.Part) error {
	rows, err := changeplan.DecodeApplied(part, func(record *Record) *changeplan.Row { return &record.Row })
	if err != nil {
		return err
	}
	if part.Result != nil {
		result, err := decodeResult(part)
		if err != nil {
			return err
		}
		for _, number := range result.Exceeding {
			r.exceeding[number] = true
		}
		r.report.Exceeding = len(r.exceeding)
		r.report.Kept = append(r.report.Kept, result.Kept...)
	}
	r.add(rows)
	return nil
}

// add adds rows of a part.
func (r *reporter) add(rows []Record) {
	for _, row := range rows {
		if row.Exceeds {
			r.exceeding[row.Refund.OrderNumber] = true
			r.report.Exceeding = len(r.exceeding)
		}
		for _, of := range row.Rows {
			r.count(of.File).add(row.Action)
		}
		if row.Omitted > 0 {
			r.count(row.Rows[len(row.Rows)-1].File).Refused += row.Omitted
		}
		if row.Action == changeplan.Refused && r.refused != nil {
			for _, refusal := range Refusals(row.Row) {
				r.refused(refusal)
			}
		}
		for _, note := range row.Notes {
			r.notes.add(note)
		}
	}
	r.report.Notes = r.notes.sorted()
}

func (r *reporter) count(file string) *Count {
	i := slices.IndexFunc(r.report.Files, func(c Count) bool { return c.File == file })
	if i < 0 {
		i = len(r.report.Files)
		r.report.Files = append(r.report.Files, Count{File: file})
	}
	return &r.report.Files[i]
}

func (c *Count) add(a changeplan.Action) {
	switch a {
	case changeplan.Created:
		c.Created++
	case changeplan.Updated:
		c.Updated++
	case changeplan.Unchanged:
		c.Unchanged++
	case changeplan.Ignored:
		c.Ignored++
	default:
		c.Refused++
	}
}

// Refusals returns the errors of a row with their places: those of the items of an order follow the others.
func Refusals(record changeplan.Row) (refusals []Refusal) {
	all := errorsOf(record)
	slices.SortStableFunc(all, func(a, b fieldErrors) int { return cmp.Compare(a.item, b.item) })
	for _, e := range all {
		refusal := Refusal{Key: record.Key, Field: e.field}
		if e.row < len(record.Rows) {
			refusal.File, refusal.Line = record.Rows[e.row].File, record.Rows[e.row].Line
		}
		for _, refusal.Reason = range e.messages {
			refusals = append(refusals, refusal)
		}
	}
	return refusals
}

// String returns the error as a sentence for people.
func (r Refusal) String() string { return strings.TrimSpace(Label(r.Field) + " " + r.Reason) }
