//go:build ops

package ops

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// revocationTimeout is the guaranteed time for a revocation to reach every instance.
const revocationTimeout = 2 * time.Second

// Three instances with one PostgreSQL and one Redis behave like one: limits, keys and idempotency keys apply to all.
func TestThreeInstancesAreOneService(t *testing.T) {
	h := newService(t)
	instances := h.startInstances(t, 3)

	t.Run("A limit is exact over all instances", func(t *testing.T) {
		mustAdmit(t, h.tenant(t, "limited", 500), 500, instances)
	})

	k := h.tenant(t, "acme", 1_000_000)
	owner := h.signIn(t, instances[0], "acme")

	t.Run("All instances accept a new key immediately, and refuse it within 2 s after its revocation", func(t *testing.T) {
		id, secret := owner.createKey(t)
		// First the instances that did not create the key.
		for _, i := range []int{1, 2, 0} {
			if status := newClient(t, instances[i].base, secret, false).status(t.Context()); status != http.StatusOK {
				t.Errorf("instance %d returned %d for a new key, want 200", i, status)
			}
		}
		mustRefuse(t, instances, secret, func() { owner.revoke(t, id) })
	})

	t.Run("All instances refuse a key within 2 s after its revocation on the command line", func(t *testing.T) {
		made := h.key(t, "acme")
		mustRefuse(
			t, instances, made.Key,
			func() { h.run(t, "", nil, "key", "revoke", "--tenant", "acme", "--id", fmt.Sprint(made.ID)) })
	})

	t.Run("Concurrent requests with one Idempotency-Key on different instances are executed once", func(t *testing.T) {
		const pairs = 200
		shared := mustProducts(t, newClient(t, instances[0].base, k.Key, false))
		var clients []client
		for _, i := range instances {
			clients = append(clients, newClient(t, i.base, k.Key, false))
		}
		path := fmt.Sprintf("/api/products/%d/inventory/adjust", shared[0])
		var replayed atomic.Int64
		for n := range pairs {
			once := fmt.Sprintf("pair-%d", n)
			var responses [2]reply
			var both sync.WaitGroup
			for place := range responses {
				both.Go(func() {
					responses[place] = clients[(n+place)%3].sendWithRetry(
						t, path, once, map[string]any{"type": "add", "quantity": 1, "notes": once})
					if responses[place].header.Get("Idempotent-Replayed") == "true" {
						replayed.Add(1)
					}
				})
			}
			both.Wait()
			if string(responses[0].body) != string(responses[1].body) || !responses[0].success() {
				t.Fatalf("%s = %v and %v, want the same success", once, responses[0], responses[1])
			}
		}
		if replayed.Load() != pairs {
			t.Errorf("%d responses were replayed, want one of each of %d pairs", replayed.Load(), pairs)
		}
		var stored struct{ Quantity int }
		clients[2].must(t, "GET", fmt.Sprintf("/api/products/%d", shared[0]), nil, &stored)
		if stored.Quantity != pairs {
			t.Errorf("the stock is %d, want %d, one per pair", stored.Quantity, pairs)
		}
		h.run(t, "", nil, "verify", "--tenant", "acme")
	})
}

// sendWithRetry repeats a request with an idempotency key while the server asks for a retry.
func (c client) sendWithRetry(t *testing.T, path, once string, body any) reply {
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		a, err := c.send(t.Context(), "POST", path, once, body)
		if err != nil {
			t.Errorf("%s: %v", once, err)
		}
		if err != nil || !a.asksForRetry() || time.Now().After(end) {
			return a
		}
	}
}

// mustAdmit fails unless the instances admit exactly a number of a tenant's requests.
func mustAdmit(t *testing.T, k key, want int64, instances []*instance) {
	t.Helper()
	if got := admit(t, k, instances); got != want {
		t.Errorf("%d requests were admitted, want exactly %d", got, want)
	}
}

