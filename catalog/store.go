// Package catalog stores products, their stock, and their categories, sellers and
// warehouses. It validates every change, so that the API, the pages and the commands
// have the same rules.
//
// A read takes one round trip to PostgreSQL, a write one or two. Every change of stock
// locks the product and adds a row to its ledger in the same transaction. So three
// numbers are always equal: the quantity of the product, the sum of its stock in the
// warehouses, and quantity_after in the last row of its ledger.
//
// A list of products reads ids and the total from the smallest source:
//
//	filter                    ids, sorted                  total
//	none, status              an index of products, by     product_counts
//	                          name or price for each
//	                          status
//	category, seller or       an index of products for     facet_counts
//	warehouse                 each status
//	tag                       an index of product_tags     facet_counts
//	                          for each status
//	category or seller, with  an index of products of      the same as for the ids
//	others                    one of them
//	tag with others           product_tags, then products  the same as for the ids
//	updated_since             products and ledger          the same as for the ids
//	search, any filter        find_products                find_products
//
// Triggers write product_counts, facet_counts, product_tags and low_products, which the overview
// reads. testdata/sql has the queries, and the tests of SQL the indexes that serve them.
//
// Each index has a cost for writes. An entry takes 5 to 10 µs of CPU time. The table shows the bytes of WAL for a new
// product with two tags, and for a new price. The rows themselves need 698 and 190 bytes, the counters 943 and 0.
// PostgreSQL writes an entry into every index if one of the indexed columns changes. A change of stock changes none.
//
//	index                        serves                             create  price
//	products_pkey                one product by id                      75     50
//	products_tenant_id_sku_key   one product by SKU, order of SKUs     110     58
//	products_created             the default order, dates, walks       117     51
//	products_status_*            the four orders of a status and,      590    388
//	                             merged, names and prices of all
//	products_category_*          the four orders of a category         441    379
//	products_seller_*            the four orders of a seller           405    353
//	products_warehouse_*         the four orders of a warehouse        513    332
//	products_changed             updated_since                         117     91
//	product_texts_search         search                               1018      0
//	product_tags_pkey            changes of a product's tags           227     56
//	product_tags_*               the four orders of a tag             1076    468
//
// products_name, products_price and an index of product_tags by product were dropped: the
// indexes above serve their queries too.
package catalog

import (
	"errors"
	"fmt"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// Errors besides tenancy.ErrNotFound and tenancy.InvalidError.
var (
	// ErrInsufficientStock means that the stock would be less than zero.
	ErrInsufficientStock = errors.New("not enough stock")
	// ErrPrecondition means that the product is not in the state that the caller expects.
	ErrPrecondition = errors.New("the product has changed")
)

// Store reads and writes the catalogs of all tenants.
type Store struct{ db *db.DB }

// New returns the store of a database.
func New(db *db.DB) *Store { return &Store{db} }

// Actor identifies the tenant of a change and the API key that the ledger records. KeyID
// is nil if an operator's command makes the change. KeyName is the name of the key, or nil too.
type Actor struct {
	Tenant  tenancy.ID
	KeyID   *int64
	KeyName *string
}

// rowID is the id of a row.
type rowID struct{ ID int64 }

// rowCount is the result of a query that counts.
type rowCount struct{ Count int64 }

func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
