package admission

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// mustHold acquires until the test ends.
func mustHold(t *testing.T, n int, acquire func(context.Context) (func(), error)) {
	t.Helper()
	for range n {
		release, err := acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(release)
	}
}

// isRefusal reports whether a request was refused after the time that requests wait, of which up to a fifth is random.
func isRefusal(err error, waited time.Duration) bool {
	return errors.Is(err, ErrBusy) && waited >= waitTimeout*4/5 && waited <= waitTimeout
}

func TestAUserWaitsForItsShareOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New(24)
		greedy, other := c.Enter("greedy", Write), c.Enter("other", Write)
		mustHold(t, 4, greedy.Connection)
		began := time.Now()
		if _, err := greedy.Connection(t.Context()); !isRefusal(err, time.Since(began)) {
			t.Errorf("one more = %v after %v, want ErrBusy after four to five seconds", err, time.Since(began))
		}
		began = time.Now()
		mustHold(t, 4, other.Connection)
		if time.Since(began) != 0 {
			t.Errorf("another user waited %v, want no wait", time.Since(began))
		}
	})
}

func TestPagesOfSettingsAreServedWhileTheShareIsInUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New(24)
		mustHold(t, 64, c.Enter("tenant", Write).Start)
		mustHold(t, 3, c.Enter("tenant", Read).Start)
		if _, ok := c.Enter("tenant", Write).TryMemory(16 * mib); !ok {
			t.Fatal("the memory of the tenant is in use")
		}
		open := func(tenant string) (page *Ticket, err error) {
			page = c.Enter("address", Page)
			if _, err := page.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			return page, page.Exchange(t.Context(), tenant, Settings)
		}
		began := time.Now()
		page, err := open("tenant")
		if err != nil {
			t.Fatal(err)
		}
		mustHold(t, 1, page.Connection)
		if err := page.Rows(mib); err != nil || time.Since(began) != 0 {
			t.Errorf("rows = %v after %v, want no wait", err, time.Since(began))
		}
		if _, err := open("tenant"); err != nil {
			t.Errorf("the second page = %v, want no error: a double click sends a form twice", err)
		}
		if _, err := open("tenant"); !errors.Is(err, ErrBusy) {
			t.Errorf("the third page = %v, want ErrBusy", err)
		}
		began = time.Now()
		if _, err := open("other"); err != nil || time.Since(began) != 0 {
			t.Errorf("the page of another tenant = %v after %v, want no wait", err, time.Since(began))
		}
		page.finish()
		if _, err := open("tenant"); err != nil {
			t.Errorf("a page after the first has ended = %v", err)
		}
	})
}

func TestPagesOfSettingsLeaveConnectionsForSignIn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New(24)
		opened := 0
		for i := range 20 {
			page := c.Enter("address", Page)
			if _, err := page.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := page.Exchange(t.Context(), fmt.Sprint("tenant ", i/2), Settings); err != nil {
				continue
			}
			mustHold(t, 1, page.Connection)
			opened++
		}
		if opened != 3 {
			t.Errorf("%d pages are made, want half of 6", opened)
		}
		began := time.Now()
		mustHold(t, 2, c.Enter("address", Page).Connection)
		mustHold(t, 1, c.Enter("other address", Unauthenticated).Connection)
		if time.Since(began) != 0 {
			t.Errorf("sign-in waited %v, want no wait", time.Since(began))
		}
	})
}

func TestTheFifthReportOfATenantWaitsFiveSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New(24)
		start := func(duration time.Duration) (waited time.Duration, err error) {
			began := time.Now()
			finish, err := c.Enter("tenant", Report).Start(t.Context())
			if waited = time.Since(began); err == nil {
				time.AfterFunc(duration, finish)
			}
			return waited, err
		}
		for _, duration := range []time.Duration{time.Second, time.Minute} { // of each of the first four reports
			var first sync.WaitGroup
			for range 4 {
				first.Go(func() { _, _ = start(duration) })
			}
			synctest.Wait()
			waited, err := start(0)
			switch {
			case duration == time.Second && (err != nil || waited != 2*time.Second):
				t.Errorf("behind four reports of 1 s: waited %v, %v, want 2 s", waited, err)
			case duration == time.Minute && !isRefusal(err, waited):
				t.Errorf("behind four reports of 1 min: waited %v, %v, want ErrBusy after four to five seconds", waited, err)
			}
			first.Wait()
		}
	})
}

func TestAUserWithoutOthersMayExceedItsShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New(24)
		one, other := c.Enter("one", Bulk), c.Enter("other", Bulk)
		mustHold(t, 2, one.Connection)
		if _, err := one.Connection(t.Context()); !errors.Is(err, ErrBusy) {
			t.Errorf("a third bulk request of a user = %v, want ErrBusy", err)
		}
		began := time.Now()
		mustHold(t, 1, other.Connection)
		if time.Since(began) != 0 {
			t.Errorf("another user waited %v, want no wait", time.Since(began))
		}
		if _, err := other.Connection(t.Context()); !errors.Is(err, ErrBusy) {
			t.Errorf("the second bulk request beside two of another user = %v, want ErrBusy", err)
		}
	})
}

func TestAReleasedPartGoesToTheNextRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New(24)
		mustHold(t, 1, c.Enter("other", Export).Connection)
		user := c.Enter("user", Export)
		release, err := user.Connection(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, release)
		began := time.Now()
		mustHold(t, 1, user.Connection)
		if time.Since(began) != time.Second {
			t.Errorf("waited %v, want 1 s", time.Since(began))
		}
	})
}

func TestBusyUsersLeaveAPartToUsersWithLittleUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New(24)
		start := func(user int) (finish func(), err error) {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			return c.Enter(fmt.Sprint(user), Report).Start(ctx)
		}
		mustStart := func(what string, user int) (finish func()) {
			t.Helper()
			began := time.Now()
			finish, err := start(user)
			if err != nil || time.Since(began) != 0 {
				t.Fatalf("%s waited %v, %v, want no wait", what, time.Since(began), err)
			}
			return finish
		}
		var first []func()
		for user := range 4 {
			first = append(first, mustStart("a user without use", user))
		}
		time.Sleep(200 * time.Millisecond)
		for _, finish := range first {
			finish()
		}
		one, two := mustStart("a busy user", 0), mustStart("a second busy user", 1)
		if _, err := start(2); err == nil {
			t.Error("three reports of busy users run at a time, want two")
		}
		for user := range 4 {
			mustStart("a user with little use", 10+user)()
		}
		one()
		mustHold(t, 1, c.Enter("a user with little use", Write).Connection)
		if _, err := start(2); err == nil {
			t.Error("two reports of busy users run at a time while others are active, want one")
		}
		time.Sleep(time.Second)
		mustStart("a busy user beside one other", 2)()
		one = mustStart("a busy user beside one other", 0)
		time.Sleep(10 * time.Second)
		mustStart("a user that was busy", 3)()
		one()
		two()
		if n := len(c.long.holders); n > 0 || c.long.held > 0 {
			t.Errorf("%d users hold %d of the budget, want none", n, c.long.held)
		}
	})
}

func TestWritesOfABusyUserUseOneConnectionWhileOthersAreActive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New(24)
		user, second, other := c.Enter("user", Write), c.Enter("second", Write), c.Enter("other", Write)
		var releases []func()
		hold := func(ticket *Ticket) error {
			release, err := ticket.Connection(t.Context())
			if err == nil {
				releases = append(releases, release)
			}
			return err
		}
		for range 4 {
			if err := errors.Join(hold(user), hold(second)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Second)
		callAll(&releases)
		for range 4 {
			if err := hold(user); err != nil {
				t.Fatalf("a busy user without others = %v, want four connections", err)
			}
		}
		callAll(&releases)

		began := time.Now()
		for _, ticket := range []*Ticket{other, other, user, second} {
			if err := hold(ticket); err != nil || time.Since(began) != 0 {
				t.Fatalf("the connection of user %s = %v after %v, want it at once", ticket.user, err, time.Since(began))
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := user.Connection(ctx); err == nil {
			t.Error("a busy user beside others has two connections, want one")
		}
		callAll(&releases)
	})
}

