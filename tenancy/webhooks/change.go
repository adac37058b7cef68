package webhooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/feed"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// Check returns an error if the caller may not read the changes of these types. A nil Check allows all. It is called
// while the endpoint is locked, so that nobody can add types between the check and the change.
type Check func(types []string) error

func (c Check) of(types []string) error {
	if c == nil {
		return nil
	}
	return c(types)
}

// change is a statement that changes one endpoint, $2 of the tenant $1, and returns it.
type change struct {
	action   string // of the audit log
	details  map[string]any
	url      *string // if it changes
	check    func(before Webhook) error
	sql      string
	args     []any
	mayTake  bool // the actor becomes the maker if the former one is gone; the last arguments are the maker
	required Check
}

// run changes an endpoint and records it in the audit log. It returns tenancy.ErrNotFound, or the error of a check.
func (s *Store) run(
	ctx context.Context, tenant tenancy.ID, by tenancy.Actor, id int64, c change,
) (w Webhook, err error) {
	makers := &makers{}
	if c.mayTake {
		if makers, err = s.findMaker(ctx, tenant, by); err != nil {
			return w, err
		}
	}
	var before, changed []Webhook
	err = s.db.Update(ctx, tenant, func(b *pgx.Batch) {
		makers.queue(b) // before the endpoint, as a revocation does
		db.QueueRows(b, &before, `select`+columns+` from webhooks where tenant_id = $1 and id = $2 for update`,
			tenant, id)
	}, func(b *pgx.Batch) error {
		if len(before) == 0 {
			return tenancy.ErrNotFound
		}
		if err := c.required.of(before[0].Types); err != nil {
			return err
		}
		if c.check != nil {
			if err := c.check(before[0]); err != nil {
				return err
			}
		}
		args := append([]any{tenant, id}, c.args...)
		if c.mayTake {
			maker, err := makers.maker()
			if err != nil {
				return err
			}
			args = append(args, maker.MakerType, maker.MakerID, maker.MakerName, maker.MakerExpiresAt)
		}
		db.QueueRows(b, &changed, c.sql, args...)
		target := before[0].URL
		if c.url != nil {
			target = *c.url
		}
		tenants.QueueAudit(b, tenant, by, tenants.Entry{Action: c.action, Target: shownURL(target), Details: c.details})
		return nil
	})
	if err != nil {
		return w, fmt.Errorf("%q of webhook %d: %w", c.action, id, err)
	}
	return changed[0], nil
}

// IsPause reports whether the fields only pause an endpoint. Whoever may change webhooks may do that, whatever the
// types are.
func (f Fields) IsPause() bool {
	return f.State != nil && *f.State == Paused && f.URL == nil && f.Description == nil && f.Types == nil &&
		f.BatchSize == nil
}

// Change sets fields of an endpoint, or returns tenancy.ErrNotFound, an InvalidError, or the error of may for the types
// before and after. A failed message is sent again at once, and may then have other entries. A message that is being
// sent is sent again. Who resumes an endpoint without a maker becomes its maker.
func (s *Store) Change(
	ctx context.Context, tenant tenancy.ID, by tenancy.Actor, may Check, id int64, f Fields, invalid tenancy.InvalidError,
) (Webhook, error) {
	invalid = invalid.Clone()
	f = s.check(f, invalid)
	if err := invalid.Err(); err != nil {
		return Webhook{}, err
	}
	if f.IsPause() {
		may = nil
	}
	return s.run(ctx, tenant, by, id, change{
		action: "webhook.change", details: f.details(), url: f.URL, required: may,
		check:   func(Webhook) error { return may.of(f.Types) },
		mayTake: f.State != nil && *f.State == Active,
		sql:     changeSQL[f.State != nil && *f.State == Active],
		args:    []any{f.URL, f.Description, f.Types, f.BatchSize, f.State, interruption},
	})
}

// The maker of a paused endpoint is noticed to have expired only when the endpoint is active again.
const (
	makerExpired = `coalesce(maker_expires_at <= clock_timestamp(), false)`
	makerGone    = `(coalesce(pause_reason = 'maker_gone', false) or ` + makerExpired + `)`
)

// changeSQL has the statement of Change, by whether it makes the endpoint active.
var changeSQL = map[bool]string{
	false: changeFields + `
		 where tenant_id = $1 and id = $2
		returning` + columns,
	true: changeFields + `,
		       maker_type = case when ` + makerGone + ` then $9 else maker_type end,
		       maker_id = case when ` + makerGone + ` then $10 else maker_id end,
		       maker_name = case when ` + makerGone + ` then $11 else maker_name end,
		       maker_expires_at = case when ` + makerGone + ` then $12 else maker_expires_at end
		 where tenant_id = $1 and id = $2
		returning` + columns,
}

