//go:build !fuzz

package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The document allows fields of responses that it does not list, because a later release may add some. The
// tests validate responses with a stricter copy of it, so that they find fields without a description.

// strictDocument returns the document with closed responses and messages of webhooks.
func strictDocument() (map[string]any, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(servedDocument().plain()))
	if err != nil {
		return nil, err
	}
	d := document.(map[string]any)
	c := closer{schemas: member(member(d, "components"), "schemas")}
	eachOperation(d, func(operation map[string]any) { c.responses(member(operation, "responses")) })
	c.responses(member(member(d, "components"), "responses"))
	for _, item := range member(d, "webhooks") {
		c.content(member(member(item.(map[string]any), "post"), "requestBody"))
	}
	return d, nil
}

func eachOperation(document map[string]any, f func(operation map[string]any)) {
	for _, item := range member(document, "paths") {
		for _, operation := range item.(map[string]any) {
			if operation, is := operation.(map[string]any); is {
				f(operation)
			}
		}
	}
}

// member returns a member that is an object, or nil.
func member(parent map[string]any, name string) map[string]any {
	value, _ := parent[name].(map[string]any)
	return value
}

// closer replaces schemas by copies in which every object has only the fields that are listed. An object
// without `properties`, or with `additionalProperties`, stays as it is.
type closer struct {
	schemas  map[string]any // of components; the copies are added
	open     []string       // the fields of objects that were open
	closed   []string       // the fields of objects that were closed already
	defaults []any          // of values
}

func (c *closer) responses(responses map[string]any) {
	for _, response := range responses {
		c.content(response.(map[string]any))
	}
}

func (c *closer) content(body map[string]any) {
	for _, media := range member(body, "content") {
		media := media.(map[string]any)
		if schema, has := media["schema"]; has {
			media["schema"] = c.copy(schema, true)
		}
		if codes, is := media["x-error-codes"].([]any); is {
			media["schema"] = c.copy(withCodes(codes, media["x-error-required"]), true)
		}
	}
}

// withCodes returns the schema of an error with some of all codes. In the document all errors have one
// schema, because generated clients get a type for each schema.
func withCodes(codes []any, required any) map[string]any {
	fault := map[string]any{
		"allOf":      []any{map[string]any{"$ref": schemaReference + "Fault"}},
		"properties": map[string]any{"code": map[string]any{"type": "string", "enum": codes}},
	}
	if required != nil {
		fault["required"] = required
	}
	return map[string]any{
		"type": "object", "required": []any{"success", "error"},
		"properties": map[string]any{
			"success": map[string]any{"$ref": schemaReference + "Failure"}, "error": fault,
		},
	}
}

// copy closes the values of the fields of a schema, and the schema itself unless it describes a part of an
// object, as the schemas of `allOf` do.
func (c *closer) copy(schema any, whole bool) any {
	s, is := schema.(map[string]any)
	if !is {
		return schema
	}
	copied := maps.Clone(s)
	if value, has := s["default"]; has {
		c.defaults = append(c.defaults, value)
	}
	if reference, refers := s["$ref"].(string); refers {
		copied["$ref"] = c.component(reference, whole)
	}
	if fields := member(s, "properties"); fields != nil {
		copied["properties"] = c.fields(s, fields)
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if inner, has := s[key]; has {
			copied[key] = c.copy(inner, true)
		}
	}
	composed := s["allOf"] != nil || s["properties"] != nil
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		if branches, is := s[key].([]any); is {
			copied[key] = c.branches(branches, whole && !composed)
		}
	}
	if whole && len(c.names(s)) > 0 {
		c.close(copied, c.names(s))
	}
	return copied
}

func (c *closer) branches(schemas []any, whole bool) []any {
	copied := make([]any, len(schemas))
	for i, branch := range schemas {
		copied[i] = c.copy(branch, whole)
	}
	return copied
}

// fields closes the values of fields, except of those that a schema of `allOf` describes too: it lists what
// they have.
func (c *closer) fields(s, fields map[string]any) map[string]any {
	copied := maps.Clone(fields)
	inherited := c.names(map[string]any{"allOf": s["allOf"]})
	for name, field := range fields {
		if !slices.Contains(inherited, name) {
			copied[name] = c.copy(field, true)
		}
	}
	return copied
}

// names lists the fields of an object, with those of the schemas of `allOf`.
func (c *closer) names(s map[string]any) []string {
	names := slices.Sorted(maps.Keys(member(s, "properties")))
	for _, part := range c.parts(s) {
		names = append(names, c.names(part)...)
	}
	return names
}

func (c *closer) close(s map[string]any, names []string) {
	_, free := s["additionalProperties"]
	switch {
	case c.sealed(s):
		c.closed = append(c.closed, fmt.Sprint(names))
	case !free:
		c.open = append(c.open, fmt.Sprint(names))
		s["unevaluatedProperties"] = false
	}
}