// A long request of the user ends later, so nothing is released when the others are no longer active.
func TestABusyUserWaitsOnlyWhileOthersAreActive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New(24)
		user := c.Enter("user", Write)
		mustHold(t, 1, user.Connection) // its first request counts as one of others
		time.Sleep(othersTime / 2)
		began := time.Now()
		for range 3 {
			mustHold(t, 1, user.Connection)
		}
		if waited := time.Since(began); waited != othersTime/2 {
			t.Errorf("more requests of the user waited %v, want %v", waited, othersTime/2)
		}
	})
}

func TestAnExportOfABusyUserRemainsLongWorkWhileOthersAreActive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New(24)
		export := func(user string, length time.Duration, want int64) (release func()) {
			t.Helper()
			ticket := c.Enter(user, ReportExport)
			release, err := ticket.Connection(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(length)
			if ticket.HasRows(); c.long.held != want {
				t.Errorf("%d exports count as long work, want %d", c.long.held, want)
			}
			return release
		}
		defer export("busy without others", 2*time.Second, 0)()
		mustHold(t, 1, c.Enter("other", Write).Connection)
		one := export("busy", 200*time.Millisecond, 1)
		two := export("a second busy user", 200*time.Millisecond, 1) // otherwise few would remain for others
		one()
		two()
		if c.long.held != 0 {
			t.Errorf("%d exports count as long work, want none", c.long.held)
		}
	})
}

func TestABusyUserPausesHalfOfTheTimeWhileOthersAreActive(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		acquire func(*Ticket, context.Context) (release func(), err error)
		budget  func(*Controller) *budget
	}{
		{"copies", (*Ticket).Copy, func(c *Controller) *budget { return c.copies }},
		{"bulk requests", (*Ticket).Connection, func(c *Controller) *budget { return c.long }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := New(24)
				use := func(user string, length time.Duration) (waited time.Duration) {
					t.Helper()
					began := time.Now()
					release, err := test.acquire(c.Enter(user, Bulk), t.Context())
					if err != nil {
						t.Fatal(err)
					}
					waited = time.Since(began)
					time.Sleep(length)
					release()
					return waited
				}
				useConnection := func(user string) {
					t.Helper()
					release, err := c.Enter(user, Write).Connection(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					release()
				}
				use("busy", 2*time.Second)
				time.Sleep(2 * othersTime) // the user had little use when it began
				for range 1000 {
					if waited := use("busy", time.Millisecond); waited != 0 {
						t.Fatalf("a busy user waited %v while no other is active", waited)
					}
				}
				var waited time.Duration
				for range 1000 {
					useConnection("other")
					waited += use("busy", time.Millisecond)
					if waited := use("other", 0); waited != 0 {
						t.Fatalf("a user with little use waited %v", waited)
					}
				}
				if waited < 990*time.Millisecond || waited > 1010*time.Millisecond {
					t.Errorf("a busy user worked for 1 s and waited %v, want about 1 s", waited)
				}
				release, err := test.acquire(c.Enter("busy", Bulk), t.Context())
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Second)
				useConnection("other")
				release()
				if waited := use("busy", 0); waited != maxPause {
					t.Errorf("after work of 10 s, a busy user waited %v, want %v", waited, maxPause)
				}
				time.Sleep(time.Second)
				if b := test.budget(c); b.held != 0 || b.paused != 0 || len(b.holders) > 0 {
					t.Errorf("%d held, %d paused, %d users hold something, want none", b.held, b.paused, len(b.holders))
				}
			})
		})
	}
}

func TestAnArchivePausesWhileOthersAreActive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New(24)
		archive := c.Enter("archive", Archive)
		pause := func(worked, want time.Duration) {
			t.Helper()
			began := time.Now()
			if err := archive.Pause(t.Context(), worked); err != nil || time.Since(began) != want {
				t.Errorf("an archive paused %v after work of %v, %v, want %v", time.Since(began), worked, err, want)
			}
		}
		pause(time.Millisecond, 0)
		mustHold(t, 1, c.Enter("other", Write).Connection)
		pause(time.Millisecond, time.Millisecond)
		pause(10*time.Second, maxPause)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := archive.Pause(ctx, time.Millisecond); !errors.Is(err, context.Canceled) {
			t.Errorf("a pause of a request that has ended = %v, want context.Canceled", err)
		}
		time.Sleep(2 * othersTime)
		pause(time.Millisecond, 0)
	})
}

