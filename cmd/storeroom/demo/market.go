package demo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/money"
)

const (
	ordersADay = 10.5 // in the middle of the first two years
	lastGifts  = 24   // of December, after which they come too late
)

// sold is an order and what became of it later.
type sold struct {
	sales.Order
	cancelled time.Time // zero where it stands
	refund    *sales.Refund
}

// good is a product as the market sees it.
type good struct {
	sku         string
	price, cost money.Cents
	liked       int  // more is sold of what is liked
	gift        bool // in December, too
}

// market draws what is sold. It goes from day to day: what is drawn for a day
// depends on those before it since the opening, and on nothing after it.
type market struct {
	random  *rand.Rand
	shelves map[string][]good // by the code of the department
	orders  int
	people  int
}

// history is every order from the opening day until now.
func history(opening, now time.Time) []sold {
	m := market{random: rand.New(rand.NewPCG(1848, 2025)), shelves: shelves()}
	var all []sold
	for day := opening; !day.After(now); day = day.AddDate(0, 0, 1) {
		all = append(all, m.day(day, opening)...)
	}
	end := len(all)
	for end > 0 && all[end-1].PlacedAt.After(now) {
		end--
	}
	return all[:end]
}

// shelves are the goods on sale. What is dear is bought less often.
func shelves() map[string][]good {
	random := rand.New(rand.NewPCG(1848, 2026))
	all := map[string][]good{}
	for _, it := range shop() {
		if it.Status.Value != "active" {
			continue
		}
		code, _, _ := strings.Cut(it.SKU.Value, "-")
		price := it.Price.Value
		all[code] = append(all[code], good{
			sku: it.SKU.Value, price: price, cost: it.Cost.Value,
			liked: (1 + random.IntN(10)) * 1_000_000 / (int(price) + 2_000),
			gift:  slices.Contains(it.Tags.Value, "gift"),
		})
	}
	return all
}

// slot is when and where something is bought.
type slot struct {
	at     time.Time
	outlet outlet
}

// day draws the orders of a day in the order of their times: at least one.
func (m *market) day(day, opening time.Time) []sold {
	shares := make([]int, len(outlets))
	for i, o := range outlets {
		shares[i] = o.shares[kindOf(day)]
	}
	age := day.Sub(opening).Hours() / 24
	demand := ordersADay * (0.8 + 0.4*age/730) * float64(sum(shares)) / 100 * float64(sum(taste(day))) / 83
	slots := make([]slot, 1+int(demand*(0.65+0.7*m.random.Float64())))
	for i := range slots {
		o := outlets[m.weighted(shares)]
		open := time.Duration(m.between(o.hours[0]*3600, o.hours[1]*3600-1)) * time.Second
		slots[i] = slot{day.Add(open), o}
	}
	slices.SortStableFunc(slots, func(a, b slot) int { return a.at.Compare(b.at) })
	orders := make([]sold, len(slots))
	for i, s := range slots {
		orders[i] = m.sell(s)
	}
	return orders
}

// kindOf is 0 on a weekday, 1 on a Saturday, 2 on a Sunday.
func kindOf(day time.Time) int {
	switch day.Weekday() {
	case time.Saturday:
		return 1
	case time.Sunday:
		return 2
	}
	return 0
}

// taste is how much of each department is wanted on a day.
func taste(day time.Time) []int {
	weights := make([]int, len(departments))
	for i, d := range departments {
		weights[i] = seasons[d.code][day.Month()-1]
	}
	return weights
}

// sell draws an order.
func (m *market) sell(s slot) sold {
	o := sold{Order: sales.Order{Number: number(m.orders), PlacedAt: s.at, Channel: s.outlet.identifier, Customer: m.customer(s.outlet)}}
	m.orders++
	var net money.Cents
	for range m.between(s.outlet.lines[0], s.outlet.lines[1]) {
		g := m.choose(s.at)
		if slices.ContainsFunc(o.Items, func(i sales.Item) bool { return i.SKU == g.sku }) {
			continue
		}
		item := m.item(g, s)
		o.Items = append(o.Items, item)
		net += netOf(item)
	}
	if m.percent(s.outlet.vouchers) {
		voucher := net * money.Cents(s.outlet.off) / 100
		all := voucher
		for _, item := range o.Items {
			all += money.Cents(item.Quantity)*item.UnitPrice - netOf(item)
		}
		o.DiscountTotal = &all
		net -= voucher
	}
	tax := (net*20 + 50) / 100
	o.TaxTotal = &tax
	m.regret(&o, s.outlet, net+tax)
	return o
}

