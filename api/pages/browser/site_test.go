// Package browser tests the pages of api/pages in Chromium against the complete
// service: their content, the use of the keyboard, and the data that the browser keeps.
//
// Each test has a separate service and browser profile. A test fails if the browser
// reports a problem, for example an exception or a violation of the page's policy.
package browser

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/storeroom/storeroom/api"
	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/api/pages"
	"github.com/storeroom/storeroom/catalog/media"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/keys/usage"
	"github.com/storeroom/storeroom/ratelimit"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/feed"
	"github.com/storeroom/storeroom/tenancy/limits"
	"github.com/storeroom/storeroom/tenancy/people"
	"github.com/storeroom/storeroom/tenancy/tenants"
	"github.com/storeroom/storeroom/tenancy/webhooks"
)

// password is the password of all users.
const password = "correct horse battery"

// site is the service with a private database and one tenant.
type site struct {
	*dbtest.Database
	url    string
	mark   string // makes slugs and e-mail addresses unique in the shared Redis
	tenant tenants.Tenant
	people *people.Store
	keys   *keys.Store
	widths bool // check checks only the width of pages

	mediaDir string // has the pictures
}

func newSite(t *testing.T) *site {
	t.Helper()
	atOnce <- struct{}{}
	t.Cleanup(func() { <-atOnce })
	s := &site{Database: dbtest.New(t), mark: fmt.Sprintf("larchloam-%08x", rand.Uint32()), mediaDir: t.TempDir()}
	if *screenshots != "" {
		s.mark = "larchloam"
	}
	s.exec(t, fmt.Sprintf(`alter sequence tenants_id_seq restart with %d`, rand.Int64N(1<<50)))
	peppers, err := keys.ParsePeppers("1:" + strings.Repeat("5e", 32))
	if err != nil {
		t.Fatal(err)
	}
	s.people, s.keys = people.New(s.DB), keys.New(s.Admin, peppers)
	s.tenant = s.MustTenant(t, s.mark, func(t *tenants.Tenant) {
		t.Name, t.Plan, t.Timezone, t.Currency = "Larch & Loam", tenants.Professional, "Europe/Vienna", "EUR"
	})
	server := httptest.NewUnstartedServer(nil)
	s.url = "http://" + server.Listener.Addr().String()
	server.Config.Handler = s.handler(t, peppers)
	server.Start()
	t.Cleanup(server.Close)
	return s
}

// handler returns the complete service.
func (s *site) handler(t *testing.T, peppers keys.Peppers) http.Handler {
	t.Helper()
	logger := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	resolver, err := keys.Open(t.Context(), s.DB, s.URL, peppers, logger)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resolver.Close() })
	limiter, err := ratelimit.OpenPatient(t.Context(), os.Getenv("REDIS_URL"), logger)
	if err != nil {
		t.Fatalf("REDIS_URL: %v: run make test", err)
	}
	t.Cleanup(func() { limiter.Close() })
	base, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	recorder := usage.Open(t.Context(), s.DB, logger)
	t.Cleanup(func() { recorder.Close() })
	// Tests share Redis, so each uses a random client address.
	address := fmt.Sprintf("2001:db8:%x:%x::1", rand.Uint32N(1<<16), rand.Uint32N(1<<16))
	plans := changeplan.New(s.DB, imports.Kinds(s.DB, imports.Pictures{}))
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	go plans.Worker().Run(ctx, logger)
	changes := feed.New(s.DB, feed.MinRetention)
	hooks := webhooks.New(s.DB, changes, true)
	server := api.New(api.Options{
		Plans: plans, Feed: changes, Webhooks: hooks,
		DB: s.DB, Reports: reports.New(s.DB), Keys: resolver,
		Usage: recorder, Limiter: limiter, Media: media.Open("file://" + s.mediaDir),
		Ready: s.DB.Ping, Logger: logger, Version: "test", Limits: limits.New(s.DB.MaxConns(), 2),
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Settings:       &pages.Options{People: s.people, Keys: keys.New(s.DB, peppers), BaseURL: base},
	})
	go hooks.Worker(server.EncodeChanges).Run(ctx, logger)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("X-Forwarded-For", address)
		server.ServeHTTP(w, r)
	})
}

// exec runs SQL as a superuser, without row-level security.
func (s *site) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := s.MustSuper(t).Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// email returns a unique e-mail address.
func (s *site) email(name string) string { return name + "@" + s.mark + ".example" }

// mustPerson creates a member of the tenant and returns the e-mail address.
func (s *site) mustPerson(t testing.TB, name string, role people.Role) string {
	t.Helper()
	m, err := people.New(s.Admin).CreateMember(t.Context(), s.tenant.ID, s.email(name), role, password)
	if err != nil {
		t.Fatal(err)
	}
	return m.Email
}

// mustKey creates a read-only key and returns its row and value.
func (s *site) mustKey(t testing.TB, name string) (keys.Key, string) {
	t.Helper()
	wanted := keys.NewKey{Name: name, Permissions: keys.Permissions{keys.ProductsRead}}
	key, secret, err := s.keys.Create(t.Context(), s.tenant.ID, tenancy.Operator, wanted)
	if err != nil {
		t.Fatal(err)
	}
	return key, secret.Reveal()
}

// page returns the path of one of the tenant's pages.
func (s *site) page(name string) string { return "/settings/t/" + s.tenant.Slug + "/" + name }

// callAPI sends a GET request with a key to the API.
func (s *site) callAPI(t testing.TB, path, key string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}
