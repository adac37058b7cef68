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
	b.mustOpen("/docs/api/orders#createOrder")
	b.isLarge = true
	b.checkViewports("docs")
	b.isLarge, b.part = false, "#createOrder"
	evaluate[bool](b, `document.querySelectorAll("#createOrder details").forEach(d => d.open = true) ?? true`)
	b.checkViewports("docs-open")
	b.mustOpen("/docs/api/products")
	b.part = "dialog"
	evaluate[bool](b, `(document.getElementById("deleteProduct.id").value = "17") &&
		(document.querySelector("#deleteProduct form").requestSubmit() ?? true)`)
	b.checkViewports("docs-confirm")
}

func TestDocsGuide(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.newTab(t)
	b.mustOpen("/docs")
	b.isLarge = true
	b.checkViewports("docs-start")

	// A language that is selected for one sample is selected for all, and the others are closed.
	evaluate[bool](b, `(document.querySelectorAll('.samples [data-language="python"] summary')[1].click() ?? true)`)
	b.waitFor(`[...document.querySelectorAll(".samples details")].every(d => d.open === (d.dataset.language === "python") ||
		!d.parentElement.querySelector('[data-language="sh"]'))`)
	if copies := evaluate[int](b, `document.querySelectorAll(".code .copy").length`); copies < 20 {
		t.Errorf("%d samples can be copied", copies)
	}

	// Links of earlier releases to operations still lead there.
	b.mustOpen("/docs/limits")
	b.do(chromedp.Navigate(s.url+"/docs#createOrder"), chromedp.WaitReady("#createOrder.operation", chromedp.ByQuery))
	b.waitFor(`location.pathname === "/docs/api/orders" && location.hash === "#createOrder"`)
}

func TestDocsSearchByKeyboard(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.newTab(t)
	b.mustOpen("/docs/limits")
	shown := func() []string {
		return evaluate[[]string](b, `[...document.querySelectorAll("#results li a")].map(a => a.innerText)`)
	}
	b.keys("/")
	if got := b.focus(); got != "Search" {
		t.Errorf("the slash focuses %q", got)
	}
	evaluate[bool](b, `document.getElementById("search").select() ?? true`) // the keyboard of a person types no slash here
	b.keys("idempotency-key refund")
	b.waitFor(`/ results?$/.test(document.getElementById("found").textContent) &&
		[...document.querySelectorAll("#results a")].every(a => !a.innerText.startsWith("List products"))`)
	if got := strings.Join(shown(), ","); !strings.Contains(got, "Create a refund") || strings.Contains(got, "List products") {
		t.Errorf("the search shows %s, want the refund and no list", got)
	}
	b.keys(kb.Enter)
	b.waitFor(`location.pathname !== "/docs/limits" && document.querySelector("main").textContent.toLowerCase().includes("refund")`)
	b.keys("/")
	evaluate[bool](b, `document.getElementById("search").select() ?? true`)
	b.keys("zeppelin")
	b.waitFor(`document.getElementById("found").textContent === "0 results"`)
	evaluate[bool](b, `document.getElementById("search").select() ?? true`)
	b.keys(kb.Backspace)
	b.waitFor(`document.getElementById("found").textContent === "" && !document.querySelector("#contents nav").hidden`)
	if got := shown(); len(got) != 0 {
		t.Errorf("without a word the results are %v", got)
	}
}

func TestDocsSendRequests(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, key := s.mustKey(t, "till") // has only products:read
	b := s.newTab(t)
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
	b.mustOpen("/docs/api/products")
	send("listProducts", "MISSING_API_KEY", nil)
	send("listProducts", `"per_page": 7`, map[string]string{"key": key, "per_page": "7"})
	send("showProduct", "NOT_FOUND", map[string]string{"id": "1"}) // with the same key
	content := func(selector string) string {
		return evaluate[string](b, `document.querySelector("`+selector+`").textContent`)
	}
	if got := content("#showProduct .sent pre"); !strings.Contains(got, "/api/products/1'") ||
		!strings.Contains(got, `-H "Authorization: Bearer $KEY"`) || strings.Contains(got, key) {
		t.Errorf("the request as curl is %s", got)
	}
	if got := content("#showProduct .headers pre"); !strings.Contains(got, "x-ratelimit-remaining: ") {
		t.Errorf("the headers are %s", got)
	}
	send("createProduct", "INSUFFICIENT_PERMISSIONS", nil)

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
	b.mustOpen("/docs/api/orders")
	b.wantText("Orders, refunds and cancellations.", "Create an order", "Idempotency-Key", "placed_at")
	if b.visible("#search") || b.visible(".try") || b.visible("#contents a") {
		t.Error("the page shows the search, a form, a button or the open contents")
	}
	b.tabTo("Contents")
	b.enter()
	b.tabTo("Limits")
	b.enter()
	b.waitFor(`location.pathname === "/docs/limits"`)
	b.wantText("Rate limits", "sliding window of 60 seconds")
	b.mustOpen("/docs")
	b.wantText("Get started", "curl", "TypeScript")
}
