package csvimport

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

var (
	referenceColumns = columns{[]string{"id", "name"}, 2, ""}
	// A file that only has prices is a file too: what else a new product needs is
	// asked of its row.
	productColumns = columns{[]string{
		"sku", "name", "description", "price", "msrp", "cost", "status", "condition", "quantity", "reorder_point",
		"category", "seller", "warehouse", "category_name", "seller_name", "warehouse_name", "bin_location", "upc", "tags",
	}, 1, "sku"}
)

// references loads a file of categories, sellers or warehouses and keeps which id
// of the file stands for which of the catalog.
func (r *run) references(ctx context.Context, kind catalog.Kind) error {
	ids := map[string]int64{}
	r.ids[kind] = ids
	return r.each(ctx, string(kind), referenceColumns, func(ctx context.Context, rows []row) error {
		named := map[string]string{} // id of the file to stored name
		var names []string
		for _, w := range rows {
			id, name, faults := referenceRow(w, ids, named)
			if len(faults) > 0 {
				r.refuse(w, faults)
				continue
			}
			named[id], names = name, append(names, name)
		}
		stored, added, err := r.catalog.EnsureReferences(ctx, r.tenant, kind, names)
		if err != nil {
			return err
		}
		for id, name := range named {
			ids[id] = stored[name]
		}
		r.count().Created += added
		r.count().Unchanged += len(names) - added
		return nil
	})
}

// referenceRow reads one row and checks it against the ids seen before.
func referenceRow(w row, ids map[string]int64, named map[string]string) (id, name string, faults tenancy.InvalidError) {
	faults = tenancy.InvalidError{}
	id = strings.TrimSpace(w.cells["id"])
	_, earlier := ids[id]
	_, before := named[id]
	switch {
	case id == "":
		faults.Add("id", "is required")
	case earlier || before:
		faults.Add("id", "%q stands twice", id)
	}
	name, fault := catalog.CheckName(unguard(w.cells["name"]))
	if fault != "" {
		faults.Add("name", "%s", fault)
	}
	return id, name, faults
}

// loadProducts upserts one batch.
func (r *run) loadProducts(ctx context.Context, rows []row) error {
	if err := r.ensureNamed(ctx, rows); err != nil {
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
		switch result.Outcome {
		case catalog.Created:
			r.count().Created++
		case catalog.Updated:
			r.count().Updated++
		case catalog.Unchanged:
			r.count().Unchanged++
		default:
			r.refuse(rows[i], faultsOf(result.Err))
		}
	}
	return nil
}

// product reads the cells of a row. A cell that says nothing is a field not set.
func (r *run) product(w row) catalog.Row {
	faults := tenancy.InvalidError{}
	return catalog.Row{Invalid: faults, Changes: catalog.Changes{
		SKU:          text(w, "sku"),
		Name:         text(w, "name"),
		Description:  text(w, "description"),
		Price:        amount(w, "price", faults),
		MSRP:         amount(w, "msrp", faults),
		Cost:         amount(w, "cost", faults),
		Status:       text(w, "status"),
		Condition:    text(w, "condition"),
		Quantity:     pieces(w, "quantity", faults),
		ReorderPoint: pieces(w, "reorder_point", faults),
		CategoryID:   r.reference(w, "category", catalog.Categories, faults),
		SellerID:     r.reference(w, "seller", catalog.Sellers, faults),
		WarehouseID:  r.reference(w, "warehouse", catalog.Warehouses, faults),
		BinLocation:  text(w, "bin_location"),
		UPC:          text(w, "upc"),
		Tags:         tags(w),
	}}
}

func text(w row, column string) catalog.Field[string] {
	cell, there := w.cells[column]
	if !there {
		return catalog.Field[string]{}
	}
	return catalog.Value(unguard(cell))
}

func amount(w row, column string, faults tenancy.InvalidError) catalog.Field[money.Cents] {
	cell, there := w.cells[column]
	if !there {
		return catalog.Field[money.Cents]{}
	}
	cents, err := money.Parse(strings.TrimSpace(cell))
	if err != nil {
		faults.Add(column, "%v", err)
	}
	return catalog.Value(cents)
}

func pieces(w row, column string, faults tenancy.InvalidError) catalog.Field[int64] {
	cell, there := w.cells[column]
	if !there {
		return catalog.Field[int64]{}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(cell), 10, 64)
	if err != nil {
		faults.Add(column, "must be a whole number between 0 and %d", catalog.MaxQuantity)
		n = 0 // out of range it would be named twice
	}
	return catalog.Value(n)
}

// nameColumns name what a product refers to where its id of the file does not.
var nameColumns = map[catalog.Kind]string{
	catalog.Categories: "category_name", catalog.Sellers: "seller_name", catalog.Warehouses: "warehouse_name",
}

// ensureNamed finds or adds what the rows refer to by name.
func (r *run) ensureNamed(ctx context.Context, rows []row) error {
	for kind, column := range nameColumns {
		var names []string
		for _, w := range rows {
			if name, fault := catalog.CheckName(unguard(w.cells[column])); fault == "" {
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
		r.named[kind] = stored
	}
	return nil
}

func (r *run) reference(w row, column string, kind catalog.Kind, faults tenancy.InvalidError) catalog.Field[int64] {
	cell, there := w.cells[column]
	if given, byName := w.cells[nameColumns[kind]]; byName {
		name, fault := catalog.CheckName(unguard(given))
		switch {
		case fault != "":
			faults.Add(nameColumns[kind], "%s", fault)
		case there:
			faults.Add(column, "must not be given together with %s", nameColumns[kind])
		}
		return catalog.Value(r.named[kind][name])
	}
	if !there {
		return catalog.Field[int64]{}
	}
	id, known := r.ids[kind][strings.TrimSpace(cell)]
	if !known {
		faults.Add(column, "%q is not an id that %s.csv gave", cell, kind)
		return catalog.Field[int64]{}
	}
	return catalog.Value(id)
}

func tags(w row) catalog.Field[[]string] {
	cell, there := w.cells["tags"]
	if !there {
		return catalog.Field[[]string]{}
	}
	return catalog.Value(splitTags(unguard(cell)))
}

// splitTags cuts at each ; that no backslash escapes.
func splitTags(cell string) []string {
	var tags []string
	var tag strings.Builder
	cut := func() {
		if tag.Len() > 0 {
			tags = append(tags, tag.String())
		}
		tag.Reset()
	}
	escaped := false
	for _, c := range cell {
		switch {
		case c == ';' && !escaped:
			cut()
		case c == '\\' && !escaped:
			escaped = true
			continue
		case escaped && c != ';' && c != '\\':
			tag.WriteRune('\\') // it escaped nothing
			tag.WriteRune(c)
		default:
			tag.WriteRune(c)
		}
		escaped = false
	}
	if escaped {
		tag.WriteRune('\\')
	}
	cut()
	return tags
}

// faultsOf names the faults of a row by the columns of the file.
func faultsOf(err error) tenancy.InvalidError {
	if errors.Is(err, catalog.ErrInsufficientStock) {
		return tenancy.InvalidError{"quantity": {"would take the stock of the product's own warehouse below zero"}}
	}
	faults := tenancy.InvalidError{}
	invalid, ok := errors.AsType[tenancy.InvalidError](err)
	if !ok {
		faults.Add("", "%v", err)
	}
	for field, messages := range invalid {
		for _, message := range messages {
			faults.Add(strings.TrimSuffix(field, "_id"), "%s", message)
		}
	}
	return faults
}
