package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/storeroom/storeroom/tenancy/tenancytest"
)

// mustFill makes the shops in a database of this test's own.
func mustFill(t *testing.T, shops []shopSize) database {
	t.Helper()
	d := tenancytest.New(t)
	filled := database{super: d.SuperURL, migrator: d.AdminURL, runtime: d.URL}
	if err := fill(t.Context(), filled, shops, io.Discard); err != nil {
		t.Fatal(err)
	}
	return filled
}

func testOptions(t *testing.T) options {
	t.Helper()
	redis := os.Getenv("REDIS_URL")
	if redis == "" {
		t.Fatal("REDIS_URL is not set: run make test")
	}
	return options{
		dir: t.TempDir(), products: 200, run: regexp.MustCompile(""), clients: []int{1, 4},
		rounds: 2, time: 5 * time.Millisecond, redis: redis,
	}
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	full, empty := mustFill(t, fullShops(o.products)), mustFill(t, emptyShops(o.products))
	var first, second strings.Builder
	if err := measure(t.Context(), o, full, empty, &first); err != nil {
		t.Fatalf("measure: %v\n%s", err, &first)
	}

	t.Run("every scenario gets work done and is kept", func(t *testing.T) {
		content, err := os.ReadFile(filepath.Join(o.dir, "last.json"))
		if err != nil {
			t.Fatal(err)
		}
		var r report
		if err := json.Unmarshal(content, &r); err != nil {
			t.Fatal(err)
		}
		if len(r.Results) < 80 {
			t.Errorf("%d results, want two of each scenario", len(r.Results))
		}
		for _, result := range r.Results {
			if result.Rate.Min <= 0 || result.P50 <= 0 || result.Ratio != nil && result.Ratio.Min <= 0 {
				t.Errorf("%+v, want work done in every round", result)
			}
		}
		for _, a := range r.Allocations {
			if a.Objects < 1 {
				t.Errorf("%+v, want a count", a)
			}
		}
	})
	t.Run("a second run finds the rows of the first gone and tells the change", func(t *testing.T) {
		if err := fill(t.Context(), full, fullShops(o.products), io.Discard); err != nil {
			t.Fatal(err)
		}
		o.run = regexp.MustCompile("^create$")
		if err := measure(t.Context(), o, full, empty, &second); err != nil {
			t.Fatalf("measure: %v\n%s", err, &second)
		}
		if !regexp.MustCompile(`(?m)^create .*[+-]\d+ %`).MatchString(second.String()) {
			t.Errorf("no change in\n%s", &second)
		}
		kept, err := loadReport(filepath.Join(o.dir, "last.json"), o.products)
		if err != nil || kept.find("page 1", 1) == nil {
			t.Errorf("page 1 is not kept from the first run (%v)", err)
		}
	})
}

func TestGeneratedShop(t *testing.T) {
	t.Parallel()
	super := tenancytest.New(t)
	d := database{super: super.SuperURL, migrator: super.AdminURL, runtime: super.URL}
	if err := fill(t.Context(), d, []shopSize{{large, 5_000}}, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, sql string
		want      int64
	}{
		{"the counters are right", `
			select sum(count)::bigint from (
				select status, sum(count) as count from product_counts group by status
				intersect
				select status, count(*)::numeric from products group by status) agreed`, 5_000},
		{"stock, ledger and product say the same", `
			select count(*) from products p
			  left join stock s on s.tenant_id = p.tenant_id and s.product_id = p.id
			  left join inventory_adjustments a on a.tenant_id = p.tenant_id and a.product_id = p.id
			 where p.quantity = coalesce(s.quantity, 0) and p.quantity = coalesce(a.quantity_after, 0)`, 5_000},
		{"every tag stands in its table", `
			select sum(cardinality(tags)) - (select count(*) from product_tags) from products`, 0},
		{"5 % have the common tag", `select count(*) from product_tags where tag = '` + commonTag + `'`, 250},
		{"0.04 % have the rare one", `select count(*) from product_tags where tag = '` + rareTag + `'`, 2},
		{"2 % are old", `select count(*) from products where search like '%` + oldWord + `%'`, 100},
		{"no word is in none", `select count(*) from products where search like '%` + noWord + `%' or search like '% ` + noLetters + `%'`, 0},
		{"all indexes are back", `
			select count(*) from pg_indexes where indexname in ('products_created', 'products_search', 'product_tags_created', 'inventory_adjustments_created')`, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got int64
			if err := super.MustSuper(t).QueryRow(t.Context(), c.sql).Scan(&got); err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("%s = %d, want %d", c.sql, got, c.want)
			}
		})
	}
}

func TestStaleDatabase(t *testing.T) {
	t.Parallel()
	d := tenancytest.New(t)
	d.MustTenant(t, "left")
	err := fill(t.Context(), database{super: d.SuperURL, migrator: d.AdminURL, runtime: d.URL}, emptyShops(10), io.Discard)
	if err == nil || !strings.Contains(err.Error(), errStale.Error()) {
		t.Errorf("fill of what an interrupted run left = %v, want %v", err, errStale)
	}
}