// admit sends the instances far more of a tenant's requests than its limit, until each
// client was refused often. It returns how many were admitted and fails if a response
// is neither 200 nor 429.
func admit(t *testing.T, k key, instances []*instance) int64 {
	t.Helper()
	const (
		clients      = 4                // per instance
		refusals     = 50               // per client
		admitTimeout = 40 * time.Second // less than the window
	)
	var admitted, other atomic.Int64
	var all sync.WaitGroup
	begun := time.Now()
	for n := range clients * len(instances) {
		c := newClient(t, instances[n%len(instances)].base, k.Key, false)
		all.Go(func() {
			for refused := 0; refused < refusals && other.Load() == 0 && time.Since(begun) < admitTimeout; {
				switch c.status(t.Context()) {
				case http.StatusOK:
					admitted.Add(1)
				case http.StatusTooManyRequests:
					refused++
				default:
					other.Add(1)
				}
			}
		})
	}
	all.Wait()
	if took := time.Since(begun); took >= admitTimeout {
		t.Errorf("the requests took %v, so the first may have left the window", took)
	}
	if other.Load() != 0 {
		t.Errorf("%d responses were neither 200 nor 429", other.Load())
	}
	return admitted.Load()
}

// mustRefuse requires every instance to accept a key, and to refuse it within revocationTimeout after revoke.
func mustRefuse(t *testing.T, instances []*instance, secret string, revoke func()) {
	t.Helper()
	var clients []client
	for _, i := range instances {
		clients = append(clients, newClient(t, i.base, secret, false))
	}
	for n, c := range clients { // also caches the key
		if status := c.status(t.Context()); status != http.StatusOK {
			t.Fatalf("instance %d returned %d, want 200 before the revocation", n, status)
		}
	}
	revoke()
	revoked := time.Now()
	for n, c := range clients {
		await(t, 10*time.Second, fmt.Sprintf("instance %d to refuse a revoked key", n), func() bool {
			return c.status(t.Context()) == http.StatusUnauthorized
		})
		if took := time.Since(revoked); took > revocationTimeout {
			t.Errorf("instance %d refused the key after %v, want at most %v", n, took, revocationTimeout)
		}
	}
	t.Logf("all instances refused the key after %v", time.Since(revoked).Round(time.Millisecond))
}

// browser is a signed-in user of the pages of one instance.
type browser struct {
	http *http.Client
	base string // URL of the pages of the tenant
}

// signIn creates an owner of a tenant and signs in.
func (h *service) signIn(t *testing.T, at *instance, slug string) browser {
	t.Helper()
	const email, secret = "owner@example.com", "correct horse battery staple"
	h.run(t, secret+"\n", nil, "user", "create", "--tenant", slug, "--email", email, "--role", "owner",
		"--password-stdin")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	v := browser{&http.Client{Jar: jar, Timeout: requestTimeout}, at.base + "/settings/t/" + slug}
	v.do(t, at.base+"/settings/sign-in", url.Values{"email": {email}, "password": {secret}})
	return v
}

// do sends a form, or requests a page if form is nil, and requires success.
func (v browser) do(t *testing.T, address string, form url.Values) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		r.Method = http.MethodPost
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	response, err := v.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %v %s", address, response.StatusCode, err, body)
	}
	return string(body)
}

var (
	hiddenRequest = regexp.MustCompile(`name="request" value="(\w+)"`)
	shownKey      = regexp.MustCompile(`sk_live_\w{20,}`)
	revokeLink    = regexp.MustCompile(`/keys/(\d+)/revoke`)
)

// createKey creates a key on the page and returns its id and the key.
func (v browser) createKey(t *testing.T) (id, secret string) {
	t.Helper()
	request := hiddenRequest.FindStringSubmatch(v.do(t, v.base+"/keys/new", nil))
	if request == nil {
		t.Fatal("the page has no form")
	}
	before := v.do(t, v.base+"/keys", nil)
	made := v.do(
		t, v.base+"/keys", url.Values{"name": {"Till"}, "preset": {"full"}, "lifetime": {"90"}, "request": {request[1]}})
	for _, link := range revokeLink.FindAllStringSubmatch(v.do(t, v.base+"/keys", nil), -1) {
		if !strings.Contains(before, link[0]) {
			return link[1], shownKey.FindString(made)
		}
	}
	t.Fatal("the list does not contain the new key")
	return "", ""
}

func (v browser) revoke(t *testing.T, id string) {
	t.Helper()
	v.do(t, v.base+"/keys/"+id+"/revoke", url.Values{})
}
