// Package csvimport loads a directory of CSV files into a tenant: catalog and sales.
//
// categories.csv, sellers.csv and warehouses.csv (id, name) come first. Their ids are
// used in products.csv only; stored references are found by name, or created.
// products.csv is upserted by SKU, channels.csv by identifier and customers.csv by id.
// Orders and refunds are stored once. A second import of the same files therefore
// changes nothing, and an interrupted import can be repeated. All files are optional,
// and each may be compressed (.csv.gz). Each batch of rows is one transaction.
//
// orders.csv and order_items.csv are read in parallel, so items must be in the sequence
// of their orders. That is checked before anything is loaded. An order is loaded with all
// of its items or not at all.
//
// A file of GET /api/products/export has the names of categories, sellers and warehouses
// in columns such as category_name, and needs no other file.
//
// An empty cell keeps the stored value, or selects the default. An invalid row is refused
// with its line, field and reason, and the others are loaded. If a file cannot be read,
// the import ends with an error that has the file and line; loaded batches stay.
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
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
)

const (
	batchSize    = 500
	batchTimeout = time.Minute
)

// Files are the names of the files, without .csv or .csv.gz, in the order of loading.
var Files = []string{
	"categories", "sellers", "warehouses", "products", "channels", "customers", "orders", "order_items", "refunds",
}

// Options are callbacks of an import. Each may be nil.
type Options struct {
	// Refused is called for each validation error of each refused row.
	Refused func(Refusal)
	// Progress is called after each batch with the bytes read of a file, before
	// decompression, and its size.
	Progress func(file string, read, size int64)
}

// Refusal is a validation error of a row that was not loaded. Key is the SKU, number or
// id in the row. Key and Field are empty if the row could not be split into fields.
type Refusal struct {
	File   string
	Line   int
	Key    string
	Field  string
	Reason string
}

// Count is the number of rows of a file by outcome. The items of an order have the outcome
// of the order.
type Count struct {
	File      string `json:"file"`
	Created   int    `json:"created"`
	Updated   int    `json:"updated"`
	Unchanged int    `json:"unchanged"`
	Refused   int    `json:"refused"`
}

// add counts rows with an outcome of catalog or sales. It returns false for refused rows.
func (c *Count) add(outcome string, rows int) bool {
	switch outcome {
	case string(catalog.Created):
		c.Created += rows
	case string(catalog.Updated):
		c.Updated += rows
	case string(catalog.Unchanged):
		c.Unchanged += rows
	default:
		return false
	}
	return true
}

// Report is the result of an import, also of one that ended with an error.
type Report struct {
	Files      []Count
	PassedOver []string // CSV files with unknown names
	Exceeding  int      // orders in refunds.csv that are refunded above what was paid
}

// Refused returns the number of refused rows in all files.
func (r Report) Refused() int {
	var n int
	for _, c := range r.Files {
		n += c.Refused
	}
	return n
}

// Import loads the files of dir. If ctx is cancelled, Import returns its error after the
// current batch. It returns other errors if there are no files, if a file cannot be read,
// if items are not in the sequence of their orders, or if the database fails.
func Import(ctx context.Context, db *tenancy.DB, tenant tenancy.ID, dir fs.FS, o Options) (Report, error) {
	r := run{
		db: db, catalog: catalog.New(db), sales: sales.New(db), tenant: tenant, dir: dir, options: o,
		idByFileID: map[catalog.Kind]map[string]int64{}, idByName: map[catalog.Kind]map[string]int64{},
	}
	err := r.load(ctx)
	return r.report, err
}

// run is one import.
type run struct {
	db         *tenancy.DB
	catalog    *catalog.Store
	sales      *sales.Store
	tenant     tenancy.ID
	dir        fs.FS
	options    Options
	files      map[string]string // "products" to "products.csv" or "products.csv.gz"
	positions  positions
	idByFileID map[catalog.Kind]map[string]int64
	idByName   map[catalog.Kind]map[string]int64 // of the current batch
	report     Report
}

