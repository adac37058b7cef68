package pages

import (
	"cmp"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/storeroom/storeroom/ratelimit"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/people"
	"github.com/storeroom/storeroom/tenancy/webhooks"
)

// inviteFields are the names of the fields of an invitation in error messages.
var inviteFields = map[string]string{"email": "The e-mail address", "role": "The role"}

// Limits of the links of a user, and of all owners of a tenant. An owner can open an invitation and so find out whether
// one e-mail address has an account.
var (
	linksOfUser   = ratelimit.Refill{Burst: 10, Every: time.Minute}
	linksOfTenant = ratelimit.Refill{Burst: 100, Every: 10 * time.Minute}
)

type membersPage struct {
	form    // the invitation
	Members []people.Member
	Links   []people.PendingLink // that the user may revoke
	Roles   []people.Role        // that the user may give
}

func (p *Handler) listMembers(w http.ResponseWriter, r *http.Request, u user) error {
	defaults := url.Values{"role": {string(people.Clerk)}, "request": {rand.Text()}}
	return p.showMembers(w, r, u, http.StatusOK, form{Values: defaults})
}

func (p *Handler) showMembers(w http.ResponseWriter, r *http.Request, u user, status int, f form) (err error) {
	page := membersPage{form: f}
	if page.Members, err = p.People.Members(r.Context(), u.Tenant.ID, p.by(r, u)); err != nil {
		return err
	}
	page.Roles = u.Role.Invited()
	if u.Can(people.Invite) {
		if page.Links, err = p.People.Links(r.Context(), u.Tenant.ID, p.by(r, u)); err != nil {
			return err
		}
	}
	return p.show(w, status, "members", u, page)
}

// createdLink is the only page that shows a link.
type createdLink struct {
	Email, Purpose, URL string
}

// inviteMember creates an invitation and shows its link in the response to the form.
func (p *Handler) inviteMember(w http.ResponseWriter, r *http.Request, u user) error {
	f := submitted(r)
	if !f.hasRequest() {
		return ErrForm
	}
	if err := p.confirmPassword(w, r, &u, f, "password"); err != nil {
		return err
	}
	if len(f.Errors) > 0 {
		return p.showMembers(w, r, u, http.StatusUnprocessableEntity, f)
	}
	if role := people.Role(f.Get("role")); role.Valid() && !slices.Contains(u.Role.Invited(), role) {
		return errForbidden
	}
	if err := p.throttleLinks(r, u); err != nil {
		return err
	}
	email, role := f.Get("email"), people.Role(f.Get("role"))
	token, err := p.People.Invite(r.Context(), u.Tenant.ID, p.by(r, u), f.Get("request"), email, role)
	invalid, isInvalid := errors.AsType[tenancy.InvalidError](err)
	switch {
	case errors.Is(err, tenancy.ErrConflict):
		f.Errors["email"] = u.T("This person is already a member.")
	case errors.Is(err, people.ErrInvited):
		f.Errors["email"] = u.T("An owner has already invited this person.")
	case isInvalid:
		for field, messages := range invalid {
			f.Errors[field] = u.Format.Sentence(inviteFields[field] + " " + messages[0] + ".")
		}
	case err != nil:
		return err
	default:
		return p.show(w, http.StatusOK, "link-created", u, createdLink{
			people.Account(email), "invitation", LinkURL(p.BaseURL, token),
		})
	}
	return p.showMembers(w, r, u, http.StatusUnprocessableEntity, f)
}

func (p *Handler) throttleLinks(r *http.Request, u user) error {
	return p.throttle(r, bucket{"l:" + u.Email, linksOfUser}, bucket{"lt:" + u.Tenant.Slug, linksOfTenant})
}

// showRevokeLink asks for confirmation.
func (p *Handler) showRevokeLink(w http.ResponseWriter, r *http.Request, u user) error {
	links, err := p.People.Links(r.Context(), u.Tenant.ID, p.by(r, u))
	if err != nil {
		return err
	}
	i := slices.IndexFunc(links, func(l people.PendingLink) bool { return l.ID == pathID(r) })
	if i < 0 {
		return tenancy.ErrNotFound
	}
	return p.show(w, http.StatusOK, "link-revoke", u, links[i])
}

// revokeLink revokes a link that was not used yet.
func (p *Handler) revokeLink(w http.ResponseWriter, r *http.Request, u user) error {
	if err := p.People.EndLink(r.Context(), u.Tenant.ID, p.by(r, u), pathID(r)); err != nil {
		return err
	}
	redirect(w, r, u.path("/members"))
	return nil
}

// LinkURL returns the URL of a one-time link.
func LinkURL(base *url.URL, token people.Token) string {
	return base.JoinPath("settings", "link", token.Reveal()).String()
}

