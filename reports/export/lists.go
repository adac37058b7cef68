package export

import (
	"fmt"
	"strings"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
)

// The CSV files of lists have the columns that the import reads. The import ignores those that are
// calculated, such as revenue.

// Catalog returns products. Tags are joined with ";", and a backslash precedes this character in a tag. Images are the
// URLs of images without a file, joined with a blank, because an import cannot create files.
func Catalog(rows Rows[catalog.Product]) Sheet {
	images := column[catalog.Product]{"images", 40, func(p catalog.Product) cell {
		return textOf(strings.Join(catalog.URLs(p.Images), " "))
	}}
	return newSheet("Products", append(productColumns(), images), rows)
}

// productColumns are the columns of products without images.
func productColumns() []column[catalog.Product] {
	type p = catalog.Product
	return []column[p]{
		{"sku", 20, func(p p) cell { return textOf(p.SKU) }},
		{"name", 40, func(p p) cell { return textOf(p.Name) }},
		{"description", 40, func(p p) cell { return optional(p.Description, textOf) }},
		{"price", 12, func(p p) cell { return amountOf(p.Price) }},
		{"msrp", 12, func(p p) cell { return optional(p.MSRP, amountOf) }},
		{"cost", 12, func(p p) cell { return optional(p.Cost, amountOf) }},
		{"status", 10, func(p p) cell { return textOf(p.Status) }},
		{"condition", 12, func(p p) cell { return textOf(p.Condition) }},
		{"quantity", 10, func(p p) cell { return countOf(p.Quantity) }},
		{"reorder_point", 15, func(p p) cell { return optional(p.ReorderPoint, countOf) }},
		{"category_name", 24, func(p p) cell { return optional(p.CategoryName, textOf) }},
		{"seller_name", 24, func(p p) cell { return optional(p.SellerName, textOf) }},
		{"warehouse_name", 24, func(p p) cell { return textOf(p.WarehouseName) }},
		{"bin_location", 14, func(p p) cell { return optional(p.BinLocation, textOf) }},
		{"upc", 16, func(p p) cell { return optional(p.UPC, textOf) }},
		{"tags", 24, func(p p) cell { return textOf(joinTags(p.Tags)) }},
	}
}

