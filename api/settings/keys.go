package settings

import (
	"crypto/rand"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/ratelimit"
	"github.com/storeroom/storeroom/tenancy"
)

// keyCreation limits how fast a tenant creates keys.
var keyCreation = ratelimit.Refill{Burst: 20, Every: 30 * time.Second}

// option is one value of a field, with a label and a sentence about it.
type option struct{ Value, Label, Description string }

var (
	presets = []option{
		{"read-only", "Read only", "Read products, reports, orders and customers."},
		{"reporting", "Reporting", "Read reports and orders, for example for a dashboard or an accountant."},
		{"catalog", "Catalog", "Read and change products and stock."},
		{"full", "Full access", "Everything an API key can do."},
		{"", "Custom", "Only the permissions that you select below."},
	}
	permissions = []option{
		{"products:read", "products:read", "Read products, categories, sellers, warehouses and stock adjustments."},
		{"products:write", "products:write", "Create, change and delete products, categories, sellers and warehouses."},
		{"inventory:write", "inventory:write", "Adjust stock."},
		{"orders:read", "orders:read", "Read orders and channels."},
		{"orders:write", "orders:write", "Create, cancel and refund orders, and manage channels."},
		{"reports:read", "reports:read", "Read and export all reports."},
		{"customers:read", "customers:read", "Include names and e-mail addresses of customers in orders and reports."},
	}
	lifetimes = []option{{"30", "30 days", ""}, {"90", "90 days", ""}, {"365", "1 year", ""}, {"0", "Never", ""}}
	overlaps  = []option{
		{"0", "0 hours (revoke immediately)", ""}, {"1", "1 hour", ""}, {"24", "1 day", ""}, {"168", "1 week", ""},
	}
)

// keyRow is a row of the list of keys.
type keyRow struct {
	keys.Key
	Creator string
	Status  string // live, rolled, expired or revoked
}

// Live reports whether the API accepts the key.
func (k keyRow) Live() bool { return k.Status == "live" || k.Status == "rolled" }

func (p *Pages) listKeys(w http.ResponseWriter, r *http.Request, u user) error {
	rows, err := p.keyRows(r, u)
	if err != nil {
		return err
	}
	return p.show(w, http.StatusOK, "keys", u, rows)
}

func (p *Pages) keyRows(r *http.Request, u user) ([]keyRow, error) {
	all, err := p.Keys.List(r.Context(), u.Tenant.ID)
	if err != nil {
		return nil, err
	}
	members, err := p.People.Members(r.Context(), u.Tenant.ID, p.by(r, u))
	if err != nil {
		return nil, err
	}
	emails := map[int64]string{}
	for _, m := range members {
		emails[m.UserID] = m.Email
	}
	rows := make([]keyRow, len(all))
	for i, k := range all {
		rows[i] = keyRow{Key: k, Creator: "operator", Status: status(k)}
		if k.CreatedBy != nil {
			rows[i].Creator = "former member"
			if email := emails[*k.CreatedBy]; email != "" {
				rows[i].Creator = email
			}
		}
	}
	return rows, nil
}

func status(k keys.Key) string {
	switch {
	case k.RevokedAt != nil:
		return "revoked"
	case k.ExpiresAt != nil && !k.ExpiresAt.After(time.Now()):
		return "expired"
	case k.ReplacedBy != nil:
		return "rolled"
	}
	return "live"
}

// newKeyPage is the form that creates a key, as the user filled it in.
type newKeyPage struct {
	Name, Preset, Lifetime string
	Selected               map[string]bool
	Request                string // makes the form create at most one key
	Prompt                 passwordPrompt
	Errors                 fieldErrors
	Presets, Permissions   []option
	Lifetimes              []option
}

func newKeyForm(u user) newKeyPage {
	return newKeyPage{
		Preset: "read-only", Lifetime: "90", Request: rand.Text(), Prompt: newPasswordPrompt(u), Errors: fieldErrors{},
		Presets: presets, Permissions: permissions, Lifetimes: lifetimes,
	}
}

// ListOpen reports whether the list of permissions is open.
func (f newKeyPage) ListOpen() bool {
	return len(f.Selected) > 0 || f.Preset == "" || f.Errors["permissions"] != ""
}

func (p *Pages) showNewKey(w http.ResponseWriter, _ *http.Request, u user) error {
	if u.Tenant.Suspended {
		return keys.ErrSuspended
	}
	return p.show(w, http.StatusOK, "key-new", u, newKeyForm(u))
}

