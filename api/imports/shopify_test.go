package imports

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// fixture returns a directory with files of testdata.
func fixture(t *testing.T, names ...string) fstest.MapFS {
	t.Helper()
	dir := directory()
	for _, name := range names {
		content, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		dir[name] = directory(name, string(content))[name]
	}
	return dir
}

// sums are the amounts of an order here, in cents.
type sums struct{ revenue, discounts, tax, shipping, refunded int64 }

// sumsOf returns the sums of valid orders by number. Cancelled orders have none.
func sumsOf(t *testing.T, records []Record) map[string]sums {
	t.Helper()
	all := map[string]sums{}
	for _, r := range records {
		switch {
		case len(r.Invalid) > 0:
			t.Errorf("%s %s is refused: %v", r.Kind, r.Key, r.Invalid)
		case r.Order != nil:
			var s sums
			for _, item := range r.Order.Items {
				s.revenue += item.Quantity * int64(item.UnitPrice)
			}
			s.discounts = int64(*r.Order.DiscountTotal)
			s.revenue -= s.discounts
			s.tax, s.shipping = int64(*r.Order.TaxTotal), int64(*r.Order.ShippingTotal)
			all[r.Order.Number] = s
		case r.Refund != nil:
			s := all[r.Refund.OrderNumber]
			s.refunded += int64(r.Refund.Amount)
			all[r.Refund.OrderNumber] = s
		case r.Cancellation != nil:
			if _, exists := all[r.Cancellation.OrderNumber]; !exists {
				t.Errorf("cancellation of %s without the order", r.Cancellation.OrderNumber)
			}
		}
	}
	return all
}

// columnsOfOrders returns the amounts of the first row of each order in a file, in cents.
func columnsOfOrders(t *testing.T, name string, columns ...string) map[string][]int64 {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	rows := csvRows(t, string(text))
	all := map[string][]int64{}
	for _, row := range rows[1:] {
		for _, column := range columns {
			var whole, cents int64
			if cell := row[slices.Index(rows[0], column)]; cell != "" {
				if _, err := fmt.Sscanf(cell, "%d.%d", &whole, &cents); err != nil {
					t.Fatal(err)
				}
				all[row[0]] = append(all[row[0]], whole*100+cents)
			}
		}
	}
	return all
}

