package webhooks

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

const maxPause = time.Hour

// Delivery is an attempt to deliver a message.
type Delivery struct {
	ID        int64
	At        time.Time
	MessageID string
	Type      string
	Entries   int
	FirstSeq  *string
	LastSeq   *string
	Attempt   int
	Succeeded bool
	Status    *int // nil without a response
	Error     *string
	LatencyMs int
	Response  string // its start, unless the receiver accepted changes
}

const deliveryColumns = `
	id, at, message_id, type, entries, first_seq, last_seq, attempt, succeeded, status, error, latency_ms, response`

// readDeliveries reads only the four partitions with deliveries of the last 30 days, and stops at the limit.
const readDeliveries = `
select` + deliveryColumns + `
  from (
       select *
         from webhook_deliveries
        where tenant_id = $1
          and webhook_id = $2
          and id < coalesce($3, 9223372036854775807)
          and slot in (((now() at time zone 'UTC')::date - date '2000-01-01') / 10 % 6,
                       ((now() at time zone 'UTC')::date - date '2000-01-11') / 10 % 6,
                       ((now() at time zone 'UTC')::date - date '2000-01-21') / 10 % 6,
                       ((now() at time zone 'UTC')::date - date '2000-01-31') / 10 % 6)
        order by id desc
        limit $4
       ) d
 where at > now() - $5::interval
 order by id desc`

// Deliveries returns the deliveries of an endpoint before a given one, or the newest, the newest first. It returns
// tenancy.ErrNotFound.
func (s *Store) Deliveries(
	ctx context.Context, tenant tenancy.ID, id int64, before *int64, limit int,
) (found []Delivery, err error) {
	var exists []struct{ ID int64 }
	err = s.db.Read(ctx, tenant, func(b *pgx.Batch) {
		db.QueueRows(b, &exists, `select id from webhooks where tenant_id = $1 and id = $2`, tenant, id)
		db.QueueRows(b, &found, readDeliveries, tenant, id, before, limit, Retention)
	})
	if err == nil && len(exists) == 0 {
		err = tenancy.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("deliveries of webhook %d: %w", id, err)
	}
	return found, nil
}

// advance stores an accepted message and the position after it.
func (s *Store) advance(ctx context.Context, c claim, w Webhook, d Delivery) error {
	return s.record(ctx, c, &d, `
		update webhooks
		   set delivered_to = $4, message_end = null, attempts = 0, failing_since = null,
		       last_attempt_at = clock_timestamp()
		 where tenant_id = $1 and id = $2 and worker = $3
		returning id`, c.Tenant, c.Webhook, c.worker, w.DeliveredTo)
}

// release is advance, also without a message, and ends the claim; the endpoint is due again after the pause. Without a
// message and a pause, a failed message is still to be sent.
func (s *Store) release(ctx context.Context, c claim, w Webhook, d *Delivery, pause time.Duration) error {
	return s.record(ctx, c, d, `
		update webhooks
		   set delivered_to = $4, message_end = case when not $7 then message_end end,
		       attempts = case when $7 then 0 else attempts end,
		       failing_since = case when not $5 then failing_since end,
		       last_attempt_at = case when $5 then clock_timestamp() else last_attempt_at end,
		       worker = null, lease_until = null, next_attempt_at = clock_timestamp() + $6::interval
		 where tenant_id = $1 and id = $2 and worker = $3
		returning id`, c.Tenant, c.Webhook, c.worker, w.DeliveredTo, d != nil, pause,
		d != nil || pause > 0)
}

// fail stores a failed delivery, the position before it and the time of the next attempt, or pauses the endpoint.
func (s *Store) fail(ctx context.Context, c claim, w Webhook, d Delivery) error {
	switch {
	case d.Status != nil && *d.Status == 410:
		return s.pause(ctx, c, Gone, &d)
	case w.FailingSince != nil && time.Since(*w.FailingSince) > s.timing.giveUp:
		return s.pause(ctx, c, Failing, &d)
	}
	most := min(s.timing.pause<<min(w.Attempts, 20), maxPause)
	pause := s.timing.pause/5 + rand.N(most)
	return s.record(ctx, c, &d, `
		update webhooks
		   set delivered_to = $6, message_end = $4, attempts = attempts + 1,
		       failing_since = coalesce(failing_since, clock_timestamp()),
		       last_attempt_at = clock_timestamp(), worker = null, lease_until = null,
		       next_attempt_at = clock_timestamp() + $5::interval
		 where tenant_id = $1 and id = $2 and worker = $3
		returning id`, c.Tenant, c.Webhook, c.worker, d.LastSeq, pause, w.DeliveredTo)
}

