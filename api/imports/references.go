package imports

import (
	"context"
	"errors"
	"fmt"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
)

// references are the rows of categories, sellers or warehouses.
type references struct {
	catalog *catalog.Store
	kind    catalog.Kind
}

func (k references) plan(ctx context.Context, p *part) error {
	names := column(p.rows, func(r *Record) string { return r.Name })
	results, err := k.catalog.PlanReferences(ctx, p.tenant, k.kind, names)
	if err != nil {
		return err
	}
	var renamed *rename
	for i, result := range results {
		row := p.rows[i]
		row.Name, row.storedID = result.Name, result.ID
		row.set(string(result.Outcome), result.Err)
		if renamed != nil && row.Name == renamed.Old && row.Action == changeplan.Unchanged {
			row.Action, row.storedID = changeplan.Created, 0 // the only warehouse with the name gets another one
		}
		if row.IsDefault && row.Action == changeplan.Created {
			if err := k.planDefault(ctx, p.tenant, row); err != nil {
				return err
			}
			renamed = row.Renames
		}
	}
	return nil
}

// rename is a change of the name of the default warehouse.
type rename struct {
	ID       int64
	Old, New string
}

// planDefault renames the tenant's default warehouse like that of the archive, unless it is in use.
func (k references) planDefault(ctx context.Context, tenant tenancy.ID, row *Record) error {
	warehouse, used, err := k.catalog.DefaultWarehouse(ctx, tenant)
	if err != nil || used {
		return err
	}
	row.Action, row.Renames = changeplan.Updated, &rename{warehouse.ID, warehouse.Name, row.Name}
	row.Old, row.New = changed("name", &warehouse.Name, &row.Name)
	return nil
}

func (k references) apply(ctx context.Context, p *part) (err error) {
	var names []string
	ids := map[string]int64{}
	for _, row := range p.rows {
		if row.Renames != nil {
			if err := k.applyRename(ctx, p, row); err != nil {
				return err
			}
			continue
		}
		names = append(names, row.Name)
		if row.NewID > 0 {
			ids[row.Name] = row.NewID
		}
	}
	p.result.References, err = k.catalog.ApplyReferences(ctx, p.tenant, k.kind, names, ids)
	added := map[string]bool{}
	for _, r := range p.result.References {
		added[r.Name] = true
	}
	for _, row := range p.rows {
		if !added[row.Name] && row.Renames == nil {
			row.Action = changeplan.Unchanged // another user has added it
		}
	}
	return err
}

func (k references) applyRename(ctx context.Context, p *part, row *Record) error {
	warehouse, used, err := k.catalog.DefaultWarehouse(ctx, p.tenant)
	switch {
	case err != nil:
		return err
	case used || warehouse.ID != row.Renames.ID || warehouse.Name != row.Renames.Old:
		row.set("", catalog.ErrPrecondition)
		return nil
	}
	_, err = k.catalog.RenameReference(ctx, p.tenant, k.kind, warehouse.ID, catalog.Value(row.Renames.New), nil)
	p.result.Renamed = row.Renames
	return err
}

func (k references) undo(ctx context.Context, p *part) ([]tenancy.Kept, error) {
	kept, err := k.catalog.UndoReferences(ctx, p.tenant, k.kind, p.result.References)
	renamed := p.result.Renamed
	if err != nil || renamed == nil {
		return kept, err
	}
	warehouse, _, err := k.catalog.DefaultWarehouse(ctx, p.tenant)
	switch {
	case err != nil:
		return nil, err
	case warehouse.ID != renamed.ID || warehouse.Name != renamed.New:
		return append(kept, tenancy.Kept{Key: renamed.New, Reason: "has changed since"}), nil
	}
	_, err = k.catalog.RenameReference(ctx, p.tenant, k.kind, warehouse.ID, catalog.Value(renamed.Old), nil)
	if _, taken := errors.AsType[tenancy.InvalidError](err); taken {
		reason := fmt.Sprintf("another warehouse has the name %q", renamed.Old)
		return append(kept, tenancy.Kept{Key: renamed.New, Reason: reason}), nil
	}
	return kept, err
}
