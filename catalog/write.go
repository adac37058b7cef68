package catalog

import (
	"context"
	"errors"
	"reflect"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// Product returns a product. It returns ErrNotFound.
func (s *Store) Product(ctx context.Context, tenant tenancy.ID, id int64) (Product, error) {
	p, err := db.One[Product](ctx, s.db, tenant, selectByID, tenant, id)
	s.hide(&p)
	return p, tenancy.Wrap(err, "product %d", id)
}

// ProductsByID returns the products that exist, in the order of ids.
func (s *Store) ProductsByID(ctx context.Context, tenant tenancy.ID, ids []int64) ([]Product, error) {
	products, err := db.All[Product](ctx, s.db, tenant, productsOf("$2::bigint[]", ""), tenant, ids)
	return s.hideAll(products), tenancy.Wrap(err, "read %d products", len(ids))
}

// ProductBySKU returns the product with this SKU. It returns ErrNotFound.
func (s *Store) ProductBySKU(ctx context.Context, tenant tenancy.ID, sku string) (Product, error) {
	p, err := db.One[Product](ctx, s.db, tenant, selectBySKU, tenant, sku)
	s.hide(&p)
	return p, tenancy.Wrap(err, "product with SKU %q", sku)
}

// Scanned returns the products with the SKU code, or with the barcode code. Scanners read a barcode with or without zeros
// in front, so these make no difference.
func (s *Store) Scanned(ctx context.Context, tenant tenancy.ID, code string) ([]Product, error) {
	var found []Product
	if p, err := s.ProductBySKU(ctx, tenant, code); err == nil {
		found = append(found, p)
	} else if !errors.Is(err, tenancy.ErrNotFound) {
		return nil, err
	}
	digits := strings.TrimLeft(code, "0")
	if digits == "" || len(digits) > maxUPC || strings.Trim(digits, "0123456789") != "" {
		return found, nil
	}
	// All barcodes with these digits end in the shortest one.
	shortest := strings.Repeat("0", max(0, minUPC-len(digits))) + digits
	err := s.Walk(ctx, tenant, Filter{Search: shortest, Order: paging.Order{By: "name"}}, func(p Product) error {
		isKnown := len(found) > 0 && found[0].ID == p.ID
		if !isKnown && p.UPC != nil && strings.TrimLeft(*p.UPC, "0") == digits {
			found = append(found, p)
		}
		return nil
	})
	return found, tenancy.Wrap(err, "read the products with the barcode %s", code)
}

// Create adds a product. It returns an InvalidError with the errors of all fields: those
// in invalid, which the caller found while it read the request, and those that need the
// database, such as a SKU that is already taken.
func (s *Store) Create(ctx context.Context, by Actor, c Changes, invalid tenancy.InvalidError) (Product, error) {
	p := newProduct()
	invalid = invalid.Clone()
	s.checkHidden(c, invalid)
	c.requireAll(invalid)
	c.apply(&p, invalid)
	if c.WarehouseID.given() && c.WarehouseID.Value == 0 { // the statement takes 0 for the default warehouse
		invalid.Add("warehouse_id", idNotExists)
	}
	if len(invalid) > 0 {
		return p, s.addLookupErrors(ctx, by.Tenant, c, invalid)
	}
	p.Quantity = int32(c.Quantity.Value)
	var created []Product
	err := s.db.Run(ctx, by.Tenant, func(b *pgx.Batch) {
		db.QueueRows(b, &created, insertProduct+selectProducts+"\n  from p", p.arguments(by.Tenant, by.KeyID)...)
		queueTexts(b, by.Tenant, p)
	})
	if invalid := constraintError(err); invalid != nil {
		return p, s.addLookupErrors(ctx, by.Tenant, c, invalid)
	}
	if err != nil {
		return p, tenancy.Wrap(err, "create product %q", p.SKU)
	}
	s.hideAll(created)
	return created[0], nil
}

// Precondition checks a product after it is locked and before it is changed. Its error,
// usually ErrPrecondition, ends the change. A nil Precondition accepts every product.
type Precondition func(Product) error

// Replace sets every writable field, missing ones to their defaults. Images do not
// change. It returns ErrNotFound, ErrInsufficientStock, an InvalidError or the error of
// precondition.
func (s *Store) Replace(
	ctx context.Context, by Actor, id int64, precondition Precondition, c Changes, invalid tenancy.InvalidError,
) (Product, error) {
	invalid = invalid.Clone()
	c.requireAll(invalid)
	if !c.Quantity.Set {
		c.Quantity = Value(int64(0))
	}
	return s.change(ctx, by, id, precondition, c, invalid, func(l *lockedProduct) Product {
		p := l.withDefaults()
		if s.hidesCost {
			p.Cost = l.Cost
		}
		return p
	})
}

// Patch sets the fields that are set in c. It returns ErrNotFound, ErrInsufficientStock,
// an InvalidError or the error of precondition.
func (s *Store) Patch(
	ctx context.Context, by Actor, id int64, precondition Precondition, c Changes, invalid tenancy.InvalidError,
) (Product, error) {
	return s.change(ctx, by, id, precondition, c, invalid, func(l *lockedProduct) Product { return l.Product })
}

// change applies c to the product that base returns.
func (s *Store) change(
	ctx context.Context, by Actor, id int64, precondition Precondition, c Changes, invalid tenancy.InvalidError,
	base func(*lockedProduct) Product,
) (Product, error) {
	var locked lockedProduct
	var result []Product
	invalid = invalid.Clone()
	s.checkHidden(c, invalid)
	err := s.db.Update(ctx, by.Tenant, func(b *pgx.Batch) {
		locked.queue(b, by.Tenant, id)
		if c.Quantity.Set || c.WarehouseID.Set {
			locked.queueStock(b, by.Tenant, id)
		}
		if c.SKU.Set || c.CategoryID.given() || c.SellerID.given() || c.WarehouseID.given() {
			locked.lookups.queue(b, by.Tenant, id, c)
		}
	}, func(b *pgx.Batch) error {
		if err := locked.check(precondition); err != nil {
			return err
		}
		before, after, invalid := locked.Product, base(&locked), invalid.Clone()
		c.apply(&after, invalid)
		locked.lookups.check(c, invalid)
		if err := invalid.Err(); err != nil {
			return err
		}
		changes, err := planStock(before, &after, locked.stock, c.Quantity)
		if err != nil {
			return err
		}
		if result = []Product{before}; !reflect.DeepEqual(before, after) {
			types, fields := changedFields(&before, &after)
			db.QueueRows(b, &result, updateAndSelect, append(after.arguments(by.Tenant, id), types, fields)...)
			if changesText(&before, &after) {
				queueTexts(b, by.Tenant, after)
			}
			queueStockAndLedger(b, by, changes)
		}
		return nil
	})
	if invalid := constraintError(err); invalid != nil {
		err = invalid
	}
	if err != nil {
		return Product{}, tenancy.Wrap(err, "change product %d", id)
	}
	s.hideAll(result)
	return result[0], nil
}

// Delete deletes a product and adds the removal of its stock to the ledger. It returns
// ErrNotFound or the error of precondition.
func (s *Store) Delete(ctx context.Context, by Actor, id int64, precondition Precondition) error {
	var locked lockedProduct
	err := s.db.Update(ctx, by.Tenant, func(b *pgx.Batch) {
		locked.queue(b, by.Tenant, id)
		locked.queueStock(b, by.Tenant, id)
	}, func(b *pgx.Batch) error {
		if err := locked.check(precondition); err != nil {
			return err
		}
		if changes := removeAll(id, locked.stock); len(changes) > 0 {
			queueLedger(b, by, changes)
		}
		b.Queue(`delete from products where tenant_id = $1 and id = $2`, by.Tenant, id)
		return nil
	})
	return tenancy.Wrap(err, "delete product %d", id)
}

// lockedProduct is a product with the data that a change of it needs. The product is
// locked until the end of the transaction.
type lockedProduct struct {
	Product
	locked  []rowID
	read    []Product
	stock   []Stock
	lookups lookups
}

// queue locks a product and reads it. The lock is a separate query: later queries see the rows that other transactions
// committed while it waited. A product that another transaction inserts between the two queries is not locked, and
// counts as missing.
func (l *lockedProduct) queue(b *pgx.Batch, tenant tenancy.ID, id int64) {
	db.QueueRows(b, &l.locked, `select id from products where tenant_id = $1 and id = $2 for update`, tenant, id)
	db.QueueRows(b, &l.read, selectByID, tenant, id)
}

// queueStock reads the stock of a product after queue.
func (l *lockedProduct) queueStock(b *pgx.Batch, tenant tenancy.ID, id int64) {
	db.QueueRows(b, &l.stock, `
		select warehouse_id, quantity
		  from stock
		 where tenant_id = $1 and product_id = $2
		 order by warehouse_id`, tenant, id)
}

// check sets the product, or returns why it must not be changed.
func (l *lockedProduct) check(precondition Precondition) error {
	if len(l.locked) == 0 || len(l.read) == 0 {
		return tenancy.ErrNotFound
	}
	l.Product = l.read[0]
	if precondition == nil {
		return nil
	}
	return precondition(l.Product)
}

// withDefaults returns the product with the default of every writable field but the
// quantity. The names are not written, so they need not match the ids.
func (l *lockedProduct) withDefaults() Product {
	p := newProduct()
	p.ID, p.Images, p.CreatedAt, p.UpdatedAt = l.ID, l.Images, l.CreatedAt, l.UpdatedAt
	p.CategoryName, p.SellerName, p.WarehouseName = l.CategoryName, l.SellerName, l.WarehouseName
	p.Quantity, p.WarehouseID = l.Quantity, l.lookups.DefaultWarehouse
	return p
}

// productUpdate is a change of a locked product and its stock.
type productUpdate struct {
	before, after Product
	stock         []stockChange
	stockBefore   []Stock
	created       bool // by the same transaction; before is not set
	stockOnly     bool // only the stock and the quantity change, so changed_at does not
	deletes       bool
}

// queueUpdates writes the updates, each of another product.
func queueUpdates(b *pgx.Batch, by Actor, updates []productUpdate) {
	var products, renamed []Product
	var stock, removed []stockChange
	for _, u := range updates {
		switch {
		case u.deletes:
			removed = append(removed, u.stock...)
			continue
		case u.stockOnly:
			queueQuantity(b, by.Tenant, u.after.ID, u.after.Quantity)
		default:
			products = append(products, u.after)
			if changesText(&u.before, &u.after) {
				renamed = append(renamed, u.after)
			}
		}
		stock = append(stock, u.stock...)
	}
	if len(products) > 0 {
		b.Queue(updateProducts, by.Tenant, records(products...))
	}
	queueTexts(b, by.Tenant, renamed...)
	queueStockAndLedger(b, by, stock)
	if len(removed) > 0 {
		queueLedger(b, by, removed)
	}
	for _, u := range updates {
		if u.deletes {
			b.Queue(`delete from products where tenant_id = $1 and id = $2`, by.Tenant, u.after.ID)
		}
	}
}

// queueStockAndLedger writes the changes of the stock of locked products.
func queueStockAndLedger(b *pgx.Batch, by Actor, changes []stockChange) {
	if len(changes) > 0 {
		queueStock(b, by.Tenant, changes)
		queueLedger(b, by, changes)
	}
}
