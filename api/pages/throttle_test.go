package pages

import (
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/people"
)

// throttled runs test with the name of a new user. It repeats the test if an instance has decided in memory, because
// those decisions do not count in Redis.
func (s *site) throttled(t *testing.T, test func(name string) (failure string)) {
	t.Helper()
	for n := 1; ; n++ {
		before := s.Limiter.Stats().Local
		failure := test(fmt.Sprint("ann", n))
		switch local := s.Limiter.Stats().Local - before; {
		case failure == "":
			return
		case local == 0 || n == 8:
			t.Fatalf("%s (%d decisions in memory)", failure, local)
		}
	}
}

// attempt signs in from a network and returns the response.
func (s *site) attempt(t *testing.T, name, network, password string) reply {
	t.Helper()
	return s.do(t, call{path: "/settings/sign-in", form: s.credentials(name, password), from: network})
}

func TestSignInIsLimitedPerAccountAndNetwork(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	s.throttled(t, func(name string) string {
		s.mustPerson(t, name, s.a, people.Owner)
		attacker := "attacker of " + name
		for n := range perAccountAndNetwork.Burst {
			if got := s.attempt(t, name, attacker, "wrong"); got.StatusCode != http.StatusUnprocessableEntity {
				return fmt.Sprintf("attempt %d = %d, want 422", n, got.StatusCode)
			}
		}
		for n := range 2 * perNetwork.Burst { // rejected attempts take no tokens of the network
			got := s.attempt(t, name, attacker, []string{"wrong", password}[n%2])
			if failure := checkWait(got, perAccountAndNetwork.Every); failure != "" {
				return fmt.Sprintf("attempt %d %s", n, failure)
			}
		}
		if got := s.attempt(t, name, name+" at home", password); got.StatusCode != http.StatusSeeOther {
			return fmt.Sprintf("sign-in from another network = %d, want 303", got.StatusCode)
		}
		spelling := url.Values{"email": {" " + strings.ToUpper(s.email(name)) + " "}, "password": {"wrong"}}
		got := s.do(t, call{path: "/settings/sign-in", form: spelling, from: attacker})
		if got.StatusCode != http.StatusTooManyRequests {
			return fmt.Sprintf("another spelling of the account = %d, want 429", got.StatusCode)
		}
		return ""
	})
}

// checkWait returns an error text unless the response is a 429 page with a wait of at
// most longest.
func checkWait(got reply, longest time.Duration) string {
	header := got.Header.Get("Retry-After")
	seconds, err := strconv.Atoi(header)
	wait := waitError{time.Duration(seconds) * time.Second}
	switch {
	case got.StatusCode != http.StatusTooManyRequests || got.session() != "":
		return fmt.Sprintf("= %d, session %q, want 429 and no session", got.StatusCode, got.session())
	case err != nil || seconds < 1 || wait.Duration > longest:
		return fmt.Sprintf("has Retry-After: %q, want at most %v", header, longest)
	case !strings.Contains(got.body, wait.advice(sampleFormat())):
		return fmt.Sprintf("has a page without %q", wait.advice(sampleFormat()))
	}
	return ""
}

func TestOnlyFailuresCountAgainstANetwork(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	s.throttled(t, func(name string) string {
		const users = 4
		signIn := func(n int, password string) int {
			return s.attempt(t, fmt.Sprint(name, n), "office of "+name, password).StatusCode
		}
		for n := range users {
			s.mustPerson(t, fmt.Sprint(name, n), s.a, people.Owner)
		}
		for n := range perNetwork.Burst + users {
			if got := signIn(n%users, password); got != http.StatusSeeOther {
				return fmt.Sprintf("sign-in %d = %d, want 303", n, got)
			}
		}
		for n := range perNetwork.Burst {
			if got := signIn(users+n, "wrong"); got != http.StatusUnprocessableEntity {
				return fmt.Sprintf("failure %d = %d, want 422", n, got)
			}
		}
		if got := signIn(2*users+perNetwork.Burst, "wrong"); got != http.StatusTooManyRequests {
			return fmt.Sprintf("another failure = %d, want 429", got)
		}
		return ""
	})
}

func TestWaitInWords(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]string{
		0:                               "1 second",
		time.Second:                     "1 second",
		1100 * time.Millisecond:         "2 seconds",
		2 * time.Minute:                 "120 seconds",
		2*time.Minute + 1:               "3 minutes",
		14*time.Minute + 30*time.Second: "15 minutes",
		15 * time.Minute:                "15 minutes",
	} {
		if got := (&waitError{wait}).advice(sampleFormat()); got != "Please wait "+want+" and try again." {
			t.Errorf("words of %v = %q, want %q", wait, got, want)
		}
	}
}

