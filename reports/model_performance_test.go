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
	"github.com/storeroom/storeroom/tenancy/money"
)

// performance is a script on the stage.
type performance struct {
	script     script
	tenant     tenancy.Tenant // its zone stays what it was at first
	super      *pgx.Conn
	catalog    *catalog.Store
	sales      *sales.Store
	operator   *sales.Store
	reports    *reports.Store
	model      *model
	orders     map[int]*modelOrder
	categories [4]int64 // by their number in the script; 0 is none
	sellers    [3]int64

	mutex sync.Mutex
	made  map[delivery]int // how often something was new
	late  []delivery       // what came before its order
}

func newModel(zone string) *model {
	return &model{
		zone: mustZone(zone), products: map[string]modelProduct{}, channels: map[string]string{"pos": "Point of sale"},
		categories: map[int64]string{}, sellers: map[int64]string{},
	}
}

func (p *performance) play(ctx context.Context, n int) error {
	stage := p.script.Stages[n]
	if n == 0 {
		if err := p.furnish(ctx); err != nil {
			return err
		}
	}
	if err := p.changeCatalog(ctx, stage); err != nil {
		return err
	}
	if err := p.deliver(ctx, stage); err != nil {
		return err
	}
	p.learn(n)
	for _, d := range p.script.due(n) {
		if d.Kind != "cancel" && p.made[d] != 1 {
			return fmt.Errorf("%v was new %d times", d, p.made[d])
		}
	}
	return p.compare(ctx, stage.Questions)
}

// furnish makes the categories and sellers.
func (p *performance) furnish(ctx context.Context) error {
	categories, _, err := p.catalog.EnsureReferences(ctx, p.tenant.ID, catalog.Categories, []string{"C1", "C2", "C3"})
	if err != nil {
		return err
	}
	sellers, _, err := p.catalog.EnsureReferences(ctx, p.tenant.ID, catalog.Sellers, []string{"S1", "S2"})
	if err != nil {
		return err
	}
	for name, id := range categories {
		p.categories[name[1]-'0'], p.model.categories[id] = id, name
	}
	for name, id := range sellers {
		p.sellers[name[1]-'0'], p.model.sellers[id] = id, name
	}
	return nil
}

func (p *performance) changeCatalog(ctx context.Context, stage scriptStage) error {
	p.model.changes++
	for _, c := range stage.Changes {
		if err := p.changeProduct(ctx, c); err != nil {
			return fmt.Errorf("%+v: %w", c, err)
		}
	}
	for _, r := range stage.Renamed {
		if err := p.rename(ctx, r); err != nil {
			return fmt.Errorf("%+v: %w", r, err)
		}
	}
	for _, l := range stage.Relabelled {
		if _, err := p.sales.EnsureChannels(ctx, p.tenant.ID, []sales.Channel{{Identifier: l.Channel, Label: l.Label}}); err != nil {
			return err
		}
		p.model.channels[l.Channel] = l.Label
	}
	return nil
}

func (p *performance) changeProduct(ctx context.Context, c scriptChange) error {
	by := catalog.Actor{Tenant: p.tenant.ID}
	before, there := p.model.products[c.SKU]
	if c.Delete {
		delete(p.model.products, c.SKU)
		if !there {
			return nil
		}
		return p.catalog.Delete(ctx, by, before.id, nil)
	}
	changes, after := p.changes(c)
	if !there {
		created, err := p.catalog.Create(ctx, by, changes, tenancy.InvalidError{})
		after.id = created.ID
		p.model.products[c.SKU] = after
		return err
	}
	after.id = before.id
	if _, taken := p.model.products[c.To]; c.To != "" && !taken {
		changes.SKU = catalog.Value(c.To)
		delete(p.model.products, c.SKU)
	}
	p.model.products[changes.SKU.Value] = after
	_, err := p.catalog.Patch(ctx, by, before.id, nil, changes, tenancy.InvalidError{})
	return err
}

// changes says the same to the catalog and to the model.
func (p *performance) changes(c scriptChange) (catalog.Changes, modelProduct) {
	changes := catalog.Changes{
		SKU: catalog.Value(c.SKU), Name: catalog.Value(c.Name), Price: catalog.Value(money.Cents(1)),
		Cost: catalog.Field[money.Cents]{Set: true, Null: true}, CategoryID: catalog.Field[int64]{Set: true, Null: true}, SellerID: catalog.Field[int64]{Set: true, Null: true},
	}
	product := modelProduct{name: c.Name, cost: scriptMoney(c.Cost)}
	if product.cost != nil {
		changes.Cost = catalog.Value(*product.cost)
	}
	if id := p.categories[c.Category]; p.model.categories[id] != "" {
		product.category, changes.CategoryID = id, catalog.Value(id)
	}
	if id := p.sellers[c.Seller]; p.model.sellers[id] != "" {
		product.seller, changes.SellerID = id, catalog.Value(id)
	}
	return changes, product
}

