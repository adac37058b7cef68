package imports

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// business is a tenant with its stores.
type business struct {
	*dbtest.Database
	tenant  tenants.Tenant
	catalog *catalog.Store
	sales   *sales.Store
}

func newBusiness(t *testing.T, d *dbtest.Database, slug string) business {
	t.Helper()
	return business{d, d.MustTenant(t, slug), catalog.New(d.DB), sales.New(d.DB)}
}

func setOf(records []Record) *Set {
	return &Set{
		Files: []File{{Name: "random.csv"}},
		records: func(context.Context) iter.Seq2[Record, error] {
			return func(yield func(Record, error) bool) {
				for _, r := range records {
					if !yield(r, nil) {
						return
					}
				}
			}
		},
	}
}

func (s business) mustImport(t *testing.T, records []Record) Report {
	t.Helper()
	report, err := NewRunner(s.DB, s.tenant, Options{By: tenancy.Operator}).importSet(t.Context(), setOf(records))
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func (s business) mustUndo(t *testing.T, id int64) Report {
	t.Helper()
	report, err := NewRunner(s.DB, s.tenant, Options{By: tenancy.Operator}).Undo(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// mustDump returns everything that imports write, without ids and without sums that are zero.
func (s business) mustDump(t *testing.T) string {
	t.Helper()
	rows, err := db.All[struct{ Line string }](t.Context(), s.DB, s.tenant.ID, `
		select line from (
			select 1 as kind, concat_ws(' ', 'category', name) as line from categories where tenant_id = $1
			union all
			select 2, concat_ws(' ', 'seller', name) from sellers where tenant_id = $1
			union all
			select 3, concat_ws(' ', 'warehouse', name) from warehouses where tenant_id = $1
			union all
			select 4, concat_ws(' ', 'product', p.sku, p.name, p.description, p.price, p.cost, p.status, p.quantity, p.tags,
			       (select name from categories where tenant_id = $1 and id = p.category_id),
			       (select name from sellers where tenant_id = $1 and id = p.seller_id),
			       (select name from warehouses where tenant_id = $1 and id = p.warehouse_id),
			       array(select w.name || ' ' || s.quantity
			               from stock s join warehouses w on w.tenant_id = $1 and w.id = s.warehouse_id
			              where s.tenant_id = $1 and s.product_id = p.id and s.quantity > 0
			              order by 1))
			  from products p where p.tenant_id = $1
			union all
			select 5, concat_ws(' ', 'channel', identifier, label) from channels where tenant_id = $1
			union all
			select 6, concat_ws(' ', 'customer', number, name, email) from customers where tenant_id = $1
			union all
			select 7, concat_ws(' ', 'order', o.number, o.placed_at, o.channel, o.items, o.units, o.revenue, o.discounts,
			       o.tax, o.shipping, o.cost, o.units_without_cost,
			       (select number from customers where tenant_id = $1 and id = o.customer_id),
			       (select string_agg(concat_ws(' ', r.refunded_at, r.amount, r.reference), ',' order by r.reference)
			          from refunds r where r.tenant_id = $1 and r.order_id = o.id),
			       (select 'cancelled' from cancellations c where c.tenant_id = $1 and c.order_id = o.id))
			  from orders o where o.tenant_id = $1
			union all
			select 8, concat_ws(' ', 'sums', kind, day, channel, sum(orders), sum(items), sum(units), sum(revenue),
			       sum(discounts), sum(tax), sum(cost), sum(refund_count), sum(refunds), sum(shipping))
			  from sales_rollups
			 where tenant_id = $1
			 group by kind, day, channel
			having sum(orders) <> 0 or sum(items) <> 0 or sum(revenue) <> 0 or sum(refund_count) <> 0
			) x
		 order by kind, line`, s.tenant.ID)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, row := range rows {
		lines = append(lines, row.Line)
	}
	return strings.Join(lines, "\n")
}

func (s business) mustAgree(t *testing.T) {
	t.Helper()
	inSales, err := s.sales.Verify(t.Context(), s.tenant.ID, 10)
	inCatalog, catalogErr := s.catalog.Verify(t.Context(), s.tenant.ID, 10)
	if err := errors.Join(err, catalogErr); err != nil {
		t.Fatal(err)
	}
	if all := append(inSales, inCatalog...); len(all) > 0 {
		t.Errorf("stored sums of %s differ from the facts: %+v", s.tenant.Slug, all)
	}
}

// write stores records with the functions of the API, in the sequence of an import.
func (s business) write(ctx context.Context, records []Record) error {
	by, id := catalog.Actor{Tenant: s.tenant.ID}, s.tenant.ID
	var orders []sales.Row
	var refunds []sales.RefundRow
	var cancellations []string
	for _, r := range records {
		switch r.Kind {
		case Product:
			row := catalog.Row{Changes: r.Product.Changes, Invalid: r.Invalid}
			probe := *r.Product
			if !s.accepts(ctx, probe) {
				continue // its references are not created
			}
			for _, ref := range []struct {
				kind catalog.Kind
				name catalog.Field[string]
				id   *catalog.Field[int64]
			}{
				{catalog.Categories, probe.CategoryName, &row.CategoryID}, {catalog.Sellers, probe.SellerName, &row.SellerID},
				{catalog.Warehouses, probe.WarehouseName, &row.WarehouseID},
			} {
				if !ref.name.Set {
					continue
				}
				stored, _, err := s.catalog.EnsureReferences(ctx, id, ref.kind, []string{ref.name.Value})
				if err != nil {
					return err
				}
				*ref.id = catalog.Value(stored[ref.name.Value])
			}
			if _, err := s.catalog.Upsert(ctx, by, []catalog.Row{row}); err != nil {
				return err
			}
		case Channel:
			if _, err := s.sales.EnsureChannels(ctx, id, []sales.Channel{*r.Channel}); err != nil {
				return err
			}
		case Customer:
			if _, err := s.sales.EnsureCustomers(ctx, id, []sales.Customer{*r.Customer}); err != nil {
				return err
			}
		case Order:
			orders = append(orders, sales.Row{Order: *r.Order, Invalid: r.Invalid})
		case Refund:
			refunds = append(refunds, sales.RefundRow{Refund: *r.Refund, Invalid: r.Invalid})
		case Cancellation:
			cancellations = append(cancellations, r.Cancellation.OrderNumber)
		}
	}
	_, err := s.sales.Ingest(ctx, id, orders)
	if err == nil {
		_, err = s.sales.Refund(ctx, id, refunds)
	}
	for _, number := range cancellations {
		if _, cancelErr := s.sales.Cancel(ctx, id, number, new(cancelledAt)); !errors.Is(cancelErr, tenancy.ErrNotFound) {
			err = errors.Join(err, cancelErr)
		}
	}
	return err
}

// accepts reports whether a product is valid: its references are created only then.
func (s business) accepts(ctx context.Context, row catalog.PlanRow) bool {
	planned, err := s.catalog.PlanProducts(ctx, s.tenant.ID, []catalog.PlanRow{row})
	return err == nil && planned[0].Outcome != catalog.Failed
}

var cancelledAt = time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)

// randomRecords returns products, some of them twice or invalid, and orders with refunds and cancellations, which
// partly are those of an earlier call with the same generator.
func randomRecords(r *rand.Rand, products, orders int) (records []Record) {
	text := func(prefix string, n int) string { return fmt.Sprintf("%s%d", prefix, r.IntN(n)) }
	sometimes := func(n int) bool { return r.IntN(n) == 0 }
	row := 1
	add := func(record Record) {
		row++
		record.Rows = []changeplan.FileRow{{File: "random.csv", Line: row}}
		records = append(records, record)
	}
	for range products {
		p := &catalog.PlanRow{Changes: catalog.Changes{
			SKU: catalog.Value(text("S", products)), Name: catalog.Value(text("Name ", 4)),
			Price: catalog.Value(money.Cents(r.IntN(3) * 100)),
		}}
		if sometimes(2) {
			p.Quantity = catalog.Value(int64(r.IntN(4)) - 1) // sometimes invalid
		}
		if sometimes(3) {
			p.CategoryName = catalog.Value(text("Category ", 3))
		}
		if sometimes(4) {
			p.SellerName = catalog.Value(text("Seller ", 3))
		}
		if sometimes(5) {
			p.WarehouseName = catalog.Value(text("Warehouse ", 2))
		}
		if sometimes(3) {
			p.Tags, p.Cost = catalog.Value([]string{text("tag", 3)}), catalog.Value(money.Cents(50))
		}
		if sometimes(8) {
			p.Price = catalog.Field[money.Cents]{}
		}
		add(Record{Row: changeplan.Row{Kind: Product, Key: p.SKU.Value}, Product: p})
	}
	add(Record{
		Row:     changeplan.Row{Kind: Channel, Key: "web"},
		Channel: &sales.Channel{Identifier: "web", Label: text("Web ", 3)},
	})
	day := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for range orders {
		o := &sales.Order{
			Number: text("O", orders), PlacedAt: day.AddDate(0, 0, r.IntN(3)), Channel: []string{"web", "pos", "etsy", "Not valid"}[r.IntN(4)],
		}
		if sometimes(2) {
			o.Customer = &sales.Customer{ID: text("C", 5), Name: new("Ann")}
		}
		for range 1 + r.IntN(3) {
			o.Items = append(o.Items, sales.Item{
				SKU: text("S", products+3), Quantity: int64(1 + r.IntN(3)), UnitPrice: money.Cents(100 * r.IntN(5)),
			})
		}
		add(Record{Row: changeplan.Row{Kind: Order, Key: o.Number}, Order: o})
		if sometimes(3) {
			add(Record{Row: changeplan.Row{Kind: Refund, Key: o.Number}, Refund: &sales.Refund{
				OrderNumber: text("O", orders+2), Amount: money.Cents(r.IntN(500)), RefundedAt: new(day), Reference: new(text("R", 3)),
			}})
		}
		if sometimes(4) {
			add(Record{Row: changeplan.Row{Kind: Cancellation, Key: o.Number}, Cancellation: &sales.Cancellation{
				OrderNumber: text("O", orders+2), CancelledAt: new(cancelledAt),
			}})
		}
	}
	return records
}

// A plan that is applied stores what Upsert, Ingest, Refund and Cancel store, and its undo restores what was there.
func TestAPlanEqualsDirectWritesAndItsUndoRestores(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 14))
		direct, planned := newBusiness(t, d, fmt.Sprintf("direct-%d", seed)), newBusiness(t, d, fmt.Sprintf("planned-%d", seed))
		before, records := randomRecords(r, 6, 5), randomRecords(r, 12, 10)
		for _, s := range []business{direct, planned} {
			if err := s.write(t.Context(), before); err != nil {
				t.Fatal(err)
			}
		}
		state := planned.mustDump(t)
		if err := direct.write(t.Context(), records); err != nil {
			t.Fatal(err)
		}
		report := planned.mustImport(t, records)
		if diff := cmp.Diff(direct.mustDump(t), planned.mustDump(t)); diff != "" {
			t.Errorf("seed %d, direct writes and the import (-direct +import):\n%s", seed, diff)
		}
		again := planned.mustImport(t, records)
		if c := again.Files[0]; c.Created > 0 {
			t.Errorf("seed %d: the second import created rows: %+v", seed, c)
		}
		for _, id := range []int64{again.Plan, report.Plan} {
			if undone := planned.mustUndo(t, id); len(undone.Kept) > 0 {
				t.Errorf("seed %d: the undo kept %+v, want nothing", seed, undone.Kept)
			}
		}
		if diff := cmp.Diff(state, planned.mustDump(t)); diff != "" {
			t.Errorf("seed %d, before the import and after its undo (-before +after):\n%s", seed, diff)
		}
		planned.mustAgree(t)
		direct.mustAgree(t)
		if t.Failed() {
			return
		}
	}
}

