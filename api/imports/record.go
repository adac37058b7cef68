// Package imports reads files of other systems, and our own, as records: products, orders, refunds and so on. Reading
// writes nothing. An Importer computes change plans from the records, applies them and undoes them. Jobs and Changes
// create the plans for the API and the pages.
//
// Open recognises the files of a directory by their headers and returns questions where a file can be read in two ways.
// Set.Records yields the records one after the other, with bounded memory. A record comes after those that it refers
// to; references, channels and customers that are only named in products and orders have no records. A row that cannot
// become a record is yielded too, with its validation errors. Every row is in exactly one record; a row of an order can
// also be in its Refund or Cancellation.
//
// A Record is a changeplan.Row with its content. A planner computes what the records of one kind would change, and adds
// them to the plan as a part. A rowKind for each kind knows how to plan, apply and undo its records.
package imports

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/money"
)

// Kind is what a record becomes.
type Kind = changeplan.RowKind

// Note is something that a user should know about a record.
type Note = changeplan.Note

// Record is a row of a plan with its content, from the reader of a file to the undo of the plan. Exactly one of the
// contents is set, by Kind; if Invalid has the key "", it may be nil. A row that writes nothing is stored without it.
type Record struct {
	changeplan.Row

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
	// Cumulative is the start of the references of refunds whose sum Refund.Amount includes. Stored refunds of the
	// order with such references are subtracted; if zero is left, the row changes nothing.
	Cumulative string `json:",omitempty"`
	// Theirs are the amounts of the order or refund in the file, in cents, by column.
	Theirs map[string]int64 `json:",omitempty"`
	About  string           `json:",omitempty"` // the id of the customer of the order, also if the row has no content
	// Of an archive: the id that a new row gets, and whether it is the default warehouse.
	NewID     int64 `json:",omitempty"`
	IsDefault bool  `json:",omitempty"`

	// What the plan depends on, and what it changes.
	Version *catalog.Version      `json:",omitempty"` // of the stored product
	Change  *sales.CustomerChange `json:",omitempty"`
	Label   *sales.ChannelChange  `json:",omitempty"`
	Renames *rename               `json:",omitempty"` // the default warehouse
	Exceeds bool                  `json:",omitempty"` // the order is refunded above what was paid
	InPlan  bool                  `json:",omitempty"` // an earlier row of the plan changes the product or stores the order

	// While files are read.
	Cancelled bool            `json:"-"` // a record of the group cancels the order
	NamesSale bool            `json:"-"` // Key of a refund may be the number of the refunded order
	Buyer     *sales.Customer `json:"-"` // of such a refund, as far as the file has it
	OldID     int64           `json:"-"` // in an archive

	// While rows are planned and applied.
	Sums          *sales.PlannedOrder `json:"-"` // of an order
	storedID      int64               // of a product or reference that exists
	setsImages    bool                // of an archive: the product gets its images
	isGone        bool                // the product of a filter was deleted in the meantime
	changedFields []string            // of a product by field, which something else has changed
	unsold        money.Cents         // the amount of an ignored order
	refunded      money.Cents         // the cumulative amount that earlier rows of the plan refund, if Cumulative is set
}

// content returns the name, SKU, number or id under which rows of a plan refer to each other, and whether the record
// could be read. Otherwise it has errors. A refund or a cancellation refers to its order.
func (r *Record) content() (key string, isRead bool) {
	switch {
	case r.Product != nil:
		return r.Product.SKU.Value, true
	case r.Channel != nil:
		return r.Channel.Identifier, true
	case r.Customer != nil:
		return r.Customer.ID, true
	case r.Order != nil:
		return r.Order.Number, true
	case r.Refund != nil:
		return r.Refund.OrderNumber, true
	case r.Cancellation != nil:
		return r.Cancellation.OrderNumber, true
	}
	return r.Name, referenceKinds[r.Kind] != ""
}

// shorten removes the cells and the content of rows that write nothing and are not refused. Rows that write something
// keep theirs, because they can still be refused while they are applied.
func (r *Record) shorten() {
	if r.Action != changeplan.Refused && !r.Writes() {
		rows := make([]changeplan.FileRow, len(r.Rows))
		for i, row := range r.Rows {
			rows[i] = changeplan.FileRow{File: row.File, Line: row.Line}
		}
		r.Rows = rows
	}
	if !r.Writes() {
		r.Product, r.Channel, r.Customer, r.Order, r.Cancellation = nil, nil, nil, nil, nil
		if !r.Exceeds {
			r.Refund = nil
		}
	}
}

