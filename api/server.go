// Package api implements the HTTP API: it translates requests into calls of the domain packages and
// their results into JSON. It contains no SQL and no business rules.
//
// One table lists every route with the permission that it requires; a route without a permission
// cannot be registered. A request passes these steps in order: request id and access log, panic
// recovery, authentication and rate limit, routing, permission, body, limits, handler. Handlers
// return errors, and errors.go maps them to responses. The pages of package pages pass the same
// steps, but need no key and write their own responses.
package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/api/pages"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/catalog/media"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/keys/usage"
	"github.com/storeroom/storeroom/ratelimit"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/feed"
	"github.com/storeroom/storeroom/tenancy/limits"
	"github.com/storeroom/storeroom/tenancy/webhooks"
)

// Options are the dependencies and settings of a Server. Usage, Settings, WaitsForClient, TrustedProxies, BaseURL
// and Version are optional.
type Options struct {
	DB   *db.DB
	Feed *feed.Store
	// Webhooks has the endpoints that get changes.
	Webhooks *webhooks.Store
	Reports  *reports.Store
	Keys     *keys.Resolver
	Usage    *usage.Recorder
	Plans    *changeplan.Store
	Limiter  *ratelimit.Limiter
	// Media has the pictures of products. A tenant may store MediaQuota bytes. A child process that decodes a picture
	// may use ImageMemory bytes.
	Media       *media.Store
	MediaQuota  int64
	ImageMemory int64
	// Limits divides the connections of DB and the other resources among tenants.
	Limits *limits.Limits

	// Settings has the People, Keys and BaseURL of the pages under /settings; New sets its other fields. nil disables the
	// pages.
	Settings *pages.Options

	// Ready returns an error while this instance should not receive requests.
	Ready func(context.Context) error

	// WaitsForClient is called when the wait for a body begins and ends, and when a response begins,
	// with the context of the request.
	WaitsForClient func(request context.Context, begins bool)

	// TrustedProxies are the peers whose X-Forwarded-For header is used.
	TrustedProxies []netip.Prefix

	BaseURL *url.URL // begins the URLs of pictures, and is the address in the documentation

	Logger  *slog.Logger
	Version string // of the program, for /healthz
}

// Server handles every request of the service. It is safe for concurrent use.
type Server struct {
	Options

	mux   *chi.Mux
	mcp   http.Handler   // see newMCP
	pages *pages.Handler // nil if disabled

	mediaURL string                 // of all pictures
	document func() file            // openapi.yaml as JSON
	docsSite func() map[string]file // by path

	limits bounds
	outage outage
}

// bounds are the largest sizes and times of requests; tests lower them.
type bounds struct {
	body          int64         // bytes of a body
	bulkBody      int64         // bytes of the body of a bulk request
	uploadBody    int64         // bytes of the body of an upload
	bodyTimeout   time.Duration // see the constant
	deadline      time.Duration // of a handler
	readerTimeout time.Duration // see the constant
	refusalDelay  time.Duration // see the constant
	hangUpDelay   time.Duration // see disconnectDelay
}

// New returns a Server with all its routes.
func New(o Options) *Server {
	if o.WaitsForClient == nil {
		o.WaitsForClient = func(context.Context, bool) {}
	}
	s := &Server{
		Options: o,
		mux:     chi.NewMux(),
		limits: bounds{
			body:          1 << 20,
			bulkBody:      32 << 20,
			uploadBody:    media.MaxUpload + 64<<10,
			bodyTimeout:   bodyTimeout,
			deadline:      8 * time.Second,
			readerTimeout: readerTimeout,
			refusalDelay:  refusalDelay,
			hangUpDelay:   disconnectDelay,
		},
	}
	s.document = sync.OnceValue(func() file { return openAPIJSON(o.BaseURL) })
	s.docsSite = sync.OnceValue(func() map[string]file { return newDocsSite(o.BaseURL) })
	s.mediaURL = "/media/"
	if o.BaseURL != nil {
		s.mediaURL = o.BaseURL.JoinPath("media").String() + "/"
	}
	s.mcp = s.newMCP(tools)
	s.mux.Use(s.observe, s.recoverPanic, s.answerPreflights, s.authenticate)
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

// Permissions of routes that do not require one permission of a key.
const (
	anyKey keys.Permission = "any valid key"
	noKey  keys.Permission = "no key" // only outside /api and /mcp
)

// disconnectDelay is how long the handler of a write may continue after its client has disconnected. Many clients do not
// wait for the response.
const disconnectDelay = time.Second

// handler handles a request, or returns an error from which writeError makes the response.
type handler func(http.ResponseWriter, *http.Request) error

// at adapts a handler that gets the object in its path, such as the {id}. The path takes no parameters.
func at[T any](read func(*http.Request) (T, error), h func(http.ResponseWriter, *http.Request, T) error) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		name, err := read(r)
		if err != nil {
			return err
		}
		return h(w, r, name)
	}
}