func product(sku string, price money.Cents) Record {
	return Record{
		Row: changeplan.Row{Kind: Product, Key: sku, Rows: []changeplan.FileRow{{File: "products.csv", Line: 2}}},
		Product: &catalog.PlanRow{
			Changes: catalog.Changes{SKU: catalog.Value(sku), Name: catalog.Value("Axe"), Price: catalog.Value(price)},
		},
	}
}

func order(number, sku string) Record {
	return Record{
		Row: changeplan.Row{Kind: Order, Key: number, Rows: []changeplan.FileRow{{File: "orders.csv", Line: 2}}},
		Order: &sales.Order{
			Number: number, PlacedAt: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Channel: "web",
			Items: []sales.Item{{SKU: sku, Quantity: 1, UnitPrice: 500}},
		},
	}
}

// Rows that something else has changed since the import are named and kept.
func TestAnUndoKeepsWhatHasChangedSince(t *testing.T) {
	t.Parallel()
	s := newBusiness(t, dbtest.New(t), "acme")
	ctx, id := t.Context(), s.tenant.ID
	s.mustImport(t, []Record{product("A", 100), product("B", 100), product("C", 100)})
	report := s.mustImport(t, []Record{
		product("A", 200), product("B", 200), product("D", 200), order("1", "A"), order("2", "B"),
	})
	if _, err := s.catalog.Upsert(ctx, catalog.Actor{Tenant: id}, []catalog.Row{
		{Changes: product("B", 300).Product.Changes},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.sales.Refund(ctx, id, []sales.RefundRow{{Refund: sales.Refund{OrderNumber: "2", Amount: 50}}}); err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, k := range s.mustUndo(t, report.Plan).Kept {
		kept = append(kept, k.Key)
	}
	slices.Sort(kept)
	if diff := cmp.Diff([]string{"2", "B", "web"}, kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	dump := s.mustDump(t)
	for _, want := range []string{"product A Axe 100 ", "product B Axe 300 ", "product C Axe 100 ", "order 2 "} {
		if !strings.Contains(dump, want) {
			t.Errorf("%q is missing after the undo:\n%s", want, dump)
		}
	}
	for _, not := range []string{"product D", "order 1 "} {
		if strings.Contains(dump, not) {
			t.Errorf("%q remains after the undo:\n%s", not, dump)
		}
	}
	s.mustAgree(t)
}

// A product that something else changes between the plan and its application is not overwritten.
func TestAnImportSkipsWhatHasChangedSinceThePlan(t *testing.T) {
	t.Parallel()
	s := newBusiness(t, dbtest.New(t), "acme")
	s.mustImport(t, []Record{product("A", 100), product("B", 100)})
	r := NewRunner(s.DB, s.tenant, Options{By: tenancy.Operator})
	id, err := r.store(t.Context(), setOf([]Record{product("A", 200), product("B", 200), product("C", 200)}))
	if err != nil {
		t.Fatal(err)
	}
	for _, sku := range []string{"A", "C"} {
		if _, err := s.catalog.Upsert(t.Context(), catalog.Actor{Tenant: s.tenant.ID}, []catalog.Row{
			{Changes: product(sku, 300).Product.Changes},
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.plans.Apply(t.Context(), s.tenant.ID, tenancy.Operator, id, false); err != nil {
		t.Fatal(err)
	}
	if err := r.plans.Work(t.Context(), s.tenant.ID, id, nil); err != nil {
		t.Fatal(err)
	}
	plan, err := r.plans.Get(t.Context(), s.tenant.ID, id)
	if err != nil || plan.State != changeplan.Planned || *plan.Failure != "Rows that have changed since the plan: 2." {
		t.Errorf("the plan = %+v, %v, want that two rows have changed", plan, err)
	}
	report, err := r.Resume(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if c := report.Files[len(report.Files)-1]; c.Updated != 1 || c.Refused != 2 || len(report.Kept) != 2 {
		t.Errorf("the report = %+v, want one updated and two refused", report)
	}
	dump := s.mustDump(t)
	for _, want := range []string{"product A Axe 300 ", "product B Axe 200 ", "product C Axe 300 "} {
		if !strings.Contains(dump, want) {
			t.Errorf("%q is missing:\n%s", want, dump)
		}
	}
}

// The rows of a product and of an order in different parts depend on each other.
func TestPartsDependOnEarlierOnes(t *testing.T) {
	t.Parallel()
	s := newBusiness(t, dbtest.New(t), "acme")
	var records []Record
	for i := range 2 * maxPartRows {
		records = append(records, product(fmt.Sprintf("S%d", i), 100))
	}
	again := product("S0", 300)
	again.Product.Name = catalog.Field[string]{}
	again.Product.CategoryName = catalog.Value("Tools")
	records = append(records, again)
	for i := range maxPartRows + 1 {
		records = append(records, order(fmt.Sprint(i), "S1"))
	}
	records = append(records, Record{
		Row: changeplan.Row{Kind: Refund, Key: "0", Rows: []changeplan.FileRow{{File: "refunds.csv", Line: 2}}},
		Refund: &sales.Refund{
			OrderNumber: "0", Amount: 600, RefundedAt: new(cancelledAt), Reference: new("shopify:6.00"),
		},
		Cumulative: "shopify:",
	})
	before := s.mustDump(t)
	report := s.mustImport(t, records)
	if report.Refused() > 0 || report.Exceeding != 1 {
		t.Errorf("the report = %+v, want nothing refused and one order above what was paid", report)
	}
	dump := s.mustDump(t)
	if !strings.Contains(dump, "product S0 Axe 300 ") || !strings.Contains(dump, "Tools") {
		t.Error("the second row of a product is not stored")
	}
	// A later file has a greater sum of refunds of the order.
	last := records[len(records)-1]
	last.Refund = &sales.Refund{
		OrderNumber: "0", Amount: 700, RefundedAt: new(cancelledAt), Reference: new("shopify:7.00"),
	}
	s.mustImport(t, []Record{last})
	stored, err := s.sales.Order(t.Context(), s.tenant.ID, "0")
	if err != nil || stored.Refunded != 700 || len(stored.Refunds) != 2 {
		t.Errorf("refunds of the order = %v in %d, %v, want 7.00 in 2", stored.Refunded, len(stored.Refunds), err)
	}
	later := s.mustImport(t, []Record{last})
	if later.Files[len(later.Files)-1].Unchanged != 1 {
		t.Errorf("the same refund again = %+v, want it unchanged", later)
	}
	s.mustUndo(t, later.Plan)
	s.mustUndo(t, later.Plan-1)
	if kept := s.mustUndo(t, report.Plan).Kept; len(kept) > 0 {
		t.Errorf("the undo kept %+v", kept[:min(5, len(kept))])
	}
	if diff := cmp.Diff(before, s.mustDump(t)); diff != "" {
		t.Errorf("before the import and after its undo (-before +after):\n%s", diff)
	}
	s.mustAgree(t)
}

// A product is deleted, and one is created again, after the filter was read.
func TestAChangeLeavesOutProductsThatWereDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	s := newBusiness(t, dbtest.New(t), "acme")
	by := catalog.Actor{Tenant: s.tenant.ID}
	var ids []int64
	for _, sku := range []string{"A", "B", "C"} {
		p, err := s.catalog.Create(t.Context(), by, product(sku, 500).Product.Changes, nil)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, p.ID)
	}
	c := changesImporter{NewImporter(s.DB, Pictures{})}
	of := productChange{Change: catalog.Change{Set: catalog.Changes{
		Name: catalog.Value("Bow"), Price: catalog.Value[money.Cents](700),
	}}}
	records := func(yield func(Record, error) bool) {
		for r, err := range c.changed(t.Context(), s.tenant.ID, of) {
			if !yield(r, err) {
				return
			}
		}
		for _, id := range ids[:2] {
			if err := s.catalog.Delete(t.Context(), by, id, nil); err != nil {
				t.Error(err)
			}
		}
		if _, err := s.catalog.Create(t.Context(), by, product("B", 500).Product.Changes, nil); err != nil {
			t.Error(err)
		}
	}
	var planned []string
	err := c.planRecords(t.Context(), s.tenant.ID, &Set{}, records, nil, time.Time{},
		func(_ changeplan.Part, rows []Record) error {
			for _, row := range rows {
				planned = append(planned, fmt.Sprint(row.Key, " ", row.Action))
			}
			return nil
		})
	if want := []string{"C updated"}; err != nil || !slices.Equal(planned, want) {
		t.Errorf("planned rows = %v, %v, want %v", planned, err, want)
	}
}

func TestAPlanShowsTheSettingsOfAChannel(t *testing.T) {
	t.Parallel()
	s := newBusiness(t, dbtest.New(t), "acme")
	channel := func(identifier, label string) Record {
		return Record{Row: changeplan.Row{Kind: Channel, Key: identifier}, Channel: &sales.Channel{
			Identifier: identifier, Label: label, TakesStock: true, WhenShort: sales.Accept,
		}}
	}
	pos, err := s.sales.Channel(t.Context(), s.tenant.ID, "pos")
	if err != nil {
		t.Fatal(err)
	}
	rows := []Record{channel("web", "Web"), channel("pos", pos.Label)}
	if err := NewImporter(s.DB, Pictures{}).plan(t.Context(), s.tenant.ID, rows); err != nil {
		t.Fatal(err)
	}
	got := []map[string]any{rows[0].Old, rows[0].New, rows[1].Old, rows[1].New}
	want := []map[string]any{
		nil, {"label": "Web", "takes_stock": true, "when_short": "accept"},
		{"takes_stock": false, "when_short": "refuse"}, {"takes_stock": true, "when_short": "accept"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("old and new values (-want +got):\n%s", diff)
	}
}
