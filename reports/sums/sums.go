// Package sums defines the sums that the rollups store and that every report is
// computed from.
//
// The columns are listed once, in columns. SQL lists, query arguments, scan
// destinations and arithmetic are derived from that list. Add a sum as a field of
// Sums, a line of columns and an element of fields.
package sums

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/storeroom/storeroom/tenancy/money"
)

// Sums are the sums of one group of sales. Cancelled orders are not included.
// Orders, items and their amounts belong to the day of placed_at, refunds to the
// day of refunded_at.
type Sums struct {
	Orders           int64
	Items            int64 // lines
	Units            int64 // pieces
	UnitsWithoutCost int64
	Revenue          money.Cents // quantity × unit price − discounts
	Discounts        money.Cents
	Tax              money.Cents
	Cost             money.Cents
	RefundCount      int64
	Refunds          money.Cents
	Shipping         money.Cents
	// RevenueWithoutCost is the part of Revenue of items without a known cost.
	RevenueWithoutCost money.Cents
	// RefundedRevenue is the part of Refunds that is revenue, and not tax or shipping.
	RefundedRevenue            money.Cents
	RefundedRevenueWithoutCost money.Cents // of items without a known cost
	UnitsReturned              int64
	ReturnedCost               money.Cents // of units that were for sale again
}

// Column is a sum as a column of sales_rollups.
type Column struct {
	Name  string
	Money bool // in cents
}

var columns = [...]Column{
	{"orders", false},
	{"items", false},
	{"units", false},
	{"units_without_cost", false},
	{"revenue", true},
	{"discounts", true},
	{"tax", true},
	{"cost", true},
	{"refund_count", false},
	{"refunds", true},
	{"shipping", true},
	{"revenue_without_cost", true},
	{"refunded_revenue", true},
	{"refunded_revenue_without_cost", true},
	{"units_returned", false},
	{"returned_cost", true},
}

// guestColumns is how many columns the sums of guests in packed_customers have: those before the sums of returns, which
// the report by customer does not show.
const guestColumns = 12

// fields returns the fields in the order of columns. It is an array without functions
// because Add runs several times for each item of an order.
func (s *Sums) fields() [len(columns)]*int64 {
	return [...]*int64{
		&s.Orders, &s.Items, &s.Units, &s.UnitsWithoutCost,
		(*int64)(&s.Revenue), (*int64)(&s.Discounts), (*int64)(&s.Tax), (*int64)(&s.Cost),
		&s.RefundCount, (*int64)(&s.Refunds), (*int64)(&s.Shipping), (*int64)(&s.RevenueWithoutCost),
		(*int64)(&s.RefundedRevenue), (*int64)(&s.RefundedRevenueWithoutCost), &s.UnitsReturned, (*int64)(&s.ReturnedCost),
	}
}

// Columns returns the columns in their fixed order.
func Columns() []Column { return columns[:] }

// Select returns the columns with these names, in the order of names.
func Select(names ...string) []Column {
	selected := make([]Column, len(names))
	for i, name := range names {
		selected[i] = columns[slices.IndexFunc(columns[:], func(c Column) bool { return c.Name == name })]
	}
	return selected
}

// List names the columns in SQL: orders, items, …
var List = Expand(`{}`)

// Totals adds up each column of a relation in SQL, under the column's name.
var Totals = Expand(`add_up({}) as {}`)

// Expand repeats an SQL expression for each column, with the name of the column
// for {}: Expand("t.{} - s.{}") is "t.orders - s.orders, t.items - s.items, …".
func Expand(sql string) string {
	expressions := make([]string, len(columns))
	for i, c := range columns {
		expressions[i] = strings.ReplaceAll(sql, "{}", c.Name)
	}
	return strings.Join(expressions, ", ")
}

// Parameters returns the SQL parameters for Arrays; the first is number first.
func Parameters(first int) string {
	parameters := make([]string, len(columns))
	for i := range columns {
		parameters[i] = "$" + strconv.Itoa(first+i) + "::bigint[]"
	}
	return strings.Join(parameters, ", ")
}

