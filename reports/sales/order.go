package sales

import (
	"crypto/sha256"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

const (
	maxQuantity = 1<<31 - 1
	// maxFaulty is how many items of an order are complained of: an answer must
	// not grow longer than its request.
	maxFaulty = 50
)

var identifier = regexp.MustCompile(`^[a-z0-9_-]{1,50}$`)

// CheckIdentifier returns what is wrong with a channel's identifier, or "".
func CheckIdentifier(s string) string {
	if !identifier.MatchString(s) {
		return "must be 1 to 50 lower-case letters, digits, dashes and underscores"
	}
	return ""
}

// check returns the order with its texts trimmed, and what is wrong with it beside
// what the caller found.
func (r Row) check(now time.Time) (Order, tenancy.InvalidError) {
	o, faults := r.Order, r.Invalid.Clone()
	label(&o.Number, "number", faults, tenancy.PathSegment, 100)
	o.PlacedAt = checkTime(o.PlacedAt, "placed_at", now, faults)
	if len(faults["channel"]) == 0 {
		if fault := CheckIdentifier(o.Channel); fault != "" {
			faults.Add("channel", "%s", fault)
		}
	}
	if o.Customer != nil {
		o.Customer = checkCustomer(*o.Customer, "customer.", faults)
	}
	checkAmount(o.DiscountTotal, "discount_total", faults)
	checkAmount(o.TaxTotal, "tax_total", faults)
	if o.Items = checkItems(o.Items, faults); soundItems(faults) && len(faults["discount_total"]) == 0 {
		checkDiscounts(o, faults)
	}
	return o, faults
}

func soundItems(faults tenancy.InvalidError) bool {
	for field := range faults {
		if strings.HasPrefix(field, "items") {
			return false
		}
	}
	return true
}

// label checks a text in place, unless the caller found a fault in it already.
func label(s *string, field string, faults tenancy.InvalidError, check func(string, int) (string, string), max int) {
	if len(faults[field]) > 0 {
		return
	}
	trimmed, fault := check(*s, max)
	if fault != "" {
		faults.Add(field, "%s", fault)
	}
	*s = trimmed
}

// checkTime cuts a moment to microseconds, which is what PostgreSQL keeps.
func checkTime(at time.Time, field string, now time.Time, faults tenancy.InvalidError) time.Time {
	if len(faults[field]) == 0 && (at.Before(time.Unix(0, 0)) || at.After(now.AddDate(0, 0, 1))) {
		faults.Add(field, "must be between 1970-01-01T00:00:00Z and one day from now")
	}
	return at.UTC().Truncate(time.Microsecond)
}

func checkCustomer(c Customer, path string, faults tenancy.InvalidError) *Customer {
	label(&c.ID, path+"id", faults, tenancy.Label, 100)
	if c.Name != nil {
		name := *c.Name
		label(&name, path+"name", faults, tenancy.Label, 255)
		c.Name = &name
	}
	if c.Email != nil {
		email := *c.Email
		label(&email, path+"email", faults, tenancy.Label, 255)
		if !strings.Contains(email, "@") && len(faults[path+"email"]) == 0 {
			faults.Add(path+"email", "must be an e-mail address")
		}
		c.Email = &email
	}
	return &c
}

func checkAmount(amount *money.Cents, field string, faults tenancy.InvalidError) {
	if amount != nil && (*amount < 0 || *amount > money.Max) && len(faults[field]) == 0 {
		faults.Add(field, "%s", money.ErrRange)
	}
}

func checkItems(items []Item, faults tenancy.InvalidError) []Item {
	if len(faults["items"]) > 0 {
		return nil
	}
	if len(items) < 1 || len(items) > MaxItems {
		faults.Add("items", "must hold 1 to %d items", MaxItems)
		return nil
	}
	checked, faulty := make([]Item, len(items)), 0
	for i, item := range items {
		before, place := len(faults), "items["+strconv.Itoa(i)+"]"
		if len(faults[place]) > 0 {
			continue // the caller could not even read it
		}
		checked[i] = checkItem(item, place+".", faults)
		if len(faults) == before {
			continue
		}
		if faulty++; faulty == maxFaulty {
			faults.Add("items", "has %d faulty items or more", maxFaulty)
			break
		}
	}
	return checked
}

func checkItem(item Item, path string, faults tenancy.InvalidError) Item {
	label(&item.SKU, path+"sku", faults, tenancy.PathSegment, 100)
	sound := len(faults[path+"quantity"])+len(faults[path+"unit_price"]) == 0
	if sound && (item.Quantity < 1 || item.Quantity > maxQuantity) {
		faults.Add(path+"quantity", "must be between 1 and %d", maxQuantity)
		sound = false
	}
	before := len(faults)
	checkAmount(&item.UnitPrice, path+"unit_price", faults)
	checkAmount(item.UnitCost, path+"unit_cost", faults)
	checkAmount(item.Discount, path+"discount", faults)
	if !sound || len(faults) > before {
		return item
	}
	value, fits := product(item.Quantity, item.UnitPrice)
	switch {
	case !fits:
		faults.Add(path+"quantity", "times unit_price must be at most %s", money.Max)
	case item.Discount != nil && *item.Discount > value:
		faults.Add(path+"discount", "must not be above quantity times unit_price, %s", value)
	}
	if item.UnitCost != nil {
		if _, fits := product(item.Quantity, *item.UnitCost); !fits {
			faults.Add(path+"quantity", "times unit_cost must be at most %s", money.Max)
		}
	}
	return item
}

// product is quantity × amount, and whether it is at most money.Max.
func product(quantity int64, amount money.Cents) (money.Cents, bool) {
	high, low := bits.Mul64(uint64(quantity), uint64(amount))
	return money.Cents(low), high == 0 && low <= uint64(money.Max)
}

func checkDiscounts(o Order, faults tenancy.InvalidError) {
	if o.DiscountTotal == nil {
		return
	}
	value, own := o.value(), o.ownDiscounts()
	switch {
	case *o.DiscountTotal < own:
		faults.Add("discount_total", "must include the discounts of the items, %s", own)
	case *o.DiscountTotal > value:
		faults.Add("discount_total", "must not be above the value of the items, %s", value)
	}
}

// value is what the items cost before discounts.
func (o Order) value() (sum money.Cents) {
	for _, item := range o.Items {
		sum += money.Cents(item.Quantity) * item.UnitPrice
	}
	return sum
}

func (o Order) ownDiscounts() (sum money.Cents) {
	for _, item := range o.Items {
		sum += or(item.Discount, 0)
	}
	return sum
}

func or(amount *money.Cents, otherwise money.Cents) money.Cents {
	if amount == nil {
		return otherwise
	}
	return *amount
}

// content is the SHA-256 of everything that the sender said. It is stored: what
// it is made of must never change.
func (o Order) content() []byte {
	b := make([]byte, 0, 128+64*len(o.Items))
	b = strconv.AppendQuote(b, o.Number)
	b = strconv.AppendInt(append(b, ' '), o.PlacedAt.UnixMicro(), 10)
	b = strconv.AppendQuote(append(b, ' '), o.Channel)
	if o.Customer != nil {
		b = strconv.AppendQuote(append(b, " customer "...), o.Customer.ID)
		b = appendText(append(b, ' '), o.Customer.Name)
		b = appendText(append(b, ' '), o.Customer.Email)
	}
	b = appendAmount(append(b, " discount "...), o.DiscountTotal)
	b = appendAmount(append(b, " tax "...), o.TaxTotal)
	for _, item := range o.Items {
		b = strconv.AppendQuote(append(b, '\n'), item.SKU)
		b = strconv.AppendInt(append(b, ' '), item.Quantity, 10)
		b = appendAmount(append(b, ' '), &item.UnitPrice)
		b = appendAmount(append(b, ' '), item.UnitCost)
		b = appendAmount(append(b, ' '), item.Discount)
	}
	sum := sha256.Sum256(b)
	return sum[:]
}

func appendText(b []byte, text *string) []byte {
	if text == nil {
		return append(b, '-')
	}
	return strconv.AppendQuote(b, *text)
}

func appendAmount(b []byte, amount *money.Cents) []byte {
	if amount == nil {
		return append(b, '-')
	}
	return strconv.AppendInt(b, int64(*amount), 10)
}
