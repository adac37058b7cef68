package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/storeroom/storeroom/cmd/storeroom/config"
	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/feed"
	"github.com/storeroom/storeroom/tenancy/jobs"
	"github.com/storeroom/storeroom/tenancy/webhooks"
)

const peppers = "1:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

// mustOpen opens an instance on its own database. The parameters are added to DATABASE_URL.
func mustOpen(t *testing.T, parameters string) (*instance, *dbtest.Database) {
	t.Helper()
	db := dbtest.New(t)
	cfg, err := config.ParseServe(map[string]string{
		"DATABASE_URL":          db.URL + parameters,
		"REDIS_URL":             os.Getenv("REDIS_URL"),
		"STOREROOM_KEY_PEPPERS": peppers,
		"STOREROOM_DRAIN":       "0s",
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg.BaseURL = &url.URL{Scheme: "http", Host: "127.0.0.1:80"}
	i, err := openInstance(t.Context(), cfg, "test", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.close(); err != nil {
			t.Error(err)
		}
	})
	return i, db
}

// mustServe serves until the test ends and returns the address. The timeouts are too long for a test to reach, except
// those that change sets.
func (i *instance) mustServe(t *testing.T, change func(*http.Server)) string {
	t.Helper()
	i.http.ReadHeaderTimeout, i.http.ReadTimeout = time.Minute, time.Minute
	i.http.WriteTimeout, i.http.IdleTimeout = time.Minute, time.Minute
	change(i.http)
	listener := mustListen(t)
	ctx, stop := context.WithCancel(context.Background())
	started, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- i.serve(ctx, smallBuffer{listener}, func() error { close(started); return nil })
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-started:
	case err := <-ended:
		ended <- nil
		t.Fatalf("serve: %v", err)
	}
	return listener.Addr().String()
}

func unchanged(*http.Server) {}

// smallBuffer limits how much of a response the kernel holds for a client that does not read.
type smallBuffer struct{ net.Listener }

func (l smallBuffer) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		err = conn.(*net.TCPConn).SetWriteBuffer(4 << 10)
	}
	return conn, err
}

func mustListen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// mustDial opens a connection whose reads fail after a minute.
func mustDial(t *testing.T, address string) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

// mustKey creates a tenant and returns its id and a key with all permissions.
func mustKey(t *testing.T, db *dbtest.Database) (tenancy.ID, string) {
	t.Helper()
	tenant := db.MustTenant(t, "acme")
	pepper, err := keys.ParsePeppers(peppers)
	if err != nil {
		t.Fatal(err)
	}
	permissions, err := keys.ParsePermissions("full")
	if err != nil {
		t.Fatal(err)
	}
	newKey := keys.NewKey{Name: "Test", Permissions: permissions}
	_, secret, err := keys.New(db.Admin, pepper).Create(t.Context(), tenant.ID, tenancy.Operator, newKey)
	if err != nil {
		t.Fatal(err)
	}
	return tenant.ID, secret.Reveal()
}

// waitUntil polls a condition every 10 ms for up to a minute.
func waitUntil(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

func TestServeReturnsAnEarlyErrorOfTheListener(t *testing.T) {
	t.Parallel()
	i, _ := mustOpen(t, "")
	listener := mustListen(t)
	listener.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := i.serve(ctx, listener, func() error { return nil })
	if !errors.Is(err, net.ErrClosed) || ctx.Err() != nil {
		t.Errorf("serve = %v, want %v immediately", err, net.ErrClosed)
	}
}

func TestServeReturnsALateErrorOfTheListener(t *testing.T) {
	t.Parallel()
	i, _ := mustOpen(t, "")
	listener := mustListen(t)
	if err := i.serve(t.Context(), listener, listener.Close); !errors.Is(err, net.ErrClosed) {
		t.Errorf("serve = %v, want %v", err, net.ErrClosed)
	}
}

func TestListenNamesAPortInUse(t *testing.T) {
	t.Parallel()
	used := mustListen(t).Addr().String()
	_, err := Listen(t.Context(), "STOREROOM_ADDR", used)
	if want := "STOREROOM_ADDR: " + used + " is in use by another program"; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("Listen = %v, want %q", err, want)
	}
}

// The receiver of a webhook must not be able to write to the log.
func TestNothingIsWrittenToTheStandardLog(t *testing.T) {
	before := log.Writer()
	defer log.SetOutput(before)
	var written strings.Builder
	log.SetOutput(&written)
	cfg := config.Config{BaseURL: &url.URL{Scheme: "http", Host: "127.0.0.1:80"}, DatabaseURL: "nonsense"}
	if err := Run(t.Context(), Options{Config: cfg, Stderr: io.Discard, Listener: mustListen(t)}); err == nil {
		t.Error("Run without a database returns no error")
	}
	log.Print("unsolicited")
	if written.Len() > 0 {
		t.Errorf("the standard log has %q", written.String())
	}
}

// A message that a receiver accepts during the shutdown is stored as delivered, so it is not sent again.
func TestShutdownWaitsForMessages(t *testing.T) {
	t.Parallel()
	i, db := mustOpen(t, "")
	if err := i.stopDelivery(t.Context()); err != nil {
		t.Fatal(err)
	}
	hooks := webhooks.New(i.db, feed.New(i.db, feed.MinRetention), true)
	tenant := db.MustTenant(t, "shop").ID
	began, end := make(chan struct{}), make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(began)
		<-end
	}))
	defer receiver.Close()
	fields := webhooks.Fields{URL: &receiver.URL, Types: []string{"seller"}}
	hook, err := hooks.Create(t.Context(), tenant, tenancy.Operator, fields, nil)
	if err != nil {
		t.Fatal(err)
	}
	const add = `insert into sellers (tenant_id, name) values ($1, 'Acme')`
	if _, err := i.db.Exec(t.Context(), tenant, add, tenant); err != nil {
		t.Fatal(err)
	}
	encode := func(context.Context, tenancy.ID, bool, []feed.Entry) ([]json.RawMessage, error) {
		return []json.RawMessage{json.RawMessage("{}")}, nil
	}
	i.stopDelivery = jobs.Start(t.Context(), slog.New(slog.DiscardHandler), hooks.Worker(encode))
	<-began
	ended := make(chan error, 1)
	go func() { ended <- i.shutdown(t.Context()) }()
	select {
	case err := <-ended:
		t.Errorf("shutdown = %v while a message is sent", err)
	case <-time.After(100 * time.Millisecond):
	}
	close(end)
	if err := <-ended; err != nil {
		t.Errorf("shutdown = %v", err)
	}
	deliveries, err := hooks.Deliveries(t.Context(), tenant, hook.ID, nil, 10)
	if err != nil || len(deliveries) != 1 || !deliveries[0].Succeeded {
		t.Errorf("deliveries: %+v, %v; want one that succeeded", deliveries, err)
	}
}
