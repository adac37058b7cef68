package imports

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/storeroom/storeroom/api/imports/table"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/money"
)

// evidence is what the first reading of a file found, besides the forms of columns.
type evidence struct {
	skus       skuEvidence
	first      cells             // the first row of a product with variants
	locale     string            // of the first row of products
	statuses   []string          // of orders, whose meaning is not known
	returns    map[[16]byte]bool // the keys of returned items
	perLine    [numFields]bool   // amounts of orders that differ between the rows of an order
	sameTax    [2]bool           // rows of an order have the same tax, and not the same value; or the same value
	fractions  [2]bool           // discounts are between 0 and 1; or above
	firstOrder time.Time
	lastOrder  time.Time
	rows       exampleRows
	previous   [numFields]string // the last value of these in the order, and its number
}

// exampleRows are rows that questions are about, by their keys.
type exampleRows struct {
	examples map[string]string // what the first of them is about
	kept     map[string][]group
	current  group    // adjacent rows of an order, or of a product
	about    []string // the keys of questions that these are about
}

const (
	numReadings = 2
	// maxExampleBytes limits the rows of an order or a product that are shown. Each of up to 50 statuses has two.
	maxExampleBytes = 64 << 10
)

// add adds the next row of a file.
func (e *exampleRows) add(c cells) {
	key := c.text(fSKU)
	if c.isGrouped() {
		key = c.orderKey(c.cells)
	}
	if key == "" || key != e.current.number {
		e.end()
		e.current.number = key
	}
	e.current.add(c)
}

// mark keeps the current row, with others of the same order or product, for a question.
func (e *exampleRows) mark(about, example string) {
	if e.examples == nil {
		e.examples = map[string]string{}
	}
	if _, exists := e.examples[about]; !exists {
		e.examples[strings.Clone(about)] = strings.Clone(example)
	}
	if len(e.kept[about]) < numReadings && !slices.Contains(e.about, about) {
		e.about = append(e.about, strings.Clone(about))
	}
}

// end ends the rows of an order or a product.
func (e *exampleRows) end() {
	rows := e.current.rows
	if len(e.about) > 0 && e.current.omitted == 0 && e.current.bytes+16*len(rows)*len(rows[0].cells) <= maxExampleBytes {
		if rows = nil; e.kept == nil {
			e.kept = map[string][]group{}
		}
		for _, about := range e.about {
			e.kept[about] = append(e.kept[about], e.current)
		}
	}
	e.current, e.about = group{rows: rows[:0]}, e.about[:0]
}

// asked returns a question if rows of the file are about it.
func (s *source) asked(id string) []Question {
	if example, exists := s.seen.rows.examples[id]; exists {
		return []Question{{ID: id, Examples: []string{example}}}
	}
	return nil
}

// ask adds a question about a file, also one that the settings answer.
func (r *reading) ask(s *source, q Question) {
	q.File = s.Name
	if q.Choices == nil {
		q.Choices = Choices[q.ID]
	}
	if q.Readings == nil {
		q.Readings = r.readings(s, q)
	}
	for _, texts := range append(slices.Collect(maps.Values(q.Readings)), q.Examples) {
		for i, text := range texts {
			texts[i] = clean(shorten(text, maxReading))
		}
	}
	if r.settings.Answer(q.key()) == "" {
		r.Questions = append(r.Questions, q)
		return
	}
	r.Answered = append(r.Answered, q)
	s.answered(q.ID)
}

// answered records that the settings answer a question about the file.
func (s *source) answered(id string) {
	if !slices.Contains(s.Answered, id) {
		s.Answered = append(s.Answered, id)
	}
}

