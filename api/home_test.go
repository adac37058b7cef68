package api

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func TestHomeIsHTMLForBrowsersAndJSONForOthers(t *testing.T) {
	t.Parallel()
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for accept, want := range map[string]string{
		browser: "text/html; charset=utf-8", "": "application/json", "*/*": "application/json",
		"application/json": "application/json",
	} {
		for _, method := range []string{"GET", "HEAD"} {
			got := askHome(t, New(Options{Version: "test"}), method, accept)
			if got.Code != http.StatusOK || got.Header().Get("Content-Type") != want || got.Header().Get("Vary") != "Accept" {
				t.Errorf("%s / with Accept %q = %d %v, want %s", method, accept, got.Code, got.Header(), want)
			}
		}
	}
	const data = `"data":{"name":"Storeroom","version":"test","documentation":"/docs","openapi":"/openapi.json","settings":null}`
	if got := askHome(t, New(Options{Version: "test"}), "GET", ""); !strings.Contains(got.Body.String(), data) {
		t.Errorf("GET / = %s, want %s", got.Body, data)
	}
}

func TestHomeLinksToEnabledSettings(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withPages())
	for accept, parts := range map[string][]string{
		"text/html": {`href="/docs"`, `href="/openapi.json"`, `href="/settings"`}, "*/*": {`"settings":"/settings"`},
	} {
		a.try(t, call{path: "/", key: "-", header: http.Header{"Accept": {accept}}, wantStatus: 200, want: parts})
	}
	if page := askHome(t, New(Options{}), "GET", "text/html").Body.String(); strings.Contains(page, "/settings") {
		t.Errorf("without settings the page links to them: %s", page)
	}
}

func TestHomeLoadsOnlyOwnFiles(t *testing.T) {
	t.Parallel()
	got := askHome(t, New(Options{}), "GET", "text/html")
	page := got.Body.String()
	if regexp.MustCompile(`<style|<script|style=| on[a-z]+=|//`).MatchString(page) {
		t.Errorf("the page contains inline or foreign content: %s", page)
	}
	for _, link := range regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if got := get(t, link[1], nil); got.StatusCode != http.StatusOK {
			t.Errorf("%s = %d", link[1], got.StatusCode)
		}
	}
	policy := got.Header().Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "script-src") ||
		strings.Contains(policy, "unsafe") {
		t.Errorf("policy = %q", policy)
	}
}

func askHome(t *testing.T, s *Server, method, accept string) *httptest.ResponseRecorder {
	t.Helper()
	s.Logger = discardLog
	req := httptest.NewRequestWithContext(t.Context(), method, "/", nil)
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	recorded := httptest.NewRecorder()
	s.ServeHTTP(recorded, req)
	checkResponse(t, req, recorded.Result(), recorded.Body.Bytes())
	return recorded
}
