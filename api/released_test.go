//go:build !fuzz

package api

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pb33f/libopenapi"
	"github.com/pb33f/libopenapi/what-changed/model"
)

// allowed are differences from the released contract that would break a client, but do not, with words of the entry
// of the CHANGELOG that says why. A release empties it, and copies openapi.yaml to testdata/openapi-released.yaml.
var allowed = map[string]string{
	"lacks POST /api/products/changes with the permission products:write": "`products:write` includes it",
}

// TestClientsOfTheLastReleaseWork compares openapi.yaml with the contract of the last release.
func TestClientsOfTheLastReleaseWork(t *testing.T) {
	t.Parallel()
	released, err := os.ReadFile("testdata/openapi-released.yaml")
	if err != nil {
		t.Fatal(err)
	}
	changelog := mustUnreleased(t)
	breaking, added := differences(t, string(released), string(openAPIYAML))
	for _, difference := range breaking {
		if words, listed := allowed[difference]; !listed || !strings.Contains(changelog, words) {
			t.Errorf("breaks clients: %s", difference)
		}
	}
	for difference := range allowed {
		if !slices.Contains(breaking, difference) {
			t.Errorf("openapi.yaml does not have the allowed difference %s", difference)
		}
	}
	for _, name := range added {
		if !strings.Contains(changelog, name) {
			t.Errorf("*Unreleased* in CHANGELOG.md does not name %s, which openapi.yaml adds", name)
		}
	}
}

// aContract is small, because comparing whole documents takes seconds.
const aContract = `openapi: 3.1.0
info: {title: A contract, version: 1.0.0}
paths:
  /items:
    get:
      operationId: listItems
      x-permission: items:read
      parameters:
        - {name: tag, in: query, schema: {type: string}}
        - {name: format, in: query, schema: {type: string, enum: [csv, xlsx], default: csv}}
      responses:
        '200':
          description: Items.
          headers:
            ETag: {schema: {type: string}}
          content: {application/json: {schema: {$ref: '#/components/schemas/Item'}}}
    post:
      operationId: createItem
      x-permission: items:write
      requestBody:
        content: {application/json: {schema: {$ref: '#/components/schemas/NewItem'}}}
      responses:
        '201': {description: Created., content: {application/json: {schema: {$ref: '#/components/schemas/Item'}}}}
        '409': {description: In use., content: {application/json: {schema: {type: object}, x-error-codes: [IN_USE]}}}
components:
  schemas:
    Item: {type: object, required: [id, state], properties: {id: {type: integer}, state: {type: string, enum: [new, used]}}}
    NewItem: {type: object, required: [name], properties: {name: {type: string, maxLength: 100}, note: {type: string}}}
`

func TestDifferencesOfContractsAreFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, old, new string
		breaks         bool
		added          []string
	}{
		{name: "nothing"},
		{name: "another text", old: "In use.", new: "The item is in use."},
		{name: "a method of generated clients", old: "listItems", new: "items", breaks: true},
		{name: "a path", old: "/items:", new: "/things:", breaks: true, added: []string{"/things"}},
		{name: "a permission", old: "items:read", new: "items:write", breaks: true},
		{name: "a parameter that is required", old: "name: tag,", new: "name: tag, required: true,", breaks: true},
		{name: "a parameter that is gone", old: "        - {name: tag, in: query, schema: {type: string}}\n", breaks: true},
		{
			name: "a new parameter", old: "        - {name: tag",
			new: "        - {name: sort, in: query, schema: {type: string}}\n        - {name: tag", added: []string{"sort"},
		},
		{name: "a new value", old: "[new, used]", new: "[new, used, broken]", added: []string{"broken"}},
		{name: "a value that is gone", old: "[new, used]", new: "[new]", breaks: true},
		{
			name: "a new field that is always present", old: "[id, state], properties: {",
			new: "[id, state, at], properties: {at: {type: string}, ", added: []string{"at"},
		},
		{name: "a field that can be absent", old: "[id, state]", new: "[id]", breaks: true},
		{name: "a field that is gone", old: ", note: {type: string}", breaks: true},
		{name: "a field that a request needs", old: "[name]", new: "[name, note]", breaks: true},
		{name: "a shorter text", old: "maxLength: 100", new: "maxLength: 99", breaks: true},
		{name: "another default", old: "default: csv", new: "default: xlsx", breaks: true},
		{name: "another type", old: "type: integer", new: "type: string", breaks: true},
		{name: "another status", old: "'201'", new: "'200'", breaks: true, added: []string{"200"}},
		{name: "another error code", old: "[IN_USE]", new: "[GONE]", breaks: true},
		{name: "one more error code", old: "[IN_USE]", new: "[IN_USE, GONE]"},
		{name: "a header that is gone", old: "          headers:\n            ETag: {schema: {type: string}}\n", breaks: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(aContract, c.old) {
				t.Fatalf("the contract lacks %q", c.old)
			}
			breaking, added := differences(t, aContract, strings.Replace(aContract, c.old, c.new, 1))
			if len(breaking) > 0 != c.breaks {
				t.Errorf("breaks = %v, want %t", breaking, c.breaks)
			}
			if diff := cmp.Diff(c.added, added); diff != "" {
				t.Errorf("added (-want +got):\n%s", diff)
			}
		})
	}
}

