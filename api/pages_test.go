package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/storeroom/storeroom/api/pages"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/tenancy/people"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// withPages mounts the settings pages.
func withPages(change ...func(*pages.Options)) func(*Server) {
	return func(s *Server) {
		peppers, err := keys.ParsePeppers("1:" + strings.Repeat("5e", 32))
		if err != nil {
			panic(err)
		}
		o := pages.Options{
			People: people.New(s.DB), Keys: keys.New(s.DB, peppers), BaseURL: &url.URL{Scheme: "http", Host: "127.0.0.1"},
		}
		for _, f := range change {
			f(&o)
		}
		s.mountSettings(o)
	}
}

// page requests a page or sends a form. It checks the headers that every page must and must not have.
func (a *testAPI) page(t *testing.T, method, path, cookie string, form url.Values) (reply, string) {
	t.Helper()
	return a.pageFrom(t, a.address, method, path, cookie, form)
}

func (a *testAPI) pageFrom(t *testing.T, address, method, path, cookie string, form url.Values) (reply, string) {
	t.Helper()
	r := pageRequest(t.Context(), address, method, path, cookie, form)
	// Without a network, the log line is written when this returns.
	w := httptest.NewRecorder()
	a.server.ServeHTTP(w, r)
	response := w.Result()
	if response.Header.Get("X-Request-Id") == "" || response.Header.Get("X-Ratelimit-Limit") != "" {
		t.Errorf("%s %s has the headers %v, want a request id and no limit", method, path, response.Header)
	}
	for _, c := range response.Cookies() {
		cookie = c.Value
	}
	return reply{response, w.Body.Bytes()}, cookie
}

func pageRequest(ctx context.Context, address, method, path, cookie string, form url.Values) *http.Request {
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(form.Encode()))
	r.RemoteAddr = "127.0.0.1:1" // a trusted proxy
	r.Header.Set("X-Forwarded-For", address)
	if method == "POST" {
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if cookie != "" {
		r.AddCookie(&http.Cookie{Name: "storeroom-insecure", Value: cookie})
	}
	return r
}

// lastLine returns the log line of the last request.
func (a *testAPI) lastLine(t *testing.T) (line struct{ Level, Msg, Route, Method, Error string }) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(a.log.String()), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &line); err != nil {
		t.Fatal(err)
	}
	return line
}

func TestPagesUseTheMiddleware(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withPages())
	token := strings.Repeat("a", 43)
	for _, test := range []struct {
		method, path string
		status       int
		route        string
	}{
		{"GET", "/settings", 303, "/settings"},
		{"GET", "/settings/", 303, "/settings"},
		{"GET", "/settings/sign-in", 200, "/settings/sign-in"},
		{"HEAD", "/settings/sign-in", 200, "/settings/sign-in"},
		{"GET", "/settings/link/" + token, 404, "/settings/link/{token}"},
		{"POST", "/settings/link/" + token, 404, "/settings/link/{token}"},
		{"GET", "/settings/t/shop/keys", 303, "/settings/t/{slug}/keys"},
		{"GET", "/settings/t/50%25/keys", 303, "/settings/t/{slug}/keys"},
		{"GET", "/settings/static/settings.css", 200, "/settings/static/*"},
		{"GET", "/settings/nothing/" + token, 404, ""},
		{"DELETE", "/settings/sign-in", 405, ""},
		{"BREW", "/settings/sign-in", 405, ""},
		{"BREW", "/settings/nothing", 404, ""},
		{"GET", "/settingsx", 404, ""},
	} {
		got, _ := a.page(t, test.method, test.path, "", nil)
		if got.StatusCode != test.status {
			t.Errorf("%s %s = %d, want %d", test.method, test.path, got.StatusCode, test.status)
		}
		if line := a.lastLine(t); line.Msg != "request" || line.Route != test.route ||
			line.Method != strings.Replace(test.method, "BREW", "_OTHER", 1) {
			t.Errorf("%s %s is logged as %+v, want the route %q", test.method, test.path, line, test.route)
		}
	}
	if strings.Contains(a.log.String(), token) {
		t.Error("the log contains the token of a link")
	}
}

// checkErrorPage fails unless the response is a complete page with the headers of pages.
func checkErrorPage(t *testing.T, got reply, title string) {
	t.Helper()
	policy, body := got.Header.Get("Content-Security-Policy"), string(got.body)
	if got.Header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.HasPrefix(policy, "default-src 'none'") ||
		got.Header.Get("Cache-Control") != "no-store" ||
		!strings.Contains(body, title) || !strings.HasSuffix(strings.TrimSpace(body), "</html>") {
		t.Errorf("%d is not a page with the title %q: %v %s", got.StatusCode, title, got.Header, body)
	}
}

