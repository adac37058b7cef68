package pages

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
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/people"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

var (
	shownKey      = regexp.MustCompile(`sk_live_\w{20,}`)
	hiddenRequest = regexp.MustCompile(`name="request" value="(\w+)"`)
)

// mustForm returns the form of a new key with its defaults and a name.
func (s *site) mustForm(t testing.TB, cookie, name string) url.Values {
	t.Helper()
	page := s.get(t, cookie, s.path("/keys/new"), http.StatusOK)
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

func TestCreateKeyWithDefaults(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	admin := s.mustVisitor(t, "admin", people.Admin)
	form := s.mustForm(t, admin, "Till")
	c := call{path: s.path("/keys"), cookie: admin, form: form, from: "192.0.2.1"}
	created := s.try(t, c, http.StatusOK, "Till", "curl -sS", "https://shop.example.com/api/products")
	secret := shownKey.FindString(created.body)
	if keys.Check(secret) != nil {
		t.Fatalf("the page shows no key: %s", created.body)
	}
	resent := s.try(t, c, http.StatusConflict, "already created")
	found, err := s.Keys.List(t.Context(), s.a.ID)
	if err != nil || len(found) != 1 {
		t.Fatalf("List = %v, %v, want one key", found, err)
	}
	key := found[0]
	want := keys.Permissions{
		keys.ProductsRead, keys.ReportsRead, keys.OrdersRead, keys.CustomersRead, keys.UsageRead, keys.ImportsRead,
		keys.WebhooksRead,
	}
	if diff := cmp.Diff(want, key.Permissions); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
	if left := time.Until(*key.ExpiresAt); left > 90*24*time.Hour || left < 89*24*time.Hour || key.CreatedBy == nil {
		t.Errorf("the key is %+v, want 90 days and a creator", key)
	}
	log, total, err := tenants.AuditLog(t.Context(), s.Database.DB, s.a.ID, "key.", 1, 9)
	if err != nil || total != 1 || log[0].Action != "key.create" || log[0].Actor != s.email("admin") ||
		!strings.Contains(*log[0].Address, "192.0.2.1") {
		t.Errorf("logged %+v, %v, want key.create by the admin from 192.0.2.1", log, err)
	}
	for _, path := range []string{
		"/keys", "/keys/new", fmt.Sprintf("/keys/%d/roll", key.ID), fmt.Sprintf("/keys/%d/revoke", key.ID),
		"/audit", "/start", "/account", "/members",
	} {
		if got := s.get(t, admin, s.path(path), http.StatusOK); strings.Contains(got.body, secret) {
			t.Errorf("%s shows the key", path)
		}
	}
	for name, text := range map[string]string{
		"second response": resent.body, "database": s.stored(t), "header": fmt.Sprint(created.Header),
	} {
		if strings.Contains(text, secret) {
			t.Errorf("the %s contains the key", name)
		}
	}
}

func TestEveryOptionIsValid(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	send := s.keySender(t)
	for _, c := range options["preset"] {
		send(func(f url.Values) {
			f.Set("preset", c.Value)
			f.Set("permission", "orders:read")
		}, http.StatusOK, "orders:read")
	}
	for _, c := range options["permission"] {
		send(func(f url.Values) { f.Set("preset", ""); f["permission"] = []string{c.Value} }, http.StatusOK, c.Value)
	}
	s = newSite(t, "https://shop.example.com") // a tenant can create only a few keys a minute
	send = s.keySender(t)
	for _, c := range options["lifetime"] {
		send(func(f url.Values) { f.Set("lifetime", c.Value) }, http.StatusOK)
	}
}

// keySender returns a function that submits the form of a new key after a change.
func (s *site) keySender(t *testing.T) func(change func(url.Values), status int, parts ...string) {
	admin := s.mustVisitor(t, "admin", people.Admin)
	return func(change func(url.Values), status int, parts ...string) {
		t.Helper()
		form := url.Values{"name": {"k"}, "preset": {"full"}, "lifetime": {"90"}, "request": {rand.Text()}}
		change(form)
		got := s.try(t, call{path: s.path("/keys"), cookie: admin, form: form}, status, parts...)
		if (shownKey.FindString(got.body) != "") != (status == http.StatusOK) {
			t.Errorf("%v = %d, and shows a key: %v", form, status, status != http.StatusOK)
		}
	}
}

func TestInvalidFormOfANewKey(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	send := s.keySender(t)
	const badPermission, badOption = "Select one of the listed permissions.", "Select one of the options."
	for _, test := range []struct{ field, value, want string }{
		{"name", "  ", "The name must not be empty."},
		{"name", strings.Repeat("ä", 101), "The name must have at most 100 characters."},
		{"name", "a\x00", "The name must not contain control characters."},
		{"name", "a\xff", "The name must be valid UTF-8."},
		{"name", "llit\u202e", "The name must not contain the invisible character U"},
		{"preset", "", "Select at least one permission."},
		{"permission", "root", badPermission},
		{"preset", "root", badPermission},
		{"lifetime", "31", badOption},
		{"lifetime", "", badOption},
		{"lifetime", "999999999999999999", badOption},
		{"lifetime", "-30", badOption},
	} {
		send(func(f url.Values) { f.Set(test.field, test.value) }, http.StatusUnprocessableEntity, test.want)
	}
	for n := range 50 {
		s.alter(t, `
			insert into api_keys (tenant_id, name, permissions, prefix, last4)
			values ($1, $2, '{products:read}', 'sk_live_abcd', 'wxyz')`, s.a.ID, fmt.Sprint(n))
	}
	send(func(url.Values) {}, http.StatusUnprocessableEntity, "50 live keys")
}

// The list above the form links to each invalid field, and each invalid field refers to
// its error.
func TestErrorsReferToFields(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	owner := s.mustPerson(t, "owner", s.a, people.Owner)
	old, recent := s.mustSession(t, owner), s.mustSession(t, owner)
	s.alter(t, `update sessions set confirmed_at = now() - interval '11 minutes' where token_hash = $1`, sum(old))
	roll := s.path(fmt.Sprintf("/keys/%d/roll", s.mustKey(t, "Till").ID))
	member := s.path(fmt.Sprintf("/members/%d", s.mustPerson(t, "member", s.a, people.Viewer)))
	const fresh = "another+horse+battery"
	for _, test := range []struct {
		path, cookie, form string
		fields             []string
	}{
		{s.path("/keys"), old, "", []string{"name", "permissions", "lifetime", "password"}},
		{s.path("/keys"), recent, "preset=full&lifetime=90", []string{"name"}},
		{roll, old, "overlap=24", []string{"password"}},
		{roll, recent, "overlap=5", []string{"overlap"}},
		{s.path("/members"), old, "email=invalid&role=king", []string{"password"}},
		{s.path("/members"), recent, "email=invalid&role=king", []string{"email", "role"}},
		{member + "/role", recent, "role=king", []string{"role"}},
		{member + "/role", old, "role=admin", []string{"password-role"}},
		{member + "/reset", old, "", []string{"password-reset"}},
		{member + "/remove", old, "password=wrong", []string{"password-remove"}},
		{"/settings/password", recent, "current=correct&new=short&confirm=other", []string{"new", "confirm"}},
		{"/settings/password", recent, "current=correct&new=password1234&confirm=password1234", []string{"new"}},
		{"/settings/password", recent, "current=wrong&new=" + fresh + "&confirm=" + fresh, []string{"current"}},
	} {
		body := test.form + "&request=" + rand.Text()
		got := s.try(t, call{path: test.path, cookie: test.cookie, body: body}, http.StatusUnprocessableEntity)
		var linked []string
		for _, link := range regexp.MustCompile(`<li><a href="#([^"]*)">`).FindAllStringSubmatch(got.body, -1) {
			linked = append(linked, link[1])
		}
		if diff := cmp.Diff(test.fields, linked); diff != "" {
			t.Errorf("%s %v: linked above the form (-want +got):\n%s", test.path, test.form, diff)
		}
		for _, field := range test.fields {
			control := regexp.MustCompile(`<(input|select)[^>]* id="` + field + `"[^>]*>`).FindString(got.body)
			described := regexp.MustCompile(` aria-describedby="[^"]*\b` + field + `-error"`).MatchString(control)
			if !strings.Contains(control, ` aria-invalid="true"`) || !described {
				t.Errorf("%s: %q does not refer to its error", test.path, control)
			}
			if strings.Count(got.body, ` id="`+field+`-error"`) != 1 || strings.Count(got.body, ` id="`+field+`"`) != 1 {
				t.Errorf("%s: the field %s or its error is missing or repeated: %s", test.path, field, got.body)
			}
		}
		if n := strings.Count(got.body, `aria-invalid`); n != len(test.fields) {
			t.Errorf("%s: %d fields are invalid, want %d", test.path, n, len(test.fields))
		}
	}
	// An error without a field is shown only in the form that was submitted.
	own := s.path(fmt.Sprintf("/members/%d", owner))
	for act, form := range map[string]url.Values{"/role": {"role": {"viewer"}}, "/remove": {}} {
		const lastOwner = "<li>This is the last owner"
		got := s.post(t, recent, own+act, form, http.StatusUnprocessableEntity, lastOwner)
		_, rest, _ := strings.Cut(got.body, lastOwner)
		next := regexp.MustCompile(`<form method="post" action="([^"]*)"`).FindStringSubmatch(rest)
		if next == nil || next[1] != own+act || strings.Contains(rest, lastOwner) {
			t.Errorf("%s: the error is above %v, want the submitted form", act, next)
		}
	}
	custom := url.Values{"request": {rand.Text()}, "name": {"k"}, "lifetime": {"90"}, "preset": {""}}
	s.post(t, recent, s.path("/keys"), custom, http.StatusUnprocessableEntity, "<details open>")
}

func TestInactiveKeysHaveNoForms(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	admin := s.mustVisitor(t, "admin", people.Admin)
	revoked, expired, rolled := s.mustKey(t, "Revoked"), s.mustKey(t, "Expired"), s.mustKey(t, "Rolled")
	if err := s.operatorKeys.Revoke(t.Context(), s.a.ID, tenancy.Operator, revoked.ID); err != nil {
		t.Fatal(err)
	}
	s.alter(t, `update api_keys set expires_at = now() - interval '1 day' where id = $1`, expired.ID)
	if _, _, err := s.operatorKeys.Roll(t.Context(), s.a.ID, tenancy.Operator, rolled.ID, 24*time.Hour); err != nil {
		t.Fatal(err)
	}
	path := func(id int64, act string) string { return s.path(fmt.Sprintf("/keys/%d/%s", id, act)) }
	for id, reason := range map[int64]string{revoked.ID: "was revoked on", expired.ID: "expired on"} {
		for _, act := range []string{"roll", "revoke"} {
			got := s.get(t, admin, path(id, act), http.StatusConflict, "is no longer active", reason)
			if strings.Contains(got.body, `<form method="post">`) {
				t.Errorf("%s shows a form: %s", act, got.body)
			}
		}
		s.post(t, admin, path(id, "roll"), url.Values{"overlap": {"0"}}, http.StatusConflict, "is no longer active", reason)
	}
	s.get(t, admin, path(rolled.ID, "roll"), http.StatusConflict, "was already rolled", "works until")
	now := url.Values{"overlap": {"0"}}
	s.post(t, admin, path(rolled.ID, "roll"), now, http.StatusConflict, "This key was already created")
	s.get(t, admin, path(rolled.ID, "revoke"), http.StatusOK, "lose access")
}

func TestRollAndRevoke(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	admin := s.mustVisitor(t, "admin", people.Admin)
	key := s.mustKey(t, "Till")
	roll := call{path: s.path(fmt.Sprintf("/keys/%d/roll", key.ID)), cookie: admin, form: url.Values{"overlap": {"1"}}}
	got := s.try(t, roll, http.StatusOK, "1 hour")
	if secret := shownKey.FindString(got.body); keys.Check(secret) != nil || strings.Contains(s.stored(t), secret) {
		t.Errorf("the page shows no key, or the database contains it")
	}
	s.try(t, roll, http.StatusConflict)
	fresh := s.mustKey(t, "Scanner")
	roll.path = s.path(fmt.Sprintf("/keys/%d/roll", fresh.ID))
	for _, overlap := range []string{"", "2", "-1", "soon", "999999999999999999"} {
		roll.form = url.Values{"overlap": {overlap}}
		s.try(t, roll, http.StatusUnprocessableEntity, "Select one of the options.")
	}
	for _, o := range options["overlap"] {
		roll.path, roll.form = s.path(fmt.Sprintf("/keys/%d/roll", s.mustKey(t, "o").ID)), url.Values{"overlap": {o.Value}}
		s.try(t, roll, http.StatusOK)
	}
	revoke := s.path(fmt.Sprintf("/keys/%d/revoke", fresh.ID))
	s.get(t, admin, revoke, http.StatusOK, "Scanner", "lose access", "products:read")
	for range 2 {
		s.post(t, admin, revoke, url.Values{}, http.StatusSeeOther, s.path("/keys"))
	}
	_, total, err := tenants.AuditLog(t.Context(), s.Database.DB, s.a.ID, "key.revoke", 1, 9)
	if total != 1 || err != nil {
		t.Errorf("key.revoke was logged %d times, %v, want once", total, err)
	}
	s.get(t, admin, s.path("/keys"), http.StatusOK, "Live", "Rolled", "Revoked", "operator", s.email("admin"))
}

// A double click submits the form twice. The second response refers to the first.
func TestDoubleClickRollsOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	admin := s.mustVisitor(t, "admin", people.Admin)
	for n := range 10 {
		first, second, together := s.clickTwice(t, admin, fmt.Sprint("Till ", n))
		if !together || first.Code == http.StatusServiceUnavailable || second.Code == http.StatusServiceUnavailable {
			continue // one timed out before the other arrived
		}
		if first.Code != http.StatusOK {
			first, second = second, first
		}
		page := second.Body.String()
		if first.Code != http.StatusOK || second.Code != http.StatusConflict ||
			!strings.Contains(page, "This key was already created") {
			t.Errorf("responses = %d and %d, want 200 and 409: %s", first.Code, second.Code, page)
		}
		return
	}
	t.Error("the two requests never ran at the same time")
}

