//go:build ops

package ops

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// pgbouncer starts PgBouncer with the parameters of the handbook in front of the database, and sets those that it
// ignores for the role. It returns the URL of the runtime role.
func (h *service) pgbouncer(t *testing.T, settings ...string) *url.URL {
	t.Helper()
	handbook, err := os.ReadFile("../../../deploy/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, ignored, _ := strings.Cut(string(handbook), "\nignore_startup_parameters = ")
	ignored, _, _ = strings.Cut(ignored, "\n")
	_, roles, _ := strings.Cut(string(handbook), "Set the ignored parameters for the role instead:\n\n```sql\n")
	roles, _, _ = strings.Cut(roles, "```")
	for statement := range strings.Lines(roles) {
		mustExec(t, h.database, statement)
	}
	dir, err := os.MkdirTemp("", "pgbouncer-") // not TempDir, which PgBouncer's user cannot read
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	database, err := url.Parse(h.database)
	if err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	config := append([]string{
		"[databases]", fmt.Sprintf("storeroom = host=127.0.0.1 port=%s", database.Port()),
		"[pgbouncer]", "listen_addr = 127.0.0.1", fmt.Sprint("listen_port = ", port), "unix_socket_dir =",
		"auth_type = scram-sha-256", "auth_file = " + filepath.Join(dir, "users"),
		"default_pool_size = 6", "ignore_startup_parameters = " + ignored,
	}, settings...)
	if os.Getuid() == 0 {
		config = append(config, "user = postgres")
	}
	for name, text := range map[string]string{
		"users": fmt.Sprintf("%q %q\n", "storeroom_runtime", password), "pgbouncer.ini": strings.Join(config, "\n") + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	p := startProcess(t, dir, nil, mustFindProgram(t, "pgbouncer"), filepath.Join(dir, "pgbouncer.ini"))
	await(t, 10*time.Second, "PgBouncer to listen", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return p.mustRun(t) && err == nil
	})
	return &url.URL{
		Scheme: "postgres", User: url.UserPassword("storeroom_runtime", password), Host: address, Path: "/storeroom",
		RawQuery: "sslmode=disable",
	}
}

// with returns the service with more variables, which override earlier ones.
func (h *service) with(variables ...string) *service {
	changed := *h
	changed.environ = append(h.environ[:len(h.environ):len(h.environ)], variables...)
	return &changed
}

// In the modes of the handbook, 12 clients of two instances share six sessions, and nothing fails.
func TestPgBouncerInTransactionMode(t *testing.T) {
	for _, mode := range []string{"cache_describe", "describe_exec"} {
		t.Run(mode, func(t *testing.T) {
			h := newService(t)
			pooled := h.pgbouncer(t, "pool_mode = transaction")
			pooled.RawQuery += "&default_query_exec_mode=" + mode
			h = h.with("DATABASE_URL="+pooled.String(), "DATABASE_DIRECT_URL="+h.variable("DATABASE_URL"))
			k := h.tenant(t, "acme", 1_000_000)
			instances := h.startInstances(t, 2)
			c := newClient(t, instances[0].base, k.Key, false)
			var hook struct{ ID int64 }
			c.must(t, "POST", "/api/webhooks", map[string]any{"url": "https://192.0.2.1.invalid/hook"}, &hook)
			var group errgroup.Group
			for n := range 12 {
				group.Go(func() error {
					c := newClient(t, instances[n%2].base, k.Key, false)
					for round := range 2 {
						if err := c.work(t.Context(), fmt.Sprintf("C%d-%d", n, round)); err != nil {
							return err
						}
					}
					return nil
				})
			}
			if err := group.Wait(); err != nil {
				t.Error(err)
			}
			c.mustImport(t, "sku,name,price\nI-1,Imported,10\nI-2,Imported,20\n")
			c.must(t, "GET", "/api/products/sku/I-2", nil, nil)
			await(t, 30*time.Second, "an attempt to deliver a webhook", func() bool {
				var attempts []any
				c.must(t, "GET", fmt.Sprintf("/api/webhooks/%d/deliveries", hook.ID), nil, &attempts)
				return len(attempts) > 0
			})
			h.run(t, "", nil, "verify", "--tenant", "acme")
			mustRefuse(t, instances, k.Key, func() { // LISTEN has its own connection
				h.run(t, "", nil, "key", "revoke", "--tenant", "acme", "--id", fmt.Sprint(k.ID))
			})
		})
	}
}

// serve does not start with what fails later. PgBouncer of Debian 12 does not know prepared statements.
func TestServeRefusesPoolersThatCannotWork(t *testing.T) {
	h := newService(t)
	direct := h.variable("DATABASE_URL")
	transaction := h.pgbouncer(t, "pool_mode = transaction").String()
	statement := h.pgbouncer(t, "pool_mode = statement").String()
	session := h.pgbouncer(t, "pool_mode = session", "default_pool_size = 60").String()
	describe := "&default_query_exec_mode=cache_describe"
	knows := strings.Contains(pgbouncerVersion(t), " 1.2") // from 1.21, which Debian 13 has
	for _, test := range []struct{ name, pooled, direct, want string }{
		{"exec", transaction + "&default_query_exec_mode=exec", direct, "must not set default_query_exec_mode to exec"},
		{"simple protocol", direct + "&default_query_exec_mode=simple_protocol", direct,
			"must not set default_query_exec_mode to simple protocol"},
		{"statement pooling", statement + describe, direct, "a pooler that refuses transactions"},
		{"lost statements", transaction, direct, "a pooler that loses prepared statements"},
		{"LISTEN through the pooler", transaction + describe, transaction, "set DATABASE_DIRECT_URL to the address of PostgreSQL"},
		{"LISTEN through the pooler by default", transaction + describe, "", "set DATABASE_DIRECT_URL to the address of PostgreSQL"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if knows && test.name == "lost statements" {
				test.pooled = h.pgbouncer(t, "pool_mode = transaction", "max_prepared_statements = 0").String()
			}
			cmd := exec.CommandContext(t.Context(), program, "serve")
			cmd.Dir = h.dir
			cmd.Env = h.with("DATABASE_URL="+test.pooled, "DATABASE_DIRECT_URL="+test.direct,
				"STOREROOM_ADDR=127.0.0.1:0").environ
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), test.want) || strings.Contains(string(out), password) {
				t.Errorf("serve = %v, %s; want %q", err, out, test.want)
			}
		})
	}
	t.Run("session pooling works", func(t *testing.T) {
		h := h.with("DATABASE_URL="+session, "DATABASE_DIRECT_URL="+direct)
		k := h.tenant(t, "acme", 1_000_000)
		i := h.startInstances(t, 1)[0]
		if err := newClient(t, i.base, k.Key, false).work(t.Context(), "S"); err != nil {
			t.Error(err)
		}
	})
}

func pgbouncerVersion(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), mustFindProgram(t, "pgbouncer"), "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
