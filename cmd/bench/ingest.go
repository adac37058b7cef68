package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/money"
)

const (
	ofInsert   = 0.5    // target share of the rate of bare inserts
	ofTwo      = 0.75   // target share of two tenants' rate for two senders in one tenant; serialized they reach 0.5
	bulkSize   = 1000   // orders in a request
	importSize = 500    // orders in a batch of the import
	orderLines = 3      // items in an order
	maxGoods   = 10_000 // different products in the orders of a shop
)

// ingestions send orders of three items. Each order is placed 30 seconds after the
// previous one, so concurrent senders update the same rollups.
func ingestions(s *service, orders int) []scenario {
	shop := s.shops[large]
	ofBulk, ofImport := max(1, min(bulkSize, orders/100)), max(1, min(importSize, orders/100))
	bulk := func(slug string, goods int) work {
		shop := s.shops[slug]
		shop.goods = shop.goods[:min(len(shop.goods), goods)]
		return s.at(slug, shop.bulk(ofBulk))
	}
	inLarge, inSmall := bulk(large, smallSize), bulk(small, smallSize)
	inTwo := func(ctx context.Context, n int) (step, error) { return []work{inLarge, inSmall}[n%2](ctx, n) }
	return []scenario{
		{
			name: "ingest: bulk of 1,000 orders", work: bulk(large, maxGoods), pieces: ofBulk, clients: []int{1, 2},
			baseline: s.bareInsert(shop, ofBulk), against: "bare insert", target: target{ratio: ofInsert},
		},
		{
			name: "ingest: import", work: s.ingest(shop, ofImport), pieces: ofImport, clients: []int{1, 2},
			baseline: s.bareInsert(shop, ofImport), against: "bare insert", target: target{ratio: ofInsert},
		},
		{
			name: "ingest: two senders in a tenant", work: inLarge, pieces: ofBulk, clients: []int{2},
			baseline: inTwo, against: "two tenants", target: target{ratio: ofTwo},
		},
	}
}

var channels = strings.Fields("pos pos pos web web web app marketplace wholesale phone")

// good is a product that orders contain.
type good struct {
	SoldID      int64 // in sold_products
	SKU         string
	Price, Cost money.Cents
}

// buyer is a customer. Number is the customer id that the sender uses.
type buyer struct {
	ID                  int64
	Number, Name, Email string
}

// orderCount numbers the orders of a run, so that each is new.
var orderCount atomic.Int64

// newOrder is an order to send. Its items have the product's cost, and the order has no
// discount, so its stored rows are known in advance.
type newOrder struct {
	number   string
	placedAt time.Time
	channel  string
	buyer    *buyer
	items    [orderLines]newItem
}

type newItem struct {
	good
	quantity, discount int64
}

func (i newItem) revenue() int64 { return i.quantity*int64(i.Price) - i.discount }

// tax is 20 %.
func (i newItem) tax() int64 { return i.revenue() / 5 }

func (o newOrder) taxTotal() (sum int64) {
	for _, item := range o.items {
		sum += item.tax()
	}
	return sum
}

func (s shop) order(random *rand.Rand) newOrder {
	n := orderCount.Add(1)
	start, _ := time.Parse(time.DateOnly, runsFrom)
	o := newOrder{
		number:   fmt.Sprint("B-", n),
		placedAt: start.Add(time.Duration(n) * 30 * time.Second % (200 * 24 * time.Hour)),
		channel:  channels[random.IntN(len(channels))],
	}
	if random.IntN(10) >= 3 {
		o.buyer = &s.buyers[random.IntN(len(s.buyers))]
	}
	discounted := random.IntN(10) == 0
	for i := range o.items {
		// Products are distributed by Zipf's law, as in the generated orders.
		rank := int(math.Pow(float64(len(s.goods)), random.Float64()))
		item := newItem{good: s.goods[rank-1], quantity: 1 + int64(random.IntN(3))}
		if discounted {
			item.discount = item.quantity * int64(item.Price) / 10
		}
		o.items[i] = item
	}
	return o
}

func (s shop) orders(n int, random *rand.Rand) []newOrder {
	orders := make([]newOrder, n)
	for i := range orders {
		orders[i] = s.order(random)
	}
	return orders
}

// bulk returns requests of n orders.
func (s shop) bulk(n int) func(*rand.Rand) request {
	return func(random *rand.Rand) request {
		body := []byte(`{"orders":[`)
		for i, o := range s.orders(n, random) {
			if i > 0 {
				body = append(body, ',')
			}
			body = o.appendJSON(body)
		}
		return request{"POST", "/api/orders/bulk", append(body, "]}"...)}
	}
}

