// Package ratelimit decides whether a request is allowed. It receives a name and a limit and has no concept of
// tenants or plans.
//
// [Limiter.Take] enforces a limit L over a sliding minute. While Redis answers, it is exact for any number of
// instances: at most L requests of a name are admitted in every sliding minute, and a request is refused only while L
// admitted requests are younger than a minute. Redis keeps a log of admitted requests per name. One script reads and
// writes it in one round trip, by Redis's own clock. Above 10,000 the log counts in buckets of 100 ms: capacity may
// become free up to 100 ms late, never early. [Limiter.TakeToken] is a token bucket, for a burst and a refill.
//
// A decision waits at most 50 ms for Redis. If Redis answers later or returns an error, the instance decides in
// memory with its share of the limit: L divided by the instances seen in the last minute, rounded up. An instance
// that has not reached Redis since it started counts only itself. After repeated failures a circuit breaker stops
// asking and probes once a second. A Redis Cluster has one breaker per node: an unavailable node affects only the
// names it holds.
//
// Requests admitted in memory are not charged to Redis later. So a minute that includes an outage, or the first
// minute after it, may admit up to 2 L: L by Redis and L by the shares of all instances. If Redis also loses its
// data, for example in a restart, the requests that it counted before the outage are forgotten as well.
package ratelimit

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/metric"
)

// settings are the durations and sizes of a Limiter. Tests change them.
type settings struct {
	window  time.Duration // how long an admitted request counts
	alive   time.Duration // how long an instance counts after its last heartbeat
	bucket  time.Duration // the precision of limits above exact
	exact   int           // the largest limit that is counted request by request
	beat    time.Duration // the interval of heartbeats, which also probe unavailable nodes
	timeout time.Duration // how long a decision waits for Redis
}

var standard = settings{
	window:  time.Minute,
	alive:   time.Minute,
	bucket:  100 * time.Millisecond,
	exact:   10_000,
	beat:    time.Second,
	timeout: 50 * time.Millisecond,
}

// bucketOf returns the precision with which a limit is counted; 0 is exact.
func (s settings) bucketOf(limit int) time.Duration {
	if limit > s.exact {
		return s.bucket
	}
	return 0
}

// Decision is the answer for one request.
type Decision struct {
	Allowed    bool
	Limit      int           // the limit that the caller passed, even if the instance grants only its share
	Remaining  int           // how many more requests would be admitted now
	Reset      time.Time     // when the oldest counted request leaves; after a refusal, when to try again
	RetryAfter time.Duration // the time until Reset, by the clock that decided; 0 if Allowed
	Local      bool          // this instance decided in memory because Redis did not
}

// Limiter decides for all names of one Redis or Redis Cluster. It is safe for concurrent use.
type Limiter struct {
	settings settings
	nodes    *nodes
	windows  redis.Scripter
	tokens   *redis_rate.Limiter
	memory   *memory

	id            string       // of this instance, in heartbeats
	instances     atomic.Int64 // as counted by the heartbeats
	smallerCounts int          // of heartbeats since instances was stored

	fromMemory atomic.Uint64 // decisions

	cancel   context.CancelFunc
	running  sync.WaitGroup
	observed metric.Registration
}

// Open returns a Limiter on the Redis at url (redis, rediss or unix), or on a cluster if url names further nodes
// (redis://host1:6379?addr=host2:6379&addr=host3:6379). It fails only if url is malformed, and the error does not
// quote it. If Redis is unavailable, decisions are made in memory. ctx bounds the first heartbeat.
func Open(ctx context.Context, url string, logger *slog.Logger) (*Limiter, error) {
	return open(ctx, url, logger, standard)
}

// OpenPatient is Open for tests that need decisions of Redis on a busy machine, where it can take longer to answer.
func OpenPatient(ctx context.Context, url string, logger *slog.Logger) (*Limiter, error) {
	patient := standard
	patient.timeout = 10 * time.Second
	return open(ctx, url, logger, patient)
}

