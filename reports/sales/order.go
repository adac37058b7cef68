package sales

import (
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

const (
	maxQuantity = 1<<31 - 1
	// maxInvalidItems limits the reported items of an order, so that the response is
	// not longer than the request.
	maxInvalidItems = 50
)

var identifier = regexp.MustCompile(`^[a-z0-9_-]{1,50}$`)

// CheckIdentifier returns the problem with the identifier of a channel, or "".
func CheckIdentifier(s string) string {
	if !identifier.MatchString(s) {
		return "must be 1 to 50 lower-case letters, digits, dashes and underscores"
	}
	return ""
}

func checkChannel(s, field string, invalid tenancy.InvalidError) {
	if problem := CheckIdentifier(s); problem != "" && len(invalid[field]) == 0 {
		invalid.Add(field, "%s", problem)
	}
}

// check returns the order with trimmed texts, and all validation errors. If Invalid lacks some errors, fields without
// an error may not have the values that were sent, and are not checked.
func (r Row) check(now time.Time) (Order, tenancy.InvalidError) {
	o, invalid := r.Order, r.Invalid.Clone()
	if r.MoreInvalid {
		return o, invalid
	}
	checkText(&o.Number, "number", invalid, tenancy.PathSegment, 100)
	o.PlacedAt = checkTime(o.PlacedAt, "placed_at", now, invalid)
	checkChannel(o.Channel, "channel", invalid)
	if o.Customer != nil {
		o.Customer = checkCustomer(*o.Customer, "customer.", invalid)
	}
	checkAmount(o.DiscountTotal, "discount_total", invalid)
	checkAmount(o.TaxTotal, "tax_total", invalid)
	checkAmount(o.ShippingTotal, "shipping_total", invalid)
	o.Items = checkItems(o.Items, invalid)
	for field := range invalid {
		if strings.HasPrefix(field, "items") {
			return o, invalid
		}
	}
	checkDiscounts(o, invalid)
	return o, invalid
}

// checkText checks and trims a text, unless the caller found an error in it.
func checkText(
	s *string, field string, invalid tenancy.InvalidError,
	check func(string, int) (trimmed, problem string), maxLength int,
) {
	if len(invalid[field]) > 0 {
		return
	}
	trimmed, problem := check(*s, maxLength)
	if problem != "" {
		invalid.Add(field, "%s", problem)
	}
	*s = trimmed
}

// checkTime truncates a time to microseconds, the precision of PostgreSQL.
func checkTime(at time.Time, field string, now time.Time, invalid tenancy.InvalidError) time.Time {
	if len(invalid[field]) == 0 && (at.Before(time.Unix(0, 0)) || at.After(now.AddDate(0, 0, 1))) {
		invalid.Add(field, "must be between 1970-01-01T00:00:00Z and one day from now")
	}
	return at.UTC().Truncate(time.Microsecond)
}

func checkCustomer(c Customer, path string, invalid tenancy.InvalidError) *Customer {
	checkText(&c.ID, path+"id", invalid, tenancy.Label, 100)
	c.Name = checkOptional(c.Name, path+"name", invalid)
	c.Email = checkOptional(c.Email, path+"email", invalid)
	if c.Email != nil && !strings.Contains(*c.Email, "@") && len(invalid[path+"email"]) == 0 {
		invalid.Add(path+"email", "must be an e-mail address")
	}
	return &c
}

// checkOptional returns a trimmed copy of an optional text.
func checkOptional(s *string, field string, invalid tenancy.InvalidError) *string {
	if s == nil {
		return nil
	}
	text := *s
	checkText(&text, field, invalid, tenancy.Label, 255)
	return &text
}

func checkAmount(amount *money.Cents, field string, invalid tenancy.InvalidError) {
	if amount != nil && (*amount < 0 || *amount > money.Max) && len(invalid[field]) == 0 {
		invalid.Add(field, "%s", money.ErrRange)
	}
}

func checkItems(items []Item, invalid tenancy.InvalidError) []Item {
	if len(invalid["items"]) > 0 {
		return nil
	}
	if len(items) < 1 || len(items) > MaxItems {
		invalid.Add("items", "must contain 1 to %d items", MaxItems)
		return nil
	}
	checked, trimmed, invalidItems := items, false, 0
	for i, item := range items {
		before, path := len(invalid), "items["+strconv.Itoa(i)+"]"
		if len(invalid[path]) > 0 {
			continue // the caller could not decode it
		}
		item := checkItem(item, path+".", invalid)
		if item.SKU != items[i].SKU {
			if !trimmed {
				checked, trimmed = slices.Clone(items), true // only then, because a bulk request has many items
			}
			checked[i] = item
		}
		if len(invalid) == before {
			continue
		}
		if invalidItems++; invalidItems == maxInvalidItems {
			invalid.Add("items", "has at least %d invalid items", maxInvalidItems)
			break
		}
	}
	return checked
}

func checkItem(item Item, path string, invalid tenancy.InvalidError) Item {
	checkText(&item.SKU, path+"sku", invalid, tenancy.PathSegment, 100)
	if len(invalid[path+"quantity"]) == 0 && (item.Quantity < 1 || item.Quantity > maxQuantity) {
		invalid.Add(path+"quantity", "must be between 1 and %d", maxQuantity)
	}
	before := len(invalid)
	checkAmount(&item.UnitPrice, path+"unit_price", invalid)
	checkAmount(item.UnitCost, path+"unit_cost", invalid)
	checkAmount(item.Discount, path+"discount", invalid)
	if len(invalid) > before || len(invalid[path+"quantity"])+len(invalid[path+"unit_price"]) > 0 {
		return item
	}
	value, fits := multiply(item.Quantity, item.UnitPrice)
	switch {
	case !fits:
		invalid.Add(path+"quantity", "times unit_price must be at most %s", money.Max)
	case item.Discount != nil && *item.Discount > value:
		invalid.Add(path+"discount", "must not be above quantity times unit_price, %s", value)
	}
	if item.UnitCost != nil {
		if _, fits := multiply(item.Quantity, *item.UnitCost); !fits {
			invalid.Add(path+"quantity", "times unit_cost must be at most %s", money.Max)
		}
	}
	return item
}

// multiply returns quantity × amount, and whether it is at most money.Max.
func multiply(quantity int64, amount money.Cents) (money.Cents, bool) {
	high, low := bits.Mul64(uint64(quantity), uint64(amount))
	return money.Cents(low), high == 0 && low <= uint64(money.Max)
}

func checkDiscounts(o Order, invalid tenancy.InvalidError) {
	if o.DiscountTotal == nil || len(invalid["discount_total"]) > 0 {
		return
	}
	var value money.Cents // of all items before discounts
	for _, item := range o.Items {
		value += money.Cents(item.Quantity) * item.UnitPrice
	}
	switch ofItems := o.itemDiscounts(); {
	case *o.DiscountTotal < ofItems:
		invalid.Add("discount_total", "must include the discounts of the items, %s", ofItems)
	case *o.DiscountTotal > value:
		invalid.Add("discount_total", "must not be above the value of the items, %s", value)
	}
}

func (o Order) itemDiscounts() (sum money.Cents) {
	for _, item := range o.Items {
		sum += valueOr(item.Discount, 0)
	}
	return sum
}

func valueOr[T any](value *T, absent T) T {
	if value == nil {
		return absent
	}
	return *value
}
