package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/searchtext"
	"github.com/storeroom/storeroom/tenancy/textfill"
)

// Product is a product with the names of its category, seller and warehouse.
type Product struct {
	ID            int64
	SKU           string
	Name          string
	Description   *string // HTML, stored byte for byte
	Price         money.Cents
	MSRP          *money.Cents
	Cost          *money.Cents
	Status        string
	Condition     string
	Quantity      int32 // the sum of all warehouses
	ReorderPoint  *int32
	CategoryID    *int64
	CategoryName  *string
	SellerID      *int64
	SellerName    *string
	WarehouseID   int64
	WarehouseName string
	BinLocation   *string
	UPC           *string
	Tags          []string
	Images        []Image
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// IsLow reports whether the stock is at the reorder point or below.
func (p Product) IsLow() bool { return p.ReorderPoint != nil && p.Quantity <= *p.ReorderPoint }

// The values that Status and Condition accept.
var (
	Statuses   = []string{"active", "draft"}
	Conditions = []string{"new", "like_new", "used", "refurbished", "for_parts"}
)

// MaxQuantity is the largest stock of a product, in one warehouse and in all.
const MaxQuantity = 1<<31 - 1

// newProduct returns a product with the default of every field.
func newProduct() Product {
	return Product{Status: "active", Condition: "new", Tags: []string{}, Images: []Image{}}
}

// bytes returns the size of the texts and pictures, which counts as storage of the tenant. product_bytes computes it in
// PostgreSQL.
func (p *Product) bytes() int64 {
	n := len(p.SKU) + len(p.Name) + len(strings.Join(p.Tags, ""))
	for _, text := range []*string{p.Description, p.BinLocation, p.UPC} {
		if text != nil {
			n += len(*text)
		}
	}
	total := int64(n)
	for _, image := range p.Images {
		total += int64(len(image.URL)) + image.Bytes
	}
	return total
}

// facetBytes returns what counts are stored for the category, the seller, the warehouse and the tags of a product, if no
// other product has them. facet_bytes computes it in PostgreSQL.
func (p *Product) facetBytes() int64 {
	const row, id = 100, 20
	n := 3 * (row + id)
	for _, tag := range p.Tags {
		n += row + len(tag)
	}
	return int64(n)
}

// storedColumns are the columns of products that a write sets, with their types and
// the values of a product. The statements below are built from this list; the columns
// id, created_at and updated_at are the only others that a Product has.
var storedColumns = []struct {
	name, sqlType string
	value         func(*Product) any
}{
	{"sku", "text", func(p *Product) any { return p.SKU }},
	{"name", "text", func(p *Product) any { return p.Name }},
	{"description", "text", func(p *Product) any { return p.Description }},
	{"price", "bigint", func(p *Product) any { return int64(p.Price) }},
	{"msrp", "bigint", func(p *Product) any { return (*int64)(p.MSRP) }},
	{"cost", "bigint", func(p *Product) any { return (*int64)(p.Cost) }},
	{"status", "text", func(p *Product) any { return p.Status }},
	{"condition", "text", func(p *Product) any { return p.Condition }},
	{"quantity", "integer", func(p *Product) any { return p.Quantity }},
	{"reorder_point", "integer", func(p *Product) any { return p.ReorderPoint }},
	{"category_id", "bigint", func(p *Product) any { return p.CategoryID }},
	{"seller_id", "bigint", func(p *Product) any { return p.SellerID }},
	{"warehouse_id", "bigint", func(p *Product) any { return p.WarehouseID }},
	{"bin_location", "text", func(p *Product) any { return p.BinLocation }},
	{"upc", "text", func(p *Product) any { return p.UPC }},
	{"tags", "text[]", func(p *Product) any { return p.Tags }},
	{"images", "jsonb", func(p *Product) any { return imagesJSON(p.Images) }},
}

// eachColumn returns a list with an element for each stored column: format, in which
// NAME is the column, TYPE its type and $N the parameter of arguments.
func eachColumn(format string) string {
	var list strings.Builder
	for i, c := range storedColumns {
		switch {
		case i > 0 && i%4 == 0:
			list.WriteString(",\n       ")
		case i > 0:
			list.WriteString(", ")
		}
		list.WriteString(strings.NewReplacer("NAME", c.name, "TYPE", c.sqlType, "$N", fmt.Sprint("$", i+4)).Replace(format))
	}
	return list.String()
}

const (
	defaultWarehouse   = `(select id from warehouses where tenant_id = $1 and is_default)`
	warehouseOrDefault = `coalesce(nullif(r.warehouse_id, 0), ` + defaultWarehouse + `)`
)

var (
	selectColumns = `
select p.id, p.created_at, p.updated_at,
       ` + eachColumn("p.NAME")

	// selectStored reads the columns of Product from a table p, but not the names of references.
	selectStored = selectColumns + `,
       null as category_name, null as seller_name, '' as warehouse_name`

	// selectProducts reads the columns of Product from a table p. Subqueries for the
	// names take two thirds of the time that joins take.
	selectProducts = selectColumns + `,
       (select name from categories where tenant_id = p.tenant_id and id = p.category_id) as category_name,
       (select name from sellers where tenant_id = p.tenant_id and id = p.seller_id) as seller_name,
       (select name from warehouses where tenant_id = p.tenant_id and id = p.warehouse_id) as warehouse_name`

	selectByID = selectProducts + `
  from products p
 where p.tenant_id = $1 and p.id = $2`

	selectBySKU = selectProducts + `
  from products p
 where p.tenant_id = $1 and p.sku = $2`

	// insertProduct inserts the product of arguments, and records the change. insertProducts inserts those of records
	// in $3. $2 is the API key. They also insert stock and ledger rows. A query on p, the inserted rows, follows.
	insertProduct = insertFrom("", `(
       values ($3::text,
       `+eachColumn("$N::TYPE")+`)
       ) r (search,
       `+eachColumn("NAME")+`)
 where `+skipLedger+` is not null`) + `, recorded as (
insert into changes (tenant_id, epoch, action, types, ids)
select $1, feed_epoch($1), 'created', '{product,stock}', array[id::text]
  from p
)`
	insertProducts = insertFrom("", `jsonb_to_recordset($3) as r (search text,
       `+eachColumn("NAME TYPE")+`)
 order by r.sku collate "C"`)

	// insertArchivedProducts also sets their ids and the time of their creation.
	insertArchivedProducts = insertFrom("id, created_at, ", `jsonb_to_recordset($3) as r (
       id bigint, created_at timestamptz, search text,
       `+eachColumn("NAME TYPE")+`)
 order by r.sku collate "C"`)

	// updateProduct writes the values of arguments to the product $2.
	updateProduct = `
update products p
   set search = $3, updated_at = clock_timestamp(), changed_at = clock_timestamp(),
       ` + eachColumn("NAME = $N") + `
 where p.tenant_id = $1 and p.id = $2`

	// updateProducts writes the values of records in $2. "on conflict" looks up each product by its key, whatever the
	// statistics.
	updateProducts = `
insert into products (tenant_id, id, search,
       ` + eachColumn("NAME") + `)
overriding system value
select $1, r.id, r.search,
       ` + eachColumn("r.NAME") + `
  from jsonb_to_recordset($2) as r (id bigint, search text,
       ` + eachColumn("NAME TYPE") + `)
    on conflict (tenant_id, id) do update
   set search = excluded.search, updated_at = clock_timestamp(), changed_at = clock_timestamp(),
       ` + eachColumn("NAME = excluded.NAME")

	// updateAndSelect also records the change, of the types $21 and the fields $22.
	updateAndSelect = "\nwith p as (" + updateProduct + `
returning *,
       ` + skipTrigger + `
), recorded as (
insert into changes (tenant_id, epoch, action, types, changed, ids)
select $1, feed_epoch($1), 'updated', $21, $22, array[id::text]
  from p
)` + selectProducts + "\n  from p"
)

// skipTrigger makes the trigger that records changes of products skip this statement, which records its change itself:
// to compare all columns takes longer. No other statement of the batch may change products, because with the simple
// protocol it would have the same start time.
const skipTrigger = `(select set_config('app.recorded', statement_timestamp()::text, true))`

// skipAndNeverRefuse is skipTrigger for a statement that adjusts stock, which no quota refuses.
const skipAndNeverRefuse = `(select set_config('app.recorded', statement_timestamp()::text, true)
       || set_config('app.never_refused', 'on', true))`

// skipLedger is skipTrigger for a statement that creates a product, and makes the trigger of products count its row of the
// ledger for the quota, which costs less than another trigger.
const skipLedger = `(select set_config('app.recorded', statement_timestamp()::text, true)
       || set_config('app.counted', statement_timestamp()::text, true))`

// insertFrom returns the statement that inserts the rows r of source, with more columns if given.
func insertFrom(more, source string) string {
	overriding := ""
	if more != "" {
		overriding = "\noverriding system value"
	}
	return `
with p as (
insert into products (tenant_id, ` + more + `search,
       ` + eachColumn("NAME") + `)` + overriding + `
select $1, ` + more + `r.search,
       ` + strings.Replace(eachColumn("r.NAME"), "r.warehouse_id", warehouseOrDefault, 1) + `
  from ` + source + `
returning *
), stocked as (
insert into stock (tenant_id, product_id, warehouse_id, quantity)
select tenant_id, id, warehouse_id, quantity
  from p
 where quantity > 0
), ledger as (
insert into inventory_adjustments (tenant_id, product_id, warehouse_id, type, quantity,
       quantity_before, quantity_after, api_key_id)
select tenant_id, id, warehouse_id, 'set', quantity, 0, quantity, $2::bigint
  from p
 where quantity > 0
)`
}

// arguments returns the tenant, second, and the values of search and of the stored columns, which
// are the arguments of insertProduct and updateProduct.
func (p *Product) arguments(tenant tenancy.ID, second any) []any {
	args := append(make([]any, 0, 3+len(storedColumns)), tenant, second, p.searchText())
	for _, c := range storedColumns {
		args = append(args, c.value(p))
	}
	return args
}

// changedFields returns the fields of the feed in which two versions of a product differ, and the types that changed.
func changedFields(before, after *Product) (types, fields []string) {
	types = []string{"product"}
	for _, c := range storedColumns {
		if !reflect.DeepEqual(c.value(before), c.value(after)) {
			fields = append(fields, strings.TrimSuffix(c.name, "_id"))
		}
	}
	if slices.Contains(fields, "quantity") || slices.Contains(fields, "warehouse") {
		types = append(types, "stock")
	}
	return types, append(fields, "updated_at")
}

// records returns the products as the JSON array that insertProducts reads. JSON passes any
// number of rows, with their lists of tags, in one parameter.
func records(products ...Product) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	field := func(separator, name string, value any) {
		text.WriteString(separator + `"` + name + `":`)
		if err := encoder.Encode(value); err != nil {
			panic(err) // impossible: numbers and strings
		}
	}
	text.WriteString("[")
	for i := range products {
		p := &products[i]
		if i > 0 {
			text.WriteString(",")
		}
		field("{", "id", p.ID)
		if !p.CreatedAt.IsZero() {
			field(",", "created_at", p.CreatedAt)
		}
		field(",", "search", p.searchText())
		for _, c := range storedColumns {
			field(",", c.name, c.value(p))
		}
		text.WriteString("}")
	}
	text.WriteString("]")
	return text.Bytes()
}