// route is one row of the table of routes.
type route struct {
	method     string
	pattern    string
	permission keys.Permission
	handle     handler
	options    options
}

// options are the settings of a route that differ from the default.
type options struct {
	class    limits.Class     // the default is Read for GET, and Write
	deadline time.Duration    // of the handler; 0 means the default
	body     int64            // bytes of a body; 0 means the default of the class
	also     keys.Permissions // further permissions that the route requires

	neverRefused bool // a quota does not refuse the stored response
	proposes     bool // with plan=true, the route requires plans:propose instead of its permission
}

func (r route) class() limits.Class {
	switch {
	case r.options.class != "":
		return r.options.class
	case r.method == http.MethodGet:
		return limits.Read
	}
	return limits.Write
}

func (r route) bodyLimit(l bounds) int64 {
	switch {
	case r.options.body > 0:
		return r.options.body
	case r.class() == limits.Bulk:
		return l.bulkBody
	case r.class() == limits.Upload:
		return l.uploadBody
	}
	return l.body
}

// routes returns the table of routes. Every GET route also accepts HEAD.
func (s *Server) routes() []route {
	none, bulk := options{}, options{class: limits.Bulk, deadline: bulkDeadline}
	upload := options{class: limits.Upload, deadline: uploadDeadline}
	picture := options{class: limits.Picture, deadline: pictureDeadline}
	report := options{class: limits.Report, deadline: reportDeadline}
	export := options{class: limits.Export, deadline: exportDeadline}
	reportExport := options{class: limits.ReportExport, deadline: exportDeadline}
	archived := options{
		class: limits.Archive, deadline: pages.ArchiveDeadline,
		also: keys.Permissions{keys.OrdersRead, keys.CustomersRead},
	}
	changes := options{class: limits.Feed, deadline: changesDeadline}
	tested := options{class: limits.Feed, deadline: webhooks.TestTimeout}
	files := options{class: limits.Bulk, deadline: importDeadline, body: maxImport}
	erased := options{deadline: importDeadline} // it reads all plans
	unlimited := options{neverRefused: true}
	plan := options{class: limits.Bulk, deadline: bulkDeadline, body: s.limits.body}
	bulkOrPlan := options{class: limits.Bulk, deadline: bulkDeadline, proposes: true}
	all := []route{
		{"GET", "/", noKey, s.home, none},
		{"GET", "/healthz", noKey, s.health, none},
		{"GET", "/readyz", noKey, s.readiness, none},
		{"GET", documentPath, noKey, s.openAPI, none},
		{"GET", "/docs", noKey, s.docs, none},
		{"GET", "/docs/*", noKey, s.docs, none},
		{"GET", "/docs.md", noKey, s.docs, none},
		{"GET", "/llms.txt", noKey, s.docs, none},
		{"GET", "/media/{name}", noKey, at(pathText("name"), s.showPicture), picture},

		// Each tool requires its permission.
		{"POST", mcpPath, anyKey, s.serveMCP, options{deadline: reportDeadline}},

		{"GET", "/api/me", anyKey, s.me, none},
		{"GET", "/api/usage", keys.UsageRead, s.showUsage, report},

		{"GET", "/api/products", keys.ProductsRead, s.listProducts, none},
		{"POST", "/api/products", keys.ProductsWrite, s.createProduct, none},
		{"GET", "/api/products/{id}", keys.ProductsRead, at(pathID, s.showProduct), none},
		{"PUT", "/api/products/{id}", keys.ProductsWrite, at(pathID, s.replaceProduct), none},
		{"PATCH", "/api/products/{id}", keys.ProductsWrite, at(pathID, s.patchProduct), none},
		{"DELETE", "/api/products/{id}", keys.ProductsWrite, at(pathID, s.deleteProduct), none},
		{"GET", "/api/products/sku/{sku}", keys.ProductsRead, at(pathText("sku"), s.showProductBySKU), none},
		{"POST", "/api/products/bulk", keys.ProductsWrite, s.upsertProducts, bulkOrPlan},
		{"POST", "/api/products/changes", keys.PlansPropose, s.planChange, plan},
		{"GET", "/api/products/export", keys.ProductsRead, s.exportList("products", s.productsList), export},
		{"GET", "/api/stock/export", keys.ProductsRead, s.exportList("stock", s.stockList), export},
		{"POST", "/api/products/{id}/images", keys.ProductsWrite, at(pathID, s.addImage), upload},
		{"POST", "/api/products/{id}/images/file", keys.ProductsWrite, at(pathID, s.addImageFile), upload},
		{"PATCH", "/api/products/{id}/images/{image_id}", keys.ProductsWrite, at(pathImage, s.moveImage), none},
		{"DELETE", "/api/products/{id}/images/{image_id}", keys.ProductsWrite, at(pathImage, s.removeImage), none},
		{"GET", "/api/products/{id}/inventory", keys.ProductsRead, at(pathID, s.showInventory), none},
		{"POST", "/api/products/{id}/inventory/adjust", keys.InventoryWrite, at(pathID, s.adjustInventory), unlimited},
		{"GET", "/api/products/{id}/inventory/adjustments", keys.ProductsRead, s.listAdjustments, none},

		{"GET", "/api/plans", keys.ProductsRead, s.listPlans, none},
		{"GET", "/api/plans/{id}", keys.ProductsRead, s.showPlan, none},
		{"POST", "/api/plans/{id}/apply", keys.ProductsWrite, at(pathID, s.applyPlan), plan},
		{"POST", "/api/plans/{id}/cancel", keys.ProductsWrite, at(pathID, s.cancelPlan), unlimited},
		{"POST", "/api/plans/{id}/undo", keys.ProductsWrite, at(pathID, s.undoPlan), plan},

		{"GET", "/api/channels", keys.OrdersRead, s.listChannels, none},
		{"POST", "/api/channels", keys.OrdersWrite, s.createChannel, none},
		{"GET", "/api/channels/{identifier}", keys.OrdersRead, at(pathChannel, s.showChannel), none},
		{"PATCH", "/api/channels/{identifier}", keys.OrdersWrite, at(pathChannel, s.updateChannel), none},
		{"DELETE", "/api/channels/{identifier}", keys.OrdersWrite, at(pathChannel, s.deleteChannel), none},

		{"GET", "/api/orders", keys.OrdersRead, s.listOrders, none},
		{"POST", "/api/orders", keys.OrdersWrite, s.createOrder, none},
		{"POST", "/api/orders/bulk", keys.OrdersWrite, s.createOrders, bulk},
		{"GET", "/api/orders/export", keys.OrdersRead, s.exportList("orders", s.ordersList), export},
		{"GET", "/api/order-items/export", keys.OrdersRead, s.exportList("order_items", s.orderItemsList), export},
		{"GET", "/api/refunds/export", keys.OrdersRead, s.exportList("refunds", s.refundsList), export},
		{"GET", "/api/orders/{number}", keys.OrdersRead, at(pathText("number"), s.showOrder), none},
		{"POST", "/api/orders/{number}/cancel", keys.OrdersWrite, at(pathText("number"), s.cancelOrder), unlimited},
		{"POST", "/api/orders/{number}/refunds", keys.OrdersWrite, at(pathText("number"), s.refundOrder), unlimited},

		{"GET", "/api/customers", keys.CustomersRead, s.listCustomers, none},
		{"GET", "/api/customers/export", keys.CustomersRead, s.exportList("customers", s.customersList), export},
		{"GET", "/api/customers/{customer_id}", keys.CustomersRead, at(pathText("customer_id"), s.showCustomer), none},
		{"DELETE", "/api/customers/{customer_id}", keys.CustomersWrite, at(pathText("customer_id"), s.eraseCustomer), erased},
		{"GET", "/api/customers/{customer_id}/data", keys.CustomersRead, at(pathText("customer_id"), s.showCustomerData), export},
		{"GET", "/api/changes", anyKey, s.listChanges, changes}, // each type requires its permission
		{"GET", "/api/webhooks", keys.WebhooksRead, s.listWebhooks, none},
		{"POST", "/api/webhooks", keys.WebhooksWrite, s.createWebhook, none},
		{"GET", "/api/webhooks/{id}", keys.WebhooksRead, at(pathID, s.showWebhook), none},
		{"PATCH", "/api/webhooks/{id}", keys.WebhooksWrite, at(pathID, s.changeWebhook), none},
		{"DELETE", "/api/webhooks/{id}", keys.WebhooksWrite, at(pathID, s.deleteWebhook), none},
		{"POST", "/api/webhooks/{id}/rotate", keys.WebhooksWrite, at(pathID, s.rotateWebhook), none},
		{"POST", "/api/webhooks/{id}/replay", keys.WebhooksWrite, at(pathID, s.replayWebhook), none},
		{"POST", "/api/webhooks/{id}/test", keys.WebhooksWrite, at(pathID, s.testWebhook), tested},
		{"GET", "/api/webhooks/{id}/deliveries", keys.WebhooksRead, s.listDeliveries, none},
		{"GET", "/api/archive", keys.ProductsRead, s.exportArchive, archived},
		{"GET", "/api/imports", keys.ImportsRead, s.listImports, none},
		{"POST", "/api/imports", keys.ImportsWrite, s.createImport, files},
		{"GET", "/api/imports/{id}", keys.ImportsRead, at(pathID, s.showImport), none},
		{"PATCH", "/api/imports/{id}", keys.ImportsWrite, at(pathID, s.configureImport), none},
		{"GET", "/api/imports/{id}/rows", keys.ImportsRead, s.listImportRows, none},
		{"GET", "/api/imports/{id}/refused.csv", keys.ImportsRead, at(pathID, s.exportRefused), export},
		{"POST", "/api/imports/{id}/apply", keys.ImportsWrite, at(pathID, s.applyImport), none},
		{"POST", "/api/imports/{id}/cancel", keys.ImportsWrite, at(pathID, s.cancelImport), unlimited},
		{"POST", "/api/imports/{id}/undo", keys.ImportsWrite, at(pathID, s.undoImport), none},

		{"GET", "/api/reports/sales-summary", keys.ReportsRead, s.salesSummary, report},
		{"GET", "/api/reports/products", keys.ReportsRead, s.productReport, report},
		{"GET", "/api/reports/channels", keys.ReportsRead, s.channelReport, report},
		{"GET", "/api/reports/customers", keys.ReportsRead, s.customerReport, report},
		{"POST", "/api/reports/custom", keys.ReportsRead, s.customReport, report},
		{"GET", "/api/reports/reconcile", keys.ReportsRead, s.reconcile, report},
		{"GET", "/api/reports/changes", keys.ReportsRead, s.reportChanges, options{
			class: limits.Feed, deadline: reportDeadline, also: keys.Permissions{keys.OrdersRead},
		}},
		{"GET", "/api/reports/export/{type}", keys.ReportsRead, s.exportReport, reportExport},
	}
	for _, kind := range []catalog.Kind{catalog.Categories, catalog.Sellers, catalog.Warehouses} {
		list, one, h := "/api/"+string(kind), "/api/"+string(kind)+"/{id}", references{s, kind}
		all = append(all,
			route{"GET", list, keys.ProductsRead, h.list, none},
			route{"POST", list, keys.ProductsWrite, h.create, none},
			route{"GET", one, keys.ProductsRead, at(pathID, h.show), none},
			route{"PATCH", one, keys.ProductsWrite, at(pathID, h.rename), none},
			route{"DELETE", one, keys.ProductsWrite, at(pathID, h.remove), none})
	}
	return all
}

