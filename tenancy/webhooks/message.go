package webhooks

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/storeroom/storeroom/tenancy"
	"github.com/storeroom/storeroom/tenancy/feed"
	"github.com/storeroom/storeroom/tenancy/jobs"
)

// Encode returns at least the first entry as GET /api/changes has it, with or without the names of customers.
type Encode func(
	ctx context.Context, tenant tenancy.ID, names bool, entries []feed.Entry,
) ([]json.RawMessage, error)

// recovered returns a function that returns a panic of encode as an error. Otherwise one object would end every
// instance that sends it.
func recovered(encode Encode) Encode {
	return func(
		ctx context.Context, tenant tenancy.ID, names bool, entries []feed.Entry,
	) (texts []json.RawMessage, err error) {
		err = jobs.Recover(func() error {
			texts, err = encode(ctx, tenant, names, entries)
			return err
		})
		return texts, err
	}
}

const idlePause = 20 * time.Hour // renews the cursor of an endpoint without changes before it expires

// unreadable is the error of a delivery that was not sent.
const unreadable = "Storeroom could not read the objects of this message. It tries again."

// step is what an endpoint gets next.
type step struct {
	message *message // nil if no entry may be read yet
	after   string   // the cursor after it
	oldest  time.Time
	hasMore bool
	heldAt  *time.Time
	failed  error // why there is no body
}

// pause returns how long an endpoint need not be visited unless something changes. Nothing reports when a held entry
// may be read, so the younger the entry, the shorter the pause.
func (s step) pause() time.Duration {
	switch {
	case s.hasMore:
		return 0
	case s.heldAt != nil:
		return min(max(time.Since(*s.heldAt)/2, time.Second/2), 30*time.Second)
	}
	return idlePause + rand.N(4*time.Hour)
}

// next makes the next message. A retry has the same entries. Slow messages of a tenant wait for each other, so that
// other tenants and the outcomes of messages can use the remaining queries.
func (s *Store) next(ctx context.Context, tenant tenancy.ID, w Webhook, encode Encode) (made step, err error) {
	slots, done := s.shares.of(tenant)
	defer done()
	err = s.query(ctx, func(ctx context.Context) error {
		made, err = s.readNext(ctx, tenant, w, encode)
		return err
	}, slots)
	return made, err
}

// shares limits the queries that workers send at the same time for the messages of each tenant.
type shares struct {
	each    int
	mu      sync.Mutex
	tenants map[tenancy.ID]*share
}

type share struct {
	slots chan struct{}
	users int
}

// of returns the slots of a tenant until done is called.
func (s *shares) of(tenant tenancy.ID) (slots chan struct{}, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.tenants[tenant]
	if own == nil {
		own = &share{slots: make(chan struct{}, s.each)}
		s.tenants[tenant] = own
	}
	own.users++
	return own.slots, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if own.users--; own.users == 0 {
			delete(s.tenants, tenant)
		}
	}
}

func (s *Store) readNext(ctx context.Context, tenant tenancy.ID, w Webhook, encode Encode) (step, error) {
	after, err := feed.ParseCursor(tenant, w.DeliveredTo)
	if err != nil {
		return step{}, fmt.Errorf("position of webhook %d: %w", w.ID, err)
	}
	page, err := s.feed.Read(ctx, tenant, feed.Query{
		After: after, IsStored: true, Types: w.Types, Limit: w.BatchSize,
	})
	if err != nil {
		return step{}, err
	}
	made := step{after: page.Next.String(tenant), hasMore: page.HasMore, heldAt: page.HeldAt}
	entries := page.Entries
	if len(entries) == 0 {
		return made, nil
	}
	if w.MessageEnd != nil {
		isEnd := func(e feed.Entry) bool { return e.At.String(tenant) == *w.MessageEnd }
		if i := slices.IndexFunc(entries, isEnd); i >= 0 {
			entries = entries[:i+1]
		}
	}
	texts, err := encode(ctx, tenant, slices.Contains(w.Types, "customer"), entries)
	if err == nil && len(texts) == 0 {
		err = errors.New("there is no text")
	}
	if err != nil {
		made.failed = fmt.Errorf("encode changes: %w", err)
		made.message = &message{Delivery: deliveryOf(tenant, w, entries)}
		made.message.Error = new(unreadable)
		return made, nil
	}
	if entries = entries[:len(texts)]; len(entries) < len(page.Entries) {
		made.after, made.hasMore = entries[len(entries)-1].At.String(tenant), true
	}
	made.oldest = entries[0].Time
	made.message = &message{
		body:     encodeMessage("changes", entries[len(entries)-1].Time, texts),
		Delivery: deliveryOf(tenant, w, entries),
	}
	return made, nil
}

// deliveryOf returns the next attempt to deliver entries.
func deliveryOf(tenant tenancy.ID, w Webhook, entries []feed.Entry) Delivery {
	first, last := entries[0].At.String(tenant), entries[len(entries)-1].At.String(tenant)
	return Delivery{
		MessageID: messageID(tenant, w.ID, first, last, fmt.Sprint(w.Replays)), Type: "changes",
		Entries: len(entries), FirstSeq: &first, LastSeq: &last, Attempt: w.Attempts + 1,
	}
}

// messageID returns an id that is the same for the same parts.
func messageID(tenant tenancy.ID, id int64, parts ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %s", tenant, id, strings.Join(parts, " ")))
	return "msg_" + base64.RawURLEncoding.EncodeToString(sum[:18])
}

func encodeMessage(kind string, at time.Time, entries []json.RawMessage) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"type":%q,"timestamp":%q,"data":[`, kind, at.UTC().Format("2006-01-02T15:04:05.000000Z"))
	for i, text := range entries {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(text)
	}
	b.WriteString("]}")
	return b.Bytes()
}
