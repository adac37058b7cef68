package pages

import (
	"fmt"
	"html"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/people"
)

// mustSell stores orders of tenant A. Each sells one item of the SKU, on a day at noon UTC.
func (s *site) mustSell(t testing.TB, orders ...sales.Order) {
	t.Helper()
	for i := range orders {
		if orders[i].Channel == "" {
			orders[i].Channel = "web"
		}
	}
	results, err := sales.New(s.Database.DB).Ingest(t.Context(), s.a.ID, rowsOf(orders))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
}

func rowsOf(orders []sales.Order) (rows []sales.Row) {
	for _, o := range orders {
		rows = append(rows, sales.Row{Order: o})
	}
	return rows
}

func sale(number, day string, price money.Cents, cost *money.Cents) sales.Order {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		panic(err)
	}
	item := sales.Item{SKU: "S-" + number[:1], Quantity: 2, UnitPrice: price, UnitCost: cost}
	return sales.Order{Number: number, PlacedAt: at.Add(12 * time.Hour), Items: []sales.Item{item}}
}

// mustGet returns a page of tenant A as text, without its markup.
func (s *site) mustGet(t testing.TB, cookie, path, language string) string {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/settings/t/"+s.a.Slug+path, nil)
	r.AddCookie(&http.Cookie{Name: "storeroom-insecure", Value: cookie})
	r.Header.Set("Accept-Language", language)
	w := httptest.NewRecorder()
	s.Handler.ServeHTTP(w, r)
	if w.Code != 200 {
		t.Fatalf("GET %s = %d: %s (%v)", path, w.Code, w.Body, s.log)
	}
	return plain(w.Body.String())
}

var (
	tags   = regexp.MustCompile(`<[^>]*>`)
	spaces = regexp.MustCompile(`[\s\x{a0}]+`)
)

func plain(page string) string {
	return spaces.ReplaceAllString(html.UnescapeString(tags.ReplaceAllString(page, " ")), " ")
}

func mustHave(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(page, text) {
			t.Errorf("the page has no %q:\n%s", text, page)
		}
	}
}

func TestOverview(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "vera", people.Viewer)
	const march = "/overview?from=2026-03-01&to=2026-03-31"
	mustHave(t, s.mustGet(t, cookie, march, ""), "No sales yet", "An admin can import orders from a file.")

	s.mustSell(t, sale("A1", "2026-03-02", 150_00, new(money.Cents(100_00))), sale("B1", "2026-03-09", 500_00, nil),
		sale("A2", "2025-03-03", 200_00, nil))
	page := s.mustGet(t, cookie, march, "en")
	mustHave(t, page, "The first sale was on 3 Mar 2025, so the changes to the earlier period are not shown.",
		"Revenue 1,300.00 USD No comparison Calculation", "S-A S-A 300.00 400.00")
	if strings.ContainsAny(page, "▲▼") {
		t.Errorf("an arrow where nothing is comparable:\n%s", page)
	}
	s.mustSell(t, sale("C1", "2024-12-31", 10_00, nil))
	if _, err := sales.New(s.Database.DB).Refund(t.Context(), s.a.ID, []sales.RefundRow{{Refund: sales.Refund{
		OrderNumber: "A1", Amount: 12_34, RefundedAt: new(time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC)),
	}}}); err != nil {
		t.Fatal(err)
	}
	page = s.mustGet(t, cookie, march, "en-GB,en;q=0.9")
	mustHave(t, page, "1 Mar 2026 to 31 Mar 2026, compared with 1 Mar 2025 to 31 Mar 2025",
		"Revenue 1,300.00 USD ▲ +225.00 % from 400.00 Calculation 1,300.00 gross sales − 0.00 discounts",
		"Net revenue 1,287.66 USD", "1,300.00 revenue − 12.34 refunds",
		"Orders 2 ▲ +100.00 % from 1", "Average order 650.00 USD", "Units 4 ",
		"Gross profit 100.00 USD No comparison 23.08 % costed Calculation 300.00 revenue of items with a known cost − 200.00 cost",
		"Margin 33.33 %", "Refunds 12.34 USD",
		"Revenue by day", "2 Mar 300.00 0.00 1 0.00", "3 Mar 0.00 400.00 0 0.00", "10 Mar 0.00 0.00 0 12.34",
		"Customers 0 New 0 Returning 0 Guest orders 2", "S-A S-A 300.00 400.00", "web 2 1,300.00 400.00")
	mustHave(t, s.mustGet(t, cookie, march, "de"), "1.300,00 USD", "+225,00 %", "2. März", "Umsatz nach Tagen")
	mustHave(t, s.mustGet(t, cookie, march+"&compare=previous_period", "en"), "compared with 29 Jan 2026 to 28 Feb 2026")
	mustHave(t, s.mustGet(t, cookie, "/overview?from=2025-03-01&to=2025-03-31", "en"), "Gross profit No costs known", "Margin No costs known")
	mustHave(t, s.mustGet(t, cookie, "/overview?from=2025-01-01&to=2026-12-31", "en"), "Revenue by month", "Mar 2026 1,300.00 400.00")
	mustHave(t, s.mustGet(t, cookie, "/overview?from=2026-01-01&to=2026-04-30", "en"), "Revenue by week")
}

