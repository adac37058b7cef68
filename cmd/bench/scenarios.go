package main

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"
)

// scenario is one line of the table: a work, and another of the same kind that it
// is measured against in alternation.
type scenario struct {
	name    string
	work    work
	beside  work   // nil for none
	against string // what beside is
	aim     aim
	pieces  int   // how many orders or rows one step of the work is; 0 is 1
	clients []int // nil are those that the run was asked for
}

// aim is what the service is to reach; zero fields ask for nothing. Ratios hold
// for every number of clients, times for a client alone.
type aim struct {
	ratio float64       // of the rate beside
	p50   time.Duration // at most
}

const (
	ofFloor   = 0.75     // of the bare handler that does the same work
	ofSmall   = 1 / 1.3  // page 1 at a million within 1.3 times of a thousand
	flat      = 1 / 1.15 // nothing grows with other tenants' rows, within what can be told apart
	deepPage  = 120 * time.Millisecond
	searching = 20 * time.Millisecond
	sorting   = 5 * time.Millisecond // page 1 of a million, which an index has in order
	// counting is for rows and exact total together, as the list answers them.
	counting = 150*time.Millisecond + searching
)

// scenarios is the whole table: reads before writes, so that every run reads the
// same rows.
func scenarios(full, empty *service, telemetry *watched, products, sold int) []scenario {
	all := append(keyed(full), telemetries(full, telemetry)...)
	all = append(all, lists(full, products)...)
	all = append(all, searches(full)...)
	all = append(all, neighbourhood(full, empty)...)
	all = append(all, orders(full)...)
	all = append(all, summaries(full)...)
	all = append(all, aggregations(full)...)
	all = append(all, exports(full)...)
	all = append(all, writes(full)...)
	return append(all, ingestions(full, sold)...)
}

func (s shop) any(random *rand.Rand) sampled { return s.products[random.IntN(len(s.products))] }

// at is requests of a shop to the product.
func (s *service) at(slug string, next func(*rand.Rand) request) traffic {
	return traffic{s.address, s.shops[slug].key, next}
}

// same is the requests of t to the floors.
func (s *service) same(t traffic) traffic {
	t.address = s.floor
	return t
}

func always(path string) func(*rand.Rand) request {
	return func(*rand.Rand) request { return request{method: "GET", path: path} }
}

func (s shop) byID(random *rand.Rand) request {
	return request{method: "GET", path: "/api/products/" + strconv.FormatInt(s.any(random).ID, 10)}
}

func (s shop) bySKU(random *rand.Rand) request {
	return request{method: "GET", path: "/api/products/sku/" + url.PathEscape(s.any(random).SKU)}
}

func keyed(s *service) []scenario {
	byID, constant := s.at(large, s.shops[large].byID), s.same(s.at(large, always("/constant")))
	return []scenario{
		{name: "bare constant", work: constant},
		{name: "get by id", work: byID, beside: s.same(byID), against: "bare handler", aim: aim{ratio: ofFloor}},
		{name: "get by id, against SQL", work: byID, beside: bareQuery{s.floors, s.shops[large]}, against: "bare SQL"},
		{name: "get by id, against constant", work: byID, beside: constant, against: "bare constant"},
		{name: "get by SKU", work: s.at(large, s.shops[large].bySKU)},
	}
}

func lists(s *service, products int) []scenario {
	shop := s.shops[large]
	first := s.at(large, always("/api/products"))
	all := []scenario{
		{name: "page 1", work: first, beside: s.same(first), against: "bare handler", aim: aim{ratio: ofFloor}},
		{name: "page 1, against a thousand", work: first, beside: s.at(small, always("/api/products")),
			against: "1,000 products", aim: aim{ratio: ofSmall}},
		{name: "total alone, against a thousand", work: s.at(large, always("/api/products?per_page=1")),
			beside: s.at(small, always("/api/products?per_page=1")), against: "1,000 products", aim: aim{ratio: ofSmall}},
	}
	last := max(1, products/100)
	for _, l := range []struct {
		name, query string
		aim         aim
	}{
		{"page 1 of 100", "per_page=100", aim{}},
		{fmt.Sprintf("page %d of 100", min(100, last)), fmt.Sprint("per_page=100&page=", min(100, last)), aim{}},
		{fmt.Sprintf("page %d of 100, the last", last), fmt.Sprint("per_page=100&page=", last), aim{p50: deepPage}},
		{"sort name", "sort=name", aim{p50: sorting}},
		{"sort name desc", "sort=name&direction=desc", aim{p50: sorting}},
		{"sort sku", "sort=sku", aim{p50: sorting}},
		{"sort sku desc", "sort=sku&direction=desc", aim{p50: sorting}},
		{"sort price", "sort=price", aim{p50: sorting}},
		{"sort price desc", "sort=price&direction=desc", aim{p50: sorting}},
		{"sort created_at", "sort=created_at", aim{p50: sorting}},
		{"sort created_at desc", "sort=created_at&direction=desc", aim{p50: sorting}},
		{"status active", "status=active", aim{}},
		{"status draft, sort price", "status=draft&sort=price", aim{}},
		{"category", fmt.Sprint("category_id=", shop.category), aim{}},
		{"category, sort price", fmt.Sprint("sort=price&category_id=", shop.category), aim{}},
		{"seller", fmt.Sprint("seller_id=", shop.seller), aim{}},
		{"warehouse", fmt.Sprint("warehouse_id=", shop.warehouse), aim{}},
		{"tag, rare", "tag=" + rareTag, aim{}},
		{"tag, common", "tag=" + commonTag, aim{}},
		{"tag, common, sort name", "sort=name&tag=" + commonTag, aim{}},
		{"from and to, a month", "from=2025-03-01&to=2025-03-31", aim{}},
		{"from, half of all", "from=2025-01-01", aim{}},
	} {
		all = append(all, scenario{name: "list: " + l.name, work: s.at(large, always("/api/products?"+l.query)), aim: l.aim})
	}
	return all
}

