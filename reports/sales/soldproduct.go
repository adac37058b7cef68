package sales

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/money"
)

// soldProduct is the current state of a SKU. SoldID is its version in sold_products,
// or nil if that was not stored yet.
type soldProduct struct {
	SKU                  string
	SoldID               *int64
	ProductID            *int64 // nil if the catalog does not have the SKU
	CategoryID, SellerID *int64
	Cost                 *money.Cents
}

// errMissingVersions makes Ingest store versions of products in a separate transaction.
var errMissingVersions = errors.New("products have no current version in sold_products")

func queueSoldProducts(q *pgx.Batch, tenant tenancy.ID, skus []string, products *[]soldProduct) {
	db.QueueRows(q, products, `
		select u.sku, p.id as product_id, p.category_id, p.seller_id, p.cost,
		       case when p.id is null then (`+versionOfUnknownSKU+`) else s.id end as sold_id
		  from unnest($2::text[]) u (sku)
		  left join lateral (`+currentProduct+`) p on true
		  left join lateral (
		       select *
		         from (select * from sold_products where tenant_id = $1 and product_id = p.id offset 0) v
		        order by id desc
		        limit 1
		       ) s on (s.sku, s.name, s.category_id, s.category_name, s.seller_id, s.seller_name)
		              is not distinct from (p.sku, p.name, p.category_id, p.category_name, p.seller_id, p.seller_name)`,
		tenant, skus)
}

const (
	// currentProduct is the product with the SKU u.sku as a new order would store it.
	currentProduct = `
		select p.id, p.sku, p.name, p.cost, p.category_id, p.seller_id,
		       (select name from categories where tenant_id = $1 and id = p.category_id) as category_name,
		       (select name from sellers where tenant_id = $1 and id = p.seller_id) as seller_name
		  from products p
		 where p.tenant_id = $1 and p.sku = u.sku
		 limit 1`
	// versionOfUnknownSKU is the version of a SKU that the catalog does not have.
	versionOfUnknownSKU = `
		select max(id)
		  from (select id from sold_products where tenant_id = $1 and sku = u.sku and product_id is null offset 0) v`
)

// soldProducts returns the products as new orders store them. A product that has no current version is as it was when an
// earlier attempt read or stored its version: other transactions may change products all the time. Its stock is that of
// the product that has the SKU now.
func (b *orderBatch) soldProducts() soldProducts {
	products := make(soldProducts, len(b.products)+len(b.exported))
	for i := range b.products {
		now := &b.products[i]
		if before, known := b.versions[now.SKU]; known && now.SoldID == nil {
			before.ProductID = now.ProductID
			now = &before
		}
		products[soldKey{SKU: now.SKU}] = now
	}
	for _, p := range b.exported {
		products[p.key()] = p.sold()
	}
	return products
}

// keepVersions keeps the versions of products for the next attempt: those that this one has read, and inserted.
func (b *orderBatch) keepVersions(inserted []soldProduct) {
	if b.versions == nil {
		b.versions = map[string]soldProduct{}
	}
	for _, p := range slices.Concat(b.products, inserted) {
		if p.SoldID != nil {
			b.versions[p.SKU] = p
		}
	}
}

// checkVersions checks the products of the new orders. If some have no version, it sets b.missing and returns
// errMissingVersions.
func (b *orderBatch) checkVersions(existing map[string]existingOrder, products soldProducts) error {
	missing := map[soldKey]int{} // the last order with it
	for i, o := range b.rows {
		if _, exists := existing[o.Number]; exists || o.digest == nil {
			continue
		}
		for _, item := range o.Items {
			if p := item.soldProduct(products); p == nil || p.SoldID == nil {
				missing[item.soldKey()] = i
			}
		}
	}
	if len(missing) > 0 {
		b.missing = slices.SortedFunc(maps.Keys(missing), func(a, b soldKey) int {
			return cmp.Or(cmp.Compare(missing[a], missing[b]), a.compare(b))
		})
		return errMissingVersions
	}
	return nil
}

