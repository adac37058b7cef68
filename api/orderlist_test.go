package api

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// listedOrders is the part of a list that the tests compare.
type listedOrders struct {
	Data []struct {
		Number    string
		UpdatedAt string `json:"updated_at"`
	}
	Meta cursorMeta
}

func (l listedOrders) numbers() (numbers []string) {
	for _, o := range l.Data {
		numbers = append(numbers, o.Number)
	}
	return numbers
}

func (a *testAPI) mustListOrders(t testing.TB, query string) listedOrders {
	t.Helper()
	return mustDecode[listedOrders](t, a.try(t, call{path: "/api/orders?" + query, wantStatus: 200}).body)
}

// mustManyOrders creates seven orders, some of which have the same time. Order b is cancelled, and e is refunded.
func (a *testAPI) mustManyOrders(t testing.TB) {
	t.Helper()
	for i, number := range strings.Split("g,a,f,b,e,c,d", ",") {
		a.try(t, call{
			method: "POST", path: "/api/orders", wantStatus: 201,
			body: fmt.Sprintf(`{"number":%q,"placed_at":"2026-03-0%dT09:30:00Z","channel":%q,"items":[{"sku":"x","quantity":1,
				"unit_price":"5.00"}],"customer":{"id":"C-%d","name":"Person %d Émile","email":"p%d@example.com"}}`,
				number, 1+i/2, []string{"pos", "web"}[i%2], i%3, i%3, i%3),
		})
	}
	a.try(t, call{method: "POST", path: "/api/orders/b/cancel", wantStatus: 200})
	a.try(t, call{method: "POST", path: "/api/orders/e/refunds", body: `{"amount":1}`, wantStatus: 201})
}

func TestCursorPagesOfOrdersEqualTheList(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustManyOrders(t)
	for _, query := range []string{
		"", "direction=asc", "sort=number", "sort=number&direction=desc", "sort=placed_at", "status=placed", "channel=web",
		"status=cancelled", "customer_id=C-1", "from=2026-03-02&to=2026-03-03&sort=number", "search=person&sort=number",
		"search=nothing", "updated_since=1970-01-01T00:00:00Z&direction=asc",
	} {
		want := a.mustListOrders(t, query+"&per_page=100")
		for _, perPage := range []int{1, 2, 3, 100} {
			var walked []string
			cursor := ""
			for steps := 0; ; steps++ {
				got := a.mustListOrders(t, fmt.Sprintf("%s&per_page=%d&cursor=%s", query, perPage, cursor))
				if got.Meta.PerPage != perPage || got.Meta.Total != int64(len(want.Data)) || len(got.Data) > perPage {
					t.Fatalf("?%s: meta = %+v of %d orders", query, got.Meta, len(got.Data))
				}
				walked = append(walked, got.numbers()...)
				if got.Meta.NextCursor == nil || steps > 10 {
					break
				}
				cursor = url.QueryEscape(*got.Meta.NextCursor)
			}
			if diff := cmp.Diff(want.numbers(), walked); diff != "" {
				t.Errorf("?%s by %d differs from the list:\n%s", query, perPage, diff)
			}
		}
	}
}

func TestCursorOfOrdersContinuesAfterTheLastOrder(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustManyOrders(t)
	first := a.mustListOrders(t, "sort=number&per_page=3&cursor=")
	a.try(t, call{method: "POST", path: "/api/orders", body: order("bb"), wantStatus: 201})
	a.try(t, call{method: "POST", path: "/api/orders", body: order("dd"), wantStatus: 201})
	rest := a.mustListOrders(t, "sort=number&cursor="+*first.Meta.NextCursor)
	if want := []string{"d", "dd", "e", "f", "g"}; !slices.Equal(rest.numbers(), want) {
		t.Errorf("the walk continues with %v, want %v", rest.numbers(), want)
	}
}

func TestCursorsOfAnotherListOfOrders(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustManyOrders(t)
	cursor := *a.mustListOrders(t, "sort=number&channel=pos&per_page=2&cursor=").Meta.NextCursor
	other := a.mustKey(t, a.MustTenant(t, "other", withLimit(1000)), "full")
	const same = "/api/orders?sort=number&channel=pos&cursor="
	a.try(t, call{path: same + cursor, wantStatus: 200})
	for _, c := range []call{
		{name: "another tenant's", path: same + cursor, key: other},
		{name: "another sort", path: "/api/orders?channel=pos&cursor=" + cursor},
		{name: "another filter", path: "/api/orders?sort=number&cursor=" + cursor},
		{name: "a key without customers", path: same + cursor, key: a.mustKey(t, a.tenant, "orders:read")},
		{name: "of products", path: "/api/products?cursor=" + cursor},
		{name: "made up", path: same + "abc"},
		{name: "a forged time", path: "/api/orders?cursor=" +
			sales.Filter{Order: paging.Order{Descending: true}, SearchCustomers: true}.Cursor(a.tenant.ID, paging.Position{Value: "now"})},
		{name: "a forged number", path: "/api/orders?sort=number&cursor=" +
			sales.Filter{Order: paging.Order{By: "number"}, SearchCustomers: true}.Cursor(a.tenant.ID, paging.Position{Value: "a\x00"})},
	} {
		c.wantStatus, c.wantCode, c.want = 400, InvalidParameter, []string{`"cursor":["must be a next_cursor of the same list"]`}
		a.try(t, c)
	}
	a.try(t, call{
		path: "/api/orders?cursor=&page=1", wantStatus: 400, wantCode: InvalidParameter,
		want: []string{`"details":{"page":["must not be given together with cursor"]}`},
	})
}

