package sales_test

import (
	"context"
	"errors"
	"flag"
	"testing"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/paging"
	"github.com/storeroom/storeroom/tenancy/textfill"
)

var update = flag.Bool("update", false, "write the golden files")

// onePage is what a page of orders reads of each: an order, its customer, whether it is cancelled, and its refunds.
const onePage = 21 * 4

// The golden file shows the SQL of lists and writes as it is sent. The facts are about 3,000 orders next to 12,000 of
// another tenant. A count without a range reads the sums of 125 days and two channels, and one also the 150 cancelled
// orders.
func TestTheSQLOfSales(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	s.mustSeed(t)
	if err := textfill.Fill(t.Context(), s.DB, sales.Texts); err != nil {
		t.Fatal(err)
	}
	if _, err := s.MustSuper(t).Exec(t.Context(), `update sold_products set product_id = 77 where sku = 'SKU-290'`); err != nil {
		t.Fatal(err)
	}
	golden := dbtest.NewSQL(t, s.Database, "sales", *update)
	const all, cancelled, counted = 3000, 150, 2*125 + 150
	after := paging.Position{Value: "2026-02-01T00:00:00Z", ID: 700}
	afterNumber := paging.Position{Value: "N-00700"}
	list := func(f sales.Filter) func(*db.DB) error {
		f.Page = paging.Page{Number: 2, PerPage: 20}
		return func(db *db.DB) error {
			_, err := sales.New(db).List(t.Context(), s.tenant, f)
			return err
		}
	}
	for _, test := range []struct {
		name   string
		filter sales.Filter
		facts  dbtest.PlanFacts
	}{
		{
			"list", sales.Filter{Order: paging.Order{Descending: true}},
			dbtest.Reads(counted+40+onePage, "orders_placed", "sales_rollups_pkey"),
		},
		{ // the channel of each third order
			"list_of_a_channel", sales.Filter{Channel: "web"}, dbtest.Reads(counted+3*40+onePage+cancelled, "orders_placed"),
		},
		{"list_of_a_customer", sales.Filter{Customer: "7"}, dbtest.Reads(20, "orders_customer")},
		{
			"list_of_days", sales.Filter{From: noon, Before: noon.AddDate(0, 0, 2)},
			dbtest.Reads(2*48+onePage, "orders_placed"),
		},
		{
			"list_cancelled_of_a_channel", sales.Filter{Channel: "web", Status: "cancelled"},
			dbtest.Reads(4*cancelled+onePage, "cancellations_placed"),
		},
		{
			"list_changed", sales.Filter{UpdatedSince: noon},
			dbtest.Reads(all+4*cancelled+onePage, "orders_created").Sorts(300),
		},
		{"list_search", sales.Filter{Search: "N-007"}, dbtest.Reads(400, "orders_search")},
		{ // the texts of 300 customers, and 11 found ones with ten orders each
			"list_search_customers",
			sales.Filter{Search: "customer 17", SearchCustomers: true, Order: paging.Order{Descending: true}},
			dbtest.Reads(2*300+2*11*10, "customer_texts_pkey", "orders_customer"),
		},
	} {
		golden.Check(t, test.name, test.facts, list(test.filter))
	}
	// The SQL of these differs from that of the others only in names of columns, or has parts of several.
	for _, test := range []struct {
		name   string
		filter sales.Filter
		facts  dbtest.PlanFacts
	}{
		{
			"after an order", sales.Filter{Order: paging.Order{Descending: true}, Keyset: true, After: &after},
			dbtest.Reads(counted+40+onePage, "orders_placed"),
		},
		{"placed", sales.Filter{Status: "placed"}, dbtest.Reads(counted+40+onePage, "orders_placed")},
		{ // the items of a product, their orders, and the refunds of two days
			"of a product", sales.Filter{ProductID: new(int64(77))}, dbtest.Reads(60+onePage, "order_items_sold").Sorts(20),
		},
		{ // only the items of two days
			"of a product in days",
			sales.Filter{ProductID: new(int64(77)), From: noon, Before: noon.AddDate(0, 0, 2)},
			dbtest.Reads(20, "order_items_sold").Sorts(20),
		},
		{
			"refunded", sales.Filter{RefundedFrom: noon, RefundedBefore: noon.AddDate(0, 0, 2)},
			dbtest.Reads(60+2*onePage, "refunds_refunded").Sorts(20),
		},
		{
			"by number", sales.Filter{Order: paging.Order{By: "number"}},
			dbtest.Reads(counted+40+onePage, "orders_tenant_id_number_key"),
		},
		{
			"after a number", sales.Filter{Order: paging.Order{By: "number"}, Keyset: true, After: &afterNumber},
			dbtest.Reads(counted+40+onePage, "orders_tenant_id_number_key"),
		},
		{
			"cancelled, of a customer", sales.Filter{Customer: "7", Status: "cancelled", From: noon},
			dbtest.Reads(20, "orders_customer"),
		},
		{
			"cancelled and changed", sales.Filter{UpdatedSince: noon, Status: "cancelled", Channel: "web"},
			dbtest.Reads(2*(all+4*cancelled)+2000, "orders_created").Sorts(300),
		},
		{
			"changed, after an order",
			sales.Filter{UpdatedSince: noon, Keyset: true, After: &after, Order: paging.Order{Descending: true}},
			dbtest.Reads(all+4*cancelled+onePage, "orders_created").Sorts(300),
		},
		{ // more matches than are sorted
			"search, after a number", sales.Filter{
				Search: "customer", SearchCustomers: true, UpdatedSince: noon, Order: paging.Order{By: "number"}, Keyset: true,
				After: &afterNumber,
			}, dbtest.Reads(2000, "orders_tenant_id_number_key").Sorts(300),
		},
	} {
		s.CheckPlans(t, test.name, test.facts, list(test.filter))
	}
	// The orders are read in their order, with a customer, a product and refunds of each.
	golden.Check(t, "archive", dbtest.Reads(9*all, "orders_placed").Sorts(100), func(d *db.DB) error {
		return d.InSnapshot(t.Context(), s.tenant, time.Minute, func(ctx context.Context, tx *db.DB) error {
			store := sales.New(tx)
			return errors.Join(
				store.EachChannel(ctx, s.tenant, func(sales.Channel) error { return nil }),
				store.EachCustomer(ctx, s.tenant, func(sales.StoredCustomer) error { return nil }),
				store.EachSoldProduct(ctx, s.tenant, func(sales.SoldProduct) error { return nil }),
				store.EachOrder(ctx, s.tenant, func(sales.OrderFact) error { return nil }),
				store.EachItem(ctx, s.tenant, func(sales.ItemFact) error { return nil }),
				store.EachRefund(ctx, s.tenant, func(sales.RefundFact) error { return nil }))
		})
	})
	// The first page looks for changes of orders between those that were placed first.
	golden.Check(t, "walk_changed", dbtest.Reads(all, "orders_created"), func(db *db.DB) error {
		f := sales.Filter{UpdatedSince: noon, Status: "placed"}
		err := sales.New(db).Walk(t.Context(), s.tenant, f, func(sales.StoredOrder) error { return context.Canceled })
		if errors.Is(err, context.Canceled) { // after the first page
			return nil
		}
		return err
	})
	plan, imported := s.mustRecord(t, "N-00700")
	by := catalog.Actor{Tenant: s.tenant}
	s.mustStock(t, "STOCKED", 10)
	s.mustTakeStock(t, "stock", sales.Refuse, nil)
	// Each write continues where the previous one ended. It reads the rows that it writes, and counters.
	placed := order("new", sales.Item{SKU: "SKU-7", Quantity: 1, UnitPrice: 5})
	placed.Channel, placed.Customer = "new", &sales.Customer{ID: "new"}
	// PostgreSQL finds the ids of an array by their keys only in larger tables.
	fewFacts := dbtest.Reads(100, "orders_tenant_id_number_key")
	fewFacts.SmallTables = []string{"customers", "orders", "refunds", "cancellations"}
	for _, call := range []struct {
		name  string
		facts dbtest.PlanFacts
		send  func(*sales.Store) error
	}{
		{"channels", dbtest.Reads(12, "channels_pkey"), func(store *sales.Store) error {
			_, err := store.Channels(t.Context(), s.tenant, paging.Page{Number: 1, PerPage: 20})
			return err
		}},
		{"customers", dbtest.Reads(360, "customers_tenant_id_number_key"), func(store *sales.Store) error {
			_, err := store.ListCustomers(t.Context(), s.tenant, sales.CustomerFilter{Page: paging.Page{Number: 2, PerPage: 20}})
			return err
		}},
		{"customers_search", dbtest.Reads(640, "customer_texts_pkey"), func(store *sales.Store) error {
			page := paging.Page{Number: 1, PerPage: 20}
			_, err := store.ListCustomers(t.Context(), s.tenant, sales.CustomerFilter{Search: "customer 17", Page: page})
			return err
		}},
		{"customer", dbtest.Reads(20, "orders_customer"), func(store *sales.Store) error {
			_, err := store.Customer(t.Context(), s.tenant, "7")
			return err
		}},
		{"customer_orders", dbtest.Reads(60, "orders_customer"), func(store *sales.Store) error {
			return store.WalkCustomerOrders(t.Context(), s.tenant, "7", func(sales.StoredOrder) error { return nil })
		}},
		{"order", dbtest.Reads(15, "orders_tenant_id_number_key"), func(store *sales.Store) error {
			_, err := store.Order(t.Context(), s.tenant, "N-00700")
			return err
		}},
		{"ingest", dbtest.Reads(70, "orders_tenant_id_number_key"), func(store *sales.Store) error {
			_, err := store.Ingest(t.Context(), s.tenant, []sales.Row{{Order: placed}})
			return err
		}},
		{"refund", dbtest.Reads(40, "orders_tenant_id_number_key"), func(store *sales.Store) error {
			_, err := store.Refund(t.Context(), s.tenant, []sales.RefundRow{{Refund: refundOf("new", 5, "r")}})
			return err
		}},
		{"cancel", dbtest.Reads(60, "orders_tenant_id_number_key"), func(store *sales.Store) error {
			_, err := store.Cancel(t.Context(), s.tenant, "new", nil)
			return err
		}},
		{"ingest_stock", dbtest.Reads(120, "orders_tenant_id_number_key"), func(store *sales.Store) error {
			o := order("stock", sales.Item{SKU: "STOCKED", Quantity: 2, UnitPrice: 5})
			o.Channel = "stock"
			_, err := store.WithStock(by).Ingest(t.Context(), s.tenant, []sales.Row{{Order: o}})
			return err
		}},
		{"refund_restock", dbtest.Reads(60, "orders_tenant_id_number_key"), func(store *sales.Store) error {
			refund := refundOf("stock", 5, "r")
			refund.Restock, refund.RestockItems = true, []sales.RestockItem{{Line: 1, Quantity: 1}}
			_, err := store.WithStock(by).Refund(t.Context(), s.tenant, []sales.RefundRow{{Refund: refund}})
			return err
		}},
		{"cancel_stock", dbtest.Reads(80, "orders_tenant_id_number_key"), func(store *sales.Store) error {
			_, err := store.WithStock(by).Cancel(t.Context(), s.tenant, "stock", nil)
			return err
		}},
		{"remove", fewFacts, func(store *sales.Store) error {
			_, err := store.Remove(t.Context(), s.tenant, plan, imported)
			return err
		}},
		{"erase_customer", dbtest.Reads(20, "customers_tenant_id_number_key"), func(store *sales.Store) error {
			return store.EraseCustomer(t.Context(), s.tenant, "new", tenancy.Operator)
		}},
	} {
		golden.Check(t, call.name, call.facts, func(db *db.DB) error { return call.send(sales.New(db)) })
	}
}

