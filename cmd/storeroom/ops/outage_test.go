//go:build ops

package ops

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// While PostgreSQL is stopped, a proxy answers all requests, and the instances count no failed ones. Prometheus with
// the rules in deploy must still fire an alert, and end it afterwards.
func TestAnOutageThatTheProxyAnswersFiresAnAlert(t *testing.T) {
	h := newService(t, "STOREROOM_LOG_LEVEL=info")
	var instances []*instance
	var targets []string
	for range 2 {
		ops := fmt.Sprintf("127.0.0.1:%d", freePort(t))
		with := *h
		with.environ = append(h.environ[:len(h.environ):len(h.environ)], "STOREROOM_OPS_ADDR="+ops)
		instances = append(instances, with.startInstance(t, freePort(t)))
		targets = append(targets, ops)
	}
	alerts := startPrometheus(t, targets)
	const alert = "StoreroomNoneReady"
	await(t, time.Minute, "a scrape", func() bool { return alerts.query(t, `sum(storeroom_ready)`) == "2" })
	if firing := alerts.firing(t); firing[alert] {
		t.Fatalf("%v fire before the outage", firing)
	}
	h.postgres.stop(t)
	took := await(t, 3*time.Minute, "the alert", func() bool { return alerts.firing(t)[alert] })
	h.postgres.start(t)
	await(t, 3*time.Minute, "the end of the alert", func() bool { return !alerts.firing(t)[alert] })
	t.Logf("the alert fired after %v", took.Round(time.Second))
	for n, i := range instances {
		log := i.output.String()
		for _, message := range []string{"the instance is not ready", "the instance is ready again"} {
			if count := strings.Count(log, `"msg":"`+message+`"`); count != 1 {
				t.Errorf("instance %d logs %q %d times, want once", n, message, count)
			}
		}
	}
}

// prometheus is a running Prometheus with the rules in deploy/prometheus.
type prometheus struct{ base string }

func startPrometheus(t *testing.T, targets []string) prometheus {
	t.Helper()
	dir := t.TempDir()
	rules, err := filepath.Abs("../../../deploy/prometheus/rules")
	if err != nil {
		t.Fatal(err)
	}
	quoted, err := json.Marshal(targets)
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(`{"global": {"scrape_interval": "1s"}, "rule_files": [%q],
		"scrape_configs": [{"job_name": "storeroom", "static_configs": [{"targets": %s}]}]}`, rules+"/*.yaml", quoted)
	path := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	startProcess(t, dir, nil, mustFindProgram(t, "prometheus"), "--config.file="+path, "--storage.tsdb.path="+dir+"/data",
		"--web.listen-address="+address)
	return prometheus{"http://" + address}
}

// get decodes the data of a response. It leaves data as it is while Prometheus starts.
func (p prometheus) get(t *testing.T, path string, data any) {
	t.Helper()
	response, err := http.Get(p.base + path)
	if err != nil {
		return
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return
	}
	if err := json.NewDecoder(response.Body).Decode(&struct{ Data any }{data}); err != nil {
		t.Fatal(err)
	}
}

// query returns the only value of a query, or "".
func (p prometheus) query(t *testing.T, query string) string {
	t.Helper()
	var data struct{ Result []struct{ Value [2]any } }
	p.get(t, "/api/v1/query?query="+query, &data)
	if len(data.Result) != 1 {
		return ""
	}
	return fmt.Sprint(data.Result[0].Value[1])
}

// firing returns the names of the alerts that fire.
func (p prometheus) firing(t *testing.T) map[string]bool {
	t.Helper()
	var data struct {
		Alerts []struct {
			State  string
			Labels map[string]string
		}
	}
	p.get(t, "/api/v1/alerts", &data)
	names := map[string]bool{}
	for _, a := range data.Alerts {
		if a.State == "firing" {
			names[a.Labels["alertname"]] = true
		}
	}
	return names
}

