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
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

const (
	// maxLookups bounds the concurrent lookups in PostgreSQL, so that a flood of guesses
	// leaves connections for valid keys.
	maxLookups = 16
)

// Principal is the tenant and the rights of a key. Requests share it, so it must not be
// changed. The caller checks whether the tenant is suspended.
type Principal struct {
	Tenant      tenants.Tenant
	KeyID       int64
	KeyName     string
	Permissions Permissions
	ExpiresAt   *time.Time
}

// Resolver finds the principal of a key. It is safe for concurrent use.
type Resolver struct {
	LookupTimeout time.Duration // of a lookup in PostgreSQL; tests on busy machines change it

	db      *db.DB
	peppers Peppers
	logger  *slog.Logger

	cache   *cache
	lookups singleflight.Group
	slots   chan struct{}
	uses    uses

	hits         atomic.Int64 // lookups that found a cached principal
	negativeHits atomic.Int64 // lookups that found a cached unknown key
	misses       atomic.Int64 // lookups in PostgreSQL

	observed metric.Registration
	running  context.Context // cancelled by Close
	close    context.CancelFunc
	tasks    sync.WaitGroup
}

// Open starts a Resolver. listenURL is the URL of the same database for a direct
// connection, not through a pooler. Open fails only for a malformed URL: while
// PostgreSQL is unavailable, the listener keeps trying to connect.
func Open(
	ctx context.Context, db *db.DB, listenURL string, peppers Peppers, logger *slog.Logger,
) (*Resolver, error) {
	db = db.Central()
	r := &Resolver{
		LookupTimeout: 2 * time.Second,

		db: db, peppers: peppers, logger: logger, cache: newCache(), slots: make(chan struct{}, maxLookups),
	}
	l, err := newListener(listenURL, r.cache, logger)
	if err != nil {
		return nil, err
	}
	r.observed = r.observe()
	r.running, r.close = context.WithCancel(context.WithoutCancel(ctx))
	r.tasks.Go(func() { l.run(r.running) })
	r.tasks.Go(func() { r.flushEachInterval(r.running) })
	return r, nil
}

// Close stops listening and writes the last uses that are not yet stored. The Resolver
// cannot be used afterwards.
func (r *Resolver) Close() error {
	r.close()
	r.tasks.Wait()
	_ = r.observed.Unregister() // does not fail in the SDK
	return r.flushUses(context.WithoutCancel(r.running))
}

// Known returns the principal of a key if it is cached. It does not query PostgreSQL.
func (r *Resolver) Known(token string) (*Principal, bool) {
	if Check(token) != nil {
		return nil, false
	}
	p, _ := r.cache.get(r.peppers.current().hash(token))
	if p == nil {
		return nil, false
	}
	r.hits.Add(1)
	return p, true
}

// Seen reports whether a key was valid at its last lookup. It may have been revoked
// since, so it must be resolved again before use.
func (r *Resolver) Seen(token string) bool {
	return Check(token) == nil && r.cache.wasValid(r.peppers.current().hash(token))
}

// Resolve returns the principal of a key, from the cache or from PostgreSQL. It returns
// ErrMalformed without a query, ErrUnknown for a key that does not exist, is revoked or
// has expired, and another error if PostgreSQL is unavailable. It never returns an
// expired entry.
func (r *Resolver) Resolve(ctx context.Context, token string) (*Principal, error) {
	if err := Check(token); err != nil {
		return nil, err
	}
	d := r.peppers.current().hash(token)
	switch p, cached := r.cache.get(d); {
	case p != nil:
		r.hits.Add(1)
		return p, nil
	case cached:
		r.negativeHits.Add(1)
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

// lookUpOnce shares a running lookup of the same key, unless a change has arrived since
// that lookup began: its result could be older than the change.
func (r *Resolver) lookUpOnce(ctx context.Context, d digest, token string) (*Principal, error) {
	generation := r.cache.generation()
	lookup := string(binary.BigEndian.AppendUint64(d[:], generation))
	done := r.lookups.DoChan(lookup, func() (any, error) { return r.lookUp(ctx, d, token, generation) })
	select {
	case result := <-done:
		p, _ := result.Val.(*Principal)
		return p, result.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// lookUp queries PostgreSQL and caches the result. Its deadline does not depend on the
// first caller's context, because other callers may share the lookup.
func (r *Resolver) lookUp(ctx context.Context, d digest, token string, generation uint64) (*Principal, error) {
	if err := r.running.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.LookupTimeout)
	defer cancel()
	defer context.AfterFunc(r.running, cancel)()
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return nil, tenancy.ErrBusy
	}
	asked := time.Now()
	p, lifetime, err := resolveKey(ctx, r.db, r.peppers.hashes(token))
	if err != nil {
		return nil, err
	}
	r.cache.put(d, p, asked, lifetime, generation)
	return p, nil
}

// resolveKey finds the live key that has one of the hashes. It returns the remaining
// lifetime by PostgreSQL's clock (0: it never expires), and nil for an unknown key.
func resolveKey(ctx context.Context, pool *db.DB, hashes [][]byte) (*Principal, time.Duration, error) {
	type row struct {
		Hash        []byte
		TenantID    tenancy.ID
		KeyID       int64
		KeyName     string
		Permissions Permissions
		ExpiresAt   *time.Time
		Slug        string
		TenantName  string
		Plan        tenants.Plan
		RateLimit   *int32
		Timezone    string
		Currency    string
		Suspended   bool
		Origins     []string
		Lifetime    time.Duration
	}
	found, err := db.Call[row](ctx, pool, `
		select hash, tenant_id, key_id, key_name, permissions, expires_at,
		       slug, tenant_name, plan, rate_limit, timezone, currency, suspended, origins,
		       coalesce(expires_at - now(), '0') as lifetime
		  from find_key($1)`, hashes)
	if err != nil || len(found) == 0 || !oneOf(hashes, found[0].Hash) {
		return nil, 0, err
	}
	k := found[0]
	return &Principal{
		Tenant: tenants.Tenant{
			ID: k.TenantID, Slug: k.Slug, Name: k.TenantName, Plan: k.Plan, RateLimit: k.RateLimit,
			Timezone: k.Timezone, Currency: k.Currency, Suspended: k.Suspended, Origins: k.Origins,
		},
		KeyID: k.KeyID, KeyName: k.KeyName, Permissions: k.Permissions, ExpiresAt: k.ExpiresAt,
	}, k.Lifetime, nil
}

// oneOf checks, in constant time, that the database returned one of the hashes that it
// was asked for.
func oneOf(hashes [][]byte, hash []byte) bool {
	equal := 0
	for _, h := range hashes {
		equal |= subtle.ConstantTimeCompare(h, hash)
	}
	return equal == 1
}

// Listening reports whether changes of keys arrive. While they do not, cached keys are
// valid for one second.
func (r *Resolver) Listening() bool { return r.cache.isConfirmed() }
