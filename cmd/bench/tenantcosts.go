package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/procfs"
)

// verifying is matched by -run.
const verifying = "storeroom verify --all"

// printCosts prints what the tenants need: time, memory, CPU time of each request, and space on disk.
func (t *tenantDatabase) printCosts(ctx context.Context, o options, out io.Writer) {
	after := t.memory(ctx)
	fmt.Fprintf(out, "\n%d tenants\n", len(t.keys))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "  start to the first response\t%.0f ms\t\n", ms(t.started))
	fmt.Fprintf(w, "  memory of the program, at first and after requests of all\t%d, %d MiB\t\n",
		t.before.program>>20, after.program>>20)
	fmt.Fprintf(w, "  private memory of a PostgreSQL connection, likewise\t%d, %d MiB\t\n",
		t.before.connection>>20, after.connection>>20)
	if o.run.MatchString(verifying) {
		began := time.Now()
		t.run(ctx, "verify", "--all")
		fmt.Fprintf(w, "  %s\t%.1f s\t\n", verifying, time.Since(began).Seconds())
	}
	for _, sc := range t.scenarios() {
		if o.run.MatchString(sc.name) {
			program, postgres := t.cost(ctx, sc.work, time.Duration(o.rounds)*o.time)
			fmt.Fprintf(w, "  CPU time of the program and of PostgreSQL: %s\t%.2f, %.2f ms\t\n", sc.name, program, postgres)
		}
	}
	for _, size := range t.sizes(ctx) {
		fmt.Fprintf(w, "  %s\t%.0f bytes\t\n", size.What, size.Bytes)
	}
	check(w.Flush())
}

// memory is resident memory in bytes. That of connections is their average, without shared memory.
type memory struct{ program, connection uint64 }

func (t *tenantDatabase) memory(ctx context.Context) (m memory) {
	pids := t.connections(ctx)
	for _, pid := range pids {
		m.connection += must(processStatus(pid)).RssAnon / uint64(len(pids))
	}
	m.program = must(processStatus(t.pid())).VmRSS
	return m
}

// connections returns the process ids of the program's connections.
func (t *tenantDatabase) connections(ctx context.Context) []int {
	pids := collect(ctx, t.conn, pgx.RowTo[int], `
		select pid from pg_stat_activity where datname = current_database() and usename = 'storeroom_runtime'`)
	if len(pids) == 0 {
		check(errors.New("the program has no connections"))
	}
	return pids
}

// cost returns the CPU time of one request in milliseconds. One client sends requests for as long as all rounds of a
// scenario take. A connection that is closed in the meantime is not counted.
func (t *tenantDatabase) cost(ctx context.Context, w work, length time.Duration) (program, postgres float64) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // closes the client
	before := t.cpuTimes(ctx)
	sample := must((&side{work: w, clients: 1}).round(ctx, length))
	for pid, seconds := range t.cpuTimes(ctx) {
		used := 1000 * (seconds - before[pid]) / float64(len(sample.took))
		if pid == t.pid() {
			program += used
		} else {
			postgres += used
		}
	}
	return program, postgres
}

// cpuTimes returns the seconds of the program and of its connections by process id.
func (t *tenantDatabase) cpuTimes(ctx context.Context) map[int]float64 {
	times := map[int]float64{}
	for _, pid := range append(t.connections(ctx), t.pid()) {
		process, err := procfs.NewProc(pid)
		if errors.Is(err, os.ErrNotExist) {
			continue // closed
		}
		check(err)
		times[pid] = must(process.Stat()).CPUTime()
	}
	return times
}

// size is the space of rows on disk, with their indexes.
type size struct {
	What  string
	Bytes float64
}

// sizes returns the space of a product with its stock, tags and ledger, of an order with its items and refunds, of the
// sums of an order, and of a tenant without them.
func (t *tenantDatabase) sizes(ctx context.Context) []size {
	return collect(ctx, t.conn, pgx.RowToStructByName[size], `
		with tables as (
			select pg_total_relation_size(c.oid)::float as bytes,
			       case when relname in ('products', 'product_tags', 'stock', 'inventory_adjustments', 'low_products')
			            then 'a product'
			            when relname in ('orders', 'order_items', 'cancellations', 'refunds', 'refund_items', 'customers')
			            then 'an order'
			            when relname in ('sales_rollups', 'monthly_sums', 'packed_sums', 'unpacked_sums', 'packed_customers',
			                             'unpacked_customers', 'sold_products')
			            then 'the sums of an order'
			            else 'a tenant without them' end as what
			  from pg_class c
			 where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
		), counts (what, rows) as (
			values ('a product', (select count(*) from products)), ('an order', (select count(*) from orders)),
			       ('the sums of an order', (select count(*) from orders)),
			       ('a tenant without them', (select count(*) from tenants))
		)
		select 'space of ' || what as what, sum(bytes) / max(rows) as bytes
		  from tables
		  join counts using (what)
		 group by what
		 order by what`)
}
