package imports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
)

// partResult is the result of a part: what differs from the plan, and what undoing needs.
type partResult struct {
	Rows      []rowResult    `json:",omitempty"`
	Kept      []tenancy.Kept `json:",omitempty"` // rows that were not applied or undone
	Exceeding []string       `json:",omitempty"` // numbers of orders that are refunded above what was paid

	Renamed    *rename                 `json:",omitempty"`
	References []catalog.ReferenceUndo `json:",omitempty"`
	Products   []catalog.Undo          `json:",omitempty"`
	Channels   []sales.ChannelChange   `json:",omitempty"`
	Customers  []sales.CustomerChange  `json:",omitempty"`
	Facts      sales.Facts             `json:",omitzero"`
}

// rowResult is an outcome of a row that differs from the plan.
type rowResult struct {
	Row     int // the index in the part
	Action  Action
	Invalid tenancy.InvalidError `json:",omitempty"`
}

func decodeRows(part changeplan.Part) (rows []PlannedRow, err error) {
	if err := json.Unmarshal(part.Rows, &rows); err != nil {
		return nil, fmt.Errorf("read the rows of a part: %w", err)
	}
	return rows, nil
}

// decode also returns the rows that write something.
func decode(part changeplan.Part) (all []PlannedRow, writes []*PlannedRow, err error) {
	if all, err = decodeRows(part); err != nil {
		return nil, nil, err
	}
	for i := range all {
		if all[i].writes() {
			writes = append(writes, &all[i])
		}
	}
	return all, writes, nil
}

