package imports

import (
	"context"
	"slices"
	"time"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/changeplan"
)

// An export has what is stored, and not what was sent: the discount of an order is part of those of its items, and a
// refund may have no reference. So the rows of our own files are compared with what is stored.

// stored returns the orders of rows of our own files, by number.
func (k facts) stored(ctx context.Context, p *part) (map[string]sales.StoredOrder, error) {
	var numbers []string
	for _, row := range p.rows {
		if row.AsStored && len(row.Invalid) == 0 {
			number, _ := row.content()
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	orders := map[string]sales.StoredOrder{}
	if len(numbers) == 0 {
		return orders, nil
	}
	return orders, k.sales.OrdersByNumber(ctx, p.tenant, slices.Compact(numbers), func(o sales.StoredOrder) error {
		orders[o.Number] = o
		return nil
	})
}

// withoutStored returns the orders that are not stored exactly as in the file, and sets the others.
func (k orders) withoutStored(ctx context.Context, p *part) ([]*Record, error) {
	orders, err := k.stored(ctx, p)
	return slices.DeleteFunc(slices.Clone(p.rows), func(row *Record) bool {
		o, exists := orders[row.Order.Number]
		if !exists || !row.AsStored || len(row.Invalid) > 0 || !isStored(*row.Order, o) {
			return false
		}
		row.Action = changeplan.Unchanged
		row.Sums = &sales.PlannedOrder{Revenue: o.Revenue, Discounts: o.Discounts, Tax: o.Tax, Shipping: o.Shipping}
		return true
	}), err
}

// isStored reports whether an order of an export is stored exactly so.
func isStored(o sales.Order, stored sales.StoredOrder) bool {
	customer := ""
	if o.Customer != nil {
		customer = o.Customer.ID
	}
	if !o.PlacedAt.Truncate(time.Microsecond).Equal(stored.PlacedAt) || o.Channel != stored.Channel ||
		customer != orZero(stored.CustomerNumber) || orZero(o.TaxTotal) != stored.Tax ||
		orZero(o.ShippingTotal) != stored.Shipping || o.DiscountTotal != nil && *o.DiscountTotal != stored.Discounts {
		return false
	}
	return slices.EqualFunc(o.Items, stored.Lines, func(i sales.Item, l sales.Line) bool {
		return i.SKU == l.SKU && i.Quantity == int64(l.Quantity) && i.UnitPrice == l.UnitPrice &&
			orZero(i.Discount) == l.Discount && (i.UnitCost == nil) == (l.UnitCost == nil) &&
			orZero(i.UnitCost) == orZero(l.UnitCost)
	})
}

// withoutStored returns the refunds that are not stored, and sets the others.
func (k refunds) withoutStored(ctx context.Context, p *part) ([]*Record, error) {
	orders, err := k.stored(ctx, p)
	return slices.DeleteFunc(slices.Clone(p.rows), func(row *Record) bool {
		o, exists := orders[row.Refund.OrderNumber]
		if !exists || !row.AsStored || len(row.Invalid) > 0 || !isRefunded(row, o.Refunds) {
			return false
		}
		row.Action, row.Exceeds = changeplan.Unchanged, o.Refunded > o.Revenue+o.Tax+o.Shipping
		return true
	}), err
}

// isRefunded reports whether a refund of one of our own files is stored. Of equal refunds without a reference, the nth of
// the file is the stored one with the reference that an earlier import made for it, or one of those without a reference,
// in their sequence.
func isRefunded(row *Record, stored []sales.StoredRefund) bool {
	made, unreferenced := map[string]bool{}, 0
	for _, r := range stored {
		if r.Amount != row.Refund.Amount || !r.RefundedAt.Equal(row.Refund.RefundedAt.Truncate(time.Microsecond)) {
			continue
		}
		if r.Reference == nil {
			unreferenced++
		} else {
			made[*r.Reference] = true
		}
	}
	if made[*row.Refund.Reference] || row.Nth == 0 {
		return made[*row.Refund.Reference]
	}
	missing := row.Nth
	for n := range row.Nth - 1 {
		if made[referenceOf("import:", *row.Refund.RefundedAt, row.Refund.Amount, n+1)] {
			missing--
		}
	}
	return missing <= unreferenced
}
