package pages

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/storeroom/storeroom/tenancy/tenants"
)

// auditPerPage is how many entries of the audit log a page shows.
const auditPerPage = 50

type auditPage struct {
	Entries []tenants.Logged
	Filter  string
	Pager   pager
}

func (p *Handler) showAudit(w http.ResponseWriter, r *http.Request, u user) error {
	page := auditPage{}
	for _, f := range options["act"] {
		if f.Value == r.FormValue("act") {
			page.Filter = f.Value
		}
	}
	number := pageNumber(r)
	entries, total, err := tenants.AuditLog(r.Context(), u.db, u.Tenant.ID, page.Filter, number, auditPerPage)
	if err != nil {
		return err
	}
	page.Entries, page.Pager = entries, newPager(r, number, auditPerPage, total)
	return p.showList(w, r, "audit", u, page.Pager, page)
}

// actionPhrase returns an action of the audit log in words.
func actionPhrase(action string) string {
	phrase := map[string]string{
		"archive.export":             mark("Exported an archive"),
		"customer.erase":             mark("Erased a customer"),
		"customer.export":            mark("Exported data of customers"),
		"import.apply":               mark("Applied an import"),
		"import.undo":                mark("Undid an import"),
		"import.cancel":              mark("Cancelled an import"),
		"products.apply":             mark("Applied a price change"),
		"products.undo":              mark("Undid a price change"),
		"products.cancel":            mark("Cancelled a price change"),
		"product.change":             mark("Changed a product"),
		"product.create":             mark("Created a product"),
		"key.create":                 mark("Created an API key"),
		"key.roll":                   mark("Rolled an API key"),
		"key.revoke":                 mark("Revoked an API key"),
		"channel.change":             mark("Renamed a shop"),
		"warehouse.create":           mark("Added a warehouse"),
		"warehouse.rename":           mark("Renamed a warehouse"),
		"stock.count":                mark("Applied a stock count"),
		"stock.move":                 mark("Moved stock"),
		"member.create":              mark("Added a member"),
		"member.invite":              mark("Invited a member"),
		"member.invite_revoke":       mark("Revoked an invitation"),
		"member.join":                mark("Accepted an invitation"),
		"member.join_refused":        mark("Entered a wrong password for an invitation"),
		"member.role":                mark("Changed a role"),
		"member.remove":              mark("Removed a member"),
		"password.change":            mark("Changed the password"),
		"password.reset":             mark("Reset the password"),
		"password.reset_link":        mark("Created a password reset link"),
		"password.reset_link_revoke": mark("Revoked a password reset link"),
		"sign_in":                    mark("Signed in"),
		"sign_in.failed":             mark("A sign-in failed: wrong password"),
		"tenant.create":              mark("Created the account"),
		"tenant.change":              mark("Changed the plan or settings"),
		"webhook.create":             mark("Added a webhook"),
		"webhook.change":             mark("Changed a webhook"),
		"webhook.rotate":             mark("Rotated the secret of a webhook"),
		"webhook.replay":             mark("Replayed a webhook"),
		"webhook.delete":             mark("Deleted a webhook"),
	}[action]
	return cmp.Or(phrase, action)
}

// detailLabels are the names of details of entries in words, where the words of the name are not enough.
var detailLabels = map[string]string{
	"key_id": mark("Key ID"), "overlap_hours": mark("Old key active for (hours)"), "replaces": mark("Replaces key ID"),
	"rate_limit": mark("Rate limit (requests per 60 s)"), "timezone": mark("Time zone"), "url": mark("URL"),
	"permissions": mark("Permissions"), "expires": mark("Expires"), "role": mark("Role"), "name": mark("Name"),
	"types": mark("Types"), "file": mark("File"), "filters": mark("Filters"), "email": mark("E-mail"),
	"attempts": mark("Attempts"), "plan": mark("Plan"), "currency": mark("Currency"), "state": mark("State"),
	"description": mark("Description"), "batch_size": mark("Most entries in a message"), "webhooks": mark("Webhooks"),
	"label": mark("Name of the shop"), "warehouse": mark("Warehouse"), "counted": mark("Counted"), "corrected": mark("Corrected"),
	"left_out": mark("Left out"), "quantity": mark("Quantity"), "from": mark("From"), "to": mark("To"),
	"rows": mark("Rows"), "fields": mark("Fields"), "title": mark("Title"),
}

// Detail returns the name of a detail of an entry in words.
func (f formatter) Detail(name string) string {
	if label, known := detailLabels[name]; known {
		return f.T(label)
	}
	return title(strings.ReplaceAll(name, "_", " "))
}

// DetailText formats a value that was decoded from JSON.
func (f formatter) DetailText(value any) string {
	switch v := value.(type) {
	case nil:
		return f.T("none")
	case map[string]any:
		return f.DetailText(v["from"]) + " → " + f.DetailText(v["to"])
	case []any:
		parts := make([]string, len(v))
		for i, part := range v {
			parts[i] = fmt.Sprint(part)
		}
		return strings.Join(parts, ", ")
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}
