package catalog

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"

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
	keys := make([]RowKey, len(rows))
	for i, row := range rows {
		keys[i] = RowKey{row.SKU.Value, len(row.Description.Value)}
	}
	return s.UpsertParts(ctx, by, keys, func(_ context.Context, indexes []int) ([]Row, error) {
		part := make([]Row, len(indexes))
		for i, index := range indexes {
			part[i] = rows[index]
		}
		return part, nil
	})
}

// RowKey is what UpsertParts needs to know of all rows.
type RowKey struct {
	SKU  string
	Size int // in bytes
}

// UpsertParts is Upsert of rows that need not be in memory together. read returns the rows
// with these indexes. It may be called several times for a row.
func (s *Store) UpsertParts(
	ctx context.Context, by Actor, keys []RowKey, read func(ctx context.Context, indexes []int) ([]Row, error),
) ([]Result, error) {
	passes := splitBySKU(keys)
	for attempt := 1; ; attempt++ {
		u := upsert{by: by, keys: keys, read: read, results: make([]Result, len(keys))}
		err := s.db.Tx(ctx, by.Tenant, func(tx pgx.Tx) error {
			for _, pass := range passes {
				if err := u.pass(ctx, tx, pass); err != nil {
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
		return u.results, wrap(err, "upsert %d products", len(keys))
	}
}

// splitBySKU splits rows into passes in which each SKU occurs once. A pass is sorted by
// SKU: all upserts lock and insert products in the same order, so they do not deadlock.
// Rows without a valid SKU fail in the first pass.
func splitBySKU(keys []RowKey) [][]int {
	var passes [][]int
	stored := make([]string, len(keys)) // SKUs, or ""
	occurrences := map[string]int{}
	for i, key := range keys {
		n := 0
		if sku, problem := checkSKU(key.SKU); problem == "" {
			stored[i], n = sku, occurrences[sku]
			occurrences[sku]++
		}
		if n == len(passes) {
			passes = append(passes, nil)
		}
		passes[n] = append(passes[n], i)
	}
	for _, pass := range passes {
		slices.SortStableFunc(pass, func(a, b int) int { return cmp.Compare(stored[a], stored[b]) })
	}
	return passes
}

// upsert is one attempt of UpsertParts.
type upsert struct {
	by      Actor
	keys    []RowKey
	read    func(ctx context.Context, indexes []int) ([]Row, error)
	results []Result
}

// maxPart is the size from which the next rows are another part. The memory for a part is several times its size.
const maxPart = 1 << 20

// pass locks the products of all rows, and takes two more round trips for each part: it reads what is stored, then
// writes what differs. An update writes the whole product, so the size of a row includes the stored description.
func (u *upsert) pass(ctx context.Context, tx pgx.Tx, indexes []int) error {
	locked, err := u.lock(ctx, tx, indexes)
	if err != nil {
		return err
	}
	isLocked, stored := map[int64]bool{}, map[string]int{}
	for _, p := range locked {
		isLocked[p.ID], stored[p.SKU] = true, p.Size
	}
	for len(indexes) > 0 {
		n := 0
		for size := 0; n < len(indexes) && size < maxPart; n++ {
			key := u.keys[indexes[n]]
			sku, _ := checkSKU(key.SKU)
			size += key.Size + stored[sku]
		}
		rows, err := u.read(ctx, indexes[:n])
		if err != nil {
			return err
		}
		stored, err := readStored(ctx, tx, u.by.Tenant, rows, isLocked)
		if err != nil {
			return err
		}
		if err := u.write(ctx, tx, stored, rows, indexes[:n]); err != nil {
			return err
		}
		indexes = indexes[n:]
	}
	return nil
}

// lockedRow is a product that an upsert has locked.
type lockedRow struct {
	ID   int64
	SKU  string
	Size int // of the description, in bytes
}

// lock locks the products of rows in the order of their SKUs.
func (u *upsert) lock(ctx context.Context, tx pgx.Tx, indexes []int) (locked []lockedRow, err error) {
	var skus []string
	for _, index := range indexes {
		if sku, problem := checkSKU(u.keys[index].SKU); problem == "" {
			skus = append(skus, sku)
		}
	}
	b := &pgx.Batch{}
	tenancy.QueueRows(b, &locked, `
		select p.id, p.sku, coalesce(octet_length(p.description), 0) as size
		  from unnest($2::text[]) s (sku)
		 cross join lateral (
		       select id, sku, description
		         from products
		        where tenant_id = $1 and sku = s.sku
		        limit 1
		          for update
		       ) p`, u.by.Tenant, skus)
	return locked, tx.SendBatch(ctx, b).Close()
}

// write writes the rows that differ from what is stored.
func (u *upsert) write(ctx context.Context, tx pgx.Tx, stored *storedRows, rows []Row, indexes []int) error {
	var created []Product
	var updates []productUpdate
	bySKU := map[string]int{} // indexes of the created products
	for i, row := range rows {
		update, result := stored.apply(row)
		u.results[indexes[i]] = result
		switch result.Outcome {
		case Created:
			created = append(created, update.after)
			bySKU[result.SKU] = indexes[i]
		case Updated:
			updates = append(updates, update)
		}
	}
	var inserted []struct {
		ID  int64
		SKU string
	}
	b := &pgx.Batch{}
	if len(created) > 0 {
		tenancy.QueueRows(b, &inserted, insertProducts+"\nselect id, sku\n  from p",
			u.by.Tenant, u.by.KeyID, records(created...))
	}
	queueUpdates(b, u.by, updates)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	for _, i := range inserted {
		u.results[bySKU[i.SKU]].ID = i.ID
	}
	return nil
}

// storedRows are the rows that a part needs. The products are locked.
type storedRows struct {
	products   map[string]Product // by SKU
	stock      map[int64][]Stock  // by product
	categories map[int64]bool
	sellers    map[int64]bool
	warehouses map[int64]bool
	imageIDs   []rowID // for new images
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
	s.nameImages(after.Images)
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

// nameImages sets the ids of new images.
func (s *storedRows) nameImages(images []Image) {
	for i := range images {
		if images[i].ID == 0 {
			images[i].ID, s.imageIDs = s.imageIDs[0].ID, s.imageIDs[1:]
		}
	}
}

// stockRow is a row of the table stock.
type stockRow struct {
	ProductID int64
	Stock
}

// readStored reads the products of rows with their stock, and which of the references of rows exist. locked has the
// products that the transaction has locked.
func readStored(
	ctx context.Context, tx pgx.Tx, tenant tenancy.ID, rows []Row, locked map[int64]bool,
) (*storedRows, error) {
	b := &pgx.Batch{}
	var skus, stockSKUs []string
	var categoryIDs, sellerIDs, warehouseIDs []int64
	images := 0
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
		images += len(row.ImageURLs.Value)
	}
	var categories, sellers, warehouses, imageIDs []rowID
	var products []Product
	var stock []stockRow
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
	if images > 0 {
		queueImageIDs(b, &imageIDs, images)
	}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("read %d products: %w", len(skus), err)
	}
	return &storedRows{
		products:   lockedProducts(products, locked),
		stock:      stockByProduct(stock),
		categories: idSet(categories),
		sellers:    idSet(sellers),
		warehouses: idSet(warehouses),
		imageIDs:   imageIDs,
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
