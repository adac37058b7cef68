package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/paging"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// planShop is a tenant, and the plans of its operations. Autovacuum is off, so nothing
// but the test collects statistics.
type planShop struct {
	*testAPI
	executed       dbtest.Plans
	super          *pgx.Conn
	runtime, admin *db.DB   // of one connection each
	plainURL       string   // of a server whose queries report no plans
	small          []string // tables of few rows
	loaded         bool     // the tenant has products and orders
	names          int      // that were used
}

func newPlanShop(t testing.TB) *planShop {
	t.Helper()
	s := &planShop{testAPI: newAPI(t)}
	s.super, s.plainURL = s.MustSuper(t), s.url
	s.mustExec(t, `
		select format('alter table %s set (autovacuum_enabled = off)', oid::regclass)
		  from pg_class
		 where relkind = 'r' and relnamespace = 'public'::regnamespace`)
	return s
}

// mustExec executes the statements that a query returns.
func (s *planShop) mustExec(t testing.TB, query string) {
	t.Helper()
	rows, _ := s.super.Query(t.Context(), query) // CollectRows returns its error
	statements, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, statement := range statements {
		_, execErr := s.super.Exec(t.Context(), statement)
		err = errors.Join(err, execErr)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// connect opens connections that report their plans and CPU time, and a server on them.
func (s *planShop) connect(t testing.TB) {
	t.Helper()
	s.runtime, s.admin = s.executed.MustOpen(t, s.Database, s.URL), s.executed.MustOpen(t, s.Database, s.AdminURL)
	s.serve(t, s.runtime)
}

// awaitPlans waits until both connections are back in their pools: the plan of a query
// arrives after its last row.
func (s *planShop) awaitPlans(t testing.TB) {
	t.Helper()
	if err := errors.Join(s.runtime.Ping(t.Context()), s.admin.Ping(t.Context())); err != nil {
		t.Error(err)
	}
}

// planRows are the rows of a tenant.
type planRows struct {
	orders     int
	references int // categories, sellers and tags, and warehouses up to two
	customers  int
	drafts     bool // one in 100 products is a draft
}

// mustLoadReferences creates up to count categories and sellers, and up to two warehouses.
func (s *planShop) mustLoadReferences(t testing.TB, key string, count int) {
	t.Helper()
	for kind, count := range map[string]int{"categories": count, "sellers": count, "warehouses": min(count, 2)} {
		for n := range count {
			s.try(t, call{
				method: "POST", path: "/api/" + kind, key: key, body: fmt.Sprintf(`{"name":"%s %d"}`, kind, n),
				wantStatus: http.StatusCreated,
			})
		}
	}
}

var planBegin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// mustLoad sends products, and orders of 200 days with five items each. One order in
// planRefunded is refunded, and one in planCancelled is cancelled.
func (s *planShop) mustLoad(t testing.TB, tenant tenants.Tenant, key string, rows planRows) {
	t.Helper()
	measuredURL := s.url
	s.url = s.plainURL
	defer func() { s.url = measuredURL }()
	begin := time.Now()
	categories, sellers := s.mustIDs(t, "categories", tenant), s.mustIDs(t, "sellers", tenant)
	warehouses := s.mustIDs(t, "warehouses", tenant)[:min(rows.references, 2)]
	s.bulk(t, "/api/products/bulk", "items", key, planProducts, func(n int) string {
		status := "active"
		if rows.drafts && n%100 == 0 {
			status = "draft"
		}
		return fmt.Sprintf(`{"sku":"S-%d","name":"Thing %d","price":"5.00","cost":"3.00","quantity":5,"tags":["t%d"],
			"status":%q,"category_id":%d,"seller_id":%d,"warehouse_id":%d}`, n, n, n%rows.references, status,
			categories[n%len(categories)], sellers[n%len(sellers)], warehouses[n%len(warehouses)])
	})
	s.bulk(t, "/api/orders/bulk", "orders", key, rows.orders, func(n int) string {
		var items []string
		for line := range 5 {
			items = append(items, fmt.Sprintf(`{"sku":"S-%d","quantity":2,"unit_price":"5.00"}`, (n*13+line*71)%planProducts))
		}
		customer := ""
		if n%3 > 0 {
			customer = fmt.Sprintf(`"customer":{"id":"C%d","name":"Customer"},`, n*7%rows.customers)
		}
		return fmt.Sprintf(`{"number":"N-%d","placed_at":%q,"channel":%q,%s"items":[%s]}`, n,
			planPlacedAt(n).Format(time.RFC3339), []string{"pos", "web", "fair"}[n/7%3], customer, strings.Join(items, ","))
	})
	store := sales.New(s.DB)
	var refunds []sales.RefundRow
	for n := 0; n < rows.orders; n += planRefunded {
		at := planPlacedAt(n).AddDate(0, 0, 9)
		refunds = append(refunds, sales.RefundRow{Refund: sales.Refund{
			OrderNumber: fmt.Sprint("N-", n), Amount: 300, RefundedAt: &at,
		}})
		if len(refunds) == 500 || n+planRefunded >= rows.orders {
			if _, err := store.Refund(t.Context(), tenant.ID, refunds); err != nil {
				t.Fatal(err)
			}
			refunds = nil
		}
	}
	for n := 0; n < rows.orders; n += planCancelled {
		if _, err := store.Cancel(t.Context(), tenant.ID, fmt.Sprint("N-", n), nil); err != nil {
			t.Fatal(err)
		}
	}
	s.exec(t, `select gin_clean_pending_list('product_texts_search')`) // as autovacuum does, which is off
	t.Logf("loaded %s in %v", tenant.Slug, time.Since(begin))
}

// mustLoadCustomers creates customers without orders.
func (s *planShop) mustLoadCustomers(t testing.TB, tenant tenants.Tenant, count int) {
	t.Helper()
	var customers []sales.Customer
	for n := range count {
		customers = append(customers, sales.Customer{ID: fmt.Sprint("without orders ", n)})
	}
	if _, err := sales.New(s.DB).EnsureCustomers(t.Context(), tenant.ID, customers); err != nil {
		t.Fatal(err)
	}
}

func planPlacedAt(n int) time.Time {
	return planBegin.Add(time.Duration(n) * (200 * 24 * time.Hour / planOrders)).Truncate(time.Second)
}

func (s *planShop) mustIDs(t testing.TB, table string, tenant tenants.Tenant) []int64 {
	t.Helper()
	rows, _ := s.super.Query(t.Context(), `select id from `+table+` where tenant_id = $1 order by id`, tenant.ID)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// bulk sends rows in requests of up to 1,000. On a busy machine a request can time out;
// it may be sent again.
func (s *planShop) bulk(t testing.TB, path, field, key string, count int, row func(int) string) {
	t.Helper()
	for at := 0; at < count; at += 1000 {
		var rows []string
		for n := at; n < min(at+1000, count); n++ {
			rows = append(rows, row(n))
		}
		c := call{method: "POST", path: path, key: key, body: fmt.Sprintf(`{%q:[%s]}`, field, strings.Join(rows, ","))}
		for try := 1; ; try++ {
			got := s.send(t, c)
			if got.StatusCode == http.StatusOK {
				break
			}
			if got.StatusCode != http.StatusServiceUnavailable || try == 20 {
				t.Fatalf("%s = %d %.300s", path, got.StatusCode, got.body)
			}
		}
	}
}

// operation is a request, or a call of an operator's command.
type operation struct {
	name string
	run  func(testing.TB)
}

// operations returns every operation that reads or writes rows of a tenant.
func (s *planShop) operations(t testing.TB) []operation {
	t.Helper()
	return slices.Concat(s.commands(), s.writes(t), s.catalogReads(t), s.salesReads(), s.reportReads(t))
}

// get returns a GET request. Its path is a format, so that its name has no ids.
func (s *planShop) get(path string, ids ...any) operation {
	return operation{"GET " + path, func(t testing.TB) { s.request(t, "GET", fmt.Sprintf(path, ids...), "") }}
}

// request sends a request. Without rows some of them find nothing.
func (s *planShop) request(t testing.TB, method, path, body string) reply {
	t.Helper()
	got := s.send(t, call{method: method, path: path, body: body})
	if got.StatusCode >= 500 || s.loaded && got.StatusCode >= 300 {
		t.Errorf("%s %s %.300s = %d %.300s", method, path, body, got.StatusCode, got.body)
	}
	return got
}

// name returns a name that no earlier call returned.
func (s *planShop) name() string {
	s.names++
	return fmt.Sprint("new-", s.names)
}

// item returns the id of a product, or 1.
func (s *planShop) item(t testing.TB) int64 {
	return append(s.mustIDs(t, "products", s.tenant), 1)[0]
}

func (s *planShop) catalogReads(t testing.TB) []operation {
	category, seller := s.mustIDs(t, "categories", s.tenant)[0], s.mustIDs(t, "sellers", s.tenant)[0]
	warehouse, item := s.mustIDs(t, "warehouses", s.tenant)[0], s.item(t)
	return []operation{
		s.get("/api/products"),
		s.get("/api/products?sort=name"),
		s.get("/api/products?sort=sku"),
		s.get("/api/products?sort=price&direction=desc"),
		s.get("/api/products?page=10&per_page=100"),
		s.get("/api/products?status=active"),
		s.get("/api/products?status=active&sort=name"),
		s.get("/api/products?status=draft"),
		s.get("/api/products?status=draft&sort=price"),
		s.get("/api/products?status=draft&sort=sku"),
		s.get("/api/products?status=active&sort=sku"),
		s.get("/api/products?status=active&from=2026-01-01&to=2026-12-31&sort=price"),
		s.get("/api/products?status=active&from=2036-01-01&sort=name"),
		s.get("/api/products?category_id=%d", category),
		s.get("/api/products?seller_id=%d&sort=price", seller),
		s.get("/api/products?warehouse_id=%d", warehouse),
		s.get("/api/products?warehouse_id=%d&sort=name", warehouse),
		s.get("/api/products?seller_id=%d&sort=name&from=2026-01-01", seller),
		s.get("/api/products?seller_id=%d&warehouse_id=%d&sort=sku", seller, warehouse),
		s.get("/api/products?category_id=%d&page=2", category),
		s.get("/api/products?category_id=%d&warehouse_id=%d", category, warehouse),
		s.get("/api/products?category_id=%d&tag=t7&sort=name", category),
		s.get("/api/products?tag=t7"),
		s.get("/api/products?tag=t7&sort=name"),
		s.get("/api/products?tag=t7&status=active"),
		s.get("/api/products?from=2026-01-01&to=2026-12-31"),
		s.get("/api/products?updated_since=2026-01-01T00:00:00Z"),
		s.get("/api/products?updated_since=2036-01-01T00:00:00Z"),
		s.get("/api/products?updated_since=2026-01-01T00:00:00Z&status=active"),
		s.get("/api/products?updated_since=2026-01-01T00:00:00Z&category_id=%d", category),
		s.get("/api/products?status=draft&category_id=%d&seller_id=%d&tag=t7&from=2026-01-01", category, seller),
		s.get("/api/products?search=thing+77"),
		s.get("/api/products?search=thing"),
		s.get("/api/products?search=zq"),
		s.get("/api/products?search=thing&category_id=%d&sort=price", category),
		s.get("/api/products?search=thing+77&from=2026-01-01&warehouse_id=%d", warehouse),
		s.get("/api/products?cursor="),
		s.get("/api/products?cursor=&sort=name"),
		s.get("/api/products?cursor=&tag=t7"),
		s.get("/api/products/export"),
		s.get("/api/products/export?format=ndjson&tag=t7"),
		s.get("/api/products/export?seller_id=%d&sort=name", seller),
		s.get("/api/stock/export?category_id=%d", category),
		s.get("/api/products/%d", item),
		s.get("/api/products/sku/S-7"),
		s.get("/api/products/%d/inventory", item),
		s.get("/api/products/%d/inventory/adjustments", item),
		s.get("/api/products/%d/inventory/adjustments?type=set&warehouse_id=%d&from=2026-01-01", item, warehouse),
		s.get("/api/categories"),
		s.get("/api/categories?search=3"),
		s.get("/api/categories/%d", category),
		s.get("/api/warehouses"),
	}
}

func (s *planShop) salesReads() []operation {
	return []operation{
		s.get("/api/channels"),
		s.get("/api/channels/pos"),
		s.get("/api/orders"),
		s.get("/api/orders?page=20&per_page=100"),
		s.get("/api/orders?sort=number"),
		s.get("/api/orders?channel=web"),
		s.get("/api/orders?status=placed"),
		s.get("/api/orders?status=cancelled"),
		s.get("/api/orders?status=cancelled&channel=web"),
		s.get("/api/orders?status=cancelled&sort=number"),
		s.get("/api/orders?from=2026-02-01&to=2026-02-10"),
		s.get("/api/orders?from=2026-01-01&to=2026-12-31&status=placed&channel=web"),
		s.get("/api/orders?from=2026-02-01&to=2026-03-10&status=cancelled&channel=web"),
		s.get("/api/orders?from=2026-02-01&to=2026-03-10&sort=number"),
		s.get("/api/orders?cursor="),
		s.get("/api/orders?cursor=&sort=number"),
		s.get("/api/orders?updated_since=2036-01-01T00:00:00Z"),
		s.get("/api/orders?updated_since=2026-01-01T00:00:00Z&status=cancelled&channel=web"),
		s.get("/api/orders?updated_since=2026-01-01T00:00:00Z"),
		s.get("/api/orders?updated_since=2026-01-01T00:00:00Z&page=20&per_page=100"),
		s.walk("/api/orders?updated_since=2026-01-01T00:00:00Z&per_page=100"),
		s.walk("/api/orders?updated_since=2026-01-01T00:00:00Z&channel=web&sort=number&per_page=100"),
		s.walk("/api/orders?updated_since=2026-01-01T00:00:00Z&status=cancelled&per_page=100"),
		s.walk("/api/orders?search=N-&per_page=100"),
		s.walk("/api/orders?search=customer&per_page=100"),
		s.walk("/api/orders?search=customer&updated_since=2026-01-01T00:00:00Z&from=2026-01-01&to=2026-12-31&per_page=100"),
		s.get("/api/orders?search=N-7"),
		s.get("/api/orders?search=N-77&updated_since=2026-01-01T00:00:00Z"),
		s.get("/api/orders?search=c7&sort=number"),
		s.get("/api/customers"),
		s.get("/api/customers?cursor="),
		s.get("/api/customers?search=c7"),
		s.get("/api/customers/C7"),
		s.get("/api/customers/C7/data"),
		s.get("/api/orders/export?channel=web"),
		s.get("/api/orders/export?updated_since=2026-01-01T00:00:00Z"),
		s.get("/api/order-items/export?from=2026-02-01&to=2026-02-20"),
		s.get("/api/refunds/export?search=customer"),
		s.get("/api/refunds/export"),
		s.get("/api/archive"),
		s.get("/api/orders/N-77"),
		s.get("/api/orders/N-120"),
		s.listOrders("of a customer", sales.Filter{Customer: "C7"}),
		s.listOrders("of a customer, cancelled", sales.Filter{Customer: "C7", Status: "cancelled"}),
		s.listOrders("of a customer by number", sales.Filter{Customer: "C7", Order: paging.Order{By: "number"}}),
	}
}

// walk returns requests for the first two pages of a list.
func (s *planShop) walk(path string) operation {
	return operation{"walk " + path, func(t testing.TB) {
		first := s.request(t, "GET", path+"&cursor=", "")
		if next := mustDecode[struct{ Meta cursorMeta }](t, first.body).Meta.NextCursor; next != nil {
			s.request(t, "GET", path+"&cursor="+*next, "")
		}
	}}
}

// listOrders returns a list that no request can ask for.
func (s *planShop) listOrders(name string, f sales.Filter) operation {
	f.Page = paging.Page{Number: 1, PerPage: 20}
	return operation{"list orders " + name, func(t testing.TB) {
		if _, err := sales.New(s.runtime).List(t.Context(), s.tenant.ID, f); err != nil {
			t.Error(err)
		}
	}}
}

func (s *planShop) reportReads(t testing.TB) []operation {
	categories := s.mustIDs(t, "categories", s.tenant)
	const days = "from=2026-01-10&to=2026-07-10"
	all := []operation{
		s.get("/api/reports/sales-summary?" + days),
		s.get("/api/reports/sales-summary?compare=true&channel=web&explain=true&" + days),
		s.get("/api/reports/sales-summary?explain=true&from=2010-01-01&to=2029-12-31"),
		s.get("/api/reports/products?" + days),
		s.get("/api/reports/products?page=5&per_page=100&sort=margin&" + days),
		s.get("/api/reports/products?category_id=%d&explain=true&"+days, categories[0]),
		s.get("/api/reports/products?from=2026-02-02&to=2026-02-20"),
		s.get("/api/reports/products?from=2026-01-15&to=2026-02-14"),
		s.get("/api/reports/products?explain=true&" + days),
		s.get("/api/reports/channels?" + days),
		s.get("/api/reports/channels?explain=true&" + days),
		s.get("/api/reports/customers?" + days),
		s.get("/api/reports/customers?channel=web&explain=true&sort=last_order&" + days),
		s.get("/api/reports/customers?page=10&sort=orders&" + days),
		s.get("/api/reports/sales-summary?compare=previous_year_weekday&compare_until=now&period=last_30_days"),
		s.get("/api/reports/channels?compare=previous_period&compare_until=now&period=last_30_days"),
		s.get("/api/reports/changes?"+days+"&since=%s", time.Now().Add(-24*time.Hour).UTC().Format(time.RFC3339)),
		s.get("/api/reports/reconcile?" + days),
		s.get("/api/reports/reconcile?from=2010-01-01&to=2029-12-31"),
		s.get("/api/reports/export/sales-summary?" + days),
		s.get("/api/reports/export/products?" + days),
		s.get("/api/reports/export/products?format=xlsx&" + days),
		s.get("/api/reports/export/channels?" + days),
		s.get("/api/reports/export/customers?" + days),
	}
	one, two := fmt.Sprint(categories[0]), fmt.Sprintf("%d,%d", categories[0], categories[1])
	for _, group := range []string{"", "day", "week", "month", "channel", "category", "seller"} {
		for _, filter := range []struct{ name, json string }{
			{"", ``},
			{" of a channel", `"channel":["web"]`},
			{" of a category", `"category_id":[` + one + `]`},
			{" of two categories", `"category_id":[` + two + `]`},
			{" of two categories and channels", `"channel":["web","pos"],"category_id":[` + two + `]`},
		} {
			for _, metric := range []string{"revenue", "orders"} {
				name := fmt.Sprintf("custom %s by %q%s", metric, group, filter.name)
				body := fmt.Sprintf(`{"from":"2026-01-10","to":"2026-07-10","metrics":[%q],"filters":{%s},"explain":%t`,
					metric, filter.json, metric == "orders")
				if group != "" {
					body += `,"group_by":"` + group + `"`
				}
				all = append(all, operation{name, func(t testing.TB) {
					s.request(t, "POST", "/api/reports/custom", body+"}")
				}})
			}
		}
	}
	return all
}

func (s *planShop) writes(t testing.TB) []operation {
	category, item := s.mustIDs(t, "categories", s.tenant)[0], s.item(t)
	write := func(name string, send func(t testing.TB, name string)) operation {
		return operation{name, func(t testing.TB) { send(t, s.name()) }}
	}
	product := func(name string) string {
		return fmt.Sprintf(`{"sku":%q,"name":"x","price":1,"quantity":3,"tags":[%q],"category_id":%d}`, name, name, category)
	}
	order := func(name, sku string) string {
		return fmt.Sprintf(`{"number":%q,"placed_at":"2026-02-03T00:00:00Z","channel":"web","customer":{"id":"C%d"},"items":[
			{"sku":"S-1","quantity":1,"unit_price":"2"},{"sku":%q,"quantity":1,"unit_price":"2"}]}`, name, s.names%9, sku)
	}
	existing := func(n int) string { return fmt.Sprint("N-", 1+n*7%(planOrders-1)) } // no two are the same
	all := []operation{
		write("create and delete a product", func(t testing.TB, name string) {
			created := s.request(t, "POST", "/api/products", product(name))
			s.request(t, "DELETE", fmt.Sprintf("/api/products/%.0f", mustData(t, created)["id"]), "")
		}),
		write("create an order", func(t testing.TB, name string) {
			s.request(t, "POST", "/api/orders", order(name, "unknown "+name))
		}),
		write("create with an idempotency key", func(t testing.TB, name string) {
			s.try(t, call{
				method: "POST", path: "/api/products", body: product(name), wantStatus: http.StatusCreated,
				header: http.Header{"Idempotency-Key": {name + s.tenant.Slug + s.address}},
			})
		}),
		write("create, change and delete a channel", func(t testing.TB, name string) {
			s.request(t, "POST", "/api/channels", fmt.Sprintf(`{"identifier":%q,"label":"x"}`, name))
			s.request(t, "PATCH", "/api/channels/"+name, `{"label":"y"}`)
			s.request(t, "DELETE", "/api/channels/"+name, "")
		}),
		write("ensure references, channels and customers", func(t testing.TB, name string) {
			ctx, tenant, store := t.Context(), s.tenant.ID, sales.New(s.runtime)
			_, _, err := catalog.New(s.runtime).EnsureReferences(ctx, tenant, catalog.Categories, []string{"x", name})
			_, errChannels := store.EnsureChannels(ctx, tenant, []sales.Channel{{Identifier: "web", Label: "Web"}})
			_, errCustomers := store.EnsureCustomers(ctx, tenant, []sales.Customer{{ID: "C1"}, {ID: name}})
			if err := errors.Join(err, errChannels, errCustomers); err != nil {
				t.Error(err)
			}
		}),
	}
	for _, kind := range []string{"categories", "sellers", "warehouses"} {
		all = append(all, write("create, change and delete one of "+kind, func(t testing.TB, name string) {
			created := s.request(t, "POST", "/api/"+kind, fmt.Sprintf(`{"name":%q}`, name))
			path := fmt.Sprintf("/api/%s/%.0f", kind, mustData(t, created)["id"])
			s.request(t, "PATCH", path, fmt.Sprintf(`{"name":"%s changed"}`, name))
			s.request(t, "DELETE", path, "")
		}))
	}
	if !s.loaded {
		return all
	}
	stock := fmt.Sprintf("/api/products/%d/inventory/adjust", item)
	return append(all,
		write("change a product", func(t testing.TB, name string) {
			body := fmt.Sprintf(`{"quantity":%d,"tags":[%q]}`, s.names, name)
			s.request(t, "PATCH", fmt.Sprintf("/api/products/%d", item), body)
		}),
		write("replace a product", func(t testing.TB, name string) {
			s.request(t, "PUT", fmt.Sprintf("/api/products/%d", item), product(name))
		}),
		write("adjust the stock", func(t testing.TB, _ string) {
			s.request(t, "POST", stock, `{"type":"add","quantity":2}`)
			s.request(t, "POST", stock, `{"type":"remove","quantity":1}`)
			s.request(t, "POST", stock, fmt.Sprintf(`{"type":"set","quantity":%d}`, s.names))
		}),
		write("send 500 products again, half of them changed", func(t testing.TB, name string) {
			s.bulk(t, "/api/products/bulk", "items", s.key, 500, func(n int) string {
				if n%2 == 0 {
					name = "unchanged"
				}
				return fmt.Sprintf(`{"sku":"S-%d","description":%q}`, 1+n, name)
			})
		}),
		write("send 500 products again with other stock", func(t testing.TB, _ string) {
			s.bulk(t, "/api/products/bulk", "items", s.key, 500, func(n int) string {
				return fmt.Sprintf(`{"sku":"S-%d","quantity":%d,"tags":["t%d"]}`, 1+n, s.names, s.names)
			})
		}),
		write("send 50 new orders", func(t testing.TB, name string) {
			s.bulk(t, "/api/orders/bulk", "orders", s.key, 50, func(n int) string {
				return order(fmt.Sprint(name, "-", n), fmt.Sprint("S-", n))
			})
		}),
		write("refund an order", func(t testing.TB, name string) {
			body := fmt.Sprintf(`{"amount":"0.01","reference":%q}`, name)
			s.request(t, "POST", "/api/orders/"+existing(s.names)+"/refunds", body)
		}),
		write("cancel an order", func(t testing.TB, _ string) {
			s.request(t, "POST", "/api/orders/"+existing(s.names)+"/cancel", `{}`)
		}),
	)
}

// commands are those of operators.
func (s *planShop) commands() []operation {
	products, orders := catalog.New(s.admin), sales.New(s.admin)
	command := func(name string, run func(ctx context.Context) (differences int, err error)) operation {
		return operation{name, func(t testing.TB) {
			if differences, err := run(t.Context()); err != nil || differences != 0 {
				t.Errorf("%s: %d differences, %v", name, differences, err)
			}
		}}
	}
	return []operation{
		command("verify the catalog", func(ctx context.Context) (int, error) {
			d, err := products.Verify(ctx, s.tenant.ID, 100)
			return len(d), err
		}),
		command("verify sales", func(ctx context.Context) (int, error) {
			d, err := orders.Verify(ctx, s.tenant.ID, 100)
			return len(d), err
		}),
		command("repair", func(ctx context.Context) (int, error) {
			n, err := orders.Repair(ctx, s.tenant.ID)
			return int(n), err
		}),
		command("change the time zone", func(ctx context.Context) (int, error) {
			_, err := orders.ChangeZone(ctx, s.tenant.ID, "Europe/Rome")
			_, errBack := orders.ChangeZone(ctx, s.tenant.ID, "UTC")
			return 0, errors.Join(err, errBack)
		}),
		command("erase a customer", func(ctx context.Context) (int, error) {
			err := orders.EraseCustomer(ctx, s.tenant.ID, fmt.Sprint("C", s.names%9), tenancy.Operator)
			if errors.Is(err, tenancy.ErrNotFound) {
				err = nil
			}
			return 0, err
		}),
	}
}
