// Package keys makes API keys, finds out whose they are, and ends them.
//
// A key is shown once. What is stored is its HMAC-SHA-256 under a pepper that is
// not in the database; a fast hash is right because 190 random bits cannot be
// guessed at any speed. Before the key is known no tenant is, so it is looked up
// by one definer function, and the runtime role has no other way to a hash.
//
// [Resolver] answers from memory where it can. What it remembers is worth as much
// as the connection on which PostgreSQL tells of changes: each second a round
// trip confirms that connection, and an answer older than a second is used only
// while the last confirmation is recent. So a revocation holds on every instance
// within two seconds, even where the network swallows the news of it.
//
// [Store] is for people: create, list, revoke, roll.
package keys

import "errors"

// Errors that callers branch on, beside ErrMalformed, tenancy.ErrNotFound and
// tenancy.InvalidError.
var (
	// ErrUnknown says that a key was never made, is revoked or is expired: one
	// answer, so that nobody learns which.
	ErrUnknown = errors.New("unknown key")
	// ErrEnded says that a key cannot be rolled because it is revoked, expired or
	// has a successor.
	ErrEnded = errors.New("the key is revoked, expired or replaced")
	// ErrTooMany says that the tenant has as many live keys as it may have.
	ErrTooMany = errors.New("a tenant may have 50 live keys")
	// ErrSuspended says that a suspended tenant gets no new key: it would be refused
	// until an operator resumes the tenant. Keys can be revoked all the same.
	ErrSuspended = errors.New("the tenant is suspended: it gets no new key before it is resumed")
	// ErrRepeated says that a request made its key before.
	ErrRepeated = errors.New("the key was created already")
)
