package settings

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/people"
)

// token returns the session token of a request.
func (p *Pages) token(r *http.Request) (token people.Token, found bool) {
	c, err := r.Cookie(p.cookie)
	if err != nil || len(c.Value) != 43 {
		return "", false
	}
	return people.Token(c.Value), true
}

// by returns the user as the actor of a change.
func (p *Pages) by(r *http.Request, u user) tenancy.Actor {
	return u.Actor(u.token, p.Address(r))
}

// startSession ends the browser's old session, sets the new one and redirects to path.
func (p *Pages) startSession(w http.ResponseWriter, r *http.Request, token people.Token, path string) error {
	if old, found := p.token(r); found {
		if err := p.People.SignOut(r.Context(), old, false); err != nil {
			return err
		}
	}
	p.setSession(w, token)
	redirect(w, r, path)
	return nil
}

// setSession stores a session in the browser until the browser closes. The database
// may end the session earlier.
func (p *Pages) setSession(w http.ResponseWriter, token people.Token) {
	http.SetCookie(w, p.newCookie(token.Reveal(), 0))
}

func (p *Pages) clearSession(w http.ResponseWriter) { http.SetCookie(w, p.newCookie("", -1)) }

func (p *Pages) newCookie(value string, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: p.cookie, Value: value, Path: "/", MaxAge: maxAge,
		Secure: p.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}

// redirectToSignIn leads to the sign-in page and back to the requested page. The
// content of a submitted form is lost, and the sign-in page says so.
func (p *Pages) redirectToSignIn(w http.ResponseWriter, r *http.Request) error {
	to := "/settings/sign-in"
	if r.Method == http.MethodPost {
		to += "?lost=form"
		if slices.Contains(p.methods(r), http.MethodGet) {
			to += "&next=" + url.QueryEscape(r.URL.EscapedPath())
		}
	} else if r.Method == http.MethodGet && r.URL.Path != "/settings" && r.URL.Path != "/settings/" {
		page := r.URL.EscapedPath()
		if r.URL.RawQuery != "" {
			page += "?" + r.URL.RawQuery
		}
		to += "?next=" + url.QueryEscape(page)
	}
	redirect(w, r, to)
	return nil
}

func redirect(w http.ResponseWriter, r *http.Request, path string) {
	http.Redirect(w, r, path, http.StatusSeeOther)
}

// next returns the page to open after sign-in: a page of this package, or the start.
// The query is encoded again, so that no part of it can be read as an address.
func next(r *http.Request) string {
	path, query, _ := strings.Cut(r.FormValue("next"), "?")
	values, err := url.ParseQuery(query)
	known := path == "/settings/password" || strings.HasPrefix(path, "/settings/t/")
	unsafe := strings.ContainsFunc(path, notInPath) || strings.Contains(path, "//") || strings.Contains(path, "..")
	if !known || unsafe || err != nil || len(path)+len(query) > 2048 {
		return "/settings"
	}
	if len(values) > 0 {
		path += "?" + values.Encode()
	}
	return path
}

// notInPath reports whether a character occurs in no path of a page.
func notInPath(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`\?#%`, r) }

func loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}
