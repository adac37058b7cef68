package reports_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// TestReportsEqualTheModel sends orders, refunds and cancellations in any order, some of
// them twice, from several senders, while products change, the time zone changes or wrong
// rollups are repaired. Every report equals that of the model.
func TestReportsEqualTheModel(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	super := d.MustSuper(t)
	var made atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		s := scenarios().Draw(t, "scenario")
		tenant := tenants.Tenant{Slug: fmt.Sprint("t", made.Add(1)), Name: "Shop", Timezone: s.Zone}
		tenant, err := tenants.Create(t.Context(), d.Admin, tenant)
		if err != nil {
			t.Fatal(err)
		}
		run := &scenarioRun{
			scenario: s, tenant: tenant, super: super, db: d.DB,
			model: newModel(s.Zone), made: map[message]int{}, orders: map[int]*modelOrder{},
			catalog: catalog.New(d.DB), sales: sales.New(d.DB), operator: sales.New(d.Admin), reports: reports.New(d.DB),
		}
		if s.NoLookups {
			run.reports = reports.WithoutLookups(d.DB)
		}
		for n := range s.Stages {
			if err := run.runStage(t.Context(), n); err != nil {
				t.Fatalf("stage %d: %v", n, err)
			}
		}
		if err := run.resendAll(t.Context()); err != nil {
			t.Fatalf("resend everything: %v", err)
		}
	})
}

// compare compares all reports of a stage.
func (run *scenarioRun) compare(ctx context.Context, q scenarioQueries) error {
	var group errgroup.Group
	group.SetLimit(4)
	for _, compare := range []func(context.Context, scenarioQueries) error{
		run.compareSummary, run.compareChannels, run.compareProducts, run.compareCustomers, run.compareReconciliation,
		run.compareStoredOrders, run.compareOverview,
	} {
		group.Go(func() error { return compare(ctx, q) })
	}
	for _, c := range q.Customs {
		group.Go(func() error { return run.compareCustom(ctx, q.Range, c) })
	}
	return group.Wait()
}

// differ returns an error that shows how a report differs from that of the model.
func differ[Q, A any](query Q, want, got A, err error) error {
	if err != nil {
		return fmt.Errorf("%+v: %w", query, err)
	}
	ignore := cmp.FilterPath(func(p cmp.Path) bool {
		return slices.Contains([]string{".Formulas", ".ChangedAt"}, p.Last().String())
	}, cmp.Ignore())
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), ignore); diff != "" {
		return fmt.Errorf("%T%+v (-model +report):\n%s", query, query, diff)
	}
	return nil
}