// customer draws who buys: nil is a guest. A third of those who give their name
// are new, the others have been here before.
func (m *market) customer(o outlet) *sales.Customer {
	if o.wholesale {
		n := m.random.IntN(len(companies))
		mailbox := strings.ToLower(strings.NewReplacer(" & ", ".", " ", ".").Replace(companies[n]))
		return customer(fmt.Sprintf("B-%03d", n+1), companies[n], mailbox)
	}
	if !m.percent(o.named) {
		return nil
	}
	n := m.people
	if n > 0 && !m.percent(35) {
		n = m.random.IntN(n)
	} else {
		m.people++
	}
	first, last := firstNames[n%len(firstNames)], lastNames[n%len(lastNames)]
	return customer(fmt.Sprintf("C-%05d", n+1), first+" "+last, fmt.Sprintf("%s.%s%d", strings.ToLower(first), strings.ToLower(last), n+1))
}

func customer(id, name, mailbox string) *sales.Customer {
	email := mailbox + "@example.com"
	return &sales.Customer{ID: id, Name: &name, Email: &email}
}

// choose draws a good by the season and how much it is liked; before Christmas
// gifts are liked three times as much.
func (m *market) choose(at time.Time) good {
	shelf := m.shelves[departments[m.weighted(taste(at))].code]
	weights := make([]int, len(shelf))
	for i, g := range shelf {
		weights[i] = g.liked
		if g.gift && at.Month() == time.December && at.Day() <= lastGifts {
			weights[i] *= 3
		}
	}
	return shelf[m.weighted(weights)]
}

// item draws how many of a good are bought, and at what discount: a fifth off on
// a third of what is sold in the sales of January and November, else a tenth now
// and then.
func (m *market) item(g good, s slot) sales.Item {
	item := sales.Item{SKU: g.sku, Quantity: 1, UnitPrice: g.price, UnitCost: &g.cost}
	switch {
	case s.outlet.wholesale:
		item.Quantity = int64(m.between(2, 6) * min(4, 1+10_000/int(g.price)))
	case g.price < 30_00 && m.percent(35):
		item.Quantity = int64(m.between(2, 4))
	}
	odds, off := 4, 10
	if at := s.at; at.Month() == time.January && at.Day() > 17 || at.Month() == time.November && at.Day() > 19 {
		odds, off = 33, 20
	}
	if !s.outlet.wholesale && m.percent(odds) {
		discount := money.Cents(item.Quantity) * item.UnitPrice * money.Cents(off) / 100
		item.Discount = &discount
	}
	return item
}

// netOf is what an item costs before tax.
func netOf(item sales.Item) money.Cents {
	net := money.Cents(item.Quantity) * item.UnitPrice
	if item.Discount != nil {
		net -= *item.Discount
	}
	return net
}

// regret draws whether an order is cancelled within two days, or something of it
// comes back some weeks later: three of a hundred do.
func (m *market) regret(o *sold, from outlet, paid money.Cents) {
	hours := time.Duration(m.between(1, 40)) * time.Hour
	days := m.between(3, 45)
	if m.percent(from.cancelled) {
		o.cancelled = o.PlacedAt.Add(hours)
		return
	}
	if !m.percent(3) {
		return
	}
	amount := paid
	if m.percent(60) { // one piece of the first item only
		amount = min(paid, (o.Items[0].UnitPrice*120+50)/100)
	}
	at, reference := o.PlacedAt.AddDate(0, 0, days).Add(hours/4), "return of "+o.Number
	o.refund = &sales.Refund{OrderNumber: o.Number, Amount: amount, RefundedAt: &at, Reference: &reference}
}

// percent is true p times of a hundred.
func (m *market) percent(p int) bool { return m.random.IntN(100) < p }

// between draws a number from low to high, both included.
func (m *market) between(low, high int) int { return low + m.random.IntN(high-low+1) }

// weighted draws a place by its weight.
func (m *market) weighted(weights []int) int {
	n := m.random.IntN(sum(weights))
	for i := 0; ; i++ {
		if n -= weights[i]; n < 0 {
			return i
		}
	}
}

func sum(numbers []int) (total int) {
	for _, n := range numbers {
		total += n
	}
	return total
}
