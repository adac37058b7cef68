// Package pages serves the pages under /settings, where users sign in and see and manage what belongs to their
// tenants: sales, products, orders, customers, imports, change plans, webhooks, API keys, members and the audit log.
//
// One table lists every route with the permission that it requires. The URL of a tenant's page contains the tenant's
// slug.
// Users who are not members get the same 404 as for a tenant that does not exist. All pages work without JavaScript:
// the only script copies text, clears secrets when the page is left, shows progress, uploads dropped files and has keys of
// the keyboard. Pages contain no inline scripts or styles, so the Content-Security-Policy allows only files of this
// package.
//
// Texts are English in templates and Go, and package words has them in other languages. What several pages show is a
// component in templates/components, and static/settings.css begins with the tokens of its design.
package pages

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/ratelimit"
	"github.com/storeroom/storeroom/reports"
	"github.com/storeroom/storeroom/reports/export"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/limits"
	"github.com/storeroom/storeroom/tenancy/people"
	"github.com/storeroom/storeroom/tenancy/tenants"
	"github.com/storeroom/storeroom/tenancy/webhooks"
)

//go:embed static
var staticFiles embed.FS

// Options are the dependencies of the pages. All are required.
type Options struct {
	DB      *db.DB
	People  *people.Store
	Keys    *keys.Store
	Reports *reports.Store
	Limiter *ratelimit.Limiter
	Plans   *changeplan.Store
	// Webhooks has the endpoints that get changes.
	Webhooks *webhooks.Store
	// BaseURL is the public URL of the service. Its scheme decides whether the session
	// cookie is secure; see CheckBaseURL.
	BaseURL *url.URL
	// Address returns the client's address for the audit log. Network returns the key
	// of its rate limits.
	Address, Network func(*http.Request) string
	// Failed logs an internal error and reports whether a retry may succeed.
	Failed func(*http.Request, error) (temporary bool)
	// SignedIn is called with the tenant of the page that a member requests.
	SignedIn func(*http.Request, tenancy.ID)
	// Decided counts a decision of the rate limiter.
	Decided func(*http.Request, ratelimit.Decision)
	// Send sends a list as a file: csv or xlsx. It reads the list without holding a connection
	// while the browser reads the file.
	Send func(w http.ResponseWriter, r *http.Request, name, format string, list func(context.Context) export.Sheet) error
	// SendReport is like Send for a report, which is read at once.
	SendReport func(w http.ResponseWriter, r *http.Request, name, format string, sheet func(context.Context) export.Sheet) error
	// SendCustomer sends all data about a customer as a JSON file, and adds the download to the audit log.
	SendCustomer func(
		w http.ResponseWriter, r *http.Request, d *db.DB, tenant tenancy.ID, id string, by tenancy.Actor) error
	// SendArchive sends everything that a tenant owns as a ZIP file, and adds the download to the audit log.
	SendArchive func(w http.ResponseWriter, r *http.Request, d *db.DB, tenant tenants.Tenant, by tenancy.Actor) error
	// AddPicture stores the picture in a file for a product, and calls add with it and the storage that the tenant may use
	// for pictures. It refuses a picture with an InvalidError.
	AddPicture func(r *http.Request, d *db.DB, tenant tenancy.ID, product int64, file io.Reader,
		add func(image catalog.Image, quota int64) error) error
}

// Handler handles all requests under /settings. It is safe for concurrent use.
type Handler struct {
	Options
	mux       *chi.Mux
	templates map[string]func() *template.Template
	cookie    string // name of the session cookie
	secure    bool
}

// New returns the pages. It panics if an embedded template does not parse.
func New(o Options) *Handler {
	p := &Handler{
		Options: o, mux: chi.NewMux(), templates: parseTemplates(),
		secure: o.BaseURL.Scheme == "https", cookie: "storeroom-insecure",
	}
	if p.secure {
		p.cookie = "__Host-storeroom"
	}
	sameOrigin := http.NewCrossOriginProtection()
	sameOrigin.SetDenyHandler(p.withErrorPage(func(http.ResponseWriter, *http.Request, user) error {
		return errCrossOrigin
	}))
	p.mux.Use(p.setSecurityHeaders, sameOrigin.Handler)
	for _, r := range p.routes() {
		p.mux.Method(r.method, r.pattern, p.serve(r))
	}
	p.mux.NotFound(p.withErrorPage(p.notFound))
	p.mux.MethodNotAllowed(p.withErrorPage(p.notFound))
	return p
}