// unread returns the columns with errors of the file itself. Whether a return belongs to an order depends on what is
// stored.
func (r *Record) unread() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(r.Invalid)), func(column string) bool {
		return r.NamesSale && column == "order_number"
	})
}

// set sets the action of a row from an outcome of catalog or sales and its error.
func (r *Record) set(outcome string, err error) {
	switch r.Action = changeplan.Action(outcome); r.Action {
	case changeplan.Created, changeplan.Updated, changeplan.Unchanged:
		if len(r.Invalid) == 0 {
			return
		}
	}
	r.Action = changeplan.Refused
	r.addError(err)
}

const changedSincePlan = "has changed since the plan"

// addError adds an error of catalog or sales to the errors by column: "category" for "category_id".
func (r *Record) addError(err error) {
	if r.Invalid == nil {
		r.Invalid = tenancy.InvalidError{}
	}
	invalid, ok := errors.AsType[tenancy.InvalidError](err)
	switch {
	case ok:
		for field, messages := range invalid {
			column := field
			if r.Product == nil || !r.Product.ByField {
				column = strings.TrimSuffix(strings.TrimSuffix(field, "_id"), ".id")
			}
			if len(r.Invalid[column]) == 0 {
				r.Invalid[column] = messages
			}
		}
	case errors.Is(err, catalog.ErrInsufficientStock):
		r.Invalid.Add("quantity", "would take the stock of the product's own warehouse below zero")
	case errors.Is(err, catalog.ErrPrecondition):
		r.Invalid.Add("", changedSincePlan)
	case errors.Is(err, tenancy.ErrNotFound):
		if len(r.Invalid["order_number"]) == 0 {
			r.Invalid.Add("order_number", "is not the number of a stored order")
		}
	case err != nil:
		r.Invalid.Add("", "%v", err)
	}
}

// keep returns a row that something else has changed.
func (r *Record) keep() tenancy.Kept {
	kept := tenancy.Kept{Key: r.Key, Reason: changedSincePlan, ID: r.ProductID, Fields: r.changedFields}
	if fields := slices.Sorted(maps.Keys(r.Invalid)); len(fields) > 0 {
		kept.Reason = strings.TrimSpace(fields[0] + " " + r.Invalid[fields[0]][0])
	}
	return kept
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
	Rounding *Rounding           `json:"rounding,omitempty"`
	// Answered are the IDs of questions about the file that the settings answer.
	Answered []string `json:"answered,omitempty"`
}

// Rounding is an offer: amounts with more than two decimals are refused, unless the setting rounding is round.
type Rounding struct {
	Count    int      `json:"count"`
	Examples []string `json:"examples"`
	Change   string   `json:"change"` // of the sum of these amounts
}

// Question is something that a user must answer with the setting ID before the files can be read.
type Question struct {
	ID       string   `json:"id"` // the name of a setting
	File     string   `json:"file"`
	Column   string   `json:"column,omitempty"`
	Examples []string `json:"examples,omitempty"`
	Choices  []string `json:"choices,omitempty"`
	// Readings are what values of the file are with each choice: {"dmy": ["3 April 2026"], "mdy": ["4 March 2026"]}.
	Readings map[string][]string `json:"readings,omitempty"`
	Reason   string              `json:"reason,omitempty"` // of mapping: what is missing, or must not be there
}

// statusKey begins the key of a question what a status means.
const statusKey = "statuses "

// key identifies what a question asks: its ID, and the status.
func (q Question) key() string {
	if q.ID == "statuses" {
		return statusKey + q.Word()
	}
	return q.ID
}

// Word returns the status that a question about one is about, or "" if it was erased.
func (q Question) Word() string {
	if len(q.Examples) == 0 {
		return ""
	}
	return q.Examples[0]
}

// Set is a set of recognised files.
type Set struct {
	Files     []File
	Questions []Question // if there are any, Records must not be called
	Answered  []Question // that the settings answer
	records   func(context.Context) iter.Seq2[Record, error]
	archive   *archive               // or nil
	kept      map[string]keptPicture // pictures of earlier turns; nil if there is one turn only
}

// Records reads the files again and yields their records, with temporary files while it does. An error means that a
// file cannot be read to its end; it is the last element.
func (s *Set) Records(ctx context.Context) iter.Seq2[Record, error] { return s.records(ctx) }
