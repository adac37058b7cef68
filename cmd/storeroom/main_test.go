package main

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/storeroom/storeroom/deploy/local"
	"github.com/storeroom/storeroom/tenancy/tenancytest"
)

// TestMain lets the test binary stand in for the program: a test starts it again
// with STOREROOM_TEST_RUN set, as a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("STOREROOM_TEST_RUN") != "" {
		main()
	}
	os.Exit(m.Run())
}

const testPeppers = "1:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

// program runs commands against a database of its own.
type program struct {
	*tenancytest.Database
	environ []string
	dir     string
}

func newProgram(t *testing.T) program {
	t.Helper()
	d := tenancytest.New(t)
	return program{d, []string{
		"DATABASE_URL=" + d.URL,
		"DATABASE_ADMIN_URL=" + d.AdminURL,
		"REDIS_URL=" + os.Getenv("REDIS_URL"),
		"STOREROOM_KEY_PEPPERS=" + testPeppers,
		"STOREROOM_ADDR=127.0.0.1:0",
		"STOREROOM_DRAIN=0s",
	}, t.TempDir()}
}

// with returns the program with more variables, which win over those before.
func (p program) with(variables ...string) program {
	p.environ = append(p.environ[:len(p.environ):len(p.environ)], variables...)
	return p
}

// outcome is what one command line left.
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

// mustRun runs a command that must succeed, with --json, and reads its answer.
func (p program) mustRun(t *testing.T, answer any, args ...string) {
	t.Helper()
	p.mustRunWith(t, "", answer, args...)
}

func (p program) mustRunWith(t *testing.T, stdin string, answer any, args ...string) {
	t.Helper()
	o := p.runWith(t, stdin, append(args, "--json")...)
	if o.code != 0 {
		t.Fatalf("storeroom %s = %d: %s", strings.Join(args, " "), o.code, o.stderr)
	}
	if err := json.Unmarshal([]byte(o.stdout), answer); err != nil {
		t.Fatalf("storeroom %s: %v: %s", strings.Join(args, " "), err, o.stdout)
	}
}

// mustKey makes a tenant of its own limit and a key of it.
func (p program) mustKey(t *testing.T, slug string, limit string) keyJSON {
	t.Helper()
	p.mustRun(t, &tenantJSON{}, "tenant", "create", "--slug", slug, "--name", slug, "--plan", "enterprise", "--rate-limit", limit)
	var key keyJSON
	p.mustRun(t, &key, "key", "create", "--tenant", slug, "--name", "Test", "--scopes", "full")
	return key
}

// privateRedis starts a Redis for one test: tenants of other tests' databases have
// the same numbers, and would share their limits.
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

// mustListen takes a port of this machine.
func mustListen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}