// memberPage is the page of a member, with a form for each change except remove, which has its own page.
type memberPage struct {
	form
	people.Member
	Roles    []people.Role
	Change   string             // the submitted form: role or reset
	Webhooks []webhooks.Webhook // that the member made, on the page that removes the member
}

// withMember passes the member whose id is in the URL to a handler.
func (p *Handler) withMember(h func(http.ResponseWriter, *http.Request, user, people.Member) error) handler {
	return func(w http.ResponseWriter, r *http.Request, u user) error {
		all, err := p.People.Members(r.Context(), u.Tenant.ID, p.by(r, u))
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(m people.Member) bool { return m.UserID == pathID(r) })
		if i < 0 {
			return tenancy.ErrNotFound
		}
		return h(w, r, u, all[i])
	}
}

func (p *Handler) showMember(w http.ResponseWriter, _ *http.Request, u user, m people.Member) error {
	fields := url.Values{"role": {string(m.Role)}, "request": {rand.Text()}}
	return p.show(w, http.StatusOK, "member", u, memberPage{form: form{Values: fields}, Member: m})
}

func (p *Handler) showRemove(w http.ResponseWriter, r *http.Request, u user, m people.Member) error {
	return p.showRemoveWith(w, r, u, http.StatusOK, memberPage{Member: m})
}

func (p *Handler) showRemoveWith(
	w http.ResponseWriter, r *http.Request, u user, status int, page memberPage,
) (err error) {
	if page.UserID != u.UserID { // who leaves cannot become responsible for webhooks
		if page.Webhooks, err = p.madeBy(r, u, "member", page.UserID); err != nil {
			return err
		}
	}
	return p.show(w, status, "member-remove", u, page)
}

func (p *Handler) changeRole(w http.ResponseWriter, r *http.Request, u user, m people.Member) error {
	return p.changeMember(w, r, u, m, "role", func(by tenancy.Actor) (people.Token, error) {
		return "", p.People.ChangeRole(r.Context(), u.Tenant.ID, by, m.UserID, people.Role(r.PostFormValue("role")))
	})
}

func (p *Handler) removeMember(w http.ResponseWriter, r *http.Request, u user, m people.Member) error {
	return p.changeMember(w, r, u, m, "remove", func(by tenancy.Actor) (people.Token, error) {
		if keepsWebhooks(r) {
			return "", p.People.RemoveAndKeep(r.Context(), u.Tenant.ID, by, m.UserID)
		}
		return "", p.People.Remove(r.Context(), u.Tenant.ID, by, m.UserID)
	})
}

// resetMember creates a password reset link and shows it in the response to the form.
func (p *Handler) resetMember(w http.ResponseWriter, r *http.Request, u user, m people.Member) error {
	if !submitted(r).hasRequest() {
		return ErrForm
	}
	return p.changeMember(w, r, u, m, "reset", func(by tenancy.Actor) (people.Token, error) {
		if err := p.throttleLinks(r, u); err != nil {
			return "", err
		}
		return p.People.Reset(r.Context(), u.Tenant.ID, by, r.PostFormValue("request"), m.Email)
	})
}

// changeMember confirms the password and changes a member. It then shows the link that
// change created, redirects to the list, or shows the errors on the member's page.
func (p *Handler) changeMember(w http.ResponseWriter, r *http.Request, u user, m people.Member, name string,
	change func(tenancy.Actor) (link people.Token, err error)) error {
	page := memberPage{form: submitted(r), Member: m, Change: name}
	if err := p.confirmPassword(w, r, &u, page.form, "password-"+name); err != nil {
		return err
	}
	if len(page.Errors) == 0 {
		link, err := change(p.by(r, u))
		invalid, isInvalid := errors.AsType[tenancy.InvalidError](err)
		switch {
		case errors.Is(err, people.ErrLastOwner):
			page.Errors[""] = u.T("This is the last owner. Make another member an owner first.")
		case errors.Is(err, people.ErrElsewhere):
			page.Errors[""] = u.T("This person is also a member of other accounts. " +
				"Only the operator of this service can reset the password.")
		case isInvalid:
			page.Errors["role"] = u.Format.Sentence("The role " + invalid["role"][0] + ".")
		case err != nil:
			return err
		case link != "":
			return p.show(w, http.StatusOK, "link-created", u, createdLink{m.Email, "reset", LinkURL(p.BaseURL, link)})
		default:
			redirect(w, r, u.path("/members"))
			return nil
		}
	}
	if name == "remove" {
		return p.showRemoveWith(w, r, u, http.StatusUnprocessableEntity, page)
	}
	// Each form of the page needs its fields, although only one of them was submitted.
	page.Set("role", cmp.Or(page.Get("role"), string(m.Role)))
	page.Set("request", cmp.Or(page.Get("request"), rand.Text()))
	return p.show(w, http.StatusUnprocessableEntity, "member", u, page)
}
