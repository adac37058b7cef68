package ratelimit

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTakeCountsDownAndRefuses(t *testing.T) {
	t.Parallel()
	l, name := mustOpen(t, mustURL(t), standard), unused(t)
	if d := l.Peek(t.Context(), name, 3); !d.Allowed || d.Remaining != 3 || d.RetryAfter != 0 {
		t.Errorf("Peek of an unused name = %+v, want 3 remaining", d)
	}
	first := l.Take(t.Context(), name, 3)
	for _, want := range []int{1, 0} {
		d := l.Take(t.Context(), name, 3)
		if !d.Allowed || d.Remaining != want || d.Limit != 3 || d.Local || d.RetryAfter != 0 {
			t.Errorf("Take = %+v, want allowed by Redis with %d remaining", d, want)
		}
		if !d.Reset.Equal(first.Reset) {
			t.Errorf("Reset = %v, want that of the oldest, %v", d.Reset, first.Reset)
		}
	}
	d := l.Take(t.Context(), name, 3)
	if d.Allowed || d.Remaining != 0 || !d.Reset.Equal(first.Reset) {
		t.Errorf("Take of a fourth = %+v, want refused until %v", d, first.Reset)
	}
	if d.RetryAfter <= 50*time.Second || d.RetryAfter > time.Minute {
		t.Errorf("RetryAfter = %v, want just under a minute", d.RetryAfter)
	}
	if d := l.Peek(t.Context(), name, 3); d.Allowed || d.RetryAfter == 0 {
		t.Errorf("Peek of a full name = %+v, want refused", d)
	}
	if d := l.Take(t.Context(), unused(t), 3); d.Remaining != 2 {
		t.Errorf("another name has %d remaining, want 2", d.Remaining)
	}
}

func TestTakeFollowsALimitThatChanges(t *testing.T) {
	t.Parallel()
	s := standard
	s.exact = 5
	l, name := mustOpen(t, mustURL(t), s), unused(t)
	for _, step := range []struct {
		limit     int
		allowed   bool
		remaining int
	}{
		{3, true, 2}, {3, true, 1}, {3, true, 0}, {3, false, 0},
		{6, true, 2}, {6, true, 1}, // counted by bucket now
		{4, false, 0}, {5, false, 0}, {-1, false, 0},
		{7, true, 1}, {100, true, 93},
	} {
		d := l.Take(t.Context(), name, step.limit)
		if d.Allowed != step.allowed || d.Remaining != step.remaining {
			t.Errorf("Take with limit %d = %+v, want %+v", step.limit, d, step)
		}
	}
}

func TestWaitingUntilResetIsServed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		exact int
	}{{"exact", 10_000}, {"by bucket", 1}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := short(100 * time.Millisecond)
			s.exact = test.exact
			l, name := mustOpen(t, mustURL(t), s), unused(t)
			for range 20 {
				d := l.Take(t.Context(), name, 5)
				for range 10 { // some places may have freed meanwhile
					if d.Allowed {
						d = l.Take(t.Context(), name, 5)
					}
				}
				if d.Allowed {
					t.Fatalf("more than 5 were admitted at once: %+v", d)
				}
				time.Sleep(time.Until(d.Reset))
				if again := l.Take(t.Context(), name, 5); !again.Allowed {
					t.Fatalf("refused at Reset of %+v: %+v", d, again)
				}
			}
		})
	}
}

func TestARefusalIsRememberedUntilItsTime(t *testing.T) {
	t.Parallel()
	l, name := mustOpen(t, mustURL(t), standard), unused(t)
	l.Take(t.Context(), name, 1)
	refused := l.Take(t.Context(), name, 1)
	if err := l.client.Del(t.Context(), "rl:{"+name+"}").Err(); err != nil {
		t.Fatal(err)
	}
	d := l.Take(t.Context(), name, 1)
	if d.Allowed || d.Local || !d.Reset.Equal(refused.Reset) || d.RetryAfter <= 0 || d.RetryAfter > time.Minute {
		t.Errorf("Take = %+v without a log, want refused like %+v", d, refused)
	}
	if d := l.Take(t.Context(), name, 2); !d.Allowed || d.Remaining != 1 {
		t.Errorf("Take with another limit = %+v, want what Redis says", d)
	}
}

