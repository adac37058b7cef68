package migrations

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Roles returns the statements that create the roles and the database. A database administrator runs them for a new
// database, and again for a release that changes the roles: they create what is missing and change no password. create
// database fails if the database exists.
func Roles(database, migratorPassword, runtimePassword string) []string {
	return []string{
		role("storeroom_owner", "nologin"),  // owns the tables
		role("storeroom_search", "nologin"), // owns the function search_products
		// Through this role the owner can become storeroom_search, whose policy shows it the products of all tenants.
		// noinherit keeps that policy from applying to the owner and the migrator. With noinherit, the owner itself could
		// not create tables in the schema public of PostgreSQL 15.
		role("storeroom_search_noinherit", "nologin noinherit"),
		// The migrator changes the schema and runs the operator's commands.
		role("storeroom_migrator", "login password "+quoteLiteral(migratorPassword)),
		// The runtime role serves requests, owns nothing and is subject to policies.
		role("storeroom_runtime", "login password "+quoteLiteral(runtimePassword)),
		"grant storeroom_search to storeroom_search_noinherit",
		"grant storeroom_search_noinherit to storeroom_owner",
		"revoke storeroom_search from storeroom_owner", // an earlier release granted it
		"grant storeroom_owner to storeroom_migrator",
		// An administrator who is not a superuser needs it for create database.
		"grant storeroom_owner to current_user",
		"create database " + quoteIdentifier(database) + " owner storeroom_owner encoding 'UTF8' template template0",
		// By default PUBLIC may create temporary tables and functions.
		"revoke temporary on database " + quoteIdentifier(database) + " from public",
	}
}

// checkRoles returns an error that names every role, and every membership of a role, that the files need and the server
// lacks. Some files create what needs them, and would stop the migration half-way.
func checkRoles(ctx context.Context, conn *pgx.Conn) error {
	var problems []string
	err := conn.QueryRow(ctx, `
		with needed (role, member) as (values
		     ('storeroom_owner', null), ('storeroom_migrator', null), ('storeroom_runtime', null),
		     ('storeroom_search', 'storeroom_search_noinherit'), ('storeroom_search_noinherit', 'storeroom_owner'))
		select coalesce(array_agg(problem order by role), '{}')
		  from needed n
		 cross join lateral (
		       select case
		              when to_regrole(n.role) is null then 'there is no role ' || n.role
		              when to_regrole(n.member) is null then null -- reported itself
		              when not pg_has_role(n.member::regrole, n.role::regrole, 'member') then n.member || ' is not a member of ' || n.role
		              when n.member = 'storeroom_owner' and pg_has_role(n.member::regrole, to_regrole('storeroom_search'), 'usage')
		              then 'storeroom_owner inherits the privileges of storeroom_search'
		              end) p (problem)
		 where problem is not null`).Scan(&problems)
	if err != nil {
		return fmt.Errorf("read the roles: %w", err)
	}
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("the roles are not those of this release: %s. Nothing was changed. "+
		"An administrator must run the SQL that `storeroom migrate --print-roles` prints", strings.Join(problems, "; "))
}

// RevokeLargeObjects is a statement in the new database. A large object belongs to no
// tenant and is in no table. PUBLIC can create and write large objects by default, and only
// a superuser can revoke that: for another administrator the statement only prints warnings.
const RevokeLargeObjects = `revoke execute on function
    lo_creat(integer), lo_create(oid), lo_from_bytea(oid, bytea), lo_put(oid, bigint, bytea),
    lo_truncate(integer, integer), lo_truncate64(integer, bigint), lowrite(integer, bytea)
    from public`

// Script returns the statements of Roles and RevokeLargeObjects as a script for psql.
func Script(database, migratorPassword, runtimePassword string) string {
	return strings.Join(Roles(database, migratorPassword, runtimePassword), ";\n") + ";\n" +
		"\\connect " + quoteIdentifier(database) + "\n" + RevokeLargeObjects + ";\n"
}

// CreateDatabase creates the roles and the database if they do not exist, revokes the
// privileges on large objects and sets the passwords. It connects with a superuser's URL, and returns the URLs of the
// migrator and of the runtime role.
func CreateDatabase(
	ctx context.Context, superuserURL, database, migratorPassword, runtimePassword string,
) (migratorURL, runtimeURL string, err error) {
	u, err := url.Parse(superuserURL)
	if err != nil {
		return "", "", err
	}
	conn, err := pgx.Connect(ctx, superuserURL)
	if err != nil {
		return "", "", fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	const duplicateDatabase = "42P04"
	statements := append(Roles(database, migratorPassword, runtimePassword),
		"alter role storeroom_migrator password "+quoteLiteral(migratorPassword),
		"alter role storeroom_runtime password "+quoteLiteral(runtimePassword))
	for _, statement := range statements {
		_, err := conn.Exec(ctx, statement)
		if problem, ok := errors.AsType[*pgconn.PgError](err); ok && problem.Code == duplicateDatabase {
			continue
		}
		if err != nil {
			return "", "", fmt.Errorf("create the roles and the database: %w", err)
		}
	}
	u.Path = "/" + database
	if err := revokeLargeObjects(ctx, u.String()); err != nil {
		return "", "", err
	}
	u.User = url.UserPassword("storeroom_migrator", migratorPassword)
	migratorURL = u.String()
	u.User = url.UserPassword("storeroom_runtime", runtimePassword)
	return migratorURL, u.String(), nil
}

func revokeLargeObjects(ctx context.Context, databaseURL string) error {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return fmt.Errorf("connect to the new database: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, RevokeLargeObjects); err != nil {
		return fmt.Errorf("revoke the privileges on large objects: %w", err)
	}
	return nil
}

func role(name, options string) string {
	return fmt.Sprintf(`do $role$ begin
    if not exists (select from pg_roles where rolname = '%[1]s') then
        create role %[1]s nosuperuser nocreatedb nocreaterole nobypassrls %[2]s;
    end if;
end $role$`, name, options)
}

func quoteLiteral(s string) string    { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
func quoteIdentifier(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
