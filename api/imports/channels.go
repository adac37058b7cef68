package imports

import (
	"context"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
)

// channels are the rows of channels.
type channels struct{ sales *sales.Store }

func (k channels) plan(ctx context.Context, p *part) error {
	sent := column(p.rows, func(r *Record) sales.Channel { return *r.Channel })
	results, err := k.sales.PlanChannels(ctx, p.tenant, sent)
	if err != nil {
		return err
	}
	for i, result := range results {
		row := p.rows[i]
		row.set(string(result.Outcome), result.Err)
		if row.Writes() {
			row.Label = &result.ChannelChange
			row.Old, row.New = changedChannel(result.ChannelChange)
		}
	}
	return nil
}

// changedChannel returns the fields of a channel that change, before and after.
func changedChannel(c sales.ChannelChange) (old, new map[string]any) {
	if c.Old == nil || *c.Old != c.New {
		old, new = changed("label", c.Old, &c.New)
	}
	if c.NewStock == nil {
		return old, new
	}
	if new == nil {
		old, new = map[string]any{}, map[string]any{}
	}
	for field, value := range stockFields(*c.NewStock) {
		before := stockFields(*c.OldStock)[field]
		if new[field] = value; value == before {
			delete(new, field)
		} else if c.Old != nil {
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

func (k channels) apply(ctx context.Context, p *part) (err error) {
	change := func(r *Record) sales.ChannelChange { return *r.Label }
	p.result.Channels, err = applyChanges(p.rows, change, func(changes []sales.ChannelChange) ([]bool, error) {
		return k.sales.ApplyChannels(ctx, p.tenant, changes)
	})
	return err
}

func (k channels) undo(ctx context.Context, p *part) ([]tenancy.Kept, error) {
	return k.sales.UndoChannels(ctx, p.tenant, p.result.Channels)
}
