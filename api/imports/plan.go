package imports

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/money"
)

// Importer plans, applies and undoes imports. It is the Kind "import" of package changeplan.
type Importer struct {
	Pictures
	db      *db.DB
	catalog *catalog.Store
	sales   *sales.Store
	maxRows int // of a part
}

// NewImporter returns an importer into db, and of pictures into their storage.
func NewImporter(db *db.DB, p Pictures) *Importer {
	return &Importer{p, db, catalog.New(db), sales.New(db), maxPartRows}
}

// Rules implements changeplan.Kind.
func (m *Importer) Rules() changeplan.Rules {
	return changeplan.Rules{
		UndoDays: 7, MaxUnfinished: 3, TooMany: "Three imports are unfinished. Apply or cancel one of them.",
		KeepsFiles: true,
	}
}

// plan sets the actions of rows of one kind.
func (m *Importer) plan(ctx context.Context, tenant tenancy.ID, rows []PlannedRow) error {
	var planned []*PlannedRow
	for i := range rows {
		row := &rows[i]
		switch {
		case row.Ignored != "":
			row.Action = Ignored
		case len(row.Invalid[""]) > 0 || !row.hasContent():
			row.Action = Refused
		default:
			planned = append(planned, row)
		}
	}
	if len(planned) == 0 {
		return nil
	}
	switch planned[0].Kind {
	case Category, Seller, Warehouse:
		return m.planReferences(ctx, tenant, referenceKinds[planned[0].Kind], planned)
	case Product, Stock:
		return m.planProducts(ctx, tenant, planned)
	case Channel:
		return m.planChannels(ctx, tenant, planned)
	case Customer:
		return m.planCustomers(ctx, tenant, planned)
	case Order:
		return m.planOrders(ctx, tenant, planned)
	case Refund:
		return m.planRefunds(ctx, tenant, planned)
	case Cancellation:
		return m.planCancellations(ctx, tenant, planned)
	}
	return fmt.Errorf("unknown kind of record %q", planned[0].Kind)
}

func (m *Importer) planReferences(
	ctx context.Context, tenant tenancy.ID, kind catalog.Kind, rows []*PlannedRow,
) error {
	names := make([]string, len(rows))
	for i, row := range rows {
		names[i] = row.Name
	}
	results, err := m.catalog.PlanReferences(ctx, tenant, kind, names)
	if err != nil {
		return err
	}
	var renamed *rename
	for i, result := range results {
		row := rows[i]
		row.Name, row.storedID = result.Name, result.ID
		row.set(string(result.Outcome), result.Err)
		if renamed != nil && row.Name == renamed.Old && row.Action == Unchanged {
			row.Action, row.storedID = Created, 0 // the only warehouse with the name gets another one
		}
		if row.IsDefault && row.Action == Created {
			if err := m.planDefault(ctx, tenant, row); err != nil {
				return err
			}
			renamed = row.Renames
		}
	}
	return nil
}

// rename is a change of the name of the default warehouse.
type rename struct {
	ID       int64
	Old, New string
}

// planDefault renames the tenant's default warehouse like that of the archive, unless it is in use.
func (m *Importer) planDefault(ctx context.Context, tenant tenancy.ID, row *PlannedRow) error {
	warehouse, used, err := m.catalog.DefaultWarehouse(ctx, tenant)
	if err != nil || used {
		return err
	}
	row.Action, row.Renames = Updated, &rename{warehouse.ID, warehouse.Name, row.Name}
	row.Old, row.New = changed("name", &warehouse.Name, &row.Name)
	return nil
}

func (m *Importer) planProducts(ctx context.Context, tenant tenancy.ID, rows []*PlannedRow) error {
	products := make([]catalog.PlanRow, len(rows))
	for i, row := range rows {
		products[i] = *row.Product
		products[i].Invalid, products[i].InPlan, products[i].Was = row.Invalid, row.InPlan, row.was
		products[i].ID = cmp.Or(row.ProductID, row.Product.ID)
	}
	results, err := m.catalog.PlanProducts(ctx, tenant, products)
	if err != nil {
		return err
	}
	for i, result := range results {
		row := rows[i]
		row.set(string(result.Outcome), result.Err)
		row.Old, row.New, row.storedID = result.Old, result.New, result.ID
		row.setsImages = result.SetsImages
		row.isGone = row.Product.Change != nil && result.ID == 0
		if row.Product.ByField {
			changed := *row.Product
			changed.Changes, changed.Change = result.Changes, nil
			row.Product, row.ProductID = &changed, result.ID
			row.kept = &tenancy.Kept{Fields: result.Changed}
			if row.Action != Refused {
				row.Key = result.SKU
			}
		}
		if !row.InPlan {
			row.Version = result.Version
		}
	}
	return nil
}

