package settings

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/people"
)

// doors says who may open each route, apart from the table that the pages are
// served by: whoever changes one of them has to change the other.
var doors = map[string][]string{
	"GET /settings/static/*":   {"anonymous", "viewer", "admin", "owner", "stranger", "nobody"},
	"GET /settings":            {"viewer", "admin", "owner", "stranger", "nobody"},
	"GET /settings/":           {"viewer", "admin", "owner", "stranger", "nobody"},
	"GET /settings/sign-in":    {"anonymous", "viewer", "admin", "owner", "stranger", "nobody"},
	"POST /settings/sign-in":   {"anonymous", "viewer", "admin", "owner", "stranger", "nobody"},
	"POST /settings/sign-out":  {"anonymous", "viewer", "admin", "owner", "stranger", "nobody"},
	"GET /settings/password":   {"viewer", "admin", "owner", "stranger", "nobody"},
	"POST /settings/password":  {"viewer", "admin", "owner", "stranger", "nobody"},
	"GET {t}":                  {"viewer", "admin", "owner"},
	"GET {t}/keys":             {"viewer", "admin", "owner"},
	"GET {t}/members":          {"viewer", "admin", "owner"},
	"GET {t}/account":          {"viewer", "admin", "owner"},
	"GET {t}/start":            {"viewer", "admin", "owner"},
	"GET {t}/keys/new":         {"admin", "owner"},
	"POST {t}/keys":            {"admin", "owner"},
	"GET {t}/keys/{id}/roll":   {"admin", "owner"},
	"POST {t}/keys/{id}/roll":  {"admin", "owner"},
	"GET {t}/keys/{id}/revoke": {"admin", "owner"},
	"POST {t}/keys/{id}/revoke": {
		"admin", "owner"},
	"GET {t}/audit":                {"admin", "owner"},
	"POST {t}/members":             {"owner"},
	"GET {t}/members/{id}":         {"owner"},
	"POST {t}/members/{id}/role":   {"owner"},
	"POST {t}/members/{id}/remove": {"owner"},
	"POST {t}/members/{id}/reset":  {"owner"},
	"POST {t}/links/{id}/revoke":   {"owner"},
	"GET /settings/link/{token}":   nil, // who has the link; here nobody
	"POST /settings/link/{token}":  nil,
}

// TestDoors opens every route as everybody: whoever may not come in gets the
// answer that tells the least.
func TestDoors(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	everybody := map[string]int64{
		"viewer": s.mustPerson(t, "viewer", s.a, people.Viewer), "admin": s.mustPerson(t, "admin", s.a, people.Admin),
		"owner": s.mustPerson(t, "owner", s.a, people.Owner), "stranger": s.mustPerson(t, "stranger", s.b, people.Owner),
		"nobody": s.mustPerson(t, "nobody", s.b, ""),
	}
	opened := map[string]bool{}
	for _, r := range (&Pages{}).routes() {
		name := r.method + " " + strings.Replace(r.pattern, "/settings/t/{slug}", "{t}", 1)
		allowed, known := doors[name]
		if !known {
			t.Errorf("%s is new: say in doors who may open it", name)
			continue
		}
		opened[name] = true
		for i, who := range append(slices.Sorted(maps.Keys(everybody)), "anonymous", "whose session has ended") {
			t.Run(name+" as "+who, func(t *testing.T) {
				c := call{method: r.method, path: s.fill(t, r.pattern, fmt.Sprint(name, i)), from: fmt.Sprint(name, i)}
				switch person, signedIn := everybody[who]; {
				case signedIn:
					c.cookie = s.mustSession(t, person)
				case who != "anonymous":
					c.cookie, who = freshToken(), "anonymous"
				}
				if r.method == "POST" {
					c.form = url.Values{}
				}
				s.checkDoor(t, c, slices.Contains(allowed, who), who)
			})
		}
	}
	for name := range doors {
		if !opened[name] {
			t.Errorf("%s is no route any more", name)
		}
	}
}

