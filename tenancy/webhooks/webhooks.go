// Package webhooks delivers the changes of a tenant to its endpoints.
//
// An endpoint has a position in the feed. A message has the entries after it, and is signed according to Standard
// Webhooks. The position moves only after the receiver has accepted the message, so each entry is delivered at least
// once and in order. A message that fails is sent again with the same id, after pauses that double up to an hour; after
// three days the endpoint is paused.
//
// Any number of instances deliver. The queue of package jobs has the tenants with changes, so ten thousand endpoints
// without changes cost nothing. The worker that has a tenant leases one of its endpoints for a minute, and leaves the
// tenant to others while it delivers, so a killed instance delays its endpoints by at most a minute. An instance holds no
// connection while it waits for a receiver.
//
// A tenant has at most four workers at a time, and an endpoint gets at most ten messages a second. Workers use an
// eighth of the connections; a tenant may use half of these to make messages. Failing endpoints get half of the
// workers.
package webhooks

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/feed"
	"github.com/storeroom/storeroom/tenancy/paging"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

const (
	// MaxWebhooks is how many endpoints a tenant can have.
	MaxWebhooks = 20
	// MaxBatch is how many entries a message can have.
	MaxBatch = 100
	// Overlap is how long messages are also signed with the secret before a rotation.
	Overlap = 24 * time.Hour
	// Retention is how long deliveries are kept.
	Retention = 30 * 24 * time.Hour

	// A change of an endpoint ends the claim of its worker, which may be sending a message. Other workers wait until
	// that worker releases the endpoint, or at most for this time.
	interruption = queryTimeout + timeout + 5*time.Second

	maxURL         = 2000
	maxDescription = 255
)

// States.
const (
	Active = "active"
	Paused = "paused"
)

// Reasons why the service pauses an endpoint. One that a user has paused has the reason user.
const (
	Failing = "failing" // no attempt succeeded for three days
	Gone    = "gone"    // the receiver answered 410
	Expired = "expired" // the changes after its position are no longer kept
	// MakerGone is the reason if the key that made the endpoint is revoked or has expired, or the member is removed.
	MakerGone = "maker_gone"
)

// Webhook is an endpoint.
type Webhook struct {
	ID                int64
	URL               string
	Description       string
	Types             []string // of the feed
	BatchSize         int
	State             string
	PauseReason       *string
	PausedAt          *time.Time
	Secret            string
	PreviousSecret    *string
	PreviousExpiresAt *time.Time
	DeliveredTo       string // cursor
	MessageEnd        *string
	Replays           int
	Attempts          int
	FailingSince      *time.Time
	LastAttemptAt     *time.Time
	NextAttemptAt     time.Time
	CreatedAt         time.Time
	UpdatedAt         time.Time
	Maker
}

const columns = `
	id, url, description, types, batch_size, state, pause_reason, paused_at, secret, previous_secret,
	previous_expires_at, delivered_to, message_end, replays, attempts, failing_since, last_attempt_at,
	next_attempt_at, created_at, updated_at, maker_type, maker_id, maker_name, maker_expires_at`

// Fields are the fields of an endpoint that a request sets; nil leaves one as it is.
type Fields struct {
	URL         *string
	Description *string
	Types       []string
	BatchSize   *int
	State       *string
}

// Store reads, writes and delivers to the endpoints of all tenants. It is safe for concurrent use.
type Store struct {
	db   *db.DB
	feed *feed.Store
	*sender
}

// sender delivers messages.
type sender struct {
	client  *http.Client
	isLocal bool
	timing  timing
	queries chan struct{} // limits those of workers
	shares  shares
	failing chan struct{} // the workers of endpoints whose last attempt failed
	late    db.Problems   // by claim.key
}

// New returns a Store. If isLocal is true, endpoints can be on this machine and have http URLs.
func New(pool *db.DB, changes *feed.Store, isLocal bool) *Store {
	queries := max(1, pool.MaxConns()/8)
	return &Store{db: pool, feed: changes, sender: &sender{
		client: newClient(isLocal), isLocal: isLocal, timing: defaultTiming,
		queries: make(chan struct{}, queries),
		shares:  shares{each: max(1, queries/2), tenants: map[tenancy.ID]*share{}},
		late: db.Problems{
			Begins: "a webhook is delivered late", Ends: "a webhook is delivered in time again",
		},
		failing: make(chan struct{}, maxWorkers/2),
	}}
}

// On returns the store that works on d.
func (s *Store) On(d *db.DB) *Store { return &Store{d, s.feed.On(d), s.sender} }

// newSecret returns a secret in the format of Standard Webhooks.
func newSecret() string {
	key := make([]byte, 32)
	rand.Read(key)
	return secretPrefix + base64.StdEncoding.EncodeToString(key)
}

