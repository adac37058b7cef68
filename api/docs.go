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

// ownDocs is the page that loads Swagger UI. Swagger UI itself comes from static.FS.
//
//go:embed docs
var ownDocs embed.FS

// docsPolicy allows the page to load files from, and to send requests to, only this
// service. data: is for the icons in the style sheet of Swagger UI.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// docsFiles returns the files of the page by URL path.
var docsFiles = sync.OnceValue(func() map[string]file {
	files := map[string]file{}
	for _, f := range []struct {
		path, contentType, name string
		from                    fs.FS
	}{
		{"/docs", "text/html; charset=utf-8", "docs/index.html", ownDocs},
		{"/docs/docs.js", "text/javascript; charset=utf-8", "docs/docs.js", ownDocs},
		{"/docs/docs.css", "text/css; charset=utf-8", "docs/docs.css", ownDocs},
		{"/docs/swagger-ui-bundle.js", "text/javascript; charset=utf-8", "swagger-ui-bundle.js.gz", static.FS},
		{"/docs/swagger-ui.css", "text/css; charset=utf-8", "swagger-ui.css.gz", static.FS},
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

// docs handles GET /docs, the page with the API documentation, and the files that the
// page loads.
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

// file is an embedded file, plain and compressed. Browsers revalidate it by its ETag on
// each use, so that a new version takes effect immediately.
type file struct {
	contentType   string
	plain, zipped variant
}

// variant is one encoding of a file.
type variant struct {
	body []byte
	etag string
}

// newFile returns a file whose content may already be compressed with gzip. It panics
// if the content is corrupt: the files are embedded.
func newFile(contentType string, content []byte) file {
	if z, err := gzip.NewReader(bytes.NewReader(content)); err == nil {
		plain, err := io.ReadAll(z)
		if err != nil {
			panic(err)
		}
		return file{contentType, newVariant(plain), newVariant(content)}
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write(content) // a bytes.Buffer returns no error
	_ = z.Close()
	return file{contentType, newVariant(content), newVariant(zipped.Bytes())}
}

func newVariant(body []byte) variant {
	sum := sha256.Sum256(body)
	return variant{body, `"` + hex.EncodeToString(sum[:8]) + `"`}
}

func (f file) serve(w http.ResponseWriter, r *http.Request) {
	h, chosen := w.Header(), f.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		chosen = f.zipped
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Type", f.contentType)
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "Accept-Encoding")
	h.Set("ETag", chosen.etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(chosen.body))
}
