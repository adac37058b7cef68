package pages

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/people"
	"github.com/storeroom/storeroom/tenancy/webhooks"
)

// credentials returns the sign-in form of a user.
func (s *site) credentials(name, password string) url.Values {
	return url.Values{"email": {s.email(name)}, "password": {password}}
}

func sum(token string) []byte {
	b := sha256.Sum256([]byte(token))
	return b[:]
}

func TestSessionCookie(t *testing.T) {
	t.Parallel()
	secure := http.Cookie{
		Name: "__Host-storeroom", Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
	insecure := http.Cookie{Name: "storeroom-insecure", Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode}
	for base, want := range map[string]http.Cookie{"https://shop.example.com": secure, "http://127.0.0.1:8080": insecure} {
		t.Run(base, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, base)
			s.mustPerson(t, "ann", s.a, people.Owner)
			got := s.post(t, "", "/settings/sign-in", s.credentials("ann", password), http.StatusSeeOther)
			if len(got.Cookies()) != 1 || len(got.session()) != 43 {
				t.Fatalf("cookies = %v, want one token", got.Cookies())
			}
			want.Value = got.session()
			if header := got.Header.Get("Set-Cookie"); header != want.String() {
				t.Errorf("Set-Cookie: %s, want %s", header, want.String())
			}
			s.get(t, got.session(), s.path("/keys"), http.StatusOK)
			out := s.post(t, got.session(), "/settings/sign-out", url.Values{}, http.StatusSeeOther, "/settings/sign-in")
			want.Value, want.MaxAge = "", -1
			if header := out.Header.Get("Set-Cookie"); header != want.String() {
				t.Errorf("Set-Cookie after signing out: %s, want %s", header, want.String())
			}
			s.get(t, got.session(), s.path("/keys"), http.StatusSeeOther, "/settings/sign-in")
		})
	}
}

func TestCheckBaseURL(t *testing.T) {
	t.Parallel()
	const (
		notURL   = "must be a URL without a path"
		notHTTPS = "must begin with https://; http is allowed only for 127.0.0.1"
	)
	for want, texts := range map[string][]string{
		"": {
			"https://shop.example.com", "https://shop.example.com/", "https://shop.example.com:8443", "https://192.0.2.1",
			"http://127.0.0.1:8080", "http://127.8.9.1", "http://localhost", "http://[::1]:8080", "HTTP://localhost",
		},
		notHTTPS: {
			"http://shop.example.com", "http://192.0.2.1", "http://0.0.0.0:8080", "http://localhost.example.com",
			"http://[::ffff:192.0.2.1]", "http://127.0.0.1.example.com",
		},
		"must begin with https://": {"ftp://shop.example.com"},
		notURL: {
			"shop.example.com", "", "https:///", "https://:443", "https:shop.example.com", "https://shop.example.com/shop",
			"https://shop.example.com?", "https://shop.example.com?a", "https://shop.example.com#a",
			"https://ann@shop.example.com",
		},
	} {
		for _, text := range texts {
			u, err := url.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			got := CheckBaseURL(u)
			if (got == nil) != (want == "") || got != nil && !strings.HasPrefix(got.Error(), want) {
				t.Errorf("CheckBaseURL(%s) = %v, want %q", text, got, want)
			}
		}
	}
}

func TestSignInStartsANewSession(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	ann := s.mustPerson(t, "ann", s.a, people.Owner)
	mallory := s.mustSession(t, s.mustPerson(t, "mallory", s.b, people.Owner))
	for name, planted := range map[string]string{
		"unknown token": freshToken(), "session of another user": mallory, "own session": s.mustSession(t, ann),
	} {
		t.Run(name, func(t *testing.T) {
			c := call{path: "/settings/sign-in", cookie: planted, form: s.credentials("ann", password), from: name}
			got := s.try(t, c, http.StatusSeeOther)
			if got.session() == planted || len(got.session()) != 43 {
				t.Errorf("session = %q, want a new one", got.session())
			}
			s.get(t, got.session(), s.path("/keys"), http.StatusOK)
			s.get(t, planted, s.path("/keys"), http.StatusSeeOther, "/settings/sign-in")
		})
	}
}