func TestManyDecisionsOfOneUserDelayOnlyItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New(24)
		decide := func(user string) (release func(), waited time.Duration) {
			began := time.Now()
			release = c.Enter(user, Unauthenticated).Decision(t.Context())
			return release, time.Since(began)
		}
		var first func()
		for range 4 {
			release, waited := decide("one")
			if first = release; waited != 0 {
				t.Fatalf("a decision within the share waited %v", waited)
			}
		}
		if _, waited := decide("other"); waited != 0 {
			t.Errorf("a decision of another user waited %v", waited)
		}
		if _, waited := decide("one"); waited != c.WaitTimeout {
			t.Errorf("a decision above the share waited %v, want %v", waited, c.WaitTimeout)
		}
		time.AfterFunc(time.Second, first)
		if _, waited := decide("one"); waited != time.Second {
			t.Errorf("a decision waited %v for the end of another one, want 1 s", waited)
		}
	})
}

func TestUsersWhoseLastReportTookLongAreBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New(24)
		atOnce := func(took time.Duration) (running int) {
			var all []func()
			for user := range 4 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				if finish, err := c.Enter(fmt.Sprint(user), Report).Start(ctx); err == nil {
					all = append(all, finish)
				}
				cancel()
			}
			time.Sleep(took)
			for _, finish := range all {
				finish()
			}
			return len(all)
		}
		for _, step := range []struct {
			after, took time.Duration
			running     int
		}{
			{0, 300 * time.Millisecond, 4},
			{5 * time.Minute, 300 * time.Millisecond, 2},
			{11 * time.Minute, 300 * time.Millisecond, 4},
			{5 * time.Minute, 10 * time.Millisecond, 2},
			{time.Minute, 10 * time.Millisecond, 4}, // two of the users have run a short report since
		} {
			time.Sleep(step.after)
			if running := atOnce(step.took); running != step.running {
				t.Errorf("after %v, %d reports run at a time, want %d", step.after, running, step.running)
			}
		}
	})
}

func TestUnknownUsersLeaveReportsToUsersWhoseLastReportWasShort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New(24)
		start := func(user string) (finish func(), err error) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			return c.Enter(user, Report).Start(ctx)
		}
		for n := range 2 {
			finish, err := start(fmt.Sprint("known ", n))
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
			finish()
		}
		for n := range 5 {
			if _, err := start(fmt.Sprint("unknown ", n)); (err == nil) != (n < 4) {
				t.Errorf("report %d of an unknown user: %v, want four at a time", n+1, err)
			}
		}
		for n := range 2 {
			if _, err := start(fmt.Sprint("known ", n)); err != nil {
				t.Errorf("a user whose last report was short: %v", err)
			}
		}
	})
}

func TestLongWorkLeavesConnectionsForShortRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New(24)
		var held int
		for i := range 100 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			ticket := c.Enter(fmt.Sprint(i%10), []Class{Archive, ReportExport, Report, Export, Bulk}[i/20])
			acquire := ticket.Connection
			if ticket.class == Report {
				acquire = ticket.Start
			}
			if _, err := acquire(ctx); err == nil {
				held++
			}
			if ticket.class == ReportExport {
				ticket.HasRows()
			}
			cancel()
		}
		if held != 12 {
			t.Errorf("%d long-running requests have a connection, want half of 24", held)
		}
		began := time.Now()
		for i := range 4 {
			mustHold(t, 1, c.Enter(fmt.Sprint(i), Write).Connection)
		}
		mustHold(t, 1, c.Enter("address", Page).Connection)
		mustHold(t, 1, c.Enter("address", Unauthenticated).Connection)
		if time.Since(began) != 0 {
			t.Errorf("short requests waited %v, want no wait", time.Since(began))
		}
	})
}

