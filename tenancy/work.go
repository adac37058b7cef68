package tenancy

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Work is a transaction that spans several store methods: what is done with the
// context of Begin joins it, each call behind a savepoint of its own, so that a
// call that fails leaves the rest as it was. It exists for idempotency, where the
// record of a request and the work of the request must commit together.
type Work struct {
	tenant ID
	conn   *pgxpool.Conn
	tx     pgx.Tx
}

type workKey struct{}

// Begin starts a piece of work; queue adds its first queries. The work must be
// ended by Commit or Rollback.
func (db *DB) Begin(ctx context.Context, tenant ID, queue func(*pgx.Batch)) (context.Context, *Work, error) {
	conn, err := db.acquire(ctx)
	if err != nil {
		return ctx, nil, err
	}
	b := &pgx.Batch{}
	b.BeginTx(pgx.TxOptions{})
	b.Queue(setTenant, tenant.setting())
	queue(b)
	results := conn.SendBatch(ctx, b)
	w := &Work{tenant, conn, results.Tx()}
	if err := results.Close(); err != nil {
		w.Rollback(ctx)
		return ctx, nil, err
	}
	return context.WithValue(ctx, workKey{}, w), w, nil
}

// Tx runs f behind a savepoint.
func (w *Work) Tx(ctx context.Context, f func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, w.tx, f)
}

// Commit makes everything that joined the work last, together with what queue
// adds.
func (w *Work) Commit(ctx context.Context, queue func(*pgx.Batch)) error {
	defer w.conn.Release()
	b := &pgx.Batch{}
	queue(b)
	if err := w.tx.SendBatch(ctx, b).Close(); err != nil {
		rollback(ctx, w.tx)
		return err
	}
	return w.tx.Commit(ctx)
}

// Rollback undoes everything that joined the work.
func (w *Work) Rollback(ctx context.Context) {
	defer w.conn.Release()
	rollback(ctx, w.tx)
}

// workOf returns the work that ctx carries for the tenant, or nil.
func workOf(ctx context.Context, tenant ID) *Work {
	if w, _ := ctx.Value(workKey{}).(*Work); w != nil && w.tenant == tenant {
		return w
	}
	return nil
}
