package settings

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"golang.org/x/crypto/argon2"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/ratelimit"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/people"
	"github.com/storeroom/storeroom/tenancy/tenancytest"
)

// site is the pages on a database of their own, with two tenants.
type site struct {
	*tenancytest.Database
	http.Handler
	Options
	super *pgx.Conn
	a, b  tenancy.Tenant
	mark  string // sets this test's slugs, e-mails and addresses apart in Redis, which tests share
	log   []error
}

const password = "correct horse battery"

// passwordHash costs next to nothing to check: what tries cost is tested elsewhere.
var passwordHash = sync.OnceValue(func() string {
	salt := []byte("of every person")
	encode := base64.RawStdEncoding.EncodeToString
	return "$argon2id$v=19$m=8,t=1,p=1$" + encode(salt) + "$" + encode(argon2.IDKey([]byte(password), salt, 1, 8, 1, 32))
})

// newSite serves the pages at a base URL.
func newSite(t testing.TB, base string) *site {
	t.Helper()
	s := &site{Database: tenancytest.New(t), mark: fmt.Sprintf("%x", rand.Uint64())}
	s.super = s.MustSuper(t)
	s.a, s.b = s.MustTenant(t, "a-"+s.mark), s.MustTenant(t, "b-"+s.mark)
	peppers, err := keys.ParsePeppers("1:" + strings.Repeat("5e", 32))
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("REDIS_URL") == "" {
		t.Fatal("REDIS_URL is not set: run make test")
	}
	limiter, err := ratelimit.Open(t.Context(), os.Getenv("REDIS_URL"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { limiter.Close() })
	s.Options = Options{
		DB: s.Database.DB, People: people.New(s.Database.DB), Keys: keys.New(s.Database.DB, peppers), Limiter: limiter, BaseURL: at,
		Address: func(r *http.Request) string { return s.mark + r.RemoteAddr },
		Failed: func(_ *http.Request, err error) bool {
			s.log = append(s.log, err)
			return false
		},
	}
	s.Handler = New(s.Options)
	return s
}

// email is an address that no other test has.
func (s *site) email(name string) string { return name + "@" + s.mark + ".example" }

// mustPerson makes an account with the password, a member of the tenant if it has a
// role.
func (s *site) mustPerson(t testing.TB, name string, tenant tenancy.Tenant, role people.Role) (id int64) {
	t.Helper()
	err := s.super.QueryRow(t.Context(), `insert into users (email, password_hash) values ($1, $2) returning id`, s.email(name), passwordHash()).Scan(&id)
	if err != nil {
		t.Fatal(err)
	}
	if role != "" {
		s.alter(t, `insert into memberships (tenant_id, user_id, role) values ($1, $2, $3)`, tenant.ID, id, role)
	}
	return id
}

// mustSession signs a person in.
func (s *site) mustSession(t testing.TB, person int64) (cookie string) {
	t.Helper()
	cookie = freshToken()
	sum := sha256.Sum256([]byte(cookie))
	s.alter(t, `insert into sessions (token_hash, user_id) values ($1, $2)`, sum[:], person)
	return cookie
}

// mustVisitor makes a member of A and signs them in.
func (s *site) mustVisitor(t testing.TB, name string, role people.Role) (cookie string) {
	t.Helper()
	return s.mustSession(t, s.mustPerson(t, name, s.a, role))
}

func freshToken() string {
	return fmt.Sprintf("%043d", rand.Uint64())
}

func (s *site) mustKey(t testing.TB, name string) keys.Key {
	t.Helper()
	key, _, err := s.Keys.Create(t.Context(), s.a.ID, tenancy.Operator, keys.NewKey{Name: name, Permissions: keys.Permissions{keys.ProductsRead}})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (s *site) alter(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := s.super.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// stored is every row of every table.
func (s *site) stored(t testing.TB) string {
	t.Helper()
	rows, err := s.super.Query(t.Context(), `
		select query_to_xml(format('select * from %I', relname), true, false, '')::text
		  from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')`)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(all) < 20 {
		t.Fatalf("%d tables, %v", len(all), err)
	}
	return strings.Join(all, "\n")
}

// path is a page of A.
func (s *site) path(rest string) string { return "/settings/t/" + s.a.Slug + rest }

// call is a request; a form makes it a POST.
type call struct {
	method string
	path   string
	cookie string // value of the session's
	form   url.Values
	body   string
	from   string // address
	header http.Header
}

// reply is what came of it.
type reply struct {
	*http.Response
	body string
}

// session is the value of the cookie that was set, "" for none.
func (r reply) session() string {
	for _, c := range r.Cookies() {
		return c.Value
	}
	return ""
}

// do sends a request and checks what holds for every answer.
func (s *site) do(t testing.TB, c call) reply {
	t.Helper()
	method, body := "GET", c.body
	if c.form != nil {
		body = c.form.Encode()
	}
	if c.form != nil || c.body != "" {
		method = "POST"
	}
	if c.method != "" {
		method = c.method
	}
	r := httptest.NewRequestWithContext(t.Context(), method, s.BaseURL.String()+c.path, strings.NewReader(body))
	if method == "POST" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.RemoteAddr = c.from
	if c.cookie != "" {
		name := map[string]string{"http": "storeroom-insecure", "https": "__Host-storeroom"}[s.BaseURL.Scheme]
		r.AddCookie(&http.Cookie{Name: name, Value: c.cookie})
	}
	for name, values := range c.header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	got := reply{w.Result(), w.Body.String()}
	s.checkAnswer(t, method+" "+c.path, got)
	return got
}

// checkAnswer holds every answer of the suite to what is promised of all.
func (s *site) checkAnswer(t testing.TB, what string, got reply) {
	t.Helper()
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'none'; form-action 'self'; " +
			"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
		"Referrer-Policy":              "same-origin",
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Strict-Transport-Security":    map[string]string{"http": "", "https": "max-age=63072000"}[s.BaseURL.Scheme],
	} {
		if has := got.Header.Get(name); has != want {
			t.Errorf("%s: %d with %s: %q, want %q", what, got.StatusCode, name, has, want)
		}
	}
	static := strings.Contains(what, " /settings/static/") && got.StatusCode == http.StatusOK
	if cache := got.Header.Get("Cache-Control"); !static && cache != "no-store" {
		t.Errorf("%s: %d with Cache-Control: %q, want no-store", what, got.StatusCode, cache)
	}
	if kind := got.Header.Get("Content-Type"); got.StatusCode != http.StatusSeeOther && !static && kind != "text/html; charset=utf-8" {
		t.Errorf("%s: %d with Content-Type: %q, want a page", what, got.StatusCode, kind)
	}
	if got.StatusCode != http.StatusSeeOther && !static && !strings.HasSuffix(strings.TrimSpace(got.body), "</html>") {
		t.Errorf("%s: %d is no whole page: %.300s", what, got.StatusCode, got.body)
	}
	for _, secret := range []string{passwordHash(), "<no value>", "ZgotmplZ", "%!"} {
		if bytes.Contains([]byte(got.body), []byte(secret)) {
			t.Errorf("%s: the page holds %q", what, secret)
		}
	}
	for _, err := range s.log {
		t.Errorf("%s failed: %v", what, err)
	}
	s.log = nil
}

// try wants a status and parts of the page.
func (s *site) try(t testing.TB, c call, status int, parts ...string) reply {
	t.Helper()
	got := s.do(t, c)
	if got.StatusCode != status {
		t.Errorf("%s %s = %d, want %d: %.1000s", c.method, c.path, got.StatusCode, status, got.body)
	}
	for _, part := range parts {
		if !strings.Contains(got.body, part) && !strings.Contains(got.Header.Get("Location"), part) {
			t.Errorf("%s %s = %d lacks %q: %s %.3000s", c.method, c.path, got.StatusCode, part, got.Header.Get("Location"), got.body)
		}
	}
	return got
}
