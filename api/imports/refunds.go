package imports

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/money"
)

// Limits of what is kept in memory for returns without an order.
const (
	maxReturns     = 50_000
	maxReturnBytes = 16 << 20 // of their rows
	maxSold        = 300_000  // sold items that may be returned
)

// returned records the key of a returned item, which the row that sold it also has.
func (e *evidence) returned(key [16]byte) {
	if e.returns == nil {
		e.returns = map[[16]byte]bool{}
	}
	if len(e.returns) < maxReturns {
		e.returns[key] = true
	}
}

func keyOf(parts ...string) [16]byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return [16]byte(sum[:])
}

// soldItems are the orders with items that are returned in rows without their order.
type soldItems struct {
	orders  map[[16]byte][]soldItem
	kept    int               // of all orders
	omitted map[[16]byte]bool // items with orders that are not kept
	returns []returnedItem
	bytes   int // of the returns
	equal   equalRefunds
}

type soldItem struct {
	number string
	at     time.Time
	price  int64
}

// returnedItem is a refund whose order is not known yet.
type returnedItem struct {
	key    [16]byte
	price  int64
	at     time.Time
	record Record // with all but the number
}

func (r *reading) newSoldItems() soldItems {
	sold := soldItems{orders: map[[16]byte][]soldItem{}, omitted: map[[16]byte]bool{}, equal: equalRefunds{}}
	for _, s := range r.sources {
		for key := range s.seen.returns {
			sold.orders[key] = nil
		}
	}
	return sold
}

// sell records an item that may be returned.
func (s *soldItems) sell(key [16]byte, item soldItem) {
	orders, returned := s.orders[key]
	switch {
	case !returned:
	case s.kept == maxSold:
		s.omitted[key] = true
	default:
		s.orders[key] = append(orders, item)
		s.kept++
	}
}

// keepReturn keeps a return until all orders are read, or refuses it and returns it.
func (r *reading) keepReturn(item returnedItem) []Record {
	for _, cell := range item.record.Rows[0].Cells {
		r.sold.bytes += len(cell)
	}
	if len(r.sold.returns) == maxReturns || r.sold.bytes > maxReturnBytes {
		item.record.Invalid.Add("order_number", "is required: there are too many refunds without their orders")
		return []Record{item.record}
	}
	r.sold.returns = append(r.sold.returns, item)
	return nil
}

// newReturn returns a refund, in cents, that names no order.
func newReturn(c cells, number string, at time.Time, amount int64) Record {
	if amount < 0 || amount > int64(money.Max) {
		c.invalid.Add("amount", "%v", money.ErrRange)
	}
	record := c.newRecord(Refund, number)
	record.Theirs = map[string]int64{"Refunds": amount}
	record.Refund = &sales.Refund{Amount: money.Cents(amount), RefundedAt: &at}
	return record
}

// attachRefunds returns the refunds, each of the latest earlier order with the item, preferably at the same price.
func (r *reading) attachRefunds() []Record {
	var records []Record
	slices.SortStableFunc(r.sold.returns, func(a, b returnedItem) int { return a.at.Compare(b.at) })
	for _, returned := range r.sold.returns {
		record := returned.record
		if len(record.Invalid) > 0 {
			records = append(records, record)
			continue
		}
		var earlier []soldItem
		for _, item := range r.sold.orders[returned.key] {
			if !item.at.After(returned.at) {
				earlier = append(earlier, item)
			}
		}
		if r.sold.omitted[returned.key] {
			record.Invalid.Add("order_number", "is required: too many orders of the file have this item")
			records = append(records, record)
			continue
		}
		if len(earlier) == 0 {
			record.Invalid.Add("order_number", "is not known: no earlier order has this item")
			records = append(records, record)
			continue
		}
		best := slices.MaxFunc(earlier, func(a, b soldItem) int {
			return cmp.Or(cmp.Compare(boolOrder(a.price == returned.price), boolOrder(b.price == returned.price)),
				a.at.Compare(b.at))
		})
		r.sold.equal.attach(&record, "import:"+record.Key+":", best.number)
		records = append(records, record)
	}
	return records
}

// equalRefunds counts refunds by their content.
type equalRefunds map[[16]byte]int

// attach makes a refund one of an order.
func (e equalRefunds) attach(r *Record, prefix, order string) {
	reference, _ := e.next(prefix, order, *r.Refund.RefundedAt, r.Refund.Amount)
	r.Refund.OrderNumber, r.Refund.Reference = order, &reference
}

// next returns a reference that identifies a refund by its content and the number of equal ones before it, and that
// number: two equal refunds of an order are both stored, and a second import stores nothing. Stored references must not
// change.
func (e equalRefunds) next(prefix, order string, at time.Time, amount money.Cents) (reference string, nth int) {
	key := keyOf(order, prefix, at.UTC().Truncate(time.Microsecond).String(), amount.String())
	e[key]++
	return referenceOf(prefix, at, amount, e[key]), e[key]
}

func referenceOf(prefix string, at time.Time, amount money.Cents, nth int) string {
	return fmt.Sprintf("%s%s:%s:%d", prefix, at.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano), amount, nth)
}
