package keys

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/storeroom/storeroom/tenancy"
)

const (
	confirmInterval = time.Second
	confirmTimeout  = 500 * time.Millisecond
	connectTimeout  = time.Second
)

// listener owns the connection on which PostgreSQL notifies of changes. LISTEN belongs
// to a session, so the connection is not part of the pool and must not go through a
// pooler.
type listener struct {
	config      *pgx.ConnConfig
	cache       *cache
	logger      *slog.Logger
	confirmed   time.Time // every change before this time has arrived
	unavailable bool      // the last connection failed
}

func newListener(url string, c *cache, logger *slog.Logger) (*listener, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("read the listener's database URL: %w", err)
	}
	// The URL may contain parameters of the pool, which PostgreSQL would reject.
	maps.DeleteFunc(config.RuntimeParams, func(name, _ string) bool { return strings.HasPrefix(name, "pool_") })
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "storeroom keys"
	}
	config.ConnectTimeout = connectTimeout
	l := &listener{config: config, cache: c, logger: logger, confirmed: time.Now()}
	// pgx calls it during every read from the connection. When a round trip returns, all
	// earlier notifications have therefore been handled.
	config.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) { l.changed(n.Payload) }
	return l, nil
}

// run listens until ctx ends and reconnects after errors. It logs the start and the end of an outage.
func (l *listener) run(ctx context.Context) {
	for {
		err := l.listen(ctx)
		l.cache.confirm(time.Time{})
		if ctx.Err() != nil {
			return
		}
		if !l.unavailable {
			l.logger.WarnContext(ctx,
				"listener for changed keys is disconnected; cached keys are valid for one second", "error", err)
		}
		l.unavailable = true
		select {
		case <-ctx.Done():
		case <-time.After(100*time.Millisecond + rand.N(900*time.Millisecond)):
		}
	}
}

// listen uses one connection until an error or the end of ctx.
func (l *listener) listen(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, l.config)
	if err != nil {
		return fmt.Errorf("connect the listener: %w", err)
	}
	defer within(context.WithoutCancel(ctx), confirmTimeout, conn.Close)
	began := time.Now()
	if err := within(ctx, confirmTimeout, func(ctx context.Context) error {
		_, err := conn.Exec(ctx, `listen keys`)
		return err
	}); err != nil {
		return fmt.Errorf("listen for changed keys: %w", err)
	}
	// Notifications sent before LISTEN are lost.
	l.cache.flush()
	l.confirm(ctx, began)
	if l.unavailable {
		l.logger.InfoContext(ctx, "listener for changed keys is connected again")
		l.unavailable = false
	}
	for ctx.Err() == nil {
		if err := await(ctx, conn, began.Add(confirmInterval)); err != nil {
			return fmt.Errorf("wait for changed keys: %w", err)
		}
		// A half-open connection reports no error. Only a round trip detects it.
		began = time.Now()
		if err := within(ctx, confirmTimeout, conn.Ping); err != nil {
			return fmt.Errorf("confirm the listener's connection: %w", err)
		}
		l.confirm(ctx, began)
	}
	return nil
}

// confirm records that every change before the time at has arrived.
func (l *listener) confirm(ctx context.Context, at time.Time) {
	l.cache.confirm(at)
	invalidationLag.Record(ctx, time.Since(l.confirmed).Seconds())
	l.confirmed = at
}

// changed handles a notification, which names a tenant.
func (l *listener) changed(payload string) {
	id, err := strconv.ParseInt(payload, 10, 64)
	if err != nil {
		l.cache.flush()
		return
	}
	l.cache.change(tenancy.ID(id))
}

// await reads notifications until a time.
func await(ctx context.Context, conn *pgx.Conn, until time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	for ctx.Err() == nil {
		if err := conn.PgConn().WaitForNotification(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

func within(ctx context.Context, d time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return f(ctx)
}
