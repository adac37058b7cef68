package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/storeroom/storeroom/tenancy/people"
)

func TestDocsPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.newTab(t)
	b.mustOpen("/docs#createOrder")
	b.isLarge = true
	b.checkViewports("docs")
	b.isLarge, b.part = false, "#createOrder"
	evaluate[bool](b, `document.querySelectorAll("#createOrder details").forEach(d => d.open = true) ?? true`)
	b.checkViewports("docs-open")
	b.part = "dialog"
	evaluate[bool](b, `(document.getElementById("deleteProduct.id").value = "17") &&
		(document.querySelector("#deleteProduct form").requestSubmit() ?? true)`)
	b.checkViewports("docs-confirm")
}

func TestDocsSearchByKeyboard(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.newTab(t)
	b.mustOpen("/docs")
	shown := func() []string {
		return evaluate[[]string](b, `[...document.querySelectorAll("#contents li a")].filter(a => a.checkVisibility()).map(a => a.innerText)`)
	}
	all := len(shown())
	b.tabTo("Search")
	b.keys("idempotency-key refund")
	if got := strings.Join(shown(), ","); !strings.Contains(got, "Create a refund") || strings.Contains(got, "List products") {
		t.Errorf("the search shows %s, want the refund and no list", got)
	}
	b.keys(kb.Enter)
	b.waitFor(`document.querySelector(":target")?.textContent.toLowerCase().includes("refund")`)
	evaluate[bool](b, `document.getElementById("search").select() ?? true`)
	b.keys("zeppelin")
	b.wantText("0 results")
	evaluate[bool](b, `document.getElementById("search").select() ?? true`)
	b.keys(kb.Backspace)
	if got := len(shown()); got != all {
		t.Errorf("without a word the sidebar shows %d entries, want %d", got, all)
	}
}

func TestDocsSendRequests(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, key := s.mustKey(t, "till") // has only products:read
	b := s.newTab(t)
	b.mustOpen("/docs")
	send := func(operation, want string, values map[string]string) {
		t.Helper()
		evaluate[bool](b, `(document.querySelector("#`+operation+` .try").open = true)`)
		for field, value := range values {
			b.do(chromedp.SetValue(`//*[@id="`+operation+`.`+field+`"]`, value))
			evaluate[bool](b, `document.getElementById("`+operation+`.`+field+`").dispatchEvent(new Event("input", {bubbles: true}))`)
		}
		b.do(chromedp.Click(`//*[@id="` + operation + `"]//form/button`))
		b.waitFor(`/after|not sent/.test(document.querySelector("#` + operation + ` [role=status]").textContent)`)
		got := b.text("#"+operation+" [role=status]") + " " + b.text("#"+operation+" .answer")
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %q", operation, got, want)
		}
	}
	send("listProducts", "MISSING_API_KEY", nil)
	send("listProducts", `"per_page": 7`, map[string]string{"key": key, "per_page": "7"})
	send("showProduct", "NOT_FOUND", map[string]string{"id": "1"}) // with the same key
	send("createOrder", "INSUFFICIENT_PERMISSIONS", nil)

	// A request that cannot be undone is sent only after a confirmation.
	evaluate[bool](b, `(document.querySelector("#deleteProduct .try").open = true)`)
	b.do(chromedp.SetValue(`//*[@id="deleteProduct.id"]`, "17"))
	for _, answer := range []struct{ button, want string }{{"Cancel", "Not sent"}, {"Send request", "403 after"}} {
		b.do(chromedp.Click(`//*[@id="deleteProduct"]//form/button`))
		b.waitFor(`document.querySelector("dialog").open`)
		if got := b.text("dialog"); !strings.Contains(got, "Delete a product?\n\nDELETE /api/products/17") {
			t.Errorf("the dialog shows %q", got)
		}
		if got := b.focus(); got != "Cancel" {
			t.Errorf("the dialog focuses %q", got)
		}
		b.do(chromedp.Click(`//dialog//button[.="` + answer.button + `"]`))
		b.waitFor(`document.querySelector("#deleteProduct [role=status]").textContent.includes("` + answer.want + `")`)
		if sent := evaluate[int](b, `performance.getEntriesByName(location.origin + "/api/products/17").length`); (sent > 0) != (answer.button != "Cancel") {
			t.Errorf("%s: %d requests were sent", answer.button, sent)
		}
	}
}

// Without script the whole document is readable, and what needs script is hidden.
func TestDocsWithoutScript(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.signedIn(t, people.Viewer)
	b.do(
		call(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}),
		chromedp.EmulateViewport(360, 740))
	b.mustOpen("/docs")
	b.wantText("Storeroom API", "Create an order", "NewOrder", "Idempotency-Key")
	if b.visible("#search") || b.visible(".try") || b.visible("#contents a") {
		t.Error("the page shows the search, a form or the open contents")
	}
	b.tabTo("Contents")
	b.enter()
	b.tabTo("Rate limits")
	b.enter()
	b.waitFor(`location.hash === "#about-rate-limits"`)
}
