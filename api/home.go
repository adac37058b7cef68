package api

import (
	"bytes"
	"html/template"
	"net/http"
	"strings"

	"github.com/storeroom/storeroom/api/docs"
)

var homePage = template.Must(template.ParseFS(docs.Files, "home.html"))

// homePolicy allows the home page its style sheet and its icon.
const homePolicy = "default-src 'none'; style-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

type homeJSON struct {
	Name          string  `json:"name"`
	Version       string  `json:"version"`
	Documentation string  `json:"documentation"`
	OpenAPI       string  `json:"openapi"`
	Settings      *string `json:"settings"` // null if the pages are disabled
}

// home handles GET /: a page for browsers, JSON for other clients.
func (s *Server) home(w http.ResponseWriter, r *http.Request) error {
	home := homeJSON{Name: "Storeroom", Version: s.Version, Documentation: "/docs", OpenAPI: "/openapi.json"}
	if s.pages != nil {
		home.Settings = new("/settings")
	}
	w.Header().Set("Vary", "Accept")
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		return writeData(w, http.StatusOK, home)
	}
	var page bytes.Buffer
	if err := homePage.Execute(&page, home); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Security-Policy", homePolicy)
	h.Set("Referrer-Policy", "no-referrer")
	writeBody(w, http.StatusOK, "text/html; charset=utf-8", page.Bytes())
	return nil
}
