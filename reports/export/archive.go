package export

import (
	"encoding/hex"
	"slices"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
)

// The sheets of an archive. They have the columns that an import of an archive reads, and ids of the tenant, which
// connect the files.

// archiveColumn is a column of a file that is only written as CSV.
func archiveColumn[T any](name string, of func(T) cell) column[T] { return column[T]{name, 0, of} }

// trueOf is empty for false.
func trueOf(is bool) cell {
	if is {
		return textOf("true")
	}
	return cell{}
}

func hexOf(b []byte) cell { return textOf(hex.EncodeToString(b)) }

// ArchiveReferences returns categories, sellers or warehouses.
func ArchiveReferences(kind catalog.Kind, rows Rows[catalog.Reference]) Sheet {
	type r = catalog.Reference
	columns := []column[r]{
		archiveColumn("id", func(r r) cell { return idOf(r.ID) }),
		archiveColumn("name", func(r r) cell { return textOf(r.Name) }),
	}
	if kind == catalog.Warehouses {
		columns = append(columns, archiveColumn("is_default", func(r r) cell {
			return trueOf(r.IsDefault)
		}))
	}
	return newSheet(string(kind), columns, rows)
}

// ArchiveProducts returns products: the columns of Catalog without images, between the id and the time of creation.
func ArchiveProducts(rows Rows[catalog.Product]) Sheet {
	type p = catalog.Product
	id := archiveColumn("id", func(p p) cell { return idOf(p.ID) })
	created := archiveColumn("created_at", func(p p) cell { return momentOf(p.CreatedAt) })
	return newSheet("products", slices.Concat([]column[p]{id}, productColumns(), []column[p]{created}), rows)
}

// ArchivedImage is an image of the product with the SKU.
type ArchivedImage struct {
	SKU string
	catalog.Image
}

// ArchiveImages returns the images of products. Each has either a URL or the name of a file.
func ArchiveImages(rows Rows[ArchivedImage]) Sheet {
	type i = ArchivedImage
	return newSheet("images", []column[i]{
		archiveColumn("sku", func(i i) cell { return textOf(i.SKU) }),
		archiveColumn("position", func(i i) cell { return countOf(i.Position) }),
		archiveColumn("url", func(i i) cell { return textOf(i.URL) }),
		archiveColumn("file", func(i i) cell { return textOf(i.File) }),
	}, rows)
}

// ArchiveLedger returns the ledgers of all products.
func ArchiveLedger(rows Rows[catalog.LedgerRow]) Sheet {
	type a = catalog.LedgerRow
	return newSheet("inventory_adjustments", []column[a]{
		archiveColumn("id", func(a a) cell { return idOf(a.ID) }),
		archiveColumn("product", func(a a) cell { return idOf(a.ProductID) }),
		archiveColumn("sku", func(a a) cell { return optional(a.SKU, textOf) }),
		archiveColumn("type", func(a a) cell { return textOf(a.Type) }),
		archiveColumn("quantity", func(a a) cell { return countOf(a.Quantity) }),
		archiveColumn("warehouse", func(a a) cell { return idOf(a.WarehouseID) }),
		archiveColumn("warehouse_name", func(a a) cell { return optional(a.WarehouseName, textOf) }),
		archiveColumn("quantity_before", func(a a) cell { return countOf(a.QuantityBefore) }),
		archiveColumn("quantity_after", func(a a) cell { return countOf(a.QuantityAfter) }),
		archiveColumn("notes", func(a a) cell { return optional(a.Notes, textOf) }),
		archiveColumn("api_key_name", func(a a) cell { return optional(a.APIKeyName, textOf) }),
		archiveColumn("created_at", func(a a) cell { return momentOf(a.CreatedAt) }),
		archiveColumn("order_number", func(a a) cell { return optional(a.OrderNumber, textOf) }),
		archiveColumn("reason", func(a a) cell { return optional(a.Reason, textOf) }),
	}, rows)
}

// ArchiveChannels returns channels.
func ArchiveChannels(rows Rows[sales.Channel]) Sheet {
	type c = sales.Channel
	return newSheet("channels", []column[c]{
		archiveColumn("identifier", func(c c) cell { return textOf(c.Identifier) }),
		archiveColumn("label", func(c c) cell { return textOf(c.Label) }),
		archiveColumn("takes_stock", func(c c) cell { return trueOf(c.TakesStock) }),
		archiveColumn("when_short", func(c c) cell { return textOf(c.WhenShort) }),
		archiveColumn("warehouse_name", func(c c) cell { return optional(c.WarehouseName, textOf) }),
	}, rows)
}

