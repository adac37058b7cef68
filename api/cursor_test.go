package api

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// listedProducts is the part of a list that the tests compare.
type listedProducts struct {
	Data []struct {
		SKU       string
		UpdatedAt string `json:"updated_at"`
	}
	Meta cursorMeta
}

func (l listedProducts) skus() (skus []string) {
	for _, p := range l.Data {
		skus = append(skus, p.SKU)
	}
	return skus
}

func (a *testAPI) mustList(t testing.TB, query string) listedProducts {
	t.Helper()
	return mustDecode[listedProducts](t, a.try(t, call{path: "/api/products?" + query, wantStatus: 200}).body)
}

// mustManyProducts adds seven products, some of which share a name or a price.
func (a *testAPI) mustManyProducts(t testing.TB) {
	t.Helper()
	for i, sku := range strings.Split("g,a,f,b,e,c,d", ",") {
		a.mustProduct(
			t,
			fmt.Sprintf(
				`{"sku":%q,"name":"Mug %d","price":%d,"status":%q,"tags":["t%d"]}`, sku, i/3, i%2, []string{"active", "draft"}[i%2],
				i%3,
			),
		)
	}
}

func TestCursorPagesEqualTheList(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustManyProducts(t)
	for _, query := range []string{
		"", "direction=asc", "sort=name", "sort=name&direction=desc", "sort=sku", "sort=price", "sort=price&direction=desc",
		"sort=created_at",
		"status=draft", "tag=t1&sort=price", "search=mug&sort=name", "search=nothing", "from=1970-01-01&to=2200-12-31",
	} {
		want := a.mustList(t, query+"&per_page=100")
		for _, perPage := range []int{1, 2, 3, 100} {
			var walked []string
			cursor := ""
			for steps := 0; ; steps++ {
				// The size of a step may change in between.
				got := a.mustList(t, fmt.Sprintf("%s&per_page=%d&cursor=%s", query, perPage+steps%2, cursor))
				if got.Meta.PerPage != perPage+steps%2 || got.Meta.Total != int64(len(want.Data)) ||
					len(got.Data) > got.Meta.PerPage {
					t.Fatalf("?%s: meta = %+v of %d products", query, got.Meta, len(got.Data))
				}
				walked = append(walked, got.skus()...)
				if got.Meta.NextCursor == nil || steps > 10 {
					break
				}
				cursor = url.QueryEscape(*got.Meta.NextCursor)
			}
			if diff := cmp.Diff(want.skus(), walked); diff != "" {
				t.Errorf("?%s by %d differs from the list:\n%s", query, perPage, diff)
			}
		}
	}
}

func TestCursorMeta(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.try(t, call{
		path: "/api/products?cursor=", wantStatus: 200,
		want: []string{`"data":[],"meta":{"per_page":25,"total":0,"next_cursor":null}`},
	})
	a.mustManyProducts(t)
	a.try(t, call{
		path: "/api/products?cursor=&per_page=7", wantStatus: 200,
		want: []string{`"meta":{"per_page":7,"total":7,"next_cursor":null}`},
	})
	a.try(t, call{
		path: "/api/products?cursor=&per_page=6", wantStatus: 200,
		want: []string{`"meta":{"per_page":6,"total":7,"next_cursor":"`},
	})
}

func TestCursorContinuesAfterTheLastProduct(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustManyProducts(t)
	first := a.mustList(t, "sort=sku&per_page=3&cursor=")
	for _, sku := range []string{"a", "c"} { // including the last of the step
		data := mustData(t, a.send(t, call{path: "/api/products/sku/" + sku}))
		a.try(t, call{method: "DELETE", path: fmt.Sprintf("/api/products/%.0f", data["id"]), wantStatus: 204})
	}
	a.mustProduct(t, `{"sku":"aa","name":"behind","price":1}`)
	a.mustProduct(t, `{"sku":"dd","name":"ahead","price":1}`)
	rest := a.mustList(t, "sort=sku&cursor="+*first.Meta.NextCursor)
	if want := []string{"d", "dd", "e", "f", "g"}; !slices.Equal(rest.skus(), want) || rest.Meta.NextCursor != nil {
		t.Errorf("the walk goes on with %v, want %v", rest.skus(), want)
	}
}

