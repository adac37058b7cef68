package settings

import (
	"errors"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/people"
)

// recentPassword is how long after entering the password a user may make sensitive
// changes without entering it again.
const recentPassword = 10 * time.Minute

type passwordPage struct {
	Errors fieldErrors
	Done   bool
}

func (p *Pages) showPassword(w http.ResponseWriter, _ *http.Request, u user) error {
	return p.show(w, http.StatusOK, "password", u, passwordPage{})
}

func (p *Pages) changePassword(w http.ResponseWriter, r *http.Request, u user) error {
	if err := p.throttleOwnPassword(r, u); err != nil {
		return err
	}
	current, chosen := r.PostFormValue("current"), r.PostFormValue("new")
	page := passwordPage{Errors: fieldErrors{}}
	if message := people.CheckPassword(chosen); message != "" {
		page.Errors["new"] = "The new password " + message + "."
	}
	if chosen != r.PostFormValue("confirm") {
		page.Errors["confirm"] = "The passwords do not match."
	}
	if len(page.Errors) > 0 {
		return p.show(w, http.StatusUnprocessableEntity, "password", u, page)
	}
	token, err := p.People.ChangePassword(r.Context(), u.token, u.Email, current, chosen, p.Address(r))
	if errors.Is(err, people.ErrWrong) {
		page.Errors["current"] = wrongPassword
		return p.show(w, http.StatusUnprocessableEntity, "password", u, page)
	}
	if err != nil {
		return err
	}
	p.setSession(w, token)
	return p.show(w, http.StatusOK, "password", u, passwordPage{Done: true})
}

const wrongPassword = "The password is incorrect."

// passwordPrompt is the field of a form that asks for the user's password.
type passwordPrompt struct {
	Needed bool
	Error  string
	Form   string // which form of the page has the error; "" if the page has one form
}

func newPasswordPrompt(u user) passwordPrompt {
	return passwordPrompt{Needed: time.Since(u.ConfirmedAt) > recentPassword}
}

// ID returns the id of the field.
func (p passwordPrompt) ID() string {
	if p.Form == "" {
		return "password"
	}
	return "password-" + p.Form
}

// Errors returns the error of the field.
func (p passwordPrompt) Errors() fieldErrors { return fieldErrors{p.ID(): p.Error} }

// In returns the prompt for one of several forms. Only the form that was submitted
// shows the error.
func (p passwordPrompt) In(form string) passwordPrompt {
	if p.Form != form {
		p.Form, p.Error = form, ""
	}
	return p
}

// confirmPassword checks the password that was submitted with a form, if one is
// needed. The session then continues under a new token, which it stores in u.
func (p *Pages) confirmPassword(w http.ResponseWriter, r *http.Request, u *user) (passwordPrompt, error) {
	prompt := newPasswordPrompt(*u)
	if !prompt.Needed {
		return prompt, nil
	}
	if r.PostFormValue("password") == "" {
		prompt.Error = "Enter your password."
		return prompt, nil
	}
	if err := p.throttleOwnPassword(r, *u); err != nil {
		return prompt, err
	}
	token, err := p.People.Confirm(r.Context(), u.token, u.Email, r.PostFormValue("password"))
	if errors.Is(err, people.ErrWrong) {
		prompt.Error = wrongPassword
		return prompt, nil
	}
	if err == nil {
		p.setSession(w, token)
		u.token, prompt.Needed = token, false
	}
	return prompt, err
}

type linkPage struct {
	people.Link
	Error string
}

// showLink shows an invitation or a password reset. Opening a link does not use it:
// mail programs and chats open links to preview them.
func (p *Pages) showLink(w http.ResponseWriter, r *http.Request, _ user) error {
	link, err := p.People.Open(r.Context(), people.Token(chi.URLParam(r, "token")))
	if errors.Is(err, tenancy.ErrEnded) {
		return p.show(w, http.StatusNotFound, "link-invalid", user{}, nil)
	}
	if err != nil {
		return err
	}
	return p.show(w, http.StatusOK, "link", user{}, linkPage{Link: link})
}

const accountExists = "An account with this e-mail address already exists. Enter its password. " +
	"If you do not know it, ask the operator of this service for a password reset, then open this link again."

func (p *Pages) useLink(w http.ResponseWriter, r *http.Request, _ user) error {
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
		return p.show(w, http.StatusNotFound, "link-invalid", user{}, nil)
	case isInvalid:
		page := linkPage{link, "The password " + invalid["password"][0] + "."}
		return p.show(w, http.StatusUnprocessableEntity, "link", user{}, page)
	case errors.Is(err, people.ErrWrong):
		return p.show(w, http.StatusUnprocessableEntity, "link", user{}, linkPage{link, accountExists})
	case err != nil:
		return err
	}
	return p.startSession(w, r, session, "/settings")
}
