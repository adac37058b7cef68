package api

import (
	"fmt"
	"math/big"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/tenancy"
)

// aShop has sales whose figures are easy to compute by hand: four orders from 1 to 3
// March, one in February, a cancelled one and a refund.
type aShop struct{ kitchen, mug, lamp int64 }

func (a *testAPI) mustShop(t testing.TB) (s aShop) {
	t.Helper()
	s.kitchen = a.mustCreate(t, "/api/categories", `{"name":"Kitchen"}`)
	s.mug = a.mustProduct(t, fmt.Sprintf(`{"sku":"00017","name":"=Mug","price":25,"cost":10,"category_id":%d}`, s.kitchen))
	s.lamp = a.mustProduct(t, `{"sku":"LAMP","name":"Lamp","price":"14.90"}`)
	ada, bob := `"customer":{"id":"C-1","name":"Ada","email":"ada@example.com"}`, `"customer":{"id":"0002"}`
	for _, body := range []string{
		`{"number":"A","placed_at":"2026-03-01T09:30:00Z","channel":"web",` + ada + `,"discount_total":5,
			"tax_total":9,"items":[{"sku":"00017","quantity":2,"unit_price":25}]}`,
		`{"number":"B","placed_at":"2026-03-01T10:00:00Z","channel":"pos","items":[{"sku":"LAMP","quantity":1,
			"unit_price":14.9}]}`,
		`{"number":"C","placed_at":"2026-03-03T23:59:59Z","channel":"web",` + ada + `,"items":[{"sku":"00017",
			"quantity":1,"unit_price":25},{"sku":"X-1","quantity":1,"unit_price":5}]}`,
		`{"number":"D","placed_at":"2026-03-02T12:00:00Z","channel":"web",` + bob + `,"items":[{"sku":"00017",
			"quantity":1,"unit_price":25}]}`,
		`{"number":"E","placed_at":"2026-02-27T12:00:00Z","channel":"web",` + bob + `,"items":[{"sku":"00017",
			"quantity":4,"unit_price":25}]}`,
		`{"number":"F","placed_at":"2026-03-03T00:00:00Z","channel":"web",` + bob + `,"items":[{"sku":"00017",
			"quantity":1,"unit_price":25}]}`,
	} {
		a.try(t, call{method: "POST", path: "/api/orders", body: body, wantStatus: 201})
	}
	a.try(t, call{method: "POST", path: "/api/orders/D/cancel", wantStatus: 200})
	a.try(t, call{method: "POST", path: "/api/orders/A/refunds", body: `{"amount":12.5,
		"refunded_at":"2026-03-03T08:00:00Z"}`, wantStatus: 201})
	a.try(t, call{method: "PATCH", path: "/api/channels/web", body: `{"label":"-Web"}`, wantStatus: 200})
	return s
}

// mustReport sends a GET request for a report and checks that the response contains want.
func (a *testAPI) mustReport(t testing.TB, key, path string, want ...string) reply {
	t.Helper()
	return a.try(t, call{path: "/api/reports/" + path, key: key, wantStatus: 200, want: want})
}

// oneLine removes the line breaks that keep expected JSON readable.
func oneLine(json string) string { return strings.NewReplacer("\n", "", "\t", "").Replace(json) }

const firstDays = "from=2026-03-01&to=2026-03-03"