func (o newOrder) appendJSON(b []byte) []byte {
	b = fmt.Appendf(b, `{"number":%q,"placed_at":%q,"channel":%q,"tax_total":%s,`,
		o.number, o.placedAt.Format(time.RFC3339), o.channel, money.Cents(o.taxTotal()))
	if o.buyer != nil {
		b = fmt.Appendf(b, `"customer":{"id":%q,"name":%q,"email":%q},`, o.buyer.Number, o.buyer.Name, o.buyer.Email)
	}
	b = append(b, `"items":[`...)
	for i, item := range o.items {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"sku":%q,"quantity":%d,"unit_price":%s`, item.SKU, item.quantity, item.Price)
		if item.discount > 0 {
			b = fmt.Appendf(b, `,"discount":%s`, money.Cents(item.discount))
		}
		b = append(b, '}')
	}
	return append(b, "]}"...)
}

// row returns the order as the import passes it to Ingest.
func (o newOrder) row() sales.Row {
	order := sales.Order{
		Number: o.number, PlacedAt: o.placedAt, Channel: o.channel, TaxTotal: new(money.Cents(o.taxTotal())),
	}
	if o.buyer != nil {
		order.Customer = &sales.Customer{ID: o.buyer.Number, Name: &o.buyer.Name, Email: &o.buyer.Email}
	}
	for _, i := range o.items {
		item := sales.Item{SKU: i.SKU, Quantity: i.quantity, UnitPrice: i.Price}
		if i.discount > 0 {
			item.Discount = new(money.Cents(i.discount))
		}
		order.Items = append(order.Items, item)
	}
	return sales.Row{Order: order}
}

// ingest does what the import does after reading a file.
func (s *service) ingest(shop shop, size int) work {
	store := sales.New(s.db)
	return func(_ context.Context, n int) (step, error) {
		random := newRandom(n)
		return func(ctx context.Context) (int, error) {
			var rows []sales.Row
			for _, o := range shop.orders(size, random) {
				rows = append(rows, o.row())
			}
			results, err := store.Ingest(ctx, shop.id, rows)
			for _, r := range results {
				if r.Outcome != sales.Created {
					return 0, fmt.Errorf("order %s is %s, want %s: %w", r.Number, r.Outcome, sales.Created, r.Err)
				}
			}
			return http.StatusOK, err
		}, nil
	}
}

// bareIDs number the orders of bareInsert, far above the ids of the sequence.
var bareIDs atomic.Int64

const firstBareID = 1 << 40

// bareInsert stores the same rows in one transaction per batch, as the same role. It
// looks up no references, computes no sums and updates no rollups.
func (s *service) bareInsert(shop shop, size int) work {
	return func(_ context.Context, n int) (step, error) {
		random := newRandom(n)
		return func(ctx context.Context) (int, error) {
			var orders []bareOrder
			var items []bareItem
			for _, o := range shop.orders(size, random) {
				order := o.bare(firstBareID + bareIDs.Add(1))
				orders = append(orders, order)
				items = append(items, o.bareItems(order.ID)...)
			}
			return http.StatusOK, s.bare.send(ctx, shop.id, func(b *pgx.Batch) {
				b.Queue(insertBareOrders, append([]any{shop.id, orderLines}, columns(orders)...)...)
				b.Queue(insertBareItems, append([]any{shop.id}, columns(items)...)...)
			})
		}, nil
	}
}

const (
	insertBareOrders = `
		insert into orders (tenant_id, id, number, placed_at, channel, customer_id,
		                    items, units, units_without_cost, revenue, discounts, tax, cost, content)
		select $1, id, number, placed_at, channel, customer_id, $2, units, 0, revenue, discounts, tax, cost, content
		  from unnest($3::bigint[], $4::text[], $5::timestamptz[], $6::text[], $7::bigint[], $8::bigint[],
		              $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bytea[])
		       u (id, number, placed_at, channel, customer_id, units, revenue, discounts, tax, cost, content)`
	insertBareItems = `
		insert into order_items (tenant_id, order_id, line, placed_at, sold_id, quantity,
		                         unit_price, unit_cost, discount, tax)
		select $1, *
		  from unnest($2::bigint[], $3::int[], $4::timestamptz[], $5::bigint[], $6::int[],
		              $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[])`
)

// bareOrder is a row of orders, in the order of the parameters of insertBareOrders.
type bareOrder struct {
	ID                                   int64
	Number                               string
	PlacedAt                             time.Time
	Channel                              string
	Customer                             *int64
	Units, Revenue, Discounts, Tax, Cost int64
	Content                              []byte
}

// bareItem is a row of order_items, in the order of the parameters of insertBareItems.
type bareItem struct {
	Order                      int64
	Line                       int32
	PlacedAt                   time.Time
	Sold                       int64
	Quantity                   int32
	Price, Cost, Discount, Tax int64
}

func (o newOrder) bare(id int64) bareOrder {
	b := bareOrder{
		ID: id, Number: o.number, PlacedAt: o.placedAt, Channel: o.channel, Tax: o.taxTotal(), Content: make([]byte, 32),
	}
	if o.buyer != nil {
		b.Customer = &o.buyer.ID
	}
	for _, item := range o.items {
		b.Units += item.quantity
		b.Revenue += item.revenue()
		b.Discounts += item.discount
		b.Cost += item.quantity * int64(item.Cost)
	}
	return b
}

func (o newOrder) bareItems(order int64) []bareItem {
	items := make([]bareItem, len(o.items))
	for i, item := range o.items {
		items[i] = bareItem{
			order, int32(i + 1), o.placedAt, item.SoldID, int32(item.quantity),
			int64(item.Price), int64(item.Cost), item.discount, item.tax(),
		}
	}
	return items
}

// columns returns a slice for each field of the rows, as arguments of unnest.
func columns[T any](rows []T) []any {
	all := make([]any, reflect.TypeFor[T]().NumField())
	for field := range all {
		column := reflect.MakeSlice(reflect.SliceOf(reflect.TypeFor[T]().Field(field).Type), len(rows), len(rows))
		for i, row := range rows {
			column.Index(i).Set(reflect.ValueOf(row).Field(field))
		}
		all[field] = column.Interface()
	}
	return all
}
