package export

import (
	"strconv"
	"strings"
	"time"

	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/tenancy/money"
)

// ReferenceRow is a row of categories, sellers or warehouses. The ID can be any text, except in archives.
type ReferenceRow struct {
	ID, Name  string
	IsDefault bool
}

type referenceFile = OwnFile[catalog.Reference, catalog.Reference, ReferenceRow]

// The files of references are in archives, or written by users.
var (
	CategoryFile  = &referenceFile{"categories", referenceColumns[:2], nil, referenceRow}
	SellerFile    = &referenceFile{"sellers", referenceColumns[:2], nil, referenceRow}
	WarehouseFile = &referenceFile{"warehouses", referenceColumns, nil, referenceRow}
)

var referenceColumns = []ownColumn[ReferenceRow]{
	{"id", 0, named, value(identifiers, func(r *ReferenceRow) *string { return &r.ID })},
	{"name", 0, named, value(texts, func(r *ReferenceRow) *string { return &r.Name })},
	{"is_default", 0, archived, value(flags, func(r *ReferenceRow) *bool { return &r.IsDefault })},
}

func referenceRow(r *catalog.Reference) ReferenceRow {
	return ReferenceRow{strconv.FormatInt(r.ID, 10), r.Name, r.IsDefault}
}

// ProductRow is a row of products. Category, Seller and Warehouse are ids in the files of references. Images are the
// URLs of images without a file, separated by blanks.
type ProductRow struct {
	catalog.PlanRow
	OldID                               int64
	Category, Seller, Warehouse, Images string
	CreatedAt                           time.Time
}

// ProductFile has the products. An import of an archive does not read their quantity, which is the sum of their stock.
var ProductFile = &OwnFile[catalog.Product, catalog.Product, ProductRow]{"products", []ownColumn[ProductRow]{
	{"id", 0, archived, value(ids, func(p *ProductRow) *int64 { return &p.OldID })},
	{"sku", 20, named, change(texts, func(p *ProductRow) *catalog.Field[string] { return &p.SKU })},
	{"name", 40, 0, change(texts, func(p *ProductRow) *catalog.Field[string] { return &p.Name })},
	{"description", 40, 0, change(texts, func(p *ProductRow) *catalog.Field[string] { return &p.Description })},
	{"price", 12, 0, change(amounts, func(p *ProductRow) *catalog.Field[money.Cents] { return &p.Price })},
	{"msrp", 12, 0, change(amounts, func(p *ProductRow) *catalog.Field[money.Cents] { return &p.MSRP })},
	{"cost", 12, 0, change(amounts, func(p *ProductRow) *catalog.Field[money.Cents] { return &p.Cost })},
	{"status", 10, 0, change(texts, func(p *ProductRow) *catalog.Field[string] { return &p.Status })},
	{"condition", 12, 0, change(texts, func(p *ProductRow) *catalog.Field[string] { return &p.Condition })},
	{"quantity", 10, listed, change(counts, func(p *ProductRow) *catalog.Field[int64] { return &p.Quantity })},
	{"quantity", 0, archived | unread,
		change(counts, func(p *ProductRow) *catalog.Field[int64] { return &p.Quantity })},
	{"reorder_point", 15, 0, change(counts, func(p *ProductRow) *catalog.Field[int64] { return &p.ReorderPoint })},
	{"category", 0, listed | given, value(texts, func(p *ProductRow) *string { return &p.Category })},
	{"seller", 0, listed | given, value(texts, func(p *ProductRow) *string { return &p.Seller })},
	{"warehouse", 0, listed | given, value(texts, func(p *ProductRow) *string { return &p.Warehouse })},
	{"category_name", 24, 0, change(labels, func(p *ProductRow) *catalog.Field[string] { return &p.CategoryName })},
	{"seller_name", 24, 0, change(labels, func(p *ProductRow) *catalog.Field[string] { return &p.SellerName })},
	{"warehouse_name", 24, 0, change(labels, func(p *ProductRow) *catalog.Field[string] { return &p.WarehouseName })},
	{"bin_location", 14, 0, change(texts, func(p *ProductRow) *catalog.Field[string] { return &p.BinLocation })},
	{"upc", 16, 0, change(texts, func(p *ProductRow) *catalog.Field[string] { return &p.UPC })},
	{"tags", 24, 0, change(tags, func(p *ProductRow) *catalog.Field[[]string] { return &p.Tags })},
	{"images", 40, listed, value(texts, func(p *ProductRow) *string { return &p.Images })},
	{"created_at", 0, archived | required, value(pastTimes, func(p *ProductRow) *time.Time { return &p.CreatedAt })},
}, productRow, productRow}