func TestAttackDoesNotLimitNetworksOfRecentSignIns(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	s.throttled(t, func(name string) string {
		s.mustPerson(t, name, s.a, people.Owner)
		for n := range failures.Burst {
			s.attempt(t, name, fmt.Sprint("network ", n, " of ", name), "wrong")
		}
		for n := range afterManyFailures.Burst + 2 {
			if got := s.attempt(t, name, "home of "+name, password).StatusCode; got != http.StatusSeeOther {
				return fmt.Sprintf("sign-in %d at home = %d, want 303", n, got)
			}
		}
		for range afterManyFailures.Burst {
			s.attempt(t, name, "elsewhere of "+name, "wrong")
		}
		if got := s.attempt(t, name, "elsewhere of "+name, "wrong").StatusCode; got != http.StatusTooManyRequests {
			return fmt.Sprintf("another guess elsewhere = %d, want 429", got)
		}
		return ""
	})
}

func TestAttackFromManyNetworksLocksNoUserOut(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	s.throttled(t, func(name string) string {
		ann, home := s.mustPerson(t, name, s.a, people.Owner), "home against "+name
		attempt := func(from, password string) int {
			return s.attempt(t, name, from+" against "+name, password).StatusCode
		}
		for n := range 50 {
			if got := attempt(fmt.Sprint("network ", n), "wrong"); got != http.StatusUnprocessableEntity {
				return fmt.Sprintf("the guess of network %d = %d, want 422", n, got)
			}
		}
		for n := range afterManyFailures.Burst + 1 {
			want := http.StatusUnprocessableEntity
			if n == afterManyFailures.Burst {
				want = http.StatusTooManyRequests
			}
			if got := attempt("another network", "wrong"); got != want {
				return fmt.Sprintf("guess %d of another network = %d, want %d", n, got, want)
			}
		}
		for n, given := range []string{"a typo", "another", password} {
			want := []int{http.StatusUnprocessableEntity, http.StatusUnprocessableEntity, http.StatusSeeOther}[n]
			if got := attempt("home", given); got != want {
				return fmt.Sprintf("attempt %d at home = %d, want %d", n, got, want)
			}
		}
		for n := range 2 * perLink.Burst { // the attacker may share the network
			attempt("home", fmt.Sprint("wrong ", n))
		}
		return s.checkOtherWaysIn(t, name, ann, home)
	})
}

// checkOtherWaysIn uses an invitation and a reset link, and changes the password in a
// session. These have separate limits.
func (s *site) checkOtherWaysIn(t *testing.T, name string, id int64, network string) (failure string) {
	t.Helper()
	operator := people.New(s.Admin)
	invitation, err := operator.Invite(t.Context(), s.b.ID, tenancy.Operator, "", s.email(name), people.Viewer)
	if err != nil {
		t.Fatal(err)
	}
	reset, err := operator.ResetAnywhere(t.Context(), s.email(name))
	if err != nil {
		t.Fatal(err)
	}
	form := url.Values{"password": {password}}
	for purpose, token := range map[string]people.Token{"invitation": invitation, "reset": reset} {
		got := s.do(t, call{path: "/settings/link/" + token.Reveal(), form: form, from: network})
		if got.StatusCode != http.StatusSeeOther || got.session() == "" {
			return fmt.Sprintf("the %s link = %d, want 303 and a session", purpose, got.StatusCode)
		}
	}
	const other = "another horse battery"
	change := url.Values{"current": {password}, "new": {other}, "confirm": {other}}
	got := s.do(t, call{path: "/settings/password", cookie: s.mustSession(t, id), form: change, from: network})
	if got.StatusCode != http.StatusOK {
		return fmt.Sprintf("a change of the password = %d, want 200", got.StatusCode)
	}
	return ""
}

// An invitation asks for the password of an existing account.
func TestGuessesThroughInvitationsAreLimited(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	s.throttled(t, func(name string) string {
		s.mustPerson(t, name, s.a, people.Owner)
		refused := 0
		for n := range perLink.Burst + 3 {
			// All invitations into the tenant share the limit, from any network.
			token, err := people.New(s.Admin).Invite(t.Context(), s.b.ID, tenancy.Operator, "", s.email(name), people.Viewer)
			if err != nil {
				t.Fatal(err)
			}
			form := url.Values{"password": {"wrong horse battery"}}
			guess := call{path: "/settings/link/" + token.Reveal(), form: form, from: fmt.Sprint("network ", n)}
			switch got := s.do(t, guess); {
			case got.StatusCode == http.StatusTooManyRequests:
				refused++
			case got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(got.body, passwordRefused):
				t.Fatalf("a wrong password = %d: %s", got.StatusCode, got.body)
			}
		}
		if refused != 3 {
			return fmt.Sprintf("%d attempts were refused, want 3", refused)
		}
		return ""
	})
}