// routeHandler checks the permission of a route before it reads the body or looks anything up. It
// panics for a route that requires no key where requests need one, and for a route elsewhere that requires one.
func (s *Server) routeHandler(r route) http.Handler {
	if r.permission == "" || requiresKey(r.pattern) == (r.permission == noKey) {
		panic("api: invalid permission of " + r.method + " " + r.pattern + ": " + string(r.permission))
	}
	handle := r.handle
	// A handler of uploads holds no connection while it decodes.
	if r.idempotent() && r.class() != limits.Upload {
		handle = s.once(handle)
	}
	withDeadline := func(w http.ResponseWriter, req *http.Request) error {
		deadline := cmp.Or(r.options.deadline, s.limits.deadline)
		if r.options.deadline > 0 || stateOf(req).body != nil { // the server's deadline is too early
			setWriteDeadline(w, deadline+s.limits.readerTimeout)
		}
		ctx := limits.NewContext(context.WithoutCancel(req.Context()), stateOf(req).ticket)
		ctx, cancel := context.WithTimeout(ctx, deadline)
		defer cancel()
		delay := s.limits.hangUpDelay
		if r.method == http.MethodGet {
			delay = 0
		}
		defer context.AfterFunc(req.Context(), func() { time.AfterFunc(delay, cancel) })()
		stateOf(req).db = s.database(req, r)
		err := handle(w, req.WithContext(ctx))
		if ctx.Err() != nil && db.SQLState(err) == db.QueryCanceled {
			err = fmt.Errorf("%w: %w", ctx.Err(), err)
		}
		return err
	}
	return s.handlerFunc(func(w http.ResponseWriter, req *http.Request) error {
		stateOf(req).route = r
		required := r.permission
		if r.options.proposes && readQuery(req).values["plan"] == "true" {
			required = keys.PlansPropose
		}
		for _, permission := range append(keys.Permissions{required}, r.options.also...) {
			if err := checkPermission(principal(req), permission); err != nil {
				return err
			}
		}
		if r.permission == noKey {
			return withDeadline(w, req)
		}
		ticket := s.Limits.Enter(tenant(req).User(), r.class())
		defer ticket.Close()
		return s.admit(w, req, ticket, r.bodyLimit(s.limits), withDeadline)
	})
}

