// Package csvcell writes the cells of CSV files.
//
// Cells follow RFC 4180, and line breaks in them are kept. Guard adds an apostrophe to
// texts that a spreadsheet would read as a formula, and to texts that start with such an
// apostrophe, so that Unguard can always remove it. Numbers must not be guarded.
package csvcell

import "strings"

// Append appends a cell to a row, and quotes it if necessary. The writer of encoding/csv
// would change line breaks in a cell to those between rows.
func Append(row []byte, cell string) []byte {
	if !strings.ContainsAny(cell, "\",\r\n") && strings.TrimSpace(cell) == cell {
		return append(row, cell...)
	}
	row = append(row, '"')
	row = append(row, strings.ReplaceAll(cell, `"`, `""`)...)
	return append(row, '"')
}

// Guard prevents a spreadsheet from reading a text as a formula.
func Guard(text string) string {
	if bare := strings.TrimLeft(text, "'"); bare != "" && strings.IndexByte("=+-@\t\r", bare[0]) >= 0 {
		return "'" + text
	}
	return text
}

// Unguard removes the apostrophe that Guard added.
func Unguard(cell string) string {
	if text, ok := strings.CutPrefix(cell, "'"); ok && Guard(text) == cell {
		return text
	}
	return cell
}
