package local

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// starterVariable makes the test program start servers in the directory it contains and
// then wait until a test kills it.
const starterVariable = "STOREROOM_LOCAL_STARTER"

var both = Options{Postgres: true, Redis: true}

func TestMain(m *testing.M) {
	if dir := os.Getenv(starterVariable); dir != "" {
		os.Exit(runStarter(dir))
	}
	os.Exit(m.Run())
}

func runStarter(dir string) int {
	servers, err := Start(context.Background(), dir, both)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(servers); err != nil {
		return 1
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test kills this process
	return 0
}

func TestStartRunsPrivateServers(t *testing.T) {
	t.Parallel()

	t.Run("A second start keeps the data and the addresses of the first", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		first := mustStart(t, dir, both)
		mustExec(t, first.AdminURL, `create table marks (mark text)`)
		mustExec(t, first.AdminURL, `insert into marks (mark) values ('found again')`)
		mustStop(t, first)

		second := mustStart(t, dir, Options{Postgres: true, Redis: true, Durable: true})
		if got, want := mustQuery(t, second.AdminURL, `select mark from marks`), "found again"; got != want {
			t.Errorf("mark = %q, want %q", got, want)
		}
		if first.AdminURL != second.AdminURL || first.RedisURL != second.RedisURL {
			t.Errorf("second start = %v, want the addresses of the first, %v", second, first)
		}
	})

	t.Run("Only the servers asked for are started", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		servers := mustStart(t, dir, Options{Redis: true})
		if servers.AdminURL != "" || servers.RedisURL == "" {
			t.Errorf("Start = %q, %q, want only Redis", servers.AdminURL, servers.RedisURL)
		}
		if _, err := os.Stat(filepath.Join(dir, "postgres")); !os.IsNotExist(err) {
			t.Errorf("Stat(postgres) = %v, want no cluster", err)
		}
	})

	t.Run("The directory may have an inaccessible parent and a path of more than 100 characters", func(t *testing.T) {
		t.Parallel()
		closed := filepath.Join(t.TempDir(), "closed")
		dir := filepath.Join(closed, strings.Repeat("deep folder/", 12), ".local")
		mustDo(t, os.Mkdir(closed, 0o700))
		servers := mustStart(t, dir, both)
		if got := mustQuery(t, servers.AdminURL, `select 'up'`); got != "up" {
			t.Errorf("query = %q, want up", got)
		}
		info, err := os.Stat(closed)
		mustDo(t, err)
		if got, want := info.Mode().Perm(), os.FileMode(0o700); got != want {
			t.Errorf("mode of the parent = %v, want %v: Start must not change it", got, want)
		}
	})

	t.Run("The servers refuse a wrong password", func(t *testing.T) {
		t.Parallel()
		servers := mustStart(t, t.TempDir(), both)
		wrong := strings.Replace(servers.AdminURL, mustPassword(t, servers.AdminURL), "guess", 1)
		if err := pingPostgres(t.Context(), wrong); err == nil || !strings.Contains(err.Error(), "28P01") {
			t.Errorf("pingPostgres with a wrong password = %v, want 28P01", err)
		}
		if err := pingRedis(t.Context(), mustPort(t, servers.RedisURL), "guess"); err == nil ||
			!strings.Contains(err.Error(), "-WRONG") {
			t.Errorf("pingRedis with a wrong password = %v, want WRONGPASS", err)
		}
	})

	t.Run("A stale pid file that names a running process is ignored", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		mustStop(t, mustStart(t, dir, both))
		leaveStalePidFile(t, dir)
		servers := mustStart(t, dir, both)
		if got := mustQuery(t, servers.AdminURL, `select 'up'`); got != "up" {
			t.Errorf("query = %q, want up", got)
		}
	})

	t.Run("If a port is in use, another one is chosen and kept", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		first := mustStart(t, dir, both)
		mustExec(t, first.AdminURL, `create table still_here ()`)
		mustStop(t, first)
		mustListen(t, mustPort(t, first.AdminURL))
		mustListen(t, mustPort(t, first.RedisURL))

		second := mustStart(t, dir, both)
		if mustPort(t, second.AdminURL) == mustPort(t, first.AdminURL) ||
			mustPort(t, second.RedisURL) == mustPort(t, first.RedisURL) {
			t.Fatalf("ports of %v are those in use of %v", second, first)
		}
		mustExec(t, second.AdminURL, `drop table still_here`)
		mustStop(t, second)

		third := mustStart(t, dir, both)
		if third.AdminURL != second.AdminURL || third.RedisURL != second.RedisURL {
			t.Errorf("third start = %v, want the addresses of the second, %v", third, second)
		}
	})

	t.Run("Another PostgreSQL on the port is not mistaken for the private one", func(t *testing.T) {
		t.Parallel()
		other := mustStart(t, t.TempDir(), both)
		dir := t.TempDir()
		kept, err := json.Marshal(
			state{PostgresPort: mustPort(t, other.AdminURL), RedisPort: mustPort(t, other.RedisURL)},
		)
		mustDo(t, err)
		mustDo(t, os.WriteFile(filepath.Join(dir, "servers.json"), kept, 0o600))
		ours := mustStart(t, dir, both)
		if mustPort(t, ours.AdminURL) == mustPort(t, other.AdminURL) ||
			mustPort(t, ours.RedisURL) == mustPort(t, other.RedisURL) {
			t.Errorf("ours = %v, other = %v: want other ports", ours, other)
		}
	})

	t.Run("A second start on a directory in use names the other process", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		mustStart(t, dir, Options{Redis: true})
		_, err := Start(t.Context(), dir, Options{Redis: true})
		if err == nil ||
			!strings.Contains(err.Error(), fmt.Sprintf("in use by the servers of process %d", os.Getpid())) {
			t.Errorf("second Start = %v, want an error that names process %d", err, os.Getpid())
		}
	})

	t.Run("The error of a failed start quotes the log", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		mustStop(t, mustStart(t, dir, both))
		mustAppend(t, filepath.Join(dir, "postgres", "postgresql.conf"), "no_such_setting = on\n")
		_, err := Start(t.Context(), dir, both)
		if err == nil || !strings.Contains(err.Error(), "no_such_setting") {
			t.Fatalf("Start = %v, want an error that quotes the log", err)
		}
	})

	t.Run("A start after a cancelled start works", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond) // during initdb
		defer cancel()
		if servers, err := Start(ctx, dir, both); err == nil {
			mustStop(t, servers)
			t.Fatal("Start with a deadline of 200 ms = nil, want an error")
		}
		mustStart(t, dir, both)
	})
}

