package imports

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/db"
	"github.com/storeroom/storeroom/tenancy/idempotency"
	"github.com/storeroom/storeroom/tenancy/limits"
	"github.com/storeroom/storeroom/tenancy/webhooks"
)

// EraseKind is the kind of plans that have no rows: they erase a customer from what is stored besides its row.
const EraseKind = "erasure"

// EraseWait is how long a request waits for the erasure from plans of imports.
const EraseWait = 5 * time.Second

const (
	eraseFile = "erase.json"
	// eraseTurn is the time after which an erasure lets other tenants go first.
	eraseTurn = time.Minute
	// maxFormerNames limits the names that plans have of a customer. Rows with its id are erased whatever the name is.
	maxFormerNames = 100
)

const errErased changeplan.Failure = "A customer was erased before the files were read, and they may name the customer. " +
	"Start again without the customer."

// EraseCustomer permanently removes the name and the e-mail of a customer from everything that is stored: the customer
// at once, and then stored responses, plans with the rows of their files, and the responses of webhook receivers. It
// waits for the latter at most for the given time and reports whether they are done; otherwise a worker continues. It
// can be called again. It returns tenancy.ErrNotFound.
func EraseCustomer(
	ctx context.Context, pool *db.DB, tenant tenancy.ID, by tenancy.Actor, id string, wait time.Duration,
) (done bool, err error) {
	plans := changeplan.New(pool, Kinds(pool, Pictures{}))
	// The names are known only as long as the customer has them. The plan of the erasure keeps them in its file, which is
	// deleted when it ends. A call after that continues it.
	var planID int64
	err = sales.New(pool).EraseCustomer(ctx, tenant, id, by, func(b *pgx.Batch, c sales.Names) error {
		names := newEraser(id, c.Name, c.Email).sorted()
		content, err := json.Marshal(erased{id, names})
		if err == nil {
			b.Queue(db.NeverRefused)
			changeplan.QueueCreate(b, tenant, by, EraseKind, id, eraseFile, content, len(names) == 0, &planID)
		}
		return err
	})
	if err != nil {
		return false, err
	}
	plan, err := plans.Settle(ctx, tenant, planID, wait)
	switch {
	case err != nil:
		return false, fmt.Errorf("erase a customer: %w", err)
	case plan.State == changeplan.Failed:
		return false, fmt.Errorf("erase a customer from plans: %s", *plan.Failure)
	}
	return plan.State == changeplan.Planned, nil
}

// erased is the content of eraseFile.
type erased struct {
	ID    string
	Names []string
}

// erasure is the changeplan.Kind of erasures. They have no parts to apply.
type erasure struct {
	*Importer
	turn time.Duration
}

// eraseProgress is what an erasure has done, in the details of its plan. A pass that finds a new name is not the last.
type eraseProgress struct {
	Names []string // found in plans
	After int64    // the plan that this pass has done last
	Found bool     // this pass has found a name
}

// Rules implements changeplan.Kind.
func (erasure) Rules() changeplan.Rules { return changeplan.Rules{} }

// Plan erases the customer.
func (e erasure) Plan(
	ctx context.Context, tenant tenancy.ID, plan changeplan.Plan, files fs.FS, _ func(changeplan.Part) error,
) (details []byte, complete bool, err error) {
	var of erased
	var progress eraseProgress
	text, err := fs.ReadFile(files, eraseFile)
	if err == nil {
		err = json.Unmarshal(text, &of)
	}
	if err == nil {
		err = json.Unmarshal(plan.Details, &progress)
	}
	if err != nil {
		return nil, false, err
	}
	who := newEraser(of.ID)
	for _, name := range append(of.Names, progress.Names...) {
		who.learn(&name)
	}
	plans := changeplan.New(e.db, nil)
	if progress.After == 0 && !progress.Found {
		if err := who.eraseAtOnce(ctx, e.db, tenant, plans); err != nil {
			return nil, false, err
		}
	}
	err = e.erasePlans(ctx, tenant, plan.ID, plans, who, progress)
	if errors.Is(err, limits.ErrBusy) {
		err = changeplan.ErrPaused
	}
	if err == nil { // with the former names too
		err = idempotency.Rewrite(ctx, e.db, tenant, []byte(`"remembered":`), who.response)
	}
	if err == nil {
		err = who.eraseRemembered(ctx, e.db, tenant)
	}
	if err != nil {
		return nil, false, err // the progress is stored
	}
	return []byte(`{}`), true, nil
}

// eraseAtOnce erases what takes little time.
func (e *eraser) eraseAtOnce(ctx context.Context, db *db.DB, tenant tenancy.ID, plans *changeplan.Store) error {
	err := sales.New(db).EraseFromResponses(ctx, tenant, e.id)
	if err == nil {
		err = webhooks.EraseResponses(ctx, db, tenant)
	}
	if err == nil {
		err = plans.EndUnplanned(ctx, tenant, PlanKind, errErased)
	}
	return err
}

