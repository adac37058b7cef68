package sales_test

import (
	"slices"
	"testing"
	"time"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// mustSeedChanges inserts 22,500 orders. The first 1,200 and every 150th were created in February, the others in
// January. Of the latter, every 40th has a refund and every 50th a cancellation of February.
func (s *shop) mustSeedChanges(t testing.TB) {
	t.Helper()
	for _, sql := range []string{
		`insert into channels (tenant_id, identifier, label) values ($1, 'web', 'Web')`,
		`insert into customers (tenant_id, number, name) select $1, n::text, 'Person ' || n from generate_series(1, 30) n`,
		`insert into orders (tenant_id, number, placed_at, channel, customer_id, items, units, units_without_cost, revenue,
		                     discounts, tax, cost, content, created_at)
		 select $1, 'N-' || lpad(n::text, 5, '0'), '2026-01-01'::timestamptz + n / 3 * interval '1 minute',
		        case when n % 7 = 0 then 'web' else 'pos' end, c.id, 1, 1, 1, 500, 0, 0, 0, sha256(''),
		        case when n <= 1200 or n % 150 = 0 then '2026-02-01'::timestamptz else '2026-01-01' end
		   from generate_series(1, 22500) n
		   left join customers c on c.tenant_id = $1 and c.number = (n % 60)::text`,
		`insert into refunds (tenant_id, order_id, refunded_at, amount, content, created_at)
		 select tenant_id, id, placed_at, 100, content, '2026-02-01'
		   from orders where tenant_id = $1 and number > 'N-22000' and id % 40 = 0`,
		`insert into cancellations (tenant_id, order_id, placed_at, cancelled_at, created_at)
		 select tenant_id, id, placed_at, placed_at, '2026-02-01' from orders where tenant_id = $1 and id % 50 = 0`,
	} {
		if _, err := s.MustSuper(t).Exec(t.Context(), sql, s.tenant); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

func TestAWalkOfMatchesEqualsTheList(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	s.mustSeedChanges(t)
	january, february := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	descending := paging.Order{Descending: true}
	for name, f := range map[string]sales.Filter{
		"newest first, behind a gap": {UpdatedSince: february, Order: descending},
		"oldest first":               {UpdatedSince: february},
		"by number":                  {UpdatedSince: february, Order: paging.Order{By: "number", Descending: true}},
		"all":                        {UpdatedSince: january, Order: descending},
		"none":                       {UpdatedSince: february.Add(time.Hour)},
		"of a channel":               {UpdatedSince: january, Channel: "web"},
		"cancelled":                  {UpdatedSince: february, Status: "cancelled", Order: descending},
		"placed":                     {UpdatedSince: february, Status: "placed"},
		"of days":                    {UpdatedSince: january, From: january.AddDate(0, 0, 2)},
		"of a customer":              {UpdatedSince: january, Customer: "7"},
		"numbers":                    {Search: "N-0", Order: descending},
		"customers":                  {Search: "person", SearchCustomers: true, Order: descending},
		"customers or numbers":       {Search: "1", SearchCustomers: true, Order: paging.Order{By: "number"}},
		"customers without names":    {Search: "person"},
		"changed orders of customers": {
			Search: "person", SearchCustomers: true, UpdatedSince: february, Order: descending,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f.Page = paging.Page{Number: 1, PerPage: 30_000}
			list, err := s.store.List(t.Context(), s.tenant, f)
			if err != nil || int64(len(list.Items)) != list.Total {
				t.Fatalf("%d orders of %d, %v", len(list.Items), list.Total, err)
			}
			want := numbersOf(list.Items)
			if got := s.mustWalk(t, f, 700, list.Total); !slices.Equal(got, want) {
				t.Errorf("the walk returns %d orders, the list %d, or in another order", len(got), len(want))
			}
			var walked []string
			err = s.store.Walk(t.Context(), s.tenant, f, func(o sales.StoredOrder) error {
				walked = append(walked, o.Number)
				return nil
			})
			if err != nil || !slices.Equal(walked, want) {
				t.Errorf("Walk calls with %d orders, %v, the list has %d, or another order", len(walked), err, len(want))
			}
			f.Page = paging.Page{Number: 3, PerPage: 500}
			page, err := s.store.List(t.Context(), s.tenant, f)
			if want := want[min(1000, len(want)):min(1500, len(want))]; err != nil || !slices.Equal(numbersOf(page.Items), want) {
				t.Errorf("page 3 has %d orders, %v, want %d", len(page.Items), err, len(want))
			}
		})
	}
}

// mustWalk returns the numbers of all pages with a cursor, each of which must have the total.
func (s *shop) mustWalk(t testing.TB, f sales.Filter, perPage int, total int64) (numbers []string) {
	t.Helper()
	f.Keyset, f.Page = true, paging.Page{Number: 1, PerPage: perPage}
	for {
		page, err := s.store.List(t.Context(), s.tenant, f)
		if err != nil || page.Total != total {
			t.Fatalf("a page of %d orders with total %d, %v, want %d", len(page.Items), page.Total, err, total)
		}
		numbers = append(numbers, numbersOf(page.Items)...)
		if page.Next == nil {
			return numbers
		}
		at, err := f.ParseCursor(s.tenant, f.Cursor(s.tenant, *page.Next))
		if err != nil {
			t.Fatal(err)
		}
		f.After = &at
	}
}

func numbersOf(orders []sales.StoredOrder) (numbers []string) {
	for _, o := range orders {
		numbers = append(numbers, o.Number)
	}
	return numbers
}

// Each page of a walk has the total of its own moment.
func TestTheTotalsOfAWalkOfMatches(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	for _, number := range []string{"a1", "a2", "a3"} {
		s.mustIngest(t, order(number))
	}
	second := func(search, added string) sales.Orders {
		f := sales.Filter{
			Search: search, Order: paging.Order{By: "number"}, Keyset: true, Page: paging.Page{Number: 1, PerPage: 1},
		}
		first, err := s.store.List(t.Context(), s.tenant, f)
		if err != nil {
			t.Fatal(err)
		}
		s.mustIngest(t, order(added))
		f.After = first.Next
		page, err := s.store.List(t.Context(), s.tenant, f)
		if err != nil {
			t.Fatal(err)
		}
		return page
	}
	if page := second("a", "a4"); page.Total != 4 || page.Items[0].Number != "a2" {
		t.Errorf("the second page is %+v, want a2 and a total of 4", page)
	}
	s.mustSeedChanges(t)
	if page := second("N-0", "N-0"); page.Total != 10000 || page.Items[0].Number != "N-00002" {
		t.Errorf("the second page is %+v, want N-00002 and a total of 10000", page)
	}
}
