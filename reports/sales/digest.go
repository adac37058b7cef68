package sales

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"unicode"

	"golang.org/x/text/unicode/rangetable"

	"github.com/storeroom/storeroom/tenancy/money"
)

// digest returns the SHA-256 of the order's content, which is stored with the order.
// The encoding must never change: add a version instead, and compare with the earlier
// ones where an order is resent.
//
// Version 2 is the byte 2 and then the fields. A number is 8 bytes, big endian. A
// text is its length and its bytes. An optional field is the byte 0, or the byte 1 and
// the value. The items follow their number. Version 3 has shipping after tax; an order
// without shipping has version 2, so that its digest equals the one that was stored before version 3.
func (o Order) digest() []byte {
	b := encoding{2}
	if o.ShippingTotal != nil {
		b = encoding{3}
	}
	b.text(o.Number)
	b.number(o.PlacedAt.UnixMicro())
	b.text(o.Channel)
	if b.present(o.Customer != nil) {
		b.text(o.Customer.ID)
		b.optionalText(o.Customer.Name)
		b.optionalText(o.Customer.Email)
	}
	b.optionalAmount(o.DiscountTotal)
	b.optionalAmount(o.TaxTotal)
	if o.ShippingTotal != nil {
		b.number(int64(*o.ShippingTotal))
	}
	b.number(int64(len(o.Items)))
	for _, item := range o.Items {
		b.text(item.SKU)
		b.number(item.Quantity)
		b.number(int64(item.UnitPrice))
		b.optionalAmount(item.UnitCost)
		b.optionalAmount(item.Discount)
	}
	sum := sha256.Sum256(b)
	return sum[:]
}

// encoding is the input of a digest.
type encoding []byte

func (b *encoding) number(n int64) { *b = binary.BigEndian.AppendUint64(*b, uint64(n)) }

func (b *encoding) text(s string) {
	b.number(int64(len(s)))
	*b = append(*b, s...)
}

// present appends whether an optional field has a value, and returns it.
func (b *encoding) present(is bool) bool {
	if is {
		*b = append(*b, 1)
	} else {
		*b = append(*b, 0)
	}
	return is
}

func (b *encoding) optionalText(s *string) {
	if b.present(s != nil) {
		b.text(*s)
	}
}

func (b *encoding) optionalAmount(amount *money.Cents) {
	if b.present(amount != nil) {
		b.number(int64(*amount))
	}
}

// digestV1 returns the digest of orders that were stored before version 2. Its texts
// are quoted as strconv.AppendQuote quotes them with the tables of Unicode 15.
func (o Order) digestV1() []byte {
	b := make([]byte, 0, 128+64*len(o.Items))
	b = appendQuoteV1(b, o.Number)
	b = strconv.AppendInt(append(b, ' '), o.PlacedAt.UnixMicro(), 10)
	b = appendQuoteV1(append(b, ' '), o.Channel)
	if o.Customer != nil {
		b = appendQuoteV1(append(b, " customer "...), o.Customer.ID)
		b = appendTextV1(append(b, ' '), o.Customer.Name)
		b = appendTextV1(append(b, ' '), o.Customer.Email)
	}
	b = appendAmountV1(append(b, " discount "...), o.DiscountTotal)
	b = appendAmountV1(append(b, " tax "...), o.TaxTotal)
	for _, item := range o.Items {
		b = appendQuoteV1(append(b, '\n'), item.SKU)
		b = strconv.AppendInt(append(b, ' '), item.Quantity, 10)
		b = appendAmountV1(append(b, ' '), &item.UnitPrice)
		b = appendAmountV1(append(b, ' '), item.UnitCost)
		b = appendAmountV1(append(b, ' '), item.Discount)
	}
	sum := sha256.Sum256(b)
	return sum[:]
}

func appendTextV1(b []byte, text *string) []byte {
	if text == nil {
		return append(b, '-')
	}
	return appendQuoteV1(b, *text)
}

func appendAmountV1(b []byte, amount *money.Cents) []byte {
	if amount == nil {
		return append(b, '-')
	}
	return strconv.AppendInt(b, int64(*amount), 10)
}

// unicode15 holds the characters that Unicode 15 assigns. Go escapes all others.
var unicode15 = rangetable.Assigned("15.0.0")

// appendQuoteV1 quotes a text without control characters, which checkText refuses.
func appendQuoteV1(b []byte, text string) []byte {
	b = append(b, '"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case unicode.IsPrint(r) && unicode.Is(unicode15, r):
			b = append(b, string(r)...)
		case r <= 0xffff:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = fmt.Appendf(b, `\U%08x`, r)
		}
	}
	return append(b, '"')
}

// digest returns the SHA-256 of the refund's content, which is stored with the refund.
// The encoding must never change: each field has a different form, so that no two refunds have the same encoding.
func (r Refund) digest() []byte {
	b := strconv.AppendInt(nil, int64(r.Amount), 10)
	if r.RefundedAt != nil {
		b = strconv.AppendInt(append(b, ' '), r.RefundedAt.UnixMicro(), 10)
	}
	if r.Restock {
		b = append(b, " restock"...)
	}
	for _, item := range r.RestockItems {
		b = fmt.Appendf(b, " %d %d", item.Line, item.Quantity)
	}
	if r.Tax != nil && r.Shipping != nil {
		b = fmt.Appendf(b, " tax %d shipping %d", *r.Tax, *r.Shipping)
	}
	for _, item := range r.Items {
		b = fmt.Appendf(b, " item %d", item.Line)
		if item.Quantity != nil {
			b = fmt.Appendf(b, " quantity %d", *item.Quantity)
		}
		if item.Amount != nil {
			b = fmt.Appendf(b, " amount %d", *item.Amount)
		}
	}
	sum := sha256.Sum256(b)
	return sum[:]
}
