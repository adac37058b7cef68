// Package searchtext compares the words of a search with stored texts, in all scripts.
//
// Text and words are normalised alike, and get a blank before each word start: a letter or digit whose predecessor is
// neither, and every ideograph, kana and Hangul syllable. White space stays one more blank. So a word is found by one
// LIKE pattern: "% ab%" finds it at word starts only, "%abc%" anywhere, and scripts without blanks between words need no
// other rule. A short word that begins with a sign, such as "#1", is found after white space. The blanks also give every
// word start its own trigrams.
package searchtext

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Version is the version of the rule. It grows with each change of what Text returns, also one that a new version of
// Unicode makes; then a migration queues all texts, and a trigger those that the previous release writes.
const Version = 1

// minAnywhere is how many characters a word needs to be found inside words. Shorter ones have no trigram there.
const minAnywhere = 3

// Normalise returns the form of a text that is compared: without case, accents and the variants of compatible
// characters. Accents of scripts in which they make another letter stay.
func Normalise(text string) string {
	if isPlain(text) {
		return text
	}
	for range 4 { // a fold can make letters, after which marks are removed
		next := norm.NFKC.String(cases.Fold().String(withoutMarks(norm.NFKD.String(text))))
		if next == text {
			break
		}
		text = next
	}
	return text
}

// isPlain reports whether a text has only ASCII characters without capitals.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return true
}

// withoutMarks removes nonspacing marks after letters of scripts in which they are accents, points or vowels that people
// leave out.
func withoutMarks(decomposed string) string {
	afterLetter := false
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			if afterLetter {
				return -1
			}
			return r
		}
		afterLetter = unicode.IsLetter(r) &&
			unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Hebrew, unicode.Arabic)
		if unicode.Is(unicode.Cherokee, r) {
			return unicode.ToUpper(r) // cases.Fold exchanges the cases
		}
		return r
	}, decomposed)
}

// Text returns the text that is stored for the fields of an object.
func Text(fields ...string) string {
	marked := mark(strings.TrimLeftFunc(Normalise(strings.Join(fields, " ")), unicode.IsSpace))
	if !strings.HasPrefix(marked, " ") {
		marked = " " + marked
	}
	return marked
}

// Patterns returns a LIKE pattern for each word of a search. A text matches the search if it is like all of them.
func Patterns(search string) []string {
	patterns := words(search)
	escape := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)
	for i, word := range patterns {
		patterns[i] = "%" + escape.Replace(word) + "%"
	}
	return patterns
}

// Matcher returns a function that reports whether an object with these fields matches a search, as PostgreSQL compares.
func Matcher(search string) func(fields ...string) bool {
	searched := words(search)
	return func(fields ...string) bool {
		text := Text(fields...)
		return !slices.ContainsFunc(searched, func(word string) bool { return !strings.Contains(text, word) })
	}
}

// words returns the words of a search as the texts that it finds contain them.
func words(search string) (all []string) {
	for word := range strings.FieldsSeq(search) {
		normalised := Normalise(word)
		marked := mark(normalised)
		if !strings.HasPrefix(normalised, " ") {
			marked = strings.TrimPrefix(marked, " ") // of the word start
			if utf8.RuneCountInString(normalised) < minAnywhere {
				marked = " " + marked
			}
		}
		if !slices.Contains(all, marked) {
			all = append(all, marked)
		}
	}
	return all
}

// mark replaces white space with single blanks and puts a blank before each word start.
func mark(normalised string) string {
	var marked strings.Builder
	marked.Grow(len(normalised) + len(normalised)/4)
	inWord, afterSpace := false, false
	for _, r := range normalised {
		if unicode.IsSpace(r) {
			if !afterSpace {
				marked.WriteByte(' ')
			}
			inWord, afterSpace = false, true
			continue
		}
		isWord := unicode.IsLetter(r) || unicode.IsDigit(r)
		if isWord && !inWord || standsAlone(r) {
			marked.WriteByte(' ')
		}
		marked.WriteRune(r)
		inWord, afterSpace = isWord, false
	}
	return marked.String()
}

// standsAlone reports whether a character is a word of its own.
func standsAlone(r rune) bool {
	return unicode.Is(unicode.Ideographic, r) ||
		unicode.IsLetter(r) && unicode.In(r, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}