func TestArchivesOfATenantLeaveThoseOfOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New(24)
		began := time.Now()
		for i := range 2 {
			mustHold(t, 1, c.Enter(fmt.Sprint(i), Archive).Connection)
		}
		if _, err := c.Enter("0", Archive).Connection(t.Context()); !isRefusal(err, time.Since(began)) {
			t.Errorf("the second archive of a tenant = %v after %v, want ErrBusy after four to five seconds", err, time.Since(began))
		}
		began = time.Now()
		mustHold(t, 1, c.Enter("2", Archive).Connection)
		for i := range 3 {
			mustHold(t, 1, c.Enter(fmt.Sprint("other ", i), ReportExport).Connection)
		}
		if c.long.held != 3 {
			t.Errorf("%d exports without rows count as long work, want 3", c.long.held)
		}
		if time.Since(began) != 0 {
			t.Errorf("requests of other tenants waited %v, want no wait", time.Since(began))
		}
	})
}

func TestTheQueueOfAUserIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New(24)
		user := c.Enter("user", Write)
		mustHold(t, 4, user.Connection)
		var refused atomic.Int64
		for range queueLength {
			go func() {
				if _, err := user.Connection(t.Context()); errors.Is(err, ErrBusy) {
					refused.Add(1)
				}
			}()
		}
		synctest.Wait()
		began := time.Now()
		if _, err := user.Connection(t.Context()); !errors.Is(err, ErrBusy) || time.Since(began) != 0 {
			t.Errorf("one more than may wait = %v after %v, want ErrBusy at once", err, time.Since(began))
		}
		time.Sleep(waitTimeout)
		synctest.Wait()
		if refused.Load() != queueLength {
			t.Errorf("%d requests were refused after %v, want %d", refused.Load(), waitTimeout, queueLength)
		}
	})
}

func TestACancelledRequestStopsWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		user := New(24).Enter("user", Page)
		mustHold(t, 2, user.Connection)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := user.Connection(ctx); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrBusy) {
			t.Errorf("Connection = %v, want the error of the context", err)
		}
	})
}

// Requests of random users take random parts of one budget. At no time may all exceed the size, nor
// one its share.
func TestABudgetIsNeverExceeded(t *testing.T) {
	t.Parallel()
	const size, share, users = 20, 5, 8
	b := newBudget("test", size, share)
	var all atomic.Int64
	var each [users]atomic.Int64
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			for range 200 {
				user, n := rand.N(users), 1+rand.Int64N(share+3)
				ctx, cancel := context.WithTimeout(t.Context(), rand.N(2*time.Millisecond))
				release, ok := b.try(fmt.Sprint(user), n)
				if !ok {
					var err error
					release, err = b.wait(ctx, fmt.Sprint(user), n)
					ok = err == nil
				}
				if ok {
					if held := each[user].Add(n); held > max(n, share) {
						t.Errorf("a user holds %d, more than its share of %d and more than one request", held, share)
					}
					if held := all.Add(n); held > size {
						t.Errorf("%d of %d are held", held, size)
					}
					time.Sleep(rand.N(100 * time.Microsecond))
					all.Add(-n)
					each[user].Add(-n)
					release()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if len(b.waiting) != 0 {
		t.Errorf("%d users still wait", len(b.waiting))
	}
	if b.held != 0 || heldByUsers(b) != 0 {
		t.Error("a part of the budget was not released")
	}
}

func heldByUsers(b *budget) (held int64) {
	for _, a := range b.users {
		held += a.held
	}
	return held
}

// use waits for a part of a budget, holds it for a time, and returns how long it waited.
func use(t *testing.T, b *budget, user string, hold time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	release, err := b.wait(t.Context(), user, 1)
	if err != nil {
		t.Error(err)
		return 0
	}
	waited := time.Since(began)
	time.Sleep(hold)
	release()
	return waited
}

func TestAUserWithFewRequestsDoesNotWaitForTheQueuesOfOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBudget("test", 2, 1)
		var all sync.WaitGroup
		defer all.Wait()
		for user := range 20 {
			for range 10 {
				all.Go(func() { use(t, b, fmt.Sprint(user), time.Second) })
			}
		}
		time.Sleep(20500 * time.Millisecond)
		for range 5 {
			if waited := use(t, b, "other", 10*time.Millisecond); waited > time.Second {
				t.Errorf("a user with one short request at a time waited %v, want the time of one request of others", waited)
			}
			time.Sleep(time.Second)
		}
	})
}

