package sales

import (
	"slices"
	"strconv"
	"time"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

// line is a row of order_items with its category and seller.
type line struct {
	OrderID    int64
	Line       int32
	PlacedAt   time.Time
	SoldID     int64
	CategoryID *int64
	SellerID   *int64
	Quantity   int64
	UnitPrice  money.Cents
	UnitCost   *money.Cents
	Discount   money.Cents
	Tax        money.Cents
	Shipping   money.Cents
}

// lines returns the items of a new order with their shares of its discounts, tax and shipping.
func (o Order) lines(orderID int64, products soldProducts) ([]line, tenancy.InvalidError) {
	lines, invalid := make([]line, len(o.Items)), tenancy.InvalidError{}
	for i, item := range o.Items {
		p, cost := item.soldProduct(products), item.UnitCost
		if cost == nil && item.As == nil {
			cost = p.Cost
		}
		if _, fits := multiply(item.Quantity, valueOr(cost, 0)); !fits {
			invalid.Add("items["+strconv.Itoa(i)+"].quantity", "times the product's cost must be at most %s", money.Max)
		}
		lines[i] = line{
			OrderID: orderID, Line: int32(i + 1), PlacedAt: o.PlacedAt,
			SoldID: *p.SoldID, CategoryID: p.CategoryID, SellerID: p.SellerID,
			Quantity: item.Quantity, UnitPrice: item.UnitPrice, UnitCost: cost, Discount: valueOr(item.Discount, 0),
		}
	}
	ofItems := o.itemDiscounts()
	for i, share := range spread(valueOr(o.DiscountTotal, ofItems)-ofItems, lines) {
		lines[i].Discount += share
	}
	for i, share := range spread(valueOr(o.TaxTotal, 0), lines) {
		lines[i].Tax = share
	}
	for i, share := range spread(valueOr(o.ShippingTotal, 0), lines) {
		lines[i].Shipping = share
	}
	return lines, invalid
}

// spread divides an amount over lines by their net values, or by their quantities if
// all net values are zero.
func spread(amount money.Cents, lines []line) []money.Cents {
	nets := column(lines, line.net)
	if !slices.ContainsFunc(nets, func(net money.Cents) bool { return net > 0 }) {
		return money.Allocate(amount, column(lines, func(l line) int64 { return l.Quantity }))
	}
	return money.Allocate(amount, nets)
}

// net returns the revenue of the line.
func (l line) net() money.Cents { return money.Cents(l.Quantity)*l.UnitPrice - l.Discount }

// sold returns the sums that the line adds to the rollups of its order.
func (l line) sold() lineSums {
	s := sums.Sums{
		Items: 1, Units: l.Quantity, Revenue: l.net(), Discounts: l.Discount, Tax: l.Tax,
		Shipping: l.Shipping, Cost: money.Cents(l.Quantity) * valueOr(l.UnitCost, 0),
	}
	if l.UnitCost == nil {
		s.UnitsWithoutCost, s.RevenueWithoutCost = l.Quantity, l.net()
	}
	return l.with(s)
}

// refunded returns the sums that the line adds to the rollups of a refund.
func (l line) refunded(share RefundShare, restock bool) lineSums {
	s := sums.Sums{Refunds: share.Amount, RefundedRevenue: share.Revenue, UnitsReturned: int64(share.Units)}
	if l.UnitCost == nil {
		s.RefundedRevenueWithoutCost = share.Revenue
	} else if restock {
		s.ReturnedCost = money.Cents(share.Units) * *l.UnitCost
	}
	return l.with(s)
}

func (l line) with(s sums.Sums) lineSums {
	return lineSums{l.SoldID, valueOr(l.CategoryID, 0), valueOr(l.SellerID, 0), s}
}
