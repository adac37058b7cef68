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

// revokedWithin is what a revocation is promised to take, on every instance.
const revokedWithin = 2 * time.Second

// Three instances share one PostgreSQL and one Redis, and are one service: what one of
// them learns holds on all.
func TestThreeInstancesAreOneService(t *testing.T) {
	h := newHouse(t)
	instances := h.startInstances(t, 3)

	t.Run("A limit over all three is exact", func(t *testing.T) {
		mustAdmit(t, h.tenant(t, "limited", 500), 500, instances)
	})

	k := h.tenant(t, "acme", 1_000_000)
	owner := h.signIn(t, instances[0], "acme")

	t.Run("A key that is made through one works on all at once, and what one revokes all refuse within 2 s", func(t *testing.T) {
		id, secret := owner.makeKey(t)
		// The other two, and the one that made it: none has ever heard of the key.
		for _, i := range []int{1, 2, 0} {
			if status := newClient(t, instances[i].base, secret, false).status(t.Context()); status != http.StatusOK {
				t.Errorf("instance %d answers %d to a key that was just made, want 200", i, status)
			}
		}
		mustRefuse(t, instances, secret, func() { owner.revoke(t, id) })
	})

	t.Run("What the command line revokes all refuse within 2 s", func(t *testing.T) {
		made := h.key(t, "acme")
		mustRefuse(t, instances, made.Key, func() { h.run(t, "", nil, "key", "revoke", "--tenant", "acme", "--id", fmt.Sprint(made.ID)) })
	})

	t.Run("Twins of one Idempotency-Key on different instances are executed once", func(t *testing.T) {
		const pairs = 200
		shared := stall(t, newClient(t, instances[0].base, k.Key, false))
		var clients []client
		for _, i := range instances {
			clients = append(clients, newClient(t, i.base, k.Key, false))
		}
		path := fmt.Sprintf("/api/products/%d/inventory/adjust", shared[0])
		var replayed atomic.Int64
		for n := range pairs {
			once := fmt.Sprintf("twin-%d", n)
			var twins [2]answer
			var both sync.WaitGroup
			for place := range twins {
				both.Go(func() {
					twins[place] = clients[(n+place)%3].insist(t, path, once, map[string]any{"type": "add", "quantity": 1, "notes": once})
					if twins[place].header.Get("Idempotent-Replayed") == "true" {
						replayed.Add(1)
					}
				})
			}
			both.Wait()
			if string(twins[0].body) != string(twins[1].body) || !twins[0].success() {
				t.Fatalf("%s = %v and %v, want the same success", once, twins[0], twins[1])
			}
		}
		if replayed.Load() != pairs {
			t.Errorf("%d answers were replayed, want one of each of %d pairs", replayed.Load(), pairs)
		}
		var stored struct{ Quantity int }
		clients[2].must(t, "GET", fmt.Sprintf("/api/products/%d", shared[0]), nil, &stored)
		if stored.Quantity != pairs {
			t.Errorf("the stock is %d, want %d: one for each pair", stored.Quantity, pairs)
		}
		h.run(t, "", nil, "verify", "--tenant", "acme")
	})
}

// insist sends a keyed request until the server does not ask to come back.
func (c client) insist(t *testing.T, path, once string, body any) answer {
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		a, err := c.send(t.Context(), "POST", path, once, body)
		if err != nil {
			t.Errorf("%s: %v", once, err)
		}
		if err != nil || !a.asksToComeBack() || time.Now().After(end) {
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
	const clients, refusals = 4, 50 // of each instance; of each client
	var admitted, other atomic.Int64
	var all sync.WaitGroup
	for n := range clients * len(instances) {
		c := newClient(t, instances[n%len(instances)].base, k.Key, false)
		all.Go(func() {
			for refused := 0; refused < refusals && other.Load() == 0; {
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
	begun := time.Now()
	all.Wait()
	if took := time.Since(begun); took > 40*time.Second {
		t.Errorf("the requests took %v: the first may have left the window", took)
	}
	if other.Load() != 0 {
		t.Errorf("%d responses were neither 200 nor 429", other.Load())
	}
	return admitted.Load()
}

// mustRefuse wants every instance to accept a key, and to refuse it soon after revoke.
func mustRefuse(t *testing.T, instances []*instance, secret string, revoke func()) {
	t.Helper()
	var clients []client
	for _, i := range instances {
		clients = append(clients, newClient(t, i.base, secret, false))
	}
	for n, c := range clients { // and keep it in mind
		if status := c.status(t.Context()); status != http.StatusOK {
			t.Fatalf("instance %d answers %d, want 200 before the key is revoked", n, status)
		}
	}
	revoke()
	revoked := time.Now()
	for n, c := range clients {
		await(t, 10*time.Second, fmt.Sprintf("instance %d to refuse a revoked key", n), func() bool { return c.status(t.Context()) == http.StatusUnauthorized })
		if took := time.Since(revoked); took > revokedWithin {
			t.Errorf("instance %d refuses after %v, want %v at most", n, took, revokedWithin)
		}
	}
	t.Logf("refused by all after %v", time.Since(revoked).Round(time.Millisecond))
}

// visitor is somebody signed in to the pages of one instance.
type visitor struct {
	http *http.Client
	base string // of the pages of the tenant
}

// signIn makes an owner of a tenant and signs them in.
func (h *house) signIn(t *testing.T, at *instance, slug string) visitor {
	t.Helper()
	const email, secret = "owner@example.com", "correct horse battery staple"
	h.run(t, secret+"\n", nil, "user", "create", "--tenant", slug, "--email", email, "--role", "owner", "--password-stdin")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	v := visitor{&http.Client{Jar: jar, Timeout: patience}, at.base + "/settings/t/" + slug}
	v.do(t, at.base+"/settings/sign-in", url.Values{"email": {email}, "password": {secret}})
	return v
}

// do opens a page, or sends a form where there is one, and wants a success.
func (v visitor) do(t *testing.T, address string, form url.Values) string {
	t.Helper()
	var response *http.Response
	var err error
	if form == nil {
		response, err = v.http.Get(address)
	} else {
		response, err = v.http.PostForm(address, form)
	}
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

// makeKey makes a key on the page for it and returns its number and its value.
func (v visitor) makeKey(t *testing.T) (id, secret string) {
	t.Helper()
	request := hiddenRequest.FindStringSubmatch(v.do(t, v.base+"/keys/new", nil))
	if request == nil {
		t.Fatal("the page of a new key has no form")
	}
	before := v.do(t, v.base+"/keys", nil)
	made := v.do(t, v.base+"/keys", url.Values{"name": {"Till"}, "preset": {"full"}, "lifetime": {"90"}, "request": {request[1]}})
	for _, link := range revokeLink.FindAllStringSubmatch(v.do(t, v.base+"/keys", nil), -1) {
		if !strings.Contains(before, link[0]) {
			return link[1], shownKey.FindString(made)
		}
	}
	t.Fatal("the list shows no new key")
	return "", ""
}

func (v visitor) revoke(t *testing.T, id string) {
	t.Helper()
	v.do(t, v.base+"/keys/"+id+"/revoke", url.Values{})
}