func TestUsersWithOneRequestAtATimeLeaveAPartToTheQueues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBudget("test", 1, 1)
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		defer all.Wait()
		defer stop()
		for user := range 4 {
			all.Go(func() {
				for ctx.Err() == nil {
					use(t, b, fmt.Sprint(user), time.Second)
				}
			})
		}
		time.Sleep(time.Second)
		for range 5 {
			all.Go(func() { use(t, b, "queue", time.Second) })
		}
		time.Sleep(26 * time.Second)
		synctest.Wait()
		b.mu.Lock()
		if left := len(b.users["queue"].queue); left > 0 {
			t.Errorf("%d of 5 requests still wait after five turns of five users", left)
		}
		b.mu.Unlock()
	})
}

func TestAccountsOfPastUsersAreDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBudget("test", 1, 1)
		for user := range 1000 {
			use(t, b, fmt.Sprint(user%200, user), time.Millisecond)
			use(t, b, "regular", time.Millisecond)
		}
		if len(b.users) > 50 {
			t.Errorf("%d accounts exist, want those that matter", len(b.users))
		}
	})
}

func TestACPUIsUsedInTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New(24)
		c.cpu = newBudget("CPUs", 1, 1)
		long, other := c.Enter("long", Bulk).Turn(), c.Enter("other", Page).Turn()
		next := func(turn *Turn) {
			t.Helper()
			if err := turn.Next(t.Context()); err != nil {
				t.Error(err)
			}
		}
		began := time.Now()
		next(long)
		var waited time.Duration
		go func() {
			next(other)
			waited = time.Since(began)
			time.Sleep(50 * time.Millisecond)
			other.End()
		}()
		for time.Since(began) < 100*time.Millisecond {
			time.Sleep(time.Millisecond)
			next(long)
		}
		long.End()
		if waited != turnLength {
			t.Errorf("another user got the CPU after %v, want %v", waited, turnLength)
		}
		if c.cpu.held != 0 {
			t.Error("a CPU is still in use")
		}
	})
}

func TestASpoolReturnsWhatWasWritten(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, uncounted, uncounted + 1, maxMemory - 1, maxMemory, maxMemory + 1, 3*maxMemory + 7} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			c := New(24)
			spool := c.Enter("user", Bulk).NewSpool()
			want := make([]byte, size)
			for i := range want {
				want[i] = byte(rand.Uint32())
			}
			go func() {
				for rest := want; len(rest) > 0; {
					n := min(len(rest), 1+rand.N(100<<10))
					if _, err := spool.Write(rest[:n]); err != nil {
						t.Error(err)
					}
					rest = rest[n:]
				}
				spool.End(nil)
			}()
			got, err := io.ReadAll(spool.Reader()) // concurrently
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("read %d bytes, %v, want the %d bytes that were written", len(got), err, size)
			}
			err = spool.View(func(content []byte) error {
				if !bytes.Equal(content, want) {
					t.Errorf("viewed %d bytes, want the %d bytes that were written", len(content), size)
				}
				return nil
			})
			part, partErr := spool.Part(int64(size/3), size/2)
			if err != nil || partErr != nil || !bytes.Equal(part, want[size/3:][:size/2]) {
				t.Errorf("View = %v, Part = %d bytes, %v", err, len(part), partErr)
			}
			if err := spool.Close(); err != nil {
				t.Error(err)
			}
			if heldByUsers(c.memory) != 0 || heldByUsers(c.disk) != 0 {
				t.Error("a closed spool still holds memory or disk")
			}
		})
	}
}

