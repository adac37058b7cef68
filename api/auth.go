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
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/limits"
)

// failedKeys limits requests without a valid key, by address: a burst of 60 and 60 a minute.
var failedKeys = ratelimit.Refill{Burst: 60, Every: time.Second}

// rateLimit holds the values of the three rate limit headers.
type rateLimit struct {
	Limit     int   `json:"limit"`
	Remaining int   `json:"remaining"`
	Reset     int64 `json:"reset"` // Unix second, rounded up
}

// authenticate requires a valid key within its tenant's rate limit for /mcp and paths under /api, and sets the rate
// limit headers of their responses. It runs before routing, so that a client without a key cannot find out which paths
// exist.
func (s *Server) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requiresKey(r.URL.RawPath) {
			w.Header()["Cache-Control"] = noStore
			if err := s.identify(w, r); err != nil {
				s.writeError(w, r, err)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// identify sets the principal of a request and counts the request against the limit of its tenant.
func (s *Server) identify(w http.ResponseWriter, r *http.Request) (err error) {
	defer func() { countAuth(r, err) }()
	p, err := s.resolveKey(w, r)
	if err != nil {
		return err
	}
	s.Keys.Used(p)
	state := stateOf(r)
	state.principal, state.tenant = p, p.Tenant.ID
	allowOrigin(w, r, p.Tenant.Origins)
	name := strconv.AppendInt([]byte("t:"), int64(p.Tenant.ID), 10)
	d := s.Limiter.Take(r.Context(), string(name), p.Tenant.Limit())
	countDecision(r, "plan", string(p.Tenant.Plan), d)
	if err := applyDecision(w, r, d); err != nil {
		return err
	}
	if p.Tenant.Suspended {
		return &apiError{code: TenantSuspended}
	}
	return nil
}

// resolveKey returns the principal of a request's key. A key that is not cached is looked up in
// PostgreSQL only while its address is within the limit for failed keys. A key that was valid
// before is always looked up: guesses from the same address must not block it.
func (s *Server) resolveKey(w http.ResponseWriter, r *http.Request) (*keys.Principal, error) {
	token, err := bearerToken(r)
	if err != nil {
		return nil, s.rejectKey(w, r, err)
	}
	if p, cached := s.Keys.Known(token); cached {
		return p, nil
	}
	if err := keys.Check(token); err != nil {
		return nil, s.rejectKey(w, r, &apiError{code: InvalidAPIKey, cause: err})
	}
	d := s.Limiter.PeekToken(r.Context(), s.addressBucket(r), failedKeys)
	if limited := applyDecision(w, r, d); limited != nil && !s.Keys.Seen(token) {
		countDecision(r, "address", "", d)
		return nil, limited
	}
	ticket := s.Limits.Enter(s.addressUser(r), limits.Unauthenticated)
	defer ticket.Close()
	p, err := s.Keys.Resolve(limits.NewContext(r.Context(), ticket), token)
	switch {
	case errors.Is(err, keys.ErrUnknown):
		return nil, s.rejectKey(w, r, &apiError{code: InvalidAPIKey, cause: err})
	case err != nil:
		return nil, &apiError{code: ServiceUnavailable, cause: err}
	}
	return p, nil
}

// checkKeyAgain refuses the key of a request that waited if the key was revoked or its tenant suspended meanwhile. It
// takes nothing from a limit.
func (s *Server) checkKeyAgain(r *http.Request) error {
	token, err := bearerToken(r)
	if err != nil {
		return err
	}
	p, err := s.Keys.Resolve(r.Context(), token)
	switch {
	case errors.Is(err, keys.ErrUnknown):
		return &apiError{code: InvalidAPIKey, cause: err}
	case err != nil:
		return &apiError{code: ServiceUnavailable, cause: err}
	case p.Tenant.Suspended:
		return &apiError{code: TenantSuspended}
	}
	return nil
}

// rejectKey counts a failed key against the limit of its address. It returns err, or a 429 above
// the limit.
func (s *Server) rejectKey(w http.ResponseWriter, r *http.Request, err error) error {
	d := s.Limiter.TakeToken(r.Context(), s.addressBucket(r), failedKeys)
	countDecision(r, "address", "", d)
	if limited := applyDecision(w, r, d); limited != nil {
		return limited
	}
	return err
}

// addressUser names the network of a request's client as a user of resources.
func (s *Server) addressUser(r *http.Request) string { return "address " + s.clientNetwork(r) }

func (s *Server) addressBucket(r *http.Request) string { return "a:" + s.clientNetwork(r) }

// bearerToken returns the key in the Authorization header.
func bearerToken(r *http.Request) (string, error) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 || len(values) == 1 && values[0] == "" {
		return "", &apiError{code: MissingAPIKey}
	}
	if len(values) > 1 {
		return "", &apiError{code: InvalidAPIKey, message: "Send exactly one Authorization header."}
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", &apiError{
			code:    InvalidAPIKey,
			message: "Send the API key with the Bearer scheme: Authorization: Bearer <API_KEY>.",
		}
	}
	return strings.TrimLeft(token, " "), nil
}

