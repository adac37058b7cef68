package api

import (
	"encoding/base64"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/storeroom/storeroom/tenancy/tenants"
)

type listedCustomers struct {
	Data []struct{ ID string }
	Meta cursorMeta
}

func (l listedCustomers) ids() (ids []string) {
	for _, c := range l.Data {
		ids = append(ids, c.ID)
	}
	return ids
}

func (a *testAPI) mustListCustomers(t testing.TB, query string) listedCustomers {
	t.Helper()
	return mustDecode[listedCustomers](t, a.try(t, call{path: "/api/customers?" + query, wantStatus: 200}).body)
}

func TestCustomersAreListedAndFound(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.try(t, call{path: "/api/customers", wantStatus: 200, want: []string{`"data":[]`, `"total":0`}})
	a.mustManyOrders(t)
	for query, want := range map[string]string{
		"": "C-2,C-1,C-0", "search=person": "C-2,C-1,C-0", "search=PERSON+1": "C-1", "search=c-2": "C-2",
		"search=émile+p0@example.com": "C-0", "search=-": "", "search=%25": "", "search=zed": "", "search=+": "C-2,C-1,C-0",
	} {
		query = strings.ReplaceAll(query, "é", "%C3%A9")
		all := a.mustListCustomers(t, query)
		if got := strings.Join(all.ids(), ","); got != want || all.Meta.Total != int64(len(all.Data)) {
			t.Errorf("?%s = %s of %d, want %s", query, got, all.Meta.Total, want)
		}
		var walked []string
		for cursor, steps := "", 0; steps < 5; steps++ {
			step := a.mustListCustomers(t, query+"&per_page=2&cursor="+cursor)
			if walked = append(walked, step.ids()...); step.Meta.NextCursor == nil {
				break
			}
			cursor = *step.Meta.NextCursor
		}
		if diff := cmp.Diff(all.ids(), walked); diff != "" {
			t.Errorf("?%s with a cursor differs from the list:\n%s", query, diff)
		}
	}
	a.try(t, call{path: "/api/customers?page=2&per_page=2", wantStatus: 200, want: []string{`"id":"C-0"`, `"total_pages":2`}})
	want := "id,name,email\r\nC-1,Person 1 Émile,p1@example.com\r\n"
	if got := a.mustFile(t, "/api/customers/export?search=p1"); got != want {
		t.Errorf("export = %q, want %q", got, want)
	}
	for _, query := range []string{"cursor=x", "sort=id", "page=0", "cursor=&page=1"} {
		a.try(t, call{path: "/api/customers?" + query, wantStatus: 400, wantCode: InvalidParameter})
	}
	other := a.mustKey(t, a.MustTenant(t, "other", withLimit(1000)), "full")
	for _, path := range []string{"/api/customers", "/api/customers?search=person"} {
		a.try(t, call{path: path, key: other, wantStatus: 200, want: []string{`"data":[]`, `"total":0`}})
	}
}

func TestACustomerHasTheSumsOfItsOrders(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustManyOrders(t) // C-0 has g, b and d; C-1 has a and e
	a.try(t, call{
		path: "/api/customers/C-0", wantStatus: 200,
		want: []string{`"name":"Person 0 Émile"`, `"orders":2,"revenue":"10.00","refunds":"0.00",` +
			`"first_order_at":"2026-03-01T09:30:00.000000Z","last_order_at":"2026-03-04T09:30:00.000000Z"`},
	})
	a.try(t, call{path: "/api/customers/C-1", wantStatus: 200, want: []string{`"orders":2,"revenue":"10.00","refunds":"1.00"`}})
	other := a.mustKey(t, a.MustTenant(t, "other", withLimit(1000)), "full")
	for _, path := range []string{"/api/customers/C-0", "/api/customers/C-0/data"} {
		a.try(t, call{path: path, key: other, wantStatus: 404, wantCode: NotFound})
		a.try(t, call{path: strings.Replace(path, "C-0", "none", 1), wantStatus: 404, wantCode: NotFound})
		a.try(t, call{path: strings.Replace(path, "C-0", "%00", 1), wantStatus: 400, wantCode: InvalidParameter})
	}
	a.try(t, call{method: "DELETE", path: "/api/customers/C-0", key: other, wantStatus: 404, wantCode: NotFound})
	for _, id := range []string{"export", "a/b ü"} {
		body := fmt.Sprintf(`{"number":%q,"placed_at":"2026-03-01T09:30:00Z","channel":"web","customer":{"id":%[1]q},
			"items":[{"sku":"x","quantity":1,"unit_price":1}]}`, id)
		a.try(t, call{method: "POST", path: "/api/orders", body: body, wantStatus: 201})
		path := "/api/customers/" + strings.Replace(url.PathEscape(id), "e", "%65", 1)
		a.try(t, call{path: path, wantStatus: 200, want: []string{fmt.Sprintf(`"id":%q`, id), `"orders":1`}})
	}
}

