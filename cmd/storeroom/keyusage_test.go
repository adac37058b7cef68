package main

import (
	"testing"
)

// A process that is killed has written what is older than ten seconds, and one that shuts down
// has written everything.
func TestUsageOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	p := newProgram(t).with("REDIS_URL=" + privateRedis(t))
	key := p.mustKey(t, "acme", "1000")
	super := p.MustSuper(t)
	stored := func() (n int) {
		t.Helper()
		if err := super.QueryRow(t.Context(), `select coalesce(sum(status_2xx), 0) from key_usage`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	send := func(server *process, n int) {
		t.Helper()
		served := 0
		for range poll(t) {
			switch status := get(t, server.address(t)+"/api/me", key.Key); status {
			case 200:
				served++
			case 503: // on a busy machine
			default:
				t.Fatalf("GET /api/me = %d, want 200", status)
			}
			if served == n {
				break
			}
		}
	}
	server := start(t, p.dir, p.environ, "serve")
	send(server, 5)
	server.stop(t)
	if n := stored(); n != 5 {
		t.Errorf("after a shutdown %d requests are stored, want 5", n)
	}
	server = start(t, p.dir, p.environ, "serve")
	send(server, 7)
	for range poll(t) {
		if stored() == 12 {
			break
		}
	}
	server.kill(t)
	if n := stored(); n != 12 {
		t.Errorf("ten seconds after the last request %d requests are stored, want 12", n)
	}
}
