package catalog

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
)

// Outcome is the outcome of a row of an Upsert.
type Outcome string

// The outcomes of a row.
const (
	Created   Outcome = "created"
	Updated   Outcome = "updated"
	Unchanged Outcome = "unchanged"
	Failed    Outcome = "failed"
)

// Row is a product of an Upsert, identified by its SKU. Invalid has the validation
// errors that the caller found while it read the row.
type Row struct {
	Changes
	Invalid tenancy.InvalidError
}

// Result is the result of a Row. If the Outcome is Failed, Err is an InvalidError or
// ErrInsufficientStock.
type Result struct {
	SKU     string
	ID      int64
	Outcome Outcome
	Err     error
}

// upsertAttempts limits how often an Upsert starts again because another transaction
// wrote the same SKUs or deleted one of the references.
const upsertAttempts = 10

// Upsert creates the products whose SKU is new, and sets the fields that are set of the
// others. A failed row does not undo the others. The rest is one transaction. If two rows
// have the same SKU, the second changes the result of the first.
func (s *Store) Upsert(ctx context.Context, by Actor, rows []Row) ([]Result, error) {
	passes := splitBySKU(rows)
	for attempt := 1; ; attempt++ {
		results := make([]Result, len(rows))
		err := s.db.Tx(ctx, by.Tenant, func(tx pgx.Tx) error {
			for _, pass := range passes {
				if err := upsertPass(ctx, tx, by, pass, results); err != nil {
					return err
				}
			}
			return nil
		})
		if constraintError(err) != nil {
			if attempt < upsertAttempts {
				continue
			}
			err = fmt.Errorf("%w: %w", tenancy.ErrBusy, err)
		}
		return results, wrap(err, "upsert %d products", len(rows))
	}
}

// upsertRow is a Row with its place in the request.
type upsertRow struct {
	Row
	index int
}

// splitBySKU splits rows into passes in which each SKU occurs once. A pass is sorted by
// SKU: all upserts insert products in the same order, so they do not deadlock.
func splitBySKU(rows []Row) [][]upsertRow {
	var passes [][]upsertRow
	occurrences := map[string]int{}
	for i, row := range rows {
		sku := strings.TrimSpace(row.SKU.Value)
		n := occurrences[sku]
		occurrences[sku]++
		if n == len(passes) {
			passes = append(passes, nil)
		}
		passes[n] = append(passes[n], upsertRow{row, i})
	}
	for _, pass := range passes {
		slices.SortStableFunc(pass, func(a, b upsertRow) int { return cmp.Compare(a.SKU.Value, b.SKU.Value) })
	}
	return passes
}

// upsertPass takes two round trips: it reads what is stored, then writes what differs. Large products are written in
// parts.
func upsertPass(ctx context.Context, tx pgx.Tx, by Actor, rows []upsertRow, results []Result) error {
	stored, err := readStored(ctx, tx, by.Tenant, rows)
	if err != nil {
		return err
	}
	part := upsertPart{indexes: map[string]int{}}
	for _, row := range rows {
		update, result := stored.apply(row.Row)
		results[row.index] = result
		switch result.Outcome {
		case Created:
			part.created = append(part.created, update.after)
			part.indexes[result.SKU] = row.index
		case Updated:
			part.updates = append(part.updates, update)
		}
		if description := update.after.Description; description != nil {
			part.size += len(*description)
		}
		if part.size >= maxPart {
			if err := part.write(ctx, tx, by, results); err != nil {
				return err
			}
		}
	}
	return part.write(ctx, tx, by, results)
}

// maxPart is the size from which products are written. The memory for a batch is several times its size.
const maxPart = 4 << 20

// upsertPart are products to write in one round trip.
type upsertPart struct {
	created []Product
	updates []productUpdate
	indexes map[string]int // of the created products, by SKU
	size    int            // of their descriptions
}

// write writes the products and empties the part.
func (p *upsertPart) write(ctx context.Context, tx pgx.Tx, by Actor, results []Result) error {
	var inserted []struct {
		ID  int64
		SKU string
	}
	b := &pgx.Batch{}
	if len(p.created) > 0 {
		tenancy.QueueRows(b, &inserted, insertProducts+"\nselect id, sku\n  from p",
			by.Tenant, by.KeyID, records(p.created...))
	}
	queueUpdates(b, by, p.updates)
	p.created, p.updates, p.size = nil, nil, 0
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	for _, i := range inserted {
		results[p.indexes[i.SKU]].ID = i.ID
	}
	return nil
}

// storedRows are the rows that a pass needs. The products are locked.
type storedRows struct {
	products   map[string]Product // by SKU
	stock      map[int64][]Stock  // by product
	categories map[int64]bool
	sellers    map[int64]bool
	warehouses map[int64]bool
}

