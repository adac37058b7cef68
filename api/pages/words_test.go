package pages

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template/parse"
	"unicode"

	"golang.org/x/net/html"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/api/pages/words"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/tenancy/feed"
	"github.com/storeroom/storeroom/tenancy/people"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// otherFields are fields of rows that no column of a spreadsheet can have.
var otherFields = []string{
	"category", "seller", "warehouse", "stock", "customer", "items", "unit_price", "unit_cost", "tax", "shipping", "amount",
	"reference", "cancelled_at", "label", "takes_stock", "email", "restock", "order_number",
	"sale_from", "sale_until",
}

// textsOf returns all texts that are translated, with the place of one of their uses.
func textsOf(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		t.Fatal(err)
	}
	components, err := fs.Glob(templateFiles, "templates/components/*.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, components...) {
		source, err := templateFiles.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		trees := map[string]*parse.Tree{}
		tree := parse.New(name)
		tree.Mode = parse.SkipFuncCheck
		if _, err := tree.Parse(string(source), "", "", trees); err != nil {
			t.Fatal(err)
		}
		for _, tree := range trees {
			templateTexts(tree.Root, func(text string) { texts[text] = name })
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, isCall := n.(*ast.CallExpr); isCall && translates(call) {
				if text, isLiteral := literal(call.Args[0]); isLiteral {
					texts[text] = "Go"
				}
			}
			return true
		})
	}
	for _, all := range options {
		for _, o := range all {
			if o.Label != "" && !strings.Contains(o.Label, ":") {
				texts[o.Label] = "options"
			}
			if o.Description != "" {
				texts[o.Description] = "options"
			}
		}
	}
	for _, text := range foreign {
		texts[text] = "foreign"
	}
	for _, field := range slices.Concat(mappingFields(), otherFields) {
		texts[imports.Label(field)] = "fields"
	}
	for _, format := range imports.FormatTitles() {
		texts[format] = "formats"
	}
	for _, text := range words.ColumnTexts() {
		texts[text] = "columns"
	}
	return texts
}

// templateTexts calls f with the texts of all calls of T and H.
func templateTexts(node parse.Node, f func(string)) {
	list := func(l *parse.ListNode) {
		if l != nil {
			for _, n := range l.Nodes {
				templateTexts(n, f)
			}
		}
	}
	switch n := node.(type) {
	case *parse.ListNode:
		list(n)
	case *parse.ActionNode:
		templateTexts(n.Pipe, f)
	case *parse.IfNode:
		templateTexts(n.Pipe, f)
		list(n.List)
		list(n.ElseList)
	case *parse.RangeNode:
		templateTexts(n.Pipe, f)
		list(n.List)
		list(n.ElseList)
	case *parse.WithNode:
		templateTexts(n.Pipe, f)
		list(n.List)
		list(n.ElseList)
	case *parse.TemplateNode:
		templateTexts(n.Pipe, f)
	case *parse.PipeNode:
		if n != nil {
			for _, c := range n.Cmds {
				templateTexts(c, f)
			}
		}
	case *parse.CommandNode:
		name := n.Args[0].String()
		for i, argument := range n.Args {
			text, isText := argument.(*parse.StringNode)
			if i == 1 && isText && (strings.HasSuffix(name, ".T") || strings.HasSuffix(name, ".H")) {
				f(text.Text)
			}
			templateTexts(argument, f)
		}
	}
}

// translates reports whether a call has a text that is translated as its first argument.
func translates(call *ast.CallExpr) bool {
	if len(call.Args) == 0 {
		return false
	}
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name == "mark"
	case *ast.SelectorExpr:
		return f.Sel.Name == "T" || f.Sel.Name == "H"
	}
	return false
}

// literal returns the value of a string or of a sum of strings.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, isLeft := literal(e.X)
		right, isRight := literal(e.Y)
		return left + right, isLeft && isRight
	}
	return "", false
}

var (
	verb   = regexp.MustCompile(`%(?:\[(\d)\])?([sd])`)
	markup = regexp.MustCompile(`</?\w+[^>]*>`)
)