// mustImport uploads a file and decodes the import.
func mustImport(t *testing.T, c client, name, content string, imported any) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", name)
	if err == nil {
		_, err = part.Write([]byte(content))
	}
	if err := errors.Join(err, form.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), "POST", c.base+"/api/imports", &body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.key)
	r.Header.Set("Content-Type", form.FormDataContentType())
	response, err := c.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&struct{ Data any }{imported}); err != nil || response.StatusCode > 299 {
		t.Fatalf("POST /api/imports = %s, %v", response.Status, err)
	}
}

// With a full folder for temporary files, large requests are asked to retry, and an import waits for space. The other
// requests are answered.
func TestAFullFolderForTemporaryFilesRefusesOnlyWhatNeedsIt(t *testing.T) {
	h := newService(t, "STOREROOM_LOG_LEVEL=info")
	k := h.tenant(t, "acme", 1_000_000)
	temporary := t.TempDir()
	// The instance sees a small file system in a mount namespace of its own.
	script := fmt.Sprintf(`mount -t tmpfs -o size=8m tmpfs '%[1]s' && { head -c 64m /dev/zero >'%[1]s/filler' 2>/dev/null; }
		TMPDIR='%[1]s' exec '%[2]s' serve`, temporary, program)
	arguments := []string{"--mount", "sh", "-c", script}
	if os.Getuid() != 0 {
		arguments = append([]string{"--map-root-user"}, arguments...)
	}
	address := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Fatal(err)
	}
	p := startProcess(t, h.dir, append(h.environ, "STOREROOM_ADDR="+address), unshare, arguments...)
	i := &instance{p, "http://" + address}
	await(t, 20*time.Second, "the instance to be ready", func() bool {
		return p.mustRun(t) && i.readiness(t).status == http.StatusOK
	})
	c := newClient(t, i.base, k.Key, false)
	large := map[string]any{"items": []map[string]any{}}
	for n := range 100 {
		large["items"] = append(large["items"].([]map[string]any), map[string]any{
			"sku": fmt.Sprint("large-", n), "name": "Lamp", "price": 1, "description": strings.Repeat("Long. ", 10_000),
		})
	}
	refused, err := c.send(t.Context(), "POST", "/api/products/bulk", "", large)
	if err != nil || refused.status != http.StatusServiceUnavailable || refused.header.Get("Retry-After") == "" {
		t.Errorf("a bulk request of 6 MB = %v, %v, want 503 with Retry-After", refused, err)
	}
	small := map[string]any{"sku": "small", "name": "Lamp", "price": 1}
	c.must(t, "POST", "/api/products", small, nil)
	if exported, err := c.send(t.Context(), "GET", "/api/products/export?format=xlsx", "", nil); err != nil ||
		exported.status != http.StatusOK {
		t.Errorf("an XLSX export of one product, which needs no file, = %v, %v, want 200", exported, err)
	}
	var imported struct {
		ID    int64
		State string
	}
	mustImport(t, c, "products.csv", "sku,name,price\nfrom-file,Lamp,1.00\n", &imported)
	state := func() string {
		c.must(t, "GET", fmt.Sprint("/api/imports/", imported.ID), nil, &imported)
		return imported.State
	}
	p.awaitLine(t, `"msg":"a change plan waits for room"`, 0, time.Minute)
	if now := state(); now != "planning" {
		t.Errorf("the import is %s while the disk is full, want planning", now)
	}
	filler := fmt.Sprintf("/proc/%d/root%s/filler", p.Process.Pid, temporary)
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	await(t, time.Minute, "the plan of the import", func() bool { return state() == "planned" })
	p.awaitLine(t, `"msg":"a change plan continues"`, 0, time.Second)
	c.must(t, "POST", "/api/products/bulk", large, nil)
	if count := p.count(`"status":500`); count != 0 {
		t.Errorf("%d requests got 500, want none", count)
	}
}
