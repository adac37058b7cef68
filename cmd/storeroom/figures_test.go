package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"math"
	rational "math/big"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

// figuresShop is an imported shop with a signed-in member.
type figuresShop struct {
	sender
	files  *soldFiles
	slug   string
	member *http.Client
	low    []lowStock // in the order of the files
}

type lowStock struct {
	sku                    string
	quantity, reorderPoint int64
}

// The overview shows the figures of the API, and these are the sums of the CSV files. Of the two larger shops
// only the orders of some months are imported, because all of them take minutes.
func TestTheOverviewEqualsTheAPIAndTheFiles(t *testing.T) {
	t.Parallel()
	const before, year = "previous_period", "previous_year"
	type period struct{ from, to, compare string }
	p := newProgram(t).with("REDIS_URL=" + privateRedis(t))
	base := start(t, p.dir, p.environ, "serve").address(t)
	for _, test := range []struct {
		set, zone, currency string
		months              []string // of the imported orders; nil means all
		costed              bool
		periods             []period
	}{
		{"contoso", "UTC", "USD", nil, true, []period{
			{"2023-01-01", "2023-12-31", year}, {"2024-02-01", "2024-03-31", year}, {"2022-05-01", "2022-05-31", before},
		}},
		{"grocery", "America/New_York", "USD", []string{"2017-09", "2017-10", "2017-11", "2017-12", "2018-01"}, false, []period{
			{"2017-11-01", "2017-12-31", before}, {"2017-12-31", "2018-01-01", year}, {"2017-01-01", "2018-01-01", before},
		}},
		{"uci", "Europe/London", "GBP", []string{"2010-12", "2011-11", "2011-12"}, false, []period{
			{"2010-12-01", "2011-12-09", before}, {"2011-12-01", "2011-12-09", year}, {"2011-11-21", "2011-11-30", before},
			{"2011-09-01", "2011-12-09", before},
		}},
	} {
		t.Run(test.set, func(t *testing.T) {
			dir := dbtest.SharedData(t, test.set)
			if test.months != nil {
				dir = mustSelectOrders(t, os.DirFS(dir), test.months)
			}
			zone, err := time.LoadLocation(test.zone)
			if err != nil {
				t.Fatal(err)
			}
			p.mustRun(t, &tenantJSON{}, "tenant", "create", "--slug", test.set, "--name", test.set, "--timezone", test.zone,
				"--currency", test.currency, "--plan", "enterprise", "--rate-limit", "100000")
			if o := p.run(t, "import", "--tenant", test.set, dir); o.code != 0 {
				t.Fatalf("import = %+v", o)
			}
			var key keyJSON
			p.mustRun(t, &key, "key", "create", "--tenant", test.set, "--name", "Test", "--scopes", "full")
			s := figuresShop{sender: newSender(t, base, key.Key), slug: test.set, files: mustReadFiles(t, os.DirFS(dir), zone)}
			s.member = p.mustMember(t, base, test.set)
			s.setLowStock(t)
			for _, period := range test.periods {
				t.Run(fmt.Sprint(period.from, " to ", period.to, " with ", period.compare), func(t *testing.T) {
					s.check(t, period.from, period.to, period.compare, test.costed)
				})
			}
		})
	}
}

// mustMember returns the browser of a signed-in viewer.
func (p program) mustMember(t *testing.T, base, slug string) *http.Client {
	t.Helper()
	email, password := slug+"@example.com", "the password of "+slug
	p.mustRunWith(t, password+"\n", &struct{}{}, "user", "create", "--tenant", slug, "--email", email, "--role", "viewer",
		"--password-stdin")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Jar: jar, Timeout: requestTimeout}
	form := url.Values{"email": {email}, "password": {password}}
	r, err := http.NewRequestWithContext(t.Context(), "POST", base+"/settings/sign-in", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	response, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != 200 || response.Request.URL.Path != "/settings/t/"+slug+"/overview" {
		t.Fatalf("sign-in ends at %s with %d", response.Request.URL, response.StatusCode)
	}
	return c
}

