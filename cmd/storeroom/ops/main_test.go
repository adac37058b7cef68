// Package ops tests the program as operators run it: several processes behind a load balancer, on servers that are
// stopped, killed and suspended under load, and an instance that hostile clients attack. `make test` runs the attacks
// that once made the service fail. `make test-ops` runs all tests, which need the build tag ops and the programs of
// PostgreSQL, Redis and HAProxy, and take minutes.
//
// Each test starts its own servers. The tests do not run in parallel, because they measure time. They use only the
// command line, the environment and the responses of the program.
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

	// buildAndRun builds this package. Go uses the result of an earlier test again unless an imported package has changed.
	_ "github.com/storeroom/storeroom/cmd/storeroom/server"
	"github.com/storeroom/storeroom/deploy/local"
	"github.com/storeroom/storeroom/migrations"
)

// program is the path of the program under test.
var program string

func TestMain(m *testing.M) {
	Main()
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
	if program = os.Getenv("STOREROOM_TEST_PROGRAM"); program != "" { // compares another version
		return m.Run(), nil
	}
	program = filepath.Join(dir, "storeroom")
	// With -trimpath, Go would compile all packages again, which it has compiled for tests.
	build := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-w", "-o", program, "..")
	if out, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// server is PostgreSQL or Redis. It keeps its port when it is restarted.
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

// start starts the server and waits until it answers. It retries, because processes of a killed server may still run.
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

// service is the environment of the instances of one test.
type service struct {
	postgres, redis *server
	dir             string // working directory of commands and instances
	environ         []string
	database        string // URL of the superuser
}

const (
	peppers  = "1:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	password = "storeroom-ops"
)

// newService starts a durable PostgreSQL and a Redis, and migrates the database. variables override the defaults.
func newService(t *testing.T, variables ...string) *service {
	t.Helper()
	return newServiceOn(t, startServer(t, local.Options{Postgres: true, Durable: true}), variables...)
}

func newServiceOn(t *testing.T, postgres *server, variables ...string) *service {
	t.Helper()
	migratorURL, runtimeURL, err := migrations.CreateDatabase(
		t.Context(), postgres.AdminURL, "storeroom", password, password)
	if err != nil {
		t.Fatal(err)
	}
	h := newServiceIn(t, postgres, migratorURL, runtimeURL, variables...)
	h.run(t, "", nil, "migrate")
	return h
}

// newServiceIn starts a Redis for the database storeroom of a server.
func newServiceIn(t *testing.T, postgres *server, migratorURL, runtimeURL string, variables ...string) *service {
	t.Helper()
	database, err := url.Parse(postgres.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	database.Path = "/storeroom"
	h := newServiceOf(t, database.String(), migratorURL, runtimeURL, variables...)
	h.postgres = postgres
	return h
}

// newServiceOf starts a Redis for a database of another server.
func newServiceOf(t *testing.T, superURL, migratorURL, runtimeURL string, variables ...string) *service {
	t.Helper()
	h := &service{redis: startServer(t, local.Options{Redis: true}), dir: t.TempDir(), database: superURL}
	h.environ = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + h.dir,
		"DATABASE_URL=" + runtimeURL,
		"DATABASE_ADMIN_URL=" + migratorURL,
		"REDIS_URL=" + h.redis.RedisURL,
		"STOREROOM_KEY_PEPPERS=" + peppers,
		"STOREROOM_MEDIA_URL=file://" + filepath.Join(h.dir, "media"),
		"STOREROOM_DRAIN=0s",
	}, variables...)
	return h
}

// run runs a command, requires success and decodes its result.
func (h *service) run(t *testing.T, stdin string, result any, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, append(args, "--json")...)
	cmd.Dir, cmd.Env, cmd.Stdin = h.dir, h.environ, strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err == nil && result != nil {
		err = json.Unmarshal(stdout, result)
	}
	if err != nil {
		t.Fatalf("storeroom %s: %v: %s%s", strings.Join(args, " "), err, stdout, &stderr)
	}
}

// try runs a command and returns its error.
func (h *service) try(t *testing.T, args ...string) error {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Env = h.dir, h.environ
	out, err := cmd.CombinedOutput()
	t.Logf("storeroom %s: %v: %s", strings.Join(args, " "), err, out)
	return err
}

// key is the JSON form of an API key.
type key struct {
	ID  int64  `json:"id"`
	Key string `json:"key"`
}

// tenant creates a tenant with this limit of requests per minute, and a key.
func (h *service) tenant(t *testing.T, slug string, limit int) key {
	t.Helper()
	h.run(t, "", nil, "tenant", "create", "--slug", slug, "--name", slug,
		"--plan", "enterprise", "--rate-limit", strconv.Itoa(limit))
	return h.key(t, slug)
}

