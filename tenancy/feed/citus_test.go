package feed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

// While a tenant moves between nodes, whose transaction ids differ, a reader gets each change once.
func TestAReaderOfAMovingTenantGetsEachChangeOnce(t *testing.T) {
	t.Parallel()
	if !dbtest.OnCitus() {
		t.Skip("needs a Citus cluster: set STOREROOM_CITUS")
	}
	d := dbtest.New(t)
	tenant := d.MustTenant(t, "acme").ID
	s := New(dbtest.MustOpen(t, d.URL), MinRetention)
	ctx, stop := context.WithCancel(t.Context())
	var mu sync.Mutex
	var stored []string
	var unread atomic.Int64 // changes that the reader has not got yet
	var clients sync.WaitGroup
	for client := range 4 {
		clients.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				// The writers wait for the reader, so that it is not an epoch behind after slow moves.
				if unread.Load() > 200 {
					time.Sleep(2 * time.Millisecond)
					continue
				}
				created, err := db.All[struct{ ID string }](t.Context(), d.DB, tenant,
					`insert into categories (tenant_id, name) values ($1, $2) returning id::text`, tenant,
					fmt.Sprintf("%d-%d", client, n))
				if err != nil {
					mustBeRetryable(t, err)
					continue
				}
				mu.Lock()
				stored = append(stored, created[0].ID)
				mu.Unlock()
				unread.Add(1)
				time.Sleep(2 * time.Millisecond) // a move copies what was written before it
			}
		})
	}
	read := map[string]int{}
	after := Start
	epochs := map[int64]bool{}
	mustRead := func() (entries int) {
		page, err := s.Read(t.Context(), tenant, Query{After: after, Types: []string{"category"}, Limit: 20})
		if err != nil {
			mustBeRetryable(t, err)
			return 0
		}
		for _, e := range page.Entries {
			read[e.ID]++
			epochs[e.At.Epoch] = true
		}
		unread.Add(-int64(len(page.Entries)))
		after = page.Next
		return len(page.Entries)
	}
	clients.Go(func() {
		for ctx.Err() == nil {
			mustRead()
		}
	})
	for range 4 {
		time.Sleep(300 * time.Millisecond)
		d.MustMove(t, tenant)
	}
	time.Sleep(300 * time.Millisecond)
	stop()
	clients.Wait()
	for last := time.Now(); time.Since(last) < time.Minute; {
		if mustRead() > 0 {
			last = time.Now()
		} else if len(read) >= len(stored) {
			break
		} else {
			time.Sleep(50 * time.Millisecond) // transactions of other tests on the node delay the feed
		}
	}
	wrong := map[string]int{}
	for _, id := range stored {
		if read[id] != 1 {
			wrong[id] = read[id]
		}
	}
	if len(wrong) > 0 {
		t.Errorf("of %d changes, the reader got %d not once, but so often: %.1000s", len(stored), len(wrong),
			fmt.Sprint(wrong))
	}
	if len(epochs) != 5 {
		t.Errorf("there are %d epochs, want one for each time on a node", len(epochs))
	}
	t.Logf("%d changes", len(stored))
}

func mustBeRetryable(t *testing.T, err error) {
	t.Helper()
	code := db.SQLState(err)
	if !slices.Contains([]string{"55P03", "57S01"}, code) && !errors.Is(err, tenancy.ErrBusy) {
		t.Errorf("%v (%s)", err, code)
	}
}
