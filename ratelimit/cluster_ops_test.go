//go:build ops

package ratelimit

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// nodeTimeout is after how long a cluster takes a node for failed.
const nodeTimeout = 1500 * time.Millisecond

// cluster is private: its masters, which share the slots evenly, stand before
// their replicas.
type cluster struct {
	masters int
	members []*member
}

// member is one node. Its client port may be that of a wire before it.
type member struct {
	server
	port, bus int
	announced int
	options   []string
	client    *redis.Client
	id        string
}

// mustCluster starts so many masters, with a replica each if told so. wired is what the
// first master says to clients instead of its own port, if anything.
func mustCluster(t *testing.T, masters int, replicated bool, wired func(socket string) (port int), options ...string) *cluster {
	t.Helper()
	c := &cluster{masters: masters}
	count := masters
	if replicated {
		count *= 2
	}
	for i := range count {
		dir, err := os.MkdirTemp("", "rl")
		if err != nil {
			t.Fatal(err)
		}
		m := &member{server: server{dir: dir}, port: freePort(t), bus: freePort(t), options: options}
		m.announced = m.port
		if i == 0 && wired != nil {
			m.announced = wired(m.socket())
		}
		m.start(t)
		m.client = mustDial(t, m.url())
		m.id = mustDo(t, m, "cluster", "myid")
		t.Cleanup(func() {
			m.stop(t)
			os.RemoveAll(dir)
		})
		c.members = append(c.members, m)
	}
	for i, m := range c.members {
		mustDo(t, m, "cluster", "set-config-epoch", i+1)
		if i > 0 {
			mustDo(t, c.members[0], "cluster", "meet", "127.0.0.1", m.port, m.bus)
		}
		if i < masters {
			mustDo(t, m, "cluster", "addslotsrange", i*16384/masters, (i+1)*16384/masters-1)
		}
	}
	eventually(t, "all nodes know each other", func() bool {
		return !slices.ContainsFunc(c.members, func(m *member) bool { return strings.Count(mustDo(t, m, "cluster", "nodes"), " connected") != count })
	})
	for i, m := range c.members[masters:] {
		mustDo(t, m, "cluster", "replicate", c.members[i].id)
	}
	eventually(t, "the cluster serves", func() bool { return c.serves(t) })
	return c
}

// serves tells whether all nodes say so, and all replicas have their master's data.
func (c *cluster) serves(t *testing.T) bool {
	for _, m := range c.members {
		if m.cmd == nil || !strings.Contains(mustDo(t, m, "cluster", "info"), "cluster_state:ok") {
			return false
		}
		if role := mustDo(t, m, "info", "replication"); strings.Contains(role, "role:slave") && !strings.Contains(role, "master_link_status:up") {
			return false
		}
	}
	return true
}

// url names all nodes.
func (c *cluster) url() string {
	url := fmt.Sprintf("redis://127.0.0.1:%d", c.members[0].port)
	for i, m := range c.members[1:] {
		url += fmt.Sprintf("%caddr=127.0.0.1:%d", "?&"[min(i, 1)], m.port)
	}
	return url
}

func (m *member) start(t *testing.T) {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatalf("this test starts its own Redis: %v", err)
	}
	m.cmd = exec.Command(path, append([]string{
		"--port", fmt.Sprint(m.port), "--bind", "127.0.0.1", "--unixsocket", m.socket(), "--dir", m.dir, "--save", "", "--appendonly", "no",
		"--cluster-enabled", "yes", "--cluster-config-file", filepath.Join(m.dir, "nodes.conf"), "--cluster-port", fmt.Sprint(m.bus),
		"--cluster-announce-ip", "127.0.0.1", "--cluster-announce-port", fmt.Sprint(m.announced),
		"--cluster-node-timeout", fmt.Sprint(nodeTimeout.Milliseconds()),
	}, m.options...)...)
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "redis-server listens", func() bool {
		conn, err := net.Dial("unix", m.socket())
		if err != nil {
			return false
		}
		conn.Close()
		return true
	})
}

func mustDo(t *testing.T, m *member, args ...any) string {
	t.Helper()
	reply, err := m.client.Do(t.Context(), args...).Result()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return fmt.Sprint(reply)
}

// freePort is one that nobody listens on.
func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// named returns so many unused names on each master.
func (c *cluster) named(t *testing.T, count int) (names [][]string) {
	t.Helper()
	names = make([][]string, c.masters)
	for missing := count * c.masters; missing > 0; {
		name := unused(t)
		if i := c.holder(t, windowKey(name)); len(names[i]) < count {
			names[i] = append(names[i], name)
			missing--
		}
	}
	return names
}

