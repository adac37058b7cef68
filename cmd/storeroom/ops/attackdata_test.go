package ops

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// tenant is a tenant with a key and, if its user has signed in, the cookie of the session.
type tenant struct{ Slug, Key, Cookie string }

// noTenants returns no tenants: the clients of the attack have no key.
func noTenants(*Target) []tenant { return nil }

// fresh creates tenants with a plan.
func fresh(plan string, count int) func(*Target) []tenant {
	return func(t *Target) []tenant { t.Helper(); return t.newTenants(plan, count) }
}

// newTenants creates tenants with a plan. The limit of enterprise tenants is never reached.
func (t *Target) newTenants(plan string, count int) (all []tenant) {
	t.Helper()
	for range count {
		t.count++
		slug := fmt.Sprintf("tenant-%d", t.count)
		args := []string{"tenant", "create", "--slug", slug, "--name", slug, "--plan", plan}
		if plan == "enterprise" {
			args = append(args, "--rate-limit", "1000000")
		}
		t.must("", args...)
		all = append(all, tenant{Slug: slug, Key: t.newKey(slug)})
	}
	return all
}

func (t *Target) newKey(slug string) string {
	t.Helper()
	var made struct{ Key string }
	created := t.must("", "key", "create", "--tenant", slug, "--name", "Test", "--scopes", "full")
	if err := json.Unmarshal(created, &made); err != nil {
		t.Fatal(err)
	}
	return made.Key
}

// signIn creates an owner of a tenant and returns the cookie of a session.
func (t *Target) signIn(client *http.Client, slug string) (cookie string) {
	t.Helper()
	const password = "correct horse battery staple"
	email := fmt.Sprintf("owner-%s@%s.example", strings.ToLower(rand.Text()), slug)
	t.must(password+"\n", "user", "create", "--tenant", slug, "--email", email, "--role", "owner", "--password-stdin")
	form := url.Values{"email": {email}, "password": {password}}.Encode()
	r := newRequest(t.Context(), t.Address, "", "POST", "/settings/sign-in", form)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusSeeOther || len(response.Cookies()) == 0 {
		t.Fatalf("sign-in = %d", response.StatusCode)
	}
	session := response.Cookies()[0]
	return session.Name + "=" + session.Value
}

// members returns a seller with a user who has signed in.
func members(t *Target) []tenant {
	t.Helper()
	one := sellers(1)(t)[0]
	client := &http.Client{CheckRedirect: stopRedirect}
	one.Cookie = t.signIn(client, one.Slug)
	return []tenant{one}
}

// sellers returns tenants with 20,000 products and 100,000 items in 20 years. PostgreSQL has their statistics.
func sellers(count int) func(*Target) []tenant {
	return func(t *Target) []tenant {
		t.Helper()
		if missing := count - len(t.sellers); missing > 0 {
			made := t.newTenants("enterprise", missing)
			const part = 1000
			for first := 0; first < 20_000/t.Divisor; first += part {
				body := productsBody(first, part, 2500)
				each(made, func(_ int, one tenant) { t.mustPost(one, "/api/products/bulk", body) })
				if first == 0 {
					t.SQL("analyze")
				}
			}
			each(made, func(_ int, one tenant) { t.sell(one) })
			t.sellers = append(t.sellers, made...)
			t.SQL("analyze")
		}
		return t.sellers[:count]
	}
}

// newcomers returns two new tenants with 100,000 items in 20 years. PostgreSQL has statistics, but not theirs.
func newcomers(t *Target) []tenant {
	t.Helper()
	sellers(2)(t)
	made := t.newTenants("enterprise", 2)
	each(made, func(_ int, one tenant) { t.sell(one) })
	return made
}

// sell creates 100,000 items of 20,000 products.
func (t *Target) sell(one tenant) {
	t.Helper()
	const part = 500
	for first := 0; first < 2000/t.Divisor; first += part {
		s := shape{orders: min(part, 2000/t.Divisor), items: 50, skus: 20_000 / t.Divisor, days: 7000}
		t.mustPost(one, "/api/orders/bulk", ordersBody(s, first))
	}
}

// authors returns tenants with 100 products whose descriptions have 60,000 characters.
func authors(count int) func(*Target) []tenant {
	return func(t *Target) []tenant {
		t.Helper()
		if missing := count - len(t.authors); missing > 0 {
			made := t.newTenants("enterprise", missing)
			body := productsBody(0, 100, 60_000)
			each(made, func(_ int, one tenant) { t.mustPost(one, "/api/products/bulk", body) })
			t.authors = append(t.authors, made...)
			t.SQL("analyze")
		}
		return t.authors[:count]
	}
}

// productsBody returns the body of a bulk request. The descriptions have this number of characters.
func productsBody(first, count, description int) string {
	var b strings.Builder
	text, name := strings.Repeat("Long text. ", description/11+1)[:description], strings.Repeat("long name ", 24)
	for n := range count {
		fmt.Fprintf(&b, `,{"sku": "P-%d", "name": "Lamp %s%d", "price": %d, "cost": 1, "quantity": 9, "description": "%s"}`,
			first+n, name, first+n, 2+n%90, text)
	}
	return `{"items": [` + b.String()[1:] + `]}`
}

// shape describes the orders of a bulk request.
type shape struct{ orders, items, skus, days int }

// ordersBody returns the body of a bulk request, with orders from this number on, spread over days until yesterday.
func ordersBody(s shape, first int) string {
	var b strings.Builder
	for n := first; n < first+s.orders; n++ {
		placed := time.Now().UTC().AddDate(0, 0, -1-n*7919%s.days).Format(time.DateOnly)
		fmt.Fprintf(&b, `,{"number": "O-%d", "placed_at": "%sT12:00:00Z", "channel": "web", "customer": {"id": "C-%d"},
			"items": [`, n, placed, n)
		for i := range s.items {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"sku": "P-%d", "quantity": 1, "unit_price": 5}`, (n*s.items+i)%s.skus)
		}
		b.WriteString("]}")
	}
	return `{"orders": [` + b.String()[1:] + `]}`
}

// mustPost sends a bulk request, and repeats it while the server asks for that.
func (t *Target) mustPost(one tenant, path, body string) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		response, err := http.DefaultClient.Do(newRequest(t.Context(), t.Address, one.Key, "POST", path, body))
		if err != nil {
			t.Error(err)
			return
		}
		answer, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return
		}
		if response.StatusCode != http.StatusServiceUnavailable || time.Now().After(end) {
			t.Errorf("POST %s = %d %.300s", path, response.StatusCode, answer)
			return
		}
	}
}

const productsPath = "/api/products?per_page=50"

// products returns the ids in the list that a request for productsPath returns.
func products(client *http.Client, r *http.Request) (ids []int64, err error) {
	response, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var list struct{ Data []struct{ ID int64 } }
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil || len(list.Data) == 0 {
		return nil, fmt.Errorf("list of products: %d %w", response.StatusCode, err)
	}
	for _, p := range list.Data {
		ids = append(ids, p.ID)
	}
	return ids, nil
}
