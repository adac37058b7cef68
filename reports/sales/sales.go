// Package sales takes in what was sold: orders, refunds and cancellations. It
// keeps them as facts that never change, and the sums that reports read.
//
// An order counts once, by its number. Its discounts and tax are spread over its
// items when it comes in, a refund likewise, each by value with the largest
// remainder, so that the cents of the lines always add up to the whole. Items
// keep what they were called, who sold them and what they cost at that moment:
// nothing that happens to the catalog later changes a report.
//
// Each write adds its part to the rollups in its own transaction, last and in
// the order of their keys: locks are short, and two senders never wait for each
// other in a circle. Verify computes every sum anew from the facts and tells
// what differs; Repair puts that right while orders come in.
package sales

import (
	"errors"
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// ErrInUse says that a channel has orders, or is the one that every tenant has.
var ErrInUse = errors.New("in use")

// PointOfSale is the channel that every tenant has.
const PointOfSale = "pos"

// Store is the sales of all tenants. It is safe for concurrent use.
type Store struct{ db *tenancy.DB }

// New returns the sales in db.
func New(db *tenancy.DB) *Store { return &Store{db} }

// MaxItems is how many items an order may have.
const MaxItems = 5000

// Order is an order as its sender has it. Two are the same when they say the
// same, before any default.
type Order struct {
	Number        string
	PlacedAt      time.Time
	Channel       string
	Customer      *Customer    // nil is a guest
	DiscountTotal *money.Cents // the discounts of the items included; nil is their sum
	TaxTotal      *money.Cents
	Items         []Item
}

// Customer is a person as the sender knows them.
type Customer struct {
	ID    string // the sender's own
	Name  *string
	Email *string
}

// Item is one line of an order.
type Item struct {
	SKU       string
	Quantity  int64
	UnitPrice money.Cents
	UnitCost  *money.Cents // nil takes the product's cost of this moment
	Discount  *money.Cents // off the whole line
}

// Outcome is what became of one row of a batch.
type Outcome string

// The outcomes. Unchanged is what was there already, with the same content.
const (
	Created   Outcome = "created"
	Unchanged Outcome = "unchanged"
	Failed    Outcome = "failed"
)

// Row is one order of a batch. Faults are those that the caller found while it
// read the row; a field that has one is not looked at again.
type Row struct {
	Order
	Invalid tenancy.InvalidError
}

// Result is what became of a Row, in its place. Err is an InvalidError where
// Outcome is Failed.
type Result struct {
	Number  string
	ID      int64
	Outcome Outcome
	Err     error
}

// Refund is money given back for an order.
type Refund struct {
	OrderNumber string
	Amount      money.Cents
	RefundedAt  *time.Time // nil is now
	Reference   *string    // the sender's own, unique in its order
}

// RefundRow is one refund of a batch, like Row.
type RefundRow struct {
	Refund
	Invalid tenancy.InvalidError
}

// RefundResult is what became of a RefundRow, in its place. Err is an
// InvalidError, or tenancy.ErrNotFound where there is no such order.
type RefundResult struct {
	ID          int64
	Outcome     Outcome
	ExceedsPaid bool // the order's refunds are now more than its revenue and tax
	Err         error
}

// StoredOrder is an order as it is stored.
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
	Cost             money.Cents
	Refunded         money.Cents
	CancelledAt      *time.Time
	CreatedAt        time.Time
	Lines            []Line         `db:"-"` // of one sale, not of a list
	Refunds          []StoredRefund `db:"-"` // likewise
}

// Line is an item as it was sold.
type Line struct {
	Line         int32
	SKU          string
	Name         string // the SKU where the catalog did not know it
	ProductID    *int64
	CategoryID   *int64
	CategoryName *string
	SellerID     *int64
	SellerName   *string
	Quantity     int32
	UnitPrice    money.Cents
	UnitCost     *money.Cents
	Discount     money.Cents // its own and its share of the order's
	Tax          money.Cents
	Refunded     money.Cents
}

// StoredRefund is a refund as it is stored.
type StoredRefund struct {
	ID         int64
	Amount     money.Cents
	RefundedAt time.Time
	Reference  *string
	CreatedAt  time.Time
}

// Filter says which sales List returns. The zero value of a field does not filter.
type Filter struct {
	Channel  string
	Customer string // the sender's id
	Status   string // placed or cancelled
	From     time.Time
	Before   time.Time
	Order    paging.Order
	Page     paging.Page
}

// Channel is where sales come from.
type Channel struct {
	Identifier string
	Label      string
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// Count is what became of the rows of an Ensure.
type Count struct{ Created, Updated, Unchanged int }
