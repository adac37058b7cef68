package api

import (
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var discardLog = slog.New(slog.DiscardHandler)

// docsServer is a Server without a database. It renders the documentation once.
var docsServer = sync.OnceValue(func() *Server { return New(Options{Logger: discardLog}) })

// get sends a GET request to a Server without a database, which the documentation
// does not need.
func get(t testing.TB, path string, header http.Header) *http.Response {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
	req.Header = header
	recorded := httptest.NewRecorder()
	docsServer().ServeHTTP(recorded, req)
	if recorded.Header().Get("Content-Encoding") == "" {
		checkResponse(t, req, recorded.Result(), recorded.Body.Bytes())
	}
	return recorded.Result()
}

// plain returns the content of a file.
func (f file) plain() []byte {
	content, err := io.ReadAll(&inflated{file: f})
	if err != nil {
		panic(err)
	}
	return content
}

// servedDocument is the document of a Server without a configured address.
var servedDocument = sync.OnceValue(func() file { return openAPIJSON(nil) })

// The address is the configured one. A header of a request could send the key of a client to another server.
func TestTheDocumentNamesTheConfiguredAddress(t *testing.T) {
	t.Parallel()
	s := New(Options{Logger: discardLog, BaseURL: &url.URL{Scheme: "https", Host: "shop.example.com"}})
	for path, want := range map[string]string{
		"/openapi.json": `"servers":[{"url":"https://shop.example.com",`,
		"/docs":         "<code>https://shop.example.com</code>",
	} {
		req := httptest.NewRequestWithContext(t.Context(), "GET", "https://other.example.com"+path, nil)
		req.Header.Set("X-Forwarded-Host", "other.example.com")
		recorded := httptest.NewRecorder()
		s.ServeHTTP(recorded, req)
		if body := recorded.Body.String(); !strings.Contains(body, want) || strings.Contains(body, "other.example.com") {
			t.Errorf("%s does not show %s", path, want)
		}
	}
}

// servedSite is the documentation of a Server without a configured address.
func servedSite() map[string]file { return docsServer().docsSite() }

var linkPattern = regexp.MustCompile(`(?:src|href)="([^"]*)"`)

// Each page loads only files of the service, and each link leads to a page and a section that exist.
func TestLinksOfTheDocsHaveATarget(t *testing.T) {
	t.Parallel()
	site := servedSite()
	pages := map[string]string{}
	for path, f := range site {
		if strings.HasPrefix(f.contentType, "text/html") {
			pages[path] = string(f.plain())
		}
	}
	if len(pages) < 35 {
		t.Fatalf("the site has %d pages", len(pages))
	}
	external := regexp.MustCompile(`^https://(github\.com/storeroom/storeroom|modelcontextprotocol\.io|www\.standardwebhooks\.com)`)
	checked := map[string]bool{}
	for path, page := range pages {
		if regexp.MustCompile(`<style|<script>|style="| on[a-z]+="`).MatchString(page) {
			t.Errorf("%s has inline content, which its policy forbids", path)
		}
		ids := map[string]bool{}
		for _, id := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(page, -1) {
			if ids[id[1]] {
				t.Errorf("%s repeats the id %s", path, id[1])
			}
			ids[id[1]] = true
		}
		for _, l := range linkPattern.FindAllStringSubmatch(page, -1) {
			target, anchor, _ := strings.Cut(html.UnescapeString(l[1]), "#")
			if target == "" {
				target = path
			}
			switch found, isPage := pages[target]; {
			case isPage && anchor != "" && !strings.Contains(found, ` id="`+anchor+`"`):
				t.Errorf("%s links to %s#%s, which does not exist", path, target, anchor)
			case isPage, checked[target], external.MatchString(target):
			case get(t, target, nil).StatusCode != http.StatusOK:
				t.Errorf("%s links to %s", path, target)
			}
			checked[target] = true
		}
	}
	for path := range pages {
		if !checked[path] {
			t.Errorf("no page links to %s", path)
		}
	}
}

// Agents get each page as Markdown, and a list of them.
func TestEveryPageIsMarkdownToo(t *testing.T) {
	t.Parallel()
	list := string(get200(t, "/llms.txt", "text/plain; charset=utf-8"))
	for path, f := range servedSite() {
		if !strings.HasPrefix(f.contentType, "text/html") {
			continue
		}
		page := string(get200(t, path+".md", "text/markdown; charset=utf-8"))
		if !strings.HasPrefix(page, "# ") || strings.Contains(page, "</section>") || len(page) < 200 {
			t.Errorf("%s.md = %.300s", path, page)
		}
		if !strings.Contains(list, "]("+path+".md): ") {
			t.Errorf("llms.txt lacks %s.md", path)
		}
		if l := regexp.MustCompile(`\]\([A-Za-z.][^():]*\.md`).FindString(page); l != "" {
			t.Errorf("%s.md links to a file of the repository: %s", path, l)
		}
	}
	if !strings.HasPrefix(list, "# Storeroom API\n\n> ") {
		t.Errorf("llms.txt = %s", list)
	}
}

func get200(t *testing.T, path, contentType string) []byte {
	t.Helper()
	got := get(t, path, nil)
	body, err := io.ReadAll(got.Body)
	if err != nil || got.StatusCode != http.StatusOK || got.Header.Get("Content-Type") != contentType {
		t.Fatalf("%s = %d, %s, %v", path, got.StatusCode, got.Header.Get("Content-Type"), err)
	}
	return body
}

// The search finds a guide, an operation, a field and a schema.
func TestTheSearchHasEverySection(t *testing.T) {
	t.Parallel()
	entries := mustDecode[[]struct{ Title, Page, URL, Text string }](t, get200(t, "/docs/search.json", "application/json"))
	for words, want := range map[string]string{
		"sliding window of 60 seconds": "/docs/limits#rate-limits", "restock_items": "/docs/api/orders#refundOrder",
		"/api/products/{id}/inventory/adjust": "/docs/api/products#adjustInventory", "RATE_LIMIT_EXCEEDED": "/docs/errors",
		"compare_at_price": "/docs/migrating#concepts", "webhook-signature": "/docs/webhooks",
	} {
		found := false
		for _, e := range entries {
			found = found || e.URL == want && strings.Contains(e.Text, words)
		}
		if !found {
			t.Errorf("the search for %q does not find %s", words, want)
		}
	}
	for _, e := range entries {
		if e.Title == "" || e.Page == "" || strings.ContainsAny(e.Text, "<>") && strings.Contains(e.Text, "</") {
			t.Errorf("the entry %+v", e)
		}
	}
}

// The pages of package pages link to operations of the first page, which lists all of them with links to their pages.
func TestLinksToTheDocsHaveATarget(t *testing.T) {
	t.Parallel()
	page := string(servedSite()["/docs"].plain())
	templates, err := filepath.Glob("pages/templates/*.html")
	if err != nil {
		t.Fatal(err)
	}
	var sections []string
	for _, name := range templates {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range regexp.MustCompile(`"/docs#([^"]*)"`).FindAllSubmatch(source, -1) {
			sections = append(sections, string(link[1]))
		}
	}
	if len(sections) == 0 {
		t.Error("no page links to a section")
	}
	for _, id := range sections {
		if !strings.Contains(page, `<li id="`+id+`"><a href="/docs/api/`) {
			t.Errorf("/docs#%s does not exist", id)
		}
	}
}

// A client without compression gets each part of a file.
func TestPartsOfAFile(t *testing.T) {
	t.Parallel()
	whole := string(get200(t, "/docs", "text/html; charset=utf-8"))
	for value, want := range map[string]string{
		"bytes=0-9": whole[:10], "bytes=100-": whole[100:], "bytes=-7": whole[len(whole)-7:],
	} {
		req := httptest.NewRequestWithContext(t.Context(), "GET", "/docs", nil)
		req.Header.Set("Range", value)
		recorded := httptest.NewRecorder()
		docsServer().ServeHTTP(recorded, req)
		if recorded.Code != http.StatusPartialContent || recorded.Body.String() != want {
			t.Errorf("%s = %d with %d bytes, want %d", value, recorded.Code, recorded.Body.Len(), len(want))
		}
	}
}

func TestDocsContentSecurityPolicy(t *testing.T) {
	t.Parallel()
	policy := get(t, "/docs", nil).Header.Get("Content-Security-Policy")
	want := []string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
		"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
	}
	if diff := cmp.Diff(want, strings.Split(policy, "; ")); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
}

