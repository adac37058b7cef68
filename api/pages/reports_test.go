package pages

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/storeroom/storeroom/tenancy/people"
)

const marchAndApril = "from=2026-03-01&to=2026-04-30"

// From a report, an accountant reaches the orders behind each row, and the other reports of the same period.
func TestAReportLeadsToItsOrders(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "rita", people.Accountant)
	s.mustSellForFlows(t)
	s.get(t, cookie, s.path("/reports"), http.StatusSeeOther, s.path("/reports/sales"))
	for _, test := range []struct{ report, pattern, has, hasNot string }{
		{"sales?by=month&", "Mar 2026<", "A1 B1", "C1 D1"},
		{"sales?by=week&", "2 Mar – 8 Mar 2026<", "A1", "B1"},
		{"sales?by=day&channel=online&", "9 Mar 2026<", "B1", "A1"},
		{"products?", "&lt;b&gt;Lamp&lt;/b&gt;<", "A1", "B1"},
		{"shops?", "online<", "B1", "A1"},
		{"customers?", "Ada Byron<", "A1", "B1"},
		{"custom?metric=units_sold&by=month&", "Mar 2026<", "A1 B1", "C1"},
		{"custom?metric=refunds&by=channel&", "high-street<", "A1", "B1"},
	} {
		page := s.get(t, cookie, s.path("/reports/"+test.report+marchAndApril), http.StatusOK).body
		to := link(t, page, test.pattern)
		orders := plain(s.get(t, cookie, to, http.StatusOK).body)
		for _, number := range strings.Fields(test.has + " " + test.hasNot) {
			if has := strings.Contains(orders, " "+number+" "); has != strings.Contains(test.has, number) {
				t.Errorf("%s leads to %s, which has %s: %v", test.report, to, number, has)
			}
		}
		if other := link(t, page, "Shops</a>"); !strings.Contains(other, "reports/shops?from=2026-03-01&to=2026-04-30") {
			t.Errorf("%s leads to the other report %s", test.report, other)
		}
	}
	categories := s.get(t, cookie, s.path("/reports/categories?"+marchAndApril), http.StatusOK).body
	mustHave(t, plain(categories), "Without a category 1 2 1,000.00")
	products := s.get(t, cookie, link(t, categories, "Lamps "), http.StatusOK).body
	mustHave(t, plain(products), "Total 2 0 300.00 USD")
}