func TestReportsOfAShop(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	s := a.mustShop(t)
	mug := fmt.Sprintf(`{"product_id":%d,"sku":"00017","name":"=Mug","units_sold":4,"revenue":"95.00",
		"cost_total":"40.00","gross_profit":"55.00","margin_percent":"57.89","units_without_cost":0}`, s.mug)
	lamp := fmt.Sprintf(`{"product_id":%d,"sku":"LAMP","name":"Lamp","units_sold":1,"revenue":"14.90",
		"cost_total":"0.00","gross_profit":"14.90","margin_percent":"100.00","units_without_cost":1}`, s.lamp)
	unknown := `{"product_id":null,"sku":"X-1","name":"X-1","units_sold":1,"revenue":"5.00","cost_total":"0.00",
		"gross_profit":"5.00","margin_percent":"100.00","units_without_cost":1}`
	ada := `{"customer_id":"C-1","name":"Ada","email":"ada@example.com","orders":2,"revenue":"75.00",
		"average_order_value":"37.50","refunds":"12.50","first_order_at":"2026-03-01T09:30:00.000000Z",
		"last_order_at":"2026-03-03T23:59:59.000000Z"}`
	bob := `{"customer_id":"0002","name":null,"email":null,"orders":1,"revenue":"25.00",
		"average_order_value":"25.00","refunds":"0.00","first_order_at":"2026-02-27T12:00:00.000000Z",
		"last_order_at":"2026-03-03T00:00:00.000000Z"}`
	people := `"summary":{"total_customers":2,"new_customers":1,"returning_customers":1,"guest_orders":1,
		"repeat_rate_percent":"50.00","average_revenue_per_customer":"50.00"}`
	withoutGuests := strings.Replace(people, `"guest_orders":1`, `"guest_orders":0`, 1)
	march := `"period":{"from":"2026-03-01","to":"2026-03-03"}`
	meta := func(page, perPage, total, pages int, next, prev bool) string {
		return fmt.Sprintf(`"meta":{"page":%d,"per_page":%d,"total":%d,"total_pages":%d,"has_next":%t,
			"has_prev":%t}`, page, perPage, total, pages, next, prev)
	}
	page := func(rows ...string) string { return `[` + strings.Join(rows, ",") + `],` }
	for path, want := range map[string]string{
		"sales-summary?" + firstDays + "&compare=true": `{` + march + `,"currency":"USD","timezone":"UTC",` +
			`"summary":{"total_revenue":"114.90","total_orders":4,"average_order_value":"28.73","total_items_sold":6,
				"total_discounts":"5.00","total_tax":"9.00","gross_profit":"74.90","gross_margin_percent":"65.19",
				"units_without_cost":2},` +
			`"by_channel":[{"channel":"web","revenue":"100.00","orders":3},{"channel":"pos","revenue":"14.90","orders":1}],` +
			`"comparison":{"period":{"from":"2026-02-26","to":"2026-02-28"},"total_revenue":"100.00",
				"revenue_change_percent":"14.90","orders_change_percent":"300.00"},` +
			`"daily_breakdown":[{"date":"2026-03-01","revenue":"59.90","orders":2},{"date":"2026-03-02","revenue":"0.00",
				"orders":0},{"date":"2026-03-03","revenue":"55.00","orders":2}]}`,
		"sales-summary?from=2026-03-01&to=2026-03-01&channel=pos&compare=true": `{"period":{"from":"2026-03-01",
			"to":"2026-03-01"},"currency":"USD","timezone":"UTC",` +
			`"summary":{"total_revenue":"14.90","total_orders":1,"average_order_value":"14.90","total_items_sold":1,
				"total_discounts":"0.00","total_tax":"0.00","gross_profit":"14.90","gross_margin_percent":"100.00",
				"units_without_cost":1},` +
			`"by_channel":[{"channel":"pos","revenue":"14.90","orders":1}],` +
			`"comparison":{"period":{"from":"2026-02-28","to":"2026-02-28"},"total_revenue":"0.00",
				"revenue_change_percent":null,"orders_change_percent":null},` +
			`"daily_breakdown":[{"date":"2026-03-01","revenue":"14.90","orders":1}]}`,
		"sales-summary?from=1970-01-01&to=1970-01-01&channel=unknown&compare=false": `{"period":{"from":"1970-01-01",
			"to":"1970-01-01"},"currency":"USD","timezone":"UTC",` +
			`"summary":{"total_revenue":"0.00","total_orders":0,"average_order_value":"0.00","total_items_sold":0,
				"total_discounts":"0.00","total_tax":"0.00","gross_profit":"0.00","gross_margin_percent":"0.00",
				"units_without_cost":0},` +
			`"by_channel":[],"daily_breakdown":[{"date":"1970-01-01","revenue":"0.00","orders":0}]}`,
		"products?" + firstDays: page(mug, lamp, unknown) +
			meta(1, 25, 3, 1, false, false),
		"products?" + firstDays + "&direction=asc": page(unknown, lamp, mug) +
			meta(1, 25, 3, 1, false, false),
		"products?" + firstDays + "&sort=units&per_page=1":              page(mug) + meta(1, 1, 3, 3, true, false),
		"products?" + firstDays + "&sort=margin&per_page=2":             page(lamp, unknown) + meta(1, 2, 3, 2, true, false),
		"products?" + firstDays + "&sort=margin&per_page=2&page=2":      page(mug) + meta(2, 2, 3, 2, false, true),
		"products?" + firstDays + "&page=9":                             page() + meta(9, 25, 3, 1, false, true),
		fmt.Sprintf("products?"+firstDays+"&category_id=%d", s.kitchen): page(mug) + meta(1, 25, 1, 1, false, false),
		"products?" + firstDays + "&category_id=-1":                     page() + meta(1, 25, 0, 0, false, false),
		"products?from=2026-03-02&to=2026-03-02":                        page() + meta(1, 25, 0, 0, false, false),
		"channels?" + firstDays: `[{"channel":"web","label":"-Web",
			"revenue":"100.00","orders":3,"average_order_value":"33.33","percent_of_total":"87.03"},{"channel":"pos",
			"label":"Point of sale","revenue":"14.90","orders":1,"average_order_value":"14.90",
			"percent_of_total":"12.97"}]`,
		"channels?from=2026-03-02&to=2026-03-02": `[]`,
		"customers?" + firstDays: `{` + march + `,` + people + `,
			"customers":[` + ada + `,` + bob + `]},` + meta(1, 25, 2, 1, false, false),
		"customers?" + firstDays + "&sort=last_order&direction=asc&per_page=1": `{` + march + `,` + people + `,
			"customers":[` + bob + `]},` + meta(1, 1, 2, 2, true, false),
		"customers?" + firstDays + "&sort=orders&per_page=1&page=2&channel=web": `{` + march + `,` + withoutGuests +
			`,"customers":[` + bob + `]},` + meta(2, 1, 2, 2, false, true),
		"customers?from=2026-03-02&to=2026-03-02": `{"period":{"from":"2026-03-02",
			"to":"2026-03-02"},"summary":{"total_customers":0,"new_customers":0,"returning_customers":0,
			"guest_orders":0,"repeat_rate_percent":"0.00","average_revenue_per_customer":"0.00"},
			"customers":[]},` + meta(1, 25, 0, 0, false, false),
	} {
		got := a.try(t, call{path: "/api/reports/" + path, wantStatus: 200})
		if want := `{"success":true,"data":` + oneLine(want) + "}\n"; string(got.body) != want {
			t.Errorf("GET %s\n got %s\nwant %s", path, got.body, want)
		}
	}
}

