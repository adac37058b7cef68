package catalog_test

import (
	"errors"
	"testing"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/paging"
)

func TestAStoreWithoutCostsNeitherShowsNorChangesThem(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ctx, tenant := t.Context(), s.by.Tenant
	stored := s.mustCreate(t, "A", func(c *catalog.Changes) { c.Cost = catalog.Value(money.Cents(700)) })
	hiding := s.WithoutCosts()
	var read []catalog.Product
	add := func(p catalog.Product, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, p)
	}
	add(hiding.Product(ctx, tenant, stored.ID))
	add(hiding.ProductBySKU(ctx, tenant, "A"))
	add(hiding.Patch(ctx, s.by, stored.ID, nil, catalog.Changes{Name: catalog.Value("B")}, nil))
	add(hiding.Replace(ctx, s.by, stored.ID, nil, product("A"), nil))
	for _, change := range []string{"add", "set"} {
		p, _, err := hiding.Adjust(ctx, s.by, stored.ID, catalog.AdjustRequest{
			Type: catalog.Value(change), Quantity: catalog.Value(int64(2)),
		}, nil)
		add(p, err)
	}
	byID, err := hiding.ProductsByID(ctx, tenant, []int64{stored.ID})
	if err != nil {
		t.Fatal(err)
	}
	read = append(read, byID...)
	for _, f := range []catalog.Filter{{}, {Search: "Product"}, {Status: "active", Order: paging.Order{By: "sku"}}} {
		f.Page = paging.Page{Number: 1, PerPage: 10}
		list, err := hiding.List(ctx, tenant, f)
		if err != nil || len(list.Items) != 1 {
			t.Fatalf("List = %d products, %v, want 1", len(list.Items), err)
		}
		read = append(read, list.Items...)
		if err := hiding.Walk(ctx, tenant, f, func(p catalog.Product) error {
			read = append(read, p)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for i, p := range read {
		if p.Cost != nil {
			t.Errorf("product %d has the cost %s", i, *p.Cost)
		}
	}
	invalid, cost := tenancy.InvalidError{}, catalog.Value(money.Cents(1))
	for name, err := range map[string]error{
		"Patch": second(hiding.Patch(ctx, s.by, stored.ID, nil, catalog.Changes{Cost: cost}, nil)),
		"Replace": second(hiding.Replace(ctx, s.by, stored.ID, nil, product("A", func(c *catalog.Changes) {
			c.Cost = catalog.Field[money.Cents]{Set: true, Null: true}
		}), nil)),
		"Create": second(hiding.Create(ctx, s.by, product("C", func(c *catalog.Changes) { c.Cost = cost }), nil)),
	} {
		if !errors.As(err, &invalid) || len(invalid["cost"]) != 1 {
			t.Errorf("%s with a cost = %v, want an error of the cost", name, err)
		}
	}
	if now, err := s.Product(ctx, tenant, stored.ID); err != nil || now.Cost == nil || *now.Cost != 700 {
		t.Errorf("the product is now %+v, %v, want the cost 7.00", now, err)
	}
}

func second[T any](_ T, err error) error { return err }