// verbs returns the verbs of a text by their number.
func verbs(text string) map[int]string {
	found, next := map[int]string{}, 1
	for _, v := range verb.FindAllStringSubmatch(strings.ReplaceAll(text, "%%", ""), -1) {
		if v[1] != "" {
			next, _ = strconv.Atoi(v[1])
		}
		found[next] = v[2]
		next++
	}
	return found
}

func TestEveryTextIsTranslated(t *testing.T) {
	t.Parallel()
	texts := textsOf(t)
	if len(texts) < 400 {
		t.Fatalf("found %d texts", len(texts))
	}
	if name := os.Getenv("MISSING_TEXTS"); name != "" {
		writeMissing(t, name, texts)
	}
	for _, l := range words.Languages {
		messages, err := words.Read(l.Code)
		if err != nil {
			t.Fatal(err)
		}
		for text, place := range texts {
			m, exists := messages[text]
			isCounted := verbs(text)[1] == "d"
			switch {
			case !exists && (l.Code != "en" || isCounted):
				t.Errorf("%s.txt lacks %q of %s", l.Code, text, place)
			case exists && isCounted != (m.Forms != nil):
				t.Errorf("%s.txt: %q must have forms if and only if its first value is a number", l.Code, text)
			}
		}
		for text, m := range messages {
			if texts[text] == "" {
				t.Errorf("%s.txt has %q, which no page uses", l.Code, text)
			}
			forms := map[string]string{"": m.Text}
			if m.Forms != nil {
				forms = m.Forms
				if forms["one"] == "" {
					t.Errorf("%s.txt: %q has no form one", l.Code, text)
				}
			}
			for _, form := range forms {
				if !maps.Equal(verbs(form), verbs(text)) {
					t.Errorf("%s.txt: %q has other values than %q", l.Code, form, text)
				}
				if !slices.Equal(markup.FindAllString(form, -1), markup.FindAllString(text, -1)) {
					t.Errorf("%s.txt: %q has other markup than %q", l.Code, form, text)
				}
				if strings.TrimSpace(form) == "" || strings.Contains(form, "${") {
					t.Errorf("%s.txt: the form %q of %q is not valid", l.Code, form, text)
				}
			}
		}
	}
}

