package keys

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

const day = 24 * time.Hour

// Lifetimes are the allowed lifetimes of a key; 0 means that it never expires.
var Lifetimes = []time.Duration{30 * day, 90 * day, 365 * day, 0}

// Overlaps are the allowed times for which a rolled key stays active beside its
// successor; 0 revokes it immediately.
var Overlaps = []time.Duration{0, time.Hour, day, 7 * day}

// Key is a key without its secret.
type Key struct {
	ID          int64
	Name        string
	Permissions Permissions
	Prefix      string // sk_live_ and four characters
	Last4       string
	CreatedBy   *int64 // the user that created or rolled it; nil for an operator's command
	CreatedAt   time.Time
	ExpiresAt   *time.Time // nil for never
	RevokedAt   *time.Time
	ReplacedBy  *int64     // the successor's id
	LastUsedAt  *time.Time // to the minute, stored within seconds of a minute's first use
}

// Status is whether a key is in use, and the reason if it is not.
type Status string

// The statuses of keys. The API accepts a Live and a Rolled key.
const (
	Live    Status = "live"
	Rolled  Status = "rolled" // replaced by another key, but not expired
	Expired Status = "expired"
	Revoked Status = "revoked"
)

// Status returns the status of the key at this time.
func (k Key) Status() Status {
	switch {
	case k.RevokedAt != nil:
		return Revoked
	case k.ExpiresAt != nil && !k.ExpiresAt.After(time.Now()):
		return Expired
	case k.ReplacedBy != nil:
		return Rolled
	}
	return Live
}

// Active reports whether the API accepts the key.
func (k Key) Active() bool { return k.Status() == Live || k.Status() == Rolled }

// NewKey describes a key to create.
type NewKey struct {
	Name        string // 1 to 100 characters after trimming
	Permissions Permissions
	Lifetime    time.Duration // one of Lifetimes
	// Request identifies the form, which creates one key however often it is sent. ""
	// disables the check.
	Request string
}

// Store reads and changes the keys of every tenant. It is safe for concurrent use.
// Changes by tenancy.Operator need a database that is opened as the migrator.
type Store struct {
	db      *db.DB
	peppers Peppers
}

// New returns a Store that hashes new keys under the first of the peppers.
func New(db *db.DB, peppers Peppers) *Store { return &Store{db.Central(), peppers} }

// On returns the store that works on d.
func (s *Store) On(d *db.DB) *Store { return New(d, s.peppers) }

const keyColumns = `
	id, name, permissions, prefix, last4, created_by, created_at, expires_at, revoked_at, replaced_by, last_used_at`

// Create creates a key. Its Secret cannot be read later. Create returns an
// InvalidError, ErrSuspended, ErrTooMany, ErrRepeated, or tenancy.ErrEnded if the actor
// is no longer an owner or admin.
func (s *Store) Create(ctx context.Context, tenant tenancy.ID, by tenancy.Actor, n NewKey) (Key, Secret, error) {
	if err := n.Check(); err != nil {
		return Key{}, "", err
	}
	var lifetime *time.Duration
	if n.Lifetime != 0 {
		lifetime = &n.Lifetime
	}
	secret := Generate()
	args := append([]any{by.Session, n.Name, n.Permissions, lifetime, n.Request}, s.stored(secret)...)
	key, err := s.change(ctx, tenant, by, `create_key($1, $2, $3, $4, $5, $6, $7, $8, $9)`, args,
		func(key Key) *tenants.Entry {
			return &tenants.Entry{Action: "key.create", Target: key.Name, Details: key.auditDetails()}
		})
	if err != nil {
		return Key{}, "", fmt.Errorf("create key: %w", err)
	}
	return key, secret, nil
}

// Roll creates the successor of a key, with the same name and permissions and a new period of the same lifetime. The
// old key stays active for overlap, one of Overlaps, but not beyond its expiry. Roll returns tenancy.ErrNotFound, an
// InvalidError, ErrSuspended, ErrEnded, ErrTooMany, or tenancy.ErrEnded if the actor is no longer an owner or admin.
func (s *Store) Roll(
	ctx context.Context, tenant tenancy.ID, by tenancy.Actor, id int64, overlap time.Duration,
) (Key, Secret, error) {
	if !slices.Contains(Overlaps, overlap) {
		return Key{}, "", tenancy.InvalidError{"overlap": {"must be 0, 1h, 24h or 168h"}}
	}
	secret := Generate()
	args := append([]any{by.Session, id, overlap}, s.stored(secret)...)
	key, err := s.change(ctx, tenant, by, `roll_key($1, $2, $3, $4, $5, $6, $7)`, args,
		func(key Key) *tenants.Entry {
			details := key.auditDetails()
			details["replaces"], details["overlap_hours"] = id, int(overlap.Hours())
			return &tenants.Entry{Action: "key.roll", Target: key.Name, Details: details}
		})
	if err != nil {
		return Key{}, "", fmt.Errorf("roll key %d: %w", id, err)
	}
	return key, secret, nil
}

