package api

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/swaggest/swgui/v5/static"
)

// docsFS contains the pages and their files; Swagger UI itself is in static.FS.
//
//go:embed docs
var docsFS embed.FS

// docsPolicy allows the page to load from this service only. The style sheet of Swagger UI contains
// icons as data: URLs.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// docsFiles maps paths to files.
var docsFiles = sync.OnceValue(func() map[string]file {
	const html, css, javascript = "text/html; charset=utf-8", "text/css; charset=utf-8", "text/javascript; charset=utf-8"
	files := map[string]file{}
	for _, f := range []struct {
		path, contentType, name string
		from                    fs.FS
	}{
		{"/docs", html, "docs/index.html", docsFS},
		{"/docs/docs.js", javascript, "docs/docs.js", docsFS},
		{"/docs/docs.css", css, "docs/docs.css", docsFS},
		{"/docs/home.css", css, "docs/home.css", docsFS},
		{"/docs/swagger-ui-bundle.js", javascript, "swagger-ui-bundle.js.gz", static.FS},
		{"/docs/swagger-ui.css", css, "swagger-ui.css.gz", static.FS},
		{"/docs/favicon-32x32.png", "image/png", "favicon-32x32.png", static.FS},
	} {
		body, err := fs.ReadFile(f.from, f.name)
		if err != nil {
			panic(err) // the files are embedded
		}
		files[f.path] = newFile(f.contentType, body)
	}
	return files
})

// docs handles GET /docs, the API documentation, and the files of its pages.
func (s *Server) docs(w http.ResponseWriter, r *http.Request) error {
	f, found := docsFiles()[r.URL.Path]
	if !found {
		return &apiError{code: RouteNotFound}
	}
	h := w.Header()
	h.Set("Content-Security-Policy", docsPolicy)
	h.Set("Referrer-Policy", "no-referrer")
	f.serve(w, r)
	return nil
}

// file is an embedded file. Browsers cache it and revalidate it on every use, so that a new version
// of the program takes effect immediately.
type file struct {
	contentType    string
	plain, gzipped variant
}

// variant is one encoding of a file, with its own entity tag.
type variant struct {
	body []byte
	etag string
}

// newFile returns a file whose content may be compressed already. It panics if the content is
// corrupt, which only a broken build can cause.
func newFile(contentType string, content []byte) file {
	if z, err := gzip.NewReader(bytes.NewReader(content)); err == nil {
		plain, err := io.ReadAll(z)
		if err != nil {
			panic(err)
		}
		return file{contentType, newVariant(plain), newVariant(content)}
	}
	var gzipped bytes.Buffer
	z := gzip.NewWriter(&gzipped)
	_, _ = z.Write(content) // a bytes.Buffer never fails
	_ = z.Close()
	return file{contentType, newVariant(content), newVariant(gzipped.Bytes())}
}

func newVariant(body []byte) variant {
	sum := sha256.Sum256(body)
	return variant{body, `"` + hex.EncodeToString(sum[:8]) + `"`}
}

func (f file) serve(w http.ResponseWriter, r *http.Request) {
	h, selected := w.Header(), f.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		selected = f.gzipped
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Type", f.contentType)
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "Accept-Encoding")
	h.Set("ETag", selected.etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(selected.body))
}
