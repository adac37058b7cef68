package pages

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/feed"
	"github.com/storeroom/storeroom/tenancy/people"
	"github.com/storeroom/storeroom/tenancy/webhooks"
)

// allowed lists the users who may open each route. It repeats the table of routes, so
// that a change of access needs a change of this test.
var allowed = map[string][]string{
	"GET /settings/static/*":                           {"anonymous", "clerk", "accountant", "viewer", "admin", "owner", "outsider", "no tenant"},
	"GET /settings":                                    {"clerk", "accountant", "viewer", "admin", "owner", "outsider", "no tenant"},
	"GET /settings/":                                   {"clerk", "accountant", "viewer", "admin", "owner", "outsider", "no tenant"},
	"GET /settings/sign-in":                            {"anonymous", "clerk", "accountant", "viewer", "admin", "owner", "outsider", "no tenant"},
	"POST /settings/sign-in":                           {"anonymous", "clerk", "accountant", "viewer", "admin", "owner", "outsider", "no tenant"},
	"GET /settings/sign-out":                           {"clerk", "accountant", "viewer", "admin", "owner", "outsider", "no tenant"},
	"POST /settings/sign-out":                          {"anonymous", "clerk", "accountant", "viewer", "admin", "owner", "outsider", "no tenant"},
	"GET /settings/password":                           {"clerk", "accountant", "viewer", "admin", "owner", "outsider", "no tenant"},
	"POST /settings/password":                          {"clerk", "accountant", "viewer", "admin", "owner", "outsider", "no tenant"},
	"GET {t}":                                          {"clerk", "accountant", "viewer", "admin", "owner"},
	"GET {t}/confirm":                                  {"clerk", "accountant", "viewer", "admin", "owner"},
	"POST {t}/confirm":                                 {"clerk", "accountant", "viewer", "admin", "owner"},
	"GET {t}/overview":                                 {"accountant", "viewer", "admin", "owner"},
	"GET {t}/overview.xlsx":                            {"accountant", "viewer", "admin", "owner"},
	"GET {t}/products":                                 {"clerk", "accountant", "viewer", "admin", "owner"},
	"GET {t}/products/{id}":                            {"clerk", "accountant", "viewer", "admin", "owner"},
	"GET {t}/products.csv":                             {"clerk", "accountant", "viewer", "admin", "owner"},
	"GET {t}/products.xlsx":                            {"clerk", "accountant", "viewer", "admin", "owner"},
	"GET {t}/customers":                                {"admin", "owner"},
	"GET {t}/customers.csv":                            {"admin", "owner"},
	"GET {t}/customers.xlsx":                           {"admin", "owner"},
	"GET {t}/customers/{id}":                           {"admin", "owner"},
	"GET {t}/customers/{id}/data":                      {"admin", "owner"},
	"GET {t}/customers/{id}/erase":                     {"admin", "owner"},
	"POST {t}/customers/{id}/erase":                    {"admin", "owner"},
	"GET {t}/orders.csv":                               {"clerk", "accountant", "viewer", "admin", "owner"},
	"GET {t}/orders.xlsx":                              {"clerk", "accountant", "viewer", "admin", "owner"},
	"GET {t}/order_items.csv":                          {"clerk", "accountant", "viewer", "admin", "owner"},
	"GET {t}/refunds.csv":                              {"clerk", "accountant", "viewer", "admin", "owner"},
	"GET {t}/orders":                                   {"clerk", "accountant", "viewer", "admin", "owner"},
	"GET {t}/orders/{number}":                          {"clerk", "accountant", "viewer", "admin", "owner"},
	"GET {t}/keys":                                     {"viewer", "admin", "owner"},
	"GET {t}/usage":                                    {"viewer", "admin", "owner"},
	"GET {t}/members":                                  {"viewer", "admin", "owner"},
	"GET {t}/account":                                  {"clerk", "accountant", "viewer", "admin", "owner"},
	"POST {t}/language":                                {"clerk", "accountant", "viewer", "admin", "owner"},
	"GET {t}/help":                                     {"clerk", "accountant", "viewer", "admin", "owner"},
	"GET {t}/start":                                    {"viewer", "admin", "owner"},
	"GET {t}/keys/new":                                 {"admin", "owner"},
	"POST {t}/keys":                                    {"admin", "owner"},
	"GET {t}/keys/{id}/roll":                           {"admin", "owner"},
	"POST {t}/keys/{id}/roll":                          {"admin", "owner"},
	"GET {t}/keys/{id}/revoke":                         {"admin", "owner"},
	"POST {t}/keys/{id}/revoke":                        {"admin", "owner"},
	"GET {t}/audit":                                    {"admin", "owner"},
	"POST {t}/members":                                 {"admin", "owner"},
	"GET {t}/members/{id}":                             {"owner"},
	"POST {t}/members/{id}/role":                       {"owner"},
	"GET {t}/members/{id}/remove":                      {"owner"},
	"POST {t}/members/{id}/remove":                     {"owner"},
	"POST {t}/members/{id}/reset":                      {"owner"},
	"GET {t}/links/{id}/revoke":                        {"admin", "owner"},
	"POST {t}/links/{id}/revoke":                       {"admin", "owner"},
	"GET /settings/link/{token}":                       nil, // only with a valid link
	"POST /settings/link/{token}":                      nil,
	"GET {t}/archive.zip":                              {"admin", "owner"},
	"GET {t}/imports":                                  {"admin", "owner"},
	"POST {t}/imports":                                 {"admin", "owner"},
	"GET {t}/imports/{id}":                             {"admin", "owner"},
	"GET {t}/imports/{id}/progress":                    {"admin", "owner"},
	"GET {t}/imports/{id}/refused":                     {"admin", "owner"},
	"POST {t}/imports/{id}/settings":                   {"admin", "owner"},
	"POST {t}/imports/{id}/apply":                      {"admin", "owner"},
	"POST {t}/imports/{id}/cancel":                     {"admin", "owner"},
	"GET {t}/imports/{id}/undo":                        {"admin", "owner"},
	"POST {t}/imports/{id}/undo":                       {"admin", "owner"},
	"GET {t}/plans":                                    {"viewer", "admin", "owner"},
	"GET {t}/plans/{id}":                               {"viewer", "admin", "owner"},
	"GET {t}/plans/{id}/progress":                      {"viewer", "admin", "owner"},
	"POST {t}/plans/{id}/apply":                        {"admin", "owner"},
	"POST {t}/plans/{id}/cancel":                       {"admin", "owner"},
	"GET {t}/plans/{id}/undo":                          {"admin", "owner"},
	"POST {t}/plans/{id}/undo":                         {"admin", "owner"},
	"GET {t}/webhooks":                                 {"admin", "owner"},
	"GET {t}/webhooks/new":                             {"admin", "owner"},
	"POST {t}/webhooks":                                {"admin", "owner"},
	"GET {t}/webhooks/{id}":                            {"admin", "owner"},
	"POST {t}/webhooks/{id}":                           {"admin", "owner"},
	"POST {t}/webhooks/{id}/state":                     {"admin", "owner"},
	"POST {t}/webhooks/{id}/test":                      {"admin", "owner"},
	"POST {t}/webhooks/{id}/rotate":                    {"admin", "owner"},
	"POST {t}/webhooks/{id}/replay":                    {"admin", "owner"},
	"GET {t}/webhooks/{id}/delete":                     {"admin", "owner"},
	"POST {t}/webhooks/{id}/delete":                    {"admin", "owner"},
	"POST {t}/products/{id}/stock":                     {"clerk", "admin", "owner"},
	"GET {t}/products/{id}/edit":                       {"clerk", "admin", "owner"},
	"GET {t}/products/new":                             {"clerk", "admin", "owner"},
	"POST {t}/products/new":                            {"clerk", "admin", "owner"},
	"GET {t}/products/change":                          {"admin", "owner"},
	"POST {t}/products/change":                         {"admin", "owner"},
	"GET {t}/products/labels":                          {"clerk", "accountant", "viewer", "admin", "owner"},
	"POST {t}/products/{id}/pictures":                  {"clerk", "admin", "owner"},
	"POST {t}/products/{id}/pictures/{picture}/remove": {"clerk", "admin", "owner"},
	"POST {t}/products/{id}/edit":                      {"clerk", "admin", "owner"},
	"GET {t}/reports":                                  {"accountant", "viewer", "admin", "owner"},
	"GET {t}/reports/check":                            {"accountant", "viewer", "admin", "owner"},
	"GET {t}/reports/sales":                            {"accountant", "viewer", "admin", "owner"},
	"GET {t}/reports/sales.csv":                        {"accountant", "viewer", "admin", "owner"},
	"GET {t}/reports/sales.xlsx":                       {"accountant", "viewer", "admin", "owner"},
	"GET {t}/reports/products":                         {"accountant", "viewer", "admin", "owner"},
	"GET {t}/reports/products.csv":                     {"accountant", "viewer", "admin", "owner"},
	"GET {t}/reports/products.xlsx":                    {"accountant", "viewer", "admin", "owner"},
	"GET {t}/reports/categories":                       {"accountant", "viewer", "admin", "owner"},
	"GET {t}/reports/categories.csv":                   {"accountant", "viewer", "admin", "owner"},
	"GET {t}/reports/categories.xlsx":                  {"accountant", "viewer", "admin", "owner"},
	"GET {t}/reports/sellers":                          {"accountant", "viewer", "admin", "owner"},
	"GET {t}/reports/sellers.csv":                      {"accountant", "viewer", "admin", "owner"},
	"GET {t}/reports/sellers.xlsx":                     {"accountant", "viewer", "admin", "owner"},
	"GET {t}/reports/shops":                            {"accountant", "viewer", "admin", "owner"},
	"GET {t}/reports/shops.csv":                        {"accountant", "viewer", "admin", "owner"},
	"GET {t}/reports/shops.xlsx":                       {"accountant", "viewer", "admin", "owner"},
	"GET {t}/reports/customers":                        {"accountant", "viewer", "admin", "owner"},
	"GET {t}/reports/customers.csv":                    {"accountant", "viewer", "admin", "owner"},
	"GET {t}/reports/customers.xlsx":                   {"accountant", "viewer", "admin", "owner"},
	"GET {t}/reports/custom":                           {"accountant", "viewer", "admin", "owner"},
	"GET {t}/reports/custom.csv":                       {"accountant", "viewer", "admin", "owner"},
	"GET {t}/reports/custom.xlsx":                      {"accountant", "viewer", "admin", "owner"},
	"GET {t}/products/{id}/move":                       {"clerk", "admin", "owner"},
	"POST {t}/products/{id}/move":                      {"clerk", "admin", "owner"},
	"GET {t}/count":                                    {"clerk", "admin", "owner"},
	"POST {t}/count":                                   {"clerk", "admin", "owner"},
	"GET {t}/settings":                                 {"admin", "owner"},
	"POST {t}/settings":                                {"admin", "owner"},
	"POST {t}/settings/channels":                       {"admin", "owner"},
	"POST {t}/settings/warehouses":                     {"admin", "owner"},
	"POST {t}/settings/warehouses/new":                 {"admin", "owner"},
}

