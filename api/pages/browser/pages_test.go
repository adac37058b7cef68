package browser

import (
	"bytes"
	"cmp"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/cmd/storeroom/demo"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/people"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

var screenshots = flag.String("screenshots", "", "write a screenshot of every page to this directory")

//go:embed testdata/axe.min.js
var axe string

// viewports are the color schemes and sizes in which every page is checked.
var viewports = []struct {
	name, scheme  string
	width, height int64
}{
	{"light", "light", 1280, 800}, {"dark", "dark", 1280, 800}, {"phone", "light", 360, 740}, {"phone-dark", "dark", 360, 740},
}

// check checks the current page in every viewport, and that Tab reaches all controls in order on a phone and a desktop.
func (b *tab) check(name string) {
	b.t.Helper()
	b.checkViewports(name)
	if b.widths {
		return
	}
	b.do(chromedp.EmulateViewport(360, 740))
	b.checkTabOrder(name + "-phone")
	b.do(chromedp.EmulateViewport(viewports[0].width, viewports[0].height))
	b.checkTabOrder(name)
}

// checkViewports checks that the page does not scroll horizontally and that axe finds no violation.
func (b *tab) checkViewports(name string) {
	b.t.Helper()
	if !b.widths {
		evaluate[bool](b, axe+"; true")
	}
	for n, l := range viewports {
		where := name + "-" + l.name
		b.show(l.scheme, l.width, l.height)
		if width := evaluate[int64](b, `document.documentElement.scrollWidth`); width > l.width {
			b.t.Errorf("%s is %d pixels wide: %s", where, width, b.widest(l.width))
		}
		if b.widths {
			continue
		}
		b.screenshot(where)
		if b.isLarge && n > 0 {
			continue
		}
		violations := evaluate[[]string](b, `axe.run(`+strconv.Quote(cmp.Or(b.part, "html"))+`, {resultTypes: ["violations"]}).then(r =>
			r.violations.flatMap(v => v.nodes.map(n => v.id + ": " + n.html + " " + n.failureSummary)))`)
		for _, violation := range violations {
			b.t.Errorf("%s: axe: %s", where, violation)
		}
	}
	b.show("light", narrowest, 640)
	if width := evaluate[int64](b, `document.documentElement.scrollWidth`); width > narrowest {
		b.t.Errorf("%s is %d pixels wide in a window of %d: %s", name, width, narrowest, b.widest(narrowest))
	}
	b.do(chromedp.EmulateViewport(viewports[0].width, viewports[0].height))
}

// narrowest is the smallest width of a window in which pages must not scroll horizontally.
const narrowest = 320

// widest returns the elements that exceed the width.
func (b *tab) widest(width int64) string {
	return evaluate[string](b, fmt.Sprintf(`[...document.querySelectorAll("body *")]
		.filter(e => e.getBoundingClientRect().right > %d && !e.closest(".chips, .segments, .scroll"))
		.map(e => e.outerHTML.slice(0, 100)).join(" | ")`, width))
}

// checkTabOrder presses Tab until the focus returns to the first control. The page records where the focus goes,
// because asking for it after each key takes most of the time of these tests. A window that becomes active on a busy
// machine moves the focus to the start, so a wrong order must occur three times.
func (b *tab) checkTabOrder(name string) {
	b.t.Helper()
	var problems []string
	for range 3 {
		if problems = b.tabProblems(name); len(problems) == 0 {
			return
		}
	}
	for _, problem := range problems {
		b.t.Error(problem)
	}
}

func (b *tab) tabProblems(name string) (problems []string) {
	b.t.Helper()
	report := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	type stop struct {
		Index int
		Shown bool // the focus is visible
		HTML  string
	}
	type controls struct{ Count, Dates int }
	all := evaluate[controls](b, `(() => {
		const all = [...document.querySelectorAll("a[href]:not([tabindex='-1']), button, input:not([type=hidden]), select, summary")]
			.filter(e => e.checkVisibility() && !(e.type === "radio" && !e.checked));
		removeEventListener("focusin", window.record);
		window.stops = [];
		window.record = ({target: e}) => {
			const s = getComputedStyle(e), shown = s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2;
			// A window that becomes active reports the focus again.
			if (all.length > 1 && stops.at(-1)?.Index === all.indexOf(e)) return;
			if (all.includes(e)) stops.push({Index: all.indexOf(e), Shown: shown, HTML: e.outerHTML.slice(0, 120)});
		};
		addEventListener("focusin", window.record);
		return {Count: all.length, Dates: all.filter(e => e.type === "date").length};
	})()`)
	// Tab also goes through the parts of a date, and through the controls of the browser.
	b.keys(strings.Repeat(kb.Tab, all.Count+4*all.Dates+3))
	stops := evaluate[[]stop](b, `stops`)
	if len(stops) <= all.Count {
		report("%s: Tab reaches %d of %d controls: %+v", name, len(stops), all.Count, stops)
		return problems
	}
	for i, at := range stops[:all.Count] {
		if !at.Shown {
			report("%s: the focus on %s is not visible", name, at.HTML)
		}
		if next := stops[i+1]; next.Index != (at.Index+1)%all.Count {
			report("%s: Tab goes from %d to %d of %d: %s", name, at.Index, next.Index, all.Count, next.HTML)
		}
	}
	return problems
}

// screenshot writes a screenshot if the flag is set.
func (b *tab) screenshot(name string) {
	b.t.Helper()
	if *screenshots == "" {
		return
	}
	// Replace the URL of the test server.
	evaluate[bool](b, `(() => {
		const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
		const example = "https://storeroom.example.com";
		while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(location.origin, example);
		return true;
	})()`)
	b.save(name, chromedp.FullScreenshot(100))
}

func (b *tab) save(name string, take chromedp.Action[[]byte]) {
	b.t.Helper()
	png, err := chromedp.Run(b.ctx, take)
	if err == nil {
		err = os.MkdirAll(*screenshots, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(*screenshots, name+".png"), png, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// saveFirstScreens writes the two screenshots of the overview in the README if the flag is set.
func (b *tab) saveFirstScreens() {
	b.t.Helper()
	if *screenshots == "" {
		return
	}
	b.mustOpen(b.page("overview") + "?period=last_90_days")
	b.show("light", 1280, 890)
	b.save("readme-overview", chromedp.CaptureScreenshot())
	b.show("dark", 360, 740)
	b.save("readme-overview-phone", chromedp.CaptureScreenshot())
}

// show sets the color scheme and the size of the window.
func (b *tab) show(scheme string, width, height int64) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, height), call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	}))
}

