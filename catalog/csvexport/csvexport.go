// Package csvexport writes products as CSV. The import command reads the same products
// from the file.
//
// The file follows RFC 4180: UTF-8, a header row, CRLF between rows. Field contents are
// written byte for byte, line breaks included, except that package csvcell adds apostrophes
// where a spreadsheet would read a formula; the import removes them. The columns for
// category, seller and warehouse have names. An empty text and a missing text are both an
// empty cell, which the import reads as missing.
package csvexport

import (
	"io"
	"strconv"
	"strings"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy/csvcell"
	"github.com/storeroom/storeroom/tenancy/money"
)

const header = "sku,name,description,price,msrp,cost,status,condition,quantity,reorder_point," +
	"category_name,seller_name,warehouse_name,bin_location,upc,tags\r\n"

// Writer writes products to a file.
type Writer struct {
	to    io.Writer
	row   []byte
	begun bool
}

// New returns a Writer. It writes the header before the first row.
func New(to io.Writer) *Writer { return &Writer{to: to} }

// Write writes a product.
func (w *Writer) Write(p catalog.Product) error {
	if err := w.Begin(); err != nil {
		return err
	}
	w.row = w.row[:0]
	for i, cell := range []string{
		csvcell.Guard(p.SKU), csvcell.Guard(p.Name), orEmpty(p.Description, csvcell.Guard),
		p.Price.String(), orEmpty(p.MSRP, money.Cents.String), orEmpty(p.Cost, money.Cents.String),
		p.Status, p.Condition, quantity(p.Quantity), orEmpty(p.ReorderPoint, quantity),
		orEmpty(p.CategoryName, csvcell.Guard), orEmpty(p.SellerName, csvcell.Guard), csvcell.Guard(p.WarehouseName),
		orEmpty(p.BinLocation, csvcell.Guard), orEmpty(p.UPC, csvcell.Guard), csvcell.Guard(joinTags(p.Tags)),
	} {
		if i > 0 {
			w.row = append(w.row, ',')
		}
		w.row = csvcell.Append(w.row, cell)
	}
	_, err := w.to.Write(append(w.row, "\r\n"...))
	return err
}

// Begin writes the header if it is not written yet.
func (w *Writer) Begin() error {
	if w.begun {
		return nil
	}
	w.begun = true
	_, err := io.WriteString(w.to, header)
	return err
}

// joinTags joins tags with ";". It escapes the character in a tag.
func joinTags(tags []string) string {
	escaped := make([]string, len(tags))
	for i, tag := range tags {
		escaped[i] = strings.NewReplacer(`\`, `\\`, `;`, `\;`).Replace(tag)
	}
	return strings.Join(escaped, ";")
}

func quantity(n int32) string { return strconv.Itoa(int(n)) }

// orEmpty returns the text of a value, or an empty text if the value is missing.
func orEmpty[T any](value *T, text func(T) string) string {
	if value == nil {
		return ""
	}
	return text(*value)
}
