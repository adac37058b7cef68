package api

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

const csvHeader = "sku,name,description,price,msrp,cost,status,condition,quantity,reorder_point,category_name,seller_name,warehouse_name,bin_location,upc,tags,images\r\n"

func mustCSV(t testing.TB, body []byte) [][]string {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(body)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestExportHeaders(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, c := range []struct{ query, kind, name, empty string }{
		{"", "text/csv; charset=utf-8; header=present", "products.csv", csvHeader},
		{"?format=csv", "text/csv; charset=utf-8; header=present", "products.csv", csvHeader},
		{"?format=ndjson", "application/x-ndjson", "products.ndjson", ""},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			got := a.try(t, call{method: method, path: "/api/products/export" + c.query, wantStatus: 200})
			if kind, name := got.Header.Get("Content-Type"), got.Header.Get("Content-Disposition"); kind != c.kind ||
				name != `attachment; filename="`+c.name+`"` {
				t.Errorf("%s %s is %s, %s", method, c.query, kind, name)
			}
			if method == "GET" && string(got.body) != c.empty {
				t.Errorf("%s of no products = %q", c.query, got.body)
			}
		}
	}
}

func TestExportEqualsTheList(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustManyProducts(t)
	a.mustFullProduct(t)
	for _, query := range []string{
		"", "direction=asc", "sort=name&direction=desc", "sort=price", "sort=sku", "status=draft", "tag=b",
		"tag=t1&sort=name", "search=mug+0",
		"search=zzz", "category_id=0", "from=2200-01-01", "updated_since=1970-01-01T00:00:00Z&sort=sku",
	} {
		list := a.try(t, call{path: "/api/products?per_page=100&" + query, wantStatus: 200})
		want := mustDecode[struct{ Data []json.RawMessage }](t, list.body).Data
		lines := strings.SplitAfter(
			string(a.try(t, call{path: "/api/products/export?format=ndjson&" + query, wantStatus: 200}).body), "\n",
		)
		lines = lines[:len(lines)-1] // nothing follows the last line break
		if !slices.EqualFunc(want, lines, func(w json.RawMessage, line string) bool { return string(w)+"\n" == line }) {
			t.Errorf("?%s: NDJSON = %s, the list %s", query, lines, want)
		}
		rows := mustCSV(t, a.try(t, call{path: "/api/products/export?" + query, wantStatus: 200}).body)[1:]
		skus := mustDecode[listedProducts](t, list.body).skus()
		if !slices.EqualFunc(skus, rows, func(sku string, row []string) bool { return row[0] == sku }) {
			t.Errorf("?%s: CSV = %v, the list %v", query, rows, skus)
		}
	}
}

func TestCSVHasEveryField(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustFullProduct(t)
	a.mustBulk(t, http.StatusOK, `{"sku":"=1+1","name":"@sum","price":0,"description":"a\r\nb","bin_location":"'-x","tags":["-t"],
		"images":["https://example.com/1","https://example.com/2"]}`)
	got := a.try(t, call{path: "/api/products/export?sort=sku&direction=desc", wantStatus: 200})
	want := csvHeader +
		`all,All,"<p>ü & ""x""</p>` + "\n" +
		`",10.00,12.50,10.00,draft,like_new,7,3,Light,Acme,North,A-7,00012345678905,b;a,` + "\r\n" +
		"'=1+1,'@sum,\"a\r\nb\",0.00,,,active,new,0,,,,Main warehouse,''-x,,'-t,https://example.com/1 https://example.com/2\r\n"
	if string(got.body) != want {
		t.Errorf("CSV = %q, want %q", got.body, want)
	}
}

func TestInvalidExportParameters(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for query, parts := range map[string][]string{
		"format=pdf": {`"format":["must be one of csv, xlsx, ndjson"]`}, "format=": {"format"}, "format=CSV": {"format"},
		"format=csv&format=csv": {"must be given once"},
		"page=1":                {`"page":["is not a known parameter"]`}, "per_page=5": {"per_page"}, "cursor=": {"cursor"},
		"sort=id": {"sort"}, "updated_since=x": {"updated_since"},
		"format=x&status=y&odd=1": {`"format":["`, `"odd":["`, `"status":["`},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			got := a.send(t, call{method: method, path: "/api/products/export?" + query})
			if got.StatusCode != 400 || got.Header.Get("Content-Disposition") != "" {
				t.Errorf("%s ?%s = %d %v", method, query, got.StatusCode, got.Header)
			}
			for _, part := range parts {
				if method == "GET" && (got.code(t) != InvalidParameter || !bytes.Contains(got.body, []byte(part))) {
					t.Errorf("?%s = %s, want %s", query, got.body, part)
				}
			}
		}
	}
}

