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
)

// reading is a set while it is read.
type reading struct {
	Set
	tenant   Tenant
	settings Settings
	space    *table.Space
	sources  []*source
	now      time.Time // of which sale prices count

	nameByID map[Kind]map[string]string // of our references
	sold     soldItems
	products map[uint64]readProduct // by the hash of the SKU
	seed     maphash.Seed
}

// maxTemporary limits the bytes of temporary files of an import, besides the files themselves.
const maxTemporary = 1 << 30

// Open recognises the files of dir and reads each once. Temporary files are created in temp; "" is the default of the
// system. Open returns an InvalidError for settings, and another error if a file cannot be read.
func Open(ctx context.Context, dir fs.FS, temp string, tenant Tenant, settings Settings) (*Set, error) {
	zone, err := settings.zone(tenant)
	if err != nil {
		return nil, err
	}
	space := table.NewSpace(temp, maxTemporary)
	r := &reading{tenant: tenant, settings: settings, space: space, now: time.Now()}
	if r.archive, err = r.openArchive(ctx, dir); err != nil {
		return nil, err
	}
	if r.archive != nil {
		r.setFiles()
		r.records = r.readArchive
		return &r.Set, nil
	}
	tables, err := table.Files(ctx, dir, space)
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
			if others, err = s.recognise(ctx, settings.Mapping[t.Name]); err != nil {
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
	s.seen.rows, s.seen.skus.contents = exampleRows{}, nil
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
