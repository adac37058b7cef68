package db_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

type labelled struct{ Label *string }

func TestRowsAreReadByTheNamesOfTheirColumns(t *testing.T) {
	t.Parallel()
	type row struct {
		labelled
		SoldID  int64
		Tags    []string
		Ignored string `db:"-"`
	}
	d := dbtest.New(t)
	pool, tenant := dbtest.MustOpen(t, d.URL+"&pool_max_conns=1"), d.MustTenant(t, "a").ID
	one := []row{{SoldID: 1, Tags: []string{"a", "b"}}, {labelled: labelled{new("x")}, SoldID: 2}}
	// The last two queries have other columns than the ones before them, on the same connection.
	for _, sql := range []string{
		`values (null::text, 1::bigint, array['a', 'b']), ('x', 2, null)) r (label, sold_id, tags)`,
		`values (null::text, 1::bigint, array['a', 'b']), ('x', 2, null)) r (label, sold_id, tags)`,
		`values (1::int, array['a', 'b'], null::varchar), (2, null, 'x')) r (sold_id, tags, label)`,
		`values (array['a', 'b']::varchar[], 1::bigint, null::text), (null, 2, 'x')) r (tags, sold_id, label)`,
	} {
		got, err := db.All[row](t.Context(), pool, tenant, `select * from (`+sql)
		if diff := cmp.Diff(one, got, cmp.AllowUnexported(row{})); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", sql, err, diff)
		}
	}
	for sql, want := range map[string]string{
		`select 1::bigint as sold_id`: "3 fields for 1 columns",
		`select 1::bigint as sold_id, null::text as label, null::text[] as ignored`: `no field for the column "ignored"`,
		`select 'x' as sold_id, null::text as label, null::text[] as tags`:          `read the column "sold_id"`,
	} {
		if _, err := db.All[row](t.Context(), pool, tenant, sql); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", sql, err, want)
		}
	}
}
