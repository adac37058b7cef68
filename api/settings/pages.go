package settings

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/storeroom/storeroom/tenancy"
)

// perPage is how many entries of the audit log a page shows.
const perPage = 50

// acts are what the audit log can be narrowed to.
var acts = []choice{
	{"", "Everything", ""}, {"key.", "Keys", ""}, {"member.", "Members", ""}, {"password.", "Passwords", ""}, {"tenant.", "Plan and settings", ""},
}

type auditPage struct {
	Entries        []tenancy.Logged
	Acts           []choice
	Act            string
	Page, Pages    int
	Total          int64
	Previous, Next int // 0 where there is none
}

func (p *Pages) showAudit(w http.ResponseWriter, r *http.Request, v visit) error {
	page := auditPage{Acts: acts, Page: 1}
	for _, a := range acts {
		if a.Value == r.FormValue("act") {
			page.Act = a.Value
		}
	}
	if n, err := strconv.Atoi(r.FormValue("page")); err == nil && n > 1 && n < 1_000_000 {
		page.Page = n
	}
	var err error
	if page.Entries, page.Total, err = tenancy.AuditLog(r.Context(), p.DB, v.Tenant.ID, page.Act, page.Page, perPage); err != nil {
		return err
	}
	page.Pages = max(1, int((page.Total+perPage-1)/perPage))
	if page.Page < page.Pages {
		page.Next = page.Page + 1
	}
	page.Previous = page.Page - 1
	return p.show(w, http.StatusOK, "audit", v, page)
}

func (p *Pages) showAccount(w http.ResponseWriter, _ *http.Request, v visit) error {
	return p.show(w, http.StatusOK, "account", v, nil)
}

type startPage struct {
	BaseURL string
	Keys    []keyRow // live ones
	Chosen  int64    // a key's id
	Name    string   // and its name
}

// Assign is the line that puts the key where the other lines find it. Others paste
// what somebody called the key: nothing within the quotes is a command to a shell,
// while a comment is one to some (zsh).
func (s startPage) Assign() string {
	key := "your key"
	if s.Name != "" {
		key = "the key “" + strings.ReplaceAll(s.Name, "'", "’") + "”"
	}
	return "export API_KEY='paste " + key + " here'"
}

// showStart fills the tenant's own address and a chosen key's name into lines to
// paste.
func (p *Pages) showStart(w http.ResponseWriter, r *http.Request, v visit) error {
	rows, err := p.keyRows(r, v)
	if err != nil {
		return err
	}
	page := startPage{BaseURL: strings.TrimSuffix(p.BaseURL.String(), "/")}
	for _, row := range rows {
		if !row.Live() {
			continue
		}
		page.Keys = append(page.Keys, row)
		if page.Name == "" || strconv.FormatInt(row.ID, 10) == r.FormValue("key") {
			page.Chosen, page.Name = row.ID, row.Name
		}
	}
	return p.show(w, http.StatusOK, "start", v, page)
}
