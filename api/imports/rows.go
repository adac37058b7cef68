package imports

import (
	"archive/zip"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"github.com/storeroom/storeroom/reports/export"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// PlanRow is a row of a plan as the API returns it. File and Line are those of the first row of an order.
type PlanRow struct {
	File     string               `json:"file"`
	Line     int                  `json:"line"`
	Kind     Kind                 `json:"kind"`
	Key      string               `json:"key"`
	Action   Action               `json:"action"`
	Old      map[string]any       `json:"old"` // the fields that change
	New      map[string]any       `json:"new"`
	Notes    []string             `json:"notes"`
	Problems tenancy.InvalidError `json:"problems"` // by column
	Changed  *ChangedSince        `json:"changed"`  // if something else has changed it
	// ProductID is the id of a product that a plan changes by field.
	ProductID int64 `json:"-"`
	HasIndex  bool  `json:"-"` // Line is the index in a request
	// Unread are the columns with errors that do not depend on what is stored.
	Unread []string `json:"-"`
}

// ChangedSince says why a row was not applied or not undone.
type ChangedSince struct {
	Fields []string `json:"fields"` // of a product that a plan changes by field
	Reason string   `json:"reason"` // a sentence without a subject: "has changed since"
}

// RowFilter selects rows of a plan. An empty field does not filter.
type RowFilter struct {
	Kind   Kind
	Action Action
	Kept   bool // only rows that something else has changed since
	// Hides reports whether the caller may not read the stored rows of a kind; it may be nil. Of a hidden kind only the
	// rows are selected that were refused or ignored before anything stored was read: the others show what is stored, or
	// whether the file guesses it.
	Hides func(Kind) bool
	Page  paging.Page
}

func (f RowFilter) hides(k Kind) bool { return f.Hides != nil && f.Hides(k) }

// Rows returns a page of the rows of a plan. Rows of an applied import have what happened to them.
func (j *Jobs) Rows(ctx context.Context, tenant tenancy.ID, id int64, f RowFilter) (list paging.List[PlanRow], err error) {
	err = j.plans.ReadAtOnce(ctx, tenant, func(ctx context.Context) error {
		list = paging.List[PlanRow]{Items: []PlanRow{}}
		return j.readRows(ctx, tenant, id, f, &list)
	})
	return list, err
}

func (j *Jobs) readRows(
	ctx context.Context, tenant tenancy.ID, id int64, f RowFilter, list *paging.List[PlanRow],
) error {
	plan, err := j.get(ctx, tenant, id)
	if err != nil {
		return err
	}
	d, err := readDetails(plan)
	if err != nil {
		return err
	}
	parts, err := j.plans.PartCounts(ctx, tenant, id)
	if err != nil {
		return err
	}
	skip, want := int64(f.Page.Number-1)*int64(f.Page.PerPage), f.Page.PerPage
	for _, of := range parts {
		n := int64(f.count(of, d.Unread[of.Part]))
		list.Total += n
		if n <= skip {
			skip -= n
			continue
		}
		if len(list.Items) == want {
			continue
		}
		part, err := j.plans.Part(ctx, tenant, id, of.Part)
		if err != nil {
			return err
		}
		rows, err := outcomes(part)
		if err != nil {
			return err
		}
		for _, row := range rows {
			switch {
			case !f.selects(row) || len(list.Items) == want:
			case skip > 0:
				skip--
			default:
				list.Items = append(list.Items, newPlanRow(row))
			}
		}
	}
	return nil
}

// selects reports whether the filter selects a row of its kind.
func (f RowFilter) selects(row PlannedRow) bool {
	return (f.Action == "" || f.Action == row.Action) && (!f.Kept || row.kept != nil) &&
		(!f.hides(row.Kind) || len(row.Unread) > 0 || row.Action == Ignored)
}

// count returns how many rows of a part the filter selects. unread is the number of rows that were refused before
// anything stored was read.
func (f RowFilter) count(p changeplan.PartCounts, unread int32) int32 {
	if f.hides(Kind(p.Kind)) {
		p.Counts, p.Skipped = changeplan.Counts{Refused: unread, Ignored: p.Ignored}, 0
	}
	switch {
	case f.Kind != "" && f.Kind != Kind(p.Kind):
		return 0
	case f.Kept:
		return p.Skipped
	case f.Action == Created:
		return p.Created
	case f.Action == Updated:
		return p.Updated
	case f.Action == Unchanged:
		return p.Unchanged
	case f.Action == Refused:
		return p.Refused
	case f.Action == Ignored:
		return p.Ignored
	}
	return p.Created + p.Updated + p.Unchanged + p.Refused + p.Ignored
}

func newPlanRow(row PlannedRow) PlanRow {
	r := PlanRow{
		Kind: row.Kind, Key: row.Key, Action: row.Action, Old: row.Old, New: row.New,
		Notes: []string{}, Problems: row.Invalid, ProductID: row.ProductID, Unread: row.Unread,
	}
	if row.kept != nil {
		r.Changed = &ChangedSince{orEmpty(row.kept.Fields), row.kept.Reason}
	}
	if len(row.Rows) > 0 {
		r.File, r.Line, r.HasIndex = row.Rows[0].File, row.Rows[0].Line, row.Rows[0].File == ""
	}
	if row.Ignored != "" {
		r.Notes = append(r.Notes, row.Ignored)
	}
	for _, note := range row.Notes {
		r.Notes = append(r.Notes, note.Text)
	}
	return r
}

// outcomes returns the rows of a part, with what happened to them if the part was applied.
func outcomes(part changeplan.Part) ([]PlannedRow, error) {
	rows, err := decodeRows(part)
	if err != nil || part.Result == nil {
		return rows, err
	}
	var result partResult
	if err := json.Unmarshal(part.Result, &result); err != nil {
		return nil, fmt.Errorf("read the result of a part: %w", err)
	}
	for _, kept := range result.Kept {
		if i := slices.IndexFunc(rows, func(row PlannedRow) bool { return row.isIn(kept) }); i >= 0 {
			rows[i].kept = &kept
		}
	}
	for _, differs := range result.Rows {
		rows[differs.Row].Action, rows[differs.Row].Invalid = differs.Action, differs.Invalid
	}
	return rows, nil
}

// isIn reports whether kept is the row, as it was planned. Rows that write nothing can have the same key.
func (r *PlannedRow) isIn(kept tenancy.Kept) bool {
	return r.writes() && r.kept == nil && r.Key == kept.Key &&
		(r.ProductID == 0 || kept.ID == 0 || r.ProductID == kept.ID)
}

// RefusedFile returns the name of the file that WriteRefused writes.
func (i Import) RefusedFile() string {
	if len(i.readable()) > 1 {
		return fmt.Sprintf("refused-rows-%d.zip", i.ID)
	}
	return fmt.Sprintf("refused-rows-%d.csv", i.ID)
}

// FileKinds returns the kinds of rows of the files, whatever is stored. A file of orders can have refunds and
// cancellations too.
func (i Import) FileKinds() []Kind {
	var kinds []Kind
	for _, f := range i.readable() {
		if kind := fileKinds()[f.Format]; kind != "" && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// HasCustomers reports whether the files have data of customers.
func (i Import) HasCustomers() bool {
	return slices.ContainsFunc(i.FileKinds(), func(k Kind) bool { return k == Customer || isSale(k) })
}

// fileKinds are the kinds of rows by format.
var fileKinds = sync.OnceValue(func() map[string]Kind {
	kinds := map[string]Kind{}
	for _, f := range slices.Concat([]*format{sheetProducts, sheetOrders}, formats, archiveFiles, ownFiles) {
		kinds[f.name] = f.kind
	}
	return kinds
})

// readable returns the files that were read.
func (i Import) readable() []File {
	return slices.DeleteFunc(slices.Clone(i.Files), func(f File) bool { return f.Problem != "" })
}

// WriteRefused writes the refused rows of an import as they were in its file, with a column for the reason, which an
// import ignores. The rows of several files become a ZIP with a file for each.
func (j *Jobs) WriteRefused(ctx context.Context, tenant tenancy.ID, i Import, w io.Writer) error {
	files := i.readable()
	switch len(files) {
	case 0:
		return nil
	case 1:
		return j.writeRefused(ctx, tenant, i.ID, files[0], w)
	}
	archive := zip.NewWriter(w)
	for _, file := range files {
		entry, err := archive.Create(strings.TrimSuffix(strings.TrimSuffix(file.Name, ".gz"), ".csv") + ".csv")
		if err == nil {
			err = j.writeRefused(ctx, tenant, i.ID, file, entry)
		}
		if err != nil {
			return err
		}
	}
	return archive.Close()
}

func (j *Jobs) writeRefused(ctx context.Context, tenant tenancy.ID, id int64, file File, w io.Writer) error {
	out := csv.NewWriter(w)
	header := slices.Clone(file.Header)
	if hasReasons(header) {
		header = header[:len(header)-1]
	}
	if err := out.Write(append(header, ReasonColumn)); err != nil {
		return err
	}
	parts, err := j.plans.PartCounts(ctx, tenant, id)
	if err != nil {
		return err
	}
	written := keySet{}
	for _, of := range parts {
		if of.Refused == 0 {
			continue
		}
		part, err := j.plans.Part(ctx, tenant, id, of.Part)
		if err != nil {
			return err
		}
		rows, err := outcomes(part)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if row.Action != Refused {
				continue
			}
			reasons := row.reasons()
			for n, of := range row.Rows {
				// A refund or a cancellation, also of a later part, can have the row of its order.
				// A keySet is fast if the highest bits of its keys differ.
				line := bits.Reverse64(uint64(of.Line))
				if of.File != file.Name || written.has(line) {
					continue
				}
				written.add(line)
				cells := guarded(file, of.Cells, len(header))
				if err := out.Write(append(cells, strings.Join(reasons[n], "; "))); err != nil {
					return err
				}
			}
		}
	}
	out.Flush()
	return out.Error()
}

// guarded returns at least the number of cells of a row that its file of refused rows has before the reason.
func guarded(file File, row []string, columns int) []string {
	cells := slices.Clone(row)
	if len(cells) == len(file.Header) {
		cells = cells[:columns] // without an earlier reason
	}
	isOwn := formatOf(ownFiles, file.Format) != nil && (file.Sheet == "" || hasReasons(file.Header))
	for i, cell := range cells {
		if isOwn { // other systems do not guard cells
			cell = export.Unguard(cell)
		}
		cells[i] = export.Guard(cell)
	}
	for len(cells) < columns {
		cells = append(cells, "")
	}
	return cells
}

// ReasonColumn is the last column in a file of refused rows. It has the reasons.
const ReasonColumn = "reason"

// hasReasons reports whether a file has refused rows of an earlier import. Its cells are guarded.
func hasReasons(header []string) bool {
	return len(header) > 0 && header[len(header)-1] == ReasonColumn
}

// reasons returns the errors of each of the rows of a record: those of an item belong to the row of the item.
func (r *PlannedRow) reasons() [][]string {
	reasons := make([][]string, len(r.Rows))
	if len(reasons) == 0 {
		return nil
	}
	for _, path := range slices.Sorted(maps.Keys(r.Invalid)) {
		at := 0
		field := path
		if i, of, isItem := splitPath(path); isItem && i < len(r.ItemRows) && r.ItemRows[i] < len(reasons) {
			at, field = r.ItemRows[i], of
		}
		for _, message := range r.Invalid[path] {
			reasons[at] = append(reasons[at], strings.TrimSpace(field+" "+message))
		}
	}
	return reasons
}
