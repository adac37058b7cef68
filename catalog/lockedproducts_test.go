package catalog

import "testing"

// Another transaction could change a product that is not locked after the upsert reads
// it, and the upsert would overwrite that change.
func TestAnUpsertChangesOnlyLockedProducts(t *testing.T) {
	t.Parallel()
	products := lockedProducts([]Product{{ID: 1, SKU: "locked"}, {ID: 2, SKU: "inserted"}}, map[int64]bool{1: true})
	if _, ok := products["locked"]; !ok || len(products) != 1 {
		t.Errorf("lockedProducts = %v, want the locked product only", products)
	}
}
