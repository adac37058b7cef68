package db

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// The pause before a retry ends with the context.
func TestARetryStopsWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	err := Retry(ctx, maxTries, func() error {
		runs++
		cancel()
		return &pgconn.PgError{Code: "40P01"}
	})
	if SQLState(err) != "40P01" || runs != 1 {
		t.Errorf("retry = %v after %d runs, want the deadlock after 1", err, runs)
	}
}