func TestBucketsBoundTheLogInRedis(t *testing.T) {
	t.Parallel()
	s := short(200 * time.Millisecond)
	s.exact = 10
	l, name := mustOpen(t, mustURL(t), s), unused(t)
	client, admitted := mustDial(t, mustURL(t)), 0
	for until := time.Now().Add(3 * s.window); time.Now().Before(until); admitted++ {
		if d := l.Take(t.Context(), name, 10_000_000); !d.Allowed {
			t.Fatalf("Take = %+v, want allowed", d)
		}
	}
	entries, err := client.LLen(t.Context(), "rl:{"+name+"}").Result()
	if err != nil {
		t.Fatal(err)
	}
	if entries > 12 { // ten whole buckets, one under way, and the zero
		t.Errorf("%d entries for %d requests, want at most 12", entries, admitted)
	}
}

func TestAnUnusedNameLeavesRedis(t *testing.T) {
	t.Parallel()
	l, name := mustOpen(t, mustURL(t), standard), unused(t)
	l.Take(t.Context(), name, 3)
	ttl, err := mustDial(t, mustURL(t)).PTTL(t.Context(), "rl:{"+name+"}").Result()
	if err != nil || ttl < 55*time.Second || ttl > 61*time.Second {
		t.Errorf("PTTL = %v, %v, want about 61 s", ttl, err)
	}
}

func TestAClockThatSteppedBack(t *testing.T) {
	t.Parallel()
	// write makes a log of five requests that leave so far ahead, and returns its tail.
	write := func(t *testing.T, l *Limiter, name string, ahead time.Duration) string {
		now, err := l.client.Time(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		leaves := now.Add(ahead).UnixMicro()
		key := "rl:{" + name + "}"
		err = l.client.RPush(t.Context(), key, "0:7", fmt.Sprintf("%d:9", leaves-1), fmt.Sprintf("%d:12", leaves)).Err()
		if err != nil {
			t.Fatal(err)
		}
		l.client.Expire(t.Context(), key, time.Minute)
		return fmt.Sprintf("%d:13", leaves)
	}
	t.Run("by a little keeps the order of leaving", func(t *testing.T) {
		t.Parallel()
		l, name := mustOpen(t, mustURL(t), standard), unused(t)
		tail := write(t, l, name, 70*time.Second)
		d := l.Take(t.Context(), name, 6)
		if !d.Allowed || d.Remaining != 0 {
			t.Errorf("Take = %+v, want the sixth allowed", d)
		}
		if d = l.Take(t.Context(), name, 6); d.Allowed || d.RetryAfter < 65*time.Second {
			t.Errorf("Take = %+v, want refused for 70 s", d)
		}
		if got := l.client.LIndex(t.Context(), "rl:{"+name+"}", -1).Val(); got != tail {
			t.Errorf("tail of the log = %s, want %s: the sixth must not leave before the fifth", got, tail)
		}
	})
	t.Run("by an hour costs one window", func(t *testing.T) {
		t.Parallel()
		l, name := mustOpen(t, mustURL(t), standard), unused(t)
		write(t, l, name, time.Hour)
		d := l.Take(t.Context(), name, 6)
		if !d.Allowed || d.Remaining != 0 {
			t.Errorf("Take = %+v, want the sixth allowed", d)
		}
		if d = l.Take(t.Context(), name, 6); d.Allowed || d.RetryAfter > time.Minute {
			t.Errorf("Take = %+v, want refused for a minute at most", d)
		}
	})
}

func TestACancelledRequestIsCounted(t *testing.T) {
	t.Parallel()
	l, name := mustOpen(t, mustURL(t), standard), unused(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if d := l.Take(ctx, name, 3); !d.Allowed || d.Local {
		t.Errorf("Take = %+v, want allowed by Redis", d)
	}
	if d := l.Peek(t.Context(), name, 3); d.Remaining != 2 {
		t.Errorf("Remaining = %d, want 2", d.Remaining)
	}
}

func TestTokensBurstAndRefill(t *testing.T) {
	t.Parallel()
	l := mustOpen(t, mustURL(t), standard)
	away := mustOpen(t, "unix:///nowhere/redis.sock", standard)
	for _, test := range []struct {
		name    string
		limiter *Limiter
	}{{"in Redis", l}, {"in memory", away}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l, name, refill := test.limiter, unused(t), Refill{Burst: 7, Every: 200 * time.Millisecond}
			if d := l.PeekToken(t.Context(), name, refill); !d.Allowed || d.Remaining != 7 {
				t.Errorf("PeekToken of a full bucket = %+v, want 7 remaining", d)
			}
			for want := 6; want >= 0; want-- {
				d := l.TakeToken(t.Context(), name, refill)
				if !d.Allowed || d.Remaining != want || d.Limit != 7 || d.Local != (l == away) {
					t.Errorf("TakeToken = %+v, want allowed with %d remaining", d, want)
				}
				if wait := time.Until(d.Reset); wait > refill.Every {
					t.Errorf("Reset is %v away, want the next token within %v", wait, refill.Every)
				}
			}
			d := l.TakeToken(t.Context(), name, refill)
			if d.Allowed || d.RetryAfter <= 0 || d.RetryAfter > refill.Every+slack {
				t.Fatalf("TakeToken of an empty bucket = %+v, want refused for at most %v", d, refill.Every)
			}
			if p := l.PeekToken(t.Context(), name, refill); p.Allowed || p.Remaining != 0 {
				t.Errorf("PeekToken of an empty bucket = %+v, want refused", p)
			}
			time.Sleep(d.RetryAfter)
			if d := l.TakeToken(t.Context(), name, refill); !d.Allowed {
				t.Errorf("TakeToken after RetryAfter = %+v, want allowed", d)
			}
		})
	}
}

