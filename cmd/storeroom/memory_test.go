package main

import (
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

// TestIdleMemory measures a server that has sent its largest documents and a few other responses. The program itself,
// without its data, takes 30 MB in addition.
func TestIdleMemory(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	key := p.mustKey(t, "acme", "1000")
	server := start(t, p.dir, p.environ, "serve")
	base := server.address(t)
	for range 10 {
		for _, path := range []string{"/docs", "/openapi.json", "/settings/sign-in", "/api/products"} {
			if status := get(t, base+path, key.Key); status != 200 {
				t.Fatalf("%s = %d, want 200", path, status)
			}
		}
	}
	process, err := procfs.NewProc(server.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	const limit = 22 << 20
	var used uint64
	for range poll(t, time.Minute) {
		status, err := process.NewStatus()
		if err != nil {
			t.Fatal(err)
		}
		if used = status.RssAnon; used <= limit {
			break
		}
	}
	t.Logf("%d KiB", used>>10)
}
