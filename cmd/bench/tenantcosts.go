package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/procfs"
)

// verifying is matched by -run.
const verifying = "storeroom verify --all"

// printCosts prints what the tenants need: time, memory, CPU time of each request, and space on disk.
func (t *tenantDatabase) printCosts(ctx context.Context, o options, out io.Writer) error {
	after, err := t.memory(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%d tenants\n", len(t.shops))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "  start to the first response\t%.0f ms\t\n", ms(t.started))
	fmt.Fprintf(w, "  memory of the program, at first and after requests of all\t%d, %d MiB\t\n",
		t.before.program>>20, after.program>>20)
	fmt.Fprintf(w, "  private memory of a PostgreSQL connection, likewise\t%d, %d MiB\t\n",
		t.before.connection>>20, after.connection>>20)
	if o.run.MatchString(verifying) {
		took, err := t.verify(ctx, o.program)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "  %s\t%.1f s\t\n", verifying, took.Seconds())
	}
	for _, r := range tenantRequests() {
		if !o.run.MatchString(r.name) {
			continue
		}
		program, postgres, err := t.cost(ctx, o, r)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "  CPU time of the program and of PostgreSQL: %s\t%.2f, %.2f ms\t\n", r.name, program, postgres)
	}
	sizes, err := t.sizes(ctx)
	if err != nil {
		return err
	}
	for _, size := range sizes {
		fmt.Fprintf(w, "  %s\t%.0f bytes\t\n", size.What, size.Bytes)
	}
	return w.Flush()
}

// memory is resident memory in bytes. That of connections is their average, without shared memory.
type memory struct{ program, connection uint64 }

func (t *tenantDatabase) memory(ctx context.Context) (m memory, err error) {
	pids, err := t.connections(ctx)
	if err != nil {
		return m, err
	}
	for _, pid := range pids {
		process, err := procfs.NewProc(pid)
		if err != nil {
			return m, err
		}
		status, err := process.NewStatus()
		if err != nil {
			return m, err
		}
		m.connection += status.RssAnon / uint64(len(pids))
	}
	process, err := procfs.NewProc(t.processes[0].Process.Pid)
	if err != nil {
		return m, err
	}
	status, err := process.NewStatus()
	m.program = status.VmRSS
	return m, err
}

// connections returns the process ids of the program's connections.
func (t *tenantDatabase) connections(ctx context.Context) ([]int, error) {
	rows, _ := t.conn.Query(ctx, `
		select pid from pg_stat_activity where datname = current_database() and usename = 'storeroom_runtime'`)
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err == nil && len(pids) == 0 {
		err = errors.New("the program has no connections")
	}
	return pids, err
}

// cost returns the CPU time of one request in milliseconds. One client sends requests for as long as all rounds of a
// scenario take. A connection that is closed in the meantime is not counted.
func (t *tenantDatabase) cost(ctx context.Context, o options, r tenantRequest) (program, postgres float64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // closes the client
	client, err := openSide(ctx, t.any(r.next), 1)
	if err != nil {
		return 0, 0, err
	}
	before, err := t.cpuTimes(ctx)
	if err != nil {
		return 0, 0, err
	}
	sample, err := client.round(ctx, time.Duration(o.rounds)*o.time)
	if err != nil {
		return 0, 0, err
	}
	after, err := t.cpuTimes(ctx)
	if err != nil {
		return 0, 0, err
	}
	for pid, seconds := range after {
		used := 1000 * (seconds - before[pid]) / float64(len(sample.took))
		if pid == t.processes[0].Process.Pid {
			program += used
		} else {
			postgres += used
		}
	}
	return program, postgres, nil
}

// cpuTimes returns the seconds of the program and of its connections by process id.
func (t *tenantDatabase) cpuTimes(ctx context.Context) (map[int]float64, error) {
	pids, err := t.connections(ctx)
	if err != nil {
		return nil, err
	}
	times := map[int]float64{}
	for _, pid := range append(pids, t.processes[0].Process.Pid) {
		process, err := procfs.NewProc(pid)
		if errors.Is(err, os.ErrNotExist) {
			continue // closed
		}
		if err != nil {
			return nil, err
		}
		stat, err := process.Stat()
		if err != nil {
			return nil, err
		}
		times[pid] = stat.CPUTime()
	}
	return times, nil
}

// verify returns the duration of verify --all.
func (t *tenantDatabase) verify(ctx context.Context, program string) (time.Duration, error) {
	program, err := filepath.Abs(program)
	if err != nil {
		return 0, err
	}
	i := &importer{program: program, d: t.database, peppers: t.peppers}
	began := time.Now()
	_, err = i.run(ctx, "verify", "--all")
	return time.Since(began), err
}

// size is the space of rows on disk, with their indexes.
type size struct {
	What  string
	Bytes float64
}

// sizes returns the space of a product with its stock, tags and ledger, of an order with its items and refunds, of the
// sums of an order, and of a tenant without them.
func (t *tenantDatabase) sizes(ctx context.Context) ([]size, error) {
	rows, _ := t.conn.Query(ctx, `
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
	return pgx.CollectRows(rows, pgx.RowToStructByName[size])
}
