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
	ordersPerDay = 10.5 // average of the first two years
	lastGiftDay  = 24   // of December
	freeShipping = 75_00
)

// demoOrder is an order with its later cancellation or refund.
type demoOrder struct {
	sales.Order
	cancelled time.Time // zero if the order is not cancelled
	refund    *sales.Refund
}

// article is a product that is for sale.
type article struct {
	sku        string
	price      money.Cents
	cost       *money.Cents
	popularity int  // the weight of the article in its department
	gift       bool // sells better in December
}

// simulation creates random orders day by day. The orders of a day depend only on the days
// since the opening, so a later call continues the history of an earlier one.
type simulation struct {
	random   *rand.Rand
	articles map[string][]article // by the code of the department
	orders   int                  // created so far
	people   int                  // customers so far
}

// history returns all orders from the opening day until now.
func history(opening, now time.Time) []demoOrder {
	s := simulation{random: rand.New(rand.NewPCG(1848, 2025)), articles: articlesByDepartment()}
	var all []demoOrder
	for day := opening; !day.After(now); day = day.AddDate(0, 0, 1) {
		all = append(all, s.day(day, opening)...)
	}
	return slices.DeleteFunc(all, func(o demoOrder) bool { return o.PlacedAt.After(now) })
}

// articlesByDepartment returns the active products. Expensive ones are less popular.
func articlesByDepartment() map[string][]article {
	random := rand.New(rand.NewPCG(1848, 2026))
	all := map[string][]article{}
	for _, p := range demoProducts() {
		if p.Status.Value != "active" {
			continue
		}
		code, _, _ := strings.Cut(p.SKU.Value, "-")
		price := p.Price.Value
		var cost *money.Cents
		if p.Cost.Set {
			cost = &p.Cost.Value
		}
		all[code] = append(all[code], article{
			sku:        p.SKU.Value,
			price:      price,
			cost:       cost,
			popularity: (1 + random.IntN(10)) * 1_000_000 / (int(price) + 2_000),
			gift:       slices.Contains(p.Tags.Value, "gift"),
		})
	}
	return all
}

// purchase is the time and the channel of an order.
type purchase struct {
	at      time.Time
	channel channel
}

// day returns the orders of a day, at least one, sorted by time.
func (s *simulation) day(day, opening time.Time) []demoOrder {
	var shares []int
	for _, c := range channels {
		shares = append(shares, c.shares[dayType(day)])
	}
	age := day.Sub(opening).Hours() / 24
	demand := ordersPerDay * (0.8 + 0.4*age/730) * float64(sum(shares)) / 100 * float64(sum(demandOn(day))) / 83
	purchases := make([]purchase, 1+int(demand*(0.65+0.7*s.random.Float64())))
	for i := range purchases {
		c := channels[s.weighted(shares)]
		afterMidnight := time.Duration(s.between(c.hours[0]*3600, c.hours[1]*3600-1)) * time.Second
		purchases[i] = purchase{day.Add(afterMidnight), c}
	}
	slices.SortStableFunc(purchases, func(a, b purchase) int { return a.at.Compare(b.at) })
	var orders []demoOrder
	for _, p := range purchases {
		orders = append(orders, s.order(p))
	}
	return orders
}

// dayType returns the index of a day in channel.shares.
func dayType(day time.Time) int {
	switch day.Weekday() {
	case time.Saturday:
		return 1
	case time.Sunday:
		return 2
	}
	return 0
}

// demandOn returns the weight of each department on a day.
func demandOn(day time.Time) []int {
	weights := make([]int, len(shop.Departments))
	for i, d := range shop.Departments {
		weights[i] = d.Demand[day.Month()-1]
	}
	return weights
}

// order returns a random order.
func (s *simulation) order(p purchase) demoOrder {
	o := demoOrder{Order: sales.Order{
		Number:   number(s.orders),
		PlacedAt: p.at,
		Channel:  p.channel.identifier,
		Customer: s.customer(p.channel),
	}}
	s.orders++
	var net money.Cents
	for range s.between(p.channel.lines[0], p.channel.lines[1]) {
		a := s.article(p.at)
		if slices.ContainsFunc(o.Items, func(i sales.Item) bool { return i.SKU == a.sku }) {
			continue
		}
		item := s.item(a, p)
		o.Items = append(o.Items, item)
		net += netOf(item)
	}
	if s.percent(p.channel.vouchers) {
		voucher := net * money.Cents(p.channel.off) / 100
		all := voucher
		for _, item := range o.Items {
			all += money.Cents(item.Quantity)*item.UnitPrice - netOf(item)
		}
		o.DiscountTotal = &all
		net -= voucher
	}
	tax := (net*20 + 50) / 100
	o.TaxTotal = &tax
	if fee := p.channel.shipping; fee > 0 && net < freeShipping {
		o.ShippingTotal = &fee
	}
	s.cancelOrRefund(&o, p.channel, net+tax)
	return o
}

