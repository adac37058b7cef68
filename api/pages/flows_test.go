package pages

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/people"
)

// link returns the address of the first link whose text or label matches.
func link(t *testing.T, body, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(`<a [^>]*href="([^"]*)"[^>]*>\s*(?:` + pattern + `)`).FindStringSubmatch(body)
	if found == nil {
		t.Fatalf("the page has no link %s:\n%s", pattern, body)
	}
	return html.UnescapeString(found[1])
}

// mustSellForFlows stores two shops with orders, one of them with a refund and one cancelled.
func (s *site) mustSellForFlows(t *testing.T) (product int64) {
	t.Helper()
	product = s.mustLamp(t)
	var sku string
	if err := s.super.QueryRow(t.Context(), `select sku from products where id = $1`, product).Scan(&sku); err != nil {
		t.Fatal(err)
	}
	first, second := sale("A1", "2026-03-02", 150_00, nil), sale("B1", "2026-03-09", 500_00, nil)
	first.Items[0].SKU, first.Channel, second.Channel = sku, "high-street", "online"
	first.Customer = &sales.Customer{ID: "C/7", Name: new("Ada Byron")}
	gone, earlier := sale("C1", "2026-03-10", 70_00, nil), sale("D1", "2025-03-03", 200_00, nil)
	gone.Channel, earlier.Channel = "online", "online"
	s.mustSell(t, first, second, gone, earlier)
	if _, err := sales.New(s.Database.DB).Cancel(t.Context(), s.a.ID, "C1", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := sales.New(s.Database.DB).Refund(t.Context(), s.a.ID, []sales.RefundRow{{Refund: sales.Refund{
		OrderNumber: "A1", Amount: 40_00, RefundedAt: new(time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)),
	}}}); err != nil {
		t.Fatal(err)
	}
	return product
}

// From each figure of the overview, a person reaches the orders behind it.
func TestFiguresLeadToTheirOrders(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "ann", people.Admin)
	product := s.mustSellForFlows(t)
	const march = "?from=2026-03-01&to=2026-03-31"
	overview := s.get(t, cookie, s.path("/overview"+march), http.StatusOK).body
	april := s.get(t, cookie, s.path("/overview?from=2026-04-01&to=2026-04-30"), http.StatusOK).body
	page := s.get(t, cookie, s.path(fmt.Sprint("/products/", product)), http.StatusOK).body
	customer := s.get(t, cookie, s.path("/customers/C%2F7"), http.StatusOK).body
	for _, test := range []struct{ name, body, pattern, has, hasNot string }{
		{"the tile", overview, "Orders</a></h2>", "A1 B1", "C1 D1"},
		{"a day", overview, "2 Mar<", "A1", "B1"},
		{"a shop", overview, `1</a></td><td>1,000.00`, "B1", "A1"},
		{"a product", overview, "2</a></td><td>300.00", "A1", "B1"},
		{"the refunds", april, "Refunds</a></h2>", "A1", "B1"},
		{"a product's page", page, "Orders with this product", "A1", "B1"},
		{"a product's month", page, "Mar 2026<", "A1", "B1"},
		{"a customer", customer, "Orders</a></h2>", "A1", "B1"},
	} {
		to := link(t, test.body, test.pattern)
		orders := plain(s.get(t, cookie, to, http.StatusOK).body)
		for number := range strings.FieldsSeq(test.has) {
			if !strings.Contains(orders, " "+number+" ") {
				t.Errorf("%s leads to %s, which lacks %s", test.name, to, number)
			}
		}
		for number := range strings.FieldsSeq(test.hasNot) {
			if strings.Contains(orders, " "+number+" ") {
				t.Errorf("%s leads to %s, which has %s", test.name, to, number)
			}
		}
	}
	for text, report := range map[string]string{
		"All sold products": "/reports/products", "Report by shop": "/reports/shops", "Report by customer": "/reports/customers",
	} {
		if to := link(t, overview, text); !strings.HasPrefix(to, s.path(report)+"?") || !strings.Contains(to, "from=2026-03-01&to=2026-03-31") {
			t.Errorf("%s leads to %s", text, to)
		}
	}
	if bar := link(t, overview, `<rect class="tip"[^>]*><title>2 Mar`); !strings.Contains(bar, "from=2026-03-02&status=placed&to=2026-03-02") {
		t.Errorf("the bar leads to %s", bar)
	}
}

