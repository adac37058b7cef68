package export

import (
	"time"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/money"
)

// ChannelFile has channels. Outside of archives, only users write it.
var ChannelFile = &OwnFile[sales.Channel, sales.Channel, sales.Channel]{"channels", []ownColumn[sales.Channel]{
	{"identifier", 0, required, value(identifiers, func(c *sales.Channel) *string { return &c.Identifier })},
	{"label", 0, required, value(texts, func(c *sales.Channel) *string { return &c.Label })},
	{"takes_stock", 0, archived, value(flags, func(c *sales.Channel) *bool { return &c.TakesStock })},
	{"when_short", 0, archived, value(texts, func(c *sales.Channel) *string { return &c.WhenShort })},
	{"warehouse_name", 0, archived, pointer(texts, func(c *sales.Channel) **string { return &c.WarehouseName })},
}, nil, same[sales.Channel]}

type customerFile = OwnFile[sales.StoredCustomer, sales.StoredCustomer, sales.Customer]

// CustomerFile has customers. Those that were erased have no name.
var CustomerFile = &customerFile{"customers", []ownColumn[sales.Customer]{
	{"id", 20, required, value(identifiers, func(c *sales.Customer) *string { return &c.ID })},
	{"name", 30, 0, pointer(texts, func(c *sales.Customer) **string { return &c.Name })},
	{"email", 34, 0, pointer(texts, func(c *sales.Customer) **string { return &c.Email })},
	{"country", 0, listed | given | unread, field[sales.Customer]{}},
	{"erased_at", 0, archived, pointer(pastTimes, func(c *sales.Customer) **time.Time { return &c.ErasedAt })},
}, customerRow, customerRow}

func customerRow(c *sales.StoredCustomer) sales.Customer {
	return sales.Customer{ID: c.ID, Name: c.Name, Email: c.Email, ErasedAt: c.ErasedAt}
}

type soldFile = OwnFile[sales.SoldProduct, sales.SoldProduct, sales.SoldProduct]

// SoldFile has the products of an archive as they were sold.
var SoldFile = &soldFile{"sold_products", []ownColumn[sales.SoldProduct]{
	{"id", 0, 0, value(ids, func(p *sales.SoldProduct) *int64 { return &p.ID })},
	{"product", 0, 0, pointer(ids, func(p *sales.SoldProduct) **int64 { return &p.ProductID })},
	{"sku", 0, 0, value(texts, func(p *sales.SoldProduct) *string { return &p.SKU })},
	{"name", 0, 0, value(labels, func(p *sales.SoldProduct) *string { return &p.Name })},
	{"category", 0, 0, pointer(ids, func(p *sales.SoldProduct) **int64 { return &p.CategoryID })},
	{"category_name", 0, 0, pointer(labels, func(p *sales.SoldProduct) **string { return &p.CategoryName })},
	{"seller", 0, 0, pointer(ids, func(p *sales.SoldProduct) **int64 { return &p.SellerID })},
	{"seller_name", 0, 0, pointer(labels, func(p *sales.SoldProduct) **string { return &p.SellerName })},
}, nil, same[sales.SoldProduct]}

// OrderRow is a row of orders.
type OrderRow struct {
	sales.Order
	CustomerID  *string
	CancelledAt *time.Time
	stored      *sales.StoredOrder // of a list
}

