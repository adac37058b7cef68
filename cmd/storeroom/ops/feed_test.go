//go:build ops

package ops

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Clients change products, stock and orders while instances are killed and a standby replaces the primary. A follower
// of the changes has the objects of the database in the end.
func TestAFollowerOfChangesHasTheObjectsOfTheDatabase(t *testing.T) {
	h := newReplicated(t, 2)
	mustExec(t, h.postgres.AdminURL, `alter system set synchronous_standby_names = 'ANY 1 (*)'`)
	mustExec(t, h.postgres.AdminURL, `select pg_reload_conf()`)
	h.awaitStreaming(t)
	k := h.tenant(t, "acme", 10_000_000)
	ports := []int{freePort(t), freePort(t)}
	instances := []*instance{h.startInstance(t, ports[0]), h.startInstance(t, ports[1])}
	var writers []*feedWriter
	var all sync.WaitGroup
	var over atomic.Bool
	for n := range 6 {
		w := &feedWriter{
			client: newClient(t, instances[n%2].base, k.Key, false), random: rand.New(rand.NewPCG(1, uint64(n))), id: n,
		}
		writers = append(writers, w)
		all.Go(func() {
			for !over.Load() {
				w.write(t)
			}
		})
	}
	follower := &follower{clients: []client{writers[0].client, writers[1].client}, objects: map[string]map[string]any{}}
	var following sync.WaitGroup
	following.Go(func() {
		for !over.Load() {
			follower.read(t, 2)
		}
	})
	kill := func() {
		for n := range 6 {
			time.Sleep(400 * time.Millisecond)
			_ = instances[n%2].Process.Kill()
			<-instances[n%2].done
			instances[n%2] = h.startInstance(t, ports[n%2])
		}
	}
	kill()
	before := follower.entries.Load()
	h.failOver(t)
	await(t, 60*time.Second, "changes on the new primary", func() bool { return follower.entries.Load() > before+200 })
	kill()
	over.Store(true)
	all.Wait()
	following.Wait()
	for empty := 0; empty < 3; {
		if empty++; follower.read(t, 1) > 0 {
			empty = 0
		}
	}
	stored := h.objects(t, newClient(t, instances[0].base, k.Key, false))
	if diff := cmp.Diff(stored, follower.objects); diff != "" {
		t.Errorf("the database and the follower differ (-database +follower):\n%s", diff)
	}
	epochs := h.texts(t, `select epoch::text from feed_epochs where epoch in (select epoch from changes)`)
	if len(epochs) != 2 {
		t.Errorf("changes are of the epochs %v, want one for each primary", epochs)
	}
	h.faults["instance killed"] = 12
	t.Logf("%d entries and %d failed requests of the follower; %d products, %d orders", follower.entries.Load(),
		follower.failed, len(stored["product"]), len(stored["order"]))
	h.run(t, "", nil, "verify", "--tenant", "acme")
}

// feedWriter makes random changes. A request may fail or have an unknown outcome.
type feedWriter struct {
	client
	random *rand.Rand
	id     int
	orders int
}

func (w *feedWriter) write(t *testing.T) {
	send := func(method, path string, body any) (data struct{ ID int64 }) {
		a, err := w.send(t.Context(), method, path, "", body)
		if err != nil || !a.success() {
			time.Sleep(5 * time.Millisecond)
			return
		}
		_ = json.Unmarshal(a.body, &struct{ Data any }{&data})
		return data
	}
	sku := fmt.Sprint("sku-", w.random.IntN(60))
	product := map[string]any{
		"sku": sku, "name": fmt.Sprint("name ", w.random.IntN(100)), "price": w.random.IntN(1000),
		"quantity": w.random.IntN(50),
	}
	order := fmt.Sprintf("n-%d-%d", w.id, max(0, w.orders-w.random.IntN(10)))
	switch w.random.IntN(8) {
	case 0, 1:
		send("POST", "/api/products/bulk", map[string]any{"items": []any{product}})
	case 2:
		if p := send("POST", "/api/products", product); p.ID > 0 {
			send("PATCH", fmt.Sprint("/api/products/", p.ID), map[string]any{"price": w.random.IntN(1000)})
		}
	case 3, 4:
		a, err := w.send(t.Context(), "GET", "/api/products?per_page=5&search="+sku, "", nil)
		var list struct{ Data []struct{ ID int64 } }
		if err != nil || json.Unmarshal(a.body, &list) != nil || len(list.Data) == 0 {
			return
		}
		path := fmt.Sprint("/api/products/", list.Data[0].ID)
		if w.random.IntN(5) == 0 {
			send("DELETE", path, nil)
			return
		}
		send("POST", path+"/inventory/adjust", map[string]any{"type": "add", "quantity": 1 + w.random.IntN(5)})
	case 5, 6:
		w.orders++
		send("POST", "/api/orders", map[string]any{
			"number": fmt.Sprintf("n-%d-%d", w.id, w.orders), "placed_at": time.Now(), "channel": "web",
			"customer": map[string]any{"id": fmt.Sprint("c", w.random.IntN(9)), "name": "Ann"},
			"items":    []any{map[string]any{"sku": sku, "quantity": 1, "unit_price": 1 + w.random.IntN(500)}},
		})
	case 7:
		if path := "/api/orders/" + order; w.random.IntN(2) == 0 {
			send("POST", path+"/refunds", map[string]any{"amount": "0.50"})
		} else {
			send("POST", path+"/cancel", nil)
		}
	}
}

// follower keeps the objects of the changes.
type follower struct {
	clients []client
	after   string
	objects map[string]map[string]any // by type and id
	entries atomic.Int64
	failed  int
}

// read reads a page from one of the instances and returns the number of its entries.
func (f *follower) read(t *testing.T, wait int) int {
	from := f.clients[rand.IntN(len(f.clients))]
	path := fmt.Sprintf("/api/changes?types=product,stock,order&limit=50&wait=%d&after=%s", wait, url.QueryEscape(f.after))
	a, err := from.send(t.Context(), "GET", path, "", nil)
	if err != nil || a.status != http.StatusOK {
		if err == nil && !a.asksForRetry() {
			t.Errorf("the follower got %v", a)
		}
		f.failed++
		time.Sleep(20 * time.Millisecond)
		return 1
	}
	var page struct {
		Data []struct {
			Type, ID string
			Data     any
		}
		Meta struct {
			Next string `json:"next_cursor"`
		}
	}
	if err := json.Unmarshal(a.body, &page); err != nil {
		t.Error(err)
	}
	for _, e := range page.Data {
		if f.objects[e.Type] == nil {
			f.objects[e.Type] = map[string]any{}
		}
		if f.objects[e.Type][e.ID] = e.Data; e.Data == nil {
			delete(f.objects[e.Type], e.ID)
		}
	}
	f.after = page.Meta.Next
	f.entries.Add(int64(len(page.Data)))
	return len(page.Data)
}

// objects returns the products, their stock and the orders as their GET returns them.
func (h *service) objects(t *testing.T, c client) map[string]map[string]any {
	t.Helper()
	objects := map[string]map[string]any{}
	for _, from := range []struct{ objectType, sql, path string }{
		{"product", `select id::text from products`, "/api/products/%s"},
		{"stock", `select id::text from products`, "/api/products/%s/inventory"},
		{"order", `select number from orders`, "/api/orders/%s"},
	} {
		objects[from.objectType] = map[string]any{}
		for _, id := range h.texts(t, from.sql) {
			var object any
			c.must(t, "GET", strings.Replace(from.path, "%s", id, 1), nil, &object)
			objects[from.objectType][id] = object
		}
	}
	return objects
}
