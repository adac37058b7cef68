//go:build ops

package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v2"
)

// promtool runs Prometheus's promtool.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	if output, err := exec.CommandContext(t.Context(), "promtool", args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args[:2], " "), err, output)
	}
}

func TestPromtoolAcceptsTheConfiguration(t *testing.T) {
	t.Parallel()
	promtool(t, "check", "config", "prometheus/prometheus.yml")
	promtool(t, append([]string{"check", "rules"}, files(t, "prometheus/rules/*.yaml")...)...)
}

func TestAlertsFireAsTheRulesSay(t *testing.T) {
	t.Parallel()
	for _, name := range files(t, "prometheus/tests/*.yaml") {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".yaml"), func(t *testing.T) {
			t.Parallel()
			promtool(t, "test", "rules", name)
		})
	}
}

// The test replaces Grafana's variables, and Prometheus's parser checks the expressions.
func TestPromtoolAcceptsTheDashboards(t *testing.T) {
	t.Parallel()
	type recording struct{ Record, Expr string }
	var group struct {
		Name  string
		Rules []recording
	}
	group.Name = "dashboards"
	filled := strings.NewReplacer("$__rate_interval", "1m", "$__range", "6h", "$instance", ".*", "$route", ".*")
	for _, d := range dashboards(t) {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				group.Rules = append(
					group.Rules,
					recording{"panel:" + strconv.Itoa(len(group.Rules)), filled.Replace(target.Expr)},
				)
			}
		}
	}
	content, err := yaml.Marshal(map[string]any{"groups": []any{group}})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "dashboards.yaml")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", name)
}
