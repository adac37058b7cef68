package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v2"
)

// Site is the documentation.
type Site struct {
	Pages  []Page
	Search []byte // the index of the search as JSON
	LLMs   []byte // llms.txt, a list of the pages for agents
}

// Page is a page of the site. Its Markdown is served at Path with the suffix ".md".
type Page struct {
	Path, Title    string
	HTML, Markdown []byte
}

// guide is a page of text: topics of the introduction of the OpenAPI document, then a file.
type guide struct {
	slug, title, summary string
	topics               []string
	file                 string // in guides, or one that the caller of Render gives
}

// guideSections are the guides as the navigation lists them. Topics that none has are pages of their own.
var guideSections = []struct {
	name   string
	guides []guide
}{
	{"Start", []guide{
		{"", "Get started", "From an API key to a report, with samples in four languages.", nil, "start.md"},
		{"authentication", "Authentication", "API keys, permissions and tenants.", []string{"Authentication"}, ""},
		{"errors", "Responses and errors", "The envelope of responses, and every error code.", []string{"Responses"}, ""},
		{"lists", "Lists", "Pages, cursors, filters and search.", []string{"Lists"}, ""},
		{"sync", "Keep a copy in sync", "The feed of changes, and why not updated_since.", nil, "sync.md"},
		{"idempotency", "Idempotency", "Repeat writes safely, and detect concurrent ones.",
			[]string{"Idempotent requests", "Concurrent changes"}, ""},
		{"limits", "Limits", "Rate limits, fair use and quotas.", []string{"Rate limits", "Fair use", "Quotas"}, ""},
		{"data-types", "Data types", "Ids, money, times, texts and compression.", []string{"Data types", "Compression"}, ""},
		{"web-pages", "Web pages", "Scripts of pages on other origins (CORS).", []string{"Web pages"}, ""},
		{"versions", "Versions and changelog", "What can change, and what did.", []string{"Versions"}, "changelog.md"},
	}},
	{"Guides", []guide{
		{"orders", "Orders and refunds", "What an order contains, and how amounts are allocated.", []string{"Orders"}, ""},
		{"webhooks", "Webhooks", "Receive changes, with receivers in three languages.", []string{"Webhooks"}, "WEBHOOKS.md"},
		{"imports", "Imports", "Files of other systems: formats, questions, undo.", []string{"Imports"}, "IMPORTS.md"},
		{"plans", "Plans", "Change many products, with review and undo.", []string{"Plans"}, "PLANS.md"},
		{"reports", "Reports explained", "Figures, comparisons, periods and formulas.", []string{"Reports"}, ""},
		{"figures", "Figures", "What every figure in a report means.", nil, "FIGURES.md"},
		{"accounting", "Accounting terms", "The figures in the words of an accountant.", nil, "accounting.md"},
		{"migrating", "Migrate from Shopify or WooCommerce", "Their calls and fields beside ours.", nil, "migrating.md"},
	}},
	{"Tools", []guide{
		{"go", "Go", "The SDK in Go.", nil, "go.md"},
		{"typescript", "TypeScript", "The SDK in TypeScript.", nil, "typescript.md"},
		{"python", "Python", "The SDK in Python.", nil, "python.md"},
		{"mcp", "AI agents (MCP)", "Connect agents, which read and propose.", nil, "MCP.md"},
	}},
}

// documents are the paths in the repository of documents with a page, for links between them.
var documents = map[string]string{
	"api/openapi.yaml": "/docs", "README.md": "/docs",
	"api/FIGURES.md": "/docs/figures", "api/IMPORTS.md": "/docs/imports", "api/MCP.md": "/docs/mcp",
	"api/PLANS.md": "/docs/plans", "api/WEBHOOKS.md": "/docs/webhooks", "api/sdk/go/README.md": "/docs/go",
	"api/sdk/typescript/README.md": "/docs/typescript", "api/sdk/python/README.md": "/docs/python",
}

// view is what the template shows.
type view struct {
	Site, Title, Version, Summary, Server string
	Path                                  string
	Navigation                            []navigation
	Content                               template.HTML // of a guide
	Group                                 *group        // of a resource
	Index                                 []group       // of all operations, on the first page
	Schemas                               []schema
}

type navigation struct {
	Name  string
	Links []link
}

type link struct{ Path, Name string }

var page = template.Must(template.ParseFS(Files, "index.html"))

