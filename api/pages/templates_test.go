package pages

import (
	"html"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/keys/usage"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/paging"
	"github.com/storeroom/storeroom/tenancy/people"
	"github.com/storeroom/storeroom/tenancy/tenants"
	"github.com/storeroom/storeroom/tenancy/webhooks"
)

// hostile is user input that tries to break out of HTML.
const hostile = `"><script>alert(1)</script>'{{.}}`

var sampleTenant = tenants.Tenant{
	ID: 1, Slug: "a", Name: hostile, Plan: tenants.Enterprise, RateLimit: new(int32(900)),
	Timezone: "Asia/Kathmandu", Currency: "EUR", Suspended: true,
}

func sampleFormat() formatter {
	format, err := newFormatter(httptest.NewRequest("GET", "/", nil), "", &sampleTenant)
	if err != nil {
		panic(err)
	}
	return format
}

// samples returns empty and full data of every page.
func samples() map[string][]any {
	format := sampleFormat()
	now, id, address, role := time.Now(), int64(1), "1,000", people.Admin
	key := keys.Key{
		ID: 7, Name: hostile, Permissions: keys.Permissions{keys.ProductsRead, keys.OrdersWrite},
		Prefix: "sk_live_abcd", Last4: "wxyz", CreatedBy: &id, CreatedAt: now, LastUsedAt: &now,
	}
	rolled, expired, revoked, later := key, key, key, now.Add(time.Hour)
	rolled.ReplacedBy, rolled.ExpiresAt = &id, &later
	expired.ExpiresAt = &now
	revoked.RevokedAt = &now
	invalid := form{url.Values{}, fieldErrors{"": hostile}}
	for _, field := range []string{
		"url", "description", "types", "batch_size", "cursor", "password-rotate", "name", "permissions", "lifetime", "overlap", "email", "role", "current", "new", "confirm", "password",
		"password-role", "password-reset", "password-remove",
	} {
		invalid.Set(field, hostile)
		invalid.Errors[field] = hostile
	}
	member := people.Member{UserID: 1, Email: hostile, Role: people.Owner, CreatedAt: now}
	pending := []people.PendingLink{
		{ID: 1, Purpose: "invitation", Email: hostile, Role: &role, MadeBy: hostile, CreatedAt: now, ExpiresAt: now},
		{Purpose: "reset", Email: hostile},
	}
	entry := tenants.Logged{ID: 1, At: now, Actor: hostile, Address: &address, Entry: tenants.Entry{
		Action: "key.create", Target: hostile,
		Details: map[string]any{
			"number": 1_000_000.0, "list": []any{hostile, 1.5}, "none": nil,
			"change": map[string]any{"from": 1_000_000.0, "to": nil},
		},
	}}
	link := func(purpose string, role *people.Role) people.Link {
		return people.Link{Purpose: purpose, Email: hostile, Role: role, TenantName: hostile, ExpiresAt: now}
	}
	usages := usage.Report{
		Starts: []time.Time{now}, Busiest: usage.Minute{At: now, Requests: 118},
		Errors: []usage.Error{{KeyID: 7, At: now, Method: "GET", Route: "/api/products/{id}", Status: 404, Code: hostile, RequestID: hostile}, {}},
	}
	for range usageColumns + 2 {
		usages.Keys = append(usages.Keys, usage.KeyUsage{
			Key: usage.Key{ID: 7, Name: hostile}, Counts: usage.Counts{Statuses: [4]int64{1, 2, 3, 4}, Refused: 1},
			Busiest: usages.Busiest, Routes: []usage.RouteUsage{{Route: "products"}, {}}, Periods: make([]usage.Counts, 1),
		})
	}
	full := usagePage{Report: usages, format: format, Period: "30", Limit: 120, All: []keys.Key{key}}
	full.addDays(now)
	full.addChart()
	one := full
	one.Selected = key
	text, amount := new(hostile), new(money.Cents(5))
	product := catalog.Product{
		ID: 7, SKU: hostile, Name: hostile, Status: "active", Cost: amount, ReorderPoint: new(int32(3)), UPC: text,
		CategoryID: new(int64(3)), CategoryName: text, SellerID: new(int64(4)), SellerName: text, Tags: []string{hostile},
		Images: []catalog.Image{{File: hostile + ".jpg", Width: 500}},
	}
	references := []referenceChoice{
		{Name: "category", ID: 3, Typed: hostile, More: true, All: []catalog.Reference{{ID: 3, Name: hostile}},
			Found: []catalog.Reference{{ID: 4, Name: hostile}}, Error: hostile},
		{Name: "seller", ID: 3, All: []catalog.Reference{{ID: 3, Name: hostile}}},
	}
	chosen := selection{
		IDs: []int64{7}, Total: 2, First: []catalog.Product{product}, Query: url.Values{"id": {"7"}, "search": {hostile}},
	}
	order := sales.StoredOrder{
		Number: hostile, Channel: hostile, CustomerNumber: text, CustomerName: text, CustomerEmail: text, CancelledAt: &now,
		Lines:   []sales.Line{{SKU: hostile, Name: hostile, ProductID: &id}, {}},
		Refunds: []sales.StoredRefund{{Reference: text}, {}},
	}
	buyer := sales.CustomerSales{
		StoredCustomer: sales.StoredCustomer{ID: hostile, Name: text, Email: text, ErasedAt: &now}, FirstOrderAt: &now,
		LastOrderAt: &now,
	}
	sums := reports.Sums{Orders: 1, Units: 2, Revenue: -5, UnitsWithoutCost: 1}
	overview := overviewPage{
		rangeForm: rangeForm{Period: "custom", From: hostile, Errors: fieldErrors{"from": hostile, "to": hostile}}, Format: format,
		Tiles: []tile{{Label: "Revenue", Value: "1", Unit: "EUR", Change: "+1 %", Rose: true, Note: hostile, Explain: hostile}, {Label: "Units"}},
		Rows:  []chartRow{{Label: "Mar 2026", Now: sums}}, ByWhat: "day",
		Channels: []channelRow{{ChannelPair: reports.ChannelPair{Now: reports.ChannelSums{Label: hostile}}}},
		Shops:    []sales.Channel{{Label: hostile}, {}}, Sentence: hostile,
		ProductLists: reports.ProductLists{
			Best:      []reports.ProductSums{{ProductID: &id, SKU: hostile, Name: hostile}, {}},
			Declining: []reports.ProductChange{{ProductID: &id, SKU: hostile, Name: hostile}, {}},
			Low:       []reports.LowProduct{{ID: 1, SKU: hostile, Name: hostile, Quantity: 1, Units: 1, Total: 1}},
		},
		Customers: reports.Customers{Customers: 2, New: 1},
	}
	day := reports.Range{From: time.Unix(0, 0).UTC(), To: time.Unix(0, 0).UTC()}
	first := reports.Summary{Range: day, Compare: reports.PreviousPeriod, Days: make([]reports.DaySums, 1)}
	first.Previous = &reports.Summary{Range: first.Compare.Range(day), Days: first.Days}
	overview.addCharts(first)
	kinds := reportKinds()
	reportOf := func(kind *reportKind) *reportPage {
		return &reportPage{
			rangeForm: rangeForm{Range: day, Kept: url.Values{}, IsOptional: true}, reportKind: kind, Format: format, By: "day", at: paging.Page{Number: 1, PerPage: 50},
			Metrics: kind.figures, Shops: []sales.Channel{{Identifier: hostile, Label: hostile}}, Channels: []string{hostile},
			Categories: []catalog.Reference{{ID: 3, Name: hostile}}, CategoryOf: []int64{3}, HasMore: true,
		}
	}
	emptyReport, invalidReport, fullReport, builder := reportOf(kinds[0]), reportOf(kinds[0]), reportOf(kinds[0]), reportOf(kinds[6])
	emptyReport.IsEmpty, emptyReport.LastSale = true, &now
	invalidReport.Errors = fieldErrors{"from": hostile, "to": hostile, "metrics": hostile}
	for _, report := range []*reportPage{fullReport, builder} {
		report.Compare, report.Compared, report.LeftOut = reports.PreviousYear, &reports.Compared{Comparable: true}, hostile
		report.Buyers, report.Notes, report.Facts = &reports.Customers{Customers: 2}, []string{hostile}, overview.Tiles
		report.lines = []reportLine{
			{label: hostile, code: hostile, href: "orders?number=" + hostile, now: sums}, {now: sums, before: sums, first: &now},
		}
		report.Metrics = append([]string{"revenue", firstColumn, shareColumn}, report.figures...)
		report.addChart("revenue", "day", report.lines)
		report.setTotals(reportLine{label: hostile, now: sums})
		report.arrange(httptest.NewRequest("GET", "/?sort=-revenue", nil))
	}
	builder.Errors = fieldErrors{}
	checked := figuresCheck{Format: format, Kinds: fullReport.Kinds(), Differing: 1, Rows: []checkedFigure{
		{Label: hostile, Value: "1", Unit: "USD", Differences: []string{hostile, hostile}, Calculation: "reports/sales?x=1"}, {},
	}}
	months := []reports.MonthSums{{Day: now, Sums: sums}}
	file := imports.File{
		Name: hostile, Format: "spreadsheet_orders", Sheet: hostile, Header: []string{hostile}, Unused: []string{hostile},
		Mapping: map[string]string{hostile: "sku"}, Examples: map[string][]string{hostile: {hostile}},
	}
	planned := importPage{
		planPage: planPage{
			Summary: changeplan.Summary{
				Plan: changeplan.Plan{
					ID: 1, State: changeplan.Planned, Title: hostile, Actor: hostile, CreatedAt: now, PlannedAt: &now,
					Failure: text, ExpiresAt: now,
				},
				Counts: map[imports.Kind]changeplan.Counts{imports.Order: {Created: 1, Refused: 2}},
			},
			Rows: []changeplan.Row{{
				Rows: []changeplan.FileRow{{File: hostile, Line: 2}}, Kind: imports.Order, Key: hostile,
				Old: map[string]any{"name": hostile}, New: map[string]any{"name": hostile, "tags": []any{hostile, 1}},
				Action: changeplan.Refused, Notes: []changeplan.Note{{Text: hostile}},
				Invalid: tenancy.InvalidError{"name": {hostile}},
			}},
		},
		Input: imports.Input{
			Files: []imports.File{file, {Name: hostile, Problem: hostile}},
			Totals: []imports.Total{
				{Month: "2026-03", Channel: text, Theirs: map[string]money.Cents{hostile: 1}}, {Month: "2026-03"},
			},
			Notes:    []imports.NoteCount{{Text: hostile, Count: 2, Amount: 5}},
			Settings: imports.Settings{DateOrder: "dmy", Channel: hostile},
		},
		HasTheirs: true, Errors: fieldErrors{"channel": hostile},
	}
	importPages := []any{importPage{}, planned}
	for _, state := range []changeplan.State{
		changeplan.Planning, changeplan.NeedsMapping, changeplan.Applying, changeplan.Applied, changeplan.Undoing,
		changeplan.Undone, changeplan.Cancelled, changeplan.Failed,
	} {
		page := planned
		page.State, page.Running = state, state.IsDue()
		page.Questions = []imports.Question{
			{ID: "mapping", File: hostile}, {ID: "decimal", File: hostile, Column: hostile, Examples: []string{hostile}},
		}
		importPages = append(importPages, page)
	}
	hook := webhooks.Webhook{
		ID: 1, URL: hostile, Description: hostile, Types: []string{"product"}, State: webhooks.Paused, Secret: "whsec_x",
		PauseReason: new(webhooks.Failing), PausedAt: &now, FailingSince: &now, PreviousExpiresAt: &now,
	}
	failing := hook
	failing.State, failing.PauseReason, failing.PausedAt = webhooks.Active, nil, nil
	refused := webhooks.Delivery{ID: 9, At: now, Status: new(500), LastSeq: text, Response: hostile, MessageID: hostile}
	lost := webhooks.Delivery{At: now, Type: "test", Error: text}
	counting := countPage{
		form: invalid, Warehouses: []catalog.Reference{{ID: 3, Name: hostile}}, Categories: []catalog.Reference{{Name: hostile}},
		Rows:   []countRow{{catalog.Countable{ID: 7, SKU: hostile, Name: hostile, UPC: text, BinLocation: text}, hostile, "1", true}, {}},
		IsFull: true, Counted: 1,
	}
	checkedCount := counting
	checkedCount.setCheck([]catalog.CountedStock{
		{Countable: counting.Rows[0].Countable, Counted: 1, IsReset: true}, {Cost: amount, Counted: 5}, {Moved: -9}, {Counted: 1},
	})
	const linkURL = "https://shop.example.com/settings/link/x"
	return map[string][]any{
		"account": {nil},
		"help":    {nil},
		"audit": {
			auditPage{},
			auditPage{
				Entries: []tenants.Logged{entry, {}}, Filter: "key.",
				Pager: pager{2, 3, 150, "?page=1", "?page=3", "?page=1", "?page=3", hostile},
			},
		},
		"overview":     {overviewPage{Format: format, Empty: true}, overviewPage{Format: format}, overview},
		"report":       {emptyReport, invalidReport, fullReport, builder},
		"report-check": {figuresCheck{Format: format}, figuresCheck{Format: format, IsEmpty: true}, checked},
		"products": {
			productsPage{}, productsPage{IsFiltered: true}, productsPage{Stock: "low"},
			productsPage{
				Chips:  []filterChip{{hostile, "?tag=x", true}},
				Search: hostile, Status: hostile, Sort: hostile, References: references, Filters: url.Values{"search": {hostile}},
				Products: []catalog.Product{product, {}}, Pager: pager{2, 3, 150, "?page=1", "?page=3", "?page=1", "?page=3", hostile},
			},
		},
		"product": {productPage{}, productPage{
			product, []catalog.WarehouseStock{{WarehouseName: hostile}},
			[]catalog.Adjustment{{Type: "set", Notes: text, APIKeyName: text, Member: text}, {}},
			[]catalog.LedgerStock{{WarehouseName: hostile, Left: new(int64(0))}, {}}, pager{}, months,
			monthsChart(7, months, format), stockForm{invalid, []catalog.Reference{{ID: 3, Name: hostile}}},
		}},
		"product-move": {movePage{}, movePage{
			invalid, product, []catalog.WarehouseStock{{WarehouseName: hostile}}, []catalog.Reference{{ID: 3, Name: hostile}, {}},
		}},
		"business": {settingsPage{}, settingsPage{
			form: invalid, Channels: []sales.Channel{{Identifier: "web", Label: hostile}, {Identifier: "pos", Label: "pos"}},
			Warehouses: []catalog.Reference{{ID: 3, Name: hostile, IsDefault: true}, {}}, Truncated: true,
		}, settingsPage{HasOrders: true}},
		"count": {countPage{}, countPage{Result: &countResult{2, 1, 1}}, counting, checkedCount},
		"product-edit": {editPage{}, editPage{
			invalid, product, url.Values{"name": {hostile}, "status": {"draft"}, "upc": {hostile}}, references, 20,
		}},
		"product-change": {changePage{}, changePage{invalid, chosen, references[0]}},
		"labels": {
			labelsPage{}, labelsPage{selection: chosen, Error: hostile},
			labelsPage{chosen, []label{labelOf(product), labelOf(catalog.Product{SKU: "A"})}, 2, make([]struct{}, 2), ""},
		},
		"orders": {
			ordersPage{}, ordersPage{IsFiltered: true, Search: hostile},
			ordersPage{Channels: []sales.Channel{{Label: hostile}}, Orders: []orderRow{{StoredOrder: order}, {}}},
		},
		"order": {orderPage{}, orderPage{
			orderRow{StoredOrder: order}, sales.Channel{Identifier: "web", Label: hostile}, eventsOf(order, sales.Channel{Label: hostile}, format),
		}},
		"customers": {
			customersPage{}, customersPage{Search: hostile},
			customersPage{Customers: []sales.StoredCustomer{buyer.StoredCustomer, {}}, Pager: pager{Pages: 3, Query: "sort=name"}},
		},
		"customer":       {customerPage{}, customerPage{Customer: buyer, Orders: []orderRow{{StoredOrder: order}, {}}}},
		"customer-erase": {erasePage{}, erasePage{buyer, invalid}},
		"confirm":        {form{}, invalid},
		"confirmed":      {form{Values: url.Values{"next": {hostile}}}},
		"error":          {errorPage{}, errorPage{http.StatusInternalServerError, hostile, hostile}},
		"key-inactive":   {rolled, expired, revoked, keys.Key{Name: "k"}},
		"key-created": {
			createdKey{},
			createdKey{Key: key, Secret: "sk_live_x"},
			createdKey{key, "sk_live_x", &key, hostile},
		},
		"import":      importPages,
		"import-undo": {importPage{}, planned},
		"plan":        importPages,
		"plan-undo":   {importPage{}, planned},
		"plans":       {plansPage{}, plansPage{Plans: []changeplan.Plan{planned.Plan}}},
		"imports": {
			plansPage{}, plansPage{Plans: []changeplan.Plan{planned.Plan}, Errors: fieldErrors{"file": hostile}},
		},
		"key-new":      {form{}, invalid},
		"key-revoke":   {revokePage{}, revokePage{key, []webhooks.Webhook{hook}}},
		"key-roll":     {rollPage{}, rollPage{invalid, key}},
		"keys":         {[]keyRow(nil), []keyRow{{key, hostile}, {rolled, hostile}, {expired, hostile}, {revoked, hostile}}},
		"link":         {linkPage{Link: link("reset", nil)}, linkPage{link("invitation", &role), invalid.Errors, "de"}},
		"link-revoke":  {pending[0], pending[1]},
		"link-created": {createdLink{}, createdLink{hostile, "invitation", linkURL}, createdLink{hostile, "reset", linkURL}},
		"member": {
			memberPage{}, memberPage{form: invalid, Member: member, Change: "role"},
			memberPage{form: invalid, Member: member, Change: "reset"},
		},
		"member-remove": {memberPage{}, memberPage{
			form: invalid, Member: member, Change: "remove", Webhooks: []webhooks.Webhook{hook},
		}},
		"members":          {membersPage{}, membersPage{invalid, []people.Member{member, {}}, pending, people.Roles}},
		"password":         {form{}, invalid},
		"password-changed": {nil},
		"sign-in":          {form{}, invalid},
		"sign-out":         {nil},
		"webhooks":         {[]webhooks.Webhook(nil), []webhooks.Webhook{hook, failing}},
		"webhook-new":      {form{}, invalid},
		"webhook-secret":   {secretPage{}, secretPage{hook, true}},
		"webhook-delete":   {webhookPage{}, webhookPage{Webhook: hook, form: invalid}},
		"webhook": {
			webhookPage{Webhook: failing},
			webhookPage{hook, invalid, []webhooks.Delivery{refused, lost}, "?before=9", &lost, "after", "A"},
		},
		"usage": {usagePage{format: format}, usagePage{format: format, All: []keys.Key{key}}, full, one},
		"start": {startPage{}, startPage{[]keys.Key{key, rolled}, key}},
		"tenants": {
			[]people.Membership(nil),
			[]people.Membership{{TenantID: 1, Slug: "a", Name: hostile, Role: people.Owner}},
		},
	}
}