func (p *performance) rename(ctx context.Context, r scriptName) error {
	kind, id, names, of := catalog.Categories, p.categories[r.Which], p.model.categories, func(p modelProduct) int64 { return p.category }
	if r.Seller {
		kind, id, names, of = catalog.Sellers, p.sellers[r.Which], p.model.sellers, func(p modelProduct) int64 { return p.seller }
	}
	if names[id] == "" {
		return nil
	}
	for _, product := range p.model.products {
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
		return p.catalog.DeleteReference(ctx, p.tenant.ID, kind, id)
	}
	names[id] = r.Name
	_, err := p.catalog.RenameReference(ctx, p.tenant.ID, kind, id, catalog.Value(r.Name), tenancy.InvalidError{})
	return err
}

// deliver sends what a stage has, from as many senders as it says, while its
// trouble goes on. What came before its order is sent again at the end.
func (p *performance) deliver(ctx context.Context, stage scriptStage) error {
	broken, err := p.breakRollup(ctx, stage.Trouble, stage.Questions.Range.From)
	if err != nil {
		return err
	}
	chunks := make(chan []delivery, len(stage.Chunks))
	for _, chunk := range stage.Chunks {
		chunks <- chunk
	}
	close(chunks)
	group, within := errgroup.WithContext(ctx)
	for range stage.Senders {
		group.Go(func() error {
			for chunk := range chunks {
				if err := p.send(within, chunk); err != nil {
					return err
				}
			}
			return nil
		})
	}
	group.Go(func() error { return p.meanwhile(within, stage, broken) })
	if err := group.Wait(); err != nil {
		return err
	}
	late := p.late
	p.late = nil
	if err := p.send(ctx, late); err != nil {
		return err
	}
	if len(p.late) > 0 {
		return fmt.Errorf("%v: there is no such order", p.late)
	}
	return nil
}

// meanwhile mends, changes the zone, or sees that a report that is read while
// orders come in agrees with itself.
func (p *performance) meanwhile(ctx context.Context, stage scriptStage, broken bool) error {
	switch {
	case broken:
		if changed, err := p.operator.Repair(ctx, p.tenant.ID); err != nil || changed == 0 {
			return fmt.Errorf("Repair changed %d rows, error %v", changed, err)
		}
	case stage.Trouble.Kind == "zone":
		if _, err := p.operator.ChangeZone(ctx, p.tenant.ID, stage.Trouble.Zone); err != nil {
			return err
		}
		p.model.zone = mustZone(stage.Trouble.Zone)
	default:
		got, err := p.reports.Reconcile(ctx, p.tenant, stage.Questions.Range)
		if err != nil || !got.Balanced {
			return fmt.Errorf("Reconcile while orders come in = %+v, %v", got, err)
		}
	}
	return nil
}

// breakRollup falsifies a sum behind the back of everybody, and sees that Verify
// finds it.
func (p *performance) breakRollup(ctx context.Context, trouble scriptTrouble, day time.Time) (bool, error) {
	if trouble.Kind != "rollups" {
		return false, nil
	}
	const row = `(select ctid from sales_rollups where tenant_id = $1 and orders + refund_count > 0 order by kind, day, channel, key offset $2 limit 1)`
	sql, args := `update sales_rollups set `+trouble.Sum+` = `+trouble.Sum+` + $3 where ctid = `+row, []any{p.tenant.ID, trouble.Row, trouble.By}
	switch trouble.How {
	case "delete":
		sql, args = `delete from sales_rollups where ctid = `+row, args[:2]
	case "insert":
		sql, args = `
			insert into sales_rollups (tenant_id, kind, day, channel, key, orders, items, units, units_without_cost, revenue, discounts, tax, cost, refund_count, refunds)
			values ($1, $2 % 4 + 1, $4, 'pos', 0, 0, 0, 0, 0, $3, 0, 0, 0, 0, 0)
			on conflict (tenant_id, kind, day, channel, key) do update set revenue = sales_rollups.revenue + excluded.revenue`, append(args, day)
	}
	tag, err := p.super.Exec(ctx, sql, args...)
	if err != nil || tag.RowsAffected() == 0 {
		return false, err
	}
	found, err := p.sales.Verify(ctx, p.tenant.ID, 100)
	if err == nil && (len(found) == 0 || !strings.HasPrefix(found[0].What, "rollup of ") || found[0].Stored == found[0].Facts) {
		err = fmt.Errorf("Verify after %+v = %+v", trouble, found)
	}
	return true, err
}

