package tenancy

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckText returns why a text cannot be stored or is longer than max characters, or
// "". PostgreSQL stores only valid UTF-8 without NUL bytes.
func CheckText(s string, max int) (problem string) {
	switch {
	case !utf8.ValidString(s):
		return "must be valid UTF-8"
	case strings.ContainsRune(s, 0):
		return "must not contain NUL characters"
	case utf8.RuneCountInString(s) > max:
		return "must have at most " + strconv.Itoa(max) + " characters"
	}
	return ""
}

// SingleLine returns s, or why it is longer than max characters or contains control
// characters.
func SingleLine(s string, max int) (line, problem string) {
	if strings.ContainsFunc(s, unicode.IsControl) {
		return "", "must not contain control characters"
	}
	return s, CheckText(s, max)
}

// Label returns s trimmed, or why it is not a single line of 1 to max characters.
func Label(s string, max int) (trimmed, problem string) {
	trimmed, problem = SingleLine(strings.TrimSpace(s), max)
	if trimmed == "" && problem == "" {
		return "", "must not be empty"
	}
	return trimmed, problem
}

// PathSegment is Label for a text that is used in URL paths. HTTP clients remove the
// segments "." and "..".
func PathSegment(s string, max int) (trimmed, problem string) {
	s, problem = Label(s, max)
	if s == "." || s == ".." {
		return "", "must not be . or .."
	}
	return s, problem
}

// Name is Label for the names of keys and tenants: it also rejects invisible characters. They can make two names look
// the same, or reorder the displayed text, so that a person revokes the wrong key.
func Name(s string, max int) (trimmed, problem string) {
	trimmed, problem = Label(s, max)
	if problem == "" {
		problem = checkVisible(trimmed)
	}
	return trimmed, problem
}

// joiningScripts are the scripts in which the joiners change how letters look.
var joiningScripts = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
	unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam,
	unicode.Sinhala, unicode.Khmer, unicode.Myanmar,
}

var invisible = []*unicode.RangeTable{
	unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point,
}

const (
	joiner            = '\u200d'
	nonJoiner         = '\u200c'
	pictogramSelector = '\ufe0f'
	keycap            = '\u20e3'
	blankBraille      = '\u2800'
)

// checkVisible returns a message that names the first invisible character, or "".
func checkVisible(s string) (problem string) {
	text := []rune(s)
	at := func(i int) rune {
		if i < 0 || i >= len(text) {
			return 0
		}
		return text[i]
	}
	for i, r := range text {
		if (unicode.In(r, invisible...) || r == blankBraille) && !changesNeighbour(at(i-1), r, at(i+1)) {
			return fmt.Sprintf("must not contain the invisible character %U", r)
		}
	}
	return ""
}

// changesNeighbour reports whether r, invisible by itself, visibly changes the
// characters next to it: a joiner between letters, or a joiner or variation selector
// in a pictogram.
func changesNeighbour(before, r, after rune) bool {
	switch r {
	case joiner:
		if unicode.In(before, unicode.So, unicode.Sk, unicode.Variation_Selector) && unicode.Is(unicode.So, after) {
			return true
		}
		return unicode.In(before, joiningScripts...) && unicode.In(after, joiningScripts...)
	case nonJoiner:
		return unicode.In(before, joiningScripts...) && unicode.In(after, joiningScripts...)
	case pictogramSelector:
		return unicode.In(before, unicode.So, unicode.Sm) || after == keycap
	}
	return false
}
