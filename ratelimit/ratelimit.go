// Package ratelimit answers one question: may this request go on? It knows no
// tenant and no plan, only a name and a number.
//
// Its rule for plan limits ([Limiter.Take]) is exact in both directions, with
// any number of instances: over every sliding minute at most L requests of a
// name are admitted, and one is refused only while L admitted ones are younger
// than a minute. The log of admitted requests lives in Redis, one key a name,
// and is read and written by one script on Redis's own clock. Above 10,000 the
// log counts by tenths of a second: a place may then free up to 100 ms late,
// never early.
//
// What wants a burst and a steady refill instead (failed keys, sign-in, key
// creation) takes a token: [Limiter.TakeToken].
//
// No decision waits on Redis for more than 50 ms in which this process could run;
// a process that is starved of processor time waits for the answer that is there.
// When Redis is late this instance decides from what it knows: a name that Redis
// called exhausted stays so until its time, else it admits its share of what was
// left, and Redis is charged with that. When Redis has not answered for a second,
// or cannot be reached, nothing asks it any more except a heartbeat each second,
// in the background; each instance decides in its own memory with its share of
// the limit: L divided by the instances seen in the last minute. What was admitted
// meanwhile is charged to Redis on its return, and it decides again. In a cluster all
// this holds for each node and the names that it holds.
package ratelimit

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/metric"
)

// settings are the measures of a Limiter; tests shorten them.
type settings struct {
	window time.Duration // how long an admitted request counts, and an instance after its last beat
	bucket time.Duration // the grain of counting above exact
	exact  int           // the largest limit that is counted request by request
	beat   time.Duration // between two heartbeats, which are the probes of a Redis that is away
}

var standard = settings{
	window: time.Minute,
	bucket: 100 * time.Millisecond,
	exact:  10_000,
	beat:   time.Second,
}

// grain is the step to which the leaving times of a limit are rounded up, so
// that the log of a large limit stays small; 0 is exact.
func (s settings) grain(limit int) time.Duration {
	if limit > s.exact {
		return s.bucket
	}
	return 0
}

// leaves is when a request that is admitted at some time leaves the window.
func (s settings) leaves(at time.Duration, limit int) time.Duration {
	if grain := s.grain(limit); grain > 0 {
		at = at.Truncate(grain) + grain
	}
	return at + s.window
}

// Decision is the answer for one request.
type Decision struct {
	Allowed bool

	// Limit is the number that was asked about, also when this instance grants
	// only its share of it.
	Limit int

	// Remaining is how many more requests would be admitted right now.
	Remaining int

	// Reset is when the oldest counted request leaves, by the clock that
	// decided; after a refusal, when the next request fits. It is now where
	// nothing is counted.
	Reset time.Time

	// RetryAfter is the time from the decision to Reset, free of any difference
	// between the clocks of Redis and this machine. It is 0 when allowed.
	RetryAfter time.Duration

	// Local tells that Redis did not answer and the memory of this instance did.
	Local bool
}

// Refill describes a bucket that holds Burst tokens and gains one every Every
// until it is full again. Both are positive.
type Refill struct {
	Burst int
	Every time.Duration
}

// Limiter decides for all names of one Redis. It is safe for concurrent use.
type Limiter struct {
	settings settings
	client   redis.UniversalClient
	nodes    *nodes
	tokens   *redis_rate.Limiter
	memory   *memory
	line     *line

	id        string       // of this instance among those that beat
	instances atomic.Int64 // seen by one of the last two heartbeats that Redis answered
	told      atomic.Int64 // seen by the last

	fromRedis, fromMemory, failures atomic.Uint64

	cancel   context.CancelFunc
	running  sync.WaitGroup
	observed metric.Registration
}