// mustRecord makes an order and its refunds and cancellation facts of a plan that is being undone.
func (s *shop) mustRecord(t testing.TB, number string) (sales.PlanID, sales.Facts) {
	t.Helper()
	plan := s.mustPlan(t, "undoing")
	var facts sales.Facts
	err := s.MustSuper(t).QueryRow(t.Context(), `
		with ids as (
			select 'orders' as kind, id from orders where tenant_id = $1 and number = $3
			union all
			select 'refunds', r.id
			  from orders o join refunds r on r.tenant_id = $1 and r.order_id = o.id where o.tenant_id = $1 and o.number = $3
			union all
			select 'cancellations', o.id
			  from orders o join cancellations c on c.tenant_id = $1 and c.order_id = o.id
			 where o.tenant_id = $1 and o.number = $3
		), recorded as (
			insert into imported_facts (tenant_id, plan_id, kind, id) select $1, $2, kind, id from ids
		)
		select array_agg(id) filter (where kind = 'orders'), array_agg(id) filter (where kind = 'refunds'),
		       array_agg(id) filter (where kind = 'cancellations')
		  from ids`, s.tenant, plan, number).Scan(&facts.Orders, &facts.Refunds, &facts.Cancellations)
	if err != nil {
		t.Fatal(err)
	}
	return plan, facts
}

