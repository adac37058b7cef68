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

// What an instance writes when it decides limits on its own, and when Redis does again.
const (
	redisAway = `"redis is unavailable`
	redisBack = `"redis is available again`
)

// Redis goes away under load and comes back, in every way that it can. No client sees
// an error for it and none waits long. While Redis is unavailable each instance admits
// its share of a limit; soon after its return limits are exact again.
func TestRedisComesBackUnderLoad(t *testing.T) {
	h := newHouse(t)
	k := h.tenant(t, "acme", 10_000_000)
	instances := h.startInstances(t, 2)
	l := newLoad(t, stall(t, newClient(t, instances[0].base, k.Key, false)), nil)
	for n := range 6 {
		l.start(newClient(t, instances[n%2].base, k.Key, false), fmt.Sprintf("client-%d", n), mixed)
	}
	for n, c := range []struct {
		name            string
		leaves, returns func(t *testing.T, pid int)
	}{
		{"It is stopped and started", h.stopRedis, h.startRedis},
		{"It hangs and goes on", mustSignal(syscall.SIGSTOP), mustSignal(syscall.SIGCONT)},
		{"It is killed and started", func(t *testing.T, pid int) {
			mustSignal(syscall.SIGKILL)(t, pid)
			h.redis.stop(t) // notes that it is gone
		}, h.startRedis},
	} {
		t.Run(c.name, func(t *testing.T) {
			const limit = 200
			during, after := h.tenant(t, fmt.Sprintf("during-%d", n), limit), h.tenant(t, fmt.Sprintf("after-%d", n), limit)
			pid := h.redisPID(t)
			away, back := countLines(instances, redisAway), countLines(instances, redisBack)
			l.lap()
			c.leaves(t, pid)
			awaitLines(t, instances, redisAway, away)
			mustAdmit(t, during, limit, instances)
			l.awaitMore(t, 300)
			mustBeQuick(t, l)
			c.returns(t, pid)
			took := awaitLines(t, instances, redisBack, back)
			t.Logf("limits are exact again after %v", took.Round(time.Millisecond))
			mustAdmit(t, after, limit, instances)
			// Requests admitted in memory are not charged later: at most twice the limit.
			if got := admit(t, during, instances); got > limit {
				t.Errorf("Redis admitted %d requests after the outage, want at most %d", got, limit)
			}
			mustBeQuick(t, l)
		})
	}

	t.Run("It forgets everything", func(t *testing.T) {
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

// mustBeQuick wants that no client of the load has waited for Redis to come back.
func mustBeQuick(t *testing.T, l *load) {
	t.Helper()
	count, p99, most := l.lap()
	t.Logf("%d answers: %v (p99), %v at most", count, p99.Round(time.Millisecond), most.Round(time.Millisecond))
	if p99 > time.Second || most > 3*time.Second {
		t.Errorf("answers took %v (p99), %v at most, want 1s and 3s", p99, most)
	}
}

func countLines(instances []*instance, text string) []int {
	var counts []int
	for _, i := range instances {
		counts = append(counts, i.count(text))
	}
	return counts
}

// awaitLines waits until every instance has written a line once more.
func awaitLines(t *testing.T, instances []*instance, text string, before []int) time.Duration {
	t.Helper()
	begun := time.Now()
	for n, i := range instances {
		i.awaitLine(t, text, before[n], errorsEndWithin-time.Since(begun))
	}
	return time.Since(begun)
}

func (h *house) redisClient(t *testing.T) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(h.redis.RedisURL)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { client.Close() })
	return client
}

// redisPID asks Redis for the number of its process: once it hangs, it cannot say.
func (h *house) redisPID(t *testing.T) int {
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

func (h *house) stopRedis(t *testing.T, _ int)  { t.Helper(); h.redis.stop(t) }
func (h *house) startRedis(t *testing.T, _ int) { t.Helper(); h.redis.start(t) }

func mustSignal(s syscall.Signal) func(*testing.T, int) {
	return func(t *testing.T, pid int) {
		t.Helper()
		if err := syscall.Kill(pid, s); err != nil {
			t.Fatalf("signal process %d: %v", pid, err)
		}
	}
}
