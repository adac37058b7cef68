package sales

import (
	"bytes"
	"cmp"
	"math/big"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/money"
)

// RefundShare is the part of a refund that belongs to a line of its order.
type RefundShare struct {
	Line    int32
	Amount  money.Cents // with tax and shipping
	Revenue money.Cents
	Units   int32 // that were returned
}

// divide sets the parts of the refund, and returns its shares that are not zero. returned are the units of each line
// that refunds returned so far, restocked those that an order of an archive returned to stock.
func (r *refundRow) divide(o *orderFact, lines []line, returned, restocked map[int32]int64) (shares []RefundShare) {
	r.tax, r.shipping = r.Refund.parts(o)
	if r.Shares != nil {
		return r.Shares
	}
	if r.isOld() {
		r.Restock = r.restocked()
	}
	units := r.units(lines, returned, restocked)
	amounts, revenues := r.allocate(lines, r.Amount-r.tax-r.shipping)
	for i, l := range lines {
		share := RefundShare{l.Line, amounts[i], revenues[i], int32(units[i])}
		if share.Amount > 0 || share.Revenue > 0 || share.Units > 0 {
			shares = append(shares, share)
		}
	}
	return shares
}

// parts returns the tax and the shipping of the amount: as they were sent, or in proportion to those that were paid.
// What exceeds the amount paid is revenue.
func (r Refund) parts(o *orderFact) (tax, shipping money.Cents) {
	if r.Tax != nil && r.Shipping != nil {
		return *r.Tax, *r.Shipping
	}
	parts := money.Allocate(min(r.Amount, o.Paid()), []money.Cents{o.Revenue, o.Tax, o.Shipping})
	return parts[1], parts[2]
}

// units returns the units of each line that the refund returns.
func (r *refundRow) units(lines []line, returned, restocked map[int32]int64) []int64 {
	units := make([]int64, len(lines))
	switch {
	case r.isOld():
		for i, l := range lines {
			if r.Restock {
				units[i] = max(0, restocked[l.Line]-returned[l.Line])
			}
		}
	case r.Items != nil:
		for _, item := range r.Items {
			units[item.Line-1] = valueOr(item.Quantity, 0)
		}
	case r.RestockItems != nil:
		for _, item := range r.RestockItems {
			units[item.Line-1] = min(item.Quantity, lines[item.Line-1].Quantity-returned[int32(item.Line)])
		}
	case r.Restock:
		for i, l := range lines {
			units[i] = l.Quantity - returned[l.Line]
		}
	}
	return units
}

// allocate divides the amount and the part of it that is revenue over the lines: as the items say, or by net value.
func (r *refundRow) allocate(lines []line, revenue money.Cents) (amounts, revenues []money.Cents) {
	if r.Items == nil {
		return spread(r.Amount, lines), spread(revenue, lines)
	}
	amounts, revenues = make([]money.Cents, len(lines)), make([]money.Cents, len(lines))
	items := slices.Clone(r.Items) // equal remainders go to the earlier line
	slices.SortFunc(items, func(a, b RefundItem) int { return cmp.Compare(a.Line, b.Line) })
	var ofAmount, ofRevenue []money.Cents
	if items[0].Amount != nil {
		ofAmount = column(items, func(item RefundItem) money.Cents { return *item.Amount })
		ofRevenue = money.Allocate(revenue, ofAmount)
	} else {
		ofAmount, ofRevenue = spreadUnits(r.Amount, items, lines), spreadUnits(revenue, items, lines)
	}
	for i, item := range items {
		amounts[item.Line-1], revenues[item.Line-1] = ofAmount[i], ofRevenue[i]
	}
	return amounts, revenues
}

// spreadUnits is spread over the units of items. Without a quantity these are all units of the line. The net value of
// some units is a fraction of that of the line, which is not rounded.
func spreadUnits(amount money.Cents, items []RefundItem, lines []line) []money.Cents {
	parts := make([]line, len(items))
	isWhole := true
	for i, item := range items {
		parts[i] = lines[item.Line-1]
		isWhole = isWhole && (item.Quantity == nil || *item.Quantity == parts[i].Quantity)
	}
	units := func(i int) int64 { return valueOr(items[i].Quantity, parts[i].Quantity) }
	switch {
	case !slices.ContainsFunc(parts, func(l line) bool { return l.net() > 0 }):
		weights := make([]int64, len(items))
		for i := range items {
			weights[i] = units(i)
		}
		return money.Allocate(amount, weights)
	case isWhole:
		return spread(amount, parts)
	}
	return allocateRatios(amount, len(items), func(i int) *big.Rat {
		value := new(big.Int).Mul(big.NewInt(int64(parts[i].net())), big.NewInt(units(i)))
		return new(big.Rat).SetFrac(value, big.NewInt(parts[i].Quantity))
	})
}

