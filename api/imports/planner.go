package imports

import (
	"context"
	"encoding/json"
	"hash/maphash"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/money"
)

// A part is one transaction.
const (
	maxPartRows  = 500
	maxPartItems = 20_000
	maxPartBytes = 1 << 20
	maxPartJSON  = 8 << 20 // with old values
)

// planRecords computes the parts of a plan, calls add with each, adds to sums unless it is nil, and writes nothing
// else. Rows that depend on an earlier row of the same plan are recognised by their keys, about 10 bytes each. created
// is the time of the plan; if it is zero, neither the plan nor pictures are stored.
func (m *Importer) planRecords(
	ctx context.Context, tenant tenancy.ID, set *Set, records iter.Seq2[Record, error], sums *totals, created time.Time,
	add func(changeplan.Part, []Record) error,
) error {
	p := &planner{
		Importer: m, tenant: tenant, add: add, totals: sums, seed: maphash.MakeSeed(),
		pending: map[Kind][]Record{}, written: map[Kind]*keySet{}, refunded: map[uint64]money.Cents{},
		equal: equalRefunds{}, archive: set.archive, kept: set.kept, created: created,
	}
	if p.archive != nil {
		if err := p.archive.reserve(ctx, tenant, m.catalog, m.sales); err != nil {
			return err
		}
	}
	var err error
	if p.pictures, err = p.openPictures(ctx); err != nil {
		return err
	}
	defer p.pictures.close()
	for record, err := range records {
		if err != nil {
			return unreadable{err}
		}
		if err := p.record(ctx, record); err != nil {
			return err
		}
	}
	return p.flush(ctx)
}

// unreadable is an error of the records, which is shown to the user.
type unreadable struct{ error }

// Unwrap returns the error.
func (u unreadable) Unwrap() error { return u.error }

// planner has the rows of the next parts, and the keys of rows that earlier parts create.
type planner struct {
	*Importer
	tenant      tenancy.ID
	add         func(changeplan.Part, []Record) error
	totals      *totals // may be nil
	pending     map[Kind][]Record
	items, size int              // of the pending records
	written     map[Kind]*keySet // the keys of rows that the plan writes
	seed        maphash.Seed
	refunded    map[uint64]money.Cents // the cumulative amounts of refunds
	equal       equalRefunds           // of stored orders
	archive     *archive               // that is planned, or nil
	pictures    *pictures              // of the archive, or nil
	kept        map[string]keptPicture // pictures of earlier turns
	created     time.Time
}

// isDry reports whether the plan is not stored.
func (p *planner) isDry() bool { return p.created.IsZero() }

func (p *planner) record(ctx context.Context, r Record) error {
	for kind, records := range p.pending {
		if len(records) > 0 && kind != r.Kind && !(isSale(kind) && isSale(r.Kind)) {
			if err := p.flush(ctx); err != nil {
				return err
			}
		}
	}
	p.pending[r.Kind] = append(p.pending[r.Kind], r)
	p.size += size(r)
	if r.Order != nil {
		p.items += len(r.Order.Items)
	}
	if len(p.pending[r.Kind]) >= p.maxRows || p.items >= maxPartItems || p.size >= maxPartBytes {
		return p.flush(ctx)
	}
	return nil
}

// size estimates the JSON of a record, in bytes.
func size(r Record) int {
	n := 200
	if r.Product != nil {
		n += 300 + len(r.Product.Description.Value)
		for _, address := range r.Product.ImageURLs.Value {
			n += len(address)
		}
	}
	if r.Order != nil {
		n += 200 + 100*len(r.Order.Items)
		for _, item := range r.Order.Items {
			if item.Sold != nil || item.As != nil {
				n += 200
			}
		}
	}
	for _, row := range r.Rows {
		for _, cell := range row.Cells {
			n += len(cell)
		}
	}
	return n
}

func (p *planner) flush(ctx context.Context) error {
	for _, kind := range sequence {
		rows := p.pending[kind]
		delete(p.pending, kind)
		if len(rows) == 0 {
			continue
		}
		if kind == Refund {
			if err := p.findNamed(ctx, rows); err != nil {
				return err
			}
		}
		for i := range rows {
			row := &rows[i]
			if p.archive != nil {
				p.archive.replace(row)
			}
			row.Unread, row.InPlan, row.refunded = row.unread(), p.dependsOnPlan(row), p.accumulate(row)
		}
		if err := p.plan(ctx, p.tenant, rows); err != nil {
			return err
		}
		if rows = slices.DeleteFunc(rows, func(row Record) bool { return row.isGone }); len(rows) == 0 {
			continue
		}
		for i := range rows {
			if p.archive == nil {
				break
			}
			p.archive.exists(&rows[i])
			if rows[i].Product != nil && rows[i].Writes() {
				if err := p.images(ctx, &rows[i]); err != nil {
					return err
				}
			}
		}
		if err := p.addImplied(ctx, rows); err != nil {
			return err
		}
		if err := p.addPart(kind, rows); err != nil {
			return err
		}
	}
	p.items, p.size = 0, 0
	return nil
}

// findNamed makes returns that have the number of a stored order its refunds.
func (p *planner) findNamed(ctx context.Context, records []Record) error {
	named := map[string][]*Record{}
	for i := range records {
		if r := &records[i]; r.NamesSale && r.Key != "" {
			named[r.Key] = append(named[r.Key], r)
		}
	}
	if len(named) == 0 {
		return nil
	}
	buyers, err := p.sales.Buyers(ctx, p.tenant, slices.Collect(maps.Keys(named)))
	for number, buyer := range buyers {
		for _, r := range named[number] {
			if isOther(buyer, r.Buyer) {
				continue // another numbering
			}
			delete(r.Invalid, "order_number")
			p.equal.attach(r, "import:", number)
		}
	}
	return err
}

