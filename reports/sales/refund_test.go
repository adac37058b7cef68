package sales_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

func refundOf(number string, amount money.Cents, reference string) sales.Refund {
	return sales.Refund{OrderNumber: number, Amount: amount, RefundedAt: new(noon.AddDate(0, 1, 0)), Reference: &reference}
}

func (s *shop) mustRefund(t testing.TB, refunds ...sales.Refund) []sales.RefundResult {
	t.Helper()
	rows := make([]sales.RefundRow, len(refunds))
	for i, r := range refunds {
		rows[i].Refund = r
	}
	results, err := s.store.Refund(t.Context(), s.tenant, rows)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// total is what the rollups of days and channels have of a column.
func (s *shop) total(t testing.TB, column string) (n int64) {
	t.Helper()
	err := s.MustSuper(t).QueryRow(t.Context(), `select coalesce(sum(`+column+`), 0)::bigint from sales_rollups where kind = 1 and tenant_id = $1`, s.tenant).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestARefundIsSpreadByValueToTheCent(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	s.mustIngest(t, order("A",
		sales.Item{SKU: "TEA", Quantity: 1, UnitPrice: 100}, sales.Item{SKU: "X", Quantity: 1, UnitPrice: 100},
		sales.Item{SKU: "Y", Quantity: 1, UnitPrice: 100}, sales.Item{SKU: "free", Quantity: 9, UnitPrice: 0}))
	if got := s.mustRefund(t, refundOf("A", 100, "r1"))[0]; got.Outcome != sales.Created || got.ExceedsPaid {
		t.Fatalf("Refund = %+v, want it created within what was paid", got)
	}
	sale, err := s.store.Order(t.Context(), s.tenant, "A")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []money.Cents{34, 33, 33, 0} {
		if got := sale.Lines[i].Refunded; got != want {
			t.Errorf("line %d has %s of the refund, want %s", i+1, got, want)
		}
	}
	if got := s.mustRefund(t, refundOf("A", 201, "r2"))[0]; got.Outcome != sales.Created || !got.ExceedsPaid {
		t.Errorf("Refund above what was paid = %+v, want it created and told", got)
	}
	s.mustAgree(t)
}

func TestARefundCountsOnceByItsReference(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	s.mustIngest(t, order("A"), order("B"))
	first := s.mustRefund(t, refundOf("A", 5, "r"), refundOf("B", 5, "r"), refundOf("A", 5, "r"), refundOf("A", 6, "r"), refundOf("C", 5, "r"))
	for i, want := range []sales.Outcome{sales.Created, sales.Created, sales.Unchanged, sales.Failed, sales.Failed} {
		if first[i].Outcome != want {
			t.Errorf("row %d is %+v, want %s", i, first[i], want)
		}
	}
	if !errors.Is(first[4].Err, tenancy.ErrNotFound) {
		t.Errorf("a refund of no order = %v, want ErrNotFound", first[4].Err)
	}
	var senders errgroup.Group
	for range 8 {
		senders.Go(func() error {
			rows := []sales.RefundRow{{Refund: refundOf("B", 7, "again")}, {Refund: refundOf("A", 7, "again")}}
			_, err := s.store.Refund(t.Context(), s.tenant, rows)
			return err
		})
	}
	if err := senders.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := s.total(t, "refunds"); got != 5+5+7+7 {
		t.Errorf("refunds are %d, want 24", got)
	}
	nameless := sales.Refund{OrderNumber: "A", Amount: 1}
	s.mustRefund(t, nameless, nameless)
	if got := s.total(t, "refund_count"); got != 6 {
		t.Errorf("%d refunds, want 6: without a reference each counts", got)
	}
	s.mustAgree(t)
}

func TestFaultsOfARefund(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	s.mustIngest(t, order("A"))
	for name, test := range map[string]struct {
		refund sales.Refund
		field  string
	}{
		"nothing":              {sales.Refund{OrderNumber: "A"}, "amount"},
		"less than nothing":    {sales.Refund{OrderNumber: "A", Amount: -1}, "amount"},
		"beyond the bound":     {sales.Refund{OrderNumber: "A", Amount: money.Max + 1}, "amount"},
		"before 1970":          {sales.Refund{OrderNumber: "A", Amount: 1, RefundedAt: new(time.Unix(-1, 0))}, "refunded_at"},
		"far in the future":    {sales.Refund{OrderNumber: "A", Amount: 1, RefundedAt: new(time.Now().AddDate(0, 0, 2))}, "refunded_at"},
		"an empty reference":   {sales.Refund{OrderNumber: "A", Amount: 1, Reference: new("")}, "reference"},
		"a reference of lines": {sales.Refund{OrderNumber: "A", Amount: 1, Reference: new("a\nb")}, "reference"},
	} {
		got := s.mustRefund(t, test.refund)[0]
		if faults, _ := errors.AsType[tenancy.InvalidError](got.Err); got.Outcome != sales.Failed || len(faults) != 1 || len(faults[test.field]) != 1 {
			t.Errorf("%s: Refund = %+v, want a fault of %s", name, got, test.field)
		}
	}
	if got := s.total(t, "refunds"); got != 0 {
		t.Errorf("refunds are %d, want none", got)
	}
}

func TestACancelledOrderCountsNowhere(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	s.mustIngest(t, order("A"), order("B"))
	s.mustRefund(t, refundOf("A", 11, "before"))
	for n := range 2 {
		sale, err := s.store.Cancel(t.Context(), s.tenant, "A", new(noon.AddDate(0, 0, n)))
		if err != nil {
			t.Fatal(err)
		}
		if sale.CancelledAt == nil || !sale.CancelledAt.Equal(noon) {
			t.Errorf("cancelled at %v, want %v: the first time counts", sale.CancelledAt, noon)
		}
	}
	if got := s.mustRefund(t, refundOf("A", 13, "after"))[0]; got.Outcome != sales.Created {
		t.Errorf("a refund of a cancelled order = %+v, want it created", got)
	}
	if got := s.mustIngest(t, order("A"))[0]; got.Outcome != sales.Unchanged {
		t.Errorf("a cancelled order sent again = %+v, want it unchanged", got)
	}
	if orders, refunds := s.total(t, "orders"), s.total(t, "refunds"); orders != 1 || refunds != 0 {
		t.Errorf("%d orders and %d refunded, want 1 and 0", orders, refunds)
	}
	s.mustAgree(t)
	if _, err := s.store.Cancel(t.Context(), s.tenant, "C", nil); !errors.Is(err, tenancy.ErrNotFound) {
		t.Errorf("Cancel of no order = %v, want ErrNotFound", err)
	}
	_, err := s.store.Cancel(t.Context(), s.tenant, "B", new(time.Unix(-1, 0)))
	if faults, _ := errors.AsType[tenancy.InvalidError](err); len(faults["cancelled_at"]) != 1 {
		t.Errorf("Cancel before 1970 = %v, want a fault of cancelled_at", err)
	}
}

func TestRefundsAndCancellationsAtOnceLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	for n := range 10 {
		number := fmt.Sprint(n)
		s.mustIngest(t, order(number))
		var at errgroup.Group
		at.Go(func() error { _, err := s.store.Cancel(t.Context(), s.tenant, number, nil); return err })
		for i := range 3 {
			at.Go(func() error {
				_, err := s.store.Refund(t.Context(), s.tenant, []sales.RefundRow{{Refund: refundOf(number, 3, fmt.Sprint(i))}})
				return err
			})
		}
		if err := at.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	if orders, refunds := s.total(t, "orders"), s.total(t, "refund_count"); orders != 0 || refunds != 0 {
		t.Errorf("%d orders and %d refunds are counted, want none", orders, refunds)
	}
	s.mustAgree(t)
}
