package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	numNeighbours  = 10
	neighbourPause = 500 * time.Millisecond // between two requests of a neighbour
	roundFactor    = 50                     // a round is that many times as long as one of a scenario
)

// neighbours is the measurement of steady requests of other tenants beside a large import.
type neighbours struct {
	Requests int     // of a side
	Without  float64 // p99 in milliseconds
	With     float64 // p99
	P50      float64 // without
	WithP50  float64
	Rows     int // planned or applied meanwhile
}

func (n neighbours) String() string {
	met := map[bool]string{true: "met", false: "MISSED"}[n.With <= maxNeighbours*n.Without]
	return fmt.Sprintf("  p99 of %d requests of %d other tenants: %.1f ms without an import, %.1f ms with one, %s ≤ %.1f times; "+
		"p50: %.1f and %.1f ms; %d rows planned or applied", n.Requests, numNeighbours, n.Without, n.With, met, maxNeighbours,
		n.P50, n.WithP50, n.Rows)
}

// neighbour is a tenant that sends a request every neighbourPause.
type neighbour struct {
	key  string
	sent int
}

// measureNeighbours sends the requests of the neighbours alternately without and with an import of another tenant.
func measureNeighbours(ctx context.Context, o options, i *importer) (result neighbours, err error) {
	dir, err := os.MkdirTemp("", "storeroom-imports-") // commands run in another directory
	if err != nil {
		return result, err
	}
	defer os.RemoveAll(dir)
	for _, files := range usualFiles(max(100, min(200_000, 5*o.orders))) {
		if _, err := files.write(filepath.Join(dir, files.name)); err != nil {
			return result, err
		}
	}
	var all []*neighbour
	for range numNeighbours {
		n, err := i.newNeighbour(ctx)
		if err != nil {
			return result, err
		}
		all = append(all, n)
	}
	// In a service that has run for some time, connections have prepared statements, and tables are not new.
	for _, name := range []string{"orders", "products"} {
		if _, _, err := i.trafficBesideImport(ctx, all, roundFactor*o.time, filepath.Join(dir, name)); err != nil {
			return result, err
		}
	}
	var without, with []time.Duration
	for round := range max(2, o.rounds) {
		took, err := i.traffic(ctx, all, roundFactor*o.time)
		if err != nil {
			return result, err
		}
		without = append(without, took...)
		name := []string{"orders", "products"}[round%2]
		took, rows, err := i.trafficBesideImport(ctx, all, roundFactor*o.time, filepath.Join(dir, name))
		if err != nil {
			return result, err
		}
		with = append(with, took...)
		result.Rows += rows
	}
	slices.Sort(without)
	slices.Sort(with)
	at := func(took []time.Duration, percent int) float64 { return ms(took[(len(took)-1)*percent/100]) }
	result.Requests = len(with)
	result.Without, result.With = at(without, 99), at(with, 99)
	result.P50, result.WithP50 = at(without, 50), at(with, 50)
	return result, nil
}

// newNeighbour creates a tenant with 50 products and 200 orders.
func (i *importer) newNeighbour(ctx context.Context) (*neighbour, error) {
	_, key, err := i.newTenant(ctx)
	if err != nil {
		return nil, err
	}
	n := &neighbour{key: key}
	var products, orders []string
	for k := range 50 {
		products = append(products, fmt.Sprintf(`{"sku": "P-%d", "name": "Lamp %d", "price": %d, "cost": 1}`, k, k, 2+k))
	}
	today := time.Now().UTC()
	for k := range 200 {
		orders = append(orders, fmt.Sprintf(`{"number": "O-%d", "placed_at": %q, "channel": "web", "items": [
			{"sku": "P-%d", "quantity": 1, "unit_price": 5}]}`, k, today.AddDate(0, 0, -k%28).Format(time.RFC3339), k%50))
	}
	if err := errors.Join(
		i.send(ctx, key, "POST", "/api/products/bulk", `{"items": [`+strings.Join(products, ",")+`]}`),
		i.send(ctx, key, "POST", "/api/orders/bulk", `{"orders": [`+strings.Join(orders, ",")+`]}`),
	); err != nil {
		return nil, err
	}
	return n, nil
}

