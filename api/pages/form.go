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

// pathID returns the id in the URL, or a number that is not an id.
func pathID(r *http.Request) int64 {
	id, err := strconv.ParseInt(chi.URLParam(r, "id"), 10, 64)
	if err != nil {
		return 0
	}
	return id
}

const invalidOption = "Select one of the options."

// option is one value of a field, with a label and a sentence about it.
type option struct{ Value, Label, Description string }

// options are the values of the fields.
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
		{"plans:propose", "plans:propose",
			"Propose changes of products and stock as plans, which a member applies. For AI agents."},
	},
	"lifetime": {{"30", "30 days", ""}, {"90", "90 days", ""}, {"365", "1 year", ""}, {"0", "Never", ""}},
	"overlap": {
		{"0", "0 hours (revoke immediately)", ""}, {"1", "1 hour", ""}, {"24", "1 day", ""}, {"168", "1 week", ""},
	},
	"role": {
		{"viewer", "Viewer", "View sales, products, orders with their customers, change plans, API keys, usage and members."},
		{"admin", "Admin", "Also erase customers, run imports and change plans, download everything, manage API keys and " +
			"webhooks, and read the audit log."},
		{"owner", "Owner", "Full access, including managing members."},
	},
	// The days that the page about usage shows.
	"usage": {{"7", "Last 7 days", ""}, {"30", "Last 30 days", ""}, {"90", "Last 90 days", ""}},
	// The prefixes of actions by which the audit log can be filtered.
	"act": {
		{"", "All actions", ""},
		{"archive.", "Archives", ""},
		{"products.", "Change plans", ""},
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
