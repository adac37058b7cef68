package main

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/storeroom/storeroom/catalog/media"
	"github.com/storeroom/storeroom/deploy/local"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

// TestMain runs the program instead of the tests if STOREROOM_TEST_RUN is set. Tests use this to start the program as a
// child process.
func TestMain(m *testing.M) {
	if media.IsChild() {
		os.Exit(media.RunChild())
	}
	if os.Getenv("STOREROOM_TEST_RUN") != "" {
		main()
	}
	os.Exit(m.Run())
}

const testPeppers = "1:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

// program runs commands on its own database.
type program struct {
	*dbtest.Database
	environ []string
	dir     string
}

func newProgram(t *testing.T) program {
	t.Helper()
	d := dbtest.New(t)
	return program{d, []string{
		"DATABASE_URL=" + d.URL,
		"DATABASE_ADMIN_URL=" + d.AdminURL,
		"STOREROOM_MEDIA_URL=file://" + filepath.Join(t.TempDir(), "media"),
		"REDIS_URL=" + os.Getenv("REDIS_URL"),
		"STOREROOM_KEY_PEPPERS=" + testPeppers,
		"STOREROOM_ADDR=127.0.0.1:0",
		"STOREROOM_DRAIN=0s",
	}, t.TempDir()}
}

// with returns the program with more variables, which override earlier ones.
func (p program) with(variables ...string) program {
	p.environ = append(p.environ[:len(p.environ):len(p.environ)], variables...)
	return p
}

// outcome is the result of a command line.
type outcome struct {
	code           int
	stdout, stderr string
}

func (p program) run(t *testing.T, args ...string) outcome {
	t.Helper()
	return p.runWith(t, "", args...)
}

func (p program) runWith(t *testing.T, stdin string, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := console{stdin: strings.NewReader(stdin), stdout: &stdout, stderr: &stderr, environ: p.environ, dir: p.dir}
	code := run(t.Context(), c, append([]string{"storeroom"}, args...))
	return outcome{code, stdout.String(), stderr.String()}
}

// mustRun runs a command with --json, requires success and decodes the result.
func (p program) mustRun(t *testing.T, result any, args ...string) {
	t.Helper()
	p.mustRunWith(t, "", result, args...)
}

func (p program) mustRunWith(t *testing.T, stdin string, result any, args ...string) {
	t.Helper()
	o := p.runWith(t, stdin, append(args, "--json")...)
	if o.code != 0 {
		t.Fatalf("storeroom %s = %d: %s", strings.Join(args, " "), o.code, o.stderr)
	}
	if err := json.Unmarshal([]byte(o.stdout), result); err != nil {
		t.Fatalf("storeroom %s: %v: %s", strings.Join(args, " "), err, o.stdout)
	}
}

// mustKey creates a tenant with this limit and a key with all permissions.
func (p program) mustKey(t *testing.T, slug string, limit string) keyJSON {
	t.Helper()
	p.mustRun(t, &tenantJSON{}, "tenant", "create", "--slug", slug, "--name", slug,
		"--plan", "enterprise", "--rate-limit", limit)
	var key keyJSON
	p.mustRun(t, &key, "key", "create", "--tenant", slug, "--name", "Test", "--scopes", "full")
	return key
}

// privateRedis starts a Redis for one test. Tenants in the databases of other tests have the same ids, and would share
// their rate limits.
func privateRedis(t *testing.T) string {
	t.Helper()
	servers, err := local.Start(t.Context(), t.TempDir(), local.Options{Redis: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := servers.Stop(); err != nil {
			t.Error(err)
		}
	})
	return servers.RedisURL
}

// mustListen listens on a free port.
func mustListen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}