// writeMissing writes the texts that the German catalog lacks, for translators.
func writeMissing(t *testing.T, name string, texts map[string]string) {
	t.Helper()
	messages, err := words.Read("de")
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for _, text := range slices.Sorted(maps.Keys(texts)) {
		if _, exists := messages[text]; !exists {
			fmt.Fprintf(&lines, "%q\n", text)
		}
	}
	if err := os.WriteFile(name, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// hasWords reports whether a text has letters that a reader of another language would not know.
func hasWords(text string) bool {
	text = actionPattern.ReplaceAllString(text, " ")
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if !slices.Contains(names, word) {
			return true
		}
	}
	return false
}

var (
	actionPattern = regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	// names are the same in every language.
	names = []string{"Storeroom", "XLSX", "CSV", "api", "ms"}
)

// Text of a template outside of T and H would be English for everybody.
func TestTemplatesHaveNoTextOutsideOfTranslations(t *testing.T) {
	t.Parallel()
	err := fs.WalkDir(templateFiles, "templates", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		source, err := templateFiles.ReadFile(name)
		if err != nil {
			return err
		}
		// Actions with quotes inside of attributes would end the attributes.
		plain := actionPattern.ReplaceAllString(string(source), "")
		tokens, inCode := html.NewTokenizer(strings.NewReader(plain)), 0
		for {
			switch tokens.Next() {
			case html.ErrorToken:
				return nil
			case html.StartTagToken:
				token := tokens.Token()
				if token.Data == "code" || token.Data == "kbd" {
					inCode++
				}
				checkAttributes(t, name, token)
			case html.SelfClosingTagToken:
				checkAttributes(t, name, tokens.Token())
			case html.EndTagToken:
				if token := tokens.Token(); token.Data == "code" || token.Data == "kbd" {
					inCode--
				}
			case html.TextToken:
				// The tokenizer returns the elements of noscript as text.
				if text := markup.ReplaceAllString(string(tokens.Text()), ""); inCode == 0 && hasWords(text) {
					t.Errorf("%s has the text %q, which is not translated", name, strings.TrimSpace(text))
				}
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkAttributes(t *testing.T, name string, token html.Token) {
	t.Helper()
	for _, a := range token.Attr {
		if slices.Contains([]string{"title", "aria-label", "placeholder", "alt", "data-label"}, a.Key) && hasWords(a.Val) {
			t.Errorf("%s has the attribute %s=%q, which is not translated", name, a.Key, a.Val)
		}
	}
}

// A word has one meaning, and a thing one word.
func TestTermsAreDistinct(t *testing.T) {
	t.Parallel()
	for _, l := range words.Languages {
		f := formatter{Language: l, printer: newPrinter(l.Tag, nil)}
		if f.Word("clerk") == f.Word("seller") || f.Word("channel") != f.T("Shop") {
			t.Errorf("%s: a clerk is %q, a seller %q and a channel %q", l.Code, f.Word("clerk"), f.Word("seller"), f.Word("channel"))
		}
		for name, without := range map[string]string{"net_gross_profit": "gross_profit", "net_margin_percent": "margin_percent"} {
			if of := f.Column(without); !strings.HasPrefix(f.Column(name), of+" ") {
				t.Errorf("%s: %s is %q, which is not %q after refunds", l.Code, name, f.Column(name), of)
			}
		}
		if f.T("Kept") == f.T("Left after refunds") || l.Code == "fr" && f.T("Margin") != "Taux de marque" {
			t.Errorf("%s: %q, %q, %q", l.Code, f.T("Kept"), f.T("Left after refunds"), f.T("Margin"))
		}
	}
}

func TestWordsOfTheDatabaseHaveATextInEveryLanguage(t *testing.T) {
	t.Parallel()
	all := slices.Concat(feed.Types, catalog.Statuses, catalog.AdjustmentTypes, reports.Periods, reports.Presets,
		[]string{"clerk", "accountant", "sale", "cancellation", "refund", "day", "week", "month", refunded, "partly refunded"})
	for _, role := range []people.Role{people.Owner, people.Admin, people.Viewer} {
		all = append(all, string(role))
	}
	for _, status := range []keys.Status{keys.Live, keys.Rolled, keys.Expired, keys.Revoked} {
		all = append(all, string(status))
	}
	for _, plan := range []tenants.Plan{tenants.Standard, tenants.Professional, tenants.Enterprise} {
		all = append(all, string(plan))
	}
	for _, kind := range importKinds {
		all = append(all, string(kind))
	}
	for _, action := range importActions {
		all = append(all, string(action))
	}
	for _, word := range all {
		if _, known := wordTexts[word]; !known {
			t.Errorf("%q has no text", word)
		}
	}
	for _, c := range slices.Concat(reports.Figures, reports.SummaryColumns, reports.DayColumns, reports.ProductColumns) {
		if _, known := words.Column(c.Name); !known {
			t.Errorf("the figure %q has no text", c.Name)
		}
	}
}

func TestSentencesOfOtherPackagesKeepTheirValues(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest("GET", "/?language=de", nil)
	f := visitorFormat(r)
	for text, want := range map[string]string{
		"The password must have 12 to 128 characters.": "Das Passwort muss 12 bis 128 Zeichen haben.",
		`"2,5" must be a whole number`:                 `"2,5" muss eine ganze Zahl sein`,
		"12,345 of 20,000 records are used":            "12,345 von 20,000 Datensätzen sind belegt",
		"100 % of something new":                       "100 % of something new",
		"Orders.csv line 3: column sku is missing.":    "Orders.csv Zeile 3: Die Spalte sku fehlt.",
		"No file can be read: a b.csv has no header and no rows; c.xls is a ZIP in a ZIP.": "Keine Datei kann gelesen werden: " +
			"a b.csv hat keine Kopfzeile und keine Zeilen; c.xls ist ein ZIP in einem ZIP.",
		"is in EUR, but amounts here are in USD":              "ist in EUR, aber die Beträge sind hier in USD",
		"must be between 0 and quantity times unit_price, 12": "muss zwischen 0 und Menge × Preis liegen, 12",
		"": "",
	} {
		if got := f.Sentence(text); got != want {
			t.Errorf("Sentence(%q) = %q, want %q", text, got, want)
		}
	}
}

// sources are the packages and files whose texts pages show with Sentence.
var sources = []string{
	"../imports/*.go", "../imports/table/*.go", "../../catalog/validate.go", "../../catalog/stockchange.go",
	"../../reports/export/ownfield.go", "../../reports/sales/order.go", "../../reports/sales/refundcheck.go",
	"../../reports/sales/ingest.go", "../../reports/sales/stock.go", "../../reports/sales/remove.go",
	"../../reports/sales/channelplan.go", "../../reports/sales/customerplan.go", "../../tenancy/text.go",
	"../../tenancy/money/money.go", "../../tenancy/changeplan/files.go", "../../tenancy/changeplan/parts.go",
	"../imports/formats/*.yaml",
}

// elsewhere are texts of these packages that only the API, commands or the log show, and parts of others.
var elsewhere = []string{
	"a change plan continues", "a change plan waits for room", "the form is not valid multipart/form-data", "the import is of another tenant",
	"has the unknown field %s", "is not a known setting", "must be a JSON object with settings: %s", "%s is refused: %s", "%s is not imported: %s", "must be a string",
	"must be an object of files with objects of columns and fields", "must be an object of texts", "must be true or false",
	"must not be empty; null restores the default", "is not a known part", "is not valid", "the total of the items", "The row",
}

// sentencePattern matches texts that begin as a reason or a note does.
var sentencePattern = regexp.MustCompile(`^(%[qsdv] )?(is|are|must|has|have|cannot|would|may|does|was|were|needs|lacks?|takes|exceeds?|differs?|` +
	`shares|replaces|leading|units|another|no|not|the|a|an|prices|both|requires|line|The|A|An|No|Rows|Computing) [\w%]`)

// A reason that another package gives is translated, whatever values are in it.
func TestSentencesOfOtherPackagesAreTranslated(t *testing.T) {
	t.Parallel()
	found := map[string]string{}
	for _, pattern := range sources {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(names), err)
		}
		for _, name := range names {
			source, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case strings.HasSuffix(name, "_test.go"):
			case strings.HasSuffix(name, ".yaml"):
				for _, note := range yamlNote.FindAllStringSubmatch(string(source), -1) {
					found[note[1]] = name
				}
			default:
				sentencesOf(t, name, source, func(text string) { found[text] = name })
			}
		}
	}
	if len(found) < 150 {
		t.Errorf("found %d texts", len(found))
	}
	for text, name := range found {
		if slices.Contains(elsewhere, text) {
			continue
		}
		sample := anyVerb.ReplaceAllStringFunc(text, func(verb string) string {
			switch verb[len(verb)-1] {
			case 'd':
				return "7"
			case 'q':
				return `"some value"`
			}
			return "Some text"
		})
		for _, l := range words.Languages[1:] {
			f := visitorFormat(httptest.NewRequest("GET", "/?language="+l.Code, nil))
			if f.Sentence(sample) == sample {
				t.Errorf("%s of %s has no text in %s.txt: add it to foreign", sample, name, l.Code)
			}
		}
	}
}

var (
	yamlNote = regexp.MustCompile(`(?m)^\s*(?:refuse|refund_note|lone_note): (.+)$`)
	anyVerb  = regexp.MustCompile(`%(?:\[\d\])?[vwsdqU]`)
)

// sentencesOf calls f with the texts of a source that are reasons or notes. Sums of texts are one.
func sentencesOf(t *testing.T, name string, source []byte, f func(text string)) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, source, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		e, isExpr := n.(ast.Expr)
		if !isExpr {
			return true
		}
		text, isText := sumOf(e)
		if isText && sentencePattern.MatchString(text) && !strings.Contains(text, "\n") {
			f(text)
		}
		return !isText
	})
}

// sumOf is literal, with %s for the parts of a sum that are not texts.
func sumOf(e ast.Expr) (string, bool) {
	if b, isSum := e.(*ast.BinaryExpr); isSum && b.Op == token.ADD {
		left, isLeft := sumOf(b.X)
		right, isRight := sumOf(b.Y)
		if !isLeft {
			left = "%s"
		}
		if !isRight {
			right = "%s"
		}
		return left + right, isLeft || isRight
	}
	return literal(e)
}
