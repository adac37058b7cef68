package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sender talks to one server with one API key.
type sender struct {
	client    *http.Client
	base, key string
}

// newSender returns a sender whose connections end with the test.
func newSender(t *testing.T, base, key string) sender {
	t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 32
	t.Cleanup(transport.CloseIdleConnections)
	return sender{&http.Client{Transport: transport}, base, key}
}

// message is one request. Without a once it carries no Idempotency-Key.
type message struct {
	method, path string
	once         string
	body         any
}

// reply is an answer that arrived whole.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// send sends a message once. An error means that nobody knows what became of it.
func (s sender) send(ctx context.Context, m message) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
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
	if m.once != "" {
		r.Header.Set("Idempotency-Key", m.once)
	}
	response, err := s.client.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	return reply{response.StatusCode, response.Header, all}, err
}

// insist sends a message that may be repeated until the server does not ask to
// come again.
func (s sender) insist(ctx context.Context, m message) (reply, error) {
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		r, err := s.send(ctx, m)
		if err != nil || !r.again() || time.Now().After(end) {
			return r, err
		}
	}
}

// mustSend wants a success and reads its data.
func (s sender) mustSend(t *testing.T, m message, data any) {
	t.Helper()
	r, err := s.insist(t.Context(), m)
	if err != nil || r.status >= 300 {
		t.Fatalf("%s %s = %v: %v", m.method, m.path, r, err)
	}
	if err := json.Unmarshal(r.body, &struct{ Data any }{data}); err != nil {
		t.Fatalf("%s %s = %v: %v", m.method, m.path, r, err)
	}
}

// again says whether the server asks the client to come back with the same.
func (r reply) again() bool {
	return r.status == http.StatusServiceUnavailable || r.code() == "IDEMPOTENCY_IN_PROGRESS"
}

// code is that of a refusal, or "".
func (r reply) code() string {
	var refusal struct{ Error struct{ Code string } }
	_ = json.Unmarshal(r.body, &refusal) // whatever is no refusal has no code
	return refusal.Error.Code
}

func (r reply) String() string { return fmt.Sprintf("%d %s", r.status, r.body) }

// mustTieOut fails unless every product has the stock that its warehouses hold
// and that its ledger, read from the beginning, comes to.
func (p program) mustTieOut(t *testing.T) {
	t.Helper()
	p.mustSelect(t, nil, `
		with ledger as (
			select tenant_id, product_id, quantity_before, quantity_after,
			       lag(quantity_after, 1, 0) over product as follows,
			       lead(id) over product is null as is_last
			  from inventory_adjustments
			window product as (partition by tenant_id, product_id order by id)
		)
		select p.sku from products p
		 where p.quantity <> (select coalesce(sum(s.quantity), 0) from stock s where s.tenant_id = p.tenant_id and s.product_id = p.id)
		    or p.quantity <> coalesce((select l.quantity_after from ledger l where l.tenant_id = p.tenant_id and l.product_id = p.id and l.is_last), 0)
		    or exists (select from ledger l where l.tenant_id = p.tenant_id and l.product_id = p.id and l.quantity_before <> l.follows)
		 order by p.sku`)
}

// mustSelect wants one column of text, looked up behind the policies.
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
