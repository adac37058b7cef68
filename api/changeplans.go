package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/paging"
)

const (
	// maxSettled is the number of rows up to which a request computes, applies or undoes a plan itself, for at most
	// settleTime. Larger plans run in the background.
	maxSettled = 1000
	settleTime = 15 * time.Second
	rowsOfPlan = 100 // in a response
)

// planJSON is a plan that changes products.
type planJSON struct {
	planHeadJSON
	Counts   planCounts       `json:"counts"`
	Progress imports.Progress `json:"progress"`
	Rows     []planRowJSON    `json:"rows"`
}

// planHeadJSON is a plan in a list.
type planHeadJSON struct {
	importHeadJSON
	URL *string `json:"url"` // of its page; null without pages
}

type planCounts struct {
	Created   int64 `json:"created"`
	Updated   int64 `json:"updated"`
	Unchanged int64 `json:"unchanged"`
	Refused   int64 `json:"refused"`
	Skipped   int64 `json:"skipped"`
}

// planRowJSON is a row of a plan.
type planRowJSON struct {
	Index   *int                 `json:"index"` // in the request; null for a change of a filter
	SKU     *string              `json:"sku"`
	ID      *int64               `json:"id"`
	Action  imports.Action       `json:"action"`
	Old     map[string]any       `json:"old"`
	New     map[string]any       `json:"new"`
	Errors  tenancy.InvalidError `json:"errors"`
	Changed *changedRow          `json:"changed"` // if something else has changed it
}

// changedRow is a row of a plan that something else has changed since. Fields is empty if the product was created or
// deleted.
type changedRow struct {
	SKU    string   `json:"sku"`
	ID     *int64   `json:"id"`
	Fields []string `json:"fields"`
	Reason string   `json:"reason"`
}

// planMeta has the position of the next rows.
type planMeta struct {
	PlanID     int64   `json:"plan_id"`
	URL        *string `json:"url"`
	PerPage    int     `json:"per_page"`
	Total      int64   `json:"total"`
	NextCursor *string `json:"next_cursor"`
}

// planProducts handles POST /api/products/bulk?plan=true.
func (s *Server) planProducts(w http.ResponseWriter, r *http.Request, body *bulkBody) error {
	title := fmt.Sprintf("Bulk request of %d products", len(body.rows))
	if len(body.rows) == 1 {
		title = "Bulk request of 1 product"
	}
	each := func(yield func(int, catalog.Row) error) error {
		return body.eachRow(r.Context(), body.all(), func(i int, o *object) error {
			row := catalog.Row{Changes: o.productRow(), Invalid: o.errs}
			if err := body.malformed[i]; err != nil {
				row.Invalid = tenancy.InvalidError{"": {malformedRow(err)}}
			}
			limitErrors(row.Invalid, len(body.rows))
			return yield(i, row)
		})
	}
	id, err := s.Changes.CreateRows(r.Context(), tenant(r), s.keyActor(r), title, each)
	if err != nil {
		return err
	}
	return s.answerPlan(w, r, id, int64(len(body.rows)), http.StatusCreated)
}

// answerPlan carries out a small plan and sends it, with the given status unless it continues in the background.
func (s *Server) answerPlan(w http.ResponseWriter, r *http.Request, id, rows int64, status int) error {
	// With an Idempotency-Key, the plan and the response are one transaction, so that nothing else sees the plan yet.
	if rows <= maxSettled && r.Header.Get("Idempotency-Key") == "" {
		if err := s.Changes.Settle(r.Context(), tenant(r), id, settleTime); err != nil {
			return err
		}
	}
	i, err := s.Changes.Get(r.Context(), tenant(r), id)
	if err != nil {
		return err
	}
	if status == http.StatusCreated {
		w.Header().Set("Location", "/api/plans/"+strconv.FormatInt(id, 10))
	}
	switch {
	case i.State.IsDue():
		status = http.StatusAccepted
	case i.State == changeplan.Planned && i.Failure != nil:
		return s.changedError(r, i)
	}
	return s.writePlan(w, r, status, i, imports.RowFilter{Page: paging.Page{Number: 1, PerPage: rowsOfPlan}})
}

// changedError returns the response for a plan that was not applied because rows have changed since. It names the first
// of them.
func (s *Server) changedError(r *http.Request, i imports.Import) error {
	f := imports.RowFilter{Kept: true, Page: paging.Page{Number: 1, PerPage: rowsOfPlan}}
	rows, err := s.Changes.Rows(r.Context(), tenant(r), i.ID, f)
	if err != nil {
		return err
	}
	return &apiError{
		code: PreconditionFailed, changed: mapSlice(rows.Items, changedShape),
		message: fmt.Sprintf("Nothing was changed. Rows that have changed since the plan: %d. Send "+
			`{"force": true} to apply the others.`, rows.Total),
	}
}

// writePlan sends a plan with some of its rows.
func (s *Server) writePlan(
	w http.ResponseWriter, r *http.Request, status int, i imports.Import, f imports.RowFilter,
) error {
	rows := paging.List[imports.PlanRow]{}
	var err error
	if i.State != changeplan.Planning {
		if rows, err = s.Changes.Rows(r.Context(), tenant(r), i.ID, f); err != nil {
			return err
		}
	}
	head := s.planHeadShape(r, i)
	plan := planJSON{head, planCountsOf(i), i.Progress, mapSlice(rows.Items, planRowShape)}
	meta := planMeta{PlanID: i.ID, URL: head.URL, PerPage: f.Page.PerPage, Total: rows.Total}
	if f.Page.Offset()+int64(len(rows.Items)) < rows.Total {
		at := paging.Position{ID: int64(f.Page.Number) + 1}
		meta.NextCursor = new(at.Cursor(rowsIdentity(r, i.ID, f)...))
	}
	return writeLarge(w, r, status, envelope(plan, jsonField{"meta", meta}))
}