func TestSignInDoesNotRevealAccounts(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	s.mustPerson(t, "ann", s.a, people.Owner)
	refuse := func(from string, form url.Values) reply {
		c := call{path: "/settings/sign-in", form: form, from: from}
		return s.try(t, c, http.StatusUnprocessableEntity, "Incorrect e-mail address or password.", `id="password-error"`)
	}
	page := func(name string) string {
		got := refuse(name, s.credentials(name, "wrong"))
		if n := strings.Count(got.body, ` aria-invalid="true" aria-describedby="password-error"`); n != 2 {
			t.Errorf("%d fields refer to the error, want both", n)
		}
		if got.session() != "" {
			t.Errorf("%s got a session", name)
		}
		return formTokenPattern.ReplaceAllString(strings.ReplaceAll(got.body, s.email(name), "E"), "")
	}
	if page("ann") != page("bob") {
		t.Error("the page of a wrong password differs from the page of an unknown account")
	}
	for name, form := range map[string]url.Values{
		"empty form":    {},
		"NUL":           {"email": {"\x00"}, "password": {"\x00"}},
		"invalid UTF-8": {"email": {"\xff@\xfe"}, "password": {"\xff"}},
	} {
		refuse(name, form)
	}
}

func TestCrossSiteFormsAreBlocked(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	owner := s.mustVisitor(t, "owner", people.Owner)
	key := s.mustKey(t, "Till")
	revoke := call{path: s.path(fmt.Sprintf("/keys/%d/revoke", key.ID)), cookie: owner, form: url.Values{}}
	before := s.stored(t)
	for name, header := range map[string]http.Header{
		"cross-site":                    {"Sec-Fetch-Site": {"cross-site"}},
		"same-site":                     {"Sec-Fetch-Site": {"same-site"}, "Origin": {"https://www.example.com"}},
		"another origin":                {"Origin": {"https://evil.example"}},
		"another port":                  {"Origin": {"https://shop.example.com:8443"}},
		"origin null":                   {"Origin": {"null"}},
		"another origin and cross-site": {"Origin": {"https://evil.example"}, "Sec-Fetch-Site": {"cross-site"}},
	} {
		for _, path := range []string{revoke.path, "/settings/sign-in", "/settings/sign-out", "/settings/nothing"} {
			c := revoke
			c.path, c.header = path, header
			if got := s.try(t, c, http.StatusForbidden, "Request blocked"); len(got.Cookies()) > 0 {
				t.Errorf("%s with %s sets a cookie", path, name)
			}
		}
	}
	if s.stored(t) != before {
		t.Error("a form of another site changed the database")
	}
	link := call{path: s.path("/keys"), cookie: owner, header: http.Header{"Sec-Fetch-Site": {"cross-site"}}}
	s.try(t, link, http.StatusOK)
	revoke.header = http.Header{"Sec-Fetch-Site": {"same-origin"}, "Origin": {"https://shop.example.com"}}
	s.try(t, revoke, http.StatusSeeOther, s.path("/keys"))
}

