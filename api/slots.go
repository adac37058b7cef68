package api

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/storeroom/storeroom/tenancy"
)

// slots limits how many requests of one kind a tenant may run concurrently on this instance.
type slots struct {
	max       int
	attribute metric.MeasurementOption

	mu    sync.Mutex
	inUse map[tenancy.ID]int
}

func newSlots(kind string, max int) *slots {
	return &slots{
		max:       max,
		attribute: metric.WithAttributes(attribute.String("storeroom.work.kind", kind)),
		inUse:     map[tenancy.ID]int{},
	}
}

// acquire takes a slot and reports whether one was free.
func (s *slots) acquire(id tenancy.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inUse[id] >= s.max {
		workRefused.Add(context.Background(), 1, s.attribute)
		return false
	}
	s.inUse[id]++
	workActive.Add(context.Background(), 1, s.attribute)
	return true
}

// release returns a slot.
func (s *slots) release(id tenancy.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	workActive.Add(context.Background(), -1, s.attribute)
	if s.inUse[id]--; s.inUse[id] == 0 {
		delete(s.inUse, id)
	}
}
