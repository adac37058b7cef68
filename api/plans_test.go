package api

import (
	"cmp"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

const (
	planRuns = 2 // of each operation; the cheapest counts
	// More than twice the time or the pages is an error only above these. The time of a short operation has varied from
	// 18 to 40 ms on a busy machine.
	planTimeFloor = 60 * time.Millisecond
)

// PostgreSQL has no statistics of a tenant that is newer than the last ANALYZE. Every
// statement must have the same plan before and after it, and with and without rows. The
// rows of the tenant before it share one category, seller, warehouse, tag and customer.
func TestPlansDoNotDependOnStatistics(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "plans are those of each node")
	s := newPlanShop(t)
	alike := planRows{orders: planOtherOrders, references: 1, customers: 1}
	varied := planRows{orders: planOrders, references: 40, customers: planOrders / 4, drafts: true}
	other := s.MustTenant(t, "other", withLimit(1_000_000))
	key := s.mustKey(t, other, "full")
	s.mustLoadReferences(t, key, alike.references)
	s.mustLoad(t, other, key, alike)
	s.mustLoadCustomers(t, other, 500)
	s.exec(t, `analyze`)

	s.mustLoadReferences(t, s.key, varied.references)
	s.small = s.MustSmallTables(t)
	empty := s.measureAll(t, "without rows", 1)
	s.mustLoad(t, s.tenant, s.key, varied)
	s.loaded = true
	before := s.measureAll(t, "before ANALYZE", planRuns)
	s.exec(t, `analyze`)
	after := s.measureAll(t, "after ANALYZE", planRuns)

	for _, name := range slices.Sorted(maps.Keys(after)) {
		b, a := before[name], after[name]
		t.Logf("%8.1f ms %8.1f ms %8d %8d pages  %s", ms(b.time), ms(a.time), b.pages, a.pages, name)
		if b.time > 2*a.time && b.time > planTimeFloor {
			t.Errorf("%s: %v CPU time before ANALYZE, %v after it", name, b.time, a.time)
		}
		if b.pages > 2*a.pages && b.pages > planPagesFloor {
			t.Errorf("%s: %d pages before ANALYZE, %d after it", name, b.pages, a.pages)
		}
		for _, fault := range b.faults {
			t.Errorf("%s: %s", name, fault)
		}
		for query, plan := range b.plans {
			if other, ok := a.plans[query]; ok && plan != other {
				t.Errorf("%s:\n%s\nbefore ANALYZE:\n%safter it:\n%s", name, query, plan, other)
			}
			// A search is planned anew for each pattern, and reads a few texts by their keys.
			isSearch := strings.Contains(query, "t.text like")
			if other, ok := empty[name].plans[query]; ok && plan != other && !isSearch {
				t.Errorf("%s:\n%s\nwith rows:\n%swithout rows:\n%s", name, query, plan, other)
			}
		}
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// measured is what PostgreSQL did for an operation.
type measured struct {
	time   time.Duration     // CPU time of PostgreSQL in the fastest run; other load does not change it
	pages  int               // read from the cache or the disk in the run with the fewest
	plans  map[string]string // by query, without costs and values
	faults []string
}

// measureAll runs every operation on new connections, so that no earlier plan is used.
func (s *planShop) measureAll(t *testing.T, phase string, runs int) map[string]measured {
	t.Helper()
	begin := time.Now()
	s.connect(t)
	all := map[string]measured{}
	facts := dbtest.PlanFacts{SmallTables: s.small, Sorted: math.MaxInt}
	for _, op := range s.operations(t) {
		m := measured{plans: map[string]string{}}
		for run := range runs {
			s.executed.Take()
			op.run(t)
			s.awaitPlans(t)
			statements, cpu := s.executed.Take()
			if run == 0 || cpu < m.time {
				m.time = cpu
			}
			pages := 0
			for _, statement := range statements {
				pages += statement.Plan.BlocksInCache + statement.Plan.BlocksNotInCache
				m.plans[statement.Text] = shapeOf(statement.Plan, "  ", s.small, false)
			}
			m.faults = append(m.faults, facts.Faults(statements)...)
			if run == 0 || pages < m.pages {
				m.pages = pages
			}
		}
		slices.Sort(m.faults)
		m.faults = slices.Compact(m.faults)
		all[op.name] = m
	}
	t.Logf("%d operations %s in %v", len(all), phase, time.Since(begin))
	return all
}

var (
	scanKind = regexp.MustCompile(`^(Index|Index Only|Bitmap Index) Scan$`)
	// orderedIndex matches the names of indexes that differ only in the order of their rows.
	orderedIndex = regexp.MustCompile(`^(products_(?:status|category))_(created|name|price|sku)$`)
)

// shapeOf leaves out nodes that pass rows on, whether an index is read with a bitmap, sorts, which PostgreSQL prefers
// for less than a page of rows, also to remove duplicates, and how a small table is read. Unless a limit needs the
// order of an index, it leaves out the index of a scan of the whole tenant, and which of several indexes that differ in
// their order is read.
func shapeOf(n dbtest.PlanNode, indent string, small []string, limited bool) string {
	line := ""
	switch {
	case slices.Contains(small, n.Relation):
		return indent + "Scan " + n.Relation + "\n"
	case n.ReadsTenant() && !limited:
		return indent + "Scan all of " + n.Relation + "\n"
	case slices.Contains([]string{"Sort", "Incremental Sort"}, n.Type):
		limited = false
	case slices.Contains([]string{"Result", "Subquery Scan", "Bitmap Heap Scan", "Memoize", "Hash"}, n.Type):
	default:
		kind, index := scanKind.ReplaceAllString(n.Type, "Scan"), n.Index
		if kind == "Unique" {
			kind = "Aggregate"
		}
		if !limited {
			index = orderedIndex.ReplaceAllString(index, "$1")
		}
		line = indent + strings.Join(strings.Fields(kind+" "+n.Join+" "+index+" "+n.CTE), " ") + "\n"
		limited = n.Type == "Limit" || n.Type == "Merge Append"
		indent += "  "
	}
	if n.Type == "Hash Join" && n.Join == "Inner" { // which of both is hashed depends on their sizes
		slices.SortFunc(n.Plans, func(a, b dbtest.PlanNode) int {
			return cmp.Compare(shapeOf(a, "", small, false), shapeOf(b, "", small, false))
		})
	}
	for _, child := range n.Plans {
		line += shapeOf(child, indent, small, limited)
	}
	return line
}
