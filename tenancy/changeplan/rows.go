package changeplan

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// RowKind is what a row of a plan writes, such as "product".
type RowKind string

// Action is what happens to a row.
type Action string

// The actions.
const (
	Created   Action = "created"
	Updated   Action = "updated"
	Unchanged Action = "unchanged"
	Refused   Action = "refused"
	Ignored   Action = "ignored"
)

// Row is a row of a plan, as a reader of files yields it, a Kind plans and stores it, and a page shows it. A Kind
// embeds it in its own rows. Instances of two releases read each other's JSON of rows, so the stored names do not
// change.
type Row struct {
	Kind     RowKind
	Key      string // the SKU, name, number or id; "" if the row has none
	Action   Action
	Rows     []FileRow            // of an order: in the sequence of the files
	ItemRows []int                `json:",omitempty"` // of each item of an order, its index in Rows
	Omitted  int                  `json:",omitempty"` // rows that are not in Rows, because there are too many
	Old      map[string]any       `json:",omitempty"` // the fields that change
	New      map[string]any       `json:",omitempty"`
	Notes    []Note               `json:",omitempty"`
	Ignored  string               `json:",omitempty"` // why the row is ignored
	Invalid  tenancy.InvalidError `json:",omitempty"` // by column; "" is a whole row. Items as items[3].quantity
	// Unread are the columns with errors that were found before anything stored was read.
	Unread    []string      `json:",omitempty"`
	ProductID int64         `json:",omitempty"` // of a product that exists, if its fields are compared
	Kept      *tenancy.Kept `json:"-"`          // why the row was not applied or undone
	Stage     Stage         `json:"-"`
}

// Stage is how far a row of Plans.Rows is.
type Stage string

// The stages of a row.
const (
	IsPlanned Stage = "planned"
	IsApplied Stage = "applied"
	IsUndone  Stage = "undone"
)

// FileRow is one row of a file.
type FileRow struct {
	File  string   // "" if Line is the index in a request
	Line  int      // the first of the row, or the row of a sheet
	Cells []string `json:",omitempty"` // as they are in the file, for the file of refused rows
}

// Note is something that a user should know about a row. Equal texts are counted and their amounts added up.
type Note struct {
	Text   string
	Amount int64 `json:",omitempty"` // in cents; 0 if the note is not about money
}

// Writes reports whether the row changes what is stored.
func (r *Row) Writes() bool { return r.Action == Created || r.Action == Updated }

// First returns the first row of the files, or the zero value.
func (r *Row) First() (first FileRow) {
	if len(r.Rows) > 0 {
		first = r.Rows[0]
	}
	return first
}

// NoteTexts returns why the row is ignored, and the texts of its notes.
func (r *Row) NoteTexts() []string {
	texts := []string{}
	if r.Ignored != "" {
		texts = append(texts, r.Ignored)
	}
	for _, note := range r.Notes {
		texts = append(texts, note.Text)
	}
	return texts
}

// Outcomes are what happened to the rows of a part, unlike the plan. The stored result of a part also has what an undo
// needs.
type Outcomes struct {
	Rows []RowOutcome   `json:",omitempty"`
	Kept []tenancy.Kept `json:",omitempty"` // rows that were not applied or not undone
}

// RowOutcome is an outcome of a row that differs from the plan.
type RowOutcome struct {
	Row     int // the index in the part
	Action  Action
	Invalid tenancy.InvalidError `json:",omitempty"`
}

// set sets what happened to the rows of the part.
func (o Outcomes) set(rows []*Row) {
	for _, kept := range o.Kept {
		if i := slices.IndexFunc(rows, func(row *Row) bool { return row.isIn(kept) }); i >= 0 {
			rows[i].Kept = &kept
		}
	}
	for _, differs := range o.Rows {
		rows[differs.Row].Action, rows[differs.Row].Invalid = differs.Action, differs.Invalid
	}
}

// isIn reports whether kept is the row, as it was planned. Rows that write nothing can have the same key.
func (r *Row) isIn(kept tenancy.Kept) bool {
	return r.Writes() && r.Kept == nil && r.Key == kept.Key &&
		(r.ProductID == 0 || kept.ID == 0 || r.ProductID == kept.ID)
}

// Decode decodes the rows of a part, as they were planned. R embeds a Row.
func Decode[R any](part Part) (rows []R, err error) {
	if err := json.Unmarshal(part.Rows, &rows); err != nil {
		return nil, fmt.Errorf("read the rows of a part: %w", err)
	}
	return rows, nil
}

// DecodeApplied is Decode with what happened to the rows if the part was applied. rowOf returns the Row in an R.
func DecodeApplied[R any](part Part, rowOf func(*R) *Row) ([]R, error) {
	rows, err := Decode[R](part)
	if err != nil || part.Result == nil {
		return rows, err
	}
	var outcomes Outcomes
	if err := json.Unmarshal(part.Result, &outcomes); err != nil {
		return nil, fmt.Errorf("read the result of a part: %w", err)
	}
	all := make([]*Row, len(rows))
	for i := range rows {
		all[i] = rowOf(&rows[i])
	}
	outcomes.set(all)
	return rows, nil
}

// Counts are the numbers of rows by what happens to them.
type Counts struct {
	Created   int64 `json:"created"`
	Updated   int64 `json:"updated"`
	Unchanged int64 `json:"unchanged"`
	Refused   int64 `json:"refused"`
	Ignored   int64 `json:"ignored"`
	Skipped   int64 `json:"skipped"` // that something else has changed, and that were not applied or not undone
}

// Of returns the number of rows with an action. The caller can change it.
func (c *Counts) Of(a Action) *int64 {
	switch a {
	case Created:
		return &c.Created
	case Updated:
		return &c.Updated
	case Unchanged:
		return &c.Unchanged
	case Ignored:
		return &c.Ignored
	}
	return &c.Refused
}

// Total returns the number of all rows.
func (c Counts) Total() int64 { return c.Created + c.Updated + c.Unchanged + c.Refused + c.Ignored }

func (c Counts) plus(other Counts) Counts {
	return Counts{
		c.Created + other.Created, c.Updated + other.Updated, c.Unchanged + other.Unchanged, c.Refused + other.Refused,
		c.Ignored + other.Ignored, c.Skipped + other.Skipped,
	}
}

// RowFilter selects rows of a plan. An empty field does not filter.
type RowFilter struct {
	Kind   RowKind
	Action Action
	Kept   bool // only rows that something else has changed since
	// Hides reports whether the caller may not read the stored rows of a kind; it may be nil. Of a hidden kind only the
	// rows are selected that were refused or ignored before anything stored was read: the others show what is stored, or
	// whether the file guesses it.
	Hides func(RowKind) bool
	Page  paging.Page
}

func (f RowFilter) hides(k RowKind) bool { return f.Hides != nil && f.Hides(k) }

// selects reports whether the filter selects a row of its kind.
func (f RowFilter) selects(row Row) bool {
	return (f.Action == "" || f.Action == row.Action) && (!f.Kept || row.Kept != nil) &&
		(!f.hides(row.Kind) || len(row.Unread) > 0 || row.Action == Ignored)
}

// count returns how many rows of a part the filter selects. unread is the number of rows that were refused before
// anything stored was read.
func (f RowFilter) count(p PartCounts, unread int64) int64 {
	if f.hides(p.Kind) {
		p.Counts = Counts{Refused: unread, Ignored: p.Ignored}
	}
	switch {
	case f.Kind != "" && f.Kind != p.Kind:
		return 0
	case f.Kept:
		return p.Skipped
	case f.Action != "":
		return *p.Of(f.Action)
	}
	return p.Total()
}
