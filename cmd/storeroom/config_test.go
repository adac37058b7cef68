package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/storeroom/storeroom/cmd/storeroom/config"
)

func TestConfigPrintsTheSettings(t *testing.T) {
	t.Parallel()
	p := program{dir: t.TempDir(), environ: []string{
		"DATABASE_URL=postgres://runtime:horse@db/shop",
		"STOREROOM_KEY_PEPPERS=" + testPeppers,
		"STOREROOM_GRACE=1m",
	}}
	if err := config.WriteFile(p.dir, map[string]string{"REDIS_URL": "redis://:horse@cache:6379/1"}); err != nil {
		t.Fatal(err)
	}
	o := p.run(t, "config")
	for _, line := range []string{
		`NAME +VALUE +SOURCE`,
		`REDIS_URL +redis://:hidden@cache:6379/1 +\.local/env`,
		`STOREROOM_GRACE +1m +environment`,
		`DATABASE_ADMIN_URL +- +not set`,
		`GOMEMLIMIT +[0-9]+MiB +(cgroup|default)`,
	} {
		if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(o.stdout) {
			t.Errorf("config has no line %q:\n%s", line, o.stdout)
		}
	}
	if strings.Contains(o.stdout, "horse") || strings.Contains(o.stdout, testPeppers) || o.code != 0 {
		t.Errorf("config = %d with a secret:\n%s", o.code, o.stdout)
	}
	var settings []config.Setting
	if p.mustRun(t, &settings, "config"); len(settings) == 0 || settings[0].Name != "DATABASE_URL" {
		t.Errorf("config --json = %+v, want DATABASE_URL first", settings)
	}
}

// config reports what serve would report, and prints the table in spite of it.
func TestConfigAndServeReportEveryProblem(t *testing.T) {
	t.Parallel()
	p := program{dir: t.TempDir(), environ: []string{
		"DATABASE_URL=postgres://runtime:horse@db:port/shop",
		"STOREROOM_ADDR=:8080",
		"OTEL_EXPORTER_OTLP_ENDPOINT=collector:4318",
	}}
	for _, command := range []string{"config", "serve"} {
		o := p.run(t, command)
		for _, want := range []string{
			"DATABASE_URL: must be a URL", "REDIS_URL is not set", "STOREROOM_BASE_URL is not set",
			"OTEL_EXPORTER_OTLP_ENDPOINT must be",
		} {
			if o.code != 1 || !strings.Contains(o.stderr, want) {
				t.Errorf("%s = %d, %q, want 1 and %q", command, o.code, o.stderr, want)
			}
		}
		if command == "config" && !strings.Contains(o.stdout, "STOREROOM_DRAIN") {
			t.Errorf("config prints %q, want the table", o.stdout)
		}
		if strings.Contains(o.stdout+o.stderr, "horse") {
			t.Errorf("%s shows a secret: %s", command, o.stderr)
		}
	}
}

// config and serve use the same checks: what serve refuses without asking a server, config refuses too.
func TestConfigRefusesWhatServeRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ variable, want string }{
		"a mode that cannot write orders": {"DATABASE_URL=postgres://r:horse@127.0.0.1:1/shop?default_query_exec_mode=exec",
			"DATABASE_URL: must not set default_query_exec_mode to exec"},
		"the simple protocol": {"DATABASE_URL=postgres://r:horse@127.0.0.1:1/shop?default_query_exec_mode=simple_protocol",
			"DATABASE_URL: must not set default_query_exec_mode to simple protocol"},
		"a parameter of the pool": {"DATABASE_URL=postgres://r:horse@127.0.0.1:1/shop?pool_max_conns=many",
			"DATABASE_URL: must have valid parameters of the pool"},
		"a mode of a replica": {"DATABASE_REPLICA_URLS=postgres://r:horse@127.0.0.1:1/shop?default_query_exec_mode=exec",
			"DATABASE_REPLICA_URLS: URL 1: must not set default_query_exec_mode to exec"},
		"a file that is missing": {"DATABASE_URL=postgres://r:horse@127.0.0.1:1/shop?sslmode=verify-full&sslrootcert=/missing",
			"DATABASE_URL: must be a URL"},
		"a Redis Cluster with a database": {"REDIS_URL=redis://:horse@127.0.0.1:1/3?addr=127.0.0.1:2", "REDIS_URL: "},
		"a picture storage":               {"STOREROOM_MEDIA_URL=ftp://horse", "STOREROOM_MEDIA_URL: must begin with"},
		"a certificate of telemetry":      {"OTEL_EXPORTER_OTLP_CERTIFICATE=/missing", "OTEL_EXPORTER_OTLP_CERTIFICATE must be"},
		"the same port twice":             {"STOREROOM_OPS_ADDR=127.0.0.1:8080", "STOREROOM_OPS_ADDR: must be another address"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := program{dir: t.TempDir(), environ: []string{
				"DATABASE_URL=postgres://r:horse@127.0.0.1:1/shop", "REDIS_URL=redis://127.0.0.1:1",
				"STOREROOM_KEY_PEPPERS=" + testPeppers, test.variable,
			}}
			for _, command := range []string{"config", "serve"} {
				o := p.run(t, command)
				if o.code != 1 || !strings.Contains(o.stderr, test.want) || strings.Contains(o.stderr, "horse@") {
					t.Errorf("%s = %d, %q, want 1 and %q", command, o.code, o.stderr, test.want)
				}
			}
		})
	}
}