func TestCustomReportsOfAShop(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	s := a.mustShop(t)
	figures := `"revenue":"%s","orders":%d,"avg_order_value":"%s","gross_profit":"%s","margin_percent":"%s",
		"units_sold":%d,"discounts":"%s","tax":"%s","refunds":"%s","units_without_cost":%d}`
	all := `["revenue","orders","avg_order_value","gross_profit","margin_percent","units_sold","discounts","tax",
		"refunds"]`
	kitchen := fmt.Sprintf(figures, "95.00", 3, "31.67", "55.00", "57.89", 4, "5.00", "9.00", "12.50", 0)
	none := fmt.Sprintf(figures, "19.90", 2, "9.95", "19.90", "100.00", 2, "0.00", "0.00", "0.00", 2)
	total := fmt.Sprintf(figures, "114.90", 4, "28.73", "74.90", "65.19", 6, "5.00", "9.00", "12.50", 2)
	for asked, want := range map[string]string{
		`"metrics":` + all: `"group_by":null,"metrics":` + all + `,"rows":[],"totals":{` + total,
		`"metrics":` + all + `,"group_by":"category","filters":null,"explain":null`: `"group_by":"category",
			"metrics":` + all +
			fmt.Sprintf(`,"rows":[{"group":%d,"label":"Kitchen",%s,{"group":null,"label":"None",%s],
				"totals":{%s`, s.kitchen, kitchen, none, total),
		`"metrics":["orders","revenue"],"group_by":"day","filters":{"channel":["web","web"]}`: `"group_by":"day",
			"metrics":["orders","revenue"],"rows":[` +
			`{"group":"2026-03-01","label":"2026-03-01","orders":1,"revenue":"45.00"},{"group":"2026-03-02",
				"label":"2026-03-02","orders":0,"revenue":"0.00"},{"group":"2026-03-03","label":"2026-03-03","orders":2,
				"revenue":"55.00"}],"totals":{"orders":3,"revenue":"100.00"}`,
		`"metrics":["units_sold"],"group_by":"week"`: `"group_by":"week","metrics":["units_sold"],
			"rows":[{"group":"2026-02-23","label":"2026-02-23","units_sold":3},{"group":"2026-03-02",
			"label":"2026-03-02","units_sold":3}],"totals":{"units_sold":6}`,
		`"metrics":["refunds"],"group_by":"month"`: `"group_by":"month","metrics":["refunds"],
			"rows":[{"group":"2026-03","label":"2026-03","refunds":"12.50"}],"totals":{"refunds":"12.50"}`,
		`"metrics":["tax","margin_percent"],"group_by":"channel"`: `"group_by":"channel","metrics":["tax",
			"margin_percent"],"rows":[{"group":"web","label":"-Web","tax":"9.00","margin_percent":"60.00",
			"units_without_cost":1},` +
			`{"group":"pos","label":"Point of sale","tax":"0.00","margin_percent":"100.00","units_without_cost":1}],
				"totals":{"tax":"9.00","margin_percent":"65.19","units_without_cost":2}`,
		fmt.Sprintf(`"metrics":["revenue"],"group_by":"seller","filters":{"channel":["web"],
			"category_id":[%d,%[1]d,-5]}`, s.kitchen): `"group_by":"seller","metrics":["revenue"],
			"rows":[{"group":null,"label":"None","revenue":"95.00"}],"totals":{"revenue":"95.00"}`,
		`"metrics":["orders"],
			"filters":{"category_id":[99]}`: `"group_by":null,"metrics":["orders"],"rows":[],"totals":{"orders":0}`,
	} {
		body := `{"from":"2026-03-01","to":"2026-03-03",` + asked + `}`
		got := a.try(t, call{method: "POST", path: "/api/reports/custom", body: body, wantStatus: 200})
		want := `{"success":true,"data":{"period":{"from":"2026-03-01","to":"2026-03-03"},` + oneLine(want) + "}}\n"
		if string(got.body) != want {
			t.Errorf("custom %s\n got %s\nwant %s", asked, got.body, want)
		}
	}
}

