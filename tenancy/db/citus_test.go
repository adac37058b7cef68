package db_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/migrations"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// While a tenant moves, its clients get correct answers or an error that they may repeat. No acknowledged write is
// lost, no answer is empty or lacks a write that was acknowledged before, and ids increase.
func TestATenantMovesWhileClientsReadAndWrite(t *testing.T) {
	t.Parallel()
	if !dbtest.OnCitus() {
		t.Skip("needs a Citus cluster: set STOREROOM_CITUS")
	}
	d := dbtest.New(t)
	tenant := d.MustTenant(t, "acme").ID
	other := dbtest.MustOpen(t, d.URL) // another instance
	ctx, stop := context.WithCancel(t.Context())
	var mu sync.Mutex
	stored := map[int64]string{}
	var failed, reads atomic.Int64
	var clients sync.WaitGroup
	type row struct {
		ID   int64
		Name string
	}
	for client := range 8 {
		clients.Go(func() {
			pool := []*db.DB{d.DB, other}[client%2]
			for n := 0; ctx.Err() == nil; n++ {
				name := fmt.Sprintf("%d-%d", client, n)
				created, err := db.All[row](t.Context(), pool, tenant,
					`insert into categories (tenant_id, name) values ($1, $2) returning id, name`, tenant, name)
				if err != nil {
					mustBeRetryable(t, err)
					failed.Add(1)
					continue
				}
				mu.Lock()
				stored[created[0].ID] = name
				mu.Unlock()
				time.Sleep(2 * time.Millisecond) // a move copies what was written before it
			}
		})
		clients.Go(func() {
			pool := []*db.DB{other, d.DB}[client%2]
			for ctx.Err() == nil {
				mu.Lock()
				before := len(stored)
				mu.Unlock()
				var counted []struct{ Count int }
				read := func(b *pgx.Batch) {
					db.QueueRows(b, &counted, `select count(*) from categories where tenant_id = $1`, tenant)
				}
				var err error
				if client%2 == 0 {
					err = pool.Run(t.Context(), tenant, read)
				} else {
					err = pool.Snapshot(t.Context(), tenant, db.GenericPlan, 5*time.Second, read)
				}
				switch {
				case err != nil:
					mustBeRetryable(t, err)
					failed.Add(1)
				case counted[0].Count < before:
					t.Errorf("a read counts %d rows, %d were stored before", counted[0].Count, before)
				}
				reads.Add(1)
			}
		})
	}
	for range 4 {
		time.Sleep(300 * time.Millisecond)
		d.MustMove(t, tenant)
	}
	time.Sleep(300 * time.Millisecond)
	stop()
	clients.Wait()
	found, err := db.All[row](t.Context(), d.DB, tenant, `select id, name from categories where tenant_id = $1`, tenant)
	if err != nil {
		t.Fatal(err)
	}
	for id, name := range stored {
		if !slices.Contains(found, row{id, name}) {
			t.Errorf("the category %d %s was acknowledged, but is not stored", id, name)
		}
	}
	t.Logf("%d acknowledged writes, %d reads, %d errors", len(stored), reads.Load(), failed.Load())
	mustLeaveNodes(t, d, tenant)
}

// mustLeaveNodes waits until no instance has a connection to a worker that the tenant has left. Unused connections end
// only later.
func mustLeaveNodes(t *testing.T, d *dbtest.Database, tenant tenancy.ID) {
	t.Helper()
	here := d.MustSuperAt(t, tenant).Config().Port
	for _, node := range d.Nodes(t)[1:] {
		super := node.MustSuper(t)
		if super.Config().Port == here {
			continue
		}
		for end, open := time.Now().Add(5*time.Second), 1; open > 0; time.Sleep(10 * time.Millisecond) {
			err := super.QueryRow(t.Context(), `
				select count(*) from pg_stat_activity
				 where datname = current_database() and application_name = 'storeroom'`).Scan(&open)
			if err != nil || time.Now().After(end) {
				t.Fatalf("%d connections to the node that the tenant left, %v", open, err)
			}
		}
	}
}

func mustBeRetryable(t *testing.T, err error) {
	t.Helper()
	if code := db.SQLState(err); code != "55P03" && code != "57S01" && !errors.Is(err, tenancy.ErrBusy) {
		t.Errorf("%v (%s)", err, code)
	}
}

