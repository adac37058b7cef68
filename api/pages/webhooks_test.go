package pages

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/storeroom/storeroom/tenancy/people"
)

var hiddenPrevious = regexp.MustCompile(`name="previous" value="([^"]*)"`)

// A second rotation would end the secret that the receiver has.
func TestAFormRotatesASecretOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	cookie := s.mustVisitor(t, "ann", people.Admin)
	path := s.path(fmt.Sprint("/webhooks/", s.mustWebhook(t, "https://shop.example.com")))
	for range 2 { // the first rotation, and another one
		page := s.get(t, cookie, path, http.StatusOK)
		form := url.Values{"previous": {html.UnescapeString(hiddenPrevious.FindStringSubmatch(page.body)[1])}}
		if !strings.Contains(s.post(t, cookie, path+"/rotate", form, http.StatusOK).body, "whsec_") {
			t.Error("the new secret is not shown")
		}
		before := s.stored(t)
		s.post(t, cookie, path+"/rotate", form, http.StatusConflict, "This secret was already rotated")
		if s.stored(t) != before {
			t.Error("the form has rotated the secret twice")
		}
	}
}

func TestThePersonWhoEndsAMakerDecidesAboutItsWebhooks(t *testing.T) {
	t.Parallel()
	s := newSite(t, "http://127.0.0.1:8080")
	ann := s.mustPerson(t, "ann", s.a, people.Owner)
	cookie := s.mustSession(t, ann)
	state := func(of int64) string {
		var text string
		err := s.super.QueryRow(t.Context(), `
			select concat_ws(' ', state, pause_reason, maker_type, maker_id) from webhooks where id = $1`, of).Scan(&text)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for _, choice := range []struct{ form, want string }{
		{"pause", "paused maker_gone "}, {"keep", fmt.Sprint("active member ", ann)},
	} {
		key := s.mustKey(t, choice.form)
		ofKey := s.mustWebhook(t, "https://key.example.com")
		s.alter(t, `update webhooks set maker_type = 'key', maker_id = $2, maker_name = 'x' where id = $1`, ofKey, key.ID)
		path := s.path(fmt.Sprintf("/keys/%d/revoke", key.ID))
		s.get(t, cookie, path, http.StatusOK, "https://key.example.com", "Pause them")
		s.post(t, cookie, path, url.Values{"webhooks": {choice.form}}, http.StatusSeeOther)
		if got := state(ofKey); !strings.HasPrefix(got, choice.want) {
			t.Errorf("%s: the webhook of the key is %q, want %q", choice.form, got, choice.want)
		}
		eve := s.mustPerson(t, "eve-"+choice.form, s.a, people.Admin)
		ofMember := s.mustWebhook(t, "https://member.example.com")
		s.alter(t, `update webhooks set maker_type = 'member', maker_id = $2, maker_name = 'x' where id = $1`, ofMember, eve)
		path = s.path(fmt.Sprintf("/members/%d/remove", eve))
		s.get(t, cookie, path, http.StatusOK, "https://member.example.com", "Pause them")
		s.post(t, cookie, path, url.Values{"webhooks": {choice.form}}, http.StatusSeeOther)
		if got := state(ofMember); !strings.HasPrefix(got, choice.want) {
			t.Errorf("%s: the webhook of the member is %q, want %q", choice.form, got, choice.want)
		}
	}
	t.Run("who leaves keeps none", func(t *testing.T) {
		owner := s.mustPerson(t, "leaving", s.a, people.Owner)
		own := s.mustWebhook(t, "https://leaving.example.com")
		s.alter(t, `update webhooks set maker_type = 'member', maker_id = $2, maker_name = 'x' where id = $1`, own, owner)
		s.post(t, s.mustSession(t, owner), s.path(fmt.Sprintf("/members/%d/remove", owner)), url.Values{"webhooks": {"keep"}},
			http.StatusSeeOther)
		if got := state(own); !strings.HasPrefix(got, "paused maker_gone") {
			t.Errorf("the webhook is %q, want it paused", got)
		}
	})
	t.Run("who creates a webhook is its maker", func(t *testing.T) {
		form := url.Values{"url": {"https://own.example.com"}, "type": {"seller"}, "batch_size": {"100"}}
		for name, values := range fields(t, s.get(t, cookie, s.path("/webhooks/new"), http.StatusOK).body) {
			form[name] = values
		}
		var before, after, id int64
		count := func(n *int64) {
			t.Helper()
			if err := s.super.QueryRow(t.Context(), `select count(*), max(id) from webhooks`).Scan(n, &id); err != nil {
				t.Fatal(err)
			}
		}
		count(&before)
		s.post(t, cookie, s.path("/webhooks"), form, http.StatusOK, "whsec_")
		count(&after)
		s.post(t, cookie, s.path("/webhooks"), form, http.StatusSeeOther, s.path(fmt.Sprint("/webhooks/", id))) // a double click
		if count(&after); after != before+1 {
			t.Errorf("the same form twice makes %d webhooks, want 1", after-before)
		}
		if got, want := state(id), fmt.Sprint("active member ", ann); got != want {
			t.Errorf("the webhook is %q, want %q", got, want)
		}
		s.get(t, cookie, s.path(fmt.Sprint("/webhooks/", id)), http.StatusOK, "Made by "+"ann@")
	})
}
