package reports

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/storeroom/storeroom/reports/sums"
	"github.com/storeroom/storeroom/tenancy/db"
)

// blockSize is the number of sold products in a block of packed_sums.
const blockSize = 16384

// packedSums are columns of packed_sums. A query reads only those that it needs.
type packedSums []packedSum

type packedSum struct {
	name  string
	field func(*Sums) *int64
	// isSparse is set if the column is empty when all of its values are zero.
	isSparse bool
}

var (
	packedItems   = packedSum{"items", func(s *Sums) *int64 { return &s.Items }, false}
	packedUnits   = packedSum{"units", func(s *Sums) *int64 { return &s.Units }, false}
	packedRevenue = packedSum{"revenue", func(s *Sums) *int64 { return (*int64)(&s.Revenue) }, false}
	packedCost    = packedSum{"cost", func(s *Sums) *int64 { return (*int64)(&s.Cost) }, false}
	packedRefunds = packedSum{"refunds", func(s *Sums) *int64 { return (*int64)(&s.Refunds) }, false}
	// packedRevenueWithoutCost is the part of packedRevenue of items without a known cost.
	packedRevenueWithoutCost = packedSum{
		"revenue_without_cost", func(s *Sums) *int64 { return (*int64)(&s.RevenueWithoutCost) }, false,
	}
	packedRefundedRevenue = packedSum{
		"refunded_revenue", func(s *Sums) *int64 { return (*int64)(&s.RefundedRevenue) }, true,
	}
	packedRefundedWithoutCost = packedSum{
		"refunded_revenue_without_cost", func(s *Sums) *int64 { return (*int64)(&s.RefundedRevenueWithoutCost) }, true,
	}
	packedUnitsReturned = packedSum{"units_returned", func(s *Sums) *int64 { return &s.UnitsReturned }, true}
	packedReturnedCost  = packedSum{
		"returned_cost", func(s *Sums) *int64 { return (*int64)(&s.ReturnedCost) }, true,
	}
	// packedActivity are the sums that decide whether a product has a row; see hasRow.
	packedActivity = packedSums{packedItems, packedRefunds, packedRefundedRevenue, packedUnitsReturned}
	allPacked      = packedSums{
		packedItems, packedUnits, packedRevenue, packedCost, packedRevenueWithoutCost, packedRefunds,
		packedRefundedRevenue, packedRefundedWithoutCost, packedUnitsReturned, packedReturnedCost,
	}
)

// hasRow reports whether the report by product has a row for a product: an item was sold or refunded.
func hasRow(s Sums) bool { return s.Items > 0 || s.Returned() }

// productScan adds up the sales of every product in some ranges. PostgreSQL sends the packed sums of months, and packs
// the lines of days to add or subtract, at most blockSize in a row; grouping them in PostgreSQL would take longer. The
// memory of a scan grows only with the number of products that have several rows in sold_products.
type productScan struct {
	ranges []Range
	sums   packedSums
	// found is called once for each product, with one of its rows in sold_products and its
	// sums in each of the ranges, which are valid until it returns.
	found func(soldID int64, sums []Sums)

	// firstIDs maps each row in sold_products of a product with several rows to the first one.
	firstIDs map[int64]int64
	laterIDs []laterID
	merged   map[int64]int // the position in mergedValues of products with several rows, by the first
	// mergedValues are values of each of these products.
	mergedValues []int64
	maxSoldIDs   int
	block        int32
	isSet        [blockSize]bool // the positions that have sums
	foundSums    []Sums
	values       [][]int64 // the sums of the block, for each range and each of sums
}

const firstIDsSQL = `
		select id, first_id
		  from sold_products
		 where tenant_id = $1
		   and first_id is not null`

const packedMonthsSQL = `
		select {range} as range, p.block, p.sold_ids, {sums}
		  from {rows}
		 union all
		select {range}, u.block, p.sold_ids, {sums}
		  from (
		       {marks}
		       ) u
		 cross join lateral (select * from product_block($1, u.month, u.block) offset 0) p`

