package sales

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/paging"
)

const channelColumns = `identifier, label, takes_stock, when_short, warehouse_id,
       (select name from warehouses w where w.tenant_id = channels.tenant_id and w.id = warehouse_id) as warehouse_name,
       created_at, updated_at`

// Channels returns a page of the channels, sorted by identifier.
func (s *Store) Channels(ctx context.Context, tenant tenancy.ID, p paging.Page) (paging.List[Channel], error) {
	var channels paging.List[Channel]
	var counts []countRow
	err := s.db.Read(ctx, tenant, func(q *pgx.Batch) {
		db.QueueRows(q, &counts, `select count(*) from channels where tenant_id = $1`, tenant)
		db.QueueRows(q, &channels.Items, `
			select `+channelColumns+`
			  from channels
			 where tenant_id = $1
			 order by identifier
			 limit $2 offset $3`, tenant, p.PerPage, p.Offset())
	})
	if err != nil {
		return channels, fmt.Errorf("list channels: %w", err)
	}
	channels.Total = counts[0].Count
	return channels, nil
}

// Channel returns a channel. It returns ErrNotFound if the identifier does not exist.
func (s *Store) Channel(ctx context.Context, tenant tenancy.ID, identifier string) (Channel, error) {
	c, err := db.One[Channel](ctx, s.db, tenant, `
		select `+channelColumns+`
		  from channels
		 where tenant_id = $1 and identifier = $2`, tenant, identifier)
	return c, tenancy.Wrap(err, "read channel")
}

// ChannelsByID returns the channels that exist.
func (s *Store) ChannelsByID(ctx context.Context, tenant tenancy.ID, identifiers []string) ([]Channel, error) {
	found, err := db.All[Channel](ctx, s.db, tenant, `
		select c.*
		  from unnest($2::text[]) i (identifier)
		 cross join lateral (
		       select `+channelColumns+`
		         from channels
		        where tenant_id = $1 and identifier = i.identifier
		        limit 1
		       ) c`, tenant, identifiers)
	return found, tenancy.Wrap(err, "read %d channels", len(identifiers))
}

// CreateChannel adds a channel. An empty WhenShort is Refuse. It returns an InvalidError (identifier, label,
// when_short, warehouse_id), which includes the validation errors that the caller found.
func (s *Store) CreateChannel(
	ctx context.Context, tenant tenancy.ID, c Channel, invalid tenancy.InvalidError,
) (Channel, error) {
	invalid = invalid.Clone()
	checkChannel(c.Identifier, "identifier", invalid)
	checkText(&c.Label, "label", invalid, tenancy.Label, 255)
	c.WhenShort = cmp.Or(c.WhenShort, Refuse)
	checkWhenShort(c.WhenShort, invalid)
	if err := invalid.Err(); err != nil {
		return c, err
	}
	c, err := db.One[Channel](ctx, s.db, tenant, `
		insert into channels (tenant_id, identifier, label, takes_stock, when_short, warehouse_id)
		values ($1, $2, $3, $4, $5, $6)
		returning `+channelColumns, tenant, c.Identifier, c.Label, c.TakesStock, c.WhenShort, c.WarehouseID)
	if db.SQLState(err) == "23505" {
		err = tenancy.InvalidError{"identifier": {"is already taken"}}
	}
	err = unknownWarehouse(err)
	return c, tenancy.Wrap(err, "create channel")
}

// ChannelUpdate has the new values of a channel; nil does not change one.
type ChannelUpdate struct {
	Label       *string
	TakesStock  *bool
	WhenShort   *string
	WarehouseID *int64 // 0 is the warehouse of each product
}

