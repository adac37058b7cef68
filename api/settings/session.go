package settings

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"

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

// remember gives the browser a session. It ends with the browser, or earlier when
// the database says so.
func (p *Pages) remember(w http.ResponseWriter, token people.Token) {
	http.SetCookie(w, p.newCookie(token.Reveal(), 0))
}

func (p *Pages) forget(w http.ResponseWriter) { http.SetCookie(w, p.newCookie("", -1)) }

func (p *Pages) newCookie(value string, maxAge int) *http.Cookie {
	return &http.Cookie{Name: p.cookie, Value: value, Path: "/", MaxAge: maxAge, Secure: p.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode}
}

// askToSignIn sends to the sign-in page, and back to a page that was asked for.
func (p *Pages) askToSignIn(w http.ResponseWriter, r *http.Request) error {
	to := "/settings/sign-in"
	if r.Method == http.MethodGet && r.URL.Path != "/settings" && r.URL.Path != "/settings/" {
		to += "?next=" + url.QueryEscape(r.URL.Path)
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
	return nil
}

// next is where to go after signing in: a page of ours or the start.
func next(r *http.Request) string {
	to := r.FormValue("next")
	if !strings.HasPrefix(to, "/settings/t/") || strings.ContainsFunc(to, strange) || strings.Contains(to, "//") || strings.Contains(to, "..") {
		return "/settings"
	}
	return to
}

// strange is what the path of no page holds.
func strange(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`\?#%`, r) }

func loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}
