package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/urfave/cli/v3"

	"github.com/storeroom/storeroom/migrations"
)

func (c console) migrateCommand() *cli.Command {
	return &cli.Command{
		Name:  "migrate",
		Usage: "bring the schema to the version that this program needs",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "print-roles", Usage: "print the SQL by which an administrator makes the roles and the database, and do nothing"},
			&cli.StringFlag{Name: "database", Value: "storeroom", Usage: "name of the database in that SQL"},
			jsonFlag(),
		},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if cmd.Bool("print-roles") {
				return printRoles(c.stdout, cmd.String("database"))
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
	ran, err := migrate(ctx, cfg.DatabaseAdminURL)
	if err != nil {
		return err
	}
	answer := struct {
		Version int      `json:"version"`
		Applied []string `json:"applied"`
	}{migrations.Latest(), []string{}}
	for _, m := range ran {
		answer.Applied = append(answer.Applied, m.Name)
	}
	return c.print(cmd, answer, func(w io.Writer) {
		for _, name := range answer.Applied {
			fmt.Fprintln(w, "applied", name)
		}
		fmt.Fprintf(w, "the schema is at version %d\n", answer.Version)
	})
}

// migrate runs what is missing, on a connection of its own: migrations may take
// longer than the statements of requests may.
func migrate(ctx context.Context, url string) ([]migrations.Migration, error) {
	conn, err := connect(ctx, "DATABASE_ADMIN_URL", url)
	if err != nil {
		return nil, err
	}
	defer disconnect(ctx, conn)
	return migrations.Apply(ctx, conn)
}

// connect opens one connection; variable says where its URL is from.
func connect(ctx context.Context, variable, url string) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", variable, err)
	}
	return conn, nil
}

// disconnect closes the connection, also if ctx is done.
func disconnect(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectTimeout)
	defer cancel()
	_ = conn.Close(ctx) // there is no unsaved data
}

// printRoles writes a script for psql, with fresh passwords.
func printRoles(w io.Writer, database string) error {
	migrator, runtime := rand.Text(), rand.Text()
	_, err := fmt.Fprintf(w, `-- The roles and the database of Storeroom. Run it once with psql, as a role that
-- may create both; set the two URLs at the end; then run: storeroom migrate
%s;

-- Replace HOST by the server's:
-- DATABASE_ADMIN_URL=postgres://storeroom_migrator:%[2]s@HOST:5432/%[4]s
-- DATABASE_URL=postgres://storeroom_runtime:%[3]s@HOST:5432/%[4]s
`, strings.Join(migrations.Roles(database, migrator, runtime), ";\n"), migrator, runtime, database)
	return err
}
