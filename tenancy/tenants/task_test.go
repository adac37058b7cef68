package tenants_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// taskWork has SQL that creates work of the tenant :tenant for a function, calls the function, and selects the
// remaining rows.
var taskWork = []struct{ name, work, call, left string }{
	{
		"recount_quotas", `update tenants set recount_quotas_at = now() where id = :tenant`,
		`select tenant, changed from recount_quotas($1, 1)`, `select from tenants where recount_quotas_at <= now()`,
	},
	{
		"pack_sums", `insert into unpacked_sums values (:tenant, '2026-03-01', 0)`,
		`select tenant, changed from pack_sums($1, 1)`, `select from unpacked_sums where not is_kept`,
	},
	{
		"pack_customers", `insert into unpacked_customers values (:tenant, '2026-03-01')`,
		`select tenant, changed from pack_customers($1, 1)`, `select from unpacked_customers`,
	},
	{
		"claim_unused_media", `insert into unused_media (tenant_id, due, file) values (:tenant, now(), 'A.jpg')`,
		`select tenant, 1 from claim_unused_media(2) where tenant > $1`, `select from unused_media where due <= now()`,
	},
	{
		"delete_expired_responses", `
		insert into idempotency_keys (tenant_id, key, fingerprint, created_at)
		values (:tenant, 'k', sha256('k'), now() - interval '25 hours');
		update tenants set delete_responses_at = now() where id = :tenant`,
		`select tenant, deleted from delete_expired_responses($1, 2)`, `select from idempotency_keys`,
	},
	{
		"delete_expired_usage", `
		insert into api_keys (tenant_id, name, permissions, prefix, last4)
		values (:tenant, 'k', '{products:read}', 'sk_live_abcd', 'last');
		insert into key_usage
		       (tenant_id, hour, key_id, route, status_2xx, status_3xx, status_4xx, status_5xx, refused, minutes, latency)
		select :tenant, now() - interval '91 days', id, 'products', 1, 0, 0, 0, 0, '{1}', '{1}' from api_keys;
		update tenants set delete_usage_at = now() where id = :tenant`,
		`select tenant, deleted from delete_expired_usage($1, 2)`, `select from key_usage`,
	},
	{
		"delete_expired_change_plans", `
		insert into change_plans (tenant_id, kind, state, title, actor, expires_at)
		values (:tenant, 'import', 'planned', 'orders.csv', 'ann@example.com', now() - interval '1 s');
		update tenants set delete_plans_at = now() where id = :tenant`,
		`select tenant, deleted from delete_expired_change_plans($1, 2)`, `select from change_plans`,
	},
	{
		"delete_unused_deliveries", `
		insert into webhooks (tenant_id, url, description, types, batch_size, secret, delivered_to)
		values (:tenant, 'https://shop.example.com', '', '{product}', 1, 'whsec_x', '');
		insert into webhook_deliveries
		       (tenant_id, webhook_id, message_id, type, entries, attempt, succeeded, latency_ms, response)
		select :tenant, id, 'msg_x', 'test', 0, 1, true, 1, '' from webhooks, generate_series(1, 5)
		 where tenant_id = :tenant;
		delete from webhooks where tenant_id = :tenant`,
		`select tenant, deleted from delete_unused_deliveries($1, 6)`, `select from webhook_deliveries`,
	},
}

// An idle service must not need more of PostgreSQL because it has more tenants.
func TestTasksReadNothingOfTenantsWithoutWork(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	var busy tenancy.ID
	for i := range 100 {
		busy = d.MustTenant(t, fmt.Sprint("tenant-", i)).ID
	}
	for _, task := range taskWork {
		t.Run(task.name, func(t *testing.T) {
			super := superOfTask(t, d, task.name, busy)
			tx, err := super.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback(t.Context()) }()
			mustExecFor(t, tx, task.work, busy)
			before := countScans(t, tx)
			for after := tenancy.ID(0); ; {
				rows, _ := tx.Query(t.Context(), task.call, after)
				type batch struct {
					Tenant  tenancy.ID
					Changed int
				}
				found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[batch])
				if err != nil {
					t.Fatal(err)
				}
				if len(found) == 0 {
					break
				}
				after = found[0].Tenant
			}
			if scans := countScans(t, tx) - before; scans > 50 {
				t.Errorf("the task scans tables %d times for one of 100 tenants, want at most 50", scans)
			}
			if left := mustCount(t, tx, task.left); left != 0 {
				t.Errorf("%d rows of the work are left", left)
			}
		})
	}
}

