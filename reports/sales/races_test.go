package sales_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/idempotency"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// A trigger renames the product whenever its version is stored, so that no attempt finds a
// current one.
func TestOrdersOfAProductThatAlwaysChangesAreStored(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "a test cannot add triggers to shards")
	s := mustShop(t)
	if _, err := s.MustSuper(t).Exec(t.Context(), `
		create function rename() returns trigger language plpgsql as $$
		begin
			update products set name = name || '!' where tenant_id = new.tenant_id and id = new.product_id;
			return null;
		end $$;
		create trigger rename after insert on sold_products for each row execute function rename()`); err != nil {
		t.Fatal(err)
	}
	results, err := s.store.Ingest(t.Context(), s.tenant, []sales.Row{{Order: order("A")}})
	if err != nil || results[0].Outcome != sales.Created {
		t.Fatalf("Ingest = %v, %v, want a created order", results, err)
	}
	stored, err := s.store.Order(t.Context(), s.tenant, "A")
	if err != nil || strings.HasSuffix(stored.Lines[0].Name, "!") || stored.Lines[0].UnitCost == nil {
		t.Errorf("the order = %+v, %v, want the name and the cost that the product had", stored.Lines, err)
	}
}

// A request may store a response with the customer's name. EraseCustomer waits for the
// request and deletes the response.
func TestAnErasureWaitsForResponsesWithTheName(t *testing.T) {
	t.Parallel()
	for name, work := range map[string]func(context.Context, *sales.Store, tenancy.ID, sales.Order) error{
		"to a new order": func(ctx context.Context, s *sales.Store, tenant tenancy.ID, o sales.Order) error {
			o.Number = "B"
			_, err := s.Ingest(ctx, tenant, []sales.Row{{Order: o}})
			return err
		},
		"to a resent order": func(ctx context.Context, s *sales.Store, tenant tenancy.ID, o sales.Order) error {
			_, err := s.Ingest(ctx, tenant, []sales.Row{{Order: o}})
			return err
		},
		"to a cancellation": func(ctx context.Context, s *sales.Store, tenant tenancy.ID, o sales.Order) error {
			_, err := s.Cancel(ctx, tenant, o.Number, nil)
			return err
		},
		"to a repeated cancellation": func(ctx context.Context, s *sales.Store, tenant tenancy.ID, o sales.Order) error {
			if _, err := s.Cancel(context.WithoutCancel(ctx), tenant, o.Number, nil); err != nil {
				return err
			}
			_, err := s.Cancel(ctx, tenant, o.Number, nil)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mustShop(t)
			o := order("A")
			o.Customer = &sales.Customer{ID: "7", Name: new("Ann")}
			s.mustIngest(t, o)
			claim, _, err := idempotency.Begin(t.Context(), s.DB, s.tenant, "k", idempotency.Fingerprint{})
			if err != nil {
				t.Fatal(err)
			}
			defer claim.Rollback(t.Context())
			if err := work(t.Context(), sales.New(claim.Tx), s.tenant, o); err != nil {
				t.Fatal(err)
			}
			stored, err := sales.New(claim.Tx).Order(t.Context(), s.tenant, "A")
			if err != nil {
				t.Fatal(err)
			}
			erased := make(chan error, 1)
			go func() { erased <- s.store.EraseCustomer(t.Context(), s.tenant, "7", tenancy.Operator) }()
			s.awaitLock(t, func() bool { return len(erased) > 0 })
			body := []byte(`{"customer":{"id":"7","name":"` + *stored.CustomerName + `"}}`)
			if err := claim.Commit(t.Context(), idempotency.Response{Status: 200, Body: body}, false); err != nil {
				t.Fatal(err)
			}
			if err := <-erased; err != nil {
				t.Fatal(err)
			}
			var responses []byte
			const bodies = `select coalesce(string_agg(body, ''), '') from idempotency_keys`
			err = s.MustSuper(t).QueryRow(t.Context(), bodies).Scan(&responses)
			if err != nil || bytes.Contains(responses, []byte("Ann")) {
				t.Errorf("the stored responses after the erasure are %s, %v", responses, err)
			}
		})
	}
}

// A request that claims an expired key locks the stored response, and may then store an
// order of the customer.
func TestAnErasureThatWaitsForAResponseDoesNotLockTheCustomer(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	o := order("A")
	o.Customer = &sales.Customer{ID: "7", Name: new("Ann")}
	s.mustIngest(t, o)
	super := s.MustSuper(t)
	if _, err := super.Exec(t.Context(), `
		insert into idempotency_keys (tenant_id, key, fingerprint, created_at, status, header, body)
		values ($1, 'old', sha256(''), now() - interval '25 hours', 200, '{}', '{"customer":{"id":"7","name":"Ann"}}')`,
		s.tenant); err != nil {
		t.Fatal(err)
	}
	claim, _, err := idempotency.Begin(t.Context(), s.DB, s.tenant, "old", idempotency.Fingerprint{})
	if err != nil {
		t.Fatal(err)
	}
	defer claim.Rollback(t.Context())
	erased := make(chan error, 1)
	go func() { erased <- s.store.EraseCustomer(t.Context(), s.tenant, "7", tenancy.Operator) }()
	s.awaitLock(t, func() bool { return len(erased) > 0 })
	var erasedName bool
	err = super.QueryRow(t.Context(), `select name is null from customers`).Scan(&erasedName)
	if err != nil || !erasedName {
		t.Errorf("the name is erased before the response is deleted: %t, %v", erasedName, err)
	}
	o.Number = "B"
	if _, err := sales.New(claim.Tx).Ingest(t.Context(), s.tenant, []sales.Row{{Order: o}}); err != nil {
		t.Errorf("Ingest = %v", err)
	}
	if err := claim.Commit(t.Context(), idempotency.Response{Status: 200}, false); err != nil {
		t.Fatal(err)
	}
	if err := <-erased; err != nil {
		t.Error(err)
	}
}

