package keys

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/storeroom/storeroom/tenancy"
)

const (
	flushInterval = time.Minute
	flushTimeout  = 5 * time.Second // per tenant
)

// use identifies a key that was used.
type use struct {
	tenant tenancy.ID
	key    int64
}

// uses holds the minute of the last use of each key until it is stored.
type uses struct {
	mu   sync.Mutex
	last map[use]time.Time
}

// Used records that a key is used now. All uses of a minute are written together,
// because a write per request would cost more than the request.
func (r *Resolver) Used(p *Principal) {
	r.uses.note(use{p.Tenant.ID, p.KeyID}, time.Now().Truncate(time.Minute))
}

func (u *uses) note(key use, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last == nil {
		u.last = map[use]time.Time{}
	}
	if at.After(u.last[key]) {
		u.last[key] = at
	}
}

// take returns the recorded uses and removes them.
func (u *uses) take() map[use]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	last := u.last
	u.last = nil
	return last
}

func (r *Resolver) flushEachMinute(ctx context.Context) {
	tick := time.NewTicker(flushInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := r.flushUses(ctx); err != nil {
				r.logger.WarnContext(ctx, "last uses of keys are not stored; the next try is in a minute", "error", err)
			}
		}
	}
}

// flushUses writes the recorded uses with one statement per tenant. After an error it
// records them again.
func (r *Resolver) flushUses(ctx context.Context) error {
	last := r.uses.take()
	byKey := func(a, b use) int { return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.key, b.key)) }
	sorted := slices.SortedFunc(maps.Keys(last), byKey)
	var failures []error
	for len(sorted) > 0 {
		n := slices.IndexFunc(sorted, func(u use) bool { return u.tenant != sorted[0].tenant })
		if n < 0 {
			n = len(sorted)
		}
		if err := writeUses(ctx, r.db, sorted[:n], last); err != nil {
			failures = append(failures, fmt.Errorf("write last uses of tenant %d: %w", sorted[0].tenant, err))
			for _, u := range sorted[:n] {
				r.uses.note(u, last[u])
			}
		}
		sorted = sorted[n:]
	}
	return errors.Join(failures...)
}

// writeUses writes the uses of one tenant's keys. It locks only rows that change, in
// the order of their ids, so that instances that flush together do not deadlock.
func writeUses(ctx context.Context, db *tenancy.DB, of []use, last map[use]time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	ids, times := make([]int64, len(of)), make([]time.Time, len(of))
	for i, u := range of {
		ids[i], times[i] = u.key, last[u]
	}
	_, err := db.Exec(ctx, of[0].tenant, `
		with due as (
			select k.id, u.used_at
			  from unnest($2::bigint[], $3::timestamptz[]) as u (id, used_at)
			  join api_keys k on k.tenant_id = $1 and k.id = u.id
			 where k.last_used_at is null or k.last_used_at < u.used_at
			 order by k.id
			   for no key update of k
		)
		update api_keys k
		   set last_used_at = due.used_at
		  from due
		 where k.tenant_id = $1 and k.id = due.id`, of[0].tenant, ids, times)
	return err
}
