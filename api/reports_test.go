package api

import (
	"cmp"
	"fmt"
	"math/big"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/tenants"
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
			"tax_total":9,"shipping_total":"4.90","items":[{"sku":"00017","quantity":2,"unit_price":25}]}`,
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

// The figures of groups, in their order.
const (
	groupNames = "revenue orders gross_sales discounts refunds net_revenue tax shipping total avg_order_value items " +
		"units_sold gross_profit margin_percent units_without_cost revenue_without_cost costed_percent" + netNames
	figureNames = "gross_sales discounts revenue refunds net_revenue tax shipping total orders avg_order_value items " +
		"units_sold gross_profit margin_percent units_without_cost revenue_without_cost costed_percent" + netNames
	channelNames = "revenue orders average_order_value gross_sales discounts refunds net_revenue tax shipping total " +
		"items units_sold gross_profit margin_percent units_without_cost revenue_without_cost costed_percent" + netNames
	productNames = "units_sold revenue cost_total gross_profit margin_percent units_without_cost " +
		"revenue_without_cost costed_percent gross_sales discounts refunds net_revenue" + netNames
	summaryNames = "total_revenue total_orders average_order_value total_items_sold total_discounts total_tax " +
		"gross_profit gross_margin_percent units_without_cost gross_sales refunds net_revenue shipping total items " +
		"revenue_without_cost costed_percent" + netNames
	netNames = " net_gross_profit net_margin_percent units_returned refunded_revenue returned_cost"
)

// fields returns JSON fields with these names and values. A value with a point is text.
func fields(names, values string) string {
	var all []string
	list := strings.Fields(values)
	for i, name := range strings.Fields(names) {
		value := list[i]
		if strings.Contains(value, ".") {
			value = `"` + value + `"`
		}
		all = append(all, `"`+name+`":`+value)
	}
	return strings.Join(all, ",")
}

const firstDays = "from=2026-03-01&to=2026-03-03"

var changedAt = regexp.MustCompile(`,"meta":{"changed_at":("[^"]*"|null)}|,"changed_at":("[^"]*"|null)`)

// withoutChangedAt removes the time of the last change from a report.
func withoutChangedAt(body []byte) string { return changedAt.ReplaceAllString(string(body), "") }

// mustOldOrder stores an order before all compared ranges, so that they are comparable.
func (a *testAPI) mustOldOrder(t *testing.T) {
	t.Helper()
	a.mustOrder(t, `{"number":"OLD","placed_at":"2019-06-01T00:00:00Z","channel":"pos","items":[
		{"sku":"OLD","quantity":1,"unit_price":"1.00"}]}`)
}

func TestReportsOfAShop(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	s := a.mustShop(t)
	a.mustOldOrder(t)
	const compared = `"data_from":"2019-06-01","comparable":true,"until":null,`
	const zeros = "0.00 0 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0 0 0.00 0.00 0 0.00 0.00 0.00 null 0 0.00 0.00"
	const web = "100.00 3 105.00 5.00 12.50 87.50 9.00 4.90 101.40 33.33 4 5 55.00 57.89 1 5.00 95.00 45.45 53.19 0 9.55 0.00"
	const pos = "14.90 1 14.90 0.00 0.00 14.90 0.00 0.00 14.90 14.90 1 1 null null 1 14.90 0.00 null null 0 0.00 0.00"
	const first = "59.90 2 64.90 5.00 0.00 59.90 9.00 4.90 73.80 29.95 2 3 25.00 55.56 1 14.90 75.13 25.00 55.56 0 0.00 0.00"
	const third = "55.00 2 55.00 0.00 12.50 42.50 0.00 0.00 42.50 27.50 3 3 30.00 60.00 1 5.00 90.91 20.45 50.56 0 9.55 0.00"
	const february = "100.00 0.00 100.00 0.00 100.00 0.00 0.00 100.00 1 100.00 1 4 60.00 60.00 0 0.00 100.00 60.00 60.00 0 0.00 0.00"
	const none = "0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0 0.00 0 0 0.00 0.00 0 0.00 0.00 0.00 null 0 0.00 0.00"
	// before has the figures of the comparison and the changes from them.
	before := func(figures, changes string) string {
		return fields(figureNames, figures) + `,"changes":{` + fields(figureNames, changes) + `}`
	}
	mug := fmt.Sprintf(`{"product_id":%d,"sku":"00017","name":"=Mug",%s}`, s.mug, fields(productNames,
		"4 95.00 40.00 55.00 57.89 0 0.00 100.00 100.00 5.00 12.50 82.50 45.45 53.19 0 9.55 0.00"))
	lamp := fmt.Sprintf(`{"product_id":%d,"sku":"LAMP","name":"Lamp",%s}`, s.lamp, fields(productNames,
		"1 14.90 0.00 0.00 0.00 1 14.90 0.00 14.90 0.00 0.00 14.90 null null 0 0.00 0.00"))
	unknown := `{"product_id":null,"sku":"X-1","name":"X-1",` + fields(productNames,
		"1 5.00 0.00 0.00 0.00 1 5.00 0.00 5.00 0.00 0.00 5.00 null null 0 0.00 0.00") + `}`
	const all = "6 114.90 40.00 55.00 57.89 2 19.90 82.68 119.90 5.00 12.50 102.40 45.45 53.19 0 9.55 0.00"
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
	// totals adds the range and the totals to meta.
	totals := func(meta, day, names, values string) string {
		from, to, _ := strings.Cut(day, " ")
		return fmt.Sprintf(`%s,"period":{"from":"%s","to":"%s"},"currency":"USD","timezone":"UTC","totals":{%s}}`,
			strings.TrimSuffix(meta, "}"), from, cmp.Or(to, from), fields(names, values))
	}
	// products is the meta of a page of products from 1 to 3 March.
	products := func(page, perPage, total, pages int, next, prev bool) string {
		return totals(meta(page, perPage, total, pages, next, prev), "2026-03-01 2026-03-03", productNames, all)
	}
	const noProducts = "0 0.00 0.00 0.00 0.00 0 0.00 0.00 0.00 0.00 0.00 0.00 0.00 null 0 0.00 0.00"
	const webByChannel = "100.00 3 33.33 105.00 5.00 12.50 87.50 9.00 4.90 101.40 4 5 55.00 57.89 1 5.00 95.00 45.45 53.19 0 9.55 0.00"
	const posByChannel = "14.90 1 14.90 14.90 0.00 0.00 14.90 0.00 0.00 14.90 1 1 null null 1 14.90 0.00 null null 0 0.00 0.00"
	const allChannels = "114.90 4 28.73 119.90 5.00 12.50 102.40 9.00 4.90 116.30 5 6 55.00 57.89 2 19.90 82.68 45.45 53.19 0 9.55 0.00"
	const allChanges = "19.90 null 14.90 null 2.40 null null 16.30 300.00 -71.27 400.00 50.00 -8.33 -3.52 null null -17.32 -24.25 -11.35 0.00 null 0.00"
	const webChanges = "5.00 null 0.00 null -12.50 null null 1.40 200.00 -66.67 300.00 25.00 -8.33 -3.52 null null -5.00 -24.25 -11.35 0.00 null 0.00"
	const posChanges = "null 0.00 null 0.00 null 0.00 0.00 null null null null null null null null null 0.00 null null 0.00 0.00 0.00"
	channels := `{"channel":"web","label":"-Web",` + fields(channelNames, webByChannel) +
		`,"percent_of_total":"87.03"%s},` +
		`{"channel":"pos","label":"Point of sale",` + fields(channelNames, posByChannel) + `,"percent_of_total":"12.97"%s}`
	for path, want := range map[string]string{
		"sales-summary?" + firstDays + "&compare=true": `{` + march + `,"currency":"USD","timezone":"UTC",` +
			`"summary":{` + fields(summaryNames,
			"114.90 4 28.73 6 5.00 9.00 55.00 57.89 2 119.90 12.50 102.40 4.90 116.30 5 19.90 82.68 45.45 53.19 0 9.55 0.00") + `},` +
			`"by_channel":[{"channel":"web",` + fields(groupNames, web) + `},{"channel":"pos",` + fields(groupNames, pos) +
			`}],` +
			`"comparison":{"period":{"from":"2026-02-26","to":"2026-02-28"},"total_revenue":"100.00",
				"revenue_change_percent":"14.90","orders_change_percent":"300.00","compare":"previous_period",` + compared +
			`"summary":{` + fields(figureNames, february) + `},"changes":{` + fields(figureNames, allChanges) + `},` +
			`"by_channel":[{"channel":"web",` + before(february, webChanges) + `},` +
			`{"channel":"pos",` + before(none, posChanges) + `}],` +
			`"daily_breakdown":[{"date":"2026-02-26","compared_with":"2026-03-01",` + before(none,
			"null null null 0.00 null null null null null null null null null null null null null null null 0.00 0.00 0.00") + `},` +
			`{"date":"2026-02-27","compared_with":"2026-03-02",` + before(february,
			"-100.00 0.00 -100.00 0.00 -100.00 0.00 0.00 -100.00 -100.00 -100.00 -100.00 -100.00 -100.00 -100.00 0.00 0.00 -100.00 "+
				"-100.00 null 0.00 0.00 0.00") +
			`},{"date":"2026-02-28","compared_with":"2026-03-03",` + before(none,
			"null 0.00 null null null 0.00 0.00 null null null null null null null null null null null null 0.00 null 0.00") + `}]},` +
			`"daily_breakdown":[{"date":"2026-03-01",` + fields(groupNames, first) + `},{"date":"2026-03-02",` +
			fields(groupNames, zeros) + `},{"date":"2026-03-03",` + fields(groupNames, third) + `}]}`,
		"sales-summary?from=2026-03-01&to=2026-03-01&channel=pos": `{"period":{"from":"2026-03-01",
			"to":"2026-03-01"},"currency":"USD","timezone":"UTC",` +
			`"summary":{` + fields(summaryNames,
			"14.90 1 14.90 1 0.00 0.00 0.00 0.00 1 14.90 0.00 14.90 0.00 14.90 1 14.90 0.00 null null 0 0.00 0.00") + `},` +
			`"by_channel":[{"channel":"pos",` + fields(groupNames, pos) + `}],` +
			`"daily_breakdown":[{"date":"2026-03-01",` + fields(groupNames, pos) + `}]}`,
		"sales-summary?from=1970-01-01&to=1970-01-01&channel=unknown&compare=false": `{"period":{"from":"1970-01-01",
			"to":"1970-01-01"},"currency":"USD","timezone":"UTC",` +
			`"summary":{` + fields(summaryNames,
			"0.00 0 0.00 0 0.00 0.00 0.00 0.00 0 0.00 0.00 0.00 0.00 0.00 0 0.00 0.00 0.00 null 0 0.00 0.00") + `},` +
			`"by_channel":[],"daily_breakdown":[{"date":"1970-01-01",` + fields(groupNames, zeros) + `}]}`,
		"products?" + firstDays: page(mug, lamp, unknown) + products(1, 25, 3, 1, false, false),
		"products?" + firstDays + "&direction=asc": page(unknown, lamp, mug) +
			products(1, 25, 3, 1, false, false),
		"products?" + firstDays + "&sort=units&per_page=1":         page(mug) + products(1, 1, 3, 3, true, false),
		"products?" + firstDays + "&sort=margin&per_page=2":        page(mug, lamp) + products(1, 2, 3, 2, true, false),
		"products?" + firstDays + "&sort=margin&per_page=2&page=2": page(unknown) + products(2, 2, 3, 2, false, true),
		"products?" + firstDays + "&page=9":                        page() + products(9, 25, 3, 1, false, true),
		fmt.Sprintf("products?"+firstDays+"&category_id=%d", s.kitchen): page(mug) + totals(meta(1, 25, 1, 1, false, false),
			"2026-03-01 2026-03-03", productNames, "4 95.00 40.00 55.00 57.89 0 0.00 100.00 100.00 5.00 12.50 82.50 45.45 53.19 0 9.55 0.00"),
		"products?" + firstDays + "&category_id=-1": page() + totals(meta(1, 25, 0, 0, false, false),
			"2026-03-01 2026-03-03", productNames, noProducts),
		"products?from=2026-03-02&to=2026-03-02": page() + totals(meta(1, 25, 0, 0, false, false),
			"2026-03-02", productNames, noProducts),
		"channels?" + firstDays: page(fmt.Sprintf(channels, "", "")) + strings.Replace(totals(
			`"meta":{`, "2026-03-01 2026-03-03", channelNames, allChannels), "{,", "{", 1),
		"channels?" + firstDays + "&compare=true": page(fmt.Sprintf(channels,
			`,"comparison":{`+before(february, webChanges)+`}`, `,"comparison":{`+before(none, posChanges)+`}`)) +
			strings.TrimSuffix(strings.Replace(totals(
				`"meta":{`, "2026-03-01 2026-03-03", channelNames, allChannels), "{,", "{", 1), "}") +
			`,"comparison":{"period":{"from":"2026-02-26","to":"2026-02-28"},"compare":"previous_period",` + compared +
			before(february, allChanges) + `}}`,
		"channels?from=2026-03-02&to=2026-03-02": page() + strings.Replace(totals(`"meta":{`, "2026-03-02", channelNames,
			"0.00 0 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0 0 0.00 0.00 0 0.00 0.00 0.00 null 0 0.00 0.00"), "{,", "{", 1),
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
		if want := `{"success":true,"data":` + oneLine(want) + "}\n"; withoutChangedAt(got.body) != want {
			t.Errorf("GET %s\n got %s\nwant %s", path, got.body, want)
		}
	}
}

func TestCustomReportsOfAShop(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	s := a.mustShop(t)
	figures := `"revenue":"%s","orders":%d,"avg_order_value":"%s","gross_profit":"%s","margin_percent":"%s",
		"units_sold":%d,"discounts":"%s","tax":"%s","refunds":"%s","units_without_cost":%d,
		"revenue_without_cost":"%s","costed_percent":"%s"}`
	all := `["revenue","orders","avg_order_value","gross_profit","margin_percent","units_sold","discounts","tax",
		"refunds"]`
	kitchen := fmt.Sprintf(figures, "95.00", 3, "31.67", "55.00", "57.89", 4, "5.00", "9.00", "12.50", 0,
		"0.00", "100.00")
	none := fmt.Sprintf(figures, "19.90", 2, "9.95", "0.00", "0.00", 2, "0.00", "0.00", "0.00", 2, "19.90", "0.00")
	total := fmt.Sprintf(figures, "114.90", 4, "28.73", "55.00", "57.89", 6, "5.00", "9.00", "12.50", 2, "19.90", "82.68")
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
			"margin_percent"],"rows":[{"group":"web","label":"-Web","tax":"9.00","margin_percent":"57.89",
			"units_without_cost":1,"revenue_without_cost":"5.00","costed_percent":"95.00"},` +
			`{"group":"pos","label":"Point of sale","tax":"0.00","margin_percent":"0.00","units_without_cost":1,
				"revenue_without_cost":"14.90","costed_percent":"0.00"}],
				"totals":{"tax":"9.00","margin_percent":"57.89","units_without_cost":2,
				"revenue_without_cost":"19.90","costed_percent":"82.68"}`,
		`"metrics":["gross_sales","net_revenue","shipping","total","items"],"group_by":"month"`: `"group_by":"month",
			"metrics":["gross_sales","net_revenue","shipping","total","items"],"rows":[{"group":"2026-03",
			"label":"2026-03","gross_sales":"119.90","net_revenue":"102.40","shipping":"4.90","total":"116.30","items":5}],
			"totals":{"gross_sales":"119.90","net_revenue":"102.40","shipping":"4.90","total":"116.30","items":5}`,
		fmt.Sprintf(`"metrics":["revenue"],"group_by":"seller","filters":{"channel":["web"],
			"category_id":[%d,%[1]d,-5]}`, s.kitchen): `"group_by":"seller","metrics":["revenue"],
			"rows":[{"group":null,"label":"None","revenue":"95.00"}],"totals":{"revenue":"95.00"}`,
		`"metrics":["orders"],
			"filters":{"category_id":[99]}`: `"group_by":null,"metrics":["orders"],"rows":[],"totals":{"orders":0}`,
	} {
		body := `{"from":"2026-03-01","to":"2026-03-03",` + asked + `}`
		got := a.try(t, call{method: "POST", path: "/api/reports/custom", body: body, wantStatus: 200})
		want := `{"success":true,"data":{"period":{"from":"2026-03-01","to":"2026-03-03"},` + oneLine(want) + "}}\n"
		if withoutChangedAt(got.body) != want {
			t.Errorf("custom %s\n got %s\nwant %s", asked, got.body, want)
		}
	}
}

