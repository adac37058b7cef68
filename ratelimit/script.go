package ratelimit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"
)

var (
	//go:embed window.lua
	windowSource string
	windowScript = redis.NewScript(windowSource)

	//go:embed heartbeat.lua
	heartbeatSource string
	heartbeatScript = redis.NewScript(heartbeatSource)
)

// windowKey returns the key of a name's log. The name is the hash tag of the key.
func windowKey(name string) string { return "rl:{" + name + "}" }

// redisWindow decides about one request in Redis.
func (l *Limiter) redisWindow(ctx context.Context, name string, limit, cost int) (result, error) {
	ctx, cancel := l.bound(ctx)
	defer cancel()
	reply, err := windowScript.Run(ctx, l.nodes.scripter("window"), []string{windowKey(name)},
		limit, cost, l.settings.window.Microseconds(), l.settings.grain(limit).Microseconds()).Int64Slice()
	if err != nil {
		return result{}, fmt.Errorf("decide in a window: %w", err)
	}
	return result{
		allowed:   reply[0] == 1,
		remaining: int(reply[1]),
		now:       time.UnixMicro(reply[2]),
		wait:      time.Duration(reply[3]) * time.Microsecond,
	}, nil
}

// bound limits the time that one decision waits for Redis.
func (l *Limiter) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), l.settings.timeout)
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

func (s scripter) run(ctx context.Context, operation, script, key string, args []any) *redis.Cmd {
	start := time.Now()
	cmd := redis.NewCmd(ctx, append([]any{operation, script, 1, key}, args...)...)
	err := s.nodes.do(ctx, cmd, key)
	cmd.SetErr(err)
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

// scriptMissing reports whether a node did not execute a script because it does not
// have it.
func scriptMissing(err error) bool { return redis.HasErrorPrefix(err, "NOSCRIPT") }
