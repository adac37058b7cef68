package pages

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"golang.org/x/crypto/argon2"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/ratelimit"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/export"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/feed"
	"github.com/storeroom/storeroom/tenancy/limits"
	"github.com/storeroom/storeroom/tenancy/people"
	"github.com/storeroom/storeroom/tenancy/tenants"
	"github.com/storeroom/storeroom/tenancy/webhooks"
)

// site is the pages with a private database and two tenants.
type site struct {
	*dbtest.Database
	http.Handler
	Options
	super *pgx.Conn
	a, b  tenants.Tenant

	operatorKeys *keys.Store

	mark string // makes slugs, e-mail addresses and networks unique in the shared Redis
	log  []error
}

const password = "correct horse battery"

// storedPassword returns the stored form of password, at a cost that is fast to check.
var storedPassword = sync.OnceValues(func() (parameters string, verifier []byte) {
	salt := []byte("of every person")
	sum := sha256.Sum256(argon2.IDKey([]byte(password), salt, 1, 8, 1, 32))
	return "$argon2id$v=19$m=8,t=1,p=1$" + base64.RawStdEncoding.EncodeToString(salt), sum[:]
})

// newSite returns the pages at a base URL.
func newSite(t testing.TB, base string) *site {
	t.Helper()
	s := &site{Database: dbtest.New(t), mark: fmt.Sprintf("%x", rand.Uint64())}
	s.super = s.MustSuper(t)
	s.a, s.b = s.MustTenant(t, "a-"+s.mark), s.MustTenant(t, "b-"+s.mark)
	peppers, err := keys.ParsePeppers("1:" + strings.Repeat("5e", 32))
	if err != nil {
		t.Fatal(err)
	}
	s.operatorKeys = keys.New(s.Admin, peppers)
	at, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("REDIS_URL") == "" {
		t.Fatal("REDIS_URL is not set: run make test")
	}
	limiter, err := ratelimit.OpenPatient(t.Context(), os.Getenv("REDIS_URL"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { limiter.Close() })
	plans := changeplan.New(s.Database.DB, imports.Kinds(s.Database.DB, imports.Pictures{}))
	s.Options = Options{
		DB: s.Database.DB, People: people.New(s.Database.DB), Keys: keys.New(s.Database.DB, peppers),
		Reports: reports.New(s.Database.DB), Plans: plans,
		Webhooks: webhooks.New(s.Database.DB, feed.New(s.Database.DB, feed.MinRetention), true),
		Limiter:  limiter, BaseURL: at,
		Address:  func(r *http.Request) string { return s.mark + r.RemoteAddr },
		Network:  func(r *http.Request) string { return s.mark + r.RemoteAddr },
		SignedIn: func(*http.Request, tenancy.ID) {},
		Decided:  func(*http.Request, ratelimit.Decision) {},
		Send: func(
			w http.ResponseWriter, r *http.Request, name, format string, list func(context.Context) export.Sheet,
		) error {
			w.Header().Set("Content-Disposition", `attachment; filename="`+name+"."+format+`"`)
			if format == "csv" {
				return export.CSV(w, list(r.Context()))
			}
			file, err := export.Workbook(r.Context(), func(ctx context.Context) ([]export.Sheet, error) {
				return []export.Sheet{list(ctx)}, nil
			})
			if err != nil {
				return err
			}
			defer file.Close()
			_, err = io.Copy(w, file.Reader())
			return err
		},
		SendCustomer: func(
			w http.ResponseWriter, r *http.Request, _ *db.DB, tenant tenancy.ID, id string, _ tenancy.Actor,
		) error {
			customer, err := sales.New(s.Database.DB).Customer(r.Context(), tenant, id)
			if err == nil {
				_, err = io.WriteString(w, customer.ID)
			}
			return err
		},
		SendArchive: func(w http.ResponseWriter, _ *http.Request, _ *db.DB, tenant tenants.Tenant, _ tenancy.Actor) error {
			_, err := io.WriteString(w, tenant.Slug)
			return err
		},
		Failed: func(_ *http.Request, err error) bool {
			s.log = append(s.log, err)
			return false
		},
	}
	pages, shares := New(s.Options), limits.New(s.Database.DB.MaxConns(), 2)
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ticket := shares.Enter(r.RemoteAddr, limits.Page)
		defer ticket.Close()
		if err := ticket.Start(r.Context()); err != nil {
			t.Error(err)
			return
		}
		pages.ServeHTTP(w, r.WithContext(limits.NewContext(r.Context(), ticket)))
	})
	return s
}

// email returns a unique e-mail address.
func (s *site) email(name string) string { return name + "@" + s.mark + ".example" }

// mustPerson creates a user, and a membership of the tenant unless role is empty.
func (s *site) mustPerson(t testing.TB, name string, tenant tenants.Tenant, role people.Role) (id int64) {
	t.Helper()
	parameters, verifier := storedPassword()
	err := s.super.QueryRow(t.Context(), `
		insert into users (email, password_parameters, password_verifier)
		values ($1, $2, $3)
		returning id`, s.email(name), parameters, verifier).Scan(&id)
	if err != nil {
		t.Fatal(err)
	}
	if role != "" {
		s.alter(t, `insert into memberships (tenant_id, user_id, role) values ($1, $2, $3)`, tenant.ID, id, role)
	}
	return id
}

// mustSession creates a session of a user.
func (s *site) mustSession(t testing.TB, person int64) (cookie string) {
	t.Helper()
	cookie = freshToken()
	sum := sha256.Sum256([]byte(cookie))
	s.alter(t, `insert into sessions (token_hash, user_id) values ($1, $2)`, sum[:], person)
	return cookie
}

