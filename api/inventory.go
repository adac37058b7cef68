package api

import (
	"net/http"

	"github.com/storeroom/storeroom/catalog"
)

// adjustedJSON is a product with the row of the ledger that changed it last.
type adjustedJSON struct {
	productJSON
	Adjustment adjustmentJSON `json:"adjustment"`
}

type adjustmentJSON struct {
	ID             int64     `json:"id"`
	Type           string    `json:"type"`
	Quantity       int32     `json:"quantity"`
	WarehouseID    int64     `json:"warehouse_id"`
	QuantityBefore int32     `json:"quantity_before"`
	QuantityAfter  int32     `json:"quantity_after"`
	Notes          *string   `json:"notes"`
	APIKey         *named    `json:"api_key"`
	CreatedAt      timestamp `json:"created_at"`
}

func adjustmentShape(a catalog.Adjustment) adjustmentJSON {
	return adjustmentJSON{
		ID: a.ID, Type: a.Type, Quantity: a.Quantity, WarehouseID: a.WarehouseID,
		QuantityBefore: a.QuantityBefore, QuantityAfter: a.QuantityAfter, Notes: a.Notes,
		APIKey: maybeNamed(a.APIKeyID, a.APIKeyName), CreatedAt: timestamp(a.CreatedAt),
	}
}

// adjustInventory answers POST /api/products/{id}/inventory/adjust.
func (s *Server) adjustInventory(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	body, err := s.readBody(r)
	if err != nil {
		return err
	}
	request := catalog.AdjustRequest{
		Type:        body.text("type"),
		Quantity:    body.integer("quantity"),
		WarehouseID: body.reference("warehouse"),
		Notes:       body.text("notes"),
		Expected:    body.integer("expected_quantity"),
	}
	body.ignore("id", "category", "seller", "images", "created_at", "updated_at", "adjustment")
	body.refuseRest()
	p, entry, err := s.catalog.Adjust(r.Context(), actor(r), id, request, body.faults)
	if err != nil {
		return err
	}
	return writeData(w, http.StatusOK, adjustedJSON{productShape(p), adjustmentShape(entry)})
}
