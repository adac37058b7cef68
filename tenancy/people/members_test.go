package people

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
)

func TestMembersAreTheTenantsOwn(t *testing.T) {
	t.Parallel()
	s := mustStreet(t)
	got, err := s.Members(t.Context(), s.a.ID)
	if err != nil || len(got) != 3 || got[0].Email != "amy@example.com" || got[1].Email != "ann@example.com" || got[2].Email != "eve@example.com" {
		t.Fatalf("Members = %+v, %v, want Amy, Ann and Eve", got, err)
	}
	if m := got[0]; m.UserID != s.amy.UserID || m.Role != tenancy.Viewer || time.Since(m.CreatedAt) > time.Hour {
		t.Errorf("Members = %+v, want Amy, a viewer since just now", m)
	}
	if got, err := s.Members(t.Context(), 0); err != nil || len(got) != 0 {
		t.Errorf("Members of no tenant = %v, %v, want nobody", got, err)
	}
}

func TestARoleThatChangesEndsSessions(t *testing.T) {
	t.Parallel()
	s := mustStreet(t)
	ctx := t.Context()
	amy, ann, eve := s.mustSignIn(t, "amy@example.com", password), s.mustSignIn(t, "ann@example.com", password), s.mustSignIn(t, "eve@example.com", password)
	if err := s.ChangeRole(ctx, s.a.ID, s.by(), s.amy.UserID, tenancy.Admin); err != nil {
		t.Fatal(err)
	}
	if s.alive(t, amy) || !s.alive(t, ann) {
		t.Errorf("alive: Amy's %v, Ann's %v, want false, true", s.alive(t, amy), s.alive(t, ann))
	}
	want := tenancy.Entry{Action: "member.role", Target: "amy@example.com", Details: map[string]any{"from": "viewer", "to": "admin"}}
	if got := s.logged(t, s.a); cmp.Diff(want, got.Entry) != "" || got.Actor != "ann@example.com" || *got.Address != "192.0.2.1" {
		t.Errorf("logged = %+v, want %+v by Ann from 192.0.2.1", got, want)
	}
	if got, err := s.Session(ctx, s.mustSignIn(t, "amy@example.com", password), "a"); err != nil || got.Role != tenancy.Admin {
		t.Errorf("Session = %+v, %v, want an admin", got, err)
	}
	if err := s.Remove(ctx, s.a.ID, s.by(), s.eve.UserID); err != nil || s.alive(t, eve) {
		t.Errorf("Remove = %v, alive %v, want the session to have ended", err, s.alive(t, eve))
	}
	again := s.mustSignIn(t, "eve@example.com", password)
	if tenants, err := s.Tenants(ctx, again); err != nil || len(tenants) != 1 || tenants[0].Slug != "b" {
		t.Errorf("Tenants = %+v, %v, want b alone", tenants, err)
	}
	want = tenancy.Entry{Action: "member.remove", Target: "eve@example.com", Details: map[string]any{"role": "admin"}}
	if diff := cmp.Diff(want, s.logged(t, s.a).Entry); diff != "" {
		t.Errorf("logged (-want +got):\n%s", diff)
	}
	for what, err := range map[string]error{
		"a member that was removed": s.Remove(ctx, s.a.ID, s.by(), s.eve.UserID),
		"somebody elsewhere":        s.ChangeRole(ctx, s.a.ID, s.by(), s.bea.UserID, tenancy.Viewer),
		"nobody":                    s.Remove(ctx, s.a.ID, s.by(), 1<<40),
	} {
		if !errors.Is(err, tenancy.ErrNotFound) {
			t.Errorf("a change of %s = %v, want ErrNotFound", what, err)
		}
	}
	err := s.ChangeRole(ctx, s.a.ID, s.by(), s.amy.UserID, "king")
	if faults, _ := errors.AsType[tenancy.InvalidError](err); len(faults["role"]) != 1 {
		t.Errorf("ChangeRole to king = %v, want a fault of the role", err)
	}
}

