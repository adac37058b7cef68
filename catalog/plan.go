package catalog

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// PlanRow is a product of a plan, identified by its SKU. A reference is given by its id in Changes or by its name. The
// plan assumes that ApplyReferences adds unknown names before the row is applied.
type PlanRow struct {
	Changes
	CategoryName  Field[string]        `json:",omitzero"`
	SellerName    Field[string]        `json:",omitzero"`
	WarehouseName Field[string]        `json:",omitzero"`
	Stock         []StockOf            `json:",omitempty"` // replaces the stock of these warehouses
	InPlan        bool                 `json:",omitempty"` // an earlier call for the plan has a row of the product
	Archived      *Archived            `json:",omitempty"`
	Invalid       tenancy.InvalidError `json:"-"`

	// ByField means that the row depends only on the fields that it changes. Otherwise it depends on the whole product.
	ByField bool `json:",omitempty"`
	// Seen are values that the product must have, when the row is planned and when it is applied.
	Seen *Changes `json:",omitempty"`
	// Change is computed from the stored product in addition to Changes. Planned.Changes has the result.
	Change *Change `json:"-"`
	// Version is that of the plan. ApplyProducts writes the row if the product still has it; nil is none. PlanProducts
	// returns the fields that differ from it, if it is one of a row ByField.
	Version *Version `json:"-"`
	// ID is that of the product, or 0 for any. The row fails with ErrPrecondition if it was deleted or has another SKU.
	ID int64 `json:"-"`
}

// Archived are the values that a row of an archive sets if it creates the product. A product without images gets the
// images.
type Archived struct {
	ID        int64 // from NewIDs
	CreatedAt time.Time
	Images    []Image `json:",omitempty"` // with the ids 0; their files are reserved
}

// NewIDs returns n unused ids in ascending order, for the table products or the table of a Kind.
func (s *Store) NewIDs(ctx context.Context, tenant tenancy.ID, table string, n int) ([]int64, error) {
	rows, err := db.All[rowID](ctx, s.db, tenant, `
		select nextval($1::regclass) as id
		  from generate_series(1, $2::int)`, table+"_id_seq", n)
	ids := make([]int64, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	return ids, tenancy.Wrap(err, "take %d ids", n)
}

// StockOf is the quantity of a product in the warehouse of that name.
type StockOf struct {
	Warehouse string
	Quantity  int64
}

// Planned is the planned result of a PlanRow. Old and New have the fields that change, by their names in the API, with
// the names of references. Amounts are strings.
type Planned struct {
	Result
	Old, New map[string]any
	Version  *Version // of the stored product; nil if it does not exist
	Changes  Changes  // with the result of PlanRow.Change; of a row ByField those that change something
	// Changed are the fields that differ from PlanRow.Version.
	Changed []string
	// SetsImages means that the product gets the images of an archive. A product with images keeps them.
	SetsImages bool
}

// Version identifies a state of a product. A row that only replaces stock does not depend on the rest of the product.
// The same content has the same version, so after the undo of a row, the row before it can be undone.
type Version struct {
	Content  string  `json:",omitzero"` // a digest of all columns but the quantity
	Quantity int32   `json:",omitzero"`
	Stock    []Stock `json:",omitempty"` // of the warehouses that the row changes
	// Fields are the values of the fields that a row ByField changes; then Content is empty. Images are nil if they do
	// not change.
	Fields *Changes `json:",omitempty"`
	Images []Image  `json:",omitzero"`
}

// Applied is the result of a PlanRow that was applied. If the product has changed since the plan, Outcome is Failed and
// Err is ErrPrecondition. Undo is nil if nothing was written.
type Applied struct {
	Result
	Undo *Undo
}

// PlanProducts returns the results that an Upsert of rows would have. It writes nothing. If two rows have the same SKU,
// the second changes the result of the first; both must be in the same call.
func (s *Store) PlanProducts(ctx context.Context, tenant tenancy.ID, rows []PlanRow) ([]Planned, error) {
	planned := make([]Planned, len(rows))
	err := s.db.Tx(ctx, tenant, func(tx pgx.Tx) error {
		names, err := readNames(ctx, tx, tenant, rows)
		if err != nil {
			return err
		}
		wanted := make([]upsertRow, len(rows))
		for i, row := range rows {
			wanted[i] = names.row(row, true)
		}
		sizes, err := readSizes(ctx, tx, tenant, wanted)
		if err != nil {
			return err
		}
		for _, part := range splitBySize(wanted, sizes) {
			if err := planPart(ctx, tx, tenant, planned, wanted, part, names); err != nil {
				return err
			}
		}
		return nil
	})
	return planned, tenancy.Wrap(err, "plan %d products", len(rows))
}

// planPart sets planned of the rows with these indexes.
func planPart(
	ctx context.Context, tx pgx.Tx, tenant tenancy.ID, planned []Planned, all []upsertRow, indexes []int,
	names referenceNames,
) error {
	keys, rows := make([]RowKey, len(indexes)), make([]upsertRow, len(indexes))
	for n, i := range indexes {
		keys[n].SKU, rows[n] = all[i].SKU.Value, all[i]
	}
	stored, err := readStored(ctx, tx, tenant, rows, nil, selectProducts)
	if err != nil {
		return err
	}
	names.addTo(stored)
	for n, i := range indexes {
		planned[i].Version = stored.version(rows[n])
	}
	for _, pass := range splitBySKU(keys) {
		for _, n := range pass {
			i := indexes[n]
			stored.plan(&planned[i], rows[n], names, -int64(i+1))
		}
	}
	return nil
}

// readSizes returns the sizes of the stored descriptions by SKU.
func readSizes(ctx context.Context, tx pgx.Tx, tenant tenancy.ID, rows []upsertRow) (map[string]int, error) {
	var skus []string
	for _, row := range rows {
		if sku, problem := checkSKU(row.SKU.Value); problem == "" {
			skus = append(skus, sku)
		}
	}
	var stored []lockedRow
	b := &pgx.Batch{}
	db.QueueRows(b, &stored, `
		select p.id, p.sku, coalesce(octet_length(p.description), 0) as size
		  from unnest($2::text[]) s (sku)
		 cross join lateral (
		       select id, sku, description
		         from products
		        where tenant_id = $1 and sku = s.sku
		        limit 1
		       ) p`, tenant, skus)
	sizes := map[string]int{}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("read the sizes of %d products: %w", len(skus), err)
	}
	for _, p := range stored {
		sizes[p.SKU] = p.Size
	}
	return sizes, nil
}

