package imports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// PlanKind is the kind of the plans of imports.
const PlanKind = "import"

// ErrIncomplete reports that the process was killed before all rows were in the plan. Nothing was imported.
var ErrIncomplete = errors.New("the plan of this import was not completed, and nothing was imported: start it again")

// Options are settings and callbacks of Run. A callback may be nil.
type Options struct {
	Settings Settings
	By       tenancy.Actor
	Pictures Pictures // of an archive
	DryRun   bool     // store nothing
	// Refused is called for each error of each refused row, after the import.
	Refused func(Refusal)
	// Reading is called after each planned part with the number of rows that were read of a file, Applying after each
	// applied part with the number of parts.
	Reading  func(file string, done, rows int)
	Applying func(done, parts int)
	// Waits is called once if another import of the tenant is running.
	Waits func()
}

// Input is what is known of the files of an import.
type Input struct {
	Files    []File   `json:"files"`
	Settings Settings `json:"settings"`
	// Remembered are the names of the settings that come from an earlier import. It is
	// nil before the files are read, and in imports by the command, which neither uses nor stores mappings.
	Remembered []string    `json:"remembered"`
	Earlier    []Earlier   `json:"earlier,omitempty"`
	Questions  []Question  `json:"questions"`
	Answered   []Question  `json:"answered,omitempty"` // as the settings are
	Totals     []Total     `json:"totals"`
	Notes      []NoteCount `json:"notes"`
}

// details are what a plan of this kind stores.
type details struct {
	Input
	Currency string `json:"currency"`
	Timezone string `json:"timezone"`
	// Unread is the number of rows of a part that were refused before anything stored was read. Package changeplan reads
	// it.
	Unread map[int32]int64 `json:"unread,omitempty"`
	// Pictures are those of earlier turns, until the plan is complete.
	Pictures map[string]keptPicture `json:"pictures,omitempty"`
}

// Runner imports files in the process of the caller.
type Runner struct {
	*Importer
	plans  changeplan.Plans
	tenant tenants.Tenant
	Options
}

// NewRunner returns a runner for imports of a tenant.
func NewRunner(db *db.DB, tenant tenants.Tenant, o Options) *Runner {
	m := NewImporter(db, o.Pictures)
	return &Runner{m, changeplan.New(db, map[string]changeplan.Kind{PlanKind: m}).Of(PlanKind), tenant, o}
}

// QuestionsError lists the settings that are needed to read the files.
type QuestionsError struct{ Questions []Question }

func (e QuestionsError) Error() string {
	return fmt.Sprintf("%s can be read in different ways: %s is required", e.Questions[0].File, e.Questions[0].ID)
}

// Import plans and applies the records of the files of dir, or returns a QuestionsError if it needs more settings. If
// ctx is cancelled while it plans, nothing is imported. Otherwise Resume can continue the plan of the report.
func (r *Runner) Import(ctx context.Context, dir fs.FS) (Report, error) {
	zone, err := tenancy.LoadZone(r.tenant.Timezone)
	if err != nil {
		return Report{}, err
	}
	set, err := Open(ctx, dir, "", Tenant{r.tenant.Currency, zone}, r.Settings)
	switch {
	case err != nil:
		return Report{}, err
	case !slices.ContainsFunc(set.Files, func(f File) bool { return f.Problem == "" }):
		return newReporter(set.Files, nil).report, errors.New("no files to import: expected CSV or XLSX files, or a ZIP of them")
	case len(set.Questions) > 0:
		return Report{}, QuestionsError{set.Questions}
	}
	return r.importSet(ctx, set)
}

func (r *Runner) importSet(ctx context.Context, set *Set) (Report, error) {
	report := newReporter(set.Files, r.Refused)
	if r.DryRun {
		err := r.planSet(ctx, set, time.Time{}, func(_ changeplan.Part, rows []Record) error {
			report.add(rows)
			return nil
		})
		return report.report, err
	}
	id, err := r.store(ctx, set)
	if err != nil {
		return report.report, err
	}
	return r.apply(ctx, id)
}

func (r *Runner) planSet(
	ctx context.Context, set *Set, created time.Time, add func(changeplan.Part, []Record) error,
) error {
	total, done := map[string]int{}, map[string]int{}
	for _, f := range set.Files {
		total[f.Name] = f.Rows
	}
	counted := func(part changeplan.Part, rows []Record) error {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		last := ""
		for _, row := range rows {
			for _, of := range row.Rows {
				last = of.File
				done[last]++
			}
		}
		err := add(part, rows)
		if r.Reading != nil && last != "" {
			r.Reading(last, done[last], total[last])
		}
		return err
	}
	return r.planRecords(ctx, r.tenant.ID, set, set.Records(ctx), nil, created, counted)
}

