package pages

import (
	"archive/zip"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/people"
)

// mustSecrets stores a product and orders whose costs and addresses can be found in any page.
func (s *site) mustSecrets(t *testing.T) (product int64) {
	t.Helper()
	product = s.mustLamp(t)
	s.alter(t, `update products set cost = 432107, upc = '4006381333931' where id = $1`, product)
	var sku string
	if err := s.super.QueryRow(t.Context(), `select sku from products where id = $1`, product).Scan(&sku); err != nil {
		t.Fatal(err)
	}
	var orders []sales.Order
	for i, buyer := range []sales.Customer{
		{ID: "C7", Name: new("Ada Byron"), Email: new("ada@leak.example")},
		{ID: "buyer@leak.example", Name: new("Eve Moor"), Email: new("eve@leak.example")},
		{ID: "C9", Name: new("name@leak.example")},
	} {
		order := sale(fmt.Sprint(string(rune('A'+i)), 1), "2026-03-02", 9_000_00, new(money.Cents(432107)))
		order.Items[0].SKU, order.Customer = sku, &buyer
		orders = append(orders, order)
	}
	s.mustSell(t, orders...)
	if _, err := sales.New(s.Database.DB).Refund(t.Context(), s.a.ID, []sales.RefundRow{{Refund: sales.Refund{
		OrderNumber: "A1", Amount: 40_00, RefundedAt: new(time.Date(2026, 3, 3, 9, 0, 0, 0, time.UTC)),
		Reference: new("paid back to ada@leak.example"),
	}}}); err != nil {
		t.Fatal(err)
	}
	return product
}