func TestStopFreesThePorts(t *testing.T) {
	t.Parallel()
	servers := mustStart(t, t.TempDir(), both)
	adminURL, redisURL := servers.AdminURL, servers.RedisURL
	mustStop(t, servers)
	mustListen(t, mustPort(t, adminURL))
	mustListen(t, mustPort(t, redisURL))
	if err := servers.Stop(); err != nil {
		t.Errorf("second Stop = %v, want nil", err)
	}
}

// After kill -9 of the process that started the servers they end, and the next start waits
// until they have.
func TestServersEndWithTheirStarter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	starter, servers := mustStarter(t, dir)

	_, err := Start(t.Context(), dir, both)
	if err == nil || !strings.Contains(err.Error(), strconv.Itoa(starter.Process.Pid)) {
		t.Errorf("Start while another process runs = %v, want an error that names process %d", err, starter.Process.Pid)
	}
	mustExec(t, servers.AdminURL, `create table survived ()`)
	backend := mustBackend(t, servers.AdminURL)
	mustDo(t, backend.Signal(syscall.SIGSTOP)) // delays the end of PostgreSQL
	mustDo(t, starter.Process.Kill())
	_ = starter.Wait() // it was killed

	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := Start(ctx, dir, both); err == nil || !strings.Contains(err.Error(), "in use by the servers") {
		t.Errorf("Start before all servers have ended = %v, want an error that says so", err)
	}
	mustDo(t, backend.Signal(syscall.SIGCONT))
	next := mustStart(t, dir, both) // fails if an old server still holds the lock
	mustExec(t, next.AdminURL, `drop table survived`)
	if next.AdminURL != servers.AdminURL || next.RedisURL != servers.RedisURL {
		t.Errorf("next start = %v, want the addresses of the killed one, %v: its ports are not free", next, servers)
	}
}

