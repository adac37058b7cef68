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
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

func TestMembersListsOnlyTheMembersOfTheTenant(t *testing.T) {
	t.Parallel()
	s := mustFixture(t)
	amy := s.as(t, s.amy)
	byAmy, err := s.Members(t.Context(), s.a.ID, amy)
	if err != nil || len(byAmy) != 3 || byAmy[0].Email != "amy@example.com" || byAmy[1].Email != "ann@example.com" ||
		byAmy[2].Email != "eve@example.com" {
		t.Fatalf("Members = %+v, %v, want Amy, Ann and Eve", byAmy, err)
	}
	if m := byAmy[0]; m.UserID != s.amy.UserID || m.Role != Viewer || time.Since(m.CreatedAt) > time.Hour {
		t.Errorf("Members = %+v, want Amy, a viewer since just now", m)
	}
	byOperator, err := s.operator().Members(t.Context(), s.a.ID, tenancy.Operator)
	if diff := cmp.Diff(byAmy, byOperator); diff != "" || err != nil {
		t.Errorf("Members for the operator (-Amy +operator): %v\n%s", err, diff)
	}
	for what, test := range map[string]struct {
		tenant tenancy.ID
		by     tenancy.Actor
	}{
		"of no tenant":                   {0, amy},
		"of another tenant":              {s.b.ID, amy},
		"for a member of another tenant": {s.a.ID, s.as(t, s.bea)},
		"for an unknown session":         {s.a.ID, tenancy.Actor{Session: newToken().hash()}},
	} {
		if got, err := s.Members(t.Context(), test.tenant, test.by); err != nil || len(got) != 0 {
			t.Errorf("Members %s = %v, %v, want none", what, got, err)
		}
	}
	if _, err := s.Members(t.Context(), s.a.ID, tenancy.Operator); db.SQLState(err) != "42501" {
		t.Errorf("Members for the operator as the runtime role = %v, want SQLSTATE 42501", err)
	}
}

// Only an owner with an active session can change members, even without the pages.
func TestOnlyAnOwnerChangesMembers(t *testing.T) {
	t.Parallel()
	s := mustFixture(t)
	ctx := t.Context()
	must(t)(s.Invite(ctx, s.a.ID, s.by(t), "", "new@example.com", Viewer))
	pending, err := s.Links(ctx, s.a.ID, s.by(t))
	if err != nil || len(pending) != 1 {
		t.Fatalf("Links = %+v, %v, want one", pending, err)
	}
	idle, old := s.by(t), s.by(t)
	s.exec(t, `update sessions set seen_at = now() - interval '30 minutes 1 second' where token_hash = $1`, idle.Session)
	s.exec(t, `update sessions set created_at = now() - interval '12 hours 1 second' where token_hash = $1`, old.Session)
	for who, by := range map[string]tenancy.Actor{
		"a viewer": s.as(t, s.amy), "an admin": s.as(t, s.eve), "an owner of another tenant": s.as(t, s.bea),
		"an idle session": idle, "an old session": old,
		"an unknown session": {UserID: &s.ann.UserID, Name: "ann@example.com", Session: newToken().hash()},
	} {
		before := s.state(t)
		for what, err := range map[string]error{
			"ChangeRole": s.ChangeRole(ctx, s.a.ID, by, s.amy.UserID, Owner),
			"Remove":     s.Remove(ctx, s.a.ID, by, s.amy.UserID),
			"Invite":     second(s.Invite(ctx, s.a.ID, by, "", "friend@example.com", Owner)),
			"Reset":      second(s.Reset(ctx, s.a.ID, by, "", "amy@example.com")),
		} {
			if !errors.Is(err, tenancy.ErrEnded) {
				t.Errorf("%s by %s = %v, want ErrEnded", what, who, err)
			}
		}
		if err := s.EndLink(ctx, s.a.ID, by, pending[0].ID); !errors.Is(err, tenancy.ErrNotFound) {
			t.Errorf("EndLink by %s = %v, want ErrNotFound", who, err)
		}
		if got, err := s.Links(ctx, s.a.ID, by); err != nil || len(got) != 0 {
			t.Errorf("Links for %s = %+v, %v, want none", who, got, err)
		}
		if diff := cmp.Diff(before, s.state(t)); diff != "" {
			t.Errorf("%s changed something (-before +after):\n%s", who, diff)
		}
	}
	for what, err := range map[string]error{
		"ChangeRole":       s.ChangeRole(ctx, s.a.ID, tenancy.Operator, s.amy.UserID, Owner),
		"Remove":           s.Remove(ctx, s.a.ID, tenancy.Operator, s.amy.UserID),
		"Invite":           second(s.Invite(ctx, s.a.ID, tenancy.Operator, "", "friend@example.com", Owner)),
		"Reset":            second(s.Reset(ctx, s.a.ID, tenancy.Operator, "", "amy@example.com")),
		"ResetAnywhere":    second(s.ResetAnywhere(ctx, "amy@example.com")),
		"Links":            second(s.Links(ctx, s.a.ID, tenancy.Operator)),
		"EndLinksOf":       s.EndLinksOf(ctx, s.a.ID, "new@example.com"),
		"EndResetAnywhere": s.EndResetAnywhere(ctx, "new@example.com"),
	} {
		if db.SQLState(err) != "42501" {
			t.Errorf("%s of the operator as the runtime role = %v, want SQLSTATE 42501", what, err)
		}
	}
}

