package ratelimit

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// patience is the longest that one decision waits for Redis while this process
	// can run.
	patience = 50 * time.Millisecond

	// looks is how often a line looks at those who wait within their patience,
	// and glance the time between two of them.
	looks  = 10
	glance = patience / (looks + 1)

	// inTime is what a look in time counts for. One that came more than a glance
	// late counts for 1: this process could not run, or hardly.
	inTime = 4

	// flightTime is how long the answers of a flight are waited for before Redis
	// is taken for away. Nobody waits that long, but a late answer still teaches.
	flightTime = time.Second

	// pilots is how many flights are in the air at a time: Redis works on one while
	// the answers of the other are read.
	pilots = 2

	// maxFlight bounds the commands that one flight carries, and half of it the
	// debts among them.
	maxFlight = 512
)

// line is the road to Redis. Few flights are in the air at a time, each a pipeline
// with all that was asked while those before it were away. So the price of a
// decision falls as the load grows.
//
// Patience is counted in looks, not by the clock. A process that gets no
// processor for a while takes no looks either, or late ones that hardly count,
// and when it goes on it finds the answer that waits in its socket before it loses
// patience: its own hiccup is not a Redis that is late. The time of a flight bounds
// that.
type line struct {
	nodes  *nodes // which are away changes under mu
	logger *slog.Logger
	memory *memory
	wake   chan struct{}

	mu      sync.Mutex
	queue   []*call
	air     []*flight
	taken   int  // looks so far, by what they count
	looking bool // the timer runs
	next    time.Time
	timer   *time.Timer
	broken  map[*redis.Client]bool // the connection broke under the last flight

	late atomic.Bool // a flight is overdue: nobody joins the queue; written under mu
}

// flight is what is sent at once.
type flight struct {
	calls   []*call
	sent    time.Time
	tookOff int // the look at which it did
}

// call is one command on its way to Redis and back.
type call struct {
	cmd       *redis.Cmd
	node      *redis.Client // that holds its key
	operation string        // what the command is called
	question  *question     // nil for a token
	done      chan struct{} // closed when the wait is over; nil when nobody waits
	joined    int           // the look at which it did
	over      bool          // done is closed
	sent      bool          // it was part of a flight
	landed    bool          // while somebody waited
}

func newLine(nodes *nodes, logger *slog.Logger, m *memory) *line {
	l := &line{nodes: nodes, logger: logger, memory: m, wake: make(chan struct{}, 1), broken: map[*redis.Client]bool{}}
	l.timer = time.AfterFunc(time.Hour, l.look)
	l.timer.Stop()
	return l
}

// ask sends a command and waits until it has landed, at most patience. It tells
// whether the command went into the queue at all.
func (l *line) ask(ctx context.Context, c *call) bool {
	began := time.Now()
	l.mu.Lock()
	if !l.open(c.node) {
		l.mu.Unlock()
		return false
	}
	c.done, c.joined = make(chan struct{}), l.taken
	l.queue = append(l.queue, c)
	l.startLooking()
	if len(l.air) < pilots {
		l.nudge()
	}
	l.mu.Unlock()
	<-c.done
	traceQuestion(ctx, began, c)
	return true
}

func (l *line) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run is one pilot: it flies until ctx ends.
func (l *line) run(ctx context.Context) {
	for ctx.Err() == nil {
		if f := l.board(); f != nil {
			l.fly(f.calls)
			l.memory.land(f)
			l.arrive(f)
			continue
		}
		select {
		case <-ctx.Done():
		case <-l.wake:
		}
	}
}

// board makes up the next flight: debts first, then those who wait. A debt that
// flew into a Redis that hangs might be lost, so it waits for an answer too.
func (l *line) board() *flight {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.late.Load() {
		return nil
	}
	calls := l.memory.debts(maxFlight/2, l.nodes)
	count := min(len(l.queue), maxFlight-len(calls))
	calls = append(calls, l.queue[:count]...)
	if l.queue = l.queue[count:]; len(l.queue) == 0 {
		l.queue = nil
	}
	if len(calls) == 0 {
		return nil
	}
	for _, c := range calls {
		c.sent = true
	}
	f := &flight{calls: calls, sent: time.Now(), tookOff: l.taken}
	l.air = append(l.air, f)
	l.startLooking()
	return f
}

// fly carries a flight to Redis and back. A command that met a Redis which did not
// know the script was certainly not executed, and only such a one is said twice.
func (l *line) fly(calls []*call) {
	ctx, cancel := context.WithTimeout(context.Background(), flightTime)
	defer cancel()
	l.exec(ctx, calls)
	again := slices.DeleteFunc(slices.Clone(calls), func(c *call) bool {
		return c.question == nil || !redis.HasErrorPrefix(c.cmd.Err(), "NOSCRIPT")
	})
	if len(again) == 0 {
		return
	}
	for _, c := range again {
		c.question.spell()
	}
	l.exec(ctx, again)
}

// exec sends commands at once, each to its node. Every command has its error.
func (l *line) exec(ctx context.Context, calls []*call) {
	began := time.Now()
	pipe := l.nodes.client.Pipeline()
	for _, c := range calls {
		pipe.Process(ctx, once{c.cmd}) // only queues it
	}
	pipe.Exec(ctx)
	measureFlight(ctx, began, calls)
}

