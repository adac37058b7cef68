package main

import (
	"crypto/rand"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// browser is a browser of one user.
type browser struct {
	email, password string
	session         string
	secrets         []string // all sessions and links
}

func (v *browser) cookie() http.Header {
	return http.Header{"Cookie": {"storeroom-insecure=" + v.session}}
}

// open sends a form, or requests a page if form is nil, and keeps the session cookie.
func (w *tracedServer) open(t *testing.T, v *browser, path string, form url.Values, want int) string {
	t.Helper()
	s := testRequest{method: "GET", path: path, form: form, key: "-", header: v.cookie(), want: want}
	if form != nil {
		s.method = "POST"
	}
	r := w.send(t, &s, nil)
	for _, c := range (&http.Response{Header: r.header}).Cookies() {
		if c.Value != "" && !strings.HasSuffix(c.Name, "-form") {
			v.session, v.secrets = c.Value, append(v.secrets, c.Value)
		}
	}
	return string(r.body)
}

var (
	keyPattern     = regexp.MustCompile(`sk_live_[0-9A-Za-z]{38}`)
	linkPattern    = regexp.MustCompile(`/settings/link/([\w-]{43})`)
	requestPattern = regexp.MustCompile(`name="request" value="(\w+)"`)
)

// fillForm adds the hidden field of the form on a page.
func (w *tracedServer) fillForm(t *testing.T, v *browser, page string, form url.Values) url.Values {
	t.Helper()
	if found := requestPattern.FindStringSubmatch(w.open(t, v, page, nil, 200)); found != nil {
		form.Set("request", found[1])
	}
	return form
}

// inputPattern matches the fields of a form, without those that the browser selects.
var inputPattern = regexp.MustCompile(`<input [^>]*name="([^"]+)" value="([^"]*)"`)

// usePages performs every action of the pages, with invalid and with valid input.
func (w *tracedServer) usePages(t *testing.T) *browser {
	t.Helper()
	v := &browser{email: mark + "@example.com", password: mark + " password", session: strings.Repeat(mark, 7)[:43]}
	w.mustRunWith(
		t, v.password+"\n", &struct{}{}, "user", "create", "--tenant", mark, "--email", v.email, "--role", "owner",
		"--password-stdin")
	const to = "/settings/t/" + mark
	w.open(t, v, "/settings/static/app.css", nil, 0)
	w.open(t, v, "/settings/static/"+mark, nil, 404)
	w.open(t, v, "/settings", nil, 303)
	w.open(t, v, to+"/keys", nil, 303)
	w.open(t, v, "/settings/sign-in?next="+to+"/keys", nil, 200)
	w.open(t, v, "/settings/sign-in", url.Values{"email": {v.email}, "password": {mark + " wrong"}}, 422)
	w.open(t, v, "/settings/sign-in", url.Values{"email": {mark + "\x00"}, "password": {mark + "\xff"}}, 422)
	w.send(
		t,
		&testRequest{
			method: "POST", path: "/settings/sign-in", form: url.Values{"email": {v.email}},
			header: http.Header{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"http://" + mark}}, want: 403,
		},
		nil)
	w.send(
		t,
		&testRequest{
			method: "POST", path: "/settings/sign-in", form: url.Values{"email": {mark + strings.Repeat("x", 70<<10)}},
			want: 413,
		},
		nil)
	w.open(
		t, v, "/settings/sign-in", url.Values{"email": {v.email}, "password": {v.password}, "next": {to + "/keys"}}, 303)
	for _, page := range []string{"/settings", "/settings/"} {
		w.open(t, v, page, nil, 303)
	}
	w.open(t, v, to, nil, 303)
	for _, page := range []string{
		"/keys", "/keys/new", "/members", "/usage?days=30&key=1", "/audit?act=" + mark, "/account", "/help", "/start?key=" + mark,
		"/overview?compare=" + mark + "&from=" + mark, "/overview.xlsx?period=today",
		"/products.csv?search=" + mark, "/products.xlsx", "/orders.csv?search=" + mark, "/orders.xlsx", "/order_items.csv",
		"/refunds.csv", "/customers?search=" + mark, "/customers.csv", "/customers.xlsx", "/archive.zip", "/customers/" + mark,
		"/customers/" + mark + "/data", "/customers/" + mark + "/erase", "/products?search=" + mark +
			"&status=" + mark,
		"/products/1?page=1", "/orders?customer=" + mark + "&from=" + mark, "/orders/" + mark + "-order-x",
	} {
		w.open(t, v, to+page, nil, 200)
	}
	w.open(t, v, to+"/reports", nil, 303)
	w.open(t, v, to+"/reports/check?period=this_year", nil, 200)
	for _, report := range []string{"sales", "products", "categories", "sellers", "shops", "customers", "custom"} {
		w.open(t, v, to+"/reports/"+report+"?compare=previous_year&channel="+mark+"&sort="+mark+"&by="+mark, nil, 200)
		for _, format := range []string{".csv", ".xlsx"} {
			w.open(t, v, to+"/reports/"+report+format+"?period=today&channel="+mark+"&metric=revenue", nil, 200)
		}
	}
	w.open(t, v, to+"/language", url.Values{"language": {mark}}, 400)
	w.open(t, v, to+"/language", url.Values{"language": {"en"}}, 303)
	edit := url.Values{"status": {"draft"}}
	for _, field := range inputPattern.FindAllStringSubmatch(w.open(t, v, to+"/products/1/edit", nil, 200), -1) {
		edit.Set(field[1], html.UnescapeString(field[2]))
	}
	w.open(t, v, to+"/products/1/edit", edit, 303)
	w.open(t, v, to+"/products/1/edit", url.Values{"name": {mark}, "version": {mark}, "request": {rand.Text()}}, 422)
	stock := url.Values{
		"type": {"set"}, "quantity": {"1"}, "warehouse": {"1"}, "seen": {"0"}, "notes": {mark}, "request": {rand.Text()},
	}
	w.open(t, v, to+"/products/1/stock", stock, 422) // a count of stock that has changed
	stock.Set("type", "add")
	w.open(t, v, to+"/products/1/stock", stock, 303)
	w.useSettings(t, v, to)
	w.countStock(t, v, to)
	for _, page := range []string{"/products/new", "/products/change?id=1", "/products/labels?all=1&search=" + mark} {
		w.open(t, v, to+page, nil, 200)
	}
	w.open(t, v, to+"/products/new", url.Values{"name": {mark}}, 422)
	w.open(t, v, to+"/products/change", url.Values{"id": {"1"}, "price_how": {mark}}, 422)
	w.open(t, v, to+"/products/1/pictures", url.Values{"file": {mark}}, 400)
	w.open(t, v, to+"/products/1/pictures/1/remove", url.Values{}, 303)
	w.open(t, v, to+"/confirm?next="+mark, nil, 200)
	w.open(t, v, to+"/confirm", url.Values{"next": {mark}, "password": {mark}}, 200)
	w.open(t, v, to+"/customers/"+mark+"/erase", url.Values{}, 303)
	w.importFile(t, v, to+"/imports")
	w.openPlan(t, v, to+"/plans")
	w.useWebhooks(t, v, to+"/webhooks")
	w.open(t, v, "/settings/t/"+mark+"-other/keys", nil, 404)
	w.open(t, v, to+"/keys/"+mark+"/roll", nil, 404)
	w.open(t, v, "/settings/"+mark, nil, 404)

	w.open(
		t, v, to+"/keys",
		w.fillForm(t, v, to+"/keys/new", url.Values{"name": {""}, "preset": {mark}, "lifetime": {mark}}), 422)
	form := w.fillForm(t, v, to+"/keys/new", url.Values{"name": {mark + " key"}, "preset": {"full"}, "lifetime": {"90"}})
	w.keys["made"] = keyPattern.FindString(w.open(t, v, to+"/keys", form, 200))
	w.open(t, v, to+"/keys", form, 409)
	w.send(t, &testRequest{method: "GET", path: "/api/me", key: "made", want: 200}, nil)
	var all []keyJSON
	w.mustRun(t, &all, "key", "list", "--tenant", mark)
	made := to + "/keys/" + fmt.Sprint(slices.MaxFunc(all, func(a, b keyJSON) int { return int(a.ID - b.ID) }).ID)
	w.open(t, v, made+"/roll", w.fillForm(t, v, made+"/roll", url.Values{"overlap": {mark}}), 422)
	w.keys["rolled"] = keyPattern.FindString(
		w.open(t, v, made+"/roll", w.fillForm(t, v, made+"/roll", url.Values{"overlap": {"24"}}), 200))
	w.open(t, v, made+"/revoke", nil, 200)
	w.open(t, v, made+"/revoke", url.Values{}, 303)

	w.open(t, v, to+"/members", w.fillForm(t, v, to+"/members", url.Values{"email": {mark}, "role": {mark}}), 422)
	invited := w.open(
		t, v, to+"/members",
		w.fillForm(t, v, to+"/members", url.Values{"email": {mark + "2@example.com"}, "role": {"admin"}}), 200)
	link := linkPattern.FindStringSubmatch(invited)[1]
	w.open(
		t, v, to+"/members",
		w.fillForm(t, v, to+"/members", url.Values{"email": {mark + "3@example.com"}, "role": {"admin"}}), 200)
	var last string
	if err := w.MustSuper(t).QueryRow(t.Context(), `select max(id)::text from one_time_links`).Scan(&last); err != nil {
		t.Fatal(err)
	}
	w.open(t, v, to+"/links/"+last+"/revoke", nil, 200)
	w.open(t, v, to+"/links/"+last+"/revoke", url.Values{}, 303)
	guest := &browser{session: strings.Repeat(mark, 7)[:43]}
	w.open(t, guest, "/settings/link/"+strings.Repeat(mark, 7)[:43], nil, 404)
	w.open(t, guest, "/settings/link/"+link, nil, 200)
	w.open(t, guest, "/settings/link/"+link, url.Values{"password": {"short"}}, 422)
	w.open(t, guest, "/settings/link/"+link, url.Values{"password": {mark + " of the guest"}}, 303)
	member := to + "/members/2"
	w.open(t, guest, member, nil, 403)
	w.open(t, v, member+"/role", w.fillForm(t, v, member, url.Values{"role": {mark}}), 422)
	w.open(t, v, member+"/role", w.fillForm(t, v, member, url.Values{"role": {"viewer"}}), 303)
	page := w.open(t, v, member+"/reset", w.fillForm(t, v, member, url.Values{}), 200)
	reset := linkPattern.FindStringSubmatch(page)[1]
	w.open(t, v, member+"/remove", w.fillForm(t, v, member+"/remove", url.Values{}), 303)

	w.open(t, v, "/settings/password", nil, 200)
	w.open(
		t, v, "/settings/password",
		url.Values{"current": {mark + " wrong"}, "new": {mark + " next one"}, "confirm": {mark + " next one"}}, 422)
	w.open(
		t, v, "/settings/password",
		url.Values{"current": {v.password}, "new": {mark + " next one"}, "confirm": {mark + " next one"}}, 200)
	v.password = mark + " next one"
	w.open(t, v, "/settings/sign-out", nil, 200)
	w.open(t, guest, "/settings/sign-out", url.Values{"everywhere": {"yes"}}, 303)
	v.secrets = append(v.secrets, append(guest.secrets, link, reset)...)
	return v
}