// next returns the next request.
func (n *neighbour) next() (method, path, body string) {
	n.sent++
	today := time.Now().UTC()
	switch n.sent % 6 {
	case 0:
		return "GET", fmt.Sprintf("/api/products/sku/P-%d", n.sent%50), ""
	case 1:
		return "GET", "/api/products?per_page=25&search=lamp", ""
	case 2:
		return "POST", "/api/products", fmt.Sprintf(`{"sku": "NEW-%d", "name": "New", "price": 3}`, n.sent)
	case 3:
		return "POST", "/api/orders", fmt.Sprintf(`{"number": "NEW-%d", "placed_at": %q, "channel": "web",
			"items": [{"sku": "P-1", "quantity": 1, "unit_price": 5}]}`, n.sent, today.Format(time.RFC3339))
	case 4:
		return "GET", fmt.Sprintf("/api/reports/sales-summary?from=%s&to=%s", today.AddDate(0, 0, -27).Format(time.DateOnly),
			today.Format(time.DateOnly)), ""
	}
	return "POST", "/api/products/bulk", fmt.Sprintf(`{"items": [{"sku": "P-%d", "name": "Lamp", "price": %d}]}`, n.sent%50, n.sent)
}

// send sends a request and requires success.
func (i *importer) send(ctx context.Context, key, method, path, body string) error {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+i.address+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode/100 != 2 || response.StatusCode == http.StatusMultiStatus {
		return fmt.Errorf("%s %s = %d %.500s %w", method, path, response.StatusCode, content, err)
	}
	return nil
}

// traffic sends requests at a steady rate, whether or not earlier ones have been answered, and returns how long they
// took.
func (i *importer) traffic(ctx context.Context, all []*neighbour, length time.Duration) (took []time.Duration, err error) {
	var mu sync.Mutex
	var group sync.WaitGroup
	began, every := time.Now(), neighbourPause/time.Duration(len(all))
	for k := range max(len(all), int(length/every)) {
		time.Sleep(time.Until(began.Add(time.Duration(k) * every)))
		one := all[k%len(all)]
		method, path, body := one.next()
		group.Go(func() {
			sent := time.Now()
			sendErr := i.send(ctx, one.key, method, path, body)
			mu.Lock()
			defer mu.Unlock()
			took, err = append(took, time.Since(sent)), errors.Join(err, sendErr)
		})
	}
	group.Wait()
	return took, err
}

// trafficBesideImport is traffic while another tenant uploads files, which are planned and applied as far as the time
// suffices. It returns the number of rows.
func (i *importer) trafficBesideImport(
	ctx context.Context, all []*neighbour, length time.Duration, dir string,
) (took []time.Duration, rows int, err error) {
	_, key, err := i.newTenant(ctx)
	if err != nil {
		return nil, 0, err
	}
	importing, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		var err error
		for err == nil && importing.Err() == nil {
			_, err = i.importAPI(importing, "", key, dir)
		}
		ended <- err
	}()
	took, err = i.traffic(ctx, all, length)
	err = errors.Join(err, i.awaitRows(ctx, key))
	stop()
	if importErr := <-ended; importErr != nil && !errors.Is(importErr, context.Canceled) {
		err = errors.Join(err, importErr)
	}
	rows, cancelErr := i.cancelImports(ctx, key)
	return took, rows, errors.Join(err, cancelErr)
}

// awaitRows waits for the first rows of the imports of a tenant, for a minute at most. On a busy machine, the traffic
// of a short run ends before.
func (i *importer) awaitRows(ctx context.Context, key string) error {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		list, err := i.call(ctx, key, "GET", "/api/imports", "", nil)
		if err != nil {
			return err
		}
		for _, one := range list {
			now, err := i.call(ctx, key, "GET", fmt.Sprint("/api/imports/", one.ID), "", nil)
			if err != nil || now[0].Progress.Rows > 0 {
				return err
			}
		}
	}
	return nil
}

// cancelImports cancels the imports of a tenant and returns how many rows they have planned and applied.
func (i *importer) cancelImports(ctx context.Context, key string) (rows int, err error) {
	list, err := i.call(ctx, key, "GET", "/api/imports?per_page=100", "", nil)
	if err != nil {
		return 0, err
	}
	for _, one := range list {
		now, err := i.call(ctx, key, "GET", fmt.Sprint("/api/imports/", one.ID), "", nil)
		if err != nil {
			return 0, err
		}
		rows += now[0].Progress.Rows
		switch now[0].State {
		case "planning", "planned", "applying":
			if now[0].Progress.Of != nil && now[0].State == "applying" {
				rows += *now[0].Progress.Of
			}
			if _, err := i.call(ctx, key, "POST", fmt.Sprintf("/api/imports/%d/cancel", one.ID), "", nil); err != nil {
				return 0, err
			}
		case "applied":
			rows += now[0].Progress.Rows
		}
	}
	return rows, nil
}
