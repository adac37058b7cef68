// Package catalog stores products, their stock, and their categories, sellers and
// warehouses. It validates every change, so that the API, the pages and the commands
// have the same rules.
//
// A read takes one round trip to PostgreSQL, a write one or two. Every change of stock
// locks the product and adds a row to its ledger in the same transaction. So three
// numbers are always equal: the quantity of the product, the sum of its stock in the
// warehouses, and quantity_after in the last row of its ledger.
//
// A list of products reads ids and the total from the smallest group of its filter, of which counters know the sizes:
//
//	filter                        ids                                   total
//	none                          an index with the order, by name and  product_counts
//	                              price for each status
//	category                      an index with the order, for each     facet_counts
//	                              status
//	seller, warehouse or tag      the index of the group, for each      facet_counts
//	                              status; by name, SKU and price sorted
//	status                        an index with the order by name and   product_counts
//	                              price, otherwise products_status,
//	                              sorted
//	dates                         products_created; sorted unless by    the same as for the ids
//	                              creation
//	one of these and dates        the range of dates in the index of    the same as for the ids
//	                              the group, sorted unless by creation;
//	                              with a status, the smaller of both
//	low stock                     low_products, sorted                  low_products
//	no stock                      all products, or the smallest of the  the same as for the ids
//	                              others
//	several of these              the smallest of them                  the same as for the ids
//	updated_since, any filter     products and ledger, or the smallest  the same as for the ids
//	                              group of the others
//	search, any filter            find_products                         find_products
//
// PostgreSQL sorts a group of which no index has the order. It reads all columns that it needs from one index, and takes
// about 0.25 µs for each product of the group, on any page. A group of more than about half of all products is not
// sorted: the list follows an index of all products in its order, and leaves out the others. So no list reads more rows
// than the smallest group of its filter has. No index has the stock, because each sale would write it: a list of products
// without stock or in the order of the stock reads its whole group.
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
//	products_status              a status; merged, prices of all
//	products_status_name         names of a status and, merged, of
//	                             all
//	products_category_*          the four orders of a category         441    379
//	products_seller              a seller
//	products_warehouse           a warehouse
//	products_changed             updated_since                         117     91
//	product_texts_pkey           the text of one product
//	product_texts_search         search                               1018      0
//	product_tags_pkey            changes of a product's tags           227     56
//	product_tags_tag             a tag
//
// Indexes with the orders of a status, a seller, a warehouse and a tag were dropped: they made creates
// and price changes slower, and a group of 5,000 products is sorted in about a millisecond.
package catalog

import (
	"errors"

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
type Store struct {
	db        *db.DB
	hidesCost bool // see WithoutCosts
}

// New returns a store that works on d.
func New(d *db.DB) *Store { return &Store{db: d} }

// WithoutCosts returns a store for people who must not see costs. The products that it returns have none, and no
// change that it makes sets or clears one.
func (s *Store) WithoutCosts() *Store { return &Store{s.db, true} }

// hide removes what the store must not show.
func (s *Store) hide(products ...*Product) {
	for _, p := range products {
		if s.hidesCost {
			p.Cost = nil
		}
	}
}

// hideAll is hide for the products of a list.
func (s *Store) hideAll(products []Product) []Product {
	for i := range products {
		s.hide(&products[i])
	}
	return products
}

// checkHidden adds an error for a field that the store hides.
func (s *Store) checkHidden(c Changes, invalid tenancy.InvalidError) {
	if s.hidesCost && c.Cost.Set {
		invalid.Add("cost", "cannot be changed by someone who does not see it")
	}
}

// Actor identifies the tenant of a change and the API key or the member that the ledger records. All are nil if an
// operator's command makes the change.
type Actor struct {
	Tenant  tenancy.ID
	KeyID   *int64
	KeyName *string
	Member  *string // the e-mail address
}

// rowID is the id of a row.
type rowID struct{ ID int64 }

// rowCount is the result of a query that counts.
type rowCount struct{ Count int64 }
