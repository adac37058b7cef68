package catalog

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

// Change is a change of each product of a list.
type Change struct {
	Set          Changes  `json:",omitzero"` // without a SKU
	PricePercent int64    `json:",omitzero"` // to add to the price, in hundredths of a percent
	AddTags      []string `json:",omitempty"`
	RemoveTags   []string `json:",omitempty"`

	PriceAmount money.Cents `json:",omitzero"` // to add to the price
	Rounding    Rounding    `json:",omitzero"` // of the changed price
}

// Rounding rounds a price to the nearest that is Below less than a multiple of Step. A Below of 1 and a Step of 100
// give 4.99, for example. It never makes a price zero, or changes one that is. The zero value does not round.
type Rounding struct{ Step, Below money.Cents }

// of returns a rounded price. A price in the middle is rounded up.
func (r Rounding) of(price money.Cents) money.Cents {
	if r.Step <= 0 || price <= 0 {
		return price
	}
	rounded := (price+r.Below+r.Step/2)/r.Step*r.Step - r.Below
	if rounded <= 0 {
		rounded += r.Step
	}
	return rounded
}

// changesPrice reports whether the change computes a price from the stored one.
func (c Change) changesPrice() bool {
	return c.PricePercent != 0 || c.PriceAmount != 0 || c.Rounding != Rounding{}
}

// CheckChange returns an InvalidError with the fields of c.Set that are invalid for every product.
func (s *Store) CheckChange(ctx context.Context, tenant tenancy.ID, c Change) error {
	p, invalid := newProduct(), tenancy.InvalidError{}
	c.Set.apply(&p, invalid)
	var l lookups
	if err := s.db.Run(ctx, tenant, func(b *pgx.Batch) { l.queue(b, tenant, 0, c.Set) }); err != nil {
		return fmt.Errorf("check a change of products: %w", err)
	}
	l.check(c.Set, invalid)
	return invalid.Err()
}

// String returns the change as a short text: "set status; price +10.00 %; add tags sale".
func (c Change) String() string {
	var parts []string
	if names := c.Set.names(); len(names) > 0 {
		parts = append(parts, "set "+strings.Join(names, ", "))
	}
	if c.PricePercent != 0 {
		sign := map[bool]string{true: "+"}[c.PricePercent > 0]
		parts = append(parts, fmt.Sprintf("price %s%s %%", sign, money.Cents(c.PricePercent)))
	}
	if c.PriceAmount != 0 {
		sign := map[bool]string{true: "+"}[c.PriceAmount > 0]
		parts = append(parts, fmt.Sprintf("price %s%s", sign, c.PriceAmount))
	}
	if c.Rounding != (Rounding{}) {
		parts = append(parts, fmt.Sprintf("price rounded to %s less %s", c.Rounding.Step, c.Rounding.Below))
	}
	if len(c.AddTags) > 0 {
		parts = append(parts, "add tags "+strings.Join(c.AddTags, ", "))
	}
	if len(c.RemoveTags) > 0 {
		parts = append(parts, "remove tags "+strings.Join(c.RemoveTags, ", "))
	}
	return strings.Join(parts, "; ")
}

// of returns changes together with the changes that depend on the stored product.
func (c Change) of(p Product, changes Changes) Changes {
	if c.changesPrice() {
		changes.Price = Value(c.Rounding.of(addPercent(p.Price, c.PricePercent) + c.PriceAmount))
	}
	if len(c.AddTags)+len(c.RemoveTags) > 0 {
		tags := slices.DeleteFunc(slices.Clone(p.Tags), func(tag string) bool {
			return slices.Contains(c.RemoveTags, tag)
		})
		changes.Tags = Value(append(tags, c.AddTags...))
	}
	return changes
}

// addPercent adds hundredths of a percent to a price. Half a cent is rounded away from zero.
func addPercent(price money.Cents, percent int64) money.Cents {
	const whole = 100_00
	changed := int64(price) * (whole + percent)
	half := int64(whole / 2)
	if changed < 0 {
		half = -half
	}
	return money.Cents((changed + half) / whole)
}

// names returns the fields that are set, as the API names them.
func (c *Changes) names() []string {
	var names []string
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"sku", c.SKU.Set}, {"name", c.Name.Set}, {"description", c.Description.Set}, {"price", c.Price.Set},
		{"msrp", c.MSRP.Set}, {"cost", c.Cost.Set}, {"status", c.Status.Set}, {"condition", c.Condition.Set},
		{"quantity", c.Quantity.Set}, {"reorder_point", c.ReorderPoint.Set}, {"category", c.CategoryID.Set},
		{"seller", c.SellerID.Set}, {"warehouse", c.WarehouseID.Set}, {"bin_location", c.BinLocation.Set},
		{"upc", c.UPC.Set}, {"tags", c.Tags.Set}, {"images", c.ImageURLs.Set},
	} {
		if field.set {
			names = append(names, field.name)
		}
	}
	return names
}

// ChangedError is ErrPrecondition with the fields of a product that something else has changed.
type ChangedError struct {
	ID     int64
	Fields []string
}

// Error implements error.
func (e ChangedError) Error() string {
	return fmt.Sprintf("fields have changed: %s", strings.Join(e.Fields, ", "))
}

// Unwrap returns ErrPrecondition.
func (e ChangedError) Unwrap() error { return ErrPrecondition }

// changes returns the changes of a row that have an effect.
func (u productUpdate) changes(of Changes) Changes {
	c := u.after.fieldsUnlike(u.before)
	c.SKU = of.SKU
	if u.before.Quantity != u.after.Quantity {
		c.Quantity = of.Quantity
	}
	if !slices.Equal(u.before.Images, u.after.Images) {
		c.ImageURLs = of.ImageURLs
	}
	return c
}

// fieldVersion returns the version of p for a row that changes the fields in which it differs from other.
func fieldVersion(p, other Product, movesStock bool) *Version {
	fields := p.fieldsUnlike(other)
	if movesStock || p.Quantity != other.Quantity {
		fields.Quantity = Value(int64(p.Quantity))
	}
	v := &Version{Fields: &fields}
	if !slices.Equal(p.Images, other.Images) {
		v.Images = append([]Image{}, p.Images...)
	}
	return v
}

// differences returns the fields in which a stored product differs from a version by field, and whether there are none.
func (s *storedRows) differences(sku string, v *Version) (fields []string, isSame bool) {
	p, exists := s.products[sku]
	if !exists {
		return nil, false
	}
	planned, invalid := p, tenancy.InvalidError{}
	v.Fields.apply(&planned, invalid)
	for _, c := range storedColumns {
		name := strings.TrimSuffix(c.name, "_id")
		if name != "quantity" && (!reflect.DeepEqual(c.value(&p), c.value(&planned)) || len(invalid[c.name]) > 0) {
			fields = append(fields, name)
		}
	}
	if q := v.Fields.Quantity; q.Set && q.Value != int64(p.Quantity) || !s.hasStock(p.ID, v.Stock) {
		fields = append(fields, "quantity")
	}
	if v.Images != nil && !slices.Equal(v.Images, p.Images) {
		fields = append(fields, "images")
	}
	return fields, len(fields) == 0
}
