package tenancy

import (
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
