package imports

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
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

// Action is what happens to a row of a plan.
type Action string

// The actions.
const (
	Created   Action = "created"
	Updated   Action = "updated"
	Unchanged Action = "unchanged"
	Refused   Action = "refused"
	Ignored   Action = "ignored"
)

// PlannedRow is a record in a plan. Only created and updated rows have their content. Old and New are the fields that
// change.
type PlannedRow struct {
	Record
	Action     Action
	Old, New   map[string]any        `json:",omitempty"`
	Version    *catalog.Version      `json:",omitempty"` // of the stored product
	Change     *sales.CustomerChange `json:",omitempty"`
	Label      *sales.ChannelChange  `json:",omitempty"`
	setsImages bool                  // of an archive: the product gets its images
	Renames    *rename               `json:",omitempty"` // the default warehouse
	Exceeds    bool                  `json:",omitempty"` // the order is refunded above what was paid
	InPlan     bool                  `json:",omitempty"` // an earlier row of the plan changes the product or stores the order
	Sums       *sales.PlannedOrder   `json:"-"`          // of an order
	storedID   int64                 // of a product or reference that exists
	ProductID  int64                 `json:",omitempty"` // of a product that exists, if its fields are compared
	was        *catalog.Version      // with which the product is compared
	isGone     bool                  // the product of a filter was deleted in the meantime
	// kept is set if something else has changed the row; for a row by field it names the fields.
	kept *tenancy.Kept
	// refunded is the cumulative amount that earlier rows of the plan refund, if Cumulative is set.
	refunded money.Cents
}

// Importer plans, applies and undoes imports. It is the Kind "import" of package changeplan.
type Importer struct {
	Pictures
	db      *tenancy.DB
	catalog *catalog.Store
	sales   *sales.Store
	maxRows int // of a part
}

// NewImporter returns an importer into db, and of pictures into their storage.
func NewImporter(db *tenancy.DB, p Pictures) *Importer {
	return &Importer{p, db, catalog.New(db), sales.New(db), maxPartRows}
}

// Rules implements changeplan.Kind.
func (m *Importer) Rules() changeplan.Rules {
	return changeplan.Rules{
		UndoDays: 7, MaxUnfinished: 3, TooMany: "Three imports are unfinished. Apply or cancel one of them.",
		KeepsFiles: true,
	}
}

