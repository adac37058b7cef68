package api

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/export"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

const exportDeadline = 120 * time.Second

// listFile is a list as a file. It reads the list while it is written, without holding a connection in between.
type listFile struct {
	sheet func(context.Context) export.Sheet
	lines func(context.Context, io.Writer) error // JSON, one row per line
}

// newListFile returns the file of the rows that walk calls its function with.
func newListFile[T, J any](
	walk func(context.Context, func(T) error) error, sheet func(export.Rows[T]) export.Sheet, shape func(T) J,
) listFile {
	return listFile{
		sheet: func(ctx context.Context) export.Sheet {
			return sheet(func(write func(T) error) error { return walk(ctx, write) })
		},
		lines: func(ctx context.Context, to io.Writer) error {
			return walk(ctx, func(row T) error {
				line, err := encode(shape(row))
				if err == nil {
					_, err = to.Write(line)
				}
				return err
			})
		},
	}
}

// exportList handles GET /api/…/export. read takes the parameters of the list.
func (s *Server) exportList(name string, read func(*http.Request, *query) (listFile, error)) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		q := readQuery(r)
		format := cmp.Or(q.oneOf("format", csvFormat, xlsxFormat, ndjsonFormat), csvFormat)
		list, err := read(r, q)
		if err != nil {
			return err
		}
		if err := q.err(); err != nil {
			return err
		}
		if name == "customers" || name == "orders" && canReadCustomers(r) {
			if err := s.logExport(r, name+"."+format); err != nil {
				return err
			}
		}
		if format != ndjsonFormat {
			return s.sendSheet(w, r, name, format, list.sheet)
		}
		file := s.newDownload(w, name, format)
		if r.Method == http.MethodHead {
			file.start()
			return nil
		}
		return file.stream(stateOf(r), func(to io.Writer) error { return list.lines(r.Context(), to) })
	}
}

// logExport records an export of data of customers by a key. The caller has refused unknown parameters.
func (s *Server) logExport(r *http.Request, file string) error {
	if r.Method == http.MethodHead {
		return nil
	}
	var filters []string
	for name, values := range r.URL.Query() {
		if name != "format" && values[0] != "" {
			filters = append(filters, name)
		}
	}
	return tenants.LogExport(r.Context(), stateOf(r).db, tenant(r), s.keyActor(r), file, filters...)
}

func (s *Server) newDownload(w http.ResponseWriter, name, format string) *download {
	return &download{w: w, timeout: s.limits.readerTimeout, contentType: contentTypes[format], name: name + "." + format}
}

// sendSheet sends a list as CSV or XLSX.
func (s *Server) sendSheet(
	w http.ResponseWriter, r *http.Request, name, format string, sheet func(context.Context) export.Sheet,
) error {
	file := s.newDownload(w, name, format)
	switch {
	case r.Method == http.MethodHead:
		file.start()
		return nil
	case format == xlsxFormat:
		return sendWorkbook(r, file, func(ctx context.Context) ([]export.Sheet, error) {
			return []export.Sheet{sheet(ctx)}, nil
		})
	}
	return file.stream(stateOf(r), func(to io.Writer) error { return export.CSV(to, sheet(r.Context())) })
}

// sendReportSheet sends a report as CSV or XLSX. It is read at once, not at the speed of the client.
func (s *Server) sendReportSheet(
	w http.ResponseWriter, r *http.Request, name, format string, sheet func(context.Context) export.Sheet,
) error {
	if format == xlsxFormat || r.Method == http.MethodHead {
		return s.sendSheet(w, r, name, format, sheet)
	}
	return s.newDownload(w, name, format).readAhead(r, func(ctx context.Context, to io.Writer) error {
		return export.CSV(to, sheet(ctx))
	})
}

func (s *Server) productsList(r *http.Request, q *query) (listFile, error) {
	f, err := q.filter(r)
	return newListFile(func(ctx context.Context, write func(catalog.Product) error) error {
		return s.catalog(r).Walk(ctx, tenant(r), f, write)
	}, export.ProductFile.List, s.productShape), err
}

// stockJSON is the stock of a product in a warehouse.
type stockJSON struct {
	ProductID int64  `json:"product_id"`
	SKU       string `json:"sku"`
	Warehouse named  `json:"warehouse"`
	Quantity  int32  `json:"quantity"`
}

func (s *Server) stockList(r *http.Request, q *query) (listFile, error) {
	f, err := q.filter(r)
	return newListFile(func(ctx context.Context, write func(catalog.ProductStock) error) error {
		return s.catalog(r).WalkStock(ctx, tenant(r), f, write)
	}, export.StockFile.List, func(p catalog.ProductStock) stockJSON {
		return stockJSON{p.ProductID, p.SKU, named{p.WarehouseID, p.WarehouseName}, p.Quantity}
	}), err
}

func (s *Server) ordersList(r *http.Request, q *query) (listFile, error) {
	f, err := q.orders(r)
	return newListFile(func(ctx context.Context, write func(sales.StoredOrder) error) error {
		return s.sales(r).Walk(ctx, tenant(r), f, write)
	}, func(rows export.Rows[sales.StoredOrder]) export.Sheet {
		return export.Orders(rows, canReadCustomers(r))
	}, listedOrderShape(r)), err
}

// orderItemJSON is an item outside its order.
type orderItemJSON struct {
	OrderNumber string `json:"order_number"`
	itemJSON
}

func (s *Server) orderItemsList(r *http.Request, q *query) (listFile, error) {
	f, err := q.orders(r)
	return newListFile(func(ctx context.Context, write func(sales.OrderLine) error) error {
		return s.sales(r).WalkLines(ctx, tenant(r), f, write)
	}, export.ItemFile.List, func(l sales.OrderLine) orderItemJSON {
		return orderItemJSON{l.OrderNumber, itemShape(l.Line)}
	}), err
}

// orderRefundJSON is a refund outside its order.
type orderRefundJSON struct {
	OrderNumber string `json:"order_number"`
	refundJSON
}

func (s *Server) refundsList(r *http.Request, q *query) (listFile, error) {
	f, err := q.orders(r)
	return newListFile(func(ctx context.Context, write func(sales.OrderRefund) error) error {
		return s.sales(r).WalkRefunds(ctx, tenant(r), f, write)
	}, export.RefundFile.List, func(g sales.OrderRefund) orderRefundJSON {
		return orderRefundJSON{g.OrderNumber, refundShape(g.StoredRefund)}
	}), err
}