func TestCursorsOfAnotherList(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustManyProducts(t)
	cursor := *a.mustList(t, "sort=price&per_page=2&status=active&cursor=").Meta.NextCursor
	other := a.mustKey(t, a.MustTenant(t, "other", withLimit(1000)), "full")
	const same = "sort=price&status=active&cursor="
	bad := func(name, query string, want ...string) call {
		return call{
			name: name, path: "/api/products?" + query, wantStatus: 400, wantCode: InvalidParameter,
			want: append(want, `"cursor":["must be a next_cursor of the same list"]`),
		}
	}
	a.try(t, call{path: "/api/products?" + same + cursor, wantStatus: 200})
	foreign := bad("another tenant's", same+cursor)
	foreign.key = other
	a.tryAll(t, []call{
		foreign,
		bad("another sort", "sort=name&status=active&cursor="+cursor),
		bad("another direction", "sort=price&direction=desc&status=active&cursor="+cursor),
		bad("no sort", "status=active&cursor="+cursor),
		bad("another filter", "sort=price&status=draft&cursor="+cursor),
		bad("a filter less", "sort=price&cursor="+cursor),
		bad("a filter more", same+cursor+"&search=mug"),
		bad("made up", same+"abc"),
		bad("one letter", same+"x"),
		bad("cut off", same+cursor[:len(cursor)-2]),
		bad("with something behind", same+cursor+"AA"),
		bad("changed", same+strings.ToLower(cursor)),
		bad("no base64", same+"%2B%2F%3D%20"),
		bad("a number", same+"1"),
		bad("long", same+strings.Repeat("A", 20_000)),
		bad("beside another problem", same+"abc&odd=1", `"odd":["is not a known parameter"]`),
		{
			name: "cursor with page", path: "/api/products?page=2&" + same + cursor, wantStatus: 400, wantCode: InvalidParameter,
			want: []string{`"details":{"page":["must not be given together with cursor"]}`},
		},
		{
			name: "cursor with page at the start", path: "/api/products?page=1&cursor=", wantStatus: 400, wantCode: InvalidParameter,
			want: []string{`"details":{"page":["must not be given together with cursor"]}`},
		},
		{
			name: "given twice", path: "/api/products?cursor=&cursor=", wantStatus: 400, wantCode: InvalidParameter,
			want: []string{`"details":{"cursor":["must be given once"]}`},
		},
		{
			name: "too many per step", path: "/api/products?cursor=&per_page=101", wantStatus: 400, wantCode: InvalidParameter,
			want: []string{`"details":{"per_page":["must be`},
		},
	})
}