var keyNames = []string{
	"Till in the shop", "Web shop", "Warehouse scanner", "Accountant", "Old till", "Stocktaking 2025",
}

func TestEveryPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, keyID, ben := s.fill(t, keyNames)
	s.checkMemberPages(t, owner, ben)
	s.checkKeyPages(t, owner, keyID)
	s.checkPublicPages(t)
}

func TestEveryPageOfSales(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, _, _ := s.fill(t, keyNames)
	s.insertUsage(t)
	s.checkSalesPages(t, owner)
}

func TestEveryPageWithLongNames(t *testing.T) {
	t.Parallel()
	if *screenshots != "" {
		return // screenshots show realistic names
	}
	s := newSite(t)
	s.widths = true
	s.mark = strings.Repeat("x", 60) + "." + strings.Repeat("y", 60) + "." + s.mark
	s.exec(t, `update tenants set name = $1`, strings.Repeat("Rindfleischetikettierung", 4))
	names := make([]string, 6)
	for i := range names {
		names[i] = strings.Repeat(string(rune('A'+i))+"longname", 11)
	}
	owner, keyID, ben := s.fill(t, names)
	s.checkMemberPages(t, owner, ben)
	s.checkKeyPages(t, owner, keyID)
	s.checkPublicPages(t)
	s.checkSalesPages(t, owner)
}

