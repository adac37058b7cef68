package sales

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

// PlanID identifies the plan that created a fact. Remove accepts only facts of the plan that is being undone.
type PlanID int64

// PlannedOrder is the result that an Ingest of a Row would have. Day and the amounts are set unless Outcome is Failed.
type PlannedOrder struct {
	Result
	Day                               time.Time // of PlacedAt in the time zone of the reports
	Revenue, Discounts, Tax, Shipping money.Cents
}

// PlanOrders returns the results that an Ingest of rows would have. It writes nothing. Channels and customers of the
// orders are separate rows of a plan: see PlanChannels and PlanCustomers.
func (s *Store) PlanOrders(ctx context.Context, tenant tenancy.ID, rows []Row) ([]PlannedOrder, error) {
	b := newOrderBatch(tenant, rows, time.Now())
	err := s.db.Run(ctx, tenant, b.read)
	var zone *time.Location
	if err == nil {
		zone, err = loadZone(b.zones)
	}
	if err != nil {
		return nil, fmt.Errorf("plan %d orders: %w", len(rows), err)
	}
	products := b.productsBySKU()
	for _, p := range products {
		p.SoldID = cmp.Or(p.SoldID, new(int64)) // Ingest adds missing versions
	}
	b.decide(b.existingByNumber(), products, func(*orderRow, []lineSums) {})
	return column(b.rows, func(o *orderRow) PlannedOrder {
		p := PlannedOrder{Result: o.result}
		switch p.Outcome {
		case Failed:
			return p
		case Created:
			p.ID = 0
		default:
			lines, _ := o.lines(0, products)
			o.totals = total(column(lines, line.sold))
		}
		p.Day = tenancy.DayOf(o.PlacedAt, zone)
		p.Revenue, p.Discounts, p.Tax, p.Shipping = o.totals.Revenue, o.totals.Discounts, o.totals.Tax, o.totals.Shipping
		return p
	}), nil
}

// ApplyOrders is Ingest in a shared transaction. It records the orders that it creates for Remove.
func (s *Store) ApplyOrders(ctx context.Context, tenant tenancy.ID, plan PlanID, rows []Row) ([]Result, error) {
	results, err := s.Ingest(ctx, tenant, rows)
	var created []int64
	for _, r := range results {
		if r.Outcome == Created {
			created = append(created, r.ID)
		}
	}
	if err == nil {
		err = s.record(ctx, tenant, plan, "orders", created)
	}
	return results, err
}

// record records rows that the shared transaction created.
func (s *Store) record(ctx context.Context, tenant tenancy.ID, plan PlanID, table string, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	err := s.db.Run(ctx, tenant, func(q *pgx.Batch) { q.Queue(`select record_facts($1, $2, $3)`, plan, table, ids) })
	if err != nil {
		return fmt.Errorf("record %d %s of plan %d: %w", len(ids), table, plan, err)
	}
	return nil
}

// PlanRefund is a RefundRow. InPlan means that an earlier row of the plan creates the order.
type PlanRefund struct {
	RefundRow
	InPlan bool
}

// PlanRefunds returns what Refund would do. It writes nothing. ExceedsPaid is false if the order is in the plan.
func (s *Store) PlanRefunds(ctx context.Context, tenant tenancy.ID, rows []PlanRefund) ([]RefundResult, error) {
	b := newRefundBatch(tenant, column(rows, func(r PlanRefund) RefundRow { return r.RefundRow }), time.Now())
	err := s.db.Run(ctx, tenant, b.read)
	if err == nil {
		stored := b.facts.byNumber()
		b.assumed = map[string]*orderFact{}
		for i, r := range rows {
			if r.InPlan && stored[r.OrderNumber] == nil {
				b.assumed[r.OrderNumber] = &orderFact{ID: -int64(i + 1), Paid: math.MaxInt64}
			}
		}
		_, err = b.decide()
	}
	if err != nil {
		return nil, fmt.Errorf("plan %d refunds: %w", len(rows), err)
	}
	return column(b.rows, func(r *refundRow) RefundResult {
		if r.result.Outcome == Created {
			r.result.ID = 0
		}
		return r.result
	}), nil
}

