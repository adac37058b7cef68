package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestReferenceLifecycle(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	singular := map[string]string{"categories": "category", "sellers": "seller", "warehouses": "warehouse"}
	for _, kind := range []string{"categories", "sellers", "warehouses"} {
		t.Run(kind, func(t *testing.T) {
			list, field := "/api/"+kind, singular[kind]+"_id"
			made := a.try(t, call{
				method: "POST", path: list, body: `{"name":"  Zoë's  "}`, wantStatus: 201,
				want: []string{`"name":"Zoë's"`, `"created_at":"`},
			})
			one := made.Header.Get("Location")
			if strings.Contains(string(made.body), "is_default") != (kind == "warehouses") {
				t.Errorf("only warehouses have is_default: %s", made.body)
			}
			id := int64(mustData(t, made)["id"].(float64))
			if one != fmt.Sprintf("%s/%d", list, id) {
				t.Errorf("Location = %q", one)
			}
			a.tryAll(t, []call{
				{name: "show", path: one, wantStatus: 200, want: []string{`"name":"Zoë's"`}},
				{
					name: "taken", method: "POST", path: list, body: `{"name":"Zoë's"}`, wantStatus: 422, wantCode: ValidationError,
					want: []string{`"name":["is already taken"]`},
				},
				{
					name: "no name", method: "POST", path: list, body: `{}`, wantStatus: 422, wantCode: ValidationError,
					want: []string{`"name":["is required"]`},
				},
				{
					name: "a name of the wrong type", method: "POST", path: list, body: `{"name":5,"color":"x"}`, wantStatus: 422,
					wantCode: ValidationError,
					want:     []string{`"details":{"color":["is not a known field"],"name":["must be a string"]}`},
				},
				{
					name: "an empty name", method: "PATCH", path: one, body: `{"name":" "}`, wantStatus: 422,
					wantCode: ValidationError,
				},
				{
					name: "a null name", method: "PATCH", path: one, body: `{"name":null}`, wantStatus: 422, wantCode: ValidationError,
				},
				{
					name: "a name that is too long", method: "PATCH", path: one, body: `{"name":"` + strings.Repeat("x", 256) + `"}`,
					wantStatus: 422, wantCode: ValidationError,
				},
				{
					name: "rename", method: "PATCH", path: one, body: `{"name":"Anna","id":7,"created_at":"x","updated_at":null}`,
					wantStatus: 200, want: []string{`"name":"Anna"`},
				},
				{name: "an empty change", method: "PATCH", path: one, body: `{}`, wantStatus: 200, want: []string{`"name":"Anna"`}},
				{
					name: "in use", method: "POST", path: "/api/products",
					body: fmt.Sprintf(`{"sku":%q,"name":"P","price":1,"%s":%d}`, kind, field, id), wantStatus: 201,
					want: []string{`"name":"Anna"`},
				},
				{
					name: "delete in use", method: "DELETE", path: one, wantStatus: 409, wantCode: ResourceInUse,
					want: []string{`"message":"1 product uses this ` + singular[kind] + `."`},
				},
				{
					name: "PUT is not supported", method: "PUT", path: one, body: `{"name":"x"}`, wantStatus: 405,
					wantCode: MethodNotAllowed,
				},
			})
			product := mustData(t, a.send(t, call{path: "/api/products/sku/" + kind}))
			a.try(t, call{method: "DELETE", path: fmt.Sprintf("/api/products/%.0f", product["id"]), wantStatus: 204})
			a.try(t, call{method: "DELETE", path: one, wantStatus: 204})
			a.try(t, call{method: "DELETE", path: one, wantStatus: 404, wantCode: NotFound})
			a.try(t, call{method: "PATCH", path: one, body: `{"name":"x"}`, wantStatus: 404, wantCode: NotFound})
			a.try(t, call{path: one, wantStatus: 404, wantCode: NotFound})
		})
	}
}

func TestListReferences(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, name := range []string{"b%", "a_", "C"} {
		a.mustCreate(t, "/api/categories", fmt.Sprintf(`{"name":%q}`, name))
	}
	for query, want := range map[string]string{
		"": "C,a_,b%", "sort=name": "C,a_,b%", "sort=name&direction=desc": "b%,a_,C", "sort=created_at": "b%,a_,C",
		"direction=asc": "b%,a_,C",
		"search=%25":    "b%", "search=_": "a_", "search=c": "C", "search=zz": "", "per_page=1&page=2": "a_", "page=9": "",
	} {
		got := a.try(t, call{path: "/api/categories?" + query, wantStatus: 200})
		var names []string
		for _, r := range mustDecode[struct{ Data []struct{ Name string } }](t, got.body).Data {
			names = append(names, r.Name)
		}
		if strings.Join(names, ",") != want {
			t.Errorf("?%s = %v, want %s", query, names, want)
		}
	}
	a.try(t, call{
		path: "/api/categories?per_page=2", wantStatus: 200,
		want: []string{`"meta":{"page":1,"per_page":2,"total":3,"total_pages":2,"has_next":true,"has_prev":false}`},
	})
}

func TestDefaultWarehouseCannotBeDeleted(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	got := a.try(t, call{
		path: "/api/warehouses", wantStatus: 200, want: []string{`"name":"Main warehouse","is_default":true`},
	})
	id := mustDecode[struct{ Data []struct{ ID int64 } }](t, got.body).Data[0].ID
	path := fmt.Sprintf("/api/warehouses/%d", id)
	a.try(t, call{
		method: "DELETE", path: path, wantStatus: 409, wantCode: ResourceInUse,
		want: []string{`"message":"The default warehouse cannot be deleted."`},
	})
	a.try(t, call{
		method: "PATCH", path: path, body: `{"name":"Harbour","is_default":false}`, wantStatus: 200,
		want: []string{`"name":"Harbour","is_default":true`},
	})
}

// A product uses its warehouse and every warehouse that holds its stock. The count stops at
// 1,000, so that a refusal stays cheap.
func TestDeleteReportsTheNumberOfUses(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	ids := map[string]int64{}
	for _, kind := range []string{"categories", "sellers", "warehouses"} {
		ids[kind] = a.mustCreate(t, "/api/"+kind, `{"name":"N"}`)
	}
	for first := 1; first <= 1001; first += 1000 {
		var items []string
		for n := first; n < first+1000 && n <= 1001; n++ {
			item := fmt.Sprintf(`{"sku":"%d","name":"N","price":1,"category_id":%d`, n, ids["categories"])
			if n <= 1000 {
				item += fmt.Sprintf(`,"seller_id":%d`, ids["sellers"])
			}
			if n <= 2 {
				item += fmt.Sprintf(`,"quantity":1,"warehouse_id":%d`, ids["warehouses"])
			}
			items = append(items, item+"}")
		}
		a.mustBulk(t, http.StatusOK, items...)
	}
	third := mustData(t, a.send(t, call{path: "/api/products/sku/3"}))["id"]
	a.try(t, call{
		method: "POST", path: fmt.Sprintf("/api/products/%.0f/inventory/adjust", third), wantStatus: 200,
		body: fmt.Sprintf(`{"type":"add","quantity":1,"warehouse_id":%d}`, ids["warehouses"]),
	})
	for kind, message := range map[string]string{
		"categories": "More than 1,000 products use this category.",
		"sellers":    "1000 products use this seller.",
		"warehouses": "3 products use this warehouse.",
	} {
		path := fmt.Sprintf("/api/%s/%d", kind, ids[kind])
		a.try(t, call{
			method: "DELETE", path: path, wantStatus: 409, wantCode: ResourceInUse,
			want: []string{`"message":"` + message + `"`},
		})
	}
}
