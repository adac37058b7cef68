package imports

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
	"github.com/storeroom/storeroom/tenancy/feed/webhooks"
	"github.com/storeroom/storeroom/tenancy/idempotency"
)

const errErased changeplan.Failure = "A customer was erased before the files were read, and they may name the customer. " +
	"Start again without the customer."

// EraseCustomer permanently removes the name and the e-mail of a customer from everything that is stored: the customer,
// stored responses, plans with the rows of their files, and the responses of webhook receivers. It can be called again
// after an error. It returns tenancy.ErrNotFound.
func EraseCustomer(ctx context.Context, db *tenancy.DB, tenant tenancy.ID, by tenancy.Actor, id string) error {
	db.StayOnPrimary(ctx)
	customers := sales.New(db)
	customer, err := customers.Customer(ctx, tenant, id)
	if err != nil {
		return err
	}
	e := newEraser(id, customer.Name, customer.Email)
	plans := changeplan.New(db, Kinds(db, Pictures{}))
	// The name is known only as long as the customer has it, so the plans come first. They come again, because a plan
	// that was computed in the meantime has it too.
	for _, step := range []func() error{
		func() error { return e.erasePlans(ctx, tenant, plans) },
		func() error { return customers.EraseCustomer(ctx, tenant, id, by) },
		func() error { return e.erasePlans(ctx, tenant, plans) },
		func() error { return idempotency.Rewrite(ctx, db, tenant, []byte(`"examples":`), withoutExamples) },
		func() error { return webhooks.EraseResponses(ctx, db, tenant) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("erase a customer: %w", err)
		}
	}
	return nil
}

// eraser finds a customer in the rows of plans.
type eraser struct {
	id    string
	names map[string]bool // names and e-mails, normalised; the plans may have former ones
}

func newEraser(id string, names ...*string) *eraser {
	e := &eraser{id, map[string]bool{}}
	e.learn(names...)
	return e
}

func normalised(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }

// learn adds names and reports whether one is new.
func (e *eraser) learn(names ...*string) (isNew bool) {
	for _, name := range names {
		if name != nil && normalised(*name) != "" && !e.names[normalised(*name)] {
			e.names[normalised(*name)], isNew = true, true
		}
	}
	return isNew
}

// erasePlans erases the customer from all plans of imports, again if it finds a former name.
func (e *eraser) erasePlans(ctx context.Context, tenant tenancy.ID, plans *changeplan.Store) error {
	for {
		known := len(e.names)
		err := plans.Rewrite(ctx, tenant, PlanKind, changeplan.Rewriter{Details: e.details, Part: e.part, Failure: errErased})
		if err != nil || len(e.names) == known {
			return err
		}
	}
}

// details removes the examples of cells: without its files, a plan asks nothing.
func (e *eraser) details(stored []byte) ([]byte, error) {
	if !bytes.Contains(stored, []byte(`"examples"`)) {
		return nil, nil
	}
	var d details
	if err := json.Unmarshal(stored, &d); err != nil {
		return nil, err
	}
	for i := range d.Files {
		d.Files[i].Examples = nil
	}
	for i := range d.Questions {
		d.Questions[i].Examples = nil
	}
	return json.Marshal(d)
}

// part returns the rows and the result of a part if they name the customer.
func (e *eraser) part(part changeplan.Part) (rows, result []byte, err error) {
	if e.mayHave(part.Rows) {
		planned, err := decodeRows(part)
		if err != nil {
			return nil, nil, err
		}
		found := false
		for i := range planned {
			if e.isAbout(&planned[i]) {
				found = e.eraseRow(&planned[i]) || found
			}
		}
		if found {
			if rows, err = json.Marshal(planned); err != nil {
				return nil, nil, err
			}
		}
	}
	if e.mayHave(part.Result) {
		result, err = e.result(part.Result)
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

// has reports whether a text is or has a name of the customer. A single word, such as Ann, must be the whole text.
func (e *eraser) has(text string) bool {
	text = normalised(text)
	if text == "" {
		return false
	}
	for name := range e.names {
		if text == name || strings.ContainsAny(name, "@ ") && strings.Contains(text, name) {
			return true
		}
	}
	return false
}

func (e *eraser) isAbout(row *PlannedRow) bool {
	switch {
	case row.About == e.id, row.Kind == Customer && row.Key == e.id,
		row.Customer != nil && row.Customer.ID == e.id, row.Change != nil && row.Change.ID == e.id,
		row.Order != nil && row.Order.Customer != nil && row.Order.Customer.ID == e.id:
		return true
	}
	for _, of := range row.Rows {
		if slices.ContainsFunc(of.Cells, e.has) {
			return true
		}
	}
	return false
}

// eraseRow empties the cells of a row and removes the names, and reports whether it had any. The order of the row can
// still be stored.
func (e *eraser) eraseRow(row *PlannedRow) (found bool) {
	for _, of := range row.Rows {
		for i := range of.Cells {
			found = found || of.Cells[i] != ""
			of.Cells[i] = ""
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
			if _, has := fields[name]; has && row.Kind == Customer {
				delete(fields, name)
				found = true
			}
		}
	}
	before := len(row.Notes)
	row.Notes = slices.DeleteFunc(row.Notes, func(n Note) bool { return e.has(n.Text) })
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

// eraseErrors replaces errors that quote a name.
func (e *eraser) eraseErrors(invalid tenancy.InvalidError) (found bool) {
	for _, field := range slices.Sorted(maps.Keys(invalid)) {
		for i, message := range invalid[field] {
			for name := range e.names {
				if strings.Contains(normalised(message), name) && message != erasedError {
					invalid[field][i], found = erasedError, true
				}
			}
		}
	}
	return found
}

const erasedError = "is not valid"

// result returns the result of a part without the names, or nil if it has none. An undo restores no name of an erased
// customer.
func (e *eraser) result(stored []byte) ([]byte, error) {
	var result partResult
	if err := json.Unmarshal(stored, &result); err != nil {
		return nil, fmt.Errorf("read the result of a part: %w", err)
	}
	found := false
	for i := range result.Customers {
		if result.Customers[i].ID == e.id {
			found = e.eraseChange(&result.Customers[i]) || found
		}
	}
	for _, row := range result.Rows {
		found = e.eraseErrors(row.Invalid) || found
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

// withoutExamples returns the response to a request about an import without examples of cells.
func withoutExamples(body []byte) []byte {
	var response struct {
		Success bool                       `json:"success"`
		Data    map[string]json.RawMessage `json:"data"`
	}
	if json.Unmarshal(body, &response) != nil {
		return body
	}
	for _, list := range []string{"files", "questions"} {
		var elements []map[string]json.RawMessage
		if json.Unmarshal(response.Data[list], &elements) != nil {
			continue
		}
		for _, element := range elements {
			delete(element, "examples")
		}
		response.Data[list], _ = json.Marshal(elements) // cannot fail
	}
	erased, _ := json.Marshal(response) // cannot fail
	return erased
}
