package api

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"io"
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

//go:embed WEBHOOKS.md
var webhooksGuide string

//go:embed IMPORTS.md
var importsGuide string

//go:embed MCP.md
var mcpGuide string

// newDocsSite returns the files of the documentation by path. Its pages show base as the address of the service.
func newDocsSite(base *url.URL) map[string]file {
	defer debug.FreeOSMemory() // parsing the document leaves 15 MB of garbage
	site, err := docs.Render(openAPIYAML, map[string]string{
		"FIGURES.md": figuresGuide, "IMPORTS.md": importsGuide, "MCP.md": mcpGuide, "PLANS.md": plansGuide,
		"WEBHOOKS.md": webhooksGuide,
	}, base)
	if err != nil {
		panic(err) // the document and the guides are embedded
	}
	files := map[string]file{
		"/llms.txt":         newFile("text/plain; charset=utf-8", site.LLMs),
		"/docs/search.json": newFile("application/json", site.Search),
	}
	for _, page := range site.Pages {
		files[page.Path] = newFile("text/html; charset=utf-8", page.HTML)
		files[page.Path+".md"] = newFile("text/markdown; charset=utf-8", page.Markdown)
	}
	return files
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

// docs handles GET /docs and the other pages and files of the documentation.
func (s *Server) docs(w http.ResponseWriter, r *http.Request) error {
	f, found := docsFiles()[r.URL.Path]
	if !found {
		f, found = s.docsSite()[r.URL.Path]
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

// file is an embedded file, of which only the compressed bytes are kept. Browsers cache it and revalidate it on every
// use, so that a new version of the program takes effect immediately.
type file struct {
	contentType          string
	gzipped              []byte
	size                 int64 // without compression
	plainTag, gzippedTag string
}

func newFile(contentType string, content []byte) file {
	var gzipped bytes.Buffer
	z := gzip.NewWriter(&gzipped)
	_, _ = z.Write(content) // a bytes.Buffer never fails
	_ = z.Close()
	body := bytes.Clone(gzipped.Bytes())
	return file{contentType, body, int64(len(content)), digestTag(content), digestTag(body)}
}

// digestTag returns the entity tag of a content.
func digestTag(content []byte) string {
	sum := sha256.Sum256(content)
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}

func (f file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.contentType)
	h.Set("Cache-Control", "no-cache")
	varies(h)
	if weight(r.Header, "gzip") > 0 {
		h.Set("Content-Encoding", "gzip")
		h.Set("ETag", f.gzippedTag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.gzipped))
		return
	}
	h.Set("ETag", f.plainTag)
	http.ServeContent(w, r, "", time.Time{}, &inflated{file: f})
}

// inflated is the content of a file for http.ServeContent. It holds a few KB, however long a client takes.
type inflated struct {
	file   file
	offset int64 // of the next Read
	reader io.Reader
	at     int64 // position of reader
}

// Seek implements io.Seeker.
func (i *inflated) Seek(offset int64, whence int) (int64, error) {
	i.offset = offset + map[int]int64{io.SeekStart: 0, io.SeekCurrent: i.offset, io.SeekEnd: i.file.size}[whence]
	return i.offset, nil
}

// Read implements io.Reader.
func (i *inflated) Read(p []byte) (int, error) {
	if i.reader == nil || i.at > i.offset {
		reader, err := gzip.NewReader(bytes.NewReader(i.file.gzipped))
		if err != nil {
			return 0, err
		}
		i.reader, i.at = reader, 0
	}
	skipped, err := io.CopyN(io.Discard, i.reader, i.offset-i.at)
	i.at += skipped
	if err != nil {
		return 0, err
	}
	n, err := i.reader.Read(p)
	i.at += int64(n)
	i.offset = i.at
	return n, err
}
