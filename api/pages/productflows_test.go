package pages

import (
	"bytes"
	"fmt"
	"html"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/people"
)

// mustStore stores a product of A.
func (s *site) mustStore(t *testing.T, sku string, price money.Cents, change ...func(*catalog.Changes)) catalog.Product {
	t.Helper()
	c := catalog.Changes{
		SKU: catalog.Value(sku), Name: catalog.Value("The " + strings.ToLower(sku)), Price: catalog.Value(price),
	}
	for _, f := range change {
		f(&c)
	}
	p, err := catalog.New(s.Database.DB).Create(t.Context(), catalog.Actor{Tenant: s.a.ID}, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// product returns a product of A as it is stored.
func (s *site) product(t *testing.T, sku string) catalog.Product {
	t.Helper()
	p, err := catalog.New(s.Database.DB).ProductBySKU(t.Context(), s.a.ID, sku)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// hidden returns the hidden fields of the form that is sent to a path.
func hidden(t *testing.T, body, path string) url.Values {
	t.Helper()
	_, after, found := strings.Cut(body, `action="`+path+`"`)
	if !found {
		t.Fatalf("the page has no form for %s:\n%s", path, body)
	}
	of, _, _ := strings.Cut(after, "</form>")
	values := url.Values{}
	for _, field := range regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`).FindAllStringSubmatch(of, -1) {
		values.Add(field[1], html.UnescapeString(field[2]))
	}
	return values
}

// listed returns the SKUs of a page of the list in their order.
func listed(body string) (skus []string) {
	for _, found := range regexp.MustCompile(`<td class="meta"><code>([^<]*)</code>`).FindAllStringSubmatch(body, -1) {
		skus = append(skus, found[1])
	}
	return skus
}

func stock(quantity, reorder int64) func(*catalog.Changes) {
	return func(c *catalog.Changes) {
		c.Quantity = catalog.Value(quantity)
		if reorder >= 0 {
			c.ReorderPoint = catalog.Value(reorder)
		}
	}
}

func TestTheListOfProductsIsFilteredAndSorted(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "clara", people.Clerk)
	by := catalog.Actor{Tenant: s.a.ID}
	store := catalog.New(s.Database.DB)
	attic, err := store.CreateReference(t.Context(), s.a.ID, catalog.Warehouses, catalog.Value("Attic"), nil)
	if err != nil {
		t.Fatal(err)
	}
	draft := func(c *catalog.Changes) { c.Status = catalog.Value("draft") }
	s.mustStore(t, "CUP", 300, stock(9, 5))
	s.mustStore(t, "MUG", 200, stock(2, 5), func(c *catalog.Changes) { c.Tags = catalog.Value([]string{"red"}) })
	s.mustStore(t, "PAN", 100, stock(0, -1), draft)
	s.mustStore(t, "POT", 400, stock(5, 5), func(c *catalog.Changes) { c.WarehouseID = catalog.Value(attic.ID) })
	list := func(query string) string {
		t.Helper()
		return s.get(t, cookie, s.path("/products"+query), http.StatusOK).body
	}
	for query, want := range map[string]string{
		"":                                      "POT PAN MUG CUP",
		"?sort=sku":                             "CUP MUG PAN POT",
		"?sort=-sku":                            "POT PAN MUG CUP",
		"?sort=price":                           "PAN MUG CUP POT",
		"?sort=stock":                           "PAN MUG POT CUP",
		"?sort=-stock":                          "CUP POT MUG PAN",
		"?stock=low":                            "MUG POT",
		"?stock=low&sort=-price":                "POT MUG",
		"?stock=out":                            "PAN",
		"?status=draft":                         "PAN",
		"?tag=red":                              "MUG",
		fmt.Sprint("?warehouse=", attic.ID):     "POT",
		"?search=the&stock=low&sort=sku":        "MUG POT",
		"?search=the&stock=low&tag=red":         "MUG",
		"?search=the&sort=-stock":               "CUP POT MUG PAN",
		"?category=12345":                       "",
		"?stock=out&tag=red":                    "",
		fmt.Sprint("?stock=low&seller=", 12345): "",
	} {
		if got := strings.Join(listed(list(query)), " "); got != want {
			t.Errorf("%s lists %q, want %q", query, got, want)
		}
	}
	body := list("?search=the")
	if low := list(link(t, body, "Low stock<")); strings.Join(listed(low), " ") != "MUG POT" || strings.Contains(low, "PAN") {
		t.Errorf("the chip lists %v", listed(low))
	}
	if again := link(t, list("?stock=low&search=the"), "Low stock<"); again != "?search=the" {
		t.Errorf("the chip that is on leads to %s", again)
	}
	if got := listed(list(link(t, list("?stock=low"), "Attic<"))); len(got) != 1 || got[0] != "POT" {
		t.Errorf("the chip of a warehouse lists %v with low stock", got)
	}
	if sorted := link(t, list("?stock=out&sort=price"), "Price</a>"); sorted != "?sort=-price&stock=out" {
		t.Errorf("the head of the prices leads to %s", sorted)
	}
	file := s.get(t, cookie, s.path("/products.csv?stock=low&sort=stock"), http.StatusOK).body
	if mug, pot := strings.Index(file, "MUG"), strings.Index(file, "POT"); mug < 0 || pot < mug || strings.Contains(file, "CUP") {
		t.Errorf("the file is %s", file)
	}
	for i := range listPerPage {
		s.mustStore(t, fmt.Sprint("X", i), 100)
	}
	if _, err := store.Upsert(t.Context(), by, []catalog.Row{{Changes: catalog.Changes{
		SKU: catalog.Value("CUP"), ReorderPoint: catalog.Value[int64](50),
	}}}); err != nil {
		t.Fatal(err)
	}
	body = list("?sort=sku")
	mustHave(t, plain(body), "Page 1 of 2")
	if got := listed(list(link(t, body, `<span aria-hidden="true">»`))); len(got) != 4 {
		t.Errorf("the last page has %v", got)
	}
}

// A field for the name replaces the choice if there are too many categories.
func TestProductsOfOneOfManyCategories(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "vera", people.Viewer)
	s.alter(t, `insert into categories (tenant_id, name) select $1, 'Kind ' || n from generate_series(1, $2) n`, s.a.ID,
		maxChoices+1)
	var id int64
	if err := s.super.QueryRow(t.Context(), `select id from categories where tenant_id = $1 and name = 'Kind 99'`, s.a.ID).
		Scan(&id); err != nil {
		t.Fatal(err)
	}
	s.mustStore(t, "CUP", 300, func(c *catalog.Changes) { c.CategoryID = catalog.Value(id) })
	s.mustStore(t, "MUG", 300)
	for query, want := range map[string]string{
		"?category_name=Kind+99":     "CUP",
		"?category_name=kind+99":     "CUP",
		"?category_name=Nonsense":    "Nothing has this name.",
		"?category_name=Kind+9":      "No products match this filter",
		"?category_name=ind+9":       "Several have this text in their names. Choose one:",
		"?category_name=":            "MUG",
		fmt.Sprint("?category=", id): `value="Kind 99"`,
	} {
		body := s.get(t, cookie, s.path("/products"+query), http.StatusOK, want).body
		if hasMug := strings.Contains(body, "MUG"); hasMug != (query == "?category_name=") {
			t.Errorf("%s lists the other product: %t", query, hasMug)
		}
	}
}

func TestABarcodeOpensItsProduct(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "clara", people.Clerk)
	code := func(upc string) func(*catalog.Changes) {
		return func(c *catalog.Changes) { c.UPC = catalog.Value(upc) }
	}
	cup := s.mustStore(t, "CUP", 300, code("012345678905"))
	s.mustStore(t, "CUP-2", 300, code("55555555"))
	s.mustStore(t, "MUG", 300, code("55555555"))
	s.mustStore(t, "CUP-3", 300, code("99012345678905"))
	page := s.path(fmt.Sprint("/products/", cup.ID))
	for _, scanned := range []string{"CUP", "012345678905", "0012345678905", "12345678905"} {
		s.get(t, cookie, s.path("/products?search="+scanned), http.StatusSeeOther, page)
	}
	for search, want := range map[string]string{
		"cup-": "CUP-3 CUP-2", "55555555": "MUG CUP-2", "234567890": "CUP-3 CUP", "CUP&sort=sku": "CUP CUP-2 CUP-3",
	} {
		body := s.get(t, cookie, s.path("/products?search="+search), http.StatusOK).body
		if got := strings.Join(listed(body), " "); got != want {
			t.Errorf("%s lists %q, want %q", search, got, want)
		}
	}
}

func TestChosenProductsAreChangedTogether(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "ann", people.Admin)
	cup := s.mustStore(t, "CUP", 500, func(c *catalog.Changes) { c.Tags = catalog.Value([]string{"old", "red"}) })
	mug := s.mustStore(t, "MUG", 950)
	s.mustStore(t, "PAN", 1000)
	s.get(t, cookie, s.path("/products"), http.StatusOK, `formaction="`+s.path("/products/change"), "All 3 of this list")
	chosen := fmt.Sprintf("?id=%d&id=%d&id=%d", cup.ID, mug.ID, cup.ID)
	body := s.get(t, cookie, s.path("/products/change"+chosen), http.StatusOK).body
	mustHave(t, plain(body), "Change 2 products", "The cup, The mug")
	path := s.path("/products/change")
	form := hidden(t, body, path)
	s.post(t, cookie, path, form, http.StatusUnprocessableEntity, "Fill in what should change.")
	form.Set("price_how", "more_percent")
	form.Set("price", "ten")
	s.post(t, cookie, path, form, http.StatusUnprocessableEntity, "Enter a percentage such as 5 or 2.5")
	form.Set("price", "10")
	form.Set("rounding", ".99")
	form.Set("add_tags", "sale, new")
	form.Set("remove_tags", "old")
	form.Set("reorder_how", "set")
	form.Set("reorder_point", "7")
	form.Set("new_status", "draft")
	first := s.post(t, cookie, path, form, http.StatusSeeOther, s.path("/plans/"))
	plan := first.Header.Get("Location")
	if again := s.post(t, cookie, path, form, http.StatusSeeOther).Header.Get("Location"); again != plan {
		t.Errorf("the form that was sent twice led to %s, then to %s", plan, again)
	}
	page := plain(s.get(t, cookie, plan, http.StatusOK).body)
	mustHave(t, page, "Price +10.00 %; Prices end in .99; Status: Draft; Tags added: sale, new; Tags removed: old; "+
		"Reorder at 7 (2 products)", "Ready to review", "Nothing has been written yet", "The cup CUP Will change",
		"Price per unit 5.00 → 5.99", "9.50 → 9.99", "Status Active → Draft")
	if strings.Contains(page, "PAN") || strings.Contains(page, "CUP Changed") {
		t.Errorf("the plan says what has not happened, or changes another product: %s", page)
	}
	if p := s.product(t, "CUP"); p.Price != 500 {
		t.Errorf("the price is %s before the plan is applied", p.Price)
	}
	s.post(t, cookie, plan+"/apply", url.Values{}, http.StatusSeeOther, plan)
	page = plain(s.get(t, cookie, plan, http.StatusOK).body)
	mustHave(t, page, "You can undo it until", "The cup CUP Changed")
	p := s.product(t, "CUP")
	if p.Price != 599 || p.Status != "draft" || strings.Join(p.Tags, " ") != "red sale new" || *p.ReorderPoint != 7 {
		t.Errorf("the changed product is %+v", p)
	}
	s.post(t, cookie, plan+"/undo", url.Values{}, http.StatusSeeOther, plan)
	page = plain(s.get(t, cookie, plan, http.StatusOK).body)
	mustHave(t, page, "This price change was undone", "The cup CUP Put back")
	if p := s.product(t, "CUP"); p.Price != 500 || p.Status != "active" || p.ReorderPoint != nil {
		t.Errorf("the product after the undo is %+v", p)
	}
	mustHave(t, plain(s.get(t, cookie, s.path("/audit"), http.StatusOK).body), "Applied a price change", "Undid a price change")
}

func TestAllProductsOfAFilterAreChanged(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "olga", people.Owner)
	s.mustStore(t, "CUP", 500, stock(1, 5))
	s.mustStore(t, "MUG", 30, stock(2, 5))
	s.mustStore(t, "PAN", 1000, stock(9, 5))
	s.alter(t, `insert into categories (tenant_id, name) values ($1, 'Kitchen')`, s.a.ID)
	var category string
	if err := s.super.QueryRow(t.Context(), `select id from categories where tenant_id = $1`, s.a.ID).Scan(&category); err != nil {
		t.Fatal(err)
	}
	path := s.path("/products/change")
	for _, unclear := range []string{"status=low", "stock=lo", "category=x", "warehouse=0", "search=" + strings.Repeat("x", 2*maxFilterText)} {
		s.get(t, cookie, path+"?all=1&"+unclear, http.StatusBadRequest, "Invalid form")
	}
	body := s.get(t, cookie, path+"?all=1&stock=low&search=the&page=2", http.StatusOK, "Change 2 products").body
	form := hidden(t, body, path)
	for name, value := range map[string]string{
		"price_how": "less", "price": "1,00", "category_how": "set", "new_category": category,
	} {
		form.Set(name, value)
	}
	plan := s.post(t, cookie, path, form, http.StatusSeeOther).Header.Get("Location")
	page := plain(s.get(t, cookie, plan, http.StatusOK).body)
	mustHave(t, page, "Price −1.00; Category: Kitchen (2 products)", "The cup CUP Will change", "none → Kitchen",
		"The mug MUG Not possible", "1 product would change. 1 would be refused.")
	s.post(t, cookie, plan+"/apply", url.Values{}, http.StatusSeeOther)
	if cup, mug, pan := s.product(t, "CUP"), s.product(t, "MUG"), s.product(t, "PAN"); cup.Price != 400 ||
		*cup.CategoryName != "Kitchen" || mug.Price != 30 || pan.Price != 1000 || pan.CategoryID != nil {
		t.Errorf("the products are %+v, %+v and %+v", cup, mug, pan)
	}
	clerk := s.mustVisitor(t, "clara", people.Clerk)
	s.get(t, clerk, path+"?all=1", http.StatusForbidden)
	s.post(t, clerk, path, form, http.StatusForbidden)
	if body := s.get(t, clerk, s.path("/products"), http.StatusOK).body; strings.Contains(body, "products/change") {
		t.Error("a clerk gets a button for what a clerk must not do")
	}
	s.get(t, cookie, path, http.StatusOK, "No products are chosen.")
}

func TestAProductIsCreatedOnAPage(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	for role, withCost := range map[people.Role]bool{people.Clerk: false, people.Admin: true} {
		cookie, sku := s.mustVisitor(t, "new"+string(role), role), "N-"+string(role)
		path := s.path("/products/new")
		body := s.get(t, cookie, path, http.StatusOK, "New product").body
		if hasCost := strings.Contains(body, `name="cost"`); hasCost != withCost {
			t.Errorf("the form of a %s has a field for the cost: %t", role, hasCost)
		}
		form := hidden(t, body, path)
		for name, value := range map[string]string{"sku": sku, "name": "New lamp", "price": "1.500"} {
			form.Set(name, value)
		}
		s.post(t, cookie, path, form, http.StatusUnprocessableEntity, "Enter an amount such as")
		form = hidden(t, body, path)
		got := plain(s.post(t, cookie, path, form, http.StatusUnprocessableEntity).body)
		mustHave(t, got, "Enter an SKU of 1 to 100 characters", "Enter a name of 1 to 255 characters.", "Enter an amount such as")
		for name, value := range map[string]string{
			"sku": sku, "name": "New lamp", "price": "12,5", "cost": "3", "quantity": "4", "reorder_point": "2",
			"upc": "4006381333931", "tags": "red, blue", "status": "draft", "description": "Two\r\nlines",
		} {
			form.Set(name, value)
		}
		to := s.post(t, cookie, path, form, http.StatusSeeOther).Header.Get("Location")
		if again := s.post(t, cookie, path, form, http.StatusSeeOther).Header.Get("Location"); again != to {
			t.Errorf("the form that was sent twice led to %s, then to %s", to, again)
		}
		p := s.product(t, sku)
		if p.Price != 1250 || p.Quantity != 4 || *p.ReorderPoint != 2 || p.Status != "draft" || *p.UPC != "4006381333931" ||
			*p.Description != "Two\nlines" || len(p.Tags) != 2 || (p.Cost != nil) != withCost {
			t.Errorf("the product of a %s is %+v", role, p)
		}
		s.get(t, cookie, to, http.StatusOK, "New lamp")
		fresh := hidden(t, s.get(t, cookie, path, http.StatusOK).body, path)
		for name := range form {
			if name != "request" {
				fresh[name] = form[name]
			}
		}
		s.post(t, cookie, path, fresh, http.StatusUnprocessableEntity, "that no other product has")
		free := hidden(t, s.get(t, cookie, path, http.StatusOK).body, path)
		for name, value := range map[string]string{"sku": sku + "-FREE", "name": "Gift", "price": "0", "status": "active"} {
			free.Set(name, value)
		}
		s.post(t, cookie, path, free, http.StatusSeeOther)
		if p := s.product(t, sku+"-FREE"); p.Price != 0 || p.Name != "Gift" {
			t.Errorf("the product without a price is %+v", p)
		}
	}
	admin := s.mustVisitor(t, "ann", people.Admin)
	mustHave(t, plain(s.get(t, admin, s.path("/audit"), http.StatusOK).body), "Created a product")
	s.get(t, s.mustVisitor(t, "acc", people.Accountant), s.path("/products/new"), http.StatusForbidden)
}

func TestAPageChangesCategoryAndDescription(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "clara", people.Clerk)
	kitchen, err := catalog.New(s.Database.DB).CreateReference(t.Context(), s.a.ID, catalog.Categories, catalog.Value("Kitchen"), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := s.mustStore(t, "CUP", 500, func(c *catalog.Changes) {
		c.Description, c.Cost = catalog.Value("One\r\ntwo "), catalog.Value(money.Cents(100))
	})
	path := s.path(fmt.Sprintf("/products/%d/edit", p.ID))
	edit := func() url.Values {
		form := hidden(t, s.get(t, cookie, path, http.StatusOK).body, path)
		for name, value := range map[string]string{"name": p.Name, "price": "5.00", "status": "active"} {
			form.Set(name, value)
		}
		return form
	}
	form := edit()
	form.Set("description", "One\r\ntwo")
	form.Set("category", fmt.Sprint(kitchen.ID))
	s.post(t, cookie, path, form, http.StatusSeeOther)
	got := s.product(t, "CUP")
	if got.CategoryID == nil || *got.CategoryID != kitchen.ID || *got.Description != "One\r\ntwo " || *got.Cost != 100 {
		t.Errorf("the product is %+v, want another category only", got)
	}
	form = edit()
	form.Set("description", "Three")
	form.Set("category", "")
	s.post(t, cookie, path, form, http.StatusSeeOther)
	if got := s.product(t, "CUP"); got.CategoryID != nil || *got.Description != "Three" {
		t.Errorf("the product is %+v", got)
	}
	s.alter(t, `update products set description = repeat('x', $1) where sku = 'CUP'`, maxDescription+1)
	form = edit()
	form.Set("name", "Other")
	s.post(t, cookie, path, form, http.StatusSeeOther)
	if got := s.product(t, "CUP"); got.Name != "Other" || len(*got.Description) != maxDescription+1 {
		t.Errorf("the form that lacks a long description changed it: %d bytes of %s", len(*got.Description), got.Name)
	}
}

func TestATagWithACommaStaysOne(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "clara", people.Clerk)
	for sku, tags := range map[string][]string{"CUP": {"Size 38,5", "red, blue", "new"}, "MUG": {"a", "b", "a, b"}} {
		p := s.mustStore(t, sku, 500, func(c *catalog.Changes) { c.Tags = catalog.Value(tags) })
		path := s.path(fmt.Sprintf("/products/%d/edit", p.ID))
		form := hidden(t, s.get(t, cookie, path, http.StatusOK).body, path)
		for name, value := range map[string]string{"name": p.Name, "price": "5.00", "status": "active"} {
			form.Set(name, value)
		}
		status, want := http.StatusSeeOther, []string{"Size 38,5", "red, blue", "sale"}
		form.Set("tags", "Size 38,5, red, blue, sale")
		if sku == "MUG" { // the text means several lists of tags
			status, want = http.StatusUnprocessableEntity, tags
			form.Set("tags", "a, b")
		}
		s.post(t, cookie, path, form, status)
		if got := s.product(t, sku).Tags; !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
			t.Errorf("the tags of %s are %q, want %q", sku, got, want)
		}
	}
}

