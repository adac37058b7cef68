package catalog

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// Adjustment is a row of the ledger. QuantityBefore and QuantityAfter are totals of the
// product.
type Adjustment struct {
	ID             int64
	Type           string
	Quantity       int32
	WarehouseID    int64
	QuantityBefore int32
	QuantityAfter  int32
	Notes          *string
	OrderNumber    *string // of the order that changed the stock
	Reason         *string // Sale, Cancellation or Refund, if an order changed the stock
	APIKeyID       *int64
	APIKeyName     *string
	Member         *string // the e-mail address of the member who changed the stock
	CreatedAt      time.Time
}

const (
	// selectAdjustments reads the columns of Adjustment from a table a.
	selectAdjustments = adjustmentColumns + `,
       (select name from api_keys where tenant_id = a.tenant_id and id = a.api_key_id) as api_key_name`
	// selectEntries is selectAdjustments without the name of the key, for rows that an Actor has just written.
	selectEntries = adjustmentColumns + `,
       null as api_key_name`

	adjustmentColumns = `
select a.id, a.type, a.quantity, a.warehouse_id, a.quantity_before, a.quantity_after, a.notes,
       a.order_number, a.reason, a.api_key_id, a.created_at, a.member`
)

// LedgerFilter selects rows of a product's ledger. The zero value of a field does not
// filter.
type LedgerFilter struct {
	Type        string
	WarehouseID *int64
	From        time.Time
	Before      time.Time
	Page        paging.Page
}

// Adjustments returns a page of a product's ledger, newest first. It returns ErrNotFound
// if the product does not exist.
func (s *Store) Adjustments(
	ctx context.Context, tenant tenancy.ID, id int64, f LedgerFilter,
) (paging.List[Adjustment], error) {
	var q paging.Query
	q.Where("a.tenant_id = %s", tenant)
	q.Where("a.product_id = %s", id)
	if f.Type != "" {
		q.Where("a.type = %s", f.Type)
	}
	if f.WarehouseID != nil {
		q.Where("a.warehouse_id = %s", *f.WarehouseID)
	}
	if !f.From.IsZero() {
		q.Where("a.created_at >= %s", f.From)
	}
	if !f.Before.IsZero() {
		q.Where("a.created_at < %s", f.Before)
	}
	count, countArgs := `
select count(*)
  from inventory_adjustments a`+q.Conditions(), q.Args
	page := selectAdjustments + `
  from inventory_adjustments a` + q.Conditions() + `
 order by a.id desc` + q.Limit(f.Page.PerPage, f.Page.Offset())
	var product []rowID
	var counts []rowCount
	var list paging.List[Adjustment]
	err := s.db.Read(ctx, tenant, func(b *pgx.Batch) {
		db.QueueRows(b, &product, `select id from products where tenant_id = $1 and id = $2`, tenant, id)
		db.QueueRows(b, &counts, count, countArgs...)
		db.QueueRows(b, &list.Items, page, q.Args...)
	})
	if err == nil && len(product) == 0 {
		err = tenancy.ErrNotFound
	}
	if err != nil {
		return list, tenancy.Wrap(err, "ledger of product %d", id)
	}
	list.Total = counts[0].Count
	return list, nil
}

// maxLaterRows is the number of newer ledger rows of the product above which LedgerStocks does not add them up.
const maxLaterRows = 20_000

// LedgerStock is the warehouse of a ledger row, and what the row left there.
type LedgerStock struct {
	WarehouseName string // "" if it was deleted
	Left          *int64 // nil if the row is too old to tell
}

// LedgerStocks returns the warehouses of rows of Adjustments without filters, in the order of rows.
func (s *Store) LedgerStocks(
	ctx context.Context, tenant tenancy.ID, id int64, rows []Adjustment,
) ([]LedgerStock, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	var warehouses []int64
	for _, row := range rows {
		if !slices.Contains(warehouses, row.WarehouseID) {
			warehouses = append(warehouses, row.WarehouseID)
		}
	}
	type after struct { // the newest of rows
		WarehouseID, Quantity int64
		Name                  string
		IsOld                 bool
	}
	// One statement reads the stock and the later rows, so that both are of the same moment.
	found, err := db.All[after](ctx, s.db, tenant, `
		with later as materialized (
			select warehouse_id, quantity_after::bigint - quantity_before as change
			  from inventory_adjustments
			 where tenant_id = $1 and product_id = $2 and id > $4
			 order by id
			 limit $5 + 1
		)
		select w.id as warehouse_id,
		       coalesce((select name from warehouses where tenant_id = $1 and id = w.id), '') as name,
		       (coalesce((
		          select quantity
		            from stock
		           where tenant_id = $1 and product_id = $2 and warehouse_id = w.id), 0)
		       - coalesce(l.change, 0))::bigint as quantity,
		       (select count(*) from later) > $5 as is_old
		  from unnest($3::bigint[]) w (id)
		  left join (select warehouse_id, sum(change) as change from later group by warehouse_id) l on l.warehouse_id = w.id`,
		tenant, id, warehouses, rows[0].ID, maxLaterRows)
	if err != nil {
		return nil, tenancy.Wrap(err, "stock of ledger rows of product %d", id)
	}
	at := map[int64]*after{}
	for i := range found {
		at[found[i].WarehouseID] = &found[i]
	}
	stocks := make([]LedgerStock, len(rows))
	for i, row := range rows {
		w := at[row.WarehouseID]
		stocks[i] = LedgerStock{WarehouseName: w.Name}
		if !w.IsOld {
			stocks[i].Left = new(w.Quantity)
		}
		w.Quantity -= int64(row.QuantityAfter) - int64(row.QuantityBefore)
	}
	return stocks, nil
}