// text returns a response as it can be searched: a workbook is unpacked.
func (r reply) text(t *testing.T) string {
	t.Helper()
	if !strings.HasPrefix(r.body, "PK") {
		return r.body
	}
	book, err := zip.NewReader(strings.NewReader(r.body), int64(len(r.body)))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range book.File {
		part, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(&all, part); err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}

// The costs are those of one unit and of two, as pages, files and workbooks write them.
var (
	costs     = regexp.MustCompile(`4[.,]?321[.,]07|432107|8[.,]?642[.,]14|864214|(?i)unit_cost|cost_total|margin|profit`)
	addresses = regexp.MustCompile(`leak`)
)

func TestFilesWithoutNamesHaveNoAddresses(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	s.mustSecrets(t)
	viewer, admin := s.mustVisitor(t, "vera", people.Viewer), s.mustVisitor(t, "ann", people.Admin)
	for path, row := range map[string]string{
		"/orders.csv": "B1,", "/orders.xlsx": "B1", "/refunds.csv": "A1,", "/reports/customers.csv?from=2026-03-01&to=2026-03-31": "C7,",
	} {
		if file := s.get(t, viewer, s.path(path), http.StatusOK).text(t); addresses.MatchString(file) || !strings.Contains(file, row) {
			t.Errorf("the file %s of a viewer has an address, or no row %s: %s", path, row, file)
		}
		if !addresses.MatchString(s.get(t, admin, s.path(path), http.StatusOK).text(t)) {
			t.Errorf("the file %s of an admin has no address", path)
		}
	}
}

// mustUnknownRole creates a member of A with a role of a later release, and a session.
func (s *site) mustUnknownRole(t *testing.T) (cookie string) {
	t.Helper()
	s.alter(t, `alter table memberships drop constraint memberships_role_check`)
	return s.mustVisitor(t, "unknown", "auditor")
}

func TestAnUnknownRoleHasNoAccess(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	s.mustSecrets(t)
	cookie, before := s.mustUnknownRole(t), ""
	for _, r := range (&Handler{}).routes() {
		if r.need == public || r.need == signedIn {
			continue
		}
		c := call{method: r.method, path: s.fill(t, r.pattern, r.method+r.pattern), cookie: cookie}
		if r.method == "POST" {
			c.form = url.Values{"request": {rand.Text()}}
		}
		before = s.stored(t)
		got := s.try(t, c, http.StatusForbidden)
		if strings.Contains(got.body, s.path("/")) {
			t.Errorf("%s %s links to pages of the business", r.method, r.pattern)
		}
	}
	if sessions := regexp.MustCompile(`<seen_at>[^<]*`); sessions.ReplaceAllString(s.stored(t), "") !=
		sessions.ReplaceAllString(before, "") {
		t.Error("a refused request changed something")
	}
}

// A list is the same with each parameter that would select or sort by what the person must not see.
func TestNothingHiddenDecidesAboutAList(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	store, by := catalog.New(s.Database.DB), catalog.Actor{Tenant: s.a.ID}
	for i, cost := range []money.Cents{500, 100, 900, 300} {
		if _, err := store.Create(t.Context(), by, catalog.Changes{
			SKU: catalog.Value(fmt.Sprint("P", i)), Name: catalog.Value("Lamp"), Price: catalog.Value(money.Cents(1000)),
			Cost: catalog.Value(cost),
		}, nil); err != nil {
			t.Fatal(err)
		}
		s.mustSell(t, sale(fmt.Sprint("N", i), "2026-03-02", 1000, &cost))
	}
	clerk := s.mustVisitor(t, "clara", people.Clerk)
	rows := regexp.MustCompile(`<th scope="row">.*`)
	for _, list := range []string{"/products", "/orders", "/products.csv", "/orders.csv", "/order_items.csv"} {
		read := func(query string) string {
			body := s.get(t, clerk, s.path(list+query), http.StatusOK).body
			if strings.HasSuffix(list, ".csv") {
				return body
			}
			return strings.Join(rows.FindAllString(body, -1), "\n")
		}
		want := read("")
		for _, field := range []string{"cost", "unit_cost", "cost_total", "margin", "margin_percent", "profit", "gross_profit"} {
			for _, query := range []string{
				"?sort=" + field, "?sort=-" + field, "?sort=" + field + "&direction=desc", "?" + field + "=5.00", "?" + field + "_min=4",
				"?min_" + field + "=4", "?" + field + "_from=4", "?group_by=" + field, "?columns=" + field, "?metrics=" + field,
			} {
				if got := read(query); got != want {
					t.Errorf("%s%s has other rows:\n%s\nwant:\n%s", list, query, got, want)
				}
			}
		}
		if list == "/products" && len(rows.FindAllString(want, -1)) < 4 {
			t.Errorf("%s has the rows %s", list, want)
		}
	}
}

// secretPath returns a path with an order, a customer or a product of mustSecrets, or with an object that it creates.
func (s *site) secretPath(t *testing.T, pattern, number string, product int64) string {
	t.Helper()
	path := strings.Replace(pattern, "{number}", number, 1)
	switch {
	case strings.Contains(path, "/customers/{id}"):
		path = strings.Replace(path, "{id}", "C7", 1)
	case strings.Contains(path, "/products/{id}"):
		path = strings.Replace(path, "{id}", fmt.Sprint(product), 1)
	case strings.Contains(path, "{id}"):
		return s.fill(t, pattern, rand.Text())
	case strings.Contains(path, "/overview"), strings.Contains(path, "/reports/"):
		path += "?from=2026-03-01&to=2026-03-31"
	}
	return strings.Replace(path, "{slug}", s.a.Slug, 1)
}

// Every route answers every role only with what the role may see.
func TestNoRouteShowsWhatARoleMustNotSee(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	product := s.mustSecrets(t)
	for _, role := range people.Roles {
		cookie := s.mustVisitor(t, string(role), role)
		seen, files := "", []string{}
		for _, r := range (&Handler{}).routes() {
			if r.need == public || r.need == signedIn || r.method == "POST" && role.Allows(people.Manage) {
				continue
			}
			for _, number := range []string{"A1", "B1", "C1"} {
				c := call{method: r.method, path: s.secretPath(t, r.pattern, number, product), cookie: cookie}
				if r.method == "POST" { // the page of a form with errors
					c.form = url.Values{"type": {"add"}, "warehouse": {"1"}, "seen": {"0"}, "price": {"x"}, "request": {rand.Text()}}
				}
				got := s.do(t, c)
				if want := role.Allows(r.need); want == (got.StatusCode == http.StatusForbidden) ||
					want && r.method == "GET" && got.StatusCode >= 400 {
					t.Errorf("%s %s as %s = %d, want access: %v", r.method, c.path, role, got.StatusCode, want)
				}
				text := got.text(t)
				if name := got.Header.Get("Content-Disposition"); name != "" {
					files = append(files, name)
				}
				if found := costs.FindString(text); found != "" && !role.Allows(people.ReadCosts) {
					t.Errorf("%s %s shows %s %q", r.method, c.path, role, found)
				}
				if found := addresses.FindString(text); found != "" && !role.Allows(people.ReadEmails) {
					t.Errorf("%s %s shows %s an e-mail address", r.method, c.path, role)
				}
				seen += text
				if !strings.Contains(r.pattern, "{number}") {
					break
				}
			}
		}
		withCosts, withAddresses := costs.MatchString(seen), addresses.MatchString(seen)
		if role.Allows(people.ReadCosts) != withCosts || role.Allows(people.ReadEmails) != withAddresses ||
			!strings.Contains(seen, "Ada Byron") {
			t.Errorf("the pages for %s lack something: costs %v, addresses %v", role, withCosts, withAddresses)
		}
		if strings.Contains(seen, "<tfoot>") != role.Allows(people.ReadReports) { // with the sums of a period
			t.Errorf("the pages for %s add up orders, or do not", role)
		}
		want := map[people.Role]string{
			people.Clerk: "orders_without_costs_names_emails.csv", people.Accountant: "orders_without_emails.csv",
			people.Viewer: "orders_without_names_emails.csv", people.Admin: `"orders.csv`, people.Owner: `"orders.csv`,
		}[role]
		if !slices.ContainsFunc(files, func(name string) bool { return strings.Contains(name, want) }) {
			t.Errorf("the files for %s are %q, want one %s", role, files, want)
		}
		if role != people.Clerk && role != people.Accountant {
			continue
		}
		for _, query := range []string{"search=ada%40leak", "search=leak", "search=eve", "customer=buyer%40leak.example"} {
			page := s.do(t, call{path: s.path("/orders?" + query), cookie: cookie})
			if query == "search=eve" { // also a name
				s.get(t, cookie, s.path("/orders?"+query), http.StatusSeeOther, "/orders/B1")
			} else if page.StatusCode != http.StatusOK || !strings.Contains(page.body, "No orders match this filter") {
				t.Errorf("%s as %s = %d, want no orders", query, role, page.StatusCode)
			}
		}
	}
}

// stockOf returns the stock of a product.
func (s *site) stockOf(t *testing.T, product int64) (quantity int) {
	t.Helper()
	if err := s.super.QueryRow(t.Context(), `select quantity from products where id = $1`, product).Scan(&quantity); err != nil {
		t.Fatal(err)
	}
	return quantity
}

// fields returns the hidden fields of the form for a path, with others.
func fields(t *testing.T, body string, others ...string) url.Values {
	t.Helper()
	values := url.Values{}
	for _, field := range regexp.MustCompile(`<input type="hidden" name="(request|seen|version)" value="([^"]*)">`).
		FindAllStringSubmatch(body, -1) {
		values.Set(field[1], field[2])
	}
	if selected := regexp.MustCompile(`<option value="(\d+)" selected>`).FindStringSubmatch(body); selected != nil {
		values.Set("warehouse", selected[1])
	}
	for i := 0; i < len(others); i += 2 {
		values.Set(others[i], others[i+1])
	}
	return values
}

func TestAClerkChangesStock(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	clerk, product := s.mustVisitor(t, "clara", people.Clerk), s.mustLamp(t)
	page := s.path(fmt.Sprint("/products/", product))
	first := s.get(t, clerk, page, http.StatusOK).body
	add := fields(t, first, "type", "add", "quantity", "4", "notes", "Delivery")
	for range 2 { // a double click
		s.post(t, clerk, page+"/stock", add, http.StatusSeeOther, page)
	}
	if got := s.stockOf(t, product); got != 7 {
		t.Errorf("after the same form twice the stock is %d, want 7", got)
	}
	mustHave(t, plain(s.get(t, clerk, page, http.StatusOK).body), "Added Delivery clara", "+4 7")
	s.post(t, clerk, page+"/stock", fields(t, first, "type", "add", "quantity", "5"), http.StatusConflict, "This form was already sent")
	one, two := s.get(t, clerk, page, http.StatusOK).body, s.get(t, clerk, page, http.StatusOK).body
	for _, body := range []string{one, two} { // of two tabs, with the same change
		s.post(t, clerk, page+"/stock", fields(t, body, "type", "remove", "quantity", "1"), http.StatusSeeOther, page)
	}
	s.post(t, clerk, page+"/stock", fields(t, s.get(t, clerk, page, http.StatusOK).body, "type", "add", "quantity", "2"), http.StatusSeeOther)
	if got := s.stockOf(t, product); got != 7 {
		t.Errorf("after the forms of two tabs the stock is %d, want 7", got)
	}
	// A count is of the moment when it was typed.
	s.alter(t, `update inventory_adjustments set created_at = created_at - interval '1 hour'`)
	s.mustAdjust(t, product, "remove", 2)
	count := fields(t, two, "type", "set", "quantity", "6", "ago-quantity", "60", "request", rand.Text())
	s.post(t, clerk, page+"/stock", count, http.StatusSeeOther)
	count.Set("ago-quantity", "61") // a double click
	s.post(t, clerk, page+"/stock", count, http.StatusSeeOther)
	if got := s.stockOf(t, product); got != 4 {
		t.Errorf("after a count of 6 before 2 were sold the stock is %d, want 4", got)
	}
	ann := s.mustVisitor(t, "ann", people.Admin)
	log := plain(s.get(t, ann, s.path("/audit?act=stock."), http.StatusOK).body)
	mustHave(t, log, "Applied a stock count", "clara", "Warehouse: Main warehouse", "1 entry")
	count.Set("request", rand.Text())
	again := s.post(t, clerk, page+"/stock", count, http.StatusUnprocessableEntity, "The stock was set since you counted").body
	for _, ago := range []string{"50000", "-1", "x"} {
		count.Set("ago-quantity", ago)
		s.post(t, clerk, page+"/stock", count, http.StatusUnprocessableEntity, "more than 12 hours ago")
	}
	for _, quantity := range []string{"", "-1", "x", "1.5", "99999999999"} {
		s.post(t, clerk, page+"/stock", fields(t, again, "type", "set", "quantity", quantity), http.StatusUnprocessableEntity,
			"Enter a whole number from 0.")
	}
	s.post(t, clerk, page+"/stock", fields(t, again, "type", "set", "quantity", "5", "warehouse", "999"),
		http.StatusUnprocessableEntity, "Select one of the options.")
	s.post(t, clerk, page+"/stock", fields(t, again, "type", "remove", "quantity", "8"), http.StatusUnprocessableEntity,
		"There is not enough in this warehouse.")
	if got := s.stockOf(t, product); got != 4 {
		t.Errorf("after refused changes the stock is %d, want 4", got)
	}
	s.post(t, clerk, page+"/stock", fields(t, again, "type", "set", "quantity", "5"), http.StatusSeeOther)
	if got := s.stockOf(t, product); got != 5 {
		t.Errorf("after a count the stock is %d, want 5", got)
	}
	var member string
	err := s.super.QueryRow(t.Context(), `select member from inventory_adjustments order by id desc limit 1`).Scan(&member)
	if err != nil || member != s.email("clara") {
		t.Errorf("the ledger names %q, %v", member, err)
	}
}

// A double click sends a form twice at the same moment.
func TestFormsThatAreSentTogetherCountOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	admin, product := s.mustVisitor(t, "ann", people.Admin), s.mustLamp(t)
	page := s.path(fmt.Sprint("/products/", product))
	together := func(path string, forms ...url.Values) (statuses []int) {
		answers := make(chan int)
		for _, form := range forms {
			go func() {
				w := httptest.NewRecorder()
				s.ServeHTTP(w, s.request(t, call{path: path, cookie: admin, form: form}))
				answers <- w.Code
			}()
		}
		for range forms {
			statuses = append(statuses, <-answers)
		}
		slices.Sort(statuses)
		return statuses
	}
	add := fields(t, s.get(t, admin, page, http.StatusOK).body, "type", "add", "quantity", "4")
	if got := together(page+"/stock", add, add, add); got[0] != 303 || got[2] != 303 || s.stockOf(t, product) != 7 {
		t.Errorf("the same form three times = %v, and the stock is %d, want 7", got, s.stockOf(t, product))
	}
	edit := func(price string) url.Values {
		values := fields(t, s.get(t, admin, page+"/edit", http.StatusOK).body, "name", "Lamp", "price", price, "status", "active")
		return values
	}
	same := edit("10")
	if got := together(page+"/edit", same, same, same); got[0] != 303 || got[2] != 303 {
		t.Errorf("the same edit three times = %v, want 303", got)
	}
	if got := together(page+"/edit", edit("11"), edit("12"), edit("13")); !slices.Equal(got, []int{303, 422, 422}) {
		t.Errorf("three edits of the same product = %v, want one that succeeds", got)
	}
	var edits int
	err := s.super.QueryRow(t.Context(), `select count(*) from audit_log where action = 'product.change'`).Scan(&edits)
	if err != nil || edits != 2 {
		t.Errorf("the audit log has %d edits, %v, want 2", edits, err)
	}
}

