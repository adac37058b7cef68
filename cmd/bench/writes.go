package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/go-chi/chi/v5"
	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
)

// created numbers the products that a run creates.
var created atomic.Int64

// writes compares the service with bare handlers that write the same rows to their own tables, which have the indexes
// of the service (see sql/bare.sql): the product, its tags, its stock, its ledger and its change in the feed. They have
// the connections that the service gives a tenant.
func writes(s *service) []scenario {
	shop := s.shops[large]
	patch := func(random *rand.Rand) request {
		path := fmt.Sprint("/api/products/", shop.any(random).ID)
		return request{method: "PATCH", path: path, body: fmt.Appendf(nil, `{"price":%d.50}`, random.IntN(600))}
	}
	bulk := func(products int, clients ...int) scenario {
		products = min(products, 2*len(shop.products))
		name := fmt.Sprintf("bulk of %d, half of them new", products)
		sc := s.againstBare(name, ofBulk, func(random *rand.Rand) request { return shop.upserts(products, random) })
		sc.pieces, sc.clients = products, clients
		return sc
	}
	return []scenario{
		s.againstBare("create", ofWrite, shop.newProduct),
		s.againstBare("patch", ofWrite, patch),
		bulk(100),
		bulk(1000, 1, 8), // the largest number of products in a request
		s.againstBare("adjust many products", ofWrite, shop.adjust),
		s.againstBare("adjust one hot product", ofBare, func(*rand.Rand) request { return shop.products[0].adjust() }),
	}
}

// adjust adds a piece to the stock.
func (p sampled) adjust() request {
	path := fmt.Sprintf("/api/products/%d/inventory/adjust", p.ID)
	return request{method: "POST", path: path, body: []byte(`{"type":"add","quantity":1}`)}
}

func (s shop) adjust(random *rand.Rand) request { return s.any(random).adjust() }

// newProduct creates a product.
func (s shop) newProduct(random *rand.Rand) request {
	return request{method: "POST", path: "/api/products", body: s.newProductJSON(random)}
}

func (s shop) newProductJSON(random *rand.Rand) []byte {
	return fmt.Appendf(nil, `{"sku":"BENCH-%d","name":"Bench kettle, slate %d","price":%d.99,"cost":"4.20","quantity":%d,`+
		`"category_id":%d,"seller_id":%d,"upc":"20%010d","tags":["kitchen","gift"]}`,
		created.Add(1), random.IntN(90), random.IntN(500), 1+random.IntN(100),
		s.products[0].Category, s.products[0].Seller, random.IntN(1e9))
}

// upserts creates products and changes the prices of as many others.
func (s shop) upserts(products int, random *rand.Rand) request {
	first, body := random.IntN(len(s.products)), []byte(`{"items":[`)
	for i := range products / 2 {
		if i > 0 {
			body = append(body, ',')
		}
		sku := s.products[(first+i)%len(s.products)].SKU
		body = fmt.Appendf(append(body, s.newProductJSON(random)...), `,{"sku":%q,"price":%d.90}`, sku, 5+random.IntN(500))
	}
	return request{method: "POST", path: "/api/products/bulk", body: append(body, "]}"...)}
}

// bareWrite is a product in a request. The fields after the price are those of a new product.
type bareWrite struct {
	SKU        string      `json:"sku"`
	Price      json.Number `json:"price"`
	Name       string      `json:"name"`
	Cost       string      `json:"cost"`
	Quantity   int32       `json:"quantity"`
	CategoryID int64       `json:"category_id"`
	SellerID   int64       `json:"seller_id"`
	UPC        string      `json:"upc"`
	Tags       []string    `json:"tags"`
}

// bareNew is a new product, in the order of the parameters of bareInsert. Tags are a literal of an array.
type bareNew struct {
	SKU, Name            string
	Price, Cost          int64
	Quantity             int32
	CategoryID, SellerID int64
	UPC, Tags            string
}

func (w bareWrite) row() bareNew {
	return bareNew{
		w.SKU, w.Name, bareCents(w.Price.String()), bareCents(w.Cost), w.Quantity, w.CategoryID, w.SellerID, w.UPC,
		"{" + strings.Join(w.Tags, ",") + "}",
	}
}

