package main

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"
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

	// The bare handler counts the rows of a filtered list.
	ofSmallFilter, ofLargeFilter = 0.75, 1.0
)

// scenarios returns all scenarios. Reads come before writes, so that every run reads the
// same rows.
func scenarios(full, empty *service, telemetry *traced, duck *duckDB, products, sold int) []scenario {
	all := append(keyed(full), usages(full)...)
	all = append(all, telemetries(full, telemetry)...)
	all = append(all, lists(full, products)...)
	all = append(all, filters(full, products)...)
	all = append(all, searches(full)...)
	all = append(all, otherTenants(full, empty)...)
	all = append(all, orders(full)...)
	all = append(all, summaries(full)...)
	all = append(all, yearReports(full)...)
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
	ratio := ofSmallFilter
	if products >= 200_000 {
		ratio = ofLargeFilter
	}
	var all []scenario
	for _, name := range facets {
		ofProduct := func(p sampled, _ *rand.Rand) string { return p.facet(name) }
		all = append(all, s.againstBare("filter: "+name, ratio, list(ofProduct)))
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
