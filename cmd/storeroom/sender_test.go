package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// requestTimeout is longer than any request of these tests takes.
const requestTimeout = 30 * time.Second

// sender sends requests to one server with one API key.
type sender struct {
	client    *http.Client
	base, key string
}

func newSender(t *testing.T, base, key string) sender {
	t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 32
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err == nil { // Linux would let a buffer grow until it has a whole export
			err = conn.(*net.TCPConn).SetReadBuffer(64 << 10)
		}
		return conn, err
	}
	t.Cleanup(transport.CloseIdleConnections)
	return sender{&http.Client{Transport: transport}, base, key}
}

// message is a request.
type message struct {
	method, path   string
	idempotencyKey string // may be empty
	body           any
}

// reply is a complete response.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// send sends a message once. After an error, the outcome of the request is unknown.
func (s sender) send(ctx context.Context, m message) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var body bytes.Buffer
	if m.body != nil {
		if err := json.NewEncoder(&body).Encode(m.body); err != nil {
			return reply{}, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, m.method, s.base+m.path, &body)
	if err != nil {
		return reply{}, err
	}
	r.Header.Set("Authorization", "Bearer "+s.key)
	r.Header.Set("Content-Type", "application/json")
	if m.idempotencyKey != "" {
		r.Header.Set("Idempotency-Key", m.idempotencyKey)
	}
	response, err := s.client.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	return reply{response.StatusCode, response.Header, all}, err
}

// sendWithRetry repeats a message for up to a minute while the server asks for a retry.
func (s sender) sendWithRetry(ctx context.Context, m message) (reply, error) {
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		r, err := s.send(ctx, m)
		if err != nil || !r.asksForRetry() || time.Now().After(end) {
			return r, err
		}
	}
}

// mustSend requires success and decodes the data of the response.
func (s sender) mustSend(t *testing.T, m message, data any) {
	t.Helper()
	r, err := s.sendWithRetry(t.Context(), m)
	if err != nil || r.status >= 300 {
		t.Fatalf("%s %s = %v: %v", m.method, m.path, r, err)
	}
	if err := json.Unmarshal(r.body, &struct{ Data any }{data}); err != nil {
		t.Fatalf("%s %s = %v: %v", m.method, m.path, r, err)
	}
}

func (r reply) asksForRetry() bool {
	return r.status == http.StatusServiceUnavailable || r.code() == "IDEMPOTENCY_IN_PROGRESS"
}

// code returns the error code, or "" for a success.
func (r reply) code() string {
	var body struct{ Error struct{ Code string } }
	_ = json.Unmarshal(r.body, &body)
	return body.Error.Code
}

func (r reply) String() string { return fmt.Sprintf("%d %s", r.status, r.body) }

// mustMatchLedger requires that the stock of every product equals the sum of its warehouses and the end of its ledger,
// and that the ledger has no gaps.
func (p program) mustMatchLedger(t *testing.T) {
	t.Helper()
	p.mustSelect(t, nil, `
		with ledger as (
			select tenant_id, product_id, quantity_before, quantity_after,
			       lag(quantity_after, 1, 0) over product as previous,
			       lead(id) over product is null as is_last
			  from inventory_adjustments
			window product as (partition by tenant_id, product_id order by id)
		)
		select p.sku
		  from products p
		 where p.quantity <> (
		           select coalesce(sum(s.quantity), 0)
		             from stock s
		            where s.tenant_id = p.tenant_id and s.product_id = p.id)
		    or p.quantity <> coalesce((
		           select l.quantity_after
		             from ledger l
		            where l.tenant_id = p.tenant_id and l.product_id = p.id and l.is_last), 0)
		    or exists (
		           select from ledger l
		            where l.tenant_id = p.tenant_id and l.product_id = p.id and l.quantity_before <> l.previous)
		 order by p.sku`)
}

// mustSelect compares one column of text, read as a superuser.
func (p program) mustSelect(t *testing.T, want []string, sql string) {
	t.Helper()
	var got []string
	err := p.MustSuper(t).QueryRow(t.Context(), `select array(`+sql+`)`).Scan(&got)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	if len(want)+len(got) > 0 && !cmp.Equal(want, got) {
		t.Errorf("%s: (-want +got)\n%s", sql, cmp.Diff(want, got))
	}
}
