package sales_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/money"
)

func TestVerifyReportsManipulatedRows(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ sql, what, figure string }{
		{`update sales_rollups set revenue = revenue + 1 where kind = 1 and day = '2026-03-01'`,
			"rollup of day 2026-03-01, channel pos", "revenue"},
		{`update sales_rollups set orders = 0 where kind = 2`, "rollup of day 2026-03-01, channel pos, category 0", "orders"},
		{`delete from sales_rollups where kind = 3`, "rollup of day 2026-03-01, channel pos, seller 0", "orders"},
		{`update sales_rollups set refunds = 0 where kind = 4 and refunds > 0`,
			"rollup of month 2026-04, sold product", "refunds"},
		{`insert into sales_rollups (tenant_id, kind, day, channel, key, ` + sums.List + `)
		  select tenant_id, kind, '1999-01-01', channel, key, ` + sums.List + ` from sales_rollups where kind = 1 limit 1`,
			"rollup of day 1999-01-01, channel pos", "units"},
		{`update sales_rollups set shipping = shipping + 1 where kind = 2`,
			"rollup of day 2026-03-01, channel pos, category 0", "shipping"},
		{`update sales_rollups set revenue_without_cost = 0 where kind = 1`,
			"rollup of day 2026-03-01, channel pos", "revenue_without_cost"},
		{`update orders set tax = tax + 1`, "order A", "tax"},
		{`update orders set shipping = shipping + 1`, "order A", "shipping"},
		{`update orders set revenue_without_cost = 0`, "order A", "revenue_without_cost"},
		{`update order_items set discount = discount + 1`, "order A", "revenue"},
		{`insert into cancellations (tenant_id, order_id, placed_at, cancelled_at)
		  select tenant_id, id, '1999-01-01', now() from orders`,
			"cancellation of order A", "placed_at"},
		{`update refunds set amount = amount + 1`, "refund ", "refunds"},
		{`update packed_sums set revenue = units`, "packed sums of month 2026-03, block", "digest"},
		{`delete from packed_sums`, "packed sums of month 2026-04, block", "digest"},
		{`update monthly_sums set revenue = revenue + 1`, "sums of month 2026-03, category 0", "revenue"},
		{`delete from monthly_sums where kind = 3`, "sums of month 2026-04, seller 0", "refunds"},
		{`update monthly_sums set key = 7 where kind = 2`, "sums of month 2026-03, category 7", "orders"},
		{`update packed_customers set customer_ids = guests`, "packed customers of day 2026-03-01", "digest"},
		{`update packed_customers set guests = guests || guests`, "packed customers of day 2026-04-01", "digest"},
		{`delete from packed_customers`, "packed customers of day 2026-03-01", "digest"},
		// Months without sales.
		{`insert into packed_sums
		  select tenant_id, '1999-01-01', block, sold_ids, items, units, revenue, cost, revenue_without_cost, refunds
		    from packed_sums where month = '2026-03-01'`, "packed sums of month 1999-01, block", "digest"},
		{`insert into monthly_sums (tenant_id, kind, month, key, ` + sums.List + `)
		  select tenant_id, kind, '2030-01-01', key, ` + sums.List + ` from monthly_sums where month = '2026-03-01'`,
			"sums of month 2030-01, category 0", "orders"},
		{`insert into packed_customers
		  select tenant_id, '2030-05-31', customer_ids, revenue, placed_at, refunded_ids, refunds, guests
		    from packed_customers where day = '2026-03-01'`, "packed customers of day 2030-05-31", "digest"},
	} {
		t.Run(test.what+" "+test.figure, func(t *testing.T) {
			t.Parallel()
			s := mustShop(t)
			o := order("A", sales.Item{SKU: "TEA", Quantity: 2, UnitPrice: 999}, sales.Item{SKU: "X", Quantity: 1, UnitPrice: 3})
			o.ShippingTotal = new(money.Cents(490))
			s.mustIngest(t, o)
			s.mustRefund(t, refundOf("A", 10, "r"))
			if err := pack(t.Context(), s.DB); err != nil {
				t.Fatal(err)
			}
			s.mustAgree(t)
			if _, err := s.MustSuper(t).Exec(t.Context(), test.sql); err != nil {
				t.Fatal(err)
			}
			found, err := s.store.Verify(t.Context(), s.tenant, 100)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range found {
				if strings.HasPrefix(d.What, test.what) && d.Figure == test.figure && d.Stored != d.Facts {
					return
				}
			}
			t.Errorf("Verify = %v, want %s of %s", found, test.figure, test.what)
		})
	}
}

// counter counts the queries of a connection.
type counter struct{ queries int }

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.queries++
	return ctx
}

