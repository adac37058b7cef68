package catalog

import "testing"

// Who commits a product between an upsert's lock and its reading has left it
// unlocked: changed from what was read it would lose somebody's change.
func TestUpsertKnowsOnlyWhatItLocked(t *testing.T) {
	t.Parallel()
	k := newKnowledge([]found{{1}}, []Product{{ID: 1, SKU: "locked"}, {ID: 2, SKU: "appeared"}}, nil, nil)
	if _, ok := k.products["locked"]; !ok || len(k.products) != 1 {
		t.Errorf("knows %v, want the locked product alone", k.products)
	}
}
