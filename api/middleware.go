package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/storeroom/storeroom/keys"
)

// exchange is what is known about one request beside the request itself.
type requestState struct {
	id        string
	route     route           // the zero route where none matched
	principal *keys.Principal // nil without a valid key
	limit     rateLimit
	err       error // what the answer was made of, for the log
	aborted   bool  // the connection was closed in the middle of a response
}

// loggable is the id as the log may hold it: a client's own may be anything, also the
// key that it put into the wrong header.
func (x *requestState) loggable() string {
	if keys.Mentions(x.id) {
		return "hidden"
	}
	return x.id
}

type stateKey struct{}

func stateOf(r *http.Request) *requestState {
	return r.Context().Value(stateKey{}).(*requestState)
}

// principal is who asks, or nil.
func principal(r *http.Request) *keys.Principal { return stateOf(r).principal }

// observe gives a request its id and its span, measures it and writes its one line of
// the access log.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		x := &requestState{id: requestID(r)}
		ctx, span := startSpan(r)
		r = r.WithContext(context.WithValue(ctx, stateKey{}, x))
		if r.Method == http.MethodHead {
			chi.RouteContext(r.Context()).RouteMethod = http.MethodGet
		}
		w.Header().Set("X-Request-Id", x.id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		recorded := &recorder{ResponseWriter: w}
		measureArrival(r, 1)
		defer func() {
			route, took := chi.RouteContext(r.Context()).RoutePattern(), time.Since(begun)
			s.log(r, x, route, recorded.status, took)
			measureArrival(r, -1)
			measureAnswer(r, x, route, recorded.status, took)
			endSpan(span, r, x, route, recorded.status)
		}()
		next.ServeHTTP(recorded, r)
	})
}

// log writes info for whatever the client did, error for what is our fault. Never
// a key, a body or a path: the route's pattern names the place.
func (s *Server) log(r *http.Request, x *requestState, route string, status int, took time.Duration) {
	attrs := []slog.Attr{
		slog.String("method", methodOf(r)),
		slog.String("route", route),
		slog.Int("status", status),
		slog.Duration("duration", took),
		slog.String("request_id", x.loggable()),
	}
	if x.principal != nil {
		attrs = append(attrs, slog.Int64("tenant_id", int64(x.principal.Tenant.ID)), slog.Int64("key_id", x.principal.KeyID))
	}
	level := slog.LevelInfo
	switch {
	case route == "/healthz" || route == "/readyz":
		// Balancers ask twice a second, and are told; a person reads why elsewhere.
		level = slog.LevelDebug
		if status >= 500 {
			attrs, level = append(attrs, slog.Any("error", x.err)), slog.LevelWarn
		}
	case status >= 500 || x.aborted:
		attrs = append(attrs, slog.Any("error", x.err))
		refused, ours := errors.AsType[*apiError](x.err)
		switch {
		case r.Context().Err() != nil: // the client hung up
		case ours && refused.cause == nil && refused.code == ServiceUnavailable:
			level = slog.LevelWarn // a bound of ours: the client asks too much at a time
		default:
			level = slog.LevelError
		}
	}
	s.Logger.LogAttrs(r.Context(), level, "request", attrs...)
}

// requestID keeps the client's own if it is 1 to 128 visible ASCII characters.
func requestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	if id == "" || len(id) > 128 {
		return rand.Text()
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return rand.Text()
		}
	}
	return id
}

// recorder remembers the status that was sent.
type recorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader sends the status.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the body.
func (w *recorder) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// recover turns a panic into a 500. Once a part of the answer is out, the
// connection is cut instead: half an answer must not pass for a whole one.
func (s *Server) recoverPanic(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			cause := recover()
			if cause == nil {
				return
			}
			if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(cause)
			}
			err := fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
			if w.(*recorder).status != 0 {
				x := stateOf(r)
				x.err, x.aborted = err, true
				panic(http.ErrAbortHandler)
			}
			s.writeError(w, r, err)
		}()
		next.ServeHTTP(w, r)
	})
}

// admit caps the work under /api and /settings that is in flight. It comes after the rate
// limit, so that also a 503 carries its headers; /healthz and /readyz answer
// however busy the rest is.
func (s *Server) limitInFlight(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		running, most := &s.requests, s.limits.requests
		switch {
		case underSettings(r.URL.RawPath):
			// Anybody may open a page: who holds many must not keep keys from the API.
			running, most = &s.pageRequests, s.limits.pageRequests
			setReadDeadline(w, s.limits.formTimeout)
		case !underAPI(r.URL.RawPath):
			next.ServeHTTP(w, r)
			return
		}
		defer running.Add(-1)
		if running.Add(1) > most {
			s.writeError(w, r, &apiError{code: ServiceUnavailable, cause: errors.New("too many requests in flight")})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// formTimeout is how long the form of a page may take to arrive.
const formTimeout = 5 * time.Second

// setReadDeadline bounds how long the rest of a request may take to arrive.
func setReadDeadline(w http.ResponseWriter, timeout time.Duration) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(timeout))
}
