package browser

import (
	"archive/zip"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/storeroom/storeroom/tenancy/people"
)

// ambiguousSales is a spreadsheet whose dates can be read in two ways, with a status that is not known. One row is
// invalid.
const ambiguousSales = "Order number,Date,SKU,Product,Quantity,Unit price,Status\n" +
	"1001,03/04/2026,MUG,Blue mug,2,9.50,Settled\n" +
	"1001,03/04/2026,CUP,Cup,1,5.00,Settled\n" +
	"1002,04/04/2026,MUG,Blue mug,x,9.50,Settled\n"

// selectFile selects a new file with this content in the form of the page.
func (b *tab) selectFile(name, content string) {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.do(chromedp.SetUploadFiles(`#file`, []string{path}))
}

// await loads the page of an import again until it shows a text, as the page does without a script.
func (b *tab) await(text string) {
	b.t.Helper()
	b.awaitAny(text)
}

// awaitAny is await for one of several texts. It returns which.
func (b *tab) awaitAny(texts ...string) int {
	b.t.Helper()
	for range 300 {
		shown := b.text("main")
		if i := slices.IndexFunc(texts, func(text string) bool { return strings.Contains(shown, text) }); i >= 0 {
			return i
		}
		time.Sleep(100 * time.Millisecond)
		b.mustOpen(b.path())
	}
	b.t.Fatalf("the page does not show %q: %s", texts, b.text("main"))
	return 0
}

func TestAnImportInTheBrowser(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.newTab(t)
	b.signIn(s.mustPerson(t, "ann", people.Admin))
	b.mustOpen(s.page("imports"))
	b.check("imports-empty")
	b.selectFile("sales.csv", ambiguousSales)
	b.press("Upload and review")
	b.await("The files can be read in more than one way")
	b.wantText("How are dates written?", "03/04/2026 is 3 April 2026", "03/04/2026 is 4 March 2026",
		"What does each status of an order mean?", "settled", "1001: revenue 24.00, tax 0.00")
	b.check("import-question")
	b.tabTo("Day, month, year\n03/04/2026 is 3 April 2026")
	b.keys(" ")
	b.tabTo("settled")
	b.keys("A sale")
	b.fill("Shop of all orders", "Web Shop")
	const product = `//main//select[@id=//label[normalize-space()="Product"]/@for]`
	b.do(chromedp.SetValue(product, ""))
	b.press("Continue")
	b.wantText("The channel must be 1 to 50 lower-case letters")
	b.check("import-question-error")
	filled := evaluate[string](b, `[document.querySelector("#channel").value,
		document.querySelector("[name=date_order]:checked")?.value,
		[...document.querySelectorAll("select")].map(s => s.value)].join(" ")`)
	if filled != "Web Shop dmy sale,number,placed_at,sku,,quantity,price,status" {
		t.Errorf("the form with the error has the values %q", filled)
	}
	b.do(chromedp.SetValue(product, "name"))
	b.fill("Shop of all orders", "")
	b.press("Continue")
	b.await("Nothing has been written yet")
	b.wantText("Apr 2026", "24.00", "Download the refused rows", "sales.csv line 4", "must be a whole number", "3 Apr 2026, 00:00 CEST",
		"How are dates written? Day, month, year", "settled: A sale")
	b.check("import-plan")
	b.press("Import 2 rows")
	b.await("You can undo this import until")
	b.check("import-applied")
	page := b.path()
	b.mustOpen(s.page("orders"))
	b.wantText("1001", "24.00")
	b.mustOpen(page)
	b.press("undo this import")
	b.wantText("Undo this import?")
	b.check("import-undo")
	b.press("Undo import")
	b.await("This import was undone")
	b.mustOpen(s.page("orders"))
	b.wantText("No orders yet")
	b.mustOpen(s.page("imports"))
	b.wantText("sales.csv", "Undone")
	b.check("imports")
	b.mustOpen(s.page("audit"))
	b.wantText("Applied an import", "Undid an import")

	viewer := s.newTab(t)
	viewer.signIn(s.mustPerson(t, "vera", people.Viewer))
	if status := viewer.open(s.page("imports")); status != http.StatusForbidden {
		t.Errorf("a viewer gets %d for the imports, want 403", status)
	}
}

