package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/api"
	"github.com/storeroom/storeroom/api/pages"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/catalog/media"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/keys/usage"
	"github.com/storeroom/storeroom/ratelimit"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/admission"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/people"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// service is the service on one database, built as `storeroom serve` does, with the bare
// handlers on another port. Both use the same pool and the same limiter.
type service struct {
	db      *db.DB
	keys    *keys.Resolver
	usage   *usage.Recorder
	limiter *ratelimit.Limiter
	bare    *bare
	peppers string // as in the environment
	log     *os.File
	servers []*http.Server

	address, bareAddress string // host and port
	shops                map[string]shop
}

// shop is a tenant with samples of its data.
type shop struct {
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
func openService(ctx context.Context, d database, redisURL string, slugs ...string) (_ *service, err error) {
	s := &service{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.log, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0); err != nil {
		return s, err
	}
	logger := slog.New(slog.NewJSONHandler(s.log, nil))
	s.peppers = newPeppers()
	peppers, err := keys.ParsePeppers(s.peppers)
	if err != nil {
		return s, err
	}
	if s.db, err = db.Open(ctx, d.runtime); err != nil {
		return s, err
	}
	if s.keys, err = keys.Open(ctx, s.db, d.runtime, peppers, logger); err != nil {
		return s, err
	}
	if s.limiter, err = ratelimit.Open(ctx, redisURL, logger); err != nil {
		return s, err
	}
	s.usage = usage.Open(ctx, s.db, logger)
	s.bare = &bare{db: s.db, limiter: s.limiter, shares: admission.New(s.db.MaxConns())}
	if s.bare.super, err = db.Open(ctx, d.super); err != nil {
		return s, err
	}
	if err := s.findShops(ctx, d, peppers, slugs); err != nil {
		return s, err
	}
	if s.address, err = s.listen(ctx, api.New(s.options(peppers, logger))); err != nil {
		return s, err
	}
	s.bareAddress, err = s.listen(ctx, s.bare.handler())
	return s, err
}

// options returns the options of the service.
func (s *service) options(peppers keys.Peppers, logger *slog.Logger) api.Options {
	catalogStore, salesStore, reportStore := catalog.New(s.db), sales.New(s.db), reports.New(s.db)
	return api.Options{
		DB:      s.db,
		Catalog: catalogStore,
		Sales:   salesStore,
		Reports: reportStore,
		Keys:    s.keys,
		Usage:   s.usage,
		Limiter: s.limiter,
		Ready:   s.db.Ping,
		Media:   media.Open(""), // unused
		Logger:  logger,
		Version: "bench",

		Admission: admission.New(s.db.MaxConns()),
		Settings: &pages.Options{
			DB: s.db, People: people.New(s.db), Keys: keys.New(s.db, peppers), Catalog: catalogStore, Sales: salesStore,
			Reports: reportStore, Limiter: s.limiter, BaseURL: &url.URL{Scheme: "http", Host: "127.0.0.1"},
		},
	}
}

// listen serves a handler on a free port until close.
func (s *service) listen(ctx context.Context, h http.Handler) (address string, err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      15 * time.Second,
		IdleTimeout:       75 * time.Second,
		MaxHeaderBytes:    32 << 10,
	}
	s.servers = append(s.servers, server)
	go server.Serve(listener)
	return listener.Addr().String(), nil
}

func newPeppers() string {
	pepper := make([]byte, 32)
	rand.Read(pepper)
	return "1:" + hex.EncodeToString(pepper)
}

// findShops creates a key for each tenant and samples its data.
func (s *service) findShops(ctx context.Context, d database, peppers keys.Peppers, slugs []string) error {
	admin, err := db.Open(ctx, d.migrator)
	if err != nil {
		return err
	}
	defer admin.Close()
	full, err := keys.ParsePermissions("full")
	if err != nil {
		return err
	}
	create := func(slug string) (string, error) {
		t, err := tenants.BySlug(ctx, admin, slug)
		if err != nil {
			return "", err
		}
		_, key, err := keys.New(admin, peppers).Create(ctx, t.ID, tenancy.Operator,
			keys.NewKey{Name: "bench", Permissions: full})
		return key.Reveal(), err
	}
	if s.shops, err = findShops(ctx, d, slugs, create); err != nil {
		return err
	}
	for _, shop := range s.shops {
		s.bare.admit(shop)
	}
	return nil
}

