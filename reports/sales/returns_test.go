package sales_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/migrations"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// mustFormerFunctions creates the functions of the upgrade as its files do.
func mustFormerFunctions(t *testing.T, d *dbtest.Database) {
	t.Helper()
	functions := regexp.MustCompile(`(?ms)^create (or replace )?function (local_day|fill_refunds|refund_sums|add_refunds)\(.*?^(end )?\$\$;`)
	script := "set role storeroom_owner;"
	for _, m := range migrations.All() {
		if strings.HasSuffix(m.Name, "_count_returns") {
			script += strings.Join(functions.FindAllString(m.SQL, -1), "\n")
		}
	}
	if _, err := d.MustSuper(t).PgConn().Exec(t.Context(), script).ReadAll(); err != nil {
		t.Fatal(err)
	}
}

// sellAndReturn stores random orders that take stock, refunds that return it or not, and cancellations.
func (s *shop) sellAndReturn(t *testing.T, random *rand.Rand) {
	t.Helper()
	var rows []sales.Row
	for n := range 12 {
		o := of("web", fmt.Sprint(n))
		o.Items = nil
		for _, sku := range []string{"TEA", "CUP", "MUG"}[:1+random.IntN(3)] {
			item := sales.Item{SKU: sku, Quantity: 1 + random.Int64N(4), UnitPrice: money.Cents(random.IntN(4) * random.IntN(500))}
			if random.IntN(3) == 0 {
				item.UnitCost = new(money.Cents(random.IntN(300)))
			}
			o.Items = append(o.Items, item)
		}
		o.PlacedAt = noon.Add(-time.Duration(random.IntN(2000)) * time.Hour)
		if random.IntN(2) == 0 {
			o.TaxTotal, o.ShippingTotal = new(money.Cents(random.IntN(200))), new(money.Cents(random.IntN(100)))
		}
		rows = append(rows, sales.Row{Order: o})
	}
	for _, result := range s.mustSell(t, rows...) {
		if result.Outcome != sales.Created || result.Short {
			t.Fatalf("order %s: %+v", result.Number, result)
		}
	}
	for n, row := range rows {
		for range random.IntN(4) {
			r := sales.RefundRow{Refund: s.randomRefund(random, row.Order)}
			results, err := s.withStock().Refund(t.Context(), s.tenant, []sales.RefundRow{r})
			if err != nil || results[0].Outcome != sales.Created {
				t.Fatalf("Refund = %+v, %v", results, err)
			}
		}
		if n%4 == 3 {
			if _, err := s.withStock().Cancel(t.Context(), s.tenant, row.Number, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (s *shop) randomRefund(random *rand.Rand, o sales.Order) sales.Refund {
	r := sales.Refund{
		OrderNumber: o.Number, Amount: 1 + money.Cents(random.IntN(40)*random.IntN(100)),
		RefundedAt: new(noon.Add(-time.Duration(random.IntN(2000)) * time.Hour)),
	}
	if r.Restock = random.IntN(2) == 0; r.Restock && random.IntN(2) == 0 {
		r.RestockItems = []sales.RestockItem{{Line: 1, Quantity: 1}}
	}
	if random.IntN(3) == 0 {
		r.RefundedAt = nil
	}
	return r
}

// mustStockedShop returns a tenant whose channel web takes stock.
func mustStockedShop(t *testing.T, d *dbtest.Database, slug, zone string) *shop {
	t.Helper()
	tenant := d.MustTenant(t, slug, func(t *tenants.Tenant) { t.Timezone = zone })
	s := &shop{d, sales.New(d.DB), catalog.New(d.DB), tenant.ID}
	for _, sku := range []string{"TEA", "CUP", "MUG"} {
		s.mustStock(t, sku, 1000)
	}
	s.mustTakeStock(t, "web", sales.Refuse, nil)
	return s
}

var zones = []string{"UTC", "America/Santiago", "Asia/Tokyo"}

// Refunds that were stored earlier get the parts, the units and the sums that this release stores.
func TestTheUpgradeFillsReturns(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "the schema has no earlier version")
	d := dbtest.New(t)
	var shops []*shop
	for i, zone := range zones {
		s := mustStockedShop(t, d, fmt.Sprint("shop-", i), zone)
		s.sellAndReturn(t, rand.New(rand.NewPCG(1, uint64(i))))
		s.mustAgree(t)
		shops = append(shops, s)
	}
	before := returns(t, d, shops...)
	mustFormerFunctions(t, d)
	script := `set role storeroom_owner; set search_path = public; set row_security = off;
		alter table refund_items disable trigger user;`
	for _, s := range shops {
		script += fmt.Sprintf(`set app.tenant_id = '%d'; set row_security = on;`, s.tenant) + `
			update sales_rollups s set refund_count = s.refund_count - d.refunds
			  from (
			       select i.sold_id, date_trunc('month', local_day(r.refunded_at, z.timezone)::timestamp)::date as month,
			              count(*) as refunds
			         from refund_items x
			         join order_items i using (tenant_id, order_id, line)
			         join refunds r on r.tenant_id = x.tenant_id and r.id = x.refund_id
			         join sales_zones z on z.tenant_id = x.tenant_id
			        where x.amount = 0 and not exists (select from cancellations c where c.order_id = x.order_id)
			        group by 1, 2
			       ) d
			 where s.kind = 4 and s.key = d.sold_id and s.day = d.month;
			update refunds set tax = null, shipping = null, restock = false;
			delete from refund_items where amount = 0;
			update refund_items set revenue = 0, units = 0;
			update sales_rollups set refunded_revenue = 0, refunded_revenue_without_cost = 0, units_returned = 0,
			                         returned_cost = 0;`
	}
	script += `alter table refund_items enable trigger user; reset app.tenant_id; set row_security = off;`
	for _, m := range migrations.All() {
		if strings.HasSuffix(m.Name, "_fill_returns") {
			script += "begin;\n" + m.SQL + "\n;commit;\n"
		}
	}
	if _, err := d.MustSuper(t).PgConn().Exec(t.Context(), script+"reset role").ReadAll(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, returns(t, d, shops...)); diff != "" {
		t.Errorf("the upgrade fills other values than this release stores:\n%s", diff)
	}
	for _, s := range shops {
		s.mustAgree(t)
	}
}

// A product can have a long ledger, which the upgrade does not read again for each refund.
func TestTheUpgradeReadsTheLedgerByTime(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "the schema has no earlier version")
	d := dbtest.New(t)
	s := mustStockedShop(t, d, "shop", "UTC")
	s.mustSell(t, sales.Row{Order: of("web", "1", pieces("TEA", 2))})
	r := refundOf("1", 100, "r")
	r.Restock = true
	if _, err := s.withStock().Refund(t.Context(), s.tenant, []sales.RefundRow{{Refund: r}}); err != nil {
		t.Fatal(err)
	}
	mustFormerFunctions(t, d)
	super := d.MustSuper(t)
	if _, err := super.PgConn().Exec(t.Context(), fmt.Sprintf(`
		insert into inventory_adjustments (tenant_id, product_id, warehouse_id, type, quantity, quantity_before,
		                                   quantity_after, created_at)
		select tenant_id, id, warehouse_id, 'set', 1, 1, 1, now() - interval '1 hour' * n
		  from products, generate_series(1, 5000) n;
		analyze inventory_adjustments;
		begin;
		set local role storeroom_owner; set local row_security = on; set local app.tenant_id = '%[1]d';
		update refund_items set units = 0;
		select fill_refunds(%[1]d, array(select id from refunds))`, s.tenant)).ReadAll(); err != nil {
		t.Fatal(err)
	}
	var read, units int64
	if err := super.QueryRow(t.Context(), `
		select pg_stat_get_xact_tuples_returned(t) + pg_stat_get_xact_tuples_fetched(t), (select sum(units) from refund_items)
		  from (values ('inventory_adjustments'::regclass)) r (t)`).Scan(&read, &units); err != nil {
		t.Fatal(err)
	}
	if read > 20 || units != 2 {
		t.Errorf("the upgrade reads %d rows of the ledger and fills %d units, want at most 20 and 2", read, units)
	}
}

// returns returns the refunds, their shares and the rollups with returns of some tenants, without ids.
func returns(t *testing.T, d *dbtest.Database, shops ...*shop) (all []string) {
	t.Helper()
	for _, s := range shops {
		var rows []string
		if err := d.MustSuper(t).QueryRow(t.Context(), `
			select array_agg(row order by row) from (
			    select concat_ws('|', 'refund', number, r.amount, r.tax, r.shipping, r.restock, r.named,
			                     (select array_agg(array[i.line, i.amount, i.revenue, i.units] order by i.line)
			                        from refund_items i where i.tenant_id = $1 and i.refund_id = r.id)) as row
			      from orders o join refunds r on r.tenant_id = $1 and r.order_id = o.id
			     where o.tenant_id = $1
			    union all
			    select concat_ws('|', 'rollup', kind, day, channel, refunds, refunded_revenue, refunded_revenue_without_cost,
			                     units_returned, returned_cost)
			      from sales_rollups
			     where tenant_id = $1 and kind < 4 and (refund_count, refunded_revenue, units_returned) <> (0, 0, 0)
			) r`, s.tenant).Scan(&rows); err != nil {
			t.Fatal(err)
		}
		all = append(all, rows...)
	}
	return all
}

// Each refund of an order with two lines has the given shares or errors. The order was 60.00 of revenue, 6.00 of tax and
// 4.00 of shipping; its first line is 3 units for 30.00, the second one unit for 30.00 without a cost.
func TestRefundsNameItems(t *testing.T) {
	t.Parallel()
	amount := func(cents money.Cents) *money.Cents { return &cents }
	line := func(line int64, quantity *int64, amount *money.Cents) sales.RefundItem {
		return sales.RefundItem{Line: line, Quantity: quantity, Amount: amount}
	}
	units := func(n int64) *int64 { return &n }
	for _, test := range []struct {
		name    string
		refunds []sales.Refund // the last one is tested
		want    string         // tax, shipping, and line:amount:revenue:units
		invalid string         // the fields with errors
	}{
		{"all items", []sales.Refund{{Amount: 700}}, "0.60 0.40 1:3.50:3.00:0 2:3.50:3.00:0", ""},
		{"above what was paid", []sales.Refund{{Amount: 8000}}, "6.00 4.00 1:40.00:35.00:0 2:40.00:35.00:0", ""},
		{"with parts", []sales.Refund{{Amount: 700, Tax: amount(100), Shipping: amount(0)}},
			"1.00 0.00 1:3.50:3.00:0 2:3.50:3.00:0", ""},
		{"an item", []sales.Refund{{Amount: 700, Items: []sales.RefundItem{line(2, nil, nil)}}}, "0.60 0.40 2:7.00:6.00:0", ""},
		{"units of items", []sales.Refund{{Amount: 700, Items: []sales.RefundItem{line(2, nil, nil), line(1, units(1), nil)}}},
			"0.60 0.40 1:1.75:1.50:1 2:5.25:4.50:0", ""},
		{"amounts", []sales.Refund{{Amount: 700, Items: []sales.RefundItem{line(1, units(2), amount(100)), line(2, nil, amount(600))}}},
			"0.60 0.40 1:1.00:0.86:2 2:6.00:5.14:0", ""},
		{"everything", []sales.Refund{{Amount: 700, Restock: true}}, "0.60 0.40 1:3.50:3.00:3 2:3.50:3.00:1", ""},
		{"the rest", []sales.Refund{
			{Amount: 1, Items: []sales.RefundItem{line(1, units(2), nil)}}, {Amount: 700, Restock: true},
		}, "0.60 0.40 1:3.50:3.00:1 2:3.50:3.00:1", ""},
		{"restocked items at most what is left", []sales.Refund{
			{Amount: 1, Items: []sales.RefundItem{line(1, units(2), nil)}},
			{Amount: 700, Restock: true, RestockItems: []sales.RestockItem{{Line: 1, Quantity: 2}}},
		}, "0.60 0.40 1:3.50:3.00:1 2:3.50:3.00:0", ""},
		{"more units than are left", []sales.Refund{
			{Amount: 1, Items: []sales.RefundItem{line(1, units(2), nil)}},
			{Amount: 700, Items: []sales.RefundItem{line(1, units(2), nil)}},
		}, "", "items[0].quantity"},
		{"an unknown line", []sales.Refund{{Amount: 1, Items: []sales.RefundItem{line(3, nil, nil)}}}, "", "items[0].line"},
		{"a line twice", []sales.Refund{{Amount: 1, Items: []sales.RefundItem{line(1, nil, nil), line(1, nil, nil)}}}, "", "items[1].line"},
		{"no units", []sales.Refund{{Amount: 1, Items: []sales.RefundItem{line(1, units(0), nil)}}}, "", "items[0].quantity"},
		{"other amounts", []sales.Refund{{Amount: 7, Items: []sales.RefundItem{line(1, nil, amount(6))}}}, "", "items"},
		{"some amounts", []sales.Refund{{Amount: 7, Items: []sales.RefundItem{line(1, nil, amount(7)), line(2, nil, nil)}}}, "", "items"},
		{"no items", []sales.Refund{{Amount: 7, Items: []sales.RefundItem{}}}, "", "items"},
		{"restock_items with items", []sales.Refund{{
			Amount: 7, Restock: true, Items: []sales.RefundItem{line(1, nil, nil)},
			RestockItems: []sales.RestockItem{{Line: 1, Quantity: 1}},
		}}, "", "restock_items"},
		{"tax alone", []sales.Refund{{Amount: 7, Tax: amount(1)}}, "", "shipping"},
		{"shipping alone", []sales.Refund{{Amount: 7, Shipping: amount(1)}}, "", "tax"},
		{"parts above the amount", []sales.Refund{{Amount: 7, Tax: amount(4), Shipping: amount(4)}}, "", "tax"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := mustShop(t)
			o := order("A", sales.Item{SKU: "TEA", Quantity: 3, UnitPrice: 1000}, sales.Item{SKU: "odd", Quantity: 1, UnitPrice: 3000})
			o.TaxTotal, o.ShippingTotal = amount(600), amount(400)
			s.mustIngest(t, o)
			var result sales.Result
			for i, r := range test.refunds {
				r.OrderNumber, r.Reference = "A", new(fmt.Sprint(i))
				result = s.mustRefund(t, r)[0]
				if again := s.mustRefund(t, r)[0]; result.Err == nil && (again.Outcome != sales.Unchanged || again.ID != result.ID) {
					t.Errorf("the same refund again is %+v", again)
				}
			}
			if test.invalid != "" {
				var invalid tenancy.InvalidError
				if !errors.As(result.Err, &invalid) || len(invalid) != 1 || len(invalid[test.invalid]) == 0 {
					t.Errorf("Refund = %v, want an error of %s", result.Err, test.invalid)
				}
				return
			}
			var got string
			if err := s.MustSuper(t).QueryRow(t.Context(), `
				select concat_ws(' ', to_char(tax / 100.0, 'FM990.00'), to_char(shipping / 100.0, 'FM990.00'),
				                 (select string_agg(concat_ws(':', line, to_char(i.amount / 100.0, 'FM990.00'),
				                                              to_char(i.revenue / 100.0, 'FM990.00'), i.units), ' ' order by line)
				                    from refund_items i where i.refund_id = r.id))
				  from refunds r where id = $1`, result.ID).Scan(&got); err != nil {
				t.Fatal(err)
			}
			if got != test.want {
				t.Errorf("the refund has %s, want %s", got, test.want)
			}
			s.mustAgree(t)
		})
	}
}
