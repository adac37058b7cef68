package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/tenancy/changeplan"
)

// planResponse is a plan in a response.
type planResponse struct {
	Data struct {
		ID      int64
		State   changeplan.State
		Failure *string
		Counts  planCounts
		Rows    []rowOfPlan
	}
	Meta struct {
		PlanID     int64 `json:"plan_id"`
		Total      int64
		NextCursor *string `json:"next_cursor"`
	}
}

type rowOfPlan struct {
	Index    *int
	SKU      *string
	ID       *int64
	Action   string
	Old, New map[string]any
	Errors   map[string][]string
	Changed  *struct {
		SKU    string
		ID     *int64
		Fields []string
		Reason string
	}
}

// mustPlan creates a plan, which is computed in the request.
func (a *testAPI) mustPlan(t testing.TB, path, body string) planResponse {
	t.Helper()
	got := a.try(t, call{method: "POST", path: path, body: body, wantStatus: 201})
	plan := mustDecode[planResponse](t, got.body)
	if want := fmt.Sprint("/api/plans/", plan.Meta.PlanID); got.Header.Get("Location") != want || plan.Data.ID != plan.Meta.PlanID {
		t.Errorf("Location = %q of plan %d, want %q", got.Header.Get("Location"), plan.Data.ID, want)
	}
	return plan
}

// planAction applies or undoes a plan.
func (a *testAPI) planAction(t testing.TB, id int64, action, body string) planResponse {
	t.Helper()
	got := a.try(t, call{method: "POST", path: fmt.Sprintf("/api/plans/%d/%s", id, action), body: body, wantStatus: 200})
	return mustDecode[planResponse](t, got.body)
}

// mustHave fails unless the JSON of a product has a text.
func (a *testAPI) mustHave(t testing.TB, sku, want string) {
	t.Helper()
	got := a.try(t, call{method: "GET", path: "/api/products/sku/" + sku, wantStatus: 200})
	if !strings.Contains(string(got.body), want) {
		t.Errorf("product %s is %s, want %s", sku, got.body, want)
	}
}

func TestABulkRequestIsPlannedAppliedAndUndone(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustProduct(t, `{"sku":"A","name":"Axe","price":5,"quantity":3}`)
	a.mustProduct(t, `{"sku":"B","name":"Bow","price":7}`)
	plan := a.mustPlan(t, "/api/products/bulk?plan=true",
		`{"items":[{"sku":"A","price":6,"quantity":4},{"sku":"B","name":"Bow"},{"sku":"C","name":"Cup","price":1},{"sku":"D"},7]}`)
	if want := (planCounts{Created: 1, Updated: 1, Unchanged: 1, Refused: 2}); plan.Data.Counts != want || plan.Data.State != "planned" {
		t.Fatalf("the plan is %s with %+v, want %+v", plan.Data.State, plan.Data.Counts, want)
	}
	row := plan.Data.Rows[0]
	if diff := cmp.Diff([]any{0, "A", map[string]any{"price": "5.00", "quantity": 3.0}, map[string]any{"price": "6.00", "quantity": 4.0}},
		[]any{*row.Index, *row.SKU, row.Old, row.New}); diff != "" {
		t.Errorf("the first row (-want +got):\n%s", diff)
	}
	for i, field := range map[int]string{3: "name", 4: ""} {
		if len(plan.Data.Rows[i].Errors[field]) == 0 {
			t.Errorf("row %d has the errors %v, want one of %q", i, plan.Data.Rows[i].Errors, field)
		}
	}
	a.mustHave(t, "A", `"price":"5.00"`)
	a.try(t, call{method: "GET", path: "/api/products/sku/C", wantStatus: 404, wantCode: NotFound})

	if got := a.planAction(t, plan.Data.ID, "apply", ""); got.Data.State != "applied" {
		t.Fatalf("the plan is %s, %v, want it applied", got.Data.State, got.Data.Failure)
	}
	a.mustHave(t, "A", `"price":"6.00"`)
	a.mustHave(t, "A", `"quantity":4`)
	a.mustHave(t, "C", `"name":"Cup"`)
	if got := a.planAction(t, plan.Data.ID, "undo", "{}"); got.Data.State != "undone" || got.Data.Counts.Skipped != 0 {
		t.Fatalf("the plan is %s with %+v, want it undone", got.Data.State, got.Data.Counts)
	}
	a.mustHave(t, "A", `"price":"5.00"`)
	a.mustHave(t, "A", `"quantity":3`)
	a.try(t, call{method: "GET", path: "/api/products/sku/C", wantStatus: 404, wantCode: NotFound})
	for _, action := range []string{"apply", "cancel", "undo"} {
		a.try(t, call{
			method: "POST", path: fmt.Sprintf("/api/plans/%d/%s", plan.Data.ID, action), wantStatus: 409, wantCode: InvalidState,
		})
	}
}

