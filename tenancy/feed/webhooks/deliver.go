package webhooks

import (
	"bytes"
	"context"
	cryptorand "crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/feed"
)

const (
	maxWorkers   = 32               // half of them for endpoints whose last attempt failed
	turn         = 10 * time.Second // after which others may have the worker
	queryTimeout = 10 * time.Second
	maxPause     = time.Hour
	idlePause    = 20 * time.Hour // renews the cursor of an endpoint without changes before it expires

	deleteInterval = time.Hour
)

// unreadable is the error of a delivery that was not sent.
const unreadable = "Storeroom could not read the objects of this message. It tries again."

// errLost reports that the endpoint was changed or given to another worker in the meantime.
var errLost = errors.New("the endpoint has another worker")

// Encode returns at least the first entry as GET /api/changes has it, with or without the names of customers.
type Encode func(
	ctx context.Context, tenant tenancy.ID, names bool, entries []feed.Entry,
) ([]json.RawMessage, error)

// timing has the times that tests shorten.
type timing struct {
	poll     time.Duration // between claims
	lease    time.Duration // longer than a turn, a request, and the queries before and after them
	interval time.Duration // between messages to an endpoint
	pause    time.Duration // after the first failure
	giveUp   time.Duration // failures for so long pause an endpoint
}

var defaultTiming = timing{time.Second, time.Minute, 100 * time.Millisecond, 5 * time.Second, 72 * time.Hour}

// claim is an endpoint that a worker has claimed.
type claim struct {
	Tenant    tenancy.ID
	Webhook   int64
	HasFailed bool // its last attempt
	worker    [16]byte
}

// Start delivers changes in the background until ctx or Close ends it.
func (s *Store) Start(ctx context.Context, encode Encode, logger *slog.Logger) {
	s.workers.Go(func() { s.deliverPeriodically(ctx, encode, logger) })
}

// deliverPeriodically begins with few workers, so that instances do not send everything at once after an outage.
func (s *Store) deliverPeriodically(ctx context.Context, encode Encode, logger *slog.Logger) {
	ended := make(chan claim, maxWorkers)
	tick := time.NewTimer(rand.N(s.timing.poll))
	running, failing, limit, isFull := 0, 0, 2, false
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.stopped:
			return
		case c := <-ended:
			running--
			if c.HasFailed {
				failing--
			}
			if !isFull || limit-running < max(1, limit/4) {
				continue
			}
		case <-tick.C:
			tick.Reset(s.timing.poll)
			limit = min(limit+2, maxWorkers)
		}
		if running >= limit || s.isStopped() {
			continue
		}
		claims, err := s.claim(ctx, limit-running, limit/2-failing)
		if err != nil && ctx.Err() == nil {
			logger.WarnContext(ctx, "webhooks are delivered late", "error", err)
		}
		if err != nil && len(claims) == 0 {
			limit = 2
		}
		isFull = len(claims) == limit-running
		for _, c := range claims {
			running++
			if c.HasFailed {
				failing++
			}
			s.workers.Go(func() {
				s.work(ctx, c, encode, logger)
				ended <- c
			})
		}
	}
}

