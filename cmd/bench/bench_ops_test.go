//go:build ops

package main

import (
	"io"
	"regexp"
	"strings"
	"testing"
)

func TestARunMeasuresEveryScenario(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.program = mustBuild(t)
	full, imports := mustFill(t, fullShops(o.products, o.orders)), mustFill(t, neighbourShops())
	var first, second strings.Builder
	var r results
	if err := catch(func() { r = measure(t.Context(), o, full, imports, &first) }); err != nil {
		t.Fatalf("measure: %v\n%s", err, &first)
	}

	t.Run("every scenario does work", func(t *testing.T) {
		if len(r) < 100 {
			t.Errorf("%d results, want at least 100", len(r))
		}
		for _, result := range r {
			if result.Rate.Min <= 0 || result.P50 <= 0 || result.Ratio != nil && result.Ratio.Min <= 0 {
				t.Errorf("%+v, want work in every round", result)
			}
		}
		for _, name := range []string{
			"start", "export: CSV",
			"import: new products, command", "import: new products, API",
			"import: unchanged products, command", "import: unchanged products, API",
			"import: new orders, command", "import: new orders, API",
			"import: unchanged orders, command", "import: unchanged orders, API",
		} {
			if result := r.find(name, 1); result == nil || result.Memory < 1<<20 {
				t.Errorf("%s: %+v, want the memory of the process", name, result)
			}
		}
		p99 := regexp.MustCompile(`import: other tenants: p99 of [1-9]\d+ requests of 10 other tenants: [0-9.]+ ms`)
		if !p99.MatchString(first.String()) {
			t.Errorf("no requests of other tenants beside an import in\n%s", &first)
		}
	})
	t.Run("a second run starts with the same rows", func(t *testing.T) {
		if err := fill(t.Context(), full, fullShops(o.products, o.orders), io.Discard); err != nil {
			t.Fatal(err)
		}
		verifySales(t, full, fullShops(o.products, o.orders))
		o.run = regexp.MustCompile("^create$")
		err := catch(func() { r = measure(t.Context(), o, full, imports, &second) })
		if err != nil || len(r) != 2 {
			t.Errorf("measure = %d results, %v, want those of one and four clients\n%s", len(r), err, &second)
		}
	})
}