// checkSalesPages checks the pages with figures, products and orders of the demo shop.
func (s *site) checkSalesPages(t *testing.T, owner string) {
	t.Helper()
	b := s.newTab(t)
	b.signIn(owner)
	for _, name := range []string{"overview", "products", "orders", "customers"} {
		b.mustOpen(s.page(name))
		b.check(name + "-empty")
	}
	if _, err := demo.Load(t.Context(), catalog.New(s.DB), s.tenant.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := demo.LoadSales(t.Context(), sales.New(s.DB), s.tenant.ID, time.Now()); err != nil {
		t.Fatal(err)
	}
	if s.widths {
		s.exec(t, `update products set name = repeat('Rindfleischetikettierung', 8)`)
		s.exec(t, `update channels set label = repeat('Rindfleischetikettierung', 8)`)
	}
	for _, page := range []struct{ name, path string }{
		{"overview-year", "overview?period=last_year&compare=previous_period"},
		{"overview-days", "overview?from=2026-03-02&to=2026-03-01"},
		{"report-sales", "reports/sales?period=last_year&by=month&compare=previous_year"},
		{"report-days", "reports/sales?from=2026-03-02&to=2026-03-01"}, {"report-products", "reports/products?period=last_90_days"},
		{"report-shops", "reports/shops?period=last_90_days&compare=previous_period"},
		{"report-customers", "reports/customers?period=last_90_days"}, {"report-check", "reports/check?period=last_90_days"},
		{"products", "products?search=e&sort=-price"}, {"orders", "orders?channel=online&status=placed"},
	} {
		b.mustOpen(s.page("") + page.path)
		b.checkViewports(page.name)
	}
	b = s.newTab(t)
	b.signIn(owner)
	b.mustOpen(s.page("overview") + "?period=last_90_days")
	b.check("overview")
	b.mustOpen(s.page("reports/sales") + "?period=last_90_days&compare=previous_year")
	b.check("report")
	b.mustOpen(s.page("reports/custom") + "?period=last_90_days&by=category&metric=net_revenue&metric=margin_percent")
	b.check("report-custom")
	b.checkStockPages()
	if s.widths {
		return
	}
	b.mustOpen(s.page("products") + "?search=lantern")
	b.check("products-few")
	b.press(b.text("main tbody a"))
	b.wantText("Stock changes", "Revenue by month")
	b.check("product")
	b.mustOpen(s.page("orders") + "?channel=online&from=" + time.Now().AddDate(0, 0, -3).Format(time.DateOnly))
	b.check("orders-few")
	b.press(b.text("main tbody a"))
	b.wantText("Receipt", "Shipping")
	b.check("order")
	b.checkCustomers()
	b = s.newTab(t)
	b.signIn(owner)
	b.checkFirstScreen()
	b.saveFirstScreens()
	b.checkPrint()
	b.checkFiguresWithoutScript()
}

// checkStockPages checks the pages that count and move stock, and the settings of the business.
func (b *tab) checkStockPages() {
	b.t.Helper()
	b.mustOpen(b.page("settings"))
	b.check("settings")
	b.mustOpen(b.page("count"))
	b.check("count")
	b.mustOpen(b.page("count") + "?show=1")
	b.checkViewports("count-sheet") // it has too many fields for the key Tab
	evaluate[bool](b, `(() => {
		document.querySelectorAll("input[name^=q-]").forEach((field, i) => { if (i < 5) field.value = i; });
		return true;
	})()`)
	b.press("Check")
	b.wantText("Check the count", "Value at cost")
	b.check("count-check")
	b.mustOpen(b.page("products"))
	b.press(b.text("main tbody a"))
	b.press("Move stock")
	b.check("move")
}

// checkCustomers opens the list, a customer and the confirmation, and erases the customer.
func (b *tab) checkCustomers() {
	b.t.Helper()
	b.mustOpen(b.page("customers"))
	b.check("customers")
	b.press(b.text("main tbody a"))
	b.wantText("Revenue", "Download all data")
	b.check("customer")
	b.press("Erase")
	b.wantText("You cannot undo this.")
	b.check("customer-erase")
	b.press("Erase customer")
	b.wantText("Erased on")
	b.check("customer-erased")
}

// checkFirstScreen checks that a phone shows the first figures and their changes without scrolling.
func (b *tab) checkFirstScreen() {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(360, 740))
	for query, change := range map[string]string{
		"": "%", "?period=last_90_days&compare=previous_period": "%",
		"?period=last_year": "No comparison", // the shop began in the year before
	} {
		b.mustOpen(b.page("overview") + query)
		shown := evaluate[[]string](b, `[...document.querySelectorAll(".tile")]
			.filter(e => e.getBoundingClientRect().bottom <= innerHeight).map(e => e.innerText)`)
		if len(shown) < 4 || !strings.HasPrefix(shown[0], "Revenue") || !strings.Contains(shown[0], change) {
			b.t.Errorf("the first screen of overview%s shows the tiles %q, want four", query, shown)
		}
	}
}

