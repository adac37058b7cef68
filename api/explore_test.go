package api

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"net/netip"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/tenancytest"
)

type node struct {
	Subplan  string  `json:"Subplan Name"`
	Rel      string  `json:"Parent Relationship"`
	Type     string  `json:"Node Type"`
	Join     string  `json:"Join Type"`
	Index    string  `json:"Index Name"`
	Relation string  `json:"Relation Name"`
	Cond     string  `json:"Index Cond"`
	Filter   string  `json:"Filter"`
	JFilter  string  `json:"Join Filter"`
	CTE      string  `json:"CTE Name"`
	Rows     float64 `json:"Plan Rows"`
	ARows    float64 `json:"Actual Rows"`
	Loops    float64 `json:"Actual Loops"`
	Removed  float64 `json:"Rows Removed by Filter"`
	RemovedJ float64 `json:"Rows Removed by Join Filter"`
	Plans    []node  `json:"Plans"`
}

func (n node) lines(indent string, b *strings.Builder, rows bool) {
	if n.Type == "Result" || n.Type == "Subquery Scan" {
		for _, c := range n.Plans {
			c.lines(indent, b, rows)
		}
		return
	}
	fmt.Fprintf(b, "%s%s %s %s %s %s [%s]", indent, n.Type, n.Join, n.Index, n.Relation+n.CTE, n.Subplan, conds(n.Cond))
	if rows {
		fmt.Fprintf(b, " est %.0f actual %.0f x %.0f removed %.0f,%.0f", n.Rows, n.ARows, n.Loops, n.Removed, n.RemovedJ)
	}
	b.WriteString("\n")
	for _, c := range n.Plans {
		c.lines(indent+"  ", b, rows)
	}
}

func conds(c string) string {
	if c == "" {
		return ""
	}
	var cols []string
	for _, part := range strings.Split(c, " AND ") {
		cols = append(cols, strings.Fields(strings.Trim(part, "("))[0])
	}
	return strings.Join(cols, ",")
}

// bad returns the scans that read a whole tenant.
func (n node) bad(inner bool, out *[]string) {
	only := n.Cond != "" && conds(n.Cond) == "tenant_id"
	switch {
	case n.Type == "Seq Scan":
		*out = append(*out, "seq "+n.Relation)
	case only && inner:
		*out = append(*out, "inner "+n.Index)
	case only && n.Removed > 0:
		*out = append(*out, fmt.Sprintf("filter %s -%.0f", n.Index, n.Removed*n.Loops))
	}
	for _, c := range n.Plans {
		in := inner || n.Type == "Nested Loop" && c.Rel == "Inner" || strings.HasPrefix(c.Subplan, "SubPlan")
		if c.Type == "Materialize" || c.Type == "Sort" || c.Type == "Aggregate" && false || c.Type == "Hash" {
			in = false
		}
		c.bad(in, out)
	}
}

type seen struct {
	mu    sync.Mutex
	plans []struct {
		Query string  `json:"Query Text"`
		Ms    float64 `json:"duration"`
		Plan  node
	}
}

