package api

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/migrations"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// clusterLimits are the times on a cluster relative to plain PostgreSQL that are accepted.
var clusterLimits = []struct {
	name  string
	limit float64
}{
	{"get", 1.5}, {"list", 1.5}, {"search", 1.5}, {"summary", 1.5}, {"create", 2.5}, {"adjust", 2.5}, {"order", 2.5},
	{"import", 2},
}

// TestOperationsOnACluster measures requests of clients of eight tenants, and imports, on a cluster and, in turn, in a
// plain database of the coordinator.
func TestOperationsOnACluster(t *testing.T) {
	if !dbtest.OnCitus() || os.Getenv("STOREROOM_CITUS_BENCH") == "" {
		t.Skip("needs a Citus cluster and STOREROOM_CITUS_BENCH=1")
	}
	plain, cluster := mustShops(t, mustPlainDatabase(t)), mustShops(t, dbtest.New(t))
	for _, clients := range []int{1, 32} {
		for _, operation := range clusterLimits {
			clients := clients
			if operation.name == "import" {
				clients = min(clients, len(plain)) // a tenant has one import at a time
			}
			var took [2][]time.Duration
			for range 6 {
				for i, shops := range [][]clusterShop{plain, cluster} {
					took[i] = append(took[i], mustMeasure(t, clients, operation.name, shops)...)
				}
			}
			before, after := median(took[0]), median(took[1])
			ratio := float64(after) / float64(before)
			t.Logf("%2d clients, %-8s plain %8v, cluster %8v, %.2f times (at most %.1f)", clients, operation.name,
				before.Round(time.Microsecond), after.Round(time.Microsecond), ratio, operation.limit)
			if ratio > operation.limit {
				t.Errorf("%s takes %.2f times as long on a cluster", operation.name, ratio)
			}
		}
	}
}

// mustPlainDatabase creates a database on the coordinator. Its tables are not distributed.
func mustPlainDatabase(t *testing.T) *dbtest.Database {
	t.Helper()
	server := os.Getenv("STOREROOM_TEST_DATABASE_URL")
	name := fmt.Sprintf("plain_%d", os.Getpid())
	adminURL, runtimeURL, err := migrations.CreateDatabase(t.Context(), server, name, "storeroom-test", "storeroom-test")
	if err != nil {
		t.Fatal(err)
	}
	super, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	super.Path = name
	d := &dbtest.Database{URL: runtimeURL, AdminURL: adminURL, SuperURL: super.String()}
	conn, err := pgx.Connect(t.Context(), adminURL)
	if err != nil {
		t.Fatal(err)
	}
	_, err = migrations.Apply(t.Context(), conn)
	conn.Close(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		super, err := pgx.Connect(context.Background(), server)
		if err == nil {
			_, err = super.Exec(context.Background(), "drop database "+name+" with (force)")
		}
		if err != nil {
			t.Error(err)
		}
	})
	d.Admin, d.DB = dbtest.MustOpen(t, adminURL), dbtest.MustOpen(t, runtimeURL)
	return d
}

func median(all []time.Duration) time.Duration {
	slices.SortFunc(all, cmp.Compare)
	return all[len(all)/2]
}

