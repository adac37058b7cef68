package imports

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"strings"

	"github.com/storeroom/storeroom/api/imports/table"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
)

const (
	// maxGroupRows and maxGroupBytes limit what is kept of an order, which is refused if it has more.
	maxGroupRows  = sales.MaxItems + 2
	maxGroupBytes = 8 << 20
	partitionSize = 4 << 20
	maxPartitions = 256
	maxPartition  = 64 << 20 // bytes
)

// group is the rows of an order, or one row of something else.
type group struct {
	number  string
	rows    []cells
	blocks  []int // where blocks begin: adjacent rows of a file
	omitted int   // rows that are not kept
	bytes   int
	suspect string // a refused row beside the rows of the order may belong to it
}

// add reports whether the row is kept.
func (g *group) add(c cells) bool {
	for _, cell := range c.cells {
		g.bytes += len(cell)
	}
	if len(g.rows) == maxGroupRows || g.bytes > maxGroupBytes {
		g.omitted++
		return false
	}
	g.rows = append(g.rows, c)
	return true
}

// addToBlock adds a row of an order. apart means that the row before in the file is of another order.
func (g *group) addToBlock(c cells, apart bool) {
	if start := len(g.rows); g.add(c) && (apart || start == 0 || c.begins()) {
		g.blocks = append(g.blocks, start)
	}
}

// begins reports whether the row is the first one of its order.
func (c cells) begins() bool {
	return c.description != nil && c.description.Sales.Begins != noField && c.text(c.description.Sales.Begins) != ""
}

// withoutRepeated returns the group without blocks that are equal to an earlier one, and a record for each of these. If
// an order begins again with other content, in the same file or in another one of the format, its rows are refused.
// Equal rows of a block are kept, because an order can have the same item twice.
func (g group) withoutRepeated() (kept group, more []Record) {
	if len(g.blocks) < 2 || g.omitted > 0 || g.rows[0].isExact {
		return g, nil
	}
	equal, first := map[[16]byte]cells{}, map[*format]cells{}
	kept = group{number: g.number, suspect: g.suspect}
	for i, start := range g.blocks {
		end := len(g.rows)
		if i+1 < len(g.blocks) {
			end = g.blocks[i+1]
		}
		block, c := g.rows[start:end], g.rows[start]
		content := slices.Clone(c.Header)
		for _, row := range block {
			content = append(content, row.cells...)
		}
		key := keyOf(content...)
		if earlier, repeated := equal[key]; repeated {
			more = append(more, Record{Row: changeplan.Row{
				Kind: c.kind, Key: g.number, Rows: rowsOf(block), Ignored: "repeats " + lineOf(earlier.source, earlier.line),
			}})
			continue
		}
		earlier, exists := first[c.format]
		if exists && (c.begins() || c.source != earlier.source) {
			return group{}, []Record{{Row: changeplan.Row{
				Kind: c.kind, Key: g.number, Rows: rowsOf(g.rows),
				Invalid: tenancy.InvalidError{"number": {"has other content in " + lineOf(c.source, c.line)}},
			}}}
		}
		if equal[key] = c; !exists {
			first[c.format] = c
		}
		kept.rows = append(kept.rows, block...)
	}
	return kept, more
}

func rowsOf(all []cells) []changeplan.FileRow {
	rows := make([]changeplan.FileRow, len(all))
	for i, c := range all {
		rows[i] = c.row()
	}
	return rows
}

// isGrouped reports whether several rows become records together.
func (s *source) isGrouped() bool {
	switch d := s.description; {
	case d == nil:
		return s.order != ""
	case d.Kind == Order:
		return true
	default:
		return d.Products.Grouped || d.Products.ByParent
	}
}

// orderKey returns what the rows of an order, or of a product with its variants, have in common.
func (s *source) orderKey(texts []string) string {
	if s.isExact {
		return strings.TrimSpace(s.unguard(texts[s.own[s.order]]))
	}
	c := cells{source: s, cells: texts}
	switch d := s.description; {
	case d.Kind == Product && d.Products.ParentByID:
		return c.first(fParent, fID)
	case d.Kind == Product && d.Products.ByParent:
		if key := c.first(fParent, fSKU); key != "" || c.text(fID) == "" {
			return key
		}
		return "id:" + c.text(fID)
	case d.Kind == Product || c.has(fGroup):
		return c.text(fGroup)
	default:
		return strings.TrimPrefix(c.text(fNumber), d.Sales.Prefix)
	}
}

