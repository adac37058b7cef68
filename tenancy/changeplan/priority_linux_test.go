package changeplan_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
)

// A thread that serves requests runs before one that computes a plan.
func TestWorkersHaveALowPriority(t *testing.T) {
	t.Parallel()
	own, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	const lower = 20 - 10 // the system call returns 20 minus the nice value
	s := newSetup(t)
	var priority atomic.Int32
	s.kind.plans = func(context.Context, tenancy.ID) {
		of, err := syscall.Getpriority(syscall.PRIO_PROCESS, syscall.Gettid())
		if err != nil {
			t.Error(err)
		}
		priority.Store(int32(of))
	}
	ctx, stop := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	workers.Go(func() { s.RunPeriodically(ctx, slog.New(slog.DiscardHandler)) })
	defer workers.Wait()
	defer stop()
	s.await(t, s.mustUpload(t, "a"), changeplan.Planned)
	if of := int(priority.Load()); of != min(own, lower) {
		t.Errorf("the plan was computed with priority %d, want %d", of, min(own, lower))
	}
}
