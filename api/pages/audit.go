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
		"archive.export":             "Exported an archive",
		"customer.erase":             "Erased a customer",
		"customer.export":            "Exported data of customers",
		"import.apply":               "Applied an import",
		"import.undo":                "Undid an import",
		"import.cancel":              "Cancelled an import",
		"products.apply":             "Applied a change plan",
		"products.undo":              "Undid a change plan",
		"products.cancel":            "Cancelled a change plan",
		"key.create":                 "Created an API key",
		"key.roll":                   "Rolled an API key",
		"key.revoke":                 "Revoked an API key",
		"member.create":              "Added a member",
		"member.invite":              "Invited a member",
		"member.invite_revoke":       "Revoked an invitation",
		"member.join":                "Accepted an invitation",
		"member.join_refused":        "Entered a wrong password for an invitation",
		"member.role":                "Changed a role",
		"member.remove":              "Removed a member",
		"password.change":            "Changed the password",
		"password.reset":             "Reset the password",
		"password.reset_link":        "Created a password reset link",
		"password.reset_link_revoke": "Revoked a password reset link",
		"sign_in":                    "Signed in",
		"sign_in.failed":             "A sign-in failed: wrong password",
		"tenant.create":              "Created the account",
		"tenant.change":              "Changed the plan or settings",
		"webhook.create":             "Added a webhook",
		"webhook.change":             "Changed a webhook",
		"webhook.rotate":             "Rotated the secret of a webhook",
		"webhook.replay":             "Replayed a webhook",
		"webhook.delete":             "Deleted a webhook",
	}[action]
	return cmp.Or(phrase, action)
}

// detailLabel returns the name of a detail of an entry in words.
func detailLabel(name string) string {
	label := map[string]string{
		"key_id": "Key ID", "overlap_hours": "Old key active for (hours)", "replaces": "Replaces key ID",
		"rate_limit": "Rate limit (requests per 60 s)", "timezone": "Time zone", "url": "URL",
	}[name]
	return cmp.Or(label, title(strings.ReplaceAll(name, "_", " ")))
}

// detailText formats a value that was decoded from JSON.
func detailText(value any) string {
	switch v := value.(type) {
	case nil:
		return "none"
	case map[string]any:
		return detailText(v["from"]) + " → " + detailText(v["to"])
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
