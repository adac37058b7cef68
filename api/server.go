// Package api is the HTTP face of Storeroom: it turns requests into calls of the
// domain packages and their answers into JSON. It holds no SQL and no rule about
// products.
//
// Every route stands in one table with the permission it needs, and a route
// without one cannot be registered. A request passes, in this order: request id
// and access log, recovery, authentication with the rate limit, the cap on work
// in flight, routing, permission, handler. Authentication comes before routing,
// so that nobody without a key learns which paths exist. Handlers return errors;
// errors.go alone knows what a client is told about them. The pages of package
// settings take the same way, but need no key and answer for themselves.
package api

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/storeroom/storeroom/api/settings"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/ratelimit"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
)

// Options are the dependencies and settings of a Server. Settings, TrustedProxies and Version
// are optional.
type Options struct {
	DB      *tenancy.DB
	Catalog *catalog.Store
	Sales   *sales.Store
	Reports *reports.Store
	Keys    *keys.Resolver
	Limiter *ratelimit.Limiter

	// Settings are the options of the pages under /settings; nil disables the pages. New sets
	// the fields Address, Network, Failed and Decided.
	Settings *settings.Options

	// Ready returns an error while this instance should not receive requests.
	Ready func(context.Context) error

	// TrustedProxies are the peers whose X-Forwarded-For header is used.
	TrustedProxies []netip.Prefix

	Logger  *slog.Logger
	Version string // of the program, for /healthz
}

// Server handles every request of the service. It is safe for concurrent use.
type Server struct {
	Options

	mux   *chi.Mux
	pages *settings.Pages // nil if disabled

	requests     atomic.Int64 // in flight under /api
	pageRequests atomic.Int64 // in flight under /settings
	exports      *slots
	workbooks    *slots
	reporting    *slots
	bulks        *slots
	limits       limits
}

// limits bound the resources that requests use; tests lower them.
type limits struct {
	requests      int64         // in flight under /api
	pageRequests  int64         // in flight under /settings
	body          int64         // bytes of a body
	bulkBody      int64         // bytes of the body of a bulk request
	deadline      time.Duration // of a handler
	readerTimeout time.Duration // see the constant
	formTimeout   time.Duration // see the constant
}

// New returns a Server with all its routes.
func New(o Options) *Server {
	s := &Server{
		Options:   o,
		mux:       chi.NewMux(),
		exports:   newSlots("export", exportsPerTenant),
		workbooks: newSlots("workbook", workbooksPerTenant),
		reporting: newSlots("report", reportsPerTenant),
		bulks:     newSlots("bulk", bulksPerTenant),
		limits: limits{
			requests:      512,
			pageRequests:  64,
			body:          1 << 20,
			bulkBody:      32 << 20,
			deadline:      8 * time.Second,
			readerTimeout: readerTimeout,
			formTimeout:   formTimeout,
		},
	}
	s.mux.Use(s.observe, s.recoverPanic, s.authenticate, s.limitInFlight)
	for _, r := range s.routes() {
		s.mux.Method(r.method, r.pattern, s.routeHandler(r))
	}
	if o.Settings != nil {
		s.mountSettings(*o.Settings)
	}
	s.mux.NotFound(s.handlerFunc(s.notFound))
	s.mux.MethodNotAllowed(s.handlerFunc(s.methodNotAllowed))
	return s
}

// What a route can ask for beside a permission of the key.
const (
	anyKey keys.Permission = "any valid key"
	noKey  keys.Permission = "no key" // only outside /api
)

// handler answers a request, or returns the error that the client is told about.
type handler func(http.ResponseWriter, *http.Request) error

// route is one line of the table.
type route struct {
	method     string
	pattern    string
	permission keys.Permission
	handle     handler
	options    options
}

// options are what a route does differently.
type options struct {
	bulk     bool          // the body may be large
	deadline time.Duration // instead of the usual one
}

func (r route) bodyLimit(l limits) int64 {
	if r.options.bulk {
		return l.bulkBody
	}
	return l.body
}

