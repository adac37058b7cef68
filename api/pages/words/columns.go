package words

import (
	"slices"
	"sync"

	"golang.org/x/text/message"
)

// columns are the names of columns and figures of files, and their English texts. The API keeps the names; workbooks that
// a person downloads have the texts. A figure with several names has one text.
var columns = map[string]string{
	// Our own files, which an import reads. Each text belongs to one of these names.
	"id": "Id", "sku": "SKU", "name": "Name", "description": "Description", "price": "Price", "msrp": "List price",
	"cost": "Cost per unit", "status": "Status", "condition": "Condition", "quantity": "Quantity",
	"reorder_point": "Reorder point", "category_name": "Category", "seller_name": "Seller", "warehouse_name": "Warehouse",
	"bin_location": "Bin location", "upc": "Barcode", "tags": "Tags", "images": "Image URLs", "email": "E-mail",
	"number": "Order number", "placed_at": "Date of the order", "channel": "Shop", "customer": "Customer id",
	"discount_total": "Discount of the order", "tax_total": "Tax of the order", "shipping_total": "Shipping of the order",
	"cancelled_at": "Date of the cancellation", "customer_name": "Customer name", "customer_email": "Customer e-mail",
	"units": "Units", "revenue": "Revenue", "cost_total": "Cost", "refunded_total": "Refunded",
	// Figures of reports.
	"total_revenue": "Revenue", "orders": "Orders", "total_orders": "Orders", "average_order_value": "Average order",
	"avg_order_value": "Average order", "total_items_sold": "Units", "items_sold": "Units", "units_sold": "Units",
	"items": "Items", "total_discounts": "Discounts", "discounts": "Discounts", "total_tax": "Tax", "tax": "Tax",
	"shipping": "Shipping", "total": "Total", "gross_sales": "Gross sales", "refunds": "Refunds",
	"net_revenue": "Net revenue", "gross_profit": "Gross profit", "gross_margin_percent": "Margin",
	"margin_percent": "Margin", "units_without_cost": "Units without a known cost",
	"revenue_without_cost": "Revenue without a known cost", "costed_percent": "Share with a known cost",
	"refund_count": "Number of refunds", "refunded_revenue": "Refunded revenue",
	"refunded_revenue_without_cost": "Refunded revenue without a known cost", "units_returned": "Returned",
	"returned_cost": "Cost of returned units", "net_gross_profit": "Gross profit after refunds",
	"net_margin_percent": "Margin after refunds",
	"percent_of_total":   "Share", "product_id": "Product number", "label": "Name",
	"group": "Group", "customer_id": "Customer id", "first_order_at": "First order", "last_order_at": "Last order",
	// Days and the rows of a summary.
	"day": "Day", "week": "Week", "month": "Month",
	"date": "Day", "compared_date": "Compared day", "from": "From", "to": "To", "currency": "Currency",
	"timezone": "Time zone", "figure": "Figure", "value": "Value", "data_from": "First sale",
	"comparable": "Comparable", "until": "Until",
	// Sheets.
	"Summary": "Summary", "Daily": "Days", "Channels": "Shops", "Comparison": "Comparison", "Products": "Products",
	"Orders": "Orders", "Customers": "Customers",
}

// own are the names of columns of our own files that pages export.
var own = []string{
	"id", "sku", "name", "description", "price", "msrp", "cost", "status", "condition", "quantity", "reorder_point",
	"category_name", "seller_name", "warehouse_name", "bin_location", "upc", "tags", "images", "email", "number",
	"placed_at", "channel", "customer", "discount_total", "tax_total", "shipping_total", "cancelled_at", "customer_name",
	"customer_email", "units", "revenue", "cost_total", "refunded_total",
}

// Column returns the English text of a column or a figure.
func Column(name string) (text string, known bool) {
	text, known = columns[name]
	return text, known
}

// ColumnTexts returns all English texts of columns and figures.
func ColumnTexts() (texts []string) {
	for _, text := range columns {
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// ownByText has the names of columns of our own files by language and text.
var ownByText = sync.OnceValue(func() map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, l := range Languages {
		printer, names := message.NewPrinter(l.Tag, message.Catalog(Catalog())), map[string]string{}
		for _, name := range own {
			names[printer.Sprintf(columns[name])] = name
		}
		all[l.Code] = names
	}
	return all
})

// ownSheets are the sheets of our own files that pages export.
var ownSheets = []string{"Products", "Orders", "Customers"}

// OwnSheet returns the English name of the sheet of one of our own files. It returns other names as they are.
func OwnSheet(text string) string {
	for _, l := range Languages {
		printer := message.NewPrinter(l.Tag, message.Catalog(Catalog()))
		for _, name := range ownSheets {
			if printer.Sprintf(name) == text {
				return name
			}
		}
	}
	return text
}

// OwnHeader returns the header of one of our own files with the names of the API. It returns the same header if its
// columns are not all texts of one language.
func OwnHeader(header []string) []string {
	for _, l := range Languages {
		names := make([]string, len(header))
		for i, text := range header {
			names[i] = ownByText()[l.Code][text]
		}
		if len(names) > 1 && !slices.Contains(names, "") {
			return names
		}
	}
	return header
}
