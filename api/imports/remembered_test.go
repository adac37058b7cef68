package imports_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
)

const strangeSales = "Nr,Wann,Ding,Wie viele,Je\n%d,03/04/2026,MUG,2,9.50\n"

var strangeColumns = map[string]string{
	"Nr": "number", "Wann": "placed_at", "Ding": "sku", "Wie viele": "quantity", "Je": "price",
}

// answersOf returns settings as answers; those that are not set restore the default.
func answersOf(s imports.Settings) imports.Answers {
	answers := imports.Answers{"channel": json.RawMessage("null")}
	for name := range imports.Choices {
		answers[name] = json.RawMessage("null")
	}
	text, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(text, &answers)
	}
	if err != nil {
		panic(err) // settings are JSON
	}
	return answers
}

// mustRun applies or undoes a plan.
func (j jobs) mustRun(t *testing.T, id int64, change error) imports.Import {
	t.Helper()
	if change != nil {
		t.Fatal(change)
	}
	return j.mustWork(t, id)
}

func (j jobs) mustApply(t *testing.T, id int64) imports.Import {
	t.Helper()
	i := j.mustRun(t, id, j.Apply(t.Context(), j.tenant.ID, tenancy.Operator, id, false))
	if i.State != changeplan.Applied {
		t.Fatalf("the import is %s, %v, want applied", i.State, i.Failure)
	}
	return i
}

func TestAnswersAreRememberedForTheSameColumns(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	sales := func(n int) string { return fmt.Sprintf(strangeSales, n) }
	wantAsked := func(why string, i imports.Import) {
		t.Helper()
		if i.State != changeplan.NeedsMapping || len(i.Remembered) > 0 {
			t.Fatalf("%s: the import is %s, remembered %v, want questions", why, i.State, i.Remembered)
		}
	}
	first := j.mustImport(t, imports.Settings{}, "may.csv", sales(1))
	wantAsked("first", first)
	answers := imports.Settings{
		Mapping: map[string]map[string]string{"may.csv": strangeColumns}, DateOrder: "dmy", Channel: "fair",
	}
	first = j.mustRun(t, first.ID, j.Configure(t.Context(), j.tenant.ID, first.ID, answersOf(answers)))
	if first.State != changeplan.Planned {
		t.Fatalf("the import is %s: %+v", first.State, first.Questions)
	}
	wantAsked("before the answers are applied", j.mustImport(t, imports.Settings{}, "june.csv", sales(2)))
	j.mustApply(t, first.ID)

	second := j.mustImport(t, imports.Settings{}, "june.csv", strings.Replace(sales(2), "Wie viele", " wie Viele", 1))
	if second.State != changeplan.Planned || !slices.Equal(second.Remembered, []string{"date_order", "mapping"}) ||
		second.Settings.DateOrder != "dmy" || second.Settings.Mapping["june.csv"]["wie Viele"] != "quantity" ||
		second.Settings.Channel != "" {
		t.Fatalf("the second import is %s, %+v, remembered %v", second.State, second.Settings, second.Remembered)
	}
	second = j.mustRun(t, second.ID, j.Configure(t.Context(), j.tenant.ID, second.ID, answersOf(imports.Settings{})))
	wantAsked("without the remembered answers", second)
	if err := j.Cancel(t.Context(), j.tenant.ID, tenancy.Operator, second.ID); err != nil {
		t.Fatal(err)
	}

	given := j.mustImport(t, imports.Settings{DateOrder: "mdy"}, "july.csv", sales(3))
	if given.State != changeplan.Planned || !slices.Equal(given.Remembered, []string{"mapping"}) {
		t.Errorf("with the order of dates: %s, %+v, remembered %v", given.State, given.Settings, given.Remembered)
	}
	j.mustApply(t, given.ID)
	j.mustRun(t, given.ID, j.Undo(t.Context(), j.tenant.ID, tenancy.Operator, given.ID))
	wantAsked("after the import was undone", j.mustImport(t, imports.Settings{}, "may.csv", sales(5)))

	other := jobs{j.Database, j.Jobs, j.MustTenant(t, "other"), j.worker}
	wantAsked("another tenant", other.mustImport(t, imports.Settings{}, "may.csv", sales(6)))
}

