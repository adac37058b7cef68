package main

import (
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/storeroom/storeroom/cmd/storeroom/config"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/people"
)

// dev creates the shop in an empty directory, and later starts keep its data, key and password.
func TestDevCreatesAShopAndKeepsIt(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "the program starts plain servers")
	dir := t.TempDir()
	environ := []string{"STOREROOM_ADDR=127.0.0.1:0"}
	first, servers := runDev(t, dir, environ, "")
	if !first.createsHistory || first.orders < 6000 {
		t.Errorf("the first start creates %d orders, and prints so: %v, want thousands", first.orders, first.createsHistory)
	}
	for _, address := range servers {
		if conn, err := net.DialTimeout("tcp", address, time.Second); err == nil {
			conn.Close()
			t.Errorf("%s still accepts connections after the shutdown", address)
		}
	}
	second, _ := runDev(t, dir, environ, "")
	if second.key != first.key {
		t.Errorf("the second start has the key %.12s…, want that of the first, %.12s…", second.key, first.key)
	}
	if second.password != first.password {
		t.Errorf("the second start has the password %q, want that of the first, %q", second.password, first.password)
	}
	// The first start changed the stock.
	if second.quantity != first.quantity+5 {
		t.Errorf("quantity = %d, want %d", second.quantity, first.quantity+5)
	}
	// The second start adds the orders since the first one.
	if second.createsHistory || second.orders < first.orders || second.orders > first.orders+100 {
		t.Errorf(
			"the second start finds %d orders, makes two years of them: %v, want those of the first, %d", second.orders,
			second.createsHistory, first.orders)
	}
	saved, err := config.ReadFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	saved["STOREROOM_DEMO_KEY"] = "lost"
	delete(saved, "STOREROOM_DEMO_PASSWORD")
	if err := config.WriteFile(dir, saved); err != nil {
		t.Fatal(err)
	}
	third, _ := runDev(t, dir, environ, "This is a new key: the key of the last start is lost")
	if third.key == first.key || third.password == first.password {
		t.Error("the third start has the lost key or password")
	}
}

func TestTheOwnerOfTheDemoShopCanSignIn(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	store := people.New(p.DB)
	s := shop{Tenant: p.MustTenant(t, "demo")}
	for n, change := range []func(){
		func() {}, // a new account
		func() {}, // nothing to do
		func() { s.Password = "" },
		func() { s.Tenant, s.Password = p.MustTenant(t, "other"), "another good password" },
	} {
		change()
		if err := s.ensureOwner(t.Context(), store, p.Admin); err != nil {
			t.Fatal(err)
		}
		token, err := store.SignIn(t.Context(), demoEmail, s.Password, "192.0.2.1")
		if err != nil {
			t.Fatal(err)
		}
		got, err := store.Session(t.Context(), token, s.Tenant.Slug)
		if err != nil || got.Role != people.Owner {
			t.Errorf("after change %d: the session is %+v, %v, want that of the owner", n, got, err)
		}
	}
}

// devRun is what a start of dev printed and returned.
type devRun struct {
	key            string
	password       string
	quantity       int
	orders         int
	createsHistory bool // it creates the orders of two years
}

var (
	printedKey    = regexp.MustCompile(`demo key  (sk_live_\w+)`)
	printedSale   = regexp.MustCompile(`products and (\d+) orders of the demo shop`)
	printedCurl   = regexp.MustCompile(`(?m)^  curl -sS (.*) '(http://[^']+)'$`)
	printedData   = regexp.MustCompile(` -d '([^']+)'`)
	printedPerson = regexp.MustCompile(`(?m)^  settings  (http://\S+)/settings\n  sign in   demo@example\.com / (\S+)$`)
	oneQuantity   = regexp.MustCompile(`"quantity":(\d+)`)
)

