package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// Targets of imports.
const (
	maxImportMemory = 256 << 20 // bytes of the process
	maxNeighbours   = 1.5       // times the p99 of other tenants without an import
)

const (
	importRounds  = 3
	importTimeout = 20 * time.Minute
	pollImport    = 50 * time.Millisecond
)

// importer imports files into tenants of an empty database, with one program.
type importer struct {
	program, address string
	d                database
	redis, peppers   string
	server           int // process id
	tenants          int
}

// openImporter migrates a database and starts the service on it.
func openImporter(ctx context.Context, p *programs, program string, d database, redis string) (*importer, error) {
	program, err := filepath.Abs(program)
	i := &importer{program: program, d: d, redis: redis, peppers: newPeppers()}
	if err == nil {
		_, err = i.run(ctx, "migrate")
	}
	if err == nil {
		i.address, err = p.start(program, d, redis, i.peppers)
	}
	if err != nil {
		return nil, err
	}
	i.server = p.processes[len(p.processes)-1].Process.Pid
	return i, nil
}

// command returns a command of the program.
func (i *importer) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := command(ctx, i.program, args...)
	cmd.Env = []string{"DATABASE_ADMIN_URL=" + i.d.migrator, "STOREROOM_KEY_PEPPERS=" + i.peppers}
	return cmd
}

func (i *importer) run(ctx context.Context, args ...string) (stdout string, err error) {
	cmd := i.command(ctx, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("storeroom %s: %w: %s", strings.Join(args, " "), err, &stderr)
	}
	return string(out), err
}

// newTenant creates a tenant and a key.
func (i *importer) newTenant(ctx context.Context) (slug, key string, err error) {
	i.tenants++
	slug = fmt.Sprint("import-", i.tenants)
	if _, err := i.run(ctx, "tenant", "create", "--slug", slug, "--name", slug, "--plan", "enterprise",
		"--rate-limit", "1000000"); err != nil {
		return "", "", err
	}
	out, err := i.run(ctx, "key", "create", "--tenant", slug, "--name", "bench", "--scopes", "full")
	key, _, _ = strings.Cut(out, "\n")
	return slug, key, err
}

// importCommand runs `storeroom import` and returns the peak of its resident memory.
func (i *importer) importCommand(ctx context.Context, slug, _, dir string) (peak uint64, err error) {
	return i.measureCommand(ctx, "import", "--tenant", slug, dir)
}

// dryRun is importCommand that writes nothing.
func (i *importer) dryRun(ctx context.Context, slug, _, dir string) (peak uint64, err error) {
	return i.measureCommand(ctx, "import", "--dry-run", "--tenant", slug, dir)
}

func (i *importer) measureCommand(ctx context.Context, args ...string) (peak uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, importTimeout)
	defer cancel()
	cmd := i.command(ctx, args...)
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			if err != nil {
				err = fmt.Errorf("storeroom import: %w: %.1000s", err, &output)
			}
			return peak, err
		case <-time.After(10 * time.Millisecond):
			if now, err := peakMemoryOf(cmd.Process.Pid); err == nil {
				peak = max(peak, now) // 0 of a process that has ended
			}
		}
	}
}

// importAPI uploads the files of a directory, waits for the plan and applies it. It returns the peak of the resident
// memory of the service.
func (i *importer) importAPI(ctx context.Context, _, key, dir string) (peak uint64, err error) {
	if err := resetPeakMemory(i.server); err != nil {
		return 0, err
	}
	id, err := i.upload(ctx, key, dir)
	if err == nil {
		err = i.await(ctx, key, id, "planned")
	}
	if err == nil {
		_, err = i.call(ctx, key, "POST", fmt.Sprintf("/api/imports/%d/apply", id), "", nil)
	}
	if err == nil {
		err = i.await(ctx, key, id, "applied")
	}
	if err != nil {
		return 0, err
	}
	return peakMemoryOf(i.server)
}

