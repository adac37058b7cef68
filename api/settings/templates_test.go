package settings

import (
	"html"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/people"
)

// hostile is what somebody may call a key, a shop or themselves.
const hostile = `"><script>alert(1)</script>'{{.}}`

// samples are the data of every page, empty and full.
func samples() map[string][]any {
	now, by, limit := time.Now(), int64(1), "1,000"
	role := people.Admin
	key := keys.Key{
		ID: 7, Name: hostile, Permissions: keys.Permissions{keys.ProductsRead, keys.OrdersWrite}, Prefix: "sk_live_abcd", Last4: "wxyz",
		CreatedBy: &by, CreatedAt: now, ExpiresAt: &now, RevokedAt: &now, ReplacedBy: &by, LastUsedAt: &now,
	}
	var rows []keyRow
	for _, status := range []string{"live", "rolled", "expired", "revoked"} {
		rows = append(rows, keyRow{key, hostile, status})
	}
	wrong := fieldErrors{"": hostile, "name": hostile, "permissions": hostile, "lifetime": hostile, "overlap": hostile, "email": hostile, "role": hostile,
		"current": hostile, "new": hostile, "confirm": hostile, "password": hostile}
	asked := passwordPrompt{Needed: true, Error: hostile}
	member := people.Member{UserID: 1, Email: hostile, Role: people.Owner, CreatedAt: now}
	pending := []people.PendingLink{{ID: 1, Purpose: "invitation", Email: hostile, Role: &role, MadeBy: hostile, CreatedAt: now, ExpiresAt: now}, {Purpose: "reset", Email: hostile}}
	entry := tenancy.Logged{ID: 1, At: now, Actor: hostile, Address: &limit, Entry: tenancy.Entry{
		Action: "key.create", Target: hostile,
		Details: map[string]any{"n": 1_000_000.0, "list": []any{hostile, 1.5}, "change": map[string]any{"from": 1_000_000.0, "to": nil}, "none": nil},
	}}
	link := func(purpose string, role *people.Role) people.Link {
		return people.Link{Purpose: purpose, Email: hostile, Role: role, TenantName: hostile, ExpiresAt: now}
	}
	return map[string][]any{
		"account":              {nil},
		"audit":                {auditPage{Filters: auditFilters, Page: 1, Pages: 1}, auditPage{Entries: []tenancy.Logged{entry, {}}, Filters: auditFilters, Filter: "key.", Page: 2, Pages: 3, Total: 150, Previous: 1, Next: 3}},
		"error":                {errorPage{}, errorPage{http.StatusInternalServerError, hostile, hostile}},
		"key-already-created":  {nil},
		"key-inactive":         {rows[1], rows[2], rows[3], keyRow{Key: keys.Key{Name: "k"}}},
		"key-created":          {createdKey{}, createdKey{Key: key, Secret: "sk_live_x", BaseURL: "https://shop.example.com", Path: "/api/products?per_page=3"}, createdKey{Key: key, Secret: "sk_live_x", Replaces: &key, Overlap: hostile}},
		"key-new":              {newKeyPage{}, newKeyPage{Name: hostile, Preset: "full", Lifetime: "90", Selected: map[string]bool{"orders:read": true}, Request: "X", Prompt: asked, Errors: wrong, Presets: presets, Permissions: permissions, Lifetimes: lifetimes}},
		"key-revoke":           {keyRow{}, rows[0]},
		"key-roll":             {rollPage{}, rollPage{Key: rows[0], Overlaps: overlaps, Overlap: "24", Prompt: asked, Errors: wrong}},
		"keys":                 {[]keyRow(nil), rows},
		"link":                 {linkPage{Link: link("reset", nil)}, linkPage{Link: link("invitation", &role), Error: hostile}},
		"link-already-created": {nil},
		"link-invalid":         {nil},
		"link-created":         {createdLink{}, createdLink{hostile, "invitation", "https://shop.example.com/settings/link/x"}, createdLink{hostile, "reset", "https://shop.example.com/settings/link/x"}},
		"member":               {memberPage{}, memberPage{Member: member, Roles: roles, Request: "X", Prompt: asked, Errors: wrong}},
		"members":              {membersPage{}, membersPage{Members: []people.Member{member, {}}, Links: pending, Request: "X", Roles: roles, Email: hostile, Role: "viewer", Prompt: asked, Errors: wrong}},
		"password":             {passwordPage{}, passwordPage{Errors: wrong}, passwordPage{Done: true}},
		"sign-in":              {signInPage{}, signInPage{hostile, "/settings/t/a/keys", hostile, true}},
		"start":                {startPage{}, startPage{BaseURL: "https://shop.example.com", Keys: rows, Name: hostile}},
		"tenants":              {[]people.Membership(nil), []people.Membership{{TenantID: 1, Slug: "a", Name: hostile, Role: people.Owner}}},
	}
}

