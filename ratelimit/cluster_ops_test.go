//go:build ops

package ratelimit

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// nodeTimeout is when the nodes of a cluster consider another one failed.
const nodeTimeout = 1500 * time.Millisecond

// cluster is a private cluster. Its masters, which share the slots evenly, precede
// their replicas.
type cluster struct {
	masters int
	members []*member
}

// member is one server of a cluster.
type member struct {
	server
	port, bus int
	announced int // the port for clients, which may be a proxy
	options   []string
	client    *redis.Client
	id        string
}

// mustCluster starts masters, each with a replica if replicated. If proxied is not
// nil, clients reach the first master through the port that it returns.
func mustCluster(
	t *testing.T, masters int, replicated bool, proxied func(socket string) (port int), options ...string,
) *cluster {
	t.Helper()
	c := &cluster{masters: masters}
	count := masters
	if replicated {
		count *= 2
	}
	for i := range count {
		m := &member{server: server{dir: mustTempDir(t)}, port: freePort(t), bus: freePort(t), options: options}
		m.announced = m.port
		if i == 0 && proxied != nil {
			m.announced = proxied(m.socket())
		}
		m.start(t)
		m.client = mustDial(t, m.url())
		m.id = mustDo(t, m, "cluster", "myid")
		t.Cleanup(func() { m.stop(t) })
		c.members = append(c.members, m)
	}
	c.join(t)
	for i, m := range c.members[masters:] {
		mustDo(t, m, "cluster", "replicate", c.members[i].id)
	}
	eventually(t, "the cluster serves", func() bool { return c.serves(t) })
	return c
}

// join connects the members and shares the slots among the masters.
func (c *cluster) join(t *testing.T) {
	t.Helper()
	for i, m := range c.members {
		mustDo(t, m, "cluster", "set-config-epoch", i+1)
		if i > 0 {
			mustDo(t, c.members[0], "cluster", "meet", "127.0.0.1", m.port, m.bus)
		}
		if i < c.masters {
			mustDo(t, m, "cluster", "addslotsrange", i*16384/c.masters, (i+1)*16384/c.masters-1)
		}
	}
	eventually(t, "all members are connected", func() bool {
		return !slices.ContainsFunc(c.members, func(m *member) bool {
			return strings.Count(mustDo(t, m, "cluster", "nodes"), " connected") != len(c.members)
		})
	})
}

// serves reports whether all members serve all slots, and all replicas have the data
// of their master.
func (c *cluster) serves(t *testing.T) bool {
	for _, m := range c.members {
		if m.cmd == nil || !strings.Contains(mustDo(t, m, "cluster", "info"), "cluster_state:ok") {
			return false
		}
		role := mustDo(t, m, "info", "replication")
		if strings.Contains(role, "role:slave") && !strings.Contains(role, "master_link_status:up") {
			return false
		}
	}
	return true
}

// url returns a URL that names all members.
func (c *cluster) url() string {
	url := fmt.Sprintf("redis://127.0.0.1:%d", c.members[0].port)
	for i, m := range c.members[1:] {
		url += fmt.Sprintf("%caddr=127.0.0.1:%d", "?&"[min(i, 1)], m.port)
	}
	return url
}

func (m *member) start(t *testing.T) {
	t.Helper()
	m.run(t, append([]string{
		"--port", fmt.Sprint(m.port), "--bind", "127.0.0.1",
		"--cluster-enabled", "yes", "--cluster-config-file", filepath.Join(m.dir, "nodes.conf"),
		"--cluster-port", fmt.Sprint(m.bus), "--cluster-node-timeout", fmt.Sprint(nodeTimeout.Milliseconds()),
		"--cluster-announce-ip", "127.0.0.1", "--cluster-announce-port", fmt.Sprint(m.announced),
	}, m.options...)...)
}

func mustDo(t *testing.T, m *member, args ...any) string {
	t.Helper()
	reply, err := m.client.Do(t.Context(), args...).Result()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return fmt.Sprint(reply)
}

// freePort returns a port that no process listens on.
func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// named returns a number of unused names on each master.
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

