package pages

import (
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/text/language"

	"github.com/storeroom/storeroom/api/pages/words"
	"github.com/storeroom/storeroom/tenancy/money"
)

// Texts that pages store for everyone are English, and each reader has them in the own language. What people have typed
// stays as it is.

// english returns the formatter of stored texts.
func (f formatter) english() formatter {
	f.Language, f.printer = words.Languages[0], newPrinter(language.English, nil)
	return f
}

// stockCount is the note of a count without a reason.
var stockCount = mark("Stock count")

// moves are the notes of a move of stock. A colon and the reason may follow.
var moves = []string{mark("Moved to %s"), mark("Moved from %s")}

// Note returns a note of the ledger.
func (f formatter) Note(text string) string {
	if text == stockCount {
		return f.T(text)
	}
	for _, move := range moves {
		if rest, found := strings.CutPrefix(text, strings.TrimSuffix(move, "%s")); found {
			return f.T(move, rest)
		}
	}
	return text
}

func sameText(_ formatter, text string) string { return text }

// titleParts are the parts of a title, and what shows their values.
var titleParts = []struct {
	text string
	show func(formatter, string) string
}{
	{mark("Status: %s"), func(f formatter, text string) string { return f.Word(text) }},
	{mark("Tags added: %s"), sameText},
	{mark("Tags removed: %s"), sameText},
	{mark("Reorder at %s"), formatter.storedCount},
	{mark("No reorder point"), nil},
	{mark("Price %s %%"), formatter.storedAmount},
	{mark("Price %s"), formatter.storedAmount},
	{mark("Price: %s"), formatter.storedAmount},
	{mark("Prices end in %s"), func(f formatter, text string) string {
		return strings.TrimLeft(f.storedAmount("0"+text), "0")
	}},
	{mark("Prices rounded to %s"), formatter.storedAmount},
	{mark("Category: %s"), sameText},
	{mark("No category"), nil},
}

var titleEnd = regexp.MustCompile(`^(.*) \(([0-9,]+) products?\)$`)

// PlanTitle returns the title of a price change.
func (f formatter) PlanTitle(title string) string {
	end := ""
	if found := titleEnd.FindStringSubmatch(title); found != nil {
		if n, err := strconv.ParseInt(strings.ReplaceAll(found[2], ",", ""), 10, 64); err == nil {
			title, end = found[1], " ("+f.T("%d products", n)+")"
		}
	}
	parts := strings.Split(title, "; ")
	for i, part := range parts {
		parts[i] = f.titlePart(part)
	}
	return strings.Join(parts, "; ") + end
}

func (f formatter) titlePart(part string) string {
	for _, known := range titleParts {
		before, after, hasValue := strings.Cut(strings.ReplaceAll(known.text, "%%", "%"), "%s")
		value, begins := strings.CutPrefix(part, before)
		value, ends := strings.CutSuffix(value, after)
		switch {
		case !hasValue && part == known.text:
			return f.T(known.text)
		case hasValue && begins && ends && value != "":
			return f.T(known.text, known.show(f, value))
		}
	}
	return part
}

// storedCount formats a count of a stored text.
func (f formatter) storedCount(text string) string {
	n, err := strconv.ParseInt(strings.ReplaceAll(text, ",", ""), 10, 64)
	if err != nil {
		return text
	}
	return f.Count(n)
}

// storedAmount formats an amount of a stored text, which may have a sign.
func (f formatter) storedAmount(text string) string {
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "+"), minus)
	cents, err := money.ParseText(strings.ReplaceAll(digits, ",", ""))
	if err != nil {
		return text
	}
	return strings.TrimSuffix(text, digits) + f.Money(cents)
}
