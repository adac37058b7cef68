package people

import (
	"errors"
	"fmt"
	"strings"

	"testing"

	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/limits"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

func isEnded(err error) bool { return errors.Is(err, tenancy.ErrEnded) }

func TestALanguageIsOfThePersonInEverySession(t *testing.T) {
	t.Parallel()
	s := mustFixture(t)
	first, second := s.mustSignIn(t, "ann@example.com", password), s.mustSignIn(t, "ann@example.com", password)
	if session, err := s.Session(t.Context(), first, ""); err != nil || session.Language != "" {
		t.Errorf("the language of a new account is %q, %v, want none", session.Language, err)
	}
	if err := s.SetLanguage(t.Context(), first, "fr"); err != nil {
		t.Fatal(err)
	}
	if session, err := s.Session(t.Context(), second, ""); err != nil || session.Language != "fr" {
		t.Errorf("the language in the other session is %q, %v, want fr", session.Language, err)
	}
	if err := s.SetLanguage(t.Context(), newToken(), "de"); !isEnded(err) {
		t.Errorf("without a session: %v, want ErrEnded", err)
	}
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	s := mustFixture(t)
	for _, test := range []struct{ name, email, password string }{
		{"as the account has it", "ann@example.com", password},
		{"in capitals and with spaces around", "  Ann@EXAMPLE.com\t", password},
	} {
		t.Run("accepts an e-mail "+test.name, func(t *testing.T) {
			t.Parallel()
			got, err := s.Session(t.Context(), s.mustSignIn(t, test.email, test.password), "a")
			if err != nil || got.UserID != s.ann.UserID || got.Email != "ann@example.com" || got.Role != Owner ||
				time.Since(got.ConfirmedAt) > time.Minute {
				t.Errorf("Session = %+v, %v, want Ann, who owns a", got, err)
			}
			if diff := cmp.Diff(&s.a, got.Tenant); diff != "" {
				t.Errorf("tenant (-want +got):\n%s", diff)
			}
		})
	}
	var said []string
	for _, test := range []struct{ name, email, password string }{
		{"a wrong password", "ann@example.com", password + "!"},
		{"no password", "ann@example.com", ""},
		{"an unknown e-mail", "nobody@example.com", password},
		{"no e-mail", "", ""},
		{"a NUL", "ann@example.com\x00", password},
		{"broken UTF-8", "ann\xff@example.com", password},
		{"a LIKE pattern", "%", password},
		{"an e-mail of 64 KiB", strings.Repeat("a", 1<<16) + "@example.com", password},
		{"a password of 1 MiB", "ann@example.com", strings.Repeat("a", 1<<20)},
	} {
		token, err := s.SignIn(t.Context(), test.email, test.password, "192.0.2.1")
		if token != "" || !errors.Is(err, ErrWrong) {
			t.Errorf("SignIn with %s = %v, want ErrWrong", test.name, err)
		}
		said = append(said, fmt.Sprint(err))
	}
	for _, text := range said {
		if text != said[0] {
			t.Errorf("the errors tell apart who exists: %q and %q", text, said[0])
		}
	}
}

// An unknown e-mail address takes as much work as an account, and an invitation the same
// work for any password.
func TestAnUnknownEmailTakesAsMuchWork(t *testing.T) {
	t.Parallel()
	s := mustFixture(t)
	var links []Token
	for _, email := range []string{"bea@example.com", "nobody@example.com"} {
		links = append(links, must(t)(s.Invite(t.Context(), s.a.ID, s.by(t), "", email, Viewer)))
	}
	c := limits.New(24, 2)
	c.Wait = time.Millisecond
	ticket := c.Enter("address", limits.Page)
	if _, err := ticket.Take(t.Context(), limits.CPU, 1); err != nil {
		t.Fatal(err)
	}
	ctx := limits.NewContext(t.Context(), ticket)
	for _, email := range []string{"ann@example.com", "nobody@example.com", "no e-mail", ""} {
		if _, err := s.SignIn(ctx, email, password, "192.0.2.1"); !errors.Is(err, limits.ErrBusy) {
			t.Errorf("SignIn(%q) while another request hashes = %v, want ErrBusy: it has to hash", email, err)
		}
	}
	for _, link := range links {
		for _, password := range []string{password, "", "short"} {
			if _, err := s.UseLink(ctx, link, password, ""); !errors.Is(err, limits.ErrBusy) {
				t.Errorf("Use with %q while another request hashes = %v, want ErrBusy: it has to hash", password, err)
			}
		}
	}
}

func TestAnEmailInAnyCaseIsOneAccount(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		got := Account(rapid.OneOf(
			rapid.String(), rapid.StringMatching(`[ \x00-\x7fA-Zé]{0,5}[a-zA-Z.]{1,9}@[a-zA-Z.]{1,9}[ \xff]{0,2}`),
		).Draw(t, "email"))
		if got != "" && (CheckEmail(got) != "" || Account(got) != got || strings.ContainsRune(got, 0)) {
			t.Errorf("Account = %q, which is none", got)
		}
	})
}

