package pages

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/people"
)

// token returns the session token of a request.
func (p *Handler) token(r *http.Request) (token people.Token, found bool) {
	c, err := r.Cookie(p.cookie)
	if err != nil || len(c.Value) != 43 {
		return "", false
	}
	return people.Token(c.Value), true
}

// by returns the user as the actor of a change.
func (p *Handler) by(r *http.Request, u user) tenancy.Actor {
	return u.Actor(u.token, p.Address(r))
}

// startSession ends the browser's old session, sets the new one and redirects.
func (p *Handler) startSession(w http.ResponseWriter, r *http.Request, token people.Token, to string) error {
	if old, found := p.token(r); found {
		if err := p.People.SignOut(r.Context(), old, false); err != nil {
			return err
		}
	}
	p.setSession(w, token)
	if err := p.keepLanguage(r, token); err != nil {
		return err
	}
	redirect(w, r, to)
	return nil
}

// setSession stores a session in the browser until the browser closes; "" deletes it.
// The database may end the session earlier.
func (p *Handler) setSession(w http.ResponseWriter, token people.Token) {
	p.setCookie(w, p.cookie, token)
}

func (p *Handler) setCookie(w http.ResponseWriter, name string, token people.Token) {
	cookie := http.Cookie{
		Name: name, Value: token.Reveal(), Path: "/",
		Secure: p.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
	if token == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, &cookie)
}

// formCookie is the suffix of the cookie that replaces the session in the tokens of forms
// before sign-in.
const formCookie = "-form"

// visitor returns a user without a session. It sets the cookie that the token of a form is checked against.
func (p *Handler) visitor(w http.ResponseWriter, r *http.Request) user {
	if c, err := r.Cookie(p.cookie + formCookie); err == nil && c.Value != "" {
		return user{token: people.Token(c.Value), Format: visitorFormat(r)}
	}
	token := people.Token(rand.Text())
	p.setCookie(w, p.cookie+formCookie, token)
	return user{token: token, Format: visitorFormat(r)}
}

// FormToken returns a text that only a page for this browser contains.
func (u user) FormToken() string { return formToken(u.token.Reveal()) }

func formToken(cookie string) string {
	sum := sha256.Sum256([]byte("form " + cookie))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// hasOrigin reports whether a request has a header that names its origin, or the token of a form. CrossOriginProtection
// has checked the headers, but accepts a request without them.
func (p *Handler) hasOrigin(r *http.Request) bool {
	if r.Method != http.MethodPost || r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "" {
		return true
	}
	sent := []byte(r.PostFormValue("form-token"))
	for _, name := range []string{p.cookie, p.cookie + formCookie} {
		c, err := r.Cookie(name)
		if err == nil && c.Value != "" && subtle.ConstantTimeCompare(sent, []byte(formToken(c.Value))) == 1 {
			return true
		}
	}
	return false
}

// redirectToSignIn leads to the sign-in page and back to the requested page. The
// content of a submitted form is lost, and the sign-in page says so.
func (p *Handler) redirectToSignIn(w http.ResponseWriter, r *http.Request) {
	query := url.Values{}
	if r.Method == http.MethodPost {
		query.Set("lost", "form")
	}
	isPage := slices.Contains(p.methods(r), http.MethodGet)
	if strings.Trim(r.URL.Path, "/") != "settings" && isPage {
		query.Set("next", r.URL.RequestURI())
	}
	to := url.URL{Path: "/settings/sign-in", RawQuery: query.Encode()}
	redirect(w, r, to.String())
}

func redirect(w http.ResponseWriter, r *http.Request, path string) {
	http.Redirect(w, r, path, http.StatusSeeOther)
}

// next returns the page to open after sign-in: a page of this package, or the start.
// The query is encoded again, so that no part of it can be read as an address.
func next(r *http.Request) string {
	wanted := r.FormValue("next")
	u, err := url.Parse(wanted)
	if err != nil || len(wanted) > 2048 || wanted != u.RequestURI() {
		return "/settings"
	}
	seen := strings.NewReplacer("%2e", ".", "%2E", ".").Replace(u.EscapedPath()) // by browsers
	rest, isTenant := strings.CutPrefix(seen, "/settings/t/")
	slug, _, _ := strings.Cut(rest, "/")
	known := seen == "/settings/password" || isTenant && !strings.Contains(slug, "%")
	if !known || path.Clean(seen) != seen {
		return "/settings"
	}
	page := url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.Query().Encode()}
	return page.String()
}

func loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}
