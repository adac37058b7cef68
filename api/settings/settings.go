// Package settings serves the pages under /settings, where people sign in, make
// keys and manage who else may.
//
// Every route stands in one table with the role that it needs. A page of a tenant
// has the tenant's slug in its address; who is no member gets the 404 of a tenant
// that does not exist. Pages work without JavaScript; what script there is copies
// text and clears a key that was shown. Nothing is inline, so that the policy sent
// with every page forbids whatever is not a file of ours.
package settings

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
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/ratelimit"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/people"
)

//go:embed static
var staticFiles embed.FS

// Options are what the pages stand on. All are required.
type Options struct {
	DB      *tenancy.DB
	People  *people.Store
	Keys    *keys.Store
	Limiter *ratelimit.Limiter
	// BaseURL is where browsers find the service. It decides the cookie; see
	// CheckBaseURL.
	BaseURL *url.URL
	// Address is that of the client, behind whatever proxies are trusted, for the
	// audit log; Network names what tries of passwords are counted by, nil for Address.
	Address, Network func(*http.Request) string
	// Failed notes for the log what is no doing of the person's, and says whether
	// trying again may help.
	Failed func(*http.Request, error) (passing bool)
	// Decided counts whether somebody was slowed down; nil for nobody who counts.
	Decided func(*http.Request, ratelimit.Decision)
}

// Pages answers every request under /settings. It is safe for concurrent use.
type Pages struct {
	Options
	mux       *chi.Mux
	templates map[string]*template.Template
	cookie    string // its name
	secure    bool
}

// New returns the pages. It panics on a template that does not parse: they are part
// of the program.
func New(o Options) *Pages {
	if o.Network == nil {
		o.Network = o.Address
	}
	p := &Pages{Options: o, mux: chi.NewMux(), templates: parseTemplates(), secure: o.BaseURL.Scheme == "https", cookie: "storeroom-insecure"}
	if p.secure {
		p.cookie = "__Host-storeroom"
	}
	sameOrigin := http.NewCrossOriginProtection()
	sameOrigin.SetDenyHandler(p.finish(func(http.ResponseWriter, *http.Request, visit) error { return errCrossOrigin }))
	p.mux.Use(p.protect, sameOrigin.Handler)
	for _, r := range p.routes() {
		p.mux.Method(r.method, r.pattern, p.serve(r))
	}
	p.mux.NotFound(p.finish(p.findNothing))
	p.mux.MethodNotAllowed(p.finish(p.findNothing))
	return p
}

// ServeHTTP answers one request.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.mux.ServeHTTP(w, r) }

// Fail answers with a page for an error that was met on the way to the pages, such as
// that too many are being answered.
func (p *Pages) Fail(w http.ResponseWriter, r *http.Request, err error) {
	p.protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.fail(w, r, visit{}, err) })).ServeHTTP(w, r)
}

// CheckBaseURL refuses an address over which a cookie would travel in the clear:
// http beyond the machine itself.
func CheckBaseURL(u *url.URL) error {
	switch {
	case u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.Path != "" && u.Path != "/":
		return errors.New("must be an address without path, such as https://shop.example.com")
	case u.Scheme == "https":
		return nil
	case u.Scheme != "http":
		return errors.New("must begin with https://")
	case !loopback(u.Hostname()):
		return errors.New("must begin with https://; http is for this machine alone (127.0.0.1, ::1 or localhost)")
	}
	return nil
}

// access is who may open a page.
type access int

const (
	anybody access = iota
	person         // who is signed in
	viewer         // a member of the tenant in the address
	admin          // an owner or admin of it
	owner
)

type handler func(w http.ResponseWriter, r *http.Request, v visit) error

// route is one line of the table.
type route struct {
	method  string
	pattern string
	access  access
	handle  handler
}

func (p *Pages) routes() []route {
	const t = "/settings/t/{slug}"
	return []route{
		{"GET", "/settings/static/*", anybody, p.static},
		{"GET", "/settings", person, p.home},
		{"GET", "/settings/", person, p.home},
		{"GET", "/settings/sign-in", anybody, p.showSignIn},
		{"POST", "/settings/sign-in", anybody, p.signIn},
		{"POST", "/settings/sign-out", anybody, p.signOut},
		{"GET", "/settings/link/{token}", anybody, p.showLink},
		{"POST", "/settings/link/{token}", anybody, p.useLink},
		{"GET", "/settings/password", person, p.showPassword},
		{"POST", "/settings/password", person, p.changePassword},

		{"GET", t, viewer, p.showTenant},
		{"GET", t + "/keys", viewer, p.listKeys},
		{"GET", t + "/keys/new", admin, p.showNewKey},
		{"POST", t + "/keys", admin, p.createKey},
		{"GET", t + "/keys/{id}/roll", admin, p.showRoll},
		{"POST", t + "/keys/{id}/roll", admin, p.rollKey},
		{"GET", t + "/keys/{id}/revoke", admin, p.showRevoke},
		{"POST", t + "/keys/{id}/revoke", admin, p.revokeKey},
		{"GET", t + "/members", viewer, p.listMembers},
		{"POST", t + "/members", owner, p.inviteMember},
		{"GET", t + "/members/{id}", owner, p.showMember},
		{"POST", t + "/members/{id}/role", owner, p.changeRole},
		{"POST", t + "/members/{id}/remove", owner, p.removeMember},
		{"POST", t + "/members/{id}/reset", owner, p.resetMember},
		{"POST", t + "/links/{id}/revoke", owner, p.revokeLink},
		{"GET", t + "/audit", admin, p.showAudit},
		{"GET", t + "/account", viewer, p.showAccount},
		{"GET", t + "/start", viewer, p.showStart},
	}
}

