package api

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/feed"
	"github.com/storeroom/storeroom/tenancy/money"
)

// A reader that follows the feed while writers commit late, roll back and lose their connections has the same objects
// as the database in the end.
func TestAReaderOfChangesHasTheObjectsOfTheDatabase(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	killer := a.MustSuper(t)
	for n := range changeHistories {
		random := rand.New(rand.NewPCG(uint64(n), 1))
		tenant := a.MustTenant(t, fmt.Sprint("history-", n), withLimit(1_000_000))
		h := &history{testAPI: a, tenant: tenant.ID, key: a.mustKey(t, tenant, "full")}
		reader := &feedReader{history: h, objects: map[string]map[string]any{}}
		ctx, stop := context.WithCancel(t.Context())
		var writers, others sync.WaitGroup
		for i := range 3 {
			writers.Go(func() { h.write(t.Context(), rand.New(rand.NewPCG(uint64(n), uint64(i+2)))) })
		}
		others.Go(func() {
			for ctx.Err() == nil {
				reader.readPage(t, 1+random.IntN(20))
			}
		})
		others.Go(func() {
			for ctx.Err() == nil {
				time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond)
				if _, err := killer.Exec(t.Context(), `
					select pg_terminate_backend(pid)
					  from pg_stat_activity
					 where datname = current_database() and state = 'idle in transaction' and random() < 0.1`); err != nil {
					t.Error(err)
				}
			}
		})
		writers.Wait()
		stop()
		others.Wait()
		h.replaceConnections(t)
		reader.ended = true
		reader.readAll(t)
		if diff := cmp.Diff(h.objects(t), reader.known()); diff != "" {
			t.Fatalf("history %d: the database and the reader differ (-database +reader):\n%s", n, diff)
		}
	}
}

// history is a tenant with random changes.
type history struct {
	*testAPI
	tenant tenancy.ID
	key    string
}

// write runs transactions with random changes. Some end late or not at all.
func (h *history) write(ctx context.Context, random *rand.Rand) {
	for range 6 {
		tx, err := h.DB.Begin(ctx, h.tenant, func(*pgx.Batch) {})
		if err != nil {
			continue
		}
		for range 1 + random.IntN(3) {
			if err = h.change(ctx, tx, random); err != nil && db.SQLState(err) != "" {
				break // the connection or a lock
			}
			time.Sleep(time.Duration(random.IntN(8)) * time.Millisecond)
		}
		if random.IntN(5) == 0 {
			tx.Rollback(ctx)
			continue
		}
		_ = tx.Commit(ctx, func(*pgx.Batch) {}) // nolint: the reader has the result
	}
}

