package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/procfs"
)

// Targets of a started program.
const (
	maxStart = 250 * time.Millisecond // until the first response
	maxIdle  = 45 << 20               // bytes of memory
)

const (
	starts   = 10
	idleTime = time.Second
)

// startup is the measurement of several starts of the program.
type startup struct {
	FirstResponse spread // milliseconds
	Idle          uint64 // resident memory of a program that is idle, in bytes
}

func (s startup) String() string {
	met := map[bool]string{true: "met", false: "MISSED"}
	first := s.FirstResponse
	return fmt.Sprintf("  start to the first response: %.0f ms (%.0f-%.0f), %s ≤ %d ms; idle: %d MiB of memory, %s ≤ %d MiB",
		first.Median, first.Min, first.Max, met[first.Median <= ms(maxStart)], maxStart.Milliseconds(),
		s.Idle>>20, met[s.Idle <= maxIdle], maxIdle>>20)
}

// measureStart starts the program several times. It returns nil if -run does not match "start".
func measureStart(ctx context.Context, s *service, d database, o options) (*startup, error) {
	if !o.run.MatchString("start") {
		return nil, nil
	}
	var result startup
	var took []float64
	for n := range starts {
		idle := time.Duration(0)
		if n == starts-1 {
			idle = idleTime
		}
		first, memory, err := startOnce(ctx, s, d, o, idle)
		if err != nil {
			return nil, fmt.Errorf("start the program: %w", err)
		}
		took, result.Idle = append(took, ms(first)), memory
	}
	result.FirstResponse = spreadOf(took)
	return &result, nil
}

// startOnce starts the program, and returns the time until its first response and its memory after it was idle.
func startOnce(
	ctx context.Context, s *service, d database, o options, idle time.Duration,
) (first time.Duration, memory uint64, err error) {
	p := newPrograms(ctx)
	defer func() { err = errors.Join(err, p.close()) }()
	began := time.Now()
	address, err := p.start(o.program, d, o.redis, s.peppers)
	if err != nil {
		return 0, 0, err
	}
	c, err := dial(p.ctx, address, s.shops[large].key)
	if err != nil {
		return 0, 0, err
	}
	status, err := c.do(request{method: "GET", path: "/api/products"})
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("GET /api/products = %d", status)
	}
	if err != nil {
		return 0, 0, err
	}
	first = time.Since(began)
	time.Sleep(idle)
	process, err := procfs.NewProc(p.processes[0].Process.Pid)
	if err != nil {
		return 0, 0, err
	}
	state, err := process.NewStatus()
	return first, state.VmRSS, err
}
