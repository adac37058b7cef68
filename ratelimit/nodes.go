package ratelimit

import (
	"context"
	"fmt"
	"maps"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// instancesKey is where the instances beat. In a cluster one node holds it.
const instancesKey = "rl:instances"

// nodes is which servers hold the names, and which of them are away. A single
// server is one node that holds them all.
//
// In a cluster a node that is away takes its own names along and no others: who
// holds a name is known without asking, so what concerns the others flies on.
type nodes struct {
	client  redis.UniversalClient // both of the following
	single  *redis.Client
	cluster *redis.ClusterClient

	mapped atomic.Bool // a cluster has said who holds what
	shut   atomic.Bool // nobody is asked any more

	// The nodes that are away, each with a key that it holds, by which it is probed.
	// The line replaces the map, and never changes one. nil is the node that holds a
	// name as long as a cluster has not been reached.
	away atomic.Pointer[map[*redis.Client]string]
}

// holding is the node that holds a key, as far as is known. It never waits.
func (n *nodes) holding(key string) *redis.Client {
	if n.single != nil {
		return n.single
	}
	if !n.mapped.Load() {
		return nil
	}
	node, err := n.cluster.MasterForKey(context.Background(), key)
	if err != nil {
		return nil // closed
	}
	return node
}

// holdingName is the node that counts a name.
func (n *nodes) holdingName(name string) *redis.Client {
	if n.single != nil {
		return n.single
	}
	return n.holding(windowKey(name))
}

// find is the node that holds a key. A cluster that was never reached is asked.
func (n *nodes) find(ctx context.Context, key string) (*redis.Client, error) {
	if n.single != nil {
		return n.single, nil
	}
	node, err := n.cluster.MasterForKey(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("find the nodes: %w", err)
	}
	n.mapped.Store(true)
	return node, nil
}

// gone tells whether a node is away.
func (n *nodes) gone(node *redis.Client) bool {
	if n.shut.Load() {
		return true
	}
	away := n.away.Load()
	if away == nil {
		return node == nil
	}
	_, gone := (*away)[node]
	return gone || node == nil
}

// someGone tells whether any node is away.
func (n *nodes) someGone() bool { return n.shut.Load() || n.away.Load() != nil }

// lose notes that a node is away, and tells whether that is news.
func (n *nodes) lose(node *redis.Client) bool {
	away := n.copy()
	if _, gone := away[node]; gone {
		return false
	}
	away[node] = n.witness(node)
	n.away.Store(&away)
	return true
}

// regain notes that a node is there, and tells whether that is news.
func (n *nodes) regain(node *redis.Client) bool {
	if n.away.Load() == nil {
		return false
	}
	away := n.copy()
	if _, gone := away[node]; !gone {
		return false
	}
	delete(away, node)
	if len(away) == 0 {
		n.away.Store(nil)
	} else {
		n.away.Store(&away)
	}
	return true
}

func (n *nodes) copy() map[*redis.Client]string {
	all := map[*redis.Client]string{}
	if away := n.away.Load(); away != nil {
		maps.Copy(all, *away)
	}
	return all
}

// mostTags is enough to find a key for a node that holds few of the 16,384 slots.
const mostTags = 1 << 16

// witness is a key that a node holds: the usual one, or one like it that hashes to
// some slot of the node.
func (n *nodes) witness(node *redis.Client) string {
	if n.holding(instancesKey) == node {
		return instancesKey
	}
	for tag := range mostTags {
		key := fmt.Sprintf("%s:{%d}", instancesKey, tag)
		if n.holding(key) == node {
			return key
		}
	}
	return instancesKey // it holds nothing by now
}

// witnesses are the keys to beat at: the usual one, and one on each node that is away.
func (n *nodes) witnesses() []string {
	keys := []string{instancesKey}
	for _, key := range n.copy() {
		if key != instancesKey {
			keys = append(keys, key)
		}
	}
	return keys
}

// moved are the nodes that were away and whose names another node holds by now.
func (n *nodes) moved() (moved []*redis.Client) {
	for node, key := range n.copy() {
		if n.holding(key) != node {
			moved = append(moved, node)
		}
	}
	return moved
}

// remap asks a cluster in the background who holds what by now: a node that is away
// does not say itself who took over.
func (n *nodes) remap(ctx context.Context) {
	if n.cluster != nil && n.mapped.Load() && n.away.Load() != nil {
		n.cluster.ReloadState(ctx)
	}
}
