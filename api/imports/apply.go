package imports

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/catalog/media"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/db"
)

// Importer plans, applies and undoes imports. It is the Kind "import" of package changeplan.
type Importer struct {
	Pictures
	db      *db.DB
	catalog *catalog.Store
	sales   *sales.Store
	kinds   map[Kind]rowKind
	maxRows int // of a part
}

// NewImporter returns an importer into db, and of pictures into their storage.
func NewImporter(db *db.DB, p Pictures) *Importer {
	m := &Importer{Pictures: p, db: db, catalog: catalog.New(db), sales: sales.New(db), maxRows: maxPartRows}
	m.kinds = m.rowKinds()
	return m
}

// Rules implements changeplan.Kind.
func (m *Importer) Rules() changeplan.Rules {
	return changeplan.Rules{
		UndoDays: 7, MaxUnfinished: 3, TooMany: "Three imports are unfinished. Apply or cancel one of them.",
		KeepsFiles: true,
		Release: func(ctx context.Context, d *db.DB, tenant tenancy.ID, plan changeplan.Plan) error {
			return media.ReleasePlan(ctx, d, tenant, reservedUntil(plan.CreatedAt))
		},
	}
}

// plan sets the actions of rows of one kind.
func (m *Importer) plan(ctx context.Context, tenant tenancy.ID, rows []Record) error {
	kind, err := m.kind(rows[0].Kind)
	if err != nil {
		return err
	}
	var planned []*Record
	for i := range rows {
		row := &rows[i]
		_, isRead := row.content()
		switch {
		case row.Ignored != "":
			row.Action = changeplan.Ignored
		case len(row.Invalid[""]) > 0 || !isRead:
			row.Action = changeplan.Refused
		default:
			planned = append(planned, row)
		}
	}
	if len(planned) == 0 {
		return nil
	}
	if err := kind.plan(ctx, &part{tenant: tenant, rows: planned}); err != nil {
		return fmt.Errorf("plan %d rows of kind %s: %w", len(rows), rows[0].Kind, err)
	}
	return nil
}

// partResult is the result of a part: what differs from the plan, and what undoing needs.
type partResult struct {
	changeplan.Outcomes
	Exceeding []string `json:",omitempty"` // numbers of orders that are refunded above what was paid

	Renamed    *rename                 `json:",omitempty"`
	References []catalog.ReferenceUndo `json:",omitempty"`
	Products   []catalog.Undo          `json:",omitempty"`
	Channels   []sales.ChannelChange   `json:",omitempty"`
	Customers  []sales.CustomerChange  `json:",omitempty"`
	Facts      sales.Facts             `json:",omitzero"`
}

func decodeResult(stored changeplan.Part) (result partResult, err error) {
	if err := json.Unmarshal(stored.Result, &result); err != nil {
		return result, fmt.Errorf("read the result of a part: %w", err)
	}
	return result, nil
}

// decode returns the rows of a part, and those that write something.
func decode(stored changeplan.Part) (all []Record, writes []*Record, err error) {
	all, err = changeplan.Decode[Record](stored)
	for i := range all {
		if all[i].Writes() {
			writes = append(writes, &all[i])
		}
	}
	return all, writes, err
}

// Changed plans the rows of a part again, and returns those with different changes now.
func (m *Importer) Changed(
	ctx context.Context, tenant tenancy.ID, _ changeplan.Plan, stored changeplan.Part,
) ([]tenancy.Kept, error) {
	if stored.Created+stored.Updated == 0 {
		return nil, nil
	}
	_, planned, err := decode(stored)
	if err != nil {
		return nil, err
	}
	again := make([]Record, len(planned))
	for i, row := range planned {
		again[i] = row.unplanned()
	}
	if err := m.plan(ctx, tenant, again); err != nil {
		return nil, err
	}
	var changed []tenancy.Kept
	for i, row := range again {
		before := planned[i]
		exceeds, err := refunds{facts{m.sales}}.exceeds(ctx, tenant, before)
		if err != nil {
			return nil, err
		}
		if exceeds || row.Action != before.Action || !sameVersion(row.Version, before.Version) ||
			!reflect.DeepEqual(row.Label, before.Label) || !reflect.DeepEqual(row.Change, before.Change) {
			row.ProductID = before.ProductID
			kept := row.keep()
			if row.ProductID > 0 && row.storedID == 0 {
				kept.Reason = "was deleted, or has another SKU, since the plan"
			}
			changed = append(changed, kept)
		}
	}
	return changed, nil
}