func (m *Importer) planChannels(ctx context.Context, tenant tenancy.ID, rows []*PlannedRow) error {
	channels := make([]sales.Channel, len(rows))
	for i, row := range rows {
		channels[i] = *row.Channel
	}
	results, err := m.sales.PlanChannels(ctx, tenant, channels)
	if err != nil {
		return err
	}
	for i, result := range results {
		row := rows[i]
		row.set(string(result.Outcome), result.Err)
		if row.writes() {
			row.Label = &sales.ChannelChange{
				Identifier: result.Identifier, Old: result.Old, New: result.Label,
				OldStock: result.OldStock, NewStock: result.NewStock,
			}
			row.Old, row.New = changedChannel(result)
		}
	}
	return nil
}

// changedChannel returns the fields of a channel that change, before and after.
func changedChannel(p sales.PlannedChannel) (old, new map[string]any) {
	if p.Old == nil || *p.Old != p.Label {
		old, new = changed("label", p.Old, &p.Label)
	}
	if p.NewStock == nil {
		return old, new
	}
	if new == nil {
		old, new = map[string]any{}, map[string]any{}
	}
	for field, value := range stockFields(*p.NewStock) {
		before := stockFields(*p.OldStock)[field]
		if new[field] = value; value == before {
			delete(new, field)
		} else if p.Old != nil {
			old[field] = before
		}
	}
	return old, new
}

func stockFields(s sales.StockSettings) map[string]any {
	fields := map[string]any{"takes_stock": s.TakesStock, "when_short": s.WhenShort, "warehouse": nil}
	if s.Warehouse != "" {
		fields["warehouse"] = s.Warehouse
	}
	return fields
}

// changed returns a field before and after, without a value that is nil.
func changed(field string, before, after *string) (old, new map[string]any) {
	if before != nil {
		old = map[string]any{field: *before}
	}
	if after != nil {
		new = map[string]any{field: *after}
	}
	return old, new
}

func (m *Importer) planCustomers(ctx context.Context, tenant tenancy.ID, rows []*PlannedRow) error {
	customers := make([]sales.Customer, len(rows))
	for i, row := range rows {
		customers[i] = *row.Customer
	}
	results, err := m.sales.PlanCustomers(ctx, tenant, customers)
	if err != nil {
		return err
	}
	for i, result := range results {
		row := rows[i]
		row.set(string(result.Outcome), result.Err)
		if row.writes() {
			row.Change = &sales.CustomerChange{
				ID: result.ID, Created: row.Action == Created,
				OldName: result.OldName, OldEmail: result.OldEmail, Name: result.Name, Email: result.Email,
				ErasedAt: result.ErasedAt,
			}
		}
	}
	return nil
}

// cancelledNote explains why the totals of a plan, which are compared with those of another system, exceed those of
// reports.
const cancelledNote = "the order is cancelled: the totals include it, reports do not"

func (m *Importer) planOrders(ctx context.Context, tenant tenancy.ID, all []*PlannedRow) error {
	rows, err := m.withoutStoredOrders(ctx, tenant, all)
	if err != nil {
		return err
	}
	results, err := m.sales.PlanOrders(ctx, tenant, orderRows(rows))
	if err != nil {
		return err
	}
	for i, result := range results {
		row := rows[i]
		row.set(string(result.Outcome), result.Err)
		row.Sums = &result
		if row.Action == Created {
			row.New = map[string]any{
				"placed_at": row.Order.PlacedAt.UTC(), "channel": row.Order.Channel, "items": len(row.Order.Items),
				"revenue": result.Revenue.String(),
			}
		}
	}
	for _, row := range all {
		if row.Cancelled && row.Action != Refused {
			total := row.Sums.Revenue + row.Sums.Tax + row.Sums.Shipping
			row.Notes = append(row.Notes, Note{Text: cancelledNote, Amount: int64(total)})
		}
	}
	return nil
}