// pause pauses an endpoint.
func (s *Store) pause(ctx context.Context, c claim, reason string, d *Delivery) error {
	recordPause(ctx, reason)
	return s.record(ctx, c, d, `
		update webhooks
		   set state = 'paused', pause_reason = $4, paused_at = now(), message_end = null, worker = null,
		       lease_until = null
		 where tenant_id = $1 and id = $2 and worker = $3
		returning id`, c.Tenant, c.Webhook, c.worker, reason)
}

// record stores a delivery and changes its endpoint. It returns errLost.
func (s *Store) record(ctx context.Context, c claim, d *Delivery, sql string, args ...any) error {
	var changed []struct{ ID int64 }
	err := s.query(context.WithoutCancel(ctx), func(ctx context.Context) error {
		return s.db.Run(ctx, c.Tenant, func(b *pgx.Batch) {
			if d != nil {
				queueDelivery(b, c.Tenant, c.Webhook, *d, new([]Delivery))
			}
			db.QueueRows(b, &changed, sql, args...)
		})
	})
	if err == nil && len(changed) == 0 {
		err = errLost
	}
	return err
}

// Test sends a message without entries now, to the URL that the endpoint has with the types that may allows, and returns
// its delivery. It returns tenancy.ErrNotFound or the error of may.
func (s *Store) Test(ctx context.Context, tenant tenancy.ID, may Check, id int64) (Delivery, error) {
	w, err := s.Get(ctx, tenant, id)
	if err == nil {
		err = may.of(w.Types)
	}
	if err != nil {
		return Delivery{}, err
	}
	m := message{
		body:     encodeMessage("test", time.Now(), nil),
		Delivery: Delivery{MessageID: messageID(tenant, id, "test", cryptorand.Text()), Type: "test", Attempt: 1},
	}
	d := s.send(ctx, w, m)
	var stored []Delivery
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), queryTimeout)
	defer cancel()
	err = s.db.Run(ctx, tenant, func(b *pgx.Batch) { queueDelivery(b, tenant, id, d, &stored) })
	if err == nil && len(stored) == 0 {
		err = tenancy.ErrNotFound
	}
	if err != nil {
		return d, fmt.Errorf("test of webhook %d: %w", id, err)
	}
	return stored[0], nil
}

// queueDelivery adds a delivery to a batch, unless the endpoint has been deleted.
func queueDelivery(b *pgx.Batch, tenant tenancy.ID, id int64, d Delivery, stored *[]Delivery) {
	db.QueueRows(b, stored, `
		insert into webhook_deliveries (tenant_id, webhook_id, message_id, type, entries, first_seq, last_seq, attempt,
		                                succeeded, status, error, latency_ms, response)
		select w.tenant_id, w.id, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13
		  from webhooks w
		 where w.tenant_id = $1 and w.id = $2
		   for key share
		returning`+deliveryColumns, tenant, id, d.MessageID, d.Type, d.Entries, d.FirstSeq, d.LastSeq, d.Attempt,
		d.Succeeded, d.Status, d.Error, d.LatencyMs, d.Response)
}

// EraseResponses empties the stored responses of receivers, which may repeat what was sent to them: nothing shows where
// a response has personal data.
func EraseResponses(ctx context.Context, db *db.DB, tenant tenancy.ID) error {
	_, err := db.Exec(ctx, tenant, `
		update webhook_deliveries
		   set response = ''
		 where tenant_id = $1 and type = 'changes' and response <> ''`, tenant)
	if err != nil {
		return fmt.Errorf("erase the responses of receivers: %w", err)
	}
	return nil
}

// DeleteOld empties the partition of deliveries that are older than the retention.
func (s *Store) DeleteOld(ctx context.Context) error {
	type emptied struct{ Partitions int }
	parts, err := s.db.Parts(ctx)
	for _, part := range parts {
		_, failed := db.Call[emptied](ctx, part, `select empty_old_webhook_deliveries() as partitions`)
		err = errors.Join(err, failed)
	}
	if err != nil {
		return fmt.Errorf("delete old deliveries: %w", err)
	}
	return nil
}