func (*counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// verify --all reads thousands of tenants with few orders.
func TestVerifyReadsTheMonthsOfASmallTenantTogether(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	queries := func() int {
		t.Helper()
		var sent counter
		pool, err := db.Open(t.Context(), s.URL, func(c *pgx.ConnConfig) { c.Tracer = &sent })
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		if found, err := sales.New(pool).Verify(t.Context(), s.tenant, 100); len(found) > 0 || err != nil {
			t.Errorf("Verify = %v, %v", found, err)
		}
		return sent.queries
	}
	s.mustIngest(t, order("first"))
	one := queries()
	for n := range 23 {
		o := order(fmt.Sprint(n))
		o.PlacedAt = noon.AddDate(0, -n, 0)
		s.mustIngest(t, o)
	}
	s.mustRefund(t, refundOf("first", 10, "r"))
	if err := pack(t.Context(), s.DB); err != nil {
		t.Fatal(err)
	}
	if many := queries(); many != one {
		t.Errorf("Verify of 23 months sends %d queries, want %d as for one month", many, one)
	}
}

func TestRepairCorrectsRollupsWhileOrdersAreStored(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	for n := range 20 {
		o := order(fmt.Sprint("A-", n))
		o.PlacedAt, o.ShippingTotal = noon.AddDate(0, 0, 5*n-100), new(money.Cents(n))
		o.Items[0].SKU = []string{"TEA", "X"}[n%2]
		s.mustIngest(t, o)
	}
	if _, err := s.MustSuper(t).Exec(t.Context(), `
		delete from sales_rollups where kind in (1, 3);
		update sales_rollups set units = units * 2, cost = 7, shipping = 1 - shipping, revenue_without_cost = 3;
		update orders set revenue_without_cost = 0 where id % 3 > 0`); err != nil {
		t.Fatal(err)
	}
	operator := sales.New(s.Admin)
	var requests errgroup.Group
	for sender := range 2 {
		requests.Go(func() error {
			for n := range 30 {
				o := order(fmt.Sprint("B-", sender, "-", n))
				o.PlacedAt = noon.AddDate(0, 0, 3*n-100)
				if _, err := s.store.Ingest(t.Context(), s.tenant, []sales.Row{{Order: o}}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for range 2 {
		requests.Go(func() error {
			_, err := operator.Repair(t.Context(), s.tenant)
			return err
		})
	}
	if err := requests.Wait(); err != nil {
		t.Fatal(err)
	}
	s.mustAgree(t)
	if changed, err := operator.Repair(t.Context(), s.tenant); changed != 0 || err != nil {
		t.Errorf("the second Repair changes %d rows, %v, want 0", changed, err)
	}
}

func TestRepairReplacesCorruptedCopies(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	s.mustIngest(t, order("A"))
	s.mustRefund(t, refundOf("A", 10, "r"))
	packAll := func() {
		t.Helper()
		if err := pack(t.Context(), s.DB); err != nil {
			t.Fatal(err)
		}
	}
	packAll()
	if _, err := s.MustSuper(t).Exec(t.Context(), `
		update packed_sums set units = revenue;
		update monthly_sums set key = 7 where kind = 2;
		delete from monthly_sums where kind = 3`); err != nil {
		t.Fatal(err)
	}
	if found, err := s.store.Verify(t.Context(), s.tenant, 100); err != nil || len(found) < 4 {
		t.Errorf("Verify = %v, %v, want differences of four copies", found, err)
	}
	if _, err := sales.New(s.Admin).Repair(t.Context(), s.tenant); err != nil {
		t.Fatal(err)
	}
	s.mustAgree(t)
	packAll()
	s.mustAgree(t)
}

func TestChangeZoneMovesOrdersToTheDaysOfTheZone(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	late := order("late")
	late.PlacedAt = time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC) // 28 February in New York
	s.mustIngest(t, late)
	operator := sales.New(s.Admin)
	if _, err := operator.ChangeZone(t.Context(), s.tenant, "America/New_York"); err != nil {
		t.Fatal(err)
	}
	later := order("later")
	later.PlacedAt = late.PlacedAt.Add(time.Minute)
	s.mustIngest(t, later)
	var day time.Time
	var orders int64
	const rollup = `select day, orders from sales_rollups where kind = 1 and orders > 0`
	if err := s.MustSuper(t).QueryRow(t.Context(), rollup).Scan(&day, &orders); err != nil {
		t.Fatal(err)
	}
	if got := day.Format(time.DateOnly); got != "2026-02-28" || orders != 2 {
		t.Errorf("%d orders on %s, want 2 on 2026-02-28", orders, got)
	}
	if zone, err := s.store.Zone(t.Context(), s.tenant); zone != "America/New_York" || err != nil {
		t.Errorf("Zone = %s, %v", zone, err)
	}
	s.mustAgree(t)
	if _, err := operator.ChangeZone(t.Context(), s.tenant, "Atlantis/Nowhere"); err == nil {
		t.Error("ChangeZone accepts an unknown time zone")
	}
}

func TestAnErasedCustomerStaysErased(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	o := order("A")
	o.Customer = &sales.Customer{ID: "7", Name: new("Ann"), Email: new("ann@example.com")}
	s.mustIngest(t, o)
	if err := s.store.EraseCustomer(t.Context(), s.tenant, "7", tenancy.Operator); err != nil {
		t.Fatal(err)
	}
	second := o
	second.Number = "B"
	s.mustIngest(t, o, second)
	count, err := s.store.EnsureCustomers(t.Context(), s.tenant, []sales.Customer{*o.Customer, {ID: "8"}})
	if err != nil || count != (sales.Count{Created: 1, Unchanged: 1}) {
		t.Errorf("EnsureCustomers = %+v, %v, want one created and one unchanged", count, err)
	}
	for _, number := range []string{"A", "B"} {
		stored, err := s.store.Order(t.Context(), s.tenant, number)
		if err != nil {
			t.Fatal(err)
		}
		erased := stored.CustomerNumber != nil && stored.CustomerName == nil && stored.CustomerEmail == nil
		if !erased || stored.Revenue != 1998 {
			t.Errorf("order %s has %+v, want its sums and no name", number, stored)
		}
	}
	if err := s.store.EraseCustomer(t.Context(), s.tenant, "9", tenancy.Operator); !errors.Is(err, tenancy.ErrNotFound) {
		t.Errorf("EraseCustomer of an unknown customer = %v, want ErrNotFound", err)
	}
}