// Open returns a Limiter on the Redis at url (redis, rediss or unix), or on the
// cluster that it names more nodes of: redis://user:password@host1:6379?addr=host2:6379&addr=host3:6379.
// Only a malformed url is an error, which tells nothing of it: a Redis that does not
// answer is away, and comes back as it would later. ctx bounds the first greeting and
// nothing after it.
func Open(ctx context.Context, url string, logger *slog.Logger) (*Limiter, error) {
	return open(ctx, url, logger, standard)
}

func open(ctx context.Context, url string, logger *slog.Logger, s settings) (*Limiter, error) {
	nodes, err := connect(url)
	if err != nil {
		return nil, err
	}
	l := &Limiter{settings: s, client: nodes.client, nodes: nodes, memory: newMemory(s), id: rand.Text()}
	l.line = newLine(nodes, logger, l.memory)
	l.tokens = redis_rate.NewLimiter(tokenLine{l.client, l.line})
	l.instances.Store(1)
	if l.observed, err = l.observe(); err != nil {
		return nil, errors.Join(err, l.client.Close())
	}
	l.beat(ctx)
	ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	l.running.Go(func() { l.keepBeating(ctx) })
	for range pilots {
		l.running.Go(func() { l.line.run(ctx) })
	}
	return l, nil
}

// Close stops the heartbeat and closes the connections. Decisions asked for
// afterwards are made in memory.
func (l *Limiter) Close() error {
	l.cancel()
	l.line.close()
	l.running.Wait()
	return errors.Join(l.observed.Unregister(), l.client.Close())
}

// Take decides about one request of name, of which limit fit into every sliding
// minute, and counts it if it is allowed. The limit may differ from call to
// call: the requests counted so far stay counted. One below 1 is taken for 1.
// Take outlives the cancellation of ctx, so that a client that hangs up is still
// counted.
func (l *Limiter) Take(ctx context.Context, name string, limit int) Decision {
	return l.window(ctx, name, limit, 1)
}

// Peek is what Take would decide now; it counts nothing.
func (l *Limiter) Peek(ctx context.Context, name string, limit int) Decision {
	return l.window(ctx, name, limit, 0)
}

func (l *Limiter) window(ctx context.Context, name string, limit, cost int) Decision {
	began := time.Now()
	limit = max(limit, 1)
	v, local := l.decide(ctx, name, limit, cost)
	measureDecision(ctx, began, local)
	return v.decision(limit, local)
}

// decide asks Redis where it has to. What Redis has refused until a time yet to
// come needs no other question.
func (l *Limiter) decide(ctx context.Context, name string, limit, cost int) (v verdict, local bool) {
	node := l.nodes.holdingName(name)
	open := l.line.open(node)
	if open {
		if v, known := l.memory.refused(name, limit); known {
			l.fromRedis.Add(1)
			return v, false
		}
	}
	q := &question{name: name, limit: limit, cost: cost}
	asked := open && l.line.ask(ctx, q.ask(ctx, l.settings, node))
	gone := l.nodes.gone(node)
	v, local = l.memory.decide(q, int(l.instances.Load()), gone)
	l.count(local, asked)
	if local && !gone {
		l.line.nudge() // there may be a debt
	}
	return v, local
}

// count counts a decision; one that Redis was asked for in vain is a failure.
func (l *Limiter) count(local, asked bool) {
	if !local {
		l.fromRedis.Add(1)
		return
	}
	l.fromMemory.Add(1)
	if asked {
		l.failures.Add(1)
	}
}

// TakeToken decides about one event of name and takes a token from its bucket
// if there is one. While Redis is away each instance keeps a bucket of the same
// size, not of a share: what tokens guard is guarded per instance then.
func (l *Limiter) TakeToken(ctx context.Context, name string, r Refill) Decision {
	return l.token(ctx, name, r, 1)
}

// PeekToken is what TakeToken would decide now; it takes nothing.
func (l *Limiter) PeekToken(ctx context.Context, name string, r Refill) Decision {
	return l.token(ctx, name, r, 0)
}

