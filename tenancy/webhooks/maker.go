package webhooks

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// Maker is the key or the member that is responsible for an endpoint. All fields are nil for endpoints of earlier
// releases and of the operator.
type Maker struct {
	MakerType      *string // key or member
	MakerID        *int64
	MakerName      *string
	MakerExpiresAt *time.Time // of a key
}

// makers finds who makes a change, in the transaction of the change. On a cluster keys and members are on another node,
// so it finds them right before.
type makers struct {
	by      tenancy.Actor
	queued  bool
	wanted  bool
	current []Maker
}

const lockMaker = `
	select maker_type, maker_id, maker_name, expires_at as maker_expires_at
	  from lock_maker($1, $2)`

// findMaker prepares the lookup of an actor. An operator makes no endpoint.
func (s *Store) findMaker(ctx context.Context, tenant tenancy.ID, by tenancy.Actor) (*makers, error) {
	m := &makers{by: by, wanted: by.KeyID != nil || by.Session != nil}
	central := s.db.Central()
	if m.queued = m.wanted && central == s.db; m.queued || !m.wanted {
		return m, nil
	}
	var err error
	m.current, err = db.All[Maker](ctx, central, tenant, lockMaker, by.KeyID, by.Session)
	return m, err
}

// queue adds the query to the first batch of a transaction.
func (m *makers) queue(b *pgx.Batch) {
	if m.queued {
		db.QueueRows(b, &m.current, lockMaker, m.by.KeyID, m.by.Session)
	}
}

// maker returns the result, or tenancy.ErrEnded if the key was revoked or the session has ended in the meantime.
func (m *makers) maker() (Maker, error) {
	switch {
	case !m.wanted:
		return Maker{}, nil
	case len(m.current) == 0:
		return Maker{}, tenancy.ErrEnded
	}
	return m.current[0], nil
}
