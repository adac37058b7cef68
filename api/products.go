package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

// productJSON is a product in a response. Every field is always present.
type productJSON struct {
	ID           int64        `json:"id"`
	SKU          string       `json:"sku"`
	Name         string       `json:"name"`
	Description  *string      `json:"description"`
	Price        money.Cents  `json:"price"`
	MSRP         *money.Cents `json:"msrp"`
	Cost         *money.Cents `json:"cost"`
	Status       string       `json:"status"`
	Condition    string       `json:"condition"`
	Quantity     int32        `json:"quantity"`
	ReorderPoint *int32       `json:"reorder_point"`
	Category     *named       `json:"category"`
	Seller       *named       `json:"seller"`
	Warehouse    *named       `json:"warehouse"`
	BinLocation  *string      `json:"bin_location"`
	UPC          *string      `json:"upc"`
	Tags         []string     `json:"tags"`
	Images       []imageJSON  `json:"images"`
	CreatedAt    timestamp    `json:"created_at"`
	UpdatedAt    timestamp    `json:"updated_at"`
}

func (s *Server) productShape(p catalog.Product) productJSON {
	return productJSON{
		ID:           p.ID,
		SKU:          p.SKU,
		Name:         p.Name,
		Description:  p.Description,
		Price:        p.Price,
		MSRP:         p.MSRP,
		Cost:         p.Cost,
		Status:       p.Status,
		Condition:    p.Condition,
		Quantity:     p.Quantity,
		ReorderPoint: p.ReorderPoint,
		Category:     optionalNamed(p.CategoryID, p.CategoryName),
		Seller:       optionalNamed(p.SellerID, p.SellerName),
		Warehouse:    &named{p.WarehouseID, p.WarehouseName},
		BinLocation:  p.BinLocation,
		UPC:          p.UPC,
		Tags:         orEmpty(p.Tags),
		Images:       mapSlice(p.Images, s.imageShape),
		CreatedAt:    timestamp(p.CreatedAt),
		UpdatedAt:    timestamp(p.UpdatedAt),
	}
}

// orEmpty makes JSON encode a nil slice as [] instead of null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// actor returns the tenant and the key of a request, for the inventory ledger.
func actor(r *http.Request) catalog.Actor {
	p := principal(r)
	return catalog.Actor{Tenant: p.Tenant.ID, KeyID: &p.KeyID, KeyName: &p.KeyName}
}

func tenant(r *http.Request) tenancy.ID { return principal(r).Tenant.ID }

// listProducts handles GET /api/products.
func (s *Server) listProducts(w http.ResponseWriter, r *http.Request) error {
	f, err := readFilter(r)
	if err != nil {
		return err
	}
	page, err := s.catalog(r).List(r.Context(), tenant(r), f)
	if err != nil {
		return err
	}
	if !f.Keyset {
		return writePage(w, r, f.Page, page.List, s.productShape)
	}
	return writeStep(w, r, f.Page, page.List, page.Next, f.Cursor, s.productShape)
}

// readFilter reads the parameters of a product list: those of filter, and a page or a cursor.
func readFilter(r *http.Request) (catalog.Filter, error) {
	q := readQuery(r)
	f, err := q.filter(r)
	if err != nil {
		return f, err
	}
	f.Page, f.Keyset, f.After = q.pageOrCursor(r, f.ParseCursor)
	return f, q.err()
}

// filter takes the parameters that filter and sort products. Days are in the tenant's time zone.
func (q *query) filter(r *http.Request) (catalog.Filter, error) {
	f := catalog.Filter{
		Search:       q.search(),
		Status:       q.oneOf("status", catalog.Statuses...),
		CategoryID:   q.id("category_id"),
		SellerID:     q.id("seller_id"),
		WarehouseID:  q.id("warehouse_id"),
		Tag:          q.nonEmpty("tag"),
		UpdatedSince: q.time("updated_since"),
		Order:        q.order(catalog.ProductOrders),
	}
	if alias := q.id("category"); alias != nil {
		if f.CategoryID != nil && *f.CategoryID != *alias {
			q.errs.Add("category", "must equal category_id")
		}
		f.CategoryID = alias
	}
	var err error
	f.CreatedFrom, f.CreatedBefore, err = q.days(r)
	return f, err
}