func TestTokensTellTheirNumberForAnySize(t *testing.T) {
	t.Parallel()
	l, name := mustOpen(t, mustURL(t), standard), unused(t)
	for size := 1; size <= 200; size++ {
		refill := Refill{Burst: size, Every: time.Minute / time.Duration(size)}
		if d := l.TakeToken(t.Context(), fmt.Sprint(name, size), refill); d.Remaining != size-1 {
			t.Errorf("Remaining after the first of %d = %d", size, d.Remaining)
		}
	}
}

func TestOpenRefusesABadURLWithoutItsPassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"",
		"http://:s3cret@localhost",
		"redis://:s3cret@local host:6379",
		"redis://:s3cret@localhost:6379/x",
		"unix://:s3cret@",
		"redis://user:s3cret#1@localhost:6379", // these would be the port
		"redis://user:s3cret/1@localhost:6379",
		"redis://user:s3cret?1@localhost:6379",
		"redis://user:123/s3cret@localhost:6379/0",            // the path
		"redis://user:123?s3cret@localhost:6379",              // an option
		"redis://user:123?db=s3cret",                          // its value
		"redis://localhost:6379?addr=redis://:s3cret@other:1", // an address
		"redis://:s3cret@localhost:6379?addr=other",
		"redis://:s3cret@localhost:6379?addr=",
		"redis://:s3cret@localhost:6379?addr=other:1&s3cret=1",
		"redis://:s3cret@localhost:6379?addr=other:1&read_timeout=s3cret",
		"redis://:s3cret@localhost:6379/1?addr=other:1",
		"http://:s3cret@localhost:6379?addr=other:1",
		"unix:///s3cret/redis.sock?addr=other:1",
	} {
		l, err := Open(t.Context(), url, slog.New(slog.DiscardHandler))
		if err == nil {
			l.Close()
			t.Errorf("Open(%q) succeeded", url)
		} else if strings.Contains(err.Error(), "s3cret") || !strings.HasPrefix(err.Error(), "parse the Redis URL: ") {
			t.Errorf("Open(%q) = %v, want what is wrong without the password", url, err)
		}
	}
}