func TestAMappingWithAnUnknownFieldIsNotUsed(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	const products = "Ding,Text,Kostet\nMUG,Blue mug,9.50\n"
	columns := map[string]string{"Ding": "sku", "Text": "name", "Kostet": "price"}
	i := j.mustImport(t, imports.Settings{Mapping: map[string]map[string]string{"p.csv": columns}}, "p.csv", products)
	j.mustApply(t, i.ID)
	if _, err := j.MustSuper(t).Exec(t.Context(),
		`update import_settings set settings = jsonb_set(settings, '{fields,1}', '"gone"')`,
	); err != nil {
		t.Fatal(err)
	}
	invalid := j.mustImport(t, imports.Settings{}, "p.csv", products)
	if invalid.State != changeplan.NeedsMapping || len(invalid.Remembered) > 0 {
		t.Errorf("the import is %s, %v, remembered %v", invalid.State, invalid.Failure, invalid.Remembered)
	}
}

func TestFilesWithTheSameColumnsShareAMapping(t *testing.T) {
	t.Parallel()
	const products = "Ding,Text,Kostet\n%s,Blue mug,9.50\n"
	columns := map[string]string{"Ding": "sku", "Text": "name", "Kostet": "price"}
	swapped := map[string]string{"Ding": "name", "Text": "sku", "Kostet": "price"}
	for name, c := range map[string]struct {
		second     map[string]string
		remembered bool
	}{
		"the same":  {columns, true},
		"different": {swapped, false},
	} {
		j := newJobs(t)
		i := j.mustImport(t, imports.Settings{Mapping: map[string]map[string]string{"a.csv": columns, "b.csv": c.second}},
			"a.csv", fmt.Sprintf(products, "MUG"), "b.csv", fmt.Sprintf(products, "CUP"))
		j.mustApply(t, i.ID)
		next := j.mustImport(t, imports.Settings{}, "c.csv", fmt.Sprintf(products, "TEA"))
		if slices.Contains(next.Remembered, "mapping") != c.remembered {
			t.Errorf("%s mappings: remembered %v", name, next.Remembered)
		}
	}
}

// TestEachAnswerIsRemembered imports a file with questions, and another one of its shape.
func TestEachAnswerIsRemembered(t *testing.T) {
	t.Parallel()
	for id, c := range map[string]struct {
		file     string
		settings imports.Settings
	}{
		"repeated_sku": {"Artikelnummer,Bezeichnung,Preis\n%[1]s,Tee S,1.00\n%[1]s,Tee M,2.00\n", imports.Settings{RepeatedSKU: "derive"}},
		"missing_sku":  {"Artikelnummer,Bezeichnung,Preis\n,%[1]s,1.00\nCUP,Cup,2.00\n", imports.Settings{MissingSKU: "derive"}},
		"decimal":      {"Artikelnummer,Bezeichnung,Preis\n%[1]s,Tee,1.250\n", imports.Settings{Decimal: ","}},
		"charset": {"Artikelnummer,Bezeichnung,Preis,Gr\xf6\xdfe\n%[1]s,\xaf\xf3\xb3w,1.00,S\nB,\xaf\xf3\xb3ty,2.00,M\n",
			imports.Settings{Charset: "windows-1250"}},
		"statuses": {"number,placed_at,sku,quantity,price,status\n%[1]s,2026-03-13,MUG,1,1.00,Strange\n",
			imports.Settings{Statuses: map[string]string{"strange": "unpaid"}}},
		"tax_included": {"number,placed_at,sku,quantity,price,tax_total\n%[1]s,2026-03-13,MUG,1,1.19,0.19\n",
			imports.Settings{TaxIncluded: "yes"}},
		"discount": {"number,placed_at,sku,quantity,price,discount\n%[1]s,2026-03-13,MUG,1,9.00,0.1\n",
			imports.Settings{Discount: "percent"}},
	} {
		j := newJobs(t)
		i := j.mustImport(t, imports.Settings{}, "a.csv", fmt.Sprintf(c.file, "A-1"))
		if i.State != changeplan.NeedsMapping {
			t.Errorf("%s is not asked: the import is %s, %v, %+v", id, i.State, i.Failure, i.Files)
			continue
		}
		i = j.mustRun(t, i.ID, j.Configure(t.Context(), j.tenant.ID, i.ID, answersOf(c.settings)))
		j.mustApply(t, i.ID)
		again := j.mustImport(t, imports.Settings{}, "b.csv", fmt.Sprintf(c.file, "A-2"))
		if again.State != changeplan.Planned || !slices.Equal(again.Remembered, []string{id}) {
			t.Errorf("%s: the second import is %s, remembered %v, %+v", id, again.State, again.Remembered, again.Questions)
			continue
		}
		if err := j.Cancel(t.Context(), j.tenant.ID, tenancy.Operator, again.ID); err != nil {
			t.Fatal(err)
		}
		j.mustRun(t, i.ID, j.Undo(t.Context(), j.tenant.ID, tenancy.Operator, i.ID))
		if third := j.mustImport(t, imports.Settings{}, "c.csv", fmt.Sprintf(c.file, "A-3")); len(third.Remembered) > 0 {
			t.Errorf("%s is remembered after the undo", id)
		}
	}
}