func (run *scenarioRun) compareSummary(ctx context.Context, q scenarioQueries) error {
	for _, query := range []reports.SummaryQuery{
		{Range: q.Range, Compare: reports.PreviousPeriod},
		{Range: q.Range, Channel: q.Channel, Compare: q.Compare, Until: run.until(q), Explain: q.Explain},
	} {
		want := run.model.summary(query)
		got, err := run.reports.Summary(ctx, run.tenant, query)
		if err := differ(query, want, got, err); err != nil {
			return err
		}
		if got.Previous == nil {
			continue
		}
		err = errors.Join(
			differ(query, modelPairs(want.Channels, want.Previous.Channels), got.PairChannels(), nil),
			differ(query, modelChanges(want.Total, want.Previous.Total), changes(got.Total, got.Previous.Total), nil))
		for i, before := range modelDaysBefore(want) {
			pair := reports.DayPair{Now: want.Days[i], Before: before}
			err = errors.Join(err, differ(query, pair, got.PairDays()[i], nil))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// until returns the moment at which the last compared day ends, or zero.
func (run *scenarioRun) until(q scenarioQueries) time.Time {
	if q.Compare == "" || q.UntilQuarter == 0 {
		return time.Time{}
	}
	return tenancy.MomentOf(q.Range.To.Add(time.Duration(q.UntilQuarter)*15*time.Minute), run.model.zone)
}

// changes returns the changes of all figures, by name.
func changes(now, before reports.Sums) map[string]*reports.Figure {
	all := map[string]*reports.Figure{}
	for _, c := range reports.Figures {
		all[c.Name] = c.Change(now, before)
	}
	return all
}

func modelChanges(now, before reports.Sums) map[string]*reports.Figure {
	all := map[string]*reports.Figure{}
	for _, name := range []string{
		"gross_sales", "discounts", "revenue", "refunds", "net_revenue", "tax", "shipping", "total",
		"orders", "avg_order_value", "items", "units_sold", "gross_profit", "margin_percent",
		"units_without_cost", "revenue_without_cost", "costed_percent",
		"net_gross_profit", "net_margin_percent", "units_returned", "refunded_revenue", "returned_cost",
	} {
		all[name] = modelChange(name, now, before)
	}
	return all
}

func (run *scenarioRun) compareChannels(ctx context.Context, q scenarioQueries) error {
	query := reports.ChannelsQuery{Range: q.Range, Compare: q.Compare, Until: run.until(q), Explain: q.Explain}
	got, err := run.reports.Channels(ctx, run.tenant, query)
	return differ(query, run.model.byChannels(query), got, err)
}

func (run *scenarioRun) compareProducts(ctx context.Context, q scenarioQueries) error {
	query := reports.ProductsQuery{
		Range: q.Range, By: q.ProductsBy, Ascending: q.Ascending, Page: 1, PerPage: q.PerPage, Explain: q.Explain,
	}
	if q.Category > 0 {
		query.CategoryID = new(run.category(q.Category))
	}
	want := run.model.allProducts(query)
	for ; ; query.Page++ {
		page := run.model.productsPage(query, want)
		got, err := run.reports.Products(ctx, run.tenant, query)
		if err := differ(query, page, got, err); err != nil {
			return err
		}
		if len(page.Rows) == 0 {
			break
		}
	}
	var walked []reports.ProductSums
	err := run.reports.WalkProducts(ctx, run.tenant, query, func(row reports.ProductSums) error {
		walked = append(walked, row)
		return nil
	})
	return differ(query, want, walked, err)
}

// category returns the id of a category of the scenario. The number after the last
// category returns an unknown id.
func (run *scenarioRun) category(n int) int64 {
	if n == len(run.categories) {
		return 1 << 40
	}
	return run.categories[n]
}

func (run *scenarioRun) compareCustomers(ctx context.Context, q scenarioQueries) error {
	query := reports.CustomersQuery{
		Range: q.Range, Channel: q.Channel, By: q.CustomersBy, Ascending: q.Ascending,
		Page: 1, PerPage: q.PerPage, Explain: q.Explain,
	}
	want := run.model.allCustomers(query)
	for ; ; query.Page++ {
		page := run.model.customersPage(query, want)
		got, err := run.reports.Customers(ctx, run.tenant, query)
		if err := differ(query, page, got, err); err != nil {
			return err
		}
		if len(page.Rows) == 0 {
			break
		}
	}
	type figures struct{ RepeatRate, AverageRevenue int64 }
	computed := figures{mustInt64(want.RepeatRatePercent()), int64(want.AverageRevenue())}
	expected := figures{
		modelRatio(10_000, want.Customers-want.New, want.Customers), modelRatio(1, int64(want.Total.Revenue), want.Customers),
	}
	if err := differ(query, expected, computed, nil); err != nil {
		return err
	}
	var walked []reports.CustomerSums
	err := run.reports.WalkCustomers(ctx, run.tenant, query, func(row reports.CustomerSums) error {
		walked = append(walked, row)
		return nil
	})
	return differ(query, want.Rows, walked, err)
}

func (run *scenarioRun) compareReconciliation(ctx context.Context, q scenarioQueries) error {
	got, err := run.reports.Reconcile(ctx, run.tenant, q.Range)
	for i, f := range got.Figures { // the model has no rows of sold products, so Balanced compares the groups
		if isCount := f.Figure == "orders" || f.Figure == "refund_count"; isCount != (f.Groups != nil) {
			return fmt.Errorf("%s has the groups %+v", f.Figure, f.Groups)
		}
		got.Figures[i].Groups = nil
	}
	return differ(q.Range, run.model.reconciliation(q.Range), got, err)
}

func (run *scenarioRun) compareCustom(ctx context.Context, r reports.Range, c scenarioCustom) error {
	query := reports.CustomQuery{
		Range: r, GroupBy: c.GroupBy, Metrics: c.Metrics, Channels: c.Channels, Explain: c.Explain,
	}
	for _, n := range c.Categories {
		query.CategoryIDs = append(query.CategoryIDs, run.category(n))
	}
	got, err := run.reports.Custom(ctx, run.tenant, query)
	if err := differ(query, run.model.custom(query), got, err); err != nil {
		return err
	}
	for _, metric := range reports.Metrics {
		if got, want := mustInt64(metric.Of(got.Total)), modelFigure(metric.Name, got.Total); got != want {
			return fmt.Errorf("%s of %+v = %d, want %d", metric.Name, query, got, want)
		}
	}
	return nil
}

// compareStoredOrders compares each order and its lines.
func (run *scenarioRun) compareStoredOrders(ctx context.Context, _ scenarioQueries) error {
	type line struct {
		SKU, Name                               string
		Discount, Tax, Shipping, Refunded, Cost money.Cents
		UnitsReturned                           int64
	}
	type order struct {
		Cancelled                                         bool
		Revenue, Discounts, Tax, Shipping, Cost, Refunded money.Cents
		Lines                                             []line
	}
	for _, o := range run.model.orders {
		sale, err := run.sales.Order(ctx, run.tenant.ID, o.Number)
		got := order{
			sale.CancelledAt != nil,
			sale.Revenue, sale.Discounts, sale.Tax, sale.Shipping, sale.Cost, sale.Refunded, nil,
		}
		for _, l := range sale.Lines {
			cost := money.Cents(0)
			if l.UnitCost != nil {
				cost = *l.UnitCost * money.Cents(l.Quantity)
			}
			got.Lines = append(got.Lines, line{
				l.SKU, l.Name, l.Discount, l.Tax, l.Shipping, l.Refunded, cost, l.UnitsReturned,
			})
		}
		want := order{Cancelled: o.cancelled}
		for i, l := range o.lines {
			row := line{
				l.sku, l.name, money.Cents(l.discount), money.Cents(l.tax), money.Cents(l.shipping), 0, money.Cents(l.cost),
				0,
			}
			for _, r := range o.refunds {
				row.Refunded += money.Cents(r.shares[i])
				row.UnitsReturned += r.units[i]
			}
			want.Revenue += money.Cents(l.gross - l.discount)
			want.Discounts += row.Discount
			want.Tax += row.Tax
			want.Shipping += row.Shipping
			want.Cost += row.Cost
			want.Refunded += row.Refunded
			want.Lines = append(want.Lines, row)
		}
		if err := differ(o.Order, want, got, err); err != nil {
			return err
		}
	}
	return nil
}

func mustInt64(f reports.Figure) int64 {
	n, fits := f.Int64()
	if !fits {
		panic(f)
	}
	return n
}
