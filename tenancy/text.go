package tenancy

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Label returns text of 1 to max characters on one line, trimmed, or what is wrong
// with it.
func Label(s string, max int) (trimmed, fault string) {
	trimmed, fault = Plain(strings.TrimSpace(s), max)
	if trimmed == "" && fault == "" {
		return "", "must not be empty"
	}
	return trimmed, fault
}

// Plain returns text of at most max characters without control characters, or
// what is wrong with it.
func Plain(s string, max int) (plain, fault string) {
	if strings.ContainsFunc(s, unicode.IsControl) {
		return "", "must not hold control characters"
	}
	return s, Longest(s, max)
}

// Name is Label for what people tell keys and businesses apart by. It holds nothing
// that cannot be seen: two names that look alike would be one to whoever revokes
// a key, and a control of direction shows a name in another order than it is
// stored. What a shop sells may be called anything that Label takes.
func Name(s string, max int) (trimmed, fault string) {
	trimmed, fault = Label(s, max)
	if fault == "" {
		fault = hidden(trimmed)
	}
	return trimmed, fault
}

// Scripts in which the joiners, invisible themselves, change how letters look.
var joined = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya,
	unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar,
}

// hidden names the first character that nobody would see, or returns "". Joiners are
// seen by what they do between letters of the scripts that have them, and they and
// the variation selector 16 by what they make of a pictogram.
func hidden(s string) (fault string) {
	const joiner, nonJoiner, pictogram, keycap = '\u200d', '\u200c', '\ufe0f', '\u20e3'
	text := []rune(s)
	at := func(i int) rune {
		if i < 0 || i >= len(text) {
			return 0
		}
		return text[i]
	}
	for i, r := range text {
		before, after := at(i-1), at(i+1)
		switch {
		case (r == joiner || r == nonJoiner) && unicode.In(before, joined...) && unicode.In(after, joined...):
		case r == joiner && unicode.In(before, unicode.So, unicode.Sk, unicode.Variation_Selector) && unicode.Is(unicode.So, after):
		case r == pictogram && (unicode.In(before, unicode.So, unicode.Sm) || after == keycap):
		case unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point), r == '\u2800':
			return fmt.Sprintf("must not hold the invisible character %U", r)
		}
	}
	return ""
}

// Longest says why a text cannot be stored or is longer than max characters, or
// "". PostgreSQL cannot store text that is not UTF-8 or holds a NUL byte.
func Longest(s string, max int) (fault string) {
	switch {
	case !utf8.ValidString(s):
		return "must be valid UTF-8"
	case strings.ContainsRune(s, 0):
		return "must not hold NUL characters"
	case utf8.RuneCountInString(s) > max:
		return "must have at most " + strconv.Itoa(max) + " characters"
	}
	return ""
}

// PathLabel is Label for what stands in paths: clients normalise "." and ".." out
// of them, so that no request could ever name such a thing.
func PathLabel(s string, max int) (trimmed, fault string) {
	s, fault = Label(s, max)
	if s == "." || s == ".." {
		return "", "must not be . or .."
	}
	return s, fault
}
