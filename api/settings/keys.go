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

// keyCreation bounds how fast keys of a tenant are made.
var keyCreation = ratelimit.Refill{Burst: 20, Every: 30 * time.Second}

// choice is one way to fill in a field, with a sentence about it.
type choice struct{ Value, Label, Says string }

var (
	presets = []choice{
		{"read-only", "Read only", "Reads products, reports, orders and customers; changes nothing."},
		{"reporting", "Reporting", "Reads reports and orders, for dashboards and accountants."},
		{"catalog", "Catalog", "Reads and changes products and stock."},
		{"full", "Full access", "Everything that a key can do."},
		{"", "Only what is ticked below", "Nothing else."},
	}
	permissions = []choice{
		{"products:read", "products:read", "Reads products, categories, sellers, warehouses and the stock ledger."},
		{"products:write", "products:write", "Creates, changes and deletes them."},
		{"inventory:write", "inventory:write", "Adjusts stock."},
		{"orders:read", "orders:read", "Reads orders and channels."},
		{"orders:write", "orders:write", "Sends orders, refunds and cancellations."},
		{"reports:read", "reports:read", "Reads and exports every report."},
		{"customers:read", "customers:read", "Sees names and e-mails of customers in orders and reports."},
	}
	lifetimes = []choice{{"30", "30 days", ""}, {"90", "90 days", ""}, {"365", "1 year", ""}, {"0", "Never", ""}}
	overlaps  = []choice{
		{"0", "None: it stops at once", ""}, {"1", "1 hour", ""}, {"24", "1 day", ""}, {"168", "1 week", ""},
	}
)

// keyRow is a key in the list.
type keyRow struct {
	keys.Key
	By     string // who made it
	Status string // live, rolled, expired or revoked
}

// Live says whether the key still opens anything.
func (k keyRow) Live() bool { return k.Status == "live" || k.Status == "rolled" }

func (p *Pages) listKeys(w http.ResponseWriter, r *http.Request, v visit) error {
	rows, err := p.keyRows(r, v)
	if err != nil {
		return err
	}
	return p.show(w, http.StatusOK, "keys", v, rows)
}

