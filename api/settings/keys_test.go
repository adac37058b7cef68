package settings

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/people"
)

var (
	shownKey      = regexp.MustCompile(`sk_live_\w{20,}`)
	hiddenRequest = regexp.MustCompile(`name="request" value="(\w+)"`)
)

// mustForm opens the form of a new key, as a browser would send it with only the
// name filled in.
func (s *site) mustForm(t testing.TB, cookie, name string) url.Values {
	t.Helper()
	page := s.try(t, call{path: s.path("/keys/new"), cookie: cookie}, http.StatusOK)
	form := url.Values{"name": {name}, "request": {hiddenRequest.FindStringSubmatch(page.body)[1]}}
	checked := regexp.MustCompile(`name="preset" value="([^"]*)" checked`).FindStringSubmatch(page.body)
	selected := regexp.MustCompile(`<option value="(\d+)" selected`).FindStringSubmatch(page.body)
	if checked == nil || selected == nil {
		t.Fatalf("the form has no defaults: %s", page.body)
	}
	form.Set("preset", checked[1])
	form.Set("lifetime", selected[1])
	return form
}

func TestANameAloneMakesAKeyThatIsSeenOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	admin := s.mustVisitor(t, "admin", people.Admin)
	form := s.mustForm(t, admin, "Till")
	c := call{path: s.path("/keys"), cookie: admin, form: form, from: "192.0.2.1"}
	made := s.try(t, c, http.StatusOK, "Till", "curl -sS", "https://shop.example.com/api/products")
	secret := shownKey.FindString(made.body)
	if keys.Check(secret) != nil {
		t.Fatalf("the page shows no key: %s", made.body)
	}
	again := s.try(t, c, http.StatusConflict, "already created")
	found, err := s.Keys.List(t.Context(), s.a.ID)
	if err != nil || len(found) != 1 {
		t.Fatalf("List = %v, %v, want one key", found, err)
	}
	k := found[0]
	if diff := cmp.Diff(keys.Permissions{keys.ProductsRead, keys.ReportsRead, keys.OrdersRead, keys.CustomersRead}, k.Permissions); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
	if left := time.Until(*k.ExpiresAt); left > 90*24*time.Hour || left < 89*24*time.Hour || k.CreatedBy == nil {
		t.Errorf("the key is %+v, want it to live for 90 days and to know its maker", k)
	}
	log, total, err := tenancy.AuditLog(t.Context(), s.Database.DB, s.a.ID, "key.", 1, 9)
	if err != nil || total != 1 || log[0].Action != "key.create" || log[0].Actor != s.email("admin") || !strings.Contains(*log[0].Address, "192.0.2.1") {
		t.Errorf("logged %+v, %v, want key.create by the admin from 192.0.2.1", log, err)
	}
	// From here on nobody sees it: neither a page nor whoever reads the database.
	for _, path := range []string{"/keys", "/keys/new", fmt.Sprintf("/keys/%d/roll", k.ID), fmt.Sprintf("/keys/%d/revoke", k.ID), "/audit", "/start", "/account", "/members"} {
		if got := s.try(t, call{path: s.path(path), cookie: admin}, http.StatusOK); strings.Contains(got.body, secret) {
			t.Errorf("%s shows the key", path)
		}
	}
	if strings.Contains(again.body, secret) || strings.Contains(s.stored(t), secret) || strings.Contains(fmt.Sprint(made.Header), secret) {
		t.Error("the second answer, the database or a header holds the key")
	}
}

func TestEachChoiceOfTheFormIsOneOfTheStore(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	send := s.keySender(t)
	for _, c := range presets {
		send(func(f url.Values) { f.Set("preset", c.Value); f.Set("permission", "orders:read") }, http.StatusOK, "orders:read")
	}
	for _, c := range permissions {
		send(func(f url.Values) { f.Set("preset", ""); f["permission"] = []string{c.Value} }, http.StatusOK, c.Value)
	}
	for _, c := range lifetimes {
		send(func(f url.Values) { f.Set("lifetime", c.Value) }, http.StatusOK)
	}
}

