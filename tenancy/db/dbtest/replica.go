package dbtest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy/db"
)

// MustUseReplica lets the database act as its own replica at a URL: has_replayed returns true. Transactions of replicas
// are read-only, as on a standby. It returns when reads use the replica.
func (d *Database) MustUseReplica(t testing.TB, url string) {
	t.Helper()
	d.MustAnswerAsReplica(t, "true")
	check := func(context.Context, *pgx.Conn) error { return nil }
	if err := d.DB.UseReplicas(t.Context(), []string{url}, check, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	d.MustAwaitReplica(t)
}

// MustAwaitReplica returns the DB of a request that a replica has answered. On a busy machine, a replica can be skipped
// for a second.
func (d *Database) MustAwaitReplica(t testing.TB) *db.DB {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if reader := d.DB.Reading(); MustReadReplica(t, reader) {
			return reader
		}
	}
	t.Fatal("no replica answered within a minute")
	return nil
}

// MustReadReplica reports whether a replica answers a read.
func MustReadReplica(t testing.TB, d *db.DB) (byReplica bool) {
	t.Helper()
	if err := d.Run(t.Context(), 1, func(b *pgx.Batch) {
		b.Queue(`select current_setting('transaction_read_only')::boolean`).QueryRow(func(row pgx.Row) error {
			return row.Scan(&byReplica)
		})
	}); err != nil {
		t.Fatal(err)
	}
	return byReplica
}

// MustAnswerAsReplica changes what has_replayed returns: answer is an expression of SQL.
func (d *Database) MustAnswerAsReplica(t testing.TB, answer string) {
	t.Helper()
	if _, err := d.MustSuper(t).Exec(t.Context(), `
		create or replace function has_replayed(lsn pg_lsn, timeline_id uuid) returns boolean
		language sql as 'select `+answer+`'`); err != nil {
		t.Fatal(err)
	}
}
