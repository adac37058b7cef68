package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/api"
	"github.com/storeroom/storeroom/api/pages"
	"github.com/storeroom/storeroom/catalog/media"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/keys/usage"
	"github.com/storeroom/storeroom/ratelimit"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/limits"
	"github.com/storeroom/storeroom/tenancy/people"
)

// service is the service on one database, built as `storeroom serve` does, with the bare
// handlers on another port. Both use the same pool and the same limiter.
type service struct {
	db      *db.DB
	keys    *keys.Resolver
	usage   *usage.Recorder
	limiter *ratelimit.Limiter
	bare    *bare
	peppers string         // as in the environment
	closers []func() error // in the order in which they were opened

	address, bareAddress string // host and port
	shops                map[string]shop
}

// shop is a tenant with samples of its data.
type shop struct {
	slug     string
	id       tenancy.ID
	key      string
	session  string    // the 43 characters of a member's cookie
	products []sampled // random

	goods      []good   // best sellers first
	buyers     []buyer  // random
	numbers    []string // of random orders
	categories []int64  // two categories of sold products
	sold       int      // number of sold products
}

// sampled is a product of a sample.
type sampled struct {
	ID                          int64
	SKU                         string
	Category, Seller, Warehouse int64
	Tag                         string
}

// facets are the parameters of a list that filter by a reference or a tag.
var facets = []string{"category_id", "seller_id", "warehouse_id", "tag"}

// facet returns the filter that matches the product.
func (p sampled) facet(name string) string {
	value := map[string]any{"category_id": p.Category, "seller_id": p.Seller, "warehouse_id": p.Warehouse, "tag": p.Tag}
	return fmt.Sprint(name, "=", value[name])
}

// openService starts the service and the bare handlers. The access log goes to the null
// device.
func openService(ctx context.Context, d database, redisURL string, slugs ...string) *service {
	s := &service{peppers: newPeppers()}
	defer closeFailed(s.close)
	log := must(os.OpenFile(os.DevNull, os.O_WRONLY, 0))
	s.onClose(log.Close)
	logger := slog.New(slog.NewJSONHandler(log, nil))
	peppers := must(keys.ParsePeppers(s.peppers))
	s.db = must(db.Open(ctx, d.runtime))
	s.onClose(func() error {
		s.db.Close()
		return nil
	})
	s.keys = must(keys.Open(ctx, s.db, d.runtime, peppers, logger))
	s.onClose(s.keys.Close)
	s.limiter = must(ratelimit.Open(ctx, redisURL, logger))
	s.onClose(s.limiter.Close)
	s.usage = usage.Open(ctx, s.db, logger)
	s.onClose(s.usage.Close)
	s.bare = &bare{db: s.db, limiter: s.limiter, shares: limits.New(s.db.MaxConns(), runtime.GOMAXPROCS(0))}
	s.shops = findShops(ctx, d, slugs, func(found shop) string {
		return createKeys(ctx, d, s.peppers, found.id)[0]
	})
	for _, shop := range s.shops {
		s.bare.admit(shop)
	}
	s.address = s.serve(api.New(s.options(peppers, logger)))
	s.bareAddress = s.serve(s.bare.handler())
	return s
}

func (s *service) onClose(f func() error) { s.closers = append(s.closers, f) }

// serve serves a handler on a free port until close.
func (s *service) serve(h http.Handler) (address string) {
	server := httptest.NewServer(h)
	s.onClose(func() error {
		server.Close()
		return nil
	})
	return server.Listener.Addr().String()
}

func (s *service) close() error {
	var errs []error
	for _, f := range slices.Backward(s.closers) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// options returns the options of the service.
func (s *service) options(peppers keys.Peppers, logger *slog.Logger) api.Options {
	return api.Options{
		DB:      s.db,
		Reports: reports.New(s.db),
		Keys:    s.keys,
		Usage:   s.usage,
		Limiter: s.limiter,
		Ready:   s.db.Ping,
		Media:   media.Open(""), // unused
		Logger:  logger,
		Version: "bench",

		Limits: limits.New(s.db.MaxConns(), runtime.GOMAXPROCS(0)),
		Settings: &pages.Options{
			People: people.New(s.db), Keys: keys.New(s.db, peppers), BaseURL: &url.URL{Scheme: "http", Host: "127.0.0.1"},
		},
	}
}

func newPeppers() string { return fmt.Sprintf("1:%x", sha256.Sum256([]byte(rand.Text()))) }

// findShops samples the data of tenants. keyOf returns a key of a tenant.
func findShops(ctx context.Context, d database, slugs []string, keyOf func(shop) string) map[string]shop {
	shops := map[string]shop{}
	withConn(ctx, d.super, func(conn *pgx.Conn) {
		for _, slug := range slugs {
			found := shop{slug: slug, session: (rand.Text() + rand.Text())[:43]}
			check(conn.QueryRow(ctx, `select id from tenants where slug = $1`, slug).Scan(&found.id))
			found.signIn(ctx, conn)
			found.sample(ctx, conn)
			found.key = keyOf(found)
			shops[slug] = found
		}
	})
	return shops
}

// signIn creates a member with a session.
func (s *shop) signIn(ctx context.Context, conn *pgx.Conn) {
	token := sha256.Sum256([]byte(s.session))
	must(conn.Exec(ctx, `
		with member as (
		     insert into users (email) values (lower($1) || '@example.com') returning id
		), membership as (
		     insert into memberships (tenant_id, user_id, role) select $2, id, 'viewer' from member
		)
		insert into sessions (token_hash, user_id) select $3, id from member`, s.session, s.id, token[:]))
}

// sample reads products, customers and orders, the same in each run.
func (s *shop) sample(ctx context.Context, conn *pgx.Conn) {
	s.products = collect(ctx, conn, pgx.RowToStructByPos[sampled], `
		select id, sku, category_id, seller_id, warehouse_id, coalesce(tags[1], '')
		  from products
		 where tenant_id = $1
		 order by hashint8extended(id, 0)
		 limit 10000`, s.id)
	s.goods = collect(ctx, conn, pgx.RowToStructByName[good], `
		select s.id as sold_id, s.sku, p.price, p.cost
		  from sold_products s
		  join products p on p.tenant_id = s.tenant_id and p.id = s.product_id
		 where s.tenant_id = $1
		 order by s.id
		 limit $2`, s.id, maxGoods)
	s.buyers = collect(ctx, conn, pgx.RowToStructByName[buyer], `
		select id, number, name, email
		  from customers
		 where tenant_id = $1
		 order by hashint8extended(id, 0)
		 limit 10000`, s.id)
	check(conn.QueryRow(ctx, `
		select array(select number from orders where tenant_id = $1 order by hashint8extended(id, 0) limit 1000),
		       array(select distinct category_id from sold_products where tenant_id = $1 order by category_id limit 2),
		       (select count(*) from sold_products where tenant_id = $1)`, s.id,
	).Scan(&s.numbers, &s.categories, &s.sold))
	if len(s.products) == 0 || len(s.numbers) == 0 {
		check(fmt.Errorf("the tenant %s has no products or no orders", s.slug))
	}
}
