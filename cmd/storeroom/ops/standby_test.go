//go:build ops

package ops

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/deploy/local"
)

// replicated is a service with a primary and streaming standbys, which its instances use as replicas.
type replicated struct {
	*service
	primary  *proxy // between the instances and the primary
	first    string // URL of the superuser, as database, but only on the first primary
	standbys []*standby
	faults   map[string]int // injected faults, which the test prints at its end
}

// standby is a streaming standby. The instances read on it through a proxy. Their writes use it directly after its
// promotion.
type standby struct {
	*server
	*proxy
	faults map[string]int
}

// newReplicated starts a primary with standbys. After the promotion of a standby, commands and instances find it by
// themselves, because the URLs of the primary contain all servers.
func newReplicated(t *testing.T, standbys int) *replicated {
	t.Helper()
	primary := startServer(t, local.Options{Postgres: true, Durable: true})
	// Only processes are killed, so no data is lost. Waiting for a busy disk, two servers take seconds to commit.
	mustExec(t, primary.AdminURL, `alter system set fsync = off`)
	mustExec(t, primary.AdminURL, `alter system set wal_keep_size = '1GB'`)
	mustExec(t, primary.AdminURL, `alter system set wal_retrieve_retry_interval = '100ms'`)
	mustExec(t, primary.AdminURL, `select pg_reload_conf()`)
	h := &replicated{service: newServiceOn(t, primary), primary: startProxy(t, primary), faults: map[string]int{}}
	t.Cleanup(func() { t.Logf("injected faults: %v", h.faults) })
	direct, proxied := []string{hostOf(t, primary.AdminURL)}, []string{h.primary.address()}
	var replicas []string
	runtimeURL := h.variable("DATABASE_URL")
	for range standbys {
		s := startServer(t, local.Options{Postgres: true, Durable: true, StandbyOf: primary.AdminURL})
		h.standbys = append(h.standbys, &standby{s, startProxy(t, s), h.faults})
		host := hostOf(t, s.AdminURL)
		direct, proxied = append(direct, host), append(proxied, host)
		replicas = append(replicas, withHosts(t, runtimeURL, h.standbys[len(replicas)].address()))
	}
	const writable = "&target_session_attrs=read-write"
	h.environ = append(h.environ,
		"DATABASE_URL="+withHosts(t, runtimeURL, proxied...)+writable,
		"DATABASE_ADMIN_URL="+withHosts(t, h.variable("DATABASE_ADMIN_URL"), direct...)+writable,
		"DATABASE_REPLICA_URLS="+strings.Join(replicas, " "))
	h.first = h.database
	h.database = withHosts(t, h.database, direct...) + writable
	return h
}

// variable returns the value of a variable of the instances.
func (h *service) variable(name string) (value string) {
	for _, pair := range h.environ {
		if v, found := strings.CutPrefix(pair, name+"="); found {
			value = v
		}
	}
	return value
}

// withHosts replaces the host of a database URL.
func withHosts(t *testing.T, address string, hosts ...string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = strings.Join(hosts, ",")
	return u.String()
}

func hostOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

// mustExec runs a statement on a server.
func mustExec(t *testing.T, address, statement string, args ...any) {
	t.Helper()
	mustQuery[any](t, address, statement, args...)
}

// mustQuery returns the first column of the first row of a query, or the zero value without rows.
func mustQuery[T any](t *testing.T, address, query string, args ...any) (value T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, _ := conn.Query(t.Context(), query, args...)
	values, err := pgx.CollectRows(rows, pgx.RowTo[T])
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	if len(values) > 0 {
		value = values[0]
	}
	return value
}

func (s *standby) pauseReplay(t *testing.T) {
	t.Helper()
	s.faults["replay paused"]++
	mustExec(t, s.AdminURL, `select pg_wal_replay_pause()::text`)
	await(t, 5*time.Second, "the replay to pause", func() bool {
		return mustQuery[string](t, s.AdminURL, `select pg_get_wal_replay_pause_state()`) == "paused"
	})
}

func (s *standby) resumeReplay(t *testing.T) {
	t.Helper()
	mustExec(t, s.AdminURL, `select pg_wal_replay_resume()::text`)
}

// setDelay makes the standby replay commits late.
func (s *standby) setDelay(t *testing.T, delay string) {
	t.Helper()
	if delay != "0" {
		s.faults["replay delayed"]++
	}
	mustExec(t, s.AdminURL, `alter system set recovery_min_apply_delay = '`+delay+`'`)
	mustExec(t, s.AdminURL, `select pg_reload_conf()`)
}

// hang makes the standby accept connections without answering.
func (s *standby) hang() {
	s.faults["standby hung"]++
	s.proxy.hang()
}

// crash kills all processes of the server.
func (s *standby) crash(t *testing.T) {
	t.Helper()
	s.faults["standby killed"]++
	s.kill(t)
	s.stop(t)
}

// restart kills all processes of the server and starts it immediately.
func (s *standby) restart(t *testing.T) {
	t.Helper()
	s.crash(t)
	s.start(t)
}

