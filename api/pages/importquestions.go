package pages

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/number"

	"github.com/shopspring/decimal"

	"github.com/storeroom/storeroom/api/imports"
)

// importQuestion is a question about the files of an import, with its fields in the form. Questions about several files
// or columns have one answer.
type importQuestion struct {
	ID       string
	Sentence string
	Hint     string // where the question comes from
	Asked    bool   // it must be answered before anything is planned
	Earlier  string // the day of the import that the answer comes from
	Choices  []importChoice
	More     []importChoice  // that are unlikely
	Words    []importWord    // of statuses
	Columns  []importColumns // of a mapping
}

// importChoice is an answer, and what rows of the files become with it.
type importChoice struct {
	Value, Label string
	Chosen       bool
	Readings     []string
}

// Answer is what is chosen, in words.
func (q importQuestion) Answer() string {
	var chosen []string
	for _, w := range q.Words {
		if label := chosenLabel(w.Choices); label != "" {
			chosen = append(chosen, fmt.Sprintf("%s: %s", w.Word, label))
		}
	}
	return cmp.Or(strings.Join(chosen[:min(3, len(chosen))], "; "), chosenLabel(q.Choices), chosenLabel(q.More))
}

// IsMore reports whether an unlikely answer is chosen.
func (q importQuestion) IsMore() bool { return chosenLabel(q.More) != "" }

func chosenLabel(choices []importChoice) string {
	for _, c := range choices {
		if c.Chosen {
			return c.Label
		}
	}
	return ""
}

// importWord is a status of orders.
type importWord struct {
	Word     string
	Choices  []importChoice
	IsChosen bool
}

// importColumns are the columns of a file.
type importColumns struct {
	Number  int // of the file
	Name    string
	Asked   bool
	IsOpen  bool   // some columns are not imported
	Reason  string // why the mapping cannot succeed
	Earlier string // as in importQuestion
	Columns []importColumn
}

type importColumn struct {
	Number   int
	Name     string
	Field    string // that is chosen
	Examples []string
}

// questionText is a question in words. The values of the choices are those of imports.Choices.
type questionText struct {
	ID, Sentence string
	Choices      []option
}

// questionTexts are in the order of the page: what decides about other questions comes first.
var questionTexts = []questionText{
	{"charset", mark("Which line has the right letters?"), []option{
		{"windows-1252", mark("Western European"), "Windows-1252"},
		{"windows-1250", mark("Central European"), "Windows-1250"},
		{"windows-1251", mark("Cyrillic"), "Windows-1251"}, {"windows-1253", mark("Greek"), "Windows-1253"},
		{"windows-1254", mark("Turkish"), "Windows-1254"}, {"windows-1257", mark("Baltic"), "Windows-1257"},
		{"shift_jis", mark("Japanese"), "Shift JIS"},
		{"euc-jp", mark("Japanese"), "EUC-JP"},
		{"gbk", mark("Simplified Chinese"), "GBK"},
		{"big5", mark("Traditional Chinese"), "Big5"},
		{"euc-kr", mark("Korean"), "EUC-KR"}, {"koi8-r", mark("Russian"), "KOI8-R"},
		{"iso-8859-2", mark("Central European"), "ISO 8859-2"}, {"iso-8859-5", mark("Cyrillic"), "ISO 8859-5"},
		{"iso-8859-7", mark("Greek"), "ISO 8859-7"}, {"macintosh", mark("Western European"), "Macintosh"},
	}},
	{"mapping", mark("What does each column mean?"), nil},
	{"date_order", mark("How are dates written?"), []option{
		{"dmy", mark("Day, month, year"), ""},
		{"mdy", mark("Month, day, year"), ""},
	}},
	{"decimal", mark("How are numbers written?"), []option{
		{",", mark("With a decimal comma, as in 1.234,50"), ""},
		{".", mark("With a decimal point, as in 1,234.50"), ""},
	}},
	{"statuses", mark("What does each status of an order mean?"), []option{
		{"sale", mark("A sale"), ""}, {"unpaid", mark("A sale that is not paid yet"), ""},
		{"refunded", mark("A sale that was refunded in full"), ""}, {"cancelled", mark("A cancelled order"), ""},
		{"ignored", mark("No sale: leave these orders out"), ""},
	}},
	{"missing_sku", mark("What should products without a SKU get?"), []option{
		{"derive", mark("Their name as the SKU"), ""}, {"refuse", mark("Nothing: refuse these rows"), ""},
	}},
	{"repeated_sku", mark("Several rows that differ have the same SKU. What are they?"), []option{
		{"derive", mark("Different products: add the option or the name to the SKU"), ""},
		{"last", mark("One product: the last row counts"), ""}, {"refuse", mark("A mistake: refuse these rows"), ""},
	}},
	{"refunds", mark("What should happen to returns without an order?"), []option{
		{"attach", mark("Refund the last earlier order of the same product, " +
			"and of the same customer if the row names one"), ""},
		{"leave_out", mark("Leave them out"), ""},
	}},
	{"tax_included", mark("Do the prices include tax?"), []option{
		{"yes", mark("Yes, with tax"), ""},
		{"no", mark("No, without tax"), ""},
	}},
	{"cost", mark("What is the cost of?"), []option{
		{"unit", mark("One unit"), ""},
		{"line", mark("All units of the row together"), ""},
	}},
	{"discount", mark("What are the discounts?"), []option{
		{"amount", mark("Amounts of money"), ""}, {"percent", mark("Parts of the price: 0.2 is 20 %%"), ""},
	}},
	{"total", mark("Is the discount already taken off the total of the row?"), []option{
		{"before_discount", mark("No, the discount still comes off"), ""},
		{"after_discount", mark("Yes, the total is what was paid"), ""},
	}},
	{"tax", mark("What is the tax of?"), []option{
		{"order", mark("The order: each row repeats it"), ""},
		{"row", mark("The row: the taxes of the rows add up"), ""},
	}},
	{"rounding", mark("What should happen to amounts with more than two decimals?"), []option{
		{"round", mark("Round them"), ""}, {"refuse", mark("Refuse these rows"), ""},
	}},
}

