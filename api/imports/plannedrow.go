package imports

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/money"
)

// Action is what happens to a row of a plan.
type Action string

// The actions.
const (
	Created   Action = "created"
	Updated   Action = "updated"
	Unchanged Action = "unchanged"
	Refused   Action = "refused"
	Ignored   Action = "ignored"
)

// PlannedRow is a record in a plan. Only created and updated rows have their content. Old and New are the fields that
// change.
type PlannedRow struct {
	Record
	Action     Action
	Unread     []string              `json:",omitempty"` // columns with errors that were found before anything stored was read
	Old, New   map[string]any        `json:",omitempty"`
	Version    *catalog.Version      `json:",omitempty"` // of the stored product
	Change     *sales.CustomerChange `json:",omitempty"`
	Label      *sales.ChannelChange  `json:",omitempty"`
	setsImages bool                  // of an archive: the product gets its images
	Renames    *rename               `json:",omitempty"` // the default warehouse
	Exceeds    bool                  `json:",omitempty"` // the order is refunded above what was paid
	InPlan     bool                  `json:",omitempty"` // an earlier row of the plan changes the product or stores the order
	Sums       *sales.PlannedOrder   `json:"-"`          // of an order
	storedID   int64                 // of a product or reference that exists
	ProductID  int64                 `json:",omitempty"` // of a product that exists, if its fields are compared
	was        *catalog.Version      // with which the product is compared
	isGone     bool                  // the product of a filter was deleted in the meantime
	// kept is set if something else has changed the row; for a row by field it names the fields.
	kept *tenancy.Kept
	// refunded is the cumulative amount that earlier rows of the plan refund, if Cumulative is set.
	refunded money.Cents
}

func (r *PlannedRow) writes() bool { return r.Action == Created || r.Action == Updated }

// shorten removes the cells and the content of rows that write nothing and are not refused. Rows that write something
// keep theirs, because they can still be refused while they are applied.
func (r *PlannedRow) shorten() {
	if r.Action != Refused && !r.writes() {
		rows := make([]Row, len(r.Rows))
		for i, row := range r.Rows {
			rows[i] = Row{File: row.File, Line: row.Line}
		}
		r.Rows = rows
	}
	if !r.writes() {
		r.Product, r.Channel, r.Customer, r.Order, r.Cancellation = nil, nil, nil, nil, nil
		if !r.Exceeds {
			r.Refund = nil
		}
	}
}

// unread returns the columns with errors of the file itself. Whether a return belongs to an order depends on what is
// stored.
func (r Record) unread() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(r.Invalid)), func(column string) bool {
		return r.NamesSale && column == "order_number"
	})
}

// hasContent reports whether a record could be read. Otherwise it has errors.
func (r Record) hasContent() bool {
	switch r.Kind {
	case Product, Stock:
		return r.Product != nil
	case Channel:
		return r.Channel != nil
	case Customer:
		return r.Customer != nil
	case Order:
		return r.Order != nil
	case Refund:
		return r.Refund != nil
	case Cancellation:
		return r.Cancellation != nil
	}
	return true
}

// set sets the action of a row from an outcome of catalog or sales and its error.
func (r *PlannedRow) set(outcome string, err error) {
	switch r.Action = Action(outcome); r.Action {
	case Created, Updated, Unchanged:
		if len(r.Invalid) == 0 {
			return
		}
	}
	r.Action = Refused
	r.addError(err)
}

// addError adds an error of catalog or sales to the errors by column: "category" for "category_id".
func (r *PlannedRow) addError(err error) {
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
		r.Invalid.Add("", "has changed since the plan")
	case errors.Is(err, tenancy.ErrNotFound):
		if len(r.Invalid["order_number"]) == 0 {
			r.Invalid.Add("order_number", "is not the number of a stored order")
		}
	case err != nil:
		r.Invalid.Add("", "%v", err)
	}
}

func count(c *changeplan.Counts, a Action) {
	switch a {
	case Created:
		c.Created++
	case Updated:
		c.Updated++
	case Unchanged:
		c.Unchanged++
	case Ignored:
		c.Ignored++
	default:
		c.Refused++
	}
}
