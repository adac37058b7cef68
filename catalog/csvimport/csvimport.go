// Package csvimport loads a folder of CSV files into the catalog of a tenant.
//
// categories.csv, sellers.csv and warehouses.csv (id, name) come first; their ids
// are the files' own and only tie products.csv to them: the catalog finds or adds
// each by its name. products.csv is upserted by SKU, so a second import changes
// nothing. Each file may be compressed (.csv.gz). Files are streamed in batches,
// never held whole, and each batch is one transaction.
//
// A file that GET /api/products/export wrote names categories, sellers and
// warehouses in columns of their own (category_name, …) and needs no other file.
//
// An empty cell means that the source does not have the value: a product that
// exists keeps what it has, a new one gets the default. A row that breaks a rule
// is refused with its line, field and reason, and the others are loaded. What
// makes a whole file unreadable ends the import with an error that names the file
// and line; what was loaded before stays.
package csvimport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy"
)

const (
	batchSize   = 500
	batchWithin = time.Minute
)

// Options let the caller watch an import. Each function may be nil.
type Options struct {
	// Refused is called once for each fault of each refused row.
	Refused func(Refusal)
	// Progress is called after each batch with the bytes read of a file, as it
	// lies on disk, and its size.
	Progress func(file string, read, size int64)
}

// Refusal is one fault of a row that was not loaded. SKU and Field are empty where
// the row could not be taken apart.
type Refusal struct {
	File   string
	Line   int
	SKU    string
	Field  string
	Reason string
}

// Count is what became of the rows of a file.
type Count struct {
	File      string
	Created   int
	Updated   int
	Unchanged int
	Refused   int
}

// Report is the outcome of an import. After an error or an interruption it says
// what was loaded until then.
type Report struct {
	Files      []Count
	PassedOver []string // CSV files that are no part of the catalog
}

// Refused is the number of refused rows in all files.
func (r Report) Refused() int {
	var n int
	for _, c := range r.Files {
		n += c.Refused
	}
	return n
}

// Import loads the files of dir. Where ctx is cancelled it ends after the batch in
// hand, with ctx's error. It returns an error when there is no products.csv, when
// a file cannot be read on, or when the database does not answer.
func Import(ctx context.Context, store *catalog.Store, tenant tenancy.ID, dir fs.FS, o Options) (Report, error) {
	r := run{store: store, tenant: tenant, dir: dir, options: o, ids: map[catalog.Kind]map[string]int64{}, named: map[catalog.Kind]map[string]int64{}}
	if err := r.find(); err != nil {
		return r.report, err
	}
	for _, kind := range []catalog.Kind{catalog.Categories, catalog.Sellers, catalog.Warehouses} {
		if err := r.references(ctx, kind); err != nil {
			return r.report, err
		}
	}
	return r.report, r.each(ctx, "products", productColumns, r.loadProducts)
}

// run is one import.
type run struct {
	store   *catalog.Store
	tenant  tenancy.ID
	dir     fs.FS
	options Options
	files   map[string]string                 // "products" to its name, with .csv or .csv.gz
	ids     map[catalog.Kind]map[string]int64 // by id of the file
	named   map[catalog.Kind]map[string]int64 // by name, of the batch in hand
	report  Report
}

// find sorts the folder's files into those to load and those passed over.
func (r *run) find() error {
	entries, err := fs.ReadDir(r.dir, ".")
	if err != nil {
		return fmt.Errorf("read the folder: %w", err)
	}
	r.files = map[string]string{}
	for _, e := range entries {
		base, isCSV := strings.CutSuffix(strings.TrimSuffix(e.Name(), ".gz"), ".csv")
		switch {
		case !isCSV || e.IsDir():
		case !slices.Contains([]string{"categories", "sellers", "warehouses", "products"}, base):
			r.report.PassedOver = append(r.report.PassedOver, e.Name())
		case r.files[base] != "":
			return fmt.Errorf("both %s and %s are there: remove one", r.files[base], e.Name())
		default:
			r.files[base] = e.Name()
		}
	}
	if r.files["products"] == "" {
		return errors.New("there is no products.csv or products.csv.gz")
	}
	return nil
}

// each reads a file, if it is there, and hands its rows to load in batches. load
// runs to its end even when ctx is cancelled meanwhile.
func (r *run) each(ctx context.Context, base string, columns columns, load func(context.Context, []row) error) error {
	name, there := r.files[base]
	if !there {
		return nil
	}
	t, err := openTable(r.dir, name, columns)
	if err != nil {
		return err
	}
	defer t.close()
	r.report.Files = append(r.report.Files, Count{File: name})
	for done := false; !done; {
		if err := context.Cause(ctx); err != nil {
			return fmt.Errorf("stopped after line %d of %s: %w", t.line, name, err)
		}
		var batch []row
		if batch, done, err = r.batch(t); err != nil {
			return err
		}
		if err := r.loadBatch(ctx, batch, load); err != nil {
			return fmt.Errorf("%s before line %d: %w", name, t.line+1, err)
		}
		if r.options.Progress != nil {
			r.options.Progress(name, t.read.n, t.size)
		}
	}
	return nil
}

// batch reads rows until there are enough, and refuses those that are broken.
func (r *run) batch(t *table) (rows []row, done bool, err error) {
	for len(rows) < batchSize {
		row, err := t.next()
		switch {
		case errors.Is(err, io.EOF):
			return rows, true, nil
		case err != nil:
			return nil, false, err
		case row.fault != "":
			r.refuse(row, tenancy.InvalidError{"": {row.fault}})
		default:
			rows = append(rows, row)
		}
	}
	return rows, false, nil
}

func (r *run) loadBatch(ctx context.Context, rows []row, load func(context.Context, []row) error) error {
	if len(rows) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), batchWithin)
	defer cancel()
	return load(ctx, rows)
}

// count is that of the file in hand.
func (r *run) count() *Count { return &r.report.Files[len(r.report.Files)-1] }

// refuse counts a row and tells each of its faults.
func (r *run) refuse(w row, faults tenancy.InvalidError) {
	c := r.count()
	c.Refused++
	if r.options.Refused == nil {
		return
	}
	sku := strings.ToValidUTF8(unguard(w.cells["sku"]), "\uFFFD")
	for _, field := range slices.Sorted(maps.Keys(faults)) {
		for _, reason := range faults[field] {
			r.options.Refused(Refusal{File: c.File, Line: w.line, SKU: sku, Field: field, Reason: reason})
		}
	}
}
