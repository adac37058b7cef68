package pages

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5"

	"github.com/storeroom/storeroom/api/imports"
	"github.com/storeroom/storeroom/catalog"
	"github.com/storeroom/storeroom/reports/sales"
	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/paging"
	"github.com/storeroom/storeroom/tenancy/tenants"
)

// The prefixes of the fields of a channel and of a warehouse. The field was- of the same name has the stored text that
// the person saw.
const (
	labelField     = "label-"
	warehouseField = "warehouse-"
	newWarehouse   = "new-warehouse"
)

// settingsPage is the page with the settings of the business. Its forms have different fields, so they share one form.
type settingsPage struct {
	form
	HasOrders  bool // the time zone and the currency stay
	Channels   []sales.Channel
	Warehouses []catalog.Reference
	// Truncated is set if there are more channels or warehouses than the page has.
	Truncated bool
}

// Unlabelled reports whether a channel is shown to people as its identifier.
func (p settingsPage) Unlabelled(c sales.Channel) bool { return c.Label == c.Identifier }

// Suggested returns a label for a channel.
func (p settingsPage) Suggested(c sales.Channel) string { return readable(c) }

// Zones are the time zones that the page suggests. Others can be typed.
func (p settingsPage) Zones() []string { return suggestedZones }

// readable returns the label of a channel. For one that has only its identifier, it makes words of that: high-street
// becomes High Street.
func readable(c sales.Channel) string {
	if c.Label != c.Identifier {
		return c.Label
	}
	parts := strings.FieldsFunc(c.Identifier, func(r rune) bool { return r == '-' || r == '_' })
	for i, part := range parts {
		first := []rune(part)
		first[0] = unicode.ToUpper(first[0])
		parts[i] = string(first)
	}
	if len(parts) == 0 {
		return c.Label
	}
	return strings.Join(parts, " ")
}

// settingsOf returns the fields of the first form.
func settingsOf(t tenants.Tenant) url.Values {
	return url.Values{"name": {t.Name}, "timezone": {t.Timezone}, "currency": {t.Currency}}
}

func (p *Handler) showSettings(w http.ResponseWriter, r *http.Request, u user) error {
	return p.showSettingsWith(w, r, u, http.StatusOK, form{})
}

// showSettingsWith also shows a form that was refused.
func (p *Handler) showSettingsWith(w http.ResponseWriter, r *http.Request, u user, status int, refused form) (err error) {
	page := settingsPage{form: form{settingsOf(*u.Tenant), fieldErrors{}}}
	page.Set("version", versionOf(page.Values))
	if page.HasOrders, err = u.sales().HasOrders(r.Context(), u.Tenant.ID); err != nil {
		return err
	}
	all := paging.Page{Number: 1, PerPage: maxChoices}
	channels, err := u.sales().Channels(r.Context(), u.Tenant.ID, all)
	if err != nil {
		return err
	}
	warehouses, err := u.catalog().References(r.Context(), u.Tenant.ID, catalog.Warehouses, "", paging.Order{By: "name"}, all)
	if err != nil {
		return err
	}
	page.Channels, page.Warehouses = channels.Items, warehouses.Items
	page.Truncated = channels.Total > maxChoices || warehouses.Total > maxChoices
	for _, c := range page.Channels {
		if c.Label != c.Identifier { // a suggestion is saved only if somebody types it
			page.Set(labelField+c.Identifier, c.Label)
		}
		page.Set("was-"+labelField+c.Identifier, page.Get(labelField+c.Identifier))
	}
	for _, w := range page.Warehouses {
		field := warehouseField + strconv.FormatInt(w.ID, 10)
		page.Set(field, w.Name)
		page.Set("was-"+field, w.Name)
	}
	for field := range refused.Values {
		page.Set(field, refused.Get(field))
	}
	for field, text := range refused.Errors {
		page.Errors[field] = text
	}
	return p.show(w, status, "business", u, page)
}

// Request returns the field request of a form.
func (p settingsPage) Request() string { return rand.Text() }

// ErrorList returns the errors of all forms in the order of the fields.
func (p settingsPage) ErrorList() []fieldError {
	fields := []string{"name", "timezone", "currency"}
	for _, c := range p.Channels {
		fields = append(fields, labelField+c.Identifier)
	}
	for _, w := range p.Warehouses {
		fields = append(fields, warehouseField+strconv.FormatInt(w.ID, 10))
	}
	return errorList(p.Errors, append(fields, newWarehouse)...)
}

