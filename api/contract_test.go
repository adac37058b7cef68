//go:build !fuzz

package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	validation "github.com/pb33f/libopenapi-validator/errors"
	"github.com/pb33f/libopenapi-validator/responses"
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/storeroom/storeroom/keys"
)

// contract is the document with closed responses, read once for all tests.
type contract struct {
	model   *v3.Document
	options *config.ValidationOptions // with a cache of compiled schemas
	mu      sync.Mutex                // the model is built while it is read
}

var loadContract = sync.OnceValues(func() (*contract, error) {
	document, err := strictDocument()
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	file, err := libopenapi.NewDocument(body)
	if err != nil {
		return nil, err
	}
	built, err := file.BuildV3Model()
	if err != nil {
		return nil, err
	}
	return &contract{model: &built.Model, options: config.NewValidationOptions()}, nil
})

func mustContract(t testing.TB) *contract {
	t.Helper()
	c, err := loadContract()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// validateResponse compares the status, the headers and the body of a response with the document.
func validateResponse(t testing.TB, req *http.Request, resp *http.Response, body []byte) {
	t.Helper()
	c := mustContract(t)
	for _, problem := range c.validationErrors(req, resp, body) {
		t.Errorf("%s %s = %d %.500s: %s", req.Method, req.URL.EscapedPath(), resp.StatusCode, body, problem)
	}
}

func (c *contract) validationErrors(req *http.Request, resp *http.Response, body []byte) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	path, operation := c.operation(req.Method, req.URL.EscapedPath())
	var documented *v3.Response
	switch {
	case operation != nil:
		documented = operation.Responses.Codes.GetOrZero(strconv.Itoa(resp.StatusCode))
	case resp.StatusCode < 400:
		return nil // a test has added the route
	default:
		documented = c.anywhere(resp.StatusCode)
	}
	if documented == nil {
		return []string{"the operation does not list this status"}
	}
	var found []*validation.ValidationError
	if operation != nil || underAPI(path) {
		_, found = responses.ValidateResponseHeaders(
			req, resp, documented.Headers, path, strconv.Itoa(resp.StatusCode), config.WithExistingOpts(c.options),
		)
	}
	found = append(found, c.bodyErrors(req, resp, documented, body)...)
	var texts []string
	for _, problem := range found {
		text := problem.Message + ": " + problem.Reason
		for _, detail := range problem.SchemaValidationErrors {
			text += fmt.Sprintf("\n\t%s %s", detail.FieldPath, detail.Reason)
		}
		texts = append(texts, text)
	}
	return texts
}

func (c *contract) bodyErrors(
	req *http.Request, resp *http.Response, documented *v3.Response, body []byte,
) []*validation.ValidationError {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	var content *v3.MediaType
	if documented.Content != nil {
		content = documented.Content.GetOrZero(kind)
	}
	switch {
	case documented.Content == nil && kind == "" && len(body) == 0:
		return nil
	case content == nil:
		return []*validation.ValidationError{{Message: "the operation does not list this content type", Reason: strconv.Quote(kind)}}
	case req.Method == http.MethodHead || kind != "application/json":
		return nil
	}
	copied := *resp
	copied.Body = io.NopCloser(bytes.NewReader(body))
	_, found := responses.ValidateResponseSchema(&responses.ValidateResponseSchemaInput{
		Request: req, Response: &copied, Schema: content.Schema.Schema(), Version: 3.1,
		Options: []config.Option{config.WithExistingOpts(c.options)},
	})
	return found
}

// operation returns the operation of a request by its encoded path, or nil. HEAD is GET without the body.
func (c *contract) operation(method, path string) (string, *v3.Operation) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	var found *v3.Operation
	var fits string
	for template, item := range c.model.Paths.PathItems.FromOldest() {
		o := item.GetOperations().GetOrZero(strings.ToLower(method))
		// A literal segment accepts precedence over a parameter.
		if o != nil && matches(template, path) && (found == nil || strings.Count(template, "{") < strings.Count(fits, "{")) {
			found, fits = o, template
		}
	}
	return path, found
}