func TestInvitationsAreLimited(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	s.throttled(t, func(name string) string {
		owner := s.mustVisitor(t, name, people.Owner)
		refused := 0
		for n := range linksOfUser.Burst + 3 {
			form := s.invitation(fmt.Sprintf("%s.new%d", name, n))
			got := s.do(t, call{path: s.path("/members"), cookie: owner, form: form})
			if got.StatusCode == http.StatusTooManyRequests && got.Header.Get("Retry-After") != "" {
				refused++
			}
		}
		if refused < 2 || refused > 3 {
			return fmt.Sprintf("%d were refused, want 3, or 2 if it took a minute", refused)
		}
		return ""
	})
}

// An owner can accept an invitation and so learn whether an address has an account.
func TestInvitationsOfATenantAreLimited(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	s.throttled(t, func(name string) string {
		s.a = s.MustTenant(t, name+s.mark)
		invite := func(n int) int {
			owner := s.mustVisitor(t, fmt.Sprint(name, ".", n), people.Owner)
			form := s.invitation(fmt.Sprint(name, ".new", n))
			return s.do(t, call{path: s.path("/members"), cookie: owner, form: form}).StatusCode
		}
		for n := range linksOfTenant.Burst {
			if got := invite(n); got != http.StatusOK {
				return fmt.Sprintf("invitation %d = %d, want 200", n, got)
			}
		}
		if got := invite(linksOfTenant.Burst); got != http.StatusTooManyRequests {
			return fmt.Sprintf("another invitation = %d, want 429", got)
		}
		return ""
	})
}

func TestKeyCreationIsLimited(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	admin := s.mustVisitor(t, "admin", people.Admin)
	refused, local := 0, s.Limiter.Stats().Local
	for range keyCreation.Burst + 5 {
		form := url.Values{"name": {"k"}, "preset": {"full"}, "lifetime": {"0"}, "request": {rand.Text()}}
		got := s.do(t, call{path: s.path("/keys"), cookie: admin, form: form})
		if got.StatusCode == http.StatusTooManyRequests && got.Header.Get("Retry-After") != "" {
			refused++
		}
	}
	if s.Limiter.Stats().Local > local {
		return // decisions in memory do not count in Redis
	}
	if refused < 4 || refused > 5 {
		t.Errorf("%d of %d were refused, want 5, or 4 if it took 30 s", refused, keyCreation.Burst+5)
	}
}

// guess is a sign-in with a wrong password.
type guess struct{ name, network string }

// guessTogether sends guesses at the same time and counts the responses by status.
func (s *site) guessTogether(t *testing.T, guesses []guess) map[int]int {
	t.Helper()
	statuses := make(chan int, len(guesses))
	start := make(chan struct{})
	for _, g := range guesses {
		form := s.credentials(g.name, "wrong").Encode()
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/settings/sign-in", strings.NewReader(form))
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.RemoteAddr = g.network
		go func() {
			<-start
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			statuses <- w.Code
		}()
	}
	close(start)
	counts := map[int]int{}
	for range guesses {
		counts[<-statuses]++
	}
	return counts
}

func TestParallelGuessesDoNotPassTheLimitOfANetwork(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	s.throttled(t, func(name string) string {
		const left, together, accounts = 5, 20, 6
		for n := range accounts {
			s.mustPerson(t, fmt.Sprint(name, ".", n), s.a, people.Owner)
		}
		var before, guesses []guess
		for n := range perNetwork.Burst - left + together {
			g := guess{fmt.Sprint(name, ".", n%accounts), "network of " + name}
			if n < perNetwork.Burst-left {
				before = append(before, g)
			} else {
				guesses = append(guesses, g)
			}
		}
		s.guessTogether(t, before)
		want := map[int]int{http.StatusUnprocessableEntity: left, http.StatusTooManyRequests: together - left}
		if got := s.guessTogether(t, guesses); !maps.Equal(got, want) {
			return fmt.Sprintf("%d guesses at the same time = %v, want %v", together, got, want)
		}
		return ""
	})
}

func TestParallelGuessesDoNotPassTheLimitOfAnAccount(t *testing.T) {
	t.Parallel()
	s := newSite(t, "https://shop.example.com")
	s.throttled(t, func(name string) string {
		const left, networks, together = 2, 2, 16
		s.mustPerson(t, name, s.a, people.Owner)
		var before, guesses []guess
		for n := range failures.Burst - left {
			before = append(before, guess{name, fmt.Sprint("network ", n, " of ", name)})
		}
		s.guessTogether(t, before)
		for n := range together {
			guesses = append(guesses, guess{name, fmt.Sprint("last network ", n%networks, " of ", name)})
		}
		checked := left + networks*afterManyFailures.Burst
		want := map[int]int{http.StatusUnprocessableEntity: checked, http.StatusTooManyRequests: together - checked}
		if got := s.guessTogether(t, guesses); !maps.Equal(got, want) {
			return fmt.Sprintf("%d guesses at the same time = %v, want %v", together, got, want)
		}
		return ""
	})
}
