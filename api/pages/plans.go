package pages

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// planKind has the handlers that the pages of imports and of plans share.
type planKind struct {
	*Handler
	kind    string // of the plans
	section string // of the path
	page    string // the prefix of templates
}

func (p *Handler) imports() planKind { return planKind{p, imports.PlanKind, "/imports/", "import"} }

func (p *Handler) plans() planKind { return planKind{p, imports.ChangesKind, "/plans/", "plan"} }

// stored returns the plans of the kind.
func (k planKind) stored(u user) changeplan.Plans { return k.Plans.On(u.db).Of(k.kind) }

// planPage is a plan, also an import, with some of its rows.
type planPage struct {
	changeplan.Summary
	Action  string
	Rows    []changeplan.Row
	Names   map[int64]string // of products, by their ids
	Pager   pager
	Running bool
}

// showProgress returns the state and the progress as JSON, for the script of the page.
func (k planKind) showProgress(w http.ResponseWriter, r *http.Request, u user) error {
	plan, err := k.stored(u).Get(r.Context(), u.Tenant.ID, pathID(r))
	if err != nil {
		return err
	}
	page := planPage{Summary: plan}
	text, err := json.Marshal(map[string]any{
		"state": page.State, "percent": page.Percent(), "text": page.ProgressText(u.Format),
	})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // fails only if the browser has disconnected
	return nil
}

func (k planKind) apply(w http.ResponseWriter, r *http.Request, u user) error {
	skip := r.PostFormValue("skip_changed") != ""
	return k.carryOut(w, r, u, k.stored(u).Apply(r.Context(), u.Tenant.ID, k.by(r, u), pathID(r), skip))
}

func (k planKind) cancel(w http.ResponseWriter, r *http.Request, u user) error {
	return k.after(w, r, u, k.stored(u).Cancel(r.Context(), u.Tenant.ID, k.by(r, u), pathID(r)))
}

// showUndo asks for a confirmation.
func (k planKind) showUndo(w http.ResponseWriter, r *http.Request, u user) error {
	plan, err := k.stored(u).Get(r.Context(), u.Tenant.ID, pathID(r))
	if err != nil {
		return err
	}
	return k.show(w, http.StatusOK, k.page+"-undo", u, plan)
}

func (k planKind) undo(w http.ResponseWriter, r *http.Request, u user) error {
	return k.carryOut(w, r, u, k.stored(u).Undo(r.Context(), u.Tenant.ID, k.by(r, u), pathID(r)))
}

// carryOut is after for a request that changes products. A small price change is carried out at once.
func (k planKind) carryOut(w http.ResponseWriter, r *http.Request, u user, err error) error {
	if err == nil && k.kind == imports.ChangesKind {
		var plan changeplan.Summary
		if plan, err = k.stored(u).Get(r.Context(), u.Tenant.ID, pathID(r)); err == nil {
			err = k.settle(r.Context(), u, plan.ID, plan.Sum().Total())
		}
	}
	return k.after(w, r, u, err)
}

// after shows the import or the plan, in its new state if another tab, for example, has changed it.
func (k planKind) after(w http.ResponseWriter, r *http.Request, u user, err error) error {
	if err != nil && !errors.Is(err, changeplan.ErrState) {
		return err
	}
	redirect(w, r, u.path(k.section+url.PathEscape(chi.URLParam(r, "id"))))
	return nil
}

// showPlans lists the plans that change products.
func (p *Handler) showPlans(w http.ResponseWriter, r *http.Request, u user) error {
	number := pageNumber(r)
	list, err := p.plans().stored(u).List(r.Context(), u.Tenant.ID, paging.Page{Number: number, PerPage: listPerPage})
	if err != nil {
		return err
	}
	at := newPager(r, number, listPerPage, list.Total)
	return p.showList(w, r, "plans", u, at, plansPage{Plans: list.Items, Pager: at})
}

// planActions are what can happen to a row of a plan.
var planActions = []changeplan.Action{
	changeplan.Created, changeplan.Updated, changeplan.Unchanged, changeplan.Refused,
}

