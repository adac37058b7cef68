//go:build !fuzz

package api

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/tenancy"
)

// The maker widens the types of a webhook and sets its URL, while a narrower key sends its messages elsewhere.
func TestANarrowKeyLosesEveryRaceForAWebhook(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	narrow := a.mustKey(t, a.tenant, "products:read,webhooks:write")
	path, _ := a.mustWebhook(t, `{"url":"https://shop.example.com/hook","types":["product"]}`)
	const good, evil = "https://shop.example.com/hook", "https://evil.example.com/hook"
	for round := range 40 {
		a.try(t, call{method: "PATCH", path: path, wantStatus: 200, body: fmt.Sprintf(`{"url":%q,"types":["product"]}`, good)})
		var both sync.WaitGroup
		var replies []string
		both.Go(func() {
			for range 50 {
				got := a.send(t, call{method: "PATCH", path: path, key: narrow, body: fmt.Sprintf(`{"url":%q}`, evil)})
				replies = append(replies, string(got.body))
				if got.StatusCode != 200 {
					return
				}
			}
		})
		both.Go(func() {
			a.try(t, call{
				method: "PATCH", path: path, wantStatus: 200, body: fmt.Sprintf(`{"url":%q,"types":["product","customer"]}`, good),
			})
		})
		both.Wait()
		a.try(t, call{path: path, wantStatus: 200, want: []string{good, `"customer"`}})
		for _, got := range replies {
			if strings.Contains(got, `"customer"`) {
				t.Fatalf("round %d: the narrow key changed a webhook with customers: %s", round, got)
			}
		}
	}
}

func TestOnlyAKeyThatReadsAllTypesChangesAWebhook(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	h := newHookReceiver(t)
	narrow := a.mustKey(t, a.tenant, "products:read,webhooks:write")
	path, _ := a.mustWebhook(t, fmt.Sprintf(`{"url":%q,"types":["product","order"]}`, h.URL))
	refused := func(name, method, path, body string) call {
		return call{
			name: name, method: method, path: path, body: body, key: narrow, wantStatus: 403,
			wantCode: InsufficientPermissions, want: []string{"orders:read"},
		}
	}
	a.tryAll(t, []call{
		refused("url", "PATCH", path, `{"url":"https://evil.example.com"}`),
		refused("fewer types", "PATCH", path, `{"types":["product"]}`),
		refused("other types", "PATCH", path, `{"types":["product","refund"]}`),
		refused("description", "PATCH", path, `{"description":"x"}`),
		refused("batch size", "PATCH", path, `{"batch_size":1}`),
		refused("nothing", "PATCH", path, `{}`),
		refused("a pause with more", "PATCH", path, `{"state":"paused","batch_size":1}`),
		refused("rotate", "POST", path+"/rotate", ""),
		refused("replay", "POST", path+"/replay", `{"after":""}`),
		refused("test", "POST", path+"/test", ""),
		{name: "pause", method: "PATCH", path: path, body: `{"state":"paused"}`, key: narrow, wantStatus: 200},
		refused("resume", "PATCH", path, `{"state":"active"}`),
	})
	if len(h.messages) > 0 {
		t.Errorf("the receiver got %v", h.messages)
	}
	t.Run("nor gets the secret of an earlier rotation", func(t *testing.T) {
		again := http.Header{"Idempotency-Key": {"rotate-1"}}
		a.try(t, call{method: "POST", path: path + "/rotate", header: again, wantStatus: 200, want: []string{"whsec_"}})
		got := a.try(t, call{method: "POST", path: path + "/rotate", key: narrow, header: again, wantStatus: 422})
		if strings.Contains(string(got.body), "whsec_") {
			t.Errorf("the response has the secret: %s", got.body)
		}
	})
	a.try(t, call{method: "DELETE", path: path, key: narrow, wantStatus: 204})
}

// hook creates a webhook with a key, and returns its path.
func (a *testAPI) hook(t *testing.T, key string) string {
	t.Helper()
	created := a.try(t, call{
		method: "POST", path: "/api/webhooks", key: key, body: `{"url":"https://shop.example.com","types":["seller"]}`,
		wantStatus: 201,
	})
	return fmt.Sprintf("/api/webhooks/%v", mustData(t, created)["id"])
}

