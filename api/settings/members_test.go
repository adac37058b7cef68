package settings

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/people"
)

// invitation is the form of one, as a browser sends it.
func (s *site) invitation(name string) url.Values {
	return url.Values{"email": {s.email(name)}, "role": {"viewer"}, "request": {rand.Text()}}
}

func TestAFormMakesOneLink(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	owner := s.mustVisitor(t, "owner", people.Owner)
	member := s.mustPerson(t, "member", s.a, people.Viewer)
	page := s.try(t, call{path: s.path("/members"), cookie: owner}, http.StatusOK)
	request := hiddenRequest.FindStringSubmatch(page.body)
	if request == nil {
		t.Fatalf("the form has no request: %s", page.body)
	}
	form := s.invitation("new")
	form.Set("request", request[1])
	reset := s.try(t, call{path: s.path(fmt.Sprintf("/members/%d", member)), cookie: owner}, http.StatusOK)
	for _, c := range []call{
		{path: s.path("/members"), form: form},
		{path: s.path(fmt.Sprintf("/members/%d/reset", member)), form: url.Values{"request": {hiddenRequest.FindStringSubmatch(reset.body)[1]}}},
	} {
		c.cookie = owner
		made := s.try(t, c, http.StatusOK, "/settings/link/")
		_, rest, _ := strings.Cut(made.body, "/settings/link/")
		for range 2 {
			if again := s.try(t, c, http.StatusConflict, "This link was already created"); strings.Contains(again.body, "/settings/link/") {
				t.Errorf("%s shows a link again", c.path)
			}
		}
		s.try(t, call{path: "/settings/link/" + rest[:43]}, http.StatusOK)
	}
	if _, total, err := tenancy.AuditLog(t.Context(), s.Database.DB, s.a.ID, "", 1, 9); err != nil || total != 3 {
		t.Errorf("logged %d auditFilters, %v, want tenant.create and the two", total, err)
	}
}

func TestAnOwnerRevokesALink(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	owner, viewer := s.mustVisitor(t, "owner", people.Owner), s.mustVisitor(t, "viewer", people.Viewer)
	if got := s.try(t, call{path: s.path("/members"), cookie: owner}, http.StatusOK); strings.Contains(got.body, "Pending links") {
		t.Error("links are pending before any was made")
	}
	made := s.try(t, call{path: s.path("/members"), cookie: owner, form: s.invitation("new")}, http.StatusOK)
	_, rest, _ := strings.Cut(made.body, "/settings/link/")
	link := "/settings/link/" + rest[:43]
	revoke := func(page string) string {
		_, rest, found := strings.Cut(page, `action="`+s.path("/links/"))
		if !found {
			t.Fatalf("the page offers no link to revoke: %s", page)
		}
		path, _, _ := strings.Cut(rest, `"`)
		return s.path("/links/" + path)
	}
	page := s.try(t, call{path: s.path("/members"), cookie: owner}, http.StatusOK, "Pending links", "Revoke the link for "+s.email("new"))
	if strings.Contains(page.body, rest[:43]) {
		t.Error("the list shows a link")
	}
	if got := s.try(t, call{path: s.path("/members"), cookie: viewer}, http.StatusOK); strings.Contains(got.body, "Pending links") || strings.Contains(got.body, s.email("new")) {
		t.Error("a viewer sees what links are pending")
	}
	stranger := s.mustSession(t, s.mustPerson(t, "stranger", s.b, people.Owner))
	elsewhere := strings.Replace(revoke(page.body), s.a.Slug, s.b.Slug, 1)
	s.try(t, call{path: elsewhere, cookie: stranger, form: url.Values{}}, http.StatusNotFound)
	s.try(t, call{path: link}, http.StatusOK)
	s.try(t, call{path: revoke(page.body), cookie: owner, form: url.Values{}}, http.StatusSeeOther, s.path("/members"))
	s.try(t, call{path: link}, http.StatusNotFound, "This link is no longer valid")
	s.try(t, call{path: revoke(page.body), cookie: owner, form: url.Values{}}, http.StatusNotFound)
	found, _, err := tenancy.AuditLog(t.Context(), s.Database.DB, s.a.ID, "member.", 1, 1)
	if err != nil || len(found) != 1 || found[0].Action != "member.invite_revoke" || found[0].Actor != s.email("owner") {
		t.Errorf("logged %+v, %v, want member.invite_revoke by the owner", found, err)
	}
}

func TestLinksAreMadeAtABoundedRate(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	s.throttled(t, func(name string) string {
		owner := s.mustVisitor(t, name, people.Owner)
		refused := 0
		for n := range linkCreation.Burst + 3 {
			got := s.do(t, call{path: s.path("/members"), cookie: owner, form: s.invitation(fmt.Sprintf("%s.new%d", name, n))})
			if got.StatusCode == http.StatusTooManyRequests && got.Header.Get("Retry-After") != "" {
				refused++
			}
		}
		if refused < 2 || refused > 3 {
			return fmt.Sprintf("%d were refused, want 3 (or 2, where it took a minute)", refused)
		}
		return ""
	})
}

// The database asks for the role again: what the page has seen may have changed.
func TestARoleThatIsLostMeanwhileOpensNothing(t *testing.T) {
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
	r := httptest.NewRequestWithContext(t.Context(), "POST", s.path("/members"), strings.NewReader(s.invitation("new").Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	if err := New(s.Options).inviteMember(w, r, user{session, token}); !errors.Is(err, tenancy.ErrEnded) || w.Body.Len() > 0 {
		t.Errorf("inviteMember = %v, %s, want ErrEnded", err, w.Body)
	}
	if s.stored(t) != before {
		t.Error("something changed")
	}
}
