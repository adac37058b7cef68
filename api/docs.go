package api

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"runtime/debug"
	"sync"
	"time"

	"github.com/storeroom/storeroom/api/docs"
)

// docsPolicy allows the page to load from this service only, and to send requests to it.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// newDocsPage returns the page of the OpenAPI document, which shows base as the address of the service.
func newDocsPage(base *url.URL) file {
	defer debug.FreeOSMemory() // parsing the document leaves 15 MB of garbage
	page, err := docs.Page(openAPIYAML, base)
	if err != nil {
		panic(err) // the document is embedded
	}
	return newFile("text/html; charset=utf-8", page)
}

// docsFiles maps paths to the files of the page.
var docsFiles = sync.OnceValue(func() map[string]file {
	files := map[string]file{}
	for name, contentType := range map[string]string{
		"docs.js":  "text/javascript; charset=utf-8",
		"docs.css": "text/css; charset=utf-8",
		"home.css": "text/css; charset=utf-8",
		"icon.svg": "image/svg+xml",
	} {
		body, err := docs.Files.ReadFile(name)
		if err != nil {
			panic(err) // the files are embedded
		}
		files["/docs/"+name] = newFile(contentType, body)
	}
	return files
})

// docs handles GET /docs, the API documentation, and the files of its pages.
func (s *Server) docs(w http.ResponseWriter, r *http.Request) error {
	f, found := docsFiles()[r.URL.Path]
	if r.URL.Path == "/docs" {
		f, found = s.docsPage(), true
	}
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

func newFile(contentType string, content []byte) file {
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
	if weight(r.Header, "gzip") > 0 {
		selected = f.gzipped
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Type", f.contentType)
	h.Set("Cache-Control", "no-cache")
	varies(h)
	h.Set("ETag", selected.etag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(selected.body))
}
