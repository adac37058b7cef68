package settings

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
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/people"
)

// credentials are the sign-in form of a person.
func (s *site) credentials(name, password string) url.Values {
	return url.Values{"email": {s.email(name)}, "password": {password}}
}

func TestTheCookie(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		base string
		want http.Cookie
	}{
		{"https://shop.example.com", http.Cookie{Name: "__Host-storeroom", Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode}},
		{"http://127.0.0.1:8080", http.Cookie{Name: "storeroom-insecure", Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode}},
	} {
		t.Run(test.base, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, test.base)
			s.mustPerson(t, "ann", s.a, people.Owner)
			got := s.try(t, call{path: "/settings/sign-in", form: s.credentials("ann", password)}, http.StatusSeeOther)
			if len(got.Cookies()) != 1 || len(got.session()) != 43 {
				t.Fatalf("cookies = %v, want one token", got.Cookies())
			}
			test.want.Value = got.session()
			if has := got.Header.Get("Set-Cookie"); has != test.want.String() {
				t.Errorf("Set-Cookie: %s, want %s", has, test.want.String())
			}
			s.try(t, call{path: s.path("/keys"), cookie: got.session()}, http.StatusOK)
			out := s.try(t, call{path: "/settings/sign-out", cookie: got.session(), form: url.Values{}}, http.StatusSeeOther, "/settings/sign-in")
			test.want.Value, test.want.MaxAge = "", -1
			if has := out.Header.Get("Set-Cookie"); has != test.want.String() {
				t.Errorf("Set-Cookie after signing out: %s, want %s", has, test.want.String())
			}
			s.try(t, call{path: s.path("/keys"), cookie: got.session()}, http.StatusSeeOther, "/settings/sign-in")
		})
	}
}

func TestCheckBaseURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://shop.example.com": "", "https://shop.example.com/": "", "https://shop.example.com:8443": "", "https://192.0.2.1": "",
		"http://127.0.0.1:8080": "", "http://127.8.9.1": "", "http://localhost": "", "http://[::1]:8080": "", "HTTP://localhost": "",
		"http://shop.example.com": "must begin with https://; http is allowed only for 127.0.0.1", "http://192.0.2.1": "must begin with https://;",
		"http://0.0.0.0:8080": "must begin with https://;", "http://localhost.example.com": "must begin with https://;",
		"http://[::ffff:192.0.2.1]": "must begin with https://;", "http://127.0.0.1.example.com": "must begin with https://;",
		"ftp://shop.example.com": "must begin with https://", "shop.example.com": "must be a URL", "": "must be a URL",
		"https:///": "must be a URL", "https://:443": "must be a URL", "https:shop.example.com": "must be a URL",
		"https://shop.example.com/shop": "must be a URL without a path", "https://shop.example.com?": "must be a URL",
		"https://shop.example.com?a": "must be a URL", "https://shop.example.com#a": "must be a URL", "https://ann@shop.example.com": "must be a URL",
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := CheckBaseURL(u); want == "" && got != nil || want != "" && (got == nil || !strings.HasPrefix(got.Error(), want)) {
			t.Errorf("CheckBaseURL(%s) = %v, want %q", text, got, want)
		}
	}
}

func TestSigningInGivesAnotherSession(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	ann := s.mustPerson(t, "ann", s.a, people.Owner)
	mallory := s.mustSession(t, s.mustPerson(t, "mallory", s.b, people.Owner))
	for name, planted := range map[string]string{"that nobody has": freshToken(), "that somebody else has": mallory, "of her own": s.mustSession(t, ann)} {
		t.Run("than one "+name, func(t *testing.T) {
			got := s.try(t, call{path: "/settings/sign-in", cookie: planted, form: s.credentials("ann", password), from: name}, http.StatusSeeOther)
			if got.session() == planted || len(got.session()) != 43 {
				t.Errorf("the session is %q, want one of her own", got.session())
			}
			s.try(t, call{path: s.path("/keys"), cookie: got.session()}, http.StatusOK)
			s.try(t, call{path: s.path("/keys"), cookie: planted}, http.StatusSeeOther, "/settings/sign-in")
		})
	}
}

