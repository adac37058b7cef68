package feed

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"

	"github.com/storeroom/storeroom/tenancy"
)

// ErrCursor means that a text is not a cursor of this feed.
var ErrCursor = errors.New("must be empty, now, or a next_cursor or seq of this feed")

// Cursor is a position in the feed of a tenant: an entry or, without Seq, the end of the feed at Time.
type Cursor struct {
	Epoch, XID, Seq int64
	Position        int64 // of the id in the row, from 1
	Type            int   // of the type in the row, from 1
	Time            time.Time
}

// Start is before the oldest entry, and Now at the end of the feed.
var (
	Start = Cursor{}
	Now   = Cursor{Epoch: -1}
)

// String returns the cursor as text that is valid for one tenant.
func (c Cursor) String(tenant tenancy.ID) string {
	if c == Start {
		return ""
	}
	var text []byte
	for _, n := range []int64{int64(tenant), c.Epoch, c.XID, c.Seq, c.Position, int64(c.Type), c.Time.Unix()} {
		text = binary.AppendUvarint(text, uint64(n))
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// ParseCursor reads the text of String, or "now". It returns ErrCursor.
func ParseCursor(tenant tenancy.ID, text string) (Cursor, error) {
	switch text {
	case "":
		return Start, nil
	case "now":
		return Now, nil
	}
	rest, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return Cursor{}, ErrCursor
	}
	var numbers [7]int64
	for i := range numbers {
		n, size := binary.Uvarint(rest)
		if size <= 0 || int64(n) < 0 {
			return Cursor{}, ErrCursor
		}
		numbers[i], rest = int64(n), rest[size:]
	}
	c := Cursor{
		Epoch: numbers[1], XID: numbers[2], Seq: numbers[3], Position: numbers[4], Type: int(numbers[5]),
		Time: time.Unix(numbers[6], 0).UTC(),
	}
	if len(rest) > 0 || numbers[0] != int64(tenant) || c.String(tenant) != text {
		return Cursor{}, ErrCursor
	}
	return c, nil
}

// compare returns the order of two positions.
func (c Cursor) compare(d Cursor) int {
	return cmp.Or(cmp.Compare(c.Epoch, d.Epoch), cmp.Compare(c.XID, d.XID), cmp.Compare(c.Seq, d.Seq),
		cmp.Compare(c.Position, d.Position), cmp.Compare(c.Type, d.Type))
}

// IsAfterRow reports whether c is in a later row than d.
func (c Cursor) IsAfterRow(d Cursor) bool {
	d.Position, d.Type, c.Position, c.Type = 0, 0, 0, 0
	return c.compare(d) > 0
}
