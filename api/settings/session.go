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

// token is the session that a request carries.
func (p *Pages) token(r *http.Request) (people.Token, bool) {
	c, err := r.Cookie(p.cookie)
	if err != nil || len(c.Value) != 43 {
		return "", false
	}
	return people.Token(c.Value), true
}

// by returns the signed-in person as an actor.
func (p *Pages) by(r *http.Request, v visit) tenancy.Actor {
	return v.Actor(v.token, p.Address(r))
}

// remember gives the browser a session. It ends with the browser, or earlier when
// the database says so.
func (p *Pages) remember(w http.ResponseWriter, token people.Token) {
	http.SetCookie(w, p.newCookie(token.Reveal(), 0))
}

func (p *Pages) forget(w http.ResponseWriter) { http.SetCookie(w, p.newCookie("", -1)) }

func (p *Pages) newCookie(value string, maxAge int) *http.Cookie {
	return &http.Cookie{Name: p.cookie, Value: value, Path: "/", MaxAge: maxAge, Secure: p.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode}
}

// askToSignIn sends to the sign-in page, and back to a page that was asked for. What
// was sent by a form is lost, and the sign-in page says so.
func (p *Pages) askToSignIn(w http.ResponseWriter, r *http.Request) error {
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
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}

// next is where to go after signing in: a page of ours or the start. The query is
// written anew, so that nothing of it could be read as part of an address.
func next(r *http.Request) string {
	path, query, _ := strings.Cut(r.FormValue("next"), "?")
	values, err := url.ParseQuery(query)
	if path != "/settings/password" && !strings.HasPrefix(path, "/settings/t/") || strings.ContainsFunc(path, strange) || strings.Contains(path, "//") ||
		strings.Contains(path, "..") || err != nil || len(path)+len(query) > 2048 {
		return "/settings"
	}
	if len(values) > 0 {
		path += "?" + values.Encode()
	}
	return path
}

// strange is what the path of no page holds.
func strange(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`\?#%`, r) }

func loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}
