package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/idempotency"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// maxProposed is the number of rows that one call can propose.
const maxProposed = 100

// proposalArguments are the arguments that tools share which create a plan.
const proposalArguments = `"note":{"type":"string","description":"why, for the person who decides"},` +
	`"idempotency_key":{"type":"string","description":"a repeated call returns the same plan"}`

// proposal is a plan that a tool creates.
type proposal struct {
	note, key string
	arguments []byte // for the fingerprint of the key
}

// proposal takes the arguments that all proposals have.
func (o *object) proposal() (p proposal, err error) {
	if p.arguments, err = json.Marshal(o.fields); err != nil {
		return p, err
	}
	line := func(name string, max int) string {
		text, problem := tenancy.SingleLine(field(o, name, parseLine).Value, max)
		if problem != "" {
			o.addError(name, problem)
		}
		return text
	}
	p.note, p.key = line("note", 200), line("idempotency_key", idempotency.MaxKey)
	if strings.ContainsFunc(p.note, turnsText) {
		o.addError("note", "must not contain characters that change the direction of text")
	}
	return p, nil
}

// turnsText reports whether a character changes the order in which a page shows the text around it. With them, a note
// could look like another title of the plan to the person who decides.
func turnsText(r rune) bool { return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' }

// title returns the title of the plan, which is what it does and why.
func (p proposal) title(what string) string {
	if p.note == "" {
		return what
	}
	return p.note + " (" + what + ")"
}

// proposeChanges plans changes of rows, or one change of the products of a filter.
func (s *Server) proposeChanges(r *http.Request, in *object) (jsonObject, error) {
	p, err := in.proposal()
	if err != nil {
		return nil, err
	}
	if in.fields["items"] == nil {
		change, err := s.readChange(r, in)
		if err != nil {
			return nil, err
		}
		change.title = p.title(change.title)
		return s.propose(r, p, change.products, func(r *http.Request) (int64, error) { return s.createChange(r, change) })
	}
	rows := in.rows("items", func(o *object) catalog.PlanRow {
		row := catalog.PlanRow{Seen: o.expected()}
		row.Changes = o.product()
		return row
	})
	in.rejectUnknown()
	return s.proposeRows(r, in, p, "Changes", rows)
}

// rows takes an array of objects that read reads.
func (o *object) rows(name string, read func(*object) catalog.PlanRow) []catalog.PlanRow {
	elements := required(o, name, func(raw json.RawMessage) ([]json.RawMessage, error) {
		return splitArray(raw, maxProposed, "an array of objects")
	})
	if elements != nil && len(elements) == 0 {
		o.addError(name, "must not be empty")
	}
	rows := make([]catalog.PlanRow, len(elements))
	for i, raw := range elements {
		path := fmt.Sprintf("%s[%d]", name, i)
		row, err := o.nested(path, raw)
		if err != nil {
			o.addError(path, err.Error())
			continue
		}
		if _, set := row.fields["sku"]; !set {
			row.addError("sku", "is required")
		}
		rows[i] = read(row)
	}
	return rows
}

// expected takes the values that the agent has read.
func (o *object) expected() *catalog.Changes {
	raw, set, null := o.take("expected")
	if !set || null {
		return nil
	}
	seen, err := o.nested("expected", raw)
	if err != nil {
		o.addError("expected", err.Error())
		return nil
	}
	return new(seen.product())
}

// proposeCounts plans the stock that somebody has counted. Counts of a product in several warehouses are one row.
func (s *Server) proposeCounts(r *http.Request, in *object) (jsonObject, error) {
	p, err := in.proposal()
	if err != nil {
		return nil, err
	}
	var warehouses []int64 // of each row, or 0
	rows := in.rows("counts", func(o *object) catalog.PlanRow {
		row, counted := catalog.PlanRow{}, required(o, "counted", parseInteger)
		row.SKU = field(o, "sku", parseLine)
		if total := o.integer("expected_quantity"); total.Set && !total.Null {
			row.Seen = &catalog.Changes{Quantity: total}
		}
		id := optional(o, "warehouse_id", parseInteger)
		if id == nil {
			row.Quantity = catalog.Value(counted)
			id = new(int64(0))
		} else {
			row.Stock = []catalog.StockOf{{Quantity: counted}}
		}
		warehouses = append(warehouses, *id)
		o.rejectUnknown()
		return row
	})
	in.rejectUnknown()
	if err := in.errs.Err(); err != nil {
		return nil, err
	}
	found, err := s.catalog(r).ReferencesByID(r.Context(), tenant(r), catalog.Warehouses, warehouses)
	if err != nil {
		return nil, err
	}
	var merged []catalog.PlanRow
	for i, row := range rows {
		if len(row.Stock) > 0 {
			w := slices.IndexFunc(found, func(w catalog.Reference) bool { return w.ID == warehouses[i] })
			if w < 0 {
				in.addError(fmt.Sprintf("counts[%d].warehouse_id", i), "does not exist")
				continue
			}
			row.Stock[0].Warehouse = found[w].Name
		}
		same := slices.IndexFunc(merged, func(m catalog.PlanRow) bool {
			return m.SKU.Value == row.SKU.Value && len(m.Stock) > 0 && len(row.Stock) > 0
		})
		if same < 0 {
			merged = append(merged, row)
			continue
		}
		merged[same].Stock = append(merged[same].Stock, row.Stock...)
		if row.Seen != nil {
			merged[same].Seen = row.Seen
		}
	}
	return s.proposeRows(r, in, p, "Stock count", merged)
}

// proposeRows creates a plan of rows.
func (s *Server) proposeRows(
	r *http.Request, in *object, p proposal, what string, rows []catalog.PlanRow,
) (jsonObject, error) {
	if err := in.errs.Err(); err != nil {
		return nil, err
	}
	title := fmt.Sprintf("%s of %d products", what, len(rows))
	if len(rows) == 1 {
		title = what + " of 1 product"
	}
	return s.propose(r, p, int64(len(rows)), func(r *http.Request) (int64, error) {
		return s.changes(r).CreateRows(r.Context(), tenant(r), s.keyActor(r), p.title(title),
			func(yield func(int, catalog.PlanRow) error) error {
				for i, row := range rows {
					if err := yield(i, row); err != nil {
						return err
					}
				}
				return nil
			})
	})
}

// propose creates a plan, or finds the one that an earlier call with the same key has created, and computes it.
func (s *Server) propose(
	r *http.Request, p proposal, rows int64, create func(*http.Request) (int64, error),
) (jsonObject, error) {
	id, err := s.createOnce(r, p, create)
	if err != nil {
		return nil, err
	}
	if rows <= maxSettled {
		if _, err := s.changes(r).Settle(r.Context(), tenant(r), id, settleTime); err != nil {
			return nil, err
		}
	}
	return s.planAnswer(r, id, changeplan.RowFilter{Page: paging.Page{Number: 1, PerPage: 10}})
}

// createOnce creates a plan under the key of its proposal, as a request with an Idempotency-Key does.
func (s *Server) createOnce(
	r *http.Request, p proposal, create func(*http.Request) (int64, error),
) (id int64, err error) {
	if p.key == "" {
		return create(r)
	}
	keyed, recorded := r.Clone(r.Context()), &responseRecorder{header: http.Header{}, status: http.StatusOK}
	keyed.Header.Set("Idempotency-Key", p.key)
	err = s.onceFor(func(r *http.Request) (idempotency.Fingerprint, error) {
		h := newFingerprint(r)
		_, err := h.Write(p.arguments)
		return idempotency.Fingerprint(h.Sum(nil)), err
	}, func(w http.ResponseWriter, r *http.Request) error {
		id, err := create(r)
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusCreated, id)
	})(recorded, keyed)
	if errors.Is(err, idempotency.ErrReused) {
		return 0, &apiError{code: IdempotencyKeyReused, cause: err, details: tenancy.InvalidError{
			"idempotency_key": {"was used with another tool or other arguments"},
		}}
	}
	if err == nil {
		err = json.NewDecoder(io.LimitReader(&recorded.body, maxLine)).Decode(&id)
	}
	return id, err
}