// eachOrder calls f with the rows of each order in sources, and with each row without an order as a group without a
// number. It returns early if f returns false.
func (r *reading) eachOrder(ctx context.Context, sources []*source, f func(group) bool) error {
	if len(sources) == 1 && sources[0].together {
		return r.eachAdjacent(ctx, sources[0], f)
	}
	var bytes int64
	for _, s := range sources {
		bytes += s.bytes
	}
	p, err := newPartitions(r.space, int(min(maxPartitions, bytes/partitionSize+1)), sources[0].bytes)
	if err != nil {
		return err
	}
	defer p.close()
	for i, s := range sources {
		more, err := p.distribute(ctx, i, s, f)
		if err != nil || !more {
			return err
		}
	}
	return p.eachGroup(ctx, sources, sources[0].seen.lastOrder.Before(sources[0].seen.firstOrder), f)
}

// eachAdjacent is eachOrder for a source whose orders are together.
func (r *reading) eachAdjacent(ctx context.Context, s *source, f func(group) bool) error {
	current, suspect := group{}, ""
	for row, err := range s.all(ctx) {
		if err != nil {
			return err
		}
		c, number := s.rowOfOrder(row)
		if number == "" {
			if suspicious(s, row) {
				suspect = lineOf(s, row.Line)
				current.suspect = suspect
			}
			if !f(group{rows: []cells{c}}) {
				return nil
			}
			continue
		}
		if number != current.number {
			if current.number != "" && !f(current) {
				return nil
			}
			current = group{number: number}
		}
		if suspect != "" {
			current.suspect, suspect = suspect, ""
		}
		current.addToBlock(c, false)
	}
	if current.number != "" {
		f(current)
	}
	return nil
}

// rowOfOrder returns a row, and what it has in common with the other rows of its order, or "" if it has no order.
func (s *source) rowOfOrder(row table.Row) (c cells, number string) {
	c = s.cellsOf(row)
	switch {
	case row.Problem != "":
		c.invalid.Add("", "%s", row.Problem)
	case s.isGrouped():
		number = s.orderKey(row.Cells)
	}
	return c, number
}

// suspicious reports whether a row without an order may be an item of its neighbours. Below the orders of a spreadsheet
// there may be sums.
func suspicious(s *source, row table.Row) bool { return s.items && (row.Problem != "" || s.isExact) }

func lineOf(s *source, line int) string {
	return fmt.Sprintf("line %d of %s", line, s.Name)
}

// partitions distributes rows over temporary files that fit into memory and have all rows of their orders. Orders of
// the first source keep their sequence, so that orders of a day stay together and a part of the plan changes few sums.
type partitions struct {
	size, read int64            // of the first source, in bytes
	perFile    []int64          // bytes
	byOrder    map[uint64]uint8 // the partitions of its orders; other orders have one by their hash
	seed       maphash.Seed
	files      []*table.TempFile
	writers    []*bufio.Writer
}

func newPartitions(space *table.Space, n int, size int64) (*partitions, error) {
	p := &partitions{seed: maphash.MakeSeed(), size: max(1, size), byOrder: map[uint64]uint8{}, perFile: make([]int64, n)}
	for range n {
		file, err := space.File()
		if err != nil {
			p.close()
			return nil, err
		}
		p.files, p.writers = append(p.files, file), append(p.writers, bufio.NewWriterSize(file, 16<<10))
	}
	return p, nil
}

func (p *partitions) close() {
	for _, file := range p.files {
		file.Close()
	}
}

