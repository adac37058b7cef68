package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/feed"
)

// changesPage is a response of GET /api/changes.
type changesPage struct {
	Data []struct {
		Seq, Type, ID, Action string
		APIKey                *named `json:"api_key"`
		Changed               []string
		Data                  map[string]any
	}
	Meta changesMeta
}

// list returns the entries as "type id action changed", with " null" if there is no object.
func (p changesPage) list() string {
	var lines []string
	for _, e := range p.Data {
		line := strings.TrimRight(fmt.Sprintf("%s %s %s %s", e.Type, e.ID, e.Action, strings.Join(e.Changed, ",")), " ")
		if e.Data == nil {
			line += " null"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// mustChanges reads a page. Transactions of other tests on the server can delay the feed, so it waits for the number of
// entries.
func (a *testAPI) mustChanges(t *testing.T, query string, entries int) changesPage {
	t.Helper()
	var page changesPage
	poll(t, fmt.Sprintf("%d entries of %s", entries, query), func() bool {
		got := a.send(t, call{path: "/api/changes?" + query})
		page = changesPage{}
		if err := json.Unmarshal(got.body, &page); err != nil || got.StatusCode != http.StatusOK {
			t.Fatalf("GET changes = %d %s", got.StatusCode, got.body)
		}
		return len(page.Data) >= entries
	})
	return page
}

// mustCursor returns the cursor after the warehouse and the channel of a new tenant.
func (a *testAPI) mustCursor(t *testing.T) string {
	t.Helper()
	return "after=" + url.QueryEscape(a.mustChanges(t, "", 2).Meta.NextCursor)
}

// mustID sends a request and returns the id of the object.
func (a *testAPI) mustID(t *testing.T, path, body string) string {
	t.Helper()
	got := a.send(t, call{method: "POST", path: path, body: body})
	var one struct{ Data struct{ ID int64 } }
	if err := json.Unmarshal(got.body, &one); err != nil || got.StatusCode != http.StatusCreated {
		t.Fatalf("POST %s = %d %s", path, got.StatusCode, got.body)
	}
	return fmt.Sprint(one.Data.ID)
}

func (a *testAPI) mustSend(t *testing.T, status int, method, path, body string) {
	t.Helper()
	if got := a.send(t, call{method: method, path: path, body: body}); got.StatusCode != status {
		t.Fatalf("%s %s = %d %s", method, path, got.StatusCode, got.body)
	}
}

func TestChangesOfEveryResource(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	after := a.mustCursor(t)
	category := a.mustID(t, "/api/categories", `{"name":"Pots"}`)
	seller := a.mustID(t, "/api/sellers", `{"name":"Acme"}`)
	warehouse := a.mustID(t, "/api/warehouses", `{"name":"North"}`)
	product := a.mustID(t, "/api/products", `{"sku":"k1","name":"Kettle","price":"9.50","quantity":3}`)
	a.mustSend(t, 200, "PATCH", "/api/products/"+product, `{"price":"8.00","tags":["new"],"category_id":`+category+`}`)
	a.mustSend(t, 200, "POST", "/api/products/"+product+"/inventory/adjust", `{"type":"add","quantity":2}`)
	a.mustSend(t, 200, "PATCH", "/api/categories/"+category, `{"name":"Kettles"}`)
	a.mustSend(t, 201, "POST", "/api/orders", `{"number":"A/1","placed_at":"2026-03-01T10:00:00Z","channel":"web",
		"customer":{"id":"c1","name":"Ann"},"items":[{"sku":"k1","quantity":1,"unit_price":"8.00"}]}`)
	a.mustSend(t, 200, "PATCH", "/api/channels/web", `{"warehouse_id":`+warehouse+`}`)
	a.mustSend(t, 201, "POST", "/api/orders/A%2F1/refunds", `{"amount":"1.00"}`)
	a.mustSend(t, 200, "POST", "/api/orders/A%2F1/cancel", ``)
	a.mustSend(t, 204, "DELETE", "/api/customers/c1", ``)
	a.mustSend(t, 204, "DELETE", "/api/products/"+product, ``)
	a.mustSend(t, 204, "DELETE", "/api/sellers/"+seller, ``)
	page := a.mustChanges(t, after, 20)
	var refund string
	for _, e := range page.Data {
		if e.Type == "refund" {
			refund = e.ID
		}
		if e.APIKey == nil || e.APIKey.Name != "test full" {
			t.Errorf("%s %s has the key %v, want test full", e.Type, e.ID, e.APIKey)
		}
	}
	want := strings.NewReplacer("CATEGORY", "category "+category, "SELLER", "seller "+seller,
		"WAREHOUSE", "warehouse "+warehouse, "PRODUCT", "product "+product, "STOCK", "stock "+product, "REFUND", "refund "+refund).Replace(`CATEGORY created
SELLER created null
WAREHOUSE created
PRODUCT created null
STOCK created null
PRODUCT updated price,category,tags,updated_at null
PRODUCT updated quantity,updated_at null
STOCK updated quantity,warehouses null
CATEGORY updated name,updated_at
channel web created
customer c1 created
order A/1 created
channel web updated updated_at,warehouse
REFUND created
order A/1 updated items,refunded_total,refunds,updated_at
order A/1 updated cancelled_at,status,updated_at
customer c1 updated name,erased_at
PRODUCT deleted null
STOCK deleted null
SELLER deleted null`)
	if got := page.list(); got != want {
		t.Errorf("changes:\n%s\nwant:\n%s", got, want)
	}
	if order := page.Data[11].Data; order["status"] != "cancelled" || order["refunded_total"] != "1.00" {
		t.Errorf("the data of the first entry of the order is %v, want the order as it is now", order)
	}
	t.Run("pages have every entry once", func(t *testing.T) {
		for _, limit := range []int{1, 2, 7, 19} {
			var got []string
			for at := after; ; {
				page := a.mustChanges(t, at+fmt.Sprint("&limit=", limit), 0)
				if len(page.Data) > limit {
					t.Fatalf("%d entries with the limit %d", len(page.Data), limit)
				}
				if len(page.Data) > 0 {
					got = append(got, page.list())
					if last := page.Data[len(page.Data)-1].Seq; last != page.Meta.NextCursor {
						t.Errorf("next_cursor = %q, want the last seq %q", page.Meta.NextCursor, last)
					}
				} else if !page.Meta.HasMore {
					break
				}
				at = "after=" + page.Meta.NextCursor
			}
			if got := strings.Join(got, "\n"); got != want {
				t.Errorf("limit=%d:\n%s\nwant:\n%s", limit, got, want)
			}
		}
	})
	t.Run("types select entries", func(t *testing.T) {
		got := a.mustChanges(t, after+"&types=stock,seller&limit=2", 2)
		if want := "seller " + seller + " created null\nstock " + product + " created null"; got.list() != want {
			t.Errorf("got %s, want %s", got.list(), want)
		}
		if rest := a.mustChanges(t, "after="+got.Meta.NextCursor+"&types=stock,seller", 3); len(rest.Data) != 3 {
			t.Errorf("the second page is %s, want 3 entries", rest.list())
		}
	})
}

// A transaction that begins first and commits last is in the feed of a reader that has read later ones.
func TestChangesOfATransactionThatCommitsLateAreNotLost(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	after := a.mustCursor(t)
	insert := `insert into categories (tenant_id, name) values ($1, $2)`
	late, err := a.DB.Begin(t.Context(), a.tenant.ID, func(b *pgx.Batch) { b.Queue(insert, a.tenant.ID, "late") })
	if err != nil {
		t.Fatal(err)
	}
	a.mustID(t, "/api/categories", `{"name":"early"}`)
	held := a.mustChanges(t, after, 0)
	if len(held.Data) > 0 || held.Meta.HasMore {
		t.Errorf("while an older transaction is running, the feed has %s", held.list())
	}
	if err := late.Commit(t.Context(), func(*pgx.Batch) {}); err != nil {
		t.Fatal(err)
	}
	page := a.mustChanges(t, "after="+url.QueryEscape(held.Meta.NextCursor), 2)
	if page.Data[0].Data["name"] != "late" || page.Data[1].Data["name"] != "early" {
		t.Errorf("changes:\n%s\nwant those of both transactions", page.list())
	}
}

func TestChangesNeedThePermissionOfTheirType(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustID(t, "/api/categories", `{"name":"Pots"}`)
	orders := a.mustKey(t, a.tenant, "orders:read")
	for _, c := range []call{
		{name: "a type of another permission", path: "types=order,product", key: orders, wantCode: InsufficientPermissions},
		{name: "no type", key: a.mustKey(t, a.tenant, "usage:read"), wantCode: InsufficientPermissions},
		{name: "an unknown type", path: "types=order,thing", wantCode: InvalidParameter, want: []string{`"types"`}},
		{name: "an invalid cursor", path: "after=tomorrow", wantCode: InvalidParameter, want: []string{`"after"`}},
		{name: "limits", path: "limit=1001&wait=26", wantCode: InvalidParameter, want: []string{`"limit"`, `"wait"`}},
	} {
		c.path, c.wantStatus = "/api/changes?"+c.path, codes[c.wantCode].status
		a.try(t, c)
	}
	got := a.send(t, call{path: "/api/changes", key: orders})
	body := string(got.body)
	if got.StatusCode != 200 || strings.Contains(body, `"type":"category"`) || strings.Contains(body, `"type":"warehouse"`) {
		t.Errorf("without types = %d %s, want only channels, orders and refunds", got.StatusCode, body)
	}
	other := a.MustTenant(t, "other", withLimit(1000))
	a.try(t, call{
		name: "the cursor of another tenant", path: "/api/changes?" + a.mustCursor(t), key: a.mustKey(t, other, "full"),
		wantStatus: 400, wantCode: InvalidParameter,
	})
}

func TestAnExpiredCursor(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	after := a.mustCursor(t)
	a.mustID(t, "/api/categories", `{"name":"Pots"}`)
	known := "after=" + a.mustChanges(t, after, 1).Meta.NextCursor
	ok := call{path: "/api/changes?" + known, wantStatus: 200}
	expired := call{path: "/api/changes?" + known, wantStatus: 410, wantCode: CursorExpired}
	a.try(t, ok)

	// A dump is restored into a server with lower transaction ids.
	a.exec(t, `update changes set xid = xid + 1000000000 where tenant_id = $1`, a.tenant.ID)
	a.try(t, expired)
	known = "after=" + a.mustChanges(t, "types=category", 0).Meta.NextCursor
	ok.path, expired.path = "/api/changes?"+known, "/api/changes?"+known
	quiet := call{path: "/api/changes?after=" + a.mustChanges(t, "after=now", 0).Meta.NextCursor, wantStatus: 200}
	a.try(t, quiet)
	// A standby is promoted.
	a.exec(t, `update feed_epochs set timeline = 'none', started_at = '2026-01-01' where tenant_id = $1`, a.tenant.ID)
	quiet.wantStatus, quiet.wantCode = 410, CursorExpired
	a.try(t, quiet)
	page := a.mustChanges(t, "types=category", 1)
	a.mustID(t, "/api/categories", `{"name":"Pans"}`)
	next := a.mustChanges(t, "after="+page.Meta.NextCursor+"&types=category", 1)
	if len(next.Data) != 1 || next.Data[0].Data["name"] != "Pans" {
		t.Errorf("after the restore the feed continues with %s, want the new category", next.list())
	}
	known = "after=" + next.Meta.NextCursor
	ok.path, expired.path = "/api/changes?"+known, "/api/changes?"+known
	a.try(t, ok)
	a.server.Feed = feed.New(a.DB, time.Nanosecond)
	a.try(t, expired)
	a.server.Feed = feed.New(a.DB, feed.MinRetention)
	a.exec(t, `
		update feed_epochs
		   set epoch = epoch + 1000
		 where tenant_id = $1 and epoch = (select max(epoch) from changes)`, a.tenant.ID)
	a.try(t, expired)
}

func TestWaitingForAChange(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	go a.server.Feed.PollPeriodically(t.Context(), a.server.Logger)
	after := a.mustCursor(t)
	began := time.Now()
	if page := a.mustChanges(t, after+"&wait=1", 0); len(page.Data) > 0 || time.Since(began) < time.Second {
		t.Errorf("wait=1 returned after %v with %s, want nothing after 1 s", time.Since(began), page.list())
	}
	waited := make(chan changesPage)
	go func() {
		got := a.send(t, call{path: "/api/changes?" + after + "&wait=25&types=category"})
		var page changesPage
		_ = json.Unmarshal(got.body, &page)
		waited <- page
	}()
	poll(t, "the client waits", func() bool { return a.server.Feed.Waiting() == 1 })
	a.mustID(t, "/api/sellers", `{"name":"Acme"}`) // of another type
	a.mustID(t, "/api/categories", `{"name":"Pots"}`)
	if page := <-waited; !strings.HasPrefix(page.list(), "category ") {
		t.Errorf("the waiting client got %q, want the category", page.list())
	}
	go func() {
		a.send(t, call{path: "/api/changes?after=now&wait=25"})
		waited <- changesPage{}
	}()
	poll(t, "the client waits", func() bool { return a.server.Feed.Waiting() == 1 })
	a.server.Feed.StopWaiting()
	select {
	case <-waited:
	case <-time.After(15 * time.Second): // less than the wait
		t.Error("a waiting client keeps the server from shutting down")
	}
}

func TestARevokedKeyThatWaitsGetsNoChange(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	go a.server.Feed.PollPeriodically(t.Context(), a.server.Logger)
	key, secret := a.mustNewKey(t, a.tenant, "full")
	after := a.mustCursor(t)
	waited := make(chan reply)
	go func() { waited <- a.send(t, call{path: "/api/changes?" + after + "&wait=25", key: secret}) }()
	poll(t, "the client waits", func() bool { return a.server.Feed.Waiting() == 1 })
	if err := a.keys.Revoke(t.Context(), a.tenant.ID, tenancy.Operator, key.ID); err != nil {
		t.Fatal(err)
	}
	poll(t, "the key is refused", func() bool { return a.send(t, call{path: "/api/me", key: secret}).StatusCode == 401 })
	a.mustID(t, "/api/categories", `{"name":"Pots"}`)
	if got := <-waited; got.StatusCode != 401 || strings.Contains(string(got.body), "Pots") {
		t.Errorf("the revoked key got %d: %s, want 401", got.StatusCode, got.body)
	}
}

// A message ends before an object that cannot be read in time, so that the others are delivered.
func TestAMessageEndsBeforeASlowObject(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustID(t, "/api/sellers", `{"name":"Acme"}`)
	product := a.mustID(t, "/api/products", `{"sku":"k1","name":"Kettle","price":"9.50","quantity":3}`)
	entries := []feed.Entry{
		{Type: "product", ID: product, Action: feed.Created}, {Type: "seller", ID: "1", Action: feed.Created},
		{Type: "product", ID: product, Action: feed.Created},
	}
	lock, err := a.MustSuperAt(t, a.tenant.ID).Begin(t.Context())
	if err == nil {
		_, err = lock.Exec(t.Context(), `lock table products in access exclusive mode`)
	}
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := a.server.EncodeChanges(short, a.tenant.ID, true, entries); err == nil {
		t.Error("a message without an object is no error")
	}
	second, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	texts, err := a.server.EncodeChanges(second, a.tenant.ID, true, entries[1:])
	if err != nil || len(texts) != 1 {
		t.Errorf("a message with a slow object has %d entries, %v; want that before it", len(texts), err)
	}
}