// createdKey is the only page that shows the value of a key.
type createdKey struct {
	keys.Key
	Secret   string
	BaseURL  string
	Path     string // of an example request that the key permits
	Replaces *keys.Key
	Overlap  string // how long the replaced key stays active; "" if it was revoked
}

// requestPattern matches what rand.Text returns.
var requestPattern = regexp.MustCompile(`^[A-Z2-7]{26}$`)

// createKey creates a key and shows it in the response to the form. The value is not
// stored, so that neither a reload nor the back button can show it again.
func (p *Pages) createKey(w http.ResponseWriter, r *http.Request, u user) error {
	form, wanted, err := readNewKey(r, u)
	if err != nil {
		return err
	}
	if form.Prompt, err = p.confirmPassword(w, r, &u); err != nil {
		return err
	}
	if form.Prompt.Error != "" {
		form.Errors["password"] = form.Prompt.Error
	}
	if len(form.Errors) > 0 {
		return p.show(w, http.StatusUnprocessableEntity, "key-new", u, form)
	}
	if err := p.throttle(r, bucket{"k:" + u.Tenant.Slug, keyCreation}); err != nil {
		return err
	}
	key, secret, err := p.Keys.Create(r.Context(), u.Tenant.ID, p.by(r, u), wanted)
	if errors.Is(err, keys.ErrRepeated) {
		return p.show(w, http.StatusConflict, "key-already-created", u, nil)
	}
	if form.addErrors(err) {
		return p.show(w, http.StatusUnprocessableEntity, "key-new", u, form)
	}
	if err != nil {
		return err
	}
	return p.show(w, http.StatusOK, "key-created", u, p.newCreatedKey(key, secret))
}

// readNewKey reads the form. The page that it returns contains the errors of the fields.
func readNewKey(r *http.Request, u user) (newKeyPage, keys.NewKey, error) {
	form := newKeyForm(u)
	form.Request = r.PostFormValue("request")
	if !requestPattern.MatchString(form.Request) {
		return form, keys.NewKey{}, errForm
	}
	form.Name, form.Preset = r.PostFormValue("name"), r.PostFormValue("preset")
	form.Lifetime = r.PostFormValue("lifetime")
	form.Selected = map[string]bool{}
	for _, permission := range r.PostForm["permission"] {
		form.Selected[permission] = true
	}
	wanted := keys.NewKey{Name: form.Name, Request: form.Request}
	days, err := strconv.ParseInt(form.Lifetime, 10, 16)
	if err != nil {
		days = -1 // not one of the options
	}
	wanted.Lifetime = time.Duration(days) * 24 * time.Hour
	wanted.Permissions, err = keys.ParsePermissions(strings.Join(append(r.PostForm["permission"], form.Preset), ","))
	form.addErrors(err)
	form.addErrors(wanted.Check())
	return form, wanted, nil
}

func (p *Pages) newCreatedKey(key keys.Key, secret keys.Secret) createdKey {
	created := createdKey{
		Key: key, Secret: secret.Reveal(), Path: "/api/me",
		BaseURL: strings.TrimSuffix(p.BaseURL.String(), "/"),
	}
	switch {
	case key.Permissions.Allow(keys.ProductsRead):
		created.Path = "/api/products?per_page=3"
	case key.Permissions.Allow(keys.ReportsRead):
		created.Path = "/api/reports/channels"
	case key.Permissions.Allow(keys.OrdersRead):
		created.Path = "/api/orders?per_page=3"
	}
	return created
}

const tooManyKeys = "This account already has 50 live keys. Revoke a key first"

// addErrors adds the validation errors of the fields. It reports whether err is one.
func (f *newKeyPage) addErrors(err error) bool {
	if errors.Is(err, keys.ErrTooMany) {
		f.Errors[""] = tooManyKeys + "."
		return true
	}
	invalid, isInvalid := errors.AsType[tenancy.InvalidError](err)
	if messages := invalid["name"]; messages != nil {
		f.Errors["name"] = "The name " + messages[0] + "."
	}
	if invalid["expires"] != nil {
		f.Errors["lifetime"] = "Select one of the options."
	}
	switch {
	case invalid["permissions"] == nil:
	case f.Preset == "" && len(f.Selected) == 0:
		f.Errors["permissions"] = "Select at least one permission."
	default:
		f.Errors["permissions"] = "Select one of the listed permissions."
	}
	return isInvalid
}

