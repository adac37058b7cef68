package api

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

// replicaReads returns the number of reads by outcome.
func replicaReads(t *testing.T, reader metric.Reader) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	found := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != "storeroom.replica.reads" {
				continue
			}
			for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
				outcome, _ := p.Attributes.Value("storeroom.outcome")
				found[outcome.AsString()] += p.Value
			}
		}
	}
	return found
}

// Every route that only reads, and every page of rows, is answered by a replica, which refuses to write.
func TestReplicasAnswerEveryRead(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "there are no replicas")
	if !dbtest.Alone(t) {
		return
	}
	reader := metric.NewManualReader()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
	a := newAPI(t, withPages())
	go a.plans.Worker().Run(t.Context(), slog.New(slog.DiscardHandler))
	a.MustUseReplica(t, a.URL)
	cookie := a.mustSignIn(t, a.tenant)

	mug := a.mustProduct(t, `{"sku":"MUG","name":"Blue mug","price":1,"quantity":5}`)
	ids := map[string]int64{"/api/products": mug}
	for _, kind := range []string{"/api/categories", "/api/sellers", "/api/warehouses"} {
		ids[kind] = a.mustCreate(t, kind, `{"name":"Kitchen"}`)
	}
	ids["/api/imports"] = a.mustImport(t, "", "products.csv", "sku,name,price\nA,Axe,x\n").ID
	ids["/api/plans"] = a.mustPlan(t, "/api/products/changes", `{"filter":{},"set":{"price":2}}`).Data.ID
	ids["/api/webhooks"] = a.mustCreate(t, "/api/webhooks", `{"url":"https://hooks.invalid/"}`)
	a.mustOrder(t, order("A-1", `"customer":{"id":"7","name":"Ann"}`))
	names := strings.NewReplacer("{sku}", "MUG", "{number}", "A-1", "{customer_id}", "7", "{identifier}", "web",
		"{type}", "channels")
	read := func(name string, request func() (status int)) {
		var before, after map[string]int64
		for range 20 { // on a busy machine, a replica can be late
			a.MustAwaitReplica(t)
			before = replicaReads(t, reader)
			if status := request(); status != 200 {
				t.Errorf("%s = %d, want 200", name, status)
			}
			after = replicaReads(t, reader)
			if after["wrote"] == 0 && after["answered"] > before["answered"] && after["skipped"] == before["skipped"] &&
				after["failed"] == before["failed"] {
				return
			}
		}
		t.Errorf("%s: reads were %v, then %v; want more answered reads only", name, before, after)
	}
	const march = "?from=2026-03-01&to=2026-03-31"
	reads := 0
	for _, r := range a.server.routes() {
		if !r.class().Reads() || !underAPI(r.pattern) || r.permission == anyKey {
			continue
		}
		path := names.Replace(r.pattern)
		if collection, rest, found := strings.Cut(path, "/{id}"); found {
			path = fmt.Sprintf("%s/%d%s", collection, ids[collection], rest)
		}
		body := ""
		if strings.HasPrefix(path, "/api/reports/") && r.method == "GET" {
			path += march
		}
		if r.method == "POST" {
			body = `{"from":"2026-03-01","to":"2026-03-31","metrics":["revenue"]}`
		}
		read(r.method+" "+path, func() int { return a.send(t, call{method: r.method, path: path, body: body}).StatusCode })
		reads++
	}
	read("search", func() int { return a.send(t, call{path: "/api/products?search=mug"}).StatusCode })
	for _, page := range []string{
		"/overview", "/overview.xlsx", "/products?search=mug", fmt.Sprint("/products/", mug), "/products.csv",
		"/orders", "/orders/A-1", "/orders.csv", "/order_items.csv", "/refunds.csv", "/customers", "/customers/7",
		"/customers.csv", "/usage", "/audit", "/imports", fmt.Sprint("/imports/", ids["/api/imports"]),
	} {
		read("page "+page, func() int {
			got, _ := a.page(t, "GET", "/settings/t/"+a.tenant.Slug+page, cookie, nil)
			return got.StatusCode
		})
	}
	before := replicaReads(t, reader)
	for _, report := range []string{"products", "customers"} { // cannot start again after the first row
		a.try(t, call{path: "/api/reports/export/" + report + march, wantStatus: 200})
	}
	if after := replicaReads(t, reader); after["answered"] != before["answered"] {
		t.Errorf("reads were %v, then %v; want that the primary answers exports of reports with many rows", before, after)
	}
	if reads < 30 {
		t.Errorf("only %d routes read", reads)
	}
	// The response of a write contains what it wrote.
	a.try(t, call{method: "PATCH", path: fmt.Sprint("/api/products/", mug), body: `{"name":"Red mug"}`,
		wantStatus: 200, want: []string{"Red mug"}})
}