// keySender returns what sends the form of a new key after a change.
func (s *site) keySender(t *testing.T) func(change func(url.Values), status int, parts ...string) {
	admin := s.mustVisitor(t, "admin", people.Admin)
	return func(change func(url.Values), status int, parts ...string) {
		t.Helper()
		form := url.Values{"name": {"k"}, "preset": {"full"}, "lifetime": {"90"}, "request": {rand.Text()}}
		change(form)
		got := s.try(t, call{path: s.path("/keys"), cookie: admin, form: form}, status, parts...)
		if (shownKey.FindString(got.body) != "") != (status == http.StatusOK) {
			t.Errorf("%v: %d shows a key or none", form, status)
		}
	}
}

func TestTheFormOfANewKeyNamesItsFaults(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	send := s.keySender(t)
	for what, c := range map[string]struct {
		change func(url.Values)
		fault  string
	}{
		"no name":              {func(f url.Values) { f.Set("name", "  ") }, "The name must not be empty."},
		"a long name":          {func(f url.Values) { f.Set("name", strings.Repeat("ä", 101)) }, "The name must have at most 100 characters."},
		"a name with a NUL":    {func(f url.Values) { f.Set("name", "a\x00") }, "The name must not contain control characters."},
		"a name of no UTF-8":   {func(f url.Values) { f.Set("name", "a\xff") }, "The name must be valid UTF-8."},
		"a name that deceives": {func(f url.Values) { f.Set("name", "llit\u202e") }, "The name must not contain the invisible character U"},
		"no permission":        {func(f url.Values) { f.Set("preset", "") }, "Select at least one permission."},
		"an unknown one":       {func(f url.Values) { f["permission"] = []string{"root"} }, "Select one of the listed permissions."},
		"an unknown preset":    {func(f url.Values) { f.Set("preset", "root") }, "Select one of the listed permissions."},
		"another lifetime":     {func(f url.Values) { f.Set("lifetime", "31") }, "Select one of the options."},
		"no lifetime":          {func(f url.Values) { f.Set("lifetime", "") }, "Select one of the options."},
		"an endless lifetime":  {func(f url.Values) { f.Set("lifetime", "999999999999999999") }, "Select one of the options."},
		"a lifetime of before": {func(f url.Values) { f.Set("lifetime", "-30") }, "Select one of the options."},
	} {
		t.Log(what) // shown with a failure
		send(c.change, http.StatusUnprocessableEntity, c.fault)
	}
	for n := range 50 {
		s.alter(t, `insert into api_keys (tenant_id, name, permissions, prefix, last4) values ($1, $2, '{products:read}', 'sk_live_abcd', 'wxyz')`, s.a.ID, fmt.Sprint(n))
	}
	send(func(url.Values) {}, http.StatusUnprocessableEntity, "50 live keys")
}

