package browser

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/storeroom/storeroom/api/pages/words"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/cmd/storeroom/demo"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/people"
)

// mustDemo returns a site with the demo shop, and a tab of its owner.
func mustDemo(t *testing.T) *tab {
	t.Helper()
	s := newSite(t)
	owner, _, _ := s.fill(t, keyNames)
	s.insertUsage(t)
	if _, err := demo.Load(t.Context(), catalog.New(s.DB), s.tenant.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := demo.LoadSales(t.Context(), sales.New(s.DB), s.tenant.ID, time.Now()); err != nil {
		t.Fatal(err)
	}
	b := s.newTab(t)
	b.signIn(owner)
	return b
}

// first returns the path of the first object of a list.
func (b *tab) first(list string) string {
	b.t.Helper()
	b.mustOpen(b.page(list))
	return evaluate[string](b, `document.querySelector("main tbody a").getAttribute("href")`)
}

// Other languages have longer words. No page is wider than the window, from a small phone to a large screen.
func TestPagesFitInEveryLanguage(t *testing.T) {
	t.Parallel()
	b := mustDemo(t)
	paths := map[string]string{
		"order": b.first("orders?status=refunded"), "product": b.first("products"), "customer": b.first("customers"),
		"overview-shop": b.page("overview?period=last_90_days&channel=online&chart=running"),
		"report-sales":  b.page("reports/sales?period=last_90_days&compare=previous_year"), "report-shops": b.page("reports/shops"),
		"report-custom": b.page("reports/custom"), "report-check": b.page("reports/check?period=last_30_days"),
		"report-customers": b.page("reports/customers?period=last_90_days"), "sign-in": "/settings/sign-in",
	}
	for _, name := range []string{
		"overview", "orders", "products", "customers", "plans", "imports", "keys", "usage", "members", "account", "audit",
		"help", "start", "webhooks", "nothing",
	} {
		paths[name] = b.page(name)
	}
	for _, l := range words.Languages {
		b.exec(t, `update users set language = $1`, l.Code)
		for name, path := range paths {
			if name == "sign-in" {
				path += "?language=" + l.Code
			}
			b.open(path)
			if got := evaluate[string](b, `document.documentElement.lang`); got != l.Code {
				t.Errorf("%s has the language %s, want %s", name, got, l.Code)
			}
			for _, width := range []int64{320, 768, 1600} {
				b.show("light", width, 800)
				if got := evaluate[int64](b, `document.documentElement.scrollWidth`); got > width {
					t.Errorf("%s in %s is %d pixels wide at %d: %s", name, l.Code, got, width, b.widest(width))
				}
				if *screenshots != "" && l.Code != "en" && width != 768 {
					b.screenshot(strings.Join([]string{l.Code, name, map[int64]string{320: "320", 1600: "1600"}[width]}, "-"))
				}
			}
		}
	}
}

func TestKeysOfTheKeyboard(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.newTab(t)
	b.signIn(s.mustPerson(t, "vera", people.Viewer))
	b.mustOpen(s.page("overview"))
	press := func(keys, path string) {
		t.Helper()
		b.keys(keys[:1])
		b.load(chromedp.KeyEvent(keys[1:]))
		if got := b.path(); got != s.page(path) {
			t.Errorf("%s leads to %s, want %s", keys, got, s.page(path))
		}
	}
	press("gr", "orders")
	press("gp", "products")
	b.keys("/")
	if got := evaluate[string](b, `document.activeElement.id`); got != "search" {
		t.Errorf("/ moves the focus to %q, want the search", got)
	}
	b.keys("go?") // in a field, these are text
	if got := evaluate[string](b, `document.activeElement.value`); !strings.HasSuffix(got, "go?") || b.path() != s.page("products") {
		t.Errorf("the field has %q on %s", got, b.path())
	}
	evaluate[bool](b, `(document.activeElement.blur(), true)`)
	b.load(chromedp.KeyEvent("?"))
	b.wantText("These keys work on every page")
	b.check("help")
}