func TestASessionEnds(t *testing.T) {
	t.Parallel()
	s := mustFixture(t)
	for _, test := range []struct {
		name, seen, created string // how long ago
		active              bool
	}{
		{"not within 30 idle minutes", "29 minutes", "2 hours", true},
		{"after 30 idle minutes", "30 minutes 1 second", "2 hours", false},
		{"not within 12 hours", "0", "11 hours 59 minutes", true},
		{"after 12 hours, even if used", "0", "12 hours 1 second", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			token := s.mustSignIn(t, "eve@example.com", password)
			s.exec(
				t, `update sessions set seen_at = now() - $2::interval, created_at = now() - $3::interval where token_hash = $1`,
				token.hash(), test.seen, test.created,
			)
			if got := s.isActive(t, token); got != test.active {
				t.Errorf("active = %v, want %v", got, test.active)
			}
			if got := s.isActive(t, token); got != test.active {
				t.Errorf("active in the second request = %v, want %v", got, test.active)
			}
		})
	}
	t.Run("and not while it is used", func(t *testing.T) {
		token := s.mustSignIn(t, "eve@example.com", password)
		for range 3 {
			s.exec(t, `update sessions set seen_at = seen_at - interval '20 minutes' where token_hash = $1`, token.hash())
			if !s.isActive(t, token) {
				t.Fatal("it ended within 20 minutes of its last use")
			}
		}
	})
	t.Run("on signing out, here or everywhere", func(t *testing.T) {
		one, two, three := s.mustSignIn(t, "eve@example.com", password), s.mustSignIn(t, "eve@example.com", password),
			s.mustSignIn(t, "eve@example.com", password)
		ann := s.mustSignIn(t, "ann@example.com", password)
		if err := s.SignOut(t.Context(), one, false); err != nil || s.isActive(t, one) || !s.isActive(t, two) {
			t.Errorf(
				"after SignOut: %v, %v, active %v, want the first alone to have ended", err, s.isActive(t, one), s.isActive(t, two),
			)
		}
		old := s.mustSignIn(t, "eve@example.com", password)
		s.exec(t, `update sessions set seen_at = now() - interval '31 minutes' where token_hash = $1`, old.hash())
		if err := s.SignOut(t.Context(), old, true); err != nil || !s.isActive(t, two) {
			t.Errorf("SignOut everywhere by a session that has ended = %v, want nothing", err)
		}
		if err := s.SignOut(t.Context(), newToken(), true); err != nil || !s.isActive(t, two) {
			t.Errorf("SignOut of an unknown token everywhere = %v, want nothing", err)
		}
		if err := s.SignOut(t.Context(), two, true); err != nil || s.isActive(t, two) || s.isActive(t, three) || !s.isActive(t, ann) {
			t.Errorf(
				"after SignOut everywhere: %v, active %v, %v, Ann's %v", err, s.isActive(t, two), s.isActive(t, three), s.isActive(t, ann),
			)
		}
	})
	t.Run("and the next sign-in deletes it", func(t *testing.T) {
		token := s.mustSignIn(t, "eve@example.com", password)
		s.exec(t, `update sessions set created_at = now() - interval '13 hours' where token_hash = $1`, token.hash())
		s.mustSignIn(t, "ann@example.com", password)
		var left int
		if err := s.super.QueryRow(
			t.Context(), `select count(*) from sessions where token_hash = $1`, token.hash(),
		).Scan(&left); left != 0 || err != nil {
			t.Errorf("%d rows are left, %v", left, err)
		}
	})
}

func TestTokensAreStoredAsHashesAndRedacted(t *testing.T) {
	t.Parallel()
	s := mustFixture(t)
	session := s.mustSignIn(t, "ann@example.com", password)
	link := must(t)(s.Invite(t.Context(), s.a.ID, s.by(t), "", "new@example.com", Viewer))
	for _, token := range []Token{session, link} {
		if strings.Contains(s.state(t), token.Reveal()) {
			t.Error("the database holds a token")
		}
		if text := fmt.Sprintf("%v %s %#v %q", token, token, token, token); strings.Contains(text, token.Reveal()) {
			t.Errorf("a token shows itself: %s", text)
		}
		if len(token.Reveal()) != 43 {
			t.Errorf("a token has %d characters, want 43", len(token.Reveal()))
		}
	}
}

