package browser

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/cmd/storeroom/demo"
	"github.com/storeroom/storeroom/reports/sales"
)

// TestTour writes screenshots for a look.
func TestTour(t *testing.T) {
	widths := os.Getenv("TOUR")
	if widths == "" {
		t.Skip()
	}
	s := newSite(t)
	owner, _, _ := s.fill(t, keyNames)
	s.insertUsage(t)
	if _, err := demo.Load(t.Context(), catalog.New(s.DB), s.tenant.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := demo.LoadSales(t.Context(), sales.New(s.DB), s.tenant.ID, time.Now()); err != nil {
		t.Fatal(err)
	}
	if language := os.Getenv("TOUR_LANGUAGE"); language != "" {
		s.exec(t, `update users set language = $1`, language)
	}
	b := s.newTab(t)
	b.signIn(owner)
	b.mustOpen(s.page("orders") + "?status=refunded")
	order := evaluate[string](b, `document.querySelector("main tbody a")?.getAttribute("href") ?? ""`)
	b.mustOpen(s.page("products"))
	product := evaluate[string](b, `document.querySelector("main tbody a").getAttribute("href")`)
	b.mustOpen(s.page("customers"))
	customer := evaluate[string](b, `document.querySelector("main tbody a").getAttribute("href")`)
	pages := map[string]string{
		"overview": s.page("overview"), "overview-shop": s.page("overview") + "?period=last_90_days&channel=online&chart=running",
		"orders": s.page("orders"), "order": order, "products": s.page("products"), "product": product,
		"customers": s.page("customers"), "customer": customer, "plans": s.page("plans"), "imports": s.page("imports"),
		"keys": s.page("keys"), "usage": s.page("usage"), "members": s.page("members"), "account": s.page("account"),
		"overview-empty": s.page("overview") + "?period=yesterday&channel=none", "sign-in": "/settings/sign-in?language=fr",
		"audit": s.page("audit"), "help": s.page("help"), "missing": s.page("nothing"), "start": s.page("start"),
	}
	for name, path := range pages {
		if only := os.Getenv("TOUR_PAGES"); only != "" && !strings.Contains(","+only+",", ","+name+",") {
			continue
		}
		b.open(path)
		for _, at := range []struct {
			name, scheme  string
			width, height int64
		}{{"320", "light", 320, 700}, {"360", "dark", 360, 740}, {"768", "light", 768, 1000}, {"1280", "light", 1280, 800}, {"1280d", "dark", 1280, 800}, {"1600", "light", 1600, 900}} {
			if !strings.Contains(","+widths+",", ","+at.name+",") {
				continue
			}
			b.show(at.scheme, at.width, at.height)
			if width := evaluate[int64](b, `document.documentElement.scrollWidth`); width > at.width {
				t.Errorf("%s at %s is %d wide: %s", name, at.name, width, b.widest(at.width))
			}
			b.screenshot(name + "-" + at.name)
		}
	}
}
