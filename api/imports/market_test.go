package imports

import (
	"bytes"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// mustSummarise fails unless the files have these records.
func mustSummarise(t *testing.T, settings Settings, want []string, names ...string) {
	t.Helper()
	set, records := mustRead(t, fixture(t, names...), settings)
	if diff := cmp.Diff(want, summary(records)); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	mustHaveEachRowOnce(t, set, records)
}

func TestSquareItemsHaveStockByLocation(t *testing.T) {
	t.Parallel()
	mustSummarise(t, Settings{MissingSKU: "derive"}, []string{
		`ESP "Espresso" 3.00 active`,
		`TEA-G "Tea tin – Green" 12.50 upc 4006381333931 draft 5 in Main Street ` +
			`(the quantity in stock is negative and was not imported)`,
		`Voucher "Voucher" 0.00 draft (has a variable price, which was not imported)`,
	}, "square_items.csv")
	_, records := mustRead(t, fixture(t, "square_items.csv"), Settings{MissingSKU: "derive"})
	var categories []string
	for _, r := range records {
		categories = append(categories, r.Product.CategoryName.Value)
	}
	if diff := cmp.Diff([]string{"Drinks > Coffee", "Tea", ""}, categories); diff != "" {
		t.Errorf("categories (-want +got):\n%s", diff)
	}
}

func TestSquareRefundsAreAttachedOnceThatIsDecided(t *testing.T) {
	t.Parallel()
	set := mustOpen(t, fixture(t, "square_sales.csv"), Settings{})
	if len(set.Questions) != 1 || set.Questions[0].ID != "refunds" || set.Questions[0].Examples[0] != "2026-07-19 Tea tin" {
		t.Errorf("questions = %+v", set.Questions)
	}
	if diff := cmp.Diff(map[string][]string{
		"attach": {"R1: refund of 13.56, of an earlier order"}, "leave_out": {"R1 is not imported: is a refund without its order"},
	}, set.Questions[0].Readings); diff != "" {
		t.Errorf("readings (-want +got):\n%s", diff)
	}
	sales := []string{
		"T3 2026-07-19T13:00 pos, 1 Cheese à 7.00 + 0.60 tax + 0.00 shipping " +
			"(a fraction of a unit was sold: its price is that of the line)",
		"T1 2026-07-18T16:59 pos, 2 Tea tin (Green) à 12.50 less 2.50, 1 Espresso à 3.00 discount 2.50 + 2.17 tax + 0.00 shipping",
		"T2 2026-07-18T12:00 online-store, 3 Espresso à 3.00 + 0.77 tax + 0.00 shipping",
	}
	mustSummarise(t, Settings{Refunds: "attach"}, append(sales[:3:3], "refund of T1: 13.56 at 2026-07-19T14:00"),
		"square_sales.csv")
	mustSummarise(t, Settings{Refunds: "leave_out"}, append([]string{"ignored: is a refund without its order"}, sales...),
		"square_sales.csv")
}

func TestSquareTransactionsCompleteTheSales(t *testing.T) {
	t.Parallel()
	_, records := mustRead(t, fixture(t, "square_sales.csv", "square_transactions.csv"), Settings{Refunds: "leave_out"})
	got := strings.Join(summary(records), "\n")
	for _, want := range []string{
		"T1 2026-07-18T16:59 pos by C9, 2 Tea tin (Green) à 12.50 less 2.50, 1 Espresso à 3.00, 1 service-charge à 1.00 " +
			"discount 2.50 + 2.17 tax + 0.00 shipping (the tip is not part of the sale)\n",
		"T9 2026-07-20T12:00 pos, 1 square-sale à 5.00 + 0.43 tax + 0.00 shipping " +
			"(Square's transactions name no items) (the date of the refund is the last known date of the order)\n" +
			"refund of T9: 1.00 at 2026-07-20T12:00",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("records =\n%s\nwithout\n%s", got, want)
		}
	}
}

func TestSquareTimeZonesAreKnownOrRefused(t *testing.T) {
	t.Parallel()
	for zone, want := range map[string]string{"Saskatchewan": "2026-07-18T16:00:00Z", "Edinburgh": "2026-07-18T09:00:00Z",
		"": "2026-07-18T10:00:00Z", "Atlantis": ""} {
		_, records := mustRead(t, directory("transactions.csv", "Date,Time,Time Zone,Gross Sales,Net Sales,Total Collected,"+
			"Transaction ID,Event Type\n2026-07-18,10:00:00,"+zone+",$12.00,$12.00,$12.00,T1,Payment\n"), Settings{})
		r := records[0]
		if problem := r.Invalid.Error(); want == "" && problem != `placed_at is in an unknown time zone, "Atlantis"` ||
			want != "" && r.Order.PlacedAt.UTC().Format(time.RFC3339) != want {
			t.Errorf("%q: placed at %s, errors %v", zone, r.Order.PlacedAt.UTC(), r.Invalid)
		}
	}
}

