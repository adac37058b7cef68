package main

import (
	"testing"

	"github.com/prometheus/procfs"

	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

// TestIdleMemory measures a server that has sent one response, and then its largest documents and a few others. The
// program itself, without its data, takes 18 MB in addition, and 36 to 48 MB with the pages that the kernel maps next to
// them. The process is that of the tests, which also has 1 MB of tables for random texts.
func TestIdleMemory(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	key := p.mustKey(t, "acme", "1000")
	server := start(t, p.dir, p.environ, "serve")
	base := server.address(t)
	mustGet := func(path string) {
		if status := get(t, base+path, key.Key); status != 200 {
			t.Fatalf("%s = %d, want 200", path, status)
		}
	}
	pools := 0
	if dbtest.OnCitus() {
		pools = 6 << 20 // to the other nodes
	}
	mustGet("/api/products")
	waitForMemory(t, server.Process.Pid, 15<<20+pools)
	for range 10 {
		for _, path := range []string{"/docs", "/openapi.json", "/settings/sign-in", "/api/products"} {
			mustGet(path)
		}
	}
	waitForMemory(t, server.Process.Pid, 20<<20+pools)
}

// waitForMemory waits until a process has at most limit bytes of anonymous memory.
func waitForMemory(t *testing.T, pid, limit int) {
	t.Helper()
	process, err := procfs.NewProc(pid)
	if err != nil {
		t.Fatal(err)
	}
	var used uint64
	defer func() { t.Logf("%d KiB of at most %d", used>>10, limit>>10) }()
	for range poll(t) {
		status, err := process.NewStatus()
		if err != nil {
			t.Fatal(err)
		}
		if used = status.RssAnon; used <= uint64(limit) {
			break
		}
	}
}
