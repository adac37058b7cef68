package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/cmd/storeroom/demo"
	"github.com/storeroom/storeroom/deploy/local"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/migrations"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/paging"
	"github.com/storeroom/storeroom/tenancy/people"
)

const devDatabase = "storeroom"

func (c console) devCommand() *cli.Command {
	return &cli.Command{
		Name:  "dev",
		Usage: "start private servers, make a demo shop and serve it",
		Description: "PostgreSQL and Redis run out of .local/ unless DATABASE_URL (with DATABASE_ADMIN_URL) and REDIS_URL\n" +
			"name others. What the other commands need is written to .local/env, which they read here.",
		Action: func(ctx context.Context, _ *cli.Command) error {
			return startedUnlessStopped(ctx, c.dev(ctx))
		},
	}
}

// dev does everything between a bare clone and a shop that answers. The address
// is taken first: if that fails, nothing was started.
func (c console) dev(ctx context.Context) (err error) {
	saved, err := c.saved()
	if err != nil {
		return err
	}
	variables, err := c.devVariables(saved)
	if err != nil {
		return err
	}
	cfg, err := parseConfig(variables)
	if err != nil {
		return err
	}
	listener, err := listen(ctx, "STOREROOM_ADDR", cfg.Addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	servers, err := c.startServers(ctx, variables, saved)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, servers.Stop()) }()
	if cfg, err = parseConfig(variables); err != nil {
		return err
	}
	if _, err := migrate(ctx, cfg.DatabaseAdminURL); err != nil {
		return err
	}
	cfg.Drain = 0
	if cfg.BaseURL == nil {
		if cfg.BaseURL, err = url.Parse(baseURL(listener.Addr())); err != nil {
			return err
		}
	}
	return c.operate(ctx, cfg, "text", func(o *operations, logger *slog.Logger) error {
		return c.devWith(ctx, cfg, variables, listener, o, logger)
	})
}

// devWith opens the shop and serves it.
func (c console) devWith(ctx context.Context, cfg config, variables map[string]string, listener net.Listener, o *operations, logger *slog.Logger) (err error) {
	i, err := openInstance(ctx, cfg, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, i.close()) }()
	shop, err := c.openShop(ctx, i, cfg)
	if err != nil {
		return err
	}
	variables["STOREROOM_DEMO_KEY"], variables["STOREROOM_DEMO_PASSWORD"] = shop.key, shop.password
	variables["STOREROOM_BASE_URL"] = cfg.BaseURL.String()
	if err := c.save(writable(variables)); err != nil {
		return err
	}
	return i.serve(ctx, listener, func() error {
		o.instance.Store(i)
		return c.welcome(shop, cfg.BaseURL.String())
	})
}

// devVariables are those of the environment, and of an earlier run only what
// belongs to the data: the addresses of its servers may be old.
func (c console) devVariables(saved map[string]string) (map[string]string, error) {
	variables := c.environment()
	if (variables["DATABASE_URL"] == "") != (variables["DATABASE_ADMIN_URL"] == "") {
		return nil, errors.New("set DATABASE_URL (the runtime role) and DATABASE_ADMIN_URL (the migrator) together, or neither for a private PostgreSQL")
	}
	for _, name := range []string{"STOREROOM_KEY_PEPPERS", "STOREROOM_DEMO_KEY", "STOREROOM_DEMO_PASSWORD"} {
		if variables[name] == "" && saved[name] != "" {
			variables[name] = saved[name]
		}
	}
	if variables["STOREROOM_KEY_PEPPERS"] == "" {
		pepper := make([]byte, 32)
		rand.Read(pepper)
		variables["STOREROOM_KEY_PEPPERS"] = "1:" + hex.EncodeToString(pepper)
	}
	return variables, nil
}

// writable are the variables that other commands need, without those of the
// process that are none of ours. The addresses are left out, so that a later start
// without them has the defaults again.
func writable(variables map[string]string) map[string]string {
	kept := map[string]string{}
	for name, value := range variables {
		if known(name) && name != "STOREROOM_ADDR" && name != "STOREROOM_OPS_ADDR" {
			kept[name] = value
		}
	}
	return kept
}