func TestATenantKeepsAnOwner(t *testing.T) {
	t.Parallel()
	s := mustStreet(t)
	ctx := t.Context()
	token := s.mustSignIn(t, "ann@example.com", password)
	for what, err := range map[string]error{
		"removing":              s.Remove(ctx, s.a.ID, s.by(), s.ann.UserID),
		"making an admin of":    s.ChangeRole(ctx, s.a.ID, s.by(), s.ann.UserID, tenancy.Admin),
		"an operator, removing": New(s.Admin).Remove(ctx, s.a.ID, tenancy.Operator, s.ann.UserID),
	} {
		if !errors.Is(err, ErrLastOwner) {
			t.Errorf("%s the last owner = %v, want ErrLastOwner", what, err)
		}
	}
	if !s.alive(t, token) {
		t.Error("what was refused ended a session")
	}
	if err := s.ChangeRole(ctx, s.a.ID, s.by(), s.ann.UserID, tenancy.Owner); err != nil {
		t.Errorf("making an owner of the last owner = %v", err)
	}
	if err := s.ChangeRole(ctx, s.a.ID, s.by(), s.eve.UserID, tenancy.Owner); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(ctx, s.a.ID, s.by(), s.ann.UserID); err != nil {
		t.Errorf("Remove of one of two owners = %v", err)
	}
}

func TestTwoOwnersCannotRemoveEachOther(t *testing.T) {
	t.Parallel()
	s := mustStreet(t)
	for round := range 5 {
		tenant := s.MustTenant(t, fmt.Sprintf("round-%d", round))
		pair := []tenancy.Member{s.mustMember(t, tenant, "ann@example.com", tenancy.Owner), s.mustMember(t, tenant, "amy@example.com", tenancy.Owner)}
		errs := make([]error, 2)
		var both sync.WaitGroup
		for i, m := range pair {
			both.Go(func() { errs[i] = s.Remove(t.Context(), tenant.ID, s.by(), m.UserID) })
		}
		both.Wait()
		members, err := s.Members(t.Context(), tenant.ID)
		if err != nil || len(members) != 1 || !errors.Is(errors.Join(errs...), ErrLastOwner) || errs[0] != nil && errs[1] != nil {
			t.Errorf("both were removed: %v; %d are left, %v", errs, len(members), err)
		}
	}
}

