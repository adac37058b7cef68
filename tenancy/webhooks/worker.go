package webhooks

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/feed"
)

const (
	maxWorkers   = 32               // half of them for endpoints whose last attempt failed
	turn         = 10 * time.Second // after which others may have the worker
	queryTimeout = 10 * time.Second
)

// errLost reports that the endpoint was changed or given to another worker in the meantime.
var errLost = errors.New("the endpoint has another worker")

// errStopped reports that Shutdown was called before a message was sent.
var errStopped = errors.New("the delivery is stopped")

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

// key identifies the endpoint in the log of problems.
func (c claim) key() [2]int64 { return [2]int64{int64(c.Tenant), c.Webhook} }

// Start delivers changes in the background until ctx or Close ends it.
func (s *Store) Start(ctx context.Context, encode Encode, logger *slog.Logger) {
	s.workers.Go(func() { s.deliverPeriodically(ctx, recovered(encode), logger) })
}

// deliverPeriodically begins with few workers, so that instances do not send everything at once after an outage.
func (s *Store) deliverPeriodically(ctx context.Context, encode Encode, logger *slog.Logger) {
	ended := make(chan claim, maxWorkers)
	tick := time.NewTimer(rand.N(s.timing.poll))
	running, failing, limit, isFull := 0, 0, 2, false
	problems := db.Problems{Begins: "webhooks are delivered late", Ends: "webhooks are delivered in time again"}
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
		if ctx.Err() == nil {
			problems.Report(ctx, logger, nil, err)
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
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
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
		found, err := db.Call[struct {
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
	requests, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.interrupted, cancel)()
	err := s.deliver(ctx, requests, c, encode, logger)
	pause := time.Duration(0)
	if ctx.Err() == nil && !s.isStopped() && !errors.Is(err, errLost) {
		pause = 5*time.Second + rand.N(10*time.Second)
		s.late.Report(ctx, logger, c.key(), err, "tenant_id", c.Tenant, "webhook", c.Webhook)
	}
	if err == nil {
		return
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
			if !c.HasFailed {
				logger.WarnContext(ctx, "a webhook is delivered late", "tenant_id", c.Tenant, "webhook", c.Webhook,
					"error", next.failed)
			}
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
		if s.isStopped() { // since the claim, or while the message was made
			return errStopped
		}
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
		w, err = db.One[Webhook](ctx, s.db, c.Tenant, `
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