func TestAWebhookDoesNotOutliveTheKeyThatMadeIt(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	const permissions = "products:read,webhooks:write"
	ctx, gone := t.Context(), []string{`"state":"paused"`, `"pause_reason":"maker_gone"`}
	key, secret := a.mustNewKey(t, a.tenant, permissions)
	by := func(k keys.Key) string {
		return fmt.Sprintf(`"created_by":{"type":"key","id":%d,"name":%q}`, k.ID, k.Name)
	}
	t.Run("revoked", func(t *testing.T) {
		path := a.hook(t, secret)
		a.try(t, call{path: path, wantStatus: 200, want: []string{by(key), `"state":"active"`}})
		if err := a.keys.Revoke(ctx, a.tenant.ID, tenancy.Operator, key.ID); err != nil {
			t.Fatal(err)
		}
		a.try(t, call{path: path, wantStatus: 200, want: append(gone, by(key))})
		resumed := a.try(t, call{method: "PATCH", path: path, body: `{"state":"active"}`, wantStatus: 200})
		if maker := mustData(t, resumed)["created_by"].(map[string]any); maker["name"] != "test full" {
			t.Errorf("the maker after a resume is %v, want the key that resumed it", maker)
		}
	})
	t.Run("revoked, but kept", func(t *testing.T) {
		key, secret := a.mustNewKey(t, a.tenant, permissions)
		path := a.hook(t, secret)
		if err := a.keys.RevokeAndKeep(ctx, a.tenant.ID, tenancy.Operator, key.ID); err != nil {
			t.Fatal(err)
		}
		a.try(t, call{path: path, wantStatus: 200, want: []string{`"state":"active"`, `"created_by":null`}})
	})
	t.Run("rolled", func(t *testing.T) {
		key, secret := a.mustNewKey(t, a.tenant, permissions)
		path := a.hook(t, secret)
		successor, _, err := a.keys.Roll(ctx, a.tenant.ID, tenancy.Operator, key.ID, keys.Overlaps[1])
		if err != nil {
			t.Fatal(err)
		}
		later := a.hook(t, secret) // by the old key, which is still active
		if err := a.keys.Revoke(ctx, a.tenant.ID, tenancy.Operator, key.ID); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{path, later} {
			a.try(t, call{path: path, wantStatus: 200, want: []string{`"state":"active"`, by(successor)}})
		}
		if _, _, err := a.keys.Roll(ctx, a.tenant.ID, tenancy.Operator, successor.ID, 0); err != nil {
			t.Fatal(err)
		}
		a.try(t, call{path: path, wantStatus: 200, want: []string{`"state":"active"`}})
	})
	t.Run("expired", func(t *testing.T) {
		_, secret := a.mustNewKey(t, a.tenant, permissions)
		path := a.hook(t, secret)
		a.execAtTenant(t, `update webhooks set maker_expires_at = now() where id = $1`, path[len("/api/webhooks/"):])
		a.startWebhooks(t)
		poll(t, "the webhook is paused", func() bool {
			return strings.Contains(string(a.send(t, call{path: path}).body), gone[1])
		})
	})
	t.Run("expired while it was paused", func(t *testing.T) {
		_, secret := a.mustNewKey(t, a.tenant, permissions)
		path, replayed := a.hook(t, secret), a.hook(t, secret)
		id, replayedID := path[len("/api/webhooks/"):], replayed[len("/api/webhooks/"):]
		a.try(t, call{method: "PATCH", path: path, body: `{"state":"paused"}`, wantStatus: 200})
		a.execAtTenant(t, `
			update webhooks
			   set maker_expires_at = now(), state = 'paused', paused_at = now(),
			       pause_reason = case id when $2 then 'expired' else pause_reason end
			 where id in ($1, $2)`, id, replayedID)
		resumed := a.try(t, call{method: "PATCH", path: path, body: `{"state":"active"}`, wantStatus: 200})
		if maker := mustData(t, resumed)["created_by"].(map[string]any); maker["name"] != "test full" {
			t.Errorf("the maker after a resume is %v, want the key that resumed it", maker)
		}
		a.try(t, call{method: "POST", path: replayed + "/replay", body: `{"after":"now"}`, wantStatus: 200, want: gone})
	})
	t.Run("of an earlier release", func(t *testing.T) {
		path := a.hook(t, a.mustKey(t, a.tenant, permissions))
		a.execAtTenant(t, `update webhooks set maker_type = null, maker_id = null, maker_name = null where id = $1`,
			path[len("/api/webhooks/"):])
		a.try(t, call{path: path, wantStatus: 200, want: []string{`"created_by":null`, `"state":"active"`}})
	})
}

// A key that is revoked while it makes a webhook leaves no active one.
func TestARevocationFindsAWebhookThatIsBeingMade(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for range 20 {
		key, secret := a.mustNewKey(t, a.tenant, "products:read,webhooks:write")
		var both sync.WaitGroup
		var created reply
		both.Go(func() {
			created = a.send(t, call{
				method: "POST", path: "/api/webhooks", key: secret, body: `{"url":"https://shop.example.com","types":["seller"]}`,
			})
		})
		both.Go(func() {
			if err := a.keys.Revoke(t.Context(), a.tenant.ID, tenancy.Operator, key.ID); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		switch created.StatusCode {
		case 201:
			path := fmt.Sprintf("/api/webhooks/%v", mustData(t, created)["id"])
			a.try(t, call{path: path, wantStatus: 200, want: []string{`"pause_reason":"maker_gone"`}})
			a.try(t, call{method: "DELETE", path: path, wantStatus: 204})
		case 401:
		default:
			t.Errorf("POST = %d: %s", created.StatusCode, created.body)
		}
	}
}