func TestAnInvitation(t *testing.T) {
	t.Parallel()
	s := mustStreet(t)
	ctx := t.Context()
	join := func(t *testing.T, token Token, password string) error {
		t.Helper()
		_, err := s.Use(ctx, token, password, "192.0.2.7")
		return err
	}
	t.Run("makes an account and a member", func(t *testing.T) {
		token := must(t)(s.Invite(ctx, s.a.ID, s.by(), " New@Example.com", tenancy.Admin))
		got, err := s.Open(ctx, token)
		if err != nil || got.Purpose != "invitation" || got.Email != "new@example.com" || *got.Role != tenancy.Admin || got.TenantName != "A" {
			t.Errorf("Open = %+v, %v", got, err)
		}
		if left := time.Until(got.ExpiresAt); left < 23*time.Hour || left > 24*time.Hour {
			t.Errorf("it lives for %v, want 24 hours", left)
		}
		if again, err := s.Open(ctx, token); err != nil || again.Email != got.Email {
			t.Errorf("Open again = %+v, %v: opening must not use it up", again, err)
		}
		err = join(t, token, "short")
		if faults, _ := errors.AsType[tenancy.InvalidError](err); len(faults["password"]) != 1 {
			t.Errorf("Use with a short password = %v, want a fault of it", err)
		}
		if err := join(t, token, "brand new horse"); err != nil {
			t.Fatal(err)
		}
		want := tenancy.Entry{Action: "member.join", Target: "new@example.com", Details: map[string]any{"role": "admin"}}
		if got := s.logged(t, s.a); cmp.Diff(want, got.Entry) != "" || got.Actor != "new@example.com" || *got.Address != "192.0.2.7" {
			t.Errorf("logged = %+v, want %+v", got, want)
		}
		if got, err := s.Session(ctx, s.mustSignIn(t, "new@example.com", "brand new horse"), "a"); err != nil || got.Role != tenancy.Admin {
			t.Errorf("Session = %+v, %v, want an admin of a", got, err)
		}
		if err := join(t, token, "brand new horse"); !isEnded(err) {
			t.Errorf("Use again = %v, want ErrEnded", err)
		}
		if _, err := s.Open(ctx, token); !isEnded(err) {
			t.Errorf("Open after its use = %v, want ErrEnded", err)
		}
	})
	t.Run("to an account wants its password", func(t *testing.T) {
		token := must(t)(s.Invite(ctx, s.a.ID, s.by(), "bea@example.com", tenancy.Viewer))
		if err := join(t, token, "not the password"); !errors.Is(err, ErrWrong) {
			t.Errorf("Use with another password = %v, want ErrWrong", err)
		}
		if err := join(t, token, password); err != nil {
			t.Errorf("Use = %v", err)
		}
		if tenants, err := s.Tenants(ctx, s.mustSignIn(t, "bea@example.com", password)); err != nil || len(tenants) != 2 {
			t.Errorf("Tenants = %+v, %v, want both", tenants, err)
		}
	})
	t.Run("ends after a day", func(t *testing.T) {
		token := must(t)(s.Invite(ctx, s.a.ID, s.by(), "late@example.com", tenancy.Viewer))
		s.alter(t, `update one_time_links set expires_at = now() where token_hash = $1`, token.hash())
		if _, err := s.Open(ctx, token); !isEnded(err) {
			t.Errorf("Open = %v, want ErrEnded", err)
		}
		if err := join(t, token, password); !isEnded(err) {
			t.Errorf("Use = %v, want ErrEnded", err)
		}
	})
	t.Run("is replaced by the next of the same person and tenant", func(t *testing.T) {
		first := must(t)(s.Invite(ctx, s.a.ID, s.by(), "twice@example.com", tenancy.Owner))
		elsewhere := must(t)(s.Invite(ctx, s.b.ID, s.by(), "twice@example.com", tenancy.Viewer))
		next := must(t)(s.Invite(ctx, s.a.ID, s.by(), "TWICE@example.com", tenancy.Viewer))
		if err := join(t, first, password); !isEnded(err) {
			t.Errorf("Use of the first = %v, want ErrEnded", err)
		}
		if err := errors.Join(join(t, next, password), join(t, elsewhere, password)); err != nil {
			t.Errorf("Use of the others = %v", err)
		}
	})
	t.Run("works once, also for two at a time", func(t *testing.T) {
		token := must(t)(s.Invite(ctx, s.a.ID, s.by(), "pair@example.com", tenancy.Viewer))
		errs := make([]error, 4)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() { errs[i] = join(t, token, fmt.Sprintf("password number %d", i)) })
		}
		all.Wait()
		joined := 0
		for i, err := range errs {
			if err == nil {
				joined++
				s.mustSignIn(t, "pair@example.com", fmt.Sprintf("password number %d", i))
			} else if !isEnded(err) && !errors.Is(err, ErrWrong) {
				t.Errorf("Use = %v, want ErrEnded or ErrWrong", err)
			}
		}
		if joined != 1 {
			t.Errorf("%d joined: %v", joined, errs)
		}
	})
	t.Run("is refused where it makes no sense", func(t *testing.T) {
		if _, err := s.Invite(ctx, s.a.ID, s.by(), "AMY@example.com", tenancy.Viewer); !errors.Is(err, tenancy.ErrConflict) {
			t.Errorf("Invite of a member = %v, want ErrConflict", err)
		}
		_, err := s.Invite(ctx, s.a.ID, s.by(), "nobody", "king")
		if faults, _ := errors.AsType[tenancy.InvalidError](err); len(faults) != 2 {
			t.Errorf("Invite of nobody as king = %v, want two faults", err)
		}
	})
	t.Run("that nobody made opens nothing", func(t *testing.T) {
		for _, token := range []Token{"", newToken(), Token(strings.Repeat("a", 1<<16)), "\x00\xff"} {
			if err := join(t, token, password); !isEnded(err) {
				t.Errorf("Use = %v, want ErrEnded", err)
			}
		}
	})
}

