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

// passwordFaults are what is wrong with the fields of a password form.
type passwordFaults struct{ Before, After, Again string }

type passwordPage struct {
	Faults passwordFaults
	Done   bool
}

func (p *Pages) showPassword(w http.ResponseWriter, _ *http.Request, v visit) error {
	return p.show(w, http.StatusOK, "password", v, passwordPage{})
}

func (p *Pages) changePassword(w http.ResponseWriter, r *http.Request, v visit) error {
	if err := p.throttlePassword(r, v.Email); err != nil {
		return err
	}
	before, after := r.PostFormValue("before"), r.PostFormValue("after")
	faults := passwordFaults{}
	if after != r.PostFormValue("again") {
		faults.Again = "Both new passwords must be the same."
		return p.show(w, http.StatusUnprocessableEntity, "password", v, passwordPage{Faults: faults})
	}
	token, err := p.People.ChangePassword(r.Context(), v.token, v.Email, before, after)
	invalid, isInvalid := errors.AsType[tenancy.InvalidError](err)
	switch {
	case isInvalid:
		faults.After = "The new password " + invalid["password"][0] + "."
	case errors.Is(err, people.ErrWrong):
		faults.Before = "This is not your password."
	case err != nil:
		return err
	default:
		p.remember(w, token)
		return p.show(w, http.StatusOK, "password", v, passwordPage{Done: true})
	}
	return p.show(w, http.StatusUnprocessableEntity, "password", v, passwordPage{Faults: faults})
}

// again is the part of a form that asks for the password where it was last given
// too long ago.
type again struct {
	Needed bool
	Fault  string
}

func passwordAgain(v visit) again { return again{Needed: time.Since(v.ConfirmedAt) > recent} }

// confirm checks the password that came with a form, where one is needed. The
// fault, if any, is for the form.
func (p *Pages) confirm(w http.ResponseWriter, r *http.Request, v visit) (again, error) {
	a := passwordAgain(v)
	if !a.Needed {
		return a, nil
	}
	if r.PostFormValue("password") == "" {
		a.Fault = "Give your password once more."
		return a, nil
	}
	if err := p.throttlePassword(r, v.Email); err != nil {
		return a, err
	}
	token, err := p.People.Confirm(r.Context(), v.token, v.Email, r.PostFormValue("password"))
	if errors.Is(err, people.ErrWrong) {
		a.Fault = "This is not your password."
		return a, nil
	}
	if err == nil {
		p.remember(w, token)
		a.Needed = false
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
	if errors.Is(err, people.ErrEnded) {
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
	if err == nil {
		if err := p.throttlePassword(r, link.Email); err != nil {
			return err
		}
		link, err = p.People.Use(r.Context(), token, r.PostFormValue("password"), p.Address(r))
	}
	invalid, isInvalid := errors.AsType[tenancy.InvalidError](err)
	switch {
	case errors.Is(err, people.ErrEnded):
		return p.show(w, http.StatusNotFound, "link-ended", visit{}, nil)
	case isInvalid:
		return p.show(w, http.StatusUnprocessableEntity, "link", visit{}, linkPage{link, "The password " + invalid["password"][0] + "."})
	case errors.Is(err, people.ErrWrong):
		return p.show(w, http.StatusUnprocessableEntity, "link", visit{}, linkPage{link, "There is an account with this e-mail already: give its password."})
	case err != nil:
		return err
	}
	session, err := p.People.SignIn(r.Context(), link.Email, r.PostFormValue("password"))
	if err != nil {
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
