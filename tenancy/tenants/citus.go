package tenants

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// clusterAuditLog is AuditLog on a cluster. Entries of transactions of the group are in the group, the others on the
// coordinator.
func clusterAuditLog(
	ctx context.Context, pool *db.DB, tenant tenancy.ID, action string, page, perPage int,
) (found []Logged, total int64, err error) {
	for _, part := range []*db.DB{pool.Central(), pool} {
		entries, count, err := auditLog(ctx, part, tenant, action, 0, page*perPage)
		if err != nil {
			return nil, 0, err
		}
		found, total = append(found, entries...), total+count
	}
	slices.SortStableFunc(found, func(a, b Logged) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.ID, a.ID)) })
	from := min((page-1)*perPage, len(found))
	return found[from:min(from+perPage, len(found))], total, nil
}

// createInGroup creates the rows of a new tenant in its group, and reports whether there were none. After an
// interrupted creation there are none.
func createInGroup(ctx context.Context, pool *db.DB, t Tenant) (created bool, err error) {
	err = pool.Tx(ctx, t.ID, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			insert into tenants (id, slug, name, plan, rate_limit, timezone, currency, suspended_at, quota_storage, quota_records,
			                     recount_quotas_at)
			values ($1, $2, $3, $4, $5, $6, $7, case when $8 then now() end, $9, $10, now() + interval '24 hours')
			    on conflict (id) do nothing`,
			t.ID, t.Slug, t.Name, t.Plan, t.RateLimit, t.Timezone, t.Currency, t.Suspended, t.QuotaStorage, t.QuotaRecords)
		if created = tag.RowsAffected() > 0; err != nil || !created {
			return err
		}
		return createFirstRows(ctx, tx, t.ID)
	})
	return created, err
}

// completeCreation completes the creation of a tenant that was interrupted. Otherwise it returns conflict.
func completeCreation(ctx context.Context, pool *db.DB, t Tenant, conflict error) (Tenant, error) {
	existing, err := BySlug(ctx, pool, t.Slug)
	if err != nil {
		return t, err
	}
	created, err := createInGroup(ctx, pool, existing)
	if err == nil && !created {
		err = conflict
	}
	return existing, err
}

// changeInGroup calls f with a transaction in the group of a tenant, and commits it after f has committed on the
// coordinator. On plain PostgreSQL the transaction is nil.
func changeInGroup(ctx context.Context, pool *db.DB, slug string, f func(inGroup pgx.Tx) error) error {
	if !pool.OnCluster() {
		return f(nil)
	}
	t, err := BySlug(ctx, pool, slug)
	if err != nil {
		return errors.Unwrap(err)
	}
	return pool.Tx(ctx, t.ID, f)
}

// copyTenant writes the row of a tenant in its group.
func copyTenant(ctx context.Context, inGroup pgx.Tx, t Tenant) error {
	_, err := inGroup.Exec(ctx, `
		update tenants
		   set name = $2, plan = $3, rate_limit = $4, timezone = $5, currency = $6,
		       suspended_at = case when $7 then coalesce(suspended_at, now()) end, updated_at = now(),
		       quota_storage = $8, quota_records = $9
		 where id = $1`,
		t.ID, t.Name, t.Plan, t.RateLimit, t.Timezone, t.Currency, t.Suspended, t.QuotaStorage, t.QuotaRecords)
	return err
}

// deleteInGroup deletes the rows of a tenant in its group. Each step can be repeated after an interruption. The names
// of its files move to the group of the tenant 0 after the deletion of the products that use them is committed.
func deleteInGroup(ctx context.Context, pool *db.DB, t Tenant) error {
	for {
		files, err := deleteRows(ctx, pool, t)
		if err != nil || len(files) == 0 {
			return err
		}
		names, due := make([]string, len(files)), make([]time.Time, len(files))
		for i, f := range files {
			names[i], due[i] = f.File, f.Due
		}
		const keep = `
			insert into unused_media (tenant_id, due, file)
			select 0, u.due, u.file from unnest($1::timestamptz[], $2::text[]) u (due, file)
			    on conflict do nothing`
		if _, err := pool.Exec(ctx, 0, keep, due, names); err != nil {
			return err
		}
		const forget = `delete from unused_media where tenant_id = $1 and file = any ($2)`
		if _, err := pool.Exec(ctx, t.ID, forget, t.ID, names); err != nil {
			return err
		}
	}
}

// unusedFile is a file that is deleted when it is due.
type unusedFile struct {
	Due  time.Time
	File string
}

// deleteRows deletes the rows of a tenant in its group, or returns the files that must be moved before.
func deleteRows(ctx context.Context, pool *db.DB, t Tenant) (files []unusedFile, err error) {
	err = pool.Tx(ctx, t.ID, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, withoutTimeouts); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `select from tenants where id = $1 for update`, t.ID); err != nil {
			return err
		}
		if err := deleteLargeTables(ctx, tx, t.ID); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `select due, file from unused_media where tenant_id = $1`, t.ID)
		if err != nil {
			return err
		}
		if files, err = pgx.CollectRows(rows, pgx.RowToStructByPos[unusedFile]); err != nil || len(files) > 0 {
			return err
		}
		for _, statement := range []string{
			`delete from audit_log where tenant_id = $1`,
			`delete from tenants where id = $1`,
			`delete from api_keys where tenant_id = $1`, // the ledger, which refers to them, is deleted
			deleteQuota,
		} {
			if _, err := tx.Exec(ctx, statement, t.ID); err != nil {
				return err
			}
		}
		return nil
	})
	return files, err
}
