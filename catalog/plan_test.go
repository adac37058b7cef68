package catalog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/catalog/media"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/money"
)

// contents returns the products of a tenant by SKU, with the names of references and the stock of each warehouse.
func (s shop) contents(t testing.TB, super *pgx.Conn) map[string]string {
	t.Helper()
	all := map[string]string{}
	rows, err := super.Query(t.Context(), `
		select sku, concat_ws('|', name, description, 'price ' || price, 'msrp ' || msrp, 'cost ' || cost, status, condition,
		       quantity, 'reorder ' || reorder_point, 'bin ' || bin_location, 'upc ' || upc, tags, search,
		       (select string_agg(concat_ws(' ', i->'position', i->>'url', i->>'file'), ', ')
		          from jsonb_array_elements(images) i),
		       'category ' || (select name from categories where tenant_id = p.tenant_id and id = category_id),
		       'seller ' || (select name from sellers where tenant_id = p.tenant_id and id = seller_id),
		       'warehouse ' || (select name from warehouses where tenant_id = p.tenant_id and id = warehouse_id),
		       (select jsonb_object_agg(w.name, s.quantity)
		          from stock s
		          join warehouses w on w.tenant_id = s.tenant_id and w.id = s.warehouse_id
		         where s.tenant_id = p.tenant_id and s.product_id = p.id and s.quantity > 0)) as content
		  from products p
		 where tenant_id = $1`, s.by.Tenant)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var sku, content string
		if err := rows.Scan(&sku, &content); err != nil {
			t.Fatal(err)
		}
		all[sku] = content
	}
	return all
}

