package reports

import (
	"cmp"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// blockSize is the number of sold products in a block of packed_sums.
const blockSize = 16384

// packedSums are sums that packed_sums has. A query reads only those that it needs.
type packedSums []packedSum

type packedSum struct {
	name  string
	field func(*Sums) *int64
}

var (
	packedItems   = packedSum{"items", func(s *Sums) *int64 { return &s.Items }}
	packedUnits   = packedSum{"units", func(s *Sums) *int64 { return &s.Units }}
	packedRevenue = packedSum{"revenue", func(s *Sums) *int64 { return (*int64)(&s.Revenue) }}
	packedCost    = packedSum{"cost", func(s *Sums) *int64 { return (*int64)(&s.Cost) }}
	packedRefunds = packedSum{"refunds", func(s *Sums) *int64 { return (*int64)(&s.Refunds) }}
	// packedRevenueWithoutCost is the part of packedRevenue of items without a known cost.
	packedRevenueWithoutCost = packedSum{"revenue_without_cost", func(s *Sums) *int64 {
		return (*int64)(&s.RevenueWithoutCost)
	}}
)

// productScan adds up the sales of every product in some ranges. PostgreSQL sends the
// sums of whole months as they are packed, and packs those of other days; it would take
// longer to group them itself. The memory that a scan needs does not grow with the number
// of products, except for those that were sold under several names.
type productScan struct {
	ranges []Range
	sums   packedSums
	// found is called once for each product, with one of its rows in sold_products and its
	// sums in each of the ranges, which are valid until it returns.
	found func(soldID int64, sums []Sums)

	// firstIDs has each row in sold_products of a product that has several, with the first one.
	firstIDs map[int64]int64
	merged   map[int64][]Sums // of products with several rows, by the first
	block    int32
	isSet    [blockSize]bool // the positions that have sums
	values   [][]int64       // the sums of the block, for each range and each of sums
}

const firstIDsSQL = `
		select id, first_id
		  from sold_products
		 where tenant_id = $1
		   and first_id is not null`

const packedMonthsSQL = `
		select {range} as range, p.block, s.sold_ids, {sums}
		  from packed_sums p
		 cross join lateral (
		       select p.sold_ids, {stored_sums}
		        where p.sold_ids is not null
		        union all
		       select sold_ids, {new_sums}
		         from product_sums($1, p.month, p.block)
		        where p.sold_ids is null) s
		 where p.tenant_id = $1
		   and p.month >= {from}
		   and p.month <= {to}`

const packedDaysSQL = `
		select {range} as range, (key / {block_size})::int as block, string_agg(int8send(key), ''), {packed_sums}
		  from (
		       {sales}
		       ) sales
		 group by 2`

// queue adds the queries of the scan.
func (p *productScan) queue(b batch) {
	p.firstIDs, p.merged = map[int64]int64{}, map[int64][]Sums{}
	p.values = make([][]int64, len(p.ranges)*len(p.sums))
	for i := range p.values {
		p.values[i] = make([]int64, blockSize)
	}
	b.Queue(unindent(firstIDsSQL), b.tenant).Query(p.readFirstIDs)
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
		"range": strconv.Itoa(index), "block_size": strconv.Itoa(blockSize), "sums": each(`s.{}`),
		"stored_sums": each(`p.{}`), "new_sums": each(`{}`), "packed_sums": each(`string_agg(int8send({}), '') as {}`),
	}
	months, edges := r.wholeMonths()
	if b.factsOnly {
		months, edges = nil, []Range{r}
	}
	if months != nil {
		fragments["from"], fragments["to"] = args.add(months.From), args.add(months.To)
		parts = append(parts, fill(packedMonthsSQL, fragments))
	}
	for _, edge := range edges {
		fragments["sales"] = groupQuery{Range: edge, key: product, eachLine: true}.facts(args, b.zone)
		parts = append(parts, fill(packedDaysSQL, fragments))
	}
	return parts
}

func (p *productScan) readFirstIDs(rows pgx.Rows) error {
	var id, first int64
	_, err := pgx.ForEachRow(rows, []any{&id, &first}, func() error {
		p.firstIDs[id], p.firstIDs[first] = first, first
		return nil
	})
	return err
}

// soldIDs returns all rows in sold_products of products that were found.
func (p *productScan) soldIDs(found map[int64]bool) []int64 {
	soldIDs := slices.AppendSeq([]int64{}, maps.Keys(found))
	for id, first := range p.firstIDs {
		if found[first] && id != first {
			soldIDs = append(soldIDs, id)
		}
	}
	return soldIDs
}

