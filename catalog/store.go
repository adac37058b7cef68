// Package catalog holds products, their stock and what they refer to, and every
// rule about them.
//
// A type and its SQL share this package, because row-level security makes
// PostgreSQL part of the design. REST, pages and commands are callers of the same
// Store, so a rule stands here once. Reads cost one round trip, writes one or
// two. Whatever changes stock holds the product's row lock and writes its ledger
// row in the same transaction: products.quantity, the sum of stock, and the last
// quantity_after of the ledger are always the same number.
package catalog

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
)

// Errors that callers branch on, beside tenancy.ErrNotFound and
// tenancy.InvalidError.
var (
	// ErrInsufficientStock says that stock would go below zero.
	ErrInsufficientStock = errors.New("not enough stock")
	// ErrPrecondition says that a product is not as the sender believed it.
	ErrPrecondition = errors.New("the product has changed")
	// ErrInUse says that something still refers to what should be deleted.
	ErrInUse = errors.New("in use")
)

// Store is the catalog of every tenant.
type Store struct{ db *tenancy.DB }

// New returns the catalog of a database.
func New(db *tenancy.DB) *Store { return &Store{db} }

// Actor is who changes something: the ledger keeps it. KeyID is nil for an
// operator's command.
type Actor struct {
	Tenant tenancy.ID
	KeyID  *int64
}

// Precondition is asked about a product under its lock before it is changed; its
// error, ErrPrecondition as a rule, ends the change. nil asks nothing.
type Precondition func(Product) error

func (c Precondition) hold(p Product) error {
	if c == nil {
		return nil
	}
	return c(p)
}

// productColumns are those of p. The names of what a product refers to are looked
// up one by one: planned and run, joins cost half as much again.
const productColumns = `
	p.id, p.sku, p.name, p.description, p.price, p.msrp, p.cost, p.status, p.condition, p.quantity, p.reorder_point,
	p.category_id, (select name from categories where tenant_id = p.tenant_id and id = p.category_id) as category_name,
	p.seller_id, (select name from sellers where tenant_id = p.tenant_id and id = p.seller_id) as seller_name,
	p.warehouse_id, (select name from warehouses where tenant_id = p.tenant_id and id = p.warehouse_id) as warehouse_name,
	p.bin_location, p.upc, p.tags, p.images, p.created_at, p.updated_at`

const (
	productByID  = `select` + productColumns + ` from products p where p.tenant_id = $1 and p.id = $2`
	productBySKU = `select` + productColumns + ` from products p where p.tenant_id = $1 and p.sku = $2`
	lockByID     = `select id from products where tenant_id = $1 and id = $2 for update`
	stockByID    = `select warehouse_id, quantity from stock where tenant_id = $1 and product_id = $2 order by warehouse_id`
)

// queueLocked locks a product and reads it with its stock. The lock comes first and
// alone: what is read after it, names of references included, is as it stands once
// the lock is held. A product that was committed between the two is not locked, and
// counts as absent.
func queueLocked(b *pgx.Batch, tenant tenancy.ID, id int64, p *[]Product, stock *[]Stock) {
	var held []found
	tenancy.QueueRows(b, &held, lockByID, tenant, id)
	b.Queue(productByID, tenant, id).Query(func(rows pgx.Rows) (err error) {
		*p, err = pgx.CollectRows(rows, pgx.RowToStructByName[Product])
		if len(held) == 0 {
			*p = nil
		}
		return err
	})
	tenancy.QueueRows(b, stock, stockByID, tenant, id)
}

// Product returns one product. It returns ErrNotFound.
func (s *Store) Product(ctx context.Context, tenant tenancy.ID, id int64) (Product, error) {
	p, err := tenancy.One[Product](ctx, s.db, tenant, productByID, tenant, id)
	return p, wrap(err, "product %d", id)
}

// ProductBySKU returns the product with exactly this SKU. It returns ErrNotFound.
func (s *Store) ProductBySKU(ctx context.Context, tenant tenancy.ID, sku string) (Product, error) {
	p, err := tenancy.One[Product](ctx, s.db, tenant, productBySKU, tenant, sku)
	return p, wrap(err, "product with SKU %q", sku)
}

