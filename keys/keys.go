// Package keys creates, resolves and revokes API keys.
//
// A key is shown once. The database stores its HMAC-SHA-256 under a pepper that is not in the database. A fast hash is
// enough, because 190 random bits cannot be guessed. The tenant is unknown until the key is found, so a SECURITY
// DEFINER function looks it up; the runtime role has no other access to the hashes.
//
// [Resolver] caches keys. PostgreSQL notifies it of changes, and a round trip confirms that connection every second.
// While the last confirmation is older, the cache uses no entry older than one second. A revocation therefore takes
// effect on every instance within two seconds, even if the network drops the notification.
//
// [Store] creates, lists, revokes and rolls keys for people.
package keys

import (
	"errors"

	"github.com/storeroom/storeroom/tenancy"
)

// Errors that callers branch on, besides ErrMalformed, tenancy.ErrNotFound,
// tenancy.ErrEnded and tenancy.InvalidError.
var (
	// ErrUnknown reports that a key does not exist, is revoked or has expired, without
	// distinguishing these cases.
	ErrUnknown = errors.New("unknown key")
	// ErrEnded reports that a key cannot be rolled because it is revoked, expired or
	// replaced.
	ErrEnded = errors.New("the key is revoked, expired or replaced")
	// ErrTooMany reports that the tenant has the maximum number of live keys.
	ErrTooMany = errors.New("a tenant may have 50 live keys")
	// ErrSuspended reports that the tenant is suspended. It gets no new keys; its keys
	// can be revoked.
	ErrSuspended = errors.New("the tenant is suspended and gets no new keys until it is resumed")
	// ErrRepeated reports that the same form has already created a key.
	ErrRepeated = errors.New("the key has already been created")
)

// sqlErrors are the errors that the database functions raise.
var sqlErrors = map[string]error{
	"SR001": ErrSuspended,
	"SR002": tenancy.ErrEnded,
	"SR003": ErrTooMany,
	"SR004": tenancy.ErrNotFound,
	"SR005": ErrEnded,
}
