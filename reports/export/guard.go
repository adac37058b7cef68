package export

import (
	"iter"
	"strings"
	"unicode"
)

// Guard adds an apostrophe where a spreadsheet would read a formula: at the start of a text and after each character at
// which some spreadsheets split it. In many locales they split rows at semicolons instead of commas, and then quotes
// inside a row do not protect line breaks either. Guard also adds an apostrophe where the text already has one, so that
// Unguard can always remove it. Numbers must not be guarded.
const (
	separators = ";\t\n\r"
	// signs begin a formula. Full-width signs do in some languages. Some spreadsheets ignore
	// a tab or a carriage return at the start of a cell.
	signs = "=+-@＝＋－＠\t\r"
)

// Guard prevents a spreadsheet from reading a text or a part of it as a formula.
func Guard(text string) string {
	var guarded strings.Builder
	copied := 0
	for at := range formulas(text) {
		guarded.WriteString(text[copied:at])
		guarded.WriteByte('\'')
		copied = at
	}
	return joined(&guarded, text, copied)
}

// Unguard removes the apostrophes that Guard added.
func Unguard(cell string) string {
	var text strings.Builder
	copied := 0
	for at := range formulas(cell) {
		if cell[at] == '\'' {
			text.WriteString(cell[copied:at])
			copied = at + 1
		}
	}
	return joined(&text, cell, copied)
}

// joined returns start and the rest of the text after the copied bytes.
func joined(start *strings.Builder, text string, copied int) string {
	if start.Len() == 0 {
		return text[copied:]
	}
	start.WriteString(text[copied:])
	return start.String()
}

// formulas returns where the parts of a text begin that a spreadsheet may read as formulas.
// An apostrophe at the start of a part does not change the result.
func formulas(text string) iter.Seq[int] {
	return func(yield func(int) bool) {
		for at := 0; ; {
			length := strings.IndexAny(text[at:], separators)
			end := at + length
			if length < 0 {
				end = len(text)
			}
			part := text[at:end]
			if at == 0 && length >= 0 {
				part = text[:end+1] // a tab or a carriage return is also a sign
			}
			if isFormula(part) && !yield(at) || length < 0 {
				return
			}
			at = end + 1
		}
	}
}

// isFormula reports whether a part has a sign after any number of quotes and blanks.
func isFormula(part string) bool {
	for _, r := range part {
		switch {
		case strings.ContainsRune(signs, r):
			return true
		case r != '\'' && r != '"' && !unicode.IsSpace(r) && !unicode.IsControl(r):
			return false
		}
	}
	return false
}
