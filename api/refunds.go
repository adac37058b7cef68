package api

import (
	"net/http"

	"github.com/storeroom/storeroom/reports/sales"
)

// newRefundJSON is the response to a refund.
type newRefundJSON struct {
	refundJSON
	OrderNumber string `json:"order_number"`
	ExceedsPaid bool   `json:"exceeds_paid"`
}

// refundOrder handles POST /api/orders/{number}/refunds. A resent refund is a 200.
func (s *Server) refundOrder(w http.ResponseWriter, r *http.Request, number string) error {
	body, err := readBody(r)
	if err != nil {
		return err
	}
	results, err := s.Sales.Refund(r.Context(), tenant(r), []sales.RefundRow{body.refund(number)})
	if err != nil {
		return err
	}
	if err := results[0].Err; err != nil {
		return err
	}
	o, err := s.Sales.Order(r.Context(), tenant(r), number)
	if err != nil {
		return err
	}
	if results[0].Outcome == sales.Created {
		countRows(r, "refund", 1)
	}
	return writeRefund(w, o, results[0])
}

// refund takes the fields of a refund.
func (o *object) refund(number string) sales.RefundRow {
	sent := sales.Refund{
		OrderNumber: number,
		Amount:      required(o, "amount", parseMoney),
		RefundedAt:  optional(o, "refunded_at", parseTime),
		Reference:   optional(o, "reference", parseText),
	}
	o.rejectUnknown()
	return sales.RefundRow{Refund: sent, Invalid: o.errs}
}

// writeRefund sends the stored refund with the given result.
func writeRefund(w http.ResponseWriter, o sales.StoredOrder, result sales.RefundResult) error {
	shown := newRefundJSON{OrderNumber: o.Number, ExceedsPaid: result.ExceedsPaid}
	for _, given := range o.Refunds {
		if given.ID == result.ID {
			shown.refundJSON = refundShape(given)
		}
	}
	if result.Outcome == sales.Unchanged {
		return writeData(w, http.StatusOK, shown)
	}
	return writeData(w, http.StatusCreated, shown)
}
