package reports_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

// byLabel returns the sums of rows by their label.
func byLabel(rows []reports.GroupSums) map[string]reports.Sums {
	sums := map[string]reports.Sums{}
	for _, row := range rows {
		if !row.Empty() {
			sums[row.Label] = row.Sums
		}
	}
	return sums
}

// The compared sums of groups are those of a report of the compared range, and days, weeks and months add up to it, also
// where one of the years has a 29 February.
func TestGroupsAreComparedWithTheirOwnPast(t *testing.T) {
	t.Parallel()
	s, categories := busyShop(t, dbtest.New(t), "shop", "America/Havana")
	read := map[time.Time]reports.Sums{}
	for _, r := range []reports.Range{
		days("2024-12-10", "2025-02-28"), days("2025-02-03", "2025-03-05"), days("2024-02-26", "2024-03-03"), days("2024-02-29", "2024-02-29"),
	} {
		for _, compare := range reports.Comparisons {
			for _, by := range []string{"", "day", "week", "month", "channel", "category", "seller"} {
				name := fmt.Sprint(r, " ", compare, " by ", by)
				q := reports.CustomQuery{
					Range: r, GroupBy: by, Compare: compare, Metrics: []string{"orders", "revenue"}, Channels: []string{"pos", "web"},
					CategoryIDs: categories[:2],
				}
				got := must(t, s.Custom, s.Tenant, q)
				before := q
				before.Range, before.Compare = compare.Range(r), ""
				want := must(t, s.Custom, s.Tenant, before)
				if diff := cmp.Diff(want.Total, got.Previous.Total); diff != "" {
					t.Errorf("%s: the compared total (-want +got)\n%s", name, diff)
				}
				if !got.Compared.Comparable && !before.From.Before(*got.Compared.DataFrom) {
					t.Errorf("%s: not comparable, although there were sales since %v", name, got.Compared.DataFrom)
				}
				compared := []reports.GroupSums{}
				var added reports.Sums
				for _, pair := range got.Pairs() {
					compared = append(compared, pair.Before)
					added.Add(pair.Before.Sums)
					if pair.Now.Label != pair.Before.Label && by != "" {
						t.Errorf("%s: %q is compared with %q", name, pair.Now.Label, pair.Before.Label)
					}
				}
				switch by {
				case "week", "month":
					if added.Revenue != want.Total.Revenue || added.Refunds != want.Total.Refunds || added.Units != want.Total.Units {
						t.Errorf("%s: the rows add up to %+v, want %+v", name, added, want.Total)
					}
				case "channel", "category", "seller":
					if diff := cmp.Diff(byLabel(want.Rows), byLabel(compared)); diff != "" {
						t.Errorf("%s: the compared rows (-want +got)\n%s", name, diff)
					}
				}
				if by != "day" && by != "week" && by != "month" {
					continue
				}
				for i := range compared {
					compared[i].RefundCount = 0 // is not counted without groups
				}
				if diff := cmp.Diff(s.periodsOf(t, q, read), compared); diff != "" {
					t.Errorf("%s: the compared rows (-want +got)\n%s", name, diff)
				}
			}
		}
	}
}

// periodsOf returns the compared sums of a query by period, each day of which is read alone unless days has it.
func (s *shop) periodsOf(t *testing.T, q reports.CustomQuery, days map[time.Time]reports.Sums) []reports.GroupSums {
	t.Helper()
	summary := must(t, s.Summary, s.Tenant, reports.SummaryQuery{Range: q.Range, Compare: q.Compare})
	rows := []reports.GroupSums{}
	for _, pair := range summary.PairPeriods(q.GroupBy) {
		row := reports.GroupSums{Key: pair.Key, Label: pair.Key}
		for day := pair.Compared.From; !day.After(pair.Compared.To); day = day.AddDate(0, 0, 1) {
			if _, isRead := days[day]; !isRead {
				one := q
				one.Range, one.Compare, one.GroupBy = reports.Range{From: day, To: day}, "", ""
				days[day] = must(t, s.Custom, s.Tenant, one).Total
			}
			row.Add(days[day])
		}
		rows = append(rows, row)
	}
	return rows
}

func TestPeriodsOfASummaryAddUp(t *testing.T) {
	t.Parallel()
	s, _ := busyShop(t, dbtest.New(t), "shop", "Asia/Kathmandu")
	for _, r := range []reports.Range{days("2024-12-10", "2025-03-02"), days("2024-02-20", "2024-04-01")} {
		for _, compare := range append(reports.Comparisons, "") {
			summary := must(t, s.Summary, s.Tenant, reports.SummaryQuery{Range: r, Compare: compare})
			for _, by := range []string{"day", "week", "month"} {
				var now, before reports.Sums
				next := r.From
				for _, pair := range summary.PairPeriods(by) {
					if now.Add(pair.Now); !pair.From.Equal(next) || pair.To.Before(pair.From) {
						t.Errorf("%v by %s: %v after %v", r, by, pair.Range, next)
					}
					before.Add(pair.Before)
					next = pair.To.AddDate(0, 0, 1)
				}
				if now != summary.Total || !next.Equal(r.To.AddDate(0, 0, 1)) {
					t.Errorf("%v by %s: %+v until %v, want %+v", r, by, now, next.Format(time.DateOnly), summary.Total)
				}
				if compare != "" && by != "day" && before != summary.Previous.Total {
					t.Errorf("%v by %s, %s: compared %+v, want %+v", r, by, compare, before, summary.Previous.Total)
				}
			}
		}
	}
}

// The products of a page are compared with what the same products sold, under whatever name and also if the catalog never
// had them.
func TestProductsAreComparedWithTheirOwnPast(t *testing.T) {
	t.Parallel()
	s, categories := busyShop(t, dbtest.New(t), "shop", "America/Havana")
	for _, test := range []struct {
		category *int64
		by       string
	}{{nil, "revenue"}, {nil, "margin"}, {&categories[0], "units"}} {
		for _, compare := range reports.Comparisons {
			q := reports.ProductsQuery{
				Range: days("2024-12-10", "2025-02-10"), CategoryID: test.category, By: test.by, Compare: compare, Page: 1, PerPage: 9,
			}
			all := q
			all.Range, all.Compare, all.PerPage = compare.Range(q.Range), "", 100
			before := must(t, s.Products, s.Tenant, all)
			want := map[string]reports.Sums{}
			for _, row := range before.Rows {
				want[fmt.Sprint(row.ProductID == nil, row.SKU)] = row.Sums
			}
			found := 0
			for ; ; q.Page++ {
				got := must(t, s.Products, s.Tenant, q)
				if diff := cmp.Diff(before.Total, got.TotalBefore); diff != "" {
					t.Errorf("%v by %s: the compared total (-want +got)\n%s", compare, test.by, diff)
				}
				for i, row := range got.Rows {
					if diff := cmp.Diff(want[fmt.Sprint(row.ProductID == nil, row.SKU)], got.Before[i]); diff != "" {
						t.Errorf("%v by %s, %s (-want +got)\n%s", compare, test.by, row.SKU, diff)
					}
					if got.Before[i].Units > 0 {
						found++
					}
				}
				if len(got.Rows) < q.PerPage {
					break
				}
			}
			if found < 1 {
				t.Errorf("%v by %s: only %d products sold before", compare, test.by, found)
			}
		}
	}
}
