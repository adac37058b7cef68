package api

import (
	"net/http"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

// productJSON is a product as responses show it. Every field is always there.
type productJSON struct {
	ID           int64           `json:"id"`
	SKU          string          `json:"sku"`
	Name         string          `json:"name"`
	Description  *string         `json:"description"`
	Price        money.Cents     `json:"price"`
	MSRP         *money.Cents    `json:"msrp"`
	Cost         *money.Cents    `json:"cost"`
	Status       string          `json:"status"`
	Condition    string          `json:"condition"`
	Quantity     int32           `json:"quantity"`
	ReorderPoint *int32          `json:"reorder_point"`
	Category     *named          `json:"category"`
	Seller       *named          `json:"seller"`
	Warehouse    *named          `json:"warehouse"`
	BinLocation  *string         `json:"bin_location"`
	UPC          *string         `json:"upc"`
	Tags         []string        `json:"tags"`
	Images       []catalog.Image `json:"images"`
	CreatedAt    timestamp       `json:"created_at"`
	UpdatedAt    timestamp       `json:"updated_at"`
}

func productShape(p catalog.Product) productJSON {
	return productJSON{
		ID: p.ID, SKU: p.SKU, Name: p.Name, Description: p.Description,
		Price: p.Price, MSRP: p.MSRP, Cost: p.Cost, Status: p.Status, Condition: p.Condition,
		Quantity: p.Quantity, ReorderPoint: p.ReorderPoint,
		Category:    maybeNamed(p.CategoryID, p.CategoryName),
		Seller:      maybeNamed(p.SellerID, p.SellerName),
		Warehouse:   &named{p.WarehouseID, p.WarehouseName},
		BinLocation: p.BinLocation, UPC: p.UPC,
		Tags: orEmpty(p.Tags), Images: orEmpty(p.Images),
		CreatedAt: timestamp(p.CreatedAt), UpdatedAt: timestamp(p.UpdatedAt),
	}
}

// orEmpty keeps JSON from saying null for an empty list.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// actor is who the ledger names.
func actor(r *http.Request) catalog.Actor {
	p := principal(r)
	return catalog.Actor{Tenant: p.Tenant.ID, KeyID: &p.KeyID}
}

func tenant(r *http.Request) tenancy.ID { return principal(r).Tenant.ID }

// listProducts answers GET /api/products.
func (s *Server) listProducts(w http.ResponseWriter, r *http.Request) error {
	f, err := readFilter(r)
	if err != nil {
		return err
	}
	page, err := s.catalog.List(r.Context(), tenant(r), f)
	if err != nil {
		return err
	}
	return writePage(w, f.Pages, page, productShape)
}

// readFilter reads the parameters of a product list. Days are the tenant's.
func readFilter(r *http.Request) (catalog.Filter, error) {
	q := readQuery(r)
	f := catalog.Filter{
		Search:      q.text("search"),
		Status:      q.oneOf("status", catalog.Statuses...),
		CategoryID:  q.id("category_id"),
		SellerID:    q.id("seller_id"),
		WarehouseID: q.id("warehouse_id"),
		Tag:         q.nonEmpty("tag"),
		Order:       q.order(catalog.ProductOrders),
		Pages:       q.pages(),
	}
	if alias := q.id("category"); alias != nil {
		if f.CategoryID != nil && *f.CategoryID != *alias {
			q.faults.Add("category", "must be the same as category_id where both are given")
		}
		f.CategoryID = alias
	}
	zone, err := principal(r).Tenant.Location()
	if err != nil {
		return f, err
	}
	if day := q.day("from"); day != nil {
		f.CreatedFrom = startOfDay(*day, zone)
	}
	if day := q.day("to"); day != nil {
		f.CreatedBefore = startOfDay(day.AddDate(0, 0, 1), zone)
	}
	return f, q.err()
}

// showProduct answers GET /api/products/{id}.
func (s *Server) showProduct(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	p, err := s.catalog.Product(r.Context(), tenant(r), id)
	if err != nil {
		return err
	}
	return writeData(w, http.StatusOK, productShape(p))
}

// showProductBySKU answers GET /api/products/sku/{sku}.
func (s *Server) showProductBySKU(w http.ResponseWriter, r *http.Request) error {
	sku, err := pathSKU(r)
	if err != nil {
		return err
	}
	p, err := s.catalog.ProductBySKU(r.Context(), tenant(r), sku)
	if err != nil {
		return err
	}
	return writeData(w, http.StatusOK, productShape(p))
}

// readProduct reads what POST, PUT and PATCH send. Fields that only responses have
// are accepted, so that what GET returned can be sent back.
func (s *Server) readProduct(r *http.Request) (catalog.Changes, tenancy.InvalidError, error) {
	body, err := s.readBody(r)
	if err != nil {
		return catalog.Changes{}, nil, err
	}
	c := catalog.Changes{
		SKU:          body.text("sku"),
		Name:         body.text("name"),
		Description:  body.text("description"),
		Price:        body.money("price"),
		MSRP:         body.money("msrp"),
		Cost:         body.money("cost"),
		Status:       body.text("status"),
		Condition:    body.text("condition"),
		Quantity:     body.integer("quantity"),
		ReorderPoint: body.integer("reorder_point"),
		CategoryID:   body.reference("category"),
		SellerID:     body.reference("seller"),
		WarehouseID:  body.reference("warehouse"),
		BinLocation:  body.text("bin_location"),
		UPC:          body.text("upc"),
		Tags:         body.texts("tags"),
	}
	body.ignore("id", "images", "created_at", "updated_at", "adjustment")
	body.refuseRest()
	return c, body.faults, nil
}

// createProduct answers POST /api/products.
func (s *Server) createProduct(w http.ResponseWriter, r *http.Request) error {
	if err := readQuery(r).err(); err != nil {
		return err
	}
	c, faults, err := s.readProduct(r)
	if err != nil {
		return err
	}
	p, err := s.catalog.Create(r.Context(), actor(r), c, faults)
	if err != nil {
		return err
	}
	return writeCreated(w, "/api/products", p.ID, productShape(p))
}

// replaceProduct answers PUT /api/products/{id}: what is absent gets its default.
func (s *Server) replaceProduct(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	c, faults, err := s.readProduct(r)
	if err != nil {
		return err
	}
	p, err := s.catalog.Replace(r.Context(), actor(r), id, c, faults)
	if err != nil {
		return err
	}
	return writeData(w, http.StatusOK, productShape(p))
}

// patchProduct answers PATCH /api/products/{id}: what is absent stays.
func (s *Server) patchProduct(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	c, faults, err := s.readProduct(r)
	if err != nil {
		return err
	}
	p, err := s.catalog.Patch(r.Context(), actor(r), id, c, faults)
	if err != nil {
		return err
	}
	return writeData(w, http.StatusOK, productShape(p))
}

// deleteProduct answers DELETE /api/products/{id}.
func (s *Server) deleteProduct(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	if err := s.catalog.Delete(r.Context(), actor(r), id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
