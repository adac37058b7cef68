package pages

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/people"
)

// recentPassword is how long after entering the password a user may make sensitive
// changes without entering it again.
const recentPassword = 10 * time.Minute

func (p *Handler) showPassword(w http.ResponseWriter, _ *http.Request, u user) error {
	return p.show(w, http.StatusOK, "password", u, form{})
}

func (p *Handler) changePassword(w http.ResponseWriter, r *http.Request, u user) error {
	if err := p.throttleOwnPassword(r, u); err != nil {
		return err
	}
	current, chosen := r.PostFormValue("current"), r.PostFormValue("new")
	f := submitted(r)
	if message := people.CheckPassword(chosen); message != "" {
		f.Errors["new"] = u.Format.Sentence("The new password " + message + ".")
	}
	if chosen != r.PostFormValue("confirm") {
		f.Errors["confirm"] = u.T("The passwords do not match.")
	}
	if len(f.Errors) > 0 {
		return p.show(w, http.StatusUnprocessableEntity, "password", u, f)
	}
	token, err := p.People.ChangePassword(r.Context(), u.token, u.Email, current, chosen, p.Address(r))
	if errors.Is(err, people.ErrWrong) {
		f.Errors["current"] = u.T(wrongPassword)
		return p.show(w, http.StatusUnprocessableEntity, "password", u, f)
	}
	if err != nil {
		return err
	}
	p.setSession(w, token)
	return p.show(w, http.StatusOK, "password-changed", u, nil)
}

var wrongPassword = mark("The password is incorrect.")

// NeedsPassword reports whether sensitive changes need the password again.
func (u user) NeedsPassword() bool { return time.Since(u.ConfirmedAt) > recentPassword }

// confirmPassword checks the password that was submitted with a form, if one is
// needed, and adds an error to the field. The session then continues under a new token,
// which it stores in u.
func (p *Handler) confirmPassword(w http.ResponseWriter, r *http.Request, u *user, f form, field string) error {
	if !u.NeedsPassword() {
		return nil
	}
	if f.Get("password") == "" {
		f.Errors[field] = u.T("Enter your password.")
		return nil
	}
	if err := p.throttleOwnPassword(r, *u); err != nil {
		return err
	}
	token, err := p.People.Confirm(r.Context(), u.token, u.Email, f.Get("password"))
	if errors.Is(err, people.ErrWrong) {
		f.Errors[field] = u.T(wrongPassword)
		return nil
	}
	if err == nil {
		p.setSession(w, token)
		u.token, u.ConfirmedAt = token, time.Now()
	}
	return err
}

// withRecentPassword asks members with that permission for their password before a file with personal data is sent,
// unless they have entered it recently.
func (p *Handler) withRecentPassword(need people.Permission, h handler) handler {
	return func(w http.ResponseWriter, r *http.Request, u user) error {
		if !u.Can(need) || !u.NeedsPassword() {
			return h(w, r, u)
		}
		redirect(w, r, u.path("/confirm?"+url.Values{"next": {r.URL.RequestURI()}}.Encode()))
		return nil
	}
}

// showConfirm asks for the password before a download.
func (p *Handler) showConfirm(w http.ResponseWriter, r *http.Request, u user) error {
	return p.show(w, http.StatusOK, "confirm", u, form{Values: url.Values{"next": {next(r)}}})
}

// confirm checks the password. The page that it shows starts the download.
func (p *Handler) confirm(w http.ResponseWriter, r *http.Request, u user) error {
	f := submitted(r)
	f.Values.Set("next", next(r))
	if err := p.confirmPassword(w, r, &u, f, "password"); err != nil {
		return err
	}
	if len(f.Errors) > 0 {
		return p.show(w, http.StatusUnprocessableEntity, "confirm", u, f)
	}
	return p.show(w, http.StatusOK, "confirmed", u, f)
}

type linkPage struct {
	people.Link
	Errors   fieldErrors
	Language string // that the visitor has chosen
}

// showLink shows an invitation or a password reset. Opening a link does not use it:
// mail programs and chats open links to preview them.
func (p *Handler) showLink(w http.ResponseWriter, r *http.Request, _ user) error {
	link, err := p.People.ReadLink(r.Context(), people.Token(chi.URLParam(r, "token")))
	if errors.Is(err, tenancy.ErrEnded) {
		return errLink
	}
	if err != nil {
		return err
	}
	return p.show(w, http.StatusOK, "link", p.visitor(w, r), linkPage{Link: link, Language: r.FormValue("language")})
}

// passwordRefused is the error for every password that an invitation refuses. It must not
// reveal whether the e-mail address has an account, because the owner can open the link too.
var passwordRefused = mark("This password was not accepted. If you already have an account with this e-mail address, " +
	"enter its password. Otherwise choose 12 to 128 characters that are not a common password.")

func (p *Handler) useLink(w http.ResponseWriter, r *http.Request, u user) error {
	token := people.Token(chi.URLParam(r, "token"))
	link, err := p.People.ReadLink(r.Context(), token)
	var session people.Token
	if err == nil {
		if err := p.throttleLink(r, link); err != nil {
			return err
		}
		session, err = p.People.UseLink(r.Context(), token, r.PostFormValue("password"), p.Address(r))
	}
	page := linkPage{link, fieldErrors{}, r.FormValue("language")}
	invalid, isInvalid := errors.AsType[tenancy.InvalidError](err)
	switch {
	case errors.Is(err, tenancy.ErrEnded):
		return errLink
	case isInvalid:
		page.Errors["password"] = u.Format.Sentence("The password " + invalid["password"][0] + ".")
	case errors.Is(err, people.ErrWrong):
		page.Errors["password"] = u.T(passwordRefused)
	case err != nil:
		return err
	default:
		return p.startSession(w, r, session, "/settings")
	}
	return p.show(w, http.StatusUnprocessableEntity, "link", p.visitor(w, r), page)
}
