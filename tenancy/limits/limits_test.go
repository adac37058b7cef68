package limits

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// asked is a request of the property below that waits or holds n of a limit.
type asked struct {
	ticket  *Ticket
	kind    Kind
	n       int64
	cancel  context.CancelFunc
	release func() // nil while it waits
	err     error
	ended   atomic.Bool // Take has returned
}

// Requests of random users take, release and cancel at random. At each moment the rules of the package hold, and at the
// end nothing is lost.
func TestEveryLimitKeepsItsRules(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(struct{ testing.TB }{t}, func(t *rapid.T) { // a bubble has no deadline
			l := New(rapid.IntRange(1, 48).Draw(t, "pool"), rapid.IntRange(1, 8).Draw(t, "CPUs"))
			var all []*asked
			draw := func(name string, is func(*asked) bool) *asked {
				var found []*asked
				for _, a := range all {
					if is(a) {
						found = append(found, a)
					}
				}
				if len(found) == 0 {
					t.Skip("no request is " + name + ": rapid draws another action")
				}
				return rapid.SampledFrom(found).Draw(t, name)
			}
			remove := func(a *asked) {
				a.ticket.Close()
				for i := range all {
					if all[i] == a {
						all = append(all[:i], all[i+1:]...)
						return
					}
				}
			}
			t.Repeat(map[string]func(*rapid.T){
				"wait": func(t *rapid.T) { time.Sleep(rapid.SampledFrom([]time.Duration{short, lately}).Draw(t, "for")) },
				"ask": func(t *rapid.T) {
					class := rapid.SampledFrom([]Class{Write, Write, Write, Archive}).Draw(t, "class")
					a := &asked{kind: rapid.SampledFrom([]Kind{Short, Long, Memory, CPU, Pictures}).Draw(t, "kind")}
					a.ticket = l.Enter(fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "user")), class)
					a.n = 1
					if a.kind == Memory {
						a.n = rapid.Int64Range(1, l.limits[Memory].share).Draw(t, "n")
					}
					ctx, cancel := context.WithCancel(context.Background())
					a.cancel = cancel
					all = append(all, a)
					go func() {
						a.release, a.err = a.ticket.Take(ctx, a.kind, a.n)
						a.ended.Store(true)
					}()
				},
				"release": func(t *rapid.T) {
					a := draw("holder", func(a *asked) bool { return a.ended.Load() && a.err == nil })
					before := waitingFor(l, a.kind)
					a.release()
					synctest.Wait()
					checkOrder(t, l, a, before)
					remove(a)
				},
				"cancel": func(t *rapid.T) {
					a := draw("waiter", func(a *asked) bool { return !a.ended.Load() })
					a.cancel()
					synctest.Wait()
					if !errors.Is(a.err, context.Canceled) {
						t.Fatalf("a cancelled request returned %v", a.err)
					}
					remove(a)
				},
				"": func(t *rapid.T) {
					synctest.Wait()
					checkRules(t, l)
				},
			})
			for _, a := range all {
				a.cancel()
				synctest.Wait()
				if a.err == nil {
					a.release()
				}
				a.ticket.Close()
			}
			for k := range kinds {
				if b := &l.limits[k]; b.free != b.size || len(b.waiting) > 0 {
					t.Errorf("%s: %d of %d are free and %d users wait at the end", names[k], b.free, b.size, len(b.waiting))
				}
			}
			time.Sleep(lately)
			l.Enter("last", Write)
			if len(l.users) > 1 {
				t.Errorf("%d users are left, want the last", len(l.users))
			}
		})
	})
}

// checkRules checks that no limit is exceeded, and that nobody waits for what is free.
func checkRules(t *rapid.T, l *Limits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k := range kinds {
		b := &l.limits[k]
		held, patient := int64(0), int64(0)
		for _, u := range l.users {
			held += u.held[k]
			if u.held[k] > b.share {
				t.Fatalf("%s: a user holds %d, more than the share of %d", names[k], u.held[k], b.share)
			}
			if u.isPatient {
				patient += u.held[k]
			}
		}
		if b.free < 0 || b.free+held != b.size {
			t.Fatalf("%s: %d are free and %d are held of %d", names[k], b.free, held, b.size)
		}
		if patient > b.size-(b.size+b.kept)/2 {
			t.Fatalf("%s: archives hold %d of %d", names[k], patient, b.size)
		}
		if u := l.next(k); u != nil {
			t.Fatalf("%s: a user that holds %d waits although it is its turn", names[k], u.held[k])
		}
	}
}

// place is a waiting user before a release.
type place struct {
	held   int64
	number uint64
	light  bool
}

func waitingFor(l *Limits, k Kind) map[*user]place {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[*user]place{}
	for u := range l.limits[k].waiting {
		all[u] = place{u.held[k], u.queues[k][0].number, u.isLight(k)}
	}
	return all
}

// checkOrder checks that a user that was served after a release held no more than each user that still waits and may
// have more, or has few requests.
func checkOrder(t *rapid.T, l *Limits, a *asked, before map[*user]place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := &l.limits[a.kind]
	for u, was := range before {
		if q := u.queues[a.kind]; len(q) > 0 && q[0].number == was.number || was.light || u == a.ticket.user {
			continue // it still waits, or may go first
		}
		for other, still := range before {
			q := other.queues[a.kind]
			if len(q) == 0 || q[0].number != still.number || other.isPatient || other == a.ticket.user ||
				other.held[a.kind]+q[0].n > b.share {
				continue
			}
			if still.held < was.held || still.held == was.held && still.number < was.number {
				t.Fatalf("%s: a user with %d was served before one with %d", names[a.kind], was.held, still.held)
			}
		}
	}
}

