package changeplan_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/db/dbtest"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

const errUnfinished changeplan.LimitError = "Three plans are unfinished."

// names is a kind of plan whose parts are names of categories.
type names struct {
	db      *db.DB
	running sync.Map // tenants
	// Each may be nil. hurt is called after a part has written.
	hurt    func(ctx context.Context, part changeplan.Part) error
	changed []tenancy.Kept
	skips   int64 // the rows that Apply skips in each part
	plans   func(ctx context.Context, tenant tenancy.ID)
}

// Plan adds one part for each line of the files. A line "?" means that the user must say more.
func (n *names) Plan(
	ctx context.Context, tenant tenancy.ID, plan changeplan.Plan, files fs.FS, add func(changeplan.Part) error,
) ([]byte, bool, error) {
	if n.plans != nil {
		n.plans(ctx, tenant)
	}
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, false, err
	}
	for _, entry := range entries {
		content, err := fs.ReadFile(files, entry.Name())
		if err != nil {
			return nil, false, err
		}
		for i, line := range strings.Fields(string(content)) {
			switch {
			case line == "?" && string(plan.Details) != `"answered"`:
				return []byte(`"asked"`), false, nil
			case line == "!":
				return nil, false, changeplan.Failure(entry.Name() + " cannot be read.")
			}
			if err := add(changeplan.Part{Kind: "name", Rows: fmt.Appendf(nil, "plan %d part %d", plan.ID, i)}); err != nil {
				return nil, false, err
			}
			if n.hurt != nil {
				if err := n.hurt(ctx, changeplan.Part{Part: int32(i)}); err != nil {
					return nil, false, err
				}
			}
		}
	}
	return []byte(`"planned"`), true, nil
}

func (n *names) Rules() changeplan.Rules {
	return changeplan.Rules{UndoDays: 7, MaxUnfinished: 3, TooMany: errUnfinished, KeepsFiles: true}
}

func (n *names) Changed(
	_ context.Context, _ tenancy.ID, _ changeplan.Plan, part changeplan.Part,
) ([]tenancy.Kept, error) {
	if part.Part > 0 {
		return nil, nil
	}
	return n.changed, nil
}

func (n *names) Apply(
	ctx context.Context, tx *db.DB, tenant tenancy.ID, _ changeplan.Plan, part changeplan.Part,
) (changeplan.Result, error) {
	return n.write(ctx, tx, tenant, part, `insert into categories (tenant_id, name) values ($1, $2)`)
}

func (n *names) Undo(
	ctx context.Context, tx *db.DB, tenant tenancy.ID, _ changeplan.Plan, part changeplan.Part,
) (changeplan.Result, error) {
	if string(part.Result) != `"done"` {
		return changeplan.Result{}, fmt.Errorf("part %d has the result %q", part.Part, part.Result)
	}
	return n.write(ctx, tx, tenant, part, `delete from categories where tenant_id = $1 and name = $2`)
}

func (n *names) write(
	ctx context.Context, tx *db.DB, tenant tenancy.ID, part changeplan.Part, sql string,
) (changeplan.Result, error) {
	if _, isRunning := n.running.LoadOrStore(tenant, true); isRunning {
		return changeplan.Result{}, errors.New("two parts of the tenant run at the same time")
	}
	defer n.running.Delete(tenant)
	written, err := tx.Exec(ctx, tenant, sql, tenant, string(part.Rows))
	if err == nil && written != 1 {
		err = fmt.Errorf("part %d wrote %d rows", part.Part, written)
	}
	if err == nil && n.hurt != nil {
		err = n.hurt(ctx, part)
	}
	if n.skips > 0 {
		return changeplan.Result{
			Counts: changeplan.Counts{Skipped: n.skips}, Data: []byte(`{"Kept":[{"key":"A","reason":"has changed since"}]}`),
		}, err
	}
	return changeplan.Result{Counts: changeplan.Counts{Created: 1}, Data: []byte(`"done"`)}, err
}

// unlimited is a kind without limits.
type unlimited struct{ *names }

func (unlimited) Rules() changeplan.Rules { return changeplan.Rules{} }

// setup is a tenant with the plans of one worker.
type setup struct {
	*dbtest.Database
	tenant tenancy.ID
	kind   *names
	changeplan.Plans
}

func newSetup(t *testing.T) setup {
	t.Helper()
	d := dbtest.New(t)
	kind := &names{db: d.DB}
	return setup{d, d.MustTenant(t, "acme").ID, kind, newStore(d, kind).Of("names")}
}

func newStore(d *dbtest.Database, kind *names) *changeplan.Store {
	return changeplan.New(d.DB, map[string]changeplan.Kind{"names": kind, "unlimited": unlimited{kind}})
}

