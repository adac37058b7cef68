package settings

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
