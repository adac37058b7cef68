package pages

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/storeroom/storeroom/api/pages/chart"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/keys/usage"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

const (
	usageColumns = 5 // keys that have their own column in the table of days
	usageErrors  = 20
)

// usagePage shows the usage of all keys, or of the selected one.
type usagePage struct {
	usage.Report
	format   formatter
	Period   string // number of days
	Limit    int64
	Quota    tenants.Quota
	All      []keys.Key
	Selected keys.Key // has no ID if all keys are shown
	Columns  []string // names of the keys with most requests, and "Other keys"
	Days     []usageDay
	Chart    chart.Chart
	// Requests, Refused and Failed are those of all shown keys.
	Requests, Refused, Failed int64
}

// usageDay is a row of the table of days.
type usageDay struct {
	Day      time.Time
	Requests []int64 // by column
	Total    int64
}

func (p *Handler) showUsage(w http.ResponseWriter, r *http.Request, u user) error {
	all, err := p.Keys.On(u.db).List(r.Context(), u.Tenant.ID)
	if err != nil {
		return err
	}
	page := usagePage{format: u.Format, Period: "7", Limit: int64(u.Tenant.Limit()), All: all}
	for _, period := range options["usage"] {
		if period.Value == r.FormValue("days") {
			page.Period = period.Value
		}
	}
	days, _ := strconv.Atoi(page.Period) // one of the options
	today := tenancy.DayOf(time.Now(), u.Format.zone)
	q := usage.Query{From: today.AddDate(0, 0, 1-days), To: today}
	if text := r.FormValue("key"); text != "" {
		i := slices.IndexFunc(all, func(key keys.Key) bool { return strconv.FormatInt(key.ID, 10) == text })
		if i < 0 {
			return tenancy.ErrNotFound
		}
		page.Selected, q.KeyID = all[i], &all[i].ID
	}
	if page.Report, err = usage.Read(r.Context(), u.db, *u.Tenant, q); err != nil {
		return err
	}
	if page.Quota, err = tenants.ReadQuota(r.Context(), u.db, u.Tenant.ID); err != nil {
		return err
	}
	page.Errors = page.Errors[:min(len(page.Errors), usageErrors)]
	page.addDays(q.From)
	page.addChart()
	return p.show(w, http.StatusOK, "usage", u, page)
}

// addDays adds up the requests of the keys, by day and in total.
func (p *usagePage) addDays(from time.Time) {
	for i, k := range p.Keys {
		p.Requests += k.Counts.Requests()
		p.Refused += k.Refused
		p.Failed += errorCount(k.Counts)
		switch {
		case i < usageColumns:
			p.Columns = append(p.Columns, p.label(k))
		case i == usageColumns:
			p.Columns = append(p.Columns, p.format.T("Other keys"))
		}
	}
	for n := range p.Starts {
		day := usageDay{Day: from.AddDate(0, 0, n), Requests: make([]int64, len(p.Columns))}
		for i, k := range p.Keys {
			day.Requests[min(i, usageColumns)] += k.Periods[n].Requests()
			day.Total += k.Periods[n].Requests()
		}
		p.Days = append(p.Days, day)
	}
}

// label returns the name of a key, and its last characters if another key has the same name.
func (p *usagePage) label(k usage.KeyUsage) string {
	for _, other := range p.Keys {
		if other.Name == k.Name && other.ID != k.ID {
			return k.Name + " …" + k.Last4
		}
	}
	return k.Name
}

// addChart draws the table of days.
func (p *usagePage) addChart() {
	p.Chart = chart.Chart{
		ID: "requests", Title: p.format.T("Requests per day"), Whole: true,
		Format: func(requests float64) string { return p.format.Axis(requests * 100) },
		Description: p.format.T("%s in %s, divided by key. The table has the same figures.",
			p.format.T("%d requests", p.Requests), p.format.T("%d bars", len(p.Days))),
	}
	for _, day := range p.Days {
		point := chart.Point{Label: p.format.ShortDay(day.Day), Now: new(float64(day.Total))}
		point.Tip = fmt.Sprintf("%s: %s", point.Label, p.format.Count(day.Total))
		for i, requests := range day.Requests {
			point.Parts = append(point.Parts, float64(requests))
			if len(p.Columns) > 1 && requests > 0 {
				point.Tip += fmt.Sprintf("\n%s: %s", p.Columns[i], p.format.Count(requests))
			}
		}
		p.Chart.Points = append(p.Chart.Points, point)
	}
}

// Share returns a number of requests in percent of another one, rounded half up.
func (p usagePage) Share(requests, of int64) string {
	of = max(of, 1)
	return p.format.signed((2*1000*requests+of)/(2*of), scale1, 10) + " %"
}

// Quotas returns what the account stores, for the table of quotas.
func (p usagePage) Quotas() []storedQuota {
	return []storedQuota{
		{p.format.T("Storage"), p.format.T("Bytes of products and their pictures, of imports and price changes, of stored " +
			"responses and of deliveries of webhooks"), p.Quota.Storage, p.Quota.StorageLimit},
		{p.format.T("Records"), p.format.T("Products, orders, items, refunds and rows of the inventory ledger"),
			p.Quota.Records, p.Quota.RecordsLimit},
	}
}

type storedQuota struct {
	Name, Counts string
	Used         int64
	Limit        *int64 // nil if there is none
}

// Most returns the limit, or 0 if there is none.
func (q storedQuota) Most() int64 {
	if q.Limit == nil {
		return 0
	}
	return *q.Limit
}

// NameOf returns the name of the key of an error.
func (p usagePage) NameOf(id int64) string {
	i := slices.IndexFunc(p.All, func(key keys.Key) bool { return key.ID == id })
	if i < 0 {
		return ""
	}
	return p.All[i].Name
}

// errorCount returns the number of requests that failed and were not refused.
func errorCount(c usage.Counts) int64 { return c.Statuses[2] + c.Statuses[3] - c.Refused }
