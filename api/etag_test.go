package api

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestETagCoversTheWholeProduct(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	names := map[string]int64{}
	for _, kind := range []string{"categories", "sellers", "warehouses"} {
		names[kind] = a.mustCreate(t, "/api/"+kind, `{"name":"Before"}`)
	}
	made := a.try(t, call{method: "POST", path: "/api/products", wantStatus: 201, body: fmt.Sprintf(
		`{"sku":"a","name":"A","price":1,"category_id":%d,"seller_id":%d,"warehouse_id":%d}`, names["categories"],
		names["sellers"], names["warehouses"])})
	path := made.Header.Get("Location")
	last := made.Header.Get("ETag")
	if !regexp.MustCompile(`^"[A-Za-z0-9_-]{20}"$`).MatchString(last) {
		t.Fatalf("ETag = %s", last)
	}
	seen := map[string]string{last: "creation"}
	for _, c := range []call{
		{method: "PATCH", path: path, body: `{"price":"1.01"}`},
		{
			method: "PUT", path: path,
			body: fmt.Sprintf(
				`{"sku":"a","name":"A","price":2,"category_id":%d,"seller_id":%d,"warehouse_id":%d}`, names["categories"],
				names["sellers"], names["warehouses"],
			),
		},
		{method: "POST", path: path + "/inventory/adjust", body: `{"type":"add","quantity":1}`},
		{method: "POST", path: "/api/products/bulk", body: `{"items":[{"sku":"a","tags":["x"]}]}`},
		{method: "PATCH", path: fmt.Sprintf("/api/categories/%d", names["categories"]), body: `{"name":"After"}`},
		{method: "PATCH", path: fmt.Sprintf("/api/sellers/%d", names["sellers"]), body: `{"name":"After"}`},
		{method: "PATCH", path: fmt.Sprintf("/api/warehouses/%d", names["warehouses"]), body: `{"name":"After"}`},
	} {
		what := c.method + " " + c.path
		c.wantStatus = 200
		changed := a.try(t, c)
		byID, bySKU := a.try(t, call{path: path, wantStatus: 200}),
			a.try(t, call{path: "/api/products/sku/a", wantStatus: 200})
		etag := byID.Header.Get("ETag")
		if before, known := seen[etag]; known {
			t.Errorf("after %s the tag is that after %s", what, before)
		}
		if bySKU.Header.Get("ETag") != etag {
			t.Errorf("after %s: by id %s, by SKU %s", what, etag, bySKU.Header.Get("ETag"))
		}
		if c.path == path && changed.Header.Get("ETag") != etag {
			t.Errorf("%s returns %s, the next GET %s", what, changed.Header.Get("ETag"), etag)
		}
		seen[etag] = what
	}
}

func TestIfNoneMatch(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.mustProduct(t, `{"sku":"a","name":"A","price":1}`)
	path := fmt.Sprintf("/api/products/%d", id)
	etag := a.send(t, call{path: path}).Header.Get("ETag")
	for _, path := range []string{path, "/api/products/sku/a"} {
		for _, values := range [][]string{
			{etag}, {"W/" + etag}, {`"x", ` + etag}, {`"x",W/"y" , W/` + etag}, {`"x"`, etag}, {"*"}, {" * "},
		} {
			for _, method := range []string{"GET", "HEAD"} {
				got := a.try(t, call{method: method, path: path, header: http.Header{"If-None-Match": values}, wantStatus: 304})
				if len(got.body) > 0 || got.Header.Get("ETag") != etag || got.Header.Get("Content-Type") != "" {
					t.Errorf("If-None-Match: %s = %q with %v", values, got.body, got.Header)
				}
			}
		}
		for _, value := range []string{`"x"`, `""`, `W/"x", "y"`, `"*"`, `"` + etag[2:]} {
			got := a.try(t, call{
				path: path, header: http.Header{"If-None-Match": {value}}, wantStatus: 200, want: []string{`"sku":"a"`},
			})
			if got.Header.Get("ETag") != etag {
				t.Errorf("ETag = %s, want %s", got.Header.Get("ETag"), etag)
			}
		}
	}
	a.try(t, call{method: "POST", path: path + "/inventory/adjust", body: `{"type":"add","quantity":1}`, wantStatus: 200})
	a.try(t, call{path: path, header: http.Header{"If-None-Match": {etag}}, wantStatus: 200})
	a.try(t, call{
		path: "/api/products/0", header: http.Header{"If-None-Match": {"*"}}, wantStatus: 404, wantCode: NotFound,
	})
}