// Old browsers and programs send forms without a header that shows the site.
func TestFormsWithoutOriginNeedAToken(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	owner, other := s.mustVisitor(t, "owner", people.Owner), s.mustVisitor(t, "other", people.Owner)
	key := s.mustKey(t, "Till")
	revoke := s.path(fmt.Sprintf("/keys/%d/revoke", key.ID))
	post := func(path, session, formCookie, token string, status int, parts ...string) reply {
		t.Helper()
		header := http.Header{}
		if formCookie != "" {
			header.Set("Cookie", "__Host-storeroom-form="+formCookie)
		}
		form := url.Values{"form-token": {token}, "email": {s.email("owner")}, "password": {password}}
		return s.try(t, call{path: path, cookie: session, form: form, header: header}, status, parts...)
	}
	before := s.stored(t)
	tokenOf := func(path, session string) string {
		t.Helper()
		found := formTokenPattern.FindStringSubmatch(s.get(t, session, path, http.StatusOK).body)
		if found == nil {
			t.Fatalf("%s has no token", path)
		}
		return found[1]
	}
	for name, token := range map[string]string{
		"none": "", "another session": tokenOf(revoke, other), "the session": owner, "invalid": tokenOf(revoke, owner)[1:],
	} {
		for _, path := range []string{revoke, s.path("/keys"), "/settings/password", "/settings/sign-in", "/settings/sign-out"} {
			if got := post(path, owner, "", token, http.StatusForbidden, "Request blocked"); len(got.Cookies()) > 0 {
				t.Errorf("POST %s with the token %s sets a cookie", path, name)
			}
		}
	}
	post("/settings/sign-in", "", "", formToken(""), http.StatusForbidden, "Request blocked")
	post("/settings/sign-in", "", "x", formToken("y"), http.StatusForbidden, "Request blocked")
	if s.stored(t) != before {
		t.Error("a form without a token changed the database")
	}
	post(revoke, owner, "", tokenOf(revoke, owner), http.StatusSeeOther, s.path("/keys"))

	page := s.get(t, "", "/settings/sign-in", http.StatusOK)
	cookies := page.Cookies()
	if len(cookies) != 1 || cookies[0].Name != "__Host-storeroom-form" || !cookies[0].HttpOnly || !cookies[0].Secure ||
		cookies[0].SameSite != http.SameSiteLaxMode || cookies[0].Path != "/" {
		t.Fatalf("the sign-in page sets %v, want the cookie of the form", cookies)
	}
	token := formTokenPattern.FindStringSubmatch(page.body)[1]
	if got := post("/settings/sign-in", "", cookies[0].Value, token, http.StatusSeeOther); got.session() == "" {
		t.Error("the form with its token did not sign in")
	}
	again := call{path: "/settings/sign-in", header: http.Header{"Cookie": {"__Host-storeroom-form=" + cookies[0].Value}}}
	if got := s.try(t, again, http.StatusOK, token); len(got.Cookies()) > 0 {
		t.Error("the sign-in page replaces the cookie of another tab's form")
	}
}

var formTokenPattern = regexp.MustCompile(`name="form-token" value="([\w-]{43})"`)

func TestInvalidForms(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	owner := s.mustVisitor(t, "owner", people.Owner)
	const request = "ABCDEFGHIJKLMNOPQRSTUVWXYZ" // valid
	longest := strings.Repeat("a", MaxForm-len("name=&request="+request))
	fits := url.Values{"request": {request}, "name": {longest}}
	s.post(t, owner, s.path("/keys"), fits, http.StatusUnprocessableEntity)
	send := func(body string, status int, title string) {
		t.Helper()
		s.try(t, call{path: s.path("/keys"), cookie: owner, body: body}, status, title)
	}
	send(fits.Encode()+"a", http.StatusRequestEntityTooLarge, "Form too large")
	send("name=%zz", http.StatusBadRequest, "Invalid form")
	s.get(t, owner, s.path("/audit?page=%zz"), http.StatusBadRequest, "Invalid form")
	for _, text := range []string{"a\x00b", "a\xffb", "", strings.Repeat("a", 101)} {
		key := url.Values{"name": {"Till"}, "request": {text}, "preset": {"full"}, "lifetime": {"90"}}
		s.post(t, owner, s.path("/keys"), key, http.StatusBadRequest)
		invitation := url.Values{"email": {text}, "role": {text}, "request": {request}}
		s.post(t, owner, s.path("/members"), invitation, http.StatusUnprocessableEntity)
		invitation = url.Values{"email": {s.email("new")}, "role": {"viewer"}, "request": {text}}
		s.post(t, owner, s.path("/members"), invitation, http.StatusBadRequest)
	}
	if found, err := s.Keys.List(t.Context(), s.a.ID); err != nil || len(found) > 0 {
		t.Errorf("%d keys were created, %v", len(found), err)
	}
}