// awaitReplay waits until the standby has replayed what the server with that URL has written.
func (s *standby) awaitReplay(t *testing.T, primary string) {
	t.Helper()
	position := mustQuery[string](t, primary, `select pg_current_wal_flush_lsn()::text`)
	await(t, 20*time.Second, "the standby to follow", func() bool {
		return mustQuery[bool](t, s.AdminURL, `select pg_last_wal_replay_lsn() >= $1::text::pg_lsn`, position)
	})
}

// awaitStreaming waits until all standbys receive the writes of the first primary.
func (h *replicated) awaitStreaming(t *testing.T) {
	t.Helper()
	const streaming = `select count(*) from pg_stat_replication where state = 'streaming'`
	await(t, 20*time.Second, "all standbys to follow", func() bool {
		return mustQuery[int](t, h.first, streaming) == len(h.standbys)
	})
}

// promote makes the standby a primary.
func (s *standby) promote(t *testing.T) {
	t.Helper()
	s.faults["standby promoted"]++
	if !mustQuery[bool](t, s.AdminURL, `select pg_promote(true, 30)`) {
		t.Fatal("the standby was not promoted in 30 s")
	}
}

// follow makes the standby follow another server.
func (s *standby) follow(t *testing.T, other *standby) {
	t.Helper()
	config, err := pgx.ParseConfig(other.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	mustExec(t, s.AdminURL, fmt.Sprintf(`alter system set primary_conninfo = 'host=%s port=%d user=%s password=%s'`,
		config.Host, config.Port, config.User, config.Password))
	mustExec(t, s.AdminURL, `select pg_reload_conf()`)
	s.awaitReplay(t, other.AdminURL)
}

// failOver kills the primary and promotes the standby that has received most. The others follow it.
func (h *replicated) failOver(t *testing.T) (promoted *standby) {
	t.Helper()
	h.faults["primary killed"]++
	h.postgres.kill(t)
	h.postgres.stop(t)
	var most uint64
	for _, s := range h.standbys {
		await(t, 10*time.Second, "the standby to lose its connection", func() bool {
			return mustQuery[int](t, s.AdminURL, `select count(*) from pg_stat_wal_receiver`) == 0
		})
		received := mustQuery[uint64](t, s.AdminURL, `select (pg_last_wal_receive_lsn() - '0/0')::bigint`)
		if promoted == nil || received > most {
			promoted, most = s, received
		}
	}
	promoted.promote(t)
	for _, s := range h.standbys {
		if s != promoted {
			s.follow(t, promoted)
		}
	}
	return promoted
}

// replicaInstance is an instance with an operations port.
type replicaInstance struct {
	*instance
	ops string
}

// startReading starts an instance that reads on the standbys.
func (h *replicated) startReading(t *testing.T) *replicaInstance {
	t.Helper()
	ops := net.JoinHostPort("127.0.0.1", strconv.Itoa(freePort(t)))
	with := *h.service
	with.environ = append(h.environ[:len(h.environ):len(h.environ)], "STOREROOM_OPS_ADDR="+ops)
	return &replicaInstance{with.startInstances(t, 1)[0], "http://" + ops}
}

// The outcomes of reads in the metric.
const (
	answered = "answered"
	behind   = "behind"
	failed   = "failed"
	skipped  = "skipped"
)

var readsPattern = regexp.MustCompile(
	`^storeroom_replica_reads_total\{.*storeroom_outcome="(\w+)".*storeroom_replica="(\d*)".*\} (\S+)\n`)

// outcomes returns the number of reads by outcome, and by outcome and replica, such as "answered by 1".
func (i *replicaInstance) outcomes(t *testing.T) map[string]int {
	t.Helper()
	response, err := http.Get(i.ops + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for line := range strings.Lines(string(all)) {
		if match := readsPattern.FindStringSubmatch(line); match != nil {
			n, err := strconv.ParseFloat(match[3], 64)
			if err != nil {
				t.Fatal(err)
			}
			counts[match[1]] += int(n)
			if match[2] != "" {
				counts[match[1]+" by "+match[2]] += int(n)
			}
		}
	}
	return counts
}

// proxy forwards connections to a server. It can hang, or close all connections and refuse new ones.
type proxy struct {
	listener net.Listener

	mu      sync.Mutex
	flowing chan struct{} // closed unless the proxy hangs
	open    map[net.Conn]bool
}

func startProxy(t *testing.T, s *server) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, flowing: make(chan struct{}), open: map[net.Conn]bool{}}
	p.resume()
	target := hostOf(t, s.AdminURL)
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target)
			if err != nil {
				client.Close()
				continue
			}
			go p.forward(client, server)
			go p.forward(server, client)
		}
	}()
	t.Cleanup(p.cut)
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) forward(from, to net.Conn) {
	p.mu.Lock()
	p.open[from] = true
	p.mu.Unlock()
	defer func() {
		from.Close()
		to.Close()
		p.mu.Lock()
		delete(p.open, from)
		p.mu.Unlock()
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		flowing := p.flowing
		p.mu.Unlock()
		<-flowing
		if err != nil {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// hang stops forwarding. Connections stay open, and new ones are accepted.
func (p *proxy) hang() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flowing = make(chan struct{})
}

func (p *proxy) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.flowing)
}

// cut closes all connections and refuses new ones.
func (p *proxy) cut() {
	p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.open {
		conn.Close()
	}
}
