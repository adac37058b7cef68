//go:build !fuzz

package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/pb33f/libopenapi-validator/schema_validation"
	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/storeroom/storeroom/tenancy/jobs"
	"github.com/storeroom/storeroom/tenancy/tenants"
	"github.com/storeroom/storeroom/tenancy/webhooks"
)

// hookReceiver is an endpoint that verifies messages with the library of the specification.
type hookReceiver struct {
	*httptest.Server
	mu       sync.Mutex
	verifier *standard.Webhook
	status   int
	messages []map[string]any
}

func newHookReceiver(t *testing.T) *hookReceiver {
	t.Helper()
	h := &hookReceiver{status: 200}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		var message map[string]any
		if err := json.Unmarshal(body, &message); err != nil {
			t.Errorf("message %s: %v", body, err)
		}
		if h.verifier != nil {
			if err := h.verifier.Verify(body, r.Header); err != nil {
				t.Errorf("Verify: %v", err)
			}
		}
		checkMessage(t, message)
		h.messages = append(h.messages, message)
		w.WriteHeader(h.status)
		_, _ = io.WriteString(w, "thanks")
	}))
	t.Cleanup(h.Close)
	return h
}

// checkMessage compares a message with the section webhooks of the document.
func checkMessage(t *testing.T, message map[string]any) {
	t.Helper()
	c := mustContract(t)
	c.mu.Lock()
	defer c.mu.Unlock()
	operation := c.model.Webhooks.GetOrZero("changes").Post
	schema := operation.RequestBody.Content.GetOrZero("application/json").Schema.Schema()
	if valid, problems := schema_validation.NewSchemaValidator().ValidateSchemaObject(schema, message); !valid {
		for _, p := range problems {
			t.Errorf("message: %s %s %v", p.Message, p.Reason, p.SchemaValidationErrors)
		}
	}
}

func (h *hookReceiver) setSecret(t *testing.T, secret string) {
	t.Helper()
	verifier, err := standard.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.verifier = verifier
}

// entries returns the entries that the receiver has, as "type id".
func (h *hookReceiver) entries() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []string
	for _, m := range h.messages {
		for _, entry := range m["data"].([]any) {
			e := entry.(map[string]any)
			all = append(all, fmt.Sprint(e["type"], " ", e["id"]))
		}
	}
	return strings.Join(all, "\n")
}

func (a *testAPI) mustWebhook(t *testing.T, body string) (path, secret string) {
	t.Helper()
	created := a.try(t, call{method: "POST", path: "/api/webhooks", body: body, wantStatus: 201})
	data := mustData(t, created)
	return fmt.Sprintf("/api/webhooks/%v", data["id"]), data["secret"].(string)
}

// startWebhooks delivers until the test ends.
func (a *testAPI) startWebhooks(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	stop := jobs.Start(ctx, logger, a.server.Webhooks.Worker(a.server.EncodeChanges))
	t.Cleanup(func() {
		cancel()
		_ = stop(context.Background())
	})
}

