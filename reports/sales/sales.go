// Package sales stores orders, refunds and cancellations, and maintains the rollups
// that reports read.
//
// Orders, items, refunds and cancellations are facts: they are inserted once and never change. When they are stored,
// discounts and tax of an order and refunds are spread over its items by value, with money.Allocate, so that the cents
// of the lines add up to the whole. Items keep the name, category, seller and cost of that moment, so changes of the
// catalog do not change reports.
//
// An order can take its items from stock, and a cancellation or a refund can return them, in the same transaction (see
// WithStock). Imports change no stock. taken_stock has what each item took, so that refunds and a cancellation never
// return more.
//
// Each transaction adds its part to the rollups in its last statement, sorted by key:
// the locks are short and two transactions cannot deadlock. Verify recomputes every
// sum from the facts and reports differences. Repair corrects them while orders are
// being stored.
//
// Which statement reads which source:
//
//	List, page          orders by the index of the sort column, then customers, refunds, cancellations by key
//	List, total         sales_rollups by day and cancellations; orders if more than channel and status are given
//	List, matches       orders by created_at, number or customer, or in the order of the list (see matches.go)
//	Order               orders, order_items, sold_products, taken_stock, refunds and refund_items of one number
//	Ingest, Refund      orders by number, sold_products by SKU, customers and channels by key
//	Verify, Repair      all facts of a month, and sales_rollups
package sales

import (
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/money"
)

// PointOfSale is the built-in channel of every tenant.
const PointOfSale = "pos"

// Store reads and writes the sales of all tenants. It is safe for concurrent use.
type Store struct {
	db *db.DB
	by *catalog.Actor // see WithStock; nil does not change stock

	hidden Hidden // see Hiding
}

// New returns a store that works on d.
func New(d *db.DB) *Store { return &Store{db: d} }

// MaxItems is the maximum number of items of an order.
const MaxItems = 5000

// Order is an order as it is sent. Two orders have the same content if all fields are
// equal before defaults apply.
type Order struct {
	Number        string
	PlacedAt      time.Time
	Channel       string
	Customer      *Customer    // nil is a guest
	DiscountTotal *money.Cents // includes the discounts of the items; nil is their sum
	TaxTotal      *money.Cents
	ShippingTotal *money.Cents
	Items         []Item
	Short         bool   `json:",omitempty"` // of an archive
	Content       []byte `json:",omitempty"` // the digest in an archive; nil is the digest of these fields
}

// Customer is a customer as the sender identifies it.
type Customer struct {
	ID       string // the sender's id
	Name     *string
	Email    *string
	ErasedAt *time.Time `json:",omitempty"` // in an archive
}

// Item is one line of an order.
type Item struct {
	SKU       string
	Quantity  int64
	UnitPrice money.Cents
	UnitCost  *money.Cents // nil takes the current cost of the product
	Discount  *money.Cents // of the whole line
	Sold      *Sold        `json:",omitempty"` // of an archive; nil is the current product, with its cost
	Stock     *SoldStock   `json:",omitempty"` // of an archive
	As        *SoldAs      `json:",omitempty"` // of an export; nil is the current product, with its cost
}

// SoldStock is what an item of an archive took from stock and returned. Storing the item changes no stock.
type SoldStock struct {
	Taken, Returned int32
	Warehouse       string // the name, or "" if it was deleted
}

// Sold is the product of an item of an archive: a row of sold_products, which an Ingest inserts if its ID does not
// exist. ID comes from NewSoldIDs. The other ids are 0 for none.
type Sold struct {
	ID                        int64
	Product, Category, Seller int64
	Name                      string
	CategoryName, SellerName  string
}

// SoldAs are the names of the product of an item of an export. Without a name, they are those of the current product. A
// category and a seller are found by their names. The cost of such an item is that of the item, or not known.
type SoldAs struct{ Name, CategoryName, SellerName string }

// Outcome is the result of storing one row.
type Outcome string

// The outcomes. Unchanged means that the row already exists with the same content.
const (
	Created   Outcome = "created"
	Unchanged Outcome = "unchanged"
	Failed    Outcome = "failed"
)

// Row is one order of an Ingest. Invalid holds the validation errors that the caller
// found; their fields are not checked again.
type Row struct {
	Order
	KeepStock   bool // take nothing from stock
	Invalid     tenancy.InvalidError
	MoreInvalid bool // Invalid lacks some errors
}

// Result is the outcome of a Row, a RefundRow or a CancelRow. If Outcome is Failed, Err is an InvalidError, the
// StockError of a Row, or tenancy.ErrNotFound if the order of the others does not exist.
type Result struct {
	Number      string // of a Row
	ID          int64  // of the order or the refund
	Outcome     Outcome
	Short       bool // the order was created and took less from stock than it has items
	ExceedsPaid bool // the order's refunds are now more than its revenue, tax and shipping
	Err         error
}