// findShops samples the data of tenants. createKey returns a key of a tenant.
func findShops(
	ctx context.Context, d database, slugs []string, createKey func(slug string) (string, error),
) (map[string]shop, error) {
	shops := map[string]shop{}
	return shops, withConn(ctx, d.super, func(conn *pgx.Conn) error {
		for _, slug := range slugs {
			id, err := queryOne[tenancy.ID](ctx, conn, `select id from tenants where slug = $1`, slug)
			if err != nil {
				return fmt.Errorf("find the tenant %s: %w", slug, err)
			}
			key, err := createKey(slug)
			if err != nil {
				return fmt.Errorf("create a key of %s: %w", slug, err)
			}
			shop := shop{id: id, key: key, session: (rand.Text() + rand.Text())[:43]}
			if err := shop.signIn(ctx, conn); err != nil {
				return fmt.Errorf("sign in to %s: %w", slug, err)
			}
			if err := errors.Join(shop.sampleProducts(ctx, conn), shop.sampleSales(ctx, conn)); err != nil {
				return fmt.Errorf("sample products and orders of %s: %w", slug, err)
			}
			shops[slug] = shop
		}
		return nil
	})
}

// signIn creates a member with a session.
func (s *shop) signIn(ctx context.Context, conn *pgx.Conn) error {
	token := sha256.Sum256([]byte(s.session))
	_, err := conn.Exec(ctx, `
		with member as (
		     insert into users (email) values (lower($1) || '@example.com') returning id
		), membership as (
		     insert into memberships (tenant_id, user_id, role) select $2, id, 'viewer' from member
		)
		insert into sessions (token_hash, user_id) select $3, id from member`, s.session, s.id, token[:])
	return err
}

// sampleProducts reads up to 10,000 products, the same in each run.
func (s *shop) sampleProducts(ctx context.Context, conn *pgx.Conn) error {
	rows, _ := conn.Query(ctx, `
		select id, sku, category_id, seller_id, warehouse_id, coalesce(tags[1], '')
		  from products
		 where tenant_id = $1
		 order by hashint8extended(id, 0)
		 limit 10000`, s.id)
	var err error
	if s.products, err = pgx.CollectRows(rows, pgx.RowToStructByPos[sampled]); err != nil {
		return err
	}
	if len(s.products) == 0 {
		return errors.New("no products")
	}
	return nil
}

// sampleSales reads sold products, customers and up to 1,000 orders.
func (s *shop) sampleSales(ctx context.Context, conn *pgx.Conn) error {
	rows, _ := conn.Query(ctx, `
		select s.id as sold_id, s.sku, p.price, p.cost
		  from sold_products s
		  join products p on p.tenant_id = s.tenant_id and p.id = s.product_id
		 where s.tenant_id = $1
		 order by s.id
		 limit $2`, s.id, maxGoods)
	goods, err := pgx.CollectRows(rows, pgx.RowToStructByName[good])
	if err != nil {
		return err
	}
	rows, _ = conn.Query(ctx, `
		select id, number, name, email
		  from customers
		 where tenant_id = $1
		 order by hashint8extended(id, 0)
		 limit 10000`, s.id)
	buyers, err := pgx.CollectRows(rows, pgx.RowToStructByName[buyer])
	if err != nil {
		return err
	}
	s.goods, s.buyers = goods, buyers
	return conn.QueryRow(ctx, `
		select array(select number from orders where tenant_id = $1 order by hashint8extended(id, 0) limit 1000),
		       array(select distinct category_id from sold_products where tenant_id = $1 order by category_id limit 2),
		       (select count(*) from sold_products where tenant_id = $1)`, s.id,
	).Scan(&s.numbers, &s.categories, &s.sold)
}

func (s *service) close() error {
	var errs []error
	for _, server := range s.servers {
		errs = append(errs, server.Close())
	}
	if s.keys != nil {
		errs = append(errs, s.keys.Close())
	}
	if s.usage != nil {
		errs = append(errs, s.usage.Close())
	}
	if s.limiter != nil {
		errs = append(errs, s.limiter.Close())
	}
	if s.bare != nil && s.bare.super != nil {
		s.bare.super.Close()
	}
	if s.db != nil {
		s.db.Close()
	}
	if s.log != nil {
		errs = append(errs, s.log.Close())
	}
	return errors.Join(errs...)
}