func (h *service) key(t *testing.T, slug string) (k key) {
	t.Helper()
	h.run(t, "", &k, "key", "create", "--tenant", slug, "--name", "Test", "--scopes", "full")
	return k
}

// texts runs a query of one column of text as the superuser.
func (h *service) texts(t *testing.T, sql string, args ...any) []string {
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

// process is a child process.
type process struct {
	*exec.Cmd
	name   string
	output buffer
	done   chan struct{} // closed at the exit
	err    error         // result; valid after the exit
}

// buffer is a bytes.Buffer for concurrent use.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *buffer) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

func (w *buffer) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// startProcess starts a program and kills it when the test ends. A failed test logs the end of its output.
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
		_ = p.Process.Kill() // fails if the process has exited
		<-p.done
		if t.Failed() {
			t.Logf("the end of the output of %s:\n%s", p.name, p.end())
		}
	})
	return p
}

// awaitLine waits until the output contains text more than count times.
func (p *process) awaitLine(t *testing.T, text string, count int, timeout time.Duration) {
	t.Helper()
	await(t, timeout, fmt.Sprintf("%s to write %q", p.name, text), func() bool {
		return p.mustRun(t) && p.count(text) > count
	})
}

// mustRun returns true. It fails the test if the process has exited.
func (p *process) mustRun(t *testing.T) bool {
	t.Helper()
	select {
	case <-p.done:
		t.Fatalf("%s exited: %v", p.name, p.err)
	default:
	}
	return true
}

// end returns the first internal errors, and the end of the output without the access log.
func (p *process) end() string {
	var kept strings.Builder
	var internal []string
	for line := range strings.Lines(p.output.String()) {
		if strings.Contains(line, `"status":500`) {
			internal = append(internal, line)
		} else if !strings.Contains(line, `"level":"INFO","msg":"request"`) {
			kept.WriteString(line)
		}
	}
	text := kept.String()
	return strings.Join(internal[:min(5, len(internal))], "") + text[max(0, len(text)-2000):]
}

func (p *process) count(text string) int { return strings.Count(p.output.String(), text) }

func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// mustExit waits for the exit and requires exit code 0.
func (p *process) mustExit(t *testing.T) {
	t.Helper()
	select {
	case <-p.done:
		if p.err != nil {
			t.Errorf("%s exited with %v, want exit code 0", p.name, p.err)
		}
	case <-time.After(45 * time.Second):
		t.Fatalf("%s did not exit", p.name)
	}
}

// instance is one process of `storeroom serve`.
type instance struct {
	*process
	base string
}

// startInstance starts an instance on a port and waits until it is ready.
func (h *service) startInstance(t *testing.T, port int) *instance {
	t.Helper()
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	environ := append(h.environ[:len(h.environ):len(h.environ)], "STOREROOM_ADDR="+address)
	p := startProcess(t, h.dir, environ, program, "serve")
	i := &instance{p, "http://" + address}
	await(t, time.Minute, "the instance to be ready", func() bool {
		return p.mustRun(t) && i.readiness(t).status == http.StatusOK
	})
	return i
}

// readiness returns the response of /readyz, or status 0 without a response in 5 s.
func (i *instance) readiness(t *testing.T) reply {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	a, _ := client{http.DefaultClient, i.base, ""}.send(ctx, "GET", "/readyz", "", nil)
	return a
}

// startInstances starts several instances and shuts them down when the test ends.
func (h *service) startInstances(t *testing.T, count int) []*instance {
	t.Helper()
	var all []*instance
	for range count {
		all = append(all, h.startInstance(t, freePort(t)))
	}
	t.Cleanup(func() {
		for _, i := range all {
			_ = i.Process.Signal(syscall.SIGTERM) // mustExit reports an earlier exit
		}
		for _, i := range all {
			i.mustExit(t)
		}
	})
	return all
}

// freePort returns a port outside the range of outgoing connections, so that a stopped server can use it again.
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

// await polls a condition every 10 ms and returns how long it took. It fails the test after the timeout.
func await(t *testing.T, timeout time.Duration, what string, condition func() bool) time.Duration {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if condition() {
			return time.Since(begun)
		}
		if time.Since(begun) > timeout {
			t.Fatalf("waited %v for %s", timeout, what)
		}
	}
}

// mustFindProgram returns the path of a program. PATH may not contain the sbin directories.
func mustFindProgram(t *testing.T, name string) string {
	t.Helper()
	for _, candidate := range []string{name, "/usr/sbin/" + name, "/usr/local/sbin/" + name} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path
		}
	}
	t.Fatalf("%s is not installed: make test-ops installs it", name)
	return ""
}
