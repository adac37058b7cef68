package browser

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/storeroom/storeroom/tenancy/people"
)

func TestAWebhookInTheBrowser(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var verifier atomic.Pointer[standard.Webhook]
	var status, accepted atomic.Int64
	status.Store(200)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if v := verifier.Load(); v == nil || v.Verify(body, r.Header) != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.WriteHeader(int(status.Load()))
		_, _ = io.WriteString(w, "<b>thanks</b>")
		accepted.Add(1)
	}))
	defer receiver.Close()
	b := s.newTab(t)
	b.signIn(s.mustPerson(t, "ann", people.Admin))
	b.mustOpen(s.page("webhooks"))
	b.wantText("No webhooks yet")
	b.check("webhooks-empty")
	b.press("Add webhook")
	b.check("webhook-new")
	b.fill("URL", "https://10.0.0.1")
	b.press("Add webhook")
	b.wantText("The URL must have a public address.")
	b.check("webhook-invalid")
	b.fill("URL", receiver.URL)
	b.fill("Description (optional)", "The shop")
	b.press("Add webhook")
	b.wantText("Copy the secret now")
	secret := b.text("#secret")
	v, err := standard.NewWebhook(secret)
	if err != nil || !strings.HasPrefix(secret, "whsec_") {
		t.Fatalf("secret %q: %v", secret, err)
	}
	verifier.Store(v)
	b.check("webhook-secret")
	b.press("Done")
	b.wantText("Active", "No deliveries in the last 30 days.")
	if strings.Contains(b.html(), secret) {
		t.Error("the secret is shown again")
	}
	b.press("Send test message")
	b.wantText("The test succeeded. The server answered 200", "Test")
	status.Store(410)
	b.press("Send test message")
	b.wantText("The test failed. The server answered 410")
	b.check("webhook")
	page := strings.TrimSuffix(b.path(), "/test")
	b.press("Pause")
	b.wantText("This webhook is paused.", "A member or an API key paused it.")
	b.press("Resume")
	b.wantText("Active")
	s.exec(t, `insert into sellers (tenant_id, name) values ($1, 'Acme')`, s.tenant.ID)
	for begin := time.Now(); !strings.Contains(b.text("main"), "The server answered 410 (Gone)"); b.mustOpen(page) {
		if time.Since(begin) > 4*time.Minute {
			t.Fatalf("the webhook is not paused after 410: %s", b.text("main"))
		}
		time.Sleep(200 * time.Millisecond)
	}
	b.check("webhook-paused")
	b.mustOpen(s.page("webhooks"))
	b.wantText("is paused.", "The server answered 410 (Gone)", "Paused")
	b.check("webhooks")

	status.Store(200)
	before := accepted.Load()
	b.mustOpen(page)
	b.press("Resume")
	b.do(chromedp.Click(`//main//input[@name="from"][@value="after"]`, chromedp.NodeVisible))
	b.press("Replay")
	b.wantText("Enter the position after which to continue.")
	if from := evaluate[string](b, `document.querySelector("input[name=from]:checked").value`); from != "after" {
		t.Errorf("the form with the error has selected %q", from)
	}
	b.check("webhook-no-position")
	b.mustOpen(page)
	b.press("Replay")
	for begin := time.Now(); accepted.Load() == before; time.Sleep(50 * time.Millisecond) {
		if time.Since(begin) > 4*time.Minute {
			t.Fatal("nothing is replayed")
		}
	}
	b.mustOpen(page)
	b.fill("Most entries in a message", "7")
	b.press("Save")
	if size := evaluate[string](b, `document.getElementById("batch_size").value`); size != "7" {
		t.Errorf("the number of entries is %s, want 7", size)
	}
	b.press("Rotate secret")
	b.wantText("Secret rotated", "For 24 hours messages are also signed with the old secret.")
	if rotated := b.text("#secret"); rotated == secret || !strings.HasPrefix(rotated, "whsec_") {
		t.Errorf("the new secret is %q", rotated)
	}
	b.press("Done")
	b.press("Delete…")
	b.check("webhook-delete")
	b.press("Delete webhook")
	b.wantText("No webhooks yet")
}