func rowsIdentity(r *http.Request, id int64, f imports.RowFilter) []any {
	return []any{tenant(r), id, f.Action, f.Kept, f.Page.PerPage}
}

func (s *Server) planHeadShape(r *http.Request, i imports.Import) planHeadJSON {
	head := planHeadJSON{importHeadShape(i), nil}
	if s.pages != nil && s.BaseURL != nil {
		page := s.BaseURL.JoinPath("settings/t", principal(r).Tenant.Slug, "plans", strconv.FormatInt(i.ID, 10))
		head.URL = new(page.String())
	}
	return head
}

func planCountsOf(i imports.Import) planCounts {
	c := i.Counts[imports.Product]
	return planCounts{c.Created, c.Updated, c.Unchanged, c.Refused, c.Skipped}
}

func planRowShape(row imports.PlanRow) planRowJSON {
	shown := planRowJSON{Action: row.Action, Old: row.Old, New: row.New, Errors: row.Problems}
	if shown.Errors == nil {
		shown.Errors = tenancy.InvalidError{}
	}
	if row.HasIndex {
		shown.Index = &row.Line
	}
	if row.Key != "" {
		shown.SKU = &row.Key
	}
	if row.ProductID > 0 {
		shown.ID = &row.ProductID
	}
	if row.Changed != nil {
		shown.Changed = new(changedShape(row))
	}
	return shown
}

func changedShape(row imports.PlanRow) changedRow {
	changed := changedRow{SKU: row.Key, Fields: row.Changed.Fields, Reason: row.Changed.Reason}
	if row.ProductID > 0 {
		changed.ID = &row.ProductID
	}
	return changed
}

// listPlans handles GET /api/plans.
func (s *Server) listPlans(w http.ResponseWriter, r *http.Request) error {
	q := readQuery(r)
	page := q.page()
	if err := q.err(); err != nil {
		return err
	}
	list, err := s.Changes.List(r.Context(), tenant(r), page)
	if err != nil {
		return err
	}
	return writePage(w, r, page, list, func(i imports.Import) planHeadJSON { return s.planHeadShape(r, i) })
}

// rowAction takes the action of rows of a plan; changed selects those that something else has changed.
func (q *query) rowAction(f *imports.RowFilter, actions ...string) {
	action := q.oneOf("action", actions...)
	if f.Kept = action == "changed"; !f.Kept {
		f.Action = imports.Action(action)
	}
}

// showPlan handles GET /api/plans/{id}.
func (s *Server) showPlan(w http.ResponseWriter, r *http.Request) error {
	q := readQuery(r)
	id := q.pathID(r, "id")
	f := imports.RowFilter{Page: paging.Page{Number: 1, PerPage: q.between("per_page", 1, maxPerPage, rowsOfPlan)}}
	q.rowAction(&f, "created", "updated", "unchanged", "refused", "changed")
	if cursor, _ := q.take("cursor"); cursor != "" {
		at, err := paging.ParseCursor(cursor, rowsIdentity(r, id, f)...)
		q.check("cursor", err)
		f.Page.Number = int(at.ID)
	}
	if err := q.err(); err != nil {
		return err
	}
	i, err := s.Changes.Get(r.Context(), tenant(r), id)
	if err != nil {
		return err
	}
	return s.writePlan(w, r, http.StatusOK, i, f)
}

// applyPlan handles POST /api/plans/{id}/apply. The body is optional.
func (s *Server) applyPlan(w http.ResponseWriter, r *http.Request, id int64) error {
	body, err := readOptionalBody(r)
	if err != nil {
		return err
	}
	force := optional(body, "force", parseBool)
	body.rejectUnknown()
	if err := body.errs.Err(); err != nil {
		return err
	}
	i, err := s.Changes.Get(r.Context(), tenant(r), id)
	if err != nil {
		return err
	}
	if err := s.Changes.Apply(r.Context(), tenant(r), s.keyActor(r), id, force != nil && *force); err != nil {
		return err
	}
	return s.answerPlan(w, r, id, rowsOf(i), http.StatusOK)
}

// rowsOf returns the number of rows of a plan.
func rowsOf(i imports.Import) int64 {
	c := planCountsOf(i)
	return c.Created + c.Updated + c.Unchanged + c.Refused
}

// undoPlan handles POST /api/plans/{id}/undo.
func (s *Server) undoPlan(w http.ResponseWriter, r *http.Request, id int64) error {
	return s.changePlan(w, r, id, s.Changes.Undo)
}

// cancelPlan handles POST /api/plans/{id}/cancel.
func (s *Server) cancelPlan(w http.ResponseWriter, r *http.Request, id int64) error {
	return s.changePlan(w, r, id, s.Changes.Cancel)
}

// changePlan handles a route without fields that changes the state of a plan.
func (s *Server) changePlan(
	w http.ResponseWriter, r *http.Request, id int64,
	change func(context.Context, tenancy.ID, tenancy.Actor, int64) error,
) error {
	if err := readNoFields(r); err != nil {
		return err
	}
	i, err := s.Changes.Get(r.Context(), tenant(r), id)
	if err != nil {
		return err
	}
	if err := change(r.Context(), tenant(r), s.keyActor(r), id); err != nil {
		return err
	}
	return s.answerPlan(w, r, id, rowsOf(i), http.StatusOK)
}
