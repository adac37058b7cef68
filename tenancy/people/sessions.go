package people

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// Session is a signed-in person, and the tenant that the person works in.
type Session struct {
	UserID      int64
	Email       string
	ConfirmedAt time.Time // when the person last entered the password
	// Tenant is nil if none was asked for or the person is not a member of it.
	Tenant  *tenants.Tenant
	Role    Role
	Tenants []Membership // all tenants that the person is a member of, by name
	// Language is the code of the language that the person has chosen, or "".
	Language string
}

// Actor returns the person as an actor: token is the session's current one, address
// that of the client.
func (s Session) Actor(token Token, address string) tenancy.Actor {
	return tenancy.Actor{UserID: &s.UserID, Name: s.Email, Address: address, Session: token.hash()}
}

// SignIn checks a password and begins a session. It returns ErrWrong, after the same
// time for an unknown address as for a known one, or limits.ErrBusy. The audit log of
// each tenant of an account records sign-ins, and failed ones by network and hour.
func (s *Store) SignIn(ctx context.Context, email, password, network string) (Token, error) {
	email = Account(email)
	proofs, err := s.proofs(ctx, email, password)
	if err != nil {
		return "", err
	}
	token := newToken()
	err = s.call(ctx, ErrWrong, `select sign_in($1, $2, $3, $4) as done`, token.hash(), email, proofs[0], network)
	if errors.Is(err, ErrWrong) && email != "" {
		s.logFailure(ctx, email, network)
	}
	if err != nil {
		return "", fmt.Errorf("sign in: %w", err)
	}
	return token, nil
}

// logTimeout bounds how long an entry about a failed sign-in may take.
const logTimeout = 5 * time.Second

// logFailure records a failed sign-in after SignIn has returned. Otherwise the time of the response would tell whether
// the account exists. The connection counts as one of the request.
func (s *Store) logFailure(ctx context.Context, email, network string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logTimeout)
	s.logging.Go(func() {
		defer cancel()
		_, err := db.Call[struct{}](ctx, s.db, `select from log_failed_sign_in($1, $2)`, email, network)
		s.problems.Report(ctx, s.Logger, nil, err)
	})
}

// Close waits for the entries of the audit log that are being written.
func (s *Store) Close() { s.logging.Wait() }

// Session returns the session of a token and extends it. slug is the tenant that the
// person wants to work in, or "". It returns tenancy.ErrEnded after 30 minutes
// without a call, and after 12 hours in any case.
func (s *Store) Session(ctx context.Context, token Token, slug string) (Session, error) {
	type row struct {
		UserID                                           int64
		Email                                            string
		ConfirmedAt                                      time.Time
		Role, Slug, TenantName, Plan, Timezone, Currency *string
		TenantID                                         *tenancy.ID
		RateLimit                                        *int32
		Suspended                                        *bool
		Tenants                                          []Membership
		Language                                         string
	}
	found, err := db.Call[row](ctx, s.db, `
		select s.*, (
		           select coalesce(json_agg(json_build_object(
		                      'TenantID', t.tenant_id, 'Slug', t.slug, 'Name', t.name, 'Role', t.role)), '[]')
		             from session_tenants($1) t) as tenants, coalesce(session_language($1), '') as language
		  from use_session($1, $2) s`, token.hash(), slug)
	if err == nil && len(found) == 0 {
		err = tenancy.ErrEnded
	}
	if err != nil {
		return Session{}, fmt.Errorf("session: %w", err)
	}
	r := found[0]
	session := Session{UserID: r.UserID, Email: r.Email, ConfirmedAt: r.ConfirmedAt, Tenants: r.Tenants, Language: r.Language}
	if r.TenantID != nil {
		session.Role = Role(*r.Role)
		session.Tenant = &tenants.Tenant{
			ID: *r.TenantID, Slug: *r.Slug, Name: *r.TenantName,
			Plan: tenants.Plan(*r.Plan), RateLimit: r.RateLimit,
			Timezone: *r.Timezone, Currency: *r.Currency, Suspended: *r.Suspended,
		}
	}
	return session, nil
}

// Membership is a tenant that a person is a member of.
type Membership struct {
	TenantID tenancy.ID
	Slug     string
	Name     string
	Role     Role
}

// Confirm checks the password of a session's person again and returns a new token,
// which replaces the old one. It returns ErrWrong or limits.ErrBusy.
func (s *Store) Confirm(ctx context.Context, token Token, email, password string) (Token, error) {
	proofs, err := s.proofs(ctx, Account(email), password)
	if err != nil {
		return "", err
	}
	successor := newToken()
	err = s.call(ctx, ErrWrong, `select confirm_session($1, $2, $3) as done`,
		token.hash(), successor.hash(), proofs[0])
	if err != nil {
		return "", fmt.Errorf("confirm a session: %w", err)
	}
	return successor, nil
}

// ChangePassword replaces the password of a session's person and returns a new token,
// which replaces the old one. It ends the person's other sessions and the pending
// links that the person created, and writes to the audit log of each of their
// tenants. It returns ErrWrong, an InvalidError (password) or limits.ErrBusy.
func (s *Store) ChangePassword(
	ctx context.Context, token Token, email, before, after, address string,
) (Token, error) {
	if problem := CheckPassword(after); problem != "" {
		return "", tenancy.InvalidError{"password": {problem}}
	}
	proofs, err := s.proofs(ctx, Account(email), before, after)
	if err != nil {
		return "", err
	}
	successor := newToken()
	err = s.call(ctx, ErrWrong, `select change_password($1, $2, $3, $4, $5) as done`,
		token.hash(), successor.hash(), proofs[0], proofs[1], address)
	if err != nil {
		return "", fmt.Errorf("change a password: %w", err)
	}
	return successor, nil
}

// SetLanguage stores the language, a code of two letters, that a session's person has chosen. It returns
// tenancy.ErrEnded without a session.
func (s *Store) SetLanguage(ctx context.Context, token Token, code string) error {
	err := s.call(ctx, tenancy.ErrEnded, `select set_language($1, $2) as done`, token.hash(), code)
	if err != nil {
		return fmt.Errorf("set a language: %w", err)
	}
	return nil
}

// SignOut ends a session; with everywhere it ends all sessions of the person, unless
// this one has already ended.
func (s *Store) SignOut(ctx context.Context, token Token, everywhere bool) error {
	_, err := db.Call[struct{}](ctx, s.db, `select from end_session($1, $2)`, token.hash(), everywhere)
	return tenancy.Wrap(err, "sign out")
}