func TestAReportSaysWhatItComparesWith(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "rita", people.Accountant)
	s.mustSellForFlows(t)
	for report, wants := range map[string][]string{
		"sales?by=month&" + marchAndApril: {
			"Mar 2026 2 1,300.00 0.00 1,300.00 0.00 1,300.00 0.00 0.00 1,300.00 – –",
			"Apr 2026 0 0.00 0.00 0.00 40.00 −40.00 0.00 0.00 −40.00",
			"Total 2 1,300.00 USD 0.00 USD 1,300.00 USD 40.00 USD 1,260.00 USD", "Revenue by month",
			"No cost is known", "Net revenue 1,260.00 USD = 1,300.00 revenue − 40.00 refunds",
		},
		"sales?by=month&compare=previous_year&" + marchAndApril: {
			"Second number: A year earlier.", "The first sale was on 3 Mar 2025", "Mar 2026 2 1 1,300.00 400.00",
		},
		"sales?by=month&compare=previous_year&from=2026-03-03&to=2026-03-31": {
			"Mar 2026 1 1 0.00 % 1,000.00 400.00 +150.00 %",
		},
		"sales?by=week&compare=previous_year_weekday&from=2026-03-03&to=2026-03-31": {
			"3 Mar 2026 to 31 Mar 2026, compared with 4 Mar 2025 to 1 Apr 2025", "9 Mar – 15 Mar 2026 1 0 1,000.00 0.00",
		},
		"shops?compare=previous_year&from=2026-03-03&to=2026-03-31": {
			"online 1 1 0.00 % 1,000.00 400.00 +150.00 % 1,000.00 400.00 +150.00 % 100.00 %",
		},
		"categories?compare=previous_year&from=2026-03-03&to=2026-03-31": {"Without a category 1 1 0.00 % 2 2 0.00 % 1,000.00 400.00 +150.00 %"},
		"custom?metric=revenue&by=nothing&compare=previous_period&from=2026-04-01&to=2026-04-30": {
			"1 Apr 2026 to 30 Apr 2026 0.00 1,300.00 −100.00 %", "Total 0.00 USD 1,300.00 −100.00 %",
		},
		"customers?" + marchAndApril: {
			"Customers 1 New 1 Returning 0, 0.00 % Guest orders 1 Revenue per customer 300.00 USD", "Ada Byron C/7 1 300.00 300.00",
			"Guests 1 1,000.00 USD", "Total 2 1,300.00 USD",
		},
		"sales?from=2026-06-01&to=2026-06-30":                        {"No sales in this period", "The last sale was on 9 Mar 2026"},
		"sales?channel=high-street&from=2026-06-01&to=2026-06-30":    {"The last sale was on 2 Mar 2026"},
		"custom?metric=tax&by=channel&channel=gone&" + marchAndApril: {"No sales in this period", "gone"},
		"custom?by=channel": {"Select at least one figure."},
	} {
		mustHave(t, s.mustGet(t, cookie, "/reports/"+report, "en"), wants...)
	}
	notComparable := s.mustGet(t, cookie, "/reports/sales?by=month&compare=previous_year&"+marchAndApril, "en")
	_, table, _ := strings.Cut(notComparable, "Net revenue ")
	if table, _, _ = strings.Cut(table, "How these figures"); strings.Contains(table, "+") {
		t.Errorf("a change where nothing is comparable: %s", table)
	}
}

// A range that ends before it begins has a message, and neither figures nor a file.
func TestAReversedRangeHasNoFigures(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "rita", people.Accountant)
	s.mustSellForFlows(t)
	const reversed = "from=2026-04-30&to=2026-03-01"
	for _, name := range []string{"sales", "products", "categories", "sellers", "shops", "customers", "custom", "check"} {
		page := s.get(t, cookie, s.path("/reports/"+name+"?"+reversed), http.StatusOK).body
		mustHave(t, plain(page), "Enter a day that is not before the first one.")
		if strings.Contains(page, "<table") || !strings.Contains(page, `value="2026-04-30"`) {
			t.Errorf("%s has figures, or not what was entered:\n%s", name, page)
		}
		if name != "check" {
			s.get(t, cookie, s.path("/reports/"+name+".csv?"+reversed), http.StatusSeeOther, "/reports/"+name+"?"+reversed)
		}
	}
	s.get(t, cookie, s.path("/overview.xlsx?"+reversed), http.StatusSeeOther, "/overview?"+reversed)
}

