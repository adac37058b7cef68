package main

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
)

// maxAllocations is the largest number of allocations to get a product.
const maxAllocations = 170

// allocations measures the allocations of single requests in the handler, without network
// and client.
func allocations(ctx context.Context, s *service) ([]allocation, error) {
	shop := s.shops[large]
	byID := shop.byID(newRandom(0)).path
	var all []allocation
	for _, m := range []struct {
		name    string
		handler http.Handler
		path    string
		most    float64
	}{
		{"get by id", s.handler, byID, maxAllocations},
		{"get by id, bare handler", s.bare.handler(), byID, 0},
		{"page 1", s.handler, "/api/products", 0},
		{"page 1, bare handler", s.bare.handler(), "/api/products", 0},
	} {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, m.path, nil)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Authorization", "Bearer "+shop.key)
		w := &discard{header: http.Header{}}
		objects, bytes := allocated(func() { m.handler.ServeHTTP(w, r) })
		if w.failed > 0 {
			return nil, fmt.Errorf("GET %s = %d", m.path, w.failed)
		}
		all = append(all, allocation{m.name, objects, bytes, m.most})
	}
	return all, nil
}

// allocated returns the average of 200 runs after a warm-up.
func allocated(f func()) (objects, bytes float64) {
	const warm, runs = 20, 200
	for range warm {
		f()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		f()
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / runs, float64(after.TotalAlloc-before.TotalAlloc) / runs
}

// discard is a ResponseWriter that only remembers a failure.
type discard struct {
	header http.Header
	failed int // the status if it is not 200
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }

func (d *discard) WriteHeader(status int) {
	if status != http.StatusOK {
		d.failed = status
	}
}
