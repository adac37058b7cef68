package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"text/template"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/cmd/storeroom/config"
	"github.com/storeroom/storeroom/cmd/storeroom/demo"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/paging"
	"github.com/storeroom/storeroom/tenancy/people"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// shop is the demo tenant. The welcome text uses its exported fields.
type shop struct {
	Tenant   tenants.Tenant
	created  bool // by this start
	Products int64
	Product  int64 // id of a product
	Orders   int64
	Key      string
	NewKey   bool   // the key of the last start is lost or invalid
	Password string // of the owner, demoEmail
}

const demoEmail = "demo@example.com"

// openShop returns the demo tenant. It creates missing products, orders, owner and key, and changes nothing else.
func (c console) openShop(
	ctx context.Context, db *db.DB, resolver *keys.Resolver, cfg config.Config,
) (shop, error) {
	s := shop{Key: cfg.DemoKey, Password: cfg.DemoPassword}
	admin, err := openMigrator(ctx, cfg)
	if err != nil {
		return s, err
	}
	defer admin.Close()
	s.Tenant, err = tenants.BySlug(ctx, admin, demo.Slug)
	if errors.Is(err, tenancy.ErrNotFound) {
		s.Tenant, err = tenants.Create(ctx, admin, tenants.Tenant{Slug: demo.Slug, Name: demo.Name})
		s.created = true
	}
	if err != nil {
		return s, err
	}
	if err := s.ensureProducts(ctx, catalog.New(db)); err != nil {
		return s, err
	}
	if err := c.ensureOrders(ctx, sales.New(db), &s); err != nil {
		return s, err
	}
	if err := s.ensureOwner(ctx, people.New(db), admin); err != nil {
		return s, err
	}
	return s, s.ensureKey(ctx, resolver, keys.New(admin, cfg.KeyPeppers))
}

func (s *shop) ensureProducts(ctx context.Context, store *catalog.Store) error {
	for range 2 {
		page, err := store.List(ctx, s.Tenant.ID, catalog.Filter{Page: paging.Page{Number: 1, PerPage: 1}})
		if err != nil {
			return err
		}
		if len(page.Items) > 0 {
			s.Products, s.Product = page.Total, page.Items[0].ID
			return nil
		}
		if _, err := demo.Load(ctx, store, s.Tenant.ID); err != nil {
			return err
		}
	}
	return errors.New("the demo shop has no products")
}

// ensureOrders adds the orders up to now.
func (c console) ensureOrders(ctx context.Context, store *sales.Store, s *shop) error {
	one := sales.Filter{Page: paging.Page{Number: 1, PerPage: 1}}
	list, err := store.List(ctx, s.Tenant.ID, one)
	if err != nil {
		return err
	}
	if list.Total == 0 {
		if _, err := fmt.Fprintln(c.stdout, "Creating two years of orders for the demo shop …"); err != nil {
			return err
		}
	}
	if _, err := demo.LoadSales(ctx, store, s.Tenant.ID, time.Now()); err != nil {
		return err
	}
	list, err = store.List(ctx, s.Tenant.ID, one)
	s.Orders = list.Total
	return err
}

// ensureOwner makes sure that demoEmail can sign in to the shop with s.Password. It sets the password if it does not
// match. An account of another tenant, or of a shop that was deleted, joins by an invitation.
func (s *shop) ensureOwner(ctx context.Context, store *people.Store, admin *db.DB) error {
	if s.Password == "" {
		s.Password = strings.ToLower(rand.Text()[:16])
	}
	operator := people.New(admin)
	_, err := operator.CreateMember(ctx, s.Tenant.ID, demoEmail, people.Owner, s.Password)
	if !errors.Is(err, tenancy.ErrConflict) {
		return err
	}
	session, err := store.SignIn(ctx, demoEmail, s.Password, "127.0.0.1")
	if errors.Is(err, people.ErrWrong) {
		var link people.Token
		if link, err = operator.ResetAnywhere(ctx, demoEmail); err == nil {
			session, err = store.UseLink(ctx, link, s.Password, "")
		}
	}
	if err != nil {
		return err
	}
	link, err := operator.Invite(ctx, s.Tenant.ID, tenancy.Operator, "", demoEmail, people.Owner)
	if err == nil {
		_, err = store.UseLink(ctx, link, s.Password, "")
	}
	if err != nil && !errors.Is(err, tenancy.ErrConflict) { // a member
		return err
	}
	return store.SignOut(ctx, session, false)
}

// ensureKey keeps the key of the last start if it is still valid for the shop.
func (s *shop) ensureKey(ctx context.Context, resolver *keys.Resolver, store *keys.Store) error {
	if s.Key != "" {
		principal, err := resolver.Resolve(ctx, s.Key)
		if err == nil && principal.Tenant.ID == s.Tenant.ID {
			return nil
		}
		if err != nil && !errors.Is(err, keys.ErrUnknown) && !errors.Is(err, keys.ErrMalformed) {
			return err
		}
	}
	s.NewKey = !s.created
	permissions, err := keys.ParsePermissions("full")
	if err != nil {
		return err
	}
	newKey := keys.NewKey{Name: "Demo key", Permissions: permissions}
	_, secret, err := store.Create(ctx, s.Tenant.ID, tenancy.Operator, newKey)
	s.Key = secret.Reveal()
	return err
}

var welcome = template.Must(template.New("welcome").Parse(`
{{- $curl := print "curl -sS -H 'Authorization: Bearer " .Key "'" }}
{{- $json := print $curl " -H 'Content-Type: application/json'" }}
{{- $metrics := "[\"revenue\",\"orders\",\"margin_percent\"]" }}
{{- $period := print "from=" .From "&to=" .To }}
Storeroom is ready: {{.Products}} products and {{.Orders}} orders of the demo shop {{printf "%q" .Tenant.Name}},
{{- print " " .Tenant.Limit " requests a minute." }}

  address   {{.URL}}
  docs      {{.URL}}/docs
  settings  {{.URL}}/settings
  sign in   {{.Email}} / {{.Password}}
  demo key  {{.Key}}
{{- if .NewKey}}
            This is a new key: the key of the last start is lost or no longer valid.
{{- end}}

Products:

  {{$curl}} '{{.URL}}/api/products?per_page=3&sort=price'
  {{$curl}} '{{.URL}}/api/products?search=lantern'
  {{$json}} -d '{"type":"add","quantity":5}' '{{.URL}}/api/products/{{.Product}}/inventory/adjust'

Sales of the last 30 days, compared with the 30 days before; best products; channels; a spreadsheet:

  {{$curl}} '{{.URL}}/api/reports/sales-summary?{{$period}}&compare=true'
  {{$curl}} '{{.URL}}/api/reports/products?{{$period}}&per_page=5'
  {{$json}} -d '{"from":"{{.From}}","to":"{{.To}}","metrics":{{$metrics}},"group_by":"channel"}'
{{- print " '" .URL "/api/reports/custom'" }}
  {{$curl}} -OJ '{{.URL}}/api/reports/export/sales-summary?{{$period}}&format=xlsx'

Press Ctrl-C to stop.
`))

func (c console) printWelcome(s shop, url string) error {
	zone, err := s.Tenant.Location()
	if err != nil {
		return err
	}
	today := tenancy.DayOf(time.Now(), zone)
	return welcome.Execute(c.stdout, struct {
		shop
		URL, Email, From, To string
	}{s, url, demoEmail, today.AddDate(0, 0, -29).Format(time.DateOnly), today.Format(time.DateOnly)})
}
