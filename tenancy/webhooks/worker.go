package webhooks

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"math"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/feed"
	"github.com/storeroom/storeroom/tenancy/jobs"
)

const (
	maxWorkers   = 32               // half of them for endpoints whose last attempt failed
	turn         = 10 * time.Second // after which others may have the worker
	queryTimeout = 10 * time.Second
	// choiceLease is how long an instance that is killed while it chooses an endpoint delays the tenant.
	choiceLease = 2 * queryTimeout

	tenantWorkers = 4 // across all instances
	tenantFailing = 2 // of these, for endpoints whose last attempt failed
	busyPause     = time.Second
	failingPause  = 30 * time.Second
	changePause   = time.Minute
)

// errLost reports that the endpoint was changed or given to another worker in the meantime.
var errLost = errors.New("the endpoint has another worker")

// errStopped reports that the instance began to stop before a message was sent.
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
	endpoint  Webhook
}

// key identifies the endpoint in the log of problems.
func (c claim) key() [2]int64 { return [2]int64{int64(c.Tenant), c.Webhook} }

// Worker returns the worker that delivers changes. A job claims an endpoint of its tenant. While it delivers to it, the
// tenant can have other jobs.
func (s *Store) Worker(encode Encode) jobs.Kind {
	encode = recovered(encode)
	return jobs.Kind{
		Task: "webhooks", Parts: s.db.Parts, Parallel: maxWorkers, Poll: s.timing.poll, Lease: choiceLease,
		Retry: defaultTiming.pause, Claimed: recordClaim,
		Do: func(ctx context.Context, job *jobs.Job) (again time.Duration, err error) {
			c, again, err := s.claim(ctx, job.Tenant)
			if c != nil {
				job.Then = func(ctx context.Context) error {
					s.work(ctx, job, *c, encode)
					return nil
				}
			}
			return again, err
		},
	}
}

// candidate is an active endpoint.
type candidate struct {
	ID          int64
	DeliveredTo string
	HasFailed   bool
	IsLocked    bool           // by a request
	Next        time.Duration  // until its next attempt
	LeaseEnd    time.Duration  // until then, or 0 without a lease
	MakerEnd    *time.Duration // until the maker expires
	Changed     time.Duration  // since a request changed it
}

// claim leases the endpoint of a tenant that waits for the longest time, or returns nil. It also returns when the
// tenant is due again. The caller has the tenant, so no other worker claims its endpoints meanwhile.
func (s *Store) claim(ctx context.Context, tenant tenancy.ID) (c *claim, again time.Duration, err error) {
	var found []candidate
	var newest []feed.Cursor
	var leased []Webhook
	var chosen *candidate
	var worker [16]byte
	_, _ = cryptorand.Read(worker[:])
	giveBack := func() {
		if chosen != nil && chosen.HasFailed {
			<-s.failing
		}
	}
	err = s.query(ctx, func(ctx context.Context) error {
		return s.db.Update(ctx, tenant, func(b *pgx.Batch) {
			db.QueueRows(b, &found, `
				with free as materialized (
					select id
					  from webhooks
					 where tenant_id = $1 and state = 'active'
					   and (lease_until is null or lease_until <= clock_timestamp())
					   for no key update skip locked
				)
				select id, delivered_to, attempts > 0 as has_failed, id not in (select id from free) as is_locked,
				       next_attempt_at - clock_timestamp() as next, maker_expires_at - clock_timestamp() as maker_end,
				       greatest(lease_until - clock_timestamp(), '0') as lease_end,
				       clock_timestamp() - updated_at as changed
				  from webhooks
				 where tenant_id = $1 and state = 'active'
				 order by last_attempt_at nulls first, id`, tenant)
			db.QueueRows(b, &newest, `
				select epoch, xid, seq, 0::bigint as position, 0 as type, at as time
				  from changes
				 where tenant_id = $1
				 order by epoch desc, xid desc, seq desc
				 limit 1`, tenant)
		}, func(b *pgx.Batch) error {
			if len(newest) == 0 {
				newest = append(newest, feed.Start)
			}
			giveBack() // what it chose in the transaction that this one repeats
			var expired []int64
			chosen, expired, again = choose(tenant, found, newest[0], s.takeFailing)
			if len(expired) > 0 {
				b.Queue(pauseExpired, tenant, expired, interruption)
			}
			if chosen != nil {
				db.QueueRows(b, &leased, `
					update webhooks
					   set worker = $3, lease_until = clock_timestamp() + $4::interval
					 where tenant_id = $1 and id = $2 and state = 'active'
					   and (lease_until is null or lease_until <= clock_timestamp())
					returning`+columns, tenant, chosen.ID, worker, s.timing.lease)
			}
			return nil
		})
	})
	if err == nil && len(leased) > 0 {
		return &claim{tenant, chosen.ID, chosen.HasFailed, worker, leased[0]}, again, nil
	}
	giveBack()
	if err != nil {
		again = errorPause()
	}
	return nil, again, err
}