// awaitLock waits until a backend waits for a lock, or done returns true.
func (s *shop) awaitLock(t testing.TB, done func() bool) {
	t.Helper()
	const count = `
		select count(*)
		  from pg_stat_activity
		 where datname = current_database() and wait_event_type = 'Lock'`
	conn, deadline := s.MustSuper(t), time.Now().Add(time.Minute)
	for waiting := 0; waiting == 0 && !done(); {
		if err := conn.QueryRow(t.Context(), count).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatal("no backend waits for a lock after a minute")
		}
	}
}

// A refund that is stored while an order is read is in all of its figures or in none.
func TestAnOrderListsTheRefundsThatItCounts(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	s.mustIngest(t, order("A"))
	s.mustRefund(t, refundOf("A", 5, "first"))
	read := func() sales.StoredOrder {
		stored, err := s.store.Order(t.Context(), s.tenant, "A")
		if err != nil {
			t.Error(err)
		}
		return stored
	}
	read() // prepares the statements of the connection
	tx, err := s.MustSuper(t).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := tx.Exec(t.Context(), `lock table order_items in access exclusive mode`); err != nil {
		t.Fatal(err)
	}
	done := make(chan sales.StoredOrder, 1)
	go func() { done <- read() }()
	s.awaitLock(t, func() bool { return len(done) > 0 })
	for _, sql := range []string{
		`insert into refunds (tenant_id, order_id, refunded_at, amount, content)
		 select tenant_id, id, placed_at, 7, content from orders`,
		`insert into refund_items (tenant_id, refund_id, order_id, line, amount)
		 select tenant_id, id, order_id, 1, 7 from refunds where amount = 7`,
	} {
		if _, err := tx.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	stored := <-done
	var listed, ofLines money.Cents
	for _, r := range stored.Refunds {
		listed += r.Amount
	}
	for _, l := range stored.Lines {
		ofLines += l.Refunded
	}
	if stored.Refunded != listed || stored.Refunded != ofLines {
		t.Errorf("Refunded is %s, the refunds add up to %s and the lines to %s", stored.Refunded, listed, ofLines)
	}
}

// pack packs all sums and orders.
func pack(ctx context.Context, db *db.DB) error {
	task := tenants.PackSums
	task.Few = 1
	return task.Run(ctx, db)
}

// Writers of different days of a month change the same packed sums while these are packed.
func TestPackedSumsFollowConcurrentWriters(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	ctx, stop := context.WithCancel(t.Context())
	packed := make(chan error)
	go func() {
		var err error
		for ctx.Err() == nil && err == nil {
			err = pack(t.Context(), s.DB)
		}
		packed <- err
	}()
	var senders errgroup.Group
	for sender := range 8 {
		senders.Go(func() error {
			for n := range 12 {
				var rows []sales.Row
				for i := range 3 {
					o := order(fmt.Sprint(sender, "-", n, "-", i))
					o.PlacedAt = noon.AddDate(0, -((n + i) % 3), -((sender + 5*i) % 9))
					o.Items[0].SKU = fmt.Sprint("X", (sender+n+i)%20)
					rows = append(rows, sales.Row{Order: o})
				}
				if _, err := s.store.Ingest(t.Context(), s.tenant, rows); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := senders.Wait()
	stop()
	if err := errors.Join(err, <-packed, pack(t.Context(), s.DB)); err != nil {
		t.Fatal(err)
	}
	s.mustAgree(t)
	row := s.MustSuper(t).QueryRow(t.Context(), `
		select (select deadlocks from pg_stat_database where datname = current_database()),
		       (select count(*) from unpacked_sums) + (select count(*) from unpacked_customers),
		       (select count(*) from (
		               select sku from sold_products where first_id is null and product_id is null group by sku
		               having count(*) > 1) first_rows)`)
	var deadlocks, unpacked, severalFirst int
	if err := row.Scan(&deadlocks, &unpacked, &severalFirst); err != nil || deadlocks+unpacked+severalFirst > 0 {
		t.Errorf("%d deadlocks, %d unpacked rows, %d SKUs with several first rows, %v; want none",
			deadlocks, unpacked, severalFirst, err)
	}
}

// The rollups of a large batch are several statements.
func TestLargeBatchesOfOneMonthDoNotDeadlock(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	patient := sales.New(dbtest.MustOpen(t, s.URL+"&statement_timeout=0&lock_timeout=0"))
	var senders errgroup.Group
	for sender := range 4 {
		senders.Go(func() error {
			var rows []sales.Row
			for n := range 200 {
				o := order(fmt.Sprint(sender, "-", n))
				o.PlacedAt, o.Items = noon.AddDate(0, 0, -sender), nil
				for i := range 30 {
					o.Items = append(o.Items, sales.Item{SKU: fmt.Sprint("X", 30*n+i), Quantity: 1, UnitPrice: 100})
				}
				rows = append(rows, sales.Row{Order: o})
			}
			_, err := patient.Ingest(t.Context(), s.tenant, rows)
			return err
		})
	}
	if err := senders.Wait(); err != nil {
		t.Fatal(err)
	}
	var deadlocks int
	row := s.MustSuper(t).QueryRow(t.Context(),
		`select deadlocks from pg_stat_database where datname = current_database()`)
	if err := row.Scan(&deadlocks); err != nil || deadlocks > 0 {
		t.Errorf("%d deadlocks, %v; want none", deadlocks, err)
	}
	s.mustAgree(t)
}
