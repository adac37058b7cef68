package api

import (
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

// get sends a GET request to a Server without a database, which the documentation
// does not need.
func get(t testing.TB, path string, header http.Header) *http.Response {
	t.Helper()
	s := New(Options{Logger: discardLog})
	req := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
	req.Header = header
	recorded := httptest.NewRecorder()
	s.ServeHTTP(recorded, req)
	if recorded.Header().Get("Content-Encoding") == "" {
		checkResponse(t, req, recorded.Result(), recorded.Body.Bytes())
	}
	return recorded.Result()
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

func TestDocsPageLoadsOnlyOwnFiles(t *testing.T) {
	t.Parallel()
	page := string(newDocsPage(nil).plain.body)
	loads := regexp.MustCompile(`(?:src|href)="([^#"][^"]*)"`).FindAllStringSubmatch(page, -1)
	if len(loads) < 4 {
		t.Fatalf("the page loads %v", loads)
	}
	for _, l := range loads {
		if got := get(t, l[1], nil); got.StatusCode != http.StatusOK {
			t.Errorf("%s = %d", l[1], got.StatusCode)
		}
	}
	if regexp.MustCompile(`<style|<script>|style="| on[a-z]+="`).MatchString(page) {
		t.Error("the page has inline or external content, which its policy forbids")
	}
}

// The pages of package pages link to sections that exist.
func TestLinksToTheDocsHaveATarget(t *testing.T) {
	t.Parallel()
	page := string(newDocsPage(nil).plain.body)
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
		if !strings.Contains(page, ` id="`+id+`"`) {
			t.Errorf("/docs#%s does not exist", id)
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
	for _, path := range []string{"/openapi.json", "/docs", "/docs/docs.js"} {
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
	for _, rest := range regexp.MustCompile(`"[^"]* [^"]*":null`).FindAll(servedDocument().plain.body, -1) {
		t.Errorf("the text before %s needs quotes", rest)
	}
}
