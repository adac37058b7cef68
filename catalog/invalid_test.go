package catalog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
)

func TestTheCallersValidationErrorsAreNotChanged(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	p := s.mustCreate(t, "A")
	id := s.mustReference(t, catalog.Categories, "A")
	empty := catalog.Value("")
	for name, call := range map[string]func(tenancy.InvalidError) error{
		"Create": func(invalid tenancy.InvalidError) error {
			_, err := s.Create(t.Context(), s.by, catalog.Changes{}, invalid)
			return err
		},
		"Replace": func(invalid tenancy.InvalidError) error {
			_, err := s.Replace(t.Context(), s.by, p.ID, nil, catalog.Changes{}, invalid)
			return err
		},
		"Patch": func(invalid tenancy.InvalidError) error {
			_, err := s.Patch(t.Context(), s.by, p.ID, nil, catalog.Changes{Name: empty}, invalid)
			return err
		},
		"Adjust": func(invalid tenancy.InvalidError) error {
			_, _, err := s.Adjust(t.Context(), s.by, p.ID, catalog.AdjustRequest{}, invalid)
			return err
		},
		"Upsert": func(invalid tenancy.InvalidError) error {
			results, err := s.Upsert(t.Context(), s.by, []catalog.Row{{Invalid: invalid}})
			if err != nil {
				return err
			}
			return results[0].Err
		},
		"CreateReference": func(invalid tenancy.InvalidError) error {
			_, err := s.CreateReference(t.Context(), s.by.Tenant, catalog.Categories, catalog.Field[string]{}, invalid)
			return err
		},
		"RenameReference": func(invalid tenancy.InvalidError) error {
			_, err := s.RenameReference(t.Context(), s.by.Tenant, catalog.Categories, id, empty, invalid)
			return err
		},
	} {
		for _, given := range []tenancy.InvalidError{nil, {"msrp": {"must be a number"}}} {
			before := given.Clone()
			if err := call(given); err == nil {
				t.Errorf("%s accepts invalid values", name)
			}
			if diff := cmp.Diff(before, given.Clone()); diff != "" {
				t.Errorf("%s changes the map of its caller (-before +after):\n%s", name, diff)
			}
		}
	}
}
