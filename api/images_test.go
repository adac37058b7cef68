package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/catalog"
)

// mustImages returns the images of a product.
func (a *testAPI) mustImages(t testing.TB, product int64) []imageJSON {
	t.Helper()
	type response struct {
		Data struct{ Images []imageJSON }
	}
	got := a.try(t, call{path: fmt.Sprintf("/api/products/%d", product), wantStatus: 200})
	return mustDecode[response](t, got.body).Data.Images
}

// names returns the last parts of the URLs, and checks that the positions are 1, 2, 3.
func names(t testing.TB, images []imageJSON) string {
	t.Helper()
	var all []string
	for i, image := range images {
		all = append(all, image.URL[strings.LastIndex(image.URL, "/")+1:])
		if image.Position != int32(i+1) {
			t.Errorf("image %d has the position %d", i, image.Position)
		}
	}
	return strings.Join(all, " ")
}

func TestImagesByURL(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	product := a.mustProduct(t, `{"sku":"a","name":"A","price":1}`)
	path := fmt.Sprintf("/api/products/%d", product)
	before := a.send(t, call{path: path})
	var ids []int64
	for _, name := range []string{"a", "b", "c"} {
		ids = append(ids, a.mustCreate(t, path+"/images", `{"url":"https://example.com/`+name+`"}`))
	}
	after := a.send(t, call{path: path})
	if after.Header.Get("ETag") == before.Header.Get("ETag") || mustData(t, after)["updated_at"] == mustData(t, before)["updated_at"] {
		t.Error("the product has the same ETag or time as without images")
	}
	a.try(t, call{path: "/api/products?updated_since=" + fmt.Sprint(mustData(t, after)["updated_at"]), wantStatus: 200, want: []string{`"total":1`}})
	for _, move := range []struct {
		id   int64
		to   int
		want string
	}{{ids[2], 1, "c a b"}, {ids[2], 2, "a c b"}, {ids[0], 20, "c b a"}, {ids[0], 3, "c b a"}} {
		a.try(t, call{
			method: "PATCH", path: fmt.Sprintf("%s/images/%d", path, move.id), body: fmt.Sprintf(`{"position":%d}`, move.to),
			wantStatus: 200, want: []string{fmt.Sprintf(`"id":%d`, move.id), fmt.Sprintf(`"position":%d`, min(move.to, 3))},
		})
		if got := names(t, a.mustImages(t, product)); got != move.want {
			t.Errorf("after moving %d to %d: %s, want %s", move.id, move.to, got, move.want)
		}
	}
	a.try(t, call{method: "DELETE", path: fmt.Sprintf("%s/images/%d", path, ids[1]), wantStatus: 204})
	if got := names(t, a.mustImages(t, product)); got != "c a" {
		t.Errorf("after deleting b: %s", got)
	}
	a.try(t, call{method: "PUT", path: path, body: `{"sku":"a","name":"A","price":2}`, wantStatus: 200})
	a.try(t, call{method: "PATCH", path: path, body: `{"images":[]}`, wantStatus: 200})
	if got := names(t, a.mustImages(t, product)); got != "c a" {
		t.Errorf("after PUT and PATCH: %s", got)
	}
	other := a.mustProduct(t, `{"sku":"b","name":"B","price":1}`)
	missing := []call{
		{method: "DELETE", path: fmt.Sprintf("%s/images/%d", path, ids[1])},
		{method: "PATCH", path: fmt.Sprintf("%s/images/%d", path, ids[1]), body: `{"position":1}`},
		{method: "DELETE", path: fmt.Sprintf("/api/products/%d/images/%d", other, ids[0])},
		{method: "POST", path: fmt.Sprintf("/api/products/%d/images", other+1000), body: `{"url":"https://example.com/a"}`},
	}
	for _, c := range missing {
		c.wantStatus, c.wantCode = 404, NotFound
		a.try(t, c)
	}
}