func TestAnEditKeepsTheCostThatItCannotSee(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	product := s.mustSecrets(t)
	clerk, admin := s.mustVisitor(t, "clara", people.Clerk), s.mustVisitor(t, "ann", people.Admin)
	page := s.path(fmt.Sprint("/products/", product))
	stored := func() string {
		var row string
		err := s.super.QueryRow(t.Context(), `
			select concat_ws('|', name, price, cost, status, reorder_point, upc, bin_location, tags) from products where id = $1`,
			product).Scan(&row)
		if err != nil {
			t.Fatal(err)
		}
		return row
	}
	form := func(cookie string, others ...string) url.Values {
		body := s.get(t, cookie, page+"/edit", http.StatusOK).body
		values := url.Values{
			"name": {"<b>Lamp</b>"}, "price": {"12345.67"}, "status": {"active"}, "reorder_point": {"5"}, "upc": {"4006381333931"},
		}
		if strings.Contains(body, `name="cost"`) {
			values.Set("cost", "4321.07")
		}
		for name, value := range fields(t, body, others...) {
			values[name] = value
		}
		return values
	}
	before := form(admin, "cost", "5")
	s.post(t, clerk, page+"/edit", form(clerk, "price", "99,5", "tags", "red, blue", "bin_location", "R3", "cost", "1"),
		http.StatusSeeOther, page)
	if got, want := stored(), "<b>Lamp</b>|9950|432107|active|5|4006381333931|R3|{red,blue}"; got != want {
		t.Errorf("the product is %s, want %s", got, want)
	}
	log := s.get(t, admin, s.path("/audit?act=product."), http.StatusOK).body
	mustHave(t, plain(log), "clara", "Changed a product", "bin_location, price, tags")
	conflict := s.post(t, admin, page+"/edit", before, http.StatusUnprocessableEntity, "Someone has changed this product",
		"Stored now: 99.50", "Stored now: red, blue").body
	if got := stored(); !strings.Contains(got, "|432107|") {
		t.Errorf("a conflict changed the product to %s", got)
	}
	before.Set("version", fields(t, conflict).Get("version"))
	s.post(t, admin, page+"/edit", before, http.StatusSeeOther)
	s.post(t, admin, page+"/edit", before, http.StatusSeeOther) // a double click
	if got, want := stored(), "<b>Lamp</b>|1234567|500|active|5|4006381333931|{}"; got != want {
		t.Errorf("the product is %s, want %s", got, want)
	}
	s.post(t, clerk, page+"/edit", form(clerk, "price", "12345.67", "upc", "5012345678900"), http.StatusSeeOther)
	s.get(t, clerk, s.path("/products?search=5012345678900"), http.StatusSeeOther, page) // as a scanner types it
	for field, text := range map[string]string{"price": "1,234", "upc": "12", "name": "", "reorder_point": "-1", "status": "gone"} {
		values := form(admin, "price", "12345.67", "cost", "5", "upc", "4006381333931")
		values.Set(field, text)
		s.post(t, admin, page+"/edit", values, http.StatusUnprocessableEntity)
	}
}

