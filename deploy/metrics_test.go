package deploy

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const activityLabels = "datname state usename application_name backend_type wait_event_type wait_event"

// foreign lists metrics of postgres_exporter 0.18, node_exporter 1.9, the kubelet, the
// collector 0.149 and Prometheus, with the labels that rules can use.
var foreign = map[string]string{
	"ALERTS": "alertname alertstate severity",
	"up":     "",

	"pg_up":                                           "",
	"pg_database_size_bytes":                          "datname",
	"pg_replication_is_replica":                       "",
	"pg_replication_lag_seconds":                      "",
	"pg_settings_max_connections":                     "",
	"pg_stat_activity_count":                          activityLabels,
	"pg_stat_activity_max_tx_duration":                activityLabels,
	"pg_stat_database_blks_read":                      "datid datname",
	"pg_stat_database_deadlocks":                      "datid datname",
	"pg_stat_database_xact_commit":                    "datid datname",
	"pg_stat_database_xact_rollback":                  "datid datname",
	"pg_database_wraparound_age_datfrozenxid_seconds": "datname",

	"node_filesystem_avail_bytes": "device fstype mountpoint",
	"node_filesystem_size_bytes":  "device fstype mountpoint",

	"container_cpu_cfs_periods_total":           "namespace pod container",
	"container_cpu_cfs_throttled_periods_total": "namespace pod container",

	"otelcol_exporter_enqueue_failed_log_records_total":   "exporter",
	"otelcol_exporter_enqueue_failed_metric_points_total": "exporter",
	"otelcol_exporter_enqueue_failed_spans_total":         "exporter",
	"otelcol_exporter_send_failed_log_records_total":      "exporter",
	"otelcol_exporter_send_failed_metric_points_total":    "exporter",
	"otelcol_exporter_send_failed_spans_total":            "exporter",

	// Written by backup/backup.sh and backup/restore.sh.
	"storeroom_backup_last_success_timestamp_seconds":       "",
	"storeroom_restore_test_last_success_timestamp_seconds": "",

	// Written by citus/metrics.sh.
	"storeroom_node_up":                         "node",
	"storeroom_node_shard_groups":               "node",
	"storeroom_node_prepared_seconds":           "node",
	"storeroom_nodes_checked_timestamp_seconds": "",
}

// metrics returns all known series by name, with their labels.
func metrics(t *testing.T, recorded map[string]map[string]bool) map[string]map[string]bool {
	t.Helper()
	all := maps.Clone(recorded)
	add := func(name, labels string) {
		all[name] = map[string]bool{"job": true, "instance": true}
		for _, label := range strings.Fields(labels) {
			all[name][label] = true
		}
	}
	for name, labels := range foreign {
		add(name, labels)
	}
	row := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (counter|gauge|histogram) \\| ([`\\w ]*)\\|")
	rows := row.FindAllStringSubmatch(read(t, "METRICS.md"), -1)
	if len(rows) < 40 {
		t.Fatalf("METRICS.md has %d rows, want at least 40", len(rows))
	}
	for _, r := range rows {
		name, kind, labels := r[1], r[2], strings.ReplaceAll(r[3], "`", "")
		if kind != "histogram" {
			add(name, labels)
			continue
		}
		add(name+"_bucket", labels+" le")
		add(name+"_count", labels)
		add(name+"_sum", labels)
	}
	return all
}

var (
	text      = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`)
	clause    = regexp.MustCompile(`\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)`)
	grouping  = regexp.MustCompile(`\b(?:by|on|ignoring)\s*\(([^)]*)\)`)
	selector  = regexp.MustCompile(`([a-zA-Z_:][\w:]*)\s*\{([^}]*)\}`)
	labelName = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)`)
	span      = regexp.MustCompile(`\[[^\]]*\]`)
	matchers  = regexp.MustCompile(`\{[^}]*\}`)
	offset    = regexp.MustCompile(`\boffset\s+\w+`)
	word      = regexp.MustCompile(`([\w:.]+)(\s*\()?`)
)

// named returns the metrics in a PromQL expression.
func named(expr string) []string {
	expr = text.ReplaceAllString(expr, `""`)
	for _, part := range []*regexp.Regexp{clause, matchers, span, offset} {
		expr = part.ReplaceAllString(expr, " ")
	}
	found := map[string]bool{}
	for _, w := range word.FindAllStringSubmatch(expr, -1) {
		operator := slices.Contains([]string{"and", "or", "unless", "bool"}, w[1])
		function, number := w[2] != "", strings.ContainsAny(w[1][:1], "0123456789.")
		if !operator && !function && !number {
			found[w[1]] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// unknownNames returns errors for metrics and labels in an expression that do not exist.
// Such an expression returns no data.
func unknownNames(expr string, known map[string]map[string]bool) []string {
	var problems []string
	labels := map[string]bool{"le": true} // of all metrics in the expression
	for _, name := range named(expr) {
		if known[name] == nil {
			problems = append(problems, "unknown metric "+name)
		}
		maps.Copy(labels, known[name])
	}
	for _, s := range selector.FindAllStringSubmatch(text.ReplaceAllString(expr, `""`), -1) {
		for _, label := range labelName.FindAllStringSubmatch(s[2], -1) {
			if known[s[1]] != nil && !known[s[1]][label[1]] {
				problems = append(problems, s[1]+" has no label "+label[1])
			}
		}
	}
	for _, g := range grouping.FindAllStringSubmatch(expr, -1) {
		for label := range strings.SplitSeq(g[1], ",") {
			if label = strings.TrimSpace(label); label != "" && !labels[label] {
				problems = append(problems, "no metric has the label "+label)
			}
		}
	}
	return problems
}

func TestUnknownNamesAreFound(t *testing.T) {
	t.Parallel()
	known := map[string]map[string]bool{"a": {"job": true, "x": true}, "b:c": {"job": true}}
	for _, test := range []struct {
		name, expr string
		want       int
	}{
		{"no unknown name", `
			sum by (x) (rate(a{x="nonsense{y}"}[5m] offset 1h)) / on () group_left () b:c > 5e8 and time() > 3`, 0},
		{"an unknown metric", `rate(a[5m]) or d`, 1},
		{"an unknown metric behind a selector", `d{x="1"}`, 1},
		{"an unknown label in a selector", `b:c{x="1"}`, 1},
		{"an unknown label to group by", `sum by (job, y) (a)`, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if problems := unknownNames(test.expr, known); len(problems) != test.want {
				t.Errorf("unknownNames(%s) = %q, want %d", test.expr, problems, test.want)
			}
		})
	}
}
