package api

import (
	"context"
	"net/http/httptest"
	"testing"
)

// Alerts count errors of the service; a disconnected client is not one.
func TestErrorType(t *testing.T) {
	t.Parallel()
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	for _, test := range []struct {
		name   string
		ctx    context.Context
		status int
		cut    bool
		want   string
	}{
		{"an answer", t.Context(), 200, false, ""},
		{"a refusal", t.Context(), 429, false, ""},
		{"an answer to nobody", gone, 200, false, ""},
		{"a fault", t.Context(), 500, false, "500"},
		{"a bound", t.Context(), 503, false, "503"},
		{"a fault that nobody waits for", gone, 503, false, "canceled"},
		{"a file that was cut", t.Context(), 200, true, "cut"},
		{"a file that the client did not want to the end", gone, 200, true, "canceled"},
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
