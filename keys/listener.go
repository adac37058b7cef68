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
	beatEvery     = time.Second
	beatWithin    = 500 * time.Millisecond
	connectWithin = time.Second
)

// listener holds the one connection on which PostgreSQL tells of changes. It is
// no connection of the pool: LISTEN belongs to a session, and a pooler in between
// would lend that session to others.
type listener struct {
	config *pgx.ConnConfig
	cache  *cache
	logger *slog.Logger
	sure   time.Time // of every change before this moment, or when nobody could know better
}

func newListener(url string, c *cache, logger *slog.Logger) (*listener, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("read the listener's database URL: %w", err)
	}
	// The pool's own parameters may stand in the URL; PostgreSQL knows none of them.
	maps.DeleteFunc(config.RuntimeParams, func(name, _ string) bool { return strings.HasPrefix(name, "pool_") })
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "storeroom keys"
	}
	l := &listener{config, c, logger, time.Now()}
	// It is called by whatever reads from the connection, the round trip included:
	// what was sent before that trip's answer has been handled when it returns.
	config.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) { l.changed(n.Payload) }
	return l, nil
}

// run listens until ctx is over, through as many connections as that takes. It
// logs the first failure of an outage and its end.
func (l *listener) run(ctx context.Context) {
	for away := false; ; {
		err := l.listen(ctx, func() {
			if away {
				l.logger.InfoContext(ctx, "listener for changed keys is back")
			}
			away = false
		})
		l.cache.doubt()
		if ctx.Err() != nil {
			return
		}
		if !away {
			l.logger.WarnContext(ctx, "listener for changed keys is away; answers are kept for a second only", "error", err)
		}
		away = true
		select {
		case <-ctx.Done():
		case <-time.After(100*time.Millisecond + rand.N(900*time.Millisecond)):
		}
	}
}

// listen is one connection's life; it ends with an error or with ctx.
func (l *listener) listen(ctx context.Context, listening func()) error {
	conn, err := l.connect(ctx)
	if err != nil {
		return err
	}
	defer closeWithin(ctx, conn, beatWithin)
	began := time.Now()
	if err := within(ctx, beatWithin, func(ctx context.Context) error {
		_, err := conn.Exec(ctx, `listen keys`)
		return err
	}); err != nil {
		return fmt.Errorf("listen for changed keys: %w", err)
	}
	// What changed while nobody listened has left no trace.
	l.cache.flush()
	l.confirm(ctx, began)
	listening()
	for ctx.Err() == nil {
		if err := await(ctx, conn, began.Add(beatEvery)); err != nil {
			return fmt.Errorf("wait for changed keys: %w", err)
		}
		// A connection that is open at this end only is silent, like one without
		// news. Only an answer tells them apart.
		began = time.Now()
		if err := within(ctx, beatWithin, conn.Ping); err != nil {
			return fmt.Errorf("confirm the listener's connection: %w", err)
		}
		l.confirm(ctx, began)
	}
	return nil
}

// confirm notes that every change before the moment at has arrived.
func (l *listener) confirm(ctx context.Context, at time.Time) {
	l.cache.confirm(at)
	invalidationLag.Record(ctx, time.Since(l.sure).Seconds())
	l.sure = at
}

func (l *listener) connect(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, l.config)
	if err != nil {
		return nil, fmt.Errorf("connect the listener: %w", err)
	}
	return conn, nil
}

// changed drops what is remembered of the tenant that a notification names.
func (l *listener) changed(payload string) {
	id, err := strconv.ParseInt(payload, 10, 64)
	if err != nil {
		l.cache.flush()
		return
	}
	l.cache.drop(tenancy.ID(id))
}

// await reads notifications until a moment.
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

// closeWithin says good-bye to PostgreSQL although ctx may be over.
func closeWithin(ctx context.Context, conn *pgx.Conn, d time.Duration) {
	_ = within(context.WithoutCancel(ctx), d, conn.Close) // nothing is lost with it
}
