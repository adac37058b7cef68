package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// imported is the measurement of an import in one way.
type imported struct {
	Import  string
	Bytes   int64
	Rate    spread // rows per second
	Against string
	Ratio   spread
	Peak    uint64 // highest resident memory of the process
	Met     bool
}

func (i imported) String() string {
	ratio := ""
	if i.Against != "" {
		ratio = fmt.Sprintf(", %.2f (%.2f-%.2f) of %s", i.Ratio.Median, i.Ratio.Min, i.Ratio.Max, i.Against)
	}
	met := map[bool]string{true: "met", false: "MISSED"}
	return fmt.Sprintf("  %-58s %6.1f MB, %6.0f rows per second%s; at most %d MiB of memory, %s ≤ %d MiB",
		i.Import, float64(i.Bytes)/1e6, i.Rate.Median, ratio, i.Peak>>20, met[i.Met], maxImportMemory>>20)
}

// way is how files are imported.
type way struct {
	name string
	of   *importer
	run  func(ctx context.Context, slug, key, dir string) (peak uint64, err error)
}

// measureImports imports files with the command and through the API alternately. Each import is repeated at once: then
// all rows are unchanged.
func measureImports(ctx context.Context, o options, i *importer, out io.Writer) ([]imported, error) {
	dir, err := os.MkdirTemp("", "storeroom-imports-") // commands run in another directory
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ways := []way{{"command", i, i.importCommand}, {"API", i, i.importAPI}}
	var all []imported
	for _, files := range usualFiles(max(100, min(20_000, o.orders))) {
		if !o.run.MatchString("import: " + files.name) {
			continue
		}
		bytes, err := files.write(filepath.Join(dir, files.name))
		if err != nil {
			return nil, err
		}
		results, err := alternateImports(ctx, o, ways, files, filepath.Join(dir, files.name))
		if err != nil {
			return nil, fmt.Errorf("import %s: %w", files.name, err)
		}
		for _, r := range results {
			r.Bytes = bytes
			fmt.Fprintln(out, r)
			all = append(all, r)
		}
	}
	if !o.hostile {
		return all, nil
	}
	for _, files := range hostileFiles(190 * max(10_000, min(o.products, 1_000_000))) {
		if !o.run.MatchString("import: " + files.name) {
			continue
		}
		results, err := measureHostile(ctx, i, files, filepath.Join(dir, "hostile"))
		if err != nil {
			return nil, fmt.Errorf("import %s: %w", files.name, err)
		}
		for _, r := range results {
			fmt.Fprintln(out, r)
			all = append(all, r)
		}
	}
	return all, nil
}

// measureHostile plans files with the command and through the API, also for two tenants at once. Those with the largest
// rows are also imported, then again with other content.
func measureHostile(ctx context.Context, i *importer, files importFiles, dir string) (all []imported, err error) {
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ways := []way{
		{"plan by the command", i, i.dryRun},
		{"plan by the API", i, i.planAPI},
		{"two plans by the API", i, i.planTwiceAPI},
	}
	times := 1
	if files.large {
		ways, times = append(ways, way{"new and changed by the API", i, i.importAPI}), 2
	}
	for _, w := range ways {
		slug, key, err := i.newTenant(ctx)
		if err != nil {
			return nil, err
		}
		r := imported{Import: fmt.Sprintf("%s, %s", files.name, w.name)}
		var rates []float64
		for range times {
			if r.Bytes, err = files.write(dir); err != nil {
				return nil, err
			}
			began := time.Now()
			peak, err := w.run(ctx, slug, key, dir)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
			rates, r.Peak = append(rates, float64(files.rows)/time.Since(began).Seconds()), max(r.Peak, peak)
		}
		r.Rate, r.Met = spreadOf(rates), r.Peak <= maxImportMemory
		all = append(all, r)
	}
	return all, nil
}

// alternateImports imports files in each way in turn, in several rounds. The first way is what the others are compared
// with.
func alternateImports(ctx context.Context, o options, ways []way, files importFiles, dir string) ([]imported, error) {
	states := []string{"new", "unchanged"}
	rates := map[string][]float64{}
	peaks := map[string]uint64{}
	key := func(w way, state string) string { return fmt.Sprintf("%s %s, %s", state, files.name, w.name) }
	for range min(o.rounds, importRounds) {
		for _, w := range ways {
			seconds, peak, err := w.measure(ctx, dir, len(states))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
			for n, state := range states {
				name := key(w, state)
				rates[name], peaks[name] = append(rates[name], float64(files.rows)/seconds[n]), max(peaks[name], peak)
			}
		}
	}
	var all []imported
	for n, w := range ways {
		for _, state := range states {
			name := key(w, state)
			r := imported{Import: name, Peak: peaks[name], Met: peaks[name] <= maxImportMemory}
			if n > 0 {
				var ratios []float64
				for round, rate := range rates[name] {
					ratios = append(ratios, rate/rates[key(ways[0], state)][round])
				}
				r.Against, r.Ratio = ways[0].name, spreadOf(ratios)
			}
			r.Rate = spreadOf(append([]float64(nil), rates[name]...))
			all = append(all, r)
		}
	}
	return all, nil
}

// measure imports the files into a new tenant, several times.
func (w way) measure(ctx context.Context, dir string, times int) (seconds []float64, peak uint64, err error) {
	slug, key, err := w.of.newTenant(ctx)
	if err != nil {
		return nil, 0, err
	}
	for range times {
		began := time.Now()
		used, err := w.run(ctx, slug, key, dir)
		if err != nil {
			return nil, 0, err
		}
		seconds, peak = append(seconds, time.Since(began).Seconds()), max(peak, used)
	}
	return seconds, peak, nil
}

// neighbourRow is the name of the measurement of other tenants.
const neighbourRow = "import: other tenants"

// measuresImports reports whether -run matches an import.
func (o options) measuresImports() bool {
	names := []string{neighbourRow}
	for _, files := range append(usualFiles(0), hostileFiles(0)...) {
		names = append(names, "import: "+files.name)
	}
	return slices.ContainsFunc(names, o.run.MatchString)
}

// measureImports measures imports, and other tenants beside an import.
func (r *report) measureImports(ctx context.Context, o options, d database, out io.Writer) (err error) {
	if !o.measuresImports() {
		return nil
	}
	fmt.Fprintln(out, "\nimports:")
	p := newPrograms(ctx)
	defer func() { err = errors.Join(err, p.close()) }()
	i, err := openImporter(ctx, p, o.program, d, o.redis)
	if err != nil {
		return err
	}
	if r.Imports, err = measureImports(ctx, o, i, out); err != nil {
		return err
	}
	if o.run.MatchString(neighbourRow) {
		one, err := measureNeighbours(ctx, o, i)
		if err != nil {
			return fmt.Errorf("other tenants beside an import: %w", err)
		}
		r.Neighbours = &one
		fmt.Fprintln(out, one)
	}
	return nil
}
