//go:build ops

package ops

import (
	"errors"
	"fmt"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// The log messages of an instance when it begins and stops to decide limits in memory.
const (
	redisUnavailable = `"redis is unavailable`
	redisAvailable   = `"redis is available again`
)

// Redis stops, hangs or is killed under load and becomes available again. No request fails or waits long. While Redis
// is unavailable, each instance admits its share of a limit. Soon afterwards, limits are exact again.
func TestRedisRestartsUnderLoad(t *testing.T) {
	h := newService(t)
	k := h.tenant(t, "acme", 10_000_000)
	instances := h.startInstances(t, 2)
	l := newLoad(t, mustProducts(t, newClient(t, instances[0].base, k.Key, false)), nil)
	for n := range 6 {
		l.start(newClient(t, instances[n%2].base, k.Key, false), fmt.Sprintf("client-%d", n), mixed)
	}
	for n, c := range []struct {
		name        string
		stop, start func(t *testing.T, pid int)
	}{
		{"It is stopped and started", h.stopRedis, h.startRedis},
		{"It is suspended and continued", mustSignal(syscall.SIGSTOP), mustSignal(syscall.SIGCONT)},
		{"It is killed and started", func(t *testing.T, pid int) {
			mustSignal(syscall.SIGKILL)(t, pid)
			h.redis.stop(t) // releases its directory
		}, h.startRedis},
	} {
		t.Run(c.name, func(t *testing.T) {
			const limit = 200
			during, after := h.tenant(t, fmt.Sprintf("during-%d", n), limit), h.tenant(t, fmt.Sprintf("after-%d", n), limit)
			pid := h.redisPID(t)
			away, back := countLines(instances, redisUnavailable), countLines(instances, redisAvailable)
			l.takeLatencies()
			c.stop(t, pid)
			awaitLines(t, instances, redisUnavailable, away)
			mustAdmit(t, during, limit, instances)
			l.awaitMore(t, 300)
			mustBeQuick(t, l)
			c.start(t, pid)
			took := awaitLines(t, instances, redisAvailable, back)
			t.Logf("limits are exact again after %v", took.Round(time.Millisecond))
			mustAdmit(t, after, limit, instances)
			// Requests admitted in memory are not charged later: at most twice the limit.
			if got := admit(t, during, instances); got > limit {
				t.Errorf("Redis admitted %d requests after the outage, want at most %d", got, limit)
			}
			mustBeQuick(t, l)
		})
	}

	t.Run("It is flushed", func(t *testing.T) {
		const limit = 200
		before, after := h.tenant(t, "before", limit), h.tenant(t, "after", limit)
		mustAdmit(t, before, limit, instances)
		client := h.redisClient(t)
		if err := errors.Join(client.FlushAll(t.Context()).Err(), client.ScriptFlush(t.Context()).Err()); err != nil {
			t.Fatal(err)
		}
		mustAdmit(t, after, limit, instances)
		mustBeQuick(t, l)
	})

	l.finish(t)
	l.mustCountOnce(t, h, "acme")
}

// mustBeQuick requires that no request of the load has waited for Redis.
func mustBeQuick(t *testing.T, l *load) {
	t.Helper()
	count, p99, most := l.takeLatencies()
	t.Logf("%d responses: %v (p99), at most %v", count, p99.Round(time.Millisecond), most.Round(time.Millisecond))
	if p99 > time.Second || most > 3*time.Second {
		t.Errorf("responses took %v (p99), at most %v, want 1s and 3s", p99, most)
	}
}

func countLines(instances []*instance, text string) []int {
	var counts []int
	for _, i := range instances {
		counts = append(counts, i.count(text))
	}
	return counts
}

// awaitLines waits until every instance has written a line again.
func awaitLines(t *testing.T, instances []*instance, text string, before []int) time.Duration {
	t.Helper()
	begun := time.Now()
	for n, i := range instances {
		i.awaitLine(t, text, before[n], recoveryTimeout-time.Since(begun))
	}
	return time.Since(begun)
}

func (h *service) redisClient(t *testing.T) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(h.redis.RedisURL)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { client.Close() })
	return client
}

// redisPID returns the process id of Redis.
func (h *service) redisPID(t *testing.T) int {
	t.Helper()
	info, err := h.redisClient(t).InfoMap(t.Context(), "server").Result()
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(info["Server"]["process_id"])
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func (h *service) stopRedis(t *testing.T, _ int)  { t.Helper(); h.redis.stop(t) }
func (h *service) startRedis(t *testing.T, _ int) { t.Helper(); h.redis.start(t) }

func mustSignal(s syscall.Signal) func(*testing.T, int) {
	return func(t *testing.T, pid int) {
		t.Helper()
		if err := syscall.Kill(pid, s); err != nil {
			t.Fatalf("signal process %d: %v", pid, err)
		}
	}
}
