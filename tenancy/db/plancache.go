package db

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// sizesInterval is how often a pool in use reads the sizes of the tables.
const sizesInterval = 5 * time.Second

// plans makes the connections of a pool plan again after a table has grown four times, because a plan for an empty table
// can be slow for a large one. PostgreSQL does it by itself only after ANALYZE. Planning all statements more often would
// delay requests.
type plans struct {
	pool *pgxpool.Pool

	mu       sync.Mutex
	read     time.Time // when reading the sizes last began
	sizes    string    // of the tables in pages, as powers of four
	outdated time.Time // plans from before are for other sizes
}

// prepare discards the plans of a connection if they are for other sizes.
func (p *plans) prepare(ctx context.Context, conn *pgx.Conn) (usable bool, err error) {
	const key = "plans discarded at"
	outdated, now, data := p.areOutdated(), time.Now(), conn.PgConn().CustomData()
	if discarded, _ := data[key].(time.Time); !discarded.Before(outdated) {
		return true, nil
	}
	data[key] = now
	_, err = conn.PgConn().Exec(ctx, `discard plans`).ReadAll()
	return err == nil, nil
}

// areOutdated returns the time from before which plans are for other sizes. No request waits for reading the sizes.
func (p *plans) areOutdated() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); now.Sub(p.read) >= sizesInterval {
		p.read = now
		go p.readSizes()
	}
	return p.outdated
}

func (p *plans) readSizes() {
	ctx, cancel := context.WithTimeout(context.Background(), acquireTimeout)
	defer cancel()
	sizes, err := p.querySizes(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || sizes != p.sizes {
		p.sizes, p.outdated = sizes, time.Now()
	}
}

// querySizes does not wait for a migration that locks a table.
func (p *plans) querySizes(ctx context.Context) (sizes string, err error) {
	conn, err := p.pool.Acquire(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Release()
	results, err := conn.Conn().PgConn().Exec(ctx, `
		set local lock_timeout = '50ms';
		select string_agg(floor(ln((1 + pg_relation_size(oid) / 8192)::float8) / ln(4::float8))::text, ' ' order by oid)
		  from pg_class
		 where relkind = 'r' and relnamespace = any(current_schemas(false)::regnamespace[])`).ReadAll()
	if err != nil {
		return "", err
	}
	return string(results[1].Rows[0][0]), nil
}
