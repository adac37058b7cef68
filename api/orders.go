package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/money"
)

// orderJSON has the fields that lists and single orders share.
type orderJSON struct {
	ID               int64         `json:"id"`
	Number           string        `json:"number"`
	Status           string        `json:"status"`
	PlacedAt         timestamp     `json:"placed_at"`
	CancelledAt      *timestamp    `json:"cancelled_at"`
	Channel          string        `json:"channel"`
	Customer         *customerJSON `json:"customer"` // null is a guest
	Revenue          money.Cents   `json:"revenue"`
	DiscountTotal    money.Cents   `json:"discount_total"`
	TaxTotal         money.Cents   `json:"tax_total"`
	ShippingTotal    money.Cents   `json:"shipping_total"`
	CostTotal        money.Cents   `json:"cost_total"`
	RefundedTotal    money.Cents   `json:"refunded_total"`
	Units            int64         `json:"units"`
	UnitsWithoutCost int64         `json:"units_without_cost"`
	Short            bool          `json:"short"`
	CreatedAt        timestamp     `json:"created_at"`
	UpdatedAt        timestamp     `json:"updated_at"`
}

// listedOrderJSON is an order in a list.
type listedOrderJSON struct {
	orderJSON
	ItemCount int32 `json:"item_count"`
}

// wholeOrderJSON is a single order with its items and refunds.
type wholeOrderJSON struct {
	orderJSON
	Items   []itemJSON   `json:"items"`
	Refunds []refundJSON `json:"refunds"`
}

// customerJSON is a customer. The id is the sender's. Name and e-mail are null if the key may not read
// customers.
type customerJSON struct {
	ID    string  `json:"id"`
	Name  *string `json:"name"`
	Email *string `json:"email"`
}

// itemJSON is an item of an order, with the values at the time of sale.
type itemJSON struct {
	Line      int32        `json:"line"`
	SKU       string       `json:"sku"`
	Name      string       `json:"name"`
	ProductID *int64       `json:"product_id"`
	Category  *named       `json:"category"`
	Seller    *named       `json:"seller"`
	Quantity  int32        `json:"quantity"`
	UnitPrice money.Cents  `json:"unit_price"`
	UnitCost  *money.Cents `json:"unit_cost"`
	Discount  money.Cents  `json:"discount"`
	Tax       money.Cents  `json:"tax"`
	Shipping  money.Cents  `json:"shipping"`
	Revenue   money.Cents  `json:"revenue"`
	Refunded  money.Cents  `json:"refunded"`

	StockTaken    int32 `json:"stock_taken"`
	StockReturned int32 `json:"stock_returned"`
	UnitsReturned int64 `json:"units_returned"`
}

// refundJSON is a refund inside its order.
type refundJSON struct {
	ID         int64       `json:"id"`
	Amount     money.Cents `json:"amount"`
	RefundedAt timestamp   `json:"refunded_at"`
	Reference  *string     `json:"reference"`
	CreatedAt  timestamp   `json:"created_at"`

	Tax           money.Cents      `json:"tax"`
	Shipping      money.Cents      `json:"shipping"`
	Restock       bool             `json:"restock"`
	UnitsReturned int64            `json:"units_returned"`
	Items         []refundItemJSON `json:"items"`
}

// refundItemJSON is a line that a refund names or returns units of. The amount is null if the refund names no items.
type refundItemJSON struct {
	Line     int32        `json:"line"`
	Quantity *int32       `json:"quantity"`
	Amount   *money.Cents `json:"amount"`
}

// orderShape hides the name and e-mail of the customer unless withNames is set.
func orderShape(o sales.StoredOrder, withNames bool) orderJSON {
	shown := orderJSON{
		ID:               o.ID,
		Number:           o.Number,
		Status:           "placed",
		PlacedAt:         timestamp(o.PlacedAt),
		CancelledAt:      (*timestamp)(o.CancelledAt),
		Channel:          o.Channel,
		Revenue:          o.Revenue,
		DiscountTotal:    o.Discounts,
		TaxTotal:         o.Tax,
		ShippingTotal:    o.Shipping,
		CostTotal:        o.Cost,
		RefundedTotal:    o.Refunded,
		Units:            o.Units,
		UnitsWithoutCost: o.UnitsWithoutCost,
		Short:            o.Short,
		CreatedAt:        timestamp(o.CreatedAt),
		UpdatedAt:        timestamp(o.UpdatedAt),
	}
	if o.CancelledAt != nil {
		shown.Status = "cancelled"
	}
	if o.CustomerNumber != nil {
		shown.Customer = &customerJSON{ID: *o.CustomerNumber}
		if withNames {
			shown.Customer.Name, shown.Customer.Email = o.CustomerName, o.CustomerEmail
		}
	}
	return shown
}