const packedDaysSQL = `
		select {range} as range, (key / {block_size})::int as block, string_agg(int8send(key), ''), {packed_sums}
		  from (
		       select *, row_number() over () / {block_size} as part
		         from (
		              {sales}
		              ) lines
		       ) sales
		 group by block, part`

// queue adds the queries of the scan.
func (p *productScan) queue(b batch) {
	p.maxSoldIDs = b.maxSoldIDs
	p.firstIDs, p.merged = map[int64]int64{}, map[int64]int{}
	p.foundSums, p.values = make([]Sums, len(p.ranges)), make([][]int64, len(p.ranges)*len(p.sums))
	for i := range p.values {
		p.values[i] = make([]int64, blockSize)
	}
	db.QueueRows(b.Batch, &p.laterIDs, unindent(firstIDsSQL), b.tenant)
	args := arguments{b.tenant}
	var parts []string
	for i, r := range p.ranges {
		parts = append(parts, p.parts(b, i, r, &args)...)
	}
	b.Queue(strings.Join(parts, "\n union all\n")+"\n order by block", args...).Query(p.readBlocks)
}

// parts returns the queries of one range.
func (p *productScan) parts(b batch, index int, r Range, args *arguments) (parts []string) {
	each := func(sql string) string {
		var list []string
		for _, s := range p.sums {
			list = append(list, strings.ReplaceAll(sql, "{}", s.name))
		}
		return strings.Join(list, ", ")
	}
	fragments := map[string]string{
		"range": strconv.Itoa(index), "block_size": strconv.Itoa(blockSize), "sums": each(`p.{}`),
		"rows": sums.PackedSums.Rows, "marks": sums.PackedSums.Marks,
	}
	months, added, removed := r.nearMonths(b.today())
	if b.factsOnly {
		months, added, removed = nil, []Range{r}, nil
	}
	if months != nil {
		fragments["from"], fragments["to"] = args.add(months.From), args.add(months.To)
		parts = append(parts, fill(packedMonthsSQL, fragments))
	}
	days := func(ranges []Range, packed string) {
		fragments["packed_sums"] = each(packed)
		for _, r := range ranges {
			fragments["sales"] = groupQuery{Range: r, key: product, eachLine: true}.facts(args, b.zone)
			parts = append(parts, fill(packedDaysSQL, fragments))
		}
	}
	days(added, `string_agg(int8send({}), '') as {}`)
	days(removed, `string_agg(int8send(-{}), '') as {}`)
	return parts
}

type laterID struct{ ID, FirstID int64 }

// maxSoldIDs limits the products that are looked up one by one; see Store.
const maxSoldIDs = 10_000

// soldIDs returns all rows in sold_products of products that were found, or nil if there are many.
func (p *productScan) soldIDs(products []ranked) []int64 {
	if len(products) > p.maxSoldIDs {
		return nil
	}
	soldIDs, found := []int64{}, map[int64]bool{}
	for _, product := range products {
		soldIDs, found[product.id] = append(soldIDs, product.id), true
	}
	for _, later := range p.laterIDs {
		if found[later.FirstID] {
			soldIDs = append(soldIDs, later.ID)
		}
	}
	return soldIDs
}

var errPacked = errors.New("a packed column has the wrong length")