// customer returns a random customer, or nil for a guest. A third of the people are new.
func (s *simulation) customer(c channel) *sales.Customer {
	if c.wholesale {
		n := s.random.IntN(len(shop.Companies))
		mailbox := strings.ToLower(strings.NewReplacer(" & ", ".", " ", ".").Replace(shop.Companies[n]))
		return customer(fmt.Sprintf("B-%03d", n+1), shop.Companies[n], mailbox)
	}
	if !s.percent(c.named) {
		return nil
	}
	n := s.people
	if n > 0 && !s.percent(35) {
		n = s.random.IntN(n)
	} else {
		s.people++
	}
	first, last := shop.FirstNames[n%len(shop.FirstNames)], shop.LastNames[n%len(shop.LastNames)]
	mailbox := strings.ToLower(fmt.Sprintf("%s.%s%d", first, last, n+1))
	return customer(fmt.Sprintf("C-%05d", n+1), first+" "+last, mailbox)
}

func customer(id, name, mailbox string) *sales.Customer {
	email := mailbox + "@example.com"
	return &sales.Customer{ID: id, Name: &name, Email: &email}
}

// article returns a random article, by season and popularity. Before Christmas gifts are
// three times as popular.
func (s *simulation) article(at time.Time) article {
	articles := s.articles[shop.Departments[s.weighted(demandOn(at))].Code]
	weights := make([]int, len(articles))
	for i, a := range articles {
		weights[i] = a.popularity
		if a.gift && at.Month() == time.December && at.Day() <= lastGiftDay {
			weights[i] *= 3
		}
	}
	return articles[s.weighted(weights)]
}

// item returns an item with a random quantity and discount. In the sales of January and
// November a third of the items has a discount of 20 percent, otherwise a few have one of
// 10 percent.
func (s *simulation) item(a article, p purchase) sales.Item {
	item := sales.Item{SKU: a.sku, Quantity: 1, UnitPrice: a.price, UnitCost: a.cost}
	switch {
	case p.channel.wholesale:
		item.Quantity = int64(s.between(2, 6) * min(4, 1+10_000/int(a.price)))
	case a.price < 30_00 && s.percent(35):
		item.Quantity = int64(s.between(2, 4))
	}
	probability, off := 4, 10
	month, day := p.at.Month(), p.at.Day()
	if month == time.January && day > 17 || month == time.November && day > 19 {
		probability, off = 33, 20
	}
	if !p.channel.wholesale && s.percent(probability) {
		discount := money.Cents(item.Quantity) * item.UnitPrice * money.Cents(off) / 100
		item.Discount = &discount
	}
	return item
}

// netOf returns the value of an item after discount and before tax.
func netOf(item sales.Item) money.Cents {
	net := money.Cents(item.Quantity) * item.UnitPrice
	if item.Discount != nil {
		net -= *item.Discount
	}
	return net
}

// cancelOrRefund cancels some orders within two days, and refunds 3 percent of the others
// some weeks later.
func (s *simulation) cancelOrRefund(o *demoOrder, c channel, paid money.Cents) {
	hours := time.Duration(s.between(1, 40)) * time.Hour
	days := s.between(3, 45)
	if s.percent(c.cancelled) {
		o.cancelled = o.PlacedAt.Add(hours)
		return
	}
	if !s.percent(3) {
		return
	}
	amount := paid
	if s.percent(60) { // one unit of the first item
		amount = min(paid, (o.Items[0].UnitPrice*120+50)/100)
	}
	at, reference := o.PlacedAt.AddDate(0, 0, days).Add(hours/4), "return of "+o.Number
	o.refund = &sales.Refund{OrderNumber: o.Number, Amount: amount, RefundedAt: &at, Reference: &reference}
}

// percent returns true with a probability of p percent.
func (s *simulation) percent(p int) bool { return s.random.IntN(100) < p }

// between returns a random number from low to high.
func (s *simulation) between(low, high int) int { return low + s.random.IntN(high-low+1) }

// weighted returns a random index. Its probability is its share of the weights.
func (s *simulation) weighted(weights []int) int {
	n := s.random.IntN(sum(weights))
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
