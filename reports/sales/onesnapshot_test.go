package sales_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// While others create and cancel orders, walks, exports and pages have each order that did not move once, and a page
// that has room for all orders has as many as its total says. The same holds for customers and channels.
func TestListsOfChangingSales(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	began := noon.AddDate(-1, 0, 0)
	var stable []string
	for i := range 20 {
		o := order(fmt.Sprintf("S-%02d", i))
		o.Customer = &sales.Customer{ID: fmt.Sprintf("c%d", i), Name: new("Ann Smith")}
		stable = append(stable, o.Number)
		s.mustIngest(t, o)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.churn(ctx, t) })
	defer running.Wait()
	defer cancel()
	for name, f := range map[string]sales.Filter{
		"all": {}, "placed": {Status: "placed"}, "channel": {Channel: "pos"}, "days": {From: began, Before: noon.AddDate(0, 0, 1)},
		"changes": {UpdatedSince: began}, "numbers": {Search: "S-"}, "customers": {Search: "smith", SearchCustomers: true},
		"changes of placed ones": {UpdatedSince: began, Status: "placed"},
	} {
		for _, order := range []paging.Order{{Descending: true}, {By: "number"}} {
			f.Order = order
			for kind, read := range map[string]func(sales.Filter) ([]string, error){
				"walk": s.walkInSteps, "export": s.export, "page": s.wholePage,
			} {
				found, err := read(f)
				if err != nil {
					t.Fatalf("%s of %s: %v", kind, name, err)
				}
				found = slices.DeleteFunc(found, func(number string) bool { return !slices.Contains(stable, number) })
				slices.Sort(found)
				if !slices.Equal(found, stable) {
					t.Fatalf("%s of %s has %v, want each of %v once", kind, name, found, stable)
				}
			}
		}
		for _, search := range []string{"", "ann"} {
			page := paging.Page{Number: 1, PerPage: 1000}
			customers, err := s.store.ListCustomers(t.Context(), s.tenant, sales.CustomerFilter{Search: search, Page: page})
			if err != nil || int64(len(customers.Items)) != customers.Total {
				t.Fatalf("%d customers with the total %d, %v", len(customers.Items), customers.Total, err)
			}
		}
		channels, err := s.store.Channels(t.Context(), s.tenant, paging.Page{Number: 1, PerPage: 1000})
		if err != nil || int64(len(channels.Items)) != channels.Total {
			t.Fatalf("%d channels with the total %d, %v", len(channels.Items), channels.Total, err)
		}
	}
}

// churn creates orders of new customers and cancels every second one.
func (s *shop) churn(ctx context.Context, t testing.TB) {
	for n := 0; n < 900 && ctx.Err() == nil; n++ {
		o := order(fmt.Sprintf("S-new-%d", n))
		o.Customer = &sales.Customer{ID: fmt.Sprintf("new%d", n), Name: new("Ann Smith")}
		if n < 100 {
			o.Channel = fmt.Sprint("web", n)
		}
		_, err := s.store.Ingest(ctx, s.tenant, []sales.Row{{Order: o}})
		if err == nil && n%2 == 0 {
			_, err = s.store.Cancel(ctx, s.tenant, o.Number, nil)
		}
		if err != nil && ctx.Err() == nil {
			t.Error(err)
			return
		}
	}
}

func (s *shop) walkInSteps(f sales.Filter) (found []string, err error) {
	f.Keyset, f.Page = true, paging.Page{Number: 1, PerPage: 7}
	for {
		page, err := s.store.List(context.Background(), s.tenant, f)
		if err != nil {
			return nil, err
		}
		found = append(found, numbersOf(page.Items)...)
		if page.Next == nil {
			return found, nil
		}
		f.After = page.Next
	}
}

func (s *shop) export(f sales.Filter) (found []string, err error) {
	err = s.store.Walk(context.Background(), s.tenant, f, func(o sales.StoredOrder) error {
		found = append(found, o.Number)
		return nil
	})
	return found, err
}

func (s *shop) wholePage(f sales.Filter) (found []string, err error) {
	f.Page = paging.Page{Number: 1, PerPage: 2000}
	page, err := s.store.List(context.Background(), s.tenant, f)
	if err == nil && int64(len(page.Items)) != page.Total {
		err = fmt.Errorf("the page has %d orders, its total is %d", len(page.Items), page.Total)
	}
	return numbersOf(page.Items), err
}
