package catalog

import (
	"testing"

	"github.com/storeroom/storeroom/tenancy/money"
)

func TestRounding(t *testing.T) {
	t.Parallel()
	ending := func(below money.Cents) Rounding { return Rounding{Step: 100, Below: below} }
	for _, test := range []struct {
		rounding    Rounding
		price, want money.Cents
	}{
		{Rounding{}, 123, 123},
		{Rounding{Step: 5}, 122, 120},
		{Rounding{Step: 5}, 123, 125},
		{Rounding{Step: 10}, 125, 130}, // in the middle
		{Rounding{Step: 100}, 149, 100},
		{Rounding{Step: 100}, 30, 100}, // never free
		{Rounding{Step: 100}, 0, 0},
		{ending(1), 550, 599},
		{ending(1), 548, 499},
		{ending(1), 599, 599},
		{ending(5), 600, 595},
		{ending(1), 10, 99},
		{ending(1), 0, 0},
		{ending(10), money.Max, money.Max - 9},
		{Rounding{Step: 5}, -3, -3}, // which the catalog refuses
	} {
		if got := test.rounding.of(test.price); got != test.want {
			t.Errorf("%+v of %d = %d, want %d", test.rounding, test.price, got, test.want)
		}
	}
	c := Change{PricePercent: 10_00, PriceAmount: -50, Rounding: ending(1)}
	changes := c.of(Product{Price: 1000}, Changes{})
	if changes.Price != Value(money.Cents(1099)) { // 11.00 - 0.50 = 10.50
		t.Errorf("the price is %+v", changes.Price)
	}
	if text := c.String(); text != "price +10.00 %; price -0.50; price rounded to 1.00 less 0.01" {
		t.Errorf("the change is %q", text)
	}
}