// clickTwice submits the form that rolls a new key twice. It reports whether both
// requests waited for the same lock.
func (s *site) clickTwice(t *testing.T, admin, name string) (first, second *httptest.ResponseRecorder, together bool) {
	t.Helper()
	path := s.path(fmt.Sprintf("/keys/%d/roll", s.mustKey(t, name).ID))
	s.alter(t, `begin`)
	s.alter(t, `select from public.tenants where id = $1 for no key update`, s.a.ID)
	responses := make(chan *httptest.ResponseRecorder, 2)
	for range 2 {
		r := httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader("overlap=0"))
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.AddCookie(&http.Cookie{Name: "__Host-storeroom", Value: admin})
		go func() {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			responses <- w
		}()
	}
	deadline := time.Now().Add(time.Minute)
	for !together && time.Now().Before(deadline) && len(responses) == 0 {
		waiting := 0
		if err := s.super.QueryRow(t.Context(), `
			select count(*)
			  from pg_catalog.pg_stat_activity
			 where datname = current_database() and wait_event_type = 'Lock'`).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
		together = waiting == 2
		time.Sleep(5 * time.Millisecond) // between two polls
	}
	s.alter(t, `commit`)
	return <-responses, <-responses, together
}

// Users paste the command of the quick start, which contains the name of a key, into a
// terminal. The appended command fails if the shell reads the name as a comment.
func TestShellDoesNotRunTheNameOfAKey(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"":                  "paste your key here",
		"Till in the shop":  "paste the key “Till in the shop” here",
		"Anna's till":       "paste the key “Anna’s till” here",
		"$(echo x)`echo x`": "paste the key “$(echo x)`echo x`” here",
		`'; echo x; '\`:     `paste the key “’; echo x; ’\” here`,
	} {
		line := startPage{Selected: keys.Key{Name: name}}.Assign(sampleFormat())
		got, err := exec.CommandContext(t.Context(), "sh", "-c", line+`; printf %s "$API_KEY"`).CombinedOutput()
		if err != nil || string(got) != want {
			t.Errorf("%s sets %q, %v, want %q", line, got, err, want)
		}
	}
}

func TestQuickStartNamesTheNextStep(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	admin, viewer := s.mustVisitor(t, "admin", people.Admin), s.mustVisitor(t, "viewer", people.Viewer)
	create := s.path("/keys/new")
	for _, path := range []string{"/start", "/keys"} {
		s.get(t, admin, s.path(path), http.StatusOK, `href="`+create+`"`)
		got := s.get(t, viewer, s.path(path), http.StatusOK, "Ask an admin or owner")
		if strings.Contains(got.body, create) {
			t.Errorf("%s sends a viewer to a form that viewers cannot open", path)
		}
	}
	key := s.mustKey(t, "Till") // has only products:read
	got := s.get(t, viewer, s.path(fmt.Sprintf("/start?key=%d", key.ID)), http.StatusOK,
		"does not have <code>orders:write</code>", "does not have <code>reports:read</code>")
	if strings.Contains(got.body, "does not have <code>products:read</code>") {
		t.Error("the page says that the key lacks products:read")
	}
}

func TestKeyRowsNameThePreset(t *testing.T) {
	t.Parallel()
	for _, o := range options["preset"] {
		permissions := keys.Permissions{keys.ProductsRead, keys.OrdersWrite}
		if o.Value != "" {
			permissions, _ = keys.ParsePermissions(o.Value)
		}
		if got := presetLabel(permissions); got != o.Label {
			t.Errorf("presetLabel(%s) = %q, want %q", permissions, got, o.Label)
		}
	}
}

func TestKeysDoNotChangeWithoutTheAuditLog(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	key := s.mustKey(t, "Till")
	s.alter(t, `alter table audit_log add constraint full_log check (false) not valid`)
	before := s.stored(t)
	wanted := keys.NewKey{Name: "New", Permissions: key.Permissions}
	_, _, created := s.operatorKeys.Create(t.Context(), s.a.ID, tenancy.Operator, wanted)
	_, _, rolled := s.operatorKeys.Roll(t.Context(), s.a.ID, tenancy.Operator, key.ID, 0)
	revoked := s.operatorKeys.Revoke(t.Context(), s.a.ID, tenancy.Operator, key.ID)
	for name, err := range map[string]error{"Create": created, "Roll": rolled, "Revoke": revoked} {
		if db.Constraint(err) != "full_log" {
			t.Errorf("%s = %v, want the error of the audit log", name, err)
		}
	}
	if diff := cmp.Diff(before, s.stored(t)); diff != "" {
		t.Errorf("the database changed (-before +after):\n%s", diff)
	}
}