// setLowStock gives some products a stock and a reorder point, which the files do not have.
func (s *figuresShop) setLowStock(t *testing.T) {
	t.Helper()
	var items []map[string]any
	for i, sku := range slices.Sorted(maps.Keys(s.files.names))[:40] {
		low := lowStock{sku, int64(5 * i), int64(60 + i)}
		if low.quantity <= low.reorderPoint {
			s.low = append(s.low, low)
		}
		items = append(items, map[string]any{"sku": sku, "quantity": low.quantity, "reorder_point": low.reorderPoint})
	}
	s.mustSend(t, message{method: "POST", path: "/api/products/bulk", body: map[string]any{"items": items}}, new(any))
}

// report is the response of a report.
type report struct{ Data, Meta any }

func (s *figuresShop) mustReport(t *testing.T, path string) report {
	t.Helper()
	r, err := s.sendWithRetry(t.Context(), message{method: "GET", path: "/api/reports/" + path})
	if err != nil || r.status != 200 {
		t.Fatalf("GET %s = %v, %v", path, r, err)
	}
	d := json.NewDecoder(bytes.NewReader(r.body))
	d.UseNumber()
	var answer report
	if err := d.Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

// at returns the value at a path such as "comparison.summary".
func at(value any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		value = value.(map[string]any)[name]
	}
	return value
}

// text returns the value at a path as text.
func text(value any, path string) string {
	if value = at(value, path); value == nil {
		return "null"
	}
	return fmt.Sprint(value)
}

func list(value any, path string) (list []any) {
	list, _ = at(value, path).([]any)
	return list
}

// specified are the names of figures in the summary of the specification, where a profit without known costs is 0.00.
var specified = map[string]string{
	"revenue": "total_revenue", "orders": "total_orders", "avg_order_value": "average_order_value",
	"units_sold": "total_items_sold", "discounts": "total_discounts", "tax": "total_tax",
	"gross_profit": "gross_profit", "margin_percent": "gross_margin_percent",
}

// compareFigures compares the figures of a part of a report.
func compareFigures(t *testing.T, where string, part any, want map[string]string) {
	t.Helper()
	for name, figure := range want {
		if _, exists := part.(map[string]any)[name]; !exists {
			name = specified[name]
		}
		if got := text(part, name); got != figure {
			t.Errorf("%s.%s = %s, the files have %s", where, name, got, figure)
		}
	}
}

// comparedDay returns the day that a day of a range is compared with.
func comparedDay(day time.Time, days int, compare string) time.Time {
	if compare == "previous_period" {
		return day.AddDate(0, 0, -days)
	}
	if day.Month() == time.February && day.Day() == 29 {
		day = day.AddDate(0, 0, -1)
	}
	return day.AddDate(-1, 0, 0)
}

