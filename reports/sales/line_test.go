package sales

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/storeroom/storeroom/tenancy/money"
)

func TestSpreadUsesQuantitiesIfAllNetValuesAreZero(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		amount money.Cents
		lines  []line
		want   []money.Cents
	}{
		{7, []line{{Quantity: 3}, {Quantity: 1}}, []money.Cents{5, 2}},
		{7, []line{{Quantity: 3, UnitPrice: 5, Discount: 15}, {Quantity: 1}}, []money.Cents{5, 2}},
		{7, []line{{Quantity: 3}, {Quantity: 1, UnitPrice: 5}}, []money.Cents{0, 7}},
		{0, []line{{Quantity: 3}, {Quantity: 1}}, []money.Cents{0, 0}},
	} {
		if got := spread(test.amount, test.lines); !slices.Equal(got, test.want) {
			t.Errorf("spread(%d, %+v) = %v, want %v", test.amount, test.lines, got, test.want)
		}
	}
}

func TestTheSharesOfItemsAddUpToTheOrder(t *testing.T) {
	t.Parallel()
	products := soldProducts{
		{SKU: "A"}: {SoldID: new(int64(1))}, {SKU: "B"}: {SoldID: new(int64(2)), Cost: new(money.Cents(3))},
	}
	amounts := rapid.SampledFrom([]money.Cents{0, 1, 2, 5, 99, 490, 12_345, money.Max})
	rapid.Check(t, func(t *rapid.T) {
		var o Order
		var value money.Cents
		for range rapid.IntRange(1, 9).Draw(t, "items") {
			i := Item{
				SKU: rapid.SampledFrom([]string{"A", "B"}).Draw(t, "sku"), Quantity: rapid.Int64Range(1, 9).Draw(t, "quantity"),
				UnitPrice: rapid.SampledFrom([]money.Cents{0, 1, 3, 333, 1999}).Draw(t, "price"),
			}
			value += money.Cents(i.Quantity) * i.UnitPrice
			o.Items = append(o.Items, i)
		}
		o.DiscountTotal = new(rapid.SampledFrom([]money.Cents{0, value / 3, value}).Draw(t, "discount"))
		o.TaxTotal, o.ShippingTotal = new(amounts.Draw(t, "tax")), new(amounts.Draw(t, "shipping"))
		lines, invalid := o.lines(1, products)
		if len(invalid) > 0 {
			t.Fatal(invalid)
		}
		sold := total(column(lines, line.sold))
		if sold.Discounts != *o.DiscountTotal || sold.Tax != *o.TaxTotal || sold.Shipping != *o.ShippingTotal ||
			sold.Gross() != value {
			t.Fatalf("the lines %+v of %+v add up to %+v", lines, o, sold)
		}
		var costless money.Cents
		for i, l := range lines {
			if o.Items[i].SKU == "A" {
				costless += l.net()
			}
			if l.Shipping < 0 {
				t.Fatalf("line %d has a shipping of %s", i, l.Shipping)
			}
		}
		if sold.RevenueWithoutCost != costless {
			t.Fatalf("revenue without cost = %s, want %s", sold.RevenueWithoutCost, costless)
		}
	})
}