func TestSensitiveChangesAskForThePassword(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	key, member := s.mustKey(t, "Till"), s.mustPerson(t, "member", s.a, people.Viewer)
	newKey := url.Values{"name": {"New"}, "preset": {"full"}, "lifetime": {"90"}, "request": {rand.Text()}}
	webhook := fmt.Sprintf("/webhooks/%d", s.mustWebhook(t, "https://hooks.invalid/"+s.mark))
	s.mustCustomer(t, "17")
	for n, test := range []struct {
		path   string
		form   url.Values
		status int
	}{
		{"/keys", newKey, http.StatusOK},
		{fmt.Sprintf("/keys/%d/roll", key.ID), url.Values{"overlap": {"24"}}, http.StatusOK},
		{"/members", s.invitation("new"), http.StatusOK},
		{fmt.Sprintf("/members/%d/role", member), url.Values{"role": {"admin"}}, http.StatusSeeOther},
		{fmt.Sprintf("/members/%d/reset", member), url.Values{"request": {rand.Text()}}, http.StatusOK},
		{fmt.Sprintf("/members/%d/remove", member), url.Values{}, http.StatusSeeOther},
		{webhook + "/state", url.Values{"state": {webhooks.Paused}}, http.StatusSeeOther},
		{webhook + "/replay", url.Values{"from": {"now"}}, http.StatusSeeOther},
		{webhook + "/delete", url.Values{}, http.StatusSeeOther},
		{"/customers/17/erase", url.Values{}, http.StatusSeeOther},
	} {
		cookie := s.mustSession(t, s.mustPerson(t, fmt.Sprintf("owner%d", n), s.a, people.Owner))
		s.alter(t, `
			update sessions set confirmed_at = now() - interval '10 minutes 1 second'
			 where token_hash = $1`, sum(cookie))
		before := s.stored(t)
		submit := func(password string, status int, parts ...string) reply {
			form := maps.Clone(test.form)
			form.Set("password", password)
			return s.try(t, call{path: s.path(test.path), cookie: cookie, form: form, from: test.path}, status, parts...)
		}
		submit("", http.StatusUnprocessableEntity, "Enter your password.")
		submit("wrong", http.StatusUnprocessableEntity, "The password is incorrect.")
		if s.stored(t) != before {
			t.Errorf("%s changed the database without the password", test.path)
		}
		got := submit(password, test.status)
		if got.session() == "" || got.session() == cookie {
			t.Errorf("%s with the password sets the session %q, want a new one", test.path, got.session())
		}
		s.get(t, cookie, s.path("/keys"), http.StatusSeeOther, "/settings/sign-in")
		s.get(t, got.session(), s.path("/keys"), http.StatusOK)
	}
}

func TestInternalErrorsAreLoggedAndNotShown(t *testing.T) {
	t.Parallel()
	var logged error
	withFailed := func(s *site, temporary bool) http.Handler {
		o := s.Options
		o.Failed = func(_ *http.Request, err error) bool {
			logged = err
			return temporary
		}
		return New(o)
	}
	for _, test := range []struct {
		temporary bool
		status    int
		title     string
	}{
		{false, http.StatusInternalServerError, "Something went wrong"},
		{true, http.StatusServiceUnavailable, "Temporarily unavailable"},
	} {
		s := newSite(t, "https://shop.example.com")
		s.Handler = withFailed(s, test.temporary)
		cookie := s.mustVisitor(t, "owner", people.Owner)
		s.alter(t, `alter table audit_log rename to lost`)
		got := s.get(t, cookie, s.path("/audit"), test.status, test.title)
		retry := got.Header.Get("Retry-After")
		if strings.Contains(got.body, "audit_log") || db.SQLState(logged) != "42P01" || (retry != "") != test.temporary {
			t.Errorf("logged %v, Retry-After: %q", logged, retry)
		}
	}
	s := newSite(t, "https://shop.example.com")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(ctx, "GET", s.BaseURL.String()+s.path("/keys"), nil)
	r.AddCookie(&http.Cookie{Name: "__Host-storeroom", Value: s.mustVisitor(t, "owner", people.Owner)})
	withFailed(s, true).ServeHTTP(httptest.NewRecorder(), r)
	if !errors.Is(logged, context.Canceled) {
		t.Errorf("a request of a disconnected browser is logged as %v", logged)
	}
}

