package sales

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

// PlanID identifies the plan that created a fact. Remove accepts only facts of the plan that is being undone.
type PlanID int64

// Updated means that a row that exists differs from the row of a plan.
const Updated Outcome = "updated"

// PlannedOrder is the result that an Ingest of a Row would have. Day and the amounts are set unless Outcome is Failed.
type PlannedOrder struct {
	Result
	Day                               time.Time // of PlacedAt in the time zone of the reports
	Revenue, Discounts, Tax, Shipping money.Cents
}

// PlanOrders returns the results that an Ingest of rows would have. It writes nothing. Channels and customers of the
// orders are separate rows of a plan: see PlanChannels and PlanCustomers.
func (s *Store) PlanOrders(ctx context.Context, tenant tenancy.ID, rows []Row) ([]PlannedOrder, error) {
	b := newOrderBatch(tenant, rows, time.Now())
	err := s.db.Run(ctx, tenant, b.read)
	var zone *time.Location
	if err == nil {
		zone, err = loadZone(b.zones)
	}
	if err != nil {
		return nil, fmt.Errorf("plan %d orders: %w", len(rows), err)
	}
	products := b.soldProducts()
	for _, p := range products {
		p.SoldID = cmp.Or(p.SoldID, new(int64)) // Ingest adds missing versions
	}
	b.decide(b.existingByNumber(), products, func(*orderRow, []lineSums) {})
	return column(b.rows, func(o *orderRow) PlannedOrder {
		p := PlannedOrder{Result: o.result}
		switch p.Outcome {
		case Failed:
			return p
		case Created:
			p.ID = 0
		default:
			lines, _ := o.lines(0, products)
			o.totals = total(column(lines, line.sold))
		}
		p.Day = tenancy.DayOf(o.PlacedAt, zone)
		p.Revenue, p.Discounts, p.Tax, p.Shipping = o.totals.Revenue, o.totals.Discounts, o.totals.Tax, o.totals.Shipping
		return p
	}), nil
}

// ApplyOrders is Ingest in a transaction of db.Begin. It records the orders that it creates for Remove, and returns its
// changes of existing customers for UndoCustomers.
func (s *Store) ApplyOrders(
	ctx context.Context, tenant tenancy.ID, plan PlanID, rows []Row,
) (results []Result, customers []CustomerChange, err error) {
	b := newOrderBatch(tenant, rows, time.Now())
	if results, err = s.storeAll(ctx, b); err == nil {
		err = s.record(ctx, tenant, plan, "orders", CreatedIDs(results))
	}
	return results, b.renamed, err
}

// record records rows that the transaction created.
func (s *Store) record(ctx context.Context, tenant tenancy.ID, plan PlanID, table string, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	err := s.db.Run(ctx, tenant, func(q *pgx.Batch) { q.Queue(`select record_facts($1, $2, $3)`, plan, table, ids) })
	return tenancy.Wrap(err, "record %d %s of plan %d", len(ids), table, plan)
}

// PlanRefunds returns what Refund would do. It writes nothing. ExceedsPaid is false if the order is in the plan.
func (s *Store) PlanRefunds(ctx context.Context, tenant tenancy.ID, rows []RefundRow) ([]Result, error) {
	b := newRefundBatch(tenant, rows, time.Now())
	err := s.db.Run(ctx, tenant, b.read)
	if err == nil {
		stored := b.facts.byNumber()
		b.assumed = map[string]*orderFact{}
		for i, r := range rows {
			if r.InPlan && stored[r.OrderNumber] == nil {
				b.assumed[r.OrderNumber] = &orderFact{ID: -int64(i + 1), Revenue: math.MaxInt64, assumed: true}
			}
		}
		_, err = b.decide()
	}
	if err != nil {
		return nil, fmt.Errorf("plan %d refunds: %w", len(rows), err)
	}
	return column(b.rows, func(r *refundRow) Result {
		if r.result.Outcome == Created {
			r.result.ID = 0
		}
		return r.result
	}), nil
}

// ApplyRefunds is Refund in a transaction of db.Begin. It records the refunds that it creates for Remove.
func (s *Store) ApplyRefunds(ctx context.Context, tenant tenancy.ID, plan PlanID, rows []RefundRow) ([]Result, error) {
	results, err := s.Refund(ctx, tenant, rows)
	if err == nil {
		err = s.record(ctx, tenant, plan, "refunds", CreatedIDs(results))
	}
	return results, err
}

// PlanCancellations returns what ApplyCancellations would do. It writes nothing.
func (s *Store) PlanCancellations(ctx context.Context, tenant tenancy.ID, rows []CancelRow) ([]Result, error) {
	b := newCancelBatch(tenant, rows, time.Now())
	if err := s.db.Run(ctx, tenant, b.read); err != nil {
		return nil, fmt.Errorf("plan %d cancellations: %w", len(rows), err)
	}
	b.decide()
	return b.results, nil
}

// ApplyCancellations cancels orders in a transaction of db.Begin, and records the cancellations for Remove.
func (s *Store) ApplyCancellations(
	ctx context.Context, tenant tenancy.ID, plan PlanID, rows []CancelRow,
) ([]Result, error) {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].InPlan = false // the order exists now
	}
	results, err := s.cancel(ctx, tenant, rows)
	if err != nil {
		return nil, fmt.Errorf("cancel %d orders: %w", len(rows), err)
	}
	return results, s.record(ctx, tenant, plan, "cancellations", CreatedIDs(results))
}
