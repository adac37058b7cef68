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

// work is one thing done over and over; opened once for each client.
type work interface {
	open(ctx context.Context, client int) (worker, error)
}

// worker does one piece of work at a time and returns the status it was answered
// with.
type worker interface {
	step(ctx context.Context) (status int, err error)
	close()
}

// traffic is requests to a server.
type traffic struct {
	address, key string
	next         func(*rand.Rand) request
}

func (t traffic) open(ctx context.Context, n int) (worker, error) {
	c, err := dial(ctx, t.address, t.key)
	return &sender{client: c, random: newRandom(n), next: t.next}, err
}

// newRandom draws the same for a client in every run.
func newRandom(client int) *rand.Rand { return rand.New(rand.NewPCG(uint64(client), 1)) }

// sender is one client of a server.
type sender struct {
	*client
	random *rand.Rand
	next   func(*rand.Rand) request
}

func (s *sender) step(context.Context) (int, error) {
	r := s.next(s.random)
	status, err := s.do(r)
	if err != nil {
		return 0, fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	whole := status/100 == 2 && status != http.StatusMultiStatus // which says that some rows of a bulk failed
	if status != http.StatusServiceUnavailable && !whole {
		return 0, fmt.Errorf("%s %s = %d %.500s", r.method, r.path, status, s.body)
	}
	return status, nil
}

// sample is what a number of clients got done.
type sample struct {
	took    []time.Duration // of each piece of work, in no order
	refused int             // answered 503: the service sheds what it cannot do in time
	elapsed time.Duration
}

func (s sample) rate() float64 { return float64(len(s.took)) / s.elapsed.Seconds() }

// side is a work with its clients and what they got done, round by round.
type side struct {
	workers []worker
	rounds  []sample
}

func openSide(ctx context.Context, w work, clients int) (*side, error) {
	s := &side{}
	for n := range clients {
		worker, err := w.open(ctx, n)
		if err != nil {
			s.close()
			return nil, err
		}
		s.workers = append(s.workers, worker)
	}
	return s, nil
}

func (s *side) close() {
	for _, w := range s.workers {
		w.close()
	}
}

// round lets all clients work for a while, each at least once.
func (s *side) round(ctx context.Context, length time.Duration) (sample, error) {
	each := make([]sample, len(s.workers))
	group, ctx := errgroup.WithContext(ctx)
	begun := time.Now()
	for n, w := range s.workers {
		group.Go(func() error {
			for at := time.Now(); ; {
				status, err := w.step(ctx)
				if err != nil {
					return err
				}
				now := time.Now()
				if status == http.StatusServiceUnavailable {
					each[n].refused++
				} else {
					each[n].took = append(each[n].took, now.Sub(at))
				}
				if at = now; now.Sub(begun) >= length || ctx.Err() != nil {
					return ctx.Err()
				}
			}
		})
	}
	err := group.Wait()
	all := sample{elapsed: time.Since(begun)}
	for _, e := range each {
		all.took = append(all.took, e.took...)
		all.refused += e.refused
	}
	return all, err
}

// alternate runs rounds of the sides in turn, A B A B, so that what else the
// machine does meets both. The first, short round of each warms up and is not
// kept. Slow work gets fewer rounds: it ends after four times its time.
func alternate(ctx context.Context, rounds int, length time.Duration, sides ...*side) error {
	for _, s := range sides {
		if _, err := s.round(ctx, length/4); err != nil {
			return err
		}
	}
	begun := time.Now()
	for n := range rounds {
		if n > 1 && time.Since(begun) > 4*time.Duration(rounds*len(sides))*length {
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

// spread is the middle and the ends of what several rounds measured.
type spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

func spreadOf(values []float64) spread {
	slices.Sort(values)
	return spread{values[len(values)/2], values[0], values[len(values)-1]}
}

// rates are the pieces of work a second.
func (s *side) rates() spread {
	all := make([]float64, len(s.rounds))
	for i, r := range s.rounds {
		all[i] = r.rate()
	}
	return spreadOf(all)
}

// ratio compares each round of s with the round of other beside it.
func (s *side) ratio(other *side) spread {
	all := make([]float64, len(s.rounds))
	for i, r := range s.rounds {
		if beside := other.rounds[i].rate(); beside > 0 {
			all[i] = r.rate() / beside
		}
	}
	return spreadOf(all)
}

// percentile returns how long that share of all pieces took at most.
func (s *side) percentile(share float64) time.Duration {
	var all []time.Duration
	for _, r := range s.rounds {
		all = append(all, r.took...)
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[min(len(all)-1, int(share*float64(len(all))))]
}

func (s *side) refused() (n int) {
	for _, r := range s.rounds {
		n += r.refused
	}
	return n
}
