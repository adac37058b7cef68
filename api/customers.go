package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/reports/export"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// listedCustomerJSON is a customer in a list. The id is the sender's.
type listedCustomerJSON struct {
	customerJSON
	CreatedAt timestamp  `json:"created_at"`
	ErasedAt  *timestamp `json:"erased_at"`
}

// wholeCustomerJSON is a single customer with the sums of its orders.
type wholeCustomerJSON struct {
	listedCustomerJSON
	Orders       int64       `json:"orders"`
	Revenue      money.Cents `json:"revenue"`
	Refunds      money.Cents `json:"refunds"`
	FirstOrderAt *timestamp  `json:"first_order_at"`
	LastOrderAt  *timestamp  `json:"last_order_at"`
}

func listedCustomerShape(c sales.StoredCustomer) listedCustomerJSON {
	return listedCustomerJSON{
		customerJSON{c.ID, c.Name, c.Email}, timestamp(c.CreatedAt), (*timestamp)(c.ErasedAt),
	}
}

func customerShape(c sales.CustomerSales) wholeCustomerJSON {
	return wholeCustomerJSON{
		listedCustomerShape(c.StoredCustomer), c.Orders, c.Revenue, c.Refunds, (*timestamp)(c.FirstOrderAt),
		(*timestamp)(c.LastOrderAt),
	}
}

// listCustomers handles GET /api/customers.
func (s *Server) listCustomers(w http.ResponseWriter, r *http.Request) error {
	q := readQuery(r)
	f := sales.CustomerFilter{Search: q.search()}
	f.Page, f.Keyset, f.After = q.pageOrCursor(r, f.ParseCursor)
	if err := q.err(); err != nil {
		return err
	}
	customers, err := s.sales(r).ListCustomers(r.Context(), tenant(r), f)
	if err != nil {
		return err
	}
	if !f.Keyset {
		return writePage(w, r, f.Page, customers.List, listedCustomerShape)
	}
	return writeStep(w, r, f.Page, customers.List, customers.Next, f.Cursor, listedCustomerShape)
}

func (s *Server) customersList(r *http.Request, q *query) (listFile, error) {
	f := sales.CustomerFilter{Search: q.search()}
	return newListFile(func(ctx context.Context, write func(sales.StoredCustomer) error) error {
		return s.sales(r).WalkCustomers(ctx, tenant(r), f, write)
	}, export.CustomerFile.List, listedCustomerShape), nil
}

// showCustomer handles GET /api/customers/{customer_id}.
func (s *Server) showCustomer(w http.ResponseWriter, r *http.Request, id string) error {
	c, err := s.sales(r).Customer(r.Context(), tenant(r), id)
	if err != nil {
		return err
	}
	return writeData(w, http.StatusOK, customerShape(c))
}

// eraseCustomer handles DELETE /api/customers/{customer_id}.
func (s *Server) eraseCustomer(w http.ResponseWriter, r *http.Request, id string) error {
	_, err := imports.EraseCustomer(r.Context(), stateOf(r).db, tenant(r), s.keyActor(r), id, imports.EraseWait)
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// showCustomerData handles GET /api/customers/{customer_id}/data.
func (s *Server) showCustomerData(w http.ResponseWriter, r *http.Request, id string) error {
	return s.sendCustomer(w, r, stateOf(r).db, tenant(r), id, s.keyActor(r))
}

// responseJSON is the stored response to a request with an Idempotency-Key.
type responseJSON struct {
	IdempotencyKey string          `json:"idempotency_key"`
	CreatedAt      timestamp       `json:"created_at"`
	Body           json.RawMessage `json:"body"`
}

// sendCustomer sends one JSON file with all data about a customer: the customer, its orders and the stored responses
// that contain it. The audit log records who gets it.
func (s *Server) sendCustomer(
	w http.ResponseWriter, r *http.Request, d *db.DB, tenant tenancy.ID, id string, by tenancy.Actor,
) error {
	orders := sales.New(d)
	file := &download{w: w, timeout: s.limits.readerTimeout, contentType: jsonType, name: "customer.json"}
	customer, err := orders.Customer(r.Context(), tenant, id)
	if err != nil {
		return err
	}
	responses, err := orders.ResponsesAbout(r.Context(), tenant, id)
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		file.start()
		return nil
	}
	if err := tenants.LogExport(r.Context(), d, tenant, by, "customer "+id); err != nil {
		return err
	}
	return file.stream(stateOf(r), func(to io.Writer) error {
		if err := writeParts(to, `{"customer":`, customerShape(customer), `,"orders":[`); err != nil {
			return err
		}
		separator := ""
		err := orders.WalkCustomerOrders(r.Context(), tenant, id, func(o sales.StoredOrder) error {
			before := separator
			separator = ","
			return writeParts(to, before, wholeOrderShape(o, true), "")
		})
		if err != nil {
			return err
		}
		return writeParts(to, `],"stored_responses":`, mapSlice(responses, func(s sales.StoredResponse) responseJSON {
			return responseJSON{s.Key, timestamp(s.CreatedAt), s.Body}
		}), "}\n")
	})
}

// writeParts writes JSON between two texts.
func writeParts(to io.Writer, before string, v any, after string) error {
	body, err := encode(v)
	if err != nil {
		return err
	}
	_, err = io.WriteString(to, before+string(body)+after)
	return err
}
