package sales_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// withStock returns the store that the API uses.
func (s *shop) withStock() *sales.Store { return s.store.WithStock(catalog.Actor{Tenant: s.tenant}) }

// mustStock sets the stock of a product, which it creates if there is none.
func (s *shop) mustStock(t testing.TB, sku string, quantity int64) catalog.Product {
	t.Helper()
	p, err := s.catalog.ProductBySKU(t.Context(), s.tenant, sku)
	if errors.Is(err, tenancy.ErrNotFound) {
		p, err = s.mustProduct(t, sku, 100), nil
	}
	if err == nil {
		p, err = s.catalog.Patch(t.Context(), catalog.Actor{Tenant: s.tenant}, p.ID, nil,
			catalog.Changes{Quantity: catalog.Value(quantity)}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// mustTakeStock makes the orders of a channel take stock.
func (s *shop) mustTakeStock(t testing.TB, channel, whenShort string, warehouse *int64) {
	t.Helper()
	_, err := s.store.CreateChannel(t.Context(), s.tenant, sales.Channel{
		Identifier: channel, Label: channel, TakesStock: true, WhenShort: whenShort, WarehouseID: warehouse,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

func (s *shop) mustWarehouse(t testing.TB, name string) int64 {
	t.Helper()
	w, err := s.catalog.CreateReference(t.Context(), s.tenant, catalog.Warehouses, catalog.Value(name), nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.ID
}

// mustBe fails if the stock of a product by warehouse differs, or verify finds a difference.
func (s *shop) mustBe(t testing.TB, product int64, want map[int64]int32) {
	t.Helper()
	stock, err := s.catalog.Inventory(t.Context(), s.tenant, product)
	if err != nil {
		t.Fatal(err)
	}
	got := map[int64]int32{}
	for _, in := range stock {
		if in.Quantity > 0 {
			got[in.WarehouseID] = in.Quantity
		}
	}
	if !cmp.Equal(got, want) {
		t.Errorf("the stock of product %d by warehouse is %v, want %v", product, got, want)
	}
}

// mustAgreeWithStock fails if verify finds a difference.
func (s *shop) mustAgreeWithStock(t testing.TB) {
	t.Helper()
	s.mustAgree(t)
	differences, err := s.catalog.Verify(t.Context(), s.tenant, 20)
	if err != nil || len(differences) > 0 {
		t.Errorf("the stock differs: %v, %v", differences, err)
	}
}

func of(channel, number string, items ...sales.Item) sales.Order {
	o := order(number, items...)
	o.Channel = channel
	return o
}

func pieces(sku string, quantity int64) sales.Item {
	return sales.Item{SKU: sku, Quantity: quantity, UnitPrice: 100}
}

func (s *shop) mustSell(t testing.TB, rows ...sales.Row) []sales.Result {
	t.Helper()
	results, err := s.withStock().Ingest(t.Context(), s.tenant, rows)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func TestAnOrderTakesStockIfItsChannelSaysSo(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	mug := s.mustStock(t, "MUG", 10)
	other := s.mustWarehouse(t, "Other")
	s.mustTakeStock(t, "web", sales.Refuse, nil)
	s.mustTakeStock(t, "outlet", sales.Refuse, &other)
	_, _, err := s.catalog.Adjust(t.Context(), catalog.Actor{Tenant: s.tenant}, mug.ID, catalog.AdjustRequest{
		Type: catalog.Value("add"), Quantity: catalog.Value(int64(4)), WarehouseID: catalog.Value(other),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	own := mug.WarehouseID
	for _, test := range []struct {
		name string
		row  sales.Row
		want map[int64]int32
	}{
		{"a channel that does not", sales.Row{Order: of("pos", "1", pieces("MUG", 3))}, map[int64]int32{own: 10, other: 4}},
		{"two lines, and a SKU without a product",
			sales.Row{Order: of("web", "2", pieces("MUG", 3), pieces("odd", 9), pieces("MUG", 1))},
			map[int64]int32{own: 6, other: 4}},
		{"the order again", sales.Row{Order: of("web", "2", pieces("MUG", 3), pieces("odd", 9), pieces("MUG", 1))},
			map[int64]int32{own: 6, other: 4}},
		{"the warehouse of the channel", sales.Row{Order: of("outlet", "3", pieces("MUG", 4))}, map[int64]int32{own: 6}},
		{"take_stock: false", sales.Row{Order: of("web", "4", pieces("MUG", 1)), KeepStock: true}, map[int64]int32{own: 6}},
	} {
		result := s.mustSell(t, test.row)[0]
		if result.Outcome == sales.Failed || result.Short {
			t.Errorf("%s: %+v", test.name, result)
		}
		t.Log(test.name)
		s.mustBe(t, mug.ID, test.want)
	}
	if r := s.mustIngest(t, of("web", "5", pieces("MUG", 1)))[0]; r.Outcome != sales.Created {
		t.Errorf("an imported order = %+v", r)
	}
	s.mustBe(t, mug.ID, map[int64]int32{own: 6})
	stored, err := s.store.Order(t.Context(), s.tenant, "2")
	if err != nil || stored.Lines[0].Taken != 3 || stored.Lines[1].Taken != 0 || stored.Lines[2].Taken != 1 {
		t.Errorf("the order = %+v, %v, want 3 and 1 taken", stored, err)
	}
	ledger, err := s.catalog.Adjustments(t.Context(), s.tenant, mug.ID, catalog.LedgerFilter{Page: paging.Page{Number: 1, PerPage: 50}})
	if err != nil {
		t.Fatal(err)
	}
	var sold []string
	for _, a := range ledger.Items {
		if a.OrderNumber != nil {
			sold = append(sold, fmt.Sprint(*a.OrderNumber, " ", *a.Reason, " ", a.Type, " ", a.Quantity))
		}
	}
	if want := []string{"3 sale remove 4", "2 sale remove 1", "2 sale remove 3"}; !slices.Equal(sold, want) {
		t.Errorf("the ledger names %q, want %q", sold, want)
	}
	s.mustAgreeWithStock(t)
}

func TestAnOrderOfMoreThanTheStockIsRefusedOrShort(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	mug, tea := s.mustStock(t, "MUG", 3), s.mustStock(t, "TEA", 9)
	s.mustTakeStock(t, "web", sales.Refuse, nil)
	s.mustTakeStock(t, "market", sales.Accept, nil)
	refused := s.mustSell(t, sales.Row{Order: of("web", "1", pieces("TEA", 1), pieces("MUG", 2), pieces("MUG", 2))})[0]
	short, ok := errors.AsType[sales.StockError](refused.Err)
	want := sales.StockError{"items[2].quantity": {fmt.Sprintf(
		"2 requested, 1 available of product %d (SKU \"MUG\") in warehouse %d", mug.ID, mug.WarehouseID)}}
	if !ok || refused.Outcome != sales.Failed || !cmp.Equal(short, want) || !errors.Is(refused.Err, catalog.ErrInsufficientStock) {
		t.Errorf("the refused order = %+v, want %v", refused, want)
	}
	s.mustBe(t, mug.ID, map[int64]int32{mug.WarehouseID: 3})
	s.mustBe(t, tea.ID, map[int64]int32{tea.WarehouseID: 9})
	// The numbers are not in the sequence of the request: the first order gets what there is.
	results := s.mustSell(t,
		sales.Row{Order: of("web", "9", pieces("MUG", 2))},
		sales.Row{Order: of("web", "8", pieces("MUG", 2))},
		sales.Row{Order: of("market", "7", pieces("MUG", 2), pieces("TEA", 1))},
		sales.Row{Order: of("market", "6", pieces("MUG", 2))})
	var got []string
	for _, r := range results {
		got = append(got, fmt.Sprint(r.Number, " ", r.Outcome, " ", r.Short))
	}
	if want := []string{"9 created false", "8 failed false", "7 created true", "6 created true"}; !slices.Equal(got, want) {
		t.Errorf("the results are %q, want %q", got, want)
	}
	s.mustBe(t, mug.ID, map[int64]int32{})
	stored, err := s.store.Order(t.Context(), s.tenant, "7")
	if err != nil || !stored.Short || stored.Lines[0].Taken != 1 || stored.Lines[1].Taken != 1 {
		t.Errorf("the short order = %+v, %v", stored, err)
	}
	s.mustAgreeWithStock(t)
}

func TestRefundsAndACancellationReturnWhatWasTaken(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	mug, tea := s.mustStock(t, "MUG", 5), s.mustStock(t, "TEA", 2)
	other := s.mustWarehouse(t, "Other")
	s.mustTakeStock(t, "market", sales.Accept, nil)
	s.mustSell(t, sales.Row{Order: of("market", "A", pieces("MUG", 4), pieces("TEA", 3))})
	in := func(n int32) map[int64]int32 {
		return map[int64]int32{mug.WarehouseID: n}
	}
	refund := func(reference string, items ...sales.RestockItem) sales.Result {
		r := refundOf("A", 100, reference)
		r.Restock, r.RestockItems = true, items
		results, err := s.withStock().Refund(t.Context(), s.tenant, []sales.RefundRow{{Refund: r}})
		if err != nil {
			t.Fatal(err)
		}
		return results[0]
	}
	first := sales.RestockItem{Line: 1, Quantity: 3}
	for range 2 { // the second one exists
		if r := refund("1", first); r.Err != nil {
			t.Fatal(r.Err)
		}
		s.mustBe(t, mug.ID, in(4))
	}
	if r := refund("1"); r.Outcome != sales.Failed {
		t.Errorf("the refund with other content = %+v, want a failure", r)
	}
	if r := refund("2", first, sales.RestockItem{Line: 3, Quantity: 1}, sales.RestockItem{Line: 2, Quantity: 4}); r.Err == nil ||
		len(r.Err.(tenancy.InvalidError)) != 2 {
		t.Errorf("a refund of lines that do not exist = %+v, want two errors", r)
	}
	refund("3", first) // one is left
	s.mustBe(t, mug.ID, in(5))
	s.mustBe(t, tea.ID, map[int64]int32{})
	// Stock returns to the product's own warehouse if the first one was deleted.
	_, err := s.catalog.Patch(t.Context(), catalog.Actor{Tenant: s.tenant}, tea.ID, nil,
		catalog.Changes{WarehouseID: catalog.Value(other)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := s.withStock().Cancel(t.Context(), s.tenant, "A", nil); err != nil {
			t.Fatal(err)
		}
	}
	s.mustBe(t, mug.ID, in(5))
	s.mustBe(t, tea.ID, map[int64]int32{tea.WarehouseID: 2})
	refund("4")
	s.mustBe(t, mug.ID, in(5))
	s.mustAgreeWithStock(t)
}

func TestStockReturnsToTheProductsWarehouseIfTheOtherIsDeleted(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	mug := s.mustStock(t, "MUG", 0)
	other := s.mustWarehouse(t, "Other")
	s.mustTakeStock(t, "outlet", sales.Refuse, &other)
	by := catalog.Actor{Tenant: s.tenant}
	_, _, err := s.catalog.Adjust(t.Context(), by, mug.ID, catalog.AdjustRequest{
		Type: catalog.Value("add"), Quantity: catalog.Value(int64(4)), WarehouseID: catalog.Value(other),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.mustSell(t, sales.Row{Order: of("outlet", "A", pieces("MUG", 4))})
	err = s.catalog.DeleteReference(t.Context(), s.tenant, catalog.Warehouses, other)
	if _, inUse := errors.AsType[tenancy.InUseError](err); !inUse {
		t.Errorf("the deletion of the channel's warehouse = %v, want it refused", err)
	}
	_, err = s.store.UpdateChannel(t.Context(), s.tenant, "outlet", sales.ChannelUpdate{WarehouseID: new(int64(0))}, nil)
	if err == nil {
		err = s.catalog.DeleteReference(t.Context(), s.tenant, catalog.Warehouses, other)
	}
	if err == nil {
		_, err = s.withStock().Cancel(t.Context(), s.tenant, "A", nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.mustBe(t, mug.ID, map[int64]int32{mug.WarehouseID: 4})
	s.mustAgreeWithStock(t)
	s.mustSell(t, sales.Row{Order: of("outlet", "B", pieces("MUG", 4))})
	if err := s.catalog.Delete(t.Context(), by, mug.ID, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.withStock().Cancel(t.Context(), s.tenant, "B", nil); err != nil {
		t.Errorf("the cancellation of an order of a deleted product = %v", err)
	}
	s.mustAgreeWithStock(t)
}

func TestOneOfManyOrdersGetsTheLastItem(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	mug := s.mustStock(t, "MUG", 1)
	s.mustTakeStock(t, "web", sales.Refuse, nil)
	var created sync.Map
	var senders errgroup.Group
	for n := range 16 {
		senders.Go(func() error {
			results, err := s.withStock().Ingest(t.Context(), s.tenant, []sales.Row{
				{Order: of("web", fmt.Sprint("N-", n), pieces("MUG", 1), pieces(fmt.Sprint("odd-", n), 1))},
			})
			if err == nil && results[0].Outcome == sales.Created {
				created.Store(n, true)
			}
			return err
		})
	}
	if err := senders.Wait(); err != nil {
		t.Fatal(err)
	}
	n := 0
	created.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d orders got the last item, want 1", n)
	}
	s.mustBe(t, mug.ID, map[int64]int32{})
	s.mustAgreeWithStock(t)
}

// An import cancels an order without its stock. A cancellation by the API then returns it, once.
func TestACancellationReturnsWhatAnImportLeft(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	mug := s.mustStock(t, "MUG", 3)
	s.mustTakeStock(t, "web", sales.Refuse, nil)
	if _, err := s.withStock().Ingest(t.Context(), s.tenant, []sales.Row{{Order: of("web", "N-1", pieces("MUG", 2))}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.Cancel(t.Context(), s.tenant, "N-1", nil); err != nil {
		t.Fatal(err)
	}
	s.mustBe(t, mug.ID, map[int64]int32{mug.WarehouseID: 1})
	for range 2 {
		if _, err := s.withStock().Cancel(t.Context(), s.tenant, "N-1", nil); err != nil {
			t.Fatal(err)
		}
		s.mustBe(t, mug.ID, map[int64]int32{mug.WarehouseID: 3})
	}
	s.mustAgreeWithStock(t)
}

// A cancellation is possible although the stock cannot take all that the order took.
func TestAReturnFillsTheStockAtMost(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	mug := s.mustStock(t, "MUG", 3)
	s.mustTakeStock(t, "web", sales.Refuse, nil)
	s.mustSell(t, sales.Row{Order: of("web", "N-1", pieces("MUG", 3))})
	for _, c := range []struct {
		kind            string
		quantity, stock int64
	}{{"add", catalog.MaxQuantity - 1, catalog.MaxQuantity}, {"remove", 5, catalog.MaxQuantity - 3}} {
		_, _, err := s.catalog.Adjust(t.Context(), catalog.Actor{Tenant: s.tenant}, mug.ID,
			catalog.AdjustRequest{Type: catalog.Value(c.kind), Quantity: catalog.Value(c.quantity)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.withStock().Cancel(t.Context(), s.tenant, "N-1", nil); err != nil {
			t.Fatal(err)
		}
		s.mustBe(t, mug.ID, map[int64]int32{mug.WarehouseID: int32(c.stock)})
	}
	s.mustAgreeWithStock(t)
}

// A client that sends an order again while it is stored gets the order, not an error because the order took the stock.
func TestAnOrderThatIsSentTwiceGetsItsOwnStock(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	mug := s.mustStock(t, "MUG", 1)
	s.mustTakeStock(t, "web", sales.Refuse, nil)
	var senders errgroup.Group
	for range 16 {
		senders.Go(func() error {
			results, err := s.withStock().Ingest(t.Context(), s.tenant, []sales.Row{{Order: of("web", "N-1", pieces("MUG", 1))}})
			if err == nil && results[0].Outcome == sales.Failed {
				err = results[0].Err
			}
			return err
		})
	}
	if err := senders.Wait(); err != nil {
		t.Errorf("an order that is stored is refused: %v", err)
	}
	s.mustBe(t, mug.ID, map[int64]int32{})
	s.mustAgreeWithStock(t)
}

// The response to an order of many items that are not in stock names the first ones.
func TestMissingItemsAreNamedUpToALimit(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	s.mustStock(t, "MUG", 1)
	s.mustTakeStock(t, "web", sales.Refuse, nil)
	var items []sales.Item
	for range 200 {
		items = append(items, pieces("MUG", 1))
	}
	results, err := s.withStock().Ingest(t.Context(), s.tenant, []sales.Row{{Order: of("web", "N-1", items...)}})
	if err != nil {
		t.Fatal(err)
	}
	missing, ok := errors.AsType[sales.StockError](results[0].Err)
	if !ok || len(missing) != 51 || missing["items"] == nil {
		t.Errorf("%d details, want 50 items and a sentence: %v", len(missing), results[0].Err)
	}
}

// Orders, adjustments, bulk changes, cancellations and refunds of the same products in all sequences. A deadlock would
// cost a second each, and leave more errors than PostgreSQL's retries hide.
func TestConcurrentOrdersAndStockChangesAgree(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	const products, workers, rounds = 6, 8, 12
	var ids []int64
	for n := range products {
		ids = append(ids, s.mustStock(t, fmt.Sprint("P-", n), 30).ID)
	}
	s.mustTakeStock(t, "web", sales.Refuse, nil)
	s.mustTakeStock(t, "market", sales.Accept, nil)
	by := catalog.Actor{Tenant: s.tenant}
	var all errgroup.Group
	for w := range workers {
		all.Go(func() error {
			for r := range rounds {
				number := fmt.Sprintf("%d-%d", w, r)
				item := func(k int) sales.Item { return pieces(fmt.Sprint("P-", (w*5+r*3+k)%products), int64(1+k)) }
				_, err := s.withStock().Ingest(t.Context(), s.tenant, []sales.Row{
					{Order: of("web", number, item(4), item(0), item(2))},
					{Order: of("market", number+"m", item(1), item(3))},
				})
				if err == nil && r%3 == 0 {
					_, err = s.withStock().Cancel(t.Context(), s.tenant, number+"m", nil)
				}
				if err == nil && r%3 == 1 {
					refund := refundOf(number+"m", 5, "r")
					refund.Restock = true
					_, err = s.withStock().Refund(t.Context(), s.tenant, []sales.RefundRow{{Refund: refund}})
				}
				if err == nil && r%4 == 2 {
					var rows []catalog.Row
					for k := range 3 {
						rows = append(rows, catalog.Row{Changes: catalog.Changes{
							SKU: catalog.Value(fmt.Sprint("P-", (w+r+k)%products)), Quantity: catalog.Value(int64(20)),
						}})
					}
					_, err = s.catalog.Upsert(t.Context(), by, rows)
				}
				if err == nil && r%4 == 3 {
					_, _, err = s.catalog.Adjust(t.Context(), by, ids[(w+r)%products], catalog.AdjustRequest{
						Type: catalog.Value("add"), Quantity: catalog.Value(int64(5)),
					}, nil)
				}
				if err != nil {
					return fmt.Errorf("worker %d, round %d: %w", w, r, err)
				}
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	s.mustAgreeWithStock(t)
}

// Units that an earlier refund returned without restock, because they are damaged, do not return to stock later.
func TestARefundRestocksTheUnitsThatItReturns(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	mug := s.mustStock(t, "MUG", 6)
	s.mustTakeStock(t, "web", sales.Refuse, nil)
	for i, items := range [][]sales.RestockItem{nil, {{Line: 1, Quantity: 2}}} {
		number := fmt.Sprint(i)
		s.mustSell(t, sales.Row{Order: of("web", number, pieces("MUG", 3))})
		damaged, rest := refundOf(number, 100, "damaged"), refundOf(number, 100, "rest")
		damaged.Items = []sales.RefundItem{{Line: 1, Quantity: new(int64(2))}}
		rest.Restock, rest.RestockItems = true, items
		results, err := s.withStock().Refund(t.Context(), s.tenant, []sales.RefundRow{{Refund: damaged}, {Refund: rest}})
		if err != nil || results[0].Err != nil || results[1].Err != nil {
			t.Fatalf("Refund = %+v, %v", results, err)
		}
		s.mustBe(t, mug.ID, map[int64]int32{mug.WarehouseID: int32(6 - 2*(i+1))})
	}
	s.mustAgreeWithStock(t)
}

// A model of stock and orders agrees with the database after any sequence of orders, refunds and cancellations.
func TestAnySequenceReturnsWhatWasTaken(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	s.mustTakeStock(t, "web", sales.Refuse, nil)
	s.mustTakeStock(t, "market", sales.Accept, nil)
	run := 0
	rapid.Check(t, func(r *rapid.T) {
		run++
		m := stockModel{
			shop: s, run: run, stock: map[string]int64{}, taken: map[string][]int64{}, returned: map[string][]int64{},
			ids: map[string]int64{},
		}
		for _, sku := range []string{"X", "Y"} {
			sku = fmt.Sprint(sku, "-", run)
			m.stock[sku] = rapid.Int64Range(0, 12).Draw(r, "stock")
			m.ids[sku] = s.mustStock(t, sku, m.stock[sku]).ID
			m.skus = append(m.skus, sku)
		}
		for range rapid.IntRange(1, 12).Draw(r, "steps") {
			m.step(r)
		}
		for sku, want := range m.stock {
			p, err := s.catalog.Product(t.Context(), s.tenant, m.ids[sku])
			if err != nil || int64(p.Quantity) != want {
				r.Errorf("the stock of %s is %d, %v, want %d", sku, p.Quantity, err, want)
			}
		}
		for _, number := range m.orders {
			o, err := s.store.Order(t.Context(), s.tenant, number)
			if err != nil {
				r.Fatal(err)
			}
			var returned []int64
			for _, l := range o.Lines {
				returned = append(returned, l.UnitsReturned)
			}
			if !slices.Equal(returned, m.returned[number]) {
				r.Errorf("order %s has the returned units %v, want %v", number, returned, m.returned[number])
			}
		}
	})
	s.mustAgreeWithStock(t)
}

// stockModel predicts what orders take and return.
type stockModel struct {
	shop  *shop
	run   int
	skus  []string
	ids   map[string]int64
	stock map[string]int64
	taken map[string][]int64 // of each line of an order, less what it has returned
	// returned are the units of each line that refunds returned, to stock or not.
	returned map[string][]int64
	lines    map[string][]sales.Item
	orders   []string
}

func (m *stockModel) step(r *rapid.T) {
	if m.lines == nil {
		m.lines = map[string][]sales.Item{}
	}
	kinds := []string{"order", "order", "cancel", "restock", "part", "items", "items", "refund", "adjust", "again"}
	kind := rapid.SampledFrom(kinds).Draw(r, "kind")
	if len(m.orders) == 0 && kind != "adjust" {
		kind = "order"
	}
	var number string
	if len(m.orders) > 0 {
		number = rapid.SampledFrom(m.orders).Draw(r, "number")
	}
	ctx, store := context.Background(), m.shop.withStock()
	var err error
	switch kind {
	case "order":
		err = m.order(r, store)
	case "again":
		_, err = store.Ingest(ctx, m.shop.tenant, []sales.Row{{Order: of("web", number, m.lines[number]...)}})
	case "cancel":
		m.giveBack(number, m.taken[number])
		_, err = store.Cancel(ctx, m.shop.tenant, number, nil)
	case "adjust":
		sku := rapid.SampledFrom(m.skus).Draw(r, "sku")
		m.stock[sku] += 2
		_, _, err = m.shop.catalog.Adjust(ctx, catalog.Actor{Tenant: m.shop.tenant}, m.ids[sku],
			catalog.AdjustRequest{Type: catalog.Value("add"), Quantity: catalog.Value(int64(2))}, nil)
	default:
		refund := m.refund(r, kind, number)
		var results []sales.Result
		results, err = store.Refund(ctx, m.shop.tenant, []sales.RefundRow{{Refund: refund}})
		if err == nil {
			err = results[0].Err
		}
	}
	if err != nil {
		r.Fatalf("%s %s: %v", kind, number, err)
	}
}

func (m *stockModel) order(r *rapid.T, store *sales.Store) error {
	number := fmt.Sprintf("R-%d-%d", m.run, len(m.taken))
	channel := rapid.SampledFrom([]string{"web", "market", "pos"}).Draw(r, "channel")
	var items []sales.Item
	for range rapid.IntRange(1, 3).Draw(r, "items") {
		sku := rapid.SampledFrom(append([]string{"unknown"}, m.skus...)).Draw(r, "sku")
		items = append(items, pieces(sku, rapid.Int64Range(1, 6).Draw(r, "quantity")))
	}
	after, taken, short := maps.Clone(m.stock), make([]int64, len(items)), false
	for i, item := range items {
		if _, exists := m.stock[item.SKU]; exists && channel != "pos" {
			taken[i] = min(item.Quantity, after[item.SKU])
			after[item.SKU] -= taken[i]
			short = short || taken[i] < item.Quantity
		}
	}
	results, err := store.Ingest(context.Background(), m.shop.tenant, []sales.Row{{Order: of(channel, number, items...)}})
	if err != nil {
		return err
	}
	refused := short && channel == "web"
	if refused != (results[0].Outcome == sales.Failed) || !refused && results[0].Short != short {
		return fmt.Errorf("the result is %+v, want refused %t, short %t", results[0], refused, short)
	}
	m.taken[number] = taken
	if !refused {
		m.stock, m.lines[number], m.returned[number] = after, items, make([]int64, len(items))
		m.orders = append(m.orders, number)
	}
	return nil
}

// refund returns a refund, and predicts the units that it returns.
func (m *stockModel) refund(r *rapid.T, kind, number string) sales.Refund {
	refund := sales.Refund{OrderNumber: number, Amount: 1}
	lines, returned := m.lines[number], m.returned[number]
	units := make([]int64, len(lines))
	line := rapid.IntRange(1, len(lines)).Draw(r, "line")
	left := lines[line-1].Quantity - returned[line-1]
	switch kind {
	case "restock":
		refund.Restock = true
		for i := range lines {
			units[i] = lines[i].Quantity - returned[i]
		}
	case "part":
		quantity := rapid.Int64Range(1, lines[line-1].Quantity).Draw(r, "quantity")
		refund.Restock, refund.RestockItems = true, []sales.RestockItem{{Line: int64(line), Quantity: quantity}}
		units[line-1] = min(quantity, left)
	case "items":
		refund.Restock = rapid.Bool().Draw(r, "restock") // or the units are damaged
		refund.Items = []sales.RefundItem{{Line: int64(line)}}
		if left > 0 {
			units[line-1] = rapid.Int64Range(1, left).Draw(r, "quantity")
			refund.Items[0].Quantity = &units[line-1]
		}
	}
	for i := range units {
		returned[i] += units[i]
	}
	if refund.Restock {
		m.giveBack(number, units)
	}
	return refund
}

// giveBack returns units of each line to stock, as far as the order took them.
func (m *stockModel) giveBack(number string, units []int64) {
	for i, left := range m.taken[number] {
		if quantity := min(left, units[i]); quantity > 0 {
			m.stock[m.lines[number][i].SKU] += quantity
			m.taken[number][i] -= quantity
		}
	}
}

func TestVerifyComparesOrdersWithTheLedger(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	s.mustStock(t, "MUG", 5)
	s.mustTakeStock(t, "web", sales.Refuse, nil)
	s.mustSell(t, sales.Row{Order: of("web", "A", pieces("MUG", 2))})
	if _, err := s.MustSuper(t).Exec(t.Context(), `update taken_stock set taken = 3`); err != nil {
		t.Fatal(err)
	}
	differences, err := s.store.Verify(t.Context(), s.tenant, 20)
	if err != nil || len(differences) != 1 || differences[0].Figure != "taken" || differences[0].Facts != "2" {
		t.Errorf("Verify = %v, %v, want a difference of what order A took", differences, err)
	}
}

func TestChannelsRefuseInvalidStockSettings(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	_, err := s.store.UpdateChannel(t.Context(), s.tenant, "pos", sales.ChannelUpdate{WhenShort: new("maybe")}, nil)
	if invalid, ok := errors.AsType[tenancy.InvalidError](err); !ok || len(invalid["when_short"]) == 0 {
		t.Errorf("an unknown when_short = %v", err)
	}
	_, err = s.store.UpdateChannel(t.Context(), s.tenant, "pos", sales.ChannelUpdate{WarehouseID: new(int64(4711))}, nil)
	if invalid, ok := errors.AsType[tenancy.InvalidError](err); !ok || len(invalid["warehouse_id"]) == 0 {
		t.Errorf("an unknown warehouse = %v", err)
	}
	own := s.mustStock(t, "MUG", 1).WarehouseID
	c, err := s.store.UpdateChannel(t.Context(), s.tenant, "pos", sales.ChannelUpdate{
		TakesStock: new(true), WhenShort: new(sales.Accept), WarehouseID: &own,
	}, nil)
	if err != nil || !c.TakesStock || c.WhenShort != sales.Accept || *c.WarehouseID != own || c.WarehouseName == nil {
		t.Errorf("the channel = %+v, %v", c, err)
	}
	c, err = s.store.UpdateChannel(t.Context(), s.tenant, "pos", sales.ChannelUpdate{WarehouseID: new(int64(0))}, nil)
	if err != nil || !c.TakesStock || c.WarehouseID != nil || c.Label == "" {
		t.Errorf("the channel without a warehouse = %+v, %v", c, err)
	}
}

func TestAnOrderOfAnArchiveReturnsWhatItTook(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	mug := s.mustStock(t, "MUG", 5)
	other := s.mustWarehouse(t, "Other")
	ids, err := s.store.NewSoldIDs(t.Context(), s.tenant, 1)
	if err != nil {
		t.Fatal(err)
	}
	sold := &sales.Sold{ID: ids[0], Product: mug.ID, Name: "Mug"}
	first, second := pieces("MUG", 4), pieces("MUG", 2)
	first.Sold, first.Stock = sold, &sales.SoldStock{Taken: 3, Returned: 1, Warehouse: "Other"}
	second.Sold, second.Stock = sold, &sales.SoldStock{Taken: 1, Warehouse: "Gone"}
	o := of("pos", "A", first, second)
	o.Content, o.Short = bytes.Repeat([]byte{7}, 32), true
	s.mustIngest(t, o)
	s.mustBe(t, mug.ID, map[int64]int32{mug.WarehouseID: 5})
	if _, err := s.withStock().Cancel(t.Context(), s.tenant, "A", nil); err != nil {
		t.Fatal(err)
	}
	s.mustBe(t, mug.ID, map[int64]int32{mug.WarehouseID: 6, other: 2})
	stored, err := s.store.Order(t.Context(), s.tenant, "A")
	if err != nil || !stored.Short || stored.Lines[0].Taken != 3 || stored.Lines[0].Returned != 3 {
		t.Errorf("the order of the archive = %+v, %v", stored, err)
	}
	s.mustAgreeWithStock(t)
}

func TestAChannelOfAnArchiveTakesStock(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	s.mustWarehouse(t, "Other")
	s.mustTakeStock(t, "own", sales.Refuse, nil)
	archived := func(identifier string) sales.Channel {
		return sales.Channel{
			Identifier: identifier, Label: identifier, TakesStock: true, WhenShort: sales.Accept, WarehouseName: new("Other"),
		}
	}
	planned, err := s.store.PlanChannels(t.Context(), s.tenant, []sales.Channel{
		archived("new"), archived("own"), {Identifier: "pos", TakesStock: true, WhenShort: sales.Refuse},
	})
	if err != nil || planned[1].Outcome != sales.Unchanged {
		t.Fatalf("PlanChannels = %+v, %v, want no change of a channel that takes stock", planned, err)
	}
	var changes []sales.ChannelChange
	for _, p := range planned {
		if p.Outcome != sales.Unchanged {
			changes = append(changes, p.ChannelChange)
		}
	}
	if written, err := s.store.ApplyChannels(t.Context(), s.tenant, changes); err != nil || slices.Contains(written, false) {
		t.Fatalf("ApplyChannels = %v, %v", written, err)
	}
	c, err := s.store.Channel(t.Context(), s.tenant, "new")
	if err != nil || !c.TakesStock || c.WhenShort != sales.Accept || c.WarehouseName == nil || *c.WarehouseName != "Other" {
		t.Errorf("the new channel = %+v, %v", c, err)
	}
	if kept, err := s.store.UndoChannels(t.Context(), s.tenant, changes); err != nil || len(kept) > 0 {
		t.Errorf("UndoChannels = %v, %v", kept, err)
	}
	if c, err = s.store.Channel(t.Context(), s.tenant, "pos"); err != nil || c.TakesStock {
		t.Errorf("the channel after the undo = %+v, %v", c, err)
	}
}

// A channel of which the label or the settings have changed keeps both.
func TestAChannelThatHasChangedIsNotWritten(t *testing.T) {
	t.Parallel()
	s := mustShop(t)
	change := func(old, label string) sales.ChannelChange {
		return sales.ChannelChange{
			Identifier: "pos", Old: &old, New: label, OldStock: &sales.StockSettings{WhenShort: sales.Refuse},
			NewStock: &sales.StockSettings{TakesStock: true, WhenShort: sales.Accept},
		}
	}
	before, err := s.store.Channel(t.Context(), s.tenant, "pos")
	if err != nil {
		t.Fatal(err)
	}
	other := change(before.Label, "Till")
	other.OldStock.TakesStock = true
	for _, c := range []sales.ChannelChange{change("another label", "Till"), other} {
		written, err := s.store.ApplyChannels(t.Context(), s.tenant, []sales.ChannelChange{c})
		after, readErr := s.store.Channel(t.Context(), s.tenant, "pos")
		if err != nil || readErr != nil || written[0] || after != before {
			t.Errorf("ApplyChannels of %+v = %v, %v, %v, the channel is %+v, want no change", c, written, err, readErr, after)
		}
	}
	applied := change(before.Label, "Till")
	changes := []sales.ChannelChange{applied}
	if written, err := s.store.ApplyChannels(t.Context(), s.tenant, changes); err != nil || !written[0] {
		t.Fatalf("ApplyChannels = %v, %v", written, err)
	}
	settings := sales.ChannelUpdate{TakesStock: new(false)}
	if _, err := s.store.UpdateChannel(t.Context(), s.tenant, "pos", settings, nil); err != nil {
		t.Fatal(err)
	}
	kept, err := s.store.UndoChannels(t.Context(), s.tenant, changes)
	after, readErr := s.store.Channel(t.Context(), s.tenant, "pos")
	if err != nil || readErr != nil || len(kept) != 1 || after.Label != "Till" {
		t.Errorf("UndoChannels = %v, %v, the channel is %+v, want it kept", kept, err, after)
	}
}
