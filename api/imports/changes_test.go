package imports_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// changes are the plans of a tenant.
type changes struct {
	*imports.Changes
	catalog *catalog.Store
	worker  *changeplan.Store
	by      catalog.Actor
}

func newChanges(t testing.TB, d *dbtest.Database, slug string) changes {
	t.Helper()
	worker := changeplan.New(d.DB, imports.Kinds(d.DB, imports.Pictures{}))
	return changes{
		imports.NewChanges(worker), catalog.New(d.DB), worker, catalog.Actor{Tenant: d.MustTenant(t, slug).ID},
	}
}

// modelProduct is what a test expects of a product.
type modelProduct struct {
	Name, Status string
	Price        int64
	Tags         string
	Quantity     int32
}

// contents returns the stored products by SKU.
func (c changes) contents(t testing.TB) map[string]modelProduct {
	t.Helper()
	all := map[string]modelProduct{}
	err := c.catalog.Walk(t.Context(), c.by.Tenant, catalog.Filter{}, func(p catalog.Product) error {
		all[p.SKU] = modelProduct{p.Name, p.Status, int64(p.Price), fmt.Sprint(p.Tags), p.Quantity}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// settle carries out the work on a plan.
func (c changes) settle(t testing.TB, id int64) changeplan.Summary {
	t.Helper()
	if _, err := c.Settle(t.Context(), c.by.Tenant, id, time.Minute); err != nil {
		t.Fatal(err)
	}
	plan, err := c.Get(t.Context(), c.by.Tenant, id)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// kept returns the rows that something else has changed, with their fields.
func (c changes) kept(t testing.TB, id int64) map[string][]string {
	t.Helper()
	rows, err := c.Rows(t.Context(), c.by.Tenant, id,
		changeplan.RowFilter{Kept: true, Page: paging.Page{Number: 1, PerPage: 100}})
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string][]string{}
	for _, row := range rows.Items {
		kept[row.Key] = append([]string{}, row.Kept.Fields...)
		slices.Sort(kept[row.Key])
	}
	return kept
}

// drawProducts stores some products and returns their SKUs.
func (c changes) drawProducts(t testing.TB, r *rapid.T) (skus []string) {
	for i := range rapid.IntRange(1, 5).Draw(r, "products") {
		skus = append(skus, fmt.Sprint("P", i))
		_, err := c.catalog.Create(t.Context(), c.by, catalog.Changes{
			SKU: catalog.Value(skus[i]), Name: catalog.Value("Product"),
			Price:    catalog.Value(money.Cents(rapid.IntRange(0, 300).Draw(r, "price"))),
			Status:   catalog.Value(rapid.SampledFrom(catalog.Statuses).Draw(r, "status")),
			Tags:     catalog.Value(rapid.SampledFrom([][]string{{}, {"red"}, {"blue"}}).Draw(r, "tags")),
			Quantity: catalog.Value[int64](3),
		}, tenancy.InvalidError{})
		if err != nil {
			t.Fatal(err)
		}
	}
	return skus
}

// drawEdit changes a product as another user does. It can delete it.
func (c changes) drawEdit(t testing.TB, r *rapid.T, skus []string) {
	p, err := c.catalog.ProductBySKU(t.Context(), c.by.Tenant, rapid.SampledFrom(skus).Draw(r, "edited"))
	if errors.Is(err, tenancy.ErrNotFound) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	var edit catalog.Changes
	switch rapid.IntRange(0, 5).Draw(r, "edit") {
	case 0:
		edit.Price = catalog.Value(money.Cents(rapid.IntRange(0, 300).Draw(r, "price")))
	case 1:
		edit.Status = catalog.Value(rapid.SampledFrom(catalog.Statuses).Draw(r, "status"))
	case 2:
		edit.Tags = catalog.Value(rapid.SampledFrom([][]string{{}, {"red"}, {"blue"}}).Draw(r, "tags"))
	case 3:
		edit.Name = catalog.Value("Edited")
	case 4:
		edit.Quantity = catalog.Value(int64(rapid.IntRange(0, 9).Draw(r, "quantity")))
	default:
		if err := c.catalog.Delete(t.Context(), c.by, p.ID, nil); err != nil {
			t.Fatal(err)
		}
		return
	}
	if _, err := c.catalog.Patch(t.Context(), c.by, p.ID, nil, edit, tenancy.InvalidError{}); err != nil {
		t.Fatal(err)
	}
}

// drawChange returns a change, and what it does with a product. Half a cent is rounded away from zero.
func drawChange(r *rapid.T) (catalog.Change, func(modelProduct) modelProduct) {
	percent := rapid.SampledFrom([]int64{0, -33_33, 7_50, -100_00}).Draw(r, "percent")
	status := rapid.SampledFrom([]string{"", "active", "draft"}).Draw(r, "new status")
	addTag := percent == 0 && status == "" || rapid.Bool().Draw(r, "add a tag")
	change := catalog.Change{PricePercent: percent}
	if status != "" {
		change.Set.Status = catalog.Value(status)
	}
	if addTag {
		change.AddTags, change.RemoveTags = []string{"red"}, []string{"blue"}
	}
	return change, func(p modelProduct) modelProduct {
		if percent != 0 {
			exact := new(big.Rat).Mul(big.NewRat(p.Price, 1), big.NewRat(100_00+percent, 100_00))
			exact.Add(exact, big.NewRat(1, 2)) // prices are not negative
			p.Price = new(big.Int).Div(exact.Num(), exact.Denom()).Int64()
		}
		if status != "" {
			p.Status = status
		}
		if addTag {
			p.Tags = "[red]"
		}
		return p
	}
}

// fieldsUnlike returns the fields of a plan in which two products differ, of those that it changes from one to the
// other.
func fieldsUnlike(planned, changedTo, now modelProduct) (fields []string) {
	if planned.Price != changedTo.Price && now.Price != planned.Price {
		fields = append(fields, "price")
	}
	if planned.Status != changedTo.Status && now.Status != planned.Status {
		fields = append(fields, "status")
	}
	if planned.Tags != changedTo.Tags && now.Tags != planned.Tags {
		fields = append(fields, "tags")
	}
	return fields
}

// conflicts returns the fields that differ from the plan, by SKU. A deleted product has no fields.
func conflicts(rows, changedTo, now map[string]modelProduct) map[string][]string {
	found := map[string][]string{}
	for sku, planned := range rows {
		p, exists := now[sku]
		if fields := fieldsUnlike(planned, changedTo[sku], p); !exists {
			found[sku] = []string{}
		} else if len(fields) > 0 {
			found[sku] = fields
		}
	}
	return found
}

// write returns products with the fields that a plan changes from one product to the other.
func write(products, from, to map[string]modelProduct, except map[string][]string) map[string]modelProduct {
	products = maps.Clone(products)
	for sku := range from {
		if _, isKept := except[sku]; isKept {
			continue
		}
		p := products[sku]
		if from[sku].Price != to[sku].Price {
			p.Price = to[sku].Price
		}
		if from[sku].Status != to[sku].Status {
			p.Status = to[sku].Status
		}
		if from[sku].Tags != to[sku].Tags {
			p.Tags = to[sku].Tags
		}
		products[sku] = p
	}
	return products
}

// A plan writes exactly what a model says, and an undo restores exactly the fields that nobody has changed since.
func TestPlansOfChangesEqualAModel(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		c := newChanges(t, d, fmt.Sprint("shop-", n))
		skus := c.drawProducts(t, r)
		change, model := drawChange(r)
		filter := catalog.Filter{Status: rapid.SampledFrom([]string{"", "active"}).Draw(r, "filter")}
		before := c.contents(t)
		id, err := c.Create(t.Context(), c.by.Tenant, tenancy.Operator, "a change", filter, change)
		if err != nil {
			t.Fatal(err)
		}
		plan := c.settle(t, id)
		rows, changed := map[string]modelProduct{}, map[string]modelProduct{}
		for sku, p := range before {
			if after := model(p); (filter.Status == "" || p.Status == filter.Status) && after != p {
				rows[sku], changed[sku] = p, after
			}
		}
		if plan.State != changeplan.Planned || plan.Counts[imports.Product].Updated != int64(len(rows)) {
			r.Fatalf("the plan is %s, %v with %+v, want %d updated", plan.State, plan.Failure, plan.Counts, len(rows))
		}
		if diff := cmp.Diff(before, c.contents(t)); diff != "" {
			r.Fatalf("the plan changed products (-want +got):\n%s", diff)
		}
		for range rapid.IntRange(0, 3).Draw(r, "edits before") {
			c.drawEdit(t, r, skus)
		}
		c.checkApply(t, r, id, rows, changed)
		applied := maps.Clone(rows)
		for sku := range c.kept(t, id) {
			delete(applied, sku)
		}
		for range rapid.IntRange(0, 3).Draw(r, "edits after") {
			c.drawEdit(t, r, skus)
		}
		now := c.contents(t)
		kept := conflicts(restrict(changed, applied), rows, now)
		if err := c.Undo(t.Context(), c.by.Tenant, tenancy.Operator, id); err != nil {
			t.Fatal(err)
		}
		if plan = c.settle(t, id); plan.State != changeplan.Undone {
			r.Fatalf("the plan is %s, %v, want undone", plan.State, plan.Failure)
		}
		if diff := cmp.Diff(kept, c.kept(t, id)); diff != "" {
			r.Errorf("kept rows (-want +got):\n%s", diff)
		}
		want := write(now, restrict(changed, applied), rows, kept)
		if diff := cmp.Diff(want, c.contents(t)); diff != "" {
			r.Errorf("products after the undo (-want +got):\n%s", diff)
		}
	})
}

func TestAChangeOfChosenProducts(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	c := newChanges(t, d, "acme")
	var ids []int64
	for i, price := range []money.Cents{1000, 50, 700} {
		p, err := c.catalog.Create(t.Context(), c.by, catalog.Changes{
			SKU: catalog.Value(fmt.Sprint("P", i)), Name: catalog.Value("Product"), Price: catalog.Value(price),
		}, tenancy.InvalidError{})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, p.ID)
	}
	change := catalog.Change{PriceAmount: -100, Rounding: catalog.Rounding{Step: 100, Below: 1}}
	id, err := c.CreateChosen(t.Context(), c.by.Tenant, tenancy.Operator, "less", []int64{ids[1], ids[0], 1 << 40}, change)
	if err != nil {
		t.Fatal(err)
	}
	plan := c.settle(t, id)
	if counts := plan.Counts[imports.Product]; plan.State != changeplan.Planned || counts.Updated != 1 || counts.Refused != 1 {
		t.Fatalf("the plan is %s with %+v, want one price below zero", plan.State, counts)
	}
	stages := func(want changeplan.Stage) {
		t.Helper()
		rows, err := c.Rows(t.Context(), c.by.Tenant, id, changeplan.RowFilter{Page: paging.Page{Number: 1, PerPage: 10}})
		if err != nil || len(rows.Items) != 2 {
			t.Fatalf("%d rows, %v", len(rows.Items), err)
		}
		for _, row := range rows.Items {
			if row.Stage != want {
				t.Errorf("the row %s is %s, want %s", row.Key, row.Stage, want)
			}
		}
	}
	price := func(sku string) money.Cents { return money.Cents(c.contents(t)[sku].Price) }
	stages(changeplan.IsPlanned)
	if err := c.Apply(t.Context(), c.by.Tenant, tenancy.Operator, id, false); err != nil {
		t.Fatal(err)
	}
	if plan = c.settle(t, id); plan.State != changeplan.Applied || price("P0") != 899 || price("P1") != 50 || price("P2") != 700 {
		t.Errorf("the plan is %s, the products are %+v", plan.State, c.contents(t))
	}
	stages(changeplan.IsApplied)
	if err := c.Undo(t.Context(), c.by.Tenant, tenancy.Operator, id); err != nil {
		t.Fatal(err)
	}
	if plan = c.settle(t, id); plan.State != changeplan.Undone || price("P0") != 1000 {
		t.Errorf("the plan is %s, the products are %+v", plan.State, c.contents(t))
	}
	stages(changeplan.IsUndone)
	if _, err := c.CreateChosen(t.Context(), c.by.Tenant, tenancy.Operator, "none", nil, change); err == nil {
		t.Error("a change of no products is a plan")
	}
}