// skippedRows selects the rows that something else has changed.
const skippedRows = "skipped"

// filterActions selects the rows with the action of the request.
func (p *planPage) filterActions(r *http.Request, f *changeplan.RowFilter, actions []changeplan.Action) {
	action := changeplan.Action(r.FormValue("action"))
	switch {
	case slices.Contains(actions, action):
		f.Action, p.Action = action, string(action)
	case action == skippedRows:
		f.Kept, p.Action = true, skippedRows
	}
}

// showPlan shows the changes, the progress or the result of a plan.
func (p *Handler) showPlan(w http.ResponseWriter, r *http.Request, u user) error {
	plan, err := p.plans().stored(u).Get(r.Context(), u.Tenant.ID, pathID(r))
	if err != nil {
		return err
	}
	page := planPage{Summary: plan, Running: plan.State.IsDue()}
	filter := changeplan.RowFilter{Page: paging.Page{Number: pageNumber(r), PerPage: importRows}}
	page.filterActions(r, &filter, planActions)
	if !page.Running {
		if err := page.read(r, p.plans().stored(u), u, filter); err != nil {
			return err
		}
		if err := page.readNames(r, u); err != nil {
			return err
		}
	}
	return p.showList(w, r, "plan", u, page.Pager, page)
}

// readNames reads the names of the products in the rows.
func (p *planPage) readNames(r *http.Request, u user) error {
	var ids []int64
	for _, row := range p.Rows {
		if row.ProductID > 0 {
			ids = append(ids, row.ProductID)
		}
	}
	products, err := u.catalog().ProductsByID(r.Context(), u.Tenant.ID, ids)
	p.Names = map[int64]string{}
	for _, product := range products {
		p.Names[product.ID] = product.Name
	}
	return err
}

// NameOf returns the name of the product of a row, or "" if there is none.
func (p planPage) NameOf(row changeplan.Row) string {
	if name, exists := p.Names[row.ProductID]; exists {
		return name
	}
	name, _ := row.New["name"].(string)
	return name
}

// rowStates are what happens to a row of a plan, by its stage.
var rowStates = map[changeplan.Stage]map[changeplan.Action]string{
	changeplan.IsPlanned: {
		changeplan.Created: mark("Will be created"), changeplan.Updated: mark("Will change"),
		changeplan.Unchanged: mark("Stays as it is"), changeplan.Refused: mark("Not possible"),
	},
	changeplan.IsApplied: {
		changeplan.Created: mark("Was created"), changeplan.Updated: mark("Changed"),
		changeplan.Unchanged: mark("Unchanged"), changeplan.Refused: mark("Refused"),
	},
	changeplan.IsUndone: {
		changeplan.Created: mark("Deleted again"), changeplan.Updated: mark("Put back"),
		changeplan.Unchanged: mark("Unchanged"), changeplan.Refused: mark("Refused"),
	},
}

// StateOf says what will happen to a row, what has happened, or that it was undone.
func (p planPage) StateOf(row changeplan.Row, f formatter) string {
	isOver := p.State == changeplan.Cancelled || p.State == changeplan.Undone
	switch stage := cmp.Or(row.Stage, changeplan.IsPlanned); {
	case !row.Writes():
		return f.T(rowStates[stage][row.Action])
	case row.Kept != nil && stage == changeplan.IsUndone:
		return f.T("Kept")
	case row.Kept != nil:
		return f.T("Changed by others")
	case stage == changeplan.IsPlanned && isOver:
		return f.T("Not carried out")
	default:
		return f.T(rowStates[stage][row.Action])
	}
}

// ActionText returns what an action is called in the state of the plan.
func (p planPage) ActionText(action changeplan.Action, f formatter) string {
	stage := changeplan.IsPlanned
	switch p.State {
	case changeplan.Applied:
		stage = changeplan.IsApplied
	case changeplan.Undone:
		stage = changeplan.IsUndone
	}
	return f.T(rowStates[stage][action])
}

