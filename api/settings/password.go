package settings

import (
	"errors"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/people"
)

// recent is how long a password that was given counts.
const recent = 10 * time.Minute

type passwordPage struct {
	Faults faults
	Done   bool
}

func (p *Pages) showPassword(w http.ResponseWriter, _ *http.Request, v visit) error {
	return p.show(w, http.StatusOK, "password", v, passwordPage{})
}

func (p *Pages) changePassword(w http.ResponseWriter, r *http.Request, v visit) error {
	if err := p.throttleOwnPassword(r, v); err != nil {
		return err
	}
	before, after := r.PostFormValue("before"), r.PostFormValue("after")
	page := passwordPage{Faults: faults{}}
	if fault := people.CheckPassword(after); fault != "" {
		page.Faults["after"] = "The new password " + fault + "."
	}
	if after != r.PostFormValue("again") {
		page.Faults["again"] = "Both new passwords must be the same."
	}
	if len(page.Faults) > 0 {
		return p.show(w, http.StatusUnprocessableEntity, "password", v, page)
	}
	token, err := p.People.ChangePassword(r.Context(), v.token, v.Email, before, after, p.Address(r))
	if errors.Is(err, people.ErrWrong) {
		page.Faults["before"] = "This is not your password."
		return p.show(w, http.StatusUnprocessableEntity, "password", v, page)
	}
	if err != nil {
		return err
	}
	p.remember(w, token)
	return p.show(w, http.StatusOK, "password", v, passwordPage{Done: true})
}

// again is the part of a form that asks for the password where it was last given
// too long ago.
type again struct {
	Needed bool
	Fault  string
	Form   string // which of several on the page, "" for the only one
}

// ID is that of its field.
func (a again) ID() string {
	if a.Form == "" {
		return "password"
	}
	return "password-" + a.Form
}

// Faults are what is wrong with its field.
func (a again) Faults() faults { return faults{a.ID(): a.Fault} }

// In is the part as it stands in one of several forms: what is wrong is said in the
// form that was sent.
func (a again) In(form string) again {
	if a.Form != form {
		a.Form, a.Fault = form, ""
	}
	return a
}

func passwordAgain(v visit) again { return again{Needed: time.Since(v.ConfirmedAt) > recent} }

// confirm checks the password that came with a form, where one is needed; the visit
// goes on under another token then. The fault, if any, is for the form.
func (p *Pages) confirm(w http.ResponseWriter, r *http.Request, v *visit) (again, error) {
	a := passwordAgain(*v)
	if !a.Needed {
		return a, nil
	}
	if r.PostFormValue("password") == "" {
		a.Fault = "Give your password once more."
		return a, nil
	}
	if err := p.throttleOwnPassword(r, *v); err != nil {
		return a, err
	}
	token, err := p.People.Confirm(r.Context(), v.token, v.Email, r.PostFormValue("password"))
	if errors.Is(err, people.ErrWrong) {
		a.Fault = "This is not your password."
		return a, nil
	}
	if err == nil {
		p.remember(w, token)
		v.token, a.Needed = token, false
	}
	return a, err
}

type linkPage struct {
	people.Link
	Fault string
}

// showLink shows an invitation or a reset. Opening does not use it up: mail
// programs and chats open links, too.
func (p *Pages) showLink(w http.ResponseWriter, r *http.Request, _ visit) error {
	link, err := p.People.Open(r.Context(), people.Token(chi.URLParam(r, "token")))
	if errors.Is(err, tenancy.ErrEnded) {
		return p.show(w, http.StatusNotFound, "link-ended", visit{}, nil)
	}
	if err != nil {
		return err
	}
	return p.show(w, http.StatusOK, "link", visit{}, linkPage{Link: link})
}

func (p *Pages) useLink(w http.ResponseWriter, r *http.Request, _ visit) error {
	token := people.Token(chi.URLParam(r, "token"))
	link, err := p.People.Open(r.Context(), token)
	var session people.Token
	if err == nil {
		if err := p.throttleLink(r, link); err != nil {
			return err
		}
		session, err = p.People.Use(r.Context(), token, r.PostFormValue("password"), p.Address(r))
	}
	invalid, isInvalid := errors.AsType[tenancy.InvalidError](err)
	switch {
	case errors.Is(err, tenancy.ErrEnded):
		return p.show(w, http.StatusNotFound, "link-ended", visit{}, nil)
	case isInvalid:
		return p.show(w, http.StatusUnprocessableEntity, "link", visit{}, linkPage{link, "The password " + invalid["password"][0] + "."})
	case errors.Is(err, people.ErrWrong):
		return p.show(w, http.StatusUnprocessableEntity, "link", visit{}, linkPage{link, "There is an account with this e-mail already: give its password. If you do not know it, ask the operator of this service for a reset, and open this link again."})
	case err != nil:
		return err
	}
	if old, held := p.token(r); held {
		if err := p.People.SignOut(r.Context(), old, false); err != nil {
			return err
		}
	}
	p.remember(w, session)
	http.Redirect(w, r, "/settings", http.StatusSeeOther)
	return nil
}
