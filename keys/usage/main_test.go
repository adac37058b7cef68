package usage

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// TestMain checks that no goroutine is left after all tests, which close their Recorders.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shop is a tenant in a new database.
type shop struct {
	*dbtest.Database
	tenant tenants.Tenant
	super  *pgx.Conn
}

func mustShop(tb testing.TB, change ...func(*tenants.Tenant)) *shop {
	tb.Helper()
	d := dbtest.New(tb)
	return &shop{d, d.MustTenant(tb, "acme", change...), d.MustSuper(tb)}
}

// recorder returns an instance's Recorder, which writes only when the test calls flush.
func (s *shop) recorder() *Recorder { return newRecorder(s.DB, slog.New(slog.DiscardHandler)) }

func (s *shop) mustFlush(tb testing.TB, r *Recorder) {
	tb.Helper()
	if err := r.flush(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// mustKey creates a key and returns its principal.
func (s *shop) mustKey(tb testing.TB, tenant tenants.Tenant, name string) *keys.Principal {
	tb.Helper()
	peppers, err := keys.ParsePeppers("1:" + strings.Repeat("5e", 32))
	if err != nil {
		tb.Fatal(err)
	}
	key, _, err := keys.New(s.Admin, peppers).Create(tb.Context(), tenant.ID, tenancy.Operator,
		keys.NewKey{Name: name, Permissions: keys.Permissions{keys.ProductsRead}})
	if err != nil {
		tb.Fatal(err)
	}
	return &keys.Principal{Tenant: tenant, KeyID: key.ID, KeyName: name}
}

// mustRead returns the usage of the days around now.
func (s *shop) mustRead(tb testing.TB, tenant tenants.Tenant) Report {
	tb.Helper()
	today := tenancy.DayOf(time.Now(), time.UTC)
	return s.mustReadQuery(tb, tenant, Query{From: today.AddDate(0, 0, -2), To: today.AddDate(0, 0, 1)})
}

func (s *shop) mustReadQuery(tb testing.TB, tenant tenants.Tenant, q Query) Report {
	tb.Helper()
	report, err := Read(tb.Context(), s.DB, tenant, q)
	if err != nil {
		tb.Fatal(err)
	}
	return report
}

func (s *shop) exec(tb testing.TB, sql string, args ...any) {
	tb.Helper()
	if _, err := s.super.Exec(tb.Context(), sql, args...); err != nil {
		tb.Fatal(err)
	}
}

func (s *shop) count(tb testing.TB, sql string, args ...any) (n int64) {
	tb.Helper()
	if err := s.super.QueryRow(tb.Context(), sql, args...).Scan(&n); err != nil {
		tb.Fatal(err)
	}
	return n
}

// request returns a successful request, after the changes.
func request(at time.Time, change ...func(*Request)) Request {
	q := Request{
		At: at, Method: "GET", Route: "/api/products/{id}", Status: 200,
		RequestID: "request-1", Duration: 3 * time.Millisecond,
	}
	for _, f := range change {
		f(&q)
	}
	return q
}

func failing(status int, code string) func(*Request) {
	return func(q *Request) { q.Status, q.Code = status, code }
}