func TestSignInLeadsBackToTheRequestedPage(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	s.mustPerson(t, "ann", s.a, people.Owner)
	for _, page := range []string{
		s.path("/keys"), s.path("/audit?act=key.&page=2"), s.path("/start?key=7"), "/settings/password",
		s.path("/audit?act=" + url.QueryEscape("a b&c=/\\#?")),
	} {
		location := s.get(t, "", page, http.StatusSeeOther).Header.Get("Location")
		form := s.get(t, "", location, http.StatusOK)
		_, hidden, _ := strings.Cut(form.body, `name="next" value="`)
		hidden, _, _ = strings.Cut(hidden, `"`)
		credentials := s.credentials("ann", password)
		credentials.Set("next", html.UnescapeString(hidden))
		got := s.try(t, call{path: "/settings/sign-in", form: credentials, from: page}, http.StatusSeeOther)
		want, err := url.Parse(page)
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(got.Header.Get("Location"))
		if err != nil || u.Host != "" || u.Path != want.Path || u.Query().Encode() != want.Query().Encode() {
			t.Errorf("%s: sign-in leads to %q, %v", page, got.Header.Get("Location"), err)
		}
	}
	invalid := httptest.NewRequest("GET", "/settings/sign-in?next="+url.QueryEscape("/settings/t/a?%zz&b=1"), nil)
	if got := next(invalid); got != "/settings/t/a?b=1" {
		t.Errorf("next with an invalid parameter leads to %q, want the page without it", got)
	}
	for _, to := range []string{
		"//evil.example", `/\evil.example`, "https://evil.example/settings/t/a", "/settings/t/..//evil.example",
		"/settings/t/%2f%2fevil.example", "/settings/t/%5cevil.example", "%2f%2fevil.example", "/settings/tx",
		"/settings/t/a/%2e%2e/b", "/settings/t/a/.%2E/.%2e/b", "/settings/t/a/%2e/b", "/settings/t/a//b", "/settings/t/a%2fb/c",
		`/settings/t/a\b`, "/settings/%74/a",
		"/settings/password/x", "/settings/link/x", "/settings/t/a#b",
		"/settings/t/" + strings.Repeat("a", 2048), "?a=b", "/api/me",
	} {
		r := httptest.NewRequest("GET", "/settings/sign-in?next="+url.QueryEscape(to), nil)
		if got := next(r); got != "/settings" {
			t.Errorf("next %q leads to %q, want /settings", to, got)
		}
	}
}

func TestFormsAfterTheSessionExpired(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	const warning = "may not have been saved"
	for path, next := range map[string]string{
		s.path("/keys"):           s.path("/keys"),
		s.path("/keys/7/roll"):    s.path("/keys/7/roll"),
		s.path("/members/7/role"): "/settings",
		"/settings/password":      "/settings/password",
	} {
		late := s.post(t, freshToken(), path, url.Values{"name": {"Till"}}, http.StatusSeeOther)
		s.get(t, "", late.Header.Get("Location"), http.StatusOK, warning, `name="next" value="`+next+`"`)
	}
	location := s.get(t, "", s.path("/keys"), http.StatusSeeOther).Header.Get("Location")
	if page := s.get(t, "", location, http.StatusOK); strings.Contains(page.body, warning) {
		t.Error("the sign-in page warns of a lost form, but none was submitted")
	}
}

// FuzzNext checks that sign-in leads to a page of this package for any value of next.
func FuzzNext(f *testing.F) {
	for _, seed := range []string{
		"", "/settings/t/a/keys", "//evil.example", "/settings/t//evil.example", "/settings/t/../../../evil",
		`/settings/t/\evil.example`, "https://evil.example/settings/t/", "/settings/t/a\r\nSet-Cookie: x=y",
		"/settings/t/a/customers/gid:%2F%2Fshopify%2FCustomer%2F1/data", "/settings/t/a/%5C%2e%2e%2f%2e%2e/b",
		"/settings/t/%2e%2e/%2e%2e//evil.example", "/settings/t/\t/evil.example", "javascript:alert(1)",
		"/settings/t/a?b#c", "/settings/t/a/audit?act=key.&page=2", "/settings/t/a?//evil.example",
		`/settings/t/a?\\evil.example`, "/settings/password?next=//evil.example", "\x00/settings/t/", "/settings/t/\x7f\xff",
	} {
		f.Add(seed)
	}
	base := url.URL{Scheme: "https", Host: "shop.example.com", Path: "/settings/sign-in"}
	f.Fuzz(func(t *testing.T, to string) {
		r := httptest.NewRequest("POST", base.String(), strings.NewReader(url.Values{"next": {to}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		http.Redirect(w, r, next(r), http.StatusSeeOther)
		location := w.Header().Get("Location")
		// Browsers remove tabs and line breaks, and treat a backslash as a slash.
		seen := strings.NewReplacer("\t", "", "\n", "", "\r", "", `\`, "/").Replace(location)
		u, err := base.Parse(seen)
		switch {
		case err != nil || u.Host != base.Host || u.Scheme != "https" || !strings.HasPrefix(u.Path, "/settings"):
			t.Errorf("next %q leads to %q: %v, %v", to, location, u, err)
		case strings.ContainsFunc(location, unicode.IsControl):
			t.Errorf("next %q leads to %q with control characters", to, location)
		}
	})
}
