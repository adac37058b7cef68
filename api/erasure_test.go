//go:build !fuzz

package api

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/storeroom/storeroom/tenancy/changeplan"
)

// marker is the name of a customer that must be nowhere after the erasure.
const marker = "Zorro Quibble"

// The name comes into the service in every way that it has, and an erasure removes it from all tables at once.
func TestAnErasureReachesEverythingThatIsStored(t *testing.T) {
	t.Parallel()
	a := newImportAPI(t)
	email := strings.ReplaceAll(strings.ToLower(marker), " ", ".") + "@example.com"
	sale := func(number, name string) string {
		return fmt.Sprintf(`{"number":%q,"placed_at":"2026-03-09T09:30:00Z","channel":"web","customer":{"id":"C-9","name":%q,
			"email":%q},"items":[{"sku":"x","quantity":1,"unit_price":1}]}`, number, name, email)
	}
	echo := newEchoingReceiver(t)
	a.mustWebhook(t, fmt.Sprintf(`{"url":%q,"types":["customer","order"]}`, echo.URL))
	a.startWebhooks(t)
	create := call{method: "POST", path: "/api/orders", wantStatus: 201, body: sale("A", marker), header: keyed("order")}
	created := a.try(t, create)
	a.try(t, call{method: "POST", path: "/api/orders/A/refunds", wantStatus: 201, body: `{"amount":"1.00"}`, header: keyed("refund")})
	poll(t, "a receiver repeats the name", func() bool { return a.hasEcho(t) })
	customers := "id,name,email\nC-9," + marker + "," + email + "\nC-10," + marker + " II,x\n"
	applied := a.mustImport(t, "", "customers.csv", strings.ReplaceAll(customers, marker+",", marker+" Junior,"))
	a.mustCarryOut(t, applied.ID, "apply", "", changeplan.Applying, changeplan.Applied)
	planned := a.mustImport(t, "", "customers.csv", customers)
	const settings = `{"mapping":{"sales.csv":{"No":"number","Day":"placed_at","Who":"customer.id","Buyer":"customer.name","Mail":"customer.email",` +
		`"Item":"sku","Pieces":"quantity","Each":"price"}},"channel":"web","tax_included":"no","refunds":"leave_out","charset":"windows-1250"}`
	// The question about its characters, which is answered, shows its lines.
	sheet := "No,Day,Who,Buyer,Mail,Item,Pieces,Each,Note\nS1,2026-03-10,C-9," + marker + "," + email +
		",x,1,2.00,\xaf\xf3\xb3w\nS2,2026-03-10,C-9," + marker + "," + email + ",x,none,2.00,\xaf\xf3\xb3ty\n"
	sales := a.mustImport(t, settings, "sales.csv", sheet)
	if len(sales.Files) != 1 || !slices.Contains(sales.Files[0].Answered, "charset") {
		t.Fatalf("the characters are no question: %+v", sales.Files)
	}
	headless := "C-9," + marker + "," + email + ",5.00\nC-8,Ann," + marker + ",7.00\n"
	asked := a.mustImport(t, fmt.Sprintf(`{"mapping":{"unknown.csv":{%q:"name"}}}`, marker), "unknown.csv", headless)
	if asked.State != changeplan.NeedsMapping {
		t.Fatalf("the import of an unknown file is %s", asked.State)
	}
	cancelled := call{
		method: "POST", path: fmt.Sprintf("/api/imports/%d/cancel", asked.ID), header: keyed("cancel"), wantStatus: 202,
		want: []string{marker},
	}
	a.try(t, cancelled)
	named := a.mustImport(t, fmt.Sprintf(`{"mapping":{"%s.csv":{%q:"name"}}}`, marker, email), marker+".csv", headless)

	before := a.mustStored(t)
	for table, want := range map[string]bool{
		"customers": true, "idempotency_keys": true, "change_plans": true, "change_plan_parts": true, "change_plan_files": true,
	} {
		if got := strings.Contains(before, "<"+table+">"); got != want {
			t.Fatalf("the test does not read %s", table)
		}
	}
	a.try(t, call{method: "DELETE", path: "/api/customers/C-9", wantStatus: 204})
	for _, text := range []string{strings.ToLower(marker), email} {
		all := strings.ToLower(a.mustStored(t))
		if at := strings.Index(all, text); at >= 0 && !strings.HasPrefix(all[at:], text+" ii") {
			t.Errorf("%q is still stored: %.400s", text, all[max(0, at-200):])
		}
	}
	a.try(t, call{path: fmt.Sprint("/api/imports/", named.ID), wantStatus: 200, want: []string{
		`"title":"erased.csv"`, `"header":["C-9","","","5.00"]`, `"settings":{"mapping":{"erased.csv":{}}}`,
	}})
	create.want = []string{`"name":null`, `"number":"A"`}
	if again := a.try(t, create); again.Header.Get("Idempotent-Replayed") != "true" || len(created.body) == 0 {
		t.Errorf("the key of the order is free again: %s", again.body)
	}
	a.try(t, call{path: fmt.Sprintf("/api/imports/%d/refused.csv", sales.ID), wantStatus: 200})
	a.mustCarryOut(t, sales.ID, "apply", `{"skip_changed":true}`, changeplan.Applying, changeplan.Applied)
	a.mustCarryOut(t, planned.ID, "apply", `{"skip_changed":true}`, changeplan.Applying, changeplan.Applied)
	a.mustCarryOut(t, applied.ID, "undo", "", changeplan.Undoing, changeplan.Undone)
	a.try(t, call{path: "/api/customers/C-9", wantStatus: 200, want: []string{`"name":null,"email":null`}})
}

// newEchoingReceiver returns a receiver that refuses messages and repeats them.
func newEchoingReceiver(t *testing.T) *httptest.Server {
	t.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.Copy(w, r.Body)
	}))
	t.Cleanup(receiver.Close)
	return receiver
}

// hasEcho reports whether the response of a receiver with the name is stored.
func (a *testAPI) hasEcho(t *testing.T) bool {
	t.Helper()
	var has bool
	err := a.MustSuperAt(t, a.tenant.ID).QueryRow(t.Context(),
		`select exists (select from webhook_deliveries where position($1 in response) > 0)`, marker).Scan(&has)
	if err != nil {
		t.Fatal(err)
	}
	return has
}

// mustCarryOut applies or undoes an import.
func (a *testAPI) mustCarryOut(t *testing.T, id int64, action, body string, during, after changeplan.State) {
	t.Helper()
	a.mustPost(t, id, action, body)
	if i := a.awaitImport(t, id, during); i.State != after {
		t.Fatalf("import %d is %s after %s, want %s: %v", id, i.State, action, after, i.Failure)
	}
}
