package imports

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/storeroom/storeroom/catalog"
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
	add func(changeplan.Part, []PlannedRow) error,
) error {
	p := &planner{
		Importer: m, tenant: tenant, add: add, totals: sums, seed: maphash.MakeSeed(),
		pending: map[Kind][]Record{}, references: map[catalog.Kind]map[string]bool{}, channels: map[string]bool{},
		refunded: map[uint64]money.Cents{}, equal: equalRefunds{}, archive: set.archive, kept: set.kept, created: created,
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
			return err
		}
		if err := p.record(ctx, record); err != nil {
			return err
		}
	}
	return p.flush(ctx)
}

// planner has the rows of the next parts, and the keys of rows that earlier parts create.
type planner struct {
	*Importer
	tenant      tenancy.ID
	add         func(changeplan.Part, []PlannedRow) error
	totals      *totals // may be nil
	pending     map[Kind][]Record
	items, size int // of the pending records
	references  map[catalog.Kind]map[string]bool
	channels    map[string]bool
	seed        maphash.Seed
	products    keySet
	customers   keySet
	orders      keySet
	refunded    map[uint64]money.Cents // the cumulative amounts of refunds
	equal       equalRefunds           // of stored orders
	archive     *archive               // that is planned, or nil
	pictures    *pictures              // of the archive, or nil
	kept        map[string]keptPicture // pictures of earlier turns
	created     time.Time
}

// isDry reports whether the plan is not stored.
func (p *planner) isDry() bool { return p.created.IsZero() }

// sequence has the kinds in the order in which their records are read and their parts are applied.
var sequence = []Kind{
	Category, Seller, Warehouse, Product, Stock, Channel, Customer, Order, Refund, Cancellation,
}

