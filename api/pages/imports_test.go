package pages

import (
	"bytes"
	"fmt"
	"html"
	"log/slog"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/people"
)

// visitor is a member, an admin, who uses the pages of imports.
type visitor struct {
	*site
	cookie string
}

func newVisitor(t *testing.T) visitor {
	t.Helper()
	s := newSite(t, "http://127.0.0.1")
	go s.Plans.Worker().Run(t.Context(), slog.New(slog.DiscardHandler))
	return visitor{s, s.mustVisitor(t, "ann", people.Admin)}
}

// upload sends a file with the form, and returns the path and the page of the import when the file was read.
func (v visitor) upload(t *testing.T, name, content string) (path, page string) {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, err := w.CreateFormFile("file", name)
	if err == nil {
		_, err = part.Write([]byte(content))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	got := v.try(t, call{
		path: v.path("/imports"), cookie: v.cookie, body: body.String(),
		header: http.Header{"Content-Type": {w.FormDataContentType()}, "Sec-Fetch-Site": {"same-origin"}},
	}, http.StatusSeeOther)
	at, err := got.Location()
	if err != nil {
		t.Fatal(err)
	}
	return at.Path, v.await(t, at.Path)
}

// await returns the page of an import when its work is done.
func (v visitor) await(t *testing.T, path string) string {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		page := v.get(t, v.cookie, path, http.StatusOK).body
		if !strings.Contains(page, "data-progress") {
			return page
		}
		if time.Now().After(deadline) {
			t.Fatalf("the import is not done: %s", page)
		}
	}
}

// send sends a form to a path below the import.
func (v visitor) send(t *testing.T, path, action string, form url.Values) string {
	t.Helper()
	v.try(t, call{path: path + action, cookie: v.cookie, form: form}, http.StatusSeeOther)
	return v.await(t, path)
}

var (
	questionsForm = regexp.MustCompile(`(?s)<form class="questions".*?</form>`)
	formField     = regexp.MustCompile(`(?s)<input[^>]*>|<select.*?</select>`)
	attribute     = regexp.MustCompile(`(\w+)="([^"]*)"`)
	selectOption  = regexp.MustCompile(`<option value="([^"]*)"( selected)?>`)
)

// fieldsOf returns what a browser without scripts sends if the user changes nothing, and all values that fields have.
func fieldsOf(t *testing.T, page string) (sent, offered url.Values) {
	t.Helper()
	sent, offered = url.Values{}, url.Values{}
	for _, field := range formField.FindAllString(questionsForm.FindString(page), -1) {
		start, _, _ := strings.Cut(field, ">")
		is := map[string]string{}
		for _, a := range attribute.FindAllStringSubmatch(start, -1) {
			is[a[1]] = html.UnescapeString(a[2])
		}
		name, value := is["name"], is["value"]
		if strings.HasPrefix(field, "<select") {
			for i, option := range selectOption.FindAllStringSubmatch(field, -1) {
				value := html.UnescapeString(option[1])
				if offered.Add(name, value); i == 0 || option[2] != "" {
					sent.Set(name, value)
				}
			}
			continue
		}
		offered.Add(name, value)
		if isChoice := is["type"] == "radio" || is["type"] == "checkbox"; !isChoice || strings.Contains(start, " checked") {
			sent.Add(name, value)
		}
	}
	return sent, offered
}

// figures returns what is stored, one line for each product and each order.
func (v visitor) figures(t *testing.T) []string {
	t.Helper()
	rows, err := v.super.Query(t.Context(), `
		select sku || ' ' || name || ' ' || (price / 100.0)::numeric(12, 2)
		  from products where tenant_id = $1
		 union all
		select number || ' ' || (placed_at at time zone 'UTC')::date || ' revenue ' || (revenue / 100.0)::numeric(12, 2)
		       || ' tax ' || (tax / 100.0)::numeric(12, 2) || ' cost ' || (cost / 100.0)::numeric(12, 2)
		       || coalesce((select ' refunded ' || (sum(amount) / 100.0)::numeric(12, 2) from refunds r
		                     where r.tenant_id = o.tenant_id and r.order_id = o.id), '')
		       || case when exists (select from cancellations c where c.tenant_id = o.tenant_id and c.order_id = o.id)
		               then ' cancelled' else '' end
		  from orders o where tenant_id = $1
		 order by 1`, v.a.ID)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return all
}

const salesHeader = "number,placed_at,sku,quantity,price"

