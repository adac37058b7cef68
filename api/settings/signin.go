package settings

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/storeroom/storeroom/ratelimit"
	"github.com/storeroom/storeroom/tenancy/people"
)

// Sign-in is slowed down by account and address, by account and by address; nobody
// is locked out.
var (
	perAccountHere = ratelimit.Refill{Burst: 10, Every: time.Minute}
	perAccount     = ratelimit.Refill{Burst: 30, Every: 30 * time.Second}
	perAddress     = ratelimit.Refill{Burst: 60, Every: 10 * time.Second}
)

type signInPage struct {
	Email, Next, Fault string
}

// home leads to the person's tenant, or lets choose one.
func (p *Pages) home(w http.ResponseWriter, r *http.Request, v visit) error {
	tenants, err := p.People.Tenants(r.Context(), v.token)
	if err != nil {
		return err
	}
	if len(tenants) == 1 {
		http.Redirect(w, r, "/settings/t/"+tenants[0].Slug+"/keys", http.StatusSeeOther)
		return nil
	}
	return p.show(w, http.StatusOK, "tenants", v, tenants)
}

func (p *Pages) showTenant(w http.ResponseWriter, r *http.Request, v visit) error {
	http.Redirect(w, r, "/settings/t/"+v.Tenant.Slug+"/keys", http.StatusSeeOther)
	return nil
}

func (p *Pages) showSignIn(w http.ResponseWriter, r *http.Request, _ visit) error {
	return p.show(w, http.StatusOK, "sign-in", visit{}, signInPage{Next: next(r)})
}

// signIn begins a session under a token that the browser never had before.
func (p *Pages) signIn(w http.ResponseWriter, r *http.Request, _ visit) error {
	email, password := strings.TrimSpace(r.PostFormValue("email")), r.PostFormValue("password")
	if err := p.throttlePassword(r, email); err != nil {
		return err
	}
	token, err := p.People.SignIn(r.Context(), email, password)
	if errors.Is(err, people.ErrWrong) {
		return p.show(w, http.StatusUnprocessableEntity, "sign-in", visit{}, signInPage{email, next(r), "E-mail or password is wrong."})
	}
	if err != nil {
		return err
	}
	if old, held := p.token(r); held {
		if err := p.People.SignOut(r.Context(), old, false); err != nil {
			return err
		}
	}
	p.remember(w, token)
	http.Redirect(w, r, next(r), http.StatusSeeOther)
	return nil
}

// throttlePassword slows down whoever tries passwords of an account. The account's
// own bucket comes last, so that one address alone can never empty it for others.
func (p *Pages) throttlePassword(r *http.Request, email string) error {
	address, account := p.Network(r), people.Account(email)
	buckets := []bucket{{"pa:" + address, perAddress}}
	if account != "" {
		buckets = append(buckets, bucket{"ph:" + address + " " + account, perAccountHere}, bucket{"p:" + account, perAccount})
	}
	return p.throttle(r, buckets...)
}

// signOut ends the session, or with everywhere all of the person's.
func (p *Pages) signOut(w http.ResponseWriter, r *http.Request, _ visit) error {
	if token, held := p.token(r); held {
		if err := p.People.SignOut(r.Context(), token, r.PostFormValue("everywhere") != ""); err != nil {
			return err
		}
	}
	p.forget(w)
	http.Redirect(w, r, "/settings/sign-in", http.StatusSeeOther)
	return nil
}
