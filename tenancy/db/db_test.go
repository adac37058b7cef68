package db_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
)

const (
	insertCategory = `insert into categories (tenant_id, name) values ($1, $2)`
	renameCategory = `update categories set name = $3 where tenant_id = $1 and name = $2`
	deleteCategory = `delete from categories where tenant_id = $1 and name = $2`
	listCategories = `select name from categories order by name`
)

// named is a row with a name.
type named struct{ Name string }

var errStop = errors.New("stop")

func TestNoTenantStaysOnAPooledConnection(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	a := d.MustTenant(t, "a").ID
	pool := dbtest.MustOpen(t, d.URL+"&pool_max_conns=1")
	use := func(sql string) func(*pgx.Batch) { return func(b *pgx.Batch) { b.Queue(sql) } }
	for _, test := range []struct {
		name string
		use  func() error
		fail bool
	}{
		{"Run", func() error { return pool.Run(t.Context(), a, use(`select`)) }, false},
		{"a Run that fails", func() error { return pool.Run(t.Context(), a, use(`select 1/0`)) }, true},
		{"Update", func() error {
			return pool.Update(t.Context(), a, use(`select`), func(b *pgx.Batch) error { b.Queue(`select`); return nil })
		}, false},
		{"an Update that fails to read", func() error {
			return pool.Update(t.Context(), a, use(`select 1/0`), func(*pgx.Batch) error { return nil })
		}, true},
		{"an Update that is refused", func() error {
			return pool.Update(t.Context(), a, use(`select`), func(*pgx.Batch) error { return errStop })
		}, true},
		{"an Update that fails to write", func() error {
			return pool.Update(t.Context(), a, use(`select`), func(b *pgx.Batch) error { b.Queue(`select 1/0`); return nil })
		}, true},
		{"Tx", func() error { return pool.Tx(t.Context(), a, func(pgx.Tx) error { return nil }) }, false},
		{"a Tx that fails", func() error { return pool.Tx(t.Context(), a, func(pgx.Tx) error { return errStop }) }, true},
		{"a Tx that panics", func() (err error) {
			defer func() { err = fmt.Errorf("panic: %v", recover()) }()
			return pool.Tx(t.Context(), a, func(pgx.Tx) error { panic("on purpose") })
		}, true},
		{"a Run whose reader panics", func() (err error) {
			defer func() { err = fmt.Errorf("panic: %v", recover()) }()
			return pool.Run(t.Context(), a, func(b *pgx.Batch) {
				b.Queue(`select 1`).Query(func(pgx.Rows) error { panic("on purpose") })
			})
		}, true},
		{"a Run that is cut off", func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			return pool.Run(ctx, a, use(`select pg_sleep(5)`))
		}, true},
	} {
		t.Run("after "+test.name, func(t *testing.T) {
			if err := test.use(); (err != nil) != test.fail {
				t.Fatalf("error %v, want one: %v", err, test.fail)
			}
			type setting struct{ Tenant string }
			got, err := db.Call[setting](
				t.Context(), pool, `select coalesce(current_setting('app.tenant_id', true), '') as tenant`,
			)
			if diff := cmp.Diff([]setting{{""}}, got); diff != "" || err != nil {
				t.Errorf("the setting of the next user (-want +got): %v\n%s", err, diff)
			}
			seen, err := db.Call[named](t.Context(), pool, `select name from warehouses`)
			if len(seen) > 0 || err != nil {
				t.Errorf("the next user without a tenant sees %v, %v, want nothing", seen, err)
			}
		})
	}
}

