package browser

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/tenancy/people"
)

// signedIn is a tab of a new member of the tenant.
func (s *site) signedIn(t testing.TB, role people.Role) *tab {
	t.Helper()
	b := s.newTab(t)
	b.signIn(s.mustPerson(t, "anna", role))
	return b
}

// makeKey makes a key of which only the name is filled in, and returns its value.
func (b *tab) makeKey(name string) string {
	b.t.Helper()
	b.mustOpen(b.site.page("keys"))
	b.press("Generate new key")
	b.fill("Name", name)
	if status := b.press("Generate key"); status != 200 {
		b.t.Fatalf("generate key: %d %s", status, b.text("main"))
	}
	key := b.text("#key")
	if err := keys.Check(key); err != nil {
		b.t.Fatalf("the page shows %q, which is no key: %v", key, err)
	}
	return key
}

func TestAKeyIsMadeAndWorks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.signedIn(t, people.Admin)
	key := b.makeKey("Till in the shop")
	b.wantText("Copy the key now", "products:read")

	status, body := s.callAPI(t, "/api/products", key)
	if status != 200 {
		t.Errorf("the API answers %d %s, want 200", status, body)
	}
	output, err := exec.CommandContext(t.Context(), "sh", "-c", b.text("#try")).CombinedOutput()
	if err != nil || !strings.Contains(string(output), `"success":true`) {
		t.Errorf("%s: %v %s", b.text("#try"), err, output)
	}
	if status, _ := s.callAPI(t, "/api/orders", key); status == 200 {
		t.Error("a key that nobody gave permissions for orders reads orders")
	}
}

func TestCopyButtons(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.signedIn(t, people.Admin)
	b.allowClipboard()
	for name, without := range map[string]bool{"with the clipboard": false, "without the clipboard": true} {
		t.Run(name, func(t *testing.T) {
			key := b.makeKey(name)
			clipboard.Lock()
			defer clipboard.Unlock()
			evaluate[bool](b, `navigator.clipboard.writeText("something else").then(() => true)`)
			if without {
				evaluate[bool](b, `Object.defineProperty(navigator, "clipboard", {configurable: true, value: undefined}) && true`)
			}
			b.do(chromedp.Click(`//main//button[starts-with(normalize-space(), "Cop")]`)) // the first one
			b.do(chromedp.WaitVisible(`//main//button[normalize-space()="Copied"]`))
			if told := b.text("[role=status]#announcement"); told != "Copied" {
				t.Errorf("who hears the page is told %q, want Copied", told)
			}
			if without {
				evaluate[bool](b, `delete navigator.clipboard`)
			}
			if got := evaluate[string](b, `navigator.clipboard.readText()`); got != key {
				t.Errorf("the clipboard has %q, want the bare key", got)
			}
		})
	}
}

func TestAKeyIsShownOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.signedIn(t, people.Admin)

	gone := func(where, key string) {
		t.Helper()
		if html := b.html(); strings.Contains(html, key) {
			t.Errorf("%s the key is shown again: %s", where, html)
		}
	}
	key := b.makeKey("one")
	b.press("Done")
	gone("in the list", key)
	b.wantText("one", key[:12])
	b.back()
	gone("after going back", key)

	key = b.makeKey("two")
	if status := b.load(call(page.Reload, page.ReloadParams{})); status != 409 {
		t.Errorf("reloaded: %d, want 409", status)
	}
	gone("after a reload", key)
	b.wantText("This key was already created")
	b.press("Back to API keys")
	if n := strings.Count(b.text("table"), "two"); n != 1 {
		t.Errorf("the reload made %d keys, want 1: %s", n, b.text("table"))
	}

	key = b.makeKey("three")
	evaluate[bool](b, `dispatchEvent(new PageTransitionEvent("pagehide", {persisted: true}))`)
	gone("where the browser keeps the page for going back", key)
	b.wantText("This value is no longer shown.")
}

