package api

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/catalog/media"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/limits"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// aJPEG is a picture of 640 by 480 pixels.
var aJPEG = sync.OnceValue(func() []byte {
	p := image.NewRGBA(image.Rect(0, 0, 640, 480))
	for y := range 480 {
		for x := range 640 {
			p.SetRGBA(x, y, color.RGBA{uint8(x), uint8(y), 100, 255})
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, p, nil); err != nil {
		panic(err)
	}
	return b.Bytes()
})

// upload is a call that sends a file as a part with any name and content type. The boundary is random, as that of a
// client that sends a request again.
func upload(product int64, field, name string, content []byte) call {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile(field, name)
	if err == nil {
		_, err = part.Write(content)
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		panic(err)
	}
	return call{
		method: "POST", path: fmt.Sprintf("/api/products/%d/images/file", product), body: body.String(),
		header: http.Header{"Content-Type": {form.FormDataContentType()}},
	}
}

// mustUpload uploads a picture and returns the image.
func (a *testAPI) mustUpload(t testing.TB, product int64, content []byte) imageJSON {
	t.Helper()
	c := upload(product, "file", "photo.jpg", content)
	got := a.send(t, c)
	for tries := 0; got.StatusCode == http.StatusServiceUnavailable && tries < 10; tries++ { // a busy machine
		time.Sleep(time.Second)
		got = a.send(t, c)
	}
	if got.StatusCode != http.StatusCreated {
		t.Errorf("an upload = %d %s", got.StatusCode, got.body)
	}
	type response struct{ Data imageJSON }
	return mustDecode[response](t, got.body).Data
}

// files returns the names of the stored files.
func (a *testAPI) files(t testing.TB) (names []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(a.mediaDir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		names = append(names, filepath.Base(path))
	}
	return names
}

// count returns a number that a query selects.
func (a *testAPI) count(t testing.TB, query string) (n int64) {
	t.Helper()
	if err := a.MustSuper(t).QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

const noKeyHeader = "-"

func TestAnUploadedPictureIsServed(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	product := a.mustProduct(t, `{"sku":"a","name":"A","price":1}`)
	stored := a.mustUpload(t, product, aJPEG())
	name, ok := strings.CutPrefix(stored.URL, baseURL+"/media/")
	if !ok || stored.Position != 1 {
		t.Fatalf("image = %+v", stored)
	}
	if images := a.mustImages(t, product); len(images) != 1 || images[0].URL != stored.URL {
		t.Errorf("the product has %v", images)
	}
	token := strings.TrimSuffix(name, ".jpg")
	small := map[int]string{160: token + "-160.jpg", 480: token + "-480.jpg", 1200: name}
	for width, name := range small {
		if stored.Thumbnails[width] != baseURL+"/media/"+name {
			t.Errorf("the thumbnail of width %d is %s, want %s", width, stored.Thumbnails[width], name)
		}
	}
	for _, name := range []string{name, token + "-160.jpg", token + "-480.jpg"} {
		got := a.try(t, call{path: "/media/" + name, key: noKeyHeader, wantStatus: 200})
		for header, want := range map[string]string{
			"Content-Type": "image/jpeg", "X-Content-Type-Options": "nosniff",
			"Cache-Control":           "public, max-age=31536000, immutable",
			"Content-Security-Policy": "default-src 'none'; sandbox", "Cross-Origin-Resource-Policy": "cross-origin",
			"Etag": `"` + name + `"`, "Content-Length": fmt.Sprint(len(got.body)),
		} {
			if got.Header.Get(header) != want {
				t.Errorf("%s: %s = %q, want %q", name, header, got.Header.Get(header), want)
			}
		}
		if _, err := jpeg.Decode(bytes.NewReader(got.body)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		head := a.try(t, call{method: "HEAD", path: "/media/" + name, key: noKeyHeader, wantStatus: 200})
		if head.Header.Get("Content-Length") != fmt.Sprint(len(got.body)) || len(head.body) > 0 {
			t.Errorf("HEAD %s = %v", name, head.Header)
		}
		cached := http.Header{"If-None-Match": {got.Header.Get("Etag")}}
		a.try(t, call{path: "/media/" + name, key: noKeyHeader, header: cached, wantStatus: 304})
	}
	for _, name := range []string{
		token, token + ".png", token + "-1200.jpg", token + "-161.jpg", strings.ToLower(name), strings.Repeat("A", 26) + ".jpg",
		"..", "..%2f..%2fetc%2fpasswd", token[:2] + "%2f" + name, "%2e%2e%2f" + name, name + "%00", "probe", name + "?x=1",
	} {
		got := a.send(t, call{path: "/media/" + name, key: noKeyHeader})
		if got.StatusCode != 404 && got.StatusCode != 400 {
			t.Errorf("/media/%s = %d", name, got.StatusCode)
		}
	}
	if n := a.count(t, `select count(*) from unused_media`); n != 0 {
		t.Errorf("%d files are reserved after the upload", n)
	}
	if n := a.count(t, `select sum(bytes) from media_totals`); n <= 0 {
		t.Errorf("the tenant uses %d bytes", n)
	}
}

// The deprecated operation stays. Its key is another one than that of the same upload by the new operation.
func TestTheDeprecatedUpload(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	product := a.mustProduct(t, `{"sku":"a","name":"A","price":1}`)
	old := upload(product, "file", "photo.jpg", aJPEG())
	old.path = strings.TrimSuffix(old.path, "/file")
	old.header["Idempotency-Key"] = []string{"photo"}
	old.wantStatus = 201
	first, again := a.try(t, old), a.try(t, old)
	if string(first.body) != string(again.body) || len(a.mustImages(t, product)) != 1 {
		t.Errorf("the repeated upload = %s, want %s", again.body, first.body)
	}
	reused := upload(product, "file", "photo.jpg", aJPEG())
	reused.header["Idempotency-Key"], reused.wantStatus, reused.wantCode = []string{"photo"}, 422, IdempotencyKeyReused
	a.try(t, reused)
	for _, method := range []string{"GET", "PUT"} {
		got := a.send(t, call{method: method, path: reused.path, body: `{}`})
		if got.StatusCode != 405 || got.Header.Get("Allow") != "POST, PATCH, DELETE" {
			t.Errorf("%s = %d, allowed %q", method, got.StatusCode, got.Header.Get("Allow"))
		}
	}
	a.try(t, call{method: "DELETE", path: reused.path, wantStatus: 400, wantCode: InvalidParameter})
}

func TestUploadsThatAreRefused(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	product := a.mustProduct(t, `{"sku":"a","name":"A","price":1}`)
	picture := aJPEG()
	two := upload(product, "file", "a.jpg", picture)
	boundary := strings.TrimPrefix(two.header.Get("Content-Type"), "multipart/form-data; boundary=")
	two.body = strings.TrimSuffix(two.body, "--"+boundary+"--\r\n") + two.body
	cut := upload(product, "file", "a.jpg", picture)
	cut.body = cut.body[:len(cut.body)-100]
	for _, test := range []struct {
		name   string
		call   call
		status int
		code   Code
	}{
		{"SVG", upload(product, "file", "a.jpg", []byte(`<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`)), 415, UnsupportedMediaType},
		{"HTML", upload(product, "file", "a.png", []byte(`<!doctype html><script>alert(1)</script>`)), 415, UnsupportedMediaType},
		{"HEIC", upload(product, "file", "a.avif", []byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00")), 415, UnsupportedMediaType},
		{"an AVIF header", upload(product, "file", "a.jpg", []byte("\x00\x00\x00\x14ftypavif\x00\x00\x00\x00mif1")), 422, ValidationError},
		{"half of a picture", upload(product, "file", "a.jpg", picture[:len(picture)/2]), 422, ValidationError},
		{"another name", upload(product, "image", "a.jpg", picture), 422, ValidationError},
		{"two files", two, 422, ValidationError},
		{"an incomplete form", cut, 422, ValidationError},
		{"too many bytes", upload(product, "file", "a.jpg", append(bytes.Clone(picture), make([]byte, media.MaxUpload)...)), 413, PayloadTooLarge},
		{"far too many bytes", upload(product, "file", "a.jpg", make([]byte, media.MaxUpload+1<<20)), 413, PayloadTooLarge},
		{"another product", upload(product+1000, "file", "a.jpg", picture), 404, NotFound},
	} {
		test.call.wantStatus, test.call.wantCode = test.status, test.code
		a.try(t, test.call)
	}
	for _, path := range []string{"images", "images/file"} {
		a.try(t, call{
			method: "POST", path: fmt.Sprintf("/api/products/%d/%s", product, path), body: string(picture),
			header:     http.Header{"Content-Type": {"image/jpeg"}},
			wantStatus: 415, wantCode: UnsupportedMediaType, want: []string{"multipart/form-data"},
		})
	}
	a.try(t, call{
		method: "POST", path: fmt.Sprintf("/api/products/%d/images/file", product), body: `{"url":"https://example.com/a"}`,
		wantStatus: 415, wantCode: UnsupportedMediaType, want: []string{"multipart/form-data"},
	})
	other := upload(product, "file", "a.jpg", picture)
	other.key = a.mustKey(t, a.MustTenant(t, "other", withLimit(1000)), "full")
	other.wantStatus, other.wantCode = 404, NotFound
	a.try(t, other)
	for i := range catalog.MaxImages {
		a.mustCreate(t, fmt.Sprintf("/api/products/%d/images", product), fmt.Sprintf(`{"url":"https://example.com/%d"}`, i))
	}
	full := upload(product, "file", "a.jpg", picture)
	full.wantStatus, full.wantCode, full.want = 422, ValidationError, []string{`"images":["must hold at most 20 images"]`}
	a.try(t, full)
	if files := a.files(t); len(files) != 0 {
		t.Errorf("stored %v", files)
	}
}

func TestATenantHasAQuotaOfPictures(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(s *Server) { s.MediaQuota = 1 })
	product := a.mustProduct(t, `{"sku":"a","name":"A","price":1}`)
	image := a.mustUpload(t, product, aJPEG())
	more := upload(product, "file", "a.jpg", aJPEG())
	more.wantStatus, more.wantCode, more.want = 422, ValidationError, []string{"would exceed the storage"}
	a.try(t, more)
	a.try(t, call{method: "DELETE", path: fmt.Sprintf("/api/products/%d/images/%d", product, image.ID), wantStatus: 204})
	a.mustUpload(t, product, aJPEG())
}

func TestAnUploadWithAnIdempotencyKeyIsStoredOnce(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	product := a.mustProduct(t, `{"sku":"a","name":"A","price":1}`)
	send := func(content []byte) reply {
		c := upload(product, "file", "a.jpg", content)
		c.header["Idempotency-Key"] = []string{"photo 1"}
		return a.send(t, c)
	}
	first := send(aJPEG())
	files := a.files(t)
	again := send(aJPEG())
	if first.StatusCode != 201 || string(again.body) != string(first.body) || again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("first %d %s, again %s %v", first.StatusCode, first.body, again.body, again.Header)
	}
	if got := send(append(aJPEG(), 0)); got.StatusCode != 422 || got.code(t) != IdempotencyKeyReused {
		t.Errorf("another file = %d %s", got.StatusCode, got.body)
	}
	if got := a.files(t); len(got) != len(files) || len(a.mustImages(t, product)) != 1 {
		t.Errorf("stored %v, want %v", got, files)
	}
	if n := a.count(t, `select count(*) from unused_media`); n != 0 {
		t.Errorf("%d files are still reserved", n)
	}
}

// A client that repeats an upload gets the stored response, also if a new upload would be refused by now.
func TestAnUploadIsReplayedAfterTheLastOne(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(s *Server) { s.MediaQuota = 1 })
	product := a.mustProduct(t, `{"sku":"a","name":"A","price":1}`)
	keyed := func(key string, content []byte) call {
		c := upload(product, "file", "a.jpg", content)
		c.header["Idempotency-Key"] = []string{key}
		return c
	}
	first := a.send(t, keyed("last", aJPEG()))
	a.mustReplay(t, keyed("last", aJPEG()), first)
	other := keyed("last", append(aJPEG(), 0))
	other.wantStatus, other.wantCode = 422, IdempotencyKeyReused
	a.try(t, other)
	more := keyed("more", aJPEG())
	more.wantStatus, more.wantCode, more.want = 422, ValidationError, []string{"would exceed the storage"}
	a.try(t, more)
	a.try(t, more) // the key is free
	a.try(t, call{method: "DELETE", path: fmt.Sprint("/api/products/", product), wantStatus: 204})
	a.mustReplay(t, keyed("last", aJPEG()), first)
}

// Uploads that were all allowed to begin do not exceed the quota together.
func TestUploadsAtTheSameTimeKeepTheQuota(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(s *Server) { s.MediaQuota, s.Limits.Wait = 1, time.Minute })
	by := catalog.Actor{Tenant: a.tenant.ID}
	errs := make([]error, 4)
	products := make([]int64, len(errs))
	for i := range products {
		products[i] = a.mustProduct(t, fmt.Sprintf(`{"sku":"s%d","name":"A","price":1}`, i))
		if err := errors.Join(catalog.New(a.DB).CheckUpload(t.Context(), a.tenant.ID, products[i], 1),
			media.Reserve(t.Context(), a.DB, a.tenant.ID, fmt.Sprint(i, ".jpg"))); err != nil {
			t.Fatal(err)
		}
	}
	var uploads sync.WaitGroup
	for i, product := range products {
		uploads.Go(func() {
			image := catalog.Image{File: fmt.Sprint(i, ".jpg"), Bytes: 5}
			_, errs[i] = catalog.New(a.DB).AddUpload(t.Context(), by, product, image, 1)
		})
	}
	uploads.Wait()
	stored := 0
	for _, err := range errs {
		if _, isInvalid := errors.AsType[tenancy.InvalidError](err); err == nil {
			stored++
		} else if !isInvalid {
			t.Error(err)
		}
	}
	if stored != 1 {
		t.Errorf("%d pictures were stored, want the one that fits", stored)
	}
}

// An upload waits only for other uploads, without a connection to PostgreSQL.
func TestAnUploadCostsOthersNothing(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(s *Server) { s.Limits.Wait = time.Minute })
	product := a.mustProduct(t, `{"sku":"a","name":"A","price":1}`)
	release, err := a.server.Limits.Enter("tenant 0", limits.Upload).Take(t.Context(), limits.Pictures, 1)
	if err != nil {
		t.Fatal(err)
	}
	var uploads sync.WaitGroup
	for range 20 {
		uploads.Go(func() { a.mustUpload(t, product, aJPEG()) })
	}
	for range 200 { // longer than the uploads need to arrive
		a.try(t, call{path: fmt.Sprintf("/api/products/%d", product), wantStatus: 200})
	}
	const inUse = `
		select count(*)
		  from pg_stat_activity
		 where datname = current_database() and usename <> current_user and state <> 'idle' and query not like 'listen%'`
	if n := a.count(t, inUse); n > 0 {
		t.Errorf("%d connections are in use while 20 uploads wait", n)
	}
	if images := a.mustImages(t, product); len(images) != 0 {
		t.Errorf("%d images were stored while another one is decoded", len(images))
	}
	release()
	uploads.Wait()
	if images := a.mustImages(t, product); len(images) != 20 {
		t.Errorf("%d images were stored", len(images))
	}
}