// eraseRemembered deletes remembered answers about words that name the customer.
func (e *eraser) eraseRemembered(ctx context.Context, pool *db.DB, tenant tenancy.ID) error {
	type row struct {
		Header   []byte
		Settings json.RawMessage
	}
	rows, err := db.All[row](ctx, pool, tenant,
		`select header, settings from import_settings where tenant_id = $1`, tenant)
	if err != nil {
		return err
	}
	changed := map[changeplan.Header]json.RawMessage{}
	for _, r := range rows {
		var of remembered
		if err := json.Unmarshal(r.Settings, &of); err != nil {
			return err
		}
		answers := len(of.Answers)
		maps.DeleteFunc(of.Answers, func(key, _ string) bool {
			status, isStatus := strings.CutPrefix(key, statusKey)
			return isStatus && e.has(status)
		})
		if len(of.Answers) == answers {
			continue
		}
		if changed[changeplan.Header(r.Header)], err = json.Marshal(of); err != nil {
			return err
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return changeplan.Remember(ctx, pool, tenant, changed)
}

// erasePlans erases the customer from all plans of imports, again if it finds a former name.
func (e erasure) erasePlans(
	ctx context.Context, tenant tenancy.ID, id int64, plans *changeplan.Store, who *eraser, progress eraseProgress,
) error {
	began := time.Now()
	for {
		known := len(who.names)
		err := plans.Rewrite(ctx, tenant, PlanKind, progress.After, changeplan.Rewriter{
			Details: who.details, Text: who.label, Part: who.part,
			Done: func(plan int64) error {
				progress = eraseProgress{who.sorted(), plan, progress.Found || len(who.names) > known}
				return e.save(ctx, tenant, id, plans, progress, began)
			},
		})
		if err != nil {
			return err
		}
		if !progress.Found {
			return nil
		}
		progress = eraseProgress{Names: who.sorted()}
		if err := e.save(ctx, tenant, id, plans, progress, began); err != nil {
			return err
		}
	}
}

// save stores the progress, and returns changeplan.ErrPaused at the end of the turn.
func (e erasure) save(
	ctx context.Context, tenant tenancy.ID, id int64, plans *changeplan.Store, progress eraseProgress, began time.Time,
) error {
	details, err := json.Marshal(progress)
	if err == nil {
		err = plans.SetDetails(ctx, tenant, id, details)
	}
	if err == nil && time.Since(began) > e.turn {
		err = changeplan.ErrPaused
	}
	return err
}

// eraser finds a customer in the rows of plans.
type eraser struct {
	id    string
	names map[string]*regexp.Regexp // names and e-mails, normalised; the plans may have former ones
}

func newEraser(id string, names ...*string) *eraser {
	e := &eraser{id, map[string]*regexp.Regexp{}}
	e.learn(names...)
	return e
}

func normalised(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }

func (e *eraser) sorted() []string { return slices.Sorted(maps.Keys(e.names)) }

// learn adds names.
func (e *eraser) learn(names ...*string) {
	for _, name := range names {
		if name == nil || len(e.names) == maxFormerNames {
			continue
		}
		if text := normalised(*name); text != "" && e.names[text] == nil {
			// Ann Leeson is not Ann Lee, and fred@example.com is not ed@example.com.
			e.names[text] = regexp.MustCompile(`(?:^|[^\pL\pN._+@-])` + regexp.QuoteMeta(text) +
				`(?:$|[^\pL\pN._@-]|[._-](?:$|[^\pL\pN]))`)
		}
	}
}

// details erases the examples of cells, because a plan without its files asks nothing, and names in columns and labels.
func (e *eraser) details(stored []byte) ([]byte, error) {
	var d details
	if err := json.Unmarshal(stored, &d); err != nil {
		return nil, err
	}
	before, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	e.eraseDetails(&d)
	after, err := json.Marshal(d)
	if err != nil || bytes.Equal(before, after) {
		return nil, err
	}
	return after, nil
}

// eraseDetails erases cells that a file without a header has in its place, too.
func (e *eraser) eraseDetails(d *details) {
	cell := func(text string) string {
		if e.has(text) {
			return ""
		}
		return text
	}
	columns := func(of map[string]string) {
		maps.DeleteFunc(of, func(column, _ string) bool { return e.has(column) })
	}
	for i := range d.Files {
		f := &d.Files[i]
		f.Name, f.Problem, f.Sheet, f.Examples = e.label(f.Name), e.label(f.Problem), e.label(f.Sheet), nil
		for i := range f.Header {
			f.Header[i] = cell(f.Header[i])
		}
		f.Unused = slices.DeleteFunc(f.Unused, e.has)
		columns(f.Mapping)
	}
	for i := range d.Earlier {
		d.Earlier[i].File = e.label(d.Earlier[i].File)
	}
	for _, q := range questionsOf(d) {
		if q.ID != "statuses" || e.has(q.Word()) {
			q.Examples = nil
		}
		q.File, q.Column, q.Readings = e.label(q.File), cell(q.Column), nil
		if e.quotes(q.Reason) {
			q.Reason = ""
		}
		q.Choices = slices.DeleteFunc(q.Choices, e.has)
	}
	columns(d.Settings.Statuses)
	for _, file := range slices.Sorted(maps.Keys(d.Settings.Mapping)) {
		mapping := d.Settings.Mapping[file]
		columns(mapping)
		delete(d.Settings.Mapping, file)
		d.Settings.Mapping[e.label(file)] = mapping
	}
	d.Notes = slices.DeleteFunc(d.Notes, func(n NoteCount) bool { return e.quotes(n.Text) })
}

// questionsOf returns all questions of an import.
func questionsOf(d *details) (all []*Question) {
	for _, questions := range [][]Question{d.Questions, d.Answered} {
		for i := range questions {
			all = append(all, &questions[i])
		}
	}
	return all
}

// part returns the rows and the result of a part if they name the customer.
func (e *eraser) part(part changeplan.Part) (rows, result []byte, err error) {
	if !e.mayHave(part.Rows) && !e.mayHave(part.Result) {
		return nil, nil, nil
	}
	planned, err := changeplan.Decode[Record](part)
	if err != nil {
		return nil, nil, err
	}
	about, found := map[int]bool{}, false
	for i := range planned {
		row := &planned[i]
		if has, byID := e.isAbout(row); has {
			about[i] = true
			found = e.eraseRow(row, byID) || found
		}
		for i := range row.Rows {
			label := e.label(row.Rows[i].File)
			found = found || label != row.Rows[i].File
			row.Rows[i].File = label
		}
	}
	if found {
		if rows, err = json.Marshal(planned); err != nil {
			return nil, nil, err
		}
	}
	if len(part.Result) > 0 {
		result, err = e.result(part, about)
	}
	return rows, result, err
}

// mayHave reports whether JSON has the id or a name. It is much faster than decoding.
func (e *eraser) mayHave(text []byte) bool {
	if len(text) == 0 {
		return false
	}
	lower := bytes.ToLower(text)
	for word := range e.names {
		if bytes.Contains(lower, bytes.ToLower(inJSON(word))) {
			return true
		}
	}
	return bytes.Contains(text, fmt.Appendf(nil, `"%s"`, inJSON(e.id)))
}

// inJSON returns a text as it is inside of quotes.
func inJSON(text string) []byte {
	quoted, _ := json.Marshal(text) // cannot fail
	return quoted[1 : len(quoted)-1]
}

// isPhrase reports whether a name is unlikely to be a part of another text: an e-mail, or several words.
func isPhrase(name string) bool { return strings.ContainsAny(name, "@ ") }

// has reports whether a text is or has a name of the customer. A single word, such as Ann, must be the whole text.
func (e *eraser) has(text string) bool {
	text = normalised(text)
	if e.names[text] != nil {
		return true
	}
	for name, found := range e.names {
		if isPhrase(name) && found.MatchString(text) {
			return true
		}
	}
	return false
}

// quotes is has for a message about the customer, which can quote a single word.
func (e *eraser) quotes(message string) bool {
	message = normalised(message)
	for _, found := range e.names {
		if found.MatchString(message) {
			return true
		}
	}
	return false
}

const erasedLabel = "erased"

// label returns the name of a file, or a text with such names, without the names of the customer. Equal names stay
// equal.
func (e *eraser) label(text string) string {
	files := strings.Split(text, ", ")
	for i, file := range files {
		if ext := path.Ext(file); e.names[normalised(strings.TrimSuffix(file, ext))] != nil {
			files[i] = erasedLabel + ext
		}
	}
	text = strings.Join(files, ", ")
	for _, name := range e.sorted() {
		if isPhrase(name) {
			words := strings.ReplaceAll(regexp.QuoteMeta(name), " ", `\s+`)
			text = regexp.MustCompile(`(?i)`+words).ReplaceAllLiteralString(text, erasedLabel)
		}
	}
	return text
}

// isAbout reports whether a row is about the customer: by its id or, if it names no customer by id, by its cells.
func (e *eraser) isAbout(row *Record) (is, byID bool) {
	ids := []string{row.About}
	if row.Kind == Customer {
		ids = append(ids, row.Key)
	}
	if row.Change != nil {
		ids = append(ids, row.Change.ID)
	}
	for _, c := range []*sales.Customer{row.Customer, orderCustomer(row.Order)} {
		if c != nil {
			ids = append(ids, c.ID)
		}
	}
	if slices.Contains(ids, e.id) {
		return true, true
	}
	if slices.ContainsFunc(ids, func(id string) bool { return id != "" }) {
		return false, false
	}
	for _, of := range row.Rows {
		if slices.ContainsFunc(of.Cells, e.has) {
			return true, false
		}
	}
	return false, false
}

// eraseRow removes the names from a row and empties its cells, all of them if the row has the id of the customer. It
// reports whether there were any. The order of the row can still be stored.
func (e *eraser) eraseRow(row *Record, byID bool) (found bool) {
	for _, of := range row.Rows {
		for i, cell := range of.Cells {
			if cell != "" && (byID || e.has(cell)) {
				of.Cells[i], found = "", true
			}
		}
	}
	if c := row.Customer; c != nil && c.ID == e.id {
		e.learn(c.Name, c.Email)
		found = found || c.Name != nil || c.Email != nil
		c.Name, c.Email = nil, nil
	}
	if c := orderCustomer(row.Order); c != nil && c.ID == e.id && (c.Name != nil || c.Email != nil) {
		e.learn(c.Name, c.Email)
		row.Order.EraseNames()
		found = true
	}
	if c := row.Change; c != nil && c.ID == e.id {
		found = e.eraseChange(c) || found
	}
	for _, fields := range []map[string]any{row.Old, row.New} {
		for _, name := range []string{"name", "email"} {
			if _, has := fields[name]; has && row.Kind == Customer && byID {
				delete(fields, name)
				found = true
			}
		}
	}
	before := len(row.Notes)
	row.Notes = slices.DeleteFunc(row.Notes, func(n Note) bool { return e.quotes(n.Text) })
	return e.eraseErrors(row.Invalid) || found || len(row.Notes) < before
}

func orderCustomer(o *sales.Order) *sales.Customer {
	if o == nil {
		return nil
	}
	return o.Customer
}

func (e *eraser) eraseChange(c *sales.CustomerChange) (found bool) {
	e.learn(c.OldName, c.OldEmail, c.Name, c.Email)
	found = c.OldName != nil || c.OldEmail != nil || c.Name != nil || c.Email != nil
	c.OldName, c.OldEmail, c.Name, c.Email = nil, nil, nil, nil
	return found
}

// eraseErrors replaces errors of a row about the customer that quote a name.
func (e *eraser) eraseErrors(invalid tenancy.InvalidError) (found bool) {
	for _, field := range slices.Sorted(maps.Keys(invalid)) {
		for i, message := range invalid[field] {
			if message != erasedError && e.quotes(message) {
				invalid[field][i], found = erasedError, true
			}
		}
	}
	return found
}

const erasedError = "is not valid"

// result returns the result of a part without the names, or nil if it has none. An undo restores no name of an erased
// customer. about are the indexes of the rows about the customer.
func (e *eraser) result(part changeplan.Part, about map[int]bool) ([]byte, error) {
	result, err := decodeResult(part)
	if err != nil {
		return nil, err
	}
	found := false
	for i := range result.Customers {
		if result.Customers[i].ID == e.id {
			found = e.eraseChange(&result.Customers[i]) || found
		}
	}
	for _, row := range result.Rows {
		if about[row.Row] {
			found = e.eraseErrors(row.Invalid) || found
		}
	}
	for i, kept := range result.Kept {
		if e.has(kept.Reason) {
			result.Kept[i].Reason, found = "has changed since", true
		}
	}
	if !found {
		return nil, nil
	}
	return json.Marshal(result)
}

// response returns the response to a request about an import without examples of cells and names.
func (e *eraser) response(body []byte) []byte {
	var response struct {
		Success bool                       `json:"success"`
		Data    map[string]json.RawMessage `json:"data"`
	}
	var d struct {
		Data struct {
			details
			Title   string  `json:"title"`
			Failure *string `json:"failure"`
		} `json:"data"`
	}
	if json.Unmarshal(body, &response) != nil || json.Unmarshal(body, &d) != nil {
		return body
	}
	e.eraseDetails(&d.Data.details)
	if d.Data.Failure != nil {
		*d.Data.Failure = e.label(*d.Data.Failure)
	}
	for field, value := range map[string]any{
		"title": e.label(d.Data.Title), "failure": d.Data.Failure, "files": d.Data.Files, "settings": d.Data.Settings,
		"questions": d.Data.Questions, "notes": d.Data.Notes,
	} {
		if response.Data[field] != nil {
			response.Data[field], _ = json.Marshal(value) // cannot fail
		}
	}
	erased, _ := json.Marshal(response) // cannot fail
	return erased
}