// UpdateChannel changes a channel. It returns ErrNotFound, or an InvalidError (label, when_short, warehouse_id) that
// includes the errors of the caller.
func (s *Store) UpdateChannel(
	ctx context.Context, tenant tenancy.ID, identifier string, u ChannelUpdate, invalid tenancy.InvalidError,
) (Channel, error) {
	c, err := s.Channel(ctx, tenant, identifier)
	if err != nil {
		return c, err
	}
	invalid = invalid.Clone()
	if u.Label != nil {
		u.Label = new(*u.Label)
		checkText(u.Label, "label", invalid, tenancy.Label, 255)
	}
	if u.WhenShort != nil {
		checkWhenShort(*u.WhenShort, invalid)
	}
	if err := invalid.Err(); err != nil || u == (ChannelUpdate{}) {
		return c, err
	}
	c, err = db.One[Channel](ctx, s.db, tenant, `
		update channels
		   set label = coalesce($3, label), takes_stock = coalesce($4, takes_stock),
		       when_short = coalesce($5, when_short), warehouse_id = nullif(coalesce($6, warehouse_id), 0),
		       updated_at = clock_timestamp()
		 where tenant_id = $1 and identifier = $2
		returning `+channelColumns, tenant, identifier, u.Label, u.TakesStock, u.WhenShort, u.WarehouseID)
	if err := unknownWarehouse(err); err != nil {
		return c, fmt.Errorf("update channel: %w", err)
	}
	return c, nil
}

func checkWhenShort(value string, invalid tenancy.InvalidError) {
	if value != Refuse && value != Accept && len(invalid["when_short"]) == 0 {
		invalid.Add("when_short", "must be one of %s, %s", Refuse, Accept)
	}
}

// unknownWarehouse replaces the error of a warehouse that does not exist.
func unknownWarehouse(err error) error {
	if db.Constraint(err) == "channels_tenant_id_warehouse_id_fkey" {
		return tenancy.InvalidError{"warehouse_id": {"does not exist"}}
	}
	return err
}

// DeleteChannel deletes a channel without orders. It returns ErrNotFound, or an
// InUseError, also for the built-in channel.
func (s *Store) DeleteChannel(ctx context.Context, tenant tenancy.ID, identifier string) error {
	if identifier == PointOfSale {
		return tenancy.InUseError("The channel " + PointOfSale + " cannot be deleted")
	}
	deleted, err := s.db.Exec(ctx, tenant, `
		delete from channels
		 where tenant_id = $1 and identifier = $2`, tenant, identifier)
	switch {
	case db.SQLState(err) == "23503":
		err = s.channelInUse(ctx, tenant, identifier)
	case err == nil && deleted == 0:
		err = tenancy.ErrNotFound
	}
	return tenancy.Wrap(err, "delete channel")
}

// channelInUse returns an InUseError with the number of orders of a channel.
func (s *Store) channelInUse(ctx context.Context, tenant tenancy.ID, identifier string) error {
	uses, err := db.One[struct{ Count int64 }](ctx, s.db, tenant, `
		select count(*)
		from (select from orders where tenant_id = $1 and channel = $2 limit $3) as uses`,
		tenant, identifier, tenancy.MaxUses+1)
	if err != nil {
		return err
	}
	return tenancy.InUse(uses.Count, "order", "channel")
}

// EnsureChannels adds missing channels and updates labels that differ. It returns an
// InvalidError with fields such as channels[0].identifier.
func (s *Store) EnsureChannels(ctx context.Context, tenant tenancy.ID, channels []Channel) (Count, error) {
	invalid := tenancy.InvalidError{}
	channels = slices.Clone(channels)
	for i := range channels {
		path := fmt.Sprintf("channels[%d].", i)
		checkChannel(channels[i].Identifier, path+"identifier", invalid)
		checkText(&channels[i].Label, path+"label", invalid, tenancy.Label, 255)
	}
	if len(invalid) > 0 {
		return Count{}, invalid
	}
	var count Count
	for _, c := range channels {
		written, err := db.All[struct{ Created bool }](ctx, s.db, tenant, `
			insert into channels as c (tenant_id, identifier, label)
			values ($1, $2, $3)
			on conflict (tenant_id, identifier) do update
			   set label = excluded.label, updated_at = clock_timestamp()
			 where c.label <> excluded.label
			returning created_at = now() as created`, tenant, c.Identifier, c.Label)
		switch {
		case err != nil:
			return count, fmt.Errorf("store channel %q: %w", c.Identifier, err)
		case len(written) == 0:
			count.Unchanged++
		case written[0].Created:
			count.Created++
		default:
			count.Updated++
		}
	}
	return count, nil
}