func TestEveryPageRendersWithEmptyAndFullData(t *testing.T) {
	t.Parallel()
	p := &Handler{templates: parseTemplates()}
	p.BaseURL = &url.URL{Scheme: "https", Host: "shop.example.com"}
	users := map[string]user{"anonymous": {Format: visitorFormat(httptest.NewRequest("GET", "/", nil))}}
	for _, role := range people.Roles {
		users[string(role)] = user{Format: sampleFormat(), Session: people.Session{
			UserID: 1, Email: hostile, Role: role, ConfirmedAt: time.Now(),
			Tenants: []people.Membership{{TenantID: 1, Slug: "a", Name: hostile, Role: role}, {TenantID: 2}},
			Tenant:  &sampleTenant,
		}}
	}
	withoutTenant := []string{"error", "link", "sign-in", "sign-out", "tenants", "password"}
	all := samples()
	for page := range p.templates {
		if len(all[page]) == 0 {
			t.Errorf("the page %s has no samples", page)
		}
	}
	for page, data := range all {
		for who, u := range users {
			if who == "anonymous" && !slices.Contains(withoutTenant, page) {
				continue
			}
			for i, d := range data {
				w := httptest.NewRecorder()
				if err := p.show(w, http.StatusOK, page, u, d); err != nil {
					t.Errorf("%s, sample %d, as %s: %v", page, i, who, err)
					continue
				}
				checkPage(t, page+" as "+who, w.Body.String())
				checkTimes(t, page+" as "+who, w.Body.String(), who != "anonymous")
			}
		}
	}
}

