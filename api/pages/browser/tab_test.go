package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var (
	chromium context.Context // of the browser that all tests share
	// atOnce limits how many tests run at the same time, because tabs need memory.
	atOnce = make(chan struct{}, 2)
	// clipboard guards the clipboard, which all tabs share.
	clipboard sync.Mutex
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run starts Chromium, runs the tests and stops Chromium.
func run(m *testing.M) int {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); path == "" && err == nil {
			path = found
		}
	}
	if path == "" {
		fmt.Fprintln(os.Stderr, "Chromium is not installed: run make test")
		return 1
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.Flag("no-sandbox", os.Geteuid() == 0), // root cannot use the sandbox
		chromedp.Flag("lang", "en-GB"),
	)...)
	defer stop()
	ctx, closeBrowser := chromedp.NewContext(allocator)
	defer closeBrowser()
	if err := chromedp.Do(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "start Chromium:", err)
		return 1
	}
	chromium = ctx
	return m.Run()
}

// tab is the browser of one user.
type tab struct {
	*site
	t        testing.TB
	ctx      context.Context
	part     string // selects the part of the page that axe checks; "" for all
	isLarge  bool   // axe takes long on this page, so it checks only the first viewport
	mu       sync.Mutex
	problems []string // reported by the browser
}

// newTab opens a browser without cookies. The test fails if the browser reports a
// problem, or after two minutes.
func (s *site) newTab(t testing.TB) *tab {
	t.Helper()
	b := &tab{site: s, t: t}
	ctx, closeTab := chromedp.NewContext(chromium, chromedp.WithNewBrowserContext(), chromedp.WithListener(b.note))
	t.Cleanup(closeTab)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	t.Cleanup(cancel)
	b.ctx = ctx
	focused := emulation.SetFocusEmulationEnabledParams{Enabled: true}
	b.do(
		call(audits.Enable, cdp.Empty{}), call(emulation.SetFocusEmulationEnabled, focused),
		chromedp.EmulateViewport(viewports[0].width, viewports[0].height))
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, problem := range b.problems {
			t.Errorf("the browser reports: %s", problem)
		}
	})
	return b
}

// note records problems that the browser reports. It ignores statuses of pages, which
// the tests check.
func (b *tab) note(event any) {
	problem := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		problem = "exception: " + e.ExceptionDetails.Text
	case *runtime.EventConsoleAPICalled:
		problem = fmt.Sprintf("console.%s: %v", e.Type, e.Args)
	case *log.EventEntryAdded:
		status := e.Entry.Source == log.EntrySourceNetwork && strings.Contains(e.Entry.Text, "status of 4")
		if status && !strings.Contains(e.Entry.URL, "/static/") {
			return
		}
		problem = fmt.Sprintf("%s %s: %s (%s)", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL)
	case *audits.EventIssueAdded:
		if e.Issue.Code == audits.InspectorIssueCodeCookieIssue {
			return // the browser did not send a cookie to another site
		}
		problem = fmt.Sprintf("%s: %+v", e.Issue.Code, issue(e.Issue.Details))
	}
	if problem != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.problems = append(b.problems, problem)
	}
}

func issue(d *audits.InspectorIssueDetails) any {
	switch {
	case d.ContentSecurityPolicyIssueDetails != nil:
		return *d.ContentSecurityPolicyIssueDetails
	case d.GenericIssueDetails != nil:
		return *d.GenericIssueDetails
	}
	return d
}

// call returns an action that sends a command of the DevTools protocol.
func call[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// load runs steps that load another page and returns its status.
func (b *tab) load(steps ...chromedp.Action[chromedp.Void]) int {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	response, err := chromedp.RunResponse(ctx, steps...)
	if err != nil {
		b.t.Fatalf("no page was loaded: %v; the current page is: %s", err, b.text("main"))
	}
	return int(response.Status)
}

// open opens a page and returns its status.
func (b *tab) open(path string) int {
	b.t.Helper()
	response, err := chromedp.Run(b.ctx, chromedp.NavigateResponse(b.url+path))
	if err != nil {
		b.t.Fatalf("open %s: %v", path, err)
	}
	return int(response.Status)
}

// mustOpen opens a page and wants the status 200.
func (b *tab) mustOpen(path string) {
	b.t.Helper()
	if status := b.open(path); status != 200 {
		b.t.Fatalf("open %s: %d %s", path, status, b.text("main"))
	}
}

// named selects a link or button by its text or label.
func named(text string) string {
	const format = `//main//*[self::a or self::button or self::summary][normalize-space()=%q or @aria-label=%q]`
	return fmt.Sprintf(format, text, text)
}

// field selects an input by its label.
func field(label string) string {
	return fmt.Sprintf(`//main//*[@id=//label[normalize-space()=%q]/@for]`, label)
}

// option selects a radio button or checkbox by the title in its label.
func option(word string) string {
	return fmt.Sprintf(`//main//label[.//*[self::strong or self::code][normalize-space()=%q]]`, word)
}

// press clicks a link or button and waits for the next page.
func (b *tab) press(text string) int {
	b.t.Helper()
	return b.load(chromedp.Click(named(text), chromedp.NodeVisible))
}

// fill replaces the content of a field.
func (b *tab) fill(label, text string) {
	b.t.Helper()
	b.do(chromedp.Clear(field(label), chromedp.NodeVisible), chromedp.SendKeys(field(label), text))
}

func (b *tab) choose(word string) { b.do(chromedp.Click(option(word), chromedp.NodeVisible)) }

// evaluate runs a script in the page.
func evaluate[T any](b *tab, script string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise, chromedp.EvalAsValue))
	if err != nil {
		b.t.Fatalf("%s: %v", script, err)
	}
	return value
}