func isSale(k Kind) bool { return k == Order || k == Refund || k == Cancellation }

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
		records := p.pending[kind]
		delete(p.pending, kind)
		if len(records) == 0 {
			continue
		}
		if kind == Refund {
			if err := p.findNamed(ctx, records); err != nil {
				return err
			}
		}
		rows := make([]PlannedRow, len(records))
		for i, r := range records {
			if p.archive != nil {
				p.archive.replace(&r)
			}
			rows[i].Record, rows[i].Unread = r, r.unread()
			rows[i].InPlan = p.isPlanned(r)
			rows[i].refunded = p.accumulate(r)
		}
		if err := p.plan(ctx, p.tenant, rows); err != nil {
			return fmt.Errorf("plan %d rows of kind %s: %w", len(rows), kind, err)
		}
		if rows = slices.DeleteFunc(rows, func(row PlannedRow) bool { return row.isGone }); len(rows) == 0 {
			continue
		}
		for i := range rows {
			if p.archive == nil {
				break
			}
			p.archive.exists(rows[i].Record, rows[i].storedID)
			if rows[i].Product != nil && rows[i].writes() {
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
			r.Refund.OrderNumber = number
			r.Refund.Reference = new(p.equal.reference("import:", number, *r.Refund.RefundedAt, r.Refund.Amount))
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

func (p *planner) addPart(kind Kind, rows []PlannedRow) error {
	part := changeplan.Part{Kind: string(kind)}
	if p.totals != nil {
		p.totals.add(rows)
	}
	for i := range rows {
		row := &rows[i]
		if row.writes() {
			p.remember(row.Record)
		}
		count(&part.Counts, row.Action)
		row.shorten()
	}
	return p.store(part, rows)
}

// store adds a part, or several if old values make it large.
func (p *planner) store(part changeplan.Part, rows []PlannedRow) (err error) {
	if part.Rows, err = json.Marshal(rows); err != nil {
		return err
	}
	if len(part.Rows) <= maxPartJSON || len(rows) == 1 {
		return p.add(part, rows)
	}
	for _, half := range [][]PlannedRow{rows[:len(rows)/2], rows[len(rows)/2:]} {
		of := changeplan.Part{Kind: part.Kind}
		for _, row := range half {
			count(&of.Counts, row.Action)
		}
		if err := p.store(of, half); err != nil {
			return err
		}
	}
	return nil
}

func (p *planner) hash(key string) uint64 { return maphash.String(p.seed, strings.TrimSpace(key)) }

// accumulate returns the amount that earlier rows refund of the same order, if a refund has a cumulative amount.
func (p *planner) accumulate(r Record) (before money.Cents) {
	if r.Cumulative == "" || r.Refund == nil || len(r.Invalid) > 0 {
		return 0
	}
	key := p.hash(r.Cumulative + " " + r.Refund.OrderNumber)
	before = p.refunded[key]
	p.refunded[key] = max(before, r.Refund.Amount)
	return before
}

// isPlanned reports whether an earlier part writes the product or the order of a record.
func (p *planner) isPlanned(r Record) (is bool) {
	switch {
	case r.Product != nil:
		is = p.products.has(p.hash(r.Product.SKU.Value))
	case r.Refund != nil:
		is = p.orders.has(p.hash(r.Refund.OrderNumber))
	case r.Cancellation != nil:
		is = p.orders.has(p.hash(r.Cancellation.OrderNumber))
	}
	return is
}

func (p *planner) remember(r Record) {
	switch r.Kind {
	case Category, Seller, Warehouse:
		p.rememberReference(referenceKinds[r.Kind], r.Name)
	case Product, Stock:
		p.products.add(p.hash(r.Product.SKU.Value))
	case Channel:
		p.channels[strings.Clone(r.Channel.Identifier)] = true
	case Customer:
		p.customers.add(p.hash(r.Customer.ID))
	case Order:
		p.orders.add(p.hash(r.Order.Number))
	}
}

func (p *planner) rememberReference(kind catalog.Kind, name string) {
	if p.references[kind] == nil {
		p.references[kind] = map[string]bool{}
	}
	p.references[kind][strings.Clone(name)] = true
}

var referenceKinds = map[Kind]catalog.Kind{
	Category: catalog.Categories, Seller: catalog.Sellers, Warehouse: catalog.Warehouses,
}

// addImplied adds parts with missing references of products, and missing channels and customers of orders.
func (p *planner) addImplied(ctx context.Context, rows []PlannedRow) error {
	names := map[Kind]map[string]bool{Category: {}, Seller: {}, Warehouse: {}}
	channels, customers := map[string]bool{}, map[string]*sales.Customer{}
	for _, row := range rows {
		switch {
		case !row.writes():
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
	var implied []PlannedRow
	for _, kind := range []Kind{Category, Seller, Warehouse} {
		for _, name := range slices.Sorted(maps.Keys(names[kind])) {
			if name != "" && !p.references[referenceKinds[kind]][name] {
				implied = append(implied, PlannedRow{Record: Record{Kind: kind, Key: name, Name: name}})
			}
		}
	}
	for _, identifier := range slices.Sorted(maps.Keys(channels)) {
		if !p.channels[identifier] {
			implied = append(implied, PlannedRow{
				Record: Record{Kind: Channel, Key: identifier, Channel: &sales.Channel{Identifier: identifier}},
			})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(customers)) {
		if !p.customers.has(p.hash(id)) {
			implied = append(implied, PlannedRow{Record: Record{Kind: Customer, Key: id, Customer: customers[id]}})
		}
	}
	return p.addPartsOf(ctx, implied)
}

// addPartsOf adds a part of each kind with those of the rows that would change something.
func (p *planner) addPartsOf(ctx context.Context, implied []PlannedRow) error {
	for _, kind := range sequence {
		var rows []PlannedRow
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
		rows = slices.DeleteFunc(rows, func(row PlannedRow) bool { return !row.writes() })
		if len(rows) == 0 {
			continue
		}
		if err := p.addPart(kind, rows); err != nil {
			return err
		}
	}
	return nil
}