// ApplyRefunds is Refund in a shared transaction. It records the refunds that it creates for Remove.
func (s *Store) ApplyRefunds(
	ctx context.Context, tenant tenancy.ID, plan PlanID, rows []RefundRow,
) ([]RefundResult, error) {
	results, err := s.Refund(ctx, tenant, rows)
	var created []int64
	for _, r := range results {
		if r.Outcome == Created {
			created = append(created, r.ID)
		}
	}
	if err == nil {
		err = s.record(ctx, tenant, plan, "refunds", created)
	}
	return results, err
}

// PlanCancellations returns what ApplyCancellations would do. It writes nothing.
func (s *Store) PlanCancellations(ctx context.Context, tenant tenancy.ID, rows []CancelRow) ([]CancelResult, error) {
	b := newCancelBatch(tenant, rows, time.Now())
	if err := s.db.Run(ctx, tenant, b.read); err != nil {
		return nil, fmt.Errorf("plan %d cancellations: %w", len(rows), err)
	}
	b.decide()
	return b.results, nil
}

// ApplyCancellations cancels orders in a shared transaction, and records the cancellations for Remove.
func (s *Store) ApplyCancellations(
	ctx context.Context, tenant tenancy.ID, plan PlanID, rows []CancelRow,
) ([]CancelResult, error) {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].InPlan = false // the order exists now
	}
	results, err := s.cancel(ctx, tenant, rows)
	if err != nil {
		return nil, fmt.Errorf("cancel %d orders: %w", len(rows), err)
	}
	var created []int64
	for _, r := range results {
		if r.Outcome == Created {
			created = append(created, r.ID)
		}
	}
	return results, s.record(ctx, tenant, plan, "cancellations", created)
}

// ChannelChange is a channel of a plan. Old is the stored label, or nil if the channel does not exist. The settings of
// stock are nil unless they change.
type ChannelChange struct {
	Identifier string
	Old        *string `json:",omitempty"`
	New        string
	OldStock   *StockSettings `json:",omitempty"`
	NewStock   *StockSettings `json:",omitempty"`
}

// StockSettings are the settings of a channel that concern stock.
type StockSettings struct {
	TakesStock bool
	WhenShort  string
	Warehouse  string `json:",omitempty"` // the name; "" is the warehouse of each product
}

func (c Channel) stock() StockSettings {
	return StockSettings{c.TakesStock, c.WhenShort, valueOr(c.WarehouseName, "")}
}

// PlannedChannel is what EnsureChannels would do with a channel: Created, Updated, Unchanged, or Failed with an
// InvalidError (identifier, label).
type PlannedChannel struct {
	Channel
	Old                *string        // the stored label, or nil if the channel does not exist
	OldStock, NewStock *StockSettings // nil unless they change
	Outcome            Outcome
	Err                error
}

// Updated means that a row that exists differs from the row of a plan.
const Updated Outcome = "updated"

// PlanChannels returns what EnsureChannels would do. If WhenShort is set, the stock settings change too, except those
// of a channel that already takes stock. An empty label keeps the stored one, or is the identifier of a new channel, as
// in an order. It writes nothing. If a channel occurs again, the second changes the result of the first; both must be
// in the same call.
func (s *Store) PlanChannels(ctx context.Context, tenant tenancy.ID, channels []Channel) ([]PlannedChannel, error) {
	stored, err := tenancy.All[Channel](ctx, s.db, tenant, `
		select `+channelColumns+`
		  from channels
		 where tenant_id = $1 and identifier = any ($2)`,
		tenant, distinct(column(channels, func(c Channel) string { return c.Identifier })))
	if err != nil {
		return nil, fmt.Errorf("plan %d channels: %w", len(channels), err)
	}
	labels, settings := map[string]*string{}, map[string]StockSettings{}
	for _, c := range stored {
		labels[c.Identifier], settings[c.Identifier] = &c.Label, c.stock()
	}
	return column(channels, func(c Channel) PlannedChannel {
		invalid, old := tenancy.InvalidError{}, labels[c.Identifier]
		c.Label = cmp.Or(c.Label, valueOr(old, c.Identifier))
		checkChannel(c.Identifier, "identifier", invalid)
		if len(invalid) == 0 {
			checkText(&c.Label, "label", invalid, tenancy.Label, 255)
		}
		p := PlannedChannel{Channel: c, Old: old, Outcome: Updated, Err: invalid.Err()}
		before, exists := settings[c.Identifier]
		if !exists {
			before = StockSettings{WhenShort: Refuse}
		}
		if after := c.stock(); after.WhenShort != "" && !before.TakesStock && after != before {
			p.OldStock, p.NewStock = &before, &after
			settings[c.Identifier] = after
		}
		switch {
		case len(invalid) > 0:
			p.Outcome = Failed
			return p
		case old == nil:
			p.Outcome = Created
		case *old == c.Label && p.NewStock == nil:
			p.Outcome = Unchanged
		}
		labels[c.Identifier] = &c.Label
		return p
	}), nil
}