func (p *productScan) readBlocks(rows pgx.Rows) error {
	for _, later := range p.laterIDs {
		p.firstIDs[later.ID], p.firstIDs[later.FirstID] = later.FirstID, later.FirstID
	}
	var index, block int32
	var ids pgtype.DriverBytes // DriverBytes are not copied
	packed := make([]pgtype.DriverBytes, len(p.sums))
	fields := []any{&index, &block, &ids}
	for i := range packed {
		fields = append(fields, &packed[i])
	}
	var positions [blockSize]int
	_, err := pgx.ForEachRow(rows, fields, func() error {
		if block != p.block {
			p.endBlock()
			p.block = block
		}
		if len(ids) > 8*blockSize {
			return errPacked
		}
		n := p.unpackPositions(ids, &positions)
		for i, data := range packed {
			if len(data) == 0 && p.sums[i].isSparse {
				continue
			}
			if len(data) != len(ids) {
				return errPacked
			}
			for j, position := range positions[:n] {
				add(&p.values[int(index)*len(p.sums)+i][position], int64(binary.BigEndian.Uint64(data[8*j:])))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	p.endBlock()
	for soldID, begin := range p.merged {
		p.report(soldID, p.mergedValues[begin:])
	}
	return nil
}

// unpackPositions unpacks the positions of sold products in their block. A product can be there several times.
func (p *productScan) unpackPositions(ids []byte, positions *[blockSize]int) (n int) {
	for ; len(ids) >= 8; ids = ids[8:] {
		positions[n] = int(binary.BigEndian.Uint64(ids) % blockSize)
		p.isSet[positions[n]] = true
		n++
	}
	return n
}

// add adds to a sum. It panics like Sums.Add.
func add(sum *int64, value int64) {
	before := *sum
	*sum += value
	if (*sum < before) != (value < 0) {
		panic("reports: a sum needs more than 64 bits")
	}
}

// endBlock reports the products of the block that have one row in sold_products, adds up the others, and clears the
// block.
func (p *productScan) endBlock() {
	values := make([]int64, len(p.values))
	for position, isSet := range p.isSet {
		if !isSet {
			continue
		}
		for i := range p.values {
			values[i] = p.values[i][position]
			p.values[i][position] = 0
		}
		soldID := int64(p.block)*blockSize + int64(position)
		first, several := p.firstIDs[soldID]
		if !several {
			p.report(soldID, values)
			continue
		}
		begin, isKnown := p.merged[first]
		if !isKnown {
			begin = len(p.mergedValues)
			p.merged[first] = begin
			p.mergedValues = append(p.mergedValues, make([]int64, len(values))...)
		}
		for i, value := range values {
			add(&p.mergedValues[begin+i], value)
		}
	}
	p.isSet = [blockSize]bool{}
}

// report calls found with the values of a product.
func (p *productScan) report(soldID int64, values []int64) {
	for i := range p.values {
		*p.sums[i%len(p.sums)].field(&p.foundSums[i/len(p.sums)]) = values[i]
	}
	p.found(soldID, p.foundSums)
}

// topRanked selects the products or customers of one page, and all others that equal its first or last one, because
// their order depends on values that topRanked does not have.
type topRanked struct {
	offset, limit int64
	rows          []ranked // sorted up to the last sort
	full          int      // the length at which rows are sorted
	worst         *ranked  // others are not on the page; nil until there are enough
}

type ranked struct {
	id   int64
	rank Figure
	then int64
}

// compare sorts the highest rank first.
func (r ranked) compare(o ranked) int {
	return cmp.Or(o.rank.Compare(r.rank), cmp.Compare(o.then, r.then))
}

func (t *topRanked) add(r ranked) {
	if t.worst != nil && r.compare(*t.worst) > 0 {
		return
	}
	t.rows = append(t.rows, r)
	if len(t.rows) >= max(t.full, 1024) {
		t.sort()
		t.full = 2 * len(t.rows)
	}
}

func (t *topRanked) sort() {
	slices.SortFunc(t.rows, ranked.compare)
	last := t.offset + t.limit - 1
	if last >= int64(len(t.rows)) {
		return
	}
	t.worst = new(t.rows[last])
	end := sort.Search(len(t.rows), func(i int) bool { return t.rows[i].compare(*t.worst) > 0 })
	t.rows = t.rows[:end]
}

// page returns the selected rows, and how many come before them.
func (t *topRanked) page() (rows []ranked, skipped int64) {
	t.sort()
	if t.offset >= int64(len(t.rows)) {
		return nil, 0
	}
	first := t.rows[t.offset]
	begin := sort.Search(len(t.rows), func(i int) bool { return t.rows[i].compare(first) >= 0 })
	return t.rows[begin:], int64(begin)
}
