package migrations

import (
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed functions
var functionFiles embed.FS

// Functions are all functions and triggers of a release, which Apply replaces in one transaction after the numbered
// files, and those that it drops.
type Functions struct {
	// Version is larger after each change, so that an earlier program does not put its functions back.
	Version int

	files   map[string]string // statements by FUNCTION.sql and triggers/TABLE.TRIGGER.sql
	dropped string            // dropped.txt: a line for each trigger and function that has no file any more
}

// CurrentFunctions returns the functions of this program. version.txt has their version and checksum.
var CurrentFunctions = sync.OnceValue(func() *Functions {
	f := &Functions{
		Version: functionsVersion(readText(functionFiles, "functions/version.txt")),
		files:   map[string]string{},
		dropped: readText(functionFiles, "functions/dropped.txt"),
	}
	for _, pattern := range []string{"functions/*.sql", "functions/triggers/*.sql"} {
		names, err := fs.Glob(functionFiles, pattern)
		if err != nil {
			panic(err) // the patterns are valid
		}
		for _, name := range names {
			f.files[strings.TrimPrefix(name, "functions/")] = readText(functionFiles, name)
		}
	}
	return f
})

// With returns the next version of the functions, with other files, for tests.
func (f *Functions) With(files map[string]string) *Functions {
	changed := &Functions{f.Version + 1, maps.Clone(f.files), f.dropped}
	maps.Copy(changed.files, files)
	return changed
}

// readText returns a file with the ends of lines of Unix. A checkout on Windows can have others, which must change
// neither checksums nor functions.
func readText(files fs.FS, name string) string {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		panic(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// String returns the version and the checksum, which schema_migrations stores.
func (f *Functions) String() string {
	hash := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(f.files)) {
		fmt.Fprintln(hash, name, f.files[name])
	}
	fmt.Fprint(hash, f.dropped)
	return fmt.Sprintf("%d %x", f.Version, hash.Sum(nil))
}

// functionsVersion returns the version in what String returns, or 0.
func functionsVersion(text string) int {
	number, _, _ := strings.Cut(text, " ")
	version, _ := strconv.Atoi(number)
	return version
}

// missing returns the functions unless they were applied after the last of the files. Each later file can drop what has
// triggers.
func (f *Functions) missing(applied []appliedFile, files int) (*Functions, error) {
	for _, row := range applied {
		if found := functionsVersion(row.Functions); found > f.Version {
			return nil, fmt.Errorf("the functions of the schema are at version %d, which %w: this program has version %d. %s",
				found, ErrNewer, f.Version, useNewer)
		}
	}
	if len(applied) == files && applied[files-1].Functions == f.String() {
		return nil, nil
	}
	return f, nil
}

const (
	// functionTries is how often apply tries to get the locks of the tables: for a minute.
	functionTries = 40
	// functionSettings limit the wait for each lock, because requests that wait behind it fail after two seconds. To
	// check a function in SQL, PostgreSQL plans its queries under the policies.
	functionSettings = "set local lock_timeout = '500ms'; set local row_security = on"
)

// apply replaces the functions and the triggers that differ. To replace a trigger locks its table, so it does not wait
// for long behind a transaction that writes, but tries again.
func (f *Functions) apply(ctx context.Context, conn *pgx.Conn, distributed bool) error {
	for try := 1; ; try++ {
		err := inTx(ctx, conn, distributed, func(run runScript) error { return f.replace(ctx, conn, run) })
		problem, ok := errors.AsType[*pgconn.PgError](err)
		if !ok || problem.Code != "55P03" && problem.Code != "40P01" || try == functionTries {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return err
		}
	}
}

func (f *Functions) replace(ctx context.Context, conn *pgx.Conn, run runScript) error {
	if err := run(functionSettings); err != nil {
		return err
	}
	existing, err := readTriggers(ctx, conn)
	if err != nil {
		return err
	}
	var functions, triggers []string
	for _, name := range slices.Sorted(maps.Keys(f.files)) {
		trigger, isTrigger := strings.CutPrefix(strings.TrimSuffix(name, ".sql"), "triggers/")
		if !isTrigger {
			functions = append(functions, name)
		} else if plainTrigger(f.files[name]) != plainTrigger(existing[trigger]) {
			triggers = append(triggers, name)
		}
	}
	for _, name := range slices.Concat(functions, triggers) {
		if err := run(f.files[name]); err != nil {
			return fmt.Errorf("functions/%s: %w", name, err)
		}
	}
	for line := range strings.Lines(f.dropped) {
		if err := dropFormer(strings.TrimSpace(line), existing, run); err != nil {
			return fmt.Errorf("functions/dropped.txt: %w", err)
		}
	}
	if err := run(fmt.Sprintf(`update schema_migrations set functions = '%s'
		where version = (select max(version) from schema_migrations)`, f)); err != nil {
		return fmt.Errorf("record the functions: %w", err)
	}
	if err := lintBeforeCommit(ctx, conn); err != nil {
		return fmt.Errorf("functions: %w", err)
	}
	return nil
}

// dropFormer drops a trigger or a function in the transaction that creates what replaces it, so that each write of
// another instance fires one of both.
func dropFormer(line string, existing map[string]string, run runScript) error {
	trigger, isTrigger := strings.CutPrefix(line, "trigger ")
	name, table, _ := strings.Cut(trigger, " on ")
	if _, exists := existing[table+"."+name]; isTrigger && !exists {
		return nil // without a lock of the table
	}
	kind, rest, _ := strings.Cut(line, " ")
	return run(fmt.Sprintf("drop %s if exists %s", kind, rest))
}

// readTriggers returns the definition of each trigger by TABLE.TRIGGER.
func readTriggers(ctx context.Context, conn *pgx.Conn) (map[string]string, error) {
	rows, err := conn.Query(ctx, `
		select c.relname || '.' || t.tgname, pg_get_triggerdef(t.oid, true)
		  from pg_trigger t
		  join pg_class c on c.oid = t.tgrelid
		 where c.relnamespace = 'public'::regnamespace and not t.tgisinternal and t.tgparentid = 0`)
	if err != nil {
		return nil, fmt.Errorf("read the triggers: %w", err)
	}
	triggers := map[string]string{}
	var name, definition string
	if _, err := pgx.ForEachRow(rows, []any{&name, &definition}, func() error {
		triggers[name] = definition
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read the triggers: %w", err)
	}
	return triggers, nil
}

var (
	createTrigger = regexp.MustCompile(`(?is)\bcreate (or replace )?((?:constraint )?trigger [^;]*)`)
	literalCast   = regexp.MustCompile(`('[^']*')::\w+(\[\])?`)
	keyword       = regexp.MustCompile(`'[^']*'|[A-Z]+`)
)

// plainTrigger returns what a file and PostgreSQL's definition of the same trigger have in common, without the
// statements that follow it in the file. If it returns different texts for the same trigger, that is replaced without
// need.
func plainTrigger(sql string) string {
	found := createTrigger.FindStringSubmatch(sql)
	if found == nil {
		return ""
	}
	sql = literalCast.ReplaceAllString(found[2], "$1")
	sql = keyword.ReplaceAllStringFunc(sql, func(word string) string {
		if word[0] == '\'' {
			return word
		}
		return strings.ToLower(word)
	})
	return strings.TrimSuffix(strings.Join(strings.Fields(sql), " "), ";")
}