// change makes one random change. It fails if the object does not exist or is in use.
func (h *history) change(ctx context.Context, tx *db.DB, random *rand.Rand) error {
	products, orders := catalog.New(tx), sales.New(tx)
	by := catalog.Actor{Tenant: h.tenant}
	sku, number := fmt.Sprint("sku-", random.IntN(8)), fmt.Sprint("n-", random.IntN(12))
	name := fmt.Sprint("name ", random.IntN(6))
	product, err := products.ProductBySKU(ctx, h.tenant, sku)
	exists := err == nil
	switch random.IntN(12) {
	case 0, 1:
		var categories []struct{ ID int64 }
		if categories, err = db.All[struct{ ID int64 }](ctx, tx, h.tenant,
			`select id from categories where tenant_id = $1`, h.tenant); err != nil {
			return err
		}
		c := catalog.Changes{
			SKU: catalog.Value(sku), Name: catalog.Value(name), Price: catalog.Value(money.Cents(random.IntN(1000))),
			Quantity: catalog.Value(int64(random.IntN(20))),
		}
		if len(categories) > 0 {
			c.CategoryID = catalog.Value(categories[random.IntN(len(categories))].ID)
		}
		_, err = products.Upsert(ctx, by, []catalog.Row{{Changes: c}})
		return err
	case 2, 3:
		if exists {
			_, _, err = products.Adjust(ctx, by, product.ID, catalog.AdjustRequest{
				Type: catalog.Value("add"), Quantity: catalog.Value(int64(1 + random.IntN(5))),
			}, tenancy.InvalidError{})
		}
		return err
	case 4:
		if exists {
			err = products.Delete(ctx, by, product.ID, nil)
		}
		return err
	case 5:
		kind := []catalog.Kind{catalog.Categories, catalog.Sellers, catalog.Warehouses}[random.IntN(3)]
		_, err = products.CreateReference(ctx, h.tenant, kind, catalog.Value(name), tenancy.InvalidError{})
		return err
	case 6:
		var found []struct{ ID int64 }
		if found, err = db.All[struct{ ID int64 }](ctx, tx, h.tenant,
			`select id from categories where tenant_id = $1 limit 1`, h.tenant); err != nil || len(found) == 0 {
			return err
		}
		if random.IntN(2) == 0 {
			return products.DeleteReference(ctx, h.tenant, catalog.Categories, found[0].ID)
		}
		_, err = products.RenameReference(ctx, h.tenant, catalog.Categories, found[0].ID,
			catalog.Value(name+"!"), tenancy.InvalidError{})
		return err
	case 7, 8:
		rows := make([]sales.Row, 1+random.IntN(3))
		for i := range rows {
			rows[i] = sales.Row{Order: sales.Order{
				Number: fmt.Sprint("n-", random.IntN(12)), PlacedAt: time.Now(),
				Channel:  fmt.Sprint("c", random.IntN(3)),
				Customer: &sales.Customer{ID: fmt.Sprint("customer ", random.IntN(4)), Name: new(name)},
				Items: []sales.Item{{
					SKU: sku, Quantity: 1 + random.Int64N(3), UnitPrice: money.Cents(random.IntN(500)),
				}},
			}}
		}
		_, err = orders.Ingest(ctx, h.tenant, rows)
		return err
	case 9:
		_, err = orders.Cancel(ctx, h.tenant, number, nil)
		return err
	case 10:
		_, err = orders.Refund(ctx, h.tenant, []sales.RefundRow{{
			Refund: sales.Refund{OrderNumber: number, Amount: money.Cents(1 + random.IntN(100))},
		}})
		return err
	}
	if random.IntN(2) == 0 {
		return orders.DeleteChannel(ctx, h.tenant, fmt.Sprint("c", random.IntN(3)))
	}
	return orders.EraseCustomer(ctx, h.tenant, fmt.Sprint("customer ", random.IntN(4)), tenancy.Operator)
}

// replaceConnections uses all connections of the pool at once. The pool replaces a connection that PostgreSQL has
// terminated only after its next use.
func (h *history) replaceConnections(t *testing.T) {
	t.Helper()
	db, err := h.DB.PartOf(t.Context(), h.tenant)
	if err != nil {
		t.Fatal(err)
	}
	var use func(conns int)
	use = func(conns int) {
		if conns == 0 {
			return
		}
		_ = db.Conn(t.Context(), func(conn *pgx.Conn) error {
			_, err := conn.Exec(t.Context(), `select 1`)
			use(conns - 1)
			return err
		})
	}
	use(db.MaxConns())
}

// feedReader keeps the objects of a feed.
type feedReader struct {
	*history
	after   string
	objects map[string]map[string]any // by type and id
	ended   bool                      // the writers and the terminations
}

// readPage reads a page and reports whether there may be more.
func (r *feedReader) readPage(t *testing.T, limit int) (more bool) {
	path := "/api/changes?after=" + url.QueryEscape(r.after) + "&limit=" + strconv.Itoa(limit)
	got := r.send(t, call{path: path, key: r.key})
	if got.StatusCode == 503 && !r.ended {
		return true // the writer's connection was chosen for termination, but the reader had it by then
	}
	var page struct {
		Data []struct {
			Type, ID string
			Data     any
		}
		Meta changesMeta
	}
	if err := json.Unmarshal(got.body, &page); err != nil || got.StatusCode != 200 {
		t.Errorf("GET changes = %d %s", got.StatusCode, got.body)
		return false
	}
	for _, e := range page.Data {
		if r.objects[e.Type] == nil {
			r.objects[e.Type] = map[string]any{}
		}
		if r.objects[e.Type][e.ID] = e.Data; e.Data == nil {
			delete(r.objects[e.Type], e.ID)
		}
	}
	r.after = page.Meta.NextCursor
	return page.Meta.HasMore || len(page.Data) > 0
}