// routes is the table of all routes. HEAD works wherever GET does.
func (s *Server) routes() []route {
	none, bulk, export := options{}, options{bulk: true, deadline: 25 * time.Second}, options{deadline: exportDeadline}
	report := options{deadline: reportDeadline}
	all := []route{
		{"GET", "/healthz", noKey, s.health, none},
		{"GET", "/readyz", noKey, s.readiness, none},
		{"GET", "/openapi.json", noKey, s.openAPI, none},
		{"GET", "/docs", noKey, s.docs, none},
		{"GET", "/docs/*", noKey, s.docs, none},

		{"GET", "/api/me", anyKey, s.me, none},

		{"GET", "/api/products", keys.ProductsRead, s.listProducts, none},
		{"POST", "/api/products", keys.ProductsWrite, s.createProduct, none},
		{"GET", "/api/products/{id}", keys.ProductsRead, s.showProduct, none},
		{"PUT", "/api/products/{id}", keys.ProductsWrite, s.replaceProduct, none},
		{"PATCH", "/api/products/{id}", keys.ProductsWrite, s.patchProduct, none},
		{"DELETE", "/api/products/{id}", keys.ProductsWrite, s.deleteProduct, none},
		{"GET", "/api/products/sku/{sku}", keys.ProductsRead, s.showProductBySKU, none},
		{"POST", "/api/products/bulk", keys.ProductsWrite, s.upsertProducts, bulk},
		{"GET", "/api/products/export", keys.ProductsRead, s.exportProducts, export},
		{"GET", "/api/products/{id}/inventory", keys.ProductsRead, s.showInventory, none},
		{"POST", "/api/products/{id}/inventory/adjust", keys.InventoryWrite, s.adjustInventory, none},
		{"GET", "/api/products/{id}/inventory/adjustments", keys.ProductsRead, s.listAdjustments, none},

		{"GET", "/api/channels", keys.OrdersRead, s.listChannels, none},
		{"POST", "/api/channels", keys.OrdersWrite, s.createChannel, none},
		{"GET", "/api/channels/{identifier}", keys.OrdersRead, s.showChannel, none},
		{"PATCH", "/api/channels/{identifier}", keys.OrdersWrite, s.relabelChannel, none},
		{"DELETE", "/api/channels/{identifier}", keys.OrdersWrite, s.deleteChannel, none},

		{"GET", "/api/orders", keys.OrdersRead, s.listOrders, none},
		{"POST", "/api/orders", keys.OrdersWrite, s.createOrder, none},
		{"POST", "/api/orders/bulk", keys.OrdersWrite, s.createOrders, bulk},
		{"GET", "/api/orders/{number}", keys.OrdersRead, s.showOrder, none},
		{"POST", "/api/orders/{number}/cancel", keys.OrdersWrite, s.cancelOrder, none},
		{"POST", "/api/orders/{number}/refunds", keys.OrdersWrite, s.refundOrder, none},

		{"GET", "/api/reports/sales-summary", keys.ReportsRead, s.salesSummary, report},
		{"GET", "/api/reports/products", keys.ReportsRead, s.productReport, report},
		{"GET", "/api/reports/channels", keys.ReportsRead, s.channelReport, report},
		{"GET", "/api/reports/customers", keys.ReportsRead, s.customerReport, report},
		{"POST", "/api/reports/custom", keys.ReportsRead, s.customReport, report},
		{"GET", "/api/reports/reconcile", keys.ReportsRead, s.reconcile, report},
		{"GET", "/api/reports/export/{type}", keys.ReportsRead, s.exportReport, export},
	}
	for _, kind := range []catalog.Kind{catalog.Categories, catalog.Sellers, catalog.Warehouses} {
		list, one, h := "/api/"+string(kind), "/api/"+string(kind)+"/{id}", references{s, kind}
		all = append(all,
			route{"GET", list, keys.ProductsRead, h.list, none},
			route{"POST", list, keys.ProductsWrite, h.create, none},
			route{"GET", one, keys.ProductsRead, h.show, none},
			route{"PATCH", one, keys.ProductsWrite, h.rename, none},
			route{"DELETE", one, keys.ProductsWrite, h.remove, none})
	}
	return all
}

