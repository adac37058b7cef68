package db_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

func TestConnectionsPlanAgainAfterATableHasGrown(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "the coordinator has no rows")
	d := dbtest.New(t)
	tenant := d.MustTenant(t, "acme")
	db := dbtest.MustOpen(t, d.URL+"&pool_max_conns=1")
	super := d.MustSuper(t)
	const prepare = `prepare find as select id from categories where tenant_id = $1 and name = $2`
	plan := func(conn *pgx.Conn) (plan string) {
		rows, _ := conn.Query(context.WithoutCancel(t.Context()), `explain execute find(1, 'Lamps')`, pgx.QueryExecModeExec)
		plan, err := pgx.CollectOneRow(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		return plan
	}
	planOfPool := func() (found string) {
		if err := db.Conn(t.Context(), func(conn *pgx.Conn) error { found = plan(conn); return nil }); err != nil {
			t.Fatal(err)
		}
		return found
	}
	mustExec(t, super, prepare+`; set plan_cache_mode = force_generic_plan`)
	if err := db.Conn(t.Context(), func(conn *pgx.Conn) error {
		_, err := conn.Exec(t.Context(), prepare)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	other, before := plan(super), planOfPool()
	grow := func() {
		const insert = `insert into categories (tenant_id, name) select $1, 'C' || gen_random_uuid() from generate_series(1, 5000)`
		if _, err := super.Exec(t.Context(), insert, tenant.ID); err != nil {
			t.Fatal(err)
		}
	}
	grow()
	if after := plan(super); after != other {
		t.Fatalf("PostgreSQL replaced the plan %q by %q itself", other, after)
	}
	for end := time.Now().Add(time.Minute); planOfPool() == before; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after the table has grown, a connection of the pool still uses the plan %q", before)
		}
	}
}
