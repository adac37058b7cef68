package sales

import (
	"cmp"
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// soldKey identifies a product as an item stores it: the current product with the SKU, or one with the names of an
// export.
type soldKey struct{ SKU, Name, CategoryName, SellerName string }

func (k soldKey) compare(other soldKey) int {
	return cmp.Or(cmp.Compare(k.SKU, other.SKU), cmp.Compare(k.Name, other.Name),
		cmp.Compare(k.CategoryName, other.CategoryName), cmp.Compare(k.SellerName, other.SellerName))
}

func (i Item) soldKey() soldKey {
	if i.As == nil || i.As.Name == "" {
		return soldKey{SKU: i.SKU}
	}
	return soldKey{i.SKU, i.As.Name, i.As.CategoryName, i.As.SellerName}
}

type soldProducts map[soldKey]*soldProduct

// exportedProduct is the product of an item of an export. SoldID is nil if that version was not stored yet.
type exportedProduct struct {
	SKU, Name, Category, Seller             string
	ProductID, CategoryID, SellerID, SoldID *int64
}

func (p exportedProduct) key() soldKey { return soldKey{p.SKU, p.Name, p.Category, p.Seller} }

func (p exportedProduct) sold() *soldProduct {
	return &soldProduct{
		SKU: p.SKU, SoldID: p.SoldID, ProductID: p.ProductID, CategoryID: p.CategoryID, SellerID: p.SellerID,
	}
}

// exportedProducts are the products $2 with the names $3, the categories $4 and the sellers $5, as items store them. A
// SKU that the catalog does not have is that of a product that was deleted, unless its name shows that it was never
// known.
const exportedProducts = `
	unnest($2::text[], $3::text[], $4::text[], $5::text[]) with ordinality u (sku, name, category, seller, place)
	 cross join lateral (
	       select (u.name, u.category, u.seller) = (u.sku, '', '') as never_known,
	              (select id from products where tenant_id = $1 and sku = u.sku) as known_id,
	              (select max(v.product_id)
	                 from (select product_id from sold_products where tenant_id = $1 and sku = u.sku offset 0) v
	                where not exists (select from products where tenant_id = $1 and id = v.product_id)) as deleted_id,
	              nullif(u.category, '') as category_name, nullif(u.seller, '') as seller_name,
	              (select id from categories where tenant_id = $1 and name = u.category) as category_id,
	              (select id from sellers where tenant_id = $1 and name = u.seller) as seller_id
	       ) p
	 cross join lateral (
	       select coalesce(p.known_id, case when not p.never_known then p.deleted_id end) as product_id
	       ) i`

func exportedArgs(tenant tenancy.ID, keys []soldKey) []any {
	text := func(of func(soldKey) string) []string { return column(keys, of) }
	return []any{
		tenant, text(func(k soldKey) string { return k.SKU }), text(func(k soldKey) string { return k.Name }),
		text(func(k soldKey) string { return k.CategoryName }), text(func(k soldKey) string { return k.SellerName }),
	}
}

func queueExportedProducts(q *pgx.Batch, tenant tenancy.ID, keys []soldKey, products *[]exportedProduct) {
	if *products = nil; len(keys) == 0 {
		return
	}
	db.QueueRows(q, products, `
		select u.sku, u.name, u.category, u.seller, i.product_id, p.category_id, p.seller_id,
		       (select max(v.id)
		          from (select * from sold_products where tenant_id = $1 and sku = u.sku offset 0) v
		         where (v.product_id, v.name, v.category_id, v.category_name, v.seller_id, v.seller_name)
		               is not distinct from (i.product_id, u.name, p.category_id, p.category_name, p.seller_id, p.seller_name)
		           and (i.product_id is not null or p.never_known)
		       ) as sold_id
		  from `+exportedProducts, exportedArgs(tenant, keys)...)
}

// insertExported stores products of items in their sequence, because reports show the name of the last one. A deleted
// product gets an id that no other row has.
func (s *Store) insertExported(ctx context.Context, tenant tenancy.ID, keys []soldKey) error {
	_, err := s.db.Exec(ctx, tenant, `
		with new_ids as materialized (
		     select sku, nextval('products_id_seq') as id
		       from (select distinct unnest($2::text[]) as sku) s
		)
		insert into sold_products (tenant_id, product_id, sku, name, category_id, category_name, seller_id, seller_name)
		select $1, coalesce(i.product_id, case when not p.never_known then n.id end),
		       u.sku, u.name, p.category_id, p.category_name, p.seller_id, p.seller_name
		  from `+exportedProducts+`
		  join new_ids n on n.sku = u.sku
		 order by u.place`, exportedArgs(tenant, keys)...)
	return err
}