func TestAFailingStorageIsTemporary(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	product := a.mustProduct(t, `{"sku":"a","name":"A","price":1}`)
	if err := os.RemoveAll(a.mediaDir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(a.mediaDir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := upload(product, "file", "a.jpg", aJPEG())
	c.wantStatus, c.wantCode = 503, ServiceUnavailable
	a.try(t, c)
	a.try(t, call{path: "/media/" + strings.Repeat("A", 26) + ".jpg", key: noKeyHeader, wantStatus: 503})
	if err := os.Remove(a.mediaDir); err != nil {
		t.Fatal(err)
	}
	a.mustUpload(t, product, aJPEG())
	if images := a.mustImages(t, product); len(images) != 1 {
		t.Errorf("%d images", len(images))
	}
}

// An upload to an S3 server that fails or does not answer ends with an error and creates no image. Files that the
// server may have stored stay reserved until they are deleted.
func TestAnUploadToAServerThatFailsOrHangs(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"fails": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"hangs": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // otherwise the context does not end
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(answer)
			t.Cleanup(server.Close)
			a := newAPI(t, func(s *Server) {
				s.Media = media.Open("s3://pictures?region=us-east-1&anonymous=true&use_path_style=true&endpoint=" + server.URL)
				with(route{
					"POST", "/api/short/{id}/images", keys.ProductsWrite, at(pathID, s.addImage),
					options{class: limits.Upload, deadline: 5 * time.Second},
				})(s)
			})
			product := a.mustProduct(t, `{"sku":"a","name":"A","price":1}`)
			c := upload(product, "file", "a.jpg", aJPEG())
			c.path = fmt.Sprintf("/api/short/%d/images", product)
			began := time.Now()
			got := a.send(t, c)
			if took := time.Since(began); got.StatusCode != 503 || got.code(t) != ServiceUnavailable || took > 30*time.Second {
				t.Errorf("the upload = %d %s after %v, want 503 after the deadline", got.StatusCode, got.body, took)
			}
			if images := a.mustImages(t, product); len(images) > 0 {
				t.Errorf("the product has %d images", len(images))
			}
			if n := a.count(t, `select count(*) from unused_media`); n != 1 {
				t.Errorf("%d files are reserved, want 1: %s", n, a.log)
			}
		})
	}
}