func TestSigningInTellsNothingOfWhoExists(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	s.mustPerson(t, "ann", s.a, people.Owner)
	page := func(name string) string {
		got := s.try(t, call{path: "/settings/sign-in", form: s.credentials(name, "wrong"), from: name}, http.StatusUnprocessableEntity, "Incorrect e-mail address or password.", `id="password-error"`)
		if n := strings.Count(got.body, ` aria-invalid="true" aria-describedby="password-error"`); n != 2 {
			t.Errorf("%d fields are tied to what is wrong, want both", n)
		}
		if got.session() != "" {
			t.Errorf("%s got a session", name)
		}
		return strings.ReplaceAll(got.body, s.email(name), "E")
	}
	if page("ann") != page("bob") {
		t.Error("the page of a wrong password differs from that of nobody")
	}
	for name, form := range map[string]url.Values{"nothing": {}, "a NUL": {"email": {"\x00"}, "password": {"\x00"}}, "broken UTF-8": {"email": {"\xff@\xfe"}, "password": {"\xff"}}} {
		s.try(t, call{path: "/settings/sign-in", form: form, from: name}, http.StatusUnprocessableEntity, "Incorrect e-mail address or password.")
	}
}

func TestAnotherSiteCannotSendForms(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	owner := s.mustVisitor(t, "owner", people.Owner)
	key := s.mustKey(t, "Till")
	revoke := call{path: s.path(fmt.Sprintf("/keys/%d/revoke", key.ID)), cookie: owner, form: url.Values{}}
	before := s.stored(t)
	for name, header := range map[string]http.Header{
		"Sec-Fetch-Site: cross-site":      {"Sec-Fetch-Site": {"cross-site"}},
		"Sec-Fetch-Site: same-site":       {"Sec-Fetch-Site": {"same-site"}, "Origin": {"https://www.example.com"}},
		"the origin of another":           {"Origin": {"https://evil.example"}},
		"the origin of another port":      {"Origin": {"https://shop.example.com:8443"}},
		"no origin that could be told":    {"Origin": {"null"}},
		"another origin, cross-site both": {"Origin": {"https://evil.example"}, "Sec-Fetch-Site": {"cross-site"}},
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
		t.Error("a form of another site changed something")
	}
	s.try(t, call{path: s.path("/keys"), cookie: owner, header: http.Header{"Sec-Fetch-Site": {"cross-site"}}}, http.StatusOK) // a link is no form
	revoke.header = http.Header{"Sec-Fetch-Site": {"same-origin"}, "Origin": {"https://shop.example.com"}}
	s.try(t, revoke, http.StatusSeeOther, s.path("/keys"))
}

// throttled runs what counts on the limiter with a new person, again where Redis did
// not answer in time: the instance counted by itself then, from nothing.
func (s *site) throttled(t *testing.T, f func(name string) (fault string)) {
	t.Helper()
	for n := 1; ; n++ {
		before := s.Limiter.Stats().Local
		fault := f(fmt.Sprint("ann", n))
		switch local := s.Limiter.Stats().Local - before; {
		case fault == "":
			return
		case local == 0 || n == 8:
			t.Fatalf("%s (%d decisions without Redis)", fault, local)
		}
	}
}

func TestWhoTriesPasswordsMustWait(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	s.throttled(t, func(name string) string { return s.tryPasswords(t, name) })
}

// tryPasswords tries more passwords of a new person than public may, and returns
// what is wrong with the answers.
func (s *site) tryPasswords(t *testing.T, name string) string {
	t.Helper()
	s.mustPerson(t, name, s.a, people.Owner)
	attacker, home := "attacker of "+name, name+" at home"
	try := func(from, password string) reply {
		return s.do(t, call{path: "/settings/sign-in", form: s.credentials(name, password), from: from})
	}
	for n := range perAccountHere.Burst {
		if got := try(attacker, "wrong"); got.StatusCode != http.StatusUnprocessableEntity {
			return fmt.Sprintf("try %d = %d, want 422", n, got.StatusCode)
		}
	}
	longest := perAccountHere.Every.Seconds()
	for n := range 2 * perNetwork.Burst { // more than the network's own bucket holds
		got := try(attacker, []string{"wrong", password}[n%2])
		wait, err := strconv.Atoi(got.Header.Get("Retry-After"))
		if got.StatusCode != http.StatusTooManyRequests || err != nil || wait < 1 || float64(wait) > longest || got.session() != "" {
			return fmt.Sprintf("try %d = %d with Retry-After: %q, want 429 and a wait of at most %v s, however often it is tried", n, got.StatusCode, got.Header.Get("Retry-After"), longest)
		}
		if text := "Please wait " + (&waitError{time.Duration(wait) * time.Second}).words(); !strings.Contains(got.body, text) {
			return fmt.Sprintf("the page does not say %q", text)
		}
	}
	if got := try(home, password); got.StatusCode != http.StatusSeeOther {
		return fmt.Sprintf("the person from another address = %d, want 303: nobody is locked out", got.StatusCode)
	}
	spellings := url.Values{"email": {" " + strings.ToUpper(s.email(name)) + " "}, "password": {"wrong"}}
	if got := s.do(t, call{path: "/settings/sign-in", form: spellings, from: attacker}); got.StatusCode != http.StatusTooManyRequests {
		return fmt.Sprintf("the same account, spelled otherwise = %d, want 429", got.StatusCode)
	}
	return ""
}

