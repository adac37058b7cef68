package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/tenancy"
)

// reportChangesPage is a response of GET /api/reports/changes.
type reportChangesPage struct {
	Data []struct {
		Seq, Type, ID, Action string
		OrderNumber           *string `json:"order_number"`
		At                    time.Time
		Days                  []string
	}
	Meta changesMeta
}

// mustReportChanges reads all pages, until they have the number of entries: transactions of other tests can delay the
// feed.
func (a *testAPI) mustReportChanges(t *testing.T, query, start string, limit, entries int) (lines []string, next string) {
	t.Helper()
	poll(t, fmt.Sprintf("%d entries of %s", entries, query), func() bool {
		lines = nil
		for page, from := (reportChangesPage{Meta: changesMeta{HasMore: true}}), start; page.Meta.HasMore; {
			got := a.try(t, call{
				path: fmt.Sprintf("/api/reports/changes?%s&limit=%d&%s", query, limit, from), wantStatus: 200,
			})
			page = reportChangesPage{}
			if err := json.Unmarshal(got.body, &page); err != nil {
				t.Fatal(err)
			}
			if len(page.Data) > limit {
				t.Errorf("a page has %d entries, want at most %d", len(page.Data), limit)
			}
			for _, e := range page.Data {
				line := e.Type + " " + e.ID
				if e.Type == "refund" {
					line = e.Type
				}
				if e.OrderNumber != nil {
					line += " of " + *e.OrderNumber
				}
				lines = append(lines, line+" "+e.Action+" "+strings.Join(e.Days, ","))
			}
			next = page.Meta.NextCursor
			from = "after=" + url.QueryEscape(next)
		}
		return len(lines) >= entries
	})
	return lines, next
}

func TestChangesOfAClosedMonthAreListed(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	place := func(number, placedAt string) {
		a.mustOrder(t, `{"number":"`+number+`","placed_at":"`+placedAt+`","channel":"web","items":[
			{"sku":"MUG","quantity":1,"unit_price":"10.00"}]}`)
	}
	post := func(path, body string) {
		got := a.send(t, call{method: "POST", path: path, body: body})
		if got.StatusCode != 200 && got.StatusCode != 201 {
			t.Fatalf("POST %s = %d %s", path, got.StatusCode, got.body)
		}
	}
	changedAt := func(days string) *time.Time {
		var summary struct {
			Meta struct {
				ChangedAt *time.Time `json:"changed_at"`
			}
		}
		if err := json.Unmarshal(a.mustReport(t, "", "sales-summary?"+days).body, &summary); err != nil {
			t.Fatal(err)
		}
		return summary.Meta.ChangedAt
	}
	const february, march = "from=2026-02-01&to=2026-02-28", "from=2026-03-01&to=2026-03-31"
	if at := changedAt(march); at != nil {
		t.Errorf("before the first order, March changed at %v, want null", at)
	}
	place("F-1", "2026-02-10T10:00:00Z")
	place("M-1", "2026-03-10T10:00:00Z")
	first := changedAt(march)
	if first == nil || changedAt(february) == nil {
		t.Fatal("a month with an order has not changed")
	}
	time.Sleep(2 * time.Millisecond)
	since := time.Now().UTC()
	if got := *changedAt(march); !got.Equal(*first) {
		t.Errorf("March changed at %v and then at %v without a change", first, got)
	}
	post("/api/orders/F-1/refunds", `{"amount":"3.00","refunded_at":"2026-03-11T10:00:00Z"}`)
	second := *changedAt(march)
	if !second.After(*first) || !second.After(since) {
		t.Errorf("with the refund, March changed at %v, before at %v", second, first)
	}
	ofFebruary := *changedAt(february)
	if ofFebruary.After(since) {
		t.Errorf("a refund in March changed February at %v", ofFebruary)
	}
	post("/api/orders/F-1/cancel", "")
	if !changedAt(march).After(second) || !changedAt(february).After(ofFebruary) {
		t.Error("a cancellation changes the days of the order and of its refund")
	}
	place("M-2", "2026-03-31T23:30:00Z")
	place("A-1", "2026-04-01T00:00:00Z")

	start := "since=" + since.Format(time.RFC3339Nano)
	for _, test := range []struct {
		query string
		limit int
		want  []string
	}{
		{march, 100, []string{"refund of F-1 created 2026-03-11", "order F-1 of F-1 updated 2026-02-10,2026-03-11",
			"order M-2 of M-2 created 2026-03-31"}},
		{march, 1, []string{"refund of F-1 created 2026-03-11", "order F-1 of F-1 updated 2026-02-10,2026-03-11",
			"order M-2 of M-2 created 2026-03-31"}},
		{february, 100, []string{"order F-1 of F-1 updated 2026-02-10,2026-03-11"}},
		{"from=2026-04-01&to=2026-04-01", 2, []string{"order A-1 of A-1 created 2026-04-01"}},
		{"from=2026-05-01&to=2026-05-31", 100, nil},
	} {
		got, next := a.mustReportChanges(t, test.query, start, test.limit, len(test.want))
		if strings.Join(got, "\n") != strings.Join(test.want, "\n") {
			t.Errorf("%s, %d at a time:\n%s\nwant\n%s", test.query, test.limit, strings.Join(got, "\n"),
				strings.Join(test.want, "\n"))
		}
		if got, _ := a.mustReportChanges(t, test.query, "after="+url.QueryEscape(next), test.limit, 0); len(got) > 0 {
			t.Errorf("%s has %v after its end", test.query, got)
		}
	}
	if got, _ := a.mustReportChanges(t, march, "after=now", 10, 0); len(got) > 0 {
		t.Errorf("after=now lists %v", got)
	}
}

