package main

import (
	"slices"
	"strings"
)

// sdk is what the document says, in the terms of a client.
type sdk struct {
	document   *object
	types      []*named
	byName     map[string]*named
	operations []*operation
	codes      []string // of errors
	enums      map[string]string
}

// named is a type with a name: an object, or the values of a text.
type named struct {
	name, doc string
	fields    []field  // of an object
	values    []string // of a text; a later release can add some
	sent      bool     // a part of requests
}

type field struct {
	name, doc          string
	required, nullable bool
	of                 ref
}

// kind is a type without a name, or that of all named types.
type kind int

const (
	anything kind = iota
	text
	moment // a time
	money  // a decimal as text
	scalar // a text or an integer
	integer
	boolean
	anyObject // an object whose fields are data
	list
	dictionary
	typed
)

// ref refers to a type.
type ref struct {
	kind kind
	of   *ref // of a list or a dictionary
	name string
}

// result says what a method returns.
type result int

const (
	nothing result = iota
	data           // the member `data` of the body
	whole          // the body
	file           // a stream
)

type operation struct {
	id, method, path, doc string
	parameters            []field // of the path
	query                 []field
	fixed                 string // a query that the method always sends
	body                  *ref
	bodyRequired          bool
	result                result
	of                    ref
	pages                 string // the name of the parameter that continues a list
	element               ref    // of the list
	repeatable            bool   // sending it twice has the effect of sending it once
	keyed                 bool   // accepts an Idempotency-Key
}

// renamed are names that the document does not have, or whose own name says less.
var renamed = map[string]string{
	"Meta|WalkMeta": "ListMeta", "PlanCreated": "PlanResult", "PlanChanged": "PlanResult", "BulkPassed": "BulkResult", "OrdersPassed": "OrdersResult",
	"SalesSummaryResult": "SalesSummaryReport", "ListProductsDirection": "Direction",
}

// variants are methods for a parameter that changes what an operation returns.
var variants = map[string]struct{ id, query, success string }{
	"upsertProducts": {id: "planProducts", query: "plan=true", success: "201"},
}

func newSDK(document *object) *sdk {
	s := &sdk{document: document, byName: map[string]*named{}, enums: map[string]string{}}
	components := document.object("components")
	s.codes = components.object("schemas").object("ErrorCode").texts("enum")
	for _, name := range components.object("schemas").keys {
		// Named values come first, so that a field with the same values has their type.
		if schema := components.object("schemas").object(name); len(schema.list("enum")) > 1 {
			s.component(name)
		}
	}
	paths := document.object("paths")
	for _, path := range paths.keys {
		item := paths.object(path)
		for _, method := range item.keys {
			if o := item.object(method); o.has("operationId") && o.text("x-permission") != "no key" {
				s.operation(strings.ToUpper(method), path, item, o)
			}
		}
	}
	s.component("WebhookMessage")
	s.component("Error")
	return s
}

// component returns the type of a component.
func (s *sdk) component(name string) ref {
	schema, _ := s.document.component("#/components/schemas/" + name)
	switch name {
	case "Money", "MoneyOrNull", "MoneySent", "MoneySentOrNull", "Percent", "PercentOrNull":
		return ref{kind: money}
	}
	if schema.list("allOf") != nil {
		return s.object(name, schema) // a type of its own, also if it adds no fields
	}
	return s.schema(name, schema)
}

// schema returns the type of a schema. An object without a name gets the given one.
func (s *sdk) schema(name string, schema *object) ref {
	if reference := schema.text("$ref"); reference != "" {
		_, name := s.document.component(reference)
		return s.component(name)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if branches := schema.list(key); branches != nil {
			return s.union(name, branches)
		}
	}
	if parts := schema.list("allOf"); len(parts) == 1 && !s.adds(schema, parts[0].(*object)) {
		return s.schema(name, parts[0].(*object))
	}
	if values := schema.texts("enum"); len(values) > 1 && !slices.Contains(schema.texts("type"), "boolean") {
		return s.enum(name, schema, values)
	}
	switch kinds := schema.texts("type"); {
	case slices.Contains(kinds, "array"):
		of := s.schema(singular(name), schema.object("items"))
		return ref{kind: list, of: &of}
	case schema.object("properties") != nil || schema.list("allOf") != nil:
		return s.object(name, schema)
	case schema.object("additionalProperties") != nil:
		of := s.schema(name+"Value", schema.object("additionalProperties"))
		return ref{kind: dictionary, of: &of}
	case slices.Contains(kinds, "object"):
		return ref{kind: anyObject}
	case schema.text("format") == "date-time":
		return ref{kind: moment}
	case slices.Contains(kinds, "string"):
		return ref{kind: text}
	case slices.Contains(kinds, "integer"):
		return ref{kind: integer}
	case slices.Contains(kinds, "number"):
		return ref{kind: money}
	case slices.Contains(kinds, "boolean"):
		return ref{kind: boolean}
	}
	return ref{kind: anything}
}

func singular(name string) string {
	if strings.HasSuffix(name, "ies") {
		return strings.TrimSuffix(name, "ies") + "y"
	}
	return strings.TrimSuffix(name, "s")
}