// Transactions name neither the item nor the sale of a refund.
func TestSquareRefundsWithoutItemsAreNotIgnored(t *testing.T) {
	t.Parallel()
	const text = "Date,Time,Time Zone,Gross Sales,Discounts,Service Charges,Net Sales,Tax,Tip,Partial Refunds," +
		"Total Collected,Source,Transaction ID,Event Type\n" +
		"2026-07-18,10:00:00,UTC,$12.00,$0.00,$0.00,$12.00,$0.96,$0.00,$0.00,$12.96,Register,T1,Payment\n" +
		"2026-07-19,10:00:00,UTC,-$12.00,$0.00,$0.00,-$12.00,-$0.96,$0.00,$0.00,-$12.96,Register,R1,Refund\n" +
		"2026-07-19,11:00:00,UTC,$0.00,$0.00,$0.00,$0.00,$0.00,$0.00,-$5.00,-$5.00,Register,R2,Refund\n"
	const sale = "T1 2026-07-18T10:00 pos, 1 square-sale à 12.00 + 0.96 tax + 0.00 shipping " +
		"(Square's transactions name no items)"
	const refused = "refused: order_number is not known: upload Square's item sales too"
	for answer, want := range map[string][]string{
		"attach":    {sale, refused, refused},
		"leave_out": {sale, "ignored: is a refund without its order", "ignored: is a refund without its order"},
	} {
		set, records := mustRead(t, directory("transactions.csv", text), Settings{Refunds: answer})
		if diff := cmp.Diff(want, summary(records)); diff != "" {
			t.Errorf("records (-want +got):\n%s", diff)
		}
		mustHaveEachRowOnce(t, set, records)
	}
}

func TestEtsyItemsAndOrdersAreReadAloneAndTogether(t *testing.T) {
	t.Parallel()
	refund := []string{
		"300002 2026-01-05T00:00 etsy by benx, 4 etsy-502 à 3.50 + 0.00 tax + 2.50 shipping " +
			"(the date of the refund is the last known date of the order)",
		"refund of 300002: 6.50 at 2026-01-05T00:00",
	}
	mustSummarise(t, Settings{}, append([]string{
		"300001 2025-12-30T00:00 etsy by annx, 2 MUG à 20.00, 1 etsy-502 à 3.50 discount 4.00 + 0.00 tax + 5.00 shipping " +
			"(Order Total has more than items, tax and shipping: tax that Etsy pays)",
	}, refund...), "etsy_items.csv", "etsy_orders.csv")
	mustSummarise(t, Settings{}, []string{
		"300001 2025-12-30T00:00 etsy by annx, 2 MUG à 20.00, 1 etsy-502 à 3.50 discount 4.00 + 1.20 tax + 5.00 shipping",
		"300002 2026-01-05T00:00 etsy by benx, 4 etsy-502 à 3.50 + 0.00 tax + 2.50 shipping",
	}, "etsy_items.csv")
	mustSummarise(t, Settings{}, []string{
		"300001 2025-12-30T00:00 etsy by annx, 1 Etsy order à 43.50 discount 4.00 + 0.00 tax + 5.00 shipping " +
			"(Etsy's orders name no items) (Order Total has more than items, tax and shipping: tax that Etsy pays)",
		"300002 2026-01-05T00:00 etsy by benx, 1 CARD à 14.00 + 0.00 tax + 2.50 shipping " +
			"(Etsy's orders name no items) (the date of the refund is the last known date of the order)",
		refund[1],
	}, "etsy_orders.csv")
}

