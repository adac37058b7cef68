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

// signedIn returns a tab of a new member of the tenant.
func (s *site) signedIn(t testing.TB, role people.Role) *tab {
	t.Helper()
	b := s.newTab(t)
	b.signIn(s.mustPerson(t, "anna", role))
	return b
}

// createKey creates a key with the default settings and returns its value.
func (b *tab) createKey(name string) string {
	b.t.Helper()
	b.mustOpen(b.site.page("keys"))
	b.press("Generate new key")
	b.fill("Name", name)
	if status := b.press("Generate key"); status != 200 {
		b.t.Fatalf("generate key: %d %s", status, b.text("main"))
	}
	key := b.text("#key")
	if err := keys.Check(key); err != nil {
		b.t.Fatalf("the page shows the invalid key %q: %v", key, err)
	}
	return key
}

func TestNewKeyWorks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.signedIn(t, people.Admin)
	b.mustOpen(s.page("keys/new"))
	b.fill("Name", "Till in the shop")
	b.choose("Catalog")
	b.press("Generate key")
	key := b.text("#key")
	b.wantText("Copy the key now", "products:read")

	status, body := s.callAPI(t, "/api/products", key)
	if status != 200 {
		t.Errorf("the API returns %d %s, want 200", status, body)
	}
	output, err := exec.CommandContext(t.Context(), "sh", "-c", b.text("#try")).CombinedOutput()
	if err != nil || !strings.Contains(string(output), `"success":true`) {
		t.Errorf("%s: %v %s", b.text("#try"), err, output)
	}
	if status, _ := s.callAPI(t, "/api/orders", key); status != 403 {
		t.Errorf("a key without orders:read gets %d from /api/orders, want 403", status)
	}
}

func TestCopyButtons(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.signedIn(t, people.Admin)
	b.allowClipboard()
	for name, without := range map[string]bool{"with the clipboard": false, "without the clipboard": true} {
		t.Run(name, func(t *testing.T) {
			key := b.createKey(name)
			clipboard.Lock()
			defer clipboard.Unlock()
			evaluate[bool](b, `navigator.clipboard.writeText("something else").then(() => true)`)
			if without {
				evaluate[bool](b, `Object.defineProperty(navigator, "clipboard", {configurable: true, value: undefined}) && true`)
			}
			b.do(chromedp.Click(`//main//button[starts-with(normalize-space(), "Cop")]`)) // the first one
			b.do(chromedp.WaitVisible(`//main//button[normalize-space()="Copied"]`))
			if text := b.text("[role=status]#announcement"); text != "Copied" {
				t.Errorf("screen readers announce %q, want Copied", text)
			}
			if without {
				evaluate[bool](b, `delete navigator.clipboard`)
			}
			if got := evaluate[string](b, `navigator.clipboard.readText()`); got != key {
				t.Errorf("the clipboard has %q, want only the key", got)
			}
		})
	}
}

func TestKeyIsShownOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.signedIn(t, people.Admin)

	wantHidden := func(where, key string) {
		t.Helper()
		if html := b.html(); strings.Contains(html, key) {
			t.Errorf("the key is shown %s: %s", where, html)
		}
	}
	key := b.createKey("one")
	b.press("Done")
	wantHidden("in the list", key)
	b.wantText("one", key[:12])
	b.back()
	wantHidden("after going back", key)

	key = b.createKey("two")
	if status := b.load(call(page.Reload, page.ReloadParams{})); status != 409 {
		t.Errorf("reloaded: %d, want 409", status)
	}
	wantHidden("after a reload", key)
	b.wantText("This key was already created")
	b.press("Go to the overview")
	b.mustOpen(s.page("keys"))
	if n := strings.Count(b.text("table"), "two"); n != 1 {
		t.Errorf("the list has %d keys after a reload, want 1: %s", n, b.text("table"))
	}

	key = b.createKey("three")
	evaluate[bool](b, `dispatchEvent(new PageTransitionEvent("pagehide", {persisted: true}))`)
	wantHidden("in the page that the browser keeps for the back button", key)
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

// wantRefused checks that the API rejects a key within two seconds.
func (b *tab) wantRefused(key string) {
	b.t.Helper()
	for start := time.Now(); ; {
		sent := time.Now()
		status, _ := b.callAPI(b.t, "/api/me", key)
		if status == 401 {
			return
		}
		if sent.Sub(start) > 2*time.Second {
			b.t.Fatalf("the API still returns %d to the key after 2 s, want 401", status)
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
		t.Errorf("the page has %d buttons, want 1", n)
	}
	b.press("Revoke key")
	b.wantRefused(key)
	b.wantText("Revoked")
	if n := evaluate[int](b, `document.querySelectorAll(".row-actions a").length`); n != 0 {
		t.Errorf("a revoked key has %d actions, want 0", n)
	}
}

func TestPasswordPrompt(t *testing.T) {
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
		t.Error("the page asks for the password twice")
	}
}

func TestViewerCannotChangeKeys(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	key, _ := s.mustKey(t, "till")
	b := s.signedIn(t, people.Viewer)
	b.mustOpen(s.page("keys"))
	b.wantText("till")
	for _, word := range []string{"Generate", "Revoke", "Roll", "Audit log"} {
		if strings.Contains(b.text("body"), word) {
			t.Errorf("the page of a viewer shows %q", word)
		}
	}
	path := fmt.Sprintf("keys/%d/", key.ID)
	for _, name := range []string{"keys/new", path + "revoke", path + "roll", "audit"} {
		if status := b.open(s.page(name)); status != 403 {
			t.Errorf("%s: %d, want 403", name, status)
		}
		b.wantText("You do not have permission")
	}
}

func TestPagesOfAnotherTenantDoNotExist(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	key, _ := s.mustKey(t, "till")
	theirs := s.tenant
	s.tenant = s.MustTenant(t, "other-"+s.mark)
	b := s.signedIn(t, people.Owner)
	b.mustOpen(s.page("keys"))
	s.tenant = theirs
	revoke := fmt.Sprintf("keys/%d/revoke", key.ID)
	for _, name := range []string{"", "keys", "keys/new", revoke, "members", "audit", "account", "start"} {
		if status := b.open(strings.TrimSuffix(s.page(name), "/")); status != 404 {
			t.Errorf("%q of another tenant: %d, want 404", name, status)
		}
	}
}
