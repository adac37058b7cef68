package settings

import (
	"cmp"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/storeroom/storeroom/ratelimit"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/people"
)

var roles = []option{
	{"viewer", "Viewer", "View keys, members and the account."},
	{"admin", "Admin", "Also generate, roll and revoke keys, and read the audit log."},
	{"owner", "Owner", "Full access, including managing members."},
}

// inviteFields are the names of the fields of an invitation in error messages.
var inviteFields = map[string]string{"email": "The e-mail address", "role": "The role"}

// linkCreation limits how fast a user creates links.
var linkCreation = ratelimit.Refill{Burst: 10, Every: time.Minute}

type membersPage struct {
	Members     []people.Member
	Links       []people.PendingLink // only for owners
	Roles       []option
	Email, Role string // of the invitation, as the user filled it in
	Request     string // makes the form create at most one link
	Prompt      passwordPrompt
	Errors      fieldErrors
}

func (p *Pages) listMembers(w http.ResponseWriter, r *http.Request, u user) error {
	return p.showMembers(w, r, u, http.StatusOK, membersPage{
		Role: "viewer", Request: rand.Text(), Prompt: newPasswordPrompt(u),
	})
}

func (p *Pages) showMembers(w http.ResponseWriter, r *http.Request, u user, status int, page membersPage) (err error) {
	if page.Members, err = p.People.Members(r.Context(), u.Tenant.ID, p.by(r, u)); err != nil {
		return err
	}
	if u.Can(owner) {
		if page.Links, err = p.People.Links(r.Context(), u.Tenant.ID, p.by(r, u)); err != nil {
			return err
		}
	}
	page.Roles = roles
	return p.show(w, status, "members", u, page)
}

// createdLink is the only page that shows a link.
type createdLink struct {
	Email, Purpose, URL string
}

// inviteMember creates an invitation and shows its link in the response to the form.
func (p *Pages) inviteMember(w http.ResponseWriter, r *http.Request, u user) error {
	page := membersPage{
		Email: r.PostFormValue("email"), Role: r.PostFormValue("role"), Request: r.PostFormValue("request"),
		Errors: fieldErrors{},
	}
	if !requestPattern.MatchString(page.Request) {
		return errForm
	}
	var err error
	if page.Prompt, err = p.confirmPassword(w, r, &u); err != nil {
		return err
	}
	if page.Prompt.Error != "" {
		page.Errors["password"] = page.Prompt.Error
		return p.showMembers(w, r, u, http.StatusUnprocessableEntity, page)
	}
	if err := p.throttleLinks(r, u); err != nil {
		return err
	}
	token, err := p.People.Invite(r.Context(), u.Tenant.ID, p.by(r, u), page.Request, page.Email, people.Role(page.Role))
	invalid, isInvalid := errors.AsType[tenancy.InvalidError](err)
	switch {
	case errors.Is(err, people.ErrRepeated):
		return p.show(w, http.StatusConflict, "link-already-created", u, nil)
	case errors.Is(err, tenancy.ErrConflict):
		page.Errors["email"] = "This person is already a member."
	case isInvalid:
		for field, messages := range invalid {
			page.Errors[field] = inviteFields[field] + " " + messages[0] + "."
		}
	case err != nil:
		return err
	default:
		return p.show(w, http.StatusOK, "link-created", u, createdLink{
			people.Account(page.Email), "invitation", LinkURL(p.BaseURL, token),
		})
	}
	return p.showMembers(w, r, u, http.StatusUnprocessableEntity, page)
}

func (p *Pages) throttleLinks(r *http.Request, u user) error {
	return p.throttle(r, bucket{"l:" + u.Email, linkCreation})
}

// revokeLink revokes a link that was not used yet.
func (p *Pages) revokeLink(w http.ResponseWriter, r *http.Request, u user) error {
	id, err := strconv.ParseInt(chi.URLParam(r, "id"), 10, 64)
	if err != nil {
		return tenancy.ErrNotFound
	}
	if err := p.People.EndLink(r.Context(), u.Tenant.ID, p.by(r, u), id); err != nil {
		return err
	}
	redirect(w, r, u.path("/members"))
	return nil
}

// LinkURL returns the URL of a one-time link.
func LinkURL(base *url.URL, token people.Token) string {
	return base.JoinPath("settings", "link", token.Reveal()).String()
}

type memberPage struct {
	people.Member
	Selected string // role
	Roles    []option
	Request  string // makes the reset form create at most one link
	Prompt   passwordPrompt
	Errors   fieldErrors
}