// mustPlan returns a plan with some parts, which the worker has claimed.
func (s setup) mustPlan(t *testing.T, tenant tenancy.ID, parts int) int64 {
	t.Helper()
	ctx := t.Context()
	id, err := s.Create(ctx, tenant, tenancy.Operator, "names", "some names", []byte(`{}`))
	if err == nil {
		err = s.Claim(ctx, tenant, id, nil)
	}
	for n := 0; err == nil && n < parts; n++ {
		err = s.AddPart(ctx, tenant, id, changeplan.Part{
			Kind: "name", Rows: fmt.Appendf(nil, "plan %d part %d", id, n), Counts: changeplan.Counts{Created: 1},
		})
	}
	if err == nil {
		err = s.EndPlanning(ctx, tenant, id, []byte(`{"files": 1}`))
	}
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (s setup) mustApply(t *testing.T, id int64, skipChanged bool) {
	t.Helper()
	if err := s.Apply(t.Context(), s.tenant, tenancy.Operator, id, skipChanged); err != nil {
		t.Fatal(err)
	}
	if err := s.Claim(t.Context(), s.tenant, id, nil); err != nil {
		t.Fatal(err)
	}
}

// mustBe fails if a plan is not in this state, or if other parts are applied.
func (s setup) mustBe(t *testing.T, tenant tenancy.ID, id int64, state changeplan.State, applied int) {
	t.Helper()
	plan, err := s.Get(t.Context(), tenant, id)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := db.All[struct{ Name string }](t.Context(), s.DB, tenant, `
		select name
		  from categories
		 where tenant_id = $1 and starts_with(name, $2)`, tenant, fmt.Sprintf("plan %d part ", id))
	if err != nil {
		t.Fatal(err)
	}
	if plan.State != state || int(plan.NextPart) != applied || len(stored) != applied {
		t.Errorf("the plan is %s with %d parts applied and %d stored, want %s with %d",
			plan.State, plan.NextPart, len(stored), state, applied)
	}
}

func TestAPlanIsAppliedAndUndone(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	id := s.mustPlan(t, s.tenant, 3)
	s.mustBe(t, s.tenant, id, changeplan.Planned, 0)
	if err := s.Undo(t.Context(), s.tenant, tenancy.Operator, id); !errors.Is(err, changeplan.ErrState) {
		t.Errorf("Undo of a plan that is not applied = %v, want ErrState", err)
	}
	for range 2 {
		s.mustApply(t, id, false)
		if err := s.Work(t.Context(), s.tenant, id, nil); err != nil {
			t.Fatal(err)
		}
		s.mustBe(t, s.tenant, id, changeplan.Applied, 3)
		if err := s.Undo(t.Context(), s.tenant, tenancy.Operator, id); err != nil {
			t.Fatal(err)
		}
		if err := s.Claim(t.Context(), s.tenant, id, nil); err != nil {
			t.Fatal(err)
		}
		if err := s.Work(t.Context(), s.tenant, id, nil); err != nil {
			t.Fatal(err)
		}
		s.mustBe(t, s.tenant, id, changeplan.Undone, 0)
		id = s.mustPlan(t, s.tenant, 3)
	}
	n := 0
	for part, err := range s.Parts(t.Context(), s.tenant, id) {
		if want := fmt.Sprintf("plan %d part %d", id, n); err != nil || string(part.Rows) != want {
			t.Errorf("part %d has the rows %q, %v, want %q", n, part.Rows, err, want)
		}
		n++
	}
	if n != 3 {
		t.Errorf("the plan has %d parts, want 3", n)
	}
	entries, _, err := tenants.AuditLog(t.Context(), s.DB, s.tenant, "names.", 1, 10)
	if err != nil || len(entries) != 4 || entries[0].Action != "names.undo" || entries[3].Target != "some names" {
		t.Errorf("the audit log has %+v, %v, want names.apply and names.undo, twice", entries, err)
	}
	if _, err := s.Get(t.Context(), s.MustTenant(t, "other").ID, id); !errors.Is(err, tenancy.ErrNotFound) {
		t.Errorf("the plan of another tenant = %v, want ErrNotFound", err)
	}
}

// Rows change after they were compared, and before the first part is applied.
func TestRowsThatChangeBeforeTheFirstPartEndAPlan(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.kind.skips = 1
	id := s.mustPlan(t, s.tenant, 2)
	s.mustApply(t, id, false)
	if err := s.Work(t.Context(), s.tenant, id, nil); err != nil {
		t.Fatal(err)
	}
	s.mustBe(t, s.tenant, id, changeplan.Planned, 0)
	part, err := s.Part(t.Context(), s.tenant, id, 0)
	if err != nil || part.Skipped != 1 || !strings.Contains(string(part.Result), `"key":"A"`) {
		t.Errorf("the first part skips %d rows with %s, %v, want the changed row", part.Skipped, part.Result, err)
	}
	s.mustApply(t, id, true)
	if err := s.Work(t.Context(), s.tenant, id, nil); err != nil {
		t.Fatal(err)
	}
	s.mustBe(t, s.tenant, id, changeplan.Applied, 2)
}

// PostgreSQL ends the connection as for a process that is killed: before the part wrote, after it wrote, and during
// the undo.
func TestALostConnectionNeitherLosesNorRepeatsAPart(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	id := s.mustPlan(t, s.tenant, 3)
	killed := map[int32]bool{}
	s.kind.hurt = func(ctx context.Context, part changeplan.Part) error {
		if killed[part.Part] {
			return nil
		}
		killed[part.Part] = true
		_, err := s.DB.Exec(ctx, s.tenant, `select pg_terminate_backend(pg_backend_pid())`)
		return err
	}
	s.mustApply(t, id, true)
	if err := s.Work(t.Context(), s.tenant, id, nil); err != nil {
		t.Fatal(err)
	}
	s.mustBe(t, s.tenant, id, changeplan.Applied, 3)
	clear(killed)
	if err := s.Undo(t.Context(), s.tenant, tenancy.Operator, id); err != nil {
		t.Fatal(err)
	}
	if err := s.Claim(t.Context(), s.tenant, id, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Work(t.Context(), s.tenant, id, nil); err != nil {
		t.Fatal(err)
	}
	s.mustBe(t, s.tenant, id, changeplan.Undone, 0)
	if len(killed) != 3 {
		t.Errorf("%d connections were ended, want 3", len(killed))
	}
}

// The kind fails if two parts of a tenant run at the same time, or if a part is applied twice.
func TestWorkersApplyEachPartOnce(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	type plan struct {
		tenant tenancy.ID
		id     int64
	}
	var plans []plan
	for i := range 3 {
		tenant := s.MustTenant(t, fmt.Sprintf("tenant-%d", i)).ID
		for range 2 {
			id := s.mustPlan(t, tenant, 4)
			plans = append(plans, plan{tenant, id})
			if err := s.Apply(t.Context(), tenant, tenancy.Operator, id, true); err != nil {
				t.Fatal(err)
			}
			if err := s.Release(t.Context(), tenant, id); err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var left atomic.Int32
	left.Store(int32(len(plans) * 4))
	s.kind.hurt = func(context.Context, changeplan.Part) error { left.Add(-1); return nil }
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() { newStore(s.Database, s.kind).Worker().Run(ctx, slog.New(slog.DiscardHandler)) })
	}
	for _, p := range plans {
		for {
			plan, err := s.Get(t.Context(), p.tenant, p.id)
			if err != nil {
				t.Fatal(err)
			}
			if plan.State != changeplan.Applying {
				break
			}
		}
		s.mustBe(t, p.tenant, p.id, changeplan.Applied, 4)
	}
	cancel()
	workers.Wait()
	if n := left.Load(); n != 0 {
		t.Errorf("%d parts more than expected were applied", -n)
	}
}

func TestAWorkerContinuesThePlanOfAnother(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	id := s.mustPlan(t, s.tenant, 2)
	s.mustApply(t, id, true)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	other := newStore(s.Database, s.kind)
	if err := other.Claim(ctx, s.tenant, id, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Claim of a plan with a worker = %v, want that it waits", err)
	}
	if _, err := s.MustSuper(t).Exec(t.Context(), `update change_plans set lease_until = now()`); err != nil {
		t.Fatal(err)
	}
	if err := other.Claim(t.Context(), s.tenant, id, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Work(t.Context(), s.tenant, id, nil); !errors.Is(err, changeplan.ErrLost) {
		t.Errorf("Work of the first worker = %v, want ErrLost", err)
	}
	if err := other.Work(t.Context(), s.tenant, id, nil); err != nil {
		t.Fatal(err)
	}
	s.mustBe(t, s.tenant, id, changeplan.Applied, 2)
}

func TestACancelledPlanCanBeUndone(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	id := s.mustPlan(t, s.tenant, 3)
	s.mustApply(t, id, true)
	err := s.Work(t.Context(), s.tenant, id, func(changeplan.Plan) {
		if err := s.Cancel(t.Context(), s.tenant, tenancy.Operator, id); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	s.mustBe(t, s.tenant, id, changeplan.Cancelled, 1)
	if err := s.Apply(t.Context(), s.tenant, tenancy.Operator, id, true); !errors.Is(err, changeplan.ErrState) {
		t.Errorf("Apply of a cancelled plan = %v, want ErrState", err)
	}
	if err := s.Undo(t.Context(), s.tenant, tenancy.Operator, id); err != nil {
		t.Fatal(err)
	}
	if err := s.Claim(t.Context(), s.tenant, id, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Work(t.Context(), s.tenant, id, nil); err != nil {
		t.Fatal(err)
	}
	s.mustBe(t, s.tenant, id, changeplan.Undone, 0)
}

func TestACancelledPlanGetsNoParts(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	id, err := s.Create(t.Context(), s.tenant, tenancy.Operator, "names", "some names", []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	part := changeplan.Part{Kind: "name", Rows: []byte(`a`)}
	if err := s.AddPart(t.Context(), s.tenant, id, part); !errors.Is(err, changeplan.ErrState) {
		t.Errorf("AddPart without a claim = %v, want ErrState", err)
	}
	if err := s.Claim(t.Context(), s.tenant, id, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Cancel(t.Context(), s.tenant, tenancy.Operator, id); err != nil {
		t.Fatal(err)
	}
	if err := s.AddPart(t.Context(), s.tenant, id, part); !errors.Is(err, changeplan.ErrState) {
		t.Errorf("AddPart to a cancelled plan = %v, want ErrState", err)
	}
}

func TestAPlanOfChangedRowsIsNotApplied(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.kind.changed = []tenancy.Kept{{Key: "A", Reason: "has changed since the plan"}}
	id := s.mustPlan(t, s.tenant, 2)
	before, err := s.Get(t.Context(), s.tenant, id)
	if err != nil {
		t.Fatal(err)
	}
	s.mustApply(t, id, false)
	if err := s.Work(t.Context(), s.tenant, id, nil); err != nil {
		t.Fatal(err)
	}
	s.mustBe(t, s.tenant, id, changeplan.Planned, 0)
	if plan, err := s.Get(t.Context(), s.tenant, id); err != nil || !plan.ExpiresAt.Equal(before.ExpiresAt) {
		t.Errorf("the plan expires at %s, %v, want %s as before", plan.ExpiresAt, err, before.ExpiresAt)
	}
	for part, err := range s.Parts(t.Context(), s.tenant, id) {
		want := ""
		if part.Part == 0 {
			want = `{"Kept":[{"key":"A","reason":"has changed since the plan"}]}`
		}
		if err != nil || string(part.Result) != want {
			t.Errorf("result of part %d = %q, %v, want %q", part.Part, part.Result, err, want)
		}
	}
	s.mustApply(t, id, true)
	if err := s.Work(t.Context(), s.tenant, id, nil); err != nil {
		t.Fatal(err)
	}
	s.mustBe(t, s.tenant, id, changeplan.Applied, 2)
}

func TestAFailedPlanContinues(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	broken := errors.New("broken")
	s.kind.hurt = func(_ context.Context, part changeplan.Part) error {
		if part.Part == 1 {
			return broken
		}
		return nil
	}
	id := s.mustPlan(t, s.tenant, 3)
	s.mustApply(t, id, true)
	if err := s.Work(t.Context(), s.tenant, id, nil); !errors.Is(err, broken) {
		t.Errorf("Work = %v, want the error of the part", err)
	}
	s.mustBe(t, s.tenant, id, changeplan.Failed, 1)
	s.kind.hurt = nil
	s.mustApply(t, id, true)
	if err := s.Work(t.Context(), s.tenant, id, nil); err != nil {
		t.Fatal(err)
	}
	s.mustBe(t, s.tenant, id, changeplan.Applied, 3)
}

func TestExpiredPlansAreDeleted(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	expired, running, kept := s.mustPlan(t, s.tenant, 120), int64(0), int64(0)
	if err := s.Release(t.Context(), s.tenant, expired); err != nil {
		t.Fatal(err)
	}
	running = s.mustPlan(t, s.tenant, 1)
	s.mustApply(t, running, true)
	if _, err := s.MustSuper(t).Exec(t.Context(), `
		update change_plans set expires_at = now() - interval '1 s';
		update tenants set delete_plans_at = now()`); err != nil {
		t.Fatal(err)
	}
	if err := s.Release(t.Context(), s.tenant, running); err != nil {
		t.Fatal(err)
	}
	kept = s.mustPlan(t, s.tenant, 1)
	if err := tenants.DeleteExpiredChangePlans.Run(t.Context(), s.DB); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), s.tenant, expired); !errors.Is(err, tenancy.ErrNotFound) {
		t.Errorf("the expired plan = %v, want ErrNotFound", err)
	}
	s.mustBe(t, s.tenant, running, changeplan.Applying, 0)
	s.mustBe(t, s.tenant, kept, changeplan.Planned, 0)
}

// mustUpload returns a plan with a file.
func (s setup) mustUpload(t *testing.T, content string) int64 {
	t.Helper()
	id, err := s.upload(t, content)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (s setup) upload(t *testing.T, content string) (int64, error) {
	return s.CreateFromFiles(t.Context(), s.tenant, tenancy.Operator, "names",
		func(add func(string, io.Reader) error) (string, []byte, error) {
			return "names.txt", []byte(`"new"`), add("names.txt", strings.NewReader(content))
		})
}

func (s setup) mustWork(t *testing.T, id int64) {
	t.Helper()
	err := s.Claim(t.Context(), s.tenant, id, nil)
	if err == nil {
		err = s.Work(t.Context(), s.tenant, id, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (s setup) files(t *testing.T) int64 {
	t.Helper()
	count, err := db.One[struct{ Count int64 }](t.Context(), s.DB, s.tenant,
		`select count(*) from change_plan_files where tenant_id = $1`, s.tenant)
	if err != nil {
		t.Fatal(err)
	}
	return count.Count
}

func TestAPlanIsComputedFromItsFiles(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	large := strings.Repeat(" ", 5<<20/2) + "a b c"
	id := s.mustUpload(t, large)
	if n := s.files(t); n != 3 {
		t.Errorf("a file of 2.5 MiB has %d chunks, want 3", n)
	}
	s.mustWork(t, id)
	s.mustBe(t, s.tenant, id, changeplan.Planned, 0)
	s.mustApply(t, id, true)
	if err := s.Work(t.Context(), s.tenant, id, nil); err != nil {
		t.Fatal(err)
	}
	s.mustBe(t, s.tenant, id, changeplan.Applied, 3)
	if n := s.files(t); n != 0 {
		t.Errorf("the applied plan has %d chunks of files, want none", n)
	}
}

func TestAnAnswerComputesThePlanAgain(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	id := s.mustUpload(t, "a ? b")
	s.mustWork(t, id)
	s.mustBe(t, s.tenant, id, changeplan.NeedsMapping, 0)
	for _, before := range []string{`"asked"`, `"planned"`} {
		for details, want := range map[string]error{`"other"`: changeplan.ErrState, before: nil} {
			if err := s.PlanAgain(t.Context(), s.tenant, id, []byte(details), []byte(`"answered"`)); !errors.Is(err, want) {
				t.Fatalf("PlanAgain after %s, which is %s = %v, want %v", details, before, err, want)
			}
		}
		s.mustWork(t, id)
		s.mustBe(t, s.tenant, id, changeplan.Planned, 0)
		if plan, err := s.Get(t.Context(), s.tenant, id); err != nil || plan.Parts != 3 {
			t.Errorf("the plan has %d parts, %v, want 3", plan.Parts, err)
		}
	}
	if err := s.Cancel(t.Context(), s.tenant, tenancy.Operator, id); err != nil {
		t.Fatal(err)
	}
	err := s.PlanAgain(t.Context(), s.tenant, id, []byte(`"planned"`), []byte(`"answered"`))
	if !errors.Is(err, changeplan.ErrState) {
		t.Errorf("PlanAgain of a cancelled plan = %v, want ErrState", err)
	}
	if n := s.files(t); n != 0 {
		t.Errorf("the cancelled plan has %d chunks of files, want none", n)
	}
	if parts, err := s.PartCounts(t.Context(), s.tenant, id); err != nil || len(parts) != 0 {
		t.Errorf("the cancelled plan has %d parts, %v, want none", len(parts), err)
	}
}

func TestFilesThatCannotBeReadFailThePlan(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	id := s.mustUpload(t, "a !")
	s.mustWork(t, id)
	plan, err := s.Get(t.Context(), s.tenant, id)
	if err != nil || plan.State != changeplan.Failed || *plan.Failure != "names.txt cannot be read." {
		t.Errorf("the plan is %s, %v, want that it has failed with the reason", plan.State, err)
	}
}

func TestPlanningStartsOverAfterAKill(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	id := s.mustUpload(t, "a b c")
	killed, cancel := context.WithCancel(t.Context())
	s.kind.hurt = func(_ context.Context, part changeplan.Part) error {
		if part.Part == 1 {
			cancel()
		}
		return nil
	}
	if err := s.Claim(t.Context(), s.tenant, id, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Work(killed, s.tenant, id, nil); err == nil {
		t.Error("the work of a worker that ends returns no error")
	}
	s.kind.hurt = nil
	other := newStore(s.Database, s.kind)
	if err := other.Claim(t.Context(), s.tenant, id, nil); err != nil {
		t.Fatal(err)
	}
	if err := other.Work(t.Context(), s.tenant, id, nil); err != nil {
		t.Fatal(err)
	}
	if plan, err := s.Get(t.Context(), s.tenant, id); err != nil || plan.State != changeplan.Planned || plan.Parts != 3 {
		t.Errorf("the plan is %s with %d parts, %v, want planned with 3", plan.State, plan.Parts, err)
	}
}

func TestATenantHasFewUnfinishedUploads(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	var last int64
	for range 3 {
		last = s.mustUpload(t, "a")
	}
	if _, err := s.upload(t, "a"); !errors.Is(err, errUnfinished) {
		t.Errorf("a fourth upload = %v, want a LimitError", err)
	}
	if err := s.Cancel(t.Context(), s.tenant, tenancy.Operator, last); err != nil {
		t.Fatal(err)
	}
	s.mustUpload(t, "a")
}

// meeting is a file that can be read when all of its readers have begun.
type meeting struct {
	*strings.Reader
	all *sync.WaitGroup
	met bool
}

func (m *meeting) Read(p []byte) (int, error) {
	if !m.met {
		m.met = true
		m.all.Done()
		m.all.Wait()
	}
	return m.Reader.Read(p)
}

func TestUploadsAtTheSameTimeDoNotExceedTheLimit(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	const uploads = 4
	var begun, ended sync.WaitGroup
	begun.Add(uploads)
	errs := make([]error, uploads)
	for i := range uploads {
		ended.Go(func() {
			_, errs[i] = s.CreateFromFiles(t.Context(), s.tenant, tenancy.Operator, "names",
				func(add func(string, io.Reader) error) (string, []byte, error) {
					return "a", []byte(`{}`), add("a", &meeting{Reader: strings.NewReader("a"), all: &begun})
				})
		})
	}
	ended.Wait()
	stored := 0
	for _, err := range errs {
		switch {
		case err == nil:
			stored++
		case !errors.Is(err, errUnfinished):
			t.Errorf("an upload = %v, want a LimitError", err)
		}
	}
	if stored != 3 {
		t.Errorf("%d uploads were stored, want 3", stored)
	}
}

func TestATenantHasALimitedNumberOfPlans(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.SetMaxPlans(4)
	for range 4 {
		if _, err := s.Create(t.Context(), s.tenant, tenancy.Operator, "unlimited", "", []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		id := s.mustUpload(t, "a")
		if err := s.Cancel(t.Context(), s.tenant, tenancy.Operator, id); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.upload(t, "a"); !errors.Is(err, changeplan.ErrTooMany) {
		t.Errorf("a fifth plan = %v, want ErrTooMany", err)
	}
	if _, err := s.MustSuperAt(t, s.tenant).Exec(t.Context(), `
		delete from change_plans where id = (select min(id) from change_plans where kind = 'names')`); err != nil {
		t.Fatal(err)
	}
	s.mustUpload(t, "a")
}

// A claim does not read the plans that are not due.
func TestAClaimReadsOnlyDuePlans(t *testing.T) {
	t.Parallel()
	dbtest.SkipOnCitus(t, "plans are those of each node")
	s := newSetup(t)
	if _, err := s.MustSuper(t).Exec(t.Context(), `
		insert into change_plans (tenant_id, kind, state, title, actor, expires_at)
		select $1, 'names', 'applied', '', '', now() + interval '1 day'
		  from generate_series(1, 990)`, s.tenant); err != nil {
		t.Fatal(err)
	}
	id := s.mustUpload(t, "a")
	s.CheckPlans(t, "a claim", dbtest.Reads(10, "change_plans_due", "change_plans_leased"), func(pool *db.DB) error {
		claimed, err := db.One[struct{ Plan int64 }](t.Context(), pool, s.tenant,
			`select plan from claim_due_change_plan(gen_random_uuid(), 60, 0, $1, null, null)`, s.tenant)
		if err == nil && claimed.Plan != id {
			err = fmt.Errorf("claimed the plan %d, want %d", claimed.Plan, id)
		}
		return err
	})
}

func TestPlansTakeBoundedSpace(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.SetSpace(200, 300)
	large := s.mustUpload(t, strings.Repeat("a ", 20))
	s.mustWork(t, large)
	plan, err := s.Get(t.Context(), s.tenant, large)
	if err != nil || plan.State != changeplan.Failed || !strings.Contains(*plan.Failure, "several plans") {
		t.Errorf("a plan that is too large is %s, %v, want failed", plan.State, err)
	}
	if parts, err := s.PartCounts(t.Context(), s.tenant, large); err != nil || len(parts) != 0 {
		t.Errorf("it has %d parts, %v, want none", len(parts), err)
	}
	var ids []int64
	for len(ids) < 10 {
		id, err := s.upload(t, "a b c")
		if errors.Is(err, changeplan.ErrFull) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		s.mustWork(t, id)
		if plan, err := s.Get(t.Context(), s.tenant, id); err != nil || plan.State == changeplan.Failed {
			break
		}
		s.mustApply(t, id, false)
		s.mustWork(t, id)
		ids = append(ids, id)
	}
	if len(ids) == 0 || len(ids) > 5 {
		t.Errorf("%d plans with three parts fit into 300 bytes", len(ids))
	}
}

// Plans that are created at the same time do not exceed the space together.
func TestAPlanThatDoesNotFitBesideOthersFails(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.SetSpace(200, 100)
	first, second := s.mustUpload(t, "a b"), s.mustUpload(t, "c d e")
	s.mustWork(t, first)
	s.mustBe(t, s.tenant, first, changeplan.Planned, 0)
	s.mustWork(t, second)
	plan, err := s.Get(t.Context(), s.tenant, second)
	if err != nil || plan.State != changeplan.Failed || *plan.Failure != changeplan.ErrFull.Error() {
		t.Errorf("the second plan is %s, %v, want that it has failed because there is no space", plan.State, err)
	}
}

// A full disk ends no plan: it is computed and applied when there is space.
func TestAPlanWaitsForDiskSpace(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	full := func(context.Context, changeplan.Part) error { return fmt.Errorf("write a file: %w", syscall.ENOSPC) }
	work := func(id int64, state changeplan.State) {
		t.Helper()
		s.kind.hurt = full
		if err := s.Claim(t.Context(), s.tenant, id, nil); err != nil {
			t.Fatal(err)
		}
		if err := s.Work(t.Context(), s.tenant, id, nil); !db.IsDiskFull(err) {
			t.Errorf("the work returns %v, want that the disk is full", err)
		}
		s.mustBe(t, s.tenant, id, state, 0)
		s.kind.hurt = nil
		s.mustWork(t, id)
	}
	id := s.mustUpload(t, "a b")
	work(id, changeplan.Planning)
	s.mustBe(t, s.tenant, id, changeplan.Planned, 0)
	s.mustApply(t, id, false)
	work(id, changeplan.Applying)
	s.mustBe(t, s.tenant, id, changeplan.Applied, 2)
}

func TestAPanicFailsThePlan(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	id := s.mustUpload(t, "a b")
	s.kind.hurt = func(context.Context, changeplan.Part) error { panic("hurt") }
	if err := s.Claim(t.Context(), s.tenant, id, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Work(t.Context(), s.tenant, id, nil); err == nil || !strings.Contains(err.Error(), "panic: hurt") {
		t.Errorf("the work returns %v, want the panic", err)
	}
	s.mustBe(t, s.tenant, id, changeplan.Failed, 0)
	if n := s.files(t); n != 0 {
		t.Errorf("the failed plan has %d chunks of files, want none", n)
	}
}

// The plan is deleted before its worker panics, so that the worker cannot read which plan has failed.
func TestAPanicOfADeletedPlanFailsNoOther(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	id := s.mustUpload(t, "a")
	s.kind.hurt = func(ctx context.Context, _ changeplan.Part) error {
		if _, err := s.MustSuperAt(t, s.tenant).Exec(ctx, `delete from change_plans where id = $1`, id); err != nil {
			t.Error(err)
		}
		panic("hurt")
	}
	if err := s.Claim(t.Context(), s.tenant, id, nil); err != nil {
		t.Fatal(err)
	}
	err := s.Work(t.Context(), s.tenant, id, nil)
	if !errors.Is(err, tenancy.ErrNotFound) || !strings.Contains(err.Error(), "panic: hurt") {
		t.Fatalf("the work returns %v, want the panic, and that the plan does not exist", err)
	}
	if strings.Contains(err.Error(), "plan 0") {
		t.Errorf("the work returns %v, which names a plan that never existed", err)
	}
}

func TestAPlanWhoseWorkersAreKilledFails(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	id := s.mustUpload(t, "a")
	const worker = "00000000-0000-0000-0000-000000000001"
	for kills := range 7 {
		parts, err := s.DB.Parts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		for _, part := range parts {
			claimed, err := db.Call[struct{ Tenant, Plan int64 }](t.Context(), part,
				`select tenant, plan from claim_due_change_plan($1, 0, 0, null, null, null)`, worker)
			if err != nil {
				t.Fatal(err)
			}
			count += len(claimed)
		}
		if want := kills < 5; want != (count == 1) {
			t.Fatalf("after %d kills %d plans are claimed, want one: %t", kills, count, want)
		}
	}
	s.mustBe(t, s.tenant, id, changeplan.Failed, 0)
}

// A tenant's plan that takes long does not start over: its worker becomes the worker of long plans. Meanwhile the plans
// of others are computed and applied.
func TestALongPlanDoesNotDelayOtherTenants(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	s.SetTurn(3 * time.Second) // much longer than the plans of the others take
	other, third := s.MustTenant(t, "other").ID, s.MustTenant(t, "third").ID
	release, begun := make(chan struct{}), atomic.Int32{}
	s.kind.plans = func(ctx context.Context, tenant tenancy.ID) {
		if tenant == s.tenant {
			begun.Add(1)
			select {
			case <-ctx.Done():
			case <-release:
			}
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	workers.Go(func() { s.Worker().Run(ctx, slog.New(slog.DiscardHandler)) })
	defer workers.Wait()
	defer stop()
	long := s.mustUpload(t, "a b")
	for _, tenant := range []tenancy.ID{other, third} {
		of := s
		of.tenant = tenant
		id := of.mustUpload(t, "c d")
		of.await(t, id, changeplan.Planned)
		of.mustApply(t, id, false)
		of.await(t, id, changeplan.Applied)
	}
	s.mustBe(t, s.tenant, long, changeplan.Planning, 0)
	close(release)
	s.await(t, long, changeplan.Planned)
	if n := begun.Load(); n != 1 {
		t.Errorf("the plan was computed %d times, want once", n)
	}
	s.mustApply(t, long, false)
	s.await(t, long, changeplan.Applied)
}

// A comparison that takes longer than a turn is also left to the other worker, which leaves the parts to the first one.
func TestALongComparisonIsContinuedByTheOtherWorker(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	id := s.mustPlan(t, s.tenant, 5)
	if err := s.Release(t.Context(), s.tenant, id); err != nil {
		t.Fatal(err)
	}
	s.SetTurn(time.Nanosecond)
	s.mustApply(t, id, false)
	ctx, stop := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	workers.Go(func() { s.Worker().Run(ctx, slog.New(slog.DiscardHandler)) })
	defer workers.Wait()
	defer stop()
	s.await(t, id, changeplan.Applied)
	s.mustBe(t, s.tenant, id, changeplan.Applied, 5)
}

// The pictures of an import are kept for nine days, so that a part that uses them would fail later.
func TestAnOldPlanIsNotApplied(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	id := s.mustPlan(t, s.tenant, 2)
	s.mustApply(t, id, true)
	if _, err := s.MustSuper(t).Exec(t.Context(),
		`update change_plans set created_at = now() - interval '8 days 1 minute'`); err != nil {
		t.Fatal(err)
	}
	s.mustWork(t, id)
	s.mustBe(t, s.tenant, id, changeplan.Failed, 0)
	plan, err := s.Get(t.Context(), s.tenant, id)
	if err != nil {
		t.Fatal(err)
	}
	if want := "Plans cannot be applied more than 8 days after they were created. Start again."; *plan.Failure != want {
		t.Errorf("the failure is %q, want %q", *plan.Failure, want)
	}
	if err := s.Apply(t.Context(), s.tenant, tenancy.Operator, id, true); !errors.Is(err, changeplan.ErrState) {
		t.Errorf("Apply of an old plan = %v, want ErrState", err)
	}
}

// await waits until a plan has a state.
func (s setup) await(t *testing.T, id int64, state changeplan.State) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		plan, err := s.Get(t.Context(), s.tenant, id)
		if err != nil {
			t.Fatal(err)
		}
		if plan.State == state {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the plan is %s, want %s", plan.State, state)
		}
	}
}

// The counter lets workers find plans without asking every tenant.
func TestDuePlansAreCounted(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	due := func() (n int) {
		t.Helper()
		if err := s.MustSuper(t).QueryRow(t.Context(),
			`select due_change_plans from tenants where id = $1`, s.tenant).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	want := func(n int) {
		t.Helper()
		if got := due(); got != n {
			t.Errorf("%d plans are due, want %d", got, n)
		}
	}
	first, second := s.mustUpload(t, "a b"), s.mustUpload(t, "c")
	want(2)
	s.mustWork(t, first)
	want(1)
	if err := s.Cancel(t.Context(), s.tenant, tenancy.Operator, second); err != nil {
		t.Fatal(err)
	}
	want(0)
	s.mustApply(t, first, false)
	want(1)
	s.mustWork(t, first)
	s.mustBe(t, s.tenant, first, changeplan.Applied, 2)
	want(0)
}

// Instances of the previous release look for plans themselves. Neither release works on a plan while the other does.
func TestThePreviousReleaseSharesThePlans(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	begun, release := atomic.Int32{}, make(chan struct{})
	s.kind.plans = func(context.Context, tenancy.ID) { begun.Add(1); <-release }
	id := s.mustUpload(t, "a b")
	part, err := s.DB.PartOf(t.Context(), s.tenant)
	if err != nil {
		t.Fatal(err)
	}
	claim := func(seconds int) (claimed []struct{ Plan int64 }) {
		t.Helper()
		claimed, err := db.Call[struct{ Plan int64 }](t.Context(), part,
			`select plan from claim_due_change_plan(gen_random_uuid(), $1, 0, null, null, false)`, seconds)
		if err != nil {
			t.Fatal(err)
		}
		return claimed
	}
	lease := time.Now().Add(2 * time.Second)
	if claimed := claim(2); len(claimed) != 1 || claimed[0].Plan != id {
		t.Fatalf("the previous release claims %v, want the plan %d", claimed, id)
	}
	ctx, stop := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	workers.Go(func() { s.Worker().Run(ctx, slog.New(slog.DiscardHandler)) })
	defer workers.Wait()
	defer stop()
	for end := time.Now().Add(time.Minute); begun.Load() == 0 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if time.Now().Before(lease) {
		t.Error("this release begins the plan while the previous one has it")
	}
	if claimed := claim(2); len(claimed) != 0 {
		t.Errorf("the previous release claims %v, on which this release works", claimed)
	}
	close(release)
	s.await(t, id, changeplan.Planned)
	if n := begun.Load(); n != 1 {
		t.Errorf("the plan was computed %d times, want once", n)
	}
}

// The trace of the work on a plan leads to the request that created it.
func TestTheSpanOfATurnHasALinkToTheRequest(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)))
	s := newSetup(t)
	request, span := otel.Tracer("test").Start(t.Context(), "request")
	id, err := s.CreateFromFiles(request, s.tenant, tenancy.Operator, "names",
		func(add func(string, io.Reader) error) (string, []byte, error) {
			return "names", []byte(`{}`), add("file", strings.NewReader("a"))
		})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	workers.Go(func() { s.Worker().Run(ctx, slog.New(slog.DiscardHandler)) })
	s.await(t, id, changeplan.Planned)
	stop()
	workers.Wait()
	for _, turn := range recorder.Ended() {
		if turn.Name() == "change plan" {
			if links := turn.Links(); len(links) != 1 || links[0].SpanContext.SpanID() != span.SpanContext().SpanID() {
				t.Errorf("the links are %v, want one to the request", links)
			}
			return
		}
	}
	t.Error("the turn has no span")
}