func TestReconcile(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustShop(t)
	got := a.try(t, call{path: "/api/reports/reconcile?" + firstDays, wantStatus: 200})
	want := `{"success":true,"data":{"period":{"from":"2026-03-01","to":"2026-03-03"},"timezone":"UTC",
		"currency":"USD","balanced":true,"figures":[`
	for figure, values := range map[string]string{
		"revenue": `"114.90"`, "discounts": `"5.00"`, "tax": `"9.00"`, "cost": `"40.00"`, "gross_profit": `"74.90"`,
		"refunds": `"12.50"`, "items": "5", "units_sold": "6", "units_without_cost": "2",
	} {
		unit := "money"
		if !strings.Contains(values, `"`) {
			unit = "count"
		}
		tie := fmt.Sprintf(`{"figure":"%s","unit":"%s","facts":%s,"summary":%[3]s,"channels":%[3]s,"days":%[3]s,
			"products":%[3]s,"categories":%[3]s,"sellers":%[3]s,"balanced":true}`, figure, unit, values)
		if !strings.Contains(string(got.body), oneLine(tie)) {
			t.Errorf("%s lacks %s", got.body, tie)
		}
	}
	for figure, n := range map[string]int{"orders": 4, "refund_count": 1} {
		tie := fmt.Sprintf(`{"figure":"%s","unit":"count","facts":%d,"summary":%[2]d,"channels":%[2]d,"days":%[2]d,
			"products":null,"categories":null,"sellers":null,"balanced":true}`, figure, n)
		if !strings.Contains(string(got.body), oneLine(tie)) {
			t.Errorf("%s lacks %s", got.body, tie)
		}
	}
	if !strings.HasPrefix(string(got.body), oneLine(want)) || len(mustData(t, got)["figures"].([]any)) != 11 {
		t.Errorf("got %s, want 11 figures behind %s", got.body, want)
	}
	a.exec(t, `update sales_rollups set revenue = revenue + 1 where kind = 2 and day = '2026-03-01'`)
	a.mustReport(t, "", "reconcile?"+firstDays, `"balanced":false,"figures":`)
	a.mustReport(t, "", "reconcile?from=2026-03-02&to=2026-03-02", `"balanced":true,"figures":`)
}

