package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/urfave/cli/v3"

	"github.com/storeroom/storeroom/cmd/storeroom/config"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// connectTimeout bounds how long a command waits for PostgreSQL to accept its connection.
const connectTimeout = 15 * time.Second

// exitCode prints an error as one sentence and returns its exit code.
func (c console) exitCode(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(c.stderr, "storeroom:", errorText(err))
	if coder, ok := errors.AsType[cli.ExitCoder](err); ok && coder.ExitCode() == 2 {
		return 2
	}
	return 1 // also for 3, of the library, for the help of an unknown command
}

// flagOf maps the fields of validation errors to flags with another name.
var flagOf = map[string]string{"permissions": "--scopes", "password": "the password"}

// errorText returns the text of an error. It names the flags instead of the fields of a validation error.
func errorText(err error) string {
	invalid, ok := errors.AsType[tenancy.InvalidError](err)
	if !ok {
		return err.Error()
	}
	var parts []string
	for _, field := range slices.Sorted(maps.Keys(invalid)) {
		flag := flagOf[field]
		if flag == "" {
			flag = "--" + field
		}
		parts = append(parts, flag+" "+strings.Join(invalid[field], ", "))
	}
	return strings.Join(parts, "; ")
}

// print writes value as JSON if --json is set. Otherwise it calls text, and aligns cells that are separated by tabs.
func (c console) print(cmd *cli.Command, value any, text func(io.Writer)) error {
	if cmd.Bool("json") {
		encoder := json.NewEncoder(c.stdout)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(value)
	}
	table := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	text(table)
	return table.Flush()
}

// counted returns the number with the singular or the plural form.
func counted(n int64, singular, plural string) string {
	if n == 1 {
		return "1 " + singular
	}
	return fmt.Sprintf("%d %s", n, plural)
}

// date formats a time for a table.
func date(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04 UTC")
}

// inUTC converts a time for JSON.
func inUTC(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	utc := t.UTC()
	return &utc
}

// variables returns the environment, completed by .local/env.
func (c console) variables() (map[string]string, error) {
	file, err := config.ReadFile(c.dir)
	if err != nil {
		return nil, err
	}
	return config.Merge(file, config.Environment(c.environ)), nil
}

// config returns the configuration. Its error names every problem, including required variables that are missing.
func (c console) config(required ...string) (config.Config, error) {
	variables, err := c.variables()
	if err != nil {
		return config.Config{}, err
	}
	return config.Parse(variables, required...)
}

// operation is a command of the operator that runs as the migrator.
type operation struct {
	console
	cmd    *cli.Command
	cfg    config.Config
	db     *db.DB
	tenant tenants.Tenant // of the flag --tenant, if it is set
}

// operatorCommand returns a command that connects as the migrator, finds the tenant of --tenant and calls run. It adds
// the flag --json.
func (c console) operatorCommand(
	name, usage string, run func(context.Context, operation) error, description string, flags ...cli.Flag,
) *cli.Command {
	action := func(ctx context.Context, cmd *cli.Command) error {
		cfg, err := c.config("DATABASE_ADMIN_URL")
		if err != nil {
			return err
		}
		db, err := openMigrator(ctx, cfg)
		if err != nil {
			return err
		}
		defer db.Close()
		o := operation{console: c, cmd: cmd, cfg: cfg, db: db}
		if cmd.IsSet("tenant") {
			slug := cmd.String("tenant")
			if o.tenant, err = tenants.BySlug(ctx, db, slug); err != nil {
				return schemaError(tenantError(err, "tenant", slug))
			}
		}
		return schemaError(run(ctx, o))
	}
	return &cli.Command{
		Name: name, Usage: usage, Description: description, Flags: append(flags, jsonFlag()), Action: action,
	}
}

// schemaError explains errors about tables, columns and functions that do not exist.
func schemaError(err error) error {
	if slices.Contains([]string{"42P01", "42703", "42883"}, db.SQLState(err)) {
		return fmt.Errorf("%w; if the schema is older than the program, run `storeroom migrate`", err)
	}
	return err
}

func openMigrator(ctx context.Context, cfg config.Config) (*db.DB, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	pool, err := db.Open(ctx, cfg.DatabaseAdminURL)
	if err != nil {
		return nil, fmt.Errorf("DATABASE_ADMIN_URL: %w", err)
	}
	if err := pool.Conn(ctx, func(conn *pgx.Conn) error { return checkMigrator(ctx, conn) }); err != nil {
		pool.Close()
		return nil, err
	}
	return pool, nil
}

// checkMigrator refuses a role that cannot become the owner of the tables. The policies hide all rows from the runtime
// role, so commands would report that there are no tenants.
func checkMigrator(ctx context.Context, conn *pgx.Conn) error {
	var role string
	var exists, isMember bool
	err := conn.QueryRow(ctx, `
		select current_user,
		       count(*) > 0,
		       coalesce(bool_or(pg_has_role(oid, 'member')), false)
		  from pg_roles
		 where rolname = 'storeroom_owner'`).Scan(&role, &exists, &isMember)
	switch {
	case err != nil:
		return fmt.Errorf("DATABASE_ADMIN_URL: read the roles: %w", err)
	case !exists:
		return errors.New("DATABASE_ADMIN_URL: the server has no role storeroom_owner: " +
			"run the SQL of `storeroom migrate --print-roles` first")
	case !isMember:
		return fmt.Errorf("DATABASE_ADMIN_URL: the role %s cannot become storeroom_owner: use storeroom_migrator", role)
	}
	return nil
}

// print writes the result of the operation. See console.print.
func (o operation) print(value any, text func(io.Writer)) error {
	return o.console.print(o.cmd, value, text)
}

// tenantError replaces tenancy.ErrNotFound by an error that names the flag and the slug.
func tenantError(err error, flag, slug string) error {
	if errors.Is(err, tenancy.ErrNotFound) {
		return fmt.Errorf("--%s: tenant %q not found", flag, slug)
	}
	return err
}
