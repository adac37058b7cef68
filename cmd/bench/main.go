// Command bench measures the service with 100 tenants, one of which has 1,000,000 products
// and 2,000,000 orders:
//
//	go run ./cmd/bench -run '^(get|page)' -clients 1,8
//
// It starts private servers in .local/bench, generates the data once, and sends requests
// over loopback HTTP from 1, 8 and 64 clients. Times depend on the machine and its other
// load, so each scenario runs alternately with a bare handler that does the same work and
// nothing else. Compare the ratios and their spread. The command fails only if a response
// is wrong, never because of a time.
//
// With -against main, the other side is the program of another commit. With -duckdb, reports are
// also compared with DuckDB. With -tenants 10000, many tenants are measured after 100 that have the
// same numbers of products and orders.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	dir      string
	products int
	orders   int
	run      *regexp.Regexp
	clients  []int
	rounds   int
	time     time.Duration // of a round
	program  string        // absolute path
	against  string
	duckdb   bool
	hostile  bool
	tenants  int
	buffers  string // shared_buffers of PostgreSQL
	redis    string // URL, not a flag
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := catch(func() {
		o, run := parseFlags(), run
		switch {
		case o.against != "":
			run = compare
		case o.tenants > 0:
			run = compareTenants
		}
		run(ctx, o, os.Stdout)
	}); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parseFlags() options {
	o := options{run: regexp.MustCompile(""), clients: []int{1, 8, 64}}
	flag.StringVar(&o.dir, "dir", ".local/bench", "`directory` of the servers and their data")
	flag.IntVar(&o.products, "products", 0,
		"products of the large tenant; each `number` has a separate database (default 1000000; 100 for each of -tenants)")
	flag.IntVar(&o.orders, "orders", 0,
		"orders of the large tenant; each `number` has a separate database (default 2000000; 1000 for each of -tenants)")
	flag.Func("run", "measure only the scenarios whose name matches this `regexp`", func(s string) (err error) {
		o.run, err = regexp.Compile(s)
		return err
	})
	const clients = "numbers of clients (default 1,8,64); reports, bulk orders and exports use fixed numbers"
	flag.Func("clients", clients, func(s string) (err error) {
		o.clients, err = parseClients(s)
		return err
	})
	flag.IntVar(&o.rounds, "rounds", 5, "rounds of each scenario")
	flag.DurationVar(&o.time, "time", 300*time.Millisecond, "duration of a round")
	flag.StringVar(&o.program, "program", "bin/storeroom", "`file` of the program, built by make build")
	const against = "compare with this `commit`: build it in a temporary worktree, and alternate its requests with ours"
	flag.StringVar(&o.against, "against", "", against)
	flag.BoolVar(&o.duckdb, "duckdb", false,
		"compare reports with DuckDB too: install it with npm and export the rows of the large tenant once")
	flag.BoolVar(&o.hostile, "hostile", false,
		"import files that need much memory too, of 190 MB with 1,000,000 products")
	flag.IntVar(&o.tenants, "tenants", 0,
		"measure instead 100 tenants, then this `number` of tenants that share as many products and orders")
	flag.Bool("apart", true, "the numbers of -tenants are always measured one after the other")
	flag.StringVar(&o.buffers, "shared-buffers", "", "`memory` of PostgreSQL's shared_buffers (default 128MB)")
	flag.Parse()
	products, orders := 1_000_000, 2_000_000
	if o.tenants > 0 {
		products, orders = 100*o.tenants, 1000*o.tenants
	}
	o.products, o.orders = cmp.Or(o.products, products), cmp.Or(o.orders, orders)
	o.program = must(filepath.Abs(o.program))
	return o
}

func parseClients(list string) ([]int, error) {
	var all []int
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is not a positive number of clients", text)
		}
		all = append(all, n)
	}
	return all, nil
}

// run prepares the servers and the data and runs the scenarios.
func run(ctx context.Context, o options, out io.Writer) {
	servers := startServers(ctx, &o)
	defer closing(servers.Stop)
	full := servers.prepare(ctx, o.databaseName(), fullShops(o.products, o.orders), out)
	var imports database
	if o.measuresImports() {
		const name = "bench_imports" // imports change it, so each run has a new one
		check(servers.drop(ctx, name))
		defer closing(func() error { return servers.drop(context.WithoutCancel(ctx), name) })
		imports = servers.prepare(ctx, name, neighbourShops(), out)
	}
	measure(ctx, o, full, imports, out)
}

// databaseName returns the name of the database of the numbers of products and orders.
func (o options) databaseName() string { return fmt.Sprintf("bench_%d_%d", o.products, o.orders) }

// measure runs the scenarios and prints the table. Imports change a database of their own.
func measure(ctx context.Context, o options, full, imports database, out io.Writer) results {
	s := openService(ctx, full, o.redis, large, small, wide)
	defer closing(s.close)
	all := scenarios(s, o.products, o.orders)
	if o.duckdb {
		duck := openDuckDB(ctx, o, full, out)
		defer closing(duck.close)
		all = append(duckReports(s, duck), all...) // before the writes
	}
	starting := &instance{program: o.program, database: full, redis: o.redis, peppers: s.peppers}
	defer closing(starting.close)
	all = append(all, starting.scenario(s.shops[large].key))

	r := measureAll(ctx, o, all, nil, out)
	if o.measuresImports() {
		i := openImporter(ctx, o, imports)
		defer closing(i.close)
		r = append(r, measureAll(ctx, o, i.scenarios(), nil, out)...)
		if o.run.MatchString(neighbourRow) {
			i.measureNeighbours(ctx, out)
		}
	}
	r.printTargets(out)
	return r
}

// measureAll runs the scenarios and prints each result, beside those of an earlier run.
func measureAll(ctx context.Context, o options, all []scenario, before results, out io.Writer) (r results) {
	fmt.Fprintln(out, tableHead)
	for _, sc := range all {
		if !o.run.MatchString(sc.name) {
			continue
		}
		numbers := o.clients
		if sc.clients != nil {
			numbers = sc.clients
		}
		for _, clients := range numbers {
			if err := catch(func() { r = append(r, sc.measure(ctx, o, clients)) }); err != nil {
				check(fmt.Errorf("%s, %d clients: %w", sc.name, clients, err))
			}
			fmt.Fprintln(out, r[len(r)-1].line(before.find(sc.name, clients)))
		}
	}
	return r
}

func (sc scenario) measure(ctx context.Context, o options, clients int) result {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // closes the clients
	sides := []*side{{work: sc.work, clients: clients, fresh: sc.fresh}}
	if sc.baseline != nil {
		sides = append(sides, &side{work: sc.baseline, clients: clients, fresh: sc.fresh})
	}
	check(alternate(ctx, cmp.Or(sc.rounds, o.rounds), o.time, sides...))
	return sc.result(sides)
}