// OrderFile has orders.
var OrderFile = &OwnFile[sales.StoredOrder, sales.OrderFact, OrderRow]{"orders", []ownColumn[OrderRow]{
	{"number", 20, required, value(identifiers, func(o *OrderRow) *string { return &o.Number })},
	{"placed_at", 20, required, value(times, func(o *OrderRow) *time.Time { return &o.PlacedAt })},
	{"channel", 16, required, value(identifiers, func(o *OrderRow) *string { return &o.Channel })},
	{"customer", 20, 0, pointer(texts, func(o *OrderRow) **string { return &o.CustomerID })},
	{"discount_total", 16, 0, pointer(amounts, func(o *OrderRow) **money.Cents { return &o.DiscountTotal })},
	{"tax_total", 16, 0, pointer(amounts, func(o *OrderRow) **money.Cents { return &o.TaxTotal })},
	{"shipping_total", 16, 0, pointer(amounts, func(o *OrderRow) **money.Cents { return &o.ShippingTotal })},
	{"cancelled_at", 20, 0, pointer(times, func(o *OrderRow) **time.Time { return &o.CancelledAt })},
	{"content", 0, archived | required, value(digests, func(o *OrderRow) *[]byte { return &o.Content })},
	{"short", 0, archived, value(flags, func(o *OrderRow) *bool { return &o.Short })},
	{"customer_name", 30, listed | unread,
		pointer(texts, func(o *OrderRow) **string { return &o.stored.CustomerName })},
	{"customer_email", 34, listed | unread,
		pointer(texts, func(o *OrderRow) **string { return &o.stored.CustomerEmail })},
	{"units", 10, listed | unread, value(counts, func(o *OrderRow) *int64 { return &o.stored.Units })},
	{"revenue", 16, listed | unread, value(amounts, func(o *OrderRow) *money.Cents { return &o.stored.Revenue })},
	{"cost_total", 16, listed | unread, value(amounts, func(o *OrderRow) *money.Cents { return &o.stored.Cost })},
	{"refunded_total", 16, listed | unread,
		value(amounts, func(o *OrderRow) *money.Cents { return &o.stored.Refunded })},
}, listedOrder, archivedOrder}

func listedOrder(o *sales.StoredOrder) OrderRow {
	return OrderRow{sales.Order{
		Number: o.Number, PlacedAt: o.PlacedAt, Channel: o.Channel, DiscountTotal: &o.Discounts, TaxTotal: &o.Tax,
		ShippingTotal: &o.Shipping,
	}, o.CustomerNumber, o.CancelledAt, o}
}

func archivedOrder(o *sales.OrderFact) OrderRow {
	return OrderRow{Order: sales.Order{
		Number: o.Number, PlacedAt: o.PlacedAt, Channel: o.Channel, DiscountTotal: &o.Discounts, TaxTotal: &o.Tax,
		ShippingTotal: &o.Shipping, Short: o.Short, Content: o.Content,
	}, CustomerID: o.Customer, CancelledAt: o.CancelledAt}
}

// Orders returns a list of orders. Names and e-mail addresses of customers are empty unless withNames is set.
func Orders(rows Rows[sales.StoredOrder], withNames bool) Sheet {
	return OrderFile.List(func(write func(sales.StoredOrder) error) error {
		return rows(func(o sales.StoredOrder) error {
			if !withNames {
				o.CustomerName, o.CustomerEmail = nil, nil
			}
			return write(o)
		})
	})
}

// ItemRow is a row of items. SoldProduct is an id of sold_products.
type ItemRow struct {
	sales.Item
	OrderNumber              string
	SoldProduct              int64
	Taken, Returned          *int32
	Warehouse                *string
	Name                     string
	CategoryName, SellerName *string
	stored                   *sales.OrderLine // of a list
}

