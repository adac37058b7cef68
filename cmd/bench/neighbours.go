package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"
)

const (
	numNeighbours  = 10
	neighbourPause = 500 * time.Millisecond // between two requests of a neighbour
	roundFactor    = 50                     // a round is that many times as long as one of a scenario
	maxNeighbours  = 1.5                    // target: times the p99 without an import

	neighbourRow = "import: other tenants" // the name of the measurement, which -run matches
)

// neighbourShops returns the tenants beside an import.
func neighbourShops() []shopSize {
	return tenantShops(numNeighbours, 50*numNeighbours, 200*numNeighbours)
}

// measureNeighbours sends the requests of the neighbours alternately without and with an import of another tenant, and
// prints how long they take.
func (i *importer) measureNeighbours(ctx context.Context, out io.Writer) {
	var dirs []string
	for _, files := range usualFiles(max(100, min(200_000, 5*i.o.orders))) {
		dirs = append(dirs, filepath.Join(i.dir, files.name))
		files.write(dirs[len(dirs)-1])
	}
	length := roundFactor * i.o.time
	// In a service that has run for some time, connections have prepared statements, and tables are not new.
	for _, dir := range dirs {
		i.trafficBesideImport(ctx, length, dir)
	}
	var without, with side
	for round := range max(2, i.o.rounds) {
		without.rounds = append(without.rounds, must(i.traffic(ctx, length)))
		with.rounds = append(with.rounds, i.trafficBesideImport(ctx, length, dirs[round%len(dirs)]))
	}
	p99, most := ms(with.percentile(0.99)), maxNeighbours*ms(without.percentile(0.99))
	requests := 0
	for _, round := range with.rounds {
		requests += len(round.took)
	}
	fmt.Fprintf(out, "%s: p99 of %d requests of %d other tenants: %.1f ms without an import, %.1f ms with one, "+
		"%s ≤ %.1f times; p50: %.1f and %.1f ms\n", neighbourRow, requests, len(i.keys), most/maxNeighbours, p99,
		verdict(p99 <= most), maxNeighbours, ms(without.percentile(0.50)), ms(with.percentile(0.50)))
}

// traffic sends requests of all neighbours at a steady rate, whether or not earlier ones have been answered.
func (i *importer) traffic(ctx context.Context, length time.Duration) (all sample, err error) {
	requests := []func(*rand.Rand) request{
		i.shop.bySKU,
		always("/api/products?per_page=25&search=" + commonWord),
		i.shop.newProduct,
		i.shop.bulk(1),
		always("/api/reports/sales-summary?from=2025-12-15&to=2026-01-11"), // with new orders
		func(random *rand.Rand) request { return i.shop.upserts(2, random) },
	}
	var mu sync.Mutex
	var group sync.WaitGroup
	random, tenants := newRandom(0), len(i.keys)
	began, every := time.Now(), neighbourPause/time.Duration(tenants)
	for k := range max(tenants, int(length/every)) {
		time.Sleep(time.Until(began.Add(time.Duration(k) * every)))
		r := requests[k/tenants%len(requests)](random).by(i.keys[k%tenants])
		group.Go(func() {
			sent := time.Now()
			sendErr := catch(func() { fetch(ctx, i.address, r, io.Discard) })
			mu.Lock()
			defer mu.Unlock()
			all.took, err = append(all.took, time.Since(sent)), errors.Join(err, sendErr)
		})
	}
	group.Wait()
	all.elapsed = time.Since(began)
	return all, err
}

// trafficBesideImport is traffic while another tenant uploads files, which are planned and applied as far as the time
// suffices.
func (i *importer) trafficBesideImport(ctx context.Context, length time.Duration, dir string) sample {
	into := i.newTenant(ctx)
	importCtx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		var err error
		for err == nil {
			err = catch(func() { i.byAPI("apply")(importCtx, into, dir) })
		}
		ended <- err
	}()
	took, err := i.traffic(ctx, length)
	stop()
	if importErr := <-ended; !errors.Is(importErr, context.Canceled) {
		err = errors.Join(err, importErr)
	}
	check(err)
	list := get("/api/imports?per_page=100").by(into.key)
	for _, one := range fetchData[[]importState](ctx, i.address, list) {
		switch one.State {
		case "planning", "planned", "applying":
			i.endImport(ctx, into.key, one.ID, "cancel")
		}
	}
	return took
}
