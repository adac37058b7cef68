package people

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

func TestAnInvitation(t *testing.T) {
	t.Parallel()
	s := mustFixture(t)
	ctx := t.Context()
	join := func(t *testing.T, token Token, password string) error {
		t.Helper()
		_, err := s.UseLink(ctx, token, password, "192.0.2.7")
		return err
	}
	t.Run("creates an account and a member", func(t *testing.T) {
		token := must(t)(s.Invite(ctx, s.a.ID, s.by(t), "", " New@Example.com", Admin))
		got, err := s.ReadLink(ctx, token)
		if err != nil || got.Purpose != "invitation" || got.Email != "new@example.com" || *got.Role != Admin ||
			got.TenantName != "A" {
			t.Errorf("Open = %+v, %v", got, err)
		}
		if left := time.Until(got.ExpiresAt); left < 23*time.Hour || left > 24*time.Hour {
			t.Errorf("it is valid for %v, want 24 hours", left)
		}
		if again, err := s.ReadLink(ctx, token); err != nil || again.Email != got.Email {
			t.Errorf("Open again = %+v, %v: opening must not end it", again, err)
		}
		for _, bad := range []string{"", "short", "qwerty123456", strings.Repeat("x", 129)} {
			if err := join(t, token, bad); !errors.Is(err, ErrWrong) {
				t.Errorf("Use with %.20q = %v, want ErrWrong", bad, err)
			}
			if got := s.logged(t, s.a); got.Action != "member.join_refused" || got.Target != "new@example.com" ||
				*got.Address != "192.0.2.7" {
				t.Errorf("logged = %+v, want member.join_refused", got)
			}
		}
		session := must(t)(s.UseLink(ctx, token, "brand new horse", "192.0.2.7"))
		if got, err := s.Session(ctx, session, "a"); err != nil || got.Email != "new@example.com" || got.Role != Admin {
			t.Errorf("Use began the session %+v, %v, want that of an admin of a", got, err)
		}
		want := tenants.Entry{Action: "member.join", Target: "new@example.com", Details: map[string]any{"role": "admin"}}
		if got := s.logged(t, s.a); cmp.Diff(want, got.Entry) != "" || got.Actor != "new@example.com" ||
			*got.Address != "192.0.2.7" {
			t.Errorf("logged = %+v, want %+v", got, want)
		}
		if got, err := s.Session(ctx, s.mustSignIn(t, "new@example.com", "brand new horse"), "a"); err != nil ||
			got.Role != Admin {
			t.Errorf("Session = %+v, %v, want an admin of a", got, err)
		}
		if err := join(t, token, "brand new horse"); !isEnded(err) {
			t.Errorf("Use again = %v, want tenancy.ErrEnded", err)
		}
		if _, err := s.ReadLink(ctx, token); !isEnded(err) {
			t.Errorf("Open after its use = %v, want tenancy.ErrEnded", err)
		}
	})
	t.Run("to an account requires its password", func(t *testing.T) {
		token := must(t)(s.Invite(ctx, s.a.ID, s.by(t), "", "bea@example.com", Viewer))
		if err := join(t, token, "not the password"); !errors.Is(err, ErrWrong) {
			t.Errorf("Use with another password = %v, want ErrWrong", err)
		}
		if err := join(t, token, password); err != nil {
			t.Errorf("Use = %v", err)
		}
		if got, err := s.Session(ctx, s.mustSignIn(t, "bea@example.com", password), ""); err != nil || len(got.Tenants) != 2 {
			t.Errorf("Session = %+v, %v, want a member of both", got, err)
		}
	})
	t.Run("ends after a day", func(t *testing.T) {
		token := must(t)(s.Invite(ctx, s.a.ID, s.by(t), "", "late@example.com", Viewer))
		s.exec(t, `update one_time_links set expires_at = now() where token_hash = $1`, token.hash())
		if _, err := s.ReadLink(ctx, token); !isEnded(err) {
			t.Errorf("Open = %v, want tenancy.ErrEnded", err)
		}
		if err := join(t, token, password); !isEnded(err) {
			t.Errorf("Use = %v, want tenancy.ErrEnded", err)
		}
	})
	t.Run("ends with the next one to the same person and tenant", func(t *testing.T) {
		first := must(t)(s.Invite(ctx, s.a.ID, s.by(t), "", "twice@example.com", Owner))
		elsewhere := must(t)(s.Invite(ctx, s.b.ID, s.as(t, s.bea), "", "twice@example.com", Viewer))
		next := must(t)(s.Invite(ctx, s.a.ID, s.by(t), "", "TWICE@example.com", Viewer))
		if err := join(t, first, password); !isEnded(err) {
			t.Errorf("Use of the first = %v, want tenancy.ErrEnded", err)
		}
		if err := errors.Join(join(t, next, password), join(t, elsewhere, password)); err != nil {
			t.Errorf("Use of the others = %v", err)
		}
	})
	t.Run("works once, even for concurrent requests", func(t *testing.T) {
		token := must(t)(s.Invite(ctx, s.a.ID, s.by(t), "", "pair@example.com", Viewer))
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
				t.Errorf("Use = %v, want tenancy.ErrEnded or ErrWrong", err)
			}
		}
		if joined != 1 {
			t.Errorf("%d joined: %v", joined, errs)
		}
	})
	t.Run("of a form that is sent twice is created once", func(t *testing.T) {
		by := s.by(t)
		form := func(request string) (Token, error) {
			return s.Invite(ctx, s.a.ID, by, request, "form@example.com", Viewer)
		}
		first := must(t)(form("one form"))
		if _, err := form("one form"); !errors.Is(err, ErrRepeated) {
			t.Errorf("Invite by the same form = %v, want ErrRepeated", err)
		}
		if _, err := s.ReadLink(ctx, first); err != nil {
			t.Errorf("Open of the link of the form = %v", err)
		}
		must(t)(s.Invite(ctx, s.b.ID, s.as(t, s.bea), "one form", "form@example.com", Viewer)) // another form of another tenant
		second := must(t)(form("another form"))
		if err := join(t, second, password); err != nil {
			t.Fatal(err)
		}
		for _, request := range []string{"one form", "another form"} {
			if _, err := form(request); !errors.Is(err, ErrRepeated) {
				t.Errorf("Invite by %s after its link was replaced or used = %v, want ErrRepeated", request, err)
			}
		}
	})
	t.Run("is refused for a member and for invalid input", func(t *testing.T) {
		if _, err := s.Invite(ctx, s.a.ID, s.by(t), "", "AMY@example.com", Viewer); !errors.Is(err, tenancy.ErrConflict) {
			t.Errorf("Invite of a member = %v, want ErrConflict", err)
		}
		_, err := s.Invite(ctx, s.a.ID, s.by(t), "", "nobody", "king")
		if faults, _ := errors.AsType[tenancy.InvalidError](err); len(faults) != 2 {
			t.Errorf("Invite with invalid fields = %v, want two errors", err)
		}
	})
	t.Run("with an unknown token is refused", func(t *testing.T) {
		for _, token := range []Token{"", newToken(), Token(strings.Repeat("a", 1<<16)), "\x00\xff"} {
			if err := join(t, token, password); !isEnded(err) {
				t.Errorf("Use = %v, want tenancy.ErrEnded", err)
			}
		}
	})
}

