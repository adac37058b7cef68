package settings

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/storeroom/storeroom/ratelimit"
	"github.com/storeroom/storeroom/tenancy/people"
)

// Sign-in is slowed down by network, and by account and network: what others try
// from theirs never refuses a person at home. An account that has many failures,
// wherever they come from, is given fewer tries by each network, not none, and no
// fewer where somebody came in with the password lately.
//
// So who guesses at one account from n networks has at most 30 failures and 30 more
// an hour, and then 3n, and 4n an hour. Each costs as much work as any sign-in, of
// which a few are done at a time (see package people).
var (
	perNetwork     = ratelimit.Refill{Burst: 30, Every: 20 * time.Second}
	perAccountHere = ratelimit.Refill{Burst: 10, Every: 3 * time.Minute}
	underAttack    = ratelimit.Refill{Burst: 3, Every: 15 * time.Minute}
	failures       = ratelimit.Refill{Burst: 30, Every: 2 * time.Minute}
	cameIn         = ratelimit.Refill{Burst: 1, Every: 12 * time.Hour} // its token is gone while that counts as lately
	perOwnPassword = ratelimit.Refill{Burst: 10, Every: time.Minute}
	perLinkHere    = ratelimit.Refill{Burst: 10, Every: 3 * time.Minute}
)

type signInPage struct {
	Email, Next, Fault string
	Lost               bool // a form was sent when the session had ended
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
	return p.show(w, http.StatusOK, "sign-in", visit{}, signInPage{Next: next(r), Lost: r.FormValue("lost") != ""})
}

// signIn starts a session under a new token.
func (p *Pages) signIn(w http.ResponseWriter, r *http.Request, _ visit) error {
	email, password := strings.TrimSpace(r.PostFormValue("email")), r.PostFormValue("password")
	account := people.Account(email)
	failure, err := p.throttleSignIn(r, account)
	if err != nil {
		return err
	}
	token, err := p.People.SignIn(r.Context(), email, password)
	if errors.Is(err, people.ErrWrong) {
		return p.show(w, http.StatusUnprocessableEntity, "sign-in", visit{}, signInPage{Email: email, Next: next(r), Fault: "E-mail or password is wrong."})
	}
	p.release(r, failure)
	if err != nil {
		return err
	}
	p.Limiter.TakeToken(r.Context(), "pk:"+p.Network(r)+" "+account, cameIn)
	if old, held := p.token(r); held {
		if err := p.People.SignOut(r.Context(), old, false); err != nil {
			return err
		}
	}
	p.remember(w, token)
	http.Redirect(w, r, next(r), http.StatusSeeOther)
	return nil
}

// throttleSignIn takes the tokens of one attempt before the password is checked, so
// that parallel guesses cannot pass a limit. The caller releases the tokens in
// failure unless the password was wrong: a whole office may sign in from one address.
// The account is "" for an e-mail that no account can have.
func (p *Pages) throttleSignIn(r *http.Request, account string) (failure []bucket, err error) {
	network := bucket{"pn:" + p.Network(r), perNetwork}
	if account == "" {
		return []bucket{network}, p.throttle(r, network)
	}
	here := p.Network(r) + " " + account
	attempt := bucket{"ph:" + here, perAccountHere}
	if err := p.throttle(r, attempt, network); err != nil {
		return nil, err
	}
	ofAccount := bucket{"pf:" + account, failures}
	if p.Limiter.TakeToken(r.Context(), ofAccount.name, ofAccount.refill).Allowed {
		return []bucket{network, ofAccount}, nil
	}
	if !p.Limiter.PeekToken(r.Context(), "pk:"+here, cameIn).Allowed {
		return []bucket{network}, nil
	}
	if err := p.throttle(r, bucket{"pu:" + here, underAttack}); err != nil {
		p.release(r, []bucket{network, attempt})
		return nil, err
	}
	return []bucket{network}, nil
}

// throttleOwnPassword slows down whoever tries the password of the account that they
// are signed in to. Nobody else takes of this bucket.
func (p *Pages) throttleOwnPassword(r *http.Request, v visit) error {
	return p.throttle(r, bucket{"po:" + v.Email, perOwnPassword})
}

// throttleLink slows down whoever tries passwords by a link: an invitation asks for
// that of the account. Only who has a link for this account into this tenant takes of
// this bucket, so that no stranger empties it; another link of the same is no other
// bucket.
func (p *Pages) throttleLink(r *http.Request, link people.Link) error {
	return p.throttle(r, bucket{fmt.Sprint("pl:", p.Network(r), " ", link.TenantID, " ", link.Email), perLinkHere})
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
