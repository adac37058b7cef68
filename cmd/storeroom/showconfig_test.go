package main

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConfigShowsWhatServeRunsWith(t *testing.T) {
	t.Parallel()
	p := program{dir: t.TempDir(), environ: []string{
		"DATABASE_URL=postgres://runtime:horse@db:5432/shop?sslmode=verify-full&pool_max_conns=20",
		"STOREROOM_KEY_PEPPERS=" + testPeppers, "STOREROOM_GRACE=1m", "STOREROOM_LOG_LEVEL=", "PATH=/bin",
		"OTEL_EXPORTER_OTLP_ENDPOINT=https://collector:4318", "OTEL_EXPORTER_OTLP_HEADERS=authorization=horse", "OTEL_SERVICE_NAME=shop",
	}}
	c := console{dir: p.dir}
	if err := c.save(map[string]string{"REDIS_URL": "redis://:horse@cache:6379/1", "STOREROOM_GRACE": "2m", "STOREROOM_DEMO_PASSWORD": "horse"}); err != nil {
		t.Fatal(err)
	}
	var got []setting
	p.mustRun(t, &got, "config")
	want := []setting{
		{"DATABASE_URL", "postgres://runtime:hidden@db:5432/shop?pool_max_conns=20&sslmode=verify-full", "environment"},
		{"DATABASE_ADMIN_URL", "", "not set"},
		{"DATABASE_DIRECT_URL", "postgres://runtime:hidden@db:5432/shop?pool_max_conns=20&sslmode=verify-full", "default"},
		{"REDIS_URL", "redis://:hidden@cache:6379/1", ".local/env"},
		{"STOREROOM_ADDR", "127.0.0.1:8080", "default"},
		{"STOREROOM_OPS_ADDR", "", "not set"},
		{"STOREROOM_BASE_URL", "http://127.0.0.1:8080", "default"},
		{"STOREROOM_KEY_PEPPERS", "hidden", "environment"},
		{"STOREROOM_TRUSTED_PROXIES", "", "not set"},
		{"STOREROOM_LOG_FORMAT", "json", "default"},
		{"STOREROOM_LOG_LEVEL", "info", "default"},
		{"STOREROOM_DRAIN", "5s", "default"},
		{"STOREROOM_GRACE", "1m", "environment"},
		{"STOREROOM_DEMO_KEY", "", "not set"},
		{"STOREROOM_DEMO_PASSWORD", "hidden", ".local/env"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector:4318", "environment"},
		{"OTEL_EXPORTER_OTLP_HEADERS", "hidden", "environment"},
		{"OTEL_SERVICE_NAME", "shop", "environment"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("config --json (-want +got):\n%s", diff)
	}
	o := p.run(t, "config")
	for _, line := range []string{`NAME +VALUE +SOURCE`, `STOREROOM_GRACE +1m +environment`, `DATABASE_ADMIN_URL +- +not set`} {
		if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(o.stdout) {
			t.Errorf("config prints no line %q:\n%s", line, o.stdout)
		}
	}
	if strings.Contains(o.stdout, "horse") || strings.Contains(o.stdout, testPeppers) || o.code != 0 {
		t.Errorf("config = %d and shows a secret:\n%s", o.code, o.stdout)
	}
}

func TestConfigTellsEveryFaultAndNoSecret(t *testing.T) {
	t.Parallel()
	p := program{dir: t.TempDir(), environ: []string{
		"DATABASE_URL=postgres://runtime:horse@db:port/shop", "DATABASE_ADMIN_URL=host=db password='horse", "STOREROOM_ADDR=0.0.0.0:80",
		"STOREROOM_OPS_ADDR=9090", "STOREROOM_GRACE=0s", "STOREROOM_DRIAN=1s", "STOREROOM_KEY_PEPPERS=1:horse",
	}}
	o := p.run(t, "config")
	for _, want := range []string{
		"REDIS_URL is not set", "STOREROOM_DRIAN is not a variable of this program", `STOREROOM_GRACE: must be a time from 1s to 5m, not "0s"`,
		"STOREROOM_KEY_PEPPERS: read the peppers: version 1", "DATABASE_URL: must be an address such as postgres://USER:PASSWORD@HOST:5432/DATABASE",
		"DATABASE_ADMIN_URL: must be an address", `STOREROOM_OPS_ADDR: must be HOST:PORT, not "9090"`, "STOREROOM_BASE_URL is not set, and STOREROOM_ADDR 0.0.0.0:80",
	} {
		if !strings.Contains(o.stderr, want) {
			t.Errorf("config says %q, want also %q", o.stderr, want)
		}
	}
	if o.code != 1 || !strings.Contains(o.stdout, "STOREROOM_DRAIN") {
		t.Errorf("config = %d %q, want 1 and the table all the same", o.code, o.stdout)
	}
	if strings.Contains(o.stdout+o.stderr, "horse") {
		t.Errorf("config shows a secret: %s %s", o.stdout, o.stderr)
	}
}

// What serve would stumble over after the first fault is told with the first.
func TestConfigTellsWhatOnlyServeWouldRefuse(t *testing.T) {
	t.Parallel()
	p := program{dir: t.TempDir(), environ: []string{
		"DATABASE_URL=postgres://runtime@db/shop", "STOREROOM_KEY_PEPPERS=" + testPeppers,
		"REDIS_URL=http://ann:horse@cache", "STOREROOM_ADDR=:8080", "STOREROOM_OPS_ADDR=:8080", "OTEL_EXPORTER_OTLP_ENDPOINT=horse:4318",
	}}
	for _, command := range []string{"config", "serve"} {
		o := start(t, p.dir, p.environ, command)
		code := o.code(t)
		said := o.stderr.String()
		for _, want := range []string{
			"REDIS_URL: parse the Redis URL: invalid URL scheme", "STOREROOM_OPS_ADDR: must be another address than STOREROOM_ADDR",
			"STOREROOM_BASE_URL is not set", "OTEL_EXPORTER_OTLP_ENDPOINT must be an address",
		} {
			if code != 1 || !strings.Contains(said, want) {
				t.Errorf("%s = %d, %q, want 1 and %q", command, code, said, want)
			}
		}
		if strings.Contains(said, "horse") {
			t.Errorf("%s shows a secret: %s", command, said)
		}
	}
}

func TestWithoutPassword(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{"a URL of PostgreSQL", "postgres://ann:horse@db:5432/shop", "postgres://ann:hidden@db:5432/shop"},
		{"one without a password", "postgresql://ann@db/shop", "postgresql://ann@db/shop"},
		{"one with parameters", "postgres://db/shop?user=ann&password=horse&sslpassword=horse&sslmode=require", "postgres://db/shop?password=hidden&sslmode=require&sslpassword=hidden&user=ann"},
		{"one of an escaped password", "postgres://ann:hor%40se%2F@db/shop", "postgres://ann:hidden@db/shop"},
		{"one of a password with a slash", "postgres://ann:1/horse@db/shop", unreadable},
		{"one of a password with a question mark", "postgres://ann:1?horse@db/shop", unreadable},
		{"one of a password with a hash", "postgres://ann:1#horse@db/shop", unreadable},
		{"one of a password with a percent", "postgres://ann:horse%@db/shop", unreadable},
		{"one of a parameter with a semicolon", "postgres://db/shop?a=b;password=horse", unreadable},
		{"a socket of PostgreSQL", "postgres:///shop?host=/run/postgresql", "postgres:///shop?host=%2Frun%2Fpostgresql"},
		{"a URL of Redis", "rediss://ann:horse@cache:6380/1?db=2", "rediss://ann:hidden@cache:6380/1?db=2"},
		{"one whose password stands in the name's place", "redis://horse@cache:6379", "redis://hidden@cache:6379"},
		{"keywords", "host=db  port = 5432 user=ann password=horse", "host=db port=5432 user=ann password=hidden"},
		{"keywords in quotes", `host='d b' password='hor\'se x' dbname=shop`, `host='d b' password=hidden dbname=shop`},
		{"keywords with an escape", `password=hor\ se host=db`, "password=hidden host=db"},
		{"keywords with a quote that does not end", "host=db password='horse", unreadable},
		{"words", "horse horse", unreadable},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := withoutPassword(test.text); got != test.want {
				t.Errorf("withoutPassword(%q) = %q, want %q", test.text, got, test.want)
			}
		})
	}
}

// A variable that is added must say what of it nobody is shown.
func TestEveryVariableThatMayHoldASecretIsHidden(t *testing.T) {
	t.Parallel()
	for field := range reflect.TypeFor[config]().Fields() {
		name := field.Tag.Get("env")
		if hide := field.Tag.Get("hide"); hide == "" && (holdsSecret(name) || strings.HasSuffix(name, "URL") || strings.Contains(name, "PEPPER")) {
			t.Errorf("%s is shown as it is: give it the tag hide", name)
		}
	}
}