func matches(template, path string) bool {
	want, have := strings.Split(template, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, have, func(w, h string) bool {
		return w == h || strings.HasPrefix(w, "{") && h != ""
	})
}

// anywhere returns the response to a request that has no operation.
func (c *contract) anywhere(status int) *v3.Response {
	names := map[int]string{
		401: "Unauthorized", 403: "Suspended", 404: "RouteNotFound", 405: "MethodNotAllowed",
		429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable",
	}
	return c.model.Components.Responses.GetOrZero(names[status])
}

// everyOperation calls f for each operation of the document.
func (c *contract) everyOperation(f func(method, path string, o *v3.Operation)) {
	for path, item := range c.model.Paths.PathItems.FromOldest() {
		for method, o := range item.GetOperations().FromOldest() {
			f(strings.ToUpper(method), path, o)
		}
	}
}

func TestTheDocumentIsOpenAPI31(t *testing.T) {
	t.Parallel()
	file, err := libopenapi.NewDocument(servedDocument().plain())
	if err != nil {
		t.Fatal(err)
	}
	v, errs := validator.NewValidator(file)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	_, found := v.ValidateDocument()
	for _, problem := range found {
		for _, detail := range problem.SchemaValidationErrors {
			t.Errorf("%s: %s", detail.FieldPath, detail.Reason)
		}
	}
	if version := file.GetVersion(); version != "3.1.0" {
		t.Errorf("version = %s", version)
	}
}

