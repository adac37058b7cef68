package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// scenario is a line of the table: work, and a baseline that runs alternately with it.
type scenario struct {
	name     string
	work     work
	baseline work   // may be nil
	against  string // name of the baseline
	target   target
	pieces   int   // orders or rows per step; 0 means 1
	clients  []int // nil means those of the flag
}

// target is what the service must reach; zero fields are not checked.
type target struct {
	ratio float64       // at least, of the baseline's rate, with any number of clients
	p50   time.Duration // at most, with one client
}

const (
	ofBare      = 0.75     // share of the rate of the bare handler
	ofGet       = 0.85     // of its rate for one product
	ofWrite     = 0.6      // of its rate for a write of one product
	ofBulk      = 0.5      // of its rate for a write of many products
	ofSearch    = 0.9      // of its rate for a search
	ofSmall     = 1 / 1.3  // page 1 of 1,000,000 products takes at most 1.3 times as long as of 1,000
	ofAlone     = 1 / 1.15 // other tenants' rows have no effect beyond the noise
	ofUncounted = 1 / 1.05 // counting the requests of keys has no effect beyond the noise
	deepPage    = 120 * time.Millisecond
	searching   = 20 * time.Millisecond
	sorting     = 5 * time.Millisecond             // page 1 in the order of an index
	counting    = 150*time.Millisecond + searching // rows and exact total

	// A list of a seller, a warehouse or a tag takes at most this and sortingRow for each product of the group.
	sortingGroup = 2 * time.Millisecond
	sortingRow   = 300 * time.Nanosecond
	ofFastest    = 1 / 2.0 // a list takes at most twice as long as one of another size
)

// scenarios returns all scenarios. Reads come before writes, so that every run reads the
// same rows.
func scenarios(full, empty *service, telemetry *traced, duck *duckDB, products, sold int) []scenario {
	all := append(keyed(full), usages(full)...)
	all = append(all, telemetries(full, telemetry)...)
	all = append(all, lists(full, products)...)
	all = append(all, filters(full, products)...)
	all = append(all, unevenLists(full)...)
	all = append(all, searches(full)...)
	all = append(all, otherTenants(full, empty)...)
	all = append(all, orders(full)...)
	all = append(all, summaries(full)...)
	all = append(all, yearReports(full, products)...)
	if duck != nil {
		all = append(all, duckReports(full, duck)...)
	}
	all = append(all, overviews(full)...)
	all = append(all, exports(full)...)
	all = append(all, writes(full)...)
	return append(all, ingestions(full, sold)...)
}

func (s shop) any(random *rand.Rand) sampled { return s.products[random.IntN(len(s.products))] }

// at sends requests of a shop to the service.
func (s *service) at(slug string, next func(*rand.Rand) request) work {
	return send(s.address, s.shops[slug].key, next)
}

// atBare sends requests of the large shop to the bare handlers.
func (s *service) atBare(next func(*rand.Rand) request) work {
	return send(s.bareAddress, s.shops[large].key, next)
}

// againstBare compares the service with the bare handlers. ratio is the target.
func (s *service) againstBare(name string, ratio float64, next func(*rand.Rand) request) scenario {
	return scenario{
		name: name, work: s.at(large, next),
		baseline: s.atBare(next), against: "bare handler", target: target{ratio: ratio},
	}
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
	shop := s.shops[large]
	byID, constant := s.at(large, shop.byID), s.atBare(always("/constant"))
	return []scenario{
		{name: "bare constant", work: constant},
		s.againstBare("get by id", ofGet, shop.byID),
		{name: "get by id, against SQL", work: byID, baseline: s.bare.query(shop), against: "bare SQL"},
		{name: "get by id, against constant", work: byID, baseline: constant, against: "bare constant"},
		{name: "get by SKU", work: s.at(large, shop.bySKU)},
	}
}

// usages measure the cost of counting the requests of keys.
func usages(s *service) []scenario {
	shop := s.shops[large]
	var all []scenario
	for _, l := range []struct {
		name string
		next func(*rand.Rand) request
	}{
		{"smallest request", always("/api/me")},
		{"get by id", shop.byID},
		{"page 1", always("/api/products")},
	} {
		all = append(all, scenario{
			name: "usage: " + l.name, work: s.at(large, l.next),
			baseline: send(s.uncounted, shop.key, l.next), against: "without usage", target: target{ratio: ofUncounted},
		})
	}
	return all
}

