package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

// Field is a value that a request may omit, set to null or set, as in JSON.
type Field[T any] struct {
	Set   bool // the request has the field
	Null  bool // its value is null
	Value T
}

// Value returns a field that is set to v.
func Value[T any](v T) Field[T] { return Field[T]{Set: true, Value: v} }

// given reports whether the field has a value other than null.
func (f Field[T]) given() bool { return f.Set && !f.Null }

// IsZero reports whether the field is missing, for JSON.
func (f Field[T]) IsZero() bool { return !f.Set }

// MarshalJSON writes null or the value.
func (f Field[T]) MarshalJSON() ([]byte, error) { return json.Marshal(orNull(f)) }

// UnmarshalJSON sets the field.
func (f *Field[T]) UnmarshalJSON(text []byte) error {
	*f = Field[T]{Set: true, Null: string(text) == "null"}
	return json.Unmarshal(text, &f.Value)
}

// Changes are the writable fields of a product. Create and Replace apply them to a
// product with the default of every field, Patch and Upsert to the stored product.
type Changes struct {
	SKU          Field[string]      `json:",omitzero"`
	Name         Field[string]      `json:",omitzero"`
	Description  Field[string]      `json:",omitzero"`
	Price        Field[money.Cents] `json:",omitzero"`
	MSRP         Field[money.Cents] `json:",omitzero"`
	Cost         Field[money.Cents] `json:",omitzero"`
	Status       Field[string]      `json:",omitzero"`
	Condition    Field[string]      `json:",omitzero"`
	Quantity     Field[int64]       `json:",omitzero"`
	ReorderPoint Field[int64]       `json:",omitzero"`
	CategoryID   Field[int64]       `json:",omitzero"`
	SellerID     Field[int64]       `json:",omitzero"`
	WarehouseID  Field[int64]       `json:",omitzero"`
	BinLocation  Field[string]      `json:",omitzero"`
	UPC          Field[string]      `json:",omitzero"`
	Tags         Field[[]string]    `json:",omitzero"`
	// ImageURLs replaces the images of an external URL. Only Upsert and plans accept it.
	ImageURLs Field[[]string] `json:",omitzero"`
}

// size returns the bytes of the fields that can be large.
func (c *Changes) size() int {
	n := len(c.Description.Value)
	for _, address := range c.ImageURLs.Value {
		n += len(address)
	}
	return n
}

// apply writes the fields that are set into p and adds the validation errors to
// invalid. It validates the quantity; changeStock applies it.
func (c *Changes) apply(p *Product, invalid tenancy.InvalidError) {
	required(c.SKU, &p.SKU, "sku", invalid, checkSKU)
	required(c.Name, &p.Name, "name", invalid, CheckName)
	nullable(c.Description, &p.Description, "description", invalid, longText(65_535))
	required(c.Price, &p.Price, "price", invalid, checkMoney)
	nullable(c.MSRP, &p.MSRP, "msrp", invalid, checkMoney)
	nullable(c.Cost, &p.Cost, "cost", invalid, checkMoney)
	required(c.Status, &p.Status, "status", invalid, oneOf(Statuses))
	required(c.Condition, &p.Condition, "condition", invalid, oneOf(Conditions))
	required(c.Quantity, new(int32), "quantity", invalid, checkQuantity)
	nullable(c.ReorderPoint, &p.ReorderPoint, "reorder_point", invalid, checkQuantity)
	nullable(c.CategoryID, &p.CategoryID, "category_id", invalid, anyID)
	nullable(c.SellerID, &p.SellerID, "seller_id", invalid, anyID)
	required(c.WarehouseID, &p.WarehouseID, "warehouse_id", invalid, anyID)
	nullable(c.BinLocation, &p.BinLocation, "bin_location", invalid, func(s string) (string, string) {
		return tenancy.SingleLine(s, 64)
	})
	nullable(c.UPC, &p.UPC, "upc", invalid, checkUPC)
	required(c.Tags, &p.Tags, "tags", invalid, func(tags []string) ([]string, string) { return checkTags(tags, invalid) })
	required(c.ImageURLs, &p.Images, "images", invalid, func(urls []string) ([]Image, string) {
		return setImageURLs(p.Images, urls, invalid)
	})
}

// requireAll adds a validation error for each field that a new product must have.
func (c *Changes) requireAll(invalid tenancy.InvalidError) {
	requireSet(c.SKU, "sku", invalid)
	requireSet(c.Name, "name", invalid)
	requireSet(c.Price, "price", invalid)
}

// requireSet adds a validation error for a missing field. A field that already has an
// error is not missing: fields with a wrong JSON type are not set either.
func requireSet[T any](f Field[T], name string, invalid tenancy.InvalidError) {
	if !f.Set && len(invalid[name]) == 0 {
		invalid.Add(name, "is required")
	}
}

// required writes a field that must not be null. check returns the stored form of the
// value, or why it is not valid.
func required[T, S any](f Field[T], dst *S, name string, invalid tenancy.InvalidError, check func(T) (S, string)) {
	switch {
	case !f.Set:
	case f.Null:
		invalid.Add(name, "must not be null")
	default:
		stored, problem := check(f.Value)
		if problem != "" {
			invalid.Add(name, "%s", problem)
			return
		}
		*dst = stored
	}
}

// nullable writes a field that null clears.
func nullable[T, S any](f Field[T], dst **S, name string, invalid tenancy.InvalidError, check func(T) (S, string)) {
	if !f.Set {
		return
	}
	*dst = nil
	if !f.Null {
		*dst = new(S)
		required(f, *dst, name, invalid, check)
	}
}

func checkSKU(s string) (string, string) { return tenancy.PathSegment(s, 100) }

// CheckName returns the stored form of a name, or why it is not valid.
func CheckName(s string) (stored, problem string) { return tenancy.Label(s, 255) }

func longText(max int) func(string) (string, string) {
	return func(s string) (string, string) { return s, tenancy.CheckText(s, max) }
}

func anyID(id int64) (int64, string) { return id, "" }

func checkMoney(c money.Cents) (money.Cents, string) {
	if c < 0 || c > money.Max {
		return 0, money.ErrRange.Error()
	}
	return c, ""
}

func checkQuantity(n int64) (int32, string) {
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

// A barcode has minUPC to maxUPC digits.
const minUPC, maxUPC = 8, 14

func checkUPC(s string) (string, string) {
	if len(s) < minUPC || len(s) > maxUPC || strings.Trim(s, "0123456789") != "" {
		return "", "must be 8 to 14 digits"
	}
	return s, ""
}

// MaxTags is the number of tags that a product can have.
const MaxTags = 50

// checkTags returns the trimmed tags without duplicates. The validation errors of a tag are added to invalid as
// tags[i].
func checkTags(tags []string, invalid tenancy.InvalidError) ([]string, string) {
	stored, problems := []string{}, 0
	for i, tag := range tags {
		label, problem := tenancy.Label(tag, 64)
		switch {
		case problem != "":
			invalid.Add(fmt.Sprintf("tags[%d]", i), "%s", problem)
			problems++
		case !slices.Contains(stored, label):
			stored = append(stored, label)
		}
		if problems == MaxTags {
			return nil, "has 50 or more errors"
		}
		if len(stored) > MaxTags {
			return nil, "must hold at most 50 tags"
		}
	}
	return stored, ""
}
