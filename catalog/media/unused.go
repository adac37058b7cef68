package media

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
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

// Discard deletes a reserved file that no product uses.
func (s *Store) Discard(ctx context.Context, db *db.DB, tenant tenancy.ID, file string) error {
	if err := s.remove(ctx, file); err != nil {
		return err
	}
	return forget(ctx, db, tenant, []string{file})
}

const (
	deleteInterval = time.Minute
	deleteBatch    = 100
	deleteTimeout  = time.Minute // of a batch
)

// DeleteUnusedPeriodically deletes the files that no product uses, now and after each minute, until ctx ends. Any
// number of instances may do this.
func (s *Store) DeleteUnusedPeriodically(ctx context.Context, pool *db.DB, logger *slog.Logger) {
	db.Repeat(ctx, deleteInterval, logger, func() error {
		_, err := s.DeleteUnused(ctx, pool)
		if err != nil {
			err = fmt.Errorf("delete unused pictures: %w", err)
		}
		return err
	})
}

// DeleteUnused deletes the files that are due, and returns their number.
func (s *Store) DeleteUnused(ctx context.Context, db *db.DB) (deleted int, err error) {
	for {
		n, err := s.deleteBatch(ctx, db)
		deleted += n
		if err != nil || n < deleteBatch {
			return deleted, err
		}
	}
}

func (s *Store) deleteBatch(ctx context.Context, pool *db.DB) (deleted int, err error) {
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	type unused struct {
		Tenant tenancy.ID
		File   string
	}
	parts, err := pool.Parts(ctx)
	var claimed []unused
	for _, part := range parts {
		found, claimErr := db.Call[unused](ctx, part, `select tenant, file from claim_unused_media($1)`,
			deleteBatch-len(claimed))
		err = errors.Join(err, claimErr)
		if claimed = append(claimed, found...); len(claimed) == deleteBatch {
			break
		}
	}
	files := map[tenancy.ID][]string{}
	for _, u := range claimed {
		if removeErr := s.remove(ctx, u.File); removeErr != nil {
			err = errors.Join(err, removeErr)
			break
		}
		files[u.Tenant] = append(files[u.Tenant], u.File)
		deleted++
	}
	for tenant, removed := range files {
		if forgotten := forget(ctx, pool, tenant, removed); forgotten != nil {
			return deleted, forgotten
		}
	}
	return deleted, err
}

func forget(ctx context.Context, pool *db.DB, tenant tenancy.ID, files []string) error {
	part, err := pool.PartOf(ctx, tenant)
	if err != nil {
		return err
	}
	_, err = db.Call[struct{ Done bool }](
		ctx, part, `select true as done from forget_unused_media($1, $2)`, tenant, files)
	return err
}
