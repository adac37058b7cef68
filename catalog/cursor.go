package catalog

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/paging"
	"github.com/storeroom/storeroom/tenancy/searchtext"
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
	case ByQuantity:
		return paging.Position{Value: strconv.FormatInt(int64(p.Quantity), 10), ID: p.ID}
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
	case "price", ByQuantity:
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
	identity := []any{
		tenant, f.Search, f.Status, f.CategoryID, f.SellerID, f.WarehouseID, f.Tag,
		f.CreatedFrom.UnixMicro(), f.CreatedBefore.UnixMicro(), f.UpdatedSince.UnixMicro(), f.Order.By, f.Order.Descending,
	}
	if f.Stock != "" { // cursors of the previous release have none
		identity = append(identity, f.Stock)
	}
	return identity
}

const (
	// firstWalkPage is short, because the size of products is not known.
	firstWalkPage = 10
	// maxWalkPage is how many products Walk reads in one round trip.
	maxWalkPage = 500
	// walkBytes is about how much text a page of Walk may have.
	walkBytes = 256 << 10
	// maxSorted is how many ids Walk reads at once from a list that PostgreSQL sorts.
	maxSorted = 10_000
)

// nextWalkPage returns the size of the page after these products.
func nextWalkPage(products []Product) int {
	bytes := 0
	for _, p := range products {
		bytes += len(p.Name)
		if p.Description != nil {
			bytes += len(*p.Description)
		}
	}
	return max(firstWalkPage, min(maxWalkPage, 10*len(products), len(products)*walkBytes/(bytes+1)))
}

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

// walkPages calls f with every page of a list.
func (s *Store) walkPages(ctx context.Context, tenant tenancy.ID, list Filter, f func([]Product) error) error {
	list.Keyset, list.After, list.withoutTotal = true, nil, true
	list.Page = paging.Page{Number: 1, PerPage: firstWalkPage}
	if len(searchtext.Patterns(list.Search)) == 0 {
		plan, err := s.planList(ctx, tenant, list, maxWalkPage)
		if err != nil {
			return fmt.Errorf("plan a walk: %w", err)
		}
		if list.plan = &plan; plan.sorts {
			return s.walkSorted(ctx, tenant, list, f)
		}
	}
	for {
		page, err := s.List(ctx, tenant, list)
		if err != nil {
			return err
		}
		if err := f(page.Items); err != nil || page.Next == nil {
			return err
		}
		list.After = page.Next
		list.Page.PerPage = nextWalkPage(page.Items)
	}
}

// walkSorted is walkPages of a list that PostgreSQL sorts, which it does once for many pages. A product that no longer
// matches the filter when its page is read is left out.
func (s *Store) walkSorted(ctx context.Context, tenant tenancy.ID, list Filter, f func([]Product) error) error {
	size := firstWalkPage
	for {
		ids, last, err := s.sortedIDs(ctx, tenant, list)
		if err != nil {
			return fmt.Errorf("sort products: %w", err)
		}
		for len(ids) > 0 {
			some := ids[:min(size, len(ids))]
			q := list.query(tenant, listPlan{})
			products, err := db.All[Product](ctx, s.db, tenant, productsOf(q.Arg(some)+"::bigint[]", q.Conditions()), q.Args...)
			if err != nil {
				return fmt.Errorf("read %d products: %w", len(some), err)
			}
			if err := f(s.hideAll(products)); err != nil {
				return err
			}
			ids, size = ids[len(some):], nextWalkPage(products)
		}
		if last == nil {
			return nil
		}
		list.After = last
	}
}

// sortedIDs returns the next ids of a list, and the position of the last one if there may be more.
func (s *Store) sortedIDs(
	ctx context.Context, tenant tenancy.ID, list Filter,
) (ids []int64, last *paging.Position, err error) {
	sql, args, err := list.queryIDs(tenant, *list.plan, maxSorted, 0)
	if err != nil {
		return nil, nil, err
	}
	var found []struct {
		IDs  []int64
		Last string
	}
	var products []Product
	err = s.db.Read(ctx, tenant, func(b *pgx.Batch) {
		list.prepare(b, *list.plan)
		// The setting passes the last id to the next query, so that its position is that of the same moment. offset keeps
		// PostgreSQL from sorting for each use of the ids.
		db.QueueRows(b, &found, `
select ids, set_config('app.last', coalesce(ids[cardinality(ids)], 0)::text, true) as last
  from (
       select array(`+paging.Indent(paging.Indent(sql))+`
              ) as ids
       offset 0
       ) s`, args...)
		db.QueueRows(b, &products, productsOf("array[current_setting('app.last')::bigint]", ""), tenant)
	})
	if err != nil {
		return nil, nil, err
	}
	if ids = found[0].IDs; len(ids) == maxSorted {
		last = new(list.positionOf(products[0]))
	}
	return ids, last, nil
}
