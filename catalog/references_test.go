package catalog_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/paging"
)

var kinds = []catalog.Kind{catalog.Categories, catalog.Sellers, catalog.Warehouses}

func TestReferencesOfEachKind(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			id := s.mustReference(t, kind, "  Größe 50%  ")
			r, err := s.Reference(t.Context(), s.by.Tenant, kind, id)
			if err != nil || r.Name != "Größe 50%" || r.IsDefault {
				t.Errorf("Reference = %+v, %v, want the trimmed name", r, err)
			}
			for name, want := range map[string]string{
				"Größe 50%": "name is already taken", " ": "name must not be empty",
				"a\x00":                  "name must not contain control characters",
				strings.Repeat("x", 256): "name must have at most 255 characters", strings.Repeat("x", 255): "",
			} {
				_, err := s.CreateReference(t.Context(), s.by.Tenant, kind, catalog.Value(name), nil)
				if invalid, _ := errors.AsType[tenancy.InvalidError](err); invalid.Error() != want || want == "" && err != nil {
					t.Errorf("CreateReference(%q) = %v, want %q", name, err, want)
				}
			}
			for search, want := range map[string]int64{"GRÖSSE": 0, "GRÖ": 1, "0%": 1, "%": 1, "_": 0, "": 2} {
				order, page := paging.Order{By: "name"}, paging.Page{Number: 1, PerPage: 1}
				list, err := s.References(t.Context(), s.by.Tenant, kind, search, order, page)
				if kind == catalog.Warehouses && search == "" {
					want++ // the default warehouse
				}
				if err != nil || list.Total != want || len(list.Items) > 1 {
					t.Errorf("References(%q) = %d, %v, want %d", search, list.Total, err, want)
				}
			}
			renamed, err := s.RenameReference(t.Context(), s.by.Tenant, kind, id, catalog.Value("Size"), nil)
			if err != nil || renamed.Name != "Size" || !renamed.UpdatedAt.After(r.UpdatedAt) {
				t.Errorf("RenameReference = %+v, %v", renamed, err)
			}
			if err := s.DeleteReference(t.Context(), s.by.Tenant, kind, id); err != nil {
				t.Error(err)
			}
			other := s.database.MustTenant(t, "other").ID
			theirs, err := s.CreateReference(t.Context(), other, kind, catalog.Value("Size"), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, missing := range []int64{id, theirs.ID} {
				_, read := s.Reference(t.Context(), s.by.Tenant, kind, missing)
				_, rename := s.RenameReference(t.Context(), s.by.Tenant, kind, missing, catalog.Value("x"), nil)
				_, invalid := s.RenameReference(t.Context(), s.by.Tenant, kind, missing, catalog.Value(""), nil)
				for _, err := range []error{read, rename, invalid, s.DeleteReference(t.Context(), s.by.Tenant, kind, missing)} {
					if !errors.Is(err, tenancy.ErrNotFound) {
						t.Errorf("%s %d = %v, want ErrNotFound", kind, missing, err)
					}
				}
			}
		})
	}
}

func TestReferencesInUseAreNotDeleted(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	category := s.mustReference(t, catalog.Categories, "c")
	seller := s.mustReference(t, catalog.Sellers, "s")
	warehouse := s.mustReference(t, catalog.Warehouses, "w")
	elsewhere := s.mustReference(t, catalog.Warehouses, "stock only")
	p := s.mustCreate(t, "A", everyField(category, seller, warehouse))
	if _, _, err := s.Adjust(t.Context(), s.by, p.ID, adjustment("add", 1, elsewhere), nil); err != nil {
		t.Fatal(err)
	}
	page := paging.Page{Number: 1, PerPage: 9}
	defaults, err := s.References(t.Context(), s.by.Tenant, catalog.Warehouses, "main", paging.Order{}, page)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(kind catalog.Kind, id int64) {
		t.Helper()
		if err := s.DeleteReference(t.Context(), s.by.Tenant, kind, id); !isInUse(err) {
			t.Errorf("DeleteReference(%s %d) = %v, want an InUseError", kind, id, err)
		}
	}
	refused(catalog.Categories, category)
	refused(catalog.Sellers, seller)
	refused(catalog.Warehouses, warehouse)
	refused(catalog.Warehouses, elsewhere)
	refused(catalog.Warehouses, defaults.Items[0].ID)
	// A warehouse without stock can be deleted.
	if _, _, err := s.Adjust(t.Context(), s.by, p.ID, adjustment("set", 0, elsewhere), nil); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteReference(t.Context(), s.by.Tenant, catalog.Warehouses, elsewhere); err != nil {
		t.Error(err)
	}
	s.mustAgree(t)
}

func TestEnsureReferencesAddsMissingNames(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	first := s.mustReference(t, catalog.Sellers, "a")
	ids, added, err := s.EnsureReferences(t.Context(), s.by.Tenant, catalog.Sellers, []string{"b", "a", "b"})
	if err != nil || added != 1 || len(ids) != 2 || ids["a"] != first {
		t.Errorf("EnsureReferences = %v, %d, %v, want b added and %d", ids, added, err, first)
	}
	again, added, err := s.EnsureReferences(t.Context(), s.by.Tenant, catalog.Sellers, []string{"b", "a"})
	if diff := cmp.Diff(ids, again); err != nil || added != 0 || diff != "" {
		t.Errorf("the second call: %d added, %v\n%s", added, err, diff)
	}
}

func isInUse(err error) bool {
	_, ok := errors.AsType[tenancy.InUseError](err)
	return ok
}
