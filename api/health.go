package api

import (
	"context"
	"net/http"
	"time"
)

// readyWithin bounds the look at PostgreSQL: a balancer asks again soon.
const readyWithin = time.Second

type healthJSON struct {
	Status  string `json:"status"`
	Version string `json:"version"`
}

// health answers GET /healthz. It looks at nothing but the process itself: a
// database that is away is no reason to restart us.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) error {
	return writeData(w, http.StatusOK, healthJSON{"ok", s.Version})
}

// readiness answers GET /readyz.
func (s *Server) readiness(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), readyWithin)
	defer cancel()
	if err := s.Ready(ctx); err != nil {
		return &apiError{code: ServiceUnavailable, message: "This instance is not ready.", cause: err}
	}
	return writeData(w, http.StatusOK, healthJSON{"ready", s.Version})
}
