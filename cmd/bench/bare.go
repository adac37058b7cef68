package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/go-chi/chi/v5"
	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/ratelimit"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/limits"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// bare serves handlers that do only the necessary work of a request: look up the key,
// ask the rate limiter, send the same SQL in one batch and write JSON. They have no
// validation, no error format, no headers and no log. The difference to the service is
// the cost of everything else.
type bare struct {
	db      *db.DB
	limiter *ratelimit.Limiter
	shares  *limits.Limits // of connections, for writes
	tenants sync.Map       // tenancy.ID by the SHA-256 of the key
}

func (b *bare) admit(s shop) { b.tenants.Store(sha256.Sum256([]byte(s.key)), s.id) }

func (b *bare) handler() http.Handler {
	mux := chi.NewMux()
	mux.Get("/api/products", b.guard(b.list))
	mux.Get("/api/products/{id}", b.guard(b.byID(bareByID)))
	mux.Post("/api/products", b.guard(b.share(limits.Write, b.create)))
	mux.Post("/api/products/bulk", b.guard(b.share(limits.Bulk, b.upsert)))
	mux.Patch("/api/products/{id}", b.guard(b.share(limits.Write, b.patch)))
	mux.Post("/api/products/{id}/inventory/adjust", b.guard(b.share(limits.Write, b.byID(bareAdd))))
	return mux
}

// handling returns the response to a request of a tenant.
type handling func(*http.Request, tenancy.ID) (any, error)

// guard resolves the key and applies the rate limit.
func (b *bare) guard(handle handling) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		id, found := b.tenants.Load(sha256.Sum256([]byte(token)))
		if !found {
			http.Error(w, "unknown key", http.StatusUnauthorized)
			return
		}
		tenant := id.(tenancy.ID)
		name := "t:" + strconv.FormatInt(int64(tenant), 10)
		if !b.limiter.Take(r.Context(), name, tenants.MaxRateLimit).Allowed {
			http.Error(w, "rate limit exceeded", http.StatusTooManyRequests)
			return
		}
		response, err := handle(r, tenant)
		if errors.Is(err, tenancy.ErrBusy) || errors.Is(err, limits.ErrBusy) {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		body, jsonErr := json.Marshal(response)
		if err := errors.Join(err, jsonErr); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Write(body)
	}
}

// share gives a write as many connections as the service gives a tenant. With more of them, PostgreSQL would commit
// more transactions at a time, and the ratio would show the size of the share.
func (b *bare) share(class limits.Class, handle handling) handling {
	return func(r *http.Request, tenant tenancy.ID) (any, error) {
		ticket := b.shares.Enter(tenant.User(), class)
		defer ticket.Close()
		return handle(r.WithContext(limits.NewContext(r.Context(), ticket)), tenant)
	}
}

// send sends queries of a tenant as one batch, which is one transaction.
func (b *bare) send(ctx context.Context, tenant tenancy.ID, queue func(*pgx.Batch)) error {
	return b.db.Conn(ctx, func(conn *pgx.Conn) error {
		batch := &pgx.Batch{}
		batch.Queue(`select set_config('app.tenant_id', $1, true)`, strconv.FormatInt(int64(tenant), 10))
		queue(batch)
		return conn.SendBatch(ctx, batch).Close()
	})
}

// bareProduct is a product. It does not decode the images.
type bareProduct struct {
	catalog.Product
	Images json.RawMessage
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
		  from unnest(array(%s)) with ordinality page (id, place)
		 cross join lateral (select * from products where tenant_id = $1 and id = page.id limit 1) p
		 order by page.place`
)

func (p *bareProduct) scan(row pgx.Row) error {
	return row.Scan(
		&p.ID, &p.SKU, &p.Name, &p.Description, &p.Price, &p.MSRP, &p.Cost,
		&p.Status, &p.Condition, &p.Quantity, &p.ReorderPoint, &p.CategoryID, &p.CategoryName,
		&p.SellerID, &p.SellerName, &p.WarehouseID, &p.WarehouseName,
		&p.BinLocation, &p.UPC, &p.Tags, &p.Images, &p.CreatedAt, &p.UpdatedAt)
}

type bareResponse struct {
	Success bool `json:"success"`
	Data    any  `json:"data"`
	Meta    any  `json:"meta,omitempty"`
}

type bareMeta struct {
	Page    int   `json:"page"`
	PerPage int   `json:"per_page"`
	Total   int64 `json:"total"`
}

// byID runs a query for the product of the path.
func (b *bare) byID(sql string) handling {
	return func(r *http.Request, tenant tenancy.ID) (any, error) {
		return b.one(r, tenant, sql, chi.URLParam(r, "id"))
	}
}

// one runs a query for one product. The first parameter is the tenant.
func (b *bare) one(r *http.Request, tenant tenancy.ID, sql string, args ...any) (any, error) {
	p := new(bareProduct)
	return bareResponse{Success: true, Data: p}, b.send(r.Context(), tenant, func(batch *pgx.Batch) {
		batch.Queue(sql, append([]any{tenant}, args...)...).QueryRow(p.scan)
	})
}

// list returns a page and the exact total.
func (b *bare) list(r *http.Request, tenant tenancy.ID) (any, error) {
	var items []bareProduct
	meta := &bareMeta{Page: 1, PerPage: 25}
	count, ids, args := bareList(r.URL.Query())
	args = append([]any{tenant}, args...)
	err := b.send(r.Context(), tenant, func(batch *pgx.Batch) {
		batch.Queue(count, args...).QueryRow(func(row pgx.Row) error { return row.Scan(&meta.Total) })
		batch.Queue(fmt.Sprintf(barePage, ids), args...).Query(func(rows pgx.Rows) (err error) {
			items, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p bareProduct, err error) {
				err = p.scan(row)
				return p, err
			})
			return err
		})
	})
	return bareResponse{true, items, meta}, err
}

// bareList returns the queries for the total and the ids of a list, and their arguments after the tenant. A list has
// no filter, one filter or a search.
func bareList(q url.Values) (count, ids string, args []any) {
	from, order := "products where tenant_id = $1", "created_at desc, id desc"
	if q.Has("search") {
		var patterns []string
		for _, word := range strings.Fields(strings.ToLower(q.Get("search"))) {
			if len(word) < 3 { // matches at the start of a word
				word = " " + word
			}
			patterns = append(patterns, "%"+word+"%")
		}
		from, args = "bench.texts where tenant_id = $1 and text like all ($2)", []any{patterns}
	}
	for _, facet := range facets {
		if !q.Has(facet) {
			continue
		}
		from, args = "bench.facets where tenant_id = $1 and facet = $2 and value = $3", []any{facet, q.Get(facet)}
		if q.Has("status") {
			from, args = from+" and status = $4", append(args, q.Get("status"))
		}
		order = fmt.Sprintf("%[1]s %[2]s, id %[2]s", q.Get("sort"), q.Get("direction"))
	}
	count = "select count(*) from " + from
	if len(args) == 0 {
		count = "select sum(count)::bigint from product_counts where tenant_id = $1"
	}
	return count, "select id from " + from + " order by " + order + " limit 25", args
}