func TestUsersWithManyRequestsDoNotDelayOneWithOne(t *testing.T) {
	t.Parallel()
	for _, k := range []Kind{Requests, Short, Long, Memory, CPU} {
		t.Run(names[k], func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := New(48, 8)
				other := l.Enter("other", Write)
				release, _ := other.Try(k, 1)
				time.Sleep(short)
				release()
				for user := range 40 {
					for range 100 {
						ticket := l.Enter(fmt.Sprint(user), Write)
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						go func() { _, _ = ticket.Take(ctx, k, max(1, l.limits[k].size/100)) }()
					}
				}
				synctest.Wait()
				if _, ok := other.Try(k, 1); !ok {
					t.Error("nothing is kept for a user with one short request")
				}
			})
		})
	}
}

// Each of many users has one request at a time, which takes long.
func TestUsersWithLongRequestsDoNotDelayOneWithShortOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(24, 2)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for user := range 40 {
			all.Go(func() {
				for ctx.Err() == nil {
					ticket := l.Enter(fmt.Sprint(user), Write)
					if release, err := ticket.Take(ctx, Long, 1); err == nil {
						time.Sleep(2 * short)
						release()
					}
					ticket.Close()
				}
			})
		}
		other := l.Enter("other", Write)
		time.Sleep(lately)
		for range 20 {
			began := time.Now()
			release, err := other.Take(ctx, Long, 1)
			if err != nil || time.Since(began) > 0 {
				t.Errorf("a short request = %v after %v", err, time.Since(began))
			}
			time.Sleep(short)
			release()
		}
		cancel()
		all.Wait()
	})
}

// While a user computes, one that is not known yet can.
func TestANewUserGetsAnotherCPU(t *testing.T) {
	t.Parallel()
	l := New(24, 2)
	_, first := l.Enter("first", Plan).Try(CPU, 1)
	_, second := l.Enter("second", Plan).Try(CPU, 1)
	_, third := l.Enter("third", Write).Try(CPU, 1)
	if !first || second || !third {
		t.Errorf("a plan = %v, a second one = %v and a new user = %v", first, second, third)
	}
}

// Many users that are not known yet have one request each.
func TestNewUsersDoNotDelayKnownOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(24, 2)
		known := l.Enter("known", Write)
		release, ok := known.Try(Long, 1)
		time.Sleep(short)
		release()
		for user := range 40 {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() { _, _ = l.Enter(fmt.Sprint(user), Write).Take(ctx, Long, 1) }()
		}
		synctest.Wait()
		if _, still := known.Try(Long, 1); !ok || !still {
			t.Error("nothing is kept for a user whose last request was short")
		}
	})
}

func TestTheQueueOfAUserIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(24, 2)
		take := func(user string) error { _, err := l.Enter(user, Write).Take(t.Context(), Pictures, 1); return err }
		if err := take("user"); err != nil {
			t.Fatal(err)
		}
		for range maxQueue {
			go func() { _ = take("user") }()
		}
		synctest.Wait()
		began := time.Now()
		if err := take("user"); !errors.Is(err, ErrBusy) || time.Since(began) != 0 {
			t.Errorf("a request behind %d of its user = %v after %v, want ErrBusy at once", maxQueue, err, time.Since(began))
		}
		began = time.Now()
		if err := take("other"); !errors.Is(err, ErrBusy) || time.Since(began) < 4*6*time.Second {
			t.Errorf("another user = %v after %v, want that it waits", err, time.Since(began))
		}
	})
}

func TestARequestIsRefusedAfterFourToFiveSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(24, 2)
		for {
			if _, ok := l.Enter("user", Write).Try(Short, 1); !ok {
				break
			}
		}
		began := time.Now()
		_, err := l.Enter("user", Write).Connection(t.Context())
		if waited := time.Since(began); !errors.Is(err, ErrBusy) || waited < 4*time.Second || waited > 5*time.Second {
			t.Errorf("Connection = %v after %v", err, waited)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = l.Enter("user", Write).Connection(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrBusy) {
			t.Errorf("Connection of a request that ends = %v, want the error of its context", err)
		}
		for range 2 {
			release, err := l.Enter("plan", Plan).Connection(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(time.Minute, release)
		}
		began = time.Now()
		if _, err := l.Enter("another plan", Plan).Connection(t.Context()); err != nil || time.Since(began) != time.Minute {
			t.Errorf("a plan that waits for others = %v after %v, want a connection after a minute", err, time.Since(began))
		}
	})
}

func TestARequestUsesOneConnectionAtATime(t *testing.T) {
	t.Parallel()
	l := New(2, 1)
	ticket := l.Enter("user", Read)
	if err := ticket.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		release, err := ticket.Connection(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer release()
	}
	if held := ticket.user.held[Short]; held != 1 {
		t.Errorf("the request holds %d connections, want 1", held)
	}
}

func TestWithoutATicketNothingIsLimited(t *testing.T) {
	t.Parallel()
	ticket := FromContext(t.Context())
	for range 100 {
		if _, err := ticket.Connection(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := ticket.Rows(1 << 40); err != nil {
		t.Error(err)
	}
}

// A spool can hold disk of an address when the request already counts as work of a tenant.
func TestWhatAUserHoldsCountsAfterItsTickets(t *testing.T) {
	t.Parallel()
	l := New(24, 2)
	ticket := l.Enter("address", Page)
	share := l.limits[Disk].share
	release, ok := ticket.Try(Disk, share)
	if err := ticket.Exchange(t.Context(), "tenant", Read); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if _, ok := l.Enter("address", Page).Try(Disk, 1); ok {
		t.Error("an address exceeds its share after its request counts as work of a tenant")
	}
	release()
	if _, ok := l.Enter("address", Page).Try(Disk, share); !ok {
		t.Error("what was released is not free")
	}
}