func TestTheDataOfACustomerIsComplete(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustManyOrders(t)
	a.try(t, call{
		method: "POST", path: "/api/orders", wantStatus: 201, header: http.Header{"Idempotency-Key": {"k1"}},
		body: `{"number":"z","placed_at":"2026-03-09T09:30:00Z","channel":"web","customer":{"id":"C-1"},"items":[
			{"sku":"x","quantity":1,"unit_price":1},{"sku":"y","quantity":1,"unit_price":1}]}`,
	})
	got := a.try(t, call{path: "/api/customers/C-1/data", wantStatus: 200})
	if got.Header.Get("Content-Disposition") != `attachment; filename="customer.json"` {
		t.Errorf("headers = %v", got.Header)
	}
	data := mustDecode[struct {
		Customer struct{ Email string }
		Orders   []struct {
			Number  string
			Items   []struct{ SKU string }
			Refunds []struct{ Amount string }
		}
		StoredResponses []struct {
			IdempotencyKey string `json:"idempotency_key"`
			Body           struct{ Data struct{ Number string } }
		} `json:"stored_responses"`
	}](t, got.body)
	if text := fmt.Sprint(data); text !=
		"{{p1@example.com} [{z [{x} {y}] []} {e [{x}] [{1.00}]} {a [{x}] []}] [{k1 {{z}}}]}" {
		t.Errorf("data = %s", text)
	}
	if bytes := a.try(t, call{path: "/api/customers/C-2/data", wantStatus: 200}).body; strings.Contains(string(bytes), "p1@") {
		t.Errorf("the data of another customer = %s", bytes)
	}
}

func TestErasureLeavesNoPersonalData(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustManyOrders(t)
	create := call{
		method: "POST", path: "/api/orders", wantStatus: 201, header: http.Header{"Idempotency-Key": {"k1"}},
		body: `{"number":"z","placed_at":"2026-03-09T09:30:00Z","channel":"web","customer":{"id":"C-1"},"items":[
			{"sku":"x","quantity":1,"unit_price":1}]}`,
	}
	a.try(t, create)
	stored := func() string { return a.mustStored(t) }
	for _, text := range []string{"p1@example.com", "Person 1"} {
		if !strings.Contains(stored(), text) {
			t.Fatalf("the test does not find %q before the erasure", text)
		}
	}
	reader := a.mustKey(t, a.tenant, "customers:read,orders:write")
	a.try(t, call{
		method: "DELETE", path: "/api/customers/C-1", key: reader, wantStatus: 403, wantCode: InsufficientPermissions,
	})
	a.try(t, call{method: "DELETE", path: "/api/customers/%20C-1", wantStatus: 404, wantCode: NotFound}) // as GET
	for range 2 {
		got := a.try(t, call{method: "DELETE", path: "/api/customers/C-1", wantStatus: 204})
		if len(got.body) > 0 {
			t.Errorf("DELETE = %s", got.body)
		}
	}
	for _, text := range []string{"p1@example.com", "Person 1"} {
		if all := stored(); strings.Contains(all, text) {
			t.Errorf("%q is still stored: %.300s", text, all[strings.Index(all, text)-100:])
		}
	}
	a.try(t, call{path: "/api/customers/C-1", wantStatus: 200, want: []string{`"name":null,"email":null`, `"orders":3`}})
	a.try(t, call{path: "/api/customers?search=person+1", wantStatus: 200, want: []string{`"data":[]`, `"total":0`}})
	a.try(t, call{path: "/api/orders?search=person+1", wantStatus: 200, want: []string{`"data":[]`, `"total":0`}})
	a.try(t, call{path: "/api/orders/a", wantStatus: 200, want: []string{`"customer":{"id":"C-1","name":null,"email":null}`}})
	entries, total, err := tenants.AuditLog(t.Context(), a.DB, a.tenant.ID, "customer.", 1, 10)
	if err != nil || total != 1 || entries[0].Target != "C-1" || !strings.HasPrefix(entries[0].Actor, "API key ") {
		t.Errorf("the audit log has %v, %v", entries, err)
	}
}

// mustStored returns the rows of all tables as text, with their names, and the bytes of columns as text, decompressed if
// they are compressed.
func (a *testAPI) mustStored(t testing.TB) string {
	t.Helper()
	super := a.MustSuper(t)
	rows, err := super.Query(t.Context(), `
		select relname::text, query_to_xml(format('select * from %I', relname), true, false, '')::text
		  from pg_class
		 where relnamespace = 'public'::regnamespace and relkind = 'r'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	unpack, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer unpack.Close()
	column := regexp.MustCompile(`<\w+>([A-Za-z0-9+/=\s]{8,})</\w+>`) // XML has bytea in Base64
	var all strings.Builder
	for rows.Next() {
		var table, text string
		if err := rows.Scan(&table, &text); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "<%s>%s", table, html.UnescapeString(text))
		for _, value := range column.FindAllStringSubmatch(text, -1) {
			content, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(value[1]), ""))
			if err != nil {
				continue
			}
			all.Write(content)
			if unpacked, err := unpack.DecodeAll(content, nil); err == nil {
				all.Write(unpacked)
			}
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all.String()
}
