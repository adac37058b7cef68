package pages

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy/people"
)

// formOf returns the fields of the form for a path, as a browser sends them, with others.
func formOf(t *testing.T, body, action string, others ...string) url.Values {
	t.Helper()
	_, rest, found := strings.Cut(body, `action="`+action+`"`)
	if !found {
		t.Fatalf("the page has no form for %s", action)
	}
	rest, _, _ = strings.Cut(rest, "</form>")
	values := url.Values{}
	name, value := regexp.MustCompile(`name="([^"]*)"`), regexp.MustCompile(`value="([^"]*)"`)
	for _, input := range regexp.MustCompile(`<input [^>]*>`).FindAllString(rest, -1) {
		of, is := name.FindStringSubmatch(input), value.FindStringSubmatch(input)
		if of != nil && !strings.Contains(input, `type="checkbox"`) {
			if is == nil {
				is = []string{"", ""}
			}
			values.Add(of[1], strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "&#34;", `"`, "&#39;", "'", "&#43;", "+").Replace(is[1]))
		}
	}
	for _, choice := range regexp.MustCompile(`(?s)<select id="[^"]*" name="([^"]*)".*?</select>`).FindAllStringSubmatch(rest, -1) {
		if selected := regexp.MustCompile(`<option value="([^"]*)" selected>`).FindStringSubmatch(choice[0]); selected != nil {
			values.Set(choice[1], selected[1])
		}
	}
	for i := 0; i < len(others); i += 2 {
		values.Set(others[i], others[i+1])
	}
	return values
}

