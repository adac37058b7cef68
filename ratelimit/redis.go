package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// CheckURL says what is wrong with an address, without a word of it and without a
// connection.
func CheckURL(address string) error {
	_, _, err := parse(address)
	return err
}

// parse reads an address: of one server, or of a cluster if it names others
// (addr=host:port).
func parse(address string) (*redis.Options, *redis.ClusterOptions, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, nil, parseFault(err)
	}
	if !u.Query().Has("addr") {
		single, err := redis.ParseURL(address)
		if err != nil {
			return nil, nil, parseFault(err)
		}
		return single, nil, nil
	}
	if strings.Trim(u.Path, "/0") != "" {
		return nil, nil, errors.New("parse the Redis URL: a cluster has no database but 0")
	}
	cluster, err := redis.ParseClusterURL(address)
	if err != nil {
		return nil, nil, parseFault(err)
	}
	return nil, cluster, nil
}

// connect makes a client that gives up soon and never says anything twice: the
// defaults of go-redis wait up to ten seconds for a server that hangs, and its
// retries charge one request several times when replies are lost.
func connect(address string) (*nodes, error) {
	// The library prints a line for each dial that fails; the log says it once.
	logging.Disable()
	options, cluster, err := parse(address)
	if err != nil {
		return nil, err
	}
	if cluster != nil {
		return connectCluster(cluster), nil
	}
	options.MaxRetries = -1
	options.ContextTimeoutEnabled = true
	options.DialTimeout = flightTime
	options.DialerRetries = 1
	options.ReadTimeout = flightTime
	options.WriteTimeout = flightTime
	options.PoolTimeout = flightTime
	options.MinIdleConns = pilots + 1 // and the heartbeat
	options.MaintNotificationsConfig = quiet()
	client := redis.NewClient(options)
	return &nodes{client: client, single: client}, nil
}

// connectCluster makes the same of a cluster. What a node refuses because another
// holds the key is said to that one: it was not executed.
func connectCluster(options *redis.ClusterOptions) *nodes {
	options.MaxRedirects = 3
	options.MinRetryBackoff = time.Millisecond
	options.MaxRetryBackoff = patience / 10
	options.ReadOnly, options.RouteByLatency, options.RouteRandomly = false, false, false
	options.MaxRetries = -1
	options.ContextTimeoutEnabled = true
	options.DialTimeout = flightTime
	options.DialerRetries = 1
	options.ReadTimeout = flightTime
	options.WriteTimeout = flightTime
	options.PoolTimeout = flightTime
	options.MinIdleConns = pilots + 1
	options.MaintNotificationsConfig = quiet()
	cluster := redis.NewClusterClient(options)
	return &nodes{client: cluster, cluster: cluster}
}

// quiet refuses maintenance notifications: they may stretch timeouts to ten seconds.
func quiet() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// parseFault says what is wrong with an address without a word of it: the errors of
// the parsers quote it, and a password that is not encoded ends up in any part.
func parseFault(err error) error {
	if _, ok := errors.AsType[*url.Error](err); ok {
		return errors.New("parse the Redis URL: it is none; what is special in a password is written like %23")
	}
	kind, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "redis: "), ":")
	return fmt.Errorf("parse the Redis URL: %s", kind)
}

// once is a command that the library may send on to another node, but never again to
// one that may have executed it.
type once struct{ *redis.Cmd }

// NoRetry is asked by the library.
func (once) NoRetry() bool { return true }

