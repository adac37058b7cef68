package db_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

// Three tenants run random operations with the same names concurrently, on two connections. After each
// step a tenant must see exactly the rows of its model.
func TestConcurrentTenantsSeeOnlyTheirRows(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	pool := dbtest.MustOpen(t, d.URL+"&pool_max_conns=2")
	var tenants []tenancy.ID
	for _, slug := range []string{"a", "b", "c"} {
		tenants = append(tenants, d.MustTenant(t, slug).ID)
	}
	name := rapid.SampledFrom([]string{"Coffee", "Rice", "Spice", "Tea"})
	op := rapid.Custom(func(t *rapid.T) step {
		return step{
			rapid.SampledFrom(slices.Sorted(maps.Keys(steps))).Draw(t, "what"), name.Draw(t, "name"), name.Draw(t, "other"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		var group errgroup.Group
		for _, tenant := range tenants {
			script := rapid.SliceOfN(op, 1, 12).Draw(t, fmt.Sprintf("tenant %d", tenant))
			group.Go(func() error { return play(t.Context(), pool, tenant, script) })
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
	})
}

// A step is an operation on categories and on the model.
type step struct{ What, Name, Other string }

var steps = map[string]func(context.Context, *db.DB, tenancy.ID, step, map[string]bool) error{
	"insert": func(ctx context.Context, pool *db.DB, id tenancy.ID, s step, model map[string]bool) error {
		_, err := pool.Exec(ctx, id, insertCategory, id, s.Name)
		if model[s.Name] && db.SQLState(err) == "23505" {
			return nil
		}
		model[s.Name] = true
		return err
	},
	"delete": func(ctx context.Context, pool *db.DB, id tenancy.ID, s step, model map[string]bool) error {
		_, err := pool.Exec(ctx, id, deleteCategory, id, s.Name)
		delete(model, s.Name)
		return err
	},
	// The condition has no tenant_id, so only the policy protects the rows of the others.
	"delete all": func(ctx context.Context, pool *db.DB, id tenancy.ID, _ step, model map[string]bool) error {
		_, err := pool.Exec(ctx, id, `delete from categories`)
		clear(model)
		return err
	},
	"rename in an Update": func(ctx context.Context, pool *db.DB, id tenancy.ID, s step, model map[string]bool) error {
		var found []named
		err := pool.Update(ctx, id, func(b *pgx.Batch) {
			db.QueueRows(b, &found, `select name from categories where name = $1 for update`, s.Name)
		}, func(b *pgx.Batch) error {
			b.Queue(`update categories set name = $2 where name = $1`, s.Name, s.Other)
			return nil
		})
		if model[s.Name] != (len(found) == 1) {
			return fmt.Errorf("tenant %d locks %v under the name %s, its model is %v", id, found, s.Name, model)
		}
		if s.Name != s.Other && model[s.Name] && model[s.Other] && db.SQLState(err) == "23505" {
			return nil
		}
		if model[s.Name] {
			delete(model, s.Name)
			model[s.Other] = true
		}
		return err
	},
	"insert in a Tx that rolls back": func(
		ctx context.Context, pool *db.DB, id tenancy.ID, s step, model map[string]bool,
	) error {
		err := pool.Tx(ctx, id, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, insertCategory+` on conflict do nothing`, id, s.Name); err != nil {
				return err
			}
			return errStop
		})
		if errors.Is(err, errStop) {
			return nil
		}
		return err
	},
}

// play deletes the rows of a tenant, runs the steps, and compares the rows with the model after each.
func play(ctx context.Context, pool *db.DB, tenant tenancy.ID, script []step) error {
	model := map[string]bool{}
	for _, s := range append([]step{{What: "delete all"}}, script...) {
		if err := steps[s.What](ctx, pool, tenant, s, model); err != nil {
			return fmt.Errorf("tenant %d, %v: %w", tenant, s, err)
		}
		seen, err := db.All[named](ctx, pool, tenant, listCategories)
		if err != nil {
			return fmt.Errorf("tenant %d, list: %w", tenant, err)
		}
		var want []named
		for _, name := range slices.Sorted(maps.Keys(model)) {
			want = append(want, named{name})
		}
		if !slices.Equal(want, seen) {
			return fmt.Errorf("after %v tenant %d sees %v, want %v", s, tenant, seen, want)
		}
	}
	return nil
}
