package main

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
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
	pieces   int           // orders or rows per step; 0 means 1
	clients  []int         // nil means those of the flag
	fresh    bool          // each round is one step of clients that are prepared for it
	rounds   int           // 0 means those of the flag
	memory   func() uint64 // bytes that the work has needed; may be nil
}

// target is what the service must reach; zero fields are not checked.
type target struct {
	ratio  float64       // at least, of the baseline's rate, with any number of clients
	p50    time.Duration // at most, with one client
	later  time.Duration // at most, p50 after that of the baseline
	memory uint64        // bytes, at most
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

	// A list of a seller, a warehouse or a tag takes at most this and sortingRow for each product of the group.
	sortingGroup = 2 * time.Millisecond
	sortingRow   = 300 * time.Nanosecond
)

// scenarios returns the scenarios of the full database. Reads come before writes, so that every run reads
// the same rows.
func scenarios(s *service, products, orders int) []scenario {
	return slices.Concat(keyed(s), lists(s, products), filters(s, products), searches(s), summaries(s),
		yearReports(s, products), overviews(s), exports(s), writes(s), ingestions(s, orders))
}

func (s shop) any(random *rand.Rand) sampled { return s.products[random.IntN(len(s.products))] }

// at sends requests of a shop to the service.
func (s *service) at(slug string, next func(*rand.Rand) request) work {
	return send(s.address, s.shops[slug].key, next)
}

// againstBare compares the service with the bare handlers, for the large shop. ratio is the target.
func (s *service) againstBare(name string, ratio float64, next func(*rand.Rand) request) scenario {
	return scenario{
		name: name, work: s.at(large, next), target: target{ratio: ratio},
		baseline: send(s.bareAddress, s.shops[large].key, next), against: "bare handler",
	}
}

func always(path string) func(*rand.Rand) request {
	return func(*rand.Rand) request { return get(path) }
}

func (s shop) byID(random *rand.Rand) request {
	return get("/api/products/" + strconv.FormatInt(s.any(random).ID, 10))
}

func (s shop) bySKU(random *rand.Rand) request {
	return get("/api/products/sku/" + url.PathEscape(s.any(random).SKU))
}

func (s shop) byNumber(random *rand.Rand) request {
	return get("/api/orders/" + url.PathEscape(s.numbers[random.IntN(len(s.numbers))]))
}

func keyed(s *service) []scenario {
	shop := s.shops[large]
	return []scenario{
		s.againstBare("get by id", ofGet, shop.byID),
		{name: "get by SKU", work: s.at(large, shop.bySKU)},
		{name: "order by number", work: s.at(large, shop.byNumber)},
		{name: "orders: page 1", work: s.at(large, always("/api/orders"))},
	}
}

func lists(s *service, products int) []scenario {
	page := s.at(large, always("/api/products"))
	compressed := func(encoding string) scenario {
		next := func(*rand.Rand) request { return request{method: "GET", path: "/api/products", encoding: encoding} }
		return scenario{name: "page 1, " + encoding, work: s.at(large, next), baseline: page, against: "uncompressed"}
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
			return get("/api/products?" + parameters(shop.any(random), random) + "&sort=" + pick(orderings...) +
				"&direction=" + pick(directions...) + pick("", "&status=active", "&status=draft"))
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
	add := func(name string, parameters func(sampled, *rand.Rand) string) {
		all = append(all, scenario{name: "filter: " + name, work: s.at(large, list(parameters))})
	}
	add("two", func(p sampled, random *rand.Rand) string {
		two := random.Perm(len(facets))
		return p.facet(facets[two[0]]) + "&" + p.facet(facets[two[1]])
	})
	add("one and a month", func(p sampled, random *rand.Rand) string {
		return p.facet(facets[random.IntN(len(facets))]) + "&from=2025-03-01&to=2025-03-31"
	})
	add("page 100 of a warehouse", func(p sampled, _ *rand.Rand) string { return p.facet("warehouse_id") + "&page=100" })
	return all
}

// searches are compared with a bare handler that searches the same texts.
func searches(s *service) (all []scenario) {
	shop := s.shops[large]
	add := func(name string, p50 time.Duration, next func(*rand.Rand) request) {
		sc := s.againstBare("search: "+name, ofSearch, next)
		sc.target.p50 = p50
		all = append(all, sc)
	}
	search := func(term string) func(*rand.Rand) request { return always("/api/products?search=" + term) }
	add("one product", searching, func(random *rand.Rand) request {
		sku := shop.any(random).SKU
		return get("/api/products?search=" + url.QueryEscape(sku[len(sku)-7:]))
	})
	add("two words", searching, search("backpack+amber"))
	add("0.9 %", searching, search(someWord))
	add("2 %, the oldest", counting, search(oldWord))
	add("5 %", counting, search(commonWord))
	add("two letters, 5 %", counting, search(twoLetters))
	add("two letters, none", searching, search(noLetters))
	add("none", searching, search(noWord))
	return all
}