// soldProduct returns the product as the item stores it.
func (i Item) soldProduct(products soldProducts) *soldProduct {
	if s := i.Sold; s != nil {
		return &soldProduct{SKU: i.SKU, SoldID: &s.ID, CategoryID: orNil(s.Category), SellerID: orNil(s.Seller)}
	}
	return products[i.soldKey()]
}

func orNil[T comparable](value T) *T {
	if value == *new(T) {
		return nil
	}
	return &value
}

// NewSoldIDs returns n unused ids of sold_products in ascending order.
func (s *Store) NewSoldIDs(ctx context.Context, tenant tenancy.ID, n int) ([]int64, error) {
	ids, err := db.All[idRow](ctx, s.db, tenant, `
		select nextval('sold_products_id_seq') as id
		  from generate_series(1, $1::int)`, n)
	return column(ids, func(r idRow) int64 { return r.ID }), err
}

// queueSold inserts the sold products of an archive, unless an earlier order has inserted them.
func queueSold(q *pgx.Batch, tenant tenancy.ID, orders []*orderRow) {
	var all []Item
	for _, o := range orders {
		for _, item := range o.Items {
			if item.Sold != nil {
				all = append(all, item)
			}
		}
	}
	if len(all) == 0 {
		return
	}
	slices.SortStableFunc(all, func(a, b Item) int { return cmp.Compare(a.Sold.ID, b.Sold.ID) })
	all = slices.CompactFunc(all, func(a, b Item) bool { return a.Sold.ID == b.Sold.ID })
	ids := func(of func(*Sold) int64) []*int64 {
		return column(all, func(i Item) *int64 { return orNil(of(i.Sold)) })
	}
	texts := func(of func(*Sold) string) []*string {
		return column(all, func(i Item) *string { return orNil(of(i.Sold)) })
	}
	q.Queue(`
		insert into sold_products (tenant_id, id, product_id, sku, name, category_id, category_name, seller_id, seller_name)
		overriding system value
		select $1, u.*
		  from unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::bigint[], $9::text[])
		       u (id, product_id, sku, name, category_id, category_name, seller_id, seller_name)
		 where not exists (select from sold_products where tenant_id = $1 and id = u.id)
		 order by u.id`,
		tenant, ids(func(s *Sold) int64 { return s.ID }), ids(func(s *Sold) int64 { return s.Product }),
		column(all, func(i Item) string { return i.SKU }), column(all, func(i Item) string { return i.Sold.Name }),
		ids(func(s *Sold) int64 { return s.Category }), texts(func(s *Sold) string { return s.CategoryName }),
		ids(func(s *Sold) int64 { return s.Seller }), texts(func(s *Sold) string { return s.SellerName }))
}

// insertSoldProducts stores missing versions of products. It returns the current products as these versions have them:
// the cost is read in the same snapshot.
func (s *Store) insertSoldProducts(ctx context.Context, tenant tenancy.ID, missing []soldKey) ([]soldProduct, error) {
	var skus []string
	var exported []soldKey
	for _, key := range missing {
		if key.Name == "" {
			skus = append(skus, key.SKU)
		} else {
			exported = append(exported, key)
		}
	}
	if len(exported) > 0 {
		if err := s.insertExported(ctx, tenant, exported); err != nil || len(skus) == 0 {
			return nil, err
		}
	}
	return db.All[soldProduct](ctx, s.db, tenant, `
		insert into sold_products (tenant_id, product_id, sku, name, category_id, category_name, seller_id, seller_name)
		select $1, p.id, u.sku, coalesce(p.name, u.sku), p.category_id, p.category_name, p.seller_id, p.seller_name
		  from unnest($2::text[]) u (sku)
		  left join lateral (`+currentProduct+`) p on true
		 order by u.sku
		returning sku, id as sold_id, product_id, category_id, seller_id,
		          (select cost from products p where p.tenant_id = $1 and p.id = sold_products.product_id) as cost`,
		tenant, skus)
}