// An office behind one address comes in; who tries one account after the other from
// there is slowed down.
func TestANetworkPaysForFailuresAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	s.throttled(t, func(name string) string {
		const persons = 4
		try := func(n int, password string) int {
			return s.do(t, call{path: "/settings/sign-in", form: s.credentials(fmt.Sprint(name, n), password), from: "office of " + name}).StatusCode
		}
		for n := range persons {
			s.mustPerson(t, fmt.Sprint(name, n), s.a, people.Owner)
		}
		for n := range perNetwork.Burst + persons {
			if got := try(n%persons, password); got != http.StatusSeeOther {
				return fmt.Sprintf("sign-in %d = %d, want 303", n, got)
			}
		}
		for n := range perNetwork.Burst {
			if got := try(persons+n, "wrong"); got != http.StatusUnprocessableEntity {
				return fmt.Sprintf("failure %d = %d, want 422", n, got)
			}
		}
		if got := try(2*persons+perNetwork.Burst, "wrong"); got != http.StatusTooManyRequests {
			return fmt.Sprintf("one failure more = %d, want 429", got)
		}
		return ""
	})
}

func TestAWaitIsToldInWords(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]string{
		0: "1 second", time.Second: "1 second", 1100 * time.Millisecond: "2 seconds", 2 * time.Minute: "120 seconds",
		2*time.Minute + 1: "3 minutes", 14*time.Minute + 30*time.Second: "15 minutes", 15 * time.Minute: "15 minutes",
	} {
		if got := (&waitError{wait}).words(); got != want {
			t.Errorf("a wait of %v = %q, want %q", wait, got, want)
		}
	}
}

// Where the person came in with the password lately, they come in again and again,
// whoever else guesses at the account; where only guesses came from, there are few.
func TestWhoCameInLatelyIsNotSlowedDownByOthers(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	s.throttled(t, func(name string) string {
		s.mustPerson(t, name, s.a, people.Owner)
		try := func(from, password string) int {
			return s.do(t, call{path: "/settings/sign-in", form: s.credentials(name, password), from: from + " of " + name}).StatusCode
		}
		for n := range failures.Burst {
			try(fmt.Sprint("network ", n), "wrong")
		}
		for n := range underAttack.Burst + 2 {
			if got := try("home", password); got != http.StatusSeeOther {
				return fmt.Sprintf("sign-in %d at home = %d, want 303", n, got)
			}
		}
		for range underAttack.Burst {
			try("elsewhere", "wrong")
		}
		if got := try("elsewhere", "wrong"); got != http.StatusTooManyRequests {
			return fmt.Sprintf("one more guess from elsewhere = %d, want 429", got)
		}
		return ""
	})
}

