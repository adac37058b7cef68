package catalog

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// verifyTimeout is how long each query over a whole catalog may take.
const verifyTimeout = 10 * time.Minute

// Verify compares the stock of every product with the sum of its warehouses and with the last row of its ledger, and
// each row of the ledger with the row before it. It compares the counts and tags that lists use, the low products that
// the overview uses, and the size of all files of images with the products. It reads one snapshot of the database, then
// the texts that a search compares, and returns at most limit differences of each kind.
func (s *Store) Verify(ctx context.Context, tenant tenancy.ID, limit int) ([]tenancy.Difference, error) {
	var stock, ledger, counts, tags, low, files []tenancy.Difference
	err := s.db.Snapshot(ctx, tenant, db.CustomPlan, verifyTimeout, func(b *pgx.Batch) {
		db.QueueRows(b, &stock, verifyStockSQL, tenant, limit)
		db.QueueRows(b, &ledger, verifyLedgerSQL, tenant, limit)
		db.QueueRows(b, &counts, verifyCountsSQL, tenant, limit)
		db.QueueRows(b, &tags, verifyTagsSQL, tenant, limit)
		db.QueueRows(b, &low, verifyLowSQL, tenant, limit)
		db.QueueRows(b, &files, verifyFilesSQL, tenant)
	})
	if err != nil {
		return nil, tenancy.Wrap(err, "verify the catalog")
	}
	texts, err := Texts.Verify(ctx, s.db, tenant, limit)
	return slices.Concat(stock, ledger, counts, tags, low, files, texts), err
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
	select 'count of ' || rtrim(concat_ws(' ', status, 'products', facet, value)) as what, 'count' as figure,
	       coalesce(stored, 0)::text as stored, coalesce(actual, 0)::text as facts
	  from (
	       select '' as facet, '' as value, status, sum(count) as stored
	         from product_counts
	        where tenant_id = $1
	        group by status
	        union all
	       select facet, value, status, sum(count)
	         from facet_counts
	        where tenant_id = $1
	        group by 1, 2, 3
	       ) c
	  full join (
	       select f.facet, f.value, p.status, count(*) as actual
	         from products p
	        cross join lateral (
	              select '' as facet, '' as value
	               union all
	              select facet, value
	                from facets(p.category_id, p.seller_id, p.warehouse_id, p.tags)
	              ) f
	        where p.tenant_id = $1
	        group by 1, 2, 3
	       ) p using (facet, value, status)
	 where coalesce(stored, 0) <> coalesce(actual, 0)
	 order by facet, value, status
	 limit $2`

// verifyTagsSQL compares the rows that lists of a tag use with the products.
const verifyTagsSQL = `
	select 'tag ' || tag || ' of product ' || product_id as what, 'row' as figure,
	       coalesce(t.stored, 'none') as stored, coalesce(p.actual, 'none') as facts
	  from (
	       select tag, product_id, concat_ws(' ', status, created_at, price, sku, name) as stored
	         from product_tags
	        where tenant_id = $1
	       ) t
	  full join (
	       select unnest(tags) as tag, id as product_id, concat_ws(' ', status, created_at, price, sku, name) as actual
	         from products
	        where tenant_id = $1
	       ) p using (tag, product_id)
	 where t.stored is distinct from p.actual
	 order by product_id, tag
	 limit $2`

// verifyLowSQL compares the rows that the overview uses with the products.
const verifyLowSQL = `
	select 'low product ' || product_id as what, 'quantity' as figure,
	       coalesce(l.quantity::text, 'none') as stored, coalesce(p.quantity::text, 'none') as facts
	  from ` + lowDifferences + `
	 order by product_id
	 limit $2`

const lowDifferences = `(
	       select product_id, quantity
	         from low_products
	        where tenant_id = $1
	       ) l
	  full join (
	       select id as product_id, quantity
	         from products
	        where tenant_id = $1 and quantity <= reorder_point
	       ) p using (product_id)
	 where l.quantity is distinct from p.quantity`

// verifyFilesSQL compares the size that the quota of images uses with the images of the products.
const verifyFilesSQL = `
	select 'files of images' as what, 'bytes' as figure, t.bytes::text as stored, f.bytes::text as facts
	  from (select ` + filesSize + `) f
	 cross join (
	       select coalesce((select bytes from media_totals where tenant_id = $1), 0)
	       ) t (bytes)
	 where t.bytes <> f.bytes`

// filesSize is the size of all files of the images of a tenant.
const filesSize = `coalesce((
	       select sum((i ->> 'bytes')::bigint)
	         from products, jsonb_array_elements(images) i
	        where tenant_id = $1), 0)::bigint as bytes`

// RepairFilesSize corrects the size that the quota of images uses, and reports whether it was wrong. Images can change
// in the meantime: the trigger that adds their sizes waits for the lock of the row.
func (s *Store) RepairFilesSize(ctx context.Context, tenant tenancy.ID) (changed bool, err error) {
	err = s.db.Tx(ctx, tenant, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, repairSettings); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
			insert into media_totals (tenant_id, bytes)
			values ($1, 0)
			    on conflict (tenant_id) do update
			   set bytes = media_totals.bytes`, tenant); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `
			update media_totals t
			   set bytes = f.bytes
			  from (select `+filesSize+`) f
			 where t.tenant_id = $1 and t.bytes <> f.bytes`, tenant)
		changed = tag.RowsAffected() > 0
		return err
	})
	return changed, tenancy.Wrap(err, "repair the size of files")
}

// repairSettings ends the timeouts of requests, and allows plans for queries that read all products.
const repairSettings = `
	select set_config('statement_timeout', '0', true),
	       set_config('lock_timeout', '0', true),
	       set_config('enable_hashjoin', 'on', true),
	       set_config('plan_cache_mode', 'force_custom_plan', true)`

// RepairLow corrects the rows of low_products that Verify finds, and returns their number. Products can change in the
// meantime.
func (s *Store) RepairLow(ctx context.Context, tenant tenancy.ID) (changed int64, err error) {
	err = s.db.Tx(ctx, tenant, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, repairSettings); err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, `select product_id from `+lowDifferences, tenant) // CollectRows returns its error
		ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			return err
		}
		// A trigger writes the row of a product while it holds the product's lock. Bulk requests lock by SKU too.
		rows, _ = tx.Query(ctx, `
			select id
			  from products
			 where tenant_id = $1 and id = any ($2)
			 order by sku
			   for no key update`, tenant, ids)
		if ids, err = pgx.CollectRows(rows, pgx.RowTo[int64]); err != nil {
			return err
		}
		changed = int64(len(ids))
		for _, sql := range []string{
			`delete from low_products where tenant_id = $1 and product_id = any ($2)`,
			`insert into low_products (tenant_id, product_id, quantity)
			 select tenant_id, id, quantity
			   from products
			  where tenant_id = $1 and id = any ($2) and quantity <= reorder_point`,
		} {
			if _, err := tx.Exec(ctx, sql, tenant, ids); err != nil {
				return err
			}
		}
		return nil
	})
	return changed, tenancy.Wrap(err, "repair the low products")
}
