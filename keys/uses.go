package keys

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

const (
	flushInterval = 2 * time.Second
	flushTimeout  = 5 * time.Second // per tenant
)

// uses holds the minute of the last use of each key until it is stored.
type uses struct {
	mu     sync.Mutex
	last   map[tenancy.ID]map[int64]time.Time
	stored map[int64]time.Time // the minutes that this instance has taken to store, by key
}

// Used records that a key is used now. Only the first use of a key in a minute is written,
// because a write per request would cost more than the request.
func (r *Resolver) Used(p *Principal) {
	r.uses.note(p.Tenant.ID, p.KeyID, time.Now().Truncate(time.Minute))
}

func (u *uses) note(tenant tenancy.ID, key int64, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !at.After(u.stored[key]) {
		return
	}
	if u.last == nil {
		u.last = map[tenancy.ID]map[int64]time.Time{}
	}
	if u.last[tenant] == nil {
		u.last[tenant] = map[int64]time.Time{}
	}
	if at.After(u.last[tenant][key]) {
		u.last[tenant][key] = at
	}
}

// take returns the recorded uses and removes them. They count as stored until putBack. now is the current minute: keys
// that were last used before it need not be remembered, because their next use is in a later minute.
func (u *uses) take(now time.Time) map[tenancy.ID]map[int64]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.DeleteFunc(u.stored, func(_ int64, at time.Time) bool { return at.Before(now) })
	last := u.last
	u.last = nil
	for _, keys := range last {
		if u.stored == nil {
			u.stored = map[int64]time.Time{}
		}
		maps.Copy(u.stored, keys)
	}
	return last
}

// putBack records the uses again that could not be stored.
func (u *uses) putBack(tenant tenancy.ID, last map[int64]time.Time) {
	u.mu.Lock()
	for key := range last {
		delete(u.stored, key)
	}
	u.mu.Unlock()
	for key, at := range last {
		u.note(tenant, key, at)
	}
}

// flushEachInterval writes the recorded uses until ctx ends.
func (r *Resolver) flushEachInterval(ctx context.Context) {
	tick := time.Tick(flushInterval)
	problems := db.Problems{Begins: "last uses of keys are not stored", Ends: "last uses of keys are stored again"}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
			problems.Report(ctx, r.logger, nil, r.flushUses(ctx))
		}
	}
}

// flushUses writes the recorded uses with one statement per tenant. After an error it
// records them again.
func (r *Resolver) flushUses(ctx context.Context) error {
	var failures []error
	for tenant, last := range r.uses.take(time.Now().Truncate(time.Minute)) {
		if err := writeUses(ctx, r.db, tenant, last); err != nil {
			failures = append(failures, fmt.Errorf("write last uses of tenant %d: %w", tenant, err))
			r.uses.putBack(tenant, last)
		}
	}
	return errors.Join(failures...)
}

// writeUses writes the uses of one tenant's keys. It locks only rows that change, in
// the order of their ids, so that instances that flush together do not deadlock.
func writeUses(ctx context.Context, db *db.DB, tenant tenancy.ID, last map[int64]time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	var ids []int64
	var times []time.Time
	for key, at := range last {
		ids, times = append(ids, key), append(times, at)
	}
	_, err := db.Exec(ctx, tenant, `
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
		 where k.tenant_id = $1 and k.id = due.id`, tenant, ids, times)
	return err
}
