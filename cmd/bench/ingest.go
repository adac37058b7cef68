package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy/money"
)

const (
	ofInsert   = 0.6    // target share of the rate of bare inserts
	ofTwo      = 0.75   // target share of two tenants' rate for two senders in one tenant; serialized they reach 0.5
	bulkSize   = 1000   // orders in a request
	orderLines = 3      // items in an order
	maxGoods   = 10_000 // different products in the orders of a shop
)

// ingestions send orders of three items. Each order is placed 30 seconds after the
// previous one, so concurrent senders update the same rollups.
func ingestions(s *service, orders int) []scenario {
	shop := s.shops[large]
	ofBulk := max(1, min(bulkSize, orders/100))
	bulk := func(slug string, goods int) work {
		shop := s.shops[slug]
		shop.goods = shop.goods[:min(len(shop.goods), goods)]
		return s.at(slug, shop.bulk(ofBulk))
	}
	inLarge, inSmall := bulk(large, smallSize), bulk(small, smallSize)
	inTwo := func(ctx context.Context, n int) step { return []work{inLarge, inSmall}[n%2](ctx, n) }
	return []scenario{
		{
			name: "ingest: bulk of 1,000 orders", work: bulk(large, maxGoods), pieces: ofBulk, clients: []int{1, 2},
			baseline: s.bareInsert(shop, ofBulk), against: "bare insert", target: target{ratio: ofInsert},
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
	SoldID int64       `json:"-"` // in sold_products
	SKU    string      `json:"sku"`
	Price  money.Cents `json:"unit_price"`
	Cost   money.Cents `json:"-"`
}

// buyer is a customer. Number is the customer id that the sender uses.
type buyer struct {
	ID     int64  `json:"-"`
	Number string `json:"id"`
	Name   string `json:"name"`
	Email  string `json:"email"`
}

// orderCount numbers the orders of a run, so that each is new.
var orderCount atomic.Int64

// newOrder is an order to send, in the form of the API. Its items have the product's cost, so its stored rows are known
// in advance.
type newOrder struct {
	Number   string              `json:"number"`
	PlacedAt time.Time           `json:"placed_at"`
	Channel  string              `json:"channel"`
	TaxTotal money.Cents         `json:"tax_total"`
	Buyer    *buyer              `json:"customer,omitempty"`
	Items    [orderLines]newItem `json:"items"`
}

type newItem struct {
	good
	Quantity int64       `json:"quantity"`
	Discount money.Cents `json:"discount,omitempty"`
}

func (i newItem) revenue() money.Cents { return money.Cents(i.Quantity)*i.Price - i.Discount }

// tax is 20 %.
func (i newItem) tax() money.Cents { return i.revenue() / 5 }

func (s shop) order(random *rand.Rand) newOrder {
	n := orderCount.Add(1)
	start, _ := time.Parse(time.DateOnly, runsFrom)
	o := newOrder{
		Number:   fmt.Sprint("B-", n),
		PlacedAt: start.Add(time.Duration(n) * 30 * time.Second % (200 * 24 * time.Hour)),
		Channel:  channels[random.IntN(len(channels))],
	}
	if random.IntN(10) >= 3 {
		o.Buyer = &s.buyers[random.IntN(len(s.buyers))]
	}
	discounted := random.IntN(10) == 0
	for i := range o.Items {
		// Products are distributed by Zipf's law, as in the generated orders.
		rank := int(math.Pow(float64(len(s.goods)), random.Float64()))
		item := newItem{good: s.goods[rank-1], Quantity: 1 + int64(random.IntN(3))}
		if discounted {
			item.Discount = money.Cents(item.Quantity) * item.Price / 10
		}
		o.Items[i] = item
		o.TaxTotal += item.tax()
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
		body, err := json.Marshal(map[string]any{"orders": s.orders(n, random)})
		if err != nil {
			panic(err) // impossible: newOrder has only texts, numbers and times
		}
		return request{method: "POST", path: "/api/orders/bulk", body: body}
	}
}

// bareIDs number the orders of bareInsert, far above the ids of the sequence.
var bareIDs atomic.Int64

const firstBareID = 1 << 40

// bareInsert stores the same rows in one transaction per batch, as the same role. It
// looks up no references, computes no sums and updates no rollups.
func (s *service) bareInsert(shop shop, size int) work {
	return func(_ context.Context, n int) step {
		random := newRandom(n)
		return func(ctx context.Context) (int, error) {
			var orders []bareOrder
			var items []bareItem
			for _, o := range shop.orders(size, random) {
				row, lines := o.bare(firstBareID + bareIDs.Add(1))
				orders, items = append(orders, row), append(items, lines...)
			}
			return http.StatusOK, s.bare.send(ctx, shop.id, func(b *pgx.Batch) {
				b.Queue(insertBareOrders, append([]any{shop.id, orderLines}, columns(orders)...)...)
				b.Queue(insertBareItems, append([]any{shop.id}, columns(items)...)...)
			})
		}
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

// bare returns the rows that store the order under an id.
func (o newOrder) bare(id int64) (bareOrder, []bareItem) {
	row := bareOrder{
		ID: id, Number: o.Number, PlacedAt: o.PlacedAt, Channel: o.Channel, Tax: int64(o.TaxTotal), Content: make([]byte, 32),
	}
	if o.Buyer != nil {
		row.Customer = &o.Buyer.ID
	}
	items := make([]bareItem, len(o.Items))
	for i, item := range o.Items {
		row.Units += item.Quantity
		row.Revenue += int64(item.revenue())
		row.Discounts += int64(item.Discount)
		row.Cost += item.Quantity * int64(item.Cost)
		items[i] = bareItem{
			id, int32(i + 1), o.PlacedAt, item.SoldID, int32(item.Quantity),
			int64(item.Price), int64(item.Cost), int64(item.Discount), int64(item.tax()),
		}
	}
	return row, items
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
