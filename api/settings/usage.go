package settings

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/keys/usage"
	"github.com/storeroom/storeroom/tenancy"
)

const (
	usageColumns = 5 // keys that have their own column in the table of days
	usageErrors  = 20
)

// usagePage shows the usage of all keys, or of the selected one.
type usagePage struct {
	usage.Report
	Period   string // number of days
	Limit    int
	All      []keys.Key
	Selected keys.Key // has no ID if all keys are shown
	Columns  []string // names of the keys with most requests, and "Other keys"
	Days     []usageDay
}

// usageDay is a row of the table of days.
type usageDay struct {
	Day      time.Time
	Requests []int64 // by column
	Total    int64
}

func (p *Pages) showUsage(w http.ResponseWriter, r *http.Request, u user) error {
	all, err := p.Keys.List(r.Context(), u.Tenant.ID)
	if err != nil {
		return err
	}
	zone, err := u.Tenant.Location()
	if err != nil {
		return err
	}
	page := usagePage{Period: "7", Limit: u.Tenant.Limit(), All: all}
	for _, period := range options["usage"] {
		if period.Value == r.FormValue("days") {
			page.Period = period.Value
		}
	}
	days, _ := strconv.Atoi(page.Period) // one of the options
	today := tenancy.DayOf(time.Now(), zone)
	q := usage.Query{From: today.AddDate(0, 0, 1-days), To: today}
	if text := r.FormValue("key"); text != "" {
		i := slices.IndexFunc(all, func(key keys.Key) bool { return strconv.FormatInt(key.ID, 10) == text })
		if i < 0 {
			return tenancy.ErrNotFound
		}
		page.Selected, q.KeyID = all[i], &all[i].ID
	}
	if page.Report, err = usage.Read(r.Context(), p.DB, *u.Tenant, q); err != nil {
		return err
	}
	page.Errors = page.Errors[:min(len(page.Errors), usageErrors)]
	page.addDays(q.From)
	return p.show(w, http.StatusOK, "usage", u, page)
}

// addDays fills the table of days, the last day first.
func (p *usagePage) addDays(from time.Time) {
	for i, k := range p.Keys {
		switch {
		case i < usageColumns:
			p.Columns = append(p.Columns, k.Name)
		case i == usageColumns:
			p.Columns = append(p.Columns, "Other keys")
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
	slices.Reverse(p.Days)
}

// Refused returns the number of refused requests of all keys.
func (p usagePage) Refused() (n int64) {
	for _, k := range p.Keys {
		n += k.Refused
	}
	return n
}

// Share returns a number of requests in percent of the limit.
func (p usagePage) Share(requests int64) string {
	return fmt.Sprintf("%d %%", 100*requests/int64(p.Limit))
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

// percentile returns a percentile of durations in words. Without durations it returns a dash.
func percentile(c usage.Counts, share float64) string {
	took, ok := c.Percentile(share)
	switch {
	case !ok:
		return "–"
	case took >= time.Second:
		return strconv.FormatFloat(took.Seconds(), 'f', 1, 64) + " s"
	}
	return strconv.FormatFloat(took.Seconds()*1000, 'f', 1, 64) + " ms"
}