// superOfTask returns a superuser's connection to the database with the work of a task.
func superOfTask(t *testing.T, d *dbtest.Database, task string, tenant tenancy.ID) *pgx.Conn {
	t.Helper()
	if dbtest.OnCitus() && task == tenants.DeleteExpiredUsage.Function {
		return d.Nodes(t)[0].MustSuper(t)
	}
	return d.MustSuperAt(t, tenant)
}

// A tenant that always has work must not fill the queue.
func TestTheQueueKeepsOneRowOfATenantWithMoreWork(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	tenant := d.MustTenant(t, "a").ID
	tx, err := d.MustSuperAt(t, tenant).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	for day := range 5 {
		mustExecFor(t, tx, fmt.Sprintf(`
			insert into unpacked_sums values (:tenant, '2026-%02d-01', 0);
			insert into unpacked_customers values (:tenant, '2026-03-%02d');
			insert into unused_media (tenant_id, due, file) values (:tenant, now() + interval '1 hour', '%d.jpg')`,
			day+1, day+1, day), tenant)
	}
	mustExecFor(t, tx, `
		select pack_product_sums(0, 1), pack_customers(0, 1);
		select claim_unused_media(1)`, tenant)
	for _, task := range []string{"pack_sums", "claim_unused_media"} {
		query := `select from tenants_with_work where task = '` + task + `'`
		if n := mustCount(t, tx, query); n != 1 {
			t.Errorf("the queue has %d rows for %s of a tenant with more work, want 1", n, task)
		}
	}
	mustExecFor(t, tx, `
		delete from unused_media;
		select pack_product_sums(0, 9), pack_customers(0, 9);
		select claim_unused_media(1)`, tenant)
	if n := mustCount(t, tx, `select from tenants_with_work`); n != 0 {
		t.Errorf("the queue has %d rows when no work is left, want 0", n)
	}
}

// countScans returns how often the transaction has scanned tables.
func countScans(t *testing.T, tx pgx.Tx) (scans int) {
	t.Helper()
	const query = `select sum(seq_scan + coalesce(idx_scan, 0)) from pg_stat_xact_user_tables`
	if err := tx.QueryRow(t.Context(), query).Scan(&scans); err != nil {
		t.Fatal(err)
	}
	return scans
}

