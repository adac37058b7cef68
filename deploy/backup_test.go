//go:build ops

package deploy

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/migrations"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/feed"
)

const (
	backupPepper   = "8f1d6b0e5a7c43928f1d6b0e5a7c43928f1d6b0e5a7c43928f1d6b0e5a7c4392"
	backupPassword = "storeroom-test"
)

// aShop is small but has rows in most tables.
var aShop = map[string]string{
	"products.csv": "sku,name,price,quantity,tags\n" +
		"MUG-1,Enamel mug,12.50,30,kitchen\n" +
		"PAN-1,Pan,40.00,4,\n",
	"customers.csv": "id,name,email\n7,Ada Marsh,ada@example.com\n",
	"orders.csv": "number,placed_at,channel,customer,discount_total,tax_total\n" +
		"1001,2026-03-29T00:30:00Z,pos,,,2.40\n" +
		"1002,2026-03-29T23:30:00Z,web,7,0.50,\n",
	"order_items.csv": "order_number,sku,quantity,unit_price,unit_cost,discount\n" +
		"1001,MUG-1,1,12.00,,\n" +
		"1002,MUG-1,2,12.00,,\n" +
		"1002,NO-SUCH,1,3.50,1.10,0.50\n",
	"refunds.csv": "order_number,refunded_at,amount\n1002,2026-03-30T10:00:00Z,5.00\n",
}

// The test runs the scripts as the roles that the handbook names, and compares every
// restored row.
func TestARestoredBackupHasEveryRow(t *testing.T) {
	t.Parallel()
	program := buildProgram(t)
	for name, dir := range map[string]func(t *testing.T) string{
		"a small shop": writeShop,
		"a real shop":  func(t *testing.T) string { return dbtest.SharedData(t, "uci") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := dir(t)
			d := dbtest.New(t)
			b := backedUp{d, program, t.TempDir(), t.TempDir()}
			key := b.fill(t, data)
			before := mustCursor(t, d.DB, mustShop(t, b))
			dump := b.dump(t)
			restored := b.restore(t, dump)
			if diff := cmp.Diff(fingerprints(t, d.SuperURL), fingerprints(t, restored)); diff != "" {
				t.Errorf("tables differ (-before +restored):\n%s", diff)
			}
			b.checkSchema(t, restored)
			b.checkKey(t, restored, key)
			b.checkFeed(t, restored, before)
		})
	}
}

func TestBackupAndRestoreRefuseUnsafeCalls(t *testing.T) {
	t.Parallel()
	program := buildProgram(t)
	d := dbtest.New(t)
	b := backedUp{d, program, t.TempDir(), t.TempDir()}
	b.fill(t, writeShop(t))
	dump := b.dump(t)

	t.Run("backup.sh refuses a role that policies restrict, and writes no file", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		_, err := command(libpq(t, d.AdminURL), "sh", "backup/backup.sh", dir)
		if err == nil || !strings.Contains(err.Error(), "row-level security") {
			t.Errorf("backup.sh as the migrator = %v, want an error about row-level security", err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("backup.sh left %v", left)
		}
	})
	t.Run("backup.sh keeps the latest BACKUP_KEEP dumps", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		const first, second = "storeroom-20200101T000000Z.dump", "storeroom-20200102T000000Z.dump"
		isKept := map[string]bool{first: false, first + ".sha256": false, second: true, "other.dump": true}
		for name := range isKept {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		mustCommand(t, append(libpq(t, b.role(t)), "BACKUP_KEEP=2"), "sh", "backup/backup.sh", dir)
		for name, want := range isKept {
			if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
				t.Errorf("%s exists: %v, want %v", name, err == nil, want)
			}
		}
	})
	t.Run("restore.sh refuses a database that is not empty", func(t *testing.T) {
		t.Parallel()
		_, err := command(append(libpq(t, d.AdminURL), "STOREROOM="+program), "sh", "backup/restore.sh", dump)
		if err == nil || !strings.Contains(err.Error(), "is not empty") {
			t.Errorf("restore.sh into the original = %v, want an error that the database is not empty", err)
		}
	})
	t.Run("restore.sh refuses a dump of another program", func(t *testing.T) {
		t.Parallel()
		empty := libpq(t, inDatabase(t, d.SuperURL, "postgres"))
		other := filepath.Join(t.TempDir(), "other.dump")
		mustCommand(t, empty, "pg_dump", "--format=custom", "--file="+other)
		_, err := command(empty, "sh", "backup/restore.sh", other)
		if err == nil || !strings.Contains(err.Error(), "is not a dump of Storeroom") {
			t.Errorf("restore.sh of another dump = %v, want an error that says so", err)
		}
	})
	t.Run("restore.sh refuses a dump that has changed", func(t *testing.T) {
		t.Parallel()
		content, err := os.ReadFile(dump)
		if err != nil {
			t.Fatal(err)
		}
		content[len(content)/2] ^= 1
		sum, err := os.ReadFile(dump + ".sha256")
		if err != nil {
			t.Fatal(err)
		}
		changed := filepath.Join(t.TempDir(), "changed.dump")
		for name, content := range map[string][]byte{changed: content, changed + ".sha256": sum} {
			if err := os.WriteFile(name, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err = command(append(libpq(t, d.AdminURL), "STOREROOM="+program), "sh", "backup/restore.sh", changed)
		if err == nil || !strings.Contains(err.Error(), "SHA-256") {
			t.Errorf("restore.sh = %v, want an error about the SHA-256", err)
		}
	})
}

// backedUp is a database with data, and the directories of its dumps and metrics.
type backedUp struct {
	*dbtest.Database
	program string
	dumps   string
	metrics string
}

func buildProgram(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "storeroom")
	mustCommand(t, nil, "go", "build", "-o", program, "../cmd/storeroom")
	return program
}

