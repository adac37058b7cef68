package ratelimit

import (
	"context"
	_ "embed"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// instancesKey is the sorted set of instances. In a cluster one node holds it.
	instancesKey = "rl:instances"

	// maxSmallerCounts is how many heartbeats in a row may count fewer instances than before until the smaller
	// count is used.
	maxSmallerCounts = 5
)

var (
	//go:embed heartbeat.lua
	heartbeatSource string
	heartbeatScript = redis.NewScript(heartbeatSource)
)

// keepBeating sends heartbeats until ctx ends.
func (l *Limiter) keepBeating(ctx context.Context) {
	tick := time.Tick(l.settings.beat)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
			l.beat(ctx)
		}
	}
}

// beat records this instance in Redis and reads how many there are. It also sends a heartbeat to each unavailable
// node, which closes its breaker if it answers.
func (l *Limiter) beat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, max(l.settings.beat, l.settings.timeout))
	defer cancel()
	l.nodes.refresh(ctx)
	keys := map[string]bool{instancesKey: true}
	for _, address := range l.nodes.unavailable() {
		keys[l.nodes.keyOn(address)] = true
	}
	var heartbeats sync.WaitGroup
	for key := range keys {
		heartbeats.Go(func() { l.heartbeat(ctx, key) })
	}
	heartbeats.Wait()
}

// heartbeat waits longer than a decision, so that a slow Redis still counts all instances. The breaker counts a late
// reply as a failure.
func (l *Limiter) heartbeat(ctx context.Context, key string) {
	count, err := heartbeatScript.Run(ctx, l.nodes.scripter("heartbeat"), []string{key},
		l.id, l.settings.alive.Microseconds()).Int64()
	if err != nil || key != instancesKey {
		return
	}
	// After Redis has lost its data, heartbeats count too few instances until all have reconnected. So a smaller
	// count must be seen several times.
	l.smallerCounts++
	if count >= l.instances.Load() || l.smallerCounts > maxSmallerCounts {
		l.instances.Store(count)
		l.smallerCounts = 0
	}
}
