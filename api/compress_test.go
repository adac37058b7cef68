package api

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/storeroom/storeroom/tenancy/limits"
)

// decompressor reads a response with a Content-Encoding.
func decompressor(encoding string, body io.Reader) (io.Reader, error) {
	switch encoding {
	case "":
		return body, nil
	case "gzip":
		return gzip.NewReader(body)
	case "zstd":
		return zstd.NewReader(body, zstd.WithDecoderConcurrency(1))
	}
	return nil, fmt.Errorf("unexpected Content-Encoding %q", encoding)
}

func mustDecompress(t testing.TB, encoding string, body []byte) []byte {
	t.Helper()
	if len(body) == 0 { // a response to HEAD
		return body
	}
	reader, err := decompressor(encoding, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

func accepting(encoding string) http.Header { return http.Header{"Accept-Encoding": {encoding}} }

// checkEncoding checks the headers that depend on the encoding.
func checkEncoding(t *testing.T, got reply, want string) {
	t.Helper()
	if encoding := got.Header.Get("Content-Encoding"); encoding != want || got.Header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("%s %s with Accept-Encoding %q: Content-Encoding = %q, Vary = %q, want %q",
			got.Request.Method, got.Request.URL.Path, got.Request.Header["Accept-Encoding"], encoding,
			got.Header.Values("Vary"), want)
	}
}

func TestAcceptEncoding(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for i := range 10 {
		a.mustProduct(t, fmt.Sprintf(`{"sku":"%d","name":"Mug","price":1}`, i))
	}
	const path = "/api/products"
	plain := a.try(t, call{path: path, header: accepting("identity"), wantStatus: 200})
	checkEncoding(t, plain, "")
	for _, c := range []struct{ accepted, want string }{
		{"gzip", "gzip"}, {"zstd", "zstd"}, {"GZip", "gzip"}, {"gzip, deflate, br, zstd", "zstd"}, {"*", "zstd"},
		{"br", ""}, {"gzip;q=0", ""}, {"gzip;q=0.000,zstd", "zstd"}, {"zstd;q=0, *", "gzip"}, {"*;q=0", ""},
		{"gzip ; Q=0.5 , zstd;q=0.4", "gzip"}, {"identity, gzip;q=0.9", ""}, {"identity;q=0.1, gzip;q=0.2", "gzip"},
		{"gzip;q=many", ""}, {"gzip;q=NaN", ""}, {",;,", ""},
	} {
		get := a.try(t, call{path: path, header: accepting(c.accepted), wantStatus: 200})
		checkEncoding(t, get, c.want)
		if !bytes.Equal(get.body, plain.body) {
			t.Errorf("%q: body = %.200s, want %.200s", c.accepted, get.body, plain.body)
		}
		if smaller := get.ContentLength < int64(len(plain.body))/4; smaller != (c.want != "") {
			t.Errorf("%q: %d bytes of %d", c.accepted, get.ContentLength, len(plain.body))
		}
		head := a.try(t, call{method: "HEAD", path: path, header: accepting(c.accepted), wantStatus: 200})
		checkEncoding(t, head, c.want)
		if head.ContentLength != get.ContentLength {
			t.Errorf("%q: HEAD has %d bytes, GET %d", c.accepted, head.ContentLength, get.ContentLength)
		}
	}

	twice := http.Header{"Accept-Encoding": {"gzip;q=0.1", "zstd;q=0.2"}}
	checkEncoding(t, a.try(t, call{path: path, header: twice, wantStatus: 200}), "zstd")
	small := a.try(t, call{path: path + "?per_page=1", header: accepting("gzip"), wantStatus: 200})
	if checkEncoding(t, small, ""); small.ContentLength >= minCompressed {
		t.Errorf("one product has %d bytes", small.ContentLength)
	}
	unknown := `{"unknown":1`
	for i := range 40 {
		unknown += `,"unknown-` + strconv.Itoa(i) + `":1`
	}
	failed := a.try(t, call{
		method: "POST", path: path, body: unknown + "}", header: accepting("gzip"), wantStatus: 422,
		wantCode: ValidationError, want: []string{`"unknown-3":["`},
	})
	checkEncoding(t, failed, "gzip")
}

// A client writes with the entity tag that it received, whatever encoding it accepts then.
func TestEntityTagsOfCompressedResponses(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	description := strings.Repeat("A large mug. ", 200)
	for encoding, other := range map[string]string{"gzip": "zstd", "zstd": "gzip"} {
		id := a.mustProduct(t, fmt.Sprintf(`{"sku":%q,"name":"Mug","price":1,"description":%q}`, encoding, description))
		path, accept := fmt.Sprintf("/api/products/%d", id), accepting(encoding)
		plain := a.try(t, call{path: path, header: accepting("identity"), wantStatus: 200}).Header.Get("ETag")
		got := a.try(t, call{path: path, header: accept, wantStatus: 200})
		checkEncoding(t, got, encoding)
		etag := got.Header.Get("ETag")
		if etag == plain || strings.HasPrefix(etag, "W/") {
			t.Errorf("%s: ETag = %s, uncompressed %s, want another strong one", encoding, etag, plain)
		}
		for _, value := range []string{etag, "W/" + etag, plain} {
			header := http.Header{"Accept-Encoding": {encoding}, "If-None-Match": {value}}
			for _, method := range []string{"GET", "HEAD"} {
				cached := a.try(t, call{method: method, path: path, header: header, wantStatus: 304})
				if cached.Header.Get("ETag") != strings.TrimPrefix(value, "W/") || cached.Header.Get("Vary") != "Accept-Encoding" ||
					cached.Header.Get("Content-Encoding") != "" {
					t.Errorf("%s: 304 has %v", encoding, cached.Header)
				}
			}
		}
		for _, accepted := range []string{other, "identity"} {
			header := http.Header{"Accept-Encoding": {accepted}, "If-None-Match": {etag}}
			a.try(t, call{path: path, header: header, wantStatus: 200})
		}
		change := func(price int, tag string, status int) reply {
			header := http.Header{"Accept-Encoding": {"identity"}, "If-Match": {tag}}
			body := fmt.Sprintf(`{"price":%d}`, price)
			return a.try(t, call{method: "PATCH", path: path, body: body, header: header, wantStatus: status})
		}
		change(2, etag, 200)
		changed := a.try(t, call{path: path, header: accept, wantStatus: 200})
		change(3, etag, 412)
		change(3, "W/"+changed.Header.Get("ETag"), 412)
		change(3, changed.Header.Get("ETag"), 200)
		a.try(t, call{
			method: "DELETE", path: path, header: http.Header{"If-Match": {etag}}, wantStatus: 412, wantCode: PreconditionFailed,
		})
	}
}

func TestReplayedResponsesAreStoredUncompressed(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	body := fmt.Sprintf(`{"sku":"a","name":"A","price":1,"description":%q}`, strings.Repeat("A large mug. ", 200))
	var first reply
	for _, encoding := range []string{"gzip", "identity", "zstd"} {
		header := http.Header{"Accept-Encoding": {encoding}, "Idempotency-Key": {"k"}}
		got := a.try(t, call{method: "POST", path: "/api/products", body: body, header: header, wantStatus: 201})
		checkEncoding(t, got, strings.TrimPrefix(encoding, "identity"))
		if first.Response == nil {
			first = got
		}
		if replayed := got.Header.Get("Idempotent-Replayed") == "true"; replayed != (encoding != "gzip") ||
			!bytes.Equal(got.body, first.body) {
			t.Errorf("%s: replayed %v, %s, want %s", encoding, replayed, got.body, first.body)
		}
	}
}

func TestCompressedExports(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustHeavyProducts(t, 30)
	for _, path := range []string{
		"/api/products/export", "/api/products/export?format=ndjson", "/api/reports/export/sales-summary?period=last_year",
	} {
		plain := a.try(t, call{path: path, header: accepting("identity"), wantStatus: 200})
		checkEncoding(t, plain, "")
		for _, encoding := range []string{"gzip", "zstd"} {
			got := a.try(t, call{path: path, header: accepting(encoding), wantStatus: 200})
			checkEncoding(t, got, encoding)
			if !bytes.Equal(got.body, plain.body) || got.Header.Get("Content-Type") != plain.Header.Get("Content-Type") {
				t.Errorf("%s as %s has %d bytes, %v, want %d", path, encoding, len(got.body), got.Header, len(plain.body))
			}
		}
	}
	small := a.try(t, call{path: "/api/products/export?search=zzz", header: accepting("gzip"), wantStatus: 200})
	checkEncoding(t, small, "")
	workbook := a.try(t, call{
		path: "/api/reports/export/sales-summary?format=xlsx&period=last_year", header: accepting("gzip"), wantStatus: 200,
	})
	if workbook.Header.Get("Content-Encoding") != "" || workbook.Header.Get("Vary") != "" {
		t.Errorf("XLSX has %v", workbook.Header)
	}
}

// TestPartsOfACompressedDownload checks that a client can read a part before the next one exists, and that the memory
// of the compressor counts.
func TestPartsOfACompressedDownload(t *testing.T) {
	t.Parallel()
	first, second := bytes.Repeat([]byte("first row\n"), 10_000), bytes.Repeat([]byte("second row\n"), 10_000)
	for _, c := range []struct {
		accepted, want string
	}{
		{"identity", ""}, {"gzip", "gzip"}, {"zstd", "zstd"},
	} {
		t.Run(c.accepted, func(t *testing.T) {
			t.Parallel()
			read := make(chan struct{})
			if c.want == "" { // a part of the file remains in the buffer of net/http
				close(read)
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				d := &download{w: &recorder{ResponseWriter: w, request: r}, timeout: time.Minute}
				if err := d.stream(&requestState{}, func(to io.Writer) error {
					_, _ = to.Write(first)
					<-read
					_, err := to.Write(second)
					return err
				}); err != nil {
					t.Error(err)
				}
			}))
			defer server.Close()
			request, err := http.NewRequestWithContext(t.Context(), "GET", server.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header = accepting(c.accepted)
			client := server.Client()
			client.Timeout = 30 * time.Second
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if got := response.Header.Get("Content-Encoding"); got != c.want {
				t.Fatalf("Content-Encoding = %q, want %q", got, c.want)
			}
			body, err := decompressor(c.want, response.Body)
			if err != nil {
				t.Fatal(err)
			}
			part := make([]byte, len(first))
			if _, err := io.ReadFull(body, part); err != nil || !bytes.Equal(part, first) {
				t.Errorf("first part: %v", err)
			}
			if c.want != "" {
				close(read)
			}
			if rest, err := io.ReadAll(body); err != nil || !bytes.Equal(rest, second) {
				t.Errorf("second part: %d bytes, %v", len(rest), err)
			}
		})
	}
}

// A large body is sent uncompressed if its user has no memory left.
func TestLargeBodiesNeedMemoryToCompress(t *testing.T) {
	t.Parallel()
	body := bytes.Repeat([]byte("a row of a response\n"), 100_000)
	for _, c := range codings {
		ticket := limits.New(24, 2).Enter("shop", limits.Read)
		compressed, ok := c.encode(ticket, body)
		if !ok || !bytes.Equal(mustDecompress(t, c.name, compressed), body) {
			t.Errorf("%s: %d bytes, %v", c.name, len(compressed), ok)
		}
		release, _ := ticket.Try(limits.Memory, 48<<20)
		if _, ok := c.encode(ticket, body); ok {
			t.Errorf("%s: compressed without memory", c.name)
		}
		release()
	}
}

func TestPagesAreNotCompressed(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withPages())
	request, err := http.NewRequestWithContext(t.Context(), "GET", a.url+"/settings/sign-in", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = accepting("gzip, zstd")
	response, err := testClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.ContentLength < minCompressed || response.Header.Get("Content-Encoding") != "" {
		t.Errorf("the page has %d bytes, %v", response.ContentLength, response.Header)
	}
}