func TestRoutesMatchTheDocument(t *testing.T) {
	t.Parallel()
	s := New(Options{})
	routes := map[string]string{}
	err := chi.Walk(s.mux, func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		routes[method+" "+pattern] = ""
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range s.routes() {
		routes[r.method+" "+r.pattern] = string(r.permission)
	}
	for _, path := range []string{"/docs/*", "/docs.md", "/llms.txt"} { // other pages and forms of /docs
		delete(routes, "GET "+path)
	}
	delete(routes, "POST /mcp") // another protocol

	documented := map[string]string{}
	mustContract(t).everyOperation(func(method, path string, o *v3.Operation) {
		permission := o.Extensions.GetOrZero("x-permission")
		if permission == nil {
			t.Errorf("%s %s: no x-permission", method, path)
			return
		}
		documented[method+" "+path] = permission.Value
		if named := "`" + permission.Value + "`"; strings.Contains(permission.Value, ":") &&
			!strings.Contains(o.Description, named) {
			t.Errorf("%s %s: the description does not name %s", method, path, named)
		}
		if open := o.Security != nil && len(o.Security) == 0; open == underAPI(path) {
			t.Errorf("%s %s: security = %v", method, path, o.Security)
		}
	})
	if diff := cmp.Diff(routes, documented); diff != "" {
		t.Errorf("routes and document (-routes +document):\n%s", diff)
	}
}

func TestOperationsListTheirErrors(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	mustContract(t).everyOperation(func(method, path string, o *v3.Operation) {
		if names[o.OperationId] || o.OperationId == "" || o.Summary == "" || o.Description == "" || len(o.Tags) != 1 {
			t.Errorf("%s %s: needs an operationId of its own, a summary, a description and one tag", method, path)
		}
		names[o.OperationId] = true
		var want []int
		if underAPI(path) {
			want = append(want, 400, 401, 403, 429, 500, 503)
		}
		if o.RequestBody != nil {
			want = append(want, 413, 415, 422)
		}
		if strings.Contains(path, "{") {
			want = append(want, 404)
		}
		for _, status := range want {
			if o.Responses.Codes.GetOrZero(strconv.Itoa(status)) == nil {
				t.Errorf("%s %s: no %d", method, path, status)
			}
		}
	})
}

// TestOperationsListTheirHeaders checks the headers that depend only on the method and the permission of
// a route.
func TestOperationsListTheirHeaders(t *testing.T) {
	t.Parallel()
	mustContract(t).everyOperation(func(method, path string, o *v3.Operation) {
		tagged := method != "POST" && (path == "/api/products/{id}" || path == "/api/products/sku/{sku}") ||
			path == "/api/products/{id}/inventory/adjust" || path == "/media/{name}"
		unlessMatched := "412"
		if method == "GET" {
			unlessMatched = "304"
		}
		for _, c := range []struct {
			header string
			status string // of requests with the header only
			want   bool
		}{
			{
				"Idempotency-Key", "409",
				method == "POST" && path != testWebhook &&
					mayWrite(keys.Permission(o.Extensions.GetOrZero("x-permission").Value)),
			},
			{"If-Match", "412", tagged},
			{"If-None-Match", unlessMatched, tagged},
		} {
			accepts := slices.ContainsFunc(o.Parameters, func(p *v3.Parameter) bool { return p.In == "header" && p.Name == c.header })
			if accepts != c.want || accepts && o.Responses.Codes.GetOrZero(c.status) == nil {
				t.Errorf("%s %s accepts %s: %t, want %t, with %s", method, path, c.header, accepts, c.want, c.status)
			}
			if c.header == "Idempotency-Key" && accepts {
				for status, r := range o.Responses.Codes.FromOldest() {
					if status < "300" && r.Headers.GetOrZero("Idempotent-Replayed") == nil {
						t.Errorf("%s %s: %s does not name Idempotent-Replayed", method, path, status)
					}
				}
			}
		}
	})
}

func TestDocumentedParametersAreAccepted(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	var checked int
	mustContract(t).everyOperation(func(method, path string, o *v3.Operation) {
		if strings.Contains(path, "{type}") {
			return // see TestReportFilesAcceptTheDocumentedParameters
		}
		query := url.Values{"unheard-of": {""}}
		for _, p := range o.Parameters {
			if p.In == "query" {
				query.Set(p.Name, "")
				checked++
			}
		}
		if len(query) == 1 {
			return
		}
		got := a.try(t, call{
			method: method, path: strings.ReplaceAll(path, "{id}", "1") + "?" + query.Encode(), wantStatus: 400,
			wantCode: InvalidParameter,
		})
		for name, problems := range mustDecode[errorResponse](t, got.body).Error.Details {
			if unknown := slices.Contains(problems, "is not a known parameter"); unknown != (name == "unheard-of") {
				t.Errorf("%s %s: %s %v", method, path, name, problems)
			}
		}
	})
	if checked < 40 {
		t.Errorf("only %d parameters were tried", checked)
	}
}

func TestErrorCodesMatchTheDocument(t *testing.T) {
	t.Parallel()
	c := mustContract(t)
	want, table, listed := map[string]int{}, map[string]int{}, map[string]int{}
	for code, known := range codes {
		want[string(code)] = known.status
	}
	for _, row := range regexp.MustCompile("(?m)^\\| (\\d{3}) \\| `([A-Z_]+)` \\|").FindAllStringSubmatch(c.model.Info.Description, -1) {
		table[row[2]], _ = strconv.Atoi(row[1])
	}
	if diff := cmp.Diff(want, table); diff != "" {
		t.Errorf("errors.go and the table (-errors.go +table):\n%s", diff)
	}
	for _, code := range c.model.Components.Schemas.GetOrZero("ErrorCode").Schema().Enum {
		listed[code.Value] = want[code.Value]
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("errors.go and schema ErrorCode (-errors.go +schema):\n%s", diff)
	}
	c.everyOperation(func(method, path string, o *v3.Operation) {
		for status, r := range o.Responses.Codes.FromOldest() {
			if status < "400" {
				continue
			}
			failure, _ := r.Content.GetOrZero("application/json").Schema.Schema().Properties.Get("error")
			code, _ := failure.Schema().Properties.Get("code")
			for _, value := range code.Schema().Enum {
				if got := strconv.Itoa(want[value.Value]); got != status {
					t.Errorf("%s %s: %s is listed under %s, its status is %s", method, path, value.Value, status, got)
				}
				if !strings.Contains(r.Description, "`"+value.Value+"`") {
					t.Errorf("%s %s: the description of %s does not name %s", method, path, status, value.Value)
				}
			}
		}
	})
}

func TestExamplesMatchTheirSchemas(t *testing.T) {
	t.Parallel()
	document, err := strictDocument()
	if err != nil {
		t.Fatal(err)
	}
	e := newExamples(t, document)
	e.walk(document, "#")
	if e.checked < 80 {
		t.Errorf("only %d examples were found", e.checked)
	}
}

func newExamples(t *testing.T, document map[string]any) *examples {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("document", document); err != nil {
		t.Fatal(err)
	}
	return &examples{t: t, document: document, compiler: compiler}
}

// examples validates each example of the document against its schema.
type examples struct {
	t        *testing.T
	document map[string]any
	compiler *jsonschema.Compiler
	checked  int
}

func (e *examples) walk(node any, at string) {
	switch node := node.(type) {
	case []any:
		for i, child := range node {
			e.walk(child, at+"/"+strconv.Itoa(i))
		}
	case map[string]any:
		e.check(node, at)
		for name, child := range node {
			if name != "example" && name != "examples" && name != "value" {
				e.walk(child, at+"/"+strings.NewReplacer("~", "~0", "/", "~1", "%", "%25", "{", "%7B", "}", "%7D").Replace(name))
			}
		}
	}
}

// check finds the three kinds of examples: `example` and a map of named `examples` beside a schema, and a
// list of `examples` inside one.
func (e *examples) check(node map[string]any, at string) {
	if _, beside := node["schema"]; beside {
		if example, has := node["example"]; has {
			e.fits(example, at+"/schema")
		}
		named, _ := node["examples"].(map[string]any)
		for _, example := range named {
			e.fits(e.follow(example)["value"], at+"/schema")
		}
		return
	}
	inside, _ := node["examples"].([]any)
	for _, example := range inside {
		e.fits(example, at)
	}
}

// follow returns an example, or the component that it refers to.
func (e *examples) follow(example any) map[string]any {
	object := example.(map[string]any)
	if reference, is := object["$ref"].(string); is {
		shared := e.document["components"].(map[string]any)["examples"].(map[string]any)
		object = shared[strings.TrimPrefix(reference, "#/components/examples/")].(map[string]any)
	}
	return object
}

// ofResponses returns the examples of responses of components, by the path of their schema.
func (e *examples) ofResponses() map[string]any {
	found := map[string]any{}
	for name, response := range member(member(e.document, "components"), "responses") {
		media := member(member(response.(map[string]any), "content"), "application/json")
		at := "#/components/responses/" + name + "/content/application~1json/schema"
		if example, has := media["example"]; has {
			found[at] = example
		}
		for _, example := range member(media, "examples") {
			found[at] = e.follow(example)["value"]
		}
	}
	return found
}

func (e *examples) valid(schema string, value any) bool {
	e.t.Helper()
	compiled, err := e.compiler.Compile("document" + schema)
	if err != nil {
		e.t.Fatal(err)
	}
	return compiled.Validate(value) == nil
}

func (e *examples) fits(example any, schema string) {
	e.checked++
	compiled, err := e.compiler.Compile("document" + schema)
	if err != nil {
		e.t.Fatal(err)
	}
	if err := compiled.Validate(example); err != nil {
		shown, _ := json.Marshal(example)
		e.t.Errorf("%s: %s: %v", schema, shown, err)
	}
}

// TestReportFilesAcceptTheDocumentedParameters compares the parameters of all types with
// openapi.yaml.
func TestReportFilesAcceptTheDocumentedParameters(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	documented := map[string]bool{}
	_, operation := mustContract(t).operation("GET", "/api/reports/export/products")
	for _, p := range operation.Parameters {
		documented[p.Name] = p.In == "query"
	}
	known := map[string]bool{}
	for kind := range reportFiles {
		for name := range documented {
			path := "/api/reports/export/" + kind + "?" + name + "="
			got := a.try(t, call{path: path, wantStatus: 400, wantCode: InvalidParameter})
			if !slices.Contains(mustDecode[errorResponse](t, got.body).Error.Details[name], "is not a known parameter") {
				known[name] = true
			}
		}
	}
	if len(known) != len(documented) || len(known) < 8 {
		t.Errorf("taken: %v, documented: %v", known, documented)
	}
}