// showProduct handles GET /api/products/{id}.
func (s *Server) showProduct(w http.ResponseWriter, r *http.Request, id int64) error {
	conditions, err := readConditions(r)
	if err != nil {
		return err
	}
	p, err := s.catalog(r).Product(r.Context(), tenant(r), id)
	if err != nil {
		return err
	}
	return s.writeProductIf(w, http.StatusOK, p, conditions)
}

// showProductBySKU handles GET /api/products/sku/{sku}.
func (s *Server) showProductBySKU(w http.ResponseWriter, r *http.Request, sku string) error {
	conditions, err := readConditions(r)
	if err != nil {
		return err
	}
	p, err := s.catalog(r).ProductBySKU(r.Context(), tenant(r), sku)
	if err != nil {
		return err
	}
	return s.writeProductIf(w, http.StatusOK, p, conditions)
}

// readProduct reads the body of POST, PUT and PATCH.
func (s *Server) readProduct(r *http.Request) (catalog.Changes, tenancy.InvalidError, error) {
	body, err := readBody(r)
	if err != nil {
		return catalog.Changes{}, nil, err
	}
	return body.product(), body.errs, nil
}

// product takes the fields of a product. It ignores read-only fields, so that a client can send the
// response of a GET back.
func (o *object) product() catalog.Changes {
	c := catalog.Changes{
		SKU:          field(o, "sku", parseLine),
		Name:         o.text("name"),
		Description:  o.text("description"),
		Price:        o.money("price"),
		MSRP:         o.money("msrp"),
		Cost:         o.money("cost"),
		Status:       o.text("status"),
		Condition:    o.text("condition"),
		Quantity:     o.integer("quantity"),
		ReorderPoint: o.integer("reorder_point"),
		CategoryID:   o.reference("category"),
		SellerID:     o.reference("seller"),
		WarehouseID:  o.reference("warehouse"),
		BinLocation:  o.text("bin_location"),
		UPC:          o.text("upc"),
		Tags:         o.texts("tags"),
	}
	o.ignore("id", "images", "created_at", "updated_at", "adjustment")
	o.rejectUnknown()
	return c
}

// productRow is product for a row of a bulk request, which may have the URLs of images.
func (o *object) productRow() catalog.Changes {
	urls := o.imageURLs()
	c := o.product()
	c.ImageURLs = urls
	return c
}

// createProduct handles POST /api/products.
func (s *Server) createProduct(w http.ResponseWriter, r *http.Request) error {
	c, invalid, err := s.readProduct(r)
	if err != nil {
		return err
	}
	p, err := s.catalog(r).Create(r.Context(), actor(r), c, invalid)
	if err != nil {
		return err
	}
	countRows(r, "product", 1)
	w.Header().Set("Location", "/api/products/"+strconv.FormatInt(p.ID, 10))
	return s.writeProduct(w, http.StatusCreated, p)
}

// replaceProduct handles PUT /api/products/{id}. An absent field gets its default.
func (s *Server) replaceProduct(w http.ResponseWriter, r *http.Request, id int64) error {
	return s.updateProduct(w, r, id, s.catalog(r).Replace)
}

// patchProduct handles PATCH /api/products/{id}. An absent field keeps its value.
func (s *Server) patchProduct(w http.ResponseWriter, r *http.Request, id int64) error {
	return s.updateProduct(w, r, id, s.catalog(r).Patch)
}

// updateFunc is the signature of catalog.Store.Replace and Patch.
type updateFunc func(
	context.Context, catalog.Actor, int64, catalog.Precondition, catalog.Changes, tenancy.InvalidError,
) (catalog.Product, error)

func (s *Server) updateProduct(w http.ResponseWriter, r *http.Request, id int64, update updateFunc) error {
	precondition, err := s.precondition(r)
	if err != nil {
		return err
	}
	c, invalid, err := s.readProduct(r)
	if err != nil {
		return err
	}
	p, err := update(r.Context(), actor(r), id, precondition, c, invalid)
	if err != nil {
		return err
	}
	return s.writeProduct(w, http.StatusOK, p)
}

// deleteProduct handles DELETE /api/products/{id}.
func (s *Server) deleteProduct(w http.ResponseWriter, r *http.Request, id int64) error {
	precondition, err := s.precondition(r)
	if err != nil {
		return err
	}
	if err := s.catalog(r).Delete(r.Context(), actor(r), id, precondition); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