func TestAChangedRoleEndsSessions(t *testing.T) {
	t.Parallel()
	s := mustFixture(t)
	ctx := t.Context()
	amy, ann, eve := s.mustSignIn(t, "amy@example.com", password), s.mustSignIn(t, "ann@example.com", password),
		s.mustSignIn(t, "eve@example.com", password)
	if err := s.ChangeRole(ctx, s.a.ID, s.by(t), s.amy.UserID, Admin); err != nil {
		t.Fatal(err)
	}
	if s.isActive(t, amy) || !s.isActive(t, ann) {
		t.Errorf("active: Amy's %v, Ann's %v, want false, true", s.isActive(t, amy), s.isActive(t, ann))
	}
	want := tenants.Entry{
		Action: "member.role", Target: "amy@example.com", Details: map[string]any{"from": "viewer", "to": "admin"},
	}
	if got := s.logged(t, s.a); cmp.Diff(want, got.Entry) != "" || got.Actor != "ann@example.com" ||
		*got.Address != "192.0.2.1" {
		t.Errorf("logged = %+v, want %+v by Ann from 192.0.2.1", got, want)
	}
	if got, err := s.Session(ctx, s.mustSignIn(t, "amy@example.com", password), "a"); err != nil || got.Role != Admin {
		t.Errorf("Session = %+v, %v, want an admin", got, err)
	}
	if err := s.Remove(ctx, s.a.ID, s.by(t), s.eve.UserID); err != nil || s.isActive(t, eve) {
		t.Errorf("Remove = %v, active %v, want the session to have ended", err, s.isActive(t, eve))
	}
	again := s.mustSignIn(t, "eve@example.com", password)
	if got, err := s.Session(ctx, again, "a"); err != nil || len(got.Tenants) != 1 || got.Tenants[0].Slug != "b" {
		t.Errorf("Session = %+v, %v, want a member of b alone", got, err)
	}
	want = tenants.Entry{Action: "member.remove", Target: "eve@example.com", Details: map[string]any{"role": "admin"}}
	if diff := cmp.Diff(want, s.logged(t, s.a).Entry); diff != "" {
		t.Errorf("logged (-want +got):\n%s", diff)
	}
	for what, err := range map[string]error{
		"a member that was removed":  s.Remove(ctx, s.a.ID, s.by(t), s.eve.UserID),
		"a member of another tenant": s.ChangeRole(ctx, s.a.ID, s.by(t), s.bea.UserID, Viewer),
		"an unknown user":            s.Remove(ctx, s.a.ID, s.by(t), 1<<40),
	} {
		if !errors.Is(err, tenancy.ErrNotFound) {
			t.Errorf("a change of %s = %v, want ErrNotFound", what, err)
		}
	}
	err := s.ChangeRole(ctx, s.a.ID, s.by(t), s.amy.UserID, "king")
	if faults, _ := errors.AsType[tenancy.InvalidError](err); len(faults["role"]) != 1 {
		t.Errorf("ChangeRole to king = %v, want a fault of the role", err)
	}
}

