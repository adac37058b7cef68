// Package people lets persons into tenants: passwords, sessions, one-time links and
// what a member may do.
//
// A person has one account in the whole service and a membership with a role in
// each of their tenants. The tables of people belong to no tenant, and the role
// that serves may not touch them: each function of the database that is called
// here does one thing and asks for the hash of a session, a link or a password.
// Those about the members of a tenant look themselves whether the session's person
// has the role in the tenant that the transaction is in. The operator's commands
// have no session: they need the migrator's connection. A token, of a session or of
// a link, is 256 random bits; the database knows its SHA-256 only.
package people

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/storeroom/storeroom/tenancy"
)

// Errors that callers branch on.
var (
	// ErrWrong says that an e-mail and a password do not belong together, whichever
	// of them is wrong.
	ErrWrong = errors.New("e-mail or password is wrong")
	// ErrEnded says that a session or a link is used up, too old or was never there.
	ErrEnded = errors.New("has ended")
	// ErrLastOwner says that a tenant would be left without an owner.
	ErrLastOwner = errors.New("is the last owner")
	// ErrElsewhere says that the account opens other tenants too, so that nobody but
	// an operator may reset its password.
	ErrElsewhere = errors.New("is a member of another tenant too")
	// ErrRepeated says that the same form made a link before.
	ErrRepeated = errors.New("the link was made already")
)

// Token is the secret of a session or a link.
type Token string

func newToken() Token {
	b := make([]byte, 32)
	rand.Read(b)
	return Token(base64.RawURLEncoding.EncodeToString(b))
}

// hash is what the database knows; nil of no token.
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

// Reveal returns the token's text, for a cookie or an address.
func (t Token) Reveal() string { return string(t) }

// Store is the people of the service. It is safe for concurrent use.
type Store struct {
	db     *tenancy.DB
	hashes chan struct{} // taken while a password is hashed
	queue  chan struct{} // taken by those who hash or wait to
}

// atOnce bounds how many passwords are hashed at a time: each takes 19 MiB.
// waiting is how many may hash or wait: more would not be served in time.
const (
	atOnce  = 4
	waiting = 32
)

// New returns the people in db.
func New(db *tenancy.DB) *Store {
	return &Store{db, make(chan struct{}, atOnce), make(chan struct{}, waiting)}
}

// Session is who is signed in, and where.
type Session struct {
	UserID      int64
	Email       string
	ConfirmedAt time.Time // when the password was last given
	// Tenant is nil where none was asked for, and where the person is no member.
	Tenant *tenancy.Tenant
	Role   tenancy.Role
}

// Actor is the person for the audit log.
func (s Session) Actor(address string) tenancy.Actor {
	return tenancy.Actor{UserID: &s.UserID, Name: s.Email, Address: address}
}

// SignIn checks a password and begins a session. It returns ErrWrong, after as much
// work for somebody unknown as for anybody, or tenancy.ErrBusy.
func (s *Store) SignIn(ctx context.Context, email, password string) (Token, error) {
	p, err := s.check(ctx, email, password)
	if err != nil {
		return "", err
	}
	token := newToken()
	begun, err := one[bool](ctx, s.db, `select begin_session($1, $2, $3) as value`, token.hash(), p.UserID, p.PasswordHash)
	if err == nil && !begun {
		err = ErrWrong // the password was changed meanwhile
	}
	if err != nil {
		return "", fmt.Errorf("sign in: %w", err)
	}
	return token, nil
}

// Account returns an e-mail as the accounts have it, or "" for what none can have:
// tries at one account are told by it, however they spell its e-mail.
func Account(email string) string {
	email = strings.ToLower(strings.TrimSpace(email))
	if tenancy.CheckEmail(email) != "" {
		return ""
	}
	return email
}

type person struct {
	UserID       int64
	PasswordHash string
}

// nobody is the hash of a password that nobody has.
var nobody = tenancy.HashPassword(rand.Text())

// check finds the person of an e-mail and a password.
func (s *Store) check(ctx context.Context, email, password string) (person, error) {
	if len(password) > 512 {
		password = "" // no password is that long; it takes its time all the same
	}
	found, err := tenancy.Call[person](ctx, s.db, `select user_id, password_hash from person_by_email($1)`, Account(email))
	if err != nil {
		return person{}, fmt.Errorf("find a person: %w", err)
	}
	p := person{PasswordHash: nobody}
	if len(found) > 0 {
		p = found[0]
	}
	matches := false
	if err := s.hashing(ctx, func() { matches = tenancy.PasswordMatches(p.PasswordHash, password) }); err != nil {
		return person{}, err
	}
	if !matches || len(found) == 0 {
		return person{}, ErrWrong
	}
	return p, nil
}

