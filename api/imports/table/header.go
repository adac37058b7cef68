package table

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Normal returns the form in which names of columns are compared: without case, diacritics, punctuation around words,
// and repeated blanks.
func Normal(name string) string {
	var b strings.Builder
	for _, char := range norm.NFKD.String(strings.ToLower(strings.TrimPrefix(name, "\uFEFF"))) {
		switch {
		case unicode.Is(unicode.Mn, char), char == '*', char == '.', char == ',', char == ':', char == '\'', char == '’':
		case char == 'ß':
			b.WriteString("ss")
		case char == '_', char == '-', unicode.IsSpace(char):
			b.WriteByte(' ')
		default:
			b.WriteRune(char)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