func TestPanicInAPageIsA500(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withPages(func(o *pages.Options) { o.People = nil }))
	got, _ := a.page(t, "GET", "/settings/password", strings.Repeat("a", 43), nil)
	if got.StatusCode != 500 {
		t.Errorf("= %d, want 500", got.StatusCode)
	}
	checkErrorPage(t, got, "Something went wrong")
	if line := a.lastLine(t); line.Level != "ERROR" || !strings.Contains(line.Error, "nil pointer") {
		t.Errorf("logged as %+v", line)
	}
}

// A user signs in, creates a key, uses it and revokes it.
func TestKeyFromThePagesWorks(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withPages())
	slug, email := fmt.Sprintf("till-%x", rand.Uint64()), fmt.Sprintf("ann@%x.example", rand.Uint64())
	tenant := a.MustTenant(t, slug, withLimit(1000))
	const password = "correct horse battery"
	if _, err := people.New(a.Admin).CreateMember(t.Context(), tenant.ID, email, people.Owner, password); err != nil {
		t.Fatal(err)
	}
	_, cookie := a.page(t, "POST", "/settings/sign-in", "", url.Values{"email": {email}, "password": {password}})
	form, _ := a.page(t, "GET", "/settings/t/"+slug+"/keys/new", cookie, nil)
	request := regexp.MustCompile(`name="request" value="(\w+)"`).FindSubmatch(form.body)
	if request == nil {
		t.Fatalf("no form: %d %s", form.StatusCode, form.body)
	}
	newKey := url.Values{
		"name": {"Till"}, "preset": {"read-only"}, "lifetime": {"90"}, "request": {string(request[1])},
	}
	made, _ := a.page(t, "POST", "/settings/t/"+slug+"/keys", cookie, newKey)
	key := string(regexp.MustCompile(`sk_live_\w{20,}`).Find(made.body))
	a.try(t, call{path: "/api/me", key: key, wantStatus: 200, want: []string{tenant.Name, `"Till"`}})
	log, total, err := tenants.AuditLog(t.Context(), a.DB, tenant.ID, "key.", 1, 9)
	if err != nil || total != 1 || log[0].Actor != email ||
		!strings.HasPrefix(*log[0].Address, strings.Join(strings.Split(a.address, ":")[:4], ":")) {
		t.Errorf("logged %+v, %v, want key.create by %s from %s", log, err, email, a.address)
	}
	id := log[0].Details["key_id"]
	if got, _ := a.page(
		t, "POST", fmt.Sprintf("/settings/t/%s/keys/%.0f/revoke", slug, id), cookie, url.Values{},
	); got.StatusCode != 303 {
		t.Errorf("revoke = %d, want 303", got.StatusCode)
	}
	withKey, end := call{path: "/api/me", key: key}, time.Now().Add(2*time.Second)
	for sent := time.Now(); a.send(t, withKey).StatusCode != 401; sent = time.Now() {
		if sent.After(end) {
			t.Fatal("the key is still accepted 2 s after its revocation")
		}
	}
	for what, secret := range map[string]string{
		"the key": key, "the session": cookie, "the password": password, "the e-mail": email,
	} {
		if strings.Contains(a.log.String(), secret) {
			t.Errorf("the log contains %s", what)
		}
	}
	before := strings.Count(a.log.String(), "\n")
	a.exec(t, `alter table audit_log rename to lost`)
	if got, _ := a.page(t, "GET", "/settings/t/"+slug+"/audit", cookie, nil); got.StatusCode != 500 ||
		strings.Contains(string(got.body), "audit_log") {
		t.Errorf("without its table the audit log = %d, want 500 without the reason", got.StatusCode)
	}
	if line := a.lastLine(t); line.Level != "ERROR" || line.Route != "/settings/t/{slug}/audit" ||
		!strings.Contains(line.Error, "audit_log") || strings.Count(a.log.String(), "\n") != before+1 {
		t.Errorf("logged as %+v, want one line with the cause", line)
	}
}

// unread fails the test if it is read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the files are received")
	return 0, io.EOF
}

// Anyone could fill the disk otherwise.
func TestFilesOfStrangersAreNotReceived(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withPages())
	for name, test := range map[string]struct {
		header http.Header
		status int
	}{
		"without a session": {http.Header{"Sec-Fetch-Site": {"same-origin"}}, http.StatusSeeOther},
		"with another one's session": {
			http.Header{"Sec-Fetch-Site": {"same-origin"}, "Cookie": {"storeroom-insecure=" + strings.Repeat("a", 43)}},
			http.StatusSeeOther,
		},
		"from another site":            {http.Header{"Sec-Fetch-Site": {"cross-site"}}, http.StatusForbidden},
		"without a sign of its origin": {http.Header{}, http.StatusForbidden},
	} {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/settings/t/shop/imports", unread{t})
		r.ContentLength = 100 << 20
		r.Header = test.header
		r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		w := httptest.NewRecorder()
		a.server.ServeHTTP(w, r)
		if w.Code != test.status {
			t.Errorf("an upload %s = %d, want %d", name, w.Code, test.status)
		}
	}
}
