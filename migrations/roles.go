package migrations

import (
	"fmt"
	"strings"
)

// Roles returns the statements that a database administrator runs once for a
// database: the roles and the database itself. The roles are four because each may do one thing less:
//
//   - storeroom_owner owns the tables and cannot log in;
//   - storeroom_migrator logs in, changes the schema, runs the operator's commands;
//   - storeroom_runtime logs in, serves, owns nothing, is held by the policies;
//   - storeroom_search owns the one function that reads products across the
//     policy, and cannot log in.
//
// Running it again changes the passwords and nothing else, but for `create
// database`, which then fails.
func Roles(database, migratorPassword, runtimePassword string) []string {
	return []string{
		role("storeroom_owner", "nologin"),
		role("storeroom_search", "nologin"),
		role("storeroom_migrator", "login"),
		role("storeroom_runtime", "login"),
		"alter role storeroom_migrator password " + quoteLiteral(migratorPassword),
		"alter role storeroom_runtime password " + quoteLiteral(runtimePassword),
		"grant storeroom_search to storeroom_owner",
		"grant storeroom_owner to storeroom_migrator",
		// Without this an administrator who is no superuser could not give the
		// database away.
		"grant storeroom_owner to current_user",
		"create database " + quoteIdentifier(database) + " owner storeroom_owner encoding 'UTF8' template template0",
		// PUBLIC may make temporary tables and functions by default.
		"revoke temporary on database " + quoteIdentifier(database) + " from public",
	}
}

func role(name, login string) string {
	return fmt.Sprintf(`do $$ begin
    if not exists (select from pg_roles where rolname = '%[1]s') then
        create role %[1]s %[2]s nosuperuser nocreatedb nocreaterole nobypassrls;
    end if;
end $$`, name, login)
}

func quoteLiteral(s string) string    { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
func quoteIdentifier(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
