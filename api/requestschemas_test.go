//go:build !fuzz

package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// onlyTheServerKnows matches validation errors that depend on other fields or on stored objects, or that a schema
// cannot express. A request that its schema accepts may have them.
var onlyTheServerKnows = regexp.MustCompile(`^(does not exist|already exists|is already taken|must equal |cannot be changed|` +
	`must not be (given together|combined|above|a duplicate|0$)|must include the discounts|` +
	`must be (an? (absolute|e-mail|http|URL)|empty, now|between 0\.01 and|at most that|between -1000 and 1000, and not 0)|must begin with|must not have a tag|` +
	`is not a line|and shipping must be|must (all have|have amounts)|must be (absent:|at most the units)|is not a (cursor|known time zone|time zone)|needs restock|must not take|occurs twice|` +
	`times unit|must hold at most 50 tags|is required(, or adjust| with (tax|shipping)$)|must end a range|must not be before)|must be 1 to 50 lower-case|already has`)

// requests are valid bodies of each operation. Those after the first have fields that the first cannot have. {n} is a
// number that no other request has.
func (a *testAPI) requests(t *testing.T) map[string][]request {
	category, seller := a.mustCreate(t, "/api/categories", `{"name":"C"}`), a.mustCreate(t, "/api/sellers", `{"name":"S"}`)
	warehouse := a.mustCreate(t, "/api/warehouses", `{"name":"W"}`)
	a.mustOrder(t, `{"number":"refunded","placed_at":"2026-03-01T09:30:00Z","channel":"pos","items":[`+
		`{"sku":"s","quantity":1000000,"unit_price":1}]}`)
	product := func() string {
		return fmt.Sprint("/api/products/", a.mustProduct(t, fmt.Sprintf(`{"sku":"p%d","name":"P","price":1}`, a.next())))
	}
	illustrated := product()
	a.try(t, call{method: "POST", path: illustrated + "/images", body: `{"url":"https://example.com/0.jpg"}`, wantStatus: 201})
	shown := mustData(t, a.try(t, call{path: illustrated, wantStatus: 200}))
	image := fmt.Sprint(illustrated, "/images/", int64(shown["images"].([]any)[0].(map[string]any)["id"].(float64)))
	hook := fmt.Sprint("/api/webhooks/", a.mustCreate(t, "/api/webhooks", `{"url":"https://example.com/0"}`))
	cursor := mustData(t, a.try(t, call{path: hook, wantStatus: 200}))["cursor"].(string)
	file, contentType := form(t, "boundary", "", "products.csv", importProducts)
	uploaded := a.try(t, call{
		method: "POST", path: "/api/imports", body: file, header: http.Header{"Content-Type": {contentType}}, wantStatus: 202,
	}).Header.Get("Location")

	whole := fmt.Sprintf(`{"sku":"whole{n}","name":"N","price":1,"category_id":%d,"seller_id":%d,"warehouse_id":%d,`+
		`"tags":["a"]}`, category, seller, warehouse)
	sentBack := fmt.Sprintf(`{"sku":"back{n}","name":"N","price":1,"category":{"id":%d},"seller":{"id":%d},`+
		`"warehouse":{"id":%d}}`, category, seller, warehouse)
	order := `{"number":"o{n}","placed_at":"2026-03-01T09:30:00Z","channel":"pos","customer":{"id":"1","name":"A",` +
		`"email":"a@example.com"},"items":[{"sku":"s","quantity":1,"unit_price":1}]}`
	in := func(path string, bodies ...string) (all []request) {
		for _, body := range bodies {
			all = append(all, request{path, body})
		}
		return all
	}
	set := func(body string) string {
		return `{"filter":{"search":"nothing","updated_since":"2026-03-01T09:30:00Z","from":"2026-03-01"},"set":` + strings.Replace(body, `"sku":"`, `"description":"`, 1) + `}`
	}
	all := map[string][]request{
		"POST /api/products":                         in("/api/products", whole, sentBack),
		"PUT /api/products/{id}":                     in(product(), whole, sentBack),
		"PATCH /api/products/{id}":                   in(product(), whole, sentBack),
		"POST /api/products/bulk":                    in("/api/products/bulk", `{"items":[`+whole+`]}`, `{"items":[`+sentBack+`]}`, `{"items":[`+strings.Replace(whole, `"tags"`, `"images":["https://example.com/a.jpg"],"tags"`, 1)+`]}`),
		"POST /api/products/changes":                 in("/api/products/changes", set(whole), set(sentBack), `{"filter":{"search":"nothing","period":"last_month"},"adjust_price_percent":5}`, `{"filter":{"search":"nothing"},"add_tags":["a"]}`, `{"filter":{"search":"nothing"},"remove_tags":["a"]}`),
		"POST /api/products/{id}/images":             in(product()+"/images", `{"url":"https://example.com/{n}.jpg"}`),
		"PATCH /api/products/{id}/images/{image_id}": in(image, `{"position":1}`),
		"POST /api/products/{id}/inventory/adjust":   in(product()+"/inventory/adjust", fmt.Sprintf(`{"type":"set","quantity":5,"warehouse_id":%d}`, warehouse), fmt.Sprintf(`{"type":"add","quantity":1,"warehouse":{"id":%d}}`, warehouse)),
		"POST /api/channels":                         in("/api/channels", fmt.Sprintf(`{"identifier":"c{n}","label":"L","warehouse_id":%d}`, warehouse), fmt.Sprintf(`{"identifier":"c{n}","label":"L","warehouse":{"id":%d}}`, warehouse)),
		"PATCH /api/channels/{identifier}":           in("/api/channels/pos", fmt.Sprintf(`{"identifier":"pos","warehouse_id":%d}`, warehouse), fmt.Sprintf(`{"warehouse":{"id":%d}}`, warehouse)),
		"POST /api/orders":                           in("/api/orders", order),
		"POST /api/orders/bulk":                      in("/api/orders/bulk", `{"orders":[`+order+`]}`),
		"POST /api/orders/{number}/cancel":           in("/api/orders/absent/cancel", `{"cancelled_at":"2026-03-01T09:30:00Z"}`),
		"POST /api/orders/{number}/refunds": in("/api/orders/refunded/refunds", `{"amount":1,"reference":"r{n}"}`, `{"amount":1,"restock":true,"restock_items":[{"line":1,"quantity":1}]}`,
			`{"amount":1,"tax":0.1,"shipping":0.1}`, `{"amount":1,"items":[{"line":1,"quantity":1,"amount":1}]}`),
		"POST /api/webhooks":             in("/api/webhooks", `{"url":"https://example.com/{n}","types":["product"]}`),
		"PATCH /api/webhooks/{id}":       in(hook, `{"url":"https://example.com/{n}","types":["product"]}`),
		"POST /api/webhooks/{id}/replay": in(hook+"/replay", `{"after":"`+cursor+`"}`),
		"POST /api/plans/{id}/apply":     in("/api/plans/1/apply", `{"force":true}`),
		"PATCH /api/imports/{id}":        in(uploaded, `{"mapping":{"a.csv":{"x":"sku"}},"timezone":"Europe/Berlin","channel":"pos"}`),
		"POST /api/imports/{id}/apply":   in("/api/imports/1/apply", `{"skip_changed":true}`),
		"POST /api/reports/custom":       in("/api/reports/custom", `{"from":"2026-03-01","to":"2026-03-31","metrics":["revenue"],"filters":{"channel":["pos"],"category_id":[1]}}`, `{"period":"last_month","metrics":["revenue"]}`),
	}
	for kind, id := range map[string]int64{"categories": category, "sellers": seller, "warehouses": warehouse} {
		all["POST /api/"+kind] = in("/api/"+kind, `{"name":"n{n}"}`)
		all["PATCH /api/"+kind+"/{id}"] = in(fmt.Sprint("/api/", kind, "/", id), `{"name":"n{n}"}`)
	}
	return all
}

