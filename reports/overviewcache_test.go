package reports_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

var overviewOfMarch = reports.OverviewQuery{Range: march, Compare: reports.PreviousPeriod, Limit: 10}

// mustChange fails unless a change alters the stored overview into the one that a new store computes.
func (s *shop) mustChange(t *testing.T, change func()) {
	t.Helper()
	before := must(t, s.Overview, s.Tenant, overviewOfMarch)
	change()
	got := must(t, s.Overview, s.Tenant, overviewOfMarch)
	if diff := cmp.Diff(must(t, reports.New(s.database.DB).Overview, s.Tenant, overviewOfMarch), got); diff != "" {
		t.Errorf("the overview differs from that of a new store (-want +got):\n%s", diff)
	}
	if cmp.Equal(before, got) {
		t.Error("the change does not change the overview")
	}
}

func TestAnOverviewShowsEachChange(t *testing.T) {
	t.Parallel()
	s := newShop(t, "Europe/Berlin")
	id, cup := s.mustProduct(t, "TEA", "", "", 400), s.mustProduct(t, "CUP", "", "", 400)
	short := sales.Channel{Identifier: "short", Label: "Short", TakesStock: true, WhenShort: sales.Refuse}
	if _, err := s.sales.CreateChannel(t.Context(), s.ID, short, nil); err != nil {
		t.Fatal(err)
	}
	s.mustSell(t, newOrder("1", "2026-02-10T10:00:00Z", item("TEA", 3, 500), item("unknown", 2, 500)),
		newOrder("2", "2026-03-31T23:00:00Z", item("TEA", 3, 500)),
		newOrder("5", "2026-03-12T10:00:00Z", item("CUP", 1, 500)))
	patchProduct := func(t *testing.T, id int64, c catalog.Changes) {
		t.Helper()
		if _, err := s.catalog.Patch(t.Context(), s.by(), id, nil, c, tenancy.InvalidError{}); err != nil {
			t.Fatal(err)
		}
	}
	patchProduct(t, cup, catalog.Changes{Name: catalog.Value("Cup")}) // the overview shows the name in orders
	patch := func(t *testing.T, c catalog.Changes) { patchProduct(t, id, c) }
	refuse := func(t *testing.T, number, sku string) {
		t.Helper()
		order := newOrder(number, "2026-03-10T10:00:00Z", item(sku, 99, 500))
		order.Channel = "short"
		results, err := s.sales.WithStock(s.by()).Ingest(t.Context(), s.ID, []sales.Row{{Order: order}})
		if err != nil || results[0].Err == nil {
			t.Fatalf("Ingest without stock = %+v, %v; want an error", results, err)
		}
	}
	for _, c := range []struct {
		name   string
		change func(*testing.T)
	}{
		{"an order", func(t *testing.T) { s.mustSell(t, newOrder("3", "2026-03-10T10:00:00Z", item("TEA", 1, 500))) }},
		{"a refund", func(t *testing.T) { s.mustRefund(t, refund("3", "2026-03-11T10:00:00Z", 100)) }},
		{"a cancellation", func(t *testing.T) { s.mustCancel(t, "3") }},
		{"a reorder point", func(t *testing.T) { patch(t, catalog.Changes{ReorderPoint: catalog.Value(int64(9))}) }},
		{"the stock", func(t *testing.T) { patch(t, catalog.Changes{Quantity: catalog.Value(int64(5))}) }},
		{"the name of a low product", func(t *testing.T) { patch(t, catalog.Changes{Name: catalog.Value("Tea")}) }},
		{"the name of a declining product in an order that is refused", func(t *testing.T) { refuse(t, "4", "TEA") }},
		{"the name of a best product in an order that is refused", func(t *testing.T) { refuse(t, "6", "CUP") }},
		{"the label of a channel", func(t *testing.T) {
			label := sales.ChannelUpdate{Label: new("Till")}
			if _, err := s.sales.UpdateChannel(t.Context(), s.ID, sales.PointOfSale, label, nil); err != nil {
				t.Fatal(err)
			}
		}},
		{"the deletion of a product", func(t *testing.T) {
			if err := s.catalog.Delete(t.Context(), s.by(), id, nil); err != nil {
				t.Fatal(err)
			}
		}},
		{"the time zone", func(t *testing.T) {
			if _, err := sales.New(s.database.Admin).ChangeZone(t.Context(), s.ID, "UTC"); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) { s.mustChange(t, func() { c.change(t) }) })
	}
}