func TestConfirmRenewsTheToken(t *testing.T) {
	t.Parallel()
	s := mustFixture(t)
	old, other := s.mustSignIn(t, "ann@example.com", password), s.mustSignIn(t, "ann@example.com", password)
	s.exec(
		t,
		`update sessions set confirmed_at = now() - interval '11 hours', created_at = now() - interval '11 hours' where token_hash = $1`,
		old.hash(),
	)
	for email, wrong := range map[string]string{"ann@example.com": "wrong", "bea@example.com": password} {
		if token, err := s.Confirm(t.Context(), old, email, wrong); token != "" || !errors.Is(err, ErrWrong) {
			t.Errorf("Confirm by %s = %v, want ErrWrong", email, err)
		}
	}
	fresh := must(t)(s.Confirm(t.Context(), old, "ann@example.com", password))
	got, err := s.Session(t.Context(), fresh, "")
	if err != nil || time.Since(got.ConfirmedAt) > time.Minute {
		t.Errorf("Session = %+v, %v, want a password given just now", got, err)
	}
	if s.isActive(t, old) || !s.isActive(t, other) {
		t.Errorf("active: the old token %v, the other session %v, want false, true", s.isActive(t, old), s.isActive(t, other))
	}
	s.exec(
		t, `update sessions set created_at = created_at - interval '1 hour 1 second' where token_hash = $1`, fresh.hash(),
	)
	if s.isActive(t, fresh) {
		t.Error("Confirm began the 12 hours anew")
	}
	for what, token := range map[string]Token{"no session": newToken(), "one that has ended": fresh} {
		if _, err := s.Confirm(t.Context(), token, "ann@example.com", password); !errors.Is(err, ErrWrong) {
			t.Errorf("Confirm of %s = %v, want ErrWrong", what, err)
		}
	}
}

func TestChangePassword(t *testing.T) {
	t.Parallel()
	s := mustFixture(t)
	const next = "another horse battery"
	mine, other, bea := s.mustSignIn(t, "ann@example.com", password), s.mustSignIn(t, "ann@example.com", password),
		s.mustSignIn(t, "bea@example.com", password)
	if _, err := s.ChangePassword(t.Context(), mine, "ann@example.com", "wrong", next, ""); !errors.Is(err, ErrWrong) {
		t.Errorf("with a wrong password = %v, want ErrWrong", err)
	}
	for _, bad := range []string{"", "elevenchars", strings.Repeat("a", 129)} {
		_, err := s.ChangePassword(t.Context(), mine, "ann@example.com", password, bad, "")
		if faults, _ := errors.AsType[tenancy.InvalidError](err); len(faults["password"]) != 1 {
			t.Errorf("to %q = %v, want a fault of the password", bad, err)
		}
	}
	ended := s.mustSignIn(t, "ann@example.com", password)
	s.exec(t, `update sessions set seen_at = now() - interval '31 minutes' where token_hash = $1`, ended.hash())
	for what, token := range map[string]Token{"no session": newToken(), "one that has ended": ended} {
		if _, err := s.ChangePassword(t.Context(), token, "ann@example.com", password, next, ""); !errors.Is(err, ErrWrong) {
			t.Errorf("with %s = %v, want ErrWrong", what, err)
		}
	}
	if !s.isActive(t, mine) || !s.isActive(t, other) {
		t.Fatal("a failed change ended a session")
	}
	fresh := must(t)(s.ChangePassword(t.Context(), mine, "ann@example.com", password, next, "192.0.2.3"))
	for what, want := range map[string]struct {
		token  Token
		active bool
	}{
		"under its new token": {fresh, true}, "under its old token": {mine, false}, "elsewhere": {other, false},
		"of another user": {bea, true},
	} {
		if got := s.isActive(t, want.token); got != want.active {
			t.Errorf("the session %s is active: %v, want %v", what, got, want.active)
		}
	}
	if _, err := s.SignIn(t.Context(), "ann@example.com", password, "192.0.2.1"); !errors.Is(err, ErrWrong) {
		t.Errorf("SignIn with the old password = %v, want ErrWrong", err)
	}
	s.mustSignIn(t, "ann@example.com", next)
	if got := s.logged(t, s.a); got.Action != "password.change" || got.Actor != "ann@example.com" ||
		got.Target != "ann@example.com" || *got.Address != "192.0.2.3" {
		t.Errorf("logged = %+v, want password.change by Ann from 192.0.2.3", got)
	}
	if got := s.logged(t, s.b); got.Action == "password.change" {
		t.Error("a tenant that Ann is no member of was told")
	}
	must(t)(s.ChangePassword(
		t.Context(), s.mustSignIn(t, "eve@example.com", password), "eve@example.com", password, next, "192.0.2.4",
	))
	for _, tenant := range []tenants.Tenant{s.a, s.b} {
		if got := s.logged(t, tenant); got.Action != "password.change" || got.Actor != "eve@example.com" {
			t.Errorf("the log of %s ends with %+v, want password.change by Eve", tenant.Slug, got)
		}
	}
}