// changeSettings changes the name, the time zone and the currency.
func (p *Handler) changeSettings(w http.ResponseWriter, r *http.Request, u user) error {
	f, before := submitted(r), *u.Tenant
	t := before
	t.Name = strings.TrimSpace(f.Get("name"))
	if f.Has("timezone") { // only before the first order
		// An empty text must be an error, not the default.
		t.Timezone = cmp.Or(strings.TrimSpace(f.Get("timezone")), " ")
		t.Currency = cmp.Or(strings.ToUpper(strings.TrimSpace(f.Get("currency"))), " ")
	}
	stored := settingsOf(before)
	// A form that is sent twice has the stored settings. It completes a change that was interrupted on a cluster.
	if settingsOf(t).Encode() != stored.Encode() && f.Get("version") != versionOf(stored) {
		return p.refuseSettings(w, r, u, f, tenants.ErrSettingsChanged)
	}
	err := tenants.ChangeSettings(r.Context(), u.db, p.by(r, u), before, t, func(ctx context.Context, tx pgx.Tx) error {
		if !f.Has("timezone") { // the order that was stored has the zone of the rollups
			return nil
		}
		return imports.AllowSettings(ctx, tx, t.ID, t.Timezone)
	})
	if err != nil {
		return p.refuseSettings(w, r, u, f, err)
	}
	redirect(w, r, u.path("/settings"))
	return nil
}

// refuseSettings shows why the settings were not changed. It returns other errors.
func (p *Handler) refuseSettings(w http.ResponseWriter, r *http.Request, u user, f form, err error) error {
	invalid, isInvalid := errors.AsType[tenancy.InvalidError](err)
	switch {
	case errors.Is(err, tenants.ErrSettingsChanged):
		f.Errors[""] = u.T("Someone has changed these settings since you opened the page. Check them and save again.")
	case errors.Is(err, imports.ErrSold):
		f.Errors[""] = u.T("An order was stored meanwhile, so the time zone and the currency stay as they are.")
	case errors.Is(err, imports.ErrImporting):
		f.Errors[""] = u.T("An import has begun with this time zone and currency. Finish or cancel it first.")
	case isInvalid:
		for field, messages := range invalid {
			switch field {
			case "name":
				f.Errors[field] = u.Format.Sentence("The name " + messages[0] + ".")
			case "timezone":
				f.Errors[field] = u.T("Enter a time zone such as Europe/London.")
			case "currency":
				f.Errors[field] = u.T("Enter the code of a currency in use with at most two decimals, such as EUR.")
			default:
				return err
			}
		}
	default:
		return err
	}
	f.Del("version") // the page has that of the stored settings
	return p.showSettingsWith(w, r, u, http.StatusUnprocessableEntity, f)
}

// renamed is a text that a form changes.
type renamed struct{ field, id, was, to string }

// renames returns the texts that a form changes, by the prefix of their fields.
func (f form) renames(prefix string) (all []renamed) {
	for field := range f.Values {
		id, found := strings.CutPrefix(field, prefix)
		to := strings.TrimSpace(f.Get(field))
		if was := f.Get("was-" + field); found && to != was {
			all = append(all, renamed{field, id, was, to})
		}
	}
	slices.SortFunc(all, func(a, b renamed) int { return strings.Compare(a.id, b.id) })
	return all
}

