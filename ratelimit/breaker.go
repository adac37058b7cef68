package ratelimit

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// trips is how many failures in a row open the breaker.
const trips = 5

// errAway is the answer of an open breaker in place of Redis's.
var errAway = errors.New("redis is away")

// breaker keeps requests from waiting on a Redis that does not answer. Only the
// heartbeat closes it again, so no request is ever the one that tries.
type breaker struct {
	open  atomic.Bool
	inRow atomic.Int32
}

// fail counts a failure and reports whether it was the one that opened.
func (b *breaker) fail() bool {
	return b.inRow.Add(1) >= trips && b.open.CompareAndSwap(false, true)
}

// succeed ends a row of failures; in the usual case it only reads.
func (b *breaker) succeed() {
	if b.inRow.Load() != 0 {
		b.inRow.Store(0)
	}
}

// ask puts one question to Redis unless it is away, under a deadline of its own:
// a client that hangs up must not close a pooled connection in mid-reply.
func (l *Limiter) ask(ctx context.Context, question func(context.Context) error) error {
	if l.breaker.open.Load() {
		l.fromMemory.Add(1)
		return errAway
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if err := question(ctx); err != nil {
		l.fromMemory.Add(1)
		l.fail(err)
		return err
	}
	l.breaker.succeed()
	l.fromRedis.Add(1)
	return nil
}

func (l *Limiter) fail(err error) {
	l.failures.Add(1)
	if l.breaker.fail() {
		l.logger.Warn("redis is away: limits are decided in memory", "error", err, "instances", l.instances.Load())
	}
}

// trip opens the breaker at once: a Redis that is away when the program starts
// need not fail five requests first.
func (l *Limiter) trip(err error) {
	l.breaker.inRow.Store(trips - 1)
	l.fail(err)
}

// watch beats until ctx ends. The beat is also the probe of a Redis that is
// away, and so often that a new instance is soon counted in everybody's share.
func (l *Limiter) watch(ctx context.Context) {
	tick := time.NewTicker(l.settings.beat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := l.beat(ctx); err != nil && ctx.Err() == nil {
			l.fail(err)
		}
	}
}

// beat tells Redis that this instance lives, learns how many do, and takes an
// answer as the sign that Redis is back.
func (l *Limiter) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	count, err := l.redisBeat(ctx)
	if err != nil {
		return err
	}
	l.instances.Store(max(count, 1))
	l.breaker.succeed()
	if l.breaker.open.Load() {
		l.memory.forget()
		l.breaker.open.Store(false)
		l.logger.Info("redis is back: it decides limits again", "instances", count)
	}
	return nil
}