func TestInvalidRequestsForChangesOfReports(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	const march = "from=2026-03-01&to=2026-03-31"
	for query, want := range map[string]string{
		march:                                 `"since":["is required without after"]`,
		march + "&since=yesterday":            `"since":["`,
		march + "&since=2199-01-01T00:00:00Z": `"since":["must not be in the future"]`,
		march + "&after=x":                    `"after":["`,
		march + "&since=2026-03-01T00:00:00Z&limit=0": `"limit":["`,
		"since=2026-03-01T00:00:00Z":                  `"from":["is required"]`,
		march + "&after=now&wait=3":                   `"wait":["is not a known parameter"]`,
	} {
		a.try(t, call{path: "/api/reports/changes?" + query, wantStatus: 400, wantCode: InvalidParameter, want: []string{want}})
	}
	a.try(t, call{
		path: "/api/reports/changes?" + march + "&since=2020-01-01T00:00:00Z", wantStatus: 410, wantCode: CursorExpired,
		want: []string{"later time as since"},
	})
	ahead := time.Now().Add(maxClockSkew - 10*time.Second).UTC().Format(time.RFC3339)
	a.try(t, call{path: "/api/reports/changes?" + march + "&since=" + ahead, wantStatus: 200, want: []string{`"data":[]`}})
}

