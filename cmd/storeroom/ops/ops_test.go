//go:build ops

// Package ops holds the tests that take an operator's view: real processes of the
// program behind a real balancer, on servers that are stopped, killed and hung under
// load. `make test-ops` runs them; they need the build tag ops and the programs of
// PostgreSQL, Redis and HAProxy, and take minutes.
//
// Each test has servers of its own, on ports of this machine, and no test runs beside
// another: what they measure is time. They know nothing of the program but its command
// line, its environment and its answers.
package ops

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/deploy/local"
	"github.com/storeroom/storeroom/migrations"
)

// program is the path of the program under test.
var program string

func TestMain(m *testing.M) {
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func buildAndRun(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "storeroom-ops-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "storeroom")
	if out, err := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", program, "..").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// server is PostgreSQL or Redis, which comes back on the port that it had.
type server struct {
	*local.Servers
	dir     string
	options local.Options
}

func startServer(t *testing.T, o local.Options) *server {
	t.Helper()
	s := &server{dir: t.TempDir(), options: o}
	s.start(t)
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// start brings the server up and returns once it answers. What a kill has left of
// one before may take a moment to end.
func (s *server) start(t *testing.T) {
	t.Helper()
	var err error
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if s.Servers, err = local.Start(t.Context(), s.dir, s.options); err == nil {
			return
		}
	}
	t.Fatal(err)
}

func (s *server) stop(t *testing.T) {
	t.Helper()
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
}

// house is what the instances of one test stand on.
type house struct {
	postgres, redis *server
	dir             string // where commands and instances run
	environ         []string
	database        string // its URL for the superuser, whom no policy holds
}

const (
	peppers  = "1:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	password = "storeroom-ops"
)

// newHouse starts a PostgreSQL that keeps what it has acknowledged, and a Redis, and
// makes the schema. variables win over those that it sets.
func newHouse(t *testing.T, variables ...string) *house {
	t.Helper()
	h := &house{
		postgres: startServer(t, local.Options{Postgres: true, Durable: true}),
		redis:    startServer(t, local.Options{Redis: true}),
		dir:      t.TempDir(),
	}
	conn, err := pgx.Connect(t.Context(), h.postgres.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, statement := range migrations.Roles("storeroom", password, password) {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	h.database = h.databaseURL(t, nil)
	h.environ = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + h.dir,
		"DATABASE_URL=" + h.databaseURL(t, url.UserPassword("storeroom_runtime", password)),
		"DATABASE_ADMIN_URL=" + h.databaseURL(t, url.UserPassword("storeroom_migrator", password)),
		"REDIS_URL=" + h.redis.RedisURL,
		"STOREROOM_KEY_PEPPERS=" + peppers,
		"STOREROOM_DRAIN=0s",
	}, variables...)
	h.run(t, "", nil, "migrate")
	return h
}

func (h *house) databaseURL(t *testing.T, user *url.Userinfo) string {
	t.Helper()
	u, err := url.Parse(h.postgres.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/storeroom"
	if user != nil {
		u.User = user
	}
	return u.String()
}

// run runs a command that must succeed and reads its answer.
func (h *house) run(t *testing.T, stdin string, answer any, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, append(args, "--json")...)
	cmd.Dir, cmd.Env, cmd.Stdin = h.dir, h.environ, strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err == nil && answer != nil {
		err = json.Unmarshal(stdout, answer)
	}
	if err != nil {
		t.Fatalf("storeroom %s: %v: %s%s", strings.Join(args, " "), err, stdout, &stderr)
	}
}

// key is an API key as the command line shows it.
type key struct {
	ID  int64  `json:"id"`
	Key string `json:"key"`
}

// tenant makes a tenant that may send so many requests a minute, and a key of it.
func (h *house) tenant(t *testing.T, slug string, limit int) key {
	t.Helper()
	h.run(t, "", nil, "tenant", "create", "--slug", slug, "--name", slug, "--plan", "enterprise", "--rate-limit", strconv.Itoa(limit))
	return h.key(t, slug)
}

func (h *house) key(t *testing.T, slug string) (made key) {
	t.Helper()
	h.run(t, "", &made, "key", "create", "--tenant", slug, "--name", "Test", "--scopes", "full")
	return made
}

// texts runs a query of one column of text, behind the policies.
func (h *house) texts(t *testing.T, sql string, args ...any) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), h.database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, _ := conn.Query(t.Context(), sql, args...)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return found
}

