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
	"slices"
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
	// extendedFile has a change with what the previous release does not know. It is an array, so that an instance of
	// that release fails to read it instead of planning another change.
	extendedFile = "extended.json"
	maxRowsFile  = 1 << 20 // bytes, from which the next rows are another file
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
	IDs    []int64 `json:",omitempty"` // instead of the filter
	Change catalog.Change
}

// isExtended reports whether the previous release does not know a field that is set.
func (of productChange) isExtended() bool {
	return len(of.IDs) > 0 || of.Filter.Stock != "" || of.Change.PriceAmount != 0 ||
		of.Change.Rounding != catalog.Rounding{}
}

// readChange returns the change in the files of a plan. exists is false for a plan of rows.
func readChange(files fs.FS) (of productChange, exists bool, err error) {
	text, err := fs.ReadFile(files, changeFile)
	if err == nil {
		return of, true, json.Unmarshal(text, &of)
	}
	if errors.Is(err, fs.ErrNotExist) {
		text, err = fs.ReadFile(files, extendedFile)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return of, false, nil
	}
	all := []productChange{{}}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err == nil && len(all) != 1 {
		err = fmt.Errorf("read %d changes of %s: %w", len(all), extendedFile, io.ErrUnexpectedEOF)
	}
	if err != nil {
		return of, false, err
	}
	return all[0], true, nil
}

// Plan computes a plan from the rows of files, or from the products of a filter.
func (c changesImporter) Plan(
	ctx context.Context, tenant tenancy.ID, plan changeplan.Plan, files fs.FS, add func(changeplan.Part) error,
) (details []byte, complete bool, err error) {
	records := refuseRepeated(storedRecords(files))
	of, exists, err := readChange(files)
	if err != nil {
		return nil, false, err
	}
	if exists {
		records = c.changed(ctx, tenant, of)
	}
	err = c.planRecords(ctx, tenant, &Set{}, records, nil, plan.CreatedAt,
		func(part changeplan.Part, _ []Record) error { return add(part) })
	return plan.Details, true, err
}

// changed yields a record for each product of a change.
func (c changesImporter) changed(ctx context.Context, tenant tenancy.ID, of productChange) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		stop := errors.New("stop")
		err := c.eachProduct(ctx, tenant, of, func(p catalog.Product) error {
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

// chosenAtOnce is how many chosen products are in memory.
const chosenAtOnce = 50

// eachProduct calls f with the products of a change.
func (c changesImporter) eachProduct(
	ctx context.Context, tenant tenancy.ID, of productChange, f func(catalog.Product) error,
) error {
	if len(of.IDs) == 0 {
		return c.catalog.Walk(ctx, tenant, of.Filter, f)
	}
	for ids := range slices.Chunk(of.IDs, chosenAtOnce) {
		products, err := c.catalog.ProductsByID(ctx, tenant, ids)
		if err != nil {
			return err
		}
		for _, p := range products {
			if err := f(p); err != nil {
				return err
			}
		}
	}
	return nil
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
	return c.create(ctx, tenant, by, title, productChange{Filter: f, Change: change})
}

// CreateChosen is Create for the products with these ids. Without ids it returns tenancy.ErrNotFound.
func (c *Changes) CreateChosen(
	ctx context.Context, tenant tenancy.ID, by tenancy.Actor, title string, ids []int64, change catalog.Change,
) (id int64, err error) {
	if len(ids) == 0 {
		return 0, tenancy.ErrNotFound
	}
	return c.create(ctx, tenant, by, title, productChange{IDs: ids, Change: change})
}

func (c *Changes) create(
	ctx context.Context, tenant tenancy.ID, by tenancy.Actor, title string, of productChange,
) (id int64, err error) {
	name, content := changeFile, any(of)
	if of.isExtended() {
		name, content = extendedFile, []productChange{of}
	}
	text, err := json.Marshal(content)
	if err != nil {
		return 0, err
	}
	return c.CreateFromFiles(ctx, tenant, by, ChangesKind,
		func(add func(string, io.Reader) error) (string, []byte, error) {
			return title, []byte(`{}`), add(name, bytes.NewReader(text))
		})
}

// CreateRows is Create for rows of products, with which each calls yield. each may be called several times. The index
// of a row is its Line in the plan.
func (c *Changes) CreateRows(
	ctx context.Context, tenant tenancy.ID, by tenancy.Actor, title string,
	each func(yield func(index int, row catalog.Row) error) error,
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
			err := each(func(index int, row catalog.Row) error {
				r := Record{Product: &catalog.PlanRow{Changes: row.Changes, ByField: true}, Row: changeplan.Row{
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