func TestATenantKeepsAnOwner(t *testing.T) {
	t.Parallel()
	s := mustFixture(t)
	ctx := t.Context()
	token := s.mustSignIn(t, "ann@example.com", password)
	for what, err := range map[string]error{
		"removing":              s.Remove(ctx, s.a.ID, s.by(t), s.ann.UserID),
		"making an admin of":    s.ChangeRole(ctx, s.a.ID, s.by(t), s.ann.UserID, Admin),
		"an operator, removing": s.operator().Remove(ctx, s.a.ID, tenancy.Operator, s.ann.UserID),
	} {
		if !errors.Is(err, ErrLastOwner) {
			t.Errorf("%s the last owner = %v, want ErrLastOwner", what, err)
		}
	}
	if !s.isActive(t, token) {
		t.Error("what was refused ended a session")
	}
	if err := s.ChangeRole(ctx, s.a.ID, s.by(t), s.ann.UserID, Owner); err != nil {
		t.Errorf("making an owner of the last owner = %v", err)
	}
	if err := s.ChangeRole(ctx, s.a.ID, s.by(t), s.eve.UserID, Owner); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(ctx, s.a.ID, s.by(t), s.ann.UserID); err != nil {
		t.Errorf("Remove of one of two owners = %v", err)
	}
}

func TestTwoOwnersCannotRemoveEachOther(t *testing.T) {
	t.Parallel()
	s := mustFixture(t)
	for round := range 6 {
		tenant := s.MustTenant(t, fmt.Sprintf("round-%d", round))
		pair := []Member{s.mustMember(t, tenant, "ann@example.com", Owner), s.mustMember(t, tenant, "amy@example.com", Owner)}
		store, by, want := s.Store, []tenancy.Actor{s.as(t, pair[1]), s.as(t, pair[0])}, tenancy.ErrEnded // the second is no longer an owner
		if round%2 > 0 {
			store, by, want = s.operator(), []tenancy.Actor{tenancy.Operator, tenancy.Operator}, ErrLastOwner
		}
		errs := make([]error, 2)
		var both sync.WaitGroup
		for i, m := range pair {
			both.Go(func() { errs[i] = store.Remove(t.Context(), tenant.ID, by[i], m.UserID) })
		}
		both.Wait()
		members, err := s.operator().Members(t.Context(), tenant.ID, tenancy.Operator)
		if err != nil || len(members) != 1 || !errors.Is(errors.Join(errs...), want) || errs[0] != nil && errs[1] != nil {
			t.Errorf("both were removed: %v; %d are left, %v", errs, len(members), err)
		}
	}
}

// A change and its audit log entry are one transaction.
func TestAChangeWithoutAnAuditEntryIsRolledBack(t *testing.T) {
	t.Parallel()
	s := mustFixture(t)
	ctx := t.Context()
	invitation := must(t)(s.Invite(ctx, s.a.ID, s.by(t), "", "new@example.com", Viewer))
	reset := must(t)(s.Reset(ctx, s.a.ID, s.by(t), "", "amy@example.com"))
	amy, by := s.mustSignIn(t, "amy@example.com", password), s.by(t)
	anywhere := must(t)(s.operator().ResetAnywhere(ctx, "eve@example.com"))
	pending, err := s.Links(ctx, s.a.ID, by)
	if err != nil || len(pending) != 2 {
		t.Fatalf("Links = %+v, %v, want two", pending, err)
	}
	s.exec(t, `alter table audit_log add constraint full_log check (false) not valid`)
	before := s.state(t)
	for what, err := range map[string]error{
		"Invite":                 second(s.Invite(ctx, s.a.ID, by, "", "other@example.com", Viewer)),
		"Reset":                  second(s.Reset(ctx, s.a.ID, by, "", "amy@example.com")),
		"ResetAnywhere":          second(s.operator().ResetAnywhere(ctx, "amy@example.com")),
		"ChangeRole":             s.ChangeRole(ctx, s.a.ID, by, s.amy.UserID, Admin),
		"Remove":                 s.Remove(ctx, s.a.ID, by, s.amy.UserID),
		"UseLink, to join":       second(s.UseLink(ctx, invitation, password, "")),
		"UseLink, to reset":      second(s.UseLink(ctx, reset, password, "")),
		"UseLink, of operator's": second(s.UseLink(ctx, anywhere, password, "")),
		"EndLink":                s.EndLink(ctx, s.a.ID, by, pending[0].ID),
		"EndLinksOf":             s.operator().EndLinksOf(ctx, s.a.ID, "new@example.com"),
		"EndResetAnywhere":       s.operator().EndResetAnywhere(ctx, "eve@example.com"),
		"ChangePassword":         second(s.ChangePassword(ctx, amy, "amy@example.com", password, "another horse battery", "")),
		"CreateTenant":           second(tenants.Create(ctx, s.Admin, tenants.Tenant{Slug: "c", Name: "C"})),
		"CreateMember":           second(New(s.Admin).CreateMember(ctx, s.a.ID, "other@example.com", Viewer, password)),
		"ChangeTenant":           second(tenants.Change(ctx, s.Admin, "a", func(t *tenants.Tenant) { t.Name = "Another" })),
		"a change of plans": second(
			tenants.Change(ctx, s.Admin, "a", func(t *tenants.Tenant) { t.Plan = tenants.Professional }),
		),
	} {
		if db.Constraint(err) != "full_log" {
			t.Errorf("%s = %v, want the fault of the log", what, err)
		}
	}
	if diff := cmp.Diff(before, s.state(t)); diff != "" {
		t.Errorf("something was done (-before +after):\n%s", diff)
	}
}

