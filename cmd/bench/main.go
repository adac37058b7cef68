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
// also compared with DuckDB. With -tenants 10000, many tenants are compared with 100 that have the
// same numbers of products and orders.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
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

	"github.com/storeroom/storeroom/deploy/local"
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
	program  string
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
	o, run := parseFlags(), run
	switch {
	case o.against != "":
		run = compare
	case o.tenants > 0:
		run = compareTenants
	}
	if err := run(ctx, o, os.Stdout); err != nil {
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
	const program = "`file` of the program, built by make build"
	flag.StringVar(&o.program, "program", "bin/storeroom", program)
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
func run(ctx context.Context, o options, out io.Writer) (err error) {
	servers, err := startServers(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, servers.Stop()) }()
	o.redis = servers.RedisURL
	password := rand.Text()
	name := fmt.Sprintf("bench_%d_%d", o.products, o.orders)
	full, err := prepare(ctx, servers.AdminURL, name, password, fullShops(o.products, o.orders), out)
	if err != nil {
		return err
	}
	name = "bench_imports"
	imports, err := emptyDatabase(ctx, servers.AdminURL, name, password)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dropDatabase(context.WithoutCancel(ctx), servers.AdminURL, name)) }()
	_, err = measure(ctx, o, databases{full, imports}, out)
	return err
}

func startServers(ctx context.Context, o options) (*local.Servers, error) {
	return local.Start(ctx, o.dir, local.Options{
		Postgres: true, Redis: true, Durable: true, SharedBuffers: o.buffers,
	})
}

// databases are the filled one, and one without tenants.
type databases struct{ full, imports database }

// emptyDatabase creates a database without tables.
func emptyDatabase(ctx context.Context, server, name, password string) (database, error) {
	if err := dropDatabase(ctx, server, name); err != nil {
		return database{}, err
	}
	return makeDatabase(ctx, server, name, password)
}

// prepare returns a database that contains the shops. It recreates a database of another
// generator version or schema.
func prepare(
	ctx context.Context, server, name, password string, shops []shopSize, out io.Writer,
) (database, error) {
	d, err := makeDatabase(ctx, server, name, password)
	if err != nil {
		return d, err
	}
	err = fill(ctx, d, shops, out)
	if errors.Is(err, errStale) {
		if err := dropDatabase(ctx, server, name); err != nil {
			return d, err
		}
		return prepare(ctx, server, name, password, shops, out)
	}
	if err != nil {
		return d, fmt.Errorf("fill the database %s: %w", name, err)
	}
	return d, nil
}

// measure runs the scenarios and prints the table.
func measure(ctx context.Context, o options, d databases, out io.Writer) (r report, err error) {
	full, err := openService(ctx, d.full, o.redis, large, small, wide)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, full.close()) }()

	var duck *duckDB
	if o.duckdb {
		if duck, err = openDuckDB(ctx, o, d.full, out); err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, duck.close()) }()
	}

	all := scenarios(full, duck, o.products, o.orders)
	if err := r.measureAll(ctx, o, all, report{}, out); err != nil {
		return r, err
	}
	if err := r.measurePrograms(ctx, o, full, d, out); err != nil {
		return r, err
	}
	r.summary(out)
	return r, nil
}

// measurePrograms measures what needs processes of its own.
func (r *report) measurePrograms(
	ctx context.Context, o options, full *service, d databases, out io.Writer,
) (err error) {
	if r.Files, err = measureFiles(ctx, d.full, o); err != nil {
		return err
	}
	if r.Start, err = measureStart(ctx, full, d.full, o); err != nil {
		return err
	}
	return r.measureImports(ctx, o, d.imports, out)
}

// measureAll runs the scenarios and prints each result.
func (r *report) measureAll(ctx context.Context, o options, all []scenario, before report, out io.Writer) error {
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
			result, err := sc.measure(ctx, o, clients)
			if err != nil {
				return fmt.Errorf("%s, %d clients: %w", sc.name, clients, err)
			}
			r.Results = append(r.Results, result)
			fmt.Fprintln(out, result.line(before.find(sc.name, clients)))
		}
	}
	return nil
}

func (sc scenario) measure(ctx context.Context, o options, clients int) (result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // closes the clients
	own, err := openSide(ctx, sc.work, clients)
	if err != nil {
		return result{}, err
	}
	sides := []*side{own}
	var other *side
	if sc.baseline != nil {
		if other, err = openSide(ctx, sc.baseline, clients); err != nil {
			return result{}, err
		}
		sides = append(sides, other)
	}
	if err := alternate(ctx, o.rounds, o.time, sides...); err != nil {
		return result{}, err
	}
	return resultOf(sc, clients, own, other), nil
}
