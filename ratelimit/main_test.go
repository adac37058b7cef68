package ratelimit

import (
	"bytes"
	"context"
	"crypto/rand"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
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

// TestMain sets providers once, as the program does, and checks that Close leaves no
// goroutine running.
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

// mustOpen returns a Limiter that the test closes.
func mustOpen(tb testing.TB, url string, s settings) *Limiter {
	tb.Helper()
	l, _ := mustOpenLogged(tb, url, s)
	return l
}

func mustOpenLogged(tb testing.TB, url string, s settings) (*Limiter, *logBuffer) {
	tb.Helper()
	log := &logBuffer{}
	l, err := open(tb.Context(), url, slog.New(slog.NewTextHandler(log, nil)), s)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Errorf("Close() = %v", err)
		}
	})
	return l, log
}

// mustOpenMany returns instances that all count each other.
func mustOpenMany(tb testing.TB, count int, url string, s settings) (instances []*Limiter) {
	tb.Helper()
	for range count {
		instances = append(instances, mustOpen(tb, url, s))
	}
	for _, l := range instances {
		eventually(tb, "every instance counts all instances", func() bool { return l.Stats().Instances == count })
	}
	return instances
}

// longTimeout returns settings with a long timeout, because Redis can answer later than
// after 50 ms on a busy machine.
func longTimeout() settings {
	s := standard
	s.timeout = 10 * time.Second
	return s
}

// shortWindow returns settings with a long timeout and a short window.
func shortWindow(window time.Duration) settings {
	s := longTimeout()
	s.window, s.bucket, s.beat = window, window/10, 50*time.Millisecond
	return s
}

// standardTimeout returns settings with the standard timeout and a short window.
func standardTimeout(window time.Duration) settings {
	s := shortWindow(window)
	s.timeout = standard.timeout
	return s
}

// peek returns what Take would decide, without counting a request.
func peek(tb testing.TB, l *Limiter, name string, limit int) Decision {
	r, local := l.decide(tb.Context(), name, limit, 0)
	return r.decision(limit, local)
}

// unused returns a name that no other test and no earlier run has used.
func unused(tb testing.TB) string { return tb.Name() + ":" + rand.Text() }

// eventually polls until the condition holds.
func eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	within(tb, 20*time.Second, what, holds)
}

// within polls until the condition holds and returns how long that took.
func within(tb testing.TB, most time.Duration, what string, holds func() bool) time.Duration {
	tb.Helper()
	start := time.Now()
	for !holds() {
		if time.Since(start) > most {
			tb.Fatalf("not within %v: %s", most, what)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return time.Since(start).Round(time.Millisecond)
}

// logBuffer holds log lines that are read while others are written.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// server is a private redis-server that a test may stop and suspend. It listens on
// a socket file, so that no other process takes its address while it is down.
type server struct {
	dir string
	cmd *exec.Cmd
}

func mustServe(tb testing.TB) *server {
	tb.Helper()
	s := &server{dir: mustTempDir(tb)}
	s.start(tb)
	tb.Cleanup(func() { s.stop(tb) })
	return s
}

// mustTempDir returns a directory with a path that is short enough for a socket.
func mustTempDir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "rl")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (s *server) socket() string { return filepath.Join(s.dir, "redis.sock") }
func (s *server) url() string    { return "unix://" + s.socket() }

func (s *server) start(tb testing.TB) {
	tb.Helper()
	s.run(tb, "--port", "0")
}

// run starts the server with options and waits until it listens.
func (s *server) run(tb testing.TB, options ...string) {
	tb.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		tb.Fatalf("this test starts its own Redis: %v", err)
	}
	always := []string{"--unixsocket", s.socket(), "--dir", s.dir, "--save", "", "--appendonly", "no"}
	s.cmd = exec.Command(path, append(always, options...)...)
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

func (s *server) suspend(tb testing.TB) { s.signal(tb, syscall.SIGSTOP) }
func (s *server) resume(tb testing.TB)  { s.signal(tb, syscall.SIGCONT) }

func (s *server) signal(tb testing.TB, signal syscall.Signal) {
	tb.Helper()
	if err := s.cmd.Process.Signal(signal); err != nil {
		tb.Fatal(err)
	}
}

// mustDial returns a plain client, to read and change what the Limiter stores.
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

// proxy passes bytes between clients and a server. It can drop replies, so that the
// server has executed a command and the client cannot know, and it can delay them.
type proxy struct {
	listener    net.Listener
	drop        atomic.Bool
	dropped     atomic.Int64
	least, most atomic.Int64 // the delay of a reply in nanoseconds
}

// mustProxy returns a proxy before a server and its URL.
func mustProxy(tb testing.TB, upstream string) (*proxy, string) {
	tb.Helper()
	path := filepath.Join(mustTempDir(tb), "proxy.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		tb.Fatal(err)
	}
	return serveProxy(tb, listener, upstream), "unix://" + path
}

func serveProxy(tb testing.TB, listener net.Listener, upstream string) *proxy {
	p := &proxy{listener: listener}
	ctx, cancel := context.WithCancel(tb.Context())
	go p.serve(ctx, upstream)
	tb.Cleanup(func() {
		cancel()
		listener.Close()
	})
	return p
}

// delay delays each reply by a random time between two bounds.
func (p *proxy) delay(least, most time.Duration) {
	p.least.Store(int64(least))
	p.most.Store(int64(most))
}

func (p *proxy) serve(ctx context.Context, upstream string) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", upstream)
		if err != nil {
			client.Close()
			continue
		}
		context.AfterFunc(ctx, func() { client.Close(); server.Close() })
		go p.copy(server, client, false)
		go p.copy(client, server, true)
	}
}

func (p *proxy) copy(to, from net.Conn, replies bool) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if replies && p.drop.Load() {
			p.dropped.Add(1)
			return
		}
		if least, most := p.least.Load(), p.most.Load(); replies && most > 0 {
			time.Sleep(time.Duration(least + mathrand.N(most-least+1)))
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}