// planAnswer returns a plan with some of its rows, and what happens next.
func (s *Server) planAnswer(r *http.Request, id int64, f changeplan.RowFilter) (jsonObject, error) {
	plan, err := s.changes(r).Get(r.Context(), tenant(r), id)
	if err != nil {
		return nil, err
	}
	var rows paging.List[changeplan.Row]
	if plan.State != changeplan.Planning {
		if rows, err = s.changes(r).Rows(r.Context(), tenant(r), id, f); err != nil {
			return nil, err
		}
	}
	c := plan.Sum()
	return jsonObject{
		{"plan", s.pagedPlanShape(r, plan.Plan)}, {"next", nextStep(plan)},
		{"counts", planCounts{c.Created, c.Updated, c.Unchanged, c.Refused, c.Skipped}},
		{"rows", arrayFrom(rows.Items, func(row changeplan.Row) planRowJSON {
			row.Old, row.New = brief(row.Old), brief(row.New)
			return planRowShape(row)
		})},
		{"rows_in_total", rows.Total}, {"currency", principal(r).Tenant.Currency},
	}, nil
}

// brief shortens long texts of a row.
func brief(fields map[string]any) map[string]any {
	for name, value := range fields {
		if text, ok := value.(string); ok {
			fields[name] = shorten(text, maxText)
		}
	}
	return fields
}

// nextStep says what a person or the agent can do with a plan.
func nextStep(plan changeplan.Summary) string {
	c := plan.Sum()
	switch {
	case plan.State.IsDue():
		return "In progress. Call plan_status with this id."
	case plan.State == changeplan.Planned && c.Created+c.Updated == 0:
		return "Nothing would change. See the errors of the rows."
	case plan.State == changeplan.Planned && plan.Failure != nil:
		return "Nothing was changed, because rows have changed since the plan (action changed). Propose again, or ask a " +
			"member to apply the others."
	case plan.State == changeplan.Planned:
		return "Nothing has changed yet. A member with the role admin or owner reviews and applies the plan on the page."
	case plan.State == changeplan.Applied:
		return "Applied. A member can undo it on the page."
	}
	return "Ended: " + strings.ReplaceAll(string(plan.State), "_", " ") + "."
}

// planStatus returns a plan, or the latest ones.
func (s *Server) planStatus(r *http.Request, in *object) (jsonObject, error) {
	q := in.parameters()
	id, f := q.id("id"), changeplan.RowFilter{}
	q.rowAction(&f, "created", "updated", "unchanged", "refused", "changed")
	f.Page = q.shortPage()
	if err := q.err(); err != nil {
		return nil, err
	}
	if id != nil {
		return s.planAnswer(r, *id, f)
	}
	list, err := s.changes(r).List(r.Context(), tenant(r), f.Page)
	if err != nil {
		return nil, err
	}
	return listed(r, "plans", f.Page, list, func(p changeplan.Plan) pagedPlanJSON { return s.pagedPlanShape(r, p) })
}
