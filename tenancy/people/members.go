package people

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
)

// Member is a person in a tenant.
type Member struct {
	UserID    int64
	Email     string
	Role      tenancy.Role
	CreatedAt time.Time
}

// Members lists the people of a tenant by e-mail.
func (s *Store) Members(ctx context.Context, tenant tenancy.ID) ([]Member, error) {
	found, err := tenancy.All[Member](ctx, s.db, tenant, `select * from tenant_members()`)
	if err != nil {
		return nil, fmt.Errorf("list members: %w", err)
	}
	return found, nil
}

// ChangeRole gives a member another role and ends their sessions. It
// returns tenancy.ErrNotFound, ErrLastOwner or an InvalidError (role).
func (s *Store) ChangeRole(ctx context.Context, tenant tenancy.ID, by tenancy.Actor, user int64, role tenancy.Role) error {
	if !role.Valid() {
		return tenancy.InvalidError{"role": {"must be owner, admin or viewer"}}
	}
	return s.changeMember(ctx, tenant, by, user, &role)
}

// Remove takes a member out of the tenant and ends their sessions. It returns
// tenancy.ErrNotFound or ErrLastOwner.
func (s *Store) Remove(ctx context.Context, tenant tenancy.ID, by tenancy.Actor, user int64) error {
	return s.changeMember(ctx, tenant, by, user, nil)
}

func (s *Store) changeMember(ctx context.Context, tenant tenancy.ID, by tenancy.Actor, user int64, role *tenancy.Role) error {
	type change struct {
		Email, Before *string
		Outcome       string
	}
	var done []change
	err := s.db.Update(ctx, tenant, func(q *pgx.Batch) {
		tenancy.QueueRows(q, &done, `select * from change_member($1, $2)`, user, role)
	}, func(q *pgx.Batch) error {
		switch done[0].Outcome {
		case "absent":
			return tenancy.ErrNotFound
		case "last_owner":
			return ErrLastOwner
		case "same":
			return nil
		}
		entry := tenancy.Entry{Action: "member.remove", Target: *done[0].Email, Details: map[string]any{"role": *done[0].Before}}
		if role != nil {
			entry.Action, entry.Details = "member.role", map[string]any{"from": *done[0].Before, "to": *role}
		}
		tenancy.QueueAudit(q, tenant, by, entry)
		return nil
	})
	if err != nil {
		return fmt.Errorf("change member %d: %w", user, err)
	}
	return nil
}

// Invite makes a link by which somebody becomes a member, good for 24 hours; an
// earlier one of the same person ends. It returns tenancy.ErrConflict where they
// are a member, or an InvalidError (email, role).
func (s *Store) Invite(ctx context.Context, tenant tenancy.ID, by tenancy.Actor, email string, role tenancy.Role) (Token, error) {
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
	return s.makeLink(ctx, tenant, by, "invitation", email, &role)
}

// Reset makes a link by which a member chooses another password, good for 24 hours.
// It returns tenancy.ErrNotFound where nobody here has that e-mail, or ErrElsewhere.
func (s *Store) Reset(ctx context.Context, tenant tenancy.ID, by tenancy.Actor, email string) (Token, error) {
	return s.makeLink(ctx, tenant, by, "reset", Account(email), nil)
}

// ResetAnywhere is Reset for an operator: also for a member of other tenants, and the
// link stays good if the person becomes one. It needs the migrator's connection.
func (s *Store) ResetAnywhere(ctx context.Context, tenant tenancy.ID, email string) (Token, error) {
	token, email := newToken(), Account(email)
	var members []struct{ UserID int64 }
	err := s.db.Update(ctx, tenant, func(q *pgx.Batch) {
		tenancy.QueueRows(q, &members, `
			select m.user_id from memberships m join users u on u.id = m.user_id
			 where m.tenant_id = $1 and u.email = $2`, tenant, email)
	}, func(q *pgx.Batch) error {
		if len(members) == 0 {
			return tenancy.ErrNotFound
		}
		q.Queue(`delete from one_time_links where tenant_id = $1 and email = $2 and purpose = 'reset'`, tenant, email)
		q.Queue(`
			insert into one_time_links (token_hash, tenant_id, purpose, email, anywhere)
			values ($1, $2, 'reset', $3, true)`, token.hash(), tenant, email)
		tenancy.QueueAudit(q, tenant, tenancy.Operator, tenancy.Entry{Action: "password.reset_link", Target: email})
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("make a link: %w", err)
	}
	return token, nil
}

func (s *Store) makeLink(ctx context.Context, tenant tenancy.ID, by tenancy.Actor, purpose, email string, role *tenancy.Role) (Token, error) {
	token := newToken()
	var outcomes []struct{ Outcome string }
	err := s.db.Update(ctx, tenant, func(q *pgx.Batch) {
		tenancy.QueueRows(q, &outcomes, `select make_link($1, $2, $3, $4) as outcome`, token.hash(), purpose, email, role)
	}, func(q *pgx.Batch) error {
		switch outcomes[0].Outcome {
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
		tenancy.QueueAudit(q, tenant, by, entry)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("make a link: %w", err)
	}
	return token, nil
}

// Link is an invitation or a reset that was not used yet.
type Link struct {
	Purpose    string // invitation or reset
	Email      string
	Role       *tenancy.Role // of an invitation
	TenantID   tenancy.ID
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

// Use uses a link up: an invitation makes the membership, and the account with
// this password where the e-mail has none; of an account that is there it must be
// the password. A reset replaces the password and ends every session. It returns
// ErrEnded, ErrWrong, an InvalidError (password) or tenancy.ErrBusy.
func (s *Store) Use(ctx context.Context, token Token, password, address string) (Link, error) {
	link, err := s.Open(ctx, token)
	if err != nil {
		return link, err
	}
	hash, err := s.linkHash(ctx, link, password)
	if err != nil {
		return link, err
	}
	sql, entry := `select use_reset($1, $2) as user_id`, tenancy.Entry{Action: "password.reset", Target: link.Email}
	if link.Purpose == "invitation" {
		sql, entry = `select accept_invitation($1, $2) as user_id`, tenancy.Entry{Action: "member.join", Target: link.Email, Details: map[string]any{"role": *link.Role}}
	}
	var done []struct{ UserID *int64 }
	err = s.db.Update(ctx, link.TenantID, func(q *pgx.Batch) {
		tenancy.QueueRows(q, &done, sql, token.hash(), hash)
	}, func(q *pgx.Batch) error {
		if done[0].UserID == nil {
			return ErrEnded
		}
		tenancy.QueueAudit(q, link.TenantID, tenancy.Actor{UserID: done[0].UserID, Name: link.Email, Address: address}, entry)
		return nil
	})
	if err != nil {
		return link, fmt.Errorf("use a link: %w", err)
	}
	return link, nil
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