// Create adds a product. sku, name and price must be set. It returns an
// InvalidError that names every fault at once, those that only the database knows
// (a SKU that is taken, a category that is not there) included; faults are those
// that the caller found already, while it read the request.
func (s *Store) Create(ctx context.Context, by Actor, c Changes, faults tenancy.InvalidError) (Product, error) {
	p := blank()
	c.requireAll(faults)
	c.apply(&p, faults)
	if len(faults) > 0 {
		return p, s.diagnose(ctx, by.Tenant, c, faults)
	}
	p.Quantity = int32(c.Quantity.Value)
	created, err := tenancy.One[Product](ctx, s.db, by.Tenant,
		insertProducts+`select`+productColumns+` from p`,
		by.Tenant, records(p), by.KeyID)
	if field := brokenReference(err); field != "" {
		return p, s.diagnose(ctx, by.Tenant, c, tenancy.InvalidError{field: {brokenMessage(field)}})
	}
	return created, wrap(err, "create product %q", p.SKU)
}

// Replace sets every writable field, absent ones to their defaults; images stay.
// It returns ErrNotFound, ErrInsufficientStock, an InvalidError or the error of
// precondition.
func (s *Store) Replace(ctx context.Context, by Actor, id int64, precondition Precondition, c Changes, faults tenancy.InvalidError) (Product, error) {
	c.requireAll(faults)
	if !c.Quantity.Set {
		c.Quantity = Value(int64(0))
	}
	return s.change(ctx, by, id, precondition, c, faults, true)
}

// Patch sets the fields that are set. It returns ErrNotFound,
// ErrInsufficientStock, an InvalidError or the error of precondition.
func (s *Store) Patch(ctx context.Context, by Actor, id int64, precondition Precondition, c Changes, faults tenancy.InvalidError) (Product, error) {
	return s.change(ctx, by, id, precondition, c, faults, false)
}

func (s *Store) change(ctx context.Context, by Actor, id int64, precondition Precondition, c Changes, found tenancy.InvalidError, whole bool) (Product, error) {
	var (
		locked []Product
		stock  []Stock
		facts  []facts
		result []Product
	)
	err := s.db.Update(ctx, by.Tenant, func(b *pgx.Batch) {
		queueLocked(b, by.Tenant, id, &locked, &stock)
		queueFacts(b, &facts, by.Tenant, id, c)
	}, func(b *pgx.Batch) error {
		if len(locked) == 0 {
			return tenancy.ErrNotFound
		}
		if err := precondition.hold(locked[0]); err != nil {
			return err
		}
		faults := found.Clone()
		before, after := locked[0], changed(locked[0], c, whole, facts[0], faults)
		if err := faults.Err(); err != nil {
			return err
		}
		moves, err := planStock(before, &after, stock, c.Quantity)
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(before, after) {
			queueUpdate(b, by, []Product{after}, retagged(before, after), moves)
		}
		tenancy.QueueRows(b, &result, productByID, by.Tenant, id)
		return nil
	})
	if field := brokenReference(err); field != "" {
		err = tenancy.InvalidError{field: {brokenMessage(field)}}
	}
	if err != nil {
		return Product{}, wrap(err, "change product %d", id)
	}
	return result[0], nil
}

// changed returns the product after c, with everything but its stock.
func changed(before Product, c Changes, whole bool, known facts, faults tenancy.InvalidError) Product {
	after := before
	if whole {
		after = blank()
		after.ID, after.Images, after.CreatedAt, after.UpdatedAt = before.ID, before.Images, before.CreatedAt, before.UpdatedAt
		after.Quantity, after.WarehouseID, after.WarehouseName = before.Quantity, known.DefaultWarehouse, before.WarehouseName
	}
	c.apply(&after, faults)
	known.check(c, faults)
	// Names follow their ids; they are read again after the write.
	if same(after.CategoryID, before.CategoryID) {
		after.CategoryName = before.CategoryName
	}
	if same(after.SellerID, before.SellerID) {
		after.SellerName = before.SellerName
	}
	return after
}

// Delete removes a product for good; its stock leaves through the ledger. It
// returns ErrNotFound or the error of precondition.
func (s *Store) Delete(ctx context.Context, by Actor, id int64, precondition Precondition) error {
	var (
		locked []Product
		stock  []Stock
	)
	err := s.db.Update(ctx, by.Tenant, func(b *pgx.Batch) {
		queueLocked(b, by.Tenant, id, &locked, &stock)
	}, func(b *pgx.Batch) error {
		if len(locked) == 0 {
			return tenancy.ErrNotFound
		}
		if err := precondition.hold(locked[0]); err != nil {
			return err
		}
		queueLedger(b, by, emptying(id, stock))
		b.Queue(`delete from products where tenant_id = $1 and id = $2`, by.Tenant, id)
		return nil
	})
	return wrap(err, "delete product %d", id)
}

