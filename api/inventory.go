package api

import (
	"net/http"

	"github.com/storeroom/storeroom/catalog"
)

// adjustedJSON is a product with the adjustment that changed its stock.
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
	OrderNumber    *string   `json:"order_number"`
	Reason         *string   `json:"reason"`
}

func adjustmentShape(a catalog.Adjustment) adjustmentJSON {
	return adjustmentJSON{
		ID: a.ID, Type: a.Type, Quantity: a.Quantity, WarehouseID: a.WarehouseID,
		QuantityBefore: a.QuantityBefore, QuantityAfter: a.QuantityAfter, Notes: a.Notes,
		APIKey: optionalNamed(a.APIKeyID, a.APIKeyName), CreatedAt: timestamp(a.CreatedAt),
		OrderNumber: a.OrderNumber, Reason: a.Reason,
	}
}

// adjustInventory handles POST /api/products/{id}/inventory/adjust.
func (s *Server) adjustInventory(w http.ResponseWriter, r *http.Request, id int64) error {
	precondition, err := s.precondition(r)
	if err != nil {
		return err
	}
	body, err := readBody(r)
	if err != nil {
		return err
	}
	request := catalog.AdjustRequest{
		Type:         body.text("type"),
		Quantity:     body.integer("quantity"),
		WarehouseID:  body.reference("warehouse"),
		Notes:        body.text("notes"),
		Expected:     body.integer("expected_quantity"),
		Precondition: precondition,
	}
	body.ignore("id", "category", "seller", "images", "created_at", "updated_at", "adjustment")
	body.rejectUnknown()
	p, entry, err := s.catalog(r).Adjust(r.Context(), actor(r), id, request, body.errs)
	if err != nil {
		return err
	}
	return writeData(w, http.StatusOK, adjustedJSON{s.productShape(p), adjustmentShape(entry)})
}

// listAdjustments handles GET /api/products/{id}/inventory/adjustments: the
// product's ledger, newest first.
func (s *Server) listAdjustments(w http.ResponseWriter, r *http.Request) error {
	q := readQuery(r)
	id := q.pathID(r, "id")
	f := catalog.LedgerFilter{
		Type:        q.oneOf("type", catalog.AdjustmentTypes...),
		WarehouseID: q.id("warehouse_id"),
		Page:        q.page(),
	}
	var err error
	if f.From, f.Before, err = q.days(r); err != nil {
		return err
	}
	if err := q.err(); err != nil {
		return err
	}
	page, err := s.catalog(r).Adjustments(r.Context(), tenant(r), id, f)
	if err != nil {
		return err
	}
	return writePage(w, r, f.Page, page, adjustmentShape)
}

type inventoryJSON struct {
	ProductID  int64           `json:"product_id"`
	Quantity   int64           `json:"quantity"`
	Warehouses []warehouseJSON `json:"warehouses"`
}

type warehouseJSON struct {
	Warehouse named `json:"warehouse"`
	Quantity  int32 `json:"quantity"`
}

// showInventory handles GET /api/products/{id}/inventory, the stock of a product by
// warehouse.
func (s *Server) showInventory(w http.ResponseWriter, r *http.Request, id int64) error {
	held, err := s.catalog(r).Inventory(r.Context(), tenant(r), id)
	if err != nil {
		return err
	}
	return writeData(w, http.StatusOK, inventoryShape(id, held))
}

func inventoryShape(product int64, held []catalog.WarehouseStock) inventoryJSON {
	shown := inventoryJSON{ProductID: product, Warehouses: make([]warehouseJSON, len(held))}
	for i, h := range held {
		shown.Quantity += int64(h.Quantity)
		shown.Warehouses[i] = warehouseJSON{named{h.WarehouseID, h.WarehouseName}, h.Quantity}
	}
	return shown
}