// holder is which of the masters, as they were in the beginning, holds a key.
func (c *cluster) holder(t *testing.T, key string) int {
	t.Helper()
	slot, err := c.members[len(c.members)-1].client.ClusterKeySlot(t.Context(), key).Result()
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.masters {
		if int(slot) < (i+1)*16384/c.masters {
			return i
		}
	}
	t.Fatalf("%s is in slot %d", key, slot)
	return 0
}

func mustOpenLogged(t *testing.T, url string, s settings) (*Limiter, *journalled) {
	t.Helper()
	log := &journalled{}
	l, err := open(t.Context(), url, slog.New(slog.NewTextHandler(log, nil)), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, log
}

func TestOverAClusterInstancesAdmitExactlyTheLimit(t *testing.T) {
	const limit, window = 20, time.Second
	c := mustCluster(t, 3, false, nil)
	instances := mustOpenMany(t, 3, c.url(), short(window))
	var names sync.WaitGroup
	for _, name := range slices.Concat(c.named(t, 4)...) {
		names.Go(func() {
			var crowd crowd
			crowd.ask(t, instances, 1, name, limit, 3*window)
			crowd.checkExact(t, limit, window)
			if len(crowd.admitted) < 2*limit || len(crowd.refused) < 100 || crowd.local > 0 {
				t.Errorf("%d admitted, %d refused, %d in memory: too few, or not by Redis", len(crowd.admitted), len(crowd.refused), crowd.local)
			}
		})
	}
	names.Wait()
	client := instances[0].nodes.cluster
	if err := client.ForEachMaster(t.Context(), func(ctx context.Context, node *redis.Client) error {
		if keys := node.DBSize(ctx).Val(); keys == 0 {
			t.Errorf("%s holds nothing", node.Options().Addr)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

func TestAClusterThatIsFlushedGoesOn(t *testing.T) {
	c := mustCluster(t, 3, false, nil)
	l, names := mustOpen(t, c.url(), short(time.Minute)), slices.Concat(c.named(t, 3)...)
	for range 3 {
		for _, name := range names {
			for want := 2; want >= 1; want-- { // an exhausted name would stay so
				if d := l.Take(t.Context(), name, 3); !d.Allowed || d.Local || d.Remaining != want {
					t.Errorf("Take = %+v, want allowed by Redis with %d remaining", d, want)
				}
			}
			if d := l.TakeToken(t.Context(), name, Refill{Burst: 1, Every: time.Minute}); !d.Allowed || d.Local {
				t.Errorf("TakeToken = %+v, want allowed by Redis", d)
			}
		}
		for _, m := range c.members {
			mustDo(t, m, "flushall")
			mustDo(t, m, "script", "flush")
		}
	}
	if stats := l.Stats(); stats.Errors != 0 || stats.Local != 0 {
		t.Errorf("Stats = %+v, want no errors", stats)
	}
}

// One node is away and nobody takes over, in a cluster that serves what it can: the names
// of the others are decided by Redis, and those of the node with each instance's share.
func TestANodeThatIsAwayTakesItsOwnNamesAlong(t *testing.T) {
	for _, test := range []struct {
		name       string
		hurt, mend func(*testing.T, *member)
	}{
		{"killed", func(t *testing.T, m *member) { m.stop(t) }, func(t *testing.T, m *member) { m.start(t) }},
		{"hung", func(t *testing.T, m *member) { m.signal(t, syscall.SIGSTOP) }, func(t *testing.T, m *member) { m.signal(t, syscall.SIGCONT) }},
	} {
		for _, beats := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, instances beat there: %v", test.name, beats), func(t *testing.T) {
				const limit = 30
				c := mustCluster(t, 3, false, nil, "--cluster-require-full-coverage", "no")
				lost := c.holder(t, instancesKey)
				if !beats {
					lost = (lost + 1) % 3
				}
				var instances []*Limiter
				var logs []*journalled
				for range 3 {
					l, log := mustOpenLogged(t, c.url(), standard)
					instances, logs = append(instances, l), append(logs, log)
				}
				for _, l := range instances {
					eventually(t, "all instances are seen", func() bool { return l.Stats().Instances == 3 })
				}
				var calm, hit []string
				for i, names := range c.named(t, 2) {
					if i == lost {
						hit = names
					} else {
						calm = append(calm, names...)
					}
				}
				name := c.named(t, 1)[lost][0]
				instances[0].Take(t.Context(), name, limit)
				others, own := start(t, instances, calm...), start(t, instances, hit...)
				eventually(t, "Redis decides all", func() bool { return others.redis.Load() > 100 && own.redis.Load() > 100 })
				test.hurt(t, c.members[lost])
				for _, l := range instances {
					eventually(t, "the node is given up", func() bool { return l.nodes.gone(l.nodes.holdingName(name)) && !l.line.late.Load() })
				}
				memory, decided, mine := others.memory.Load(), others.redis.Load(), own.redis.Load()
				until := time.Now().Add(3 * time.Second)
				eventually(t, "the others decide meanwhile", func() bool { return time.Now().After(until) && others.redis.Load() > decided+100 })
				right, wrong := others.redis.Load()-decided, others.memory.Load()-memory
				if wrong > right/10 { // a busy machine makes some late
					t.Errorf("of the decisions about names of the others %d were made in memory, %d by Redis", wrong, right)
				}
				if wrong := own.redis.Load() - mine; wrong > 0 {
					t.Errorf("the node made %d decisions", wrong)
				}
				for _, l := range instances {
					if got := admitted(t, l, name, limit); got != limit/3 {
						t.Errorf("admitted %d without the node, want a third of %d", got, limit)
					}
				}
				test.mend(t, c.members[lost])
				mended := time.Now()
				for mine = own.redis.Load(); own.redis.Load() < mine+100 || slices.ContainsFunc(instances, func(l *Limiter) bool { return l.Stats().Away }); time.Sleep(5 * time.Millisecond) {
					if time.Since(mended) > 5*time.Second {
						t.Fatal("the node does not decide 5 s after its return")
					}
				}
				for i, l := range instances {
					eventually(t, "the node knows what was admitted without it", func() bool {
						d := l.Peek(t.Context(), name, limit)
						return !d.Local && d.Remaining == 0
					})
					if count := strings.Count(logs[i].String(), "redis is"); count != 2 {
						t.Errorf("the log has %d lines about Redis, want 2:\n%s", count, logs[i])
					}
				}
				others.checkPatient(t)
				own.checkPatient(t)
				t.Logf("decided again after %v; slowest decisions %v and %v",
					time.Since(mended).Round(time.Millisecond), time.Duration(others.slowest.Load()), time.Duration(own.slowest.Load()))
			})
		}
	}
}

func TestOpenServesWithoutACluster(t *testing.T) {
	c := mustCluster(t, 3, false, nil)
	for _, m := range c.members {
		m.stop(t)
	}
	l, log := mustOpenLogged(t, c.url(), standard)
	if d := l.Take(t.Context(), unused(t), 2); !d.Allowed || !d.Local || d.Remaining != 1 {
		t.Errorf("Take = %+v, want allowed in memory with 1 remaining", d)
	}
	if d := l.TakeToken(t.Context(), unused(t), Refill{Burst: 2, Every: time.Second}); !d.Allowed || !d.Local {
		t.Errorf("TakeToken = %+v, want allowed in memory", d)
	}
	for _, m := range c.members {
		m.start(t)
	}
	eventually(t, "the cluster serves", func() bool { return c.serves(t) })
	served := time.Now()
	eventually(t, "it decides", func() bool { return !l.Stats().Away && !l.Take(t.Context(), unused(t), 2).Local })
	if took := time.Since(served); took > 5*time.Second {
		t.Errorf("it decides after %v, want 5 s", took)
	}
	if count := strings.Count(log.String(), "redis is"); count > 2+2*3 { // each node may be late to serve
		t.Errorf("the log has %d lines about Redis:\n%s", count, log)
	}
}

// A master dies under load, and its replica takes over.
func TestAReplicaThatTakesOverDecides(t *testing.T) {
	for _, test := range []struct {
		name string
		hurt func(*testing.T, *member)
		mend func(*testing.T, *member)
	}{
		{"the master was killed", func(t *testing.T, m *member) { m.stop(t) }, func(t *testing.T, m *member) { m.start(t) }},
		{"the master hangs", func(t *testing.T, m *member) { m.signal(t, syscall.SIGSTOP) }, func(t *testing.T, m *member) { m.signal(t, syscall.SIGCONT) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			const limit = 300
			c := mustCluster(t, 3, true, nil)
			instances := mustOpenMany(t, 3, c.url(), standard)
			names := slices.Concat(c.named(t, 2)...)
			name := c.named(t, 1)[0][0]
			for range 10 {
				if d := instances[0].Take(t.Context(), name, limit); d.Local {
					t.Fatalf("Take = %+v, want a decision by Redis", d)
				}
			}
			load := start(t, instances, names...)
			eventually(t, "Redis decides", func() bool { return load.redis.Load() > 200 })
			test.hurt(t, c.members[0])
			eventually(t, "the replica has taken over", func() bool {
				return strings.Contains(mustDo(t, c.members[3], "info", "replication"), "role:master") &&
					strings.Contains(mustDo(t, c.members[4], "cluster", "info"), "cluster_state:ok")
			})
			within(t, instances, load, 5*time.Second)
			if d := instances[0].Peek(t.Context(), name, limit); d.Local || d.Remaining != limit-10 {
				t.Errorf("Peek = %+v, want what the replica knows of 10", d)
			}
			test.mend(t, c.members[0])
			eventually(t, "the former master is a replica", func() bool { return c.serves(t) })
			within(t, instances, load, 5*time.Second)
			mustDo(t, c.members[0], "cluster", "failover") // by hand: nobody dies
			eventually(t, "it is master again", func() bool {
				return strings.Contains(mustDo(t, c.members[0], "info", "replication"), "role:master")
			})
			within(t, instances, load, 5*time.Second)
			load.stop()
			load.checkPatient(t)
			if d := instances[0].Take(t.Context(), name, limit); d.Local || d.Remaining != limit-11 {
				t.Errorf("Take = %+v, want the eleventh", d)
			}
		})
	}
}

// within waits until Redis decides everything for a second.
func within(t *testing.T, instances []*Limiter, load *load, most time.Duration) {
	t.Helper()
	began := time.Now()
	memory, since := load.memory.Load(), began
	for since.Add(time.Second).After(time.Now()) || slices.ContainsFunc(instances, func(l *Limiter) bool { return l.Stats().Away }) {
		time.Sleep(5 * time.Millisecond)
		if now := load.memory.Load(); now > memory+5 { // some may be late on a busy machine
			memory, since = now, time.Now()
		}
		if time.Since(began) > most+time.Second {
			t.Fatalf("some decisions are still made in memory after %v", most)
		}
	}
	t.Logf("Redis decided all after %v; the slowest decision took %v", since.Sub(began).Round(time.Millisecond), time.Duration(load.slowest.Load()))
}

// A slot moves while its name is counted: each request counts once, wherever.
func TestASlotThatMovesIsCountedOn(t *testing.T) {
	c := mustCluster(t, 3, false, nil)
	l, name := mustOpen(t, c.url(), standard), c.named(t, 1)[0][0]
	const limit = 1000
	taken := 0
	take := func(step string, times int) {
		t.Helper()
		for range times {
			taken++
			if d := l.Take(t.Context(), name, limit); d.Local || d.Remaining != limit-taken {
				t.Fatalf("%s: Take no. %d = %+v, want %d remaining by Redis", step, taken, d, limit-taken)
			}
		}
	}
	from, to, key := c.members[0], c.members[1], windowKey(name)
	slot := mustDo(t, from, "cluster", "keyslot", key)
	take("before", 10)
	mustDo(t, to, "cluster", "setslot", slot, "importing", from.id)
	mustDo(t, from, "cluster", "setslot", slot, "migrating", to.id)
	take("while the key is still there", 10)
	mustDo(t, from, "migrate", "127.0.0.1", to.port, key, 0, 1000)
	mustDo(t, to, "script", "flush")
	take("while another is asked", 10) // and does not know the script
	for _, m := range []*member{to, from, c.members[2]} {
		mustDo(t, m, "cluster", "setslot", slot, "node", to.id)
	}
	take("after it moved", 10)
	if got := l.nodes.holding(key); !strings.HasSuffix(got.Options().Addr, fmt.Sprint(":", to.port)) {
		eventually(t, "the new node is known", func() bool {
			return strings.HasSuffix(l.nodes.holding(key).Options().Addr, fmt.Sprint(":", to.port))
		})
	}
	take("directly", 10)
	if stats := l.Stats(); stats.Errors != 0 {
		t.Errorf("Stats = %+v, want no errors", stats)
	}
}

// A node has counted a request, and its answer is lost: it must not count it again.
func TestALostAnswerOfANodeIsChargedOnce(t *testing.T) {
	var w *wire
	c := mustCluster(t, 3, false, func(socket string) int {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		w = &wire{listener: listener}
		ctx, cancel := context.WithCancel(t.Context())
		go w.serve(ctx, socket)
		t.Cleanup(func() {
			cancel()
			listener.Close()
		})
		return listener.Addr().(*net.TCPAddr).Port
	})
	s := short(time.Minute)
	s.beat = time.Minute
	l, name := mustOpen(t, c.url(), s), c.named(t, 1)[0][0]
	if d := l.Take(t.Context(), name, 10); d.Local {
		t.Fatalf("Take = %+v, want a decision by Redis", d)
	}
	w.swallow.Store(true)
	if d := l.Take(t.Context(), name, 10); !d.Local || !d.Allowed {
		t.Errorf("Take = %+v, want allowed in memory", d)
	}
	w.swallow.Store(false)
	if lost := w.lost.Load(); lost != 1 {
		t.Errorf("%d answers were lost, want 1", lost)
	}
	entries := mustDo(t, c.members[0], "lrange", windowKey(name), 0, -1)
	if !strings.HasSuffix(entries, ":2]") {
		t.Errorf("the log is %s, want a total of 2", entries)
	}
}
