package main

import (
	"context"
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
	ofBare    = 0.75    // share of the rate of the bare handler
	ofGet     = 0.85    // of its rate for one product
	ofWrite   = 0.6     // of its rate for a write of one product
	ofBulk    = 0.5     // of its rate for a write of many products
	ofSearch  = 0.9     // of its rate for a search
	ofSmall   = 1 / 1.3 // page 1 of 1,000,000 products takes at most 1.3 times as long as of 1,000
	deepPage  = 120 * time.Millisecond
	searching = 20 * time.Millisecond
	sorting   = 5 * time.Millisecond             // page 1 in the order of an index
	counting  = 150*time.Millisecond + searching // rows and exact total

	// The bare handler counts the rows of a filtered list.
	ofSmallFilter, ofLargeFilter = 0.75, 1.0
)

// scenarios returns all scenarios. Reads come before writes, so that every run reads the
// same rows.
func scenarios(full *service, duck *duckDB, products, sold int) []scenario {
	all := append(keyed(full), lists(full, products)...)
	all = append(all, filters(full, products)...)
	all = append(all, searches(full)...)
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
	return []scenario{
		s.againstBare("get by id", ofGet, shop.byID),
		{name: "get by SKU", work: s.at(large, shop.bySKU)},
	}
}

func lists(s *service, products int) []scenario {
	page := s.at(large, always("/api/products"))
	compressed := func(encoding string) scenario {
		next := func(*rand.Rand) request { return request{method: "GET", path: "/api/products", encoding: encoding} }
		return scenario{
			name: "page 1, " + encoding, work: s.at(large, next),
			baseline: page, against: "uncompressed",
		}
	}
	all := []scenario{
		s.againstBare("page 1", ofBare, always("/api/products")),
		compressed("gzip"), compressed("zstd"),
		{
			name: "page 1, against a thousand", work: page, baseline: s.at(small, always("/api/products")),
			against: "1,000 products", target: target{ratio: ofSmall},
		},
	}
	add := func(name, query string, p50 time.Duration) {
		work := s.at(large, always("/api/products?"+query))
		all = append(all, scenario{name: "list: " + name, work: work, target: target{p50: p50}})
	}
	last := max(1, products/100)
	add(fmt.Sprintf("page %d of 100, the last", last), fmt.Sprint("per_page=100&page=", last), deepPage)
	for _, by := range orderings {
		for _, direction := range directions {
			add("sort "+by+" "+direction, "sort="+by+"&direction="+direction, sorting)
		}
	}
	return all
}

// A list may have any of these orders and directions.
var (
	orderings  = []string{"created_at", "name", "sku", "price"}
	directions = []string{"asc", "desc"}
)

// filters are lists in each order and direction, with each status and without one.
func filters(s *service, products int) []scenario {
	shop := s.shops[large]
	list := func(parameters func(sampled, *rand.Rand) string) func(*rand.Rand) request {
		return func(random *rand.Rand) request {
			pick := func(words ...string) string { return words[random.IntN(len(words))] }
			return request{method: "GET", path: "/api/products?" + parameters(shop.any(random), random) +
				"&sort=" + pick(orderings...) + "&direction=" + pick(directions...) +
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
