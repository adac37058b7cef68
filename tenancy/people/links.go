package people

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
)

// Invite makes a link by which somebody becomes a member, good for 24 hours; an
// earlier one of the same person ends. request is of the form that asks, "" for
// none: it makes one link. Invite returns tenancy.ErrConflict where they are a
// member, ErrRepeated, an InvalidError (email, role), or ErrEnded where by is no
// owner any more.
func (s *Store) Invite(ctx context.Context, tenant tenancy.ID, by By, request, email string, role tenancy.Role) (Token, error) {
	email = strings.ToLower(strings.TrimSpace(email))
	faults := tenancy.InvalidError{}
	if fault := tenancy.CheckEmail(email); fault != "" {
		faults.Add("email", "%s", fault)
	}
	if !role.Valid() {
		faults.Add("role", "must be owner, admin or viewer")
	}
	if err := faults.Err(); err != nil {
		return "", err
	}
	return s.makeLink(ctx, tenant, by, request, "invitation", email, &role)
}

// Reset makes a link by which a member chooses another password, good for 24 hours.
// It returns tenancy.ErrNotFound where nobody here has that e-mail, ErrElsewhere,
// ErrRepeated, or ErrEnded where by is no owner any more.
func (s *Store) Reset(ctx context.Context, tenant tenancy.ID, by By, request, email string) (Token, error) {
	return s.makeLink(ctx, tenant, by, request, "reset", Account(email), nil)
}

// ResetAnywhere is Reset for an operator: of any account, whatever it opens and if it
// opens nothing. The audit log of each of its tenants tells of it. It needs the
// migrator's connection and returns tenancy.ErrNotFound.
func (s *Store) ResetAnywhere(ctx context.Context, email string) (Token, error) {
	token := newToken()
	made, err := one[bool](ctx, s.db, `select store_reset($1, $2) as value`, token.hash(), Account(email))
	if err == nil && !made {
		err = tenancy.ErrNotFound
	}
	if err != nil {
		return "", fmt.Errorf("make a link: %w", err)
	}
	return token, nil
}

