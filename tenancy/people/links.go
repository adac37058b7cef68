package people

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// Purposes of a link.
const (
	invitation = "invitation"
	reset      = "reset"
)

// Invite creates a link that makes a person a member of the tenant. It is valid for
// 24 hours and replaces an earlier invitation of the same person. request identifies
// the form, which creates one link however often it is sent; "" disables the check.
// Invite returns tenancy.ErrConflict for a member, ErrInvited, ErrRepeated, an InvalidError
// (email, role), or tenancy.ErrEnded if the actor is no longer an owner, or an admin who invites a clerk or an
// accountant.
func (s *Store) Invite(
	ctx context.Context, tenant tenancy.ID, by tenancy.Actor, request, email string, role Role,
) (Token, error) {
	email = strings.ToLower(strings.TrimSpace(email))
	invalid := tenancy.InvalidError{}
	_, host, _ := strings.Cut(email, "@")
	switch problem := CheckEmail(email); {
	case problem != "":
		invalid.Add("email", "%s", problem)
	case !strings.Contains(host, "."): // more often a slip than a host of a local network
		invalid.Add("email", "must be an e-mail address")
	}
	if !role.Valid() {
		invalid.Add("role", roleProblem)
	}
	if err := invalid.Err(); err != nil {
		return "", err
	}
	return s.createLink(ctx, tenant, by, request, invitation, email, &role)
}

// Reset creates a link by which a member chooses a new password, valid for 24 hours.
// It returns tenancy.ErrNotFound if the tenant has no member with that address,
// ErrElsewhere, ErrRepeated, or tenancy.ErrEnded if the actor is no longer an owner.
func (s *Store) Reset(ctx context.Context, tenant tenancy.ID, by tenancy.Actor, request, email string) (Token, error) {
	return s.createLink(ctx, tenant, by, request, reset, Account(email), nil)
}

// ResetAnywhere creates a password reset for any account, whether or not it is a
// member of a tenant, and writes to the audit log of each of its tenants. It needs
// the migrator's connection and returns tenancy.ErrNotFound.
func (s *Store) ResetAnywhere(ctx context.Context, email string) (Token, error) {
	token := newToken()
	err := s.call(ctx, tenancy.ErrNotFound, `select store_reset($1, $2) as done`, token.hash(), Account(email))
	if err != nil {
		return "", fmt.Errorf("create a link: %w", err)
	}
	return token, nil
}