func itemShape(l sales.Line) itemJSON {
	return itemJSON{
		Line: l.Line, SKU: l.SKU, Name: l.Name, ProductID: l.ProductID,
		Category: optionalNamed(l.CategoryID, l.CategoryName), Seller: optionalNamed(l.SellerID, l.SellerName),
		Quantity: l.Quantity, UnitPrice: l.UnitPrice, UnitCost: l.UnitCost,
		Discount: l.Discount, Tax: l.Tax, Shipping: l.Shipping, Revenue: l.Revenue(), Refunded: l.Refunded,
		StockTaken: l.Taken, StockReturned: l.Returned, UnitsReturned: l.UnitsReturned,
	}
}

func refundShape(g sales.StoredRefund) refundJSON {
	items := []refundItemJSON{}
	for _, share := range g.Shares() {
		item := refundItemJSON{Line: share.Line}
		if share.Units > 0 {
			item.Quantity = &share.Units
		}
		if g.Named {
			item.Amount = &share.Amount
		}
		items = append(items, item)
	}
	return refundJSON{
		g.ID, g.Amount, timestamp(g.RefundedAt), g.Reference, timestamp(g.CreatedAt),
		g.Tax, g.Shipping, g.Restock, g.UnitsReturned(), items,
	}
}

func writeOrder(w http.ResponseWriter, r *http.Request, status int, o sales.StoredOrder) error {
	return writeData(w, status, wholeOrderShape(o, canReadCustomers(r)))
}

func wholeOrderShape(o sales.StoredOrder, withNames bool) wholeOrderJSON {
	return wholeOrderJSON{orderShape(o, withNames), mapSlice(o.Lines, itemShape), mapSlice(o.Refunds, refundShape)}
}

// listedOrderShape returns a function, so that the permission is looked up once.
func listedOrderShape(r *http.Request) func(sales.StoredOrder) listedOrderJSON {
	withNames := canReadCustomers(r)
	return func(o sales.StoredOrder) listedOrderJSON {
		return listedOrderJSON{orderShape(o, withNames), o.ItemCount}
	}
}

// listOrders handles GET /api/orders.
func (s *Server) listOrders(w http.ResponseWriter, r *http.Request) error {
	q := readQuery(r)
	f, err := q.orders(r)
	if err != nil {
		return err
	}
	f.Page, f.Keyset, f.After = q.pageOrCursor(r, f.ParseCursor)
	if err := q.err(); err != nil {
		return err
	}
	orders, err := s.sales(r).List(r.Context(), tenant(r), f)
	if err != nil {
		return err
	}
	shape := listedOrderShape(r)
	if !f.Keyset {
		return writePage(w, r, f.Page, orders.List, shape)
	}
	return writeStep(w, r, f.Page, orders.List, orders.Next, f.Cursor, shape)
}

// orders takes the parameters that filter and sort orders. Days are in the tenant's time zone. Only a key that may read
// customers finds orders by a customer's name or e-mail address.
func (q *query) orders(r *http.Request) (f sales.Filter, err error) {
	f = sales.Filter{
		Channel: q.channel(), Customer: q.nonEmpty("customer_id"), Status: q.oneOf("status", "placed", "cancelled"),
		UpdatedSince: q.time("updated_since"), Search: q.search(), SearchCustomers: canReadCustomers(r),
		Order: q.order(sales.SortColumns),
	}
	f.From, f.Before, err = q.days(r)
	return f, err
}

// showOrder handles GET /api/orders/{number}.
func (s *Server) showOrder(w http.ResponseWriter, r *http.Request, number string) error {
	o, err := s.sales(r).Order(r.Context(), tenant(r), number)
	if err != nil {
		return err
	}
	return writeOrder(w, r, http.StatusOK, o)
}