// However many networks guess at an account together, its person comes in: from home
// with the password, and by a link.
func TestManyNetworksLockNobodyOut(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	s.throttled(t, func(name string) string {
		ann := s.mustPerson(t, name, s.a, people.Owner)
		try := func(from, password string) int {
			return s.do(t, call{path: "/settings/sign-in", form: s.credentials(name, password), from: from + " against " + name}).StatusCode
		}
		for n := range 50 {
			if got := try(fmt.Sprint("network ", n), "wrong"); got != http.StatusUnprocessableEntity {
				return fmt.Sprintf("the try of network %d = %d, want 422", n, got)
			}
		}
		for n := range underAttack.Burst + 1 {
			want := http.StatusUnprocessableEntity
			if n == underAttack.Burst {
				want = http.StatusTooManyRequests
			}
			if got := try("one more network", "wrong"); got != want {
				return fmt.Sprintf("try %d of one more network = %d, want %d: after %d failures each has %d", n, got, want, failures.Burst, underAttack.Burst)
			}
		}
		for n, given := range []string{"a typo", "another", password} {
			want := []int{http.StatusUnprocessableEntity, http.StatusUnprocessableEntity, http.StatusSeeOther}[n]
			if got := try("home", given); got != want {
				return fmt.Sprintf("try %d of the person at home = %d, want %d", n, got, want)
			}
		}
		for n := range 2 * perLinkHere.Burst { // their own network may be the attacker's
			try("home", fmt.Sprint("wrong ", n))
		}
		invitation, err := people.New(s.Admin).Invite(t.Context(), s.b.ID, tenancy.Operator, "", s.email(name), people.Viewer)
		if err != nil {
			t.Fatal(err)
		}
		reset, err := people.New(s.Admin).ResetAnywhere(t.Context(), s.email(name))
		if err != nil {
			t.Fatal(err)
		}
		for what, token := range map[string]people.Token{"an invitation": invitation, "a reset": reset} {
			got := s.do(t, call{path: "/settings/link/" + token.Reveal(), form: url.Values{"password": {password}}, from: "home against " + name})
			if got.StatusCode != http.StatusSeeOther || got.session() == "" {
				return fmt.Sprintf("the link of %s = %d, want 303 and a session", what, got.StatusCode)
			}
		}
		// Who is signed in is asked for the password in a bucket of their own.
		cookie := s.mustSession(t, ann)
		change := url.Values{"current": {password}, "new": {"another horse battery"}, "confirm": {"another horse battery"}}
		if got := s.do(t, call{path: "/settings/password", cookie: cookie, form: change, from: "home against " + name}); got.StatusCode != http.StatusOK {
			return fmt.Sprintf("a change of the password = %d, want 200", got.StatusCode)
		}
		return ""
	})
}

// An invitation asks for the password of the account, and must not be a way to guess it.
func TestWhoTriesPasswordsByALinkMustWait(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	s.throttled(t, func(name string) string {
		s.mustPerson(t, name, s.a, people.Owner)
		refused := 0
		for range perLinkHere.Burst + 3 {
			// Another link is no way around it.
			token, err := people.New(s.Admin).Invite(t.Context(), s.b.ID, tenancy.Operator, "", s.email(name), people.Viewer)
			if err != nil {
				t.Fatal(err)
			}
			switch got := s.do(t, call{path: "/settings/link/" + token.Reveal(), form: url.Values{"password": {"wrong horse battery"}}}); {
			case got.StatusCode == http.StatusTooManyRequests:
				refused++
			case got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(got.body, "ask the operator of this service for a password reset"):
				t.Fatalf("a wrong password by a link = %d: %s", got.StatusCode, got.body)
			}
		}
		if refused != 3 {
			return fmt.Sprintf("%d tries were refused, want 3", refused)
		}
		return ""
	})
}

func TestFormsAreBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	owner := s.mustVisitor(t, "owner", people.Owner)
	// request is what the form of a new key holds.
	const request = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	fits := url.Values{"request": {request}, "name": {strings.Repeat("a", maxForm-len("name=&request="+request))}}
	s.try(t, call{path: s.path("/keys"), cookie: owner, form: fits}, http.StatusUnprocessableEntity)
	s.try(t, call{path: s.path("/keys"), cookie: owner, body: fits.Encode() + "a"}, http.StatusRequestEntityTooLarge, "Form too large")
	s.try(t, call{path: s.path("/keys"), cookie: owner, body: "name=%zz"}, http.StatusBadRequest, "Invalid form")
	s.try(t, call{path: s.path("/audit?page=%zz"), cookie: owner}, http.StatusBadRequest, "Invalid form")
	for _, text := range []string{"a\x00b", "a\xffb", "", strings.Repeat("a", 101)} {
		s.try(t, call{path: s.path("/keys"), cookie: owner, form: url.Values{"name": {"Till"}, "request": {text}, "preset": {"full"}, "lifetime": {"90"}}}, http.StatusBadRequest)
		s.try(t, call{path: s.path("/members"), cookie: owner, form: url.Values{"email": {text}, "role": {text}, "request": {request}}}, http.StatusUnprocessableEntity)
		s.try(t, call{path: s.path("/members"), cookie: owner, form: url.Values{"email": {s.email("new")}, "role": {"viewer"}, "request": {text}}}, http.StatusBadRequest)
	}
	if found, err := s.Keys.List(t.Context(), s.a.ID); err != nil || len(found) > 0 {
		t.Errorf("%d keys were made, %v", len(found), err)
	}
}