// windowSource keeps a list of entries "leaves:total", oldest first: when the
// requests of the entry leave the window, in microseconds, and how many were
// ever counted up to and with it. The head is the entry that left last: it is
// the zero from which the others are counted. So the requests that count are
// one subtraction, whatever an entry holds, and a limit may change between exact
// and bucketed counting while requests are in the window.
//
// Leaving times never decrease, so a clock that steps back a little frees places
// late, not early. One that steps back by more than a window (a replica took
// over) would free them hours late: then all that counts leaves a window from now.
//
// With an age it is a charge: so long ago an instance admitted cost requests while
// it could not ask, and they count whatever the limit is.
const windowSource = `
local key = KEYS[1]
local limit, cost = tonumber(ARGV[1]), tonumber(ARGV[2])
local window, grain = tonumber(ARGV[3]), tonumber(ARGV[4])
local age = ARGV[5] and tonumber(ARGV[5])

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local function entry(index)
  local text = redis.call('LINDEX', key, index)
  if text then
    local colon = string.find(text, ':', 1, true)
    return tonumber(string.sub(text, 1, colon - 1)), tonumber(string.sub(text, colon + 1))
  end
end

local function text(leaves, total)
  return string.format('%.0f:%.0f', leaves, total)
end

-- The first entry that leaves after a time and counts more than a total.
local function search(time, above)
  local low, high = 1, redis.call('LLEN', key)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local leaves, total = entry(middle)
    if leaves > time and total > above then high = middle else low = middle + 1 end
  end
  return low
end

local function expire(leaves)
  redis.call('PEXPIRE', key, math.ceil((leaves - now) / 1000) + 1000)
end

local last, total = entry(-1)
local _, gone = entry(0)
if last and last > now + 2 * window then
  last, total, gone = now + window, total - gone, 0
  redis.call('DEL', key)
  redis.call('RPUSH', key, text(0, 0), text(last, total))
  expire(last)
elseif last and last <= now then
  redis.call('DEL', key)
  last = nil
elseif last and entry(1) <= now then
  redis.call('LTRIM', key, search(now, 0) - 1, -1)
  _, gone = entry(0)
end
if not last then
  last, total, gone = 0, 0, 0
end

local used = total - gone
local allowed = used < limit
local leaves = now + window
if age then
  leaves = leaves - age
elseif grain > 0 then
  leaves = (math.floor(now / grain) + 1) * grain + window
end
leaves = math.max(leaves, last)
if cost > 0 and leaves > now and (allowed or age) then
  if used == 0 then redis.call('RPUSH', key, text(0, 0)) end
  if leaves == last then
    redis.call('LSET', key, -1, text(leaves, total + cost))
  else
    redis.call('RPUSH', key, text(leaves, total + cost))
  end
  expire(leaves)
  used = used + cost
end

local reset = now
if used > limit then
  reset = entry(search(0, total - limit)) or now
elseif used > 0 then
  reset = entry(1)
end
return {allowed and 1 or 0, math.max(limit - used, 0), now, reset - now}
`

var windowScript = redis.NewScript(windowSource)

// windowKey is where a name is counted. The name is the hash tag of the key, so a
// cluster keeps each name whole on one node.
func windowKey(name string) string { return "rl:{" + name + "}" }

// ask makes the call of a question to the node that holds its name; with an age, of
// a charge.
func (q *question) ask(ctx context.Context, s settings, node *redis.Client, age ...any) *call {
	args := []any{"evalsha", windowScript.Hash(), 1, windowKey(q.name), q.limit, q.cost,
		s.window.Microseconds(), s.grain(q.limit).Microseconds()}
	q.call = call{cmd: newCommand(ctx, append(args, age...)), node: node, operation: "EVALSHA", question: q}
	return &q.call
}

// spell makes the call say the script itself to a node that does not know it.
func (q *question) spell() {
	args := q.cmd.Args()
	args[0], args[1] = "eval", windowSource
}

func newCommand(ctx context.Context, args []any) *redis.Cmd {
	cmd := redis.NewCmd(ctx, args...)
	cmd.SetFirstKeyPos(3)
	return cmd
}

// key is what the command is about.
func (c *call) key() string { return c.cmd.Args()[3].(string) }