// send delivers a chunk, each kind as a bulk, in the order in which they first
// stand there.
func (p *performance) send(ctx context.Context, chunk []delivery) error {
	byKind, kinds := map[string][]delivery{}, []string{}
	for _, d := range chunk {
		if byKind[d.Kind] == nil {
			kinds = append(kinds, d.Kind)
		}
		byKind[d.Kind] = append(byKind[d.Kind], d)
	}
	for _, kind := range kinds {
		send := map[string]func(context.Context, []delivery) error{"order": p.sendOrders, "refund": p.sendRefunds, "cancel": p.sendCancels}[kind]
		if err := send(ctx, byKind[kind]); err != nil {
			return err
		}
	}
	return nil
}

func (p *performance) sendOrders(ctx context.Context, orders []delivery) error {
	rows := make([]sales.Row, len(orders))
	for i, d := range orders {
		rows[i].Order = p.script.Orders[d.Index].sale(d.Index)
	}
	results, err := p.sales.Ingest(ctx, p.tenant.ID, rows)
	if err != nil {
		return err
	}
	for i, r := range results {
		if err := p.note(orders[i], r.Outcome, r.Err); err != nil {
			return err
		}
	}
	return nil
}

func (p *performance) sendRefunds(ctx context.Context, refunds []delivery) error {
	rows := make([]sales.RefundRow, len(refunds))
	for i, d := range refunds {
		rows[i].Refund = p.script.Refunds[d.Index].refund(d.Index)
	}
	results, err := p.sales.Refund(ctx, p.tenant.ID, rows)
	if err != nil {
		return err
	}
	for i, r := range results {
		if err := p.note(refunds[i], r.Outcome, r.Err); err != nil {
			return err
		}
	}
	return nil
}

func (p *performance) sendCancels(ctx context.Context, cancels []delivery) error {
	for _, d := range cancels {
		sale, err := p.sales.Cancel(ctx, p.tenant.ID, fmt.Sprint("N", p.script.Cancels[d.Index].Order), nil)
		if err == nil && sale.CancelledAt == nil {
			err = fmt.Errorf("%v: the order is not cancelled", d)
		}
		if err := p.note(d, sales.Unchanged, err); err != nil {
			return err
		}
	}
	return nil
}

func (p *performance) note(d delivery, outcome sales.Outcome, err error) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	switch {
	case d.Kind != "order" && errors.Is(err, tenancy.ErrNotFound):
		p.late = append(p.late, d)
	case err != nil:
		return fmt.Errorf("%v: %w", d, err)
	case outcome == sales.Created:
		p.made[d]++
	}
	return nil
}

// learn tells the model what a stage brought.
func (p *performance) learn(n int) {
	for _, d := range p.script.due(n) {
		switch d.Kind {
		case "order":
			p.orders[d.Index] = p.model.sell(p.script.Orders[d.Index].sale(d.Index))
		case "refund":
			r := p.script.Refunds[d.Index]
			p.orders[r.Order].giveBack(r.refund(d.Index))
		case "cancel":
			p.orders[p.script.Cancels[d.Index].Order].cancelled = true
		}
	}
}

func (p *performance) verify(ctx context.Context) error {
	found, err := p.sales.Verify(ctx, p.tenant.ID, 10)
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("Verify = %+v", found)
	}
	return err
}

// sendAllAgain sends everything once more, and orders with other content under
// their numbers: nothing is new, nothing changes.
func (p *performance) sendAllAgain(ctx context.Context) error {
	var again []delivery
	for _, d := range p.script.due(0, len(p.script.Stages)) {
		if d.Kind != "refund" || p.script.Refunds[d.Index].Named {
			again = append(again, d)
		}
	}
	if err := p.send(ctx, again); err != nil {
		return err
	}
	var others []sales.Row
	for i, o := range p.script.Orders {
		o.Items = slices.Clone(o.Items)
		o.Items[0].SKU += "x"
		others = append(others, sales.Row{Order: o.sale(i)})
	}
	results, err := p.sales.Ingest(ctx, p.tenant.ID, others)
	if err != nil {
		return err
	}
	for _, r := range results {
		if invalid, ok := errors.AsType[tenancy.InvalidError](r.Err); !ok || len(invalid["number"]) == 0 || r.Outcome != sales.Failed {
			return fmt.Errorf("%s with other content: %+v", r.Number, r)
		}
	}
	for d, n := range p.made {
		if n != 1 {
			return fmt.Errorf("%v was new %d times", d, n)
		}
	}
	if err := p.verify(ctx); err != nil {
		return err
	}
	q := p.script.Stages[0].Questions
	return errors.Join(p.compareSummary(ctx, q), p.compareProducts(ctx, q), p.compareReconciliation(ctx, q))
}
