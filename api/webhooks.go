package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/feed"
	"github.com/storeroom/storeroom/tenancy/webhooks"
)

const (
	defaultDeliveries = 25
	maxDeliveries     = 100
)

// webhookJSON is an endpoint in a response.
type webhookJSON struct {
	ID                      int64      `json:"id"`
	URL                     string     `json:"url"`
	Description             string     `json:"description"`
	Types                   []string   `json:"types"`
	BatchSize               int        `json:"batch_size"`
	State                   string     `json:"state"`
	PauseReason             *string    `json:"pause_reason"`
	PausedAt                *timestamp `json:"paused_at"`
	FailingSince            *timestamp `json:"failing_since"`
	FailedAttempts          int        `json:"failed_attempts"`
	NextAttemptAt           *timestamp `json:"next_attempt_at"`
	Cursor                  string     `json:"cursor"`
	PreviousSecretExpiresAt *timestamp `json:"previous_secret_expires_at"`
	CreatedAt               timestamp  `json:"created_at"`
	CreatedBy               *makerJSON `json:"created_by"`
	UpdatedAt               timestamp  `json:"updated_at"`
	Secret                  string     `json:"secret,omitempty"` // only after it was created
}

// makerJSON is the key or the member that made an endpoint.
type makerJSON struct {
	Type string `json:"type"`
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

func webhookShape(w webhooks.Webhook) webhookJSON {
	shown := webhookJSON{
		ID: w.ID, URL: w.URL, Description: w.Description, Types: w.Types, BatchSize: w.BatchSize, State: w.State,
		PauseReason: w.PauseReason, PausedAt: (*timestamp)(w.PausedAt), FailingSince: (*timestamp)(w.FailingSince),
		FailedAttempts: w.Attempts, Cursor: w.DeliveredTo, CreatedAt: timestamp(w.CreatedAt),
		UpdatedAt: timestamp(w.UpdatedAt),
	}
	if w.MakerType != nil {
		shown.CreatedBy = &makerJSON{*w.MakerType, *w.MakerID, *w.MakerName}
	}
	if w.State == webhooks.Active && w.Attempts > 0 {
		shown.NextAttemptAt = (*timestamp)(&w.NextAttemptAt)
	}
	if w.PreviousExpiresAt != nil && w.PreviousExpiresAt.After(time.Now()) {
		shown.PreviousSecretExpiresAt = (*timestamp)(w.PreviousExpiresAt)
	}
	return shown
}

// deliveryJSON is an attempt to deliver a message.
type deliveryJSON struct {
	ID        int64     `json:"id"`
	At        timestamp `json:"at"`
	MessageID string    `json:"message_id"`
	Type      string    `json:"type"`
	Entries   int       `json:"entries"`
	FirstSeq  *string   `json:"first_seq"`
	LastSeq   *string   `json:"last_seq"`
	Attempt   int       `json:"attempt"`
	Succeeded bool      `json:"succeeded"`
	Status    *int      `json:"status"`
	Error     *string   `json:"error"`
	LatencyMs int       `json:"latency_ms"`
	Response  string    `json:"response"`
}

func deliveryShape(d webhooks.Delivery) deliveryJSON {
	return deliveryJSON{
		d.ID, timestamp(d.At), d.MessageID, d.Type, d.Entries, d.FirstSeq, d.LastSeq, d.Attempt, d.Succeeded, d.Status,
		d.Error, d.LatencyMs, d.Response,
	}
}

// listWebhooks handles GET /api/webhooks.
func (s *Server) listWebhooks(w http.ResponseWriter, r *http.Request) error {
	q := readQuery(r)
	page := q.page()
	if err := q.err(); err != nil {
		return err
	}
	list, err := s.webhooks(r).List(r.Context(), tenant(r), page)
	if err != nil {
		return err
	}
	return writePage(w, r, page, list, webhookShape)
}

// showWebhook handles GET /api/webhooks/{id}.
func (s *Server) showWebhook(w http.ResponseWriter, r *http.Request, id int64) error {
	hook, err := s.webhooks(r).Get(r.Context(), tenant(r), id)
	if err != nil {
		return err
	}
	return writeData(w, http.StatusOK, webhookShape(hook))
}

// readWebhook reads the fields of an endpoint.
func readWebhook(r *http.Request) (webhooks.Fields, tenancy.InvalidError, error) {
	body, err := readBody(r)
	if err != nil {
		return webhooks.Fields{}, nil, err
	}
	for _, name := range []string{"url", "description", "types", "batch_size", "state"} {
		if string(body.fields[name]) == "null" {
			body.addError(name, "must not be null")
		}
	}
	f := webhooks.Fields{
		URL: optional(body, "url", parseText), Description: optional(body, "description", parseText),
		State: optional(body, "state", parseText),
	}
	if types := optional(body, "types", arrayOf(body, "types", len(feed.Types), "an array of strings",
		parseOneOf(feed.Types...))); types != nil {
		f.Types = *types
	}
	if size := optional(body, "batch_size", parseInteger); size != nil {
		f.BatchSize = new(int(max(0, min(*size, webhooks.MaxBatch+1))))
	}
	body.ignore("id", "pause_reason", "paused_at", "failing_since", "failed_attempts", "next_attempt_at", "cursor",
		"previous_secret_expires_at", "created_at", "created_by", "updated_at")
	body.rejectUnknown()
	return f, body.errs, nil
}

// createWebhook handles POST /api/webhooks. An endpoint gets only what its key may read.
func (s *Server) createWebhook(w http.ResponseWriter, r *http.Request) error {
	f, invalid, err := readWebhook(r)
	if err != nil {
		return err
	}
	if f.Types == nil || len(f.Types) > 0 && len(invalid) == 0 {
		if f.Types, err = allowedTypes(principal(r), f.Types); err != nil {
			return err
		}
	}
	hook, err := s.webhooks(r).Create(r.Context(), tenant(r), s.keyActor(r), f, invalid)
	if err != nil {
		return err
	}
	shown := webhookShape(hook)
	shown.Secret = hook.Secret
	return writeCreated(w, "/api/webhooks", hook.ID, shown)
}

// mayRead checks that a key may read the types of a webhook. A key that may not must not send them elsewhere.
func mayRead(r *http.Request) webhooks.Check {
	return func(types []string) error {
		for _, t := range types {
			if !slices.Contains(feed.Types, t) {
				continue // it is refused as invalid
			}
			if err := checkPermission(principal(r), changePermissions[t]); err != nil {
				return err
			}
		}
		return nil
	}
}

// changeWebhook handles PATCH /api/webhooks/{id}.
func (s *Server) changeWebhook(w http.ResponseWriter, r *http.Request, id int64) error {
	f, invalid, err := readWebhook(r)
	if err != nil {
		return err
	}
	if len(f.Types) > 0 && !slices.Contains(f.Types, "") { // before it is known whether the webhook exists
		if err := mayRead(r)(f.Types); err != nil {
			return err
		}
	}
	hook, err := s.webhooks(r).Change(r.Context(), tenant(r), s.keyActor(r), mayRead(r), id, f, invalid)
	if err != nil {
		return err
	}
	return writeData(w, http.StatusOK, webhookShape(hook))
}

// deleteWebhook handles DELETE /api/webhooks/{id}.
func (s *Server) deleteWebhook(w http.ResponseWriter, r *http.Request, id int64) error {
	if err := s.webhooks(r).Delete(r.Context(), tenant(r), s.keyActor(r), id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// rotateWebhook handles POST /api/webhooks/{id}/rotate.
func (s *Server) rotateWebhook(w http.ResponseWriter, r *http.Request, id int64) error {
	if err := readNoFields(r); err != nil {
		return err
	}
	hook, err := s.webhooks(r).Rotate(r.Context(), tenant(r), s.keyActor(r), mayRead(r), id)
	if err != nil {
		return err
	}
	shown := webhookShape(hook)
	shown.Secret = hook.Secret
	return writeData(w, http.StatusOK, shown)
}

// replayWebhook handles POST /api/webhooks/{id}/replay.
func (s *Server) replayWebhook(w http.ResponseWriter, r *http.Request, id int64) error {
	body, err := readBody(r)
	if err != nil {
		return err
	}
	after := required(body, "after", func(raw json.RawMessage) (feed.Cursor, error) {
		text, err := parseText(raw)
		if err != nil {
			return feed.Cursor{}, err
		}
		return feed.ParseCursor(tenant(r), text)
	})
	body.rejectUnknown()
	if err := body.errs.Err(); err != nil {
		return err
	}
	hook, err := s.webhooks(r).Replay(r.Context(), tenant(r), s.keyActor(r), mayRead(r), id, after)
	if err != nil {
		return err
	}
	return writeData(w, http.StatusOK, webhookShape(hook))
}

// testWebhook handles POST /api/webhooks/{id}/test.
func (s *Server) testWebhook(w http.ResponseWriter, r *http.Request, id int64) error {
	if err := readNoFields(r); err != nil {
		return err
	}
	d, err := s.webhooks(r).Test(r.Context(), tenant(r), mayRead(r), id)
	if err != nil {
		return err
	}
	return writeData(w, http.StatusOK, deliveryShape(d))
}

// listDeliveries handles GET /api/webhooks/{id}/deliveries.
func (s *Server) listDeliveries(w http.ResponseWriter, r *http.Request) error {
	q := readQuery(r)
	id, before, limit := q.pathID(r, "id"), q.id("before"), q.between("limit", 1, maxDeliveries, defaultDeliveries)
	if err := q.err(); err != nil {
		return err
	}
	found, err := s.webhooks(r).Deliveries(r.Context(), tenant(r), id, before, limit+1)
	if err != nil {
		return err
	}
	var next *string
	if len(found) > limit {
		found = found[:limit]
		next = new(strconv.FormatInt(found[limit-1].ID, 10))
	}
	meta := struct {
		NextBefore *string `json:"next_before"` // null at the end
	}{next}
	return writeLarge(w, r, http.StatusOK, envelope(arrayFrom(found, deliveryShape), jsonField{"meta", meta}))
}
