package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

// Both ports report "not ready". Only the operations port gives the reason, and never a secret.
func TestReadinessNamesTheFailedCheck(t *testing.T) {
	t.Parallel()
	i, db := mustOpen(t, "")
	ops := &opsPort{}
	logger := slog.New(slog.DiscardHandler)
	if err := ops.open(t.Context(), "127.0.0.1:0", http.NotFoundHandler(), logger); err != nil {
		t.Fatal(err)
	}
	defer ops.close()
	wantReady := func(status int, parts ...string) {
		t.Helper()
		waitUntil(t, fmt.Sprintf("/readyz returns %d", status), func() bool {
			got, _ := get(t, ops.http.Addr, "/readyz")
			return got == status
		})
		_, body := get(t, ops.http.Addr, "/readyz")
		for _, part := range parts {
			if !strings.Contains(body, part) {
				t.Errorf("/readyz = %s, want %s", body, part)
			}
		}
		for _, secret := range []string{"storeroom_runtime", "127.0.0.1", "storeroom-test"} {
			if strings.Contains(body, secret) {
				t.Errorf("/readyz = %s, want nothing of %s", body, secret)
			}
		}
		if got, _ := get(t, ops.http.Addr, "/livez"); got != 200 {
			t.Errorf("/livez = %d, want 200", got)
		}
	}
	wantReady(503, `"check":"start"`)
	public := i.mustServe(t, unchanged)
	ops.instance.Store(i)
	wantBoth := func(status int, parts ...string) {
		t.Helper()
		wantReady(status, parts...)
		if got, _ := get(t, public, "/readyz"); got != status {
			t.Errorf("/readyz of the public port = %d, want %d", got, status)
		}
		if got, _ := get(t, public, "/healthz"); got != 200 {
			t.Errorf("/healthz = %d, want 200", got)
		}
	}
	wantBoth(200, `"status":"ready"`)
	super := db.MustSuper(t)
	mustExec(t, super, `create table saved as select * from schema_migrations`)
	mustExec(t, super, `delete from schema_migrations where version = (select max(version) from schema_migrations)`)
	wantBoth(503, `"check":"schema"`, "this program needs")
	mustExec(t, super, `insert into schema_migrations select * from saved on conflict do nothing`)
	wantBoth(200)
	mustDisconnect(t, db)
	wantBoth(503, `"check":"postgresql"`)
	mustReconnect(t, db)
	wantBoth(200)
}

func get(t *testing.T, address, path string) (int, string) {
	t.Helper()
	response, err := http.Get("http://" + address + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestProbesQueryPostgreSQLOnceASecond(t *testing.T) {
	t.Parallel()
	i, db := mustOpen(t, "")
	mustDisconnect(t, db)
	defer mustReconnect(t, db)
	i.checked.Store(time.Now().Add(time.Minute).UnixNano()) // the last check was successful
	for range 100 {
		if err := i.ready(t.Context()); err != nil {
			t.Fatalf("ready = %v, want nil without a query", err)
		}
	}
	i.checked.Store(time.Now().Add(-checkInterval).UnixNano())
	if err := i.ready(t.Context()); err == nil {
		t.Error("ready = nil a second later, want a query that fails")
	}
}

// An instance without a free connection stays ready, because its load would only move to the next instance. It is not
// ready if PostgreSQL is unavailable.
// A prober that stops waiting shows nothing about the instance.
func TestACancelledProbeIsNotLogged(t *testing.T) {
	t.Parallel()
	i, _ := mustOpen(t, "")
	var log bytes.Buffer
	i.logger = slog.New(slog.NewTextHandler(&log, nil))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		i.checked.Store(0)
		_ = i.ready(ctx)
	}
	waitUntil(t, "the check has ended", func() bool { return i.checked.Load() > 0 })
	if text := log.String(); strings.Contains(text, "ready") {
		t.Errorf("the log has %s", text)
	}
}

func TestABusyInstanceStaysReady(t *testing.T) {
	t.Parallel()
	i, db := mustOpen(t, "&pool_max_conns=1")
	waitUntil(t, "the key listener is connected", func() bool { return i.keys.Listening() })
	err := i.db.Conn(t.Context(), func(*pgx.Conn) error { // the only connection
		if err := i.ready(t.Context()); err != nil {
			t.Errorf("ready while busy = %v, want nil", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		i.checked.Store(0)
		if err := i.ready(ctx); err != nil {
			t.Errorf("ready while busy, with a short deadline = %v, want nil", err)
		}
		mustDisconnect(t, db)
		waitUntil(t, "the key listener is disconnected", func() bool { return !i.keys.Listening() })
		i.checked.Store(0)
		err := i.ready(t.Context())
		if why, ok := errors.AsType[*notReady](err); !ok || why.check != "postgresql" {
			t.Errorf("ready without PostgreSQL = %v, want the check postgresql", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	mustReconnect(t, db)
}

// mustDisconnect makes PostgreSQL close all connections to the database and refuse new ones.
func mustDisconnect(t *testing.T, db *dbtest.Database) {
	t.Helper()
	super := db.MustSuper(t)
	mustLimitConnections(t, super, 0)
	mustExec(t, super, `
		select pg_terminate_backend(pid)
		  from pg_stat_activity
		 where datname = current_database() and pid <> pg_backend_pid()`)
}

func mustReconnect(t *testing.T, db *dbtest.Database) {
	t.Helper()
	mustLimitConnections(t, db.MustSuper(t), -1)
}

func mustLimitConnections(t *testing.T, super *pgx.Conn, limit int) {
	t.Helper()
	mustExec(t, super, fmt.Sprintf(`
		do $$
		begin
			execute format('alter database %%I connection limit %d', current_database());
		end $$`, limit))
}

func mustExec(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}
