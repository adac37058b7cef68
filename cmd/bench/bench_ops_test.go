//go:build ops

package main

import (
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

func TestARunMeasuresEveryScenario(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.program = mustBuild(t)
	full := mustFill(t, fullShops(o.products, o.orders))
	unfilled := dbtest.New(t)
	all := databases{full, database{super: unfilled.SuperURL, migrator: unfilled.AdminURL, runtime: unfilled.URL}}
	var first, second strings.Builder
	r, err := measure(t.Context(), o, all, &first)
	if err != nil {
		t.Fatalf("measure: %v\n%s", err, &first)
	}

	t.Run("every scenario does work", func(t *testing.T) {
		if len(r.Results) < 90 || len(r.Files) != 1 {
			t.Errorf("%d results and %d files, want at least 90 and 1", len(r.Results), len(r.Files))
		}
		for _, result := range r.Results {
			if result.Rate.Min <= 0 || result.P50 <= 0 || result.Ratio != nil && result.Ratio.Min <= 0 {
				t.Errorf("%+v, want work in every round", result)
			}
		}
		if r.Start == nil || r.Start.FirstResponse.Min <= 0 || r.Start.Idle < 1<<20 {
			t.Errorf("%+v, want the time of the first response and the idle memory", r.Start)
		}
		if len(r.Imports) != 8 || r.Neighbours == nil || r.Neighbours.Requests == 0 || r.Neighbours.Rows == 0 {
			t.Errorf("%d imports, %+v, want 8 and requests of other tenants beside an import", len(r.Imports), r.Neighbours)
		}
		for _, i := range r.Imports {
			if i.Rate.Min <= 0 || i.Peak < 1<<20 {
				t.Errorf("%+v, want rows and memory", i)
			}
		}
		for _, f := range r.Files {
			if f.Bytes < 1 || f.Before < 1 || f.Peak < f.Before ||
				f.FirstByte != nil && *f.FirstByte > ms(time.Minute) {
				t.Errorf("%+v, want a size, memory and the time of the first byte", f)
			}
		}
	})
	t.Run("a second run starts with the same rows", func(t *testing.T) {
		if err := fill(t.Context(), full, fullShops(o.products, o.orders), io.Discard); err != nil {
			t.Fatal(err)
		}
		verifySales(t, full, fullShops(o.products, o.orders))
		o.run = regexp.MustCompile("^create$")
		if r, err := measure(t.Context(), o, all, &second); err != nil || len(r.Results) != 2 {
			t.Errorf("measure = %d results, %v, want those of one and four clients\n%s", len(r.Results), err, &second)
		}
	})
}
