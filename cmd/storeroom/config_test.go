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