// adds reports whether a schema has fields that its only part lacks.
func (s *sdk) adds(schema, part *object) bool {
	if part.text("$ref") == "" {
		return true
	}
	have := s.properties(part)
	for _, name := range schema.object("properties").names() {
		if !have.has(name) {
			return true
		}
	}
	return schema.has("required") && have != nil
}

func (o *object) names() []string {
	if o == nil {
		return nil
	}
	return o.keys
}

// union returns the type of alternatives: null is a property of the field, the text of a number is exact, and objects
// have the fields of all.
func (s *sdk) union(name string, branches []any) ref {
	var found []ref
	var objects []*object
	var names []string
	for _, branch := range branches {
		schema := branch.(*object)
		if slices.Equal(schema.texts("type"), []string{"null"}) || schema.has("type") && schema.values["type"] == nil {
			continue
		}
		if reference := schema.text("$ref"); reference != "" {
			target, component := s.document.component(reference)
			if target.object("properties") != nil || target.list("allOf") != nil {
				objects, names = append(objects, target), append(names, component)
			}
		}
		found = append(found, s.schema(name, schema))
	}
	if len(found) == 1 {
		return found[0]
	}
	if len(objects) == len(found) {
		return s.merged(strings.Join(names, "|"), objects)
	}
	sentAsText := slices.ContainsFunc(found, func(r ref) bool { return r.kind == text })
	switch {
	case slices.ContainsFunc(found, func(r ref) bool { return r.kind == anyObject }) && sentAsText:
		return ref{kind: text} // the objects of a response are only accepted to be ignored
	case slices.ContainsFunc(found, func(r ref) bool { return r.kind == integer }):
		return ref{kind: scalar}
	}
	return ref{kind: money} // a number or its text
}

// merged returns an object with the fields of several, of which only those are required that all require.
func (s *sdk) merged(name string, objects []*object) ref {
	if other, has := renamed[name]; has {
		name = other
	}
	if s.byName[name] != nil {
		return ref{kind: typed, name: name}
	}
	n := s.add(name, "")
	count := map[string]int{}
	for _, o := range objects {
		for _, f := range s.fieldsOf(name, o) {
			if count[f.name]++; count[f.name] == 1 {
				n.fields = append(n.fields, f)
			} else if !f.required {
				count[f.name]--
			}
		}
	}
	for i := range n.fields {
		n.fields[i].required = count[n.fields[i].name] == len(objects)
	}
	return ref{kind: typed, name: name}
}

func (s *sdk) add(name, doc string) *named {
	if s.byName[name] != nil {
		panic("two types have the name " + name)
	}
	n := &named{name: name, doc: doc}
	s.types, s.byName[name] = append(s.types, n), n
	return n
}

// enum returns a type for values, the same for all fields with these values.
func (s *sdk) enum(name string, schema *object, values []string) ref {
	key := strings.Join(values, "|")
	if known, has := s.enums[key]; has {
		return ref{kind: typed, name: known}
	}
	if other, has := renamed[name]; has {
		name = other
	}
	s.enums[key] = name
	s.add(name, schema.text("description")).values = values
	return ref{kind: typed, name: name}
}

func (s *sdk) object(name string, schema *object) ref {
	if s.byName[name] == nil {
		n := s.add(name, schema.text("description")) // first, because an object can contain itself
		n.fields = s.fieldsOf(name, schema)
	}
	return ref{kind: typed, name: name}
}

// fieldsOf returns the fields of an object that a client sends or gets.
func (s *sdk) fieldsOf(name string, schema *object) []field {
	properties, required := s.properties(schema), s.required(schema)
	var fields []field
	for _, property := range properties.names() {
		p := properties.object(property)
		if p == nil || p.text("readOnly") == "true" {
			continue
		}
		if reference := p.text("$ref"); reference != "" {
			if target, _ := s.document.component(reference); target.text("readOnly") == "true" {
				continue
			}
		}
		fields = append(fields, s.field(name, property, p, slices.Contains(required, property)))
	}
	return fields
}

func (s *sdk) field(of, name string, schema *object, required bool) field {
	return field{
		name: name, doc: schema.text("description"), required: required, nullable: s.nullable(schema),
		of: s.schema(of+pascal(name), schema),
	}
}

// properties returns the fields of an object, with those of its parts.
func (s *sdk) properties(schema *object) *object {
	all := &object{values: map[string]any{}}
	if reference := schema.text("$ref"); reference != "" {
		target, _ := s.document.component(reference)
		return s.properties(target)
	}
	for _, part := range schema.list("allOf") {
		inherited := s.properties(part.(*object))
		for _, name := range inherited.names() {
			all.set(name, inherited.values[name])
		}
	}
	for _, name := range schema.object("properties").names() {
		all.set(name, schema.object("properties").values[name])
	}
	return all
}

func (s *sdk) required(schema *object) []string {
	if reference := schema.text("$ref"); reference != "" {
		target, _ := s.document.component(reference)
		return s.required(target)
	}
	names := schema.texts("required")
	for _, part := range schema.list("allOf") {
		names = append(names, s.required(part.(*object))...)
	}
	return names
}