// allocateRatios is money.Allocate with weights that are ratios of integers. It computes the weights again instead of
// keeping them, because their common denominator can be long.
func allocateRatios(amount money.Cents, n int, weight func(int) *big.Rat) []money.Cents {
	denominator, total := big.NewInt(1), new(big.Int)
	for i := range n {
		d := weight(i).Denom()
		common := new(big.Int).GCD(nil, nil, d, new(big.Int).Mod(denominator, d))
		denominator.Mul(denominator, new(big.Int).Quo(d, common))
	}
	product := new(big.Int)
	scaled := func(i int) *big.Int { // the weight in units of the denominator
		w := weight(i)
		return product.Mul(product.Quo(denominator, w.Denom()), w.Num())
	}
	for i := range n {
		total.Add(total, scaled(i))
	}
	shares, fractions, order := make([]money.Cents, n), make([][]byte, n), make([]int, n)
	left := amount
	share, rest := new(big.Int), new(big.Int)
	for i := range n {
		share.QuoRem(share.Mul(scaled(i), big.NewInt(int64(amount))), total, rest)
		shares[i], order[i] = money.Cents(share.Int64()), i
		left -= shares[i]
		fractions[i] = rest.Quo(rest.Lsh(rest, 128), total).FillBytes(make([]byte, 16))
	}
	slices.SortStableFunc(order, func(i, j int) int { return bytes.Compare(fractions[j], fractions[i]) })
	for _, i := range order[:left] {
		shares[i]++
	}
	return shares
}

// returnsUnits reports whether the refund may return units, or needs to know which were returned.
func (r *refundRow) returnsUnits() bool {
	return r.Restock || r.Items != nil || r.Shares != nil || r.isOld()
}

// isOld reports whether the refund is of an archive of an earlier version, which has no shares.
func (r *refundRow) isOld() bool { return r.Content != nil && r.Shares == nil }

// restocked reports whether a refund of an archive of an earlier version was sent with restock.
func (r *refundRow) restocked() bool {
	sent := Refund{Amount: r.Amount}
	withoutTime := sent.digest()
	sent.RefundedAt = &r.at
	return !bytes.Equal(r.Content, withoutTime) && !bytes.Equal(r.Content, sent.digest())
}

// lineUnits are the units of a line that refunds returned, or that were returned to stock.
type lineUnits struct {
	OrderID int64
	Line    int32
	Units   int64
}

// returnedUnits are units by order and line.
type returnedUnits map[int64]map[int32]int64

func unitsByLine(rows []lineUnits) returnedUnits {
	units := returnedUnits{}
	for _, row := range rows {
		units.add(row.OrderID, row.Line, int32(row.Units))
	}
	return units
}

func (u returnedUnits) add(order int64, line, units int32) {
	if units == 0 {
		return
	}
	if u[order] == nil {
		u[order] = map[int32]int64{}
	}
	u[order][line] += int64(units)
}

func queueReturned(q *pgx.Batch, tenant tenancy.ID, numbers []string, units *[]lineUnits) {
	db.QueueRows(q, units, `
		select o.id as order_id, r.line, r.units
		  from `+ordersByNumber+`
		 cross join lateral (
		       select line, sum(units) as units
		         from refund_items
		        where tenant_id = $1 and order_id = o.id
		        group by line
		       ) r
		 where r.units > 0`, tenant, numbers)
}

func queueRestocked(q *pgx.Batch, tenant tenancy.ID, numbers []string, units *[]lineUnits) {
	db.QueueRows(q, units, `
		select o.id as order_id, t.line, t.returned::bigint as units
		  from `+ordersByNumber+`
		 cross join lateral (select * from taken_stock where tenant_id = $1 and order_id = o.id offset 0) t
		 where t.returned > 0`, tenant, numbers)
}
