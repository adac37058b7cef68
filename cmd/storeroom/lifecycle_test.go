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
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
)

// download is an export of which a client has read no more than the head.
type download struct {
	*bufio.Reader
	closed func()
}

// mustDownload begins an export that is too large to be on its way whole.
func (s sender) mustDownload(t *testing.T) download {
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
	return download{bufio.NewReader(response.Body), func() { response.Body.Close() }}
}

// mustSignal sends SIGTERM and waits until the program says that it ends.
func (p *process) mustSignal(t *testing.T) {
	t.Helper()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.said(t, "shutting down")
}

// An export that a client is in the middle of arrives whole, although the program
// takes no more connections.
func TestAnExportUnderWayOutlivesTheSignal(t *testing.T) {
	t.Parallel()
	p := newProgram(t).with("REDIS_URL=" + privateRedis(t))
	key := p.mustKey(t, "acme", "1000")
	server := start(t, p.dir, p.environ, "serve")
	s := newSender(t, server.address(t), key.Key)
	p.mustHeavyProducts(t, s, 400)
	file := s.mustDownload(t)
	server.mustSignal(t)
	for range poll(t, 5*time.Second) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.base, "http://"))
		if err != nil {
			break // from here on the export is all that it waits for
		}
		conn.Close()
	}
	whole, err := io.ReadAll(file)
	if err != nil || !bytes.Contains(whole, []byte("\n00399,")) || !bytes.HasSuffix(whole, []byte("\n")) {
		t.Errorf("%d bytes of the export arrive, %v, want all of it", len(whole), err)
	}
	server.mustExit(t)
	var all []keyJSON
	if p.mustRun(t, &all, "key", "list", "--tenant", "acme"); all[0].LastUsedAt == nil {
		t.Error("the key's last use was lost at the end")
	}
}

// What has begun to answer breaks off; what has not is told to come again.
func TestWhatOutlivesTheGraceTimeIsCut(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p = p.with("REDIS_URL="+privateRedis(t), "STOREROOM_GRACE=1s", "DATABASE_URL="+p.URL+"&lock_timeout=0&statement_timeout=0")
	key := p.mustKey(t, "acme", "1000")
	server := start(t, p.dir, p.environ, "serve")
	s := newSender(t, server.address(t), key.Key)
	p.mustHeavyProducts(t, s, 400)
	file := s.mustDownload(t)
	waiting := p.mustBlock(t, s)
	server.mustSignal(t)
	if code := server.code(t); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if said := server.stderr.String(); !strings.Contains(said, "storeroom: requests aborted because they did not finish within 1s: 2") {
		t.Errorf("the program says nothing of what it cut: %s", said)
	}
	if got, err := io.Copy(io.Discard, file); err == nil {
		t.Errorf("%d bytes pass for a whole file", got)
	}
	if got := <-waiting; got.status != 503 {
		t.Errorf("a request without an answer yet = %v, want 503", got)
	}
	var all []keyJSON
	if p.mustRun(t, &all, "key", "list", "--tenant", "acme"); all[0].LastUsedAt == nil {
		t.Error("the key's last use was lost at the end")
	}
}

// mustBlock sends a request that waits for a table until the test is over.
func (p program) mustBlock(t *testing.T, s sender) <-chan reply {
	t.Helper()
	lock, look := p.MustSuper(t), p.MustSuper(t)
	for _, sql := range []string{"begin", "lock table products in access exclusive mode"} {
		if _, err := lock.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	answered := make(chan reply, 1)
	go func() {
		r, _ := s.send(t.Context(), message{method: "GET", path: "/api/products"})
		answered <- r
	}()
	for range poll(t, 10*time.Second) {
		var waits bool
		if err := look.QueryRow(t.Context(), `select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')`).Scan(&waits); err != nil {
			t.Fatal(err)
		}
		if waits {
			break
		}
	}
	return answered
}

func TestASecondSignalEndsTheProgramAtOnce(t *testing.T) {
	t.Parallel()
	p := newProgram(t).with("STOREROOM_DRAIN=1m")
	server := start(t, p.dir, p.environ, "serve")
	server.address(t)
	server.mustSignal(t)
	for range poll(t, 10*time.Second) { // a signal between the first and the program's answer to it is the first
		if err := server.Process.Signal(syscall.SIGTERM); errors.Is(err, os.ErrProcessDone) {
			break
		}
	}
	exit, ok := errors.AsType[*exec.ExitError](<-server.exited)
	if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("the program ended with %v, want by the signal, which a shell calls 143", exit)
	}
}

// code waits for the end of the program.
func (p *process) code(t *testing.T) int {
	t.Helper()
	select {
	case <-p.exited:
		return p.ProcessState.ExitCode()
	case <-time.After(40 * time.Second):
		t.Fatalf("the program did not end: %s", p.stderr.String())
	}
	return 0
}

// An idle connection is not closed while the balancer notices, but whoever uses it is
// asked to make another.
func TestADrainingInstanceSendsItsClientsAway(t *testing.T) {
	t.Parallel()
	p := newProgram(t).with("STOREROOM_DRAIN=1m")
	server := start(t, p.dir, p.environ, "serve")
	address := strings.TrimPrefix(server.address(t), "http://")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	read := bufio.NewReader(conn)
	ask := func() *http.Response {
		t.Helper()
		fmt.Fprint(conn, "GET /healthz HTTP/1.1\r\nHost: shop\r\n\r\n")
		answer, err := http.ReadResponse(read, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			t.Fatal(err)
		}
		return answer
	}
	if answer := ask(); answer.StatusCode != 200 || answer.Close {
		t.Errorf("before the end = %d, close %v, want 200 on a connection that stays", answer.StatusCode, answer.Close)
	}
	server.mustSignal(t)
	if answer := ask(); answer.StatusCode != 200 || !answer.Close {
		t.Errorf("while draining = %d, close %v, want 200 and Connection: close", answer.StatusCode, answer.Close)
	}
	if _, err := read.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("the connection = %v, want its end", err)
	}
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
}

// What is in memory at the end is sent before the program goes: the default intervals
// are longer than it lives here.
func TestTelemetryIsFlushedAtTheEnd(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	p := newProgram(t).with("OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL)
	server := start(t, p.dir, p.environ, "serve")
	if status := get(t, server.address(t)+"/api/me", ""); status != 401 {
		t.Errorf("/api/me = %d, want 401", status)
	}
	server.stop(t)
	for what, sent := range map[string]bool{
		"the last line of the log": slices.ContainsFunc(c.records(), func(r *logspb.LogRecord) bool { return r.Body.GetStringValue() == "shutting down" }),
		"the metrics":              len(c.points()) > 0,
		"the spans":                len(c.traces()) > 0,
	} {
		if !sent {
			t.Errorf("%s did not arrive", what)
		}
	}
	if !strings.Contains(server.stderr.String(), `"msg":"shutting down"`) {
		t.Error("what is exported is on stderr no longer")
	}
}

// mustHeavyProducts makes products whose descriptions are 60,000 characters each: a
// page of a hundred does not fit between a server and a client that does not read.
func (p program) mustHeavyProducts(t *testing.T, s sender, n int) {
	t.Helper()
	var items []map[string]any
	for i := range n {
		items = append(items, map[string]any{"sku": fmt.Sprintf("%05d", i), "name": "N", "price": 1})
	}
	s.mustSend(t, message{method: "POST", path: "/api/products/bulk", body: map[string]any{"items": items}}, new(any))
	if _, err := p.MustSuper(t).Exec(t.Context(), `update products set description = repeat('x', 60000)`); err != nil {
		t.Fatal(err)
	}
}
