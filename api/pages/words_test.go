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
	files, err := parser.ParseDir(token.NewFileSet(), ".", func(f fs.FileInfo) bool {
		return !strings.HasSuffix(f.Name(), "_test.go")
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range files {
		ast.Inspect(p, func(n ast.Node) bool {
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
		"":                                             "",
	} {
		if got := f.Sentence(text); got != want {
			t.Errorf("Sentence(%q) = %q, want %q", text, got, want)
		}
	}
}