// questionCases have a file for each question. A file without content is one of the test cases of the engine.
var questionCases = map[string]struct {
	name, content string
	answers       url.Values
	parts         []string // of the page with the question
	stored        []string
}{
	"charset": {
		name: "cp1250-names.csv", answers: url.Values{"charset": {"windows-1250"}},
		parts: []string{"Which line has the right letters?", "PL-1;Żółty kubek", "PL-1;¯ó³ty kubek"}, stored: []string{"PL-1 Żółty kubek 12.50"},
	},
	"mapping": {
		name: "german-shop-orders.csv", answers: url.Values{"map-0-3": {""}}, parts: []string{
			"What does each column mean?", "Columns of german-shop-orders.csv", "Einzelpreis (brutto)", "11,90", "Check what is selected",
		},
		stored: []string{
			"5001 2026-03-01 revenue 19.22 tax 4.58 cost 0.00", "5002 2026-03-02 revenue 99.22 tax 19.78 cost 0.00 cancelled",
		},
	},
	"date_order": {
		name: "shopify-orders-excel-dates.csv", answers: url.Values{"date_order": {"dmy"}}, parts: []string{
			"How are dates written?", "03/04/2026 22:36 is 3 April 2026", "03/04/2026 22:36 is 4 March 2026", "“Created at”",
		},
		stored: []string{"#1 2026-04-03 revenue 10.00 tax 0.00 cost 0.00"},
	},
	"decimal": {
		name: "bug-woo-31058-thousands.csv", answers: url.Values{"decimal": {"."}},
		parts:  []string{"How are numbers written?", "1,800 is 1800", "1,800 is 1.8"},
		stored: []string{"T-1 Crate 1800.00"},
	},
	"statuses": {
		name: "statuses.csv", answers: url.Values{"status:strange": {"refunded"}, "status:odd": {"cancelled"}},
		content: salesHeader + ",status\nS1,2026-03-13,MUG,1,10.00,Strange\nS2,2026-03-13,MUG,1,20.00,Odd\n",
		parts: []string{
			"What does each status of an order mean?", "strange", "odd",
			"S1: revenue 10.00, tax 0.00; the date of the refund is the last known date of the order; refund of 10.00",
			"S2: revenue 20.00, tax 0.00; cancelled", "S2 is not imported",
		},
		stored: []string{
			"S1 2026-03-13 revenue 10.00 tax 0.00 cost 0.00 refunded 10.00", "S2 2026-03-13 revenue 20.00 tax 0.00 cost 0.00 cancelled",
		},
	},
	"missing_sku": {
		name: "shopify-same-title-no-sku.csv", answers: url.Values{"missing_sku": {"derive"}}, parts: []string{
			"What should products without a SKU get?", "SKU Art print (print-a)", "The row is refused: SKU is required",
		},
		stored: []string{"Art print (print-a) Art print 20.00", "Art print (print-b) Art print 35.00"},
	},
	"repeated_sku": {
		name: "shopify-same-sku-sizes.csv", answers: url.Values{"repeated_sku": {"derive"}}, parts: []string{
			"Several rows that differ have the same SKU.", "SKU OC-1 - 38", "OC-1 is refused: SKU is that of several rows that differ",
		},
		stored: []string{"OC-1 - 38 Oak clog - 38 50.00", "OC-1 - 39 Oak clog - 39 50.00", "OC-1 - 40 Oak clog - 40 55.00"},
	},
	"refunds": {
		name: "square-items-detail.csv", answers: url.Values{"refunds": {"attach"}},
		parts: []string{"What should happen to returns without an order?", "TB2: refund of 9.72, of an earlier order", "Leave them out",
			"TB2 is not imported: is a refund without its order"},
		stored: []string{
			"TB1 2026-03-30 revenue 26.00 tax 2.08 cost 0.00 refunded 9.72", "TB3 2026-03-31 revenue 15.00 tax 0.00 cost 0.00",
		},
	},
	"tax_included": {
		name: "tax_included.csv", content: salesHeader + ",tax_total\nI1,2026-03-13,MUG,1,11.90,1.90\n",
		answers: url.Values{"tax_included": {"yes"}},
		parts:   []string{"Do the prices include tax?", "I1: revenue 10.00, tax 1.90", "I1: revenue 11.90, tax 1.90"},
		stored:  []string{"I1 2026-03-13 revenue 10.00 tax 1.90 cost 0.00"},
	},
	"cost": {
		name: "supermarket-like-cogs.csv", answers: url.Values{"cost": {"line"}},
		parts:  []string{"What is the cost of?", "revenue 50.00, tax 0.00, cost 30.00", "cost 150.00"},
		stored: []string{"1 2026-03-01 revenue 50.00 tax 0.00 cost 30.00"},
	},
	"discount": {
		name: "discount.csv", content: salesHeader + ",discount\nD1,2026-03-13,MUG,1,10.00,0.20\n",
		answers: url.Values{"discount": {"percent"}},
		parts:   []string{"What are the discounts?", "D1: revenue 9.80", "D1: revenue 8.00"},
		stored:  []string{"D1 2026-03-13 revenue 8.00 tax 0.00 cost 0.00"},
	},
	"total": {
		name: "total.csv", content: "number,placed_at,sku,line_total,discount\nL1,2026-03-13,MUG,90.00,10.00\n",
		answers: url.Values{"total": {"before_discount"}},
		parts:   []string{"Is the discount already taken off", "L1: revenue 80.00", "L1: revenue 90.00"},
		stored:  []string{"L1 2026-03-13 revenue 80.00 tax 0.00 cost 0.00"},
	},
	"tax": {
		name:    "tax.csv",
		content: salesHeader + ",tax_total\nX1,2026-03-13,MUG,1,10.00,1.90\nX1,2026-03-13,CUP,1,10.00,1.90\n",
		answers: url.Values{"tax_included": {"no"}, "tax": {"row"}},
		parts:   []string{"What is the tax of?", "X1: revenue 20.00, tax 1.90", "X1: revenue 20.00, tax 3.80"},
		stored:  []string{"X1 2026-03-13 revenue 20.00 tax 3.80 cost 0.00"},
	},
	"rounding": {
		name: "rounding.csv", content: "Artikelnummer,Bezeichnung,Preis\nR-1,Rope,1.2345\nR-2,Rod,2.50\n",
		answers: url.Values{"rounding": {"round"}}, parts: []string{
			"Amounts with more than two decimals are refused.", "1 in rounding.csv, for example 1.2345. Rounding changes their sum by −0.0045.",
			"rounding.csv line 2", "Price per unit must not have more than two",
		},
		stored: []string{"R-1 Rope 1.23", "R-2 Rod 2.50"},
	},
}

