package catalog

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// positionOf returns the position after p.
func (f Filter) positionOf(p Product) paging.Position {
	switch f.Order.By {
	case "name":
		return paging.Position{Value: p.Name, ID: p.ID}
	case "sku":
		return paging.Position{Value: p.SKU, ID: p.ID}
	case "price":
		return paging.Position{Value: strconv.FormatInt(int64(p.Price), 10), ID: p.ID}
	default:
		return paging.Position{Value: p.CreatedAt.UTC().Format(time.RFC3339Nano), ID: p.ID}
	}
}

// argument returns the value of a position in the type of the sort column. It accepts only text that positionOf writes,
// because search_products passes it to PostgreSQL, which cannot parse every time and number that Go can. It returns
// paging.ErrCursor.
func (f Filter) argument(at paging.Position) (any, error) {
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
		return nil, paging.ErrCursor
	}
	return argument, nil
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
		tenant, f.Search, f.Status, f.CategoryID, f.SellerID, f.WarehouseID, f.Tag,
		f.CreatedFrom.UnixMicro(), f.CreatedBefore.UnixMicro(), f.UpdatedSince.UnixMicro(), f.Order.By, f.Order.Descending,
	}
}

const (
	// maxWalkPage is how many products Walk reads in one round trip.
	maxWalkPage = 500
	// walkBytes is about how much text a page of Walk may have.
	walkBytes = 256 << 10
)

// Walk calls f with every product of a list in its order. It reads page by page and holds no
// connection while f runs.
func (s *Store) Walk(ctx context.Context, tenant tenancy.ID, list Filter, f func(Product) error) error {
	return s.walkPages(ctx, tenant, list, func(products []Product) error {
		for _, p := range products {
			if err := f(p); err != nil {
				return fmt.Errorf("product %d: %w", p.ID, err)
			}
		}
		return nil
	})
}

// walkPages calls f with every page of a list. The first page is short, because its size is not known.
func (s *Store) walkPages(ctx context.Context, tenant tenancy.ID, list Filter, f func([]Product) error) error {
	list.Keyset, list.After, list.withoutTotal = true, nil, true
	list.Page = paging.Page{Number: 1, PerPage: 10}
	for {
		page, err := s.List(ctx, tenant, list)
		if err != nil {
			return err
		}
		if err := f(page.Items); err != nil || page.Next == nil {
			return err
		}
		bytes := 0
		for _, p := range page.Items {
			bytes += len(p.Name)
			if p.Description != nil {
				bytes += len(*p.Description)
			}
		}
		list.After = page.Next
		list.Page.PerPage = min(maxWalkPage, 10*len(page.Items), max(10, len(page.Items)*walkBytes/(bytes+1)))
	}
}