func mustCount(t *testing.T, tx pgx.Tx, query string) (n int) {
	t.Helper()
	if err := tx.QueryRow(t.Context(), `select count(*) from (`+query+`) rows`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func mustExecFor(t *testing.T, tx pgx.Tx, sql string, tenant tenancy.ID) {
	t.Helper()
	if _, err := tx.Exec(t.Context(), strings.ReplaceAll(sql, ":tenant", fmt.Sprint(tenant))); err != nil {
		t.Fatal(err)
	}
}

// A row that is stored after a visit expires after the next visit, whose time is set by the existing rows.
func TestATenantIsVisitedWhenItsFirstRowExpires(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	tenant := d.MustTenant(t, "a").ID
	for _, test := range []struct {
		task         tenants.Task
		column, work string
		wait         time.Duration
	}{
		{tenants.DeleteExpiredResponses, "delete_responses_at", ``, 24 * time.Hour},
		{tenants.DeleteExpiredUsage, "delete_usage_at", ``, 90 * 24 * time.Hour},
		{tenants.DeleteExpiredChangePlans, "delete_plans_at", ``, 24 * time.Hour},
		{tenants.DeleteExpiredResponses, "delete_responses_at", `
			insert into idempotency_keys (tenant_id, key, fingerprint, created_at)
			values (:tenant, 'k', sha256('k'), now() - interval '21 hours')`, 3 * time.Hour},
		{tenants.DeleteExpiredUsage, "delete_usage_at", `
			insert into api_keys (tenant_id, name, permissions, prefix, last4)
			values (:tenant, 'k', '{products:read}', 'sk_live_abcd', 'last');
			insert into key_usage (tenant_id, hour, key_id, route, status_2xx, status_3xx, status_4xx, status_5xx, refused,
			                       minutes, latency)
			select :tenant, now() - interval '88 days', id, 'products', 1, 0, 0, 0, 0, '{1}', '{1}' from api_keys`,
			48 * time.Hour},
		{tenants.DeleteExpiredUsage, "delete_usage_at", `
			insert into key_errors (tenant_id, key_id, at, method, route, status, code, request_id)
			select :tenant, id, now() - interval '89 days', 'GET', '/', 404, 'NOT_FOUND', 'r' from api_keys`,
			24 * time.Hour},
		{tenants.DeleteExpiredChangePlans, "delete_plans_at", `
			insert into change_plans (tenant_id, kind, state, title, actor, expires_at)
			values (:tenant, 'import', 'planned', 'a.csv', 'ann', now() + interval '5 hours')`, 5 * time.Hour},
	} {
		super := superOfTask(t, d, test.task.Function, tenant)
		sql := test.work + `; update tenants set ` + test.column + ` = now()`
		if _, err := super.Exec(t.Context(), strings.ReplaceAll(sql, ":tenant", fmt.Sprint(tenant))); err != nil {
			t.Fatal(err)
		}
		if err := test.task.Run(t.Context(), d.DB); err != nil {
			t.Fatal(err)
		}
		var at time.Time
		if err := super.QueryRow(t.Context(), `select `+test.column+` from tenants`).Scan(&at); err != nil {
			t.Fatal(err)
		}
		if wait := time.Until(at); wait > test.wait || wait < test.wait-time.Hour-time.Minute {
			t.Errorf("%s visits the tenant again in %s, want %s", test.task.Function, wait, test.wait)
		}
	}
}

// A tenant whose rows cannot be deleted is tried again later, and the others do not wait for it.
func TestATaskSkipsATenantThatFails(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "a test cannot add triggers to shards")
	for _, test := range []struct {
		task  tenants.Task
		table string
	}{
		{tenants.DeleteExpiredResponses, "idempotency_keys"},
		{tenants.DeleteExpiredUsage, "key_usage"},
		{tenants.DeleteExpiredChangePlans, "change_plans"},
		{tenants.DeleteUnusedDeliveries, "webhook_deliveries"},
		{tenants.PackSums, "unpacked_sums"},
	} {
		t.Run(test.task.Function, func(t *testing.T) {
			t.Parallel()
			d := dbtest.New(t)
			super := d.MustSuper(t)
			exec := func(sql string, tenant tenancy.ID) {
				t.Helper()
				if _, err := super.Exec(t.Context(), strings.ReplaceAll(sql, ":tenant", fmt.Sprint(tenant))); err != nil {
					t.Fatal(err)
				}
			}
			var work string
			for _, w := range taskWork {
				if w.name == test.task.Function {
					work = w.work
				}
			}
			bad := d.MustTenant(t, "bad").ID
			exec(work, bad)
			good := d.MustTenant(t, "good").ID
			exec(strings.ReplaceAll(work, "from api_keys", "from api_keys where tenant_id = :tenant"), good)
			exec(fmt.Sprintf(`
				create function fail() returns trigger language plpgsql as $$ begin raise 'broken row'; end $$;
				create trigger fail before delete on %s for each row when (old.tenant_id = :tenant) execute function fail()`,
				test.table), bad)
			task := test.task
			if task.Function == tenants.PackSums.Function {
				task.Few = 1 // no mark stays
			}
			err := task.Run(t.Context(), d.DB)
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("of tenant %d: ERROR: broken row", bad)) {
				t.Errorf("Run = %v, want the error of tenant %d", err, bad)
			}
			left := func() (tenants []tenancy.ID) {
				t.Helper()
				rows, _ := super.Query(t.Context(), `select distinct tenant_id from `+test.table)
				tenants, err := pgx.CollectRows(rows, pgx.RowTo[tenancy.ID])
				if err != nil {
					t.Fatal(err)
				}
				return tenants
			}
			if got := left(); len(got) != 1 || got[0] != bad {
				t.Errorf("the work of the tenants %v is left, want that of %d", got, bad)
			}
			exec(`drop trigger fail on `+test.table, bad)
			exec(`update tenants_with_work set due = now() where tenant_id = :tenant and attempts = 1 and due > now();
				update tenants set delete_usage_at = now() where id = :tenant`, bad)
			if err := task.Run(t.Context(), d.DB); err != nil || len(left()) != 0 {
				t.Errorf("the next Run = %v, the work of the tenants %v is left", err, left())
			}
		})
	}
}

