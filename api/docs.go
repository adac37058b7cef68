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

// ownDocs are the page and what boots it; Swagger UI itself comes from static.FS.
//
//go:embed docs
var ownDocs embed.FS

// docsPolicy lets the page load from and talk to this service and nothing else.
// data: is for the icons inside Swagger UI's style sheet.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// docsFiles are all files of the page by the path that they are served at.
var docsFiles = sync.OnceValue(func() map[string]file {
	files := map[string]file{}
	for _, f := range []struct {
		path, kind, name string
		from             fs.FS
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
			panic(err) // the files are part of the program
		}
		files[f.path] = newFile(f.kind, body)
	}
	return files
})

// docs answers GET /docs, a page to read the API document and try it, and the
// files that the page loads.
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

// file is a part of the program that browsers may keep. They ask each time
// whether it is still the same, so that a new version shows at once.
type file struct {
	kind          string // of content
	plain, packed variant
}

// variant is one form of a file; each has an entity tag of its own.
type variant struct {
	body []byte
	etag string
}

// newFile takes a content as it is, or packed already. Packing and unpacking in
// memory fail only for a file that is broken, and the files are part of the
// program.
func newFile(kind string, content []byte) file {
	if z, err := gzip.NewReader(bytes.NewReader(content)); err == nil {
		plain, err := io.ReadAll(z)
		if err != nil {
			panic(err)
		}
		return file{kind, newVariant(plain), newVariant(content)}
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(content)
	_ = z.Close()
	return file{kind, newVariant(content), newVariant(packed.Bytes())}
}

func newVariant(body []byte) variant {
	sum := sha256.Sum256(body)
	return variant{body, `"` + hex.EncodeToString(sum[:8]) + `"`}
}

func (f file) serve(w http.ResponseWriter, r *http.Request) {
	h, form := w.Header(), f.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		form = f.packed
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "Accept-Encoding")
	h.Set("ETag", form.etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(form.body))
}