// holder returns the index of the master that held the slot of a key at the start.
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

func TestInstancesOnAClusterAdmitExactlyTheLimit(t *testing.T) {
	const limit, window = 20, time.Second
	c := mustCluster(t, 3, false, nil)
	instances := mustOpenMany(t, 3, c.url(), shortWindow(window))
	var names sync.WaitGroup
	for _, name := range slices.Concat(c.named(t, 4)...) {
		names.Go(func() {
			var r record
			r.take(t, instances, 1, name, limit, 3*window)
			r.checkExact(t, limit, window)
			if len(r.admitted) < 2*limit || len(r.refused) < 50 {
				t.Errorf("%d admitted, %d refused: too few to prove anything", len(r.admitted), len(r.refused))
			}
		})
	}
	names.Wait()
	for i, m := range c.members {
		if mustDo(t, m, "dbsize") == "0" {
			t.Errorf("node %d holds no keys", i)
		}
	}
}

func TestAFlushedClusterDecidesWithoutErrors(t *testing.T) {
	c := mustCluster(t, 3, false, nil)
	l, names := mustOpen(t, c.url(), shortWindow(time.Minute)), slices.Concat(c.named(t, 3)...)
	for range 3 {
		for _, name := range names {
			for want := 2; want >= 0; want-- {
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

// One node is unavailable and has no replica. Redis decides about the names on the
// other nodes; each instance decides about the names on that node with its share.
func TestAnUnavailableNodeAffectsOnlyItsNames(t *testing.T) {
	for _, test := range []struct {
		name          string
		fault, repair func(*testing.T, *member)
	}{
		{"killed", func(t *testing.T, m *member) { m.stop(t) }, func(t *testing.T, m *member) { m.start(t) }},
		{"hung", func(t *testing.T, m *member) { m.suspend(t) }, func(t *testing.T, m *member) { m.resume(t) }},
	} {
		for _, heartbeats := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, heartbeats there: %v", test.name, heartbeats), func(t *testing.T) {
				o := newNodeOutage(t, heartbeats)
				test.fault(t, o.node)
				for _, l := range o.instances {
					eventually(t, "the node is unavailable", func() bool { return l.Stats().Away })
				}
				o.checkOthers(t)
				o.checkShares(t)
				test.repair(t, o.node)
				o.checkReturn(t)
			})
		}
	}
}

// nodeOutage is a cluster of three nodes, three instances and one node that fails.
type nodeOutage struct {
	node      *member
	instances []*Limiter
	logs      []*logBuffer
	name      string // of the node
	own       *load  // about names of the node
	others    *load  // about names of the other nodes
}

const nodeLimit = 30

func newNodeOutage(t *testing.T, heartbeats bool) *nodeOutage {
	t.Helper()
	c := mustCluster(t, 3, false, nil, "--cluster-require-full-coverage", "no")
	failing := c.holder(t, instancesKey)
	if !heartbeats {
		failing = (failing + 1) % 3
	}
	o := &nodeOutage{node: c.members[failing]}
	for range 3 {
		l, log := mustOpenLogged(t, c.url(), standard)
		o.instances, o.logs = append(o.instances, l), append(o.logs, log)
	}
	for _, l := range o.instances {
		eventually(t, "all instances are seen", func() bool { return l.Stats().Instances == 3 })
	}
	names := c.named(t, 3)
	own := names[failing]
	o.name = own[2]
	o.own = start(t, o.instances, own[:2]...)
	o.others = start(t, o.instances, slices.Concat(slices.Delete(names, failing, failing+1)...)...)
	eventually(t, "Redis decides", func() bool { return o.others.redis.Load() > 100 && o.own.redis.Load() > 100 })
	return o
}

// checkOthers fails if decisions about names on the other nodes are made in memory.
func (o *nodeOutage) checkOthers(t *testing.T) {
	t.Helper()
	memory, redis, own := o.others.memory.Load(), o.others.redis.Load(), o.own.redis.Load()
	until := time.Now().Add(3 * time.Second)
	eventually(t, "the other nodes decide", func() bool {
		return time.Now().After(until) && o.others.redis.Load() > redis+100
	})
	local, decided := o.others.memory.Load()-memory, o.others.redis.Load()-redis
	if local > decided/10 { // on a busy machine some replies are late
		t.Errorf("%d decisions about names on other nodes were made in memory, %d by Redis", local, decided)
	}
	if count := o.own.redis.Load() - own; count > 0 {
		t.Errorf("the failed node made %d decisions", count)
	}
	t.Logf("names on other nodes: %d decisions by Redis, %d in memory", decided, local)
}

// checkShares fails if an instance admits more than its share without the node.
func (o *nodeOutage) checkShares(t *testing.T) {
	t.Helper()
	for _, l := range o.instances {
		if got := admitted(t, l, o.name, nodeLimit); got != nodeLimit/3 {
			t.Errorf("admitted %d without the node, want a third of %d", got, nodeLimit)
		}
	}
}

// checkReturn fails unless the node decides again soon after its return.
func (o *nodeOutage) checkReturn(t *testing.T) {
	t.Helper()
	decided := o.own.redis.Load()
	took := within(t, 5*time.Second, "the node decides again", func() bool {
		return o.own.redis.Load() > decided+100 &&
			!slices.ContainsFunc(o.instances, func(l *Limiter) bool { return l.Stats().Away })
	})
	for _, log := range o.logs {
		if count := strings.Count(log.String(), "redis is"); count != 2 {
			t.Errorf("the log has %d lines about Redis, want 2:\n%s", count, log)
		}
	}
	o.others.checkSlowest(t)
	o.own.checkSlowest(t)
	t.Logf("the node decides again after %v; slowest decisions: %v there, %v elsewhere",
		took, time.Duration(o.own.slowest.Load()), time.Duration(o.others.slowest.Load()))
}

func TestOpenSucceedsWithoutACluster(t *testing.T) {
	c := mustCluster(t, 3, false, nil)
	for _, m := range c.members {
		m.stop(t)
	}
	l, log := mustOpenLogged(t, c.url(), standard)
	if d := l.Take(t.Context(), unused(t), 2); !d.Allowed || !d.Local || d.Remaining != 1 {
		t.Errorf("Take = %+v, want allowed in memory with 1 remaining", d)
	}
	refill := Refill{Burst: 2, Every: time.Second}
	if d := l.TakeToken(t.Context(), unused(t), refill); !d.Allowed || !d.Local {
		t.Errorf("TakeToken = %+v, want allowed in memory", d)
	}
	eventually(t, "the cluster is unavailable", func() bool { return l.Stats().Away })
	for _, m := range c.members {
		m.start(t)
	}
	eventually(t, "the cluster serves", func() bool { return c.serves(t) })
	within(t, 5*time.Second, "Redis decides", func() bool {
		return !l.Stats().Away && !l.Take(t.Context(), unused(t), 2).Local
	})
	if count := strings.Count(log.String(), "redis is"); count > 2+2*3 { // each node may serve later
		t.Errorf("the log has %d lines about Redis:\n%s", count, log)
	}
}

// A master fails under load, and its replica takes over.
func TestAReplicaTakesOver(t *testing.T) {
	for _, test := range []struct {
		name          string
		fault, repair func(*testing.T, *member)
	}{
		{"killed", func(t *testing.T, m *member) { m.stop(t) }, func(t *testing.T, m *member) { m.start(t) }},
		{"hung", func(t *testing.T, m *member) { m.suspend(t) }, func(t *testing.T, m *member) { m.resume(t) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			const limit = 300
			c := mustCluster(t, 3, true, nil)
			instances := mustOpenMany(t, 3, c.url(), standard)
			names := slices.Concat(c.named(t, 2)...)
			name := c.named(t, 1)[0][0]
			eventually(t, "Redis counts 10 requests", func() bool {
				d := instances[0].Take(t.Context(), name, limit)
				return !d.Local && d.Remaining == limit-10
			})
			load := start(t, instances, names...)
			eventually(t, "Redis decides", func() bool { return load.redis.Load() > 200 })
			test.fault(t, c.members[0])
			eventually(t, "the replica has taken over", func() bool {
				return strings.Contains(mustDo(t, c.members[3], "info", "replication"), "role:master") &&
					strings.Contains(mustDo(t, c.members[4], "cluster", "info"), "cluster_state:ok")
			})
			awaitRedis(t, instances, load)
			if d := peek(t, instances[0], name, limit); d.Local || d.Remaining != limit-10 {
				t.Errorf("decision = %+v, want the count of 10 on the replica", d)
			}
			test.repair(t, c.members[0])
			eventually(t, "the former master is a replica", func() bool { return c.serves(t) })
			awaitRedis(t, instances, load)
			mustDo(t, c.members[0], "cluster", "failover") // without a fault
			eventually(t, "it is master again", func() bool {
				return strings.Contains(mustDo(t, c.members[0], "info", "replication"), "role:master")
			})
			awaitRedis(t, instances, load)
			load.stop()
			load.checkSlowest(t)
			if d := instances[0].Take(t.Context(), name, limit); d.Local || d.Remaining != limit-11 {
				t.Errorf("Take = %+v, want the eleventh request", d)
			}
		})
	}
}

// awaitRedis waits until Redis decides everything for a second.
func awaitRedis(t *testing.T, instances []*Limiter, load *load) {
	t.Helper()
	memory, since := load.memory.Load(), time.Now()
	within(t, 6*time.Second, "Redis decides everything for a second", func() bool {
		if now := load.memory.Load(); now > memory+5 { // on a busy machine some replies are late
			memory, since = now, time.Now()
		}
		return time.Since(since) > time.Second &&
			!slices.ContainsFunc(instances, func(l *Limiter) bool { return l.Stats().Away })
	})
}

// A slot moves to another node while its names are counted: each request counts once.
func TestAMovingSlotKeepsItsCounts(t *testing.T) {
	c := mustCluster(t, 3, false, nil)
	l, name := mustOpen(t, c.url(), longTimeout()), c.named(t, 1)[0][0]
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
	take("before the key moves", 10)
	mustDo(t, from, "migrate", "127.0.0.1", to.port, key, 0, 1000)
	mustDo(t, to, "script", "flush")
	take("redirected once, to a node without the script", 10)
	for _, m := range []*member{to, from, c.members[2]} {
		mustDo(t, m, "cluster", "setslot", slot, "node", to.id)
	}
	take("redirected", 10)
	eventually(t, "the slot map has the new node", func() bool {
		return strings.HasSuffix(l.nodes.address(key), fmt.Sprint(":", to.port))
	})
	take("directly", 10)
	if stats := l.Stats(); stats.Errors != 0 {
		t.Errorf("Stats = %+v, want no errors", stats)
	}
}

// A node has counted a request and its reply is lost: the request is not sent again.
func TestARequestIsCountedOnceIfTheReplyOfANodeIsLost(t *testing.T) {
	var p *proxy
	c := mustCluster(t, 3, false, func(socket string) int {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		p = serveProxy(t, listener, socket)
		return listener.Addr().(*net.TCPAddr).Port
	})
	s := shortWindow(time.Minute)
	s.beat = time.Minute
	l, name := mustOpen(t, c.url(), s), c.named(t, 1)[0][0]
	if d := l.Take(t.Context(), name, 10); d.Local {
		t.Fatalf("Take = %+v, want a decision by Redis", d)
	}
	p.drop.Store(true)
	if d := l.Take(t.Context(), name, 10); !d.Local || !d.Allowed {
		t.Errorf("Take = %+v, want allowed in memory", d)
	}
	p.drop.Store(false)
	if dropped := p.dropped.Load(); dropped != 1 {
		t.Errorf("%d replies were dropped, want 1", dropped)
	}
	entries := mustDo(t, c.members[0], "lrange", windowKey(name), 0, -1)
	if !strings.HasSuffix(entries, ":2]") {
		t.Errorf("the log is %s, want a total of 2", entries)
	}
}
