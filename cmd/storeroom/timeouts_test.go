package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// patient are timeouts that no test reaches.
var patient = timeouts{header: time.Minute, body: time.Minute, answer: time.Minute, idle: time.Minute, headerBytes: 32 << 10}

// narrow lets little of an answer stand between the server and a client that does
// not read.
type narrow struct{ net.Listener }

func (l narrow) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		err = conn.(*net.TCPConn).SetWriteBuffer(4 << 10)
	}
	return conn, err
}

// mustServe serves in this process until the test is over.
func (p program) mustServe(t *testing.T, bounds timeouts) (*instance, string) {
	t.Helper()
	cfg, err := console{environ: p.environ, dir: p.dir}.config(serveNeeds...)
	if err != nil {
		t.Fatal(err)
	}
	listener, logger := mustListen(t), slog.New(slog.DiscardHandler)
	cfg.BaseURL = &url.URL{Scheme: "http", Host: listener.Addr().String()}
	i, err := openInstance(t.Context(), cfg, logger)
	if err != nil {
		t.Fatal(err)
	}
	usual := i.http
	i.http = bounds.server(usual.Handler, logger)
	i.http.BaseContext = usual.BaseContext
	ctx, stop := context.WithCancel(context.Background())
	started, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- errors.Join(i.serve(ctx, narrow{listener}, func() error { close(started); return nil }), i.close())
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-started:
	case err := <-ended:
		ended <- err
		t.Fatalf("serve: %v", err)
	}
	return i, listener.Addr().String()
}

// mustDial opens a bare connection; whatever is read from it ends in 10 s.
func mustDial(t *testing.T, address string) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

// Each row reaches one bound of the server itself, while all others are far.
func TestAClientThatTakesTooMuchIsCutOff(t *testing.T) {
	t.Parallel()
	const soon = 200 * time.Millisecond
	authorization := "\r\nHost: shop\r\nContent-Type: application/json\r\nAuthorization: Bearer "
	for _, test := range []struct {
		name   string
		bound  func(*timeouts)
		send   string // KEY is replaced
		status int    // of the answer before the connection ends; 0 for none
		body   string
	}{
		{"a header that does not end", func(b *timeouts) { b.header = soon }, "GET /healthz HTTP/1.1\r\nHost:", 0, ""},
		{"no request at all", func(b *timeouts) { b.header = soon }, "", 0, ""},
		{"a body that does not end", func(b *timeouts) { b.body = soon }, "POST /api/products HTTP/1.1\r\nContent-Length: 100" + authorization + "KEY\r\n\r\n{", 400, "INVALID_JSON"},
		{"a body in chunks that does not end", func(b *timeouts) { b.body = soon }, "POST /api/orders/bulk HTTP/1.1\r\nTransfer-Encoding: chunked" + authorization + "KEY\r\n\r\n1\r\n{\r\n", 400, "INVALID_JSON"},
		{"a connection that has nothing more to ask", func(b *timeouts) { b.idle = soon }, "GET /healthz HTTP/1.1\r\nHost: shop\r\n\r\n", 200, "ok"},
		{"a header of a megabyte", func(*timeouts) {}, "GET /healthz HTTP/1.1\r\nHost: shop\r\nX-Long: " + strings.Repeat("x", 1<<20), 431, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t)
			key := p.mustKey(t, "acme", "1000")
			bounds := patient
			test.bound(&bounds)
			_, address := p.mustServe(t, bounds)
			conn := mustDial(t, address)
			go io.WriteString(conn, strings.Replace(test.send, "KEY", key.Key, 1))
			read := bufio.NewReader(conn)
			if test.status != 0 {
				answer, err := http.ReadResponse(read, nil)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(answer.Body)
				if err != nil || answer.StatusCode != test.status || !strings.Contains(string(body), test.body) {
					t.Errorf("= %d %s, %v, want %d with %q", answer.StatusCode, body, err, test.status, test.body)
				}
			}
			rest, err := io.ReadAll(read)
			if network, ok := errors.AsType[net.Error](err); ok && network.Timeout() {
				t.Error("the connection is open still")
			}
			if len(rest) > 0 {
				t.Errorf("it also says %q", rest)
			}
		})
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

func TestAnAnswerThatNobodyReadsIsGivenUp(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	key := p.mustKey(t, "acme", "1000")
	bounds := patient
	bounds.answer = time.Second
	i, address := p.mustServe(t, bounds)
	p.mustHeavyProducts(t, newSender(t, "http://"+address, key.Key), 100)
	conn := mustDial(t, address)
	if err := conn.SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "GET /api/products?per_page=100 HTTP/1.1\r\nHost: shop\r\nAuthorization: Bearer %s\r\n\r\n", key.Key)
	for range poll(t, 10*time.Second) {
		if i.running.Load() == 1 {
			break
		}
	}
	for range poll(t, 10*time.Second) {
		if i.running.Load() == 0 {
			break
		}
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.Copy(io.Discard, answer.Body); err == nil || got >= answer.ContentLength {
		t.Errorf("%d of %d bytes arrived, %v, want a cut", got, answer.ContentLength, err)
	}
}

// An instance whose connections are all at work refuses single requests. It stays in
// the balancer, or its load would fall on the next; but not if PostgreSQL is away.
func TestABusyInstanceStaysReady(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p = p.with("DATABASE_URL=" + p.URL + "&pool_max_conns=1")
	i, _ := p.mustServe(t, patient)
	for range poll(t, 5*time.Second) {
		if i.keys.Stats().Listening {
			break
		}
	}
	err := i.db.Conn(t.Context(), func(*pgx.Conn) error { // holds the only connection
		i.looked.Store(0)
		if err := i.ready(t.Context()); err != nil {
			t.Errorf("ready while busy = %v, want nil", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		i.looked.Store(0)
		if err := i.ready(ctx); err != nil {
			t.Errorf("ready of an impatient probe while busy = %v, want nil", err)
		}
		p.mustShutOut(t)
		for range poll(t, 10*time.Second) {
			if !i.keys.Stats().Listening {
				break
			}
		}
		i.looked.Store(0)
		err := i.ready(t.Context())
		if why, ok := errors.AsType[*unready](err); !ok || why.check != "postgresql" {
			t.Errorf("ready without PostgreSQL = %v, want unready", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	p.mustLetIn(t)
}

// mustShutOut takes PostgreSQL away from a program.
func (p program) mustShutOut(t *testing.T) {
	t.Helper()
	p.mustLimit(t, 0)
	_, err := p.MustSuper(t).Exec(t.Context(), `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`)
	if err != nil {
		t.Fatal(err)
	}
}

func (p program) mustLetIn(t *testing.T) { p.mustLimit(t, -1) }

func (p program) mustLimit(t *testing.T, connections int) {
	t.Helper()
	_, err := p.MustSuper(t).Exec(t.Context(), fmt.Sprintf(`do $$ begin execute format('alter database %%I connection limit %d', current_database()); end $$`, connections))
	if err != nil {
		t.Fatal(err)
	}
}