func checkPage(t *testing.T, what, body string) {
	t.Helper()
	for _, bad := range []string{
		"<script>alert", "<no value>", "ZgotmplZ", "%!", "<nil>", "1e+06", "0x",
		" style=", " onclick=", "javascript:", "http://",
	} {
		if strings.Contains(body, bad) {
			t.Errorf("%s contains %q:\n%s", what, bad, body)
		}
	}
	complete := strings.HasSuffix(strings.TrimSpace(body), "</html>")
	if strings.Count(body, "<h1>") != 1 || strings.Count(body, "<script") != 1 || !complete {
		t.Errorf("%s is not a complete page with one heading and one script:\n%s", what, body)
	}
	if forms := strings.Count(body, `method="post"`); strings.Count(body, `name="form-token"`) != forms {
		t.Errorf("%s has %d forms, and some of them have no token:\n%s", what, forms, body)
	}
	_, after, _ := strings.Cut(body, "<title>")
	title, _, _ := strings.Cut(after, " · Storeroom</title>")
	named, _, _ := strings.Cut(what, " as ") // the title is a name, which is empty in empty samples
	maybeEmpty := slices.Contains([]string{"error", "member", "key-created", "product", "import", "plan"}, named)
	if strings.TrimSpace(html.UnescapeString(title)) == "" && !maybeEmpty {
		t.Errorf("%s has no title", what)
	}
	headings := regexp.MustCompile(`<(?:h1|h2|th|button|a|title)\b[^>]*>([^<{]+)`).FindAllStringSubmatch(body, -1)
	for _, heading := range headings {
		words := strings.Fields(html.UnescapeString(strings.ReplaceAll(heading[1], hostile, "")))
		for i, word := range words {
			isMonth := i > 0 && unicode.IsDigit(rune(words[i-1][0]))
			isName := word == "API" || word == "XLSX" || word == "SKU" || word == "Storeroom"
			if i > 0 && !isName && !isMonth && unicode.IsUpper([]rune(word)[0]) {
				t.Errorf("%s: %q is not in sentence case", what, heading[1])
			}
		}
	}
}

