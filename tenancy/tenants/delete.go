package tenants

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// deleteTries is maxTries for deleting a tenant, which deadlocks with each of the tenant's writes
// in progress.
const deleteTries = 20

// Delete deletes a tenant and all its rows. It returns ErrNotFound.
//
// It suspends the tenant first, so that no new requests begin, and waits for the row
// locks of running ones.
func Delete(ctx context.Context, pool *db.DB, slug string) error {
	t, err := Change(ctx, pool, slug, func(t *Tenant) { t.Suspended = true })
	if err != nil {
		return err
	}
	err = db.Retry(ctx, deleteTries, func() error { return deleteAll(ctx, pool, t) })
	if err == nil {
		err = db.Retry(ctx, deleteTries, func() error { return deleteTenant(ctx, pool.Central(), t.ID) })
	}
	return tenancy.Wrap(err, "delete tenant %s", slug)
}

// withoutTimeouts is for deletions: that of a million products takes longer than the timeouts of a request.
const withoutTimeouts = `
	select set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true)`

// deleteTenant deletes the row of a tenant, those that a cascade deletes, and its counts.
func deleteTenant(ctx context.Context, pool *db.DB, id tenancy.ID) error {
	return pool.Tx(ctx, id, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, withoutTimeouts); err != nil {
			return err
		}
		return execEach(ctx, tx, id, `delete from tenants where id = $1`, deleteQuota)
	})
}

// deleteQuota follows all other deletions, which are counted.
const deleteQuota = `delete from quota_counts where tenant_id = $1`

// deleteLargeTables deletes the rows that a cascade would delete with one statement each. Referencing tables come
// first.
func deleteLargeTables(ctx context.Context, tx pgx.Tx, id tenancy.ID) error {
	return execEach(ctx, tx, id,
		`delete from refund_items where tenant_id = $1`,
		`delete from refunds where tenant_id = $1`,
		`delete from cancellations where tenant_id = $1`,
		`delete from order_items where tenant_id = $1`,
		`delete from orders where tenant_id = $1`,
		`delete from product_texts where tenant_id = $1`,
		`delete from products where tenant_id = $1`,
		`delete from inventory_adjustments where tenant_id = $1`,
		`delete from customer_texts where tenant_id = $1`,
		`delete from customers where tenant_id = $1`,
		`delete from channels where tenant_id = $1`,
		`delete from categories where tenant_id = $1`,
		`delete from sellers where tenant_id = $1`,
		`delete from warehouses where tenant_id = $1`,
		`delete from webhooks where tenant_id = $1`,
		`delete from webhook_deliveries where tenant_id = $1`, // has no reference
		`delete from changes where tenant_id = $1`,            // has no reference, and the others add rows
	)
}

// deleteAll deletes all rows of a tenant but those in the tables outside the shard groups. Each step can be repeated after
// an interruption. The names of its files move to the tenant 0, which may be on another node, after the deletion of the
// products that use them is committed.
func deleteAll(ctx context.Context, pool *db.DB, t Tenant) error {
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

// deleteRows deletes the rows of a tenant, or returns the files that must be moved before.
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
		return execEach(ctx, tx, t.ID,
			`delete from audit_log where tenant_id = $1`,
			`delete from tenants where id = $1`,
			`delete from api_keys where tenant_id = $1`, // the ledger, which refers to them, is deleted
			deleteQuota,
		)
	})
	return files, err
}

// execEach executes statements whose argument is the id.
func execEach(ctx context.Context, tx pgx.Tx, id tenancy.ID, statements ...string) error {
	for _, sql := range statements {
		if _, err := tx.Exec(ctx, sql, id); err != nil {
			return err
		}
	}
	return nil
}
