package media

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/jobs"
)

// Reserve records a file before it is written, so that it is deleted if no product uses it within an hour, even if the
// tenant is deleted in the meantime. It returns ErrNotFound if the tenant no longer exists.
func Reserve(ctx context.Context, pool *db.DB, tenant tenancy.ID, file string) error {
	reserved, err := db.One[struct{ Done bool }](ctx, pool, tenant, `select reserve_media($1) as done`, file)
	if err == nil && !reserved.Done {
		err = tenancy.ErrNotFound
	}
	return err
}

// ReserveForPlan is Reserve until a time that also identifies the plan of the picture, for ReleasePlan.
func ReserveForPlan(ctx context.Context, pool *db.DB, tenant tenancy.ID, p Processed, until time.Time) error {
	return pool.Tx(ctx, tenant, func(tx pgx.Tx) error {
		var reserved bool
		err := tx.QueryRow(ctx, `select reserve_media($1)`, p.File).Scan(&reserved)
		if err == nil && !reserved {
			err = tenancy.ErrNotFound
		}
		if err == nil {
			_, err = tx.Exec(ctx, `delete from unused_media where tenant_id = $1 and file = $2`, tenant, p.File)
		}
		if err == nil {
			_, err = tx.Exec(ctx, `insert into unused_media (tenant_id, due, file, bytes) values ($1, $2, $3, $4)`,
				tenant, until, p.File, p.Bytes)
		}
		return err
	})
}

// ReleasePlan deletes the files that a plan reserved and no product uses, except some, in ten minutes: a worker that lost
// the plan may still write one.
func ReleasePlan(ctx context.Context, db *db.DB, tenant tenancy.ID, until time.Time, except ...string) error {
	_, err := db.Exec(ctx, tenant, `
		with gone as (
			delete from unused_media where tenant_id = $1 and due = $2 and file <> all ($3) returning file
		)
		insert into unused_media (tenant_id, due, file)
		select $1, now() + interval '10 minutes', file
		  from gone`, tenant, until, append([]string{}, except...))
	return err
}

// ReservedBytes returns the size of a tenant's files that no product uses yet, without those that ReleasePlan deletes.
func ReservedBytes(ctx context.Context, pool *db.DB, tenant tenancy.ID) (int64, error) {
	reserved, err := db.One[struct{ Bytes int64 }](ctx, pool, tenant, `
		select coalesce(sum(bytes), 0)::bigint as bytes
		  from unused_media
		 where tenant_id = $1
		   and due > now() + interval '10 minutes'`, tenant)
	return reserved.Bytes, err
}

// Release lets a file be deleted that is still reserved, because no product uses it. It waits for a transaction that
// may begin to use it.
func Release(ctx context.Context, db *db.DB, tenant tenancy.ID, file string) error {
	_, err := db.Exec(ctx, tenant, `
		with released as (
			delete from unused_media where tenant_id = $1 and file = $2 returning file
		)
		insert into unused_media (tenant_id, due, file)
		select $1, now(), file
		  from released`, tenant, file)
	return err
}

const (
	deleteInterval = time.Minute
	deleteBatch    = 100
	deleteTimeout  = time.Minute      // of a batch
	deleteRetry    = 10 * time.Minute // after the storage has failed
)

// DeleteUnused deletes the files that are due, and returns their number.
func (s *Store) DeleteUnused(ctx context.Context, pool *db.DB) (deleted int, err error) {
	err = s.Worker(pool, func(n int) { deleted += n }).Drain(ctx)
	return deleted, err
}

// Worker returns the worker that deletes files that no product uses. It calls count, unless it is nil, with the number
// of files after each batch.
func (s *Store) Worker(pool *db.DB, count func(deleted int)) jobs.Kind {
	return jobs.Kind{
		Task: "claim_unused_media", Parts: pool.Parts, Poll: deleteInterval, Lease: deleteInterval, Retry: deleteRetry,
		Do: func(ctx context.Context, job *jobs.Job) (again time.Duration, err error) {
			deleted, next, err := s.deleteBatch(ctx, pool, job.Tenant)
			if count != nil {
				count(deleted)
			}
			if err != nil || next.IsZero() {
				return jobs.Done, err
			}
			return max(0, time.Until(next)), nil
		},
	}
}

// deleteBatch deletes files of a tenant that are due, and returns when the next one is, if there is one. A file that it
// cannot delete keeps none of the others.
func (s *Store) deleteBatch(
	ctx context.Context, pool *db.DB, tenant tenancy.ID,
) (deleted int, next time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	part, err := pool.PartOf(ctx, tenant)
	if err != nil {
		return 0, next, err
	}
	unused, err := db.Call[struct {
		File string
		Due  time.Time
	}](ctx, part, `select * from due_media($1, $2)`, tenant, deleteBatch+1)
	var removed []string
	for i, u := range unused {
		if i == deleteBatch || u.Due.After(time.Now()) {
			next = u.Due
			break
		}
		removeErr := s.remove(ctx, u.File)
		if removeErr == nil {
			removed = append(removed, u.File)
		}
		err = errors.Join(err, removeErr)
	}
	if len(removed) > 0 {
		err = errors.Join(err, forget(context.WithoutCancel(ctx), part, tenant, removed))
	}
	return len(removed), next, err
}

// forget deletes the rows of files. The tenant may have been deleted since.
func forget(ctx context.Context, part *db.DB, tenant tenancy.ID, files []string) error {
	_, err := db.Call[struct{ Done bool }](
		ctx, part, `select true as done from forget_unused_media($1, $2)`, tenant, files)
	return err
}
