package imports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
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
	rows, err := decodeRows(part)
	if err != nil {
		return err
	}
	if part.Result != nil {
		var result partResult
		if err := json.Unmarshal(part.Result, &result); err != nil {
			return fmt.Errorf("read the result of a part: %w", err)
		}
		for _, differs := range result.Rows {
			rows[differs.Row].Action, rows[differs.Row].Invalid = differs.Action, differs.Invalid
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
func (r *reporter) add(rows []PlannedRow) {
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
		if row.Action == Refused {
			r.refuse(row)
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

func (c *Count) add(a Action) {
	switch a {
	case Created:
		c.Created++
	case Updated:
		c.Updated++
	case Unchanged:
		c.Unchanged++
	case Ignored:
		c.Ignored++
	default:
		c.Refused++
	}
}

// refuse reports the errors of a row, those of the items of an order with the rows of the items.
func (r *reporter) refuse(row PlannedRow) {
	ofItems := map[int]tenancy.InvalidError{}
	for _, path := range slices.Sorted(maps.Keys(row.Invalid)) {
		i, field, isItem := splitPath(path)
		if isItem && i < len(row.ItemRows) {
			if ofItems[i] == nil {
				ofItems[i] = tenancy.InvalidError{}
			}
			ofItems[i][field] = row.Invalid[path]
			continue
		}
		r.reportErrors(row, 0, path, row.Invalid[path])
	}
	for _, i := range slices.Sorted(maps.Keys(ofItems)) {
		for _, field := range slices.Sorted(maps.Keys(ofItems[i])) {
			r.reportErrors(row, row.ItemRows[i], field, ofItems[i][field])
		}
	}
}

func (r *reporter) reportErrors(row PlannedRow, index int, field string, reasons []string) {
	if r.refused == nil {
		return
	}
	refusal := Refusal{Key: row.Key, Field: field}
	if index < len(row.Rows) {
		refusal.File, refusal.Line = row.Rows[index].File, row.Rows[index].Line
	}
	for _, refusal.Reason = range reasons {
		r.refused(refusal)
	}
}

// splitPath splits a path such as items[3].unit_price into 3 and unit_price.
func splitPath(path string) (i int, field string, ok bool) {
	element, field, _ := strings.Cut(path, "].")
	_, index, _ := strings.Cut(element, "[")
	i, err := strconv.Atoi(index)
	if err != nil || field == "" {
		return 0, path, false
	}
	return i, field, true
}
