package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/migrations"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

const (
	checkTimeout = time.Second // of one check of PostgreSQL
	// checkInterval is the time for which a successful check is valid, so that probes cause no load.
	checkInterval = time.Second
)

// notReady is the reason why an instance must not receive requests.
type notReady struct {
	check  string // start, drain, postgresql or schema
	reason string // contains neither addresses nor secrets
	cause  error  // for the log only
}

// Error returns the text for the log.
func (n *notReady) Error() string {
	text := n.check + ": " + n.reason
	if n.cause != nil {
		text += ": " + n.cause.Error()
	}
	return text
}

// Unwrap returns the cause.
func (n *notReady) Unwrap() error { return n.cause }

// ready returns a *notReady unless PostgreSQL answers, its schema is new enough, and the instance is not shutting down.
func (i *instance) ready(ctx context.Context) error {
	if i.draining.Load() {
		return &notReady{check: "drain", reason: "the instance is shutting down"}
	}
	return i.check(ctx)
}

// check checks PostgreSQL, unless a check has just succeeded. It logs when the result changes.
func (i *instance) check(ctx context.Context) error {
	if time.Now().UnixNano()-i.checked.Load() < int64(checkInterval) {
		return nil
	}
	done := i.checks.DoChan("", func() (any, error) {
		ctx := context.WithoutCancel(ctx)
		err := i.checkSchema(ctx)
		i.readiness.Report(ctx, i.logger, nil, err) // not for each caller, which may stop waiting
		if err == nil {
			i.checked.Store(time.Now().UnixNano())
		}
		return nil, err
	})
	select {
	case result := <-done:
		return result.Err
	case <-ctx.Done():
		return i.checkFailed(ctx.Err())
	}
}

// checkSchema reads the version of the schema from PostgreSQL.
func (i *instance) checkSchema(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var schema int
	err := i.db.Conn(ctx, func(conn *pgx.Conn) (err error) {
		schema, err = migrations.Version(ctx, conn)
		return err
	})
	switch code := db.SQLState(err); {
	case code != "":
		return &notReady{"postgresql", "PostgreSQL returned SQLSTATE " + code, err}
	case err != nil:
		return i.checkFailed(err)
	case schema < i.minSchema:
		reason := fmt.Sprintf("the schema is at version %d and this program needs %d", schema, i.minSchema)
		return &notReady{check: "schema", reason: reason}
	}
	return nil
}

// checkFailed returns nil if the instance is only busy: the pool has no free connection, but the key listener has just
// received an answer from PostgreSQL. A busy instance refuses single requests. If it reported "not ready", its load
// would move to the next instance.
func (i *instance) checkFailed(err error) error {
	timedOut := errors.Is(err, tenancy.ErrBusy) || errors.Is(err, context.DeadlineExceeded)
	if timedOut && i.keys.Listening() {
		return nil
	}
	return &notReady{"postgresql", "PostgreSQL does not answer", err}
}
