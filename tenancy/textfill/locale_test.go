package textfill_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/searchtext"
	"github.com/storeroom/storeroom/tenancy/textfill"
)

// The locale of the database decides which characters the index has. What a search finds does not depend on it.
func TestSearchesWithEachLocale(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "it needs a database without shards")
	super := dbtest.New(t).MustSuper(t)
	for locale, wantUnindexed := range map[string]bool{"C": true, "C.UTF-8": false} {
		name := "locale_" + strings.ToLower(strings.NewReplacer(".", "_", "-", "_").Replace(locale)) +
			fmt.Sprint("_", super.PgConn().PID())
		create := fmt.Sprintf(`create database %s template template0 encoding 'UTF8' lc_collate %[2]s lc_ctype %[2]s`,
			name, "'"+locale+"'")
		if _, err := super.Exec(t.Context(), create); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { // before the cleanup of super
			if _, err := super.Exec(context.Background(), `drop database `+name+` with (force)`); err != nil {
				t.Error(err)
			}
		})
		config := super.Config().Copy()
		config.Database = name
		conn, err := pgx.ConnectConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		if _, err := conn.Exec(t.Context(), `
			create extension pg_trgm;
			create extension btree_gin;
			create table texts (tenant_id bigint, name text, text text collate "C");
			create index texts_search on texts using gin (tenant_id, text gin_trgm_ops);
			set enable_seqscan = off`); err != nil {
			t.Fatal(err)
		}
		unindexed, err := textfill.Unindexed(t.Context(), conn)
		if err != nil || (len(unindexed) == 11) != wantUnindexed || !wantUnindexed && len(unindexed) > 0 {
			t.Errorf("locale %s: Unindexed = %q, %v", locale, unindexed, err)
		}
		for _, name := range []string{"红色雨伞", "Café Crème", "ΧΥΜΟΣ", "Ёлка", "빨간 우산", "Bolt(M8)", "ランプ", "Straße 50%"} {
			if _, err := conn.Exec(t.Context(), `insert into texts values (1, $1, $2)`, name, searchtext.Text(name)); err != nil {
				t.Fatal(err)
			}
		}
		for search, want := range map[string]string{
			"雨伞": "红色雨伞", "伞": "红色雨伞", "cafe": "Café Crème", "χυμος": "ΧΥΜΟΣ", "елка": "Ёлка", "лка": "Ёлка",
			"우산": "빨간 우산", "m8": "Bolt(M8)", "ンプ": "ランプ", "STRASSE": "Straße 50%", "50%": "Straße 50%", "asse": "Straße 50%",
		} {
			var got *string
			err := conn.QueryRow(t.Context(), `
				select string_agg(name, ', ') from texts where tenant_id = 1 and text like all ($1)`,
				searchtext.Patterns(search)).Scan(&got)
			if err != nil || got == nil || *got != want {
				t.Errorf("locale %s: %q finds %v, %v, want %q", locale, search, got, err, want)
			}
		}
	}
}