func TestAReset(t *testing.T) {
	t.Parallel()
	s := mustFixture(t)
	ctx := t.Context()
	const next = "another horse battery"
	session := s.mustSignIn(t, "amy@example.com", password)
	token := must(t)(s.Reset(ctx, s.a.ID, s.by(t), "", "Amy@Example.com"))
	if !s.isActive(t, session) {
		t.Error("creating a link ended a session")
	}
	if got, err := s.ReadLink(ctx, token); err != nil || got.Purpose != "reset" || got.Email != "amy@example.com" ||
		got.Role != nil {
		t.Errorf("Open = %+v, %v", got, err)
	}
	if begun := must(t)(s.UseLink(ctx, token, next, "192.0.2.8")); s.isActive(t, session) || !s.isActive(t, begun) {
		t.Errorf(
			"the earlier session is active: %v, the new one: %v; want false, true", s.isActive(t, session), s.isActive(t, begun),
		)
	}
	if got := s.logged(t, s.a); got.Action != "password.reset" || got.Actor != "amy@example.com" ||
		*got.Address != "192.0.2.8" {
		t.Errorf("logged = %+v, want password.reset by Amy", got)
	}
	s.mustSignIn(t, "amy@example.com", next)
	if _, err := s.SignIn(ctx, "amy@example.com", password, "192.0.2.1"); !errors.Is(err, ErrWrong) {
		t.Errorf("SignIn with the old password = %v, want ErrWrong", err)
	}
	if _, err := s.UseLink(ctx, token, next, ""); !isEnded(err) {
		t.Errorf("Use again = %v, want tenancy.ErrEnded", err)
	}
	t.Run("of a member of another tenant requires the operator", func(t *testing.T) {
		if _, err := s.Reset(ctx, s.a.ID, s.by(t), "", "eve@example.com"); !errors.Is(err, ErrElsewhere) {
			t.Errorf("Reset = %v, want ErrElsewhere", err)
		}
		token := must(t)(s.operator().ResetAnywhere(ctx, "eve@example.com"))
		for _, tenant := range []tenants.Tenant{s.a, s.b} {
			if got := s.logged(t, tenant); got.Action != "password.reset_link" || got.Target != "eve@example.com" ||
				got.Actor != "operator" || got.Address != nil {
				t.Errorf("the log of %s ends with %+v, want password.reset_link by the operator", tenant.Slug, got)
			}
		}
		if _, err := s.UseLink(ctx, token, next, ""); err != nil {
			t.Fatal(err)
		}
		s.mustSignIn(t, "eve@example.com", next)
		if got := s.logged(t, s.b); got.Action != "password.reset" || got.Actor != "eve@example.com" {
			t.Errorf("logged = %+v, want password.reset by Eve in b too", got)
		}
		if _, err := s.operator().ResetAnywhere(ctx, "nobody@example.com"); !errors.Is(err, tenancy.ErrNotFound) {
			t.Errorf("ResetAnywhere of an unknown account = %v, want ErrNotFound", err)
		}
	})
	// Another person can have created the account of an e-mail address, with an invitation that was sent to
	// a wrong address.
	t.Run("by the operator gives an account without a tenant to its person", func(t *testing.T) {
		creator := s.mustMember(t, s.b, "carl@example.com", Viewer)
		if err := s.Remove(ctx, s.b.ID, s.as(t, s.bea), creator.UserID); err != nil {
			t.Fatal(err)
		}
		theirs := s.mustSignIn(t, "carl@example.com", password)
		invitation := must(t)(s.Invite(ctx, s.a.ID, s.by(t), "", "carl@example.com", Admin))
		if _, err := s.UseLink(ctx, invitation, next, ""); !errors.Is(err, ErrWrong) {
			t.Errorf("Use of the invitation without the password of the account = %v, want ErrWrong", err)
		}
		reset := must(t)(s.operator().ResetAnywhere(ctx, "Carl@example.com"))
		if got, err := s.ReadLink(ctx, reset); err != nil || got.Email != "carl@example.com" || got.TenantID != 0 {
			t.Errorf("Open = %+v, %v, want a reset of no tenant", got, err)
		}
		must(t)(s.UseLink(ctx, reset, next, ""))
		joined, err := s.Session(ctx, must(t)(s.UseLink(ctx, invitation, next, "")), "a")
		if err != nil || joined.Role != Admin || s.isActive(t, theirs) {
			t.Errorf("Session = %+v, %v, the session of the creator is active: %v", joined, err, s.isActive(t, theirs))
		}
	})
	t.Run("ends with the membership and with a new password", func(t *testing.T) {
		m := s.mustMember(t, s.a, "leaver@example.com", Viewer)
		link := must(t)(s.Reset(ctx, s.a.ID, s.by(t), "", m.Email))
		session := s.mustSignIn(t, m.Email, password)
		if _, err := s.ChangePassword(ctx, session, m.Email, password, next, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := s.UseLink(ctx, link, next, ""); !isEnded(err) {
			t.Errorf("Use after a change of the password = %v, want tenancy.ErrEnded", err)
		}
		link = must(t)(s.Reset(ctx, s.a.ID, s.by(t), "", m.Email))
		if err := s.Remove(ctx, s.a.ID, s.by(t), m.UserID); err != nil {
			t.Fatal(err)
		}
		if _, err := s.UseLink(ctx, link, next, ""); !isEnded(err) {
			t.Errorf("Use after the removal = %v, want tenancy.ErrEnded", err)
		}
	})
	t.Run("and an invitation end when their owner is removed or demoted", func(t *testing.T) {
		s.mustMember(t, s.a, "victim@example.com", Viewer)
		for what, end := range map[string]func(owner int64) error{
			"removed": func(owner int64) error { return s.Remove(ctx, s.a.ID, s.by(t), owner) },
			"demoted": func(owner int64) error { return s.ChangeRole(ctx, s.a.ID, s.by(t), owner, Viewer) },
		} {
			owner := s.mustMember(t, s.a, what+"@example.com", Owner)
			theirs := []Token{
				must(t)(s.Reset(ctx, s.a.ID, s.as(t, owner), "", "victim@example.com")),
				must(t)(s.Invite(ctx, s.a.ID, s.as(t, owner), "", "second@example.com", Owner)),
			}
			others := []Token{
				must(t)(s.Invite(ctx, s.a.ID, s.by(t), "", "friend@example.com", Viewer)),
				must(t)(s.operator().Invite(ctx, s.a.ID, tenancy.Operator, "", "friend2@example.com", Viewer)),
			}
			if err := end(owner.UserID); err != nil {
				t.Fatal(err)
			}
			for i, link := range append(theirs, others...) {
				if _, err := s.ReadLink(ctx, link); isEnded(err) != (i < len(theirs)) {
					t.Errorf("Open of link %d after its owner was %s = %v", i, what, err)
				}
			}
		}
	})
	t.Run("by an owner ends when the account joins another tenant", func(t *testing.T) {
		m := s.mustMember(t, s.a, "joiner@example.com", Viewer)
		link, anywhere := must(t)(s.Reset(ctx, s.a.ID, s.by(t), "", m.Email)), Token("")
		s.mustMember(t, s.b, m.Email, Owner)
		if _, err := s.ReadLink(ctx, link); !isEnded(err) {
			t.Errorf("Open = %v, want tenancy.ErrEnded", err)
		}
		// Past the page, too.
		if found, err := db.Call[struct{ Done bool }](
			ctx, s.DB, `select use_reset($1, 'x', sha256('x'), '') as done`, link.hash(),
		); err != nil || found[0].Done {
			t.Errorf("use_reset = %v, %v, want nothing done", found, err)
		}
		anywhere = must(t)(s.operator().ResetAnywhere(ctx, m.Email))
		if _, err := s.UseLink(ctx, anywhere, next, ""); err != nil {
			t.Errorf("Use of the operator's link = %v", err)
		}
	})
	t.Run("cannot be used as an invitation, nor an invitation as a reset", func(t *testing.T) {
		reset := must(t)(s.Reset(ctx, s.a.ID, s.by(t), "", "amy@example.com"))
		invitation := must(t)(s.Invite(ctx, s.a.ID, s.by(t), "", "bea@example.com", Viewer))
		before := s.state(t)
		for sql, token := range map[string]Token{
			`select outcome <> 'ended' as done from accept_invitation($1, 'x', true, sha256('x'))`: reset,
			`select use_reset($1, 'x', sha256('x'), '') as done`:                                   invitation,
		} {
			if found, err := db.Call[struct{ Done bool }](ctx, s.DB, sql, token.hash()); err != nil || found[0].Done {
				t.Errorf("%s = %v, %v, want nothing done", sql, found, err)
			}
		}
		if diff := cmp.Diff(before, s.state(t)); diff != "" {
			t.Errorf("something changed (-before +after):\n%s", diff)
		}
	})
}

// An attacker with a stolen password can create links to return. A changed or reset password ends them in
// every tenant. Invitations to the person remain, because accepting one requires the new password.
func TestANewPasswordEndsTheLinksThatThePersonCreated(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(s *fixture, session Token) error{
		"changed": func(s *fixture, session Token) error {
			_, err := s.ChangePassword(t.Context(), session, "ann@example.com", password, "another good password", "")
			return err
		},
		"reset": func(s *fixture, _ Token) error {
			token, err := s.operator().ResetAnywhere(t.Context(), "ann@example.com")
			if err != nil {
				return err
			}
			_, err = s.UseLink(t.Context(), token, "another good password", "")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mustFixture(t)
			ctx := t.Context()
			s.mustMember(t, s.b, "ann@example.com", Owner)
			session := s.mustSignIn(t, "ann@example.com", password)
			ann := Session{UserID: s.ann.UserID, Email: "ann@example.com"}.Actor(session, "")
			third := s.MustTenant(t, "c")
			cleo := s.mustMember(t, third, "cleo@example.com", Owner)
			ended := map[string]Token{
				"the invitation":             must(t)(s.Invite(ctx, s.a.ID, ann, "", "friend@example.com", Owner)),
				"the invitation into B":      must(t)(s.Invite(ctx, s.b.ID, ann, "", "friend@example.com", Viewer)),
				"the reset of Amy's account": must(t)(s.Reset(ctx, s.a.ID, ann, "", "amy@example.com")),
			}
			kept := map[string]Token{
				"the invitation of Ann into C": must(t)(s.Invite(ctx, third.ID, s.as(t, cleo), "", "ann@example.com", Viewer)),
				"Bea's invitation":             must(t)(s.Invite(ctx, s.b.ID, s.as(t, s.bea), "", "other@example.com", Viewer)),
			}
			if err := change(s, session); err != nil {
				t.Fatal(err)
			}
			for what, token := range ended {
				if _, err := s.ReadLink(ctx, token); !isEnded(err) {
					t.Errorf("Open of %s = %v, want ErrEnded", what, err)
				}
			}
			for what, token := range kept {
				if _, err := s.ReadLink(ctx, token); err != nil {
					t.Errorf("Open of %s = %v, want it kept", what, err)
				}
			}
			if _, err := s.UseLink(ctx, kept["the invitation of Ann into C"], password, ""); !errors.Is(err, ErrWrong) {
				t.Errorf("accepting with the old password = %v, want ErrWrong", err)
			}
		})
	}
}

