// Package idempotency makes a request that is sent twice take effect once.
//
// A request claims its key in the transaction of its work, and its response is stored
// in that transaction too. If the work rolls back, nothing is stored and the request
// may be sent again. If it commits, the stored response answers the same request for
// 24 hours. A request whose duplicate still runs waits for the lock of the key's row,
// until lock_timeout, and is then refused.
package idempotency

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
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
	tx     *tenancy.SharedTx
	tenant tenancy.ID
	key    string
}

// Begin claims the key. Store methods that are called with the returned context take
// part in the claim's transaction, which the caller ends with Commit or Rollback. If
// the request is a duplicate, Begin returns the stored response and no claim. It
// returns ErrInProgress or ErrReused.
func Begin(
	ctx context.Context, db *tenancy.DB, tenant tenancy.ID, key string, fingerprint Fingerprint,
) (context.Context, *Claim, *Response, error) {
	var claimed []struct{ Key string }
	var stored []struct {
		Fingerprint []byte
		Response
	}
	txCtx, tx, err := db.Begin(ctx, tenant, func(batch *pgx.Batch) {
		// An expired response is as good as none: its row is claimed again.
		tenancy.QueueRows(batch, &claimed, `
			insert into idempotency_keys as k (tenant_id, key, fingerprint)
			values ($1, $2, $3)
			on conflict (tenant_id, key) do update
			   set fingerprint = excluded.fingerprint, created_at = now(), status = null, header = null, body = null
			 where k.created_at < now() - interval '24 hours'
			returning k.key`, tenant, key, fingerprint[:])
		tenancy.QueueRows(batch, &stored, `
			select fingerprint, status, header, body
			  from idempotency_keys
			 where tenant_id = $1 and key = $2 and status is not null`, tenant, key)
	})
	if err != nil {
		if tenancy.SQLState(err) == "55P03" { // lock_timeout: the duplicate holds the row
			err = ErrInProgress
		}
		return ctx, nil, nil, fmt.Errorf("claim an idempotency key: %w", err)
	}
	if len(claimed) == 1 {
		return txCtx, &Claim{tx, tenant, key}, nil, nil
	}
	tx.Rollback(ctx)
	switch {
	case len(stored) == 0: // deleted between the two statements
		return ctx, nil, nil, ErrInProgress
	case Fingerprint(stored[0].Fingerprint) != fingerprint:
		return ctx, nil, nil, ErrReused
	}
	return ctx, nil, &stored[0].Response, nil
}

// Commit stores the response and commits the work.
func (c *Claim) Commit(ctx context.Context, response Response) error {
	return c.tx.Commit(ctx, func(batch *pgx.Batch) {
		batch.Queue(`
			update idempotency_keys
			   set status = $3, header = $4, body = $5
			 where tenant_id = $1 and key = $2`,
			c.tenant, c.key, response.Status, response.Header, response.Body)
	})
}

// Rollback undoes the work and releases the key. After Commit it does nothing.
func (c *Claim) Rollback(ctx context.Context) { c.tx.Rollback(ctx) }
