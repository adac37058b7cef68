package sales

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// Facts are facts that a plan created. Cancellations have the ids of their orders.
type Facts struct{ Orders, Refunds, Cancellations []int64 }

// queueRemove deletes facts and customers that a plan created.
func queueRemove(q *pgx.Batch, plan PlanID, facts Facts, customers []int64) {
	q.Queue(`select remove_sales($1, $2, $3, $4, $5)`,
		plan, facts.Orders, facts.Refunds, facts.Cancellations, customers)
}

// Remove undoes facts that a plan created: it deletes them and subtracts them from the rollups. Orders with a refund or
// a cancellation that the plan did not create are kept, with all of their facts. A fact that does not exist is ignored.
func (s *Store) Remove(ctx context.Context, tenant tenancy.ID, plan PlanID, facts Facts) ([]tenancy.Kept, error) {
	numbers, err := db.All[struct{ Number string }](ctx, s.db, tenant, `
		select number
		  from orders
		 where tenant_id = $1 and id = any ($2)
		union
		select o.number
		  from unnest($3::bigint[]) u (id)
		 cross join lateral (select order_id from refunds where tenant_id = $1 and id = u.id limit 1) r
		 cross join lateral (select number from orders where tenant_id = $1 and id = r.order_id limit 1) o`,
		tenant, slices.Concat(facts.Orders, facts.Cancellations), facts.Refunds)
	if err != nil {
		return nil, fmt.Errorf("read orders to remove: %w", err)
	}
	r := removal{tenant: tenant, plan: plan, given: facts}
	r.numbers = column(numbers, func(row struct{ Number string }) string { return row.Number })
	if err := s.db.Update(ctx, tenant, r.read, r.write); err != nil {
		return nil, fmt.Errorf("remove facts of plan %d: %w", plan, err)
	}
	return r.kept, nil
}

// removal is a call of Remove. read replaces what it has read.
type removal struct {
	tenant   tenancy.ID
	plan     PlanID
	given    Facts
	numbers  []string
	facts    orderFacts
	recorded []recordedFact // of the plan
	kept     []tenancy.Kept
}

type recordedFact struct {
	Kind string // the table
	ID   int64
}

func (r *removal) read(q *pgx.Batch) {
	r.facts.read(q, r.tenant, r.numbers)
	r.facts.readShares(q, r.tenant, r.numbers)
	db.QueueRows(q, &r.recorded, `
		select f.kind, f.id
		  from `+ordersByNumber+`
		 cross join lateral (
		       select 'orders' as kind, o.id
		       union all
		       select 'cancellations', o.id
		       union all
		       select 'refunds', id from refunds where tenant_id = $1 and order_id = o.id
		       ) of_order
		 cross join lateral (
		       select kind, id
		         from imported_facts
		        where tenant_id = $1 and plan_id = $3 and kind = of_order.kind and id = of_order.id
		        limit 1
		       ) f`, r.tenant, r.numbers, r.plan)
}

func (r *removal) write(q *pgx.Batch) error {
	zone, err := loadZone(r.facts.zones)
	if err != nil {
		return err
	}
	r.kept = nil
	recorded, given := map[recordedFact]bool{}, map[recordedFact]bool{}
	for _, f := range r.recorded {
		recorded[f] = true
	}
	for kind, ids := range map[string][]int64{
		"orders": r.given.Orders, "refunds": r.given.Refunds, "cancellations": r.given.Cancellations,
	} {
		for _, id := range ids {
			given[recordedFact{kind, id}] = true
		}
	}
	events, rollups := r.facts.events(zone), newDeltas()
	var removed Facts
	for _, o := range r.facts.orders {
		if recorded[recordedFact{"orders", o.ID}] && hasForeignFact(o, events[o.ID], recorded) {
			r.kept = append(r.kept, tenancy.Kept{
				Key: o.Number, Reason: "has a refund or a cancellation that is not of this import",
			})
			continue
		}
		removed.add(o, events[o.ID], given, rollups)
	}
	queueRemove(q, r.plan, removed, nil)
	rollups.queue(q, r.tenant)
	return nil
}

// hasForeignFact reports whether an order has a cancellation or a refund that the plan did not create.
func hasForeignFact(o *orderFact, e orderEvents, recorded map[recordedFact]bool) bool {
	if o.CancelledAt != nil && !recorded[recordedFact{"cancellations", o.ID}] {
		return true
	}
	for id := range e.refunds {
		if !recorded[recordedFact{"refunds", id}] {
			return true
		}
	}
	return false
}

// add adds the given facts of an order, and removes their part from the rollups.
func (f *Facts) add(o *orderFact, e orderEvents, given map[recordedFact]bool, rollups *deltas) {
	order := given[recordedFact{"orders", o.ID}]
	uncancelled := o.CancelledAt != nil && (order || given[recordedFact{"cancellations", o.ID}])
	if order {
		f.Orders = append(f.Orders, o.ID)
	}
	if uncancelled {
		f.Cancellations = append(f.Cancellations, o.ID)
	}
	if order && o.CancelledAt == nil {
		rollups.subtract(e.placed)
	}
	if !order && uncancelled {
		rollups.add(e.placed)
	}
	for id, refund := range e.refunds {
		switch {
		case order || given[recordedFact{"refunds", id}]:
			f.Refunds = append(f.Refunds, id)
			if o.CancelledAt == nil {
				rollups.subtract(refund)
			}
		case uncancelled:
			rollups.add(refund)
		}
	}
}