func TestCustomerNamesNeedCustomersRead(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustShop(t)
	path, reporting := "customers?"+firstDays, a.mustKey(t, a.tenant, "reporting")
	a.mustReport(t, reporting, path, `{"customer_id":"C-1","name":null,"email":null,"orders":2`)
	withNames := a.mustKey(t, a.tenant, "reports:read,customers:read")
	a.mustReport(t, withNames, path, `{"customer_id":"C-1","name":"Ada","email":"ada@example.com","orders":2`)
	a.mustReport(t, reporting, "export/customers?"+firstDays, "\r\nC-1,,,2,75.00,")
	for _, path := range []string{"sales-summary?" + firstDays, "export/nothing", "customers?sort=x"} {
		key := a.mustKey(t, a.tenant, "orders:write,customers:read,catalog")
		a.try(t, call{path: "/api/reports/" + path, key: key, wantStatus: 403, wantCode: InsufficientPermissions})
	}
}

func TestReportsShowOneTenant(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	s := a.mustShop(t)
	key := a.mustKey(t, a.MustTenant(t, "other", withLimit(1000)), "full")
	for path, want := range map[string]string{
		"sales-summary?" + firstDays + "&channel=web":                   `"total_revenue":"0.00","total_orders":0`,
		"channels?" + firstDays:                                         `"data":[]`,
		fmt.Sprintf("products?"+firstDays+"&category_id=%d", s.kitchen): `"data":[]`,
		"customers?" + firstDays:                                        `"total_customers":0`,
		"reconcile?" + firstDays:                                        `"balanced":true`,
		"export/products?" + firstDays:                                  "units_without_cost\r\n",
	} {
		got := a.mustReport(t, key, path, want)
		if strings.Contains(string(got.body), "00017") || strings.Contains(string(got.body), "114.90") {
			t.Errorf("%s shows another tenant: %s", path, got.body)
		}
	}
	body := fmt.Sprintf(`{"from":"2026-03-01","to":"2026-03-03","metrics":["revenue"],"group_by":"category",
		"filters":{"category_id":[%d]}}`, s.kitchen)
	a.try(t, call{
		method: "POST", path: "/api/reports/custom", key: key, body: body,
		wantStatus: 200, want: []string{`"rows":[],"totals":{"revenue":"0.00"}`},
	})
}