func TestRunIsOneTransaction(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	a := d.MustTenant(t, "a").ID
	err := d.DB.Run(t.Context(), a, func(b *pgx.Batch) {
		b.Queue(insertCategory, a, "Tea")
		b.Queue(insertCategory, a, "Tea")
	})
	if db.SQLState(err) != "23505" || db.Constraint(err) != "categories_tenant_id_name_key" {
		t.Errorf("inserting a name twice: %v (%s), want a unique violation", err, db.Constraint(err))
	}
	mustHave(t, d.DB, a)
	if err := d.DB.Run(t.Context(), a, func(b *pgx.Batch) {
		b.Queue(insertCategory, a, "Tea")
		b.Queue(insertCategory, a, "Rice")
	}); err != nil {
		t.Fatal(err)
	}
	mustHave(t, d.DB, a, "Rice", "Tea")
}

func TestOneReturnsErrNotFoundForAnotherTenantsRow(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	a, b := d.MustTenant(t, "a").ID, d.MustTenant(t, "b").ID
	if n, err := d.DB.Exec(t.Context(), a, insertCategory, a, "Tea"); n != 1 || err != nil {
		t.Fatalf("Exec(insert) = %d, %v, want 1", n, err)
	}
	sql := `select name from categories where name = $1`
	if got, err := db.One[named](t.Context(), d.DB, a, sql, "Tea"); got.Name != "Tea" || err != nil {
		t.Errorf("One(own) = %v, %v, want Tea", got, err)
	}
	for _, name := range []string{"Tea", "Absent"} {
		if got, err := db.One[named](t.Context(), d.DB, b, sql, name); !errors.Is(err, tenancy.ErrNotFound) {
			t.Errorf("One(%s) as another tenant = %v, %v, want ErrNotFound", name, got, err)
		}
	}
	if n, err := d.DB.Exec(t.Context(), b, deleteCategory, a, "Tea"); n != 0 || err != nil {
		t.Errorf("Exec(delete) as another tenant = %d, %v, want 0", n, err)
	}
}

func TestUpdateWritesAllOrNothing(t *testing.T) {
	t.Parallel()
	insert := func(tenant tenancy.ID, name string) func(*pgx.Batch) {
		return func(b *pgx.Batch) { b.Queue(insertCategory, tenant, name) }
	}
	d := dbtest.New(t)
	for i, test := range []struct {
		name  string
		write func(tenant tenancy.ID, b *pgx.Batch) error
		fails bool
		want  []string
	}{
		{"both batches succeed", func(a tenancy.ID, b *pgx.Batch) error { b.Queue(insertCategory, a, "Second"); return nil }, false, []string{"First", "Second"}},
		{"write queues nothing", func(tenancy.ID, *pgx.Batch) error { return nil }, false, []string{"First"}},
		{"write refuses", func(tenancy.ID, *pgx.Batch) error { return errStop }, true, nil},
		{"write refuses after queueing", func(a tenancy.ID, b *pgx.Batch) error { b.Queue(insertCategory, a, "Second"); return errStop }, true, nil},
		{"the last statement fails", func(a tenancy.ID, b *pgx.Batch) error {
			b.Queue(insertCategory, a, "Second")
			b.Queue(insertCategory, a, "First")
			return nil
		}, true, nil},
		{"a statement of the second batch is not SQL", func(_ tenancy.ID, b *pgx.Batch) error { b.Queue(`selec`); return nil }, true, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := d.MustTenant(t, fmt.Sprintf("t%d", i)).ID
			err := d.DB.Update(t.Context(), a, insert(a, "First"), func(b *pgx.Batch) error { return test.write(a, b) })
			if (err != nil) != test.fails {
				t.Errorf("Update = %v, want an error: %v", err, test.fails)
			}
			mustHave(t, d.DB, a, test.want...)
		})
	}
}