// challenge returns the value of WWW-Authenticate. It says that the key is not valid only if the request has one: see
// section 3.1 of RFC 6750.
func challenge(r *http.Request) string {
	for _, value := range r.Header.Values("Authorization") {
		scheme, token, _ := strings.Cut(value, " ")
		if strings.EqualFold(scheme, "Bearer") && strings.Trim(token, " ") != "" {
			return `Bearer error="invalid_token"`
		}
	}
	return "Bearer"
}

// rateLimitHeaders are X-RateLimit-… in the form of http.Header, so that no request converts them.
var rateLimitHeaders = [...]string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"}

// applyDecision sets the rate limit headers. It returns a 429 if the decision is a refusal.
func applyDecision(w http.ResponseWriter, r *http.Request, d ratelimit.Decision) error {
	reset := d.Reset.Add(time.Second - time.Nanosecond).Unix()
	stateOf(r).limit = rateLimit{d.Limit, d.Remaining, reset}
	h := w.Header()
	values := []string{strconv.Itoa(d.Limit), strconv.Itoa(d.Remaining), strconv.FormatInt(reset, 10)}
	for i, name := range rateLimitHeaders {
		h[name] = values[i : i+1 : i+1]
	}
	if !d.Allowed {
		return &apiError{code: RateLimitExceeded, retryAfter: d.RetryAfter}
	}
	return nil
}

// clientNetwork returns the client's address or, for IPv6, its /64 prefix, which a provider assigns to one customer.
func (s *Server) clientNetwork(r *http.Request) string {
	address := s.clientIP(r)
	switch {
	case !address.IsValid():
		return "unknown"
	case address.Is6():
		prefix, _ := address.Prefix(64) // cannot fail: IPv6 has 128 bits
		return prefix.String()
	}
	return address.String()
}

// clientIP returns the address of the peer. If the peer is a trusted proxy, it returns the last
// address in X-Forwarded-For that is not a trusted proxy.
func (s *Server) clientIP(r *http.Request) (address netip.Addr) {
	address, ok := parseAddress(r.RemoteAddr)
	forwarded := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(forwarded) {
		if !ok || !s.trusts(address) {
			break
		}
		previous, valid := parseAddress(strings.TrimSpace(hop))
		if !valid {
			break // addresses before an invalid one cannot be trusted
		}
		address = previous
	}
	return address
}

func (s *Server) trusts(address netip.Addr) bool {
	return slices.ContainsFunc(s.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(address) })
}

// parseAddress parses an address with or without a port.
func parseAddress(text string) (netip.Addr, bool) {
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return withPort.Addr().Unmap().WithZone(""), true
	}
	address, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return address.Unmap().WithZone(""), err == nil
}

// keyActor returns the key of a request as change plans and the audit log name it.
func (s *Server) keyActor(r *http.Request) tenancy.Actor {
	key := principal(r)
	return tenancy.Actor{KeyID: &key.KeyID, Name: "API key " + key.KeyName, Address: s.clientIP(r).String()}
}
