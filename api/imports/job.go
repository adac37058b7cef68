package imports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/spool"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// MaxFiles is the number of files of an import.
const MaxFiles = 20

const (
	maxFileName = 200
	maxSettings = 256 << 10 // bytes of JSON
	maxFailure  = 1000      // characters: lists show it
)

// Jobs are the imports that instances carry out in the background. It is safe for concurrent use.
type Jobs struct{ changeplan.Plans }

// NewJobs returns the imports in plans.
func NewJobs(plans *changeplan.Store) *Jobs { return &Jobs{plans.Of(PlanKind)} }

// Create stores the files of a form; an instance computes the plan from them. The form has parts named file, and may
// have a part named settings with JSON. Create returns an InvalidError by part, a changeplan.LimitError, or the error
// of reading the form.
func (j *Jobs) Create(
	ctx context.Context, tenant tenants.Tenant, by tenancy.Actor, form *spool.Form,
) (id int64, err error) {
	d := details{Currency: tenant.Currency, Timezone: tenant.Timezone}
	var names []string
	return j.CreateFromFiles(ctx, tenant.ID, by, PlanKind,
		func(add func(string, io.Reader) error) (title string, stored []byte, err error) {
			for {
				part, err := form.NextPart()
				if err == io.EOF {
					break
				}
				if err != nil {
					return "", nil, fmt.Errorf("%w: %w", ErrForm, err)
				}
				switch name := strings.ToValidUTF8(part.FormName(), ""); {
				case name == "":
					err = fmt.Errorf("%w: a part has no name", ErrForm)
				case name == "file" && part.FileName() == "" || name == "form-token":
					// A page sends a file without a name if none is selected.
				case name == "file":
					err = addFile(&names, part, add)
				case name == "settings":
					d.Settings, err = readSettings(part)
				default:
					err = tenancy.InvalidError{name: {"is not a known part"}}
				}
				if err != nil {
					return "", nil, err
				}
			}
			if len(names) == 0 {
				return "", nil, tenancy.InvalidError{"file": {"is required"}}
			}
			stored, err = json.Marshal(d)
			return strings.Join(names, ", "), stored, err
		})
}

// ErrForm reports that a form could not be read.
var ErrForm = errors.New("the form is not valid multipart/form-data")

func addFile(names *[]string, part *multipart.Part, add func(string, io.Reader) error) error {
	name, problem := fileName(part.FileName())
	switch {
	case problem != "":
	case slices.Contains(*names, name):
		problem = fmt.Sprintf("has two files named %q", name)
	case len(*names) == MaxFiles:
		problem = fmt.Sprintf("must be at most %d files", MaxFiles)
	}
	if problem != "" {
		return tenancy.InvalidError{"file": {problem}}
	}
	*names = append(*names, name)
	return add(name, formError{part})
}

// formError marks the errors of reading a form.
type formError struct{ io.Reader }

// Read implements io.Reader.
func (f formError) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%w: %w", ErrForm, err)
	}
	return n, err
}

// readSettings reads settings as JSON.
func readSettings(r io.Reader) (Settings, error) {
	var answers Answers
	if err := json.NewDecoder(io.LimitReader(r, maxSettings)).Decode(&answers); err != nil {
		return Settings{}, tenancy.InvalidError{"settings": {"must be a JSON object with settings: " + err.Error()}}
	}
	lenient := Answers{} // as the releases before read them: "" is none, and the case of names does not count
	for name, value := range answers {
		if string(value) == `""` {
			value = json.RawMessage("null")
		}
		lenient[strings.ToLower(name)] = value
	}
	return Settings{}.With(lenient)
}

