package keys

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
)

const (
	day = 24 * time.Hour
	// maxLive bounds how many keys of a tenant may live at once.
	maxLive = 50
	// suspended is what add_key_hash raises: who serves may not read tenants.
	suspended = "SR001"
)

// Lifetimes are the choices for how long a key lives; 0 is for ever.
var Lifetimes = []time.Duration{30 * day, 90 * day, 365 * day, 0}

// Overlaps are the choices for how long a rolled key lives on beside its
// successor; 0 revokes it at once.
var Overlaps = []time.Duration{0, time.Hour, day, 7 * day}

// Key is a key as people see it.
type Key struct {
	ID          int64
	Name        string
	Permissions Permissions
	Prefix      string // `sk_live_` and four characters
	Last4       string
	CreatedBy   *int64 // a user; nil for an operator's command
	CreatedAt   time.Time
	ExpiresAt   *time.Time // nil for never
	RevokedAt   *time.Time
	ReplacedBy  *int64     // the successor's id
	LastUsedAt  *time.Time // to the minute, up to two minutes late
}

// NewKey is what people say of a key that they want.
type NewKey struct {
	Name        string // 1 to 100 characters after trimming
	Permissions Permissions
	Lifetime    time.Duration // one of Lifetimes
	Request     string        // of the form that asks, "" for none: it makes one key
}

// Store is the keys of every tenant.
type Store struct {
	db      *tenancy.DB
	peppers Peppers
}

// New returns the keys of a database, hashed under the first of the peppers.
func New(db *tenancy.DB, peppers Peppers) *Store { return &Store{db, peppers} }

const keyColumns = `
	id, name, permissions, prefix, last4, created_by, created_at, expires_at, revoked_at, replaced_by, last_used_at`

// Create makes a key. The Secret is to be had this once. It returns an
// InvalidError, ErrSuspended, ErrTooMany when the tenant has 50 live keys, or
// ErrRepeated.
func (s *Store) Create(ctx context.Context, tenant tenancy.ID, by tenancy.Actor, n NewKey) (Key, Secret, error) {
	if err := n.validate(); err != nil {
		return Key{}, "", err
	}
	var key Key
	secret := Generate()
	err := s.db.Tx(ctx, tenant, func(tx pgx.Tx) (err error) {
		if err := lockKeys(ctx, tx, tenant); err != nil {
			return err
		}
		if key, err = s.insertKey(ctx, tx, tenant, by, n, secret); err != nil {
			return err
		}
		if err := checkLive(ctx, tx, tenant); err != nil {
			return err
		}
		return tenancy.Audit(ctx, tx, tenant, by, tenancy.Entry{Action: "key.create", Target: key.Name, Details: key.details()})
	})
	if tenancy.Constraint(err) == "api_keys_request" {
		err = ErrRepeated
	}
	if err != nil {
		return Key{}, "", fmt.Errorf("create key: %w", err)
	}
	return key, secret, nil
}

// List returns every key that the tenant ever had, the newest first.
func (s *Store) List(ctx context.Context, tenant tenancy.ID) ([]Key, error) {
	found, err := tenancy.All[Key](ctx, s.db, tenant, `
		select`+keyColumns+` from api_keys where tenant_id = $1 order by created_at desc, id desc`, tenant)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	return found, nil
}