func TestPicturesOfAProduct(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "clara", people.Clerk)
	p := s.mustStore(t, "CUP", 500)
	edit := s.path(fmt.Sprintf("/products/%d/edit", p.ID))
	path := s.path(fmt.Sprintf("/products/%d/pictures", p.ID))
	send := func(content, request string, status int, parts ...string) {
		t.Helper()
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		file, err := form.CreateFormField("request")
		if err == nil {
			_, err = file.Write([]byte(request))
		}
		if err == nil {
			file, err = form.CreateFormFile("file", "cup.png")
		}
		if err == nil {
			_, err = file.Write([]byte(content))
		}
		if err == nil {
			err = form.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		header := http.Header{"Content-Type": {form.FormDataContentType()}, "Sec-Fetch-Site": {"same-origin"}}
		s.try(t, call{path: path, cookie: cookie, body: body.String(), header: header}, status, parts...)
	}
	request := hidden(t, s.get(t, cookie, edit, http.StatusOK, "No pictures yet.").body, path).Get("request")
	send("text", request, http.StatusUnprocessableEntity, "The picture was not added: it must be a JPEG")
	send("picture a1.jpg", "", http.StatusBadRequest)
	send("picture a1.jpg", request, http.StatusSeeOther, edit)
	send("picture a1.jpg", request, http.StatusSeeOther, edit)
	got := s.product(t, "CUP")
	if len(got.Images) != 1 || !strings.HasSuffix(got.Images[0].File, "a1.jpg") {
		t.Fatalf("the images are %+v, want one", got.Images)
	}
	send("picture a2.jpg", request, http.StatusConflict, "This form was already sent")
	s.get(t, cookie, s.path("/products"), http.StatusOK, `<img class="thumb" src="/media/`)
	remove := fmt.Sprintf("%s/%d/remove", path, got.Images[0].ID)
	s.get(t, cookie, edit, http.StatusOK, `action="`+remove+`"`)
	s.post(t, cookie, remove, url.Values{}, http.StatusSeeOther, edit)
	s.post(t, cookie, remove, url.Values{}, http.StatusSeeOther, edit)
	if got := s.product(t, "CUP"); len(got.Images) != 0 {
		t.Errorf("the images are %+v, want none", got.Images)
	}
}

