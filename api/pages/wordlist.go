package pages

import (
	"fmt"
	"strings"

	"github.com/storeroom/storeroom/api/pages/words"
	"github.com/storeroom/storeroom/tenancy/people"
)

// wordTexts are the words of the database as people read them.
var wordTexts = map[string]string{
	// Roles.
	"owner": mark("Owner"), "admin": mark("Admin"), "viewer": mark("Viewer"), "clerk": mark("Clerk"),
	"accountant": mark("Accountant"),
	// Statuses of products, orders and keys.
	"active": mark("Active"), "draft": mark("Draft"), "placed": mark("Placed"), "cancelled": mark("Cancelled"),
	"refunded": mark("Refunded"), "partly refunded": mark("Partly refunded"),
	"live": mark("Live"), "rolled": mark("Rolled"), "expired": mark("Expired"), "revoked": mark("Revoked"),
	// Kinds of rows and of changes.
	"product": mark("Product"), "stock": mark("Stock"), "order": mark("Order"), "refund": mark("Refund"),
	"cancellation": mark("Cancellation"), "customer": mark("Customer"), "category": mark("Category"),
	"seller": mark("Seller"), "warehouse": mark("Warehouse"), "channel": mark("Channel"),
	// What happens to rows.
	"created": mark("New"), "updated": mark("Changed"), "unchanged": mark("Unchanged"), "refused": mark("Refused"),
	"ignored": mark("Ignored"),
	// Changes of stock, and why an order made them.
	"add": mark("Added"), "remove": mark("Removed"), "set": mark("Counted"), "sale": mark("Sale"),
	// Plans of tenants.
	"standard": mark("Standard"), "professional": mark("Professional"), "enterprise": mark("Enterprise"),
	// Presets of periods.
	"today": mark("Today"), "yesterday": mark("Yesterday"), "last_7_days": mark("Last 7 days"),
	"last_30_days": mark("Last 30 days"), "last_90_days": mark("Last 90 days"), "this_month": mark("This month"),
	"last_month": mark("Last month"), "this_quarter": mark("This quarter"), "last_quarter": mark("Last quarter"),
	"this_week": mark("This week"), "last_week": mark("Last week"), "this_year": mark("This year"),
	"last_year": mark("Last year"),
	// Units of charts.
	"day": mark("Day"), "week": mark("Week"), "month": mark("Month"),
	// Values of a plan.
	"yes": mark("yes"), "no": mark("no"), "none": mark("none"),
	// Makers of keys.
	"operator": mark("operator"), "former member": mark("former member"),
}

// Word returns a word of the database as people read it. A word that has no text becomes its own, with a capital letter.
func (f formatter) Word(word any) string {
	switch w := word.(type) {
	case *people.Role:
		if w != nil {
			word = *w
		}
	case *string:
		word = *w
	}
	name := fmt.Sprint(word)
	if text, known := wordTexts[strings.ToLower(name)]; known {
		return f.T(text)
	}
	return title(strings.ReplaceAll(name, "_", " "))
}

// Column returns the name of a column or of a figure of a file in words.
func (f formatter) Column(name string) string {
	if text, known := words.Column(name); known {
		return f.T(text)
	}
	if of, found := strings.CutSuffix(name, "_change_percent"); found {
		return f.T("%s, change in %%", f.Column(of))
	}
	if of, found := strings.CutPrefix(name, "compared_"); found {
		return f.T("%s, compared", f.Column(of))
	}
	return name
}

// foreign are texts of other packages that pages show with Sentence. Numbers and quoted values are %s.
var foreign = []string{
	"The name must not be empty.",
	"The name must have at most %s characters.",
	"The name must not contain control characters.",
	"The name is already taken.",
	"The e-mail address must be an e-mail address.",
	"The role must be owner, admin, viewer, accountant or clerk.",
	"The password must have %s to %s characters.",
	"The password must not be one of the most common passwords.",
	"The new password must have %s to %s characters.",
	"The new password must not be one of the most common passwords.",
	"The URL is required.",
	"The URL must be a URL such as https://shop.example.com/webhook.",
	"The URL must begin with https://.",
	"The URL must not have a user name or a password.",
	"The URL must not have a fragment.",
	"The URL must have a port between %s and %s.",
	"The URL must have a public address.",
	"The number must be between %s and %s.",
	"The channel must be %s to %s lower-case letters, digits, dashes and underscores.",
	"The host was not found or has no public address.",
	"The certificate of the host is not valid.",
	"The request was interrupted.",
	"The receiver did not answer within %s seconds.",
	"The connection was refused.",
	"The connection failed.",
	"is required",
	"must not be null",
	"must not be empty",
	"must be at least %s",
	"must be between %s and %s",
	"must have at most %s characters",
	"%s must be a whole number",
	"is not the SKU of a product",
	"Rows that have changed since the plan: %s.",
	"Computing the plan takes longer than %s minutes. Divide it into several.",
	"The changes take more than %s GiB. Divide them into several plans.",
	"%s imports and plans are stored. Wait until some expire.",
	"a line with quantity %s was left out",
	"the tip is not part of the sale",
	"the date of the refund is the date of the order",
	"the date of the refund is the last known date of the order",
	"leading zeros of the barcode were restored",
	"a spreadsheet seems to have removed leading zeros of the barcode",
	"replaces the values of an earlier row with the same SKU",
	"the quantity in stock is negative and was not imported",
	"an image has no valid URL and was not imported",
	"the total of a row is not quantity times price less the discount",
	"must be a decimal number",
	"must not have more than two fraction digits",
	"has lost digits in a spreadsheet: format the column as text before the export",
	"must be a date such as %s-%s-%s or %s-%s-%s %s:%s",
	"is a date whose order of day and month is not known",
	"is a number whose decimal separator is not known",
	"is that of several rows that differ",
	"is that of several rows that differ, and this one has no name",
	"is that of an earlier row, which differs",
	"is not known: no earlier order has this item",
	"%s is not a known status of an order",
	"are missing",
	"must contain %s to %s items",
	"is more than the items are worth",
	"is a duplicate",
	"%s is a duplicate",
	"is not the number of a stored order",
	"a fraction of a unit was sold: its price is that of the line",
	"units that were returned are not in the lines of the order",
	"differs in line %s",
	"is on another day in line %s",
	"differs from the order in line %s",
	"would take the stock of the product's own warehouse below zero",
	"is required, because there is no id",
	"is that of several variants, of which the file has no rows",
	"%s must be a time such as %s:%s",
	"is left out",
	"The file has no column %s.",
	"has changed since",
	"has changed since the plan",
	"is erased",
	"has orders",
	"has a refund or a cancellation that is not of this import",
	"%s of %s bytes are used",
	"%s of %s records are used",
	"The imports and plans that can be undone take %s GiB. Cancel those that are not applied, or wait until others expire.",
}
