package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/paging"
)

const (
	// maxSettled is the number of rows up to which a request computes, applies or undoes a plan itself, for at most
	// settleTime. Larger plans run in the background.
	maxSettled = 1000
	settleTime = 15 * time.Second
	// maxPercent limits adjust_price_percent, in hundredths.
	maxPercent = 1000_00
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
	id, err := s.Changes.CreateRows(r.Context(), tenant(r), auditActor(r), title, each)
	if err != nil {
		return err
	}
	return s.answerPlan(w, r, id, int64(len(body.rows)), http.StatusCreated)
}

// planChange handles POST /api/products/changes.
func (s *Server) planChange(w http.ResponseWriter, r *http.Request) error {
	body, err := readBody(r)
	if err != nil {
		return err
	}
	filter, text, err := body.productFilter(r)
	if err != nil {
		return err
	}
	change := body.change()
	body.rejectUnknown()
	if err := s.checkSet(r, body, change); err != nil {
		return err
	}
	if err := body.errs.Err(); err != nil {
		return err
	}
	first := filter
	first.Page = paging.Page{Number: 1, PerPage: 1}
	list, err := s.Catalog.List(r.Context(), tenant(r), first)
	if err != nil {
		return err
	}
	title := shorten(change.String(), 200) + " (" + shorten(text, 200) + ")"
	title = strings.ToUpper(title[:1]) + title[1:]
	id, err := s.Changes.Create(r.Context(), tenant(r), auditActor(r), title, filter, change)
	if err != nil {
		return err
	}
	return s.answerPlan(w, r, id, list.Total, http.StatusCreated)
}

// checkSet adds the errors of the values that a change sets to those of the body.
func (s *Server) checkSet(r *http.Request, body *object, c catalog.Change) error {
	err := s.Catalog.CheckChange(r.Context(), tenant(r), c)
	invalid, isInvalid := errors.AsType[tenancy.InvalidError](err)
	if !isInvalid {
		return err
	}
	for name, problems := range invalid {
		if path := "set." + name; len(body.errs[path]) == 0 {
			body.errs[path] = problems
		}
	}
	return nil
}

// productFilter takes the field filter. It is an object with the filters of GET /api/products. productFilter also
// returns them as text.
func (o *object) productFilter(r *http.Request) (f catalog.Filter, text string, err error) {
	raw := required(o, "filter", func(raw json.RawMessage) (json.RawMessage, error) { return raw, nil })
	if raw == nil {
		return f, "", nil
	}
	nested, err := o.nested("filter", raw)
	if err != nil {
		o.addError("filter", "must be an object")
		return f, "", nil
	}
	q := &query{map[string]string{}, tenancy.InvalidError{}}
	var parts []string
	for name := range nested.fields {
		value := field(nested, name, parseFilterValue)
		if value.Null {
			nested.addError(name, "must not be null")
		}
		if name == "sort" || name == "direction" {
			nested.addError(name, "is not a known field")
		} else if value.Set && !value.Null {
			q.values[name] = value.Value
			parts = append(parts, name+" "+value.Value)
		}
	}
	if f, err = q.filter(r); err != nil {
		return f, "", err
	}
	for name := range q.values {
		nested.addError(shorten(name, maxName), "is not a known field")
	}
	for name, problems := range q.errs {
		nested.addError(name, problems[0])
	}
	slices.Sort(parts)
	if text = strings.Join(parts, ", "); text == "" {
		text = "all products"
	}
	return f, text, nil
}

// parseFilterValue reads a string or an integer as the text of a parameter.
func parseFilterValue(raw json.RawMessage) (string, error) {
	if raw[0] == '"' {
		return parseText(raw)
	}
	n, err := parseInteger(raw)
	if err != nil {
		return "", errors.New("must be a string or an integer")
	}
	return strconv.FormatInt(n, 10), nil
}

