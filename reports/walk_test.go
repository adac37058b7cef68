package reports

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/tenancytest"
)

// A replica can fail in the middle of a walk. The primary must not send the rows again, because the client has some.
func TestAWalkThatAReplicaInterruptsDoesNotRepeatRows(t *testing.T) {
	t.Parallel()
	d := tenancytest.New(t)
	a := d.MustTenant(t, "a").ID
	d.MustUseReplica(t, d.URL)
	super := d.MustSuper(t)
	var began bool
	var row, rows int
	err := d.DB.Snapshot(d.MustAwaitReplica(t), a, time.Minute, func(b *pgx.Batch) {
		const sql = `select * from generate_series(1, 2000000)`
		batch{Batch: b}.queueWalk(sql, nil, []any{&row}, &began, func() error {
			if rows++; rows > 1 {
				return nil
			}
			_, err := super.Exec(t.Context(), `
				select pg_terminate_backend(pid) from pg_stat_activity
				 where pid <> pg_backend_pid() and datname = current_database() and query like '%generate_series%'`)
			return err
		})
	})
	if !errors.Is(err, errInterrupted) || !errors.Is(err, tenancy.ErrBusy) || rows == 0 || rows != row {
		t.Errorf("Snapshot = %v after %d rows up to %d, want %v and each row once", err, rows, row, errInterrupted)
	}
}