func writeShop(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range aShop {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// fill creates two tenants, data in one of them, and a key, which it returns.
func (b backedUp) fill(t *testing.T, data string) string {
	t.Helper()
	environ := []string{"DATABASE_ADMIN_URL=" + b.AdminURL, "STOREROOM_KEY_PEPPERS=1:" + backupPepper}
	mustCommand(t, environ, b.program, "tenant", "create", "--slug", "shop", "--name", "Shop",
		"--timezone", "Europe/London")
	mustCommand(t, environ, b.program, "tenant", "create", "--slug", "empty", "--name", "Empty")
	mustCommand(t, environ, b.program, "import", "--tenant", "shop", data)
	var key struct{ Key string }
	printed := mustCommand(t, environ, b.program, "key", "create", "--tenant", "shop", "--name", "Till",
		"--scopes", "full", "--json")
	if err := json.Unmarshal([]byte(printed), &key); err != nil {
		t.Fatal(err)
	}
	return key.Key
}

// role creates the role described in the README and returns its URL.
func (b backedUp) role(t *testing.T) string {
	t.Helper()
	readme, err := os.ReadFile("backup/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, sql, found := strings.Cut(string(readme), "```sql\n")
	sql, _, closed := strings.Cut(sql, "```")
	if !found || !closed || !strings.Contains(sql, "bypassrls") {
		t.Fatal("backup/README.md does not contain the SQL of the role")
	}
	conn := b.MustSuper(t)
	// Other tests create the same role on the same server.
	if _, err := conn.Exec(t.Context(), `select pg_advisory_lock(42424242)`); err != nil {
		t.Fatal(err)
	}
	var exists bool
	const query = `select exists (select from pg_roles where rolname = 'storeroom_backup')`
	if err := conn.QueryRow(t.Context(), query).Scan(&exists); err != nil {
		t.Fatal(err)
	}
	if !exists {
		sql = strings.ReplaceAll(sql, "PASSWORD", backupPassword)
		if _, err := conn.PgConn().Exec(t.Context(), sql).ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	u := mustURL(t, b.SuperURL)
	u.User = url.UserPassword("storeroom_backup", backupPassword)
	return u.String()
}

// dump runs backup.sh and returns the path of the dump.
func (b backedUp) dump(t *testing.T) string {
	t.Helper()
	began := time.Now()
	mustCommand(t, append(libpq(t, b.role(t)), "TEXTFILE_DIR="+b.metrics), "sh", "backup/backup.sh", b.dumps)
	t.Logf("dumped in %v", time.Since(began).Round(time.Millisecond))
	found, err := filepath.Glob(filepath.Join(b.dumps, "*.dump"))
	if err != nil || len(found) != 1 {
		t.Fatalf("dumps = %v, %v; want one", found, err)
	}
	if info, err := os.Stat(found[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s = %v, %v; want it readable only by its owner", found[0], info, err)
	}
	b.checkMetric(t, "storeroom_backup_last_success_timestamp_seconds", began)
	return found[0]
}

// restore runs restore.sh into an empty database and returns its superuser's URL.
func (b backedUp) restore(t *testing.T, dump string) string {
	t.Helper()
	name := strings.TrimPrefix(mustURL(t, b.SuperURL).Path, "/") + "_restored"
	super := b.MustSuper(t)
	create := "create database " + name + " owner storeroom_owner template template0"
	if _, err := super.Exec(t.Context(), create); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // the test's context has ended
		defer cancel()
		conn, err := pgx.Connect(ctx, b.SuperURL)
		if err == nil {
			_, err = conn.Exec(ctx, "drop database "+name+" with (force)")
			err = errors.Join(err, conn.Close(ctx))
		}
		if err != nil {
			t.Error(err)
		}
	})
	if _, err := super.Exec(t.Context(), "revoke temporary on database "+name+" from public"); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), inDatabase(t, b.SuperURL, name))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), migrations.RevokeLargeObjects); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	// A URL in the environment must not take precedence over the restored database.
	environ := append(libpq(t, inDatabase(t, b.AdminURL, name)),
		"PATH="+filepath.Dir(b.program)+":"+os.Getenv("PATH"), "TEXTFILE_DIR="+b.metrics, "DATABASE_ADMIN_URL="+b.AdminURL)
	printed := mustCommand(t, environ, "sh", "backup/restore.sh", dump)
	t.Logf("restored and verified in %v:\n%s", time.Since(began).Round(time.Millisecond), printed)
	if !strings.Contains(printed, "verified 2 tenants") {
		t.Errorf("restore.sh did not verify both tenants")
	}
	b.checkMetric(t, "storeroom_restore_test_last_success_timestamp_seconds", began)
	return inDatabase(t, b.SuperURL, name)
}