// check compares the files with the API, and the API with the overview.
func (s *figuresShop) check(t *testing.T, first, last, compare string, costed bool) {
	from, to := mustDay(t, first), mustDay(t, last)
	days := int(to.Sub(from).Hours()/24) + 1
	now := s.files.between(from, to)
	before := s.files.between(comparedDay(from, days, compare), comparedDay(to, days, compare))
	query := url.Values{"from": {first}, "to": {last}, "compare": {compare}}.Encode()
	page := s.mustOverview(t, query)

	summary := s.mustReport(t, "sales-summary?"+query).Data
	figures := now.total.figures()
	s.checkSummary(t, summary, figures, before)
	page.checkTiles(t, summary, now.total, costed)
	if noneCosted := figures["gross_profit"] == "null"; noneCosted == costed {
		t.Errorf("gross profit of the files = %s", figures["gross_profit"])
	}

	var periods [][]string
	if got := len(list(summary, "daily_breakdown")); got != days {
		t.Fatalf("%d days, want %d", got, days)
	}
	for i, row := range list(summary, "daily_breakdown") {
		day := from.AddDate(0, 0, i)
		other := comparedDay(day, days, compare)
		figures, earlier := now.days[day].figures(), before.days[other].figures()
		compareFigures(t, "day "+text(row, "date"), row, figures)
		compared := list(summary, "comparison.daily_breakdown")[i]
		compareFigures(t, "compared day "+text(compared, "date"), compared, earlier)
		compareFigures(t, "changes of "+text(compared, "compared_with"), at(compared, "changes"), before.changes(figures, earlier))
		wantDays := day.Format(time.DateOnly) + " " + day.Format(time.DateOnly) + " " + other.Format(time.DateOnly)
		if got := text(row, "date") + " " + text(compared, "compared_with") + " " + text(compared, "date"); got != wantDays {
			t.Errorf("days = %s, want %s", got, wantDays)
		}
		label := day.Format("2 Jan")
		switch {
		case days > 182:
			label = day.Format("Jan 2006")
		case days > 45:
			label = day.AddDate(0, 0, -int(day.Weekday()+6)%7).Format("2 Jan")
		}
		if n := len(periods); n == 0 || periods[n-1][0] != label {
			periods = append(periods, []string{label, "0.00", "0.00", "0", "0.00"})
		}
		sum := periods[len(periods)-1]
		for column, figure := range []string{
			text(row, "revenue"), text(compared, "revenue"), text(row, "orders"), text(row, "refunds"),
		} {
			sum[column+1] = plus(sum[column+1], figure)
		}
	}
	page.compareRows(t, "periods", periods)

	s.checkChannels(t, page, query, now, before)
	s.checkProducts(t, page, "from="+first+"&to="+last, now, before)
	s.checkCustomers(t, page, "from="+first+"&to="+last, now)
	s.checkLowStock(t, page, now, days)
	_, header := s.mustOpen(t, page["file"])
	want := fmt.Sprintf(`attachment; filename="overview_%s_%s.xlsx"`, first, last)
	if got := header.Get("Content-Disposition"); got != want {
		t.Errorf("the link of the page leads to %s, want %s", got, want)
	}
}

func (s *figuresShop) checkSummary(t *testing.T, summary any, now map[string]string, compared soldRange) {
	before := compared.total.figures()
	changed := compared.changes(now, before)
	for name, figure := range now {
		if figure == "null" {
			figure = "0.00"
		}
		if got := text(summary, "summary."+cmp.Or(specified[name], name)); got != figure {
			t.Errorf("summary: %s = %s, the files have %s", name, got, figure)
		}
	}
	compareFigures(t, "comparison.summary", at(summary, "comparison.summary"), before)
	compareFigures(t, "comparison.changes", at(summary, "comparison.changes"), changed)
	for name, want := range map[string]string{
		"total_revenue":          before["revenue"],
		"revenue_change_percent": changed["revenue"], "orders_change_percent": changed["orders"],
	} {
		if got := text(summary, "comparison."+name); got != want {
			t.Errorf("comparison.%s = %s, want %s", name, got, want)
		}
	}
}

func (s *figuresShop) checkChannels(t *testing.T, page overview, query string, now, before soldRange) {
	answer := s.mustReport(t, "channels?"+query)
	compareFigures(t, "totals of channels", at(answer.Meta, "totals"), now.total.figures())
	compareFigures(t, "comparison of channels", at(answer.Meta, "comparison"), before.total.figures())
	reported := map[string]bool{}
	var shown [][]string
	for _, row := range answer.Data.([]any) {
		channel := text(row, "channel")
		reported[channel] = true
		figures, earlier := now.channels[channel].figures(), before.channels[channel].figures()
		compareFigures(t, channel, row, figures)
		compareFigures(t, channel+" before", at(row, "comparison"), earlier)
		compareFigures(t, "changes of "+channel, at(row, "comparison.changes"), before.changes(figures, earlier))
		shown = append(shown, []string{
			text(row, "label"), text(row, "orders"), text(row, "revenue"), text(row, "comparison.revenue"),
		})
	}
	for _, channels := range []map[string]fileSums{now.channels, before.channels} {
		for channel := range channels {
			if !reported[channel] {
				t.Errorf("the report has no channel %s", channel)
			}
		}
	}
	rows := page.rows("channels")
	for i := range rows {
		rows[i] = rows[i][:4] // the other columns are figures that the tiles of one shop have
	}
	if diff := gocmp.Diff(plainSpaces(shown), plainSpaces(rows)); diff != "" {
		t.Errorf("channels (-want +got):\n%s", diff)
	}
}