// A user without access gets the response that reveals the least.
func TestAccess(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	users := map[string]int64{
		"viewer": s.mustPerson(t, "viewer", s.a, people.Viewer), "admin": s.mustPerson(t, "admin", s.a, people.Admin),
		"clerk": s.mustPerson(t, "clerk", s.a, people.Clerk), "accountant": s.mustPerson(t, "accountant", s.a, people.Accountant),
		"owner": s.mustPerson(t, "owner", s.a, people.Owner), "outsider": s.mustPerson(t, "outsider", s.b, people.Owner),
		"no tenant": s.mustPerson(t, "no tenant", s.b, ""),
	}
	opened := map[string]bool{}
	for _, r := range (&Handler{}).routes() {
		name := r.method + " " + strings.Replace(r.pattern, "/settings/t/{slug}", "{t}", 1)
		roles, known := allowed[name]
		if !known {
			t.Errorf("the route %s is missing in allowed", name)
			continue
		}
		opened[name] = true
		for i, who := range append(slices.Sorted(maps.Keys(users)), "anonymous", "expired session") {
			t.Run(name+" as "+who, func(t *testing.T) {
				c := call{method: r.method, path: s.fill(t, r.pattern, fmt.Sprint(name, i)), from: fmt.Sprint(name, i)}
				switch id, signedIn := users[who]; {
				case signedIn:
					c.cookie = s.mustSession(t, id)
				case who != "anonymous":
					c.cookie, who = freshToken(), "anonymous"
				}
				if r.method == "POST" {
					c.form = url.Values{}
				}
				s.checkAccess(t, c, slices.Contains(roles, who), who)
			})
		}
	}
	for name := range allowed {
		if !opened[name] {
			t.Errorf("the route %s does not exist", name)
		}
	}
}

