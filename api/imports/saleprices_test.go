package imports

import (
	"testing"
	"time"

	"github.com/storeroom/storeroom/api/imports/table"
	"github.com/storeroom/storeroom/tenancy"
)

func TestASalePriceCountsFromItsBeginningToItsEnd(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		t.Fatal(err)
	}
	s := &source{format: &format{description: &description{}}, zone: zone, forms: make([]table.Form, 2)}
	s.columns[fSaleFrom], s.columns[fSaleUntil] = []fieldColumn{{at: 0}}, []fieldColumn{{at: 1}}
	const ended, notBegun = "the sale price has ended and was not imported", "the sale price has not begun and was not imported"
	for _, test := range []struct{ from, until, now, want string }{
		{"", "", "2026-11-30T12:00:00Z", ""},
		{"2026-11-30", "", "2026-11-30T07:59:59Z", notBegun},
		{"2026-11-30", "", "2026-11-30T08:00:00Z", ""},
		{"", "2026-11-30", "2026-12-01T07:59:59Z", ""},
		{"", "2026-11-30", "2026-12-01T08:00:00Z", ended},
		{"", "2026-11-30 12:00", "2026-11-30T20:00:00Z", ""},
		{"", "2026-11-30 12:00", "2026-11-30T20:00:01Z", ended},
		{"11/30/2026", "12/31/2026", "2026-11-29T12:00:00Z", notBegun},
		{"2026-11-01T00:00-0800/2026-11-30T23:59-0800", "", "2026-12-01T07:59:00Z", ""},
		{"2026-11-01T00:00-0800/2026-11-30T23:59-0800", "", "2026-12-01T08:00:00Z", ended},
		{"2026-11-01T00:00Z/2026-11-30", "", "2026-12-01T07:59:59Z", ""},
		{"2026-11-01T00:00Z/2026-11-30", "", "2026-10-31T12:00:00Z", notBegun},
	} {
		now, err := time.Parse(time.RFC3339, test.now)
		if err != nil {
			t.Fatal(err)
		}
		v := variant{cells{source: s, cells: []string{test.from, test.until}, invalid: tenancy.InvalidError{}}, nil}
		if got := v.offSale(now); got != test.want || len(v.invalid) > 0 {
			t.Errorf("from %q until %q at %s: %q, want %q; refused %v", test.from, test.until, test.now, got, test.want, v.invalid)
		}
	}
	v := variant{cells{source: s, cells: []string{"soon", "2026"}, invalid: tenancy.InvalidError{}}, nil}
	if v.offSale(time.Now()); len(v.invalid["sale_from"]) != 1 || len(v.invalid["sale_until"]) != 1 {
		t.Errorf("dates that cannot be read are refused with %v", v.invalid)
	}
}