// checkProducts compares the best products and the declines. The API has no declines.
func (s *figuresShop) checkProducts(t *testing.T, page overview, query string, now, before soldRange) {
	const limit = 10
	answer := s.mustReport(t, fmt.Sprint("products?", query, "&per_page=", limit))
	figures := now.total.figures()
	totals := map[string]string{"cost_total": amount(now.total.cost)}
	for _, name := range []string{"gross_sales", "discounts", "revenue", "units_sold", "revenue_without_cost"} {
		totals[name] = figures[name]
	}
	compareFigures(t, "totals of products", at(answer.Meta, "totals"), totals)
	if got := text(answer.Meta, "total"); got != strconv.Itoa(len(now.products)) {
		t.Errorf("the report has %s products, the files %d", got, len(now.products))
	}
	var best, bestNet, declines []int64
	for sku, sums := range now.products {
		best = append(best, -sums.revenue())
		if net := sums.revenue() - sums.refunds; sums.items > 0 && net >= 0 {
			bestNet = append(bestNet, -net)
		}
		declines = append(declines, sums.revenue()-before.products[sku].revenue())
	}
	for sku, sums := range before.products {
		if _, sold := now.products[sku]; !sold {
			declines = append(declines, -sums.revenue())
		}
	}
	slices.Sort(best)
	slices.Sort(bestNet)
	slices.Sort(declines)
	declines = slices.DeleteFunc(declines, func(change int64) bool { return change >= 0 })

	for i, row := range answer.Data.([]any) {
		sku := text(row, "sku")
		sums := now.products[sku]
		figures := sums.figures()
		want := map[string]string{"name": s.files.names[sku], "cost_total": amount(sums.cost)}
		for _, name := range []string{
			"gross_sales", "discounts", "revenue", "refunds", "net_revenue", "units_sold", "costed_percent", "units_without_cost",
		} {
			want[name] = figures[name]
		}
		compareFigures(t, sku, row, want)
		if -sums.revenue() != best[i] {
			t.Errorf("product %d is %s with %s, want %s", i, sku, figures["revenue"], amount(-best[i]))
		}
	}

	// The page ranks by net revenue.
	shown := page.rows("products")
	if len(shown) != min(limit, len(bestNet)) {
		t.Errorf("%d best products, want %d", len(shown), min(limit, len(bestNet)))
	}
	for i, row := range shown {
		sku := row[0][strings.LastIndex(row[0], " ")+1:]
		sums := now.products[sku]
		net := sums.revenue() - sums.refunds
		want := []string{s.files.names[sku] + " " + sku, count(sums.units), amount(net)}
		if diff := gocmp.Diff([][]string{want}, plainSpaces([][]string{row})); diff != "" || -net != bestNet[i] {
			t.Errorf("best product %d, want %s (-want +got):\n%s", i, amount(-bestNet[i]), diff)
		}
	}

	declined := page.rows("declines")
	if len(declined) != min(limit, len(declines)) {
		t.Errorf("%d declines, want %d", len(declined), min(limit, len(declines)))
	}
	for i, row := range declined {
		sku := row[0][strings.LastIndex(row[0], " ")+1:]
		sold, soldBefore := now.products[sku], before.products[sku]
		want := []string{s.files.names[sku] + " " + sku, amount(sold.revenue()), amount(soldBefore.revenue())}
		if diff := gocmp.Diff([][]string{want}, plainSpaces([][]string{row})); diff != "" || sold.revenue()-soldBefore.revenue() != declines[i] {
			t.Errorf("decline %d, want %s (-want +got):\n%s", i, amount(declines[i]), diff)
		}
	}
}

func (s *figuresShop) checkCustomers(t *testing.T, page overview, query string, now soldRange) {
	answer := s.mustReport(t, "customers?"+query)
	want := map[string]string{
		"total_customers": count(now.customers), "new_customers": count(now.newCustomers),
		"returning_customers": count(now.customers - now.newCustomers), "guest_orders": count(now.guests),
	}
	compareFigures(t, "customers", at(answer.Data, "summary"), want)
	shown := regexp.MustCompile(`<dd>(.*?)</dd>`).FindAllStringSubmatch(page["customers"], -1)
	for i, name := range []string{"total_customers", "new_customers", "returning_customers", "guest_orders"} {
		if got := text(answer.Data, "summary."+name); len(shown) != 4 || strings.ReplaceAll(shown[i][1], ",", "") != got {
			t.Errorf("%s = %s, the page has %q", name, got, shown)
		}
	}
}