// process is a program that runs beside the test.
type process struct {
	*exec.Cmd
	name   string
	output transcript
	done   chan struct{} // closed when it has ended
	err    error         // how, once it has
}

// transcript is what a process has written so far.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *transcript) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

func (w *transcript) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// startProcess runs a program until it is stopped or the test is over. A test that
// fails shows the end of what it wrote.
func startProcess(t *testing.T, dir string, environ []string, path string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(path, args...), name: filepath.Base(path), done: make(chan struct{})}
	p.Dir, p.Env, p.Stdout, p.Stderr = dir, environ, &p.output, &p.output
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.Process.Kill() // it may have ended
		<-p.done
		if t.Failed() {
			t.Logf("%s wrote at its end:\n%s", p.name, p.end())
		}
	})
	return p
}

// awaitLine waits until the process has written text more than after times.
func (p *process) awaitLine(t *testing.T, text string, after int, within time.Duration) {
	t.Helper()
	await(t, within, fmt.Sprintf("%s to write %q", p.name, text), func() bool {
		return p.runs(t) && p.count(text) > after
	})
}

// runs fails the test unless the process is still there.
func (p *process) runs(t *testing.T) bool {
	t.Helper()
	select {
	case <-p.done:
		t.Fatalf("%s ended: %v", p.name, p.err)
	default:
	}
	return true
}

// end is the last that the process wrote, without what only tells that all went well.
func (p *process) end() string {
	var kept strings.Builder
	for line := range strings.Lines(p.output.String()) {
		if !strings.Contains(line, `"level":"INFO","msg":"request"`) {
			kept.WriteString(line)
		}
	}
	text := kept.String()
	return text[max(0, len(text)-2000):]
}

func (p *process) count(text string) int { return strings.Count(p.output.String(), text) }

func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// mustEnd waits for exit code 0.
func (p *process) mustEnd(t *testing.T) {
	t.Helper()
	select {
	case <-p.done:
		if p.err != nil {
			t.Errorf("%s ended with %v, want exit code 0", p.name, p.err)
		}
	case <-time.After(45 * time.Second):
		t.Fatalf("%s does not end", p.name)
	}
}

// instance is one server of the service.
type instance struct {
	*process
	base string
}

// startInstance serves on a port of this machine and returns once it is ready.
func (h *house) startInstance(t *testing.T, port int) *instance {
	t.Helper()
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	p := startProcess(t, h.dir, append(h.environ[:len(h.environ):len(h.environ)], "STOREROOM_ADDR="+address), program, "serve")
	i := &instance{p, "http://" + address}
	await(t, 20*time.Second, "the instance to be ready", func() bool { return p.runs(t) && i.readiness(t).status == http.StatusOK })
	return i
}

// readiness is the answer of /readyz, with status 0 where there is none in 5 s.
func (i *instance) readiness(t *testing.T) answer {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	a, _ := client{http.DefaultClient, i.base, ""}.send(ctx, "GET", "/readyz", "", nil)
	return a
}

// startInstances starts several, which end in good order with the test.
func (h *house) startInstances(t *testing.T, count int) []*instance {
	t.Helper()
	var all []*instance
	for range count {
		all = append(all, h.startInstance(t, freePort(t)))
	}
	t.Cleanup(func() {
		for _, i := range all {
			_ = i.Process.Signal(syscall.SIGTERM) // it may have ended; mustEnd tells how
		}
		for _, i := range all {
			i.mustEnd(t)
		}
	})
	return all
}

// freePort finds a port below those that systems take for outgoing connections: it
// is still free when a server that was stopped comes back.
func freePort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 10000 + rand.IntN(9000)
		if l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no free port")
	return 0
}

// await looks every 10 ms whether something has come true, and returns how long that
// took.
func await(t *testing.T, within time.Duration, what string, came func() bool) time.Duration {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if came() {
			return time.Since(begun)
		}
		if time.Since(begun) > within {
			t.Fatalf("waited %v in vain for %s", within, what)
		}
	}
}

// mustFind finds a program, also where PATH leaves out what is for administrators.
func mustFind(t *testing.T, name string) string {
	t.Helper()
	for _, candidate := range []string{name, "/usr/sbin/" + name, "/usr/local/sbin/" + name} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path
		}
	}
	t.Fatalf("%s is not installed: make test-ops installs it", name)
	return ""
}