var routePattern = regexp.MustCompile(`\{"([A-Z]+)", (t)?(?: \+ )?(?:"([^"]*)")?, [\w.]+, limits\.\w+, p\.`)

// settingsRoutes returns the method and the pattern of every page, read from the source of the route table.
func settingsRoutes(t *testing.T) (all []string) {
	t.Helper()
	source, err := os.ReadFile("../../api/pages/pages.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range routePattern.FindAllStringSubmatch(string(source), -1) {
		path := row[3]
		if row[2] != "" {
			path = "/settings/t/{slug}" + path
		}
		all = append(all, row[1]+" "+path)
	}
	if len(all) < 25 {
		t.Fatalf("the table has %d routes: %q", len(all), all)
	}
	return all
}

// openPlan performs every action of the pages of plans.
func (w *tracedServer) openPlan(t *testing.T, v *browser, to string) {
	t.Helper()
	page := to + regexp.MustCompile(`/plans/(\d+)`).FindString(w.open(t, v, to, nil, 200))[len("/plans"):]
	for _, path := range []string{page + "?action=" + mark, page + "/progress", page + "/undo"} {
		w.open(t, v, path, nil, 200)
	}
	for _, action := range []string{"/apply", "/cancel", "/undo"} {
		w.open(t, v, page+action, url.Values{}, 303)
	}
}