// Render returns the site of an OpenAPI document in YAML, with all fields in the order of the source. files are
// documents by name that are not in this package. The pages show base as the address of the service, if it is not nil.
func Render(source []byte, files map[string]string, base *url.URL) (Site, error) {
	var d document
	if err := yaml.Unmarshal(source, &d.root); err != nil {
		return Site{}, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	info := get(d.root, "info")
	r := renderer{d: d, files: files, repository: text(get(info, "contact"), "url"), shared: view{
		Site: text(info, "title"), Version: text(info, "version"), Summary: text(info, "summary"),
	}}
	if base != nil {
		r.shared.Server = base.String()
	}
	if err := r.render(); err != nil {
		return Site{}, fmt.Errorf("render the OpenAPI document: %w", err)
	}
	return r.site, nil
}

// renderer collects the pages of a site.
type renderer struct {
	d          document
	files      map[string]string
	repository string
	shared     view
	site       Site
	found      []entry
	list       strings.Builder // of llms.txt
}

func (r *renderer) render() error {
	groups, left := r.d.groups(), r.d.introduction()
	take := func(name string) (topic, bool) {
		i := slices.IndexFunc(left, func(t topic) bool { return t.Name == name })
		if i < 0 {
			return topic{}, false
		}
		taken := left[i]
		left = slices.Delete(left, i, i+1)
		return taken, true
	}
	introduction, _ := take("Introduction")
	sections := slices.Clone(guideSections)
	texts := map[string]string{}
	for _, s := range sections {
		for _, g := range s.guides {
			markdown, err := r.guide(g, take)
			if err != nil {
				return err
			}
			texts[g.slug] = markdown
		}
	}
	for _, t := range left {
		g := guide{slug: t.ID, title: t.Name}
		sections[1].guides = append(slices.Clip(sections[1].guides), g)
		texts[t.ID] = t.Markdown
	}
	for _, s := range sections {
		n := navigation{Name: s.name}
		for _, g := range s.guides {
			n.Links = append(n.Links, link{guidePath(g.slug), g.title})
		}
		r.shared.Navigation = append(r.shared.Navigation, n)
	}
	n := navigation{Name: "API reference"}
	for _, g := range groups {
		n.Links = append(n.Links, link{"/docs/api/" + g.ID, g.Name})
	}
	n.Links = append(n.Links, link{objectsPath, "Objects"})
	r.shared.Navigation = append(r.shared.Navigation, n)

	fmt.Fprintf(&r.list, "# %s\n\n> %s Every page is also Markdown.\n", r.shared.Site, r.shared.Summary)
	texts[""] = introduction.Markdown + "\n\n" + texts[""]
	for _, s := range sections {
		fmt.Fprintf(&r.list, "\n## %s\n\n", s.name)
		for _, g := range s.guides {
			if err := r.addGuide(g, texts[g.slug], groups); err != nil {
				return err
			}
		}
	}
	r.list.WriteString("\n## API reference\n\n")
	for _, g := range groups {
		if err := r.addGroup(g); err != nil {
			return err
		}
	}
	if err := r.addObjects(); err != nil {
		return err
	}
	r.site.LLMs = []byte(r.list.String())
	var err error
	r.site.Search, err = json.Marshal(r.found)
	return err
}

func guidePath(slug string) string { return path.Join("/docs", slug) }

// guide returns the Markdown of a guide without its title.
func (r *renderer) guide(g guide, take func(string) (topic, bool)) (string, error) {
	var b strings.Builder
	for _, name := range g.topics {
		t, found := take(name)
		if !found {
			continue // a test needs all of them
		}
		if len(g.topics) > 1 {
			fmt.Fprintf(&b, "## %s\n\n", name)
		}
		b.WriteString(t.Markdown + "\n\n")
	}
	if g.file == "" {
		return b.String(), nil
	}
	markdown, err := r.file(g.file)
	if err != nil {
		return "", err
	}
	if _, body, titled := strings.Cut(markdown, "\n"); titled && strings.HasPrefix(markdown, "# ") {
		markdown = body
	}
	b.WriteString(strings.TrimSpace(markdown) + "\n")
	return b.String(), nil
}

// folders are the places of documents in the repository, to which their links are relative.
var folders = map[string]string{
	"go.md": "api/sdk/go", "typescript.md": "api/sdk/typescript", "python.md": "api/sdk/python",
}

var markdownLink = regexp.MustCompile(`\]\(([^()\s#]*)(#[^()\s]*)?\)`)

// file returns a document whose links lead to pages, or to the repository.
func (r *renderer) file(name string) (string, error) {
	markdown, given := r.files[name]
	if !given {
		content, err := Files.ReadFile("guides/" + name)
		if err != nil {
			return "", err
		}
		markdown = string(content)
	}
	folder, known := folders[name]
	if !known {
		folder = "api"
	}
	markdown = markdownLink.ReplaceAllStringFunc(markdown, func(found string) string {
		parts := markdownLink.FindStringSubmatch(found)
		target, anchor := parts[1], parts[2]
		if target == "" || strings.HasPrefix(target, "/") || strings.Contains(target, ":") {
			return found
		}
		target = path.Join(folder, target)
		if page, has := documents[target]; has {
			return "](" + page + anchor + ")"
		}
		return "](" + r.repository + "/blob/main/" + target + anchor + ")"
	})
	return r.addSamples(markdown)
}

var sampleLine = regexp.MustCompile(`(?m)^\{\{(.+)\}\}$`)

// addSamples replaces lines such as {{Read a list}} with the code of that step in the guides of the SDKs, which tests
// run.
func (r *renderer) addSamples(markdown string) (string, error) {
	var missing error
	markdown = sampleLine.ReplaceAllStringFunc(markdown, func(line string) string {
		step := strings.Trim(line, "{}")
		var blocks []string
		for _, name := range []string{"go", "typescript", "python"} {
			tour, err := Files.ReadFile("guides/" + name + ".md")
			if err != nil {
				missing = err
				return ""
			}
			found := regexp.MustCompile(`(?s)\n(?:\*\*)?` + regexp.QuoteMeta(step) + "(.*?)\n```").FindIndex(tour)
			if found == nil {
				missing = fmt.Errorf("the guide of %s has no step %q", name, step)
				return ""
			}
			block := string(tour[found[1]-4:])
			end := strings.Index(block[4:], "\n```\n") + 4 + len("\n```\n")
			blocks = append(blocks, strings.TrimSpace(block[:end]))
		}
		return strings.Join(blocks, "\n\n")
	})
	return markdown, missing
}

// entry is a section in the index of the search.
type entry struct {
	Title string `json:"title"`
	Page  string `json:"page"`
	URL   string `json:"url"`
	Text  string `json:"text"`
}

func (r *renderer) add(v view, markdown, summary string) error {
	var b bytes.Buffer
	if err := page.Execute(&b, v); err != nil {
		return err
	}
	r.site.Pages = append(r.site.Pages, Page{v.Path, v.Title, b.Bytes(), []byte(markdown)})
	fmt.Fprintf(&r.list, "- [%s](%s%s.md): %s\n", v.Title, r.shared.Server, v.Path, summary)
	return nil
}

func (r *renderer) view(path, title string) view {
	v := r.shared
	v.Path, v.Title = path, title
	return v
}

func (r *renderer) addGuide(g guide, markdown string, groups []group) error {
	v := r.view(guidePath(g.slug), g.title)
	v.Content = withTabs(toHTML(markdown))
	if g.slug == "" {
		v.Index = groups
	}
	r.index(v, string(v.Content))
	return r.add(v, "# "+g.title+"\n\n"+markdown, g.summary)
}

var (
	headingOf = regexp.MustCompile(`(?s)<h[23] id="([^"]+)">(.*?)</h[23]>`)
	anyTag    = regexp.MustCompile(`<[^>]*>`)
)

// plain returns the text of HTML.
func plain(fragment string) string {
	return strings.Join(strings.Fields(html.UnescapeString(anyTag.ReplaceAllString(fragment, " "))), " ")
}

// index adds the sections of a guide to the index.
func (r *renderer) index(v view, content string) {
	headings := headingOf.FindAllStringSubmatchIndex(content, -1)
	end := len(content)
	if len(headings) > 0 {
		end = headings[0][0]
	}
	r.found = append(r.found, entry{v.Title, v.Title, v.Path, plain(content[:end])})
	for i, h := range headings {
		end := len(content)
		if i+1 < len(headings) {
			end = headings[i+1][0]
		}
		r.found = append(r.found, entry{
			plain(content[h[4]:h[5]]), v.Title, v.Path + "#" + content[h[2]:h[3]], plain(content[h[1]:end]),
		})
	}
}

// objectsPath is the page of the schemas with a name.
const objectsPath = "/docs/api/objects"

func (r *renderer) addGroup(g group) error {
	v := r.view("/docs/api/"+g.ID, g.Name)
	v.Group = &g
	for _, o := range g.Operations {
		words := o.Method + " " + o.Path + " " + plain(string(o.Text()))
		for _, f := range slices.Concat(o.Parameters, o.fields()) {
			words += " " + f.words()
		}
		r.found = append(r.found, entry{o.Name, g.Name, v.Path + "#" + o.ID, words})
	}
	return r.add(v, g.markdown(), plain(string(g.Text())))
}

// fields returns the fields of the body and of the responses.
func (o operation) fields() (all []field) {
	if o.Body != nil {
		all = o.Body.Fields
	}
	for _, r := range o.Responses {
		if r.Content != nil {
			all = slices.Concat(all, r.Content.Fields)
		}
	}
	return all
}

// words returns the names and descriptions of a field and of those in it.
func (f field) words() string {
	words := f.Name + " " + plain(string(f.Text()))
	if f.Named {
		return words // the page of objects has its fields
	}
	for _, inner := range f.Fields {
		words += " " + inner.words()
	}
	return words
}

func (r *renderer) addObjects() error {
	v := r.view(objectsPath, "Objects")
	v.Schemas = r.d.schemas()
	var b strings.Builder
	b.WriteString("# Objects\n")
	for _, s := range v.Schemas {
		words := plain(string(s.Text()))
		for _, f := range s.Fields {
			words += " " + f.words()
		}
		r.found = append(r.found, entry{s.Name, "Objects", objectsPath + "#" + s.ID, words})
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", s.Name, s.Markdown)
		writeFields(&b, s.Fields, "")
	}
	return r.add(v, b.String(), "The objects of requests and responses.")
}

// markdown returns the page of a resource for agents.
func (g group) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n", g.Name, g.Markdown)
	for _, o := range g.Operations {
		fmt.Fprintf(&b, "\n## %s\n\n`%s %s`\n\n%s\n", o.Name, o.Method, o.Path, strings.TrimSpace(o.Markdown))
		if len(o.Parameters) > 0 {
			b.WriteString("\n### Parameters\n\n")
			writeFields(&b, o.Parameters, "")
		}
		if o.Body != nil {
			b.WriteString("\n### Body\n\n")
			writeFields(&b, o.Body.Fields, "")
		}
		fmt.Fprintf(&b, "\n### Sample\n\n```sh\n%s\n```\n\n### Responses\n\n", o.Curl)
		for _, r := range slices.Concat(o.Responses, o.Errors) {
			fmt.Fprintf(&b, "- %s: %s\n", r.Status, strings.Join(strings.Fields(r.Markdown), " "))
			if r.Content != nil && r.Status < "400" {
				writeFields(&b, r.Content.Fields, "  ")
			}
		}
	}
	return b.String()
}

