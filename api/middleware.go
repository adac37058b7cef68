package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/go-chi/chi/v5"
	"go.opentelemetry.io/otel/trace"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/keys/usage"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/limits"
	"github.com/storeroom/storeroom/tenancy/spool"
)

// requestState is the state of one request that middleware and handlers share.
type requestState struct {
	id        string
	route     route           // the zero route if none matched
	principal *keys.Principal // nil without a valid key
	tenant    tenancy.ID      // of the key or the page; 0 without one
	limit     rateLimit
	ticket    *limits.Ticket // nil before it is admitted
	db        *db.DB         // what the handler works on: see Server.database and Server.claim
	created   []createdRows  // by the handler, also if it fails
	body      *spool.Spool   // nil without a body
	mcp       *http.Request  // of POST /mcp, with its deadline, for its tools
	err       error          // the cause of an error response, for the log
	code      Code           // of an error response
	aborted   bool           // the connection was closed in the middle of a response
}

// loggableID returns the request id for the log. A client may send its key as the id by mistake.
func (s *requestState) loggableID() string {
	if keys.Mentions(s.id) {
		return "hidden"
	}
	return s.id
}

type stateKey struct{}

// Values of headers that all responses share. http.Header replaces or copies them when it changes.
var noSniff, noStore = []string{"nosniff"}, []string{"no-store"}

func stateOf(r *http.Request) *requestState {
	return r.Context().Value(stateKey{}).(*requestState)
}

// principal returns the owner of the request's key, or nil.
func principal(r *http.Request) *keys.Principal { return stateOf(r).principal }

// observe gives a request its id and its span, records its metrics and writes its line of the
// access log.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		state := &requestState{id: requestID(r)}
		ctx, span := r.Context(), trace.SpanFromContext(r.Context())
		if !isProbe(r.URL.Path) { // load balancers ask every second
			ctx, span = startSpan(r)
		}
		r = r.WithContext(context.WithValue(ctx, stateKey{}, state))
		if r.Method == http.MethodHead {
			chi.RouteContext(r.Context()).RouteMethod = http.MethodGet
		}
		w.Header().Set("X-Request-Id", state.id)
		w.Header()["X-Content-Type-Options"] = noSniff
		recorded := &recorder{ResponseWriter: w, request: r}
		addActive(r, 1)
		defer func() {
			pattern, took := chi.RouteContext(r.Context()).RoutePattern(), time.Since(start)
			s.log(r, state, pattern, recorded.status, took)
			s.recordUsage(r, state, pattern, recorded.status, start, took)
			addActive(r, -1)
			recordDuration(r, state, pattern, recorded.status, took)
			recordCreated(r, state, recorded.status)
			endSpan(span, r, state, pattern, recorded.status)
		}()
		next.ServeHTTP(recorded, r)
	})
}

// recordUsage counts a request of a key. An aborted response counts as an internal error.
func (s *Server) recordUsage(
	r *http.Request, state *requestState, pattern string, status int, start time.Time, took time.Duration,
) {
	if state.principal == nil || s.Usage == nil {
		return
	}
	if state.aborted || status == 0 {
		status, state.code = http.StatusInternalServerError, InternalError
	}
	s.Usage.Record(state.principal, usage.Request{
		At: start, Method: methodOf(r), Route: pattern, Status: status, Code: string(state.code),
		RequestID: state.loggableID(), Duration: took,
	})
}

// log writes the line of the access log. It never contains a key, a body or a path.
func (s *Server) log(r *http.Request, state *requestState, pattern string, status int, took time.Duration) {
	attrs := append(make([]slog.Attr, 0, 8),
		slog.String("method", methodOf(r)),
		slog.String("route", pattern),
		slog.Int("status", status),
		slog.Duration("duration", took),
		slog.String("request_id", state.loggableID()))
	if state.tenant != 0 {
		attrs = append(attrs, slog.Int64("tenant_id", int64(state.tenant)))
	}
	if p := state.principal; p != nil {
		attrs = append(attrs, slog.Int64("key_id", p.KeyID))
	}
	if status >= 500 || state.aborted {
		attrs = append(attrs, slog.Any("error", state.err))
	}
	s.Logger.LogAttrs(r.Context(), s.logLevel(r, state, pattern, status), "request", attrs...)
	if provesPostgreSQL(r, state.route, status) {
		s.outage.end(r.Context(), s.Logger)
	}
}

func isProbe(pattern string) bool { return pattern == "/healthz" || pattern == "/readyz" }

// logLevel is info for successes and client errors, error for failures of the service.
func (s *Server) logLevel(r *http.Request, state *requestState, pattern string, status int) slog.Level {
	failed := status >= 500 || state.aborted
	switch {
	case isProbe(pattern):
		return slog.LevelDebug // a load balancer asks every second; the instance logs when its readiness changes
	case !failed || r.Context().Err() != nil: // the client disconnected
		return slog.LevelInfo
	case errors.Is(state.err, limits.ErrBusy):
		return slog.LevelWarn
	case status == http.StatusServiceUnavailable &&
		(unreachable(state.err) || s.outage.active() || !s.Keys.Listening()):
		s.outage.fail(r.Context(), s.Logger, state.err)
		return slog.LevelInfo
	}
	return slog.LevelError
}

// requestID returns the client's own id if it is 1 to 128 visible ASCII characters.
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

// recorder records the status of a response. Unless the request streams, it ends it for package limits when the
// response begins, because the response is then complete in memory and waits only for the client.
type recorder struct {
	http.ResponseWriter
	request *http.Request
	status  int            // 0 before the response starts
	ticket  *limits.Ticket // nil before it is admitted
	finish  func()         // nil before it is admitted
}

// WriteHeader sends the status.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
		if w.finish != nil {
			w.finish()
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

// largeWrite is the size from which a part of a response waits for its client in a file. The kernel accepts smaller
// parts without waiting for the client: see maxUnsent in package server.
const largeWrite = 256 << 10

// Write sends a part of the body.
func (w *recorder) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.ticket == nil || len(b) < largeWrite {
		return w.ResponseWriter.Write(b)
	}
	return w.writeFromSpool(b)
}

// writeFromSpool frees the memory of b while the client reads: the callers do not use b afterwards.
func (w *recorder) writeFromSpool(b []byte) (int, error) {
	defer spanSince(w.request.Context(), "send", time.Now())
	content := spool.New(w.ticket)
	defer content.Close()
	if _, err := content.Write(b); err != nil {
		return 0, err
	}
	content.End(nil)
	n, err := io.Copy(w.ResponseWriter, content.Reader())
	return int(n), err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// recoverPanic turns a panic into a 500. After a response has started, it aborts the connection
// instead, so that the client detects the incomplete response.
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
				state := stateOf(r)
				state.err, state.aborted = err, true
				panic(http.ErrAbortHandler)
			}
			s.writeError(w, r, err)
		}()
		next.ServeHTTP(w, r)
	})
}