// splitBySize splits rows into parts. The stored descriptions of a part have about maxPart bytes in total. Rows with
// the same SKU are in the same part.
func splitBySize(rows []upsertRow, sizes map[string]int) (parts [][]int) {
	partOf, size := map[string]int{}, maxPart
	for i, row := range rows {
		sku, _ := checkSKU(row.SKU.Value)
		part, known := partOf[sku]
		if !known {
			if size >= maxPart {
				parts, size = append(parts, nil), 0
			}
			part = len(parts) - 1
			partOf[sku] = part
			size += sizes[sku]
		}
		parts[part] = append(parts[part], i)
	}
	return parts
}

// version returns the version of the stored product that a row depends on.
func (s *storedRows) version(row upsertRow) *Version {
	sku, _ := checkSKU(row.SKU.Value)
	p, exists := s.products[sku]
	if !exists || row.inPlan {
		return nil
	}
	if row.stock == nil || !reflect.DeepEqual(row.Changes, Changes{SKU: row.SKU}) {
		return &Version{Content: p.content(), Quantity: p.Quantity}
	}
	v := &Version{}
	for _, target := range row.stock {
		v.Stock = append(v.Stock, Stock{target.WarehouseID, inWarehouse(s.stock[p.ID], target.WarehouseID)})
	}
	return v
}

// content returns a digest of the columns of p that a write sets, apart from the quantity, and of the images.
func (p Product) content() string {
	p.ID, p.Quantity, p.CreatedAt = 0, 0, time.Time{}
	sum := sha256.Sum256(append(records(p), fmt.Sprint(p.Images)...))
	return hex.EncodeToString(sum[:16])
}

