// Package idempotency makes a request that is sent twice take effect once.
//
// A request claims its key in the transaction of its work, and its response is stored
// in that transaction too. If the work rolls back, nothing is stored and the request
// may be sent again. If it commits, the stored response answers the same request for
// 24 hours. A request whose duplicate still runs polls for two seconds and is then
// refused. It holds no connection between polls.
package idempotency

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// Errors that callers branch on.
var (
	// ErrInProgress reports that a request with the same key is still running.
	ErrInProgress = errors.New("a request with this key is still in progress")
	// ErrReused reports that the key belongs to another request.
	ErrReused = errors.New("the key was used for another request")
)

// MaxKey is the greatest number of characters in a key.
const MaxKey = 255

// Fingerprint is a digest of a request. It detects another request under the same key.
type Fingerprint [sha256.Size]byte

// Response is the stored response of a request.
type Response struct {
	Status int16
	Header map[string][]string
	Body   []byte
}

// Claim is a running request that owns its key.
type Claim struct {
	Tx     *db.DB // the transaction of the request's work, which Commit or Rollback ends
	tenant tenancy.ID
	key    string
}

const (
	maxWait  = 2 * time.Second // for a duplicate that is still running
	minPause = 25 * time.Millisecond
	maxPause = 200 * time.Millisecond
)

// Begin claims the key. The caller ends the claim with Commit or Rollback, and begins a new one after a deadlock. For a
// duplicate, Begin returns the stored response and no claim, or ErrInProgress or ErrReused.
func Begin(
	ctx context.Context, db *db.DB, tenant tenancy.ID, key string, fingerprint Fingerprint,
) (*Claim, *Response, error) {
	deadline := time.Now().Add(maxWait)
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		claim, stored, err := poll(ctx, db, tenant, key, fingerprint)
		left := time.Until(deadline)
		if !errors.Is(err, ErrInProgress) || left <= 0 {
			return claim, stored, err
		}
		select {
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("wait for a request with the same key: %w", ctx.Err())
		case <-time.After(min(left, pause/2+rand.N(pause))):
		}
	}
}

// poll is Begin without waiting. The lock belongs to the transaction, so it is free
// when the response is visible. Different keys of a tenant can have the same lock: then
// one waits for the other.
func poll(
	ctx context.Context, pool *db.DB, tenant tenancy.ID, key string, fingerprint Fingerprint,
) (*Claim, *Response, error) {
	var claimed []struct{ Key string }
	var stored []struct {
		Fingerprint []byte
		Response
	}
	tx, err := pool.Begin(ctx, tenant, func(batch *pgx.Batch) {
		// The row of an expired response is claimed again. Tenants cannot share a lock, because its first half is the
		// tenant.
		db.QueueRows(batch, &claimed, `
			insert into idempotency_keys as k (tenant_id, key, fingerprint)
			select $1::bigint, $2::text, $3::bytea
			 where pg_try_advisory_xact_lock($4, hashtext($2))
			on conflict (tenant_id, key) do update
			   set fingerprint = excluded.fingerprint, created_at = now(), status = null, header = null, body = null
			 where k.created_at < now() - interval '24 hours'
			returning k.key`, tenant, key, fingerprint[:], int32(tenant))
		db.QueueRows(batch, &stored, `
			select fingerprint, status, header, body
			  from idempotency_keys
			 where tenant_id = $1 and key = $2 and status is not null and created_at >= now() - interval '24 hours'`,
			tenant, key)
	})
	if err != nil {
		if db.SQLState(err) == "55P03" { // an instance of an earlier release locks only the row
			err = ErrInProgress
		}
		return nil, nil, fmt.Errorf("claim an idempotency key: %w", err)
	}
	if len(claimed) == 1 {
		return &Claim{tx, tenant, key}, nil, nil
	}
	tx.Rollback(ctx)
	switch {
	case len(stored) == 0:
		return nil, nil, ErrInProgress
	case Fingerprint(stored[0].Fingerprint) != fingerprint:
		return nil, nil, ErrReused
	}
	return nil, &stored[0].Response, nil
}

// Commit stores the response and commits the work. A quota of storage can refuse the response if refusable.
func (c *Claim) Commit(ctx context.Context, response Response, refusable bool) error {
	return c.Tx.Commit(ctx, func(batch *pgx.Batch) {
		if !refusable {
			batch.Queue(db.NeverRefused)
		}
		batch.Queue(`
			update idempotency_keys
			   set status = $3, header = $4, body = $5
			 where tenant_id = $1 and key = $2`,
			c.tenant, c.key, response.Status, response.Header, response.Body)
	})
}

// Rollback undoes the work and releases the key. After Commit it does nothing.
func (c *Claim) Rollback(ctx context.Context) { c.Tx.Rollback(ctx) }

// Rewrite replaces the bodies of the stored responses that contain a part, to erase personal data. The keys stay used.
func Rewrite(
	ctx context.Context, pool *db.DB, tenant tenancy.ID, part []byte, edit func(body []byte) []byte,
) error {
	type stored struct{ Key string }
	found, err := db.All[stored](ctx, pool, tenant, `
		select key from idempotency_keys where tenant_id = $1 and position($2::bytea in body) > 0 order by key`, tenant, part)
	for _, of := range found {
		if err == nil {
			err = rewrite(ctx, pool, tenant, of.Key, edit)
		}
	}
	return tenancy.Wrap(err, "rewrite stored responses")
}

func rewrite(ctx context.Context, pool *db.DB, tenant tenancy.ID, key string, edit func([]byte) []byte) error {
	stored, err := db.One[struct{ Body []byte }](ctx, pool, tenant,
		`select body from idempotency_keys where tenant_id = $1 and key = $2 and body is not null`, tenant, key)
	if errors.Is(err, tenancy.ErrNotFound) { // it has expired
		return nil
	}
	if err == nil {
		_, err = pool.Exec(ctx, tenant, `
			update idempotency_keys set body = $4 where tenant_id = $1 and key = $2 and body = $3`,
			tenant, key, stored.Body, edit(stored.Body))
	}
	return err
}
