// Package idempotency makes a write that is sent twice count once.
//
// A request with a key claims it in the transaction of its work, and its answer
// is stored in that transaction too: work that rolled back leaves no trace and
// may be sent again, work that committed is answered from the record for 24
// hours. A twin that is still running holds the key's row; the second one waits
// for it, as long as a lock may be waited for, and then is refused.
package idempotency

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/textproto"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
)

// Errors that callers branch on.
var (
	// ErrInProgress says that a request with the same key is still running.
	ErrInProgress = errors.New("a request with this key is still in progress")
	// ErrReused says that the key belongs to another request.
	ErrReused = errors.New("the key was used for another request")
)

// MaxKey is how many characters a key may have.
const MaxKey = 255

// Fingerprint tells requests under one key apart.
type Fingerprint [sha256.Size]byte

// FingerprintOf is of method, path and body. Lengths keep the parts apart.
func FingerprintOf(method, path string, body []byte) Fingerprint {
	h := sha256.New()
	for _, part := range []string{method, path} {
		h.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	h.Write(body)
	return Fingerprint(h.Sum(nil))
}

// Answer is what a request was answered.
type Answer struct {
	Status int16
	Header textproto.MIMEHeader // those of the answer's own
	Body   []byte
}

// Claim is a request that runs under its key.
type Claim struct {
	work   *tenancy.Work
	tenant tenancy.ID
	key    string
}

// Begin claims the key. What is done with the returned context is part of the
// claim's transaction, which Commit or Rollback ends. Where the work was done
// before, it returns the Answer and no claim. It returns ErrInProgress or
// ErrReused.
func Begin(ctx context.Context, db *tenancy.DB, tenant tenancy.ID, key string, f Fingerprint) (context.Context, *Claim, *Answer, error) {
	var claimed []struct{ Key string }
	var stored []struct {
		Fingerprint []byte
		Answer
	}
	inWork, work, err := db.Begin(ctx, tenant, func(b *pgx.Batch) {
		b.Queue(`
			delete from idempotency_keys
			 where tenant_id = $1 and key in (
			       select key from idempotency_keys
			        where tenant_id = $1 and created_at < now() - interval '24 hours'
			        order by key = $2 desc limit 20 for update skip locked)`, tenant, key)
		tenancy.QueueRows(b, &claimed, `
			insert into idempotency_keys (tenant_id, key, fingerprint) values ($1, $2, $3)
			on conflict (tenant_id, key) do nothing returning key`, tenant, key, f[:])
		tenancy.QueueRows(b, &stored, `
			select fingerprint, status, header, body from idempotency_keys
			 where tenant_id = $1 and key = $2 and status is not null and created_at >= now() - interval '24 hours'`, tenant, key)
	})
	if err != nil {
		if tenancy.SQLState(err) == "55P03" { // lock_timeout: the twin holds the row
			err = ErrInProgress
		}
		return ctx, nil, nil, fmt.Errorf("claim an idempotency key: %w", err)
	}
	if len(claimed) == 1 {
		return inWork, &Claim{work, tenant, key}, nil, nil
	}
	work.Rollback(ctx)
	switch {
	case len(stored) == 0: // removed between the two looks, or back from a removal that was undone
		return ctx, nil, nil, ErrInProgress
	case Fingerprint(stored[0].Fingerprint) != f:
		return ctx, nil, nil, ErrReused
	}
	return ctx, nil, &stored[0].Answer, nil
}

// Commit stores the answer and makes the work last.
func (c *Claim) Commit(ctx context.Context, a Answer) error {
	return c.work.Commit(ctx, func(b *pgx.Batch) {
		b.Queue(`update idempotency_keys set status = $3, header = $4, body = $5 where tenant_id = $1 and key = $2`,
			c.tenant, c.key, a.Status, a.Header, a.Body)
	})
}

// Rollback undoes the work and frees the key.
func (c *Claim) Rollback(ctx context.Context) { c.work.Rollback(ctx) }