func TestAReset(t *testing.T) {
	t.Parallel()
	s := mustStreet(t)
	ctx := t.Context()
	const next = "another horse battery"
	session := s.mustSignIn(t, "amy@example.com", password)
	token := must(t)(s.Reset(ctx, s.a.ID, s.by(), "Amy@Example.com"))
	if !s.alive(t, session) {
		t.Error("making a link ended a session")
	}
	if got, err := s.Open(ctx, token); err != nil || got.Purpose != "reset" || got.Email != "amy@example.com" || got.Role != nil {
		t.Errorf("Open = %+v, %v", got, err)
	}
	if _, err := s.Use(ctx, token, next, ""); err != nil {
		t.Fatal(err)
	}
	if s.alive(t, session) {
		t.Error("the reset left a session")
	}
	if got := s.logged(t, s.a); got.Action != "password.reset" || got.Actor != "amy@example.com" {
		t.Errorf("logged = %+v, want password.reset by Amy", got)
	}
	s.mustSignIn(t, "amy@example.com", next)
	if _, err := s.SignIn(ctx, "amy@example.com", password); !errors.Is(err, ErrWrong) {
		t.Errorf("SignIn with the old password = %v, want ErrWrong", err)
	}
	if _, err := s.Use(ctx, token, next, ""); !isEnded(err) {
		t.Errorf("Use again = %v, want ErrEnded", err)
	}
	t.Run("of a member of another tenant is the operator's", func(t *testing.T) {
		if _, err := s.Reset(ctx, s.a.ID, s.by(), "eve@example.com"); !errors.Is(err, ErrElsewhere) {
			t.Errorf("Reset = %v, want ErrElsewhere", err)
		}
		token := must(t)(New(s.Admin).ResetAnywhere(ctx, s.a.ID, "eve@example.com"))
		if got := s.logged(t, s.a); got.Action != "password.reset_link" || got.Actor != "operator" || got.Address != nil {
			t.Errorf("logged = %+v, want password.reset_link by the operator", got)
		}
		if _, err := s.Use(ctx, token, next, ""); err != nil {
			t.Fatal(err)
		}
		s.mustSignIn(t, "eve@example.com", next)
		if _, err := New(s.Admin).ResetAnywhere(ctx, s.a.ID, "bea@example.com"); !errors.Is(err, tenancy.ErrNotFound) {
			t.Errorf("ResetAnywhere of no member = %v, want ErrNotFound", err)
		}
		if _, err := s.ResetAnywhere(ctx, s.a.ID, "amy@example.com"); tenancy.SQLState(err) != "42501" {
			t.Errorf("ResetAnywhere as the role that serves = %v, want SQLSTATE 42501", err)
		}
	})
	t.Run("ends with the membership, and with a change of the password", func(t *testing.T) {
		m := s.mustMember(t, s.a, "leaver@example.com", tenancy.Viewer)
		link := must(t)(s.Reset(ctx, s.a.ID, s.by(), m.Email))
		session := s.mustSignIn(t, m.Email, password)
		if _, err := s.ChangePassword(ctx, session, m.Email, password, next); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Use(ctx, link, next, ""); !isEnded(err) {
			t.Errorf("Use after a change of the password = %v, want ErrEnded", err)
		}
		link = must(t)(s.Reset(ctx, s.a.ID, s.by(), m.Email))
		if err := s.Remove(ctx, s.a.ID, s.by(), m.UserID); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Use(ctx, link, next, ""); !isEnded(err) {
			t.Errorf("Use after the removal = %v, want ErrEnded", err)
		}
	})
	t.Run("and an invitation end with the owner who might have made them", func(t *testing.T) {
		rogue := s.mustMember(t, s.a, "rogue@example.com", tenancy.Owner)
		s.mustMember(t, s.a, "victim@example.com", tenancy.Viewer)
		links := []Token{
			must(t)(s.Reset(ctx, s.a.ID, s.by(), "victim@example.com")),
			must(t)(s.Invite(ctx, s.a.ID, s.by(), "rogue2@example.com", tenancy.Owner)),
		}
		if err := s.Remove(ctx, s.a.ID, s.by(), rogue.UserID); err != nil {
			t.Fatal(err)
		}
		for _, link := range links {
			if _, err := s.Open(ctx, link); !isEnded(err) {
				t.Errorf("Open = %v, want ErrEnded", err)
			}
		}
	})
	t.Run("by an owner ends when the account opens another tenant", func(t *testing.T) {
		m := s.mustMember(t, s.a, "joiner@example.com", tenancy.Viewer)
		link, anywhere := must(t)(s.Reset(ctx, s.a.ID, s.by(), m.Email)), Token("")
		s.mustMember(t, s.b, m.Email, tenancy.Owner)
		if _, err := s.Open(ctx, link); !isEnded(err) {
			t.Errorf("Open = %v, want ErrEnded", err)
		}
		// Past the page, too.
		if found, err := tenancy.Call[struct{ UserID *int64 }](ctx, s.DB, `select use_reset($1, 'x') as user_id`, link.hash()); err != nil || found[0].UserID != nil {
			t.Errorf("use_reset = %v, %v, want nobody", found, err)
		}
		anywhere = must(t)(New(s.Admin).ResetAnywhere(ctx, s.a.ID, m.Email))
		if _, err := s.Use(ctx, anywhere, next, ""); err != nil {
			t.Errorf("Use of the operator's link = %v", err)
		}
	})
	t.Run("is no invitation, nor the other way round", func(t *testing.T) {
		reset := must(t)(s.Reset(ctx, s.a.ID, s.by(), "amy@example.com"))
		invitation := must(t)(s.Invite(ctx, s.a.ID, s.by(), "bea@example.com", tenancy.Viewer))
		before := s.state(t)
		for sql, token := range map[string]Token{`select accept_invitation($1, 'x') as user_id`: reset, `select use_reset($1, 'x') as user_id`: invitation} {
			if found, err := tenancy.Call[struct{ UserID *int64 }](ctx, s.DB, sql, token.hash()); err != nil || found[0].UserID != nil {
				t.Errorf("%s = %v, %v, want nobody", sql, found, err)
			}
		}
		if diff := cmp.Diff(before, s.state(t)); diff != "" {
			t.Errorf("something changed (-before +after):\n%s", diff)
		}
	})
}

