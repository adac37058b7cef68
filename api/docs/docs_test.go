package docs

import (
	"encoding/json"
	"html"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v2"
)

// mustRender returns the site of the contract of the service.
func mustRender(t *testing.T) (Site, document) {
	t.Helper()
	source, err := os.ReadFile("../openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, name := range []string{"FIGURES.md", "IMPORTS.md", "MCP.md", "PLANS.md", "WEBHOOKS.md"} {
		content, err := os.ReadFile("../" + name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(content)
	}
	site, err := Render(source, files, &url.URL{Scheme: "https", Host: "shop.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	var d document
	if err := yaml.Unmarshal(source, &d.root); err != nil {
		t.Fatal(err)
	}
	return site, d
}

func (s Site) page(t *testing.T, path string) Page {
	t.Helper()
	for _, p := range s.Pages {
		if p.Path == path {
			return p
		}
	}
	t.Fatalf("no page %s", path)
	return Page{}
}

// The pages show every operation, parameter, response, schema and property.
func TestTheSiteShowsTheWholeDocument(t *testing.T) {
	t.Parallel()
	site, d := mustRender(t)
	if page := string(site.page(t, "/docs").HTML); !strings.Contains(page, "<code>https://shop.example.com</code>") {
		t.Error("the first page does not show the address of the service")
	}
	section := func(path, id string) string {
		_, rest, _ := strings.Cut(string(site.page(t, path).HTML), `<section id="`+id+`"`)
		found, _, _ := strings.Cut(rest, "</section>")
		return found
	}
	operations := 0
	for _, item := range mapping(get(d.root, "paths")) {
		for _, o := range mapping(item.Value) {
			if o.Key == "parameters" {
				continue
			}
			operations++
			path := "/docs/api/" + idOf(list(get(o.Value, "tags"))[0].(string))
			id := text(o.Value, "operationId")
			shown, markdown := section(path, id), string(site.page(t, path).Markdown)
			want := func(part string) {
				t.Helper()
				if !strings.Contains(shown, part) {
					t.Errorf("%s#%s does not show %s", path, id, part)
				}
			}
			want(html.EscapeString(item.Key.(string)))
			writes := o.Key != "get" && id != "customReport"
			if warns := strings.Contains(shown, "changes real data"); warns != writes {
				t.Errorf("#%s warns about a write: %v, want %v", id, warns, writes)
			}
			final := o.Key == "delete" || id == "cancelOrder"
			if asks := strings.Contains(shown, " data-confirm="); asks != final {
				t.Errorf("#%s asks before it sends a request: %v, want %v", id, asks, final)
			}
			if marked := strings.Contains(shown, `class="deprecated"`); marked != (get(o.Value, "deprecated") == true) {
				t.Errorf("#%s is marked as deprecated: %v", id, marked)
			}
			for _, p := range append(list(get(o.Value, "parameters")), list(get(item.Value, "parameters"))...) {
				name := text(d.resolve(p), "name")
				want(`<code class="name">` + name + `</code>`)
				if !strings.Contains(markdown, "- `"+name+"` (") {
					t.Errorf("%s.md lacks the parameter %s", path, name)
				}
			}
			for _, r := range mapping(get(o.Value, "responses")) {
				want(`<span class="status">` + r.Key.(string) + `</span>`)
			}
			body := d.resolve(get(o.Value, "requestBody"))
			switch schema := get(body, "content", "application/json", "schema"); {
			case schema != nil:
				want("<textarea")
				for _, property := range mapping(get(d.resolve(schema), "properties")) {
					want(`<code class="name">` + property.Key.(string) + `</code>`)
				}
			case body != nil:
				want("-F file=@")
			}
			if !strings.Contains(markdown, "\n## "+text(o.Value, "summary")+"\n\n`"+strings.ToUpper(o.Key.(string))+" ") {
				t.Errorf("%s.md lacks %s", path, id)
			}
		}
	}
	if operations < 50 {
		t.Errorf("found %d operations, want at least 50", operations)
	}
	for _, s := range mapping(get(d.root, "components", "schemas")) {
		shown := section(objectsPath, "schema-"+s.Key.(string))
		for _, property := range mapping(get(s.Value, "properties")) {
			if !strings.Contains(shown, `<code class="name">`+property.Key.(string)+`</code>`) {
				t.Errorf("the schema %s does not show %s", s.Key, property.Key)
			}
		}
	}
	for _, p := range site.Pages {
		t.Logf("%s: %d KB, Markdown %d KB", p.Path, len(p.HTML)>>10, len(p.Markdown)>>10)
		if len(p.HTML) > 1<<20 {
			t.Errorf("%s has %d bytes", p.Path, len(p.HTML))
		}
	}
}

// Every topic of the introduction is on a page, under its name or that of a guide.
func TestTheGuidesHaveTheWholeIntroduction(t *testing.T) {
	t.Parallel()
	site, d := mustRender(t)
	all := ""
	for _, p := range site.Pages {
		all += string(p.Markdown)
	}
	topics := d.introduction()
	if len(topics) < 15 {
		t.Fatalf("the introduction has %d topics", len(topics))
	}
	for _, topic := range topics {
		if strings.Count(all, topic.Markdown) != 1 {
			t.Errorf("the topic %s occurs %d times", topic.Name, strings.Count(all, topic.Markdown))
		}
	}
	for _, s := range guideSections {
		for _, g := range s.guides {
			for _, name := range g.topics {
				found := false
				for _, topic := range topics {
					found = found || topic.Name == name
				}
				if !found {
					t.Errorf("the guide %s has the topic %s, which does not exist", g.title, name)
				}
			}
		}
	}
}

// A shell runs the command of each operation with a function instead of curl, which shows what it would send.
func TestCommandsSendTheirExamples(t *testing.T) {
	t.Parallel()
	_, d := mustRender(t)
	count := 0
	for _, g := range d.groups() {
		for _, o := range g.Operations {
			count++
			command := exec.CommandContext(t.Context(), "sh", "-euc",
				"curl() { for a; do printf '%s\\0' \"$a\"; done; }\nURL=https://shop.example.com KEY=secret\n"+o.Curl)
			sent, err := command.Output()
			if err != nil {
				t.Errorf("%s: %v: %s", o.ID, err, o.Curl)
				continue
			}
			method, address, body, key := "GET", "", "", false
			arguments := strings.Split(strings.TrimSuffix(string(sent), "\x00"), "\x00")
			for i, a := range arguments {
				switch {
				case a == "-X":
					method = arguments[i+1]
				case strings.HasPrefix(a, "https://"):
					address = a
				case a == "-d":
					body = arguments[i+1]
				case a == "Authorization: Bearer secret":
					key = true
				}
			}
			if method == "GET" && (body != "" || strings.Contains(o.Curl, " -F ")) {
				method = "POST"
			}
			u, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			pattern := regexp.MustCompile(`\\\{[a-z_]+\\\}`).ReplaceAllString(regexp.QuoteMeta(o.Path), "[^/]+")
			if method != o.Method || !regexp.MustCompile("^"+pattern+"$").MatchString(u.Path) || strings.Contains(address, "{") {
				t.Errorf("%s sends %s %s, want %s %s", o.ID, method, address, o.Method, o.Path)
			}
			if want := strings.HasPrefix(o.Path, "/api"); key != want {
				t.Errorf("%s sends a key: %v", o.ID, key)
			}
			for _, p := range o.Parameters {
				if p.Required && p.In == "query" && !u.Query().Has(p.Name) {
					t.Errorf("%s lacks the parameter %s", o.ID, p.Name)
				}
			}
			if o.Body != nil && !o.Body.IsForm {
				var got, want any
				if err := json.Unmarshal([]byte(body), &got); err != nil {
					t.Errorf("%s sends %s: %v", o.ID, body, err)
				}
				if err := json.Unmarshal([]byte(o.Body.Example), &want); err != nil {
					t.Fatal(err)
				}
				if a, b := mustJSON(t, got), mustJSON(t, want); a != b {
					t.Errorf("%s sends %s, want %s", o.ID, a, b)
				}
			}
		}
	}
	if count < 50 {
		t.Errorf("only %d commands", count)
	}
}

func mustJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestFieldsDescribeTheirType(t *testing.T) {
	t.Parallel()
	site, err := Render([]byte(`
info: {title: T, version: '1', description: "one\n\n## Two words\n\n<script>alert(1)</script>\n\n*three*"}
tags: [{name: Things, description: All things.}]
paths:
  /things:
    get:
      tags: [Things]
      operationId: showThing
      summary: Show a thing
      responses:
        '200': {description: One., content: {application/json: {schema: {$ref: '#/components/schemas/Whole'}}}}
components:
  schemas:
    Base: {type: object, required: [id], properties: {id: {type: integer, minimum: 1}, old: {type: string}}}
    Tree: {type: object, properties: {leaf: {type: string}, children: {type: array, items: {$ref: '#/components/schemas/Tree'}}}}
    Whole:
      allOf: [{$ref: '#/components/schemas/Base'}]
      required: [old]
      properties:
        old: {type: [string, 'null'], enum: [a, '<b>'], default: a}
        part: {type: object, properties: {inner: {type: array, items: {$ref: '#/components/schemas/Base'}, maxItems: 3}}}
        either: {anyOf: [{$ref: '#/components/schemas/Base'}, {type: 'null'}]}
        tree: {$ref: '#/components/schemas/Tree'}
`), map[string]string{"FIGURES.md": "", "IMPORTS.md": "", "MCP.md": "", "PLANS.md": "", "WEBHOOKS.md": ""}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, schema, _ := strings.Cut(string(site.page(t, objectsPath).HTML), `<section id="schema-Whole"`)
	shown := string(site.page(t, "/docs/api/things").HTML)
	for _, part := range []string{
		`>id</code> <span class="quiet">integer<strong>, required</strong>, at least <code>1</code>`,
		`>old</code> <span class="quiet">string or null<strong>, required</strong>, default <code>a</code>, ` +
			`one of <code>a</code>, <code>&lt;b&gt;</code>`,
		`>inner</code> <span class="quiet">array of <a href="/docs/api/objects#schema-Base">Base</a>, at most <code>3</code> items`,
		`>either</code> <span class="quiet"><a href="/docs/api/objects#schema-Base">Base</a> or null`,
	} {
		if !strings.Contains(schema, part) {
			t.Errorf("the schema does not show %s: %s", part, schema)
		}
		if !strings.Contains(shown, part) {
			t.Errorf("the operation does not show %s: %s", part, shown)
		}
	}
	if strings.Contains(schema, "<summary>") || strings.Count(shown, "<summary>Fields of ") != 3 {
		t.Errorf("the operation shows the fields of %d objects, want those of inner, either and tree",
			strings.Count(shown, "<summary>Fields of "))
	}
	if strings.Count(shown, ">leaf</code>") != 1 {
		t.Error("an object that contains itself is not shown once")
	}
	if page := string(site.page(t, "/docs/two-words").HTML); !strings.Contains(page, "<em>three</em>") {
		t.Errorf("a topic without a guide has no page: %s", page)
	}
	for _, p := range site.Pages {
		if strings.Contains(string(p.HTML), "<script>") {
			t.Errorf("%s contains HTML of a description", p.Path)
		}
	}
	if _, err := Render([]byte("a: ["), nil, nil); err == nil {
		t.Error("Render accepts invalid YAML")
	}
}

func TestSamplesInSeveralLanguagesAreTabs(t *testing.T) {
	t.Parallel()
	got := string(withTabs(toHTML("```sh\na\n```\n\n```go\nb\n```\n\n```go\nc\n```\n\ntext\n\n```sh\nd\n```\n")))
	for part, want := range map[string]int{
		`<details name="sample-1" data-language="sh" open><summary>curl</summary>`: 1,
		`<details name="sample-1" data-language="go"><summary>Go</summary>`:        1, "<details": 2, "<pre>": 4,
	} {
		if strings.Count(got, part) != want {
			t.Errorf("%s occurs %d times, want %d: %s", part, strings.Count(got, part), want, got)
		}
	}
	site, _ := mustRender(t)
	for _, language := range []string{"sh", "go", "ts", "python"} {
		if n := strings.Count(string(site.page(t, "/docs").HTML), `data-language="`+language+`"`); n < 7 {
			t.Errorf("the first page has %d samples in %s", n, language)
		}
	}
}
