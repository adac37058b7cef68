//go:build ops

package ops

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Clients sell, cancel, refund and adjust scarce products while instances and PostgreSQL are killed. They repeat each
// request until it is answered. In the end, the stock is what the orders that are stored left.
func TestStockOfOrdersSurvivesKilledProcesses(t *testing.T) {
	h := newService(t, "STOREROOM_LOG_LEVEL=warn")
	k := h.tenant(t, "acme", 10_000_000)
	ports := []int{freePort(t), freePort(t)}
	instances := []*instance{h.startInstance(t, ports[0]), h.startInstance(t, ports[1])}
	first := newClient(t, instances[0].base, k.Key, false)
	first.must(t, "POST", "/api/channels", map[string]any{"identifier": "web", "label": "Web", "takes_stock": true}, nil)
	var products []int64
	for n := range 4 {
		var p struct{ ID int64 }
		first.must(t, "POST", "/api/products", map[string]any{
			"sku": fmt.Sprint("sku-", n), "name": "Scarce", "price": 1, "quantity": 20,
		}, &p)
		products = append(products, p.ID)
	}
	var sellers []*seller
	var all sync.WaitGroup
	var over atomic.Bool
	for n := range 8 {
		s := &seller{
			client: newClient(t, instances[n%2].base, k.Key, false), random: rand.New(rand.NewPCG(2, uint64(n))), id: n,
			products: products, added: make([]int, len(products)), accepted: map[string]bool{},
		}
		sellers = append(sellers, s)
		all.Go(func() {
			for !over.Load() {
				s.write(t)
			}
		})
	}
	for n := range 12 {
		time.Sleep(500 * time.Millisecond)
		if n == 6 {
			h.postgres.kill(t)
			h.postgres.stop(t)
			h.postgres.start(t)
		}
		_ = instances[n%2].Process.Kill()
		<-instances[n%2].done
		instances[n%2] = h.startInstance(t, ports[n%2])
	}
	time.Sleep(time.Second)
	over.Store(true)
	all.Wait()

	want, orders, repeated := []int{20, 20, 20, 20}, 0, 0
	for _, s := range sellers {
		s.count(t, want)
		orders += len(s.accepted)
		repeated += s.repeated
	}
	var got []int
	for _, id := range products {
		var p struct{ Quantity int }
		first.must(t, "GET", fmt.Sprint("/api/products/", id), nil, &p)
		got = append(got, p.Quantity)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the stock differs from the orders (-orders +stock):\n%s", diff)
	}
	if orders < 100 || repeated == 0 {
		t.Errorf("only %d orders were accepted, and %d requests repeated", orders, repeated)
	}
	t.Logf("%d accepted orders, %d repeated requests", orders, repeated)
	h.run(t, "", nil, "verify", "--tenant", "acme")
}

// seller sells from stock. Each of its orders has two products.
type seller struct {
	client
	random   *rand.Rand
	id, sent int
	products []int64
	added    []int           // by adjustments, of each product
	accepted map[string]bool // orders, and whether it was answered that they are cancelled
	repeated int
}

// mustSend repeats a request until it is answered. A refusal for lack of stock is an answer.
func (s *seller) mustSend(t *testing.T, path, once string, body any) reply {
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		a, err := s.send(t.Context(), "POST", path, once, body)
		if err == nil && (a.success() || a.status == http.StatusUnprocessableEntity) {
			return a
		}
		if err == nil && !a.asksForRetry() || time.Now().After(end) {
			t.Errorf("%s: %v %v", path, a, err)
			return a
		}
		s.repeated++
	}
}

func (s *seller) write(t *testing.T) {
	s.sent++
	name := fmt.Sprintf("n-%d-%d", s.id, s.sent)
	product := s.random.IntN(len(s.products))
	earlier := fmt.Sprintf("n-%d-%d", s.id, s.sent-1-s.random.IntN(10))
	_, sold := s.accepted[earlier]
	switch kind := s.random.IntN(8); {
	case kind < 4:
		other := (product + 1) % len(s.products)
		a := s.mustSend(t, "/api/orders", "", map[string]any{
			"number": name, "placed_at": "2026-03-01T09:30:00Z", "channel": "web",
			"items": []any{item(product, 1), item(other, 2)},
		})
		if a.success() {
			s.accepted[name] = false
		}
	case kind < 6 && sold:
		if s.mustSend(t, "/api/orders/"+earlier+"/cancel", "", nil).success() {
			s.accepted[earlier] = true
		}
	case kind == 6 && sold:
		s.mustSend(t, "/api/orders/"+earlier+"/refunds", "", map[string]any{
			"amount": "0.01", "reference": name, "restock": true, "restock_items": []any{map[string]any{"line": 2, "quantity": 1}},
		})
	default:
		path, quantity := fmt.Sprintf("/api/products/%d/inventory/adjust", s.products[product]), 1+s.random.IntN(2)
		if s.mustSend(t, path, name, map[string]any{"type": "add", "quantity": quantity}).success() {
			s.added[product] += quantity
		}
	}
}

func item(product, quantity int) map[string]any {
	return map[string]any{"sku": fmt.Sprint("sku-", product), "quantity": quantity, "unit_price": 1}
}

// count adds to want what the seller added, and subtracts what its stored orders took and did not return.
func (s *seller) count(t *testing.T, want []int) {
	for product, quantity := range s.added {
		want[product] += quantity
	}
	for n := range s.sent {
		number := fmt.Sprintf("n-%d-%d", s.id, n+1)
		a, err := s.send(t.Context(), "GET", "/api/orders/"+number, "", nil)
		cancelled, accepted := s.accepted[number]
		if err != nil || accepted != (a.status == http.StatusOK) {
			t.Errorf("order %s: accepted is %t, then %v %v", number, accepted, a, err)
		}
		if !accepted {
			continue
		}
		var order struct {
			Status string
			Items  []struct {
				SKU      string
				Quantity int
			}
			Refunds []struct{ Reference string }
		}
		s.must(t, "GET", "/api/orders/"+number, nil, &order)
		if cancelled != (order.Status == "cancelled") {
			t.Errorf("order %s is %s, but the cancellation was answered: %t", number, order.Status, cancelled)
		}
		if cancelled {
			continue
		}
		for line, i := range order.Items {
			var product int
			_, _ = fmt.Sscanf(i.SKU, "sku-%d", &product)
			if want[product] -= i.Quantity; line == 1 {
				want[product] += min(len(order.Refunds), i.Quantity) // each refund returns one piece
			}
		}
	}
}
