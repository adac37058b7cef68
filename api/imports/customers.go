package imports

import (
	"context"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
)

// customers are the rows of customers.
type customers struct{ sales *sales.Store }

func (k customers) plan(ctx context.Context, p *part) error {
	sent := column(p.rows, func(r *Record) sales.Customer { return *r.Customer })
	results, err := k.sales.PlanCustomers(ctx, p.tenant, sent)
	if err != nil {
		return err
	}
	for i, result := range results {
		row := p.rows[i]
		row.set(string(result.Outcome), result.Err)
		if row.Writes() {
			row.Change = &result.CustomerChange
		}
	}
	return nil
}

func (k customers) apply(ctx context.Context, p *part) (err error) {
	change := func(r *Record) sales.CustomerChange { return *r.Change }
	p.result.Customers, err = applyChanges(p.rows, change, func(changes []sales.CustomerChange) ([]bool, error) {
		return k.sales.ApplyCustomers(ctx, p.tenant, p.plan, changes)
	})
	return err
}

func (k customers) undo(ctx context.Context, p *part) ([]tenancy.Kept, error) {
	return k.sales.UndoCustomers(ctx, p.tenant, p.plan, p.result.Customers)
}
