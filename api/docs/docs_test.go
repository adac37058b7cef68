package docs

import (
	"html"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v2"
)

// The page shows every operation, parameter, response, schema and property, and no link leads nowhere.
func TestPageShowsTheWholeDocument(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := Page(source, &url.URL{Scheme: "https", Host: "shop.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	page := string(rendered)
	if !strings.Contains(page, "<code>https://shop.example.com</code>") {
		t.Error("the page does not show the address of the service")
	}
	ids := map[string]bool{}
	for _, id := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if ids[id[1]] {
			t.Errorf("the id %s is repeated", id[1])
		}
		ids[id[1]] = true
	}
	for _, link := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if !ids[link[1]] {
			t.Errorf("#%s does not exist", link[1])
		}
	}
	var d document
	if err := yaml.Unmarshal(source, &d.root); err != nil {
		t.Fatal(err)
	}
	section := func(id string) string {
		_, rest, _ := strings.Cut(page, `<section id="`+id+`"`)
		found, _, _ := strings.Cut(rest, "</section>")
		return found
	}
	want := func(id, part string) {
		t.Helper()
		if !strings.Contains(section(id), part) {
			t.Errorf("#%s does not show %s", id, part)
		}
	}
	operations := 0
	for _, path := range mapping(get(d.root, "paths")) {
		for _, o := range mapping(path.Value) {
			if o.Key == "parameters" {
				continue
			}
			operations++
			id := text(o.Value, "operationId")
			want(id, html.EscapeString(path.Key.(string)))
			writes := o.Key != "get" && id != "customReport"
			if warns := strings.Contains(section(id), "changes real data"); warns != writes {
				t.Errorf("#%s warns about a write: %v, want %v", id, warns, writes)
			}
			final := o.Key == "delete" || id == "cancelOrder"
			if asks := strings.Contains(section(id), " data-confirm="); asks != final {
				t.Errorf("#%s asks before it sends a request: %v, want %v", id, asks, final)
			}
			for _, p := range append(list(get(o.Value, "parameters")), list(get(path.Value, "parameters"))...) {
				want(id, `<code class="name">`+text(d.resolve(p), "name")+`</code>`)
			}
			for _, r := range mapping(get(o.Value, "responses")) {
				want(id, `<span class="status">`+r.Key.(string)+`</span>`)
			}
			switch body := d.resolve(get(o.Value, "requestBody")); {
			case get(body, "content", "application/json") != nil:
				want(id, "<textarea")
			case body != nil:
				want(id, "curl -F")
			}
		}
	}
	if operations < 50 {
		t.Errorf("found %d operations, want at least 50", operations)
	}
	for _, s := range mapping(get(d.root, "components", "schemas")) {
		for _, property := range mapping(get(s.Value, "properties")) {
			want("schema-"+s.Key.(string), `<code class="name">`+property.Key.(string)+`</code>`)
		}
	}
}

func TestFieldsDescribeTheirType(t *testing.T) {
	t.Parallel()
	page, err := Page([]byte(`
info: {title: T, version: '1', description: "one\n\n## Two words\n\n<script>alert(1)</script> *three*"}
components:
  schemas:
    Base: {type: object, required: [id], properties: {id: {type: integer, minimum: 1}, old: {type: string}}}
    Whole:
      allOf: [{$ref: '#/components/schemas/Base'}]
      required: [old]
      properties:
        old: {type: [string, 'null'], enum: [a, '<b>'], default: a}
        part: {type: object, properties: {inner: {type: array, items: {$ref: '#/components/schemas/Base'}, maxItems: 3}}}
        either: {anyOf: [{$ref: '#/components/schemas/Base'}, {type: 'null'}]}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, schema, _ := strings.Cut(string(page), `<section id="schema-Whole"`)
	for _, part := range []string{
		`>id</code> <span class="quiet">integer<strong>, required</strong>, at least <code>1</code>`,
		`>old</code> <span class="quiet">string or null<strong>, required</strong>, default <code>a</code>, ` +
			`one of <code>a</code>, <code>&lt;b&gt;</code>`,
		`>inner</code> <span class="quiet">array of <a href="#schema-Base">Base</a>, at most <code>3</code> items`,
		`>either</code> <span class="quiet"><a href="#schema-Base">Base</a> or null`,
	} {
		if !strings.Contains(schema, part) {
			t.Errorf("the schema does not show %s: %s", part, schema)
		}
	}
	if !strings.Contains(string(page), `<section id="about-two-words"><h2>Two words</h2>`) {
		t.Error("a heading of the description is not a section")
	}
	if strings.Contains(string(page), "<script>") {
		t.Error("the page contains HTML of a description")
	}
	if _, err := Page([]byte("a: ["), nil); err == nil {
		t.Error("Page accepts invalid YAML")
	}
}
