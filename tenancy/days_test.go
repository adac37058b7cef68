package tenancy_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/storeroom/storeroom/tenancy"
)

func TestDaysBeginAtTheirFirstInstant(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, day, want string }{
		{"UTC", "2026-03-01", "2026-03-01T00:00:00Z"},
		{"Europe/Berlin", "2026-07-01", "2026-06-30T22:00:00Z"},
		{"America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z"}, // midnight was skipped
		{"Asia/Beirut", "2022-03-27", "2022-03-26T22:00:00Z"},       // and here
		{"Atlantic/Azores", "2021-10-31", "2021-10-31T00:00:00Z"},   // midnight came twice
		{"America/Havana", "2021-11-07", "2021-11-07T04:00:00Z"},    // and here
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		day, _ := time.Parse(time.DateOnly, c.day)
		got := tenancy.StartOfDay(day, zone)
		if got.UTC().Format(time.RFC3339) != c.want {
			t.Errorf("StartOfDay(%s, %s) = %s, want %s", c.day, c.zone, got.UTC().Format(time.RFC3339), c.want)
		}
		if before := got.Add(-1); before.Day() == day.Day() {
			t.Errorf("StartOfDay(%s, %s): the moment before is %s", c.day, c.zone, before)
		}
	}
}

func TestEveryTimeIsWithinItsDay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{
			"UTC", "America/Havana", "America/Sao_Paulo", "Asia/Beirut", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu",
			"America/St_Johns", "Antarctica/Casey",
		}).Draw(t, "zone")
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(drawMoment(t, zone), 0)
		day := tenancy.DayOf(at, zone)
		if begin := tenancy.StartOfDay(day, zone); at.Before(begin) {
			t.Errorf("%s %s is before its day %s, which begins at %s", name, at.UTC(), day, begin.UTC())
		}
		if next := tenancy.StartOfDay(day.AddDate(0, 0, 1), zone); !at.Before(next) {
			t.Errorf("%s %s is after its day %s, the next begins at %s", name, at.UTC(), day, next.UTC())
		}
	})
}

// drawMoment prefers the hours around changes of the clocks.
func drawMoment(t *rapid.T, zone *time.Location) int64 {
	at := rapid.Int64Range(0, 2_000_000_000).Draw(t, "at")
	if change, _ := time.Unix(at, 0).In(zone).ZoneBounds(); rapid.Bool().Draw(t, "near a change") && !change.IsZero() &&
		change.Unix() > 0 {
		return change.Unix() + rapid.Int64Range(-7200, 7200).Draw(t, "off")
	}
	return at
}