// Changes of keys, members and plans of imports lock the tenant's row, and wait for at most two seconds.
func TestADeletionDoesNotLockTheTenant(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "a test cannot add triggers to shards")
	d := dbtest.New(t)
	tenant, super := d.MustTenant(t, "a").ID, d.MustSuper(t)
	if _, err := super.Exec(t.Context(), `create extension pgrowlocks`); err != nil {
		t.Fatal(err)
	}
	for _, w := range taskWork[4:] {
		if _, err := super.Exec(t.Context(), strings.ReplaceAll(w.work, ":tenant", fmt.Sprint(tenant))); err != nil {
			t.Fatal(err)
		}
		if _, err := super.Exec(t.Context(), fmt.Sprintf(`
			create or replace function locks_the_tenant() returns trigger language plpgsql security definer as $$
			begin
			    if exists (select from public.pgrowlocks('public.tenants') where modes <> '{"For Key Share"}') then
			        raise 'the tenant is locked';
			    end if;
			    return old;
			end $$;
			create trigger locks_the_tenant before delete on %s
			   for each row execute function locks_the_tenant()`, strings.TrimPrefix(w.left, "select from "))); err != nil {
			t.Fatal(err)
		}
		tx, err := super.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), w.call, 0); err != nil {
			t.Errorf("%s: %v", w.name, err)
		}
		_ = tx.Rollback(t.Context())
	}
}

// The deletion of a tenant with many rows locks its row for minutes. Meanwhile the tasks do the work of the others.
func TestTheDeletionOfATenantDelaysNoTask(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	deleted := d.MustTenant(t, "deleted").ID
	other := d.MustNeighbour(t, "other", deleted).ID
	super, deletes := d.MustSuperAt(t, deleted), d.MustSuperAt(t, deleted)
	for _, tenant := range []tenancy.ID{deleted, other} {
		if _, err := super.Exec(t.Context(), fmt.Sprintf(`
			insert into idempotency_keys (tenant_id, key, fingerprint, created_at)
			values (%[1]d, 'old', sha256('old'), now() - interval '25 hours');
			update tenants set delete_responses_at = now() - interval '1 hour' where id = %[1]d`, tenant)); err != nil {
			t.Fatal(err)
		}
	}
	tx, err := deletes.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := tx.Exec(t.Context(), `select from tenants where id = $1 for update`, deleted); err != nil {
		t.Fatal(err)
	}
	if err := tenants.DeleteExpiredResponses.Run(t.Context(), d.DB); err != nil {
		t.Error(err)
	}
	var left tenancy.ID
	err = super.QueryRow(t.Context(), `select max(tenant_id) from idempotency_keys`).Scan(&left)
	if err != nil || left != deleted {
		t.Errorf("the responses of the tenant %d are left, %v; want those of %d", left, err, deleted)
	}
}
