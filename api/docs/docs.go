// Package docs renders the documentation: a page for each guide and for each resource of the OpenAPI document, an index
// for the search, and the same pages as Markdown for agents.
//
// The server renders whole pages, so that they work without script and under a strict Content-Security-Policy. The
// script searches, copies samples and sends the requests of the forms.
package docs

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"go.yaml.in/yaml/v2"
)

// Files are the templates, the guides and the files of the pages.
//
//go:embed *.html *.css *.js *.svg guides/*.md
var Files embed.FS

// topic is a text with a heading.
type topic struct {
	ID, Name string
	Markdown string
}

// Text returns the topic as HTML.
func (t topic) Text() template.HTML { return toHTML(t.Markdown) }

type group struct {
	topic
	Operations []operation
}

type operation struct {
	topic
	Method, Path string
	Deprecated   bool
	Writes       bool // changes data of the tenant
	Irreversible bool // the form asks before it sends the request
	Parameters   []field
	Body         *content
	Responses    []response
	Errors       []response
	Curl         string
}

type response struct {
	Status   string
	Markdown string
	Headers  []string
	Content  *content
}

// Text returns the description as HTML.
func (r response) Text() template.HTML { return toHTML(r.Markdown) }

type content struct {
	IsForm  bool          // multipart/form-data
	Type    template.HTML // if the schema has a name
	Fields  []field
	Example string
}

type schema struct {
	ID string
	field
}

// field is a parameter or a property of a schema.
type field struct {
	Name, In string
	Required bool
	Type     template.HTML
	Markdown string
	Rules    []template.HTML
	Fields   []field // of an object
	Named    bool    // the object is a schema with a name
}

// Text returns the description as HTML.
func (f field) Text() template.HTML { return toHTML(f.Markdown) }

// document is an OpenAPI document with its keys in the order of the source.
type document struct{ root yaml.MapSlice }

// introduction returns the description of the document by its headings.
func (d document) introduction() (topics []topic) {
	for i, part := range strings.Split("\n"+text(get(d.root, "info"), "description"), "\n## ") {
		name, body, _ := strings.Cut(part, "\n")
		if i == 0 {
			name = "Introduction"
		}
		topics = append(topics, topic{idOf(name), name, strings.TrimSpace(body)})
	}
	return topics
}

// groups returns the operations by tag.
func (d document) groups() (groups []group) {
	for _, tag := range list(get(d.root, "tags")) {
		name := text(tag, "name")
		groups = append(groups, group{topic{idOf(name), name, text(tag, "description")}, d.operations(name)})
	}
	return groups
}

// schemas returns all schemas with a name.
func (d document) schemas() (all []schema) {
	for _, item := range mapping(get(d.root, "components", "schemas")) {
		name := item.Key.(string)
		f := d.field(name, item.Value, make([]string, maxNested))
		all = append(all, schema{"schema-" + name, f})
	}
	return all
}

var notInID = regexp.MustCompile(`[^a-z0-9]+`)

func idOf(name string) string {
	return strings.Trim(notInID.ReplaceAllString(strings.ToLower(name), "-"), "-")
}

// operations returns the operations with a tag.
func (d document) operations(tag string) []operation {
	var found []operation
	for _, path := range mapping(get(d.root, "paths")) {
		shared := list(get(path.Value, "parameters"))
		for _, item := range mapping(path.Value) {
			method := strings.ToUpper(item.Key.(string))
			if method == "PARAMETERS" || !slices.Contains(list(get(item.Value, "tags")), any(tag)) {
				continue
			}
			o := operation{
				topic: topic{
					text(item.Value, "operationId"), text(item.Value, "summary"), text(item.Value, "description"),
				},
				Method: method, Path: path.Key.(string), Deprecated: get(item.Value, "deprecated") == true,
				Writes: method != "GET" && !strings.HasSuffix(text(item.Value, "x-permission"), ":read"),
				Body:   d.content(get(item.Value, "requestBody")),
			}
			o.Irreversible = method == "DELETE" || o.ID == "cancelOrder"
			for _, parameter := range append(slices.Clone(shared), list(get(item.Value, "parameters"))...) {
				p := d.resolve(parameter)
				f := d.field(text(p, "name"), get(p, "schema"), nil)
				f.In, f.Required, f.Markdown = text(p, "in"), get(p, "required") == true, text(p, "description")
				o.Parameters = append(o.Parameters, f)
			}
			for _, item := range mapping(get(item.Value, "responses")) {
				resolved := d.resolve(item.Value)
				r := response{
					Status: item.Key.(string), Markdown: text(resolved, "description"), Content: d.content(resolved),
				}
				for _, header := range mapping(get(resolved, "headers")) {
					r.Headers = append(r.Headers, header.Key.(string))
				}
				if r.Status < "400" {
					o.Responses = append(o.Responses, r)
				} else {
					o.Errors = append(o.Errors, r)
				}
			}
			o.Curl = o.curl(d.security(item.Value))
			found = append(found, o)
		}
	}
	return found
}