// fill returns a path for a pattern. It creates the object whose id is in the path.
func (s *site) fill(t *testing.T, pattern, name string) string {
	t.Helper()
	id := int64(0)
	switch {
	case strings.Contains(pattern, "/keys/{id}"):
		id = s.mustKey(t, "Till").ID
	case strings.Contains(pattern, "/links/{id}"):
		id = s.mustLink(t, "new", people.Clerk) // which admins may revoke
	case strings.Contains(pattern, "/members/{id}"):
		email := strings.NewReplacer(" ", "", "/", "", "{", "", "}", "").Replace(strings.ToLower(name))
		id = s.mustPerson(t, email, s.a, people.Viewer)
	}
	if strings.Contains(pattern, "/products/{id}") {
		id = s.mustLamp(t)
	}
	if strings.Contains(pattern, "/customers/{id}") {
		id = rand.Int64()
		if _, err := sales.New(s.Database.DB).EnsureCustomers(t.Context(), s.a.ID, []sales.Customer{{ID: fmt.Sprint(id)}}); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(pattern, "/imports/{id}") {
		id = s.mustImport(t, imports.PlanKind)
	}
	if strings.Contains(pattern, "/plans/{id}") {
		id = s.mustImport(t, imports.ChangesKind)
	}
	if strings.Contains(pattern, "/webhooks/{id}") {
		id = s.mustWebhook(t, "https://hooks.invalid/"+s.mark)
	}
	number := fmt.Sprint("N-", rand.Uint64())
	if strings.Contains(pattern, "{number}") {
		s.mustSell(t, sale(number, "2026-03-02", 1, nil))
	}
	return strings.NewReplacer(
		"{slug}", s.a.Slug, "{id}", fmt.Sprint(id), "{picture}", "1", "{number}", number, "{token}", freshToken(), "*", "icon.svg",
	).Replace(pattern)
}

// mustImport stores a new import of A, or another plan, and returns its id.
func (s *site) mustImport(t testing.TB, kind string) (id int64) {
	t.Helper()
	err := s.super.QueryRow(t.Context(), `
		insert into change_plans (tenant_id, kind, state, title, actor, expires_at)
		values ($1, $2, 'planning', 'orders.csv', 'operator', now() + interval '1 day')
		returning id`, s.a.ID, kind).Scan(&id)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// mustWebhook creates a webhook of A that gets all types, and returns its id.
func (s *site) mustWebhook(t testing.TB, url string) int64 {
	t.Helper()
	if _, err := s.super.Exec(t.Context(), `delete from webhooks where tenant_id = $1`, s.a.ID); err != nil {
		t.Fatal(err)
	}
	hook, err := s.Webhooks.Create(t.Context(), s.a.ID, tenancy.Operator, webhooks.Fields{URL: &url, Types: feed.Types}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return hook.ID
}

// mustLink creates a pending invitation to A and returns its id.
func (s *site) mustLink(t testing.TB, name string, role people.Role) (id int64) {
	t.Helper()
	err := s.super.QueryRow(t.Context(), `
		insert into one_time_links (token_hash, tenant_id, purpose, email, role)
		values ($1, $2, 'invitation', $3, $4) returning id`,
		sum(freshToken()), s.a.ID, s.email(name), role).Scan(&id)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (s *site) checkAccess(t *testing.T, c call, allowed bool, who string) {
	t.Helper()
	got := s.do(t, c)
	redirected := strings.HasPrefix(got.Header.Get("Location"), "/settings/sign-in?") ||
		who == "anonymous" && got.StatusCode == http.StatusSeeOther && !strings.HasSuffix(c.path, "/sign-out")
	refused := redirected || got.StatusCode == http.StatusForbidden || got.StatusCode == http.StatusNotFound
	if refused == allowed {
		t.Errorf("= %d to %q, want access: %v", got.StatusCode, got.Header.Get("Location"), allowed)
	}
	if allowed {
		return
	}
	inTenant := strings.HasPrefix(c.path, "/settings/t/")
	switch {
	case strings.Contains(c.path, "/link/"):
		if got.StatusCode != http.StatusNotFound || !strings.Contains(got.body, "This link is no longer valid") {
			t.Errorf("= %d, want 404 and the page of an invalid link", got.StatusCode)
		}
	case who == "anonymous":
		want, location := "/settings/sign-in", got.Header.Get("Location")
		if c.method == "GET" && c.path != "/settings" && c.path != "/settings/" {
			want += "?next=" + url.QueryEscape(c.path)
		}
		if c.method == "POST" {
			want += "?lost=form"
			location, _, _ = strings.Cut(location, "&next=")
		}
		if got.StatusCode != http.StatusSeeOther || location != want {
			t.Errorf("= %d to %q, want 303 to %q", got.StatusCode, location, want)
		}
	case inTenant && (who == "outsider" || who == "no tenant"):
		absent := c
		absent.path = strings.Replace(c.path, s.a.Slug, "no-such-tenant", 1)
		want := s.do(t, absent)
		if got.StatusCode != http.StatusNotFound || want.StatusCode != http.StatusNotFound || got.body != want.body {
			t.Errorf("= %d, want the 404 page of a tenant that does not exist", got.StatusCode)
		}
	case got.StatusCode != http.StatusForbidden:
		t.Errorf("= %d, want 403", got.StatusCode)
	}
}

func TestUnknownPaths(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	owner := s.mustVisitor(t, "owner", people.Owner)
	other := s.mustPerson(t, "other", s.b, people.Owner)
	key := s.mustKey(t, "Till")
	s.alter(t, `delete from api_keys where id = $1`, key.ID)
	for _, c := range []call{
		{path: "/settings/nothing"}, {path: s.path("/nothing")},
		{path: s.path("/keys/x/roll")}, {path: s.path("/keys/99999999999999999999/roll")},
		{path: s.path(fmt.Sprintf("/keys/%d/roll", key.ID))},
		{path: s.path(fmt.Sprintf("/keys/%d/revoke", key.ID)), form: url.Values{}},
		{path: s.path(fmt.Sprintf("/members/%d", other))},
		{path: s.path(fmt.Sprintf("/members/%d/remove", other)), form: url.Values{}},
		{path: s.path(fmt.Sprintf("/members/%d/reset", other)), form: url.Values{}}, {path: s.path("/members/-1")},
		{path: s.path("/links/999/revoke"), form: url.Values{}}, {path: s.path("/links/x/revoke"), form: url.Values{}},
		{path: "/settings/t/" + s.b.Slug + "/keys"}, {path: "/settings/t/%00/keys"},
		{path: "/settings/t/%ff%fe/keys"}, {path: "/settings/t//keys"},
		{path: s.path("/nothing"), method: "PUT"}, {path: "/settings/nothing", method: "BREW"},
		{path: "/settings/static/"}, {path: "/settings/static/nothing.js"},
		{path: "/settings/static/../settings.go"}, {path: "/settings/static", method: "POST"},
	} {
		c.cookie = owner
		s.try(t, c, http.StatusNotFound, "Page not found")
	}
	for path, kind := range map[string]string{
		"settings.css": "text/css; charset=utf-8",
		"settings.js":  "text/javascript; charset=utf-8",
		"icon.svg":     "image/svg+xml",
	} {
		got := s.get(t, "", "/settings/static/"+path, http.StatusOK)
		if got.Header.Get("Content-Type") != kind || len(got.body) == 0 {
			t.Errorf("%s is %d bytes of %s, want %s", path, len(got.body), got.Header.Get("Content-Type"), kind)
		}
	}
}

func TestUnsupportedMethods(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	owner := s.mustVisitor(t, "owner", people.Owner)
	const both = "GET, HEAD, POST"
	for _, test := range []struct{ method, path, allow string }{
		{"PUT", s.path("/keys"), both}, {"DELETE", s.path("/keys"), both}, {"BREW", s.path("/keys"), both},
		{"PATCH", s.path("/keys/1/revoke"), both}, {"GET", s.path("/members/1/role"), "POST"},
		{"POST", s.path("/audit"), "GET, HEAD"}, {"PUT", "/settings/sign-out", both},
		{"OPTIONS", "/settings", "GET, HEAD"}, {"POST", "/settings/static/settings.css", "GET, HEAD"},
		{"PUT", "/settings/t/no-such-tenant/keys", both}, {"PUT", "/settings/t/%ff/keys", both},
		{"PUT", "/settings/t/a%2Fb/keys", both},
	} {
		for _, cookie := range []string{owner, freshToken(), ""} {
			got := s.do(t, call{method: test.method, path: test.path, cookie: cookie})
			if broken := cookie != "" && strings.Contains(test.path, "%ff"); broken && got.StatusCode == http.StatusNotFound {
				continue // not a valid slug
			}
			if got.StatusCode != http.StatusMethodNotAllowed || got.Header.Get("Allow") != test.allow {
				t.Errorf("%s %s = %d with Allow: %q, want 405 and %q",
					test.method, test.path, got.StatusCode, got.Header.Get("Allow"), test.allow)
			}
		}
	}
}

func TestErrorPagesShowTheNavigationToMembers(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	viewer := s.mustVisitor(t, "viewer", people.Viewer)
	outsider := s.mustSession(t, s.mustPerson(t, "outsider", s.b, people.Owner))
	admin := s.mustVisitor(t, "admin", people.Admin)
	revoked := s.mustKey(t, "Till")
	if err := s.operatorKeys.Revoke(t.Context(), s.a.ID, tenancy.Operator, revoked.ID); err != nil {
		t.Fatal(err)
	}
	navigation := `<a href="` + s.path("/account") + `" data-key="a">Account</a>`
	for _, test := range []struct {
		call
		status int
		want   bool
	}{
		{call{path: s.path("/audit"), cookie: viewer}, http.StatusForbidden, true},
		{call{path: s.path("/nothing"), cookie: viewer}, http.StatusNotFound, true},
		{call{path: s.path("/keys/999/roll"), cookie: admin}, http.StatusNotFound, true},
		{call{path: s.path("/keys"), cookie: viewer, method: "PUT"}, http.StatusMethodNotAllowed, true},
		{call{path: s.path(fmt.Sprintf("/keys/%d/roll", revoked.ID)), cookie: admin}, http.StatusConflict, true},
		{call{path: s.path("/keys"), cookie: admin, form: url.Values{"request": {"invalid"}}}, http.StatusBadRequest, true},
		{call{path: s.path("/nothing"), cookie: outsider}, http.StatusNotFound, false},
		{call{path: s.path("/nothing"), cookie: freshToken()}, http.StatusNotFound, false},
		{call{path: s.path("/keys"), method: "PUT"}, http.StatusMethodNotAllowed, false},
		{call{path: s.path("/keys"), cookie: outsider}, http.StatusNotFound, false},
	} {
		body := s.try(t, test.call, test.status).body
		if strings.Contains(body, navigation) != test.want || strings.Contains(body, s.a.Name) != test.want {
			t.Errorf("%s shows the navigation: %v, want %v: %s", test.path, !test.want, test.want, body)
		}
	}
	statuses := map[bool]int{false: http.StatusInternalServerError, true: http.StatusServiceUnavailable}
	for temporary, status := range statuses {
		o := s.Options
		o.Failed = func(*http.Request, error) bool { return temporary }
		w := httptest.NewRecorder()
		broken := *s
		s.alter(t, `alter table audit_log rename to lost`)
		broken.Handler = New(o)
		broken.get(t, admin, s.path("/audit"), status, navigation)
		s.alter(t, `alter table lost rename to audit_log`)
		New(o).Fail(w, httptest.NewRequest("GET", "/settings", nil), ErrForm)
		broken.checkResponse(t, "Fail", reply{w.Result(), w.Body.String()})
	}
}

func TestSuspendedTenant(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	owner, key := s.mustVisitor(t, "owner", people.Owner), s.mustKey(t, "Till")
	const banner = "is suspended.</strong>"
	for _, path := range []string{"/keys", "/start", "/members", "/audit", "/account"} {
		if got := s.get(t, owner, s.path(path), http.StatusOK); strings.Contains(got.body, banner) {
			t.Errorf("%s shows that the tenant is suspended", path)
		}
	}
	form := s.mustForm(t, owner, "New")
	s.alter(t, `update tenants set suspended_at = now() where id = $1`, s.a.ID)
	revoke := fmt.Sprintf("/keys/%d/revoke", key.ID)
	for _, path := range []string{"/keys", "/start", "/members", "/audit", "/account", revoke} {
		s.get(t, owner, s.path(path), http.StatusOK, banner)
	}
	got := s.get(t, owner, s.path("/keys"), http.StatusOK, "/revoke")
	if strings.Contains(got.body, "/keys/new") || strings.Contains(got.body, "/roll") {
		t.Errorf("the page links to forms of new keys: %s", got.body)
	}
	roll := s.path(fmt.Sprintf("/keys/%d/roll", key.ID))
	for _, c := range []call{
		{path: s.path("/keys/new")}, {path: s.path("/keys"), form: form},
		{path: roll}, {path: roll, form: url.Values{"overlap": {"0"}}},
	} {
		c.cookie = owner
		s.try(t, c, http.StatusForbidden, "This account is suspended", banner)
	}
	if found, err := s.Keys.List(t.Context(), s.a.ID); err != nil || len(found) != 1 || found[0].RevokedAt != nil {
		t.Errorf("keys = %+v, %v, want the unchanged key", found, err)
	}
	s.post(t, owner, s.path(revoke), url.Values{}, http.StatusSeeOther)
	s.get(t, owner, s.path("/keys"), http.StatusOK, "revoked")
}

func TestHome(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	session := func(name string, role people.Role) (id int64, cookie string) {
		id = s.mustPerson(t, name, s.a, role)
		return id, s.mustSession(t, id)
	}
	_, one := session("one", people.Viewer)
	id, both := session("both", people.Viewer)
	_, none := session("none", "")
	s.alter(t, `insert into memberships (tenant_id, user_id, role) values ($1, $2, 'owner')`, s.b.ID, id)
	s.get(t, one, "/settings", http.StatusSeeOther, s.path("/overview"))
	s.get(t, both, "/settings", http.StatusOK, "Choose a business", `href="`+s.path("")+`"`, `href="/settings/t/`+s.b.Slug+`"`)
	s.get(t, none, "/settings", http.StatusOK, "No business yet")
}