func TestAFailedChangeIsNotLogged(t *testing.T) {
	t.Parallel()
	s := mustFixture(t)
	ctx := t.Context()
	by := s.by(t)
	before := s.state(t)
	for what, err := range map[string]error{
		"Invite":        second(s.Invite(ctx, s.a.ID, by, "", "amy@example.com", Viewer)),
		"Reset":         second(s.Reset(ctx, s.a.ID, by, "", "bea@example.com")),
		"ResetAnywhere": second(s.operator().ResetAnywhere(ctx, "nobody@example.com")),
		"ChangeRole":    s.ChangeRole(ctx, s.a.ID, by, s.ann.UserID, Admin),
		"Remove":        s.Remove(ctx, s.a.ID, by, s.bea.UserID),
		"UseLink":       second(s.UseLink(ctx, newToken(), password, "")),
		"EndLink":       s.EndLink(ctx, s.a.ID, by, 1<<40),
		"EndLinksOf":    s.operator().EndLinksOf(ctx, s.a.ID, "amy@example.com"),
		"EndReset":      s.operator().EndResetAnywhere(ctx, "amy@example.com"),
		"CreateMember":  second(New(s.Admin).CreateMember(ctx, s.a.ID, "amy@example.com", Viewer, password)),
		"ChangeTenant":  second(tenants.Change(ctx, s.Admin, "a", func(t *tenants.Tenant) { t.Name = "" })),
	} {
		if err == nil {
			t.Errorf("%s succeeded, want an error", what)
		}
	}
	if _, err := tenants.Change(ctx, s.Admin, "a", func(*tenants.Tenant) {}); err != nil {
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
	s := mustFixture(t)
	ctx := t.Context()
	tenant, by := s.MustTenant(t, "logged"), s.by(t)
	if err := s.DB.Run(ctx, tenant.ID, func(q *pgx.Batch) {
		for n := range 7 {
			tenants.QueueAudit(q, tenant.ID, by, tenants.Entry{
				Action: []string{"key.create", "member.role"}[n%2], Target: fmt.Sprint(n),
			})
		}
		tenants.QueueAudit(q, tenant.ID, tenancy.Operator, tenants.Entry{
			Action: "keyring.wear", Target: "no key", Details: map[string]any{"n": 1},
		})
	}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		action string
		page   int
		total  int64
		want   string // the targets
	}{
		{"", 1, 9, "no key 6 5"}, {"", 2, 9, "4 3 2"}, {"", 3, 9, "1 0 logged"}, {"", 4, 9, ""}, {"", 1_000_000, 9, ""},
		{"key.", 1, 4, "6 4 2"}, {"key.", 2, 4, "0"}, {"key.create", 1, 4, "6 4 2"},
		{"member.", 1, 3, "5 3 1"}, {"key.c%", 1, 0, ""}, {"nothing", 1, 0, ""},
	} {
		found, total, err := tenants.AuditLog(ctx, s.DB, tenant.ID, test.action, test.page, 3)
		var targets []string
		for _, e := range found {
			targets = append(targets, e.Target)
			if e.Details == nil || e.Actor == "" || time.Since(e.At) > time.Hour ||
				(e.Address == nil) != (e.Actor == "operator") {
				t.Errorf("an entry is %+v", e)
			}
		}
		if got := strings.Join(targets, " "); got != test.want || total != test.total || err != nil {
			t.Errorf(
				"AuditLog(%q, page %d) = %q of %d, %v, want %q of %d", test.action, test.page, got, total, err, test.want,
				test.total,
			)
		}
	}
}