// facts is what only the database knows about a product that is to be written.
type facts struct {
	SKUTaken         bool
	CategoryExists   bool
	SellerExists     bool
	WarehouseExists  bool
	DefaultWarehouse int64
}

func queueFacts(b *pgx.Batch, dst *[]facts, tenant tenancy.ID, except int64, c Changes) {
	sku, fault := checkSKU(c.SKU.Value)
	if fault != "" {
		sku = "" // nobody has it, and PostgreSQL may not even take it as text
	}
	tenancy.QueueRows(b, dst, `
		select exists (select from products where tenant_id = $1 and sku = $2 and id <> $3) as sku_taken,
		       exists (select from categories where tenant_id = $1 and id = $4) as category_exists,
		       exists (select from sellers where tenant_id = $1 and id = $5) as seller_exists,
		       exists (select from warehouses where tenant_id = $1 and id = $6) as warehouse_exists,
		       coalesce((select id from warehouses where tenant_id = $1 and is_default), 0) as default_warehouse`,
		tenant, sku, except, c.CategoryID.Value, c.SellerID.Value, c.WarehouseID.Value)
}

// check notes what the database has against c.
func (f facts) check(c Changes, faults tenancy.InvalidError) {
	if f.SKUTaken {
		faults.Add("sku", "%s", brokenMessage("sku"))
	}
	for _, r := range []struct {
		field  string
		given  Field[int64]
		exists bool
	}{
		{"category_id", c.CategoryID, f.CategoryExists},
		{"seller_id", c.SellerID, f.SellerExists},
		{"warehouse_id", c.WarehouseID, f.WarehouseExists},
	} {
		if r.given.Set && !r.given.Null && !r.exists && len(faults[r.field]) == 0 {
			faults.Add(r.field, "%s", brokenMessage(r.field))
		}
	}
}

// diagnose adds to faults what the database has against c, so that a sender
// learns everything at once.
func (s *Store) diagnose(ctx context.Context, tenant tenancy.ID, c Changes, faults tenancy.InvalidError) error {
	var known []facts
	err := s.db.Run(ctx, tenant, func(b *pgx.Batch) { queueFacts(b, &known, tenant, 0, c) })
	if err != nil {
		return fmt.Errorf("look up what a product refers to: %w", err)
	}
	known[0].check(c, faults)
	return faults
}

// brokenReference returns the field whose constraint err says was broken, or "".
func brokenReference(err error) string {
	switch tenancy.Constraint(err) {
	case "products_tenant_id_sku_key":
		return "sku"
	case "products_tenant_id_category_id_fkey":
		return "category_id"
	case "products_tenant_id_seller_id_fkey":
		return "seller_id"
	case "products_tenant_id_warehouse_id_fkey", "stock_tenant_id_warehouse_id_fkey":
		return "warehouse_id"
	}
	return ""
}

func brokenMessage(field string) string {
	if field == "sku" {
		return "is already taken"
	}
	return "does not exist"
}

// insertProducts adds the records of $2 with their stock, ledger rows and tags;
// a query on p follows it. $3 is the key that acts.
const insertProducts = `
	with p as (
		insert into products (tenant_id, sku, name, description, price, msrp, cost, status, condition, quantity, reorder_point,
		                      category_id, seller_id, warehouse_id, bin_location, upc, tags, search)
		select $1, r.sku, r.name, r.description, r.price, r.msrp, r.cost, r.status, r.condition, r.quantity, r.reorder_point,
		       r.category_id, r.seller_id,
		       coalesce(nullif(r.warehouse_id, 0), (select id from warehouses where tenant_id = $1 and is_default)),
		       r.bin_location, r.upc, r.tags, r.search
		  from jsonb_to_recordset($2) as r (` + recordColumns + `)
		 order by r.sku collate "C"
		returning *
	), stocked as (
		insert into stock (tenant_id, product_id, warehouse_id, quantity)
		select tenant_id, id, warehouse_id, quantity from p where quantity > 0
	), ledger as (
		insert into inventory_adjustments (tenant_id, product_id, warehouse_id, type, quantity, quantity_before, quantity_after, api_key_id)
		select tenant_id, id, warehouse_id, 'set', quantity, 0, quantity, $3::bigint from p where quantity > 0
	), tagged as (
		insert into product_tags (tenant_id, tag, created_at, product_id)
		select tenant_id, unnest(tags), created_at, id from p
	)
	`

