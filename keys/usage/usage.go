// Package usage records the requests of each API key and reports them to its tenant.
//
// A request adds to counts in memory. Every five seconds the Recorder adds these counts
// to the table key_usage, for all tenants in one round trip. Counts of several instances
// add up, because every stored value is a sum: requests by route and status class, by
// minute, and by bucket of duration. Percentiles and the busiest minute are computed when
// they are read, so they are correct for any number of instances.
//
// A killed process loses the counts of at most ten seconds. While PostgreSQL is unavailable, the counts stay in memory;
// above a limit, the oldest are dropped. If a connection breaks during a write, PostgreSQL may have committed it; the
// counts are then dropped, so that nothing counts twice. A metric counts dropped requests.
//
// Requests without a valid key are not recorded. A revoked, expired or rolled key keeps its
// usage. Usage is deleted after 90 days, and with its tenant.
package usage

import (
	"slices"
	"strings"
	"time"

	"github.com/storeroom/storeroom/tenancy"
)

// MaxErrors is how many errors are kept of each key.
const MaxErrors = 20

// Request describes a request of a key. It has no path, query, header or body.
type Request struct {
	At        time.Time // its start
	Method    string
	Route     string // the pattern, such as /api/products/{id}; "" if it reached no route
	Status    int
	Code      string // the error code, or empty
	RequestID string
	Duration  time.Duration
}

// refused reports whether the request was above the rate limit of its tenant.
func (q Request) refused() bool { return q.Status == 429 }

// group returns the first part of the path after /api.
func (q Request) group() string {
	group, _, _ := strings.Cut(strings.TrimPrefix(q.Route, "/api/"), "/")
	return group
}

// bounds are the upper bounds of the buckets of durations; the last bucket has none. They
// are stored data: a change would give old counts another meaning.
var bounds = [...]time.Duration{
	500 * time.Microsecond, time.Millisecond, 1500 * time.Microsecond,
	2 * time.Millisecond, 3 * time.Millisecond, 4 * time.Millisecond, 5 * time.Millisecond, 7 * time.Millisecond,
	10 * time.Millisecond, 15 * time.Millisecond, 20 * time.Millisecond, 30 * time.Millisecond, 40 * time.Millisecond,
	50 * time.Millisecond, 70 * time.Millisecond, 100 * time.Millisecond, 150 * time.Millisecond, 200 * time.Millisecond,
	300 * time.Millisecond, 400 * time.Millisecond, 500 * time.Millisecond, 700 * time.Millisecond,
	time.Second, 1500 * time.Millisecond, 2 * time.Second, 3 * time.Second, 4 * time.Second, 5 * time.Second,
	7 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
}

// Counts are the sums of some requests.
type Counts struct {
	Statuses [4]int64 // 2xx to 5xx
	Refused  int64    // above the rate limit; part of 4xx
	latency  [len(bounds) + 1]int64
}

// add counts one request.
func (c *Counts) add(q Request) {
	c.Statuses[min(max(q.Status/100-2, 0), 3)]++
	if q.refused() {
		c.Refused++
		return
	}
	bucket, _ := slices.BinarySearch(bounds[:], q.Duration)
	c.latency[bucket]++
}

// merge adds other counts.
func (c *Counts) merge(other *Counts) {
	for i, n := range other.Statuses {
		c.Statuses[i] += n
	}
	c.Refused += other.Refused
	for i, n := range other.latency {
		c.latency[i] += n
	}
}

// Requests returns the number of requests, including the refused ones.
func (c *Counts) Requests() int64 {
	return c.Statuses[0] + c.Statuses[1] + c.Statuses[2] + c.Statuses[3]
}

// Percentile returns the duration that the given share of the requests does not exceed,
// interpolated in its bucket. It reports false if all requests were refused.
func (c *Counts) Percentile(share float64) (time.Duration, bool) {
	var measured int64
	for _, n := range c.latency {
		measured += n
	}
	rank := share * float64(measured)
	var below time.Duration
	for i, n := range c.latency {
		if n > 0 && rank <= float64(n) {
			if i == len(bounds) {
				return below, true
			}
			return below + time.Duration(rank/float64(n)*float64(bounds[i]-below)), true
		}
		rank -= float64(n)
		if i < len(bounds) {
			below = bounds[i]
		}
	}
	return 0, false
}

// Error is a failed request of a key.
type Error struct {
	KeyID     int64
	At        time.Time
	Method    string
	Route     string // "" if the request reached no route
	Status    int
	Code      string
	RequestID string
}

// startOfHour returns the start of the hour in a time zone. Some zones differ from UTC by
// a part of an hour, and a day consists of whole hours of its zone.
func startOfHour(at time.Time, zone *time.Location) time.Time {
	return at.Truncate(time.Minute).Add(-time.Duration(at.In(zone).Minute()) * time.Minute)
}

// zoneOf returns the time zone of a tenant, which was checked when it was stored.
func zoneOf(name string) *time.Location {
	zone, err := tenancy.LoadZone(name)
	if err != nil {
		return time.UTC
	}
	return zone
}