func TestAPlanNamesTheRowsThatHaveChanged(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	b := a.mustProduct(t, `{"sku":"B","name":"Bow","price":7,"tags":["wood"]}`)
	a.mustProduct(t, `{"sku":"A","name":"Axe","price":5}`)
	body := `{"filter":{},"adjust_price_percent":"10","add_tags":["sale"]}`
	plan, second := a.mustPlan(t, "/api/products/changes", body), a.mustPlan(t, "/api/products/changes", body)
	path := fmt.Sprint("/api/products/", b)
	a.try(t, call{method: "PATCH", path: path, body: `{"price":8,"name":"Long bow"}`, wantStatus: 200})
	apply := fmt.Sprintf("/api/plans/%d/apply", plan.Data.ID)
	got := a.try(t, call{method: "POST", path: apply, wantStatus: 412, wantCode: PreconditionFailed})
	type changed struct {
		SKU    string
		ID     int64
		Fields []string
	}
	named := mustDecode[struct{ Error struct{ Changed []changed } }](t, got.body).Error.Changed
	if diff := cmp.Diff([]changed{{"B", b, []string{"price"}}}, named); diff != "" {
		t.Errorf("changed rows (-want +got):\n%s", diff)
	}
	a.mustHave(t, "A", `"price":"5.00"`)
	forced := a.planAction(t, plan.Data.ID, "apply", `{"force":true}`)
	if forced.Data.State != "applied" || forced.Data.Counts.Skipped != 1 || forced.Data.Counts.Updated != 1 {
		t.Errorf("the plan is %s with %+v, want one row applied and one skipped", forced.Data.State, forced.Data.Counts)
	}
	a.mustHave(t, "A", `"price":"5.50"`)
	a.mustHave(t, "B", `"tags":["wood"]`)
	a.try(t, call{
		name: "a second plan", method: "POST", path: fmt.Sprintf("/api/plans/%d/apply", second.Data.ID),
		wantStatus: 412, wantCode: PreconditionFailed,
	})
	// Other fields, and the stock, can change until the undo.
	a.try(t, call{method: "PATCH", path: "/api/products/sku/A", body: `{}`, wantStatus: 405, wantCode: MethodNotAllowed})
	rows := a.try(t, call{method: "GET", path: fmt.Sprintf("/api/plans/%d?action=changed", plan.Data.ID), wantStatus: 200})
	if all := mustDecode[planResponse](t, rows.body).Data.Rows; len(all) != 1 || *all[0].SKU != "B" || all[0].Changed == nil {
		t.Errorf("changed rows = %+v, want that of B", all)
	}
	if undone := a.planAction(t, plan.Data.ID, "undo", ""); undone.Data.State != "undone" {
		t.Errorf("the plan is %s, want it undone", undone.Data.State)
	}
	rows = a.try(t, call{method: "GET", path: fmt.Sprintf("/api/plans/%d?action=refused", plan.Data.ID), wantStatus: 200})
	if all := mustDecode[planResponse](t, rows.body).Data.Rows; len(all) != 1 || *all[0].SKU != "B" {
		t.Errorf("refused rows after the undo = %+v, want that of B", all)
	}
	a.mustHave(t, "A", `"price":"5.00"`)
	a.mustHave(t, "A", `"tags":[]`)
	a.mustHave(t, "B", `"price":"8.00"`)
}