// store stores the plan of an import.
func (r *Runner) store(ctx context.Context, set *Set) (id int64, err error) {
	var names []string
	for _, f := range set.Files {
		names = append(names, f.Name)
	}
	data, err := json.Marshal(details{Input: Input{Files: set.Files, Settings: r.Settings}})
	if err != nil {
		return 0, err
	}
	if id, err = r.plans.Create(ctx, r.tenant.ID, r.By, PlanKind, strings.Join(names, ", "), data); err != nil {
		return 0, err
	}
	plan, err := r.plans.Get(ctx, r.tenant.ID, id)
	if err == nil {
		err = r.plans.Claim(ctx, r.tenant.ID, id, r.Waits)
	}
	if err == nil {
		err = r.planSet(ctx, set, plan.CreatedAt, func(part changeplan.Part, _ []Record) error {
			return r.plans.AddPart(ctx, r.tenant.ID, id, part)
		})
	}
	if err == nil {
		err = r.plans.EndPlanning(ctx, r.tenant.ID, id, data)
	}
	if err != nil {
		err = errors.Join(err, r.plans.Cancel(context.WithoutCancel(ctx), r.tenant.ID, r.By, id))
	}
	return id, err
}

// apply applies a plan that this process has claimed.
func (r *Runner) apply(ctx context.Context, id int64) (Report, error) {
	err := r.plans.Apply(ctx, r.tenant.ID, r.By, id, true)
	if err != nil {
		return Report{Plan: id}, err
	}
	return r.work(ctx, id)
}

// work carries out a plan that this process has claimed. If a worker of the service gets it, because this process did
// not run for longer than its claim, work waits for it and continues.
func (r *Runner) work(ctx context.Context, id int64) (Report, error) {
	progress := func(p changeplan.Plan) {
		if r.Applying != nil {
			r.Applying(int(p.NextPart), int(p.Parts))
		}
	}
	err := r.plans.Work(ctx, r.tenant.ID, id, progress)
	for errors.Is(err, changeplan.ErrLost) {
		if err = r.plans.Claim(ctx, r.tenant.ID, id, r.Waits); err == nil {
			err = r.plans.Work(ctx, r.tenant.ID, id, progress)
		}
	}
	if err != nil && ctx.Err() != nil {
		err = errors.Join(err, r.plans.Interrupt(context.WithoutCancel(ctx), r.tenant.ID, id))
	}
	report, reportErr := r.Report(context.WithoutCancel(ctx), id)
	return report, errors.Join(err, reportErr)
}

// Resume continues an import, or its undo, that was interrupted or killed. It returns ErrIncomplete if it was killed
// while planning.
func (r *Runner) Resume(ctx context.Context, id int64) (Report, error) {
	plan, err := r.plans.Get(ctx, r.tenant.ID, id)
	if err != nil {
		return Report{}, err
	}
	switch plan.State {
	case changeplan.Planning:
		return Report{}, ErrIncomplete
	case changeplan.Applied:
		return r.Report(ctx, id)
	}
	if err := r.plans.Claim(ctx, r.tenant.ID, id, r.Waits); err != nil {
		return Report{}, err
	}
	if plan.State == changeplan.Applying || plan.State == changeplan.Undoing {
		return r.work(ctx, id)
	}
	return r.apply(ctx, id)
}

// Undo undoes an import. The report names the rows that are kept, because something else has changed them since.
func (r *Runner) Undo(ctx context.Context, id int64) (Report, error) {
	plan, err := r.plans.Get(ctx, r.tenant.ID, id)
	if err == nil && plan.State == changeplan.Undoing {
		return r.Resume(ctx, id)
	}
	if err == nil {
		err = r.plans.Claim(ctx, r.tenant.ID, id, r.Waits)
	}
	if err != nil {
		return Report{}, err
	}
	if err := r.plans.Undo(ctx, r.tenant.ID, r.By, id); err != nil {
		return Report{}, errors.Join(err, r.plans.Release(ctx, r.tenant.ID, id))
	}
	return r.work(ctx, id)
}

// Report returns the report of the parts of a stored plan that were applied.
func (r *Runner) Report(ctx context.Context, id int64) (Report, error) {
	plan, err := r.plans.Get(ctx, r.tenant.ID, id)
	if err != nil {
		return Report{}, err
	}
	stored, err := readDetails(plan.Plan)
	if err != nil {
		return Report{}, err
	}
	report := newReporter(stored.Files, r.Refused)
	report.report.Plan = id
	for part, err := range r.plans.Parts(ctx, r.tenant.ID, id) {
		if err == nil && part.Part >= plan.NextPart && plan.State != changeplan.Undone {
			break
		}
		if err == nil {
			err = report.addPart(part)
		}
		if err != nil {
			return Report{}, err
		}
	}
	return report.report, nil
}