func TestUpdatedSinceFindsOrdersThatChanged(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustManyOrders(t)
	created := mustData(t, a.send(t, call{path: "/api/orders/d"}))["created_at"].(string)
	cancelled := mustData(t, a.send(t, call{path: "/api/orders/b"}))["updated_at"].(string)
	refunded := mustData(t, a.send(t, call{path: "/api/orders/e"}))["updated_at"].(string)
	after := mustTime(t, refunded).Add(1000).UTC().Format("2006-01-02T15:04:05.000000Z")
	for _, c := range []struct{ query, want string }{
		{"updated_since=" + created, "b,d,e"},
		{"updated_since=" + cancelled, "b,e"},
		{"updated_since=" + cancelled + "&status=cancelled", "b"},
		{"updated_since=" + created + "&search=d", "d"},
		{"updated_since=" + refunded, "e"},
		{"updated_since=" + after, ""},
		{"updated_since=1970-01-01T00:00:00Z", "a,b,c,d,e,f,g"},
	} {
		for _, walk := range []string{"", "&cursor="} {
			got := a.mustListOrders(t, "sort=number&"+c.query+walk)
			if strings.Join(got.numbers(), ",") != c.want || got.Meta.Total != int64(len(got.Data)) {
				t.Errorf("?%s%s = %v of %d, want %s", c.query, walk, got.numbers(), got.Meta.Total, c.want)
			}
		}
	}
	for _, time := range []string{"yesterday", "2026-03-01T09:30:00+01:00"} { // a + in a query is a space
		a.try(t, call{
			path: "/api/orders?updated_since=" + time, wantStatus: 400, wantCode: InvalidParameter,
			want: []string{`"details":{"updated_since":["must be an RFC 3339 time`, `+ is written as %2B`},
		})
	}
	a.try(t, call{path: "/api/orders?updated_since=2026-03-01T09:30:00%2B01:00", wantStatus: 200})
}

func TestOrdersAreFoundByNumberAndCustomer(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustManyOrders(t)
	for _, number := range []string{"SO-100", "SO-1000", "so-1", "50%_", "C-1"} {
		a.try(t, call{method: "POST", path: "/api/orders", body: order(number), wantStatus: 201})
	}
	withoutCustomers := a.mustKey(t, a.tenant, "orders:read")
	for _, c := range []struct{ search, want, wantWithoutCustomers string }{
		{"SO-10", "SO-100,SO-1000", "SO-100,SO-1000"},
		{"SO-1000", "SO-1000", "SO-1000"},
		{"O-10", "SO-100,SO-1000", "SO-100,SO-1000"},
		{"o-10", "", ""},
		{"so-1", "so-1", "so-1"},
		{"50%", "50%_", "50%_"},
		{"%", "50%_", "50%_"},
		{"_", "50%_", "50%_"},
		{"-1", "C-1,SO-100,SO-1000,so-1", "C-1,SO-100,SO-1000,so-1"},
		{"'", "", ""},
		{"C-1", "C-1,a,e", "C-1"}, // a number and the id of a customer
		{"person", "a,b,c,d,e,f,g", ""},
		{"PERSON 2", "c,f", ""},
		{"ÉMILE p1@example", "a,e", ""},
		{"emile p1@example", "a,e", ""},
		{"erson", "a,b,c,d,e,f,g", ""},
		{"so", "so-1", "so-1"}, // two letters are the start of a word, not a part of Person
		{"pe", "a,b,c,d,e,f,g", ""},
		{"person -", "", ""},
		{" SO-1000 ", "SO-1000", "SO-1000"},
		{" ", "50%_,C-1,SO-100,SO-1000,a,b,c,d,e,f,g,so-1", "50%_,C-1,SO-100,SO-1000,a,b,c,d,e,f,g,so-1"},
	} {
		for key, want := range map[string]string{"": c.want, withoutCustomers: c.wantWithoutCustomers} {
			got := a.send(t, call{path: "/api/orders?sort=number&search=" + url.QueryEscape(c.search), key: key})
			if got.StatusCode != http.StatusOK {
				t.Fatalf("search=%s = %d %s", c.search, got.StatusCode, got.body)
			}
			list := mustDecode[listedOrders](t, got.body)
			if strings.Join(list.numbers(), ",") != want || list.Meta.Total != int64(len(list.Data)) {
				t.Errorf("search=%s with key %q = %v of %d, want %s", c.search, key, list.numbers(), list.Meta.Total, want)
			}
		}
	}
	other := a.mustKey(t, a.MustTenant(t, "other", withLimit(1000)), "full")
	a.try(t, call{path: "/api/orders?search=person", key: other, wantStatus: 200, want: []string{`"total":0`}})
}
