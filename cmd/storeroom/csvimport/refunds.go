package csvimport

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
)

var refundColumns = columns{[]string{"order_number", "refunded_at", "amount", "reference"}, 3, "order_number"}

func (r *run) loadRefunds(ctx context.Context) error {
	occurrences := map[shortHash]int{} // of equal refunds
	exceeding := map[string]bool{}     // numbers of orders that are refunded above what was paid
	return r.eachBatch(ctx, "refunds", refundColumns, func(ctx context.Context, rows []row) error {
		refunds := make([]sales.RefundRow, len(rows))
		for i, w := range rows {
			refunds[i] = newRefund(w, occurrences)
		}
		results, err := r.sales.Refund(ctx, r.tenant, refunds)
		for i, result := range results {
			if !r.count().add(string(result.Outcome), 1) {
				r.refuse(rows[i].with(refundErrors(rows[i].invalid, result.Err)))
			}
			if result.ExceedsPaid {
				exceeding[refunds[i].OrderNumber] = true
			}
		}
		r.report.Exceeding = len(exceeding)
		return err
	})
}

// newRefund reads a row. Without a reference, one is made of the content and of the number of equal
// rows before it: two equal refunds of an order are both stored, and a second import of the
// file stores nothing. Stored references must not change.
func newRefund(w row, occurrences map[shortHash]int) sales.RefundRow {
	refund := sales.Refund{OrderNumber: w.id("order_number"), RefundedAt: cell(w, "refunded_at", parseTime)}
	amount := cell(w, "amount", parseMoney)
	w.require(refundColumns.names[:refundColumns.required]...)
	if len(w.invalid) == 0 {
		refund.Amount = *amount
		content := refund.RefundedAt.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano) + ":" + amount.String()
		equal := hash(refund.OrderNumber + " " + content)
		occurrences[equal]++
		refund.Reference = new(fmt.Sprintf("import:%s:%d", content, occurrences[equal]))
		if reference := cell(w, "reference", parseText); reference != nil {
			refund.Reference = reference
		}
	}
	return sales.RefundRow{Refund: refund, Invalid: w.invalid}
}

// refundErrors adds the error of a refused refund to the errors of its row.
func refundErrors(invalid tenancy.InvalidError, err error) tenancy.InvalidError {
	if all, ok := errors.AsType[tenancy.InvalidError](err); ok {
		return all
	}
	if len(invalid["order_number"]) == 0 {
		invalid.Add("order_number", "is not the number of a stored order")
	}
	return invalid
}

// shortHash identifies a text in 16 bytes.
type shortHash [16]byte

func hash(s string) shortHash {
	sum := sha256.Sum256([]byte(s))
	return shortHash(sum[:])
}
