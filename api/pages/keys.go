package pages

import (
	"cmp"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/storeroom/storeroom/keys"
	"github.com/storeroom/storeroom/ratelimit"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/webhooks"
)

// keyCreation limits how fast a tenant creates keys.
var keyCreation = ratelimit.Refill{Burst: 20, Every: 30 * time.Second}

// keyRow is a row of the list of keys.
type keyRow struct {
	keys.Key
	Creator string
}

func (p *Handler) listKeys(w http.ResponseWriter, r *http.Request, u user) error {
	all, err := p.Keys.On(u.db).List(r.Context(), u.Tenant.ID)
	if err != nil {
		return err
	}
	members, err := p.People.Members(r.Context(), u.Tenant.ID, p.by(r, u))
	if err != nil {
		return err
	}
	emails := map[int64]string{}
	for _, m := range members {
		emails[m.UserID] = m.Email
	}
	rows := make([]keyRow, len(all))
	for i, key := range all {
		rows[i] = keyRow{key, u.Format.Word("operator")}
		if key.CreatedBy != nil {
			rows[i].Creator = cmp.Or(emails[*key.CreatedBy], u.Format.Word("former member"))
		}
	}
	return p.show(w, http.StatusOK, "keys", u, rows)
}

func (p *Handler) showNewKey(w http.ResponseWriter, _ *http.Request, u user) error {
	if u.Tenant.Suspended {
		return keys.ErrSuspended
	}
	defaults := url.Values{"preset": {"read-only"}, "lifetime": {"90"}, "request": {rand.Text()}}
	return p.show(w, http.StatusOK, "key-new", u, form{Values: defaults})
}

// createdKey is the only page that shows the value of a key.
type createdKey struct {
	keys.Key
	Secret   string
	Replaces *keys.Key
	Overlap  string // how many hours the replaced key stays active
}

// createKey creates a key and shows it in the response to the form. The value is not
// stored, so that neither a reload nor the back button can show it again.
func (p *Handler) createKey(w http.ResponseWriter, r *http.Request, u user) error {
	f := submitted(r)
	if !f.hasRequest() {
		return ErrForm
	}
	wanted := f.newKey(u.Format)
	if err := p.confirmPassword(w, r, &u, f, "password"); err != nil {
		return err
	}
	if len(f.Errors) > 0 {
		return p.show(w, http.StatusUnprocessableEntity, "key-new", u, f)
	}
	if err := p.throttle(r, bucket{"k:" + u.Tenant.Slug, keyCreation}); err != nil {
		return err
	}
	key, secret, err := p.Keys.On(u.db).Create(r.Context(), u.Tenant.ID, p.by(r, u), wanted)
	if errors.Is(err, keys.ErrTooMany) {
		f.Errors[""] = u.T("This account already has 50 live keys. Revoke a key first.")
		return p.show(w, http.StatusUnprocessableEntity, "key-new", u, f)
	}
	if err != nil {
		return err
	}
	return p.show(w, http.StatusOK, "key-created", u, createdKey{Key: key, Secret: secret.Reveal()})
}

// newKey returns the key that the form describes. It adds the errors of the fields.
func (f form) newKey(words formatter) keys.NewKey {
	selected := strings.Join(append(f.Values["permission"], f.Get("preset")), ",")
	// Check reports invalid permissions, because ParsePermissions returns none.
	chosen, _ := keys.ParsePermissions(selected)
	wanted := keys.NewKey{
		Name: f.Get("name"), Permissions: chosen, Lifetime: f.duration("lifetime", 24*time.Hour), Request: f.Get("request"),
	}
	invalid, _ := errors.AsType[tenancy.InvalidError](wanted.Check())
	if messages := invalid["name"]; messages != nil {
		f.Errors["name"] = words.Sentence("The name " + messages[0] + ".")
	}
	if invalid["expires"] != nil {
		f.Errors["lifetime"] = words.T(invalidOption)
	}
	switch {
	case invalid["permissions"] == nil:
	case selected == "":
		f.Errors["permissions"] = words.T("Select at least one permission.")
	default:
		f.Errors["permissions"] = words.T("Select one of the listed permissions.")
	}
	return wanted
}

