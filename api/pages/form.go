package pages

import (
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/tenancy/people"
)

// form is a form as the user filled it in, with its validation errors. The field request contains random text, so that
// a form that is sent twice creates only one key or link.
type form struct {
	url.Values
	Errors fieldErrors
}

// submitted returns the form of a POST request.
func submitted(r *http.Request) form { return form{r.PostForm, fieldErrors{}} }

// requestPattern matches what rand.Text returns.
var requestPattern = regexp.MustCompile(`^[A-Z2-7]{26}$`)

func (f form) hasRequest() bool { return requestPattern.MatchString(f.Get("request")) }

// duration returns the number that was selected in a field, in a unit. It returns -1,
// which is not an option, for other text.
func (f form) duration(field string, unit time.Duration) time.Duration {
	n, err := strconv.ParseInt(f.Get(field), 10, 16)
	if err != nil {
		return -1
	}
	return time.Duration(n) * unit
}

// agoField is the prefix of the field with the seconds since a quantity was typed, which the script of the page sets.
const agoField = "ago-"

// age returns how long ago the quantity of a field was counted: when it was typed, and the time of the field before
// earlier. It returns false if that is not known or above maxTyped.
func (f form) age(field string) (age time.Duration, isKnown bool) {
	for _, name := range []string{agoField + field, "before"} {
		if !f.Has(name) {
			continue
		}
		seconds, err := strconv.ParseInt(f.Get(name), 10, 64)
		if err != nil || seconds < 0 || seconds > int64(maxTyped/time.Second) {
			return 0, false
		}
		age += time.Duration(seconds) * time.Second
	}
	return age, age <= maxTyped
}

// isCounted reports whether the quantity of a field was counted since the page was shown. seen is of the last count.
func (f form) isCounted(field, seen string) bool {
	return seen == "" || f.Get(field) != f.Get("was-"+field) || f.Has(agoField+field)
}

// pathID returns the id in the URL, or a number that is not an id.
func pathID(r *http.Request) int64 {
	id, err := strconv.ParseInt(chi.URLParam(r, "id"), 10, 64)
	if err != nil {
		return 0
	}
	return id
}

var invalidOption = mark("Select one of the options.")

// option is one value of a field, with a label and a sentence about it.
type option struct{ Value, Label, Description string }