type request struct{ path, body string }

var lastNumber atomic.Int64

// next returns a number that no other request has.
func (a *testAPI) next() int64 { return lastNumber.Add(1) }

// TestRequestsAreAcceptedAsTheirSchemasSay sends values of all kinds for each property of each request schema, also of
// nested objects and of array elements. The server must accept and refuse the same bodies as the schema.
func TestRequestsAreAcceptedAsTheirSchemasSay(t *testing.T) {
	t.Parallel()
	a := newImportAPI(t)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(servedDocument().plain()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("document", document); err != nil {
		t.Fatal(err)
	}
	bodies := a.requests(t)
	for path, item := range document.(map[string]any)["paths"].(map[string]any) {
		for method, operation := range item.(map[string]any) {
			content := jsonContent(operation)
			if content == nil {
				continue
			}
			name := strings.ToUpper(method) + " " + path
			t.Run(name, func(t *testing.T) {
				at := "document#/paths/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(path) + "/" +
					method + "/requestBody/content/application~1json/schema"
				schema, err := compiler.Compile(at)
				if err != nil {
					t.Fatal(err)
				}
				if len(bodies[name]) == 0 {
					t.Fatal("the test has no valid request")
				}
				c := comparison{testAPI: a, nodes: nodes{document.(map[string]any)}, method: strings.ToUpper(method), schema: schema, bodies: bodies[name]}
				for _, r := range c.bodies {
					if c.compare(t, r, nil, nil) != "accepted" {
						t.Fatalf("%s is not valid", r.body)
					}
				}
				c.walk(t, c.nodes.of(content["schema"]), nil)
				c.mustReportAllFaults(t)
			})
		}
	}
}

func jsonContent(operation any) map[string]any {
	o, _ := operation.(map[string]any)
	body, _ := o["requestBody"].(map[string]any)
	content, _ := body["content"].(map[string]any)
	media, _ := content["application/json"].(map[string]any)
	return media
}

// nodes finds the schemas that apply to one value.
type nodes struct{ document map[string]any }

// of returns a schema and those that it is combined with.
func (n nodes) of(schemas ...any) (found []map[string]any) {
	for _, schema := range schemas {
		node, _ := schema.(map[string]any)
		if reference, is := node["$ref"].(string); is {
			var at any = n.document
			for _, part := range strings.Split(strings.TrimPrefix(reference, "#/"), "/") {
				at = at.(map[string]any)[part]
			}
			found = append(found, n.of(at)...)
		}
		found = append(found, node)
		for _, combination := range []string{"allOf", "anyOf", "oneOf"} {
			list, _ := node[combination].([]any)
			found = append(found, n.of(list...)...)
		}
	}
	return found
}

// comparison compares the requests of an operation with their schema.
type comparison struct {
	*testAPI
	nodes
	method string
	schema *jsonschema.Schema
	bodies []request
	faults []fault // an invalid value of each property that has no properties itself
}

type fault struct {
	path  []any
	value any
}

// walk tries each property of an object and the elements of an array.
func (c *comparison) walk(t *testing.T, schemas []map[string]any, path []any) {
	t.Helper()
	properties := map[string][]any{}
	var elements []any
	isObject := false
	for _, s := range schemas {
		for name, property := range member(s, "properties") {
			properties[name] = append(properties[name], property)
		}
		if additional, is := s["additionalProperties"].(map[string]any); is {
			properties["x"] = append(properties["x"], additional)
		}
		if s["items"] != nil {
			elements = append(elements, s["items"])
		}
		isObject = isObject || s["properties"] != nil
	}
	if isObject {
		c.try(t, append(slices.Clone(path), "unheard_of"), []map[string]any{{}}, false)
	} else if elements == nil {
		c.addFault(t, path)
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		at, schemas := append(slices.Clone(path), name), c.nodes.of(properties[name]...)
		c.try(t, at, schemas, true)
		c.walk(t, schemas, at)
	}
	if elements != nil {
		at, schemas := append(slices.Clone(path), 0), c.nodes.of(elements...)
		c.try(t, at, schemas, true)
		c.walk(t, schemas, at)
	}
}

// addFault finds a value that the schema refuses at a path of the first body that has the path.
func (c *comparison) addFault(t *testing.T, path []any) {
	t.Helper()
	for _, value := range []any{true, "", json.Number("-1"), []any{}} {
		instance := setAt(mustParse(t, c.numbered(c.bodies[0])), path, value)
		if c.schema.Validate(instance) != nil {
			c.faults = append(c.faults, fault{path, value})
			return
		}
	}
}

// mustReportAllFaults sends a body in which every property is invalid. The response must name each of them.
func (c *comparison) mustReportAllFaults(t *testing.T) {
	t.Helper()
	var body any = map[string]any{"unheard_of": true}
	for _, f := range c.faults {
		body = setAt(body, f.path, f.value)
	}
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	got := c.send(t, call{method: c.method, path: c.bodies[0].path, body: string(text)})
	if strings.HasSuffix(c.bodies[0].path, "/bulk") {
		return // the unknown field refuses the request; TestBulkOrderRowsHaveTheirOwnErrors tries rows
	}
	details := mustDecode[errorResponse](t, got.body).Error.Details
	if len(details["unheard_of"]) == 0 {
		t.Errorf("%s = %s, which does not name the unknown field", text, got.body)
	}
	for _, f := range c.faults {
		name := ""
		for _, step := range f.path {
			if index, is := step.(int); is {
				name += fmt.Sprintf("[%d]", index)
			} else {
				name += fmt.Sprint(".", step)
			}
		}
		name = strings.TrimPrefix(name, ".")
		// An error of an object or an array stands for all that it contains.
		named := slices.ContainsFunc(slices.Collect(maps.Keys(details)), func(field string) bool {
			return field == name || strings.HasPrefix(name, field+".") || strings.HasPrefix(name, field+"[")
		})
		if !named {
			t.Errorf("%s = %s, which does not name %s", text, got.body, name)
		}
	}
}

// try sends all values of a property. A property must accept one of them, or all tests of it would prove nothing.
func (c comparison) try(t *testing.T, path []any, schemas []map[string]any, accepts bool) {
	t.Helper()
	r := c.bodies[0]
	for _, candidate := range c.bodies {
		if _, found := valueAt(mustParse(t, candidate.body), path); found {
			r = candidate
			break
		}
	}
	accepted := false
	for _, value := range values(schemas) {
		accepted = c.compare(t, r, path, value) == "accepted" || accepted
	}
	if own, found := valueAt(mustParse(t, c.numbered(r)), path); found && accepts {
		accepted = c.compare(t, r, path, own) == "accepted" || accepted
	}
	// No value of a field that must be absent is accepted, such as set.sku.
	if accepts && !accepted && !strings.Contains(fmt.Sprint(path), "set sku") {
		t.Errorf("%s: no value of %v is accepted", c.method, path)
	}
}

// numbered returns the body of a request with a new number.
func (c comparison) numbered(r request) string {
	return strings.ReplaceAll(r.body, "{n}", strconv.FormatInt(c.next(), 10))
}

// compare sends a request in which the property at path has a value. It returns what the server did.
func (c comparison) compare(t *testing.T, r request, path []any, value any) string {
	t.Helper()
	body := mustParse(t, c.numbered(r))
	if path != nil {
		body = setAt(body, path, value)
	}
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	invalid := c.schema.Validate(instance)
	got := c.send(t, call{method: c.method, path: r.path, body: string(text)})
	switch problems := refusals(t, got); {
	case problems == nil && invalid != nil:
		t.Errorf("%s %s %.300s = %d, but the schema refuses it: %v", c.method, r.path, text, got.StatusCode, invalid)
	case problems != nil && strings.HasSuffix(r.path, "/custom") && slices.Contains(problems, "is required"):
		// null counts as absent, and a range needs both ends or a period
	case problems != nil && invalid == nil && !slices.ContainsFunc(problems, onlyTheServerKnows.MatchString):
		t.Errorf("%s %s %.300s = %d %v, but the schema accepts it", c.method, r.path, text, got.StatusCode, problems)
	case problems == nil:
		if location := got.Header.Get("Location"); location != "" && !strings.HasPrefix(location, "/api/orders/") {
			c.send(t, call{method: "DELETE", path: location}) // there are limits for webhooks and images
		}
		return "accepted"
	}
	return "refused"
}

// refusals returns the validation errors of a response, also of the row of a bulk request. A response that refuses
// something else, such as the state of a plan, has none: its body is valid.
func refusals(t *testing.T, got reply) (problems []string) {
	t.Helper()
	switch got.StatusCode {
	case http.StatusUnprocessableEntity, http.StatusBadRequest:
		failure := mustDecode[errorResponse](t, got.body).Error
		if failure.Code == InsufficientStock {
			return nil
		}
		problems = slices.Concat(slices.Collect(maps.Values(failure.Details))...)
		return append(problems, string(failure.Code))
	case http.StatusMultiStatus:
		rows := mustDecode[struct{ Data []bulkRow }](t, got.body).Data
		return append(slices.Concat(slices.Collect(maps.Values(rows[0].Error.Details))...), string(rows[0].Error.Code))
	}
	if got.StatusCode >= 500 || got.StatusCode == http.StatusUnsupportedMediaType {
		t.Errorf("= %d %s", got.StatusCode, got.body)
	}
	return nil
}

// values returns values of all kinds, and those at the limits of the schemas.
func values(schemas []map[string]any) []any {
	all := []any{nil, true, json.Number("0"), json.Number("-1"), json.Number("1.5"), "", "x", "1e2", "-1",
		[]any{}, []any{nil}, map[string]any{}, map[string]any{"id": nil}, map[string]any{"id": "1"}}
	number := func(limit any, offset int64) {
		if text, is := limit.(json.Number); is {
			if n, err := text.Int64(); err == nil {
				all = append(all, json.Number(strconv.FormatInt(n+offset, 10)))
			}
			all = append(all, text)
		}
	}
	length := func(limit any, repeat func(int) any) {
		if text, is := limit.(json.Number); is {
			n, _ := text.Int64()
			all = append(all, repeat(int(n)+1))
			if n > 0 {
				all = append(all, repeat(int(n)-1))
			}
		}
	}
	for _, s := range schemas {
		number(s["minimum"], -1)
		number(s["maximum"], 1)
		length(s["maxLength"], func(n int) any { return strings.Repeat("x", min(n, 100_000)) })
		length(s["maxItems"], func(n int) any { return slices.Repeat([]any{"x"}, min(n, 6000)) })
		length(s["minItems"], func(n int) any { return slices.Repeat([]any{"x"}, n) })
		for _, list := range []string{"enum", "examples"} {
			listed, _ := s[list].([]any)
			all = append(all, listed...)
		}
		if constant, is := s["const"]; is {
			all = append(all, constant)
		}
	}
	return all
}

// valueAt returns the value at a path of names and indexes.
func valueAt(in any, path []any) (value any, found bool) {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := in.(map[string]any)
			if in, found = object[step]; !found {
				return nil, false
			}
		case int:
			list, _ := in.([]any)
			if step >= len(list) {
				return nil, false
			}
			in = list[step]
		}
	}
	return in, true
}

