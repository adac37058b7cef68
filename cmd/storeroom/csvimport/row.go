package csvimport

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/csvcell"
	"github.com/storeroom/storeroom/tenancy/money"
)

// row is one row of a table.
type row struct {
	line    int
	key     string               // the value that identifies the row in refusals
	cells   map[string]string    // the cells that are not empty, by column; nil if malformed
	invalid tenancy.InvalidError // by column; "" is the whole row
}

// malformed reports whether the row could not be split into the columns of the header.
func (w row) malformed() bool { return len(w.invalid[""]) > 0 }

// require adds an error for each of the columns that is empty.
func (w row) require(columns ...string) {
	for _, column := range columns {
		if w.cells[column] == "" {
			w.invalid.Add(column, "is required")
		}
	}
}

// with returns the row with other errors.
func (w row) with(invalid tenancy.InvalidError) row {
	w.invalid = invalid
	return w
}

// id returns a text that identifies something, such as the number of an order.
func (w row) id(column string) string { return strings.TrimSpace(csvcell.Unguard(w.cells[column])) }

// cell returns the value of a column, or nil if the cell is empty. It adds an error to the
// row if parse fails, and returns the zero value.
func cell[T any](w row, column string, parse func(string) (T, error)) *T {
	text, exists := w.cells[column]
	if !exists {
		return nil
	}
	value, err := parse(text)
	if err != nil {
		w.invalid.Add(column, "%v", err)
		return new(T)
	}
	return &value
}

// field is cell for a column of the catalog.
func field[T any](w row, column string, parse func(string) (T, error)) catalog.Field[T] {
	value := cell(w, column, parse)
	if value == nil {
		return catalog.Field[T]{}
	}
	return catalog.Value(*value)
}

// valueOrZero returns the value of a cell, or the zero value if it is empty.
func valueOrZero[T any](value *T) (zero T) {
	if value == nil {
		return zero
	}
	return *value
}

func parseText(text string) (string, error) { return csvcell.Unguard(text), nil }

func parseMoney(text string) (money.Cents, error) { return money.Parse(strings.TrimSpace(text)) }

func parseTime(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(text))
	if err != nil {
		return at, errors.New("must be an RFC 3339 time such as 2026-03-01T09:30:00Z")
	}
	return at, nil
}

// parseInteger returns a parser of integers. Their bounds are checked when they are stored.
func parseInteger(minimum, maximum int64) func(string) (int64, error) {
	return func(text string) (int64, error) {
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("must be a whole number between %d and %d", minimum, maximum)
		}
		return n, nil
	}
}

// Bytes that are never part of UTF-8 replace the escaped characters while tags are split.
var (
	hideEscapes = strings.NewReplacer(`\\`, "\xc0\x80", `\;`, "\xc0\x81")
	showEscaped = strings.NewReplacer("\xc0\x80", `\`, "\xc0\x81", `;`)
)

// parseTags splits at each semicolon that is not escaped by a backslash.
func parseTags(text string) ([]string, error) {
	var tags []string
	for tag := range strings.SplitSeq(hideEscapes.Replace(csvcell.Unguard(text)), ";") {
		if tag != "" {
			tags = append(tags, showEscaped.Replace(tag))
		}
	}
	return tags, nil
}
