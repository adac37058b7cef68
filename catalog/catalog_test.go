package catalog_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// shop is the catalog of a tenant in a new database.
type shop struct {
	*catalog.Store
	database *dbtest.Database
	by       catalog.Actor
}

func newShop(t testing.TB) shop {
	t.Helper()
	d := dbtest.New(t)
	return shop{catalog.New(d.DB), d, catalog.Actor{Tenant: d.MustTenant(t, "shop").ID}}
}

// mustCreate adds a product.
func (s shop) mustCreate(t testing.TB, sku string, change ...func(*catalog.Changes)) catalog.Product {
	t.Helper()
	p, err := s.Create(t.Context(), s.by, product(sku, change...), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func product(sku string, change ...func(*catalog.Changes)) catalog.Changes {
	c := catalog.Changes{
		SKU:   catalog.Value(sku),
		Name:  catalog.Value("Product " + sku),
		Price: catalog.Value(money.Cents(1250)),
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

func (s shop) mustReference(t testing.TB, kind catalog.Kind, name string) int64 {
	t.Helper()
	r, err := s.CreateReference(t.Context(), s.by.Tenant, kind, catalog.Value(name), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r.ID
}

// mustAgree checks for every product that quantity, the sum of stock and the last row of
// the ledger are equal, and that product_counts, facet_counts, product_tags and low_products
// are correct.
func (s shop) mustAgree(t testing.TB) {
	t.Helper()
	conn := s.database.MustSuper(t)
	var problems []string
	err := conn.QueryRow(t.Context(), `
		select coalesce(array_agg(problem), '{}') from (
		    select format('product %s: quantity %s, stock %s, ledger %s',
		                  p.id, p.quantity, s.sum, l.quantity_after) as problem
		      from products p
		     cross join lateral (select coalesce(sum(quantity), 0) as sum from stock
		                          where tenant_id = p.tenant_id and product_id = p.id) s
		      left join lateral (select quantity_after from inventory_adjustments
		                          where tenant_id = p.tenant_id and product_id = p.id order by id desc limit 1) l on true
		     where p.quantity <> s.sum or p.quantity <> coalesce(l.quantity_after, 0)
		    union all
		    select format('product %s: row %s starts at %s, the row before ends at %s',
		                  product_id, id, quantity_before, before)
		      from (select *, lag(quantity_after, 1, 0) over (partition by tenant_id, product_id order by id) as before
		              from inventory_adjustments) a
		     where quantity_before <> before
		    union all
		    select format('tenant %s: %s %s products, product_counts has %s', tenant_id, n, status, counted)
		      from (select tenant_id, status, count(*) as n from products group by 1, 2) p
		      full join (select tenant_id, status, sum(count) as counted from product_counts group by 1, 2) c
		           using (tenant_id, status)
		     where coalesce(n, 0) <> coalesce(counted, 0)
		    union all
		    select format('tenant %s: %s %s products of %s %s, facet_counts has %s',
		                  tenant_id, n, status, facet, value, counted)
		      from (select p.tenant_id, f.facet, f.value, p.status, count(*) as n
		              from products p
		             cross join lateral (
		                   values ('category', p.category_id::text), ('seller', p.seller_id::text),
		                          ('warehouse', p.warehouse_id::text)
		                    union all
		                   select 'tag', unnest(p.tags)
		                   ) f (facet, value)
		             where f.value is not null
		             group by 1, 2, 3, 4) p
		      full join (select tenant_id, facet, value, status, sum(count) as counted
		                   from facet_counts group by 1, 2, 3, 4) c
		           using (tenant_id, facet, value, status)
		     where coalesce(n, 0) <> coalesce(counted, 0)
		    union all
		    select format('product %s: tags %s, product_tags %s', p.id, p.tags, t.tags)
		      from products p
		     cross join lateral (select coalesce(array_agg(tag order by tag), '{}') as tags from product_tags t
		                          where t.tenant_id = p.tenant_id and t.product_id = p.id
		                            and (t.status, t.created_at, t.name, t.sku, t.price)
		                                = (p.status, p.created_at, p.name, p.sku, p.price)) t
		     where t.tags <> (select coalesce(array_agg(x order by x collate "C"), '{}') from unnest(p.tags) x)
		    union all
		    select format('product %s: quantity %s, low_products has %s', id, p.quantity, l.quantity)
		      from (select tenant_id, id, quantity from products where quantity <= reorder_point) p
		      full join (select tenant_id, product_id as id, quantity from low_products) l using (tenant_id, id)
		     where p.quantity is distinct from l.quantity
		) f`).Scan(&problems)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Error(problem)
	}
}

func TestCreateFillsInTheDefaults(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	p := s.mustCreate(t, "  A-1  ")
	want := catalog.Product{
		ID: p.ID, SKU: "A-1", Name: "Product   A-1", Price: 1250, Status: "active", Condition: "new",
		WarehouseID: p.WarehouseID, WarehouseName: "Main warehouse", Tags: []string{}, Images: []catalog.Image{},
		CreatedAt: p.CreatedAt, UpdatedAt: p.CreatedAt,
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("Create differs (-want +got):\n%s", diff)
	}
	read, err := s.Product(t.Context(), s.by.Tenant, p.ID)
	if diff := cmp.Diff(p, read); err != nil || diff != "" {
		t.Errorf("Product differs from what Create returned: %v\n%s", err, diff)
	}
	s.mustAgree(t)
}

func everyField(category, seller, warehouse int64) func(*catalog.Changes) {
	return func(c *catalog.Changes) {
		c.Name = catalog.Value("Lamp")
		c.Description = catalog.Value("<p>Warm &amp; <b>bright</b></p>\n")
		c.Price, c.MSRP, c.Cost = catalog.Value(money.Max), catalog.Value(money.Cents(0)), catalog.Value(money.Cents(1))
		c.Status, c.Condition = catalog.Value("draft"), catalog.Value("refurbished")
		c.Quantity, c.ReorderPoint = catalog.Value(int64(7)), catalog.Value(int64(3))
		c.CategoryID, c.SellerID, c.WarehouseID = catalog.Value(category), catalog.Value(seller), catalog.Value(warehouse)
		c.BinLocation, c.UPC = catalog.Value("A-07-3"), catalog.Value("00012345678905")
		c.Tags = catalog.Value([]string{" b ", "a", "b", "A"})
	}
}

func TestCreateKeepsEveryField(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	category := s.mustReference(t, catalog.Categories, "Light")
	seller := s.mustReference(t, catalog.Sellers, "Acme")
	warehouse := s.mustReference(t, catalog.Warehouses, "North")
	p := s.mustCreate(t, "L/1", everyField(category, seller, warehouse))
	want := catalog.Product{
		ID: p.ID, SKU: "L/1", Name: "Lamp", Description: new("<p>Warm &amp; <b>bright</b></p>\n"),
		Price: money.Max, MSRP: new(money.Cents(0)), Cost: new(money.Cents(1)), Status: "draft", Condition: "refurbished",
		Quantity: 7, ReorderPoint: new(int32(3)),
		CategoryID: &category, CategoryName: new("Light"), SellerID: &seller, SellerName: new("Acme"),
		WarehouseID: warehouse, WarehouseName: "North", BinLocation: new("A-07-3"), UPC: new("00012345678905"),
		Tags: []string{"b", "a", "A"}, Images: []catalog.Image{}, CreatedAt: p.CreatedAt, UpdatedAt: p.CreatedAt,
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("Create differs (-want +got):\n%s", diff)
	}
	s.mustAgree(t)
}

func TestCreateReturnsAllValidationErrors(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.mustCreate(t, "taken")
	_, err := s.Create(t.Context(), s.by, catalog.Changes{
		SKU: catalog.Value(" taken "), Price: catalog.Value(money.Cents(-1)), Cost: catalog.Value(money.Max + 1),
		Status: catalog.Value("unknown"), Condition: catalog.Field[string]{Set: true, Null: true},
		Quantity:     catalog.Value(int64(-1)),
		ReorderPoint: catalog.Value(int64(1 << 31)), CategoryID: catalog.Value(int64(99)), SellerID: catalog.Value(int64(98)),
		WarehouseID: catalog.Value(int64(97)), BinLocation: catalog.Value(strings.Repeat("x", 65)),
		UPC:  catalog.Value("1234567"),
		Tags: catalog.Value([]string{"ok", " ", "a\tb"}), Description: catalog.Value("a\x00b"),
	}, tenancy.InvalidError{"msrp": {"must be a number"}})
	want := tenancy.InvalidError{
		"sku": {"is already taken"}, "name": {"is required"},
		"price": {money.ErrRange.Error()}, "cost": {money.ErrRange.Error()},
		"msrp": {"must be a number"}, "status": {"must be one of active, draft"}, "condition": {"must not be null"},
		"quantity": {"must be between 0 and 2147483647"}, "reorder_point": {"must be between 0 and 2147483647"},
		"category_id": {"does not exist"}, "seller_id": {"does not exist"}, "warehouse_id": {"does not exist"},
		"bin_location": {"must have at most 64 characters"}, "upc": {"must be 8 to 14 digits"},
		"tags[1]": {"must not be empty"}, "tags[2]": {"must not contain control characters"},
		"description": {"must not contain NUL characters"},
	}
	got, _ := errors.AsType[tenancy.InvalidError](err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the validation errors differ (-want +got):\n%s", diff)
	}
}

func TestFieldRules(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for i, test := range []struct {
		name   string
		change func(*catalog.Changes)
		want   string // the validation error, or ""
	}{
		{"a SKU of 100 characters", func(c *catalog.Changes) { c.SKU = catalog.Value(strings.Repeat("ü", 100)) }, ""},
		{"a SKU of 101 characters",
			func(c *catalog.Changes) { c.SKU = catalog.Value(strings.Repeat("x", 101)) },
			"sku must have at most 100 characters"},
		{"a SKU of blanks", func(c *catalog.Changes) { c.SKU = catalog.Value(" \u2003 ") }, "sku must not be empty"},
		{"a SKU that is a dot", func(c *catalog.Changes) { c.SKU = catalog.Value(".") }, "sku must not be . or .."},
		{"a SKU that is two dots", func(c *catalog.Changes) { c.SKU = catalog.Value(" .. ") }, "sku must not be . or .."},
		{"a SKU of three dots", func(c *catalog.Changes) { c.SKU = catalog.Value("...") }, ""},
		{"a SKU with a line break",
			func(c *catalog.Changes) { c.SKU = catalog.Value("a\nb") },
			"sku must not contain control characters"},
		{"a SKU that is not UTF-8", func(c *catalog.Changes) { c.SKU = catalog.Value("a\xff") }, "sku must be valid UTF-8"},
		{"a name of 255 characters", func(c *catalog.Changes) { c.Name = catalog.Value(strings.Repeat("界", 255)) }, ""},
		{"a name of 256 characters",
			func(c *catalog.Changes) { c.Name = catalog.Value(strings.Repeat("x", 256)) },
			"name must have at most 255 characters"},
		{"a description of 65,535 characters",
			func(c *catalog.Changes) { c.Description = catalog.Value(strings.Repeat("é", 65535)) },
			""},
		{"a description of 65,536 characters",
			func(c *catalog.Changes) { c.Description = catalog.Value(strings.Repeat("x", 65536)) },
			"description must have at most 65535 characters"},
		{"a description with tabs and breaks", func(c *catalog.Changes) { c.Description = catalog.Value("\t<p>\r\n") }, ""},
		{"a barcode with leading zeros", func(c *catalog.Changes) { c.UPC = catalog.Value("00000000") }, ""},
		{"a barcode of 15 digits",
			func(c *catalog.Changes) { c.UPC = catalog.Value("123456789012345") },
			"upc must be 8 to 14 digits"},
		{"a barcode with other digits",
			func(c *catalog.Changes) { c.UPC = catalog.Value("١٢٣٤٥٦٧٨") },
			"upc must be 8 to 14 digits"},
		{"a tag of 64 characters",
			func(c *catalog.Changes) { c.Tags = catalog.Value([]string{strings.Repeat("t", 64)}) },
			""},
		{"a tag of 65 characters",
			func(c *catalog.Changes) { c.Tags = catalog.Value([]string{strings.Repeat("t", 65)}) },
			"tags[0] must have at most 64 characters"},
		{"51 tags", func(c *catalog.Changes) { c.Tags = catalog.Value(manyTags(51)) }, "tags must hold at most 50 tags"},
		{"50 tags", func(c *catalog.Changes) { c.Tags = catalog.Value(manyTags(50)) }, ""},
		{"the largest stock", func(c *catalog.Changes) { c.Quantity = catalog.Value(int64(1<<31 - 1)) }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := s.Create(t.Context(), s.by, product(fmt.Sprint("rule-", i), test.change), nil)
			invalid, _ := errors.AsType[tenancy.InvalidError](err)
			if got := invalid.Error(); got != test.want || test.want == "" && err != nil {
				t.Errorf("Create = %v, want %q", err, test.want)
			}
		})
	}
}

func manyTags(n int) []string {
	tags := make([]string, n)
	for i := range tags {
		tags[i] = fmt.Sprint("tag ", i)
	}
	return tags
}

func TestReplaceSetsMissingFieldsToTheirDefaults(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	category := s.mustReference(t, catalog.Categories, "Light")
	seller := s.mustReference(t, catalog.Sellers, "Acme")
	warehouse := s.mustReference(t, catalog.Warehouses, "North")
	plain := s.mustCreate(t, "plain")
	p := s.mustCreate(t, "L-1", everyField(category, seller, warehouse))
	got, err := s.Replace(t.Context(), s.by, p.ID, nil, product("L-2"), nil)
	want := plain
	want.ID, want.SKU, want.Name, want.CreatedAt, want.UpdatedAt = p.ID, "L-2", "Product L-2", p.CreatedAt, got.UpdatedAt
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("Replace differs (-want +got): %v\n%s", err, diff)
	}
	if !got.UpdatedAt.After(p.UpdatedAt) {
		t.Errorf("UpdatedAt = %v, want later than %v", got.UpdatedAt, p.UpdatedAt)
	}
	s.mustAgree(t)
}

func TestPatchSetsTheFieldsThatAreSet(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	category := s.mustReference(t, catalog.Categories, "Light")
	seller := s.mustReference(t, catalog.Sellers, "Acme")
	warehouse := s.mustReference(t, catalog.Warehouses, "North")
	p := s.mustCreate(t, "L-1", everyField(category, seller, warehouse))

	changes := catalog.Changes{Price: catalog.Value(money.Cents(99)), Status: catalog.Value("active")}
	got, err := s.Patch(t.Context(), s.by, p.ID, nil, changes, nil)
	want := p
	want.Price, want.Status, want.UpdatedAt = 99, "active", got.UpdatedAt
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("Patch differs (-want +got): %v\n%s", err, diff)
	}

	same, err := s.Patch(t.Context(), s.by, p.ID, nil, catalog.Changes{Price: catalog.Value(money.Cents(99))}, nil)
	if diff := cmp.Diff(got, same); err != nil || diff != "" {
		t.Errorf("a Patch that changes nothing differs (-want +got): %v\n%s", err, diff)
	}

	null := catalog.Field[string]{Set: true, Null: true}
	noID := catalog.Field[int64]{Set: true, Null: true}
	noMoney := catalog.Field[money.Cents]{Set: true, Null: true}
	cleared, err := s.Patch(t.Context(), s.by, p.ID, nil, catalog.Changes{
		Description: null, BinLocation: null, UPC: null, CategoryID: noID, SellerID: noID,
		MSRP: noMoney, Cost: noMoney, ReorderPoint: noID,
	}, nil)
	want = got
	want.Description, want.BinLocation, want.UPC, want.MSRP, want.Cost, want.ReorderPoint = nil, nil, nil, nil, nil, nil
	want.CategoryID, want.CategoryName, want.SellerID, want.SellerName = nil, nil, nil, nil
	want.UpdatedAt = cleared.UpdatedAt
	if diff := cmp.Diff(want, cleared); err != nil || diff != "" {
		t.Errorf("Patch with nulls differs (-want +got): %v\n%s", err, diff)
	}

	changes = catalog.Changes{
		SKU: null, Name: null, Price: noMoney, Status: null, Condition: null, Quantity: noID, WarehouseID: noID,
	}
	_, err = s.Patch(t.Context(), s.by, p.ID, nil, changes, nil)
	invalid, _ := errors.AsType[tenancy.InvalidError](err)
	for _, field := range []string{"sku", "name", "price", "status", "condition", "quantity", "warehouse_id"} {
		if len(invalid[field]) != 1 || invalid[field][0] != "must not be null" {
			t.Errorf("null for %s: %v, want it rejected", field, invalid[field])
		}
	}
	s.mustAgree(t)
}

func TestTheTagFilterFollowsChanges(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	p := s.mustCreate(t, "A", func(c *catalog.Changes) { c.Tags = catalog.Value([]string{"old", "both"}) })
	changes := catalog.Changes{Tags: catalog.Value([]string{"both", "new"})}
	if _, err := s.Patch(t.Context(), s.by, p.ID, nil, changes, nil); err != nil {
		t.Fatal(err)
	}
	for tag, want := range map[string]int64{"old": 0, "both": 1, "new": 1, "NEW": 0} {
		if got := s.mustList(t, catalog.Filter{Tag: tag}); got.Total != want {
			t.Errorf("products tagged %q = %d, want %d", tag, got.Total, want)
		}
	}
	s.mustAgree(t)
}

func TestProductsOfOtherTenantsAreMissing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	other := catalog.Actor{Tenant: s.database.MustTenant(t, "other").ID}
	p := s.mustCreate(t, "mine")
	patch := catalog.Changes{Name: catalog.Value("x")}
	adjust := catalog.AdjustRequest{Type: catalog.Value("add"), Quantity: catalog.Value(int64(1))}
	for _, test := range []struct {
		name string
		do   func() error
	}{
		{"read", func() error { _, err := s.Product(t.Context(), other.Tenant, p.ID); return err }},
		{"read by SKU", func() error { _, err := s.ProductBySKU(t.Context(), other.Tenant, "mine"); return err }},
		{"replace", func() error {
			_, err := s.Replace(t.Context(), other, p.ID, nil, product("x"), nil)
			return err
		}},
		{"patch", func() error {
			_, err := s.Patch(t.Context(), other, p.ID, nil, patch, nil)
			return err
		}},
		{"adjust", func() error {
			_, _, err := s.Adjust(t.Context(), other, p.ID, adjust, nil)
			return err
		}},
		{"delete", func() error { return s.Delete(t.Context(), other, p.ID, nil) }},
	} {
		if err := test.do(); !errors.Is(err, tenancy.ErrNotFound) {
			t.Errorf("%s of another tenant's product = %v, want ErrNotFound", test.name, err)
		}
	}
	// Another tenant's category is like a missing one.
	category := s.mustReference(t, catalog.Categories, "mine")
	inCategory := func(c *catalog.Changes) { c.CategoryID = catalog.Value(category) }
	_, err := s.Create(t.Context(), other, product("x", inCategory), nil)
	if invalid, _ := errors.AsType[tenancy.InvalidError](err); invalid.Error() != "category_id does not exist" {
		t.Errorf("Create in another tenant's category = %v, want it rejected", err)
	}
	if read, err := s.Product(t.Context(), s.by.Tenant, p.ID); err != nil || !cmp.Equal(read, p) {
		t.Errorf("the product changed: %v, %v", read, err)
	}
}

