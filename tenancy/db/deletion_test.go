package db_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/tenancy/tenants"
)

// The fixture of the suite has a row of each tenant in every table. After the deletion no table may have
// a row of A, and all must have the rows of B.
func TestDeleteTenantDeletesExactlyItsRows(t *testing.T) {
	t.Parallel()
	s := mustSuite(t)
	if err := tenants.Delete(t.Context(), s.Admin, "a"); err != nil {
		t.Fatal(err)
	}
	s.checkDeletion(t)
	if s.central != s {
		s.central.checkDeletion(t)
	}
	left, err := tenants.List(t.Context(), s.Admin)
	if err != nil || len(left) != 1 || left[0].ID != s.b {
		t.Errorf("Tenants = %v, %v, want b alone", left, err)
	}
	if again := s.MustTenant(t, "a"); again.ID == s.a {
		t.Error("the slug's next tenant has the id of the deleted one")
	}
}

// checkDeletion checks that no table has a row of A and that each has that of B.
func (s *suite) checkDeletion(t *testing.T) {
	t.Helper()
	for name, x := range s.tables {
		if x.b == nil && name != "key_hashes" {
			continue
		}
		type count struct{ A, B int }
		got := mustRows[count](
			t, s.super,
			fmt.Sprintf(
				`select count(*) filter (where tenant_id = %d) as a, count(*) filter (where tenant_id = %d) as b from %s`, s.a, s.b,
				name,
			),
		)[0]
		if got.A != 0 || x.b != nil && got.B == 0 {
			t.Errorf("after deleting a, %s holds %d rows of a and %d of b", name, got.A, got.B)
		}
		if x.b != nil {
			if diff := cmp.Diff(x.b, s.mustRow(t, name, s.b)); diff != "" {
				t.Errorf("b's row in %s (-before +after):\n%s", name, diff)
			}
		}
	}
}