// TestEachQuestionIsAnsweredOnThePage uploads a file for each question of the engine, answers it with the fields of the
// page, and applies the plan.
func TestEachQuestionIsAnsweredOnThePage(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(slices.Sorted(maps.Keys(imports.Choices)), slices.Sorted(maps.Keys(questionCases))); diff != "" {
		t.Fatalf("questions with a file (-want +got):\n%s", diff)
	}
	v := newVisitor(t)
	for _, id := range slices.Sorted(maps.Keys(questionCases)) {
		c, before := questionCases[id], v.figures(t)
		if c.content == "" {
			content, err := os.ReadFile(filepath.Join("..", "imports", "testdata", "cases", c.name))
			if err != nil {
				t.Fatal(err)
			}
			c.content = string(content)
		}
		path, page := v.upload(t, c.name, c.content)
		shown := html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, ""))
		for _, part := range c.parts {
			if !strings.Contains(shown, part) {
				t.Errorf("%s: the page does not show %q: %s", id, part, strings.Join(strings.Fields(shown), " "))
			}
		}
		sent, offered := fieldsOf(t, page)
		for name, values := range c.answers {
			if !slices.Contains(offered[name], values[0]) {
				t.Errorf("%s: the field %s has the values %q, want %q", id, name, offered[name], values)
			}
			sent[name] = values
		}
		page = v.send(t, path, "/settings", sent)
		if !strings.Contains(page, "Nothing has been written yet") || strings.Contains(page, `class="field-error"`) {
			t.Errorf("%s: the page after the answer is %s", id, page)
			v.send(t, path, "/cancel", url.Values{})
			continue
		}
		if page = v.send(t, path, "/apply", url.Values{}); !strings.Contains(page, "undo this import") {
			t.Errorf("%s: the page after the import is %s", id, page)
		}
		stored := slices.DeleteFunc(v.figures(t), func(line string) bool { return slices.Contains(before, line) })
		if diff := cmp.Diff(c.stored, stored); diff != "" {
			t.Errorf("%s: stored (-want +got):\n%s", id, diff)
		}
		v.alter(t, `delete from import_settings`) // files share columns
	}
}