// Shutdown claims no more endpoints, and waits for the messages that are being sent until ctx ends.
func (s *Store) Shutdown(ctx context.Context) error {
	s.stop.Do(func() { close(s.stopped) })
	ended := make(chan struct{})
	go func() {
		s.workers.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends the delivery. It interrupts requests, without counting them as failures, and waits for the workers.
func (s *Store) Close() {
	s.interrupt()
	_ = s.Shutdown(context.Background())
}

// claim leases and returns up to most endpoints that are due, up to mostFailing of them after a failed attempt. If it
// cannot reach all nodes of a cluster, it returns the endpoints of the others and an error.
func (s *Store) claim(ctx context.Context, most, mostFailing int) ([]claim, error) {
	ctx, cancel := context.WithTimeout(tenancy.InBackground(ctx), queryTimeout)
	defer cancel()
	parts, failed := s.parts(ctx)
	if failed != nil {
		recordClaim(ctx, failed)
	}
	var all []claim
	for _, part := range parts {
		if len(all) >= most {
			break
		}
		var worker [16]byte
		_, _ = cryptorand.Read(worker[:])
		found, err := tenancy.Call[struct {
			Tenant    tenancy.ID
			Webhook   int64
			HasFailed bool
		}](ctx, part, `select tenant, webhook, has_failed from claim_webhooks($1, $2, $3, $4)`,
			worker, int(s.timing.lease.Seconds()), most-len(all), mostFailing)
		recordClaim(ctx, err)
		failed = errors.Join(failed, err)
		for _, c := range found {
			all = append(all, claim{c.Tenant, c.Webhook, c.HasFailed, worker})
			if c.HasFailed {
				mostFailing--
			}
		}
	}
	if failed != nil {
		return all, fmt.Errorf("claim webhooks: %w", failed)
	}
	return all, nil
}

// query calls f in a slot of s.queries, so that workers leave most connections to requests. It first waits for slots of
// before, and waits at most half of queryTimeout in total.
func (s *Store) query(ctx context.Context, f func(context.Context) error, before ...chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	wait, stop := context.WithTimeout(ctx, queryTimeout/2)
	defer stop()
	for _, slots := range append(before, s.queries) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		case <-wait.Done():
			return wait.Err()
		}
	}
	return f(ctx)
}

// work delivers messages to an endpoint for a turn, and releases it.
func (s *Store) work(ctx context.Context, c claim, encode Encode, logger *slog.Logger) {
	ctx = tenancy.InBackground(ctx)
	requests, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.interrupted, cancel)()
	err := s.deliver(ctx, requests, c, encode, logger)
	if err == nil {
		return
	}
	pause := time.Duration(0)
	if ctx.Err() == nil && !s.isStopped() && !errors.Is(err, errLost) {
		pause = 5*time.Second + rand.N(10*time.Second)
		logger.WarnContext(ctx, "a webhook is delivered late", "tenant", c.Tenant, "webhook", c.Webhook, "error", err)
	}
	// A change of the endpoint may have ended the claim, but not the lease.
	_ = s.query(context.WithoutCancel(ctx), func(ctx context.Context) error {
		_, err := s.db.Exec(ctx, c.Tenant, `
			update webhooks
			   set worker = null, lease_until = null, next_attempt_at = clock_timestamp() + $4::interval
			 where tenant_id = $1 and id = $2 and (worker = $3 or worker is null and lease_until is not null)`,
			c.Tenant, c.Webhook, c.worker, pause)
		return err
	})
}

func (s *Store) isStopped() bool {
	select {
	case <-s.stopped:
		return true
	default:
		return false
	}
}

// deliver sends messages until there is none, one fails, or the turn ends.
func (s *Store) deliver(ctx, requests context.Context, c claim, encode Encode, logger *slog.Logger) error {
	w, err := s.read(ctx, c)
	if err != nil {
		return err
	}
	for end := time.Now().Add(turn); ; {
		next, err := s.next(ctx, c.Tenant, w, encode)
		if errors.Is(err, feed.ErrExpired) {
			return s.pause(ctx, c, Expired, nil)
		}
		if err != nil {
			return err
		}
		if next.failed != nil && ctx.Err() == nil {
			logger.WarnContext(ctx, "a webhook is delivered late", "tenant", c.Tenant, "webhook", c.Webhook,
				"error", next.failed)
			return s.fail(ctx, c, w, next.message.Delivery)
		} else if next.failed != nil {
			return next.failed
		}
		before := w.DeliveredTo
		w.DeliveredTo = next.after
		isLast := func() bool { return !next.hasMore || time.Now().After(end) || s.isStopped() }
		if next.message == nil {
			if isLast() {
				return s.release(ctx, c, w, nil, next.pause())
			}
			continue
		}
		s.waitInterval(requests, w)
		sent := time.Now()
		d := s.send(requests, w, *next.message)
		switch {
		case !d.Succeeded && requests.Err() != nil:
			return requests.Err()
		case !d.Succeeded:
			w.DeliveredTo = before
			return s.fail(ctx, c, w, d)
		}
		if w.hasWaitedFor(next.oldest) {
			recordLag(ctx, next.oldest)
		}
		if isLast() {
			return s.release(ctx, c, w, &d, next.pause())
		}
		if err := s.advance(ctx, c, w, d); err != nil {
			return err
		}
		w.Attempts, w.MessageEnd, w.FailingSince, w.LastAttemptAt = 0, nil, nil, &sent
	}
}

