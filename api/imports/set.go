package imports

import (
	"context"
	"fmt"
	"hash/maphash"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/storeroom/storeroom/api/imports/table"
	"github.com/storeroom/storeroom/tenancy"
)

// reading is a set while it is read.
type reading struct {
	Set
	tenant   Tenant
	settings Settings
	space    *table.Space
	sources  []*source

	nameByID map[Kind]map[string]string // of our references
	sold     soldItems
	products map[uint64]readProduct // by the hash of the SKU
	seed     maphash.Seed
}

// check returns the time zone of times without one, or an InvalidError.
func (s Settings) check(tenant Tenant) (*time.Location, error) {
	if err := s.Check().Err(); err != nil || s.Timezone == "" {
		return tenant.Timezone, err
	}
	return time.LoadLocation(s.Timezone)
}

// Check returns the validation errors of the settings.
func (s Settings) Check() tenancy.InvalidError {
	invalid := tenancy.InvalidError{}
	for name, answer := range s.answers() {
		if choices := settingChoices[name]; *answer != "" && !slices.Contains(choices, *answer) {
			invalid.Add(name, "must be one of %s", strings.Join(choices, ", "))
		}
	}
	for _, outcome := range s.Statuses {
		if !slices.Contains(orderStatuses, outcome) {
			invalid.Add("statuses", "must be one of %s", strings.Join(orderStatuses, ", "))
			break
		}
	}
	if s.Channel != "" && channelOf(s.Channel) != s.Channel {
		invalid.Add("channel", "must be 1 to 50 lower-case letters, digits, dashes and underscores")
	}
	if _, err := time.LoadLocation(s.Timezone); err != nil || s.Timezone == "Local" {
		invalid.Add("timezone", "is not a time zone such as Europe/Berlin")
	}
	return invalid
}

// answers returns the settings with choices.
func (s *Settings) answers() map[string]*string {
	return map[string]*string{
		"date_order": &s.DateOrder, "decimal": &s.Decimal, "charset": &s.Charset, "missing_sku": &s.MissingSKU,
		"repeated_sku": &s.RepeatedSKU, "rounding": &s.Rounding, "refunds": &s.Refunds, "tax_included": &s.TaxIncluded,
		"cost": &s.Cost, "discount": &s.Discount, "tax": &s.Tax, "total": &s.Total,
	}
}

// answer returns the answer to a question by its key, or "".
func (s Settings) answer(key string) string {
	if status, isStatus := strings.CutPrefix(key, statusKey); isStatus {
		return s.Statuses[status]
	}
	return orZero(s.answers()[key])
}

// with returns the settings with an answer to a question.
func (s Settings) with(key, answer string) Settings {
	if status, isStatus := strings.CutPrefix(key, statusKey); isStatus {
		statuses := map[string]string{status: answer}
		for other, meaning := range s.Statuses {
			if other != status {
				statuses[other] = meaning
			}
		}
		s.Statuses = statuses
	} else if setting := s.answers()[key]; setting != nil {
		*setting = answer
	}
	return s
}

// settingChoices are the values that settings can have.
var settingChoices = map[string][]string{
	"date_order": {"dmy", "mdy"}, "decimal": {",", "."}, "charset": table.Charsets, "missing_sku": {"derive", "refuse"},
	"repeated_sku": {"derive", "last", "refuse"}, "rounding": {"round", "refuse"}, "refunds": {"attach", "leave_out"},
	"tax_included": {"yes", "no"}, "cost": {"unit", "line"}, "discount": {"amount", "percent"},
	"total": {"before_discount", "after_discount"}, "tax": {"order", "row"},
}

// maxTemporary limits the bytes of temporary files of an import, besides the files themselves.
const maxTemporary = 1 << 30

// Open recognises the files of dir and reads each once. Temporary files are created in temp; "" is the default of the
// system. Open returns an InvalidError for settings, and another error if a file cannot be read.
func Open(ctx context.Context, dir fs.FS, temp string, tenant Tenant, settings Settings) (*Set, error) {
	zone, err := settings.check(tenant)
	if err != nil {
		return nil, err
	}
	space := table.NewSpace(temp, maxTemporary)
	r := &reading{tenant: tenant, settings: settings, space: space}
	if r.archive, err = r.openArchive(ctx, dir); err != nil {
		return nil, err
	}
	if r.archive != nil {
		r.setFiles()
		r.records = r.readArchive
		return &r.Set, nil
	}
	tables, err := table.Files(dir, space)
	if err != nil {
		return nil, err
	}
	if len(tables) > maxTables {
		return nil, fmt.Errorf("the import has %d files: the maximum is %d", len(tables), maxTables)
	}
	for _, t := range tables {
		file := File{Name: t.Name, Size: t.Size, Problem: t.Problem}
		s := &source{File: file, table: t, zone: zone, currency: tenant.Currency}
		var others []*source
		if choices, lines := t.Charset(); choices != nil {
			r.ask(s, Question{ID: "charset", Choices: choices, Readings: lines})
		}
		if settings.Charset != "" {
			t.SetCharset(settings.Charset)
		}
		if t.Problem == "" {
			if others, err = s.recognise(settings.Mapping[t.Name]); err != nil {
				return nil, err
			}
		}
		r.sources = append(append(r.sources, s), others...)
	}
	if err := r.checkOwn(); err != nil {
		return nil, err
	}
	for _, s := range r.sources {
		if err := r.examine(ctx, s); err != nil {
			return nil, err
		}
	}
	r.setFiles()
	r.records = r.read
	return &r.Set, nil
}

