package paging

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
)

// ErrCursor means that a cursor is not a next_cursor of this list: it is malformed, or
// belongs to another tenant, filter or order.
var ErrCursor = errors.New("must be a next_cursor of the same list")

// Position is a place in a list: after the row with this value of the sort column and
// this id. A row that does not move is neither repeated nor skipped, even if others are
// inserted or deleted between two pages.
type Position struct {
	Value string `json:"v"`
	ID    int64  `json:"i"`
}

// Cursor returns the position as text that is valid for one list only. list identifies it: the
// tenant, the filter and the order.
func (at Position) Cursor(list ...any) string {
	text, err := json.Marshal(at)
	if err != nil {
		panic(err) // impossible: a string and a number
	}
	return base64.RawURLEncoding.EncodeToString(append(digest(list, text), text...))
}

// ParseCursor returns the position of a cursor. It returns ErrCursor.
func ParseCursor(cursor string, list ...any) (Position, error) {
	var at Position
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) < digestSize {
		return at, ErrCursor
	}
	sum, text := raw[:digestSize], raw[digestSize:]
	if subtle.ConstantTimeCompare(sum, digest(list, text)) != 1 || json.Unmarshal(text, &at) != nil {
		return at, ErrCursor
	}
	return at, nil
}

const digestSize = 12

// digest binds a position to its list. It does not need to be secret: a forged cursor
// reads only rows of the same list.
func digest(list []any, text []byte) []byte {
	h := sha256.New()
	if err := json.NewEncoder(h).Encode(list); err != nil {
		panic(err) // impossible: numbers and strings
	}
	h.Write(text)
	return h.Sum(nil)[:digestSize]
}
