package main

import (
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/storeroom/storeroom/keys"
)

// The alerts and dashboards are checked against the table in deploy/METRICS.md, so it must list exactly the existing
// metrics.
func TestMetricsMatchTheTable(t *testing.T) {
	t.Parallel()
	table, err := os.ReadFile("../../deploy/METRICS.md")
	if err != nil {
		t.Fatal(err)
	}
	type metric struct {
		kind   string
		labels []string
		seen   bool
	}
	known := map[string]*metric{}
	rowPattern := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\w+) \\| ([`\\w ]*)\\|")
	for _, row := range rowPattern.FindAllStringSubmatch(string(table), -1) {
		labels := strings.Fields(strings.ReplaceAll(row[3], "`", ""))
		labels = append(labels, "otel_scope_name", "otel_scope_version", "otel_scope_schema_url")
		known[row[1]] = &metric{kind: row[2], labels: labels}
	}

	p := newProgram(t).with("REDIS_URL="+privateRedis(t), "STOREROOM_OPS_ADDR=127.0.0.1:0")
	key := p.mustKey(t, "acme", "100")
	server := start(t, p.dir, p.environ, "serve")
	base := server.address(t)
	get(t, base+"/api/products", "sk_live_nonsense")
	get(t, base+"/api/reports/channels", key.Key)
	get(t, base+"/api/changes", key.Key)
	post(t, base+"/api/products", key.Key, strings.NewReader(`{"sku": "A", "name": "Axe", "price": 1}`))
	postWithIdempotencyKey(t, base+"/api/products", key.Key, `{"sku": "B", "name": "Bow", "price": 1}`)

	// The lag of the listener is measured once a second.
	var scraped string
	for range poll(t) {
		scraped = string(fetch(t, server.opsAddress(t)+"/metrics"))
		if strings.Contains(scraped, "storeroom_auth_invalidation_lag_seconds") {
			break
		}
	}
	for _, found := range regexp.MustCompile(`(?m)^# TYPE (\w+) (\w+)$`).FindAllStringSubmatch(scraped, -1) {
		m := known[found[1]]
		if m == nil || m.kind != found[2] {
			t.Errorf("%s is a %s and not in the table as one", found[1], found[2])
			continue
		}
		m.seen = true
		series := regexp.MustCompile(`(?m)^` + found[1] + `(?:_bucket|_sum|_count)?\{(.*)\} `)
		for _, s := range series.FindAllStringSubmatch(scraped, -1) {
			for _, label := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(s[1], -1) {
				if !slices.Contains(m.labels, label[1]) && label[1] != "le" {
					t.Errorf("%s has the label %s, which is not in the table", found[1], label[1])
				}
			}
		}
	}
	// These metrics appear with their first event, or with replicas.
	later := []string{
		"storeroom_replica_reads_total", "storeroom_replica_wait_seconds", "storeroom_replica_in_use",
		"db_client_connection_timeouts_total", "storeroom_connections_closed_total", "storeroom_tenancy_violations_total",
		"storeroom_image_duration_seconds", "storeroom_media_failures_total", "storeroom_usage_dropped_total",
		"storeroom_work_refused_total", "storeroom_work_waiting",
		"storeroom_change_plan_part_duration_seconds", "storeroom_change_plans_ended_total",
		"storeroom_webhooks_claims_total", "storeroom_webhooks_lag_seconds", "storeroom_webhooks_attempts_total",
		"storeroom_webhooks_paused_total", "storeroom_database_size_bytes", "storeroom_database_limit_bytes",
	}
	for name, m := range known {
		if !m.seen && !slices.Contains(later, name) {
			t.Errorf("%s is in the table, but has no entry in metricAttributes", name)
		}
	}
}

func postWithIdempotencyKey(t *testing.T, url, key, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{
		"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}, "Idempotency-Key": {"once"},
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != 201 {
		t.Fatalf("POST %s = %d, want 201", url, response.StatusCode)
	}
}

// When an address has tried too many unknown keys, further keys are refused without a lookup. The metric of the alert
// must count them.
func TestGuessesOfOneAddressAreCountedAsRefused(t *testing.T) {
	t.Parallel()
	p := newProgram(t).with("REDIS_URL="+privateRedis(t), "STOREROOM_OPS_ADDR=127.0.0.1:0")
	server := start(t, p.dir, p.environ, "serve")
	base := server.address(t)
	refused := 0
	for range 100 {
		if get(t, base+"/api/me", keys.Generate().Reveal()) == 429 {
			refused++
		}
	}
	counted := regexp.MustCompile(
		`(?m)^storeroom_ratelimit_decisions_total\{.*kind="address",storeroom_ratelimit_outcome="refused",.*\} (\d+)$`)
	found := counted.FindStringSubmatch(string(fetch(t, server.opsAddress(t)+"/metrics")))
	if refused == 0 || found == nil || found[1] != strconv.Itoa(refused) {
		t.Errorf("%d guesses were refused, counted are %q", refused, found)
	}
}
