package pages

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/storeroom/storeroom/api/pages/words"
	"github.com/storeroom/storeroom/tenancy/people"
)

// home redirects to the user's tenant, or shows a choice if there are several.
func (p *Handler) home(w http.ResponseWriter, r *http.Request, u user) error {
	if len(u.Tenants) == 1 {
		redirect(w, r, "/settings/t/"+u.Tenants[0].Slug+homeOf(u.Tenants[0].Role))
		return nil
	}
	return p.show(w, http.StatusOK, "tenants", u, u.Tenants)
}

func (p *Handler) showTenant(w http.ResponseWriter, r *http.Request, u user) error {
	redirect(w, r, u.path(homeOf(u.Role)))
	return nil
}

func (p *Handler) showSignIn(w http.ResponseWriter, r *http.Request, _ user) error {
	fields := url.Values{
		"next": {next(r)}, "lost": {r.FormValue("lost")}, "language": {r.FormValue("language")},
	}
	return p.show(w, http.StatusOK, "sign-in", p.visitor(w, r), form{Values: fields})
}

func (p *Handler) signIn(w http.ResponseWriter, r *http.Request, u user) error {
	email, password := strings.TrimSpace(r.PostFormValue("email")), r.PostFormValue("password")
	account := people.Account(email)
	onFailure, err := p.throttleSignIn(r, account)
	if err != nil {
		return err
	}
	token, err := p.People.SignIn(r.Context(), email, password, p.Network(r))
	if errors.Is(err, people.ErrWrong) {
		f := submitted(r)
		f.Errors["password"] = u.T("Incorrect e-mail address or password.")
		return p.show(w, http.StatusUnprocessableEntity, "sign-in", p.visitor(w, r), f)
	}
	p.returnTokens(r, onFailure)
	if err != nil {
		return err
	}
	p.Limiter.TakeToken(r.Context(), "pk:"+p.Network(r)+" "+account, recentSignIn)
	return p.startSession(w, r, token, next(r))
}

// keepLanguage stores the language that a visitor chose before a session began.
func (p *Handler) keepLanguage(r *http.Request, token people.Token) error {
	chosen, isChosen := words.Named(r.PostFormValue("language"))
	if !isChosen {
		return nil
	}
	return p.People.SetLanguage(r.Context(), token, chosen.Code)
}

// showHelp shows the keys of the keyboard.
func (p *Handler) showHelp(w http.ResponseWriter, _ *http.Request, u user) error {
	return p.show(w, http.StatusOK, "help", u, nil)
}

// showSignOut asks for confirmation before all sessions end.
func (p *Handler) showSignOut(w http.ResponseWriter, _ *http.Request, u user) error {
	return p.show(w, http.StatusOK, "sign-out", u, nil)
}

// signOut ends the session, or all sessions of the user if the form says everywhere.
func (p *Handler) signOut(w http.ResponseWriter, r *http.Request, _ user) error {
	if token, found := p.token(r); found {
		if err := p.People.SignOut(r.Context(), token, r.PostFormValue("everywhere") != ""); err != nil {
			return err
		}
	}
	p.setSession(w, "")
	redirect(w, r, "/settings/sign-in")
	return nil
}

// homeOf returns the first page of a member.
func homeOf(role people.Role) string {
	if role.Allows(people.ReadReports) {
		return "/overview"
	}
	return "/products"
}
