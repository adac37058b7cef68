//go:build ops && citus

package ops

import (
	"context"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const citusScripts = "../../../deploy/citus/"

// script runs a script of deploy/citus as the superuser with the certificate of a node.
func (c *citusCluster) script(t *testing.T, environ []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{citusScripts + name}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+c.node.Bin+":"+os.Getenv("PATH"),
		"PGUSER=storeroom_admin", "PGDATABASE=storeroom", "STOREROOM="+program)
	for _, parameter := range certificateOf(c.node.Certificates) {
		name, value, _ := strings.Cut(parameter, "=")
		cmd.Env = append(cmd.Env, "PG"+strings.ToUpper(name)+"="+value)
	}
	cmd.Env = append(cmd.Env, environ...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", name, err, out)
	}
	return string(out)
}

// backup runs backup.sh and returns the folder of the backup.
func (c *citusCluster) backup(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	host, port, err := net.SplitHostPort(hostOf(t, c.nodes[0].AdminURL))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	out := c.script(t, []string{"PGHOST=" + host, "PGPORT=" + port, "TEXTFILE_DIR=" + dir}, "backup.sh", dir)
	t.Logf("backed up in %v: %s", time.Since(began).Round(time.Millisecond), out)
	if _, err := os.Stat(filepath.Join(dir, "storeroom_backup.prom")); err != nil {
		t.Error(err)
	}
	found, err := filepath.Glob(filepath.Join(dir, "storeroom-*Z"))
	if err != nil || len(found) != 1 {
		t.Fatalf("backups = %v, %v; want one", found, err)
	}
	for n, s := range c.nodes {
		if left := mustQuery[int64](t, s.AdminURL, `select count(*) from pg_replication_slots`); left != 0 {
			t.Errorf("backup.sh left %d replication slots on node %d", left, n)
		}
	}
	return found[0]
}

// restore restores a backup into a new cluster, whose certificates the original one does not accept.
func (c *citusCluster) restore(t *testing.T, backup string, environ ...string) *citusCluster {
	t.Helper()
	began := time.Now()
	restored := newCitus(t)
	nodes, err := os.ReadFile(filepath.Join(backup, "nodes"))
	if err != nil {
		t.Fatal(err)
	}
	var addresses []string
	for line := range strings.Lines(string(nodes)) {
		group, _, _ := strings.Cut(line, " ")
		s := &server{dir: t.TempDir(), options: restored.options()}
		data := filepath.Join(s.dir, "postgres")
		c.script(t, nil, "restore-node.sh", backup, group, data)
		c.nodes[0].give(t, data, backup)
		s.start(t)
		t.Cleanup(func() {
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
		})
		restored.nodes = append(restored.nodes, s)
		addresses = append(addresses, group+" "+strings.ReplaceAll(hostOf(t, s.AdminURL), ":", " "))
	}
	textfiles := t.TempDir()
	environ = append(environ,
		"DATABASE_ADMIN_URL="+urlOf(t, restored.nodes[0], "storeroom_migrator"), "TEXTFILE_DIR="+textfiles)
	out := restored.script(t, environ, "restore.sh", addresses...)
	t.Logf("restored in %v: %s", time.Since(began).Round(time.Millisecond), out)
	return restored
}

// give gives directories to the account that runs a server.
func (s *server) give(t *testing.T, dirs ...string) {
	t.Helper()
	info, err := os.Stat(filepath.Join(s.dir, "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	for _, dir := range dirs {
		if err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err == nil {
				err = os.Lchown(path, int(owner.Uid), int(owner.Gid))
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// transfers writes to two workers and the coordinator in one transaction, again and again.
type transfers struct {
	all  sync.WaitGroup
	over atomic.Bool
	mu   sync.Mutex
	done []int64 // acknowledged
}

// super returns the URL of the superuser of the coordinator.
func (c *citusCluster) super(t *testing.T) string {
	return urlOf(t, c.nodes[0], "storeroom_admin", certificateOf(c.node.Certificates)...)
}

// createBank creates the tables of transfers. Citus must know the table of the coordinator too: otherwise it commits a
// transfer between two accounts of one worker without two phases, first there and then on the coordinator, and a
// restore point can be in between.
func (c *citusCluster) createBank(t *testing.T) {
	t.Helper()
	for _, statement := range []string{
		`create schema bank`,
		`create table bank.transfers (account bigint, id bigint, primary key (account, id))`,
		`select create_distributed_table('bank.transfers', 'account', shard_count => 8)::text`,
		`create table bank.booked (id bigint primary key)`,
		`select citus_add_local_table_to_metadata('bank.booked')::text`,
	} {
		mustExec(t, c.super(t), statement)
	}
}

func startTransfers(t *testing.T, c *citusCluster, writers int) *transfers {
	t.Helper()
	c.createBank(t)
	super := c.super(t)
	x := &transfers{}
	t.Cleanup(x.stop)
	for n := range writers {
		x.all.Go(func() {
			for id := int64(n); !x.over.Load(); id += int64(writers) {
				if err := x.transfer(t.Context(), super, id); err != nil && !x.over.Load() {
					t.Errorf("transfer %d: %v", id, err)
					return
				}
			}
		})
	}
	return x
}

func (x *transfers) transfer(ctx context.Context, super string, id int64) error {
	conn, err := pgx.Connect(ctx, super)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for _, account := range []int64{id % 97, 100 + id%89} {
			if _, err := tx.Exec(ctx, `insert into bank.transfers values ($1, $2)`, account, id); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `insert into bank.booked values ($1)`, id)
		return err
	})
	if err == nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.done = append(x.done, id)
	}
	return err
}

func (x *transfers) acknowledged() []int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.done[:len(x.done):len(x.done)]
}

