package tenancy_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/tenancytest"
)

// While a tenant moves, its clients get correct answers or an error that they may repeat. No acknowledged write is lost,
// no answer is empty or lacks a write that was acknowledged before, and ids increase.
func TestATenantMovesWhileClientsReadAndWrite(t *testing.T) {
	t.Parallel()
	if !tenancytest.OnCitus() {
		t.Skip("needs a Citus cluster: set STOREROOM_CITUS")
	}
	d := tenancytest.New(t)
	tenant := d.MustTenant(t, "acme").ID
	other := tenancytest.MustOpen(t, d.URL) // another instance
	ctx, stop := context.WithCancel(t.Context())
	var mu sync.Mutex
	stored := map[int64]string{}
	var failed, reads atomic.Int64
	var clients sync.WaitGroup
	type row struct {
		ID   int64
		Name string
	}
	for client := range 8 {
		clients.Go(func() {
			db := []*tenancy.DB{d.DB, other}[client%2]
			for n := 0; ctx.Err() == nil; n++ {
				name := fmt.Sprintf("%d-%d", client, n)
				created, err := tenancy.All[row](t.Context(), db, tenant,
					`insert into categories (tenant_id, name) values ($1, $2) returning id, name`, tenant, name)
				if err != nil {
					mustBeRetryable(t, err)
					failed.Add(1)
					continue
				}
				mu.Lock()
				stored[created[0].ID] = name
				mu.Unlock()
			}
		})
		clients.Go(func() {
			db := []*tenancy.DB{other, d.DB}[client%2]
			for ctx.Err() == nil {
				mu.Lock()
				before := len(stored)
				mu.Unlock()
				var counted []struct{ Count int }
				read := func(b *pgx.Batch) {
					tenancy.QueueRows(b, &counted, `select count(*) from categories where tenant_id = $1`, tenant)
				}
				var err error
				if client%2 == 0 {
					err = db.Run(t.Context(), tenant, read)
				} else {
					err = db.Snapshot(t.Context(), tenant, 5*time.Second, read)
				}
				switch {
				case err != nil:
					mustBeRetryable(t, err)
					failed.Add(1)
				case counted[0].Count < before:
					t.Errorf("a read counts %d rows, %d were stored before", counted[0].Count, before)
				}
				reads.Add(1)
			}
		})
	}
	for range 4 {
		time.Sleep(300 * time.Millisecond)
		mustMove(t, d, tenant)
	}
	time.Sleep(300 * time.Millisecond)
	stop()
	clients.Wait()
	found, err := tenancy.All[row](t.Context(), d.DB, tenant, `select id, name from categories where tenant_id = $1`, tenant)
	if err != nil {
		t.Fatal(err)
	}
	for id, name := range stored {
		if !slices.Contains(found, row{id, name}) {
			t.Errorf("the category %d %s was acknowledged, but is not stored", id, name)
		}
	}
	t.Logf("%d acknowledged writes, %d reads, %d errors", len(stored), reads.Load(), failed.Load())
}

func mustBeRetryable(t *testing.T, err error) {
	t.Helper()
	if code := tenancy.SQLState(err); code != "55P03" && code != "57S01" && !errors.Is(err, tenancy.ErrBusy) {
		t.Errorf("%v (%s)", err, code)
	}
}

// mustMove moves the shard group of a tenant to the other worker.
func mustMove(t *testing.T, d *tenancytest.Database, tenant tenancy.ID) {
	t.Helper()
	began := time.Now()
	if _, err := d.MustSuper(t).Exec(t.Context(), `
		select citus_move_shard_placement(s.shardid, here.nodename, here.nodeport, there.nodename, there.nodeport, 'force_logical')
		  from pg_dist_shard s
		  join pg_dist_placement p using (shardid)
		  join pg_dist_node here on here.groupid = p.groupid
		  join pg_dist_node there on there.groupid not in (0, here.groupid)
		 where s.logicalrelid = 'storeroom_citus.shards'::regclass
		   and s.shardid = get_shard_id_for_distribution_column('storeroom_citus.shards', $1::bigint)`, tenant); err != nil {
		t.Error(err)
	}
	t.Logf("moved in %v", time.Since(began))
}