// read takes the answer out of the reply.
func (q *question) read() (verdict, error) {
	reply, err := q.cmd.Int64Slice()
	if err != nil {
		return verdict{}, fmt.Errorf("decide a window: %w", err)
	}
	return verdict{
		allowed:   reply[0] == 1,
		remaining: int(reply[1]),
		now:       time.UnixMicro(reply[2]),
		wait:      time.Duration(reply[3]) * time.Microsecond,
	}, nil
}

// redisToken decides by redis_rate. Its own Remaining is short by one for many
// sizes, and its ResetAfter means a full bucket: both are read anew from the latter.
func (l *Limiter) redisToken(ctx context.Context, name string, r Refill, cost int) (verdict, error) {
	limit := redis_rate.Limit{Rate: 1, Burst: r.Burst, Period: r.Every}
	result, err := l.tokens.AllowN(ctx, name, limit, cost)
	if err != nil {
		return verdict{}, fmt.Errorf("decide a token: %w", err)
	}
	allowed := result.Allowed == 1 || cost == 0 && r.left(result.ResetAfter) > 0
	return r.verdict(time.Now(), result.ResetAfter, allowed), nil
}

// tokenLine sends the scripts of redis_rate down the line too.
type tokenLine struct {
	redis.UniversalClient
	line *line
}

var (
	errLate     = errors.New("redis did not answer in time")
	errNotAsked = errors.New("redis is late or away")
)

// EvalSha asks by the name of the script.
func (t tokenLine) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return t.ask(ctx, "EVALSHA", append([]any{"evalsha", sha, len(keys), keys[0]}, args...))
}

// Eval asks by its text.
func (t tokenLine) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return t.ask(ctx, "EVAL", append([]any{"eval", script, len(keys), keys[0]}, args...))
}

// ask returns another command than it sent where that is still on its way.
func (t tokenLine) ask(ctx context.Context, operation string, args []any) *redis.Cmd {
	c := &call{cmd: newCommand(ctx, args), operation: operation}
	c.node = t.line.nodes.holding(c.key())
	asked := t.line.ask(ctx, c)
	if c.landed {
		return c.cmd
	}
	unanswered := redis.NewCmd(ctx, args...)
	unanswered.SetErr(errLate)
	if !asked {
		unanswered.SetErr(errNotAsked)
	}
	return unanswered
}

// beatScript enters an instance into the sorted set of those alive, drops those
// that were not seen for a window, and counts the rest.
var beatScript = redis.NewScript(`
local key, id, window = KEYS[1], ARGV[1], tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZADD', key, string.format('%.0f', now), id)
redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', now - window))
redis.call('PEXPIRE', key, math.ceil(window / 1000) + 1000)
return redis.call('ZCARD', key)
`)

// redisBeat says at a key that this instance is alive and returns how many are.
func (l *Limiter) redisBeat(ctx context.Context, key string) (int64, error) {
	count, err := beatScript.Run(ctx, l.client, []string{key}, l.id, l.settings.window.Microseconds()).Int64()
	if err != nil {
		return 0, fmt.Errorf("beat: %w", err)
	}
	return count, nil
}

// replied tells whether an error is what Redis said to one command.
func replied(err error) bool {
	_, ok := errors.AsType[redis.Error](err)
	return ok
}

// unready are the replies of a Redis that executes nothing for anybody, or nothing
// for us: it starts, or has lost its cluster, its master, its disk or its memory; it
// is held up by another's script, or has other credentials by now.
var unready = []string{
	"LOADING", "CLUSTERDOWN", "MASTERDOWN", "READONLY", "NOREPLICAS", "MISCONF", "OOM", "BUSY", "TRYAGAIN",
	"MOVED", "ASK", "NOAUTH", "WRONGPASS", "NOPERM", "max number of clients",
}

// neverDone tells whether an error means that a command was certainly not executed,
// and that another would not be either.
func neverDone(err error) bool {
	dial, ok := errors.AsType[*net.OpError](err)
	return ok && dial.Op == "dial" || slices.ContainsFunc(unready, func(prefix string) bool { return redis.HasErrorPrefix(err, prefix) })
}
