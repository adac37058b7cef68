package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/money"
)

// ofInsert is the least share of the bare insert's orders a second: what the
// service does beside it is HTTP, rules, looking up what orders refer to, and the
// rollups.
const ofInsert = 0.5

const (
	bulkSize   = 1000   // orders of a request
	importSize = 500    // orders that the import takes in at once
	orderLines = 3      // items of each
	maxGoods   = 10_000 // products that the orders of a shop are made of
)

// ingestions send orders of three items, in the order of their time, half a minute
// after each other: that is why senders meet in the same rollups.
func ingestions(s *service, orders int) []scenario {
	shop := s.shops[large]
	ofBulk, ofImport := max(1, min(bulkSize, orders/100)), max(1, min(importSize, orders/100))
	bulk := func(slug string, goods int) traffic {
		shop := s.shops[slug]
		shop.goods = shop.goods[:min(len(shop.goods), goods)]
		return s.at(slug, shop.bulk(ofBulk))
	}
	return []scenario{
		{name: "ingest: bulk of 1,000 orders", work: bulk(large, maxGoods), beside: bareInsert{s.floors, shop, ofBulk},
			against: "bare insert", aim: aim{ratio: ofInsert}, pieces: ofBulk, clients: []int{1, 2}},
		{name: "ingest: import", work: intake{sales.New(s.db), shop, ofImport}, beside: bareInsert{s.floors, shop, ofImport},
			against: "bare insert", aim: aim{ratio: ofInsert}, pieces: ofImport, clients: []int{1, 2}},
		{name: "ingest: two senders in a tenant", work: bulk(large, smallSize), beside: dealt{bulk(large, smallSize), bulk(small, smallSize)},
			against: "two tenants", aim: aim{ratio: ofNoWait}, pieces: ofBulk, clients: []int{2}},
	}
}

// ofNoWait is what two senders in one tenant get done, of two in two tenants. Half
// would be one after the other.
const ofNoWait = 0.75

// good is a product as a sender of orders names it, and as the facts do.
type good struct {
	SoldID      int64
	SKU         string
	Price, Cost money.Cents
}

// buyer is a customer, likewise.
type buyer struct {
	ID                  int64
	Number, Name, Email string
}

// sent numbers the orders that a run sends, so that each is new.
var sent atomic.Int64

// ordered is an order of which the facts are known: no discount of the whole, no
// cost but the product's.
type ordered struct {
	number   string
	placedAt time.Time
	channel  string
	buyer    *buyer
	goods    [orderLines]good
	quantity [orderLines]int64
	discount [orderLines]int64
}

// order makes one up.
func (s shop) order(random *rand.Rand) ordered {
	n := sent.Add(1)
	begin, _ := time.Parse(time.DateOnly, sellingNow)
	o := ordered{
		number:   fmt.Sprint("B-", n),
		placedAt: begin.Add(time.Duration(n) * 30 * time.Second % (200 * 24 * time.Hour)),
		channel:  channels[random.IntN(len(channels))],
	}
	if random.IntN(10) >= 3 {
		o.buyer = &s.buyers[random.IntN(len(s.buyers))]
	}
	off := random.IntN(10) == 0
	for i := range orderLines {
		// By Zipf's law, as the generated orders.
		o.goods[i] = s.goods[int(math.Pow(float64(len(s.goods)), random.Float64()))-1]
		o.quantity[i] = 1 + int64(random.IntN(3))
		if off {
			o.discount[i] = o.quantity[i] * int64(o.goods[i].Price) / 10
		}
	}
	return o
}

func (s shop) make(n int, random *rand.Rand) []ordered {
	all := make([]ordered, n)
	for i := range all {
		all[i] = s.order(random)
	}
	return all
}

func (o ordered) net(i int) int64 { return o.quantity[i]*int64(o.goods[i].Price) - o.discount[i] }

// tax of a line is 20 %.
func (o ordered) tax(i int) int64 { return o.net(i) / 5 }

func (o ordered) taxTotal() (sum int64) {
	for i := range orderLines {
		sum += o.tax(i)
	}
	return sum
}

// bulk is requests of n orders.
func (s shop) bulk(n int) func(*rand.Rand) request {
	return func(random *rand.Rand) request {
		body := []byte(`{"orders":[`)
		for i, o := range s.make(n, random) {
			if i > 0 {
				body = append(body, ',')
			}
			body = o.append(body)
		}
		return request{"POST", "/api/orders/bulk", append(body, "]}"...)}
	}
}

