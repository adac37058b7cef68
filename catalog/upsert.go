package catalog

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/tenants"
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

// Upsert creates products with new SKUs, and changes the set fields of the others. A failed row does not undo the
// others, which share one transaction. If two rows have the same SKU, the second changes the result of the first.
func (s *Store) Upsert(ctx context.Context, by Actor, rows []Row) ([]Result, error) {
	keys := make([]RowKey, len(rows))
	for i, row := range rows {
		keys[i] = RowKey{row.SKU.Value, row.size()}
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

// UpsertParts is Upsert for rows that need not be in memory together. read returns the rows with these indexes; it may
// be called several times for a row.
func (s *Store) UpsertParts(
	ctx context.Context, by Actor, keys []RowKey, read func(ctx context.Context, indexes []int) ([]Row, error),
) ([]Result, error) {
	u := &upsert{by: by, keys: keys}
	u.read = func(ctx context.Context, _ pgx.Tx, indexes []int) ([]upsertRow, error) {
		part, err := read(ctx, indexes)
		rows := make([]upsertRow, len(part))
		for i, row := range part {
			rows[i].Row = row
		}
		return rows, err
	}
	err := s.upsert(ctx, u)
	return u.results, err
}

// upsert runs u, again if another transaction wrote the same SKUs or deleted a reference.
func (s *Store) upsert(ctx context.Context, u *upsert) error {
	changed := func(err error) bool { return constraintError(err) != nil }
	err := db.Restart(ctx, changed, func() error {
		err := s.upsertOnce(ctx, u)
		if _, full := tenants.AsQuotaError(err); full && !u.planned && !u.isNearQuota {
			u.isNearQuota = true // so that only the rows fail that do not fit
			err = s.upsertOnce(ctx, u)
		}
		return err
	})
	return tenancy.Wrap(err, "upsert %d products", len(u.keys))
}

func (s *Store) upsertOnce(ctx context.Context, u *upsert) error {
	var existing []lockedRow
	return s.db.TxAfter(ctx, u.by.Tenant, func(b *pgx.Batch) {
		queueLock(b, u.by.Tenant, u.keys, &existing)
		if !u.planned { // a part of a plan is refused whole, by the trigger that counts
			tenants.QueueQuota(b, u.by.Tenant, &u.quota)
		}
	}, func(tx *db.Tx) error {
		u.results, u.undo = make([]Result, len(u.keys)), make([]*Undo, len(u.keys))
		u.written, u.locked, u.sizes = map[string]bool{}, map[int64]bool{}, map[string]int{}
		for _, p := range existing {
			u.locked[p.ID], u.sizes[p.SKU] = true, p.Size
		}
		passes := splitBySKU(u.keys)
		for i, pass := range passes {
			if err := u.pass(ctx, tx, pass, i == len(passes)-1); err != nil {
				return err
			}
		}
		return nil
	})
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

// upsert writes rows. Each attempt replaces its results.
type upsert struct {
	by      Actor
	keys    []RowKey
	read    func(ctx context.Context, tx pgx.Tx, indexes []int) ([]upsertRow, error)
	planned bool // compare with versions, and set undo
	results []Result
	undo    []*Undo
	written map[string]bool // SKUs, if planned
	locked  map[int64]bool  // the products that the transaction has locked or inserted
	sizes   map[string]int  // of their descriptions in bytes, by SKU
	quota   []tenants.Quota // unless planned: one, with what the rows take
	// isNearQuota makes rows take the most that they can. Before, the trigger that counts has refused all of them.
	isNearQuota bool
}

// upsertRow is a Row with requests that only a plan can make.
type upsertRow struct {
	Row
	images   []Image // replaces the images unless it is nil
	archived *Archived
	stock    []Stock  // replaces the stock of these warehouses
	restores bool     // the row undoes another; stock, if not nil, is the whole stock
	deletes  bool     // the row deletes the product
	inPlan   bool     // another row of the plan creates the product
	id       int64    // of the product, or 0 for any
	version  *Version // of the plan, nil if there was no product
	byField  bool     // see PlanRow, as change and seen
	change   *Change
	seen     *Changes
}

// maxPart is the size at which a part ends. The memory for a part is several times its size.
const maxPart = 1 << 20

// pass writes rows with different SKUs. It takes two round trips for each part: it reads what is stored, then writes
// what differs. An update writes the whole product, so the size of a row includes the stored description.
func (u *upsert) pass(ctx context.Context, tx *db.Tx, indexes []int, isLast bool) error {
	for len(indexes) > 0 {
		n := 0
		for size := 0; n < len(indexes) && size < maxPart; n++ {
			key := u.keys[indexes[n]]
			sku, _ := checkSKU(key.SKU)
			size += key.Size + u.sizes[sku]
		}
		rows, err := u.read(ctx, tx, indexes[:n])
		if err != nil {
			return err
		}
		stored, err := readStored(ctx, tx, u.by.Tenant, rows, u.locked, selectStored)
		if err != nil {
			return err
		}
		if err := u.write(ctx, tx, stored, rows, indexes[:n], isLast && n == len(indexes)); err != nil {
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

// queueLock locks the products with these SKUs, in their order.
func queueLock(b *pgx.Batch, tenant tenancy.ID, keys []RowKey, locked *[]lockedRow) {
	var skus []string
	for _, key := range keys {
		if sku, problem := checkSKU(key.SKU); problem == "" {
			skus = append(skus, sku)
		}
	}
	slices.Sort(skus)
	db.QueueRows(b, locked, `
		select p.id, p.sku, coalesce(octet_length(p.description), 0) as size
		  from unnest($2::text[]) s (sku)
		 cross join lateral (
		       select id, sku, description
		         from products
		        where tenant_id = $1 and sku = s.sku
		        limit 1
		          for update
		       ) p`, tenant, slices.Compact(skus))
}

// check is checkPlanned of a row of a plan, unless an earlier row has written the product.
func (u *upsert) check(stored *storedRows, row upsertRow) error {
	if sku, _ := checkSKU(row.SKU.Value); !u.planned || u.written[sku] {
		return nil
	}
	return stored.checkPlanned(row)
}

// compare returns the products to create and to update, and the indexes of their rows by SKU.
func (u *upsert) compare(
	stored *storedRows, rows []upsertRow, indexes []int,
) (created []Product, updates []productUpdate, bySKU map[string]int) {
	bySKU = map[string]int{}
	for i, row := range rows {
		if err := u.check(stored, row); err != nil {
			u.results[indexes[i]] = Result{SKU: row.SKU.Value, ID: row.id, Outcome: Failed, Err: err}
			continue
		}
		update, result := stored.apply(row)
		if err := u.take(&update, result.Outcome); err != nil {
			result.Outcome, result.Err = Failed, err
		}
		u.results[indexes[i]] = result
		switch result.Outcome {
		case Created:
			created = append(created, update.after)
		case Updated:
			updates = append(updates, update)
		default:
			continue
		}
		bySKU[result.SKU] = i
		if text := update.after.Description; text != nil {
			u.sizes[result.SKU] = len(*text)
		}
	}
	return created, updates, bySKU
}

// take returns a tenants.QuotaError if a row would exceed a quota.
func (u *upsert) take(update *productUpdate, outcome Outcome) error {
	if len(u.quota) == 0 {
		return nil
	}
	storage, records := update.after.bytes(), int64(len(update.stock))
	switch {
	case outcome == Created:
		records = 1 + int64(min(update.after.Quantity, 1))
	case outcome == Updated:
		storage -= update.before.bytes()
	default:
		return nil
	}
	if u.isNearQuota {
		storage += update.after.facetBytes() + update.before.facetBytes()
	}
	return u.quota[0].Take(storage, records)
}

// write writes the rows that differ from what is stored. After the last rows it commits, unless they are planned.
func (u *upsert) write(
	ctx context.Context, tx *db.Tx, stored *storedRows, rows []upsertRow, indexes []int, isLast bool,
) error {
	created, updates, bySKU := u.compare(stored, rows, indexes)
	b := &pgx.Batch{}
	inserted := u.queueInserts(b, created)
	queueUpdates(b, u.by, updates)
	send := tx.Send
	if isLast && !u.planned {
		send = tx.SendLast
	}
	if err := send(ctx, b); err != nil {
		return err
	}
	for _, p := range *inserted {
		u.results[indexes[bySKU[p.SKU]]].ID = p.ID
		u.locked[p.ID] = true
	}
	if !u.planned {
		return nil
	}
	var stocked []productUpdate
	b = &pgx.Batch{}
	for _, p := range *inserted {
		i := slices.IndexFunc(created, func(c Product) bool { return c.SKU == p.SKU })
		update, err := p.update(created[i], rows[bySKU[p.SKU]].stock)
		if err != nil {
			return err
		}
		updates = append(updates, update)
		if len(update.stock) > 0 {
			stocked = append(stocked, update)
		}
		if created[i].ID > 0 && len(created[i].Images) > 0 {
			b.Queue(`update products set images = $3 where tenant_id = $1 and id = $2`,
				u.by.Tenant, p.ID, imagesJSON(created[i].Images))
		}
	}
	for _, update := range updates {
		u.written[update.after.SKU] = true
		i := bySKU[update.after.SKU]
		u.undo[indexes[i]] = update.undo(rows[i].byField)
	}
	queueUpdates(b, u.by, stocked)
	if b.Len() == 0 {
		return nil
	}
	return tx.Send(ctx, b)
}

// queueInserts inserts products. Those of an archive have ids; they get their images later, because files are tracked
// when images change.
func (u *upsert) queueInserts(b *pgx.Batch, created []Product) *[]insertedRow {
	var inserted []insertedRow
	var archived, others []Product
	for _, p := range created {
		if p.ID > 0 {
			p.Images = nil
			archived = append(archived, p)
		} else {
			others = append(others, p)
		}
	}
	for sql, products := range map[string][]Product{insertProducts: others, insertArchivedProducts: archived} {
		if len(products) == 0 {
			continue
		}
		sql += "\nselect id, sku, warehouse_id, quantity\n  from p"
		b.Queue(sql, u.by.Tenant, u.by.KeyID, records(products...)).Query(func(rows pgx.Rows) error {
			of, err := pgx.CollectRows(rows, pgx.RowToStructByName[insertedRow])
			inserted = append(inserted, of...)
			return err
		})
	}
	queueTexts(b, u.by.Tenant, created...)
	return &inserted
}

// insertedRow is a product that an upsert has inserted.
type insertedRow struct {
	ID          int64
	SKU         string
	WarehouseID int64
	Quantity    int32
}

// update returns the change of the stock of a product that was inserted.
func (p insertedRow) update(created Product, stock []Stock) (productUpdate, error) {
	u := productUpdate{after: created, created: true, stockOnly: true}
	u.after.ID, u.after.WarehouseID = p.ID, p.WarehouseID
	if p.Quantity > 0 {
		u.stockBefore = []Stock{{p.WarehouseID, p.Quantity}}
	}
	var err error
	u.stock, err = distribute(&u.after, u.stockBefore, stock)
	return u, err
}