// readQuestions prepares the questions of an import, and those that are answered.
func (p *importPage) readQuestions(f formatter) {
	for _, text := range questionTexts {
		q := importQuestion{ID: text.ID, Sentence: f.T(text.Sentence), Earlier: p.earlier(f, text.ID, "")}
		var all []imports.Question
		for _, list := range [][]imports.Question{p.Questions, p.Answered} {
			for _, of := range list {
				if of.ID == text.ID {
					all = append(all, of)
				}
			}
		}
		q.Asked = slices.ContainsFunc(p.Questions, func(of imports.Question) bool { return of.ID == text.ID })
		switch text.ID {
		case "mapping":
			q.Earlier, q.Columns = "", p.columns(f)
		case "statuses":
			q.Hint, q.Words = f.places(all), p.words(f, text, all)
		case "rounding":
			q.Hint, all = p.roundings(f), nil
			q.Choices = f.choices(text, all, p.Settings.Rounding)
		default:
			q.Hint = f.places(all)
			q.Choices = f.choices(text, all, p.Settings.Answer(text.ID))
		}
		if most := 4; len(q.Choices) > most {
			q.Choices, q.More = q.Choices[:most], q.Choices[most:]
		}
		if len(all) > 0 || len(q.Columns) > 0 || q.Hint != "" || p.Settings.Answer(text.ID) != "" {
			p.All = append(p.All, q)
		}
	}
}

// choices returns the answers to questions about several files, in the order of the first one.
func (f formatter) choices(text questionText, all []imports.Question, chosen string) (choices []importChoice) {
	labels := text.Choices
	if len(all) > 0 && text.ID == "charset" { // the most likely one is the first
		labels = slices.Clone(labels)
		slices.SortStableFunc(labels, func(a, b option) int {
			return slices.Index(all[0].Choices, a.Value) - slices.Index(all[0].Choices, b.Value)
		})
	}
	for _, o := range labels {
		choice := importChoice{Value: o.Value, Label: f.T(o.Label), Chosen: o.Value == chosen}
		if o.Description != "" {
			choice.Label += " (" + o.Description + ")"
		}
		for _, q := range all {
			readings := q.Readings[o.Value]
			isPair := (q.ID == "date_order" || q.ID == "decimal") && len(q.Examples) == len(readings)
			for i, reading := range readings {
				switch q.ID {
				case "decimal":
					reading = f.decimalText(reading)
				case "date_order":
					reading = f.dateText(reading)
				case "charset": // is a line of the file
				default:
					reading = f.reading(reading)
				}
				if isPair {
					reading = f.T("%s is %s", q.Examples[i], reading)
				}
				choice.Readings = append(choice.Readings, reading)
			}
		}
		choice.Readings = choice.Readings[:min(len(choice.Readings), 2*max(1, min(len(all), 2)))]
		choices = append(choices, choice)
	}
	return choices
}

