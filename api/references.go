package api

import (
	"net/http"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
)

// references handles the routes of one kind of reference: categories, sellers or warehouses.
type references struct {
	*Server
	kind catalog.Kind
}

// referenceJSON is a reference in a response. Only warehouses have is_default.
type referenceJSON struct {
	ID        int64     `json:"id"`
	Name      string    `json:"name"`
	IsDefault *bool     `json:"is_default,omitempty"`
	CreatedAt timestamp `json:"created_at"`
	UpdatedAt timestamp `json:"updated_at"`
}

func (s references) shape(r catalog.Reference) referenceJSON {
	shown := referenceJSON{ID: r.ID, Name: r.Name, CreatedAt: timestamp(r.CreatedAt), UpdatedAt: timestamp(r.UpdatedAt)}
	if s.kind == catalog.Warehouses {
		shown.IsDefault = &r.IsDefault
	}
	return shown
}

// list handles GET on the collection.
func (s references) list(w http.ResponseWriter, r *http.Request) error {
	q := readQuery(r)
	search, order, page := q.search(), q.order(catalog.ReferenceOrders), q.page()
	if err := q.err(); err != nil {
		return err
	}
	references, err := s.catalog(r).References(r.Context(), tenant(r), s.kind, search, order, page)
	if err != nil {
		return err
	}
	return writePage(w, r, page, references, s.shape)
}

// show handles GET on one reference.
func (s references) show(w http.ResponseWriter, r *http.Request, id int64) error {
	one, err := s.catalog(r).Reference(r.Context(), tenant(r), s.kind, id)
	if err != nil {
		return err
	}
	return writeData(w, http.StatusOK, s.shape(one))
}

// read reads the body of POST and PATCH.
func (s references) read(r *http.Request) (name catalog.Field[string], invalid tenancy.InvalidError, err error) {
	body, err := readBody(r)
	if err != nil {
		return name, nil, err
	}
	name = body.text("name")
	body.ignore("id", "is_default", "created_at", "updated_at")
	body.rejectUnknown()
	return name, body.errs, nil
}

// create handles POST on the collection.
func (s references) create(w http.ResponseWriter, r *http.Request) error {
	name, invalid, err := s.read(r)
	if err != nil {
		return err
	}
	one, err := s.catalog(r).CreateReference(r.Context(), tenant(r), s.kind, name, invalid)
	if err != nil {
		return err
	}
	return writeCreated(w, "/api/"+string(s.kind), one.ID, s.shape(one))
}

// rename handles PATCH on one reference.
func (s references) rename(w http.ResponseWriter, r *http.Request, id int64) error {
	name, invalid, err := s.read(r)
	if err != nil {
		return err
	}
	one, err := s.catalog(r).RenameReference(r.Context(), tenant(r), s.kind, id, name, invalid)
	if err != nil {
		return err
	}
	return writeData(w, http.StatusOK, s.shape(one))
}

// remove handles DELETE on one reference.
func (s references) remove(w http.ResponseWriter, r *http.Request, id int64) error {
	if err := s.catalog(r).DeleteReference(r.Context(), tenant(r), s.kind, id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
