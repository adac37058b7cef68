package sales

import (
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// positionOf returns the place after o.
func (f Filter) positionOf(o StoredOrder) paging.Position {
	if f.Order.By == "number" {
		return paging.Position{Value: o.Number, ID: o.ID}
	}
	return paging.Position{Value: o.PlacedAt.UTC().Format(time.RFC3339Nano), ID: o.ID}
}

// argument returns the value of a position in the type of the sort column. It returns
// paging.ErrCursor.
func (f Filter) argument(at paging.Position) (any, error) {
	if f.Order.By == "number" {
		if tenancy.CheckText(at.Value, 100) != "" {
			return nil, paging.ErrCursor
		}
		return at.Value, nil
	}
	placed, err := time.Parse(time.RFC3339Nano, at.Value)
	if err != nil || placed.Year() < 1 {
		return nil, paging.ErrCursor
	}
	return placed, nil
}

// continueAfter adds the condition that the orders follow f.After, unless it is nil.
func (q *orderQuery) continueAfter(f Filter) error {
	if f.After == nil {
		return nil
	}
	value, err := f.argument(*f.After)
	if err != nil {
		return err
	}
	follow := ">"
	if f.Order.Descending {
		follow = "<"
	}
	if f.Order.By == "number" {
		q.Where("o.number "+follow+" %s", value)
	} else {
		q.Where("(o.placed_at, o.id) "+follow+" (%s, %s)", value, f.After.ID)
	}
	return nil
}

// Cursor returns a position as text that is valid for this tenant and filter only.
func (f Filter) Cursor(tenant tenancy.ID, at paging.Position) string {
	return at.Cursor(f.identity(tenant)...)
}

// ParseCursor returns the position of a cursor. It returns paging.ErrCursor.
func (f Filter) ParseCursor(tenant tenancy.ID, cursor string) (paging.Position, error) {
	at, err := paging.ParseCursor(cursor, f.identity(tenant)...)
	if err == nil {
		_, err = f.argument(at)
	}
	return at, err
}

func (f Filter) identity(tenant tenancy.ID) []any {
	return []any{
		"orders", tenant, f.Channel, f.Customer, f.Status, f.From.UnixMicro(), f.Before.UnixMicro(),
		f.UpdatedSince.UnixMicro(), f.Search, f.SearchCustomers, f.Order.By, f.Order.Descending,
	}
}