func TestPlansNeedPermission(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustProduct(t, `{"sku":"A","name":"Axe","price":5}`)
	plan := a.mustPlan(t, "/api/products/changes", `{"filter":{},"set":{"status":"draft"}}`)
	path := fmt.Sprint("/api/plans/", plan.Data.ID)
	readOnly := a.mustKey(t, a.tenant, "products:read")
	a.try(t, call{method: "GET", path: path, key: readOnly, wantStatus: 200})
	for path, body := range map[string]string{
		"/api/products/bulk?plan=true": `{"items":[]}`, "/api/products/changes": `{}`, path + "/apply": "", path + "/undo": "",
		path + "/cancel": "",
	} {
		a.try(t, call{method: "POST", path: path, body: body, key: readOnly, wantStatus: 403, wantCode: InsufficientPermissions})
	}
	other := a.mustKey(t, a.MustTenant(t, "other"), "full")
	a.try(t, call{method: "GET", path: path, key: other, wantStatus: 404, wantCode: NotFound})
	for _, action := range []string{"apply", "undo", "cancel"} {
		a.try(t, call{method: "POST", path: path + "/" + action, key: other, wantStatus: 404, wantCode: NotFound})
	}
	i := newImportAPI(t)
	imported := i.mustImport(t, "", "products.csv", importProducts)
	i.try(t, call{
		name: "an import", method: "GET", path: fmt.Sprint("/api/plans/", imported.ID), wantStatus: 404, wantCode: NotFound,
	})
	i.try(t, call{
		name: "an import", method: "POST", path: fmt.Sprintf("/api/plans/%d/apply", imported.ID), wantStatus: 404, wantCode: NotFound,
	})
}

func TestChangesThatAreNotValid(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for body, wantField := range map[string]string{
		`{"set":{"price":1}}`:                                         "filter",
		`{"filter":[],"set":{"price":1}}`:                             "filter",
		`{"filter":{}}`:                                               "set",
		`{"filter":{},"set":{}}`:                                      "set",
		`{"filter":{},"set":{"sku":"A"}}`:                             "set.sku",
		`{"filter":{},"set":{"colour":"red"}}`:                        "set.colour",
		`{"filter":{},"set":{"price":"x"}}`:                           "set.price",
		`{"filter":{},"set":{"price":1},"adjust_price_percent":1}`:    "adjust_price_percent",
		`{"filter":{},"set":{"tags":[]},"add_tags":["a"]}`:            "set.tags",
		`{"filter":{},"add_tags":["a"],"remove_tags":["a"]}`:          "remove_tags",
		`{"filter":{},"add_tags":[""]}`:                               "add_tags[0]",
		`{"filter":{},"add_tags":[]}`:                                 "add_tags",
		`{"filter":{},"adjust_price_percent":0}`:                      "adjust_price_percent",
		`{"filter":{},"adjust_price_percent":1.005}`:                  "adjust_price_percent",
		`{"filter":{},"adjust_price_percent":"-1000.01"}`:             "adjust_price_percent",
		`{"filter":{"status":"gone"},"set":{"price":1}}`:              "filter.status",
		`{"filter":{"colour":"red"},"set":{"price":1}}`:               "filter.colour",
		`{"filter":{"sort":"sku"},"set":{"price":1}}`:                 "filter.sort",
		`{"filter":{"category_id":1.5},"set":{"price":1}}`:            "filter.category_id",
		`{"filter":{"tag":null},"set":{"price":1}}`:                   "filter.tag",
		`{"filter":{"category_id":1,"category":2},"set":{"price":1}}`: "filter.category",
		`{"filter":{},"set":{"price":1},"sets":1}`:                    "sets",
		`{"filter":{},"set":{"price":-1}}`:                            "set.price",
		`{"filter":{},"set":{"name":""}}`:                             "set.name",
		`{"filter":{},"set":{"name":null}}`:                           "set.name",
		`{"filter":{},"set":{"status":"gone"}}`:                       "set.status",
		`{"filter":{},"set":{"category_id":9}}`:                       "set.category_id",
		`{"filter":{},"set":{"tags":["a",""]}}`:                       "set.tags[1]",
	} {
		got := a.try(t, call{
			name: body, method: "POST", path: "/api/products/changes", body: body, wantStatus: 422, wantCode: ValidationError,
		})
		if details := mustDecode[errorResponse](t, got.body).Error.Details; len(details[wantField]) == 0 {
			t.Errorf("%s: details = %v, want %s", body, details, wantField)
		}
	}
	a.try(t, call{
		method: "POST", path: "/api/products/bulk?plan=yes", body: `{"items":[]}`, wantStatus: 400, wantCode: InvalidParameter,
	})
}