// text returns the visible text of an element, or "" if it does not exist.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return evaluate[string](b, fmt.Sprintf(`document.querySelector(%q)?.innerText ?? ""`, selector))
}

// html returns the source of the current page.
func (b *tab) html() string { return evaluate[string](b, `document.documentElement.outerHTML`) }

// path returns the path of the current page.
func (b *tab) path() string { return evaluate[string](b, `location.pathname`) }

// wantText checks that the page shows all parts.
func (b *tab) wantText(parts ...string) {
	b.t.Helper()
	page := b.text("body")
	for _, part := range parts {
		if !strings.Contains(page, part) {
			b.t.Errorf("the page does not show %q: %s", part, page)
		}
	}
}

// keys types keys, such as kb.Tab.
func (b *tab) keys(keys string) { b.do(chromedp.KeyEvent(keys)) }

// tabTo presses Tab until the element with that name has the focus.
func (b *tab) tabTo(name string) {
	b.t.Helper()
	for range 60 {
		b.keys(kb.Tab)
		if b.focus() == name {
			return
		}
	}
	b.t.Fatalf("Tab does not reach %q on %s", name, b.path())
}

// focus returns the name of the element that has the focus.
func (b *tab) focus() string {
	return evaluate[string](b, `(() => {
		const e = document.activeElement;
		const label = e.labels?.[0];
		const title = label?.querySelector("strong, code") ?? label ?? e;
		return (e.getAttribute("aria-label") ?? title.innerText).trim();
	})()`)
}

// allowClipboard permits scripts of the page to use the clipboard.
func (b *tab) allowClipboard() {
	b.t.Helper()
	for _, permission := range []string{"clipboard-read", "clipboard-write"} {
		_, err := chromedp.CallBrowser(b.ctx, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: permission},
			Setting:    browser.PermissionSettingGranted, Origin: b.url,
			BrowserContextID: chromedp.FromContext(b.ctx).BrowserContextID,
		})
		if err != nil {
			b.t.Fatal(err)
		}
	}
}

// back presses the back button of the browser.
func (b *tab) back() {
	b.t.Helper()
	history, err := chromedp.Run(b.ctx, chromedp.NavigationEntries())
	if err != nil {
		b.t.Fatal(err)
	}
	entry := history.Entries[history.CurrentIndex-1].ID
	step := call(page.NavigateToHistoryEntry, page.NavigateToHistoryEntryParams{EntryID: entry})
	if _, err := chromedp.Run(b.ctx, chromedp.WaitEvent(page.FrameNavigated, nil, step)); err != nil {
		b.t.Fatal(err)
	}
}

// cookie returns the session cookie, or nil.
func (b *tab) cookie() *network.Cookie {
	b.t.Helper()
	result, err := chromedp.Call(b.ctx, network.GetCookies, network.GetCookiesParams{URLs: []string{b.url}})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range result.Cookies {
		if c.Name == "storeroom-insecure" {
			return c
		}
	}
	return nil
}

func (b *tab) setCookie(value string) {
	b.t.Helper()
	b.do(call(network.SetCookie, network.SetCookieParams{Name: "storeroom-insecure", Value: value, URL: b.url}))
}

// signIn starts a session without the form.
func (b *tab) signIn(email string) {
	b.t.Helper()
	token, err := b.people.SignIn(b.t.Context(), email, password, "192.0.2.1")
	if err != nil {
		b.t.Fatal(err)
	}
	b.setCookie(token.Reveal())
}
