package catalog

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
)

// Outcome is what became of one row of an Upsert.
type Outcome string

// The outcomes of a row.
const (
	Created   Outcome = "created"
	Updated   Outcome = "updated"
	Unchanged Outcome = "unchanged"
	Failed    Outcome = "failed"
)

// Row is one product of an Upsert, found by its SKU. Faults are those that the
// caller found already, while it read the row.
type Row struct {
	Changes
	Faults tenancy.InvalidError
}

// Result is what became of a Row, in its place. Err is an InvalidError or
// ErrInsufficientStock where Outcome is Failed.
type Result struct {
	SKU     string
	ID      int64
	Outcome Outcome
	Err     error
}

// attempts bounds how often an Upsert looks anew because somebody else wrote the same
// SKUs meanwhile.
const attempts = 10

// Upsert creates the products whose SKU is new and changes the fields that are
// set of the others. It is one transaction, but a failed row never undoes the
// others. Where a SKU stands twice the later row applies to what the earlier
// left.
func (s *Store) Upsert(ctx context.Context, by Actor, rows []Row) ([]Result, error) {
	for n := 1; ; n++ {
		results := make([]Result, len(rows))
		err := s.db.Tx(ctx, by.Tenant, func(tx pgx.Tx) error {
			clear(results)
			for _, round := range rounds(rows) {
				if err := upsertRound(ctx, tx, by, rows, round, results); err != nil {
					return err
				}
			}
			return nil
		})
		// Somebody else created one of the SKUs, or removed one of the
		// references, after the look at them: look again.
		if brokenReference(err) != "" {
			if n < attempts {
				continue
			}
			err = fmt.Errorf("%w: %w", tenancy.ErrBusy, err)
		}
		return results, wrap(err, "upsert %d products", len(rows))
	}
}

// rounds splits the places of rows so that no SKU stands twice in a round, each
// sorted by SKU, so that two upserts lock in the same order.
func rounds(rows []Row) [][]int {
	var all [][]int
	seen := map[string]int{}
	for i, r := range rows {
		sku := strings.TrimSpace(r.SKU.Value)
		n := seen[sku]
		seen[sku]++
		if n == len(all) {
			all = append(all, nil)
		}
		all[n] = append(all[n], i)
	}
	for _, round := range all {
		slices.SortStableFunc(round, func(a, b int) int { return cmp.Compare(rows[a].SKU.Value, rows[b].SKU.Value) })
	}
	return all
}

// plan is what a round is going to write.
type plan struct {
	created, updated []Product
	retagged         []int64
	moves            []move
	places           map[string]int // SKU of a created product to its row
}

func upsertRound(ctx context.Context, tx pgx.Tx, by Actor, rows []Row, round []int, results []Result) error {
	known, err := lookUp(ctx, tx, by.Tenant, rows, round)
	if err != nil {
		return err
	}
	w := plan{places: map[string]int{}}
	for _, i := range round {
		results[i] = w.add(i, rows[i], known)
	}
	b := &pgx.Batch{}
	var ids []inserted
	if len(w.created) > 0 {
		tenancy.QueueRows(b, &ids, insertProducts+`select id, sku from p`, by.Tenant, records(w.created...), by.KeyID)
	}
	if len(w.updated) > 0 {
		queueUpdate(b, by, w.updated, w.retagged, w.moves)
	}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	for _, p := range ids {
		results[w.places[p.SKU]].ID = p.ID
	}
	return nil
}

type inserted struct {
	ID  int64
	SKU string
}

