package pages

import (
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/feed"
	"github.com/storeroom/storeroom/tenancy/paging"
	"github.com/storeroom/storeroom/tenancy/webhooks"
)

const deliveriesPerPage = 25

// madeBy returns the webhooks of a key or a member.
func (p *Handler) madeBy(r *http.Request, u user, makerType string, id int64) (made []webhooks.Webhook, err error) {
	list, err := p.Webhooks.On(u.db).List(r.Context(), u.Tenant.ID, paging.Page{Number: 1, PerPage: webhooks.MaxWebhooks})
	for _, hook := range list.Items {
		if hook.MakerType != nil && *hook.MakerType == makerType && *hook.MakerID == id {
			made = append(made, hook)
		}
	}
	return made, err
}

// keepsWebhooks reports whether the person lets the webhooks of a key or a member go on.
func keepsWebhooks(r *http.Request) bool { return r.PostFormValue("webhooks") == "keep" }

// listWebhooks shows all webhooks of the tenant.
func (p *Handler) listWebhooks(w http.ResponseWriter, r *http.Request, u user) error {
	list, err := p.Webhooks.On(u.db).List(r.Context(), u.Tenant.ID, paging.Page{Number: 1, PerPage: webhooks.MaxWebhooks})
	if err != nil {
		return err
	}
	return p.show(w, http.StatusOK, "webhooks", u, list.Items)
}

func (p *Handler) showNewWebhook(w http.ResponseWriter, _ *http.Request, u user) error {
	defaults := url.Values{"type": feed.Types, "batch_size": {strconv.Itoa(webhooks.MaxBatch)}, "request": {rand.Text()}}
	return p.show(w, http.StatusOK, "webhook-new", u, form{Values: defaults})
}

// webhookFields returns the fields of a form.
func (f form) webhookFields() webhooks.Fields {
	url, description, types := f.Get("url"), f.Get("description"), f.Values["type"]
	size, err := strconv.Atoi(f.Get("batch_size"))
	if err != nil {
		size = 0 // is not valid
	}
	if types == nil {
		types = []string{}
	}
	return webhooks.Fields{URL: &url, Description: &description, Types: types, BatchSize: &size}
}

// addInvalid adds the errors of the fields of a webhook, and reports whether err is one.
func (f form) addInvalid(words formatter, err error) bool {
	invalid, isInvalid := errors.AsType[tenancy.InvalidError](err)
	for field, subject := range map[string]string{
		"url": "The URL ", "description": "The description ", "batch_size": "The number ",
	} {
		if messages := invalid[field]; messages != nil {
			f.Errors[field] = words.Sentence(subject + messages[0] + ".")
		}
	}
	if invalid["types"] != nil {
		f.Errors["types"] = words.T("Select at least one type.")
	}
	return isInvalid
}

// secretPage is the only page that shows the secret of a webhook.
type secretPage struct {
	webhooks.Webhook
	IsNew bool
}

func (p *Handler) createWebhook(w http.ResponseWriter, r *http.Request, u user) error {
	f := submitted(r)
	if err := p.confirmPassword(w, r, &u, f, "password"); err != nil {
		return err
	}
	if len(f.Errors) == 0 {
		var hook webhooks.Webhook
		to, err := u.once(r, f, func(u user) (to string, err error) {
			hook, err = p.Webhooks.On(u.db).Create(r.Context(), u.Tenant.ID, p.by(r, u), f.webhookFields(), nil)
			return u.path("/webhooks/" + strconv.FormatInt(hook.ID, 10)), err
		})
		switch {
		case err == nil && hook.ID != 0:
			return p.show(w, http.StatusOK, "webhook-secret", u, secretPage{hook, true})
		case err == nil: // a repeated form, for which no page has the secret
			redirect(w, r, to)
			return nil
		case !f.addInvalid(u.Format, err):
			return err
		}
	}
	return p.show(w, http.StatusUnprocessableEntity, "webhook-new", u, f)
}

