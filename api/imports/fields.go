package imports

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// field is what a column means.
type field uint8

// The fields. Those of products come first, those of sales last, and both have the ones between productOnly and
// saleOnly.
const (
	noField field = iota

	// Of products.
	fGroup        // the same for all variants of a product
	fID           // of the product in the other system
	fParent       // the SKU of the parent, or id: and its id
	fType         // what the row is; see description.Values
	fOptionValue  // of a variant, such as S
	fDescription  //
	fMSRP         // the price before a reduction
	fSalePrice    // less than the price
	fOnSale       // whether the sale price counts
	fSaleFrom     // when a sale price or a reduction begins, or the interval FROM/UNTIL
	fSaleUntil    // when it ends; a day without a time belongs to it
	fReorderPoint //
	fCategory     // a path has " > " between its parts
	fSeller       // or brand
	fWarehouse    // where the quantity is
	fBin          //
	fUPC          //
	fTags         // separated by commas
	fCondition    //
	fImages       // URLs
	fVariantImage // of the variant
	fPosition     // of the image among those of the product
	fStock        // the quantity in the place that the column is named after
	fPublished    // yes is active, no is draft
	fArchived     // yes is draft, no is active
	fGiftCard     // yes, or no
	fTracked      // empty, no or 0 if the quantity means nothing
	fNotProduct   // not empty if the row is no product, such as a translation of one
	fLocale       // of texts: rows with another than the first row are translations
	fPriceAdded   // to the price of the product, by the variant
	fReduction    // of the price, an amount or in percent
	fReductionBy  // percent, or an amount
	fPriceTaxed   // with tax, if fPrice has none

	// Of products and of lines.
	fSKU
	fName
	fVariation // the name of the variant
	fQuantity
	fPrice    // of a unit
	fCost     // of a unit
	fStatus   // of a product or of an order
	fCurrency // of all amounts of the row

	// Of orders.
	fNumber
	fPlacedAt
	fTime // of placed_at
	fZone // of the times of the row
	fChannel
	fCustomerID
	fCustomerName
	fFirstName // of the customer
	fLastName
	fEmail
	fCard        // what identifies a customer without an id
	fEvent       // whether the row is a sale; see description.Values
	fNet         // of the items after discounts, without shipping and tax that is added
	fGross       // of the items before discounts
	fDiscountAll // of the order
	fTax
	fTaxIncluded // yes if prices include tax
	fDuties
	fShipping
	fShippingOff // a discount of shipping
	fFee         // for the buyer; negative is a discount
	fTip
	fTotal // all that the buyer paid
	fRefund
	fRefundedAt
	fCancelledAt
	fKnownAt // any date of the order, at which a refund without a date may have been made
	fFees    // that the seller pays
	fReceived
	fAdjustedTotal // after refunds; 0 is not adjusted
	fAdjustedFees
	fAdjustedReceived

	// Of lines.
	fItems     // several items in one cell
	fLineID    // stands for a SKU
	fLineGross // before discounts
	fLineNet   // after all discounts
	fLineTotal // compared with price, quantity and discount, or used instead of the price
	fDiscount
	fDiscountPercent
	fNeedsShipping
	fTaxable

	numFields
)

// fieldInfo describes a field.
type fieldInfo struct {
	name   string
	kind   columnType
	isCode bool // a text that can be a number
}