// database returns what the handler of a route works on: a reader of replicas if it only reads, otherwise the primary,
// where changes have the key of the request.
func (s *Server) database(r *http.Request, of route) *db.DB {
	switch {
	case of.permission == noKey:
		return s.DB
	case of.class().Reads():
		return s.DB.Reading()
	}
	return s.DB.ByKey(principal(r).KeyID)
}

// These return the stores that work on the database of a request.
func (s *Server) catalog(r *http.Request) *catalog.Store   { return catalog.New(stateOf(r).db) }
func (s *Server) sales(r *http.Request) *sales.Store       { return sales.New(stateOf(r).db) }
func (s *Server) reports(r *http.Request) *reports.Store   { return s.Reports.On(stateOf(r).db) }
func (s *Server) feed(r *http.Request) *feed.Store         { return s.Feed.On(stateOf(r).db) }
func (s *Server) webhooks(r *http.Request) *webhooks.Store { return s.Webhooks.On(stateOf(r).db) }
func (s *Server) imports(r *http.Request) *imports.Jobs {
	return imports.NewJobs(s.Plans.On(stateOf(r).db))
}
func (s *Server) changes(r *http.Request) *imports.Changes {
	return imports.NewChanges(s.Plans.On(stateOf(r).db))
}

func checkPermission(p *keys.Principal, required keys.Permission) error {
	switch {
	case required == noKey:
		return nil
	case p == nil:
		return &apiError{code: MissingAPIKey}
	case required == anyKey || p.Permissions.Allow(required):
		return nil
	}
	return &apiError{
		code:    InsufficientPermissions,
		message: "The API key does not have the permission " + string(required) + ".",
	}
}

