package reports

import (
	"context"
	"fmt"

	"github.com/storeroom/storeroom/tenancy"
)

// Tie is one figure of a range as each way of adding it up has it. A nil cannot be
// added up that way: an order may have items of several products and categories.
type Tie struct {
	Figure                                        string
	Unit                                          Unit
	Facts, Summary                                Figure
	Channels, Days, Products, Categories, Sellers *Figure
	Balanced                                      bool
}

// Reconciliation is every figure of a range, added up in every way.
type Reconciliation struct {
	Zone     string
	Balanced bool
	Ties     []Tie
}

// ties are the figures that must add up. Those that count orders or refunds
// cannot be added up over parts of orders.
var ties = []struct {
	name   string
	unit   Unit
	counts bool
	of     func(Sums) Figure
}{
	{"revenue", Money, false, func(s Sums) Figure { return Figure(s.Revenue) }},
	{"discounts", Money, false, func(s Sums) Figure { return Figure(s.Discounts) }},
	{"tax", Money, false, func(s Sums) Figure { return Figure(s.Tax) }},
	{"cost", Money, false, func(s Sums) Figure { return Figure(s.Cost) }},
	{"gross_profit", Money, false, func(s Sums) Figure { return Figure(s.GrossProfit()) }},
	{"refunds", Money, false, func(s Sums) Figure { return Figure(s.Refunds) }},
	{"orders", Number, true, func(s Sums) Figure { return Figure(s.Orders) }},
	{"items", Number, false, func(s Sums) Figure { return Figure(s.Items) }},
	{"units_sold", Number, false, func(s Sums) Figure { return Figure(s.Units) }},
	{"units_without_cost", Number, false, func(s Sums) Figure { return Figure(s.UnitsWithoutCost) }},
	{"refund_count", Number, true, func(s Sums) Figure { return Figure(s.RefundCount) }},
}

// Reconcile adds the sales of a range up in every way.
func (s *Store) Reconcile(ctx context.Context, t tenancy.Tenant, r Range) (Reconciliation, error) {
	ways := []question{
		{lines: true},
		{},
		{by: []set{byChannel}},
		{by: []set{byPeriod}, periods: r.periods("day")},
		{key: product},
		{key: category},
		{key: seller},
	}
	const wholeOrders = 4 // the ways from here on take orders apart
	answers := make([][]answer, len(ways))
	zone, err := s.fly(ctx, t, deadline, func(f flight) {
		for i, way := range ways {
			way.Range = r
			f.ask(way, &answers[i])
		}
	})
	if err != nil {
		return Reconciliation{}, fmt.Errorf("reconcile: %w", err)
	}
	got := Reconciliation{Zone: zone, Balanced: true}
	for _, tie := range ties {
		var figures [7]*Figure
		balanced := true
		for i := range ways {
			if tie.counts && i >= wholeOrders {
				continue
			}
			figures[i] = new(tie.of(sum(answers[i])))
			balanced = balanced && *figures[i] == *figures[0]
		}
		f := figures
		got.Ties = append(got.Ties, Tie{tie.name, tie.unit, *f[0], *f[1], f[2], f[3], f[4], f[5], f[6], balanced})
		got.Balanced = got.Balanced && balanced
	}
	return got, nil
}