// checkLowStock compares the low stock with what setLowStock has set. The API has no such report.
func (s *figuresShop) checkLowStock(t *testing.T, page overview, now soldRange, days int) {
	low := slices.Clone(s.low)
	slices.SortStableFunc(low, func(a, b lowStock) int {
		rate := func(l lowStock) float64 {
			switch units := now.products[l.sku].units; {
			case l.quantity == 0:
				return 0
			case units > 0:
				return float64(l.quantity) / float64(units)
			}
			return math.Inf(1)
		}
		return cmp.Or(cmp.Compare(rate(a), rate(b)), cmp.Compare(now.products[b.sku].units, now.products[a.sku].units),
			cmp.Compare(a.quantity, b.quantity))
	})
	var shown [][]string
	for _, l := range low[:10] {
		left, units := "not sold", now.products[l.sku].units
		if l.quantity == 0 {
			left = "0"
		} else if units > 0 {
			left = count(l.quantity * int64(days) / units)
		}
		shown = append(shown, []string{s.files.names[l.sku] + " " + l.sku, count(l.quantity), count(l.reorderPoint), left})
	}
	page.compareRows(t, "low_stock", shown)
	if text := plain(page["low_stock"]); !strings.Contains(text, fmt.Sprintf(" %d products are at their reorder point", len(low))) {
		t.Errorf("%d products have low stock, the page has %q", len(low), text)
	}
}

// overview is the page: the HTML of each element with the attribute data-figure.
type overview map[string]string

var (
	figureElement = regexp.MustCompile(`(?s)<(?:table|li|dl|section)[^>]*data-figure="(\w+)"[^>]*>(.*?)</(?:table|li|dl)>`)
	tableRow      = regexp.MustCompile(`(?s)<tr>(.*?)</tr>`)
	tableCell     = regexp.MustCompile(`(?s)<t[hd][^>]*>(.*?)</t[hd]>`)
	tileValue     = regexp.MustCompile(`(?s)<p class="figure(?: long)?">(.*?)</p>`)
	tileChange    = regexp.MustCompile(`(?s)<p class="change">(.*?)</p>`)
	tileWords     = regexp.MustCompile(`(?s)<details>.*?<p>(.*?)</p>`)
	downloadLink  = regexp.MustCompile(`href="(overview.xlsx[^"]*)"`)
	anyTag        = regexp.MustCompile(`<[^>]*>`)
	number        = regexp.MustCompile(`[-+]?[0-9][0-9.]*`)
)

func (s *figuresShop) mustOverview(t *testing.T, query string) overview {
	t.Helper()
	folder := s.base + "/settings/t/" + s.slug + "/"
	body, _ := s.mustOpen(t, folder+"overview?"+query)
	page := overview{}
	for _, element := range figureElement.FindAllStringSubmatch(body, -1) {
		page[element[1]] = element[2]
	}
	for _, name := range []string{"revenue", "refunds", "periods", "products", "channels", "customers", "low_stock"} {
		if page[name] == "" {
			t.Fatalf("the overview has no %s: %s", name, body)
		}
	}
	for _, link := range downloadLink.FindAllStringSubmatch(body, -1) {
		page["file"] = folder + html.UnescapeString(link[1])
	}
	return page
}

// mustOpen opens a page or a file as the member.
func (s *figuresShop) mustOpen(t *testing.T, address string) (body string, header http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Language", "en")
	response, err := s.member.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != 200 {
		t.Fatalf("%s = %d: %v: %s", address, response.StatusCode, err, content)
	}
	return string(content), response.Header
}

// plain returns text without tags, with numbers as the API writes them.
func plain(text string) string {
	text = html.UnescapeString(anyTag.ReplaceAllString(text, " "))
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "−", "-")), " ")
}