var errPackedSums = errors.New("a column of packed_sums has the wrong length")

func (p *productScan) readBlocks(rows pgx.Rows) error {
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
		// Days can have several values of a product, so there can be more than a block has products.
		for begin := 0; begin < len(ids); begin += 8 * blockSize {
			end := min(begin+8*blockSize, len(ids))
			n := p.unpackPositions(ids[begin:end], &positions)
			for i, data := range packed {
				if len(data) != len(ids) {
					return errPackedSums
				}
				add(p.values[int(index)*len(p.sums)+i], positions[:n], data[begin:end])
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	p.endBlock()
	for id, merged := range p.merged {
		p.found(id, merged)
	}
	return nil
}

// unpackPositions unpacks the positions of sold products in their block.
func (p *productScan) unpackPositions(ids []byte, positions *[blockSize]int) (n int) {
	for ; len(ids) >= 8; ids = ids[8:] {
		positions[n] = int(binary.BigEndian.Uint64(ids) % blockSize)
		p.isSet[positions[n]] = true
		n++
	}
	return n
}

// add adds packed values to the values at their positions. It panics like Sums.Add.
func add(values []int64, positions []int, data []byte) {
	for i, position := range positions {
		value := int64(binary.BigEndian.Uint64(data[8*i:]))
		sum := values[position] + value
		if (sum < values[position]) != (value < 0) {
			panic("reports: a sum needs more than 64 bits")
		}
		values[position] = sum
	}
}

// endBlock reports the products of the block, and clears it.
func (p *productScan) endBlock() {
	found := make([]Sums, len(p.ranges))
	for position, isSet := range p.isSet {
		if !isSet {
			continue
		}
		for i, values := range p.values {
			*p.sums[i%len(p.sums)].field(&found[i/len(p.sums)]) = values[position]
			values[position] = 0
		}
		p.report(int64(p.block)*blockSize+int64(position), found)
	}
	p.isSet = [blockSize]bool{}
}

// report calls found with a row of sold_products, or adds it to the other rows of its
// product.
func (p *productScan) report(soldID int64, found []Sums) {
	first, several := p.firstIDs[soldID]
	if !several {
		p.found(soldID, found)
		return
	}
	merged := p.merged[first]
	if merged == nil {
		merged = make([]Sums, len(p.ranges))
		p.merged[first] = merged
	}
	for i := range merged {
		merged[i].Add(found[i])
	}
}

// topProducts selects the products of one page, and all others that are equal to its first
// or last one, because their order depends on more than topProducts has.
type topProducts struct {
	offset, limit int64
	rows          []rankedProduct // sorted up to the last sort
	full          int             // the length at which rows are sorted
	worst         *rankedProduct  // others are not on the page; nil until there are enough
}

type rankedProduct struct{ soldID, rank, then int64 }

// compare sorts the highest rank first.
func (r rankedProduct) compare(o rankedProduct) int {
	return cmp.Or(cmp.Compare(o.rank, r.rank), cmp.Compare(o.then, r.then))
}

func (t *topProducts) add(r rankedProduct) {
	if t.worst != nil && r.compare(*t.worst) > 0 {
		return
	}
	t.rows = append(t.rows, r)
	if len(t.rows) >= max(t.full, 1024) {
		t.sort()
		t.full = 2 * len(t.rows)
	}
}

func (t *topProducts) sort() {
	slices.SortFunc(t.rows, rankedProduct.compare)
	last := t.offset + t.limit - 1
	if last >= int64(len(t.rows)) {
		return
	}
	t.worst = new(t.rows[last])
	end := sort.Search(len(t.rows), func(i int) bool { return t.rows[i].compare(*t.worst) > 0 })
	t.rows = t.rows[:end]
}

// page returns the products, by their rows in sold_products, and how many come before them.
func (t *topProducts) page() (products map[int64]bool, skipped int64) {
	t.sort()
	products = map[int64]bool{}
	if t.offset >= int64(len(t.rows)) {
		return products, 0
	}
	first := t.rows[t.offset]
	begin := sort.Search(len(t.rows), func(i int) bool { return t.rows[i].compare(first) >= 0 })
	for _, row := range t.rows[begin:] {
		products[row.soldID] = true
	}
	return products, int64(begin)
}