// ItemFile has the items of orders.
var ItemFile = &OwnFile[sales.OrderLine, sales.ItemFact, ItemRow]{"order_items", []ownColumn[ItemRow]{
	{"order_number", 20, required, value(texts, func(i *ItemRow) *string { return &i.OrderNumber })},
	{"sold_product", 0, archived, value(ids, func(i *ItemRow) *int64 { return &i.SoldProduct })},
	{"sku", 20, required, value(identifiers, func(i *ItemRow) *string { return &i.SKU })},
	{"quantity", 10, required, value(units, func(i *ItemRow) *int64 { return &i.Quantity })},
	{"unit_price", 16, required, value(amounts, func(i *ItemRow) *money.Cents { return &i.UnitPrice })},
	{"unit_cost", 16, 0, pointer(amounts, func(i *ItemRow) **money.Cents { return &i.UnitCost })},
	{"discount", 16, 0, pointer(amounts, func(i *ItemRow) **money.Cents { return &i.Discount })},
	{"stock_taken", 0, archived, pointer(numbers, func(i *ItemRow) **int32 { return &i.Taken })},
	{"stock_returned", 0, archived, pointer(numbers, func(i *ItemRow) **int32 { return &i.Returned })},
	{"warehouse_name", 0, archived, pointer(texts, func(i *ItemRow) **string { return &i.Warehouse })},
	{"name", 40, listed, value(texts, func(i *ItemRow) *string { return &i.Name })},
	{"category_name", 24, listed, pointer(texts, func(i *ItemRow) **string { return &i.CategoryName })},
	{"seller_name", 24, listed, pointer(texts, func(i *ItemRow) **string { return &i.SellerName })},
	{"tax", 16, listed | unread, value(amounts, func(i *ItemRow) *money.Cents { return &i.stored.Tax })},
	{"shipping", 16, listed | unread, value(amounts, func(i *ItemRow) *money.Cents { return &i.stored.Shipping })},
	{"revenue", 16, listed | unread, value(amounts, func(i *ItemRow) *money.Cents { return new(i.stored.Revenue()) })},
	{"refunded", 16, listed | unread, value(amounts, func(i *ItemRow) *money.Cents { return &i.stored.Refunded })},
	{"units_returned", 16, listed | unread, value(counts, func(i *ItemRow) *int64 { return &i.stored.UnitsReturned })},
}, listedItem, archivedItem}

func listedItem(l *sales.OrderLine) ItemRow {
	return ItemRow{Item: sales.Item{
		SKU: l.SKU, Quantity: int64(l.Quantity), UnitPrice: l.UnitPrice, UnitCost: l.UnitCost, Discount: &l.Discount,
	}, OrderNumber: l.OrderNumber, Name: l.Name, CategoryName: l.CategoryName, SellerName: l.SellerName, stored: l}
}

func archivedItem(i *sales.ItemFact) ItemRow {
	return ItemRow{Item: sales.Item{
		SKU: i.SKU, Quantity: int64(i.Quantity), UnitPrice: i.UnitPrice, UnitCost: i.UnitCost, Discount: &i.Discount,
	}, OrderNumber: i.OrderNumber, SoldProduct: i.SoldID, Taken: i.Taken, Returned: i.Returned, Warehouse: i.Warehouse}
}

// RefundFile has refunds. In a list, the items are those that the refund names or returns units of, in an archive all
// that it has a share of.
var RefundFile = &OwnFile[sales.OrderRefund, sales.RefundFact, sales.Refund]{"refunds", []ownColumn[sales.Refund]{
	{"order_number", 20, required, value(identifiers, func(r *sales.Refund) *string { return &r.OrderNumber })},
	{"refunded_at", 20, required, pointer(times, func(r *sales.Refund) **time.Time { return &r.RefundedAt })},
	{"amount", 16, required, value(amounts, func(r *sales.Refund) *money.Cents { return &r.Amount })},
	{"reference", 30, 0, pointer(texts, func(r *sales.Refund) **string { return &r.Reference })},
	{"content", 0, archived | required, value(digests, func(r *sales.Refund) *[]byte { return &r.Content })},
	{"tax", 16, 0, pointer(amounts, func(r *sales.Refund) **money.Cents { return &r.Tax })},
	{"shipping", 16, 0, pointer(amounts, func(r *sales.Refund) **money.Cents { return &r.Shipping })},
	{"restock", 10, 0, value(flags, func(r *sales.Refund) *bool { return &r.Restock })},
	{"named", 10, 0, value(flags, func(r *sales.Refund) *bool { return &r.Named })},
	{"items", 40, 0, value(shares, func(r *sales.Refund) *[]sales.RefundShare { return &r.Shares })},
}, listedRefund, archivedRefund}

func listedRefund(r *sales.OrderRefund) sales.Refund {
	return sales.Refund{
		OrderNumber: r.OrderNumber, RefundedAt: &r.RefundedAt, Amount: r.Amount, Reference: r.Reference, Tax: &r.Tax,
		Shipping: &r.Shipping, Restock: r.Restock, Named: r.Named, Shares: r.Shares(),
	}
}

func archivedRefund(r *sales.RefundFact) sales.Refund {
	row := listedRefund(&r.OrderRefund)
	row.Content = r.Content
	return row
}