// add works out one row.
func (w *plan) add(i int, row Row, known *knowledge) Result {
	faults := row.Faults.Clone()
	sku, _ := checkSKU(row.SKU.Value)
	before, exists := known.products[sku]
	after := before
	if !exists {
		after = blank()
		row.Changes.requireAll(faults)
	}
	row.Changes.apply(&after, faults)
	known.references(row.Changes, faults)
	if len(faults) > 0 {
		return Result{SKU: row.SKU.Value, ID: before.ID, Outcome: Failed, Err: faults}
	}
	if !exists {
		after.Quantity = int32(row.Quantity.Value)
		w.created = append(w.created, after)
		w.places[sku] = i
		return Result{SKU: sku, Outcome: Created}
	}
	moves, err := planStock(before, &after, known.stock[before.ID], row.Quantity)
	switch {
	case err != nil:
		return Result{SKU: sku, ID: before.ID, Outcome: Failed, Err: err}
	case reflect.DeepEqual(before, after):
		return Result{SKU: sku, ID: before.ID, Outcome: Unchanged}
	}
	w.retagged = append(w.retagged, retagged(before, after)...)
	w.updated = append(w.updated, after)
	w.moves = append(w.moves, moves...)
	return Result{SKU: sku, ID: before.ID, Outcome: Updated}
}

// knowledge is what the database has of the rows of a round, the products locked.
type knowledge struct {
	products map[string]Product
	stock    map[int64][]Stock
	existing map[Kind]map[int64]bool
}

func lookUp(ctx context.Context, tx pgx.Tx, tenant tenancy.ID, rows []Row, round []int) (*knowledge, error) {
	var skus []string
	wanted := map[Kind][]int64{Categories: nil, Sellers: nil, Warehouses: nil}
	for _, i := range round {
		if sku, fault := checkSKU(rows[i].SKU.Value); fault == "" {
			skus = append(skus, sku)
		}
		for kind, id := range rows[i].byKind() {
			if id.Set && !id.Null {
				wanted[kind] = append(wanted[kind], id.Value)
			}
		}
	}
	var locked []found
	var products []Product
	var stock []productStock
	references := map[Kind]*[]found{}
	b := &pgx.Batch{}
	tenancy.QueueRows(b, &locked, `select id from products where tenant_id = $1 and sku = any ($2) order by sku for update`, tenant, skus)
	tenancy.QueueRows(b, &products, `select`+productColumns+` from products p where p.tenant_id = $1 and p.sku = any ($2)`, tenant, skus)
	tenancy.QueueRows(b, &stock, `
		select product_id, warehouse_id, quantity from stock
		 where tenant_id = $1 and product_id in (select id from products where tenant_id = $1 and sku = any ($2))
		 order by product_id, warehouse_id`, tenant, skus)
	for _, kind := range slices.Sorted(maps.Keys(wanted)) {
		references[kind] = new([]found)
		tenancy.QueueRows(b, references[kind], `select id from `+string(kind)+` where tenant_id = $1 and id = any ($2)`, tenant, wanted[kind])
	}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("look up %d products: %w", len(skus), err)
	}
	return newKnowledge(locked, products, stock, references), nil
}

type productStock struct {
	ProductID, WarehouseID int64
	Quantity               int32
}

// newKnowledge leaves out the products that somebody else committed between the
// lock and the reading: nobody holds them, so they must not be changed from what
// was read. To the round their SKUs are new, and the insert fails on them.
func newKnowledge(locked []found, products []Product, stock []productStock, references map[Kind]*[]found) *knowledge {
	k := &knowledge{map[string]Product{}, map[int64][]Stock{}, map[Kind]map[int64]bool{}}
	held := map[int64]bool{}
	for _, p := range locked {
		held[p.ID] = true
	}
	for _, p := range products {
		if held[p.ID] {
			k.products[p.SKU] = p
		}
	}
	for _, s := range stock {
		k.stock[s.ProductID] = append(k.stock[s.ProductID], Stock{s.WarehouseID, s.Quantity})
	}
	for kind, all := range references {
		k.existing[kind] = map[int64]bool{}
		for _, r := range *all {
			k.existing[kind][r.ID] = true
		}
	}
	return k
}

func (k *knowledge) references(c Changes, faults tenancy.InvalidError) {
	facts{
		CategoryExists:  k.existing[Categories][c.CategoryID.Value],
		SellerExists:    k.existing[Sellers][c.SellerID.Value],
		WarehouseExists: k.existing[Warehouses][c.WarehouseID.Value],
	}.check(c, faults)
}

func (c *Changes) byKind() map[Kind]Field[int64] {
	return map[Kind]Field[int64]{Categories: c.CategoryID, Sellers: c.SellerID, Warehouses: c.WarehouseID}
}