// The owner of B can neither read nor change anything of A.
func TestOwnersCannotReachOtherTenants(t *testing.T) {
	t.Parallel()
	s := mustFixture(t)
	ctx := t.Context()
	bea, amy := s.mustSignIn(t, "bea@example.com", password), s.mustSignIn(t, "amy@example.com", password)
	by := s.as(t, s.bea)
	for _, slug := range []string{"a", "nothing", "", "A", "%", "b ", "a'--"} {
		got, err := s.Session(ctx, bea, slug)
		if err != nil || got.Tenant != nil || got.Role != "" || got.UserID != s.bea.UserID {
			t.Errorf("Session in %q = %+v, %v, want Bea without a tenant", slug, got, err)
		}
	}
	got, err := s.Session(ctx, bea, "b")
	if diff := cmp.Diff([]Membership{{s.b.ID, "b", "B", Owner}}, got.Tenants); diff != "" || err != nil {
		t.Errorf("Tenants (-want +got): %v\n%s", err, diff)
	}
	before := s.state(t)
	for what, err := range map[string]error{
		"ChangeRole": s.ChangeRole(ctx, s.b.ID, by, s.amy.UserID, Owner),
		"Remove":     s.Remove(ctx, s.b.ID, by, s.ann.UserID),
		"Reset":      second(s.Reset(ctx, s.b.ID, by, "", "amy@example.com")),
	} {
		if !errors.Is(err, tenancy.ErrNotFound) {
			t.Errorf("%s of A's member by B = %v, want ErrNotFound", what, err)
		}
	}
	if err := second(s.Reset(ctx, s.b.ID, by, "", "eve@example.com")); !errors.Is(err, ErrElsewhere) {
		t.Errorf("Reset of a member of both = %v, want ErrElsewhere", err)
	}
	if diff := cmp.Diff(before, s.state(t)); diff != "" {
		t.Errorf("something changed (-before +after):\n%s", diff)
	}
	link := must(t)(s.Invite(ctx, s.b.ID, by, "", "amy@example.com", Owner))
	if got, err := s.ReadLink(ctx, link); err != nil || got.TenantID != s.b.ID || got.TenantName != "B" {
		t.Errorf("Open = %+v, %v, want a link into B", got, err)
	}
	if err := s.Remove(ctx, s.b.ID, by, s.eve.UserID); err != nil {
		t.Fatal(err)
	}
	members, err := s.operator().Members(ctx, s.a.ID, tenancy.Operator)
	roles := map[string]Role{}
	for _, m := range members {
		roles[m.Email] = m.Role
	}
	if diff := cmp.Diff(map[string]Role{
		"ann@example.com": "owner", "amy@example.com": "viewer", "eve@example.com": "admin",
	}, roles); diff != "" || err != nil {
		t.Errorf("Members of A (-want +got): %v\n%s", err, diff)
	}
	if !s.isActive(t, amy) {
		t.Error("an act in B ended a session of A's")
	}
	for _, tenant := range []tenants.Tenant{s.a, s.b} {
		found, total, err := tenants.AuditLog(ctx, s.DB, tenant.ID, "", 1, 50)
		for _, e := range found {
			if strings.HasPrefix(e.Actor, "bea@") != (tenant.ID == s.b.ID) && e.Actor != "operator" {
				t.Errorf("the log of %s tells of %s by %s", tenant.Slug, e.Action, e.Actor)
			}
		}
		if err != nil || total != map[string]int64{"a": 5, "b": 5}[tenant.Slug] {
			t.Errorf("AuditLog of %s = %d entries, %v", tenant.Slug, total, err)
		}
	}
}

func second[A any](_ A, err error) error { return err }