// Revoke ends a key for good; every instance refuses it within two seconds.
// Revoking it again changes nothing. It returns ErrNotFound.
func (s *Store) Revoke(ctx context.Context, tenant tenancy.ID, by tenancy.Actor, id int64) error {
	var found []Key
	err := s.db.Update(ctx, tenant, func(q *pgx.Batch) {
		tenancy.QueueRows(q, &found, `select`+keyColumns+` from api_keys where tenant_id = $1 and id = $2 for no key update`, tenant, id)
	}, func(q *pgx.Batch) error {
		if len(found) == 0 {
			return tenancy.ErrNotFound
		}
		if found[0].RevokedAt == nil {
			q.Queue(`update api_keys set revoked_at = now() where tenant_id = $1 and id = $2`, tenant, id)
			tenancy.QueueAudit(q, tenant, by, tenancy.Entry{Action: "key.revoke", Target: found[0].Name, Details: found[0].details()})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("revoke key %d: %w", id, err)
	}
	return nil
}

// details are what the audit log tells of a key.
func (k Key) details() map[string]any {
	return map[string]any{"key_id": k.ID, "key": k.Prefix + "…" + k.Last4, "permissions": k.Permissions}
}

// Roll makes the successor of a key: the same name and permissions, and
// the lifetime that was chosen for the old one, counted from now. The old key
// lives on for overlap, one of Overlaps, but never longer than it would have; 0
// revokes it at once. It returns ErrNotFound, an InvalidError, ErrSuspended, ErrEnded
// for a key that is at its end already or has a successor, or ErrTooMany when the
// old key would be the fifty-first live one.
func (s *Store) Roll(ctx context.Context, tenant tenancy.ID, by tenancy.Actor, id int64, overlap time.Duration) (Key, Secret, error) {
	if !slices.Contains(Overlaps, overlap) {
		return Key{}, "", tenancy.InvalidError{"overlap": {"must be 0, 1h, 24h or 168h"}}
	}
	var key Key
	secret := Generate()
	err := s.db.Tx(ctx, tenant, func(tx pgx.Tx) error {
		if err := lockKeys(ctx, tx, tenant); err != nil {
			return err
		}
		n, err := rollable(ctx, tx, tenant, id)
		if err != nil {
			return err
		}
		if key, err = s.insertKey(ctx, tx, tenant, by, n, secret); err != nil {
			return err
		}
		if err := replaceKey(ctx, tx, tenant, id, key.ID, overlap); err != nil {
			return err
		}
		if err := checkLive(ctx, tx, tenant); err != nil {
			return err
		}
		details := key.details()
		details["replaces"], details["overlap_hours"] = id, int(overlap.Hours())
		return tenancy.Audit(ctx, tx, tenant, by, tenancy.Entry{Action: "key.roll", Target: key.Name, Details: details})
	})
	if err != nil {
		return Key{}, "", fmt.Errorf("roll key %d: %w", id, err)
	}
	return key, secret, nil
}

// Check returns an InvalidError that names every fault, as Create would.
func (n NewKey) Check() error { return n.validate() }

// validate trims, puts the permissions in order and names every fault.
func (n *NewKey) validate() error {
	faults := tenancy.InvalidError{}
	name, fault := tenancy.Name(n.Name, 100)
	if fault != "" {
		faults.Add("name", "%s", fault)
	}
	n.Name = name
	if !slices.Contains(Lifetimes, n.Lifetime) {
		faults.Add("expires", "must be 30, 90 or 365 days, or never")
	}
	permissions, err := ParsePermissions(n.Permissions.String())
	if unknown, ok := errors.AsType[tenancy.InvalidError](err); ok {
		faults["permissions"] = unknown["permissions"]
	}
	n.Permissions = permissions
	return faults.Err()
}

// lockKeys lets one transaction at a time add keys to a tenant, or two could both
// make the fiftieth.
func lockKeys(ctx context.Context, tx pgx.Tx, tenant tenancy.ID) error {
	_, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended('keys', $1))`, tenant)
	return err
}

func (s *Store) insertKey(ctx context.Context, tx pgx.Tx, tenant tenancy.ID, by tenancy.Actor, n NewKey, secret Secret) (Key, error) {
	var lifetime *time.Duration
	if n.Lifetime != 0 {
		lifetime = &n.Lifetime
	}
	rows, err := tx.Query(ctx, `
		insert into api_keys (tenant_id, name, permissions, prefix, last4, created_by, expires_at, request)
		values ($1, $2, $3, $4, $5, $6, now() + $7::interval, nullif($8, ''))
		returning`+keyColumns,
		tenant, n.Name, n.Permissions, secret.prefix(), secret.last4(), by.UserID, lifetime, n.Request)
	if err != nil {
		return Key{}, err
	}
	key, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Key])
	if err != nil {
		return key, err
	}
	pepper := s.peppers.current()
	hash := pepper.hash(secret.Reveal())
	_, err = tx.Exec(ctx, `select add_key_hash($1, $2, $3)`, key.ID, hash[:], pepper.version)
	if tenancy.SQLState(err) == suspended {
		err = ErrSuspended
	}
	return key, err
}

// checkLive returns ErrTooMany when the transaction has left too many live keys.
func checkLive(ctx context.Context, tx pgx.Tx, tenant tenancy.ID) error {
	var live int
	err := tx.QueryRow(ctx, `
		select count(*) from api_keys
		 where tenant_id = $1 and revoked_at is null and (expires_at is null or expires_at > now())`, tenant).Scan(&live)
	if err == nil && live > maxLive {
		return ErrTooMany
	}
	return err
}

// rollable locks a key and returns what its successor is to be like. The
// expiry of a key without a successor is still the one that was chosen.
func rollable(ctx context.Context, tx pgx.Tx, tenant tenancy.ID, id int64) (NewKey, error) {
	var n NewKey
	var live bool
	err := tx.QueryRow(ctx, `
		select name, permissions, coalesce(expires_at - created_at, '0'),
		       revoked_at is null and replaced_by is null and (expires_at is null or expires_at > now())
		  from api_keys where tenant_id = $1 and id = $2 for no key update`,
		tenant, id).Scan(&n.Name, &n.Permissions, &n.Lifetime, &live)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return n, tenancy.ErrNotFound
	case err == nil && !live:
		return n, ErrEnded
	}
	return n, err
}

func replaceKey(ctx context.Context, tx pgx.Tx, tenant tenancy.ID, id, successor int64, overlap time.Duration) error {
	_, err := tx.Exec(ctx, `
		update api_keys
		   set replaced_by = $3,
		       revoked_at = case when $4::interval = '0' then now() end,
		       expires_at = least(expires_at, case when $4::interval > '0' then now() + $4::interval end)
		 where tenant_id = $1 and id = $2`, tenant, id, successor, overlap)
	return err
}
