package browser

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/storeroom/storeroom/tenancy/people"
)

// ambiguousSales is a spreadsheet whose dates can be read in two ways. One row is invalid.
const ambiguousSales = "Order number,Date,SKU,Product,Quantity,Unit price\n" +
	"1001,03/04/2026,MUG,Blue mug,2,9.50\n" +
	"1001,03/04/2026,CUP,Cup,1,5.00\n" +
	"1002,04/04/2026,MUG,Blue mug,x,9.50\n"

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
	for range 300 {
		if strings.Contains(evaluate[string](b, `document.querySelector("main").innerText`), text) {
			return
		}
		time.Sleep(100 * time.Millisecond)
		b.mustOpen(b.path())
	}
	b.t.Fatalf("the page does not show %q: %s", text, b.text("main"))
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
	b.wantText("03/04/2026", "Day, month, year")
	b.check("import-question")
	b.do(chromedp.Click(`[value=dmy]`))
	b.press("Read the files again")
	b.await("Nothing has been written yet")
	b.wantText("2026-04", "24.00", "Download the refused rows", "must be a whole number")
	b.check("import-plan")
	b.press("Import 2 rows")
	b.await("You can undo this import until")
	b.check("import-applied")
	page := b.path()
	b.mustOpen(s.page("imports"))
	b.selectFile("more.csv", strings.ReplaceAll(ambiguousSales, "100", "200"))
	b.press("Upload and review")
	b.await("Nothing has been written yet")
	b.wantText("Read as your last import of files with these columns: the columns, the order of dates.")
	b.check("import-remembered")
	b.press("Read without these settings")
	b.await("The files can be read in more than one way")
	b.press("Cancel the import")
	b.await("This import was cancelled")
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