// hasWaitedFor reports whether the endpoint was ready for a change when it was made. Changes that are replayed or were
// made during a pause do not count as lag.
func (w Webhook) hasWaitedFor(at time.Time) bool { return !at.Before(w.UpdatedAt) }

// read returns the endpoint of a claim. It returns errLost.
func (s *Store) read(ctx context.Context, c claim) (w Webhook, err error) {
	err = s.query(ctx, func(ctx context.Context) error {
		w, err = tenancy.One[Webhook](ctx, s.db, c.Tenant, `
			select`+columns+`
			  from webhooks
			 where tenant_id = $1 and id = $2 and worker = $3 and state = 'active'`, c.Tenant, c.Webhook, c.worker)
		return err
	})
	if errors.Is(err, tenancy.ErrNotFound) {
		err = errLost
	}
	return w, err
}

// waitInterval waits until an endpoint may get the next message, so that messages of one entry do not occupy the
// workers, the database and the disk.
func (s *Store) waitInterval(ctx context.Context, w Webhook) {
	if w.LastAttemptAt == nil {
		return
	}
	select {
	case <-time.After(min(time.Until(w.LastAttemptAt.Add(s.timing.interval)), s.timing.interval)):
	case <-ctx.Done():
	}
}

// step is what an endpoint gets next.
type step struct {
	message *message // nil if no entry may be read yet
	after   string   // the cursor after it
	oldest  time.Time
	hasMore bool
	heldAt  *time.Time
	failed  error // why there is no body
}

// pause returns how long an endpoint need not be visited unless something changes. Nothing reports when a held entry
// may be read, so the younger the entry, the shorter the pause.
func (s step) pause() time.Duration {
	switch {
	case s.hasMore:
		return 0
	case s.heldAt != nil:
		return min(max(time.Since(*s.heldAt)/2, time.Second/2), 30*time.Second)
	}
	return idlePause + rand.N(4*time.Hour)
}

// next makes the next message. A retry has the same entries. Slow messages of a tenant wait for each other, so that
// other tenants and the outcomes of messages can use the remaining queries.
func (s *Store) next(ctx context.Context, tenant tenancy.ID, w Webhook, encode Encode) (is step, err error) {
	slots, done := s.shares.of(tenant)
	defer done()
	err = s.query(ctx, func(ctx context.Context) error {
		is, err = s.readNext(ctx, tenant, w, encode)
		return err
	}, slots)
	return is, err
}

// shares limits the queries that workers send at the same time for the messages of each tenant.
type shares struct {
	each    int
	mu      sync.Mutex
	tenants map[tenancy.ID]*share
}

type share struct {
	slots chan struct{}
	users int
}

// of returns the slots of a tenant until done is called.
func (s *shares) of(tenant tenancy.ID) (slots chan struct{}, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := s.tenants[tenant]
	if is == nil {
		is = &share{slots: make(chan struct{}, s.each)}
		s.tenants[tenant] = is
	}
	is.users++
	return is.slots, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if is.users--; is.users == 0 {
			delete(s.tenants, tenant)
		}
	}
}

