package api

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/storeroom/storeroom/tenancy/db"
)

// outage counts the requests that fail while PostgreSQL is unavailable, so that the log has one error for the outage
// instead of one for every request. A successful request ends the outage after outageQuiet without a failure, because
// requests to other nodes of a cluster succeed while one is down. Its zero value is ready to use.
type outage struct {
	mu          sync.Mutex
	since, last time.Time // of the first failure and of the last one
	failed      int       // 0 between outages
}

const outageQuiet = 5 * time.Second

func (o *outage) active() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failed > 0
}

// fail counts a failed request. The first one begins the outage.
func (o *outage) fail(ctx context.Context, log *slog.Logger, cause error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = time.Now()
	if o.failed == 0 {
		o.since = o.last
		log.ErrorContext(ctx, "PostgreSQL is unavailable", slog.Any("error", cause))
	}
	o.failed++
}

// end ends the outage, if there is one.
func (o *outage) end(ctx context.Context, log *slog.Logger) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed > 0 && time.Since(o.last) >= outageQuiet {
		log.InfoContext(ctx, "PostgreSQL is available again",
			slog.Int("failed_requests", o.failed), slog.Duration("outage", o.last.Sub(o.since)))
		o.failed = 0
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
	state := db.SQLState(err)
	return strings.HasPrefix(state, "08") || strings.HasPrefix(state, "57P") || state == "53300"
}