// Times are in the tenant's time zone. A page with a table of times names it once.
func checkTimes(t *testing.T, what, body string, hasTenant bool) {
	t.Helper()
	abbreviation, offset := "UTC", "Z"
	if hasTenant {
		abbreviation, offset = "+0545", "+05:45"
	}
	body = html.UnescapeString(body)
	for _, shown := range regexp.MustCompile(`\d:\d\d (UTC|[+-]\d{4})`).FindAllStringSubmatch(body, -1) {
		if shown[1] != abbreviation {
			t.Errorf("%s shows %q, want %s", what, shown[0], abbreviation)
		}
	}
	for _, element := range regexp.MustCompile(`<time datetime="([^"]*)"[^>]*>([^<]*)`).FindAllStringSubmatch(body, -1) {
		if !strings.HasSuffix(element[1], offset) && !strings.HasPrefix(element[1], "0001-") {
			t.Errorf("%s: %s is not in the time zone %s", what, element[0], offset)
		}
		if strings.Contains(element[2], ":") && strings.Count(body, "imes in Asia/Kathmandu") != 1 {
			t.Errorf("%s does not name the time zone once", what)
		}
	}
}

func TestEveryTemplateIsAPage(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(templateFiles, "templates/*")
	if err != nil || len(names) != len(samples())+2 {
		t.Errorf("found %d templates, %v, want %d pages and the layouts %v", len(names), err, len(samples()), layouts)
	}
}