func productRow(p *catalog.Product) ProductRow {
	row := ProductRow{OldID: p.ID, Images: strings.Join(catalog.URLs(p.Images), " "), CreatedAt: p.CreatedAt}
	row.Changes = catalog.Changes{
		SKU: catalog.Value(p.SKU), Name: catalog.Value(p.Name), Description: changeOf(p.Description),
		Price: catalog.Value(p.Price), MSRP: changeOf(p.MSRP), Cost: changeOf(p.Cost), Status: catalog.Value(p.Status),
		Condition: catalog.Value(p.Condition), Quantity: catalog.Value(int64(p.Quantity)),
		BinLocation: changeOf(p.BinLocation), UPC: changeOf(p.UPC), Tags: catalog.Value(p.Tags),
	}
	if p.ReorderPoint != nil {
		row.ReorderPoint = catalog.Value(int64(*p.ReorderPoint))
	}
	row.CategoryName, row.SellerName = changeOf(p.CategoryName), changeOf(p.SellerName)
	row.WarehouseName = catalog.Value(p.WarehouseName)
	return row
}

// StockRow is the quantity of a product in a warehouse.
type StockRow struct {
	SKU string
	catalog.StockOf
}

// StockFile has the stock of products.
var StockFile = &OwnFile[catalog.ProductStock, catalog.ProductStock, StockRow]{"stock", []ownColumn[StockRow]{
	{"sku", 20, required, value(texts, func(s *StockRow) *string { return &s.SKU })},
	{"warehouse_name", 24, required, value(identifiers, func(s *StockRow) *string { return &s.Warehouse })},
	{"quantity", 10, required, value(counts, func(s *StockRow) *int64 { return &s.Quantity })},
}, stockRow, stockRow}

func stockRow(s *catalog.ProductStock) StockRow {
	return StockRow{s.SKU, catalog.StockOf{Warehouse: s.WarehouseName, Quantity: int64(s.Quantity)}}
}

// ImageRow is an image of the product with the SKU. It has either a URL or the name of a file in the archive.
type ImageRow struct {
	SKU string
	catalog.Image
}

// ImageFile has the images of an archive.
var ImageFile = &OwnFile[ImageRow, ImageRow, ImageRow]{"images", []ownColumn[ImageRow]{
	{"sku", 0, 0, value(texts, func(i *ImageRow) *string { return &i.SKU })},
	{"position", 0, 0, value(numbers, func(i *ImageRow) *int32 { return &i.Position })},
	{"url", 0, 0, value(texts, func(i *ImageRow) *string { return &i.URL })},
	{"file", 0, 0, value(texts, func(i *ImageRow) *string { return &i.File })},
}, nil, same[ImageRow]}

// LedgerFile has the ledger of an archive, which an import does not read.
var LedgerFile = &OwnFile[catalog.LedgerRow, catalog.LedgerRow, catalog.LedgerRow]{
	"inventory_adjustments", []ownColumn[catalog.LedgerRow]{
		{"id", 0, 0, value(ids, func(a *catalog.LedgerRow) *int64 { return &a.ID })},
		{"product", 0, 0, value(ids, func(a *catalog.LedgerRow) *int64 { return &a.ProductID })},
		{"sku", 0, 0, pointer(texts, func(a *catalog.LedgerRow) **string { return &a.SKU })},
		{"type", 0, 0, value(texts, func(a *catalog.LedgerRow) *string { return &a.Type })},
		{"quantity", 0, 0, value(numbers, func(a *catalog.LedgerRow) *int32 { return &a.Quantity })},
		{"warehouse", 0, 0, value(ids, func(a *catalog.LedgerRow) *int64 { return &a.WarehouseID })},
		{"warehouse_name", 0, 0, pointer(texts, func(a *catalog.LedgerRow) **string { return &a.WarehouseName })},
		{"quantity_before", 0, 0, value(numbers, func(a *catalog.LedgerRow) *int32 { return &a.QuantityBefore })},
		{"quantity_after", 0, 0, value(numbers, func(a *catalog.LedgerRow) *int32 { return &a.QuantityAfter })},
		{"notes", 0, 0, pointer(texts, func(a *catalog.LedgerRow) **string { return &a.Notes })},
		{"api_key_name", 0, 0, pointer(texts, func(a *catalog.LedgerRow) **string { return &a.APIKeyName })},
		{"created_at", 0, 0, value(times, func(a *catalog.LedgerRow) *time.Time { return &a.CreatedAt })},
		{"order_number", 0, 0, pointer(texts, func(a *catalog.LedgerRow) **string { return &a.OrderNumber })},
		{"reason", 0, 0, pointer(texts, func(a *catalog.LedgerRow) **string { return &a.Reason })},
		{"member", 0, 0, pointer(texts, func(a *catalog.LedgerRow) **string { return &a.Member })},
	}, nil, same[catalog.LedgerRow],
}

func same[R any](row *R) R { return *row }
