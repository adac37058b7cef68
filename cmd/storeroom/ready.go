package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/migrations"
	"github.com/storeroom/storeroom/tenancy"
)

const (
	readyWithin = 10 * time.Second // from listening to answering /readyz
	// lookWithin bounds one look at PostgreSQL, and lookEvery how often all probes
	// together make one: they must never become load.
	lookWithin = time.Second
	lookEvery  = time.Second
)

// unready is why an instance should get no requests.
type unready struct {
	check  string // start, drain, postgresql or schema
	reason string // in words that hold no address and no secret
	cause  error  // for the log only
}

// Error is what the log shows.
func (u *unready) Error() string {
	text := u.check + " " + u.reason
	if u.cause != nil {
		text += ": " + u.cause.Error()
	}
	return text
}

// Unwrap is the cause.
func (u *unready) Unwrap() error { return u.cause }

// ready is what /readyz asks: PostgreSQL answers, its schema is new enough, and this
// instance stays. Its error is an unready.
func (i *instance) ready(ctx context.Context) error {
	if i.draining.Load() {
		return &unready{check: "drain", reason: "is under way: the instance is shutting down"}
	}
	if time.Now().UnixNano()-i.looked.Load() < int64(lookEvery) {
		return nil
	}
	done := i.looks.DoChan("", func() (any, error) {
		err := i.look(context.WithoutCancel(ctx))
		if err == nil {
			i.looked.Store(time.Now().UnixNano())
		}
		return nil, err
	})
	select {
	case result := <-done:
		return result.Err
	case <-ctx.Done():
		return i.unanswered(ctx.Err())
	}
}

// look asks PostgreSQL for the version of its schema.
func (i *instance) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	var schema int
	err := i.db.Conn(ctx, func(conn *pgx.Conn) (err error) {
		schema, err = migrations.Version(ctx, conn)
		return err
	})
	switch code := tenancy.SQLState(err); {
	case code != "":
		return &unready{"postgresql", "answers with SQLSTATE " + code, err}
	case err != nil:
		return i.unanswered(err)
	case schema < i.needs:
		return &unready{check: "schema", reason: fmt.Sprintf("is at version %d and this program needs %d", schema, i.needs)}
	}
	return nil
}

// unanswered tells a PostgreSQL that is away from one that is busy with our requests:
// no connection of the pool was free, but the listener's has just had its answer. An
// instance that is busy refuses single requests; were it to leave the balancer, its
// load would fall on the next.
func (i *instance) unanswered(err error) error {
	late := errors.Is(err, tenancy.ErrBusy) || errors.Is(err, context.DeadlineExceeded)
	if late && i.keys.Stats().Listening {
		return nil
	}
	return &unready{"postgresql", "does not answer", err}
}

// awaitReady asks our own /readyz until it says yes.
func awaitReady(ctx context.Context, addr net.Addr) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for {
		err := askReady(ctx, baseURL(addr)+"/readyz")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until the server is ready: %w", errors.Join(ctx.Err(), err))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func askReady(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Close = true
	response, err := (&http.Client{Transport: &http.Transport{}}).Do(request) // never through a proxy
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("/readyz answers %s", response.Status)
	}
	return nil
}

// baseURL is how this machine reaches a listener, also one on every address.
func baseURL(addr net.Addr) string {
	tcp := *addr.(*net.TCPAddr)
	if tcp.IP.IsUnspecified() {
		tcp.IP = net.IPv4(127, 0, 0, 1)
	}
	return "http://" + tcp.String()
}