const pauseExpired = `
	update webhooks
	   set state = 'paused', pause_reason = 'maker_gone', paused_at = now(), message_end = null, worker = null,
	       updated_at = now(),
	       lease_until = case when lease_until > clock_timestamp()
	                          then least(lease_until, clock_timestamp() + $3::interval) end
	 where tenant_id = $1 and id = any ($2)`

// takeFailing reserves a worker for an endpoint whose last attempt failed, until <-s.failing.
func (s *Store) takeFailing() bool {
	select {
	case s.failing <- struct{}{}:
		return true
	default:
		return false
	}
}

// choose returns the endpoint that gets a worker, or nil, those whose maker has expired, and when the tenant is due
// again. An endpoint is due at its next attempt, or before if it has not failed and the newest change is after its
// position. A transaction that began before an endpoint was active does not queue the tenant when it commits, so the
// tenant is due again a minute after a change of the endpoint.
func choose(
	tenant tenancy.ID, found []candidate, newest feed.Cursor, takeFailing func() bool,
) (chosen *candidate, expired []int64, again time.Duration) {
	again = math.MaxInt64
	visit := func(after time.Duration) { again = min(again, max(0, after)) }
	var due []candidate
	running, failing := 0, 0
	for _, e := range found {
		position, err := feed.ParseCursor(tenant, e.DeliveredTo)
		isBehind := err != nil || newest.IsAfterRow(position)
		if e.MakerEnd != nil {
			if *e.MakerEnd <= 0 {
				expired = append(expired, e.ID)
				continue
			}
			visit(*e.MakerEnd)
		}
		if e.Changed < changePause {
			visit(changePause - e.Changed)
		}
		switch {
		case e.LeaseEnd > 0:
			if running++; e.HasFailed {
				failing++
			}
			if visit(e.LeaseEnd); isBehind { // its worker may not read the newest change
				visit(busyPause)
			}
		case e.Next > 0 && (e.HasFailed || !isBehind):
			visit(e.Next)
		case e.IsLocked:
			visit(busyPause)
		default:
			due = append(due, e)
		}
	}
	for _, e := range due {
		switch {
		case running >= tenantWorkers:
			visit(busyPause)
		case e.HasFailed && failing >= tenantFailing:
			visit(failingPause + rand.N(failingPause))
		case chosen != nil:
			visit(0)
		case e.HasFailed && !takeFailing():
			visit(failingPause + rand.N(failingPause))
		default:
			if chosen, running = &e, running+1; e.HasFailed {
				failing++
			}
		}
	}
	if again == math.MaxInt64 {
		again = jobs.Done
	}
	return chosen, expired, again
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

// errorPause is how long an endpoint waits after an error of the database.
func errorPause() time.Duration { return 5*time.Second + rand.N(10*time.Second) }

// work delivers messages to an endpoint for a turn, and releases it.
func (s *Store) work(ctx context.Context, job *jobs.Job, c claim, encode Encode) {
	if c.HasFailed {
		defer func() { <-s.failing }()
	}
	err := s.deliver(ctx, job, c, encode)
	pause := time.Duration(0)
	if ctx.Err() == nil && !job.IsStopping() && !errors.Is(err, errLost) {
		pause = errorPause()
		s.late.Report(ctx, job.Logger, c.key(), err, "tenant_id", c.Tenant, "webhook", c.Webhook)
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

// deliver sends messages until there is none, one fails, or the turn ends.
func (s *Store) deliver(ctx context.Context, job *jobs.Job, c claim, encode Encode) error {
	w := c.endpoint
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
				job.Logger.WarnContext(ctx, "a webhook is delivered late", "tenant_id", c.Tenant, "webhook", c.Webhook,
					"error", next.failed)
			}
			return s.fail(ctx, c, w, next.message.Delivery)
		} else if next.failed != nil {
			return next.failed
		}
		before := w.DeliveredTo
		w.DeliveredTo = next.after
		isLast := func() bool { return !next.hasMore || time.Now().After(end) || job.IsStopping() }
		if next.message == nil {
			if isLast() {
				return s.release(ctx, c, w, nil, next.pause())
			}
			continue
		}
		s.waitInterval(ctx, w)
		if job.IsStopping() { // since the claim, or while the message was made
			return errStopped
		}
		sent := time.Now()
		d := s.send(ctx, w, *next.message)
		switch {
		case !d.Succeeded && ctx.Err() != nil:
			return ctx.Err()
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
