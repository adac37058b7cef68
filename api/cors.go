package api

import (
	"net/http"
	"slices"
)

// Headers of responses for web pages of other origins (CORS). A key is never sent by a browser on its own, so any origin
// may ask what it can send. The response to a request is only for the origins of the key's tenant.
var (
	anyOrigin      = []string{"*"}
	preflightNames = http.Header{
		"Access-Control-Allow-Origin":  anyOrigin,
		"Access-Control-Allow-Methods": {"GET, HEAD, POST, PUT, PATCH, DELETE"},
		"Access-Control-Allow-Headers": {
			"Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-Request-Id",
		},
		"Access-Control-Max-Age": {"7200"}, // the longest that browsers obey
	}
	exposedHeaders = []string{
		"Allow, Content-Disposition, ETag, Idempotent-Replayed, Location, Retry-After, X-RateLimit-Limit, " +
			"X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id",
	}
)

// answerPreflights answers the question of a browser before it sends a request of a web page. The answer is the same
// for every path and every origin, so it needs no key, no limit and no database.
func (s *Server) answerPreflights(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isPreflight(r) || !underAPI(r.URL.RawPath) && r.URL.RawPath != documentPath {
			next.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		for name, values := range preflightNames {
			h[name] = values
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

// isPreflight reports whether a browser asks what a web page can send.
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" &&
		r.Header.Get("Access-Control-Request-Method") != ""
}

// allowOrigin lets a web page of an origin of the tenant read the response.
func allowOrigin(w http.ResponseWriter, r *http.Request, origins []string) {
	if !underAPI(r.URL.RawPath) || len(origins) == 0 {
		return
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	if origin := r.Header.Get("Origin"); slices.Contains(origins, origin) {
		h.Set("Access-Control-Allow-Origin", origin)
		h["Access-Control-Expose-Headers"] = exposedHeaders
	}
}