// visit is one request of a person.
type visit struct {
	people.Session
	token people.Token
}

// may says whether the visit's role has at least that access.
func (v visit) may(a access) bool {
	rank := map[people.Role]access{people.Viewer: viewer, people.Admin: admin, people.Owner: owner}[v.Role]
	return a <= person || v.Tenant != nil && rank >= a
}

const (
	deadline = 8 * time.Second // what a page may take
	maxForm  = 64 << 10        // bytes of a form
)

// serve finds out who asks and whether they may. Who is not signed in comes back
// after signing in.
func (p *Pages) serve(route route) http.HandlerFunc {
	return p.finish(func(w http.ResponseWriter, r *http.Request, v visit) error {
		if route.access == anybody {
			return route.handle(w, r, v)
		}
		v, err := p.visitor(r, chi.URLParam(r, "slug"))
		switch {
		case errors.Is(err, tenancy.ErrEnded):
			// The cookie stays: another tab may have renewed the session meanwhile.
			return p.askToSignIn(w, r)
		case err != nil:
			return err
		case route.access > person && v.Tenant == nil:
			err = tenancy.ErrNotFound
		case !v.may(route.access):
			err = errForbidden
		default:
			err = route.handle(w, r, v)
		}
		if errors.Is(err, tenancy.ErrEnded) {
			return p.askToSignIn(w, r) // meanwhile
		}
		if err != nil {
			p.fail(w, r, v, err)
		}
		return nil
	})
}

// visitor is who asks, as a member of the tenant with that slug if they are one. It
// returns tenancy.ErrEnded for who is not signed in.
func (p *Pages) visitor(r *http.Request, slug string) (visit, error) {
	token, held := p.token(r)
	if !held {
		return visit{}, tenancy.ErrEnded
	}
	if !utf8.ValidString(slug) || strings.ContainsRune(slug, 0) {
		return visit{}, tenancy.ErrNotFound // PostgreSQL takes no such text
	}
	session, err := p.People.Session(r.Context(), token, slug)
	if err != nil {
		return visit{}, err
	}
	return visit{session, token}, nil
}

// findNothing answers where there is no page, or none for that method. A member of
// the tenant in the address keeps its navigation.
func (p *Pages) findNothing(w http.ResponseWriter, r *http.Request, _ visit) error {
	none := tenancy.ErrNotFound
	if methods := p.methods(r); len(methods) > 0 {
		w.Header().Set("Allow", strings.Join(methods, ", "))
		none = errMethod
	}
	rest, _ := strings.CutPrefix(r.URL.Path, "/settings/t/")
	slug, _, _ := strings.Cut(rest, "/")
	v, err := p.visitor(r, slug)
	if err != nil && !errors.Is(err, tenancy.ErrEnded) {
		return err
	}
	p.fail(w, r, v, none)
	return nil
}

// methods are those that the address takes.
func (p *Pages) methods(r *http.Request) []string {
	var methods []string
	path := cmp.Or(r.URL.RawPath, r.URL.Path) // what chi routes on
	if p.mux.Match(chi.NewRouteContext(), http.MethodGet, path) {
		methods = append(methods, http.MethodGet, http.MethodHead)
	}
	if p.mux.Match(chi.NewRouteContext(), http.MethodPost, path) {
		methods = append(methods, http.MethodPost)
	}
	return methods
}

var (
	errForbidden   = errors.New("the role does not allow this")
	errCrossOrigin = errors.New("the form was sent by another site")
	errForm        = errors.New("the form cannot be read")
	errMethod      = errors.New("the address does not take that method")
)

// finish turns an error into a page.
func (p *Pages) finish(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), deadline)
		defer cancel()
		r = r.WithContext(ctx)
		err := readForm(w, r)
		if err == nil {
			err = h(w, r, visit{})
		}
		if err != nil {
			p.fail(w, r, visit{}, err)
		}
	}
}