func TestReconcile(t *testing.T) {
	t.Parallel()
	// The sums that select pages of products lack these.
	notOfPages := []string{"discounts", "tax", "shipping", "total", "gross_sales", "units_without_cost"}
	a := newAPI(t)
	a.mustShop(t)
	got := a.try(t, call{path: "/api/reports/reconcile?" + firstDays, wantStatus: 200})
	want := `{"success":true,"data":{"period":{"from":"2026-03-01","to":"2026-03-03"},"timezone":"UTC",
		"currency":"USD","balanced":true,"figures":[`
	for figure, values := range map[string]string{
		"revenue": `"114.90"`, "discounts": `"5.00"`, "tax": `"9.00"`, "cost": `"40.00"`, "gross_profit": `"55.00"`,
		"gross_sales": `"119.90"`, "net_revenue": `"102.40"`, "shipping": `"4.90"`, "total": `"116.30"`,
		"revenue_without_cost": `"19.90"`,
		"refunds":              `"12.50"`, "items": "5", "units_sold": "6", "units_without_cost": "2",
		"net_gross_profit": `"45.45"`, "units_returned": "0", "refunded_revenue": `"9.55"`,
		"refunded_revenue_without_cost": `"0.00"`, "returned_cost": `"0.00"`,
	} {
		unit := "money"
		if !strings.Contains(values, `"`) {
			unit = "count"
		}
		pages := values
		if slices.Contains(notOfPages, figure) {
			pages = "null"
		}
		tie := fmt.Sprintf(`{"figure":"%s","unit":"%s","facts":%s,"summary":%[3]s,"channels":%[3]s,"days":%[3]s,
			"products":%[3]s,"categories":%[3]s,"sellers":%[3]s,"product_pages":%[4]s,"categories_by_channel":%[3]s,
			"sellers_by_channel":%[3]s,"group_counts":null,"balanced":true}`, figure, unit, values, pages)
		if !strings.Contains(string(got.body), oneLine(tie)) {
			t.Errorf("%s lacks %s", got.body, tie)
		}
	}
	for figure, n := range map[string][4]int{"orders": {4, 5, 5, 4}, "refund_count": {1, 1, 1, 1}} {
		tie := fmt.Sprintf(`{"figure":"%s","unit":"count","facts":%d,"summary":%[2]d,"channels":%[2]d,"days":%[2]d,
			"products":null,"categories":null,"sellers":null,"product_pages":null,"categories_by_channel":null,
			"sellers_by_channel":null,"group_counts":{"products":{"facts":%[3]d,"stored":%[3]d,"stored_by_channel":%[3]d},
			"categories":{"facts":%[4]d,"stored":%[4]d,"stored_by_channel":%[4]d},
			"sellers":{"facts":%[5]d,"stored":%[5]d,"stored_by_channel":%[5]d}},"balanced":true}`,
			figure, n[0], n[1], n[2], n[3])
		if !strings.Contains(string(got.body), oneLine(tie)) {
			t.Errorf("%s lacks %s", got.body, tie)
		}
	}
	if !strings.HasPrefix(string(got.body), oneLine(want)) || len(mustData(t, got)["figures"].([]any)) != 21 {
		t.Errorf("got %s, want 21 figures behind %s", got.body, want)
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
		"export/products?" + firstDays:                                  "refunded_revenue,returned_cost\r\n",
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
	tenant := a.MustTenant(t, "honolulu", withLimit(1000), func(t *tenants.Tenant) {
		t.Timezone, t.Currency = "Pacific/Honolulu", "EUR"
	})
	key := a.mustKey(t, tenant, "full")
	a.try(t, call{method: "POST", path: "/api/orders", key: key, wantStatus: 201, body: `{
		"number":"A","placed_at":"2026-03-01T09:59:59Z","channel":"web","items":[{"sku":"s","quantity":1,"unit_price":1}]}`})
	a.mustReport(t, key, "sales-summary?from=2026-02-28&to=2026-02-28",
		`"currency":"EUR","timezone":"Pacific/Honolulu"`, `[{"date":"2026-02-28","revenue":"1.00","orders":1,`)
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
	tenant := a.MustTenant(t, "auckland", withLimit(1000), func(t *tenants.Tenant) { t.Timezone = "Pacific/Auckland" })
	key := a.mustKey(t, tenant, "full")
	zone, err := tenant.Location()
	if err != nil {
		t.Fatal(err)
	}
	a.try(t, call{method: "POST", path: "/api/orders", key: key, wantStatus: 201, body: `{
		"number":"A","placed_at":"` + time.Now().UTC().Format(time.RFC3339) + `","channel":"web",
		"items":[{"sku":"s","quantity":1,"unit_price":1}]}`})
	created := a.try(t, call{
		method: "POST", path: "/api/products", key: key, wantStatus: 201,
		body: `{"sku":"s","name":"s","price":1,"quantity":1}`,
	})
	adjustments := strings.TrimPrefix(created.Header.Get("Location"), "/api/") + "/inventory/adjustments"
	for range 2 { // repeated if midnight passes during the requests
		today := tenancy.DayOf(time.Now(), zone)
		for _, name := range reports.Presets {
			want := reports.Preset(name, today)
			period := fmt.Sprintf(
				`"period":{"from":"%s","to":"%s"}`, want.From.Format(time.DateOnly), want.To.Format(time.DateOnly),
			)
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
			for _, list := range []string{"orders", "products", adjustments} {
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

// TestReportsFrom1970AreComparedWithEarlierDays relies on the validation of each response against the document.
func TestReportsFrom1970AreComparedWithEarlierDays(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustReport(t, a.key, "sales-summary?from=1970-01-01&to=1970-01-02&compare=true", `"date":"1969-12-30"`)
	a.mustReport(t, a.key, "sales-summary?from=1970-01-01&to=1970-01-02&compare=previous_year", `"date":"1969-01-01"`)
	a.mustReport(t, a.key, "channels?from=1970-01-01&to=1970-01-02&compare=true", `"from":"1969-12-30"`)
}

// TestExplainReproducesEveryFigure computes each figure of a response from the
// explanation in the same response.
func TestExplainReproducesEveryFigure(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	s := a.mustShop(t)
	a.mustOldOrder(t)
	custom := func(more string) call {
		return call{method: "POST", path: "/api/reports/custom", body: `{
			"from":"2026-03-01","to":"2026-03-03","explain":true,
			"metrics":["revenue","orders","avg_order_value","gross_profit","margin_percent","units_sold",
				"discounts","tax","refunds","gross_sales","net_revenue","shipping","total","items","net_gross_profit",
				"net_margin_percent","units_returned","refunded_revenue","returned_cost"]` + more + `}`}
	}
	for _, c := range []call{
		{path: "/api/reports/sales-summary?explain=true&compare=true&" + firstDays},
		{path: "/api/reports/sales-summary?explain=true&compare=previous_year&" + firstDays},
		{path: "/api/reports/sales-summary?explain=true&compare=true&channel=pos&from=2026-03-01&to=2026-03-01"},
		{path: "/api/reports/sales-summary?explain=true&compare=true&from=2020-01-01&to=2020-01-02"},
		{path: "/api/reports/sales-summary?explain=true&compare=true&from=2019-06-01&to=2019-06-02"},
		{path: "/api/reports/products?explain=true&" + firstDays},
		{path: "/api/reports/products?explain=true&per_page=1&page=2&" + firstDays},
		{path: "/api/reports/channels?explain=true&" + firstDays},
		{path: "/api/reports/channels?explain=true&compare=previous_period&" + firstDays},
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
	Meta    any
	Explain struct {
		Formulas map[string]struct {
			Formula  string
			Unit     string
			Rounding *string
			OverZero *string `json:"over_zero"`
			NullIf   *string `json:"null_if"`
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
		object, ok := find(map[string]any{"data": e.Data, "meta": e.Meta}, *g.Path).(map[string]any)
		if !ok {
			t.Errorf("%s: nothing at %s", what, *g.Path)
			continue
		}
		name := index.ReplaceAllString(g.Name, "[]")
		if object["changes"] != nil {
			n += e.checkChanges(t, what, name, *g.Path, object)
		}
		for field, value := range object {
			key := name + "." + field
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
			inGroup := func(name string) *big.Rat {
				if in := sums[g.Name+"."+name]; in != nil && !strings.Contains(name, ".") {
					return in
				}
				if in := sums[name]; in != nil {
					return in
				}
				return rational(object[name])
			}
			if f.NullIf != nil && holds(*f.NullIf, inGroup) {
				if value != nil {
					t.Errorf("%s: %s = %v, want null: %s", what, key, value, *f.NullIf)
				}
				continue
			}
			got := evaluate(f.Formula, inGroup)
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

// checkChanges computes the changes beside the figures of a comparison, or beside their
// summary, from the figures that the response shows.
func (e explained) checkChanges(t *testing.T, what, name, path string, comparison map[string]any) (n int) {
	t.Helper()
	now, before := strings.TrimSuffix(strings.Replace(path, "comparison.", "", 1), ".comparison"), comparison
	switch path {
	case "data.comparison":
		now, before = "data.summary", comparison["summary"].(map[string]any)
	case "meta.comparison":
		now = "meta.totals"
	}
	figures, _ := find(map[string]any{"data": e.Data, "meta": e.Meta}, now).(map[string]any)
	for field, value := range comparison["changes"].(map[string]any) {
		other := map[string]string{
			"revenue": "total_revenue", "orders": "total_orders", "avg_order_value": "average_order_value",
			"units_sold": "total_items_sold", "discounts": "total_discounts", "tax": "total_tax",
			"margin_percent": "gross_margin_percent",
		}[field]
		compared, exists := figures[field]
		if !exists {
			compared = figures[other]
		}
		if s := e.Explain.Groups[0].Sums; now == "data.summary" && s["units"] == s["units_without_cost"] &&
			s["units"] != 0. && (field == "gross_profit" || field == "margin_percent") {
			compared = nil // the summary shows 0.00
		}
		key := name + ".changes." + field
		f, explained := e.Explain.Formulas[key]
		if !explained || f.NullIf == nil || *f.OverZero != "0.00" {
			t.Errorf("%s: %s has the formula %+v", what, key, f)
			continue
		}
		n++
		values := func(name string) *big.Rat {
			return rational(map[string]any{"now": compared, "before": before[field]}[name])
		}
		want := any("0.00")
		if holds(*f.NullIf, values) {
			want = nil
		} else if got := evaluate(f.Formula, values); got != nil && got.FloatString(2) != "-0.00" {
			want = got.FloatString(2)
		}
		if value != want {
			t.Errorf("%s: %s = %v, %s of %v and %v is %v", what, key, value, f.Formula, compared, before[field], want)
		}
	}
	return n
}

var comparisons = regexp.MustCompile(` (=|!=|>|<=) `)

// holds reports whether a condition is true: comparisons of formulas joined by "and" and then "or". Formulas have that of
// a comparison only if it is true.
func holds(condition string, value func(name string) *big.Rat) bool {
	if condition == "comparison.comparable = false" {
		return true
	}
	return slices.ContainsFunc(strings.Split(condition, " or "), func(all string) bool {
		return !slices.ContainsFunc(strings.Split(all, " and "), func(comparison string) bool {
			operator := comparisons.FindString(comparison)
			left, right, _ := strings.Cut(comparison, operator)
			a, b := evaluate(left, value), evaluate(right, value)
			equal := a == b || a != nil && b != nil && a.Cmp(b) == 0
			switch operator {
			case " = ":
				return !equal
			case " != ":
				return equal
			case " > ":
				return a == nil || b == nil || a.Cmp(b) <= 0
			}
			return a == nil || b == nil || a.Cmp(b) > 0
		})
	})
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
		if token == "abs" {
			next()
			inner := sum()
			next()
			return inner.Abs(inner)
		}
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