// CreatedIDs returns the ids of rows that were created.
func CreatedIDs(results []Result) (ids []int64) {
	for _, r := range results {
		if r.Outcome == Created {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// Refund is money that is returned for an order.
type Refund struct {
	OrderNumber string
	Amount      money.Cents
	RefundedAt  *time.Time // nil is now
	Reference   *string    // the sender's id, unique per order
	// Tax and Shipping are parts of Amount: both or none. Without them it is divided in proportion to the order's.
	Tax      *money.Cents `json:",omitempty"`
	Shipping *money.Cents `json:",omitempty"`
	Items    []RefundItem `json:",omitempty"` // that Amount is for; nil is all items
	// Restock means that the returned units are for sale again: all that were not returned yet, RestockItems, or the
	// quantities of Items. With WithStock they return to stock, as far as the order took them from there.
	Restock      bool          `json:",omitempty"`
	RestockItems []RestockItem `json:",omitempty"`
	// Shares are the parts of a refund of an archive by line, and Named is whether it had Items.
	Shares []RefundShare `json:",omitempty"`
	Named  bool          `json:",omitempty"`
	// Content is the digest of the refund in an archive. Such a refund without a reference already exists if the order
	// has more than Before equal ones.
	Content []byte `json:",omitempty"`
	Before  int    `json:",omitempty"`
}

// RefundItem is a line that a refund names. Either all items of a refund have an Amount or none.
type RefundItem struct {
	Line     int64
	Quantity *int64 // the units that are returned; nil is none
	Amount   *money.Cents
}

// RestockItem is a part of an item that a refund returns to stock.
type RestockItem struct{ Line, Quantity int64 }

// RefundRow is one refund of a batch. InPlan means that an earlier row of the plan creates the order. Invalid is as in
// Row.
type RefundRow struct {
	Refund
	InPlan  bool
	Invalid tenancy.InvalidError
}

// StoredOrder is a stored order.
type StoredOrder struct {
	ID               int64
	Number           string
	PlacedAt         time.Time
	Channel          string
	CustomerNumber   *string // the sender's id; nil is a guest
	CustomerName     *string
	CustomerEmail    *string
	Units            int64
	UnitsWithoutCost int64
	ItemCount        int32
	Revenue          money.Cents // after discounts, without tax
	Discounts        money.Cents
	Tax              money.Cents
	Shipping         money.Cents
	Cost             money.Cents
	Refunded         money.Cents
	Short            bool // it took less from stock than it has items
	CancelledAt      *time.Time
	CreatedAt        time.Time
	UpdatedAt        time.Time      // of the order, its last refund or its cancellation, when it was stored
	Lines            []Line         `db:"-"` // set by Order, not by List
	Refunds          []StoredRefund `db:"-"` // set by Order, not by List
	RefundedThen     money.Cents    `db:"-"` // the part of Refunded that a filter by refunds selects, set by List
}

// Line returns a line by its number. Lines must be set.
func (o StoredOrder) Line(number int32) Line {
	return o.Lines[number-1]
}

// Line is an item as it was sold.
type Line struct {
	Line         int32
	SKU          string
	Name         string // the SKU if the catalog did not have it
	ProductID    *int64
	CategoryID   *int64
	CategoryName *string
	SellerID     *int64
	SellerName   *string
	Quantity     int32
	UnitPrice    money.Cents
	UnitCost     *money.Cents
	Discount     money.Cents // including its share of the order's discount
	Tax          money.Cents
	Shipping     money.Cents
	Taken        int32       // from stock
	Returned     int32       // of Taken
	Refunded     money.Cents `db:"-"`
	// UnitsReturned is how many units refunds returned, whether or not they came from stock.
	UnitsReturned int64 `db:"-"`
}

// Revenue returns the price of the line after its discount, without tax and shipping.
func (l Line) Revenue() money.Cents { return money.Cents(l.Quantity)*l.UnitPrice - l.Discount }

// StoredRefund is a stored refund.
type StoredRefund struct {
	ID           int64
	Amount       money.Cents
	RefundedAt   time.Time
	Reference    *string
	CreatedAt    time.Time
	Tax          money.Cents // part of Amount
	Shipping     money.Cents // part of Amount
	Restock      bool        // the returned units were for sale again
	Named        bool        // the refund names the items that Amount is for
	StoredShares             // of lines that it names or returns units of
}

// StoredShares are shares of a refund, a column each.
type StoredShares struct {
	Lines    []int32
	Amounts  []money.Cents
	Revenues []money.Cents
	Units    []int32
}

// Shares returns the shares.
func (s StoredShares) Shares() []RefundShare {
	shares := make([]RefundShare, len(s.Lines))
	for i, line := range s.Lines {
		shares[i] = RefundShare{line, s.Amounts[i], s.Revenues[i], s.Units[i]}
	}
	return shares
}

// UnitsReturned returns the units of the shares.
func (s StoredShares) UnitsReturned() (units int64) {
	for _, n := range s.Units {
		units += int64(n)
	}
	return units
}

// Channel is a source of orders.
type Channel struct {
	Identifier    string
	Label         string
	TakesStock    bool    // orders take their items from stock
	WhenShort     string  // Refuse or Accept
	WarehouseID   *int64  // that orders take from; nil is the warehouse of each product
	WarehouseName *string // is not written
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// Count is the outcome of EnsureChannels or EnsureCustomers.
type Count struct{ Created, Updated, Unchanged int }
