package sales

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPeriodsHaveFewMonthsAndRows(t *testing.T) {
	t.Parallel()
	day := func(date string) time.Time {
		day, err := time.Parse(time.DateOnly, date)
		if err != nil {
			t.Fatal(err)
		}
		return day
	}
	var all []month
	for _, m := range []struct {
		first string
		rows  int
	}{
		{"1999-01-01", 0}, {"2023-12-01", 1}, {"2024-01-01", maxRows - 2}, {"2024-03-01", 1}, // with February
		{"2024-04-01", 1}, {"2024-05-01", 2 * maxRows}, {"2024-06-01", maxRows}, {"2024-07-01", 1}, {"2026-06-01", 1},
		{"2026-07-01", 1},
	} {
		all = append(all, month{day(m.first), m.rows})
	}
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	var got [][2]string
	for _, p := range inPeriods(1, all, zone) {
		last := p.days[len(p.days)-1]
		got = append(got, [2]string{p.days[0].Format(time.DateOnly), last.Format(time.DateOnly)})
		if days := int(last.Sub(p.days[0]).Hours()/24) + 1; len(p.days) != days || len(p.begins) != days ||
			p.begin != p.begins[0] || p.end.Sub(p.begins[days-1]) < 23*time.Hour {
			t.Errorf("a period of %d days has %d, begins at %s and ends at %s", days, len(p.days), p.begin, p.end)
		}
	}
	if diff := cmp.Diff([][2]string{
		{"1999-01-01", "1999-01-31"}, {"2023-12-01", "2024-03-31"}, {"2024-04-01", "2024-04-30"},
		{"2024-05-01", "2024-05-31"}, {"2024-06-01", "2024-06-30"}, {"2024-07-01", "2026-06-30"},
		{"2026-07-01", "2026-07-31"},
	}, got); diff != "" {
		t.Errorf("periods (-want +got):\n%s", diff)
	}
}