// key returns the key whose id is in the URL, or tenancy.ErrNotFound.
func (p *Pages) key(r *http.Request, u user) (keyRow, error) {
	id, err := strconv.ParseInt(chi.URLParam(r, "id"), 10, 64)
	if err != nil {
		return keyRow{}, tenancy.ErrNotFound
	}
	rows, err := p.keyRows(r, u)
	if err != nil {
		return keyRow{}, err
	}
	for _, row := range rows {
		if row.ID == id {
			return row, nil
		}
	}
	return keyRow{}, tenancy.ErrNotFound
}

type rollPage struct {
	Key      keyRow
	Overlaps []option
	Overlap  string // as the user selected it
	Prompt   passwordPrompt
	Errors   fieldErrors
}

func (p *Pages) showRoll(w http.ResponseWriter, r *http.Request, u user) error {
	key, err := p.key(r, u)
	if err != nil {
		return err
	}
	switch {
	case key.Status != "live":
		return p.show(w, http.StatusConflict, "key-inactive", u, key)
	case u.Tenant.Suspended:
		return keys.ErrSuspended
	}
	return p.show(w, http.StatusOK, "key-roll", u, rollPage{
		Key: key, Overlaps: overlaps, Overlap: "24", Prompt: newPasswordPrompt(u),
	})
}

// rollKey replaces a key and shows the new one, like createKey.
func (p *Pages) rollKey(w http.ResponseWriter, r *http.Request, u user) error {
	key, err := p.key(r, u)
	if err != nil {
		return err
	}
	page := rollPage{Key: key, Overlaps: overlaps, Overlap: r.PostFormValue("overlap"), Errors: fieldErrors{}}
	if page.Prompt, err = p.confirmPassword(w, r, &u); err != nil {
		return err
	}
	if page.Prompt.Error != "" {
		page.Errors["password"] = page.Prompt.Error
		return p.show(w, http.StatusUnprocessableEntity, "key-roll", u, page)
	}
	if err := p.throttle(r, bucket{"k:" + u.Tenant.Slug, keyCreation}); err != nil {
		return err
	}
	hours, err := strconv.ParseInt(page.Overlap, 10, 16)
	if err != nil {
		hours = -1 // not one of the options
	}
	overlap := time.Duration(hours) * time.Hour
	successor, secret, err := p.Keys.Roll(r.Context(), u.Tenant.ID, p.by(r, u), key.ID, overlap)
	_, isInvalid := errors.AsType[tenancy.InvalidError](err)
	switch {
	case errors.Is(err, keys.ErrEnded):
		return p.showInactive(w, r, u)
	case errors.Is(err, keys.ErrTooMany):
		page.Errors[""] = tooManyKeys + ", or revoke the old key immediately."
	case isInvalid:
		page.Errors["overlap"] = "Select one of the options."
	case err != nil:
		return err
	default:
		created := p.newCreatedKey(successor, secret)
		created.Replaces = &key.Key
		for _, o := range overlaps {
			if o.Value == page.Overlap && hours > 0 {
				created.Overlap = o.Label
			}
		}
		return p.show(w, http.StatusOK, "key-created", u, created)
	}
	return p.show(w, http.StatusUnprocessableEntity, "key-roll", u, page)
}

// showInactive shows why a key cannot be rolled. It reads the key again, because another
// request may have rolled it, for example after a double click.
func (p *Pages) showInactive(w http.ResponseWriter, r *http.Request, u user) error {
	key, err := p.key(r, u)
	switch {
	case err != nil:
		return err
	case key.ReplacedBy != nil:
		return p.show(w, http.StatusConflict, "key-already-created", u, nil)
	}
	return p.show(w, http.StatusConflict, "key-inactive", u, key)
}

func (p *Pages) showRevoke(w http.ResponseWriter, r *http.Request, u user) error {
	key, err := p.key(r, u)
	if err != nil {
		return err
	}
	if !key.Live() {
		return p.show(w, http.StatusConflict, "key-inactive", u, key)
	}
	return p.show(w, http.StatusOK, "key-revoke", u, key)
}

func (p *Pages) revokeKey(w http.ResponseWriter, r *http.Request, u user) error {
	key, err := p.key(r, u)
	if err != nil {
		return err
	}
	if err := p.Keys.Revoke(r.Context(), u.Tenant.ID, p.by(r, u), key.ID); err != nil {
		return err
	}
	redirect(w, r, u.path("/keys"))
	return nil
}