// ServeHTTP handles one request.
func (p *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.mux.ServeHTTP(w, r) }

// Fail shows an error page for a request that did not reach the pages, for example
// because the server is overloaded.
func (p *Handler) Fail(w http.ResponseWriter, r *http.Request, err error) {
	p.setSecurityHeaders(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.fail(w, r, user{Format: visitorFormat(r)}, err)
	})).ServeHTTP(w, r)
}

// CheckBaseURL returns an error unless u is an https URL without a path. It accepts
// http only for this machine: elsewhere the cookie would be sent unencrypted.
func CheckBaseURL(u *url.URL) error {
	onlyHost := u.Hostname() != "" && u.User == nil && (u.Path == "" || u.Path == "/")
	switch {
	case !onlyHost || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("must be a URL without a path, such as https://shop.example.com")
	case u.Scheme == "https":
		return nil
	case u.Scheme != "http":
		return errors.New("must begin with https://")
	case !loopback(u.Hostname()):
		return errors.New("must begin with https://; http is allowed only for 127.0.0.1, ::1 and localhost")
	}
	return nil
}

// The requirement of a route is public, signedIn, or a permission of a member of the tenant in the URL.
const (
	public   people.Permission = "public"
	signedIn people.Permission = "signed-in"
)

type handler func(w http.ResponseWriter, r *http.Request, u user) error

type route struct {
	method  string
	pattern string
	need    people.Permission
	class   limits.Class // of the work for the tenant; Page without a tenant
	handle  handler
}

