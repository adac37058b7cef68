package api

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/storeroom/storeroom/catalog"
)

// listAdjustments answers GET /api/products/{id}/inventory/adjustments: the
// product's ledger, newest first.
func (s *Server) listAdjustments(w http.ResponseWriter, r *http.Request) error {
	id, fault := parseInteger(chi.URLParam(r, "id"))
	q := readQuery(r)
	if fault != "" {
		q.faults.Add("id", "%s", fault)
	}
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
	page, err := s.catalog.Adjustments(r.Context(), tenant(r), id, f)
	if err != nil {
		return err
	}
	return writePage(w, f.Page, page, adjustmentShape)
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

// showInventory answers GET /api/products/{id}/inventory: what each warehouse
// holds.
func (s *Server) showInventory(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	held, err := s.catalog.Inventory(r.Context(), tenant(r), id)
	if err != nil {
		return err
	}
	shown := inventoryJSON{ProductID: id, Warehouses: make([]warehouseJSON, len(held))}
	for i, h := range held {
		shown.Quantity += int64(h.Quantity)
		shown.Warehouses[i] = warehouseJSON{named{h.WarehouseID, h.WarehouseName}, h.Quantity}
	}
	return writeData(w, http.StatusOK, shown)
}
