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

	"github.com/urfave/cli/v3"

	"github.com/storeroom/storeroom/cmd/storeroom/config"
	"github.com/storeroom/storeroom/tenancy"
)

// connectTimeout bounds how long a command waits for PostgreSQL to accept its connection.
const connectTimeout = 15 * time.Second

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

// errRefused is the outcome of an import that loaded what it could.
type errRefused int

func (e errRefused) Error() string { return fmt.Sprintf("%d rows were refused", int(e)) }

// exitCode prints an error as one sentence and turns it into the exit code.
func (c console) exitCode(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(c.stderr, "storeroom:", explain(err))
	if _, ok := errors.AsType[errRefused](err); ok {
		return 2
	}
	return 1
}

// flagOf names the flag by which a field of the domain is given, where it is not
// called the same.
var flagOf = map[string]string{"permissions": "--scopes", "password": "the password"}

// explain names faults by the flags that hold them.
func explain(err error) string {
	invalid, ok := errors.AsType[tenancy.InvalidError](err)
	if !ok {
		return err.Error()
	}
	var faults []string
	for _, field := range slices.Sorted(maps.Keys(invalid)) {
		flag := flagOf[field]
		if flag == "" {
			flag = "--" + field
		}
		faults = append(faults, flag+" "+strings.Join(invalid[field], ", "))
	}
	return strings.Join(faults, "; ")
}

// quietUsage lets a wrong command line end in its one sentence, without the whole
// help before it.
func quietUsage(cmd *cli.Command) {
	cmd.OnUsageError = func(_ context.Context, _ *cli.Command, err error, _ bool) error { return err }
	for _, sub := range cmd.Commands {
		quietUsage(sub)
	}
}

// checkArguments refuses what no command and no argument of one is.
func checkArguments(_ context.Context, cmd *cli.Command) error {
	first := cmd.Args().First()
	switch {
	case first == "" || len(cmd.Commands) == 0 && cmd.ArgsUsage != "":
		return nil
	case len(cmd.Commands) > 0:
		return fmt.Errorf("unknown command %q: see %s --help", first, cmd.FullName())
	default:
		return fmt.Errorf("unexpected argument %q: see %s --help", first, cmd.FullName())
	}
}

// require names every flag that is missing, at once.
func require(cmd *cli.Command, flags ...string) error {
	var missing []string
	for _, flag := range flags {
		if !cmd.IsSet(flag) {
			missing = append(missing, "--"+flag)
		}
	}
	switch len(missing) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%s is required", missing[0])
	default:
		return fmt.Errorf("%s are required", strings.Join(missing, ", "))
	}
}

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print JSON, for scripts"}
}

func stringFlag(name, usage string) cli.Flag {
	return &cli.StringFlag{Name: name, Usage: usage}
}

// answer prints value as JSON if that was asked for, else what people print. Cells
// that people separates by tabs become columns.
func (c console) print(cmd *cli.Command, value any, people func(io.Writer)) error {
	if cmd.Bool("json") {
		encoder := json.NewEncoder(c.stdout)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(value)
	}
	table := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	people(table)
	return table.Flush()
}

// date is a time as people read it; `-` where there is none.
func date(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04 UTC")
}

// openAdmin opens the migrator's connections, for the operator's commands.
func (c console) openAdmin(ctx context.Context, needs ...string) (*tenancy.DB, config.Config, error) {
	cfg, err := c.config(append(needs, "DATABASE_ADMIN_URL")...)
	if err != nil {
		return nil, cfg, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	db, err := tenancy.Open(ctx, cfg.DatabaseAdminURL)
	if err != nil {
		return nil, cfg, fmt.Errorf("DATABASE_ADMIN_URL: %w", err)
	}
	return db, cfg, nil
}

// findTenant looks a tenant up for a command that has a flag for its slug.
func findTenant(ctx context.Context, db *tenancy.DB, flag, slug string) (tenancy.Tenant, error) {
	t, err := tenancy.TenantBySlug(ctx, db, slug)
	return t, noTenant(err, flag, slug)
}

// withTenant opens what the commands about one tenant's rows need, and finds the
// tenant.
func (c console) withTenant(ctx context.Context, cmd *cli.Command, f func(*tenancy.DB, tenancy.Tenant, config.Config) error, flags ...string) error {
	if err := require(cmd, append([]string{"tenant"}, flags...)...); err != nil {
		return err
	}
	db, cfg, err := c.openAdmin(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	tenant, err := findTenant(ctx, db, "tenant", cmd.String("tenant"))
	if err != nil {
		return err
	}
	return f(db, tenant, cfg)
}

// noTenant says which flag names a tenant that there is not.
func noTenant(err error, flag, slug string) error {
	if errors.Is(err, tenancy.ErrNotFound) {
		return fmt.Errorf("--%s: there is no tenant %q", flag, slug)
	}
	return err
}