// FuzzCursor sends cursors with a valid digest and any position, because the digest is not
// secret. The response must be 200 or 400.
func FuzzCursor(f *testing.F) {
	a := newAPI(f)
	a.mustManyProducts(f)
	texts := []string{
		"", "Mug 1", "b", "'", `\`, `\'; select 1`, "%s", "$1", "a\x00b", "\xff", "\u2028", "\U0010FFFF",
		strings.Repeat("é", 255), strings.Repeat("a", 256),
	}
	numbers := []string{"", "1", "-1", "+1", "01", "1e3", "1.0", "NaN", "9223372036854775807", "9223372036854775808"}
	times := []string{
		"2026-03-01T09:30:00.123456Z", "2026-03-01T09:30:00.123456789Z", "2026-03-01T09:30:00+01:00",
		"0000-01-01T00:00:00Z", "0000-01-01T00:00:00+23:59", "0001-01-01T00:00:00+23:59", "0001-01-01T00:00:00Z",
		"9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59-23:59", "2026-03-01T23:59:60Z", "infinity", "now", "",
	}
	var kinds []catalog.Filter
	for _, sorted := range []struct {
		by     string
		values []string
	}{{"", times}, {"name", texts}, {"sku", texts}, {"price", numbers}} {
		for _, search := range []string{"", "mug"} {
			for _, value := range sorted.values {
				f.Add(len(kinds), value, int64(7), "")
			}
			f.Add(len(kinds), sorted.values[0], int64(math.MinInt64), "2026-03-01T00:00:00+23:59")
			order := paging.Order{By: sorted.by, Descending: search == ""}
			kinds = append(kinds, catalog.Filter{Order: order, Search: search})
		}
	}
	f.Fuzz(func(t *testing.T, kind int, value string, id int64, since string) {
		list := kinds[uint(kind)%uint(len(kinds))]
		path := "/api/products?search=" + list.Search + "&direction=asc"
		if list.Order.Descending {
			path = "/api/products?search=" + list.Search + "&direction=desc"
		}
		if list.Order.By != "" {
			path += "&sort=" + list.Order.By
		}
		if since != "" {
			path += "&updated_since=" + url.QueryEscape(since)
			list.UpdatedSince, _ = time.Parse(time.RFC3339, since)
		}
		got := a.send(t, call{path: path + "&cursor=" + list.Cursor(a.tenant.ID, paging.Position{Value: value, ID: id})})
		if got.StatusCode != http.StatusOK && (got.StatusCode != http.StatusBadRequest || got.code(t) != InvalidParameter) {
			t.Errorf("%s after %q, %d = %d %s", path, value, id, got.StatusCode, got.body)
		}
	})
}

func TestUpdatedSinceFindsWhatChanged(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustManyProducts(t)
	one := mustData(t, a.send(t, call{path: "/api/products/sku/b"}))
	adjusted := mustData(
		t,
		a.try(t, call{
			method: "POST", path: fmt.Sprintf("/api/products/%.0f/inventory/adjust", one["id"]),
			body: `{"type":"add","quantity":1}`, wantStatus: 200,
		}),
	)
	since := adjusted["updated_at"].(string)
	two := mustData(t, a.send(t, call{path: "/api/products/sku/e"}))
	a.try(t, call{
		method: "PATCH", path: fmt.Sprintf("/api/products/%.0f", two["id"]), body: `{"name":"E"}`, wantStatus: 200,
	})
	at := mustTime(t, since)
	for _, c := range []struct{ since, want string }{
		{since, "b,e"}, {at.Add(-1).Format("2006-01-02T15:04:05.000000000Z"), "b,e"}, {
			at.Format("2006-01-02T15:04:05.000000") + "%2B00:00", "b,e",
		},
		{"1970-01-01T00:00:00Z", "a,b,c,d,e,f,g"}, {"2200-12-31T23:59:59Z", ""}, {
			"2000-01-01T00:00:00-05:00", "a,b,c,d,e,f,g",
		},
	} {
		for _, walk := range []string{"", "&cursor="} {
			got := a.mustList(t, "sort=sku&updated_since="+c.since+walk)
			if strings.Join(got.skus(), ",") != c.want || got.Meta.Total != int64(len(got.Data)) {
				t.Errorf("updated_since=%s%s = %v of %d, want %s", c.since, walk, got.skus(), got.Meta.Total, c.want)
			}
		}
	}
	for _, value := range []string{
		"", "yesterday", "2026-03-01", "1772357460", "2026-03-01T09:30:00", "2026-03-01%2009:30:00Z", "2026-03-01T09:30Z",
		"2026-02-30T00:00:00Z", "2026-03-01T24:00:00Z", "2026-03-01T09:30:00%2B25:00", "1969-12-31T23:59:59Z",
		"2201-01-01T00:00:00Z", "%00",
	} {
		a.try(t, call{
			path: "/api/products?updated_since=" + value, wantStatus: 400, wantCode: InvalidParameter,
			want: []string{`"details":{"updated_since":["must be`},
		})
	}
}
