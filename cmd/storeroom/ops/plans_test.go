//go:build ops

package ops

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// An instance that applies a plan of several parts is killed, three times. The plan is applied in the end, and each
// product was changed once.
func TestAKilledInstanceContinuesAPlan(t *testing.T) {
	const products, kills = 20_000, 3
	h := newService(t)
	k := h.tenant(t, "acme", 1_000_000)
	mustExec(t, h.database, `
		insert into products (tenant_id, sku, name, search, price, warehouse_id, status, condition)
		select tenant_id, 'sku-' || n, 'Product', 'product', 1000, id, 'active', 'new'
		  from warehouses, generate_series(1, $1::int) n
		 where is_default`, products)
	port := freePort(t)
	i := h.startInstance(t, port)
	c := newClient(t, i.base, k.Key, false)
	var plan struct {
		ID       int64
		State    string
		Failure  *string
		Counts   struct{ Updated, Skipped int }
		Progress struct{ Rows int }
	}
	get := func() string {
		t.Helper()
		c.must(t, "GET", fmt.Sprint("/api/plans/", plan.ID), nil, &plan)
		return plan.State
	}
	c.must(t, "POST", "/api/products/changes", map[string]any{
		"filter": map[string]any{}, "adjust_price_percent": 10, "add_tags": []string{"sale"},
	}, &plan)
	await(t, time.Minute, "the plan", func() bool { return get() == "planned" })
	c.must(t, "POST", fmt.Sprintf("/api/plans/%d/apply", plan.ID), nil, nil)
	var applied []int
	for range kills {
		before := plan.Progress.Rows
		await(t, time.Minute, "a part", func() bool { return get() != "applying" || plan.Progress.Rows > before })
		time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond) // during the next part
		if applied = append(applied, plan.Progress.Rows); plan.State != "applying" {
			t.Fatalf("the plan is %s before the kill, want applying", plan.State)
		}
		_ = i.Process.Kill()
		<-i.done
		i = h.startInstance(t, port)
	}
	t.Cleanup(func() { _ = i.Process.Kill(); <-i.done })
	await(t, time.Minute, "the rest of the plan", func() bool { return get() != "applying" })
	if plan.State != "applied" || plan.Counts.Updated != products || plan.Counts.Skipped != 0 {
		t.Errorf("the plan is %s, %v, with %+v, want all products updated", plan.State, plan.Failure, plan.Counts)
	}
	t.Logf("killed when these rows were applied: %v", applied)
	if n := mustQuery[int64](t, h.database, `
		select count(*) from products where price = 1100 and tags = '{sale}'`); n != products {
		t.Errorf("%d products have the new price, want %d", n, products)
	}
	if n := mustQuery[int64](t, h.database, `
		select count(*)
		  from (select unnest(ids) from changes where 'product' = any (types) and action = 'updated'
		         group by 1 having count(*) = 1) once`); n != products {
		t.Errorf("%d products have one change in the feed, want %d", n, products)
	}
}
