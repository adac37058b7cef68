// Package imports reads files of other systems, and our own, as records: products, orders, refunds and so on. Reading
// writes nothing. An Importer computes change plans from the records, applies them and undoes them. Jobs and Changes
// create and list the plans for the API and the pages.
//
// Open recognises the files of a directory by their headers and returns questions where a file can be read in two ways.
// Set.Records yields the records one after the other, with bounded memory. A record comes after those that it refers
// to; references, channels and customers that are only named in products and orders have no records. A row that cannot
// become a record is yielded too, with its validation errors. Every row is in exactly one record; a row of an order can
// also be in its Refund or Cancellation.
package imports

import (
	"context"
	"iter"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
)

// Kind is what a record becomes.
type Kind string

// The kinds. Records of references, products, stock, channels and customers come in this sequence. Orders follow, each
// with its refunds and its cancellation after it or at the end of all.
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

// Record is a row of a file, or the rows of an order. Exactly one of the contents is set, by Kind; if Invalid has the
// key "", it may be nil.
type Record struct {
	Kind Kind
	Key  string // the SKU, name, number or id; "" if the row has none
	Rows []Row  // of an order: in the sequence of the files

	Name         string              `json:",omitempty"` // of a category, seller or warehouse
	Product      *catalog.PlanRow    `json:",omitempty"` // also of stock
	Channel      *sales.Channel      `json:",omitempty"`
	Customer     *sales.Customer     `json:",omitempty"`
	Order        *sales.Order        `json:",omitempty"`
	Refund       *sales.Refund       `json:",omitempty"`
	Cancellation *sales.Cancellation `json:",omitempty"`

	// AsStored means that an order or a refund that exists is compared with what is stored, not with what was sent. Nth is
	// n if a refund is the nth of equal ones without a reference in its file.
	AsStored bool `json:",omitempty"`
	Nth      int  `json:",omitempty"`

	About     string          `json:",omitempty"` // the id of the customer of the order, also if the row has no content
	Cancelled bool            `json:"-"`          // a record of the group cancels the order
	NamesSale bool            `json:"-"`          // Key of a refund may be the number of a stored order, which then is the refunded one
	Buyer     *sales.Customer `json:"-"`          // of such a refund, as far as the file has it
	// Of an archive: the id in it, the one that a new row gets, and whether it is the default warehouse.
	OldID     int64 `json:"-"`
	NewID     int64 `json:",omitempty"`
	IsDefault bool  `json:",omitempty"`

	ItemRows []int `json:",omitempty"` // of each item of Order, its index in Rows
	Omitted  int   `json:",omitempty"` // rows of an order that is refused because it has too many; they are not in Rows
	// Cumulative is the start of the references of refunds whose sum Refund.Amount includes. Stored refunds of the
	// order with such references are subtracted; if zero is left, the row changes nothing.
	Cumulative string `json:",omitempty"`
	// Theirs are the amounts of the order or refund in the file, in cents, by column.
	Theirs  map[string]int64     `json:",omitempty"`
	Notes   []Note               `json:",omitempty"`
	Ignored string               `json:",omitempty"` // why the rows are ignored; there is no content then
	Invalid tenancy.InvalidError `json:",omitempty"` // by column; "" is a whole row. Items as items[3].quantity
}

// Row is one row of a file.
type Row struct {
	File  string
	Line  int      // the first of the row, or the row of a sheet
	Cells []string `json:",omitempty"` // as they are in the file, for the file of refused rows
}

// Note is something that a user should know about a record. Equal texts are counted and their amounts added up.
type Note struct {
	Text   string
	Amount int64 `json:",omitempty"` // in cents; 0 if the note is not about money
}

// Settings are the user's answers. The zero value is valid.
type Settings struct {
	// Mapping holds the fields of columns by file: {"sales.csv": {"Artikel-Nr.": "sku"}}. An empty field ignores the
	// column. A file with a mapping is read as a plain spreadsheet.
	Mapping      map[string]map[string]string `json:"mapping,omitempty"`
	DateOrder    string                       `json:"date_order,omitempty"`    // dmy or mdy
	Decimal      string                       `json:"decimal,omitempty"`       // , or .
	Timezone     string                       `json:"timezone,omitempty"`      // of times without one; default the tenant's
	Channel      string                       `json:"channel,omitempty"`       // of all orders
	MissingSKU   string                       `json:"missing_sku,omitempty"`   // derive or refuse
	Refunds      string                       `json:"refunds,omitempty"`       // attach or leave_out those without an order
	TaxIncluded  string                       `json:"tax_included,omitempty"`  // yes or no, for a plain spreadsheet
	RestoreZeros bool                         `json:"restore_zeros,omitempty"` // of barcodes
}

// Tenant is what reading depends on.
type Tenant struct {
	Currency string
	Timezone *time.Location
}

// File is one file, also one of those in a ZIP.
type File struct {
	Name   string   `json:"name"`
	Size   int64    `json:"size"`   // as it was uploaded
	Format string   `json:"format"` // such as shopify_orders; "" is not recognised and needs a mapping
	Sheet  string   `json:"sheet,omitempty"`
	Header []string `json:"header,omitempty"`
	Rows   int      `json:"rows"`             // without the header and what is above it
	Unused []string `json:"unused,omitempty"` // columns without a meaning here
	// Mapping is the proposed or given field of each column of a plain spreadsheet, Examples are values by column.
	Mapping  map[string]string   `json:"mapping,omitempty"`
	Examples map[string][]string `json:"examples,omitempty"`
	Problem  string              `json:"problem,omitempty"` // why the file is not read at all
}

// Question is something that a user must answer with the setting ID before the files can be read.
type Question struct {
	ID       string   `json:"id"` // mapping, date_order, decimal, missing_sku, refunds or tax_included
	File     string   `json:"file"`
	Column   string   `json:"column,omitempty"`
	Examples []string `json:"examples,omitempty"`
	Choices  []string `json:"choices,omitempty"`
}

// Set is a set of recognised files.
type Set struct {
	Files     []File
	Questions []Question // if there are any, Records must not be called
	records   func(context.Context) iter.Seq2[Record, error]
	progress  func() (file string, read, size int64)
	archive   *archive               // or nil
	kept      map[string]keptPicture // pictures of earlier turns; nil if there is one turn only
}

// Records reads the files again and yields their records, with temporary files while it does. An error means that a
// file cannot be read to its end; it is the last element.
func (s *Set) Records(ctx context.Context) iter.Seq2[Record, error] { return s.records(ctx) }

// Progress returns the file of the last record, the rows of the records so far, and the rows of all files. It must not
// be called while Records reads the next record.
func (s *Set) Progress() (file string, read, size int64) { return s.progress() }