// planAPI is importAPI that cancels the plan.
func (i *importer) planAPI(ctx context.Context, _, key, dir string) (peak uint64, err error) {
	if err := resetPeakMemory(i.server); err != nil {
		return 0, err
	}
	id, err := i.upload(ctx, key, dir)
	if err == nil {
		err = i.await(ctx, key, id, "planned")
	}
	if err == nil {
		_, err = i.call(ctx, key, "POST", fmt.Sprintf("/api/imports/%d/cancel", id), "", nil)
	}
	if err != nil {
		return 0, err
	}
	return peakMemoryOf(i.server)
}

// planTwiceAPI is planAPI of two tenants at once: an instance has two workers.
func (i *importer) planTwiceAPI(ctx context.Context, slug, key, dir string) (peak uint64, err error) {
	_, second, err := i.newTenant(ctx)
	if err != nil {
		return 0, err
	}
	other := make(chan error, 1)
	go func() {
		_, err := i.planAPI(ctx, "", second, dir)
		other <- err
	}()
	_, err = i.planAPI(ctx, slug, key, dir)
	if err := errors.Join(err, <-other); err != nil {
		return 0, err
	}
	return peakMemoryOf(i.server)
}

// upload sends the files of a directory and returns the id of the import.
func (i *importer) upload(ctx context.Context, key, dir string) (id int64, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	body, in := io.Pipe()
	defer body.Close()
	form := multipart.NewWriter(in)
	go func() {
		var err error
		for _, entry := range entries {
			part, partErr := form.CreateFormFile("file", entry.Name())
			file, openErr := os.Open(filepath.Join(dir, entry.Name()))
			if err = errors.Join(partErr, openErr); err != nil {
				break
			}
			_, err = io.Copy(part, file)
			if err = errors.Join(err, file.Close()); err != nil {
				break
			}
		}
		in.CloseWithError(errors.Join(err, form.Close()))
	}()
	created, err := i.call(ctx, key, "POST", "/api/imports", form.FormDataContentType(), body)
	if err != nil {
		return 0, err
	}
	return created[0].ID, nil
}

// importState is an import in a response.
type importState struct {
	ID       int64
	State    string
	Failure  string // empty for null
	Counts   map[string]struct{ Refused int }
	Progress struct {
		Rows int
		Of   *int
	}
}

// await waits until an import has a state. Refused rows are an error: they are not measured.
func (i *importer) await(ctx context.Context, key string, id int64, state string) error {
	ctx, cancel := context.WithTimeout(ctx, importTimeout)
	defer cancel()
	for {
		now, err := i.call(ctx, key, "GET", fmt.Sprint("/api/imports/", id), "", nil)
		if err != nil {
			return err
		}
		if now[0].State == state {
			return now[0].refused()
		}
		if now[0].State != "planning" && now[0].State != "applying" {
			return fmt.Errorf("the import is %s, want %s: %s", now[0].State, state, now[0].Failure)
		}
		time.Sleep(pollImport)
	}
}

func (s importState) refused() error {
	for kind, counts := range s.Counts {
		if counts.Refused > 0 {
			return fmt.Errorf("%d rows of kind %s were refused", counts.Refused, kind)
		}
	}
	return nil
}

// call sends a request about imports and returns the import or the imports of the response.
func (i *importer) call(
	ctx context.Context, key, method, path, contentType string, body io.Reader,
) (states []importState, err error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+i.address+path, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode/100 != 2 {
		return nil, fmt.Errorf("%s %s = %d %.500s %w", method, path, response.StatusCode, content, err)
	}
	var one struct{ Data importState }
	if err := json.Unmarshal(content, &one); err == nil {
		return []importState{one.Data}, nil
	}
	var list struct{ Data []importState }
	if err := json.Unmarshal(content, &list); err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return list.Data, nil
}

// resetPeakMemory makes peakMemoryOf forget what a process used so far.
func resetPeakMemory(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// peakMemoryOf returns the peak of the resident memory of a process in bytes.
func peakMemoryOf(pid int) (uint64, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	status, err := process.NewStatus()
	return status.VmHWM, err
}
