package sales

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
)

// Facts are facts that a plan created. Cancellations have the ids of their orders.
type Facts struct{ Orders, Refunds, Cancellations []int64 }

// queueRemove deletes facts and customers that a plan created.
func queueRemove(q *pgx.Batch, plan PlanID, facts Facts, customers []int64) {
	q.Queue(`select remove_facts($1, $2, $3, $4, $5)`,
		plan, facts.Orders, facts.Refunds, facts.Cancellations, customers)
}

// Remove undoes facts that a plan created: it deletes them and subtracts them from the rollups. Orders with a refund or
// a cancellation that the plan did not create are kept, with all of their facts. A fact that does not exist is ignored.
func (s *Store) Remove(ctx context.Context, tenant tenancy.ID, plan PlanID, facts Facts) ([]tenancy.Kept, error) {
	numbers, err := tenancy.All[struct{ Number string }](ctx, s.db, tenant, `
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
	tenancy.QueueRows(q, &r.recorded, `
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
	recorded := map[recordedFact]bool{}
	for _, f := range r.recorded {
		recorded[f] = true
	}
	given := map[recordedFact]bool{}
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
		order, cancellation := recordedFact{"orders", o.ID}, recordedFact{"cancellations", o.ID}
		foreign := o.CancelledAt != nil && !recorded[cancellation]
		for id := range events[o.ID].refunds {
			foreign = foreign || !recorded[recordedFact{"refunds", id}]
		}
		if foreign && recorded[order] {
			r.kept = append(r.kept, tenancy.Kept{
				Key: o.Number, Reason: "has a refund or a cancellation that is not of this import",
			})
			continue
		}
		uncancelled := o.CancelledAt != nil && (given[order] || given[cancellation])
		if uncancelled {
			removed.Cancellations = append(removed.Cancellations, o.ID)
		}
		if given[order] {
			removed.Orders = append(removed.Orders, o.ID)
		}
		var rest []event // counts afterwards
		for id, refund := range events[o.ID].refunds {
			switch {
			case given[order] || given[recordedFact{"refunds", id}]:
				removed.Refunds = append(removed.Refunds, id)
				if o.CancelledAt == nil {
					rollups.subtract(refund)
				}
			default:
				rest = append(rest, refund)
			}
		}
		switch {
		case given[order] && o.CancelledAt == nil:
			rollups.subtract(events[o.ID].placed)
		case !given[order] && uncancelled:
			rollups.add(events[o.ID].placed)
			for _, refund := range rest {
				rollups.add(refund)
			}
		}
	}
	queueRemove(q, r.plan, removed, nil)
	rollups.queue(q, r.tenant)
	return nil
}
