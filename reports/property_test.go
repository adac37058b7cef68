package reports_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/tenancytest"
)

// Whatever is sold, refunded and cancelled, in whatever order it comes in, twice,
// and from several senders at once, while products change, the time zone changes or
// broken sums are mended: every report is what the model says.
func TestReportsEqualTheModel(t *testing.T) {
	t.Parallel()
	d := tenancytest.New(t)
	super := d.MustSuper(t)
	var tenants atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		s := scripts().Draw(t, "script")
		tenant, err := tenancy.CreateTenant(t.Context(), d.Admin, tenancy.Tenant{Slug: fmt.Sprint("t", tenants.Add(1)), Name: "Shop", Timezone: s.Zone})
		if err != nil {
			t.Fatal(err)
		}
		p := &performance{
			script: s, tenant: tenant, super: super, model: newModel(s.Zone), made: map[delivery]int{}, orders: map[int]*modelOrder{},
			catalog: catalog.New(d.DB), sales: sales.New(d.DB), operator: sales.New(d.Admin), reports: reports.New(d.DB),
		}
		for n := range s.Stages {
			if err := p.play(t.Context(), n); err != nil {
				t.Fatalf("stage %d: %v", n, err)
			}
		}
		if err := p.sendAllAgain(t.Context()); err != nil {
			t.Fatalf("everything again: %v", err)
		}
	})
}

// compare asks everything that a stage asks.
func (p *performance) compare(ctx context.Context, q scriptQuestions) error {
	var group errgroup.Group
	group.SetLimit(4)
	for _, ask := range []func(context.Context, scriptQuestions) error{
		p.compareSummary, p.compareChannels, p.compareProducts, p.compareCustomers, p.compareReconciliation, p.compareOrders,
	} {
		group.Go(func() error { return ask(ctx, q) })
	}
	for _, c := range q.Customs {
		group.Go(func() error { return p.compareCustom(ctx, q.Range, c) })
	}
	return group.Wait()
}

