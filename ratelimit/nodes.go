package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"
)

// A breaker opens after minFailures failures in a row over at least minOutage. One short pause of Redis or of this
// process, which fails all pending calls together, does not open it.
const (
	minFailures = 5
	minOutage   = 500 * time.Millisecond
)

// unknown is the address of all nodes until the slot map of the cluster is loaded.
const unknown = "unknown"

var (
	errNoSlotMap = errors.New("no node of the cluster has answered yet")
	errLate      = fmt.Errorf("redis answered late: %w", context.DeadlineExceeded)
)

type breaker = gobreaker.CircuitBreaker[*redis.Cmd]

// nodes sends commands to Redis. Each node, the single server or a master of the cluster, has its own circuit
// breaker.
type nodes struct {
	client redis.UniversalClient
	// send sends a command and waits for its reply. To a single server, commands of concurrent requests share a round
	// trip. To a cluster they do not: the commands in a pipeline of go-redis can have different nodes, and a node that
	// hangs would delay those of the others.
	send     func(context.Context, redis.Cmder) error
	server   string               // the address of a single server
	cluster  *redis.ClusterClient // nil for a single server
	logger   *slog.Logger
	settings settings

	hasSlotMap atomic.Bool   // a node of the cluster has sent the slot map
	failures   atomic.Uint64 // commands that were refused or not answered in time

	mu       sync.Mutex
	breakers map[string]*breaker // by the address of the node
}

// address returns the address of the node that holds key, without network I/O.
func (n *nodes) address(key string) string {
	if n.cluster == nil {
		return n.server
	}
	if n.hasSlotMap.Load() {
		if node, err := n.cluster.MasterForKey(context.Background(), key); err == nil {
			return node.Options().Addr
		}
	}
	return unknown
}

// scripter runs the scripts of go-redis and redis_rate through the breakers.
type scripter struct {
	redis.UniversalClient // the methods that scripts do not use
	nodes                 *nodes
	script                string // the name in spans
}

func (n *nodes) scripter(script string) scripter {
	return scripter{UniversalClient: n.client, nodes: n, script: script}
}

// EvalSha runs a script by its hash.
func (s scripter) EvalSha(ctx context.Context, hash string, keys []string, args ...any) *redis.Cmd {
	return s.run(ctx, "EVALSHA", hash, keys[0], args)
}

// Eval runs a script by its source, after a node did not have it.
func (s scripter) Eval(ctx context.Context, source string, keys []string, args ...any) *redis.Cmd {
	return s.run(ctx, "EVAL", source, keys[0], args)
}

// run sends a script to the node that holds key, unless the breaker of the node is open.
func (s scripter) run(ctx context.Context, operation, script, key string, args []any) *redis.Cmd {
	start := time.Now()
	cmd := redis.NewCmd(ctx, slices.Concat([]any{operation, script, 1, key}, args)...)
	address := s.nodes.address(key)
	_, err := s.nodes.breaker(address).Execute(func() (*redis.Cmd, error) {
		if address == unknown {
			return nil, errNoSlotMap
		}
		err := s.nodes.process(ctx, cmd)
		if err == nil && time.Since(start) > s.nodes.settings.timeout {
			err = errLate
		}
		return cmd, err
	})
	if err != nil && !errors.Is(err, errLate) { // a late reply is still a reply
		cmd = redis.NewCmd(ctx) // the command may still be running
		cmd.SetErr(err)
	}
	switch {
	case errors.Is(err, gobreaker.ErrOpenState), errors.Is(err, gobreaker.ErrTooManyRequests):
		return cmd // nothing was sent
	case scriptMissing(err):
		err = nil // an expected answer
	case err != nil:
		s.nodes.failures.Add(1)
	}
	measureCommand(ctx, start, operation, s.script, err)
	return cmd
}

// process sends a command and waits for the reply until ctx ends. The connection waits longer: it stays open and
// reads a late reply, so that a short overload of this process does not close all connections.
func (n *nodes) process(ctx context.Context, cmd *redis.Cmd) error {
	done := make(chan error, 1)
	go func() { done <- n.send(context.WithoutCancel(ctx), once{cmd}) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	runtime.Gosched() // lets the connection read a reply that has arrived
	select {
	case err := <-done:
		return err
	default:
		return ctx.Err()
	}
}

// scriptMissing reports whether a node did not execute a script because it has not loaded it.
func scriptMissing(err error) bool { return redis.HasErrorPrefix(err, "NOSCRIPT") }

// once is a command that go-redis never sends again if it may have been executed.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

func (n *nodes) breaker(address string) *breaker {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.breakers[address] == nil {
		n.breakers[address] = n.newBreaker(address)
	}
	return n.breakers[address]
}

func (n *nodes) newBreaker(address string) *breaker {
	// The breaker calls the functions below under its lock.
	var firstFailure time.Time // of the failures in a row
	var lastError error
	return gobreaker.NewCircuitBreaker[*redis.Cmd](gobreaker.Settings{
		Timeout: n.settings.beat,
		ReadyToTrip: func(counts gobreaker.Counts) bool {
			if counts.ConsecutiveFailures == 1 {
				firstFailure = time.Now()
			}
			return counts.ConsecutiveFailures >= minFailures && time.Since(firstFailure) >= minOutage
		},
		IsSuccessful: func(err error) bool {
			lastError = err
			return err == nil || scriptMissing(err)
		},
		IsExcluded: func(err error) bool { return errors.Is(err, context.Canceled) },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			if to == gobreaker.StateClosed {
				n.logAvailable(address)
			} else if from == gobreaker.StateClosed {
				n.logger.Warn("redis is unavailable: limits are decided in memory", "node", address, "error", lastError)
			}
		},
	})
}

func (n *nodes) logAvailable(address string) {
	n.logger.Info("redis is available again: it decides limits", "node", address)
}

// unavailable returns the addresses of the nodes that have no closed breaker.
func (n *nodes) unavailable() []string {
	n.mu.Lock()
	breakers := maps.Clone(n.breakers)
	n.mu.Unlock()
	maps.DeleteFunc(breakers, func(_ string, b *breaker) bool { return b.State() == gobreaker.StateClosed })
	return slices.Collect(maps.Keys(breakers))
}

// refresh loads the slot map of a cluster if it is unknown, and updates it while a node is unavailable, because that
// node cannot report which one took over. It removes the breakers of nodes that no longer have slots.
func (n *nodes) refresh(ctx context.Context) {
	if n.cluster == nil {
		return
	}
	if !n.hasSlotMap.Load() {
		_, err := n.cluster.MasterForKey(ctx, instancesKey)
		n.hasSlotMap.Store(err == nil)
	}
	for _, address := range n.unavailable() {
		n.cluster.ReloadState(ctx)
		if n.keyOn(address) == "" {
			n.mu.Lock()
			delete(n.breakers, address)
			n.mu.Unlock()
			n.logAvailable(address)
		}
	}
}

// keyOn returns a heartbeat key that the node at an address holds, or "".
func (n *nodes) keyOn(address string) string {
	key := instancesKey
	for tag := range 1 << 16 { // enough for a node that holds few of the 16,384 slots
		if n.address(key) == address {
			return key
		}
		key = fmt.Sprintf("%s:{%d}", instancesKey, tag)
	}
	return ""
}