func TestReportsUseTheTimeZoneOfTheTenant(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	tenant := a.MustTenant(t, "honolulu", withLimit(1000), func(t *tenancy.Tenant) {
		t.Timezone, t.Currency = "Pacific/Honolulu", "EUR"
	})
	key := a.mustKey(t, tenant, "full")
	a.try(t, call{method: "POST", path: "/api/orders", key: key, wantStatus: 201, body: `{
		"number":"A","placed_at":"2026-03-01T09:59:59Z","channel":"web","items":[{"sku":"s","quantity":1,"unit_price":1}]}`})
	a.mustReport(t, key, "sales-summary?from=2026-02-28&to=2026-02-28",
		`"currency":"EUR","timezone":"Pacific/Honolulu"`, `[{"date":"2026-02-28","revenue":"1.00","orders":1}]`)
	a.mustReport(t, key, "sales-summary?from=2026-03-01&to=2026-03-01", `"total_orders":0`)

	zone, err := time.LoadLocation("Pacific/Honolulu")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // repeated if midnight passes during the request
		today := tenancy.DayOf(time.Now(), zone)
		got := a.try(t, call{path: "/api/reports/customers", key: key, wantStatus: 200})
		if tenancy.DayOf(time.Now(), zone) != today {
			continue
		}
		from := today.AddDate(0, 0, -29)
		want := fmt.Sprintf(`"period":{"from":"%s","to":"%s"}`, from.Format(time.DateOnly), today.Format(time.DateOnly))
		if !strings.Contains(string(got.body), want) {
			t.Errorf("without from and to: %s, want %s", got.body, want)
		}
		break
	}
}

func TestPeriodsAreAcceptedInsteadOfDays(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	tenant := a.MustTenant(t, "auckland", withLimit(1000), func(t *tenancy.Tenant) { t.Timezone = "Pacific/Auckland" })
	key := a.mustKey(t, tenant, "full")
	zone, err := tenant.Location()
	if err != nil {
		t.Fatal(err)
	}
	a.try(t, call{method: "POST", path: "/api/orders", key: key, wantStatus: 201, body: `{
		"number":"A","placed_at":"` + time.Now().UTC().Format(time.RFC3339) + `","channel":"web",
		"items":[{"sku":"s","quantity":1,"unit_price":1}]}`})
	a.try(t, call{method: "POST", path: "/api/products", key: key, wantStatus: 201, body: `{"sku":"s","name":"s","price":1,"quantity":1}`})
	for range 2 { // repeated if midnight passes during the requests
		today := tenancy.DayOf(time.Now(), zone)
		for _, name := range reports.Presets {
			want := reports.Preset(name, today)
			period := fmt.Sprintf(`"period":{"from":"%s","to":"%s"}`, want.From.Format(time.DateOnly), want.To.Format(time.DateOnly))
			a.mustReport(t, key, "sales-summary?period="+name, period)
			a.mustReport(t, key, "customers?period="+name, period)
			a.mustReport(t, key, "reconcile?period="+name, period)
			a.try(t, call{
				method: "POST", path: "/api/reports/custom", key: key, wantStatus: 200,
				body: `{"period":"` + name + `","from":null,"metrics":["orders"]}`, want: []string{period},
			})
			count := `"total":0`
			if !want.To.Before(today) {
				count = `"total":1`
			}
			for _, list := range []string{"orders", "products", "products/1/inventory/adjustments"} {
				a.try(t, call{path: "/api/" + list + "?period=" + name, key: key, wantStatus: 200, want: []string{count}})
			}
			got := a.try(t, call{path: "/api/reports/export/channels?period=" + name, key: key, wantStatus: 200})
			file := fmt.Sprintf("channels_%s_%s.csv", want.From.Format(time.DateOnly), want.To.Format(time.DateOnly))
			if disposition := got.Header.Get("Content-Disposition"); !strings.Contains(disposition, file) {
				t.Errorf("%s: Content-Disposition = %s, want %s", name, disposition, file)
			}
		}
		if tenancy.DayOf(time.Now(), zone) == today {
			return
		}
	}
}