// check returns the fields with texts trimmed, and adds the errors of invalid ones.
func (s *Store) check(f Fields, invalid tenancy.InvalidError) Fields {
	if f.URL != nil {
		trimmed := strings.TrimSpace(*f.URL)
		f.URL = &trimmed
		if problem := s.checkURL(trimmed); problem != "" {
			invalid.Add("url", "%s", problem)
		}
	}
	if f.Description != nil {
		line, problem := tenancy.SingleLine(strings.TrimSpace(*f.Description), maxDescription)
		f.Description = &line
		if problem != "" {
			invalid.Add("description", "%s", problem)
		}
	}
	if f.Types != nil {
		known := func(t string) bool { return slices.Contains(feed.Types, t) }
		if len(f.Types) == 0 || slices.ContainsFunc(f.Types, func(t string) bool { return !known(t) }) {
			invalid.Add("types", "must be one or more of %s", strings.Join(feed.Types, ", "))
		}
		f.Types = slices.DeleteFunc(slices.Clone(feed.Types), func(t string) bool { return !slices.Contains(f.Types, t) })
	}
	if f.BatchSize != nil && (*f.BatchSize < 1 || *f.BatchSize > MaxBatch) {
		invalid.Add("batch_size", "must be between 1 and %d", MaxBatch)
	}
	if f.State != nil && *f.State != Active && *f.State != Paused {
		invalid.Add("state", "must be one of active, paused")
	}
	return f
}

// Create adds an endpoint that gets the changes from now on. invalid has errors that the caller found. It returns an
// InvalidError.
func (s *Store) Create(
	ctx context.Context, tenant tenancy.ID, by tenancy.Actor, f Fields, invalid tenancy.InvalidError,
) (w Webhook, err error) {
	invalid = invalid.Clone()
	if f.URL == nil && len(invalid["url"]) == 0 {
		invalid.Add("url", "is required")
	}
	f = s.check(f, invalid)
	if err := invalid.Err(); err != nil {
		return w, err
	}
	page, err := s.feed.Read(ctx, tenant, feed.Query{After: feed.Now, Limit: 1})
	if err != nil {
		return w, err
	}
	f.BatchSize, f.Description = cmp.Or(f.BatchSize, new(MaxBatch)), cmp.Or(f.Description, new(""))
	f.State = cmp.Or(f.State, new(Active))
	var counts []struct{ Count int }
	var created []Webhook
	makers, err := s.findMaker(ctx, tenant, by)
	if err != nil {
		return w, err
	}
	err = s.db.Update(ctx, tenant, func(b *pgx.Batch) {
		makers.queue(b)
		b.Queue(`select pg_advisory_xact_lock(hashtextextended('new webhooks of tenant ' || $1::bigint, 0))`, tenant)
		db.QueueRows(b, &counts, `select count(*)::int as count from webhooks where tenant_id = $1`, tenant)
	}, func(b *pgx.Batch) error {
		maker, err := makers.maker()
		if err != nil {
			return err
		}
		if counts[0].Count >= MaxWebhooks {
			return tenancy.InvalidError{"url": {fmt.Sprintf("cannot be added: there are %d webhooks already", MaxWebhooks)}}
		}
		db.QueueRows(b, &created, `
			insert into webhooks (tenant_id, url, description, types, batch_size, secret, delivered_to, state,
			                      pause_reason, paused_at, maker_type, maker_id, maker_name, maker_expires_at)
			values ($1, $2, $3, $4, $5, $6, $7, $8, case $8 when 'paused' then 'user' end,
			        case $8 when 'paused' then now() end, $9, $10, $11, $12)
			returning`+columns, tenant, *f.URL, *f.Description, f.Types, *f.BatchSize, newSecret(), page.Next.String(tenant), *f.State,
			maker.MakerType, maker.MakerID, maker.MakerName, maker.MakerExpiresAt)
		tenants.QueueAudit(b, tenant, by, tenants.Entry{
			Action: "webhook.create", Target: shownURL(*f.URL), Details: map[string]any{"types": f.Types, "state": *f.State},
		})
		return nil
	})
	if err != nil {
		return w, fmt.Errorf("create a webhook: %w", err)
	}
	return created[0], nil
}

// List returns all endpoints of the tenant, the oldest first.
func (s *Store) List(ctx context.Context, tenant tenancy.ID, page paging.Page) (list paging.List[Webhook], err error) {
	all, err := db.All[Webhook](ctx, s.db, tenant,
		`select`+columns+` from webhooks where tenant_id = $1 order by id`, tenant)
	if err != nil {
		return list, fmt.Errorf("list webhooks: %w", err)
	}
	from := min((page.Number-1)*page.PerPage, len(all))
	return paging.List[Webhook]{Items: all[from:min(from+page.PerPage, len(all))], Total: int64(len(all))}, nil
}

// Get returns one endpoint. It returns tenancy.ErrNotFound.
func (s *Store) Get(ctx context.Context, tenant tenancy.ID, id int64) (Webhook, error) {
	w, err := db.One[Webhook](ctx, s.db, tenant,
		`select`+columns+` from webhooks where tenant_id = $1 and id = $2`, tenant, id)
	if err != nil {
		return w, fmt.Errorf("webhook %d: %w", id, err)
	}
	return w, nil
}
