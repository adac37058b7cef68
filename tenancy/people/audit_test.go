package people

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/storeroom/storeroom/tenancy/tenants"
)

// signIns returns the entries about sign-ins in a tenant's log, without times.
func (s *fixture) signIns(t testing.TB, tenant tenants.Tenant) (all []string) {
	t.Helper()
	s.Close()
	found, _, err := tenants.AuditLog(t.Context(), s.DB, tenant.ID, "sign_in", 1, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range found {
		address := "other networks"
		if e.Address != nil {
			address = *e.Address
		}
		all = append(all, fmt.Sprint(e.Action, " ", e.Actor, " ", e.Target, " ", address, " ", e.Details))
	}
	return all
}

func (s *fixture) mustFail(t testing.TB, email, network string) {
	t.Helper()
	if _, err := s.SignIn(t.Context(), email, password+"!", network); !errors.Is(err, ErrWrong) {
		t.Fatalf("SignIn(%s) = %v, want ErrWrong", email, err)
	}
	s.Close()
}

// atHour moves failed sign-ins by an hour into the past, so that a new hour begins.
func (s *fixture) atHour(t testing.TB) {
	t.Helper()
	s.exec(t, `update audit_log set at = at - interval '1 hour' where action = 'sign_in.failed'`)
}

func TestSignInsAreInTheAuditLogOfEachTenant(t *testing.T) {
	t.Parallel()
	s := mustFixture(t)
	if _, err := s.SignIn(t.Context(), "Eve@Example.com", password, "192.0.2.7"); err != nil {
		t.Fatal(err)
	}
	s.mustFail(t, "EVE@example.com", "192.0.2.8")
	for _, email := range []string{"nobody@example.com", "no e-mail", ""} {
		s.mustFail(t, email, "192.0.2.9")
	}
	want := []string{
		"sign_in.failed unknown eve@example.com 192.0.2.8 map[attempts:1]",
		"sign_in eve@example.com eve@example.com 192.0.2.7 map[]",
	}
	for _, tenant := range []tenants.Tenant{s.a, s.b} {
		if got := s.signIns(t, tenant); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("the log of %s has %q, want %q", tenant.Slug, got, want)
		}
	}
}

// A wrong password while an entry cannot be written is answered as usual, and the next attempt is recorded.
func TestFailedSignInsAreCountedByNetworkAndHour(t *testing.T) {
	t.Parallel()
	s := mustFixture(t)
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			_, err := s.SignIn(t.Context(), "amy@example.com", "wrong", fmt.Sprintf("192.0.2.%d", i%2))
			if !errors.Is(err, ErrWrong) {
				t.Errorf("SignIn = %v, want ErrWrong", err)
			}
		})
	}
	all.Wait()
	got := map[string]bool{}
	for _, entry := range s.signIns(t, s.a) {
		got[entry] = true
	}
	for network := range 2 {
		want := fmt.Sprintf("sign_in.failed unknown amy@example.com 192.0.2.%d map[attempts:6]", network)
		if len(got) != 2 || !got[want] {
			t.Errorf("the log has %v, want %q", got, want)
		}
	}
	s.atHour(t)
	s.mustFail(t, "amy@example.com", "192.0.2.1")
	if entries := s.signIns(t, s.a); len(entries) != 3 {
		t.Errorf("the log has %q, want a new entry for a new hour", entries)
	}
}

func TestManyNetworksDoNotFillTheAuditLog(t *testing.T) {
	t.Parallel()
	s := mustFixture(t)
	for i := range 25 {
		s.exec(t, `select log_failed_sign_in('amy@example.com', $1)`, fmt.Sprintf("192.0.2.%d", i))
	}
	s.exec(t, `select log_failed_sign_in('amy@example.com', '192.0.2.3')`)
	entries := s.signIns(t, s.a)
	if want := "sign_in.failed unknown amy@example.com other networks map[attempts:5]"; len(entries) != 21 || entries[0] != want {
		t.Errorf("the log has %d entries, the last is %q, want 21 and %q", len(entries), entries[0], want)
	}
	if want := "sign_in.failed unknown amy@example.com 192.0.2.3 map[attempts:2]"; entries[17] != want {
		t.Errorf("the entry is %q, want %q", entries[17], want)
	}
}