func (s *sdk) nullable(schema *object) bool {
	if reference := schema.text("$ref"); reference != "" {
		target, _ := s.document.component(reference)
		return s.nullable(target)
	}
	if slices.Contains(schema.texts("type"), "null") {
		return true
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		for _, branch := range schema.list(key) {
			if s.nullable(branch.(*object)) {
				return true
			}
		}
	}
	parts := schema.list("allOf")
	return len(parts) == 1 && s.nullable(parts[0].(*object))
}

func (s *sdk) operation(method, path string, item, o *object) {
	id := o.text("operationId")
	op := &operation{id: id, method: method, path: path, doc: summary(o)}
	for _, parameter := range append(slices.Clone(item.list("parameters")), o.list("parameters")...) {
		p := parameter.(*object)
		if reference := p.text("$ref"); reference != "" {
			p, _ = s.document.component(reference)
		}
		name := p.text("name")
		f := s.field(pascal(id), name, p.object("schema"), p.text("required") == "true")
		f.doc = p.text("description")
		switch in := p.text("in"); {
		case name == "Idempotency-Key":
			op.keyed = true
		case in == "path":
			op.parameters = append(op.parameters, f)
		case in == "query" && !strings.HasPrefix(variants[id].query, name+"="):
			op.query = append(op.query, f)
		}
	}
	op.repeatable = method != "POST" || strings.HasSuffix(o.text("x-permission"), ":read")
	if content := o.object("requestBody").object("content"); content.has("application/json") {
		of := s.schema(pascal(id)+"Body", content.object("application/json").object("schema"))
		s.markSent(of)
		op.body, op.bodyRequired = &of, o.object("requestBody").text("required") == "true"
	} else if content != nil {
		// Methods that upload files are written by hand. They need the other fields and the result.
		for _, f := range s.fieldsOf(pascal(id), content.object("multipart/form-data").object("schema")) {
			s.markSent(f.of)
		}
		s.respond(op, o, "")
		return
	}
	s.respond(op, o, "")
	s.operations = append(s.operations, op)
	if variant, has := variants[id]; has {
		other := *op
		other.id, other.fixed = variant.id, variant.query
		s.respond(&other, o, variant.success)
		s.operations = append(s.operations, &other)
	}
}

// summary returns the summary of an operation, and the first paragraph of its description. The paragraph that begins
// with "Deprecated:" is the last one, as tools of Go demand.
func summary(o *object) string {
	said := o.text("summary") + "."
	for i, paragraph := range strings.Split(strings.TrimSpace(o.text("description")), "\n\n") {
		if i == 0 && !strings.HasPrefix(paragraph, "Permission:") || strings.HasPrefix(paragraph, "Deprecated:") {
			said += "\n\n" + paragraph
		}
	}
	return said
}

// markSent marks the types of a request.
func (s *sdk) markSent(r ref) {
	if r.of != nil {
		s.markSent(*r.of)
	}
	if n := s.byName[r.name]; n != nil && !n.sent {
		n.sent = true
		for _, f := range n.fields {
			s.markSent(f.of)
		}
	}
}

// respond sets what a method returns, by the response with the given status or the first one.
func (s *sdk) respond(op *operation, o *object, status string) {
	responses := o.object("responses")
	if status == "" {
		status = responses.keys[0]
	}
	response := responses.object(status)
	name := pascal(op.id) + "Result"
	if reference := response.text("$ref"); reference != "" {
		response, name = s.document.component(reference)
	}
	content := response.object("content")
	switch media := content.object("application/json"); {
	case content == nil:
		op.result = nothing
	case media == nil:
		op.result = file
	case media.object("schema").object("properties").has("success"):
		s.envelope(op, name, media.object("schema"))
	default:
		op.result, op.of = whole, s.schema(name, media.object("schema"))
	}
}

// envelope sets the result of an operation: `data`, or the body if it has more than that.
func (s *sdk) envelope(op *operation, name string, schema *object) {
	properties := schema.object("properties").without("success")
	if other, has := renamed[name]; has {
		name = other
	}
	if len(properties.keys) == 1 {
		op.result, op.of = data, s.schema(name+"Data", properties.object("data"))
		return
	}
	op.result = whole
	op.of = s.object(name, schema.without("properties").with("properties", properties).without("required").
		with("required", slices.DeleteFunc(slices.Clone(schema.list("required")), func(v any) bool { return v == "success" })))
	fields := s.byName[name].fields
	if fields[0].of.kind != list {
		return
	}
	op.element = *fields[0].of.of
	for _, continues := range []string{"cursor", "page", "after", "before"} {
		has := slices.ContainsFunc(op.query, func(f field) bool { return f.name == continues })
		if has && op.pages == "" && op.id != "listChanges" {
			op.pages = continues
		}
	}
}

func (o *object) with(key string, value any) *object {
	o.set(key, value)
	return o
}

// iterator returns the name of the method that reads all pages.
func (op *operation) iterator() string {
	if rest, is := strings.CutPrefix(op.id, "list"); is {
		return "all" + rest
	}
	return "all" + strings.ToUpper(op.id[:1]) + op.id[1:]
}
