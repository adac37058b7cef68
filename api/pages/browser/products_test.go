package browser

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/storeroom/storeroom/tenancy/people"
)

// A person chooses products in the list, changes their prices, applies the change and takes it back.
func TestProductsAreChangedInTheBrowser(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.mustPlan(t) // stores CUP and MUG
	b := s.newTab(t)
	b.signIn(s.mustPerson(t, "ann", people.Admin))
	b.mustOpen(s.page("products"))
	b.check("products-list")
	b.do(chromedp.Click(`label[data-pick-all] input`))
	if n := evaluate[int](b, `document.querySelectorAll("input[name=id]:checked").length`); n != 2 {
		t.Errorf("the box chooses %d products, want 2", n)
	}
	b.press("Change…")
	b.wantText("Change 2 products", "MUG, CUP")
	b.do(chromedp.SetValue(`#price_how`, "more_percent"), chromedp.SetValue(`#rounding`, ".99"))
	b.press("Preview the changes")
	b.wantText("Please correct the following", "Enter a percentage")
	b.check("product-change")
	b.do(chromedp.SendKeys(`#price`, "10"))
	b.press("Preview the changes")
	b.wantText("Nothing has been written yet", "Will change", "5.00 → 5.99", "9.50 → 9.99")
	b.press("Change 2 products")
	b.wantText("You can undo it until", "Changed")
	b.check("plan-of-products")
	b.press("undo it")
	b.press("Undo")
	b.wantText("This price change was undone", "Put back")

	b.mustOpen(s.page("products") + "?stock=out&sort=-stock")
	b.wantText("MUG", "CUP")
	b.mustOpen(s.page("products/labels") + "?all=1&copies=2")
	b.wantText("Labels of 2 products.")
	b.check("labels")
	b.mustOpen(s.page("products/new"))
	b.check("product-new")
	b.fill("SKU", "POT")
	b.fill("Name", "A pot")
	b.fill("Price", "12.50")
	b.press("Save")
	b.wantText("A pot", "The stock has not changed yet.")
	b.press("Edit")
	b.check("product-edit")
}
