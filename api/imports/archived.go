package imports

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
)

// archiveFiles are the files of an archive that are read, with the number of required columns, which come first.
// Archives of earlier versions do not have the others.
var archiveFiles = map[string]*ownFile{
	"categories": own("categories", Category, 2, nil, "id", "name"),
	"sellers":    own("sellers", Seller, 2, nil, "id", "name"),
	"warehouses": own("warehouses", Warehouse, 3, nil, "id", "name", "is_default"),
	"products": own("products", Product, 1, nil, "id", "sku", "name", "description", "price", "msrp", "cost", "status",
		"condition", "reorder_point", "category_name", "seller_name", "warehouse_name", "bin_location", "upc", "tags",
		"created_at"),
	"stock":     own("stock", Stock, 3, nil, "sku", "warehouse_name", "quantity"),
	"images":    own("images", Product, 4, nil, "sku", "position", "url", "file"),
	"channels":  own("channels", Channel, 2, nil, "identifier", "label", "takes_stock", "when_short", "warehouse_name"),
	"customers": own("customers", Customer, 4, nil, "id", "name", "email", "erased_at"),
	"sold_products": own("sold_products", Order, 8, nil, "id", "product", "sku", "name", "category", "category_name", "seller",
		"seller_name"),
	"orders": own("orders", Order, 9, nil, "number", "placed_at", "channel", "customer", "discount_total", "tax_total",
		"shipping_total", "cancelled_at", "content", "short"),
	"order_items": own("order_items", Order, 7, nil, "order_number", "sold_product", "sku", "quantity", "unit_price",
		"unit_cost", "discount", "stock_taken", "stock_returned", "warehouse_name"),
	"refunds": own("refunds", Refund, 5, nil, "order_number", "refunded_at", "amount", "reference", "content", "tax",
		"shipping", "restock", "named", "items"),
}

func init() {
	for _, f := range archiveFiles {
		f.order, f.family = "", "" // the rows of an order are in the same sequence in all files
	}
}

// number returns an id, or 0 if the cell is empty or not an id.
func (c cells) number(column string) int64 {
	n, _ := strconv.ParseInt(c.raw(column), 10, 64)
	return n
}

// digest returns the content of an order or a refund.
func (c cells) digest() []byte {
	digest, err := hex.DecodeString(c.raw("content"))
	if err != nil || len(digest) != 32 {
		c.refuse("content", "must have 64 hexadecimal digits")
	}
	return digest
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
		r.done = 0
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
	for _, name := range []string{"categories", "sellers", "warehouses"} {
		if err := a.each(name, a.reference); err != nil {
			return err
		}
	}
	if err := a.readProducts(); err != nil {
		return err
	}
	for _, of := range []struct {
		name string
		read func(*reading, group) []Record
	}{{"channels", archivedChannel}, {"customers", archivedCustomer}} {
		err := a.each(of.name, func(c cells) Record { return of.read(a.reading, group{rows: []cells{c}})[0] })
		if err != nil {
			return err
		}
	}
	if err := a.readOrders(); err != nil {
		return err
	}
	return a.each("refunds", a.refunds())
}

