package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	logspb "go.opentelemetry.io/proto/otlp/logs/v1"

	"github.com/storeroom/storeroom/tenancy/tenants"
)

// A service manager that sends SIGHUP to reload a configuration does not end the instance.
func TestServeIgnoresHangups(t *testing.T) {
	t.Parallel()
	server := start(t, t.TempDir(), newProgram(t).environ, "serve")
	base := server.address(t)
	for range 3 {
		if err := server.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	server.awaitLog(t, "SIGHUP is ignored: to use a new configuration, restart the instance")
	if status := get(t, base+"/readyz", ""); status != 200 {
		t.Errorf("/readyz after SIGHUP = %d, want 200", status)
	}
	server.stop(t)
}

// After a signal, the instance first reports that it is not ready. It still answers running and new requests.
func TestServeShutsDownGracefully(t *testing.T) {
	t.Parallel()
	p := newProgram(t).with("REDIS_URL="+privateRedis(t), "STOREROOM_DRAIN=5s")
	key := p.mustKey(t, "acme", "1000")
	server := start(t, p.dir, p.environ, "serve")
	base := server.address(t)
	body, write := io.Pipe()
	defer write.Close()
	status := make(chan int, 1)
	go func() { status <- post(t, base+"/api/products", key.Key, body) }()
	if _, err := write.Write([]byte(`{"sku": "A", `)); err != nil {
		t.Fatal(err)
	}
	if status := get(t, base+"/readyz", ""); status != 200 {
		t.Errorf("/readyz = %d, want 200", status)
	}
	if err := server.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for range poll(t) {
		if get(t, base+"/readyz", "") == 503 {
			break
		}
	}
	if status := get(t, base+"/api/me", key.Key); status != 200 {
		t.Errorf("a request during the drain time = %d, want 200", status)
	}
	if _, err := write.Write([]byte(`"name": "Axe", "price": 1}`)); err != nil {
		t.Fatal(err)
	}
	write.Close()
	if status := <-status; status != 201 {
		t.Errorf("the running request = %d, want 201", status)
	}
	server.mustExit(t)
	p.mustHaveUsedKey(t)
}

// mustHaveUsedKey requires that the last use of the key of acme was saved at shutdown.
func (p program) mustHaveUsedKey(t *testing.T) {
	t.Helper()
	var all []keyJSON
	if p.mustRun(t, &all, "key", "list", "--tenant", "acme"); all[0].LastUsedAt == nil {
		t.Error("the last use of the key was not saved")
	}
}

// mustDownload starts an export and returns its body before it is complete.
func (s sender) mustDownload(t *testing.T) io.Reader {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", s.base+"/api/products/export?sort=sku", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.key)
	response, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	if response.StatusCode != http.StatusOK {
		t.Fatalf("export = %d", response.StatusCode)
	}
	return response.Body
}

// mustLargeProducts creates products with descriptions of 60,000 characters. An export of 400 does not fit into the
// buffers between the server and the client.
func (p program) mustLargeProducts(t *testing.T, s sender) {
	t.Helper()
	var items []map[string]any
	for i := range 400 {
		items = append(items, map[string]any{"sku": fmt.Sprintf("%05d", i), "name": "N", "price": 1})
	}
	body := map[string]any{"items": items}
	s.mustSend(t, message{method: "POST", path: "/api/products/bulk", body: body}, new(any))
	_, err := p.MustSuper(t).Exec(t.Context(), `update products set description = repeat('x', 60000)`)
	if err != nil {
		t.Fatal(err)
	}
}

func TestARunningExportCompletesDuringShutdown(t *testing.T) {
	t.Parallel()
	p := newProgram(t).with("REDIS_URL=" + privateRedis(t))
	key := p.mustKey(t, "acme", "1000")
	server := start(t, p.dir, p.environ, "serve")
	s := newSender(t, server.address(t), key.Key)
	p.mustLargeProducts(t, s)
	export := s.mustDownload(t)
	server.terminate(t)
	for range poll(t) { // until the port is closed and only the export is left
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.base, "http://"))
		if err != nil {
			break
		}
		conn.Close()
	}
	file, err := io.ReadAll(export)
	if err != nil || !bytes.Contains(file, []byte("\n00399,")) || !bytes.HasSuffix(file, []byte("\n")) {
		t.Errorf("received %d bytes of the export, %v, want all of it", len(file), err)
	}
	server.mustExit(t)
	p.mustHaveUsedKey(t)
}

