package sales_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/paging"
)

func TestListCountsWhatItLists(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	for n := range 12 {
		o := order(fmt.Sprint(n))
		o.PlacedAt = noon.AddDate(0, 0, n)
		o.Channel = []string{"pos", "web"}[n%2]
		if n%3 == 0 {
			o.Customer = &sales.Customer{ID: "7"}
		}
		s.mustIngest(t, o)
		if n%4 == 0 {
			if _, err := s.store.Cancel(t.Context(), s.tenant, o.Number, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, channel := range []string{"", "pos", "web", "none"} {
		for _, status := range []string{"", "placed", "cancelled"} {
			for _, customer := range []string{"", "7", "8"} {
				for _, from := range []time.Time{{}, noon.AddDate(0, 0, 5)} {
					f := sales.Filter{
						Channel: channel, Status: status, Customer: customer, From: from,
						Page: paging.Page{Number: 1, PerPage: 100},
					}
					listed, err := s.store.List(t.Context(), s.tenant, f)
					if err != nil || int64(len(listed.Items)) != listed.Total {
						t.Errorf("List(%+v) returns %d orders and counts %d, %v", f, len(listed.Items), listed.Total, err)
					}
				}
			}
		}
	}
	f := sales.Filter{Order: paging.Order{By: "number", Descending: true}, Page: paging.Page{Number: 2, PerPage: 5}}
	listed, err := s.store.List(t.Context(), s.tenant, f)
	if err != nil || listed.Total != 12 || len(listed.Items) != 5 || listed.Items[0].Number != "4" {
		t.Errorf("page 2 by number = %+v of %d, %v, want 5 from number 4 on", listed.Items, listed.Total, err)
	}
}

func TestSumsAreThoseOfTheListedOrders(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	for n := range 12 {
		o := order(fmt.Sprint("N-", 10+n))
		o.PlacedAt, o.ShippingTotal = noon.AddDate(0, 0, n), new(money.Cents(490))
		o.Channel = []string{"pos", "web"}[n%2]
		s.mustIngest(t, o)
		if n%3 == 0 {
			s.mustRefund(t, sales.Refund{
				OrderNumber: o.Number, Amount: money.Cents(100 + n), RefundedAt: new(noon.AddDate(0, 0, n+1)),
			})
		}
		if n%4 == 0 {
			if _, err := s.store.Cancel(t.Context(), s.tenant, o.Number, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	sums := 0
	for _, filter := range []sales.Filter{
		{}, {Channel: "web"}, {Status: "placed"}, {Status: "cancelled"}, {From: noon.AddDate(0, 0, 5)}, {Search: "N-1"},
		{Search: "1"}, {RefundedFrom: noon}, {RefundedFrom: noon.AddDate(0, 0, 2), RefundedBefore: noon.AddDate(0, 0, 5)},
		{RefundedBefore: noon.AddDate(0, 0, 5), Channel: "pos"}, {Search: "N-", RefundedFrom: noon, Status: "placed"},
	} {
		filter.Page = paging.Page{Number: 1, PerPage: 100}
		ofRefunds := !filter.RefundedFrom.IsZero() || !filter.RefundedBefore.IsZero()
		listed, err := s.store.List(t.Context(), s.tenant, filter)
		if err != nil || int64(len(listed.Items)) != listed.Total {
			t.Errorf("List(%+v) returns %d orders and counts %d, %v", filter, len(listed.Items), listed.Total, err)
		}
		var want sales.OrderSums
		for _, o := range listed.Items {
			if o.CancelledAt == nil {
				want.Orders++
				want.Total += o.Revenue + o.Tax + o.Shipping
				if ofRefunds {
					want.Refunded += o.RefundedThen
				} else {
					want.Refunded += o.Refunded
				}
			}
			if ofRefunds && o.RefundedThen == 0 {
				t.Errorf("List(%+v) has %s without a refund", filter, o.Number)
			}
		}
		got, err := s.store.Sums(t.Context(), s.tenant, filter)
		if err != nil || got != want {
			t.Errorf("Sums(%+v) = %+v, %v, want %+v", filter, got, err, want)
		}
		sums += int(got.Orders)
	}
	if sums < 20 {
		t.Errorf("the filters list %d orders", sums)
	}
	s.mustRefund(t, sales.Refund{OrderNumber: "N-13", Amount: 7, RefundedAt: new(noon.AddDate(0, 0, 40))})
	late := sales.Filter{RefundedFrom: noon.AddDate(0, 0, 30), Page: paging.Page{Number: 1, PerPage: 100}}
	if got, err := s.store.Sums(t.Context(), s.tenant, late); err != nil || got.Orders != 1 || got.Refunded != 7 {
		t.Errorf("the sums of late refunds are %+v, %v, want only the late one", got, err)
	}
	listed, err := s.store.List(t.Context(), s.tenant, late)
	if err != nil || len(listed.Items) != 1 || listed.Items[0].RefundedThen != 7 || listed.Items[0].Refunded != 110 {
		t.Errorf("the list of late refunds is %+v, %v", listed.Items, err)
	}
	var numbers []string
	behind := sales.Filter{RefundedFrom: noon, Search: "N-", Order: paging.Order{Descending: true}, Page: late.Page}
	err = s.store.Walk(t.Context(), s.tenant, behind, func(o sales.StoredOrder) error {
		numbers = append(numbers, o.Number)
		return nil
	})
	listed, errListed := s.store.List(t.Context(), s.tenant, behind)
	if err != nil || errListed != nil || len(listed.Items) < 4 || !slices.EqualFunc(numbers, listed.Items,
		func(number string, o sales.StoredOrder) bool { return number == o.Number }) {
		t.Errorf("the walk behind refunds has %v, %v, and the list %d orders, %v", numbers, err, len(listed.Items), errListed)
	}
	var walked []money.Cents
	err = s.store.WalkRefunds(t.Context(), s.tenant, late, func(r sales.OrderRefund) error {
		walked = append(walked, r.Amount)
		return nil
	})
	if err != nil || !slices.Equal(walked, []money.Cents{7}) {
		t.Errorf("the walk of late refunds has %v, %v", walked, err)
	}
}