// TestExplainReproducesEveryFigure computes each figure of a response from the
// explanation in the same response.
func TestExplainReproducesEveryFigure(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	s := a.mustShop(t)
	custom := func(more string) call {
		return call{method: "POST", path: "/api/reports/custom", body: `{
			"from":"2026-03-01","to":"2026-03-03","explain":true,
			"metrics":["revenue","orders","avg_order_value","gross_profit","margin_percent","units_sold",
				"discounts","tax","refunds"]` + more + `}`}
	}
	for _, c := range []call{
		{path: "/api/reports/sales-summary?explain=true&compare=true&" + firstDays},
		{path: "/api/reports/sales-summary?explain=true&compare=true&channel=pos&from=2026-03-01&to=2026-03-01"},
		{path: "/api/reports/sales-summary?explain=true&compare=true&from=2020-01-01&to=2020-01-02"},
		{path: "/api/reports/products?explain=true&" + firstDays},
		{path: "/api/reports/products?explain=true&per_page=1&page=2&" + firstDays},
		{path: "/api/reports/channels?explain=true&" + firstDays},
		{path: "/api/reports/channels?explain=true&from=2026-03-02&to=2026-03-02"},
		{path: "/api/reports/customers?explain=true&" + firstDays},
		{path: "/api/reports/customers?explain=true&channel=web&" + firstDays},
		{path: "/api/reports/customers?explain=true&from=2020-01-01&to=2020-01-02"},
		custom(""),
		custom(`,"group_by":"day"`),
		custom(`,"group_by":"channel"`),
		custom(`,"group_by":"seller"`),
		custom(fmt.Sprintf(`,"group_by":"category","filters":{"channel":["web"],"category_id":[%d]}`, s.kitchen)),
	} {
		c.wantStatus = http.StatusOK
		e := mustDecode[explained](t, a.try(t, c).body)
		if n := e.check(t, c.path+" "+c.body); n < 1 && !strings.Contains(c.path, "03-02") {
			t.Errorf("%s: no figure was checked", c.path)
		}
	}
	left := `{"reason":"cancelled","orders":1,"items":1,"units":1,"revenue":"25.00","refund_count":0,"refunds":"0.00"}`
	a.mustReport(t, "", "sales-summary?explain=true&"+firstDays, `"left_out":[`+left+`]`, `{"name":"by_channel[1]",`+
		`"path":"data.by_channel[1]","sums":{"orders":1,"items":1,"units":1,"units_without_cost":1,"gross":"14.90",`)
	a.mustReport(t, "", "sales-summary?explain=true&channel=pos&"+firstDays, `{"reason":"other_channel",`+
		`"orders":3,"items":4,"units":5,"revenue":"100.00","refund_count":1,"refunds":"12.50"}`)
	a.mustReport(t, "", "customers?explain=true&"+firstDays, `{"reason":"guest","orders":1,`)
	for _, path := range []string{"sales-summary?" + firstDays, "products?explain=false", "channels", "customers"} {
		if got := a.mustReport(t, "", path); strings.Contains(string(got.body), "explain") {
			t.Errorf("%s has an explanation that was not requested: %s", path, got.body)
		}
	}
}

// explained is the response of any report.
type explained struct {
	Data    any
	Explain struct {
		Formulas map[string]struct {
			Formula  string
			Unit     string
			Rounding *string
			OverZero *string `json:"over_zero"`
		}
		Groups []struct {
			Name string
			Path *string
			Sums map[string]any
		}
	}
}

var (
	index       = regexp.MustCompile(`\[\d+\]`)
	decimalText = regexp.MustCompile(`^-?\d+\.\d\d$`)
)