func TestAnAddressThatNamesOthersIsThatOfACluster(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		url   string
		nodes []string // nil is a single server
	}{
		{"redis://:p%23w@localhost:6379/3?client_name=storeroom", nil},
		{"rediss://localhost", nil},
		{"redis://user:p%23w@one:1?addr=two:2&addr=%5B::3%5D:3", []string{"one:1", "two:2", "[::3]:3"}},
		{"rediss://user:p%23w@one:1/0?addr=two:2", []string{"one:1", "two:2"}},
		{"redis://user:p%23w@one:1/?addr=two:2&read_only=true&max_retries=5&max_redirects=-1&read_timeout=1m", []string{"one:1", "two:2"}},
	} {
		n, err := connect(test.url)
		if err != nil {
			t.Errorf("connect(%q) = %v", test.url, err)
			continue
		}
		t.Cleanup(func() { n.client.Close() })
		if test.nodes == nil {
			if n.single == nil || n.cluster != nil {
				t.Errorf("%s is taken for a cluster", test.url)
			}
			continue
		}
		if n.single != nil || n.cluster == nil {
			t.Errorf("%s is taken for a single server", test.url)
			continue
		}
		o := n.cluster.Options()
		if diff := cmp.Diff(test.nodes, o.Addrs); diff != "" || o.Username != "user" || o.Password != "p#w" {
			t.Errorf("%s: user %s, (-want +got)\n%s", test.url, o.Username, diff)
		}
		if secure := strings.HasPrefix(test.url, "rediss:"); secure != (o.TLSConfig != nil) {
			t.Errorf("%s: TLS is %v", test.url, !secure)
		}
		if o.MaxRetries != -1 || o.MaxRedirects < 2 || o.ReadTimeout != flightTime || o.ReadOnly || !o.ContextTimeoutEnabled {
			t.Errorf("%s: %+v is not bounded as it should be", test.url, o)
		}
		if l := n.holding(instancesKey); l != nil || !n.gone(nil) {
			t.Errorf("%s: some node is known before anybody was asked", test.url)
		}
	}
}

func BenchmarkTake(b *testing.B) {
	l, name := mustOpen(b, mustURL(b), standard), unused(b)
	defer func() {
		if local := l.Stats().Local; local > 0 {
			b.Logf("not only Redis was measured: %d decisions were made in memory", local)
		}
	}()
	b.Run("allowed", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			l.Take(b.Context(), fmt.Sprint(name, i/300), 300)
		}
	})
	b.Run("refused", func(b *testing.B) {
		for range 300 {
			l.Take(b.Context(), name, 300)
		}
		for b.Loop() {
			l.Take(b.Context(), name, 300)
		}
	})
	b.Run("by bucket", func(b *testing.B) {
		for b.Loop() {
			l.Take(b.Context(), name+":large", 10_000_000)
		}
	})
	for _, callers := range []int{2, 64} {
		b.Run(fmt.Sprintf("allowed, %d callers", callers), func(b *testing.B) {
			b.SetParallelism(callers / runtime.GOMAXPROCS(0))
			b.RunParallel(func(pb *testing.PB) {
				own := unused(b)
				for i := 0; pb.Next(); i++ {
					l.Take(b.Context(), fmt.Sprint(own, i/300), 300)
				}
			})
		})
	}
}

func BenchmarkTakeLocal(b *testing.B) {
	l := mustOpen(b, "unix:///nowhere/redis.sock", standard)
	b.RunParallel(func(pb *testing.PB) {
		own := unused(b)
		for pb.Next() {
			l.Take(b.Context(), own, 300)
		}
	})
}
