package pages

import (
	"fmt"
	"net/http"
	"time"

	"github.com/storeroom/storeroom/ratelimit"
	"github.com/storeroom/storeroom/tenancy/people"
)

// Limits of attempts to enter a password. No limit applies to an account alone, so
// that an attacker cannot lock a user out: each network has its own tokens per account.
//
// An account with many failures gets fewer attempts per network, except
// from networks where its user signed in recently. With n networks an attacker therefore
// has 30 failures plus 30 per hour, and then 3n plus 4n per hour.
var (
	perNetwork           = ratelimit.Refill{Burst: 30, Every: 20 * time.Second} // failures
	perAccountAndNetwork = ratelimit.Refill{Burst: 10, Every: 3 * time.Minute}  // attempts on an account from a network
	failures             = ratelimit.Refill{Burst: 30, Every: 2 * time.Minute}  // failures of an account from any network
	afterManyFailures    = ratelimit.Refill{Burst: 3, Every: 15 * time.Minute}
	perOwnPassword       = ratelimit.Refill{Burst: 10, Every: time.Minute}
	perLink              = ratelimit.Refill{Burst: 10, Every: 3 * time.Minute}
	// The token is missing for 12 hours after a sign-in to an account from a network.
	recentSignIn = ratelimit.Refill{Burst: 1, Every: 12 * time.Hour}
)

// bucket is a named token bucket of the rate limiter.
type bucket struct {
	name   string
	refill ratelimit.Refill
}

// throttle takes a token from each bucket. If one is empty, throttle returns the
// tokens that it took before, and a waitError.
func (p *Handler) throttle(r *http.Request, buckets ...bucket) error {
	for i, b := range buckets {
		d := p.Limiter.TakeToken(r.Context(), b.name, b.refill)
		p.Decided(r, d)
		if !d.Allowed {
			p.returnTokens(r, buckets[:i])
			return &waitError{d.RetryAfter}
		}
	}
	return nil
}

// returnTokens returns one token to each bucket.
func (p *Handler) returnTokens(r *http.Request, buckets []bucket) {
	for _, b := range buckets {
		p.Limiter.ReturnToken(r.Context(), b.name, b.refill)
	}
}

// throttleSignIn takes the tokens of one attempt before the password is checked, so
// that parallel guesses cannot pass a limit. The caller returns the onFailure tokens
// unless the password was wrong: a whole office may sign in from one address.
// The account is "" for an e-mail address that no account can have.
func (p *Handler) throttleSignIn(r *http.Request, account string) (onFailure []bucket, err error) {
	network := bucket{"pn:" + p.Network(r), perNetwork}
	if account == "" {
		return []bucket{network}, p.throttle(r, network)
	}
	networkAndAccount := p.Network(r) + " " + account
	attempt := bucket{"ph:" + networkAndAccount, perAccountAndNetwork}
	// Most refusals are of networks that guess. The first bucket that is empty costs the least.
	if err := p.throttle(r, network, attempt); err != nil {
		return nil, err
	}
	ofAccount := bucket{"pf:" + account, failures}
	if p.Limiter.TakeToken(r.Context(), ofAccount.name, ofAccount.refill).Allowed {
		return []bucket{network, ofAccount}, nil
	}
	if !p.Limiter.PeekToken(r.Context(), "pk:"+networkAndAccount, recentSignIn).Allowed {
		return []bucket{network}, nil
	}
	if err := p.throttle(r, bucket{"pu:" + networkAndAccount, afterManyFailures}); err != nil {
		p.returnTokens(r, []bucket{network, attempt})
		return nil, err
	}
	return []bucket{network}, nil
}

// throttleOwnPassword limits how fast a signed-in user enters passwords of their own
// account. No other user takes tokens from this bucket.
func (p *Handler) throttleOwnPassword(r *http.Request, u user) error {
	return p.throttle(r, bucket{"po:" + u.Email, perOwnPassword})
}

// throttleLink limits attempts through a link: an invitation asks for the password of
// an existing account. All links of an account into a tenant share a bucket for all
// networks, because only holders of a link can use up the bucket.
func (p *Handler) throttleLink(r *http.Request, link people.Link) error {
	return p.throttle(r, bucket{fmt.Sprint("pl:", link.TenantID, " ", link.Email), perLink})
}