// ArchiveCustomers returns customers, including erased ones.
func ArchiveCustomers(rows Rows[sales.StoredCustomer]) Sheet {
	type c = sales.StoredCustomer
	return newSheet("customers", []column[c]{
		archiveColumn("id", func(c c) cell { return textOf(c.ID) }),
		archiveColumn("name", func(c c) cell { return optional(c.Name, textOf) }),
		archiveColumn("email", func(c c) cell { return optional(c.Email, textOf) }),
		archiveColumn("erased_at", func(c c) cell { return optional(c.ErasedAt, momentOf) }),
	}, rows)
}

// ArchiveSoldProducts returns the products as they were sold.
func ArchiveSoldProducts(rows Rows[sales.SoldProduct]) Sheet {
	type p = sales.SoldProduct
	return newSheet("sold_products", []column[p]{
		archiveColumn("id", func(p p) cell { return idOf(p.ID) }),
		archiveColumn("product", func(p p) cell { return optional(p.ProductID, idOf) }),
		archiveColumn("sku", func(p p) cell { return textOf(p.SKU) }),
		archiveColumn("name", func(p p) cell { return textOf(p.Name) }),
		archiveColumn("category", func(p p) cell { return optional(p.CategoryID, idOf) }),
		archiveColumn("category_name", func(p p) cell { return optional(p.CategoryName, textOf) }),
		archiveColumn("seller", func(p p) cell { return optional(p.SellerID, idOf) }),
		archiveColumn("seller_name", func(p p) cell { return optional(p.SellerName, textOf) }),
	}, rows)
}

// ArchiveOrders returns orders as they are stored.
func ArchiveOrders(rows Rows[sales.OrderFact]) Sheet {
	type o = sales.OrderFact
	return newSheet("orders", []column[o]{
		archiveColumn("number", func(o o) cell { return textOf(o.Number) }),
		archiveColumn("placed_at", func(o o) cell { return momentOf(o.PlacedAt) }),
		archiveColumn("channel", func(o o) cell { return textOf(o.Channel) }),
		archiveColumn("customer", func(o o) cell { return optional(o.Customer, textOf) }),
		archiveColumn("discount_total", func(o o) cell { return amountOf(o.Discounts) }),
		archiveColumn("tax_total", func(o o) cell { return amountOf(o.Tax) }),
		archiveColumn("shipping_total", func(o o) cell { return amountOf(o.Shipping) }),
		archiveColumn("cancelled_at", func(o o) cell { return optional(o.CancelledAt, momentOf) }),
		archiveColumn("content", func(o o) cell { return hexOf(o.Content) }),
		archiveColumn("short", func(o o) cell { return trueOf(o.Short) }),
	}, rows)
}

// ArchiveItems returns items as they are stored.
func ArchiveItems(rows Rows[sales.ItemFact]) Sheet {
	type i = sales.ItemFact
	return newSheet("order_items", []column[i]{
		archiveColumn("order_number", func(i i) cell { return textOf(i.OrderNumber) }),
		archiveColumn("sold_product", func(i i) cell { return idOf(i.SoldID) }),
		archiveColumn("sku", func(i i) cell { return textOf(i.SKU) }),
		archiveColumn("quantity", func(i i) cell { return countOf(i.Quantity) }),
		archiveColumn("unit_price", func(i i) cell { return amountOf(i.UnitPrice) }),
		archiveColumn("unit_cost", func(i i) cell { return optional(i.UnitCost, amountOf) }),
		archiveColumn("discount", func(i i) cell { return amountOf(i.Discount) }),
		archiveColumn("stock_taken", func(i i) cell { return optional(i.Taken, countOf[int32]) }),
		archiveColumn("stock_returned", func(i i) cell { return optional(i.Returned, countOf[int32]) }),
		archiveColumn("warehouse_name", func(i i) cell { return optional(i.Warehouse, textOf) }),
	}, rows)
}

// ArchiveRefunds returns refunds as they are stored, with all of their shares.
func ArchiveRefunds(rows Rows[sales.RefundFact]) Sheet {
	type r = sales.RefundFact
	return newSheet("refunds", []column[r]{
		archiveColumn("order_number", func(r r) cell { return textOf(r.OrderNumber) }),
		archiveColumn("refunded_at", func(r r) cell { return momentOf(r.RefundedAt) }),
		archiveColumn("amount", func(r r) cell { return amountOf(r.Amount) }),
		archiveColumn("reference", func(r r) cell { return optional(r.Reference, textOf) }),
		archiveColumn("content", func(r r) cell { return hexOf(r.Content) }),
		archiveColumn("tax", func(r r) cell { return amountOf(r.Tax) }),
		archiveColumn("shipping", func(r r) cell { return amountOf(r.Shipping) }),
		archiveColumn("restock", func(r r) cell { return trueOf(r.Restock) }),
		archiveColumn("named", func(r r) cell { return trueOf(r.Named) }),
		archiveColumn("items", func(r r) cell { return textOf(joinShares(r.Shares())) }),
	}, rows)
}
