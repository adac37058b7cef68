package db

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Problems logs the state of background work when it changes: a warning when work begins to fail, nothing while it
// keeps failing, and one line when it succeeds again. Several goroutines may use it.
type Problems struct {
	Begins, Ends string // messages

	mu      sync.Mutex
	failing map[any]problem
}

type problem struct {
	since    time.Time
	attempts int
}

// Report logs the result of an attempt if the state of key has changed: of the whole work, of a tenant, or of a
// webhook. attrs belong to both lines.
func (p *Problems) Report(ctx context.Context, logger *slog.Logger, key any, err error, attrs ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, isFailing := p.failing[key]
	switch {
	case err == nil && isFailing:
		delete(p.failing, key)
		logger.InfoContext(ctx, p.Ends,
			append(attrs, "failed_attempts", before.attempts, "duration", time.Since(before.since).Round(time.Millisecond))...)
	case err != nil && !isFailing:
		if p.failing == nil {
			p.failing = map[any]problem{}
		}
		p.failing[key] = problem{time.Now(), 1}
		logger.WarnContext(ctx, p.Begins, append(attrs, "error", err)...)
	case err != nil:
		p.failing[key] = problem{before.since, before.attempts + 1}
	}
}
