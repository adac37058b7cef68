package reports_test

import (
	"testing"
	"time"

	"github.com/storeroom/storeroom/reports"
)

func TestPresets(t *testing.T) {
	t.Parallel()
	for today, ranges := range map[string]map[string]string{
		"2026-11-22": {
			"today": "2026-11-22 2026-11-22", "yesterday": "2026-11-21 2026-11-21",
			"last_7_days": "2026-11-16 2026-11-22", "last_30_days": "2026-10-24 2026-11-22",
			"last_90_days": "2026-08-25 2026-11-22", "this_month": "2026-11-01 2026-11-22",
			"last_month": "2026-10-01 2026-10-31", "this_quarter": "2026-10-01 2026-11-22",
			"this_year": "2026-01-01 2026-11-22", "last_year": "2025-01-01 2025-12-31",
			"last_quarter": "2026-07-01 2026-09-30", "this_week": "2026-11-16 2026-11-22", "last_week": "2026-11-09 2026-11-15",
		},
		"2028-03-31": {
			"last_month": "2028-02-01 2028-02-29", "this_quarter": "2028-01-01 2028-03-31",
			"last_30_days": "2028-03-02 2028-03-31",
		},
		"2027-01-01": {
			"yesterday": "2026-12-31 2026-12-31", "last_month": "2026-12-01 2026-12-31",
			"this_month": "2027-01-01 2027-01-01", "this_quarter": "2027-01-01 2027-01-01",
			"this_year": "2027-01-01 2027-01-01", "last_year": "2026-01-01 2026-12-31",
			"last_quarter": "2026-10-01 2026-12-31", "this_week": "2026-12-28 2027-01-01", "last_week": "2026-12-21 2026-12-27",
		},
	} {
		day, err := time.Parse(time.DateOnly, today)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range ranges {
			r := reports.Preset(name, day)
			if got := r.From.Format(time.DateOnly) + " " + r.To.Format(time.DateOnly); got != want {
				t.Errorf("%s on %s = %s, want %s", name, today, got, want)
			}
		}
	}
}