func TestTheOverviewShowsChangesOfPercentagesInPoints(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "vera", people.Viewer)
	s.mustSell(t, sale("A1", "2026-03-02", 100_00, new(money.Cents(40_00))), // a margin of 60 %
		sale("A2", "2025-03-03", 100_00, new(money.Cents(42_10))), sale("A3", "2025-02-27", 100_00, new(money.Cents(30_00))))
	for query, want := range map[string]string{
		"from=2026-03-01&to=2026-03-31&compare=previous_year":         "Margin 60.00 % ▲ +2.1 points from 57.90 Calculation",
		"from=2026-02-26&to=2026-03-31&compare=previous_year_weekday": "Margin 60.00 % ▼ −3.95 points from 63.95 Calculation",
	} {
		mustHave(t, s.mustGet(t, cookie, "/overview?"+query, "en"), want)
	}
	mustHave(t, s.mustGet(t, cookie, "/overview?from=2026-03-02&to=2026-03-02&compare=previous_year_weekday", "en"),
		"compared with 3 Mar 2025 to 3 Mar 2025", "Same weekdays a year earlier", "Margin 60.00 % ▲ +2.1 points from 57.90",
		"The same weekdays a year earlier")
}

func TestTheOverviewComparesTodayUntilNow(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "vera", people.Viewer)
	now := time.Now().UTC()
	order := func(number string, at time.Time) sales.Order {
		o := sale(number, "2026-03-01", 100_00, nil)
		o.PlacedAt = at
		return o
	}
	today := now.Truncate(24 * time.Hour)
	s.mustSell(t, order("A1", today.AddDate(0, 0, -30)), order("A2", today.Add(-time.Second)),
		order("A3", today.AddDate(0, 0, -1)), order("A4", today))
	page := s.mustGet(t, cookie, "/overview?period=today&compare=previous_period", "en")
	until := reports.LastQuarter(now, time.UTC)
	if until.Equal(today) || !until.Equal(reports.LastQuarter(time.Now(), time.UTC)) {
		return // at midnight, nothing of yesterday counts, and at the end of a quarter the time is another one
	}
	mustHave(t, page, "Today is not over: its sales until now are compared with those until "+
		until.AddDate(0, 0, -1).Format("2 Jan 2006, 15:04")+" UTC.", "Revenue 200.00 USD 0.00 % from 200.00 ")
}

func TestTheOverviewNamesInvalidDays(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "vera", people.Viewer)
	for query, want := range map[string]string{
		"from=x&to=2026-03-31":          "Enter a date between 1970 and 2200.",
		"from=2026-03-01":               "Enter a date between 1970 and 2200.",
		"from=2026-03-02&to=2026-03-01": "Enter a day that is not before the first one.",
		"from=1990-01-01&to=2026-03-01": "Enter at most 7320 days.",
	} {
		mustHave(t, s.mustGet(t, cookie, "/overview?"+query, "en"), want)
	}
	today := time.Now().UTC()
	page := s.mustGet(t, cookie, "/overview?period=tomorrow", "en")
	if time.Now().UTC().Day() == today.Day() {
		month := reports.Preset("this_month", today)
		mustHave(t, page, month.From.Format("2 Jan 2006")+" to "+today.Format("2 Jan 2006"))
	}
}

