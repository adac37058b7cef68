package api

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ask sends a request to a Server that has nothing but itself: what is open
// needs no database.
func ask(t testing.TB, path string, header http.Header) *http.Response {
	t.Helper()
	s := New(Options{Logger: slog.New(slog.DiscardHandler)})
	req := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
	req.Header = header
	recorded := httptest.NewRecorder()
	s.ServeHTTP(recorded, req)
	if recorded.Header().Get("Content-Encoding") == "" {
		checkAnswer(t, req, recorded.Result(), recorded.Body.Bytes())
	}
	return recorded.Result()
}

func TestTheDocsPageLoadsWhatItNeedsFromHere(t *testing.T) {
	t.Parallel()
	page := string(docsFiles()["/docs"].plain.body)
	loads := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(page, -1)
	if len(loads) < 5 {
		t.Fatalf("the page loads %v", loads)
	}
	for _, l := range loads {
		if got := ask(t, l[1], nil); got.StatusCode != http.StatusOK {
			t.Errorf("%s = %d", l[1], got.StatusCode)
		}
	}
	if regexp.MustCompile(`<style|<script>|style=| on[a-z]+=|//`).MatchString(page) {
		t.Error("the page has something inline or from elsewhere, which its policy forbids")
	}
}

func TestTheDocsPolicyAllowsThisServiceAlone(t *testing.T) {
	t.Parallel()
	policy := ask(t, "/docs", nil).Header.Get("Content-Security-Policy")
	want := []string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'",
		"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
	}
	if diff := cmp.Diff(want, strings.Split(policy, "; ")); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
}

func TestFilesAreSentPackedToThoseWhoTakeIt(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/openapi.json", "/docs", "/docs/swagger-ui-bundle.js"} {
		plain := ask(t, path, nil)
		packed := ask(t, path, http.Header{"Accept-Encoding": {"br, gzip"}})
		if plain.Header.Get("Content-Encoding") != "" || packed.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: encodings = %q, %q", path, plain.Header.Get("Content-Encoding"), packed.Header.Get("Content-Encoding"))
		}
		if plain.Header.Get("ETag") == packed.Header.Get("ETag") {
			t.Errorf("%s: two forms have one entity tag", path)
		}
		again := ask(t, path, http.Header{"Accept-Encoding": {"gzip"}, "If-None-Match": {packed.Header.Get("ETag")}})
		if again.StatusCode != http.StatusNotModified {
			t.Errorf("%s that is known = %d, want 304", path, again.StatusCode)
		}
	}
}

func TestOnlyTheFilesOfThePageAreServed(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/docs/", "/docs/index.html", "/docs/docs", "/docs/swagger-ui.css.gz", "/docs/../openapi.yaml", "/docs/%2e%2e/docs.go"} {
		if got := ask(t, path, nil); got.StatusCode != http.StatusNotFound {
			t.Errorf("%s = %d, want 404", path, got.StatusCode)
		}
	}
}

func TestTheServedDocumentKeepsTheOrderOfItsSource(t *testing.T) {
	t.Parallel()
	got, err := toJSON([]byte("b: 1\na: {200: yes, z: [~, 'x', 1.5], e: \"é\\n\"}\n"))
	if want := `{"b":1,"a":{"200":true,"z":[null,"x",1.5],"e":"é\n"}}`; err != nil || string(got) != want {
		t.Errorf("toJSON = %s, %v, want %s", got, err, want)
	}
	if _, err := toJSON([]byte("a: [")); err == nil {
		t.Error("toJSON takes what is not YAML")
	}
}