// decimalText writes a number with the decimal separator of the visitor and without groups of digits.
func (f formatter) decimalText(text string) string {
	value, err := decimal.NewFromString(text)
	if err != nil {
		return text
	}
	scale := number.Scale(max(0, -int(value.Exponent())))
	text = f.printer.Sprint(number.Decimal(value.Abs().InexactFloat64(), number.NoSeparator(), scale))
	if value.IsNegative() {
		return minus + text
	}
	return text
}

// dateText writes a date as the visitor does.
func (f formatter) dateText(text string) string {
	day, err := time.Parse("2 January 2006", text)
	if err != nil {
		return text
	}
	return f.date(day, "2 January 2006")
}

// readingTexts are what rows become, in the words of the imports, and how pages say it. The values are groups.
var readingTexts = []struct {
	form *regexp.Regexp
	text string
}{
	{regexp.MustCompile(`^(.+): revenue (\S+), tax (\S+), cost (\S+)$`), mark("%s: revenue %s, tax %s, cost %s")},
	{regexp.MustCompile(`^(.+): revenue (\S+), tax (\S+)$`), mark("%s: revenue %s, tax %s")},
	{regexp.MustCompile(`^SKU (.+), price (\S+)$`), mark("SKU %s, price %s")},
	{regexp.MustCompile(`^SKU (.+)$`), mark("SKU %s")},
	{regexp.MustCompile(`^refund of (\S+)$`), mark("refund of %s")},
	{regexp.MustCompile(`^cancelled$`), mark("cancelled")},
	{regexp.MustCompile(`^The row is not imported: (.+)$`), mark("The row is not imported: %s")},
	{regexp.MustCompile(`^(.+) is not imported: (.+)$`), mark("%s is not imported: %s")},
	{regexp.MustCompile(`^The row is refused: (.+)$`), mark("The row is refused: %s")},
	{regexp.MustCompile(`^(.+) is refused: (.+)$`), mark("%s is refused: %s")},
}

// reading says what rows become. A text that has another form stays as the import wrote it.
func (f formatter) reading(text string) string {
	parts := strings.Split(text, "; ")
	for i, part := range parts {
		parts[i] = f.readingPart(part)
	}
	return strings.Join(parts, "; ")
}

func (f formatter) readingPart(text string) string {
	for _, known := range readingTexts {
		groups := known.form.FindStringSubmatch(text)
		if groups == nil {
			continue
		}
		isReason := strings.HasSuffix(known.text, "is not imported: %s") || strings.HasSuffix(known.text, "is refused: %s")
		values := []any{}
		for i, value := range groups[1:] {
			switch isLast := i == len(groups)-2; {
			case isReason && isLast:
				value = f.reasonText(value)
			case i > 0 || strings.HasPrefix(text, "refund of"):
				value = f.decimalText(value)
			}
			values = append(values, value)
		}
		return f.T(known.text, values...)
	}
	return f.Sentence(text)
}

// reasonText translates why a row is refused: the name of a field and what is wrong with it, or a sentence.
func (f formatter) reasonText(text string) string {
	var of string // the field with the longest name, because one can begin with another
	for _, field := range slices.Concat(mappingFields(), []string{"unit_price", "unit_cost"}) {
		if label := imports.Label(field); strings.HasPrefix(text, label+" ") && len(label) > len(imports.Label(of)) {
			of = field
		}
	}
	if of == "" {
		return f.Sentence(text)
	}
	return f.refusalText(imports.Refusal{Field: of, Reason: strings.TrimPrefix(text, imports.Label(of)+" ")})
}

// refusalText returns why a row is refused.
func (f formatter) refusalText(refusal imports.Refusal) string {
	return title(strings.TrimSpace(f.Field(refusal.Field) + " " + f.Sentence(refusal.Reason)))
}

