package reports_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/migrations"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/paging"
	"github.com/storeroom/storeroom/tenancy/tenancytest"
)

// clusterLimits are the times on a cluster relative to plain PostgreSQL that are accepted.
var clusterLimits = []struct {
	name  string
	limit float64
}{
	{"get", 1.5}, {"list", 1.5}, {"search", 1.5}, {"summary", 1.5}, {"create", 2.5}, {"adjust", 2.5}, {"order", 2.5},
}

// TestOperationsOnACluster measures operations on a cluster and, in turn, in a plain database of the coordinator.
func TestOperationsOnACluster(t *testing.T) {
	if !tenancytest.OnCitus() || os.Getenv("STOREROOM_CITUS_BENCH") == "" {
		t.Skip("needs a Citus cluster and STOREROOM_CITUS_BENCH=1")
	}
	d := tenancytest.New(t)
	name := fmt.Sprintf("plain_%d", os.Getpid())
	adminURL, url, err := migrations.CreateDatabase(
		t.Context(), os.Getenv("STOREROOM_TEST_DATABASE_URL"), name, "storeroom-test", "storeroom-test")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), adminURL)
	if err != nil {
		t.Fatal(err)
	}
	_, err = migrations.Apply(t.Context(), conn)
	conn.Close(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	plain := mustOperations(t, tenancytest.MustOpen(t, adminURL), tenancytest.MustOpen(t, url))
	cluster := mustOperations(t, d.Admin, d.DB)
	for _, clients := range []int{1, 32} {
		for _, operation := range clusterLimits {
			var took [2][]time.Duration
			for range 6 {
				for i, operations := range []map[string]func(context.Context) error{plain, cluster} {
					took[i] = append(took[i], mustMeasure(t, clients, operations[operation.name])...)
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

func median(all []time.Duration) time.Duration {
	slices.SortFunc(all, cmp.Compare)
	return all[len(all)/2]
}

// mustMeasure calls f 25 times in each client, after 3 calls that do not count.
func mustMeasure(t *testing.T, clients int, f func(context.Context) error) (took []time.Duration) {
	t.Helper()
	var mu sync.Mutex
	var running sync.WaitGroup
	for range clients {
		running.Go(func() {
			for n := range 28 {
				began := time.Now()
				if err := f(t.Context()); err != nil {
					t.Error(err)
				}
				if n >= 3 {
					mu.Lock()
					took = append(took, time.Since(began))
					mu.Unlock()
				}
			}
		})
	}
	running.Wait()
	return took
}

// mustOperations stores 2,000 products and 500 orders, and returns the operations on them.
func mustOperations(t *testing.T, admin, db *tenancy.DB) map[string]func(context.Context) error {
	t.Helper()
	tenant, err := tenancy.CreateTenant(t.Context(), admin, tenancy.Tenant{Slug: "acme", Name: "Acme"})
	if err != nil {
		t.Fatal(err)
	}
	products, orders, figures := catalog.New(db), sales.New(db), reports.New(db)
	by := catalog.Actor{Tenant: tenant.ID}
	var mu sync.Mutex
	next := 0
	number := func() int {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next
	}
	create := func(ctx context.Context) (catalog.Product, error) {
		n := number()
		return products.Create(ctx, by, catalog.Changes{
			SKU: catalog.Value(fmt.Sprintf("SKU-%d", n)), Name: catalog.Value(fmt.Sprintf("Lamp %d", n)),
			Price: catalog.Value(money.Cents(500)), Quantity: catalog.Value(int64(1000)),
		}, nil)
	}
	order := func(ctx context.Context) error {
		n := number()
		_, err := orders.Ingest(ctx, tenant.ID, []sales.Row{{Order: sales.Order{
			Number: fmt.Sprint(n), PlacedAt: time.Date(2026, 3, 1+n%28, 12, 0, 0, 0, time.UTC), Channel: "pos",
			Items: []sales.Item{{SKU: "SKU-1", Quantity: 2, UnitPrice: 500}, {SKU: "SKU-2", Quantity: 1, UnitPrice: 700}},
		}}})
		return err
	}
	var ids []int64
	for range 2000 {
		p, err := create(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, p.ID)
	}
	for range 500 {
		if err := order(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	some := func() int64 { return ids[number()%len(ids)] }
	page := paging.Page{Number: 1, PerPage: 50}
	return map[string]func(context.Context) error{
		"get": func(ctx context.Context) error { _, err := products.Product(ctx, tenant.ID, some()); return err },
		"list": func(ctx context.Context) error {
			_, err := products.List(ctx, tenant.ID, catalog.Filter{Order: paging.Order{By: "created_at"}, Page: page})
			return err
		},
		"search": func(ctx context.Context) error {
			_, err := products.List(ctx, tenant.ID, catalog.Filter{
				Search: "lamp 17", Order: paging.Order{By: "created_at"}, Page: page,
			})
			return err
		},
		"summary": func(ctx context.Context) error {
			_, err := figures.Summary(ctx, tenant, reports.SummaryQuery{Range: march})
			return err
		},
		"create": func(ctx context.Context) error { _, err := create(ctx); return err },
		"adjust": func(ctx context.Context) error {
			_, _, err := products.Adjust(ctx, by, some(), catalog.AdjustRequest{
				Type: catalog.Value("add"), Quantity: catalog.Value(int64(1)),
			}, nil)
			return err
		},
		"order": order,
	}
}
