package sales_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/money"
)

// archived returns an order of an archive with two versions of a deleted product. The later one has the lower id.
func (s *shop) archived(t testing.TB) (sales.Order, []int64) {
	t.Helper()
	ids, err := s.store.NewSoldIDs(t.Context(), s.tenant, 3)
	if err != nil {
		t.Fatal(err)
	}
	old := &sales.Sold{ID: ids[1], Product: 900, Category: 901, Name: "Green tea", CategoryName: "Teas"}
	o := order("A-1",
		sales.Item{SKU: "TEA", Quantity: 2, UnitPrice: 999, Discount: new(money.Cents(3)), Sold: old},
		sales.Item{SKU: "TEA", Quantity: 1, UnitPrice: 500, UnitCost: new(money.Cents(7)), Sold: old},
		sales.Item{SKU: "TEA", Quantity: 1, UnitPrice: 100, Sold: &sales.Sold{ID: ids[0], Product: 900, Name: "Tea"}},
		sales.Item{SKU: "odd", Quantity: 1, UnitPrice: 1, Sold: &sales.Sold{ID: ids[2], Name: "odd"}})
	o.DiscountTotal, o.TaxTotal = new(money.Cents(3)), new(money.Cents(10))
	o.Content = bytes.Repeat([]byte{7}, 32)
	return o, ids
}

func TestAnOrderOfAnArchiveIsStoredAsItWasSold(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	o, ids := s.archived(t)
	second := order("0-2", o.Items[0])
	second.Content = bytes.Repeat([]byte{8}, 32)
	results := s.mustIngest(t, o, second)
	if results[0].Outcome != sales.Created || results[1].ID != results[0].ID+1 {
		t.Fatalf("Ingest = %+v, want ids in the sequence of the rows", results)
	}
	got, err := s.store.Order(t.Context(), s.tenant, "A-1")
	if err != nil {
		t.Fatal(err)
	}
	first := got.Lines[0]
	if first.Name != "Green tea" || first.UnitCost != nil || *first.ProductID != 900 || *first.CategoryID != 901 ||
		*first.CategoryName != "Teas" || first.SellerID != nil || first.Discount != 3 {
		t.Errorf("the first line is %+v, want it as it was sold, without the cost of today", first)
	}
	if got.Cost != 7 || got.UnitsWithoutCost != 4 || got.Tax != 10 || got.Lines[3].ProductID != nil {
		t.Errorf("the order is %+v", got)
	}
	var stored []int64
	rows, err := s.MustSuper(t).Query(t.Context(), `
		select unnest(array[id, coalesce(first_id, 0)]) from sold_products where tenant_id = $1 order by id`, s.tenant)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		stored = append(stored, id)
	}
	if want := []int64{ids[0], 0, ids[1], ids[0], ids[2], 0}; !slices.Equal(stored, want) {
		t.Errorf("sold_products has the ids and first ids %v, want %v", stored, want)
	}
	if again := s.mustIngest(t, o)[0]; again.Outcome != sales.Unchanged {
		t.Errorf("the order of the archive sent again is %+v", again)
	}
	o.Content = bytes.Repeat([]byte{9}, 32)
	if again := s.mustIngest(t, o)[0]; again.Outcome != sales.Failed {
		t.Errorf("the order with other content is %+v", again)
	}
	s.mustAgree(t)
}

func TestAnOrderIsUnchangedAfterItsArchiveIsImported(t *testing.T) {
	t.Parallel()
	s, other := mustShop(t), mustShop(t)
	sent := order("A-1")
	s.mustIngest(t, sent)
	digest, err := s.content(t, "A-1")
	if err != nil {
		t.Fatal(err)
	}
	o, _ := other.archived(t)
	o.Content = digest
	other.mustIngest(t, o)
	if again := other.mustIngest(t, sent)[0]; again.Outcome != sales.Unchanged {
		t.Errorf("the order that was sent before the archive = %+v, want it unchanged", again)
	}
}

func (s *shop) content(t testing.TB, number string) (digest []byte, err error) {
	err = s.MustSuper(t).QueryRow(t.Context(), `select content from orders where tenant_id = $1 and number = $2`,
		s.tenant, number).Scan(&digest)
	return digest, err
}

func TestRefundsOfAnArchiveExistOnce(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	s.mustIngest(t, order("A-1"))
	refund := func(before int) sales.Refund {
		return sales.Refund{
			OrderNumber: "A-1", Amount: 100, RefundedAt: new(noon), Content: bytes.Repeat([]byte{1}, 32), Before: before,
		}
	}
	for _, want := range []sales.Outcome{sales.Created, sales.Unchanged} {
		for i, r := range s.mustRefund(t, refund(0), refund(1)) {
			if r.Outcome != want {
				t.Errorf("refund %d is %+v, want it %s", i, r, want)
			}
		}
	}
	if got := s.mustRefund(t, refund(2))[0]; got.Outcome != sales.Created {
		t.Errorf("a third equal refund is %+v", got)
	}
	plain := refund(0)
	plain.Content = nil
	if got := s.mustRefund(t, plain)[0]; got.Outcome != sales.Created {
		t.Errorf("a refund of the API without a reference is %+v", got)
	}
	s.mustAgree(t)
}

func TestAnErasedCustomerOfAnArchiveStaysErased(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	id := s.mustPlan(t, "applying")
	customers := []sales.Customer{{ID: "1", ErasedAt: &noon}, {ID: "2", Name: new("Ann")}}
	planned, err := s.store.PlanCustomers(t.Context(), s.tenant, customers)
	if err != nil {
		t.Fatal(err)
	}
	var changes []sales.CustomerChange
	for _, p := range planned {
		changes = append(changes, stored(t, p.CustomerChange))
	}
	s.mustShare(t, func(store *sales.Store) error {
		_, err := store.ApplyCustomers(t.Context(), s.tenant, id, changes)
		return err
	})
	s.mustIngest(t, func() sales.Order {
		o := order("A-1")
		o.Customer = &sales.Customer{ID: "1", Name: new("Bob")}
		return o
	}())
	got, err := s.store.Order(t.Context(), s.tenant, "A-1")
	if err != nil || got.CustomerName != nil {
		t.Errorf("the order of the erased customer = %+v, %v", got, err)
	}
	s.mustSetState(t, id, "undoing")
	s.mustShare(t, func(store *sales.Store) error {
		kept, err := store.UndoCustomers(t.Context(), s.tenant, id, changes)
		if len(kept) != 1 || kept[0].Key != "1" || kept[0].Reason != "has orders" {
			t.Errorf("kept %v, want the customer with an order", kept)
		}
		return err
	})
}