func TestTheOverviewOfOneShop(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "vera", people.Viewer)
	s.mustSellForFlows(t)
	const march = "/overview?from=2026-03-01&to=2026-03-31"
	all := s.mustGet(t, cookie, march, "en")
	mustHave(t, all, "All shops", "Shops side by side", "high-street 1 300.00 0.00", "online 1 1,000.00 400.00",
		"1 Mar 2026 to 31 Mar 2026: 1,300.00 USD net from 2 orders.")
	one := s.mustGet(t, cookie, march+"&channel=online", "en")
	mustHave(t, one, "1 Mar 2026 to 31 Mar 2026: 1,000.00 USD net from 1 order.", "Revenue 1,000.00 USD")
	if strings.Contains(one, "Best products") || strings.Contains(one, "Shops side by side") {
		t.Error("the page of one shop has figures of all shops")
	}
	empty := s.get(t, cookie, s.path("/overview?from=2026-06-01&to=2026-06-02"), http.StatusOK).body
	mustHave(t, plain(empty), "No sales in this period", "The last sale was on 9 Mar 2026, 12:00 UTC.")
	s.get(t, cookie, s.path("/overview"+link(t, empty, "Show that month")), http.StatusOK, "1,300.00")
}

func TestTheListOfOrdersHasASum(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "vera", people.Viewer)
	s.mustSellForFlows(t)
	page := s.mustGet(t, cookie, "/orders", "en")
	mustHave(t, page, "4 orders, newest first.", "A1 2 Mar 2026, 12:00 high-street Ada Byron 300.00 −40.00 Partly refunded",
		"C1 10 Mar 2026, 12:00 online Guest 140.00 Cancelled", "3 orders 1,700.00 −40.00 without cancelled")
	mustHave(t, s.mustGet(t, cookie, "/orders?status=refunded&from=2026-04-01&to=2026-04-01", "en"), "1 order,", "A1 ")
	mustHave(t, s.mustGet(t, cookie, "/orders?status=refunded&to=2026-03-31", "en"), "No orders match this filter")
	refund := sales.Refund{OrderNumber: "A1", Amount: 5_00, RefundedAt: new(time.Date(2026, 4, 3, 9, 0, 0, 0, time.UTC))}
	ofCancelled := refund
	ofCancelled.OrderNumber = "C1"
	refunds := []sales.RefundRow{{Refund: refund}, {Refund: ofCancelled}}
	if _, err := sales.New(s.Database.DB).Refund(t.Context(), s.a.ID, refunds); err != nil {
		t.Fatal(err)
	}
	mustHave(t, s.mustGet(t, cookie, "/orders?status=refunded&from=2026-04-03&to=2026-04-03", "en"), "1 order,",
		"high-street Ada Byron 300.00 −5.00 Partly refunded", "1 order 300.00 −5.00 without cancelled")
	mustHave(t, s.mustGet(t, cookie, "/overview?from=2026-04-03&to=2026-04-03", "en"), "Refunds 5.00")
	mustHave(t, s.get(t, cookie, s.path("/refunds.csv?status=refunded&from=2026-04-03&to=2026-04-03"), http.StatusOK).body, "A1,", ",5.00,")
	mustHave(t, s.mustGet(t, cookie, "/orders?from=2026-03-02&to=2026-03-01", "en"), "Enter a day that is not before the first one.")

	var many []sales.Order
	for i := range listPerPage {
		many = append(many, sale(fmt.Sprint("M", 100+i), "2026-05-02", 1_00, nil))
	}
	s.mustSell(t, many...)
	mustHave(t, s.mustGet(t, cookie, "/orders?page=2", "en"), "53 orders 1,800.00 −45.00 without cancelled")
	mustHave(t, s.mustGet(t, cookie, "/orders?search=M1&page=1", "en"), "50 orders 100.00 ")
	files := 0
	for _, name := range []string{"settings.css", "settings.js", "icon.svg"} {
		files += len(s.get(t, "", "/settings/static/"+name, http.StatusOK).body)
	}
	for _, path := range []string{"/orders", "/overview?from=2026-01-01&to=2026-06-30", "/products"} {
		body := s.get(t, cookie, s.path(path), http.StatusOK).body
		if weight := len(body) + files; weight > 100<<10 {
			t.Errorf("%s and its files have %d bytes, want at most 100 KB", path, weight)
		}
	}
}

func TestAnOrderIsAReceipt(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	admin, viewer := s.mustVisitor(t, "ann", people.Admin), s.mustVisitor(t, "vera", people.Viewer)
	s.mustSellForFlows(t)
	page := s.get(t, admin, s.path("/orders/A1"), http.StatusOK).body
	mustHave(t, plain(page), "Total 300.00 USD", "Refund of 1 Apr 2026", "−40.00", "Left after refunds 260.00 USD",
		"Placed at high-street 300.00 2 Mar 2026, 12:00", "Refunded −40.00 1 Apr 2026, 09:00")
	s.get(t, admin, link(t, page, "Ada Byron"), http.StatusOK, "C/7")
	s.get(t, admin, link(t, page, "All orders of this customer"), http.StatusOK, "A1")
	if strings.Contains(s.get(t, viewer, s.path("/orders/A1"), http.StatusOK).body, "/customers/") {
		t.Error("a viewer gets a link to a customer, whom only admins may see")
	}
}

