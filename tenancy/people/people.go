// Package people holds accounts: passwords, sessions, one-time links and the
// members of tenants.
//
// A person has one account in the whole service and a membership with a role in
// each of their tenants. The tables of people have no tenant_id, and the runtime
// role has no privilege on them. It calls database functions that each do one thing
// and require a proof: the hash of a session token or of a link token, or a hash of the
// password that no function returns. A function about the members of a tenant also
// checks the role of the session's person in that tenant. The operator's commands have no session; they use the
// migrator's connection.
//
// A token, of a session or of a link, is 256 random bits. The database stores its
// SHA-256.
package people

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/mail"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
)

// Errors that callers branch on.
var (
	// ErrWrong reports that the e-mail address or the password is wrong.
	ErrWrong = errors.New("wrong e-mail address or password")
	// ErrLastOwner reports that a change would leave a tenant without an owner.
	ErrLastOwner = errors.New("is the last owner")
	// ErrElsewhere reports that the account is also a member of other tenants. Only
	// an operator may reset its password.
	ErrElsewhere = errors.New("is also a member of another tenant")
	// ErrInvited reports that an owner has invited the person, whose invitation an admin cannot replace.
	ErrInvited = errors.New("is already invited by an owner")
	// ErrRepeated reports that the same form has already created a link.
	ErrRepeated = errors.New("the link has already been created")
)

// Token is the secret of a session or a link.
type Token string

func newToken() Token {
	b := make([]byte, 32)
	rand.Read(b)
	return Token(base64.RawURLEncoding.EncodeToString(b))
}

// hash is the form in which the database stores the token; nil for an empty token.
func (t Token) hash() []byte {
	if t == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(t))
	return sum[:]
}

// String hides the token from logs.
func (t Token) String() string { return "[token]" }

// GoString hides the token from %#v.
func (t Token) GoString() string { return t.String() }

// Reveal returns the token itself, for a cookie or a URL.
func (t Token) Reveal() string { return string(t) }

// Store reads and changes the people of a database. It is safe for concurrent use.
type Store struct {
	Logger *slog.Logger // of failed entries of the audit log

	db       *db.DB
	logging  sync.WaitGroup // entries that are being written
	problems db.Problems
}

// New returns a Store. Methods for the operator need a database that is opened as
// the migrator.
func New(pool *db.DB) *Store {
	return &Store{Logger: slog.Default(), db: pool.Central(), problems: db.Problems{
		Begins: "failed sign-ins are not recorded", Ends: "failed sign-ins are recorded again",
	}}
}

// CheckEmail returns why a lower-case text is not an e-mail address, or "".
func CheckEmail(email string) (problem string) {
	address, err := mail.ParseAddress(email)
	// strings.ToLower replaces invalid UTF-8 by the replacement character.
	if err != nil || address.Address != email || len(email) > 254 || strings.ContainsRune(email, utf8.RuneError) {
		return "must be an e-mail address"
	}
	_, problem = tenancy.Name(email, 254)
	return problem
}

// Account returns an e-mail address in the form that is stored, or "" if it is not
// valid. Rate limits use it as the key, so that spelling variants share one limit.
func Account(email string) string {
	email = strings.ToLower(strings.TrimSpace(email))
	if CheckEmail(email) != "" {
		return ""
	}
	return email
}

// call calls a database function that returns whether it did its work, named done. If
// not, call returns refused.
func (s *Store) call(ctx context.Context, refused error, sql string, args ...any) error {
	found, err := db.Call[struct{ Done bool }](ctx, s.db, sql, args...)
	if err == nil && !found[0].Done {
		return refused
	}
	return err
}
