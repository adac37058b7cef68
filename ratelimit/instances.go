package ratelimit

import (
	"context"
	_ "embed"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// instancesKey is the sorted set of instances. In a cluster one node holds it.
const instancesKey = "rl:instances"

var (
	//go:embed heartbeat.lua
	heartbeatSource string
	heartbeatScript = redis.NewScript(heartbeatSource)
)

// keepBeating sends heartbeats until ctx ends.
func (l *Limiter) keepBeating(ctx context.Context) {
	ticker := time.NewTicker(l.settings.beat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			l.beat(ctx)
		}
	}
}

// beat records this instance in Redis and reads how many there are. It also sends
// a heartbeat to each unavailable node, which closes its breaker if it answers.
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

func (l *Limiter) heartbeat(ctx context.Context, key string) {
	ctx, cancel := context.WithTimeout(ctx, l.settings.timeout)
	defer cancel()
	count, err := heartbeatScript.Run(ctx, l.nodes.scripter("heartbeat"), []string{key},
		l.id, l.settings.alive.Microseconds()).Int64()
	if err == nil && key == instancesKey {
		// After Redis has lost its data, the first heartbeats count too few
		// instances. So a smaller count must be seen twice.
		l.instances.Store(max(count, l.lastInstances.Swap(count), 1))
	}
}
