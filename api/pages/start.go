package pages

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/storeroom/storeroom/api/pages/words"
	"github.com/storeroom/storeroom/keys"
)

func (p *Handler) showAccount(w http.ResponseWriter, _ *http.Request, u user) error {
	return p.show(w, http.StatusOK, "account", u, nil)
}

// setLanguage stores the language of the person.
func (p *Handler) setLanguage(w http.ResponseWriter, r *http.Request, u user) error {
	chosen, known := words.Named(r.PostFormValue("language"))
	if !known {
		return ErrForm
	}
	if err := p.People.SetLanguage(r.Context(), u.token, chosen.Code); err != nil {
		return err
	}
	redirect(w, r, u.path("/account"))
	return nil
}

type startPage struct {
	Keys     []keys.Key // that are active
	Selected keys.Key
}

// Assign returns the command that sets API_KEY. Another user may have chosen the name of the key: in single quotes, no
// shell runs it. It is not a comment, because zsh runs comments.
func (s startPage) Assign(f formatter) string {
	key := f.T("your key")
	if s.Selected.Name != "" {
		key = f.T("the key “%s”", s.Selected.Name)
	}
	return "export API_KEY='" + strings.ReplaceAll(f.T("paste %s here", key), "'", "’") + "'"
}

// Lacks returns the permission if a key is selected that does not allow it, or "".
func (s startPage) Lacks(need keys.Permission) keys.Permission {
	if s.Selected.ID == 0 || s.Selected.Permissions.Allow(need) {
		return ""
	}
	return need
}

// showStart shows commands with the URL of this service and the name of a key.
func (p *Handler) showStart(w http.ResponseWriter, r *http.Request, u user) error {
	all, err := p.Keys.On(u.db).List(r.Context(), u.Tenant.ID)
	if err != nil {
		return err
	}
	var page startPage
	for _, key := range all {
		if !key.Active() {
			continue
		}
		page.Keys = append(page.Keys, key)
		if len(page.Keys) == 1 || strconv.FormatInt(key.ID, 10) == r.FormValue("key") {
			page.Selected = key
		}
	}
	return p.show(w, http.StatusOK, "start", u, page)
}
