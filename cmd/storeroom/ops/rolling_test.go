//go:build ops

package ops

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const drain = 5 * time.Second // the default

// Two instances are replaced one after the other under load: persistent and new connections, HTTP/1.1 and HTTP/2,
// reads, writes, reports and exports, some so slow that they run during the shutdown. No request may fail.
func TestARollingRestartBehindAProxyFailsNoRequest(t *testing.T) {
	for name, start := range map[string]func(*testing.T, []int) *balancer{
		"HAProxy": startHAProxy, "nginx": startNginx, "Caddy": startCaddy,
	} {
		t.Run(name, func(t *testing.T) { testRollingRestart(t, start) })
	}
}

func testRollingRestart(t *testing.T, startProxy func(*testing.T, []int) *balancer) {
	h := newService(
		t, "STOREROOM_DRAIN="+drain.String(), "STOREROOM_TRUSTED_PROXIES=127.0.0.1", "STOREROOM_LOG_LEVEL=warn")
	k := h.tenant(t, "acme", 10_000_000)
	ports := []int{freePort(t), freePort(t)}
	instances := []*instance{h.startInstance(t, ports[0]), h.startInstance(t, ports[1])}
	proxy := startProxy(t, ports)
	l := newLoad(t, mustProducts(t, proxy.client(t, k.Key, true, false)), nil)
	for n := range 5 {
		l.start(proxy.client(t, k.Key, n%2 == 0, false), fmt.Sprintf("kept-%d", n), mixed)
		l.start(proxy.client(t, k.Key, n%2 == 0, true), fmt.Sprintf("fresh-%d", n), mixed)
	}
	l.start(proxy.client(t, k.Key, true, false), "report", reports)
	l.start(proxy.client(t, k.Key, true, true), "export", exports)
	slow := h.tenant(t, "slow", 10_000_000)
	files := []*slowExport{
		startSlowExport(t, l, proxy.client(t, slow.Key, false, false)),
		startSlowExport(t, l, proxy.client(t, slow.Key, false, false)),
	}
	longest := time.Duration(0)
	for range 2 {
		for n, port := range ports {
			l.awaitMore(t, 200)
			for _, e := range files {
				e.awaitStart(t)
			}
			instances[n].signal(t, syscall.SIGTERM)
			asked := time.Now()
			instances[n].mustExit(t)
			longest = max(longest, time.Since(asked))
			// The next instance stops as soon as this one is ready, before the proxy has checked it.
			instances[n] = h.startInstance(t, port)
		}
	}
	l.awaitMore(t, 200)
	l.finish(t)
	t.Logf(
		"%d slow exports were complete; a shutdown took up to %v", files[0].whole+files[1].whole,
		longest.Round(time.Millisecond))
	if longest < drain+time.Second {
		t.Errorf("every shutdown took at most %v, so none waited for an export", longest)
	}
	if proxy.mustHaveServed != nil {
		proxy.mustHaveServed(t)
	}
	for _, i := range instances {
		i.signal(t, syscall.SIGTERM)
	}
	for _, i := range instances {
		i.mustExit(t)
	}
	l.mustCountOnce(t, h, "acme")
}

// slowExport downloads one file after the other, each of 24 MB in about twelve seconds. This exceeds all buffers, and
// the drain time.
type slowExport struct {
	read  atomic.Int64 // bytes of the current file
	whole int          // complete files; valid after the load has finished
}

const exportRows, rowSize = 400, 60_000

func startSlowExport(t *testing.T, l *load, c client) *slowExport {
	t.Helper()
	var items []map[string]any
	for n := range exportRows {
		items = append(
			items,
			map[string]any{"sku": fmt.Sprintf("BULKY-%d", n), "name": "Bulky", "price": 1,
				"description": strings.Repeat("Long. ", rowSize/6)})
	}
	c.must(t, "POST", "/api/products/bulk", map[string]any{"items": items}, nil)
	s := &slowExport{}
	l.all.Go(func() {
		for !l.over.Load() {
			if rows, err := s.export(l.ctx, c); err != nil || rows != 1+exportRows {
				l.fail("slow export: %d rows of %d: %v", rows, 1+exportRows, err)
				continue
			}
			s.whole++
		}
	})
	return s
}

func (s *slowExport) export(ctx context.Context, c client) (rows int, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", c.base+"/api/products/export?search=bulky", nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+c.key)
	r.Header.Set("Accept-Encoding", "identity") // compressed, the file would fit in the buffers
	response, err := c.http.Do(r)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	s.read.Store(0)
	lines := csv.NewReader(bufio.NewReaderSize(reader(func(b []byte) (int, error) {
		n, err := response.Body.Read(b)
		s.read.Add(int64(n))
		time.Sleep(time.Duration(n) * time.Second / 2_000_000) // two megabytes a second
		return n, err
	}), 64<<10))
	for ; ; rows++ {
		if _, err := lines.Read(); err == io.EOF {
			return rows, nil
		} else if err != nil {
			return rows, err
		}
	}
}

// reader is an io.Reader.
type reader func([]byte) (int, error)

func (r reader) Read(b []byte) (int, error) { return r(b) }

// awaitStart waits until a download has begun, but is far from complete.
func (s *slowExport) awaitStart(t *testing.T) {
	t.Helper()
	await(t, 40*time.Second, "a slow export to begin", func() bool {
		read := s.read.Load()
		return read > 0 && read < exportRows*rowSize/8
	})
}