// checkPrint checks that the charts and figures of the overview are visible on paper, even in the dark scheme.
func (b *tab) checkPrint() {
	b.t.Helper()
	b.mustOpen(b.page("overview"))
	b.do(call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: "print", Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
	}))
	b.screenshot("overview-print")
	type area struct{ Width, Height float64 }
	for _, chart := range evaluate[[]area](b, `[...document.querySelectorAll(".plot")].map(e => {
		const r = e.getBoundingClientRect();
		return {Width: r.width, Height: r.height};
	})`) {
		if chart.Width < 300 || chart.Height < 200 {
			b.t.Errorf("a printed chart has the size %v", chart)
		}
	}
	for selector, want := range map[string]string{
		".chart rect.now": "rgb(31, 111, 84)", ".chart rect.before": "rgb(201, 204, 198)",
	} {
		if got := evaluate[string](b, `getComputedStyle(document.querySelector("`+selector+`")).fill`); got != want {
			b.t.Errorf("printed %s has the color %s, want %s", selector, got, want)
		}
	}
	for _, selector := range []string{".picker button", ".chips", "#menu", "header button"} {
		if b.visible(selector) {
			b.t.Errorf("%s is printed", selector)
		}
	}
	b.wantText("compared with", "Revenue", "Best products")
	pdf, err := chromedp.Call(b.ctx, page.PrintToPDF, page.PrintToPDFParams{})
	if err != nil {
		b.t.Fatal(err)
	}
	if *screenshots != "" {
		if err := os.WriteFile(filepath.Join(*screenshots, "overview.pdf"), pdf.Data, 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
	if pages := bytes.Count(pdf.Data, []byte("/Type /Page\n")); pages < 1 || pages > 4 {
		b.t.Errorf("the overview is printed on %d pages", pages)
	}
}

// checkFiguresWithoutScript uses the pages with figures on a phone in the dark scheme, by keyboard.
func (b *tab) checkFiguresWithoutScript() {
	b.t.Helper()
	b.do(call(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	b.show("dark", 360, 740)
	submit := func() { b.load(chromedp.KeyEvent(kb.Enter)) }
	open := func(summary, content string) {
		b.t.Helper()
		b.tabTo(summary)
		b.enter()
		if !b.visible(content) {
			b.t.Errorf("%q does not open %s", summary, content)
		}
	}
	b.mustOpen(b.page("overview"))
	b.wantText("Revenue by day", "Best products", "Low stock")
	b.tabTo("Last month")
	submit()
	zone, err := b.tenant.Location()
	if err != nil {
		b.t.Fatal(err)
	}
	last := reports.Preset("last_month", tenancy.DayOf(time.Now(), zone))
	b.wantText(last.From.Format("2 Jan 2006") + " to")
	open(b.text(".picker summary"), "#compare")
	b.tabTo("Compare with")
	b.keys("The p")
	b.tabTo("Apply")
	submit()
	b.wantText(last.From.Format("2 Jan 2006")+" to", "to "+last.From.AddDate(0, 0, -1).Format("2 Jan 2006"))
	open("Calculation", ".tile details p")
	open("Figures as a table", "section table")

	b.mustOpen(b.page("products"))
	b.tabTo("Search")
	b.keys("lantern hook")
	submit()
	b.wantText("Lantern hook, 60 cm")
	b.tabTo(b.text("main tbody a"))
	submit()
	b.wantText("Revenue by month", "Stock changes")
	open("Figures as a table", "details table")

	b.mustOpen(b.page("orders"))
	b.tabTo("Shop")
	b.keys("Whole")
	b.tabTo("Show")
	submit()
	b.wantText("Wholesale", "without cancelled")
	b.tabTo(b.text("main tbody a"))
	submit()
	b.wantText("Receipt", "Shipping", "Total", "What happened")

	b.mustOpen(b.page("usage"))
	b.tabTo("Period")
	b.keys("Last 30")
	b.tabTo("Show")
	submit()
	open("Figures as a table", "details table")
	b.tabTo("Web shop")
	submit()
	b.wantText("the key “Web shop”", "Requests per day", "Last errors")
}

// fill creates keys in every status, members in every role and entries of the audit
// log. It returns the e-mail address of an owner and the ids of a live key and a viewer.
func (s *site) fill(t *testing.T, names []string) (owner string, key, viewer int64) {
	t.Helper()
	owner = s.mustPerson(t, "anna.larch", people.Owner)
	s.mustPerson(t, "theo.loam", people.Admin)
	s.mustPerson(t, "ben.steiner", people.Viewer)
	members, err := people.New(s.Admin).Members(t.Context(), s.tenant.ID, tenancy.Operator)
	if err != nil {
		t.Fatal(err)
	}
	by := map[people.Role]tenancy.Actor{}
	for _, m := range members {
		token, err := s.people.SignIn(t.Context(), m.Email, password, "192.0.2.1")
		if err != nil {
			t.Fatal(err)
		}
		by[m.Role] = people.Session{UserID: m.UserID, Email: m.Email}.Actor(token, "198.51.100.23")
		if m.Role == people.Viewer {
			viewer = m.UserID
		}
	}
	presets := []string{"full", "catalog", "products:read,inventory:write", "reporting", "read-only", "read-only"}
	var ids []int64
	for i, name := range names {
		actor := by[[]people.Role{people.Owner, people.Admin}[i%2]]
		permissions, err := keys.ParsePermissions(presets[i])
		if err != nil {
			t.Fatal(err)
		}
		wanted := keys.NewKey{Name: name, Permissions: permissions, Lifetime: keys.Lifetimes[i%3]}
		created, _, err := s.keys.Create(t.Context(), s.tenant.ID, actor, wanted)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, created.ID)
	}
	if _, _, err := s.keys.Roll(t.Context(), s.tenant.ID, by[people.Owner], ids[1], 24*time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := s.keys.Revoke(t.Context(), s.tenant.ID, by[people.Admin], ids[4]); err != nil {
		t.Fatal(err)
	}
	s.exec(t, `update api_keys set expires_at = now() - interval '3 days' where id = $1`, ids[5])
	s.exec(t, `
		update api_keys
		   set created_at = now() - (id - (select min(id) from api_keys)) * interval '12 days 5 hours' - interval '2 days'`)
	s.exec(t, `
		update api_keys
		   set last_used_at = date_trunc('minute', now() - id % 3 * interval '5 hours 12 minutes')
		 where id <> $1`, ids[3])
	s.exec(t, `
		update audit_log
		   set at = now() - ((select max(id) from audit_log) - id) * interval '31 hours 7 minutes'`)
	return owner, ids[0], viewer
}

func (s *site) checkKeyPages(t *testing.T, owner string, id int64) {
	b := s.newTab(t)
	b.signIn(owner)
	s.insertUsage(t)
	for _, name := range []string{"keys", "keys/new", "usage", "audit", "account", "start"} {
		b.mustOpen(s.page(name))
		b.check(strings.ReplaceAll(name, "/", "-"))
	}
	if !s.widths { // names are realistic
		b.mustOpen(s.page("keys"))
		b.press("Usage of Web shop")
		b.wantText("the key “Web shop”", "Busiest minute", "Last errors")
		b.check("usage-key")
	}
	b.mustOpen(s.page("audit") + "?act=tenant.")
	b.check("audit-empty")
	s.exec(t, `
		insert into audit_log (tenant_id, user_id, at, actor, address, action, target, details)
		select tenant_id, user_id, at - n * interval '16 days', actor, address, action, target, details
		  from audit_log, generate_series(1, 9) n`)
	b.mustOpen(s.page("audit"))
	b.press("Next")
	b.wantText("Page 2 of ")
	b.check("audit-older")
	b.mustOpen(fmt.Sprintf("%s/%d/roll", s.page("keys"), id))
	b.check("keys-roll")
	b.press("Roll key")
	b.check("keys-rolled")
	b.load(call(page.Reload, page.ReloadParams{}))
	b.check("keys-again")
	b.mustOpen(fmt.Sprintf("%s/%d/revoke", s.page("keys"), id))
	b.check("keys-revoke")
	b.createKey("Price tags")
	b.check("keys-made")
	s.exec(t, `update sessions set confirmed_at = now() - interval '11 minutes'`)
	b.mustOpen(s.page("keys/new"))
	b.fill("Name", " ")
	b.do(chromedp.Click(`//main//summary`))
	b.choose("inventory:write")
	b.fill("Your password", "wrong horse battery")
	b.press("Generate key")
	b.wantText("The name must not be empty.", "The password is incorrect.")
	b.check("keys-new-password")
	b.fill("Your password", password)
	b.choose("Custom")
	b.choose("inventory:write") // clears the checkbox
	b.press("Generate key")
	b.wantText("The name must not be empty.", "Select at least one permission.", "customers:read")
	b.check("keys-new-error")
	if status := b.open(s.page("nothing")); status != 404 {
		t.Errorf("an unknown page: %d, want 404", status)
	}
	b.check("error")
	s.exec(t, `update api_keys set revoked_at = now() where id = $1`, id)
	if status := b.open(fmt.Sprintf("%s/%d/revoke", s.page("keys"), id)); status != 409 {
		t.Errorf("the confirmation for a key that has ended: %d, want 409", status)
	}
	b.check("keys-ended")
	s.exec(t, `update tenants set suspended_at = now() where id = $1`, s.tenant.ID)
	b.mustOpen(s.page("keys"))
	b.check("keys-suspended")
	if status := b.open(s.page("keys/new")); status != 403 {
		t.Errorf("the form of a new key of a suspended tenant: %d, want 403", status)
	}
	b.check("error-suspended")
	s.exec(t, `update tenants set suspended_at = null where id = $1`, s.tenant.ID)

	empty := s.MustTenant(t, "empty", func(t *tenants.Tenant) { t.Name = "Fern & Fir" })
	full := s.tenant
	s.tenant = empty
	defer func() { s.tenant = full }()
	s.join(t, owner, people.Owner)
	for _, name := range []string{"keys", "usage", "start"} {
		b.mustOpen(s.page(name))
		b.check(name + "-empty")
	}
	b.mustOpen(s.page("members"))
	b.tabTo("Business\nFern & Fir\n(switch)")
	b.enter()
	if !b.visible(".switcher li a") {
		t.Error("the switcher does not open")
	}
	b.check("switcher")
	b.mustOpen(s.page("members"))
	b.do(chromedp.EmulateViewport(360, 740))
	evaluate[bool](b, `document.getElementById("menu").showPopover() ?? true`)
	b.checkViewports("menu")
	b.mustOpen("/settings")
	b.check("tenants")
}

// insertUsage stores requests and errors of all keys.
func (s *site) insertUsage(t *testing.T) {
	t.Helper()
	s.exec(t, `
		insert into key_usage (tenant_id, hour, key_id, route, status_2xx, status_3xx, status_4xx, status_5xx, refused, minutes, latency)
		select tenant_id, date_trunc('hour', now()) - n * interval '7 hours', id, route, 40 + id + n, 0, 5, n % 2, 3,
		       array_fill(1, array[30]) || array[17] || array_fill(0, array[29]), array[0, 2, 5, 20, 9, 8, 3] || array_fill(0, array[26])
		  from api_keys, generate_series(0, 20) n, unnest('{products,orders}'::text[]) route`)
	s.exec(t, `
		insert into key_errors (tenant_id, key_id, at, method, route, status, code, request_id)
		select tenant_id, id, now() - n * interval '3 hours 7 minutes', 'GET', '/api/products/{id}/inventory/adjustments', 404,
		       'NOT_FOUND', upper(substr(md5(id::text || n) || md5(n::text), 1, 26))
		  from api_keys, generate_series(1, 4) n`)
}

// join makes an existing user a member of the tenant.
func (s *site) join(t *testing.T, email string, role people.Role) {
	t.Helper()
	link, err := people.New(s.Admin).Invite(t.Context(), s.tenant.ID, tenancy.Operator, "", email, role)
	if err == nil {
		_, err = s.people.UseLink(t.Context(), link, password, "")
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (s *site) checkMemberPages(t *testing.T, owner string, viewer int64) {
	b := s.newTab(t)
	b.signIn(owner)
	b.mustOpen(s.page("members"))
	b.check("members")
	b.fill("E-mail", owner)
	b.press("Create invitation link")
	b.wantText("already a member")
	b.check("members-error")
	b.fill("E-mail", s.email("carla.weiss"))
	b.choose("Admin")
	b.press("Create invitation link")
	b.check("members-link")
	b.mustOpen(s.page("members"))
	b.wantText("Pending links", s.email("carla.weiss"))
	b.check("members-pending")
	b.press("Revoke the link for " + s.email("carla.weiss"))
	b.check("link-revoke")
	b.press("Revoke link")
	if strings.Contains(b.text("main"), "Pending links") {
		t.Errorf("the revoked link is still listed: %s", b.text("main"))
	}
	b.mustOpen(fmt.Sprintf("%s/%d", s.page("members"), viewer))
	b.check("member")
	b.press("Remove member")
	b.check("member-remove")
	b.press("Cancel")
	b.mustOpen(s.page("members"))
	b.press("Edit " + owner)
	b.press("Remove member")
	b.press("Remove member")
	b.wantText("the last owner")
	b.check("member-error")
	b.mustOpen("/settings/sign-out")
	b.check("sign-out")
	b.mustOpen("/settings/password")
	b.check("password")
	b.fill("Current password", "wrong horse battery")
	b.fill("New password", password)
	b.fill("Confirm new password", password)
	b.press("Change password")
	b.wantText("The password is incorrect.")
	b.check("password-error")
	b.fill("Current password", password)
	b.fill("New password", password)
	b.fill("Confirm new password", password)
	b.press("Change password")
	b.check("password-done")

	viewerTab := s.newTab(t)
	viewerTab.signIn(s.email("ben.steiner"))
	viewerTab.mustOpen(s.page("keys"))
	viewerTab.check("keys-viewer")
	if status := viewerTab.open(s.page("audit")); status != 403 {
		t.Errorf("the audit log of a viewer: %d, want 403", status)
	}
	viewerTab.check("error-role")
	s.exec(t, `delete from memberships where user_id = $1`, viewer)
	viewerTab.mustOpen("/settings")
	viewerTab.check("tenants-none")
}

func (s *site) checkPublicPages(t *testing.T) {
	b := s.newTab(t)
	b.mustOpen("/settings/sign-in")
	b.check("sign-in")
	b.fill("E-mail", s.email("anna.larch"))
	b.fill("Password", "wrong horse battery")
	b.press("Sign in")
	b.check("sign-in-wrong")
	b.mustOpen("/settings/sign-in?lost=form")
	b.check("sign-in-lost")
	operator := people.New(s.Admin)
	carla := s.email("carla.weiss")
	invitation, err := operator.Invite(t.Context(), s.tenant.ID, tenancy.Operator, "", carla, people.Admin)
	if err != nil {
		t.Fatal(err)
	}
	reset, err := operator.ResetAnywhere(t.Context(), s.email("theo.loam"))
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]people.Token{"link-invitation": invitation, "link-reset": reset} {
		b.mustOpen("/settings/link/" + token.Reveal())
		b.check(name)
	}
	b.mustOpen("/settings/link/" + invitation.Reveal())
	b.fill("Password", "short")
	b.press("Join")
	b.check("link-error")
	if status := b.open("/settings/link/" + strings.Repeat("A", 43)); status != 404 {
		t.Errorf("an unknown link: %d, want 404", status)
	}
	b.check("link-ended")
}

func TestErrorsLinkToTheirFields(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.signedIn(t, people.Admin)
	b.mustOpen(s.page("keys/new"))
	b.fill("Name", " ")
	b.choose("Custom")
	b.press("Generate key")
	b.waitFor(`document.activeElement.className === "error-summary"`) // Chromium moves the focus after it has loaded
	evaluate[bool](b, `document.addEventListener("submit", e => {
		e.preventDefault();
		document.title = "submitted";
	}) ?? true`)
	for _, link := range []struct{ text, field string }{
		{"The name must not be empty.", "name"}, {"Select at least one permission.", "permissions"},
	} {
		evaluate[bool](b, `document.querySelector(".error-summary").focus() ?? true`)
		b.tabTo(link.text)
		b.enter()
		b.waitFor(fmt.Sprintf(`document.activeElement.id === %q`, link.field))
	}
	if evaluate[string](b, `document.title`) == "submitted" {
		t.Error("Enter on a link also submits the form")
	}
}

// enter presses the Enter key with the same events as a keyboard.
func (b *tab) enter() {
	b.t.Helper()
	for _, event := range []input.DispatchKeyEventParams{
		{Type: "rawKeyDown"}, {Type: "char", Text: "\r", UnmodifiedText: "\r"}, {Type: "keyUp"},
	} {
		event.Key, event.Code, event.WindowsVirtualKeyCode = "Enter", "Enter", 13
		b.do(call(input.DispatchKeyEvent, event))
	}
}

// waitFor waits up to a minute until a script returns true.
func (b *tab) waitFor(script string) {
	b.t.Helper()
	poll := chromedp.Poll[bool](script, chromedp.WithPollingTimeout(time.Minute))
	if _, err := chromedp.Run(b.ctx, poll); err != nil {
		b.t.Errorf("not within a minute: %s: %v; the focus is on %q", script, err, b.focus())
	}
}

// A business is switched and the phone's menu is used by keyboard and without script.
func TestNavigationWithoutScript(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	email := s.mustPerson(t, "anna", people.Owner)
	first := s.tenant
	s.tenant = s.MustTenant(t, "second-"+s.mark, func(t *tenants.Tenant) { t.Name = "Fern & Fir" })
	s.join(t, email, people.Owner)
	b := s.newTab(t)
	b.signIn(email)
	b.do(
		call(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}),
		chromedp.EmulateViewport(360, 740))
	b.mustOpen(s.page("keys"))
	if b.visible(".switcher li a") || b.visible("#menu a") {
		t.Error("the phone shows the businesses or the navigation before they are opened")
	}
	b.tabTo("Business\nFern & Fir\n(switch)")
	b.enter()
	b.tabTo("Larch & Loam\nOwner")
	b.load(chromedp.KeyEvent(kb.Enter))
	if want := "/settings/t/" + first.Slug + "/overview"; b.path() != want {
		t.Errorf("the switcher opens %s, want %s", b.path(), want)
	}
	b.tabTo("Menu")
	b.enter()
	b.tabTo("Members")
	if !b.visible("#menu a") {
		t.Error("the menu is not visible")
	}
	b.load(chromedp.KeyEvent(kb.Enter))
	if want := "/settings/t/" + first.Slug + "/members"; b.path() != want {
		t.Errorf("the menu opens %s, want %s", b.path(), want)
	}
	for _, width := range []int64{360, 1280} {
		b.do(chromedp.EmulateViewport(width, 800))
		if b.visible(".menu-button") == b.visible("#menu a") {
			t.Errorf("%d pixels: the menu button is visible: %v, and the navigation too", width, b.visible("#menu a"))
		}
	}
}

// visible reports whether the first element that the selector matches is visible.
func (b *tab) visible(selector string) bool {
	b.t.Helper()
	return evaluate[bool](b, fmt.Sprintf(`document.querySelector(%q).checkVisibility()`, selector))
}

func TestSingleBusinessHasNoSwitcher(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.signedIn(t, people.Viewer)
	b.mustOpen(s.page("keys"))
	if n := evaluate[int](b, `document.querySelectorAll(".switcher").length`); n != 0 {
		t.Errorf("a member of one business sees %d switchers", n)
	}
}

// The commands of the quick start work when they are pasted into a terminal, and store nothing.
func TestQuickStartCommands(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	permissions, _ := keys.ParsePermissions("full")
	_, secret, err := s.keys.Create(t.Context(), s.tenant.ID, tenancy.Operator, keys.NewKey{Name: "Till", Permissions: permissions})
	if err != nil {
		t.Fatal(err)
	}
	b := s.signedIn(t, people.Viewer)
	b.mustOpen(s.page("start"))
	for selector, want := range map[string]string{
		"#s1": `"success":true`, "#s2": `"success":true`, "#s3": `"success":true`, "#s4": `"VALIDATION_ERROR"`,
	} {
		command := b.text(selector)
		for line := range strings.Lines(command) {
			if len(strings.TrimSpace(line)) > 90 {
				t.Errorf("%s has a long line: %s", selector, line)
			}
		}
		run := exec.CommandContext(t.Context(), "sh", "-c", command)
		run.Env = append(os.Environ(), "API_KEY="+secret.Reveal())
		output, err := run.CombinedOutput()
		if err != nil || !strings.Contains(string(output), want) {
			t.Errorf("%s: %v %s, want %s", command, err, output, want)
		}
	}
	var orders int
	err = s.MustSuper(t).QueryRow(t.Context(), `select count(*) from orders`).Scan(&orders)
	if err != nil || orders != 0 {
		t.Errorf("%d orders, %v, want none", orders, err)
	}
}

func TestKeyboardOnly(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	email, b := s.mustPerson(t, "anna", people.Owner), s.newTab(t)
	b.allowClipboard()
	b.mustOpen("/settings")
	b.waitFor(`document.activeElement.name === "email"`)
	b.keys(email + kb.Tab + password)
	b.load(chromedp.KeyEvent(kb.Enter))
	b.tabTo("API keys")
	b.load(chromedp.KeyEvent(kb.Enter))
	b.tabTo("Generate new key")
	b.load(chromedp.KeyEvent(kb.Enter))
	b.keys("Till")
	b.tabTo("Add individual permissions")
	b.keys(" ")
	b.tabTo("inventory:write")
	b.keys(" ")
	b.tabTo("Generate key")
	b.load(chromedp.KeyEvent(kb.Enter))
	key := b.text("#key")
	if _, body := s.callAPI(t, "/api/me", key); !strings.Contains(body, "inventory:write") {
		t.Errorf("the key: %s, want inventory:write", body)
	}
	clipboard.Lock()
	b.tabTo("Copy")
	b.keys(" ")
	b.do(chromedp.WaitVisible(`//main//button[normalize-space()="Copied"]`))
	if got := evaluate[string](b, `navigator.clipboard.readText()`); got != key {
		t.Errorf("the clipboard has %q, want the bare key", got)
	}
	clipboard.Unlock()
	b.tabTo("Done")
	b.load(chromedp.KeyEvent(kb.Enter))
	b.tabTo("Revoke Till")
	b.load(chromedp.KeyEvent(kb.Enter))
	b.tabTo("Revoke key")
	b.load(chromedp.KeyEvent(kb.Enter))
	b.wantRefused(key)
	b.wantText("Revoked")
}