func TestWebhooksDeliverChanges(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	h := newHookReceiver(t)
	path, secret := a.mustWebhook(t, fmt.Sprintf(`{"url":%q,"types":["order","product"],"description":"Shop"}`, h.URL))
	h.setSecret(t, secret)
	a.startWebhooks(t)
	a.mustID(t, "/api/sellers", `{"name":"Acme"}`)
	product := a.mustID(t, "/api/products", `{"sku":"k1","name":"Kettle","price":"9.50","quantity":3}`)
	a.mustSend(t, 201, "POST", "/api/orders", `{"number":"A1","placed_at":"2026-03-01T10:00:00Z","channel":"web",
		"customer":{"id":"c1","name":"Ann"},"items":[{"sku":"k1","quantity":1,"unit_price":"8.00"}]}`)
	want := "product " + product + "\norder A1"
	poll(t, "the changes arrive", func() bool { return h.entries() == want })
	t.Run("with the object, without names of customers", func(t *testing.T) {
		h.mu.Lock()
		defer h.mu.Unlock()
		text, err := json.Marshal(h.messages)
		if err != nil || !strings.Contains(string(text), `"sku":"k1"`) || strings.Contains(string(text), "Ann") {
			t.Errorf("messages: %s", text)
		}
	})
	t.Run("a rotated secret overlaps", func(t *testing.T) {
		rotated := mustData(t, a.try(t, call{method: "POST", path: path + "/rotate", wantStatus: 200}))
		if rotated["secret"] == secret || rotated["previous_secret_expires_at"] == nil {
			t.Fatalf("rotated: %v", rotated)
		}
		for _, valid := range []string{secret, rotated["secret"].(string)} {
			h.setSecret(t, valid)
			a.try(t, call{method: "POST", path: path + "/test", wantStatus: 200, want: []string{
				`"succeeded":true`, `"status":200`, `"response":"thanks"`, `"type":"test"`,
			}})
		}
	})
	t.Run("deliveries", func(t *testing.T) {
		var page struct {
			Data []struct{ ID int64 }
			Meta struct {
				NextBefore *string `json:"next_before"`
			}
		}
		got := a.try(t, call{path: path + "/deliveries?limit=1", wantStatus: 200})
		if err := json.Unmarshal(got.body, &page); err != nil || len(page.Data) != 1 || page.Meta.NextBefore == nil {
			t.Fatalf("%s: %v", got.body, err)
		}
		a.try(t, call{path: path + "/deliveries?limit=100&before=" + *page.Meta.NextBefore, wantStatus: 200, want: []string{
			`"type":"changes"`, `"next_before":null`,
		}})
	})
	t.Run("replay", func(t *testing.T) {
		a.try(t, call{method: "POST", path: path + "/replay", body: `{"after":""}`, wantStatus: 200})
		poll(t, "the changes arrive again", func() bool { return h.entries() == want+"\n"+want })
	})
	t.Run("pause", func(t *testing.T) {
		paused := mustData(t, a.try(t, call{method: "PATCH", path: path, body: `{"state":"paused"}`, wantStatus: 200}))
		if paused["pause_reason"] != "user" {
			t.Errorf("paused: %v", paused)
		}
		a.try(t, call{method: "PATCH", path: path, body: `{"state":"active"}`, wantStatus: 200, want: []string{`"pause_reason":null`}})
	})
	a.try(t, call{method: "DELETE", path: path, wantStatus: 204})
	a.try(t, call{path: path, wantStatus: 404})
}