// record yields a record.
func (a *archiveReader) record(r Record) error {
	if a.file = r.Rows[0].File; r.Kind != Cancellation {
		a.done += int64(len(r.Rows) + r.Omitted)
	}
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
	rows, err := a.archive.sources[name].open()
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

// finished returns an error if rows are left that belong to nothing.
func (c *cursor) finished(column string) error {
	if !c.end {
		return fmt.Errorf("%s line %d: the %s is not in the sequence of the other files", c.rows.Name, c.line, column)
	}
	return nil
}

// each yields a record for each row of a file.
func (a *archiveReader) each(name string, read func(cells) Record) error {
	c, err := a.open(name)
	if err != nil {
		return err
	}
	defer c.rows.rows.Close()
	for !c.end {
		if err := a.record(read(c.cells)); err != nil {
			return err
		}
		if err := c.next(); err != nil {
			return err
		}
	}
	return nil
}

func (a *archiveReader) reference(c cells) Record {
	name, problem := catalog.CheckName(c.plain("name"))
	if problem != "" {
		c.refuse("name", "%s", problem)
	}
	r := c.newRecord(c.kind, name)
	r.Name, r.OldID = name, c.number("id")
	if r.IsDefault = c.kind == Warehouse && c.flag("is_default"); r.IsDefault && a.archive.timezone != "" {
		r.Notes = append(r.Notes, Note{Text: fmt.Sprintf(
			"the archive is of a tenant in the time zone %s: the days of reports differ", a.archive.timezone)})
	}
	return r
}

// readProducts yields products with their stock and images.
func (a *archiveReader) readProducts() error {
	products, err := a.open("products")
	if err != nil {
		return err
	}
	defer products.rows.rows.Close()
	stock, err := a.open("stock")
	if err != nil {
		return err
	}
	defer stock.rows.rows.Close()
	images, err := a.open("images")
	if err != nil {
		return err
	}
	defer images.rows.rows.Close()
	for !products.end {
		r, kept := a.product(products.cells), group{}
		kept.add(products.cells)
		for !stock.end && stock.plain("sku") == r.Product.SKU.Value {
			if kept.add(stock.cells) {
				r.addStock(stock.cells)
			}
			if err := stock.next(); err != nil {
				return err
			}
		}
		for !images.end && images.plain("sku") == r.Product.SKU.Value {
			if kept.add(images.cells) {
				r.Rows = append(r.Rows, images.row())
				r.Product.Archived.Images = append(r.Product.Archived.Images, catalog.Image{
					URL: images.plain("url"), File: images.plain("file"),
				})
			}
			if err := images.next(); err != nil {
				return err
			}
		}
		if r.Omitted = kept.omitted; r.Omitted > 0 {
			r.Invalid.Add("stock", "and images have more than %d rows or 8 MiB", maxGroupRows)
		}
		if err := a.record(r); err != nil {
			return err
		}
		if err := products.next(); err != nil {
			return err
		}
	}
	return errors.Join(stock.finished("SKU"), images.finished("SKU"))
}

// product returns a product without quantity, which is the sum of its stock.
func (a *archiveReader) product(c cells) Record {
	p := &catalog.PlanRow{
		Changes:       c.ownChanges(),
		CategoryName:  ownField(c, "category_name", ownText),
		SellerName:    ownField(c, "seller_name", ownText),
		WarehouseName: ownField(c, "warehouse_name", ownText),
		Archived:      &catalog.Archived{CreatedAt: c.past("created_at")},
	}
	r := c.newRecord(Product, c.key("sku"))
	r.Product, r.OldID = p, c.number("id")
	return r
}

// past returns a time that cannot be in the future.
func (c cells) past(column string) time.Time {
	c.require(column)
	at := ownField(c, column, ownTime).Value
	if at.Before(time.Unix(0, 0)) || at.After(time.Now().AddDate(0, 0, 1)) {
		c.refuse(column, "must be between 1970-01-01T00:00:00Z and one day from now")
	}
	return at
}

func (r *Record) addStock(c cells) {
	r.Rows = append(r.Rows, c.row())
	c = c.in(r.Invalid, "stock.")
	r.Product.Stock = append(r.Product.Stock, catalog.StockOf{
		Warehouse: c.plain("warehouse_name"),
		Quantity:  ownField(c, "quantity", ownInteger(0, catalog.MaxQuantity)).Value,
	})
}

func archivedChannel(r *reading, g group) []Record {
	records := ownChannel(r, g)
	c, channel := g.rows[0], records[0].Channel
	if channel.WhenShort = c.raw("when_short"); channel.WhenShort == "" {
		return records // an archive of an earlier version
	}
	channel.TakesStock = c.flag("takes_stock")
	channel.WarehouseName = optional(c.plain("warehouse_name"))
	if channel.WhenShort != sales.Refuse && channel.WhenShort != sales.Accept {
		c.refuse("when_short", "must be %s or %s", sales.Refuse, sales.Accept)
	}
	return records
}

func archivedCustomer(r *reading, g group) []Record {
	records := ownCustomer(r, g)
	c, customer := g.rows[0], records[0].Customer
	if c.raw("erased_at") != "" {
		customer.Name, customer.Email, customer.ErasedAt = nil, nil, new(c.past("erased_at"))
	}
	return records
}
