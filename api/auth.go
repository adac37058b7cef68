package api

import (
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/ratelimit"
)

// strangers is the bucket of an address: a burst of 60 and 60 a minute, for
// requests without a valid key only.
var strangers = ratelimit.Refill{Burst: 60, Every: time.Second}

// rateLimit is what the three headers say.
type rateLimit struct {
	Limit     int   `json:"limit"`
	Remaining int   `json:"remaining"`
	Reset     int64 `json:"reset"` // Unix second, rounded up
}

// authenticate lets nothing under /api pass without a valid key that is within
// its tenant's limit, and puts the rate-limit headers on every answer there,
// whatever becomes of the request.
func (s *Server) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if underAPI(r.URL.RawPath) {
			w.Header().Set("Cache-Control", "no-store")
			if err := s.identify(w, r); err != nil {
				s.writeError(w, r, err)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// identify finds out who asks and counts the request.
func (s *Server) identify(w http.ResponseWriter, r *http.Request) (err error) {
	defer func() { countAuth(r, err) }()
	p, err := s.resolve(w, r)
	if err != nil {
		return err
	}
	s.Keys.Used(p)
	stateOf(r).principal = p
	tenant := strconv.FormatInt(int64(p.Tenant.ID), 10)
	d := s.Limiter.Take(r.Context(), "t:"+tenant, p.Tenant.Limit())
	countDecision(r, "plan", string(p.Tenant.Plan), d)
	if err := note(w, r, d); err != nil {
		return err
	}
	if p.Tenant.Suspended {
		return &apiError{code: TenantSuspended}
	}
	return nil
}

// resolve finds whose key a request holds. What has no valid key is charged to
// its address. A key that this instance does not know is looked up only while
// the address has tokens left, so that guessing never reaches PostgreSQL for long.
func (s *Server) resolve(w http.ResponseWriter, r *http.Request) (*keys.Principal, error) {
	token, err := bearer(r)
	if err == nil {
		if p, known := s.Keys.Known(token); known {
			return p, nil
		}
	}
	address := "a:" + s.clientNetwork(r)
	invalid := keys.Check(token)
	if err == nil && invalid == nil {
		// A key in use must be looked up again and again; strangers at its address
		// must not keep it from that.
		d := s.Limiter.PeekToken(r.Context(), address, strangers)
		if peeked := note(w, r, d); peeked != nil && !s.Keys.Seen(token) {
			countDecision(r, "address", "", d)
			return nil, peeked
		}
		p, err := s.Keys.Resolve(r.Context(), token)
		if err == nil {
			return p, nil
		}
		if invalid = err; !errors.Is(err, keys.ErrUnknown) {
			return nil, &apiError{code: ServiceUnavailable, cause: err}
		}
	}
	d := s.Limiter.TakeToken(r.Context(), address, strangers)
	countDecision(r, "address", "", d)
	if limited := note(w, r, d); limited != nil {
		return nil, limited
	}
	if err == nil {
		err = &apiError{code: InvalidAPIKey, cause: invalid}
	}
	return nil, err
}

// bearer returns the key that the Authorization header holds.
func bearer(r *http.Request) (string, error) {
	given := r.Header.Values("Authorization")
	if len(given) == 0 || len(given) == 1 && given[0] == "" {
		return "", &apiError{code: MissingAPIKey}
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	if len(given) > 1 || !strings.EqualFold(scheme, "Bearer") {
		return "", &apiError{code: InvalidAPIKey}
	}
	return strings.TrimLeft(token, " "), nil
}

// note puts a decision into the headers and returns the 429 if it is a refusal.
func note(w http.ResponseWriter, r *http.Request, d ratelimit.Decision) error {
	reset := d.Reset.Add(time.Second - time.Nanosecond).Unix()
	stateOf(r).limit = rateLimit{d.Limit, d.Remaining, reset}
	h := w.Header()
	h.Set("X-RateLimit-Limit", strconv.Itoa(d.Limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(d.Remaining))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(reset, 10))
	if !d.Allowed {
		return &apiError{code: RateLimitExceeded, retryAfter: d.RetryAfter}
	}
	return nil
}

// clientAddress names where a request comes from. IPv6 is named by its /64, which
// is what one customer of a network has.
func (s *Server) clientNetwork(r *http.Request) string {
	address := s.clientIP(r)
	switch {
	case !address.IsValid():
		return "unknown"
	case address.Is6():
		prefix, _ := address.Prefix(64) // 64 bits are always there
		return prefix.String()
	}
	return address.String()
}

// client is where a request comes from: the peer, or, where the peer is a trusted
// proxy, the last address in X-Forwarded-For that is not one.
func (s *Server) clientIP(r *http.Request) (address netip.Addr) {
	address, ok := parseAddress(r.RemoteAddr)
	forwarded := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(forwarded) {
		if !ok || !s.trusts(address) {
			break
		}
		before, valid := parseAddress(strings.TrimSpace(hop))
		if !valid {
			break // whatever stands further left is anybody's word
		}
		address = before
	}
	return address
}

func (s *Server) trusts(address netip.Addr) bool {
	return slices.ContainsFunc(s.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(address) })
}

// parseAddress reads an address with or without a port.
func parseAddress(text string) (netip.Addr, bool) {
	if at, err := netip.ParseAddrPort(text); err == nil {
		return at.Addr().Unmap().WithZone(""), true
	}
	address, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return address.Unmap().WithZone(""), err == nil
}