func TestWebhookRequests(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path, secret := a.mustWebhook(t, `{"url":"https://shop.example.com/hook"}`)
	if got := a.send(t, call{path: path}); strings.Contains(string(got.body), secret) {
		t.Errorf("GET shows the secret: %s", got.body)
	}
	other := a.MustTenant(t, "other", withLimit(1_000_000))
	foreign := a.mustKey(t, other, "full")
	products := a.mustKey(t, a.tenant, "products:read,webhooks:write")
	reader := a.mustKey(t, a.tenant, "webhooks:read")
	hook := `{"url":"https://shop.example.com/hook"`
	a.tryAll(t, []call{
		{name: "list", path: "/api/webhooks", wantStatus: 200, want: []string{`"total":1`, `"batch_size":100`, `"customer"`}},
		{name: "list of a reader", path: "/api/webhooks", key: reader, wantStatus: 200},
		{name: "a reader creates", method: "POST", path: "/api/webhooks", body: hook + `}`, key: reader, wantStatus: 403},
		{
			name: "types of a key", method: "POST", path: "/api/webhooks", body: hook + `}`, key: products, wantStatus: 201,
			want: []string{`"types":["product","stock","category","seller","warehouse"]`},
		},
		{
			name: "a type that the key may not read", method: "POST", path: "/api/webhooks", body: hook + `,"types":["order"]}`,
			key: products, wantStatus: 403, wantCode: InsufficientPermissions,
		},
		{
			name: "another URL of types that the key may not read", method: "PATCH", path: path,
			body: `{"url":"https://evil.example.com"}`, key: products, wantStatus: 403, wantCode: InsufficientPermissions,
		},
		{name: "a pause by that key", method: "PATCH", path: path, body: `{"state":"paused"}`, key: products, wantStatus: 200},
		{name: "no URL", method: "POST", path: "/api/webhooks", body: `{}`, wantStatus: 422, want: []string{"is required"}},
		{name: "a private URL", method: "POST", path: "/api/webhooks", body: `{"url":"https://10.0.0.1"}`, wantStatus: 422},
		{name: "no types", method: "POST", path: "/api/webhooks", body: hook + `,"types":[]}`, wantStatus: 422},
		{name: "an unknown type", method: "POST", path: "/api/webhooks", body: hook + `,"types":["x"]}`, wantStatus: 422},
		{name: "a large batch", method: "POST", path: "/api/webhooks", body: hook + `,"batch_size":101}`, wantStatus: 422},
		{name: "an unknown field", method: "POST", path: "/api/webhooks", body: hook + `,"secret":"x"}`, wantStatus: 422},
		{name: "a null", method: "PATCH", path: path, body: `{"url":null}`, wantStatus: 422},
		{name: "an invalid state", method: "PATCH", path: path, body: `{"state":"gone"}`, wantStatus: 422},
		{name: "an invalid cursor", method: "POST", path: path + "/replay", body: `{"after":"x"}`, wantStatus: 422},
		{name: "of another tenant", path: path, key: foreign, wantStatus: 404},
		{name: "test of another tenant", method: "POST", path: path + "/test", key: foreign, wantStatus: 404},
		{name: "replay of another tenant", method: "POST", path: path + "/replay", body: `{"after":""}`, key: foreign, wantStatus: 404},
		{name: "deliveries of another tenant", path: path + "/deliveries", key: foreign, wantStatus: 404},
		{name: "a delete by another tenant", method: "DELETE", path: path, key: foreign, wantStatus: 404},
	})
	entries, _, err := tenants.AuditLog(t.Context(), a.DB, a.tenant.ID, "webhook.", 1, 10)
	if err != nil || len(entries) < 3 || entries[len(entries)-1].Action != "webhook.create" {
		t.Errorf("audit log: %+v, %v", entries, err)
	}
}

// Pictures and deliveries count, until they are deleted.
func TestQuotasCountPicturesAndDeliveries(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	product := a.mustProduct(t, bulkItem("A", 10))
	before := a.mustQuota(t).Storage
	image := a.mustUpload(t, product, aJPEG())
	if grown := a.mustQuota(t).Storage - before; grown < int64(len(aJPEG()))/10 {
		t.Errorf("a picture of %d bytes counts as %d", len(aJPEG()), grown)
	}
	h := newHookReceiver(t)
	h.status = http.StatusInternalServerError // only the response to a failed attempt is kept
	path, secret := a.mustWebhook(t, fmt.Sprintf(`{"url":%q,"types":["seller"]}`, h.URL))
	h.setSecret(t, secret)
	a.startWebhooks(t)
	before = a.mustQuota(t).Storage
	a.mustID(t, "/api/sellers", `{"name":"Acme"}`)
	poll(t, "a delivery counts", func() bool { return a.mustQuota(t).Storage >= before+int64(len("thanks")) })
	a.mustEqualARecount(t)
	if err := webhooks.EraseResponses(t.Context(), a.DB, a.tenant.ID); err != nil {
		t.Fatal(err)
	}
	a.mustEqualARecount(t)
	a.try(t, call{method: "DELETE", path: path, wantStatus: 204})
	a.try(t, call{method: "DELETE", path: fmt.Sprintf("/api/products/%d/images/%d", product, image.ID), wantStatus: 204})
	a.mustEqualARecount(t)
}
