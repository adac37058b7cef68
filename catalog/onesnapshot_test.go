package catalog_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// While others create, rename and delete products, a walk, an export and pages have each product that did not move
// once, and a page that has room for all products has as many as its total says.
func TestListsOfAChangingCatalog(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	began := time.Now().Add(-time.Hour)
	category, seller := s.mustReference(t, catalog.Categories, "Lamps"), s.mustReference(t, catalog.Sellers, "Maker")
	warehouse := s.mustReference(t, catalog.Warehouses, "Main")
	of := func(c *catalog.Changes) {
		c.Name, c.Tags = catalog.Value("Blue lamp"), catalog.Value([]string{"sale"})
		c.CategoryID, c.SellerID, c.WarehouseID = catalog.Value(category), catalog.Value(seller), catalog.Value(warehouse)
	}
	var stable []string
	for i := range 40 {
		stable = append(stable, fmt.Sprintf("S%02d", i))
		s.mustCreate(t, stable[i], of)
	}
	stop := s.churn(t, of)
	defer stop()
	filters := map[string]catalog.Filter{
		"all": {}, "status": {Status: "active"}, "category": {CategoryID: &category}, "seller": {SellerID: &seller},
		"warehouse": {WarehouseID: &warehouse}, "tag": {Tag: "sale"}, "tag and category": {Tag: "sale", CategoryID: &category},
		"days": {CreatedFrom: began, CreatedBefore: began.Add(24 * time.Hour)}, "changes": {UpdatedSince: began},
		"seller and warehouse": {SellerID: &seller, WarehouseID: &warehouse},
		"status and days":      {Status: "active", CreatedFrom: began},
		"changes of a seller":  {SellerID: &seller, UpdatedSince: began},
		"search":               {Search: "lamp"}, "search for a start": {Search: "bl"}, "search for two words": {Search: "blue lam"},
		"search in a category": {Search: "lamp", CategoryID: &category, Status: "active"},
		"search of a tag":      {Search: "lamp", Tag: "sale", UpdatedSince: began},
	}
	for name, f := range filters {
		for i, by := range catalog.ProductOrders {
			f.Order = paging.Order{By: by, Descending: (i+len(name))%2 == 0}
			for kind, read := range map[string]func(catalog.Filter) ([]string, error){
				"walk": s.walkInSteps, "export": s.export, "page": s.wholePage,
			} {
				found, err := read(f)
				if err != nil {
					t.Fatalf("%s of %s by %s: %v", kind, name, by, err)
				}
				for _, sku := range stable {
					if n := count(found, sku); n != 1 {
						t.Fatalf("%s of %s by %s: %s is there %d times, want 1, in %v", kind, name, by, sku, n, found)
					}
				}
			}
		}
	}
}

// churn creates, renames and deletes products until the returned function is called.
func (s shop) churn(t testing.TB, of func(*catalog.Changes)) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for worker := range 2 {
		running.Go(func() {
			var mine []int64
			for n := 0; ctx.Err() == nil; n++ {
				p, err := s.Create(ctx, s.by, product(fmt.Sprintf("T%d-%d", worker, n), of), nil)
				if err == nil {
					mine = append(mine, p.ID)
					_, err = s.Patch(ctx, s.by, mine[n%len(mine)], nil, catalog.Changes{
						Name: catalog.Value([]string{"Blue lamp", "Red chair"}[n%2]),
					}, nil)
				}
				if err == nil && len(mine) > 4 {
					err = s.Delete(ctx, s.by, mine[0], nil)
					mine = mine[1:]
				}
				if err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	return func() {
		cancel()
		running.Wait()
	}
}

func (s shop) walkInSteps(f catalog.Filter) (found []string, err error) {
	f.Keyset, f.Page = true, paging.Page{Number: 1, PerPage: 11}
	for {
		page, err := s.List(context.Background(), s.by.Tenant, f)
		if err != nil {
			return nil, err
		}
		found = append(found, skus(page)...)
		if page.Next == nil {
			return found, nil
		}
		f.After = page.Next
	}
}

func (s shop) export(f catalog.Filter) (found []string, err error) {
	err = s.Walk(context.Background(), s.by.Tenant, f, func(p catalog.Product) error {
		found = append(found, p.SKU)
		return nil
	})
	return found, err
}

func (s shop) wholePage(f catalog.Filter) (found []string, err error) {
	f.Page = paging.Page{Number: 1, PerPage: 100}
	page, err := s.List(context.Background(), s.by.Tenant, f)
	if err == nil && int64(len(page.Items)) != page.Total {
		err = fmt.Errorf("the page has %d products, its total is %d", len(page.Items), page.Total)
	}
	return skus(page), err
}

// The ledger of a product has as many rows as its total says, while others change the stock.
func TestTheLedgerOfAChangingProduct(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	p := s.mustCreate(t, "LAMP", quantity(1))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for range 90 {
			if _, _, err := s.Adjust(ctx, s.by, p.ID, adjustment("add", 1), nil); err != nil {
				if ctx.Err() == nil {
					t.Error(err)
				}
				return
			}
		}
	})
	defer running.Wait()
	defer cancel()
	for range 60 {
		f := catalog.LedgerFilter{Page: paging.Page{Number: 1, PerPage: 100}}
		list, err := s.Adjustments(t.Context(), s.by.Tenant, p.ID, f)
		if err != nil || int64(len(list.Items)) != list.Total {
			t.Fatalf("%d rows of the ledger with the total %d, %v", len(list.Items), list.Total, err)
		}
	}
}

// Lists of references, channels and the like use DB.Read, which keeps a total and its rows together.
func TestReadSeesOneMoment(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	order := paging.Order{By: "name"}
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprintf("Category %d", i))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for _, name := range names {
			if _, err := s.CreateReference(ctx, s.by.Tenant, catalog.Categories, catalog.Value(name), nil); err != nil {
				if ctx.Err() == nil {
					t.Error(err)
				}
				return
			}
		}
	})
	defer running.Wait()
	defer cancel()
	for range 60 {
		list, err := s.References(t.Context(), s.by.Tenant, catalog.Categories, "", order, paging.Page{Number: 1, PerPage: 100})
		if err != nil || int64(len(list.Items)) != list.Total {
			t.Fatalf("%d categories with the total %d, %v", len(list.Items), list.Total, err)
		}
	}
}