// The files have the figures of the page: CSV under the names of the API, XLSX under those of the person's language.
func TestFilesOfReportsHaveTheFiguresOfThePage(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "rita", people.Accountant)
	s.mustSellForFlows(t)
	s.post(t, cookie, s.path("/language"), url.Values{"language": {"de"}}, http.StatusSeeOther)
	for report, sheet := range map[string]string{
		"sales?by=day": "Verkäufe", "sales?by=week": "Verkäufe", "sales?by=month&compare=previous_year": "Verkäufe",
		"products?": "Produkte", "categories?": "Kategorien", "sellers?compare=previous_year_weekday": "Verkäufer", "shops?": "Läden",
		"customers?": "Kunden", "custom?metric=revenue&metric=orders&by=category": "Eigener Bericht",
		"custom?metric=revenue&by=nothing": "Eigener Bericht",
	} {
		name, query, _ := strings.Cut(report, "?")
		query += "&" + marchAndApril
		page := plain(s.get(t, cookie, s.path("/reports/"+name+"?"+query), http.StatusOK).body)
		text := s.get(t, cookie, s.path("/reports/"+name+".csv?"+query), http.StatusOK).body
		rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		book, err := excelize.OpenReader(strings.NewReader(s.get(t, cookie, s.path("/reports/"+name+".xlsx?"+query), http.StatusOK).body))
		if err != nil {
			t.Fatal(err)
		}
		defer book.Close()
		cells, err := book.GetRows(sheet)
		if err != nil {
			t.Fatalf("%s has the sheets %v", report, book.GetSheetList())
		}
		inCSV, inXLSX := slices.Index(rows[0], "revenue"), slices.Index(cells[0], "Umsatz")
		if inCSV < 0 || inXLSX < 0 || len(rows) != len(cells) {
			t.Errorf("%s has the columns %q and %q, and %d and %d rows", report, rows[0], cells[0], len(rows), len(cells))
			continue
		}
		for i, row := range rows[1:] {
			shown := strings.NewReplacer(".", ",", ",", "").Replace(row[inCSV])
			if len(shown) > 6 {
				shown = shown[:len(shown)-6] + "." + shown[len(shown)-6:]
			}
			if cell := strings.ReplaceAll(cells[i+1][inXLSX], ",", ""); cell != row[inCSV] || !strings.Contains(page, " "+shown+" ") {
				t.Errorf("%s row %d: %s in CSV and %s in XLSX, and the page may lack it", report, i, row[inCSV], cell)
			}
		}
	}
}

func TestFilesNameWhatTheyLeaveOut(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	s.mustSecrets(t)
	for role, want := range map[people.Role]struct {
		name, text             string
		hasNames, hasAddresses bool
	}{
		people.Viewer:     {"_without_names_emails", "The files leave out names and e-mail addresses of customers.", false, true},
		people.Accountant: {"_without_emails", "The files leave out e-mail addresses of customers.", true, false},
		people.Owner:      {"", "Download all rows as:", true, true},
	} {
		cookie := s.mustVisitor(t, string(role), role)
		s.get(t, cookie, s.path("/reports/customers?"+marchAndApril), http.StatusOK, want.text, "Ada Byron")
		for _, format := range []string{"csv", "xlsx"} {
			file := s.get(t, cookie, s.path("/reports/customers."+format+"?"+marchAndApril), http.StatusOK)
			name := fmt.Sprintf("customers_2026-03-01_2026-04-30%s.%s", want.name, format)
			if got := file.Header.Get("Content-Disposition"); got != `attachment; filename="`+name+`"` {
				t.Errorf("%s gets the file %s, want %s", role, got, name)
			}
			text := file.text(t)
			if strings.Contains(text, "Ada Byron") != want.hasNames || strings.Contains(text, "leak") != want.hasAddresses {
				t.Errorf("%s gets the file %s", role, text)
			}
		}
	}
	var logged int
	err := s.super.QueryRow(t.Context(), `
		select count(*) from audit_log where tenant_id = $1 and target like 'report of customers%'`, s.a.ID).Scan(&logged)
	if err != nil || logged != 4 {
		t.Errorf("%d downloads of names are logged, want those of the accountant and the owner: %v", logged, err)
	}
}