// mustStarter starts servers in another process.
func mustStarter(t *testing.T, dir string) (*exec.Cmd, *Servers) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), starterVariable+"="+dir)
	cmd.Stderr = os.Stderr
	_, err := cmd.StdinPipe() // stays open until the process is killed
	mustDo(t, err)
	stdout, err := cmd.StdoutPipe()
	mustDo(t, err)
	mustDo(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	mustDo(t, err)
	var servers Servers
	mustDo(t, json.Unmarshal(line, &servers))
	return cmd, &servers
}

// mustBackend returns the server process of an open connection. PostgreSQL does not end
// before that process.
func mustBackend(t *testing.T, adminURL string) *os.Process {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), adminURL)
	mustDo(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) }) // the server has ended by then
	process, err := os.FindProcess(int(conn.PgConn().PID()))
	mustDo(t, err)
	return process
}

// leaveStalePidFile writes the pid file that a crash would leave, with the id of a running
// process of the servers' account. With it PostgreSQL refuses to start.
func leaveStalePidFile(t *testing.T, dir string) {
	t.Helper()
	d, err := openDirectory(t.Context(), dir)
	mustDo(t, err)
	mustDo(t, d.lock.Close())
	running := exec.Command("/bin/sh", "-c", "read line")
	running.Dir = "/"
	running.SysProcAttr = d.account.attributes(0)
	_, err = running.StdinPipe()
	mustDo(t, err)
	mustDo(t, running.Start())
	t.Cleanup(func() { _ = running.Process.Kill(); _ = running.Wait() })
	path := filepath.Join(dir, "postgres", "postmaster.pid")
	content := fmt.Sprintf(
		"%d\n%s\n1700000000\n%d\n\n127.0.0.1\n",
		running.Process.Pid,
		filepath.Dir(path),
		d.state.PostgresPort,
	)
	mustDo(t, os.WriteFile(path, []byte(content), 0o600))
	mustDo(t, d.account.own(path))
}

func mustStart(t *testing.T, dir string, o Options) *Servers {
	t.Helper()
	servers, err := Start(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := servers.Stop(); err != nil {
			t.Error(err)
		}
	})
	return servers
}

func mustStop(t *testing.T, s *Servers) {
	t.Helper()
	mustDo(t, s.Stop())
}

func mustExec(t *testing.T, adminURL, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), adminURL)
	mustDo(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	_, err = conn.Exec(t.Context(), sql)
	mustDo(t, err)
}

func mustQuery(t *testing.T, adminURL, sql string) (value string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), adminURL)
	mustDo(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	mustDo(t, conn.QueryRow(t.Context(), sql).Scan(&value))
	return value
}

// mustListen listens on a port of 127.0.0.1, which must be free.
func mustListen(t *testing.T, port int) {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	mustDo(t, err)
	t.Cleanup(func() { listener.Close() })
}

func mustPort(t *testing.T, address string) int {
	t.Helper()
	u, err := url.Parse(address)
	mustDo(t, err)
	port, err := strconv.Atoi(u.Port())
	mustDo(t, err)
	return port
}

func mustPassword(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	mustDo(t, err)
	password, _ := u.User.Password()
	return password
}

func mustAppend(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	mustDo(t, err)
	_, err = file.WriteString(text)
	mustDo(t, err)
	mustDo(t, file.Close())
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