func TestARecentPasswordIsAskedFor(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	key, member := s.mustKey(t, "Till"), s.mustPerson(t, "member", s.a, people.Viewer)
	cookie := ""
	for n, test := range []struct {
		path   string
		form   url.Values
		status int
	}{
		{"/keys", url.Values{"name": {"New"}, "preset": {"full"}, "lifetime": {"90"}, "request": {rand.Text()}}, http.StatusOK},
		{fmt.Sprintf("/keys/%d/roll", key.ID), url.Values{"overlap": {"24"}}, http.StatusOK},
		{"/members", url.Values{"email": {"new@" + s.mark + ".example"}, "role": {"viewer"}, "request": {rand.Text()}}, http.StatusOK},
		{fmt.Sprintf("/members/%d/role", member), url.Values{"role": {"admin"}}, http.StatusSeeOther},
		{fmt.Sprintf("/members/%d/reset", member), url.Values{"request": {rand.Text()}}, http.StatusOK},
		{fmt.Sprintf("/members/%d/remove", member), url.Values{}, http.StatusSeeOther},
	} {
		cookie = s.mustSession(t, s.mustPerson(t, fmt.Sprintf("owner%d", n), s.a, people.Owner))
		s.alter(t, `update sessions set confirmed_at = now() - interval '10 minutes 1 second' where token_hash = $1`, sum(cookie))
		before := s.stored(t)
		for given, fault := range map[string]string{"": "Enter your password.", "wrong": "The password is incorrect."} {
			form := url.Values{"password": {given}}
			for name, values := range test.form {
				form[name] = values
			}
			s.try(t, call{path: s.path(test.path), cookie: cookie, form: form, from: test.path}, http.StatusUnprocessableEntity, fault)
		}
		if s.stored(t) != before {
			t.Errorf("%s did something without the password", test.path)
		}
		test.form.Set("password", password)
		got := s.try(t, call{path: s.path(test.path), cookie: cookie, form: test.form, from: test.path}, test.status)
		if got.session() == "" || got.session() == cookie {
			t.Errorf("%s with the password sets the session %q, want another", test.path, got.session())
		}
		s.try(t, call{path: s.path("/keys"), cookie: cookie}, http.StatusSeeOther, "/settings/sign-in")
		s.try(t, call{path: s.path("/keys"), cookie: got.session()}, http.StatusOK)
	}
}

func sum(token string) []byte {
	b := sha256.Sum256([]byte(token))
	return b[:]
}

func TestOurFaultsAreNotedAndTellNothing(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		temporary bool
		status    int
		want      string
	}{{false, http.StatusInternalServerError, "Something went wrong"}, {true, http.StatusServiceUnavailable, "Temporarily unavailable"}} {
		s := newSite(t, "https://shop.example.com")
		var noted error
		o := s.Options
		o.Failed = func(_ *http.Request, err error) bool {
			noted = err
			return test.temporary
		}
		s.Handler = New(o)
		cookie := s.mustVisitor(t, "owner", people.Owner)
		s.alter(t, `alter table audit_log rename to lost`)
		got := s.try(t, call{path: s.path("/audit"), cookie: cookie}, test.status, test.want)
		if strings.Contains(got.body, "audit_log") || tenancy.SQLState(noted) != "42P01" || (got.Header.Get("Retry-After") != "") != test.temporary {
			t.Errorf("noted %v, Retry-After: %q", noted, got.Header.Get("Retry-After"))
		}
	}
	s := newSite(t, "https://shop.example.com")
	cookie := s.mustVisitor(t, "owner", people.Owner)
	var noted error
	o := s.Options
	o.Failed = func(_ *http.Request, err error) bool {
		noted = err
		return true
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(ctx, "GET", s.BaseURL.String()+s.path("/keys"), nil)
	r.AddCookie(&http.Cookie{Name: "__Host-storeroom", Value: cookie})
	New(o).ServeHTTP(httptest.NewRecorder(), r)
	if !errors.Is(noted, context.Canceled) {
		t.Errorf("a browser that hangs up is noted as %v", noted)
	}
}

