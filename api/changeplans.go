package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

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
	pagedPlanJSON
	Counts   planCounts          `json:"counts"`
	Progress changeplan.Progress `json:"progress"`
	Rows     []planRowJSON       `json:"rows"`
}

// pagedPlanJSON is a plan that changes products in a list.
type pagedPlanJSON struct {
	planHeadJSON
	URL *string `json:"url"` // of its page; null without pages
}

// planHeadJSON is a plan, also an import, in a list.
type planHeadJSON struct {
	ID        int64            `json:"id"`
	Title     string           `json:"title"`
	State     changeplan.State `json:"state"`
	CreatedAt timestamp        `json:"created_at"`
	CreatedBy string           `json:"created_by"`
	PlannedAt *timestamp       `json:"planned_at"`
	AppliedAt *timestamp       `json:"applied_at"`
	ExpiresAt timestamp        `json:"expires_at"`
	Failure   *string          `json:"failure"`
}

func planHeadShape(p changeplan.Plan) planHeadJSON {
	return planHeadJSON{
		ID: p.ID, Title: p.Title, State: p.State, CreatedAt: timestamp(p.CreatedAt), CreatedBy: p.Actor,
		PlannedAt: (*timestamp)(p.PlannedAt), AppliedAt: (*timestamp)(p.AppliedAt), ExpiresAt: timestamp(p.ExpiresAt),
		Failure: p.Failure,
	}
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
	Action  changeplan.Action    `json:"action"`
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
	each := func(yield func(int, catalog.PlanRow) error) error {
		return body.eachRow(body.all(), func(i int, o *object) error {
			row := catalog.PlanRow{Changes: o.productRow(), Invalid: o.errs}
			if err := body.malformed[i]; err != nil {
				row.Invalid = tenancy.InvalidError{"": {malformedRow(err)}}
			}
			limitErrors(row.Invalid, len(body.rows))
			return yield(i, row)
		})
	}
	id, err := s.changes(r).CreateRows(r.Context(), tenant(r), s.keyActor(r), title, each)
	if err != nil {
		return err
	}
	return s.answerPlan(w, r, id, int64(len(body.rows)), http.StatusCreated)
}

// answerPlan carries out a small plan and sends it, with the given status unless it continues in the background.
func (s *Server) answerPlan(w http.ResponseWriter, r *http.Request, id, rows int64, status int) error {
	// With an Idempotency-Key, the plan and the response are one transaction, so that nothing else sees the plan yet.
	if rows <= maxSettled && r.Header.Get("Idempotency-Key") == "" {
		if _, err := s.changes(r).Settle(r.Context(), tenant(r), id, settleTime); err != nil {
			return err
		}
	}
	plan, err := s.changes(r).Get(r.Context(), tenant(r), id)
	if err != nil {
		return err
	}
	if status == http.StatusCreated {
		w.Header().Set("Location", "/api/plans/"+strconv.FormatInt(id, 10))
	}
	switch {
	case plan.State.IsDue():
		status = http.StatusAccepted
	case plan.State == changeplan.Planned && plan.Failure != nil:
		return s.changedError(r, id)
	}
	return s.writePlan(w, r, status, plan, changeplan.RowFilter{Page: paging.Page{Number: 1, PerPage: rowsOfPlan}})
}

// changedError returns the response for a plan that was not applied because rows have changed since. It names the first
// of them.
func (s *Server) changedError(r *http.Request, id int64) error {
	f := changeplan.RowFilter{Kept: true, Page: paging.Page{Number: 1, PerPage: rowsOfPlan}}
	rows, err := s.changes(r).Rows(r.Context(), tenant(r), id, f)
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
	w http.ResponseWriter, r *http.Request, status int, plan changeplan.Summary, f changeplan.RowFilter,
) error {
	rows := paging.List[changeplan.Row]{}
	var err error
	if plan.State != changeplan.Planning {
		if rows, err = s.changes(r).Rows(r.Context(), tenant(r), plan.ID, f); err != nil {
			return err
		}
	}
	c := plan.Sum()
	shown := planJSON{
		s.pagedPlanShape(r, plan.Plan), planCounts{c.Created, c.Updated, c.Unchanged, c.Refused, c.Skipped}, plan.Progress,
		mapSlice(rows.Items, planRowShape),
	}
	meta := planMeta{PlanID: plan.ID, URL: shown.URL, PerPage: f.Page.PerPage, Total: rows.Total}
	if f.Page.Offset()+int64(len(rows.Items)) < rows.Total {
		at := paging.Position{ID: int64(f.Page.Number) + 1}
		meta.NextCursor = new(at.Cursor(rowsIdentity(r, plan.ID, f)...))
	}
	return writeLarge(w, r, status, envelope(shown, jsonField{"meta", meta}))
}