// noise does not compress.
func noise(w, h int) []byte {
	p := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range p.Pix {
		p.Pix[i] = uint8(rand.Uint32())
	}
	var b bytes.Buffer
	if err := png.Encode(&b, p); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func TestALargeTransparentPicture(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	product := a.mustProduct(t, `{"sku":"a","name":"A","price":1}`)
	stored := a.mustUpload(t, product, noise(600, 600))
	got := a.try(t, call{path: strings.TrimPrefix(stored.URL, baseURL), key: noKeyHeader, wantStatus: 200})
	if _, err := png.Decode(bytes.NewReader(got.body)); err != nil || len(got.body) < 1<<20 {
		t.Errorf("%d bytes, %v", len(got.body), err)
	}
}

// sweep deletes unused files as an instance does each minute.
func (a *testAPI) sweep(t testing.TB) {
	t.Helper()
	if _, err := a.server.Media.DeleteUnused(t.Context(), a.DB); err != nil {
		t.Fatal(err)
	}
}

func TestFilesAreDeletedWithTheirImageProductAndTenant(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	other := a.MustTenant(t, "other", withLimit(1000))
	key := a.mustKey(t, other, "full")
	of := func(c call, key string) call { c.key = key; c.wantStatus = 201; return c }
	var products []int64
	for _, sku := range []string{"a", "b", "c"} {
		products = append(products, a.mustProduct(t, `{"sku":"`+sku+`","name":"A","price":1}`))
	}
	foreign := int64(mustData(t, a.send(t, call{method: "POST", path: "/api/products", body: `{"sku":"a","name":"A","price":1}`, key: key}))["id"].(float64))
	a.try(t, of(upload(foreign, "file", "a.jpg", aJPEG()), key))
	image := a.mustUpload(t, products[0], aJPEG())
	a.mustUpload(t, products[1], aJPEG())
	a.mustUpload(t, products[2], aJPEG())
	const each = 3 // sizes of a picture
	for _, step := range []struct {
		name string
		do   func()
		left int
	}{
		{"nothing", func() {}, 4 * each},
		{"another change", func() {
			a.try(t, call{method: "PATCH", path: fmt.Sprintf("/api/products/%d", products[0]), body: `{"price":2}`, wantStatus: 200})
			a.mustBulk(t, http.StatusOK, `{"sku":"a","images":["https://example.com/a"]}`)
			a.mustBulk(t, http.StatusOK, `{"sku":"a","name":"Other"}`)
		}, 4 * each},
		{"the image", func() {
			a.try(t, call{method: "DELETE", path: fmt.Sprintf("/api/products/%d/images/%d", products[0], image.ID), wantStatus: 204})
		}, 3 * each},
		{"the product", func() {
			a.try(t, call{method: "DELETE", path: fmt.Sprintf("/api/products/%d", products[1]), wantStatus: 204})
		}, 2 * each},
		{"the tenant", func() {
			if err := tenants.Delete(t.Context(), a.Admin, "other"); err != nil {
				t.Fatal(err)
			}
		}, each},
	} {
		step.do()
		a.sweep(t)
		if files := a.files(t); len(files) != step.left {
			t.Errorf("after deleting %s there are %d files, want %d", step.name, len(files), step.left)
		}
	}
	var stored int64
	for _, name := range a.files(t) {
		info, err := os.Stat(filepath.Join(a.mediaDir, name[:2], name))
		if err != nil {
			t.Fatal(err)
		}
		stored += info.Size()
	}
	if counted := a.count(t, `select sum(bytes)::bigint from media_totals`); counted != stored {
		t.Errorf("the totals have %d bytes, want %d", counted, stored)
	}
	if n := a.count(t, `select count(*) from unused_media`); n != 0 {
		t.Errorf("%d rows of unused files are left", n)
	}
}

// A product can use only a file that was reserved for its tenant.
func TestAFileOfAnotherTenantCannotBeUsed(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	other := a.MustTenant(t, "other", withLimit(1000))
	product := a.mustProduct(t, `{"sku":"a","name":"A","price":1}`)
	stored := a.mustUpload(t, product, aJPEG())
	file := strings.TrimPrefix(stored.URL, baseURL+"/media/")
	foreign := mustData(t, a.send(t, call{
		method: "POST", path: "/api/products", body: `{"sku":"a","name":"A","price":1}`, key: a.mustKey(t, other, "full"),
	}))
	for _, name := range []string{file, strings.Repeat("A", 26) + ".jpg"} {
		_, err := catalog.New(a.DB).AddImage(t.Context(), catalog.Actor{Tenant: other.ID}, int64(foreign["id"].(float64)), catalog.Image{File: name}, nil)
		if err == nil || !strings.Contains(err.Error(), "not reserved") {
			t.Errorf("AddImage of %s = %v", name, err)
		}
	}
}
