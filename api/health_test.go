package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

// /readyz needs no key, so it must not tell the cause. The instance logs it when the readiness changes.
func TestReadinessHidesItsCause(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(s *Server) {
		s.Ready = func(context.Context) error { return errors.New("no answer from db.internal") }
	})
	got := a.try(t, call{path: "/readyz", key: "-", wantStatus: 503, wantCode: ServiceUnavailable})
	if strings.Contains(string(got.body), "db.internal") || got.Header.Get("Retry-After") != "1" {
		t.Errorf("/readyz = %v %s, want Retry-After and no cause", got.Header, got.body)
	}
	a.try(t, call{name: "the process is healthy", path: "/healthz", key: "-", wantStatus: 200})
}

// A readiness check ends within a second.
func TestReadinessTimeout(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(s *Server) {
		s.Ready = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	})
	begun := time.Now()
	a.try(t, call{path: "/readyz", key: "-", wantStatus: 503, wantCode: ServiceUnavailable})
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("/readyz took %v, want a second", took)
	}
}

// Operators use a separate port.
func TestPublicPortHasNoOperationsRoutes(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withPages())
	for _, path := range []string{
		"/livez", "/metrics", "/debug", "/debug/pprof", "/debug/pprof/", "/debug/pprof/heap", "/debug/vars",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			a.try(t, call{method: method, path: path, key: "-", wantStatus: 404, wantCode: RouteNotFound})
		}
	}
}