var escapeTag = strings.NewReplacer(`\`, `\\`, `;`, `\;`)

func joinTags(tags []string) string {
	escaped := make([]string, len(tags))
	for i, tag := range tags {
		escaped[i] = escapeTag.Replace(tag)
	}
	return strings.Join(escaped, ";")
}

// Stock returns the quantities of products by warehouse.
func Stock(rows Rows[catalog.ProductStock]) Sheet {
	type s = catalog.ProductStock
	return newSheet("Stock", []column[s]{
		{"sku", 20, func(s s) cell { return textOf(s.SKU) }},
		{"warehouse_name", 24, func(s s) cell { return textOf(s.WarehouseName) }},
		{"quantity", 10, func(s s) cell { return countOf(s.Quantity) }},
	}, rows)
}

// Orders returns orders. Names and e-mail addresses of customers are empty unless withNames is set.
func Orders(rows Rows[sales.StoredOrder], withNames bool) Sheet {
	type o = sales.StoredOrder
	return newSheet("Orders", []column[o]{
		{"number", 20, func(o o) cell { return textOf(o.Number) }},
		{"placed_at", 20, func(o o) cell { return momentOf(o.PlacedAt) }},
		{"channel", 16, func(o o) cell { return textOf(o.Channel) }},
		{"customer", 20, func(o o) cell { return optional(o.CustomerNumber, textOf) }},
		{"discount_total", 16, func(o o) cell { return amountOf(o.Discounts) }},
		{"tax_total", 16, func(o o) cell { return amountOf(o.Tax) }},
		{"shipping_total", 16, func(o o) cell { return amountOf(o.Shipping) }},
		{"cancelled_at", 20, func(o o) cell { return optional(o.CancelledAt, momentOf) }},
		{"customer_name", 30, func(o o) cell { return nameOf(o.CustomerName, withNames) }},
		{"customer_email", 34, func(o o) cell { return nameOf(o.CustomerEmail, withNames) }},
		{"units", 10, func(o o) cell { return countOf(o.Units) }},
		{"revenue", 16, func(o o) cell { return amountOf(o.Revenue) }},
		{"cost_total", 16, func(o o) cell { return amountOf(o.Cost) }},
		{"refunded_total", 16, func(o o) cell { return amountOf(o.Refunded) }},
	}, rows)
}

// OrderItems returns the items of orders.
func OrderItems(rows Rows[sales.OrderLine]) Sheet {
	type l = sales.OrderLine
	return newSheet("Order items", []column[l]{
		{"order_number", 20, func(l l) cell { return textOf(l.OrderNumber) }},
		{"sku", 20, func(l l) cell { return textOf(l.SKU) }},
		{"quantity", 10, func(l l) cell { return countOf(l.Quantity) }},
		{"unit_price", 16, func(l l) cell { return amountOf(l.UnitPrice) }},
		{"unit_cost", 16, func(l l) cell { return optional(l.UnitCost, amountOf) }},
		{"discount", 16, func(l l) cell { return amountOf(l.Discount) }},
		{"name", 40, func(l l) cell { return textOf(l.Name) }},
		{"category_name", 24, func(l l) cell { return optional(l.CategoryName, textOf) }},
		{"seller_name", 24, func(l l) cell { return optional(l.SellerName, textOf) }},
		{"tax", 16, func(l l) cell { return amountOf(l.Tax) }},
		{"shipping", 16, func(l l) cell { return amountOf(l.Shipping) }},
		{"revenue", 16, func(l l) cell { return amountOf(l.Revenue()) }},
		{"refunded", 16, func(l l) cell { return amountOf(l.Refunded) }},
		{"units_returned", 16, func(l l) cell { return countOf(l.UnitsReturned) }},
	}, rows)
}

// Refunds returns the refunds of orders.
func Refunds(rows Rows[sales.OrderRefund]) Sheet {
	type r = sales.OrderRefund
	return newSheet("Refunds", []column[r]{
		{"order_number", 20, func(r r) cell { return textOf(r.OrderNumber) }},
		{"refunded_at", 20, func(r r) cell { return momentOf(r.RefundedAt) }},
		{"amount", 16, func(r r) cell { return amountOf(r.Amount) }},
		{"reference", 30, func(r r) cell { return optional(r.Reference, textOf) }},
		{"tax", 16, func(r r) cell { return amountOf(r.Tax) }},
		{"shipping", 16, func(r r) cell { return amountOf(r.Shipping) }},
		{"restock", 10, func(r r) cell { return trueOf(r.Restock) }},
		{"named", 10, func(r r) cell { return trueOf(r.Named) }},
		{"items", 40, func(r r) cell { return textOf(joinShares(r.Shares())) }},
	}, rows)
}

// joinShares returns line:amount:revenue:units of each share, separated by blanks.
func joinShares(shares []sales.RefundShare) string {
	texts := make([]string, len(shares))
	for i, s := range shares {
		texts[i] = fmt.Sprintf("%d:%s:%s:%d", s.Line, s.Amount, s.Revenue, s.Units)
	}
	return strings.Join(texts, " ")
}

// CustomerList returns customers.
func CustomerList(rows Rows[sales.StoredCustomer]) Sheet {
	type c = sales.StoredCustomer
	return newSheet("Customers", []column[c]{
		{"id", 20, func(c c) cell { return textOf(c.ID) }},
		{"name", 30, func(c c) cell { return optional(c.Name, textOf) }},
		{"email", 34, func(c c) cell { return optional(c.Email, textOf) }},
	}, rows)
}
