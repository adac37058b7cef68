package imports

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/api/imports/table"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

// described calls test with each description and its fixture: the file NAME.csv beside it, or in testdata.
func described(t *testing.T, test func(t *testing.T, d *description, dir fstest.MapFS)) {
	t.Helper()
	names, err := fs.Glob(descriptionFiles, "formats/*.yaml")
	if err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		name = strings.TrimSuffix(path.Base(name), ".yaml")
		t.Run(name, func(t *testing.T) {
			d, err := readDescription(name)
			if err != nil {
				t.Fatal(err)
			}
			if d.Refuse != "" {
				return
			}
			content, err := os.ReadFile("formats/" + name + ".csv")
			if err != nil {
				content, err = os.ReadFile("testdata/" + name + ".csv")
			}
			if err != nil {
				t.Fatal(err)
			}
			dir := directory("fixture.csv", string(content))
			if parents := d.Family; d.Kind == Product && parents != "" && parents != name {
				if content, err = os.ReadFile("formats/" + parents + ".csv"); err != nil {
					t.Fatal(err)
				}
				dir["parents.csv"] = &fstest.MapFile{Data: content}
			}
			test(t, d, dir)
		})
	}
}

// decided has an answer to each question about fixtures.
var decided = Settings{
	MissingSKU: "derive", RepeatedSKU: "derive", Refunds: "attach", TaxIncluded: "no", DateOrder: "dmy", Rounding: "round",
}

func TestDescriptionsRecogniseTheirFixtures(t *testing.T) {
	t.Parallel()
	described(t, func(t *testing.T, d *description, dir fstest.MapFS) {
		if d.Name == "" || d.Title == "" || d.Source == "" || !slices.Contains([]Kind{Product, Order, Customer}, d.Kind) {
			t.Error("it lacks its name, title, source or kind")
		}
		set, records := mustRead(t, dir, decided)
		mustHaveEachRowOnce(t, set, records)
		if f := set.Files[0]; f.Format != d.Name {
			t.Errorf("the fixture is recognised as %q, want %s", f.Format, d.Name)
		}
		if refused := refusals(records); len(refused) > 0 {
			t.Errorf("refused %q", refused)
		}
	})
}

// A description says nothing that has no effect.
func TestDescriptionsHaveOnlyWhatIsUsed(t *testing.T) {
	t.Parallel()
	described(t, func(t *testing.T, d *description, _ fstest.MapFS) {
		used := slices.Concat(d.Ignored, d.Recognise.Required, d.Recognise.OneOf)
		for _, c := range d.Columns {
			used = append(used, c.names...)
		}
		for language, names := range d.Languages {
			for name := range names {
				if !slices.Contains(used, name) {
					t.Errorf("the translation of %q in %s is of no column", name, language)
				}
			}
		}
		hasOptions := func(c namedColumns) bool { return c.field == fOptionValue || c.field == fVariation }
		if !slices.ContainsFunc(d.Columns, hasOptions) && !reflect.DeepEqual(d.Names, nameRules{}) {
			t.Error("names have no options")
		}
		for _, f := range []field{fStatus, fPublished, fArchived} {
			for word, meaning := range d.Values[f] {
				if d.Kind == Product && d.Name != "spreadsheet_products" && statusOf(word) == meaning {
					t.Errorf("%s: %q always means %s", f, word, meaning)
				}
			}
		}
		for word, meaning := range d.Values[fType] {
			if meaning == "product" {
				t.Errorf("the type %q is a product anyway", word)
			}
		}
	})
}

// planned returns records without the cells of the file, or why there are none.
func planned(t *testing.T, dir fs.FS) string {
	t.Helper()
	taxed := decided
	taxed.TaxIncluded = "yes"
	return plannedWith(t, dir, decided) + plannedWith(t, dir, taxed)
}