// settings returns the name, the time zones and the currency of A.
func (s *site) settings(t *testing.T) (all string) {
	t.Helper()
	err := s.super.QueryRow(t.Context(), `
		select concat_ws(' ', name, t.timezone, z.timezone, currency) from tenants t join sales_zones z on z.tenant_id = t.id where t.id = $1`,
		s.a.ID).Scan(&all)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAnAdminChangesTheSettingsOfTheBusiness(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	admin, owner, page := s.mustVisitor(t, "ann", people.Admin), s.mustVisitor(t, "olga", people.Owner), s.path("/settings")
	first := s.get(t, admin, page, http.StatusOK, `list="zones"`).body
	change := func(body string, others ...string) url.Values { return formOf(t, body, page, others...) }
	wanted := change(first, "name", "Ten & Co", "timezone", "Europe/Berlin", "currency", "eur")
	for range 2 { // a double click
		s.post(t, admin, page, wanted, http.StatusSeeOther, page)
	}
	if got, want := s.settings(t), "Ten & Co Europe/Berlin Europe/Berlin EUR"; got != want {
		t.Errorf("the settings are %s, want %s", got, want)
	}
	s.alter(t, `update sales_zones set timezone = 'UTC' where tenant_id = $1`, s.a.ID) // as after an interruption on a cluster
	s.post(t, admin, page, wanted, http.StatusSeeOther, page)
	if got, want := s.settings(t), "Ten & Co Europe/Berlin Europe/Berlin EUR"; got != want {
		t.Errorf("after the same form again the settings are %s, want %s", got, want)
	}
	log := plain(s.get(t, admin, s.path("/audit?act=tenant."), http.StatusOK).body)
	mustHave(t, log, "ann", "Changed the plan or settings", "UTC → Europe/Berlin", "USD → EUR", "2 entries")
	s.post(t, owner, page, change(first, "name", "Other"), http.StatusUnprocessableEntity, "Someone has changed these settings")
	now := s.get(t, owner, page, http.StatusOK, "<title>Settings · Ten &amp; Co · Storeroom</title>").body
	for field, texts := range map[string]map[string]string{
		"name":     {"": "The name must not be empty.", strings.Repeat("x", 256): "The name must have at most 255 characters."},
		"timezone": {"": "Enter a time zone", "Europe/Nowhere": "Enter a time zone", "Local": "Enter a time zone"},
		"currency": {"": "Enter the code of a currency", "XXY": "Enter the code", "KWD": "Enter the code"},
	} {
		for text, want := range texts {
			s.post(t, owner, page, change(now, field, text), http.StatusUnprocessableEntity, want, `aria-invalid="true"`)
		}
	}
	plan := s.mustImport(t, imports.PlanKind)
	s.post(t, owner, page, change(now, "currency", "GBP"), http.StatusUnprocessableEntity, "An import has begun")
	s.post(t, owner, page, change(now, "name", "Eleven"), http.StatusSeeOther)
	s.alter(t, `delete from change_plans where id = $1`, plan)

	before := s.get(t, owner, page, http.StatusOK).body
	s.mustSell(t, sale("A1", "2026-03-02", 5_00, nil))
	s.post(t, owner, page, change(before, "timezone", "Asia/Tokyo"), http.StatusUnprocessableEntity, "An order was stored meanwhile")
	if got, want := s.settings(t), "Eleven Europe/Berlin Europe/Berlin EUR"; got != want {
		t.Errorf("the settings are %s, want %s", got, want)
	}
	sold := s.get(t, owner, page, http.StatusOK, "It cannot change any more.", "counts the days again").body
	if strings.Contains(sold, `name="currency"`) || strings.Contains(sold, `name="timezone"`) {
		t.Error("the page offers a change that is refused")
	}
	s.post(t, owner, page, change(sold, "name", "Twelve"), http.StatusSeeOther)
	if got, want := s.settings(t), "Twelve Europe/Berlin Europe/Berlin EUR"; got != want {
		t.Errorf("the settings are %s, want %s", got, want)
	}
}

func TestLabelsOfShopsAreShownEverywhere(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	admin, page := s.mustVisitor(t, "ann", people.Admin), s.path("/settings")
	s.mustSellForFlows(t)
	first := s.get(t, admin, page, http.StatusOK, `value="" maxlength="255" placeholder="High Street"`, "Without a name, people see the short name.").body
	rename := formOf(t, first, page+"/channels", "label-online", "Web shop")
	for range 2 { // a double click
		s.post(t, admin, page+"/channels", rename, http.StatusSeeOther, page)
	}
	now := s.get(t, admin, page, http.StatusOK, `value="Web shop"`, `placeholder="High Street"`).body // a suggestion is not saved
	s.post(t, admin, page+"/channels", formOf(t, now, page+"/channels", "label-high-street", "High Street"), http.StatusSeeOther, page)
	overview := s.get(t, admin, s.path("/overview?from=2026-03-01&to=2026-03-31"), http.StatusOK).body
	for _, text := range []string{
		plain(overview), plain(s.get(t, admin, s.path("/orders"), http.StatusOK).body),
		plain(s.get(t, admin, s.path("/orders?channel=high-street&search="), http.StatusOK).body),
		plain(s.get(t, admin, s.path("/orders/A1"), http.StatusOK).body),
	} {
		mustHave(t, text, "High Street")
		if strings.Contains(strings.ReplaceAll(text, "High Street high-street", ""), "high-street") {
			t.Errorf("a page has the identifier instead of the label:\n%s", text)
		}
	}
	log := plain(s.get(t, admin, s.path("/audit?act=channel."), http.StatusOK).body)
	mustHave(t, log, "Renamed a shop", "high-street → High Street", "online → Web shop", "2 entries")

	stale := formOf(t, first, page+"/channels", "label-online", "Internet", "request", strings.Repeat("A", 26))
	again := s.post(t, admin, page+"/channels", stale, http.StatusUnprocessableEntity, "Someone has changed this to “Web shop” meanwhile.",
		`value="Internet"`).body
	s.post(t, admin, page+"/channels", formOf(t, again, page+"/channels"), http.StatusSeeOther)
	mustHave(t, plain(s.get(t, admin, s.path("/orders/B1"), http.StatusOK).body), "Internet")
	empty := formOf(t, s.get(t, admin, page, http.StatusOK).body, page+"/channels", "label-online", " ", "label-pos", "Counter")
	s.post(t, admin, page+"/channels", empty, http.StatusUnprocessableEntity, "The name must not be empty.")
	s.get(t, admin, page, http.StatusOK, `value="Point of sale"`) // nothing of a form with an error is written
	missing := formOf(t, first, page+"/channels", "label-gone", "x", "request", strings.Repeat("B", 26))
	s.post(t, admin, page+"/channels", missing, http.StatusNotFound)
}

func TestWarehousesOfTheSettings(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	admin, page := s.mustVisitor(t, "ann", people.Admin), s.path("/settings")
	first := s.get(t, admin, page, http.StatusOK, "Default warehouse", `value="Main warehouse"`).body
	add := formOf(t, first, page+"/warehouses/new", newWarehouse, " Cellar ")
	for range 2 { // a double click
		s.post(t, admin, page+"/warehouses/new", add, http.StatusSeeOther, page)
	}
	now := s.get(t, admin, page, http.StatusOK, `value="Cellar"`).body
	for text, want := range map[string]string{"cellar ": "", "Cellar": "The name is already taken.", "": "The name must not be empty."} {
		form := formOf(t, now, page+"/warehouses/new", newWarehouse, text, "request", strings.Repeat("A", 25)+string(rune('A'+len(text))))
		if want != "" {
			s.post(t, admin, page+"/warehouses/new", form, http.StatusUnprocessableEntity, want)
		}
	}
	store := catalog.New(s.Database.DB)
	main, _, err := store.DefaultWarehouse(t.Context(), s.a.ID)
	if err != nil {
		t.Fatal(err)
	}
	field := fmt.Sprint(warehouseField, main.ID)
	s.post(t, admin, page+"/warehouses", formOf(t, now, page+"/warehouses", field, "Cellar"), http.StatusUnprocessableEntity,
		"The name is already taken.")
	s.post(t, admin, page+"/warehouses", formOf(t, now, page+"/warehouses", field, "Shop floor"), http.StatusSeeOther)
	s.post(t, admin, page+"/warehouses", formOf(t, now, page+"/warehouses", field, "Other", "request", strings.Repeat("B", 26)),
		http.StatusUnprocessableEntity, "Someone has changed this to “Shop floor” meanwhile.")
	log := plain(s.get(t, admin, s.path("/audit?act=warehouse."), http.StatusOK).body)
	mustHave(t, log, "Added a warehouse", "Cellar", "Renamed a warehouse", "Main warehouse → Shop floor", "2 entries")
}