func TestEtsyShippingOfBritishSellersIsDelivery(t *testing.T) {
	t.Parallel()
	dir := fixture(t, "etsy_orders.csv", "etsy_items.csv")
	for name, file := range dir {
		file.Data = bytes.Replace(file.Data, []byte("Shipping Discount,"), []byte("Delivery Discount,"), 1)
		file.Data = bytes.Replace(file.Data, []byte(",Order Shipping,"), []byte(",Order Delivery,"), 1)
		file.Data = bytes.Replace(file.Data, []byte(",Shipping,"), []byte(",Delivery,"), 1)
		_, records := mustRead(t, fstest.MapFS{name: file}, Settings{})
		for i, want := range []int64{500, 250} {
			if got := *records[i].Order.ShippingTotal; int64(got) != want {
				t.Errorf("%s: order %s has shipping %s", name, records[i].Key, got)
			}
		}
	}
}

func TestEtsyShippingIsWhatTheBuyerPaid(t *testing.T) {
	t.Parallel()
	const text = "Sale Date,Order ID,Buyer,Currency,Order Value,Discount Amount,Shipping Discount,Shipping,Sales Tax," +
		"Order Total,Status,Card Processing Fees,Order Net\n" +
		"12/30/25,1,ann,EUR,20.00,0.00,5.00,5.00,0.00,20.00,,1.00,19.00\n" +
		"12/30/25,2,ben,EUR,20.00,0.00,2.00,3.00,0.00,23.00,,1.00,22.00\n"
	const note = " (Etsy's orders name no items)"
	_, records := mustRead(t, directory("orders.csv", text), Settings{})
	if diff := cmp.Diff([]string{
		"1 2025-12-30T00:00 etsy by ann, 1 Etsy order à 20.00 + 0.00 tax + 0.00 shipping" + note,
		"2 2025-12-30T00:00 etsy by ben, 1 Etsy order à 20.00 + 0.00 tax + 3.00 shipping" + note,
	}, summary(records)); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

func TestWooCommerceProductsAreVariations(t *testing.T) {
	t.Parallel()
	mustSummarise(t, Settings{MissingSKU: "derive"}, []string{
		"ignored: has variations, which are the products",
		`SHIRT-S "Shirt - S" 9.90 stock 12 upc 4006381333931 active`, `Sticker "Sticker" 1.00 draft ` +
			`(an image has no valid URL and was not imported)`,
	}, "woocommerce_products.csv")
}

func TestWooCommerceOrdersOfEachPlugin(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		file string
		want []string
	}{
		{"woocommerce_advanced.csv", []string{
			"101 2025-03-01T14:05 woocommerce by ANN, 3 MUG à 10.00 less 3.00, 1 Poster à 10.00 discount 3.00 " +
				"+ 7.98 tax + 5.00 shipping",
			"102 2025-03-02T09:00 woocommerce by BEN, 1 MUG à 10.00 + 1.90 tax + 0.00 shipping " +
				"(the date of the refund is the last known date of the order)",
			"refund of 102: 11.90 at 2025-03-02T09:00", "ignored: the state of the order is failed"}},
		{"woocommerce_suite.csv", []string{
			"201 2025-03-01T14:05 woocommerce by 7, 3 MUG à 10.00 less 3.00, 1 Poster à 10.00, 1 fee à 2.00 discount 3.00 " +
				"+ 8.36 tax + 5.00 shipping",
			"202 2025-03-02T09:00 woocommerce, 1 MUG à 10.00 + 1.90 tax + 0.00 shipping",
			"cancellation of 202 at 2025-03-02T09:00", "ignored: the state of the order is pending"}},
		{"woocommerce_export.csv", []string{
			"W-301 2025-03-01T14:05 woocommerce by 7, 2 MUG à 10.00, 1 MUG à 10.01, 1 Poster à 10.00 less 0.01 discount 1.01 " +
				"+ 7.41 tax + 0.00 shipping (the date of the refund is the last known date of the order)",
			"refund of W-301: 20.00 at 2025-03-01T14:05"}},
		{"woocommerce_export_items.csv", []string{
			"W-301 2025-03-01T14:05 woocommerce by 7, 3 MUG à 10.00, 1 Poster à 10.00 + 7.60 tax + 0.00 shipping"}},
	} {
		t.Run(test.file, func(t *testing.T) {
			t.Parallel()
			set, records := mustRead(t, fixture(t, test.file), Settings{})
			got := summary(records)
			for i := range got {
				if id := records[i].Order; id != nil && id.Customer != nil && strings.HasPrefix(id.Customer.ID, "e-") {
					name, _, _ := strings.Cut(*id.Customer.Email, "@")
					got[i] = strings.Replace(got[i], id.Customer.ID, strings.ToUpper(name), 1)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			mustHaveEachRowOnce(t, set, records)
		})
	}
}
