// Command bench measures the service on a shop of a million products and two
// million orders among a hundred tenants:
//
//	go run ./cmd/bench -run '^(get|page)' -clients 1,8
//
// It starts private servers under .local/bench, generates the data once and keeps
// it, and drives the product over loopback HTTP from 1, 8 and 64 clients. What a
// figure means depends on the machine and on who else uses it, so each is set
// beside a floor: a handler that does the same work and nothing else, run in
// alternation with it. Trust the ratios, with their spread. Nothing here passes or
// fails by a time: the command fails only when an answer is wrong.
package main

import (
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
	"runtime/pprof"
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
	profile  string
	database string
	redis    string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, parseFlags(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parseFlags() options {
	o := options{run: regexp.MustCompile(""), clients: []int{1, 8, 64}}
	flag.StringVar(&o.dir, "dir", ".local/bench", "where the servers, their data and last.json are kept")
	flag.IntVar(&o.products, "products", 1_000_000, "products of the large tenant; each number has a database of its own")
	flag.IntVar(&o.orders, "orders", 2_000_000, "orders of the large tenant; likewise")
	flag.Func("run", "measure only the scenarios whose name matches this `regexp`", func(s string) (err error) {
		o.run, err = regexp.Compile(s)
		return err
	})
	flag.Func("clients", "numbers of clients (default 1,8,64); reports, orders in bulk and files have their own", func(s string) (err error) {
		o.clients, err = parseClients(s)
		return err
	})
	flag.IntVar(&o.rounds, "rounds", 5, "rounds of each scenario")
	flag.DurationVar(&o.time, "time", 300*time.Millisecond, "length of a round")
	flag.StringVar(&o.program, "program", "bin/storeroom", "the program itself, for what telemetry costs: a `file` that make build makes")
	flag.StringVar(&o.profile, "profile", "", "write a processor profile of the measuring to this `file`")
	flag.StringVar(&o.database, "database", "", "`URL` of a superuser on a PostgreSQL to spare, instead of a private one; the passwords of its storeroom roles change")
	flag.StringVar(&o.redis, "redis", "", "`URL` of a Redis, instead of a private one")
	flag.Parse()
	return o
}

func parseClients(list string) ([]int, error) {
	var all []int
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no number of clients", text)
		}
		all = append(all, n)
	}
	return all, nil
}

// run prepares servers and data, and measures.
func run(ctx context.Context, o options, out io.Writer) (err error) {
	servers, err := local.Start(ctx, o.dir, local.Options{Postgres: o.database == "", Redis: o.redis == "", Durable: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, servers.Stop()) }()
	if o.database == "" {
		o.database = servers.AdminURL
	}
	if o.redis == "" {
		o.redis = servers.RedisURL
	}
	password := rand.Text()
	full, err := prepare(ctx, o, fmt.Sprintf("bench_%d_%d", o.products, o.orders), password, fullShops(o.products, o.orders), out)
	if err != nil {
		return err
	}
	alone := emptyShops(o.products, o.orders)
	empty, err := prepare(ctx, o, fmt.Sprintf("bench_empty_%d_%d", alone[0].products, alone[0].orders), password, alone, out)
	if err != nil {
		return err
	}
	return measure(ctx, o, full, empty, out)
}

// prepare returns a database with the shops in it, made anew if it holds those of
// another generator or schema.
func prepare(ctx context.Context, o options, name, password string, shops []shopSize, out io.Writer) (database, error) {
	d, err := makeDatabase(ctx, o.database, name, password)
	if err != nil {
		return d, err
	}
	err = fill(ctx, d, shops, out)
	if errors.Is(err, errStale) {
		if err := dropDatabase(ctx, o.database, name); err != nil {
			return d, err
		}
		if d, err = makeDatabase(ctx, o.database, name, password); err != nil {
			return d, err
		}
		err = fill(ctx, d, shops, out)
	}
	if err != nil {
		return d, fmt.Errorf("fill the database %s: %w", name, err)
	}
	return d, nil
}

// measure runs the scenarios on two databases that are filled, prints the table and
// keeps the report.
func measure(ctx context.Context, o options, fullDatabase, emptyDatabase database, out io.Writer) (err error) {
	full, err := openService(ctx, fullDatabase, o.redis, large, small, wide)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, full.close()) }()
	empty, err := openService(ctx, emptyDatabase, o.redis, small)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, empty.close()) }()
	telemetry, err := openWatched(ctx, o.program, full, fullDatabase, o.redis)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, telemetry.close()) }()

	path := filepath.Join(o.dir, "last.json")
	before, err := loadReport(path, o.products, o.orders)
	if err != nil {
		return err
	}
	r := newReport(o)
	if r.Allocations, err = allocations(ctx, full); err != nil {
		return fmt.Errorf("count allocations: %w", err)
	}
	broken, err := deadlocks(ctx, full.db)
	if err != nil {
		return err
	}
	if err := profiled(o.profile, func() error {
		return r.measureAll(ctx, o, scenarios(full, empty, telemetry, o.products, o.orders), before, out)
	}); err != nil {
		return err
	}
	if r.Files, err = exported(ctx, fullDatabase, o); err != nil {
		return err
	}
	if r.Deadlocks, err = deadlocks(ctx, full.db); err != nil {
		return err
	}
	r.Deadlocks -= broken
	r.summary(out)
	return r.with(before, o).save(path)
}

// measureAll prints each result as soon as it is there.
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
	own, err := openSide(ctx, sc.work, clients)
	if err != nil {
		return result{}, err
	}
	defer own.close()
	if sc.beside == nil {
		if err := alternate(ctx, o.rounds, o.time, own); err != nil {
			return result{}, err
		}
		return resultOf(sc, clients, own, nil), nil
	}
	other, err := openSide(ctx, sc.beside, clients)
	if err != nil {
		return result{}, err
	}
	defer other.close()
	if err := alternate(ctx, o.rounds, o.time, own, other); err != nil {
		return result{}, err
	}
	return resultOf(sc, clients, own, other), nil
}

// profiled writes a processor profile of f if a file is named.
func profiled(path string, f func() error) (err error) {
	if path == "" {
		return f()
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := pprof.StartCPUProfile(file); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return f()
}