func lists(s *service, products int) []scenario {
	first := s.shops[large].products[0]
	againstSmall := func(name string, next func(*rand.Rand) request) scenario {
		return scenario{
			name: name, work: s.at(large, next),
			baseline: s.at(small, next), against: "1,000 products", target: target{ratio: ofSmall},
		}
	}
	compressed := func(encoding string) scenario {
		next := func(*rand.Rand) request { return request{method: "GET", path: "/api/products", encoding: encoding} }
		return scenario{
			name: "page 1, " + encoding, work: s.at(large, next),
			baseline: s.at(large, always("/api/products")), against: "uncompressed",
		}
	}
	all := []scenario{
		s.againstBare("page 1", ofBare, always("/api/products")),
		compressed("gzip"), compressed("zstd"),
		againstSmall("page 1, against a thousand", always("/api/products")),
		againstSmall("total alone, against a thousand", always("/api/products?per_page=1")),
	}
	last := max(1, products/100)
	for _, l := range []struct {
		name, query string
		target      target
	}{
		{"page 1 of 100", "per_page=100", target{}},
		{fmt.Sprintf("page %d of 100", min(100, last)), fmt.Sprint("per_page=100&page=", min(100, last)), target{}},
		{fmt.Sprintf("page %d of 100, the last", last), fmt.Sprint("per_page=100&page=", last), target{p50: deepPage}},
		{"sort name", "sort=name", target{p50: sorting}},
		{"sort name desc", "sort=name&direction=desc", target{p50: sorting}},
		{"sort sku", "sort=sku", target{p50: sorting}},
		{"sort sku desc", "sort=sku&direction=desc", target{p50: sorting}},
		{"sort price", "sort=price", target{p50: sorting}},
		{"sort price desc", "sort=price&direction=desc", target{p50: sorting}},
		{"sort created_at", "sort=created_at", target{p50: sorting}},
		{"sort created_at desc", "sort=created_at&direction=desc", target{p50: sorting}},
		{"status active", "status=active", target{}},
		{"status draft, sort price", "status=draft&sort=price", target{}},
		{"category", first.facet("category_id"), target{}},
		{"category, sort price", "sort=price&" + first.facet("category_id"), target{}},
		{"seller", first.facet("seller_id"), target{}},
		{"warehouse", first.facet("warehouse_id"), target{}},
		{"tag, rare", "tag=" + rareTag, target{}},
		{"tag, common", "tag=" + commonTag, target{}},
		{"tag, common, sort name", "sort=name&tag=" + commonTag, target{}},
		{"from and to, a month", "from=2025-03-01&to=2025-03-31", target{}},
		{"from, half of all", "from=2025-01-01", target{}},
	} {
		work := s.at(large, always("/api/products?"+l.query))
		all = append(all, scenario{name: "list: " + l.name, work: work, target: l.target})
	}
	return all
}

// filters are lists in each order and direction, with each status and without one.
func filters(s *service, products int) []scenario {
	shop := s.shops[large]
	list := func(parameters func(sampled, *rand.Rand) string) func(*rand.Rand) request {
		return func(random *rand.Rand) request {
			pick := func(words ...string) string { return words[random.IntN(len(words))] }
			return request{method: "GET", path: "/api/products?" + parameters(shop.any(random), random) +
				"&sort=" + pick("created_at", "name", "sku", "price") + "&direction=" + pick("asc", "desc") +
				pick("", "&status=active", "&status=draft")}
		}
	}
	groups := map[string]int{"seller_id": products / 500, "warehouse_id": products * 3 / 10, "tag": products / 20}
	var all []scenario
	for _, name := range facets {
		ofProduct := func(p sampled, _ *rand.Rand) string { return p.facet(name) }
		sc := s.againstBare("filter: "+name, ofBare, list(ofProduct))
		if size, isSorted := groups[name]; isSorted {
			sc.target = target{p50: sortingGroup + time.Duration(size)*sortingRow}
		}
		all = append(all, sc)
	}
	for _, l := range []struct {
		name       string
		parameters func(sampled, *rand.Rand) string
	}{
		{"two", func(p sampled, random *rand.Rand) string {
			two := random.Perm(len(facets))
			return p.facet(facets[two[0]]) + "&" + p.facet(facets[two[1]])
		}},
		{"one and a month", func(p sampled, random *rand.Rand) string {
			return p.facet(facets[random.IntN(len(facets))]) + "&from=2025-03-01&to=2025-03-31"
		}},
		{"page 100 of a warehouse", func(p sampled, _ *rand.Rand) string { return p.facet("warehouse_id") + "&page=100" }},
	} {
		all = append(all, scenario{name: "filter: " + l.name, work: s.at(large, list(l.parameters))})
	}
	return all
}