// importFile performs every action of the pages of imports.
func (w *tracedServer) importFile(t *testing.T, v *browser, to string) {
	t.Helper()
	header := v.cookie()
	header.Set("Sec-Fetch-Site", "same-origin")
	for name, values := range formHeader {
		header[name] = values
	}
	r := w.send(t, &testRequest{method: "POST", path: to, body: importForm, key: "-", header: header, want: 303}, nil)
	header.Set("Sec-Fetch-Site", "cross-site")
	w.send(t, &testRequest{method: "POST", path: to, body: importForm, key: "-", header: header, want: 403}, nil)
	page := r.header.Get("Location")
	w.open(t, v, page, nil, 200)
	for _, path := range []string{to, page + "?kind=" + mark, page + "/progress", page + "/refused", page + "/undo"} {
		w.open(t, v, path, nil, 200)
	}
	for _, action := range []string{"/settings", "/apply", "/cancel", "/undo"} {
		w.open(t, v, page+action, url.Values{"channel": {mark}}, 0)
	}
	w.open(t, v, to+"/"+mark, nil, 404)
}

var secretPattern = regexp.MustCompile(`whsec_[\w+/]{43}=`)

// useWebhooks performs every action of the pages of webhooks.
func (w *tracedServer) useWebhooks(t *testing.T, v *browser, to string) {
	t.Helper()
	form := url.Values{
		"url": {"https://" + mark + ".invalid/" + mark}, "description": {mark}, "type": {"product"}, "batch_size": {"5"},
	}
	w.open(t, v, to+"/new", nil, 200)
	w.open(t, v, to, w.fillForm(t, v, to+"/new", url.Values{"url": {mark}}), 422)
	form = w.fillForm(t, v, to+"/new", form)
	v.secrets = append(v.secrets, secretPattern.FindString(strings.ReplaceAll(w.open(t, v, to, form, 200), "&#43;", "+")))
	w.open(t, v, to, nil, 200)
	var last string
	if err := w.MustSuper(t).QueryRow(t.Context(), `select max(id)::text from webhooks`).Scan(&last); err != nil {
		t.Fatal(err)
	}
	one := to + "/" + last
	w.open(t, v, one, nil, 200)
	w.open(t, v, one, form, 303)
	w.open(t, v, one+"/test", url.Values{}, 200)
	w.open(t, v, one+"/state", url.Values{"state": {"paused"}}, 303)
	w.open(t, v, one+"/state", url.Values{"state": {mark}}, 400)
	w.open(t, v, one+"/replay", url.Values{"from": {"after"}, "cursor": {mark}}, 422)
	w.open(t, v, one+"/replay", url.Values{"from": {"now"}}, 303)
	w.open(t, v, one+"/rotate", url.Values{}, 200)
	w.open(t, v, one+"/delete", nil, 200)
	w.open(t, v, one+"/delete", url.Values{}, 303)
}