// sealed reports whether an object, or a part of it, allows no other fields.
func (c *closer) sealed(s map[string]any) bool {
	return s["additionalProperties"] == false || s["unevaluatedProperties"] == false ||
		slices.ContainsFunc(c.parts(s), c.sealed)
}

// parts returns the schemas of `allOf`.
func (c *closer) parts(s map[string]any) []map[string]any {
	var parts []map[string]any
	branches, _ := s["allOf"].([]any)
	for _, branch := range branches {
		part := branch.(map[string]any)
		if reference, refers := part["$ref"].(string); refers {
			part = member(c.schemas, strings.TrimPrefix(reference, schemaReference))
		}
		parts = append(parts, part)
	}
	return parts
}

const schemaReference = "#/components/schemas/"

// component returns the reference to a copy of a component.
func (c *closer) component(reference string, whole bool) string {
	name := strings.TrimPrefix(reference, schemaReference)
	copied := name + ".part"
	if whole {
		copied = name + ".whole"
	}
	if _, exists := c.schemas[copied]; !exists {
		c.schemas[copied] = nil // a schema can contain itself
		c.schemas[copied] = c.copy(c.schemas[name], whole)
	}
	return schemaReference + copied
}

// TestResponsesMayGetFieldsAndRequestsMayNot checks *Versions*: a client must accept new fields of a
// response, and a request with an unknown field is refused.
func TestResponsesMayGetFieldsAndRequestsMayNot(t *testing.T) {
	t.Parallel()
	document := mustUnmarshal(t, servedDocument().plain())
	schemas := member(member(document, "components"), "schemas")
	requests, responses := closer{schemas: maps.Clone(schemas)}, closer{schemas: maps.Clone(schemas)}
	eachOperation(document, func(operation map[string]any) {
		requests.content(member(operation, "requestBody"))
		responses.responses(member(operation, "responses"))
	})
	responses.responses(member(member(document, "components"), "responses"))
	for _, item := range member(document, "webhooks") {
		responses.content(member(member(item.(map[string]any), "post"), "requestBody"))
	}
	for _, names := range requests.open {
		t.Errorf("a request with the fields %s allows others", names)
	}
	for _, value := range requests.defaults {
		t.Errorf("types of TypeScript demand a field of a request with the default %v", value)
	}
	for _, names := range responses.closed {
		t.Errorf("a response with the fields %s allows no others", names)
	}
	if len(requests.closed) < 25 || len(responses.open) < 150 {
		t.Errorf("found %d objects of requests and %d of responses", len(requests.closed), len(responses.open))
	}
}

// TestTestsFindFieldsWithoutADescription adds a field to each object of each example of a response. The
// document must accept it, and the copy that tests use must not.
func TestTestsFindFieldsWithoutADescription(t *testing.T) {
	t.Parallel()
	strict, err := strictDocument()
	if err != nil {
		t.Fatal(err)
	}
	served := newExamples(t, mustUnmarshal(t, servedDocument().plain()))
	checked := newExamples(t, strict)
	var tried int
	for at, example := range checked.ofResponses() {
		for path, object := range objects(example, at) {
			object["undocumented"] = nil
			accepted, found := served.valid(at, example), !checked.valid(at, example)
			delete(object, "undocumented")
			switch {
			case isMap(path): // the document does not name its fields
			case !accepted:
				t.Errorf("%s: the document refuses a new field", path)
			case !found:
				t.Errorf("%s: the tests accept a field without a description", path)
			default:
				tried++
			}
		}
	}
	if tried < 250 {
		t.Errorf("only %d objects were tried", tried)
	}
}

// isMap reports whether an object of an example has fields with names from data.
func isMap(path string) bool {
	return slices.ContainsFunc(
		[]string{"/details", "/counts", "/mapping", "/formulas", "/problems", "/theirs", "/errors", "/old", "/new"},
		func(name string) bool { return strings.HasSuffix(path, name) },
	)
}

// objects yields the objects of a value with their paths.
func objects(value any, at string) iter.Seq2[string, map[string]any] {
	return func(yield func(string, map[string]any) bool) { eachObject(value, at, yield) }
}

func eachObject(value any, at string, yield func(string, map[string]any) bool) bool {
	switch value := value.(type) {
	case []any:
		for i, item := range value {
			if !eachObject(item, fmt.Sprintf("%s/%d", at, i), yield) {
				return false
			}
		}
	case map[string]any:
		if !yield(at, value) {
			return false
		}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if !eachObject(value[name], at+"/"+name, yield) {
				return false
			}
		}
	}
	return true
}

func mustUnmarshal(t *testing.T, body []byte) map[string]any {
	t.Helper()
	var document map[string]any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&document); err != nil {
		t.Fatal(err)
	}
	return document
}
