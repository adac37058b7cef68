//go:build ops && citus

package ops

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/storeroom/storeroom/deploy/local"
	"github.com/storeroom/storeroom/migrations"
)

// citusCluster is a coordinator, which is the first node, and workers.
type citusCluster struct {
	nodes []*server
	node  *local.Node // options of a node
}

// startCitus starts the nodes, and connects their databases named storeroom.
func startCitus(t *testing.T, workers int) *citusCluster {
	t.Helper()
	c := newCitus(t)
	for range 1 + workers {
		c.addServer(t)
	}
	return c
}

// newCitus returns a cluster without nodes, with a separate authority.
func newCitus(t *testing.T) *citusCluster {
	t.Helper()
	bin := os.Getenv("STOREROOM_TEST_CITUS")
	if bin == "" {
		t.Fatal("STOREROOM_TEST_CITUS is not set: run make test-citus")
	}
	certificates, err := local.CreateCertificates(t.Context(), filepath.Join(t.TempDir(), "certificates"))
	if err != nil {
		t.Fatal(err)
	}
	return &citusCluster{node: &local.Node{Bin: bin, Certificates: certificates, Password: password}}
}

func (c *citusCluster) options() local.Options {
	return local.Options{Postgres: true, Durable: true, Node: c.node}
}

// addServer starts a server with the roles and the database.
func (c *citusCluster) addServer(t *testing.T) *server {
	t.Helper()
	s := startServer(t, c.options())
	if _, _, err := migrations.CreateDatabase(t.Context(), s.AdminURL, "storeroom", password, password); err != nil {
		t.Fatal(err)
	}
	c.nodes = append(c.nodes, s)
	return s
}

// testShards is the number of shard groups.
const testShards = 4

// join makes the nodes a cluster with the tables of the service, with the commands of the handbook.
func (c *citusCluster) join(t *testing.T) {
	t.Helper()
	var addresses []string
	for n, s := range c.nodes {
		addresses = append(addresses, hostOf(t, s.AdminURL))
		if n > 0 {
			mustExec(t, urlOf(t, s, ""), `create extension citus`)
		}
	}
	script := filepath.Join(t.TempDir(), "cluster.sql")
	sql := c.storeroom(t, "migrate", "--shards", strconv.Itoa(testShards), "--print-cluster", strings.Join(addresses, ","))
	if err := os.WriteFile(script, []byte(sql), 0o600); err != nil {
		t.Fatal(err)
	}
	psql := exec.CommandContext(t.Context(), filepath.Join(c.node.Bin, "psql"), urlOf(t, c.nodes[0], ""), "-f", script)
	if out, err := psql.CombinedOutput(); err != nil {
		t.Fatalf("psql: %v: %s", err, out)
	}
	c.storeroom(t, "migrate")
}

// storeroom runs a command of the program without an instance and returns its output.
func (c *citusCluster) storeroom(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), "DATABASE_ADMIN_URL="+urlOf(t, c.nodes[0], "storeroom_migrator"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("storeroom %s: %v: %s", strings.Join(args, " "), err, &stderr)
	}
	return string(out)
}

// urlOf returns the URL of a role in the database storeroom of a node.
func urlOf(t *testing.T, s *server, role string, parameters ...string) string {
	t.Helper()
	u := mustParseURL(t, s.AdminURL)
	u.Path = "/storeroom"
	if role != "" {
		u.User = url.UserPassword(role, password)
	}
	if len(parameters) > 0 {
		u.RawQuery = strings.Join(parameters, "&")
	}
	return u.String()
}

func mustParseURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// certificateOf returns the parameters of a login with a certificate.
func certificateOf(certificates string) []string {
	return []string{
		"sslmode=verify-full",
		"sslrootcert=" + filepath.Join(certificates, "storeroom-ca.crt"),
		"sslcert=" + filepath.Join(certificates, "storeroom-node.crt"),
		"sslkey=" + filepath.Join(certificates, "storeroom-node.key"),
	}
}

// A node accepts the roles of other nodes only with a certificate of the authority of the cluster, and the roles that
// policies do not restrict with nothing else.
func TestCitusNodesLogInWithCertificates(t *testing.T) {
	c := startCitus(t, 2)
	foreign := newCitus(t).node.Certificates
	own := certificateOf(c.node.Certificates)
	for n, s := range c.nodes {
		for _, role := range []string{"storeroom_owner", "storeroom_search"} {
			mustExec(t, s.AdminURL, fmt.Sprintf("alter role %s login password '%s'", role, password))
		}
		mustExec(t, s.AdminURL, fmt.Sprintf("create role storeroom_backup login bypassrls password '%s'", password))
		for _, login := range []struct {
			what, url, code string
		}{
			{"the superuser with a certificate", urlOf(t, s, "storeroom_admin", own...), ""},
			{"the owner with a certificate", urlOf(t, s, "storeroom_owner", own...), ""},
			{"the search role with a certificate", urlOf(t, s, "storeroom_search", own...), ""},
			{"the migrator with a certificate", urlOf(t, s, "storeroom_migrator", own...), ""},
			{"the runtime role with a certificate", urlOf(t, s, "storeroom_runtime", own...), ""},
			{"the runtime role with a password", urlOf(t, s, "storeroom_runtime"), ""},
			{"the owner with a password", urlOf(t, s, "storeroom_owner"), "28000"},
			{"the search role with a password", urlOf(t, s, "storeroom_search"), "28000"},
			{"the owner with TLS and a password", urlOf(t, s, "storeroom_owner", "sslmode=require"), "28000"},
			{"the search role with TLS and a password", urlOf(t, s, "storeroom_search", "sslmode=require"), "28000"},
			{"the superuser with TLS and a password", urlOf(t, s, "storeroom_admin", "sslmode=require"), "28000"},
			{"a role that is not a node's", urlOf(t, s, "storeroom_backup", own...), "28000"},
			{"a certificate of another authority", urlOf(t, s, "storeroom_owner", "sslmode=require",
				certificateOf(foreign)[2], certificateOf(foreign)[3]), "broken"},
		} {
			if got := loginCode(t, login.url); got != login.code {
				t.Errorf("node %d, %s: %q, want %q", n, login.what, got, login.code)
			}
		}
	}
}

// loginCode returns the SQLSTATE of a refused login, "broken" for a connection that ended, or "".
func loginCode(t *testing.T, address string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
			return refused.Code
		}
		return "broken"
	}
	defer conn.Close(t.Context())
	return ""
}