func (p *Handler) routes() []route {
	const t = "/settings/t/{slug}"
	var ofReports []route
	for _, kind := range reportKinds() {
		ofReports = append(ofReports,
			route{"GET", t + "/reports/" + kind.Name, people.ReadReports, limits.Report, p.showReport(kind)},
			route{"GET", t + "/reports/" + kind.Name + ".csv", people.ReadReports, limits.ReportExport, p.downloadReport(kind, "csv")},
			route{"GET", t + "/reports/" + kind.Name + ".xlsx", people.ReadReports, limits.ReportExport, p.downloadReport(kind, "xlsx")})
	}
	return append(ofReports, []route{
		{"GET", "/settings/static/*", public, limits.Page, p.static},
		{"GET", "/settings", signedIn, limits.Page, p.home},
		{"GET", "/settings/", signedIn, limits.Page, p.home},
		{"GET", "/settings/sign-in", public, limits.Page, p.showSignIn},
		{"POST", "/settings/sign-in", public, limits.Page, p.signIn},
		{"GET", "/settings/sign-out", signedIn, limits.Page, p.showSignOut},
		{"POST", "/settings/sign-out", public, limits.Page, p.signOut},
		{"GET", "/settings/link/{token}", public, limits.Page, p.showLink},
		{"POST", "/settings/link/{token}", public, limits.Page, p.useLink},
		{"GET", "/settings/password", signedIn, limits.Page, p.showPassword},
		{"POST", "/settings/password", signedIn, limits.Page, p.changePassword},

		{"GET", t, people.Enter, limits.Read, p.showTenant},
		{"GET", t + "/confirm", people.Enter, limits.Page, p.showConfirm},
		{"POST", t + "/confirm", people.Enter, limits.Page, p.confirm},
		{"GET", t + "/overview", people.ReadReports, limits.Report, p.showOverview},
		{"GET", t + "/overview.xlsx", people.ReadReports, limits.ReportExport, p.downloadOverview},
		{"GET", t + "/reports", people.ReadReports, limits.Page, p.showReportsHome},
		{"GET", t + "/reports/check", people.ReadReports, limits.Report, p.showCheck},
		{"GET", t + "/products", people.ReadProducts, limits.Read, p.showProducts},
		{"GET", t + "/products/new", people.WriteProducts, limits.Write, p.showNewProduct},
		{"POST", t + "/products/new", people.WriteProducts, limits.Write, p.createProduct},
		{"GET", t + "/products/labels", people.ReadProducts, limits.Read, p.showLabels},
		{"GET", t + "/products/change", people.Manage, limits.Read, p.showChange},
		{"POST", t + "/products/change", people.Manage, limits.Bulk, p.planChange},
		{"GET", t + "/products/{id}", people.ReadProducts, limits.Read, p.showProduct},
		{"POST", t + "/products/{id}/stock", people.ChangeStock, limits.Write, p.adjustStock},
		{"GET", t + "/products/{id}/edit", people.WriteProducts, limits.Write, p.showEdit},
		{"POST", t + "/products/{id}/edit", people.WriteProducts, limits.Write, p.editProduct},
		{"POST", t + "/products/{id}/pictures", people.WriteProducts, limits.Bulk, p.addPicture},
		{"POST", t + "/products/{id}/pictures/{picture}/remove", people.WriteProducts, limits.Write, p.removePicture},
		{"GET", t + "/products.csv", people.Download, limits.Export, p.exportProducts("csv")},
		{"GET", t + "/products.xlsx", people.Download, limits.Export, p.exportProducts("xlsx")},
		{"GET", t + "/products/{id}/move", people.ChangeStock, limits.Read, p.showMove},
		{"POST", t + "/products/{id}/move", people.ChangeStock, limits.Write, p.moveStock},
		{"GET", t + "/count", people.ChangeStock, limits.Read, p.showCount},
		{"POST", t + "/count", people.ChangeStock, limits.Bulk, p.count},
		{"GET", t + "/orders", people.ReadOrders, limits.Read, p.showOrders},
		{"GET", t + "/orders.csv", people.Download, limits.Export, p.exportOrders("csv")},
		{"GET", t + "/orders.xlsx", people.Download, limits.Export, p.exportOrders("xlsx")},
		{"GET", t + "/order_items.csv", people.Download, limits.Export, p.exportOrderItems},
		{"GET", t + "/refunds.csv", people.Download, limits.Export, p.exportRefunds},
		{"GET", t + "/orders/{number}", people.ReadOrders, limits.Read, p.showOrder},
		{"GET", t + "/customers", people.Manage, limits.Read, p.showCustomers},
		{"GET", t + "/customers.csv", people.Manage, limits.Export, p.exportCustomers("csv")},
		{"GET", t + "/customers.xlsx", people.Manage, limits.Export, p.exportCustomers("xlsx")},
		{"GET", t + "/customers/{id}", people.Manage, limits.Read, p.withCustomer(p.showCustomer)},
		{"GET", t + "/customers/{id}/data", people.Manage, limits.Export, p.withRecentPassword(people.Manage, p.sendCustomer)},
		{"GET", t + "/customers/{id}/erase", people.Manage, limits.Read, p.withCustomer(p.showErase)},
		{"POST", t + "/customers/{id}/erase", people.Manage, limits.Bulk, p.withCustomer(p.eraseCustomer)},
		{"GET", t + "/archive.zip", people.Manage, limits.Archive, p.withRecentPassword(people.Manage, p.sendArchive)},
		{"GET", t + "/imports", people.Manage, limits.Read, p.showImports},
		{"POST", t + "/imports", people.Manage, limits.Bulk, p.upload},
		{"GET", t + "/imports/{id}", people.Manage, limits.Read, p.showImport},
		{"GET", t + "/imports/{id}/progress", people.Manage, limits.Read, p.imports().showProgress},
		{"GET", t + "/imports/{id}/refused", people.Manage, limits.Export, p.downloadRefused},
		{"POST", t + "/imports/{id}/settings", people.Manage, limits.Write, p.configureImport},
		{"POST", t + "/imports/{id}/apply", people.Manage, limits.Write, p.imports().apply},
		{"POST", t + "/imports/{id}/cancel", people.Manage, limits.Write, p.imports().cancel},
		{"GET", t + "/imports/{id}/undo", people.Manage, limits.Read, p.imports().showUndo},
		{"POST", t + "/imports/{id}/undo", people.Manage, limits.Write, p.imports().undo},
		{"GET", t + "/plans", people.ReadPlans, limits.Read, p.showPlans},
		{"GET", t + "/plans/{id}", people.ReadPlans, limits.Read, p.showPlan},
		{"GET", t + "/plans/{id}/progress", people.ReadPlans, limits.Read, p.plans().showProgress},
		{"POST", t + "/plans/{id}/apply", people.Manage, limits.Write, p.plans().apply},
		{"POST", t + "/plans/{id}/cancel", people.Manage, limits.Write, p.plans().cancel},
		{"GET", t + "/plans/{id}/undo", people.Manage, limits.Read, p.plans().showUndo},
		{"POST", t + "/plans/{id}/undo", people.Manage, limits.Write, p.plans().undo},
		{"GET", t + "/keys", people.ReadSettings, limits.Settings, p.listKeys},
		{"GET", t + "/keys/new", people.Manage, limits.Settings, p.showNewKey},
		{"POST", t + "/keys", people.Manage, limits.Settings, p.createKey},
		{"GET", t + "/keys/{id}/roll", people.Manage, limits.Settings, p.withKey(p.showRoll)},
		{"POST", t + "/keys/{id}/roll", people.Manage, limits.Settings, p.withKey(p.rollKey)},
		{"GET", t + "/keys/{id}/revoke", people.Manage, limits.Settings, p.withKey(p.showRevoke)},
		{"POST", t + "/keys/{id}/revoke", people.Manage, limits.Settings, p.revokeKey},
		{"GET", t + "/webhooks", people.Manage, limits.Read, p.listWebhooks},
		{"GET", t + "/webhooks/new", people.Manage, limits.Read, p.showNewWebhook},
		{"POST", t + "/webhooks", people.Manage, limits.Write, p.createWebhook},
		{"GET", t + "/webhooks/{id}", people.Manage, limits.Read, p.showWebhook},
		{"POST", t + "/webhooks/{id}", people.Manage, limits.Write, p.changeWebhook},
		{"POST", t + "/webhooks/{id}/state", people.Manage, limits.Write, p.switchWebhook},
		{"POST", t + "/webhooks/{id}/test", people.Manage, limits.Feed, p.testWebhook},
		{"POST", t + "/webhooks/{id}/rotate", people.Manage, limits.Write, p.rotateWebhook},
		{"POST", t + "/webhooks/{id}/replay", people.Manage, limits.Write, p.replayWebhook},
		{"GET", t + "/webhooks/{id}/delete", people.Manage, limits.Read, p.showDeleteWebhook},
		{"POST", t + "/webhooks/{id}/delete", people.Manage, limits.Write, p.deleteWebhook},
		{"GET", t + "/usage", people.ReadSettings, limits.Report, p.showUsage},
		{"GET", t + "/members", people.ReadSettings, limits.Settings, p.listMembers},
		{"POST", t + "/members", people.Invite, limits.Settings, p.inviteMember},
		{"GET", t + "/members/{id}", people.Own, limits.Settings, p.withMember(p.showMember)},
		{"POST", t + "/members/{id}/role", people.Own, limits.Settings, p.withMember(p.changeRole)},
		{"GET", t + "/members/{id}/remove", people.Own, limits.Settings, p.withMember(p.showRemove)},
		{"POST", t + "/members/{id}/remove", people.Own, limits.Settings, p.withMember(p.removeMember)},
		{"POST", t + "/members/{id}/reset", people.Own, limits.Settings, p.withMember(p.resetMember)},
		{"GET", t + "/links/{id}/revoke", people.Invite, limits.Settings, p.showRevokeLink},
		{"POST", t + "/links/{id}/revoke", people.Invite, limits.Settings, p.revokeLink},
		{"GET", t + "/settings", people.Manage, limits.Read, p.showSettings},
		{"POST", t + "/settings", people.Manage, limits.Write, p.changeSettings},
		{"POST", t + "/settings/channels", people.Manage, limits.Write, p.changeLabels},
		{"POST", t + "/settings/warehouses", people.Manage, limits.Write, p.renameWarehouses},
		{"POST", t + "/settings/warehouses/new", people.Manage, limits.Write, p.createWarehouse},
		{"GET", t + "/audit", people.Manage, limits.Read, p.showAudit},
		{"GET", t + "/account", people.Enter, limits.Read, p.showAccount},
		{"POST", t + "/language", people.Enter, limits.Page, p.setLanguage},
		{"GET", t + "/help", people.Enter, limits.Page, p.showHelp},
		{"GET", t + "/start", people.ReadSettings, limits.Read, p.showStart},
	}...)
}