// An item of an order has 40 bytes, but takes a kilobyte until it is stored.
func TestABodyCountsItsObjectsAsMemory(t *testing.T) {
	t.Parallel()
	const item = `{"sku":"P-1","quantity":1,"unit_price":5}`
	for _, test := range []struct {
		items               int
		wantMemory, atLeast int64 // in the budgets memory and large
	}{
		{500, 0, 0},
		{5000, 5 * mib, 0},
		{20_000, 0, 20 * mib},
		{50_000, 0, maxObjectsMemory + 3*50_000*int64(len(item))},
		{500_000, 0, maxObjectsMemory + maxBodyMemory},
	} {
		t.Run(fmt.Sprint(test.items), func(t *testing.T) {
			t.Parallel()
			c := New(24)
			spool := c.Enter("user", Bulk).NewSpool()
			if _, err := io.WriteString(spool, strings.Repeat(item, test.items)); err != nil {
				t.Fatal(err)
			}
			spool.End(nil)
			for range 2 {
				if err := spool.Reserve(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			most := test.atLeast*5/4 + mib
			if c.memory.held < test.wantMemory || c.large.held < test.atLeast || c.large.held > most {
				t.Errorf("holds %d of memory and %d of large, want at least %d and %d, at most %d of large",
					c.memory.held, c.large.held, test.wantMemory, test.atLeast, most)
			}
			if err := spool.Close(); err != nil || c.memory.held != 0 || c.large.held != 0 {
				t.Errorf("Close = %v, and the spool still holds %d and %d", err, c.memory.held, c.large.held)
			}
		})
	}
}

func TestASpoolUsesAFileIfTheShareOfMemoryIsInUse(t *testing.T) {
	t.Parallel()
	c := New(24)
	user := c.Enter("user", Write)
	if _, ok := user.TryMemory(16 << 20); !ok {
		t.Fatal("the share of memory is not free")
	}
	spool := user.NewSpool()
	defer spool.Close()
	if _, err := spool.Write(make([]byte, uncounted)); err != nil || spool.file != nil {
		t.Errorf("Write of %d bytes = %v, want them in memory", uncounted, err)
	}
	if _, err := spool.Write([]byte("x")); err != nil || spool.file == nil {
		t.Errorf("Write of one byte more = %v, want it in a file", err)
	}
	if _, err := os.Stat(spool.file.Name()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the name of the file still exists: %v", err)
	}
}

func TestASpoolIsRefusedIfTheShareOfDiskIsInUse(t *testing.T) {
	t.Parallel()
	c := New(24)
	user := c.Enter("user", Export)
	mustHold(t, 1, func(context.Context) (func(), error) { return user.TryDisk(512 * mib) })
	spool := user.NewSpool()
	defer spool.Close()
	_, err := spool.Write(make([]byte, maxMemory+1))
	spool.End(err)
	if _, readErr := io.ReadAll(spool.Reader()); !errors.Is(err, ErrBusy) || !errors.Is(readErr, ErrBusy) {
		t.Errorf("Write = %v, Read = %v, want ErrBusy", err, readErr)
	}
	other := c.Enter("other", Export).NewSpool()
	defer other.Close()
	if _, err := other.Write(make([]byte, maxMemory+1)); err != nil {
		t.Errorf("another user's Write = %v", err)
	}
}

// Users who take all they can get smaller parts the less is free, and leave a part.
func TestAFairBudgetIsNotExhaustedByFourUsers(t *testing.T) {
	t.Parallel()
	b := newBudget("test", 1024, 256)
	for user, want := range []int{256, 256, 256, 128, 64, 32} {
		got := 0
		for {
			if _, ok := b.tryFair(fmt.Sprint(user), 1); !ok {
				break
			}
			got++
		}
		if got != want {
			t.Errorf("user %d gets %d, want %d", user, got, want)
		}
	}
}

func TestWithoutATicketNothingIsLimited(t *testing.T) {
	t.Parallel()
	ticket := FromContext(t.Context())
	mustHold(t, 100, ticket.Connection)
	if err := errors.Join(ticket.Turn().Next(t.Context()), ticket.Pause(t.Context(), time.Hour)); err != nil {
		t.Error(err)
	}
}