func TestALinkIsPassedOn(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	owner := s.mustVisitor(t, "owner", people.Owner)
	made := s.try(t, call{path: s.path("/members"), cookie: owner, form: url.Values{"email": {" " + strings.ToUpper(s.email("new"))}, "role": {"viewer"}, "request": {rand.Text()}}}, http.StatusOK, "Invitation for "+s.email("new"))
	_, rest, found := strings.Cut(made.body, "https://shop.example.com/settings/link/")
	if !found {
		t.Fatalf("the page has no link: %s", made.body)
	}
	path := "/settings/link/" + rest[:43]
	s.try(t, call{path: path}, http.StatusOK, "viewer", s.email("new"))
	s.try(t, call{path: path, form: url.Values{"password": {"short"}}}, http.StatusUnprocessableEntity, "The password must have 12 to 128 characters.", `aria-describedby="password-hint password-error"`)
	got := s.try(t, call{path: path, form: url.Values{"password": {"brand new horse"}}}, http.StatusSeeOther)
	s.try(t, call{path: s.path("/keys"), cookie: got.session()}, http.StatusOK, s.email("new"))
	s.try(t, call{path: path, form: url.Values{"password": {"brand new horse"}}}, http.StatusNotFound, "This link is no longer valid")
	if strings.Contains(s.stored(t), rest[:43]) {
		t.Error("the database holds the link")
	}
}

func TestSigningInLeadsBackToThePage(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	s.mustPerson(t, "ann", s.a, people.Owner)
	for _, page := range []string{s.path("/keys"), s.path("/audit?act=key.&page=2"), s.path("/start?key=7"), "/settings/password", s.path("/audit?act=" + url.QueryEscape("a b&c=/\\#?"))} {
		asked := s.try(t, call{path: page}, http.StatusSeeOther)
		to := asked.Header.Get("Location")
		form := s.try(t, call{path: to}, http.StatusOK)
		hidden := html.UnescapeString(strings.SplitN(strings.SplitN(form.body, `name="next" value="`, 2)[1], `"`, 2)[0])
		credentials := s.credentials("ann", password)
		credentials.Set("next", hidden)
		got := s.try(t, call{path: "/settings/sign-in", form: credentials, from: page}, http.StatusSeeOther)
		want, err := url.Parse(page)
		if err != nil {
			t.Fatal(err)
		}
		if u, err := url.Parse(got.Header.Get("Location")); err != nil || u.Path != want.Path || u.Query().Encode() != want.Query().Encode() || u.Host != "" {
			t.Errorf("%s: signing in leads to %q, %v", page, got.Header.Get("Location"), err)
		}
	}
	for _, to := range []string{
		"//evil.example", `/\evil.example`, "https://evil.example/settings/t/a", "/settings/t/..//evil.example", "/settings/t/%2f%2fevil.example", "/settings/t/%5cevil.example",
		"%2f%2fevil.example", "/settings/tx", "/settings/password/x", "/settings/link/x", "/settings/t/a?%zz", "/settings/t/a#b", "/settings/t/" + strings.Repeat("a", 2048), "?a=b", "/api/me",
	} {
		r := httptest.NewRequest("GET", "/settings/sign-in?next="+url.QueryEscape(to), nil)
		if got := next(r); got != "/settings" {
			t.Errorf("next %q leads to %q, want the start", to, got)
		}
	}
}

func TestAFormThatComesTooLateIsNotLostInSilence(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	for path, next := range map[string]string{
		s.path("/keys"): s.path("/keys"), s.path("/keys/7/roll"): s.path("/keys/7/roll"), s.path("/members/7/remove"): "/settings", "/settings/password": "/settings/password",
	} {
		late := s.try(t, call{path: path, cookie: freshToken(), form: url.Values{"name": {"Till"}}}, http.StatusSeeOther)
		s.try(t, call{path: late.Header.Get("Location")}, http.StatusOK, "may not have been saved", `name="next" value="`+next+`"`)
	}
	asked := s.try(t, call{path: s.path("/keys")}, http.StatusSeeOther)
	if page := s.try(t, call{path: asked.Header.Get("Location")}, http.StatusOK); strings.Contains(page.body, "may not have been saved") {
		t.Error("who has sent nothing is told that it may be lost")
	}
}

