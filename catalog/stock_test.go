package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

func adjustment(kind string, quantity int64, warehouse ...int64) catalog.AdjustRequest {
	r := catalog.AdjustRequest{Type: catalog.Value(kind), Quantity: catalog.Value(quantity)}
	if len(warehouse) > 0 {
		r.WarehouseID = catalog.Value(warehouse[0])
	}
	return r
}

func quantity(n int64) func(*catalog.Changes) {
	return func(c *catalog.Changes) { c.Quantity = catalog.Value(n) }
}

type requests = []catalog.AdjustRequest

func TestAdjust(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	north := s.mustReference(t, catalog.Warehouses, "north")
	for i, test := range []struct {
		name   string
		steps  requests           // on 10 pieces in the product's own warehouse
		want   catalog.Adjustment // of the last step
		failed error
	}{
		{"add", requests{adjustment("add", 3)},
			catalog.Adjustment{Type: "add", Quantity: 3, QuantityBefore: 10, QuantityAfter: 13}, nil},
		{"remove to zero", requests{adjustment("remove", 10)},
			catalog.Adjustment{Type: "remove", Quantity: 10, QuantityBefore: 10}, nil},
		{"remove too much", requests{adjustment("remove", 11)},
			catalog.Adjustment{}, catalog.ErrInsufficientStock},
		{"set the total", requests{adjustment("set", 4)},
			catalog.Adjustment{Type: "set", Quantity: 4, QuantityBefore: 10, QuantityAfter: 4}, nil},
		{"set the same total", requests{adjustment("set", 10)},
			catalog.Adjustment{Type: "set", Quantity: 10, QuantityBefore: 10, QuantityAfter: 10}, nil},
		{"add to another warehouse", requests{adjustment("add", 5, north)},
			catalog.Adjustment{Type: "add", Quantity: 5, WarehouseID: north, QuantityBefore: 10, QuantityAfter: 15}, nil},
		{"remove from an empty warehouse", requests{adjustment("remove", 1, north)},
			catalog.Adjustment{}, catalog.ErrInsufficientStock},
		{"set one warehouse", requests{adjustment("add", 5, north), adjustment("set", 2, north)},
			catalog.Adjustment{Type: "set", Quantity: 2, WarehouseID: north, QuantityBefore: 15, QuantityAfter: 12}, nil},
		{"set the total with stock in two warehouses", requests{adjustment("add", 5, north), adjustment("set", 6)},
			catalog.Adjustment{Type: "set", Quantity: 6, QuantityBefore: 15, QuantityAfter: 6}, nil},
		{"set the total below the stock of the other warehouse", requests{adjustment("add", 5, north), adjustment("set", 4)},
			catalog.Adjustment{}, catalog.ErrInsufficientStock},
		{"add more than the maximum", requests{adjustment("add", catalog.MaxQuantity)},
			catalog.Adjustment{}, tenancy.InvalidError{"quantity": {"must not take the product's stock above 2147483647"}}},
		{"add nothing", requests{adjustment("add", 0)},
			catalog.Adjustment{}, tenancy.InvalidError{"quantity": {"must be at least 1"}}},
		{"set to a negative", requests{adjustment("set", -1)},
			catalog.Adjustment{}, tenancy.InvalidError{"quantity": {"must be between 0 and 2147483647"}}},
		{"an unknown warehouse", requests{adjustment("add", 1, 999)},
			catalog.Adjustment{}, tenancy.InvalidError{"warehouse_id": {"does not exist"}}},
		{"an empty request", requests{{}},
			catalog.Adjustment{}, tenancy.InvalidError{"type": {"is required"}, "quantity": {"is required"}}},
		{"an unknown type", requests{adjustment("steal", 1)},
			catalog.Adjustment{}, tenancy.InvalidError{"type": {"must be one of add, remove, set"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := s.mustCreate(t, fmt.Sprint("adjust-", i), quantity(10))
			var got catalog.Adjustment
			var err error
			for _, step := range test.steps {
				p, got, err = s.Adjust(t.Context(), s.by, p.ID, step, nil)
			}
			if test.failed != nil {
				want, isInvalid := errors.AsType[tenancy.InvalidError](test.failed)
				invalid, _ := errors.AsType[tenancy.InvalidError](err)
				if isInvalid && !cmp.Equal(want, invalid) || !isInvalid && !errors.Is(err, test.failed) {
					t.Errorf("Adjust = %v, want %v", err, test.failed)
				}
				return
			}
			if test.want.WarehouseID == 0 {
				test.want.WarehouseID = p.WarehouseID
			}
			if diff := cmp.Diff(test.want, got, cmpopts.IgnoreFields(got, "ID", "CreatedAt")); err != nil || diff != "" {
				t.Errorf("Adjust differs (-want +got): %v\n%s", err, diff)
			}
			if p.Quantity != got.QuantityAfter {
				t.Errorf("quantity = %d, want %d", p.Quantity, got.QuantityAfter)
			}
		})
	}
	s.mustAgree(t)
}

// PostgreSQL writes no index entry for an update whose columns are in no index (a
// heap-only update). An adjustment of a busy product must stay one.
func TestAdjustChangesNoIndexedColumn(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	p := s.mustCreate(t, "A", quantity(10))
	conn := s.database.MustSuper(t)
	row := func() (columns map[string]any) {
		err := conn.QueryRow(t.Context(), `select to_jsonb(p) from products p where id = $1`, p.ID).Scan(&columns)
		if err != nil {
			t.Fatal(err)
		}
		return columns
	}
	for _, kind := range catalog.AdjustmentTypes {
		before := row()
		if _, _, err := s.Adjust(t.Context(), s.by, p.ID, adjustment(kind, 3), nil); err != nil {
			t.Fatal(err)
		}
		var changed, indexes []string
		for column, value := range row() {
			if !cmp.Equal(before[column], value) {
				changed = append(changed, column)
			}
		}
		err := conn.QueryRow(t.Context(), `
			select coalesce(array_agg(x.indexrelid::regclass || ' on ' || a.attname), '{}')
			  from pg_index x
			  join pg_attribute a on a.attrelid = x.indrelid and a.attname = any ($1)
			 where x.indrelid = 'products'::regclass
			   and (a.attnum = any (x.indkey)
			        or exists (
			           select from pg_depend d
			            where d.classid = 'pg_class'::regclass and d.objid = x.indexrelid
			              and d.refclassid = 'pg_class'::regclass and d.refobjid = a.attrelid
			              and d.refobjsubid = a.attnum))`, changed).Scan(&indexes)
		if err != nil || len(changed) == 0 || len(indexes) > 0 {
			t.Errorf("%s changes the columns %q with the indexes %q (%v), want no index", kind, changed, indexes, err)
		}
	}
}

// An adjustment records its change itself. The trigger must skip that statement, but no later one of the transaction.
func TestAnAdjustmentIsRecordedOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	p := s.mustCreate(t, "A", quantity(10))
	tx, err := s.database.DB.Begin(t.Context(), s.by.Tenant, func(*pgx.Batch) {})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	for _, r := range []catalog.AdjustRequest{
		adjustment("add", 1), adjustment("remove", 2), adjustment("remove", 99), adjustment("set", 3),
	} {
		_, _, err := catalog.New(tx).Adjust(t.Context(), s.by, p.ID, r, nil)
		if err != nil && !errors.Is(err, catalog.ErrInsufficientStock) {
			t.Fatal(err)
		}
	}
	if _, err := catalog.New(tx).Patch(t.Context(), s.by, p.ID, nil, catalog.Changes{Name: catalog.Value("B")}, nil); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context(), func(*pgx.Batch) {}); err != nil {
		t.Fatal(err)
	}
	rows, err := s.database.MustSuper(t).Query(t.Context(), `
		select action || ' ' || types::text || ' ' || changed::text || ' ' || (ids = array[$1::bigint::text])
		  from changes where 'product' = any (types) order by xid, seq`, p.ID)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	const stock = "updated {product,stock} {quantity,updated_at} true"
	want := []string{"created {product,stock} {} true", stock, stock, stock, "updated {product} {name,updated_at} true"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("the recorded changes differ (-want +got): %v\n%s", err, diff)
	}
}

