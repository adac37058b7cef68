package usage

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/storeroom/storeroom/tenancy"
)

// The buckets decide how far a percentile may be from the exact one.
func TestPercentilesAreInTheBucketOfTheExactOne(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var parts [3]Counts
		var all []time.Duration
		for range 1 + random.IntN(300) {
			took := time.Duration(random.ExpFloat64() * float64(time.Duration(1)<<(19+random.IntN(12))))
			parts[random.IntN(3)].add(Request{Status: 200, Duration: took})
			all = append(all, took)
		}
		var sum Counts
		for i := range parts {
			sum.merge(&parts[i])
		}
		slices.Sort(all)
		for _, share := range []float64{.5, .95} {
			rank := share * float64(len(all))
			exact := all[int(rank+.999999)-1]
			bucket, _ := slices.BinarySearch(bounds[:], exact)
			low, high := time.Duration(0), bounds[len(bounds)-1]
			if bucket > 0 {
				low = bounds[bucket-1]
			}
			if bucket < len(bounds) {
				high = bounds[bucket]
			}
			if got, ok := sum.Percentile(share); !ok || got < low || got > high {
				t.Fatalf("Percentile(%v) of %v = %v, %v, want %v to %v", share, all, got, ok, low, high)
			}
		}
	}
	if got, ok := new(Counts).Percentile(.5); ok {
		t.Errorf("Percentile of no requests = %v", got)
	}
	for i := 1; i < len(bounds); i++ {
		if ratio := float64(bounds[i]) / float64(bounds[i-1]); ratio <= 1 || ratio > 2 {
			t.Errorf("bound %v follows %v", bounds[i], bounds[i-1])
		}
	}
}

func TestAnHourIsThatOfTheZone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ zone, at, want string }{
		{"UTC", "2026-03-01T09:59:59Z", "2026-03-01T09:00:00Z"},
		{"Asia/Kolkata", "2026-03-01T09:29:59Z", "2026-03-01T08:30:00Z"},
		{"Asia/Kathmandu", "2026-03-01T09:15:00Z", "2026-03-01T09:15:00Z"},
		{"Europe/Rome", "2026-10-25T01:30:00Z", "2026-10-25T01:00:00Z"}, // the second of two hours from 2 to 3
		{"no such zone", "2026-03-01T09:30:00Z", "2026-03-01T09:00:00Z"},
	} {
		at, _ := time.Parse(time.RFC3339, tt.at)
		if got := startOfHour(at, zoneOf(tt.zone)).UTC().Format(time.RFC3339); got != tt.want {
			t.Errorf("startOfHour(%s in %s) = %s, want %s", tt.at, tt.zone, got, tt.want)
		}
	}
}

// Every hour of a range is in its list once, also around changes of the clocks.
func TestStartsOfHours(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		zone, day string
		want      int
	}{
		{"UTC", "2026-03-29", 24}, {"Europe/Rome", "2026-03-29", 23}, {"Europe/Rome", "2026-10-25", 25},
		{"Asia/Kolkata", "2026-03-29", 24}, {"America/Santiago", "2026-09-06", 23},
	} {
		zone := zoneOf(tt.zone)
		day, _ := time.Parse(time.DateOnly, tt.day)
		q := Query{From: day, To: day, ByHour: true}
		all := starts(q, zone, tenancy.StartOfDay(day.AddDate(0, 0, 1), zone))
		if len(all) != tt.want || !all[0].Equal(tenancy.StartOfDay(day, zone)) {
			t.Errorf("%s in %s has the hours %v, want %d", tt.day, tt.zone, all, tt.want)
		}
		for _, at := range all {
			if !startOfHour(at.Add(59*time.Minute), zone).Equal(at) {
				t.Errorf("%v does not begin an hour of %s", at, tt.zone)
			}
		}
	}
}
