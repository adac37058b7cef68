package pages

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/people"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// invitation returns a new form of an invitation.
func (s *site) invitation(name string) url.Values {
	return url.Values{"email": {s.email(name)}, "role": {"viewer"}, "request": {rand.Text()}}
}

func TestFormCreatesOneLink(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	owner := s.mustVisitor(t, "owner", people.Owner)
	member := s.mustPerson(t, "member", s.a, people.Viewer)
	page := s.get(t, owner, s.path("/members"), http.StatusOK)
	request := hiddenRequest.FindStringSubmatch(page.body)
	if request == nil {
		t.Fatalf("the form has no request: %s", page.body)
	}
	form := s.invitation("new")
	form.Set("request", request[1])
	memberPath := s.path(fmt.Sprintf("/members/%d", member))
	reset := s.get(t, owner, memberPath, http.StatusOK)
	for _, c := range []call{
		{path: s.path("/members"), form: form},
		{path: memberPath + "/reset", form: url.Values{"request": {hiddenRequest.FindStringSubmatch(reset.body)[1]}}},
	} {
		c.cookie = owner
		made := s.try(t, c, http.StatusOK, "/settings/link/")
		_, rest, _ := strings.Cut(made.body, "/settings/link/")
		for range 2 {
			resent := s.try(t, c, http.StatusConflict, "This link was already created")
			if strings.Contains(resent.body, "/settings/link/") {
				t.Errorf("%s shows the link twice", c.path)
			}
		}
		s.get(t, "", "/settings/link/"+rest[:43], http.StatusOK)
	}
	if _, total, err := tenants.AuditLog(t.Context(), s.Database.DB, s.a.ID, "", 1, 9); err != nil || total != 3 {
		t.Errorf("logged %d auditFilters, %v, want tenant.create and the two", total, err)
	}
}

func TestOwnerRevokesALink(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	owner, viewer := s.mustVisitor(t, "owner", people.Owner), s.mustVisitor(t, "viewer", people.Viewer)
	if got := s.get(t, owner, s.path("/members"), http.StatusOK); strings.Contains(got.body, "Pending links") {
		t.Error("the page lists links before one was created")
	}
	made := s.post(t, owner, s.path("/members"), s.invitation("new"), http.StatusOK)
	_, rest, _ := strings.Cut(made.body, "/settings/link/")
	link := "/settings/link/" + rest[:43]
	revoke := func(page string) string {
		_, rest, found := strings.Cut(page, `href="`+s.path("/links/"))
		if !found {
			t.Fatalf("the page has no link to revoke: %s", page)
		}
		path, _, _ := strings.Cut(rest, `"`)
		return s.path("/links/" + path)
	}
	page := s.get(t, owner, s.path("/members"), http.StatusOK, "Pending links", "Revoke the link for "+s.email("new"))
	if strings.Contains(page.body, rest[:43]) {
		t.Error("the list shows the token of a link")
	}
	got := s.get(t, viewer, s.path("/members"), http.StatusOK)
	if strings.Contains(got.body, "Pending links") || strings.Contains(got.body, s.email("new")) {
		t.Error("a viewer sees pending links")
	}
	outsider := s.mustSession(t, s.mustPerson(t, "outsider", s.b, people.Owner))
	elsewhere := strings.Replace(revoke(page.body), s.a.Slug, s.b.Slug, 1)
	s.post(t, outsider, elsewhere, url.Values{}, http.StatusNotFound)
	s.get(t, "", link, http.StatusOK)
	s.get(t, owner, revoke(page.body), http.StatusOK, "Revoke this invitation?", "can no longer join")
	s.get(t, "", link, http.StatusOK)
	s.post(t, owner, revoke(page.body), url.Values{}, http.StatusSeeOther, s.path("/members"))
	s.get(t, "", link, http.StatusNotFound, "This link is no longer valid")
	s.get(t, owner, revoke(page.body), http.StatusNotFound)
	s.post(t, owner, revoke(page.body), url.Values{}, http.StatusNotFound)
	found, _, err := tenants.AuditLog(t.Context(), s.Database.DB, s.a.ID, "member.", 1, 1)
	if err != nil || len(found) != 1 || found[0].Action != "member.invite_revoke" || found[0].Actor != s.email("owner") {
		t.Errorf("logged %+v, %v, want member.invite_revoke by the owner", found, err)
	}
}

