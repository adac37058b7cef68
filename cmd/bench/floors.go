package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/ratelimit"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

// floors are handlers that do what a request cannot do without, and nothing else:
// look up the key, ask the limiter, send the same SQL in one flight, write JSON.
// There is no validation, no error for the client, no header, no log: what the
// product takes longer is what its care costs.
type floors struct {
	db      *tenancy.DB
	limiter *ratelimit.Limiter
	tenants sync.Map // of tenancy.ID by the key's SHA-256
}

func (f *floors) admit(s shop) { f.tenants.Store(sha256.Sum256([]byte(s.key)), s.id) }

func (f *floors) handler() http.Handler {
	mux := chi.NewMux()
	mux.Get("/constant", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"success":true}`) })
	mux.Get("/api/products", f.guard(f.list))
	mux.Get("/api/products/{id}", f.guard(f.product))
	mux.Post("/api/products/{id}/inventory/adjust", f.guard(f.adjust))
	return mux
}

// guard finds the tenant of the key and counts the request.
func (f *floors) guard(handle func(*http.Request, tenancy.ID) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		id, known := f.tenants.Load(sha256.Sum256([]byte(token)))
		if !known {
			http.Error(w, "unknown key", http.StatusUnauthorized)
			return
		}
		tenant := id.(tenancy.ID)
		name := "t:" + strconv.FormatInt(int64(tenant), 10)
		if !f.limiter.Take(r.Context(), name, tenancy.MaxRateLimit).Allowed {
			http.Error(w, "over the limit", http.StatusTooManyRequests)
			return
		}
		answer, err := handle(r, tenant)
		if errors.Is(err, tenancy.ErrBusy) {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		body, err := json.Marshal(answer)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Write(body)
	}
}

// flight sends queries of a tenant as one batch, which is one transaction.
func (f *floors) flight(ctx context.Context, tenant tenancy.ID, queue func(*pgx.Batch)) error {
	return f.db.Conn(ctx, func(conn *pgx.Conn) error {
		b := &pgx.Batch{}
		b.Queue(`select set_config('app.tenant_id', $1, true)`, strconv.FormatInt(int64(tenant), 10))
		queue(b)
		return conn.SendBatch(ctx, b).Close()
	})
}

type bareReference struct {
	ID   *int64  `json:"id"`
	Name *string `json:"name"`
}

// bareProduct has the fields of the product's answer.
type bareProduct struct {
	ID           int64           `json:"id"`
	SKU          string          `json:"sku"`
	Name         string          `json:"name"`
	Description  *string         `json:"description"`
	Price        money.Cents     `json:"price"`
	MSRP         *money.Cents    `json:"msrp"`
	Cost         *money.Cents    `json:"cost"`
	Status       string          `json:"status"`
	Condition    string          `json:"condition"`
	Quantity     int32           `json:"quantity"`
	ReorderPoint *int32          `json:"reorder_point"`
	Category     bareReference   `json:"category"`
	Seller       bareReference   `json:"seller"`
	Warehouse    bareReference   `json:"warehouse"`
	BinLocation  *string         `json:"bin_location"`
	UPC          *string         `json:"upc"`
	Tags         []string        `json:"tags"`
	Images       json.RawMessage `json:"images"`
	CreatedAt    time.Time       `json:"created_at"`
	UpdatedAt    time.Time       `json:"updated_at"`
}

const (
	bareColumns = `
		p.id, p.sku, p.name, p.description, p.price, p.msrp, p.cost, p.status, p.condition, p.quantity, p.reorder_point,
		p.category_id, (select name from categories where tenant_id = $1 and id = p.category_id),
		p.seller_id, (select name from sellers where tenant_id = $1 and id = p.seller_id),
		p.warehouse_id, (select name from warehouses where tenant_id = $1 and id = p.warehouse_id),
		p.bin_location, p.upc, p.tags, p.images, p.created_at, p.updated_at`
	bareByID = `select` + bareColumns + ` from products p where p.tenant_id = $1 and p.id = $2`
	barePage = `select` + bareColumns + `
		  from unnest(array(select id from products where tenant_id = $1 order by created_at desc, id desc limit 25)) with ordinality page (id, place)
		 cross join lateral (select * from products where tenant_id = $1 and id = page.id limit 1) p
		 order by page.place`
)

func (p *bareProduct) scan(row pgx.Row) error {
	return row.Scan(&p.ID, &p.SKU, &p.Name, &p.Description, &p.Price, &p.MSRP, &p.Cost,
		&p.Status, &p.Condition, &p.Quantity, &p.ReorderPoint, &p.Category.ID, &p.Category.Name, &p.Seller.ID, &p.Seller.Name,
		&p.Warehouse.ID, &p.Warehouse.Name, &p.BinLocation, &p.UPC, &p.Tags, &p.Images, &p.CreatedAt, &p.UpdatedAt)
}

type bareAnswer struct {
	Success bool `json:"success"`
	Data    any  `json:"data"`
	Meta    any  `json:"meta,omitempty"`
}

func (f *floors) product(r *http.Request, tenant tenancy.ID) (any, error) {
	id, err := strconv.ParseInt(chi.URLParam(r, "id"), 10, 64)
	if err != nil {
		return nil, err
	}
	p := new(bareProduct)
	return bareAnswer{Success: true, Data: p}, f.flight(r.Context(), tenant, func(b *pgx.Batch) {
		b.Queue(bareByID, tenant, id).QueryRow(p.scan)
	})
}

type bareMeta struct {
	Page    int   `json:"page"`
	PerPage int   `json:"per_page"`
	Total   int64 `json:"total"`
}

// list answers the first page and the exact total from the counter.
func (f *floors) list(r *http.Request, tenant tenancy.ID) (any, error) {
	items, meta := make([]bareProduct, 0, 25), &bareMeta{Page: 1, PerPage: 25}
	err := f.flight(r.Context(), tenant, func(b *pgx.Batch) {
		b.Queue(`select sum(count)::bigint from product_counts where tenant_id = $1`, tenant).
			QueryRow(func(row pgx.Row) error { return row.Scan(&meta.Total) })
		b.Queue(barePage, tenant).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				items = append(items, bareProduct{})
				if err := items[len(items)-1].scan(rows); err != nil {
					return err
				}
			}
			return rows.Err()
		})
	})
	return bareAnswer{true, items, meta}, err
}

// adjust adds one piece, with the ledger row, and reads the product again.
func (f *floors) adjust(r *http.Request, tenant tenancy.ID) (any, error) {
	id, err := strconv.ParseInt(chi.URLParam(r, "id"), 10, 64)
	if err != nil {
		return nil, err
	}
	p := new(bareProduct)
	return bareAnswer{Success: true, Data: p}, f.flight(r.Context(), tenant, func(b *pgx.Batch) {
		b.Queue(`
			with p as (
				update products set quantity = quantity + 1, updated_at = clock_timestamp() where tenant_id = $1 and id = $2
				returning tenant_id, id, warehouse_id, quantity
			), stocked as (
				insert into stock as s (tenant_id, product_id, warehouse_id, quantity)
				select tenant_id, id, warehouse_id, 1 from p
				on conflict (tenant_id, product_id, warehouse_id) do update set quantity = s.quantity + 1
			)
			insert into inventory_adjustments (tenant_id, product_id, warehouse_id, type, quantity, quantity_before, quantity_after)
			select tenant_id, id, warehouse_id, 'add', 1, quantity - 1, quantity from p`, tenant, id)
		b.Queue(bareByID, tenant, id).QueryRow(p.scan)
	})
}

// bareQuery is the product's select alone: no HTTP, no key, no limit, no JSON.
type bareQuery struct {
	floors *floors
	shop   shop
}

func (q bareQuery) open(_ context.Context, n int) (worker, error) {
	return &querier{q, newRandom(n)}, nil
}

type querier struct {
	bareQuery
	random *rand.Rand
}

func (q *querier) step(ctx context.Context) (int, error) {
	p := new(bareProduct)
	err := q.floors.flight(ctx, q.shop.id, func(b *pgx.Batch) {
		b.Queue(bareByID, q.shop.id, q.shop.any(q.random).ID).QueryRow(p.scan)
	})
	return http.StatusOK, err
}

func (*querier) close() {}