// plan sets what a row would change, and changes the stored rows for the next row of the same product. newID is the
// assumed id of a new product.
func (s *storedRows) plan(p *Planned, row upsertRow, names referenceNames, newID int64) {
	sku, problem := checkSKU(row.SKU.Value)
	stored, exists := s.products[sku]
	if row.id > 0 && stored.ID != row.id {
		p.Result, p.Version = Result{SKU: sku, Outcome: Failed, Err: ErrPrecondition}, nil
		return
	}
	if row.seen != nil && !row.inPlan {
		if fields, isSame := s.differences(sku, &Version{Fields: row.seen}); !isSame {
			p.Result = Result{SKU: row.SKU.Value, ID: stored.ID, Outcome: Failed, Err: unlikeSeen(fields)}
			p.Changes, p.Changed = row.Changes, fields
			return
		}
	}
	if problem == "" && !exists && row.inPlan {
		assumed := newProduct()
		assumed.ID, assumed.SKU = newID, sku
		s.products[sku] = assumed
	}
	if row.version != nil && !row.inPlan {
		p.Changed, _ = s.differences(sku, row.version)
	}
	if row.change != nil {
		row.Changes = row.change.of(s.products[sku], row.Changes)
	}
	p.Changes = row.Changes
	update, result := s.apply(row)
	if row.byField && result.Outcome == Updated && !row.inPlan {
		p.Version = fieldVersion(update.before, update.after, len(update.stock) > 0)
		for _, target := range row.stock {
			have := inWarehouse(update.stockBefore, target.WarehouseID)
			p.Version.Stock = append(p.Version.Stock, Stock{target.WarehouseID, have})
		}
		p.Changes = update.changes(row.Changes)
	}
	if result.Outcome == Created {
		update.before = newProduct()
		update.before.ID, update.after.ID = newID, newID
		update.before.WarehouseID = names.defaultWarehouse
		update.after.WarehouseID = cmp.Or(update.after.WarehouseID, names.defaultWarehouse)
		update.stockBefore = []Stock{{update.after.WarehouseID, update.after.Quantity}}
		var err error
		if update.stock, err = distribute(&update.after, update.stockBefore, row.stock); err != nil {
			result.Outcome, result.Err = Failed, err
		}
	}
	result.ID = max(result.ID, 0)
	if p.Result = result; result.Outcome == Unchanged || result.Outcome == Failed {
		return
	}
	p.SetsImages = row.archived != nil && !slices.Equal(update.before.Images, update.after.Images)
	p.New = map[string]any{}
	if exists {
		p.Old = map[string]any{}
	}
	p.setFields(update, row.stock, names)
	s.products[sku], s.stock[update.after.ID] = update.after, stockAfter(update.stockBefore, update.stock)
}

// unlikeSeen returns the error of a row whose product differs from PlanRow.Seen in these fields, or does not exist.
func unlikeSeen(fields []string) error {
	invalid := tenancy.InvalidError{}
	for _, field := range fields {
		invalid.Add("expected."+field, "is not the stored value")
	}
	if len(fields) == 0 {
		invalid.Add("sku", "is not the SKU of a product")
	}
	return invalid
}

// setFields sets the fields that an update changes, and the stock of the warehouses of a row.
func (p *Planned) setFields(update productUpdate, stock []Stock, names referenceNames) {
	for _, c := range storedColumns {
		if c.name != "images" {
			before, after := names.field(c.name, c.value(&update.before)), names.field(c.name, c.value(&update.after))
			p.set(strings.TrimSuffix(c.name, "_id"), before, after)
		}
	}
	p.set("images", URLs(update.before.Images), URLs(update.after.Images)) // files do not change
	before, after := map[string]int32{}, map[string]int32{}
	for _, target := range stock {
		if have := inWarehouse(update.stockBefore, target.WarehouseID); have != target.Quantity {
			name := names.names[Warehouses][target.WarehouseID]
			before[name], after[name] = have, target.Quantity
		}
	}
	p.set("stock", before, after)
}

// set sets a field that changes.
func (p *Planned) set(field string, before, after any) {
	if reflect.DeepEqual(before, after) {
		return
	}
	p.New[field] = after
	if p.Old != nil {
		p.Old[field] = before
	}
}

// ApplyProducts writes rows as Upsert does, except those that have changed since the plan.
func (s *Store) ApplyProducts(ctx context.Context, by Actor, rows []PlanRow) ([]Applied, error) {
	u := &upsert{by: by, planned: true, keys: make([]RowKey, len(rows))}
	for i, row := range rows {
		u.keys[i] = RowKey{row.SKU.Value, row.size()}
	}
	u.read = func(ctx context.Context, tx pgx.Tx, indexes []int) ([]upsertRow, error) {
		part := make([]PlanRow, len(indexes))
		for i, index := range indexes {
			part[i] = rows[index]
		}
		names, err := readNames(ctx, tx, by.Tenant, part)
		if err != nil {
			return nil, err
		}
		wanted := make([]upsertRow, len(indexes))
		for i := range part {
			wanted[i] = names.row(part[i], false)
		}
		return wanted, nil
	}
	err := s.upsert(ctx, u)
	applied := make([]Applied, len(rows))
	for i := range rows {
		applied[i] = Applied{u.results[i], u.undo[i]}
	}
	return applied, err
}