func TestFilesAreCompressedOnRequest(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/openapi.json", "/docs", "/docs/docs.js", "/docs/api/orders.md", "/llms.txt"} {
		plain := get(t, path, nil)
		zipped := get(t, path, http.Header{"Accept-Encoding": {"br, gzip"}})
		if plain.Header.Get("Content-Encoding") != "" || zipped.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: encodings = %q, %q", path, plain.Header.Get("Content-Encoding"), zipped.Header.Get("Content-Encoding"))
		}
		if plain.Header.Get("ETag") == zipped.Header.Get("ETag") {
			t.Errorf("%s: both encodings have the same ETag", path)
		}
		cached := get(t, path, http.Header{"Accept-Encoding": {"gzip"}, "If-None-Match": {zipped.Header.Get("ETag")}})
		if cached.StatusCode != http.StatusNotModified {
			t.Errorf("%s with its ETag = %d, want 304", path, cached.StatusCode)
		}
	}
}

func TestUnknownDocsPaths(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"/docs/", "/docs/index.html", "/docs/docs", "/docs/docs.go", "/docs/home.html", "/docs/../openapi.yaml",
		"/docs/api", "/docs/api/", "/docs/orders/", "/docs/guides/start.md", "/docs/start", "/docs/search.json.md",
		"/docs/%2e%2e/docs.go",
	} {
		if got := get(t, path, nil); got.StatusCode != http.StatusNotFound {
			t.Errorf("%s = %d, want 404", path, got.StatusCode)
		}
	}
}

func TestServedDocumentKeepsTheOrderOfTheSource(t *testing.T) {
	t.Parallel()
	got, err := toJSON([]byte("b: 1\na: {200: yes, z: [~, 'x', 1.5], e: \"é\\n\"}\n"), nil)
	if want := `{"b":1,"a":{"200":true,"z":[null,"x",1.5],"e":"é\n"}}`; err != nil || string(got) != want {
		t.Errorf("toJSON = %s, %v, want %s", got, err, want)
	}
	if _, err := toJSON([]byte("a: ["), nil); err == nil {
		t.Error("toJSON accepts invalid YAML")
	}
}

// A comma ends an unquoted text of a flow mapping in YAML. The rest becomes a key without a value.
func TestOpenAPITextsAreComplete(t *testing.T) {
	t.Parallel()
	for _, rest := range regexp.MustCompile(`"[^"]* [^"]*":null`).FindAll(servedDocument().plain(), -1) {
		t.Errorf("the text before %s needs quotes", rest)
	}
}
