package api

import (
	"context"
	"net/http/httptest"
	"testing"
)

// Alerts count errors of the service; a disconnected client is not one.
func TestErrorType(t *testing.T) {
	t.Parallel()
	gone, disconnect := context.WithCancel(t.Context())
	disconnect()
	for _, test := range []struct {
		name   string
		ctx    context.Context
		status int
		cut    bool
		want   string
	}{
		{"a response", t.Context(), 200, false, ""},
		{"a refused request", t.Context(), 429, false, ""},
		{"a response to a disconnected client", gone, 200, false, ""},
		{"an error", t.Context(), 500, false, "500"},
		{"an unavailable service", t.Context(), 503, false, "503"},
		{"an error for a disconnected client", gone, 503, false, "canceled"},
		{"an aborted file", t.Context(), 200, true, "cut"},
		{"a file that the client aborted", gone, 200, true, "canceled"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(test.ctx, "GET", "/api/products", nil)
			if got := errorTypeOf(r, &requestState{aborted: test.cut}, test.status); got != test.want {
				t.Errorf("errorTypeOf = %q, want %q", got, test.want)
			}
		})
	}
}
