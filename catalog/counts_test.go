package catalog_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy/db"
)

// 64 writers change the counts of the same categories, sellers and tags in transactions of several
// statements. All of them have the same slot.
func TestWritersOfTheSameCountsDoNotDeadlock(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	pool, err := db.Open(t.Context(), s.database.URL, func(c *pgx.ConnConfig) {
		c.RuntimeParams["lock_timeout"] = "1min" // the last of 64 writers waits for all others
		c.RuntimeParams["statement_timeout"] = "1min"
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	s.Store = catalog.New(pool)
	super := s.database.MustSuper(t)
	var function string
	const definition = `select pg_get_functiondef('take_slot'::regproc)`
	if err := super.QueryRow(t.Context(), definition).Scan(&function); err != nil {
		t.Fatal(err)
	}
	const slot, others = "pg_backend_pid() % 64", "own..own + 63"
	if !strings.Contains(function, slot) || !strings.Contains(function, others) {
		t.Fatalf("the function does not contain %q and %q: %s", slot, others, function)
	}
	function = strings.NewReplacer(slot, "0", others, "1..0").Replace(function)
	if _, err := super.Exec(t.Context(), function); err != nil {
		t.Fatal(err)
	}
	var categories, sellers []int64
	for n := range 3 {
		categories = append(categories, s.mustReference(t, catalog.Categories, fmt.Sprint("Category ", n)))
		sellers = append(sellers, s.mustReference(t, catalog.Sellers, fmt.Sprint("Seller ", n)))
	}
	var wg sync.WaitGroup
	for worker := range 64 {
		wg.Go(func() {
			var rows []catalog.Row
			for n := range 6 {
				rows = append(rows, catalog.Row{Changes: product(fmt.Sprint("P", (worker+n)%80), func(c *catalog.Changes) {
					c.CategoryID = catalog.Value(categories[rand.N(3)])
					c.SellerID = catalog.Value(sellers[rand.N(3)])
					c.Status = catalog.Value(catalog.Statuses[rand.N(2)])
					c.Tags = catalog.Value([]string{fmt.Sprint("tag ", rand.N(3))})
				})})
			}
			if _, err := s.Upsert(t.Context(), s.by, rows); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	var deadlocks int
	err = super.QueryRow(t.Context(), `
		select deadlocks
		  from pg_stat_database
		 where datname = current_database()`).Scan(&deadlocks)
	if err != nil || deadlocks > 0 {
		t.Errorf("%d deadlocks, %v", deadlocks, err)
	}
	s.mustAgree(t)
}
