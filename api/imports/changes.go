package imports

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strings"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/changeplan"
)

// ChangesKind is the kind of the plans of Changes.
const ChangesKind = "products"

const (
	// maxChangeRows is the number of rows of a part, which is applied as a whole or not at all.
	maxChangeRows = 1000
	changeFile    = "change.json"
	maxRowsFile   = 1 << 20 // bytes, from which the next rows are another file
)

// changesImporter plans changes of products by field. Unlike an import, which depends on whole products, such a plan
// does not conflict with sales, or with changes of other fields.
type changesImporter struct{ *Importer }

// Rules implements changeplan.Kind.
func (changesImporter) Rules() changeplan.Rules {
	return changeplan.Rules{
		UndoDays: 30, MaxUnfinished: 20, TooMany: "20 plans are being computed. Retry when one of them is done.",
	}
}

// productChange is the content of changeFile.
type productChange struct {
	Filter catalog.Filter
	Change catalog.Change
}

// Plan computes a plan from the rows of files, or from the products of a filter.
func (c changesImporter) Plan(
	ctx context.Context, tenant tenancy.ID, plan changeplan.Plan, files fs.FS, add func(changeplan.Part) error,
) (details []byte, complete bool, err error) {
	records := refuseRepeated(storedRecords(files))
	text, err := fs.ReadFile(files, changeFile)
	switch {
	case err == nil:
		var of productChange
		if err := json.Unmarshal(text, &of); err != nil {
			return nil, false, err
		}
		records = c.changed(ctx, tenant, of)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, false, err
	}
	err = c.planRecords(ctx, tenant, &Set{}, records, nil, plan.CreatedAt,
		func(part changeplan.Part, _ []Record) error { return add(part) })
	return plan.Details, true, err
}

// changed yields a record for each product of a filter.
func (c changesImporter) changed(ctx context.Context, tenant tenancy.ID, of productChange) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		stop := errors.New("stop")
		err := c.catalog.Walk(ctx, tenant, of.Filter, func(p catalog.Product) error {
			row := &catalog.PlanRow{ID: p.ID, Changes: of.Change.Set, ByField: true, Change: &of.Change}
			row.SKU = catalog.Value(p.SKU)
			if !yield(Record{Row: changeplan.Row{Kind: Product, Key: p.SKU}, Product: row}, nil) {
				return stop
			}
			return nil
		})
		if err != nil && !errors.Is(err, stop) {
			yield(Record{}, err)
		}
	}
}

// storedRecords yields the records that CreateRows has stored.
func storedRecords(files fs.FS) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		entries, err := fs.ReadDir(files, ".")
		if err != nil {
			yield(Record{}, err)
			return
		}
		for _, entry := range entries {
			file, err := files.Open(entry.Name())
			if err != nil {
				yield(Record{}, err)
				return
			}
			in := json.NewDecoder(file)
			for {
				var r Record
				err := in.Decode(&r)
				if err == io.EOF {
					break
				}
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
	}
}

// refuseRepeated refuses a row with the SKU of an earlier one. Two rows of a product in different parts would depend
// on each other, but each part can be applied without the other.
func refuseRepeated(records iter.Seq2[Record, error]) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		lines := map[string]int{}
		for r, err := range records {
			if err == nil {
				sku := strings.TrimSpace(r.Key)
				if line, repeated := lines[sku]; repeated {
					r.Invalid = r.Invalid.Clone()
					r.Invalid["sku"] = []string{fmt.Sprintf("is that of row %d: a plan changes a product once", line)}
				} else if sku != "" {
					lines[sku] = r.Rows[0].Line
				}
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// Changes are plans that change products. It is safe for concurrent use.
type Changes struct{ changeplan.Plans }

// NewChanges returns the changes of products in plans.
func NewChanges(plans *changeplan.Store) *Changes { return &Changes{plans.Of(ChangesKind)} }

// Create stores a change of all products that match a filter; an instance computes the plan from it. Like CreateRows,
// it returns a changeplan.LimitError.
func (c *Changes) Create(
	ctx context.Context, tenant tenancy.ID, by tenancy.Actor, title string, f catalog.Filter, change catalog.Change,
) (id int64, err error) {
	// JSON rounds time zones to minutes.
	f.CreatedFrom, f.CreatedBefore, f.UpdatedSince = f.CreatedFrom.UTC(), f.CreatedBefore.UTC(), f.UpdatedSince.UTC()
	text, err := json.Marshal(productChange{f, change})
	if err != nil {
		return 0, err
	}
	return c.CreateFromFiles(ctx, tenant, by, ChangesKind,
		func(add func(string, io.Reader) error) (string, []byte, error) {
			return title, []byte(`{}`), add(changeFile, bytes.NewReader(text))
		})
}

// CreateRows is Create for rows of products, with which each calls yield. each may be called several times. The index
// of a row is its Line in the plan.
func (c *Changes) CreateRows(
	ctx context.Context, tenant tenancy.ID, by tenancy.Actor, title string,
	each func(yield func(index int, row catalog.PlanRow) error) error,
) (id int64, err error) {
	return c.CreateFromFiles(ctx, tenant, by, ChangesKind,
		func(add func(string, io.Reader) error) (string, []byte, error) {
			var pending bytes.Buffer
			files := 0
			flush := func() error {
				files++
				err := add(fmt.Sprintf("rows-%04d.json", files), &pending)
				pending.Reset()
				return err
			}
			err := each(func(index int, row catalog.PlanRow) error {
				row.ByField = true
				r := Record{Product: &row, Row: changeplan.Row{
					Kind: Product, Key: row.SKU.Value, Rows: []changeplan.FileRow{{Line: index}}, Invalid: row.Invalid,
				}}
				if err := json.NewEncoder(&pending).Encode(r); err != nil || pending.Len() < maxRowsFile {
					return err
				}
				return flush()
			})
			if err == nil && pending.Len() > 0 {
				err = flush()
			}
			return title, []byte(`{}`), err
		})
}