// handlerFunc adapts a handler to net/http: it writes the response for a returned error.
func (s *Server) handlerFunc(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			s.writeError(w, r, err)
		}
	}
}

// mountSettings serves the pages under /settings. They route the whole path themselves, so that the access log has
// their patterns and never the token of a link.
func (s *Server) mountSettings(o pages.Options) {
	o.Address = func(r *http.Request) string { return s.clientIP(r).String() }
	o.Network = s.clientNetwork
	o.Failed = func(r *http.Request, err error) (temporary bool) {
		stateOf(r).err = err
		return toAPIError(err).code == ServiceUnavailable
	}
	o.SignedIn = func(r *http.Request, tenant tenancy.ID) { stateOf(r).tenant = tenant }
	o.DB, o.Reports, o.Plans, o.Webhooks, o.Limiter = s.DB, s.Reports, s.Plans, s.Webhooks, s.Limiter
	o.Decided = func(r *http.Request, d ratelimit.Decision) { countDecision(r, "settings", "", d) }
	o.Send, o.SendCustomer, o.SendArchive = s.sendSheet, s.sendCustomer, s.sendArchive
	s.pages = pages.New(o)
	s.mux.HandleFunc("/settings", s.serveSettings)
	s.mux.HandleFunc("/settings/*", s.serveSettings)
}