// webhookPage shows one webhook, its deliveries, and the forms that change it.
type webhookPage struct {
	webhooks.Webhook
	form
	Deliveries []webhooks.Delivery
	Older      string // the URL of older deliveries
	Tested     *webhooks.Delivery
	From       string // of a replay
	Cursor     string
}

// Rotation identifies the last rotation. It is "" if the secret was never rotated.
func (p webhookPage) Rotation() string {
	if p.PreviousExpiresAt == nil {
		return ""
	}
	return p.PreviousExpiresAt.Format(time.RFC3339Nano)
}

func (p *Handler) showWebhook(w http.ResponseWriter, r *http.Request, u user) error {
	return p.showWebhookWith(w, r, u, http.StatusOK, webhookPage{})
}

func (p *Handler) showWebhookWith(
	w http.ResponseWriter, r *http.Request, u user, status int, page webhookPage,
) (err error) {
	if page.Webhook, err = p.Webhooks.On(u.db).Get(r.Context(), u.Tenant.ID, pathID(r)); err != nil {
		return err
	}
	if page.form.Values == nil {
		page.form = form{url.Values{
			"url": {page.URL}, "description": {page.Description}, "type": page.Types,
			"batch_size": {strconv.Itoa(page.BatchSize)},
		}, page.Errors}
	}
	var before *int64
	if id, err := strconv.ParseInt(r.FormValue("before"), 10, 64); err == nil {
		before = &id
	}
	page.Deliveries, err = p.Webhooks.On(u.db).Deliveries(r.Context(), u.Tenant.ID, page.ID, before, deliveriesPerPage+1)
	if err != nil {
		return err
	}
	if len(page.Deliveries) > deliveriesPerPage {
		page.Deliveries = page.Deliveries[:deliveriesPerPage]
		page.Older = "?before=" + strconv.FormatInt(page.Deliveries[deliveriesPerPage-1].ID, 10)
	}
	return p.show(w, status, "webhook", u, page)
}

// changeWebhook stores the fields of a webhook.
func (p *Handler) changeWebhook(w http.ResponseWriter, r *http.Request, u user) error {
	f := submitted(r)
	if err := p.confirmPassword(w, r, &u, f, "password"); err != nil {
		return err
	}
	if len(f.Errors) == 0 {
		hook, err := p.Webhooks.On(u.db).Change(r.Context(), u.Tenant.ID, p.by(r, u), nil, pathID(r), f.webhookFields(), nil)
		if err == nil {
			redirect(w, r, webhookPath(u, hook.ID))
			return nil
		}
		if !f.addInvalid(u.Format, err) {
			return err
		}
	}
	return p.showWebhookWith(w, r, u, http.StatusUnprocessableEntity, webhookPage{form: f})
}

func webhookPath(u user, id int64) string { return u.path("/webhooks/" + strconv.FormatInt(id, 10)) }

// switchWebhook pauses or resumes a webhook.
func (p *Handler) switchWebhook(w http.ResponseWriter, r *http.Request, u user) error {
	state := r.PostForm.Get("state")
	if state != webhooks.Active && state != webhooks.Paused {
		return ErrForm
	}
	f := submitted(r)
	if state == webhooks.Paused {
		if err := p.confirmPassword(w, r, &u, f, "password-state"); err != nil {
			return err
		}
	}
	if len(f.Errors) > 0 {
		return p.showWebhookWith(w, r, u, http.StatusUnprocessableEntity, webhookPage{form: form{Errors: f.Errors}})
	}
	fields := webhooks.Fields{State: &state}
	hook, err := p.Webhooks.On(u.db).Change(r.Context(), u.Tenant.ID, p.by(r, u), nil, pathID(r), fields, nil)
	if err != nil {
		return err
	}
	redirect(w, r, webhookPath(u, hook.ID))
	return nil
}

// testWebhook sends a message without entries, and shows its delivery.
func (p *Handler) testWebhook(w http.ResponseWriter, r *http.Request, u user) error {
	d, err := p.Webhooks.On(u.db).Test(r.Context(), u.Tenant.ID, nil, pathID(r))
	if err != nil {
		return err
	}
	return p.showWebhookWith(w, r, u, http.StatusOK, webhookPage{Tested: &d})
}