// TestEveryFaultIsTiedToItsField: it stands in the list above the form, which leads to
// the field, and the field names it as its description.
func TestEveryFaultIsTiedToItsField(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	owner := s.mustPerson(t, "owner", s.a, people.Owner)
	old, recent := s.mustSession(t, owner), s.mustSession(t, owner)
	s.alter(t, `update sessions set confirmed_at = now() - interval '11 minutes' where token_hash = $1`, sum(old))
	roll := s.path(fmt.Sprintf("/keys/%d/roll", s.mustKey(t, "Till").ID))
	member := s.path(fmt.Sprintf("/members/%d", s.mustPerson(t, "member", s.a, people.Viewer)))
	for _, test := range []struct {
		call
		fields []string
	}{
		{call{path: s.path("/keys"), cookie: old, form: url.Values{"request": {rand.Text()}}}, []string{"name", "permissions", "lifetime", "password"}},
		{call{path: s.path("/keys"), cookie: recent, form: url.Values{"request": {rand.Text()}, "preset": {"full"}, "lifetime": {"90"}}}, []string{"name"}},
		{call{path: roll, cookie: old, form: url.Values{"overlap": {"24"}}}, []string{"password"}},
		{call{path: roll, cookie: recent, form: url.Values{"overlap": {"5"}}}, []string{"overlap"}},
		{call{path: "/settings/password", cookie: recent, form: url.Values{"current": {password}, "new": {"short"}, "confirm": {"other"}}}, []string{"new", "confirm"}},
		{call{path: s.path("/members"), cookie: old, form: url.Values{"email": {"nobody"}, "role": {"king"}, "request": {rand.Text()}}}, []string{"password"}},
		{call{path: s.path("/members"), cookie: recent, form: url.Values{"email": {"nobody"}, "role": {"king"}, "request": {rand.Text()}}}, []string{"email", "role"}},
		{call{path: member + "/role", cookie: recent, form: url.Values{"role": {"king"}}}, []string{"role"}},
		{call{path: member + "/role", cookie: old, form: url.Values{"role": {"admin"}}}, []string{"password-role"}},
		{call{path: member + "/reset", cookie: old, form: url.Values{"request": {rand.Text()}}}, []string{"password-reset"}},
		{call{path: member + "/remove", cookie: old, form: url.Values{"password": {"wrong"}}}, []string{"password-remove"}},
		{call{path: "/settings/password", cookie: recent, form: url.Values{"current": {"wrong"}, "new": {password}, "confirm": {password}}}, []string{"current"}},
	} {
		got := s.try(t, test.call, http.StatusUnprocessableEntity)
		var linked []string
		for _, link := range regexp.MustCompile(`<li><a href="#([^"]*)">`).FindAllStringSubmatch(got.body, -1) {
			linked = append(linked, link[1])
		}
		if diff := cmp.Diff(test.fields, linked); diff != "" {
			t.Errorf("%s %v: linked above the form (-want +got):\n%s", test.path, test.form, diff)
		}
		for _, field := range test.fields {
			control := regexp.MustCompile(`<(input|select)[^>]* id="` + field + `"[^>]*>`).FindString(got.body)
			if !strings.Contains(control, ` aria-invalid="true"`) || !regexp.MustCompile(` aria-describedby="[^"]*\b`+field+`-error"`).MatchString(control) {
				t.Errorf("%s: %q does not name its fault", test.path, control)
			}
			if strings.Count(got.body, ` id="`+field+`-error"`) != 1 || strings.Count(got.body, ` id="`+field+`"`) != 1 {
				t.Errorf("%s: the field %s and its fault are not there once each: %s", test.path, field, got.body)
			}
		}
		if n := strings.Count(got.body, `aria-invalid`); n != len(test.fields) {
			t.Errorf("%s: %d fields are invalid, want %d", test.path, n, len(test.fields))
		}
	}
	// What is of no field stands in the form that was sent, and in no other.
	own := s.path(fmt.Sprintf("/members/%d", owner))
	for act, form := range map[string]url.Values{"/role": {"role": {"viewer"}}, "/remove": {}} {
		got := s.try(t, call{path: own + act, cookie: recent, form: form}, http.StatusUnprocessableEntity, "<li>This is the last owner")
		_, rest, _ := strings.Cut(got.body, "<li>This is the last owner")
		if next := regexp.MustCompile(`<form method="post" action="([^"]*)"`).FindStringSubmatch(rest); next == nil || next[1] != own+act || strings.Contains(rest, "<li>This is the last owner") {
			t.Errorf("%s: the fault stands above %v, want the form that was sent", act, next)
		}
	}
	if got := s.try(t, call{path: s.path("/keys"), cookie: recent, form: url.Values{"request": {rand.Text()}, "name": {"k"}, "lifetime": {"90"}, "preset": {""}}}, http.StatusUnprocessableEntity); !strings.Contains(got.body, "<details open>") {
		t.Errorf("the permissions to tick are folded away: %s", got.body)
	}
}

