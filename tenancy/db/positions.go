package db

import (
	"context"
	"sync"
)

// position is a place in the WAL of the primary.
type position struct{ LSN, Timeline string }

func (db *DB) walPosition(ctx context.Context) (position, error) {
	found, err := Call[position](ctx, db, `select lsn::text, timeline_id::text as timeline from wal_position()`)
	if err != nil {
		return position{}, err
	}
	return found[0], nil
}

// positions reads the position of the primary. Callers share a query that was sent after they called.
type positions struct {
	read func(context.Context) (position, error)

	mu      sync.Mutex
	running bool
	unsent  *positionQuery // nil if nobody waits for it
}

type positionQuery struct {
	done chan struct{} // closed when the result is known
	position
	err error
}

func (p *positions) get(ctx context.Context) (position, error) {
	p.mu.Lock()
	if p.unsent == nil {
		p.unsent = &positionQuery{done: make(chan struct{})}
	}
	query := p.unsent
	if !p.running {
		p.running = true
		go p.run()
	}
	p.mu.Unlock()
	select {
	case <-query.done:
		return query.position, query.err
	case <-ctx.Done():
		return position{}, ctx.Err()
	}
}

// run sends one query after the other while callers wait.
func (p *positions) run() {
	for {
		p.mu.Lock()
		query := p.unsent
		p.unsent = nil
		p.running = query != nil
		p.mu.Unlock()
		if query == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), acquireTimeout)
		query.position, query.err = p.read(ctx)
		cancel()
		close(query.done)
	}
}
