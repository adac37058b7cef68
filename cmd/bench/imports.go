package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"mime/multipart"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	maxImportMemory = 256 << 20 // target: bytes of the process
	importTimeout   = 20 * time.Minute
	pollImport      = 50 * time.Millisecond
)

// importer imports files into new tenants of a database whose other tenants are the neighbours.
type importer struct {
	*tenantDatabase
	o       options
	dir     string // of files
	created int    // tenants
}

func openImporter(ctx context.Context, o options, d database) *importer {
	dir := must(os.MkdirTemp("", "storeroom-imports-")) // commands run in another directory
	defer closeFailed(func() error { return os.RemoveAll(dir) })
	return &importer{tenantDatabase: openTenants(ctx, o, d), o: o, dir: dir}
}

func (i *importer) close() error { return errors.Join(i.tenantDatabase.close(), os.RemoveAll(i.dir)) }

// measuresImports reports whether -run matches an import.
func (o options) measuresImports() bool {
	matches := func(sc scenario) bool { return o.run.MatchString(sc.name) }
	return o.run.MatchString(neighbourRow) || slices.ContainsFunc((&importer{o: o}).scenarios(), matches)
}

// scenarios import files with the command and through the API, into new tenants and then again, when nothing changes.
// Hostile files are only planned, also for two tenants at once. Those with the largest rows are imported with other
// content than before.
func (i *importer) scenarios() (all []scenario) {
	add := func(name string, files importFiles, again bool, by, baseline importing) {
		sc := scenario{
			name: "import: " + name, clients: []int{1}, pieces: files.rows, target: target{memory: maxImportMemory},
			fresh: !again, rounds: files.rounds,
		}
		sc.work, sc.memory = i.work(files, again, by)
		if baseline != nil {
			sc.against = "command"
			sc.baseline, _ = i.work(files, again, baseline)
		}
		all = append(all, sc)
	}
	for _, files := range usualFiles(max(100, min(20_000, i.o.orders))) {
		for n, state := range []string{"new ", "unchanged "} {
			add(state+files.name+", command", files, n > 0, i.byCommand(), nil)
			add(state+files.name+", API", files, n > 0, i.byAPI("apply"), i.byCommand())
		}
	}
	if !i.o.hostile {
		return all
	}
	hostile := hostileFiles(190 * max(10_000, min(i.o.products, 1_000_000)))
	for _, files := range hostile {
		add(files.name+", plan by the command", files, false, i.byCommand("--dry-run"), nil)
		add(files.name+", plan by the API", files, false, i.byAPI("cancel"), nil)
		add(files.name+", two plans by the API", files, false, i.twice(i.byAPI("cancel")), nil)
	}
	add(hostile[0].name+", changed by the API", hostile[0], true, i.byAPI("apply"), nil)
	return all
}

// importing imports the files of a directory and returns the peak of the resident memory of the process.
type importing func(ctx context.Context, into shop, dir string) (peak uint64)

// work returns work that imports files into a new tenant, if again is set for the second time, and its memory.
func (i *importer) work(files importFiles, again bool, by importing) (work, func() uint64) {
	var peak uint64
	return func(ctx context.Context, _ int) step {
		into, dir := i.newTenant(ctx), filepath.Join(i.dir, "files")
		files.write(dir)
		if again {
			peak = max(peak, by(ctx, into, dir))
			files.write(dir) // other content of hostile files
		}
		return stepOf(func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, importTimeout)
			defer cancel()
			peak = max(peak, by(ctx, into, dir))
		})
	}, func() uint64 { return peak }
}

func (i *importer) newTenant(ctx context.Context) shop {
	i.created++
	slug := fmt.Sprint("import-", i.created)
	ids := createTenants(ctx, i.database, []shopSize{{slug: slug}})
	return shop{slug: slug, key: createKeys(ctx, i.database, i.peppers, ids...)[0]}
}

// byCommand runs `storeroom import`.
func (i *importer) byCommand(flags ...string) importing {
	return func(ctx context.Context, into shop, dir string) (peak uint64) {
		cmd := i.command(ctx, append(append([]string{"import", "--tenant", into.slug}, flags...), dir)...)
		var output strings.Builder
		cmd.Stdout, cmd.Stderr = &output, &output
		check(cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for {
			select {
			case err := <-ended:
				if err != nil {
					check(fmt.Errorf("storeroom import: %w: %.1000s", err, &output))
				}
				return peak
			case <-time.After(10 * time.Millisecond):
				if now, err := processStatus(cmd.Process.Pid); err == nil {
					peak = max(peak, now.VmHWM) // 0 of a process that has ended
				}
			}
		}
	}
}

// byAPI uploads files, waits for the plan, and applies or cancels it.
func (i *importer) byAPI(end string) importing {
	return func(ctx context.Context, into shop, dir string) (peak uint64) {
		check(resetPeakMemory(i.pid()))
		created := fetchData[importState](ctx, i.address, upload(into.key, dir))
		i.await(ctx, into.key, created.ID, "planned")
		i.endImport(ctx, into.key, created.ID, end)
		if end == "apply" {
			i.await(ctx, into.key, created.ID, "applied")
		}
		return must(processStatus(i.pid())).VmHWM
	}
}

// twice imports the files into another new tenant at the same time: an instance has two workers.
func (i *importer) twice(by importing) importing {
	return func(ctx context.Context, into shop, dir string) (peak uint64) {
		second := i.newTenant(ctx)
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return catch(func() { by(ctx, second, dir) }) })
		err := catch(func() { by(ctx, into, dir) })
		check(errors.Join(err, group.Wait()))
		return must(processStatus(i.pid())).VmHWM
	}
}

// upload returns a request with the files of a directory.
func upload(key, dir string) request {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, entry := range must(os.ReadDir(dir)) {
		part := must(form.CreateFormFile("file", entry.Name()))
		must(part.Write(must(os.ReadFile(filepath.Join(dir, entry.Name())))))
	}
	check(form.Close())
	return request{
		method: "POST", path: "/api/imports", key: key, body: body.Bytes(), contentType: form.FormDataContentType(),
	}
}

// importState is an import in a response.
type importState struct {
	ID      int64
	State   string
	Failure string // empty for null
	Counts  map[string]struct{ Refused int }
}

// await waits until an import has a state. Refused rows are an error: they are not measured.
func (i *importer) await(ctx context.Context, key string, id int64, state string) {
	r := get(fmt.Sprint("/api/imports/", id)).by(key)
	now := fetchData[importState](ctx, i.address, r)
	for ; now.State == "planning" || now.State == "applying"; now = fetchData[importState](ctx, i.address, r) {
		time.Sleep(pollImport)
	}
	if now.State != state {
		check(fmt.Errorf("the import is %s, want %s: %s", now.State, state, now.Failure))
	}
	for kind, counts := range now.Counts {
		if counts.Refused > 0 {
			check(fmt.Errorf("%d rows of kind %s were refused", counts.Refused, kind))
		}
	}
}

// endImport applies or cancels an import.
func (i *importer) endImport(ctx context.Context, key string, id int64, end string) {
	fetchData[importState](ctx, i.address, request{
		method: "POST", path: fmt.Sprintf("/api/imports/%d/%s", id, end), key: key,
	})
}