// rows returns the cells of a table.
func (o overview) rows(name string) (rows [][]string) {
	for _, row := range tableRow.FindAllStringSubmatch(o[name], -1) {
		var cells []string
		for i, cell := range tableCell.FindAllStringSubmatch(row[1], -1) {
			text := plain(cell[1])
			if i > 0 {
				text = strings.ReplaceAll(text, ",", "")
			}
			cells = append(cells, text)
		}
		rows = append(rows, cells)
	}
	return rows[min(1, len(rows)):] // without the head
}

func (o overview) compareRows(t *testing.T, name string, want [][]string) {
	t.Helper()
	if diff := gocmp.Diff(plainSpaces(want), plainSpaces(o.rows(name))); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// plainSpaces joins repeated spaces, which a page does not show.
func plainSpaces(rows [][]string) [][]string {
	for _, row := range rows {
		row[0] = strings.Join(strings.Fields(row[0]), " ")
	}
	return rows
}

// checkTiles compares the tiles with a summary, and the numbers of their calculations with the files.
func (o overview) checkTiles(t *testing.T, summary any, now fileSums, costed bool) {
	revenue, withCost := amount(now.revenue()), amount(now.revenue()-now.revenueWithoutCost)
	for name, words := range map[string][]string{
		"revenue":         {amount(now.gross), amount(now.discounts)},
		"net_revenue":     {revenue, amount(now.refunds)},
		"orders":          nil,
		"avg_order_value": {revenue, count(now.orders)},
		"units_sold":      {count(now.items)},
		"gross_profit":    {withCost, amount(now.cost)},
		"margin_percent":  {"100", text(summary, "summary.gross_profit"), withCost},
		"refunds":         {count(now.refundCount)},
	} {
		value, change := part(tileValue, o[name]), part(tileChange, o[name])
		want := text(summary, "summary."+cmp.Or(specified[name], name))
		if usesCost := name == "gross_profit" || name == "margin_percent"; usesCost && !costed {
			want = "No costs known"
		} else {
			value, _, _ = strings.Cut(value, " ") // the unit
		}
		if value = strings.ReplaceAll(value, ",", ""); value != want {
			t.Errorf("the tile %s has %s, the API %s", name, value, want)
		}
		before := text(summary, "comparison.summary."+name)
		want = text(summary, "comparison.changes."+name)
		if name == "margin_percent" && strings.Contains(change, " points") {
			want = plus(text(summary, "summary."+cmp.Or(specified[name], name)), "-"+before) // the page shows the points between percentages
		}
		if exact, known := new(rational.Rat).SetString(want); !known {
			if !strings.Contains(change, "No comparison") {
				t.Errorf("the change of %s is %s, the API has %s", name, change, want)
			}
		} else if shown, _ := exact.Float64(); math.Abs(mustNumber(t, change)-shown) > 0.0501 {
			t.Errorf("the change of %s is %s, the API has %s", name, change, want)
		} else if _, from, _ := strings.Cut(strings.ReplaceAll(change, ",", ""), " from "); from != before {
			t.Errorf("%s changed from %s, the API has %s", name, from, before)
		}
		calculation := strings.ReplaceAll(part(tileWords, o[name]), ",", "")
		if diff := gocmp.Diff(words, number.FindAllString(calculation, -1)); diff != "" {
			t.Errorf("the calculation of %s is %q (-want +got):\n%s", name, calculation, diff)
		}
	}
}

func part(pattern *regexp.Regexp, text string) string {
	if found := pattern.FindStringSubmatch(text); found != nil {
		return plain(found[1])
	}
	return ""
}

// mustNumber returns the first number in a text.
func mustNumber(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(number.FindString(strings.ReplaceAll(text, ",", "")), 64)
	if err != nil {
		t.Fatalf("%q has no number", text)
	}
	return n
}

func mustDay(t *testing.T, text string) time.Time {
	t.Helper()
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		t.Fatal(err)
	}
	return day
}

// plus adds amounts or counts.
func plus(a, b string) string {
	if !strings.Contains(a, ".") {
		x, _ := strconv.ParseInt(a, 10, 64)
		y, _ := strconv.ParseInt(b, 10, 64)
		return count(x + y)
	}
	x, _ := new(rational.Rat).SetString(a)
	y, _ := new(rational.Rat).SetString(b)
	return twoDigits(x.Add(x, y))
}