// change takes the change that a plan makes to each product.
func (o *object) change() catalog.Change {
	var c catalog.Change
	if raw, set, _ := o.take("set"); set {
		nested, err := o.nested("set", raw)
		switch {
		case err != nil:
			o.addError("set", "must be an object")
		case len(nested.fields) == 0:
			o.addError("set", "must not be empty")
		default:
			for _, name := range []string{"sku", "id", "images", "created_at", "updated_at", "adjustment"} {
				if _, set := nested.fields[name]; set {
					delete(nested.fields, name)
					nested.addError(name, "cannot be set for several products")
				}
			}
			c.Set = nested.product()
		}
	}
	c.PricePercent = field(o, "adjust_price_percent", parsePercent).Value
	c.AddTags = o.tags("add_tags")
	c.RemoveTags = o.tags("remove_tags")
	switch hasTags := len(c.AddTags)+len(c.RemoveTags) > 0; {
	case c.PricePercent != 0 && c.Set.Price.Set:
		o.addError("adjust_price_percent", "must not be combined with set.price")
	case hasTags && c.Set.Tags.Set:
		o.addError("set.tags", "must not be combined with add_tags or remove_tags")
	case slices.ContainsFunc(c.AddTags, func(tag string) bool { return slices.Contains(c.RemoveTags, tag) }):
		o.addError("remove_tags", "must not have a tag of add_tags")
	case c.String() == "" && len(o.errs) == 0:
		o.addError("set", "is required, or adjust_price_percent, add_tags or remove_tags")
	}
	return c
}

// tags takes an array of tags.
func (o *object) tags(name string) []string {
	f := o.texts(name)
	switch {
	case f.Set && len(f.Value) == 0:
		o.addError(name, "must not be empty")
	case len(f.Value) > catalog.MaxTags:
		o.addError(name, fmt.Sprintf("must hold at most %d tags", catalog.MaxTags))
	}
	for i, tag := range f.Value {
		label, problem := tenancy.Label(tag, 64)
		if problem != "" {
			o.addError(fmt.Sprintf("%s[%d]", name, i), problem)
		}
		f.Value[i] = label
	}
	return f.Value
}

// parsePercent reads a percentage with at most two fraction digits, in hundredths.
func parsePercent(raw json.RawMessage) (int64, error) {
	text := string(raw)
	if text[0] == '"' {
		text, _ = parseText(raw)
	}
	digits, negative := strings.CutPrefix(text, "-")
	hundredths, err := money.Parse(digits)
	switch {
	case errors.Is(err, money.ErrRange) || err == nil && (hundredths == 0 || hundredths > maxPercent):
		return 0, errors.New("must be between -1000 and 1000, and not 0")
	case err != nil:
		return 0, err
	case negative:
		hundredths = -hundredths
	}
	return int64(hundredths), nil
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
	if row.Kept != nil {
		shown.Changed = new(changedShape(row))
	}
	return shown
}

func changedShape(row imports.PlanRow) changedRow {
	changed := changedRow{SKU: row.Key, Fields: orEmpty(row.Kept.Fields), Reason: row.Kept.Reason}
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

// showPlan handles GET /api/plans/{id}.
func (s *Server) showPlan(w http.ResponseWriter, r *http.Request) error {
	q := readQuery(r)
	id := q.pathID(r, "id")
	f := imports.RowFilter{Page: paging.Page{Number: 1, PerPage: q.between("per_page", 1, maxPerPage, rowsOfPlan)}}
	switch action := q.oneOf("action", "created", "updated", "unchanged", "refused", "changed"); action {
	case "changed":
		f.Kept = true
	default:
		f.Action = imports.Action(action)
	}
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
	if err := s.Changes.Apply(r.Context(), tenant(r), auditActor(r), id, force != nil && *force); err != nil {
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
	if err := change(r.Context(), tenant(r), auditActor(r), id); err != nil {
		return err
	}
	return s.answerPlan(w, r, id, rowsOf(i), http.StatusOK)
}
