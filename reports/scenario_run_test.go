package reports_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// scenarioRun runs a scenario against the product and the model.
type scenarioRun struct {
	scenario   scenario
	tenant     tenants.Tenant // keeps its first time zone
	super      *pgx.Conn
	db         *db.DB
	catalog    *catalog.Store
	sales      *sales.Store
	operator   *sales.Store
	reports    *reports.Store
	model      *model
	orders     map[int]*modelOrder
	categories [4]int64 // by their number in the scenario; 0 means none
	sellers    [3]int64

	mutex sync.Mutex
	made  map[message]int // number of times that the result of a message was Created
	early []message       // messages before their order
}

func newModel(zone string) *model {
	return &model{
		zone: mustZone(zone), products: map[string]modelProduct{}, channels: map[string]string{"pos": "Point of sale"},
		categories: map[int64]string{}, sellers: map[int64]string{},
	}
}

func (run *scenarioRun) runStage(ctx context.Context, n int) error {
	stage := run.scenario.Stages[n]
	if n == 0 {
		if err := run.createReferences(ctx); err != nil {
			return err
		}
	}
	if err := run.changeCatalog(ctx, stage); err != nil {
		return err
	}
	if err := run.sendStage(ctx, stage); err != nil {
		return err
	}
	run.updateModel(n)
	for _, d := range run.scenario.due(n) {
		if d.Kind != "cancel" && run.made[d] != 1 {
			return fmt.Errorf("%v was created %d times", d, run.made[d])
		}
	}
	return run.compare(ctx, stage.Queries)
}

// createReferences creates the categories and sellers.
func (run *scenarioRun) createReferences(ctx context.Context) error {
	categories, _, err := run.catalog.EnsureReferences(ctx, run.tenant.ID, catalog.Categories, []string{"C1", "C2", "C3"})
	if err != nil {
		return err
	}
	sellers, _, err := run.catalog.EnsureReferences(ctx, run.tenant.ID, catalog.Sellers, []string{"S1", "S2"})
	if err != nil {
		return err
	}
	for name, id := range categories {
		run.categories[name[1]-'0'], run.model.categories[id] = id, name
	}
	for name, id := range sellers {
		run.sellers[name[1]-'0'], run.model.sellers[id] = id, name
	}
	return nil
}

func (run *scenarioRun) changeCatalog(ctx context.Context, stage scenarioStage) error {
	run.model.changes++
	for _, c := range stage.Changes {
		if err := run.changeProduct(ctx, c); err != nil {
			return fmt.Errorf("%+v: %w", c, err)
		}
	}
	for _, r := range stage.Renamed {
		if err := run.rename(ctx, r); err != nil {
			return fmt.Errorf("%+v: %w", r, err)
		}
	}
	for _, l := range stage.Relabelled {
		channels := []sales.Channel{{Identifier: l.Channel, Label: l.Label}}
		if _, err := run.sales.EnsureChannels(ctx, run.tenant.ID, channels); err != nil {
			return err
		}
		run.model.channels[l.Channel] = l.Label
	}
	return nil
}

func (run *scenarioRun) changeProduct(ctx context.Context, c scenarioChange) error {
	by := catalog.Actor{Tenant: run.tenant.ID}
	before, exists := run.model.products[c.SKU]
	if c.Delete {
		delete(run.model.products, c.SKU)
		if !exists {
			return nil
		}
		return run.catalog.Delete(ctx, by, before.id, nil)
	}
	changes, after := run.changes(c)
	if !exists {
		created, err := run.catalog.Create(ctx, by, changes, tenancy.InvalidError{})
		after.id = created.ID
		run.model.products[c.SKU] = after
		return err
	}
	after.id = before.id
	if _, taken := run.model.products[c.To]; c.To != "" && !taken {
		changes.SKU = catalog.Value(c.To)
		delete(run.model.products, c.SKU)
	}
	run.model.products[changes.SKU.Value] = after
	_, err := run.catalog.Patch(ctx, by, before.id, nil, changes, tenancy.InvalidError{})
	return err
}

// changes returns a change for the catalog and for the model.
func (run *scenarioRun) changes(c scenarioChange) (catalog.Changes, modelProduct) {
	changes := catalog.Changes{
		SKU: catalog.Value(c.SKU), Name: catalog.Value(c.Name), Price: catalog.Value(money.Cents(1)),
		Cost:       catalog.Field[money.Cents]{Set: true, Null: true},
		CategoryID: catalog.Field[int64]{Set: true, Null: true},
		SellerID:   catalog.Field[int64]{Set: true, Null: true},
	}
	product := modelProduct{name: c.Name, cost: scenarioMoney(c.Cost)}
	if product.cost != nil {
		changes.Cost = catalog.Value(*product.cost)
	}
	if id := run.categories[c.Category]; run.model.categories[id] != "" {
		product.category, changes.CategoryID = id, catalog.Value(id)
	}
	if id := run.sellers[c.Seller]; run.model.sellers[id] != "" {
		product.seller, changes.SellerID = id, catalog.Value(id)
	}
	return changes, product
}