// serveSettings admits a request and routes it among the pages.
func (s *Server) serveSettings(w http.ResponseWriter, r *http.Request) {
	ticket := s.Limits.Enter(s.addressUser(r), limits.Page)
	defer ticket.Close()
	limit := int64(pages.MaxForm)
	r = r.WithContext(limits.NewContext(r.Context(), ticket))
	switch wanted, allowed := s.pages.Upload(r); {
	case allowed:
		limit = pages.MaxUpload
	case wanted: // the pages answer without the files
		r = r.Clone(r.Context())
		r.Body, r.ContentLength = http.NoBody, 0
	}
	err := s.admit(w, r, ticket, limit, func(w http.ResponseWriter, r *http.Request) error {
		s.routeSettings(w, r)
		return nil
	})
	if errors.Is(err, errIncomplete) {
		err = fmt.Errorf("%w: %w", pages.ErrForm, err)
	}
	if err != nil {
		s.writeError(w, r, err)
	}
}

func (s *Server) routeSettings(w http.ResponseWriter, r *http.Request) {
	route := chi.RouteContext(r.Context())
	method := route.RouteMethod
	route.Reset()
	route.RouteMethod = method
	s.pages.ServeHTTP(w, r)
}

// ServeHTTP handles one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// By default chi routes on a half-decoded path, which decodes `50%` and `a%2Fb` wrongly. It gets
	// the encoded path, and pathText decodes each part once.
	routed := &struct {
		request http.Request
		url     url.URL
	}{*r, *r.URL}
	routed.url.RawPath = r.URL.EscapedPath()
	routed.request.URL = &routed.url
	s.mux.ServeHTTP(w, &routed.request)
}

// underSettings reports whether an encoded path is a page.
func underSettings(path string) bool {
	return path == "/settings" || strings.HasPrefix(path, "/settings/")
}

// requiresKey reports whether an encoded path requires a key.
func requiresKey(path string) bool { return underAPI(path) || path == mcpPath }

// underAPI reports whether an encoded path is one of the REST API.
func underAPI(path string) bool { return path == "/api" || strings.HasPrefix(path, "/api/") }

func (s *Server) notFound(http.ResponseWriter, *http.Request) error {
	return &apiError{code: RouteNotFound}
}

// methodNotAllowed sets Allow to the methods of the path. chi also calls it for methods that it does
// not support, whatever the path.
func (s *Server) methodNotAllowed(w http.ResponseWriter, r *http.Request) error {
	if s.pages != nil && underSettings(r.URL.RawPath) {
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
	if len(allowed) == 0 {
		return &apiError{code: RouteNotFound}
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	return &apiError{code: MethodNotAllowed}
}