// TestAnswersStayAndAreRemembered changes one thing after another in the form of an import: nothing else changes. Then a
// file with the same columns has the same answers, until the user answers again.
func TestAnswersStayAndAreRemembered(t *testing.T) {
	t.Parallel()
	v := newVisitor(t)
	file := func(n int) string {
		return fmt.Sprintf("Nr,Wann,Ding,Wie viele,Je,Lage\nN%d,03/04/2026,MUG,2,9.50,Strange\n", n)
	}
	path, page := v.upload(t, "may.csv", file(1))
	sent, _ := fieldsOf(t, page)
	for column, field := range []string{"number", "placed_at", "sku", "quantity", "", "status"} {
		sent.Set(fmt.Sprintf("map-0-%d", column), field)
	}
	page = v.send(t, path, "/settings", sent)
	if want := "Orders also need “Price per unit” or “Total of the line”; products must not have “Order number”."; !strings.Contains(page, want) {
		t.Fatalf("the page does not say why the columns cannot be read: %s", page)
	}
	sent, _ = fieldsOf(t, page)
	sent.Set("map-0-4", "price")
	sent.Set("channel", "fair")
	page = v.send(t, path, "/settings", sent)
	sent, _ = fieldsOf(t, page)
	sent.Set("date_order", "dmy")
	sent.Set("status:strange", "unpaid")
	page = v.send(t, path, "/settings", sent)
	if !strings.Contains(page, "Nothing has been written yet") || !strings.Contains(page, "the order is not paid yet: strange") {
		t.Fatalf("the page after all answers is %s", page)
	}
	want, _ := fieldsOf(t, page)
	for name, value := range map[string]string{"date_order": "dmy", "status:strange": "unpaid", "channel": "fair", "map-0-4": "price"} {
		if want.Get(name) != value {
			t.Errorf("the field %s of the plan is %q, want %q", name, want.Get(name), value)
		}
	}
	// A form with one field changes one setting.
	v.send(t, path, "/settings", url.Values{"status:other": {"sale"}})
	page = v.send(t, path, "/settings", url.Values{"rounding": {"refuse"}})
	got, _ := fieldsOf(t, page)
	got.Del("rounding")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields after changes of other settings (-want +got):\n%s", diff)
	}
	i := v.mustGet(t, path)
	if i.Settings.Statuses["other"] != "sale" || i.Settings.Rounding != "refuse" {
		t.Errorf("the settings are %+v", i.Settings)
	}
	v.try(t, call{path: path + "/settings", cookie: v.cookie, form: url.Values{"channel": {"My shop"}, "date_order": {"mdy"}}},
		http.StatusUnprocessableEntity, "The channel must be 1 to 50", `value="mdy" checked`, `value="My shop"`)
	v.send(t, path, "/apply", url.Values{})

	v.alter(t, `update import_settings set updated_at = '2026-03-12T10:00:00Z'`)
	path, page = v.upload(t, "june.csv", file(2))
	if n := strings.Count(html.UnescapeString(page), "Answered as for your file of 12\u00a0March\u00a02026."); n != 3 ||
		!strings.Contains(page, "Nothing has been written yet") {
		t.Errorf("the page names the earlier file %d times, want the columns, dates and statuses: %s", n, page)
	}
	if !strings.Contains(html.UnescapeString(page), "03/04/2026 is 4 March 2026") {
		t.Errorf("the page does not show what another answer would be: %s", page)
	}
	sent, _ = fieldsOf(t, page)
	sent.Set("date_order", "mdy")
	page = v.send(t, path, "/settings", sent)
	if i = v.mustGet(t, path); i.Settings.DateOrder != "mdy" || i.Settings.Statuses["strange"] != "unpaid" ||
		!slices.Equal(i.Remembered, []string{"mapping", "statuses"}) || !strings.Contains(page, "Mar 2026 ") {
		t.Errorf("after another answer the settings are %+v, remembered %v: %s", i.Settings, i.Remembered, page)
	}
	page = v.send(t, path, "/settings", url.Values{"reset": {"1"}})
	if i = v.mustGet(t, path); i.State != changeplan.NeedsMapping || i.Settings.Mapping != nil || i.Settings.Statuses != nil ||
		i.Settings.DateOrder != "mdy" || strings.Contains(page, "Answered as") {
		t.Errorf("after the reset the import is %s, %+v: %s", i.State, i.Settings, page)
	}
}