// rotateWebhook gives a webhook a new secret and shows it. A form that is sent twice must not rotate twice, because
// messages would no longer be signed with the secret that the receiver has.
func (p *Handler) rotateWebhook(w http.ResponseWriter, r *http.Request, u user) error {
	f := submitted(r)
	if err := p.confirmPassword(w, r, &u, f, "password-rotate"); err != nil {
		return err
	}
	if len(f.Errors) > 0 {
		return p.showWebhookWith(w, r, u, http.StatusUnprocessableEntity, webhookPage{form: form{Errors: f.Errors}})
	}
	var previous *time.Time
	if at, err := time.Parse(time.RFC3339Nano, f.Get("previous")); err == nil {
		previous = &at
	}
	hook, err := p.Webhooks.On(u.db).RotateOnce(r.Context(), u.Tenant.ID, p.by(r, u), pathID(r), previous)
	if err != nil {
		return err
	}
	return p.show(w, http.StatusOK, "webhook-secret", u, secretPage{Webhook: hook})
}

// replayWebhook continues a webhook after a cursor, at the oldest change or at the end.
func (p *Handler) replayWebhook(w http.ResponseWriter, r *http.Request, u user) error {
	f := submitted(r)
	from, cursor := f.Get("from"), strings.TrimSpace(f.Get("cursor"))
	text, isKnown := map[string]string{"oldest": "", "now": "now", "after": cursor}[from]
	if !isKnown {
		return ErrForm
	}
	if err := p.confirmPassword(w, r, &u, f, "password-replay"); err != nil {
		return err
	}
	after, err := feed.ParseCursor(u.Tenant.ID, text)
	if from == "after" && cursor == "" {
		err = feed.ErrCursor
	}
	if err == nil && len(f.Errors) == 0 {
		_, err = p.Webhooks.On(u.db).Replay(r.Context(), u.Tenant.ID, p.by(r, u), nil, pathID(r), after)
	}
	switch {
	case errors.Is(err, feed.ErrCursor) && cursor == "":
		f.Errors["cursor"] = u.T("Enter the position after which to continue.")
	case errors.Is(err, feed.ErrCursor):
		f.Errors["cursor"] = u.T("The position must be that of a delivery or an entry.")
	case errors.Is(err, feed.ErrExpired):
		f.Errors["cursor"] = u.T("The changes after this position are no longer kept.")
	case err != nil:
		return err
	case len(f.Errors) == 0:
		redirect(w, r, u.path("/webhooks/"+strconv.FormatInt(pathID(r), 10)))
		return nil
	}
	page := webhookPage{form: form{Errors: f.Errors}, From: from, Cursor: cursor}
	return p.showWebhookWith(w, r, u, http.StatusUnprocessableEntity, page)
}

func (p *Handler) showDeleteWebhook(w http.ResponseWriter, r *http.Request, u user) error {
	return p.showDeleteWith(w, r, u, http.StatusOK, nil)
}

func (p *Handler) showDeleteWith(w http.ResponseWriter, r *http.Request, u user, status int, wrong fieldErrors) error {
	hook, err := p.Webhooks.On(u.db).Get(r.Context(), u.Tenant.ID, pathID(r))
	if err != nil {
		return err
	}
	return p.show(w, status, "webhook-delete", u, webhookPage{Webhook: hook, form: form{Errors: wrong}})
}

func (p *Handler) deleteWebhook(w http.ResponseWriter, r *http.Request, u user) error {
	f := submitted(r)
	if err := p.confirmPassword(w, r, &u, f, "password"); err != nil {
		return err
	}
	if len(f.Errors) > 0 {
		return p.showDeleteWith(w, r, u, http.StatusUnprocessableEntity, f.Errors)
	}
	if err := p.Webhooks.On(u.db).Delete(r.Context(), u.Tenant.ID, p.by(r, u), pathID(r)); err != nil {
		return err
	}
	redirect(w, r, u.path("/webhooks"))
	return nil
}