func TestAnImportIsAnsweredAsBefore(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.newTab(t)
	b.signIn(s.mustPerson(t, "ann", people.Admin))
	for name, content := range map[string]string{
		"sales.csv": ambiguousSales, "more.csv": strings.ReplaceAll(ambiguousSales, "100", "200"),
	} {
		b.mustOpen(s.page("imports"))
		b.selectFile(name, content)
		b.press("Upload and review")
		if b.awaitAny("The files can be read in more than one way", "Nothing has been written yet") == 1 {
			break
		}
		b.do(chromedp.Click(`[value=dmy]`), chromedp.SetValue(`#status-0`, "sale"))
		b.press("Continue")
		b.await("Nothing has been written yet")
		b.press("Import 2 rows")
		b.await("You can undo this import until")
	}
	b.wantText("Questions about these files are answered as for your file of", "Answered as for your file of")
	b.check("import-remembered")
	b.press("Answer them again")
	b.await("The files can be read in more than one way")
	b.press("Cancel the import")
	b.await("This import was cancelled")
}

func TestAnImportWithoutJavaScript(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.newTab(t)
	b.signIn(s.mustPerson(t, "ann", people.Admin))
	b.do(call(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	b.mustOpen(s.page("imports"))
	b.selectFile("sales.csv", ambiguousSales)
	b.press("Upload and review")
	b.await("The files can be read in more than one way")
	b.do(chromedp.Click(`[value=dmy]`), chromedp.SetValue(`#status-0`, "sale"))
	b.press("Continue")
	b.await("Nothing has been written yet")
	b.press("Import 2 rows")
	b.await("You can undo this import until")
	page := b.path()
	b.mustOpen(s.page("orders"))
	b.wantText("1001", "24.00")
	b.mustOpen(page)
	b.press("undo this import")
	b.press("Undo import")
	b.await("This import was undone")
}

func TestAFileIsDroppedOnThePage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.newTab(t)
	b.signIn(s.mustPerson(t, "ann", people.Admin))
	b.mustOpen(s.page("imports"))
	dropped := evaluate[string](b, fmt.Sprintf(`(() => {
		const drop = document.querySelector("[data-drop]");
		const dataTransfer = new DataTransfer();
		dataTransfer.items.add(new File([%q], "dropped.csv"));
		const over = ["dragover", "dragleave", "dragover", "drop"].map((type) => {
			drop.dispatchEvent(new DragEvent(type, {dataTransfer, bubbles: true, cancelable: true}));
			return drop.classList.contains("over");
		});
		const row = document.querySelector("[data-upload-progress]");
		sessionStorage.shown = "";
		new MutationObserver(() => sessionStorage.shown += row.innerText.trim() + ";").observe(
			row, {subtree: true, childList: true, characterData: true});
		return over + " " + document.querySelector("#file").files[0].name;
	})()`, ambiguousSales))
	if dropped != "true,false,true,false dropped.csv" {
		t.Errorf("the drop is %q", dropped)
	}
	b.press("Upload and review")
	b.await("The files can be read in more than one way")
	b.wantText("dropped.csv")
	if shown := evaluate[string](b, `sessionStorage.shown`); !strings.Contains(shown, "100 %;") {
		t.Errorf("the upload shows %q, want its progress", shown)
	}
}

// Another instance works on the import. The page shows its progress without being loaded again.
func TestTheProgressOfAnImportIsShown(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.newTab(t)
	b.signIn(s.mustPerson(t, "ann", people.Admin))
	b.mustOpen(s.page("imports"))
	var file strings.Builder
	file.WriteString("sku,name,price\n")
	for i := range 600 {
		fmt.Fprintf(&file, "SKU-%d,Mug %d,9.50\n", i, i)
	}
	b.selectFile("products.csv", file.String())
	b.press("Upload and review")
	b.await("Import 600 rows")
	page := b.path()
	const works = `update change_plans set worker = gen_random_uuid(), lease_until = now() + interval '1 hour', `
	awaitText := func(text string) {
		t.Helper()
		for range 300 {
			if strings.Contains(b.text("main"), text) {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Fatalf("the page does not show %q: %s", text, b.text("main"))
	}
	s.exec(t, works+`state = 'planning'`)
	b.mustOpen(page)
	b.wantText("Reading the files", "600 rows read")
	b.check("import-reading")
	evaluate[bool](b, `window.same = true`)
	s.exec(t, `update change_plan_parts set created = created - 100 where part = 0`)
	awaitText("500 rows read")
	if !evaluate[bool](b, `window.same`) {
		t.Error("the page was loaded again")
	}
	s.exec(t, `update change_plan_parts set created = created + 100 where part = 0`)
	s.exec(t, works+`state = 'applying', next_part = 0`)
	awaitText("0 of 600 rows")
	b.wantText("Importing")
	evaluate[bool](b, `window.same = true`)
	s.exec(t, works+`next_part = 1`)
	awaitText("500 of 600 rows")
	if value := evaluate[float64](b, `document.querySelector("progress").value`); value != 83 ||
		!evaluate[bool](b, `window.same`) {
		t.Errorf("the bar is at %v, want 83 in the same page", value)
	}
	b.do(chromedp.EmulateViewport(360, 740))
	if wrapped := evaluate[bool](b, `(() => {
		const [bar, text] = document.querySelector(".progress").children;
		return text.offsetTop > bar.offsetTop + bar.offsetHeight;
	})()`); wrapped {
		t.Error("the text of the progress is below the bar")
	}
	b.check("import-importing")
	b.press("Stop")
	b.wantText("This import was cancelled. 500 rows were imported before.", "undo them")
	b.check("import-stopped")
	const rows = `document.querySelector("#rows ~ table").rows.length - 1`
	if n := evaluate[int](b, rows); n != 10 {
		t.Errorf("the page shows %d rows, want the first 10", n)
	}
	b.press("Show all 600 rows")
	b.wantText("Page 1 of 12")
	if n := evaluate[int](b, rows); n != 50 {
		t.Errorf("the page of all rows shows %d, want 50", n)
	}
}

func TestTheArchiveIsDownloaded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	b := s.newTab(t)
	b.signIn(s.mustPerson(t, "ann", people.Admin))
	b.mustOpen(s.page("imports"))
	b.wantText("Download everything", "The audit log records each download.")
	dir := t.TempDir()
	b.do(call(browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir, BrowserContextID: chromedp.FromContext(b.ctx).BrowserContextID,
	}), chromedp.Click(named("Download archive")))
	var paths []string
	for begin := time.Now(); len(paths) == 0 && time.Since(begin) < 30*time.Second; time.Sleep(100 * time.Millisecond) {
		paths, _ = filepath.Glob(filepath.Join(dir, "*.zip"))
	}
	want := "storeroom-" + s.tenant.Slug + "_" + time.Now().UTC().Format(time.DateOnly) + ".zip"
	if len(paths) != 1 || filepath.Base(paths[0]) != want {
		t.Fatalf("the browser has the files %q, want %s", paths, want)
	}
	archive, err := zip.OpenReader(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if last := archive.File[len(archive.File)-1].Name; last != "manifest.json" {
		t.Errorf("the last entry of the archive is %s, want manifest.json", last)
	}
	b.check("imports-archive")
	b.mustOpen(s.page("audit"))
	b.wantText("Exported an archive")

	viewer := s.newTab(t)
	viewer.signIn(s.mustPerson(t, "vera", people.Viewer))
	if strings.Contains(viewer.html(), "archive.zip") || strings.Contains(viewer.text("nav"), "Imports") {
		t.Error("a viewer sees a link to the archive or to the imports")
	}
	if status := viewer.open(s.page("archive.zip")); status != http.StatusForbidden {
		t.Errorf("a viewer gets %d for the archive, want 403", status)
	}
}