// content returns the JSON content of a request or response, or the form of a request with files, or nil.
func (d document) content(body any) *content {
	media := get(d.resolve(body), "content", "application/json")
	isForm := media == nil
	if isForm {
		media = get(d.resolve(body), "content", "multipart/form-data")
	}
	if media == nil {
		return nil
	}
	f := d.field("", get(media, "schema"), nil)
	c := &content{Fields: f.Fields, IsForm: isForm}
	if len(c.Fields) == 0 {
		c.Type = f.Type
	}
	if example := get(media, "example"); example != nil {
		c.Example = indent(example, "")
	} else if examples := mapping(get(media, "examples")); len(examples) > 0 {
		c.Example = indent(get(d.resolve(examples[0].Value), "value"), "")
	}
	return c
}

// security reports whether an operation requires a key.
func (d document) security(o any) bool {
	own := get(o, "security")
	return own == nil || len(list(own)) > 0
}

// indent formats a value as JSON with its keys in the order of the source.
func indent(value any, margin string) string {
	var open, end string
	var parts []string
	switch value := value.(type) {
	case yaml.MapSlice:
		open, end = "{", "}"
		for _, item := range value {
			parts = append(parts, scalar(fmt.Sprint(item.Key))+": "+indent(item.Value, margin+"  "))
		}
	case []any:
		open, end = "[", "]"
		for _, item := range value {
			parts = append(parts, indent(item, margin+"  "))
		}
	default:
		return scalar(value)
	}
	if len(parts) == 0 {
		return open + end
	}
	between := "\n" + margin + "  "
	return open + between + strings.Join(parts, ","+between) + "\n" + margin + end
}

// scalar formats a value that JSON can contain.
func scalar(value any) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // YAML scalars are valid in JSON
	return strings.TrimSpace(b.String())
}

// maxNested is how many schemas with a name are shown inside of each other.
const maxNested = 4

// fields returns the properties of an object, or of the objects in a list, including those of the schemas that it
// extends. within are the schemas that contain it: one that contains itself is shown once.
func (d document) fields(schema any, within []string) []field {
	if name, named := strings.CutPrefix(text(schema, "$ref"), "#/components/schemas/"); named {
		if len(within) >= maxNested || slices.Contains(within, name) {
			return nil
		}
		within = append(slices.Clip(within), name)
	}
	resolved := d.resolve(schema)
	if items := get(resolved, "items"); items != nil {
		return d.fields(items, within)
	}
	var all []field
	for _, part := range list(get(resolved, "allOf")) {
		if len(within) == maxNested && text(part, "$ref") != "" {
			part = d.resolve(part) // the page of objects shows what an object extends
		}
		all = append(all, d.fields(part, within)...)
	}
	if branches := d.objects(resolved); len(branches) == 1 {
		all = append(all, d.fields(branches[0], within)...)
	}
	for _, property := range mapping(get(resolved, "properties")) {
		f := d.field(property.Key.(string), property.Value, within)
		if i := slices.IndexFunc(all, func(other field) bool { return other.Name == f.Name }); i >= 0 {
			all[i] = f
		} else {
			all = append(all, f)
		}
	}
	for i, f := range all {
		all[i].Required = f.Required || slices.Contains(list(get(resolved, "required")), any(f.Name))
	}
	return all
}

