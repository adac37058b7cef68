package api

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

func (a *testAPI) mustSetQuota(t testing.TB, storage, records int64) {
	t.Helper()
	_, err := tenants.Change(t.Context(), a.Admin, a.tenant.Slug, func(t *tenants.Tenant) {
		t.QuotaStorage, t.QuotaRecords = &storage, &records
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (a *testAPI) mustQuota(t testing.TB) tenants.Quota {
	t.Helper()
	quota, err := tenants.ReadQuota(t.Context(), a.DB, a.tenant.ID)
	if err != nil {
		t.Fatal(err)
	}
	return quota
}

// mustFacets returns the size of the counts of facets, of which a recount deletes those that no product has any more.
func (a *testAPI) mustFacets(t testing.TB) (size int64) {
	t.Helper()
	const sum = `select coalesce(sum(facet_bytes(value)), 0)::bigint from facet_counts`
	if err := a.MustSuper(t).QueryRow(t.Context(), sum).Scan(&size); err != nil {
		t.Fatal(err)
	}
	return size
}

// mustEqualARecount fails unless the counters equal the rows.
func (a *testAPI) mustEqualARecount(t testing.TB) {
	t.Helper()
	before := a.mustQuota(t)
	before.Storage -= a.mustFacets(t)
	a.mustRecount(t)
	after := a.mustQuota(t)
	after.Storage -= a.mustFacets(t)
	if after.Storage != before.Storage || after.Records != before.Records {
		t.Errorf("the counters have %d bytes and %d records, the rows %d and %d",
			before.Storage, before.Records, after.Storage, after.Records)
	}
}

func (a *testAPI) mustRecount(t testing.TB) {
	t.Helper()
	a.execAtTenant(t, `update tenants set recount_quotas_at = now()`)
	if err := tenants.RecountQuotas.Run(t.Context(), a.DB); err != nil {
		t.Fatal(err)
	}
}

func bulkItem(sku string, description int) string {
	return fmt.Sprintf(`{"sku":%q,"name":"n","price":1,"description":%q}`, sku, strings.Repeat("x", description))
}

// A tenant that writes as fast as it can stays within its quota, and does not affect another one.
func TestATenantStoresNoMoreThanItsQuota(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	const limit = 200_000
	a.mustSetQuota(t, limit, 1_000)
	other := a.MustTenant(t, "other", withLimit(1_000_000))
	created, failed := 0, 0
	for n := range 4 {
		var items []string
		for i := range 20 {
			items = append(items, bulkItem(fmt.Sprintf("B-%d-%d", n, i), 4_000))
		}
		status := http.StatusOK
		if n >= 2 { // the third request has some rows that fit
			status = http.StatusMultiStatus
		}
		got := a.try(t, call{method: "POST", path: "/api/products/bulk",
			body: `{"items":[` + strings.Join(items, ",") + `]}`, wantStatus: status})
		for _, row := range mustDecode[bulkResponse](t, got.body).Data {
			switch {
			case row.Status == "created":
				created++
			case row.Error.Code != QuotaExceeded || !strings.Contains(row.Error.Details["quota.storage"][0], "of 200,000 bytes are used"):
				t.Fatalf("row = %+v, %+v", row, row.Error)
			default:
				failed++
			}
		}
	}
	if quota := a.mustQuota(t); created != 49 || failed != 31 || quota.Storage > limit || quota.Records != 49 {
		t.Errorf("%d rows are created and %d failed; the quota is %+v", created, failed, quota)
	}
	id := a.mustID(t, "/api/products", `{"sku":"small","name":"n","price":1,"quantity":3,"description":"`+strings.Repeat("x", 100)+`"}`)
	product := "/api/products/" + id
	a.mustSetQuota(t, 197_000, 1_000)
	large := strings.Repeat("y", 5_000)
	a.tryAll(t, []call{
		{name: "create", method: "POST", path: "/api/products", body: bulkItem("S", 5_000), wantStatus: 403,
			wantCode: QuotaExceeded, want: []string{"quota.storage", "of 197,000 bytes are used"}},
		{name: "with a key", method: "POST", path: "/api/products", body: bulkItem("S", 5_000), header: keyed("full"),
			wantStatus: 403, wantCode: QuotaExceeded},
		{name: "grow", method: "PATCH", path: product, body: `{"description":"` + large + `"}`, wantStatus: 403, wantCode: QuotaExceeded},
		{name: "replace", method: "PUT", path: product, body: bulkItem("small", 5_000), wantStatus: 403, wantCode: QuotaExceeded},
		{name: "image", method: "POST", path: product + "/images", body: `{"url":"https://x.example/` + large[:2000] + `"}`,
			wantStatus: 403, wantCode: QuotaExceeded},
		{name: "plan", method: "POST", path: "/api/products/bulk?plan=true",
			body: `{"items":[` + bulkItem("P", 10) + `]}`, wantStatus: 201},
		{name: "shrink", method: "PATCH", path: product, body: `{"description":"x"}`, wantStatus: 200},
		{name: "adjust", method: "POST", path: product + "/inventory/adjust", body: `{"type":"add","quantity":1}`, wantStatus: 200},
		{name: "me", path: "/api/me", wantStatus: 200, want: []string{`"storage":{"used":19`, `"limit":197000}`, `"limit":1000}`}},
		{name: "another tenant", method: "POST", path: "/api/products", body: bulkItem("S", 5_000),
			key: a.mustKey(t, other, "full"), wantStatus: 201},
		{name: "delete", method: "DELETE", path: product, wantStatus: 204},
	})
	a.mustEqualARecount(t)
}

func TestOrdersAboveTheQuotaFail(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustSetQuota(t, 1_000_000, 5)
	got := a.mustOrderBulk(t, http.StatusMultiStatus, order("a"), order("b"), order("c")) // two records each
	if got.Data[2].Error == nil || got.Data[2].Error.Code != QuotaExceeded || got.Meta.Created != 2 {
		t.Errorf("the third order = %+v, meta %+v", got.Data[2], got.Meta)
	}
	a.tryAll(t, []call{
		{name: "order", method: "POST", path: "/api/orders", body: order("d"), wantStatus: 403, wantCode: QuotaExceeded,
			want: []string{`"quota.records":["4 of 5 records are used"]`}},
		{name: "refund", method: "POST", path: "/api/orders/a/refunds", body: `{"amount":1,"refunded_at":"2026-03-02T00:00:00Z"}`, wantStatus: 201},
		{name: "refund above the quota", method: "POST", path: "/api/orders/a/refunds",
			body: `{"amount":2,"refunded_at":"2026-03-02T00:00:00Z"}`, wantStatus: 201},
		{name: "cancel", method: "POST", path: "/api/orders/b/cancel", wantStatus: 200},
		{name: "sent again", method: "POST", path: "/api/orders", body: order("a"), wantStatus: 200},
	})
	a.mustEqualARecount(t)
}

// A stored response counts, so a full tenant gets none, but for what is never refused.
func TestStoredResponsesStayWithinAQuota(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	product := "/api/products/" + a.mustID(t, "/api/products", bulkItem("A", 2_000))
	a.mustSetQuota(t, a.mustQuota(t).Storage+10, 100)
	a.tryAll(t, []call{
		{name: "order", method: "POST", path: "/api/orders", body: order("a"), header: keyed("order"), wantStatus: 403,
			wantCode: QuotaExceeded, want: []string{"quota.storage"}},
		{name: "order without a key", method: "POST", path: "/api/orders", body: order("a"), wantStatus: 201},
		{name: "bulk", method: "POST", path: "/api/products/bulk", body: `{"items":[` + bulkItem("B", 20) + `]}`,
			header: keyed("bulk"), wantStatus: 403, wantCode: QuotaExceeded},
		{name: "prices", method: "POST", path: "/api/products/bulk", body: `{"items":[{"sku":"A","price":2}]}`,
			header: keyed("prices"), wantStatus: 403, wantCode: QuotaExceeded},
		{name: "prices without a key", method: "POST", path: "/api/products/bulk", body: `{"items":[{"sku":"A","price":2}]}`,
			wantStatus: 200},
		{name: "a row that is not valid", method: "POST", path: "/api/products/bulk", body: `{"items":[{"` + strings.Repeat("x", 200) + `":1}]}`,
			header: keyed("invalid"), wantStatus: 403, wantCode: QuotaExceeded},
		{name: "adjust", method: "POST", path: product + "/inventory/adjust", body: `{"type":"add","quantity":1}`,
			header: keyed("adjust"), wantStatus: 200},
		{name: "refund", method: "POST", path: "/api/orders/a/refunds", body: `{"amount":1,"refunded_at":"2026-03-02T00:00:00Z"}`,
			header: keyed("refund"), wantStatus: 201},
		{name: "cancel", method: "POST", path: "/api/orders/a/cancel", header: keyed("cancel"), wantStatus: 200},
	})
	a.mustEqualARecount(t)
}

func TestAFullTenantCanEraseACustomer(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.try(t, call{method: "POST", path: "/api/orders", wantStatus: 201, body: `{"number":"a","placed_at":"2026-03-01T10:00:00Z",
		"channel":"web","customer":{"id":"C-1","name":"Zorro Quibble"},"items":[{"sku":"x","quantity":1,"unit_price":"1.00"}]}`})
	a.mustProduct(t, bulkItem("A", 0))
	a.mustSetQuota(t, 1, 1)
	a.try(t, call{method: "DELETE", path: "/api/customers/C-1", wantStatus: 204})
	a.mustEqualARecount(t)
}

// New tags add counts, which no product shows and no request deletes: they are storage, until a recount.
func TestTagsThatChangeStayWithinAQuota(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustSetQuota(t, 20_000, 1_000_000)
	a.mustProduct(t, bulkItem("A", 10))
	for n := range 40 {
		var tags []string
		for i := range 10 {
			tags = append(tags, fmt.Sprintf("%q", fmt.Sprint("tag ", n*10+i+100)))
		}
		got := a.send(t, call{method: "POST", path: "/api/products/bulk",
			body: `{"items":[{"sku":"A","tags":[` + strings.Join(tags, ",") + `]}]}`})
		if failed := mustDecode[bulkResponse](t, got.body).Meta.Failed; failed > 0 {
			if n < 5 {
				t.Fatalf("request %d = %s", n, got.body)
			}
			break
		} else if n == 39 {
			t.Error("no request was refused")
		}
	}
	if quota := a.mustQuota(t); quota.Storage > 20_000 {
		t.Errorf("the tenant stores %d bytes", quota.Storage)
	}
	a.mustEqualARecount(t)
	if quota := a.mustQuota(t); quota.Storage > 3_000 {
		t.Errorf("after a recount the tenant stores %d bytes", quota.Storage)
	}
	a.try(t, call{method: "POST", path: "/api/products/bulk", body: `{"items":[{"sku":"A","tags":["new"]}]}`, wantStatus: 200})
}

// Changes of stock add rows of the ledger, which count as records. Adjustments are never refused.
func TestTheLedgerStaysWithinAQuota(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	product := "/api/products/" + a.mustID(t, "/api/products", bulkItem("A", 10))
	a.mustSetQuota(t, 1_000_000, 1)
	bulk := func(quantity int) string { return fmt.Sprintf(`{"items":[{"sku":"A","quantity":%d}]}`, quantity) }
	a.tryAll(t, []call{
		{name: "patch", method: "PATCH", path: product, body: `{"quantity":5}`, wantStatus: 403, wantCode: QuotaExceeded},
		{name: "bulk", method: "POST", path: "/api/products/bulk", body: bulk(5), wantStatus: 207, want: []string{"quota.records"}},
		{name: "add", method: "POST", path: product + "/inventory/adjust", body: `{"type":"add","quantity":1}`, wantStatus: 200},
		{name: "set", method: "POST", path: product + "/inventory/adjust", body: `{"type":"set","quantity":9}`, wantStatus: 200},
		{name: "price", method: "PATCH", path: product, body: `{"price":5}`, wantStatus: 200},
	})
	a.mustEqualARecount(t)
}

// Each connection can exceed the quota by one request.
func TestConcurrentRequestsExceedAQuotaAtMostOnceEach(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	const limit, size, clients = 50_000, 1_000, 8
	a.mustSetQuota(t, limit, 1_000_000)
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for n := range 20 {
				if got := a.send(t, call{method: "POST", path: "/api/products", body: bulkItem(fmt.Sprintf("C-%d-%d", c, n), size)}); got.StatusCode != 201 && got.StatusCode != 403 {
					t.Errorf("create = %d %s", got.StatusCode, got.body)
				}
			}
		})
	}
	all.Wait()
	if quota := a.mustQuota(t); quota.Storage > limit+clients*(size+10) || quota.Storage < limit-size-10 {
		t.Errorf("%d of %d bytes are used", quota.Storage, limit)
	}
	a.mustEqualARecount(t)
}