// A patch records its change itself. The trigger records the same change of another product.
func TestAPatchRecordsWhatTheTriggerWould(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sameName := func(c *catalog.Changes) { c.Name = catalog.Value("Kettle") }
	patched, updated := s.mustCreate(t, "A", sameName), s.mustCreate(t, "B", sameName)
	var references [3][2]int64
	for i, kind := range []catalog.Kind{catalog.Categories, catalog.Sellers, catalog.Warehouses} {
		references[i] = [2]int64{s.mustReference(t, kind, "one"), s.mustReference(t, kind, "two")}
	}
	const columns = `name, description, price, msrp, cost, status, condition, quantity, reorder_point, category_id,
		seller_id, warehouse_id, bin_location, upc, tags`
	super := s.database.MustSuperAt(t, s.by.Tenant)
	_, err := super.Exec(t.Context(), `select set_config('app.tenant_id', $1::bigint::text, false)`, s.by.Tenant)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		var c catalog.Changes
		n := rand.N(2)
		text, number := catalog.Value([]string{"Kettle", "Pot"}[n]), catalog.Value(int64(7+n))
		amount := catalog.Value(money.Cents(700 + n))
		for _, set := range []func(){
			func() { c.Name = text },
			func() { c.Description = text },
			func() { c.Price = amount },
			func() { c.MSRP = amount },
			func() { c.Cost = amount },
			func() { c.Status = catalog.Value(catalog.Statuses[n]) },
			func() { c.Condition = catalog.Value([]string{"new", "used"}[n]) },
			func() { c.Quantity = number },
			func() { c.ReorderPoint = number },
			func() { c.CategoryID = catalog.Value(references[0][n]) },
			func() { c.SellerID = catalog.Value(references[1][n]) },
			func() { c.WarehouseID = catalog.Value(references[2][n]) },
			func() { c.BinLocation = text },
			func() { c.UPC = catalog.Value([]string{"4006381333931", "5901234123457"}[n]) },
			func() { c.Tags = catalog.Value([]string{text.Value}) },
		} {
			if rand.N(5) == 0 {
				set()
			}
		}
		if _, err := s.Patch(t.Context(), s.by, patched.ID, nil, c, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := super.Exec(t.Context(), `
			update products
			   set (`+columns+`, updated_at) = (select `+columns+`, clock_timestamp() from products where id = $1)
			 where id = $2
			   and row(`+columns+`)::text <> (select row(`+columns+`)::text from products where id = $1)`,
			patched.ID, updated.ID); err != nil {
			t.Fatal(err)
		}
	}
	var lists [2][]string
	for i, p := range []catalog.Product{patched, updated} {
		rows, err := super.Query(t.Context(), `
			select types::text || changed::text
			  from changes
			 where ids = array[$1::bigint::text] and 'product' = any (types)
			 order by xid, seq`, p.ID)
		if err == nil {
			lists[i], err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(lists[1], lists[0]); diff != "" || len(lists[0]) < 50 {
		t.Errorf("%d patches recorded other changes than the trigger (-trigger +patch):\n%s", len(lists[0]), diff)
	}
}

func TestAChangeOfWarehouseMovesTheStock(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	north, south := s.mustReference(t, catalog.Warehouses, "north"), s.mustReference(t, catalog.Warehouses, "south")
	p := s.mustCreate(t, "A", quantity(10))
	if _, _, err := s.Adjust(t.Context(), s.by, p.ID, adjustment("add", 4, south), nil); err != nil {
		t.Fatal(err)
	}
	changes := catalog.Changes{WarehouseID: catalog.Value(north), Quantity: catalog.Value(int64(9))}
	moved, err := s.Patch(t.Context(), s.by, p.ID, nil, changes, nil)
	if err != nil || moved.Quantity != 9 || moved.WarehouseName != "north" {
		t.Fatalf("Patch = %+v, %v, want 9 pieces in the north", moved, err)
	}
	rows, err := s.database.MustSuper(t).Query(t.Context(), `
		select format('%s %s at %s: %s to %s', type, quantity, w.name, quantity_before, quantity_after)
		  from inventory_adjustments a join warehouses w on w.id = a.warehouse_id order by a.id`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for rows.Next() {
		var entry string
		if err := rows.Scan(&entry); err != nil {
			t.Fatal(err)
		}
		got = append(got, entry)
	}
	want := []string{
		"set 10 at Main warehouse: 0 to 10", "add 4 at south: 10 to 14",
		"remove 10 at Main warehouse: 14 to 4", "add 10 at north: 4 to 14", "set 9 at north: 14 to 9",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the ledger differs (-want +got):\n%s", diff)
	}
	// The warehouse in the south has 4, so a total of 3 is impossible.
	_, err = s.Patch(t.Context(), s.by, p.ID, nil, catalog.Changes{Quantity: catalog.Value(int64(3))}, nil)
	if !errors.Is(err, catalog.ErrInsufficientStock) {
		t.Errorf("Patch = %v, want ErrInsufficientStock", err)
	}
	s.mustAgree(t)
}

func TestConcurrentRemovalsNeverGoBelowZero(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	p := s.mustCreate(t, "A", quantity(100))
	var removed, refused atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 25 {
				_, _, err := s.Adjust(t.Context(), s.by, p.ID, adjustment("remove", 1), nil)
				switch {
				case err == nil:
					removed.Add(1)
				case errors.Is(err, catalog.ErrInsufficientStock):
					refused.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if removed.Load() != 100 || refused.Load() != 100 {
		t.Errorf("%d removed, %d refused, want 100 each", removed.Load(), refused.Load())
	}
	s.mustAgree(t)
}

// Adjust, Patch and Upsert in any order have the same result as a model.
func TestStockAgreesWithAModel(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	warehouses := []int64{s.mustReference(t, catalog.Warehouses, "north"), s.mustReference(t, catalog.Warehouses, "south")}
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		ctx := context.Background()
		sku := fmt.Sprint("M", n)
		p, err := s.Create(ctx, s.by, product(sku, func(c *catalog.Changes) {
			c.WarehouseID, c.Quantity = catalog.Value(warehouses[0]), catalog.Value(int64(5))
		}), nil)
		if err != nil {
			t.Fatal(err)
		}
		held, own := map[int64]int64{warehouses[0]: 5}, warehouses[0]
		total := func() (sum int64) {
			for _, n := range held {
				sum += n
			}
			return sum
		}
		check := func(got catalog.Product, err error, enough bool, apply func()) {
			if enough != (err == nil) || err != nil && !errors.Is(err, catalog.ErrInsufficientStock) {
				t.Fatalf("error %v, want success %v", err, enough)
			}
			if err == nil {
				apply()
				if int64(got.Quantity) != total() || got.WarehouseID != own {
					t.Fatalf("%d pieces in %d, want %d in %d", got.Quantity, got.WarehouseID, total(), own)
				}
			}
		}
		write := func(t *rapid.T, do func(catalog.Changes) (catalog.Product, error)) {
			to, pieces := rapid.SampledFrom(warehouses).Draw(t, "warehouse"), rapid.Int64Range(0, 12).Draw(t, "pieces")
			got, err := do(catalog.Changes{
				SKU: catalog.Value(sku), WarehouseID: catalog.Value(to), Quantity: catalog.Value(pieces),
			})
			along := held[own]
			if to == own {
				along = 0
			}
			left := held[to] + along + pieces - total()
			check(got, err, left >= 0, func() {
				if to != own {
					held[own] = 0
				}
				held[to], own = left, to
			})
		}
		t.Repeat(map[string]func(*rapid.T){
			"adjust": func(t *rapid.T) {
				kind := rapid.SampledFrom(catalog.AdjustmentTypes).Draw(t, "type")
				pieces := rapid.Int64Range(1, 9).Draw(t, "pieces")
				r, at := adjustment(kind, pieces), own
				if rapid.Bool().Draw(t, "names a warehouse") {
					at = rapid.SampledFrom(warehouses).Draw(t, "warehouse")
					r.WarehouseID = catalog.Value(at)
				}
				after := held[at] + pieces
				switch {
				case kind == "remove":
					after = held[at] - pieces
				case kind == "set" && r.WarehouseID.Set:
					after = pieces
				case kind == "set":
					after = held[at] + pieces - total()
				}
				got, _, err := s.Adjust(ctx, s.by, p.ID, r, nil)
				check(got, err, after >= 0, func() { held[at] = after })
			},
			"patch": func(t *rapid.T) {
				write(t, func(c catalog.Changes) (catalog.Product, error) {
					return s.Patch(ctx, s.by, p.ID, nil, c, nil)
				})
			},
			"upsert": func(t *rapid.T) {
				write(t, func(c catalog.Changes) (catalog.Product, error) {
					results, err := s.Upsert(ctx, s.by, []catalog.Row{{Changes: c}})
					if err != nil {
						t.Fatal(err)
					}
					if results[0].Err != nil {
						return catalog.Product{}, results[0].Err
					}
					return s.Product(ctx, s.by.Tenant, p.ID)
				})
			},
		})
	})
	s.mustAgree(t)
}

// A product moves to a warehouse that is created while other writers wait for its lock.
// They read the product with the name of that warehouse.
func TestWritersReadTheNewWarehouseOfAProduct(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	p := s.mustCreate(t, "A", quantity(5))
	moved := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(moved)
		for i := range 40 {
			to := s.mustReference(t, catalog.Warehouses, fmt.Sprint("w", i))
			changes := catalog.Changes{WarehouseID: catalog.Value(to)}
			if _, err := s.Patch(t.Context(), s.by, p.ID, nil, changes, nil); err != nil {
				t.Error(err)
			}
		}
	})
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-moved:
					return
				default:
				}
				got, _, err := s.Adjust(t.Context(), s.by, p.ID, adjustment("add", 1), nil)
				if err != nil || got.WarehouseName == "" {
					t.Errorf("Adjust = %q, %v", got.WarehouseName, err)
				}
				changes := catalog.Changes{SKU: catalog.Value("A"), ReorderPoint: catalog.Value(int64(got.Quantity))}
				results, err := s.Upsert(t.Context(), s.by, []catalog.Row{{Changes: changes}})
				if err != nil || results[0].Err != nil {
					t.Errorf("Upsert = %+v, %v", results, err)
				}
			}
		})
	}
	wg.Wait()
	s.mustAgree(t)
}