func TestAKeyThatHasEndedIsNotOffered(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	admin := s.mustVisitor(t, "admin", people.Admin)
	revoked, expired, rolled := s.mustKey(t, "Revoked"), s.mustKey(t, "Expired"), s.mustKey(t, "Rolled")
	if err := s.Keys.Revoke(t.Context(), s.a.ID, tenancy.Operator, revoked.ID); err != nil {
		t.Fatal(err)
	}
	s.alter(t, `update api_keys set expires_at = now() - interval '1 day' where id = $1`, expired.ID)
	if _, _, err := s.Keys.Roll(t.Context(), s.a.ID, tenancy.Operator, rolled.ID, 24*time.Hour); err != nil {
		t.Fatal(err)
	}
	path := func(id int64, act string) string { return s.path(fmt.Sprintf("/keys/%d/%s", id, act)) }
	for id, words := range map[int64]string{revoked.ID: "was revoked on", expired.ID: "expired on"} {
		for _, act := range []string{"roll", "revoke"} {
			got := s.try(t, call{path: path(id, act), cookie: admin}, http.StatusConflict, "is no longer active", words)
			if strings.Contains(got.body, `<form method="post">`) {
				t.Errorf("%s is offered all the same: %s", act, got.body)
			}
		}
		s.try(t, call{path: path(id, "roll"), cookie: admin, form: url.Values{"overlap": {"0"}}}, http.StatusConflict, "is no longer active", words)
	}
	s.try(t, call{path: path(rolled.ID, "roll"), cookie: admin}, http.StatusConflict, "was already rolled", "works until")
	s.try(t, call{path: path(rolled.ID, "roll"), cookie: admin, form: url.Values{"overlap": {"0"}}}, http.StatusConflict, "This key was already created")
	s.try(t, call{path: path(rolled.ID, "revoke"), cookie: admin}, http.StatusOK, "lose access")
}

func TestRollAndRevoke(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	admin := s.mustVisitor(t, "admin", people.Admin)
	key := s.mustKey(t, "Till")
	roll := call{path: s.path(fmt.Sprintf("/keys/%d/roll", key.ID)), cookie: admin, form: url.Values{"overlap": {"1"}}}
	got := s.try(t, roll, http.StatusOK, "1 hour")
	if secret := shownKey.FindString(got.body); keys.Check(secret) != nil || strings.Contains(s.stored(t), secret) {
		t.Errorf("the page shows no key, or the database holds it")
	}
	s.try(t, roll, http.StatusConflict)
	fresh := s.mustKey(t, "Scanner")
	roll.path = s.path(fmt.Sprintf("/keys/%d/roll", fresh.ID))
	for _, overlap := range []string{"", "2", "-1", "soon", "999999999999999999"} {
		roll.form = url.Values{"overlap": {overlap}}
		s.try(t, roll, http.StatusUnprocessableEntity, "Select one of the options.")
	}
	for _, o := range overlaps {
		roll.path, roll.form = s.path(fmt.Sprintf("/keys/%d/roll", s.mustKey(t, "o").ID)), url.Values{"overlap": {o.Value}}
		s.try(t, roll, http.StatusOK)
	}
	revoke := s.path(fmt.Sprintf("/keys/%d/revoke", fresh.ID))
	s.try(t, call{path: revoke, cookie: admin}, http.StatusOK, "Scanner", "lose access", "products:read")
	for range 2 {
		s.try(t, call{path: revoke, cookie: admin, form: url.Values{}}, http.StatusSeeOther, s.path("/keys"))
	}
	if _, total, err := tenancy.AuditLog(t.Context(), s.Database.DB, s.a.ID, "key.revoke", 1, 9); total != 1 || err != nil {
		t.Errorf("key.revoke was logged %d times, %v, want once", total, err)
	}
	s.try(t, call{path: s.path("/keys"), cookie: admin}, http.StatusOK, "Live", "Rolled", "Revoked", "operator", s.email("admin"))
}

// Two clicks on Roll are two forms at once: the second is told of the first.
func TestADoubleClickRollsOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	admin := s.mustVisitor(t, "admin", people.Admin)
	for n := range 10 {
		first, second, met := s.clickTwice(t, admin, fmt.Sprint("Till ", n))
		if !met || first.Code == http.StatusServiceUnavailable || second.Code == http.StatusServiceUnavailable {
			continue // a busy machine: one gave up waiting before the other came
		}
		if first.Code != http.StatusOK {
			first, second = second, first
		}
		if first.Code != http.StatusOK || second.Code != http.StatusConflict || !strings.Contains(second.Body.String(), "This key was already created") {
			t.Errorf("= %d and %d, want one key and to be told so: %s", first.Code, second.Code, second.Body)
		}
		return
	}
	t.Error("two forms never met")
}