// The database checks the role again, because it may have changed since the page did.
func TestChangeOfRoleDuringARequest(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	s.mustPerson(t, "first", s.a, people.Owner)
	second := s.mustPerson(t, "second", s.a, people.Owner)
	token := people.Token(s.mustSession(t, second))
	session, err := s.People.Session(t.Context(), token, s.a.Slug)
	if err != nil {
		t.Fatal(err)
	}
	s.alter(t, `update memberships set role = 'viewer' where user_id = $1`, second)
	before := s.stored(t)
	form := s.invitation("new").Encode()
	r := httptest.NewRequestWithContext(t.Context(), "POST", s.path("/members"), strings.NewReader(form))
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if err := r.ParseForm(); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	err = New(s.Options).inviteMember(w, r, user{Session: session, token: token})
	if !errors.Is(err, tenancy.ErrEnded) || w.Body.Len() > 0 {
		t.Errorf("inviteMember = %v, %s, want ErrEnded", err, w.Body)
	}
	if s.stored(t) != before {
		t.Error("the database changed")
	}
}

func TestInvitationLinkWorksOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	owner := s.mustVisitor(t, "owner", people.Owner)
	form := s.invitation("new")
	form.Set("email", " "+strings.ToUpper(s.email("new")))
	created := s.post(t, owner, s.path("/members"), form, http.StatusOK, "Invitation for "+s.email("new"))
	_, rest, found := strings.Cut(created.body, "https://shop.example.com/settings/link/")
	if !found {
		t.Fatalf("the page has no link: %s", created.body)
	}
	path := "/settings/link/" + rest[:43]
	s.get(t, "", path, http.StatusOK, "Viewer", s.email("new"))
	s.post(t, "", path, url.Values{"password": {"short"}}, http.StatusUnprocessableEntity,
		passwordRefused, `aria-describedby="password-hint password-error"`)
	chosen := url.Values{"password": {"brand new horse"}}
	got := s.post(t, "", path, chosen, http.StatusSeeOther)
	s.get(t, got.session(), s.path("/keys"), http.StatusOK, s.email("new"))
	s.post(t, "", path, chosen, http.StatusNotFound, "This link is no longer valid")
	if strings.Contains(s.stored(t), rest[:43]) {
		t.Error("the database contains the token of the link")
	}
}

// An owner can open the links that they create. The pages of a link must not reveal which
// e-mail addresses have accounts.
func TestInvitationDoesNotRevealAccounts(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	owner := s.mustVisitor(t, "owner", people.Owner)
	s.mustPerson(t, "known", s.b, people.Owner)
	varying := regexp.MustCompile(`(known|other)@|It expires on .*|__Host-storeroom(-form)?=[\w-]*|name="form-token" .*`)
	responses := map[string]string{}
	for _, name := range []string{"known", "other"} {
		created := s.post(t, owner, s.path("/members"), s.invitation(name), http.StatusOK)
		_, rest, _ := strings.Cut(created.body, "/settings/link/")
		link := "/settings/link/" + rest[:43]
		compare := func(step string, got reply) {
			t.Helper()
			response := varying.ReplaceAllString(fmt.Sprint(got.StatusCode, got.Header, got.body), "")
			if first, found := responses[step]; found && response != first {
				t.Errorf("%s of %s: the response differs:\n%s", step, name, cmp.Diff(first, response))
			}
			responses[step] = response
		}
		refuse := func(password string) {
			t.Helper()
			compare("a refusal", s.post(t, "", link, url.Values{"password": {password}}, http.StatusUnprocessableEntity))
			logged, _, err := tenants.AuditLog(t.Context(), s.Database.DB, s.a.ID, "", 1, 1)
			if err != nil || logged[0].Action != "member.join_refused" || logged[0].Target != s.email(name) {
				t.Errorf("logged %+v, %v, want member.join_refused", logged, err)
			}
		}
		compare("the page", s.get(t, "", link, http.StatusOK))
		for _, password := range []string{"", "short", "qwerty123456", strings.Repeat("x", 129), strings.Repeat("x", 9999)} {
			refuse(password)
		}
		if name == "known" {
			refuse("another good password")
		}
		compare("success", s.post(t, "", link, url.Values{"password": {password}}, http.StatusSeeOther))
	}
}

// A later release can have given a role while this one still serves.
func TestARoleThatIsNotKnownHasNoAccess(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	member := s.mustPerson(t, "member", s.a, people.Viewer)
	cookie := s.mustSession(t, member)
	s.get(t, cookie, s.path("/members"), http.StatusOK)
	s.alter(t, `alter table memberships drop constraint memberships_role_check`)
	for _, role := range []string{"auditor", "Clerk"} {
		s.alter(t, `update memberships set role = $2 where user_id = $1`, member, role)
		for _, r := range New(s.Options).routes() {
			if r.need == public || r.need == signedIn {
				continue
			}
			path := strings.NewReplacer("{slug}", s.a.Slug, "{id}", "1", "{number}", "1").Replace(r.pattern)
			c := call{cookie: cookie, path: path}
			if r.method == "POST" {
				c.form = url.Values{}
			}
			s.try(t, c, http.StatusForbidden)
		}
	}
}
