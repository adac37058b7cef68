// Package csvimport loads a folder of CSV files into a tenant: catalog and sales.
//
// categories.csv, sellers.csv and warehouses.csv (id, name) come first; their ids
// are the files' own and only tie products.csv to them: the catalog finds or adds
// each by its name. products.csv is upserted by SKU, channels.csv by identifier,
// customers.csv by id. Orders and refunds are facts: one that is there already
// counts once. So a second import changes nothing, and an import that was
// interrupted, or killed, is begun again. Each file may be compressed (.csv.gz) and
// any may be missing. Files are streamed in batches, never held whole, and each
// batch is one transaction.
//
// orders.csv and order_items.csv are read side by side: items must follow in the
// sequence of their orders, which is checked before anything is loaded. An order
// is loaded with all of its items or not at all.
//
// A file that GET /api/products/export wrote names categories, sellers and
// warehouses in columns of their own (category_name, …) and needs no other file.
//
// An empty cell means that the source does not have the value: what exists keeps
// what it has, what is new gets the default. A row that breaks a rule is refused
// with its line, field and reason, and the others are loaded. What makes a whole
// file unreadable ends the import with an error that names the file and line; what
// was loaded before stays.
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
	batchSize   = 500
	batchWithin = time.Minute
)

// Files are the names, without .csv or .csv.gz, of what Import loads, in the order
// in which it does.
var Files = []string{"categories", "sellers", "warehouses", "products", "channels", "customers", "orders", "order_items", "refunds"}

// Options let the caller watch an import. Each function may be nil.
type Options struct {
	// Refused is called once for each fault of each refused row.
	Refused func(Refusal)
	// Progress is called after each batch with the bytes read of a file, as it
	// lies on disk, and its size.
	Progress func(file string, read, size int64)
}

// Refusal is one fault of a row that was not loaded. Key is what the row is known
// by: a SKU, the number of an order, the id of a customer. Key and Field are empty
// where the row could not be taken apart.
type Refusal struct {
	File   string
	Line   int
	Key    string
	Field  string
	Reason string
}

// Count is what became of the rows of a file. The items of an order share its lot.
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
	PassedOver []string // CSV files that Import does not know
	Exceeding  int      // orders with a refund in the folder that are refunded above what was paid
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
// hand, with ctx's error. It returns an error when there is nothing to load, when
// a file cannot be read on, when items do not follow in the sequence of their
// orders, or when the database does not answer.
func Import(ctx context.Context, db *tenancy.DB, tenant tenancy.ID, dir fs.FS, o Options) (Report, error) {
	r := run{
		db: db, catalog: catalog.New(db), sales: sales.New(db), tenant: tenant, dir: dir, options: o,
		ids: map[catalog.Kind]map[string]int64{}, named: map[catalog.Kind]map[string]int64{},
	}
	err := r.load(ctx)
	return r.report, err
}

// run is one import.
type run struct {
	db      *tenancy.DB
	catalog *catalog.Store
	sales   *sales.Store
	tenant  tenancy.ID
	dir     fs.FS
	options Options
	files   map[string]string                 // "products" to its name, with .csv or .csv.gz
	ids     map[catalog.Kind]map[string]int64 // by id of the file
	named   map[catalog.Kind]map[string]int64 // by name, of the batch in hand
	report  Report
}

func (r *run) load(ctx context.Context) error {
	if err := r.find(); err != nil {
		return err
	}
	sequence, err := r.sequence(ctx)
	if err != nil {
		return err
	}
	for _, kind := range []catalog.Kind{catalog.Categories, catalog.Sellers, catalog.Warehouses} {
		if err := r.references(ctx, kind); err != nil {
			return err
		}
	}
	for _, file := range []struct {
		base    string
		columns columns
		load    func(context.Context, []row) error
	}{
		{"products", productColumns, r.loadProducts},
		{"channels", channelColumns, r.loadChannels},
		{"customers", customerColumns, r.loadCustomers},
	} {
		if err := r.each(ctx, file.base, file.columns, file.load); err != nil {
			return err
		}
	}
	if err := r.orders(ctx, sequence); err != nil {
		return err
	}
	return r.refunds(ctx)
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
		case !slices.Contains(Files, base):
			r.report.PassedOver = append(r.report.PassedOver, e.Name())
		case r.files[base] != "":
			return fmt.Errorf("both %s and %s are there: remove one", r.files[base], e.Name())
		default:
			r.files[base] = e.Name()
		}
	}
	switch orders, items := r.files["orders"], r.files["order_items"]; {
	case len(r.files) == 0:
		return fmt.Errorf("there is nothing to import: none of %s.csv, plain or as .csv.gz", strings.Join(Files, ".csv, "))
	case orders == "" && items != "":
		return fmt.Errorf("%s is there without orders.csv", items)
	case items == "" && orders != "":
		return fmt.Errorf("%s is there without order_items.csv", orders)
	}
	return nil
}

// each reads a file, if it is there, and hands its rows to load in batches.
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
		if err := stopped(ctx, t); err != nil {
			return err
		}
		var rows []row
		if rows, done, err = r.batch(t); err != nil {
			return err
		}
		if len(rows) > 0 {
			if err := loadBatch(ctx, t, func(ctx context.Context) error { return load(ctx, rows) }); err != nil {
				return err
			}
		}
		r.progress(t)
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

func stopped(ctx context.Context, t *table) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("stopped after line %d of %s: %w", t.line, t.name, err)
	}
	return nil
}

// loadBatch runs load for what was read of t last, also when ctx is over meanwhile.
// What breaks a rule as a whole is no fault of a flag, as which a command would
// explain it.
func loadBatch(ctx context.Context, t *table, load func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), batchWithin)
	defer cancel()
	err := load(ctx)
	if invalid, ok := errors.AsType[tenancy.InvalidError](err); ok {
		err = errors.New(invalid.Error())
	}
	if err != nil {
		return fmt.Errorf("%s before line %d: %w", t.name, t.line+1, err)
	}
	return nil
}

func (r *run) progress(t *table) {
	if r.options.Progress != nil {
		r.options.Progress(t.name, t.read.n, t.size)
	}
}

// count is that of the file in hand.
func (r *run) count() *Count { return &r.report.Files[len(r.report.Files)-1] }

// refuse counts a row of the file in hand and tells each of its faults.
func (r *run) refuse(w row, faults tenancy.InvalidError) {
	c := r.count()
	c.Refused++
	r.tell(c.File, w, faults)
}

func (r *run) tell(file string, w row, faults tenancy.InvalidError) {
	if r.options.Refused == nil {
		return
	}
	for _, field := range slices.Sorted(maps.Keys(faults)) {
		for _, reason := range faults[field] {
			r.options.Refused(Refusal{File: file, Line: w.line, Key: w.key, Field: field, Reason: reason})
		}
	}
}