// ApplyChannels writes the changes. It returns whether each was written: a channel that has changed since the plan is
// not.
func (s *Store) ApplyChannels(ctx context.Context, tenant tenancy.ID, changes []ChannelChange) ([]bool, error) {
	written := make([]bool, len(changes))
	err := s.db.Run(ctx, tenant, func(q *pgx.Batch) {
		for i, c := range changes {
			done := func(tag pgconn.CommandTag) error {
				written[i] = tag.RowsAffected() > 0
				return nil
			}
			queueChannel(q, tenant, c, done)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("store %d channels: %w", len(changes), err)
	}
	return written, nil
}

// queueChannel writes a change of a channel if it has the old values. If the warehouse does not exist, it uses the
// warehouse of each product.
func queueChannel(q *pgx.Batch, tenant tenancy.ID, c ChannelChange, done func(pgconn.CommandTag) error) {
	before, after := valueOr(c.OldStock, StockSettings{}), c.settings()
	if c.Old == nil {
		q.Queue(`
			insert into channels (tenant_id, identifier, label, takes_stock, when_short, warehouse_id)
			values ($1, $2, $3, $4, $5, (select id from warehouses where tenant_id = $1 and name = $6))
			on conflict do nothing`,
			tenant, c.Identifier, c.New, after.TakesStock, after.WhenShort, after.Warehouse).Exec(done)
		return
	}
	if c.NewStock == nil {
		q.Queue(`
			update channels
			   set label = $4, updated_at = clock_timestamp()
			 where tenant_id = $1 and identifier = $2 and label = $3`,
			tenant, c.Identifier, *c.Old, c.New).Exec(done)
		return
	}
	q.Queue(`
		update channels c
		   set label = $4, takes_stock = $8, when_short = $9, updated_at = clock_timestamp(),
		       warehouse_id = (select id from warehouses where tenant_id = $1 and name = $10)
		 where c.tenant_id = $1 and c.identifier = $2 and c.label = $3 and c.takes_stock = $5 and c.when_short = $6
		   and coalesce((select name from warehouses where tenant_id = $1 and id = c.warehouse_id), '') = $7`,
		tenant, c.Identifier, *c.Old, c.New, before.TakesStock, before.WhenShort, before.Warehouse,
		after.TakesStock, after.WhenShort, after.Warehouse).Exec(done)
}

// settings returns the new settings of stock, or those of a new channel.
func (c ChannelChange) settings() StockSettings {
	return valueOr(c.NewStock, StockSettings{WhenShort: Refuse})
}

// UndoChannels undoes changes that were written, except of channels that have changed since or have orders.
func (s *Store) UndoChannels(ctx context.Context, tenant tenancy.ID, changes []ChannelChange) ([]tenancy.Kept, error) {
	var kept []tenancy.Kept
	for _, c := range slices.Backward(changes) {
		stored, err := s.Channel(ctx, tenant, c.Identifier)
		reason := "has changed since"
		switch {
		case errors.Is(err, tenancy.ErrNotFound) && c.Old == nil:
			continue
		case errors.Is(err, tenancy.ErrNotFound):
			err, reason = nil, "was deleted since"
		case err == nil && c.Old != nil:
			var written []bool
			written, err = s.ApplyChannels(ctx, tenant, []ChannelChange{{
				Identifier: c.Identifier, Old: &c.New, New: *c.Old, OldStock: c.NewStock, NewStock: c.OldStock,
			}})
			if err == nil && written[0] {
				reason = ""
			}
		case err == nil && stored.Label == c.New && stored.stock() == c.settings():
			err, reason = s.DeleteChannel(ctx, tenant, c.Identifier), ""
		}
		if inUse, ok := errors.AsType[tenancy.InUseError](err); ok {
			err, reason = nil, inUse.Error()
		}
		if err != nil {
			return nil, err
		}
		if reason != "" {
			kept = append(kept, tenancy.Kept{Key: c.Identifier, Reason: reason})
		}
	}
	return kept, nil
}

// CustomerChange is a customer of a plan, with the name and the e-mail before and after.
type CustomerChange struct {
	ID                string
	Created           bool       `json:",omitempty"`
	OldName, OldEmail *string    `json:",omitempty"`
	Name, Email       *string    `json:",omitempty"`
	ErasedAt          *time.Time `json:",omitempty"` // of a new customer of an archive
}

// PlannedCustomer is what EnsureCustomers would do with a customer: Created, Updated, Unchanged, or Failed with an
// InvalidError (id, name, email).
type PlannedCustomer struct {
	CustomerChange
	Outcome Outcome
	Err     error
}

// PlanCustomers returns what EnsureCustomers would do. It writes nothing. If a customer is sent several times, the
// first row has all of its changes, and the others are Unchanged. An erased customer is Unchanged.
func (s *Store) PlanCustomers(ctx context.Context, tenant tenancy.ID, customers []Customer) ([]PlannedCustomer, error) {
	planned := make([]PlannedCustomer, len(customers))
	var valid []Customer
	for i, c := range customers {
		invalid := tenancy.InvalidError{}
		checked := checkCustomer(c, "", invalid)
		planned[i] = PlannedCustomer{CustomerChange{ID: checked.ID}, Unchanged, invalid.Err()}
		if len(invalid) > 0 {
			planned[i].Outcome = Failed
		} else {
			valid = append(valid, *checked)
		}
	}
	numbers := distinct(column(valid, func(c Customer) string { return c.ID }))
	var stored []storedCustomer
	err := s.db.Run(ctx, tenant, func(q *pgx.Batch) { queueStoredCustomers(q, tenant, numbers, &stored) })
	if err != nil {
		return nil, fmt.Errorf("plan %d customers: %w", len(customers), err)
	}
	before := customersByNumber(stored)
	changed := map[string]Customer{}
	for _, c := range changedCustomers(valid, stored) {
		changed[c.ID] = c
	}
	for i := range planned {
		p := &planned[i]
		c, changes := changed[p.ID]
		if p.Outcome == Failed || !changes {
			continue
		}
		delete(changed, p.ID)
		old, exists := before[p.ID]
		if p.Outcome = Updated; !exists {
			p.Outcome, p.Created, p.ErasedAt = Created, true, c.ErasedAt
		}
		p.OldName, p.OldEmail = old.Name, old.Email
		p.Name, p.Email = cmp.Or(c.Name, old.Name), cmp.Or(c.Email, old.Email)
	}
	return planned, nil
}

func customersByNumber(customers []storedCustomer) map[string]storedCustomer {
	byNumber := make(map[string]storedCustomer, len(customers))
	for _, c := range customers {
		byNumber[c.Number] = c
	}
	return byNumber
}

// is reports whether the customer has a name and an e-mail, or lacks them.
func (c storedCustomer) is(name, email *string) bool {
	return !c.Erased && equal(c.Name, name) && equal(c.Email, email)
}

func equal(a, b *string) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// ApplyCustomers writes the changes in a shared transaction. It returns whether each was written: a customer that has
// changed since the plan is not.
func (s *Store) ApplyCustomers(
	ctx context.Context, tenant tenancy.ID, plan PlanID, changes []CustomerChange,
) ([]bool, error) {
	written := make([]bool, len(changes))
	var created []string
	var stored []storedCustomer
	err := s.db.Update(ctx, tenant, func(q *pgx.Batch) {
		queueLockedCustomers(q, tenant, changes, &stored)
	}, func(q *pgx.Batch) error {
		before := customersByNumber(stored)
		created = nil
		var customers []Customer
		for i, c := range changes {
			old, exists := before[c.ID]
			written[i] = c.Created != exists && (!exists || old.is(c.OldName, c.OldEmail))
			if written[i] {
				customers = append(customers, Customer{c.ID, c.Name, c.Email, c.ErasedAt})
			}
			if written[i] && c.Created {
				created = append(created, c.ID)
			}
		}
		queueCustomers(q, tenant, customers)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("store %d customers: %w", len(changes), err)
	}
	ids, err := tenancy.All[idRow](ctx, s.db, tenant, `
		select id
		  from customers
		 where tenant_id = $1 and number = any ($2)`, tenant, created)
	if err != nil {
		return nil, fmt.Errorf("read the ids of %d customers: %w", len(created), err)
	}
	return written, s.record(ctx, tenant, plan, "customers", column(ids, func(r idRow) int64 { return r.ID }))
}

// queueLockedCustomers locks and reads the customers of changes.
func queueLockedCustomers(q *pgx.Batch, tenant tenancy.ID, changes []CustomerChange, stored *[]storedCustomer) {
	numbers := distinct(column(changes, func(c CustomerChange) string { return c.ID }))
	q.Queue(`
		select
		  from unnest($2::text[]) u (number)
		 cross join lateral (
		       select from customers where tenant_id = $1 and number = u.number limit 1 for update
		       ) c`, tenant, numbers)
	queueStoredCustomers(q, tenant, numbers, stored)
}

// UndoCustomers undoes changes that were written, except of customers that have changed since, have orders or are
// erased.
func (s *Store) UndoCustomers(
	ctx context.Context, tenant tenancy.ID, plan PlanID, changes []CustomerChange,
) ([]tenancy.Kept, error) {
	var kept []tenancy.Kept
	var stored []storedCustomer
	var unused []struct {
		ID     int64
		Number string
	}
	numbers := distinct(column(changes, func(c CustomerChange) string { return c.ID }))
	err := s.db.Update(ctx, tenant, func(q *pgx.Batch) {
		queueLockedCustomers(q, tenant, changes, &stored)
		tenancy.QueueRows(q, &unused, `
			select c.id, c.number
			  from unnest($2::text[]) u (number)
			 cross join lateral (select * from customers where tenant_id = $1 and number = u.number limit 1) c
			 where not exists (select from orders where tenant_id = $1 and customer_id = c.id)`, tenant, numbers)
	}, func(q *pgx.Batch) error {
		kept = nil
		before, ids := customersByNumber(stored), map[string]int64{}
		for _, c := range unused {
			ids[c.Number] = c.ID
		}
		var deleted []int64
		for _, c := range changes {
			old, exists := before[c.ID]
			id, isUnused := ids[c.ID]
			switch {
			case !exists:
			case old.Erased && c.ErasedAt == nil:
				kept = append(kept, tenancy.Kept{Key: c.ID, Reason: "is erased"})
			case !old.Erased && !old.is(c.Name, c.Email):
				kept = append(kept, tenancy.Kept{Key: c.ID, Reason: "has changed since"})
			case !c.Created:
				q.Queue(`
					update customers
					   set name = $3, email = $4, updated_at = now()
					 where tenant_id = $1 and number = $2`, tenant, c.ID, c.OldName, c.OldEmail)
			case !isUnused:
				kept = append(kept, tenancy.Kept{Key: c.ID, Reason: "has orders"})
			default:
				deleted = append(deleted, id)
			}
		}
		if len(deleted) > 0 {
			queueRemove(q, plan, Facts{}, deleted)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("undo %d customers: %w", len(changes), err)
	}
	return kept, nil
}
