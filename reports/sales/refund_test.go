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

func (s *shop) mustRefund(t testing.TB, refunds ...sales.Refund) []sales.Result {
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

// total returns the sum of a column over the rollups of days.
func (s *shop) total(t testing.TB, column string) (n int64) {
	t.Helper()
	sql := `select coalesce(sum(` + column + `), 0)::bigint from sales_rollups where kind = 1 and tenant_id = $1`
	if err := s.MustSuper(t).QueryRow(t.Context(), sql, s.tenant).Scan(&n); err != nil {
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
	stored, err := s.store.Order(t.Context(), s.tenant, "A")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []money.Cents{34, 33, 33, 0} {
		if got := stored.Lines[i].Refunded; got != want {
			t.Errorf("line %d has %s of the refund, want %s", i+1, got, want)
		}
	}
	if got := s.mustRefund(t, refundOf("A", 201, "r2"))[0]; got.Outcome != sales.Created || !got.ExceedsPaid {
		t.Errorf("Refund above what was paid = %+v, want it created and ExceedsPaid", got)
	}
	s.mustAgree(t)
}

func TestARefundCanIncludeTaxAndShipping(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	o := order("A", sales.Item{SKU: "TEA", Quantity: 1, UnitPrice: 100})
	o.TaxTotal, o.ShippingTotal = new(money.Cents(20)), new(money.Cents(5))
	s.mustIngest(t, o)
	if got := s.mustRefund(t, refundOf("A", 125, "all"))[0]; got.ExceedsPaid {
		t.Errorf("Refund of revenue, tax and shipping = %+v, want it within what was paid", got)
	}
	if got := s.mustRefund(t, refundOf("A", 1, "more"))[0]; !got.ExceedsPaid {
		t.Errorf("Refund of one more cent = %+v, want ExceedsPaid", got)
	}
}

func TestARefundCountsOnceByItsReference(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	s.mustIngest(t, order("A"), order("B"))
	first := s.mustRefund(t,
		refundOf("A", 5, "r"), refundOf("B", 5, "r"), refundOf("A", 5, "r"), refundOf("A", 6, "r"), refundOf("C", 5, "r"))
	for i, want := range []sales.Outcome{sales.Created, sales.Created, sales.Unchanged, sales.Failed, sales.Failed} {
		if first[i].Outcome != want {
			t.Errorf("row %d is %+v, want %s", i, first[i], want)
		}
	}
	if !errors.Is(first[4].Err, tenancy.ErrNotFound) {
		t.Errorf("a refund of an unknown order = %v, want ErrNotFound", first[4].Err)
	}
	var senders errgroup.Group
	for range 8 {
		senders.Go(func() error {
			rows := []sales.RefundRow{{Refund: refundOf("B", 7, "resent")}, {Refund: refundOf("A", 7, "resent")}}
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
	unreferenced := sales.Refund{OrderNumber: "A", Amount: 1}
	s.mustRefund(t, unreferenced, unreferenced)
	if got := s.total(t, "refund_count"); got != 6 {
		t.Errorf("%d refunds, want 6: without a reference each counts", got)
	}
	s.mustAgree(t)
}

func TestValidationErrorsOfARefund(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	s.mustIngest(t, order("A"))
	inTwoDays := time.Now().AddDate(0, 0, 2)
	for name, test := range map[string]struct {
		refund sales.Refund
		field  string
	}{
		"zero":                {sales.Refund{OrderNumber: "A"}, "amount"},
		"a negative amount":   {sales.Refund{OrderNumber: "A", Amount: -1}, "amount"},
		"above the maximum":   {sales.Refund{OrderNumber: "A", Amount: money.Max + 1}, "amount"},
		"before 1970":         {sales.Refund{OrderNumber: "A", Amount: 1, RefundedAt: new(time.Unix(-1, 0))}, "refunded_at"},
		"two days ahead":      {sales.Refund{OrderNumber: "A", Amount: 1, RefundedAt: &inTwoDays}, "refunded_at"},
		"an empty reference":  {sales.Refund{OrderNumber: "A", Amount: 1, Reference: new("")}, "reference"},
		"a control character": {sales.Refund{OrderNumber: "A", Amount: 1, Reference: new("a\nb")}, "reference"},
	} {
		got := s.mustRefund(t, test.refund)[0]
		invalid, _ := errors.AsType[tenancy.InvalidError](got.Err)
		if got.Outcome != sales.Failed || len(invalid) != 1 || len(invalid[test.field]) != 1 {
			t.Errorf("%s: Refund = %+v, want a validation error of %s", name, got, test.field)
		}
	}
	if got := s.total(t, "refunds"); got != 0 {
		t.Errorf("refunds are %d, want 0", got)
	}
}

func TestACancelledOrderCountsNowhere(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	s.mustIngest(t, order("A"), order("B"))
	s.mustRefund(t, refundOf("A", 11, "before"))
	for n := range 2 {
		stored, err := s.store.Cancel(t.Context(), s.tenant, "A", new(noon.AddDate(0, 0, n)))
		if err != nil {
			t.Fatal(err)
		}
		if stored.CancelledAt == nil || !stored.CancelledAt.Equal(noon) {
			t.Errorf("cancelled at %v, want %v of the first cancellation", stored.CancelledAt, noon)
		}
	}
	if got := s.mustRefund(t, refundOf("A", 13, "after"))[0]; got.Outcome != sales.Created {
		t.Errorf("a refund of a cancelled order = %+v, want it created", got)
	}
	if got := s.mustIngest(t, order("A"))[0]; got.Outcome != sales.Unchanged {
		t.Errorf("a resent cancelled order = %+v, want it unchanged", got)
	}
	if orders, refunds := s.total(t, "orders"), s.total(t, "refunds"); orders != 1 || refunds != 0 {
		t.Errorf("%d orders and %d refunded, want 1 and 0", orders, refunds)
	}
	s.mustAgree(t)
	if _, err := s.store.Cancel(t.Context(), s.tenant, "C", nil); !errors.Is(err, tenancy.ErrNotFound) {
		t.Errorf("Cancel of an unknown order = %v, want ErrNotFound", err)
	}
	_, err := s.store.Cancel(t.Context(), s.tenant, "B", new(time.Unix(-1, 0)))
	if invalid, _ := errors.AsType[tenancy.InvalidError](err); len(invalid["cancelled_at"]) != 1 {
		t.Errorf("Cancel before 1970 = %v, want a validation error of cancelled_at", err)
	}
}

func TestConcurrentRefundsAndCancellationsLeaveRollupsAtZero(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	for n := range 10 {
		number := fmt.Sprint(n)
		s.mustIngest(t, order(number))
		var requests errgroup.Group
		requests.Go(func() error {
			_, err := s.store.Cancel(t.Context(), s.tenant, number, nil)
			return err
		})
		for i := range 3 {
			requests.Go(func() error {
				rows := []sales.RefundRow{{Refund: refundOf(number, 3, fmt.Sprint(i))}}
				_, err := s.store.Refund(t.Context(), s.tenant, rows)
				return err
			})
		}
		if err := requests.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	if orders, refunds := s.total(t, "orders"), s.total(t, "refund_count"); orders != 0 || refunds != 0 {
		t.Errorf("%d orders and %d refunds are counted, want 0", orders, refunds)
	}
	s.mustAgree(t)
}
