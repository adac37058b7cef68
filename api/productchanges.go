package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
	"github.com/storeroom/storeroom/tenancy/paging"
)

// maxPercent limits adjust_price_percent, in hundredths.
const maxPercent = 1000_00

// planChange handles POST /api/products/changes.
func (s *Server) planChange(w http.ResponseWriter, r *http.Request) error {
	body, err := readBody(r)
	if err != nil {
		return err
	}
	change, err := s.readChange(r, body)
	if err != nil {
		return err
	}
	id, err := s.createChange(r, change)
	if err != nil {
		return err
	}
	return s.answerPlan(w, r, id, change.products, http.StatusCreated)
}

// filterChange is a change of all products of a filter.
type filterChange struct {
	filter   catalog.Filter
	change   catalog.Change
	title    string // of the plan
	products int64  // that match the filter
}

// readChange takes a filter and a change.
func (s *Server) readChange(r *http.Request, body *object) (c filterChange, err error) {
	filter, text, err := body.productFilter(r)
	if err != nil {
		return c, err
	}
	change := body.change()
	body.rejectUnknown()
	if err := s.checkSet(r, body, change); err != nil {
		return c, err
	}
	if err := body.errs.Err(); err != nil {
		return c, err
	}
	first := filter
	first.Page = paging.Page{Number: 1, PerPage: 1}
	list, err := s.catalog(r).List(r.Context(), tenant(r), first)
	title := shorten(change.String(), 200) + " (" + shorten(text, 200) + ")"
	return filterChange{filter, change, strings.ToUpper(title[:1]) + title[1:], list.Total}, err
}

// createChange creates the plan of a change.
func (s *Server) createChange(r *http.Request, c filterChange) (int64, error) {
	return s.changes(r).Create(r.Context(), tenant(r), s.keyActor(r), c.title, c.filter, c.change)
}

// checkSet adds the errors of the values that a change sets to those of the body.
func (s *Server) checkSet(r *http.Request, body *object, c catalog.Change) error {
	err := s.catalog(r).CheckChange(r.Context(), tenant(r), c)
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
	for name, parse := range filterFields {
		if value := notNull(nested, name, parse); value != nil {
			q.values[name] = *value
			parts = append(parts, name+" "+*value)
		}
	}
	nested.rejectUnknown()
	if f, err = q.filter(r); err != nil {
		return f, "", err
	}
	for name, problems := range q.errs {
		for _, problem := range problems {
			nested.addError(name, problem)
		}
	}
	slices.Sort(parts)
	if text = strings.Join(parts, ", "); text == "" {
		text = "all products"
	}
	return f, text, nil
}

// filterFields are the filters of GET /api/products, with the parsers that return the text of a parameter.
var filterFields = map[string]parser[string]{
	"search": parseText, "status": parseText, "tag": parseText,
	"category_id": parseIDText, "category": parseIDText, "seller_id": parseIDText, "warehouse_id": parseIDText,
	"from": parseText, "to": parseText, "period": parseText, "updated_since": parseText,
}

func parseIDText(raw json.RawMessage) (string, error) {
	id, err := parseInteger(raw)
	return strconv.FormatInt(id, 10), err
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
			if _, set, _ := nested.take("sku"); set {
				nested.addError("sku", "cannot be set for several products")
			}
			c.Set = nested.product()
		}
	}
	if percent := notNull(o, "adjust_price_percent", parsePercent); percent != nil {
		c.PricePercent = *percent
	}
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
	text, parse := string(raw), money.Parse
	if text[0] == '"' {
		text, _ = parseText(raw)
		parse = money.ParseText
	}
	digits, negative := strings.CutPrefix(text, "-")
	hundredths, err := parse(digits)
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