// check computes the figures and returns their number.
func (e explained) check(t *testing.T, what string) (n int) {
	t.Helper()
	sums := map[string]*big.Rat{} // of all groups, by "group.sum"
	for _, g := range e.Explain.Groups {
		for name, value := range g.Sums {
			sums[g.Name+"."+name] = rational(value)
		}
	}
	shown := map[string]*big.Rat{} // totals of percentages over all rows
	for _, g := range e.Explain.Groups {
		if g.Path == nil {
			continue
		}
		object, ok := find(map[string]any{"data": e.Data}, *g.Path).(map[string]any)
		if !ok {
			t.Errorf("%s: nothing at %s", what, *g.Path)
			continue
		}
		for field, value := range object {
			key := index.ReplaceAllString(g.Name, "[]") + "." + field
			f, explained := e.Explain.Formulas[key]
			if !explained {
				_, isCount := value.(float64)
				isCount = isCount && field != "product_id" && field != "group"
				if isCount || decimalText.MatchString(fmt.Sprint(value)) {
					t.Errorf("%s: %s has no formula", what, key)
				}
				continue
			}
			n++
			got := evaluate(f.Formula, func(name string) *big.Rat {
				if in := sums[g.Name+"."+name]; in != nil {
					return in
				}
				if in := sums[name]; in != nil {
					return in
				}
				return rational(object[name])
			})
			if f.Rounding != nil && *f.Rounding == "largest_remainder" {
				if shown[key] == nil {
					shown[key] = new(big.Rat)
				}
				shown[key].Add(shown[key], rational(value))
				if away := new(big.Rat).Sub(rational(value), got); away.Abs(away).Cmp(big.NewRat(1, 100)) >= 0 {
					t.Errorf("%s: %s = %v, %s is %v", what, key, value, f.Formula, got)
				}
				continue
			}
			want := any(nil)
			switch {
			case got == nil && *f.OverZero == "0.00":
				want = "0.00"
			case got == nil:
			case f.Unit == "count":
				want, _ = got.Float64()
			default:
				want = got.FloatString(2) // rounds half away from zero
			}
			if want == "-0.00" {
				want = "0.00"
			}
			if value != want {
				t.Errorf("%s: %s = %v, %s is %v", what, key, value, f.Formula, want)
			}
		}
	}
	for key, sum := range shown {
		if sum.Cmp(big.NewRat(100, 1)) != 0 && sum.Sign() != 0 {
			t.Errorf("%s: %s adds up to %v", what, key, sum)
		}
	}
	return n
}

func rational(value any) *big.Rat {
	r, _ := new(big.Rat).SetString(fmt.Sprint(value))
	return r
}

// find returns the value at a path such as data.by_channel[3].
func find(from any, path string) any {
	for _, step := range regexp.MustCompile(`\w+`).FindAllString(path, -1) {
		switch at := from.(type) {
		case map[string]any:
			from = at[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(at) {
				return nil
			}
			from = at[i]
		default:
			return nil
		}
	}
	return from
}

// evaluate computes a formula with + - * / and parentheses. It returns nil for a division
// by zero.
func evaluate(formula string, value func(name string) *big.Rat) *big.Rat {
	tokens := regexp.MustCompile(`[\w.\[\]]+|[-+*/()]`).FindAllString(formula, -1)
	var sum func() *big.Rat
	next := func() (token string) {
		if len(tokens) > 0 {
			token, tokens = tokens[0], tokens[1:]
		}
		return token
	}
	operand := func() *big.Rat {
		token := next()
		if token == "(" {
			inner := sum()
			next()
			return inner
		}
		if n, ok := new(big.Rat).SetString(token); ok {
			return n
		}
		return value(token)
	}
	chain := func(operators string, part func() *big.Rat, apply func(operator string, a, b *big.Rat) *big.Rat) *big.Rat {
		result := part()
		for len(tokens) > 0 && strings.Contains(operators, tokens[0]) {
			operator := next()
			right := part()
			if result == nil || right == nil || operator == "/" && right.Sign() == 0 {
				result = nil
				continue
			}
			result = apply(operator, result, right)
		}
		return result
	}
	product := func() *big.Rat {
		return chain("*/", operand, func(operator string, a, b *big.Rat) *big.Rat {
			if operator == "*" {
				return new(big.Rat).Mul(a, b)
			}
			return new(big.Rat).Quo(a, b)
		})
	}
	sum = func() *big.Rat {
		return chain("+-", product, func(operator string, a, b *big.Rat) *big.Rat {
			if operator == "+" {
				return new(big.Rat).Add(a, b)
			}
			return new(big.Rat).Sub(a, b)
		})
	}
	return sum()
}
