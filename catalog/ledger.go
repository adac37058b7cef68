package catalog

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// LedgerFilter says which rows of a product's ledger Adjustments returns. The zero
// value of a field does not filter.
type LedgerFilter struct {
	Type        string
	WarehouseID *int64
	From        time.Time
	Before      time.Time
	Page        paging.Page
}

// Adjustments returns a page of a product's ledger, newest first. It returns
// ErrNotFound if there is no such product.
func (s *Store) Adjustments(ctx context.Context, tenant tenancy.ID, id int64, f LedgerFilter) (paging.List[Adjustment], error) {
	where, args := []string{"a.tenant_id = $1", "a.product_id = $2"}, []any{tenant, id}
	add := func(condition string, arg any) {
		args = append(args, arg)
		where = append(where, condition+" $"+strconv.Itoa(len(args)))
	}
	if f.Type != "" {
		add("a.type =", f.Type)
	}
	if f.WarehouseID != nil {
		add("a.warehouse_id =", *f.WarehouseID)
	}
	if !f.From.IsZero() {
		add("a.created_at >=", f.From)
	}
	if !f.Before.IsZero() {
		add("a.created_at <", f.Before)
	}
	conditions := strings.Join(where, " and ")
	var product []found
	var counts []counted
	var page paging.List[Adjustment]
	err := s.db.Run(ctx, tenant, func(b *pgx.Batch) {
		tenancy.QueueRows(b, &product, `select id from products where tenant_id = $1 and id = $2`, tenant, id)
		tenancy.QueueRows(b, &counts, `select count(*) from inventory_adjustments a where `+conditions, args...)
		n := len(args)
		tenancy.QueueRows(b, &page.Items, `
			select a.id, a.type, a.quantity, a.warehouse_id, a.quantity_before, a.quantity_after, a.notes,
			       a.api_key_id, k.name as api_key_name, a.created_at
			  from inventory_adjustments a
			  left join api_keys k on k.tenant_id = a.tenant_id and k.id = a.api_key_id
			 where `+conditions+`
			 order by a.id desc limit $`+strconv.Itoa(n+1)+` offset $`+strconv.Itoa(n+2), append(args, f.Page.PerPage, f.Page.Offset())...)
	})
	if err == nil && len(product) == 0 {
		err = tenancy.ErrNotFound
	}
	if err != nil {
		return page, wrap(err, "ledger of product %d", id)
	}
	page.Total = counts[0].Count
	return page, nil
}

// WarehouseStock is what a warehouse holds of a product.
type WarehouseStock struct {
	WarehouseID   int64
	WarehouseName string
	Quantity      int32
}

// Inventory returns what each warehouse holds of a product: its own, holding
// something or not, and every other that holds something. It returns ErrNotFound.
func (s *Store) Inventory(ctx context.Context, tenant tenancy.ID, id int64) ([]WarehouseStock, error) {
	held, err := tenancy.All[WarehouseStock](ctx, s.db, tenant, `
		select w.id as warehouse_id, w.name as warehouse_name, coalesce(s.quantity, 0) as quantity
		  from products p
		  join warehouses w on w.tenant_id = p.tenant_id
		  left join stock s on s.tenant_id = p.tenant_id and s.product_id = p.id and s.warehouse_id = w.id
		 where p.tenant_id = $1 and p.id = $2 and (w.id = p.warehouse_id or s.quantity > 0)
		 order by w.id`, tenant, id)
	if err == nil && len(held) == 0 {
		err = tenancy.ErrNotFound
	}
	return held, wrap(err, "inventory of product %d", id)
}
