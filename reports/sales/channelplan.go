package sales

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

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
	ChannelChange
	Outcome Outcome
	Err     error
}

// PlanChannels returns what EnsureChannels would do, and writes nothing. If WhenShort is set, the stock settings change
// too, unless the channel already takes stock; an empty label keeps the stored one, or is the identifier of a new
// channel. If a channel occurs again, the second changes the result of the first, so both must be in the same call.
func (s *Store) PlanChannels(ctx context.Context, tenant tenancy.ID, channels []Channel) ([]PlannedChannel, error) {
	stored, err := db.All[Channel](ctx, s.db, tenant, `
		select `+channelColumns+`
		  from channels
		 where tenant_id = $1 and identifier = any ($2)`,
		tenant, db.Distinct(column(channels, func(c Channel) string { return c.Identifier })))
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
		p := PlannedChannel{ChannelChange{Identifier: c.Identifier, Old: old, New: c.Label}, Updated, invalid.Err()}
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
	return written, tenancy.Wrap(err, "store %d channels", len(changes))
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