// places names the columns and files of questions.
func (f formatter) places(all []imports.Question) string {
	var places []string
	for _, q := range all {
		place := q.File
		if q.Column != "" {
			place = f.T("“%s” in %s", q.Column, q.File)
		}
		if !slices.Contains(places, place) {
			places = append(places, place)
		}
	}
	const most = 5
	if len(places) > most {
		places = append(places[:most], f.T("and %d more", len(places)-most))
	}
	text := strings.Join(places, ", ")
	for _, q := range all {
		if len(q.Readings) == 0 && len(q.Examples) > 0 {
			return f.T("%s. For example %s.", text, q.Examples[0])
		}
	}
	return text
}

// HasReadings reports whether rows with the status can be shown.
func (w importWord) HasReadings() bool {
	return slices.ContainsFunc(w.Choices, func(c importChoice) bool { return len(c.Readings) > 0 })
}

// Rounding is the offer to round amounts of the files, or nil if all have at most two decimals.
func (p importPage) Rounding() *importQuestion {
	i := slices.IndexFunc(p.All, func(q importQuestion) bool { return q.ID == "rounding" && q.Hint != "" })
	if i < 0 {
		return nil
	}
	return &p.All[i]
}

// words are the statuses that the files have.
func (p *importPage) words(f formatter, text questionText, all []imports.Question) (words []importWord) {
	for _, q := range all {
		word := q.Word()
		if word == "" { // it was erased with a customer
			continue
		}
		if slices.ContainsFunc(words, func(w importWord) bool { return w.Word == word }) {
			continue
		}
		chosen := p.Settings.Statuses[word]
		words = append(words, importWord{word, f.choices(text, []imports.Question{q}, chosen), chosen != ""})
	}
	return words
}

// roundings says how many amounts have more than two decimals.
func (p *importPage) roundings(f formatter) string {
	var texts []string
	for _, file := range p.Files {
		if r := file.Rounding; r != nil {
			texts = append(texts, f.T("%s in %s, for example %s. Rounding changes their sum by %s.", f.Rows(r.Count),
				file.Name, r.Examples[0], f.decimalText(r.Change)))
		}
	}
	return strings.Join(texts, " ")
}

// earlier returns the day of the import that the answer to a setting comes from, or "".
func (p *importPage) earlier(f formatter, setting, file string) string {
	for _, e := range p.Input.Earlier {
		if e.Setting == setting && e.File == file {
			return f.date(f.at(e.At), "2\u00a0January\u00a02006")
		}
	}
	return ""
}

// columns returns the columns that a user can map. Those of a file are left out until its character set is known, because
// their names depend on it.
func (p *importPage) columns(f formatter) (all []importColumns) {
	for n, file := range p.Files {
		is := func(id string) func(imports.Question) bool {
			return func(q imports.Question) bool { return q.ID == id && q.File == file.Name }
		}
		if !isMapped(file, p.Settings) || slices.ContainsFunc(p.Questions, is("charset")) {
			continue
		}
		of := importColumns{Number: n, Name: file.Name, IsOpen: len(file.Unused) > 0,
			Earlier: p.earlier(f, "mapping", file.Name)}
		if i := slices.IndexFunc(p.Questions, is("mapping")); i >= 0 {
			of.Asked, of.Reason = true, f.lackingText(imports.Lacking(file.Mapping))
			if of.Reason == "" && p.Questions[i].Reason != "" {
				of.Reason = f.Sentence(title(p.Questions[i].Reason) + ".")
			}
		}
		for c, name := range file.Header {
			if name != "" && slices.Index(file.Header, name) == c {
				of.Columns = append(of.Columns, importColumn{c, name, file.Mapping[name], file.Examples[name]})
			}
		}
		all = append(all, of)
	}
	return all
}

// lackingText says which fields a spreadsheet also needs, or returns "". Of each list, one field is enough. of is a
// field that makes it one of orders.
func (f formatter) lackingText(needs [][]string, of string) string {
	var all string
	for _, fields := range needs {
		var either string
		for _, field := range fields {
			name := f.T("“%s”", f.Field(field))
			if either != "" {
				name = f.T("%s or %s", either, name)
			}
			either = name
		}
		if all != "" {
			either = f.T("%s, and %s", all, either)
		}
		all = either
	}
	switch {
	case all == "":
		return ""
	case of == "":
		return f.T("Products also need %s.", all)
	}
	return f.T("Orders also need %s; products must not have %s.", all, f.T("“%s”", f.Field(of)))
}

