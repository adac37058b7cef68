package sales_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/storeroom/storeroom/reports/sales"
)

// PostgreSQL believes that a tenant has no rows until it has looked again. What an
// order costs must not grow with what came before it all the same.
func TestOrdersOfATenantThatPostgreSQLKnowsNothingOfAreFoundByIndex(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	super := s.MustSuper(t)
	const batches, size = 8, 250
	send := func() {
		for b := range batches {
			rows := make([]sales.Row, size)
			for i := range rows {
				o := order(fmt.Sprint(b, "-", i), sales.Item{SKU: fmt.Sprint("S", i), Quantity: 1, UnitPrice: 5}, sales.Item{SKU: "TEA", Quantity: 1, UnitPrice: 5})
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
	s.tenant = s.MustTenant(t, "unknown").ID
	send()
	const rows = 2 * batches * size
	var inserted, read int64
	for inserted < rows { // counters are written with a delay
		if t.Context().Err() != nil {
			t.Fatalf("PostgreSQL has counted %d orders, want %d", inserted, rows)
		}
		time.Sleep(50 * time.Millisecond)
		err := super.QueryRow(t.Context(), `
			select max(n_tup_ins) filter (where relname = 'orders'), sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint
			  from pg_stat_user_tables where relname in ('orders', 'order_items', 'customers', 'sold_products', 'refunds')`).Scan(&inserted, &read)
		if err != nil {
			t.Fatal(err)
		}
	}
	// About a dozen rows an order: itself, its customer, products and what foreign
	// keys look at. A walk over the tenant's rows would be thousands.
	if limit := int64(60 * rows); read > limit {
		t.Errorf("%d rows were read for %d orders, want at most %d", read, rows, limit)
	}
}
