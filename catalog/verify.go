package catalog

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
)

// verifyTimeout is how long each query over a whole catalog may take.
const verifyTimeout = 10 * time.Minute

// Verify compares the stock of every product with the sum of its warehouses and with the
// last row of its ledger, each row of the ledger with the row before it, and the counts
// that lists use with the products. It reads one snapshot of the database. It returns at
// most limit differences of each kind.
func (s *Store) Verify(ctx context.Context, tenant tenancy.ID, limit int) ([]tenancy.Difference, error) {
	var stock, ledger, counts []tenancy.Difference
	err := s.db.Snapshot(ctx, tenant, verifyTimeout, func(b *pgx.Batch) {
		tenancy.QueueRows(b, &stock, verifyStockSQL, tenant, limit)
		tenancy.QueueRows(b, &ledger, verifyLedgerSQL, tenant, limit)
		tenancy.QueueRows(b, &counts, verifyCountsSQL, tenant, limit)
	})
	if err != nil {
		return nil, wrap(err, "verify the catalog")
	}
	return append(append(stock, ledger...), counts...), nil
}

// verifyStockSQL compares the stock of products with their warehouses and their last ledger rows.
const verifyStockSQL = `
	select 'stock of product ' || p.id as what, f.figure,
	       p.quantity::text as stored, f.quantity::text as facts
	  from products p
	  left join (
	       select product_id, sum(quantity) as quantity
	         from stock
	        where tenant_id = $1
	        group by product_id
	       ) s on s.product_id = p.id
	  left join (
	       select distinct on (product_id) product_id, quantity_after
	         from inventory_adjustments
	        where tenant_id = $1
	        order by product_id, id desc
	       ) l on l.product_id = p.id
	 cross join lateral (
	       values ('sum of warehouses', coalesce(s.quantity, 0)), ('end of ledger', coalesce(l.quantity_after, 0))
	       ) f (figure, quantity)
	 where p.tenant_id = $1 and p.quantity <> f.quantity
	 order by p.id, f.figure desc
	 limit $2`

// verifyLedgerSQL compares each row of the ledger with the row before it.
const verifyLedgerSQL = `
	select 'ledger row ' || a.id as what, 'quantity_before' as figure,
	       a.quantity_before::text as stored, a.expected::text as facts
	  from (
	       select id, quantity_before,
	              lag(quantity_after, 1, 0) over (partition by product_id order by id) as expected
	         from inventory_adjustments
	        where tenant_id = $1
	       ) a
	 where a.quantity_before <> a.expected
	 order by a.id
	 limit $2`

// verifyCountsSQL compares the counts that lists use with the products.
const verifyCountsSQL = `
	select 'count of ' || status || ' products' as what, 'count' as figure,
	       coalesce(c.count, 0)::text as stored, coalesce(p.count, 0)::text as facts
	  from (
	       select status, sum(count) as count
	         from product_counts
	        where tenant_id = $1
	        group by status
	       ) c
	  full join (
	       select status, count(*) as count
	         from products
	        where tenant_id = $1
	        group by status
	       ) p using (status)
	 where coalesce(c.count, 0) <> coalesce(p.count, 0)
	 order by status
	 limit $2`