// readForm reads what a page of ours may send, which is no file and is short.
func readForm(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	err := r.ParseForm()
	if _, large := errors.AsType[*http.MaxBytesError](err); err != nil && !large {
		return fmt.Errorf("%w: %w", errForm, err)
	}
	return err
}

// fail shows what went wrong, within the navigation where it is known who asks; what
// is our fault is in the log only.
func (p *Pages) fail(w http.ResponseWriter, r *http.Request, v visit, err error) {
	page := errorPage{http.StatusInternalServerError, "Something went wrong on our side", "It has been noted. Please try again."}
	var wait *waitError
	var large *http.MaxBytesError
	switch {
	case errors.Is(err, tenancy.ErrNotFound):
		page = errorPage{http.StatusNotFound, "There is nothing here", "The page does not exist, or you have no part in it."}
	case errors.Is(err, errForbidden):
		page = errorPage{http.StatusForbidden, "Your role does not allow this", "Ask an owner of this account."}
	case errors.Is(err, keys.ErrSuspended):
		page = errorPage{http.StatusForbidden, "This account is suspended", "It gets no new key until the operator of this service resumes it. Keys can be revoked all the same."}
	case errors.Is(err, errMethod):
		page = errorPage{http.StatusMethodNotAllowed, "This is not done that way", "Nothing was done. The page does not take what your browser sent."}
	case errors.Is(err, errCrossOrigin):
		page = errorPage{http.StatusForbidden, "This form came from another site", "Nothing was done. Open the settings yourself and try there."}
	case errors.Is(err, errForm):
		page = errorPage{http.StatusBadRequest, "The form cannot be read", "Nothing was done. Go back and try again."}
	case errors.As(err, &large):
		page = errorPage{http.StatusRequestEntityTooLarge, "The form is too long", "Nothing was done. Go back and shorten it."}
	case errors.As(err, &wait):
		w.Header().Set("Retry-After", fmt.Sprint(wait.seconds()))
		page = errorPage{http.StatusTooManyRequests, "Too many tries", "Please wait " + wait.words() + " and try again."}
	case p.Failed(r, err):
		w.Header().Set("Retry-After", "1")
		page = errorPage{http.StatusServiceUnavailable, "We are busy", "Please try again in a moment."}
	}
	if err := p.show(w, page.Status, "error", v, page); err != nil {
		http.Error(w, page.Title, page.Status)
	}
}

type errorPage struct {
	Status        int
	Title, Advice string
}

// protect sends what keeps other sites, caches and scripts out, with every answer.
func (p *Pages) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'none'; "+
			"form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'")
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "same-origin") // with none, forms would come from the origin "null"
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

// static answers with a file. Browsers ask each time whether it is still the same, so
// that a new version shows at once.
func (p *Pages) static(w http.ResponseWriter, r *http.Request, _ visit) error {
	content, err := staticFiles.ReadFile("static/" + chi.URLParam(r, "*"))
	if err != nil {
		return tenancy.ErrNotFound // or a folder, which is not to be listed
	}
	sum := sha256.Sum256(content)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
	http.ServeContent(w, r, r.URL.Path, time.Time{}, bytes.NewReader(content))
	return nil
}

// waitError says how long somebody must wait.
type waitError struct{ time.Duration }

func (e *waitError) Error() string { return "too many tries" }

func (e *waitError) seconds() int { return max(1, int(math.Ceil(e.Seconds()))) }

// words is the wait for people, who do not count hundreds of seconds.
func (e *waitError) words() string {
	switch n := e.seconds(); {
	case n == 1:
		return "1 second"
	case n <= 120:
		return fmt.Sprint(n, " seconds")
	default:
		return fmt.Sprint((n+59)/60, " minutes")
	}
}

// bucket is something guarded, by name, and how fast it may be tried.
type bucket struct {
	name   string
	refill ratelimit.Refill
}

// throttle takes a token from each bucket. If one is empty, throttle returns the
// tokens that it took before, and a waitError.
func (p *Pages) throttle(r *http.Request, buckets ...bucket) error {
	for i, b := range buckets {
		d := p.Limiter.TakeToken(r.Context(), b.name, b.refill)
		if !d.Allowed {
			p.release(r, buckets[:i])
			return p.refused(r, d)
		}
		p.decided(r, d)
	}
	return nil
}

// release returns one token to each bucket.
func (p *Pages) release(r *http.Request, buckets []bucket) {
	for _, b := range buckets {
		p.Limiter.ReturnToken(r.Context(), b.name, b.refill)
	}
}

// refused is the error of a decision that says no.
func (p *Pages) refused(r *http.Request, d ratelimit.Decision) error {
	p.decided(r, d)
	return &waitError{d.RetryAfter}
}

func (p *Pages) decided(r *http.Request, d ratelimit.Decision) {
	if p.Decided != nil {
		p.Decided(r, d)
	}
}