func TestLabelsOfProducts(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "clara", people.Clerk)
	cup := s.mustStore(t, "CUP", 500, func(c *catalog.Changes) { c.UPC = catalog.Value("4006381333931") })
	s.mustStore(t, "TASSE-Ä", 900)
	labels := s.path("/products/labels")
	body := s.get(t, cookie, labels+fmt.Sprint("?copies=3&id=", cup.ID), http.StatusOK).body
	mustHave(t, plain(body), "Labels of 1 product.", "The cup 5.00 USD 4006381333931 CUP The cup")
	if n := strings.Count(body, `<svg class="bars"`); n != 3 {
		t.Errorf("%d barcodes, want 3", n)
	}
	body = s.get(t, cookie, labels+"?all=1&search=the", http.StatusOK).body
	mustHave(t, plain(body), "Labels of 2 products.", "No barcode: the SKU is too long for a label or has letters that barcodes lack.")
	for _, copies := range []string{"0", "-1", "101", "x", "4611686018427387904"} {
		s.get(t, cookie, labels+"?all=1&copies="+copies, http.StatusUnprocessableEntity, "Choose 1 to 100 copies.")
	}
	for i := range 19 {
		s.mustStore(t, fmt.Sprint("LAMP-", i), 100)
	}
	s.get(t, cookie, labels+"?all=1&copies=100", http.StatusUnprocessableEntity, "Choose at most 500 products and 2,000 labels")
	s.get(t, cookie, labels, http.StatusOK, "No products are chosen.")
}