func TestTheOverviewAsAWorkbook(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "vera", people.Viewer)
	s.mustSell(t, sale("A1", "2026-03-02", 150_00, nil))
	r := httptest.NewRequestWithContext(t.Context(), "GET",
		"/settings/t/"+s.a.Slug+"/overview.xlsx?from=2026-03-01&to=2026-03-31", nil)
	r.AddCookie(&http.Cookie{Name: "storeroom-insecure", Value: cookie})
	w := httptest.NewRecorder()
	s.Handler.ServeHTTP(w, r)
	if got := w.Header().Get("Content-Disposition"); got != `attachment; filename="overview_2026-03-01_2026-03-31.xlsx"` {
		t.Errorf("Content-Disposition = %s", got)
	}
	book, err := excelize.OpenReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	if got := fmt.Sprint(book.GetSheetList()); got != "[Summary Days Shops Comparison Products]" {
		t.Errorf("sheets = %s", got)
	}
	rows, err := book.GetRows("Products")
	if err != nil || len(rows) != 2 || rows[1][1] != "S-A" || rows[1][4] != "300.00" {
		t.Errorf("products = %v, %v", rows, err)
	}
}

// mustLamp creates a product of tenant A with low stock in a new category.
func (s *site) mustLamp(t testing.TB) (id int64) {
	t.Helper()
	sku := fmt.Sprint("L-", rand.Uint32())
	err := s.super.QueryRow(t.Context(), `
		with category as (
		     insert into categories (tenant_id, name) values ($1, 'Lamps ' || $2) returning id
		), product as (
		     insert into products (tenant_id, sku, name, price, status, condition, search, warehouse_id, quantity, reorder_point,
		                           category_id)
		     select $1, $2, '<b>Lamp</b>', 1234567, 'active', 'new', ' <b>lamp</b> ' || lower($2), w.id, 3, 5, c.id
		       from warehouses w cross join category c
		      where w.tenant_id = $1
		     returning id, warehouse_id, quantity
		), stock as (
		     insert into stock (tenant_id, product_id, warehouse_id, quantity)
		     select $1, id, warehouse_id, quantity from product
		)
		select id from product`, s.a.ID, sku).Scan(&id)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestProductsAndOrders(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "vera", people.Viewer)
	mustHave(t, s.mustGet(t, cookie, "/products", "en"), "No products yet")
	mustHave(t, s.mustGet(t, cookie, "/orders", "en"), "No orders yet")

	id := s.mustLamp(t)
	var sku string
	if err := s.super.QueryRow(t.Context(), `select sku from products where id = $1`, id).Scan(&sku); err != nil {
		t.Fatal(err)
	}
	mustHave(t, s.mustGet(t, cookie, "/products?search=lamp&status=active&sort=-price", "en"),
		"1 product.", "<b>Lamp</b> "+sku+" 3 5 12,345.67")
	mustHave(t, s.mustGet(t, cookie, "/products?search=chair", "en"), "No products match this filter")
	mustHave(t, s.mustGet(t, cookie, fmt.Sprint("/products/", id), "en"), "Revenue by month No sales in the last 24 months.")
	order := sale("A/1 ü", "2026-03-02", 150_00, nil)
	order.Items[0].SKU, order.ShippingTotal, order.Customer = sku, new(money.Cents(490)), &sales.Customer{ID: "C-7", Name: new("Ada")}
	s.mustSell(t, order, sale("B1", "2026-03-03", 10_00, nil))
	mustHave(t, s.mustGet(t, cookie, fmt.Sprint("/products/", id), "en"),
		"Category Lamps "+sku, "Main warehouse 3 Total 3 Reorder at 5.", "Revenue by month", "Mar 2026 2 300.00 0.00")

	mustHave(t, s.mustGet(t, cookie, "/orders", "en"), "2 orders", "A/1 ü 2 Mar 2026, 12:00 web Ada 304.90 Placed", "2 orders 324.90")
	if _, err := sales.New(s.Database.DB).UpdateChannel(t.Context(), s.a.ID, "web", sales.ChannelUpdate{Label: new("Web shop")}, nil); err != nil {
		t.Fatal(err)
	}
	mustHave(t, s.mustGet(t, cookie, "/orders", "en"), "A/1 ü 2 Mar 2026, 12:00 Web shop Ada 304.90 Placed")
	mustHave(t, s.mustGet(t, cookie, "/orders?customer=C-7&channel=web&from=2026-03-02&to=2026-03-02", "en"), "1 order,")
	mustHave(t, s.mustGet(t, cookie, "/orders?status=cancelled", "en"), "No orders match this filter")
	mustHave(t, s.mustGet(t, cookie, "/orders?search=none", "en"), "No orders match this filter")
	mustHave(t, s.mustGet(t, cookie, "/orders/"+url.PathEscape("A/1 ü"), "en"),
		"Order A/1 ü 2 Mar 2026, 12:00 UTC · Web shop", "Customer Ada All orders of this customer",
		"<b>Lamp</b> "+sku+" 2 150.00 300.00", "Shipping 4.90 Total 304.90 USD", "Placed at Web shop 304.90 2 Mar 2026, 12:00")
	for path, want := range map[string]string{
		"/orders.csv?customer=C-7":       "number,placed_at,channel,customer,discount_total,tax_total,shipping_total,",
		"/order_items.csv?to=2026-03-02": "A/1 ü," + sku + ",2,150.00,",
		"/refunds.csv":                   "order_number,refunded_at,amount,reference",
		"/products.csv?search=lamp":      sku + ",<b>Lamp</b>,",
	} {
		if got := s.do(t, call{path: s.path(path), cookie: cookie}).body; !strings.Contains(got, want) || strings.Contains(got, "B1,") {
			t.Errorf("%s = %q, want %q", path, got, want)
		}
	}
	for page, link := range map[string]string{
		"/products?search=lamp&status=active": "/products.csv?search=lamp&amp;status=active",
		"/orders?customer=C-7":                "/refunds.csv?customer=C-7",
	} {
		if got := s.do(t, call{path: s.path(page), cookie: cookie}).body; !strings.Contains(got, `href="`+s.path(link)+`"`) {
			t.Errorf("%s has no link to %s", page, link)
		}
	}
	for _, search := range []string{"A%2F1+%C3%BC", "ada"} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/settings/t/"+s.a.Slug+"/orders?search="+search, nil)
		r.AddCookie(&http.Cookie{Name: "storeroom-insecure", Value: cookie})
		w := httptest.NewRecorder()
		s.Handler.ServeHTTP(w, r)
		if got := w.Header().Get("Location"); w.Code != 303 || !strings.HasSuffix(got, "/orders/A%2F1%20%C3%BC") {
			t.Errorf("a search for %s = %d to %s", search, w.Code, got)
		}
	}
}

