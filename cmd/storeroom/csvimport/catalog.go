package csvimport

import (
	"context"
	"errors"
	"strings"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/csvcell"
)

var (
	referenceColumns = columns{[]string{"id", "name"}, 2, ""}
	// A file may have a few columns only, such as prices. New products need more, and
	// their rows are refused.
	productColumns = columns{[]string{
		"sku", "name", "description", "price", "msrp", "cost", "status", "condition", "quantity", "reorder_point",
		"category", "seller", "warehouse", "category_name", "seller_name", "warehouse_name", "bin_location", "upc", "tags",
	}, 1, "sku"}
)

func (r *run) loadReferences(ctx context.Context) error {
	for _, kind := range []catalog.Kind{catalog.Categories, catalog.Sellers, catalog.Warehouses} {
		if err := r.loadReferencesOf(ctx, kind); err != nil {
			return err
		}
	}
	return nil
}

// loadReferencesOf loads categories, sellers or warehouses, and records which id of the
// file belongs to which stored id.
func (r *run) loadReferencesOf(ctx context.Context, kind catalog.Kind) error {
	ids := map[string]int64{}
	r.idByFileID[kind] = ids
	return r.eachBatch(ctx, string(kind), referenceColumns, func(ctx context.Context, rows []row) error {
		nameByFileID := map[string]string{}
		var names []string
		for _, w := range rows {
			id, name := strings.TrimSpace(w.cells["id"]), checkName(w, "name")
			_, stored := ids[id]
			_, inBatch := nameByFileID[id]
			switch {
			case id == "":
				w.require("id")
			case stored || inBatch:
				w.invalid.Add("id", "%q is a duplicate", id)
			}
			if len(w.invalid) > 0 {
				r.refuse(w)
				continue
			}
			nameByFileID[id], names = name, append(names, name)
		}
		stored, created, err := r.catalog.EnsureReferences(ctx, r.tenant, kind, names)
		if err != nil {
			return err
		}
		for id, name := range nameByFileID {
			ids[id] = stored[name]
		}
		r.count().Created += created
		r.count().Unchanged += len(names) - created
		return nil
	})
}

// checkName returns the trimmed name of a reference, and adds an error to an invalid row.
func checkName(w row, column string) string {
	name, problem := catalog.CheckName(csvcell.Unguard(w.cells[column]))
	if problem != "" {
		w.invalid.Add(column, "%s", problem)
	}
	return name
}

func (r *run) loadProducts(ctx context.Context) error {
	return r.eachBatch(ctx, "products", productColumns, func(ctx context.Context, rows []row) error {
		if err := r.ensureNamedReferences(ctx, rows); err != nil {
			return err
		}
		products := make([]catalog.Row, len(rows))
		for i, w := range rows {
			products[i] = r.product(w)
		}
		results, err := r.catalog.Upsert(ctx, catalog.Actor{Tenant: r.tenant}, products)
		if err != nil {
			return err
		}
		for i, result := range results {
			if !r.count().add(string(result.Outcome), 1) {
				r.refuse(rows[i].with(productErrors(result.Err)))
			}
		}
		return nil
	})
}

func (r *run) product(w row) catalog.Row {
	quantity := parseInteger(0, catalog.MaxQuantity)
	return catalog.Row{Invalid: w.invalid, Changes: catalog.Changes{
		SKU:          field(w, "sku", parseText),
		Name:         field(w, "name", parseText),
		Description:  field(w, "description", parseText),
		Price:        field(w, "price", parseMoney),
		MSRP:         field(w, "msrp", parseMoney),
		Cost:         field(w, "cost", parseMoney),
		Status:       field(w, "status", parseText),
		Condition:    field(w, "condition", parseText),
		Quantity:     field(w, "quantity", quantity),
		ReorderPoint: field(w, "reorder_point", quantity),
		CategoryID:   r.reference(w, "category", catalog.Categories),
		SellerID:     r.reference(w, "seller", catalog.Sellers),
		WarehouseID:  r.reference(w, "warehouse", catalog.Warehouses),
		BinLocation:  field(w, "bin_location", parseText),
		UPC:          field(w, "upc", parseText),
		Tags:         field(w, "tags", parseTags),
	}}
}

// nameColumns are the columns with the names of references.
var nameColumns = map[catalog.Kind]string{
	catalog.Categories: "category_name", catalog.Sellers: "seller_name", catalog.Warehouses: "warehouse_name",
}

// ensureNamedReferences finds or creates the references in the name columns.
func (r *run) ensureNamedReferences(ctx context.Context, rows []row) error {
	for kind, column := range nameColumns {
		var names []string
		for _, w := range rows {
			if name, problem := catalog.CheckName(csvcell.Unguard(w.cells[column])); problem == "" {
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			continue
		}
		stored, _, err := r.catalog.EnsureReferences(ctx, r.tenant, kind, names)
		if err != nil {
			return err
		}
		r.idByName[kind] = stored
	}
	return nil
}

// reference returns the id of a reference by its name, or by the id of its file.
func (r *run) reference(w row, column string, kind catalog.Kind) catalog.Field[int64] {
	fileID, hasID := w.cells[column]
	if _, hasName := w.cells[nameColumns[kind]]; hasName {
		name := checkName(w, nameColumns[kind])
		if hasID && len(w.invalid[nameColumns[kind]]) == 0 {
			w.invalid.Add(column, "must not be combined with %s", nameColumns[kind])
		}
		return catalog.Value(r.idByName[kind][name])
	}
	if !hasID {
		return catalog.Field[int64]{}
	}
	id, exists := r.idByFileID[kind][strings.TrimSpace(fileID)]
	if !exists {
		w.invalid.Add(column, "%q is not an id in %s.csv", fileID, kind)
		return catalog.Field[int64]{}
	}
	return catalog.Value(id)
}

// productErrors returns the errors of a product by column: "category" for "category_id".
func productErrors(err error) tenancy.InvalidError {
	if errors.Is(err, catalog.ErrInsufficientStock) {
		return tenancy.InvalidError{"quantity": {"would take the stock of the product's own warehouse below zero"}}
	}
	invalid, ok := errors.AsType[tenancy.InvalidError](err)
	if !ok {
		return tenancy.InvalidError{"": {err.Error()}}
	}
	byColumn := tenancy.InvalidError{}
	for field, messages := range invalid {
		column := strings.TrimSuffix(field, "_id")
		byColumn[column] = append(byColumn[column], messages...)
	}
	return byColumn
}
