package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

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
	existing, err := db.All[rowID](ctx, s.db, by.Tenant, `
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
