package api

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// mustStorePicture adds an image with a file to a product, and returns the path of the file.
func (a *testAPI) mustStorePicture(t testing.TB, product int64, letter string, content []byte) (path string) {
	t.Helper()
	file := strings.Repeat(letter, 26) + ".jpg"
	path = filepath.Join(a.mediaDir, file[:2], file)
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o644))
	a.MustOldPicture(t, a.tenant.ID, file)
	if err == nil {
		image := catalog.Image{File: file, Width: 1, Height: 1, Bytes: int64(len(content))}
		_, err = catalog.New(a.DB).AddImage(t.Context(), catalog.Actor{Tenant: a.tenant.ID}, product, image, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func mustEntries(t testing.TB, file []byte) map[string]string {
	t.Helper()
	reader, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	entries := map[string]string{}
	for _, f := range reader.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		entries[f.Name] = string(content)
	}
	return entries
}

func TestArchive(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withPages())
	a.mustManyOrders(t)
	a.mustStorePicture(t, a.mustProduct(t, `{"sku":"tea","name":"Tea","price":1}`), "A", []byte("picture"))
	name := `attachment; filename="storeroom-shop_` + time.Now().UTC().Format(time.DateOnly) + `.zip"`

	head := a.try(t, call{method: "HEAD", path: "/api/archive", wantStatus: 200})
	got := a.try(t, call{path: "/api/archive", header: http.Header{"Accept-Encoding": {"gzip"}}, wantStatus: 200})
	for _, r := range []reply{head, got} {
		if r.Header.Get("Content-Disposition") != name || r.Header.Get("Content-Type") != "application/zip" ||
			r.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: headers = %v", r.Request.Method, r.Header)
		}
	}
	entries := mustEntries(t, got.body)
	if len(entries) != 15 || !strings.Contains(entries["customers.csv"], "p1@example.com") ||
		entries["images/"+strings.Repeat("A", 26)+".jpg"] != "picture" {
		t.Errorf("the archive has %d entries, customers %s", len(entries), entries["customers.csv"])
	}

	cookie := a.mustSignIn(t, a.tenant)
	page, _ := a.page(t, "GET", "/settings/t/shop/archive.zip", cookie, nil)
	if page.StatusCode != 200 || page.Header.Get("Content-Disposition") != name {
		t.Errorf("the page = %d %v", page.StatusCode, page.Header)
	}
	var actors []string
	log, _, err := tenants.AuditLog(t.Context(), a.DB, a.tenant.ID, "archive.export", 1, 10)
	for _, entry := range log {
		actors = append(actors, entry.Actor)
	}
	// HEAD sends nothing, so it is not recorded.
	if err != nil || len(actors) != 2 || actors[1] != "API key test full" || !strings.Contains(actors[0], "@") {
		t.Errorf("the audit log has %q, %v", actors, err)
	}
}

func TestAnArchiveNeedsEveryPermission(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for permissions, missing := range map[string]string{
		"orders:read,customers:read":                 "products:read",
		"products:read,customers:read":               "orders:read",
		"products:write,orders:write,imports:write":  "customers:read",
		"products:read,orders:write,customers:write": "",
	} {
		c := call{path: "/api/archive", key: a.mustKey(t, a.tenant, permissions), wantStatus: 200}
		if missing != "" {
			c.wantStatus, c.wantCode, c.want = 403, InsufficientPermissions, []string{missing}
		}
		a.try(t, c)
	}
}

