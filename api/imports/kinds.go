package imports

import (
	"context"
	"fmt"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/db"
)

// Kinds returns the kinds of change plans: imports with their pictures, changes, and erasures of customers.
func Kinds(db *db.DB, p Pictures) map[string]changeplan.Kind {
	changes := changesImporter{NewImporter(db, Pictures{})}
	changes.maxRows = maxChangeRows
	return map[string]changeplan.Kind{
		PlanKind: NewImporter(db, p), ChangesKind: changes, EraseKind: erasure{NewImporter(db, Pictures{}), eraseTurn},
	}
}

// The kinds of rows. Records of references, products, stock, channels and customers come in this sequence. Orders
// follow, each with its refunds and its cancellation after it or at the end of all.
const (
	Category     Kind = "category"
	Seller       Kind = "seller"
	Warehouse    Kind = "warehouse"
	Product      Kind = "product"
	Stock        Kind = "stock" // a Product with SKU and Stock only
	Channel      Kind = "channel"
	Customer     Kind = "customer"
	Order        Kind = "order"
	Refund       Kind = "refund"
	Cancellation Kind = "cancellation"
)

// sequence has the kinds in the order in which their records are read and their parts are applied.
var sequence = []Kind{
	Category, Seller, Warehouse, Product, Stock, Channel, Customer, Order, Refund, Cancellation,
}

func isSale(k Kind) bool { return k == Order || k == Refund || k == Cancellation }

// referenceKinds are the kinds of references in the catalog.
var referenceKinds = map[Kind]catalog.Kind{
	Category: catalog.Categories, Seller: catalog.Sellers, Warehouse: catalog.Warehouses,
}

// rowKind plans, applies and undoes the rows of one kind.
type rowKind interface {
	// plan sets what each row would change, and writes nothing.
	plan(ctx context.Context, p *part) error
	// apply writes the rows that have not changed since the plan. It sets their actions to what happened, and the result
	// to what an undo needs.
	apply(ctx context.Context, p *part) error
	// undo undoes a result, and returns the rows that are kept, because something else has changed them since.
	undo(ctx context.Context, p *part) ([]tenancy.Kept, error)
}

// part is a part of a plan while it is planned, applied or undone.
type part struct {
	tenant tenancy.ID
	rows   []*Record    // that can be planned, or that write something; nil in an undo
	plan   sales.PlanID // 0 while it is computed
	result partResult
}

// column returns a value of each row.
func column[T any](rows []*Record, value func(*Record) T) []T {
	values := make([]T, len(rows))
	for i, row := range rows {
		values[i] = value(row)
	}
	return values
}

// applyChanges writes the changes of rows, and returns those that were written. The other rows have changed since the
// plan.
func applyChanges[C any](rows []*Record, change func(*Record) C, write func([]C) ([]bool, error)) ([]C, error) {
	changes := column(rows, change)
	isWritten, err := write(changes)
	if err != nil {
		return nil, err
	}
	var written []C
	for i, row := range rows {
		if isWritten[i] {
			written = append(written, changes[i])
		} else {
			row.set("", catalog.ErrPrecondition)
		}
	}
	return written, nil
}

// rowKinds returns all kinds of rows.
func (m *Importer) rowKinds() map[Kind]rowKind {
	kinds := map[Kind]rowKind{
		Product: products{m.catalog}, Stock: products{m.catalog},
		Channel: channels{m.sales}, Customer: customers{m.sales},
		Order: orders{facts{m.sales}}, Refund: refunds{facts{m.sales}}, Cancellation: cancellations{facts{m.sales}},
	}
	for name, of := range referenceKinds {
		kinds[name] = references{m.catalog, of}
	}
	return kinds
}

func (m *Importer) kind(name Kind) (rowKind, error) {
	kind := m.kinds[name]
	if kind == nil {
		return nil, fmt.Errorf("unknown kind of row %q", name)
	}
	return kind, nil
}