func TestDifferentAnswersForTwoFilesAreNotUsed(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	const first, second = "sku,name,price\n%s,Tee,1.250\n", "sku,title,price\n%s,Tee,1.250\n"
	for name, of := range map[string][2]string{"a.csv": {first, ","}, "b.csv": {second, "."}} {
		i := j.mustImport(t, imports.Settings{Decimal: of[1], Rounding: "round"}, name, fmt.Sprintf(of[0], name))
		j.mustApply(t, i.ID)
	}
	both := j.mustImport(t, imports.Settings{}, "c.csv", fmt.Sprintf(first, "C"), "d.csv", fmt.Sprintf(second, "D"))
	if slices.Contains(both.Remembered, "decimal") || both.State != changeplan.NeedsMapping {
		t.Errorf("the import is %s, remembered %v", both.State, both.Remembered)
	}
}

// An answer for files with some columns does not answer the question about another file of the same import.
func TestAnAnswerIsNotUsedForAnotherFile(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	const first = "Artikelnummer,Bezeichnung,Preis\n%s,Tee,1.250\n"
	const second = "Artikelnummer,Bezeichnung,Preis,Gewicht\n%s,Tee,1.250,7\n"
	j.mustApply(t, j.mustImport(t, imports.Settings{Decimal: ","}, "a.csv", fmt.Sprintf(first, "A")).ID)
	alone := j.mustImport(t, imports.Settings{}, "b.csv", fmt.Sprintf(first, "B"))
	if !slices.Contains(alone.Remembered, "decimal") || alone.State != changeplan.Planned {
		t.Errorf("alone, the import is %s, remembered %v", alone.State, alone.Remembered)
	}
	both := j.mustImport(t, imports.Settings{}, "c.csv", fmt.Sprintf(first, "C"), "d.csv", fmt.Sprintf(second, "D"))
	if slices.Contains(both.Remembered, "decimal") || both.State != changeplan.NeedsMapping {
		t.Errorf("beside another file, the import is %s, remembered %v", both.State, both.Remembered)
	}
}

// A status that is not known is asked about. The answers to others stay, also if an import has none of them.
func TestAnswersToOtherStatusesStay(t *testing.T) {
	t.Parallel()
	j := newJobs(t)
	for n, of := range []struct {
		status string
		asked  bool
	}{{"strange", true}, {"odd", true}, {"strange", false}, {"odd", false}} {
		i := j.mustImport(t, imports.Settings{}, "a.csv",
			fmt.Sprintf("number,placed_at,sku,quantity,price,status\nA-%d,2026-03-13,MUG,1,1.00,%s\n", n, of.status))
		if asked := i.State == changeplan.NeedsMapping; asked != of.asked {
			t.Fatalf("import %d: %s is asked: %t, want %t", n, of.status, asked, of.asked)
		}
		if of.asked {
			answer := imports.Settings{Statuses: map[string]string{of.status: "sale"}}
			j.mustRun(t, i.ID, j.Configure(t.Context(), j.tenant.ID, i.ID, answersOf(answer)))
		}
		j.mustApply(t, i.ID)
	}
}