func plannedWith(t *testing.T, dir fs.FS, settings Settings) string {
	t.Helper()
	set, err := Open(t.Context(), dir, "", euroShop, settings)
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Questions) > 0 {
		return fmt.Sprint(set.Questions)
	}
	var all []string
	for r, err := range set.Records(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.Rows {
			r.Rows[i].Cells = nil
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	return strings.Join(all, "\n")
}

// A column is used, or it is listed as not imported.
func TestEachColumnChangesThePlanOrIsListed(t *testing.T) {
	t.Parallel()
	others := []string{"7.77", "Zebra", "2024-02-03 04:05:06", "02/03/24", "11:11:11", "yes", "true", "9", "UTC", "refunded", ""}
	described(t, func(t *testing.T, d *description, dir fstest.MapFS) {
		t.Parallel()
		rows := csvRows(t, string(dir["fixture.csv"].Data))
		unused, before := mustOpen(t, dir, decided).Files[0].Unused, planned(t, dir)
		for i, name := range rows[0] {
			tried := others
			if slices.Contains(unused, name) {
				tried = others[:2]
			}
			changes := func() bool {
				for _, row := range rows[1:] {
					cell := row[i]
					for _, row[i] = range tried {
						changed := maps.Clone(dir)
						changed["fixture.csv"] = &fstest.MapFile{Data: []byte(delimited(t, rows, ','))}
						if row[i] != cell && planned(t, changed) != before {
							row[i] = cell
							return true
						}
					}
					row[i] = cell
				}
				return false
			}()
			if isUsed := !slices.Contains(unused, name); isUsed != changes {
				t.Errorf("column %q is used: %t, and a change of it changes the plan: %t", name, isUsed, changes)
			}
		}
	})
}

// The total of each order in the file is what it is worth here, unless a note explains the difference.
func TestTotalsOfFixturesEqualOurs(t *testing.T) {
	t.Parallel()
	described(t, func(t *testing.T, d *description, dir fstest.MapFS) {
		set, records := mustRead(t, dir, decided)
		at := -1
		for i, name := range set.Files[0].Header {
			if to, _ := d.dialects[0].target(name, table.Normal(name), euroShop.Currency); to.field == fTotal {
				at = i
			}
		}
		for _, r := range records {
			if r.Order == nil || at < 0 {
				continue
			}
			ours := sumsOf(t, []Record{r})[r.Order.Number]
			theirs := r.Theirs[set.Files[0].Header[at]]
			if ours.revenue+ours.tax+ours.shipping != theirs && len(r.Notes) == 0 {
				t.Errorf("order %s is worth %+v here, %d there", r.Key, ours, theirs)
			}
		}
	})
}

// productsOf returns the products whose stock a file has.
func productsOf(t *testing.T, dir fs.FS) (products []Record) {
	t.Helper()
	_, records := mustRead(t, dir, decided)
	seen := map[string]bool{}
	for _, r := range records {
		if r.Product != nil && !seen[r.Product.SKU.Value] {
			seen[r.Product.SKU.Value] = true
			products = append(products, product(r.Product.SKU.Value, 100))
		}
	}
	return products
}

// A second import changes nothing, and undoing the imports leaves nothing.
func TestFixturesAreImportedOnceAndUndone(t *testing.T) {
	t.Parallel()
	database := dbtest.New(t)
	n := 0
	described(t, func(t *testing.T, d *description, dir fstest.MapFS) {
		n++
		s := newBusiness(t, database, fmt.Sprint("shop-", n))
		content := strings.ReplaceAll(string(dir["fixture.csv"].Data), "EUR", s.tenant.Currency)
		dir["fixture.csv"] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(content, "€", ""))}
		if d.Products.StockOnly {
			s.mustImport(t, productsOf(t, dir))
		}
		before := s.mustDump(t)
		var refused []string
		run := func() Report {
			report, err := NewRunner(s.DB, s.tenant, Options{By: tenancy.Operator, Settings: decided, Refused: func(r Refusal) {
				refused = append(refused, fmt.Sprint(r.Line, r.Field, r.Reason))
			}}).Import(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			return report
		}
		first, second := run(), run()
		changed := 0
		for _, c := range first.Files {
			changed += c.Created + c.Updated
		}
		if first.Refused() > 0 || changed == 0 {
			t.Errorf("the import changed %d rows and refused %d: %+v %q", changed, first.Refused(), first.Files, refused)
		}
		for _, c := range second.Files {
			if c.Created+c.Updated+c.Refused > 0 {
				t.Errorf("the second import changed rows: %+v", c)
			}
		}
		for _, id := range []int64{second.Plan, first.Plan} {
			if undone := s.mustUndo(t, id); len(undone.Kept) > 0 {
				t.Errorf("the undo kept %+v", undone.Kept)
			}
		}
		if diff := cmp.Diff(before, s.mustDump(t)); diff != "" {
			t.Errorf("before the import and after its undo (-before +after):\n%s", diff)
		}
	})
}

func TestTheDocumentHasAllFormats(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../IMPORTS.md")
	if err != nil {
		t.Fatal(err)
	}
	described(t, func(t *testing.T, d *description, _ fstest.MapFS) {
		if d != nil && !strings.Contains(string(document), "| "+d.Title+" |") && !strings.HasPrefix(d.Name, "spreadsheet") {
			t.Errorf("IMPORTS.md lacks %s", d.Title)
		}
	})
}

// Variants have the name and the price of their parent in another file, in any sequence of the files.
func TestVariantsAndTheirParentsMayBeInTwoFiles(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for _, name := range []string{"prestashop_products", "prestashop_combinations"} {
		content, err := os.ReadFile("formats/" + name + ".csv")
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(content)
	}
	for _, name := range []string{"a.csv", "z.csv"} {
		dir := directory(name, files["prestashop_combinations"], "p.csv", files["prestashop_products"])
		set, records := mustRead(t, dir, decided)
		mustHaveEachRowOnce(t, set, records)
		got := summary(records)
		slices.Sort(got)
		want := []string{
			`PS-1-BM "Tin mug - Blue / M" 13.00 stock 4 upc 036000291452 active`,
			`PS-1-BS "Tin mug - Blue / S" 10.50 stock 3 active`,
			`PS-2 "Pot" 30.00 stock 0 draft`,
			`ignored: has variations, which are the products`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