func TestDeleteFreesTheSKUAndKeepsTheLedger(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	p := s.mustCreate(t, "A", func(c *catalog.Changes) { c.Quantity = catalog.Value(int64(5)) })
	if err := s.Delete(t.Context(), s.by, p.ID, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), s.by, p.ID, nil); !errors.Is(err, tenancy.ErrNotFound) {
		t.Errorf("a second Delete = %v, want ErrNotFound", err)
	}
	if again := s.mustCreate(t, "A"); again.ID == p.ID {
		t.Errorf("the id %d is used twice", p.ID)
	}
	rows, err := s.database.MustSuper(t).Query(t.Context(), `
		select type || quantity_before || quantity_after
		  from inventory_adjustments
		 where product_id = $1
		 order by id`, p.ID)
	if err != nil {
		t.Fatal(err)
	}
	var entries []string
	for rows.Next() {
		var entry string
		if err := rows.Scan(&entry); err != nil {
			t.Fatal(err)
		}
		entries = append(entries, entry)
	}
	if diff := cmp.Diff([]string{"set05", "remove50"}, entries); diff != "" {
		t.Errorf("the ledger differs (-want +got):\n%s", diff)
	}
	s.mustAgree(t)
}

func TestATenantCanBeDeletedDuringWrites(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	p := s.mustCreate(t, "busy", quantity(1))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				// Errors are expected: the tenant no longer exists.
				_, _, _ = s.Adjust(t.Context(), s.by, p.ID, adjustment("add", 1), nil)
				_, _ = s.Create(t.Context(), s.by, product(fmt.Sprint(worker, "-", i)), nil)
			}
		})
	}
	err := tenants.Delete(t.Context(), s.database.Admin, "shop")
	close(stop)
	wg.Wait()
	if err != nil {
		t.Errorf("DeleteTenant = %v", err)
	}
	if left := s.mustList(t, catalog.Filter{}); left.Total != 0 {
		t.Errorf("%d products are stored, want 0", left.Total)
	}
}
