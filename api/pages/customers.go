package pages

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/reports/export"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/paging"
	"github.com/storeroom/storeroom/tenancy/people"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

type customersPage struct {
	Search    string
	Customers []sales.StoredCustomer
	Pager     pager
}

// showCustomers lists the customers of the tenant.
func (p *Handler) showCustomers(w http.ResponseWriter, r *http.Request, u user) error {
	page := customersPage{Search: filterText(r, "search")}
	at := paging.Page{Number: pageNumber(r), PerPage: listPerPage}
	filter := sales.CustomerFilter{Search: page.Search, Page: at}
	customers, err := u.sales().ListCustomers(r.Context(), u.Tenant.ID, filter)
	if err != nil {
		return err
	}
	page.Customers, page.Pager = customers.Items, newPager(r, at.Number, listPerPage, customers.Total)
	return p.showList(w, r, "customers", u, page.Pager, page)
}

// exportCustomers returns the handler that sends the list of customers as a file.
func (p *Handler) exportCustomers(format string) handler {
	return p.withRecentPassword(people.Manage, func(w http.ResponseWriter, r *http.Request, u user) error {
		filter := sales.CustomerFilter{Search: filterText(r, "search")}
		if err := p.logExport(r, u, "customers."+format, "search"); err != nil {
			return err
		}
		return p.sendList(w, r, u, "customers", format, func(ctx context.Context) export.Sheet {
			return export.CustomerFile.List(func(write func(sales.StoredCustomer) error) error {
				return u.sales().WalkCustomers(ctx, u.Tenant.ID, filter, write)
			})
		})
	})
}

// logExport records an export of data of customers, with those of the filters of its page that are used.
func (p *Handler) logExport(r *http.Request, u user, file string, filters ...string) error {
	if r.Method == http.MethodHead {
		return nil
	}
	used := slices.DeleteFunc(slices.Clone(filters), func(name string) bool { return r.FormValue(name) == "" })
	return tenants.LogExport(r.Context(), u.db, u.Tenant.ID, p.by(r, u), file, used...)
}

// customerID returns the id in the path. It returns tenancy.ErrNotFound for text that PostgreSQL cannot store.
func customerID(r *http.Request) (string, error) {
	id, err := url.PathUnescape(chi.URLParam(r, "id"))
	if err != nil || strings.ToValidUTF8(id, "") != id || strings.ContainsRune(id, 0) {
		return "", tenancy.ErrNotFound
	}
	return id, nil
}

// withCustomer calls h with the customer in the path.
func (p *Handler) withCustomer(
	h func(http.ResponseWriter, *http.Request, user, sales.CustomerSales) error,
) handler {
	return func(w http.ResponseWriter, r *http.Request, u user) error {
		id, err := customerID(r)
		if err != nil {
			return err
		}
		customer, err := u.sales().Customer(r.Context(), u.Tenant.ID, id)
		if err != nil {
			return err
		}
		return h(w, r, u, customer)
	}
}

type customerPage struct {
	Customer sales.CustomerSales
	Orders   []orderRow
	Pager    pager
}

// showCustomer shows a customer with its orders, including those that were cancelled.
func (p *Handler) showCustomer(w http.ResponseWriter, r *http.Request, u user, customer sales.CustomerSales) error {
	at := paging.Page{Number: pageNumber(r), PerPage: listPerPage}
	orders, err := u.sales().List(r.Context(), u.Tenant.ID, sales.Filter{
		Customer: customer.ID, Order: paging.Order{Descending: true}, Page: at,
	})
	if err != nil {
		return err
	}
	page := customerPage{customer, orderRows(orders.Items), newPager(r, at.Number, listPerPage, orders.Total)}
	return p.showList(w, r, "customer", u, page.Pager, page)
}

// sendCustomer sends all data about a customer as a file.
func (p *Handler) sendCustomer(w http.ResponseWriter, r *http.Request, u user) error {
	id, err := customerID(r)
	if err != nil {
		return err
	}
	return p.SendCustomer(w, r, u.db, u.Tenant.ID, id, p.by(r, u))
}

type erasePage struct {
	sales.CustomerSales
	form
}

// showErase asks for a confirmation.
func (p *Handler) showErase(w http.ResponseWriter, _ *http.Request, u user, customer sales.CustomerSales) error {
	return p.show(w, http.StatusOK, "customer-erase", u, erasePage{CustomerSales: customer})
}

func (p *Handler) eraseCustomer(w http.ResponseWriter, r *http.Request, u user, customer sales.CustomerSales) error {
	page := erasePage{customer, submitted(r)}
	if err := p.confirmPassword(w, r, &u, page.form, "password"); err != nil {
		return err
	}
	if len(page.Errors) > 0 {
		return p.show(w, http.StatusUnprocessableEntity, "customer-erase", u, page)
	}
	id := customer.ID
	_, err := imports.EraseCustomer(r.Context(), u.db, u.Tenant.ID, p.by(r, u), id, imports.EraseWait)
	if err != nil {
		return err
	}
	redirect(w, r, u.path("/customers/"+url.PathEscape(id)))
	return nil
}