// What is done and that it was done stand or fall together.
func TestAnActThatIsNotLoggedIsNotDone(t *testing.T) {
	t.Parallel()
	s := mustStreet(t)
	ctx := t.Context()
	invitation := must(t)(s.Invite(ctx, s.a.ID, s.by(), "new@example.com", tenancy.Viewer))
	reset := must(t)(s.Reset(ctx, s.a.ID, s.by(), "amy@example.com"))
	s.mustSignIn(t, "amy@example.com", password)
	s.alter(t, `alter table audit_log add constraint full_log check (false) not valid`)
	before := s.state(t)
	for what, err := range map[string]error{
		"Invite":            second(s.Invite(ctx, s.a.ID, s.by(), "other@example.com", tenancy.Viewer)),
		"Reset":             second(s.Reset(ctx, s.a.ID, s.by(), "amy@example.com")),
		"ResetAnywhere":     second(New(s.Admin).ResetAnywhere(ctx, s.a.ID, "amy@example.com")),
		"ChangeRole":        s.ChangeRole(ctx, s.a.ID, s.by(), s.amy.UserID, tenancy.Admin),
		"Remove":            s.Remove(ctx, s.a.ID, s.by(), s.amy.UserID),
		"Use, to join":      second(s.Use(ctx, invitation, password, "")),
		"Use, to reset":     second(s.Use(ctx, reset, password, "")),
		"CreateUser":        second(tenancy.CreateUser(ctx, s.Admin, s.a.ID, "other@example.com", tenancy.Viewer, password)),
		"ChangeTenant":      second(tenancy.ChangeTenant(ctx, s.Admin, "a", func(t *tenancy.Tenant) { t.Name = "Another" })),
		"a change of plans": second(tenancy.ChangeTenant(ctx, s.Admin, "a", func(t *tenancy.Tenant) { t.Plan = tenancy.Professional })),
	} {
		if tenancy.Constraint(err) != "full_log" {
			t.Errorf("%s = %v, want the fault of the log", what, err)
		}
	}
	if diff := cmp.Diff(before, s.state(t)); diff != "" {
		t.Errorf("something was done (-before +after):\n%s", diff)
	}
}