// references returns the names of all references of a tenant.
func (s shop) references(t testing.TB, super *pgx.Conn) (names []string) {
	t.Helper()
	err := super.QueryRow(t.Context(), `
		select array_agg(name order by name) from (
		    select name from categories where tenant_id = $1 union all
		    select name from sellers where tenant_id = $1 union all
		    select name from warehouses where tenant_id = $1) r`, s.by.Tenant).Scan(&names)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// importPlan is a plan that was applied.
type importPlan struct {
	references map[catalog.Kind][]catalog.ReferenceUndo
	applied    []catalog.Applied
	undo       []catalog.Undo
}

// namesOf returns the valid names of references that rows have.
func namesOf(kind catalog.Kind, rows []catalog.PlanRow) (names []string) {
	add := func(name catalog.Field[string]) {
		if stored, problem := catalog.CheckName(name.Value); problem == "" && name.Set {
			names = append(names, stored)
		}
	}
	for _, r := range rows {
		switch kind {
		case catalog.Categories:
			add(r.CategoryName)
		case catalog.Sellers:
			add(r.SellerName)
		default:
			add(r.WarehouseName)
			for _, stock := range r.Stock {
				add(catalog.Value(stock.Warehouse))
			}
		}
	}
	return names
}

// apply applies a plan in one transaction, after a round trip of everything through JSON.
func (s shop) apply(t testing.TB, rows []catalog.PlanRow, planned []catalog.Planned) (p importPlan) {
	t.Helper()
	tx, err := s.database.DB.Begin(t.Context(), s.by.Tenant, noQueries)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	p.references = map[catalog.Kind][]catalog.ReferenceUndo{}
	for _, kind := range kinds {
		names := namesOf(kind, rows)
		if p.references[kind], err = catalog.New(tx).ApplyReferences(t.Context(), s.by.Tenant, kind, names, nil); err != nil {
			t.Fatal(err)
		}
	}
	var toApply []catalog.PlanRow
	for i, row := range rows {
		if planned[i].Outcome == catalog.Created || planned[i].Outcome == catalog.Updated {
			row = stored(t, row)
			row.Version = stored(t, planned[i].Version)
			toApply = append(toApply, row)
		}
	}
	p.applied, err = catalog.New(tx).ApplyProducts(t.Context(), s.by, toApply)
	if err == nil {
		err = tx.Commit(t.Context(), noQueries)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range p.applied {
		if a.Undo != nil {
			p.undo = append(p.undo, *a.Undo)
		}
	}
	p.undo = stored(t, p.undo)
	return p
}

// stored returns what JSON stores of a value.
func stored[T any](t testing.TB, value T) (read T) {
	t.Helper()
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func (s shop) undo(t testing.TB, p importPlan) (kept []tenancy.Kept) {
	t.Helper()
	tx, err := s.database.DB.Begin(t.Context(), s.by.Tenant, noQueries)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	kept, err = catalog.New(tx).UndoProducts(t.Context(), s.by, p.undo)
	for _, kind := range kinds {
		if err == nil {
			var more []tenancy.Kept
			more, err = catalog.New(tx).UndoReferences(t.Context(), s.by.Tenant, kind, p.references[kind])
			kept = append(kept, more...)
		}
	}
	if err == nil {
		err = tx.Commit(t.Context(), noQueries)
	}
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

// drawPlanRows draws rows of few SKUs, so that many rows change a product that exists.
func drawPlanRows(r *rapid.T, label string, n int) []catalog.PlanRow {
	return rapid.SliceOfN(rapid.Custom(func(r *rapid.T) (row catalog.PlanRow) {
		maybe := func(label string) bool { return rapid.Bool().Draw(r, label) }
		row.SKU = catalog.Value(rapid.SampledFrom([]string{"A", "B", "C", "D ", "E", "F", ""}).Draw(r, "sku"))
		if rapid.IntRange(0, 4).Draw(r, "only stock") > 0 {
			if rapid.IntRange(0, 4).Draw(r, "named") > 0 {
				row.Name = catalog.Value(rapid.SampledFrom([]string{"Axe", "Bow", ""}).Draw(r, "name"))
			}
			if rapid.IntRange(0, 4).Draw(r, "priced") > 0 {
				row.Price = catalog.Value(money.Cents(rapid.IntRange(-1, 20).Draw(r, "price")))
			}
			if maybe("has cost") {
				row.Cost = catalog.Field[money.Cents]{Set: true, Null: maybe("null cost"), Value: 7}
			}
			if maybe("has tags") {
				tag := rapid.SampledFrom([]string{"red", "blue"})
				row.Tags = catalog.Value(rapid.SliceOfN(tag, 0, 2).Draw(r, "tags"))
			}
			if maybe("has images") {
				image := rapid.SampledFrom([]string{"https://example.com/1", "HTTPS://example.com/2", "3"})
				row.ImageURLs = catalog.Value(rapid.SliceOfN(image, 0, 2).Draw(r, "images"))
			}
			if maybe("has quantity") {
				row.Quantity = catalog.Value(int64(rapid.IntRange(0, 9).Draw(r, "quantity")))
			}
			if maybe("has reorder point") {
				row.ReorderPoint = catalog.Field[int64]{Set: true, Null: maybe("null reorder point"), Value: 5}
			}
			if maybe("has category") {
				row.CategoryName = catalog.Field[string]{Set: true, Null: maybe("null category"), Value: "New category"}
			}
			if maybe("has seller") {
				row.SellerName = catalog.Value("Seller")
			}
			if maybe("has warehouse") {
				row.WarehouseName = catalog.Value(rapid.SampledFrom([]string{"North", "South"}).Draw(r, "warehouse"))
			}
		}
		for _, warehouse := range []string{"North", "West"} {
			if rapid.IntRange(0, 3).Draw(r, "stock in "+warehouse) == 0 {
				quantity := int64(rapid.IntRange(0, 9).Draw(r, "quantity in "+warehouse))
				row.Stock = append(row.Stock, catalog.StockOf{Warehouse: warehouse, Quantity: quantity})
			}
		}
		return row
	}), 0, n).Draw(r, label)
}

// withoutProduct returns the error of a row with nothing but stock, which cannot create a product.
func withoutProduct(row catalog.PlanRow, err error) error {
	invalid, is := errors.AsType[tenancy.InvalidError](err)
	exists := invalid["name"] == nil // which only a new product requires
	if !is || exists || row.Stock == nil || row.Changes.Name.Set || row.Changes.Price.Set {
		return err
	}
	invalid = maps.Clone(invalid)
	delete(invalid, "name")
	delete(invalid, "price")
	if invalid["sku"] == nil {
		invalid.Add("sku", "is not the SKU of a product")
	}
	return invalid
}

// upsertRow writes a row as the API would.
func (s shop) upsertRow(t testing.TB, row catalog.PlanRow) catalog.Result {
	t.Helper()
	ids := map[catalog.Kind]map[string]int64{}
	for _, kind := range kinds {
		names := namesOf(kind, []catalog.PlanRow{row})
		var err error
		if ids[kind], _, err = s.EnsureReferences(t.Context(), s.by.Tenant, kind, names); err != nil {
			t.Fatal(err)
		}
	}
	c := row.Changes
	for _, reference := range []struct {
		id   *catalog.Field[int64]
		name catalog.Field[string]
		kind catalog.Kind
	}{
		{&c.CategoryID, row.CategoryName, catalog.Categories}, {&c.SellerID, row.SellerName, catalog.Sellers},
		{&c.WarehouseID, row.WarehouseName, catalog.Warehouses},
	} {
		if reference.name.Set {
			*reference.id = catalog.Field[int64]{
				Set: true, Null: reference.name.Null, Value: ids[reference.kind][reference.name.Value],
			}
		}
	}
	results, err := s.Upsert(t.Context(), s.by, []catalog.Row{{Changes: c}})
	if err != nil {
		t.Fatal(err)
	}
	if results[0].Outcome == catalog.Failed {
		return results[0]
	}
	for _, stock := range row.Stock {
		before, err := s.Inventory(t.Context(), s.by.Tenant, results[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = s.Adjust(t.Context(), s.by, results[0].ID, catalog.AdjustRequest{
			Type: catalog.Value("set"), Quantity: catalog.Value(stock.Quantity),
			WarehouseID: catalog.Value(ids[catalog.Warehouses][stock.Warehouse]),
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		after, err := s.Inventory(t.Context(), s.by.Tenant, results[0].ID)
		if err == nil && results[0].Outcome == catalog.Unchanged && !cmp.Equal(before, after) {
			results[0].Outcome = catalog.Updated
		}
	}
	return results[0]
}

// For any rows, a plan has the outcomes of Upsert and writes nothing, applying it results in the same products, and
// undoing it restores all products, except those that have changed since.
func TestPlanApplyAndUndo(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	super := d.MustSuper(t)
	n := 0
	newTenant := func() shop {
		n++
		return shop{catalog.New(d.DB), d, catalog.Actor{Tenant: d.MustTenant(t, fmt.Sprint("shop-", n)).ID}}
	}
	rapid.Check(t, func(r *rapid.T) {
		s, direct := newTenant(), newTenant()
		for _, row := range drawPlanRows(r, "stored", 8) {
			row.CategoryName = catalog.Field[string]{}
			s.upsertRow(t, row)
			direct.upsertRow(t, row)
		}
		before, referencesBefore := s.contents(t, super), s.references(t, super)
		rows := drawPlanRows(r, "rows", 8)
		planned, err := s.PlanProducts(t.Context(), s.by.Tenant, rows)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, s.contents(t, super)); diff != "" {
			r.Fatalf("the plan changed (-want +got):\n%s", diff)
		}
		for i, row := range rows {
			want := direct.upsertRow(t, row)
			want.Err = withoutProduct(row, want.Err)
			got := planned[i]
			if got.Outcome != want.Outcome || fmt.Sprint(got.Err) != fmt.Sprint(want.Err) {
				r.Fatalf("row %d is planned as %v, %v, want %v, %v", i, got.Outcome, got.Err, want.Outcome, want.Err)
			}
			writes := want.Outcome == catalog.Created || want.Outcome == catalog.Updated
			if changes := len(got.New) > 0; changes != writes {
				r.Fatalf("row %d is %s with the changes %v", i, want.Outcome, got.New)
			}
		}
		plan := s.apply(t, rows, planned)
		for _, a := range plan.applied {
			if a.Outcome != catalog.Created && a.Outcome != catalog.Updated || a.Undo == nil {
				r.Fatalf("applied = %+v, want it as planned", a)
			}
		}
		after := s.contents(t, super)
		if diff := cmp.Diff(direct.contents(t, super), after); diff != "" {
			r.Fatalf("products after the plan (-Upsert +plan):\n%s", diff)
		}
		changed := map[string]bool{}
		some := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"A", "B", "C"}), 0, 2, rapid.ID)
		for _, sku := range some.Draw(r, "changed") {
			p, err := s.ProductBySKU(t.Context(), s.by.Tenant, sku)
			if err != nil {
				continue
			}
			changed[sku] = true
			switch rapid.IntRange(0, 2).Draw(r, "change") {
			case 0:
				_, _, err = s.Adjust(t.Context(), s.by, p.ID, adjustment("add", 1), nil)
			case 1:
				_, err = s.Patch(t.Context(), s.by, p.ID, nil, catalog.Changes{Name: catalog.Value("Changed")}, nil)
			default:
				err = s.Delete(t.Context(), s.by, p.ID, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		changedState := s.contents(t, super)
		kept := map[string]bool{}
		for _, k := range s.undo(t, plan) {
			kept[k.Key] = true
		}
		got := s.contents(t, super)
		for _, sku := range []string{"A", "B", "C", "D", "E", "F"} {
			want := before[sku]
			if changed[sku] {
				want = changedState[sku]
				written := slices.ContainsFunc(plan.undo, func(u catalog.Undo) bool { return u.SKU == sku })
				created := before[sku] == ""
				if deleted := want == ""; kept[sku] != written && !(created && deleted) {
					r.Fatalf("%s was changed since the plan, kept: %v", sku, kept[sku])
				}
			} else if kept[sku] {
				r.Fatalf("%s was kept, but nothing has changed it", sku)
			}
			if got[sku] != want {
				r.Fatalf("%s after the undo:\n%s\nwant\n%s", sku, got[sku], want)
			}
		}
		if len(changed) == 0 {
			if diff := cmp.Diff(referencesBefore, s.references(t, super)); diff != "" {
				r.Fatalf("references after the undo (-want +got):\n%s", diff)
			}
		}
	})
	shop{catalog.New(d.DB), d, catalog.Actor{}}.mustAgree(t)
}

// Rows that have changed since the plan are not written.
func TestApplyRefusesRowsThatHaveChangedSince(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	a, b := s.mustCreate(t, "A"), s.mustCreate(t, "B")
	s.mustCreate(t, "deleted")
	renamed := func(sku string) catalog.PlanRow {
		return catalog.PlanRow{Changes: product(sku, func(c *catalog.Changes) { c.Name = catalog.Value("Renamed") })}
	}
	north := catalog.PlanRow{
		Changes: catalog.Changes{SKU: catalog.Value("B")}, Stock: []catalog.StockOf{{Warehouse: "North", Quantity: 3}},
	}
	rows := []catalog.PlanRow{renamed("A"), north, renamed("new"), renamed("deleted"), renamed("C")}
	planned, err := s.PlanProducts(t.Context(), s.by.Tenant, rows)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Adjust(t.Context(), s.by, a.ID, adjustment("add", 1), nil); err != nil {
		t.Fatal(err)
	}
	// Only the stock in another warehouse and the name of B change, on which its row does not depend.
	if _, _, err := s.Adjust(t.Context(), s.by, b.ID, adjustment("add", 1), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Patch(t.Context(), s.by, b.ID, nil, catalog.Changes{Name: catalog.Value("Bow")}, nil); err != nil {
		t.Fatal(err)
	}
	s.mustCreate(t, "new")
	deleted, err := s.ProductBySKU(t.Context(), s.by.Tenant, "deleted")
	if err == nil {
		err = s.Delete(t.Context(), s.by, deleted.ID, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	plan := s.apply(t, rows, planned)
	var got []string
	for _, r := range plan.applied {
		got = append(got, fmt.Sprint(r.SKU, " ", r.Outcome, " ", errors.Is(r.Err, catalog.ErrPrecondition)))
	}
	want := []string{"A failed true", "B updated false", "new failed true", "deleted failed true", "C created false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("applied (-want +got):\n%s", diff)
	}
	if kept := s.undo(t, plan); len(kept) > 0 {
		t.Errorf("undo keeps %v, want none", kept)
	}
	if p, err := s.Product(t.Context(), s.by.Tenant, b.ID); err != nil || p.Quantity != 1 || p.Name != "Bow" {
		t.Errorf("B = %+v, %v, want the changes of others only", p, err)
	}
	s.mustAgree(t)
}

// An undo names a category that it could not delete, and a product that has another SKU now.
func TestUndoKeepsWhatIsInUse(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	rows := []catalog.PlanRow{{Changes: product("A"), CategoryName: catalog.Value("Tools")}, {Changes: product("B")}}
	planned, err := s.PlanProducts(t.Context(), s.by.Tenant, rows)
	if err != nil {
		t.Fatal(err)
	}
	plan := s.apply(t, rows, planned)
	for sku, c := range map[string]catalog.Changes{
		"A": {Price: catalog.Value(money.Cents(7))}, "B": {SKU: catalog.Value("B2")},
	} {
		p, err := s.ProductBySKU(t.Context(), s.by.Tenant, sku)
		if err == nil {
			_, err = s.Patch(t.Context(), s.by, p.ID, nil, c, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	want := []tenancy.Kept{
		{Key: "B", Reason: "has changed since"}, {Key: "A", Reason: "has changed since"},
		{Key: "Tools", Reason: "1 product uses this category"},
	}
	if diff := cmp.Diff(want, s.undo(t, plan)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

// An undo restores images with their ids and positions, so that the undo of an earlier row is possible.
func TestAnUndoRestoresImages(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	p := s.mustCreate(t, "A")
	if err := media.Reserve(t.Context(), s.database.DB, s.by.Tenant, "FILE.jpg"); err != nil {
		t.Fatal(err)
	}
	first, second := catalog.Image{URL: "https://example.com/1"}, catalog.Image{URL: "https://example.com/2"}
	for _, image := range []catalog.Image{first, {File: "FILE.jpg"}, second} {
		if _, err := s.AddImage(t.Context(), s.by, p.ID, image, nil); err != nil {
			t.Fatal(err)
		}
	}
	images := func() []catalog.Image {
		t.Helper()
		p, err := s.Product(t.Context(), s.by.Tenant, p.ID)
		if err != nil {
			t.Fatal(err)
		}
		return p.Images
	}
	before := images()
	var plans []importPlan
	for _, urls := range [][]string{{"https://example.com/3", "https://example.com/1"}, {"https://example.com/2"}} {
		rows := []catalog.PlanRow{{Changes: catalog.Changes{SKU: catalog.Value("A"), ImageURLs: catalog.Value(urls)}}}
		planned, err := s.PlanProducts(t.Context(), s.by.Tenant, rows)
		if err != nil {
			t.Fatal(err)
		}
		plans = append(plans, s.apply(t, rows, planned))
		if got := catalog.URLs(images()); !slices.Equal(got, urls) {
			t.Errorf("images = %v, want %v", got, urls)
		}
	}
	for _, plan := range []importPlan{plans[1], plans[0]} {
		if kept := s.undo(t, plan); len(kept) > 0 {
			t.Errorf("undo keeps %v, want none", kept)
		}
	}
	if diff := cmp.Diff(before, images()); diff != "" {
		t.Errorf("images after the undo (-want +got):\n%s", diff)
	}
}

func TestAPlanShowsOldAndNew(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.mustCreate(t, "A", quantity(2), func(c *catalog.Changes) {
		c.CategoryID = catalog.Value(s.mustReference(t, catalog.Categories, "Old"))
	})
	planned, err := s.PlanProducts(t.Context(), s.by.Tenant, []catalog.PlanRow{
		{
			Changes: catalog.Changes{
				SKU: catalog.Value("A"), Price: catalog.Value(money.Cents(7)), Name: catalog.Value("Product A"),
			},
			CategoryName: catalog.Value("New"), Stock: []catalog.StockOf{{Warehouse: "North", Quantity: 3}},
		},
		{Changes: catalog.Changes{
			SKU: catalog.Value("A"), Price: catalog.Value(money.Cents(8)),
			ImageURLs: catalog.Value([]string{"https://example.com/a b"}),
		}},
		{Changes: product("B", func(c *catalog.Changes) { c.UPC = catalog.Value("12345678") })},
		{Changes: product("C"), InPlan: true},
		{
			Changes: product("A"), WarehouseName: catalog.Value("a\x00"),
			Stock: []catalog.StockOf{{Warehouse: "", Quantity: -1}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	type change struct{ Old, New string }
	var got []change
	for _, p := range planned {
		texts := [2]string{}
		for i, fields := range []map[string]any{p.Old, p.New} {
			text, err := json.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			texts[i] = string(text)
		}
		if p.Err != nil {
			texts[1] = p.Err.Error()
		}
		got = append(got, change{texts[0], texts[1]})
	}
	want := []change{
		{`{"category":"Old","price":"12.50","quantity":2,"stock":{"North":0}}`,
			`{"category":"New","price":"0.07","quantity":5,"stock":{"North":3}}`},
		{`{"images":[],"price":"0.07"}`, `{"images":["https://example.com/a%20b"],"price":"0.08"}`},
		{`null`, `{"name":"Product B","price":"12.50","sku":"B","upc":"12345678"}`},
		{`null`, `{"name":"Product C","price":"12.50"}`},
		{`null`, `stock[0].quantity must be between 0 and 2147483647; stock[0].warehouse_name must not be empty; ` +
			`warehouse_name must not contain control characters`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

// noQueries adds nothing to the batch of a transaction.
func noQueries(*pgx.Batch) {}
