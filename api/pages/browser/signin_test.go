package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/storeroom/storeroom/tenancy/people"
)

func TestSignIn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	email, b := s.mustPerson(t, "anna", people.Owner), s.newTab(t)

	b.mustOpen(s.page("members"))
	b.wantText("Sign in") // and then back to the requested page
	b.fill("E-mail", email)
	b.fill("Password", "wrong horse battery")
	if status := b.press("Sign in"); status != 422 {
		t.Errorf("a wrong password: %d, want 422", status)
	}
	b.wantText("Incorrect e-mail address or password.")
	if c := b.cookie(); c != nil {
		t.Errorf("a wrong password started a session: %+v", c)
	}
	b.fill("Password", password)
	if status := b.press("Sign in"); status != 200 || b.path() != s.page("members") {
		t.Errorf("signed in: %d at %s, want 200 at %s", status, b.path(), s.page("members"))
	}
	if c := b.cookie(); c == nil || !c.HTTPOnly || c.SameSite != "Lax" || !c.Session {
		t.Errorf("cookie = %+v, want a session cookie, HttpOnly, SameSite=Lax", c)
	}
	b.load(chromedp.Click(`//button[normalize-space()="Sign out"]`))
	b.mustOpen(s.page("keys"))
	b.wantText("Sign in")
}

func TestSignInReplacesAPlantedSession(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	anna, mallory := s.mustPerson(t, "anna", people.Owner), s.mustPerson(t, "mallory", people.Viewer)
	planted, err := s.people.SignIn(t.Context(), mallory, password, "192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	tokens := map[string]string{"session of another user": planted.Reveal(), "unknown token": strings.Repeat("A", 43)}
	for name, token := range tokens {
		t.Run(name, func(t *testing.T) {
			b, attacker := s.newTab(t), s.newTab(t)
			b.setCookie(token)
			b.mustOpen("/settings/sign-in")
			b.fill("E-mail", anna)
			b.fill("Password", password)
			b.press("Sign in")
			if c := b.cookie(); c == nil || c.Value == token {
				t.Errorf("the cookie after sign-in is %+v, want a new one", c)
			}
			attacker.setCookie(token)
			attacker.mustOpen(s.page("keys"))
			if attacker.path() != "/settings/sign-in" {
				t.Errorf("the planted session opens %s", attacker.path())
			}
		})
	}
}

func TestSignOutEverywhere(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	email := s.mustPerson(t, "anna", people.Viewer)
	here, there := s.newTab(t), s.newTab(t)
	here.signIn(email)
	there.signIn(email)
	there.mustOpen(s.page("keys"))
	there.wantText("API keys")
	here.mustOpen(s.page("account"))
	here.press("Sign out everywhere")
	here.wantText("Sign out everywhere?", "including this one")
	there.mustOpen(s.page("keys"))
	there.wantText("API keys") // asking changes nothing
	here.press("Sign out everywhere")
	there.mustOpen(s.page("keys"))
	there.wantText("Sign in")
}

func TestPasswordChangeSignsOutOtherDevices(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	email := s.mustPerson(t, "anna", people.Viewer)
	here, there := s.newTab(t), s.newTab(t)
	here.signIn(email)
	there.signIn(email)
	here.mustOpen("/settings/password")
	here.fill("Current password", password)
	here.fill("New password", "another horse battery")
	here.fill("Confirm new password", "another horse batter")
	if status := here.press("Change password"); status != 422 {
		t.Errorf("two different new passwords: %d, want 422", status)
	}
	here.wantText("do not match")
	here.fill("Current password", password)
	here.fill("New password", "another horse battery")
	here.fill("Confirm new password", "another horse battery")
	here.press("Change password")
	here.wantText("Your password was changed.")
	here.mustOpen(s.page("keys"))
	here.wantText("API keys")
	there.mustOpen(s.page("keys"))
	there.wantText("Sign in")
}

func TestCrossSiteFormIsBlocked(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.newTab(t)
	b.signIn(s.mustPerson(t, "anna", people.Owner))
	for _, path := range []string{s.page("keys"), "/settings/sign-out", "/settings/sign-in"} {
		evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprintf(w, `<!doctype html><html lang="en"><link rel="icon" href="data:,"><title>A prize</title><main>
				<form method="post" action="%s%s"><input type="hidden" name="name" value="theirs">
				<input type="hidden" name="preset" value="full"><input type="hidden" name="lifetime" value="0">
				<button>Win</button></form></main>`, s.url, path)
		}))
		t.Cleanup(evil.Close)
		b.do(chromedp.Navigate(strings.Replace(evil.URL, "127.0.0.1", "localhost", 1)))
		if status := b.press("Win"); status != 403 {
			t.Errorf("a form of another site that posts to %s: %d, want 403", path, status)
		}
	}
	b.mustOpen(s.page("keys"))
	b.wantText("No API keys yet")
}