func TestThePageOfAnImportNamesRowsThatHaveChanged(t *testing.T) {
	t.Parallel()
	p := &Handler{templates: parseTemplates()}
	u := user{Format: sampleFormat(), Session: people.Session{
		UserID: 1, Role: people.Admin, ConfirmedAt: time.Now(), Tenant: &sampleTenant,
	}}
	for state, failure := range map[changeplan.State]*string{
		changeplan.Planned: new("Rows that have changed since the plan: 1."), changeplan.Applied: nil, changeplan.Undone: nil,
	} {
		page := importPage{planPage: planPage{
			Summary: changeplan.Summary{
				Plan: changeplan.Plan{ID: 1, State: state, Failure: failure, AppliedAt: new(time.Now())},
				Counts: map[imports.Kind]changeplan.Counts{
					imports.Product: {Created: 1, Skipped: 1},
				},
			},
			Rows: []changeplan.Row{{
				Kind: imports.Product, Key: "Q", Action: changeplan.Created, Kept: &tenancy.Kept{Reason: "has changed since"},
			}},
		}}
		w := httptest.NewRecorder()
		if err := p.show(w, http.StatusOK, "import", u, page); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`?action=skipped#rows"`, `value="skipped"`, "Not written: has changed since"} {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("the page of an import that is %s does not contain %s", state, want)
			}
		}
	}
}

