package imports

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/storeroom/storeroom/api/imports/table"
	"github.com/storeroom/storeroom/api/pages/words"
	"github.com/storeroom/storeroom/reports/export"
)

// maxReferences limits the ids that are kept in memory.
const maxReferences = 100_000

// ownFiles are our own files in the order in which they are read. Their columns may be in any sequence. Numbers have a
// decimal point unless the column has decimal commas only, and times are RFC 3339.
var ownFiles = []*format{
	own(export.CategoryFile, false, format{kind: Category, read: ownReference, byName: true}),
	own(export.SellerFile, false, format{kind: Seller, read: ownReference, byName: true}),
	own(export.WarehouseFile, false, format{kind: Warehouse, read: ownReference, byName: true}),
	own(export.ProductFile, false, format{kind: Product, read: ownProduct}),
	own(export.StockFile, false, format{kind: Stock, read: ownStock}),
	own(export.ChannelFile, false, format{kind: Channel, read: ownChannel, byName: true}),
	own(export.CustomerFile, false, format{kind: Customer, read: ownCustomer, byName: true}),
	own(export.OrderFile, false, format{
		kind: Order, read: ownOrder, order: "number", family: "own", observe: observeOwnOrder,
	}),
	own(export.ItemFile, false, format{kind: Order, read: ownOrder, order: "order_number", family: "own", items: true}),
	own(export.RefundFile, false, format{kind: Refund, read: ownRefunds, order: "order_number"}),
}

// archiveFiles are the files of an archive that are read. The rows of an order are in the same sequence in all of them.
var archiveFiles = []*format{
	own(export.CategoryFile, true, format{kind: Category}), own(export.SellerFile, true, format{kind: Seller}),
	own(export.WarehouseFile, true, format{kind: Warehouse}), own(export.ProductFile, true, format{kind: Product}),
	own(export.StockFile, true, format{kind: Stock}), own(export.ImageFile, true, format{kind: Product}),
	own(export.ChannelFile, true, format{kind: Channel}), own(export.CustomerFile, true, format{kind: Customer}),
	own(export.SoldFile, true, format{kind: Order}), own(export.OrderFile, true, format{kind: Order}),
	own(export.ItemFile, true, format{kind: Order}), own(export.RefundFile, true, format{kind: Refund}),
}

// own returns the format with the columns of a file, by itself or in an archive.
func own[L, A, R any](file *export.OwnFile[L, A, R], inArchive bool, f format) *format {
	f.name, f.isExact, f.columns = file.Name, true, map[string]columnType{}
	for _, c := range file.Columns(inArchive) {
		f.names = append(f.names, c.Name)
		switch c.Kind {
		case export.Text:
			f.columns[c.Name] = textColumn
		case export.Amount:
			f.columns[c.Name] = amountColumn
		case export.Time:
			f.columns[c.Name] = timeColumn
		}
		if c.Required {
			f.required = append(f.required, c.Name)
		}
	}
	return &f
}