func TestUncountedTenantsAreNotRefused(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.execAtTenant(t, `delete from quota_counts`)
	a.mustSetQuota(t, 10, 1)
	a.mustProduct(t, bulkItem("A", 100))
	a.mustRecount(t)
	a.try(t, call{method: "POST", path: "/api/products", body: bulkItem("B", 100), wantStatus: 403, wantCode: QuotaExceeded})
	a.mustEqualARecount(t)
}

func TestAPlanWaitsForRoom(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustProduct(t, bulkItem("B", 0))
	plan := a.mustPlan(t, "/api/products/bulk?plan=true", `{"items":[`+bulkItem("A", 2_000)+`]}`)
	prices := a.mustPlan(t, "/api/products/bulk?plan=true", `{"items":[{"sku":"B","price":2}]}`)
	a.mustSetQuota(t, 1_500, 1_000)
	got := a.try(t, call{method: "POST", path: fmt.Sprintf("/api/plans/%d/apply", plan.Data.ID), wantStatus: 202})
	applied := mustDecode[planResponse](t, got.body)
	if applied.Data.State != changeplan.Applying || applied.Data.Failure == nil ||
		!strings.Contains(*applied.Data.Failure, "of 1,500 bytes are used") {
		t.Fatalf("the plan is %s, failure %v", applied.Data.State, applied.Data.Failure)
	}
	// It does not delay a plan that stores nothing.
	got = a.send(t, call{method: "POST", path: fmt.Sprintf("/api/plans/%d/apply", prices.Data.ID)})
	if other := mustDecode[planResponse](t, got.body); other.Data.State != changeplan.Applied {
		t.Errorf("the other plan is %s, %s", other.Data.State, got.body)
	}
	a.mustSetQuota(t, 1_000_000, 1_000)
	a.execAtTenant(t, `update change_plans set lease_until = now()`)
	after, err := a.plans.Settle(t.Context(), a.tenant.ID, plan.Data.ID, time.Minute)
	if err != nil || after.State != changeplan.Applied || after.Failure != nil {
		t.Errorf("the plan is %s, %v, %v", after.State, after.Failure, err)
	}
	a.mustEqualARecount(t)
}

