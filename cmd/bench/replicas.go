package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/storeroom/storeroom/deploy/local"
)

const (
	replicaProducts, replicaOrders = 10_000, 100_000 // at most
	replicaClients                 = 2               // that read reports, and as many that send orders
	replicaBulk                    = 50              // orders in a request
	replicaFactor                  = 10              // a round is that many times as long as one of a scenario
)

// replicated is a primary with a standby. One process reads on the standby, another one on the primary. A third one,
// this process, writes.
type replicated struct {
	dir                  string
	servers              []*local.Servers
	service              *service
	programs             *programs
	onPrimary, onReplica string // addresses of the API
	metrics              string // URL of the metrics of the process that reads on the standby
}

// The scenarios. A baseline is the same work while reports are read on the primary.
var (
	reportsAlone  = scenario{name: "replica: reports", against: "primary"}
	reportsBeside = scenario{name: "replica: reports beside orders", against: "primary"}
	ordersBeside  = scenario{name: "replica: orders beside reports", against: "reports on primary", pieces: replicaBulk}
)

// measureReplicas measures reports with and without a replica, alone and beside writers.
func (r *report) measureReplicas(ctx context.Context, o options, out io.Writer) (err error) {
	if !slices.ContainsFunc([]string{reportsAlone.name, reportsBeside.name, ordersBeside.name}, o.run.MatchString) {
		return nil
	}
	s := &replicated{dir: filepath.Join(o.dir, "replicas"), programs: newPrograms(ctx)}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.open(ctx, o, out); err != nil {
		return fmt.Errorf("start a primary with a standby: %w", err)
	}
	results, err := s.measure(ctx, o)
	if err != nil {
		return err
	}
	for _, result := range results {
		r.Results = append(r.Results, result)
		fmt.Fprintln(out, result.line(nil))
	}
	answered, all, err := s.reads(ctx)
	if err == nil {
		fmt.Fprintf(out, "  the replica answered %.0f of the %.0f reads that it may answer\n", answered, all)
	}
	return err
}

// open starts the servers and the processes, and fills the primary.
func (s *replicated) open(ctx context.Context, o options, out io.Writer) error {
	if err := os.RemoveAll(s.dir); err != nil {
		return err
	}
	start := func(name, standbyOf string) (*local.Servers, error) {
		servers, err := local.Start(ctx, filepath.Join(s.dir, name),
			local.Options{Postgres: true, Durable: true, StandbyOf: standbyOf})
		if err == nil {
			s.servers = append(s.servers, servers)
		}
		return servers, err
	}
	primary, err := start("primary", "")
	if err != nil {
		return err
	}
	size := shopSize{slug: large, products: min(o.products, replicaProducts), orders: min(o.orders, replicaOrders)}
	d, err := prepare(ctx, primary.AdminURL, "bench", rand.Text(), []shopSize{size}, out)
	if err != nil {
		return err
	}
	if s.service, err = openService(ctx, d, o.redis, large); err != nil {
		return err
	}
	standby, err := start("standby", primary.AdminURL)
	if err != nil {
		return err
	}
	return s.startPrograms(ctx, o, d, standby)
}

// startPrograms starts the processes that read, and waits until one of them uses the standby.
func (s *replicated) startPrograms(ctx context.Context, o options, d database, standby *local.Servers) (err error) {
	if s.onPrimary, err = s.programs.start(o.program, d, o.redis, s.service.peppers); err != nil {
		return err
	}
	replica, err := withHostOf(d.runtime, standby.AdminURL)
	if err != nil {
		return err
	}
	ops, err := freeAddress()
	if err != nil {
		return err
	}
	s.metrics = "http://" + ops + "/metrics"
	if s.onReplica, err = s.programs.start(o.program, d, o.redis, s.service.peppers,
		"DATABASE_REPLICA_URLS="+replica, "STOREROOM_OPS_ADDR="+ops); err != nil {
		return err
	}
	for end := time.Now().Add(startTimeout); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if inUse, err := s.sum(ctx, "storeroom_replica_in_use", ""); err != nil || inUse > 0 {
			return err
		}
	}
	return errors.New("the program does not use the standby")
}

// withHostOf returns a URL with the host and port of another one.
func withHostOf(address, other string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	o, err := url.Parse(other)
	if err != nil {
		return "", err
	}
	u.Host = o.Host
	return u.String(), nil
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// close stops all processes and deletes the data.
func (s *replicated) close() error {
	err := s.programs.close()
	if s.service != nil {
		err = errors.Join(err, s.service.close())
	}
	for _, servers := range slices.Backward(s.servers) { // the standby first
		err = errors.Join(err, servers.Stop())
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// measure alternates reports on the standby and on the primary, alone and beside writers.
func (s *replicated) measure(ctx context.Context, o options) (results []result, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // closes the clients
	shop := s.service.shops[large]
	onReplica, onPrimary := send(s.onReplica, shop.key, nextReport), send(s.onPrimary, shop.key, nextReport)
	orders := s.service.at(large, shop.bulk(replicaBulk))
	var sides [3][2]*side // alone, beside orders, and these orders
	for i, works := range [][2]work{{onReplica, onPrimary}, {onReplica, onPrimary}, {orders, orders}} {
		for j, work := range works {
			if sides[i][j], err = openSide(ctx, work, replicaClients); err != nil {
				return nil, err
			}
		}
	}
	for n := range o.rounds + 1 {
		for j := range 2 {
			j = (j + n) % 2 // what one side leaves in memory must not always help the other
			if err := together(ctx, replicaFactor*o.time, sides[0][j]); err != nil {
				return nil, err
			}
			if err := together(ctx, replicaFactor*o.time, sides[1][j], sides[2][j]); err != nil {
				return nil, err
			}
		}
	}
	for i, sc := range []scenario{reportsAlone, reportsBeside, ordersBeside} {
		own, other := sides[i][0], sides[i][1]
		own.rounds, other.rounds = own.rounds[1:], other.rounds[1:] // the first one is a warm-up
		results = append(results, resultOf(sc, replicaClients, own, other))
	}
	return results, nil
}

// together runs one round of several sides at the same time.
func together(ctx context.Context, length time.Duration, sides ...*side) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range sides {
		group.Go(func() error {
			sample, err := s.round(ctx, length)
			s.rounds = append(s.rounds, sample)
			return err
		})
	}
	return group.Wait()
}

// nextReport returns a request for a report of 28 days, to which orders are added.
func nextReport(random *mathrand.Rand) request {
	reports := []string{"sales-summary", "products", "customers", "channels"}
	path := "/api/reports/" + reports[random.IntN(len(reports))] + "?from=2025-12-15&to=2026-01-11"
	return request{method: http.MethodGet, path: path}
}

// reads returns the number of reads that the standby answered, and of those that it may answer.
func (s *replicated) reads(ctx context.Context) (answered, all float64, err error) {
	if all, err = s.sum(ctx, "storeroom_replica_reads_total", ""); err == nil {
		answered, err = s.sum(ctx, "storeroom_replica_reads_total", `storeroom_outcome="answered"`)
	}
	return answered, all, err
}

// sum adds the values of a metric. It uses only series with the label.
func (s *replicated) sum(ctx context.Context, metric, label string) (sum float64, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.metrics, nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	series := regexp.MustCompile(`(?m)^` + metric + `\{.*` + label + `.*\} (\S+)$`)
	for _, match := range series.FindAllSubmatch(text, -1) {
		value, err := strconv.ParseFloat(string(match[1]), 64)
		if err != nil {
			return 0, err
		}
		sum += value
	}
	return sum, nil
}