// Changed plans the rows of a part again, and returns those with different changes now.
func (m *Importer) Changed(
	ctx context.Context, tenant tenancy.ID, _ changeplan.Plan, part changeplan.Part,
) ([]tenancy.Kept, error) {
	if part.Created+part.Updated == 0 {
		return nil, nil
	}
	_, planned, err := decode(part)
	if err != nil {
		return nil, err
	}
	again := make([]PlannedRow, len(planned))
	for i, row := range planned {
		again[i] = PlannedRow{Record: row.Record, InPlan: row.InPlan, was: row.Version}
		if row.Product == nil || !row.Product.ByField {
			again[i].was = nil
		}
		again[i].ProductID = row.ProductID
		again[i].Cumulative = "" // the amount is what remained of it
	}
	if err := m.plan(ctx, tenant, again); err != nil {
		return nil, err
	}
	var changed []tenancy.Kept
	for i, row := range again {
		before := planned[i]
		tooMuch, err := m.refundsTooMuch(ctx, tenant, before)
		if err != nil {
			return nil, err
		}
		if tooMuch || row.Action != before.Action || !sameVersion(row.Version, before.Version) ||
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

// keep marks a row as changed by something else.
func (r *PlannedRow) keep() tenancy.Kept {
	k := tenancy.Kept{Key: r.Key, Reason: r.whyChanged(), ID: r.ProductID}
	if r.kept != nil {
		k.Fields = r.kept.Fields
	}
	return k
}

func sameVersion(a, b *catalog.Version) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Content == b.Content && a.Quantity == b.Quantity && slices.Equal(a.Stock, b.Stock) &&
		reflect.DeepEqual(a.Fields, b.Fields) && slices.Equal(a.Images, b.Images)
}

func (r *PlannedRow) whyChanged() string {
	for _, field := range slices.Sorted(maps.Keys(r.Invalid)) {
		return strings.TrimSpace(field + " " + r.Invalid[field][0])
	}
	return "has changed since the plan"
}

// Apply applies the rows of a part. Rows that something else has changed are refused.
func (m *Importer) Apply(
	ctx context.Context, tenant tenancy.ID, plan changeplan.Plan, part changeplan.Part,
) (changeplan.Result, error) {
	if part.Part == 0 {
		if err := m.remember(ctx, tenant, plan); err != nil {
			return changeplan.Result{}, err
		}
	}
	if part.Created+part.Updated == 0 {
		return partResult{}.encode(part.Counts)
	}
	all, rows, err := decode(part)
	if err != nil {
		return changeplan.Result{}, err
	}
	planned := make([]Action, len(all))
	for i, row := range all {
		planned[i] = row.Action
	}
	var result partResult
	if err := m.apply(ctx, tenant, sales.PlanID(plan.ID), rows, &result); err != nil {
		return changeplan.Result{}, fmt.Errorf("apply %d rows of kind %s: %w", len(rows), part.Kind, err)
	}
	var counts changeplan.Counts
	for i := range all {
		row := &all[i]
		count(&counts, row.Action)
		if row.Action == planned[i] {
			continue
		}
		result.Rows = append(result.Rows, rowResult{i, row.Action, row.Invalid})
		if row.Action == Refused {
			result.Kept = append(result.Kept, row.keep())
		}
	}
	return result.encode(counts)
}

func (r partResult) encode(counts changeplan.Counts) (changeplan.Result, error) {
	data, err := json.Marshal(r)
	return changeplan.Result{Counts: counts, Skipped: int32(len(r.Kept)), Data: data}, err
}

// apply writes rows of one kind, sets their actions to what happened, and adds what undoing needs.
func (m *Importer) apply(
	ctx context.Context, tenant tenancy.ID, plan sales.PlanID, rows []*PlannedRow, result *partResult,
) error {
	switch rows[0].Kind {
	case Category, Seller, Warehouse:
		return m.applyReferences(ctx, tenant, rows, result)
	case Product, Stock:
		return m.applyProducts(ctx, tenant, rows, result)
	case Channel:
		return m.applyChannels(ctx, tenant, rows, result)
	case Customer:
		return m.applyCustomers(ctx, tenant, plan, rows, result)
	case Order:
		return m.applyOrders(ctx, tenant, plan, rows, result)
	case Refund:
		return m.applyRefunds(ctx, tenant, plan, rows, result)
	case Cancellation:
		return m.applyCancellations(ctx, tenant, plan, rows, result)
	}
	return fmt.Errorf("unknown kind of record %q", rows[0].Kind)
}

func (m *Importer) applyReferences(
	ctx context.Context, tenant tenancy.ID, rows []*PlannedRow, result *partResult,
) (err error) {
	var names []string
	ids := map[string]int64{}
	for _, row := range rows {
		if row.Renames != nil {
			if err := m.applyRename(ctx, tenant, row, result); err != nil {
				return err
			}
			continue
		}
		names = append(names, row.Name)
		if row.NewID > 0 {
			ids[row.Name] = row.NewID
		}
	}
	result.References, err = m.catalog.ApplyReferences(ctx, tenant, referenceKinds[rows[0].Kind], names, ids)
	added := map[string]bool{}
	for _, r := range result.References {
		added[r.Name] = true
	}
	for _, row := range rows {
		if !added[row.Name] && row.Renames == nil {
			row.Action = Unchanged // another user has added it
		}
	}
	return err
}

func (m *Importer) applyRename(
	ctx context.Context, tenant tenancy.ID, row *PlannedRow, result *partResult,
) error {
	warehouse, used, err := m.catalog.DefaultWarehouse(ctx, tenant)
	switch {
	case err != nil:
		return err
	case used || warehouse.ID != row.Renames.ID || warehouse.Name != row.Renames.Old:
		row.set("", catalog.ErrPrecondition)
		return nil
	}
	_, err = m.catalog.RenameReference(ctx, tenant, catalog.Warehouses, warehouse.ID, catalog.Value(row.Renames.New), nil)
	result.Renamed = row.Renames
	return err
}

// undoRename restores the name of the default warehouse, unless it has changed since.
func (m *Importer) undoRename(ctx context.Context, tenant tenancy.ID, renamed *rename) ([]tenancy.Kept, error) {
	if renamed == nil {
		return nil, nil
	}
	warehouse, _, err := m.catalog.DefaultWarehouse(ctx, tenant)
	switch {
	case err != nil:
		return nil, err
	case warehouse.ID != renamed.ID || warehouse.Name != renamed.New:
		return []tenancy.Kept{{Key: renamed.New, Reason: "has changed since"}}, nil
	}
	_, err = m.catalog.RenameReference(ctx, tenant, catalog.Warehouses, warehouse.ID, catalog.Value(renamed.Old), nil)
	if _, taken := errors.AsType[tenancy.InvalidError](err); taken {
		return []tenancy.Kept{{Key: renamed.New, Reason: fmt.Sprintf("another warehouse has the name %q", renamed.Old)}}, nil
	}
	return nil, err
}

func (m *Importer) applyProducts(
	ctx context.Context, tenant tenancy.ID, rows []*PlannedRow, result *partResult,
) error {
	products := make([]catalog.ApplyRow, len(rows))
	for i, row := range rows {
		products[i] = catalog.ApplyRow{PlanRow: *row.Product, Version: row.Version}
		products[i].InPlan, products[i].ID = row.InPlan, row.ProductID
	}
	results, err := m.catalog.ApplyProducts(ctx, catalog.Actor{Tenant: tenant}, products)
	if err != nil {
		return err
	}
	for i, r := range results {
		rows[i].set(string(r.Outcome), r.Err)
		if changed, ok := errors.AsType[catalog.ChangedError](r.Err); ok {
			rows[i].kept = &tenancy.Kept{Fields: changed.Fields}
		}
		if r.Undo != nil {
			result.Products = append(result.Products, *r.Undo)
		}
	}
	return nil
}

func (m *Importer) applyChannels(
	ctx context.Context, tenant tenancy.ID, rows []*PlannedRow, result *partResult,
) error {
	changes := make([]sales.ChannelChange, len(rows))
	for i, row := range rows {
		changes[i] = *row.Label
	}
	written, err := m.sales.ApplyChannels(ctx, tenant, changes)
	if err != nil {
		return err
	}
	for i, row := range rows {
		if written[i] {
			result.Channels = append(result.Channels, changes[i])
		} else {
			row.set("", catalog.ErrPrecondition)
		}
	}
	return nil
}

func (m *Importer) applyCustomers(
	ctx context.Context, tenant tenancy.ID, plan sales.PlanID, rows []*PlannedRow, result *partResult,
) error {
	changes := make([]sales.CustomerChange, len(rows))
	for i, row := range rows {
		changes[i] = *row.Change
	}
	written, err := m.sales.ApplyCustomers(ctx, tenant, plan, changes)
	if err != nil {
		return err
	}
	for i, row := range rows {
		if written[i] {
			result.Customers = append(result.Customers, changes[i])
		} else {
			row.set("", catalog.ErrPrecondition)
		}
	}
	return nil
}

func (m *Importer) applyOrders(
	ctx context.Context, tenant tenancy.ID, plan sales.PlanID, rows []*PlannedRow, result *partResult,
) error {
	rows, err := m.withoutStoredOrders(ctx, tenant, rows)
	if err != nil {
		return err
	}
	results, err := m.sales.ApplyOrders(ctx, tenant, plan, orderRows(rows))
	if err != nil {
		return err
	}
	for i, r := range results {
		rows[i].set(string(r.Outcome), r.Err)
		if r.Outcome == sales.Created {
			result.Facts.Orders = append(result.Facts.Orders, r.ID)
		}
	}
	return nil
}

func (m *Importer) applyRefunds(
	ctx context.Context, tenant tenancy.ID, plan sales.PlanID, rows []*PlannedRow, result *partResult,
) error {
	rows, err := m.withoutStoredRefunds(ctx, tenant, rows)
	if err != nil {
		return err
	}
	refunds := make([]sales.RefundRow, len(rows))
	for i, row := range rows {
		tooMuch, err := m.refundsTooMuch(ctx, tenant, row)
		if err != nil {
			return err
		}
		if tooMuch {
			row.Invalid = tenancy.InvalidError{"": {"has changed since the plan"}}
		}
		refunds[i] = sales.RefundRow{Refund: *row.Refund, Invalid: row.Invalid}
	}
	results, err := m.sales.ApplyRefunds(ctx, tenant, plan, refunds)
	if err != nil {
		return err
	}
	for i, r := range results {
		rows[i].set(string(r.Outcome), r.Err)
		if r.Outcome == sales.Created {
			result.Facts.Refunds = append(result.Facts.Refunds, r.ID)
		}
		if r.ExceedsPaid {
			result.Exceeding = append(result.Exceeding, rows[i].Refund.OrderNumber)
		}
	}
	return nil
}

func (m *Importer) applyCancellations(
	ctx context.Context, tenant tenancy.ID, plan sales.PlanID, rows []*PlannedRow, result *partResult,
) error {
	results, err := m.sales.ApplyCancellations(ctx, tenant, plan, cancelRows(rows))
	if err != nil {
		return err
	}
	for i, r := range results {
		rows[i].set(string(r.Outcome), r.Err)
		if r.Outcome == sales.Created {
			result.Facts.Cancellations = append(result.Facts.Cancellations, r.ID)
		}
	}
	return nil
}

// Undo undoes the rows of a part, except those that something else has changed since.
func (m *Importer) Undo(
	ctx context.Context, tenant tenancy.ID, plan changeplan.Plan, part changeplan.Part,
) (changeplan.Result, error) {
	var applied, undone partResult
	if err := json.Unmarshal(part.Result, &applied); err != nil {
		return changeplan.Result{}, fmt.Errorf("read the result of a part: %w", err)
	}
	undone.Rows = applied.Rows // what happened to the rows
	var err error
	if part.Part == 0 {
		err = m.forget(ctx, tenant, plan)
	}
	if err != nil {
		return changeplan.Result{}, err
	}
	of := sales.PlanID(plan.ID)
	switch kind := Kind(part.Kind); kind {
	case Category, Seller, Warehouse:
		undone.Kept, err = m.catalog.UndoReferences(ctx, tenant, referenceKinds[kind], applied.References)
		if err == nil {
			var kept []tenancy.Kept
			kept, err = m.undoRename(ctx, tenant, applied.Renamed)
			undone.Kept = append(undone.Kept, kept...)
		}
	case Product, Stock:
		undone.Kept, err = m.catalog.UndoProducts(ctx, catalog.Actor{Tenant: tenant}, applied.Products)
	case Channel:
		undone.Kept, err = m.sales.UndoChannels(ctx, tenant, applied.Channels)
	case Customer:
		undone.Kept, err = m.sales.UndoCustomers(ctx, tenant, of, applied.Customers)
	default:
		undone.Kept, err = m.sales.Remove(ctx, tenant, of, applied.Facts)
	}
	if err != nil {
		return changeplan.Result{}, fmt.Errorf("undo rows of kind %s: %w", part.Kind, err)
	}
	return undone.encode(part.Counts)
}
