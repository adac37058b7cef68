package migrations

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed lint/lint.sql
var lintSQL string

// Problem is a part of the schema or a role that could show a tenant the rows of another, or
// slow its requests down.
type Problem struct {
	Object  string // the table, index, function or role
	Problem string // as a predicate, such as "can log in"
	// Warning means that only a superuser can correct it. Managed databases have no superuser
	// for their customers, so the program works nevertheless.
	Warning bool
}

func (p Problem) String() string { return p.Object + ": " + p.Problem }

// Problems are the results of a check.
type Problems []Problem

// Err returns an error that begins with a message and lists the problems without the
// warnings, or nil if there are none.
func (p Problems) Err(message string) error {
	var all []string
	for _, problem := range p {
		if !problem.Warning {
			all = append(all, problem.String())
		}
	}
	if len(all) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s", message, strings.Join(all, "; "))
}

// Lint returns the problems of the database of conn. It accepts only the security definer functions and the tables of
// the searching role that it has in a list, except in a schema newer than this program: the previous release must start
// again after a migration. The runtime role and the migrator may call it, because it reads only the version and
// PostgreSQL's catalog.
func Lint(ctx context.Context, conn *pgx.Conn) (Problems, error) {
	version, functions, err := versions(ctx, conn)
	if err != nil {
		return nil, err
	}
	return lint(ctx, conn, version > Latest() || functions > CurrentFunctions().Version)
}

// LintNode is Lint for a worker of a Citus cluster, which has no version: it has the schema of the coordinator.
func LintNode(ctx context.Context, conn *pgx.Conn) (Problems, error) { return lint(ctx, conn, false) }

func lint(ctx context.Context, conn *pgx.Conn, isNewer bool) (Problems, error) {
	problems, err := readProblems(ctx, conn, lintSQL, isNewer)
	if err != nil {
		return nil, fmt.Errorf("lint the catalog: %w", err)
	}
	return problems, nil
}

// RuntimeRole returns the reasons why the role of conn must not serve requests: policies
// do not restrict superusers, owners and roles with BYPASSRLS.
func RuntimeRole(ctx context.Context, conn *pgx.Conn) (Problems, error) {
	problems, err := readProblems(ctx, conn, `
		select rolname::text as object, problem, false as warning
		  from pg_roles r
		 cross join lateral (values
		       (r.rolsuper, 'is a superuser, and policies do not restrict superusers'),
		       (r.rolbypassrls, 'has BYPASSRLS, so policies do not restrict it'),
		       (pg_has_role(r.oid, 'storeroom_owner', 'member'), 'is a member of storeroom_owner'),
		       (pg_has_role(r.oid, 'storeroom_search', 'member'), 'is a member of storeroom_search'),
		       (not pg_has_role(r.oid, 'storeroom_runtime', 'usage'), 'is not storeroom_runtime or a member of it'),
		       (exists (select from pg_class c where c.relowner = r.oid), 'owns tables')
		       ) v (bad, problem)
		 where r.rolname = current_user and bad`)
	if err != nil {
		return nil, fmt.Errorf("check the runtime role: %w", err)
	}
	return problems, nil
}

func readProblems(ctx context.Context, conn *pgx.Conn, sql string, args ...any) (Problems, error) {
	rows, err := conn.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[Problem])
}