func TestBarcodesOfLabels(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"4006381333931": "EAN 13", "012345678905": "EAN 13", "96385074": "EAN 8", // with the right check digits
		"4006381333930": "Code 128", "00012345678905": "Code 128", "1234567": "Code 128", "LMP-100": "Code 128", "Ä": "",
	} {
		code, err := encodeBarcode(text)
		switch {
		case want == "" && err == nil:
			t.Errorf("%s has a barcode", text)
		case want != "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case want != "" && code.Metadata().CodeKind != want:
			t.Errorf("%s is %s, want %s", text, code.Metadata().CodeKind, want)
		}
	}
	// The bars of 12345670 as the standard of EAN 8 has them.
	code, err := encodeBarcode("12345670")
	if err != nil {
		t.Fatal(err)
	}
	bits := ""
	for x := range code.Bounds().Dx() {
		bits += map[bool]string{true: "1", false: "0"}[isBlack(code.At(x, 0))]
	}
	if bits != "101"+"0011001"+"0010011"+"0111101"+"0100011"+"01010"+"1001110"+"1010000"+"1000100"+"1110010"+"101" {
		t.Errorf("the bars are %s", bits)
	}
	if svg := string(drawBars(code)); !strings.HasPrefix(svg, `<svg class="bars" viewBox="0 0 89 40"`) ||
		!strings.Contains(svg, `d="M11 0h1v40h-1zM13 0h1v40h-1zM16 0h2v40h-2z`) {
		t.Errorf("the picture is %s", svg)
	}
}

