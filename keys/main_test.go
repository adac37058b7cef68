package keys

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/goleak"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/people"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// TestMain checks that no goroutine is left after all tests, which close their Resolvers.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	pepperOne = "1:0101010101010101010101010101010101010101010101010101010101010101"
	pepperTwo = "2:AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="
)

func mustPeppers(tb testing.TB, s string) Peppers {
	tb.Helper()
	p, err := ParsePeppers(s)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// shop is a tenant in a new database. Its Store is the operator's.
type shop struct {
	*dbtest.Database
	*Store
	tenant tenants.Tenant
}

func mustShop(tb testing.TB) *shop {
	tb.Helper()
	d := dbtest.New(tb)
	return &shop{d, New(d.Admin, mustPeppers(tb, pepperOne)), d.MustTenant(tb, "acme")}
}

// mustActor returns a signed-in person who has the role in the shop's tenant.
func (s *shop) mustActor(tb testing.TB, name string, role people.Role) tenancy.Actor {
	tb.Helper()
	const password = "correct horse battery"
	member, err := people.New(s.Admin).CreateMember(tb.Context(), s.tenant.ID, name+"@example.com", role, password)
	if err != nil {
		tb.Fatal(err)
	}
	token, err := people.New(s.DB).SignIn(tb.Context(), member.Email, password, "192.0.2.1")
	if err != nil {
		tb.Fatal(err)
	}
	return people.Session{UserID: member.UserID, Email: member.Email}.Actor(token, "192.0.2.7")
}

// asRuntime returns the Store that the pages use.
func (s *shop) asRuntime() *Store { return New(s.DB, s.peppers) }

// create creates a key with every permission, as the operator.
func (s *shop) create(tb testing.TB, tenant tenancy.ID, name string) (Key, Secret, error) {
	return s.Create(tb.Context(), tenant, tenancy.Operator, NewKey{Name: name, Permissions: every})
}

func (s *shop) mustKey(tb testing.TB, name string) (Key, Secret) {
	tb.Helper()
	n := NewKey{Name: name, Permissions: Permissions{ProductsRead}}
	key, secret, err := s.Create(tb.Context(), s.tenant.ID, tenancy.Operator, n)
	if err != nil {
		tb.Fatal(err)
	}
	return key, secret
}

func (s *shop) mustRevoke(tb testing.TB, id int64) {
	tb.Helper()
	if err := s.Revoke(tb.Context(), s.tenant.ID, tenancy.Operator, id); err != nil {
		tb.Fatal(err)
	}
}

// mustAlter executes SQL that no command executes. It must change a row.
func (s *shop) mustAlter(tb testing.TB, sql string, args ...any) {
	tb.Helper()
	tag, err := s.MustSuper(tb).Exec(tb.Context(), sql, args...)
	if err != nil || tag.RowsAffected() == 0 {
		tb.Fatalf("%s: %v, %v", sql, tag, err)
	}
}

// mustOpen opens a Resolver whose listener connects to listenURL.
func (s *shop) mustOpen(tb testing.TB, listenURL string, peppers Peppers) *Resolver {
	tb.Helper()
	r, err := Open(tb.Context(), s.DB, listenURL, peppers, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := r.Close(); err != nil {
			tb.Errorf("Close() = %v", err)
		}
	})
	eventually(tb, "the instance listens", func() bool { return r.Listening() })
	return r
}

func (s *shop) mustOpenDirect(tb testing.TB) *Resolver {
	tb.Helper()
	return s.mustOpen(tb, s.URL, s.peppers)
}

func mustResolve(tb testing.TB, r *Resolver, secret Secret) *Principal {
	tb.Helper()
	p, err := r.Resolve(tb.Context(), secret.Reveal())
	if err != nil {
		tb.Fatalf("Resolve(%v) = %v", secret, err)
	}
	return p
}

// eventually polls until the condition holds.
func eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	if took := until(tb, holds); took > time.Minute {
		tb.Fatalf("not within a minute: %s", what)
	}
}

// until polls until the condition holds, for a little more than a minute. It returns after what time the last check
// began for which it did not hold.
func until(tb testing.TB, holds func() bool) (last time.Duration) {
	tb.Helper()
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if at := time.Since(began); last > time.Minute || holds() {
			return last
		} else {
			last = at
		}
	}
}

// proxy forwards connections of the listener to PostgreSQL. It can stop forwarding without
// closing connections, or close them and refuse new ones.
type proxy struct {
	listener net.Listener
	network  string
	address  string

	mu     sync.Mutex
	paused chan struct{} // closed while bytes are forwarded
	down   bool
	conns  []net.Conn
}

// mustProxy returns a proxy and the URL that goes through it.
func mustProxy(tb testing.TB, server string) (*proxy, string) {
	tb.Helper()
	config, err := pgx.ParseConfig(server)
	if err != nil {
		tb.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &proxy{listener: listener, paused: make(chan struct{})}
	close(p.paused)
	p.network, p.address = pgconn.NetworkAddress(config.Host, config.Port)
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.serve()
	}()
	tb.Cleanup(func() {
		listener.Close()
		<-done
		p.resume()
		p.disconnect()
	})
	through := url.URL{
		Scheme: "postgres", User: url.UserPassword(config.User, config.Password),
		Host: listener.Addr().String(), Path: "/" + config.Database, RawQuery: "sslmode=disable",
	}
	return p, through.String()
}

func (p *proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(p.network, p.address)
		p.mu.Lock()
		refuse := p.down || err != nil
		if !refuse {
			p.conns = append(p.conns, client, server)
		}
		p.mu.Unlock()
		if refuse {
			client.Close()
			if server != nil {
				server.Close()
			}
			continue
		}
		go p.forward(client, server)
		go p.forward(server, client)
	}
}

func (p *proxy) forward(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		p.mu.Lock()
		paused := p.paused
		p.mu.Unlock()
		<-paused
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// pause holds all bytes back and closes no connection.
func (p *proxy) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = make(chan struct{})
}

// resume forwards the bytes that were held back and all later ones.
func (p *proxy) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.paused:
	default:
		close(p.paused)
	}
}

// disconnect closes all connections and refuses new ones until reconnect.
func (p *proxy) disconnect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = true
	for _, conn := range p.conns {
		conn.Close()
	}
	p.conns = nil
}

func (p *proxy) reconnect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = false
}

// printed returns v as printed by all verbs of fmt and all handlers of slog.
func printed(tb testing.TB, v any) string {
	tb.Helper()
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T"} {
		fmt.Fprintf(&out, verb+"\n", v)
	}
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(handler).LogAttrs(context.Background(), slog.LevelInfo, "line", slog.Any("v", v))
	}
	_, _ = io.WriteString(&out, fmt.Sprint(v)+fmt.Errorf("wrapped: %v", v).Error())
	return out.String()
}