// serve guards a route by its permission, which is decided before the body is
// read and before anything is looked up. A route under /api that names none, or
// one that would be open, is a mistake that must not get as far as a request.
func (s *Server) routeHandler(r route) http.Handler {
	if r.permission == "" || underAPI(r.pattern) == (r.permission == noKey) {
		panic("api: " + r.method + " " + r.pattern + " asks for " + string(r.permission))
	}
	handle, deadline := r.handle, r.options.deadline
	if r.idempotent() {
		handle = s.once(handle)
	}
	return s.handlerFunc(func(w http.ResponseWriter, req *http.Request) error {
		stateOf(req).route = r
		if r.permission != noKey {
			p := principal(req)
			if p == nil {
				return &apiError{code: MissingAPIKey}
			}
			if r.permission != anyKey && !p.Permissions.Allow(r.permission) {
				return &apiError{code: InsufficientPermissions, message: "The API key does not have the permission " + string(r.permission) + "."}
			}
		}
		if deadline > 0 {
			setWriteDeadline(w, deadline+s.limits.readerTimeout)
		}
		ctx, cancel := context.WithTimeout(req.Context(), cmp.Or(deadline, s.limits.deadline))
		defer cancel()
		return handle(w, req.WithContext(ctx))
	})
}

// finish makes a handler of the standard library: an error becomes the answer.
func (s *Server) handlerFunc(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			s.writeError(w, r, err)
		}
	}
}

// mount serves what is under /settings. The pages route by the whole path: what is in
// the access log is the pattern of theirs, never the token of a link.
func (s *Server) mountSettings(o settings.Options) {
	o.Address = func(r *http.Request) string { return s.clientIP(r).String() }
	o.Network = s.clientNetwork
	o.Failed = func(r *http.Request, err error) (passing bool) {
		stateOf(r).err = err
		return toAPIError(err).code == ServiceUnavailable
	}
	o.Decided = func(r *http.Request, d ratelimit.Decision) { countDecision(r, "settings", "", d) }
	s.pages = settings.New(o)
	s.mux.HandleFunc("/settings", s.serveSettings)
	s.mux.HandleFunc("/settings/*", s.serveSettings)
}

// page routes a request afresh, among the pages.
func (s *Server) serveSettings(w http.ResponseWriter, r *http.Request) {
	route := chi.RouteContext(r.Context())
	method := route.RouteMethod
	route.Reset()
	route.RouteMethod = method
	s.pages.ServeHTTP(w, r)
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// chi would route on a half-decoded path, and `50%` and `a%2Fb` would come
	// out wrong: it gets the path as it was sent, and pathText decodes once.
	whole, path := *r, *r.URL
	path.RawPath = path.EscapedPath()
	whole.URL = &path
	s.mux.ServeHTTP(w, &whole)
}

// underSettings says whether a path, as it was sent, is one of the pages.
func underSettings(path string) bool {
	return path == "/settings" || strings.HasPrefix(path, "/settings/")
}

// underAPI says whether a path, as it was sent, is one that needs a key.
func underAPI(path string) bool { return path == "/api" || strings.HasPrefix(path, "/api/") }

func (s *Server) notFound(http.ResponseWriter, *http.Request) error {
	return &apiError{code: RouteNotFound}
}

// methodNotAllowed names the methods that the path does take.
func (s *Server) methodNotAllowed(w http.ResponseWriter, r *http.Request) error {
	if s.pages != nil && underSettings(r.URL.RawPath) { // a method that chi does not know
		s.serveSettings(w, r)
		return nil
	}
	var allowed []string
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		if s.mux.Match(chi.NewRouteContext(), method, r.URL.RawPath) {
			allowed = append(allowed, method)
			if method == "GET" {
				allowed = append(allowed, "HEAD")
			}
		}
	}
	if len(allowed) == 0 { // chi asks here before it looks at the path when it does not know the method
		return &apiError{code: RouteNotFound}
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	return &apiError{code: MethodNotAllowed}
}