func (s *Store) createLink(
	ctx context.Context, tenant tenancy.ID, by tenancy.Actor, request, purpose, email string, role *Role,
) (Token, error) {
	token := newToken()
	sql := `select make_link($6, $1, $2, $3, $4, nullif($5, '')) as outcome`
	args := []any{token.hash(), purpose, email, role, request, by.Session}
	if by.Session == nil {
		sql, args = `select store_link($1, $2, $3, $4, nullif($5, ''), null) as outcome`, args[:5]
	}
	var outcomes []struct{ Outcome string }
	err := s.db.Update(ctx, tenant, func(batch *pgx.Batch) {
		db.QueueRows(batch, &outcomes, sql, args...)
	}, func(batch *pgx.Batch) error {
		switch outcomes[0].Outcome {
		case "refused":
			return tenancy.ErrEnded
		case "invited":
			return ErrInvited
		case "repeated":
			return ErrRepeated
		case "member":
			return tenancy.ErrConflict
		case "absent":
			return tenancy.ErrNotFound
		case "elsewhere":
			return ErrElsewhere
		}
		entry := tenants.Entry{Action: "password.reset_link", Target: email}
		if role != nil {
			entry = tenants.Entry{Action: "member.invite", Target: email, Details: map[string]any{"role": *role}}
		}
		tenants.QueueAudit(batch, tenant, by, entry)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("create a link: %w", err)
	}
	return token, nil
}

// PendingLink is a link that can still be used, as shown to those who may revoke it.
type PendingLink struct {
	ID        int64
	Purpose   string // invitation or reset
	Email     string
	Role      *Role  // nil for a reset
	MadeBy    string // an e-mail address, or operator
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Links returns the pending links of a tenant, the oldest first, to an owner, and to an admin the invitations of clerks
// and accountants. The operator also sees the operator's own resets of members. Any other actor gets no rows.
func (s *Store) Links(ctx context.Context, tenant tenancy.ID, by tenancy.Actor) ([]PendingLink, error) {
	sql, args := `select * from tenant_links($1)`, []any{by.Session}
	if by.Session == nil {
		sql, args = `
			select l.id, l.purpose, l.email, l.role, coalesce(u.email, 'operator') as made_by, l.created_at, l.expires_at
			  from one_time_links l
			  left join users u on u.id = l.made_by
			 where usable(l)
			   and (l.tenant_id = $1
			        or l.tenant_id is null and exists (
			           select
			             from memberships m
			             join users o on o.id = m.user_id
			            where m.tenant_id = $1 and o.email = l.email))
			 order by l.id`, []any{tenant}
	}
	found, err := db.All[PendingLink](ctx, s.db, tenant, sql, args...)
	return found, tenancy.Wrap(err, "list links")
}

// EndLink revokes one pending link of a tenant. It returns tenancy.ErrNotFound if there is none that Links returns to
// the actor.
func (s *Store) EndLink(ctx context.Context, tenant tenancy.ID, by tenancy.Actor, id int64) error {
	return s.endLinks(ctx, tenant, by, `select * from end_link($1, $2)`, by.Session, id)
}

// EndLinksOf revokes every pending link of a tenant to an e-mail address. It needs
// the migrator's connection and returns tenancy.ErrNotFound if there are none.
func (s *Store) EndLinksOf(ctx context.Context, tenant tenancy.ID, email string) error {
	return s.endLinks(ctx, tenant, tenancy.Operator, `
		update one_time_links l
		   set expires_at = 'epoch'
		 where l.tenant_id = $1 and l.email = $2 and l.expires_at > now()
		returning l.purpose, l.email`, tenant, Account(email))
}

var revokeActions = map[string]string{invitation: "member.invite_revoke", reset: "password.reset_link_revoke"}

func (s *Store) endLinks(ctx context.Context, tenant tenancy.ID, by tenancy.Actor, sql string, args ...any) error {
	var ended []struct{ Purpose, Email string }
	err := s.db.Update(ctx, tenant, func(batch *pgx.Batch) {
		db.QueueRows(batch, &ended, sql, args...)
	}, func(batch *pgx.Batch) error {
		if len(ended) == 0 {
			return tenancy.ErrNotFound
		}
		for _, link := range ended {
			entry := tenants.Entry{Action: revokeActions[link.Purpose], Target: link.Email}
			tenants.QueueAudit(batch, tenant, by, entry)
		}
		return nil
	})
	return tenancy.Wrap(err, "revoke a link")
}

// EndResetAnywhere revokes the pending link that ResetAnywhere created. It needs the
// migrator's connection and returns tenancy.ErrNotFound.
func (s *Store) EndResetAnywhere(ctx context.Context, email string) error {
	if err := s.call(ctx, tenancy.ErrNotFound, `select end_reset($1) as done`, Account(email)); err != nil {
		return fmt.Errorf("revoke a link: %w", err)
	}
	return nil
}

// Link is an unused invitation or reset, as shown to the person who received it.
type Link struct {
	Purpose    string // invitation or reset
	Email      string
	Role       *Role      // nil for a reset
	TenantID   tenancy.ID // 0 for an operator's reset, which has no tenant name
	TenantName string
	ExpiresAt  time.Time
}

// ReadLink reads a link without using it up. It returns tenancy.ErrEnded.
func (s *Store) ReadLink(ctx context.Context, token Token) (Link, error) {
	found, err := db.Call[Link](ctx, s.db, `select * from open_link($1)`, token.hash())
	if err == nil && len(found) == 0 {
		err = tenancy.ErrEnded
	}
	if err != nil {
		return Link{}, fmt.Errorf("open a link: %w", err)
	}
	return found[0], nil
}

// UseLink uses a link up and begins a session. An invitation creates the membership, and the account if the e-mail
// address has none; otherwise password must be that of the account. A reset replaces the password and ends every other
// session, and can return an InvalidError (password).
//
// UseLink returns tenancy.ErrEnded, ErrWrong or limits.ErrBusy.
func (s *Store) UseLink(ctx context.Context, token Token, password, address string) (Token, error) {
	link, err := s.ReadLink(ctx, token)
	if err != nil {
		return "", err
	}
	problem := CheckPassword(password)
	if link.Purpose == reset && problem != "" {
		return "", tenancy.InvalidError{"password": {problem}}
	}
	proofs, err := s.proofs(ctx, link.Email, password)
	if err != nil {
		return "", err
	}
	session := newToken()
	if link.Purpose == reset {
		err = s.call(ctx, tenancy.ErrEnded, `select use_reset($1, $2, $3, $4) as done`,
			token.hash(), proofs[0], session.hash(), address)
	} else {
		// The owner who created an invitation also has the link, so every wrong or invalid password is refused with
		// ErrWrong after the same work, whether or not the address has an account.
		err = s.join(ctx, link, address, token.hash(), proofs[0], problem == "", session.hash())
	}
	if err != nil {
		return "", fmt.Errorf("use a link: %w", err)
	}
	return session, nil
}

func (s *Store) join(ctx context.Context, link Link, address string, args ...any) error {
	var joined []struct {
		Outcome string
		UserID  *int64
	}
	err := s.db.Update(ctx, link.TenantID, func(batch *pgx.Batch) {
		db.QueueRows(batch, &joined, `select * from accept_invitation($1, $2, $3, $4)`, args...)
	}, func(batch *pgx.Batch) error {
		entry := tenants.Entry{Action: "member.join", Target: link.Email, Details: map[string]any{"role": *link.Role}}
		switch joined[0].Outcome {
		case "ended":
			return tenancy.ErrEnded
		case "refused":
			entry.Action = "member.join_refused"
		}
		person := tenancy.Actor{UserID: joined[0].UserID, Name: link.Email, Address: address}
		tenants.QueueAudit(batch, link.TenantID, person, entry)
		return nil
	})
	if err == nil && joined[0].Outcome == "refused" {
		err = ErrWrong
	}
	return err
}