// fileName returns the last element of a path of Windows or Unix, or why it is not valid as a name.
func fileName(sent string) (name, problem string) {
	name = sent[strings.LastIndexAny(sent, `/\`)+1:]
	switch {
	case name == "" || name == "." || name == "..":
		return "", "must have a file name"
	case utf8.RuneCountInString(name) > maxFileName:
		return "", fmt.Sprintf("must have a name of at most %d characters", maxFileName)
	}
	return tenancy.SingleLine(name, maxFileName)
}

// Plan computes a plan from uploaded files.
func (m *Importer) Plan(
	ctx context.Context, tenant tenancy.ID, plan changeplan.Plan, files fs.FS, add func(changeplan.Part) error,
) (stored []byte, complete bool, err error) {
	d, err := readDetails(plan)
	if err != nil {
		return nil, false, err
	}
	zone, err := tenancy.LoadZone(d.Timezone)
	if err != nil {
		return nil, false, err
	}
	paused, kept := d, d.Pictures
	if kept == nil {
		kept = map[string]keptPicture{}
	}
	set, err := m.openAgain(ctx, tenant, files, zone, &d)
	if err != nil {
		return nil, false, readFailure(ctx, err)
	}
	if problem := allProblems(set.Files); problem != "" {
		return nil, false, changeplan.Failure(problem)
	}
	set.kept, d.Pictures = kept, nil
	d.Files, d.Questions, d.Answered = set.Files, set.Questions, set.Answered
	d.Totals, d.Notes, d.Unread = nil, nil, map[int32]int64{}
	if len(set.Questions) == 0 {
		sums, parts := newTotals(zone), int32(0)
		err := m.planRecords(ctx, tenant, set, set.Records(ctx), sums, plan.CreatedAt,
			func(part changeplan.Part, rows []Record) error {
				if n := countUnread(rows); n > 0 {
					d.Unread[parts] = n
				}
				parts++
				return add(part)
			})
		if errors.Is(err, changeplan.ErrPaused) {
			paused.Pictures = kept
			stored, _ = json.Marshal(paused) // it was JSON before
		}
		if of, isRead := errors.AsType[unreadable](err); isRead {
			err = readFailure(ctx, of.error)
		}
		if err != nil {
			return stored, false, err
		}
		d.Totals, d.Notes = sums.sorted()
		complete = true
	}
	stored, err = json.Marshal(d)
	return stored, complete, err
}

// countUnread returns how many rows were refused before anything stored was read.
func countUnread(rows []Record) (n int64) {
	for _, row := range rows {
		if len(row.Unread) > 0 {
			n++
		}
	}
	return n
}

// openAgain opens the files with the settings of the details. It uses remembered answers only for the first plan,
// because a user can change them afterwards.
func (m *Importer) openAgain(
	ctx context.Context, tenant tenancy.ID, files fs.FS, zone *time.Location, d *details,
) (set *Set, err error) {
	of := Tenant{d.Currency, zone}
	if d.Remembered != nil {
		return Open(ctx, files, "", of, d.Settings)
	}
	set, d.Settings, d.Earlier, err = m.open(ctx, tenant, files, of, d.Settings)
	d.Remembered = settingsOf(d.Earlier)
	return set, err
}

// allProblems returns why no file can be read, or "".
func allProblems(files []File) string {
	var problems []string
	for _, f := range files {
		if f.Problem == "" {
			return ""
		}
		problems = append(problems, f.Name+" "+f.Problem)
	}
	return "No file can be read: " + strings.Join(problems, "; ") + "."
}

// readFailure returns why files cannot be read, as a sentence.
func readFailure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	text := err.Error()
	if short := shorten(text, maxFailure); short != text {
		text = short + "…"
	}
	first, size := utf8.DecodeRuneInString(text)
	return changeplan.Failure(strings.ToUpper(string(first)) + text[size:] + ".")
}

func readDetails(plan changeplan.Plan) (d details, err error) {
	if err := json.Unmarshal(plan.Details, &d); err != nil {
		return d, fmt.Errorf("read the details of the import %d: %w", plan.ID, err)
	}
	return d, nil
}

// Configure plans an import again, with answers in addition to its settings. It returns an InvalidError by setting, or
// changeplan.ErrState.
func (j *Jobs) Configure(ctx context.Context, tenant tenancy.ID, id int64, answers Answers) error {
	plan, err := j.Find(ctx, tenant, id)
	if err != nil {
		return err
	}
	d, err := readDetails(plan)
	if err != nil {
		return err
	}
	settings, err := d.Settings.With(answers)
	if err != nil {
		return err
	}
	d.Earlier = slices.DeleteFunc(d.Earlier, func(e Earlier) bool { return !e.isKept(d.Settings, settings) })
	d.Settings, d.Remembered = settings, settingsOf(d.Earlier)
	stored, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return j.PlanAgain(ctx, tenant, id, plan.Details, stored)
}

// Import is the state of an import.
type Import struct {
	changeplan.Summary
	Input
}

// Get returns an import, or tenancy.ErrNotFound.
func (j *Jobs) Get(ctx context.Context, tenant tenancy.ID, id int64) (Import, error) {
	plan, err := j.Plans.Get(ctx, tenant, id)
	if err != nil {
		return Import{}, err
	}
	d, err := readDetails(plan.Plan)
	return Import{plan, d.Input}, err
}
