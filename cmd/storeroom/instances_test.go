package main

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// startThreeInstances starts three servers with the same PostgreSQL and Redis.
func startThreeInstances(t *testing.T) (program, []string) {
	t.Helper()
	p := newProgram(t).with("REDIS_URL="+privateRedis(t), "STOREROOM_LOG_LEVEL=info")
	var processes []*process
	for range 3 {
		processes = append(processes, start(t, p.dir, p.environ, "serve"))
	}
	var bases []string
	for _, server := range processes {
		bases = append(bases, server.address(t))
	}
	t.Cleanup(func() {
		for _, server := range processes {
			server.stop(t)
		}
	})
	return p, bases
}

// Within a minute, the instances together admit exactly the limit while Redis answers within
// 50 ms, and at most twice the limit when the machine is too busy for that. A busy machine gets
// several attempts. This test does not run in parallel with others.
func TestThreeInstancesAdmitExactlyTheLimit(t *testing.T) {
	const limit, attempts = 700, 12
	p, bases := startThreeInstances(t)
	var admitted []int64
	for n := range attempts {
		key := p.mustKey(t, fmt.Sprint("acme-", n), fmt.Sprint(limit))
		got := admitFromMany(t, bases, key.Key, limit)
		if got == limit {
			return
		}
		if mostShares := int64(len(bases)); got < limit || got > 2*limit+mostShares { // each share is rounded up
			t.Fatalf("%d requests were admitted, want %d, and at most twice that on a busy machine", got, limit)
		}
		admitted = append(admitted, got)
	}
	t.Errorf("%d requests were admitted, want exactly %d once", admitted, limit)
}

// admitFromMany sends requests from many clients to all instances and returns how many were admitted.
func admitFromMany(t *testing.T, bases []string, key string, limit int64) int64 {
	t.Helper()
	const clients, duration = 24, 3 * time.Second
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = clients
	defer transport.CloseIdleConnections()
	var admitted, refused, other atomic.Int64
	var all sync.WaitGroup
	end := time.Now().Add(duration)
	for n := range clients {
		all.Go(func() {
			client := &http.Client{Transport: transport}
			for time.Now().Before(end) {
				switch status := ask(t, client, bases[n%len(bases)]+"/api/me", key); status {
				case 200:
					admitted.Add(1)
				case 429:
					refused.Add(1)
				default:
					other.Add(1)
				}
			}
		})
	}
	all.Wait()
	if refused.Load() == 0 || other.Load() != 0 {
		t.Errorf("%d refused, %d others, want some refused and no others", refused.Load(), other.Load())
	}
	return admitted.Load()
}

func ask(t *testing.T, client *http.Client, url, key string) int {
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		return 0
	}
	r.Header.Set("Authorization", "Bearer "+key)
	response, err := client.Do(r)
	if err != nil {
		return 0
	}
	response.Body.Close()
	return response.StatusCode
}

func TestChangesReachEveryInstanceWithinTwoSeconds(t *testing.T) {
	t.Parallel()
	p, bases := startThreeInstances(t)
	key := p.mustKey(t, "acme", "100000")
	wantStatus := func(want int) {
		t.Helper()
		since := time.Now()
		for _, base := range bases {
			for {
				sent := time.Now()
				if get(t, base+"/api/me", key.Key) == want {
					break
				}
				if took := sent.Sub(since); took > 2*time.Second {
					t.Fatalf("%s does not return %d to a request after %v", base, want, took)
				}
				time.Sleep(10 * time.Millisecond)
			}
		}
	}
	wantStatus(200)
	p.mustRun(t, &struct{}{}, "tenant", "suspend", "--slug", "acme")
	wantStatus(403)
	p.mustRun(t, &struct{}{}, "tenant", "resume", "--slug", "acme")
	wantStatus(200)
	p.mustRun(t, &struct{}{}, "tenant", "set", "--slug", "acme", "--rate-limit", "1")
	wantStatus(429)
	p.mustRun(t, &struct{}{}, "tenant", "set", "--slug", "acme", "--rate-limit", "100000")
	wantStatus(200)
	p.mustRun(t, &struct{}{}, "key", "revoke", "--tenant", "acme", "--id", "1")
	wantStatus(401)
}
