package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/money"
)

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
	existing, err := db.All[Reference](ctx, s.db, tenant, selectNamed(kind), tenant, db.Distinct(valid))
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
		db.QueueRows(b, &found[i], sql, tenant, db.Distinct(names[kind]), db.Distinct(ids[kind]))
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

// row returns the row with the ids of its names. If assume is true, an unknown name gets a negative id.
func (n referenceNames) row(row PlanRow, assume bool) upsertRow {
	r := upsertRow{
		Row: Row{Changes: row.Changes, Invalid: row.Invalid.Clone()}, inPlan: row.InPlan, archived: row.Archived,
		id: row.ID, byField: row.ByField, change: row.Change, version: row.Version,
		seen: row.Seen,
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