// clickTwice sends the form that rolls a new key twice, and tells whether both waited
// for the same lock before either got it.
func (s *site) clickTwice(t *testing.T, admin, name string) (first, second *httptest.ResponseRecorder, met bool) {
	t.Helper()
	path := s.path(fmt.Sprintf("/keys/%d/roll", s.mustKey(t, name).ID))
	s.alter(t, `begin`)
	s.alter(t, `select pg_advisory_xact_lock(hashtextextended('keys', $1))`, s.a.ID)
	answers := make(chan *httptest.ResponseRecorder, 2)
	for range 2 {
		r := httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader("overlap=0"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.AddCookie(&http.Cookie{Name: "__Host-storeroom", Value: admin})
		go func() {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			answers <- w
		}()
	}
	for waiting, deadline := 0, time.Now().Add(5*time.Second); !met && time.Now().Before(deadline) && len(answers) == 0; time.Sleep(5 * time.Millisecond) {
		if err := s.super.QueryRow(t.Context(), `
			select count(*) from pg_locks where locktype = 'advisory' and not granted
			   and database = (select oid from pg_database where datname = current_database())`).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
		met = waiting == 2
	}
	s.alter(t, `commit`)
	return <-answers, <-answers, met
}

// What somebody calls a key, others paste into a terminal with the line of the quick
// start. What follows the line shows that no shell takes the name for a comment: zsh
// would run a comment.
func TestTheNameOfAKeyIsNoCommand(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"":                  "paste your key here",
		"Till in the shop":  "paste the key “Till in the shop” here",
		"Anna's till":       "paste the key “Anna’s till” here",
		"$(echo x)`echo x`": "paste the key “$(echo x)`echo x`” here",
		`'; echo x; '\`:     `paste the key “’; echo x; ’\” here`,
	} {
		line := startPage{Name: name}.Assign()
		got, err := exec.CommandContext(t.Context(), "sh", "-c", line+`; printf %s "$API_KEY"`).CombinedOutput()
		if err != nil || string(got) != want {
			t.Errorf("%s makes %q, %v, want %q", line, got, err, want)
		}
	}
}

func TestKeysAreMadeAtABoundedRate(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	admin := s.mustVisitor(t, "admin", people.Admin)
	refused, local := 0, s.Limiter.Stats().Local
	for range keyCreation.Burst + 5 {
		got := s.do(t, call{path: s.path("/keys"), cookie: admin, form: url.Values{"name": {"k"}, "preset": {"full"}, "lifetime": {"0"}, "request": {rand.Text()}}})
		if got.StatusCode == http.StatusTooManyRequests && got.Header.Get("Retry-After") != "" {
			refused++
		}
	}
	if s.Limiter.Stats().Local > local {
		return // Redis did not answer in time, and the instance counted by itself, from nothing
	}
	if refused < 4 || refused > 5 {
		t.Errorf("%d of %d were refused, want 5 (or 4, where it took half a minute)", refused, keyCreation.Burst+5)
	}
}

func TestAKeyThatIsNotLoggedIsNotMade(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	key := s.mustKey(t, "Till")
	s.alter(t, `alter table audit_log add constraint full_log check (false) not valid`)
	before := s.stored(t)
	_, _, created := s.Keys.Create(t.Context(), s.a.ID, tenancy.Operator, keys.NewKey{Name: "New", Permissions: key.Permissions})
	_, _, rolled := s.Keys.Roll(t.Context(), s.a.ID, tenancy.Operator, key.ID, 0)
	for what, err := range map[string]error{"Create": created, "Roll": rolled, "Revoke": s.Keys.Revoke(t.Context(), s.a.ID, tenancy.Operator, key.ID)} {
		if tenancy.Constraint(err) != "full_log" {
			t.Errorf("%s = %v, want the fault of the log", what, err)
		}
	}
	if diff := cmp.Diff(before, s.stored(t)); diff != "" {
		t.Errorf("something was done (-before +after):\n%s", diff)
	}
}
