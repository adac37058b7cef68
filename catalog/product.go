package catalog

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/storeroom/storeroom/tenancy/money"
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

// Image is a picture of a product.
type Image struct {
	ID       int64  `json:"id"`
	URL      string `json:"url"`
	Position int32  `json:"position"`
}

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

// storedColumns are the columns of products that a write sets, with their types and
// the values of a product. The statements below are built from this list; the columns
// id, images, created_at and updated_at are the only others that a Product has.
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
}

// eachColumn returns a list with an element for each stored column: format, in which
// NAME is the column and TYPE its type.
func eachColumn(format string) string {
	var list strings.Builder
	for i, c := range storedColumns {
		switch {
		case i > 0 && i%4 == 0:
			list.WriteString(",\n       ")
		case i > 0:
			list.WriteString(", ")
		}
		list.WriteString(strings.NewReplacer("NAME", c.name, "TYPE", c.sqlType).Replace(format))
	}
	return list.String()
}

const (
	defaultWarehouse   = `(select id from warehouses where tenant_id = $1 and is_default)`
	warehouseOrDefault = `coalesce(nullif(r.warehouse_id, 0), ` + defaultWarehouse + `)`
)

var (
	// selectProducts reads the columns of Product from a table p. Subqueries for the
	// names take two thirds of the time that joins take.
	selectProducts = `
select p.id, p.images, p.created_at, p.updated_at,
       ` + eachColumn("p.NAME") + `,
       (select name from categories where tenant_id = p.tenant_id and id = p.category_id) as category_name,
       (select name from sellers where tenant_id = p.tenant_id and id = p.seller_id) as seller_name,
       (select name from warehouses where tenant_id = p.tenant_id and id = p.warehouse_id) as warehouse_name`

	selectByID = selectProducts + `
  from products p
 where p.tenant_id = $1 and p.id = $2`

	selectBySKU = selectProducts + `
  from products p
 where p.tenant_id = $1 and p.sku = $2`

	// insertProducts inserts the records $2 with their stock and ledger rows. $3 is
	// the API key. A query on p, the inserted rows, follows it.
	insertProducts = `
with p as (
insert into products (tenant_id, search,
       ` + eachColumn("NAME") + `)
select $1, r.search,
       ` + strings.Replace(eachColumn("r.NAME"), "r.warehouse_id", warehouseOrDefault, 1) + `
  from jsonb_to_recordset($2) as r (search text,
       ` + eachColumn("NAME TYPE") + `)
 order by r.sku collate "C"
returning *
), stocked as (
insert into stock (tenant_id, product_id, warehouse_id, quantity)
select tenant_id, id, warehouse_id, quantity
  from p
 where quantity > 0
), ledger as (
insert into inventory_adjustments (tenant_id, product_id, warehouse_id, type, quantity,
       quantity_before, quantity_after, api_key_id)
select tenant_id, id, warehouse_id, 'set', quantity, 0, quantity, $3::bigint
  from p
 where quantity > 0
)`

	// updateProduct writes the only record of $3 to the product $2.
	updateProduct = `
update products p
   set search = r.search, updated_at = clock_timestamp(), changed_at = clock_timestamp(),
       ` + eachColumn("NAME = r.NAME") + `
  from jsonb_to_record($3::jsonb -> 0) as r (search text,
       ` + eachColumn("NAME TYPE") + `)
 where p.tenant_id = $1 and p.id = $2`
)

// records returns the products as the JSON array that insertProducts and updateProduct
// read. JSON passes any number of rows, with their lists of tags, in one parameter.
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
		field(",", "search", p.searchText())
		for _, c := range storedColumns {
			field(",", c.name, c.value(p))
		}
		text.WriteString("}")
	}
	text.WriteString("]")
	return text.Bytes()
}

// searchText returns the value of products.search: a blank, then name, SKU and barcode
// in lower case with single blanks between words. So every word follows a blank.
func (p *Product) searchText() string {
	text := p.Name + " " + p.SKU
	if p.UPC != nil {
		text += " " + *p.UPC
	}
	return " " + strings.Join(strings.Fields(strings.ToLower(text)), " ")
}
