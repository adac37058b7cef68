package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy/db"
)

// listenTimeout bounds the check of the connection for LISTEN.
const listenTimeout = 3 * time.Second

var errLosesStatements = errors.New("the URL leads to a pooler that loses prepared statements: add " +
	"default_query_exec_mode=cache_describe to it, or set max_prepared_statements of PgBouncer 1.21 or later")

// explainPooler returns errLosesStatements instead of an error about a prepared statement that does not exist, or exists
// already.
func explainPooler(err error) error {
	if state := db.SQLState(err); state == "26000" || state == "42P05" {
		return errLosesStatements
	}
	return err
}

// A pooler gives each client a process id of its own, not that of the server. Some settings of a pooler break a part of
// the requests later, or lose the notifications of revoked keys, so the start refuses them.

// checkPooler refuses a pooler that does not keep transactions together, or that gives a session to other clients
// without knowing their prepared statements.
func checkPooler(ctx context.Context, db *db.DB) error {
	return db.Conn(ctx, func(a *pgx.Conn) error {
		if pid, err := backendOf(ctx, a); err != nil || pid == a.PgConn().PID() {
			return err
		}
		begin := func(f func(pgx.Tx) error) error {
			err := pgx.BeginFunc(ctx, a, f)
			if err != nil {
				err = fmt.Errorf("DATABASE_URL leads to a pooler that refuses transactions: use pool_mode = transaction: %w", err)
			}
			return err
		}
		if a.Config().DefaultQueryExecMode != pgx.QueryExecModeCacheStatement {
			return begin(func(pgx.Tx) error { return nil })
		}
		known := false
		if err := begin(func(tx pgx.Tx) (err error) {
			known, err = knowsStatements(ctx, tx)
			return err
		}); err != nil || known {
			return err
		}
		return db.Conn(ctx, func(b *pgx.Conn) error {
			shared, err := shareSessions(ctx, a, b)
			if err == nil && shared {
				err = fmt.Errorf("DATABASE_URL: %w", errLosesStatements)
			}
			return err
		})
	})
}

// checkListener refuses a pooler that gives the session of LISTEN to other clients, because notifications would not
// arrive, and revoked keys would work for longer. A server that is not available now is not refused: the listener tries
// again.
func checkListener(ctx context.Context, url string) error {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("DATABASE_DIRECT_URL: %w", err)
	}
	maps.DeleteFunc(config.RuntimeParams, func(name, _ string) bool { return strings.HasPrefix(name, "pool_") })
	ctx, cancel := context.WithTimeout(ctx, listenTimeout)
	defer cancel()
	var conns [2]*pgx.Conn
	for i := range conns {
		if conns[i], err = pgx.ConnectConfig(ctx, config); err != nil {
			return nil
		}
		defer conns[i].Close(context.WithoutCancel(ctx))
		if pid, err := backendOf(ctx, conns[i]); err != nil || pid == conns[i].PgConn().PID() {
			return nil
		}
	}
	if shared, _ := shareSessions(ctx, conns[0], conns[1]); shared {
		return errors.New("DATABASE_DIRECT_URL, or DATABASE_URL if it is not set, leads to a pooler that gives sessions to " +
			"other clients, so revoked keys would work for longer: set DATABASE_DIRECT_URL to the address of PostgreSQL")
	}
	return nil
}

// backendOf returns the process id of the server that answers, without a prepared statement.
func backendOf(ctx context.Context, conn interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}) (pid uint32, err error) {
	return pid, conn.QueryRow(ctx, `select pg_backend_pid()`, pgx.QueryExecModeExec).Scan(&pid)
}

// knowsStatements reports whether the pooler gives prepared statements names of its own, with which it finds them in
// every session.
func knowsStatements(ctx context.Context, tx pgx.Tx) (known bool, err error) {
	const name = "storeroom_start"
	if _, err := tx.Prepare(ctx, name, `select 1`); err != nil {
		return false, err
	}
	if err := tx.QueryRow(ctx, `select not exists (select from pg_prepared_statements where name = '`+name+`')`,
		pgx.QueryExecModeExec).Scan(&known); err != nil {
		return false, err
	}
	return known, tx.Conn().Deallocate(ctx, name)
}

// shareSessions reports whether two clients of a pooler get the same session, one after the other. Other clients can
// take it in between, so it tries several times.
func shareSessions(ctx context.Context, a, b *pgx.Conn) (bool, error) {
	for range 20 {
		of, err := backendOf(ctx, a)
		if err != nil {
			return false, err
		}
		next, err := backendOf(ctx, b)
		if err != nil || of == next {
			return of == next, err
		}
	}
	return false, nil
}