// hashing runs f when fewer than atOnce others run. It waits two seconds at most.
func (s *Store) hashing(ctx context.Context, f func()) error {
	select {
	case s.queue <- struct{}{}:
		defer func() { <-s.queue }()
	default:
		return tenancy.ErrBusy
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	select {
	case s.hashes <- struct{}{}:
		defer func() { <-s.hashes }()
		f()
		return nil
	case <-ctx.Done():
		return tenancy.ErrBusy
	}
}

// Session finds who a token belongs to and keeps the session alive; slug is the
// tenant in which the person wants to be, or "". It returns ErrEnded after 30
// minutes without a call and 12 hours in all.
func (s *Store) Session(ctx context.Context, token Token, slug string) (Session, error) {
	type row struct {
		UserID                                           int64
		Email                                            string
		ConfirmedAt                                      time.Time
		Role, Slug, TenantName, Plan, Timezone, Currency *string
		TenantID                                         *tenancy.ID
		RateLimit                                        *int32
		Suspended                                        *bool
	}
	found, err := tenancy.Call[row](ctx, s.db, `select * from use_session($1, $2)`, token.hash(), slug)
	if err == nil && len(found) == 0 {
		err = ErrEnded
	}
	if err != nil {
		return Session{}, fmt.Errorf("session: %w", err)
	}
	r := found[0]
	session := Session{UserID: r.UserID, Email: r.Email, ConfirmedAt: r.ConfirmedAt}
	if r.TenantID != nil {
		session.Role = tenancy.Role(*r.Role)
		session.Tenant = &tenancy.Tenant{
			ID: *r.TenantID, Slug: *r.Slug, Name: *r.TenantName, Plan: tenancy.Plan(*r.Plan), RateLimit: r.RateLimit,
			Timezone: *r.Timezone, Currency: *r.Currency, Suspended: *r.Suspended,
		}
	}
	return session, nil
}

// Membership is a tenant that a person belongs to.
type Membership struct {
	TenantID tenancy.ID
	Slug     string
	Name     string
	Role     tenancy.Role
}

// Tenants lists where the person of a session is a member.
func (s *Store) Tenants(ctx context.Context, token Token) ([]Membership, error) {
	found, err := tenancy.Call[Membership](ctx, s.db, `select * from session_tenants($1)`, token.hash())
	if err != nil {
		return nil, fmt.Errorf("tenants of a session: %w", err)
	}
	return found, nil
}

// Confirm checks the password of a session's person again; the session goes on
// under the token that is returned. It returns ErrWrong or tenancy.ErrBusy.
func (s *Store) Confirm(ctx context.Context, token Token, email, password string) (Token, error) {
	p, err := s.check(ctx, email, password)
	if err != nil {
		return "", err
	}
	successor := newToken()
	confirmed, err := one[bool](ctx, s.db, `select confirm_session($1, $2, $3) as value`, token.hash(), successor.hash(), p.PasswordHash)
	if err == nil && !confirmed {
		err = ErrWrong
	}
	if err != nil {
		return "", fmt.Errorf("confirm a session: %w", err)
	}
	return successor, nil
}

// ChangePassword replaces a session's password and ends the person's other
// sessions; this one goes on under the token that is returned. The audit log of each
// of their tenants tells of it, and the address. It returns ErrWrong, an
// InvalidError (password) or tenancy.ErrBusy.
func (s *Store) ChangePassword(ctx context.Context, token Token, email, before, after, address string) (Token, error) {
	if fault := tenancy.CheckPassword(after); fault != "" {
		return "", tenancy.InvalidError{"password": {fault}}
	}
	p, err := s.check(ctx, email, before)
	if err != nil {
		return "", err
	}
	hash, err := s.hash(ctx, after)
	if err != nil {
		return "", err
	}
	successor := newToken()
	changed, err := one[bool](ctx, s.db, `select change_password($1, $2, $3, $4, $5) as value`,
		token.hash(), successor.hash(), p.PasswordHash, hash, address)
	if err == nil && !changed {
		err = ErrWrong
	}
	if err != nil {
		return "", fmt.Errorf("change a password: %w", err)
	}
	return successor, nil
}

func (s *Store) hash(ctx context.Context, password string) (hash string, err error) {
	err = s.hashing(ctx, func() { hash = tenancy.HashPassword(password) })
	return hash, err
}

// SignOut ends a session, or all of its person's unless it has ended before.
func (s *Store) SignOut(ctx context.Context, token Token, everywhere bool) error {
	if _, err := tenancy.Call[struct{}](ctx, s.db, `select from end_session($1, $2)`, token.hash(), everywhere); err != nil {
		return fmt.Errorf("sign out: %w", err)
	}
	return nil
}

// one calls a function that returns one value.
func one[T any](ctx context.Context, db *tenancy.DB, sql string, args ...any) (T, error) {
	found, err := tenancy.Call[struct{ Value T }](ctx, db, sql, args...)
	if err != nil || len(found) != 1 {
		var none T
		return none, err
	}
	return found[0].Value, nil
}
