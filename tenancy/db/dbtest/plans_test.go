package dbtest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

// Each change of an index or a statement leaves the result as it is, and makes PostgreSQL read or sort more.
func TestAPlanThatReadsMoreHasFaults(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "plans are those of each node")
	const byName = `select id from categories where tenant_id = $1 and name = 'Name 7'`
	const withoutNames = `alter table categories drop constraint categories_tenant_id_name_key`
	const firstNames = `select name from categories where tenant_id = $1 order by name limit 5`
	for _, test := range []struct {
		name, change, statement string
		facts                   dbtest.PlanFacts
		want                    []string // parts of the faults
	}{
		{"a lookup by a key", "", byName, dbtest.Reads(1, "categories_tenant_id_name_key"), nil},
		{
			"a lookup without the key", withoutNames, byName,
			dbtest.Reads(1, "categories_tenant_id_name_key"),
			[]string{"removes 1999 rows of the tenant and keeps 1", "reads 2000 rows, want at most 1", "does not use the index"},
		},
		{
			"a lookup that hides the key", "", `select id from categories where tenant_id = $1 and name || '' = 'Name 7'`,
			dbtest.Reads(1), []string{"removes 1999 rows of the tenant and keeps 1", "reads 2000 rows, want at most 1"},
		},
		{"a page", "", firstNames, dbtest.Reads(5), nil},
		{
			"a page without the index of its order", withoutNames,
			firstNames, dbtest.Reads(5), []string{"sorts 2000 rows", "reads 2000 rows, want at most 5"},
		},
		{
			"an order that no index has", "", `select name from categories where tenant_id = $1 order by name || '' limit 5`,
			dbtest.Reads(2000), []string{"sorts 2000 rows"},
		},
		{
			"all rows for each row", "", `
				select (select count(*) from categories c where c.tenant_id = $1 and c.id % 7 = n)
				  from generate_series(1, 3) n`,
			dbtest.Reads(3 * 2000), []string{"reads the whole tenant for each row"},
		},
		{
			"a table without an index",
			withoutNames + "; alter table categories drop constraint categories_pkey cascade", byName,
			dbtest.Reads(4000), []string{"reads the whole table categories"},
		},
		{
			"without the tenant", "", `select id from categories where name = 'Name 7' and $1::bigint > 0`,
			dbtest.Reads(4000), []string{"reads rows without a condition on the tenant"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := dbtest.New(t)
			super, tenant := d.MustSuper(t), d.MustTenant(t, "shop").ID
			_, insertErr := super.Exec(t.Context(), `
				insert into categories (tenant_id, name)
				select id, 'Name ' || n from unnest(array[$1, $2]::bigint[]) id, generate_series(1, 2000) n`,
				tenant, d.MustTenant(t, "other").ID)
			_, changeErr := super.Exec(t.Context(), test.change+`; analyze categories`)
			var plans dbtest.Plans
			pool := plans.MustOpen(t, d, d.URL)
			plans.Take()
			sendErr := pool.Run(t.Context(), tenant, func(b *pgx.Batch) { b.Queue(test.statement, tenant) })
			if err := errors.Join(insertErr, changeErr, sendErr, pool.Ping(t.Context())); err != nil {
				t.Fatal(err)
			}
			statements, _ := plans.Take()
			faults := test.facts.Faults(statements)
			for _, part := range test.want {
				if !strings.Contains(fmt.Sprint(faults), part) {
					t.Errorf("the faults are %q, want %q", faults, part)
				}
			}
			if len(faults) != len(test.want) {
				t.Errorf("the faults are %q, want %d", faults, len(test.want))
			}
		})
	}
}