// formatOf returns the format with a name, or nil.
func formatOf(all []*format, name string) *format {
	if i := slices.IndexFunc(all, func(f *format) bool { return f.name == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// exported is a column that order_items only have in an export: their discounts, costs and names are then those of the
// stored items, so that an empty cost is not known.
const exported = "revenue"

func (s *source) isExport() bool { return s.isOwn() && s.items && slices.Contains(s.Header, exported) }

func (s *source) isOwn() bool { return s.format != nil && s.isExact }

// recogniseOwn recognises our files by their name if any column is ours, and by their header otherwise. An unknown
// column is an error, because its name may be misspelt.
func (s *source) recogniseOwn(first table.Row) (bool, error) {
	f := formatOf(ownFiles, base(s.Name))
	switch {
	case f == nil:
		if f = s.ownByHeader(); f == nil {
			return false, nil
		}
	case first.Problem != "":
		return false, fmt.Errorf("%s line %d: %s", s.Name, first.Line, first.Problem)
	case !slices.ContainsFunc(s.Header, f.hasColumn):
		return false, nil
	}
	for i, column := range s.Header {
		switch {
		case column == ReasonColumn && i == len(s.Header)-1: // of a file of refused rows
		case !f.hasColumn(column):
			return false, fmt.Errorf("%s line %d: unknown column %q: expected one of %s",
				s.Name, first.Line, column, strings.Join(f.names, ", "))
		case slices.Contains(s.Header[:i], column):
			return false, fmt.Errorf("%s line %d: duplicate column %s", s.Name, first.Line, column)
		}
	}
	return true, s.useOwn(f, first.Line)
}

// useOwn sets the format, unless the header lacks a required column.
func (s *source) useOwn(f *format, line int) error {
	if column := f.missing(s.Header); column != "" {
		return fmt.Errorf("%s line %d: column %s is missing", s.Name, line, column)
	}
	s.use(f, func(column string) (target, string) { return target{}, "" })
	return nil
}

func (f *format) hasColumn(column string) bool { return slices.Contains(f.names, column) }

// missing returns the first required column that a header lacks, or "".
func (f *format) missing(header []string) string {
	for _, column := range f.required {
		if !slices.Contains(header, column) {
			return column
		}
	}
	return ""
}

// ownByHeader returns our file with these columns, or nil. Files of others may have the same columns as some of ours.
func (s *source) ownByHeader() *format {
	if slices.Equal(s.Header, []string{"id", "name", "email"}) {
		return formatOf(ownFiles, export.CustomerFile.Name)
	}
	for _, f := range ownFiles {
		isUnknown := func(column string) bool { return !f.hasColumn(column) && column != ReasonColumn }
		isOther := f.byName || len(s.Header) < 2 || f.kind == Product && len(s.Header) < 3
		if !isOther && f.missing(s.Header) == "" && !slices.ContainsFunc(s.Header, isUnknown) {
			return f
		}
	}
	return nil
}

// useOwnTexts gives the columns of a workbook of ours that has them in words the names of the API. A file of others may
// have such words too, but exported products have a status and a condition.
func (s *source) useOwnTexts() {
	if s.table.Sheets() == nil {
		return
	}
	header := s.Header
	s.Header = words.OwnHeader(header)
	f := s.ownByHeader()
	if f == nil || f.kind == Product && !(slices.Contains(s.Header, "status") && slices.Contains(s.Header, "condition")) {
		s.Header = header
	}
}

// checkOwn returns an error if our files do not fit together.
func (r *reading) checkOwn() error {
	byName := map[string]string{}
	for _, s := range r.sources {
		if !s.isOwn() {
			continue
		}
		if other := byName[s.name]; other != "" && base(s.Name) == s.name && base(other) == s.name {
			return fmt.Errorf("both %s and %s exist: remove one of them", other, s.Name)
		}
		byName[s.name] = s.Name
	}
	switch orders, items := byName["orders"], byName["order_items"]; {
	case orders == "" && items != "":
		return fmt.Errorf("%s requires orders.csv", items)
	case items == "" && orders != "":
		return fmt.Errorf("%s requires order_items.csv", orders)
	}
	return nil
}

// unguard returns a cell of one of our files as it was exported. Only CSV files have apostrophes before formulas. The
// file of refused rows is one, even if it was saved as a workbook.
func (s *source) unguard(cell string) string {
	if s.table.Sheets() != nil && !hasReasons(s.Header) {
		return cell
	}
	return export.Unguard(cell)
}

// Cell returns a text as it was exported, or an amount in cents, or false if the file does not have the column.
func (c cells) Cell(column string) (text string, exists bool) {
	i, exists := c.own[column]
	if !exists || c.types[i] != amountColumn {
		return c.plain(column), exists
	}
	amount := c.moneyAt(i, column)
	if amount == nil {
		return "", true
	}
	return strconv.FormatInt(int64(*amount), 10), true
}

// Refuse adds a validation error.
func (c cells) Refuse(column, problem string, args ...any) { c.refuse(column, problem, args...) }

// plain returns a text as it was exported.
func (c cells) plain(column string) string { return c.unguard(c.ownCell(column)) }

// ownCell returns a cell of one of our files as it is in the file, or "" if the file does not have the column.
func (c cells) ownCell(column string) string {
	if i, exists := c.own[column]; exists {
		return c.cells[i]
	}
	return ""
}

// record returns the record of a row, with the key in a column.
func (c cells) record(column string) Record {
	return c.newRecord(c.kind, strings.ToValidUTF8(c.plain(column), "\uFFFD"))
}