// FuzzNext: whatever stands in next, signing in leads to a page of ours.
func FuzzNext(f *testing.F) {
	for _, seed := range []string{
		"", "/settings/t/a/keys", "//evil.example", "/settings/t//evil.example", "/settings/t/../../../evil", `/settings/t/\evil.example`, "https://evil.example/settings/t/",
		"/settings/t/a\r\nSet-Cookie: x=y", "/settings/t/%2e%2e/%2e%2e//evil.example", "/settings/t/\t/evil.example", "javascript:alert(1)", "/settings/t/a?b#c", "/settings/t/a/audit?act=key.&page=2", "/settings/t/a?//evil.example", `/settings/t/a?\\evil.example`, "/settings/password?next=//evil.example", "\x00/settings/t/", "/settings/t/\x7f\xff",
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
		// What a browser makes of it: it drops tabs and takes a backslash for a slash.
		seen := strings.NewReplacer("\t", "", "\n", "", "\r", "", `\`, "/").Replace(location)
		u, err := base.Parse(seen)
		if err != nil || u.Host != base.Host || u.Scheme != "https" || !strings.HasPrefix(u.Path, "/settings") || strings.ContainsFunc(location, unicode.IsControl) {
			t.Errorf("next %q leads to %q: %v, %v", to, location, u, err)
		}
	})
}

// attempt is one sign-in of a test that sends many at the same time.
type attempt struct{ name, network string }

// signInTogether sends wrong passwords at the same time and counts the answers by status.
func (s *site) signInTogether(t *testing.T, attempts []attempt) map[int]int {
	t.Helper()
	statuses := make(chan int, len(attempts))
	start := make(chan struct{})
	for _, a := range attempts {
		form := s.credentials(a.name, "wrong").Encode()
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/settings/sign-in", strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.RemoteAddr = a.network
		go func() {
			<-start
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			statuses <- w.Code
		}()
	}
	close(start)
	counts := map[int]int{}
	for range attempts {
		counts[<-statuses]++
	}
	return counts
}

func TestParallelGuessesDoNotPassTheLimitOfANetwork(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	s.throttled(t, func(name string) string {
		const left, together = 5, 20
		network := "network of " + name
		const accounts = 6
		for n := range accounts {
			s.mustPerson(t, fmt.Sprint(name, ".", n), s.a, people.Owner)
		}
		guess := func(n int) attempt { return attempt{fmt.Sprint(name, ".", n%accounts), network} }
		var before, attempts []attempt
		for n := range perNetwork.Burst - left {
			before = append(before, guess(n))
		}
		s.signInTogether(t, before)
		for n := range together {
			attempts = append(attempts, guess(n))
		}
		want := map[int]int{http.StatusUnprocessableEntity: left, http.StatusTooManyRequests: together - left}
		if got := s.signInTogether(t, attempts); !maps.Equal(got, want) {
			return fmt.Sprintf("%d guesses at the same time = %v, want %v", together, got, want)
		}
		return ""
	})
}

func TestParallelGuessesDoNotPassTheLimitOfAnAccount(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	s.throttled(t, func(name string) string {
		const left, networks, each = 2, 2, 8
		s.mustPerson(t, name, s.a, people.Owner)
		var before, attempts []attempt
		for n := range failures.Burst - left {
			before = append(before, attempt{name, fmt.Sprint("network ", n, " of ", name)})
		}
		s.signInTogether(t, before)
		for n := range networks * each {
			attempts = append(attempts, attempt{name, fmt.Sprint("last network ", n%networks, " of ", name)})
		}
		checked := left + networks*underAttack.Burst
		want := map[int]int{http.StatusUnprocessableEntity: checked, http.StatusTooManyRequests: networks*each - checked}
		if got := s.signInTogether(t, attempts); !maps.Equal(got, want) {
			return fmt.Sprintf("%d guesses at the same time = %v, want %v", len(attempts), got, want)
		}
		return ""
	})
}