// isOther reports whether a file names another customer than the stored one. An id that was computed from an e-mail
// address is only compared with such an id.
func isOther(stored, sent *sales.Customer) bool {
	if stored == nil || sent == nil {
		return false
	}
	computed := strings.HasPrefix(stored.ID, emailID) == strings.HasPrefix(sent.ID, emailID)
	for _, of := range [][2]*string{{stored.Email, sent.Email}, {&stored.ID, &sent.ID}, {stored.Name, sent.Name}} {
		if of[0] != nil && of[1] != nil && (of[0] != &stored.ID || computed) {
			return !strings.EqualFold(*of[0], *of[1])
		}
	}
	return false
}

func (p *planner) addPart(kind Kind, rows []Record) error {
	part := changeplan.Part{Kind: kind}
	if p.totals != nil {
		p.totals.add(rows)
	}
	for i := range rows {
		row := &rows[i]
		if row.Writes() {
			p.remember(row)
		}
		*part.Of(row.Action)++
		row.shorten()
	}
	return p.store(part, rows)
}

// store adds a part, or several if old values make it large.
func (p *planner) store(part changeplan.Part, rows []Record) (err error) {
	if part.Rows, err = json.Marshal(rows); err != nil {
		return err
	}
	if len(part.Rows) <= maxPartJSON || len(rows) == 1 {
		return p.add(part, rows)
	}
	for _, half := range [][]Record{rows[:len(rows)/2], rows[len(rows)/2:]} {
		of := changeplan.Part{Kind: part.Kind}
		for _, row := range half {
			*of.Of(row.Action)++
		}
		if err := p.store(of, half); err != nil {
			return err
		}
	}
	return nil
}

func (p *planner) hash(key string) uint64 { return maphash.String(p.seed, strings.TrimSpace(key)) }

// accumulate returns the amount that earlier rows refund of the same order, if a refund has a cumulative amount.
func (p *planner) accumulate(r *Record) (before money.Cents) {
	if r.Cumulative == "" || r.Refund == nil || len(r.Invalid) > 0 {
		return 0
	}
	key := p.hash(r.Cumulative + " " + r.Refund.OrderNumber)
	before = p.refunded[key]
	p.refunded[key] = max(before, r.Refund.Amount)
	return before
}

// dependencies are the kinds of earlier rows of a plan that rows can change.
var dependencies = map[Kind]Kind{Product: Product, Stock: Product, Refund: Order, Cancellation: Order}

// dependsOnPlan reports whether an earlier part writes the product or the order of a row.
func (p *planner) dependsOnPlan(r *Record) bool {
	key, isRead := r.content()
	return isRead && p.writes(dependencies[r.Kind], key)
}

// writes reports whether an earlier part writes a row.
func (p *planner) writes(kind Kind, key string) bool {
	keys := p.written[kind]
	return keys != nil && keys.has(p.hash(key))
}

// remember remembers a row that later ones can depend on.
func (p *planner) remember(r *Record) {
	kind := r.Kind
	switch kind {
	case Refund, Cancellation:
		return
	case Stock:
		kind = Product
	}
	if p.written[kind] == nil {
		p.written[kind] = &keySet{}
	}
	key, _ := r.content()
	p.written[kind].add(p.hash(key))
}

// addImplied adds parts with missing references of products, and missing channels and customers of orders.
func (p *planner) addImplied(ctx context.Context, rows []Record) error {
	names := map[Kind]map[string]bool{Category: {}, Seller: {}, Warehouse: {}}
	channels, customers := map[string]bool{}, map[string]*sales.Customer{}
	for _, row := range rows {
		switch {
		case !row.Writes():
		case row.Product != nil:
			names[Category][row.Product.CategoryName.Value] = true
			names[Seller][row.Product.SellerName.Value] = true
			names[Warehouse][row.Product.WarehouseName.Value] = true
			for _, s := range row.Product.Stock {
				names[Warehouse][s.Warehouse] = true
			}
		case row.Order != nil:
			channels[row.Order.Channel] = true
			for _, item := range row.Order.Items {
				if item.As != nil {
					names[Category][item.As.CategoryName], names[Seller][item.As.SellerName] = true, true
				}
			}
			if c := row.Order.Customer; c != nil {
				customers[c.ID] = c
			}
		}
	}
	var implied []Record
	add := func(kind Kind, key string, r Record) {
		if key != "" && !p.writes(kind, key) {
			r.Kind, r.Key = kind, key
			implied = append(implied, r)
		}
	}
	for _, kind := range []Kind{Category, Seller, Warehouse} {
		for _, name := range slices.Sorted(maps.Keys(names[kind])) {
			add(kind, name, Record{Name: name})
		}
	}
	for _, identifier := range slices.Sorted(maps.Keys(channels)) {
		add(Channel, identifier, Record{Channel: &sales.Channel{Identifier: identifier}})
	}
	for _, id := range slices.Sorted(maps.Keys(customers)) {
		add(Customer, id, Record{Customer: customers[id]})
	}
	return p.addPartsOf(ctx, implied)
}

// addPartsOf adds a part of each kind with those of the rows that would change something.
func (p *planner) addPartsOf(ctx context.Context, implied []Record) error {
	for _, kind := range sequence {
		var rows []Record
		for _, row := range implied {
			if row.Kind == kind {
				rows = append(rows, row)
			}
		}
		if len(rows) == 0 {
			continue
		}
		if err := p.plan(ctx, p.tenant, rows); err != nil {
			return err
		}
		rows = slices.DeleteFunc(rows, func(row Record) bool { return !row.Writes() })
		if len(rows) == 0 {
			continue
		}
		if err := p.addPart(kind, rows); err != nil {
			return err
		}
	}
	return nil
}