// user is the signed-in user who sent a request, as a member of the tenant in the URL.
type user struct {
	people.Session
	token  people.Token
	Format formatter
	db     *db.DB // what the handler works on
}

// T translates a text: see formatter.T.
func (u user) T(text string, values ...any) string { return u.Format.T(text, values...) }

// path returns the path of a page of the tenant.
func (u user) path(page string) string { return "/settings/t/" + u.Tenant.Slug + page }

// Can reports whether the user has a permission in the tenant.
func (u user) Can(need people.Permission) bool { return u.Role.Allows(need) }

// catalog returns the products as the user may see them.
func (u user) catalog() *catalog.Store {
	if u.Can(people.ReadCosts) {
		return catalog.New(u.db)
	}
	return catalog.New(u.db).WithoutCosts()
}

// sales returns the orders as the user may see them.
func (u user) sales() *sales.Store {
	return sales.New(u.db).Hiding(sales.Hidden{Costs: !u.Can(people.ReadCosts), Emails: !u.Can(people.ReadEmails)})
}

const (
	deadline       = 8 * time.Second // of a handler
	bulkDeadline   = time.Minute
	reportDeadline = 25 * time.Second // as that of the API
	exportDeadline = 120 * time.Second
	// ArchiveDeadline is the time for an archive, in which a browser may have to receive gigabytes of pictures.
	ArchiveDeadline = time.Hour
	// MaxForm is the maximum size of a form in bytes.
	MaxForm = 64 << 10
)

