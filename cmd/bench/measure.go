package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// work prepares one client and returns its step. What it opens is closed when ctx ends.
type work func(ctx context.Context, client int) step

// step does one unit of work, such as a request, and returns the HTTP status.
type step func(ctx context.Context) (status int, err error)

// newRandom returns the same sequence for a client in every run.
func newRandom(client int) *rand.Rand { return rand.New(rand.NewPCG(uint64(client), 1)) }

// send returns work that sends requests to a server.
func send(address, key string, next func(*rand.Rand) request) work {
	return func(ctx context.Context, n int) step {
		var c *client
		random := newRandom(n)
		return func(context.Context) (int, error) {
			if c == nil { // not before: the service closes a connection without a request after 5 s
				var err error
				if c, err = dial(ctx, address, key); err != nil {
					return 0, err
				}
			}
			r := next(random)
			status, err := c.do(r)
			if err != nil {
				return 0, fmt.Errorf("%s %s: %w", r.method, r.path, err)
			}
			if !succeeded(status) && status != http.StatusServiceUnavailable {
				return 0, fmt.Errorf("%s %s = %d %.500s", r.method, r.path, status, &c.body)
			}
			return status, nil
		}
	}
}

// repeat returns work that calls f and needs no connection of its client.
func repeat(f func(context.Context)) work {
	return func(context.Context, int) step { return stepOf(f) }
}

// stepOf returns a step that calls f, which may use check.
func stepOf(f func(context.Context)) step {
	return func(ctx context.Context) (int, error) { return http.StatusOK, catch(func() { f(ctx) }) }
}

// sample is the work done by all clients in one round.
type sample struct {
	took    []time.Duration // of each step, unordered
	refused int             // 503 responses
	elapsed time.Duration
}

func (s sample) rate() float64 { return float64(len(s.took)) / s.elapsed.Seconds() }

// side is one side of a comparison: its clients and their samples.
type side struct {
	work    work
	clients int
	fresh   bool // see scenario
	steps   []step
	rounds  []sample
}

// round runs all clients for a time, each at least one step. It prepares them first, which is not measured.
func (s *side) round(ctx context.Context, length time.Duration) (sample, error) {
	if s.fresh {
		s.steps, length = nil, 0
	}
	for n := len(s.steps); n < s.clients; n++ {
		s.steps = append(s.steps, s.work(ctx, n))
	}
	each := make([]sample, len(s.steps))
	group, ctx := errgroup.WithContext(ctx)
	start := time.Now()
	for n, step := range s.steps {
		group.Go(func() error {
			for at := time.Now(); ; {
				status, err := step(ctx)
				if err != nil {
					return err
				}
				now := time.Now()
				if status == http.StatusServiceUnavailable {
					each[n].refused++
				} else {
					each[n].took = append(each[n].took, now.Sub(at))
				}
				if at = now; now.Sub(start) >= length || ctx.Err() != nil {
					return ctx.Err()
				}
			}
		})
	}
	err := group.Wait()
	all := sample{elapsed: time.Since(start)}
	for _, e := range each {
		all.took = append(all.took, e.took...)
		all.refused += e.refused
	}
	return all, err
}

// alternate runs rounds of the sides in turn, A B A B, so that other load on the machine
// affects both. Unless there is only one round, a short first one of each is a warm-up and is
// discarded. Slow work runs fewer rounds: it ends after four times the planned time.
func alternate(ctx context.Context, rounds int, length time.Duration, sides ...*side) error {
	for _, s := range sides {
		if rounds == 1 {
			break
		}
		if _, err := s.round(ctx, length/4); err != nil {
			return err
		}
	}
	start := time.Now()
	for n := range rounds {
		if n > 1 && time.Since(start) > 4*time.Duration(rounds*len(sides))*length {
			return nil
		}
		for _, s := range sides {
			sample, err := s.round(ctx, length)
			if err != nil {
				return err
			}
			s.rounds = append(s.rounds, sample)
		}
	}
	return nil
}

// spread summarizes one value of several rounds.
type spread struct {
	Median, Min, Max float64
}

func spreadOf(values []float64) spread {
	slices.Sort(values)
	return spread{values[len(values)/2], values[0], values[len(values)-1]}
}

// rates returns the steps per second.
func (s *side) rates() spread {
	rates := make([]float64, len(s.rounds))
	for i, r := range s.rounds {
		rates[i] = r.rate()
	}
	return spreadOf(rates)
}

// ratio compares each round of s with the round of other that followed it.
func (s *side) ratio(other *side) spread {
	ratios := make([]float64, len(s.rounds))
	for i, r := range s.rounds {
		if rate := other.rounds[i].rate(); rate > 0 {
			ratios[i] = r.rate() / rate
		}
	}
	return spreadOf(ratios)
}

// percentile returns a percentile of the duration of a step.
func (s *side) percentile(share float64) time.Duration {
	var took []time.Duration
	for _, r := range s.rounds {
		took = append(took, r.took...)
	}
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[min(len(took)-1, int(share*float64(len(took))))]
}

func (s *side) refused() (n int) {
	for _, r := range s.rounds {
		n += r.refused
	}
	return n
}
