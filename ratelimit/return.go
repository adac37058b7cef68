package ratelimit

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// returnScript undoes one token of redis_rate, which has no call for it. The value
// is the time at which the bucket is full, in seconds since 1 January 2017.
var returnScript = redis.NewScript(`
local full = redis.call('GET', KEYS[1])
if not full then return 0 end
local time = redis.call('TIME')
full = tonumber(full) - tonumber(ARGV[1])
local left = full - (time[1] - 1483228800) - time[2] / 1000000
if left <= 0 then return redis.call('DEL', KEYS[1]) end
redis.call('SET', KEYS[1], full, 'EX', math.ceil(left))
return 1
`)

// returnTimeout bounds how long ReturnToken waits for Redis.
const returnTimeout = 50 * time.Millisecond

// ReturnToken gives back a token that TakeToken took, for an event that turns out
// not to count. While Redis is unavailable the token returns to the bucket of this
// instance.
func (l *Limiter) ReturnToken(ctx context.Context, name string, r Refill) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), returnTimeout)
	defer cancel()
	if err := returnScript.Run(ctx, l.client, []string{"rate:" + name}, r.Every.Seconds()).Err(); err != nil {
		l.memory.returnToken(name, r)
	}
}

func (m *memory) returnToken(name string, r Refill) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at, known := m.full.Get(name); known {
		m.full.Add(name, at-r.Every)
	}
}