// createOrder handles POST /api/orders. A resent order is a 200.
func (s *Server) createOrder(w http.ResponseWriter, r *http.Request) error {
	body, err := readBody(r)
	if err != nil {
		return err
	}
	o, created, err := s.sales(r).WithStock(actor(r)).Create(r.Context(), tenant(r), body.order())
	if err != nil {
		return err
	}
	if !created {
		return writeOrder(w, r, http.StatusOK, o)
	}
	countRows(r, "order", 1)
	countRows(r, "item", len(o.Lines))
	w.Header().Set("Location", orderPath(o.Number))
	return writeOrder(w, r, http.StatusCreated, o)
}

// orderPath returns the path of an order. That of the order "export" differs from the path of the export.
func orderPath(number string) string {
	if number == "export" {
		number = "%65xport"
	} else {
		number = url.PathEscape(number)
	}
	return "/api/orders/" + number
}

// order takes the fields of an order.
func (o *object) order() sales.Row {
	sent := sales.Order{
		Number:        required(o, "number", parseLine),
		PlacedAt:      required(o, "placed_at", parseTime),
		Channel:       required(o, "channel", parseLine),
		Customer:      o.customer(),
		DiscountTotal: optional(o, "discount_total", parseMoney),
		TaxTotal:      optional(o, "tax_total", parseMoney),
		ShippingTotal: optional(o, "shipping_total", parseMoney),
		Items:         o.items(),
	}
	take := notNull(o, "take_stock", parseBool)
	o.rejectUnknown()
	return sales.Row{Order: sent, KeepStock: take != nil && !*take, Invalid: o.errs}
}

// customer takes the customer; nil means a guest.
func (o *object) customer() *sales.Customer {
	raw, set, null := o.take("customer")
	if !set || null {
		return nil
	}
	body, err := o.nested("customer", raw)
	if err != nil {
		o.addError("customer", err.Error())
		return nil
	}
	customer := sales.Customer{
		ID:    required(body, "id", parseCustomerID),
		Name:  optional(body, "name", parseLine),
		Email: optional(body, "email", parseLine),
	}
	body.rejectUnknown()
	return &customer
}

// parseCustomerID also accepts an integer, because many shops number their customers.
func parseCustomerID(raw json.RawMessage) (string, error) {
	if raw[0] == '"' {
		return parseLine(raw)
	}
	n, err := parseInteger(raw)
	if err != nil {
		return "", errors.New("must be a string or an integer")
	}
	return strconv.FormatInt(n, 10), nil
}

// items takes the items of an order.
func (o *object) items() []sales.Item {
	elements := required(o, "items", func(raw json.RawMessage) ([]json.RawMessage, error) {
		return splitArray(raw, sales.MaxItems, "an array of objects")
	})
	items := make([]sales.Item, len(elements))
	err := o.eachElement("items", elements, func(i int, path string) { items[i] = o.item(path, elements[i]) })
	if err != nil {
		o.addError("items", err.Error())
		return nil
	}
	return items
}

// item reads one item. A value that is not an object returns a valid item, so that its only
// validation error is that it is not an object.
func (o *object) item(path string, raw json.RawMessage) sales.Item {
	body, err := o.nested(path, raw)
	if err != nil {
		o.addError(path, err.Error())
		return sales.Item{SKU: "invalid", Quantity: 1}
	}
	item := sales.Item{
		SKU:       required(body, "sku", parseLine),
		Quantity:  required(body, "quantity", parseInteger),
		UnitPrice: required(body, "unit_price", parseMoney),
		UnitCost:  optional(body, "unit_cost", parseMoney),
		Discount:  optional(body, "discount", parseMoney),
	}
	body.rejectUnknown()
	return item
}

// cancelOrder handles POST /api/orders/{number}/cancel, whose body may be empty.
func (s *Server) cancelOrder(w http.ResponseWriter, r *http.Request, number string) error {
	body, err := readOptionalBody(r)
	if err != nil {
		return err
	}
	at := optional(body, "cancelled_at", parseTime)
	body.rejectUnknown()
	if err := body.errs.Err(); err != nil {
		return err
	}
	o, err := s.sales(r).WithStock(actor(r)).Cancel(r.Context(), tenant(r), number, at)
	if err != nil {
		return err
	}
	return writeOrder(w, r, http.StatusOK, o)
}