// The service also shows this page after a form with errors. The path of that form supports only POST, so that a link
// relative to it would fail.
func TestThePageOfAnImportHasNoRelativeLinks(t *testing.T) {
	t.Parallel()
	p := New(Options{BaseURL: &url.URL{Scheme: "https", Host: "shop.example.com"}})
	u := user{Format: sampleFormat(), Session: people.Session{Role: people.Admin, Tenant: &sampleTenant}}
	relative := regexp.MustCompile(`(?:href|action)="[^/#][^"]*"|action="#[^"]*"`)
	for i, data := range samples()["import"] {
		w := httptest.NewRecorder()
		if err := p.show(w, http.StatusUnprocessableEntity, "import", u, data); err != nil {
			t.Fatal(err)
		}
		if found := relative.FindString(w.Body.String()); found != "" {
			t.Errorf("sample %d has %s, want a path", i, found)
		}
	}
}

func TestChangesOfAPlanAreReadable(t *testing.T) {
	t.Parallel()
	row := changeplan.Row{
		Old: map[string]any{"reorder_point": 5.0, "tags": []any{}, "stock": map[string]any{"West": 0.0, "North": 1.0}},
		New: map[string]any{"reorder_point": nil, "tags": []any{"a", "b"}, "stock": map[string]any{"West": 3.0, "North": 2.0}},
	}
	want := []change{
		{"Reorder point", "5", "none"}, {"Stock", "North 1, West 0", "North 2, West 3"}, {"Tags", "none", "a, b"},
	}
	if got := sampleFormat().Changes(row); !slices.Equal(got, want) {
		t.Errorf("changes = %q, want %q", got, want)
	}
	row = changeplan.Row{New: map[string]any{"takes_stock": true, "placed_at": "2026-04-02T18:15:00Z"}}
	if got, want := sampleFormat().Changes(row), []change{{"Date of the order", "", "3 Apr 2026, 00:00 +0545"}, {"Takes stock", "", "yes"}}; !slices.Equal(got, want) {
		t.Errorf("changes of a new row = %q, want %q", got, want)
	}
}