func (r *run) load(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		r.findFiles, r.readPositions, r.loadReferences, r.loadProducts, r.loadChannels, r.loadCustomers, r.loadOrders,
		r.loadRefunds,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) findFiles(context.Context) error {
	entries, err := fs.ReadDir(r.dir, ".")
	if err != nil {
		return fmt.Errorf("read directory: %w", err)
	}
	r.files = map[string]string{}
	for _, e := range entries {
		base, isCSV := strings.CutSuffix(strings.TrimSuffix(e.Name(), ".gz"), ".csv")
		switch {
		case !isCSV || e.IsDir():
		case !slices.Contains(Files, base):
			r.report.PassedOver = append(r.report.PassedOver, e.Name())
		case r.files[base] != "":
			return fmt.Errorf("both %s and %s exist: remove one of them", r.files[base], e.Name())
		default:
			r.files[base] = e.Name()
		}
	}
	switch orders, items := r.files["orders"], r.files["order_items"]; {
	case len(r.files) == 0:
		return fmt.Errorf("no files to import: expected at least one of %s.csv, plain or as .csv.gz",
			strings.Join(Files, ".csv, "))
	case orders == "" && items != "":
		return fmt.Errorf("%s requires orders.csv", items)
	case items == "" && orders != "":
		return fmt.Errorf("%s requires order_items.csv", orders)
	}
	return nil
}

// eachBatch reads a file, if it exists, and calls load with its valid rows.
func (r *run) eachBatch(ctx context.Context, base string, c columns, load func(context.Context, []row) error) error {
	name, exists := r.files[base]
	if !exists {
		return nil
	}
	t, err := openTable(r.dir, name, c)
	if err != nil {
		return err
	}
	defer t.close()
	r.report.Files = append(r.report.Files, Count{File: name})
	for done := false; !done; {
		if err := checkStopped(ctx, t); err != nil {
			return err
		}
		rows, last, err := r.readBatch(t)
		if err == nil && len(rows) > 0 {
			err = withTimeout(ctx, t, func(ctx context.Context) error { return load(ctx, rows) })
		}
		if err != nil {
			return err
		}
		done = last
		r.showProgress(t)
	}
	return nil
}

// readBatch reads rows for one transaction, and refuses malformed ones.
func (r *run) readBatch(t *table) (rows []row, done bool, err error) {
	for len(rows) < batchSize {
		w, err := t.next()
		switch {
		case errors.Is(err, io.EOF):
			return rows, true, nil
		case err != nil:
			return nil, false, err
		case w.malformed():
			r.refuse(w)
		default:
			rows = append(rows, w)
		}
	}
	return rows, false, nil
}

func checkStopped(ctx context.Context, t *table) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("stopped after line %d of %s: %w", t.line, t.name, err)
	}
	return nil
}

// withTimeout runs load for the last rows of t, also if ctx is cancelled meanwhile.
func withTimeout(ctx context.Context, t *table, load func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), batchTimeout)
	defer cancel()
	err := load(ctx)
	if invalid, ok := errors.AsType[tenancy.InvalidError](err); ok {
		err = errors.New(invalid.Error()) // commands print an InvalidError as errors of flags
	}
	if err != nil {
		return fmt.Errorf("%s before line %d: %w", t.name, t.line+1, err)
	}
	return nil
}

func (r *run) showProgress(t *table) {
	if r.options.Progress != nil {
		r.options.Progress(t.name, t.read.n, t.size)
	}
}

// count returns the count of the current file.
func (r *run) count() *Count { return &r.report.Files[len(r.report.Files)-1] }

// refuse counts and reports an invalid row of the current file.
func (r *run) refuse(w row) { r.refuseIn(r.count(), w) }

func (r *run) refuseIn(c *Count, w row) {
	c.Refused++
	r.reportErrors(c.File, w)
}

func (r *run) reportErrors(file string, w row) {
	if r.options.Refused == nil {
		return
	}
	for _, field := range slices.Sorted(maps.Keys(w.invalid)) {
		for _, reason := range w.invalid[field] {
			r.options.Refused(Refusal{File: file, Line: w.line, Key: w.key, Field: field, Reason: reason})
		}
	}
}