// While Citus divides a shard group, the coordinator has no place of its tenants for a moment. Requests wait for it, and
// fail with ErrMoving after a second.
func TestATenantHasNoPlaceForAMoment(t *testing.T) {
	t.Parallel()
	if !dbtest.OnCitus() {
		t.Skip("needs a Citus cluster: set STOREROOM_CITUS")
	}
	d := dbtest.New(t)
	tenant := d.MustTenant(t, "acme").ID
	super := d.MustSuper(t)
	exec := func(sql string) {
		if _, err := super.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	const hide = `
		with hidden as (
			delete from pg_dist_placement
			 where shardid in (select shardid from pg_dist_shard where logicalrelid = 'storeroom_citus.shards'::regclass)
			returning *
		)
		insert into public.hidden select * from hidden`
	const show = `insert into pg_dist_placement select * from public.hidden`
	exec(`create table public.hidden (like pg_dist_placement)`)
	exec(hide)
	count := func(db *db.DB) error {
		return db.Run(t.Context(), tenant, func(b *pgx.Batch) { b.Queue(`select count(*) from products`) })
	}
	db := dbtest.MustOpen(t, d.URL) // knows no place
	began := time.Now()
	if err := count(db); !errors.Is(err, tenancy.ErrMoving) || time.Since(began) < 800*time.Millisecond {
		t.Errorf("%v after %v, want ErrMoving after a second", err, time.Since(began))
	}

	result := make(chan error, 1)
	go func() { result <- count(db) }()
	select {
	case err := <-result:
		t.Fatalf("the request did not wait: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	exec(show)
	if err := <-result; err != nil {
		t.Errorf("after the group has a place: %v", err)
	}
}

// A later migration has the same effect on a cluster as on plain PostgreSQL: it creates and changes tables, triggers
// and functions while instances continue to run.
func TestALaterMigrationChangesDistributedTables(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	acme, other := d.MustTenant(t, "acme").ID, d.MustTenant(t, "other").ID
	type category struct {
		ID    int64
		Notes int
	}
	created, err := db.All[category](t.Context(), d.DB, acme,
		`insert into categories (tenant_id, name) values ($1, 'Lamps') returning id, 0 as notes`, acme)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), d.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	// Citus does not change a table that views of superusers read with functions.
	super := d.MustSuper(t)
	if _, err := super.Exec(t.Context(), `drop schema if exists storeroom_tests cascade`); err != nil {
		t.Fatal(err)
	}
	later := migrations.All()
	for _, sql := range []string{`
		create table notes (
			tenant_id   bigint not null references tenants (id) on delete cascade,
			id          bigint generated always as identity,
			category_id bigint not null,
			content     text not null,
			primary key (tenant_id, id),
			foreign key (tenant_id, category_id) references categories (tenant_id, id) on delete cascade
		);
		create index on notes (tenant_id, category_id);
		alter table notes alter tenant_id set statistics 0;
		alter table notes enable row level security, force row level security;
		create policy tenant on notes
			using (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint))
			with check (tenant_id = (select nullif(current_setting('app.tenant_id', true), '')::bigint));
		grant select, insert, update, delete on notes to storeroom_runtime;
		alter table categories add column notes integer not null default 0, add column old integer;
		set local row_security = on;
		do $$
		declare
			tenant bigint;
		begin
			for tenant in select id from tenants loop
				execute format('set local app.tenant_id = %L', tenant);
				update categories set notes = 100 where tenant_id = tenant;
			end loop;
		end $$;`, `
		create function count_notes() returns trigger language plpgsql
		set search_path = pg_catalog, public, pg_temp
		as $$
		begin
			update public.categories c
			   set notes = c.notes + 1
			  from added
			 where c.tenant_id = added.tenant_id and c.id = added.category_id;
			return null;
		end $$;
		create trigger count_notes after insert on notes
			referencing new table as added for each statement execute function count_notes();`, `
		create or replace function count_notes() returns trigger language plpgsql
		set search_path = pg_catalog, public, pg_temp
		as $$
		begin
			update public.categories c
			   set notes = c.notes + 10
			  from added
			 where c.tenant_id = added.tenant_id and c.id = added.category_id;
			return null;
		end $$;
		alter table categories drop column old cascade;`,
	} {
		later = append(later, migrations.Migration{Version: len(later) + 1, Name: fmt.Sprint("later", len(later)), SQL: sql})
		if _, err := migrations.ApplyList(t.Context(), conn, later, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := db.All[category](t.Context(), d.DB, acme,
			`select id, notes from categories where tenant_id = $1`, acme); err != nil {
			t.Fatal(err)
		}
	}
	functions := migrations.CurrentFunctions()
	for _, files := range []map[string]string{{
		"count_notes.sql": `
			create or replace function count_notes() returns trigger language plpgsql
			set search_path = pg_catalog, public, pg_temp
			as $$
			begin
				update public.categories set notes = notes + 100 where tenant_id = new.tenant_id and id = new.category_id;
				return null;
			end $$;
			revoke execute on function count_notes from public;`,
		"triggers/notes.count_notes.sql": `
			create or replace trigger count_notes after insert on notes for each row execute function count_notes();`,
	}, {
		"triggers/notes.count_notes.sql": `
			create or replace trigger count_notes after insert on notes
			    for each row when (new.content <> 'y') execute function count_notes();`,
	}} {
		functions = functions.With(files)
		ran, err := migrations.ApplyList(t.Context(), conn, later, functions)
		if err != nil || !slices.Equal(ran, []string{"functions"}) {
			t.Fatalf("ApplyList ran %q, %v, want functions", ran, err)
		}
	}
	const add = `insert into notes (tenant_id, category_id, content) values ($1, $2, 'x'), ($1, $2, 'y') returning id`
	if _, err := db.All[struct{ ID int64 }](t.Context(), d.DB, acme, add, acme, created[0].ID); err != nil {
		t.Fatal(err)
	}
	found, err := db.All[category](t.Context(), d.DB, acme,
		`select id, notes from categories where tenant_id = $1`, acme)
	if err != nil || !slices.Equal(found, []category{{created[0].ID, 200}}) {
		t.Errorf("the categories are %v, want one with 200 notes; %v", found, err)
	}
	seen, err := db.All[struct{ ID int64 }](t.Context(), d.DB, other, `select id from notes`)
	if err != nil || len(seen) != 0 {
		t.Errorf("another tenant sees %v, %v", seen, err)
	}
	_, err = db.All[struct{ ID int64 }](t.Context(), d.DB, other, add, acme, created[0].ID)
	if db.SQLState(err) != "42501" {
		t.Errorf("another tenant adds a note: %v, want the policy to refuse it", err)
	}
	if err := tenants.Delete(t.Context(), dbtest.MustOpen(t, d.AdminURL), "acme"); err != nil {
		t.Error(err)
	}
}

// On each node, the runtime role reads and changes no row of A, through the distributed tables, the shards and the
// schemas of all groups, without a tenant and as another one.
func TestTheRuntimeRoleSeesNothingOnANode(t *testing.T) {
	t.Parallel()
	if !dbtest.OnCitus() {
		t.Skip("needs a Citus cluster: set STOREROOM_CITUS")
	}
	s := mustSuite(t)
	s.mustSeeNothing(t)
	s.central.MustMove(t, s.a) // the new shards do not force row-level security before an instance uses them
	s.central.MustDropOrphans(t)
	s.mustSeeNothing(t)
}

// mustSeeNothing attacks every relation with a tenant on each node.
func (s *suite) mustSeeNothing(t *testing.T) {
	t.Helper()
	found := 0
	for n, node := range s.central.Nodes(t) {
		super := node.MustSuper(t)
		mustExec(t, super, `set citus.override_table_visibility = off`)
		type relation struct{ Name, Tenant string }
		relations := mustRows[relation](t, super, `
			select format('%I.%I', c.relnamespace::regnamespace, c.relname) as name, a.attname::text as tenant
			  from pg_class c
			  join pg_attribute a on a.attrelid = c.oid and a.attname = case when c.relname ~ '^tenants(_[0-9]+)?$'
			                                                                 then 'id' else 'tenant_id' end
			 where c.relkind in ('r', 'p', 'v')
			   and (c.relnamespace = 'public'::regnamespace or c.relnamespace::regnamespace::text ~ '^storeroom_[c0-9]')`)
		if len(relations) < 60 {
			t.Errorf("node %d has only %d relations", n, len(relations))
		}
		attackers := newSuite(t, node, s.a, s.b).attackers
		here := 0 // rows of A
		for _, r := range relations {
			here += mustRows[struct{ Rows int }](t, super, fmt.Sprintf(
				`select count(*)::int as rows from %s where %s = %d`, r.Name, r.Tenant, s.a))[0].Rows
			for _, at := range attackers {
				others := fmt.Sprintf(" from %s where %s is distinct from %d", r.Name, r.Tenant, at.own)
				update := fmt.Sprintf("update %s set %s = %[2]s where %[2]s is distinct from %d", r.Name, r.Tenant, at.own)
				for _, attack := range []string{"select" + others, "delete" + others, update} {
					if rows, err := at.try(t, attack); err == nil && rows > 0 {
						t.Errorf("node %d, %s: %s: %d rows", n, at.name, attack, rows)
					}
				}
			}
		}
		if n > 0 { // the coordinator counts the rows of all nodes
			found += here
		}
		t.Logf("node %d, %s: attacked %d relations with %d rows of A", n, node.URL[strings.Index(node.URL, "@"):],
			len(relations), here)
	}
	if found < len(s.tables) {
		t.Errorf("the workers have only %d rows of A", found)
	}
}