func TestRowsOfReportsAreSorted(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "rita", people.Accountant)
	s.mustSellForFlows(t)
	first := regexp.MustCompile(`<tbody><tr><th scope="row">(?:<a [^>]*>)?([^<]*)`)
	for query, want := range map[string]string{
		"shops?": "online", "shops?sort=revenue&": "high-street", "shops?sort=name&": "high-street", "shops?sort=-name&": "online",
		"products?sort=revenue&": "&lt;b&gt;Lamp&lt;/b&gt;", "products?sort=-units_sold&": "S-B", "sales?by=month&": "Mar 2026",
		"sales?by=month&sort=revenue&": "Apr 2026", "sales?by=month&sort=-refunds&": "Apr 2026", "sales?by=month&sort=-name&": "Apr 2026",
		"sales?by=month&sort=unknown&": "Mar 2026", "customers?sort=last_order_at&": "Ada Byron",
	} {
		body := s.get(t, cookie, s.path("/reports/"+query+marchAndApril), http.StatusOK).body
		if got := first.FindStringSubmatch(body); got == nil || strings.TrimSpace(got[1]) != want {
			t.Errorf("the first row of %s is %q, want %s", query, got, want)
		}
	}
	sorted := s.get(t, cookie, s.path("/reports/shops?sort=revenue&"+marchAndApril), http.StatusOK, `aria-sort="ascending"`).body
	again := s.get(t, cookie, s.path("/reports/shops"+link(t, sorted, "Revenue<")), http.StatusOK, `aria-sort="descending"`).body
	mustHave(t, plain(again), "online 1 1,000.00 1,000.00 76.92 %")
	many := s.get(t, cookie, s.path("/reports/sales?by=day&"+marchAndApril), http.StatusOK, "Page 1 of 2").body
	next := s.get(t, cookie, s.path("/reports/sales"+link(t, many, "Next")), http.StatusOK, "Page 2 of 2").body
	mustHave(t, plain(next), "30 Apr 2026", "Total 2 1,300.00 USD")
	if strings.Contains(many, "30 Apr 2026</a>") {
		t.Error("the first page has the last day")
	}
}

// Wrong sums are found and said in words.
func TestFiguresAreCheckedInWords(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "rita", people.Accountant)
	s.mustSellForFlows(t)
	const path = "/reports/check?" + marchAndApril
	page := s.get(t, cookie, s.path(path), http.StatusOK).body
	mustHave(t, plain(page), "All 21 figures agree.", "Net revenue 1,260.00 USD the same", "Orders 2 the same",
		"1 cancelled order with a revenue of 140.00 USD.")
	to := link(t, page, "Net revenue<")
	address, fragment, _ := strings.Cut(to, "#")
	s.get(t, cookie, address, http.StatusOK, `id="`+fragment+`"`)
	s.alter(t, `update sales_rollups set revenue = revenue + 1 where tenant_id = $1 and kind = 1 and day = '2026-03-02'`, s.a.ID)
	mustHave(t, s.mustGet(t, cookie, path, "en"), "of 21 figures differ.",
		"Revenue 1,300.00 USD In total: 1,300.01 instead of 1,300.00. By shop: 1,300.01 instead of 1,300.00.", "Orders 2 the same")
	mustHave(t, s.mustGet(t, cookie, "/reports/check?from=2020-01-01&to=2020-01-31", "en"), "No sales in this period")
}

// A report and its files are small, however many rows and figures it has.
func TestReportsAreSmall(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "rita", people.Accountant)
	s.mustSellForFlows(t)
	// Each day has orders and refunds of millions.
	s.alter(t, `
		insert into sales_rollups (tenant_id, kind, day, channel, key, orders, items, units, units_without_cost, revenue, discounts,
		                           tax, cost, refund_count, refunds, shipping, revenue_without_cost)
		select $1, 1, day, 'pos', 0, 1234, 2345, 3456, 0, 123456789, 1234567, 12345678, 98765432, 12, 1234567, 123456, 0
		  from generate_series(date '2015-01-01', date '2026-12-31', interval '1 day') day`, s.a.ID)
	files := 0
	for _, name := range []string{"settings.css", "settings.js", "icon.svg"} {
		files += len(s.get(t, "", "/settings/static/"+name, http.StatusOK).body)
	}
	for _, query := range []string{
		"by=day&from=2016-01-01&to=2026-04-30", "by=day&from=2026-01-01&to=2026-04-30", "by=day&from=2026-03-01&to=2026-04-30",
		"by=month&from=2016-06-01&to=2026-04-30", "by=week&from=2025-01-01&to=2026-04-30",
	} {
		for _, compare := range []string{"", "&compare=previous_year"} {
			body := s.get(t, cookie, s.path("/reports/sales?"+query+compare), http.StatusOK, "Total").body
			if weight := len(body) + files; weight > 100<<10 {
				t.Errorf("%s and its files have %d bytes, want at most 100 KB", query+compare, weight)
			}
		}
	}
}
