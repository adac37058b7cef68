package db

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A caller gets the result of a query that was sent after it called, and queries are shared.
func TestAPositionIsNeverOlderThanItsCaller(t *testing.T) {
	t.Parallel()
	var clock, queries atomic.Int64
	p := positions{read: func(context.Context) (position, error) {
		sent := clock.Add(1)
		queries.Add(1)
		time.Sleep(100 * time.Microsecond)
		return position{LSN: strconv.FormatInt(sent, 10)}, nil
	}}
	const callers, calls = 16, 200
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range calls {
				called := clock.Add(1)
				at, err := p.get(t.Context())
				sent, _ := strconv.ParseInt(at.LSN, 10, 64)
				if err != nil || sent <= called {
					t.Errorf("a caller at %d got the result of a query sent at %d, %v", called, sent, err)
				}
			}
		})
	}
	all.Wait()
	if n := queries.Load(); n > callers*calls/2 {
		t.Errorf("%d calls sent %d queries, want at most half as many", callers*calls, n)
	}
}

// An error reaches only the callers that share the query, and a caller stops waiting when its context ends.
func TestAPositionThatCannotBeRead(t *testing.T) {
	t.Parallel()
	hangs := make(chan struct{})
	failure := errors.New("no primary")
	p := positions{read: func(context.Context) (position, error) {
		<-hangs
		return position{}, failure
	}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := p.get(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("get = %v, want the end of the context", err)
	}
	close(hangs)
	if _, err := p.get(t.Context()); !errors.Is(err, failure) {
		t.Errorf("get = %v, want the error of the query", err)
	}
	p.read = func(context.Context) (position, error) { return position{LSN: "0/1"}, nil }
	for range 2 { // the last query of the failed source may be running
		_, _ = p.get(t.Context())
	}
	if at, err := p.get(t.Context()); err != nil || at.LSN != "0/1" {
		t.Errorf("get = %v, %v, want the result of the next query", at, err)
	}
}

// The time between tests doubles, and a success resets it.
func TestAReplicaIsSkippedForLonger(t *testing.T) {
	t.Parallel()
	var r replica
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		if got := r.nextSkip(); got != want*time.Second {
			t.Errorf("nextSkip = %v, want %v s", got, int(want))
		}
	}
	r.skip.Store(0)
	if got := r.nextSkip(); got != time.Second {
		t.Errorf("nextSkip after a success = %v, want 1 s", got)
	}
}

// Reads take turns among the replicas that are not skipped.
func TestReadsTakeTurns(t *testing.T) {
	t.Parallel()
	all := &replicas{all: []*replica{{number: "1"}, {number: "2"}, {number: "3"}}}
	if r := all.next(); r != nil {
		t.Errorf("next = %s, want none before a test", r.number)
	}
	all.all[0].inUse.Store(true)
	all.all[2].inUse.Store(true)
	chosen := map[string]int{}
	for range 300 {
		chosen[all.next().number]++
	}
	if chosen["2"] != 0 || chosen["1"] < 100 || chosen["3"] < 100 {
		t.Errorf("reads chose %v, want 1 and 3 in turn", chosen)
	}
}
