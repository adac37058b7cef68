package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Each case reaches one limit of the HTTP server.
func TestAClientThatExceedsALimitIsDisconnected(t *testing.T) {
	t.Parallel()
	const soon = time.Second
	authorization := "\r\nHost: shop\r\nContent-Type: application/json\r\nAuthorization: Bearer "
	for _, test := range []struct {
		name   string
		limit  func(*http.Server)
		send   string // KEY is replaced
		status int    // of the response before the connection ends; 0: no response
		body   string
	}{
		{
			name:  "incomplete header",
			limit: func(s *http.Server) { s.ReadHeaderTimeout = soon },
			send:  "GET /healthz HTTP/1.1\r\nHost:",
		},
		{
			name:  "no request",
			limit: func(s *http.Server) { s.ReadHeaderTimeout = soon },
		},
		{
			name:   "incomplete body",
			limit:  func(s *http.Server) { s.ReadTimeout = soon },
			send:   "POST /api/products HTTP/1.1\r\nContent-Length: 100" + authorization + "KEY\r\n\r\n{",
			status: 400,
			body:   "INVALID_JSON",
		},
		{
			name:  "incomplete body in chunks",
			limit: func(s *http.Server) { s.ReadTimeout = soon },
			send: "POST /api/orders/bulk HTTP/1.1\r\nTransfer-Encoding: chunked" + authorization +
				"KEY\r\n\r\n1\r\n{\r\n",
			status: 400,
			body:   "INVALID_JSON",
		},
		{
			name:   "idle connection",
			limit:  func(s *http.Server) { s.IdleTimeout = soon },
			send:   "GET /healthz HTTP/1.1\r\nHost: shop\r\n\r\n",
			status: 200,
			body:   "ok",
		},
		{
			name:   "header of a megabyte",
			limit:  unchanged,
			send:   "GET /healthz HTTP/1.1\r\nHost: shop\r\nX-Long: " + strings.Repeat("x", 1<<20),
			status: 431,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			i, db := mustOpen(t, "")
			_, key := mustKey(t, db)
			conn := mustDial(t, i.mustServe(t, test.limit))
			go io.WriteString(conn, strings.Replace(test.send, "KEY", key, 1))
			reader := bufio.NewReader(conn)
			if test.status != 0 {
				response, err := http.ReadResponse(reader, nil)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(response.Body)
				if err != nil || response.StatusCode != test.status || !strings.Contains(string(body), test.body) {
					t.Errorf("= %d %s, %v, want %d with %q", response.StatusCode, body, err, test.status, test.body)
				}
			}
			rest, err := io.ReadAll(reader)
			if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
				t.Error("the connection is still open")
			}
			if len(rest) > 0 {
				t.Errorf("then received %q, want nothing", rest)
			}
		})
	}
}

func TestAResponseThatTheClientDoesNotReadIsAborted(t *testing.T) {
	t.Parallel()
	i, db := mustOpen(t, "")
	tenant, key := mustKey(t, db)
	_, err := db.MustSuper(t).Exec(t.Context(), `
		insert into products (tenant_id, warehouse_id, sku, name, price, status, condition, search, description)
		select $1, (select id from warehouses where tenant_id = $1), n::text, 'N', 1, 'active', 'new', '  n',
		       repeat('x', 60000)
		  from generate_series(1, 100) n`, tenant)
	if err != nil {
		t.Fatal(err)
	}
	conn := mustDial(t, i.mustServe(t, func(s *http.Server) { s.WriteTimeout = time.Second }))
	if err := conn.SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	const get = "GET /api/products?per_page=100 HTTP/1.1\r\nHost: shop\r\nAuthorization: Bearer %s\r\n\r\n"
	fmt.Fprintf(conn, get, key)
	waitUntil(t, "the request runs", func() bool { return i.running.Load() == 1 })
	waitUntil(t, "the request has ended", func() bool { return i.running.Load() == 0 })
	// On a busy machine, the timeout also ends the connection before the head is written.
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return
	}
	if got, err := io.Copy(io.Discard, response.Body); err == nil || got >= response.ContentLength {
		t.Errorf("received %d of %d bytes, %v, want an incomplete body", got, response.ContentLength, err)
	}
}