// TestTheTimeZoneOfFilesIsInWords imports an order of a file without a time zone as of another one than the tenant's.
func TestTheTimeZoneOfFilesIsInWords(t *testing.T) {
	t.Parallel()
	v := newVisitor(t)
	v.alter(t, `update tenants set timezone = 'Europe/Berlin' where id = $1`, v.a.ID)
	path, page := v.upload(t, "zones.csv", "number,placed_at,sku,quantity,price\nZ1,2026-03-01 00:30,MUG,1,1234.50\n")
	texts := func(page string) string {
		return html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, ""))
	}
	for _, part := range []string{
		"without a time zone are read in Europe/Berlin. This page shows them in Europe/Berlin.",
		"Otherwise it is yours, Europe/Berlin.", "Date of the order 1 Mar 2026, 00:30 CET", "revenue 1,234.50",
	} {
		if !strings.Contains(texts(page), part) {
			t.Errorf("the page does not show %q: %s", part, page)
		}
	}
	sent, _ := fieldsOf(t, page)
	sent.Set("timezone", "Nowhere")
	v.try(t, call{path: path + "/settings", cookie: v.cookie, form: sent}, http.StatusUnprocessableEntity,
		"The time zone must be a name such as Europe/Berlin.", `value="Nowhere"`)
	sent.Set("timezone", " Asia/Tokyo ")
	page = texts(v.send(t, path, "/settings", sent))
	for _, part := range []string{"are read in Asia/Tokyo. This page shows them in Europe/Berlin.", "Date of the order 28 Feb 2026, 16:30 CET"} {
		if !strings.Contains(page, part) {
			t.Errorf("the page in another time zone does not show %q: %s", part, page)
		}
	}
}