func TestMalformedEntityTags(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path := fmt.Sprintf("/api/products/%d", a.mustProduct(t, `{"sku":"a","name":"A","price":1}`))
	for _, value := range []string{
		"", "x", `"x`, `x"`, `"a" "b"`, `"a"b`, `*, "a"`, `"a", *`, "**", `,`, `w/"a"`, `W/a`, `W/`,
		`W/*`, `"a b"`, "\"a\tb\"",
	} {
		for _, c := range []call{
			{method: "GET", path: path, header: http.Header{"If-None-Match": {value}}},
			{method: "GET", path: "/api/products/sku/a", header: http.Header{"If-None-Match": {value}}},
			{method: "PUT", path: path, header: http.Header{"If-Match": {value}}, body: `{"sku":"b","name":"B","price":1}`},
			{method: "PATCH", path: path, header: http.Header{"If-Match": {value}}, body: `{"sku":"b"}`},
			{method: "DELETE", path: path, header: http.Header{"If-Match": {value}}},
			{method: "DELETE", path: path, header: http.Header{"If-None-Match": {value}}},
			{method: "GET", path: path, header: http.Header{"If-Match": {value}}},
			{
				method: "POST", path: path + "/inventory/adjust", header: http.Header{"If-Match": {value}},
				body: `{"type":"add","quantity":1}`,
			},
		} {
			c.wantStatus, c.wantCode, c.want = 400, InvalidHeader, []string{
				`"details":{"If-`, `must be * or a list of entity tags`,
			}
			a.try(t, c)
		}
	}
	a.try(t, call{path: "/api/products/sku/a", wantStatus: 200, want: []string{`"name":"A"`}})
	a.try(t, call{
		path: path, header: http.Header{"If-Match": {"x"}, "If-None-Match": {"y"}}, wantStatus: 400, wantCode: InvalidHeader,
		want: []string{`"If-Match":["must be`, `"If-None-Match":["must be`},
	})
}

// TestConditionsFollowRFC9110 sends every combination of the two headers with every method. A model decides as sections
// 13.1 and 13.2.2 of RFC 9110 say.
func TestConditionsFollowRFC9110(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.mustProduct(t, `{"sku":"a","name":"A","price":1,"quantity":1000}`)
	path := fmt.Sprintf("/api/products/%d", id)
	// A condition is a header with or without the tag of the product, as a strong or as a weak tag.
	conditions := []struct {
		format         string
		strong, weakly bool // it has the tag in that comparison
	}{
		{"", false, false}, {"*", true, true}, {"%s", true, true}, {"W/%s", false, true}, {`"x"`, false, false},
		{`"x", %s`, true, true}, {`,"x",, W/%s ,`, false, true}, {`"x","y"`, false, false},
	}
	for _, match := range conditions {
		for _, noneMatch := range conditions {
			for _, c := range []call{
				{method: "GET", path: path}, {method: "HEAD", path: path}, {method: "GET", path: "/api/products/sku/a"},
				{method: "PUT", path: path, body: `{"sku":"a","name":"B","price":1,"quantity":1000}`},
				{method: "PATCH", path: path, body: `{"name":"C"}`},
				{method: "POST", path: path + "/inventory/adjust", body: `{"type":"add","quantity":1}`},
				{method: "POST", path: path + "/inventory/adjust", body: `{"type":"set","quantity":1000}`},
			} {
				etag := a.send(t, call{path: path}).Header.Get("ETag")
				c.header = http.Header{}
				for name, format := range map[string]string{"If-Match": match.format, "If-None-Match": noneMatch.format} {
					if format != "" {
						c.header.Set(name, strings.ReplaceAll(format, "%s", etag))
					}
				}
				switch reads := c.method == "GET" || c.method == "HEAD"; {
				case match.format != "" && !match.strong:
					c.wantStatus = 412
				case noneMatch.format != "" && noneMatch.weakly && reads:
					c.wantStatus = 304
				case noneMatch.format != "" && noneMatch.weakly:
					c.wantStatus = 412
				default:
					c.wantStatus = 200
				}
				got := a.try(t, c)
				if after := a.send(t, call{path: path}).Header.Get("ETag"); c.wantStatus != 200 && after != etag {
					t.Errorf("%s with %v = %d changes the product", c.method, c.header, got.StatusCode)
				}
			}
		}
	}
	for _, header := range []string{"If-Match", "If-None-Match"} {
		for _, method := range []string{"PUT", "PATCH", "DELETE", "GET"} {
			a.try(t, call{
				method: method, path: "/api/products/0", body: `{}`, header: http.Header{header: {"*"}}, wantStatus: 404,
				wantCode: NotFound,
			})
		}
	}
	a.try(t, call{method: "DELETE", path: path, header: http.Header{"If-None-Match": {"*"}}, wantStatus: 412})
	a.try(t, call{method: "DELETE", path: path, header: http.Header{"If-None-Match": {`"x"`}}, wantStatus: 204})
}