// isMapped reports whether a user can map the columns of a file, also of one that is left out so far.
func isMapped(f imports.File, settings imports.Settings) bool {
	_, isGiven := settings.Mapping[f.Name]
	return (f.Problem == "" || isGiven) && (f.Format == "" || strings.HasPrefix(f.Format, "spreadsheet"))
}

// Asked are the questions that must be answered.
func (p importPage) Asked() []importQuestion {
	return slices.DeleteFunc(slices.Clone(p.All), func(q importQuestion) bool { return !q.Asked })
}

// Others returns the questions that need no answer now.
func (p importPage) Others() []importQuestion {
	return slices.DeleteFunc(slices.Clone(p.All), func(q importQuestion) bool { return q.Asked })
}

// EarlierDates are the dates of the earlier files whose answers are used.
func (p importPage) EarlierDates(f formatter) string {
	var dates []string
	for _, q := range p.All {
		all := []string{q.Earlier}
		for _, of := range q.Columns {
			all = append(all, of.Earlier)
		}
		for _, date := range all {
			if date != "" && !slices.Contains(dates, date) {
				dates = append(dates, date)
			}
		}
	}
	if len(dates) == 0 {
		return ""
	}
	text := dates[0]
	for _, date := range dates[1:] {
		text = f.T("%s and %s", text, date)
	}
	return text
}

// statusField begins the name of the field about a status.
const statusField = "status:"

// answersOf returns the answers in a form. Fields that it does not have change nothing.
func answersOf(f form, i imports.Import) imports.Answers {
	answers := imports.Answers{}
	set := func(name string, value any) {
		answers[name], _ = json.Marshal(value) // cannot fail
	}
	for id := range imports.Choices {
		if choice := f.Get(id); choice != "" {
			set(id, choice)
		}
	}
	statuses := maps.Clone(i.Settings.Statuses)
	for name := range f.Values {
		if word, isStatus := strings.CutPrefix(name, statusField); isStatus && f.Get(name) != "" {
			if statuses == nil {
				statuses = map[string]string{}
			}
			statuses[word] = f.Get(name)
		}
	}
	if statuses != nil {
		set("statuses", statuses)
	}
	if mapping := mappingOf(f, i); mapping != nil {
		set("mapping", mapping)
	}
	if f.Has("channel") {
		set("channel", strings.TrimSpace(f.Get("channel")))
	}
	if f.Has("restore_zeros") {
		set("restore_zeros", slices.Contains(f.Values["restore_zeros"], "1"))
	}
	return answers
}

// mappingOf returns the stored mapping with the changes of a form. If nobody asked about the columns of a file and the
// user changed none, the file gets no mapping: it is read as before.
func mappingOf(f form, i imports.Import) map[string]map[string]string {
	mapping := maps.Clone(i.Settings.Mapping)
	for n, file := range i.Files {
		if !isMapped(file, i.Settings) || f.Get(fmt.Sprintf("mapped-%d", n)) == "" {
			continue
		}
		chosen, isGuess := map[string]string{}, true
		for c, column := range file.Header {
			if column == "" || slices.Index(file.Header, column) != c {
				continue
			}
			chosen[column] = f.Get(fmt.Sprintf("map-%d-%d", n, c))
			isGuess = isGuess && chosen[column] == file.Mapping[column]
		}
		_, isGiven := mapping[file.Name]
		isAsked := slices.ContainsFunc(i.Questions, func(q imports.Question) bool {
			return q.ID == "mapping" && q.File == file.Name
		})
		if isGuess && !isGiven && !isAsked {
			continue
		}
		if mapping == nil {
			mapping = map[string]map[string]string{}
		}
		mapping[file.Name] = chosen
	}
	return mapping
}

// withoutEarlier returns answers that restore the defaults of the settings that come from earlier imports, so that their
// questions are asked.
func withoutEarlier(i imports.Import) imports.Answers {
	answers, mapping := imports.Answers{}, maps.Clone(i.Settings.Mapping)
	for _, e := range i.Earlier {
		answers[e.Setting] = json.RawMessage("null")
		delete(mapping, e.File)
	}
	if answers["mapping"] != nil {
		answers["mapping"], _ = json.Marshal(mapping) // cannot fail
	}
	return answers
}
