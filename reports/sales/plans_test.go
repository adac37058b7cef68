package sales_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/storeroom/storeroom/reports/sales"
)

// PostgreSQL has no statistics of a tenant that is newer than the last ANALYZE. Storing
// an order must not read all earlier orders of the tenant.
func TestOrdersOfATenantWithoutStatisticsAreFoundByIndex(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	super := s.MustSuper(t)
	const batches, size = 8, 250
	send := func() {
		for b := range batches {
			rows := make([]sales.Row, size)
			for i := range rows {
				o := order(fmt.Sprint(b, "-", i),
					sales.Item{SKU: fmt.Sprint("S", i), Quantity: 1, UnitPrice: 5},
					sales.Item{SKU: "TEA", Quantity: 1, UnitPrice: 5})
				o.Customer = &sales.Customer{ID: fmt.Sprint(b*size + i)}
				rows[i].Order = o
			}
			if _, err := s.store.Ingest(t.Context(), s.tenant, rows); err != nil {
				t.Fatal(err)
			}
			s.mustRefund(t, refundOf(fmt.Sprint(b, "-0"), 1, "r"))
		}
	}
	send()
	if _, err := super.Exec(t.Context(), `analyze`); err != nil {
		t.Fatal(err)
	}
	s.tenant = s.MustTenant(t, "new").ID
	send()
	const rows = 2 * batches * size
	const counters = `
		select max(n_tup_ins) filter (where relname = 'orders'),
		       sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint
		  from pg_stat_user_tables
		 where relname in ('orders', 'order_items', 'customers', 'sold_products', 'refunds')`
	var inserted, read int64
	// PostgreSQL updates the counters with a delay of seconds.
	for deadline := time.Now().Add(time.Minute); inserted < rows; {
		if time.Now().After(deadline) {
			t.Fatalf("PostgreSQL has counted %d orders after a minute, want %d", inserted, rows)
		}
		time.Sleep(50 * time.Millisecond)
		if err := super.QueryRow(t.Context(), counters).Scan(&inserted, &read); err != nil {
			t.Fatal(err)
		}
	}
	// An order reads about a dozen rows: itself, its customer, its products and the
	// targets of foreign keys. A scan of the tenant's rows reads thousands.
	if limit := int64(60 * rows); read > limit {
		t.Errorf("%d rows were read for %d orders, want at most %d", read, rows, limit)
	}
}