func (p *Pages) keyRows(r *http.Request, v visit) ([]keyRow, error) {
	all, err := p.Keys.List(r.Context(), v.Tenant.ID)
	if err != nil {
		return nil, err
	}
	members, err := p.People.Members(r.Context(), v.Tenant.ID, p.by(r, v))
	if err != nil {
		return nil, err
	}
	emails := map[int64]string{}
	for _, m := range members {
		emails[m.UserID] = m.Email
	}
	rows := make([]keyRow, len(all))
	for i, k := range all {
		rows[i] = keyRow{k, "operator", status(k)}
		if k.CreatedBy != nil {
			rows[i].By = "a former member"
			if email := emails[*k.CreatedBy]; email != "" {
				rows[i].By = email
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

// newKeyPage is the form of a new key, as it was filled in.
type newKeyPage struct {
	Name, Preset, Lifetime string
	Ticked                 map[string]bool
	Request                string // makes the form good for one key
	Again                  again
	Faults                 faults
	Presets, Permissions   []choice
	Lifetimes              []choice
}

func newKeyForm(v visit) newKeyPage {
	return newKeyPage{
		Preset: "read-only", Lifetime: "90", Request: rand.Text(), Again: passwordAgain(v), Faults: faults{},
		Presets: presets, Permissions: permissions, Lifetimes: lifetimes,
	}
}

// ListOpen says whether the single permissions are unfolded.
func (f newKeyPage) ListOpen() bool {
	return len(f.Ticked) > 0 || f.Preset == "" || f.Faults["permissions"] != ""
}

func (p *Pages) showNewKey(w http.ResponseWriter, _ *http.Request, v visit) error {
	if v.Tenant.Suspended {
		return keys.ErrSuspended
	}
	return p.show(w, http.StatusOK, "key-new", v, newKeyForm(v))
}

// madeKey is the one page that ever shows a key.
type madeKey struct {
	keys.Key
	Secret   string
	BaseURL  string
	Path     string // of a request that the key may make
	Replaces *keys.Key
	Overlap  string // for how long it lives on, "" for not at all
}

// requestPattern matches what rand.Text returns.
var requestPattern = regexp.MustCompile(`^[A-Z2-7]{26}$`)

// createKey makes a key and shows it in the answer to this very request: it is
// stored nowhere, so that neither a reload nor the way back can show it again.
func (p *Pages) createKey(w http.ResponseWriter, r *http.Request, v visit) error {
	request := r.PostFormValue("request")
	if !requestPattern.MatchString(request) {
		return errForm // no form of ours
	}
	form := newKeyForm(v)
	form.Name, form.Preset, form.Lifetime = r.PostFormValue("name"), r.PostFormValue("preset"), r.PostFormValue("lifetime")
	form.Ticked = map[string]bool{}
	for _, permission := range r.PostForm["permission"] {
		form.Ticked[permission] = true
	}
	form.Request = request // sent again, it is still the same key
	wanted := keys.NewKey{Name: form.Name, Request: request}
	days, err := strconv.ParseInt(form.Lifetime, 10, 16)
	if err != nil {
		days = -1 // no choice of ours
	}
	wanted.Lifetime = time.Duration(days) * 24 * time.Hour
	wanted.Permissions, err = keys.ParsePermissions(strings.Join(append(r.PostForm["permission"], form.Preset), ","))
	form.note(err)
	form.note(wanted.Check())
	if form.Again, err = p.confirm(w, r, &v); err != nil {
		return err
	}
	if form.Again.Fault != "" {
		form.Faults["password"] = form.Again.Fault
	}
	if len(form.Faults) > 0 {
		return p.show(w, http.StatusUnprocessableEntity, "key-new", v, form)
	}
	if err := p.throttle(r, bucket{"k:" + v.Tenant.Slug, keyCreation}); err != nil {
		return err
	}
	key, secret, err := p.Keys.Create(r.Context(), v.Tenant.ID, p.by(r, v), wanted)
	if errors.Is(err, keys.ErrRepeated) {
		return p.show(w, http.StatusConflict, "key-again", v, nil)
	}
	if form.note(err) {
		return p.show(w, http.StatusUnprocessableEntity, "key-new", v, form)
	}
	if err != nil {
		return err
	}
	return p.show(w, http.StatusOK, "key-made", v, p.made(key, secret))
}

func (p *Pages) made(key keys.Key, secret keys.Secret) madeKey {
	m := madeKey{Key: key, Secret: secret.Reveal(), BaseURL: strings.TrimSuffix(p.BaseURL.String(), "/"), Path: "/api/me"}
	switch {
	case key.Permissions.Allow(keys.ProductsRead):
		m.Path = "/api/products?per_page=3"
	case key.Permissions.Allow(keys.ReportsRead):
		m.Path = "/api/reports/channels"
	case key.Permissions.Allow(keys.OrdersRead):
		m.Path = "/api/orders?per_page=3"
	}
	return m
}

// note puts faults of the fields into the form, in words for who fills it in, and
// says whether there were any.
func (f *newKeyPage) note(err error) bool {
	if errors.Is(err, keys.ErrTooMany) {
		f.Faults[""] = "There are 50 live keys already: revoke one first."
		return true
	}
	invalid, isInvalid := errors.AsType[tenancy.InvalidError](err)
	if messages := invalid["name"]; messages != nil {
		f.Faults["name"] = "The name " + messages[0] + "."
	}
	if invalid["expires"] != nil {
		f.Faults["lifetime"] = "Choose one of these times."
	}
	switch {
	case invalid["permissions"] == nil:
	case f.Preset == "" && len(f.Ticked) == 0:
		f.Faults["permissions"] = "Tick at least one permission."
	default:
		f.Faults["permissions"] = "Choose among these permissions."
	}
	return isInvalid
}

// key finds the key of the address. It returns tenancy.ErrNotFound.
func (p *Pages) key(r *http.Request, v visit) (keyRow, error) {
	id, err := strconv.ParseInt(chi.URLParam(r, "id"), 10, 64)
	if err != nil {
		return keyRow{}, tenancy.ErrNotFound
	}
	rows, err := p.keyRows(r, v)
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
	Overlaps []choice
	Overlap  string // as it was filled in
	Again    again
	Faults   faults
}

func (p *Pages) showRoll(w http.ResponseWriter, r *http.Request, v visit) error {
	key, err := p.key(r, v)
	if err != nil {
		return err
	}
	switch {
	case key.Status != "live":
		return p.show(w, http.StatusConflict, "key-ended", v, key)
	case v.Tenant.Suspended:
		return keys.ErrSuspended
	}
	return p.show(w, http.StatusOK, "key-roll", v, rollPage{Key: key, Overlaps: overlaps, Overlap: "24", Again: passwordAgain(v)})
}

// rollKey makes a key's successor and shows it, like createKey.
func (p *Pages) rollKey(w http.ResponseWriter, r *http.Request, v visit) error {
	key, err := p.key(r, v)
	if err != nil {
		return err
	}
	page := rollPage{Key: key, Overlaps: overlaps, Overlap: r.PostFormValue("overlap"), Faults: faults{}}
	if page.Again, err = p.confirm(w, r, &v); err != nil {
		return err
	}
	if page.Again.Fault != "" {
		page.Faults["password"] = page.Again.Fault
		return p.show(w, http.StatusUnprocessableEntity, "key-roll", v, page)
	}
	if err := p.throttle(r, bucket{"k:" + v.Tenant.Slug, keyCreation}); err != nil {
		return err
	}
	hours, err := strconv.ParseInt(page.Overlap, 10, 16)
	if err != nil {
		hours = -1 // no choice of ours
	}
	successor, secret, err := p.Keys.Roll(r.Context(), v.Tenant.ID, p.by(r, v), key.ID, time.Duration(hours)*time.Hour)
	_, isInvalid := errors.AsType[tenancy.InvalidError](err)
	switch {
	case errors.Is(err, keys.ErrEnded):
		return p.showEnded(w, r, v)
	case errors.Is(err, keys.ErrTooMany):
		page.Faults[""] = "There are 50 live keys already: revoke one first, or let the old key stop at once."
	case isInvalid:
		page.Faults["overlap"] = "Choose one of these times."
	case err != nil:
		return err
	default:
		made := p.made(successor, secret)
		made.Replaces = &key.Key
		for _, o := range overlaps {
			if o.Value == page.Overlap && hours > 0 {
				made.Overlap = o.Label
			}
		}
		return p.show(w, http.StatusOK, "key-made", v, made)
	}
	return p.show(w, http.StatusUnprocessableEntity, "key-roll", v, page)
}

// showEnded says why the key of the address was not rolled. It is read anew: what
// ended it may have come since, such as the same form, sent by a double click.
func (p *Pages) showEnded(w http.ResponseWriter, r *http.Request, v visit) error {
	key, err := p.key(r, v)
	switch {
	case err != nil:
		return err
	case key.ReplacedBy != nil:
		return p.show(w, http.StatusConflict, "key-again", v, nil)
	}
	return p.show(w, http.StatusConflict, "key-ended", v, key)
}

func (p *Pages) showRevoke(w http.ResponseWriter, r *http.Request, v visit) error {
	key, err := p.key(r, v)
	if err != nil {
		return err
	}
	if !key.Live() {
		return p.show(w, http.StatusConflict, "key-ended", v, key)
	}
	return p.show(w, http.StatusOK, "key-revoke", v, key)
}

func (p *Pages) revokeKey(w http.ResponseWriter, r *http.Request, v visit) error {
	key, err := p.key(r, v)
	if err != nil {
		return err
	}
	if err := p.Keys.Revoke(r.Context(), v.Tenant.ID, p.by(r, v), key.ID); err != nil {
		return err
	}
	http.Redirect(w, r, "/settings/t/"+v.Tenant.Slug+"/keys", http.StatusSeeOther)
	return nil
}