func (r *reading) setFiles() {
	for _, s := range r.sources {
		r.Files = append(r.Files, s.File)
	}
}

// examine reads a file once, and adds its questions.
func (r *reading) examine(ctx context.Context, s *source) error {
	if s.Problem != "" {
		return nil
	}
	if _, mapped := r.settings.Mapping[s.Name]; !mapped && (s.format == nil || s.isSheet()) &&
		slices.ContainsFunc(r.sources, (*source).isOwn) {
		s.format, s.Problem = nil, "is not one of the files of an import"
		return nil
	}
	if s.format == nil {
		s.format = &format{}
		err := s.scan(ctx)
		s.format = nil
		r.Questions = append(r.Questions, Question{ID: "mapping", File: s.Name, Reason: s.reason})
		return err
	}
	s.Format = s.name
	if err := s.scan(ctx); err != nil {
		return err
	}
	for _, question := range s.decide(r.settings) {
		r.ask(s, question)
	}
	s.seen.rows = exampleRows{}
	return nil
}

// read yields the records of all files: those without orders first.
func (r *reading) read(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		r.nameByID, r.sold = map[Kind]map[string]string{}, r.newSoldItems()
		r.products, r.seed = map[uint64]readProduct{}, maphash.MakeSeed()
		stopped := false
		each := func(g group) bool {
			for _, record := range r.recordsOf(g) {
				if !stopped && !yield(record, nil) {
					stopped = true
				}
			}
			return !stopped
		}
		for _, sources := range r.inSequence() {
			var err error
			if !sources[0].isGrouped() {
				err = eachRow(ctx, sources[0], each)
			} else {
				err = r.eachOrder(ctx, sources, each)
			}
			if err != nil && !stopped {
				yield(Record{}, err)
				return
			}
			if stopped {
				return
			}
		}
		for _, record := range r.attachRefunds() {
			if !yield(record, nil) {
				return
			}
		}
	}
}

// eachRow calls f with each row of a source without orders.
func eachRow(ctx context.Context, s *source, f func(group) bool) error {
	for row, err := range s.all(ctx) {
		if err != nil {
			return err
		}
		if c, _ := s.rowOfOrder(row); !f(group{rows: []cells{c}}) {
			return nil
		}
	}
	return nil
}

// recordsOf returns the records of a group. A row that could not be read is refused.
func (r *reading) recordsOf(g group) []Record {
	c := g.rows[0]
	if len(c.invalid[""]) > 0 {
		return []Record{c.newRecord(c.kind, "")}
	}
	g, records := g.withoutRepeated()
	if len(g.rows) == 0 {
		return records
	}
	records = append(c.read(r, g), records...)
	isCancelled := slices.ContainsFunc(records, func(r Record) bool { return r.Kind == Cancellation })
	about := ""
	for _, r := range records {
		if customer := orderCustomer(r.Order); customer != nil {
			about = customer.ID
		}
	}
	for i := range records {
		records[i].About = about
		records[i].Cancelled = isCancelled && records[i].Kind == Order
		if c.kind == Product && !c.isExact { // our own files may have several rows of a product
			r.checkRepeatedSKU(c.source, &records[i])
		}
	}
	return records
}

// inSequence returns the sources in the sequence in which they are read. Sources with parts of the same orders are read
// together.
func (r *reading) inSequence() [][]*source {
	var together [][]*source
	for _, kind := range sequence {
		families := map[string]int{}
		for _, s := range r.sources {
			if s.format == nil || s.kind != kind || s.Problem != "" {
				continue
			}
			if i, exists := families[s.family]; exists && s.family != "" {
				together[i] = append(together[i], s)
				continue
			}
			families[s.family] = len(together)
			together = append(together, []*source{s})
		}
	}
	for _, sources := range together {
		slices.SortStableFunc(sources, func(a, b *source) int { return boolOrder(a.items) - boolOrder(b.items) })
	}
	return together
}

func boolOrder(last bool) int {
	if last {
		return 1
	}
	return 0
}

// base returns the name of a file without directory and extensions, in lower case.
func base(name string) string {
	name = strings.TrimSuffix(strings.ToLower(name), ".gz")
	return strings.TrimSuffix(name, path.Ext(name))
}