// failed tells whether an error is that of the road to a node, or of the whole node.
// What else Redis says is one command's own.
func failed(err error) bool { return err != nil && (!replied(err) || neverDone(err)) }

// arrive ends the wait of everybody on a flight and draws the conclusion for each
// node it went to.
func (l *line) arrive(f *flight) {
	l.mu.Lock()
	defer l.mu.Unlock()
	worst := make([]*call, 0, 8) // of each node: there are seldom more, so this costs nothing
	for _, c := range f.calls {
		i := slices.IndexFunc(worst, func(other *call) bool { return other.node == c.node })
		if i < 0 {
			worst = append(worst, c)
		} else if failed(c.cmd.Err()) {
			worst[i] = c
		}
		if !c.over {
			c.landed = true
			l.release(c)
		}
	}
	l.air = slices.DeleteFunc(l.air, func(other *flight) bool { return other == f })
	l.late.Store(slices.ContainsFunc(l.air, l.overdue))
	known := slices.ContainsFunc(worst, func(c *call) bool { return failed(c.cmd.Err()) && !ranOut(c) })
	for _, c := range worst {
		if known && ranOut(c) {
			continue // of time, which a node that is known to hang took
		}
		if l.nodes.holding(c.key()) == c.node { // else another took over meanwhile
			l.judge(c.node, c.cmd.Err())
		}
	}
}

// ranOut tells whether a command failed because the time of its flight was over, and
// not because of anything that its own node did.
func ranOut(c *call) bool { return c.cmd.Err() == context.DeadlineExceeded }

// judge draws the conclusion of a flight about a node: one that cannot be reached,
// serves nobody, or did not answer within the time of a flight, is gone. One
// connection that broke is not yet a node that is gone.
func (l *line) judge(node *redis.Client, err error) {
	timeout, ok := errors.AsType[net.Error](err)
	switch {
	case !failed(err):
		delete(l.broken, node)
		l.welcome(node)
	case ok && timeout.Timeout(), neverDone(err), l.broken[node]:
		delete(l.broken, node)
		l.leave(node, err)
	default:
		l.broken[node] = true
	}
}

// release ends a wait. What has not flown by then never will.
func (l *line) release(c *call) {
	if c.done != nil && !c.over {
		c.over = true
		close(c.done)
	}
}

func (l *line) releaseQueue() {
	for _, c := range l.queue {
		l.release(c)
	}
	l.queue = nil
}

// leave gives a node up until it gives a sign: all that it holds is decided in
// memory, at once.
func (l *line) leave(node *redis.Client, err error) {
	if !l.nodes.shut.Load() && l.nodes.lose(node) {
		l.log(node).Warn("redis is away: limits are decided in memory", "error", err)
	}
	l.queue = slices.DeleteFunc(l.queue, func(c *call) bool {
		if c.node == node {
			l.release(c)
		}
		return c.node == node
	})
}

// welcome takes a sign that a node answers.
func (l *line) welcome(node *redis.Client) {
	if !l.nodes.shut.Load() && l.nodes.regain(node) {
		l.memory.remind()
		l.log(node).Info("redis is back: it decides limits again")
		l.nudge()
	}
}

// sweep forgets nodes that were away and hold nothing by now: others took over.
func (l *line) sweep() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, node := range l.nodes.moved() {
		delete(l.broken, node)
		l.welcome(node)
	}
}

// log names the node where there are several.
func (l *line) log(node *redis.Client) *slog.Logger {
	if l.nodes.cluster == nil || node == nil {
		return l.logger
	}
	return l.logger.With("node", node.Options().Addr)
}

func (l *line) startLooking() {
	if !l.looking {
		l.looking = true
		l.lookAgain()
	}
}

func (l *line) lookAgain() {
	l.next = time.Now().Add(glance)
	l.timer.Reset(glance)
}

// look takes one look at those who wait: who was seen often enough goes.
func (l *line) look() {
	runtime.Gosched() // behind all that is ready to run, the reader of the answers included
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.next) < glance {
		l.taken += inTime
	} else {
		l.taken++
	}
	if slices.ContainsFunc(l.air, l.overdue) {
		l.late.Store(true)
		l.releaseQueue()
	}
	for _, f := range l.air {
		for _, c := range f.calls {
			l.tire(c)
		}
	}
	l.queue = slices.DeleteFunc(l.queue, l.tire)
	l.looking = len(l.air)+len(l.queue) > 0
	if l.looking {
		l.lookAgain()
	}
}

func (l *line) overdue(f *flight) bool { return l.taken-f.tookOff >= looks*inTime }

// tire ends the wait of a call whose patience is over, and tells whether it is.
func (l *line) tire(c *call) bool {
	over := c.done != nil && l.taken-c.joined >= looks*inTime
	if over {
		l.release(c)
	}
	return over
}

// report tells how a heartbeat went.
func (l *line) report(node *redis.Client, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.leave(node, err)
	} else {
		l.welcome(node)
	}
}

// open tells whether a node may be asked now.
func (l *line) open(node *redis.Client) bool { return !l.late.Load() && !l.nodes.gone(node) }

// close ends all waits. What is asked afterwards is decided in memory.
func (l *line) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nodes.shut.Store(true)
	l.releaseQueue()
	l.timer.Stop()
}
