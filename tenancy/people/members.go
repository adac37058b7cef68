package people

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// Member is a person with a role in a tenant.
type Member struct {
	UserID    int64
	Email     string
	Role      Role
	CreatedAt time.Time
}

// CreateMember creates an account and makes it a member of the tenant. It needs the migrator's connection. It returns
// an InvalidError, or tenancy.ErrConflict if the e-mail address has an account, which joins only with its password (see
// Invite): an owner could have created it for an address of another person.
func (s *Store) CreateMember(
	ctx context.Context, tenant tenancy.ID, email string, role Role, password string,
) (Member, error) {
	m := Member{Email: strings.ToLower(strings.TrimSpace(email)), Role: role}
	if err := validateMember(m, password); err != nil {
		return m, err
	}
	proofs, err := s.proofs(ctx, m.Email, password)
	if err != nil {
		return m, err
	}
	err = s.db.Tx(ctx, tenant, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `
			insert into users (email, password_parameters, password_verifier)
			values ($1, password_parameters($1), sha256($2))
			returning id`, m.Email, proofs[0]).Scan(&m.UserID)
		if err != nil {
			return err
		}
		err = tx.QueryRow(ctx, `
			insert into memberships (tenant_id, user_id, role)
			values ($1, $2, $3)
			returning created_at`, tenant, m.UserID, m.Role).Scan(&m.CreatedAt)
		if err != nil {
			return err
		}
		entry := tenants.Entry{Action: "member.create", Target: m.Email, Details: map[string]any{"role": m.Role}}
		return tenants.Audit(ctx, tx, tenant, tenancy.Operator, entry)
	})
	if db.SQLState(err) == "23505" {
		err = tenancy.ErrConflict
	}
	return m, tenancy.Wrap(err, "create member")
}

func validateMember(m Member, password string) error {
	invalid := tenancy.InvalidError{}
	if problem := CheckEmail(m.Email); problem != "" {
		invalid.Add("email", "%s", problem)
	}
	if !m.Role.Valid() {
		invalid.Add("role", roleProblem)
	}
	if problem := CheckPassword(password); problem != "" {
		invalid.Add("password", "%s", problem)
	}
	return invalid.Err()
}

// Members returns the members of a tenant by e-mail address, to a member or the
// operator. Any other actor gets no rows.
func (s *Store) Members(ctx context.Context, tenant tenancy.ID, by tenancy.Actor) ([]Member, error) {
	sql, args := `select * from tenant_members($1)`, []any{by.Session}
	if by.Session == nil {
		sql, args = `
			select m.user_id, u.email, m.role, m.created_at
			  from memberships m
			  join users u on u.id = m.user_id
			 where m.tenant_id = $1
			 order by u.email`, []any{tenant}
	}
	found, err := db.All[Member](ctx, s.db, tenant, sql, args...)
	return found, tenancy.Wrap(err, "list members")
}

// ChangeRole gives a member another role and ends their sessions. It returns
// tenancy.ErrNotFound, ErrLastOwner, an InvalidError (role), or tenancy.ErrEnded
// if the actor is no longer an owner.
func (s *Store) ChangeRole(ctx context.Context, tenant tenancy.ID, by tenancy.Actor, user int64, role Role) error {
	if !role.Valid() {
		return tenancy.InvalidError{"role": {roleProblem}}
	}
	return s.changeMember(ctx, tenant, by, user, &role, false)
}

// Remove removes a member from the tenant and ends their sessions. The webhooks that they made are paused in the same
// transaction. Remove returns tenancy.ErrNotFound, ErrLastOwner, or tenancy.ErrEnded if the actor is no longer an owner.
func (s *Store) Remove(ctx context.Context, tenant tenancy.ID, by tenancy.Actor, user int64) error {
	return s.changeMember(ctx, tenant, by, user, nil, false)
}

// RemoveAndKeep is Remove, but the webhooks of the member go on, and the actor becomes their maker.
func (s *Store) RemoveAndKeep(ctx context.Context, tenant tenancy.ID, by tenancy.Actor, user int64) error {
	return s.changeMember(ctx, tenant, by, user, nil, true)
}

func (s *Store) changeMember(
	ctx context.Context, tenant tenancy.ID, by tenancy.Actor, user int64, role *Role, keepWebhooks bool,
) error {
	type change struct {
		Email, Before *string
		Outcome       string
	}
	sql, args := `select * from change_member($4, $1, $2, $3)`, []any{user, role, keepWebhooks, by.Session}
	if by.Session == nil {
		sql, args = `select * from set_member($1, $2, null, $3)`, args[:3]
	}
	var changes []change
	err := s.db.Update(ctx, tenant, func(batch *pgx.Batch) {
		db.QueueRows(batch, &changes, sql, args...)
	}, func(batch *pgx.Batch) error {
		switch changes[0].Outcome {
		case "refused":
			return tenancy.ErrEnded
		case "absent":
			return tenancy.ErrNotFound
		case "last_owner":
			return ErrLastOwner
		case "same":
			return nil
		}
		email, before := *changes[0].Email, *changes[0].Before
		entry := tenants.Entry{Action: "member.remove", Target: email, Details: map[string]any{"role": before}}
		if role != nil {
			entry.Action, entry.Details = "member.role", map[string]any{"from": before, "to": *role}
		}
		if keepWebhooks {
			entry.Details["webhooks"] = "kept"
		}
		tenants.QueueAudit(batch, tenant, by, entry)
		return nil
	})
	return tenancy.Wrap(err, "change member %d", user)
}
