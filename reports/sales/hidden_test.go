package sales_test

import (
	"testing"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/paging"
)

func TestAStoreThatHidesShowsNoCostsAndAddresses(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	for number, customer := range map[string]sales.Customer{
		"1": {ID: "7", Name: new("Ada Byron"), Email: new("ada@example.com")},
		"2": {ID: "eve@example.com", Name: new("eve@example.com")},
		"3": {ID: "K9", Name: new("Zoë Ångström"), Email: new("hidden@example.com")},
	} {
		o := order(number)
		o.Customer, o.Items[0].UnitCost = &customer, new(money.Cents(700))
		s.mustIngest(t, o)
	}
	hiding := s.store.Hiding(sales.Hidden{Costs: true, Emails: true})
	shown := []sales.StoredOrder{}
	for number, want := range map[string]string{"1": "Ada Byron", "2": "", "3": "Zoë Ångström"} {
		o, err := hiding.Order(t.Context(), s.tenant, number)
		if err != nil || o.CustomerName == nil || *o.CustomerName != want {
			t.Errorf("the customer of order %s is %v, %v, want %q", number, o.CustomerName, err, want)
		}
		shown = append(shown, o)
	}
	for search, want := range map[string]int{
		"ada byron": 1, "byron ada": 1, "Byron": 1, "angstrom": 1, "ZOE angström": 1, "k9": 1, "zoe hidden": 0, "ada@": 0, "example.com": 0,
		"eve": 0, "1": 1,
	} {
		for _, f := range []sales.Filter{{}, {UpdatedSince: noon.AddDate(-1, 0, 0)}} {
			f.Search, f.SearchCustomers, f.Page = search, true, paging.Page{Number: 1, PerPage: 10}
			list, err := hiding.List(t.Context(), s.tenant, f)
			if err != nil || len(list.Items) != want || list.Total != int64(want) {
				t.Errorf("a search for %q finds %d of %d orders, %v, want %d", search, len(list.Items), list.Total, err, want)
			}
			shown = append(shown, list.Items...)
		}
	}
	for id, want := range map[string]int{"7": 1, "eve@example.com": 0} {
		list, err := hiding.List(t.Context(), s.tenant, sales.Filter{Customer: id, Page: paging.Page{Number: 1, PerPage: 10}})
		if err != nil || len(list.Items) != want {
			t.Errorf("the customer %s has %d orders, %v, want %d", id, len(list.Items), err, want)
		}
	}
	if err := hiding.WalkLines(t.Context(), s.tenant, sales.Filter{}, func(l sales.OrderLine) error {
		if l.UnitCost != nil {
			t.Errorf("an item has the cost %s", *l.UnitCost)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, o := range shown {
		if o.Cost != 0 || o.UnitsWithoutCost != 0 || o.CustomerEmail != nil || o.CustomerNumber != nil && *o.CustomerNumber == "eve@example.com" {
			t.Errorf("an order shows %+v", o)
		}
		for _, l := range o.Lines {
			if l.UnitCost != nil {
				t.Errorf("an item has the cost %s", *l.UnitCost)
			}
		}
	}
}