func (s *Store) readNext(ctx context.Context, tenant tenancy.ID, w Webhook, encode Encode) (step, error) {
	after, err := feed.ParseCursor(tenant, w.DeliveredTo)
	if err != nil {
		return step{}, fmt.Errorf("position of webhook %d: %w", w.ID, err)
	}
	page, err := s.feed.Read(ctx, tenant, feed.Query{
		After: after, IsStored: true, Types: w.Types, Limit: w.BatchSize,
	})
	if err != nil {
		return step{}, err
	}
	is := step{after: page.Next.String(tenant), hasMore: page.HasMore, heldAt: page.HeldAt}
	entries := page.Entries
	if len(entries) == 0 {
		return is, nil
	}
	if w.MessageEnd != nil {
		isEnd := func(e feed.Entry) bool { return e.At.String(tenant) == *w.MessageEnd }
		if i := slices.IndexFunc(entries, isEnd); i >= 0 {
			entries = entries[:i+1]
		}
	}
	texts, err := encode(ctx, tenant, slices.Contains(w.Types, "customer"), entries)
	if err == nil && len(texts) == 0 {
		err = errors.New("there is no text")
	}
	if err != nil {
		is.failed = fmt.Errorf("encode changes: %w", err)
		is.message = &message{Delivery: deliveryOf(tenant, w, entries)}
		is.message.Error = new(unreadable)
		return is, nil
	}
	if entries = entries[:len(texts)]; len(entries) < len(page.Entries) {
		is.after, is.hasMore = entries[len(entries)-1].At.String(tenant), true
	}
	is.oldest = entries[0].Time
	is.message = &message{
		body:     encodeMessage("changes", entries[len(entries)-1].Time, texts),
		Delivery: deliveryOf(tenant, w, entries),
	}
	return is, nil
}

// deliveryOf returns the next attempt to deliver entries.
func deliveryOf(tenant tenancy.ID, w Webhook, entries []feed.Entry) Delivery {
	first, last := entries[0].At.String(tenant), entries[len(entries)-1].At.String(tenant)
	return Delivery{
		MessageID: messageID(tenant, w.ID, first, last, fmt.Sprint(w.Replays)), Type: "changes",
		Entries: len(entries), FirstSeq: &first, LastSeq: &last, Attempt: w.Attempts + 1,
	}
}

// messageID returns an id that is the same for the same parts.
func messageID(tenant tenancy.ID, id int64, parts ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %s", tenant, id, strings.Join(parts, " ")))
	return "msg_" + base64.RawURLEncoding.EncodeToString(sum[:18])
}

func encodeMessage(kind string, at time.Time, entries []json.RawMessage) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"type":%q,"timestamp":%q,"data":[`, kind, at.UTC().Format("2006-01-02T15:04:05.000000Z"))
	for i, text := range entries {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(text)
	}
	b.WriteString("]}")
	return b.Bytes()
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
			tenancy.QueueRows(b, &changed, sql, args...)
		})
	})
	if err == nil && len(changed) == 0 {
		err = errLost
	}
	return err
}

// Test sends a message without entries now, and returns its delivery. It returns tenancy.ErrNotFound.
func (s *Store) Test(ctx context.Context, tenant tenancy.ID, id int64) (Delivery, error) {
	w, err := s.Get(ctx, tenant, id)
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

// DeleteOldPeriodically deletes old deliveries, now and after each interval, until ctx ends.
func (s *Store) DeleteOldPeriodically(ctx context.Context, logger *slog.Logger) {
	tenancy.Repeat(ctx, deleteInterval, logger, func() error { return s.DeleteOld(ctx) })
}

// DeleteOld empties the partition of deliveries that are older than the retention.
func (s *Store) DeleteOld(ctx context.Context) error {
	type emptied struct{ Partitions int }
	parts, err := s.db.Parts(ctx)
	for _, part := range parts {
		_, failed := tenancy.Call[emptied](ctx, part, `select empty_old_webhook_deliveries() as partitions`)
		err = errors.Join(err, failed)
	}
	if err != nil {
		return fmt.Errorf("delete old deliveries: %w", err)
	}
	return nil
}
