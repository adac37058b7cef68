package catalog

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
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
	// Change is computed from the stored product in addition to Changes. Planned.Changes has the result.
	Change *Change `json:"-"`
	// Was is the version in an earlier plan, which PlanProducts compares with the product.
	Was *Version `json:"-"`
	// ID is that of the product, or 0 for any. The row fails with ErrPrecondition if it was deleted or has another SKU.
	ID int64 `json:"-"`
}

// Archived are the values that a row of an archive sets if it creates the product. A product without images gets the
// images. ID comes from NewIDs. The ids of the images are 0, and their files are reserved.
type Archived struct {
	ID        int64
	CreatedAt time.Time
	Images    []Image `json:",omitempty"`
}

// NewIDs returns n unused ids in ascending order, for the table products or the table of a Kind.
func (s *Store) NewIDs(ctx context.Context, tenant tenancy.ID, table string, n int) ([]int64, error) {
	rows, err := tenancy.All[rowID](ctx, s.db, tenant, `
		select nextval($1::regclass) as id
		  from generate_series(1, $2::int)`, table+"_id_seq", n)
	ids := make([]int64, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	return ids, wrap(err, "take %d ids", n)
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
	// Changed are the fields that differ from PlanRow.Was.
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

// ApplyRow is a PlanRow with the version of the plan.
type ApplyRow struct {
	PlanRow
	Version *Version `json:",omitempty"`
}

// Applied is the result of an ApplyRow. If the product has changed since the plan, Outcome is Failed and Err is
// ErrPrecondition. Undo is nil if nothing was written.
type Applied struct {
	Result
	Undo *Undo
}

// Undo is what UndoProducts needs to undo a row.
type Undo struct {
	SKU     string
	ID      int64
	Created bool    `json:",omitzero"`
	Before  Changes `json:",omitzero"` // the old values of the changed fields, apart from the quantity and the images
	Images  []Image `json:",omitzero"` // before, if they changed
	Stock   []Stock `json:",omitzero"` // before, if it changed
	Version Version // after
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
	return planned, wrap(err, "plan %d products", len(rows))
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
	tenancy.QueueRows(b, &stored, `
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

// plan sets what a row would change, and changes the stored rows for the next row of the same product. newID is the
// assumed id of a new product.
func (s *storedRows) plan(p *Planned, row upsertRow, names referenceNames, newID int64) {
	sku, problem := checkSKU(row.SKU.Value)
	stored, exists := s.products[sku]
	if row.id > 0 && stored.ID != row.id {
		p.Result, p.Version = Result{SKU: sku, Outcome: Failed, Err: ErrPrecondition}, nil
		return
	}
	if problem == "" && !exists && row.inPlan {
		assumed := newProduct()
		assumed.ID, assumed.SKU = newID, sku
		s.products[sku] = assumed
	}
	if row.was != nil && !row.inPlan {
		p.Changed, _ = s.differences(sku, row.was)
	}
	if row.change != nil {
		row.Changes = row.change.of(s.products[sku], row.Changes)
	}
	p.Changes = row.Changes
	update, result := s.apply(row)
	if row.byField && result.Outcome == Updated && !row.inPlan {
		p.Version = fieldVersion(update.before, update.after, len(update.stock) > 0)
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
func (s *Store) ApplyProducts(ctx context.Context, by Actor, rows []ApplyRow) ([]Applied, error) {
	u := &upsert{by: by, planned: true, keys: make([]RowKey, len(rows))}
	for i, row := range rows {
		u.keys[i] = RowKey{row.SKU.Value, row.size()}
	}
	u.read = func(ctx context.Context, tx pgx.Tx, indexes []int) ([]upsertRow, error) {
		part := make([]PlanRow, len(indexes))
		for i, index := range indexes {
			part[i] = rows[index].PlanRow
		}
		names, err := readNames(ctx, tx, by.Tenant, part)
		if err != nil {
			return nil, err
		}
		wanted := make([]upsertRow, len(indexes))
		for i, index := range indexes {
			wanted[i] = names.row(part[i], false)
			wanted[i].version = rows[index].Version
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

// UndoProducts deletes the created products and restores the others. Products that have changed since are kept. rows
// are in the order in which they were applied.
func (s *Store) UndoProducts(ctx context.Context, by Actor, rows []Undo) ([]tenancy.Kept, error) {
	rows = slices.Clone(rows)
	slices.Reverse(rows)
	u := &upsert{by: by, planned: true, keys: make([]RowKey, len(rows))}
	ids := make([]int64, len(rows))
	for i, row := range rows {
		u.keys[i], ids[i] = RowKey{row.SKU, row.Before.size()}, row.ID
		for _, image := range row.Images {
			u.keys[i].Size += len(image.URL)
		}
	}
	u.read = func(_ context.Context, _ pgx.Tx, indexes []int) ([]upsertRow, error) {
		wanted := make([]upsertRow, len(indexes))
		for i, index := range indexes {
			row := rows[index]
			wanted[i] = upsertRow{
				Row: Row{Changes: row.Before}, images: row.Images, stock: row.Stock, restores: true,
				deletes: row.Created, id: row.ID, version: &row.Version,
			}
			wanted[i].SKU = Value(row.SKU)
		}
		return wanted, nil
	}
	if err := s.upsert(ctx, u); err != nil {
		return nil, err
	}
	existing, err := tenancy.All[rowID](ctx, s.db, by.Tenant, `
		select id
		  from products
		 where tenant_id = $1 and id = any ($2)`, by.Tenant, ids)
	if err != nil {
		return nil, fmt.Errorf("read %d products: %w", len(ids), err)
	}
	exists := idSet(existing)
	var kept []tenancy.Kept
	for i, result := range u.results {
		row := rows[i]
		if result.Outcome != Failed || row.Created && !exists[row.ID] {
			continue
		}
		k := tenancy.Kept{Key: row.SKU, Reason: "has changed since"}
		changed, isChanged := errors.AsType[ChangedError](result.Err)
		switch {
		case !exists[row.ID]:
			k.Reason = "was deleted since"
		case isChanged:
			k.ID, k.Fields = changed.ID, changed.Fields
		case !errors.Is(result.Err, ErrPrecondition):
			k.Reason = result.Err.Error()
		}
		kept = append(kept, k)
	}
	return kept, nil
}

// content returns a digest of the columns of p that a write sets, apart from the quantity, and of the images.
func (p Product) content() string {
	p.ID, p.Quantity, p.CreatedAt = 0, 0, time.Time{}
	sum := sha256.Sum256(append(records(p), fmt.Sprint(p.Images)...))
	return hex.EncodeToString(sum[:16])
}

// undo returns what undoes the update.
func (u productUpdate) undo(byField bool) *Undo {
	undo := &Undo{SKU: u.after.SKU, ID: u.after.ID, Created: u.created}
	undo.Version = Version{Content: u.after.content(), Quantity: u.after.Quantity}
	if u.created {
		return undo
	}
	if byField {
		undo.Version = *fieldVersion(u.after, u.before, len(u.stock) > 0)
	}
	undo.Before = u.before.fieldsUnlike(u.after)
	if !slices.Equal(u.before.Images, u.after.Images) {
		undo.Images = append([]Image{}, u.before.Images...)
	}
	if len(u.stock) > 0 {
		undo.Stock = append([]Stock{}, u.stockBefore...)
		undo.Version.Stock = stockAfter(u.stockBefore, u.stock)
	}
	return undo
}

// fieldsUnlike returns the fields of p that differ from those of other, apart from the SKU, the quantity and the
// images.
func (p Product) fieldsUnlike(other Product) (c Changes) {
	unlike(&c.Name, p.Name, other.Name)
	unlikeOrNull(&c.Description, p.Description, other.Description)
	unlike(&c.Price, p.Price, other.Price)
	unlikeOrNull(&c.MSRP, p.MSRP, other.MSRP)
	unlikeOrNull(&c.Cost, p.Cost, other.Cost)
	unlike(&c.Status, p.Status, other.Status)
	unlike(&c.Condition, p.Condition, other.Condition)
	unlikeOrNull(&c.ReorderPoint, widen(p.ReorderPoint), widen(other.ReorderPoint))
	unlikeOrNull(&c.CategoryID, p.CategoryID, other.CategoryID)
	unlikeOrNull(&c.SellerID, p.SellerID, other.SellerID)
	unlike(&c.WarehouseID, p.WarehouseID, other.WarehouseID)
	unlikeOrNull(&c.BinLocation, p.BinLocation, other.BinLocation)
	unlikeOrNull(&c.UPC, p.UPC, other.UPC)
	if !slices.Equal(p.Tags, other.Tags) {
		c.Tags = Value(p.Tags)
	}
	return c
}

func unlike[T comparable](f *Field[T], value, other T) {
	if value != other {
		*f = Value(value)
	}
}

func unlikeOrNull[T comparable](f *Field[T], value, other *T) {
	switch {
	case value == nil && other != nil:
		*f = Field[T]{Set: true, Null: true}
	case value != nil && (other == nil || *value != *other):
		*f = Value(*value)
	}
}

func widen(n *int32) *int64 {
	if n == nil {
		return nil
	}
	return new(int64(*n))
}

// referenceNames are the ids and names of the references of a plan.
type referenceNames struct {
	ids              map[Kind]map[string]int64
	names            map[Kind]map[int64]string
	defaultWarehouse int64
}

func (n referenceNames) add(kind Kind, id int64, name string) {
	if n.ids[kind] == nil {
		n.ids[kind], n.names[kind] = map[string]int64{}, map[int64]string{}
	}
	n.ids[kind][name], n.names[kind][id] = id, name
}

// kinds are the kinds of references.
var kinds = [...]Kind{Categories, Sellers, Warehouses}

// readNames reads the references of rows.
func readNames(ctx context.Context, tx pgx.Tx, tenant tenancy.ID, rows []PlanRow) (referenceNames, error) {
	names, ids := map[Kind][]string{}, map[Kind][]int64{}
	want := func(kind Kind, name Field[string], id Field[int64]) {
		if stored, problem := CheckName(name.Value); name.given() && problem == "" {
			names[kind] = append(names[kind], stored)
		}
		if id.given() {
			ids[kind] = append(ids[kind], id.Value)
		}
	}
	for _, row := range rows {
		want(Categories, row.CategoryName, row.CategoryID)
		want(Sellers, row.SellerName, row.SellerID)
		want(Warehouses, row.WarehouseName, row.WarehouseID)
		for _, stock := range row.Stock {
			want(Warehouses, Value(stock.Warehouse), Field[int64]{})
		}
	}
	b := &pgx.Batch{}
	var found [len(kinds)][]Reference
	for i, kind := range kinds {
		sql := selectNamed(kind) + `
		union all
		select ` + kind.columns() + `
		  from ` + string(kind) + `
		 where tenant_id = $1 and id = any ($3)`
		if kind == Warehouses {
			sql += `
		union all
		select ` + kind.columns() + `
		  from warehouses
		 where tenant_id = $1 and is_default`
		}
		tenancy.QueueRows(b, &found[i], sql, tenant, distinct(names[kind]), distinct(ids[kind]))
	}
	n := referenceNames{ids: map[Kind]map[string]int64{}, names: map[Kind]map[int64]string{}}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return n, fmt.Errorf("read names: %w", err)
	}
	for i, kind := range kinds {
		for _, r := range found[i] {
			if n.add(kind, r.ID, r.Name); r.IsDefault {
				n.defaultWarehouse = r.ID
			}
		}
	}
	return n, nil
}

func distinct[T cmp.Ordered](values []T) []T {
	slices.Sort(values)
	return slices.Compact(values)
}

// row returns the row with the ids of its names. If assume is true, an unknown name gets a negative id.
func (n referenceNames) row(row PlanRow, assume bool) upsertRow {
	r := upsertRow{
		Row: Row{Changes: row.Changes, Invalid: row.Invalid.Clone()}, inPlan: row.InPlan, archived: row.Archived,
		id: row.ID, byField: row.ByField, change: row.Change, was: row.Was,
	}
	n.set(&r.CategoryID, Categories, row.CategoryName, "category", r.Invalid, assume)
	n.set(&r.SellerID, Sellers, row.SellerName, "seller", r.Invalid, assume)
	n.set(&r.WarehouseID, Warehouses, row.WarehouseName, "warehouse", r.Invalid, assume)
	total := row.Quantity.Value
	for i, stock := range row.Stock {
		var warehouse Field[int64]
		field := fmt.Sprintf("stock[%d].", i)
		n.set(&warehouse, Warehouses, Value(stock.Warehouse), field+"warehouse", r.Invalid, assume)
		quantity, problem := checkQuantity(stock.Quantity)
		if problem != "" {
			r.Invalid.Add(field+"quantity", "%s", problem)
		}
		if slices.ContainsFunc(r.stock, func(s Stock) bool { return s.WarehouseID == warehouse.Value }) {
			r.Invalid.Add(field+"warehouse_name", "is a duplicate")
		}
		if total += int64(quantity); total > MaxQuantity {
			r.Invalid.Add(field+"quantity", "must not take the product's stock above 2147483647")
		}
		r.stock = append(r.stock, Stock{warehouse.Value, quantity})
	}
	return r
}

// set sets the id of a name.
func (n referenceNames) set(
	id *Field[int64], kind Kind, name Field[string], field string, invalid tenancy.InvalidError, assume bool,
) {
	switch stored, problem := CheckName(name.Value); {
	case !name.Set:
	case id.Set:
		invalid.Add(field+"_name", "must not be combined with %s_id", field)
	case name.Null:
		*id = Field[int64]{Set: true, Null: true}
	case problem != "":
		invalid.Add(field+"_name", "%s", problem)
	case n.ids[kind][stored] != 0:
		*id = Value(n.ids[kind][stored])
	case assume:
		assumed := -int64(len(n.names[kind]) + 1)
		n.add(kind, assumed, stored)
		*id = Value(assumed)
	default:
		invalid.Add(field+"_name", idNotExists)
	}
}

// addTo adds the names of stored products to n, and the assumed references to the stored rows.
func (n referenceNames) addTo(s *storedRows) {
	for kind, existing := range map[Kind]map[int64]bool{
		Categories: s.categories, Sellers: s.sellers, Warehouses: s.warehouses,
	} {
		for id := range n.names[kind] {
			existing[id] = existing[id] || id < 0
		}
	}
	for _, p := range s.products {
		if p.CategoryID != nil {
			n.add(Categories, *p.CategoryID, *p.CategoryName)
		}
		if p.SellerID != nil {
			n.add(Sellers, *p.SellerID, *p.SellerName)
		}
		n.add(Warehouses, p.WarehouseID, p.WarehouseName)
	}
}

// field returns the value of a column, with the name of a reference instead of its id.
func (n referenceNames) field(column string, value any) any {
	kind := map[string]Kind{"category_id": Categories, "seller_id": Sellers, "warehouse_id": Warehouses}[column]
	switch v := value.(type) {
	case int64: // not nullable: price or warehouse_id
		if kind == Warehouses {
			return n.names[kind][v]
		}
		return money.Cents(v)
	case *int64:
		if v == nil {
			return nil
		}
		if kind != "" {
			return n.names[kind][*v]
		}
		return money.Cents(*v)
	case *string:
		if v != nil {
			return *v
		}
		return nil
	case *int32:
		if v != nil {
			return *v
		}
		return nil
	}
	return value
}

// PlannedReference is a name of a plan: Created, Unchanged, or Failed with an InvalidError (name).
type PlannedReference struct {
	Name    string
	ID      int64 // 0 if it does not exist
	Outcome Outcome
	Err     error
}

// PlanReferences returns which names ApplyReferences would add. It writes nothing. A name that occurs again is
// Unchanged.
func (s *Store) PlanReferences(
	ctx context.Context, tenant tenancy.ID, kind Kind, names []string,
) ([]PlannedReference, error) {
	planned := make([]PlannedReference, len(names))
	var valid []string
	for i, name := range names {
		stored, problem := CheckName(name)
		if problem != "" {
			planned[i] = PlannedReference{name, 0, Failed, tenancy.InvalidError{"name": {problem}}}
			continue
		}
		planned[i].Name = stored
		valid = append(valid, stored)
	}
	existing, err := tenancy.All[Reference](ctx, s.db, tenant, selectNamed(kind), tenant, distinct(valid))
	if err != nil {
		return nil, fmt.Errorf("plan %s: %w", kind, err)
	}
	ids := map[string]int64{}
	for _, r := range existing {
		ids[r.Name] = r.ID
	}
	for i := range planned {
		p := &planned[i]
		if p.Outcome == Failed {
			continue
		}
		id, exists := ids[p.Name]
		if p.ID, p.Outcome = id, Unchanged; !exists {
			p.Outcome, ids[p.Name] = Created, 0
		}
	}
	return planned, nil
}

// ReferenceUndo is a reference that ApplyReferences added.
type ReferenceUndo struct {
	ID   int64
	Name string
}

// ApplyReferences adds the names that do not exist, and returns those that it added. newIDs has ids from NewIDs for
// some names.
func (s *Store) ApplyReferences(
	ctx context.Context, tenant tenancy.ID, kind Kind, names []string, newIDs map[string]int64,
) ([]ReferenceUndo, error) {
	ids, inserted, err := s.ensureReferences(ctx, tenant, kind, names, newIDs)
	added := []ReferenceUndo{}
	for name, id := range ids {
		if inserted[id] {
			added = append(added, ReferenceUndo{id, name})
		}
	}
	slices.SortFunc(added, func(a, b ReferenceUndo) int { return cmp.Compare(a.ID, b.ID) })
	return added, err
}

// UndoReferences deletes references, except those that are in use or were renamed.
func (s *Store) UndoReferences(
	ctx context.Context, tenant tenancy.ID, kind Kind, rows []ReferenceUndo,
) ([]tenancy.Kept, error) {
	var kept []tenancy.Kept
	for _, row := range rows {
		r, err := s.Reference(ctx, tenant, kind, row.ID)
		reason := "has changed since"
		if err == nil && r.Name == row.Name {
			err, reason = s.DeleteReference(ctx, tenant, kind, row.ID), ""
		}
		if inUse, ok := errors.AsType[tenancy.InUseError](err); ok {
			err, reason = nil, inUse.Error()
		}
		if err != nil && !errors.Is(err, tenancy.ErrNotFound) {
			return nil, err
		}
		if err == nil && reason != "" {
			kept = append(kept, tenancy.Kept{Key: row.Name, Reason: reason})
		}
	}
	return kept, nil
}

// IsZero reports whether the field is missing, for JSON.
func (f Field[T]) IsZero() bool { return !f.Set }

// MarshalJSON writes null or the value.
func (f Field[T]) MarshalJSON() ([]byte, error) { return json.Marshal(orNull(f)) }

// UnmarshalJSON sets the field.
func (f *Field[T]) UnmarshalJSON(text []byte) error {
	*f = Field[T]{Set: true, Null: string(text) == "null"}
	return json.Unmarshal(text, &f.Value)
}