func TestEveryPageRendersEmptyAndFull(t *testing.T) {
	t.Parallel()
	p := &Pages{templates: parseTemplates()}
	limit := int32(900)
	visits := map[string]user{"nobody": {}}
	for _, role := range []people.Role{people.Viewer, people.Admin, people.Owner} {
		visits[string(role)] = user{Session: people.Session{UserID: 1, Email: hostile, Role: role, ConfirmedAt: time.Now(), Tenant: &tenancy.Tenant{
			ID: 1, Slug: "a", Name: hostile, Plan: tenancy.Enterprise, RateLimit: &limit, Timezone: "Europe/Rome", Currency: "EUR", Suspended: true,
		}}}
	}
	outside := []string{"error", "link", "link-invalid", "sign-in", "tenants", "password"}
	all := samples()
	for page := range p.templates {
		if len(all[page]) == 0 {
			t.Errorf("the page %s is new: give it samples", page)
		}
	}
	for page, data := range all {
		for who, v := range visits {
			if who == "nobody" && !slices.Contains(outside, page) {
				continue
			}
			for i, d := range data {
				w := httptest.NewRecorder()
				if err := p.show(w, http.StatusOK, page, v, d); err != nil {
					t.Errorf("%s, sample %d, as %s: %v", page, i, who, err)
					continue
				}
				checkPage(t, page+" as "+who, w.Body.String())
			}
		}
	}
	if err := p.show(httptest.NewRecorder(), http.StatusOK, "nothing", user{}, nil); err == nil {
		t.Error("a page that there is not was shown")
	}
}

func checkPage(t *testing.T, what, body string) {
	t.Helper()
	for _, bad := range []string{"<script>alert", "<no value>", "ZgotmplZ", "%!", "<nil>", "1e+06", "0x", " style=", " onclick=", "javascript:", "http://"} {
		if strings.Contains(body, bad) {
			t.Errorf("%s holds %q:\n%s", what, bad, body)
		}
	}
	if strings.Count(body, "<h1>") != 1 || strings.Count(body, "<script") != 1 || !strings.HasSuffix(strings.TrimSpace(body), "</html>") {
		t.Errorf("%s is no whole page with one heading and one script:\n%s", what, body)
	}
	_, after, _ := strings.Cut(body, "<title>")
	if title, _, _ := strings.Cut(after, " · Storeroom</title>"); strings.TrimSpace(html.UnescapeString(title)) == "" && !strings.HasPrefix(what, "error") && !strings.HasPrefix(what, "member as") && !strings.HasPrefix(what, "key-created") {
		t.Errorf("%s has no title", what)
	}
}

func TestEveryTemplateIsAPage(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(templateFiles, "templates/*")
	if err != nil || len(names) != len(samples())+len(layouts) {
		t.Errorf("there are %d templates, %v, want the %d pages and the layouts %v", len(names), err, len(samples()), layouts)
	}
}
