package ops

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	// pause is the time between two requests of one of the other tenants.
	pause = 500 * time.Millisecond
	// timeout is how long the other tenants wait for a response.
	timeout = 10 * time.Second
)

// Others are the tenants that an attack must not affect.
type Others struct {
	all     []*other
	without []time.Duration // what their last requests without an attack took
}

// other is a tenant with a key and a user who is signed in. Its requests come from its own address.
type other struct {
	tenant

	client   *http.Client
	uncached [2]string // keys that are used less often than every 11 s, so that each use is looked up
	products []int64
	sent     int // requests so far
}

// Traffic is the result of steady traffic.
type Traffic struct {
	Requests int
	Failures []string
	Slowest  []string
	P99      time.Duration

	took []time.Duration
}

// shown is how many of the slowest requests, and of the failures, are shown.
const shown = 10

func stopRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// NewOthers creates tenants with products and orders, and signs in a user of each.
func NewOthers(t *Target, count int) *Others {
	t.Helper()
	o := &Others{}
	for n, made := range t.newTenants("professional", count) {
		one := &other{tenant: made, client: &http.Client{
			Transport:     newTransport(fmt.Sprintf("127.0.1.%d", n+1), 100),
			CheckRedirect: stopRedirect,
		}}
		t.Cleanup(one.client.CloseIdleConnections)
		one.fill(t)
		one.sent = len(o.all) // tenants send different requests at a time
		one.Cookie = t.signIn(one.client, one.Slug)
		for n := range one.uncached {
			one.uncached[n] = t.newKey(one.Slug)
		}
		o.all = append(o.all, one)
	}
	return o
}

// fill creates products and orders.
func (o *other) fill(t *Target) {
	t.Helper()
	const count, orders = 50, 200
	t.mustPost(o.tenant, "/api/products/bulk", productsBody(0, count, 100))
	t.mustPost(o.tenant, "/api/orders/bulk", ordersBody(shape{orders: orders, items: 2, skus: count, days: 28}, 0))
	var err error
	list := newRequest(t.Context(), t.Address, o.Key, "GET", productsPath, "")
	if o.products, err = products(o.client, list); err != nil {
		t.Fatal(err)
	}
}

// steps is the number of different requests that a tenant sends in turn.
const steps = 13

// next returns the next request of the tenant. Pages have no key.
func (o *other) next() (key, method, path, body string) {
	n := o.sent
	o.sent++
	product := fmt.Sprintf("/api/products/%d", o.products[n%len(o.products)])
	today := time.Now().UTC().Format(time.DateOnly)
	switch n % steps {
	case 0:
		return o.Key, "GET", product, ""
	case 1:
		return o.Key, "GET", "/api/products?per_page=25", ""
	case 2:
		return o.Key, "GET", "/api/products?search=lamp&status=active&sort=price", ""
	case 3:
		return o.Key, "POST", "/api/products", fmt.Sprintf(`{"sku": "NEW-%s-%d", "name": "New", "price": 3}`, o.Slug, n)
	case 4:
		return o.Key, "PATCH", product, fmt.Sprintf(`{"price": %d}`, n)
	case 5:
		return o.Key, "POST", product + "/inventory/adjust", `{"type": "add", "quantity": 1}`
	case 6:
		return o.Key, "POST", "/api/orders", fmt.Sprintf(`{"number": "NEW-%d", "placed_at": "%sT00:00:00Z", "channel": "web",
			"items": [{"sku": "P-1", "quantity": 1, "unit_price": 5}]}`, n, today)
	case 7:
		from := time.Now().UTC().AddDate(0, 0, -27).Format(time.DateOnly)
		return o.Key, "GET", "/api/reports/sales-summary?from=" + from + "&to=" + today, ""
	case 8:
		return o.Key, "GET", "/api/products/export", ""
	case 9:
		return o.Key, "POST", "/api/products/bulk", productsBody(0, 20, n%100)
	case 10:
		return o.uncached[n/steps%2], "GET", "/api/me", ""
	case 11:
		return "", "GET", "/settings/t/" + o.Slug + "/keys", ""
	}
	return "", "GET", "/settings/sign-in", ""
}

// send sends a request and reads the response.
func (o *other) send(t *Target, key, method, path, body string) (status int, response []byte, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	r := newRequest(ctx, t.Address, key, method, path, body)
	if key == "" {
		r.Header.Set("Cookie", o.Cookie)
	}
	answer, err := o.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	response, err = io.ReadAll(answer.Body)
	return answer.StatusCode, response, err
}

// warmUp sends each kind of request from many clients at a time, so that the measured ones find open connections with
// prepared statements, as in a service that has run for some time.
func (o *Others) warmUp(t *Target) {
	t.Helper()
	clients, requests := max(1, 3/t.Divisor), max(1, 4/t.Divisor)*steps // of each tenant
	var all sync.WaitGroup
	for _, one := range o.all {
		var mu sync.Mutex
		for range clients {
			all.Go(func() {
				for range requests {
					mu.Lock()
					key, method, path, body := one.next()
					mu.Unlock()
					if status, response, err := one.send(t, key, method, path, body); err != nil || status >= 300 {
						t.Errorf("before the attack, %s %s = %d %.200s, %v", method, path, status, response, err)
					}
				}
			})
		}
	}
	all.Wait()
}

// run sends requests at a steady rate, whether or not earlier ones have been answered, and waits for all responses.
func (o *Others) run(t *Target, duration time.Duration) (result Traffic) {
	type sample struct {
		took        time.Duration
		description string
	}
	var mu sync.Mutex
	var samples []sample
	var all sync.WaitGroup
	begun := time.Now()
	every := pause / time.Duration(len(o.all))
	for n := range int(duration / every) {
		time.Sleep(time.Until(begun.Add(time.Duration(n) * every)))
		one := o.all[n%len(o.all)]
		key, method, path, body := one.next()
		all.Go(func() {
			sent := time.Now()
			status, response, err := one.send(t, key, method, path, body)
			took := time.Since(sent)
			mu.Lock()
			defer mu.Unlock()
			s := sample{took, fmt.Sprintf("after %.1f s, %s %s of %s took %v: %d",
				sent.Sub(begun).Seconds(), method, path, one.Slug, took.Round(time.Millisecond), status)}
			samples = append(samples, s)
			if err != nil || status >= 300 {
				result.Failures = append(result.Failures, fmt.Sprintf("%s %.100q %v", s.description, response, err))
			}
		})
	}
	all.Wait()
	slices.SortFunc(samples, func(a, b sample) int { return cmp.Compare(a.took, b.took) })
	for _, s := range samples {
		result.took = append(result.took, s.took)
	}
	result.Requests, result.P99 = len(samples), p99(result.took)
	for _, s := range samples[max(0, len(samples)-shown):] {
		result.Slowest = append(result.Slowest, s.description)
	}
	return result
}

// p99 returns the 99th percentile.
func p99(took []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(took))[len(took)*99/100]
}