func TestOneIsSingular(t *testing.T) {
	t.Parallel()
	p := New(Options{BaseURL: &url.URL{Scheme: "https", Host: "shop.example.com"}})
	u := user{Format: sampleFormat(), Session: people.Session{Role: people.Admin, Tenant: &sampleTenant}}
	var stopped, reading importPage
	stopped.State = changeplan.Cancelled
	stopped.Progress.Rows, stopped.Progress.Of = 1, new(int64(1))
	reading.State, reading.Running = changeplan.Planning, true
	reading.Progress.Rows = 1
	for _, page := range []struct {
		name string
		data importPage
		want string
	}{
		{"import", stopped, "1 row was imported before."},
		{"plan", stopped, "1 row was applied before."},
		{"import", reading, "1 row read"},
	} {
		w := httptest.NewRecorder()
		if err := p.show(w, http.StatusOK, page.name, u, page.data); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(w.Body.String(), page.want) {
			t.Errorf("the page %s does not contain %q", page.name, page.want)
		}
	}
	if text := stopped.ProgressText(u.Format); text != "1 of 1 row" {
		t.Errorf("ProgressText = %q, want 1 of 1 row", text)
	}
	sold := monthsChart(7, []reports.MonthSums{{Sums: reports.Sums{Units: 1}}}, u.Format)
	if tip := sold.Points[0].Tip; !strings.HasSuffix(tip, ", 1 unit") {
		t.Errorf("the tip of a month with one unit is %q", tip)
	}
}

