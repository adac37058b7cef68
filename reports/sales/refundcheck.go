package sales

import (
	"strconv"
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

// check returns the refund with a trimmed reference, and all validation errors.
func (r RefundRow) check(now time.Time) (Refund, tenancy.InvalidError) {
	refund, invalid := r.Refund, r.Invalid.Clone()
	if (refund.Amount < 1 || refund.Amount > money.Max) && len(invalid["amount"]) == 0 {
		invalid.Add("amount", "must be between 0.01 and %s", money.Max)
	}
	if refund.RefundedAt != nil {
		refund.RefundedAt = new(checkTime(*refund.RefundedAt, "refunded_at", now, invalid))
	}
	refund.Reference = checkOptional(refund.Reference, "reference", invalid)
	refund.checkParts(invalid)
	refund.checkItems(invalid)
	refund.checkRestock(invalid)
	refund.checkShares(invalid)
	return refund, invalid
}

// checkParts checks the tax and the shipping of the amount.
func (r Refund) checkParts(invalid tenancy.InvalidError) {
	before := len(invalid)
	checkAmount(r.Tax, "tax", invalid)
	checkAmount(r.Shipping, "shipping", invalid)
	hasTax, hasShipping := r.Tax != nil || len(invalid["tax"]) > 0, r.Shipping != nil || len(invalid["shipping"]) > 0
	switch {
	case hasTax && !hasShipping:
		invalid.Add("shipping", "is required with tax")
	case hasShipping && !hasTax:
		invalid.Add("tax", "is required with shipping")
	case r.Tax != nil && r.Shipping != nil && len(invalid) == before && len(invalid["amount"]) == 0 &&
		*r.Tax+*r.Shipping > r.Amount:
		invalid.Add("tax", "and shipping must be at most amount, %s", r.Amount)
	}
}

// checkItems checks what can be checked without the lines of the order.
func (r Refund) checkItems(invalid tenancy.InvalidError) {
	if r.Items == nil || len(invalid["items"]) > 0 {
		return
	}
	if r.RestockItems != nil || len(invalid["restock_items"]) > 0 {
		invalid.Add("restock_items", "must not be given together with items")
	}
	if len(r.Items) < 1 || len(r.Items) > MaxItems {
		invalid.Add("items", "must contain 1 to %d items", MaxItems)
		return
	}
	before, lines := len(invalid), map[int64]bool{}
	var sum money.Cents
	amounts := 0
	for i, item := range r.Items {
		path := "items[" + strconv.Itoa(i) + "]"
		if len(invalid[path]) > 0 {
			continue // the caller could not decode it
		}
		if item.Quantity != nil && *item.Quantity < 1 && len(invalid[path+".quantity"]) == 0 {
			invalid.Add(path+".quantity", "must be at least 1")
		}
		if lines[item.Line] && len(invalid[path+".line"]) == 0 {
			invalid.Add(path+".line", "occurs twice")
		}
		lines[item.Line] = true
		checkAmount(item.Amount, path+".amount", invalid)
		if sum += valueOr(item.Amount, 0); item.Amount != nil || len(invalid[path+".amount"]) > 0 {
			amounts++
		}
	}
	switch {
	case amounts > 0 && amounts < len(r.Items):
		invalid.Add("items", "must all have an amount, or none")
	case amounts > 0 && len(invalid) == before && len(invalid["amount"]) == 0 && sum != r.Amount:
		invalid.Add("items", "must have amounts that add up to amount, %s, not to %s", r.Amount, sum)
	}
}

func (r Refund) checkRestock(invalid tenancy.InvalidError) {
	if r.RestockItems == nil || len(invalid["restock_items"]) > 0 {
		return
	}
	if !r.Restock && len(invalid["restock"]) == 0 {
		invalid.Add("restock_items", "needs restock: true")
	}
	if len(r.RestockItems) < 1 || len(r.RestockItems) > MaxItems {
		invalid.Add("restock_items", "must contain 1 to %d items", MaxItems)
		return
	}
	lines := map[int64]bool{}
	for i, item := range r.RestockItems {
		path := "restock_items[" + strconv.Itoa(i) + "]"
		if len(invalid[path]) > 0 {
			continue // the caller could not decode it
		}
		if item.Quantity < 1 && len(invalid[path+".quantity"]) == 0 {
			invalid.Add(path+".quantity", "must be at least 1")
		}
		if lines[item.Line] && len(invalid[path+".line"]) == 0 {
			invalid.Add(path+".line", "occurs twice")
		}
		lines[item.Line] = true
	}
}

// checkShares checks the shares of a refund of our own files.
func (r Refund) checkShares(invalid tenancy.InvalidError) {
	if r.Shares == nil || len(invalid) > 0 {
		return
	}
	if r.Tax == nil || r.Shipping == nil {
		invalid.Add("tax", "and shipping are required with items")
		return
	}
	lines := map[int32]bool{}
	var amount, revenue money.Cents
	for _, s := range r.Shares {
		if lines[s.Line] {
			invalid.Add("items", "must name each line once, not line %d again", s.Line)
			return
		}
		lines[s.Line] = true
		amount, revenue = amount+s.Amount, revenue+s.Revenue
	}
	if want := r.Amount - *r.Tax - *r.Shipping; amount != r.Amount || revenue != want {
		invalid.Add("items", "must add up to amount, %s, and to its revenue, %s", r.Amount, want)
	}
}

// checkLines returns the errors that need the lines of the order, and the units of them that refunds returned so far.
func (r Refund) checkLines(lines []line, returned map[int32]int64) tenancy.InvalidError {
	invalid := tenancy.InvalidError{}
	for i, item := range r.Items {
		path := "items[" + strconv.Itoa(i) + "]"
		if item.Line < 1 || item.Line > int64(len(lines)) {
			invalid.Add(path+".line", "is not a line of the order")
			continue
		}
		left := lines[item.Line-1].Quantity - returned[int32(item.Line)]
		switch {
		case item.Quantity == nil || *item.Quantity <= left:
		case left == 0:
			invalid.Add(path+".quantity", "must be absent: earlier refunds returned all units of the line")
		default:
			invalid.Add(path+".quantity", "must be at most the units of the line that no refund returned, %d", left)
		}
	}
	for _, s := range r.Shares {
		if s.Line < 1 || int(s.Line) > len(lines) {
			invalid.Add("items", "must be of lines of the order, not of %d", s.Line)
		} else if left := lines[s.Line-1].Quantity - returned[s.Line]; int64(s.Units) > left {
			invalid.Add("items", "must return at most %d units of line %d", left, s.Line)
		}
	}
	for i, item := range r.RestockItems {
		path := "restock_items[" + strconv.Itoa(i) + "]"
		if item.Line < 1 || item.Line > int64(len(lines)) {
			invalid.Add(path+".line", "is not a line of the order")
		} else if sold := lines[item.Line-1].Quantity; item.Quantity > sold {
			invalid.Add(path+".quantity", "must be at most that of the line, %d", sold)
		}
	}
	return invalid
}