func (p *Pages) member(r *http.Request, u user) (people.Member, error) {
	id, err := strconv.ParseInt(chi.URLParam(r, "id"), 10, 64)
	if err != nil {
		return people.Member{}, tenancy.ErrNotFound
	}
	members, err := p.People.Members(r.Context(), u.Tenant.ID, p.by(r, u))
	if err != nil {
		return people.Member{}, err
	}
	for _, m := range members {
		if m.UserID == id {
			return m, nil
		}
	}
	return people.Member{}, tenancy.ErrNotFound
}

func (p *Pages) showMember(w http.ResponseWriter, r *http.Request, u user) error {
	m, err := p.member(r, u)
	if err != nil {
		return err
	}
	return p.show(w, http.StatusOK, "member", u, newMemberPage(m, u))
}

func newMemberPage(m people.Member, u user) memberPage {
	return memberPage{
		Member: m, Selected: string(m.Role), Roles: roles, Request: rand.Text(),
		Prompt: newPasswordPrompt(u), Errors: fieldErrors{},
	}
}

// confirmPasswordIn is confirmPassword for one of several forms of a page. It adds the
// error to the page.
func (p *Pages) confirmPasswordIn(w http.ResponseWriter, r *http.Request, u *user, page *memberPage,
	form string) (err error) {
	if page.Prompt, err = p.confirmPassword(w, r, u); err != nil {
		return err
	}
	page.Prompt.Form = form
	if page.Prompt.Error != "" {
		page.Errors[page.Prompt.ID()] = page.Prompt.Error
	}
	return nil
}

func (p *Pages) changeRole(w http.ResponseWriter, r *http.Request, u user) error {
	return p.changeMember(w, r, u, "role", func(m people.Member, by tenancy.Actor) error {
		return p.People.ChangeRole(r.Context(), u.Tenant.ID, by, m.UserID, people.Role(r.PostFormValue("role")))
	})
}

func (p *Pages) removeMember(w http.ResponseWriter, r *http.Request, u user) error {
	return p.changeMember(w, r, u, "remove", func(m people.Member, by tenancy.Actor) error {
		return p.People.Remove(r.Context(), u.Tenant.ID, by, m.UserID)
	})
}

// changeMember changes the member whose id is in the URL and redirects to the list, or
// shows the errors on the member's page.
func (p *Pages) changeMember(w http.ResponseWriter, r *http.Request, u user, form string,
	change func(people.Member, tenancy.Actor) error) error {
	m, err := p.member(r, u)
	if err != nil {
		return err
	}
	page := newMemberPage(m, u)
	page.Selected = cmp.Or(r.PostFormValue("role"), page.Selected)
	if err := p.confirmPasswordIn(w, r, &u, &page, form); err != nil {
		return err
	}
	if len(page.Errors) == 0 {
		if err := page.addErrors(change(m, p.by(r, u))); err != nil {
			return err
		}
	}
	if len(page.Errors) > 0 {
		return p.show(w, http.StatusUnprocessableEntity, "member", u, page)
	}
	redirect(w, r, u.path("/members"))
	return nil
}

// addErrors adds an error that the user can correct to the page. It returns any other error.
func (page *memberPage) addErrors(err error) error {
	invalid, isInvalid := errors.AsType[tenancy.InvalidError](err)
	switch {
	case errors.Is(err, people.ErrLastOwner):
		page.Errors[""] = "This is the last owner. Make another member an owner first."
	case errors.Is(err, people.ErrElsewhere):
		page.Errors[""] = "This person is also a member of other accounts. " +
			"Only the operator of this service can reset the password."
	case isInvalid:
		page.Errors["role"] = "The role " + invalid["role"][0] + "."
	default:
		return err
	}
	return nil
}

// resetMember creates a password reset link and shows it in the response to the form.
func (p *Pages) resetMember(w http.ResponseWriter, r *http.Request, u user) error {
	m, err := p.member(r, u)
	if err != nil {
		return err
	}
	page := newMemberPage(m, u)
	if page.Request = r.PostFormValue("request"); !requestPattern.MatchString(page.Request) {
		return errForm
	}
	if err := p.confirmPasswordIn(w, r, &u, &page, "reset"); err != nil {
		return err
	}
	if len(page.Errors) > 0 {
		return p.show(w, http.StatusUnprocessableEntity, "member", u, page)
	}
	if err := p.throttleLinks(r, u); err != nil {
		return err
	}
	token, err := p.People.Reset(r.Context(), u.Tenant.ID, p.by(r, u), page.Request, m.Email)
	if errors.Is(err, people.ErrRepeated) {
		return p.show(w, http.StatusConflict, "link-already-created", u, nil)
	}
	if err := page.addErrors(err); err != nil {
		return err
	}
	if len(page.Errors) > 0 {
		return p.show(w, http.StatusUnprocessableEntity, "member", u, page)
	}
	return p.show(w, http.StatusOK, "link-created", u, createdLink{m.Email, "reset", LinkURL(p.BaseURL, token)})
}