// withKey passes the key whose id is in the URL to a handler.
func (p *Handler) withKey(h func(http.ResponseWriter, *http.Request, user, keys.Key) error) handler {
	return func(w http.ResponseWriter, r *http.Request, u user) error {
		all, err := p.Keys.On(u.db).List(r.Context(), u.Tenant.ID)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(key keys.Key) bool { return key.ID == pathID(r) })
		if i < 0 {
			return tenancy.ErrNotFound
		}
		return h(w, r, u, all[i])
	}
}

type rollPage struct {
	form
	Key keys.Key
}

func (p *Handler) showRoll(w http.ResponseWriter, _ *http.Request, u user, key keys.Key) error {
	switch {
	case key.Status() != keys.Live:
		return p.show(w, http.StatusConflict, "key-inactive", u, key)
	case u.Tenant.Suspended:
		return keys.ErrSuspended
	}
	return p.show(w, http.StatusOK, "key-roll", u, rollPage{form{Values: url.Values{"overlap": {"24"}}}, key})
}

// rollKey replaces a key and shows the new one, like createKey.
func (p *Handler) rollKey(w http.ResponseWriter, r *http.Request, u user, key keys.Key) error {
	page := rollPage{submitted(r), key}
	if err := p.confirmPassword(w, r, &u, page.form, "password"); err != nil {
		return err
	}
	if len(page.Errors) > 0 {
		return p.show(w, http.StatusUnprocessableEntity, "key-roll", u, page)
	}
	if err := p.throttle(r, bucket{"k:" + u.Tenant.Slug, keyCreation}); err != nil {
		return err
	}
	overlap := page.duration("overlap", time.Hour)
	successor, secret, err := p.Keys.On(u.db).Roll(r.Context(), u.Tenant.ID, p.by(r, u), key.ID, overlap)
	_, isInvalid := errors.AsType[tenancy.InvalidError](err)
	switch {
	case errors.Is(err, keys.ErrEnded):
		return p.withKey(p.showInactive)(w, r, u)
	case errors.Is(err, keys.ErrTooMany):
		page.Errors[""] = u.T("This account already has 50 live keys. Revoke a key first, or revoke the old key immediately.")
	case isInvalid:
		page.Errors["overlap"] = u.T(invalidOption)
	case err != nil:
		return err
	default:
		created := createdKey{successor, secret.Reveal(), &key, page.Get("overlap")}
		return p.show(w, http.StatusOK, "key-created", u, created)
	}
	return p.show(w, http.StatusUnprocessableEntity, "key-roll", u, page)
}

// showInactive shows why a key cannot be rolled. The key was read again, because another
// request may have rolled it, for example after a double click.
func (p *Handler) showInactive(w http.ResponseWriter, _ *http.Request, u user, key keys.Key) error {
	if key.ReplacedBy != nil {
		return keys.ErrRepeated
	}
	return p.show(w, http.StatusConflict, "key-inactive", u, key)
}

// revokePage asks what happens to the webhooks of a key.
type revokePage struct {
	keys.Key
	Webhooks []webhooks.Webhook
}

func (p *Handler) showRevoke(w http.ResponseWriter, r *http.Request, u user, key keys.Key) error {
	if !key.Active() {
		return p.show(w, http.StatusConflict, "key-inactive", u, key)
	}
	made, err := p.madeBy(r, u, "key", key.ID)
	if err != nil {
		return err
	}
	return p.show(w, http.StatusOK, "key-revoke", u, revokePage{key, made})
}

func (p *Handler) revokeKey(w http.ResponseWriter, r *http.Request, u user) error {
	revoke := p.Keys.On(u.db).Revoke
	if keepsWebhooks(r) {
		revoke = p.Keys.On(u.db).RevokeAndKeep
	}
	if err := revoke(r.Context(), u.Tenant.ID, p.by(r, u), pathID(r)); err != nil {
		return err
	}
	redirect(w, r, u.path("/keys"))
	return nil
}