// mustVisitor creates a member of A with a session.
func (s *site) mustVisitor(t testing.TB, name string, role people.Role) (cookie string) {
	t.Helper()
	return s.mustSession(t, s.mustPerson(t, name, s.a, role))
}

func freshToken() string {
	return fmt.Sprintf("%043d", rand.Uint64())
}

func (s *site) mustKey(t testing.TB, name string) keys.Key {
	t.Helper()
	wanted := keys.NewKey{Name: name, Permissions: keys.Permissions{keys.ProductsRead}}
	key, _, err := s.operatorKeys.Create(t.Context(), s.a.ID, tenancy.Operator, wanted)
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

// stored returns all rows of all tables. On a cluster, the shards of a table answer in any order.
func (s *site) stored(t testing.TB) string {
	t.Helper()
	rows, err := s.super.Query(t.Context(), `
		select query_to_xml(format('select * from %I stored order by stored::text', relname), true, false, '')::text
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

// path returns the path of a page of A.
func (s *site) path(rest string) string { return "/settings/t/" + s.a.Slug + rest }

// call is a request. The method is POST if there is a form or a body.
type call struct {
	method string
	path   string
	cookie string // token of the session
	form   url.Values
	body   string
	from   string // network address
	header http.Header
}

// reply is a response with its body.
type reply struct {
	*http.Response
	body string
}

// session returns the token of the new session, or "".
func (r reply) session() string {
	for _, c := range r.Cookies() {
		if !strings.HasSuffix(c.Name, formCookie) {
			return c.Value
		}
	}
	return ""
}

// request returns a request of a browser.
func (s *site) request(t testing.TB, c call) *http.Request {
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
		if c.header == nil {
			r.Header.Set("Sec-Fetch-Site", "same-origin")
		}
	}
	r.RemoteAddr = c.from
	if c.cookie != "" {
		name := map[string]string{"http": "storeroom-insecure", "https": "__Host-storeroom"}[s.BaseURL.Scheme]
		r.AddCookie(&http.Cookie{Name: name, Value: c.cookie})
	}
	for name, values := range c.header {
		r.Header[name] = values
	}
	return r
}

// do sends a request and checks the response with checkResponse.
func (s *site) do(t testing.TB, c call) reply {
	t.Helper()
	w, r := httptest.NewRecorder(), s.request(t, c)
	s.ServeHTTP(w, r)
	got := reply{w.Result(), w.Body.String()}
	s.checkResponse(t, r.Method+" "+c.path, got)
	return got
}

// checkResponse checks the rules for all responses.
func (s *site) checkResponse(t testing.TB, what string, got reply) {
	t.Helper()
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
			"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
			"require-trusted-types-for 'script'",
		"Referrer-Policy":              "same-origin",
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Strict-Transport-Security":    map[string]string{"http": "", "https": "max-age=63072000"}[s.BaseURL.Scheme],
	} {
		if header := got.Header.Get(name); header != want {
			t.Errorf("%s: %d with %s: %q, want %q", what, got.StatusCode, name, header, want)
		}
	}
	static := strings.Contains(what, " /settings/static/") && got.StatusCode == http.StatusOK
	if cache := got.Header.Get("Cache-Control"); !static && cache != "no-store" {
		t.Errorf("%s: %d with Cache-Control: %q, want no-store", what, got.StatusCode, cache)
	}
	isFile := regexp.MustCompile(`\.xlsx|\.csv|/data$|/progress$|/refused$|\.zip`).MatchString(what)
	file := isFile && got.StatusCode == http.StatusOK
	page := got.StatusCode != http.StatusSeeOther && !static && !file
	if kind := got.Header.Get("Content-Type"); page && kind != "text/html; charset=utf-8" {
		t.Errorf("%s: %d with Content-Type: %q, want a page", what, got.StatusCode, kind)
	}
	if page && !strings.HasSuffix(strings.TrimSpace(got.body), "</html>") {
		t.Errorf("%s: %d with an incomplete page: %.300s", what, got.StatusCode, got.body)
	}
	for _, secret := range []string{"$argon2id", "<no value>", "ZgotmplZ", "%!"} {
		if !file && bytes.Contains([]byte(got.body), []byte(secret)) {
			t.Errorf("%s: the page contains %q", what, secret)
		}
	}
	for _, err := range s.log {
		t.Errorf("%s failed: %v", what, err)
	}
	s.log = nil
}

// try sends a request and checks the status and parts of the page or the Location.
func (s *site) try(t testing.TB, c call, status int, parts ...string) reply {
	t.Helper()
	got := s.do(t, c)
	if got.StatusCode != status {
		t.Errorf("%s %s = %d, want %d: %.1000s", c.method, c.path, got.StatusCode, status, got.body)
	}
	for _, part := range parts {
		if !strings.Contains(got.body, part) && !strings.Contains(got.Header.Get("Location"), part) {
			t.Errorf("%s %s = %d without %q: %s %.3000s",
				c.method, c.path, got.StatusCode, part, got.Header.Get("Location"), got.body)
		}
	}
	return got
}

// get opens a page with a session, "" for none, and checks the status and parts of the
// page.
func (s *site) get(t testing.TB, cookie, path string, status int, parts ...string) reply {
	t.Helper()
	return s.try(t, call{path: path, cookie: cookie}, status, parts...)
}

// post submits a form like get.
func (s *site) post(t testing.TB, cookie, path string, form url.Values, status int, parts ...string) reply {
	t.Helper()
	return s.try(t, call{path: path, cookie: cookie, form: form}, status, parts...)
}