func TestPendingLinksAreListedAndEnded(t *testing.T) {
	t.Parallel()
	s := mustFixture(t)
	ctx := t.Context()
	by := s.by(t)
	invitation := must(t)(s.Invite(ctx, s.a.ID, by, "", "new@example.com", Admin))
	reset := must(t)(s.Reset(ctx, s.a.ID, by, "", "amy@example.com"))
	byOperator := must(t)(s.operator().Invite(ctx, s.a.ID, tenancy.Operator, "", "other@example.com", Viewer))
	anywhere := must(t)(s.operator().ResetAnywhere(ctx, "eve@example.com"))
	must(t)(s.Invite(ctx, s.b.ID, s.as(t, s.bea), "", "new@example.com", Owner))
	used := must(t)(s.Invite(ctx, s.a.ID, by, "", "used@example.com", Viewer))
	must(t)(s.UseLink(ctx, used, password, ""))
	late := must(t)(s.Invite(ctx, s.a.ID, by, "", "late@example.com", Viewer))
	s.exec(t, `update one_time_links set expires_at = now() where token_hash = $1`, late.hash())
	must(t)(s.Reset(ctx, s.a.ID, by, "", "used@example.com"))
	s.mustMember(t, s.b, "used@example.com", Viewer) // which ends the reset
	told := func(links []PendingLink, err error) (all []string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range links {
			role := "-"
			if l.Role != nil {
				role = string(*l.Role)
			}
			if left := time.Until(l.ExpiresAt); left > 24*time.Hour || left < 23*time.Hour ||
				time.Since(l.CreatedAt) > time.Hour {
				t.Errorf("a link lives from %v until %v, want 24 hours", l.CreatedAt, l.ExpiresAt)
			}
			all = append(all, strings.Join([]string{l.Purpose, l.Email, role, l.MadeBy}, " "))
		}
		return all
	}
	want := []string{
		"invitation new@example.com admin ann@example.com", "reset amy@example.com - ann@example.com",
		"invitation other@example.com viewer operator",
	}
	if diff := cmp.Diff(want, told(s.Links(ctx, s.a.ID, by))); diff != "" {
		t.Errorf("Links for Ann (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(
		append(want, "reset eve@example.com - operator"), told(s.operator().Links(ctx, s.a.ID, tenancy.Operator)),
	); diff != "" {
		t.Errorf("Links for the operator (-want +got):\n%s", diff)
	}
	pending, err := s.Links(ctx, s.a.ID, by)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.EndLink(ctx, s.b.ID, s.as(t, s.bea), pending[0].ID); !errors.Is(err, tenancy.ErrNotFound) {
		t.Errorf("EndLink of another tenant's = %v, want ErrNotFound", err)
	}
	for _, test := range []struct {
		what   string
		token  Token
		end    func() error
		action string
		actor  string
	}{
		{"EndLink of an invitation", invitation, func() error { return s.EndLink(ctx, s.a.ID, by, pending[0].ID) }, "member.invite_revoke", "ann@example.com"},
		{"EndLink of a reset", reset, func() error { return s.EndLink(ctx, s.a.ID, by, pending[1].ID) }, "password.reset_link_revoke", "ann@example.com"},
		{"EndLinksOf", byOperator, func() error { return s.operator().EndLinksOf(ctx, s.a.ID, "Other@example.com") }, "member.invite_revoke", "operator"},
		{"EndResetAnywhere", anywhere, func() error { return s.operator().EndResetAnywhere(ctx, "Eve@example.com") }, "password.reset_link_revoke", "operator"},
	} {
		if _, err := s.ReadLink(ctx, test.token); err != nil {
			t.Errorf("before %s Open = %v", test.what, err)
		}
		if err := test.end(); err != nil {
			t.Errorf("%s = %v", test.what, err)
		}
		if _, err := s.ReadLink(ctx, test.token); !isEnded(err) {
			t.Errorf("after %s Open = %v, want tenancy.ErrEnded", test.what, err)
		}
		if _, err := s.UseLink(ctx, test.token, password, ""); !isEnded(err) {
			t.Errorf("after %s Use = %v, want tenancy.ErrEnded", test.what, err)
		}
		if got := s.logged(t, s.a); got.Action != test.action || got.Actor != test.actor {
			t.Errorf("%s is logged as %+v, want %s by %s", test.what, got, test.action, test.actor)
		}
		if err := test.end(); !errors.Is(err, tenancy.ErrNotFound) {
			t.Errorf("%s again = %v, want ErrNotFound", test.what, err)
		}
	}
	if got := told(s.operator().Links(ctx, s.a.ID, tenancy.Operator)); len(got) != 0 {
		t.Errorf("Links = %q, want none", got)
	}
}

// An address without a dot after the @ is a slip, although mail servers of local networks may accept it.
func TestAnInvitationNeedsACompleteAddress(t *testing.T) {
	t.Parallel()
	s := mustFixture(t)
	for _, email := range []string{"not-an-email@x", "not-an-email", "a@b@c.example"} {
		_, err := s.Invite(t.Context(), s.a.ID, s.by(t), "", email, Viewer)
		if invalid, isInvalid := errors.AsType[tenancy.InvalidError](err); !isInvalid || invalid["email"] == nil {
			t.Errorf("an invitation of %s = %v, want an error of email", email, err)
		}
	}
}