// useSettings performs every action of the page of settings.
func (w *tracedServer) useSettings(t *testing.T, v *browser, to string) {
	t.Helper()
	page := to + "/settings"
	version := regexp.MustCompile(`name="version" value="(\w+)"`).FindStringSubmatch(w.open(t, v, page, nil, 200))[1]
	w.open(t, v, page, url.Values{"name": {mark + " 2"}, "version": {mark}}, 422)
	w.open(t, v, page, url.Values{"name": {mark + " 2"}, "version": {version}}, 303)
	form := func(values ...string) url.Values {
		f := url.Values{"request": {rand.Text()}}
		for i := 0; i < len(values); i += 2 {
			f.Set(values[i], values[i+1])
		}
		return f
	}
	w.open(t, v, page+"/channels", form("label-pos", mark, "was-label-pos", mark), 303)
	w.open(t, v, page+"/channels", form("label-pos", mark, "was-label-pos", "Point of sale"), 303)
	w.open(t, v, page+"/warehouses/new", form("new-warehouse", ""), 422)
	w.open(t, v, page+"/warehouses/new", form("new-warehouse", mark+" cellar"), 303)
	w.open(t, v, page+"/warehouses", form("warehouse-1", mark, "was-warehouse-1", mark+"-"), 422)
	var name string
	if err := w.MustSuper(t).QueryRow(t.Context(), `select name from warehouses where id = 1`).Scan(&name); err != nil {
		t.Fatal(err)
	}
	w.open(t, v, page+"/warehouses", form("warehouse-1", mark, "was-warehouse-1", name), 303)
}

// countStock counts stock and moves it.
func (w *tracedServer) countStock(t *testing.T, v *browser, to string) {
	t.Helper()
	w.open(t, v, to+"/count?show=1&bin="+mark, nil, 200)
	count := url.Values{"request": {rand.Text()}, "p": {"1"}, "q-1": {"5"}, "action": {"next"}, "code": {mark}}
	w.open(t, v, to+"/count", count, 422)
	count.Del("code")
	count.Set("action", "apply")
	w.open(t, v, to+"/count", count, 303)
	w.open(t, v, to+"/products/1/move", nil, 200)
	var other string
	if err := w.MustSuper(t).QueryRow(t.Context(), `
		select max(id)::text from warehouses where tenant_id = (select tenant_id from products where id = 1)`).Scan(&other); err != nil {
		t.Fatal(err)
	}
	move := url.Values{
		"request": {rand.Text()}, "quantity": {"0"}, "from": {"1"}, "to": {other}, "notes": {mark},
	}
	w.open(t, v, to+"/products/1/move", move, 422)
	move.Set("quantity", "1")
	w.open(t, v, to+"/products/1/move", move, 303)
}
