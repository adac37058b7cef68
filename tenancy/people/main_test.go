package people

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// fixture has two tenants and their members. Ann is an owner of a, Amy a viewer of a, Bea an owner of b,
// and Eve an admin of both.
type fixture struct {
	*dbtest.Database
	*Store
	super              *pgx.Conn
	a, b               tenants.Tenant
	ann, amy, bea, eve Member
}

const password = "correct horse battery"

func mustFixture(t testing.TB) *fixture {
	t.Helper()
	d := dbtest.New(t)
	s := &fixture{Database: d, Store: New(d.DB), super: d.MustSuper(t), a: d.MustTenant(t, "a"), b: d.MustTenant(t, "b")}
	s.ann = s.mustMember(t, s.a, "ann@example.com", Owner)
	s.amy = s.mustMember(t, s.a, "amy@example.com", Viewer)
	s.bea = s.mustMember(t, s.b, "bea@example.com", Owner)
	s.eve = s.mustMember(t, s.a, "eve@example.com", Admin)
	s.mustMember(t, s.b, "eve@example.com", Admin)
	return s
}

// mustMember returns a new member. It creates the account, with the usual password, if the address has none.
func (s *fixture) mustMember(t testing.TB, tenant tenants.Tenant, email string, role Role) Member {
	t.Helper()
	m, err := New(s.Admin).CreateMember(t.Context(), tenant.ID, email, role, password)
	if errors.Is(err, tenancy.ErrConflict) {
		err = s.super.QueryRow(t.Context(), `
			insert into memberships (tenant_id, user_id, role)
			select $1, id, $3 from users where email = $2
			returning user_id, created_at`, tenant.ID, email, role).Scan(&m.UserID, &m.CreatedAt)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (s *fixture) mustSignIn(t testing.TB, email, password string) Token {
	t.Helper()
	token, err := s.SignIn(t.Context(), email, password, "192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// must returns the token and fails on an error.
func must(t testing.TB) func(Token, error) Token {
	return func(token Token, err error) Token {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
}

// isActive reports whether the session of a token is active.
func (s *fixture) isActive(t testing.TB, token Token) bool {
	t.Helper()
	_, err := s.Session(t.Context(), token, "")
	if err != nil && !isEnded(err) {
		t.Fatal(err)
	}
	return err == nil
}

// exec runs SQL as a superuser.
func (s *fixture) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := s.super.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// state returns all rows of users, memberships, sessions, links, tenants and the audit log.
func (s *fixture) state(t testing.TB) (all string) {
	t.Helper()
	err := s.super.QueryRow(t.Context(), `
		select jsonb_pretty(jsonb_build_object(
		       'users', (select jsonb_agg(u order by u.id) from users u),
		       'memberships', (select jsonb_agg(m order by m.tenant_id, m.user_id) from memberships m),
		       'sessions', (select jsonb_agg(x order by x.token_hash) from sessions x),
		       'links', (select jsonb_agg(l order by l.token_hash) from one_time_links l),
		       'tenants', (select jsonb_agg(t order by t.id) from tenants t),
		       'audit', (select jsonb_agg(e order by e.id) from audit_log e)))`).Scan(&all)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// logged returns the last entry of a tenant's log that is not about a sign-in.
func (s *fixture) logged(t testing.TB, tenant tenants.Tenant) tenants.Logged {
	t.Helper()
	found, _, err := tenants.AuditLog(t.Context(), s.DB, tenant.ID, "", 1, 50)
	found = slices.DeleteFunc(found, func(e tenants.Logged) bool { return strings.HasPrefix(e.Action, "sign_in") })
	if err != nil || len(found) == 0 {
		t.Fatalf("AuditLog = %v, %v, want an entry", found, err)
	}
	return found[0]
}

// by returns Ann as an actor, with a new session.
func (s *fixture) by(t testing.TB) tenancy.Actor {
	t.Helper()
	return s.as(t, s.ann)
}

// as returns a member as an actor, with a new session.
func (s *fixture) as(t testing.TB, m Member) tenancy.Actor {
	t.Helper()
	token := newToken()
	s.exec(t, `insert into sessions (token_hash, user_id) values ($1, $2)`, token.hash(), m.UserID)
	return tenancy.Actor{UserID: &m.UserID, Name: m.Email, Address: "192.0.2.1", Session: token.hash()}
}

// operator returns the Store that the commands use.
func (s *fixture) operator() *Store { return New(s.Admin) }

func mustRows[T any](t testing.TB, conn *pgx.Conn, sql string, args ...any) []T {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	if err != nil {
		t.Fatal(err)
	}
	return found
}