// checkApply applies a plan, without its changed rows if there are any.
func (c changes) checkApply(t testing.TB, r *rapid.T, id int64, rows, changed map[string]modelProduct) {
	now := c.contents(t)
	found := conflicts(rows, changed, now)
	for _, force := range []bool{false, true} {
		if err := c.Apply(t.Context(), c.by.Tenant, tenancy.Operator, id, force); err != nil {
			t.Fatal(err)
		}
		plan, want, wantState := c.settle(t, id), now, changeplan.Planned
		if force || len(found) == 0 {
			want, wantState = write(now, rows, changed, found), changeplan.Applied
		}
		if plan.State != wantState {
			r.Fatalf("the plan is %s, %v, want %s with the conflicts %v", plan.State, plan.Failure, wantState, found)
		}
		if diff := cmp.Diff(found, c.kept(t, id)); diff != "" {
			r.Errorf("changed rows (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, c.contents(t)); diff != "" {
			r.Errorf("products (-want +got):\n%s", diff)
		}
		if wantState == changeplan.Applied {
			return
		}
	}
}

// restrict returns the products that are also in others.
func restrict(products, others map[string]modelProduct) map[string]modelProduct {
	products = maps.Clone(products)
	maps.DeleteFunc(products, func(sku string, _ modelProduct) bool {
		_, is := others[sku]
		return !is
	})
	return products
}

// A process is killed between two parts, of apply and of undo. Another one continues with the next part.
func TestAPlanOfChangesContinuesAfterAProcessWasKilled(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	c := newChanges(t, d, "acme")
	const products = 2500 // three parts
	rows := make([]catalog.Row, products)
	for i := range rows {
		rows[i] = catalog.Row{Changes: catalog.Changes{
			SKU: catalog.Value(fmt.Sprint("P", i)), Name: catalog.Value("Product"), Price: catalog.Value[money.Cents](1000),
		}}
	}
	if _, err := c.catalog.Upsert(t.Context(), c.by, rows); err != nil {
		t.Fatal(err)
	}
	id, err := c.Create(t.Context(), c.by.Tenant, tenancy.Operator, "10 %", catalog.Filter{}, catalog.Change{PricePercent: 10_00})
	if err != nil {
		t.Fatal(err)
	}
	c.settle(t, id)
	// work ends after one part as if its process was killed, and lets another process claim the plan.
	work := func() {
		t.Helper()
		killed := newChanges(t, d, fmt.Sprint("killed-", time.Now().UnixNano()))
		if err := killed.worker.Claim(t.Context(), c.by.Tenant, id, nil); err != nil {
			t.Fatal(err)
		}
		ctx, kill := context.WithCancel(t.Context())
		if err := killed.worker.Work(ctx, c.by.Tenant, id, func(changeplan.Plan) { kill() }); !errors.Is(err, context.Canceled) {
			t.Fatalf("Work of a process that is killed = %v", err)
		}
	}
	if err := c.Apply(t.Context(), c.by.Tenant, tenancy.Operator, id, false); err != nil {
		t.Fatal(err)
	}
	work()
	if plan := c.settle(t, id); plan.State != changeplan.Applied || plan.Counts[imports.Product].Updated != products {
		t.Fatalf("the plan is %s with %+v, want applied", plan.State, plan.Counts)
	}
	for sku, p := range c.contents(t) {
		if p.Price != 1100 {
			t.Fatalf("%s costs %d, want 1100: once 10 percent more", sku, p.Price)
		}
	}
	if err := c.Undo(t.Context(), c.by.Tenant, tenancy.Operator, id); err != nil {
		t.Fatal(err)
	}
	work()
	if plan := c.settle(t, id); plan.State != changeplan.Undone {
		t.Fatalf("the plan is %s, want undone", plan.State)
	}
	for sku, p := range c.contents(t) {
		if p.Price != 1000 {
			t.Fatalf("%s costs %d, want 1000", sku, p.Price)
		}
	}
	plan, err := c.worker.Get(t.Context(), c.by.Tenant, id)
	if days := time.Until(plan.ExpiresAt).Hours() / 24; err != nil || days < 29 || days > 30 {
		t.Errorf("the plan expires in %.1f days, %v, want 30", days, err)
	}
}