// The page of a product leads to the products that have something in common with it.
func TestProductsAreFilteredByLinks(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	cookie, product := s.mustVisitor(t, "vera", people.Viewer), s.mustSecrets(t)
	store, by := catalog.New(s.Database.DB), catalog.Actor{Tenant: s.a.ID}
	seller, err := store.CreateReference(t.Context(), s.a.ID, catalog.Sellers, catalog.Value("Moor & Sons"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Patch(t.Context(), by, product, nil, catalog.Changes{
		SellerID: catalog.Value(seller.ID), Tags: catalog.Value([]string{"red & blue"}), Name: catalog.Value("Reading lamp"),
	}, nil); err != nil {
		t.Fatal(err)
	}
	other, err := store.Create(t.Context(), by, catalog.Changes{
		SKU: catalog.Value("OTHER"), Name: catalog.Value("Other thing"), Price: catalog.Value(money.Cents(100)),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	body := s.get(t, cookie, s.path(fmt.Sprint("/products/", product)), http.StatusOK).body
	for pattern, both := range map[string]bool{"Moor &amp; Sons": false, "red &amp; blue": false, "Lamps L-": false, "Main": true} {
		page := s.get(t, cookie, link(t, body, pattern), http.StatusOK, "Reading lamp").body
		if strings.Contains(page, "Other thing") != both {
			t.Errorf("the link %s leads to a list with the other product: %v", pattern, !both)
		}
	}
	low := s.get(t, cookie, s.path("/products?stock=low"), http.StatusOK, "Reading lamp").body
	file := s.get(t, cookie, s.path("/products.csv")+link(t, low, "CSV")[len(s.path("/products.csv")):], http.StatusOK).body
	if strings.Contains(low, "Other thing") || strings.Contains(file, "OTHER") || !strings.Contains(file, "Reading lamp") {
		t.Error("the list of low stock or its file has other products")
	}
	reorder := catalog.Changes{ReorderPoint: catalog.Value(int64(1))}
	if _, err := store.Patch(t.Context(), by, other.ID, nil, reorder, nil); err != nil {
		t.Fatal(err)
	}
	mustHave(t, plain(s.get(t, cookie, s.path("/products?stock=low"), http.StatusOK).body), "2 products.", "Other thing")
}

func TestAdminsInviteClerksAndAccountants(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	admin, owner := s.mustVisitor(t, "ann", people.Admin), s.mustVisitor(t, "olga", people.Owner)
	body := s.get(t, admin, s.path("/members"), http.StatusOK, `value="clerk"`, `value="accountant"`).body
	if strings.Contains(body, `value="admin"`) || strings.Contains(body, `value="viewer"`) {
		t.Error("an admin is offered roles that only owners give")
	}
	s.get(t, owner, s.path("/members"), http.StatusOK, `value="clerk"`, `value="owner"`)
	invite := func(email, role string) url.Values {
		return url.Values{"email": {s.email(email)}, "role": {role}, "request": {strings.Repeat("A", 24) + strings.ToUpper(email[:2])}}
	}
	for _, role := range []string{"viewer", "admin", "owner"} {
		s.post(t, admin, s.path("/members"), invite(role, role), http.StatusForbidden)
	}
	s.post(t, admin, s.path("/members"), invite("clerk", "clerk"), http.StatusOK, "/settings/link/")
	s.post(t, owner, s.path("/members"), invite("boss", "owner"), http.StatusOK, "/settings/link/")
	pending := s.get(t, admin, s.path("/members"), http.StatusOK).body
	if !strings.Contains(pending, s.email("clerk")) || strings.Contains(pending, s.email("boss")) {
		t.Error("an admin does not see only the invitations of clerks and accountants")
	}
	again := invite("boss", "clerk")
	again.Set("request", strings.Repeat("D", 26))
	s.post(t, admin, s.path("/members"), again, http.StatusUnprocessableEntity, "An owner has already invited this person.")
	s.get(t, owner, s.path("/members"), http.StatusOK, s.email("boss"), "Owner")
}