func TestARefusedUpdateKeepsItsConnection(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	a := d.MustTenant(t, "a").ID
	pool := dbtest.MustOpen(t, d.URL+"&pool_max_conns=1")
	type backend struct{ Pid int32 }
	pid := func() backend {
		b, err := db.One[backend](t.Context(), pool, a, `select pg_backend_pid() as pid`)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	before := pid()
	for _, write := range []func(*pgx.Batch) error{
		func(*pgx.Batch) error { return errStop },
		func(b *pgx.Batch) error { b.Queue(`select 1/0`); return nil },
	} {
		if err := pool.Update(t.Context(), a, func(b *pgx.Batch) { b.Queue(`select`) }, write); err == nil {
			t.Error("Update = nil, want an error")
		}
		if after := pid(); after != before {
			t.Errorf(
				"after a refused Update the connection is %v, want %v: a fault of a client costs no reconnect", after, before,
			)
		}
	}
}

func TestUpdateWritesFromTheRowsItRead(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	a := d.MustTenant(t, "a").ID
	if _, err := d.DB.Exec(t.Context(), a, insertCategory, a, "0"); err != nil {
		t.Fatal(err)
	}
	var group errgroup.Group
	for range 8 { // each adds one to the row that it locked
		group.Go(func() error {
			var found []named
			return d.DB.Update(t.Context(), a, func(b *pgx.Batch) {
				found = nil
				db.QueueRows(b, &found, `select name from categories where tenant_id = $1 for update`, a)
			}, func(b *pgx.Batch) error {
				var n int
				_, err := fmt.Sscan(found[0].Name, &n)
				b.Queue(renameCategory, a, found[0].Name, fmt.Sprint(n+1))
				return err
			})
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	mustHave(t, d.DB, a, "8")
}

func TestTxCommitsOrRollsBack(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	a := d.MustTenant(t, "a").ID
	insert := func(name string, then error) error {
		return d.DB.Tx(t.Context(), a, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), insertCategory, a, name); err != nil {
				return err
			}
			return then
		})
	}
	if err := insert("Kept", nil); err != nil {
		t.Errorf("Tx = %v, want nil", err)
	}
	if err := insert("Gone", errStop); !errors.Is(err, errStop) {
		t.Errorf("Tx = %v, want the error of its function", err)
	}
	mustHave(t, d.DB, a, "Kept")
}

func TestATransactionRunsAgainAfterADeadlock(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	a := d.MustTenant(t, "a").ID
	for _, name := range []string{"Rice", "Tea"} {
		if _, err := d.DB.Exec(t.Context(), a, insertCategory, a, name); err != nil {
			t.Fatal(err)
		}
	}
	var group errgroup.Group
	var bothHold sync.WaitGroup
	bothHold.Add(2)
	runs := make([]int, 2)
	for i, order := range [][]string{{"Rice", "Tea"}, {"Tea", "Rice"}} {
		group.Go(func() error {
			return d.DB.Tx(t.Context(), a, func(tx pgx.Tx) error {
				runs[i]++
				for n, name := range order {
					if _, err := tx.Exec(
						t.Context(), `update categories set updated_at = now() where tenant_id = $1 and name = $2`, a, name,
					); err != nil {
						return err
					}
					if n == 0 && runs[i] == 1 { // the second run after the deadlock does not wait
						bothHold.Done()
						bothHold.Wait()
					}
				}
				return nil
			})
		})
	}
	if err := group.Wait(); err != nil {
		t.Errorf("two transactions that lock crosswise: %v, want both to succeed", err)
	}
	if runs[0]+runs[1] < 3 {
		t.Errorf("they ran %v times, want one of them to run again after a deadlock", runs)
	}
}

func TestAFullPoolReturnsErrBusyAfterFiveSeconds(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	a := d.MustTenant(t, "a").ID
	db := dbtest.MustOpen(t, d.URL+"&pool_max_conns=1")
	err := db.Conn(t.Context(), func(*pgx.Conn) error { // holds the only connection
		start := time.Now()
		if err := db.Run(t.Context(), a, func(*pgx.Batch) {}); !errors.Is(err, tenancy.ErrBusy) {
			t.Errorf("Run on a full pool = %v, want ErrBusy", err)
		}
		if waited := time.Since(start); waited < 4900*time.Millisecond || waited > 30*time.Second {
			t.Errorf("Run on a full pool waited %v, want about five seconds", waited)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := db.Ping(ctx); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, tenancy.ErrBusy) {
			t.Errorf("Ping with a deadline of its own = %v, want DeadlineExceeded", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Ping(t.Context()); err != nil {
		t.Errorf("Ping once the connection is back = %v, want nil", err)
	}
}

// A server that is slow to accept connections does not end the start.
func TestOpenWaitsLongerForAConnectionThanARequest(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	config, err := pgx.ParseConfig(d.URL)
	if err != nil {
		t.Fatal(err)
	}
	door, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { door.Close() })
	go func() {
		for {
			in, err := door.Accept()
			if err != nil {
				return
			}
			time.AfterFunc(1500*time.Millisecond, func() {
				out, err := net.Dial("tcp", net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))))
				if err != nil {
					in.Close()
					return
				}
				go func() { _, _ = io.Copy(in, out); in.Close() }()
				_, _ = io.Copy(out, in)
				out.Close()
			})
		}
	}()
	u, err := url.Parse(d.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = door.Addr().String()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	pool, err := db.Open(ctx, u.String())
	if err != nil {
		t.Fatalf("Open = %v, want nil", err)
	}
	pool.Close()
}

// The API asks clients for a retry if the SQLSTATE says that the connection is lost.
func TestAClosedConnectionHasASQLState(t *testing.T) {
	t.Parallel()
	err := dbtest.New(t).DB.Conn(t.Context(), func(conn *pgx.Conn) error {
		if err := conn.Close(t.Context()); err != nil {
			t.Error(err)
		}
		_, err := conn.Exec(t.Context(), `select 1`)
		return err
	})
	if got, want := db.SQLState(err), "08003"; got != want {
		t.Errorf("SQLState(%v) = %q, want %q", err, got, want)
	}
}

func TestAStatementTimeoutStopsASlowStatement(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	a := d.MustTenant(t, "a").ID
	slow := func(pool *db.DB, limit string) error {
		return pool.Run(t.Context(), a, func(b *pgx.Batch) {
			if limit != "" {
				b.Queue(`select set_config('statement_timeout', $1, true)`, limit)
			}
			b.Queue(`select pg_sleep(60)`)
		})
	}
	for _, test := range []struct {
		name, url, limit string
	}{
		{"set within the batch", d.URL + "&statement_timeout=0", "100ms"},
		{"set by the connection string", d.URL + "&statement_timeout=100ms", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			pool := dbtest.MustOpen(t, test.url)
			start := time.Now()
			if err := slow(pool, test.limit); db.SQLState(err) != "57014" {
				t.Errorf("a statement of a minute = %v, want SQLSTATE 57014", err)
			}
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("it was stopped after %v, want 100 ms", took)
			}
		})
	}
}

func TestOpenSetsTheServersTimeouts(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	type settings struct{ Statement, Lock, Idle, Path, Zone string }
	sql := `select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
	               current_setting('idle_in_transaction_session_timeout') as idle,
	               current_setting('search_path') as path, current_setting('timezone') as zone`
	got, err := db.Call[settings](t.Context(), dbtest.MustOpen(t, d.URL), sql)
	if diff := cmp.Diff([]settings{{"8s", "2s", "10s", "public", "UTC"}}, got); diff != "" || err != nil {
		t.Errorf("settings (-want +got): %v\n%s", err, diff)
	}
	if _, err := db.Open(t.Context(), "postgres://127.0.0.1:1/none?connect_timeout=1"); err == nil {
		t.Error("Open of an unreachable server = nil, want an error")
	}
}

// mustHave fails unless the tenant has exactly these categories.
func mustHave(t *testing.T, pool *db.DB, tenant tenancy.ID, want ...string) {
	t.Helper()
	found, err := db.All[named](t.Context(), pool, tenant, listCategories)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range found {
		got = append(got, f.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("categories (-want +got):\n%s", diff)
	}
}
