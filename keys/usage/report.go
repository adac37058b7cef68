package usage

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

const (
	// Days is how long usage is kept.
	Days = 90
	// MaxHourlyDays is how many days a report by hour may have.
	MaxHourlyDays = 31

	// maxListedErrors is how many errors a report lists.
	maxListedErrors = 100
	readTimeout     = 20 * time.Second
)

// Query selects the requests of a report.
type Query struct {
	From, To time.Time // days in the tenant's time zone, both included, as midnight in UTC
	KeyID    *int64    // nil for all keys
	ByHour   bool      // otherwise by day
}

// Report is the usage of a tenant's keys. The requests of the last ten seconds may be
// missing.
type Report struct {
	Starts  []time.Time // of all days or hours in the range
	Keys    []KeyUsage  // those with requests, most requests first
	Busiest Minute      // of these keys together
	Errors  []Error     // the last ones of each key, 100 in all, newest first
}

// KeyUsage is the usage of one key.
type KeyUsage struct {
	Key
	Counts
	Busiest Minute
	Routes  []RouteUsage // most requests first
	Periods []Counts     // one for each of the Starts
}

// Key identifies a key, which may be revoked, expired or rolled.
type Key struct {
	ID     int64
	Name   string
	Prefix string
	Last4  string
}

// RouteUsage is the usage of a group of routes, "" for requests that reached no route.
type RouteUsage struct {
	Route string
	Counts
}

// Minute is a calendar minute and its requests, without the refused ones.
type Minute struct {
	At       time.Time
	Requests int64 // 0 if there were no requests at all
}

// Read returns the usage of a tenant's keys. An unknown key has no usage.
func Read(ctx context.Context, pool *db.DB, tenant tenants.Tenant, q Query) (Report, error) {
	zone, err := tenant.Location()
	if err != nil {
		return Report{}, err
	}
	var r reader
	before := tenancy.StartOfDay(q.To.AddDate(0, 0, 1), zone)
	var known []Key
	err = pool.Central().Snapshot(ctx, tenant.ID, db.CustomPlan, readTimeout, func(batch *pgx.Batch) {
		r = reader{found: map[int64]*keyReader{}}
		r.Starts = starts(q, zone, before)
		db.QueueRows(batch, &known, `
			select id, name, prefix, last4 from api_keys where tenant_id = $1`, tenant.ID)
		batch.Queue(`
			select hour, key_id, route, status_2xx, status_3xx, status_4xx, status_5xx, refused, minutes, latency
			  from key_usage
			 where tenant_id = $1 and hour >= $2 and hour < $3 and ($4::bigint is null or key_id = $4)
			 order by hour`, tenant.ID, r.Starts[0], before, q.KeyID).Query(r.read)
		db.QueueRows(batch, &r.Errors, `
			select key_id, at, method, route, status, code, request_id
			  from key_errors
			 where tenant_id = $1 and at >= $2 and at < $3 and ($4::bigint is null or key_id = $4)
			 order by at desc, id desc
			 limit $5`, tenant.ID, r.Starts[0], before, q.KeyID, maxListedErrors)
	})
	if err != nil {
		return Report{}, fmt.Errorf("read the usage of keys: %w", err)
	}
	return r.report(known), nil
}

// starts returns the start of each day or hour of the range.
func starts(q Query, zone *time.Location, before time.Time) []time.Time {
	var all []time.Time
	if !q.ByHour {
		for day := q.From; !day.After(q.To); day = day.AddDate(0, 0, 1) {
			all = append(all, tenancy.StartOfDay(day, zone))
		}
		return all
	}
	for at := tenancy.StartOfDay(q.From, zone); at.Before(before); at = startOfHour(at.Add(time.Hour), zone) {
		all = append(all, at)
	}
	return all
}

// reader adds up rows as they arrive, because a tenant can have half a million.
type reader struct {
	Report
	peak  peak
	found map[int64]*keyReader
}

type keyReader struct {
	KeyUsage
	peak   peak
	routes map[string]*Counts
}

// peak finds the busiest minute. The sum of a minute is complete when the rows of its hour
// have been added; until then it only grows.
type peak struct {
	Minute
	hour    time.Time
	minutes [60]int64
}

func (p *peak) add(hour time.Time, minutes []int64) {
	if !hour.Equal(p.hour) {
		p.hour, p.minutes = hour, [60]int64{}
	}
	for i, n := range minutes {
		p.minutes[i] += n
		if p.minutes[i] > p.Requests {
			p.Minute = Minute{hour.Add(time.Duration(i) * time.Minute), p.minutes[i]}
		}
	}
}

// read adds rows of key_usage, which are sorted by hour.
func (r *reader) read(rows pgx.Rows) error {
	var hour time.Time
	var id int64
	var route string
	var n Counts
	var minutes, latency []int64
	into := []any{
		&hour, &id, &route, &n.Statuses[0], &n.Statuses[1], &n.Statuses[2], &n.Statuses[3], &n.Refused, &minutes, &latency,
	}
	_, err := pgx.ForEachRow(rows, into, func() error {
		copy(n.latency[:], latency)
		k := r.found[id]
		if k == nil {
			k = &keyReader{routes: map[string]*Counts{}}
			k.Periods = make([]Counts, len(r.Starts))
			r.found[id] = k
		}
		if k.routes[route] == nil {
			k.routes[route] = &Counts{}
		}
		next, _ := slices.BinarySearchFunc(r.Starts, hour.Add(1), time.Time.Compare)
		k.merge(&n)
		k.Periods[next-1].merge(&n)
		k.routes[route].merge(&n)
		k.peak.add(hour, minutes)
		r.peak.add(hour, minutes)
		return nil
	})
	return err
}

func (r *reader) report(known []Key) Report {
	r.Busiest = r.peak.Minute
	for _, key := range known {
		k := r.found[key.ID]
		if k == nil {
			continue
		}
		k.Key, k.Busiest = key, k.peak.Minute
		for _, route := range slices.Sorted(maps.Keys(k.routes)) {
			k.Routes = append(k.Routes, RouteUsage{route, *k.routes[route]})
		}
		slices.SortStableFunc(k.Routes, func(a, b RouteUsage) int { return cmp.Compare(b.Requests(), a.Requests()) })
		r.Keys = append(r.Keys, k.KeyUsage)
	}
	slices.SortFunc(r.Keys, func(a, b KeyUsage) int {
		return cmp.Or(cmp.Compare(b.Requests(), a.Requests()), cmp.Compare(a.ID, b.ID))
	})
	return r.Report
}