func (s *seen) open(t testing.TB, url string) *tenancy.DB {
	db, err := tenancy.Open(t.Context(), url, func(c *pgx.ConnConfig) {
		c.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
			head, text, ok := strings.Cut(n.Message, "plan:\n")
			if !ok {
				return
			}
			var p struct {
				Query string  `json:"Query Text"`
				Ms    float64 `json:"duration"`
				Plan  node
			}
			if err := json.Unmarshal([]byte(text), &p); err != nil {
				t.Log(err)
			}
			fmt.Sscanf(head, "duration: %f", &p.Ms)
			if strings.Contains(p.Query, "set_config(") {
				return
			}
			s.mu.Lock()
			s.plans = append(s.plans, p)
			s.mu.Unlock()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

type world struct {
	*testAPI
	*seen
	super   *pgx.Conn
	runtime *tenancy.DB
	admin   *tenancy.DB
	direct  *pgx.Conn
}

func autoExplain(t testing.TB, d *tenancytest.Database) {
	super := d.MustSuper(t)
	var name string
	if err := super.QueryRow(t.Context(), `select current_database()`).Scan(&name); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{
		`set session_preload_libraries = 'auto_explain'`,
		`set auto_explain.log_min_duration = 0`,
		`set auto_explain.log_nested_statements = on`,
		`set auto_explain.log_format = 'json'`,
		`set auto_explain.log_level = 'notice'`,
		`set auto_explain.log_analyze = on`,
		`set auto_explain.log_timing = off`,
	} {
		if os.Getenv("NOEXPLAIN") != "" && strings.Contains(s, "min_duration") {
			continue
		}
		if _, err := super.Exec(t.Context(), `alter database `+name+` `+s); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *world) connect(t testing.TB) {
	w.seen = &seen{}
	url := w.URL + "&pool_max_conns=1"
	w.runtime, w.admin = w.seen.open(t, url), w.seen.open(t, w.AdminURL+"&pool_max_conns=1")
	peppers, _ := keys.ParsePeppers("1:" + strings.Repeat("5e", 32))
	resolver, err := keys.Open(t.Context(), w.runtime, w.URL, peppers, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resolver.Close() })
	w.server = New(Options{
		DB: w.runtime, Catalog: catalog.New(w.runtime), Sales: sales.New(w.runtime), Reports: reports.New(w.runtime), Keys: resolver, Limiter: mustLimiter(t, redisURL(t)), Ready: w.runtime.Ping,
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Logger: slog.New(slog.DiscardHandler), Version: "test",
	})
	listener := httptest.NewServer(w.server)
	t.Cleanup(listener.Close)
	w.url = listener.URL
}

func (w *world) mustExec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := w.super.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

var bigSeed = []string{
	`insert into channels (tenant_id, identifier, label) values ($1, 'web', 'Web'), ($1, 'fair', 'Fair')`,
	`insert into categories (tenant_id, name) select $1, 'Category ' || n from generate_series(1, 40) n where $2::int > 0`,
	`insert into sellers (tenant_id, name) select $1, 'Seller ' || n from generate_series(1, 40) n where $2::int > 0`,
	`insert into customers (tenant_id, number) select $1, 'C' || n from generate_series(1, $2::int / 4) n`,
	`insert into products (tenant_id, sku, name, price, status, condition, quantity, category_id, seller_id, warehouse_id, tags, search, created_at)
	 select $1, 'P' || n, 'Name ' || n, 500, 'active', 'new', 5, c.id, s.id, w.id, array['t' || n % 50], ' name ' || n || ' p' || n, timestamptz '2024-07-01Z' + n * interval '1 minute'
	   from generate_series(1, $2::int / 5) n
	   join categories c on c.tenant_id = $1 and c.name = 'Category ' || 1 + n % 40
	   join sellers s on s.tenant_id = $1 and s.name = 'Seller ' || 1 + n % 40
	   join warehouses w on w.tenant_id = $1`,
	`insert into product_tags (tenant_id, tag, created_at, product_id) select tenant_id, unnest(tags), created_at, id from products where tenant_id = $1 and $2::int > 0`,
	`insert into stock (tenant_id, product_id, warehouse_id, quantity) select tenant_id, id, warehouse_id, quantity from products where tenant_id = $1 and $2::int > 0`,
	`insert into inventory_adjustments (tenant_id, product_id, warehouse_id, type, quantity, quantity_before, quantity_after)
	 select tenant_id, id, warehouse_id, 'set', quantity, 0, quantity from products where tenant_id = $1 and $2::int > 0`,
	`insert into sold_products (tenant_id, product_id, category_id, seller_id, sku, name)
	 select $1, id, category_id, seller_id, sku, name from products where tenant_id = $1 and $2::int > 0`,
	`insert into orders (tenant_id, customer_id, placed_at, units, units_without_cost, revenue, discounts, tax, cost, items, channel, number, content)
	 select $1, c.id, timestamptz '2024-07-01Z' + n * interval '1 minute', 10, 0, 5000, 0, 50, 3000, 5, (array['pos', 'web', 'fair'])[1 + n % 3], 'N' || n, sha256('')
	   from generate_series(1, $2::int) n
	   left join customers c on c.tenant_id = $1 and c.number = 'C' || n * 7 % ($2 / 3)`,
	`insert into order_items (tenant_id, order_id, sold_id, placed_at, unit_price, unit_cost, discount, tax, line, quantity)
	 select $1, o.id, p.id, o.placed_at, 500, 300, 0, 10, line, 2
	   from orders o cross join generate_series(1, 5) line
	   join sold_products p on p.tenant_id = $1 and p.sku = 'P' || 1 + (o.id * 13 + line * 71) % ($2::int / 5)
	  where o.tenant_id = $1`,
	`insert into refunds (tenant_id, order_id, refunded_at, amount, content)
	 select $1, o.id, o.placed_at + interval '9 days', 300, sha256('') from orders o where o.tenant_id = $1 and o.id % 20 = 0 and $2::int > 0`,
	`insert into refund_items (tenant_id, refund_id, order_id, amount, line)
	 select $1, r.id, r.order_id, 150, line from refunds r cross join generate_series(1, 2) line where r.tenant_id = $1 and $2::int > 0`,
	`insert into cancellations (tenant_id, order_id, placed_at, cancelled_at)
	 select $1, o.id, o.placed_at, o.placed_at + interval '1 day' from orders o where o.tenant_id = $1 and o.id % 50 = 0 and $2::int > 0`,
}

func (w *world) seedBig(t testing.TB, tenant tenancy.ID, n int) {
	for _, s := range bigSeed {
		if strings.Contains(s, "$2") {
			w.mustExec(t, s, tenant, n)
		} else {
			w.mustExec(t, s, tenant)
		}
	}
	w.mustExec(t, `analyze`)
	if _, err := sales.New(w.Admin).Repair(t.Context(), tenant); err != nil {
		t.Fatal(err)
	}
	w.mustExec(t, `vacuum analyze`)
}

const firstDay = "2026-01-01"

// load sends products and orders of the new tenant through the API.
func (w *world) load(t testing.TB, products, orders int) {
	for i := range 40 {
		w.send(t, call{method: "POST", path: "/api/categories", body: fmt.Sprintf(`{"name":"Category %d"}`, i)})
		w.send(t, call{method: "POST", path: "/api/sellers", body: fmt.Sprintf(`{"name":"Seller %d"}`, i)})
	}
	var cats, sels []int64
	rows, _ := w.super.Query(t.Context(), `select id from categories where tenant_id = $1 order by id`, w.tenant.ID)
	cats, _ = pgx.CollectRows(rows, pgx.RowTo[int64])
	rows, _ = w.super.Query(t.Context(), `select id from sellers where tenant_id = $1 order by id`, w.tenant.ID)
	sels, _ = pgx.CollectRows(rows, pgx.RowTo[int64])
	for at := 0; at < products; at += 1000 {
		var items []string
		for i := at; i < min(at+1000, products); i++ {
			items = append(items, fmt.Sprintf(`{"sku":"S-%d","name":"Thing %d","price":"5.00","quantity":5,"cost":"3.00","category_id":%d,"seller_id":%d,"tags":["t%d"]}`, i, i, cats[i%40], sels[i%37], i%50))
		}
		start := time.Now()
		got := w.send(t, call{method: "POST", path: "/api/products/bulk", body: `{"items":[` + strings.Join(items, ",") + `]}`})
		if got.StatusCode != 200 {
			t.Fatalf("%d %.300s", got.StatusCode, got.body)
		}
		if d := time.Since(start); d > 2*time.Second || at+1000 >= products {
			t.Logf("products %d: %v", at, d)
		}
	}
	begin, _ := time.Parse("2006-01-02", firstDay)
	for at := 0; at < orders; at += 1000 {
		var all []string
		for i := at; i < min(at+1000, orders); i++ {
			var items []string
			for l := range 5 {
				items = append(items, fmt.Sprintf(`{"sku":"S-%d","quantity":2,"unit_price":"5.00"}`, (i*13+l*71)%products))
			}
			customer := ""
			if i%3 > 0 {
				customer = fmt.Sprintf(`"customer":{"id":"C%d","name":"N"},`, i*7%(orders/4))
			}
			all = append(all, fmt.Sprintf(`{"number":"N-%d","placed_at":"%s","channel":"%s",%s"items":[%s]}`, i,
				begin.Add(time.Duration(i)*time.Hour*24*200/time.Duration(orders)).Format(time.RFC3339), []string{"pos", "web", "fair"}[i%3], customer, strings.Join(items, ",")))
		}
		start := time.Now()
		got := w.send(t, call{method: "POST", path: "/api/orders/bulk", body: `{"orders":[` + strings.Join(all, ",") + `]}`})
		if got.StatusCode != 200 {
			t.Fatalf("%d %.300s", got.StatusCode, got.body)
		}
		if d := time.Since(start); d > 2*time.Second || at+1000 >= orders {
			t.Logf("orders %d: %v", at, d)
		}
	}
	store := sales.New(w.runtime)
	var refunds []sales.RefundRow
	for i := 0; i < orders; i += 20 {
		at := begin.Add(time.Duration(i) * time.Hour * 24 * 200 / time.Duration(orders))
		refunds = append(refunds, sales.RefundRow{Refund: sales.Refund{OrderNumber: fmt.Sprintf("N-%d", i), Amount: 300, RefundedAt: &at}})
		if len(refunds) == 500 || i+20 >= orders {
			if _, err := store.Refund(t.Context(), w.tenant.ID, refunds); err != nil {
				t.Fatal(err)
			}
			refunds = nil
		}
	}
	for i := 0; i < orders; i += max(50, orders/200) {
		if _, err := store.Cancel(t.Context(), w.tenant.ID, fmt.Sprintf("N-%d", i), nil); err != nil {
			t.Log(err)
			break
		}
	}
}

type op struct {
	name string
	run  func(t testing.TB)
}

func (w *world) ops(t testing.TB, products, orders int) []op {
	get := func(path string) op {
		return op{"GET " + path, func(t testing.TB) {
			if got := w.send(t, call{path: path}); got.StatusCode >= 500 {
				t.Logf("%s = %d %.200s", path, got.StatusCode, got.body)
			}
		}}
	}
	send := func(method, path, body string) op {
		return op{fmt.Sprintf("%s %s %.250s", method, path, body), func(t testing.TB) {
			if got := w.send(t, call{method: method, path: path, body: body}); got.StatusCode >= 400 && products > 0 {
				t.Logf("%s = %d %.300s", path, got.StatusCode, got.body)
			}
		}}
	}
	var cat, sel, wh, prod int64
	_ = w.super.QueryRow(t.Context(), `select coalesce(min(id), 1) from categories where tenant_id = $1`, w.tenant.ID).Scan(&cat)
	_ = w.super.QueryRow(t.Context(), `select coalesce(min(id), 1) from sellers where tenant_id = $1`, w.tenant.ID).Scan(&sel)
	_ = w.super.QueryRow(t.Context(), `select coalesce(min(id), 1) from warehouses where tenant_id = $1`, w.tenant.ID).Scan(&wh)
	_ = w.super.QueryRow(t.Context(), `select coalesce(min(id), 1) from products where tenant_id = $1`, w.tenant.ID).Scan(&prod)
	r := "from=2026-01-10&to=2026-07-10"
	all := []op{
		get("/api/products"), get("/api/products?sort=name"), get("/api/products?sort=sku"), get("/api/products?sort=price&direction=desc"),
		get("/api/products?page=50&per_page=100"),
		get("/api/products?status=active"), get("/api/products?status=active&sort=name"),
		get(fmt.Sprintf("/api/products?category_id=%d", cat)), get(fmt.Sprintf("/api/products?seller_id=%d&sort=price", sel)), get(fmt.Sprintf("/api/products?warehouse_id=%d", wh)),
		get("/api/products?tag=t7"), get("/api/products?tag=t7&sort=name"), get("/api/products?tag=t7&status=active"),
		get("/api/products?from=2026-01-01&to=2026-12-31"), get("/api/products?updated_since=2026-01-01T00:00:00Z"), get("/api/products?updated_since=2036-01-01T00:00:00Z"),
		get("/api/products?updated_since=2026-01-01T00:00:00Z&status=active"),
		get(fmt.Sprintf("/api/products?status=draft&category_id=%d&seller_id=%d&tag=t7&from=2026-01-01&to=2026-12-31", cat, sel)),
		get("/api/products?search=thing+77"), get("/api/products?search=thing"), get("/api/products?search=zq"), get(fmt.Sprintf("/api/products?search=thing&category_id=%d&sort=price", cat)),
		get("/api/products?cursor="), get("/api/products?cursor=&sort=name"), get("/api/products?cursor=&tag=t7"),
		get("/api/products/export"), get("/api/products/export?format=ndjson&tag=t7"),
		get(fmt.Sprintf("/api/products/%d", prod)), get("/api/products/sku/S-7"), get(fmt.Sprintf("/api/products/%d/inventory", prod)),
		get(fmt.Sprintf("/api/products/%d/inventory/adjustments", prod)), get(fmt.Sprintf("/api/products/%d/inventory/adjustments?type=set&warehouse_id=%d&from=2026-01-01&to=2026-12-31", prod, wh)),
		get("/api/categories"), get("/api/categories?search=3"), get(fmt.Sprintf("/api/categories/%d", cat)), get("/api/warehouses"), get("/api/channels"), get("/api/channels/pos"),
		get("/api/orders"), get("/api/orders?page=100&per_page=100"), get("/api/orders?sort=number"), get("/api/orders?channel=web"), get("/api/orders?status=cancelled"), get("/api/orders?status=placed"),
		get("/api/orders?customer=C7"), get("/api/orders?customer=C7&status=cancelled"), get("/api/orders?from=2026-02-01&to=2026-02-10"), get("/api/orders?channel=web&status=cancelled&from=2026-02-01&to=2026-03-10"),
		get("/api/orders/N-77"), get("/api/orders/N-20"),
		get("/api/reports/sales-summary?" + r), get("/api/reports/sales-summary?compare=true&channel=web&explain=true&" + r),
		get("/api/reports/products?" + r), get("/api/reports/products?" + r + "&page=20&per_page=100&sort=margin"), get(fmt.Sprintf("/api/reports/products?category_id=%d&explain=true&%s", cat, r)), get("/api/reports/products?from=2026-02-02&to=2026-02-20"),
		get("/api/reports/products?from=2026-01-15&to=2026-02-14"), get("/api/reports/products?explain=true&" + r),
		get("/api/reports/channels?" + r), get("/api/reports/channels?explain=true&" + r),
		get("/api/reports/customers?" + r), get("/api/reports/customers?channel=web&explain=true&sort=last_order&" + r), get("/api/reports/customers?page=10&sort=orders&" + r),
		get("/api/reports/reconcile?" + r), get("/api/reports/reconcile?from=2010-01-01&to=2029-12-31"), get("/api/reports/sales-summary?explain=true&from=2010-01-01&to=2029-12-31"),
		get("/api/reports/export/sales-summary?" + r), get("/api/reports/export/products?" + r), get("/api/reports/export/products?format=xlsx&" + r), get("/api/reports/export/channels?" + r), get("/api/reports/export/customers?" + r),
	}
	for _, group := range []string{"", "day", "week", "month", "channel", "category", "seller"} {
		for _, filter := range []string{``, `"channel":["web"]`, fmt.Sprintf(`"category_id":[%d]`, cat), fmt.Sprintf(`"category_id":[%d,%d]`, cat, cat+1), fmt.Sprintf(`"channel":["web","pos"],"category_id":[%d,%d]`, cat, cat+1)} {
			for _, metric := range []string{"revenue", "orders"} {
				g := ""
				if group != "" {
					g = `"group_by":"` + group + `",`
				}
				explain := ""
				if metric == "orders" && filter != "" {
					explain = `"explain":true,`
				}
				all = append(all, send("POST", "/api/reports/custom", fmt.Sprintf(`{`+explain+`"from":"2026-01-10","to":"2026-07-10","metrics":["%s"],%s"filters":{%s}}`, metric, g, filter)))
			}
		}
	}
	store, cstore := func() *sales.Store { return sales.New(w.admin) }, func() *catalog.Store { return catalog.New(w.admin) }
	check := func(t testing.TB, n int, err error) {
		if err != nil || n > 0 {
			t.Logf("%d %v", n, err)
		}
	}
	var bulk, reorders []string
	for i := range min(products, 1000) {
		bulk = append(bulk, fmt.Sprintf(`{"sku":"S-%d","name":"Thing %d"}`, i*7%max(1, products), i*7%max(1, products)))
	}
	begin, _ := time.Parse("2006-01-02", firstDay)
	for i := range min(orders, 1000) {
		reorders = append(reorders, fmt.Sprintf(`{"number":"N-%d","placed_at":"%s","channel":"pos","items":[{"sku":"S-1","quantity":1,"unit_price":"1.00"}]}`, i, begin.Format(time.RFC3339)))
	}
	all = append(all,
		op{"verify sales", func(t testing.TB) { d, err := store().Verify(t.Context(), w.tenant.ID, 100); check(t, len(d), err) }},
		op{"verify catalog", func(t testing.TB) { d, err := cstore().Verify(t.Context(), w.tenant.ID, 100); check(t, len(d), err) }},
		op{"repair", func(t testing.TB) { d, err := store().Repair(t.Context(), w.tenant.ID); check(t, int(d), err) }},
	)
	if products > 0 {
		all = append(all,
			op{"change zone", func(t testing.TB) {
				for _, zone := range []string{"Europe/Rome", "UTC"} {
					if _, err := store().ChangeZone(t.Context(), w.tenant.ID, zone); err != nil {
						t.Log(err)
					}
				}
			}},
			op{"bulk products resent", func(t testing.TB) {
				got := w.send(t, call{method: "POST", path: "/api/products/bulk", body: `{"items":[` + strings.Join(bulk, ",") + `]}`})
				if got.StatusCode != 200 {
					t.Logf("%d %.300s", got.StatusCode, got.body)
				}
			}},
			op{"bulk orders resent", func(t testing.TB) {
				got := w.send(t, call{method: "POST", path: "/api/orders/bulk", body: `{"orders":[` + strings.Join(reorders, ",") + `]}`})
				if got.StatusCode > 207 {
					t.Logf("%d %.300s", got.StatusCode, got.body)
				}
			}},
		)
	}
	n := strconv.Itoa(int(time.Now().UnixNano()))
	writes := []op{
		{"create product", func(t testing.TB) {
			w.send(t, call{method: "POST", path: "/api/products", body: fmt.Sprintf(`{"sku":"new-%s-%d","name":"x","price":1,"quantity":3,"tags":["t1"],"category_id":%d}`, n, rand.Int(), cat)})
		}},
		{"patch product", func(t testing.TB) {
			w.send(t, call{method: "PATCH", path: fmt.Sprintf("/api/products/%d", prod), body: fmt.Sprintf(`{"quantity":%d,"tags":["t%d"]}`, rand.IntN(1000), rand.IntN(1000))})
		}},
		{"put product", func(t testing.TB) {
			w.send(t, call{method: "PUT", path: fmt.Sprintf("/api/products/%d", prod), body: fmt.Sprintf(`{"sku":"S-0","name":"Thing 0","price":3,"quantity":%d,"tags":["t%d"]}`, rand.IntN(1000), rand.IntN(1000))})
		}},
		{"adjust add", func(t testing.TB) {
			w.send(t, call{method: "POST", path: fmt.Sprintf("/api/products/%d/inventory/adjust", prod), body: `{"type":"add","quantity":2}`})
		}},
		{"adjust remove", func(t testing.TB) {
			w.send(t, call{method: "POST", path: fmt.Sprintf("/api/products/%d/inventory/adjust", prod), body: `{"type":"remove","quantity":2}`})
		}},
		{"adjust set", func(t testing.TB) {
			w.send(t, call{method: "POST", path: fmt.Sprintf("/api/products/%d/inventory/adjust", prod), body: fmt.Sprintf(`{"type":"set","quantity":%d}`, rand.IntN(1000))})
		}},
		{"order", func(t testing.TB) {
			w.send(t, call{method: "POST", path: "/api/orders", body: fmt.Sprintf(`{"number":"new-%s-%d","placed_at":"2026-02-03T00:00:00Z","channel":"web","customer":{"id":"C%d"},"items":[{"sku":"S-1","quantity":1,"unit_price":"2"},{"sku":"U-%d","quantity":1,"unit_price":"2"}]}`, n, rand.Int(), rand.IntN(100), rand.Int())})
		}},
		{"refund", func(t testing.TB) {
			w.send(t, call{method: "POST", path: "/api/orders/N-77/refunds", body: fmt.Sprintf(`{"amount":"0.01","reference":"r-%d"}`, rand.Int())})
		}},
		{"cancel", func(t testing.TB) {
			w.send(t, call{method: "POST", path: fmt.Sprintf("/api/orders/N-%d/cancel", 1+rand.IntN(max(1, orders-1))), body: `{}`})
		}},
		{"idempotent", func(t testing.TB) {
			w.send(t, call{method: "POST", path: "/api/categories", body: fmt.Sprintf(`{"name":"N %d"}`, rand.Int()), header: map[string][]string{"Idempotency-Key": {strconv.Itoa(rand.Int())}}})
		}},
		{"delete category in use", func(t testing.TB) {
			w.send(t, call{method: "DELETE", path: fmt.Sprintf("/api/categories/%d", cat)})
			w.send(t, call{method: "DELETE", path: fmt.Sprintf("/api/sellers/%d", sel)})
			w.send(t, call{method: "DELETE", path: "/api/channels/web"})
		}},
		{"delete warehouse", func(t testing.TB) {
			got := mustDecode[struct{ Data struct{ ID int64 } }](t, w.send(t, call{method: "POST", path: "/api/warehouses", body: fmt.Sprintf(`{"name":"W %d"}`, rand.Int())}).body)
			w.send(t, call{method: "DELETE", path: fmt.Sprintf("/api/warehouses/%d", got.Data.ID)})
		}},
		{"create and delete category", func(t testing.TB) {
			got := mustDecode[struct{ Data struct{ ID int64 } }](t, w.send(t, call{method: "POST", path: "/api/categories", body: fmt.Sprintf(`{"name":"W %d"}`, rand.Int())}).body)
			w.send(t, call{method: "PATCH", path: fmt.Sprintf("/api/categories/%d", got.Data.ID), body: fmt.Sprintf(`{"name":"W %d"}`, rand.Int())})
			w.send(t, call{method: "DELETE", path: fmt.Sprintf("/api/categories/%d", got.Data.ID)})
		}},
		{"create and delete channel", func(t testing.TB) {
			id := fmt.Sprintf("c%d", rand.Int())
			w.send(t, call{method: "POST", path: "/api/channels", body: fmt.Sprintf(`{"identifier":"%s","label":"x"}`, id)})
			w.send(t, call{method: "PATCH", path: "/api/channels/" + id, body: `{"label":"y"}`})
			w.send(t, call{method: "DELETE", path: "/api/channels/" + id})
		}},
		{"delete product", func(t testing.TB) {
			got := mustDecode[struct{ Data struct{ ID int64 } }](t, w.send(t, call{method: "POST", path: "/api/products", body: fmt.Sprintf(`{"sku":"del-%d","name":"x","price":1,"quantity":3,"tags":["t1"]}`, rand.Int())}).body)
			w.send(t, call{method: "DELETE", path: fmt.Sprintf("/api/products/%d", got.Data.ID)})
		}},
		{"bulk products changed", func(t testing.TB) {
			var items []string
			for i := range min(products, 500) {
				items = append(items, fmt.Sprintf(`{"sku":"S-%d","price":%d,"quantity":%d,"tags":["t%d"]}`, i*7%max(1, products), rand.IntN(1000), rand.IntN(1000), rand.IntN(90)))
			}
			w.send(t, call{method: "POST", path: "/api/products/bulk", body: `{"items":[` + strings.Join(items, ",") + `]}`})
		}},
		{"ensure", func(t testing.TB) {
			var names []string
			var cs []sales.Customer
			for i := range 500 {
				names = append(names, fmt.Sprint("Category ", i))
				cs = append(cs, sales.Customer{ID: fmt.Sprint("C", i)})
			}
			if _, _, err := catalog.New(w.runtime).EnsureReferences(t.Context(), w.tenant.ID, catalog.Categories, names); err != nil {
				t.Log(err)
			}
			if _, err := sales.New(w.runtime).EnsureChannels(t.Context(), w.tenant.ID, []sales.Channel{{Identifier: "web", Label: "Web"}}); err != nil {
				t.Log(err)
			}
			if _, err := sales.New(w.runtime).EnsureCustomers(t.Context(), w.tenant.ID, cs); err != nil {
				t.Log(err)
			}
		}},
		{"erase", func(t testing.TB) {
			_ = sales.New(w.admin).EraseCustomer(t.Context(), w.tenant.ID, "C5")
		}},
	}
	return append(all, writes...)
}

type measured struct {
	ms     float64
	shape  string
	rows   string
	bad    []string
	status int
}

func (w *world) measure(t testing.TB, ops []op, times int) map[string]measured {
	result := map[string]measured{}
	for _, o := range ops {
		var m measured
		m.ms = 1e9
		for range times {
			w.mu.Lock()
			w.plans = nil
			w.mu.Unlock()
			start := time.Now()
			o.run(t)
			m.ms = min(m.ms, float64(time.Since(start).Microseconds())/1000)
		}
		w.mu.Lock()
		var shape, rows strings.Builder
		last := ""
		for _, p := range w.plans {
			var one strings.Builder
			p.Plan.lines("  ", &one, false)
			s := p.Query + "\n" + one.String()
			if s != last {
				shape.WriteString(s)
			}
			last = s
			fmt.Fprintf(&rows, "%s\n-- %.1f ms\n", p.Query, p.Ms)
			p.Plan.lines("  ", &rows, true)
			p.Plan.bad(false, &m.bad)
		}
		w.mu.Unlock()
		m.shape, m.rows = shape.String(), rows.String()
		result[o.name] = m
	}
	return result
}

func envInt(name string, def int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return def
}

func TestExplore(t *testing.T) {
	if os.Getenv("EXPLORE") == "" {
		t.Skip()
	}
	products, orders, big := envInt("PRODUCTS", 20000), envInt("ORDERS", 20000), envInt("BIG", 100000)
	a := newAPI(t)
	w := &world{testAPI: a, super: a.MustSuper(t)}
	autoExplain(t, a.Database)
	rows, _ := w.super.Query(t.Context(), `select oid::regclass::text from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		w.mustExec(t, `alter table `+table+` set (autovacuum_enabled = off)`)
	}
	if big > 0 {
		other := a.MustTenant(t, "other")
		start := time.Now()
		w.seedBig(t, other.ID, big)
		t.Logf("seeded in %v", time.Since(start))
	}
	w.connect(t)
	dir := os.Getenv("EXPLORE")
	os.MkdirAll(dir, 0o755)
	var atZero map[string]measured
	if os.Getenv("ZERO") != "" {
		atZero = w.measure(t, w.ops(t, 0, 0), 8)
		if os.Getenv("ZEROANALYZE") != "" {
			w.mustExec(t, `analyze`)
			atZero = w.measure(t, w.ops(t, 0, 0), 8)
		}
	}
	_ = atZero
	start := time.Now()
	w.load(t, products, orders)
	t.Logf("loaded in %v", time.Since(start))
	times := envInt("TIMES", 2)
	fresh := w.measure(t, w.ops(t, products, orders), times)
	if os.Getenv("ZERO") != "" {
		w.connect(t)
	}
	w.mustExec(t, `vacuum analyze`)
	w.connect(t)
	after := w.measure(t, w.ops(t, products, orders), times)
	var names []string
	for name := range fresh {
		names = append(names, name)
	}
	sort.Strings(names)
	report, _ := os.Create(dir + "/report.txt")
	defer report.Close()
	for i, name := range names {
		f, n := fresh[name], after[name]
		mark := ""
		if len(f.bad) > 0 {
			mark = fmt.Sprintf(" BAD %v", compact(f.bad))
		}
		if len(n.bad) > 0 {
			mark += fmt.Sprintf(" (after %v)", compact(n.bad))
		}
		if f.shape != n.shape {
			mark += " DIFFERS"
		}
		fmt.Fprintf(report, "%3d %8.1f %8.1f %6.2f %s%s\n", i, f.ms, n.ms, f.ms/n.ms, name, mark)
		os.WriteFile(fmt.Sprintf("%s/%03d.txt", dir, i), []byte(name+"\n"+strings.Join(f.bad, "\n")+"\n\n===== fresh\n"+f.rows+"\n===== after\n"+n.rows), 0o644)
	}
	_ = context.Background
}

func compact(all []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, s := range all {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
		if len(out) == 6 {
			return append(out, "…")
		}
	}
	return out
}