// serve checks the origin, the session and the permission before it calls the handler. It redirects
// to the sign-in page if there is no session.
func (p *Handler) serve(route route) http.HandlerFunc {
	limit := deadline
	switch route.class {
	case limits.Bulk:
		limit = bulkDeadline
	case limits.Report:
		limit = reportDeadline
	case limits.Export, limits.ReportExport:
		limit = exportDeadline
	case limits.Archive:
		limit = ArchiveDeadline
	case limits.Feed:
		limit = webhooks.TestTimeout
	}
	return p.withDeadline(limit, func(w http.ResponseWriter, r *http.Request, u user) error {
		if !p.hasOrigin(r) {
			return errCrossOrigin
		}
		if route.need == public {
			return route.handle(w, r, u)
		}
		visitor := u
		u, err := p.signedInUser(r, chi.URLParam(r, "slug"))
		if err != nil {
			u = visitor // who reads the error
		}
		switch {
		case err != nil:
		case route.need == signedIn:
			err = p.run(w, r, u, route)
		case u.Tenant == nil:
			err = tenancy.ErrNotFound
		case !u.Can(route.need):
			err = errForbidden
		default:
			err = p.run(w, r, u, route)
		}
		switch {
		case errors.Is(err, tenancy.ErrEnded):
			// The cookie stays: another tab may have replaced the session.
			p.redirectToSignIn(w, r)
		case err != nil:
			p.fail(w, r, u, err)
		}
		return nil
	})
}

// run calls the handler of a signed-in user. Its work counts as that of the tenant, if any, because one tenant
// can have many users at many addresses.
func (p *Handler) run(w http.ResponseWriter, r *http.Request, u user, route route) error {
	if u.Tenant != nil {
		ticket := limits.FromContext(r.Context())
		if err := ticket.Exchange(r.Context(), u.Tenant.ID.User(), route.class); err != nil {
			return err
		}
		if route.class.Reads() {
			u.db = p.DB.Reading()
		}
	}
	return route.handle(w, r, u)
}