func TestIfMatch(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.mustProduct(t, `{"sku":"a","name":"A","price":1}`)
	path := fmt.Sprintf("/api/products/%d", id)
	stale := a.send(t, call{path: path}).Header.Get("ETag")
	adjust := call{method: "POST", path: path + "/inventory/adjust", body: `{"type":"add","quantity":1}`, wantStatus: 200}
	a.try(t, adjust)
	current := a.send(t, call{path: path})
	etag := current.Header.Get("ETag")
	for _, value := range []string{stale, "W/" + etag, `"x"`, stale + `, W/` + etag, `""`} {
		for _, c := range []call{
			{method: "PUT", body: `{"sku":"b","name":"B","price":1}`},
			{method: "PATCH", body: `{"sku":"b"}`},
			{name: "an invalid body", method: "PATCH", body: `{"sku":7}`},
			{method: "DELETE"},
		} {
			c.path, c.header, c.wantStatus, c.wantCode = path, http.Header{"If-Match": {value}}, 412, PreconditionFailed
			a.try(t, c)
		}
	}
	if got := a.send(t, call{path: path}); string(got.body) != string(current.body) {
		t.Errorf("a write that was refused changed the product: %s", got.body)
	}
	absent := call{
		method: "PATCH", path: "/api/products/0", body: `{}`, header: http.Header{"If-Match": {"*"}}, wantStatus: 404,
		wantCode: NotFound,
	}
	a.try(t, absent)
	for _, c := range []call{
		{method: "PATCH", body: `{"name":"B"}`, wantStatus: 200, want: []string{`"name":"B"`}},
		{method: "PATCH", body: `{"name":7}`, wantStatus: 422, wantCode: ValidationError},
		{method: "PUT", body: `{"sku":"a","name":"C","price":1}`, wantStatus: 200, want: []string{`"name":"C"`}},
	} {
		now := a.send(t, call{path: path}).Header.Get("ETag")
		c.path, c.header = path, http.Header{"If-Match": {`"x", ` + now}}
		a.try(t, c)
	}
	a.try(t, call{
		method: "PATCH", path: path, body: `{"name":"D"}`, header: http.Header{"If-Match": {"*"}}, wantStatus: 200,
	})
	now := a.send(t, call{path: path}).Header.Get("ETag")
	a.try(t, call{method: "DELETE", path: path, header: http.Header{"If-Match": {now}}, wantStatus: 204})
	a.try(t, call{
		method: "DELETE", path: path, header: http.Header{"If-Match": {now}}, wantStatus: 404, wantCode: NotFound,
	})
}