func TestInvalidImages(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path := fmt.Sprintf("/api/products/%d/images", a.mustProduct(t, `{"sku":"a","name":"A","price":1}`))
	id := a.mustCreate(t, path, `{"url":"https://example.com/0"}`)
	one := fmt.Sprintf("%s/%d", path, id)
	for _, c := range []call{
		{method: "POST", path: path, body: `{}`, want: []string{`"url":["is required"]`}},
		{method: "POST", path: path, body: `{"url":7}`, want: []string{`"url":["must be a string"]`}},
		{method: "POST", path: path, body: `{"url":"javascript:alert(1)","x":1}`, want: []string{
			`"url":["must be an http or https URL without a user name"],"x":["is not a known field"]`,
		}},
		{method: "PATCH", path: one, body: `{}`, want: []string{`"position":["is required"]`}},
		{method: "PATCH", path: one, body: `{"position":0}`, want: []string{`"position":["must be between 1 and 20"]`}},
		{method: "PATCH", path: one, body: `{"position":1.5}`, want: []string{`"position":["must be an integer"]`}},
		{method: "PATCH", path: one, body: `{"position":1,"url":"https://example.com/1"}`, want: []string{`"url":["is not a known field"]`}},
	} {
		c.wantStatus, c.wantCode = 422, ValidationError
		a.try(t, c)
	}
	for _, path := range []string{path + "/x", strings.Replace(one, "/api/products/", "/api/products/x", 1)} {
		a.try(t, call{method: "DELETE", path: path, wantStatus: 400, wantCode: InvalidParameter})
	}
	for i := range catalog.MaxImages - 1 {
		a.mustCreate(t, path, fmt.Sprintf(`{"url":"https://example.com/%d"}`, i+1))
	}
	a.try(t, call{
		method: "POST", path: path, body: `{"url":"https://example.com/20"}`, wantStatus: 422, wantCode: ValidationError,
		want: []string{`"images":["must hold at most 20 images"]`},
	})
}

func TestImagesInBulk(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	first := `{"sku":"a","name":"A","price":1,"images":["https://example.com/a","https://example.com/b"]}`
	got := a.mustBulk(t, http.StatusOK, first, `{"sku":"b","name":"B","price":1,"images":["https://example.com/a"]}`)
	product := *got.Data[0].ID
	created := a.mustImages(t, product)
	if names(t, created) != "a b" || created[0].ID == created[1].ID {
		t.Errorf("created with %v", created)
	}
	for _, step := range []struct{ images, want, outcome string }{
		{`["https://example.com/a","https://example.com/b"]`, "a b", "unchanged"},
		{`[]`, "a b", "unchanged"},
		{`null`, "a b", "unchanged"},
		{`[{"id":7,"url":"https://example.com/x","position":1}]`, "a b", "unchanged"},
		{`["https://example.com/c","https://example.com/a"]`, "c a", "updated"},
		{`["https://example.com/c"]`, "c", "updated"},
	} {
		got := a.mustBulk(t, http.StatusOK, `{"sku":"a","images":`+step.images+`}`)
		images := a.mustImages(t, product)
		if got.Data[0].Status != step.outcome || names(t, images) != step.want {
			t.Errorf("%s: %s with %s, want %s with %s", step.images, got.Data[0].Status, names(t, images), step.outcome, step.want)
		}
		if step.want == "c a" && !cmp.Equal(images[1].ID, created[0].ID) {
			t.Errorf("a kept URL has the id %d, want %d", images[1].ID, created[0].ID)
		}
	}
	a.mustBulk(t, http.StatusOK, `{"sku":"a","name":"Other"}`)
	if got := names(t, a.mustImages(t, product)); got != "c" {
		t.Errorf("after another change: %s", got)
	}
	many := strings.Repeat(`"https://example.com/a",`, catalog.MaxImages) + `"https://example.com/b"`
	for images, want := range map[string]string{
		`"https://example.com/a"`:               "must be an array of URLs",
		`["https://example.com/a",{"id":1}]`:    `"images[1]":["must be a string"]`,
		`["https://example.com/a","b"]`:         `"images[1]":["must be an http or https URL without a user name"]`,
		`[` + many + `]`:                        "must have at most 20 elements",
		`["https://example.com/a","ftp://a/b"]`: `"images[1]"`,
	} {
		a.try(t, call{
			method: "POST", path: "/api/products/bulk", body: `{"items":[{"sku":"a","images":` + images + `}]}`,
			wantStatus: 207, want: []string{want},
		})
	}
}