func TestTheNumberingSystemOfABrowserIsIgnored(t *testing.T) {
	t.Parallel()
	for _, accepted := range []string{"zh-Hant-u-nu-thai", "ar-u-nu-roman", "en-u-nu-arab", "x-private", "und-u-nu-hanidays"} {
		done := make(chan string)
		go func() {
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
			r.Header.Set("Accept-Language", accepted)
			f, _ := newFormatter(r, "", nil) // fails only for the time zone of a tenant
			done <- f.Money(123456)
		}()
		select {
		case amount := <-done:
			if accepted == "en-u-nu-arab" && amount != "1,234.56" {
				t.Errorf("with Accept-Language: %s, the amount is %s, want 1,234.56", accepted, amount)
			}
		case <-time.After(time.Minute):
			t.Errorf("with Accept-Language: %s, an amount is not formatted in a minute", accepted)
		}
	}
}

// Rows may have been deleted since a link to the last page was made.
func TestAPageBehindTheLastLeadsThere(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "ann", people.Admin)
	lamp := fmt.Sprint("/products/", s.mustLamp(t))
	order := sale("A1", "2026-03-02", 150_00, nil)
	order.Customer = &sales.Customer{ID: "C/7"}
	s.mustSell(t, order)
	imported := fmt.Sprint("/imports/", s.mustImport(t, imports.PlanKind))
	plan := fmt.Sprint("/plans/", s.mustImport(t, imports.ChangesKind))
	s.alter(t, `update change_plans set state = 'cancelled'`)
	for _, path := range []string{
		"/products", lamp, "/orders", "/customers", "/customers/C%2F7", "/imports", imported, "/plans", plan, "/audit",
	} {
		s.get(t, cookie, s.path(path+"?act=&page=7"), 303, s.path(path+"?act=&page=1"))
		s.get(t, cookie, s.path(path+"?act=&page=1"), 200)
	}
}