const (
	bareInsert = `
		with w as (select id from warehouses where tenant_id = $1 and is_default),
		p as (
			insert into bare.products
			       (tenant_id, sku, name, price, cost, status, condition, quantity, category_id, seller_id, warehouse_id,
			        upc, tags, search)
			select $1, sku, name, price, cost, 'active', 'new', quantity, category_id, seller_id, (select id from w),
			       upc, tags::text[], ' ' || lower(name || ' ' || sku || ' ' || upc)
			  from unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::int[], $7::bigint[], $8::bigint[],
			              $9::text[], $10::text[])
			       n (sku, name, price, cost, quantity, category_id, seller_id, upc, tags)
			returning *
		), tagged as (
			insert into bare.product_tags (tenant_id, tag, created_at, product_id, status, name, sku, price)
			select tenant_id, unnest(tags), created_at, id, status, name, sku, price from p
		), stocked as (
			insert into bare.stock (tenant_id, product_id, warehouse_id, quantity)
			select tenant_id, id, warehouse_id, quantity from p where quantity > 0
		), ledger as (
			insert into bare.inventory_adjustments
			       (tenant_id, product_id, warehouse_id, type, quantity, quantity_before, quantity_after)
			select tenant_id, id, warehouse_id, 'set', quantity, 0, quantity from p where quantity > 0
		), recorded as (
			insert into bare.changes (tenant_id, epoch, action, types, ids)
			select $1, 1, 'created', '{product,stock}', array_agg(id::text) from p
		)
		select`
	// bareAdd adds one piece and writes the ledger row.
	bareAdd = `
		with p as (
			update bare.products set quantity = quantity + 1, updated_at = clock_timestamp()
			 where tenant_id = $1 and id = $2
			returning *
		), stocked as (
			insert into bare.stock as s (tenant_id, product_id, warehouse_id, quantity)
			select tenant_id, id, warehouse_id, 1 from p
			on conflict (tenant_id, product_id, warehouse_id) do update set quantity = s.quantity + 1
		), ledger as (
			insert into bare.inventory_adjustments
			       (tenant_id, product_id, warehouse_id, type, quantity, quantity_before, quantity_after)
			select tenant_id, id, warehouse_id, 'add', 1, quantity - 1, quantity from p
		), recorded as (
			insert into bare.changes (tenant_id, epoch, action, types, changed, ids)
			select $1, 1, 'updated', '{product,stock}', '{quantity,updated_at}', array[id::text] from p
		)
		select` + bareColumns + ` from p`
	barePrice = `
		with p as (
			update bare.products
			   set price = $3, updated_at = clock_timestamp(), changed_at = clock_timestamp()
			 where tenant_id = $1 and id = $2
			returning *
		), ` + barePriced + ` select` + bareColumns + ` from p`
	barePrices = `
		with p as (
			update bare.products p
			   set price = u.price, updated_at = clock_timestamp(), changed_at = clock_timestamp()
			  from unnest($2::text[], $3::bigint[]) u (sku, price)
			 where p.tenant_id = $1 and p.sku = u.sku
			returning p.*
		), ` + barePriced + ` select id, sku from p`
	// barePriced is the rest of what a new price changes.
	barePriced = `tagged as (
			update bare.product_tags t
			   set price = p.price
			  from p
			 where t.tenant_id = $1 and t.product_id = p.id and t.tag = any (p.tags)
		), recorded as (
			insert into bare.changes (tenant_id, epoch, action, types, changed, ids)
			select $1, 1, 'updated', '{product}', '{price,updated_at}', array_agg(id::text) from p
		)`
)

// bareCents reads an amount with two decimals.
func bareCents(amount string) int64 {
	cents, _ := strconv.ParseInt(strings.Replace(amount, ".", "", 1), 10, 64)
	return cents
}

func (b *bare) create(r *http.Request, tenant tenancy.ID) (any, error) {
	var w bareWrite
	if err := json.NewDecoder(r.Body).Decode(&w); err != nil {
		return nil, err
	}
	return b.one(r, tenant, bareInsert+bareColumns+` from p`, columns([]bareNew{w.row()})...)
}

func (b *bare) patch(r *http.Request, tenant tenancy.ID) (any, error) {
	var w bareWrite
	if err := json.NewDecoder(r.Body).Decode(&w); err != nil {
		return nil, err
	}
	return b.one(r, tenant, barePrice, chi.URLParam(r, "id"), bareCents(w.Price.String()))
}

// bareOutcome is a row of the response to a bulk request.
type bareOutcome struct {
	Index  int    `json:"index"`
	SKU    string `json:"sku"`
	Status string `json:"status"`
	ID     int64  `json:"id"`
}

// upsert inserts the products that have a name and changes the prices of the others.
func (b *bare) upsert(r *http.Request, tenant tenancy.ID) (any, error) {
	var body struct{ Items []bareWrite }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return nil, err
	}
	var inserts []bareNew
	var skus []string
	var prices []int64
	outcomes, indexes := make([]bareOutcome, len(body.Items)), map[string]int{}
	for i, w := range body.Items {
		indexes[w.SKU] = i
		outcomes[i] = bareOutcome{Index: i, SKU: w.SKU, Status: "updated"}
	}
	slices.SortFunc(body.Items, func(a, b bareWrite) int { return cmp.Compare(a.SKU, b.SKU) }) // against deadlocks
	for _, w := range body.Items {
		if w.Name == "" {
			skus, prices = append(skus, w.SKU), append(prices, bareCents(w.Price.String()))
			continue
		}
		outcomes[indexes[w.SKU]].Status = "created"
		inserts = append(inserts, w.row())
	}
	collect := func(rows pgx.Rows) error {
		var id int64
		var sku string
		_, err := pgx.ForEachRow(rows, []any{&id, &sku}, func() error {
			outcomes[indexes[sku]].ID = id
			return nil
		})
		return err
	}
	return bareResponse{true, outcomes, map[string]int{"total": len(outcomes)}},
		b.send(r.Context(), tenant, func(batch *pgx.Batch) {
			batch.Queue(bareInsert+` id, sku from p`, append([]any{tenant}, columns(inserts)...)...).Query(collect)
			batch.Queue(barePrices, tenant, skus, prices).Query(collect)
		})
}