// Revoke revokes a key; every instance refuses it within two seconds. The webhooks that it made are paused in the same
// transaction. For a revoked key Revoke does nothing. It returns tenancy.ErrNotFound, or tenancy.ErrEnded if the actor is
// no longer an owner or admin.
func (s *Store) Revoke(ctx context.Context, tenant tenancy.ID, by tenancy.Actor, id int64) error {
	return s.revoke(ctx, tenant, by, id, false)
}

// RevokeAndKeep is Revoke, but the webhooks of the key go on, and the actor becomes their maker.
func (s *Store) RevokeAndKeep(ctx context.Context, tenant tenancy.ID, by tenancy.Actor, id int64) error {
	return s.revoke(ctx, tenant, by, id, true)
}

func (s *Store) revoke(
	ctx context.Context, tenant tenancy.ID, by tenancy.Actor, id int64, keepWebhooks bool,
) error {
	_, err := s.change(ctx, tenant, by, `revoke_key($1, $2, $3)`, []any{by.Session, id, keepWebhooks},
		func(before Key) *tenants.Entry {
			if before.RevokedAt != nil {
				return nil
			}
			details := before.auditDetails()
			if keepWebhooks {
				details["webhooks"] = "kept"
			}
			return &tenants.Entry{Action: "key.revoke", Target: before.Name, Details: details}
		})
	return tenancy.Wrap(err, "revoke key %d", id)
}

// change calls a database function, which checks the actor's session and returns a key,
// and records the change in the audit log.
func (s *Store) change(
	ctx context.Context, tenant tenancy.ID, by tenancy.Actor,
	call string, args []any, entry func(Key) *tenants.Entry,
) (key Key, err error) {
	var found []Key
	err = s.db.Update(ctx, tenant, func(batch *pgx.Batch) {
		db.QueueRows(batch, &found, `select`+keyColumns+` from `+call, args...)
	}, func(batch *pgx.Batch) error {
		if len(found) == 0 {
			return tenancy.ErrNotFound
		}
		key = found[0]
		if e := entry(key); e != nil {
			tenants.QueueAudit(batch, tenant, by, *e)
		}
		return nil
	})
	if known := sqlErrors[db.SQLState(err)]; known != nil {
		err = known
	}
	if db.Constraint(err) == "api_keys_request" {
		err = ErrRepeated
	}
	return key, err
}

// stored returns the values that the database stores of a secret: prefix, last4, hash and the version of the pepper.
func (s *Store) stored(secret Secret) []any {
	pepper := s.peppers.current()
	hash := pepper.hash(secret.Reveal())
	return []any{secret.prefix(), secret.last4(), hash[:], pepper.version}
}

// List returns all keys of the tenant, live or not, the newest first.
func (s *Store) List(ctx context.Context, tenant tenancy.ID) ([]Key, error) {
	found, err := db.All[Key](ctx, s.db, tenant, `
		select`+keyColumns+`
		  from api_keys
		 where tenant_id = $1
		 order by created_at desc, id desc`, tenant)
	return found, tenancy.Wrap(err, "list keys")
}

func (k Key) auditDetails() map[string]any {
	return map[string]any{"key_id": k.ID, "key": k.Prefix + "…" + k.Last4, "permissions": k.Permissions}
}

// Check trims the name, sorts the permissions, and returns an InvalidError that names
// every invalid field, as Create does.
func (n *NewKey) Check() error {
	invalid := tenancy.InvalidError{}
	name, problem := tenancy.Name(n.Name, 100)
	if problem != "" {
		invalid.Add("name", "%s", problem)
	}
	n.Name = name
	if !slices.Contains(Lifetimes, n.Lifetime) {
		invalid.Add("expires", "must be 30, 90 or 365 days, or never")
	}
	permissions, err := ParsePermissions(n.Permissions.String())
	if unknown, ok := errors.AsType[tenancy.InvalidError](err); ok {
		invalid["permissions"] = unknown["permissions"]
	}
	n.Permissions = permissions
	return invalid.Err()
}
