package pages

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/people"
	"github.com/storeroom/storeroom/tenancy/spool"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// mustOldSession creates a session whose password was entered eleven minutes ago.
func (s *site) mustOldSession(t testing.TB, person int64) (cookie string) {
	t.Helper()
	cookie = s.mustSession(t, person)
	s.alter(t, `update sessions set confirmed_at = now() - interval '11 minutes' where token_hash = $1`, sum(cookie))
	return cookie
}

func (s *site) mustCustomer(t testing.TB, id string) {
	t.Helper()
	name, email := "Kim", "kim@example.com"
	customer := sales.Customer{ID: id, Name: &name, Email: &email}
	if _, err := sales.New(s.Database.DB).EnsureCustomers(t.Context(), s.a.ID, []sales.Customer{customer}); err != nil {
		t.Fatal(err)
	}
}

// mustPlannedImport uploads files, given by name and content, and plans them.
func (s *site) mustPlannedImport(t testing.TB, files ...string) (id int64) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for i := 0; i < len(files); i += 2 {
		part, err := form.CreateFormFile("file", files[i])
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(part, files[i+1])
	}
	_ = form.Close()
	id, err := imports.NewJobs(s.Plans).Create(t.Context(), s.a, tenancy.Operator, spool.NewForm(&body, form.Boundary()))
	if err != nil {
		t.Fatal(err)
	}
	plans := changeplan.New(s.Options.DB, imports.Kinds(s.Options.DB, imports.Pictures{}))
	if plan, err := plans.Settle(t.Context(), s.a.ID, id, time.Minute); err != nil || plan.State != changeplan.Planned {
		t.Fatalf("the import is %s, %v", plan.State, err)
	}
	return id
}

// Files with data of customers need the password, are sent after it was entered, and are in the audit log.
func TestPersonalDataNeedsARecentPassword(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://example.com")
	ids := []string{"17", "gid://shopify/Customer/1", "a b", "é", "..", "../x", `\a?#`}
	for _, id := range ids {
		s.mustCustomer(t, id)
	}
	viewer := s.mustPerson(t, "viewer", s.a, people.Viewer)
	files := map[string]string{
		"/customers.csv?search=kim&%00=1&kim@example.com=1": "customers.csv", "/customers.xlsx?kim": "customers.xlsx",
		"/orders.csv": "orders.csv", "/orders.xlsx?channel=web&kim=1": "orders.xlsx", "/archive.zip": "",
	}
	orders := s.mustPlannedImport(t, "orders.csv", "number,placed_at,channel\nA,none,web\n",
		"order_items.csv", "order_number,sku,quantity,unit_price\nA,x,1,1\n")
	customers := s.mustPlannedImport(t, "customers.csv", "id,name,email\n,Kim,kim@example.com\n")
	products := fmt.Sprintf("/imports/%d/refused", s.mustPlannedImport(t, "products.csv", "sku,price\nA,none\n"))
	files[fmt.Sprintf("/imports/%d/refused", orders)] = fmt.Sprintf("refused-rows-%d.zip", orders)
	files[fmt.Sprintf("/imports/%d/refused", customers)] = fmt.Sprintf("refused-rows-%d.csv", customers)
	for _, id := range ids {
		if id != ".." { // no client can send it in a path
			files["/customers/"+url.PathEscape(id)+"/data"] = ""
		}
	}
	admins := 0
	for path, target := range files {
		admins++
		cookie := s.mustOldSession(t, s.mustPerson(t, fmt.Sprint("admin", admins), s.a, people.Admin))
		got := s.get(t, cookie, s.path(path), http.StatusSeeOther)
		at, err := url.Parse(got.Header.Get("Location"))
		if err != nil || at.Path != s.path("/confirm") {
			t.Fatalf("%s leads to %v, %v, want the question for the password", path, at, err)
		}
		next := at.Query().Get("next")
		s.get(t, cookie, at.String(), http.StatusOK, "Your password")
		form := url.Values{"next": {next}, "password": {"wrong"}}
		s.try(t, call{path: at.Path, cookie: cookie, form: form}, http.StatusUnprocessableEntity, wrongPassword)
		form.Set("password", password)
		confirmed := s.try(t, call{path: at.Path, cookie: cookie, form: form}, http.StatusOK, "0; url="+s.path(path[:8]))
		s.get(t, confirmed.session(), next, http.StatusOK)
		if target == "" {
			continue
		}
		log, _, err := tenants.AuditLog(t.Context(), s.Options.DB, s.a.ID, "customer.export", 1, 1)
		if err != nil || len(log) != 1 || log[0].Target != target || strings.Contains(sampleFormat().DetailText(log[0].Details["filters"]), "kim") {
			t.Errorf("%s: the log has %+v, %v", path, log, err)
		}
	}
	s.get(t, s.mustOldSession(t, viewer), s.path("/orders.csv"), http.StatusOK)
	s.get(t, s.mustOldSession(t, s.mustPerson(t, "admin", s.a, people.Admin)), s.path(products), http.StatusOK, "A,none")
	s.get(t, s.mustSession(t, viewer), s.path("/confirm?next=//evil.example"), http.StatusOK, `value="/settings"`)
}