// A request that exceeds the grace time is aborted: its response breaks off, or is 503 if it has not begun.
func TestRequestsThatExceedTheGraceTimeAreAborted(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p = p.with("REDIS_URL="+privateRedis(t), "STOREROOM_GRACE=1s",
		"DATABASE_URL="+p.URL+"&lock_timeout=0&statement_timeout=0")
	key := p.mustKey(t, "acme", "1000")
	server := start(t, p.dir, p.environ, "serve")
	s := newSender(t, server.address(t), key.Key)
	p.mustLargeProducts(t, s)
	export := s.mustDownload(t)
	blocked := p.mustBlock(t, s)
	server.terminate(t)
	if err := server.wait(t); server.ProcessState.ExitCode() != 1 {
		t.Errorf("the program exited with %v, want exit code 1", err)
	}
	const want = "storeroom: requests aborted because they did not finish within 1s: 2"
	if log := server.stderr.String(); !strings.Contains(log, want) {
		t.Errorf("the log does not contain %q: %s", want, log)
	}
	if n, err := io.Copy(io.Discard, export); err == nil {
		t.Errorf("the export looks complete after %d bytes", n)
	}
	if got := <-blocked; got.status != 503 {
		t.Errorf("the blocked request = %v, want 503", got)
	}
	p.mustHaveUsedKey(t)
}

// mustBlock sends a request that waits for a table lock until the test ends.
func (p program) mustBlock(t *testing.T, s sender) <-chan reply {
	t.Helper()
	tenant, err := tenants.BySlug(t.Context(), p.Admin, "acme")
	if err != nil {
		t.Fatal(err)
	}
	locker, observer := p.MustSuperAt(t, tenant.ID), p.MustSuperAt(t, tenant.ID)
	for _, sql := range []string{"begin", "lock table products in access exclusive mode"} {
		if _, err := locker.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	response := make(chan reply, 1)
	go func() {
		r, _ := s.send(t.Context(), message{method: "GET", path: "/api/products"})
		response <- r
	}()
	for range poll(t) {
		var blocked bool
		err := observer.QueryRow(t.Context(), `
			select exists (
				select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')`).Scan(&blocked)
		if err != nil {
			t.Fatal(err)
		}
		if blocked {
			break
		}
	}
	return response
}

func TestASecondSignalTerminatesTheProgram(t *testing.T) {
	t.Parallel()
	p := newProgram(t).with("STOREROOM_DRAIN=1m")
	server := start(t, p.dir, p.environ, "serve")
	server.address(t)
	server.terminate(t)
	for range poll(t) { // the handler of the first signal may not be removed yet
		if err := server.Process.Signal(syscall.SIGTERM); errors.Is(err, os.ErrProcessDone) {
			break
		}
	}
	if err := server.wait(t); exitSignal(err) != syscall.SIGTERM {
		t.Errorf("the program ended with %v, want SIGTERM", err)
	}
}

// During the drain time, idle connections stay open, and the next response asks the client to close its connection.
func TestADrainingInstanceClosesUsedConnections(t *testing.T) {
	t.Parallel()
	p := newProgram(t).with("STOREROOM_DRAIN=1m")
	server := start(t, p.dir, p.environ, "serve")
	conn, err := net.Dial("tcp", strings.TrimPrefix(server.address(t), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(requestTimeout)); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	request := func() *http.Response {
		t.Helper()
		fmt.Fprint(conn, "GET /healthz HTTP/1.1\r\nHost: shop\r\n\r\n")
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Fatal(err)
		}
		return response
	}
	if r := request(); r.StatusCode != 200 || r.Close {
		t.Errorf("before the shutdown = %d, close %v, want 200 without close", r.StatusCode, r.Close)
	}
	server.terminate(t)
	if r := request(); r.StatusCode != 200 || !r.Close {
		t.Errorf("during the drain time = %d, close %v, want 200 with close", r.StatusCode, r.Close)
	}
	if _, err := reader.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("the connection returned %v, want EOF", err)
	}
	server.kill(t)
}

// The process runs for less than the default export intervals.
func TestTelemetryIsFlushedAtShutdown(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	p := newProgram(t).with("OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL)
	server := start(t, p.dir, p.environ, "serve")
	if status := get(t, server.address(t)+"/api/me", ""); status != 401 {
		t.Errorf("/api/me = %d, want 401", status)
	}
	server.stop(t)
	isLast := func(r *logspb.LogRecord) bool { return r.Body.GetStringValue() == "shutting down" }
	for signal, received := range map[string]bool{
		"the last log record": slices.ContainsFunc(c.records(), isLast),
		"the metrics":         len(c.points()) > 0,
		"the spans":           len(c.traces()) > 0,
	} {
		if !received {
			t.Errorf("the collector did not receive %s", signal)
		}
	}
	if !strings.Contains(server.stderr.String(), `"msg":"shutting down"`) {
		t.Error("stderr does not contain the exported log records")
	}
}