// startServers starts what the environment does not bring and adds its addresses
// to the variables.
func (c console) startServers(ctx context.Context, variables, saved map[string]string) (*local.Servers, error) {
	servers, err := local.Start(ctx, filepath.Join(c.dir, ".local"), local.Options{
		Postgres: variables["DATABASE_URL"] == "",
		Redis:    variables["REDIS_URL"] == "",
		Durable:  true,
	})
	if err != nil {
		return nil, err
	}
	if servers.RedisURL != "" {
		variables["REDIS_URL"] = servers.RedisURL
	}
	if servers.AdminURL == "" {
		return servers, nil
	}
	migrator, runtime := passwordOf(saved["DATABASE_ADMIN_URL"]), passwordOf(saved["DATABASE_URL"])
	if err := makeDatabase(ctx, servers.AdminURL, migrator, runtime); err != nil {
		return nil, errors.Join(err, servers.Stop())
	}
	variables["DATABASE_ADMIN_URL"] = roleURL(servers.AdminURL, "storeroom_migrator", migrator)
	variables["DATABASE_URL"] = roleURL(servers.AdminURL, "storeroom_runtime", runtime)
	return servers, nil
}

// passwordOf keeps the password of an earlier run, so that a URL that somebody
// noted stays good, or makes one.
func passwordOf(saved string) string {
	if u, err := url.Parse(saved); err == nil && u.User != nil {
		if password, set := u.User.Password(); set && password != "" {
			return password
		}
	}
	return rand.Text()
}

func roleURL(server, role, password string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server // of our own making: it does parse
	}
	u.User = url.UserPassword(role, password)
	u.Path = "/" + devDatabase
	return u.String()
}

// makeDatabase makes the roles and the database unless they are there.
func makeDatabase(ctx context.Context, adminURL, migratorPassword, runtimePassword string) error {
	conn, err := connect(ctx, "the private PostgreSQL", adminURL)
	if err != nil {
		return err
	}
	defer leave(ctx, conn)
	for _, statement := range migrations.Roles(devDatabase, migratorPassword, runtimePassword) {
		// Again they change nothing, but the database cannot be made twice.
		if _, err := conn.Exec(ctx, statement); err != nil && tenancy.SQLState(err) != "42P04" {
			return fmt.Errorf("make the roles and the database: %w", err)
		}
	}
	return nil
}

// shop is the demo tenant as it stands.
type shop struct {
	tenant   tenancy.Tenant
	made     bool // by this start
	products int64
	product  int64 // id of one of them
	orders   int64
	key      string
	news     string // what changed about the key, if anything
	password string // of the owner, demoEmail
}

const demoEmail = "demo@example.com"

// openShop finds the demo tenant, its products, its orders, its owner and its key,
// and makes what is missing. Products are made only where there are none: what
// somebody has changed stays changed.
func (c console) openShop(ctx context.Context, i *instance, cfg config) (shop, error) {
	admin, err := tenancy.Open(ctx, cfg.DatabaseAdminURL)
	if err != nil {
		return shop{}, fmt.Errorf("DATABASE_ADMIN_URL: %w", err)
	}
	defer admin.Close()
	s := shop{key: cfg.DemoKey, password: cfg.DemoPassword}
	s.tenant, err = tenancy.TenantBySlug(ctx, admin, demo.Slug)
	if errors.Is(err, tenancy.ErrNotFound) {
		s.tenant, err = tenancy.CreateTenant(ctx, admin, tenancy.Tenant{Slug: demo.Slug, Name: demo.Name})
		s.made = true
	}
	if err != nil {
		return s, err
	}
	if err := s.stock(ctx, catalog.New(i.db)); err != nil {
		return s, err
	}
	if err := c.sell(ctx, sales.New(i.db), &s); err != nil {
		return s, err
	}
	if err := s.findOwner(ctx, people.New(i.db), admin); err != nil {
		return s, err
	}
	return s, s.findKey(ctx, i.keys, keys.New(admin, cfg.KeyPeppers))
}

// findOwner lets the demo person in with the password of an earlier run, or with a
// new one where that is lost: what welcome prints does open the pages.
func (s *shop) findOwner(ctx context.Context, store *people.Store, admin *tenancy.DB) error {
	if s.password == "" {
		s.password = strings.ToLower(rand.Text()[:16])
	}
	_, err := people.New(admin).CreateMember(ctx, s.tenant.ID, demoEmail, people.Owner, s.password)
	if err != nil && !errors.Is(err, tenancy.ErrConflict) {
		return err
	}
	session, err := store.SignIn(ctx, demoEmail, s.password)
	if err == nil {
		return store.SignOut(ctx, session, false)
	}
	if !errors.Is(err, people.ErrWrong) {
		return err
	}
	link, err := people.New(admin).ResetAnywhere(ctx, demoEmail)
	if err == nil {
		session, err = store.Use(ctx, link, s.password, "")
	}
	if err != nil {
		return err
	}
	return store.SignOut(ctx, session, false)
}