// readings returns what two of the rows that a question is about become with each choice.
func (r *reading) readings(s *source, q Question) map[string][]string {
	readings, assumed := map[string][]string{}, s.assumed()
	if len(s.seen.rows.kept[q.key()]) == 0 {
		return nil
	}
	for _, choice := range q.Choices {
		settings := r.settings.with(q.key(), choice)
		with := &reading{tenant: r.tenant, settings: settings, sources: r.sources, now: r.now, seed: maphash.MakeSeed()}
		with.sold, with.products = with.newSoldItems(), map[uint64]readProduct{}
		for _, g := range s.seen.rows.kept[q.key()] {
			if g.number = ""; s.isGrouped() {
				g.number = s.orderKey(g.rows[0].cells)
			}
			var texts []string
			g.rows = slices.Clone(g.rows)
			for i := range g.rows {
				g.rows[i] = g.rows[i].in(tenancy.InvalidError{}, "")
				g.rows[i].source = assumed
			}
			records := with.recordsOf(g)
			for _, returned := range with.sold.returns {
				records = append(records, returned.record)
			}
			with.sold.returns = nil
			for _, record := range records {
				texts = append(texts, record.reading())
				if s.kind == Order && len(record.Invalid) > 0 {
					break // nor is it refunded or cancelled
				}
			}
			if s.kind == Order {
				texts = []string{strings.Join(texts, "; ")}
			}
			readings[choice] = append(readings[choice], texts...)
		}
	}
	return whatDiffers(readings, q.Choices)
}

// assumed returns the file as if questions about numbers and dates were answered, so that rows can be shown although
// these are not answered yet.
func (s *source) assumed() *source {
	copied := *s
	copied.forms = slices.Clone(s.forms)
	for i := range copied.forms {
		form := &copied.forms[i]
		if form.Decimal == 0 && form.Number(0) != "" {
			form.Number('.')
		}
		if form.Order == "" && form.Date("", "") != "" {
			form.Date(table.DayFirst, "")
		}
	}
	return &copied
}

// whatDiffers returns the first two readings that are not equal with all choices.
func whatDiffers(readings map[string][]string, choices []string) map[string][]string {
	first := readings[choices[0]]
	for i := len(first) - 1; i >= 0; i-- {
		isSame := func(choice string) bool {
			return len(readings[choice]) == len(first) && readings[choice][i] == first[i]
		}
		if !slices.ContainsFunc(choices, func(choice string) bool { return !isSame(choice) }) {
			for choice, texts := range readings {
				readings[choice] = slices.Delete(slices.Clone(texts), i, i+1)
			}
			first = readings[choices[0]]
		}
	}
	for choice, texts := range readings {
		if len(texts) == 0 {
			return nil
		}
		readings[choice] = texts[:min(len(texts), numReadings)]
	}
	return readings
}

// reading returns in words what rows become.
func (r *Record) reading() string {
	var text string
	switch {
	case r.Ignored != "":
		return clean(fmt.Sprintf("%s is not imported: %s", cmp.Or(r.Key, "The row"), r.Ignored))
	case len(r.Invalid) > 0:
		return clean(fmt.Sprintf("%s is refused: %s", cmp.Or(r.Key, "The row"), Refusals(r.Row)[0]))
	case r.Cancellation != nil:
		return "cancelled"
	case r.NamesSale:
		return clean(fmt.Sprintf("%s: refund of %s, of an earlier order", cmp.Or(r.Key, "The row"), r.Refund.Amount))
	case r.Refund != nil:
		return fmt.Sprintf("refund of %s", r.Refund.Amount)
	case r.Product != nil:
		text = fmt.Sprintf("SKU %s, %s", r.Product.SKU.Value, r.Product.Name.Value)
		if r.Product.Price.Set {
			text += fmt.Sprintf(", price %s", r.Product.Price.Value)
		}
	case r.Order != nil:
		var revenue, cost money.Cents
		for _, item := range r.Order.Items {
			revenue += item.UnitPrice * money.Cents(item.Quantity)
			cost += orZero(item.UnitCost) * money.Cents(item.Quantity)
		}
		text = fmt.Sprintf("%s: revenue %s, tax %s", r.Key, revenue-orZero(r.Order.DiscountTotal), orZero(r.Order.TaxTotal))
		if cost > 0 {
			text += fmt.Sprintf(", cost %s", cost)
		}
	}
	for _, note := range r.Notes {
		text += "; " + note.Text
	}
	return clean(text)
}