func (run *scenarioRun) rename(ctx context.Context, r scenarioRename) error {
	kind, id, names := catalog.Categories, run.categories[r.Which], run.model.categories
	of := func(p modelProduct) int64 { return p.category }
	if r.Seller {
		kind, id, names = catalog.Sellers, run.sellers[r.Which], run.model.sellers
		of = func(p modelProduct) int64 { return p.seller }
	}
	if names[id] == "" {
		return nil
	}
	for _, product := range run.model.products {
		if r.Name == "" && of(product) == id {
			return nil
		}
	}
	for _, taken := range names {
		if taken == r.Name {
			return nil
		}
	}
	if r.Name == "" {
		delete(names, id)
		return run.catalog.DeleteReference(ctx, run.tenant.ID, kind, id)
	}
	names[id] = r.Name
	_, err := run.catalog.RenameReference(ctx, run.tenant.ID, kind, id, catalog.Value(r.Name), tenancy.InvalidError{})
	return err
}

// sendStage sends the messages of a stage from concurrent senders, during its
// disturbance. At the end it resends messages that arrived before their order.
func (run *scenarioRun) sendStage(ctx context.Context, stage scenarioStage) error {
	broken, err := run.breakRollup(ctx, stage.Disturbance, stage.Queries.Range.From)
	if err != nil {
		return err
	}
	chunks := make(chan []message, len(stage.Chunks))
	for _, chunk := range stage.Chunks {
		chunks <- chunk
	}
	close(chunks)
	group, within := errgroup.WithContext(ctx)
	for range stage.Senders {
		group.Go(func() error {
			for chunk := range chunks {
				if err := run.send(within, chunk); err != nil {
					return err
				}
			}
			return nil
		})
	}
	group.Go(func() error { return run.disturb(within, stage, broken) })
	if err := group.Wait(); err != nil {
		return err
	}
	early := run.early
	run.early = nil
	if err := run.send(ctx, early); err != nil {
		return err
	}
	if len(run.early) > 0 {
		return fmt.Errorf("%v: the order is missing", run.early)
	}
	if stage.Packs {
		return pack(ctx, run.db)
	}
	return nil
}

// pack packs all sums and orders.
func pack(ctx context.Context, db *db.DB) error {
	task := tenants.PackSums
	task.Few = 1
	return task.Run(ctx, db)
}

// disturb repairs rollups, packs sums and orders, changes the time zone, or checks that a
// report agrees with itself while orders arrive.
func (run *scenarioRun) disturb(ctx context.Context, stage scenarioStage, broken bool) error {
	switch {
	case broken:
		if changed, err := run.operator.Repair(ctx, run.tenant.ID); err != nil || changed == 0 {
			return fmt.Errorf("Repair changed %d rows, error %v", changed, err)
		}
	case stage.Disturbance.Kind == "pack":
		return pack(ctx, run.db)
	case stage.Disturbance.Kind == "zone":
		if _, err := run.operator.ChangeZone(ctx, run.tenant.ID, stage.Disturbance.Zone); err != nil {
			return err
		}
		run.model.zone = mustZone(stage.Disturbance.Zone)
	default:
		got, err := run.reports.Reconcile(ctx, run.tenant, stage.Queries.Range)
		if err != nil || !got.Balanced {
			return fmt.Errorf("Reconcile while orders arrive = %+v, %v", got, err)
		}
	}
	return nil
}

// breakRollup changes a sum in the database, and checks that Verify finds it.
func (run *scenarioRun) breakRollup(ctx context.Context, d disturbance, day time.Time) (bool, error) {
	if d.Kind != "rollups" {
		return false, nil
	}
	const row = ` where (tenant_id, kind, day, channel, key) = (
		select tenant_id, kind, day, channel, key
		  from sales_rollups
		 where tenant_id = $1 and orders + refund_count > 0
		 order by kind, day, channel, key
		offset $2
		 limit 1)`
	sql := `update sales_rollups set ` + d.Sum + ` = ` + d.Sum + ` + $3` + row
	args := []any{run.tenant.ID, d.Row, d.By}
	switch d.How {
	case "delete":
		sql, args = `delete from sales_rollups`+row, args[:2]
	case "insert":
		sql, args = `
			update sales_rollups
			   set revenue = revenue + $3
			 where tenant_id = $1 and kind = $2 % 4 + 1 and day = $4 and channel = 'pos' and key = 0`, append(args, day)
	}
	tag, err := run.super.Exec(ctx, sql, args...)
	if err == nil && d.How == "insert" && tag.RowsAffected() == 0 {
		tag, err = run.super.Exec(ctx, `
			insert into sales_rollups (
			    tenant_id, kind, day, channel, key,
			    orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds)
			values ($1, $2 % 4 + 1, $4, 'pos', 0, 0, 0, 0, 0, $3, 0, 0, 0, 0, 0)`, args...)
	}
	if err != nil || tag.RowsAffected() == 0 {
		return false, err
	}
	found, err := run.sales.Verify(ctx, run.tenant.ID, 100)
	isRollup := len(found) > 0 && strings.HasPrefix(found[0].What, "rollup of ")
	if err == nil && (!isRollup || found[0].Stored == found[0].Facts) {
		err = fmt.Errorf("Verify after %+v = %+v", d, found)
	}
	return true, err
}