// unevenLists are lists of categories and a warehouse of very different sizes, in each order and direction.
func unevenLists(s *service) []scenario {
	shop := s.shops[wide]
	if len(shop.uneven) == 0 {
		return nil
	}
	var works []work
	var paths []string // of all lists
	for _, filter := range shop.uneven {
		var orders []string
		for _, by := range []string{"created_at", "name", "sku", "price"} {
			for _, direction := range []string{"asc", "desc"} {
				orders = append(orders, "/api/products?"+filter+"&sort="+by+"&direction="+direction)
			}
		}
		works = append(works, s.at(wide, func(random *rand.Rand) request {
			return request{method: "GET", path: orders[random.IntN(len(orders))]}
		}))
		paths = append(paths, orders...)
	}
	var extremes [2]string // the fastest and the slowest path
	find := sync.OnceValue(func() (err error) {
		extremes[0], extremes[1], err = s.extremes(shop.key, paths)
		return err
	})
	extreme := func(which int) work {
		return func(ctx context.Context, n int) (step, error) {
			if err := find(); err != nil {
				return nil, err
			}
			return s.at(wide, always(extremes[which]))(ctx, n)
		}
	}
	to := target{ratio: ofFastest}
	return []scenario{
		{name: "uneven: category of 20", work: works[0]},
		{name: "uneven: category of a fifth", work: works[1], baseline: works[0], against: "category of 20", target: to},
		{name: "uneven: warehouse of all", work: works[2], baseline: works[0], against: "category of 20", target: to},
		{name: "uneven: slowest, against fastest", work: extreme(1), baseline: extreme(0), against: "fastest", target: to},
	}
}

// extremes requests each path ten times and returns those with the shortest and the longest minimum.
func (s *service) extremes(key string, paths []string) (fastest, slowest string, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel() // closes the client
	c, err := dial(ctx, s.address, key)
	if err != nil {
		return "", "", err
	}
	least, most := time.Duration(math.MaxInt64), time.Duration(0)
	for _, path := range paths {
		took := time.Duration(math.MaxInt64)
		for range 10 {
			at := time.Now()
			if _, err := c.do(request{method: "GET", path: path}); err != nil {
				return "", "", err
			}
			took = min(took, time.Since(at))
		}
		if took < least {
			fastest, least = path, took
		}
		if took > most {
			slowest, most = path, took
		}
	}
	return fastest, slowest, nil
}

func searches(s *service) []scenario {
	shop := s.shops[large]
	one := func(random *rand.Rand) request {
		sku := shop.any(random).SKU
		return request{method: "GET", path: "/api/products?search=" + url.QueryEscape(sku[len(sku)-7:])}
	}
	search := func(name string, next func(*rand.Rand) request, p50 time.Duration) scenario {
		sc := s.againstBare("search: "+name, ofSearch, next)
		sc.target.p50 = p50
		return sc
	}
	all := []scenario{search("one product", one, searching)}
	for _, l := range []struct {
		name, term string
		p50        time.Duration
	}{
		{"two words", "backpack+amber", searching},
		{"0.9 %", someWord, searching},
		{"2 %, the oldest", oldWord, counting},
		{"5 %", commonWord, counting},
		{"two letters, 5 %", twoLetters, counting},
		{"two letters, none", noLetters, searching},
		{"none", noWord, searching},
	} {
		all = append(all, search(l.name, always("/api/products?search="+l.term), l.p50))
	}
	return all
}

// otherTenants sends the same requests of the small tenant to the full database and to one
// without other tenants.
func otherTenants(full, empty *service) []scenario {
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
			name:     "other tenants: " + l.name,
			work:     full.at(small, l.next(full.shops[small])),
			baseline: empty.at(small, l.next(empty.shops[small])),
			against:  "alone", target: target{ratio: ofAlone},
		})
	}
	return all
}