func TestAPersonChoosesALanguage(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "vera", people.Viewer)
	mustHave(t, s.mustGet(t, cookie, "/orders", "fr-CH,fr;q=0.9"), "Pas encore de commandes")
	s.post(t, cookie, s.path("/language"), url.Values{"language": {"xx"}}, http.StatusBadRequest)
	s.post(t, cookie, s.path("/language"), url.Values{"language": {"es"}}, http.StatusSeeOther, s.path("/account"))
	for path, want := range map[string]string{
		"/orders": "Aún no hay pedidos", "/keys": "Claves de API", "/usage": "Uso", "/members": "Miembros", "/nothing": "Página no encontrada",
	} {
		if body := s.do(t, call{path: s.path(path), cookie: cookie}).body; !strings.Contains(body, want) ||
			!strings.Contains(body, `<html lang="es">`) {
			t.Errorf("%s has no %q", path, want)
		}
	}
	signIn := s.get(t, "", "/settings/sign-in?language=de", http.StatusOK, "Anmelden", `<html lang="de">`).body
	if strings.Contains(signIn, "Sign in") {
		t.Error("the page is not translated")
	}
	form := url.Values{"email": {s.email("vera")}, "password": {password}, "language": {"de"}}
	session := s.post(t, "", "/settings/sign-in", form, http.StatusSeeOther).session()
	s.get(t, session, s.path("/orders"), http.StatusOK, "Noch keine Bestellungen")
}

func TestWorkbooksHaveNamesOfTheLanguage(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "ann", people.Admin)
	s.mustSecrets(t)
	s.mustSell(t, sale("D1", "2026-03-02", 150_00, new(money.Cents(1_00))))
	s.post(t, cookie, s.path("/language"), url.Values{"language": {"de"}}, http.StatusSeeOther)
	for file, want := range map[string]string{
		"overview.xlsx?from=2026-03-01&to=2026-03-31": "[Zusammenfassung Tage Läden Vergleich Produkte]",
		"products.xlsx": "[Produkte]", "orders.xlsx": "[Bestellungen]", "customers.xlsx": "[Kunden]",
	} {
		book, err := excelize.OpenReader(strings.NewReader(s.get(t, cookie, s.path("/"+file), http.StatusOK).body))
		if err != nil {
			t.Fatal(err)
		}
		defer book.Close()
		if got := fmt.Sprint(book.GetSheetList()); got != want {
			t.Errorf("%s has the sheets %s, want %s", file, got, want)
		}
		for _, name := range book.GetSheetList() {
			rows, err := book.GetRows(name)
			if err != nil {
				t.Fatal(err)
			}
			names, isList := rows[0], len(rows[0]) == 2
			if isList {
				for _, row := range rows {
					names = append(names, row[0])
				}
				names = names[1:]
			}
			seen := map[string]bool{}
			for _, text := range names {
				if strings.Contains(text, "_") || text == strings.ToLower(text) || seen[text] {
					t.Errorf("the sheet %s has the name %q, which is of the API or repeated", name, text)
				}
				seen[text] = true
			}
		}
	}
}

func TestAShopWithoutStockIsToldSo(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1")
	cookie := s.mustVisitor(t, "vera", people.Viewer)
	for i, quantity := range []int64{0, 0, 4} {
		change := catalog.Changes{
			SKU: catalog.Value(fmt.Sprint("P", i)), Name: catalog.Value("Lamp"), Price: catalog.Value(money.Cents(1000)),
			Quantity: catalog.Value(quantity),
		}
		if _, err := catalog.New(s.Database.DB).Create(t.Context(), catalog.Actor{Tenant: s.a.ID}, change, nil); err != nil {
			t.Fatal(err)
		}
	}
	s.mustSell(t, sale("A1", "2026-03-02", 150_00, nil))
	const march = "/overview?from=2026-03-01&to=2026-03-31"
	page := s.mustGet(t, cookie, march, "en")
	mustHave(t, page, "No product is at its reorder point.")
	if strings.Contains(page, "Low: ") || strings.Contains(page, "Out of stock") {
		t.Error("products without a reorder point are low or out of stock")
	}
	s.alter(t, `update products set reorder_point = 5 where tenant_id = $1`, s.a.ID)
	s.alter(t, `update products set status = 'draft' where tenant_id = $1 and sku = 'P0'`, s.a.ID)
	mustHave(t, s.mustGet(t, cookie, march+"&compare=previous_period", "en"), "Out of stock: 1 · Low: 3 →")
	mustHave(t, s.mustGet(t, cookie, "/products?stock=low&status=active&sort=stock", "en"), "2 products.")
}