// send sends a chunk as one bulk request for each kind, in order of the first message.
func (run *scenarioRun) send(ctx context.Context, chunk []message) error {
	byKind, kinds := map[string][]message{}, []string{}
	for _, d := range chunk {
		if byKind[d.Kind] == nil {
			kinds = append(kinds, d.Kind)
		}
		byKind[d.Kind] = append(byKind[d.Kind], d)
	}
	send := map[string]func(context.Context, []message) error{
		"order": run.sendOrders, "refund": run.sendRefunds, "cancel": run.sendCancels,
	}
	for _, kind := range kinds {
		if err := send[kind](ctx, byKind[kind]); err != nil {
			return err
		}
	}
	return nil
}

func (run *scenarioRun) sendOrders(ctx context.Context, orders []message) error {
	rows := make([]sales.Row, len(orders))
	for i, d := range orders {
		rows[i].Order = run.scenario.Orders[d.Index].order(d.Index)
	}
	results, err := run.sales.Ingest(ctx, run.tenant.ID, rows)
	if err != nil {
		return err
	}
	for i, r := range results {
		if err := run.record(orders[i], r.Outcome, r.Err); err != nil {
			return err
		}
	}
	return nil
}

func (run *scenarioRun) sendRefunds(ctx context.Context, refunds []message) error {
	rows := make([]sales.RefundRow, len(refunds))
	for i, d := range refunds {
		rows[i].Refund = run.scenario.Refunds[d.Index].refund(d.Index)
	}
	results, err := run.sales.Refund(ctx, run.tenant.ID, rows)
	if err != nil {
		return err
	}
	for i, r := range results {
		if err := run.record(refunds[i], r.Outcome, r.Err); err != nil {
			return err
		}
	}
	return nil
}

func (run *scenarioRun) sendCancels(ctx context.Context, cancels []message) error {
	for _, d := range cancels {
		sale, err := run.sales.Cancel(ctx, run.tenant.ID, fmt.Sprint("N", run.scenario.Cancels[d.Index].Order), nil)
		if err == nil && sale.CancelledAt == nil {
			err = fmt.Errorf("%v: the order is not cancelled", d)
		}
		if err := run.record(d, sales.Unchanged, err); err != nil {
			return err
		}
	}
	return nil
}

func (run *scenarioRun) record(d message, outcome sales.Outcome, err error) error {
	run.mutex.Lock()
	defer run.mutex.Unlock()
	switch {
	case d.Kind != "order" && errors.Is(err, tenancy.ErrNotFound):
		run.early = append(run.early, d)
	case err != nil:
		return fmt.Errorf("%v: %w", d, err)
	case outcome == sales.Created:
		run.made[d]++
	}
	return nil
}

// updateModel adds the messages of a stage to the model.
func (run *scenarioRun) updateModel(n int) {
	for _, d := range run.scenario.due(n) {
		switch d.Kind {
		case "order":
			run.orders[d.Index] = run.model.sell(run.scenario.Orders[d.Index].order(d.Index))
		case "refund":
			r := run.scenario.Refunds[d.Index]
			run.orders[r.Order].addRefund(r.refund(d.Index))
		case "cancel":
			run.orders[run.scenario.Cancels[d.Index].Order].cancelled = true
		}
	}
}

func (run *scenarioRun) verify(ctx context.Context) error {
	found, err := run.sales.Verify(ctx, run.tenant.ID, 10)
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("Verify = %+v", found)
	}
	return err
}

// resendAll resends everything, and then orders with the same numbers but different
// content. Nothing is created or changed.
func (run *scenarioRun) resendAll(ctx context.Context) error {
	var again []message
	for _, d := range run.scenario.due(0, len(run.scenario.Stages)) {
		if d.Kind != "refund" || run.scenario.Refunds[d.Index].Named {
			again = append(again, d)
		}
	}
	if err := run.send(ctx, again); err != nil {
		return err
	}
	var others []sales.Row
	for i, o := range run.scenario.Orders {
		o.Items = slices.Clone(o.Items)
		o.Items[0].SKU += "x"
		others = append(others, sales.Row{Order: o.order(i)})
	}
	results, err := run.sales.Ingest(ctx, run.tenant.ID, others)
	if err != nil {
		return err
	}
	for _, r := range results {
		invalid, _ := errors.AsType[tenancy.InvalidError](r.Err)
		if len(invalid["number"]) == 0 || r.Outcome != sales.Failed {
			return fmt.Errorf("%s with different content: %+v", r.Number, r)
		}
	}
	for d, n := range run.made {
		if n != 1 {
			return fmt.Errorf("%v was created %d times", d, n)
		}
	}
	if err := run.verify(ctx); err != nil {
		return err
	}
	q := run.scenario.Stages[0].Queries
	return errors.Join(run.compareSummary(ctx, q), run.compareProducts(ctx, q), run.compareReconciliation(ctx, q))
}
