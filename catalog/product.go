package catalog

import (
	"slices"
	"strings"
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

// Product is one product with the names of what it refers to.
type Product struct {
	ID            int64
	SKU           string
	Name          string
	Description   *string // HTML, byte for byte as it came
	Price         money.Cents
	MSRP          *money.Cents
	Cost          *money.Cents
	Status        string
	Condition     string
	Quantity      int32 // pieces in all warehouses
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

// Image is a picture of a product.
type Image struct {
	ID       int64  `json:"id"`
	URL      string `json:"url"`
	Position int32  `json:"position"`
}

// The closed sets of values.
var (
	Statuses   = []string{"active", "draft"}
	Conditions = []string{"new", "like_new", "used", "refurbished", "for_parts"}
)

// MaxQuantity is the largest stock of a product, in one warehouse and in all.
const MaxQuantity = 1<<31 - 1

// Field is a value that may be absent, null or there: what JSON can say and a Go
// zero value cannot.
type Field[T any] struct {
	Set   bool // the sender named the field
	Null  bool // and gave null
	Value T
}

// Value is a field that is there.
func Value[T any](v T) Field[T] { return Field[T]{Set: true, Value: v} }

// Changes are the writable fields of a product. Create and Replace apply them to
// a product with every default, Patch and Upsert to the product as it is.
type Changes struct {
	SKU          Field[string]
	Name         Field[string]
	Description  Field[string]
	Price        Field[money.Cents]
	MSRP         Field[money.Cents]
	Cost         Field[money.Cents]
	Status       Field[string]
	Condition    Field[string]
	Quantity     Field[int64]
	ReorderPoint Field[int64]
	CategoryID   Field[int64]
	SellerID     Field[int64]
	WarehouseID  Field[int64]
	BinLocation  Field[string]
	UPC          Field[string]
	Tags         Field[[]string]
}

// blank is a product with every default: what Create and Replace start from.
func blank() Product {
	return Product{Status: "active", Condition: "new", Tags: []string{}, Images: []Image{}}
}

// requireAll notes the fields that a whole product cannot be without.
func (c *Changes) requireAll(faults tenancy.InvalidError) {
	for _, f := range []struct {
		name string
		set  bool
	}{{"sku", c.SKU.Set}, {"name", c.Name.Set}, {"price", c.Price.Set}} {
		if !f.set {
			missing(f.name, faults)
		}
	}
}

// missing notes that a field is not there, unless the caller has something against
// the value that was: a field of the wrong type is not set either.
func missing(field string, faults tenancy.InvalidError) {
	if len(faults[field]) == 0 {
		faults.Add(field, "is required")
	}
}

// apply writes the fields that are set into p and notes every fault. Stock is not
// its matter: quantity is checked here and applied by planStock.
func (c *Changes) apply(p *Product, faults tenancy.InvalidError) {
	required(c.SKU, &p.SKU, "sku", faults, checkSKU)
	required(c.Name, &p.Name, "name", faults, func(s string) (string, string) { return tenancy.Label(s, 255) })
	nullable(c.Description, &p.Description, "description", faults, func(s string) (string, string) { return s, tenancy.CheckText(s, 65_535) })
	required(c.Price, &p.Price, "price", faults, checkMoney)
	nullable(c.MSRP, &p.MSRP, "msrp", faults, checkMoney)
	nullable(c.Cost, &p.Cost, "cost", faults, checkMoney)
	required(c.Status, &p.Status, "status", faults, oneOf(Statuses))
	required(c.Condition, &p.Condition, "condition", faults, oneOf(Conditions))
	nullable(c.ReorderPoint, &p.ReorderPoint, "reorder_point", faults, checkPieces)
	nullable(c.CategoryID, &p.CategoryID, "category_id", faults, asIs)
	nullable(c.SellerID, &p.SellerID, "seller_id", faults, asIs)
	required(c.WarehouseID, &p.WarehouseID, "warehouse_id", faults, asIs)
	nullable(c.BinLocation, &p.BinLocation, "bin_location", faults, func(s string) (string, string) { return tenancy.SingleLine(s, 64) })
	nullable(c.UPC, &p.UPC, "upc", faults, checkUPC)
	required(c.Tags, &p.Tags, "tags", faults, func(tags []string) ([]string, string) { return checkTags(tags, faults) })
	var pieces int32
	required(c.Quantity, &pieces, "quantity", faults, checkPieces)
}

// required copies a field that may not be null; check returns the stored form, or
// what is wrong with the value.
func required[T, S any](f Field[T], dst *S, name string, faults tenancy.InvalidError, check func(T) (S, string)) {
	switch {
	case !f.Set:
	case f.Null:
		faults.Add(name, "must not be null")
	default:
		v, fault := check(f.Value)
		if fault != "" {
			faults.Add(name, "%s", fault)
			return
		}
		*dst = v
	}
}

// nullable copies a field that null clears.
func nullable[T, S any](f Field[T], dst **S, name string, faults tenancy.InvalidError, check func(T) (S, string)) {
	if f.Set && f.Null {
		*dst = nil
		return
	}
	v := new(S)
	required(f, v, name, faults, check)
	if f.Set {
		*dst = v
	}
}

func asIs[T any](v T) (T, string) { return v, "" }

func checkMoney(c money.Cents) (money.Cents, string) {
	if c < 0 || c > money.Max {
		return 0, money.ErrRange.Error()
	}
	return c, ""
}

func checkPieces(n int64) (int32, string) {
	if n < 0 || n > MaxQuantity {
		return 0, "must be between 0 and 2147483647"
	}
	return int32(n), ""
}

func oneOf(values []string) func(string) (string, string) {
	return func(s string) (string, string) {
		if !slices.Contains(values, s) {
			return "", "must be one of " + strings.Join(values, ", ")
		}
		return s, ""
	}
}

func checkSKU(s string) (string, string) { return tenancy.PathSegment(s, 100) }

func checkUPC(s string) (string, string) {
	if len(s) < 8 || len(s) > 14 || strings.Trim(s, "0123456789") != "" {
		return "", "must be 8 to 14 digits"
	}
	return s, ""
}

// checkTags trims and drops exact duplicates; faults of a tag go under its own
// place in the list.
func checkTags(tags []string, faults tenancy.InvalidError) ([]string, string) {
	kept, bad := make([]string, 0, len(tags)), 0
	for i, tag := range tags {
		tag, fault := tenancy.Label(tag, 64)
		if fault != "" {
			faults.Add("tags["+itoa(i)+"]", "%s", fault)
			if bad++; bad == 50 {
				return nil, "has 50 faults or more"
			}
		} else if !slices.Contains(kept, tag) {
			kept = append(kept, tag)
		}
		if len(kept) > 50 {
			return nil, "must hold at most 50 tags"
		}
	}
	return kept, ""
}

// searchText is what products.search holds: a blank, then name, SKU and barcode
// in lower case with single blanks between words, so that a word starts after a
// blank wherever it stands.
func (p *Product) searchText() string {
	text := p.Name + " " + p.SKU
	if p.UPC != nil {
		text += " " + *p.UPC
	}
	return " " + strings.Join(strings.Fields(strings.ToLower(text)), " ")
}