// fields are named as in descriptions and in the mappings of users.
var fields = [numFields]fieldInfo{
	fGroup: {"group", textColumn, true}, fID: {"id", textColumn, true}, fParent: {"parent", textColumn, true},
	fType: {name: "type"}, fOptionValue: {name: "option.value"},
	fDescription: {name: "description"}, fMSRP: {"msrp", amountColumn, false},
	fSalePrice: {"sale_price", amountColumn, false}, fOnSale: {name: "on_sale"},
	fSaleFrom: {"sale_from", dateColumn, false}, fSaleUntil: {"sale_until", dateColumn, false},
	fReorderPoint: {"reorder_point", amountColumn, false}, fCategory: {name: "category_name"},
	fSeller: {name: "seller_name"}, fWarehouse: {name: "warehouse_name"}, fBin: {name: "bin_location"},
	fUPC: {"upc", textColumn, true}, fTags: {name: "tags"}, fCondition: {name: "condition"}, fImages: {name: "images"},
	fVariantImage: {name: "variant_image"}, fPosition: {"image_position", textColumn, true},
	fStock: {"stock", amountColumn, false}, fPublished: {"published", textColumn, true}, fArchived: {name: "archived"},
	fGiftCard: {name: "gift_card"}, fTracked: {name: "tracked"}, fNotProduct: {name: "not_product"},
	fLocale:     {name: "locale"},
	fPriceAdded: {"price_added", amountColumn, false}, fReduction: {"reduction", amountColumn, false},
	fReductionBy: {name: "reduction_by"}, fPriceTaxed: {"price_with_tax", amountColumn, false},

	fSKU: {"sku", textColumn, true}, fName: {name: "name"}, fVariation: {name: "variation"},
	fQuantity: {"quantity", amountColumn, false}, fPrice: {"price", amountColumn, false},
	fCost: {"cost", amountColumn, false}, fStatus: {name: "status"}, fCurrency: {name: "currency"},

	fNumber: {"number", textColumn, true}, fPlacedAt: {"placed_at", dateColumn, false}, fTime: {"time", textColumn, true},
	fZone: {name: "zone"}, fChannel: {name: "channel"}, fCustomerID: {"customer.id", textColumn, true},
	fCustomerName: {name: "customer.name"}, fFirstName: {name: "customer.first_name"},
	fLastName: {name: "customer.last_name"}, fEmail: {name: "customer.email"}, fCard: {"card", textColumn, true},
	fEvent: {name: "event"}, fNet: {"net", amountColumn, false}, fGross: {"gross", amountColumn, false},
	fDiscountAll: {"discount_total", amountColumn, false}, fTax: {"tax_total", amountColumn, false},
	fTaxIncluded: {name: "tax_included"}, fDuties: {"duties", amountColumn, false},
	fShipping: {"shipping_total", amountColumn, false}, fShippingOff: {"shipping_discount", amountColumn, false}, fFee: {"fee", amountColumn, false},
	fTip: {"tip", amountColumn, false}, fTotal: {"total", amountColumn, false}, fRefund: {"refund", amountColumn, false},
	fRefundedAt: {"refunded_at", dateColumn, false}, fCancelledAt: {"cancelled_at", dateColumn, false},
	fKnownAt: {"known_at", dateColumn, false}, fFees: {"fees", amountColumn, false},
	fReceived: {"received", amountColumn, false}, fAdjustedTotal: {"adjusted_total", amountColumn, false},
	fAdjustedFees: {"adjusted_fees", amountColumn, false}, fAdjustedReceived: {"adjusted_received", amountColumn, false},

	fItems: {name: "items"}, fLineID: {"line_id", textColumn, true}, fLineGross: {"line_gross", amountColumn, false},
	fLineNet: {"line_net", amountColumn, false}, fLineTotal: {"line_total", amountColumn, false},
	fDiscount: {"discount", amountColumn, false}, fDiscountPercent: {"discount_percent", amountColumn, false},
	fNeedsShipping: {name: "needs_shipping"}, fTaxable: {name: "taxable"},
}

func (f field) String() string { return fields[f].name }

// fieldOf returns the field with a name, or noField.
func fieldOf(name string) field {
	return field(slices.IndexFunc(fields[1:], func(i fieldInfo) bool { return i.name == name }) + 1)
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *field) UnmarshalText(text []byte) error {
	if *f = fieldOf(string(text)); *f == noField && len(text) > 0 {
		return fmt.Errorf("unknown field %q", text)
	}
	return nil
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (f *field) UnmarshalYAML(decode func(any) error) error {
	var name string
	if err := decode(&name); err != nil {
		return err
	}
	return f.UnmarshalText([]byte(name))
}

// Fields are the fields that a column of a spreadsheet can be mapped to, for products and for orders.
var Fields = map[Kind][]string{
	Product: {"sku", "name", "option.value", "description", "price", "msrp", "cost", "quantity", "reorder_point",
		"category_name", "seller_name", "warehouse_name", "bin_location", "upc", "tags", "status", "condition", "images",
		"currency"},
	Order: {"number", "placed_at", "time", "channel", "status", "customer.id", "customer.name", "customer.email", "sku",
		"name", "quantity", "price", "line_total", "cost", "discount", "discount_total", "tax_total", "shipping_total",
		"refund", "refunded_at", "currency"},
}

// labels are what fields are called where the words of the name are not enough, also those of problems of rows.
var labels = map[string]string{
	"sku": "SKU", "msrp": "List price", "upc": "Barcode", "placed_at": "Date of the order", "number": "Order number",
	"time": "Time of the order", "line_total": "Total of the line", "discount": "Discount of the line",
	"discount_total": "Discount of the order", "tax_total": "Tax of the order", "shipping_total": "Shipping of the order",
	"refund": "Refunded amount", "refunded_at": "Date of the refund", "customer.id": "Customer number",
	"customer.name": "Customer name", "customer.email": "Customer e-mail", "category_name": "Category",
	"seller_name": "Seller", "warehouse_name": "Warehouse", "cost": "Cost per unit", "price": "Price per unit",
	"images": "Image URLs", "option.value": "Option, such as size", "unit_price": "Price per unit",
	"unit_cost": "Cost per unit", "sale_from": "Beginning of the sale price", "sale_until": "End of the sale price",
	"cancelled_at": "Date of the cancellation", "label": "Name", "email": "E-mail",
	"restock": "Restocked",
}

// Label returns what a field is called on pages and in readings.
func Label(name string) string {
	if label := labels[name]; label != "" || name == "" {
		return label
	}
	first, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(first)) + strings.ReplaceAll(name[size:], "_", " ")
}

// FormatTitle returns the format of a file for people, or "" if it is not one of another system.
func FormatTitle(name string) string {
	if f := formatOf(formats(), name); f != nil {
		return f.titleText()
	}
	return ""
}

// FormatTitles returns the formats of other systems for people.
func FormatTitles() (titles []string) {
	for _, f := range formats() {
		titles = append(titles, f.titleText())
	}
	return titles
}

// titleText returns the title without what tells formats of the same system apart.
func (f *format) titleText() string {
	title, _, _ := strings.Cut(f.description.Title, " (")
	return title
}