func TestInvitation(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, guest := s.newTab(t), s.newTab(t)
	owner.signIn(s.mustPerson(t, "anna", people.Owner))
	owner.mustOpen(s.page("members"))
	owner.fill("E-mail", s.email("ben"))
	owner.choose("Admin")
	owner.press("Create invitation link")
	link := owner.text("#link")
	if !strings.HasPrefix(link, s.url+"/settings/link/") {
		t.Fatalf("the link is %q", link)
	}
	guest.mustOpen(strings.TrimPrefix(link, s.url))
	guest.wantText("Join Larch & Loam", "role “Admin”", s.email("ben"))
	guest.fill("Password", "short")
	if status := guest.press("Join"); status != 422 {
		t.Errorf("a short password: %d, want 422", status)
	}
	guest.wantText("This password was not accepted.")
	guest.fill("Password", password)
	guest.press("Join")
	if guest.path() != s.page("overview") {
		t.Errorf("joined at %s, want %s", guest.path(), s.page("overview"))
	}
	guest.wantText("No sales yet")
	if status := guest.open(strings.TrimPrefix(link, s.url)); status != 404 {
		t.Errorf("the link a second time: %d, want 404", status)
	}
	owner.mustOpen(s.page("members"))
	owner.wantText(s.email("ben"), "Admin")
}

func TestReset(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ben := s.mustPerson(t, "ben", people.Viewer)
	owner, guest := s.newTab(t), s.newTab(t)
	guest.signIn(ben)
	owner.signIn(s.mustPerson(t, "anna", people.Owner))
	owner.mustOpen(s.page("members"))
	owner.press("Edit " + ben)
	owner.press("Create reset link")
	link := owner.text("#link")
	guest.mustOpen(s.page("keys"))
	guest.wantText("API keys") // creating a link changes nothing
	guest.mustOpen(strings.TrimPrefix(link, s.url))
	guest.fill("Password", "another horse battery")
	guest.press("Set password")
	guest.wantText("API keys")
	if _, err := s.people.SignIn(t.Context(), ben, password, "192.0.2.1"); err == nil {
		t.Error("the old password still works")
	}
}

func TestPagesWorkWithoutJavaScript(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	email, b := s.mustPerson(t, "anna", people.Owner), s.newTab(t)
	b.do(call(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	b.mustOpen("/settings")
	b.fill("E-mail", email)
	b.fill("Password", password)
	b.press("Sign in")
	b.wantText("No sales yet")
	b.mustOpen(s.page("keys"))
	b.press("Generate new key")
	b.fill("Name", "Till")
	b.press("Generate key")
	if status, body := s.callAPI(t, "/api/me", b.text("#key")); status != 200 {
		t.Errorf("the key: %d %s", status, body)
	}
	n := evaluate[int](b, `
		[...document.querySelectorAll("button")].filter(e => e.checkVisibility() && e.innerText === "Copy").length`)
	if n != 0 {
		t.Errorf("the page shows %d Copy buttons, want 0 without JavaScript", n)
	}
	b.press("Done")
	b.press("Revoke Till")
	b.press("Revoke key")
	b.wantText("Revoked")
	b.mustOpen(s.page("members"))
	b.fill("E-mail", s.email("ben"))
	b.press("Create invitation link")
	b.wantText("/settings/link/")
	b.mustOpen(s.page("audit"))
	b.wantText("Created an API key", "Revoked an API key", "Invited a member")
	b.do(chromedp.SetValue(field("Show"), "key."))
	b.press("Apply")
	if strings.Contains(b.text("table"), "a member") {
		t.Errorf("the filtered log shows members: %s", b.text("table"))
	}
}