// Texts are the texts that a search of products compares.
var Texts = textfill.Kind{
	Name: "product", Table: "products", Key: "sku", Fields: "array[o.name, o.sku, o.upc]",
	Texts: "product_texts", ID: "product_id",
}

// queueTexts writes the texts of products.
func queueTexts(b *pgx.Batch, tenant tenancy.ID, products ...Product) {
	skus, texts := make([]string, len(products)), make([]string, len(products))
	for i := range products {
		skus[i], texts[i] = products[i].SKU, products[i].newText()
	}
	Texts.Queue(b, tenant, skus, texts)
}

// changesText reports whether two versions of a product have different texts.
func changesText(before, after *Product) bool {
	return before.Name != after.Name || before.SKU != after.SKU || !reflect.DeepEqual(before.UPC, after.UPC)
}

// newText returns the text that a search compares.
func (p *Product) newText() string {
	if p.UPC != nil {
		return searchtext.Text(p.Name, p.SKU, *p.UPC)
	}
	return searchtext.Text(p.Name, p.SKU)
}

// searchText returns the value of products.search, which the earlier release compares: a blank, then name, SKU and
// barcode in lower case with single blanks between words. So every word follows a blank.
func (p *Product) searchText() string {
	text := p.Name + " " + p.SKU
	if p.UPC != nil {
		text += " " + *p.UPC
	}
	return " " + strings.Join(strings.Fields(strings.ToLower(text)), " ")
}