// distribute writes the rows of a source. A row that may belong to its neighbours leaves a mark at both: an entry
// without cells.
func (p *partitions) distribute(ctx context.Context, i int, s *source, f func(group) bool) (more bool, err error) {
	last, suspect := "", 0
	for row, err := range s.all(ctx) {
		if err != nil {
			return false, err
		}
		c, number := s.rowOfOrder(row)
		switch {
		case number != "":
			if suspect > 0 {
				err = p.write(number, i, suspect, nil, false)
			}
			suspect = 0
			err = errors.Join(err, p.write(number, i, row.Line, row.Cells, number != last))
			last = number
		case !f(group{rows: []cells{c}}):
			return false, nil
		case suspicious(s, row):
			if suspect = row.Line; last != "" {
				err = p.write(last, i, suspect, nil, false)
			}
		}
		if err != nil {
			return false, fmt.Errorf("temporary file: %w", err)
		}
	}
	return true, nil
}

// of returns the partition of an order.
func (p *partitions) of(number string, first bool) int {
	hash, n := maphash.String(p.seed, number), len(p.files)
	i, known := p.byOrder[hash]
	switch {
	case known:
		return int(i)
	case !first || len(p.byOrder) >= maxOrderIDs:
		return int(hash % uint64(n))
	}
	i = uint8(min(int64(n-1), p.read*int64(n)/p.size))
	p.byOrder[hash] = i
	return int(i)
}

func (p *partitions) write(number string, source, line int, cells []string, apart bool) error {
	file := p.of(number, source == 0)
	entry := binary.AppendUvarint(nil, uint64(source<<1|boolOrder(apart)))
	entry = binary.AppendUvarint(entry, uint64(line))
	entry = binary.AppendUvarint(entry, uint64(len(cells)))
	for _, text := range append([]string{number}, cells...) {
		entry = binary.AppendUvarint(entry, uint64(len(text)))
		entry = append(entry, text...)
	}
	if p.perFile[file] += int64(len(entry)); p.perFile[file] > maxPartition {
		return errors.New("the rows of orders are too large to be sorted: sort them by order")
	}
	if source == 0 {
		p.read += int64(len(entry))
	}
	_, err := p.writers[file].Write(entry)
	return err
}

// eachGroup reads one partition after the other, from the last one if reversed is set.
func (p *partitions) eachGroup(ctx context.Context, sources []*source, reversed bool, f func(group) bool) error {
	for i := range p.files {
		if reversed {
			i = len(p.files) - 1 - i
		}
		file := p.files[i]
		err := p.writers[i].Flush()
		if err == nil {
			_, err = file.Seek(0, io.SeekStart)
		}
		var groups []*group
		if err == nil {
			groups, err = readGroups(bufio.NewReaderSize(file, 64<<10), sources)
		}
		if err != nil {
			return fmt.Errorf("temporary file: %w", err)
		}
		if reversed {
			slices.Reverse(groups)
		}
		for _, g := range groups {
			if err := context.Cause(ctx); err != nil {
				return fmt.Errorf("stopped at order %q: %w", g.number, err)
			}
			if !f(*g) {
				return nil
			}
		}
		file.Close()
	}
	return nil
}

// readGroups returns the groups of a partition in the sequence of their first rows.
func readGroups(r *bufio.Reader, sources []*source) ([]*group, error) {
	byNumber := map[string]*group{}
	var groups []*group
	for {
		head, err := binary.ReadUvarint(r)
		if errors.Is(err, io.EOF) {
			return groups, nil
		}
		line, lineErr := binary.ReadUvarint(r)
		count, countErr := binary.ReadUvarint(r)
		if err := errors.Join(err, lineErr, countErr); err != nil {
			return nil, err
		}
		texts := make([]string, count+1)
		for i := range texts {
			length, err := binary.ReadUvarint(r)
			if err != nil {
				return nil, err
			}
			bytes := make([]byte, length)
			if _, err := io.ReadFull(r, bytes); err != nil {
				return nil, err
			}
			texts[i] = string(bytes)
		}
		g := byNumber[texts[0]]
		if g == nil {
			g = &group{number: texts[0]}
			byNumber[texts[0]], groups = g, append(groups, g)
		}
		if s := sources[head>>1]; count == 0 {
			g.suspect = lineOf(s, int(line))
		} else {
			g.addToBlock(s.cellsOf(table.Row{Line: int(line), Cells: texts[1:]}), head&1 == 1)
		}
	}
}
