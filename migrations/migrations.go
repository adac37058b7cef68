// Package migrations has the schema as numbered SQL files and the folder functions, and applies and checks it.
// schema.sql is the result of all files.
//
// Apply runs each missing file in one transaction, as the owner of the tables, under an
// advisory lock and without a statement timeout. row_security is off: an update that a policy would filter fails
// instead of changing no row. Then it replaces all functions and the triggers that differ, in one transaction. Before
// that, it compares the names and the checksums in schema_migrations with the files, and refuses a database that was
// migrated with other files or has newer functions. Lint finds parts of the schema that could show a tenant the
// rows of another; the server does not start while there are any.
//
// A numbered file never changes after it is released, and migrations cannot be reverted. Old and
// new programs run at the same time during a rollout, so a file only adds what the new
// program needs; a later release removes what no program uses. The CHANGELOG's upgrade
// notes name the exceptions.
package migrations

import (
	"context"
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed [0-9]*.sql
var files embed.FS

// lockID is the advisory lock that Apply holds.
const lockID = 0x53544f5245 // "STORE"

// Migration is a numbered file.
type Migration struct {
	Version int
	Name    string
	SQL     string
}

// All returns the migrations in their order. It panics if a number is missing.
func All() []Migration {
	names := fileNames()
	all := make([]Migration, 0, len(names))
	for _, name := range names {
		number, _, _ := strings.Cut(name, "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != len(all)+1 {
			panic("migrations: " + name + " is not number " + strconv.Itoa(len(all)+1))
		}
		all = append(all, Migration{version, strings.TrimSuffix(name, ".sql"), readText(files, name)})
	}
	return all
}

// Latest returns the version of the schema that this program needs.
func Latest() int { return len(fileNames()) }

// fileNames returns the names of the files of all migrations in their order.
func fileNames() []string {
	names, err := fs.Glob(files, "[0-9]*.sql")
	if err != nil {
		panic(err) // the pattern is valid
	}
	return names
}

// Checksum returns the SHA-256 of the file, which schema_migrations stores.
func (m Migration) Checksum() string { return fmt.Sprintf("%x", sha256.Sum256([]byte(m.SQL))) }

// Apply brings the database of conn to the latest version, and returns the names of the migrations
// that it ran, and "functions" if it replaced functions and triggers. Then it distributes the tables if the nodes of a
// cluster are connected. The role of conn must be a member of storeroom_owner, such as
// storeroom_migrator. Concurrent calls wait for each other.
//
// Before it changes anything, Apply compares the database with the files and looks for the roles. The error wraps
// ErrNewer if a newer program has migrated the database.
func Apply(ctx context.Context, conn *pgx.Conn) (ran []string, err error) {
	return ApplyList(ctx, conn, All(), CurrentFunctions())
}

// ApplyList is Apply of other migrations and functions, for tests. Without functions it runs the migrations alone.
func ApplyList(ctx context.Context, conn *pgx.Conn, all []Migration, functions *Functions) (ran []string, err error) {
	if _, err := conn.Exec(ctx, `select pg_advisory_lock($1)`, lockID); err != nil {
		return nil, fmt.Errorf("lock the schema: %w", err)
	}
	defer conn.Exec(context.WithoutCancel(ctx), `select pg_advisory_unlock($1)`, lockID)
	distributed, err := Distributed(ctx, conn)
	if err != nil {
		return nil, err
	}
	pending, functions, err := checkState(ctx, conn, all, functions, distributed)
	if err != nil {
		return nil, err
	}
	if len(pending) > 0 || functions != nil {
		if err := checkRoles(ctx, conn); err != nil {
			return nil, err
		}
	}
	for _, script := range []string{makeTable, addChecksums} {
		if err := inTx(ctx, conn, distributed, func(run runScript) error { return run(script) }); err != nil {
			return nil, fmt.Errorf("prepare the schema: %w", err)
		}
	}
	for i, m := range pending {
		if i > 0 && distributed { // the next file can fill a table of this one on all nodes
			if err := Distribute(ctx, conn); err != nil {
				return ran, err
			}
		}
		if err := inTx(ctx, conn, distributed, func(run runScript) error {
			if err := run(m.SQL + m.record()); err != nil {
				return err
			}
			return m.lint(ctx, conn)
		}); err != nil {
			return ran, fmt.Errorf("migration %s: %w", m.Name, err)
		}
		ran = append(ran, m.Name)
	}
	if functions != nil {
		if err := functions.apply(ctx, conn, distributed); err != nil {
			return ran, err
		}
		ran = append(ran, "functions")
	}
	return ran, distributeJoined(ctx, conn)
}

// makeTable creates what the previous release creates too, in the same words: its migrate runs it on the new schema.
var makeTable = `create table if not exists schema_migrations (
		version    integer primary key,
		name       text not null,
		applied_at timestamptz not null default now()
	);
	comment on table schema_migrations is 'Migrations that ran. The runtime role reads the last one with schema_version.';
	` + readText(functionFiles, "functions/schema_version.sql")

// addChecksums adds the column for checksums once. Instances read the table every second, so the lock does not wait for
// long behind a backup, but tries again.
const addChecksums = `do $$
begin
    if exists (select from pg_attribute where attrelid = 'schema_migrations'::regclass and attname = 'checksum') then
        return;
    end if;
    perform set_config('lock_timeout', '500ms', true);
    for retries in reverse 60..0 loop
        begin
            lock table schema_migrations in access exclusive mode;
            exit;
        exception when lock_not_available or deadlock_detected then
            if retries = 0 then
                raise;
            end if;
            perform pg_sleep(1);
        end;
    end loop;
    alter table schema_migrations add column checksum text not null default '` + unknown + `';
    comment on column schema_migrations.checksum is
        'SHA-256 of the file, or "unknown" if a program that stored none applied it.';
end $$`

// record is the statement that stores that the migration ran.
func (m Migration) record() string {
	return fmt.Sprintf("\n;insert into schema_migrations (version, name, checksum) values (%d, '%s', '%s')",
		m.Version, m.Name, m.Checksum())
}

// lint checks the schema in the transaction of the last migration, so that a schema which does not keep tenants apart
// is never committed. The check knows only the functions of the latest schema.
func (m Migration) lint(ctx context.Context, conn *pgx.Conn) error {
	if m.Version != Latest() {
		return nil
	}
	return lintBeforeCommit(ctx, conn)
}

func lintBeforeCommit(ctx context.Context, conn *pgx.Conn) error {
	problems, err := lint(ctx, conn, false)
	if err != nil {
		return err
	}
	return problems.Err("it was not applied, because the schema would not keep tenants apart")
}

// Version returns the version of the schema: the number of the last migration that ran.
func Version(ctx context.Context, conn *pgx.Conn) (int, error) {
	var version int
	// Outside a transaction, a pooler can send the parts of a query to different sessions, so this one has one part.
	if err := conn.QueryRow(ctx, `select schema_version()`, pgx.QueryExecModeExec).Scan(&version); err != nil {
		return 0, fmt.Errorf("read the schema version (did you run `storeroom migrate`?): %w", err)
	}
	return version, nil
}

// Check returns an error that names the command if the schema is older than this program needs. It reads what the
// runtime role may read.
func Check(ctx context.Context, conn *pgx.Conn) error {
	version, functions, err := versions(ctx, conn)
	if err != nil {
		return err
	}
	if needed := Latest(); version < needed {
		return fmt.Errorf("the schema is at version %d and this program needs %d: run `storeroom migrate`", version, needed)
	}
	if needed := CurrentFunctions().Version; version == Latest() && functions < needed {
		return fmt.Errorf("the functions of the schema are at version %d and this program needs %d: run `storeroom migrate`",
			functions, needed)
	}
	return nil
}

// versions returns the versions of the schema and of its functions, which are 0 while migrate has not replaced them.
func versions(ctx context.Context, conn *pgx.Conn) (version, functions int, err error) {
	if version, err = Version(ctx, conn); err != nil {
		return 0, 0, err
	}
	var exists bool
	err = conn.QueryRow(ctx, `select to_regprocedure('public.schema_functions()') is not null`).Scan(&exists)
	var applied string
	if err == nil && exists {
		err = conn.QueryRow(ctx, `select schema_functions()`).Scan(&applied)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("read the version of the functions: %w", err)
	}
	return version, functionsVersion(applied), nil
}

const prologue = "set local role storeroom_owner; set local row_security = off; set local search_path = public; " +
	"set local statement_timeout = 0;\n"

// runScript runs statements in a transaction.
type runScript func(script string) error

// inTx runs f in one transaction, as the owner of the tables. If the nodes of a cluster are connected and the tables
// are not distributed yet, Citus must not repeat the statements on the workers: Distribute creates there what is
// needed. Plain PostgreSQL ignores the setting.
func inTx(ctx context.Context, conn *pgx.Conn, distributed bool, f func(run runScript) error) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		run := func(script string) error {
			_, err := tx.Conn().PgConn().Exec(ctx, script).ReadAll()
			return err
		}
		begin := prologue + "set local citus.enable_ddl_propagation = off"
		if distributed {
			send := run
			run = func(script string) error { return oneByOne(script, send) }
			begin = citusSettings + prologue
		}
		if err := run(begin); err != nil {
			return err
		}
		return f(run)
	})
}