func (l *Limiter) token(ctx context.Context, name string, r Refill, cost int) Decision {
	began := time.Now()
	v, err := l.redisToken(ctx, name, r, cost)
	if err != nil {
		v = l.memory.token(name, r, cost)
	}
	l.count(err != nil, !errors.Is(err, errNotAsked))
	measureDecision(ctx, began, err != nil)
	return v.decision(r.Burst, err != nil)
}

// keepBeating beats until ctx ends. The beat is also the probe of a Redis that is
// away, and so often that a new instance is soon counted in everybody's share.
func (l *Limiter) keepBeating(ctx context.Context) {
	tick := time.NewTicker(l.settings.beat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			l.beat(ctx)
		}
	}
}

// beat tells Redis that this instance lives, and learns how many do. Each node that
// is away is told as well: it is back when it answers.
func (l *Limiter) beat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flightTime)
	defer cancel()
	var probes sync.WaitGroup
	for _, key := range l.nodes.witnesses() {
		probes.Go(func() { l.probe(ctx, key) })
	}
	probes.Wait()
	l.line.sweep()
	l.nodes.remap(ctx)
}

func (l *Limiter) probe(ctx context.Context, key string) {
	node, err := l.nodes.find(ctx, key)
	var count int64
	if err == nil {
		count, err = l.redisBeat(ctx, key)
	}
	switch {
	case err == nil && key == instancesKey:
		// A Redis that has lost its memory hears of one instance after the other, all
		// within a beat: that there are fewer must be told twice.
		l.instances.Store(max(count, l.told.Swap(count), 1))
	case err == nil:
	case ctx.Err() == context.Canceled: // the Limiter is being closed
		return
	default:
		l.failures.Add(1)
	}
	l.line.report(node, err)
}

// Stats are the counters of a Limiter since it was opened, and its present
// state. A growing Local, or Away for longer than minutes, wants a person.
type Stats struct {
	Redis     uint64 // decisions that Redis made, or had made until a time yet to come
	Local     uint64 // decisions made in memory
	Errors    uint64 // calls that Redis did not answer in time or refused
	Instances int    // instances seen in the last minute, as far as Redis told
	Away      bool   // Redis, or a node of its cluster, is not being asked
}

// Stats returns the counters as they stand.
func (l *Limiter) Stats() Stats {
	return Stats{
		Redis:     l.fromRedis.Load(),
		Local:     l.fromMemory.Load(),
		Errors:    l.failures.Load(),
		Instances: int(l.instances.Load()),
		Away:      l.nodes.someGone(),
	}
}

// verdict is what Redis and the memory both answer; wait is the time to Reset.
type verdict struct {
	allowed   bool
	remaining int
	now       time.Time
	wait      time.Duration
}

func (v verdict) decision(limit int, local bool) Decision {
	d := Decision{
		Allowed:   v.allowed,
		Limit:     limit,
		Remaining: v.remaining,
		Reset:     v.now.Add(v.wait),
		Local:     local,
	}
	if !v.allowed {
		d.RetryAfter = v.wait
	}
	return d
}

// slack is more than the last digit of the doubles that Redis computes tokens
// with, and less than anyone notices.
const slack = time.Microsecond

// left is how many tokens are in a bucket that is full again after the duration full.
func (r Refill) left(full time.Duration) int {
	return max(0, int((time.Duration(r.Burst)*r.Every-full+slack)/r.Every))
}

// verdict tells the state of a bucket that is full again after the duration full.
func (r Refill) verdict(now time.Time, full time.Duration, allowed bool) verdict {
	v := verdict{allowed: allowed, remaining: r.left(full), now: now}
	switch {
	case !allowed:
		v.wait = max(0, full-time.Duration(r.Burst-1)*r.Every) + slack
	case full > 0:
		v.wait = (full-1)%r.Every + 1 // the next drop, whole when one has just fallen
	}
	return v
}
