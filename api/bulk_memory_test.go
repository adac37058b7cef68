package api

import (
	"fmt"
	"io"
	"net/http/httptest"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"
)

// sequence returns a body and computes each row when it is read.
func sequence(field string, rows int, row func(n int) string) io.Reader {
	reader, writer := io.Pipe()
	go func() {
		fmt.Fprintf(writer, `{%q:[`, field)
		for n := range rows {
			if n > 0 {
				io.WriteString(writer, ",")
			}
			io.WriteString(writer, row(n))
		}
		io.WriteString(writer, "]}")
		writer.Close()
	}()
	return reader
}

// liveMemory returns the most memory that garbage collections find in use while f runs, in addition to that before it.
func liveMemory(f func()) int64 {
	begin := time.Now()
	live := func() int64 {
		begin = time.Now()
		runtime.GC()
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64())
	}
	before, most, done := live(), int64(0), make(chan struct{})
	go func() { f(); close(done) }()
	for {
		select {
		case <-done:
			return most - before
		case <-time.After(10*time.Millisecond + 2*time.Since(begin)): // collections leave CPU time to f
			most = max(most, live())
		}
	}
}

// TestTheLargestBulksNeedLittleMemory is not parallel: it measures the process.
func TestTheLargestBulksNeedLittleMemory(t *testing.T) {
	a := newAPI(t)
	description := strings.Repeat("Long text. ", 3000)[:32_700]
	product := func(n int) string {
		return fmt.Sprintf(`{"sku":"P-%d","name":"Lamp %d","price":5,"description":"%s"}`, n*7919%1000, n, description)
	}
	price := func(n int) string { return fmt.Sprintf(`{"sku":"P-%d","price":6}`, n) }
	order := func(n int) string {
		var items strings.Builder
		for i := range 50 {
			fmt.Fprintf(&items, `,{"sku":"S-%d","quantity":1,"unit_price":5}`, n*50+i)
		}
		return fmt.Sprintf(`{"number":"%d","placed_at":"2026-03-%02dT09:30:00Z","channel":"web","customer":{"id":"C-%d"},"items":[%s]}`,
			n, 1+n%28, n, items.String()[1:])
	}
	var faults strings.Builder
	for n := range 199 {
		fmt.Fprintf(&faults, `"%s%d":0,`, strings.Repeat("x", 140), n)
	}
	faulty := func(int) string { return "{" + faults.String() + `"sku":0}` }
	for _, test := range []struct {
		name, path string
		kind       string
		row        func(int) string
		status     int
		most       int64 // MiB
	}{
		{"1,000 new products of 32 KB", "/api/products/bulk", "items", product, 200, 32},
		{"1,000 unchanged products of 32 KB", "/api/products/bulk", "items", product, 200, 32},
		{"1,000 new prices of products of 32 KB", "/api/products/bulk", "items", price, 200, 32},
		// A collection also counts what is allocated while it runs, which takes longer on a busy machine.
		{"50,000 items", "/api/orders/bulk", "orders", order, 200, 80},
		{"199,000 errors", "/api/products/bulk", "items", faulty, 207, 32},
	} {
		var w *httptest.ResponseRecorder
		var got int64
		for range 5 { // a busy machine may answer 503
			r := httptest.NewRequest("POST", test.path, sequence(test.kind, 1000, test.row))
			r.ContentLength = -1
			r.Header.Set("Authorization", "Bearer "+a.key)
			r.Header.Set("Content-Type", "application/json")
			w = httptest.NewRecorder()
			if got = max(got, liveMemory(func() { a.server.ServeHTTP(w, r) })); w.Code != 503 {
				break
			}
		}
		t.Logf("%s: %.1f MiB", test.name, float64(got)/(1<<20))
		if w.Code != test.status || got > test.most<<20 {
			t.Errorf("%s: %d %.300s, %d MiB, want %d and at most %d MiB",
				test.name, w.Code, w.Body, got>>20, test.status, test.most)
		}
	}
}
