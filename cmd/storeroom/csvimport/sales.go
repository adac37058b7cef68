package csvimport

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

var (
	channelColumns = columns{[]string{"identifier", "label"}, 2, "identifier"}
	// The country is read over: no report tells sales by it.
	customerColumns = columns{[]string{"id", "name", "email", "country"}, 1, "id"}
	refundColumns   = columns{[]string{"order_number", "refunded_at", "amount"}, 3, "order_number"}
)

func (r *run) loadChannels(ctx context.Context, rows []row) error {
	return r.ensure(rows, func(rows []row) (sales.Count, error) {
		channels := make([]sales.Channel, len(rows))
		for i, w := range rows {
			channels[i] = sales.Channel{Identifier: number(w, "identifier"), Label: unguard(w.cells["label"])}
		}
		return r.sales.EnsureChannels(ctx, r.tenant, channels)
	})
}

func (r *run) loadCustomers(ctx context.Context, rows []row) error {
	return r.ensure(rows, func(rows []row) (sales.Count, error) {
		customers := make([]sales.Customer, len(rows))
		for i, w := range rows {
			customers[i] = sales.Customer{ID: number(w, "id"), Name: optional(w, "name"), Email: optional(w, "email")}
		}
		return r.sales.EnsureCustomers(ctx, r.tenant, customers)
	})
}

// ensure stores the rows that break no rule: those that store finds fault with are
// refused, and it is asked again without them.
func (r *run) ensure(rows []row, store func([]row) (sales.Count, error)) error {
	stored, err := store(rows)
	if invalid, ok := errors.AsType[tenancy.InvalidError](err); ok {
		rows = r.sound(rows, invalid)
		stored, err = store(rows)
	}
	c := r.count()
	c.Created += stored.Created
	c.Updated += stored.Updated
	c.Unchanged += len(rows) - stored.Created - stored.Updated // one may stand twice
	return err
}

// sound refuses the rows that have a fault, and returns the others.
func (r *run) sound(rows []row, invalid tenancy.InvalidError) []row {
	faults := make([]tenancy.InvalidError, len(rows))
	for path, messages := range invalid {
		i, field, _ := placed(path)
		if faults[i] == nil {
			faults[i] = tenancy.InvalidError{}
		}
		if rows[i].cells[field] == "" {
			messages = []string{"is required"}
		}
		faults[i][field] = messages
	}
	var kept []row
	for i, w := range rows {
		if faults[i] == nil {
			kept = append(kept, w)
		} else {
			r.refuse(w, faults[i])
		}
	}
	return kept
}

var onePlace = regexp.MustCompile(`^\w+\[([0-9]+)\]\.(.+)$`)

// placed takes a path such as items[3].unit_price apart.
func placed(path string) (i int, field string, ok bool) {
	parts := onePlace.FindStringSubmatch(path)
	if parts == nil {
		return 0, path, false
	}
	i, err := strconv.Atoi(parts[1])
	return i, parts[2], err == nil
}

// refundRows is what is kept of all of refunds.csv: a hash and a count of each
// refund, and the orders that are refunded above what was paid.
type refundRows struct {
	seen      map[[16]byte]int
	exceeding map[string]bool
}

func (r *run) refunds(ctx context.Context) error {
	all := refundRows{map[[16]byte]int{}, map[string]bool{}}
	err := r.each(ctx, "refunds", refundColumns, func(ctx context.Context, rows []row) error {
		refunds := make([]sales.RefundRow, len(rows))
		for i, w := range rows {
			refunds[i] = all.refund(w)
		}
		results, err := r.sales.Refund(ctx, r.tenant, refunds)
		for i, result := range results {
			switch {
			case result.Outcome == sales.Created:
				r.count().Created++
			case result.Outcome == sales.Unchanged:
				r.count().Unchanged++
			default:
				r.refuse(rows[i], refundFaults(refunds[i], result.Err))
			}
			if result.ExceedsPaid {
				all.exceeding[refunds[i].OrderNumber] = true
			}
		}
		r.report.Exceeding = len(all.exceeding)
		return err
	})
	if len(all.seen) > batchSize {
		Analyze(ctx, r.db)
	}
	return err
}

// refund reads a row. Its reference is made of what it says and of how many said
// the same before it, so that the file counts once however often it is imported,
// and two equal refunds of an order are two.
func (all refundRows) refund(w row) sales.RefundRow {
	faults := tenancy.InvalidError{}
	refund := sales.Refund{OrderNumber: number(w, "order_number"), RefundedAt: instant(w, "refunded_at", faults)}
	amount := cents(w, "amount", faults)
	for _, column := range refundColumns.names {
		required(w, column, faults)
	}
	if len(faults) == 0 {
		refund.Amount = *amount
		text := refund.RefundedAt.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano) + ":" + amount.String()
		same := hash(refund.OrderNumber + " " + text)
		all.seen[same]++
		refund.Reference = new(fmt.Sprintf("import:%s:%d", text, all.seen[same]))
	}
	return sales.RefundRow{Refund: refund, Invalid: faults}
}

// refundFaults adds to the row's own faults what the sales found.
func refundFaults(refund sales.RefundRow, err error) tenancy.InvalidError {
	faults := refund.Invalid.Clone()
	if invalid, ok := errors.AsType[tenancy.InvalidError](err); ok {
		return invalid
	}
	if len(faults["order_number"]) == 0 {
		faults.Add("order_number", "is not the number of an order")
	}
	return faults
}

// hash stands for a text, in 16 bytes.
func hash(s string) [16]byte {
	sum := sha256.Sum256([]byte(s))
	return [16]byte(sum[:])
}

// required notes that a cell is empty which must not be.
func required(w row, column string, faults tenancy.InvalidError) {
	if w.cells[column] == "" {
		faults.Add(column, "is required")
	}
}

// number is a text by which something is known, such as the number of an order.
func number(w row, column string) string { return strings.TrimSpace(unguard(w.cells[column])) }

func optional(w row, column string) *string {
	cell, there := w.cells[column]
	if !there {
		return nil
	}
	return new(unguard(cell))
}

func cents(w row, column string, faults tenancy.InvalidError) *money.Cents {
	field := amount(w, column, faults)
	if !field.Set {
		return nil
	}
	return &field.Value
}

func instant(w row, column string, faults tenancy.InvalidError) *time.Time {
	cell, there := w.cells[column]
	if !there {
		return nil
	}
	at, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(cell))
	if err != nil {
		faults.Add(column, "must be a time of RFC 3339 such as 2026-03-01T09:30:00Z")
	}
	return &at
}