func (x *transfers) stop() {
	x.over.Store(true)
	x.all.Wait()
}

// mustBeWhole requires that each transfer of a cluster is complete and that none of these is missing. It returns how
// many the cluster has.
func (c *citusCluster) mustBeWhole(t *testing.T, acknowledged []int64) int64 {
	t.Helper()
	super := c.super(t)
	if broken := mustQuery[int64](t, super, `
		with legs as materialized (select id, count(*) from bank.transfers group by id)
		select count(*) from legs l full join bank.booked b using (id) where l.count is distinct from 2 or b.id is null`,
	); broken != 0 {
		t.Errorf("%d transfers are incomplete", broken)
	}
	if lost := mustQuery[int64](t, super, `
		select count(*) from unnest($1::bigint[]) a (id) where not exists (select from bank.booked b where b.id = a.id)`,
		acknowledged); lost != 0 {
		t.Errorf("%d of %d acknowledged transfers are lost", lost, len(acknowledged))
	}
	return mustQuery[int64](t, super, `select count(*) from bank.booked`)
}

// A backup during transactions of several nodes restores each of them completely or not at all.
func TestCitusBackupOfTransactionsOfSeveralNodes(t *testing.T) {
	c := startCitus(t, 2)
	c.join(t)
	x := startTransfers(t, c, 4)
	await(t, 3*time.Minute, "40 transfers", func() bool { return len(x.acknowledged()) > 40 })
	before := x.acknowledged()
	backup := c.backup(t)
	after := x.acknowledged()
	await(t, 3*time.Minute, "40 more transfers", func() bool { return len(x.acknowledged()) > len(after)+40 })
	x.stop()
	original := c.mustBeWhole(t, x.acknowledged())

	restored := c.restore(t, backup, "STOREROOM=true") // the schema has another table
	got := restored.mustBeWhole(t, before)
	t.Logf("%d transfers were acknowledged before the backup, %d after it, %d at the end; %d are restored",
		len(before), len(after), original, got)
	if got > int64(len(after))+4 {
		t.Errorf("%d transfers are restored, want none from after the restore point", got)
	}
}

// A backup of the service during requests restores every write that was acknowledged before, and verify finds nothing.
func TestCitusBackupOfTheService(t *testing.T) {
	c, h := newCitusService(t, 2)
	all := startTenants(t, h, h.startInstances(t, 1), 4, 2)
	awaitAll(t, all, 10)
	acknowledged := map[*tenantLoad][]string{}
	for _, l := range all {
		l.mu.Lock()
		acknowledged[l] = slices.Clone(l.noted)
		l.mu.Unlock()
	}
	backup := c.backup(t)
	awaitAll(t, all, 10)
	mustKeepAll(t, h, all)

	restored := c.restore(t, backup).service(t)
	for _, l := range all {
		stored := restored.texts(t, `select notes from inventory_adjustments where notes like $1 || '-%'`, l.slug)
		t.Logf("%s: %d adjustments were acknowledged before the backup, %d at the end; %d are restored",
			l.slug, len(acknowledged[l]), len(l.noted), len(stored))
		for _, note := range acknowledged[l] {
			if !slices.Contains(stored, note) {
				t.Errorf("%s: the adjustment %s is lost", l.slug, note)
			}
		}
	}
	i := restored.startInstances(t, 1)[0]
	for _, l := range all {
		var list []struct{ SKU string }
		newClient(t, i.base, l.key.Key, false).must(
			t, "GET", "/api/products?sort=sku&direction=desc&per_page=100", nil, &list)
		if len(list) < stocked {
			t.Errorf("%s: the restored cluster lists %d products, want at least %d", l.slug, len(list), stocked)
		}
	}
}
