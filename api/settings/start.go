package settings

import (
	"net/http"
	"strconv"
	"strings"
)

func (p *Pages) showAccount(w http.ResponseWriter, _ *http.Request, u user) error {
	return p.show(w, http.StatusOK, "account", u, nil)
}

type startPage struct {
	BaseURL  string
	Keys     []keyRow // live keys
	Selected int64    // id of a key
	Name     string   // name of that key
}

// Assign returns the command that sets API_KEY. The name of the key is text that
// another user chose: within single quotes no shell runs it. It is not a comment,
// because zsh runs comments.
func (s startPage) Assign() string {
	key := "your key"
	if s.Name != "" {
		key = "the key “" + strings.ReplaceAll(s.Name, "'", "’") + "”"
	}
	return "export API_KEY='paste " + key + " here'"
}

// showStart shows commands with the URL of this service and the name of a key.
func (p *Pages) showStart(w http.ResponseWriter, r *http.Request, u user) error {
	rows, err := p.keyRows(r, u)
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
			page.Selected, page.Name = row.ID, row.Name
		}
	}
	return p.show(w, http.StatusOK, "start", u, page)
}
