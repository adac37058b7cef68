package deploy

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const runbook = "https://github.com/storeroom/storeroom/blob/main/deploy/RUNBOOK.md#"

// rule is an alert or a recording rule in prometheus/rules.
type rule struct {
	Alert, Record, Expr string
	Labels, Annotations map[string]string
}

// rules returns the rules of all files.
func rules(t *testing.T) []rule {
	t.Helper()
	var all []rule
	for _, name := range files(t, "prometheus/rules/*.yaml") {
		var file struct{ Groups []struct{ Rules []rule } }
		load(t, name, &file)
		for _, g := range file.Groups {
			all = append(all, g.Rules...)
		}
	}
	if len(all) < 40 {
		t.Fatalf("found %d rules, want at least 40", len(all))
	}
	return all
}

// recordings returns the recorded series with their labels.
func recordings(all []rule) map[string]map[string]bool {
	recorded := map[string]map[string]bool{}
	for _, r := range all {
		if r.Record != "" {
			recorded[r.Record] = map[string]bool{"job": true}
		}
		for label := range r.Labels {
			if r.Record != "" {
				recorded[r.Record][label] = true
			}
		}
	}
	// A recording of other recordings has their labels.
	for _, r := range all {
		for _, name := range named(r.Expr) {
			if r.Record != "" {
				maps.Copy(recorded[r.Record], recorded[name])
			}
		}
	}
	return recorded
}

func files(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("no file matches %s: %v", pattern, err)
	}
	return found
}

// sections returns the sections of the runbook by anchor.
func sections(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, s := range strings.Split(read(t, "RUNBOOK.md"), "\n## ")[1:] {
		title, body, _ := strings.Cut(s, "\n")
		all[strings.ReplaceAll(strings.ToLower(title), " ", "-")] = body
	}
	return all
}

func TestEveryAlertHasARunbookSection(t *testing.T) {
	t.Parallel()
	sections, seen := sections(t), map[string]bool{}
	for _, r := range rules(t) {
		if r.Alert == "" {
			continue
		}
		if seen[r.Alert] {
			t.Errorf("%s is defined twice", r.Alert)
		}
		seen[r.Alert] = true
		if severity := r.Labels["severity"]; severity != "page" && severity != "ticket" {
			t.Errorf("%s has the severity %q, want page or ticket", r.Alert, severity)
		}
		if r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("annotations of %s = %v, want a summary and a description", r.Alert, r.Annotations)
		}
		anchor, ours := strings.CutPrefix(r.Annotations["runbook_url"], runbook)
		if !ours || !strings.Contains(sections[anchor], "`"+r.Alert+"`") {
			t.Errorf("%s links to %q, which is not a section that lists it", r.Alert, r.Annotations["runbook_url"])
		}
	}
	for anchor, body := range sections {
		for _, found := range regexp.MustCompile("`(Storeroom\\w+)`").FindAllStringSubmatch(body, -1) {
			if !seen[found[1]] {
				t.Errorf("the runbook lists %s in %s, which is not an alert", found[1], anchor)
			}
		}
		for _, part := range []string{"Alert", "**Meaning**", "**Impact**", "**Check**", "**Fix**"} {
			if !strings.Contains(body, part) {
				t.Errorf("the runbook has no %s in %s", part, anchor)
			}
		}
	}
}

func TestRunbookLinksAreValid(t *testing.T) {
	t.Parallel()
	sections := sections(t)
	for _, link := range regexp.MustCompile(`\]\(([^)#]*)(#[^)]*)?\)`).FindAllStringSubmatch(read(t, "RUNBOOK.md"), -1) {
		if _, found := sections[strings.TrimPrefix(link[2], "#")]; link[1] == "" && !found {
			t.Errorf("RUNBOOK.md has no section %s", link[2])
		}
		if link[1] != "" {
			files(t, link[1])
		}
	}
}

// Every alert needs a case in which it fires and one in which it does not.
func TestEveryAlertIsTestedBothWays(t *testing.T) {
	t.Parallel()
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, name := range files(t, "prometheus/tests/*.yaml") {
		var file struct {
			Tests []struct {
				AlertRuleTest []struct {
					Alertname string
					ExpAlerts []any `yaml:"exp_alerts"`
				} `yaml:"alert_rule_test"`
			}
		}
		load(t, name, &file)
		for _, test := range file.Tests {
			for _, c := range test.AlertRuleTest {
				if len(c.ExpAlerts) > 0 {
					fires[c.Alertname] = true
				} else {
					silent[c.Alertname] = true
				}
			}
		}
	}
	for _, r := range rules(t) {
		if r.Alert != "" && (!fires[r.Alert] || !silent[r.Alert]) {
			t.Errorf("%s is tested to fire: %v, not to fire: %v; want both", r.Alert, fires[r.Alert], silent[r.Alert])
		}
		delete(fires, r.Alert)
	}
	if len(fires) > 0 {
		t.Errorf("tests name %v, which are not alerts", slices.Sorted(maps.Keys(fires)))
	}
}

func TestRulesUseExistingMetrics(t *testing.T) {
	t.Parallel()
	all := rules(t)
	known := metrics(t, recordings(all))
	for _, r := range all {
		for _, problem := range unknownNames(r.Expr, known) {
			t.Errorf("%s%s: %s", r.Alert, r.Record, problem)
		}
	}
}

func TestRulesUseScrapedJobs(t *testing.T) {
	t.Parallel()
	var config struct {
		ScrapeConfigs []struct {
			JobName string `yaml:"job_name"`
		} `yaml:"scrape_configs"`
	}
	load(t, "prometheus/prometheus.yml", &config)
	jobs := map[string]bool{}
	for _, s := range config.ScrapeConfigs {
		jobs[s.JobName] = true
	}
	for _, r := range rules(t) {
		for _, job := range regexp.MustCompile(`\bjob="(\w+)"`).FindAllStringSubmatch(r.Expr, -1) {
			if !jobs[job[1]] {
				t.Errorf("%s%s uses the job %s, which prometheus.yml does not scrape", r.Alert, r.Record, job[1])
			}
		}
	}
}
