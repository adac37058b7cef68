package keys

import (
	"context"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"
	"golang.org/x/sync/singleflight"

	"github.com/storeroom/storeroom/tenancy"
)

const (
	// maxLookups bounds how many keys are looked up in PostgreSQL at once, so that
	// a flood of guesses leaves connections to those who have keys.
	maxLookups   = 16
	lookupWithin = 2 * time.Second
)

// Principal is who holds a key. It is shared between requests and must not be
// changed. Whether the tenant is suspended is for the caller to judge.
type Principal struct {
	Tenant      tenancy.Tenant
	KeyID       int64
	KeyName     string
	Permissions Permissions
	ExpiresAt   *time.Time
}

// Resolver tells whose a key is. It is safe for concurrent use.
type Resolver struct {
	db      *tenancy.DB
	peppers Peppers
	logger  *slog.Logger

	cache   *cache
	flights singleflight.Group
	slots   chan struct{}
	misses  atomic.Uint64
	uses    uses

	observed metric.Registration
	running  context.Context // until Close
	close    context.CancelFunc
	tasks    sync.WaitGroup
}

// Open starts a Resolver. listenURL names the same database for a connection of
// its own, which must not go through a pooler; the URL may be that of db where
// there is none. Only a malformed URL is an error: while PostgreSQL does not
// answer the listener goes on trying.
func Open(ctx context.Context, db *tenancy.DB, listenURL string, peppers Peppers, logger *slog.Logger) (*Resolver, error) {
	r := &Resolver{db: db, peppers: peppers, logger: logger, cache: newCache(), slots: make(chan struct{}, maxLookups)}
	l, err := newListener(listenURL, r.cache, logger)
	if err != nil {
		return nil, err
	}
	if r.observed, err = r.observe(); err != nil {
		return nil, fmt.Errorf("observe the keys: %w", err)
	}
	r.running, r.close = context.WithCancel(context.WithoutCancel(ctx))
	r.tasks.Go(func() { l.run(r.running) })
	r.tasks.Go(func() { r.flushEachMinute(r.running) })
	return r, nil
}

// Close stops listening and writes the last uses that are not written yet. Keys
// resolve no longer.
func (r *Resolver) Close() error {
	r.close()
	r.tasks.Wait()
	_ = r.observed.Unregister() // it fails for no reason that matters now
	return r.flushUses(context.WithoutCancel(r.running))
}

// Known returns whose key it is if memory knows; it never waits.
func (r *Resolver) Known(token string) (*Principal, bool) {
	if Check(token) != nil {
		return nil, false
	}
	p := r.cache.holder(r.peppers.current().hash(token))
	return p, p != nil
}

// Seen says whether a key was valid when it was last asked about. It may be
// revoked since: it is a reason to ask again, not to let in.
func (r *Resolver) Seen(token string) bool {
	return Check(token) == nil && r.cache.wasHeld(r.peppers.current().hash(token))
}

// Resolve returns whose key it is, from memory or PostgreSQL. It returns
// ErrMalformed without asking anybody, ErrUnknown for a key that was never made,
// is revoked or is expired, and any other error if PostgreSQL does not answer:
// there is no making do with an old answer.
func (r *Resolver) Resolve(ctx context.Context, token string) (*Principal, error) {
	if err := Check(token); err != nil {
		return nil, err
	}
	d := r.peppers.current().hash(token)
	if p := r.cache.holder(d); p != nil {
		return p, nil
	}
	if r.cache.nobodys(d) {
		return nil, ErrUnknown
	}
	r.misses.Add(1)
	p, err := r.lookUpOnce(ctx, d, token)
	if err != nil {
		return nil, fmt.Errorf("resolve key: %w", err)
	}
	if p == nil {
		return nil, ErrUnknown
	}
	return p, nil
}

// lookUpOnce joins a lookup of the same key that is under way, unless something
// has changed since that began: who asks after a change gets an answer of after.
func (r *Resolver) lookUpOnce(ctx context.Context, d digest, token string) (*Principal, error) {
	generation := r.cache.generation()
	flight := string(binary.BigEndian.AppendUint64(d[:], generation))
	done := r.flights.DoChan(flight, func() (any, error) { return r.lookUp(ctx, d, token, generation) })
	select {
	case result := <-done:
		p, _ := result.Val.(*Principal)
		return p, result.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// lookUp asks PostgreSQL and remembers the answer. It has a deadline of its own:
// others may be waiting for it when the first who asked has gone.
func (r *Resolver) lookUp(ctx context.Context, d digest, token string, generation uint64) (*Principal, error) {
	if err := r.running.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupWithin)
	defer cancel()
	defer context.AfterFunc(r.running, cancel)()
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return nil, tenancy.ErrBusy
	}
	asked := time.Now()
	p, lives, err := resolveKey(ctx, r.db, r.peppers.hashes(token))
	if err != nil {
		return nil, err
	}
	r.cache.put(d, p, asked, lives, generation)
	return p, nil
}

// resolveKey finds the live key that has one of the hashes, and for how long it
// lives (0: for ever) by the clock that decides that. It returns nil for nobody's.
func resolveKey(ctx context.Context, db *tenancy.DB, hashes [][]byte) (*Principal, time.Duration, error) {
	type row struct {
		Hash        []byte
		TenantID    tenancy.ID
		KeyID       int64
		KeyName     string
		Permissions Permissions
		ExpiresAt   *time.Time
		Slug        string
		TenantName  string
		Plan        tenancy.Plan
		RateLimit   *int32
		Timezone    string
		Currency    string
		Suspended   bool
		Lives       time.Duration
	}
	found, err := tenancy.Call[row](ctx, db, `
		select hash, tenant_id, key_id, key_name, permissions, expires_at,
		       slug, tenant_name, plan, rate_limit, timezone, currency, suspended,
		       coalesce(expires_at - now(), '0') as lives
		  from resolve_key($1)`, hashes)
	if err != nil || len(found) == 0 || !oneOf(hashes, found[0].Hash) {
		return nil, 0, err
	}
	k := found[0]
	return &Principal{
		Tenant: tenancy.Tenant{ID: k.TenantID, Slug: k.Slug, Name: k.TenantName, Plan: k.Plan, RateLimit: k.RateLimit,
			Timezone: k.Timezone, Currency: k.Currency, Suspended: k.Suspended},
		KeyID: k.KeyID, KeyName: k.KeyName, Permissions: k.Permissions, ExpiresAt: k.ExpiresAt,
	}, k.Lives, nil
}

// oneOf compares in constant time, not to trust the database's word alone for who
// somebody is.
func oneOf(hashes [][]byte, hash []byte) bool {
	equal := 0
	for _, h := range hashes {
		equal |= subtle.ConstantTimeCompare(h, hash)
	}
	return equal == 1
}

// Stats are the counters of a Resolver since it was opened, and its present state.
type Stats struct {
	Hits         uint64 // keys that memory knew
	NegativeHits uint64 // keys that memory knew to be nobody's
	Misses       uint64 // keys that PostgreSQL was asked for
	Entries      int    // keys in memory, nobody's not counted

	Listening bool      // changes arrive; while not, memory holds for a second
	Confirmed time.Time // when that was last certain; zero if it is not
}

// Stats returns the counters as they stand.
func (r *Resolver) Stats() Stats {
	c := r.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	return Stats{
		Hits: c.hits, NegativeHits: c.negativeHits, Misses: r.misses.Load(), Entries: c.known.Len(),
		Listening: time.Since(c.confirmed) < confirmedFor, Confirmed: c.confirmed,
	}
}
