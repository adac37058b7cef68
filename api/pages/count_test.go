package pages

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/people"
)

// mustStock creates a product with a stock, a cost and a bin location in the default warehouse.
func (s *site) mustStock(t *testing.T, sku, upc, bin string, quantity int64) catalog.Product {
	t.Helper()
	p, err := catalog.New(s.Database.DB).Create(t.Context(), catalog.Actor{Tenant: s.a.ID}, catalog.Changes{
		SKU: catalog.Value(sku), Name: catalog.Value("Tea " + sku), Price: catalog.Value(money.Cents(900)),
		Cost: catalog.Value(money.Cents(77_70)), UPC: catalog.Value(upc), BinLocation: catalog.Value(bin),
		Quantity: catalog.Value(quantity),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (s *site) mustAdjust(t *testing.T, product int64, kind string, quantity int64) {
	t.Helper()
	_, _, err := catalog.New(s.Database.DB).Adjust(t.Context(), catalog.Actor{Tenant: s.a.ID}, product,
		catalog.AdjustRequest{Type: catalog.Value(kind), Quantity: catalog.Value(quantity)}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

// A clerk scans one product after the other: barcode, number, barcode, number. What is sold meanwhile is right in the
// end, and the page shows no stock before the check.
func TestAClerkCountsWhileTheShopSells(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	clerk, page := s.mustVisitor(t, "clara", people.Clerk), s.path("/count")
	green, black := s.mustStock(t, "GREEN", "4006381333931", "R1", 7391), s.mustStock(t, "BLACK", "5012345678900", "R2", 6842)
	white := s.mustStock(t, "WHITE", "5012345678917", "R2", 5173)
	blind := func(body string) string {
		t.Helper()
		for _, stock := range []string{"7391", "7,391", "6842", "6,842", "5173", "5,173", "7389", "7,389"} {
			if strings.Contains(body, stock) {
				t.Errorf("the sheet shows the stock %s", stock)
			}
		}
		return body
	}
	step := func(body, action string, status int, others ...string) string {
		t.Helper()
		return s.post(t, clerk, page, formOf(t, body, page, append(others, "action", action)...), status).body
	}
	q := func(p catalog.Product) string { return fmt.Sprint("q-", p.ID) }
	body := blind(s.get(t, clerk, page, http.StatusOK, `name="code"`).body)
	step(body, "next", http.StatusUnprocessableEntity, "code", "4006381333000")
	body = blind(step(body, "next", http.StatusOK, "code", "4006381333931"))
	if !strings.Contains(body, `id="`+q(green)+`" name="`+q(green)+`" value="" inputmode="numeric" pattern="[0-9]*" maxlength="10" autocomplete="off" autofocus`) {
		t.Errorf("after the barcode the field of the quantity is not the next one:\n%s", body)
	}
	s.mustAdjust(t, green.ID, "remove", 2) // before it is counted: 7389 are left in the books
	body = blind(step(body, "next", http.StatusOK, q(green), "7380"))
	mustHave(t, body, `maxlength="100" autocomplete="off" autocapitalize="off" spellcheck="false" autofocus`)
	s.mustAdjust(t, green.ID, "remove", 30) // after it was counted
	body = blind(step(body, "next", http.StatusOK, "code", "BLACK"))
	body = blind(step(body, "next", http.StatusOK, q(black), "6801"))
	body = blind(step(body, "next", http.StatusOK, "code", "5012345678917")) // white is scanned, but not counted
	for _, text := range []string{"-1", "1.5", "x", "99999999999"} {
		blind(step(body, "check", http.StatusUnprocessableEntity, q(white), text))
	}
	s.mustAdjust(t, black.ID, "add", 5)
	checked := step(body, "check", http.StatusOK)
	text := plain(checked)
	mustHave(t, text, "Tea GREEN GREEN 7,380 7,389 −9", "Tea BLACK BLACK 6,801 6,842 −41")
	if strings.Contains(text, "Tea WHITE") || strings.Contains(text, "Value") || strings.Contains(checked, "699.30") || strings.Contains(checked, "77.70") {
		t.Errorf("the check has a product that was not counted, or a value:\n%s", text)
	}
	admin := s.mustVisitor(t, "ann", people.Admin)
	mustHave(t, plain(s.post(t, admin, page, formOf(t, body, page, "action", "check"), http.StatusOK).body), "−699.30", "Value at cost")
	s.mustAdjust(t, green.ID, "remove", 1) // also after the check
	apply := formOf(t, checked, page, "action", "apply", "notes", "Shelf by the door")
	for range 2 { // a double click
		to := s.post(t, clerk, page, apply, http.StatusSeeOther).Header.Get("Location")
		mustHave(t, plain(s.get(t, clerk, to, http.StatusOK).body), "2 products counted. 2 corrected.")
	}
	for id, want := range map[int64]int{green.ID: 7380 - 31, black.ID: 6806, white.ID: 5173} {
		if got := s.stockOf(t, id); got != want {
			t.Errorf("product %d has %d, want %d", id, got, want)
		}
	}
	mustHave(t, plain(s.get(t, clerk, s.path("/products/"+strconv.FormatInt(green.ID, 10)), http.StatusOK).body),
		"Counted Shelf by the door clara", "−9 7,349")
	log := plain(s.get(t, admin, s.path("/audit?act=stock."), http.StatusOK).body)
	mustHave(t, log, "clara", "Applied a stock count", "Main warehouse", "1 entry")

	s.mustAdjust(t, green.ID, "set", 7000)
	late := s.post(t, clerk, page, formOf(t, checked, page, "action", "apply", "request", strings.Repeat("C", 26)),
		http.StatusUnprocessableEntity, "The stock was set since you counted", "Leave out 2 products").body
	s.post(t, clerk, page, formOf(t, late, page, "action", "apply", "skip", "1"), http.StatusSeeOther, "counted=0", "left_out=2")
	if got := s.stockOf(t, green.ID); got != 7000 {
		t.Errorf("a count of before has replaced a later one: %d", got)
	}
}

// The sheet of a shelf has its products in the order of the places, and blanks are not counted.
func TestTheSheetOfAShelfIsCountedOnPaper(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	admin, page := s.mustVisitor(t, "ann", people.Admin), s.path("/count")
	first, second := s.mustStock(t, "FIRST", "4006381333931", "R1", 4321), s.mustStock(t, "SECOND", "5012345678900", "R1b", 4322)
	s.mustStock(t, "THIRD", "5012345678917", "R2", 4323)
	body := s.get(t, admin, page+"?show=1&bin=r1", http.StatusOK).body
	mustHave(t, plain(body), "Tea FIRST FIRST R1 4006381333931 Tea SECOND SECOND R1b 5012345678900")
	if strings.Contains(body, "THIRD") || strings.Contains(body, "432") {
		t.Errorf("the sheet has another shelf, or the stock:\n%s", body)
	}
	nothing := formOf(t, body, page, "action", "check")
	s.post(t, admin, page, nothing, http.StatusUnprocessableEntity, "Nothing is counted yet.")
	form := formOf(t, body, page, "action", "check", fmt.Sprint("q-", first.ID), "0")
	checked := s.post(t, admin, page, form, http.StatusOK, "−335,741.70").body
	if strings.Contains(checked, "SECOND") {
		t.Error("a blank is counted")
	}
	s.post(t, admin, page, formOf(t, checked, page, "action", "apply"), http.StatusSeeOther)
	if a, b := s.stockOf(t, first.ID), s.stockOf(t, second.ID); a != 0 || b != 4322 {
		t.Errorf("the stock is %d and %d, want 0 and 4322", a, b)
	}
	for _, form := range []url.Values{{}, {"request": {strings.Repeat("A", 26)}, "p": {"x"}}, {"request": {"x"}, "p": {"1"}}} {
		s.post(t, admin, page, form, http.StatusBadRequest)
	}
	many := url.Values{"request": {strings.Repeat("A", 26)}}
	for i := range maxCounted + 1 {
		many.Add("p", strconv.Itoa(i))
	}
	s.post(t, admin, page, many, http.StatusBadRequest)
}

// A number is of the moment when it was counted, or it is asked for again.
func TestACountIsNeverOfAnotherMoment(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	clerk, page := s.mustVisitor(t, "clara", people.Clerk), s.path("/count")
	typed, paper, old := s.mustStock(t, "TYPED", "4006381333931", "R1", 10), s.mustStock(t, "PAPER", "5012345678900", "R1", 10),
		s.mustStock(t, "OLD", "5012345678917", "R1", 10)
	s.alter(t, `update inventory_adjustments set created_at = created_at - interval '15 hours'`)
	s.mustAdjust(t, typed.ID, "remove", 4)
	s.mustAdjust(t, paper.ID, "remove", 4)
	s.alter(t, `update inventory_adjustments set created_at = created_at - interval '5 hours'`)
	q := func(prefix string, p catalog.Product) string { return fmt.Sprint(prefix, "q-", p.ID) }
	step := func(body, action string, status int, others ...string) string {
		t.Helper()
		return s.post(t, clerk, page, formOf(t, body, page, append(others, "action", action)...), status).body
	}
	body := s.get(t, clerk, page+"?show=1&bin=r1", http.StatusOK).body
	body = step(body, "next", http.StatusOK, q("", typed), "9", q("ago-", typed), "40000")
	body = step(body, "next", http.StatusOK, q("", paper), "9", q("ago-", paper), "7200", "before", "14400")
	late := step(body, "next", http.StatusUnprocessableEntity, q("", old), "9", q("ago-", old), "43201", "before", "0")
	mustHave(t, plain(late), "This was counted more than 12 hours ago. Count it again.")
	if form := formOf(t, late, page); form.Get(q("", old)) != "" || form.Get(q("", typed)) != "9" {
		t.Errorf("after a number that is too old the form has %v", form)
	}
	checked := step(late, "check", http.StatusOK)
	s.post(t, clerk, page, formOf(t, checked, page, "action", "apply"), http.StatusSeeOther)
	for _, p := range []catalog.Product{typed, paper} {
		if got := s.stockOf(t, p.ID); got != 5 {
			t.Errorf("%s has %d, want 9 less the 4 that were sold since", p.SKU, got)
		}
	}
	long := formOf(t, checked, page, "action", "apply", "notes", strings.Repeat("x", 1001), "request", strings.Repeat("B", 26))
	s.post(t, clerk, page, long, http.StatusUnprocessableEntity, "Enter at most 1,000 characters.")

	// The same number is a new count after the sheet has asked for it, and if it was typed again.
	repeat := step(late, "check", http.StatusOK)
	mustHave(t, plain(repeat), "The stock was set since you counted")
	sheet := step(repeat, "next", http.StatusOK)
	mustHave(t, plain(sheet), "Count again.")
	if form := formOf(t, sheet, page); form.Get(q("", typed)) != "" {
		t.Errorf("the sheet has a number that must be counted again: %v", form)
	}
	for _, body := range []string{
		step(sheet, "check", http.StatusOK, q("", typed), "9"),
		step(late, "check", http.StatusOK, q("ago-", typed), "0", q("", paper), ""),
	} {
		mustHave(t, plain(body), "Tea TYPED TYPED 9 5 +4")
	}
	// The longest form of the most products is accepted.
	many, longest := url.Values{"request": {strings.Repeat("A", 26)}}, strings.Repeat("9", 18)
	for i := range maxCounted {
		id := strconv.Itoa(100_000_000_000_000_000 + i)
		many.Add("p", id)
		for _, name := range []string{"was-q-", "s-", "q-", "ago-q-"} {
			many.Set(name+id, longest[:10])
		}
		many.Set("s-"+id, longest)
	}
	if n := len(many.Encode()); n > MaxForm*9/10 {
		t.Errorf("a form of %d products has %d bytes", maxCounted, n)
	}
}

func TestAClerkMovesStock(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	clerk, product := s.mustVisitor(t, "clara", people.Clerk), s.mustStock(t, "TEA", "4006381333931", "R1", 9)
	path := s.path(fmt.Sprint("/products/", product.ID))
	s.get(t, clerk, path+"/move", http.StatusOK, "There is only one warehouse")
	cellar, err := catalog.New(s.Database.DB).CreateReference(t.Context(), s.a.ID, catalog.Warehouses, catalog.Value("Cellar"), nil)
	if err != nil {
		t.Fatal(err)
	}
	to := link(t, s.get(t, clerk, path, http.StatusOK).body, "Move stock")
	body := s.get(t, clerk, to, http.StatusOK, "Main warehouse: 9").body
	move := formOf(t, body, path+"/move", "quantity", "4", "notes", "For the weekend")
	if move.Get("to") != fmt.Sprint(cellar.ID) || move.Get("from") != fmt.Sprint(product.WarehouseID) {
		t.Errorf("the form moves from %s to %s", move.Get("from"), move.Get("to"))
	}
	for range 2 { // a double click
		s.post(t, clerk, path+"/move", move, http.StatusSeeOther, path)
	}
	page := plain(s.get(t, clerk, path, http.StatusOK).body)
	mustHave(t, page, "Main warehouse 5 Cellar 4 Total 9", "Moved to Cellar: For the weekend", "Moved from Main warehouse: For the weekend")
	for _, test := range []struct{ field, text, want string }{
		{"quantity", "", "Enter a whole number from 1."}, {"quantity", "0", "Enter a whole number from 1."},
		{"quantity", "6", "There is not enough in this warehouse."}, {"to", move.Get("from"), "Choose another warehouse."},
		{"notes", strings.Repeat("x", 1001), "Enter at most 1,000 characters."},
	} {
		form := formOf(t, body, path+"/move", "quantity", "1", "request", strings.Repeat("B", 26))
		form.Set(test.field, test.text)
		s.post(t, clerk, path+"/move", form, http.StatusUnprocessableEntity, test.want)
	}
	strange := formOf(t, body, path+"/move", "quantity", "1", "to", "999", "request", strings.Repeat("C", 26))
	s.post(t, clerk, path+"/move", strange, http.StatusBadRequest)
	if got := s.stockOf(t, product.ID); got != 9 {
		t.Errorf("moves have changed the stock to %d, want 9", got)
	}
	admin := s.mustVisitor(t, "ann", people.Admin)
	mustHave(t, plain(s.get(t, admin, s.path("/audit?act=stock."), http.StatusOK).body), "Moved stock", "TEA", "1 entry")
}
