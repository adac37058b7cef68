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
	// errorsEndWithin is how soon after PostgreSQL or Redis is back nobody notices any
	// more.
	errorsEndWithin = 5 * time.Second
	// outage is how long PostgreSQL is away, at least.
	outage = 2 * time.Second
	// handledWithin is what a handler has, 8 s, and a little for the way.
	handledWithin = 9 * time.Second
)

// PostgreSQL goes away under load and comes back. Meanwhile clients are asked to come
// back, soon; afterwards everything that was ever acknowledged is there, once.
func TestPostgreSQLComesBackUnderLoad(t *testing.T) {
	for name, fell := range map[string]func(*testing.T, *house){
		"It is stopped in good order": func(t *testing.T, h *house) { h.postgres.stop(t) },
		"Its first process is killed": func(t *testing.T, h *house) {
			h.postgres.kill(t)
			h.postgres.stop(t) // what is left of it
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, "STOREROOM_LOG_LEVEL=warn")
			k := h.tenant(t, "acme", 10_000_000)
			instances := h.startInstances(t, 2)
			l := newLoad(t, stall(t, newClient(t, instances[0].base, k.Key, false)), answer.asksToComeBack)
			for n := range 8 {
				l.start(newClient(t, instances[n%2].base, k.Key, n == 7), fmt.Sprintf("client-%d", n), mixed)
			}
			l.start(newClient(t, instances[0].base, k.Key, false), "report", reports)
			l.awaitMore(t, 300)

			fell(t, h)
			since := time.Now()
			for n, i := range instances {
				awaitReadiness(t, n, i, http.StatusServiceUnavailable)
			}
			await(t, 2*outage, "the outage to be felt", func() bool { return time.Since(since) > outage })
			h.postgres.start(t)
			returned := time.Now()
			for n, i := range instances {
				awaitReadiness(t, n, i, http.StatusOK)
			}
			ready := time.Since(returned)
			await(t, time.Minute, "two seconds without an error", func() bool { return time.Since(l.lastRefused(returned)) > 2*time.Second })
			ended := l.lastRefused(returned).Sub(returned)
			_, p99, most := l.lap()
			t.Logf("ready %v and the last error %v after PostgreSQL was back; answers took %v (p99), %v at most",
				ready.Round(time.Millisecond), ended.Round(time.Millisecond), p99.Round(time.Millisecond), most.Round(time.Millisecond))
			if ended > errorsEndWithin {
				t.Errorf("errors ended %v after PostgreSQL was back, want %v at most", ended, errorsEndWithin)
			}
			if most > handledWithin {
				t.Errorf("an answer took %v, want %v at most", most, handledWithin)
			}
			l.awaitMore(t, 100)
			l.finish(t)
			if l.refusals < 50 {
				t.Errorf("%d requests were refused: nothing was tried", l.refusals)
			}
			l.mustCountOnce(t, h, "acme")
			made := h.key(t, "acme")
			mustRefuse(t, instances, made.Key, func() { h.run(t, "", nil, "key", "revoke", "--tenant", "acme", "--id", fmt.Sprint(made.ID)) })
		})
	}
}

// kill ends PostgreSQL's first process without a warning; the others notice.
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
	await(t, errorsEndWithin, fmt.Sprintf("/readyz of instance %d to say %d", n, want), func() bool { return i.readiness(t).status == want })
}

// lastRefused is when an answer came last that was no success, but not before since.
func (l *load) lastRefused(since time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused.Before(since) {
		return since
	}
	return l.refused
}
