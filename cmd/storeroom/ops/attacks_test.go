//go:build ops

package ops

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/storeroom/storeroom/deploy/local"
)

// Whatever hostile tenants and clients do, ten other tenants see no failed request, their p99 latency is at most 100
// ms, or 10 times the one without the attack if that is more, and the process stays below the recommended memory.
// PostgreSQL does not wait for its disk, which all processes of the machine share. It has no statistics of tenants that
// are created during the test: autovacuum is off, and the test removes dead rows before each round.
func TestNoAttackAffectsOtherTenants(t *testing.T) {
	const without, with = 10 * time.Second, 25 * time.Second
	h := newServiceOn(t, startServer(t, local.Options{Postgres: true}))
	h.exec(t, `
		do $$
		declare
			name regclass;
		begin
			for name in select oid from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace loop
				execute format('alter table %s set (autovacuum_enabled = off)', name);
			end loop;
		end $$`)
	target := &Target{
		TB: t, Program: program, Dir: h.dir, Environ: h.environ, Divisor: 1,
		SQL: func(statement string) { t.Helper(); h.exec(t, statement) },
	}
	start := func(t *testing.T) *instance {
		h.flushRedis(t) // instances that have ended would still get a share of the limits
		i := h.startInstance(t, freePort(t))
		target.TB, target.Address, target.PID = t, strings.TrimPrefix(i.base, "http://"), i.Process.Pid
		return i
	}
	first := start(t)
	others := NewOthers(target, 10)
	first.kill(t)
	h.exec(t, "analyze")

	table := Header
	for _, a := range All {
		t.Run(a.Name, func(t *testing.T) {
			h.exec(t, "vacuum")
			i := start(t)
			r := a.Run(target, others, without, with)
			i.kill(t)
			for _, fault := range r.Faults() {
				t.Error(fault)
			}
			t.Logf("%s attackers: %s", r.Row(a.Name), r.Attackers())
			table += "\n" + r.Row(a.Name)
		})
	}
	t.Log("\n" + table)
}

// exec runs a statement as the superuser.
func (h *service) exec(t *testing.T, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), h.database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// flushRedis removes all data of Redis.
func (h *service) flushRedis(t *testing.T) {
	t.Helper()
	o, err := redis.ParseURL(h.redis.RedisURL)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(o)
	defer client.Close()
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}

// kill ends a process and waits for its exit.
func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.done
}
