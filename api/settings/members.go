package settings

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/people"
)

// roles are what a member can be.
var roles = []choice{
	{"viewer", "Viewer", "Sees keys, members and the account."},
	{"admin", "Admin", "Makes, rolls and revokes keys, and reads the audit log."},
	{"owner", "Owner", "Everything, members included."},
}

type membersPage struct {
	Members     []people.Member
	Roles       []choice
	Email, Role string // of the invitation, as it was filled in
	Again       again
	Faults      map[string]string
}

func (p *Pages) listMembers(w http.ResponseWriter, r *http.Request, v visit) error {
	return p.showMembers(w, r, v, http.StatusOK, membersPage{Role: "viewer", Again: passwordAgain(v)})
}

func (p *Pages) showMembers(w http.ResponseWriter, r *http.Request, v visit, status int, page membersPage) (err error) {
	if page.Members, err = p.People.Members(r.Context(), v.Tenant.ID); err != nil {
		return err
	}
	page.Roles = roles
	return p.show(w, status, "members", v, page)
}

// madeLink is the one page that shows a link.
type madeLink struct {
	Email, Purpose, URL string
}

// inviteMember makes a link and shows it in the answer to this very request.
func (p *Pages) inviteMember(w http.ResponseWriter, r *http.Request, v visit) error {
	page := membersPage{Email: r.PostFormValue("email"), Role: r.PostFormValue("role"), Faults: map[string]string{}}
	var err error
	if page.Again, err = p.confirm(w, r, v); err != nil {
		return err
	}
	if page.Again.Fault != "" {
		return p.showMembers(w, r, v, http.StatusUnprocessableEntity, page)
	}
	token, err := p.People.Invite(r.Context(), v.Tenant.ID, v.Actor(p.Address(r)), page.Email, tenancy.Role(page.Role))
	faults, isInvalid := errors.AsType[tenancy.InvalidError](err)
	switch {
	case errors.Is(err, tenancy.ErrConflict):
		page.Faults["email"] = "This person is a member already."
	case isInvalid:
		for field, messages := range faults {
			page.Faults[field] = "This " + messages[0] + "."
		}
	case err != nil:
		return err
	default:
		return p.show(w, http.StatusOK, "link-made", v, madeLink{page.Email, "invitation", LinkURL(p.BaseURL, token)})
	}
	return p.showMembers(w, r, v, http.StatusUnprocessableEntity, page)
}

// LinkURL is where a browser opens a one-time link.
func LinkURL(base *url.URL, token people.Token) string {
	return base.JoinPath("settings", "link", token.Reveal()).String()
}

type memberPage struct {
	people.Member
	Chosen string // role, as the form was filled in
	Roles  []choice
	Again  again
	Fault  string
}

func (p *Pages) member(r *http.Request, v visit) (people.Member, error) {
	id, err := strconv.ParseInt(chi.URLParam(r, "id"), 10, 64)
	if err != nil {
		return people.Member{}, tenancy.ErrNotFound
	}
	members, err := p.People.Members(r.Context(), v.Tenant.ID)
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

func (p *Pages) showMember(w http.ResponseWriter, r *http.Request, v visit) error {
	m, err := p.member(r, v)
	if err != nil {
		return err
	}
	return p.show(w, http.StatusOK, "member", v, memberPage{Member: m, Chosen: string(m.Role), Roles: roles, Again: passwordAgain(v)})
}

func (p *Pages) changeRole(w http.ResponseWriter, r *http.Request, v visit) error {
	return p.changeMember(w, r, v, func(m people.Member, by tenancy.Actor) error {
		return p.People.ChangeRole(r.Context(), v.Tenant.ID, by, m.UserID, tenancy.Role(r.PostFormValue("role")))
	})
}

func (p *Pages) removeMember(w http.ResponseWriter, r *http.Request, v visit) error {
	return p.changeMember(w, r, v, func(m people.Member, by tenancy.Actor) error {
		return p.People.Remove(r.Context(), v.Tenant.ID, by, m.UserID)
	})
}

// changeMember does something to the member of the address and goes back to the
// list, or says on the member's page why not.
func (p *Pages) changeMember(w http.ResponseWriter, r *http.Request, v visit, change func(people.Member, tenancy.Actor) error) error {
	m, err := p.member(r, v)
	if err != nil {
		return err
	}
	page := memberPage{Member: m, Chosen: cmp.Or(r.PostFormValue("role"), string(m.Role)), Roles: roles}
	if page.Again, err = p.confirm(w, r, v); err != nil {
		return err
	}
	if page.Again.Fault == "" {
		if page.Fault, err = memberFault(change(m, v.Actor(p.Address(r)))); err != nil {
			return err
		}
	}
	if page.Fault != "" || page.Again.Fault != "" {
		return p.show(w, http.StatusUnprocessableEntity, "member", v, page)
	}
	http.Redirect(w, r, "/settings/t/"+v.Tenant.Slug+"/members", http.StatusSeeOther)
	return nil
}

// memberFault is what a person can mend about an error.
func memberFault(err error) (fault string, other error) {
	invalid, isInvalid := errors.AsType[tenancy.InvalidError](err)
	switch {
	case errors.Is(err, people.ErrLastOwner):
		return "This is the last owner: make somebody else an owner first.", nil
	case errors.Is(err, people.ErrElsewhere):
		return "This account belongs to other businesses too: only the operator of the service can reset its password.", nil
	case isInvalid:
		return "The role " + invalid["role"][0] + ".", nil
	}
	return "", err
}

// resetMember makes a link for another password and shows it in the answer to this
// very request.
func (p *Pages) resetMember(w http.ResponseWriter, r *http.Request, v visit) error {
	m, err := p.member(r, v)
	if err != nil {
		return err
	}
	page := memberPage{Member: m, Chosen: cmp.Or(r.PostFormValue("role"), string(m.Role)), Roles: roles}
	if page.Again, err = p.confirm(w, r, v); err != nil {
		return err
	}
	if page.Again.Fault != "" {
		return p.show(w, http.StatusUnprocessableEntity, "member", v, page)
	}
	token, err := p.People.Reset(r.Context(), v.Tenant.ID, v.Actor(p.Address(r)), m.Email)
	if page.Fault, err = memberFault(err); err != nil {
		return err
	}
	if page.Fault != "" {
		return p.show(w, http.StatusUnprocessableEntity, "member", v, page)
	}
	return p.show(w, http.StatusOK, "link-made", v, madeLink{m.Email, "reset", LinkURL(p.BaseURL, token)})
}