// stock loads the demo products if there are none, and picks one to show.
func (s *shop) stock(ctx context.Context, store *catalog.Store) error {
	for range 2 {
		page, err := store.List(ctx, s.tenant.ID, catalog.Filter{Page: paging.Page{Number: 1, PerPage: 1}})
		if err != nil {
			return err
		}
		if len(page.Items) > 0 {
			s.products, s.product = page.Total, page.Items[0].ID
			return nil
		}
		if _, err := demo.Load(ctx, store, s.tenant.ID); err != nil {
			return err
		}
	}
	return errors.New("the demo shop has no products")
}

// sell brings the shop's orders up to now; where there are none yet it says what
// takes so long.
func (c console) sell(ctx context.Context, store *sales.Store, s *shop) error {
	one := sales.Filter{Page: paging.Page{Number: 1, PerPage: 1}}
	list, err := store.List(ctx, s.tenant.ID, one)
	if err != nil {
		return err
	}
	if list.Total == 0 {
		if _, err := fmt.Fprintf(c.stdout, "Making two years of orders of the demo shop …\n"); err != nil {
			return err
		}
	}
	if _, err := demo.LoadSales(ctx, store, s.tenant.ID, time.Now()); err != nil {
		return err
	}
	list, err = store.List(ctx, s.tenant.ID, one)
	s.orders = list.Total
	return err
}

// findKey keeps the key of an earlier run if it still opens the shop.
func (s *shop) findKey(ctx context.Context, resolver *keys.Resolver, store *keys.Store) error {
	if s.key != "" {
		principal, err := resolver.Resolve(ctx, s.key)
		if err == nil && principal.Tenant.ID == s.tenant.ID {
			return nil
		}
		if err != nil && !errors.Is(err, keys.ErrUnknown) && !errors.Is(err, keys.ErrMalformed) {
			return err
		}
	}
	if !s.made {
		s.news = "It is new: that of the last start is lost or works no longer."
	}
	permissions, err := keys.ParsePermissions("full")
	if err != nil {
		return err
	}
	_, secret, err := store.Create(ctx, s.tenant.ID, tenancy.Operator, keys.NewKey{Name: "Demo key", Permissions: permissions})
	s.key = secret.Reveal()
	return err
}

// welcome tells how to use the shop.
func (c console) welcome(s shop, base string) error {
	zone, err := s.tenant.Location()
	if err != nil {
		return err
	}
	today := tenancy.DayOf(time.Now(), zone)
	from, to := today.AddDate(0, 0, -29).Format(time.DateOnly), today.Format(time.DateOnly)
	curl := fmt.Sprintf("curl -sS -H 'Authorization: Bearer %s'", s.key)
	_, err = fmt.Fprintf(c.stdout, `
Storeroom is ready: %[1]d products and %[9]d orders of the demo shop %[2]q, %[3]d requests a minute.

  address   %[4]s
  docs      %[4]s/docs
  settings  %[4]s/settings
  sign in   %[12]s / %[13]s
  demo key  %[5]s
%[6]s
  %[7]s '%[4]s/api/products?per_page=3&sort=price'
  %[7]s '%[4]s/api/products?search=lantern'
  %[7]s -H 'Content-Type: application/json' -d '{"type":"add","quantity":5}' '%[4]s/api/products/%[8]d/inventory/adjust'

The last 30 days: sales beside those of the 30 days before, the best products, the channels, and a file for a spreadsheet.

  %[7]s '%[4]s/api/reports/sales-summary?from=%[10]s&to=%[11]s&compare=true'
  %[7]s '%[4]s/api/reports/products?from=%[10]s&to=%[11]s&per_page=5'
  %[7]s -H 'Content-Type: application/json' -d '{"from":"%[10]s","to":"%[11]s","metrics":["revenue","orders","margin_percent"],"group_by":"channel"}' '%[4]s/api/reports/custom'
  %[7]s -OJ '%[4]s/api/reports/export/sales-summary?from=%[10]s&to=%[11]s&format=xlsx'

Ctrl-C stops everything.
`, s.products, s.tenant.Name, s.tenant.Limit(), base, s.key, indented(s.news), curl, s.product, s.orders, from, to, demoEmail, s.password)
	return err
}

// indented puts the news, if any, on a line below the key.
func indented(news string) string {
	if news == "" {
		return ""
	}
	return "            " + news + "\n"
}