// setAt returns a copy of a value with another one at a path.
func setAt(in any, path []any, value any) any {
	if len(path) == 0 {
		return value
	}
	if name, is := path[0].(string); is {
		object, _ := in.(map[string]any)
		changed := map[string]any{}
		maps.Copy(changed, object)
		changed[name] = setAt(object[name], path[1:], value)
		return changed
	}
	list, _ := in.([]any)
	changed := append([]any{nil}, list[min(1, len(list)):]...)
	if len(list) > 0 {
		changed[0] = list[0]
	}
	changed[0] = setAt(changed[0], path[1:], value)
	return changed
}

func mustParse(t *testing.T, body string) any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return value
}

// TestWhatGETReturnsCanBeSentBack sends each object back as GET returned it. Nothing changes.
func TestWhatGETReturnsCanBeSentBack(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	category, seller := a.mustCreate(t, "/api/categories", `{"name":"C"}`), a.mustCreate(t, "/api/sellers", `{"name":"S"}`)
	warehouse := a.mustCreate(t, "/api/warehouses", `{"name":"W"}`)
	product := fmt.Sprint("/api/products/", a.mustProduct(t, fmt.Sprintf(`{"sku":"a","name":"A","price":1,"cost":1,`+
		`"quantity":3,"category_id":%d,"seller_id":%d,"warehouse_id":%d,"tags":["t"]}`, category, seller, warehouse)))
	a.try(t, call{method: "POST", path: product + "/images", body: `{"url":"https://example.com/0.jpg"}`, wantStatus: 201})
	a.try(t, call{
		method: "POST", path: "/api/channels", wantStatus: 201,
		body: fmt.Sprintf(`{"identifier":"web","label":"Web","takes_stock":true,"warehouse_id":%d}`, warehouse),
	})
	hook := fmt.Sprint("/api/webhooks/", a.mustCreate(t, "/api/webhooks", `{"url":"https://example.com/0","state":"paused"}`))
	for _, c := range []struct{ method, path string }{
		{"PUT", product}, {"PATCH", product}, {"PATCH", fmt.Sprint("/api/categories/", category)},
		{"PATCH", fmt.Sprint("/api/sellers/", seller)}, {"PATCH", fmt.Sprint("/api/warehouses/", warehouse)},
		{"PATCH", "/api/channels/web"}, {"PATCH", "/api/channels/pos"}, {"PATCH", hook},
	} {
		before := mustData(t, a.try(t, call{path: c.path, wantStatus: 200}))
		body, err := json.Marshal(before)
		if err != nil {
			t.Fatal(err)
		}
		a.try(t, call{method: c.method, path: c.path, body: string(body), wantStatus: 200})
		after := mustData(t, a.try(t, call{path: c.path, wantStatus: 200}))
		delete(before, "updated_at")
		delete(after, "updated_at")
		if !reflect.DeepEqual(before, after) {
			t.Errorf("%s %s with %s returns %v", c.method, c.path, body, after)
		}
	}
}
