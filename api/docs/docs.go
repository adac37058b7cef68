// Package docs renders the OpenAPI document as one page with a sidebar, a search field and forms that send
// requests.
//
// The server renders the whole page, so that it works without script and under a strict Content-Security-Policy. The
// script only filters the sidebar and sends the requests of the forms.
package docs

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"go.yaml.in/yaml/v2"
)

// Files are the templates and the files of the page.
//
//go:embed *.html *.css *.js *.svg
var Files embed.FS

var page = template.Must(template.ParseFS(Files, "index.html"))

// Page returns the page of an OpenAPI document in YAML, with all fields in the order of the source. It shows base as the
// address of the service, if it is not nil.
func Page(source []byte, base *url.URL) ([]byte, error) {
	var d document
	if err := yaml.Unmarshal(source, &d.root); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	ref := d.reference()
	if base != nil {
		ref.Server = base.String()
	}
	var b bytes.Buffer
	if err := page.Execute(&b, ref); err != nil {
		return nil, fmt.Errorf("render the OpenAPI document: %w", err)
	}
	return b.Bytes(), nil
}

// reference is the part of the OpenAPI document that index.html shows.
type reference struct {
	Title, Version string
	Summary        string
	Server         string  // its address, or empty
	Topics         []topic // the introduction by its headings
	Groups         []group
	Schemas        []schema
}

type topic struct {
	ID, Name string
	Text     template.HTML
}

type group struct {
	topic
	Operations []operation
}

type operation struct {
	topic
	Method, Path string
	Writes       bool // changes data of the tenant
	Irreversible bool // the form asks before it sends the request
	Parameters   []field
	Body         *content
	Responses    []response
	Errors       []response
}

type response struct {
	Status  string
	Text    template.HTML
	Headers []string
	Content *content
}

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
	Text     template.HTML
	Rules    []template.HTML
	Fields   []field // of an object
}

// document is an OpenAPI document with its keys in the order of the source.
type document struct{ root yaml.MapSlice }

func (d document) reference() reference {
	info := mapping(get(d.root, "info"))
	ref := reference{Title: text(info, "title"), Version: text(info, "version"), Summary: text(info, "summary")}
	for i, part := range strings.Split("\n"+text(info, "description"), "\n## ") {
		name, body, _ := strings.Cut(part, "\n")
		if i == 0 {
			name = "Introduction"
		}
		ref.Topics = append(ref.Topics, newTopic("about-"+name, name, body))
	}
	for _, tag := range list(get(d.root, "tags")) {
		name := text(tag, "name")
		ref.Groups = append(ref.Groups, group{newTopic("group-"+name, name, text(tag, "description")), d.operations(name)})
	}
	for _, item := range mapping(get(d.root, "components", "schemas")) {
		name := item.Key.(string)
		f := d.field(name, item.Value)
		f.Fields = d.fields(item.Value)
		ref.Schemas = append(ref.Schemas, schema{"schema-" + name, f})
	}
	return ref
}

var notInID = regexp.MustCompile(`[^a-z0-9]+`)

func newTopic(id, name, markdown string) topic {
	return topic{strings.Trim(notInID.ReplaceAllString(strings.ToLower(id), "-"), "-"), name, toHTML(markdown)}
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
					text(item.Value, "operationId"), text(item.Value, "summary"), toHTML(text(item.Value, "description")),
				},
				Method: method, Path: path.Key.(string),
				Writes: method != "GET" && !strings.HasSuffix(text(item.Value, "x-permission"), ":read"),
				Body:   d.content(get(item.Value, "requestBody")),
			}
			o.Irreversible = method == "DELETE" || o.ID == "cancelOrder"
			for _, parameter := range append(slices.Clone(shared), list(get(item.Value, "parameters"))...) {
				p := d.resolve(parameter)
				f := d.field(text(p, "name"), get(p, "schema"))
				f.In, f.Required, f.Text = text(p, "in"), get(p, "required") == true, toHTML(text(p, "description"))
				o.Parameters = append(o.Parameters, f)
			}
			for _, item := range mapping(get(item.Value, "responses")) {
				resolved := d.resolve(item.Value)
				r := response{
					Status: item.Key.(string), Text: toHTML(text(resolved, "description")), Content: d.content(resolved),
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
	f := d.field("", get(media, "schema"))
	c := &content{Fields: f.Fields, IsForm: isForm}
	if len(c.Fields) == 0 {
		c.Type = f.Type
	}
	if examples := mapping(get(media, "examples")); len(examples) > 0 {
		c.Example = indent(get(d.resolve(examples[0].Value), "value"), "")
	}
	return c
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

// fields returns the properties of a schema, including those of the schemas that it extends.
func (d document) fields(schema any) []field {
	resolved := d.resolve(schema)
	if items := get(resolved, "items"); items != nil && get(items, "$ref") == nil {
		return d.fields(items)
	}
	var all []field
	for _, part := range list(get(resolved, "allOf")) {
		all = append(all, d.fields(part)...)
	}
	for _, property := range mapping(get(resolved, "properties")) {
		f := d.field(property.Key.(string), property.Value)
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

// field describes a schema. Fields of a schema with a name are shown only there.
func (d document) field(name string, schema any) field {
	f := field{Name: name, Type: d.typeOf(schema), Rules: rules(schema), Text: toHTML(text(schema, "description"))}
	if get(schema, "$ref") == nil && get(schema, "allOf") == nil {
		f.Fields = d.fields(schema)
	}
	return f
}

func (d document) typeOf(schema any) template.HTML {
	if name, named := strings.CutPrefix(text(schema, "$ref"), "#/components/schemas/"); named {
		name = template.HTMLEscapeString(name)
		return template.HTML(`<a href="#schema-` + name + `">` + name + `</a>`)
	}
	var names []string
	for _, part := range append(list(get(schema, "allOf")), list(get(schema, "anyOf"))...) {
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

var markdown = goldmark.New(goldmark.WithExtensions(extension.Table))

// toHTML converts Markdown. Goldmark leaves out HTML in the source.
func toHTML(source string) template.HTML {
	var b bytes.Buffer
	if err := markdown.Convert([]byte(source), &b); err != nil {
		panic(err) // a bytes.Buffer never fails
	}
	return template.HTML(b.String())
}
