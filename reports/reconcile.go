package reports

import (
	"context"
	"fmt"
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// ReconciledFigure is one figure of a range, added up in several ways. A value is nil if the figure cannot be added up
// that way: for example, an order can have items of several products.
type ReconciledFigure struct {
	Figure                                        string
	Unit                                          Unit
	Facts, Summary                                Figure
	Channels, Days, Products, Categories, Sellers *Figure
	// ProductPages are the sums that pages of products are selected by. CategoryChannels and SellerChannels are the sums
	// by day and channel, which are read instead of those by month for some filters and groups.
	ProductPages, CategoryChannels, SellerChannels *Figure
	// Groups are set for counts of orders and refunds, which count one in each of its groups.
	Groups   *GroupCounts
	Balanced bool
}

// GroupCounts are the counts of all groups, from facts and as they are stored.
type GroupCounts struct{ Products, Categories, Sellers CountPair }

// CountPair is a count from facts and as it is stored: in each of the stored sums, if there are several.
type CountPair struct{ Facts, Stored, StoredByChannel Figure }

func (c CountPair) balanced() bool { return c.Facts == c.Stored && c.Facts == c.StoredByChannel }

// Reconciliation compares the ways to add up the figures of a range.
type Reconciliation struct {
	Zone     string
	Balanced bool
	Figures  []ReconciledFigure
	// ChangedAt is like Summary.ChangedAt.
	ChangedAt *time.Time
}

var reconciledMetrics = []Metric{
	revenue, discounts, tax, cost, profit, refunds, orders, items, units, unitsWithoutCost, refundCount,
	gross, net, shipping, total, revenueWithoutCost,
	netProfit, unitsReturned, refundedRevenue, refundedWithoutCost, returnedCost,
}

// reconciled are the sums of a range from each source.
type reconciled struct {
	facts, total, channels, days, products, categories, sellers []groupRow
	categoryChannels, sellerChannels                            []groupRow
	pages                                                       *productScan
	ofPages                                                     Sums
	counts                                                      []groupCountRow
	changedAt                                                   []changedAtRow
}

// Reconcile adds up the sales of a range in several ways: once from each table that a report reads.
func (s *Store) Reconcile(ctx context.Context, t tenants.Tenant, r Range) (Reconciliation, error) {
	var all reconciled
	zone, err := s.run(ctx, t, db.CustomPlan, reportTimeout, func(b batch) { all.queue(b, r) })
	if err != nil {
		return Reconciliation{}, fmt.Errorf("reconcile: %w", err)
	}
	result := Reconciliation{Zone: zone, Balanced: true, ChangedAt: all.changedAt[0].ChangedAt}
	for _, m := range reconciledMetrics {
		figure := all.figure(m)
		result.Figures = append(result.Figures, figure)
		result.Balanced = result.Balanced && figure.Balanced
	}
	return result, nil
}

func (all *reconciled) queue(b batch, r Range) {
	byChannel := []column{byChannel}
	b.queueGroups(groupQuery{Range: r, lines: true}, &all.facts)
	b.queueGroups(groupQuery{Range: r}, &all.total)
	b.queueGroups(groupQuery{Range: r, groupBy: byChannel}, &all.channels)
	b.queueGroups(groupQuery{Range: r, groupBy: []column{byPeriod}, periods: r.periods("day")}, &all.days)
	b.queueGroups(groupQuery{Range: r, key: product}, &all.products)
	b.queueGroups(groupQuery{Range: r, key: category}, &all.categories)
	b.queueGroups(groupQuery{Range: r, key: seller}, &all.sellers)
	b.queueGroups(groupQuery{Range: r, key: category, groupBy: byChannel}, &all.categoryChannels)
	b.queueGroups(groupQuery{Range: r, key: seller, groupBy: byChannel}, &all.sellerChannels)
	b.queueGroupCounts(r, &all.counts)
	b.queueChangedAt(r, &all.changedAt)
	all.ofPages = Sums{}
	all.pages = &productScan{ranges: []Range{r}, sums: allPacked, found: func(_ int64, found []Sums) {
		all.ofPages.Add(found[0])
	}}
	all.pages.queue(b)
}

func (all *reconciled) figure(m Metric) ReconciledFigure {
	row := ReconciledFigure{Figure: m.Name, Unit: m.Unit, Balanced: true, Facts: m.Of(addUp(all.facts))}
	of := func(s Sums) *Figure {
		f := m.Of(s)
		row.Balanced = row.Balanced && f == row.Facts
		return &f
	}
	row.Summary, row.Channels, row.Days = *of(addUp(all.total)), of(addUp(all.channels)), of(addUp(all.days))
	if m.is(orders) || m.is(refundCount) {
		row.Groups = all.groupCounts(m)
		g := row.Groups
		row.Balanced = row.Balanced && g.Products.balanced() && g.Categories.balanced() && g.Sellers.balanced()
		return row
	}
	row.Products, row.Categories, row.Sellers = of(addUp(all.products)), of(addUp(all.categories)), of(addUp(all.sellers))
	row.CategoryChannels, row.SellerChannels = of(addUp(all.categoryChannels)), of(addUp(all.sellerChannels))
	if isPacked(m) {
		row.ProductPages = of(all.ofPages)
	}
	return row
}

func (all *reconciled) groupCounts(m Metric) *GroupCounts {
	counts := all.counts[0]
	facts := func(orders, refunds int64) Figure { return m.Of(Sums{Orders: orders, RefundCount: refunds}) }
	stored := func(rows []groupRow) Figure { return m.Of(addUp(rows)) }
	return &GroupCounts{
		CountPair{
			facts(counts.OrdersOfProducts, counts.RefundsOfProducts), stored(all.products), stored(all.products),
		},
		CountPair{
			facts(counts.OrdersOfCategories, counts.RefundsOfCategories), stored(all.categories),
			stored(all.categoryChannels),
		},
		CountPair{
			facts(counts.OrdersOfSellers, counts.RefundsOfSellers), stored(all.sellers), stored(all.sellerChannels),
		},
	}
}

// isPacked reports whether packed_sums has all sums of a metric.
func isPacked(m Metric) bool {
	var packed Sums
	for _, s := range allPacked {
		*s.field(&packed) = 1
	}
	for i, field := range packed.Destinations() {
		var other Sums
		if *other.Destinations()[i].(*int64) = 1; *field.(*int64) == 0 && m.Of(other).Sign() != 0 {
			return false
		}
	}
	return true
}

// groupCountRow has the orders and refunds of each group, added up: one counts in each of its groups. A product of two
// months counts in each, as in the rollups, because each order and each refund has one month.
type groupCountRow struct {
	OrdersOfProducts, OrdersOfCategories, OrdersOfSellers    int64
	RefundsOfProducts, RefundsOfCategories, RefundsOfSellers int64
}

const groupCountsSQL = `
		select coalesce(sum(o.products), 0)::bigint as orders_of_products,
		       coalesce(sum(o.categories), 0)::bigint as orders_of_categories,
		       coalesce(sum(o.sellers), 0)::bigint as orders_of_sellers,
		       coalesce(sum(r.products), 0)::bigint as refunds_of_products,
		       coalesce(sum(r.categories), 0)::bigint as refunds_of_categories,
		       coalesce(sum(r.sellers), 0)::bigint as refunds_of_sellers
		  from (
		       select i.order_id, {groups}
		       {from_lines}
		        group by i.order_id) o
		  full join (
		       select i.refund_id, {groups}
		         from (
		              select r.id as refund_id, i.sold_id
		                from refunds r
		               cross join lateral (
		                     select order_id, line
		                       from refund_items
		                      where tenant_id = $1 and refund_id = r.id
		                     offset 0) x
		               cross join lateral (
		                     select sold_id
		                       from order_items
		                      where tenant_id = $1 and order_id = x.order_id and line = x.line
		                      limit 1) i
		               where r.tenant_id = $1
		                 and r.refunded_at >= {from}
		                 and r.refunded_at < {before}
		                 and (
		                     select c.order_id
		                       from cancellations c
		                      where c.tenant_id = $1 and c.order_id = r.order_id) is null
		              offset 0) i
		       {join_products}
		        group by i.refund_id) r
		    on false`

func (b batch) queueGroupCounts(r Range, counts *[]groupCountRow) {
	args := arguments{b.tenant}
	from, before := tenancy.StartOfDay(r.From, b.zone), tenancy.StartOfDay(r.dayAfter(), b.zone)
	db.QueueRows(b.Batch, counts, fill(groupCountsSQL, map[string]string{
		"from_lines": fromLinesSQL, "join_products": joinProductsSQL, "from": args.add(from), "before": args.add(before),
		"groups": "count(distinct i.sold_id) as products, count(distinct coalesce(p.category_id, 0)) as categories,\n" +
			"count(distinct coalesce(p.seller_id, 0)) as sellers",
	}), args...)
}
