package changeplan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/jobs"
)

const (
	chunkSize    = 1 << 20
	planTimeout  = 30 * time.Minute
	maxPlanBytes = 1 << 30 // stored parts of a plan
	maxStored    = 4 << 30 // stored parts of a tenant, before another plan
	maxPlans     = 1000    // of a tenant, before another one with files
)

// LimitError reports that the tenant cannot have more plans. It is shown to the user.
type LimitError string

// Error implements error.
func (e LimitError) Error() string { return string(e) }

const (
	// ErrFull reports that the plans of the tenant take as much space as they may.
	ErrFull LimitError = "The imports and plans that can be undone take 4 GiB. " +
		"Cancel those that are not applied, or wait until others expire."
	// ErrTooMany reports that the tenant has 1,000 plans.
	ErrTooMany LimitError = "1,000 imports and plans are stored. Wait until some expire."
)

// These are shown to the user.
const errPlanTimeout = Failure("Computing the plan takes longer than 30 minutes. Divide it into several.")

const errPlanBytes = Failure("The changes take more than 1 GiB. Divide them into several plans.")

// Failure is the reason why a plan cannot be computed. It is shown to the user.
type Failure string

// Error implements error.
func (f Failure) Error() string { return string(f) }

// CreateFromFiles stores a plan in the state planning, with the files from which a worker computes it. write stores
// them with add, and returns the title and the details of the plan. It is called again after a deadlock.
// CreateFromFiles returns a LimitError if the tenant has too many plans.
func (s *Store) CreateFromFiles(
	ctx context.Context, tenant tenancy.ID, by tenancy.Actor, kind string,
	write func(add func(name string, content io.Reader) error) (title string, details []byte, err error),
) (id int64, err error) {
	of, err := s.kind(Plan{Kind: kind})
	if err != nil {
		return 0, err
	}
	err = s.db.Tx(ctx, tenant, func(tx pgx.Tx) error {
		if err := s.checkLimits(ctx, tx, tenant, kind, of.Rules(), 1); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, `
			insert into change_plans (tenant_id, kind, state, title, actor, expires_at, traceparent)
			values ($1, $2, 'planning', '', $3, now() + interval '24 hours', $4)
			returning id`, tenant, kind, by.Name, traceparent(ctx)).Scan(&id)
		if err != nil {
			return err
		}
		files := 0
		title, details, err := write(func(name string, content io.Reader) error {
			files++
			return storeFile(ctx, tx, tenant, id, files-1, name, content)
		})
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `update change_plans set title = $3, details = $4 where tenant_id = $1 and id = $2`,
			tenant, id, title, details)
		if err != nil {
			return err
		}
		// Uploads at the same time see each other only from here on, one after the other.
		_, err = tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended('new plans of tenant ' || $1::bigint, 0))`, tenant)
		if err != nil {
			return err
		}
		return s.checkLimits(ctx, tx, tenant, kind, of.Rules(), 0)
	})
	s.wakeUp()
	return id, wrap(err, "create a plan")
}

// checkLimits returns a LimitError if the tenant may not have so many further plans.
func (s *Store) checkLimits(
	ctx context.Context, tx pgx.Tx, tenant tenancy.ID, kind string, rules Rules, further int64,
) error {
	var plans, unfinished, stored int64
	err := tx.QueryRow(ctx, `
		select (select count(*) from change_plans where tenant_id = $1 and kind = any ($3)),
		       (select count(*)
		          from change_plans p
		         where p.tenant_id = $1
		           and p.kind = $2
		           and exists (select from change_plan_files f where f.tenant_id = $1 and f.plan_id = p.id)),
		       (`+storedBytes+`)`, tenant, kind, s.limitedKinds(),
	).Scan(&plans, &unfinished, &stored)
	switch {
	case err != nil:
		return err
	case unfinished+further > int64(rules.MaxUnfinished):
		return rules.TooMany
	case plans+further > s.maxPlans:
		return ErrTooMany
	case stored >= s.maxStored:
		return ErrFull
	}
	return nil
}

func (s *Store) limitedKinds() (kinds []string) {
	for name, kind := range s.kinds {
		if kind.Rules().MaxUnfinished > 0 {
			kinds = append(kinds, name)
		}
	}
	return kinds
}

// storedBytes selects the size of the parts of a tenant.
const storedBytes = `
	select coalesce(sum(pg_column_size(rows) + coalesce(pg_column_size(result), 0)), 0)::bigint
	  from change_plan_parts
	 where tenant_id = $1`

func storeFile(
	ctx context.Context, tx pgx.Tx, tenant tenancy.ID, plan int64, file int, name string, content io.Reader,
) error {
	chunk := make([]byte, chunkSize)
	for i := 0; ; i++ {
		n, err := io.ReadFull(content, chunk)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return err
		}
		if n > 0 || i == 0 {
			_, insertErr := tx.Exec(ctx, `
				insert into change_plan_files (tenant_id, plan_id, file, chunk, name, bytes)
				values ($1, $2, $3, $4, $5, $6)`, tenant, plan, file, i, name, compress(chunk[:n]))
			if insertErr != nil {
				return insertErr
			}
		}
		if err != nil {
			return nil
		}
	}
}

// deleteFiles begins a statement that changes a plan that no longer needs its files.
const deleteFiles = `
		with files as (
			delete from change_plan_files where tenant_id = $1 and plan_id = $2
		)`

// tryPlan is plan with some tries.
func (s *Store) tryPlan(ctx context.Context, tenant tenancy.ID, plan Plan, job *jobs.Job) error {
	for try := 1; ; try++ {
		err := s.plan(ctx, tenant, plan, job)
		switch {
		case err == nil, errors.Is(err, ErrLost), errors.Is(err, errLong), errors.Is(err, ErrPaused),
			isQuota(err):
			return err
		case errors.Is(err, ErrState): // cancelled, or another worker has it
			now, err := s.Get(ctx, tenant, plan.ID)
			if err == nil && now.State == Planning {
				err = ErrLost
			}
			return err
		case try == maxTries, pause(ctx, tryPause) != nil:
			return err
		}
	}
}

// plan computes a plan from its files. It starts over if an earlier try was interrupted. It returns errLong if the
// job cannot take longer than a turn.
func (s *Store) plan(ctx context.Context, tenant tenancy.ID, plan Plan, job *jobs.Job) error {
	limited, stop := context.WithTimeoutCause(ctx, planTimeout, errPlanTimeout)
	defer stop()
	limited, cancel := context.WithCancelCause(limited)
	defer cancel(nil)
	if job != nil {
		defer time.AfterFunc(s.turn, func() {
			if limited.Err() == nil && !job.Extend() {
				cancel(errLong)
			}
		}).Stop()
	}
	go s.keep(limited, tenant, plan.ID, cancel)
	began := time.Now()
	details, complete, err := s.planParts(limited, tenant, plan)
	if cause := context.Cause(limited); cause != nil {
		err = cause
	}
	failure, hasFailed := errors.AsType[Failure](err)
	switch {
	case hasFailed:
		err = s.change(ctx, tenant, plan.ID, deleteFiles+`, parts as (
				delete from change_plan_parts where tenant_id = $1 and plan_id = $2
			)
			update change_plans
			   set state = 'failed', failure = $4, parts = 0
			 where tenant_id = $1 and id = $2 and state = 'planning' and worker = $3`, s.worker, failure.Error())
		countEnded(ctx, Failed)
		return err
	case errors.Is(err, ErrPaused) && details != nil:
		return errors.Join(err, s.SetDetails(ctx, tenant, plan.ID, details))
	case err != nil:
		return err
	}
	recordPart(ctx, "plan", began)
	if complete {
		return s.EndPlanning(ctx, tenant, plan.ID, details)
	}
	return s.change(ctx, tenant, plan.ID, `
		update change_plans
		   set state = 'needs_mapping', details = $4, failure = null
		 where tenant_id = $1 and id = $2 and state = 'planning' and worker = $3`, s.worker, details)
}

// planParts replaces the parts of a plan.
func (s *Store) planParts(
	ctx context.Context, tenant tenancy.ID, plan Plan,
) (details []byte, complete bool, err error) {
	kind, err := s.kind(plan)
	if err != nil {
		return nil, false, err
	}
	err = s.change(ctx, tenant, plan.ID, `
		with old as (
			delete from change_plan_parts where tenant_id = $1 and plan_id = $2
		)
		update change_plans set parts = 0 where tenant_id = $1 and id = $2 and state = 'planning' and worker = $3`,
		s.worker)
	if err != nil {
		return nil, false, err
	}
	files, err := s.openFiles(ctx, tenant, plan.ID)
	if err != nil {
		return nil, false, err
	}
	defer files.close()
	others, err := db.One[struct{ Bytes int64 }](ctx, s.db, tenant,
		`select bytes from (`+storedBytes+`) s (bytes)`, tenant)
	if err != nil {
		return nil, false, err
	}
	stored := int64(0)
	return kind.Plan(ctx, tenant, plan, files, func(part Part) error {
		rows := compress(part.Rows)
		switch stored += int64(len(rows)); {
		case stored > s.maxPlanBytes:
			return errPlanBytes
		case others.Bytes+stored > s.maxStored:
			return Failure(ErrFull)
		}
		return s.addPart(ctx, tenant, plan.ID, part, rows)
	})
}

// keep extends the claim of a plan until ctx ends. If the plan is cancelled or another worker has it, it calls lost.
func (s *Store) keep(ctx context.Context, tenant tenancy.ID, id int64, lost context.CancelCauseFunc) {
	for pause(ctx, leaseSeconds*time.Second/4) == nil {
		err := s.change(ctx, tenant, id, `
			update change_plans
			   set lease_until = clock_timestamp() + make_interval(secs => $4)
			 where tenant_id = $1 and id = $2 and state = 'planning' and worker = $3`, s.worker, leaseSeconds)
		if errors.Is(err, ErrState) || errors.Is(err, tenancy.ErrNotFound) {
			lost(ErrLost)
			return
		}
	}
}

// planFiles are files without names in the file system, so that the system deletes them with the process.
type planFiles struct {
	ctx   context.Context // reading ends with it
	files map[string]*os.File
}

func (s *Store) openFiles(ctx context.Context, tenant tenancy.ID, id int64) (files *planFiles, err error) {
	files = &planFiles{ctx, map[string]*os.File{}}
	defer func() {
		if err != nil {
			files.close()
		}
	}()
	type chunk struct {
		File, Chunk int32
		Name        string
		Bytes       []byte
	}
	for at := (chunk{Chunk: -1}); ; {
		next, err := db.One[chunk](ctx, s.db, tenant, `
			select file, chunk, name, bytes
			  from change_plan_files
			 where tenant_id = $1 and plan_id = $2 and (file, chunk) > ($3, $4)
			 order by file, chunk
			 limit 1`, tenant, id, at.File, at.Chunk)
		if errors.Is(err, tenancy.ErrNotFound) {
			return files, nil
		}
		if err != nil {
			return files, err
		}
		if files.files[next.Name] == nil {
			if files.files[next.Name], err = temporaryFile(); err != nil {
				return files, err
			}
		}
		content, err := decoder.DecodeAll(next.Bytes, nil)
		if err == nil {
			_, err = files.files[next.Name].Write(content)
		}
		if err != nil {
			return files, fmt.Errorf("copy %q to a temporary file: %w", next.Name, err)
		}
		at = next
	}
}

func temporaryFile() (*os.File, error) {
	file, err := os.CreateTemp("", "storeroom-")
	if err == nil {
		err = os.Remove(file.Name())
	}
	return file, wrap(err, "create a temporary file")
}

func (f *planFiles) close() {
	for _, file := range f.files {
		_ = file.Close()
	}
}

// Open implements fs.FS. The file is an io.ReaderAt.
func (f *planFiles) Open(name string) (fs.File, error) {
	file := f.files[name]
	if file == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	stat, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return openFile{io.NewSectionReader(file, 0, stat.Size()), fileInfo{stat, name}, f}, nil
}

// ReadDir implements fs.ReadDirFS, for the directory ".".
func (f *planFiles) ReadDir(string) (entries []fs.DirEntry, err error) {
	for _, name := range slices.Sorted(maps.Keys(f.files)) {
		stat, err := f.files[name].Stat()
		if err != nil {
			return nil, err
		}
		entries = append(entries, fs.FileInfoToDirEntry(fileInfo{stat, name}))
	}
	return entries, nil
}

// openFile is a file with a separate position.
type openFile struct {
	*io.SectionReader
	info fs.FileInfo
	of   *planFiles
}

// Read implements io.Reader.
func (f openFile) Read(p []byte) (int, error) {
	if err := context.Cause(f.of.ctx); err != nil {
		return 0, err
	}
	return f.SectionReader.Read(p)
}

// ReadAt implements io.ReaderAt.
func (f openFile) ReadAt(p []byte, at int64) (int, error) {
	if err := context.Cause(f.of.ctx); err != nil {
		return 0, err
	}
	return f.SectionReader.ReadAt(p, at)
}

// Stat implements fs.File.
func (f openFile) Stat() (fs.FileInfo, error) { return f.info, nil }

// Close implements fs.File.
func (f openFile) Close() error { return nil }

type fileInfo struct {
	fs.FileInfo
	name string
}

// Name implements fs.FileInfo.
func (i fileInfo) Name() string { return i.name }