func (s *Store) makeLink(ctx context.Context, tenant tenancy.ID, by By, request, purpose, email string, role *tenancy.Role) (Token, error) {
	token := newToken()
	sql, args := `select make_link($6, $1, $2, $3, $4, nullif($5, '')) as outcome`, []any{token.hash(), purpose, email, role, request, by.Token.hash()}
	if by.Token == "" {
		sql, args = `select store_link($1, $2, $3, $4, nullif($5, ''), null) as outcome`, args[:5]
	}
	var outcomes []struct{ Outcome string }
	err := s.db.Update(ctx, tenant, func(q *pgx.Batch) {
		tenancy.QueueRows(q, &outcomes, sql, args...)
	}, func(q *pgx.Batch) error {
		switch outcomes[0].Outcome {
		case "refused":
			return ErrEnded
		case "repeated":
			return ErrRepeated
		case "member":
			return tenancy.ErrConflict
		case "absent":
			return tenancy.ErrNotFound
		case "elsewhere":
			return ErrElsewhere
		}
		entry := tenancy.Entry{Action: "password.reset_link", Target: email}
		if role != nil {
			entry = tenancy.Entry{Action: "member.invite", Target: email, Details: map[string]any{"role": *role}}
		}
		tenancy.QueueAudit(q, tenant, by.Actor, entry)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("make a link: %w", err)
	}
	return token, nil
}

// PendingLink is an invitation or a reset that can still be used, as those see it
// who may end it.
type PendingLink struct {
	ID        int64
	Purpose   string // invitation or reset
	Email     string
	Role      *tenancy.Role // of an invitation
	MadeBy    string        // an e-mail, or operator
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Links lists what links into a tenant are pending, the oldest first, for an owner's
// session; for anybody else none. Without a token it is for the operator, and
// lists the operator's own resets of the tenant's members besides.
func (s *Store) Links(ctx context.Context, tenant tenancy.ID, token Token) ([]PendingLink, error) {
	sql, args := `select * from tenant_links($1)`, []any{token.hash()}
	if token == "" {
		sql, args = `
			select l.id, l.purpose, l.email, l.role, coalesce(u.email, 'operator') as made_by, l.created_at, l.expires_at
			  from one_time_links l
			  left join users u on u.id = l.made_by
			 where usable(l) and (l.tenant_id = $1 or l.tenant_id is null and exists (
			           select from memberships m join users o on o.id = m.user_id where m.tenant_id = $1 and o.email = l.email))
			 order by l.id`, []any{tenant}
	}
	found, err := tenancy.All[PendingLink](ctx, s.db, tenant, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("list links: %w", err)
	}
	return found, nil
}

// EndLink ends one pending link into a tenant. It returns tenancy.ErrNotFound where
// there is none, or by is no owner any more.
func (s *Store) EndLink(ctx context.Context, tenant tenancy.ID, by By, id int64) error {
	return s.endLinks(ctx, tenant, by.Actor, `select * from end_link($1, $2)`, by.Token.hash(), id)
}

// EndLinksOf ends every pending link of an e-mail into a tenant, for the operator; it
// needs the migrator's connection. It returns tenancy.ErrNotFound where there is
// none.
func (s *Store) EndLinksOf(ctx context.Context, tenant tenancy.ID, email string) error {
	return s.endLinks(ctx, tenant, tenancy.Operator, `
		update one_time_links l set expires_at = 'epoch'
		 where l.tenant_id = $1 and l.email = $2 and l.expires_at > now()
		returning l.purpose, l.email`, tenant, Account(email))
}

func (s *Store) endLinks(ctx context.Context, tenant tenancy.ID, by tenancy.Actor, sql string, args ...any) error {
	var ended []struct{ Purpose, Email string }
	err := s.db.Update(ctx, tenant, func(q *pgx.Batch) {
		tenancy.QueueRows(q, &ended, sql, args...)
	}, func(q *pgx.Batch) error {
		if len(ended) == 0 {
			return tenancy.ErrNotFound
		}
		for _, l := range ended {
			action := map[string]string{"invitation": "member.invite_revoke", "reset": "password.reset_link_revoke"}[l.Purpose]
			tenancy.QueueAudit(q, tenant, by, tenancy.Entry{Action: action, Target: l.Email})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("end a link: %w", err)
	}
	return nil
}

// EndResetAnywhere ends what ResetAnywhere made and nobody has used. It needs the
// migrator's connection and returns tenancy.ErrNotFound.
func (s *Store) EndResetAnywhere(ctx context.Context, email string) error {
	ended, err := one[bool](ctx, s.db, `select end_reset($1) as value`, Account(email))
	if err == nil && !ended {
		err = tenancy.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("end a link: %w", err)
	}
	return nil
}

// Link is an invitation or a reset that was not used yet, as those see it who have
// it.
type Link struct {
	Purpose    string // invitation or reset
	Email      string
	Role       *tenancy.Role // of an invitation
	TenantID   tenancy.ID    // 0 and no name of an operator's reset
	TenantName string
	ExpiresAt  time.Time
}

// Open reads a link without using it up. It returns ErrEnded.
func (s *Store) Open(ctx context.Context, token Token) (Link, error) {
	found, err := tenancy.Call[Link](ctx, s.db, `select * from open_link($1)`, token.hash())
	if err == nil && len(found) == 0 {
		err = ErrEnded
	}
	if err != nil {
		return Link{}, fmt.Errorf("open a link: %w", err)
	}
	return found[0], nil
}

// Use uses a link up and begins a session, both or neither: an invitation makes the
// membership, and the account with this password where the e-mail has none; of an
// account that is there it must be the password. A reset replaces the password and
// ends every other session. It returns ErrEnded, ErrWrong, an InvalidError
// (password) or tenancy.ErrBusy.
func (s *Store) Use(ctx context.Context, token Token, password, address string) (Token, error) {
	link, err := s.Open(ctx, token)
	if err != nil {
		return "", err
	}
	hash, err := s.linkHash(ctx, link, password)
	if err != nil {
		return "", err
	}
	session := newToken()
	if link.Purpose == "invitation" {
		err = s.join(ctx, link, token, hash, session, address)
	} else {
		var done bool
		done, err = one[bool](ctx, s.db, `select use_reset($1, $2, $3, $4) as value`, token.hash(), hash, session.hash(), address)
		if err == nil && !done {
			err = ErrEnded
		}
	}
	if err != nil {
		return "", fmt.Errorf("use a link: %w", err)
	}
	return session, nil
}

func (s *Store) join(ctx context.Context, link Link, token Token, hash string, session Token, address string) error {
	var done []struct{ UserID *int64 }
	return s.db.Update(ctx, link.TenantID, func(q *pgx.Batch) {
		tenancy.QueueRows(q, &done, `select accept_invitation($1, $2, $3) as user_id`, token.hash(), hash, session.hash())
	}, func(q *pgx.Batch) error {
		if done[0].UserID == nil {
			return ErrEnded
		}
		tenancy.QueueAudit(q, link.TenantID, tenancy.Actor{UserID: done[0].UserID, Name: link.Email, Address: address},
			tenancy.Entry{Action: "member.join", Target: link.Email, Details: map[string]any{"role": *link.Role}})
		return nil
	})
}

// linkHash is the hash that the link's account is to have, or has.
func (s *Store) linkHash(ctx context.Context, link Link, password string) (string, error) {
	if link.Purpose == "invitation" {
		found, err := tenancy.Call[person](ctx, s.db, `select user_id, password_hash from person_by_email($1)`, link.Email)
		if err != nil {
			return "", fmt.Errorf("find a person: %w", err)
		}
		if len(found) > 0 {
			p, err := s.check(ctx, link.Email, password)
			return p.PasswordHash, err
		}
	}
	if fault := tenancy.CheckPassword(password); fault != "" {
		return "", tenancy.InvalidError{"password": {fault}}
	}
	return s.hash(ctx, password)
}
