package people

import (
	"context"
	"fmt"
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

// By is who acts on the members of a tenant.
type By struct {
	// Token is of the person's session; none is the operator's, whose road is the
	// migrator's connection.
	Token Token
	tenancy.Actor
}

// Operator is who runs the commands.
var Operator = By{Actor: tenancy.Operator}

// Members lists the people of a tenant by e-mail, for a member's session or, without
// a token, for the operator; for anybody else nobody.
func (s *Store) Members(ctx context.Context, tenant tenancy.ID, token Token) ([]Member, error) {
	sql, args := `select * from tenant_members($1)`, []any{token.hash()}
	if token == "" {
		sql, args = `
			select m.user_id, u.email, m.role, m.created_at
			  from memberships m join users u on u.id = m.user_id where m.tenant_id = $1 order by u.email`, []any{tenant}
	}
	found, err := tenancy.All[Member](ctx, s.db, tenant, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("list members: %w", err)
	}
	return found, nil
}

// ChangeRole gives a member another role and ends their sessions. It returns
// tenancy.ErrNotFound, ErrLastOwner, an InvalidError (role), or ErrEnded where by is
// no owner any more.
func (s *Store) ChangeRole(ctx context.Context, tenant tenancy.ID, by By, user int64, role tenancy.Role) error {
	if !role.Valid() {
		return tenancy.InvalidError{"role": {"must be owner, admin or viewer"}}
	}
	return s.changeMember(ctx, tenant, by, user, &role)
}

// Remove takes a member out of the tenant and ends their sessions. It returns
// tenancy.ErrNotFound, ErrLastOwner, or ErrEnded where by is no owner any more.
func (s *Store) Remove(ctx context.Context, tenant tenancy.ID, by By, user int64) error {
	return s.changeMember(ctx, tenant, by, user, nil)
}

func (s *Store) changeMember(ctx context.Context, tenant tenancy.ID, by By, user int64, role *tenancy.Role) error {
	type change struct {
		Email, Before *string
		Outcome       string
	}
	sql, args := `select * from change_member($3, $1, $2)`, []any{user, role, by.Token.hash()}
	if by.Token == "" {
		sql, args = `select * from set_member($1, $2)`, args[:2]
	}
	var done []change
	err := s.db.Update(ctx, tenant, func(q *pgx.Batch) {
		tenancy.QueueRows(q, &done, sql, args...)
	}, func(q *pgx.Batch) error {
		switch done[0].Outcome {
		case "refused":
			return ErrEnded
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
		tenancy.QueueAudit(q, tenant, by.Actor, entry)
		return nil
	})
	if err != nil {
		return fmt.Errorf("change member %d: %w", user, err)
	}
	return nil
}
