// Package csvcell writes the cells of CSV files as RFC 4180 has them.
//
// Contents stand byte for byte, line breaks included. A text that a spreadsheet
// would read as a formula gets an apostrophe in front, and so does one that has
// such an apostrophe already, so that one can always be taken away again. Numbers
// are not texts: a negative amount is left alone.
package csvcell

import "strings"

// Append adds a cell to a row, quoted where it must be. encoding/csv would turn
// line breaks within a cell into those between rows.
func Append(row []byte, cell string) []byte {
	if !strings.ContainsAny(cell, "\",\r\n") && strings.TrimSpace(cell) == cell {
		return append(row, cell...)
	}
	row = append(row, '"')
	row = append(row, strings.ReplaceAll(cell, `"`, `""`)...)
	return append(row, '"')
}

// Guard keeps a spreadsheet from reading a text as a formula.
func Guard(text string) string {
	if bare := strings.TrimLeft(text, "'"); bare != "" && strings.IndexByte("=+-@\t\r", bare[0]) >= 0 {
		return "'" + text
	}
	return text
}