// read reads the rows of the page.
func (p *planPage) read(r *http.Request, plans changeplan.Plans, u user, f changeplan.RowFilter) error {
	rows, err := plans.Rows(r.Context(), u.Tenant.ID, p.ID, f)
	p.Rows, p.Pager = rows.Items, newPager(r, f.Page.Number, f.Page.PerPage, rows.Total)
	return err
}

// Count returns the number of rows of a kind with an action.
func (p planPage) Count(kind changeplan.RowKind, action changeplan.Action) int64 {
	c := p.Counts[kind]
	return *c.Of(action)
}

// Changes is the number of rows that the plan writes.
func (p planPage) Changes() int64 {
	sum := p.Sum()
	return sum.Created + sum.Updated
}

// Percent is the progress of the current work, or -1 if its end is not known.
func (p planPage) Percent() int64 {
	switch of := p.Progress.Of; {
	case of == nil:
		return -1
	case *of == 0:
		return 100
	default:
		return p.Progress.Rows * 100 / *of
	}
}

// ProgressText returns how many rows are done, in words.
func (p planPage) ProgressText(f formatter) string {
	if p.Progress.Of == nil {
		return f.T("%d rows read", p.Progress.Rows)
	}
	return f.T("%[2]s of %[1]d rows", *p.Progress.Of, f.Count(p.Progress.Rows))
}

// amountFields are the fields of rows that are amounts.
var amountFields = []string{"price", "msrp", "cost", "revenue", "amount"}

// Change is a field of a row before and after.
type change struct{ Field, Old, New string }

// Changes returns the fields of a row that change, sorted by name. Those of a new row have no old value.
func (f formatter) Changes(row changeplan.Row) (all []change) {
	text := func(field string, value any) string {
		text := f.planText(value)
		if cents, err := money.ParseText(text); err == nil && slices.Contains(moneyFields, field) {
			return f.Money(cents)
		}
		if field == "status" && text != "" {
			return f.Word(text)
		}
		if at, err := time.Parse(time.RFC3339, text); err == nil && strings.HasSuffix(field, "_at") {
			return f.Time(at)
		}
		if cents, err := money.Parse(text); err == nil && slices.Contains(amountFields, field) {
			return f.Money(cents)
		}
		return cmp.Or(text, f.T("none"))
	}
	for _, field := range slices.Sorted(maps.Keys(row.New)) {
		c := change{f.Field(field), "", text(field, row.New[field])}
		if row.Old != nil {
			c.Old = text(field, row.Old[field])
		}
		all = append(all, c)
	}
	return all
}

// moneyFields are the amounts of products in plans.
var moneyFields = []string{"price", "msrp", "cost"}

func (f formatter) planText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case []any:
		texts := make([]string, len(v))
		for i, element := range v {
			texts[i] = f.planText(element)
		}
		return strings.Join(texts, ", ")
	case map[string]any: // quantities by warehouse
		var texts []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			texts = append(texts, name+" "+f.planText(v[name]))
		}
		return strings.Join(texts, ", ")
	case bool:
		return f.T(map[bool]string{true: mark("yes"), false: mark("no")}[v])
	}
	text, _ := json.Marshal(value) // JSON before, so it cannot fail
	return string(text)
}

// Problems returns the errors of a row as sentences, or which of its fields something else has changed.
func (f formatter) Problems(row changeplan.Row) (all []string) {
	if row.Kept != nil {
		all = append(all, f.T("Not written: %s", f.Sentence(row.Kept.Reason)))
		for _, field := range row.Kept.Fields {
			all = append(all, f.T("%s has another value", f.Field(field)))
		}
		return all
	}
	for _, refusal := range imports.Refusals(row) {
		text := f.refusalText(refusal)
		if first := row.First(); refusal.File != first.File || refusal.Line != first.Line {
			text = f.T("%s line %s", refusal.File, strconv.Itoa(refusal.Line)) + ": " + text
		}
		all = append(all, text)
	}
	return all
}