const changeFields = `
		update webhooks
		   set url = coalesce($3, url), description = coalesce($4, description), types = coalesce($5, types),
		       batch_size = coalesce($6, batch_size), state = coalesce($7, state),
		       pause_reason = case coalesce($7, state) when 'paused' then coalesce(pause_reason, 'user') end,
		       paused_at = case coalesce($7, state) when 'paused' then coalesce(paused_at, now()) end,
		       attempts = 0, message_end = null, worker = null,
		       lease_until = case when lease_until > clock_timestamp()
		                          then least(lease_until, clock_timestamp() + $8::interval) end,
		       next_attempt_at = clock_timestamp(), updated_at = now(),
		       failing_since = case when state = 'active' and url = coalesce($3, url) then failing_since end`

// details returns the fields for the audit log.
func (f Fields) details() map[string]any {
	details := map[string]any{}
	for name, value := range map[string]*string{"description": f.Description, "state": f.State} {
		if value != nil {
			details[name] = *value
		}
	}
	if f.URL != nil {
		details["url"] = shownURL(*f.URL)
	}
	if f.Types != nil {
		details["types"] = f.Types
	}
	if f.BatchSize != nil {
		details["batch_size"] = *f.BatchSize
	}
	return details
}

// ErrRotated reports that the secret was rotated after the caller has read the endpoint.
var ErrRotated = errors.New("the secret has already been rotated")

// Rotate gives an endpoint a new secret. Messages are also signed with the old one for Overlap. A message that is being
// sent is sent again with both. Rotate returns tenancy.ErrNotFound or the error of may.
func (s *Store) Rotate(ctx context.Context, tenant tenancy.ID, by tenancy.Actor, may Check, id int64) (Webhook, error) {
	return s.rotate(ctx, tenant, by, may, id, nil)
}

// RotateOnce is like Rotate if previous is the PreviousExpiresAt of the endpoint. Otherwise it returns ErrRotated.
func (s *Store) RotateOnce(
	ctx context.Context, tenant tenancy.ID, by tenancy.Actor, id int64, previous *time.Time,
) (Webhook, error) {
	return s.rotate(ctx, tenant, by, nil, id, func(before Webhook) error {
		at := before.PreviousExpiresAt
		if (at == nil) != (previous == nil) || at != nil && !at.Equal(*previous) {
			return ErrRotated
		}
		return nil
	})
}

func (s *Store) rotate(
	ctx context.Context, tenant tenancy.ID, by tenancy.Actor, may Check, id int64, check func(Webhook) error,
) (Webhook, error) {
	return s.run(ctx, tenant, by, id, change{action: "webhook.rotate", required: may, check: check, sql: `
		update webhooks
		   set previous_secret = secret, previous_expires_at = now() + $4::interval, secret = $3, updated_at = now(),
		       worker = null,
		       lease_until = case when lease_until > clock_timestamp()
		                          then least(lease_until, clock_timestamp() + $5::interval) end
		 where tenant_id = $1 and id = $2
		returning` + columns, args: []any{newSecret(), Overlap, interruption}})
}

// Replay makes an endpoint continue after a cursor, and ends a pause because of an expired one. The outcome of a
// message that is being sent is ignored, and messages get new ids. Replay returns feed.ErrExpired, tenancy.ErrNotFound
// or the error of may.
func (s *Store) Replay(
	ctx context.Context, tenant tenancy.ID, by tenancy.Actor, may Check, id int64, after feed.Cursor,
) (Webhook, error) {
	page, err := s.feed.Read(ctx, tenant, feed.Query{After: after, Limit: 1})
	if err != nil {
		return Webhook{}, err
	}
	if after == feed.Now {
		after = page.Next
	}
	return s.run(ctx, tenant, by, id, change{action: "webhook.replay", required: may, sql: `
		update webhooks
		   set delivered_to = $3, message_end = null, replays = replays + 1, attempts = 0, failing_since = null, worker = null,
		       lease_until = case when lease_until > clock_timestamp()
		                          then least(lease_until, clock_timestamp() + $4::interval) end,
		       next_attempt_at = clock_timestamp(),
		       state = case when pause_reason = 'expired' and not ` + makerExpired + ` then 'active' else state end,
		       paused_at = case when pause_reason <> 'expired' or ` + makerExpired + ` then paused_at end,
		       pause_reason = case when pause_reason <> 'expired' then pause_reason
		                           when ` + makerExpired + ` then 'maker_gone' end,
		       updated_at = now()
		 where tenant_id = $1 and id = $2
		returning` + columns, args: []any{after.String(tenant), interruption}})
}

// Delete deletes an endpoint. tenants.DeleteUnusedDeliveries deletes its deliveries. It returns tenancy.ErrNotFound.
func (s *Store) Delete(ctx context.Context, tenant tenancy.ID, by tenancy.Actor, id int64) error {
	_, err := s.run(ctx, tenant, by, id, change{
		action: "webhook.delete", sql: `delete from webhooks where tenant_id = $1 and id = $2 returning` + columns,
	})
	return err
}
