package api

import (
	"context"
	"net/http"
	"time"
)

// readyTimeout limits the readiness check; a load balancer repeats it soon.
const readyTimeout = time.Second

type healthJSON struct {
	Status  string `json:"status"`
	Version string `json:"version"`
}

// health handles GET /healthz. It checks only the process: restarting it would not repair an
// unavailable database.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) error {
	return writeData(w, http.StatusOK, healthJSON{"ok", s.Version})
}

// readiness handles GET /readyz.
func (s *Server) readiness(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	if err := s.Ready(ctx); err != nil {
		return &apiError{code: ServiceUnavailable, message: "This instance is not ready.", cause: err}
	}
	return writeData(w, http.StatusOK, healthJSON{"ready", s.Version})
}