func orderRows(rows []*PlannedRow) []sales.Row {
	orders := make([]sales.Row, len(rows))
	for i, row := range rows {
		orders[i] = sales.Row{Order: *row.Order, Invalid: row.Invalid}
	}
	return orders
}

// planRefunds first subtracts what an order already has of a cumulative refund.
func (m *Importer) planRefunds(ctx context.Context, tenant tenancy.ID, rows []*PlannedRow) error {
	rows, err := m.withoutStoredRefunds(ctx, tenant, rows)
	if err != nil {
		return err
	}
	var refunds []sales.PlanRefund
	var planned []*PlannedRow
	for _, row := range rows {
		if row.Cumulative != "" && len(row.Invalid) == 0 {
			if err := m.subtractStored(ctx, tenant, row); err != nil {
				return err
			}
			if row.Refund.Amount == 0 {
				row.Action = Unchanged
				continue
			}
		}
		planned = append(planned, row)
		refunds = append(refunds, sales.PlanRefund{
			RefundRow: sales.RefundRow{Refund: *row.Refund, Invalid: row.Invalid}, InPlan: row.InPlan,
		})
	}
	results, err := m.sales.PlanRefunds(ctx, tenant, refunds)
	if err != nil {
		return err
	}
	for i, result := range results {
		row := planned[i]
		row.Exceeds = result.ExceedsPaid
		row.set(string(result.Outcome), result.Err)
		if row.Action == Created {
			row.New = map[string]any{"amount": row.Refund.Amount.String()}
			if at := row.Refund.RefundedAt; at != nil {
				row.New["refunded_at"] = at.UTC()
			}
		}
	}
	return nil
}

// subtractStored reduces a cumulative refund to the difference from the stored refunds.
func (m *Importer) subtractStored(ctx context.Context, tenant tenancy.ID, row *PlannedRow) error {
	refund := *row.Refund
	if refund.Reference == nil {
		refund.Reference = new(row.Cumulative + refund.Amount.String())
	}
	stored, err := m.refunded(ctx, tenant, row)
	if err != nil {
		return err
	}
	refund.Amount = max(0, refund.Amount-max(stored, row.refunded))
	row.Refund = &refund
	return nil
}

// refunded returns what the stored refunds of a cumulative amount add up to.
func (m *Importer) refunded(ctx context.Context, tenant tenancy.ID, row *PlannedRow) (stored money.Cents, err error) {
	order, err := m.sales.Order(ctx, tenant, row.Refund.OrderNumber)
	if err != nil && !errors.Is(err, tenancy.ErrNotFound) {
		return 0, err
	}
	for _, r := range order.Refunds {
		if r.Reference != nil && strings.HasPrefix(*r.Reference, row.Cumulative) {
			stored += r.Amount
		}
	}
	return stored, nil
}

// refundsTooMuch reports whether a planned refund and those that were stored since exceed the cumulative amount, which
// its reference ends with.
func (m *Importer) refundsTooMuch(ctx context.Context, tenant tenancy.ID, row *PlannedRow) (bool, error) {
	if row.Cumulative == "" || row.Refund == nil || row.Refund.Reference == nil {
		return false, nil
	}
	cumulative, err := money.Parse(strings.TrimPrefix(*row.Refund.Reference, row.Cumulative))
	if err != nil {
		return false, nil // another reference, which is stored once
	}
	stored, err := m.refunded(ctx, tenant, row)
	return stored+row.Refund.Amount > cumulative, err
}

func (m *Importer) planCancellations(ctx context.Context, tenant tenancy.ID, rows []*PlannedRow) error {
	results, err := m.sales.PlanCancellations(ctx, tenant, cancelRows(rows))
	if err != nil {
		return err
	}
	for i, result := range results {
		row := rows[i]
		row.set(string(result.Outcome), result.Err)
		if at := row.Cancellation.CancelledAt; row.Action == Created && at != nil {
			row.New = map[string]any{"cancelled_at": at.UTC()}
		}
	}
	return nil
}

func cancelRows(rows []*PlannedRow) []sales.CancelRow {
	cancellations := make([]sales.CancelRow, len(rows))
	for i, row := range rows {
		cancellations[i] = sales.CancelRow{Cancellation: *row.Cancellation, InPlan: row.InPlan, Invalid: row.Invalid}
	}
	return cancellations
}
