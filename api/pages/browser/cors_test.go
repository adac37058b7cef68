package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/storeroom/storeroom/tenancy/tenants"
)

// A page on an origin of the tenant reads, writes and sees the headers. Chromium sends the preflights.
func TestAPageOfAnotherOriginUsesTheAPI(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, key := s.mustKey(t, "shop window") // has only products:read
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><html lang="en"><title>Shop</title><main><pre id="out"></pre></main><script>
			const send = async (method, path) => {
				const response = await fetch(%q + path, {method, headers: {
					Authorization: "Bearer %s", "Content-Type": "application/json", "If-Match": "*", "X-Request-Id": "shop-1",
				}, body: method === "GET" ? undefined : "{}"});
				const {success} = await response.json();
				return [response.status, success, response.headers.get("X-Request-Id"),
					response.headers.has("X-RateLimit-Remaining")].join(" ");
			};
			Promise.all([send("GET", "/api/products?per_page=1"), send("PATCH", "/api/products/1")])
				.then((all) => (document.getElementById("out").textContent = all.join(", ")));
			</script>`, s.url, key)
	}))
	defer shop.Close()
	if _, err := tenants.Change(t.Context(), s.Admin, s.tenant.Slug, func(t *tenants.Tenant) {
		t.Origins = []string{shop.URL}
	}); err != nil {
		t.Fatal(err)
	}
	b := s.newTab(t)
	b.do(chromedp.Navigate(shop.URL))
	b.waitFor(`document.getElementById("out").textContent === "200 true shop-1 true, 403 false shop-1 true"`)
}
