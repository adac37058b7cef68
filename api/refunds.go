package api

import (
	"encoding/json"
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
	results, err := s.sales(r).WithStock(actor(r)).Refund(r.Context(), tenant(r), []sales.RefundRow{body.refund(number)})
	if err != nil {
		return err
	}
	if err := results[0].Err; err != nil {
		return err
	}
	o, err := s.sales(r).Order(r.Context(), tenant(r), number)
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
		Tax:         optional(o, "tax", parseMoney),
		Shipping:    optional(o, "shipping", parseMoney),
		Items:       o.refundItems(),
	}
	if restock := notNull(o, "restock", parseBool); restock != nil {
		sent.Restock = *restock
	}
	sent.RestockItems = o.restockItems()
	o.rejectUnknown()
	return sales.RefundRow{Refund: sent, Invalid: o.errs}
}

// refundItems takes the items that a refund names; nil is all of them.
func (o *object) refundItems() []sales.RefundItem {
	return optionalItems(o, "items", func(item *object) sales.RefundItem {
		return sales.RefundItem{
			Line: required(item, "line", parseInteger), Quantity: optional(item, "quantity", parseInteger),
			Amount: optional(item, "amount", parseMoney),
		}
	})
}

// restockItems takes the parts of items that a refund returns to stock; nil is all of them.
func (o *object) restockItems() []sales.RestockItem {
	return optionalItems(o, "restock_items", func(item *object) sales.RestockItem {
		return sales.RestockItem{
			Line: required(item, "line", parseInteger), Quantity: required(item, "quantity", parseInteger),
		}
	})
}

// optionalItems takes an array of objects for lines of an order; nil means absent.
func optionalItems[T any](o *object, name string, read func(*object) T) []T {
	elements := optional(o, name, func(raw json.RawMessage) ([]json.RawMessage, error) {
		return splitArray(raw, sales.MaxItems, "an array of objects")
	})
	if elements == nil {
		return nil
	}
	items := make([]T, len(*elements))
	err := o.eachElement(name, *elements, func(i int, path string) {
		item, err := o.nested(path, (*elements)[i])
		if err != nil {
			o.addError(path, err.Error())
			return
		}
		items[i] = read(item)
		item.rejectUnknown()
	})
	if err != nil {
		o.addError(name, err.Error())
	}
	return items
}

// writeRefund sends the stored refund with the given result.
func writeRefund(w http.ResponseWriter, o sales.StoredOrder, result sales.Result) error {
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
