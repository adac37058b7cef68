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

// roles are what a member can be.
var roles = []choice{
	{"viewer", "Viewer", "Sees keys, members and the account."},
	{"admin", "Admin", "Makes, rolls and revokes keys, and reads the audit log."},
	{"owner", "Owner", "Everything, members included."},
}

// linkCreation bounds how fast a member makes links.
var linkCreation = ratelimit.Refill{Burst: 10, Every: time.Minute}

type membersPage struct {
	Members     []people.Member
	Links       []people.PendingLink // for an owner
	Roles       []choice
	Email, Role string // of the invitation, as it was filled in
	Request     string // makes the form good for one link
	Again       again
	Faults      faults
}

func (p *Pages) listMembers(w http.ResponseWriter, r *http.Request, v visit) error {
	return p.showMembers(w, r, v, http.StatusOK, membersPage{Role: "viewer", Request: rand.Text(), Again: passwordAgain(v)})
}

func (p *Pages) showMembers(w http.ResponseWriter, r *http.Request, v visit, status int, page membersPage) (err error) {
	if page.Members, err = p.People.Members(r.Context(), v.Tenant.ID, p.by(r, v)); err != nil {
		return err
	}
	if v.may(owner) {
		if page.Links, err = p.People.Links(r.Context(), v.Tenant.ID, p.by(r, v)); err != nil {
			return err
		}
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
	page := membersPage{Email: r.PostFormValue("email"), Role: r.PostFormValue("role"), Request: r.PostFormValue("request"), Faults: faults{}}
	if !requestPattern.MatchString(page.Request) {
		return errForm // no form of ours
	}
	var err error
	if page.Again, err = p.confirm(w, r, &v); err != nil {
		return err
	}
	if page.Again.Fault != "" {
		page.Faults["password"] = page.Again.Fault
		return p.showMembers(w, r, v, http.StatusUnprocessableEntity, page)
	}
	if err := p.throttleLinks(r, v); err != nil {
		return err
	}
	token, err := p.People.Invite(r.Context(), v.Tenant.ID, p.by(r, v), page.Request, page.Email, people.Role(page.Role))
	invalid, isInvalid := errors.AsType[tenancy.InvalidError](err)
	switch {
	case errors.Is(err, people.ErrRepeated):
		return p.show(w, http.StatusConflict, "link-again", v, nil)
	case errors.Is(err, tenancy.ErrConflict):
		page.Faults["email"] = "This person is a member already."
	case isInvalid:
		for field, messages := range invalid {
			page.Faults[field] = "This " + messages[0] + "."
		}
	case err != nil:
		return err
	default:
		return p.show(w, http.StatusOK, "link-made", v, madeLink{people.Account(page.Email), "invitation", LinkURL(p.BaseURL, token)})
	}
	return p.showMembers(w, r, v, http.StatusUnprocessableEntity, page)
}

func (p *Pages) throttleLinks(r *http.Request, v visit) error {
	return p.throttle(r, bucket{"l:" + v.Email, linkCreation})
}

// revokeLink ends a link that nobody has used yet.
func (p *Pages) revokeLink(w http.ResponseWriter, r *http.Request, v visit) error {
	id, err := strconv.ParseInt(chi.URLParam(r, "id"), 10, 64)
	if err != nil {
		return tenancy.ErrNotFound
	}
	if err := p.People.EndLink(r.Context(), v.Tenant.ID, p.by(r, v), id); err != nil {
		return err
	}
	http.Redirect(w, r, "/settings/t/"+v.Tenant.Slug+"/members", http.StatusSeeOther)
	return nil
}

// LinkURL is where a browser opens a one-time link.
func LinkURL(base *url.URL, token people.Token) string {
	return base.JoinPath("settings", "link", token.Reveal()).String()
}

type memberPage struct {
	people.Member
	Chosen  string // role, as the form was filled in
	Roles   []choice
	Request string // makes the form of a reset good for one link
	Again   again
	Faults  faults
}

func (p *Pages) member(r *http.Request, v visit) (people.Member, error) {
	id, err := strconv.ParseInt(chi.URLParam(r, "id"), 10, 64)
	if err != nil {
		return people.Member{}, tenancy.ErrNotFound
	}
	members, err := p.People.Members(r.Context(), v.Tenant.ID, p.by(r, v))
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
	return p.show(w, http.StatusOK, "member", v, newMemberPage(m, v))
}

func newMemberPage(m people.Member, v visit) memberPage {
	return memberPage{Member: m, Chosen: string(m.Role), Roles: roles, Request: rand.Text(), Again: passwordAgain(v), Faults: faults{}}
}

// confirmIn is confirm for one of the page's forms. It says whether to go on.
func (p *Pages) confirmIn(w http.ResponseWriter, r *http.Request, v *visit, page *memberPage, form string) (goOn bool, err error) {
	if page.Again, err = p.confirm(w, r, v); err != nil {
		return false, err
	}
	page.Again.Form = form
	if page.Again.Fault != "" {
		page.Faults[page.Again.ID()] = page.Again.Fault
	}
	return page.Again.Fault == "", nil
}

func (p *Pages) changeRole(w http.ResponseWriter, r *http.Request, v visit) error {
	return p.changeMember(w, r, v, "role", func(m people.Member, by tenancy.Actor) error {
		return p.People.ChangeRole(r.Context(), v.Tenant.ID, by, m.UserID, people.Role(r.PostFormValue("role")))
	})
}

func (p *Pages) removeMember(w http.ResponseWriter, r *http.Request, v visit) error {
	return p.changeMember(w, r, v, "remove", func(m people.Member, by tenancy.Actor) error {
		return p.People.Remove(r.Context(), v.Tenant.ID, by, m.UserID)
	})
}

// changeMember does something to the member of the address and goes back to the
// list, or says on the member's page why not.
func (p *Pages) changeMember(w http.ResponseWriter, r *http.Request, v visit, form string, change func(people.Member, tenancy.Actor) error) error {
	m, err := p.member(r, v)
	if err != nil {
		return err
	}
	page := newMemberPage(m, v)
	page.Chosen = cmp.Or(r.PostFormValue("role"), page.Chosen)
	goOn, err := p.confirmIn(w, r, &v, &page, form)
	if err != nil {
		return err
	}
	if goOn {
		if err := page.note(change(m, p.by(r, v))); err != nil {
			return err
		}
	}
	if len(page.Faults) > 0 {
		return p.show(w, http.StatusUnprocessableEntity, "member", v, page)
	}
	http.Redirect(w, r, "/settings/t/"+v.Tenant.Slug+"/members", http.StatusSeeOther)
	return nil
}

// note puts into the page what a person can mend about an error, and returns any
// other.
func (page *memberPage) note(err error) error {
	invalid, isInvalid := errors.AsType[tenancy.InvalidError](err)
	switch {
	case errors.Is(err, people.ErrLastOwner):
		page.Faults[""] = "This is the last owner: make somebody else an owner first."
	case errors.Is(err, people.ErrElsewhere):
		page.Faults[""] = "This account belongs to other businesses too: only the operator of the service can reset its password."
	case isInvalid:
		page.Faults["role"] = "The role " + invalid["role"][0] + "."
	default:
		return err
	}
	return nil
}

// resetMember makes a link for another password and shows it in the answer to this
// very request.
func (p *Pages) resetMember(w http.ResponseWriter, r *http.Request, v visit) error {
	m, err := p.member(r, v)
	if err != nil {
		return err
	}
	page := newMemberPage(m, v)
	if page.Request = r.PostFormValue("request"); !requestPattern.MatchString(page.Request) {
		return errForm // no form of ours
	}
	goOn, err := p.confirmIn(w, r, &v, &page, "reset")
	if err != nil {
		return err
	}
	if !goOn {
		return p.show(w, http.StatusUnprocessableEntity, "member", v, page)
	}
	if err := p.throttleLinks(r, v); err != nil {
		return err
	}
	token, err := p.People.Reset(r.Context(), v.Tenant.ID, p.by(r, v), page.Request, m.Email)
	if errors.Is(err, people.ErrRepeated) {
		return p.show(w, http.StatusConflict, "link-again", v, nil)
	}
	if err := page.note(err); err != nil {
		return err
	}
	if len(page.Faults) > 0 {
		return p.show(w, http.StatusUnprocessableEntity, "member", v, page)
	}
	return p.show(w, http.StatusOK, "link-made", v, madeLink{m.Email, "reset", LinkURL(p.BaseURL, token)})
}