// fill puts a slug, and the id of a key or member made for it, into a pattern.
func (s *site) fill(t *testing.T, pattern, name string) string {
	t.Helper()
	id := int64(0)
	switch {
	case strings.Contains(pattern, "/keys/{id}"):
		id = s.mustKey(t, "for a door").ID
	case strings.Contains(pattern, "/links/{id}"):
		id = s.mustLink(t, "new", people.Viewer)
	case strings.Contains(pattern, "/members/{id}"):
		id = s.mustPerson(t, strings.NewReplacer(" ", "", "/", "", "{", "", "}", "").Replace(strings.ToLower(name)), s.a, people.Viewer)
	}
	return strings.NewReplacer("{slug}", s.a.Slug, "{id}", fmt.Sprint(id), "{token}", freshToken(), "*", "icon.svg").Replace(pattern)
}

// mustLink makes a pending invitation into A and returns its id.
func (s *site) mustLink(t testing.TB, name string, role people.Role) (id int64) {
	t.Helper()
	err := s.super.QueryRow(t.Context(), `
		insert into one_time_links (token_hash, tenant_id, purpose, email, role) values ($1, $2, 'invitation', $3, $4) returning id`,
		sum(freshToken()), s.a.ID, s.email(name), role).Scan(&id)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (s *site) checkDoor(t *testing.T, c call, allowed bool, who string) {
	t.Helper()
	got := s.do(t, c)
	refused := got.StatusCode == http.StatusForbidden || got.StatusCode == http.StatusNotFound || strings.HasPrefix(got.Header.Get("Location"), "/settings/sign-in?") || who == "anonymous" && got.StatusCode == http.StatusSeeOther && !strings.HasSuffix(c.path, "/sign-out")
	if refused == allowed {
		t.Errorf("= %d to %q, want it open: %v", got.StatusCode, got.Header.Get("Location"), allowed)
	}
	if allowed {
		return
	}
	inTenant := strings.HasPrefix(c.path, "/settings/t/")
	switch {
	case strings.Contains(c.path, "/link/"):
		if got.StatusCode != http.StatusNotFound || !strings.Contains(got.body, "This link is no longer valid") {
			t.Errorf("= %d, want 404 and to be told that the link has ended", got.StatusCode)
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
	case inTenant && (who == "stranger" || who == "nobody"):
		absent := c
		absent.path = strings.Replace(c.path, s.a.Slug, "no-such-tenant", 1)
		if none := s.do(t, absent); got.StatusCode != http.StatusNotFound || got.body != none.body || none.StatusCode != http.StatusNotFound {
			t.Errorf("= %d, want the very 404 of a tenant that does not exist", got.StatusCode)
		}
	case got.StatusCode != http.StatusForbidden:
		t.Errorf("= %d, want 403", got.StatusCode)
	}
}

func TestAddressesThatAreNone(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	owner := s.mustVisitor(t, "owner", people.Owner)
	other := s.mustPerson(t, "other", s.b, people.Owner)
	key := s.mustKey(t, "Till")
	s.alter(t, `delete from api_keys where id = $1`, key.ID)
	for _, c := range []call{
		{path: "/settings/nothing"}, {path: s.path("/nothing")}, {path: s.path("/keys/x/roll")}, {path: s.path("/keys/99999999999999999999/roll")},
		{path: s.path(fmt.Sprintf("/keys/%d/roll", key.ID))}, {path: s.path(fmt.Sprintf("/keys/%d/revoke", key.ID)), form: url.Values{}},
		{path: s.path(fmt.Sprintf("/members/%d", other))}, {path: s.path(fmt.Sprintf("/members/%d/remove", other)), form: url.Values{}},
		{path: s.path(fmt.Sprintf("/members/%d/reset", other)), form: url.Values{}}, {path: s.path("/members/-1")},
		{path: s.path("/links/999/revoke"), form: url.Values{}}, {path: s.path("/links/x/revoke"), form: url.Values{}},
		{path: "/settings/t/" + s.b.Slug + "/keys"}, {path: "/settings/t/%00/keys"}, {path: "/settings/t/%ff%fe/keys"}, {path: "/settings/t//keys"},
		{path: s.path("/nothing"), method: "PUT"}, {path: "/settings/nothing", method: "BREW"},
		{path: "/settings/static/"}, {path: "/settings/static/nothing.js"}, {path: "/settings/static/../settings.go"}, {path: "/settings/static", method: "POST"},
	} {
		c.cookie = owner
		s.try(t, c, http.StatusNotFound, "Page not found")
	}
	for path, kind := range map[string]string{"settings.css": "text/css; charset=utf-8", "settings.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml"} {
		if got := s.try(t, call{path: "/settings/static/" + path}, http.StatusOK); got.Header.Get("Content-Type") != kind || len(got.body) == 0 {
			t.Errorf("%s is %d bytes of %s, want %s", path, len(got.body), got.Header.Get("Content-Type"), kind)
		}
	}
}

func TestAWrongMethodNamesTheRightOnes(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	owner := s.mustVisitor(t, "owner", people.Owner)
	for _, test := range []struct{ method, path, allow string }{
		{"PUT", s.path("/keys"), "GET, HEAD, POST"}, {"DELETE", s.path("/keys"), "GET, HEAD, POST"}, {"BREW", s.path("/keys"), "GET, HEAD, POST"},
		{"POST", s.path("/audit"), "GET, HEAD"}, {"PATCH", s.path("/keys/1/revoke"), "GET, HEAD, POST"}, {"GET", s.path("/members/1/remove"), "POST"},
		{"GET", "/settings/sign-out", "POST"}, {"OPTIONS", "/settings", "GET, HEAD"}, {"POST", "/settings/static/settings.css", "GET, HEAD"},
		{"PUT", "/settings/t/no-such-tenant/keys", "GET, HEAD, POST"}, {"PUT", "/settings/t/%ff/keys", "GET, HEAD, POST"}, {"PUT", "/settings/t/a%2Fb/keys", "GET, HEAD, POST"},
	} {
		for _, cookie := range []string{owner, freshToken(), ""} {
			got := s.do(t, call{method: test.method, path: test.path, cookie: cookie})
			if broken := cookie != "" && strings.Contains(test.path, "%ff"); broken && got.StatusCode == http.StatusNotFound {
				continue // a slug that no tenant can have
			}
			if got.StatusCode != http.StatusMethodNotAllowed || got.Header.Get("Allow") != test.allow {
				t.Errorf("%s %s = %d with Allow: %q, want 405 and %q", test.method, test.path, got.StatusCode, got.Header.Get("Allow"), test.allow)
			}
		}
	}
}

// TestErrorsKeepTheNavigation of who is signed in; who is not, or no member, gets none.
func TestErrorsKeepTheNavigation(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	viewer, stranger := s.mustVisitor(t, "viewer", people.Viewer), s.mustSession(t, s.mustPerson(t, "stranger", s.b, people.Owner))
	admin := s.mustVisitor(t, "admin", people.Admin)
	revoked := s.mustKey(t, "Till")
	if err := s.Keys.Revoke(t.Context(), s.a.ID, tenancy.Operator, revoked.ID); err != nil {
		t.Fatal(err)
	}
	navigation := `<a href="` + s.path("/account") + `">Account</a>`
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
		{call{path: s.path("/keys"), cookie: admin, form: url.Values{"request": {"no form of ours"}}}, http.StatusBadRequest, true},
		{call{path: s.path("/nothing"), cookie: stranger}, http.StatusNotFound, false},
		{call{path: s.path("/nothing"), cookie: freshToken()}, http.StatusNotFound, false},
		{call{path: s.path("/keys"), method: "PUT"}, http.StatusMethodNotAllowed, false},
		{call{path: s.path("/keys"), cookie: stranger}, http.StatusNotFound, false},
	} {
		if got := s.try(t, test.call, test.status); strings.Contains(got.body, navigation) != test.want || strings.Contains(got.body, s.a.Name) != test.want {
			t.Errorf("%s = %d has the navigation: %v, want %v: %s", test.path, got.StatusCode, !test.want, test.want, got.body)
		}
	}
	for temporary, status := range map[bool]int{false: http.StatusInternalServerError, true: http.StatusServiceUnavailable} {
		o := s.Options
		o.Failed = func(*http.Request, error) bool { return temporary }
		w := httptest.NewRecorder()
		broken := *s
		s.alter(t, `alter table audit_log rename to lost`)
		broken.Handler = New(o)
		if got := broken.try(t, call{path: s.path("/audit"), cookie: admin}, status); !strings.Contains(got.body, navigation) {
			t.Errorf("%d lacks the navigation: %s", status, got.body)
		}
		s.alter(t, `alter table lost rename to audit_log`)
		New(o).Fail(w, httptest.NewRequest("GET", "/settings", nil), errForm)
		broken.checkAnswer(t, "an error on the way", reply{w.Result(), w.Body.String()})
	}
}

func TestASuspendedTenantIsToldSo(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	owner, key := s.mustVisitor(t, "owner", people.Owner), s.mustKey(t, "Till")
	const banner = "is suspended.</strong>"
	for _, path := range []string{"/keys", "/start", "/members", "/audit", "/account"} {
		if got := s.try(t, call{path: s.path(path), cookie: owner}, http.StatusOK); strings.Contains(got.body, banner) {
			t.Errorf("%s says that a tenant is suspended which is not", path)
		}
	}
	form := s.mustForm(t, owner, "New")
	s.alter(t, `update tenants set suspended_at = now() where id = $1`, s.a.ID)
	for _, path := range []string{"/keys", "/start", "/members", "/audit", "/account", fmt.Sprintf("/keys/%d/revoke", key.ID)} {
		s.try(t, call{path: s.path(path), cookie: owner}, http.StatusOK, banner)
	}
	if got := s.try(t, call{path: s.path("/keys"), cookie: owner}, http.StatusOK, "/revoke"); strings.Contains(got.body, "/keys/new") || strings.Contains(got.body, "/roll") {
		t.Errorf("a key is offered: %s", got.body)
	}
	roll := s.path(fmt.Sprintf("/keys/%d/roll", key.ID))
	for _, c := range []call{{path: s.path("/keys/new")}, {path: roll}, {path: s.path("/keys"), form: form}, {path: roll, form: url.Values{"overlap": {"0"}}}} {
		c.cookie = owner
		s.try(t, c, http.StatusForbidden, "This account is suspended", banner)
	}
	if found, err := s.Keys.List(t.Context(), s.a.ID); err != nil || len(found) != 1 || found[0].RevokedAt != nil {
		t.Errorf("the keys are %+v, %v, want the one as it was", found, err)
	}
	s.try(t, call{path: s.path(fmt.Sprintf("/keys/%d/revoke", key.ID)), cookie: owner, form: url.Values{}}, http.StatusSeeOther)
	s.try(t, call{path: s.path("/keys"), cookie: owner}, http.StatusOK, "revoked")
}

func TestHomeLeadsToTheTenantOrLetsChoose(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	one, both, none := s.mustPerson(t, "one", s.a, people.Viewer), s.mustPerson(t, "both", s.a, people.Viewer), s.mustPerson(t, "none", s.a, "")
	s.alter(t, `insert into memberships (tenant_id, user_id, role) values ($1, $2, 'owner')`, s.b.ID, both)
	if got := s.try(t, call{path: "/settings", cookie: s.mustSession(t, one)}, http.StatusSeeOther); got.Header.Get("Location") != s.path("/keys") {
		t.Errorf("who has one tenant is sent to %q", got.Header.Get("Location"))
	}
	s.try(t, call{path: "/settings", cookie: s.mustSession(t, both)}, http.StatusOK, "Choose an account", s.path("/keys"), "/settings/t/"+s.b.Slug+"/keys")
	s.try(t, call{path: "/settings", cookie: s.mustSession(t, none)}, http.StatusOK, "No accounts")
}
