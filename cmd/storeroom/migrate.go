package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/urfave/cli/v3"

	"github.com/storeroom/storeroom/migrations"
)

func (c console) migrateCommand() *cli.Command {
	return &cli.Command{
		Name:  "migrate",
		Usage: "apply the pending migrations of the database schema",
		Description: describe("storeroom migrate --print-roles > roles.sql",
			"With --print-roles it only prints the SQL that creates the roles and the database, for an administrator.",
			"The SQL creates what is missing and changes no password, so it can run again after an upgrade.",
			"With --print-cluster it only prints the SQL that connects the nodes of a Citus cluster. Then run it without flags,",
			"which distributes the tables.",
		),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "print-roles", Usage: "print the SQL that creates the roles and the database, and exit"},
			&cli.StringSliceFlag{Name: "print-cluster", Usage: "print the SQL that connects these nodes of a Citus cluster, and exit: " +
				"HOST:PORT of the coordinator and of the workers, separated by commas"},
			&cli.IntFlag{Name: "shards", Value: migrations.DefaultShards, Config: decimal, Usage: "number of shard groups, with --print-cluster"},
			&cli.StringFlag{Name: "database", Value: "storeroom", Usage: "name of the database, with --print-roles"},
			jsonFlag(),
		},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			roles, cluster := cmd.Bool("print-roles"), cmd.IsSet("print-cluster")
			switch {
			case roles && cluster:
				return errors.New("set either --print-roles or --print-cluster")
			case cmd.IsSet("database") && !roles:
				return errors.New("--database can be used only with --print-roles")
			case cmd.IsSet("shards") && !cluster:
				return errors.New("--shards can be used only with --print-cluster")
			case roles:
				return printRoles(c.stdout, cmd.String("database"))
			case cluster:
				return printCluster(c.stdout, cmd.StringSlice("print-cluster"), cmd.Int("shards"))
			}
			return c.migrate(ctx, cmd)
		},
	}
}

func (c console) migrate(ctx context.Context, cmd *cli.Command) error {
	cfg, err := c.config("DATABASE_ADMIN_URL")
	if err != nil {
		return err
	}
	applied, err := c.applyMigrations(ctx, cfg.DatabaseAdminURL)
	if err != nil {
		return err
	}
	result := struct {
		Version int      `json:"version"`
		Applied []string `json:"applied"`
	}{migrations.Latest(), append([]string{}, applied...)}
	return c.print(cmd, result, func(w io.Writer) {
		for _, name := range result.Applied {
			fmt.Fprintln(w, "applied", name)
		}
		fmt.Fprintf(w, "the schema is at version %d\n", result.Version)
	})
}

// applyMigrations applies the migrations and checks the result as serve does. It uses its own connection, because
// migrations may exceed the statement timeout of the pool.
func (c console) applyMigrations(ctx context.Context, url string) ([]string, error) {
	conn, err := connect(ctx, "DATABASE_ADMIN_URL", url)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	if err := checkMigrator(ctx, conn); err != nil {
		return nil, err
	}
	applied, err := migrations.Apply(ctx, conn)
	if err != nil {
		return applied, err
	}
	problems, err := migrations.Lint(ctx, conn)
	if err != nil {
		return applied, err
	}
	for _, p := range problems {
		if p.Warning {
			fmt.Fprintln(c.stderr, "warning:", p)
		}
	}
	return applied, problems.Err("the schema does not keep tenants apart")
}

// connect opens a connection. Its error names the variable that holds the URL.
func connect(ctx context.Context, variable, url string) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", variable, err)
	}
	return conn, nil
}

// printRoles writes a script for psql with new passwords.
func printRoles(w io.Writer, database string) error {
	if database == "" {
		return errors.New("--database must not be empty")
	}
	migrator, runtime := rand.Text(), rand.Text()
	_, err := fmt.Fprintf(w, `-- The roles and the database of Storeroom. Run this script with psql, as a role that may
-- create roles and databases. Set the two URLs at the end, then run: storeroom migrate
%s
-- Existing roles keep their passwords. For new roles, replace HOST by the host name of the server:
-- DATABASE_ADMIN_URL=postgres://storeroom_migrator:%[2]s@HOST:5432/%[4]s
-- DATABASE_URL=postgres://storeroom_runtime:%[3]s@HOST:5432/%[4]s
`, migrations.Script(database, migrator, runtime), migrator, runtime, database)
	return err
}

// printCluster writes a script for psql that connects nodes.
func printCluster(w io.Writer, nodes []string, shards int) error {
	if len(nodes) < 2 {
		return fmt.Errorf("--print-cluster: expected HOST:PORT of the coordinator and of at least one worker")
	}
	for i, node := range nodes {
		nodes[i] = strings.TrimSpace(node)
		host, port, err := net.SplitHostPort(nodes[i])
		if number, portErr := strconv.ParseUint(port, 10, 16); err != nil || host == "" || portErr != nil || number == 0 {
			return fmt.Errorf("--print-cluster: expected HOST:PORT, not %q", node)
		}
	}
	if shards < 1 {
		return errors.New("--shards must be at least 1")
	}
	_, onCoordinator, err := migrations.JoinStatements(nodes[0], nodes[1:], shards)
	if err != nil {
		return fmt.Errorf("--print-cluster: %w", err)
	}
	_, err = fmt.Fprintf(w, `-- Connects the nodes of a cluster. Run this script once, with psql as the superuser in the database of the coordinator,
-- after "create extension citus" in that of each worker. Then run: storeroom migrate
\set ON_ERROR_STOP on
%s;
`, strings.Join(onCoordinator, ";\n"))
	return err
}