func TestTheReserveOfDiskSpaceIsKept(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.mustID(t, "/api/products", bulkItem("A", 10))
	reached := func(limit int64) {
		if err := a.DB.CheckDiskReserve(t.Context(), limit, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
	reached(1)
	got := a.try(t, call{method: "POST", path: "/api/products", body: bulkItem("B", 10), wantStatus: 503, wantCode: ServiceUnavailable})
	if got.Header.Get("Retry-After") == "" {
		t.Error("the response lacks Retry-After")
	}
	a.tryAll(t, []call{
		{name: "bulk", method: "POST", path: "/api/products/bulk", body: `{"items":[` + bulkItem("C", 10) + `]}`, wantStatus: 503, wantCode: ServiceUnavailable},
		{name: "order", method: "POST", path: "/api/orders", body: order("a"), wantStatus: 503, wantCode: ServiceUnavailable},
		{name: "read", path: "/api/products/" + id, wantStatus: 200},
		{name: "shrink", method: "PATCH", path: "/api/products/" + id, body: `{"description":""}`, wantStatus: 200},
		{name: "delete", method: "DELETE", path: "/api/products/" + id, wantStatus: 204},
	})
	reached(1 << 50)
	a.mustProduct(t, bulkItem("B", 10))
}

// The counters equal the rows after random requests.
func TestCountersOfQuotasEqualTheRows(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	text := func() string { return strings.Repeat("é", random.IntN(50)) }
	var products, orders []string
	pick := func(all []string) string {
		if len(all) == 0 {
			return "0"
		}
		return all[random.IntN(len(all))]
	}
	for n := range 60 {
		c := call{method: "POST"}
		sku := fmt.Sprint("S", random.IntN(15))
		fields := fmt.Sprintf(`"name":"n%s","price":2,"quantity":%d,"description":%q,"tags":["é%d"],"upc":null`, text(), random.IntN(5), text(), random.IntN(9))
		switch random.IntN(10) {
		case 0, 1:
			c.path, c.body = "/api/products", fmt.Sprintf(`{"sku":%q,%s}`, sku, fields)
		case 2:
			c.method, c.path, c.body = "PATCH", "/api/products/"+pick(products), `{`+fields+`}`
		case 3:
			c.path, c.body = "/api/products/bulk", fmt.Sprintf(
				`{"items":[{"sku":%q,%s,"images":["https://x.example/%d"]},{"sku":"T%d",%s},{"sku":%[1]q,"name":"again"}]}`,
				sku, fields, random.IntN(99), random.IntN(9), fields)
		case 4:
			c.method, c.path = "DELETE", "/api/products/"+pick(products)
		case 5:
			c.path, c.body = "/api/products/"+pick(products)+"/images", `{"url":"https://x.example/`+sku+`"}`
		case 6:
			c.path, c.body = "/api/orders", order(fmt.Sprint("O", n))
		case 7:
			c.path, c.body = "/api/orders/"+pick(orders)+"/refunds", `{"amount":1,"refunded_at":"2026-03-02T00:00:00Z"}`
		case 8:
			c.path, c.body = "/api/products/"+pick(products)+"/inventory/adjust", `{"type":"add","quantity":1}`
		case 9:
			c.path, c.body = "/api/products/bulk?plan=true", fmt.Sprintf(`{"items":[{"sku":%q,%s}]}`, sku, fields)
		}
		if random.IntN(3) == 0 {
			c.header = keyed(fmt.Sprint("key-", n))
		}
		got := a.send(t, c)
		if got.StatusCode >= 500 {
			t.Fatalf("seed %d: %s %s %s = %d %s", seed, c.method, c.path, c.body, got.StatusCode, got.body)
		}
		if got.StatusCode == 201 && c.path == "/api/products" {
			products = append(products, strings.TrimPrefix(got.Header.Get("Location"), "/api/products/"))
		}
		if got.StatusCode == 201 && c.path == "/api/orders" {
			orders = append(orders, fmt.Sprint("O", n))
		}
		if n%20 == 19 {
			a.mustEqualARecount(t)
		}
	}
	if quota := a.mustQuota(t); quota.Storage == 0 || quota.Records == 0 || t.Failed() {
		t.Errorf("seed %d: %+v", seed, quota)
	}
}