// mustGet returns an import by the path of its page.
func (v visitor) mustGet(t *testing.T, path string) imports.Import {
	t.Helper()
	var id int64
	if _, err := fmt.Sscan(path[strings.LastIndex(path, "/")+1:], &id); err != nil {
		t.Fatal(err)
	}
	i, err := imports.NewJobs(v.Plans).Get(t.Context(), v.a.ID, id)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// TestReadingsSpeakTheLanguage reads what the engine says about rows. What it does not know stays as it is.
func TestReadingsSpeakTheLanguage(t *testing.T) {
	t.Parallel()
	f := visitorFormat(httptest.NewRequest("GET", "/?language=de", nil))
	for text, want := range map[string]string{
		"S1: revenue 1210.00, tax 0.00; refund of 10.50": "S1: Umsatz 1210,00, Steuern 0,00; Erstattung von 10,50",
		"a: b: revenue 1.00, tax 0.00, cost 3.00":        "a: b: Umsatz 1,00, Steuern 0,00, Kosten 3,00",
		"S2: revenue 2.00, tax 0.00; cancelled":          "S2: Umsatz 2,00, Steuern 0,00; storniert",
		"SKU A-1, Mug, blue, price 9.50":                 "SKU A-1, Mug, blue, Preis 9,50",
		"OC-1 is refused: SKU is that of several rows that differ": "OC-1 wird abgelehnt: SKU ist die mehrerer Zeilen, " +
			"die sich unterscheiden",
		"The row is refused: Price per unit must be a decimal number": "Die Zeile wird abgelehnt: Preis pro Stück " +
			"muss eine Dezimalzahl sein",
		"something else 100 %": "something else 100 %",
	} {
		if got := f.reading(text); got != want {
			t.Errorf("reading(%q) = %q, want %q", text, got, want)
		}
	}
	if got := f.dateText("3 April 2026"); got != "3. April 2026" {
		t.Errorf("the date is %q", got)
	}
	needs, of := imports.Lacking(map[string]string{"a": "number", "b": "placed_at", "c": "sku", "d": "quantity"})
	want := "Bestellungen brauchen auch „Preis pro Stück“ oder „Summe der Position“; Produkte dürfen „Bestellnummer“ nicht haben."
	if got := f.lackingText(needs, of); got != want {
		t.Errorf("what a mapping lacks is %q, want %q", got, want)
	}
}

// TestEachQuestionHasAForm shows each question of the engine, also where no rows can be shown. The texts have no words of
// the API.
func TestEachQuestionHasAForm(t *testing.T) {
	t.Parallel()
	p := &Handler{templates: parseTemplates()}
	u := user{Format: sampleFormat(), Session: people.Session{
		UserID: 1, Role: people.Admin, ConfirmedAt: time.Now(), Tenant: &sampleTenant,
	}}
	for id, choices := range imports.Choices {
		page := importPage{planPage: planPage{Summary: changeplan.Summary{
			Plan: changeplan.Plan{ID: 1, State: changeplan.NeedsMapping},
		}}}
		file := imports.File{Name: "a.csv", Header: []string{"Ding"}, Mapping: map[string]string{"Ding": "sku"}}
		field := id
		switch id {
		case "rounding":
			file.Rounding = &imports.Rounding{Count: 1, Examples: []string{"1.005"}, Change: "0.005"}
		case "statuses":
			field = "status:odd"
		case "mapping":
			field, choices = "map-0-0", append([]string{""}, mappingFields()...)
		}
		if id != "rounding" {
			page.Questions = []imports.Question{{ID: id, File: "a.csv", Choices: imports.Choices[id], Examples: []string{"odd"}}}
		}
		page.Files = []imports.File{file}
		page.readQuestions(u.Format)
		w := httptest.NewRecorder()
		if err := p.show(w, http.StatusOK, "import", u, page); err != nil {
			t.Fatal(err)
		}
		_, offered := fieldsOf(t, w.Body.String())
		got := slices.DeleteFunc(offered[field], func(value string) bool { return value == "" && id == "statuses" })
		slices.Sort(got)
		if diff := cmp.Diff(slices.Sorted(slices.Values(choices)), got); diff != "" {
			t.Errorf("%s: the values of the field (-want +got):\n%s", id, diff)
		}
		shown := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(questionsForm.FindString(w.Body.String()), " ")
		if found := regexp.MustCompile(`\w+_\w+`).FindString(shown); found != "" || !strings.Contains(shown, "?") {
			t.Errorf("%s: the form has %q, or no question: %s", id, found, shown)
		}
	}
}

// The page of an import says which step it is, and leads to its orders in the end.
func TestAnImportLeadsFromTheFileToItsOrders(t *testing.T) {
	t.Parallel()
	web, shop := new("web"), new("high-street")
	totals := []imports.Total{
		{Month: "2026-03", Channel: web, Orders: 2}, {Month: "2026-02", Channel: web, Orders: 1}, {Month: "2026-05"},
	}
	page := importPage{Input: imports.Input{Totals: totals}}
	if got, want := string(page.OrdersQuery()), "channel=web&from=2026-02-01&to=2026-03-31"; got != want {
		t.Errorf("the orders are those of %s, want %s", got, want)
	}
	page.Totals = append(page.Totals, imports.Total{Month: "2024-02", Channel: shop, Orders: 1})
	if got, want := string(page.OrdersQuery()), "from=2024-02-01&to=2026-03-31"; got != want {
		t.Errorf("the orders of two shops are those of %s, want %s", got, want)
	}
	page.Totals = totals[2:]
	if got := page.OrdersQuery(); got != "" {
		t.Errorf("an import of refunds leads to orders of %s", got)
	}
	p := &Handler{templates: parseTemplates()}
	u := user{Format: sampleFormat(), Session: people.Session{Role: people.Admin, Tenant: &sampleTenant}}
	for state, want := range map[changeplan.State]string{
		changeplan.Planning: "Questions", changeplan.NeedsMapping: "Questions", changeplan.Planned: "Check",
		changeplan.Applying: "Done", changeplan.Applied: "Done", changeplan.Undone: "", changeplan.Cancelled: "",
	} {
		page := importPage{planPage: planPage{Summary: changeplan.Summary{Plan: changeplan.Plan{State: state}}, Running: state.IsDue()}}
		page.Totals = totals
		w := httptest.NewRecorder()
		if err := p.show(w, http.StatusOK, "import", u, page); err != nil {
			t.Fatal(err)
		}
		body := w.Body.String()
		step := regexp.MustCompile(`<li aria-current="step">([^<]*)`).FindStringSubmatch(body)
		if want == "" && step != nil || want != "" && (step == nil || step[1] != want) {
			t.Errorf("the step of the state %s is %q, want %q", state, step, want)
		}
		hasOrders := strings.Contains(body, `/orders?channel=web&amp;from=2026-02-01&amp;to=2026-03-31">See these orders`)
		if hasOrders != (state == changeplan.Applied) {
			t.Errorf("an import in the state %s leads to its orders: %v", state, hasOrders)
		}
		if state == changeplan.Planned && strings.Index(body, "Orders by month") > strings.Index(body, `id="rows"`) && strings.Contains(body, `id="rows"`) {
			t.Error("the check does not begin with the months")
		}
	}
}