// changeLabels gives channels other labels. Those of other people, which the form does not know, stay.
func (p *Handler) changeLabels(w http.ResponseWriter, r *http.Request, u user) error {
	return p.saveSettings(w, r, u, func(ctx context.Context, u user, f form) error {
		for _, c := range f.renames(labelField) {
			stored, err := u.sales().Channel(ctx, u.Tenant.ID, c.id)
			switch {
			case err != nil:
				return err
			case stored.Label == c.to:
				continue
			case stored.Label != cmp.Or(c.was, c.id): // the page has no text for one that has only its identifier
				f.Errors[c.field] = u.T("Someone has changed this to “%s” meanwhile.", stored.Label)
				continue
			}
			_, err = u.sales().UpdateChannel(ctx, u.Tenant.ID, c.id, sales.ChannelUpdate{Label: &c.to}, nil)
			if invalid, isInvalid := errors.AsType[tenancy.InvalidError](err); isInvalid && len(invalid["label"]) > 0 {
				f.Errors[c.field] = u.Format.Sentence("The name " + invalid["label"][0] + ".")
				continue
			}
			if err == nil {
				err = p.audit(ctx, r, u, "channel.change", c.id, map[string]any{"label": fromTo(stored.Label, c.to)})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// renameWarehouses gives warehouses other names.
func (p *Handler) renameWarehouses(w http.ResponseWriter, r *http.Request, u user) error {
	return p.saveSettings(w, r, u, func(ctx context.Context, u user, f form) error {
		for _, c := range f.renames(warehouseField) {
			id, err := strconv.ParseInt(c.id, 10, 64)
			if err != nil {
				return ErrForm
			}
			stored, err := u.catalog().Reference(ctx, u.Tenant.ID, catalog.Warehouses, id)
			switch {
			case err != nil:
				return err
			case stored.Name == c.to:
				continue
			case stored.Name != c.was:
				f.Errors[c.field] = u.T("Someone has changed this to “%s” meanwhile.", stored.Name)
				continue
			}
			_, err = u.catalog().RenameReference(ctx, u.Tenant.ID, catalog.Warehouses, id, catalog.Value(c.to), nil)
			if f.addNameProblem(u, c.field, err) {
				continue
			}
			if err == nil {
				err = p.audit(ctx, r, u, "warehouse.rename", c.to, map[string]any{"name": fromTo(c.was, c.to)})
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// createWarehouse adds a warehouse.
func (p *Handler) createWarehouse(w http.ResponseWriter, r *http.Request, u user) error {
	return p.saveSettings(w, r, u, func(ctx context.Context, u user, f form) error {
		name := strings.TrimSpace(f.Get(newWarehouse))
		_, err := u.catalog().CreateReference(ctx, u.Tenant.ID, catalog.Warehouses, catalog.Value(name), nil)
		if f.addNameProblem(u, newWarehouse, err) {
			return nil
		}
		if err == nil {
			err = p.audit(ctx, r, u, "warehouse.create", name, nil)
		}
		return err
	})
}

// addNameProblem adds the error of a name to a field and reports whether there is one.
func (f form) addNameProblem(u user, field string, err error) bool {
	invalid, isInvalid := errors.AsType[tenancy.InvalidError](err)
	if !isInvalid || len(invalid["name"]) == 0 {
		return false
	}
	f.Errors[field] = u.Format.Sentence("The name " + invalid["name"][0] + ".")
	return true
}

// saveSettings does the work of a form once, and nothing of it if the form gets an error.
func (p *Handler) saveSettings(
	w http.ResponseWriter, r *http.Request, u user, work func(ctx context.Context, within user, f form) error,
) error {
	f := submitted(r)
	err := p.once(w, r, u, f, func(within user) (string, error) {
		clear(f.Errors) // of an attempt that PostgreSQL has aborted
		err := work(r.Context(), within, f)
		if err == nil && len(f.Errors) > 0 {
			err = errRefused
		}
		return u.path("/settings"), err
	})
	if errors.Is(err, errRefused) {
		for field := range f.Values { // the page has what is stored now
			if strings.HasPrefix(field, "was-") {
				f.Del(field)
			}
		}
		return p.showSettingsWith(w, r, u, http.StatusUnprocessableEntity, f)
	}
	return err
}

// audit records a change in its transaction.
func (p *Handler) audit(
	ctx context.Context, r *http.Request, u user, action, target string, details map[string]any,
) error {
	return u.db.Run(ctx, u.Tenant.ID, func(b *pgx.Batch) {
		tenants.QueueAudit(b, u.Tenant.ID, p.by(r, u), tenants.Entry{Action: action, Target: target, Details: details})
	})
}

// fromTo is a detail of the audit log.
func fromTo(from, to string) map[string]any { return map[string]any{"from": from, "to": to} }

// suggestedZones are time zones of many businesses.
var suggestedZones = []string{
	"Africa/Cairo", "Africa/Johannesburg", "Africa/Lagos", "Africa/Nairobi", "America/Argentina/Buenos_Aires",
	"America/Bogota", "America/Chicago", "America/Denver", "America/Halifax", "America/Lima", "America/Los_Angeles",
	"America/Mexico_City", "America/New_York", "America/Phoenix", "America/Santiago", "America/Sao_Paulo",
	"America/Toronto", "America/Vancouver", "Asia/Bangkok", "Asia/Dubai", "Asia/Hong_Kong", "Asia/Jakarta",
	"Asia/Jerusalem", "Asia/Karachi", "Asia/Kolkata", "Asia/Manila", "Asia/Riyadh", "Asia/Seoul", "Asia/Shanghai",
	"Asia/Singapore", "Asia/Tokyo", "Atlantic/Canary", "Atlantic/Reykjavik", "Australia/Adelaide",
	"Australia/Brisbane", "Australia/Melbourne", "Australia/Perth", "Australia/Sydney", "Europe/Amsterdam",
	"Europe/Athens", "Europe/Berlin", "Europe/Brussels", "Europe/Bucharest", "Europe/Budapest", "Europe/Copenhagen",
	"Europe/Dublin", "Europe/Helsinki", "Europe/Istanbul", "Europe/Kyiv", "Europe/Lisbon", "Europe/London",
	"Europe/Luxembourg", "Europe/Madrid", "Europe/Oslo", "Europe/Paris", "Europe/Prague", "Europe/Rome",
	"Europe/Sofia", "Europe/Stockholm", "Europe/Vienna", "Europe/Warsaw", "Europe/Zagreb", "Europe/Zurich",
	"Pacific/Auckland", "Pacific/Honolulu", "UTC",
}
