package imports

import (
	"context"
	"errors"
	"strings"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/money"
)

// facts undo the rows of orders, refunds and cancellations.
type facts struct{ sales *sales.Store }

func (k facts) undo(ctx context.Context, p *part) ([]tenancy.Kept, error) {
	return k.sales.Remove(ctx, p.tenant, p.plan, p.result.Facts)
}

// setAll sets what happened to rows, and returns the ids of those that were created.
func setAll(rows []*Record, results []sales.Result) (created []int64) {
	for i, r := range results {
		rows[i].set(string(r.Outcome), r.Err)
	}
	return sales.CreatedIDs(results)
}

// orders are the rows of orders.
type orders struct{ facts }

// cancelledNote explains why the totals of a plan, which are compared with those of another system, exceed those of
// reports.
const cancelledNote = "the order is cancelled: the totals include it, reports do not"

func (k orders) plan(ctx context.Context, p *part) error {
	rows, err := k.withoutStored(ctx, p)
	if err != nil {
		return err
	}
	results, err := k.sales.PlanOrders(ctx, p.tenant, column(rows, (*Record).orderRow))
	if err != nil {
		return err
	}
	for i, result := range results {
		row := rows[i]
		row.set(string(result.Outcome), result.Err)
		row.Sums = &result
		if row.Action == changeplan.Created {
			row.New = map[string]any{
				"placed_at": row.Order.PlacedAt.UTC(), "channel": row.Order.Channel, "items": len(row.Order.Items),
				"revenue": result.Revenue.String(),
			}
		}
	}
	for _, row := range p.rows {
		if row.Cancelled && row.Action != changeplan.Refused {
			total := row.Sums.Revenue + row.Sums.Tax + row.Sums.Shipping
			row.Notes = append(row.Notes, Note{Text: cancelledNote, Amount: int64(total)})
		}
	}
	return nil
}

func (r *Record) orderRow() sales.Row { return sales.Row{Order: *r.Order, Invalid: r.Invalid} }

func (k orders) apply(ctx context.Context, p *part) error {
	rows, err := k.withoutStored(ctx, p)
	if err != nil {
		return err
	}
	results, customers, err := k.sales.ApplyOrders(ctx, p.tenant, p.plan, column(rows, (*Record).orderRow))
	p.result.Customers = customers
	p.result.Facts.Orders = setAll(rows, results)
	return err
}

// undo also undoes the changes of customers by their orders.
func (k orders) undo(ctx context.Context, p *part) ([]tenancy.Kept, error) {
	kept, err := k.facts.undo(ctx, p)
	if err != nil || len(p.result.Customers) == 0 {
		return kept, err
	}
	more, err := k.sales.UndoCustomers(ctx, p.tenant, p.plan, p.result.Customers)
	return append(kept, more...), err
}

// refunds are the rows of refunds.
type refunds struct{ facts }

// plan first subtracts what an order already has of a cumulative refund.
func (k refunds) plan(ctx context.Context, p *part) error {
	rows, err := k.withoutStored(ctx, p)
	if err != nil {
		return err
	}
	var planned []*Record
	for _, row := range rows {
		if row.Cumulative != "" && len(row.Invalid) == 0 {
			if err := k.subtractStored(ctx, p.tenant, row); err != nil {
				return err
			}
			if row.Refund.Amount == 0 {
				row.Action = changeplan.Unchanged
				continue
			}
		}
		planned = append(planned, row)
	}
	results, err := k.sales.PlanRefunds(ctx, p.tenant, column(planned, (*Record).refundRow))
	if err != nil {
		return err
	}
	for i, result := range results {
		row := planned[i]
		row.Exceeds = result.ExceedsPaid
		row.set(string(result.Outcome), result.Err)
		if row.Action == changeplan.Created {
			row.New = map[string]any{"amount": row.Refund.Amount.String()}
			if at := row.Refund.RefundedAt; at != nil {
				row.New["refunded_at"] = at.UTC()
			}
		}
	}
	return nil
}

func (r *Record) refundRow() sales.RefundRow {
	return sales.RefundRow{Refund: *r.Refund, InPlan: r.InPlan, Invalid: r.Invalid}
}

// subtractStored reduces a cumulative refund to the difference from the stored refunds.
func (k refunds) subtractStored(ctx context.Context, tenant tenancy.ID, row *Record) error {
	refund := *row.Refund
	if refund.Reference == nil {
		refund.Reference = new(row.Cumulative + refund.Amount.String())
	}
	stored, err := k.refunded(ctx, tenant, row)
	if err != nil {
		return err
	}
	refund.Amount = max(0, refund.Amount-max(stored, row.refunded))
	row.Refund = &refund
	return nil
}

// refunded returns what the stored refunds of a cumulative amount add up to.
func (k refunds) refunded(ctx context.Context, tenant tenancy.ID, row *Record) (stored money.Cents, err error) {
	order, err := k.sales.Order(ctx, tenant, row.Refund.OrderNumber)
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

// exceeds reports whether a planned refund and those that were stored since exceed the cumulative amount, which its
// reference ends with.
func (k refunds) exceeds(ctx context.Context, tenant tenancy.ID, row *Record) (bool, error) {
	if row.Cumulative == "" || row.Refund == nil || row.Refund.Reference == nil {
		return false, nil
	}
	cumulative, err := money.Parse(strings.TrimPrefix(*row.Refund.Reference, row.Cumulative))
	if err != nil {
		return false, nil // another reference, which is stored once
	}
	stored, err := k.refunded(ctx, tenant, row)
	return stored+row.Refund.Amount > cumulative, err
}

func (k refunds) apply(ctx context.Context, p *part) error {
	rows, err := k.withoutStored(ctx, p)
	if err != nil {
		return err
	}
	for _, row := range rows {
		exceeds, err := k.exceeds(ctx, p.tenant, row)
		if err != nil {
			return err
		}
		if exceeds {
			row.Invalid = tenancy.InvalidError{"": {changedSincePlan}}
		}
	}
	results, err := k.sales.ApplyRefunds(ctx, p.tenant, p.plan, column(rows, (*Record).refundRow))
	p.result.Facts.Refunds = setAll(rows, results)
	for i, r := range results {
		if r.ExceedsPaid {
			p.result.Exceeding = append(p.result.Exceeding, rows[i].Refund.OrderNumber)
		}
	}
	return err
}

// cancellations are the rows of cancellations.
type cancellations struct{ facts }

func (k cancellations) plan(ctx context.Context, p *part) error {
	results, err := k.sales.PlanCancellations(ctx, p.tenant, column(p.rows, (*Record).cancelRow))
	setAll(p.rows, results)
	for _, row := range p.rows {
		if at := row.Cancellation.CancelledAt; row.Action == changeplan.Created && at != nil {
			row.New = map[string]any{"cancelled_at": at.UTC()}
		}
	}
	return err
}

func (r *Record) cancelRow() sales.CancelRow {
	return sales.CancelRow{Cancellation: *r.Cancellation, InPlan: r.InPlan, Invalid: r.Invalid}
}

func (k cancellations) apply(ctx context.Context, p *part) error {
	results, err := k.sales.ApplyCancellations(ctx, p.tenant, p.plan, column(p.rows, (*Record).cancelRow))
	p.result.Facts.Cancellations = setAll(p.rows, results)
	return err
}
