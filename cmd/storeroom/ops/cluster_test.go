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

// On a Redis Cluster of three nodes, the limits of many tenants are exact over two instances. When a node is down, each
// instance admits its share of the limits on that node, and no request fails.
func TestARedisClusterLosesANodeUnderLoad(t *testing.T) {
	nodes := startCluster(t, 3)
	h := newService(t, "REDIS_URL="+clusterURL(nodes))
	k := h.tenant(t, "acme", 10_000_000)
	const limit = 60
	var before, during, after []key
	for n := range 6 {
		before = append(before, h.tenant(t, fmt.Sprintf("before-%d", n), limit))
		during = append(during, h.tenant(t, fmt.Sprintf("during-%d", n), limit))
		after = append(after, h.tenant(t, fmt.Sprintf("after-%d", n), limit))
	}
	instances := h.startInstances(t, 2)
	l := newLoad(t, mustProducts(t, newClient(t, instances[0].base, k.Key, false)), nil)
	for n := range 6 {
		l.start(newClient(t, instances[n%2].base, k.Key, false), fmt.Sprintf("client-%d", n), mixed)
	}
	for _, k := range before {
		mustAdmit(t, k, limit, instances)
	}
	mustUseAllNodes(t, nodes)
	mustBeQuick(t, l)

	away, back := countLines(instances, redisUnavailable), countLines(instances, redisAvailable)
	nodes[1].signal(t, syscall.SIGKILL)
	<-nodes[1].done
	l.awaitMore(t, 300)
	for _, k := range during {
		mustAdmit(t, k, limit, instances)
	}
	awaitLines(t, instances, redisUnavailable, away)
	mustBeQuick(t, l)

	nodes[1] = startNode(t, nodes[1].dir, nodes[1].port)
	returned := time.Now()
	awaitCluster(t, nodes)
	whole := time.Since(returned)
	took := awaitLines(t, instances, redisAvailable, back)
	t.Logf(
		"the cluster is complete %v after the restart of the node, and decides all limits %v later",
		whole.Round(time.Millisecond), took.Round(time.Millisecond))
	for _, k := range after {
		mustAdmit(t, k, limit, instances)
	}
	mustBeQuick(t, l)
	l.finish(t)
	l.mustCountOnce(t, h, "acme")
}

// node is one node of a Redis Cluster.
type node struct {
	*process
	dir  string
	port int
	*redis.Client
}

// startCluster starts a cluster without replicas.
func startCluster(t *testing.T, count int) []*node {
	t.Helper()
	var nodes []*node
	create := []string{"--cluster", "create"}
	for range count {
		n := startNode(t, t.TempDir(), clusterPort(t))
		nodes, create = append(nodes, n), append(create, n.Options().Addr)
	}
	p := startProcess(t, t.TempDir(), nil, mustFindProgram(t, "redis-cli"), append(create, "--cluster-yes")...)
	p.mustExit(t)
	awaitCluster(t, nodes)
	return nodes
}

func startNode(t *testing.T, dir string, port int) *node {
	t.Helper()
	config := fmt.Sprintf(
		"bind 127.0.0.1\nport %d\ndir %s\ncluster-enabled yes\ncluster-node-timeout 1000\nsave \"\"\nappendonly no\n",
		port, dir)
	// Slots without a node must not disable the other slots.
	config += "cluster-require-full-coverage no\n"
	path := filepath.Join(dir, "redis.conf")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	n := &node{
		process: startProcess(t, dir, nil, mustFindProgram(t, "redis-server"), path), dir: dir, port: port,
		Client: redis.NewClient(&redis.Options{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}),
	}
	t.Cleanup(func() { n.Client.Close() })
	await(t, 10*time.Second, "the node to answer", func() bool {
		return n.mustRun(t) && n.Ping(t.Context()).Err() == nil
	})
	return n
}

// clusterPort returns a free port whose cluster bus port is also free.
func clusterPort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := freePort(t)
		if l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port+10000))); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no free port for the cluster bus")
	return 0
}

// awaitCluster waits until every node reports that all slots are served.
func awaitCluster(t *testing.T, nodes []*node) {
	t.Helper()
	for _, n := range nodes {
		await(t, 20*time.Second, "the cluster to be complete", func() bool {
			info, err := n.ClusterInfo(t.Context()).Result()
			return err == nil && strings.Contains(info, "cluster_state:ok") &&
				strings.Contains(info, "cluster_slots_ok:16384") &&
				strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d", len(nodes)))
		})
	}
}

// clusterURL returns a URL with the addresses of all nodes.
func clusterURL(nodes []*node) string {
	address := "redis://" + nodes[0].Options().Addr
	for i, n := range nodes[1:] {
		address += string("?&"[min(i, 1)]) + "addr=" + n.Options().Addr
	}
	return address
}

// mustUseAllNodes requires that every node stores limits.
func mustUseAllNodes(t *testing.T, nodes []*node) {
	t.Helper()
	for i, n := range nodes {
		keys, err := n.DBSize(t.Context()).Result()
		if err != nil || keys == 0 {
			t.Errorf("node %d holds %d keys, %v, want some", i, keys, err)
		}
	}
}