// mustUnreleased returns the newest section of the CHANGELOG.
func mustUnreleased(t *testing.T) string {
	t.Helper()
	changelog, err := os.ReadFile("../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(changelog), "\n## Unreleased\n")
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}

// announced are the parts of a contract whose additions the CHANGELOG must name.
var announced = []string{"properties", "parameters", "codes", "enum", "required"}

// differences lists what breaks clients of the old contract, and the names of what the new one adds.
func differences(t *testing.T, old, updated string) (breaking, added []string) {
	t.Helper()
	before, after := promisesOf(t, old), promisesOf(t, updated)
	for _, kept := range slices.Sorted(maps.Keys(before.keeps)) {
		if !after.keeps[kept] {
			breaking = append(breaking, "lacks "+kept)
		}
	}
	for _, demand := range slices.Sorted(maps.Keys(after.demands)) {
		if of := after.demands[demand]; before.keeps[of] && before.demands[demand] == "" {
			breaking = append(breaking, "demands "+demand)
		}
	}
	changes, err := libopenapi.CompareDocuments(mustDocument(t, old), mustDocument(t, updated))
	if err != nil {
		t.Fatal(err)
	}
	if changes == nil {
		return breaking, nil
	}
	for _, c := range changes.GetAllChanges() {
		addition := c.ChangeType == model.PropertyAdded || c.ChangeType == model.ObjectAdded
		switch {
		case addition && c.Property == "required": // of a response, or one of the demands
		case c.Breaking:
			breaking = append(breaking, fmt.Sprintf("%s: %q is now %q", c.Property, c.Original, c.New))
		case addition && (slices.Contains(announced, c.Property) || strings.HasPrefix(c.Property, "/")):
			added = append(added, c.New)
		}
	}
	slices.Sort(added)
	return breaking, slices.Compact(added)
}

func mustDocument(t *testing.T, text string) libopenapi.Document {
	t.Helper()
	document, err := libopenapi.NewDocument([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// promises are what libopenapi does not compare: extensions, and what is required of a request.
type promises struct {
	document map[string]any
	keeps    map[string]bool   // operations with their permission, and error codes of their responses
	demands  map[string]string // parameters and fields of requests, and their operation as in keeps
}

func promisesOf(t *testing.T, text string) promises {
	t.Helper()
	body, err := toJSON([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := promises{mustUnmarshal(t, body), map[string]bool{}, map[string]string{}}
	for path, item := range member(p.document, "paths") {
		for method, operation := range item.(map[string]any) {
			if operation, is := operation.(map[string]any); is {
				p.operation(strings.ToUpper(method)+" "+path, operation)
			}
		}
	}
	return p
}

func (p promises) operation(name string, operation map[string]any) {
	kept := fmt.Sprintf("%s with the permission %v", name, operation["x-permission"])
	p.keeps[kept] = true
	for status, response := range member(operation, "responses") {
		for _, media := range member(p.follow(response), "content") {
			codes, _ := media.(map[string]any)["x-error-codes"].([]any)
			for _, code := range codes {
				p.keeps[fmt.Sprintf("%s %s %s", name, status, code)] = true
			}
		}
	}
	parameters, _ := operation["parameters"].([]any)
	for _, parameter := range parameters {
		if parameter := p.follow(parameter); parameter["required"] == true {
			p.demands[fmt.Sprintf("%s %s", name, parameter["name"])] = kept
		}
	}
	body := member(operation, "requestBody")
	if body["required"] == true {
		p.demands[name+" body"] = kept
	}
	for _, media := range member(body, "content") {
		p.schema(name, kept, media.(map[string]any)["schema"])
	}
}

// schema adds the fields that a schema requires. Schemas of requests do not contain themselves.
func (p promises) schema(at, kept string, schema any) {
	s := p.follow(schema)
	if s == nil {
		return
	}
	required, _ := s["required"].([]any)
	for _, field := range required {
		p.demands[fmt.Sprintf("%s %s", at, field)] = kept
	}
	for name, field := range member(s, "properties") {
		p.schema(at+" "+name, kept, field)
	}
	for _, key := range []string{"items", "additionalProperties"} {
		p.schema(at, kept, s[key])
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		branches, _ := s[key].([]any)
		for _, branch := range branches {
			p.schema(at, kept, branch)
		}
	}
}

// follow returns an object, or the component that it refers to.
func (p promises) follow(value any) map[string]any {
	object, _ := value.(map[string]any)
	reference, refers := object["$ref"].(string)
	if !refers {
		return object
	}
	object = p.document
	for name := range strings.SplitSeq(strings.TrimPrefix(reference, "#/"), "/") {
		object = member(object, name)
	}
	return object
}
