package pages

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/go-chi/chi/v5"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// planKind has the handlers that the pages of imports and of plans share.
type planKind struct {
	*Handler
	jobs    func() *imports.Jobs
	section string // of the path
	page    string // the prefix of templates
}

func (p *Handler) imports() planKind {
	return planKind{p, func() *imports.Jobs { return p.Imports }, "/imports/", "import"}
}

func (p *Handler) plans() planKind {
	return planKind{p, func() *imports.Jobs { return &p.Changes.Jobs }, "/plans/", "plan"}
}

// showProgress returns the state and the progress as JSON, for the script of the page.
func (k planKind) showProgress(w http.ResponseWriter, r *http.Request, u user) error {
	i, err := k.jobs().Get(r.Context(), u.Tenant.ID, pathID(r))
	if err != nil {
		return err
	}
	page := importPage{Import: i}
	text, err := json.Marshal(map[string]any{
		"state": i.State, "percent": page.Percent(), "text": page.ProgressText(u.Format),
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
	return k.after(w, r, u, k.jobs().Apply(r.Context(), u.Tenant.ID, k.by(r, u), pathID(r), skip))
}

func (k planKind) cancel(w http.ResponseWriter, r *http.Request, u user) error {
	return k.after(w, r, u, k.jobs().Cancel(r.Context(), u.Tenant.ID, k.by(r, u), pathID(r)))
}

// showUndo asks for a confirmation.
func (k planKind) showUndo(w http.ResponseWriter, r *http.Request, u user) error {
	i, err := k.jobs().Get(r.Context(), u.Tenant.ID, pathID(r))
	if err != nil {
		return err
	}
	return k.show(w, http.StatusOK, k.page+"-undo", u, importPage{Import: i})
}

func (k planKind) undo(w http.ResponseWriter, r *http.Request, u user) error {
	return k.after(w, r, u, k.jobs().Undo(r.Context(), u.Tenant.ID, k.by(r, u), pathID(r)))
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
	list, err := p.Changes.List(r.Context(), u.Tenant.ID, paging.Page{Number: number, PerPage: listPerPage})
	if err != nil {
		return err
	}
	at := newPager(r, number, listPerPage, list.Total)
	return p.showList(w, r, "plans", u, at, importsPage{Imports: list.Items, Pager: at})
}

// planActions are what can happen to a row of a plan.
var planActions = []imports.Action{imports.Created, imports.Updated, imports.Unchanged, imports.Refused}

// skippedRows selects the rows that something else has changed.
const skippedRows = "skipped"

// filterActions selects the rows with the action of the request.
func (p *importPage) filterActions(r *http.Request, f *imports.RowFilter, actions []imports.Action) {
	action := imports.Action(r.FormValue("action"))
	switch {
	case slices.Contains(actions, action):
		f.Action, p.Action = action, string(action)
	case action == skippedRows:
		f.Kept, p.Action = true, skippedRows
	}
}

// showPlan shows the changes, the progress or the result of a plan.
func (p *Handler) showPlan(w http.ResponseWriter, r *http.Request, u user) error {
	i, err := p.Changes.Get(r.Context(), u.Tenant.ID, pathID(r))
	if err != nil {
		return err
	}
	page := importPage{Import: i, Running: i.State.IsDue()}
	filter := imports.RowFilter{Page: paging.Page{Number: pageNumber(r), PerPage: importRows}}
	page.filterActions(r, &filter, planActions)
	var rows paging.List[imports.PlanRow]
	if !page.Running {
		if rows, err = p.Changes.Rows(r.Context(), u.Tenant.ID, i.ID, filter); err != nil {
			return err
		}
	}
	page.Rows, page.Pager = rows.Items, newPager(r, filter.Page.Number, filter.Page.PerPage, rows.Total)
	return p.showList(w, r, "plan", u, page.Pager, page)
}

// Total is the number of rows.
func (p importPage) Total() (n int64) {
	for _, c := range p.Counts {
		n += c.Created + c.Updated + c.Unchanged + c.Refused + c.Ignored
	}
	return n
}

// ProductCounts are the numbers of rows of a plan that changes products.
func (p importPage) ProductCounts() imports.Counts { return p.Counts[imports.Product] }