// A transaction that began before the snapshot of the overview can commit after it, and after later transactions.
func TestAnOverviewShowsATransactionThatCommitsLate(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "the transaction is on the coordinator")
	s := newShop(t, "UTC")
	s.mustSell(t, newOrder("1", "2026-03-10T10:00:00Z", item("A", 1, 100)))
	super := s.database.MustSuper(t)
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := super.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	label := func(label string) {
		t.Helper()
		exec(`update channels set label = $2 where tenant_id = $1`, s.ID, label)
	}
	for _, c := range []struct {
		name         string
		first, after func() // in the transaction, before and after the overview is stored
	}{
		{"that changed a row before", func() { label("Before") }, func() {}},
		{"that changed a row after", func() { exec(`select pg_current_xact_id()`) }, func() { label("After") }},
	} {
		t.Run("one "+c.name, func(t *testing.T) {
			exec(`begin`)
			c.first()
			s.mustSell(t, newOrder(c.name, "2026-03-10T10:00:00Z", item("A", 1, 100))) // a later transaction
			s.mustChange(t, func() {
				c.after()
				exec(`commit`)
			})
		})
	}
}

// sentSQL records what a database sends. A batch is one round trip.
type sentSQL struct {
	batches    int
	statements []string
}

func (s *sentSQL) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (s *sentSQL) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (s *sentSQL) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	s.batches++
	return ctx
}
func (s *sentSQL) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	s.statements = append(s.statements, data.SQL)
}
func (s *sentSQL) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

func TestAnUnchangedOverviewIsNotComputedAgain(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	sent := &sentSQL{}
	pool, err := db.Open(t.Context(), d.URL, func(c *pgx.ConnConfig) { c.Tracer = sent })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	s, other := openShop(t, d, "shop", "UTC"), openShop(t, d, "other", "UTC")
	s.Store = reports.New(pool)
	s.mustSell(t, newOrder("1", "2026-03-10T10:00:00Z", item("A", 1, 100)))
	mustSend := func(wantTrips int, wantScan bool) {
		t.Helper()
		*sent = sentSQL{}
		must(t, s.Overview, s.Tenant, overviewOfMarch)
		scan := strings.Contains(strings.Join(sent.statements, "\n"), "packed_sums")
		if sent.batches != wantTrips || scan != wantScan {
			t.Errorf("Overview made %d round trips, scan %t; want %d, %t", sent.batches, scan, wantTrips, wantScan)
		}
	}
	first := overviewOfMarch
	first.Limit = 1
	must(t, s.Overview, s.Tenant, first) // on a cluster, the first request also asks for the node of the tenant
	mustSend(2, true)
	mustSend(1, false)
	other.mustSell(t, newOrder("1", "2026-03-10T10:00:00Z", item("A", 1, 100)))
	mustSend(1, false)
	s.mustSell(t, newOrder("2", "2026-03-10T10:00:00Z", item("A", 1, 100)))
	mustSend(3, true)
	mustSend(1, false)
}

func TestAnOverviewShowsWhatWasStoredBefore(t *testing.T) {
	t.Parallel()
	s := newShop(t, "UTC")
	var stored atomic.Int64
	var group errgroup.Group
	for client := range 4 {
		group.Go(func() error {
			for n := range 20 {
				order := newOrder(fmt.Sprint(client, "-", n), "2026-03-10T10:00:00Z", item("A", 1, 100))
				if n%2 == 0 {
					if _, err := s.sales.Ingest(t.Context(), s.ID, []sales.Row{{Order: order}}); err != nil {
						return err
					}
					stored.Add(1)
				}
				want := stored.Load()
				o, err := s.Overview(t.Context(), s.Tenant, overviewOfMarch)
				if err != nil {
					return err
				}
				if o.Summary.Total.Orders < want {
					return fmt.Errorf("the overview has %d orders after %d were stored", o.Summary.Total.Orders, want)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}
