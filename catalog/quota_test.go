package catalog_test

import (
	"testing"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// A statement that creates a product counts its row of the ledger itself.
func TestQuotasCountTheLedger(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.mustCreate(t, "none")
	p := s.mustCreate(t, "some", func(c *catalog.Changes) { c.Quantity = catalog.Value(int64(2)) })
	add := catalog.AdjustRequest{Type: catalog.Value("add"), Quantity: catalog.Value(int64(1))}
	if _, _, err := s.Adjust(t.Context(), s.by, p.ID, add, nil); err != nil {
		t.Fatal(err)
	}
	rows := []catalog.Row{{Changes: product("bulk", func(c *catalog.Changes) { c.Quantity = catalog.Value(int64(2)) })}}
	if _, err := s.Upsert(t.Context(), s.by, rows); err != nil {
		t.Fatal(err)
	}
	quota, err := tenants.ReadQuota(t.Context(), s.database.DB, s.by.Tenant)
	if err != nil || quota.Records != 3+3 { // and three rows of the ledger
		t.Errorf("the quota is %+v, %v, want 6 records", quota, err)
	}
}
