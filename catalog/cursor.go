package catalog

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/paging"
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

// positionOf returns the place after p.
func (f Filter) positionOf(p Product) Position {
	switch f.Order.By {
	case "name":
		return Position{p.Name, p.ID}
	case "sku":
		return Position{p.SKU, p.ID}
	case "price":
		return Position{strconv.FormatInt(int64(p.Price), 10), p.ID}
	default:
		return Position{p.CreatedAt.UTC().Format(time.RFC3339Nano), p.ID}
	}
}

// argument returns the value of a position in the type of the sort column. It accepts
// only the text that positionOf writes: search_products gives the text to PostgreSQL,
// which does not read every time and number that Go reads. It returns ErrCursor.
func (f Filter) argument(at Position) (any, error) {
	var argument any
	var canonical string
	switch f.Order.By {
	case "name", "sku":
		if tenancy.CheckText(at.Value, 255) == "" {
			argument, canonical = at.Value, at.Value
		}
	case "price":
		if cents, err := strconv.ParseInt(at.Value, 10, 64); err == nil {
			argument, canonical = cents, strconv.FormatInt(cents, 10)
		}
	default:
		if created, err := time.Parse(time.RFC3339Nano, at.Value); err == nil && created.Year() > 0 {
			argument, canonical = created, created.UTC().Format(time.RFC3339Nano)
		}
	}
	if argument == nil || canonical != at.Value {
		return nil, ErrCursor
	}
	return argument, nil
}

// Cursor returns a position as text that is valid for this tenant and filter only.
func (f Filter) Cursor(tenant tenancy.ID, at Position) string {
	text, err := json.Marshal(at)
	if err != nil {
		panic(err) // impossible: a string and a number
	}
	return base64.RawURLEncoding.EncodeToString(append(f.digest(tenant, text), text...))
}

// ParseCursor returns the position of a cursor. It returns ErrCursor.
func (f Filter) ParseCursor(tenant tenancy.ID, cursor string) (Position, error) {
	var at Position
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) < digestSize {
		return at, ErrCursor
	}
	sum, text := raw[:digestSize], raw[digestSize:]
	if subtle.ConstantTimeCompare(sum, f.digest(tenant, text)) != 1 || json.Unmarshal(text, &at) != nil {
		return at, ErrCursor
	}
	_, err = f.argument(at)
	return at, err
}

const digestSize = 12

// digest binds a position to its list. It does not need to be secret: a forged cursor
// reads only rows of the same list.
func (f Filter) digest(tenant tenancy.ID, text []byte) []byte {
	h := sha256.New()
	list := []any{
		tenant, f.Search, f.Status, f.CategoryID, f.SellerID, f.WarehouseID, f.Tag,
		f.CreatedFrom.UnixMicro(), f.CreatedBefore.UnixMicro(), f.UpdatedSince.UnixMicro(), f.Order.By, f.Order.Descending,
	}
	if err := json.NewEncoder(h).Encode(list); err != nil {
		panic(err) // impossible: numbers and strings
	}
	h.Write(text)
	return h.Sum(nil)[:digestSize]
}

const (
	// maxWalkPage is how many products Walk reads in one round trip.
	maxWalkPage = 500
	// walkBytes is about how much text a page of Walk may have.
	walkBytes = 256 << 10
)

// Walk calls f with every product of a list in its order. It reads page by page and holds no
// connection while f runs. The first page is short, because its size is not known.
func (s *Store) Walk(ctx context.Context, tenant tenancy.ID, list Filter, f func(Product) error) error {
	list.Keyset, list.After, list.withoutTotal = true, nil, true
	list.Page = paging.Page{Number: 1, PerPage: 10}
	for {
		page, err := s.List(ctx, tenant, list)
		if err != nil {
			return err
		}
		bytes := 0
		for _, p := range page.Items {
			bytes += len(p.Name)
			if p.Description != nil {
				bytes += len(*p.Description)
			}
			if err := f(p); err != nil {
				return fmt.Errorf("product %d: %w", p.ID, err)
			}
		}
		if page.Next == nil {
			return nil
		}
		list.After = page.Next
		list.Page.PerPage = min(maxWalkPage, 10*len(page.Items), max(10, len(page.Items)*walkBytes/(bytes+1)))
	}
}