// apply returns the update for a row, or the product to create as its after.
func (s *storedRows) apply(row Row) (productUpdate, Result) {
	invalid := row.Invalid.Clone()
	sku, _ := checkSKU(row.SKU.Value)
	before, exists := s.products[sku]
	after := before
	if !exists {
		after = newProduct()
		row.requireAll(invalid)
	}
	row.apply(&after, invalid)
	lookups{
		CategoryExists:  s.categories[row.CategoryID.Value],
		SellerExists:    s.sellers[row.SellerID.Value],
		WarehouseExists: s.warehouses[row.WarehouseID.Value],
	}.check(row.Changes, invalid)
	if len(invalid) > 0 {
		return productUpdate{}, Result{SKU: row.SKU.Value, ID: before.ID, Outcome: Failed, Err: invalid}
	}
	if !exists {
		after.Quantity = int32(row.Quantity.Value)
		return productUpdate{after: after}, Result{SKU: sku, Outcome: Created}
	}
	changes, err := planStock(before, &after, s.stock[before.ID], row.Quantity)
	if err != nil {
		return productUpdate{}, Result{SKU: sku, ID: before.ID, Outcome: Failed, Err: err}
	}
	if reflect.DeepEqual(before, after) {
		return productUpdate{}, Result{SKU: sku, ID: before.ID, Outcome: Unchanged}
	}
	return productUpdate{after, changes}, Result{SKU: sku, ID: before.ID, Outcome: Updated}
}

// stockRow is a row of the table stock.
type stockRow struct {
	ProductID int64
	Stock
}

// readStored locks the products of rows and reads them with their stock, and which of
// the references of rows exist.
func readStored(ctx context.Context, tx pgx.Tx, tenant tenancy.ID, rows []upsertRow) (*storedRows, error) {
	var skus, stockSKUs []string
	var categoryIDs, sellerIDs, warehouseIDs []int64
	for _, row := range rows {
		if sku, problem := checkSKU(row.SKU.Value); problem == "" {
			skus = append(skus, sku)
			if row.Quantity.Set || row.WarehouseID.Set {
				stockSKUs = append(stockSKUs, sku)
			}
		}
		categoryIDs = append(categoryIDs, row.CategoryID.Value) // 0 if not set, which is no id
		sellerIDs = append(sellerIDs, row.SellerID.Value)
		warehouseIDs = append(warehouseIDs, row.WarehouseID.Value)
	}
	slices.Sort(skus) // the order of the locks
	var locked, categories, sellers, warehouses []rowID
	var products []Product
	var stock []stockRow
	b := &pgx.Batch{}
	tenancy.QueueRows(b, &locked, `
		select p.id
		  from unnest($2::text[]) s (sku)
		 cross join lateral (
		       select id
		         from products
		        where tenant_id = $1 and sku = s.sku
		        limit 1
		          for update
		       ) p`, tenant, skus)
	tenancy.QueueRows(b, &products, selectStored+`
  from unnest($2::text[]) s (sku)`+lookUp("sku", "s.sku"), tenant, skus)
	tenancy.QueueRows(b, &stock, `
select s.product_id, s.warehouse_id, s.quantity
  from unnest($2::text[]) n (sku)`+lookUp("sku", "n.sku")+`
 cross join lateral (
       select product_id, warehouse_id, quantity
         from stock
        where tenant_id = $1 and product_id = p.id
       offset 0
       ) s
 order by s.product_id, s.warehouse_id`, tenant, stockSKUs)
	queueExisting(b, &categories, Categories, tenant, categoryIDs)
	queueExisting(b, &sellers, Sellers, tenant, sellerIDs)
	queueExisting(b, &warehouses, Warehouses, tenant, warehouseIDs)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("read %d products: %w", len(skus), err)
	}
	return &storedRows{
		products:   lockedProducts(products, idSet(locked)),
		stock:      stockByProduct(stock),
		categories: idSet(categories),
		sellers:    idSet(sellers),
		warehouses: idSet(warehouses),
	}, nil
}

// queueExisting reads which of ids exist.
func queueExisting(b *pgx.Batch, existing *[]rowID, kind Kind, tenant tenancy.ID, ids []int64) {
	slices.Sort(ids)
	tenancy.QueueRows(b, existing, `
		select r.id
		  from unnest($2::bigint[]) i (id)
		 cross join lateral (
		       select id
		         from `+string(kind)+`
		        where tenant_id = $1 and id = i.id
		        limit 1
		       ) r`, tenant, slices.Compact(ids))
}

// lockedProducts returns the products that are locked, by SKU. Another transaction can
// commit a product between the lock and the reading. Its SKU counts as new then: the
// insert fails, and the Upsert starts again.
func lockedProducts(products []Product, locked map[int64]bool) map[string]Product {
	bySKU := map[string]Product{}
	for _, p := range products {
		if locked[p.ID] {
			bySKU[p.SKU] = p
		}
	}
	return bySKU
}

func stockByProduct(rows []stockRow) map[int64][]Stock {
	byProduct := map[int64][]Stock{}
	for _, row := range rows {
		byProduct[row.ProductID] = append(byProduct[row.ProductID], row.Stock)
	}
	return byProduct
}

func idSet(rows []rowID) map[int64]bool {
	set := map[int64]bool{}
	for _, row := range rows {
		set[row.ID] = true
	}
	return set
}
