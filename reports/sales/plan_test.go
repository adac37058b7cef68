package sales_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/money"
)

func noQueries(*pgx.Batch) {}

// mustPlan stores a plan in a state and returns its id.
func (s *shop) mustPlan(t testing.TB, state string) (id sales.PlanID) {
	t.Helper()
	plan, err := db.One[struct{ ID int64 }](t.Context(), s.DB, s.tenant, `
		insert into change_plans (tenant_id, kind, state, title, actor, expires_at)
		values ($1, 'import', $2, 'orders.csv', 'ann@example.com', now() + interval '1 hour')
		returning id`, s.tenant, state)
	if err != nil {
		t.Fatal(err)
	}
	return sales.PlanID(plan.ID)
}

func (s *shop) mustSetState(t testing.TB, id sales.PlanID, state string) {
	t.Helper()
	_, err := s.DB.Exec(t.Context(), s.tenant, `
		update change_plans set state = $3 where tenant_id = $1 and id = $2`, s.tenant, id, state)
	if err != nil {
		t.Fatal(err)
	}
}

// mustShare calls f with a store that works in one transaction.
func (s *shop) mustShare(t testing.TB, f func(*sales.Store) error) {
	t.Helper()
	tx, err := s.DB.Begin(t.Context(), s.tenant, noQueries)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if err = f(sales.New(tx)); err == nil {
		err = tx.Commit(t.Context(), noQueries)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// file is what an import reads.
type file struct {
	channels      []sales.Channel
	customers     []sales.Customer
	orders        []sales.Row
	refunds       []sales.RefundRow
	cancellations []sales.CancelRow
}

// importPlan is a file that was planned and applied.
type importPlan struct {
	id        sales.PlanID
	outcomes  []string // of all rows
	channels  []sales.ChannelChange
	customers []sales.CustomerChange
	facts     []sales.Facts // of each part
}

func outcome(o sales.Outcome, err error) string { return fmt.Sprint(o, " ", err) }

// mustImport plans f and returns the outcomes, then applies it in three transactions.
func (s *shop) mustImport(t testing.TB, f file, beforeApply func()) (planned, applied importPlan) {
	t.Helper()
	ctx := t.Context()
	channels, err := s.store.PlanChannels(ctx, s.tenant, f.channels)
	if err != nil {
		t.Fatal(err)
	}
	customers, err := s.store.PlanCustomers(ctx, s.tenant, f.customers)
	if err != nil {
		t.Fatal(err)
	}
	orders, err := s.store.PlanOrders(ctx, s.tenant, f.orders)
	if err != nil {
		t.Fatal(err)
	}
	inPlan := map[string]bool{}
	for i, o := range orders {
		planned.outcomes = append(planned.outcomes, outcome(o.Outcome, o.Err))
		inPlan[f.orders[i].Number] = inPlan[f.orders[i].Number] || o.Outcome == sales.Created
	}
	for i := range f.refunds {
		f.refunds[i].InPlan = inPlan[f.refunds[i].OrderNumber]
	}
	for i := range f.cancellations {
		f.cancellations[i].InPlan = inPlan[f.cancellations[i].OrderNumber]
	}
	refunds, err := s.store.PlanRefunds(ctx, s.tenant, f.refunds)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range refunds {
		planned.outcomes = append(planned.outcomes, outcome(r.Outcome, r.Err))
	}
	cancellations, err := s.store.PlanCancellations(ctx, s.tenant, f.cancellations)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cancellations {
		planned.outcomes = append(planned.outcomes, outcome(c.Outcome, c.Err))
	}
	beforeApply()

	applied.id = s.mustPlan(t, "applying")
	s.mustShare(t, func(store *sales.Store) error {
		var labels []sales.ChannelChange
		for _, c := range channels {
			if c.Outcome == sales.Created || c.Outcome == sales.Updated {
				labels = append(labels, c.ChannelChange)
			}
		}
		written, err := store.ApplyChannels(t.Context(), s.tenant, stored(t, labels))
		if err != nil {
			return err
		}
		for i, c := range labels {
			if written[i] {
				applied.channels = append(applied.channels, c)
			}
		}
		var changes []sales.CustomerChange
		for _, c := range customers {
			if c.Outcome == sales.Created || c.Outcome == sales.Updated {
				changes = append(changes, c.CustomerChange)
			}
		}
		if written, err = store.ApplyCustomers(t.Context(), s.tenant, applied.id, stored(t, changes)); err != nil {
			return err
		}
		for i, c := range changes {
			if written[i] {
				applied.customers = append(applied.customers, c)
			}
		}
		return nil
	})
	s.mustShare(t, func(store *sales.Store) error {
		var facts sales.Facts
		results, _, err := store.ApplyOrders(t.Context(), s.tenant, applied.id, f.orders)
		for _, r := range results {
			applied.outcomes = append(applied.outcomes, outcome(r.Outcome, r.Err))
			if r.Outcome == sales.Created {
				facts.Orders = append(facts.Orders, r.ID)
			}
		}
		applied.facts = append(applied.facts, facts)
		return err
	})
	s.mustShare(t, func(store *sales.Store) error {
		var facts sales.Facts
		results, err := store.ApplyRefunds(t.Context(), s.tenant, applied.id, f.refunds)
		if err != nil {
			return err
		}
		for _, r := range results {
			applied.outcomes = append(applied.outcomes, outcome(r.Outcome, r.Err))
			if r.Outcome == sales.Created {
				facts.Refunds = append(facts.Refunds, r.ID)
			}
		}
		cancelled, err := store.ApplyCancellations(t.Context(), s.tenant, applied.id, f.cancellations)
		for _, r := range cancelled {
			applied.outcomes = append(applied.outcomes, outcome(r.Outcome, r.Err))
			if r.Outcome == sales.Created {
				facts.Cancellations = append(facts.Cancellations, r.ID)
			}
		}
		applied.facts = append(applied.facts, facts)
		return err
	})
	s.mustSetState(t, applied.id, "applied")
	return planned, applied
}

// stored returns what JSON stores of a value.
func stored[T any](t testing.TB, value T) (read T) {
	t.Helper()
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func (s *shop) mustUndo(t testing.TB, p importPlan) (kept []tenancy.Kept) {
	t.Helper()
	s.mustSetState(t, p.id, "undoing")
	for _, facts := range slices.Backward(p.facts) {
		s.mustShare(t, func(store *sales.Store) error {
			k, err := store.Remove(t.Context(), s.tenant, p.id, facts)
			kept = append(kept, k...)
			return err
		})
	}
	s.mustShare(t, func(store *sales.Store) error {
		k, err := store.UndoCustomers(t.Context(), s.tenant, p.id, p.customers)
		kept = append(kept, k...)
		return err
	})
	s.mustShare(t, func(store *sales.Store) error {
		k, err := store.UndoChannels(t.Context(), s.tenant, p.channels)
		kept = append(kept, k...)
		return err
	})
	s.mustSetState(t, p.id, "undone")
	return kept
}

// contents returns all rows of sales of a tenant without ids, and the sums that are not zero.
func (s *shop) contents(t testing.TB, super *pgx.Conn) (rows []string) {
	t.Helper()
	err := super.QueryRow(t.Context(), `
		select coalesce(array_agg(row order by row), '{}') from (
		    select concat_ws('|', 'channel', identifier, label) as row from channels where tenant_id = $1
		    union all
		    select concat_ws('|', 'customer', number, 'name ' || name, 'email ' || email) from customers where tenant_id = $1
		    union all
		    select concat_ws('|', 'order', number, placed_at, channel, items, units, revenue, discounts, tax, shipping, cost,
		                     (select number from customers where tenant_id = $1 and id = o.customer_id))
		      from orders o where tenant_id = $1
		    union all
		    select concat_ws('|', 'item', number, i.line, i.quantity, i.unit_price, i.unit_cost, i.discount, i.tax, p.sku)
		      from orders o
		      join order_items i on i.tenant_id = $1 and i.order_id = o.id
		      join sold_products p on p.tenant_id = $1 and p.id = i.sold_id
		     where o.tenant_id = $1
		    union all
		    select concat_ws('|', 'refund', number, r.refunded_at, r.amount, r.reference,
		                     (select array_agg(amount order by line)
		                        from refund_items where refund_id = r.id and tenant_id = $1))
		      from orders o join refunds r on r.tenant_id = $1 and r.order_id = o.id
		     where o.tenant_id = $1
		    union all
		    select concat_ws('|', 'cancellation', number)
		      from orders o join cancellations c on c.tenant_id = $1 and c.order_id = o.id
		     where o.tenant_id = $1
		    union all
		    select concat_ws('|', 'rollup', kind, day, channel, orders, items, units, revenue, discounts, tax, cost,
		                     refund_count, refunds, shipping)
		      from sales_rollups
		     where tenant_id = $1 and kind = 1 and (orders, items, refund_count) <> (0, 0, 0)
		) r`, s.tenant).Scan(&rows)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func drawFile(r *rapid.T, label string) (f file) {
	numbers := rapid.SampledFrom([]string{"1", "2", "3", "4", ""})
	for range rapid.IntRange(0, 5).Draw(r, label+" orders") {
		o := sales.Row{Order: order(numbers.Draw(r, "number"))}
		o.PlacedAt = noon.AddDate(0, 0, rapid.IntRange(-40, 0).Draw(r, "day"))
		o.Channel = rapid.SampledFrom([]string{"pos", "web", "New"}).Draw(r, "channel")
		o.Items = nil
		for range rapid.IntRange(1, 3).Draw(r, "items") {
			o.Items = append(o.Items, sales.Item{
				SKU:       rapid.SampledFrom([]string{"TEA", "unknown", "Unknown 2"}).Draw(r, "sku"),
				Quantity:  int64(rapid.IntRange(1, 3).Draw(r, "quantity")),
				UnitPrice: money.Cents(rapid.IntRange(0, 99).Draw(r, "price")),
			})
		}
		if rapid.Bool().Draw(r, "discounted") {
			o.DiscountTotal = new(money.Cents(rapid.IntRange(0, 20).Draw(r, "discount")))
		}
		if rapid.Bool().Draw(r, "taxed") {
			o.TaxTotal, o.ShippingTotal = new(money.Cents(7)), new(money.Cents(490))
		}
		if rapid.Bool().Draw(r, "has customer") {
			o.Customer = &sales.Customer{ID: rapid.SampledFrom([]string{"C1", "C2"}).Draw(r, "customer")}
		}
		f.orders = append(f.orders, o)
	}
	for n := range rapid.IntRange(0, 4).Draw(r, label+" refunds") {
		amount := money.Cents(rapid.IntRange(0, 50).Draw(r, "amount"))
		refund := refundOf(numbers.Draw(r, "refunded"), amount, fmt.Sprint("r", n))
		refund.RefundedAt = new(noon.AddDate(0, 0, rapid.IntRange(-40, 0).Draw(r, "refund day")))
		f.refunds = append(f.refunds, sales.RefundRow{Refund: refund})
	}
	for range rapid.IntRange(0, 2).Draw(r, label+" cancellations") {
		f.cancellations = append(f.cancellations, sales.CancelRow{
			Cancellation: sales.Cancellation{OrderNumber: numbers.Draw(r, "cancelled"), CancelledAt: &noon},
		})
	}
	for range rapid.IntRange(0, 3).Draw(r, label+" customers") {
		c := sales.Customer{ID: rapid.SampledFrom([]string{"C1", "C2", "C3", ""}).Draw(r, "id")}
		if rapid.Bool().Draw(r, "named") {
			c.Name = new(rapid.SampledFrom([]string{"Ann", "Bea"}).Draw(r, "name"))
		}
		if rapid.Bool().Draw(r, "has email") {
			c.Email = new(rapid.SampledFrom([]string{"ann@example.com", "bea@example.com", "none"}).Draw(r, "email"))
		}
		f.customers = append(f.customers, c)
	}
	for _, o := range f.orders {
		if o.Customer != nil {
			f.customers = append(f.customers, *o.Customer)
		}
		f.channels = append(f.channels, sales.Channel{Identifier: o.Channel})
	}
	if rapid.Bool().Draw(r, label+" labelled") {
		f.channels = append(f.channels, sales.Channel{Identifier: "web", Label: label})
	}
	return f
}

// direct stores a file as the API would, and returns the outcomes.
func (s *shop) direct(t testing.TB, f file) (outcomes []string) {
	t.Helper()
	for _, c := range f.channels {
		stored, err := s.store.Channel(t.Context(), s.tenant, c.Identifier)
		if c.Label == "" && err == nil {
			c.Label = stored.Label
		} else if c.Label == "" {
			c.Label = c.Identifier
		}
		_, err = s.store.EnsureChannels(t.Context(), s.tenant, []sales.Channel{c})
		if _, invalid := errors.AsType[tenancy.InvalidError](err); err != nil && !invalid {
			t.Fatal(err)
		}
	}
	for _, c := range f.customers {
		_, err := s.store.EnsureCustomers(t.Context(), s.tenant, []sales.Customer{c})
		if _, invalid := errors.AsType[tenancy.InvalidError](err); err != nil && !invalid {
			t.Fatal(err)
		}
	}
	results, err := s.store.Ingest(t.Context(), s.tenant, f.orders)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		outcomes = append(outcomes, outcome(r.Outcome, r.Err))
	}
	for _, r := range f.refunds {
		results, err := s.store.Refund(t.Context(), s.tenant, []sales.RefundRow{r})
		if err != nil {
			t.Fatal(err)
		}
		outcomes = append(outcomes, outcome(results[0].Outcome, results[0].Err))
	}
	for _, c := range f.cancellations {
		before, findErr := s.store.Order(t.Context(), s.tenant, c.OrderNumber)
		_, err := s.store.Cancel(t.Context(), s.tenant, c.OrderNumber, c.CancelledAt)
		switch {
		case errors.Is(err, tenancy.ErrNotFound):
			outcomes = append(outcomes, outcome(sales.Failed, tenancy.ErrNotFound))
		case err != nil || findErr != nil:
			t.Fatal(err, findErr)
		case before.CancelledAt != nil:
			outcomes = append(outcomes, outcome(sales.Unchanged, nil))
		default:
			outcomes = append(outcomes, outcome(sales.Created, nil))
		}
	}
	return outcomes
}

// For any files, a plan has the outcomes of storing the file and writes nothing, applying it results in the same rows
// and sums, and undoing it restores everything, so that the file can be imported again.
func TestPlanApplyAndUndoOfSales(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	super := d.MustSuper(t)
	n := 0
	newShop := func() *shop {
		n++
		s := &shop{d, sales.New(d.DB), catalog.New(d.DB), d.MustTenant(t, fmt.Sprint("shop-", n)).ID}
		s.mustProduct(t, "TEA", 450)
		return s
	}
	rapid.Check(t, func(r *rapid.T) {
		s, direct := newShop(), newShop()
		first := drawFile(r, "first")
		s.direct(t, first)
		direct.direct(t, first)
		before := s.contents(t, super)
		if rapid.Bool().Draw(r, "packed") {
			if err := pack(t.Context(), d.DB); err != nil {
				t.Fatal(err)
			}
		}
		second := drawFile(r, "second")
		planned, applied := s.mustImport(t, second, func() {
			if diff := cmp.Diff(before, s.contents(t, super)); diff != "" {
				r.Fatalf("the plan changed (-want +got):\n%s", diff)
			}
		})
		want := direct.direct(t, second)
		if diff := cmp.Diff(want, planned.outcomes); diff != "" {
			r.Fatalf("outcomes of the plan (-direct +plan):\n%s", diff)
		}
		if diff := cmp.Diff(want, applied.outcomes); diff != "" {
			r.Fatalf("outcomes of applying (-direct +plan):\n%s", diff)
		}
		after := s.contents(t, super)
		if diff := cmp.Diff(direct.contents(t, super), after); diff != "" {
			r.Fatalf("rows after the plan (-direct +plan):\n%s", diff)
		}
		s.mustAgree(t)
		if rapid.Bool().Draw(r, "packed again") {
			if err := pack(t.Context(), d.DB); err != nil {
				t.Fatal(err)
			}
		}
		if kept := s.mustUndo(t, applied); len(kept) > 0 {
			r.Fatalf("the undo keeps %v", kept)
		}
		if diff := cmp.Diff(before, s.contents(t, super)); diff != "" {
			r.Fatalf("rows after the undo (-want +got):\n%s", diff)
		}
		s.mustAgree(t)
		if t.Failed() {
			r.Fatal("sums differ")
		}
		s.mustImport(t, second, func() {})
		if diff := cmp.Diff(after, s.contents(t, super)); diff != "" {
			r.Fatalf("rows after the second import (-want +got):\n%s", diff)
		}
	})
}

// An undo keeps and names the rows that were written since the import.
func TestUndoKeepsOrdersWithOtherFacts(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	super := s.MustSuper(t)
	f := file{
		channels: []sales.Channel{{Identifier: "web"}, {Identifier: "free"}, {Identifier: "pos", Label: "Till"}},
		customers: []sales.Customer{
			{ID: "used", Name: new("Ann")}, {ID: "unused"}, {ID: "renamed", Name: new("Bea")}, {ID: "erased", Name: new("Cid")},
		},
	}
	for _, number := range []string{"plain", "refunded", "cancelled", "refunded and cancelled"} {
		o := order(number)
		o.Channel, o.Customer = "web", &sales.Customer{ID: "used"}
		f.orders = append(f.orders, sales.Row{Order: o})
	}
	for _, r := range []sales.Refund{refundOf("refunded", 5, "ours"), refundOf("refunded and cancelled", 5, "ours")} {
		f.refunds = append(f.refunds, sales.RefundRow{Refund: r})
	}
	f.cancellations = []sales.CancelRow{{Cancellation: sales.Cancellation{OrderNumber: "refunded and cancelled"}}}
	_, applied := s.mustImport(t, f, func() {})
	s.mustRefund(t, refundOf("refunded", 7, "theirs"))
	if _, err := s.store.Cancel(t.Context(), s.tenant, "cancelled", nil); err != nil {
		t.Fatal(err)
	}
	renamed := []sales.Customer{{ID: "renamed", Name: new("Bob")}}
	if _, err := s.store.EnsureCustomers(t.Context(), s.tenant, renamed); err != nil {
		t.Fatal(err)
	}
	if err := s.store.EraseCustomer(t.Context(), s.tenant, "erased", tenancy.Operator); err != nil {
		t.Fatal(err)
	}
	kept := map[string]string{}
	for _, k := range s.mustUndo(t, applied) {
		kept[k.Key] = k.Reason
	}
	const foreign = "has a refund or a cancellation that is not of this import"
	want := map[string]string{
		"refunded": foreign, "cancelled": foreign, "used": "has orders", "renamed": "has changed since",
		"erased": "is erased", "web": "2 orders use this channel",
	}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	var rows []string
	for _, row := range s.contents(t, super) {
		for _, kind := range []string{"channel|", "customer|", "refund|", "cancellation|"} {
			if len(row) > len(kind) && row[:len(kind)] == kind {
				rows = append(rows, row)
			}
		}
	}
	wantRows := []string{
		"cancellation|cancelled", "channel|pos|Point of sale", "channel|web|web", "customer|erased",
		"customer|renamed|name Bob", "customer|used|name Ann",
		"refund|refunded|2026-04-01 12:00:00+00|5|ours|{5}", "refund|refunded|2026-04-01 12:00:00+00|7|theirs|{7}",
	}
	if diff := cmp.Diff(wantRows, rows); diff != "" {
		t.Errorf("rows after the undo (-want +got):\n%s", diff)
	}
	s.mustAgree(t)
}

// An import can refund and cancel orders that existed before. Undoing it leaves the orders.
func TestUndoOfRefundsAndCancellationsOfEarlierOrders(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	super := s.MustSuper(t)
	s.mustIngest(t, order("A"), order("B"))
	s.mustRefund(t, refundOf("A", 3, "theirs"))
	before := s.contents(t, super)
	_, applied := s.mustImport(t, file{
		refunds: []sales.RefundRow{{Refund: refundOf("A", 5, "ours")}},
		cancellations: []sales.CancelRow{
			{Cancellation: sales.Cancellation{OrderNumber: "A"}}, {Cancellation: sales.Cancellation{OrderNumber: "B"}},
		},
	}, func() {})
	if kept := s.mustUndo(t, applied); len(kept) > 0 {
		t.Errorf("the undo keeps %v", kept)
	}
	if diff := cmp.Diff(before, s.contents(t, super)); diff != "" {
		t.Errorf("rows after the undo (-want +got):\n%s", diff)
	}
	s.mustAgree(t)
}

// Rows that have changed since the plan are not written.
func TestApplyRefusesChannelsAndCustomersThatHaveChangedSince(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	super := s.MustSuper(t)
	ann := []sales.Customer{{ID: "1", Name: new("Ann")}}
	if _, err := s.store.EnsureCustomers(t.Context(), s.tenant, ann); err != nil {
		t.Fatal(err)
	}
	var changed []string
	_, applied := s.mustImport(t, file{
		channels:  []sales.Channel{{Identifier: "pos", Label: "Till"}, {Identifier: "web"}},
		customers: []sales.Customer{{ID: "1", Name: new("Bea")}, {ID: "2"}},
	}, func() {
		channels := []sales.Channel{{Identifier: "pos", Label: "Counter"}, {Identifier: "web", Label: "Web"}}
		if _, err := s.store.EnsureChannels(t.Context(), s.tenant, channels); err != nil {
			t.Fatal(err)
		}
		customers := []sales.Customer{{ID: "1", Email: new("a@example.com")}, {ID: "2", Name: new("Cid")}}
		if _, err := s.store.EnsureCustomers(t.Context(), s.tenant, customers); err != nil {
			t.Fatal(err)
		}
		changed = s.contents(t, super)
	})
	if diff := cmp.Diff(changed, s.contents(t, super)); diff != "" || len(applied.channels)+len(applied.customers) > 0 {
		t.Errorf("applied %v and %v (-want +got):\n%s", applied.channels, applied.customers, diff)
	}
}

// Only facts that the transaction of the plan created are recorded, and only recorded facts are removed.
func TestRemoveRefusesFactsOfOthers(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	id := s.mustIngest(t, order("A"))[0].ID
	plan := s.mustPlan(t, "undoing")
	if _, err := s.store.Cancel(t.Context(), s.tenant, "A", nil); err != nil {
		t.Fatal(err)
	}
	for _, facts := range []sales.Facts{{Orders: []int64{id}}, {Cancellations: []int64{id}}} {
		if _, err := s.store.Remove(t.Context(), s.tenant, plan, facts); db.SQLState(err) != "42501" {
			t.Errorf("Remove of %+v of another origin = %v, want it refused", facts, err)
		}
	}
	s.mustSetState(t, plan, "applying")
	if _, _, err := s.store.ApplyOrders(t.Context(), s.tenant, plan, []sales.Row{{Order: order("B")}}); err == nil {
		t.Error("ApplyOrders without a transaction records the order")
	}
	if _, err := s.store.Order(t.Context(), s.tenant, "A"); err != nil {
		t.Error(err)
	}
	s.mustAgree(t)
}