const updateProducts = `
	update products p
	   set sku = r.sku, name = r.name, description = r.description, price = r.price, msrp = r.msrp, cost = r.cost,
	       status = r.status, condition = r.condition, quantity = r.quantity, reorder_point = r.reorder_point,
	       category_id = r.category_id, seller_id = r.seller_id, warehouse_id = r.warehouse_id,
	       bin_location = r.bin_location, upc = r.upc, tags = r.tags, search = r.search, updated_at = clock_timestamp(), changed_at = clock_timestamp()
	  from jsonb_to_recordset($2) as r (id bigint, ` + recordColumns + `)
	 where p.tenant_id = $1 and p.id = r.id`

const recordColumns = `sku text, name text, description text, price bigint, msrp bigint, cost bigint, status text, condition text,
	quantity integer, reorder_point integer, category_id bigint, seller_id bigint, warehouse_id bigint,
	bin_location text, upc text, tags text[], search text`

// record is a product as the statements above read it. JSON carries any number of
// rows, lists of tags included, in one parameter.
type record struct {
	ID           int64    `json:"id"`
	SKU          string   `json:"sku"`
	Name         string   `json:"name"`
	Description  *string  `json:"description"`
	Price        int64    `json:"price"`
	MSRP         *int64   `json:"msrp"`
	Cost         *int64   `json:"cost"`
	Status       string   `json:"status"`
	Condition    string   `json:"condition"`
	Quantity     int32    `json:"quantity"`
	ReorderPoint *int32   `json:"reorder_point"`
	CategoryID   *int64   `json:"category_id"`
	SellerID     *int64   `json:"seller_id"`
	WarehouseID  int64    `json:"warehouse_id"`
	BinLocation  *string  `json:"bin_location"`
	UPC          *string  `json:"upc"`
	Tags         []string `json:"tags"`
	Search       string   `json:"search"`
}

func records(products ...Product) []record {
	all := make([]record, len(products))
	for i, p := range products {
		all[i] = record{
			p.ID, p.SKU, p.Name, p.Description, int64(p.Price), (*int64)(p.MSRP), (*int64)(p.Cost), p.Status, p.Condition,
			p.Quantity, p.ReorderPoint, p.CategoryID, p.SellerID, p.WarehouseID, p.BinLocation, p.UPC, p.Tags, p.searchText(),
		}
	}
	return all
}

// retagged is the id of a product whose tags change, if they do.
func retagged(before, after Product) []int64 {
	if slices.Equal(before.Tags, after.Tags) {
		return nil
	}
	return []int64{after.ID}
}

// queueUpdate writes products that are locked, the tags of those that are
// retagged and the moves of stock.
func queueUpdate(b *pgx.Batch, by Actor, products []Product, retagged []int64, moves []move) {
	b.Queue(updateProducts, by.Tenant, records(products...))
	if len(retagged) > 0 {
		queueTags(b, by.Tenant, retagged)
	}
	if len(moves) > 0 {
		queueStock(b, by, moves)
		queueLedger(b, by, moves)
	}
}

func queueTags(b *pgx.Batch, tenant tenancy.ID, retagged []int64) {
	b.Queue(`
		delete from product_tags t using products p
		 where t.tenant_id = $1 and t.product_id = any ($2)
		   and p.tenant_id = t.tenant_id and p.id = t.product_id and not t.tag = any (p.tags)`, tenant, retagged)
	b.Queue(`
		insert into product_tags (tenant_id, tag, created_at, product_id)
		select p.tenant_id, unnest(p.tags), p.created_at, p.id from products p where p.tenant_id = $1 and p.id = any ($2)
		on conflict do nothing`, tenant, retagged)
}

func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}

func same(a, b *int64) bool { return a == b || a != nil && b != nil && *a == *b }

func itoa(n int) string { return strconv.Itoa(n) }