// mustHeavyProducts adds n products that exceed the socket buffers between the server and a
// client that does not read.
func (a *testAPI) mustHeavyProducts(t testing.TB, n int) {
	t.Helper()
	for begin := 0; begin < n; begin += 1000 {
		var items []string
		for i := begin; i < min(n, begin+1000); i++ {
			items = append(items, fmt.Sprintf(`{"sku":"%05d","name":"N","price":1}`, i))
		}
		a.mustBulk(t, http.StatusOK, items...)
	}
	a.exec(t, `update products set description = repeat('x', 30000)`)
}

// mustOpen begins an export and reads only its header.
func (a *testAPI) mustOpen(t testing.TB, path string) io.ReadCloser {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", a.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.key)
	req.Header.Set("Accept-Encoding", "identity") // a compressed file would fit in the socket buffers
	resp, err := testClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s = %d", path, resp.StatusCode)
	}
	return resp.Body
}

func TestUnreadExportsDelayNoOthers(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustHeavyProducts(t, 900)
	other := a.mustKey(t, a.MustTenant(t, "other", withLimit(1000)), "full")
	one, two := a.mustOpen(t, "/api/products/export"), a.mustOpen(t, "/api/products/export?format=ndjson")
	a.try(t, call{name: "a third one", path: "/api/products/export?search=00001", wantStatus: 200})
	a.try(t, call{name: "other routes still work", path: "/api/products?per_page=1", wantStatus: 200})
	a.try(t, call{name: "another tenant", path: "/api/products/export", key: other, wantStatus: 200})
	one.Close() // a client that disconnects
	lines := 0
	for s := bufio.NewReader(two); ; lines++ { // and one that reads to the end
		if _, err := s.ReadBytes('\n'); err != nil {
			if !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			break
		}
	}
	if lines != 900 {
		t.Errorf("%d lines, want 900", lines)
	}
	for range 4 {
		a.try(t, call{path: "/api/products/export?search=00001", wantStatus: 200})
	}
}

// TestFailedExportAbortsTheConnection ends the database connections after the first thousand products.
// The client must be able to detect that the file is incomplete.
func TestFailedExportAbortsTheConnection(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.mustHeavyProducts(t, 1100)
	for _, format := range []string{"csv", "ndjson"} {
		whole, err := io.ReadAll(a.mustOpen(t, "/api/products/export?sort=sku&format="+format))
		if err != nil || !bytes.Contains(whole, []byte("01099")) {
			t.Fatalf("%s: %d bytes, %v", format, len(whole), err)
		}
	}
	bodies := []io.ReadCloser{
		a.mustOpen(t, "/api/products/export?sort=sku"), a.mustOpen(t, "/api/products/export?sort=sku&format=ndjson"),
	}
	conn, name := a.MustSuperAt(t, a.tenant.ID), databaseName(t, a.Database)
	if _, err := conn.Exec(t.Context(), "alter database "+name+" connection limit 0"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(
		t.Context(), `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()`,
		name,
	); err != nil {
		t.Fatal(err)
	}
	for _, body := range bodies {
		got, err := io.ReadAll(body)
		if err == nil || !bytes.Contains(got, []byte("00000")) || bytes.Contains(got, []byte("01099")) {
			t.Errorf("%d bytes, %v, want a cut connection", len(got), err)
		}
	}
	for range bodies {
		if got := a.send(t, call{path: "/api/products/export"}); got.StatusCode != 503 ||
			got.Header.Get("Content-Disposition") != "" {
			t.Errorf("an export that fails before its first byte = %d %v", got.StatusCode, got.Header)
		}
	}
	var line string
	for l := range strings.Lines(a.log.String()) {
		if strings.Contains(l, `"route":"/api/products/export","status":200`) && strings.Contains(l, `"error":"`) {
			line = l
		}
	}
	if !strings.Contains(line, `"level":"ERROR"`) {
		t.Errorf("the log does not tell of the aborted: %s", line)
	}
}
