package ratelimit

import (
	"context"
	_ "embed"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
)

// Refill describes a bucket that holds Burst tokens and gains one token per Every until it is full. Both are
// positive.
type Refill struct {
	Burst int
	Every time.Duration
}

// TakeToken decides about one event of name and takes a token from its bucket if there is one. While Redis is
// unavailable each instance has a full-sized bucket for name. Like Take, it ignores the cancellation of ctx.
func (l *Limiter) TakeToken(ctx context.Context, name string, r Refill) Decision {
	return l.token(ctx, name, r, 1)
}

// PeekToken returns what TakeToken would decide now and takes nothing.
func (l *Limiter) PeekToken(ctx context.Context, name string, r Refill) Decision {
	return l.token(ctx, name, r, 0)
}

// token decides by redis_rate, or in memory. The Remaining of redis_rate is too small by one for many sizes, so all
// results are computed from ResetAfter, the time until the bucket is full.
func (l *Limiter) token(ctx context.Context, name string, refill Refill, cost int) Decision {
	start := time.Now()
	bounded, cancel := l.bound(ctx)
	defer cancel()
	limit := redis_rate.Limit{Rate: 1, Burst: refill.Burst, Period: refill.Every}
	reply, err := l.tokens.AllowN(bounded, name, limit, cost)
	l.count(ctx, start, err != nil)
	if err != nil {
		return l.memory.token(name, refill, cost).decision(refill.Burst, true)
	}
	allowed := reply.Allowed == 1 || cost == 0 && refill.tokens(reply.ResetAfter) > 0
	return refill.result(time.Now(), reply.ResetAfter, allowed).decision(refill.Burst, false)
}

var (
	//go:embed returntoken.lua
	returnTokenSource string
	returnTokenScript = redis.NewScript(returnTokenSource)
)

// ReturnToken gives back a token that TakeToken took, for an event that turns out not to count. While Redis is
// unavailable the token returns to the bucket of this instance.
func (l *Limiter) ReturnToken(ctx context.Context, name string, r Refill) {
	ctx, cancel := l.bound(ctx)
	defer cancel()
	script := l.nodes.scripter("returntoken")
	if err := returnTokenScript.Run(ctx, script, []string{"rate:" + name}, r.Every.Seconds()).Err(); err != nil {
		l.memory.returnToken(name, r)
	}
}

// token decides like redis_rate: the time when a bucket is full is its only state, and each token taken adds Every
// to it.
func (m *memory) token(name string, refill Refill, cost int) result {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	elapsed := now.Sub(m.start)
	at, _ := m.full.Get(name)
	full := max(0, at-elapsed)
	allowed := full <= time.Duration(refill.Burst-1)*refill.Every
	if allowed && cost > 0 {
		full += refill.Every
		m.full.Add(name, elapsed+full)
	}
	return refill.result(now, full, allowed)
}

func (m *memory) returnToken(name string, r Refill) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at, found := m.full.Get(name); found {
		m.full.Add(name, at-r.Every)
	}
}

// slack exceeds the rounding error of the floating-point times in redis_rate.
const slack = time.Microsecond

// tokens returns the number of tokens in a bucket that is full after the duration full.
func (r Refill) tokens(full time.Duration) int {
	return max(0, int((time.Duration(r.Burst)*r.Every-full+slack)/r.Every))
}

// result describes a bucket that is full after the duration full.
func (r Refill) result(now time.Time, full time.Duration, allowed bool) result {
	v := result{allowed: allowed, remaining: r.tokens(full), now: now}
	switch {
	case !allowed:
		v.wait = max(0, full-time.Duration(r.Burst-1)*r.Every) + slack
	case full > 0:
		v.wait = (full-1)%r.Every + 1 // until the next token
	}
	return v
}
