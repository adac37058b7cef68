package ratelimit

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

func TestTakeCountsDownAndRefuses(t *testing.T) {
	t.Parallel()
	l, name := mustOpen(t, mustURL(t), longTimeout()), unused(t)
	if d := peek(t, l, name, 3); !d.Allowed || d.Remaining != 3 || d.RetryAfter != 0 {
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
	if d := peek(t, l, name, 3); d.Allowed || d.RetryAfter == 0 {
		t.Errorf("Peek of a full name = %+v, want refused", d)
	}
	if d := l.Take(t.Context(), unused(t), 3); d.Remaining != 2 {
		t.Errorf("another name has %d remaining, want 2", d.Remaining)
	}
}

func TestTakeFollowsALimitThatChanges(t *testing.T) {
	t.Parallel()
	s := longTimeout()
	s.exact = 5
	l, name := mustOpen(t, mustURL(t), s), unused(t)
	for _, step := range []struct {
		limit     int
		allowed   bool
		remaining int
	}{
		{3, true, 2}, {3, true, 1}, {3, true, 0}, {3, false, 0},
		{6, true, 2}, {6, true, 1}, // counted in buckets
		{4, false, 0}, {5, false, 0}, {-1, false, 0},
		{7, true, 1}, {100, true, 93},
	} {
		d := l.Take(t.Context(), name, step.limit)
		if d.Allowed != step.allowed || d.Remaining != step.remaining {
			t.Errorf("Take with limit %d = %+v, want %+v", step.limit, d, step)
		}
	}
}

func TestARequestAtResetIsAdmitted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		exact int
	}{{"exact", 10_000}, {"in buckets", 1}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := shortWindow(300 * time.Millisecond)
			s.exact = test.exact
			l, name := mustOpen(t, mustURL(t), s), unused(t)
			for range 8 {
				d := l.Take(t.Context(), name, 5)
				for range 1_000 { // on a busy machine requests leave the window during the test
					if d.Allowed {
						d = l.Take(t.Context(), name, 5)
					}
				}
				if d.Allowed {
					t.Fatalf("none of 1,000 requests was refused: %+v", d)
				}
				time.Sleep(time.Until(d.Reset))
				if next := l.Take(t.Context(), name, 5); !next.Allowed {
					t.Fatalf("refused at Reset of %+v: %+v", d, next)
				}
			}
		})
	}
}

func TestBucketsBoundTheLogInRedis(t *testing.T) {
	t.Parallel()
	s := shortWindow(200 * time.Millisecond)
	s.exact = 10
	l, name := mustOpen(t, mustURL(t), s), unused(t)
	client, admitted := mustDial(t, mustURL(t)), 0
	for until := time.Now().Add(3 * s.window); time.Now().Before(until); admitted++ {
		if d := l.Take(t.Context(), name, 10_000_000); !d.Allowed {
			t.Fatalf("Take = %+v, want allowed", d)
		}
	}
	entries, err := client.LLen(t.Context(), windowKey(name)).Result()
	if err != nil {
		t.Fatal(err)
	}
	if entries > 12 { // ten full buckets, the present one and the head
		t.Errorf("%d entries for %d requests, want at most 12", entries, admitted)
	}
}

func TestAnUnusedNameExpiresInRedis(t *testing.T) {
	t.Parallel()
	l, name := mustOpen(t, mustURL(t), longTimeout()), unused(t)
	l.Take(t.Context(), name, 3)
	ttl, err := mustDial(t, mustURL(t)).PTTL(t.Context(), windowKey(name)).Result()
	if err != nil || ttl < 55*time.Second || ttl > 61*time.Second {
		t.Errorf("PTTL = %v, %v, want about 61 s", ttl, err)
	}
}