// readAll reads until every change is readable and read.
func (r *feedReader) readAll(t *testing.T) {
	t.Helper()
	poll(t, "the transactions have ended", func() bool {
		for r.readPage(t, 50) {
		}
		// Transactions of other tests on the same server delay the feed too.
		page, err := r.server.Feed.Read(t.Context(), r.tenant, feed.Query{After: feed.Now, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		unreadable, err := db.All[struct{ Count int }](t.Context(), r.DB, r.tenant,
			`select count(*) from changes where tenant_id = $1 and xid >= $2`, r.tenant, page.Next.XID)
		return err == nil && unreadable[0].Count == 0 && !r.readPage(t, 50)
	})
}

// known returns the objects as those of the database, with the present names of others in them.
func (r *feedReader) known() map[string]map[string]any {
	for _, p := range r.objects["product"] {
		product := p.(map[string]any)
		for _, field := range []string{"category", "seller", "warehouse"} {
			r.rename(product[field], field)
		}
	}
	for _, stock := range r.objects["stock"] {
		for _, w := range stock.(map[string]any)["warehouses"].([]any) {
			r.rename(w.(map[string]any)["warehouse"], "warehouse")
		}
	}
	for _, o := range r.objects["order"] {
		if c, ok := o.(map[string]any)["customer"].(map[string]any); ok {
			known, _ := r.objects["customer"][c["id"].(string)].(map[string]any)
			c["name"], c["email"] = known["name"], known["email"]
		}
	}
	return withoutSums(r.objects)
}

func (r *feedReader) rename(object any, objectType string) {
	if o, ok := object.(map[string]any); ok {
		id := strconv.FormatFloat(o["id"].(float64), 'f', -1, 64)
		known, _ := r.objects[objectType][id].(map[string]any)
		o["name"] = known["name"]
	}
}

// withoutSums removes the sums of customers, which change without an entry, and types without objects.
func withoutSums(objects map[string]map[string]any) map[string]map[string]any {
	for t, all := range objects {
		if len(all) == 0 {
			delete(objects, t)
		}
	}
	for _, c := range objects["customer"] {
		for _, sum := range strings.Fields("orders revenue refunds first_order_at last_order_at") {
			delete(c.(map[string]any), sum)
		}
	}
	return objects
}

// objects returns the objects of the database as their GET returns them.
func (h *history) objects(t *testing.T) map[string]map[string]any {
	t.Helper()
	objects := map[string]map[string]any{}
	for _, from := range []struct{ objectType, table, id, path string }{
		{"product", "products", "id::text", "/api/products/%s"},
		{"stock", "products", "id::text", "/api/products/%s/inventory"},
		{"category", "categories", "id::text", "/api/categories/%s"},
		{"seller", "sellers", "id::text", "/api/sellers/%s"},
		{"warehouse", "warehouses", "id::text", "/api/warehouses/%s"},
		{"channel", "channels", "identifier", "/api/channels/%s"},
		{"order", "orders", "number", "/api/orders/%s"},
		{"customer", "customers", "number", "/api/customers/%s"},
	} {
		ids, err := db.All[struct{ ID string }](t.Context(), h.DB, h.tenant,
			`select `+from.id+` as id from `+from.table+` where tenant_id = $1`, h.tenant)
		if err != nil {
			t.Fatal(err)
		}
		objects[from.objectType] = map[string]any{}
		for _, id := range ids {
			got := h.send(t, call{path: fmt.Sprintf(from.path, url.PathEscape(id.ID)), key: h.key})
			var one struct{ Data any }
			if err := json.Unmarshal(got.body, &one); err != nil || got.StatusCode != 200 {
				t.Fatalf("GET %s %s = %d %s", from.objectType, id.ID, got.StatusCode, got.body)
			}
			objects[from.objectType][id.ID] = one.Data
		}
	}
	objects["refund"] = map[string]any{}
	for number, o := range objects["order"] {
		for _, g := range o.(map[string]any)["refunds"].([]any) {
			refund := map[string]any{"order_number": number}
			for field, value := range g.(map[string]any) {
				refund[field] = value
			}
			objects["refund"][strconv.FormatFloat(refund["id"].(float64), 'f', -1, 64)] = refund
		}
	}
	return withoutSums(objects)
}