// runDev starts dev, signs in, sends the requests of its curl lines, and stops it. news is the expected text about the
// key; it may be empty.
func runDev(t *testing.T, dir string, environ []string, news string) (devRun, []string) {
	t.Helper()
	p := start(t, dir, environ, "dev")
	printed := p.readUntil(t, "Press Ctrl-C to stop.")
	if strings.Contains(printed, "This is a new key") != (news != "") || !strings.Contains(printed, news) {
		t.Errorf("dev prints %q, want %q", printed, news)
	}
	key, sale := printedKey.FindStringSubmatch(printed), printedSale.FindStringSubmatch(printed)
	curls := printedCurl.FindAllStringSubmatch(printed, -1)
	if key == nil || sale == nil || len(curls) != 7 {
		t.Fatalf("dev prints no key, no number of orders or not seven curl lines:\n%s", printed)
	}
	person := printedPerson.FindStringSubmatch(printed)
	if person == nil {
		t.Fatalf("dev prints no user and password:\n%s", printed)
	}
	v := devRun{
		key: key[1], password: person[2], orders: mustInt(t, sale[1]), createsHistory: strings.Contains(
			printed, "Creating two years of orders"),
	}
	signIn(t, person[1], v.password)
	for _, curl := range curls {
		if answer := runCurl(t, curl[1], curl[2], v.key); strings.Contains(curl[2], "/adjust") {
			v.quantity = mustInt(t, oneQuantity.FindStringSubmatch(answer)[1]) - 5
		}
	}
	saved, err := config.ReadFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	var servers []string
	for _, name := range []string{"DATABASE_URL", "REDIS_URL"} {
		u, err := url.Parse(saved[name])
		if err != nil || u.Host == "" {
			t.Fatalf("%s = %q, %v, want a URL", name, saved[name], err)
		}
		servers = append(servers, u.Host)
	}
	p.stop(t)
	return v, servers
}

// signIn signs in and requires the overview.
func signIn(t *testing.T, base, password string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	form := url.Values{"email": {"demo@example.com"}, "password": {password}}.Encode()
	r, err := http.NewRequestWithContext(t.Context(), "POST", base+"/settings/sign-in", strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", base)
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != 200 || !strings.Contains(string(page), "Revenue by day") {
		t.Errorf("signing in leads to %s = %s, %v: %.500s", response.Request.URL, response.Status, err, page)
	}
}

// runCurl sends the request of a printed curl line and returns the response.
func runCurl(t *testing.T, options, address, key string) string {
	t.Helper()
	if !strings.Contains(options, "-H 'Authorization: Bearer "+key+"'") {
		t.Errorf("the curl options %s lack the key", options)
	}
	method, body := "GET", io.Reader(nil)
	if data := printedData.FindStringSubmatch(options); data != nil {
		method, body = "POST", strings.NewReader(data[1])
	}
	r, err := http.NewRequestWithContext(t.Context(), method, address, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	want := `"sku"`
	switch {
	case strings.Contains(address, "format=xlsx"):
		want = "PK\x03\x04"
	case strings.Contains(address, "/sales-summary"), strings.Contains(address, "/custom"):
		want = `"marketplace"`
	}
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != 200 || !strings.Contains(string(answer), want) {
		t.Errorf("%s = %s, %v: %.200s", address, response.Status, err, answer)
	}
	return string(answer)
}

func TestDevUsesTheServersInTheEnvironment(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	server := start(t, p.dir, p.environ, "dev")
	printed := server.readUntil(t, "Press Ctrl-C to stop.")
	if !strings.Contains(printed, `orders of the demo shop "Larch & Loam"`) {
		t.Errorf("dev prints %s", printed)
	}
	var settings []config.Setting
	offline := program{dir: p.dir}
	offline.mustRun(t, &settings, "config")
	address := slices.IndexFunc(settings, func(s config.Setting) bool { return s.Name == "STOREROOM_ADDR" })
	if got := settings[address].Value; !strings.Contains(printed, "address   http://"+got+"\n") {
		t.Errorf("config shows the address %s, but dev prints %s", got, printed)
	}
	server.stop(t)
	if _, err := os.Stat(filepath.Join(p.dir, ".local", "servers.json")); err == nil {
		t.Error("dev started private servers")
	}
	saved, err := config.ReadFile(p.dir)
	if err != nil || saved["DATABASE_URL"] != p.URL ||
		saved["STOREROOM_BASE_URL"] != "http://"+saved["STOREROOM_ADDR"] || saved["PATH"] != "" {
		t.Errorf("saved = %v, %v, want the given URL, the address and no path", saved, err)
	}
}

func TestDevRequiresBothDatabaseURLs(t *testing.T) {
	t.Parallel()
	p := program{dir: t.TempDir(), environ: []string{"DATABASE_URL=postgres://x"}}
	if o := p.run(t, "dev"); o.code != 1 ||
		!strings.Contains(o.stderr, "set both DATABASE_URL (the runtime role) and DATABASE_ADMIN_URL (the migrator)") {
		t.Errorf("dev = %d, %q, want 1 and the missing variable", o.code, o.stderr)
	}
}

func mustInt(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