func TestAClockThatStepsBackKeepsTheLimit(t *testing.T) {
	t.Parallel()
	// write writes a log of five requests that leave after a time, and returns the
	// expected last entry after a sixth.
	write := func(t *testing.T, l *Limiter, name string, ahead time.Duration) string {
		now, err := l.nodes.client.Time(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		leaves := now.Add(ahead).UnixMicro()
		key := windowKey(name)
		entries := []any{"0:7", fmt.Sprintf("%d:9", leaves-1), fmt.Sprintf("%d:12", leaves)}
		if err := l.nodes.client.RPush(t.Context(), key, entries...).Err(); err != nil {
			t.Fatal(err)
		}
		l.nodes.client.Expire(t.Context(), key, time.Minute)
		return fmt.Sprintf("%d:13", leaves)
	}
	t.Run("a small step keeps the order", func(t *testing.T) {
		t.Parallel()
		l, name := mustOpen(t, mustURL(t), longTimeout()), unused(t)
		tail := write(t, l, name, 70*time.Second)
		d := l.Take(t.Context(), name, 6)
		if !d.Allowed || d.Remaining != 0 {
			t.Errorf("Take = %+v, want the sixth allowed", d)
		}
		if d = l.Take(t.Context(), name, 6); d.Allowed || d.RetryAfter < 65*time.Second {
			t.Errorf("Take = %+v, want refused for 70 s", d)
		}
		if got := l.nodes.client.LIndex(t.Context(), windowKey(name), -1).Val(); got != tail {
			t.Errorf("the last entry is %s, want %s: the sixth must not leave before the fifth", got, tail)
		}
	})
	t.Run("a large step counts one window longer", func(t *testing.T) {
		t.Parallel()
		l, name := mustOpen(t, mustURL(t), longTimeout()), unused(t)
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
	l, name := mustOpen(t, mustURL(t), longTimeout()), unused(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if d := l.Take(ctx, name, 3); !d.Allowed || d.Local {
		t.Errorf("Take = %+v, want allowed by Redis", d)
	}
	if d := peek(t, l, name, 3); d.Remaining != 2 {
		t.Errorf("Remaining = %d, want 2", d.Remaining)
	}
}

func TestOpenDoesNotQuoteABadURL(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"",
		"http://:s3cret@localhost",
		"redis://:s3cret@local host:6379",
		"redis://:s3cret@localhost:6379/x",
		"unix://:s3cret@",
		"redis://user:s3cret#1@localhost:6379", // parsed as the port
		"redis://user:s3cret/1@localhost:6379",
		"redis://user:s3cret?1@localhost:6379",
		"redis://user:123/s3cret@localhost:6379/0",            // parsed as the path
		"redis://user:123?s3cret@localhost:6379",              // parsed as an option
		"redis://user:123?db=s3cret",                          // parsed as its value
		"redis://localhost:6379?addr=redis://:s3cret@other:1", // parsed as an address
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

func TestAURLWithFurtherNodesIsACluster(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		url   string
		nodes []string // nil is a single server
	}{
		{"redis://:p%23w@localhost:6379/3?client_name=storeroom", nil},
		{"rediss://localhost", nil},
		{"redis://user:p%23w@one:1?addr=two:2&addr=%5B::3%5D:3", []string{"one:1", "two:2", "[::3]:3"}},
		{"rediss://user:p%23w@one:1/0?addr=two:2", []string{"one:1", "two:2"}},
		{
			"redis://user:p%23w@one:1/?addr=two:2&read_only=true&max_retries=5&max_redirects=-1&read_timeout=1m",
			[]string{"one:1", "two:2"},
		},
	} {
		n, err := connect(test.url, slog.New(slog.DiscardHandler), standard)
		if err != nil {
			t.Errorf("connect(%q) = %v", test.url, err)
			continue
		}
		t.Cleanup(func() { n.client.Close() })
		if (n.cluster != nil) != (test.nodes != nil) {
			t.Errorf("%s: cluster = %t, want %t", test.url, n.cluster != nil, test.nodes != nil)
			continue
		}
		if n.cluster == nil {
			checkBounded(t, test.url, n.client.(*redis.Client).Options())
			continue
		}
		o := n.cluster.Options()
		if diff := cmp.Diff(test.nodes, o.Addrs); diff != "" || o.Username != "user" || o.Password != "p#w" {
			t.Errorf("%s: user %s, (-want +got)\n%s", test.url, o.Username, diff)
		}
		if secure := strings.HasPrefix(test.url, "rediss:"); secure != (o.TLSConfig != nil) {
			t.Errorf("%s: TLS is %v", test.url, !secure)
		}
		if o.MaxRedirects < 2 || o.ReadOnly {
			t.Errorf("%s: %+v, want redirects and only masters", test.url, o)
		}
		node := o.NewClient(&redis.Options{Addr: "one:1"})
		checkBounded(t, test.url, node.Options())
		node.Close()
		if got := n.address(instancesKey); got != unknown {
			t.Errorf("%s: a node is known before the cluster has answered: %s", test.url, got)
		}
	}
}

// checkBounded fails if a client may wait long or send a command twice.
func checkBounded(t *testing.T, url string, o *redis.Options) {
	t.Helper()
	most := standard.beat
	if o.MaxRetries != 0 || o.ReadTimeout > most || o.PoolTimeout > most || !o.ContextTimeoutEnabled {
		t.Errorf("%s: the options are not bounded: %+v", url, o)
	}
}