func rowsIdentity(r *http.Request, id int64, f changeplan.RowFilter) []any {
	return []any{tenant(r), id, f.Action, f.Kept, f.Page.PerPage}
}

func (s *Server) pagedPlanShape(r *http.Request, p changeplan.Plan) pagedPlanJSON {
	shown := pagedPlanJSON{planHeadShape(p), nil}
	if page := s.page(r, "plans", strconv.FormatInt(p.ID, 10)); page != "" {
		shown.URL = &page
	}
	return shown
}

// page returns the URL of a page of the tenant, or "" without pages.
func (s *Server) page(r *http.Request, path ...string) string {
	if s.pages == nil || s.BaseURL == nil {
		return ""
	}
	return s.BaseURL.JoinPath(append([]string{"settings/t", principal(r).Tenant.Slug}, path...)...).String()
}

func planRowShape(row changeplan.Row) planRowJSON {
	shown := planRowJSON{Action: row.Action, Old: row.Old, New: row.New, Errors: row.Invalid}
	if shown.Errors == nil {
		shown.Errors = tenancy.InvalidError{}
	}
	if len(row.Rows) > 0 {
		shown.Index = &row.Rows[0].Line
	}
	if row.Key != "" {
		shown.SKU = &row.Key
	}
	if row.ProductID > 0 {
		shown.ID = &row.ProductID
	}
	if row.Kept != nil {
		shown.Changed = new(changedShape(row))
	}
	return shown
}

func changedShape(row changeplan.Row) changedRow {
	changed := changedRow{SKU: row.Key, Fields: append([]string{}, row.Kept.Fields...), Reason: row.Kept.Reason}
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
	list, err := s.changes(r).List(r.Context(), tenant(r), page)
	if err != nil {
		return err
	}
	return writePage(w, r, page, list, func(p changeplan.Plan) pagedPlanJSON { return s.pagedPlanShape(r, p) })
}

// rowAction takes the action of rows of a plan; changed selects those that something else has changed.
func (q *query) rowAction(f *changeplan.RowFilter, actions ...string) {
	action := q.oneOf("action", actions...)
	if f.Kept = action == "changed"; !f.Kept {
		f.Action = changeplan.Action(action)
	}
}

// showPlan handles GET /api/plans/{id}.
func (s *Server) showPlan(w http.ResponseWriter, r *http.Request) error {
	q := readQuery(r)
	id := q.pathID(r, "id")
	f := changeplan.RowFilter{Page: paging.Page{Number: 1, PerPage: q.between("per_page", 1, maxPerPage, rowsOfPlan)}}
	q.rowAction(&f, "created", "updated", "unchanged", "refused", "changed")
	if cursor, _ := q.take("cursor"); cursor != "" {
		at, err := paging.ParseCursor(cursor, rowsIdentity(r, id, f)...)
		q.check("cursor", err)
		f.Page.Number = int(at.ID)
	}
	if err := q.err(); err != nil {
		return err
	}
	plan, err := s.changes(r).Get(r.Context(), tenant(r), id)
	if err != nil {
		return err
	}
	return s.writePlan(w, r, http.StatusOK, plan, f)
}

// applyPlan handles POST /api/plans/{id}/apply. The body is optional.
func (s *Server) applyPlan(w http.ResponseWriter, r *http.Request, id int64) error {
	force, err := readFlag(r, "force")
	if err != nil {
		return err
	}
	plan, err := s.changes(r).Get(r.Context(), tenant(r), id)
	if err != nil {
		return err
	}
	if err := s.changes(r).Apply(r.Context(), tenant(r), s.keyActor(r), id, force); err != nil {
		return err
	}
	return s.answerPlan(w, r, id, plan.Sum().Total(), http.StatusOK)
}

// undoPlan handles POST /api/plans/{id}/undo.
func (s *Server) undoPlan(w http.ResponseWriter, r *http.Request, id int64) error {
	return s.changePlan(w, r, id, s.changes(r).Undo)
}

// cancelPlan handles POST /api/plans/{id}/cancel.
func (s *Server) cancelPlan(w http.ResponseWriter, r *http.Request, id int64) error {
	return s.changePlan(w, r, id, s.changes(r).Cancel)
}

// changePlan handles a route without fields that changes the state of a plan.
func (s *Server) changePlan(
	w http.ResponseWriter, r *http.Request, id int64,
	change func(context.Context, tenancy.ID, tenancy.Actor, int64) error,
) error {
	if err := readNoFields(r); err != nil {
		return err
	}
	plan, err := s.changes(r).Get(r.Context(), tenant(r), id)
	if err != nil {
		return err
	}
	if err := change(r.Context(), tenant(r), s.keyActor(r), id); err != nil {
		return err
	}
	return s.answerPlan(w, r, id, plan.Sum().Total(), http.StatusOK)
}