func TestRoll(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.signedIn(t, people.Admin)
	for _, overlap := range []string{"24", "0"} {
		_, old := s.mustKey(t, "till "+overlap)
		b.mustOpen(s.page("keys"))
		b.press("Roll till " + overlap)
		b.do(chromedp.SetValue(field("Keep the old key active for"), overlap))
		b.press("Roll key")
		successor := b.text("#key")
		if status, _ := s.callAPI(t, "/api/me", successor); status != 200 {
			t.Errorf("overlap %s: the successor: %d, want 200", overlap, status)
		}
		if overlap == "0" {
			b.wantText("was revoked")
			b.wantRefused(old)
		} else if status, _ := s.callAPI(t, "/api/me", old); status != 200 {
			t.Errorf("overlap %s: the old key: %d, want 200", overlap, status)
		}
		if status := b.load(call(page.Reload, page.ReloadParams{})); status != 409 || strings.Contains(b.html(), successor) {
			t.Errorf("reloaded: %d, want 409 without the key", status)
		}
	}
}

// wantRefused checks that the API refuses a key within two seconds of now.
func (b *tab) wantRefused(key string) {
	b.t.Helper()
	for begun := time.Now(); ; {
		status, _ := b.callAPI(b.t, "/api/me", key)
		if status == 401 {
			return
		}
		if time.Since(begun) > 2*time.Second {
			b.t.Fatalf("two seconds after its end the key gets %d, want 401", status)
		}
	}
}

func TestRevoke(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.signedIn(t, people.Admin)
	_, key := s.mustKey(t, "till")
	if status, _ := s.callAPI(t, "/api/me", key); status != 200 {
		t.Fatalf("the key: %d, want 200", status)
	}
	b.mustOpen(s.page("keys"))
	b.press("Revoke till")
	b.wantText("lose access", "till", key[:12]+"…"+key[len(key)-4:])
	if n := evaluate[int](b, `document.querySelectorAll("main button").length`); n != 1 {
		t.Errorf("%d buttons, want Revoke alone", n)
	}
	b.press("Revoke key")
	b.wantRefused(key)
	b.wantText("Revoked")
	if n := evaluate[int](b, `document.querySelectorAll(".row-actions a").length`); n != 0 {
		t.Errorf("a revoked key still has %d actions", n)
	}
}

func TestAnOldPasswordIsAskedForAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.signedIn(t, people.Owner)
	s.exec(t, `update sessions set confirmed_at = now() - interval '11 minutes'`)
	b.mustOpen(s.page("keys/new"))
	b.fill("Name", "Till")
	b.fill("Your password", "wrong horse battery")
	if status := b.press("Generate key"); status != 422 {
		t.Errorf("a wrong password: %d, want 422", status)
	}
	b.wantText("The password is incorrect.")
	b.fill("Your password", password)
	b.press("Generate key")
	if err := keys.Check(b.text("#key")); err != nil {
		t.Errorf("the page shows %q: %v", b.text("main"), err)
	}
	b.mustOpen(s.page("keys/new"))
	if strings.Contains(b.text("main"), "Your password") {
		t.Error("the password that was just given is asked for again")
	}
}

func TestAViewerMayOnlyLook(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	key, _ := s.mustKey(t, "till")
	b := s.signedIn(t, people.Viewer)
	b.mustOpen(s.page("keys"))
	b.wantText("till")
	for _, word := range []string{"Generate", "Revoke", "Roll", "Audit log"} {
		if strings.Contains(b.text("body"), word) {
			t.Errorf("a viewer is offered %s", word)
		}
	}
	for _, name := range []string{"keys/new", fmt.Sprintf("keys/%d/revoke", key.ID), fmt.Sprintf("keys/%d/roll", key.ID), "audit"} {
		if status := b.open(s.page(name)); status != 403 {
			t.Errorf("%s: %d, want 403", name, status)
		}
		b.wantText("You do not have permission")
	}
}

func TestAnotherTenantIsNotThere(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	key, _ := s.mustKey(t, "till")
	theirs := s.tenant
	s.tenant = s.MustTenant(t, "other-"+s.mark)
	b := s.signedIn(t, people.Owner)
	b.mustOpen(s.page("keys"))
	s.tenant = theirs
	for _, name := range []string{"", "keys", "keys/new", fmt.Sprintf("keys/%d/revoke", key.ID), "members", "audit", "account", "start"} {
		if status := b.open(strings.TrimSuffix(s.page(name), "/")); status != 404 {
			t.Errorf("%q of another tenant: %d, want 404", name, status)
		}
	}
}