// unplanned returns a row as it was before it was planned. A row by field is compared with its version.
func (r Record) unplanned() Record {
	r.Label, r.Change, r.Renames = nil, nil, nil
	r.Cumulative = "" // the amount is what remained of it
	if r.Product == nil || !r.Product.ByField {
		r.Version = nil
	}
	return r
}

func sameVersion(a, b *catalog.Version) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Content == b.Content && a.Quantity == b.Quantity && slices.Equal(a.Stock, b.Stock) &&
		reflect.DeepEqual(a.Fields, b.Fields) && slices.Equal(a.Images, b.Images)
}

// Apply applies the rows of a part. Rows that something else has changed are refused.
func (m *Importer) Apply(
	ctx context.Context, tx *db.DB, tenant tenancy.ID, plan changeplan.Plan, stored changeplan.Part,
) (changeplan.Result, error) {
	m = NewImporter(tx, m.Pictures)
	if stored.Part == 0 {
		if err := m.remember(ctx, tenant, plan); err != nil {
			return changeplan.Result{}, err
		}
	}
	if stored.Created+stored.Updated == 0 {
		return partResult{}.encode(stored.Counts)
	}
	all, rows, err := decode(stored)
	if err != nil {
		return changeplan.Result{}, err
	}
	planned := make([]changeplan.Action, len(all))
	for i, row := range all {
		planned[i] = row.Action
	}
	kind, err := m.kind(stored.Kind)
	if err != nil {
		return changeplan.Result{}, err
	}
	p := &part{tenant: tenant, rows: rows, plan: sales.PlanID(plan.ID)}
	if err := kind.apply(ctx, p); err != nil {
		return changeplan.Result{}, fmt.Errorf("apply %d rows of kind %s: %w", len(rows), stored.Kind, err)
	}
	var counts changeplan.Counts
	for i := range all {
		row := &all[i]
		*counts.Of(row.Action)++
		if row.Action == planned[i] {
			continue
		}
		p.result.Rows = append(p.result.Rows, changeplan.RowOutcome{Row: i, Action: row.Action, Invalid: row.Invalid})
		if row.Action == changeplan.Refused {
			p.result.Kept = append(p.result.Kept, row.keep())
		}
	}
	return p.result.encode(counts)
}

func (r partResult) encode(counts changeplan.Counts) (changeplan.Result, error) {
	counts.Skipped = int64(len(r.Kept))
	data, err := json.Marshal(r)
	return changeplan.Result{Counts: counts, Data: data}, err
}

// Undo undoes the rows of a part, except those that something else has changed since.
func (m *Importer) Undo(
	ctx context.Context, tx *db.DB, tenant tenancy.ID, plan changeplan.Plan, stored changeplan.Part,
) (changeplan.Result, error) {
	m = NewImporter(tx, m.Pictures)
	applied, err := decodeResult(stored)
	if err == nil && stored.Part == 0 {
		err = m.forget(ctx, tenant, plan)
	}
	if err != nil {
		return changeplan.Result{}, err
	}
	kind, err := m.kind(stored.Kind)
	if err != nil {
		return changeplan.Result{}, err
	}
	var undone partResult
	undone.Rows = applied.Rows // what happened to the rows
	undone.Kept, err = kind.undo(ctx, &part{tenant: tenant, plan: sales.PlanID(plan.ID), result: applied})
	if err != nil {
		return changeplan.Result{}, fmt.Errorf("undo rows of kind %s: %w", stored.Kind, err)
	}
	return undone.encode(stored.Counts)
}