// signedInUser returns the user of a request, with the tenant of that slug if the user
// is a member. It returns tenancy.ErrEnded if there is no session.
func (p *Handler) signedInUser(r *http.Request, slug string) (user, error) {
	token, found := p.token(r)
	if !found {
		return user{}, tenancy.ErrEnded
	}
	if !utf8.ValidString(slug) || strings.ContainsRune(slug, 0) {
		return user{}, tenancy.ErrNotFound // PostgreSQL cannot store such text
	}
	session, err := p.People.Session(r.Context(), token, slug)
	if err != nil {
		return user{}, err
	}
	if session.Tenant != nil {
		p.SignedIn(r, session.Tenant.ID)
	}
	format, err := newFormatter(r, session.Language, session.Tenant)
	return user{session, token, format, p.DB}, err
}

// notFound handles an unknown path, or an unsupported method. Members of the tenant in
// the URL see its navigation.
func (p *Handler) notFound(w http.ResponseWriter, r *http.Request, visitor user) error {
	cause := tenancy.ErrNotFound
	if methods := p.methods(r); len(methods) > 0 {
		w.Header().Set("Allow", strings.Join(methods, ", "))
		cause = errMethod
	}
	rest, _ := strings.CutPrefix(r.URL.Path, "/settings/t/")
	slug, _, _ := strings.Cut(rest, "/")
	u, err := p.signedInUser(r, slug)
	switch {
	case errors.Is(err, tenancy.ErrEnded):
		u = visitor
	case err != nil:
		return err
	}
	p.fail(w, r, u, cause)
	return nil
}

// methods returns the methods that the path supports.
func (p *Handler) methods(r *http.Request) []string {
	var methods []string
	path := cmp.Or(r.URL.RawPath, r.URL.Path) // the path that chi uses
	if p.mux.Match(chi.NewRouteContext(), http.MethodGet, path) {
		methods = append(methods, http.MethodGet, http.MethodHead)
	}
	if p.mux.Match(chi.NewRouteContext(), http.MethodPost, path) {
		methods = append(methods, http.MethodPost)
	}
	return methods
}

// withErrorPage reads the form and shows errors as a page.
func (p *Handler) withErrorPage(h handler) http.HandlerFunc { return p.withDeadline(deadline, h) }

func (p *Handler) withDeadline(limit time.Duration, h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		r = r.WithContext(ctx)
		err := readForm(w, r)
		if err == nil {
			err = h(w, r, user{Format: visitorFormat(r)})
		}
		if err != nil {
			p.fail(w, r, user{Format: visitorFormat(r)}, err)
		}
	}
}

// readForm parses the query and a form of at most MaxForm bytes. It leaves a form with files to its handler.
func readForm(w http.ResponseWriter, r *http.Request) error {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		r.Body = http.MaxBytesReader(w, r.Body, MaxForm)
	}
	if err := r.ParseForm(); err != nil {
		return fmt.Errorf("%w: %w", ErrForm, err)
	}
	return nil
}

const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// setSecurityHeaders sets the headers of every response that restrict scripts, frames,
// caches and other sites.
func (p *Handler) setSecurityHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentSecurityPolicy)
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "same-origin") // no-referrer would send forms with the origin "null"
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
		if p.secure {
			h.Set("Strict-Transport-Security", "max-age=63072000")
		}
		next.ServeHTTP(w, r)
	})
}

// static serves an embedded file. Browsers revalidate it by its ETag on each use, so
// that a new version takes effect immediately.
func (p *Handler) static(w http.ResponseWriter, r *http.Request, _ user) error {
	content, err := staticFiles.ReadFile("static/" + chi.URLParam(r, "*"))
	if err != nil {
		return tenancy.ErrNotFound // also for a directory
	}
	sum := sha256.Sum256(content)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
	http.ServeContent(w, r, r.URL.Path, time.Time{}, bytes.NewReader(content))
	return nil
}
