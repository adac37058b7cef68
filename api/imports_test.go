package api

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/tenancy/changeplan"
)

// newImportAPI returns an API with a worker that carries out imports.
func newImportAPI(t testing.TB) *testAPI {
	t.Helper()
	a := newAPI(t)
	go a.plans.Worker().Run(t.Context(), slog.New(slog.DiscardHandler))
	return a
}

// form returns a body with files, alternately names and contents, and its content type.
func form(t testing.TB, boundary, settings string, files ...string) (body, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if err := w.SetBoundary(boundary); err != nil {
		t.Fatal(err)
	}
	if settings != "" {
		if err := w.WriteField("settings", settings); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; i < len(files); i += 2 {
		part, err := w.CreateFormFile("file", files[i])
		if err == nil {
			_, err = io.WriteString(part, files[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String(), w.FormDataContentType()
}

type importResponse struct{ Data imports.Import }

// mustImport creates an import and waits until its plan is computed.
func (a *testAPI) mustImport(t testing.TB, settings string, files ...string) imports.Import {
	t.Helper()
	body, contentType := form(t, "boundary", settings, files...)
	got := a.try(t, call{
		method: "POST", path: "/api/imports", body: body, header: http.Header{"Content-Type": {contentType}}, wantStatus: 202,
	})
	i := mustDecode[importResponse](t, got.body).Data
	if want := fmt.Sprint("/api/imports/", i.ID); got.Header.Get("Location") != want {
		t.Errorf("Location = %q, want %q", got.Header.Get("Location"), want)
	}
	return a.awaitImport(t, i.ID, changeplan.Planning)
}

// awaitImport returns an import when it has left a state.
func (a *testAPI) awaitImport(t testing.TB, id int64, state changeplan.State) imports.Import {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		got := a.try(t, call{method: "GET", path: fmt.Sprint("/api/imports/", id), wantStatus: 200})
		if i := mustDecode[importResponse](t, got.body).Data; i.State != state {
			return i
		}
		if time.Now().After(deadline) {
			t.Fatalf("import %d is still %s", id, state)
		}
	}
}

func (a *testAPI) mustPost(t testing.TB, id int64, action, body string) imports.Import {
	t.Helper()
	got := a.try(t, call{method: "POST", path: fmt.Sprintf("/api/imports/%d/%s", id, action), body: body, wantStatus: 202})
	return mustDecode[importResponse](t, got.body).Data
}

const (
	importProducts  = "sku,name,price,quantity\nA,Axe,7.00,3\nB,Bow,x,1\n"
	importCustomers = "id,name,email\n7,Ann,ann@example.com\n"
	importOrders    = "number,placed_at,channel,customer,tax_total\n1,2026-03-01T09:30:00Z,web,7,0.50\n"
	importItems     = "order_number,sku,quantity,unit_price\n1,A,2,5.00\n"
)

func TestAnImportIsPlannedAppliedAndUndone(t *testing.T) {
	t.Parallel()
	a := newImportAPI(t)
	a.mustProduct(t, `{"sku":"A","name":"Axe","price":5}`)
	i := a.mustImport(t, "", "products.csv", importProducts, "customers.csv", importCustomers,
		"orders.csv", importOrders, "order_items.csv", importItems)
	if i.State != changeplan.Planned {
		t.Fatalf("the import is %s, %v, want it planned", i.State, i.Failure)
	}
	created := changeplan.Counts{Created: 1}
	counts := map[imports.Kind]changeplan.Counts{
		imports.Product:  {Updated: 1, Refused: 1},
		imports.Customer: created, imports.Channel: created, imports.Order: created,
	}
	if diff := cmp.Diff(counts, i.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if len(i.Totals) != 1 || i.Totals[0].Revenue != 1000 || i.Totals[0].Total != 1050 {
		t.Errorf("totals = %+v, want an order of 10.00 and a tax of 0.50", i.Totals)
	}
	a.try(t, call{method: "GET", path: "/api/orders/1", wantStatus: 404, wantCode: NotFound})

	rows := a.try(t, call{method: "GET", path: fmt.Sprintf("/api/imports/%d/rows?kind=product&action=updated", i.ID), wantStatus: 200})
	type row struct {
		Key, Action string
		Old, New    map[string]any
	}
	got := mustDecode[struct{ Data []row }](t, rows.body).Data
	want := []row{{"A", "updated", map[string]any{"price": "5.00", "quantity": 0.0}, map[string]any{"price": "7.00", "quantity": 3.0}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}

	a.mustPost(t, i.ID, "apply", "")
	if i = a.awaitImport(t, i.ID, changeplan.Applying); i.State != changeplan.Applied {
		t.Fatalf("the import is %s, %v, want it applied", i.State, i.Failure)
	}
	a.try(t, call{method: "GET", path: "/api/orders/1", wantStatus: 200})
	a.mustPost(t, i.ID, "undo", "{}")
	if i = a.awaitImport(t, i.ID, changeplan.Undoing); i.State != changeplan.Undone {
		t.Fatalf("the import is %s, %v, want it undone", i.State, i.Failure)
	}
	a.try(t, call{method: "GET", path: "/api/orders/1", wantStatus: 404, wantCode: NotFound})
	product := a.try(t, call{method: "GET", path: "/api/products/sku/A", wantStatus: 200})
	if !strings.Contains(string(product.body), `"price":"5.00"`) {
		t.Errorf("the product after the undo is %s", product.body)
	}
	list := a.try(t, call{method: "GET", path: "/api/imports", wantStatus: 200})
	if all := mustDecode[struct{ Data []imports.Import }](t, list.body).Data; len(all) != 1 || all[0].ID != i.ID {
		t.Errorf("the list is %+v, want the import", all)
	}
	for _, action := range []string{"apply", "cancel", "undo"} {
		a.try(t, call{
			method: "POST", path: fmt.Sprintf("/api/imports/%d/%s", i.ID, action), wantStatus: 409, wantCode: InvalidState,
		})
	}
}

func TestRowsOfAnImportThatHaveChangedAreNamed(t *testing.T) {
	t.Parallel()
	a := newImportAPI(t)
	a.mustProduct(t, `{"sku":"A","name":"Axe","price":5}`)
	a.mustProduct(t, `{"sku":"B","name":"Bow","price":5}`)
	change := func(sku string, price int) {
		t.Helper()
		product := a.try(t, call{method: "GET", path: "/api/products/sku/" + sku, wantStatus: 200})
		id := mustDecode[struct{ Data struct{ ID int64 } }](t, product.body).Data.ID
		a.try(t, call{
			method: "PATCH", path: fmt.Sprint("/api/products/", id), body: fmt.Sprintf(`{"price":%d}`, price), wantStatus: 200,
		})
	}
	i := a.mustImport(t, "", "products.csv", "sku,name,price\nA,Axe,7.00\nB,Bow,7.00\nC,Cap,7.00\n")
	check := func(want ...string) {
		t.Helper()
		rows := a.try(t, call{method: "GET", path: fmt.Sprintf("/api/imports/%d/rows?action=changed", i.ID), wantStatus: 200})
		var got []string
		for _, row := range mustDecode[struct {
			Data []struct {
				Key     string
				Changed struct{ Reason string }
			}
		}](t, rows.body).Data {
			got = append(got, row.Key+" "+row.Changed.Reason)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("changed rows of the %s import (-want +got):\n%s", i.State, diff)
		}
	}
	check()
	change("A", 6)
	a.mustPost(t, i.ID, "apply", "")
	if i = a.awaitImport(t, i.ID, changeplan.Applying); i.State != changeplan.Planned || i.Failure == nil {
		t.Fatalf("the import is %s, %v, want it planned with a failure", i.State, i.Failure)
	}
	check("A has changed since the plan")
	a.mustPost(t, i.ID, "apply", `{"skip_changed":true}`)
	if i = a.awaitImport(t, i.ID, changeplan.Applying); i.State != changeplan.Applied {
		t.Fatalf("the import is %s, %v, want it applied", i.State, i.Failure)
	}
	check("A has changed since the plan")
	change("C", 8)
	a.mustPost(t, i.ID, "undo", "")
	if i = a.awaitImport(t, i.ID, changeplan.Undoing); i.State != changeplan.Undone {
		t.Fatalf("the import is %s, %v, want it undone", i.State, i.Failure)
	}
	check("C has changed since")
}

func TestQuestionsOfAnImportAreAnswered(t *testing.T) {
	t.Parallel()
	a := newImportAPI(t)
	i := a.mustImport(t, "", "sales.csv", "Order number,Date,SKU,Quantity,Price\n1,01/02/2026,A,1,5\n")
	if i.State != changeplan.NeedsMapping || len(i.Questions) != 1 || i.Questions[0].ID != "date_order" {
		t.Fatalf("the import is %s with %+v, want the question date_order", i.State, i.Questions)
	}
	path := fmt.Sprint("/api/imports/", i.ID)
	a.try(t, call{method: "POST", path: path + "/apply", wantStatus: 409, wantCode: InvalidState})
	for body, wantCode := range map[string]Code{
		`{"date_order":"ymd"}`: ValidationError, `{"colour":"red"}`: ValidationError, `{"mapping":[]}`: ValidationError,
		`{`: InvalidJSON,
	} {
		status := map[Code]int{ValidationError: 422, InvalidJSON: 400}[wantCode]
		a.try(t, call{method: "PATCH", path: path, body: body, wantStatus: status, wantCode: wantCode})
	}
	a.try(t, call{method: "PATCH", path: path, body: `{"date_order":"dmy","decimal":null}`, wantStatus: 202})
	if i = a.awaitImport(t, i.ID, changeplan.Planning); i.State != changeplan.Planned || i.Totals[0].Month != "2026-02" {
		t.Errorf("the import is %s with %+v, want an order in February", i.State, i.Totals)
	}
	a.mustPost(t, i.ID, "cancel", "")
	a.try(t, call{method: "PATCH", path: path, body: `{"date_order":"mdy"}`, wantStatus: 409, wantCode: InvalidState})
}

func TestRefusedRowsAreAFileThatCanBeImported(t *testing.T) {
	t.Parallel()
	a := newImportAPI(t)
	i := a.mustImport(t, "", "products.csv", importProducts)
	path := fmt.Sprintf("/api/imports/%d/refused.csv", i.ID)
	got := a.try(t, call{method: "GET", path: path, wantStatus: 200})
	const want = "sku,name,price,quantity,reason\nB,Bow,x,1,price must be a decimal number\n"
	if string(got.body) != want {
		t.Errorf("refused rows:\n%s\nwant\n%s", got.body, want)
	}
	a.try(t, call{method: "HEAD", path: path, wantStatus: 200})
	again := a.mustImport(t, "", "products.csv", strings.Replace(want, ",x,", ",4,", 1))
	if again.Failure != nil || again.State != changeplan.Planned {
		t.Errorf("the corrected file is %s, %v, with %+v", again.State, again.Failure, again.Files)
	}
	if diff := cmp.Diff(changeplan.Counts{Created: 1}, again.Sum()); diff != "" {
		t.Errorf("counts of the corrected file (-want +got):\n%s", diff)
	}
}

const (
	// guesses is a file of a key that may only write imports. It has the stored cost of one product, but not of another.
	guesses         = "sku,name,price,cost,quantity\nG1,Gin,9.00,4.00,1\nG2,Gum,9.00,5.00,1\nG3,Gear,x,1.00,1\n"
	guessedCustomer = "id,name,email\nc1,Ann Lee,ann@example.com\nc2,Bob Ray,wrong@example.com\n"
)

// A plan compares a file with what is stored. A key that may not read that must not see it in the plan, nor learn whether
// the file guesses it.
func TestAPlanShowsAKeyOnlyWhatItMayRead(t *testing.T) {
	t.Parallel()
	a := newImportAPI(t)
	for _, p := range []string{`"sku":"G1","name":"Gin"`, `"sku":"G2","name":"Gum"`} {
		a.mustProduct(t, `{`+p+`,"price":"9.00","cost":"4.00","quantity":1}`)
	}
	a.mustSend(t, 201, "POST", "/api/orders", `{"number":"A1","placed_at":"2026-03-01T10:00:00Z","channel":"web",
		"customer":{"id":"c1","name":"Ann Lee","email":"ann@example.com"},"items":[{"sku":"G1","quantity":1,"unit_price":"8.00"}]}`)
	a.mustSend(t, 201, "POST", "/api/orders", `{"number":"A2","placed_at":"2026-03-01T10:00:00Z","channel":"web",
		"customer":{"id":"c2","name":"Bob Ray","email":"bob@example.com"},"items":[{"sku":"G1","quantity":1,"unit_price":"8.00"}]}`)
	right, wrong := a.mustImport(t, "", "products.csv", guesses), a.mustImport(t, "", "customers.csv", guessedCustomer)
	pages := func(id int64) (paths []string) {
		path := fmt.Sprint("/api/imports/", id)
		for _, query := range []string{"", "/rows", "/rows?action=updated", "/rows?action=unchanged", "/rows?action=changed"} {
			paths = append(paths, path+query)
		}
		return paths
	}
	without := func(permission string) string {
		all := []string{"products:read", "orders:read", "customers:read", "imports:write"}
		return strings.Join(slices.DeleteFunc(all, func(p string) bool { return p == permission }), ",")
	}
	for _, permissions := range []string{"imports:write", without("products:read")} {
		key := a.mustKey(t, a.tenant, permissions)
		for _, path := range pages(right.ID) {
			got := string(a.try(t, call{path: path, key: key, wantStatus: 200}).body)
			for _, secret := range []string{"4.00", "5.00", "G1", "G2", `"updated"`, `"unchanged"`, `"created"`, "decimal"} {
				if strings.Contains(got, secret) {
					t.Errorf("GET %s with %s shows %s: %s", path, permissions, secret, got)
				}
			}
		}
		a.try(t, call{path: pages(right.ID)[1], key: key, wantStatus: 200, want: []string{
			`"action":"refused"`, `"line":4`, `"price":["is not valid; products:read shows why"]`, `"total":1`,
		}})
	}
	for _, permissions := range []string{"imports:write", without("customers:read")} {
		key := a.mustKey(t, a.tenant, permissions)
		for _, path := range pages(wrong.ID) {
			got := string(a.try(t, call{path: path, key: key, wantStatus: 200}).body)
			for _, secret := range []string{"example.com", "Ann", "Bob", "c1", `"customer"`, `"updated"`, `"unchanged"`} {
				if strings.Contains(got, secret) {
					t.Errorf("GET %s with %s shows %s: %s", path, permissions, secret, got)
				}
			}
		}
	}
	full := call{wantStatus: 200, want: []string{"4.00", "5.00", "G2", `"updated"`}}
	full.path = pages(right.ID)[1]
	a.try(t, full)
	for permissions, status := range map[string]int{
		"full": 200, "imports:write": 403, without("customers:read"): 403, without("products:read"): 403, without("orders:read"): 200,
	} {
		a.try(t, call{
			path: fmt.Sprintf("/api/imports/%d/refused.csv", right.ID), key: a.mustKey(t, a.tenant, permissions), wantStatus: status,
		})
	}
	readOnly := a.mustKey(t, a.tenant, "imports:read")
	a.try(t, call{
		method: "POST", path: pages(right.ID)[0] + "/apply", key: readOnly, wantStatus: 403, wantCode: InsufficientPermissions,
	})
}

// A key that may only write imports sees the same of a plan, whether the file names what is stored or something else.
// Each file also has a row that is not valid, whatever is stored.
func TestAPlanConfirmsNoGuess(t *testing.T) {
	t.Parallel()
	a := newImportAPI(t)
	a.mustProduct(t, `{"sku":"G1","name":"Gin","price":"9.00","quantity":1}`)
	a.mustSend(t, 201, "POST", "/api/orders", `{"number":"A1","placed_at":"2026-03-01T10:00:00Z","channel":"web",
		"customer":{"id":"c1","name":"Ann Lee","email":"ann@example.com"},"items":[{"sku":"G1","quantity":1,"unit_price":"8.00"}]}`)
	key, withCustomers := a.mustKey(t, a.tenant, "imports:write"), a.mustKey(t, a.tenant, "imports:write,customers:read")
	const mapping = `{"mapping":{"o.csv":{"no":"number","day":"placed_at","who":"customer.id","mail":"customer.email",` +
		`"sku":"sku","n":"quantity","price":"price"}},"channel":"web","tax_included":"no","refunds":"leave_out"}`
	const sheet = "no,day,who,mail,sku,n,price\nB0,2026-03-02,c0,x@example.com,G1,none,8.00\n"
	for _, guess := range []struct {
		name, settings, file, text, right, wrong string
		unread                                   int
	}{
		{"a mail", mapping, "o.csv", sheet + "B1,2026-03-02,c1,%s,G1,1,8.00\n", "ann@example.com", "wrong@example.com", 1},
		{"a customer", mapping, "o.csv", sheet + "B1,2026-03-02,%s,ann@example.com,G1,1,8.00\n", "c1", "c2", 1},
		{"an order of a sheet", mapping, "o.csv", sheet + "%s,2026-03-02,,,G1,1,8.00\n", "A1", "A2", 1},
		{"a return of a sheet", mapping, "o.csv", sheet + "%s,2026-03-02,,,G1,-1,8.00\n", "A1", "A2", 2},
		{"a return to attach", strings.Replace(mapping, "leave_out", "attach", 1), "o.csv",
			sheet + "%s,2026-03-02,c1,ann@example.com,G1,-1,8.00\n", "A1", "A2", 1},
		{"a SKU with stock", "", "stock.csv", "sku,warehouse_name,quantity\nG0,Main,none\n%s,Main,7\n", "G1", "G2", 1},
		{"a price", "", "products.csv", "sku,price\nG0,none\n%s,9.00\n", "G1", "G2", 1},
		{"a SKU with an error", "", "products.csv", "sku,price\n%s,none\n", "G1", "G2", 1},
		{"an order", "", "orders.csv", "number,placed_at,channel\nA0,none,web\n%s,2026-03-01T10:00:00Z,web\n", "A1", "A2", 1},
		{"a refund", "", "refunds.csv", "order_number,refunded_at,amount\nA0,2026-03-02T10:00:00Z,none\n" +
			"%s,2026-03-02T10:00:00Z,1.00\n", "A1", "A2", 1},
		{"a cancellation", "", "orders.csv", "number,placed_at,channel,cancelled_at\nA0,none,web,\n" +
			"%s,2026-03-01T10:00:00Z,web,2026-03-02T10:00:00Z\n", "A1", "A2", 1},
		{"a channel", "", "channels.csv", "identifier,label\nA 0,x\n%s,web\n", "web", "wob", 0},
		{"a name", "", "customers.csv", "id,name,email\n,x,\nc1,%s,ann@example.com\n", "Ann Lee", "Ann Leo", 1},
	} {
		var shown []string
		for _, of := range []string{guess.right, guess.wrong} {
			files := []string{guess.file, fmt.Sprintf(guess.text, of)}
			if guess.file == "orders.csv" {
				files = append(files, "order_items.csv", "order_number,sku,quantity,unit_price\nA0,G1,1,1\n"+of+",G1,1,1\n")
			}
			plan := a.mustImport(t, guess.settings, files...)
			path, text := fmt.Sprint("/api/imports/", plan.ID), ""
			for _, query := range []string{"", "/rows", "/rows?action=refused", "/rows?action=ignored", "/rows?per_page=1&page=2"} {
				text += string(a.try(t, call{path: path + query, key: key, wantStatus: 200}).body) + "\n"
			}
			refused := a.send(t, call{path: path + "/refused.csv", key: withCustomers})
			a.try(t, call{path: path + "/rows", key: key, wantStatus: 200, want: []string{fmt.Sprintf(`"total":%d`, guess.unread)}})
			shown = append(shown, variable.ReplaceAllString(text, "")+fmt.Sprint(refused.StatusCode))
			a.mustPost(t, plan.ID, "cancel", "")
		}
		if shown[0] != shown[1] {
			t.Errorf("%s: a right guess differs from a wrong one:\n%s\n%s", guess.name, shown[0], shown[1])
		}
	}
}

// variable are the parts of a response that differ between two imports of the same file.
var variable = regexp.MustCompile(`"(id|size)":[0-9]+|"[a-z]+_at":"[^"]*"`)

func TestUploadsThatAreNoForms(t *testing.T) {
	t.Parallel()
	a := newImportAPI(t)
	file, contentType := form(t, "boundary", "", "products.csv", importProducts)
	badSettings, _ := form(t, "boundary", `{"decimal":"x"}`, "products.csv", importProducts)
	twice, _ := form(t, "boundary", "", "products.csv", importProducts, "products.csv", importProducts)
	none, _ := form(t, "boundary", "")
	for _, test := range []struct {
		name, body, contentType string
		wantStatus              int
		wantCode                Code
	}{
		{"JSON", `{}`, "application/json", 415, UnsupportedMediaType},
		{"no boundary", file, "multipart/form-data", 415, UnsupportedMediaType},
		{"an incomplete form", file[:len(file)/2], contentType, 422, ValidationError},
		{"an empty body", "", contentType, 422, ValidationError},
		{"no file", none, contentType, 422, ValidationError},
		{"settings", badSettings, contentType, 422, ValidationError},
		{"a large header", strings.Replace(file, "\r\n\r\n", ";a="+strings.Repeat("a", 100_000)+"\r\n\r\n", 1), contentType,
			422, ValidationError},
		{"a file twice", twice, contentType, 422, ValidationError},
	} {
		a.try(t, call{
			name: test.name, method: "POST", path: "/api/imports", body: test.body,
			header: http.Header{"Content-Type": {test.contentType}}, wantStatus: test.wantStatus, wantCode: test.wantCode,
		})
	}
	for range 3 {
		a.mustImport(t, "", "products.csv", importProducts)
	}
	a.try(t, call{
		method: "POST", path: "/api/imports", body: file, header: http.Header{"Content-Type": {contentType}}, wantStatus: 409,
		wantCode: InvalidState,
	})
}

// A client chooses the boundary at random for each attempt.
func TestAnUploadIsStoredOncePerIdempotencyKey(t *testing.T) {
	t.Parallel()
	a := newImportAPI(t)
	send := func(boundary, content string, status int, code Code) string {
		body, contentType := form(t, boundary, "", "products.csv", content)
		header := keyed("upload-1")
		header.Set("Content-Type", contentType)
		got := a.try(t, call{
			method: "POST", path: "/api/imports", body: body, header: header, wantStatus: status, wantCode: code,
		})
		return got.Header.Get("Location")
	}
	first := send("one", importProducts, 202, "")
	if again := send("two", importProducts, 202, ""); again != first {
		t.Errorf("the second attempt creates %s, the first %s", again, first)
	}
	send("three", importProducts+"C,Cup,1,1\n", 422, IdempotencyKeyReused)
}

// The response to a key with customers:read has examples of cells, which may be names.
func TestAReplayOfAnImportHidesNamesFromOtherKeys(t *testing.T) {
	t.Parallel()
	a := newImportAPI(t)
	i := a.mustImport(t, "", "sales.csv", "Receipt,Buyer,Thing,Paid\n1,Ann Lee,Axe,5.00\n")
	c := call{
		method: "POST", path: fmt.Sprintf("/api/imports/%d/cancel", i.ID), header: keyed("cancel"), wantStatus: 202,
		want: []string{"Ann Lee"},
	}
	first := a.try(t, c)
	a.mustReplay(t, c, first)
	c.key, c.wantStatus, c.wantCode, c.want = a.mustKey(t, a.tenant, "imports:write"), 422, IdempotencyKeyReused, nil
	a.try(t, c)
}