// options are the values of the fields. Their labels and descriptions are translated where they are used.
var options = map[string][]option{
	"preset": {
		{"read-only", "Read only", "Read products, reports, orders, customers, imports, webhooks and the usage of keys."},
		{"reporting", "Reporting", "Read reports and orders, for example for a dashboard or an accountant."},
		{"catalog", "Catalog", "Read and change products and stock."},
		{"full", "Full access", "Everything an API key can do."},
		{"", "Custom", "Only the permissions that you select below."},
	},
	"permission": {
		{"products:read", "products:read", "Read products, categories, sellers, warehouses and stock adjustments."},
		{"products:write", "products:write", "Create, change and delete products, categories, sellers and warehouses."},
		{"inventory:write", "inventory:write", "Adjust stock."},
		{"orders:read", "orders:read", "Read orders and channels."},
		{"orders:write", "orders:write", "Create, cancel and refund orders, and manage channels."},
		{"reports:read", "reports:read", "Read and export all reports."},
		{"customers:read", "customers:read",
			"Read customers and what they bought, and their names and e-mail addresses everywhere."},
		{"customers:write", "customers:write", "Erase customers."},
		{"usage:read", "usage:read", "Read the usage of all API keys."},
		{"imports:read", "imports:read", "Read imports and their rows."},
		{"imports:write", "imports:write", "Import files, and apply, cancel and undo imports."},
		{"webhooks:read", "webhooks:read", "Read webhooks and their deliveries."},
		{"webhooks:write", "webhooks:write", "Create, change, test and delete webhooks."},
	},
	"lifetime": {{"30", "30 days", ""}, {"90", "90 days", ""}, {"365", "1 year", ""}, {"0", "Never", ""}},
	"overlap": {
		{"0", "0 hours (revoke immediately)", ""}, {"1", "1 hour", ""}, {"24", "1 day", ""}, {"168", "1 week", ""},
	},
	"role": {
		{"clerk", "Clerk",
			"See and change products and stock, and see orders. No costs, margins, reports or e-mail addresses."},
		{"accountant", "Accountant",
			"See and download reports, orders with names of customers, and products with their costs. Change nothing."},
		{"viewer", "Viewer",
			"View sales, products, orders with their customers, price changes, API keys, usage and members."},
		{"admin", "Admin", "Also change products and stock, erase customers, run imports and price changes, download " +
			"everything, manage API keys and webhooks, invite clerks and accountants, and read the audit log."},
		{"owner", "Owner", "Full access, including managing members."},
	},
	// The fields of a change of several products.
	"price_how": {
		{"", "No change", ""}, {"more_percent", "Raise by percent", ""}, {"less_percent", "Lower by percent", ""},
		{"more", "Raise by an amount", ""}, {"less", "Lower by an amount", ""}, {"set", "Set to", ""},
		{"round", "Only round", ""},
	},
	"rounding": {
		{"", "To the cent", ""}, {"0.05", "To 0.05", ""}, {"0.10", "To 0.10", ""}, {"0.50", "To 0.50", ""},
		{"1.00", "To 1.00", ""}, {".99", "End in .99", ""}, {".95", "End in .95", ""}, {".90", "End in .90", ""},
	},
	"new_status":   {{"", "No change", ""}, {"active", "Active", ""}, {"draft", "Draft", ""}},
	"reorder_how":  {{"", "No change", ""}, {"set", "Set to", ""}, {"none", "Remove", ""}},
	"category_how": {{"", "No change", ""}, {"set", "Set to", ""}, {"none", "Remove", ""}},
	// The orders of the list of products.
	"product-sort": {
		{"", "Newest", ""}, {"name", "Name", ""}, {"-name", "Name, from Z", ""}, {"sku", "SKU", ""},
		{"-sku", "SKU, from Z", ""}, {"price", "Lowest price", ""}, {"-price", "Highest price", ""},
		{"stock", "Smallest stock", ""}, {"-stock", "Largest stock", ""},
	},
	// How many seconds before they were typed quantities were counted.
	"before": {
		{"0", "as I type them", ""}, {"900", "15 minutes before", ""}, {"1800", "30 minutes before", ""},
		{"3600", "1 hour before", ""}, {"7200", "2 hours before", ""}, {"14400", "4 hours before", ""},
	},
	// The days that the page about usage shows.
	"usage": {{"7", "Last 7 days", ""}, {"30", "Last 30 days", ""}, {"90", "Last 90 days", ""}},
	// The prefixes of actions by which the audit log can be filtered.
	"act": {
		{"", "All actions", ""},
		{"archive.", "Archives", ""},
		{"products.", "Price changes", ""},
		{"product.", "Products", ""},
		{"stock.", "Stock counts and moves", ""},
		{"channel.", "Shops", ""},
		{"warehouse.", "Warehouses", ""},
		{"customer.", "Customers", ""},
		{"import.", "Imports", ""},
		{"key.", "API keys", ""},
		{"member.", "Members", ""},
		{"password.", "Passwords", ""},
		{"sign_in", "Sign-ins", ""},
		{"tenant.", "Plan and settings", ""},
		{"webhook.", "Webhooks", ""},
	},
}

// roleOptions returns the options of roles that a person may give.
func roleOptions(roles []people.Role) (given []option) {
	for _, o := range options["role"] {
		if slices.Contains(roles, people.Role(o.Value)) {
			given = append(given, o)
		}
	}
	return given
}

// presetLabel returns the label of the preset with these permissions, or the label of other permissions.
func presetLabel(permissions keys.Permissions) string {
	i := slices.IndexFunc(options["preset"], func(o option) bool { return o.Value == permissions.Preset() })
	return options["preset"][i].Label
}

// fieldErrors are the validation errors of a form by the id of the field; "" is the
// form as a whole.
type fieldErrors map[string]string

type fieldError struct{ Field, Text string }

// attributes returns the ARIA attributes that connect a field with its hints, given by
// their ids, and with its error, for screen readers.
func attributes(errors fieldErrors, field string, hints ...string) template.HTMLAttr {
	var all []string
	if errors[field] != "" {
		all = append(all, `aria-invalid="true"`)
		hints = append(hints, field+"-error")
	}
	if len(hints) > 0 {
		all = append(all, `aria-describedby="`+strings.Join(hints, " ")+`"`)
	}
	return template.HTMLAttr(strings.Join(all, " "))
}

// errorFor returns the error of a field, or nil.
func errorFor(errors fieldErrors, field string) *fieldError {
	if errors[field] == "" {
		return nil
	}
	return &fieldError{field, errors[field]}
}

// errorList returns all errors in the order of the fields. Errors of no given field
// come first, without a field to link to.
func errorList(errors fieldErrors, fields ...string) []fieldError {
	var all []fieldError
	for _, field := range slices.Sorted(maps.Keys(errors)) {
		if !slices.Contains(fields, field) && errors[field] != "" {
			all = append(all, fieldError{"", errors[field]})
		}
	}
	for _, field := range fields {
		if errors[field] != "" {
			all = append(all, fieldError{field, errors[field]})
		}
	}
	return all
}
