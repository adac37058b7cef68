package migrations

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// unknown is the checksum of files that were applied by a program that stored none.
const unknown = "unknown"

// LastWithoutChecksum is the last file that programs without checksums applied.
const LastWithoutChecksum = 48

// objectsTxt has one line for each table or function that a file made, changed or dropped: the version, its name, and
// its hash or "-". It ends with LastWithoutChecksum, and never changes.
//
//go:embed objects.txt
var objectsTxt string

// ErrNewer reports that a newer program has migrated the database. The previous release can serve on it.
var ErrNewer = errors.New("is newer than this program")

// appliedFile is a row of schema_migrations.
type appliedFile struct {
	Version        int
	Name, Checksum string
	Functions      string // "" if none were applied after the file
}

// checkState returns the migrations that the database lacks, and the functions, or nil if it has them. It changes
// nothing. It returns an error that wraps ErrNewer if the database has more migrations or newer functions, and an error
// that names the file if it was migrated with other files.
func checkState(
	ctx context.Context, conn *pgx.Conn, all []Migration, functions *Functions, distributed bool,
) (pending []Migration, missing *Functions, err error) {
	applied, err := readApplied(ctx, conn)
	if err != nil {
		return nil, nil, err
	}
	for i, row := range applied[:min(len(applied), len(all))] {
		if err := row.check(all[i]); err != nil {
			return nil, nil, unknownState(err)
		}
	}
	if len(applied) > len(all) {
		newest := applied[len(applied)-1]
		return nil, nil, fmt.Errorf("the schema is at version %d (%s), which %w: this program has the files up to %d. %s",
			newest.Version, newest.Name, ErrNewer, len(all), useNewer)
	}
	if functions != nil {
		if missing, err = functions.missing(applied, len(all)); err != nil {
			return nil, nil, err
		}
	}
	// A cluster has other functions than the files, and this release does not know those of earlier ones.
	if last := len(applied); last > 0 && applied[last-1].Checksum == unknown && !distributed {
		if err := checkObjects(ctx, conn, all, last); err != nil {
			return nil, nil, unknownState(err)
		}
	}
	return all[len(applied):], missing, nil
}

const useNewer = "Nothing was changed. The previous release can serve on this schema; " +
	"to migrate, use the program that migrated it, or a newer one"

func unknownState(err error) error {
	return fmt.Errorf("the database is in a state that no release leaves: %w. Nothing was changed. "+
		`See "A schema that no release has" in section 8 of the handbook (deploy/README.md)`, err)
}

// readApplied returns the rows of schema_migrations in their order. The table may have fewer columns, or not exist.
func readApplied(ctx context.Context, conn *pgx.Conn) ([]appliedFile, error) {
	var exists bool
	err := conn.QueryRow(ctx, `select to_regclass('public.schema_migrations') is not null`).Scan(&exists)
	if err != nil {
		return nil, fmt.Errorf("look for schema_migrations: %w", err)
	}
	if !exists {
		return nil, nil
	}
	rows, err := conn.Query(ctx, `
		select (r ->> 'version')::bigint as version,
		       coalesce(r ->> 'name', '') as name,
		       coalesce(r ->> 'checksum', $1) as checksum,
		       coalesce(r ->> 'functions', '') as functions
		  from public.schema_migrations m
		 cross join lateral to_jsonb(m) r
		 order by 1`, unknown)
	if err != nil {
		return nil, fmt.Errorf("read schema_migrations: %w", err)
	}
	applied, err := pgx.CollectRows(rows, pgx.RowToStructByName[appliedFile])
	if err != nil {
		return nil, fmt.Errorf("read schema_migrations: %w", err)
	}
	return applied, nil
}

// check compares the row with the migration that has its place.
func (a appliedFile) check(m Migration) error {
	switch {
	case a.Version != m.Version:
		return fmt.Errorf("schema_migrations lacks %s.sql; after version %d it has %d", m.Name, m.Version-1, a.Version)
	case a.Name != m.Name:
		return fmt.Errorf("version %d was applied from a file %s.sql, and this program has %s.sql", a.Version, a.Name, m.Name)
	case a.Checksum == unknown && a.Version > LastWithoutChecksum:
		return fmt.Errorf("%s.sql was applied by a program that stored no checksum", m.Name)
	case a.Checksum != unknown && a.Checksum != m.Checksum():
		return fmt.Errorf("%s.sql was applied with another text (checksum %.12s…) than this program has (%.12s…)",
			m.Name, a.Checksum, m.Checksum())
	}
	return nil
}

// object is what a file made of a table or a function.
type object struct {
	version int    // the file that made it so
	hash    string // of columns or source; "-" if the file dropped it
}

// objectsAt returns the tables and functions of a version by name.
func objectsAt(version int) map[string]object {
	objects := map[string]object{}
	for line := range strings.Lines(objectsTxt) {
		number, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		at, err := strconv.Atoi(number)
		space := strings.LastIndex(rest, " ")
		if err != nil || space < 0 {
			continue // a comment
		}
		if at <= version {
			objects[rest[:space]] = object{at, rest[space+1:]}
		}
	}
	return objects
}

// checkObjects compares the tables and functions of the database with those of a version, because its files have no
// checksums.
func checkObjects(ctx context.Context, conn *pgx.Conn, all []Migration, version int) error {
	found, err := readObjects(ctx, conn, all)
	if err != nil {
		return err
	}
	var problems []string
	expected := objectsAt(version)
	for name, o := range expected {
		if hash := found[name]; hash != o.hash && (hash != "" || o.hash != "-") {
			problems = append(problems, fmt.Sprintf("%s is not as %s.sql leaves it", name, all[o.version-1].Name))
		}
	}
	for name := range found {
		if _, exists := expected[name]; !exists {
			problems = append(problems, fmt.Sprintf("%s is not in the files up to %s.sql", name, all[version-1].Name))
		}
	}
	if len(problems) == 0 {
		return nil
	}
	slices.Sort(problems)
	return errors.New(strings.Join(problems[:min(5, len(problems))], "; "))
}

var createdName = regexp.MustCompile(`(?mi)^\s*create (?:or replace )?(?:table|function) (?:public\.)?(\w+)`)

// readObjects returns the hashes of the tables and functions whose names are in the files. Others belong to the
// operator. The source of a function is as the file has it, in every version of PostgreSQL.
func readObjects(ctx context.Context, conn *pgx.Conn, all []Migration) (map[string]string, error) {
	var names []string
	for _, m := range all {
		for _, match := range createdName.FindAllStringSubmatch(m.SQL, -1) {
			names = append(names, match[1])
		}
	}
	rows, err := conn.Query(ctx, `
		select name, left(encode(sha256(convert_to(content, 'UTF8')), 'hex'), 16) as hash
		  from (
		       select format('function %s(%s)', p.proname, oidvectortypes(p.proargtypes)) as name,
		              concat_ws(E'\n', p.prosecdef, p.prosrc) as content
		         from pg_proc p
		        where p.pronamespace = 'public'::regnamespace and p.prokind = 'f' and p.proname = any($1)
		        union all
		       select 'table ' || c.relname,
		              string_agg(concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull),
		                         E'\n' order by a.attname)
		         from pg_class c
		         join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
		        where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and c.relname = any($1)
		        group by c.relname
		       ) o`, names)
	if err != nil {
		return nil, fmt.Errorf("read the tables and functions: %w", err)
	}
	found := map[string]string{}
	var name, hash string
	if _, err := pgx.ForEachRow(rows, []any{&name, &hash}, func() error {
		found[name] = hash
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read the tables and functions: %w", err)
	}
	return found, nil
}