func writeFields(b *strings.Builder, fields []field, margin string) {
	for _, f := range fields {
		kind := []string{plain(string(f.Type))}
		if f.In != "" {
			kind = append(kind, "in "+f.In)
		}
		if f.Required {
			kind = append(kind, "required")
		}
		for _, rule := range f.Rules {
			kind = append(kind, plain(string(rule)))
		}
		line := fmt.Sprintf("%s- `%s` (%s)", margin, f.Name, strings.Join(kind, ", "))
		if said := strings.Join(strings.Fields(f.Markdown), " "); said != "" {
			line += ": " + said
		}
		b.WriteString(line + "\n")
		if !f.Named {
			writeFields(b, f.Fields, margin+"  ")
		}
	}
}

var (
	sampleBlock = regexp.MustCompile(`(?s)<pre><code class="language-(sh|go|ts|python)">.*?</code></pre>\n`)
	languages   = map[string]string{"sh": "curl", "go": "Go", "ts": "TypeScript", "python": "Python"}
)

// withTabs puts samples of one step in several languages beside each other. Only one is open, also without script.
func withTabs(content template.HTML) template.HTML {
	source := string(content)
	blocks := sampleBlock.FindAllStringSubmatchIndex(source, -1)
	var b strings.Builder
	last, group := 0, 0
	for i := 0; i < len(blocks); {
		end, seen := i, map[string]bool{}
		for ; end < len(blocks) && (end == i || blocks[end][0] == blocks[end-1][1]); end++ {
			language := source[blocks[end][2]:blocks[end][3]]
			if seen[language] {
				break
			}
			seen[language] = true
		}
		if end-i > 1 {
			group++
			b.WriteString(source[last:blocks[i][0]] + `<div class="samples">` + "\n")
			for n, block := range blocks[i:end] {
				open := ""
				if n == 0 {
					open = " open"
				}
				language := source[block[2]:block[3]]
				fmt.Fprintf(&b, `<details name="sample-%d" data-language="%s"%s><summary>%s</summary>%s</details>`+"\n",
					group, language, open, languages[language], strings.TrimSpace(source[block[0]:block[1]]))
			}
			b.WriteString("</div>\n")
			last = blocks[end-1][1]
		}
		i = end
	}
	return template.HTML(b.String() + source[last:])
}
