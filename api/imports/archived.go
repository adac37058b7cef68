package imports

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/export"
	"github.com/storeroom/storeroom/reports/sales"
)

// number returns an id, or 0 if the cell is empty or not an id.
func (c cells) number(column string) int64 {
	n, _ := strconv.ParseInt(c.ownCell(column), 10, 64)
	return n
}

// archiveReader yields the records of an archive. The files have the same order, so it reads them together, row by row.
type archiveReader struct {
	*reading
	ctx     context.Context
	archive *archive
	yield   func(Record, error) bool
}

var errStopped = errors.New("stopped")

// readArchive yields the records of an archive.
func (r *reading) readArchive(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		a := &archiveReader{r, ctx, r.archive, yield}
		err := a.readAll()
		if err != nil && !errors.Is(err, errStopped) {
			yield(Record{}, err)
		}
	}
}

func (a *archiveReader) readAll() (err error) {
	if a.archive.sold, err = a.readSold(); err != nil {
		return err
	}
	defer a.archive.sold.file.Close()
	for _, f := range []struct {
		name  string
		read  func(cells) []Record
		parts []partFile
	}{
		{"categories", a.reference, nil},
		{"sellers", a.reference, nil},
		{"warehouses", a.reference, nil},
		{"products", archivedProduct, []partFile{{"stock", "sku", "sku", addStock}, {"images", "sku", "sku", addImage}}},
		{"channels", archivedChannel, nil},
		{"customers", archivedCustomer, nil},
		{"orders", archivedOrder, []partFile{{"order_items", "order_number", "number", a.addItem}}},
		{"refunds", a.refunds(), nil},
	} {
		if err := a.each(f.name, f.read, f.parts); err != nil {
			return err
		}
	}
	return nil
}

// partFile is a file with more rows of the records of another file, in the same sequence. Its column has the value of
// the column key of the other file.
type partFile struct {
	name, column, key string
	add               func(*Record, cells) error
}

// record yields a record.
func (a *archiveReader) record(r Record) error {
	if !a.yield(r, nil) {
		return errStopped
	}
	return nil
}

// cursor is a row of an open file.
type cursor struct {
	cells
	rows *sourceRows
	ctx  context.Context
	end  bool
}

func (a *archiveReader) open(name string) (*cursor, error) {
	rows, err := a.archive.sources[name].open(a.ctx)
	if err != nil {
		return nil, err
	}
	c := &cursor{rows: rows, ctx: a.ctx}
	if err := c.next(); err != nil {
		return nil, errors.Join(err, rows.rows.Close())
	}
	return c, nil
}

// next goes to the next row.
func (c *cursor) next() error {
	row, err := c.rows.next(c.ctx)
	if errors.Is(err, io.EOF) {
		c.end = true
		return nil
	}
	if err == nil && row.Problem != "" {
		err = fmt.Errorf("%s line %d: %s", c.rows.Name, row.Line, row.Problem)
	}
	c.cells = c.rows.cellsOf(row)
	return err
}

// each yields the records of each row of a file. The rows of parts are added to the first of them.
func (a *archiveReader) each(name string, read func(cells) []Record, parts []partFile) error {
	file, err := a.open(name)
	if err != nil {
		return err
	}
	defer file.rows.rows.Close()
	more := make([]*cursor, len(parts))
	for i, p := range parts {
		if more[i], err = a.open(p.name); err != nil {
			return err
		}
		defer more[i].rows.rows.Close()
	}
	for ; !file.end && err == nil; err = file.next() {
		records, kept := read(file.cells), &group{}
		kept.add(file.cells)
		for i, p := range parts {
			if err := more[i].addTo(&records[0], file.plain(p.key), p, kept); err != nil {
				return err
			}
		}
		records[0].refuseOmitted(kept.omitted)
		for _, r := range records {
			if err := a.record(r); err != nil {
				return err
			}
		}
	}
	for i, p := range parts {
		if err == nil && !more[i].end {
			err = fmt.Errorf("%s line %d: the %s is not in the sequence of the other files",
				more[i].rows.Name, more[i].line, strings.ReplaceAll(p.key, "sku", "SKU"))
		}
	}
	return err
}

// addTo adds the rows with a key to a record.
func (c *cursor) addTo(r *Record, key string, p partFile, kept *group) error {
	for !c.end && c.plain(p.column) == key {
		if kept.add(c.cells) {
			if err := p.add(r, c.cells); err != nil {
				return err
			}
		}
		if err := c.next(); err != nil {
			return err
		}
	}
	return nil
}

// refuseOmitted refuses a record that has too many rows.
func (r *Record) refuseOmitted(rows int) {
	r.Omitted = rows
	switch {
	case rows == 0:
	case r.Kind == Product:
		r.Invalid.Add("stock", "and images have more than %d rows or 8 MiB", maxGroupRows)
	case r.Order != nil && len(r.Order.Items) <= sales.MaxItems:
		r.Invalid.Add("items", "have more than 8 MiB")
	}
}

func (a *archiveReader) reference(c cells) []Record {
	r, _ := c.reference()
	if r.Key, r.OldID = r.Name, c.number("id"); r.IsDefault && a.archive.timezone != "" {
		r.Notes = append(r.Notes, Note{Text: fmt.Sprintf(
			"the archive is of a tenant in the time zone %s: the days of reports differ", a.archive.timezone)})
	}
	return []Record{r}
}

// archivedProduct returns a product without quantity, which is the sum of its stock.
func archivedProduct(c cells) []Record {
	row, record := export.ProductFile.Read(c), c.record("sku")
	row.Archived = &catalog.Archived{CreatedAt: row.CreatedAt}
	record.Product, record.OldID = &row.PlanRow, row.OldID
	return []Record{record}
}

func addStock(r *Record, c cells) error {
	row := export.StockFile.Read(c.in(r.Invalid, "stock."))
	r.Rows, r.Product.Stock = append(r.Rows, c.row()), append(r.Product.Stock, row.StockOf)
	return nil
}

func addImage(r *Record, c cells) error {
	row, archived := export.ImageFile.Read(c.in(r.Invalid, "images.")), r.Product.Archived
	r.Rows = append(r.Rows, c.row())
	archived.Images = append(archived.Images, catalog.Image{URL: row.URL, File: row.File})
	return nil
}

func archivedChannel(c cells) []Record {
	records := ownChannel(nil, group{rows: []cells{c}})
	if short := records[0].Channel.WhenShort; short != sales.Refuse && short != sales.Accept {
		c.refuse("when_short", "must be %s or %s", sales.Refuse, sales.Accept)
	}
	return records
}

func archivedCustomer(c cells) []Record {
	records := ownCustomer(nil, group{rows: []cells{c}})
	if customer := records[0].Customer; customer.ErasedAt != nil {
		customer.Name, customer.Email = nil, nil
	}
	return records
}
