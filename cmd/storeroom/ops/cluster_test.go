//go:build ops

package ops

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Three nodes are one Redis: the limits of many tenants, whose names lie on all of
// them, are exact over two instances. Where one node is gone, the limits that it held
// are shared out between the instances, and nobody sees an error.
func TestARedisClusterLosesANodeUnderLoad(t *testing.T) {
	nodes := startCluster(t, 3)
	h := newHouse(t, "REDIS_URL="+clusterURL(nodes))
	k := h.tenant(t, "acme", 10_000_000)
	const limit = 60
	var before, during, after []key
	for n := range 6 {
		before = append(before, h.tenant(t, fmt.Sprintf("before-%d", n), limit))
		during = append(during, h.tenant(t, fmt.Sprintf("during-%d", n), limit))
		after = append(after, h.tenant(t, fmt.Sprintf("after-%d", n), limit))
	}
	instances := h.startInstances(t, 2)
	l := newLoad(t, stall(t, newClient(t, instances[0].base, k.Key, false)), nil)
	for n := range 6 {
		l.start(newClient(t, instances[n%2].base, k.Key, false), fmt.Sprintf("client-%d", n), mixed)
	}
	for _, k := range before {
		mustAdmit(t, k, limit, instances)
	}
	mustSpread(t, nodes)
	mustBeQuick(t, l)

	away, back := countLines(instances, redisAway), countLines(instances, redisBack)
	nodes[1].signal(t, syscall.SIGKILL)
	<-nodes[1].done
	l.awaitMore(t, 300)
	for _, k := range during {
		mustAdmit(t, k, limit, instances)
	}
	awaitLines(t, instances, redisAway, away)
	mustBeQuick(t, l)

	nodes[1] = startNode(t, nodes[1].dir, nodes[1].port)
	returned := time.Now()
	awaitCluster(t, nodes)
	whole := time.Since(returned)
	took := awaitLines(t, instances, redisBack, back)
	t.Logf("the cluster is whole %v after its node is back, and %v later decides all limits", whole.Round(time.Millisecond), took.Round(time.Millisecond))
	for _, k := range after {
		mustAdmit(t, k, limit, instances)
	}
	mustBeQuick(t, l)
	l.finish(t)
	l.mustCountOnce(t, h, "acme")
}

// node is one of the servers of a cluster.
type node struct {
	*process
	dir  string
	port int
	*redis.Client
}

// startCluster starts nodes that share all slots, without replicas.
func startCluster(t *testing.T, count int) []*node {
	t.Helper()
	var nodes []*node
	create := []string{"--cluster", "create"}
	for range count {
		n := startNode(t, t.TempDir(), clusterPort(t))
		nodes, create = append(nodes, n), append(create, n.Options().Addr)
	}
	p := startProcess(t, t.TempDir(), nil, mustFind(t, "redis-cli"), append(create, "--cluster-yes")...)
	p.mustEnd(t)
	awaitCluster(t, nodes)
	return nodes
}

func startNode(t *testing.T, dir string, port int) *node {
	t.Helper()
	config := fmt.Sprintf("bind 127.0.0.1\nport %d\ndir %s\ncluster-enabled yes\ncluster-node-timeout 1000\nsave \"\"\nappendonly no\n", port, dir)
	// A slot that nobody holds concerns no other slot.
	config += "cluster-require-full-coverage no\n"
	path := filepath.Join(dir, "redis.conf")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	n := &node{
		process: startProcess(t, dir, nil, mustFind(t, "redis-server"), path), dir: dir, port: port,
		Client: redis.NewClient(&redis.Options{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}),
	}
	t.Cleanup(func() { n.Client.Close() })
	await(t, 10*time.Second, "the node to answer", func() bool { return n.runs(t) && n.Ping(t.Context()).Err() == nil })
	return n
}

// clusterPort finds a port whose sister for the nodes' own talk is free, too.
func clusterPort(t *testing.T) int {
	t.Helper()
	for {
		port := freePort(t)
		if l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port+10000))); err == nil {
			l.Close()
			return port
		}
	}
}

// awaitCluster waits until every node says that all slots are served.
func awaitCluster(t *testing.T, nodes []*node) {
	t.Helper()
	for _, n := range nodes {
		await(t, 20*time.Second, "the cluster to be whole", func() bool {
			info, err := n.ClusterInfo(t.Context()).Result()
			return err == nil && strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_slots_ok:16384") &&
				strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d", len(nodes)))
		})
	}
}

// clusterURL names one node and the others beside it.
func clusterURL(nodes []*node) string {
	address := "redis://" + nodes[0].Options().Addr
	for i, n := range nodes[1:] {
		address += string("?&"[min(i, 1)]) + "addr=" + n.Options().Addr
	}
	return address
}

// mustSpread wants that every node holds limits: else there was no cluster to speak of.
func mustSpread(t *testing.T, nodes []*node) {
	t.Helper()
	for i, n := range nodes {
		keys, err := n.DBSize(t.Context()).Result()
		if err != nil || keys == 0 {
			t.Errorf("node %d holds %d keys, %v, want some", i, keys, err)
		}
	}
}