func TestPercentagesBeyond64BitsAreExact(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	// With a revenue of 0.01 and a cost of 9,999,999,999,990.00.
	a.mustOrder(t, `{"number":"1","placed_at":"2026-03-01T10:00:00Z","channel":"web","items":[
		{"sku":"X","quantity":1,"unit_price":"0.01","unit_cost":"9999999999.99"}`+strings.Repeat(`,
		{"sku":"X","quantity":1,"unit_price":"0.00","unit_cost":"9999999999.99"}`, 999)+`]}`)
	a.mustOrder(t, `{"number":"2","placed_at":"2026-03-02T10:00:00Z","channel":"web","items":[{"sku":"X",
		"quantity":1000000,"unit_price":"9999.99","unit_cost":"0.01"}]}`)
	const margin = "-99999999999899900.00"
	a.mustReport(t, "", "sales-summary?from=2026-03-01&to=2026-03-01", `"gross_margin_percent":"`+margin+`"`)
	a.mustReport(t, "", "products?sort=margin&from=2026-03-01&to=2026-03-01", `"margin_percent":"`+margin+`"`)
	a.mustReport(t, "", "sales-summary?compare=true&from=2026-03-02&to=2026-03-02", `"comparable":true`,
		`"revenue_change_percent":"99999899999900.00"`)
	a.mustReport(t, "", "export/sales-summary?from=2026-03-01&to=2026-03-01", margin)
	book := mustBook(t, a.mustReport(t, "", "export/sales-summary?format=xlsx&from=2026-03-01&to=2026-03-01").body)
	rows, err := book.GetRows("Summary")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(rows); !strings.Contains(got, "[gross_margin_percent "+margin+"]") {
		t.Errorf("the workbook has %s", got)
	}
}

func TestTodayIsComparedUntilTheSameTime(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	now := time.Now().UTC()
	today := tenancy.DayOf(now, time.UTC)
	at := func(days int, of time.Time) string { return of.AddDate(0, 0, days).Format(time.RFC3339) }
	until := reports.LastQuarter(now, time.UTC)
	for i, placedAt := range []string{
		at(-30, today), at(-1, today), at(-1, today.Add(24*time.Hour-time.Second)), at(0, today),
	} {
		a.mustOrder(t, fmt.Sprintf(`{"number":"%d","placed_at":%q,"channel":"web","items":[
			{"sku":"X","quantity":1,"unit_price":"10.00"}]}`, i, placedAt))
	}
	wantUntil := `"until":"` + until.AddDate(0, 0, -1).Format("2006-01-02T15:04:05.000000Z") + `"`
	if until.Equal(today) {
		return // at midnight, nothing of the compared day counts
	}
	for _, path := range []string{"sales-summary?period=today", "channels?period=today"} {
		whole := a.mustReport(t, "", path+"&compare=true", `"until":null`, `"comparable":true`)
		part := a.mustReport(t, "", path+"&compare=true&compare_until=now", `"comparable":true`)
		if got := string(part.body); !strings.Contains(got, wantUntil) && time.Since(now) < time.Minute &&
			reports.LastQuarter(time.Now(), time.UTC).Equal(until) {
			t.Errorf("%s = %s, want %s", path, got, wantUntil)
		}
		if !strings.Contains(string(whole.body), `"orders":2,`) || strings.Contains(string(part.body), `"orders":2,`) {
			t.Errorf("%s:\n%s\nwant 2 orders of yesterday, and until now\n%s\none", path, whole.body, part.body)
		}
	}
	yesterday := today.AddDate(0, 0, -1).Format(time.DateOnly)
	for query, want := range map[string]string{
		"period=today&compare_until=now":                                                              `"compare_until":["must be given together with compare"]`,
		"period=today&compare=false&compare_until=now":                                                `"compare_until":["must be given together with compare"]`,
		"period=yesterday&compare=true&compare_until=now":                                             `"compare_until":["requires a range that ends today"]`,
		"period=today&compare=true&compare_until=12:00":                                               `"compare_until":["must be one of now"]`,
		"from=" + yesterday + "&to=" + yesterday + "&compare=previous_year_weekday&compare_until=now": `"compare_until":["requires`,
	} {
		for _, report := range []string{"sales-summary", "channels", "export/sales-summary", "export/channels"} {
			a.try(t, call{
				path: "/api/reports/" + report + "?" + query, wantStatus: 400, wantCode: InvalidParameter, want: []string{want},
			})
		}
	}
	a.try(t, call{
		path: "/api/reports/products?period=today&compare_until=now", wantStatus: 400, wantCode: InvalidParameter,
		want: []string{`"compare_until":["is not a known parameter"]`},
	})
}
