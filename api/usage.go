package api

import (
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/storeroom/storeroom/keys/usage"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// usage takes the parameters of a report of usage. The default is the last seven days.
func (q *query) usage(r *http.Request) (usage.Query, error) {
	_, hasFrom := q.values["from"]
	_, hasTo := q.values["to"]
	preset, hasPreset := q.values["period"]
	if !hasFrom && !hasTo && !hasPreset {
		q.values["period"] = "last_7_days"
	}
	period, err := q.period(r, false)
	asked := usage.Query{From: period.From, To: period.To, KeyID: q.id("key_id")}
	most := usage.Days
	if q.oneOf("group_by", "day", "hour") == "hour" {
		asked.ByHour, most = true, usage.MaxHourlyDays
	}
	if !period.From.IsZero() && period.Days() > most {
		name := "to"
		if preset != "" {
			name = "period"
		}
		q.errs.Add(name, "must end a range of at most %d days", most)
	}
	return asked, err
}

// showUsage handles GET /api/usage.
func (s *Server) showUsage(w http.ResponseWriter, r *http.Request) error {
	params := readQuery(r)
	asked, err := params.usage(r)
	if err != nil {
		return err
	}
	if err := params.err(); err != nil {
		return err
	}
	tenant := principal(r).Tenant
	report, err := usage.Read(r.Context(), stateOf(r).db, tenant, asked)
	if err != nil {
		return err
	}
	return writeData(w, http.StatusOK, usageShape(report, asked, tenant))
}

func usageShape(report usage.Report, asked usage.Query, tenant tenants.Tenant) jsonObject {
	grouping := "day"
	if asked.ByHour {
		grouping = "hour"
	}
	var requests, refused int64
	for _, k := range report.Keys {
		requests, refused = requests+k.Requests(), refused+k.Refused
	}
	return jsonObject{
		{"period", jsonObject{{"from", asked.From.Format(time.DateOnly)}, {"to", asked.To.Format(time.DateOnly)}}},
		{"timezone", tenant.Timezone}, {"group_by", grouping}, {"limit", tenant.Limit()},
		{"requests", requests}, {"refused", refused}, {"busiest_minute", minuteShape(report.Busiest)},
		{"keys", mapSlice(report.Keys, func(k usage.KeyUsage) jsonObject {
			shape := jsonObject{{"key_id", k.ID}, {"name", k.Name}, {"prefix", k.Prefix}, {"last4", k.Last4}}
			periods := make([]jsonObject, len(k.Periods))
			for i, counts := range k.Periods {
				start := any(timestamp(report.Starts[i]))
				if !asked.ByHour {
					start = asked.From.AddDate(0, 0, i).Format(time.DateOnly)
				}
				periods[i] = countsShape(jsonObject{{"start", start}}, counts)
			}
			return append(countsShape(shape, k.Counts),
				jsonField{"busiest_minute", minuteShape(k.Busiest)},
				jsonField{"routes", mapSlice(k.Routes, func(g usage.RouteUsage) jsonObject {
					return countsShape(jsonObject{{"route", orNull(g.Route)}}, g.Counts)
				})},
				jsonField{"periods", periods})
		})},
		{"last_errors", mapSlice(report.Errors, func(e usage.Error) jsonObject {
			return jsonObject{
				{"at", timestamp(e.At)}, {"key_id", e.KeyID}, {"method", e.Method}, {"route", orNull(e.Route)},
				{"status", e.Status}, {"code", e.Code}, {"request_id", e.RequestID},
			}
		})},
	}
}

func countsShape(shape jsonObject, c usage.Counts) jsonObject {
	statuses := jsonObject{}
	for i, n := range c.Statuses {
		statuses = append(statuses, jsonField{fmt.Sprint(i+2, "xx"), n})
	}
	percentile := func(share float64) *float64 {
		took, ok := c.Percentile(share)
		if !ok {
			return nil
		}
		return new(math.Round(took.Seconds()*10_000) / 10)
	}
	return append(shape,
		jsonField{"requests", c.Requests()}, jsonField{"statuses", statuses}, jsonField{"refused", c.Refused},
		jsonField{"p50_ms", percentile(.5)}, jsonField{"p95_ms", percentile(.95)})
}

// minuteShape returns null if there were no requests.
func minuteShape(m usage.Minute) any {
	if m.Requests == 0 {
		return nil
	}
	return jsonObject{{"start", timestamp(m.At)}, {"requests", m.Requests}}
}