// A price is rounded half away from zero, and one that is not valid refuses its row.
func TestPricesArePlannedToTheCent(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for sku, price := range map[string]string{"A": "0.05", "B": "9999999999.99", "C": "10.00"} {
		a.mustProduct(t, fmt.Sprintf(`{"sku":%q,"name":"x","price":%q}`, sku, price))
	}
	for _, test := range []struct {
		percent string
		want    map[string]any
	}{
		{"10", map[string]any{"A": "0.06", "B": nil, "C": "11.00"}},
		{"-10", map[string]any{"A": "0.05", "B": "8999999999.99", "C": "9.00"}},
		{"-50", map[string]any{"A": "0.03", "B": "5000000000.00", "C": "5.00"}},
		{"-100.5", map[string]any{"A": "0.00", "B": nil, "C": nil}},
	} {
		plan := a.mustPlan(t, "/api/products/changes", `{"filter":{},"adjust_price_percent":`+test.percent+`}`)
		for _, row := range plan.Data.Rows {
			switch want := test.want[*row.SKU]; {
			case want == nil:
				if len(row.Errors["price"]) == 0 || row.Action != "refused" {
					t.Errorf("%s %%: %s is %s with %v, want an error of price", test.percent, *row.SKU, row.Action, row.Errors)
				}
			case row.Action == "updated" && row.New["price"] != want:
				t.Errorf("%s %%: %s costs %v, want %s", test.percent, *row.SKU, row.New["price"], want)
			}
		}
	}
}

// With an Idempotency-Key, an instance works in the background, and a repeated request creates no second plan.
func TestAPlanWithAnIdempotencyKey(t *testing.T) {
	t.Parallel()
	a := newImportAPI(t)
	a.mustProduct(t, `{"sku":"A","name":"Axe","price":5}`)
	c := call{
		method: "POST", path: "/api/products/bulk?plan=true", body: `{"items":[{"sku":"A","price":6}]}`,
		header: http.Header{"Idempotency-Key": {"k"}}, wantStatus: 202,
	}
	first, again := mustDecode[planResponse](t, a.try(t, c).body), mustDecode[planResponse](t, a.try(t, c).body)
	if first.Data.ID != again.Data.ID {
		t.Errorf("the plans %d and %d, want one", first.Data.ID, again.Data.ID)
	}
	c.path, c.wantStatus, c.wantCode = "/api/products/bulk", 422, IdempotencyKeyReused
	a.try(t, c)
}

// A plan of rows in several parts would otherwise write the second row without comparing it.
func TestAPlanChangesAProductOnce(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustProduct(t, `{"sku":"A","name":"Axe","price":5}`)
	long := strings.Repeat("x", 65_000)
	items := []string{`{"sku":"A","price":6}`}
	for i := range 20 { // more than 1 MiB, which is a part
		items = append(items, fmt.Sprintf(`{"sku":"L%d","name":"Long","price":1,"description":%q}`, i, long))
	}
	items = append(items, `{"sku":" A ","price":7}`)
	plan := a.mustPlan(t, "/api/products/bulk?plan=true", `{"items":[`+strings.Join(items, ",")+`]}`)
	if want := (planCounts{Created: 20, Updated: 1, Refused: 1}); plan.Data.Counts != want {
		t.Errorf("the plan has %+v, want %+v", plan.Data.Counts, want)
	}
	last := plan.Data.Rows[len(plan.Data.Rows)-1]
	if want := []string{"is that of row 0: a plan changes a product once"}; !cmp.Equal(last.Errors["sku"], want) {
		t.Errorf("the last row has the errors %v, want %v", last.Errors, want)
	}
	if got := a.planAction(t, plan.Data.ID, "apply", ""); got.Data.State != "applied" {
		t.Errorf("the plan is %s, %v, want applied", got.Data.State, got.Data.Failure)
	}
	a.mustHave(t, "A", `"price":"6.00"`)
}

