package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/money"
)

// Functions named parse… read a JSON value; those named read… read the text of a path or a
// query parameter. The texts of their errors are validation errors.
var (
	errNotInteger   = errors.New("must be an integer")
	errIntegerRange = errors.New("must be between -9223372036854775808 and 9223372036854775807")
	errNotTime      = errors.New("must be an RFC 3339 time, such as 2026-03-01T09:30:00Z")
)

// parseText reads a string that PostgreSQL can store. It rejects a lone surrogate, which
// encoding/json would replace by U+FFFD.
func parseText(raw json.RawMessage) (string, error) {
	switch {
	case raw[0] != '"':
		return "", errors.New("must be a string")
	case hasLoneSurrogate(raw):
		return "", errors.New("must not contain half of a surrogate pair")
	}
	text := unquote(raw)
	return text, checkText(text)
}

// parseLine is parseText for the texts that can have at most 255 characters.
func parseLine(raw json.RawMessage) (string, error) {
	text, err := parseText(raw)
	return shorten(text, maxLine), err
}

// maxLine is more than a line of 255 characters can have, with up to four bytes each.
const maxLine = 2000

// shorten trims and cuts a text of more than max bytes, so that errors and results do not repeat it. The ellipsis keeps
// a cut text too long: blanks at its end would be trimmed later.
func shorten(text string, max int) string {
	if len(text) <= max {
		return text
	}
	if text = strings.TrimSpace(text); len(text) <= max {
		return text
	}
	return cut(text, max) + "…"
}

// cut returns a copy of the first max bytes of a text.
func cut(text string, max int) string {
	return strings.ToValidUTF8(strings.Clone(text[:min(len(text), max)]), "")
}

// checkText returns an error if PostgreSQL cannot store a text.
func checkText(text string) error {
	switch {
	case !utf8.ValidString(text):
		return errors.New("must be valid UTF-8")
	case strings.ContainsRune(text, 0):
		return errors.New("must not contain NUL characters")
	}
	return nil
}

// hasLoneSurrogate reports whether a JSON string contains a \u escape of half a pair.
func hasLoneSurrogate(raw []byte) bool {
	for i := bytes.IndexByte(raw, '\\'); i >= 0; i = bytes.IndexByte(raw, '\\') {
		unit := escapedUnit(raw[i:])
		if unit < 0 {
			raw = raw[i+2:] // a short escape, such as \n
			continue
		}
		raw = raw[i+6:]
		if !utf16.IsSurrogate(unit) {
			continue
		}
		if utf16.DecodeRune(unit, escapedUnit(raw)) == utf8.RuneError {
			return true
		}
		raw = raw[6:]
	}
	return false
}

// escapedUnit returns the UTF-16 unit of the \u escape at the start of raw, or -1.
func escapedUnit(raw []byte) rune {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return -1
	}
	unit, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(unit)
}

// parseOneOf returns a parser of a string that must be one of values.
func parseOneOf(values ...string) parser[string] {
	return func(raw json.RawMessage) (string, error) {
		value, err := parseText(raw)
		if err == nil && !slices.Contains(values, value) {
			err = errors.New("must be one of " + strings.Join(values, ", "))
		}
		return value, err
	}
}

// parseChannel reads the identifier of a channel.
func parseChannel(raw json.RawMessage) (string, error) {
	identifier, err := parseText(raw)
	if err != nil {
		return "", err
	}
	return identifier, checkChannel(identifier)
}

func checkChannel(identifier string) error {
	if message := sales.CheckIdentifier(identifier); message != "" {
		return errors.New(message)
	}
	return nil
}

func parseBool(raw json.RawMessage) (bool, error) {
	if value := string(raw); value == "true" || value == "false" {
		return value == "true", nil
	}
	return false, errors.New("must be true or false")
}

// jsonNumber limits the exponent: the decimal library would expand 1e999999999 to a billion
// digits.
var jsonNumber = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?$`)

// parseInteger reads a number without a fraction: 5, 5.0 and 5e0 are equal.
func parseInteger(raw json.RawMessage) (int64, error) {
	text := string(raw)
	if text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return 0, errNotInteger
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	if len(text) > 400 || !jsonNumber.MatchString(text) {
		return 0, errIntegerRange
	}
	d, err := decimal.NewFromString(text)
	switch {
	case err != nil || !d.IsInteger():
		return 0, errNotInteger
	case d.GreaterThan(decimal.NewFromInt(math.MaxInt64)) || d.LessThan(decimal.NewFromInt(math.MinInt64)):
		return 0, errIntegerRange
	}
	return d.IntPart(), nil
}

// readInteger reads decimal digits.
func readInteger(text string) (int64, error) {
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, errNotInteger
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, errIntegerRange
	}
	return n, nil
}

// parseMoney reads a number or a decimal string from its literal text, without a float.
func parseMoney(raw json.RawMessage) (money.Cents, error) {
	if raw[0] == '"' {
		text, _ := parseText(raw) // money.ParseText rejects an invalid text
		return money.ParseText(text)
	}
	return money.Parse(string(raw))
}

// parseTime reads a string with an RFC 3339 time.
func parseTime(raw json.RawMessage) (time.Time, error) {
	text, err := parseText(raw)
	if err != nil {
		return time.Time{}, errNotTime
	}
	return readTime(text)
}

// rfc3339 is stricter than time.Parse, which also accepts an hour of one digit, a comma
// before the fraction, and offsets of a day and more.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// readTime reads an RFC 3339 time.
func readTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || !rfc3339.MatchString(text) {
		return time.Time{}, errNotTime
	}
	return t, nil
}

// parseDate reads a string with a date.
func parseDate(raw json.RawMessage) (time.Time, error) {
	text, err := parseText(raw)
	if err != nil {
		return time.Time{}, err
	}
	return readDate(text)
}

// readDate reads a date between 1970 and 2200.
func readDate(text string) (time.Time, error) {
	date, err := time.Parse(time.DateOnly, text)
	if err != nil || date.Year() < 1970 || date.Year() > 2200 {
		return time.Time{}, errors.New("must be a date YYYY-MM-DD between 1970 and 2200")
	}
	return date, nil
}