func TestTheLedgerSaysWhatIsLeftInEachWarehouse(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "clara", people.Clerk)
	store, by := catalog.New(s.Database.DB), catalog.Actor{Tenant: s.a.ID}
	attic, err := store.CreateReference(t.Context(), s.a.ID, catalog.Warehouses, catalog.Value("Attic"), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := s.mustStore(t, "CUP", 500, stock(10, -1))
	for i, change := range []struct {
		kind      string
		quantity  int64
		warehouse int64
	}{{"add", 4, attic.ID}, {"remove", 3, p.WarehouseID}, {"remove", 4, attic.ID}, {"add", 1, p.WarehouseID}} {
		_, _, err := store.Adjust(t.Context(), by, p.ID, catalog.AdjustRequest{
			Type: catalog.Value(change.kind), Quantity: catalog.Value(change.quantity),
			WarehouseID: catalog.Value(change.warehouse),
		}, nil)
		if err != nil {
			t.Fatalf("change %d: %v", i, err)
		}
	}
	body := s.get(t, cookie, s.path(fmt.Sprint("/products/", p.ID)), http.StatusOK).body
	rows := regexp.MustCompile(`(?s)<td class="meta">([^<]*)</td><td class="num end">([^<]*)</td><td class="num meta" data-label="Left there">(\d+)`).
		FindAllStringSubmatch(body, -1)
	var got []string
	for _, row := range rows {
		got = append(got, html.UnescapeString(strings.Join(row[1:], " ")))
	}
	want := []string{p.WarehouseName + " +1 8", "Attic −4 0", p.WarehouseName + " −3 7", "Attic +4 4", p.WarehouseName + " +10 10"}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("the ledger has %q, want %q", got, want)
	}
	s.alter(t, `
		insert into inventory_adjustments
		       (tenant_id, product_id, warehouse_id, type, quantity, quantity_before, quantity_after)
		select $1, $2, $3, 'add', 1, n, n + 1 from generate_series(8, 20007) n`, s.a.ID, p.ID, p.WarehouseID)
	last := s.path(fmt.Sprintf("/products/%d?page=%d", p.ID, (20_005+ledgerPerPage-1)/ledgerPerPage))
	mustHave(t, plain(s.get(t, cookie, last, http.StatusOK).body), "+10 –")
}