func TestOneOfConcurrentWritesWithTheSameTagSucceeds(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path := fmt.Sprintf("/api/products/%d", a.mustProduct(t, `{"sku":"a","name":"A","price":1,"quantity":5}`))
	header := http.Header{"If-Match": {a.send(t, call{path: path}).Header.Get("ETag")}}
	patches := a.race(t, 20, func(i int) call {
		return call{method: "PATCH", path: path, body: fmt.Sprintf(`{"name":"by %d"}`, i), header: header}
	}, PreconditionFailed)
	if patches != 1 {
		t.Errorf("%d of 20 writers succeeded", patches)
	}
	adjustments := a.race(t, 20, func(int) call {
		return call{
			method: "POST", path: path + "/inventory/adjust", body: `{"type":"remove","quantity":1,"expected_quantity":5}`,
		}
	}, PreconditionFailed)
	if adjustments != 1 {
		t.Errorf("%d of 20 adjustments succeeded", adjustments)
	}
	a.try(t, call{path: path, wantStatus: 200, want: []string{`"quantity":4`}})
}

// race sends n concurrent requests and returns how many succeeded. The others must be refused with code.
func (a *testAPI) race(t *testing.T, n int, next func(i int) call, code Code) int64 {
	t.Helper()
	var done atomic.Int64
	var clients sync.WaitGroup
	for i := range n {
		clients.Go(func() {
			got := a.sendUntilDone(t, next(i))
			switch {
			case got.StatusCode == 200:
				done.Add(1)
			case got.code(t) != code:
				t.Errorf("%d %s", got.StatusCode, got.body)
			}
		})
	}
	clients.Wait()
	return done.Load()
}

func TestExpectedQuantity(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path := fmt.Sprintf("/api/products/%d", a.mustProduct(t, `{"sku":"a","name":"A","price":1,"quantity":5}`))
	for _, c := range []struct {
		expected   string
		wantStatus int
		wantCode   Code
	}{
		{"4", 412, PreconditionFailed}, {"0", 412, PreconditionFailed}, {"-1", 422, ValidationError},
		{`"5"`, 422, ValidationError},
		{"4294967301", 422, ValidationError}, {"5", 200, ""}, {"5", 412, PreconditionFailed}, {"null", 200, ""},
	} {
		a.try(t, call{
			method: "POST", path: path + "/inventory/adjust", body: `{"type":"add","quantity":1,"expected_quantity":` +
				c.expected + `}`,
			wantStatus: c.wantStatus, wantCode: c.wantCode,
		})
	}
	a.try(t, call{path: path, wantStatus: 200, want: []string{`"quantity":7`}})
}

// FuzzEntityTags compares a list with one that is read character by character.
func FuzzEntityTags(f *testing.F) {
	for _, seed := range []string{`"a"`, `W/"a", "b"`, `*`, `,"a",,`, `"a" "b"`, `"a,b"`, `w/"a"`, ``, "\"a\t\"", `"a"W/"b"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := &http.Request{Header: http.Header{"If-Match": {text}}}
		got, malformed := entityTags(r, "If-Match")
		want, valid := readTags(strings.TrimSpace(text))
		if malformed == valid || valid && !slices.Equal(got, want) {
			t.Errorf("entityTags(%q) = %q, %t, want %q, %t", text, got, malformed, want, !valid)
		}
	})
}

// readTags is a second reader of the grammar of RFC 9110, sections 5.6.1 and 8.8.3.
func readTags(text string) (list tags, valid bool) {
	if text == "*" {
		return tags{"*"}, true
	}
	separated := true
	for text != "" {
		if strings.ContainsRune(", \t", rune(text[0])) {
			separated = separated || text[0] == ','
			text = text[1:]
			continue
		}
		tag := text
		opaque := strings.TrimPrefix(tag, "W/")
		if !separated || opaque[:min(1, len(opaque))] != `"` {
			return nil, false
		}
		content, rest, closed := strings.Cut(opaque[1:], `"`)
		if !closed || strings.ContainsFunc(content, func(c rune) bool { return c <= ' ' || c == 0x7F }) {
			return nil, false
		}
		list, text, separated = append(list, tag[:len(tag)-len(rest)]), rest, false
	}
	return list, len(list) > 0
}
