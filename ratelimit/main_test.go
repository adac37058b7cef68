package ratelimit

import (
	"context"
	"crypto/rand"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/goleak"
)

// TestMain sets providers once, as the program does, and proves that Close leaves
// nothing running: every Limiter of every test is closed by then.
func TestMain(m *testing.M) {
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(measured)))
	otel.SetTracerProvider(trace.NewTracerProvider(trace.WithSyncer(traced)))
	goleak.VerifyTestMain(m)
}

func mustURL(tb testing.TB) string {
	tb.Helper()
	url := os.Getenv("REDIS_URL")
	if url == "" {
		tb.Fatal("REDIS_URL is not set: run make test")
	}
	return url
}

func mustOpen(tb testing.TB, url string, s settings) *Limiter {
	tb.Helper()
	l, err := open(tb.Context(), url, slog.New(slog.DiscardHandler), s)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Errorf("Close() = %v", err)
		}
	})
	return l
}

// short has a window that a test can wait for.
func short(window time.Duration) settings {
	return settings{window: window, bucket: window / 10, exact: 10_000, beat: 50 * time.Millisecond}
}

// unused is a name that no other test and no earlier run has counted.
func unused(tb testing.TB) string { return tb.Name() + ":" + rand.Text() }

// eventually polls until the condition holds.
func eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("not within 10 s: %s", what)
		}
	}
}

// server is a private redis-server that a test may stop and hang. It listens on
// a socket file, so that nobody takes its address while it is down.
type server struct {
	dir string
	cmd *exec.Cmd
}

func mustServe(tb testing.TB) *server {
	tb.Helper()
	dir, err := os.MkdirTemp("", "rl") // tb.TempDir is too long for a socket
	if err != nil {
		tb.Fatal(err)
	}
	s := &server{dir: dir}
	s.start(tb)
	tb.Cleanup(func() {
		s.stop(tb)
		os.RemoveAll(dir)
	})
	return s
}

func (s *server) socket() string { return filepath.Join(s.dir, "redis.sock") }
func (s *server) url() string    { return "unix://" + s.socket() }

func (s *server) start(tb testing.TB) {
	tb.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		tb.Fatalf("this test starts its own Redis: %v", err)
	}
	s.cmd = exec.Command(path, "--port", "0", "--unixsocket", s.socket(), "--dir", s.dir,
		"--save", "", "--appendonly", "no")
	if err := s.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	eventually(tb, "redis-server listens", func() bool {
		conn, err := net.Dial("unix", s.socket())
		if err != nil {
			return false
		}
		conn.Close()
		return true
	})
}

func (s *server) stop(tb testing.TB) {
	tb.Helper()
	if s.cmd == nil {
		return
	}
	s.cmd.Process.Kill()
	s.cmd.Wait()
	s.cmd = nil
}

func (s *server) signal(tb testing.TB, signal syscall.Signal) {
	tb.Helper()
	if err := s.cmd.Process.Signal(signal); err != nil {
		tb.Fatal(err)
	}
}

// mustDial returns a plain client for looking at, and tampering with, what the
// Limiter keeps.
func mustDial(tb testing.TB, url string) *redis.Client {
	tb.Helper()
	options, err := redis.ParseURL(url)
	if err != nil {
		tb.Fatal(err)
	}
	client := redis.NewClient(options)
	tb.Cleanup(func() { client.Close() })
	return client
}

// wire passes bytes between clients and a server. It swallows the answers when
// told to: the request has then been done, and nobody knows. Or it holds each
// answer up for a time between least and most.
type wire struct {
	listener    net.Listener
	swallow     atomic.Bool
	lost        atomic.Int64
	least, most time.Duration
}

func mustWire(tb testing.TB, upstream string) (*wire, string) {
	tb.Helper()
	return mustSlowWire(tb, upstream, 0, 0)
}

func mustSlowWire(tb testing.TB, upstream string, least, most time.Duration) (*wire, string) {
	tb.Helper()
	dir, err := os.MkdirTemp("", "rl")
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(dir, "wire.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		tb.Fatal(err)
	}
	w := &wire{listener: listener, least: least, most: most}
	ctx, cancel := context.WithCancel(tb.Context())
	go w.serve(ctx, upstream)
	tb.Cleanup(func() {
		cancel()
		listener.Close()
		os.RemoveAll(dir)
	})
	return w, "unix://" + path
}

func (w *wire) serve(ctx context.Context, upstream string) {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", upstream)
		if err != nil {
			client.Close()
			continue
		}
		context.AfterFunc(ctx, func() { client.Close(); server.Close() })
		go w.pass(server, client, false)
		go w.pass(client, server, true)
	}
}

func (w *wire) pass(to, from net.Conn, answers bool) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if answers && w.swallow.Load() {
			w.lost.Add(1)
			return
		}
		if answers && w.most > 0 {
			time.Sleep(w.least + mathrand.N(w.most-w.least+1))
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}
