package api

import (
	"bytes"
	"encoding/json"
)

// scanner iterates over the names and values of an object or the elements of an array without copying. The JSON must be
// valid, so separators are skipped unchecked. json.Decoder would validate and copy each value again on every level of
// nesting. The capacity of each value extends to that of the JSON: see placeOf.
type scanner struct{ rest []byte }

const whitespace = " \t\r\n"

// newScanner returns a scanner of raw if raw begins with bracket.
func newScanner(raw []byte, bracket byte) (scanner, bool) {
	raw = bytes.TrimLeft(raw, whitespace)
	return scanner{raw[1:]}, raw[0] == bracket
}

// next returns the next name or value, or nil at the end.
func (s *scanner) next() json.RawMessage {
	s.rest = bytes.TrimLeft(s.rest, whitespace+",:")
	if s.rest[0] == '}' || s.rest[0] == ']' {
		return nil
	}
	n := valueLength(s.rest)
	value := s.rest[:n]
	s.rest = s.rest[n:]
	return value
}

// span is the place of a value in a body.
type span struct {
	at     int64
	length int
}

// placeOf returns the place of a value that scanners of body have returned.
func placeOf(body []byte, value json.RawMessage) span {
	return span{int64(cap(body) - cap(value)), len(value)}
}

// valueLength returns the length of the value at the start of raw.
func valueLength(raw []byte) int {
	switch raw[0] {
	case '"':
		return stringLength(raw)
	case '{', '[':
		for i, depth := 0, 0; ; i++ {
			switch raw[i] {
			case '"':
				i += stringLength(raw[i:]) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	}
	return len(raw) - len(bytes.TrimLeft(raw, "+-.0123456789Eaeflnrstu")) // a number, true, false or null
}

// stringLength returns the length of the string at the start of raw, with its quotes.
func stringLength(raw []byte) int {
	i := 1
	for ; raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// unquote returns the text of a JSON string.
func unquote(raw json.RawMessage) (text string) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	_ = json.Unmarshal(raw, &text) // cannot fail: raw is a valid string
	return text
}