func (o ordered) append(b []byte) []byte {
	b = fmt.Appendf(b, `{"number":%q,"placed_at":%q,"channel":%q,"tax_total":%s,`, o.number, o.placedAt.Format(time.RFC3339), o.channel, money.Cents(o.taxTotal()))
	if o.buyer != nil {
		b = fmt.Appendf(b, `"customer":{"id":%q,"name":%q,"email":%q},`, o.buyer.Number, o.buyer.Name, o.buyer.Email)
	}
	b = append(b, `"items":[`...)
	for i := range orderLines {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"sku":%q,"quantity":%d,"unit_price":%s`, o.goods[i].SKU, o.quantity[i], o.goods[i].Price)
		if o.discount[i] > 0 {
			b = fmt.Appendf(b, `,"discount":%s`, money.Cents(o.discount[i]))
		}
		b = append(b, '}')
	}
	return append(b, "]}"...)
}

// row is the order as the import has it.
func (o ordered) row() sales.Row {
	order := sales.Order{Number: o.number, PlacedAt: o.placedAt, Channel: o.channel, TaxTotal: new(money.Cents(o.taxTotal()))}
	if o.buyer != nil {
		order.Customer = &sales.Customer{ID: o.buyer.Number, Name: &o.buyer.Name, Email: &o.buyer.Email}
	}
	for i := range orderLines {
		item := sales.Item{SKU: o.goods[i].SKU, Quantity: o.quantity[i], UnitPrice: o.goods[i].Price}
		if o.discount[i] > 0 {
			item.Discount = new(money.Cents(o.discount[i]))
		}
		order.Items = append(order.Items, item)
	}
	return sales.Row{Order: order}
}

// intake is what the import does once it has read a file.
type intake struct {
	store *sales.Store
	shop  shop
	size  int
}

func (i intake) open(_ context.Context, n int) (worker, error) {
	return &intaker{i, newRandom(n)}, nil
}

type intaker struct {
	intake
	random *rand.Rand
}

func (i *intaker) step(ctx context.Context) (int, error) {
	var rows []sales.Row
	for _, o := range i.shop.make(i.size, i.random) {
		rows = append(rows, o.row())
	}
	results, err := i.store.Ingest(ctx, i.shop.id, rows)
	for _, r := range results {
		if r.Outcome != sales.Created {
			return 0, fmt.Errorf("order %s is %s, want %s: %w", r.Number, r.Outcome, sales.Created, r.Err)
		}
	}
	return http.StatusOK, err
}

func (*intaker) close() {}

// bareInsert stores the same rows in the same tables, in a transaction for each
// batch, by the same role under the same policies. What an order refers to is
// known, its sums are right, and no rollup learns of it.
type bareInsert struct {
	floors *floors
	shop   shop
	size   int
}

func (b bareInsert) open(_ context.Context, n int) (worker, error) {
	return &inserter{b, newRandom(n)}, nil
}

type inserter struct {
	bareInsert
	random *rand.Rand
}

func (*inserter) close() {}

// bareIDs are far above those of the sequence, and end where a run's data does.
var bareIDs atomic.Int64

const firstBareID = 1 << 40

func (n *inserter) step(ctx context.Context) (int, error) {
	var c columns
	for _, o := range n.shop.make(n.size, n.random) {
		c.add(firstBareID+bareIDs.Add(1), o)
	}
	return http.StatusOK, n.floors.flight(ctx, n.shop.id, func(b *pgx.Batch) {
		b.Queue(`
			insert into orders (tenant_id, id, number, placed_at, channel, customer_id, items, units, units_without_cost, revenue, discounts, tax, cost, content)
			select $1, id, number, placed_at, channel, customer_id, $2, units, 0, revenue, discounts, tax, cost, content
			  from unnest($3::bigint[], $4::text[], $5::timestamptz[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[],
			              $12::bigint[], $13::bytea[])
			       u (id, number, placed_at, channel, customer_id, units, revenue, discounts, tax, cost, content)`,
			n.shop.id, orderLines, c.id, c.number, c.placedAt, c.channel, c.customer, c.units, c.revenue, c.discounts, c.tax, c.cost, c.content)
		b.Queue(`
			insert into order_items (tenant_id, order_id, line, placed_at, sold_id, quantity, unit_price, unit_cost, discount, tax)
			select $1, * from unnest($2::bigint[], $3::int[], $4::timestamptz[], $5::bigint[], $6::int[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[])`,
			n.shop.id, c.lineOrder, c.line, c.linePlacedAt, c.sold, c.quantity, c.price, c.lineCost, c.lineDiscount, c.lineTax)
	})
}

// columns are the rows of a batch: first of orders, then of their items.
type columns struct {
	id, units, revenue, discounts, tax, cost []int64
	customer                                 []*int64
	number, channel                          []string
	placedAt                                 []time.Time
	content                                  [][]byte

	lineOrder, sold, price, lineCost, lineDiscount, lineTax []int64
	line, quantity                                          []int32
	linePlacedAt                                            []time.Time
}

func (c *columns) add(id int64, o ordered) {
	var units, revenue, discounts, cost int64
	for i, g := range o.goods {
		units, revenue, discounts, cost = units+o.quantity[i], revenue+o.net(i), discounts+o.discount[i], cost+o.quantity[i]*int64(g.Cost)
		c.lineOrder, c.line, c.linePlacedAt = append(c.lineOrder, id), append(c.line, int32(i+1)), append(c.linePlacedAt, o.placedAt)
		c.sold, c.quantity = append(c.sold, g.SoldID), append(c.quantity, int32(o.quantity[i]))
		c.price, c.lineCost = append(c.price, int64(g.Price)), append(c.lineCost, int64(g.Cost))
		c.lineDiscount, c.lineTax = append(c.lineDiscount, o.discount[i]), append(c.lineTax, o.tax(i))
	}
	var customer *int64
	if o.buyer != nil {
		customer = &o.buyer.ID
	}
	c.id, c.number, c.placedAt = append(c.id, id), append(c.number, o.number), append(c.placedAt, o.placedAt)
	c.channel, c.customer = append(c.channel, o.channel), append(c.customer, customer)
	c.units, c.revenue, c.discounts = append(c.units, units), append(c.revenue, revenue), append(c.discounts, discounts)
	c.tax, c.cost, c.content = append(c.tax, o.taxTotal()), append(c.cost, cost), append(c.content, make([]byte, 32))
}

// dealt gives clients different works, in turn.
type dealt []work

func (d dealt) open(ctx context.Context, n int) (worker, error) { return d[n%len(d)].open(ctx, n) }