// Arrays returns an []int64 for each column, as arguments of unnest.
func Arrays(rows []Sums) []any {
	arrays := make([]any, len(columns))
	for i := range columns {
		array := make([]int64, len(rows))
		for j := range rows {
			array[j] = *rows[j].fields()[i]
		}
		arrays[i] = array
	}
	return arrays
}

// Destinations returns the fields in the order of List, for Scan.
func (s *Sums) Destinations() []any {
	destinations := make([]any, len(columns))
	for i, field := range s.fields() {
		destinations[i] = field
	}
	return destinations
}

// UnpackGuests returns the sums of guests in packed_customers, which are packed as 8 bytes each, in the order of List. It
// returns false if their number is another one.
func UnpackGuests(packed []byte) (s Sums, ok bool) {
	if len(packed) != 8*guestColumns {
		return s, false
	}
	fields := s.fields()
	for i, field := range fields[:guestColumns] {
		*field = int64(binary.BigEndian.Uint64(packed[8*i:]))
	}
	return s, true
}

// Add adds the sums of another group. It panics if a sum needs more than 64 bits:
// an error is better than a wrong figure. PostgreSQL does the same.
func (s *Sums) Add(o Sums) {
	added := o.fields()
	for i, field := range s.fields() {
		sum := *field + *added[i]
		if (sum < *field) != (*added[i] < 0) {
			panic("sums: " + columns[i].Name + " needs more than 64 bits")
		}
		*field = sum
	}
}

// Sub subtracts the sums of another group. It panics like Add.
func (s *Sums) Sub(o Sums) {
	subtracted := o.fields()
	for i, field := range s.fields() {
		difference := *field - *subtracted[i]
		if (difference > *field) != (*subtracted[i] < 0) {
			panic("sums: " + columns[i].Name + " needs more than 64 bits")
		}
		*field = difference
	}
}

// Empty reports whether the group has no orders, items and refunds.
func (s Sums) Empty() bool { return s.Orders == 0 && s.Items == 0 && s.RefundCount == 0 }

// Gross returns the value of the items before discounts.
func (s Sums) Gross() money.Cents { return s.Revenue + s.Discounts }

// CostedRevenue returns the revenue of the items with a known cost.
func (s Sums) CostedRevenue() money.Cents { return s.Revenue - s.RevenueWithoutCost }

// GrossProfit returns the revenue of the items with a known cost, less their cost.
func (s Sums) GrossProfit() money.Cents { return s.CostedRevenue() - s.Cost }

// NoneCosted reports whether items were sold and none of them has a known cost.
func (s Sums) NoneCosted() bool { return s.Units > 0 && s.UnitsWithoutCost == s.Units }

// NetRevenue returns revenue less refunds.
func (s Sums) NetRevenue() money.Cents { return s.Revenue - s.Refunds }

// CostedNetRevenue returns the revenue of the items with a known cost, less what of it was refunded.
func (s Sums) CostedNetRevenue() money.Cents {
	return s.CostedRevenue() - (s.RefundedRevenue - s.RefundedRevenueWithoutCost)
}

// NetGrossProfit returns CostedNetRevenue less the cost of the units that were not returned.
func (s Sums) NetGrossProfit() money.Cents { return s.CostedNetRevenue() - s.Cost + s.ReturnedCost }

// NetNoneCosted reports whether items were sold or refunded and none of them is known to have a cost. Units that returned
// without money and without a cost do not count: their items can have a cost, and their profit is zero.
func (s Sums) NetNoneCosted() bool {
	return s.UnitsWithoutCost == s.Units && s.RefundedRevenueWithoutCost == s.RefundedRevenue && s.ReturnedCost == 0 &&
		s.Units+int64(s.RefundedRevenue) > 0
}

// WithoutReturns returns the sums without those of returns.
func (s Sums) WithoutReturns() Sums {
	s.RefundedRevenue, s.RefundedRevenueWithoutCost, s.UnitsReturned, s.ReturnedCost = 0, 0, 0, 0
	return s
}

// Returned reports whether a refund returned money or units of the group.
func (s Sums) Returned() bool {
	return s.Refunds != 0 || s.RefundedRevenue != 0 || s.UnitsReturned != 0
}