// The SKU now belongs to another product.
func TestAPlanDoesNotChangeAProductThatWasCreatedAgain(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	first := a.mustProduct(t, `{"sku":"A","name":"Axe","price":5}`)
	plan := a.mustPlan(t, "/api/products/changes", `{"filter":{},"adjust_price_percent":10}`)
	a.try(t, call{method: "DELETE", path: fmt.Sprint("/api/products/", first), wantStatus: 204})
	a.mustProduct(t, `{"sku":"A","name":"Axe","price":5}`)
	path := fmt.Sprintf("/api/plans/%d/apply", plan.Data.ID)
	got := a.try(t, call{method: "POST", path: path, wantStatus: 412, wantCode: PreconditionFailed})
	changed := mustDecode[struct {
		Error struct{ Changed []changedRow }
	}](t, got.body).Error.Changed
	want := []changedRow{{"A", &first, []string{}, "was deleted, or has another SKU, since the plan"}}
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Errorf("changed rows (-want +got):\n%s", diff)
	}
	if forced := a.planAction(t, plan.Data.ID, "apply", `{"force":true}`); forced.Data.Counts.Skipped != 1 {
		t.Errorf("the plan has %+v, want its row skipped", forced.Data.Counts)
	}
	a.mustHave(t, "A", `"price":"5.00"`)
}

func TestATenantHasFewPlansThatAreComputed(t *testing.T) {
	t.Parallel()
	a := newAPI(t) // without workers
	c := call{
		method: "POST", path: "/api/products/changes", body: `{"filter":{},"set":{"status":"draft"}}`, wantStatus: 202,
	}
	for i := range 20 {
		c.header = http.Header{"Idempotency-Key": {fmt.Sprint(i)}}
		a.try(t, c)
	}
	c.header, c.wantStatus, c.wantCode = nil, 409, InvalidState
	got := mustDecode[errorResponse](t, a.try(t, c).body)
	if want := "20 plans are being computed. Retry when one of them is done."; got.Error.Message != want {
		t.Errorf("the message is %q, want %q", got.Error.Message, want)
	}
}

// The response 412 names the first 100 rows, and the plan has the others.
func TestAllChangedRowsOfAPlanCanBeRead(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	const products = 250
	bulk := func(price int) {
		var items []string
		for i := range products {
			items = append(items, fmt.Sprintf(`{"sku":"P%03d","name":"x","price":%d}`, i, price))
		}
		body := `{"items":[` + strings.Join(items, ",") + `]}`
		a.try(t, call{method: "POST", path: "/api/products/bulk", body: body, wantStatus: 200})
	}
	bulk(5)
	plan := a.mustPlan(t, "/api/products/changes", `{"filter":{},"adjust_price_percent":10}`)
	bulk(6)
	path := fmt.Sprint("/api/plans/", plan.Data.ID)
	got := a.try(t, call{method: "POST", path: path + "/apply", wantStatus: 412, wantCode: PreconditionFailed})
	refused := mustDecode[errorResponse](t, got.body).Error
	if !strings.Contains(refused.Message, fmt.Sprint(": ", products, ".")) || len(refused.Changed) != rowsOfPlan {
		t.Errorf("%d rows are named, %q, want %d of %d", len(refused.Changed), refused.Message, rowsOfPlan, products)
	}
	seen, cursor := map[string]bool{}, ""
	for pages := 1; ; pages++ {
		page := mustDecode[planResponse](t, a.try(t, call{
			method: "GET", path: path + "?action=changed" + cursor, wantStatus: 200,
		}).body)
		for _, row := range page.Data.Rows {
			if row.Changed == nil || !cmp.Equal(row.Changed.Fields, []string{"price"}) {
				t.Errorf("the row of %s has changed = %+v, want the field price", *row.SKU, row.Changed)
			}
			seen[*row.SKU] = true
		}
		if page.Meta.NextCursor == nil {
			if pages != 3 || len(seen) != products || page.Meta.Total != products {
				t.Errorf("%d pages have %d of %d rows, want 3 with %d", pages, len(seen), page.Meta.Total, products)
			}
			break
		}
		cursor = "&cursor=" + *page.Meta.NextCursor
	}
}