func searches(s *service) []scenario {
	shop := s.shops[large]
	one := func(random *rand.Rand) request {
		sku := shop.any(random).SKU
		return request{method: "GET", path: "/api/products?search=" + url.QueryEscape(sku[len(sku)-7:])}
	}
	all := []scenario{{name: "search: one product", work: s.at(large, one), aim: aim{p50: searching}}}
	for _, l := range []struct {
		name, term string
		p50        time.Duration
	}{
		{"two words", things[0] + "+" + colours[0], searching},
		{"0.9 %", someWord, searching},
		{"2 %, the oldest", oldWord, counting},
		{"5 %", commonWord, counting},
		{"two letters, 5 %", twoLetters, counting},
		{"two letters, none", noLetters, searching},
		{"none", noWord, searching},
	} {
		all = append(all, scenario{name: "search: " + l.name, work: s.at(large, always("/api/products?search="+l.term)), aim: aim{p50: l.p50}})
	}
	return all
}

// neighbourhood asks the small tenant's questions in the full database and in one
// where it is alone.
func neighbourhood(full, empty *service) []scenario {
	var all []scenario
	for _, l := range []struct {
		name string
		next func(shop) func(*rand.Rand) request
	}{
		{"get by id", func(s shop) func(*rand.Rand) request { return s.byID }},
		{"page 1", func(shop) func(*rand.Rand) request { return always("/api/products") }},
		{"search", func(shop) func(*rand.Rand) request { return always("/api/products?search=" + commonWord) }},
	} {
		all = append(all, scenario{
			name:    "neighbourhood: " + l.name,
			work:    full.at(small, l.next(full.shops[small])),
			beside:  empty.at(small, l.next(empty.shops[small])),
			against: "alone", aim: aim{ratio: flat},
		})
	}
	return all
}

// created numbers the products that a run makes.
var created atomic.Int64

func writes(s *service) []scenario {
	shop := s.shops[large]
	create := func(random *rand.Rand) request {
		return request{"POST", "/api/products", fmt.Appendf(nil,
			`{"sku":"BENCH-%d","name":"Bench kettle, slate %d","price":%d.99,"cost":"4.20","quantity":%d,"category_id":%d,"seller_id":%d,"upc":"20%010d","tags":["kitchen","gift"]}`,
			created.Add(1), random.IntN(90), random.IntN(500), random.IntN(100), shop.category, shop.seller, random.IntN(1e9))}
	}
	patch := func(random *rand.Rand) request {
		return request{"PATCH", fmt.Sprint("/api/products/", shop.any(random).ID), fmt.Appendf(nil, `{"price":%d.50}`, random.IntN(600))}
	}
	adjust := func(p sampled) request {
		return request{"POST", fmt.Sprintf("/api/products/%d/inventory/adjust", p.ID), []byte(`{"type":"add","quantity":1}`)}
	}
	bulk := func(random *rand.Rand) request {
		return request{"POST", "/api/products/bulk", shop.upserts(random)}
	}
	hot := s.at(large, func(*rand.Rand) request { return adjust(shop.products[0]) })
	many := s.at(large, func(random *rand.Rand) request { return adjust(shop.any(random)) })
	return []scenario{
		{name: "create", work: s.at(large, create)},
		{name: "patch", work: s.at(large, patch)},
		{name: "bulk of 100, half of them new", work: s.at(large, bulk)},
		{name: "adjust many products", work: many, beside: s.same(many), against: "bare handler", aim: aim{ratio: ofFloor}},
		{name: "adjust one hot product", work: hot, beside: s.same(hot), against: "bare handler", aim: aim{ratio: ofFloor}},
	}
}

// upserts is a body of 50 new products and 50 that get another price.
func (s shop) upserts(random *rand.Rand) []byte {
	body, first := []byte(`{"items":[`), random.IntN(len(s.products))
	for i := range 50 {
		if i > 0 {
			body = append(body, ',')
		}
		body = fmt.Appendf(body, `{"sku":"BENCH-%d","name":"Bench pan, slate","price":9.90,"quantity":5,"category_id":%d},`, created.Add(1), s.category)
		body = fmt.Appendf(body, `{"sku":%q,"price":%d.90}`, s.products[(first+i)%len(s.products)].SKU, 5+random.IntN(500))
	}
	return append(body, "]}"...)
}
