package browser

import (
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/people"
)

// mustPlan stores two products and returns a plan that raises their prices by 10 percent.
func (s *site) mustPlan(t *testing.T) (id int64) {
	t.Helper()
	by := catalog.Actor{Tenant: s.tenant.ID}
	for sku, price := range map[string]money.Cents{"CUP": 500, "MUG": 950} {
		_, err := catalog.New(s.DB).Upsert(t.Context(), by, []catalog.Row{{Changes: catalog.Changes{
			SKU: catalog.Value(sku), Name: catalog.Value(sku), Price: catalog.Value(price),
		}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	plans := imports.NewChanges(changeplan.New(s.DB, imports.Kinds(s.DB, imports.Pictures{})))
	id, err := plans.Create(t.Context(), s.tenant.ID, tenancy.Actor{Name: "API key Prices"}, "price +10.00 % (all products)",
		catalog.Filter{}, catalog.Change{PricePercent: 10_00})
	if err == nil {
		_, err = plans.Settle(t.Context(), s.tenant.ID, id, time.Minute)
	}
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestAPlanInTheBrowser(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.newTab(t)
	b.signIn(s.mustPerson(t, "ann", people.Admin))
	b.mustOpen(s.page("plans"))
	b.check("plans-empty")
	s.mustPlan(t)
	b.mustOpen(s.page("plans"))
	b.wantText("price +10.00 %", "Ready to review", "API key Prices")
	b.check("plans")
	b.press("price +10.00 % (all products)")
	b.wantText("Nothing has been written yet", "MUG", "9.50 → 10.45", "5.00 → 5.50")
	b.check("plan")
	page := b.path()
	s.exec(t, `update products set price = 960 where sku = 'MUG'`)
	b.press("Change 2 products")
	b.await("Nothing was changed.")
	b.wantText("Apply the changes without these rows?")
	b.press("Show these rows")
	b.wantText("MUG", "Price per unit has another value")
	b.check("plan-changed")
	b.press("Apply without the changed rows")
	b.await("You can undo it until")
	b.check("plan-applied")
	b.press("undo it")
	b.wantText("Undo this price change?")
	b.check("plan-undo")
	b.press("Undo")
	b.await("This price change was undone")
	b.mustOpen(s.page("audit"))
	b.wantText("Applied a price change", "Undid a price change")

	viewer := s.newTab(t)
	viewer.signIn(s.mustPerson(t, "vera", people.Viewer))
	viewer.mustOpen(page)
	viewer.wantText("This price change was undone")
}

func TestAPlanWithoutJavaScript(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.mustPlan(t)
	b := s.newTab(t)
	b.signIn(s.mustPerson(t, "ann", people.Admin))
	b.do(call(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	b.mustOpen(s.page("plans"))
	b.press("price +10.00 % (all products)")
	b.press("Change 2 products")
	b.await("You can undo it until")
	b.press("undo it")
	b.press("Undo")
	b.await("This price change was undone")
}