func open(ctx context.Context, url string, logger *slog.Logger, s settings) (*Limiter, error) {
	nodes, err := connect(url, logger, s)
	if err != nil {
		return nil, err
	}
	l := &Limiter{
		settings: s,
		nodes:    nodes,
		windows:  nodes.scripter("window"),
		tokens:   redis_rate.NewLimiter(nodes.scripter("token")),
		memory:   newMemory(s),
		id:       rand.Text(),
	}
	l.instances.Store(1)
	l.observed = l.observe()
	l.beat(ctx)
	ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	l.running.Go(func() { l.keepBeating(ctx) })
	return l, nil
}

// Close stops the heartbeat and closes the connections. Later decisions are made in memory.
func (l *Limiter) Close() error {
	l.cancel()
	l.running.Wait()
	return errors.Join(l.observed.Unregister(), l.nodes.client.Close())
}

// Take decides about one request of name. At most limit requests are admitted in every sliding minute; a limit below 1
// means 1, and requests counted under another limit stay counted. Take ignores the cancellation of ctx, so that a
// request is counted even if its client disconnects.
func (l *Limiter) Take(ctx context.Context, name string, limit int) Decision {
	start := time.Now()
	limit = max(limit, 1)
	r, local := l.decide(ctx, name, limit, 1)
	l.count(ctx, start, local)
	return r.decision(limit, local)
}

var (
	//go:embed window.lua
	windowSource string
	windowScript = redis.NewScript(windowSource)
)

// windowKey returns the key of a name's log. The name is the hash tag of the key.
func windowKey(name string) string { return "rl:{" + name + "}" }

// decide decides about one request in Redis, or in memory with this instance's share.
func (l *Limiter) decide(ctx context.Context, name string, limit, cost int) (r result, local bool) {
	ctx, cancel := l.bound(ctx)
	defer cancel()
	reply, err := windowScript.Run(ctx, l.windows, []string{windowKey(name)},
		limit, cost, l.settings.window.Microseconds(), l.settings.bucketOf(limit).Microseconds()).Int64Slice()
	if err != nil {
		instances := int(l.instances.Load())
		share := (limit + instances - 1) / instances
		return l.memory.window(name, share, cost), true
	}
	return result{
		allowed:   reply[0] == 1,
		remaining: int(reply[1]),
		now:       time.UnixMicro(reply[2]),
		wait:      time.Duration(reply[3]) * time.Microsecond,
	}, false
}

// bound limits the time that one decision waits for Redis.
func (l *Limiter) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), l.settings.timeout)
}

// count counts and measures one decision.
func (l *Limiter) count(ctx context.Context, start time.Time, local bool) {
	source := fromRedis
	if local {
		source = fromMemory
		l.fromMemory.Add(1)
	}
	decisionTime.Record(ctx, time.Since(start).Seconds(), source...)
}

// Stats are the counters of a Limiter since Open, and its present state.
type Stats struct {
	Local     uint64 // decisions made in memory
	Errors    uint64 // calls that Redis refused or did not answer in time
	Instances int    // instances seen in the last minute
	Away      bool   // Redis or a node of its cluster is unavailable and not asked
}

// Stats returns the present counters.
func (l *Limiter) Stats() Stats {
	return Stats{
		Local:     l.fromMemory.Load(),
		Errors:    l.nodes.failures.Load(),
		Instances: int(l.instances.Load()),
		Away:      len(l.nodes.unavailable()) > 0,
	}
}

// result is a decision by Redis or by the memory.
type result struct {
	allowed   bool
	remaining int
	now       time.Time     // by the clock of the decider
	wait      time.Duration // until Reset
}

func (r result) decision(limit int, local bool) Decision {
	d := Decision{Allowed: r.allowed, Limit: limit, Remaining: r.remaining, Reset: r.now.Add(r.wait), Local: local}
	if !r.allowed {
		d.RetryAfter = r.wait
	}
	return d
}