func TestShopifyOrdersHaveTheSumsOfTheirColumns(t *testing.T) {
	t.Parallel()
	set, records := mustRead(t, fixture(t, "shopify_orders.csv"), Settings{})
	mustHaveEachRowOnce(t, set, records)
	theirs := columnsOfOrders(t, "shopify_orders.csv",
		"Subtotal", "Discount Amount", "Taxes", "Shipping", "Refunded Amount", "Total")
	tips := map[string]int64{"#1004": 200}
	ours := sumsOf(t, records)
	for number, want := range theirs {
		got := ours[number]
		if diff := cmp.Diff(want, []int64{got.revenue, got.discounts, got.tax, got.shipping, got.refunded,
			got.revenue + got.tax + got.shipping + tips[number]}); diff != "" {
			t.Errorf("%s (-theirs +ours):\n%s", number, diff)
		}
	}
	if len(ours) != 6 || len(theirs) != 6 {
		t.Errorf("%d orders here, %d there", len(ours), len(theirs))
	}
	var got []string
	for _, r := range records {
		switch {
		case r.Order != nil:
			o := r.Order
			line := fmt.Sprint(o.Number, " ", o.PlacedAt.UTC().Format("2006-01-02T15:04"), " ", o.Channel)
			if o.Customer != nil {
				line += " " + *o.Customer.Email + strings.Repeat("?", 22-len(o.Customer.ID))
			}
			for _, item := range o.Items {
				line += fmt.Sprintf(" %d×%s", item.Quantity, item.SKU)
			}
			got = append(got, line)
		case r.Refund != nil:
			got = append(got, fmt.Sprint("refund ", r.Refund.OrderNumber, " ", *r.Refund.Reference, " ",
				r.Refund.RefundedAt.UTC().Format("2006-01-02"), " ", r.Cumulative))
		default:
			got = append(got, fmt.Sprint("cancel ", r.Cancellation.OrderNumber))
		}
		for _, note := range r.Notes {
			got = append(got, "  "+note.Text)
		}
	}
	want := []string{
		"#1006 2024-05-03T16:00 shopify finn@example.com 1×MUG-L", "cancel #1006",
		"#1005 2024-05-03T10:30 shopify eva@example.com 3×00123",
		"  the date of the refund is the last known date of the order",
		"refund #1005 shopify:39.75 2024-05-04 shopify:", "cancel #1005",
		"#1004 2024-05-02T07:00 pos 1×LAMP-W", "  the tip is not part of the sale",
		"#1003 2024-05-02T04:30 app-1662707 Dan@Example.com 5×DESK",
		"  the date of the refund is the last known date of the order",
		"refund #1003 shopify:100.00 2024-05-06 shopify:",
		"#1002 2024-04-30T07:58 shopify ann@example.com 2×00123 1×Poster",
		"#1001 2024-04-29T06:00 shopify 1×CUP 2×CUP", "  the order is not paid yet: pending",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

func TestShopifyOrdersThatIncludeTaxHaveRevenueWithoutIt(t *testing.T) {
	t.Parallel()
	_, records := mustRead(t, fixture(t, "shopify_orders_tax_included.csv"), Settings{})
	theirs := columnsOfOrders(t, "shopify_orders_tax_included.csv", "Subtotal", "Shipping", "Taxes", "Total")
	ours := sumsOf(t, records)
	for number, want := range theirs {
		got := ours[number]
		if got.revenue+got.tax+got.shipping != want[3] || got.tax != want[2] ||
			got.revenue+got.shipping != want[0]+want[1]-want[2] {
			t.Errorf("%s = %+v, want %v", number, got, want)
		}
	}
	want := map[string]sums{
		"#2003": {revenue: 9257, tax: 833}, "#2002": {7484, 832, 1516, 490, 0}, "#2001": {0, 0, 335, 1765, 0},
	}
	if diff := cmp.Diff(want, ours, cmp.AllowUnexported(sums{})); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
}

func TestShopifyDutiesAreAddedToPricesWithTax(t *testing.T) {
	t.Parallel()
	_, records := mustRead(t, directory("shop.csv", "Name,Financial Status,Created at,Subtotal,Shipping,Taxes,Duties,Total,"+
		"Lineitem quantity,Lineitem name,Lineitem price\n"+
		"#1,paid,2026-03-01,119.00,0.00,19.00,10.00,129.00,1,Cup,119.00\n"+
		"#2,paid,2026-03-01,129.00,0.00,19.00,10.00,129.00,1,Cup,129.00\n"+
		"#3,paid,2026-03-01,100.00,5.00,19.00,10.00,134.00,1,Cup,100.00\n"), Settings{})
	want := map[string]sums{
		"#1": {revenue: 10000, tax: 2900}, "#2": {revenue: 10000, tax: 2900}, "#3": {revenue: 10000, tax: 2900, shipping: 500},
	}
	if diff := cmp.Diff(want, sumsOf(t, records), cmp.AllowUnexported(sums{})); diff != "" {
		t.Errorf("orders (-want +got):\n%s", diff)
	}
	for _, r := range records {
		if included := r.Key != "#3"; included != (len(r.Notes) == 1) {
			t.Errorf("%s has the notes %v", r.Key, r.Notes)
		}
	}
}

func TestShopifyProductsAreVariants(t *testing.T) {
	t.Parallel()
	set := mustOpen(t, fixture(t, "shopify_products.csv"), Settings{})
	if len(set.Questions) != 1 || set.Questions[0].ID != "missing_sku" || set.Questions[0].Examples[0] != "Gift card" {
		t.Errorf("questions = %+v", set.Questions)
	}
	_, refused := mustRead(t, fixture(t, "shopify_products.csv"), Settings{MissingSKU: "refuse"})
	if diff := cmp.Diff([]string{"shopify_products.csv:5  sku is required"}, refusals(refused)); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	_, old := mustRead(t, fixture(t, "shopify_products.csv"), Settings{MissingSKU: "derive", RestoreZeros: true})
	_, renamed := mustRead(t, fixture(t, "shopify_products_2024.csv"), Settings{})
	var got []string
	for _, r := range slices.Concat(old, renamed) {
		p := r.Product
		got = append(got, fmt.Sprintf("%s|%s|%s|%s %s %s|%v|%s|%s|%s|%s|%v|%v", p.SKU.Value, p.Name.Value, p.Description.Value,
			p.Price.Value, p.MSRP.Value, p.Cost.Value, p.Quantity, p.CategoryName.Value, p.SellerName.Value, p.UPC.Value,
			p.Status.Value, p.Tags.Value, r.Notes))
	}
	want := []string{
		"00123|Mug - Small / Blue|<p>Blue &amp; white</p>|9.50 12.00 4.25|{true false 12}|Home & Garden > Kitchen > Mugs|Acme|4006381333931|active|" +
			"[gift blue]|[]",
		"MUG-L|Mug - Large / Blue|<p>Blue &amp; white</p>|11.00 0.00 0.00|{false false 0}|Home & Garden > Kitchen > Mugs|Acme|036000291452|active|" +
			"[gift blue]|[{the quantity in stock is negative and was not imported 0} " +
			"{leading zeros of the barcode were restored 0}]",
		"Gift card|Gift card||25.00 0.00 0.00|{false false 0}|Gift cards|Acme||draft|[]|[{is a gift card 0}]",
		"LAMP-W|Lamp - White|<p>Warm light</p>|49.90 59.90 20.00|{true false 7}|Lamps|Lux||active|[home]|[]",
		"LAMP-B|Lamp - Black|<p>Warm light</p>|52.00 0.00 21.00|{true false 0}|Lamps|Lux||active|[home]|[]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("products (-want +got):\n%s", diff)
	}
}

func TestAmountsInAnotherCurrencyAreRefused(t *testing.T) {
	t.Parallel()
	dir := fixture(t, "shopify_orders.csv")
	text := string(dir["shopify_orders.csv"].Data)
	dir["shopify_orders.csv"].Data = []byte(strings.ReplaceAll(text, ",EUR,", ",USD,"))
	_, records := mustRead(t, dir, Settings{})
	for _, r := range records {
		problems := strings.Join(r.Invalid["currency"], ", ")
		if r.Order != nil && problems != "is USD, but amounts here are in EUR" {
			t.Errorf("order %s has errors %v", r.Key, r.Invalid)
		}
	}
}

// Prices include tax: each item keeps its own discount.
func TestDiscountsOfItemsStayWithThemWithoutTax(t *testing.T) {
	t.Parallel()
	const file = "Name,Financial Status,Subtotal,Shipping,Taxes,Total,Discount Amount,Created at,Lineitem quantity," +
		"Lineitem name,Lineitem price,Lineitem sku,Lineitem discount,Refunded Amount\n" +
		"#1,paid,17.85,0.00,2.85,17.85,5.95,2026-03-01 10:00:00 +0000,1,Cup,11.90,C,5.95,0.00\n" +
		"#1,,,,,,,2026-03-01 10:00:00 +0000,1,Mug,11.90,M,0.00,\n"
	_, records := mustRead(t, directory("orders.csv", file), Settings{})
	want := []string{"#1 2026-03-01T10:00 shopify, 1 C à 10.00 less 5.00, 1 M à 10.00 discount 5.00 + 2.85 tax + 0.00 shipping " +
		"(prices include tax: revenue is Subtotal without Taxes)"}
	if diff := cmp.Diff(want, summary(records)); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}