// mustSeed inserts 3,000 orders with their items, refunds and rollups, and 12,000
// orders of another tenant. The rows are the same in every run.
func (s *shop) mustSeed(t testing.TB) {
	t.Helper()
	super := s.MustSuper(t)
	other := s.MustTenant(t, "other").ID
	for _, seed := range []struct {
		tenant tenancy.ID
		orders int
	}{{s.tenant, 3000}, {other, 12_000}} {
		for _, sql := range []string{
			`insert into channels (tenant_id, identifier, label) select $1, 'web', 'Web' where $2::int > 0`,
			`insert into customers (tenant_id, number, name)
			 select $1, n::text, 'Customer ' || n from generate_series(1, $2::int / 10) n`,
			`insert into sold_products (tenant_id, sku, name)
			 select $1, 'SKU-' || n, 'Name ' || n from generate_series(1, $2::int / 10) n`,
			`insert into orders (tenant_id, number, placed_at, channel, customer_id, items, units, units_without_cost,
			                     revenue, discounts, tax, cost, content)
			 select $1, 'N-' || lpad(n::text, 5, '0'), '2026-01-01'::timestamptz + n * interval '1 hour',
			        case when n % 3 = 0 then 'web' else 'pos' end, c.id, 1, 1, 1, 500, 0, 0, 0, sha256('')
			   from generate_series(1, $2::int) n
			   left join customers c on c.tenant_id = $1 and c.number = (n % ($2 / 5))::text`,
			`insert into order_items (tenant_id, order_id, line, placed_at, sold_id, quantity, unit_price, discount, tax)
			 select o.tenant_id, o.id, 1, o.placed_at, p.id, 1, 500, 0, 0
			   from orders o
			   join sold_products p on p.tenant_id = o.tenant_id and p.sku = 'SKU-' || 1 + o.id % ($2::int / 10)
			  where o.tenant_id = $1`,
			`insert into cancellations (tenant_id, order_id, placed_at, cancelled_at)
			 select tenant_id, id, placed_at, placed_at from orders where tenant_id = $1 and id % 20 = $2::int % 20`,
			`insert into refunds (tenant_id, order_id, refunded_at, amount, content)
			 select tenant_id, id, placed_at, 100, content from orders where tenant_id = $1 and id % 25 = $2::int % 25`,
			`insert into refund_items (tenant_id, refund_id, order_id, line, amount)
			 select tenant_id, id, order_id, 1, amount from refunds where tenant_id = $1 and $2::int > 0`,
		} {
			if _, err := super.Exec(t.Context(), sql, seed.tenant, seed.orders); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
	}
	for _, tenant := range []tenancy.ID{s.tenant, other} {
		if _, err := sales.New(s.Admin).Repair(t.Context(), tenant); err != nil {
			t.Fatal(err)
		}
	}
}
