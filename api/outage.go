package api

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/storeroom/storeroom/tenancy"
)

// outage counts the requests that fail while PostgreSQL is unavailable, so that the log has one
// error for the outage and not one for every request. Its zero value is ready to use.
type outage struct {
	active atomic.Bool // spares requests the mutex between outages

	mu     sync.Mutex
	since  time.Time
	failed int
}

// fail counts a failed request. It reports whether an outage begins.
func (o *outage) fail() (begins bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed++
	if o.failed > 1 {
		return false
	}
	o.since = time.Now()
	o.active.Store(true)
	return true
}

// end ends the outage, if there is one, and returns the number of failed requests.
func (o *outage) end() (failed int, lasted time.Duration) {
	if !o.active.Load() {
		return 0, 0
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	failed, lasted = o.failed, time.Since(o.since)
	o.failed = 0
	o.active.Store(false)
	return failed, lasted
}

func (s *Server) logOutageStart(ctx context.Context, cause error) {
	if s.outage.fail() {
		s.Logger.ErrorContext(ctx, "PostgreSQL is unavailable", slog.Any("error", cause))
	}
}

func (s *Server) logOutageEnd(ctx context.Context) {
	if failed, lasted := s.outage.end(); failed > 0 {
		s.Logger.InfoContext(ctx, "PostgreSQL is available again",
			slog.Int("failed_requests", failed), slog.Duration("outage", lasted))
	}
}

// provesPostgreSQL reports whether a successful response required a query.
func provesPostgreSQL(r *http.Request, route route, status int) bool {
	queries := strings.Contains(string(route.permission), ":") || route.pattern == "/readyz"
	return queries && status < 400 && r.Method != http.MethodHead
}

// unreachable reports whether an error means that PostgreSQL does not accept connections: a network
// error, a server that starts or shuts down, or no free connection slot.
func unreachable(err error) bool {
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return true
	}
	state := tenancy.SQLState(err)
	return strings.HasPrefix(state, "08") || strings.HasPrefix(state, "57P") || state == "53300"
}