// planRecords computes the parts of a plan and calls add with each. It writes nothing else. It adds to sums, which may
// be nil. Rows that depend on an earlier row of the same plan are recognised by their keys, about 10 bytes each.
// created is the time of the plan; if it is zero, neither the plan nor pictures are stored.
func (m *Importer) planRecords(
	ctx context.Context, tenant tenancy.ID, set *Set, records iter.Seq2[Record, error], sums *totals, created time.Time,
	add func(changeplan.Part, []PlannedRow) error,
) error {
	p := &planner{
		Importer: m, tenant: tenant, add: add, totals: sums, seed: maphash.MakeSeed(),
		pending: map[Kind][]Record{}, references: map[catalog.Kind]map[string]bool{}, channels: map[string]bool{},
		refunded: map[uint64]money.Cents{}, archive: set.archive, created: created,
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
	archive     *archive               // that is planned, or nil
	pictures    *pictures              // of the archive, or nil
	created     time.Time
}

// isDry reports whether the plan is not stored.
func (p *planner) isDry() bool { return p.created.IsZero() }

// sequence is the order in which parts are applied.
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
			if item.Sold != nil {
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
		rows := make([]PlannedRow, len(records))
		for i, r := range records {
			if p.archive != nil {
				p.archive.replace(&r)
			}
			rows[i].Record = r
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

func count(c *changeplan.Counts, a Action) {
	switch a {
	case Created:
		c.Created++
	case Updated:
		c.Updated++
	case Unchanged:
		c.Unchanged++
	case Ignored:
		c.Ignored++
	default:
		c.Refused++
	}
}

func (r *PlannedRow) writes() bool { return r.Action == Created || r.Action == Updated }

// shorten removes the cells and the content of rows that write nothing and are not refused. Rows that write something
// keep theirs, because they can still be refused while they are applied.
func (r *PlannedRow) shorten() {
	if r.Action != Refused && !r.writes() {
		rows := make([]Row, len(r.Rows))
		for i, row := range r.Rows {
			rows[i] = Row{File: row.File, Line: row.Line}
		}
		r.Rows = rows
	}
	if !r.writes() {
		r.Product, r.Channel, r.Customer, r.Order, r.Cancellation = nil, nil, nil, nil, nil
		if !r.Exceeds {
			r.Refund = nil
		}
	}
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

// plan sets the actions of rows of one kind.
func (m *Importer) plan(ctx context.Context, tenant tenancy.ID, rows []PlannedRow) error {
	var planned []*PlannedRow
	for i := range rows {
		row := &rows[i]
		switch {
		case row.Ignored != "":
			row.Action = Ignored
		case len(row.Invalid[""]) > 0 || !row.hasContent():
			row.Action = Refused
		default:
			planned = append(planned, row)
		}
	}
	if len(planned) == 0 {
		return nil
	}
	switch planned[0].Kind {
	case Category, Seller, Warehouse:
		return m.planReferences(ctx, tenant, referenceKinds[planned[0].Kind], planned)
	case Product, Stock:
		return m.planProducts(ctx, tenant, planned)
	case Channel:
		return m.planChannels(ctx, tenant, planned)
	case Customer:
		return m.planCustomers(ctx, tenant, planned)
	case Order:
		return m.planOrders(ctx, tenant, planned)
	case Refund:
		return m.planRefunds(ctx, tenant, planned)
	case Cancellation:
		return m.planCancellations(ctx, tenant, planned)
	}
	return fmt.Errorf("unknown kind of record %q", planned[0].Kind)
}

// hasContent reports whether a record could be read. Otherwise it has errors.
func (r Record) hasContent() bool {
	switch r.Kind {
	case Product, Stock:
		return r.Product != nil
	case Channel:
		return r.Channel != nil
	case Customer:
		return r.Customer != nil
	case Order:
		return r.Order != nil
	case Refund:
		return r.Refund != nil
	case Cancellation:
		return r.Cancellation != nil
	}
	return true
}

// set sets the action of a row from an outcome of catalog or sales and its error.
func (r *PlannedRow) set(outcome string, err error) {
	switch r.Action = Action(outcome); r.Action {
	case Created, Updated, Unchanged:
		if len(r.Invalid) == 0 {
			return
		}
	}
	r.Action = Refused
	r.addError(err)
}

// addError adds an error of catalog or sales to the errors by column: "category" for "category_id".
func (r *PlannedRow) addError(err error) {
	if r.Invalid == nil {
		r.Invalid = tenancy.InvalidError{}
	}
	invalid, ok := errors.AsType[tenancy.InvalidError](err)
	switch {
	case ok:
		for field, messages := range invalid {
			column := field
			if r.Product == nil || !r.Product.ByField {
				column = strings.TrimSuffix(strings.TrimSuffix(field, "_id"), ".id")
			}
			if len(r.Invalid[column]) == 0 {
				r.Invalid[column] = messages
			}
		}
	case errors.Is(err, catalog.ErrInsufficientStock):
		r.Invalid.Add("quantity", "would take the stock of the product's own warehouse below zero")
	case errors.Is(err, catalog.ErrPrecondition):
		r.Invalid.Add("", "has changed since the plan")
	case errors.Is(err, tenancy.ErrNotFound):
		if len(r.Invalid["order_number"]) == 0 {
			r.Invalid.Add("order_number", "is not the number of a stored order")
		}
	case err != nil:
		r.Invalid.Add("", "%v", err)
	}
}

func (m *Importer) planReferences(
	ctx context.Context, tenant tenancy.ID, kind catalog.Kind, rows []*PlannedRow,
) error {
	names := make([]string, len(rows))
	for i, row := range rows {
		names[i] = row.Name
	}
	results, err := m.catalog.PlanReferences(ctx, tenant, kind, names)
	if err != nil {
		return err
	}
	for i, result := range results {
		rows[i].Name, rows[i].storedID = result.Name, result.ID
		rows[i].set(string(result.Outcome), result.Err)
		if rows[i].IsDefault && rows[i].Action == Created {
			if err := m.planDefault(ctx, tenant, rows[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// rename is a change of the name of the default warehouse.
type rename struct {
	ID       int64
	Old, New string
}

// planDefault renames the tenant's default warehouse like that of the archive, unless it is in use.
func (m *Importer) planDefault(ctx context.Context, tenant tenancy.ID, row *PlannedRow) error {
	warehouse, used, err := m.catalog.DefaultWarehouse(ctx, tenant)
	if err != nil || used {
		return err
	}
	row.Action, row.Renames = Updated, &rename{warehouse.ID, warehouse.Name, row.Name}
	row.Old, row.New = changed("name", &warehouse.Name, &row.Name)
	return nil
}

func (m *Importer) planProducts(ctx context.Context, tenant tenancy.ID, rows []*PlannedRow) error {
	products := make([]catalog.PlanRow, len(rows))
	for i, row := range rows {
		products[i] = *row.Product
		products[i].Invalid, products[i].InPlan, products[i].Was = row.Invalid, row.InPlan, row.was
		products[i].ID = cmp.Or(row.ProductID, row.Product.ID)
	}
	results, err := m.catalog.PlanProducts(ctx, tenant, products)
	if err != nil {
		return err
	}
	for i, result := range results {
		row := rows[i]
		row.set(string(result.Outcome), result.Err)
		row.Old, row.New, row.storedID = result.Old, result.New, result.ID
		row.setsImages = result.SetsImages
		row.isGone = row.Product.Change != nil && result.ID == 0
		if row.Product.ByField {
			changed := *row.Product
			changed.Changes, changed.Change = result.Changes, nil
			row.Product, row.ProductID = &changed, result.ID
			row.kept = &tenancy.Kept{Fields: result.Changed}
			if row.Action != Refused {
				row.Key = result.SKU
			}
		}
		if !row.InPlan {
			row.Version = result.Version
		}
	}
	return nil
}

func (m *Importer) planChannels(ctx context.Context, tenant tenancy.ID, rows []*PlannedRow) error {
	channels := make([]sales.Channel, len(rows))
	for i, row := range rows {
		channels[i] = *row.Channel
	}
	results, err := m.sales.PlanChannels(ctx, tenant, channels)
	if err != nil {
		return err
	}
	for i, result := range results {
		row := rows[i]
		row.set(string(result.Outcome), result.Err)
		if row.writes() {
			row.Label = &sales.ChannelChange{
				Identifier: result.Identifier, Old: result.Old, New: result.Label,
				OldStock: result.OldStock, NewStock: result.NewStock,
			}
			row.Old, row.New = changedChannel(result)
		}
	}
	return nil
}

// changedChannel returns the fields of a channel that change, before and after.
func changedChannel(p sales.PlannedChannel) (old, new map[string]any) {
	if p.Old == nil || *p.Old != p.Label {
		old, new = changed("label", p.Old, &p.Label)
	}
	if p.NewStock == nil {
		return old, new
	}
	if new == nil {
		old, new = map[string]any{}, map[string]any{}
	}
	for field, value := range stockFields(*p.NewStock) {
		before := stockFields(*p.OldStock)[field]
		if new[field] = value; value == before {
			delete(new, field)
		} else if p.Old != nil {
			old[field] = before
		}
	}
	return old, new
}

func stockFields(s sales.StockSettings) map[string]any {
	fields := map[string]any{"takes_stock": s.TakesStock, "when_short": s.WhenShort, "warehouse": nil}
	if s.Warehouse != "" {
		fields["warehouse"] = s.Warehouse
	}
	return fields
}

// changed returns a field before and after, without a value that is nil.
func changed(field string, before, after *string) (old, new map[string]any) {
	if before != nil {
		old = map[string]any{field: *before}
	}
	if after != nil {
		new = map[string]any{field: *after}
	}
	return old, new
}

func (m *Importer) planCustomers(ctx context.Context, tenant tenancy.ID, rows []*PlannedRow) error {
	customers := make([]sales.Customer, len(rows))
	for i, row := range rows {
		customers[i] = *row.Customer
	}
	results, err := m.sales.PlanCustomers(ctx, tenant, customers)
	if err != nil {
		return err
	}
	for i, result := range results {
		row := rows[i]
		row.set(string(result.Outcome), result.Err)
		if row.writes() {
			row.Change = &sales.CustomerChange{
				ID: result.ID, Created: row.Action == Created,
				OldName: result.OldName, OldEmail: result.OldEmail, Name: result.Name, Email: result.Email,
				ErasedAt: result.ErasedAt,
			}
		}
	}
	return nil
}

// cancelledNote explains why the totals of a plan, which are compared with those of another system, exceed those of
// reports.
const cancelledNote = "the order is cancelled: the totals include it, reports do not"

func (m *Importer) planOrders(ctx context.Context, tenant tenancy.ID, rows []*PlannedRow) error {
	results, err := m.sales.PlanOrders(ctx, tenant, orderRows(rows))
	if err != nil {
		return err
	}
	for i, result := range results {
		row := rows[i]
		row.set(string(result.Outcome), result.Err)
		row.Sums = &result
		if row.Action == Created {
			row.New = map[string]any{
				"placed_at": row.Order.PlacedAt.UTC(), "channel": row.Order.Channel, "items": len(row.Order.Items),
				"revenue": result.Revenue.String(),
			}
		}
		if row.Cancelled && row.Action != Refused {
			total := result.Revenue + result.Tax + result.Shipping
			row.Notes = append(row.Notes, Note{Text: cancelledNote, Amount: int64(total)})
		}
	}
	return nil
}

func orderRows(rows []*PlannedRow) []sales.Row {
	orders := make([]sales.Row, len(rows))
	for i, row := range rows {
		orders[i] = sales.Row{Order: *row.Order, Invalid: row.Invalid}
	}
	return orders
}

// planRefunds first subtracts what an order already has of a cumulative refund.
func (m *Importer) planRefunds(ctx context.Context, tenant tenancy.ID, rows []*PlannedRow) error {
	var refunds []sales.PlanRefund
	var planned []*PlannedRow
	for _, row := range rows {
		if row.Cumulative != "" && len(row.Invalid) == 0 {
			if err := m.subtractStored(ctx, tenant, row); err != nil {
				return err
			}
			if row.Refund.Amount == 0 {
				row.Action = Unchanged
				continue
			}
		}
		planned = append(planned, row)
		refunds = append(refunds, sales.PlanRefund{
			RefundRow: sales.RefundRow{Refund: *row.Refund, Invalid: row.Invalid}, InPlan: row.InPlan,
		})
	}
	results, err := m.sales.PlanRefunds(ctx, tenant, refunds)
	if err != nil {
		return err
	}
	for i, result := range results {
		row := planned[i]
		row.Exceeds = result.ExceedsPaid
		row.set(string(result.Outcome), result.Err)
		if row.Action == Created {
			row.New = map[string]any{"amount": row.Refund.Amount.String()}
			if at := row.Refund.RefundedAt; at != nil {
				row.New["refunded_at"] = at.UTC()
			}
		}
	}
	return nil
}

// subtractStored reduces a cumulative refund to the difference from the stored refunds.
func (m *Importer) subtractStored(ctx context.Context, tenant tenancy.ID, row *PlannedRow) error {
	refund := *row.Refund
	if refund.Reference == nil {
		refund.Reference = new(row.Cumulative + refund.Amount.String())
	}
	stored, err := m.refunded(ctx, tenant, row)
	if err != nil {
		return err
	}
	refund.Amount = max(0, refund.Amount-max(stored, row.refunded))
	row.Refund = &refund
	return nil
}

// refunded returns what the stored refunds of a cumulative amount add up to.
func (m *Importer) refunded(ctx context.Context, tenant tenancy.ID, row *PlannedRow) (stored money.Cents, err error) {
	order, err := m.sales.Order(ctx, tenant, row.Refund.OrderNumber)
	if err != nil && !errors.Is(err, tenancy.ErrNotFound) {
		return 0, err
	}
	for _, r := range order.Refunds {
		if r.Reference != nil && strings.HasPrefix(*r.Reference, row.Cumulative) {
			stored += r.Amount
		}
	}
	return stored, nil
}

// refundsTooMuch reports whether a planned refund and those that were stored since exceed the cumulative amount, which
// its reference ends with.
func (m *Importer) refundsTooMuch(ctx context.Context, tenant tenancy.ID, row *PlannedRow) (bool, error) {
	if row.Cumulative == "" || row.Refund == nil || row.Refund.Reference == nil {
		return false, nil
	}
	cumulative, err := money.Parse(strings.TrimPrefix(*row.Refund.Reference, row.Cumulative))
	if err != nil {
		return false, nil // another reference, which is stored once
	}
	stored, err := m.refunded(ctx, tenant, row)
	return stored+row.Refund.Amount > cumulative, err
}

func (m *Importer) planCancellations(ctx context.Context, tenant tenancy.ID, rows []*PlannedRow) error {
	results, err := m.sales.PlanCancellations(ctx, tenant, cancelRows(rows))
	if err != nil {
		return err
	}
	for i, result := range results {
		row := rows[i]
		row.set(string(result.Outcome), result.Err)
		if at := row.Cancellation.CancelledAt; row.Action == Created && at != nil {
			row.New = map[string]any{"cancelled_at": at.UTC()}
		}
	}
	return nil
}

func cancelRows(rows []*PlannedRow) []sales.CancelRow {
	cancellations := make([]sales.CancelRow, len(rows))
	for i, row := range rows {
		cancellations[i] = sales.CancelRow{Cancellation: *row.Cancellation, InPlan: row.InPlan, Invalid: row.Invalid}
	}
	return cancellations
}