// objects returns the alternatives of a schema that are not null.
func (d document) objects(schema any) (branches []any) {
	for _, branch := range append(list(get(schema, "anyOf")), list(get(schema, "oneOf"))...) {
		if text(branch, "type") != "null" {
			branches = append(branches, branch)
		}
	}
	return branches
}

// field describes a schema with the fields of objects in it.
func (d document) field(name string, schema any, within []string) field {
	f := field{Name: name, Type: d.typeOf(schema), Rules: rules(schema), Markdown: text(schema, "description")}
	f.Fields, f.Named = d.fields(schema, within), strings.Contains(string(f.Type), "<a ")
	return f
}

func (d document) typeOf(schema any) template.HTML {
	if name, named := strings.CutPrefix(text(schema, "$ref"), "#/components/schemas/"); named {
		name = template.HTMLEscapeString(name)
		return template.HTML(`<a href="/docs/api/objects#schema-` + name + `">` + name + `</a>`)
	}
	var names []string
	for _, part := range slices.Concat(list(get(schema, "allOf")), list(get(schema, "anyOf")), list(get(schema, "oneOf"))) {
		names = append(names, string(d.typeOf(part)))
	}
	for _, name := range append(list(get(schema, "type")), get(schema, "type")) {
		if name, single := name.(string); single {
			names = append(names, template.HTMLEscapeString(name))
		}
	}
	joined := strings.Join(names, " or ")
	if items := get(schema, "items"); items != nil {
		joined += " of " + string(d.typeOf(items))
	}
	return template.HTML(joined)
}

// rules returns the limits of a value in words.
func rules(schema any) (all []template.HTML) {
	add := func(format string, values ...any) {
		for i, value := range values {
			values[i] = "<code>" + template.HTMLEscapeString(fmt.Sprint(value)) + "</code>"
		}
		all = append(all, template.HTML(fmt.Sprintf(format, values...)))
	}
	limits := func(least, most, of string) {
		low, high := get(schema, least), get(schema, most)
		switch {
		case low != nil && high != nil:
			add("%s to %s"+of, low, high)
		case low != nil:
			add("at least %s"+of, low)
		case high != nil:
			add("at most %s"+of, high)
		}
	}
	limits("minimum", "maximum", "")
	limits("minLength", "maxLength", " characters")
	limits("minItems", "maxItems", " items")
	for _, rule := range []struct{ key, format string }{
		{"format", "format %s"}, {"pattern", "matches %s"}, {"default", "default %s"}, {"const", "always %s"},
	} {
		if value := get(schema, rule.key); value != nil {
			add(rule.format, value)
		}
	}
	if values := list(get(schema, "enum")); len(values) > 0 {
		add("one of "+strings.TrimSuffix(strings.Repeat("%s, ", len(values)), ", "), slices.Clone(values)...)
	}
	return all
}

// resolve follows a reference to another part of the document.
func (d document) resolve(value any) any {
	path, isReference := strings.CutPrefix(text(value, "$ref"), "#/")
	if !isReference {
		return value
	}
	return d.resolve(get(d.root, strings.Split(path, "/")...))
}

// get returns the value at a path of keys, or nil.
func get(value any, path ...string) any {
	for _, key := range path {
		m := mapping(value)
		i := slices.IndexFunc(m, func(item yaml.MapItem) bool { return item.Key == any(key) })
		if i < 0 {
			return nil
		}
		value = m[i].Value
	}
	return value
}

func mapping(value any) yaml.MapSlice {
	m, _ := value.(yaml.MapSlice)
	return m
}

func list(value any) []any {
	l, _ := value.([]any)
	return l
}

func text(value any, key string) string {
	s, _ := get(value, key).(string)
	return s
}

var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()),
)

// toHTML converts Markdown. Goldmark leaves out HTML in the source.
func toHTML(source string) template.HTML {
	var b bytes.Buffer
	if err := markdown.Convert([]byte(source), &b); err != nil {
		panic(err) // a bytes.Buffer never fails
	}
	return template.HTML(b.String())
}