// The archive is larger than the socket buffers, so sending it blocks while the client does not read.
func TestASlowReaderOfAnArchiveHoldsNoConnection(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.exec(t, `
		insert into products (tenant_id, sku, name, price, status, condition, quantity, warehouse_id, search, description)
		select $1, n, n, n, 'active', 'new', 0, w.id, '', (select string_agg(md5(n * 10000 + i || ''), '') from generate_series(1, 2000) i)
		  from warehouses w, generate_series(1, 200) n
		 where w.tenant_id = $1`, a.tenant.ID)
	body := a.mustOpen(t, "/api/archive")
	conn := a.MustSuper(t)
	for begin, open := time.Now(), 1; open > 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > 3*time.Minute { // compressing takes long on a busy machine
			t.Fatal("a transaction is open")
		}
		err := conn.QueryRow(t.Context(), `
			select count(*)
			  from pg_stat_activity
			 where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'
			   and (xact_start is not null or state = 'active')`).Scan(&open)
		if err != nil {
			t.Fatal(err)
		}
	}
	whole, err := io.ReadAll(body)
	if err != nil || len(whole) < 6<<20 {
		t.Fatalf("%d bytes, %v, want more than the buffers of a connection", len(whole), err)
	}
	if entries := mustEntries(t, whole); strings.Count(entries["products.csv"], "\r\n") != 201 {
		t.Errorf("products.csv has %d lines", strings.Count(entries["products.csv"], "\r\n"))
	}
}

// The client must be able to detect that the file is incomplete.
func TestAFailedArchiveAbortsTheConnection(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	product := a.mustProduct(t, `{"sku":"tea","name":"Tea","price":1}`)
	a.mustStorePicture(t, product, "A", bytes.Repeat([]byte("a"), 1<<20))
	broken := a.mustStorePicture(t, product, "B", []byte("b"))
	if err := errors.Join(os.RemoveAll(filepath.Dir(broken)), os.WriteFile(filepath.Dir(broken), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(a.mustOpen(t, "/api/archive"))
	if err == nil || len(got) < 1<<20 {
		t.Errorf("%d bytes, %v, want an aborted connection", len(got), err)
	}
	if _, err := zip.NewReader(bytes.NewReader(got), int64(len(got))); err == nil {
		t.Error("the file is complete")
	}
	if log := a.log.String(); !strings.Contains(log, "the media storage failed") {
		t.Errorf("the log does not have the reason: %s", log)
	}

	a.execAtTenant(t, `alter table order_items rename to absent`)
	early := a.try(t, call{path: "/api/archive", wantStatus: 500})
	if early.Header.Get("Content-Disposition") != "" {
		t.Errorf("headers = %v", early.Header)
	}
}

// Exports of names and e-mail addresses are in the audit log: files that a key may not fill with them are not.
func TestExportsOfCustomersAreInTheAuditLog(t *testing.T) {
	t.Parallel()
	a := newImportAPI(t)
	a.mustManyOrders(t)
	customers := a.mustImport(t, "", "customers.csv", "id,name,email\n,Kim,kim@example.com\n")
	products := a.mustImport(t, "", "products.csv", "sku,price\nA,none\n")
	withoutNames := a.mustKey(t, a.tenant, "orders:read,reports:read")
	const report = "/api/reports/export/customers?from=2026-03-01&to=2026-03-31"
	for _, c := range []call{
		{method: "HEAD", path: "/api/customers/export"}, {path: "/api/customers/export?search=ann"},
		{path: "/api/customers/C-1/data"}, {path: "/api/orders/export?format=ndjson"},
		{path: "/api/orders/export", key: withoutNames}, {path: report, key: withoutNames}, {path: report},
		{path: fmt.Sprintf("/api/imports/%d/refused.csv", products.ID)},
		{path: fmt.Sprintf("/api/imports/%d/refused.csv", customers.ID)},
	} {
		c.wantStatus = 200
		a.try(t, c)
	}
	var got []string
	log, _, err := tenants.AuditLog(t.Context(), a.DB, a.tenant.ID, "customer.export", 1, 10)
	for _, entry := range slices.Backward(log) {
		got = append(got, fmt.Sprint(entry.Actor, ": ", entry.Target, " ", entry.Details["filters"]))
	}
	want := []string{
		"API key test full: customers.csv [search]", "API key test full: customer C-1 <nil>",
		"API key test full: orders.ndjson <nil>", "API key test full: report of customers.csv [from to]",
		fmt.Sprintf("API key test full: refused-rows-%d.csv <nil>", customers.ID),
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("the audit log has %q, %v, want %q", got, err, want)
	}
}