// differ is an error that shows how an answer is not what the model says.
func differ[Q, A any](query Q, want, got A, err error) error {
	if err != nil {
		return fmt.Errorf("%+v: %w", query, err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(reports.Explain{}, "Formulas")); diff != "" {
		return fmt.Errorf("%T%+v (-model +product):\n%s", query, query, diff)
	}
	return nil
}

func (p *performance) compareSummary(ctx context.Context, q scriptQuestions) error {
	for _, query := range []reports.SummaryQuery{
		{Range: q.Range, Compare: true}, {Range: q.Range, Channel: q.Channel, Compare: q.Compare, Explain: q.Explain},
	} {
		got, err := p.reports.Summary(ctx, p.tenant, query)
		if err := differ(query, p.model.summary(query), got, err); err != nil {
			return err
		}
		if got.Previous == nil {
			continue
		}
		now, before := int64(got.Total.Revenue), int64(got.Previous.Revenue)
		if err := differ(query, modelChange(now, before), reports.Change(now, before), nil); err != nil {
			return err
		}
	}
	return nil
}

func (p *performance) compareChannels(ctx context.Context, q scriptQuestions) error {
	query := reports.ChannelsQuery{Range: q.Range, Explain: q.Explain}
	got, err := p.reports.Channels(ctx, p.tenant, query)
	return differ(query, p.model.byChannels(query), got, err)
}

func (p *performance) compareProducts(ctx context.Context, q scriptQuestions) error {
	query := reports.ProductsQuery{Range: q.Range, By: q.ProductsBy, Ascending: q.Ascending, Page: 1, PerPage: q.PerPage, Explain: q.Explain}
	if q.Category > 0 {
		query.CategoryID = new(p.category(q.Category))
	}
	want := p.model.allProducts(query)
	for ; ; query.Page++ {
		page := p.model.productsPage(query, want)
		got, err := p.reports.Products(ctx, p.tenant, query)
		if err := differ(query, page, got, err); err != nil {
			return err
		}
		if len(page.Rows) == 0 {
			break
		}
	}
	var walked []reports.ProductSums
	err := p.reports.WalkProducts(ctx, p.tenant, query, func(row reports.ProductSums) error {
		walked = append(walked, row)
		return nil
	})
	return differ(query, want, walked, err)
}

// category is the id of a category of the script; beyond the last there is one
// that does not exist.
func (p *performance) category(n int) int64 {
	if n == len(p.categories) {
		return 1 << 40
	}
	return p.categories[n]
}

func (p *performance) compareCustomers(ctx context.Context, q scriptQuestions) error {
	query := reports.CustomersQuery{Range: q.Range, Channel: q.Channel, By: q.CustomersBy, Ascending: q.Ascending, Page: 1, PerPage: q.PerPage, Explain: q.Explain}
	want := p.model.allCustomers(query)
	for ; ; query.Page++ {
		page := p.model.customersPage(query, want)
		got, err := p.reports.Customers(ctx, p.tenant, query)
		if err := differ(query, page, got, err); err != nil {
			return err
		}
		if len(page.Rows) == 0 {
			break
		}
	}
	type figures struct{ RepeatRate, AverageRevenue int64 }
	computed := figures{int64(want.RepeatRatePercent()), int64(want.AverageRevenue())}
	expected := figures{modelRatio(10_000, want.Customers-want.New, want.Customers), modelRatio(1, int64(want.Total.Revenue), want.Customers)}
	if err := differ(query, expected, computed, nil); err != nil {
		return err
	}
	var walked []reports.CustomerSums
	err := p.reports.WalkCustomers(ctx, p.tenant, query, func(row reports.CustomerSums) error {
		walked = append(walked, row)
		return nil
	})
	return differ(query, want.Rows, walked, err)
}

func (p *performance) compareReconciliation(ctx context.Context, q scriptQuestions) error {
	got, err := p.reports.Reconcile(ctx, p.tenant, q.Range)
	return differ(q.Range, p.model.reconciliation(q.Range), got, err)
}

func (p *performance) compareCustom(ctx context.Context, r reports.Range, c scriptCustom) error {
	query := reports.CustomQuery{Range: r, GroupBy: c.GroupBy, Metrics: c.Metrics, Channels: c.Channels, Explain: c.Explain}
	for _, n := range c.Categories {
		query.CategoryIDs = append(query.CategoryIDs, p.category(n))
	}
	got, err := p.reports.Custom(ctx, p.tenant, query)
	if err := differ(query, p.model.custom(query), got, err); err != nil {
		return err
	}
	for _, metric := range reports.Metrics {
		if got, want := int64(metric.Of(got.Total)), modelFigure(metric.Name, got.Total); got != want {
			return fmt.Errorf("%s of %+v = %d, want %d", metric.Name, query, got, want)
		}
	}
	return nil
}

// compareOrders compares orders as they are shown one by one.
func (p *performance) compareOrders(ctx context.Context, _ scriptQuestions) error {
	type line struct {
		SKU, Name                     string
		Discount, Tax, Refunded, Cost money.Cents
	}
	type order struct {
		Cancelled                               bool
		Revenue, Discounts, Tax, Cost, Refunded money.Cents
		Lines                                   []line
	}
	for _, o := range p.model.orders {
		sale, err := p.sales.Order(ctx, p.tenant.ID, o.Number)
		got := order{sale.CancelledAt != nil, sale.Revenue, sale.Discounts, sale.Tax, sale.Cost, sale.Refunded, nil}
		for _, l := range sale.Lines {
			cost := money.Cents(0)
			if l.UnitCost != nil {
				cost = *l.UnitCost * money.Cents(l.Quantity)
			}
			got.Lines = append(got.Lines, line{l.SKU, l.Name, l.Discount, l.Tax, l.Refunded, cost})
		}
		want := order{Cancelled: o.cancelled}
		for i, l := range o.lines {
			row := line{l.sku, l.name, money.Cents(l.discount), money.Cents(l.tax), 0, money.Cents(l.cost)}
			for _, r := range o.refunds {
				row.Refunded += money.Cents(r.shares[i])
			}
			want.Revenue += money.Cents(l.gross - l.discount)
			want.Discounts, want.Tax, want.Cost, want.Refunded = want.Discounts+row.Discount, want.Tax+row.Tax, want.Cost+row.Cost, want.Refunded+row.Refunded
			want.Lines = append(want.Lines, row)
		}
		if err := differ(o.Order, want, got, err); err != nil {
			return err
		}
	}
	return nil
}