func TestAPlanWithoutChangesCannotBeApplied(t *testing.T) {
	t.Parallel()
	p := New(Options{BaseURL: &url.URL{Scheme: "https", Host: "shop.example.com"}})
	u := user{Format: sampleFormat(), Session: people.Session{Role: people.Admin, Tenant: &sampleTenant}}
	for _, page := range []string{"import", "plan"} {
		for changes := range int64(2) {
			w := httptest.NewRecorder()
			var plan importPage
			plan.State = changeplan.Planned
			plan.Counts = map[imports.Kind]changeplan.Counts{
				imports.Product: {Created: changes, Refused: 1},
			}
			if err := p.show(w, http.StatusOK, page, u, plan); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(w.Body.String(), "/apply"); got != (changes > 0) {
				t.Errorf("the page %s with %d changes can be applied: %v", page, changes, got)
			}
		}
	}
}

// In a text from right to left, the arrow between two values would lead from the new one to the old one.
func TestValuesOfAChangeAreIsolated(t *testing.T) {
	t.Parallel()
	p := New(Options{BaseURL: &url.URL{Scheme: "https", Host: "shop.example.com"}})
	u := user{Format: sampleFormat(), Session: people.Session{Role: people.Admin, Tenant: &sampleTenant}}
	for _, page := range []string{"import", "plan"} {
		w := httptest.NewRecorder()
		var plan importPage
		plan.State = changeplan.Planned
		plan.Counts = map[imports.Kind]changeplan.Counts{imports.Product: {Updated: 1}}
		plan.Rows = []changeplan.Row{{Old: map[string]any{"name": "שולחן"}, New: map[string]any{"name": "מדף"}}}
		if err := p.show(w, http.StatusOK, page, u, plan); err != nil {
			t.Fatal(err)
		}
		if want := "<bdi>שולחן</bdi> → <bdi>מדף</bdi>"; !strings.Contains(w.Body.String(), want) {
			t.Errorf("the page %s does not contain %s", page, want)
		}
	}
}

func TestTheResultOfATestOfAWebhookIsASentence(t *testing.T) {
	t.Parallel()
	p := New(Options{BaseURL: &url.URL{Scheme: "https", Host: "shop.example.com"}})
	u := user{Format: sampleFormat(), Session: people.Session{Role: people.Admin, Tenant: &sampleTenant}}
	for want, tested := range map[string]webhooks.Delivery{
		"The server answered 500 after 3 ms.</p>": {Status: new(500), LatencyMs: 3},
		"The connection was refused.</p>":         {Error: new("The connection was refused."), LatencyMs: 3},
	} {
		w := httptest.NewRecorder()
		if err := p.show(w, http.StatusOK, "webhook", u, webhookPage{Tested: &tested}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
}