// mustMeasure runs an operation 25 times in each client, after 3 times that do not count, and imports twice after one.
func mustMeasure(t *testing.T, clients int, operation string, shops []clusterShop) []time.Duration {
	t.Helper()
	warmUp, times := 3, 25
	if operation == "import" {
		warmUp, times = 1, 2
	}
	took := make([][]time.Duration, clients)
	group, ctx := errgroup.WithContext(t.Context())
	for n := range clients {
		group.Go(func() error {
			for i := range warmUp + times {
				began := time.Now()
				if err := shops[n%len(shops)].do(ctx, operation); err != nil {
					return fmt.Errorf("%s: %w", operation, err)
				}
				if i >= warmUp {
					took[n] = append(took[n], time.Since(began))
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return slices.Concat(took...)
}

// clusterShop is a tenant with 500 products and 100 orders.
type clusterShop struct {
	api      *testAPI
	tenant   tenants.Tenant
	key      string
	products []int64
	next     *atomic.Int64 // numbers what an operation creates
}

func mustShops(t *testing.T, d *dbtest.Database) (shops []clusterShop) {
	t.Helper()
	a := newAPIOn(t, d)
	for n := range 8 {
		s := clusterShop{api: a, tenant: a.MustTenant(t, fmt.Sprint("shop-", n), withLimit(1_000_000)), next: &atomic.Int64{}}
		s.key = a.mustKey(t, s.tenant, "full")
		for range 500 {
			created := a.send(t, call{method: "POST", path: "/api/products", body: s.newProduct(), key: s.key})
			s.products = append(s.products, int64(mustData(t, created)["id"].(float64)))
		}
		for range 100 {
			a.try(t, call{method: "POST", path: "/api/orders", body: s.newOrder(), key: s.key, wantStatus: http.StatusCreated})
		}
		shops = append(shops, s)
	}
	return shops
}

func (s clusterShop) newProduct() string {
	n := s.next.Add(1)
	return fmt.Sprintf(`{"sku":"SKU-%d","name":"Lamp %d","price":5,"quantity":1000}`, n, n)
}

func (s clusterShop) newOrder() string {
	n := s.next.Add(1)
	return fmt.Sprintf(`{"number":"%d","placed_at":"2026-03-%02dT12:00:00Z","channel":"pos","items":[`+
		`{"sku":"SKU-1","quantity":2,"unit_price":5},{"sku":"SKU-2","quantity":1,"unit_price":7}]}`, n, 1+n%28)
}

// do runs an operation.
func (s clusterShop) do(ctx context.Context, operation string) error {
	product := fmt.Sprint("/api/products/", s.products[int(s.next.Add(1))%len(s.products)])
	switch operation {
	case "get":
		return s.request(ctx, "GET", product, "")
	case "list":
		return s.request(ctx, "GET", "/api/products?per_page=50", "")
	case "search":
		return s.request(ctx, "GET", "/api/products?per_page=50&search=lamp+17", "")
	case "summary":
		return s.request(ctx, "GET", "/api/reports/sales-summary?from=2026-03-01&to=2026-03-31", "")
	case "create":
		return s.request(ctx, "POST", "/api/products", s.newProduct())
	case "adjust":
		return s.request(ctx, "POST", product+"/inventory/adjust", `{"type":"add","quantity":1}`)
	case "order":
		return s.request(ctx, "POST", "/api/orders", s.newOrder())
	default:
		return s.importFiles(ctx)
	}
}

func (s clusterShop) request(ctx context.Context, method, path, body string) error {
	req, err := http.NewRequestWithContext(ctx, method, s.api.url+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+s.key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := testClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s = %d %s", method, path, resp.StatusCode, content)
	}
	return err
}

// importFiles imports 500 new products, and 500 new orders of two items.
func (s clusterShop) importFiles(ctx context.Context) error {
	products := []byte("sku,name,price,quantity,category_name\n")
	orders, items := []byte("number,placed_at,channel\n"), []byte("order_number,sku,quantity,unit_price\n")
	for range 500 {
		n := s.next.Add(1)
		products = fmt.Appendf(products, "NEW-%d,Lamp %d,5.00,10,Category %d\n", n, n, n%20)
		orders = fmt.Appendf(orders, "NEW-%d,2026-03-%02dT12:00:00Z,pos\n", n, 1+n%28)
		items = fmt.Appendf(items, "NEW-%d,SKU-%d,2,5.00\nNEW-%[1]d,NEW-%[1]d,1,7.00\n", n, 1+n%500)
	}
	report, err := imports.NewRunner(s.api.DB, s.tenant, imports.Options{By: tenancy.Operator}).Import(ctx, fstest.MapFS{
		"products.csv": {Data: products}, "orders.csv": {Data: orders}, "order_items.csv": {Data: items},
	})
	if err == nil && (report.Files[0].Created != 500 || report.Files[1].Created != 500) {
		err = fmt.Errorf("%+v, want 500 created products and orders", report.Files)
	}
	return err
}
