package pages

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/people"
)

func TestCustomers(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "ada", people.Admin)
	mustHave(t, s.mustGet(t, cookie, "/customers", "en"), "No customers yet")
	one, two := sale("A1", "2026-03-02", 150_00, nil), sale("B1", "2026-03-03", 10_00, nil)
	one.Customer = &sales.Customer{ID: "C/7 ü", Name: new("Ada Byron"), Email: new("ada@example.com")}
	two.Customer = &sales.Customer{ID: "C-8", Name: new("Bob")}
	s.mustSell(t, one, two)
	mustHave(t, s.mustGet(t, cookie, "/customers", "en"), "2 customers", "Bob C-8", "Ada Byron C/7 ü ada @example .com")
	mustHave(t, s.mustGet(t, cookie, "/customers?search=byron", "en"), "1 customer,", "Ada Byron")
	mustHave(t, s.mustGet(t, cookie, "/customers?search=zed", "en"), "No customers match this search")
	page := "/customers/" + url.PathEscape("C/7 ü")
	mustHave(t, s.mustGet(t, cookie, page, "en"), "Ada Byron", "Customers Ada Byron C/7 ü", "E-mail ada @example .com", "Orders 1 Revenue 300.00",
		"A1 2 Mar 2026, 12:00 300.00 Placed", "Download all data Erase")
	if got := s.do(t, call{path: s.path("/customers.csv?search=ada"), cookie: cookie}).body; got !=
		"id,name,email\r\nC/7 ü,Ada Byron,ada@example.com\r\n" {
		t.Errorf("customers.csv = %q", got)
	}
	mustHave(t, s.mustGet(t, cookie, page+"/erase", "en"), "Erase “Ada Byron”?")
	if !strings.Contains(s.stored(t), "Ada Byron") {
		t.Error("the confirmation erases the customer")
	}
	got := s.do(t, call{path: s.path(page + "/erase"), cookie: cookie, form: url.Values{}})
	if got.StatusCode != http.StatusSeeOther || got.Header.Get("Location") != s.path(page) {
		t.Errorf("erase = %d to %s", got.StatusCode, got.Header.Get("Location"))
	}
	mustHave(t, s.mustGet(t, cookie, page, "en"), "Customer C/7 ü", "Erased on", "Orders 1 Revenue 300.00")
	if all := s.stored(t); strings.Contains(all, "Ada Byron") || strings.Contains(all, "ada@example.com") {
		t.Error("the name or the e-mail address is still stored")
	}
	mustHave(t, s.mustGet(t, cookie, "/audit?act=customer.", "en"), "Erased a customer", "C/7 ü")
}