// checkMetric checks that one of the textfiles contains a time between began and now.
func (b backedUp) checkMetric(t *testing.T, name string, began time.Time) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(b.metrics, "*.prom"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			var at int64
			if n, _ := fmt.Sscanf(line, name+" %d", &at); n == 1 {
				if at < began.Unix() || at > time.Now().Unix() {
					t.Errorf("%s is %d, want a time since %d", name, at, began.Unix())
				}
				return
			}
		}
	}
	t.Errorf("none of %[2]v contains %[1]s", name, files)
}

// checkSchema checks the schema as serve does.
func (b backedUp) checkSchema(t *testing.T, restored string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), inDatabase(t, b.URL, mustURL(t, restored).Path))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	problems, err := migrations.Lint(t.Context(), conn)
	if err != nil || len(problems) > 0 {
		t.Errorf("Lint = %v, %v; want no errors", problems, err)
	}
}

// checkKey checks that the key resolves with its pepper and with no other.
func (b backedUp) checkKey(t *testing.T, restored, key string) {
	t.Helper()
	runtime := inDatabase(t, b.URL, mustURL(t, restored).Path)
	db := dbtest.MustOpen(t, runtime)
	for pepper, want := range map[string]bool{backupPepper: true, strings.Repeat("0", 64): false} {
		peppers, err := keys.ParsePeppers("1:" + pepper)
		if err != nil {
			t.Fatal(err)
		}
		resolver, err := keys.Open(t.Context(), db, runtime, peppers, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		principal, err := resolver.Resolve(t.Context(), key)
		if (err == nil) != want || want && principal.Tenant.Slug != "shop" {
			t.Errorf("with the right pepper: %v; Resolve = %v", want, err)
		}
		if err := resolver.Close(); err != nil {
			t.Error(err)
		}
	}
}

// checkFeed checks that a restored database has the changes before the dump, and begins a new epoch: cursors that were
// made after the dump have expired.
func (b backedUp) checkFeed(t *testing.T, restored string, before feed.Cursor) {
	t.Helper()
	db := dbtest.MustOpen(t, inDatabase(t, b.URL, mustURL(t, restored).Path))
	tenant := mustShop(t, b)
	old := feed.New(b.DB, feed.MinRetention)
	end, err := old.Read(t.Context(), tenant, feed.Query{After: feed.Now, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	after := mustCursor(t, b.DB, tenant)
	for name, test := range map[string]struct {
		cursor feed.Cursor
		want   error
	}{
		"before the dump": {before, nil}, "the end": {end.Next, feed.ErrExpired}, "after the dump": {after, feed.ErrExpired},
	} {
		_, err := feed.New(db, feed.MinRetention).Read(t.Context(), tenant, feed.Query{After: test.cursor, Limit: 1})
		if !errors.Is(err, test.want) {
			t.Errorf("the cursor of %s = %v, want %v", name, err, test.want)
		}
	}
	if now := mustCursor(t, db, tenant); now.Epoch <= before.Epoch || now.Epoch == after.Epoch {
		t.Errorf("the epoch of the restored database is %d, want a new one after %d", now.Epoch, before.Epoch)
	}
}

// mustCursor adds a seller and returns the cursor after it.
func mustCursor(t *testing.T, pool *db.DB, tenant tenancy.ID) feed.Cursor {
	t.Helper()
	added, err := db.All[struct{ ID string }](t.Context(), pool, tenant,
		`insert into sellers (tenant_id, name) values ($1, $2) returning id::text`, tenant, rand.Text())
	if err != nil {
		t.Fatal(err)
	}
	q := feed.Query{Types: []string{"seller"}, Limit: 1}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); { // other tests on the server delay the feed
		page, err := feed.New(pool, feed.MinRetention).Read(t.Context(), tenant, q)
		if err != nil {
			t.Fatal(err)
		}
		if q.After = page.Next; len(page.Entries) > 0 && page.Entries[0].ID == added[0].ID {
			return q.After
		}
	}
	t.Fatal("the feed does not have the seller")
	return q.After
}

func mustShop(t *testing.T, b backedUp) (id tenancy.ID) {
	t.Helper()
	if err := b.MustSuper(t).QueryRow(t.Context(), `select id from tenants where slug = 'shop'`).Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

// fingerprints returns a hash of the rows of every table.
func fingerprints(t *testing.T, super string) map[string]string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), super)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, _ := conn.Query(t.Context(),
		`select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) < 20 {
		t.Fatalf("tables = %v, %v; want the whole schema", tables, err)
	}
	all := map[string]string{}
	for _, table := range tables {
		var found string
		query := "select count(*) || ' rows, ' || coalesce(sum(hashtextextended(r::text, 0)::numeric), 0)" +
			" from " + pgx.Identifier{table}.Sanitize() + " r"
		if err := conn.QueryRow(t.Context(), query).Scan(&found); err != nil {
			t.Fatal(err)
		}
		all[table] = found
	}
	return all
}

// libpq converts a URL to the libpq variables that the scripts read.
func libpq(t *testing.T, databaseURL string) []string {
	t.Helper()
	u := mustURL(t, databaseURL)
	password, _ := u.User.Password()
	return []string{
		"PGHOST=" + u.Hostname(), "PGPORT=" + u.Port(), "PGUSER=" + u.User.Username(), "PGPASSWORD=" + password,
		"PGDATABASE=" + strings.TrimPrefix(u.Path, "/"), "PGSSLMODE=" + u.Query().Get("sslmode"),
	}
}

func inDatabase(t *testing.T, databaseURL, name string) string {
	t.Helper()
	u := mustURL(t, databaseURL)
	u.Path = "/" + strings.TrimPrefix(name, "/")
	return u.String()
}

func mustURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func mustCommand(t *testing.T, environ []string, name string, args ...string) string {
	t.Helper()
	printed, err := command(environ, name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return printed
}

// command runs a program with additional variables and returns its output. The error
// contains its standard error.
func command(environ []string, name string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), environ...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s %s: %w: %s%s", name, strings.Join(args, " "), err, &stdout, &stderr)
	}
	return stdout.String(), nil
}
