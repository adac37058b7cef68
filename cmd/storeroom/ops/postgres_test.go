//go:build ops

package ops

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// recoveryTimeout is the maximum time from the restart of PostgreSQL or Redis to the last error.
	recoveryTimeout = 5 * time.Second
	// outage is the minimum duration of an outage of PostgreSQL.
	outage = 2 * time.Second
	// handlerTimeout is the deadline of a handler, 8 s, plus 1 s.
	handlerTimeout = 9 * time.Second
)

// PostgreSQL stops under load and restarts. During the outage, clients are asked to retry. Afterwards, every
// acknowledged write is stored exactly once.
func TestPostgreSQLRestartsUnderLoad(t *testing.T) {
	for name, stop := range map[string]func(*testing.T, *service){
		"It is stopped": func(t *testing.T, h *service) { h.postgres.stop(t) },
		"Its main process is killed": func(t *testing.T, h *service) {
			h.postgres.kill(t)
			h.postgres.stop(t) // the other processes
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newService(t, "STOREROOM_LOG_LEVEL=warn")
			k := h.tenant(t, "acme", 10_000_000)
			instances := h.startInstances(t, 2)
			l := newLoad(t, mustProducts(t, newClient(t, instances[0].base, k.Key, false)), reply.asksForRetry)
			for n := range 8 {
				l.start(newClient(t, instances[n%2].base, k.Key, n == 7), fmt.Sprintf("client-%d", n), mixed)
			}
			l.start(newClient(t, instances[0].base, k.Key, false), "report", reports)
			l.awaitMore(t, 300)

			stop(t, h)
			since := time.Now()
			for n, i := range instances {
				awaitReadiness(t, n, i, http.StatusServiceUnavailable)
			}
			await(t, 2*outage, "the end of the outage", func() bool { return time.Since(since) > outage })
			h.postgres.start(t)
			returned := time.Now()
			for n, i := range instances {
				awaitReadiness(t, n, i, http.StatusOK)
			}
			ready := time.Since(returned)
			await(t, time.Minute, "two seconds without an error", func() bool {
				return time.Since(l.lastRefused(returned)) > 2*time.Second
			})
			ended := l.lastRefused(returned).Sub(returned)
			_, p99, most := l.takeLatencies()
			t.Logf("ready %v and the last error %v after the restart; responses took %v (p99), at most %v",
				ready.Round(time.Millisecond), ended.Round(time.Millisecond),
				p99.Round(time.Millisecond), most.Round(time.Millisecond))
			if ended > recoveryTimeout {
				t.Errorf("the last error was %v after the restart, want at most %v", ended, recoveryTimeout)
			}
			if most > handlerTimeout {
				t.Errorf("a response took %v, want at most %v", most, handlerTimeout)
			}
			l.awaitMore(t, 100)
			l.finish(t)
			if l.refusals < 50 {
				t.Errorf("only %d requests were refused during the outage", l.refusals)
			}
			l.mustCountOnce(t, h, "acme")
			made := h.key(t, "acme")
			mustRefuse(
				t, instances, made.Key,
				func() { h.run(t, "", nil, "key", "revoke", "--tenant", "acme", "--id", fmt.Sprint(made.ID)) })
		})
	}
}

// kill sends SIGKILL to the main process of PostgreSQL.
func (s *server) kill(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "postgres", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	mustSignal(syscall.SIGKILL)(t, pid)
}

func awaitReadiness(t *testing.T, n int, i *instance, want int) {
	t.Helper()
	await(t, recoveryTimeout, fmt.Sprintf("/readyz of instance %d to return %d", n, want), func() bool {
		return i.readiness(t).status == want
	})
}

// lastRefused returns the time of the last failed request, but not a time before since.
func (l *load) lastRefused(since time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused.Before(since) {
		return since
	}
	return l.refused
}
