package migrations

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"
)

//go:embed lint/lint.sql
var lintSQL string

// A Fault is one way in which the schema or the roles let a tenant out of its
// bounds.
type Fault struct {
	Object string // table, index, function or role
	Fault  string // what is wrong, in a sentence
}

func (f Fault) String() string { return f.Object + ": " + f.Fault }

// Lint returns what is unsafe in the database of conn; nothing is good. Any role
// may run it: it reads PostgreSQL's catalog only.
func Lint(ctx context.Context, conn *pgx.Conn) ([]Fault, error) {
	rows, err := conn.Query(ctx, lintSQL)
	if err != nil {
		return nil, fmt.Errorf("lint the catalog: %w", err)
	}
	faults, err := pgx.CollectRows(rows, pgx.RowToStructByName[Fault])
	if err != nil {
		return nil, fmt.Errorf("lint the catalog: %w", err)
	}
	return faults, nil
}

// RuntimeRole returns what makes the role of conn unfit to serve: it must be held
// by the policies, so it may be neither superuser nor exempt nor an owner.
func RuntimeRole(ctx context.Context, conn *pgx.Conn) ([]Fault, error) {
	rows, err := conn.Query(ctx, `
		select rolname::text as object, fault
		  from pg_roles r
		 cross join lateral (values
		       (r.rolsuper, 'is a superuser: row-level security does not hold it'),
		       (r.rolbypassrls, 'has BYPASSRLS: row-level security does not hold it'),
		       (pg_has_role(r.oid, 'storeroom_owner', 'member'), 'is a member of storeroom_owner'),
		       (pg_has_role(r.oid, 'storeroom_search', 'member'), 'is a member of storeroom_search'),
		       (not pg_has_role(r.oid, 'storeroom_runtime', 'usage'), 'is not storeroom_runtime, nor a member of it'),
		       (exists (select from pg_class c where c.relowner = r.oid), 'owns tables')
		       ) v (bad, fault)
		 where r.rolname = current_user and bad`)
	if err != nil {
		return nil, fmt.Errorf("check the runtime role: %w", err)
	}
	faults, err := pgx.CollectRows(rows, pgx.RowToStructByName[Fault])
	if err != nil {
		return nil, fmt.Errorf("check the runtime role: %w", err)
	}
	return faults, nil
}