func TestAnActThatFailsIsNotLogged(t *testing.T) {
	t.Parallel()
	s := mustStreet(t)
	ctx := t.Context()
	before := s.state(t)
	for what, err := range map[string]error{
		"Invite":        second(s.Invite(ctx, s.a.ID, s.by(), "amy@example.com", tenancy.Viewer)),
		"Reset":         second(s.Reset(ctx, s.a.ID, s.by(), "bea@example.com")),
		"ResetAnywhere": second(New(s.Admin).ResetAnywhere(ctx, s.a.ID, "bea@example.com")),
		"ChangeRole":    s.ChangeRole(ctx, s.a.ID, s.by(), s.ann.UserID, tenancy.Admin),
		"Remove":        s.Remove(ctx, s.a.ID, s.by(), s.bea.UserID),
		"Use":           second(s.Use(ctx, newToken(), password, "")),
		"CreateUser":    second(tenancy.CreateUser(ctx, s.Admin, s.a.ID, "amy@example.com", tenancy.Viewer, password)),
		"ChangeTenant":  second(tenancy.ChangeTenant(ctx, s.Admin, "a", func(t *tenancy.Tenant) { t.Name = "" })),
	} {
		if err == nil {
			t.Errorf("%s succeeded, want an error", what)
		}
	}
	if _, err := tenancy.ChangeTenant(ctx, s.Admin, "a", func(*tenancy.Tenant) {}); err != nil {
		t.Errorf("ChangeTenant of nothing = %v", err)
	}
	var audit [2]int
	for i, state := range []string{before, s.state(t)} {
		audit[i] = strings.Count(state, `"action"`)
	}
	if audit[0] != audit[1] {
		t.Errorf("the log grew from %d to %d entries", audit[0], audit[1])
	}
}

func TestAuditLogHasPagesAndAFilter(t *testing.T) {
	t.Parallel()
	s := mustStreet(t)
	ctx := t.Context()
	tenant := s.MustTenant(t, "logged")
	if err := s.DB.Run(ctx, tenant.ID, func(q *pgx.Batch) {
		for n := range 7 {
			tenancy.QueueAudit(q, tenant.ID, s.by(), tenancy.Entry{Action: []string{"key.create", "member.role"}[n%2], Target: fmt.Sprint(n)})
		}
		tenancy.QueueAudit(q, tenant.ID, tenancy.Operator, tenancy.Entry{Action: "keyring.wear", Target: "no key", Details: map[string]any{"n": 1}})
	}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		action string
		page   int
		total  int64
		want   string // the targets
	}{
		{"", 1, 8, "no key 6 5"}, {"", 2, 8, "4 3 2"}, {"", 3, 8, "1 0"}, {"", 4, 8, ""}, {"", 1_000_000, 8, ""},
		{"key.", 1, 4, "6 4 2"}, {"key.", 2, 4, "0"}, {"key.create", 1, 4, "6 4 2"},
		{"member.", 1, 3, "5 3 1"}, {"key.c%", 1, 0, ""}, {"nothing", 1, 0, ""},
	} {
		found, total, err := tenancy.AuditLog(ctx, s.DB, tenant.ID, test.action, test.page, 3)
		var targets []string
		for _, e := range found {
			targets = append(targets, e.Target)
			if e.Details == nil || e.Actor == "" || time.Since(e.At) > time.Hour || (e.Address == nil) != (e.Actor == "operator") {
				t.Errorf("an entry is %+v", e)
			}
		}
		if got := strings.Join(targets, " "); got != test.want || total != test.total || err != nil {
			t.Errorf("AuditLog(%q, page %d) = %q of %d, %v, want %q of %d", test.action, test.page, got, total, err, test.want, test.total)
		}
	}
}
