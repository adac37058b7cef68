package feed

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// waiter is a client that waits for entries after a position.
type waiter struct {
	after Cursor
	ready chan struct{} // closed when there are some
}

// ReadWaiting is Read, but waits up to a given time for an entry, without a connection. StopWaiting ends the wait.
func (s *Store) ReadWaiting(ctx context.Context, tenant tenancy.ID, q Query, wait time.Duration) (Page, error) {
	timeout := time.NewTimer(wait)
	defer timeout.Stop()
	for {
		page, err := s.Read(ctx, tenant, q)
		if err != nil || len(page.Entries) > 0 || page.HasMore {
			return page, err
		}
		q.After = page.Next
		w := s.add(tenant, page.Next)
		select {
		case <-w.ready:
			s.remove(tenant, w)
			continue
		case <-timeout.C:
		case <-s.stopped:
		case <-ctx.Done():
			err = ctx.Err()
		}
		s.remove(tenant, w)
		return page, err
	}
}

// StopWaiting ends all present and future waits.
func (s *Store) StopWaiting() { s.stop.Do(func() { close(s.stopped) }) }

func (s *Store) add(tenant tenancy.ID, after Cursor) *waiter {
	w := &waiter{after, make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting[tenant] == nil {
		s.waiting[tenant] = map[*waiter]struct{}{}
	}
	s.waiting[tenant][w] = struct{}{}
	return w
}

func (s *Store) remove(tenant tenancy.ID, w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting[tenant], w)
	if len(s.waiting[tenant]) == 0 {
		delete(s.waiting, tenant)
	}
}

// PollPeriodically wakes the clients that wait for entries, until ctx ends. It queries only while clients wait.
func (s *Store) PollPeriodically(ctx context.Context, logger *slog.Logger) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	problems := db.Problems{
		Begins: "clients that wait for changes get them late", Ends: "clients that wait for changes get them in time again",
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := s.pollAll(ctx); ctx.Err() == nil {
			problems.Report(ctx, logger, nil, err)
		}
	}
}

// pollAll polls all tenants with waiting clients. It returns one of the errors.
func (s *Store) pollAll(ctx context.Context) error {
	var polls errgroup.Group
	polls.SetLimit(parallelPolls)
	for _, tenant := range s.waitingTenants() {
		polls.Go(func() error { return s.poll(ctx, tenant) })
	}
	return polls.Wait()
}

func (s *Store) waitingTenants() []tenancy.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	tenants := make([]tenancy.ID, 0, len(s.waiting))
	for tenant := range s.waiting {
		tenants = append(tenants, tenant)
	}
	return tenants
}

const newest = `
select epoch, xid, seq
  from changes
 where tenant_id = $1 and (epoch, xid) < (` + current + `, ` + xmin + `)
 order by epoch desc, xid desc, seq desc
 limit 1`

// poll wakes the clients of a tenant if it has newer entries.
func (s *Store) poll(ctx context.Context, tenant tenancy.ID) error {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	found, err := db.All[struct{ Epoch, XID, Seq int64 }](ctx, s.db, tenant, newest, tenant)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range found {
		for w := range s.waiting[tenant] {
			if (Cursor{Epoch: p.Epoch, XID: p.XID, Seq: p.Seq}).IsAfterRow(w.after) {
				close(w.ready)
				delete(s.waiting[tenant], w)
			}
		}
	}
	return nil
}

// Waiting returns how many clients wait.
func (s *Store) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, waiters := range s.waiting {
		n += len(waiters)
	}
	return n
}
