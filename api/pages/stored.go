package pages

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/message"

	"github.com/storeroom/storeroom/api/pages/words"
)

// Texts that the pages store, such as the title of a price change, are English in the database, because people with
// other languages read them too. Stored translates them.

// storedText is a text that the pages store.
type storedText struct {
	text string
	kind string // of its value: name, number or word
}

var storedTexts = []storedText{
	{mark("Stock count"), ""},
	{mark("Moved to %s"), "name"}, {mark("Moved from %s"), "name"},
	{mark("Status: %s"), "word"}, {mark("Tags added: %s"), "name"}, {mark("Tags removed: %s"), "name"},
	{mark("Reorder at %s"), "number"}, {mark("No reorder point"), ""},
	{mark("Price %s %%"), "number"}, {mark("Price %s"), "number"}, {mark("Price: %s"), "number"},
	{mark("Prices end in %s"), "number"}, {mark("Prices rounded to %s"), "number"},
	{mark("Category: %s"), "name"}, {mark("No category"), ""},
}

// english returns the formatter of texts that are stored.
func (f formatter) english() formatter {
	f.Language = words.Languages[0]
	f.printer = message.NewPrinter(f.Tag, message.Catalog(words.Catalog()))
	return f
}

var (
	storedCount  = regexp.MustCompile(`^(.*) \((\d+|\d{1,3}(?:,\d{3})+) products?\)$`)
	storedNumber = regexp.MustCompile(`^[+−]?[\d,]*(?:\.\d\d)?$`)
	storedForms  = func() (forms []*regexp.Regexp) {
		for _, s := range storedTexts {
			body := strings.ReplaceAll(strings.ReplaceAll(regexp.QuoteMeta(s.text), "%%", "%"), "%s", "(.+)")
			forms = append(forms, regexp.MustCompile("^"+body+"$"))
		}
		return forms
	}()
)

// Stored returns a text that a page has stored, or one that a person has written, in the language of the reader. Other
// texts stay as they are.
func (f formatter) Stored(text string) string {
	body, count := text, ""
	if found := storedCount.FindStringSubmatch(text); found != nil {
		n, err := strconv.ParseInt(strings.ReplaceAll(found[2], ",", ""), 10, 64)
		if err == nil {
			body, count = found[1], " ("+f.T("%d products", n)+")"
		}
	}
	parts := strings.Split(body, "; ")
	known := 0
	for i, part := range parts {
		at := slices.IndexFunc(storedForms, func(form *regexp.Regexp) bool { return form.MatchString(part) })
		if at < 0 {
			continue
		}
		known++
		var values []any
		for _, value := range storedForms[at].FindStringSubmatch(part)[1:] {
			values = append(values, f.storedValue(value, storedTexts[at].kind))
		}
		parts[i] = f.T(storedTexts[at].text, values...)
	}
	if known == 0 {
		return text
	}
	return strings.Join(parts, "; ") + count
}

func (f formatter) storedValue(value, kind string) string {
	switch {
	case kind == "word":
		return f.Word(value)
	case kind == "number" && storedNumber.MatchString(value):
		sample := f.Money(1234567_89)
		_, rest, _ := strings.Cut(sample, "1")
		group, _, _ := strings.Cut(rest, "234")
		_, point, _ := strings.Cut(strings.TrimSuffix(sample, "89"), "567")
		return strings.NewReplacer(",", group, ".", point).Replace(value)
	}
	return value
}
